"""What is due at the same moment comes in either order, a slow machine is tried on request; rings of jobs are found."""

from __future__ import annotations

import pytest

from tdqsim import EscapeMessage, define_tdqueue, define_transaction
from tdqsim.testing import Schedule, ScheduleFailure, Stage, explore, replay

QUEUES = [
    define_tdqueue(name="Q", type="INTRA"),
    *(define_transaction(name=name) for name in ("AAAA", "BBBB")),
]
METHODS = [("pct", {}), ("exhaustive", {"preemptions": 2})]


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_an_interval_and_a_delay_that_end_together_come_in_either_order(method, options) -> None:
    seen = set()

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)
        region.register("AAAA", lambda task: task.writeq_td("Q", b"started"))

        def program(task) -> None:
            task.start("AAAA", interval=5)
            task.delay(seconds=5)
            task.writeq_td("Q", b"delayed")

        region.start(program)
        region.run()
        seen.add(b" ".join(region.peek("Q")))

    explore(scenario, 200, method=method, **options)
    assert seen == {b"started delayed", b"delayed started"}


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_two_delays_that_end_together_come_in_either_order(method, options) -> None:
    seen = set()

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)

        def program(task, data: bytes) -> None:
            task.delay(seconds=5)
            task.writeq_td("Q", data)

        for data in (b"a", b"b"):
            region.start(program, data)
        region.run()
        seen.add(b"".join(region.peek("Q")))

    explore(scenario, 200, method=method, **options)
    assert seen == {b"ab", b"ba"}


def test_two_timers_that_are_due_together_come_in_either_order() -> None:
    seen = set()

    def scenario(stage: Stage) -> None:
        calls: list[str] = []
        moment = stage.dispatcher.clock.time_ns() + 10**9
        for name in ("a", "b", "c"):
            stage.dispatcher.call_at(moment, lambda name=name: calls.append(name))
        stage.dispatcher.run()
        seen.add("".join(calls))

    assert explore(scenario, 100, method="exhaustive", preemptions=0).complete
    assert seen == {"abc", "acb", "bac", "bca", "cab", "cba"}


def test_what_is_later_never_comes_first() -> None:
    seen = set()

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)

        def program(task, seconds: int) -> None:
            task.delay(seconds=seconds)
            task.writeq_td("Q", b"%d" % seconds)

        for seconds in (6, 5):
            region.start(program, seconds)
        region.run()
        seen.add(b"".join(region.peek("Q")))

    explore(scenario, 100)
    assert seen == {b"56"}


def impatient(stage: Stage) -> None:
    """A receive waits a second for a job that is ready to send."""
    system = stage.system()
    with system.job() as job:
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=5)
        taker = system.start(lambda one: one.qrcvdtaq("ORDERS", "QGPL", 1))
        system.start(lambda one: one.qsnddtaq("ORDERS", "QGPL", b"order"))
        system.run()
        assert taker.result() is not None


@pytest.mark.parametrize("method", ["pct", "exhaustive"])
def test_a_wait_may_end_before_a_job_that_is_ready_when_the_machine_is_slow(method) -> None:
    assert explore(impatient, 50, method=method).failure is None
    assert explore(impatient, 50, method=method, slack=0.5).failure is None
    failure = explore(impatient, 50, method=method, slack=1).failure
    assert failure is not None
    assert failure.kind == "assertion"
    for token in (failure.schedule.token, failure.found.token):
        assert token.endswith("+1")
        with pytest.raises(ScheduleFailure):
            replay(impatient, token)


def test_dtimout_may_come_before_the_holder_goes_on() -> None:
    definitions = [
        define_tdqueue(name="L", type="INTRA", recovstatus="LOGICAL"),
        define_transaction(name="AAAA", dtimout="5"),
        define_transaction(name="BBBB"),
    ]

    def scenario(stage: Stage) -> None:
        region = stage.region(definitions)
        region.register("AAAA", lambda task: task.writeq_td("L", b"a"))
        region.register("BBBB", lambda task: (task.writeq_td("L", b"b"), task.inquire_tdqueue("L", "NUMITEMS")))
        region.start("BBBB")
        region.start("AAAA")
        region.run()

    assert explore(scenario, 100).failure is None
    failure = explore(scenario, 100, slack=10).failure
    assert failure is not None
    assert failure.message == "a task ended with abend AKCS"


def locks(stage: Stage) -> None:
    """Two jobs lock two data queues, each in an order of its own."""
    system = stage.system()
    with system.job() as job:
        for name in ("ONE", "TWO"):
            job.crtdtaq(dtaq=f"QGPL/{name}", maxlen=5)

    def lock(one, first: str, second: str) -> None:
        one.alcobj([(f"QGPL/{first}", "*EXCL")])
        one.alcobj([(f"QGPL/{second}", "*EXCL")])

    system.start(lock, "ONE", "TWO")
    system.start(lock, "TWO", "ONE")
    system.run()


@pytest.mark.parametrize("method", ["pct", "exhaustive"])
def test_a_ring_of_jobs_is_found_though_their_default_wait_would_end_it(method) -> None:
    failure = explore(locks, 30, method=method).failure
    assert failure is not None
    assert failure.kind == "deadlock"
    assert "waits for *EXCL of QGPL/" in failure.message
    assert len(failure.schedule.deviations) <= 2
    with pytest.raises(ScheduleFailure, match="waits for"):
        replay(locks, failure.schedule.token)


def test_a_ring_over_three_jobs_with_shared_locks_is_found() -> None:
    def scenario(stage: Stage) -> None:
        system = stage.system()
        with system.job() as job:
            for name in ("ONE", "TWO", "THREE"):
                job.crtdtaq(dtaq=f"QGPL/{name}", maxlen=5)

        def lock(one, first: str, second: str) -> None:
            one.alcobj([(f"QGPL/{first}", "*SHRRD")])
            one.alcobj([(f"QGPL/{second}", "*EXCL")])

        for first, second in (("ONE", "TWO"), ("TWO", "THREE"), ("THREE", "ONE")):
            system.start(lock, first, second)
        system.run()

    failure = explore(scenario, 60).failure
    assert failure is not None
    assert failure.kind == "deadlock"
    assert failure.message.count("waits for") == 3


def test_a_job_that_an_exception_ends_is_a_failure_unless_allowed() -> None:
    def scenario(stage: Stage) -> None:
        system = stage.system()
        system.start(lambda job: job.qrcvdtaq("NOTHERE", "QGPL"))
        system.run()

    failure = explore(scenario, 1).failure
    assert failure is not None
    assert failure.kind == "abnormal end"
    assert "ended with CPF9801" in failure.message
    assert explore(scenario, 5, allow_abends=["CPF9801"]).failure is None
    assert explore(scenario, 5, allow_abends=["*"]).failure is None


def test_jobs_and_tasks_of_one_stage_are_overtaken_by_each_other() -> None:
    seen = set()

    def scenario(stage: Stage) -> None:
        calls: list[str] = []
        region, system = stage.region(QUEUES), stage.system()

        def transaction(task) -> None:
            task.writeq_td("Q", b"x")
            calls.append("task")

        def program(job) -> None:
            with pytest.raises(EscapeMessage):
                job.qrcvdtaq("NOTHERE", "QGPL")
            calls.append("job")

        region.start(transaction)
        system.start(program)
        region.run()
        seen.add(" ".join(calls))

    explore(scenario, 50, shared=True)  # the tasks share the list of calls
    assert seen == {"task job", "job task"}


@pytest.mark.parametrize("token", ["pct:1:2:3+1.5", "at:1=2,4=-7+0.25"])
def test_a_token_with_slack_gives_the_schedule_back(token: str) -> None:
    assert Schedule.parse(token).token == token


@pytest.mark.parametrize("token", ["pct:1:2:3+", "pct:1:2:3+x", "at:1=2+-1"])
def test_a_token_with_what_is_no_slack_is_refused(token: str) -> None:
    if token.endswith("+"):
        assert Schedule.parse(token).slack == 0
        return
    with pytest.raises(ValueError, match=r"with \+SECONDS of slack"):
        Schedule.parse(token)


@pytest.mark.parametrize("slack", [-1, float("inf"), float("nan")])
def test_slack_that_cannot_be_is_refused(slack: float) -> None:
    with pytest.raises(ValueError, match="allowed are 0 or more seconds"):
        explore(lambda _stage: None, slack=slack)
