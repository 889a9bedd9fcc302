"""Common bugs of handlers that a crash brings out. Each is found in the guide's own form of a scenario.

Payments are put on queue IN, whose trigger starts a handler, which moves them to OUT. Each bug stands beside the right
way to do the same; the right way gives no false alarm. After a restart nothing triggers what is on a queue with
ATIFACILITY FILE, so checks start the handler again where a site would do so, as the first thing after the restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tdqsim import Region, Task, define_tdqueue, define_transaction
from tdqsim.definitions import define_tsmodel
from tdqsim.testing import CrashFailure, CrashReport, enumerate_crashes

Handler = Callable[[Task], object]
Scenario = Callable[[Region, list[bytes]], None]
PAYMENTS = (b"one", b"two")


def queue(name: str, recovstatus: str = "LOGICAL", **attributes: Any) -> Any:
    return define_tdqueue(name=name, type="INTRA", recovstatus=recovstatus, **attributes)


def triggered(name: str, transid: str, recovstatus: str = "LOGICAL", level: int = 1) -> Any:
    return queue(name, recovstatus, atifacility="FILE", transid=transid, triggerlevel=level)


COMMON = [queue("OUT"), *(define_transaction(name=name) for name in ("MOVE", "NEXT"))]
QUEUES = [triggered("IN", "MOVE"), *COMMON]


def one_by_one(region: Region, told: list[bytes]) -> None:
    for payment in PAYMENTS:
        region.writeq_td("IN", payment)
        told.append(payment)


def all_at_once(region: Region, told: list[bytes]) -> None:
    with region.task() as task:
        for payment in PAYMENTS:
            task.writeq_td("IN", payment)
    told.extend(PAYMENTS)


def start_again(region: Region, *transids: str) -> None:
    for transid in transids or ("MOVE",):
        region.start(transid)
    region.run()


def each_is_there_once(region: Region, told: list[bytes]) -> None:
    start_again(region)
    there = region.peek("IN") + region.peek("OUT")
    assert set(told) <= set(there) <= set(PAYMENTS)
    assert len(there) == len(set(there))


def crash(
    handler: Handler,
    scenario: Scenario = one_by_one,
    check: Callable[[Region, list[bytes]], object] = each_is_there_once,
    definitions: Iterable[Any] = QUEUES,
    next_program: Handler | None = None,
    **options: Any,
) -> CrashReport:
    def prepare(region: Region) -> None:
        region.register("MOVE", handler)
        if next_program is not None:
            region.register("NEXT", next_program)

    return enumerate_crashes(scenario, check, definitions, prepare=prepare, **options)


def records(task: Task, name: str = "IN") -> Iterator[bytes]:
    """The records of a queue, until QZERO."""
    while record := task.readq_td(name, nohandle=True):
        yield record


def right(task: Task) -> None:
    for record in records(task):
        task.writeq_td("OUT", record)
        task.syncpoint()


def test_a_right_handler_gives_no_false_alarm() -> None:
    report = crash(right)
    assert report.tried == len(report.points) - 1 > 15
    assert report.orders == 1


# -- syncpoints -------------------------------------------------------------------------------------------------------


def syncpoint_too_early(task: Task) -> None:
    for record in records(task):
        task.syncpoint()
        task.writeq_td("OUT", record)


def test_a_syncpoint_before_the_record_is_written_loses_it() -> None:
    with pytest.raises(CrashFailure, match=r"told before: .*one") as failed:
        crash(syncpoint_too_early)
    assert failed.value.order is None


def syncpoint_too_late(task: Task) -> None:
    """A restart puts only the last read of a physically recoverable queue back."""
    for record in records(task):
        task.writeq_td("OUT", record)
    task.syncpoint()


def test_one_syncpoint_for_several_reads_of_a_physical_queue_loses_all_but_the_last() -> None:
    definitions = [triggered("IN", "MOVE", "PHYSICAL", level=2), *COMMON]
    with pytest.raises(CrashFailure):
        crash(syncpoint_too_late, definitions=definitions)
    crash(right, definitions=definitions)
    crash(syncpoint_too_late, definitions=[triggered("IN", "MOVE", level=2), *COMMON])


def accepts(*, with_syncpoint: bool) -> Scenario:
    """A program that takes payments in and tells its caller of each."""

    def scenario(region: Region, told: list[bytes]) -> None:
        with region.task() as task:
            for payment in PAYMENTS:
                task.writeq_td("IN", payment)
                if with_syncpoint:
                    task.syncpoint()
                told.append(payment)

    return scenario


def test_an_answer_without_a_syncpoint_promises_what_a_crash_takes_back() -> None:
    with pytest.raises(CrashFailure):
        crash(right, accepts(with_syncpoint=False))
    crash(right, accepts(with_syncpoint=True))


# -- two places -------------------------------------------------------------------------------------------------------


def books(*, in_one_unit: bool) -> Handler:
    """Every payment is booked twice."""

    def handler(task: Task) -> None:
        for record in records(task):
            task.writeq_td("DEBT", record)
            if not in_one_unit:
                task.syncpoint()
            task.writeq_td("CRED", record)
            task.syncpoint()

    return handler


def books_agree(region: Region, told: list[bytes]) -> None:
    start_again(region)
    assert region.peek("DEBT") == region.peek("CRED")
    assert region.peek("CRED")[: len(told)] == told


def test_two_queues_in_two_units_of_work_disagree() -> None:
    definitions = [triggered("IN", "MOVE"), queue("DEBT"), queue("CRED"), *COMMON]
    with pytest.raises(CrashFailure):
        crash(books(in_one_unit=False), check=books_agree, definitions=definitions)
    crash(books(in_one_unit=True), check=books_agree, definitions=definitions)


def prints(*, after_commit: bool) -> Handler:
    """Prints every payment. The line is not part of the unit of work: printed twice is wrong, not at all is allowed."""

    def handler(task: Task) -> None:
        for record in records(task):
            if after_commit:
                task.syncpoint()
            task.writeq_td("PRNT", record.ljust(3))
            task.syncpoint()

    return handler


def test_a_data_set_before_the_commit_has_the_record_twice(tmp_path: Path) -> None:
    data_set = tmp_path / "print"
    definition = define_tdqueue(
        name="PRNT", type="EXTRA", typefile="OUTPUT", ddname="PRINT", recordformat="FIXED", recordsize=3,
        disposition="MOD",
    )  # fmt: skip
    definitions = [triggered("IN", "MOVE"), definition, *COMMON]

    def scenario(region: Region, told: list[bytes]) -> None:
        data_set.write_bytes(b"")
        one_by_one(region, told)

    def each_is_printed_once(region: Region, told: list[bytes]) -> None:
        start_again(region)
        printed = data_set.read_bytes()
        assert all(printed.count(payment) <= 1 for payment in PAYMENTS)

    where: dict[str, Any] = {"check": each_is_printed_once, "definitions": definitions, "dd": {"PRINT": data_set}}
    with pytest.raises(CrashFailure):
        crash(prints(after_commit=False), scenario, **where)
    crash(prints(after_commit=True), scenario, **where)


def queue_that_is_not_recoverable(task: Task) -> None:
    for record in records(task):
        task.writeq_td("WORK", record)
    task.syncpoint()
    for record in records(task, "WORK"):
        task.writeq_td("OUT", record)


def test_a_work_queue_that_is_not_recoverable_loses_records() -> None:
    with pytest.raises(CrashFailure):
        crash(queue_that_is_not_recoverable, definitions=[*QUEUES, queue("WORK", "NO")])
    crash(queue_that_is_not_recoverable, definitions=[*QUEUES, queue("WORK")], check=nothing_is_lost)


def nothing_is_lost(region: Region, told: list[bytes]) -> None:
    start_again(region)
    assert set(told) <= {*region.peek("IN"), *region.peek("WORK"), *region.peek("OUT")}


# -- START ------------------------------------------------------------------------------------------------------------


def starts(*, protect: bool) -> Handler:
    def handler(task: Task) -> None:
        for record in records(task):
            task.start("NEXT", record, protect=protect, reqid=f"PAY{record.decode()}")
            task.syncpoint()

    return handler


def write_what_was_started(task: Task) -> None:
    task.writeq_td("OUT", task.retrieve())


@pytest.mark.parametrize("protect", [False, True])
def test_a_start_without_recoverable_data_loses_the_record(protect: bool) -> None:
    with pytest.raises(CrashFailure):
        crash(starts(protect=protect), definitions=QUEUES, next_program=write_what_was_started)


@pytest.mark.parametrize("protect", [False, True])
def test_a_start_with_recoverable_data_keeps_the_record(protect: bool) -> None:
    recoverable = define_tsmodel(name="PAYS", prefix="PAY", recovery="YES")
    crash(starts(protect=protect), definitions=[*QUEUES, recoverable], next_program=write_what_was_started)


# -- after a restart --------------------------------------------------------------------------------------------------


def retries(*, in_one_unit: bool) -> Handler:
    """Keeps a copy on AGIN until the payment is moved; NEXT moves what a failure has left there."""

    def handler(task: Task) -> None:
        for record in records(task):
            task.writeq_td("AGIN", record)
            task.syncpoint()
            task.writeq_td("OUT", record)
            if not in_one_unit:
                task.syncpoint()
            task.readq_td("AGIN")
            task.syncpoint()

    return handler


def move_what_is_left(task: Task) -> None:
    for record in records(task, "AGIN"):
        task.writeq_td("OUT", record)
        task.syncpoint()


def test_a_retry_doubles_what_was_done_already() -> None:
    definitions = [*QUEUES, triggered("AGIN", "NEXT")]

    def each_is_there_once_after_the_retry(region: Region, told: list[bytes]) -> None:
        start_again(region, "NEXT")
        each_is_there_once(region, told)

    where: dict[str, Any] = {
        "check": each_is_there_once_after_the_retry, "definitions": definitions, "next_program": move_what_is_left,
    }  # fmt: skip
    with pytest.raises(CrashFailure):
        crash(retries(in_one_unit=False), **where)
    crash(retries(in_one_unit=True), **where)


def one_for_each_trigger(task: Task) -> None:
    """Counts on a trigger for each record. A restart gives none for those that are there."""
    task.writeq_td("OUT", task.readq_td("IN"))


def the_next_payment_moves_all(region: Region, _told: list[bytes]) -> None:
    region.writeq_td("IN", b"next")
    region.run()
    assert region.peek("IN") == []


def test_a_handler_that_stops_before_qzero_falls_behind_after_a_restart() -> None:
    with pytest.raises(CrashFailure):
        crash(one_for_each_trigger, check=the_next_payment_moves_all)
    crash(right, check=the_next_payment_moves_all)


def with_trailer(*, in_one_unit: bool) -> Handler:
    """Takes QZERO for the end of the batch: after a crash there may be nothing left to read, and so no end."""

    def handler(task: Task) -> None:
        count = 0
        for record in records(task):
            task.writeq_td("OUT", record)
            if not in_one_unit:
                task.syncpoint()
            count += 1
        if count:
            task.writeq_td("OUT", b"END")

    return handler


def is_a_whole_batch(region: Region, told: list[bytes]) -> None:
    start_again(region)
    moved = region.peek("OUT")
    assert moved == [*PAYMENTS, b"END"] or (not moved and not told)


def test_qzero_taken_for_the_end_of_the_batch_leaves_it_without_its_end() -> None:
    with pytest.raises(CrashFailure):
        crash(with_trailer(in_one_unit=False), all_at_once, is_a_whole_batch)
    crash(with_trailer(in_one_unit=True), all_at_once, is_a_whole_batch)


# -- two tasks --------------------------------------------------------------------------------------------------------


def transfers(first: str, second: str, source: str) -> Handler:
    def handler(task: Task) -> None:
        for record in records(task, source):
            task.writeq_td(first, record)
            task.writeq_td(second, record)

    return handler


def two_sources(region: Region, told: list[bytes]) -> None:
    with region.task() as task:
        task.writeq_td("IN", b"one")
        task.writeq_td("IN2", b"two")
    told.extend(PAYMENTS)


def books_agree_in_the_end(region: Region, told: list[bytes]) -> None:
    start_again(region, "MOVE", "NEXT")
    moved = sorted(region.peek("CRED"))
    assert moved == sorted(region.peek("DEBT"))
    assert moved == sorted(PAYMENTS) or (not moved and not told)


ACCOUNTS = [triggered("IN", "MOVE"), triggered("IN2", "NEXT"), queue("DEBT"), queue("CRED"), *COMMON]


def test_queues_locked_in_two_orders_are_a_deadlock_in_some_order_of_the_tasks() -> None:
    one, other = transfers("DEBT", "CRED", "IN"), transfers("CRED", "DEBT", "IN2")
    where: dict[str, Any] = {"scenario": two_sources, "check": books_agree_in_the_end, "definitions": ACCOUNTS}
    with pytest.raises(CrashFailure, match="deadlock") as failed:
        crash(one, next_program=other, orders=10, **where)
    with pytest.raises(CrashFailure, match="deadlock"):
        crash(one, next_program=other, order=failed.value.order, **where)
    report = crash(one, next_program=transfers("DEBT", "CRED", "IN2"), orders=10, **where)
    assert 1 < report.orders <= 10
    assert report.tried > report.orders * 10


def last_one_closes(task: Task) -> None:
    """Counts what is moved by looking, and not by what it locks: another task may come between."""
    for record in records(task, str(task.assign("QNAME")).rstrip()):
        first = not task.region.peek("OUT")
        task.writeq_td("OUT", record)
        if first:
            task.writeq_td("OUT", b"HEAD")


def test_a_bug_of_two_tasks_is_found_at_the_normal_end_of_another_order() -> None:
    def one_head(region: Region, _told: list[bytes]) -> None:
        region.run()
        assert region.peek("OUT").count(b"HEAD") <= 1

    where: dict[str, Any] = {"scenario": two_sources, "check": one_head, "definitions": ACCOUNTS}
    crash(last_one_closes, next_program=last_one_closes, **where)
    with pytest.raises(CrashFailure) as failed:
        crash(last_one_closes, next_program=last_one_closes, orders=10, **where)
    assert failed.value.order


def test_orders_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="allowed are 1 or more"):
        crash(right, orders=0)
    with pytest.raises(ValueError, match="allowed are pct"):
        crash(right, order="none")
