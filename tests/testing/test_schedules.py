"""Exploration finds what is planted, within stated numbers of schedules, minimises it, and runs it again."""

from __future__ import annotations

import warnings

import pytest

from tdqsim import Resp, WouldWaitForever, define_tdqueue, define_transaction
from tdqsim.testing import Schedule, ScheduleFailure, ScheduleWarning, Stage, explore, replay

COUNT = [define_tdqueue(name="CNT", type="INTRA")]
TWO = [define_tdqueue(name=name, type="INTRA", recovstatus="LOGICAL") for name in ("ONE", "TWO")]
PAY = [
    define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=2, atifacility="FILE"),
    define_transaction(name="PAYP"),
    define_transaction(name="WRT2"),
]


def lost_update(stage: Stage) -> None:
    """Two tasks add one to the number on a queue; they look at it and replace it in two steps."""
    region = stage.region(COUNT)
    region.seed("CNT", [b"0"])

    def add(task) -> None:
        number = int(task.region.peek("CNT")[0]) if task.inquire_tdqueue("CNT", "NUMITEMS").numitems else 0
        task.deleteq_td("CNT")
        task.writeq_td("CNT", b"%d" % (number + 1))

    for _ in range(2):
        region.start(add)
    region.run()
    assert region.peek("CNT") == [b"2"]


def two_writers(stage: Stage) -> None:
    """Two tasks write to two queues, each in an order of its own."""
    region = stage.region(TWO)

    def write(task, first: str, second: str) -> None:
        task.writeq_td(first, b"x")
        task.writeq_td(second, b"x")

    region.start(write, "ONE", "TWO")
    region.start(write, "TWO", "ONE")
    region.run()


def stops_before_qzero(stage: Stage) -> None:
    """The handler reads as many records as the trigger level; a writer that overtakes it leaves records behind."""
    region = stage.region(PAY)
    region.register("PAYP", lambda task: [task.readq_td("PAYQ") for _ in range(2)])

    def write(task, *then: str) -> None:
        task.writeq_td("PAYQ", b"x")
        task.writeq_td("PAYQ", b"x")
        for transid in then:
            task.start(transid)

    region.register("WRT2", write)
    region.start(write, "WRT2")
    region.run()


PLANTED = [(lost_update, "assertion", 30), (two_writers, "deadlock", 30), (stops_before_qzero, "lost trigger", 30)]


def never_right(stage: Stage) -> None:
    raise AssertionError("always")


def test_the_first_schedule_that_fails_is_told_by_its_number_and_its_test_has_the_options() -> None:
    found = explore(never_right, 5, may_wait=True, allow_abends=["AICA"])
    assert (found.schedules, found.failed_at) == (1, 1)
    assert str(found) == "schedules: 1 run, 1 different, at least 0 left; schedule 1 failed: assertion"
    assert found.failure is not None
    assert "may_wait=True" in found.failure.test
    assert "allow_abends=['AICA']" in found.failure.test


@pytest.mark.parametrize("method", ["pct", "exhaustive"])
@pytest.mark.parametrize(("scenario", "kind", "within"), PLANTED, ids=lambda value: getattr(value, "__name__", None))
def test_planted_bugs_are_found_minimised_and_run_again(scenario, kind, within, method) -> None:
    found = explore(scenario, within, method=method)
    failure = found.failure
    assert failure is not None
    assert failure.kind == kind
    assert len(failure.schedule.deviations) <= 3
    assert failure.trace
    for token in (failure.schedule.token, failure.found.token):
        with pytest.raises(ScheduleFailure) as again:
            replay(scenario, token)
        assert again.value.failure.kind == kind
    assert failure.schedule.token in str(failure)


@pytest.mark.parametrize(
    ("token", "left_out"),
    [("at:0=2", None), ("at:0=2,1=9", "1=9"), ("at:0=2,99=1", "99=1"), ("at:0=9,1=9", "0=9, 1=9")],
)
def test_a_replayed_schedule_that_passes_in_another_order_is_told(token: str, left_out: str | None) -> None:
    def scenario(stage: Stage) -> None:
        region = stage.region(COUNT)
        for _ in range(2):
            region.start(lambda task: task.writeq_td("CNT", b"x"))
        region.run()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        replay(scenario, token)
    text = (
        f"schedule {token}: this run did not come to {left_out}, so it tests another order; explore the scenario anew"
    )
    assert [(each.category, str(each.message)) for each in told] == [(ScheduleWarning, text)] * (left_out is not None)


@pytest.mark.parametrize("first", [1, 1001, 5_000_001])
@pytest.mark.parametrize(("scenario", "kind", "within"), PLANTED, ids=lambda value: getattr(value, "__name__", None))
def test_planted_bugs_are_found_whatever_the_first_seed(scenario, kind, within, first) -> None:
    failure = explore(scenario, within, seed=first, minimise=False).failure
    assert failure is not None
    assert failure.kind == kind


def test_a_deadlock_is_seen_even_when_dtimout_would_end_it() -> None:
    definitions = [*TWO, define_transaction(name="AAAA", dtimout="5"), define_transaction(name="BBBB", dtimout="5")]

    def scenario(stage: Stage) -> None:
        region = stage.region(definitions)
        region.register("AAAA", lambda task: (task.writeq_td("ONE", b"a"), task.writeq_td("TWO", b"a")))
        region.register("BBBB", lambda task: (task.writeq_td("TWO", b"b"), task.writeq_td("ONE", b"b")))
        region.start("AAAA")
        region.start("BBBB")
        region.run()

    failure = explore(scenario, 50, allow_abends=["AKCS"]).failure
    assert failure is not None
    assert failure.kind == "deadlock"
    assert "waits for the TOQ end of" in failure.message


def test_exhaustive_exploration_ends_when_nothing_is_left() -> None:
    orders = set()

    def scenario(stage: Stage) -> None:
        region = stage.region(COUNT)
        for name in (b"a", b"b", b"c"):
            region.start(lambda task, name=name: task.writeq_td("CNT", name))
        region.run()
        orders.add(b"".join(region.peek("CNT")))

    found = explore(scenario, 10_000, method="exhaustive", preemptions=3)
    assert found.complete
    assert orders == {b"abc", b"acb", b"bac", b"bca", b"cab", b"cba"}
    assert explore(scenario, 2, method="exhaustive").complete is False
    found = explore(stops_before_qzero, 9, method="exhaustive", preemptions=2, minimise=False)
    assert found.failure is not None
    assert found.failure.found.token == "at:1=3"  # which takes nobody off who could have gone on


def test_random_schedules_reach_every_order_of_commands() -> None:
    orders = set()

    def scenario(stage: Stage) -> None:
        region = stage.region(COUNT)
        for name in (b"a", b"b"):
            region.start(lambda task, name=name: [task.writeq_td("CNT", name) for _ in range(2)])
        region.run()
        orders.add(b"".join(region.peek("CNT")))

    explore(scenario, 200, depth=3)
    assert orders == {b"aabb", b"abab", b"abba", b"baab", b"baba", b"bbaa"}


def test_a_task_may_be_overtaken_between_its_last_command_and_its_commit() -> None:
    seen = set()

    def scenario(stage: Stage) -> None:
        region = stage.region(TWO)
        region.start(lambda task: task.writeq_td("ONE", b"x"))

        def look(task) -> None:
            task.readq_td("ONE", nosuspend=True, nohandle=True)
            seen.add(Resp(task.eib.eibresp).name)

        region.start(look)
        region.run()

    explore(scenario, 50)
    assert seen == {"NORMAL", "QBUSY", "QZERO"}


def test_abends_and_endless_waits_are_failures_unless_allowed() -> None:
    def abends(stage: Stage) -> None:
        region = stage.region(COUNT)
        region.start(lambda task: task.readq_td("CNT"))
        region.run()

    def waits(stage: Stage) -> None:
        region = stage.region(TWO)
        with region.task() as task:
            task.writeq_td("ONE", b"x")
            region.start(lambda other: other.readq_td("ONE"))
            region.run()
            raise WouldWaitForever("as a program outside would be told")

    failure = explore(abends, 1).failure
    assert failure is not None
    assert (failure.kind, failure.message) == ("abend", "a task ended with abend AEIW")
    assert explore(abends, 5, allow_abends=["AEIW"]).failure is None
    assert explore(abends, 5, allow_abends="AEIW").failure is None
    failure = explore(waits, 1).failure
    assert failure is not None
    assert failure.kind == "endless wait"


def test_the_same_seed_gives_the_same_runs() -> None:
    def trace(seed: int) -> list[str]:
        traces: list[str] = []

        def scenario(stage: Stage) -> None:
            region = stage.region(COUNT)
            for name in (b"a", b"b", b"c"):
                region.start(lambda task, name=name: [task.writeq_td("CNT", name) for _ in range(3)])
            region.run()
            traces.append(b"".join(region.peek("CNT")).decode())

        explore(scenario, 20, seed=seed)
        return traces

    assert trace(3) == trace(3)
    assert trace(3) != trace(300)


@pytest.mark.parametrize("token", ["", "pct:1:2", "pct:1:0:5", "at:1", "at:x=1", "what:1"])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="allowed are pct:SEED:DEPTH:STEPS and at:STEP=TASK"):
        Schedule.parse(token)


@pytest.mark.parametrize("schedule", [Schedule(), Schedule(((2, 1), (5, 3))), Schedule((), 4, 3, 20)])
def test_a_token_gives_the_schedule_back(schedule: Schedule) -> None:
    assert Schedule.parse(schedule.token) == schedule


@pytest.mark.parametrize("options", [{"schedules": 0}, {"depth": 0}, {"preemptions": -1}, {"method": "luck"}])
def test_bad_arguments_are_refused(options) -> None:
    with pytest.raises(ValueError, match="allowed are"):
        explore(lambda _stage: None, **options)


def test_jobs_of_a_system_are_explored_too() -> None:
    orders = set()

    def scenario(stage: Stage) -> None:
        system = stage.system()
        with system.job() as job:
            job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=1)
            for data in (b"a", b"b"):
                system.start(lambda one, data=data: [one.qsnddtaq("ORDERS", "QGPL", data) for _ in range(2)])
            system.run()
            orders.add(b"".join(job.qrcvdtaq("ORDERS", "QGPL").data for _ in range(4)))

    assert explore(scenario, 500, method="exhaustive", preemptions=3).complete
    assert orders == {b"aabb", b"abab", b"abba", b"baab", b"baba", b"bbaa"}


def test_a_run_that_never_ends_is_a_failure() -> None:
    def scenario(stage: Stage) -> None:
        region = stage.region(COUNT)

        def for_ever(task) -> None:
            while True:
                task.delay(seconds=1)

        region.start(for_ever)
        region.run()

    failure = explore(scenario, 1, longest=500).failure
    assert failure is not None
    assert failure.kind == "endless run"
