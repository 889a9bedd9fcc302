"""Tasks: conditions and their handling, abends, the EIB, syncpoints, ENQ, START and DELAY."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from freezegun import freeze_time
from greenlet import GreenletExit

from tdqsim.cics import Abend, Condition, Region, Task, UnitOfWork
from tdqsim.definitions import define_tdqueue, define_terminal, define_transaction
from tdqsim.errors import RegionClosed, StoreFull, TdqError, WouldWaitForever
from tdqsim.facts import ABEND_CODES, EIBRCODE, Resp
from tests.rules import expect_rule, rule

from .helpers import drain, raising


def outcome(region: Region, program: Callable[[Task], Any]) -> Any:
    """What a started program gives: its result, or its Abend."""
    handle = region.start(program)
    region.run()
    try:
        return handle.result()
    except Abend as abend:
        return abend


# -- conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.rule("TASK-UNHANDLED-CONDITION")
@pytest.mark.parametrize(
    ("call", "resp"),
    [
        (lambda task: task.readq_td("NOQ"), Resp.QZERO),
        (lambda task: task.readq_td("NONE"), Resp.QIDERR),
        (lambda task: task.readq_td("NOQ", -1), Resp.LENGERR),
        (lambda task: task.readq_td("REMQ"), Resp.SYSIDERR),
    ],
)
def test_an_unhandled_condition_is_its_abend(region: Region, call: Any, resp: Resp) -> None:
    abend = outcome(region, call)
    assert abend.code == ABEND_CODES[resp]
    assert isinstance(abend.cause, Condition)


@pytest.mark.rule("TASK-NOHANDLE")
def test_nohandle_leaves_the_response_in_the_eib(region: Region) -> None:
    def program(task: Task) -> Any:
        task.handle_condition(QZERO=lambda _condition: pytest.fail("NOHANDLE wins over HANDLE"))
        record = task.readq_td("NOQ", nohandle=True)
        return record, task.eib.eibresp.name, task.eib.eibresp2

    assert outcome(region, program) == (b"", rule("TASK-NOHANDLE").resp, 0)


def test_nohandle_gives_the_truncated_record(region: Region) -> None:
    region.writeq_td("NOQ", b"0123456789")
    with region.task() as task:
        assert task.readq_td("NOQ", 4, nohandle=True) == b"0123"
        assert task.eib.eibresp is Resp.LENGERR
        assert task.condition is not None
        assert task.condition.length == 10


@pytest.mark.rule("TASK-HANDLE-ORDER")
def test_the_order_of_decision(region: Region) -> None:
    def program(task: Task) -> list[Any]:
        task.handle_condition(ERROR=lambda condition: f"ERROR for {condition.name}")
        seen: list[Any] = [task.readq_td("NOQ")]
        task.handle_condition(QZERO=lambda condition: f"own {condition.name}")
        seen.append(task.readq_td("NOQ"))
        task.ignore_condition("QZERO")
        seen.append(task.readq_td("NOQ"))
        task.push_handle()
        with pytest.raises(Condition):
            task.readq_td("NOQ")
        task.pop_handle()
        seen.append(task.readq_td("NOQ"))
        task.handle_condition(QZERO=None, ERROR=None)
        with pytest.raises(Condition):
            task.readq_td("NOQ")
        return seen

    assert outcome(region, program) == ["ERROR for QZERO", "own QZERO", b"", b""]


@pytest.mark.rule("TASK-HANDLE-NO-LABEL")
def test_a_handle_without_label_is_the_default_action_whatever_error_says(region: Region) -> None:
    def program(task: Task) -> None:
        task.handle_condition(ERROR=lambda condition: pytest.fail(f"{condition.name} has a HANDLE of its own"))
        task.handle_condition(QZERO=None)
        task.readq_td("NOQ")

    assert outcome(region, program).code == rule("TASK-HANDLE-NO-LABEL").message

    def as_before(task: Task) -> Any:
        task.handle_condition(ERROR=lambda condition: condition.name)
        task.handle_condition(QZERO=None)
        task.handle_condition(QZERO=lambda _condition: "own")
        seen = [task.readq_td("NOQ")]
        task.handle_condition(QZERO=None)
        task.ignore_condition("QZERO")
        return [*seen, task.readq_td("NOQ")]

    assert outcome(region, as_before) == ["own", b""]


def test_a_handle_without_label_keeps_what_waits_by_default_waiting(region: Region) -> None:
    with region.task() as writer, region.task() as reader:
        writer.writeq_td("LOGQ", b"x")
        reader.handle_condition(QBUSY=lambda condition: condition.name)
        assert reader.readq_td("LOGQ") == "QBUSY"
        reader.handle_condition(QBUSY=None)
        with pytest.raises(WouldWaitForever):
            reader.readq_td("LOGQ")


@pytest.mark.rule("TASK-POP-HANDLE")
def test_pop_handle_needs_a_push(region: Region) -> None:
    with region.task() as task:
        expect_rule("TASK-POP-HANDLE", task.pop_handle)


@pytest.mark.rule("TASK-HANDLE-SIXTEEN")
def test_bad_handles_are_refused(region: Region) -> None:
    with region.task() as task:
        many = dict.fromkeys(list(Resp.__members__)[:17])
        expect_rule("TASK-HANDLE-SIXTEEN", task.handle_condition, **many)
        expect_rule("TASK-HANDLE-SIXTEEN", task.ignore_condition, *many)
        most = list(many)[:16]
        task.ignore_condition(*most)
        task.handle_condition(**dict.fromkeys(most))
        with pytest.raises(TdqError, match="is not a condition"):
            task.handle_condition(NOSUCH=None)
        with pytest.raises(TdqError, match="cannot be called"):
            task.handle_condition(QZERO=7)  # type: ignore[arg-type]
        with pytest.raises(TdqError, match="one of"):
            task.handle_abend(cancel=True, reset=True)
        with pytest.raises(TdqError, match="'PGM1' cannot be called"):
            task.handle_abend("PGM1")  # type: ignore[arg-type]


@pytest.mark.rule("TASK-HANDLE-ABEND-DEFAULT")
def test_handle_abend_without_options_cancels(region: Region) -> None:
    def program(task: Task) -> None:
        task.handle_abend(lambda _abend: pytest.fail("the exit was cancelled"))
        task.execute("EXEC CICS HANDLE ABEND END-EXEC", {})
        task.abend("ONE")

    assert outcome(region, program).code == rule("TASK-HANDLE-ABEND-DEFAULT").message


# -- abends -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("TASK-ASRA", "TASK-ABEND-MESSAGE")
def test_an_exception_is_asra_and_the_region_lives(make_region: Callable[..., Region]) -> None:
    region = make_region(supplied_queues=True)

    def program(task: Task) -> None:
        task.writeq_td("LOGQ", b"undone")
        task.writeq_td("NOQ", b"stays")
        raise KeyError("oops")

    abend = outcome(region, program)
    assert abend.code == "ASRA"
    assert rule("TASK-ASRA").message in str(abend)
    assert isinstance(abend.__cause__, KeyError)
    assert (region.peek("LOGQ"), region.peek("NOQ")) == ([], [b"stays"])
    line = b"".join(region.peek("CSMT")).decode("cp037")
    assert line.startswith(rule("TASK-ABEND-MESSAGE").message)
    assert "PROG" in line
    assert "abend ASRA" in line
    assert region.statistics.abends == {"ASRA": 1}


@pytest.mark.rule("TASK-ABEND")
def test_the_abend_command(region: Region) -> None:
    def program(task: Task) -> None:
        task.writeq_td("LOGQ", b"undone")
        task.abend("MINE")

    abend = outcome(region, program)
    assert (abend.code, abend.cause) == ("MINE", None)
    assert rule("TASK-ABEND").command == "ABEND"
    assert region.peek("LOGQ") == []
    with pytest.raises(TdqError, match="1 to 4 characters"), region.task() as task:
        task.abend("TOOLONG")


@pytest.mark.rule("TASK-HANDLE-ERROR-ABENDS")
def test_error_is_for_conditions_that_would_abend(region: Region) -> None:
    with region.task() as writer, region.task() as reader:
        writer.writeq_td("LOGQ", b"x")
        reader.handle_condition(ERROR=lambda condition: pytest.fail(f"{condition.name} has no abend"))
        reader.execute("READQ TD QUEUE('LOGQ') INTO(REC) NOSUSPEND", {"REC": b""})
        assert reader.eib.eibresp.name == rule("TASK-HANDLE-ERROR-ABENDS").resp
        reader.handle_condition(ERROR=None)
        for _ in range(2):
            reader.ignore_condition("ERROR")
            assert reader.readq_td("NOQ") == b""
            reader.handle_condition(ERROR=None)  # the last one given counts
            with pytest.raises(Condition, match="QZERO"):
                reader.readq_td("NOQ")
        reader.handle_condition(ERROR=lambda condition: condition.name)
        assert reader.readq_td("NOQ") == "QZERO"


@pytest.mark.rule("TASK-HANDLE-ABEND-AGAIN")
@pytest.mark.parametrize("linked", [False, True], ids=["at the top", "linked to"])
@pytest.mark.parametrize("how", ["another", "reset"])
def test_an_exit_that_abends_may_have_named_the_next(region: Region, how: str, linked: bool) -> None:
    seen: list[str] = []

    def last(task: Task, abend: Abend) -> str:
        seen.append(f"{abend.code} {task.assign('ABCODE')}")
        return "saved"

    def program(task: Task) -> None:
        def first(abend: Abend) -> Any:
            if seen:
                return last(task, abend)
            seen.append(abend.code)
            task.handle_abend(reset=True) if how == "reset" else task.handle_abend(lambda two: last(task, two))
            return task.readq_td("NOQ")

        task.handle_abend(first)
        task.writeq_td("LOGQ", b"kept")
        task.abend("ONE")

    region.programs.register("SUBP", program)
    assert outcome(region, (lambda task: task.link("SUBP")) if linked else program) == "saved"
    assert seen == ["ONE", "AEIW AEIW"]
    assert region.peek("LOGQ") == [b"kept"]


@pytest.mark.parametrize(
    ("commands", "result"),
    [
        ("first second", "second"),
        ("first PUSH", "abend OOPS"),
        ("first PUSH second POP", "first"),
        ("first PUSH PUSH second POP POP", "first"),
        ("first CANCEL CANCEL", "abend OOPS"),
        ("first CANCEL CANCEL RESET", "first"),
        ("first second CANCEL RESET", "second"),
        ("RESET", "abend OOPS"),
    ],
)
def test_the_exit_that_is_active_after_handle_abend_push_and_pop(region: Region, commands: str, result: str) -> None:
    def program(task: Task) -> None:
        given = {
            "PUSH": task.push_handle, "POP": task.pop_handle, "CANCEL": partial(task.handle_abend, cancel=True),
            "RESET": partial(task.handle_abend, reset=True), "first": lambda: task.handle_abend(lambda _abend: "first"),
            "second": lambda: task.handle_abend(lambda _abend: "second"),
        }  # fmt: skip
        for word in commands.split():
            given[word]()
        task.abend("OOPS")

    assert str(outcome(region, program)) == result


@pytest.mark.rule("TASK-HANDLE-ABEND-AGAIN")
def test_return_in_an_exit_ends_its_own_program_only(region: Region) -> None:
    def below(task: Task) -> None:
        task.handle_abend(lambda _abend: task.return_())
        task.abend("ONE")

    def above(task: Task) -> str:
        task.link("SUBP")
        return "goes on"

    region.programs.register("SUBP", below)
    assert outcome(region, above) == "goes on"


@pytest.mark.rule("TASK-HANDLE-ABEND-END")
@pytest.mark.parametrize("returns", [False, True], ids=["", "RETURN"])
def test_a_failure_of_the_last_syncpoint_is_not_for_the_exit(region: Region, returns: bool) -> None:
    def fault(point: str) -> None:
        if point == "before_commit":
            region.store.durable.fault = None
            raise StoreFull("the disk is full")

    def program(task: Task) -> None:
        task.handle_abend(lambda abend: pytest.fail(f"{abend.code}: the program was left"))
        task.writeq_td("LOGQ", b"undone")
        region.store.durable.fault = fault
        if returns:
            task.return_()

    assert outcome(region, program).code == rule("TASK-HANDLE-ABEND-END").message
    assert region.peek("LOGQ") == []


def test_abend_cancel_in_an_exit_ends_the_task(region: Region) -> None:
    def program(task: Task) -> None:
        def first(_abend: Abend) -> None:
            task.handle_abend(reset=True)
            task.abend("TWO", cancel=True)

        task.handle_abend(first)
        task.writeq_td("LOGQ", b"undone")
        task.abend("ONE")

    assert outcome(region, program).code == "TWO"
    assert region.peek("LOGQ") == []


@pytest.mark.rule("TASK-ABEND-CANCEL")
def test_abend_cancel_calls_no_exit_of_an_upper_level(region: Region) -> None:
    def program(task: Task) -> None:
        task.handle_abend(lambda _abend: pytest.fail("CANCEL skips exits"))
        task.writeq_td("LOGQ", b"undone")
        task.link("MIDDLE")

    def middle(task: Task) -> None:
        task.handle_abend(lambda _abend: pytest.fail("CANCEL skips exits"))
        task.link("LAST")

    region.programs.register("MIDDLE", middle)
    region.programs.register("LAST", lambda task: task.abend("ONE", cancel=True))
    assert outcome(region, program).code == "ONE"
    assert region.peek("LOGQ") == []
    with pytest.raises(Abend, match="ONE"), region.task() as task:
        program(task)


def test_an_abend_exit_may_abend_roll_back_or_be_cancelled(region: Region) -> None:
    def again(task: Task) -> None:
        task.handle_abend(lambda _abend: task.abend("TWO"))
        task.abend("ONE")

    def rolls_back(task: Task) -> None:
        task.handle_abend(lambda _abend: task.syncpoint_rollback())
        task.writeq_td("LOGQ", b"undone")
        task.abend("ONE")

    def cancelled(task: Task) -> None:
        task.handle_abend(lambda _abend: pytest.fail("the exit was cancelled"))
        task.handle_abend(cancel=True)
        task.abend("ONE")

    def skipped(task: Task) -> None:
        task.handle_abend(lambda _abend: pytest.fail("CANCEL skips exits"))
        task.abend("ONE", cancel=True)

    def restored(task: Task) -> None:
        task.handle_abend(lambda _abend: "exit")
        task.handle_abend(cancel=True)
        task.handle_abend(reset=True)
        task.abend("ONE")

    assert outcome(region, again).code == "TWO"
    assert outcome(region, rolls_back) is None
    assert region.peek("LOGQ") == []
    assert outcome(region, cancelled).code == "ONE"
    assert outcome(region, skipped).code == "ONE"
    assert outcome(region, restored) == "exit"


@pytest.mark.rule("TASK-RETURN")
def test_return_commits(region: Region) -> None:
    def program(task: Task) -> None:
        task.writeq_td("LOGQ", b"kept")
        try:
            task.return_(42)
        except Exception:  # noqa: BLE001
            pytest.fail("RETURN is no exception of the program")

    assert outcome(region, program) == 42
    assert region.peek("LOGQ") == [b"kept"]
    assert rule("TASK-RETURN").command == "RETURN"


@pytest.mark.rule("TASK-NUMBER")
def test_a_number_that_a_task_has_is_not_given_again(region: Region) -> None:
    """Each command outside is a task; so many of them come round to the number of one that has not ended."""
    last = int(rule("TASK-NUMBER").message)
    with region.task() as waiting:
        assert waiting.eib.eibtaskn == 1
        for _ in range(last - 4):
            region.deleteq_td("NOQ")
        numbers = []
        for _ in range(5):
            with region.task() as another:
                assert another is not waiting
                numbers.append(another.eib.eibtaskn)
        assert numbers == [last - 2, last - 1, last, 2, 3]
        assert waiting.eib.eibtaskn == 1


def test_a_block_is_a_task(region: Region) -> None:
    with region.task() as task:
        task.writeq_td("LOGQ", b"kept")
        assert region.peek("LOGQ") == []
        task.return_()
    assert region.peek("LOGQ") == [b"kept"]
    with pytest.raises(ZeroDivisionError), region.task() as task:  # noqa: PT012  (the block is a task)
        task.writeq_td("LOGQ", b"undone")
        raise ZeroDivisionError
    assert region.peek("LOGQ") == [b"kept"]
    with region.task() as task:
        task.handle_abend(lambda _abend: None)
        task.writeq_td("LOGQ", b"handled")
        raise ZeroDivisionError
    assert region.peek("LOGQ") == [b"kept", b"handled"]
    assert region.tasks == {}


# -- the EIB ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("EIB-TD")
def test_the_eib_after_each_command(region: Region) -> None:
    with region.task() as task:
        task.writeq_td("NOQ", b"x")
        assert (task.eib.eibfn, task.eib.eibrsrce, task.eib.eibresp) == (b"\x08\x02", "NOQ     ", Resp.NORMAL)
        task.readq_td("NOQ")
        assert (task.eib.eibfn, task.eib.eibrcode) == (b"\x08\x04", bytes(6))
        for queue, resp in (("NOQ", Resp.QZERO), ("NONE", Resp.QIDERR), ("REMQ", Resp.SYSIDERR)):
            task.readq_td(queue, nohandle=True)
            assert (task.eib.eibresp, task.eib.eibresp2, task.eib.eibrsrce) == (resp, 0, queue.ljust(8))
            assert task.eib.eibrcode == bytes([EIBRCODE[resp]]) + bytes(5)
        task.deleteq_td("NOQ")
        assert task.eib.eibfn == b"\x08\x06"
        task.inquire_tdqueue("NONE", nohandle=True)
        assert task.eib.eibrcode == int(Resp.QIDERR).to_bytes(4, "big") + bytes(2)


@pytest.mark.rule("TASK-ASSIGN-QNAME", "TASK-ASSIGN-FACILITY")
def test_assign(region: Region) -> None:
    with region.task(userid="PAYUSER") as task:
        assert task.assign("APPLID") == "TDQREGN"
        assert task.assign("SYSID", "USERID", "STARTCODE") == ("TDQ1", "PAYUSER", "U")
        expect_rule("TASK-ASSIGN-QNAME", task.assign, "QNAME")
        expect_rule("TASK-ASSIGN-FACILITY", task.assign, "FACILITY")
        with pytest.raises(TdqError, match="allowed are"):
            task.assign("NOSUCH")


# -- interval control and enqueues --------------------------------------------------------------------------------------


@pytest.mark.rule("IC-START", "IC-RETRIEVE-ENDDATA")
def test_start_runs_later_on_the_simulated_clock(region: Region) -> None:
    seen: list[Any] = []

    @region.transaction("LATE")
    def late(task: Task) -> None:
        seen.append((task.retrieve(), task._startcode, region.clock.time_ns()))
        expect_rule("IC-RETRIEVE-ENDDATA", task.retrieve)

    with freeze_time("2026-01-01"):
        begun = region.clock.time_ns()
        with region.task() as task:
            task.start("LATE", b"second", interval=130)
            task.start("LATE", b"first", seconds=5)
            assert seen == []
        region.run()
    assert rule("IC-START").command == "START"
    assert region.statistics.abends == {}  # what a program asserts would be its abend
    assert [(data, code, (moment - begun) // 10**9) for data, code, moment in seen] == [
        (b"first", "SD", 5),
        (b"second", "SD", 90),
    ]


def test_a_start_without_name_takes_none_that_a_request_has(region: Region) -> None:
    seen: list[bytes] = []
    region.register("LATE", lambda task: seen.append(task.retrieve()))
    with region.task() as task:
        name = task.start("LATE", b"1", interval=1)
        assert name == "DF000001"
        names = [name, task.start("LATE", b"2", interval=1, reqid="DF000002"), task.start("LATE", b"3", interval=1)]
    region.run()
    assert len(set(names)) == 3
    assert {len(each) for each in names} == {8}
    assert sorted(seen) == [b"1", b"2", b"3"]


OUT_OF_RANGE = (
    ("IC-INTERVAL-INVREQ", {"interval": 1_000_000}),
    ("IC-INTERVAL-INVREQ", {"interval": -1}),
    ("IC-INTERVAL-INVREQ", {"hours": 100}),
    ("IC-INTERVAL-INVREQ", {"hours": -1, "minutes": 99}),
    ("IC-MINUTES-INVREQ", {"interval": 6000}),
    ("IC-MINUTES-INVREQ", {"minutes": 6000}),
    ("IC-MINUTES-INVREQ", {"hours": 0, "minutes": 60}),
    ("IC-SECONDS-INVREQ", {"interval": 70}),
    ("IC-SECONDS-INVREQ", {"seconds": 360_000}),
    ("IC-SECONDS-INVREQ", {"minutes": 0, "seconds": 60}),
)


OF_DELAY = {
    "IC-INTERVAL-INVREQ": "IC-DELAY-HOURS", "IC-MINUTES-INVREQ": "IC-DELAY-MINUTES", "IC-SECONDS-INVREQ": "IC-DELAY-SECONDS",
}  # fmt: skip


def test_a_part_alone_may_be_more_than_a_time_has(region: Region) -> None:
    begun = region.clock.time_ns()
    with region.task() as task:
        for given in ({"hours": 99}, {"minutes": 5999}, {"seconds": 359_999}):
            task.delay(**given)
    assert (region.clock.time_ns() - begun) // 10**9 >= 99 * 3600 + 5999 * 60 + 359_999


@pytest.mark.rule("IC-START-TRANSIDERR", "IC-START-TERMIDERR", "IC-CANCEL-NOTFND", "IC-INTERVAL-INVREQ")
@pytest.mark.rule("IC-MINUTES-INVREQ", "IC-SECONDS-INVREQ", "IC-DELAY-HOURS", "IC-DELAY-MINUTES", "IC-DELAY-SECONDS")
def test_start_and_cancel_conditions(region: Region) -> None:
    region.register("LATE", drain("NOQ"))
    with region.task() as task:
        expect_rule("IC-START-TRANSIDERR", task.start, "NONE")
        expect_rule("IC-START-TERMIDERR", task.start, "LATE", termid="T999")
        for id_, given in OUT_OF_RANGE:
            expect_rule(OF_DELAY[id_], task.delay, **given)
            expect_rule(id_, task.start, "LATE", **given)
            text = " ".join(f"{word.upper()}({value})" for word, value in given.items())
            expect_rule(OF_DELAY[id_], task.execute, f"DELAY {text}", {})
            expect_rule(id_, task.execute, f"START TRANSID('LATE') {text}", {})
        name = task.start("LATE", hours=1)
        assert task.eib.eibreqid == name
        task.cancel(name)
        expect_rule("IC-CANCEL-NOTFND", task.cancel, name)


@pytest.mark.rule("IC-CANCEL-PROTECT")
def test_a_start_protect_can_be_cancelled_once_it_is_committed(region: Region) -> None:
    seen: list[str] = []
    region.register("LATE", lambda task: seen.append(task._startcode))
    with region.task() as task:
        early = task.start("LATE", protect=True, seconds=5)
        expect_rule("IC-CANCEL-PROTECT", task.cancel, early)
        late = task.start("LATE", protect=True, seconds=5)
        task.syncpoint()
        task.cancel(late)
        expect_rule("IC-CANCEL-NOTFND", task.cancel, late)
    region.run()
    assert seen == ["S"]  # the CANCEL that came too early has cancelled nothing


def test_delay_lets_others_run(region: Region) -> None:
    order: list[str] = []

    def slow(task: Task) -> None:
        task.delay(interval=1)
        order.append("slow")

    region.start(slow)
    region.start(lambda _task: order.append("quick"))
    region.run()
    assert order == ["quick", "slow"]
    region.delay(seconds=3)  # outside a task too


@pytest.mark.rule("ENQ-WAITS", "ENQ-ENQBUSY", "ENQ-LENGERR")
def test_enq_serialises(region: Region) -> None:
    order: list[str] = []

    def user(name: str) -> Callable[[Task], None]:
        def program(task: Task) -> None:
            task.enq("NOQ")
            task.enq("NOQ")
            order.append(f"{name} in")
            task.delay(seconds=1)
            task.deq("NOQ")
            task.delay(seconds=1)
            order.append(f"{name} out")
            task.deq("NOQ")

        return program

    region.start(user("one"))
    region.start(user("two"))
    region.run()
    assert order == ["one in", "one out", "two in", "two out"]
    with region.task() as first, region.task() as second:
        raising(first, "ENQBUSY")
        raising(second, "ENQBUSY")
        first.enq(b"RES")
        expect_rule("ENQ-ENQBUSY", second.enq, b"RES", nosuspend=True)
        first.syncpoint()  # the end of the unit of work gives it up
        second.enq(b"RES", task=True)
        second.syncpoint()
        expect_rule("ENQ-ENQBUSY", first.enq, b"RES", nosuspend=True)
        expect_rule("ENQ-LENGERR", first.enq, b"")
    assert region._core.enqueues == {}
    assert rule("ENQ-WAITS").command == "ENQ"


@pytest.mark.rule("ENQ-WAITS")
def test_a_name_of_enq_goes_to_the_task_that_waits_and_not_to_one_that_comes_between(region: Region) -> None:
    order: list[str] = []

    def holder(task: Task) -> None:
        task.enq("NAME")
        task.suspend()
        task.deq("NAME")

    def waiter(task: Task) -> None:
        task.enq("NAME")
        order.append("has waited")

    def between(task: Task) -> None:
        task.suspend()
        task.enq("NAME")
        order.append("came between")

    for program in (holder, waiter, between):
        region.start(program)
    region.run()
    assert order == ["has waited", "came between"]


@pytest.mark.rule("TASK-AKCS")
def test_dtimout_ends_a_wait(region: Region) -> None:
    region.register("WAIT", lambda task: task.readq_td("LOGQ"))

    def holder(task: Task) -> None:
        task.writeq_td("LOGQ", b"x")
        task.delay(hours=1)

    holding = region.start(holder)
    waiting = region.start("WAIT")
    begun = region.clock.time_ns()
    region.run()
    with pytest.raises(Abend) as caught:
        waiting.result()
    assert rule("TASK-AKCS").message == caught.value.code
    assert holding.exception is None
    assert region.clock.time_ns() - begun >= 3600 * 10**9
    assert region.peek("LOGQ") == [b"x"]


def test_dtimout_counts_for_the_program_outside_too(region: Region) -> None:
    with region.task() as holder:
        holder.writeq_td("LOGQ", b"x")
        with pytest.raises(Abend, match=rule("TASK-AKCS").message), region.task(transid="WAIT") as task:
            task.writeq_td("LOGQ", b"y")
    assert region.peek("LOGQ") == [b"x"]


@pytest.mark.rule("TASK-PURGE")
def test_purge_ends_a_waiting_task(region: Region) -> None:
    with region.task() as task:
        task.writeq_td("LOGQ", b"x")
        waiting = region.start(lambda other: other.readq_td("LOGQ"))
        region.dispatcher.run_ready()
        assert region.purge(waiting)
        region.dispatcher.run_ready()
        assert isinstance(waiting.exception, Abend)
        assert waiting.exception.code == rule("TASK-PURGE").message
        assert not region.purge(waiting)


# -- the end of a region ------------------------------------------------------------------------------------------------


@pytest.mark.rule("REGION-CLOSE")
def test_close_ends_suspended_tasks_in_order(make_region: Callable[..., Region]) -> None:
    region = make_region()
    ended: list[str] = []

    def waits(name: str) -> Callable[[Task], None]:
        def program(task: Task) -> None:
            task.writeq_td("LOG2" if name == "one" else "NOQ", b"undone?")
            try:
                task.readq_td("LOGQ")
            finally:
                ended.append(name)
                with pytest.raises(RegionClosed):
                    task.writeq_td("NOQ", b"x")

        return program

    def holds(task: Task) -> None:
        task.writeq_td("LOGQ", b"x")
        task.delay(hours=1)

    handles = [region.start(holds), region.start(waits("one")), region.start(waits("two"))]
    region.dispatcher.run_ready()
    assert region.close() == tuple(handles)
    assert ended == ["one", "two"]
    assert all(isinstance(handle.exception, RegionClosed) for handle in handles)
    assert region.close() == ()
    for call in (lambda: region.readq_td("NOQ"), region.task, lambda: region.start("X"), lambda: region.peek("NOQ")):
        with pytest.raises(RegionClosed):
            call()
    assert rule("REGION-CLOSE").command == "shutdown"


def test_a_wait_that_nothing_can_end_is_named(region: Region) -> None:
    with region.task() as first, region.task() as second:
        first.writeq_td("LOGQ", b"x")
        with pytest.raises(WouldWaitForever, match=f"task {first.number} TEST"):
            second.writeq_td("LOGQ", b"y")


def test_no_greenlet_is_left_behind(make_region: Callable[..., Region]) -> None:
    import gc

    from greenlet import greenlet

    def alive() -> int:
        gc.collect()
        return sum(
            isinstance(each, greenlet) and not each.dead and each.parent is not None for each in gc.get_objects()
        )

    before = alive()
    for _ in range(3):
        region = make_region()
        region.start(lambda task: task.delay(hours=1))
        region.start(lambda task: task.enq("X") or task.delay(hours=1))
        region.start(lambda task: task.enq("X"))
        region.dispatcher.run_ready()
        region.close()
    assert alive() == before


def test_two_seeds_two_orders_one_seed_one_order(make_region: Callable[..., Region]) -> None:
    def order(seed: int) -> list[int]:
        region, seen = make_region(seed=seed), []
        for number in range(8):
            region.start(lambda task, number: (task.suspend(), seen.append(number)), number)
        region.run()
        return seen

    assert order(0) == list(range(8))
    assert order(5) == order(5) != order(0)
    assert sorted(order(6)) == list(range(8))


def test_a_command_alone_has_a_number_of_its_own(region: Region) -> None:
    first = region.task().number
    region.writeq_td("NOQ", b"x")
    region.readq_td("NOQ")
    assert region.task().number == first + 3


def test_units_of_work_have_ids_and_titles(region: Region) -> None:
    with region.task() as one, region.task() as two:
        one.writeq_td("LOGQ", b"x")
        two.readq_td("LOG2", nohandle=True)
        units = region.recovery.units_of_work()
        assert [unit.taskid for unit in units] == [one.number, two.number]
        assert all(isinstance(unit, UnitOfWork) and len(unit.id) == 8 for unit in units)
        assert units[0].id != units[1].id
        one.syncpoint()
        assert region.recovery.units_of_work() == units[1:]


def test_an_interrupt_goes_to_the_program_outside_and_leaves_no_lock(region: Region) -> None:
    def program(task: Task) -> None:
        task.writeq_td("LOGQ", b"undone")
        raise KeyboardInterrupt

    region.start(program)
    with pytest.raises(KeyboardInterrupt):
        region.run()
    assert (region.tasks, region.recovery.units) == ({}, {})
    region.writeq_td("LOGQ", b"free")
    assert region.peek("LOGQ") == [b"free"]


@pytest.mark.parametrize("recovstatus", ["NO", "PHYSICAL", "LOGICAL"])
def test_messages_may_go_to_any_queue_and_never_wait(make_region: Callable[..., Region], recovstatus: str) -> None:
    region = make_region(define_tdqueue(name="CSMT", type="INTRA", recovstatus=recovstatus))
    outcome(region, lambda task: task.abend("ONE"))
    assert len(region.peek("CSMT")) == 2  # one message, in two lines
    with region.task() as task:
        task.writeq_td("CSMT", b"mine")
        outcome(region, lambda other: other.abend("TWO"))  # lost when that would have to wait
        assert region.statistics.abends == {"ONE": 1, "TWO": 1}
    assert len(region.peek("CSMT")) == (3 if recovstatus == "LOGICAL" else 5)


def test_a_cycle_is_over_when_a_command_outside_has_met_qzero():
    started = []
    queue = define_tdqueue(
        name="LOGQ", type="INTRA", recovstatus="LOGICAL", transid="TAKE", triggerlevel=1, atifacility="TERMINAL",
        facilityid="T001",
    )  # fmt: skip

    def ends_badly(task):
        started.append(task.number)
        task.abend("OOPS")

    with Region([queue, define_transaction(name="TAKE"), define_terminal(name="T001")]) as region:
        region.register("TAKE", ends_badly)
        for _ in range(2):
            region.writeq_td("LOGQ", b"x")
        assert len(started) == 1  # the cycle stays on
        assert [region.readq_td("LOGQ", nohandle=True) for _ in range(3)] == [b"x", b"x", b""]
        region.writeq_td("LOGQ", b"y")
        assert len(started) == 2


def test_a_program_that_raises_greenletexit_ends_and_frees_its_locks(region: Region) -> None:
    """GreenletExit is what the library under the dispatcher ends its own greenlets with, without a word."""

    def program(task: Task) -> None:
        task.writeq_td("LOGQ", b"lost")
        raise GreenletExit

    handle = region.start(program)
    region.run()
    assert handle.done
    with pytest.raises(RuntimeError, match="raised GreenletExit"):
        handle.result()
    region.writeq_td("LOGQ", b"kept")
    assert (region.peek("LOGQ"), dict(region.tasks)) == ([b"kept"], {})
