"""Many requests in one call, and the short way of single ones: the same as one by one on the long way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim.cics import Condition
from tdqsim.cics.region import Region
from tdqsim.definitions import parse_definitions
from tdqsim.facts import Cvda, Resp
from tdqsim.faults import add_hook

FIXED = "recordformat: FIXED, blockformat: BLOCKED, recordsize: 4, blocksize: 8"
TEXT = f"""
group: TEST
tdqueue:
  - {{name: INQ, type: EXTRA, ddname: IN, {FIXED}}}
  - {{name: OUTQ, type: EXTRA, typefile: OUTPUT, ddname: OUT, {FIXED}}}
  - {{name: LOGQ, type: EXTRA, sysoutclass: A, {FIXED}}}
  - {{name: ALIQ, type: INDIRECT, indirectname: OUTQ}}
  - {{name: MEMQ, type: INTRA}}
"""
RECORDS = [f"{number:04}".encode() for number in range(10)]


class Watcher:
    """A hook that only counts: with it every request takes the long way."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def before(self, _task, command, _arguments):
        self.commands.append(command)

    def after(self, *_arguments):
        pass


@pytest.fixture(params=["short", "long"])
def reg(request, tmp_path):
    (tmp_path / "in").write_bytes(b"".join(RECORDS))
    dd = {"IN": tmp_path / "in", "OUT": {"path": str(tmp_path / "out"), "space": "24"}}
    with Region(parse_definitions(TEXT), dd=dd, supplied_queues=False) as region:
        if request.param == "long":
            add_hook(region, Watcher())
        yield region


def counts(region: Region, name: str) -> tuple[int, int]:
    record = region.extract_statistics(name)
    return record["reads"], record["writes"]


def test_all_records_are_read_and_counted(reg):
    with reg.task() as task:
        for number, record in enumerate(task.readq_td_all("INQ"), 1):
            assert record == RECORDS[number - 1]
            assert counts(reg, "INQ") == (number, 0)
            assert (task.eib.eibfn, task.eib.eibrsrce.rstrip(), task.eib.eibresp) == (b"\x08\x04", "INQ", Resp.NORMAL)
        assert task.eib.eibresp is Resp.QZERO
        assert list(task.readq_td_all("INQ")) == []
    assert reg.inquire_tdqueue("INQ", "EMPTYSTATUS").emptystatus is Cvda.EMPTY


def test_reading_stops_and_goes_on_where_it_stopped(reg):
    assert [record for _, record in zip(range(3), reg.readq_td_all("INQ"), strict=False)] == RECORDS[:3]
    assert reg.readq_td("INQ") == RECORDS[3]
    assert list(reg.readq_td_all("INQ")) == RECORDS[4:]
    assert counts(reg, "INQ") == (10, 0)


@pytest.mark.parametrize(
    ("change", "met"), [({"openstatus": "CLOSED"}, Resp.NOTOPEN), ({"enablestatus": "DISABLED"}, Resp.DISABLED)]
)
def test_what_changes_between_two_records_counts_for_the_next(reg, change, met):
    found = reg.readq_td_all("INQ")
    assert next(found) == RECORDS[0]
    reg.set_tdqueue("INQ", **change)
    with pytest.raises(Condition) as raised:
        next(found)
    assert raised.value.resp is met


def test_a_hook_that_comes_in_between_sees_the_rest(reg):
    found = reg.readq_td_all("INQ")
    next(found)
    watcher = Watcher()
    add_hook(reg, watcher)
    assert list(found) == RECORDS[1:]
    assert watcher.commands.count("READQ TD") == 10  # nine records and QZERO


def test_a_damaged_block_is_a_condition_and_the_next_call_goes_on(reg, tmp_path):
    reg.set_tdqueue("INQ", openstatus="CLOSED")
    (tmp_path / "in").write_bytes(b"".join(RECORDS) + b"xy")
    reg.set_tdqueue("INQ", openstatus="OPEN")
    seen: list[bytes] = []
    with pytest.raises(Condition) as raised:
        seen.extend(reg.readq_td_all("INQ"))
    assert raised.value.resp is Resp.IOERR
    assert list(reg.readq_td_all("INQ")) == [b"xy"]  # ERROROPTION(IGNORE): what the block holds


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_all_records_are_written_and_counted(reg, tmp_path, kind):
    assert reg.writeq_td_all("OUTQ", kind(RECORDS[:6])) == 6
    assert counts(reg, "OUTQ") == (0, 6)
    reg.set_tdqueue("OUTQ", openstatus="CLOSED")
    assert (tmp_path / "out").read_bytes() == b"".join(RECORDS[:6])


@pytest.mark.parametrize("kind", [list, iter])
@pytest.mark.parametrize(
    ("records", "met", "written"),
    [
        (RECORDS, Resp.NOSPACE, 6),
        ([*RECORDS[:3], b"12345", *RECORDS], Resp.LENGERR, 3),
        ([*RECORDS[:2], b"", *RECORDS], Resp.LENGERR, 2),
    ],
)
def test_a_record_that_is_refused_ends_it(reg, tmp_path, kind, records, met, written):
    with pytest.raises(Condition) as raised:
        reg.writeq_td_all("OUTQ", kind(records))
    assert raised.value.resp is met
    assert counts(reg, "OUTQ") == (0, written)
    assert (reg.inquire_tdqueue("OUTQ", "EMPTYSTATUS").emptystatus is Cvda.FULL) == (met is Resp.NOSPACE)
    reg.set_tdqueue("OUTQ", openstatus="CLOSED")
    assert (tmp_path / "out").read_bytes() == b"".join(RECORDS[:written])


def test_a_condition_that_is_ignored_costs_its_record_only(reg, tmp_path):
    with reg.task() as task:
        task.ignore_condition("LENGERR")
        assert task.writeq_td_all("OUTQ", [*RECORDS[:2], b"12345", b"1", *RECORDS[2:4]]) == 6
    reg.set_tdqueue("OUTQ", openstatus="CLOSED")
    assert (tmp_path / "out").read_bytes() == b"".join(RECORDS[:4])


@pytest.mark.parametrize("queue", ["MEMQ", "LOGQ", "ALIQ"])
def test_every_kind_of_queue_takes_many(reg, queue):
    assert reg.writeq_td_all(queue, RECORDS[:5]) == 5
    assert counts(reg, queue) == (0, 5)
    if queue == "MEMQ":
        assert list(reg.readq_td_all(queue)) == RECORDS[:5]


def test_a_record_is_bytes(reg):
    with pytest.raises(TypeError):
        reg.writeq_td_all("OUTQ", ["text"])
    with pytest.raises(Condition, match="QIDERR"):
        list(reg.readq_td_all("NOQ"))


def one_by_one(path: Path, *, long: bool) -> list[object]:
    """What a program sees that meets everything a data set can do."""
    seen: list[object] = []

    def meet(command, *arguments, **options):
        try:
            seen.append(command(*arguments, **options))
        except Condition as condition:
            seen.append((condition.name, condition.resp2, condition.detail.replace(str(path), "")))

    path.mkdir()
    (path / "in").write_bytes(b"".join(RECORDS[:3]) + b"xy")
    dd = {"IN": path / "in", "OUT": {"path": str(path / "out"), "space": "12"}}
    with Region(parse_definitions(TEXT), dd=dd, supplied_queues=False) as region:
        if long:
            add_hook(region, Watcher())
        with region.task() as task:
            for _ in range(7):
                meet(task.readq_td, "INQ")
                seen.append((task.eib.eibresp, task.eib.eibrcode, task.eib.eibfn, task.eib.eibrsrce))
            for record in (RECORDS[0], b"", b"1", bytearray(b"bytearray"), *RECORDS[:4]):
                meet(task.writeq_td, "OUTQ", record)
                seen.append((task.eib.eibresp, task.eib.eibrcode, task.eib.eibfn, task.eib.eibrsrce))
            meet(task.writeq_td, "OUTQ", RECORDS[0], nohandle=True)
            meet(task.readq_td, "OUTQ")
            meet(task.writeq_td, "INQ", RECORDS[0])
        for name in ("INQ", "OUTQ"):
            seen += [counts(region, name), region.inquire_tdqueue(name, "EMPTYSTATUS").emptystatus]
    return seen


def test_the_short_way_of_single_requests_is_the_long_way_only_quicker(tmp_path):
    assert one_by_one(tmp_path / "short", long=False) == one_by_one(tmp_path / "long", long=True)


def test_many_requests_outside_let_tasks_that_are_ready_go_first(reg):
    with reg.task() as task:
        for command in (lambda: task.writeq_td_all("OUTQ", RECORDS[:2]), lambda: list(task.readq_td_all("INQ"))):
            ran = []
            reg.start(lambda _task, ran=ran: ran.append(1))
            command()
            assert ran == [1]
