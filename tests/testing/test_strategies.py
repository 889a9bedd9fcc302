"""Strategies give what layouts, explorations and regions accept, and failing examples become small."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from tdqsim import Region, define_tdqueue, define_transaction
from tdqsim.errors import UsageError
from tdqsim.faults import CrashPoint, Fault, FaultPlan
from tdqsim.layouts import parse_copybook
from tdqsim.testing import Schedule, ScheduleFailure, Stage
from tdqsim.testing.strategies import Run, Traffic, fault_plans, records, runs, scenarios, schedules

EVERYTHING = parse_copybook(
    """
    01 ORDERS.
       05 KIND PIC X. 88 IS-NEW VALUE 'N'. 88 IS-OLD VALUE 'O'.
       05 NUMBER-OF PIC S9(5).
       05 AMOUNT PIC S9(5)V99 COMP-3.
       05 COUNT-OF PIC 9(4) COMP.
       05 RATE COMP-2.
       05 NOTE-N PIC N(4).
       05 WHERE-IT-IS USAGE POINTER.
       05 EDITED-SUM PIC ZZ9.99.
       05 FILLER PIC X(3).
       05 DAY-TEXT PIC X(8).
       05 DAY-PARTS REDEFINES DAY-TEXT.
          10 YEAR-OF PIC X(4).
          10 REST PIC X(4).
       05 FIXED-TABLE OCCURS 2. 10 ITEM PIC 9(2). 10 LETTER PIC X.
       05 LINES-IN PIC 9.
       05 LINE-IN OCCURS 0 TO 5 DEPENDING ON LINES-IN PIC X(2).
    """
).record()
QUEUES = [
    define_tdqueue(name="IN", type="INTRA", recovstatus="LOGICAL", transid="MOVE", triggerlevel=1, atifacility="FILE"),
    define_tdqueue(name="OUT", type="INTRA", recovstatus="LOGICAL"),
    define_transaction(name="MOVE"),
]


@settings(max_examples=40, deadline=None)
@given(records(EVERYTHING))
def test_records_are_what_the_layout_says(record: bytes) -> None:
    values = EVERYTHING.decode(record)
    assert EVERYTHING.minimum_length <= len(record) <= EVERYTHING.length
    assert len(values["LINE-IN"]) == values["LINES-IN"] <= 5
    assert len(values["FIXED-TABLE"]) == 2
    assert abs(values["AMOUNT"]) <= Decimal("99999.99")
    assert EVERYTHING.length_of(record) == len(record)


def test_records_reach_negative_numbers_level_88_and_every_table_length() -> None:
    layout = parse_copybook(
        "01 R. 05 KIND PIC X. 88 IS-OLD VALUE 'O'. 05 AMOUNT PIC S9V9 COMP-3. 05 N PIC 9. "
        "05 T PIC X OCCURS 0 TO 3 DEPENDING ON N."
    ).record()
    wanted = {
        "level 88": lambda values: values["KIND"] == "O",
        "another value": lambda values: values["KIND"] != "O",
        "negative": lambda values: values["AMOUNT"] < 0,
        "full table": lambda values: len(values["T"]) == 3,
        "empty table": lambda values: values["T"] == [],
    }
    for holds in wanted.values():
        record = find(records(layout), lambda record, holds=holds: holds(layout.decode(record)))
        assert holds(layout.decode(record))


AMERICAN = parse_copybook(
    """
    01 R.
       05 A PIC X(6). 88 A-BLANK VALUE SPACES. 88 A-LONG VALUE 'LONGER THAN IT'.
       05 B PIC X. 88 B-LOW VALUE LOW-VALUE.
    """
).record()


@settings(max_examples=40, deadline=None)
@given(records(AMERICAN.with_code_pages({"A": "ascii"})))
def test_records_have_characters_of_their_code_page_and_no_names_of_constants(record: bytes) -> None:
    assert record[:6].isascii()
    assert record[:6] != b"SPACES"


@pytest.mark.parametrize(
    ("clauses", "wanted"),
    [
        ("PIC X(3). 88 C VALUE HIGH-VALUES", "FFFFFF"),
        ("PIC X(3). 88 C VALUE ZEROS", "F0F0F0"),
        ("PIC X(3). 88 C VALUE 'XX' SPACES", "E7E740"),
        ("PIC X(3). 88 C VALUE ALL 'AB'", "C1C2C1"),
        ("PIC X(3). 88 C VALUE X'C1FF40'", "C1FF40"),
        ("PIC X(3). 88 C VALUE LOW-VALUES", "000000"),
        ("PIC X(8). 88 C VALUE 'SPACES'", "E2D7C1C3C5E24040"),
        ("PIC N(2). 88 C VALUE ALL N'Z'", "005A005A"),
        ("COMP-1. 88 C VALUE 3000000", "462DC6C0"),
        ("PIC 9(8). 88 C VALUE 123456789 87654321", "F8F7F6F5F4F3F2F1"),  # the first one has too many digits
        ("PIC S9(8). 88 C VALUE 1.5 -87654321", "F8F7F6F5F4F3F2D1"),  # no integer is 1.5
    ],
)
def test_records_reach_the_bytes_that_make_a_level_88_name_true(clauses: str, wanted: str) -> None:
    layout = parse_copybook(f"01 R. 05 A {clauses}.").record()
    assert find(records(layout), lambda record: record.hex().upper() == wanted)


def test_values_of_level_88_names_that_no_value_of_the_field_equals_are_left_out() -> None:
    layout = parse_copybook("01 R. 05 A PIC 9. 88 C VALUE 10 1.5 SPACES. 05 B PIC X. 88 D VALUE 'LONG'.").record()
    shortest = find(records(layout), lambda _record: True)
    assert layout.decode(shortest) == {"A": 0, "B": " "}


@pytest.mark.parametrize(
    ("clauses", "fits"),
    [
        ("COMP-2", lambda value: value < 0),
        ("PIC 9(2)", lambda value: value > 50),
        ("PIC 9PP", lambda value: value >= 200),
        ("PIC N(2)", lambda value: len(value.strip()) == 2),
    ],
)
def test_records_reach_every_part_of_what_a_field_holds(clauses: str, fits: Callable[[Any], bool]) -> None:
    layout = parse_copybook(f"01 R. 05 A {clauses}.").record()
    assert fits(layout.decode(find(records(layout), lambda record: fits(layout.decode(record)["A"])))["A"])


def test_records_shrink_to_the_first_value_of_a_level_88_name() -> None:
    layout = parse_copybook("01 R. 05 A PIC 9. 88 C VALUE 7 3.").record()
    assert find(records(layout), lambda _record: True) == b"\xf7"


def test_orders_switch_once_at_a_step_and_are_in_the_order_of_the_steps() -> None:
    twice = find(schedules(switches=2, steps=2, tasks=2), lambda order: len(order.deviations) == 2)
    assert [step for step, _task in twice.deviations] == [0, 1]
    with pytest.raises(NoSuchExample):
        find(schedules(switches=2, steps=1, tasks=2), lambda order: len(order.deviations) == 2)
    sorted_ones = schedules(switches=2, steps=3, tasks=1)
    with pytest.raises(NoSuchExample):
        find(sorted_ones, lambda order: list(order.deviations) != sorted(order.deviations))


def test_plans_reach_the_last_command_and_as_many_faults_as_allowed() -> None:
    plans = fault_plans([Fault("IOERR", command="READQ TD")], most=2, nth=3)
    assert find(plans, lambda plan: any(each.nth == 3 for each in plan.faults))
    assert len(find(plans, lambda plan: len(plan.faults) == 2).faults) == 2


def test_traffic_reaches_the_second_queue() -> None:
    traffics = scenarios(QUEUES, {"IN": st.just(b"x"), "OUT": st.just(b"y")})
    assert find(traffics, lambda traffic: any(("WRITEQ TD", "OUT", b"y") in each for each in traffic.tasks))


def test_the_limits_of_runs_and_traffic_are_those_that_are_given() -> None:
    any_found = partial(find, settings=settings(phases=[Phase.generate], max_examples=500))
    fault = Fault("IOERR", command="READQ TD")
    assert any_found(runs(tasks=9), lambda run: any(task == 9 for _step, task in run.schedule.deviations))
    assert any_found(runs(switches=5), lambda run: len(run.schedule.deviations) == 5)
    assert any_found(runs(faults=[fault], max_faults=2), lambda run: len(run.faults.faults) == 2)
    some = scenarios(QUEUES, {"IN": st.just(b"x"), "OUT": st.just(b"y")}, commands=["READQ TD"], tasks=2, requests=2)
    assert any_found(some, lambda traffic: any(("READQ TD", "OUT", b"") in each for each in traffic.tasks))
    for more in (lambda traffic: len(traffic.tasks) > 2, lambda traffic: max(map(len, traffic.tasks)) > 2):
        with pytest.raises(NoSuchExample):
            find(some, more, settings=settings(max_examples=50))


def test_a_run_has_its_options() -> None:
    def abends(stage: Stage) -> None:
        region = stage.region(QUEUES)
        region.start(lambda task: task.abend("MINE"))
        region.run()

    assert Run(Schedule(), FaultPlan(), {"allow_abends": ["MINE"]})(abends)


def test_orders_reach_the_last_step_and_the_last_task() -> None:
    assert find(schedules(switches=1, steps=3, tasks=2), lambda order: (2, 2) in order.deviations)
    assert find(schedules(switches=1, steps=1, tasks=1), lambda order: bool(order.deviations)) == Schedule(((0, 1),))
    with pytest.raises(NoSuchExample):
        find(schedules(switches=1, steps=1, tasks=1), lambda order: any(step > 0 for step, _ in order.deviations))


@settings(max_examples=20, deadline=None)
@given(records(EVERYTHING, {"NUMBER-OF": st.integers(1, 3), "ITEM": 7}))
def test_fields_may_be_given(record: bytes) -> None:
    values = EVERYTHING.decode(record)
    assert 1 <= values["NUMBER-OF"] <= 3
    assert [each["ITEM"] for each in values["FIXED-TABLE"]] == [7, 7]


def test_a_field_that_is_none_and_a_command_that_is_none_are_refused() -> None:
    with pytest.raises(LookupError, match="has no field 'NONE'"):
        records(EVERYTHING, {"NONE": 1})
    with pytest.raises(UsageError, match="commands READQ TS; allowed are WRITEQ TD"):
        scenarios(QUEUES, {"IN": st.binary()}, commands=["READQ TS"])
    with pytest.raises(ValueError, match="of the kinds Fault and MessageFault"):
        fault_plans([CrashPoint()])


def test_orders_and_plans_shrink_to_none() -> None:
    assert find(schedules(), lambda _: True) == Schedule()
    fault = Fault("IOERR", command="READQ TD")
    assert find(fault_plans([fault], most=3), lambda _: True) == FaultPlan()
    assert find(fault_plans([fault], most=3), lambda plan: bool(plan.faults)) == FaultPlan(fault)


def careless(region: Region) -> None:
    """The handler takes every condition for QZERO."""

    def move(task) -> None:
        while record := task.readq_td("IN", nohandle=True):
            task.writeq_td("OUT", record)

    region.register("MOVE", move)


def nothing_is_left(stage: Stage, traffic: Traffic) -> None:
    region = traffic(stage)
    assert not region.peek("IN"), "a record is left on IN"


def test_traffic_order_and_faults_become_small_together() -> None:
    traffics = scenarios(QUEUES, {"IN": st.binary(min_size=1, max_size=2)}, prepare=careless)
    fault = Fault("IOERR", command="READQ TD", queue="IN")

    def fails(example: tuple[Traffic, Run]) -> bool:
        traffic, run = example
        try:
            run(lambda stage: nothing_is_left(stage, traffic))
        except ScheduleFailure:
            return True
        return False

    traffic, run = find(
        st.tuples(traffics, runs(faults=[fault], max_faults=1)), fails, settings=settings(max_examples=300)
    )
    assert traffic.tasks == ((("WRITEQ TD", "IN", b"\0"),),)
    assert (run.schedule, run.faults) == (Schedule(), FaultPlan(fault))


@settings(max_examples=15, deadline=None)
@given(
    scenarios(
        QUEUES,
        {"IN": st.just(b"in"), "OUT": st.just(b"out")},
        prepare=careless,
        commands=("WRITEQ TD", "READQ TD", "DELETEQ TD", "SYNCPOINT", "SYNCPOINT ROLLBACK"),
    ),
    runs(allow_abends="*", may_wait=True),
)
def test_traffic_of_every_command_runs_in_every_order(traffic: Traffic, run: Run) -> None:
    try:
        trace = run(traffic)
    except ScheduleFailure as failure:
        if failure.failure.kind not in ("deadlock", "lost trigger"):
            raise
        return
    assert trace == run(traffic)
    assert sum(map(len, traffic.tasks)) <= len(trace)
