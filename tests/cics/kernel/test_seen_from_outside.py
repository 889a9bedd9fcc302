"""A read-only region on the store of a region that runs or was killed: what it cannot know, it does not state."""

from __future__ import annotations

import runpy

import pytest

from tdqsim import Cvda, Region, define_tdqueue
from tdqsim.errors import UsageError
from tests.rules import expect_rule

_QUEUES = [
    define_tdqueue(name="NONQ", type="INTRA"),
    define_tdqueue(name="RECQ", type="INTRA", recovstatus="PHYSICAL"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="NONQ"),
]


@pytest.fixture
def store(tmp_path):
    """A store of a region that has not been closed; each queue has three records."""
    region = Region(_QUEUES, store=tmp_path / "store", supplied_queues=False)
    for queue in ("NONQ", "RECQ"):
        region.writeq_td_all(queue, [b"a", b"b", b"c"])
    region.close(clean=False)
    return tmp_path / "store"


@pytest.mark.rule("INQ-NUMITEMS-FROM-OUTSIDE")
def test_inquire_numitems_is_the_null_value_where_it_is_not_known(store):
    with Region(store=store, readonly=True) as region:
        assert expect_rule("INQ-NUMITEMS-FROM-OUTSIDE", region.inquire_tdqueue, "NONQ", "NUMITEMS").numitems == -1
        assert region.inquire_tdqueue("RECQ", "NUMITEMS").numitems == 3
        browsed = {info.tdqueue: info.numitems for info in region.browse_tdqueue("NUMITEMS")}
        assert browsed == {"NONQ": -1, "RECQ": 3, "ALIA": -1}


@pytest.mark.parametrize("name", ["NONQ", "ALIA"])
def test_peek_refuses_records_that_are_not_known(store, name):
    with Region(store=store, readonly=True) as region:
        with pytest.raises(UsageError, match="the records of queue NONQ are not known from outside"):
            region.peek(name)
        assert region.peek("RECQ") == [b"a", b"b", b"c"]


def test_a_snapshot_has_no_number_that_is_not_known(store):
    with Region(store=store, readonly=True) as region:
        seen = region.snapshot()
        assert (seen["NONQ"].numitems, seen["NONQ"].records, seen["NONQ"].enablestatus) == (-1, (), Cvda.ENABLED)
        assert (seen["RECQ"].numitems, seen["RECQ"].records) == (3, (b"a", b"b", b"c"))
        assert {row["name"]: row["items"] for row in region.statistics.now().as_dict()["queues"]}["NONQ"] == -1


def test_after_a_normal_end_the_records_are_known(store):
    with Region(store=store) as region:
        region.writeq_td("NONQ", b"d")
    with Region(store=store, readonly=True) as region:
        assert (region.inquire_tdqueue("NONQ").numitems, region.peek("NONQ")) == (1, [b"d"])


def test_the_browse_script_shows_a_question_mark(store, tmp_path, capsys):
    (tmp_path / "region.yaml").write_text("supplied_queues: NO\n")
    main = runpy.run_path("examples/browse_queues.py")["main"]
    assert main([str(tmp_path), str(store), "--copy-to", str(tmp_path / "copies")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["NONQ  INTRA     ENABLED    ? records", "RECQ  INTRA     ENABLED    3 records"]
    assert not (tmp_path / "copies" / "NONQ").exists()
