"""Automatic transaction initiation: the trigger cycle for every recovery setting, facility and ending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tdqsim import SystemOptions
from tdqsim.cics import Abend, Condition, Region, Sysplex, Task
from tdqsim.definitions import define_connection, define_tdqueue, define_terminal, define_transaction
from tdqsim.errors import UsageError
from tdqsim.facts import Resp
from tests.rules import expect_rule, rule

from .helpers import drain, fill, trigger

Make = Callable[..., Region]
RECOVERY = ["NO", "PHYSICAL", "LOGICAL"]


def counting(program: Callable[[Task], Any] | None = None) -> tuple[list[int], Callable[[Task], Any]]:
    """A program that notes how many records its queue held when it began, and then goes on as another."""
    starts: list[int] = []

    def run(task: Task) -> Any:
        starts.append(task.region.tdqueues[task.assign("QNAME")].numitems)  # type: ignore[attr-defined]
        return program(task) if program is not None else None

    return starts, run


def linked(make_region: Make, *definitions: Any) -> Region:
    """A region with an acquired connection T001."""
    sysplex = Sysplex()
    region = make_region(*definitions, define_connection(name="T001"), applid="HERE", dispatcher=sysplex.dispatcher)
    other = make_region(define_connection(name="HERE"), applid="T001", sysid="T001", dispatcher=sysplex.dispatcher)
    sysplex.add(region)
    sysplex.add(other)
    return region


@pytest.mark.rule("ATI-LEVEL", "ATI-QD")
@pytest.mark.parametrize("recovstatus", RECOVERY)
def test_the_level_starts_one_task(make_region: Make, recovstatus: str) -> None:
    region = make_region(*trigger(recovstatus=recovstatus))
    seen: list[Any] = []
    facts: list[Any] = []

    @region.transaction("PAYP")
    def payp(task: Task) -> None:
        eib = task.eib
        facts.append(
            (task._startcode, task.assign("QNAME", "USERID"), eib.eibtrnid, eib.eibtrmid, eib.eibcalen, eib.eibaid)
        )
        expect_rule("TASK-ASSIGN-FACILITY", task.assign, "FACILITY")
        expect_rule("IC-RETRIEVE-ENDDATA", task.retrieve)
        drain("TRGQ", seen)(task)

    fill(region, "TRGQ", b"1", b"2")
    assert seen == []
    fill(region, "TRGQ", b"3", b"4")
    assert seen == [b"1", b"2", b"3"]
    assert facts == [(rule("ATI-QD").message, ("TRGQ", "CICSUSER"), "PAYP", "", 0, b"\0")]
    assert region.peek("TRGQ") == [b"4"]
    fill(region, "TRGQ", b"5", b"6")
    assert len(facts) == 2
    assert region.tdqueues["TRGQ"].triggers == 2  # type: ignore[attr-defined]
    assert region.statistics.abends == {}  # what a program asserts would be its abend


@pytest.mark.rule("ATI-DIRECT-INSIDE-WRITEQ", "ATI-LOGICAL-AT-COMMIT", "ATI-ROLLBACK-NEVER")
@pytest.mark.parametrize("recovstatus", RECOVERY)
def test_when_the_count_is_looked_at(make_region: Make, recovstatus: str) -> None:
    region = make_region(*trigger(recovstatus=recovstatus))
    starts, program = counting(drain("TRGQ"))
    region.register("PAYP", program)
    with region.task() as task:
        for record in (b"1", b"2", b"3", b"4"):
            task.writeq_td("TRGQ", record)
        assert starts == ([] if recovstatus == "LOGICAL" else [3])
        task.syncpoint_rollback()
        assert starts == ([] if recovstatus == "LOGICAL" else [3])
        for record in (b"1", b"2", b"3", b"4"):
            task.writeq_td("TRGQ", record)
    assert starts == ([4] if recovstatus == "LOGICAL" else [3, 3])


@pytest.mark.rule("ATI-NO-RECURSION")
def test_a_triggerlevel_without_transid_is_told_at_install_and_by_set(make_region: Make) -> None:
    region = make_region(
        define_tdqueue(name="LEVL", type="INTRA", triggerlevel=5),
        define_tdqueue(name="DFLT", type="INTRA", triggerlevel=1),  # as listings of a CSD have it
    )
    (told,) = region.notices
    assert (told.id, told.severity, told.resource) == ("TDQ0066", "warning", "TDQUEUE(LEVL)")
    assert told.reason == "TRIGGERLEVEL 5 starts nothing: the queue has no TRANSID."
    assert told.cure == "Give it a TRANSID, or leave TRIGGERLEVEL out."
    region.set_tdqueue("DFLT", triggerlevel=2)
    assert [each.resource for each in region.notices] == ["TDQUEUE(LEVL)", "TDQUEUE(DFLT)"]


def test_a_started_task_never_runs_inside_its_writer(make_region: Make) -> None:
    region = make_region(*trigger(triggerlevel=1))
    order: list[str] = []

    @region.transaction("PAYP")
    def payp(task: Task) -> None:
        order.append("PAYP begins")
        drain("TRGQ")(task)
        if order.count("PAYP begins") < 3:
            task.writeq_td("TRGQ", b"one more")  # its own trigger, after QZERO
        order.append("PAYP ends")

    def writer(task: Task) -> None:
        task.writeq_td("TRGQ", b"1")
        order.append("the writer goes on")
        task.writeq_td("TRGQ", b"2")
        order.append("the writer ends")

    region.start(writer)
    region.run()
    assert order == ["the writer goes on", "the writer ends", *["PAYP begins", "PAYP ends"] * 3]


@pytest.mark.rule("ATI-QZERO-DIRECT", "ATI-QZERO-LOGICAL", "ATI-QZERO-WHILE-TASK-RUNS")
@pytest.mark.parametrize("recovstatus", RECOVERY)
def test_qzero_by_anybody_ends_the_cycle(make_region: Make, recovstatus: str) -> None:
    """A direct queue's at once, also while the task runs; a logical one's when the task that saw it ends."""
    region = make_region(*trigger(recovstatus=recovstatus))
    starts, program = counting(lambda task: task.delay(seconds=10))
    region.register("PAYP", program)
    fill(region, "TRGQ", b"1", b"2", b"3")
    with region.task() as operator:
        drain("TRGQ")(operator)
        operator.syncpoint()
        fill(region, "TRGQ", b"4", b"5", b"6")
        assert starts == ([3] if recovstatus == "LOGICAL" else [3, 3])
    fill(region, "TRGQ", b"7")
    assert starts == ([3, 4] if recovstatus == "LOGICAL" else [3, 3])


def test_a_qzero_that_is_backed_out_does_not_count(make_region: Make) -> None:
    region = make_region(*trigger(recovstatus="LOGICAL"))
    starts, program = counting(lambda task: task.delay(seconds=10))
    region.register("PAYP", program)
    fill(region, "TRGQ", b"1", b"2", b"3")
    with pytest.raises(ZeroDivisionError), region.task() as operator:  # noqa: PT012  (the block is a task)
        drain("TRGQ")(operator)
        raise ZeroDivisionError
    fill(region, "TRGQ", b"4")
    assert starts == [3]


def endings(abends: bool) -> Callable[[Task], None]:
    def program(task: Task) -> None:
        task.readq_td("TRGQ", nohandle=True)
        if abends:
            task.abend("OOPS")

    return program


# What becomes of the cycle when its task ends normally, and when it abends (Automatic transaction initiation, IBM Docs).
ENDINGS = {
    "FILE": ("over", "over"),
    "TERMINAL": ("started again", "stays on"),
    "SYSTEM": ("started again", "stays on"),
}


@pytest.mark.rule("ATI-FILE-END", "ATI-FILE-ABEND", "ATI-TERMINAL-AGAIN", "ATI-SYSTEM-AGAIN", "ATI-TERMINAL-ABEND")
@pytest.mark.parametrize("recovstatus", RECOVERY)
@pytest.mark.parametrize("facility", ["FILE", "TERMINAL", "SYSTEM"])
@pytest.mark.parametrize("abends", [False, True])
def test_the_table_of_endings(make_region: Make, recovstatus: str, facility: str, abends: bool) -> None:
    """A task that reads one record of three and ends without QZERO."""
    attributes = {"facilityid": "T001"} if facility != "FILE" else {}
    region = linked(make_region, *trigger(recovstatus=recovstatus, atifacility=facility, **attributes))
    starts, program = counting(endings(abends))
    begun: list[str] = []

    @region.transaction("PAYP")
    def payp(task: Task) -> None:
        begun.append(task.assign("STARTCODE"))
        program(task)

    fill(region, "TRGQ", b"1", b"2", b"3")
    region.run()
    queue: Any = region.tdqueues["TRGQ"]
    outcome = ENDINGS[facility][abends]
    backed_out = abends and recovstatus == "LOGICAL"
    left = 3 if backed_out else 2
    if outcome == "over":  # the end opens the way and starts nothing; the next write at the level does
        assert (starts, queue.latch, queue.numitems) == ([3], False, left)
        region.writeq_td("TRGQ", b"4")
        region.run()
        assert starts == [3, left + 1]
    elif outcome == "started again":  # until QZERO
        assert (starts, queue.latch, queue.numitems) == ([3, 2, 1, 0], False, 0)
        assert begun == [rule("ATI-SYSTEM-AGAIN").message] * 4
    else:  # stuck, until somebody reads to QZERO
        region.writeq_td("TRGQ", b"4")
        region.run()
        assert (starts, queue.latch) == ([3], True)
        region.start(drain("TRGQ")).result()
        assert queue.latch is False
        fill(region, "TRGQ", b"5", b"6", b"7")
        assert starts == [3, 3]


@pytest.mark.rule("ATI-SYSTEM-WAITS")
def test_a_trigger_with_atifacility_system_waits_until_its_connection_is_acquired(make_region: Make) -> None:
    sysplex = Sysplex()
    region = make_region(
        *trigger(atifacility="SYSTEM", facilityid="T001", triggerlevel=1), applid="HERE", dispatcher=sysplex.dispatcher
    )
    sysplex.add(region)
    seen: list[bytes] = []
    region.register("PAYP", drain("TRGQ", seen))
    fill(region, "TRGQ", b"1")
    told = [("TDQ0003", "waits for connection T001, which is not defined")]
    for change in ("installed", "out of service", "in service"):
        region.install([define_connection(name="T001", inservice="NO" if change == "out of service" else "YES")])
        region.run()
        assert seen == [], change
    assert [(each.id, each.reason.partition("(PAYP) ")[2].partition(" (ATI")[0]) for each in region.notices] == told
    notice = region.explain("TRGQ").statements
    released = "The task of its trigger (PAYP) waits for a session with system T001, whose connection is released"
    assert any(line.startswith(released) for line in notice), notice
    other = make_region(define_connection(name="HERE"), applid="T001", sysid="T001", dispatcher=sysplex.dispatcher)
    sysplex.add(other)
    sysplex.run()
    assert seen == [b"1"]
    assert region.notices.lasting == ()
    link = sysplex.link(region, other)
    link.cut()
    fill(region, "TRGQ", b"2")
    assert seen == [b"1"]
    (notice,) = region.notices.lasting
    assert (notice.id, notice.resource) == (rule("ATI-SYSTEM-WAITS").message, "TDQUEUE(TRGQ)")
    assert notice.reason.startswith(released)
    link.restore()
    sysplex.run()
    assert seen == [b"1", b"2"]
    assert region.notices.lasting == ()


@pytest.mark.rule("ATI-RESTART-BOUND")
def test_a_terminal_task_that_reads_no_more_is_not_started_for_ever(make_region: Make) -> None:
    region = make_region(*trigger(atifacility="TERMINAL", facilityid="T001"))

    def read_first(task: Task) -> None:
        if len(starts) == 1:
            task.readq_td("TRGQ")
        assert len(starts) < 50

    starts, program = counting(read_first)
    region.register("PAYP", program)
    fill(region, "TRGQ", b"0", b"1", b"2", b"3")
    region.run()
    assert len(starts) == 1 + int(rule("ATI-RESTART-BOUND").message)
    assert region.tdqueues["TRGQ"].latch  # type: ignore[attr-defined]
    region.set_tdqueue("TRGQ", triggerlevel=3)  # ends the cycle; the next one has as many again
    region.writeq_td("TRGQ", b"4")
    region.run()
    assert len(starts) == 1 + 2 * int(rule("ATI-RESTART-BOUND").message)


def test_a_terminal_has_one_task_at_a_time(make_region: Make) -> None:
    region = make_region(*trigger(atifacility="TERMINAL", facilityid="T001"))
    region.register("PAYP", drain("TRGQ"))
    busy = region.start(lambda task: task.delay(seconds=10), terminal="T001")
    for _ in range(2):  # before its task has begun, and while it waits
        with pytest.raises(UsageError, match="terminal T001 is in use by"):
            region.start("PAYP", terminal="T001")
        region.dispatcher.run_ready()
    busy.result()
    assert region.start("PAYP", terminal="T001").abend is None


@pytest.mark.rule("ATI-FACILITYID-DEFAULT")
def test_facilityid_is_the_queue_name_and_may_be_defined_later(make_region: Make) -> None:
    region = make_region(define_tdqueue(name="T002", type="INTRA", transid="PAYP", triggerlevel=1))
    starts, program = counting(drain("T002"))
    region.register("PAYP", program)
    region.writeq_td("T002", b"x")
    assert starts == []  # no such terminal yet: the request waits
    region.install([define_terminal(name="T002")])
    region.run()
    assert starts == [1]


@pytest.mark.rule("ATI-UNKNOWN-TRANSACTION")
def test_an_initiation_that_fails_is_tried_by_every_later_write(make_region: Make) -> None:
    region = make_region(
        define_tdqueue(name="TRGQ", type="INTRA", transid="PAYP", triggerlevel=2, atifacility="FILE"),
        supplied_queues=True,
    )
    fill(region, "TRGQ", b"1", b"2", b"3")
    console = region.diagnostics.operator
    assert sum(line.startswith(rule("ATI-UNKNOWN-TRANSACTION").message) for line in console) == 1
    assert region.peek("CSMT") == []
    region.set_tdqueue("TRGQ", triggerlevel=1)  # from then on it is told once more
    fill(region, "TRGQ", b"4", b"5")
    assert sum(line.startswith(rule("ATI-UNKNOWN-TRANSACTION").message) for line in console) == 2
    assert region.inquire_tdqueue("TRGQ", "TRIGGERLEVEL").triggerlevel == 1
    starts, program = counting(drain("TRGQ"))
    region.register("PAYP", program)
    region.writeq_td("TRGQ", b"6")
    assert starts == [6]
    region.discard_transaction("PAYP")  # after a cycle it is told again
    fill(region, "TRGQ", b"7", b"8")
    assert sum(line.startswith(rule("ATI-UNKNOWN-TRANSACTION").message) for line in console) == 3


@pytest.mark.rule("ATI-REMOTE-TRANSACTION", "ATI-DISABLED-TRANSACTION", "ATI-NO-PROGRAM")
@pytest.mark.parametrize(
    ("attributes", "row", "latched"),
    [
        ({"remotesystem": "CICB"}, "ATI-REMOTE-TRANSACTION", False),
        ({"status": "DISABLED"}, "ATI-DISABLED-TRANSACTION", True),
        ({}, "ATI-NO-PROGRAM", True),
    ],
)
def test_transactions_that_cannot_be_attached(make_region: Make, attributes: Any, row: str, latched: bool) -> None:
    queue = define_tdqueue(name="TRGQ", type="INTRA", transid="PAYP", triggerlevel=1, atifacility="FILE")
    region = make_region(queue, define_transaction(name="PAYP", **attributes), supplied_queues=True)
    region.writeq_td("TRGQ", b"x")
    region.writeq_td("TRGQ", b"y")
    lines = [record.decode("cp037") for record in region.peek("CSMT")]
    console = region.diagnostics.operator
    there, not_there = (console, lines) if row == "ATI-REMOTE-TRANSACTION" else (lines, console)
    assert sum(line.startswith(rule(row).message) for line in there) == 1
    assert not any(line.startswith(rule(row).message) for line in not_there)
    assert region.tdqueues["TRGQ"].latch is latched  # type: ignore[attr-defined]


@pytest.mark.rule("ATI-SET-STUCK", "ATI-SET-NOT-ATTACHED")
@pytest.mark.parametrize("change", ["triggerlevel", "atitermid"])
@pytest.mark.parametrize("why", ["abend", "attach"])
@pytest.mark.parametrize("recovstatus", RECOVERY)
def test_a_set_of_the_trigger_frees_a_queue_whose_task_was_not_attached_but_not_after_an_abend(
    make_region: Make, recovstatus: str, why: str, change: str
) -> None:
    region = make_region(*trigger(recovstatus=recovstatus, triggerlevel=1, atifacility="TERMINAL", facilityid="T001"))
    starts, program = counting(drain("TRGQ"))
    region.register("PAYP", (lambda task: task.abend("OOPS")) if why == "abend" else drain("TRGQ"))
    region.set_transaction("PAYP", status="ENABLED" if why == "abend" else "DISABLED")
    fill(region, "TRGQ", b"1", b"2")
    region.register("PAYP", program)
    region.set_transaction("PAYP", status="ENABLED")
    region.writeq_td("TRGQ", b"3")
    assert starts == []
    if change == "triggerlevel":
        region.set_tdqueue("TRGQ", triggerlevel=1)
    else:
        region.set_tdqueue("TRGQ", enablestatus="DISABLED")
        region.set_tdqueue("TRGQ", atitermid="T001", enablestatus="ENABLED")
    assert starts == []  # the SET itself starts nothing
    region.writeq_td("TRGQ", b"4")
    assert starts == ([4] if why == "attach" else [])
    drained = list(region.readq_td_all("TRGQ"))
    assert len(drained) == (0 if why == "attach" else 4)
    region.writeq_td("TRGQ", b"5")
    assert starts == ([4, 1] if why == "attach" else [1])


@pytest.mark.rule("ATI-QZERO-CANCELS")
@pytest.mark.parametrize("recovstatus", RECOVERY)
@pytest.mark.parametrize("by", ["QZERO", "DELETEQ", "SET", "DISCARD"])
def test_a_start_that_waits_for_its_terminal_is_cancelled_when_its_cycle_is_over(
    make_region: Make, recovstatus: str, by: str
) -> None:
    region = make_region(
        define_terminal(name="T000"),  # looked at before it
        define_transaction(name="KEPT"),
        *trigger(recovstatus=recovstatus, triggerlevel=1, atifacility="TERMINAL", facilityid="T001"),
    )
    starts, program = counting(drain("TRGQ"))
    region.register("PAYP", program)
    region.set_terminal("T000", servstatus="OUTSERVICE")
    region.set_terminal("T001", servstatus="OUTSERVICE")
    region.writeq_td("TRGQ", b"x")
    kept: list[str] = []
    region.register("KEPT", lambda task: kept.append(task.eib.eibtrnid))
    with region.task() as reader:
        reader.start("KEPT", termid="T001")
        assert reader.readq_td("TRGQ") == b"x"
        if by == "QZERO":
            with pytest.raises(Condition, match="QZERO"):
                reader.readq_td("TRGQ")
    if by == "DELETEQ":
        region.deleteq_td("TRGQ")
    elif by == "DISCARD":
        region.set_tdqueue("TRGQ", enablestatus="DISABLED")
        assert "TDQUEUE(TRGQ)" in {each.resource for each in region.notices.lasting}
        region.discard_tdqueue("TRGQ")
        assert "TDQUEUE(TRGQ)" not in {each.resource for each in region.notices.lasting}
    elif by == "SET":  # while the start is due, a SET leaves it on
        region.set_tdqueue("TRGQ", triggerlevel=1)
    region.set_terminal("T001", servstatus="INSERVICE")
    region.run()
    assert (starts, kept) == ([0] if by == "SET" else [], ["KEPT"])
    if by in ("QZERO", "DELETEQ"):
        region.writeq_td("TRGQ", b"y")
        assert starts == [1]


@pytest.mark.rule("ATI-RESTART-BOUND")
@pytest.mark.parametrize("recovstatus", RECOVERY)
def test_a_terminal_is_served_to_the_end_of_a_long_backlog(make_region: Make, recovstatus: str) -> None:
    """Only starts in a row that take no record are counted: these take one each, and all 45 tasks run."""
    region = make_region(*trigger(recovstatus=recovstatus, triggerlevel=44, atifacility="TERMINAL", facilityid="T001"))
    seen: list[str] = []
    region.register("PAYP", lambda task: seen.append(region.text(task.readq_td("TRGQ", nohandle=True))))
    with region.task() as writer:
        for number in range(44):
            writer.writeq_td("TRGQ", region.encode(f"{number}"))
    region.run()
    assert seen == [*(f"{number}" for number in range(44)), ""]


def late_writes(make_region: Make, recovstatus: str, **options: Any) -> tuple[Region, list[str]]:
    """A task that works on after QZERO, while further records are written; and the events."""
    region = make_region(*trigger(recovstatus=recovstatus, triggerlevel=1, atifacility="FILE"), **options)
    log: list[str] = []

    @region.transaction("PAYP")
    def payp(task: Task) -> None:
        log.append("begin")
        while (record := task.readq_td("TRGQ", nohandle=True)) or task.eib.eibresp is Resp.NORMAL:
            log.append(region.text(record))
        task.syncpoint()
        task.delay(seconds=5)
        log.append("end")

    region.writeq_td("TRGQ", region.encode("one"))
    with region.task() as writer:
        writer.delay(seconds=1)
        writer.writeq_td("TRGQ", region.encode("two"))
    region.run()
    return region, log


@pytest.mark.rule("ATI-QZERO-WHILE-TASK-RUNS", "ATI-LOGICAL-MISSED")
@pytest.mark.parametrize("recovstatus", RECOVERY)
def test_a_record_that_comes_after_qzero_while_the_task_runs_on(make_region: Make, recovstatus: str) -> None:
    region, log = late_writes(make_region, recovstatus)
    missed = [each for each in region.notices if each.id == rule("ATI-LOGICAL-MISSED").message]
    if recovstatus == "LOGICAL":
        assert log == ["begin", "one", "end"]
        assert [(each.resource, each.severity) for each in missed] == [("TDQUEUE(TRGQ)", "warning")]
        assert "1 records are there, its trigger level is reached, and no task of PAYP is started" in missed[0].reason
        region.writeq_td("TRGQ", region.encode("three"))
        region.run()
        assert log[3:] == ["begin", "two", "three", "end"]
    else:
        assert log == ["begin", "one", "begin", "two", "end", "end"]
        assert missed == []
        assert rule("ATI-QZERO-WHILE-TASK-RUNS").message == f"trigger_next: {region.options.trigger_next}"


@pytest.mark.rule("ATI-NEXT-TASKEND")
@pytest.mark.parametrize("recovstatus", RECOVERY)
def test_with_trigger_next_taskend_the_tasks_of_a_queue_run_one_after_the_other(
    make_region: Make, recovstatus: str
) -> None:
    region, log = late_writes(
        make_region, recovstatus, system=SystemOptions(trigger_next=rule("ATI-NEXT-TASKEND").message)
    )
    assert log == ["begin", "one", "end", "begin", "two", "end"]
    assert [each for each in region.notices if each.id == "TDQ0050"] == []
    region.writeq_td("TRGQ", region.encode("three"))
    region.run()
    assert log[6:] == ["begin", "three", "end"]


def test_trigger_next_is_checked_and_read_from_region_yaml(tmp_path: Any) -> None:
    with pytest.raises(UsageError, match="trigger_next = 'NEVER': must be QZERO or TASKEND"):
        Region(system=SystemOptions(trigger_next="NEVER"))  # type: ignore[arg-type]
    (tmp_path / "region.yaml").write_text("trigger_next: TASKEND\n")
    with Region.from_directory(tmp_path) as region:
        assert region.options.trigger_next == "TASKEND"


@pytest.mark.parametrize("recovstatus", RECOVERY)
def test_a_set_of_the_state_alone_frees_nothing(make_region: Make, recovstatus: str) -> None:
    region = make_region(*trigger(recovstatus=recovstatus, triggerlevel=1, atifacility="TERMINAL", facilityid="T001"))
    starts, program = counting(drain("TRGQ"))
    region.register("PAYP", lambda task: task.abend("OOPS"))
    fill(region, "TRGQ", b"1", b"2")
    region.register("PAYP", program)
    region.set_tdqueue("TRGQ", enablestatus="DISABLED")
    region.set_tdqueue("TRGQ", enablestatus="ENABLED")
    region.writeq_td("TRGQ", b"3")
    assert starts == []


@pytest.mark.rule("ATI-SET-PENDING")
@pytest.mark.parametrize("waits", ["runs", "waits for its terminal"])
@pytest.mark.parametrize("facility", ["FILE", "TERMINAL"])
@pytest.mark.parametrize("recovstatus", RECOVERY)
def test_a_set_while_the_task_is_due_or_runs_starts_no_second_one(
    make_region: Make, recovstatus: str, facility: str, waits: str
) -> None:
    attributes = {"facilityid": "T001"} if facility == "TERMINAL" else {}
    region = make_region(*trigger(recovstatus=recovstatus, triggerlevel=1, atifacility=facility, **attributes))

    def read_one(task: Task) -> None:
        task.delay(seconds=10)
        task.readq_td("TRGQ", nohandle=True)

    starts, program = counting(read_one)
    region.register("PAYP", program)
    region.set_terminal("T001", servstatus="INSERVICE" if waits == "runs" else "OUTSERVICE")
    region.writeq_td("TRGQ", b"1")
    region.set_tdqueue("TRGQ", triggerlevel=2)
    fill(region, "TRGQ", b"2", b"3")
    region.set_terminal("T001", servstatus="INSERVICE")
    region.dispatcher.run_ready()
    assert len(starts) == 1
    region.run()
    if facility == "TERMINAL":  # a normal end without QZERO: again and again, as if nothing had been set
        assert len(starts) == 4
        assert region.peek("TRGQ") == []
    else:
        assert len(starts) == 1
        fill(region, "TRGQ", b"4")
        assert len(starts) == 2


@pytest.mark.rule("ATI-AGAIN-LEVEL-ZERO")
@pytest.mark.parametrize("facility", ["TERMINAL", "SYSTEM"])
def test_a_task_of_a_terminal_is_not_started_again_at_triggerlevel_0(make_region: Make, facility: str) -> None:
    queue = trigger(triggerlevel=1, atifacility=facility, facilityid="T001")
    region = linked(make_region, *queue)
    starts, program = counting(lambda task: task.delay(seconds=10))
    region.register("PAYP", program)
    region.writeq_td("TRGQ", b"1")
    region.set_tdqueue("TRGQ", triggerlevel=0)
    region.run()
    region.writeq_td("TRGQ", b"2")
    assert starts == [1]
    region.set_tdqueue("TRGQ", triggerlevel=1)
    region.writeq_td("TRGQ", b"3")
    assert starts == [1, 3]


def test_a_queue_that_has_become_one_of_a_terminal_while_its_task_ran(make_region: Make) -> None:
    region = make_region(*trigger(triggerlevel=1))
    starts, program = counting(lambda task: (task.delay(seconds=10), task.readq_td("TRGQ", nohandle=True)))
    region.register("PAYP", program)
    fill(region, "TRGQ", b"1", b"2")
    region.set_tdqueue("TRGQ", enablestatus="DISABLED")
    region.set_tdqueue("TRGQ", atifacility="TERMINAL", atitermid="T001", enablestatus="ENABLED")
    region.run()
    assert starts == [1, 1, 0]
    assert not region.tdqueues["TRGQ"].latch  # type: ignore[attr-defined]


def test_a_discarded_queue_leaves_no_cycle_to_one_of_its_name(make_region: Make) -> None:
    region = make_region(*trigger(triggerlevel=1, recovstatus="PHYSICAL", atifacility="TERMINAL", facilityid="T001"))
    starts, program = counting(drain("TRGQ"))
    region.register("PAYP", lambda task: task.abend("OOPS"))
    region.writeq_td("TRGQ", b"1")
    region.set_tdqueue("TRGQ", enablestatus="DISABLED")
    region.discard_tdqueue("TRGQ")
    region.install(trigger(triggerlevel=1, recovstatus="PHYSICAL")[:1])
    region.register("PAYP", program)
    region.writeq_td("TRGQ", b"2")
    assert starts == [1]


@pytest.mark.rule("ATI-RESTART-BOUND")
def test_a_terminal_task_that_always_backs_out_is_not_started_for_ever(make_region: Make) -> None:
    region = make_region(*trigger(triggerlevel=1, recovstatus="LOGICAL", atifacility="TERMINAL", facilityid="T001"))

    def back_out(task: Task) -> None:
        task.readq_td("TRGQ")
        task.syncpoint_rollback()

    starts, program = counting(back_out)
    region.register("PAYP", program)
    region.writeq_td("TRGQ", b"1")
    assert len(starts) == int(rule("ATI-RESTART-BOUND").message)
    assert region.peek("TRGQ") == [b"1"]


def test_installing_a_queue_leaves_a_terminal_out_of_service(make_region: Make) -> None:
    region = make_region(*trigger(triggerlevel=1, atifacility="TERMINAL", facilityid="T001"))
    starts, program = counting(drain("TRGQ"))
    region.register("PAYP", program)
    region.set_terminal("T001", servstatus="OUTSERVICE")
    region.writeq_td("TRGQ", b"1")
    region.install([define_tdqueue(name="OTHR", type="INTRA"), define_terminal(name="T003")])
    region.run()
    assert starts == []
    region.install([define_terminal(name="T001")])  # as it is defined now: in service
    region.run()
    assert starts == [1]


@pytest.mark.rule("ATI-DISABLED-QUEUE")
def test_a_scheduled_task_meets_disabled(make_region: Make) -> None:
    region = make_region(*trigger())
    seen: list[Resp] = []

    @region.transaction("PAYP")
    def payp(task: Task) -> None:
        task.readq_td("TRGQ", nohandle=True)
        seen.append(task.eib.eibresp)

    with region.task() as task:
        task._outside = False  # nobody has a turn before the queue is disabled
        for record in (b"1", b"2", b"3"):
            task.writeq_td("TRGQ", record)
        task.set_tdqueue("TRGQ", enablestatus="DISABLED")
    region.run()
    assert [resp.name for resp in seen] == [rule("ATI-DISABLED-QUEUE").resp]


def test_an_alias_and_a_message_trigger_too(make_region: Make) -> None:
    region = make_region(
        *trigger("CSMT", triggerlevel=1), define_tdqueue(name="ALIA", type="INDIRECT", indirectname="CSMT")
    )
    seen: list[bytes] = []
    region.register("PAYP", drain("CSMT", seen))
    region.writeq_td("ALIA", b"x")
    assert seen == [b"x"]
    region.start(lambda task: task.abend("OOPS"))
    region.run()
    assert b"".join(seen[1:]).decode("cp037").startswith("DFHAC2236")


def test_a_failing_handler_leaves_the_region_and_the_writer_alone(make_region: Make) -> None:
    region = make_region(*trigger(triggerlevel=1))
    region.register("PAYP", lambda task: task.nosuch)
    for number in range(5):
        region.writeq_td("TRGQ", b"%d" % number)
    assert region.statistics.abends == {"ASRA": 5}
    assert len(region.peek("TRGQ")) == 5
    handle = region.start("PAYP")
    with pytest.raises(Abend, match="AttributeError"):
        handle.result()


@pytest.mark.rule("ATI-QZERO-BEFORE")
def test_a_qzero_before_a_cycle_does_not_end_that_cycle(make_region: Make) -> None:
    """A task reads a LOGICAL queue to QZERO and goes on; a cycle begins meanwhile, and is on when that task ends."""
    region = make_region(*trigger(triggerlevel=1, recovstatus="LOGICAL", atifacility="FILE"))
    starts: list[int] = []

    def started(task: Task) -> None:
        starts.append(task.number)
        task.delay(10)

    region.register("PAYP", started)
    early = region.task()
    early.readq_td("TRGQ", nohandle=True)
    early.syncpoint()
    handle = region.start(lambda task: task.writeq_td("TRGQ", b"one"))
    region.dispatcher.run_ready()
    assert handle.done
    assert len(starts) == 1
    early.end(normal=True)
    region.writeq_td("TRGQ", b"two")
    assert len(starts) == 1
    assert rule("ATI-QZERO-BEFORE").message == "stays on"


@pytest.mark.parametrize("replaced", [False, True], ids=["DISCARD", "CREATE"])
def test_the_start_that_waits_for_a_terminal_is_gone_with_its_queue(make_region: Make, replaced: bool) -> None:
    region = make_region(*trigger(atifacility="TERMINAL", facilityid="T001"))
    ran: list[str] = []
    region.register("PAYP", lambda task: ran.append(task.assign("QNAME")))
    region.set_terminal("T001", servstatus="OUTSERVICE")
    for _ in range(3):
        region.writeq_td("TRGQ", b"x")
    region.set_tdqueue("TRGQ", enablestatus="DISABLED")
    if replaced:
        region.create_tdqueue("TRGQ", "TYPE(INTRA)")
    else:
        region.discard_tdqueue("TRGQ")
    region.set_terminal("T001", servstatus="INSERVICE")
    region.run()
    assert ran == []


@pytest.mark.rule("ATI-SET-PENDING")
def test_deleteq_takes_the_request_back_that_waits_for_the_terminal_of_before_a_set(make_region: Make) -> None:
    """The request was made for terminal T001; after SET the queue has none, and the terminal is the same."""
    region = make_region(*trigger(recovstatus="NO", facilityid="T001", triggerlevel=1, atifacility="TERMINAL"))
    region.set_terminal("T001", servstatus="OUTSERVICE")
    started: list[str] = []
    region.register("PAYP", lambda task: started.append(task.assign("QNAME")))
    region.writeq_td("TRGQ", b"x")
    region.set_tdqueue("TRGQ", enablestatus="DISABLED")
    region.set_tdqueue("TRGQ", atifacility="NOTERMINAL")
    region.set_tdqueue("TRGQ", enablestatus="ENABLED")
    region.deleteq_td("TRGQ")
    region.set_terminal("T001", servstatus="INSERVICE")
    region.run()
    assert started == []
    region.writeq_td("TRGQ", b"x")
    region.run()
    assert started == ["TRGQ"]
