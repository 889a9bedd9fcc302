"""Common bugs of handlers that a crash brings out: each is found in the guide's own form of a scenario.

In each case a payment is put on queue IN, whose trigger starts the handler, which moves it to OUT; the check is that
what the scenario was told of is on one of the queues, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tdqsim import Region, Task, define_tdqueue, define_transaction
from tdqsim.testing import CrashFailure, enumerate_crashes

QUEUES = (
    define_tdqueue(name="IN", type="INTRA", recovstatus="LOGICAL", atifacility="FILE", transid="MOVE", triggerlevel=1),
    define_tdqueue(name="OUT", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="LOST", type="INTRA"),
    define_transaction(name="MOVE"),
    define_transaction(name="NEXT"),
)


def scenario(region: Region, told: list[Any]) -> None:
    for payment in (b"one", b"two"):
        region.writeq_td("IN", payment)
        told.append(payment)


def each_is_there_once(region: Region, told: list[Any]) -> None:
    region.run()
    there = region.peek("IN") + region.peek("OUT")
    assert set(told) <= set(there) <= {b"one", b"two"}
    assert len(there) == len(set(there))


def found(handler: Callable[[Task], object], **programs: Callable[[Task], object]) -> str:
    """Where a crash breaks the promise; empty for nowhere."""

    def prepare(region: Region) -> None:
        for transid, program in {"MOVE": handler, **programs}.items():
            region.register(transid, program)

    try:
        enumerate_crashes(scenario, each_is_there_once, QUEUES, prepare=prepare)
    except CrashFailure as failure:
        return failure.where
    return ""


def records(task: Task) -> Any:
    """What is on IN, until QZERO."""
    while record := task.readq_td("IN", nohandle=True):
        yield record


def right(task: Task) -> None:
    for record in records(task):
        task.writeq_td("OUT", record)
        task.syncpoint()


def syncpoint_too_early(task: Task) -> None:
    for record in records(task):
        task.syncpoint()
        task.writeq_td("OUT", record)


def written_twice_after_a_syncpoint(task: Task) -> None:
    record = task.readq_td("IN")
    task.writeq_td("OUT", record)
    task.syncpoint()
    if len(task.region.peek("OUT")) % 2:
        task.writeq_td("IN", record)  # it tries the record again, though it has done it


def queue_that_is_not_recoverable(task: Task) -> None:
    for record in records(task):
        task.writeq_td("LOST", record)
    task.syncpoint()
    while record := task.readq_td("LOST", nohandle=True):
        task.writeq_td("OUT", record)


def start_without_protect(task: Task) -> None:
    for record in records(task):
        task.start("NEXT", record)


def start_with_protect_but_no_recoverable_data(task: Task) -> None:
    for record in records(task):
        task.start("NEXT", record, protect=True)


def write_what_was_started(task: Task) -> None:
    task.writeq_td("OUT", task.retrieve())


def test_a_right_handler_gives_no_false_alarm() -> None:
    assert found(right) == ""


@pytest.mark.parametrize(
    "handler",
    [
        syncpoint_too_early,
        written_twice_after_a_syncpoint,
        queue_that_is_not_recoverable,
        start_without_protect,
        start_with_protect_but_no_recoverable_data,
    ],
)
def test_a_common_bug_is_found(handler: Callable[[Task], object]) -> None:
    assert found(handler, NEXT=write_what_was_started)
