"""The table of what becomes of records, cell by cell: every event on every kind of queue (behaviour reference 2.1, 12)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim import StartOptions
from tdqsim.cics import Region
from tests.recovery.helpers import NAMES, again, make, queue

BEFORE = [b"one", b"two", b"three"]
KINDS = list(NAMES)

AFTER = {
    # event: what NO, PHYSICAL and LOGICAL queues hold after a unit of work that read twice and wrote once
    "SYNCPOINT": ([b"three", b"new"], [b"three", b"new"], [b"three", b"new"]),
    "SYNCPOINT ROLLBACK": ([b"three", b"new"], [b"three", b"new"], BEFORE),
    "abend": ([b"three", b"new"], [b"three", b"new"], BEFORE),
    "normal shutdown, warm start": ([b"three", b"new"], [b"three", b"new"], BEFORE),
    "failure, emergency restart": ([], [b"two", b"three", b"new"], BEFORE),
    "immediate shutdown": ([], [b"two", b"three", b"new"], BEFORE),
    "TDINTRA=EMPTY, warm": ([], [], []),
    "TDINTRA=EMPTY, emergency": ([], [], []),
    "cold start": ([], [], []),
    "initial start": ([], [], []),
}


def happen(region: Region, task: object, event: str, store: Path) -> Region:
    """Let the event happen to a region with a unit of work in flight; the region there is afterwards."""
    match event:
        case "SYNCPOINT":
            task.syncpoint()
        case "SYNCPOINT ROLLBACK":
            task.syncpoint_rollback()
        case "abend":
            task.end(normal=False)
        case "normal shutdown, warm start":
            region.shutdown()
            return make(store=store)
        case "immediate shutdown":
            region.shutdown(immediate=True)
            return make(store=store)
        case "TDINTRA=EMPTY, warm":
            region.close()
            return make(store=store, start=StartOptions(tdintra="EMPTY"))
        case "TDINTRA=EMPTY, emergency":
            return again(region, store, start=StartOptions(tdintra="EMPTY"))
        case "cold start":
            return again(region, store, start="COLD")
        case "initial start":
            return again(region, store, start="INITIAL")
        case _:
            return again(region, store)
    return region


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("event", AFTER)
def test_what_becomes_of_a_unit_of_work_in_flight(tmp_path, event, kind):
    name = NAMES[kind]
    region = make(store=tmp_path / "store")
    region.seed(name, BEFORE)
    task = region.task()
    assert [task.readq_td(name), task.readq_td(name)] == BEFORE[:2]
    task.writeq_td(name, b"new")
    with happen(region, task, event, tmp_path / "store") as after:
        expected = AFTER[event][KINDS.index(kind)]
        assert after.peek(name) == expected
        assert after.inquire_tdqueue(name, "NUMITEMS").numitems == len(expected)
        assert [after.readq_td(name, nohandle=True) for _ in expected] == expected
        assert after.readq_td(name, nohandle=True) == b""


def test_each_unit_of_work_and_queue_has_its_own_read_to_give_back(tmp_path):
    store = tmp_path / "store"
    region = make(queue("PHY1", "PHYSICAL"), queue("PHY2", "PHYSICAL"), store=store)
    for name in ("PHY1", "PHY2"):
        region.seed(name, BEFORE)
    first, second = region.task(), region.task()
    assert [first.readq_td("PHY1"), second.readq_td("PHY1"), first.readq_td("PHY2")] == [b"one", b"two", b"one"]
    assert region.readq_td("PHY2") == b"two"  # a command that is a task of its own leaves nothing unfinished
    with again(region, store) as after:
        assert after.peek("PHY1") == BEFORE
        assert after.peek("PHY2") == [b"one", b"three"]


def test_a_read_is_not_given_back_twice(tmp_path):
    region = make(store=tmp_path / "store")
    region.seed("PHYQ", BEFORE)
    region.task().readq_td("PHYQ")
    for _ in range(3):
        region = again(region, tmp_path / "store")
        assert region.peek("PHYQ") == BEFORE
    region.close()


def test_a_prepared_unit_of_work_gives_no_physical_read_back(tmp_path):
    """It is in doubt, not in flight: its changes to other than LOGICAL queues are final."""
    region = make(store=tmp_path / "store")
    region.seed("PHYQ", BEFORE)
    task = region.task()
    task.readq_td("PHYQ")
    task.writeq_td("LOGQ", b"new")
    assert region.recovery.branch("XA1", task).prepare()
    with again(region, tmp_path / "store") as after:
        assert after.peek("PHYQ") == BEFORE[1:]
        after.recovery.branch("XA1").back_out()
        assert after.peek("PHYQ") == BEFORE[1:]
        assert after.peek("LOGQ") == []


def test_a_queue_that_is_no_longer_physical_gets_nothing_back(tmp_path):
    region = make(store=tmp_path / "store")
    region.seed("PHYQ", BEFORE)
    region.task().readq_td("PHYQ")
    region.set_tdqueue("PHYQ", enablestatus="DISABLED")
    region.create_tdqueue("PHYQ", "TYPE(INTRA) RECOVSTATUS(NO)")
    with again(region, tmp_path / "store") as after:
        assert after.peek("PHYQ") == []


def test_backout_keeps_the_order_of_everything(tmp_path):
    with make(store=tmp_path / "store") as region:
        region.seed("LOGQ", BEFORE)
        with region.task() as task:
            for round_number in range(3):
                assert [task.readq_td("LOGQ") for _ in range(round_number)] == BEFORE[:round_number]
                task.writeq_td("LOGQ", b"%d" % round_number)
                task.syncpoint_rollback()
            task.deleteq_td("LOGQ")
            task.writeq_td("LOGQ", b"x")
            assert task.readq_td("LOGQ") == b"x"
            task.syncpoint_rollback()
        assert region.peek("LOGQ") == BEFORE
