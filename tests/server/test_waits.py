"""Waits for records and for the end of tasks: what wakes them, and how many a change looks at."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim import Condition, Region, define_tdqueue
from tdqsim.core.fiber import TimedOut
from tdqsim.errors import TdqError
from tdqsim.server.host import Host

DEFINITIONS = [
    *[define_tdqueue(name=f"Q{n:03d}", type="INTRA") for n in range(500)],
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="Q000"),
]


@pytest.fixture
def host():
    host = Host()
    host.add(Region, DEFINITIONS, applid="PAYREGN")
    yield host
    host.stop()


@pytest.fixture
def region(host):
    return host.regions["PAYREGN"]


@pytest.fixture
def looks(monkeypatch):
    """The queues that were looked at, one entry a look."""
    found = []
    inquire = Region.inquire_tdqueue

    def counted(self, name, *options):
        found.append(name)
        return inquire(self, name, *options)

    monkeypatch.setattr(Region, "inquire_tdqueue", counted)
    return found


def do(host, call):
    return host.engine.submit(call).result(timeout=600)


def settle(host):
    """Every fiber has had its turn."""
    for _ in range(3):
        do(host, lambda: None)


def test_a_change_looks_only_at_those_who_wait_for_it(looks):
    """The dispatcher itself asks everybody again after as many turns as there are waiters: a look a turn, no more."""
    host = Host(frozen=True)
    region = host.add(Region, DEFINITIONS, applid="PAYREGN")
    try:
        waiting = [host.waits.for_items(region, f"Q{n:03d}", 1, 300) for n in range(1, 500)]
        settle(host)
        looks.clear()
        for _ in range(100):
            do(host, lambda: region.writeq_td("Q000", b"one"))
        assert len(looks) <= 1000  # it was 499 a request
        do(host, lambda: region.writeq_td("Q007", b"one"))
        assert waiting[6].result(timeout=600) is True
        assert sum(each.done() for each in waiting) == 1
        assert len(host.waits) == 498
    finally:
        host.stop(0)


@pytest.mark.parametrize(
    "change",
    [
        lambda region: region.writeq_td("Q000", b"one"),
        lambda region: region.writeq_td("ALIA", b"one"),
        lambda region: region.seed("Q000", [b"one"]),
        lambda region: region.start(lambda task: task.writeq_td("Q000", b"one")),
    ],
    ids=["WRITEQ", "by another name", "seed", "task"],
)
def test_whatever_puts_a_record_there_ends_the_wait(host, region, change):
    waiting = host.waits.for_items(region, "Q000", 1, 300)
    settle(host)
    do(host, lambda: change(region) and None)
    assert waiting.result(timeout=600) is True
    assert len(host.waits) == 0


def test_records_of_a_unit_of_work_are_waited_for(host, region):
    waiting = host.waits.for_items(region, "LOGQ", 2, 300)

    def writes(task):
        task.writeq_td("LOGQ", b"one")
        task.writeq_td("LOGQ", b"two")
        task.syncpoint()

    do(host, lambda: region.start(writes))
    assert waiting.result(timeout=600) is True
    assert do(host, lambda: region.peek("LOGQ")) == [b"one", b"two"]


def test_the_end_of_tasks_is_waited_for(host, region):
    waiting = []

    def stays(task):
        waiting.append(host.waits.for_tasks(region, 300))
        task.delay(seconds=0)

    do(host, lambda: region.start(stays))
    assert waiting[0].result(timeout=600) is True


def test_the_end_of_a_clients_unit_of_work_is_the_end_of_a_task(host, region):
    unit = host.units.begin(region, "ALICE", None, transid="TAPI").result(timeout=600)
    waiting = host.waits.for_tasks(region, 300)
    settle(host)
    assert not waiting.done()
    host.units.do(unit, "ALICE", lambda task: task.syncpoint(), last=True)
    assert waiting.result(timeout=600) is True


def test_a_queue_that_is_discarded_ends_the_wait(host, region):
    waiting = host.waits.for_items(region, "Q003", 1, 300)
    settle(host)

    def discard():
        with region.task() as task:
            task.set_tdqueue("Q003", enablestatus="DISABLED")
            task.discard_tdqueue("Q003")

    do(host, discard)
    with pytest.raises(Condition, match="QIDERR"):
        waiting.result(timeout=600)


def test_what_can_never_be_met_is_said_at_once(host, region):
    with pytest.raises(TdqError, match="intrapartition"):
        host.waits.for_items(region, "ALIA", 1, 300).result(timeout=600)
    with pytest.raises(Condition, match="QIDERR"):
        host.waits.for_items(region, "NONE", 1, 300).result(timeout=600)


def test_a_wait_is_over_in_its_time_and_leaves_nothing(host, region):
    with pytest.raises(TimedOut):
        host.waits.for_items(region, "Q000", 1, 0.01).result(timeout=600)
    given_up = host.waits.for_items(region, "Q000", 1, 300)
    given_up.cancel()
    settle(host)
    assert len(host.waits) == 0


def test_at_most_so_many_records_are_waited_for(host, region):
    do(host, lambda: region.seed("Q000", [b"one", b"two", b"three"]))
    waiting = host.waits.for_items(region, "Q000", 1, 300, at_most=2)
    settle(host)
    for still_waits in (True, False):
        assert waiting.done() is not still_waits
        do(host, lambda: region.readq_td("Q000"))
        settle(host)
    assert waiting.result(timeout=600) is True


def test_the_end_of_one_task_is_waited_for(host, region):
    first, other = (host.units.begin(region, "ALICE").result(timeout=600) for _ in range(2))
    numbers = do(host, lambda: sorted(region.tasks))
    waiting = host.waits.for_tasks(region, 300, task=numbers[0])
    settle(host)
    assert not waiting.done()
    host.units.do(first, "ALICE", lambda task: task.syncpoint(), last=True)
    assert waiting.result(timeout=600) is True
    assert do(host, lambda: sorted(region.tasks)) == numbers[1:]
    host.units.do(other, "ALICE", lambda task: task.syncpoint(), last=True)


def _meets_qzero(region):
    with pytest.raises(Condition, match="QZERO"):
        region.readq_td("Q000")


def test_a_condition_is_waited_for_from_now_on_or_from_a_place_in_the_history(host, region):
    do(host, lambda: _meets_qzero(region))
    before = host.recent["PAYREGN"][-1]["position"]
    assert host.wait_for_condition(region, "QZERO", 300, 0).result(timeout=600) is True
    waiting = [host.wait_for_condition(region, "QZERO", 300, each) for each in (None, before + 1)]
    waiting.append(host.wait_for_condition(region, "IOERR", 300, 0))
    do(host, lambda: region.writeq_td("Q001", b"one"))
    settle(host)
    assert [each.done() for each in waiting] == [False] * 3
    do(host, lambda: _meets_qzero(region))
    assert [each.result(timeout=600) for each in waiting[:2]] == [True, True]
    settle(host)
    assert (waiting[2].done(), len(host.waits)) == (False, 1)
    waiting[2].cancel()
