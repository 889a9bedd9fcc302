"""Crashes are placed in every order of the tasks and with faults; a finding is made small and can be pasted."""

from __future__ import annotations

from typing import Any

import pytest

from tdqsim import Condition, Region, Task, define_tdqueue, define_transaction
from tdqsim.errors import UsageError
from tdqsim.faults import DiskFull, Fault
from tdqsim.testing import CrashFailure, enumerate_crashes
from tests.testing.test_explorer import run_pasted

QUEUES = [
    *(define_tdqueue(name=name, type="INTRA", recovstatus="LOGICAL") for name in ("IN", "OUT", "SPAR", "STOP")),
    *(define_transaction(name=name) for name in ("MOVE", "HALT")),
]
NOSPACE = Fault("NOSPACE", command="WRITEQ TD", queue="OUT")


def move(task: Task) -> None:
    """Moves a payment; if there is no room and the day is over, it commits the read before it saves the payment."""
    record = task.readq_td("IN")
    try:
        task.writeq_td("OUT", record)
    except Condition:
        if task.inquire_tdqueue("STOP", "NUMITEMS").numitems:
            task.syncpoint()
        task.writeq_td("SPAR", record)


def programs(region: Region) -> None:
    region.register("MOVE", move)
    region.register("HALT", lambda task: task.writeq_td("STOP", b"the day is over"))


def pay(region: Region, told: list[str]) -> None:
    region.writeq_td("IN", b"payment")
    told.append("payment")
    region.start("MOVE")
    region.start("HALT")
    region.run()


def payment_is_there(region: Region, told: list[str]) -> None:
    there = region.peek("IN") + region.peek("OUT") + region.peek("SPAR")
    assert there == [b"payment"] or (not told and not there), "the payment is lost"


def crash(**options: Any):
    return enumerate_crashes(pay, payment_is_there, QUEUES, prepare=programs, **options)


@pytest.mark.parametrize("options", [{}, {"orders": None}, {"faults": [NOSPACE]}], ids=["crash", "order", "fault"])
def test_a_bug_that_needs_an_order_a_crash_and_a_fault_is_not_seen_with_less(options: dict[str, Any]) -> None:
    report = crash(**options)
    assert report.complete == (options.get("orders", 1) is None)


def test_a_bug_that_needs_an_order_a_crash_and_a_fault_is_found_and_made_small() -> None:
    others = [Fault("IOERR", command="READQ TD", queue="SPAR"), Fault("NOSPACE", command="WRITEQ TD", queue="STOP")]
    with pytest.raises(CrashFailure, match="the payment is lost") as failed:
        crash(orders=None, faults=[*others, NOSPACE], max_faults=2)
    failure = failed.value
    assert failure.faults.faults == (NOSPACE,)
    assert failure.order is not None
    assert failure.order.count("=") == 1  # one switch
    assert "with FaultPlan(Fault(condition='NOSPACE'" in str(failure)
    for again in (
        lambda: crash(order=failure.order, faults=failure.faults.faults, points=[failure.point]),
        lambda: run_pasted(failure.test),
    ):
        with pytest.raises(CrashFailure, match="the payment is lost") as repeated:
            again()
        assert (repeated.value.where, repeated.value.point) == (failure.where, failure.point)


def in_turn(region: Region, _told: list[str]) -> None:
    """Three tasks, each of which writes its letter."""
    for letter in (b"A", b"B", b"C"):
        region.start(lambda task, letter=letter: task.writeq_td("OUT", letter))
    region.run()


def test_a_failure_that_is_made_small_stays_the_same_failure() -> None:
    """An earlier switch gives another failure."""

    def check(region: Region, _told: list[str]) -> None:
        there = b"".join(region.peek("OUT"))
        assert there != b"CBA", "C and B came first"
        if there == b"BAC":
            raise KeyError(there)

    with pytest.raises(CrashFailure, match="after the restart: AssertionError: C and B came first") as failed:
        enumerate_crashes(in_turn, check, QUEUES, orders=None, points=[0])
    assert failed.value.order == "at:1=3"


def test_a_failure_at_the_last_point_is_made_small_too() -> None:
    def check(region: Region, _told: list[str]) -> None:
        if region.recovery.start_type == "EMERGENCY":
            assert b"".join(region.peek("OUT"))[:1] != b"C" or len(region.peek("OUT")) < 3, "C came first"

    with pytest.raises(CrashFailure, match="C came first") as failed:
        enumerate_crashes(in_turn, check, QUEUES, orders=None)
    assert (failed.value.order, failed.value.where) == ("at:0=3", "durable: after commit")


def test_a_crash_leaves_what_one_of_two_independent_tasks_has_committed() -> None:
    """Their requests commute; what a crash between their commits leaves depends on their order."""
    left = set()

    def scenario(region: Region, _told: list[str]) -> None:
        for name in ("IN", "OUT"):
            region.start(lambda task, name=name: task.writeq_td(name, b"x"))
        region.run()

    def check(region: Region, _told: list[str]) -> None:
        left.add((bool(region.peek("IN")), bool(region.peek("OUT"))))

    one = enumerate_crashes(scenario, check, QUEUES)
    assert left == {(False, False), (True, False), (True, True)}
    every = enumerate_crashes(scenario, check, QUEUES, orders=None)
    assert every.complete
    assert every.points == one.points  # those of the first order
    assert one.points[-1] == "the normal end"
    assert left == {(False, False), (True, False), (False, True), (True, True)}


def test_a_region_that_crashes_has_no_supplied_queues_unless_asked_for() -> None:
    seen = set()

    def scenario(region: Region, _told: list[str]) -> None:
        seen.add("CSSL" in region.tdqueues)

    for options in ({}, {"supplied_queues": True}):
        enumerate_crashes(scenario, lambda *_: None, QUEUES, **options)
    assert seen == {False, True}
    seen.clear()
    enumerate_crashes(scenario, lambda *_: None, QUEUES)
    assert seen == {False}


def test_what_a_task_notes_as_complete_is_noted_before_and_after_the_commit_of_another() -> None:
    seen = set()

    def scenario(region: Region, told: list[str]) -> None:
        def note(task: Task) -> None:
            task.asktime()
            told.append("noted")

        region.start(note)
        region.start(lambda task: task.writeq_td("OUT", b"x"))
        region.run()

    def check(region: Region, told: list[str]) -> None:
        seen.add((bool(told), bool(region.peek("OUT"))))

    enumerate_crashes(scenario, check, QUEUES, orders=None)
    assert seen == {(False, False), (True, False), (False, True), (True, True)}


def test_a_crash_that_leaves_the_same_is_not_run_again() -> None:
    checks = []

    def scenario(region: Region, _told: list[str]) -> None:
        for name in (b"a", b"b"):
            region.start(lambda task, name=name: task.writeq_td("IN", name))
        region.run()

    report = enumerate_crashes(scenario, lambda region, _told: checks.append(region.peek("IN")), QUEUES, orders=None)
    assert report.complete
    assert report.orders > 1
    assert report.repeated > 0
    assert len(checks) == report.tried - report.repeated + report.orders  # and the normal end of each order


def test_a_scenario_that_is_not_the_same_each_time_is_refused() -> None:
    runs = []

    def scenario(region: Region, _told: list[str]) -> None:
        runs.append(1)
        for _ in range(2 + len(runs) % 2):
            region.start(lambda task: task.writeq_td("IN", b"x"))
        region.run()

    with pytest.raises(UsageError, match="does not do the same each time"):
        enumerate_crashes(scenario, lambda _region, _told: None, QUEUES, points=[], orders=None)


def test_faults_that_are_no_commands_and_bad_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="of the kinds Fault and MessageFault"):
        crash(faults=[DiskFull()])
    with pytest.raises(ValueError, match="max_faults -1"):
        crash(faults=[NOSPACE], max_faults=-1)


def test_a_condition_that_the_scenario_gets_from_a_fault_ends_it() -> None:
    def scenario(region: Region, told: list[str]) -> None:
        region.writeq_td("OUT", b"x")
        told.append("written")

    seen = set()
    enumerate_crashes(
        scenario, lambda region, told: seen.add((*told, *region.peek("OUT"))), QUEUES, faults=[NOSPACE], orders=None
    )
    assert seen == {(), (b"x",), ("written", b"x")}
