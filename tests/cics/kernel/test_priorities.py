"""Which of several ready tasks runs first: PRIORITY, TERMPRIORITY and PRTYAGE; SPURGE."""

from __future__ import annotations

from functools import partial

import pytest

from tdqsim import Region, define_terminal, define_transaction
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import WAIT, WaitQueue
from tests.rules import expect_rule

DEFINITIONS = [
    define_transaction(name="LOW", priority=0),
    define_transaction(name="NORM"),
    define_transaction(name="NEXT", priority=2),
    define_transaction(name="HIGH", priority=200),
    define_terminal(name="T001", termpriority=100),
]


@pytest.fixture
def region():
    with Region(DEFINITIONS, supplied_queues=False) as made:
        yield made


def starts(region, *transids):
    """The order in which tasks begin that are started in this order."""
    begun = []
    for transid in transids:
        region.register(transid, lambda task: begun.append(task.transid))
        region.start(transid)
    region.run()
    return begun


@pytest.mark.rule("TASK-PRIORITY")
def test_the_higher_priority_runs_first(region):
    assert starts(region, "NORM", "LOW", "HIGH", "NORM", "NEXT", "LOW") == [
        "HIGH",
        "NEXT",
        "NORM",
        "NORM",
        "LOW",
        "LOW",
    ]
    assert starts(region, "NORM", "NORM") == ["NORM", "NORM"]


def test_a_task_that_is_woken_takes_its_place(region):
    begun = []

    def waits(task):
        task.enq(b"LOCK")
        begun.append(task.transid)
        task.deq(b"LOCK")

    def busy(task):
        begun.append(f"{task.transid} begins")
        task.suspend()
        begun.append(f"{task.transid} ends")

    for transid in ("NORM", "HIGH"):
        region.register(transid, waits)
    region.register("NEXT", busy)
    with region.task() as task:
        task.enq(b"LOCK")
        region.start("HIGH")
        region.dispatcher.run_ready()
        region.start("NEXT")
        region.start("NORM")
        task.deq(b"LOCK")
    region.run()
    assert begun == ["HIGH", "NEXT begins", "NEXT ends", "NORM"]


def test_suspend_lets_only_tasks_of_the_same_or_a_higher_priority_run(region):
    begun = []

    def polite(task):
        begun.append(task.transid)
        task.suspend()
        begun.append(task.transid)

    for transid in ("NORM", "NEXT"):
        region.register(transid, polite)
        for _ in range(2):
            region.start(transid)
    region.run()
    assert begun == ["NEXT"] * 4 + ["NORM"] * 4


@pytest.mark.rule("TASK-PRIORITY-AGING", "TASK-PRIORITY-NO-AGING")
def test_aging(region):
    begun = []
    for transid in ("NORM", "NEXT", "HIGH"):
        region.register(transid, lambda task: begun.append(task.transid))

    def order(seconds):
        begun.clear()
        region.start("NORM")
        region.clock.advance(seconds)
        region.start("NEXT")
        region.run()
        return begun[:]

    assert order(1.1) == ["NEXT", "NORM"]  # no transaction with a priority had been started before
    assert order(0.9) == ["NEXT", "NORM"]
    assert order(1.1) == ["NORM", "NEXT"]  # PRTYAGE is 1000
    with region.task() as task:
        task.set_dispatcher(prtyaging=2000)
        assert task.inquire_dispatcher("PRTYAGING").prtyaging == 2000
        assert order(1.9) == ["NEXT", "NORM"]
        task.set_dispatcher(prtyaging=0)
        assert order(100_000) == ["NEXT", "NORM"]


def test_a_new_prtyage_holds_for_waiting_tasks_when_they_become_ready(region):
    begun = []

    def waits(task):
        task.delay(interval=5)
        begun.append(task.transid)

    region.register("NEXT", waits)
    region.register("NORM", lambda task: begun.append(task.transid))
    region.start("NEXT")
    region.dispatcher.run_ready()
    with region.task() as task:
        task.set_dispatcher(prtyaging=0)
        region.start("NORM")
        region.clock.advance(100_000)
    assert begun == ["NEXT", "NORM"]


def test_a_task_at_a_terminal_runs_before_others(region):
    begun = []
    for transid in ("NORM", "NEXT"):
        region.register(transid, lambda task: begun.append(task.transid))
    with region.task() as task:
        region.start("NEXT")
        task.execute("START TRANSID('NORM') TERMID('T001')")
        region.start("NEXT")
    region.run()
    assert begun[0] == "NORM" if begun else pytest.fail("no task began")


@pytest.mark.rule("SET-DISPATCHER-PRTYAGING")
def test_prtyaging_out_of_range(region):
    with region.task() as task:
        for number in (-1, 65536):
            expect_rule("SET-DISPATCHER-PRTYAGING", task.set_dispatcher, prtyaging=number)
        assert task.inquire_dispatcher().prtyaging == 1000


def test_a_seed_permutes_ready_tasks_whatever_their_priority():
    orders = set()
    for seed in range(1, 9):
        with Region(DEFINITIONS, seed=seed, supplied_queues=False) as region:
            orders.add(tuple(starts(region, "NORM", "HIGH", "LOW")))
    assert len(orders) > 1


def test_ranks_of_fibers():
    """Ten thousand fibers of many ranks run in the order of rank, and of readiness within a rank."""
    dispatcher, ran = Dispatcher(), []
    gate = WaitQueue("the gate")
    opened = []

    def program(number):
        dispatcher.wait(lambda: None if opened else WAIT, gate)
        ran.append(number)

    for number in range(10_000):
        fiber = dispatcher.spawn(partial(program, number), name="s")
        dispatcher.rank(fiber, number % 7 * 10**15)
    dispatcher.run_ready()
    opened.append(True)
    gate.wake_all()
    dispatcher.run()
    assert ran == sorted(range(10_000), key=lambda number: -(number % 7))


# -- SPURGE -----------------------------------------------------------------------------------------------------------

SAFE = [define_transaction(name="SAFE", dtimout="5", spurge="NO"), define_transaction(name="PLNT", dtimout="5")]


@pytest.mark.rule("TASK-SPURGE", "TASK-SPURGE-DEFAULT", "SET-TASK-SPURGE")
def test_spurge():
    ended = []
    with Region(SAFE, supplied_queues=False) as region:
        for transid in ("SAFE", "PLNT"):
            region.register(transid, lambda task: (task.enq(b"LOCK"), task.deq(b"LOCK"), ended.append(task.transid)))
        with region.task() as task:
            task.enq(b"LOCK")
            safe, plain = region.start("SAFE"), region.start("PLNT")
            region.dispatcher.run_ready()
            region.clock.advance(60)
            task.suspend()
            assert (safe.done, plain.done, region.statistics.abends) == (False, True, {"AKCS": 1})
            assert task.inquire_task(safe.local.number, "DTIMEOUT").dtimeout == 5
            expect_rule("SET-TASK-SPURGE", task.set_task, safe.local.number, purgetype="PURGE")
        region.run()
        assert (safe.done, ended) == (True, ["SAFE"])


def test_forcepurge_ends_a_task_with_spurge_no():
    with Region(SAFE, supplied_queues=False) as region:
        region.register("SAFE", lambda task: task.delay(hours=1))
        handle = region.start("SAFE")
        region.dispatcher.run_ready()
        with region.task() as task:
            task.set_task(handle.local.number, purgetype="FORCEPURGE")
        region.dispatcher.run_ready()
        assert (handle.done, region.statistics.abends) == (True, {"AEXY": 1})
