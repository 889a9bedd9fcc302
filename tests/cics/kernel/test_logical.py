"""LOGICAL queues: units of work, the two locks of a queue, waiting, DISABLING and two phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tdqsim.cics import Condition, Region, Task
from tdqsim.definitions import define_tdqueue, define_transaction
from tdqsim.errors import StoreFull, TdqError, WouldWaitForever
from tdqsim.facts import Cvda, Resp
from tests.rules import expect_rule, rule

from .helpers import fill, raising

Make = Callable[..., Region]

# -- commit and backout -------------------------------------------------------------------------------------------------


def test_a_large_unit_of_work_keeps_order(region: Region) -> None:
    records = [b"%06d" % number for number in range(500)]
    with region.task() as task:
        for record in records:
            task.writeq_td("LOGQ", record)
        assert [task.readq_td("LOGQ") for _ in range(100)] == records[:100]
    with region.task() as task:
        assert [task.readq_td("LOGQ") for _ in range(200)] == records[100:300]
        task.syncpoint_rollback()
        assert [task.readq_td("LOGQ") for _ in range(400)] == records[100:]
        assert task.readq_td("LOGQ", nohandle=True) == b""
    assert region._core.intra.count() == 0


# -- locks: what another unit of work has done, and what mine may do ---------------------------------------------------

OPERATIONS: dict[str, Callable[[Task], Any]] = {
    "READQ": lambda task: task.readq_td("LOGQ"),
    "WRITEQ": lambda task: task.writeq_td("LOGQ", b"mine"),
    "DELETEQ": lambda task: task.deleteq_td("LOGQ"),
}


CONFLICTS = {
    ("READQ", "READQ"): True, ("READQ", "WRITEQ"): False, ("READQ", "DELETEQ"): True,
    ("WRITEQ", "READQ"): False, ("WRITEQ", "WRITEQ"): True, ("WRITEQ", "DELETEQ"): True,
    ("DELETEQ", "READQ"): True, ("DELETEQ", "WRITEQ"): True, ("DELETEQ", "DELETEQ"): True,
}  # fmt: skip


@pytest.mark.rule("LOCK-CONFLICTS")
@pytest.mark.parametrize(("theirs", "mine"), list(CONFLICTS))
def test_the_conflict_table(region: Region, theirs: str, mine: str) -> None:
    fill(region, "LOGQ", b"a", b"b", b"c")
    with region.task() as holder:
        OPERATIONS[theirs](holder)
        handle = region.start(OPERATIONS[mine])
        region.dispatcher.run_ready()
        assert handle.done is not CONFLICTS[theirs, mine]
        holder.syncpoint()
        region.dispatcher.run_ready()
        assert handle.done


@pytest.mark.rule("LOCK-SYNCPOINT-FREES")
def test_locks_last_until_an_abend(region: Region) -> None:
    with region.task() as watcher:

        def program(task: Task) -> None:
            task.writeq_td("LOGQ", b"theirs")
            task.delay(seconds=1)
            task.abend("TEST")

        region.start(program)
        region.dispatcher.run_ready()
        begun = region.clock.time_ns()
        watcher.writeq_td("LOGQ", b"mine")  # waits for the end of the other's unit of work
        assert region.clock.time_ns() - begun >= 10**9
    assert region.peek("LOGQ") == [b"mine"]


@pytest.mark.rule("LOCK-TD-READ-WAITS", "LOCK-TD-READ-REEVALUATES")
@pytest.mark.parametrize(
    ("commits", "again", "expected"), [(True, False, b"theirs"), (False, False, "QZERO"), (False, True, b"later")]
)
def test_a_reader_waits_past_the_committed_records(region: Region, commits: bool, again: bool, expected: Any) -> None:
    fill(region, "LOGQ", b"committed")
    with region.task() as writer:
        writer.writeq_td("LOGQ", b"theirs")

        def program(task: Task) -> Any:
            assert task.readq_td("LOGQ") == b"committed"  # a reader runs beside a writer
            record = task.readq_td("LOGQ", nohandle=True)
            return record or task.eib.eibresp.name

        handle = region.start(program)
        region.dispatcher.run_ready()
        assert not handle.done
        waiting = next(task for task in region.tasks.values() if task._suspended)
        assert waiting._suspended == ("TD_READ", "LOGQ")
        assert waiting._uow.waitstate is Cvda.WAITING
        if again:  # the writer writes again before the reader has its turn
            writer._outside = False
        writer.syncpoint() if commits else writer.syncpoint_rollback()
        if again:
            writer.writeq_td("LOGQ", b"later")
            region.dispatcher.run_ready()
            assert not handle.done
            writer.syncpoint()
        region.dispatcher.run_ready()
        assert handle.done
        assert handle.result() == expected


@pytest.mark.rule("LOCK-QBUSY-NOSUSPEND", "LOCK-QBUSY-HANDLE", "LOCK-QBUSY-DEFAULT")
def test_nosuspend_never_waits(region: Region) -> None:
    with region.task() as writer, region.task() as reader:
        writer.writeq_td("LOGQ", b"x")
        writer.readq_td("LOG2", nohandle=True)
        reader.execute("READQ TD QUEUE('LOGQ') INTO(REC) NOSUSPEND", {"REC": b""})  # QBUSY has no abend: it is ignored
        assert reader.eib.eibresp.name == rule("LOCK-QBUSY-DEFAULT").resp
        assert not reader._uow.locks  # what was refused keeps nothing
        raising(reader, "QBUSY")
        expect_rule("LOCK-QBUSY-NOSUSPEND", reader.readq_td, "LOGQ", nosuspend=True)
        expect_rule("LOCK-QBUSY-NOSUSPEND", reader.readq_td, "LOG2", nosuspend=True)  # a reader's lock as well
        expect_rule("LOCK-QBUSY-HANDLE", reader.readq_td, "LOGQ")
        with pytest.raises(WouldWaitForever):
            reader.readq_td("LOGQ", nohandle=True)  # NOHANDLE negates the HANDLE


@pytest.mark.rule("LOCK-FIFO")
def test_the_holder_comes_behind_those_who_wait_the_second_time(region: Region) -> None:
    """After its syncpoint the lock is free, and the waiter is not dispatched yet: it must not be overtaken."""

    def holder(task: Task) -> None:
        for number in range(3):
            task.writeq_td("LOGQ", b"holder %d" % number)
            task.suspend()
            task.syncpoint()

    def waiter(task: Task) -> None:
        task.writeq_td("LOGQ", b"waiter")

    region.start(holder)
    for _ in range(2):
        region.start(waiter)
    region.run()
    assert region.peek("LOGQ") == [b"holder 0", b"waiter", b"waiter", b"holder 1", b"holder 2"]


@pytest.mark.rule("LOCK-DEADLOCK")
def test_a_deadlock_lasts_until_dtimout(make_region: Callable[..., Region]) -> None:
    queues = [define_tdqueue(name=name, type="INTRA", recovstatus="LOGICAL") for name in ("Q1", "Q2")]
    region = make_region(*queues, define_transaction(name="ONE", dtimout="5"), define_transaction(name="TWO"))

    def program(first: str, second: str) -> Callable[[Task], None]:
        def run(task: Task) -> None:
            task.writeq_td(first, task.transid.encode())
            task.suspend()
            task.writeq_td(second, task.transid.encode())

        return run

    region.register("ONE", program("Q1", "Q2"))
    region.register("TWO", program("Q2", "Q1"))
    one, two = region.start("ONE"), region.start("TWO")
    region.run()
    assert rule("LOCK-DEADLOCK").message == one.exception.code  # type: ignore[union-attr]
    assert two.exception is None
    assert (region.peek("Q1"), region.peek("Q2")) == ([b"TWO"], [b"TWO"])


# -- DISABLING -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("DISABLE-PENDING-OWNER", "DISABLE-PENDING-NEWCOMER", "DISABLE-COMPLETES")
def test_a_disable_waits_for_its_users(region: Region) -> None:
    queue = region.tdqueues["LOGQ"]
    with region.task() as owner, region.task() as other:
        owner.writeq_td("LOGQ", b"a")
        waiting = region.start(lambda task: task.writeq_td("LOGQ", b"b"))
        region.dispatcher.run_ready()
        region.set_tdqueue("LOGQ", enablestatus="DISABLED")
        assert queue.enablestatus is Cvda.DISABLING
        expect_rule("DISABLE-PENDING-OWNER", owner.writeq_td, "LOGQ", b"c")
        expect_rule("DISABLE-PENDING-NEWCOMER", other.readq_td, "LOGQ")
        owner.syncpoint()  # the one that waited is a user too
        region.dispatcher.run_ready()
        assert waiting.done
        assert queue.enablestatus is Cvda[rule("DISABLE-COMPLETES").message]
        expect_rule("TD-DISABLED", owner.readq_td, "LOGQ")
    assert region.peek("LOGQ") == [b"a", b"c", b"b"]


@pytest.mark.rule("DISABLE-COMPLETES")
def test_a_disable_completes_when_the_last_waiter_is_refused(make_region: Make) -> None:
    region = make_region(dfhintra={"ci_size": 512, "control_intervals": 6})
    answers: list[str] = []

    def full(task: Task) -> None:
        task.writeq_td("LOG2", b"x" * 300, nohandle=True)
        state: Any = region.tdqueues["LOG2"]
        answers.extend((task.eib.eibresp.name, state.enablestatus.name))  # while the task goes on

    with region.task() as owner:
        for _ in range(4):
            owner.writeq_td("NOQ", b"x" * 300)
        owner.writeq_td("LOG2", b"y" * 300)
        region.start(full)
        region.dispatcher.run_ready()
        region.set_tdqueue("LOG2", enablestatus="DISABLED")
    region.run()
    assert answers == ["NOSPACE", "DISABLED"]


@pytest.mark.rule("DISABLE-COMPLETES-WAITER")
@pytest.mark.parametrize("kind", ["READQ", "WRITEQ", "DELETEQ"])
def test_a_purged_waiter_may_be_the_last_user(region: Region, kind: str) -> None:
    owner = region.task()
    owner.deleteq_td("LOGQ")
    waiting = region.start(OPERATIONS[kind])
    region.dispatcher.run_ready()
    region.set_tdqueue("LOGQ", enablestatus="DISABLED")
    assert region.purge(waiting)
    owner.syncpoint()
    region.run()
    assert waiting.done
    assert region.tdqueues["LOGQ"].enablestatus is Cvda[rule("DISABLE-COMPLETES-WAITER").message]


@pytest.mark.rule("DISABLE-DIRECT-AT-ONCE")
@pytest.mark.parametrize("name", ["NOQ", "PHYQ", "LOGQ"])
def test_an_idle_queue_is_disabled_at_once(region: Region, name: str) -> None:
    with region.task() as task:
        if name != "LOGQ":
            task.writeq_td(name, b"x")  # no lock is kept beyond the request
        region.set_tdqueue(name, enablestatus="DISABLED")
        assert region.tdqueues[name].enablestatus is Cvda[rule("DISABLE-DIRECT-AT-ONCE").message]


# -- two phases -----------------------------------------------------------------------------------------------------------


def prepared(region: Region, queue: str = "LOGQ") -> Any:
    """A unit of work that has read and written a queue and is indoubt."""
    task = region.task()
    task.readq_td(queue, nohandle=True)
    task.writeq_td(queue, b"doubt")
    uow = task._uow
    uow.prepare()
    return task, uow


@pytest.mark.rule("UOW-PREPARE")
@pytest.mark.parametrize("commit", [True, False])
def test_prepare_then_either(region: Region, commit: bool) -> None:
    fill(region, "LOGQ", b"a")
    task, uow = prepared(region)
    assert uow.state is Cvda[rule("UOW-PREPARE").message]
    with pytest.raises(TdqError, match="INFLIGHT"):
        uow.prepare()
    task._unit = None
    task.end(normal=True)
    uow.decide(commit=commit)
    assert uow.ended
    assert region.peek("LOGQ") == ([b"doubt"] if commit else [b"a"])
    with pytest.raises(TdqError, match="INDOUBT"):
        uow.decide(commit=True)


@pytest.mark.rule("LOCK-RETAINED-LOCKED", "LOCK-RETAINED-READ-PAST", "LOCK-ACTIVE-WAITS")
@pytest.mark.parametrize("waitaction", ["REJECT", "QUEUE"])
def test_locks_of_a_shunted_unit_of_work(make_region: Callable[..., Region], waitaction: str) -> None:
    region = make_region(define_tdqueue(name="SHQ", type="INTRA", recovstatus="LOGICAL", waitaction=waitaction))
    fill(region, "SHQ", b"a", b"b")
    holder = region.task()
    holder.writeq_td("SHQ", b"doubt")
    uow = holder._uow
    early = region.start(lambda task: task.writeq_td("SHQ", b"early"))
    region.dispatcher.run_ready()
    uow.prepare()
    uow.shunt(link="CICB")
    holder._unit = None
    holder.end(normal=False)
    assert (uow.state, uow.waitstate, uow.waitcause) == (Cvda.INDOUBT, Cvda.SHUNTED, Cvda.CONNECTION)
    region.dispatcher.run_ready()
    assert early.done is (waitaction == "REJECT")
    with region.task() as task:
        assert [task.readq_td("SHQ"), task.readq_td("SHQ")] == [b"a", b"b"]  # the read end is free
        if waitaction == "REJECT":
            expect_rule("LOCK-RETAINED-LOCKED", task.writeq_td, "SHQ", b"x")
            expect_rule("LOCK-RETAINED-LOCKED", task.deleteq_td, "SHQ")
            expect_rule("LOCK-RETAINED-READ-PAST", task.readq_td, "SHQ")
        else:
            with pytest.raises(WouldWaitForever, match="unit of work"):
                task.writeq_td("SHQ", b"x")
            with pytest.raises(WouldWaitForever):
                task.readq_td("SHQ")
    region.set_tdqueue("SHQ", enablestatus="DISABLED")
    assert region.tdqueues["SHQ"].enablestatus is Cvda.DISABLING
    uow.decide(commit=True)
    region.run()
    assert region.tdqueues["SHQ"].enablestatus is Cvda.DISABLED
    assert region.peek("SHQ") == ([b"doubt"] if waitaction == "REJECT" else [b"doubt", b"early"])
    assert region.recovery.shunted == {}


def test_backout_costs_its_own_unit_of_work_only(region: Region) -> None:
    region.seed("LOGQ", [b"x"] * 2000)
    commits = region._core.committer.commits
    with region.task() as task:
        for _ in range(10):
            task.readq_td("LOGQ")
        task.syncpoint_rollback()
    assert region._core.committer.commits == commits  # nothing was ever written
    assert len(region.peek("LOGQ")) == 2000


@pytest.mark.rule("UOW-GROUP-COMMIT")
def test_tasks_that_end_together_share_a_commit(make_region: Make) -> None:
    region = make_region(durability="power")
    queues = [define_tdqueue(name=f"G{number:03d}", type="INTRA", recovstatus="LOGICAL") for number in range(100)]
    region.install(queues)
    commits = region._core.committer.commits
    handles = [region.start(lambda task, name: task.writeq_td(name, b"x"), queue.name) for queue in queues]
    region.run()
    assert all(handle.exception is None for handle in handles)
    assert region._core.committer.commits - commits == 1
    assert all(region.peek(queue.name) == [b"x"] for queue in queues)


def test_the_time_of_a_commit_is_told(make_region: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    region, told = make_region(), []
    monkeypatch.setattr("tdqsim.cics.uow.committer.perf_counter", iter((10.0, 10.25)).__next__)
    region._core.committer.time_commits(told.append)
    fill(region, "LOGQ", b"a")
    assert told == [0.25]


@pytest.mark.parametrize("durability", ["process", "power"])
def test_a_commit_that_fails_is_backed_out_for_all_that_share_it(make_region: Make, durability: str) -> None:
    region = make_region(durability=durability)
    shared = durability == "power"
    fill(region, "LOGQ", b"a")

    def fault(point: str) -> None:
        if point == "before_commit":
            region.store.durable.fault = None
            raise StoreFull("the disk is full")

    handles = [region.start(lambda task, name: task.writeq_td(name, b"x"), name) for name in ("LOGQ", "LOG2")]
    region.store.durable.fault = fault
    region.run()
    for handle in handles if shared else handles[:1]:
        assert isinstance(handle.exception.cause, Condition)  # type: ignore[union-attr]
        assert handle.exception.cause.resp is Resp.ROLLEDBACK  # type: ignore[union-attr]
    assert (region.peek("LOGQ"), region.peek("LOG2")) == ([b"a"], [] if shared else [b"x"])
    fill(region, "LOGQ", b"goes on")
    assert [region.readq_td("LOGQ"), region.readq_td("LOGQ")] == [b"a", b"goes on"]


@pytest.mark.rule("DISABLE-COMPLETES-WAITER")
def test_a_queue_is_disabled_at_once_when_the_last_that_waits_is_purged_and_its_unit_of_work_goes_on(
    make_region: Make,
) -> None:
    region = make_region()
    seen: list[Any] = []

    def holder(task: Task) -> None:
        task.writeq_td("LOGQ", b"x")
        task.delay(seconds=1)
        task.syncpoint()  # the other task is ready now, and has not run yet
        assert region.purge(waiting)

    def waits(task: Task) -> None:
        task.handle_abend(lambda abend: seen.append((abend.code, status())))
        task.writeq_td("LOGQ", b"y")

    def status() -> object:
        return region.inquire_tdqueue("LOGQ", "ENABLESTATUS").enablestatus

    region.start(holder)
    waiting = region.start(waits)
    region.dispatcher.run_ready()
    region.set_tdqueue("LOGQ", enablestatus="DISABLED")
    assert status() is Cvda.DISABLING
    region.run()
    assert seen == [("AEXY", Cvda.DISABLED)]
    assert region.peek("LOGQ") == [b"x"]
