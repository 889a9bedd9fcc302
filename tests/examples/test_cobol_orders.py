"""The example of COBOL orders: the tests that a shop would write of it, failure and restart included."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tdqsim import Abend, Region

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cobol_orders"

pytestmark = [
    pytest.mark.cobc,
    pytest.mark.skipif(shutil.which("cobc") is None, reason="GnuCOBOL (cobc) is not installed"),
]


def region(tmp_path: Path, **options: object) -> Region:
    output = {"path": str(tmp_path / "postings.dat"), "recfm": "F", "lrecl": "26", "disp": "MOD"}
    return Region.from_directory(EXAMPLE, dd={"POSTINGS": output}, **options)


def posted(tmp_path: Path) -> list[bytes]:
    data = (tmp_path / "postings.dat").read_bytes()
    return [data[at : at + 26] for at in range(0, len(data), 26)]


def test_good_orders_are_posted_and_bad_ones_rejected_with_the_reason(tmp_path):
    with region(tmp_path) as orders:
        orders.start("ORDI")
        orders.run()
        assert [record[40:].rstrip() for record in orders.peek("ORDR")] == [
            b"NO CUSTOMER",
            b"NOTHING ORDERED",
            b"QUANTITY NOT NUMERIC",
        ]
        assert orders.peek("ORDP") == []
    assert posted(tmp_path) == [
        b"000001ACME    000001250.00",
        b"000004ACME    000004312.50",
        b"000006ZENITH  000000119.88",
    ]


def test_a_posting_that_cannot_be_written_leaves_the_order_on_its_queue(tmp_path):
    with region(tmp_path) as orders:
        orders.set_tdqueue("ORDO", openstatus="CLOSED")
        orders.start("ORDI")
        orders.run()
        assert orders.abends == {"AEIS": orders.abends["AEIS"]}
        assert [record[:6] for record in orders.peek("ORDP")] == [b"000001", b"000004", b"000006"]


def test_orders_that_were_committed_are_posted_after_a_restart(tmp_path):
    store = tmp_path / "store"
    with region(tmp_path, store=store) as orders:
        orders.set_tdqueue("ORDO", openstatus="CLOSED")
        orders.start("ORDI")
        orders.run()
    with region(tmp_path, store=store, start="AUTO") as again:
        assert again.start_type == "WARM"
        posting = again.start("ORDP")
        again.run()
        posting.result()
        assert again.peek("ORDP") == []
    assert len(posted(tmp_path)) == 3


def test_a_program_without_its_queue_abends_and_names_the_condition(tmp_path):
    with region(tmp_path) as orders:
        orders.set_tdqueue("ORDI", openstatus="CLOSED")
        reading = orders.start("ORDI")
        orders.run()
        with pytest.raises(Abend) as caught:
            reading.result()
        assert caught.value.code == "OIN1"
