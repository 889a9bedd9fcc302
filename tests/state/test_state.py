"""The state interface shows a region as it is, and changes nothing in it."""

from __future__ import annotations

import pytest

from tdqsim import Region, define_tdqueue, define_transaction, state
from tdqsim.cics import Condition

QUEUES = [
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="ALIB"),
    define_tdqueue(name="ALIB", type="INDIRECT", indirectname="LOGQ"),
]


@pytest.fixture
def region():
    with Region(QUEUES, supplied_queues=False) as region:
        yield region


def test_queues_are_those_of_a_type_in_the_order_of_installation(region):
    assert [each.name for each in state.queues(region)] == ["LOGQ", "ALIA", "ALIB"]
    assert [each.name for each in state.queues(region, type="INTRA")] == ["LOGQ"]
    assert [each.name for each in state.queues(region, type="INDIRECT")] == ["ALIA", "ALIB"]
    assert state.queue(region, "ALIA").target == "ALIB"
    assert state.queue(region, "NONE") is None


def test_an_alias_leads_to_its_target(region):
    assert list(state.aliases(region, "ALIA")) == ["ALIA", "ALIB", "LOGQ"]
    assert state.records(region, "ALIA") == []
    with pytest.raises(Condition, match="QIDERR"):
        state.records(region, "NONE")


def test_records_of_a_unit_of_work_are_there_only_with_uncommitted(region):
    region.seed("LOGQ", ["one", "two"])
    with region.task() as task:
        task.readq_td("LOGQ")
        task.writeq_td("LOGQ", region.encode("new"))
        assert state.records(region, "ALIA") == [region.encode("one"), region.encode("two")]
        assert state.records(region, "ALIA", uncommitted=True) == [region.encode("two"), region.encode("new")]
        assert state.records(region, "LOGQ", skip=1, limit=1) == [region.encode("two")]
        (unit,) = state.units(region)
        assert [(work.queue, work.read, work.written) for work in unit.works] == [("LOGQ", 1, 1)]
    assert (state.depth(region, "LOGQ"), state.depth(region, "ALIA")) == (2, None)


def test_inquire_and_set_are_asked_without_a_task(region):
    with region.task() as task:
        before = task.eib.eibtaskn
    assert state.inquire(region, "LOGQ", "NUMITEMS", "RECOVSTATUS").as_dict()["NUMITEMS"] == 0
    state.check_set(region, "LOGQ", {"TRIGGERLEVEL": 5})
    assert region.inquire_tdqueue("LOGQ", "TRIGGERLEVEL").triggerlevel != 5  # asked only
    with pytest.raises(Condition, match="INVREQ"):
        state.check_set(region, "LOGQ", {"TRIGGERLEVEL": -5})
    assert list(state.tasks(region)) == []
    with region.task() as task:
        assert task.eib.eibtaskn == before + 2  # one for the INQUIRE above, none for what was only asked


def test_an_installation_is_foreseen(region):
    changed = define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL", triggerlevel=7)
    new = define_transaction(name="PAYP")
    planned = state.planned_installs(region, [changed, new])
    assert [(each.kind, each.name) for each in planned] == [("TDQUEUE", "LOGQ"), ("TRANSACTION", "PAYP")]
    assert planned[1].change == "new"
    assert [each.name for each in state.definitions(region).resources if each.name == "PAYP"] == []


def test_a_wait_names_its_holder(region):
    def writes(task):
        task.writeq_td("LOGQ", b"x")
        task.delay(interval=10)

    def reads(task):
        task.writeq_td("LOGQ", b"y")

    with region.task() as task:
        task.writeq_td("LOGQ", b"x")
        handle = region.start(reads)
        region.dispatcher.yield_now(always=True)
        (wait,) = state.waits(region)
        assert (wait.kind, wait.resource, wait.end, bool(wait.holder)) == ("END", "LOGQ", "TOQ", True)
    region.run()
    assert handle.result() is None
    assert state.waits(region) == ()
