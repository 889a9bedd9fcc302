"""Starts after every end: cycles that go on, what is left of a failure in the middle of something, shared commits."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tdqsim import StartOptions
from tdqsim.cics import Abend
from tdqsim.cics.uow.indoubt import decision_kept, decisions
from tdqsim.core.store import Durable
from tdqsim.errors import RegionClosed, StoreFull
from tests.recovery.helpers import WRITEQ, again, make, outcome, prepared, queue, triggered


def starts(region, *, reads=0):
    """Register PAYP, let things run, and tell how often it was started."""
    count = []

    def payp(task):
        count.append(task.assign("QNAME"))
        for _ in range(reads):
            task.readq_td("TRGQ")

    region.register("PAYP", payp)
    region.run()
    return count


# -- cycles -----------------------------------------------------------------------------------------------------------


def begun(store, kind, facility):
    """A region with a cycle that is on, whose task cannot run: it waits for its facility, or was never dispatched."""
    region = make(*triggered("TRGQ", kind, facility), store=store)
    region.set_terminal("T001", servstatus="OUTSERVICE")
    region.register("PAYP", lambda task: task.readq_td("NONE"))
    region.seed("TRGQ", [b"1", b"2"])
    region.writeq_td("TRGQ", b"3")
    if facility == "FILE":
        region.run()
    return region


@pytest.mark.rule("RESTART-TRIGGER-TERMINAL", "RESTART-TRIGGER-FILE")
@pytest.mark.parametrize("restarts", [1, 2, 3])
@pytest.mark.parametrize("kind", ["PHYSICAL", "LOGICAL"])
def test_a_cycle_goes_on_after_any_number_of_restarts(tmp_path, kind, restarts):
    region = begun(tmp_path / "store", kind, "TERMINAL")
    for _ in range(restarts):
        region = again(region, tmp_path / "store")
    assert starts(region, reads=4) == ["TRGQ"]  # four reads: it gets its QZERO
    region.close()


@pytest.mark.parametrize("kind", ["PHYSICAL", "LOGICAL"])
def test_a_cycle_that_goes_on_is_the_first_of_its_run(tmp_path, kind):
    region = begun(tmp_path / "store", kind, "TERMINAL")
    for _ in range(2):
        region = again(region, tmp_path / "store")
        region.set_terminal("T001", servstatus="OUTSERVICE")
        assert "A cycle is on (number 1, of PAYP)" in str(region.explain("TRGQ"))
    region.close()


@pytest.mark.parametrize("kind", ["PHYSICAL", "LOGICAL"])
@pytest.mark.parametrize(("left", "started"), [(3, ["TRGQ"]), (2, [])])
def test_a_cycle_goes_on_while_the_level_is_reached(tmp_path, kind, left, started):
    region = begun(tmp_path / "store", kind, "TERMINAL")
    for _ in range(3 - left):
        region.readq_td("TRGQ")
    region = again(region, tmp_path / "store")
    assert starts(region, reads=left + 1) == started
    region.close()


def test_a_level_of_0_ends_a_cycle_at_the_restart(tmp_path):
    region = begun(tmp_path / "store", "LOGICAL", "TERMINAL")
    region.set_tdqueue("TRGQ", triggerlevel=0)
    region = again(region, tmp_path / "store")
    seen = starts(region, reads=5)
    assert seen == []
    region.set_tdqueue("TRGQ", triggerlevel=4)
    region.writeq_td("TRGQ", b"4")
    region.run()
    assert seen == ["TRGQ"]
    region.close()


@pytest.mark.parametrize("kind", ["PHYSICAL", "LOGICAL"])
def test_the_first_write_after_a_restart_starts_no_second_task(tmp_path, kind):
    region = begun(tmp_path / "store", kind, "TERMINAL")
    region = again(region, tmp_path / "store")
    region.set_terminal("T001", servstatus="OUTSERVICE")
    region.register("PAYP", lambda _task: None)
    region.writeq_td("TRGQ", b"4")
    assert len(region._core.terminal_control.get("TERMINAL", "T001").requests) == 1
    region.close()


@pytest.mark.parametrize("kind", ["PHYSICAL", "LOGICAL"])
def test_a_cycle_that_reached_qzero_is_over_for_good(tmp_path, kind):
    region = begun(tmp_path / "store", kind, "TERMINAL")
    while region.readq_td("TRGQ", nohandle=True):
        pass
    region.seed("TRGQ", [b"1", b"2", b"3"])
    region = again(region, tmp_path / "store")
    assert starts(region) == []
    region.close()


@pytest.mark.parametrize("options", [{"start": StartOptions(tdintra="EMPTY")}, {"start": "COLD"}], ids=str)
def test_no_cycle_without_records(tmp_path, options):
    region = begun(tmp_path / "store", "LOGICAL", "TERMINAL")
    region.close(clean=False)
    with make(*triggered("TRGQ", "LOGICAL", "TERMINAL"), store=tmp_path / "store", **options) as after:
        seen = starts(after, reads=4)
        assert seen == []
        after.seed("TRGQ", [b"1", b"2"])
        after.writeq_td("TRGQ", b"3")
        after.run()
        assert seen == ["TRGQ"]


# -- failures in the middle of something ------------------------------------------------------------------------------


def test_a_region_that_fails_ends_its_tasks_and_undoes_nothing(tmp_path):
    store = tmp_path / "store"
    region = make(queue("LOGQ"), queue("PHYQ", "PHYSICAL"), queue("NOQ", "NO"), store=store)
    region.seed("PHYQ", [b"one", b"two"])

    def work(task):
        task.readq_td("PHYQ")
        task.writeq_td("LOGQ", b"x")
        task.delay(seconds=3600)

    handle = region.start(work)
    waiting = region.start(lambda task: task.writeq_td("LOGQ", b"y"))
    outside = region.task()
    region.dispatcher.run_ready()
    survivors = region.close(clean=False)
    assert [fiber.name for fiber in survivors] == [handle.name, waiting.name]
    for fiber in survivors:
        assert isinstance(fiber.exception, RegionClosed)
    with pytest.raises(RegionClosed):
        outside.writeq_td("LOGQ", b"z")
    outside.end(normal=False)
    with make(store=store) as after:
        assert (after.recovery.start_type, after.peek("PHYQ"), after.peek("LOGQ")) == (
            "EMERGENCY",
            [b"one", b"two"],
            [],
        )


def test_a_block_whose_region_fails_says_only_that(tmp_path):
    region = make(queue("LOGQ"), queue("PHYQ", "PHYSICAL"), store=tmp_path / "store")
    region.seed("PHYQ", [b"one"])
    with pytest.raises(RegionClosed), region.task() as task:  # noqa: PT012  (the block is what is tested)
        task.readq_td("PHYQ")
        task.writeq_td("LOGQ", b"x")
        region.close(clean=False)
        task.writeq_td("LOGQ", b"y")


def test_a_purge_is_too_late_once_the_commit_has_begun(tmp_path):
    region = make(queue("LOGQ"), store=tmp_path / "store", durability="power")
    committing = region.start(lambda task: task.writeq_td("LOGQ", b"one"))
    purging = region.start(lambda _task: region.purge(committing))
    region.run()
    assert purging.result() is True
    with pytest.raises(Abend, match="AEXY"):
        committing.result()
    region.writeq_td("LOGQ", b"two")  # its locks are free
    region = again(region, tmp_path / "store")
    assert region.peek("LOGQ") == [b"one", b"two"]
    region.close()


# -- shared commits ---------------------------------------------------------------------------------------------------


def test_nobody_is_told_of_a_commit_that_was_not_made(tmp_path):
    """The promise of a shared commit: a task goes on only when it is permanent."""
    store = tmp_path / "store"
    region = make(queue("LOG1"), queue("LOG2"), store=store, durability="power")
    told = []

    def work(task, name):
        task.writeq_td(name, b"x")
        task.syncpoint()
        told.append(name)

    handles = [region.start(work, name) for name in ("LOG1", "LOG2")]
    seen = []

    def fault(point):
        if point == "before_commit":
            seen.append(list(told))

    region.store.durable.fault = fault
    region.run()
    assert seen == [[]]
    assert [handle.done for handle in handles] == [True, True]
    region.close()


def test_a_shared_commit_that_fails_fails_for_all_and_for_nobody_else(tmp_path):
    region = make(queue("LOG1"), queue("LOG2"), queue("LOG3"), store=tmp_path / "store", durability="power")
    failures = [StoreFull("no room, for the test")]

    def fault(point):
        if point == "before_commit" and failures:
            raise failures.pop()

    region.store.durable.fault = fault

    def work(task, name):
        task.writeq_td(name, b"x")
        answer = outcome(task.syncpoint)
        task.writeq_td("LOG3", b"%d" % len(answer or ""))
        task.syncpoint()
        return answer

    handles = [region.start(work, name) for name in ("LOG1", "LOG2")]
    region.run()
    assert [handle.result() for handle in handles] == ["ROLLEDBACK", "ROLLEDBACK"]
    assert (region.peek("LOG1"), region.peek("LOG2"), len(region.peek("LOG3"))) == ([], [], 2)
    region = again(region, tmp_path / "store")
    assert (region.peek("LOG1"), region.peek("LOG2"), len(region.peek("LOG3"))) == ([], [], 2)
    region.close()


@pytest.mark.rule("UOW-GROUP-COMMIT")
def test_nobody_reads_what_a_shared_commit_may_still_undo(tmp_path):
    region = make(queue("LOGQ"), queue("LOG2"), store=tmp_path / "store", durability="power")
    failures = [StoreFull("no room, for the test")]

    def fault(point):
        if point == "before_commit" and failures:
            raise failures.pop()

    region.store.durable.fault = fault
    seen = []

    def write(task):
        task.writeq_td("LOGQ", b"never committed")
        seen.append(outcome(task.syncpoint))

    def read(task):
        for _ in range(50):
            task.readq_td("LOGQ", nosuspend=True, nohandle=True)
            seen.append(task.eib.eibresp.name)
            if seen[-1] != "QBUSY":
                break
            task.suspend()
        task.writeq_td("LOG2", b"x")
        task.syncpoint()

    writing, reading = region.start(write), region.start(read)
    region.run()
    writing.result()
    reading.result()
    assert {*seen} == {"QBUSY", "ROLLEDBACK", "QZERO"}
    assert seen[-1] == "QZERO"
    assert (region.peek("LOGQ"), region.peek("LOG2")) == ([], [b"x"])
    region.close()


@pytest.mark.rule("UOW-GROUP-COMMIT")
def test_a_task_that_is_always_ready_does_not_keep_others_in_their_syncpoint(tmp_path):
    with make(queue("LOGQ"), store=tmp_path / "store", durability="power") as region:
        back, turns = [], []

        def commit(task):
            task.writeq_td("LOGQ", b"x")
            task.syncpoint()
            back.append(len(turns))

        def busy(task):
            while not back and len(turns) < 1000:
                turns.append(None)
                task.suspend()

        region.start(commit)
        region.start(busy)
        region.run()
        assert back[0] < 10


# -- cold starts ------------------------------------------------------------------------------------------------------


def test_a_cold_start_keeps_what_others_will_ask(tmp_path):
    """Decisions that another region has not heard are kept; an initial start forgets them too."""
    store = tmp_path / "store"
    region = make(queue("LOGQ"), store=store)
    with region.task() as task:
        task.writeq_td("LOGQ", b"x")
        uow = task._uow
        uow.decision = ("FAR",)
        uow.at_commit = (lambda: decision_kept(uow),)
    for start, expected in (("AUTO", {uow.id: ("FAR",)}), ("COLD", {uow.id: ("FAR",)}), ("INITIAL", {})):
        region.close(clean=False)
        region = make(queue("LOGQ"), store=store, start=start)
        assert decisions(region._core) == expected
    region.close()


def moments(store, monkeypatch, tmp_path, start):
    """The store as it is before and after each commit of a start, as a kill there would leave it."""
    copies = []

    def copy(_durable):
        copies.append(Path(shutil.copytree(store, tmp_path / f"{start} {len(copies)}")))

    with monkeypatch.context() as patch:

        def around(made):
            def commit(self, *args, **more):
                copy(self)
                made(self, *args, **more)
                copy(self)

            return commit

        for name in ("commit", "empty"):
            patch.setattr(Durable, name, around(getattr(Durable, name)))
        make(queue("LOGQ"), queue("LOG2"), store=store, start=start).close(clean=False)
    return copies


@pytest.mark.rule("RESTART-COLD-KILLED")
@pytest.mark.parametrize("then", ["AUTO", "COLD", "INITIAL"])
@pytest.mark.parametrize("start", ["COLD", "INITIAL"])
@pytest.mark.parametrize("clean", [True, False])
def test_a_start_that_is_killed_is_made_again_and_forgets_nothing(tmp_path, monkeypatch, start, then, clean):
    """All or nothing: the region of before, or the new one; what others will ask is kept unless it is thrown away."""
    store = tmp_path / "store"
    region = make(queue("LOGQ"), store=store)
    with region.task() as task:
        task.writeq_td("LOGQ", b"old")
        uow = task._uow
        uow.decision = ("FAR",)
        uow.at_commit = (lambda: decision_kept(uow),)
    prepared(region, (WRITEQ, "LOGQ"))
    region.close(clean=clean)
    seen = set()
    for copy in moments(store, monkeypatch, tmp_path, start):
        with make(queue("LOGQ"), queue("LOG2"), store=copy, start=then) as after:
            installed = set(after.tdqueues)
            old = installed == {"LOGQ"}
            seen.add((after.recovery.start_type, old))
            assert installed in ({"LOGQ"}, {"LOGQ", "LOG2"})
            assert after.peek("LOGQ") == ([b"old"] if old else [])
            assert bool(after.recovery.shunted) is old
            kept = decisions(after._core) == {uow.id: ("FAR",)}
            assert kept or not decisions(after._core)
            assert kept or "INITIAL" in (start, then)
            assert not (kept and then == "INITIAL")
            with after.task() as task:
                assert task._uow.id > uow.id
    new = "INITIAL" if "INITIAL" in (start, then) else "COLD"
    if then == "AUTO":
        assert seen <= {("WARM", True), ("EMERGENCY", True), ("EMERGENCY", False), (new, False)}
        assert {("EMERGENCY", True), (new, False)} <= seen
    else:
        assert seen <= {("COLD", False), ("INITIAL", False)}


def test_a_close_that_the_store_does_not_take_is_a_failure_and_lets_the_store_go(tmp_path):
    path = tmp_path / "store"
    region = make(store=path)
    region.seed("PHYQ", [b"one", b"two"])
    region.task().readq_td("PHYQ")

    def fail(_point):
        raise StoreFull("nothing is taken any more")

    region.store.durable.fault = fail
    with pytest.raises(StoreFull):
        region.close()
    assert region.closed
    assert region.recovery.failed
    with make(store=path) as region:
        assert region.recovery.start_type == "EMERGENCY"
        assert region.peek("PHYQ") == [b"one", b"two"]
