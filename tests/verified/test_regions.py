"""What a region answers. These bodies run against a real one too: see the chapter on verified tests.

Each begins by emptying what it uses, and asserts what a region is documented to do.
"""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.verified, pytest.mark.tdq_definitions("queues.yaml")]
QUEUES = ("TVNO", "TVPH", "TVLO")


@pytest.fixture
def target(tdq_target):
    for queue in QUEUES:
        tdq_target.deleteq_td(queue)
    return tdq_target


@pytest.mark.parametrize("queue", QUEUES)
def test_records_come_in_order_once(target, queue: str) -> None:
    for record in (b"one", b"two"):
        assert target.writeq_td(queue, record).resp == "NORMAL"
    assert [target.readq_td(queue).data for _ in range(2)] == [b"one", b"two"]
    assert target.readq_td(queue).resp == "QZERO"


def test_an_indirect_queue_is_the_other_one(target) -> None:
    target.writeq_td("TVIN", b"one")
    assert target.readq_td("TVNO").data == b"one"


def test_a_short_area_gets_what_fits_and_the_rest_is_gone(target) -> None:
    target.writeq_td("TVNO", b"abcdef")
    cut = target.readq_td("TVNO", length=3)
    assert cut.resp == "LENGERR"
    assert target.readq_td("TVNO").resp == "QZERO"


def test_a_queue_that_is_not_defined(target) -> None:
    assert target.writeq_td("TVXX", b"x").resp == "QIDERR"
    assert target.readq_td("TVXX").resp == "QIDERR"
    assert target.deleteq_td("TVXX").resp == "QIDERR"


def test_rollback_undoes_reads_and_writes_of_a_logical_queue(target) -> None:
    target.writeq_td("TVLO", b"kept")
    target.begin(1)
    assert target.readq_td("TVLO", task=1).data == b"kept"
    target.writeq_td("TVLO", b"gone", task=1)
    target.rollback(task=1)
    target.end(1)
    assert target.readq_td("TVLO").data == b"kept"
    assert target.readq_td("TVLO").resp == "QZERO"


@pytest.mark.parametrize("queue", ["TVNO", "TVPH"])
def test_rollback_leaves_other_queues_as_they_are(target, queue: str) -> None:
    target.begin(1)
    target.writeq_td(queue, b"stays", task=1)
    target.rollback(task=1)
    target.end(1)
    assert target.readq_td(queue).data == b"stays"


def test_a_reader_that_may_not_wait_gets_qbusy(target) -> None:
    target.begin(1)
    target.writeq_td("TVLO", b"x", task=1)
    busy = target.readq_td("TVLO", nosuspend=True)
    target.end(1)
    assert busy.resp == "QBUSY"
    assert target.readq_td("TVLO").data == b"x"


def test_inquire_counts(target) -> None:
    for number in range(3):
        target.writeq_td("TVNO", b"%d" % number)
    assert target.inquire_tdqueue("TVNO", "NUMITEMS", "TYPE").values == {"NUMITEMS": 3, "TYPE": "INTRA"}
    target.deleteq_td("TVNO")
    assert target.inquire_tdqueue("TVNO", "NUMITEMS").values == {"NUMITEMS": 0}
