"""The example of COBOL orders: the tests that a shop would write of it, failure and restart included."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tdqsim import Abend, Region
from tdqsim.cobol.case_run import run_cases

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cobol_orders"

pytestmark = pytest.mark.cobc


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
        assert orders.statistics.abends == {"AEIS": orders.statistics.abends["AEIS"]}
        assert [record[:6] for record in orders.peek("ORDP")] == [b"000001", b"000004", b"000006"]


def test_orders_that_were_committed_are_posted_after_a_restart(tmp_path):
    store = tmp_path / "store"
    with region(tmp_path, store=store) as orders:
        orders.set_tdqueue("ORDO", openstatus="CLOSED")
        orders.start("ORDI")
        orders.run()
    with region(tmp_path, store=store, start="AUTO") as again:
        assert again.recovery.start_type == "WARM"
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


KILLED_AT_A_COMMAND = """
import os, signal, sys
from tdqsim import Region
from tdqsim.faults import add_hook

class Killer:
    def __init__(self, command, times):
        self.command, self.times = command, times

    def before(self, task, command, arguments):
        if task.transid == "ORDP" and command == self.command:
            self.times -= 1
            if not self.times:
                os.kill(os.getpid(), signal.SIGKILL)

    def after(self, task, command, arguments, outcome):
        pass

example, folder, command, times = sys.argv[1:]
output = {"path": folder + "/postings.dat", "recfm": "F", "lrecl": "26", "disp": "MOD"}
region = Region.from_directory(example, dd={"POSTINGS": output}, store=folder + "/store")
add_hook(region, Killer(command, int(times)))
region.start("ORDI")
region.run()
"""


@pytest.mark.parametrize(
    ("command", "times"), [("READQ TD", 1), ("WRITEQ TD", 1), ("SYNCPOINT", 1), ("READQ TD", 2), ("SYNCPOINT", 2)]
)
def test_no_order_is_lost_when_the_region_is_killed_while_it_posts(tmp_path, command, times):
    arguments = [sys.executable, "-c", KILLED_AT_A_COMMAND, EXAMPLE, tmp_path, command, str(times)]
    killed = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = posted(tmp_path)
    with region(tmp_path, store=tmp_path / "store", start="AUTO") as again:
        assert again.recovery.start_type == "EMERGENCY"
        left = [record[:6] for record in again.peek("ORDP")]
        assert left, "the order at hand is back on its queue"
        again.run()
        again.start("ORDP")
        again.run()
        assert again.peek("ORDP") == []
    # ORDO is extrapartition and nothing undoes a posting, so that the order at hand may be there twice, and no other
    numbers = [record[:6] for record in posted(tmp_path)]
    assert numbers[len(before) :] == left
    assert set(left[1:]).isdisjoint(record[:6] for record in before)


def test_the_cases_of_the_example_pass():
    assert {each.name: str(each) for each in run_cases(EXAMPLE / "orders.case.yaml")} == {
        "the orders of the day are validated and posted": "",
        "an order without customer is rejected": "",
        "an order that cannot be posted stays on its queue": "",
    }
