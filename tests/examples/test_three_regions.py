"""The example of three regions, in one process and in three: an order is in all regions, or in none."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tdqsim import Abend, Region, Task
from tdqsim.cics import Sysplex
from tdqsim.cli import main
from tdqsim.client import Client
from tdqsim.job import importable
from tests import apart
from tests.ports import free_ports

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "three_regions"
PLACES = {"ORDREGN": EXAMPLE, "QUEREGN": EXAMPLE / "queues", "STKREGN": EXAMPLE / "stock"}


@pytest.fixture
def sysplex() -> Iterator[Sysplex]:
    """The three regions, linked by their connections."""
    with Sysplex() as made:
        for place in PLACES.values():
            with importable(place):
                made.add(Region.from_directory(place, dispatcher=made.dispatcher))
        yield made


def send(sysplex: Sysplex, *orders: str) -> None:
    region = sysplex.regions["ORDREGN"]
    for order in orders:
        region.writeq_td("ORDI", region.encode(order))


def texts(sysplex: Sysplex, applid: str, queue: str) -> list[str]:
    region = sysplex.regions[applid]
    return [region.text(record) for record in region.peek(queue)]


def everywhere(sysplex: Sysplex) -> tuple[list[str], list[str], list[str]]:
    """The orders taken, as each of the regions has them."""
    return texts(sysplex, "ORDREGN", "ORDL"), texts(sysplex, "QUEREGN", "SHPQ"), texts(sysplex, "STKREGN", "MOVQ")


def stock(sysplex: Sysplex, article: str) -> str:
    region = sysplex.regions["STKREGN"]
    return region.text(region.readq_ts(f"STOCK.{article}", item=1).data)


def test_the_run_takes_good_orders_and_refuses_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # the second run has the orders of the first in its store
        assert main(["run", "three_regions", "--json", "--store", "store"]) == 0
        printed = capsys.readouterr()
        figures = json.loads(printed.out)
        assert "Traceback" not in printed.err  # of the abends by which orders are refused
        assert figures["taken"] == ["000001 NUT-M8 40", "000002 BOLT-M8 60", "000006 NUT-M8 60"]
        assert figures["refused"] == [
            "000003 WASHER 5: NO SUCH ARTICLE",
            "000004 NUT-M8 70: OUT OF STOCK",
            "000005 BOLT-M8 1: OUT OF STOCK",
        ]
        assert len(figures["checks"]) == 3
        assert figures["ok"]


def test_an_order_that_is_refused_leaves_nothing_in_any_region(sysplex: Sysplex) -> None:
    send(sysplex, "1 NUT-M8 90", "2 NUT-M8 11", "3 NUT-M8 many")
    assert everywhere(sysplex) == (["1 NUT-M8 90"], ["1 NUT-M8 90"], ["1 NUT-M8 -90"])
    assert stock(sysplex, "NUT-M8") == "10"
    assert texts(sysplex, "ORDREGN", "ORDX") == ["2 NUT-M8 11: OUT OF STOCK", "3 NUT-M8 many: NOT AN ORDER"]


def test_the_program_sees_its_changes_before_they_are_committed_and_nobody_else_does(sysplex: Sysplex) -> None:
    seen = []

    def look(task: Task, program: Callable[[Task], None]) -> None:
        program(task)
        seen.append((everywhere(sysplex), task.text(task.readq_ts("STOCK.BOLT-M8", item=1).data)))

    programs = sysplex.regions["STKREGN"].programs
    with importable(PLACES["STKREGN"]):
        from stock_program import reserve
    programs.register("STOCK", lambda task: look(task, reserve))
    send(sysplex, "1 BOLT-M8 20")
    assert seen == [(([], [], []), "40")]
    assert everywhere(sysplex) == (["1 BOLT-M8 20"], ["1 BOLT-M8 20"], ["1 BOLT-M8 -20"])


def test_an_abend_that_nobody_expects_leaves_the_order_where_it_was(sysplex: Sysplex) -> None:
    def fails(task: Task) -> None:
        task.writeq_td("MOVQ", b"moved")
        task.abend("WHAT")

    sysplex.regions["STKREGN"].programs.register("STOCK", fails)
    send(sysplex, "1 NUT-M8 5")
    assert texts(sysplex, "ORDREGN", "ORDI") == ["1 NUT-M8 5"]
    assert texts(sysplex, "ORDREGN", "ORDX") == []
    assert everywhere(sysplex) == ([], [], [])
    again = sysplex.regions["ORDREGN"].start("ORDR")
    sysplex.run()
    with pytest.raises(Abend, match="WHAT"):
        again.result()


@pytest.mark.parametrize("other", ["QUEREGN", "STKREGN"])
@pytest.mark.parametrize(
    ("step", "taken_at_once"),
    [("REQUEST", False), ("REPLY", False), ("PREPARE", False), ("VOTE", False), ("COMMIT", True), ("COMMITTED", True)],
)
def test_an_order_is_taken_once_although_a_link_was_lost(
    sysplex: Sysplex, other: str, step: str, taken_at_once: bool
) -> None:
    link = sysplex.link("ORDREGN", other)
    link.cut_at(step)
    send(sysplex, "1 NUT-M8 40")
    assert texts(sysplex, "ORDREGN", "ORDL") == (["1 NUT-M8 40"] if taken_at_once else [])
    assert texts(sysplex, "ORDREGN", "ORDI") == ([] if taken_at_once else ["1 NUT-M8 40"])
    link.restore()
    send(sysplex, "2 NUT-M8 60")
    sysplex.clock.advance(1)
    sysplex.run()
    assert everywhere(sysplex) == (
        ["1 NUT-M8 40", "2 NUT-M8 60"],
        ["1 NUT-M8 40", "2 NUT-M8 60"],
        ["1 NUT-M8 -40", "2 NUT-M8 -60"],
    )
    assert stock(sysplex, "NUT-M8") == "0"
    assert texts(sysplex, "ORDREGN", "ORDI") == texts(sysplex, "ORDREGN", "ORDX") == []


# -- three processes --------------------------------------------------------------------------------------------------

SERVE = "import sys; from tdqsim.cli import main; sys.exit(main())"
QUEUE = {"orders": "ORDL", "queues": "SHPQ", "stock": "MOVQ"}


class Served:
    """``tdq serve`` of one of the three files."""

    def __init__(self, folder: Path, name: str, **environment: str) -> None:
        words = ("serve", f"serve-{name}.yaml", "--ready-file", f"{name}.json")
        self.process = apart.Process("-c", SERVE, *words, cwd=folder, env={**os.environ, **environment})
        assert any(line.startswith("Serving") for line in self.process.stdout)
        ready = json.loads((folder / f"{name}.json").read_text())
        self.client = Client(ready["url"], ready["token"])
        self.region = self.client.region(ready["regions"][0])
        self.queue = QUEUE[name]

    def texts(self, queue: str = "") -> list[str]:
        return [record.decode("cp037") for record in self.region.peek(queue or self.queue)]

    def end(self, how: int = signal.SIGTERM) -> int:
        self.client.close()
        if self.process.poll() is None:
            os.kill(self.process.pid, how)
        return self.process.end()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example with its keys, and with ports that are free here."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    copy = tmp_path / "orders"
    assert main(["new", str(copy), "--example", "three_regions"]) == 0
    subprocess.run(["sh", "make_keys.sh"], cwd=copy, check=True, capture_output=True)
    for port, free in zip(("8491", "8492"), free_ports(2), strict=True):
        for file in copy.glob("serve-*.yaml"):
            file.write_text(file.read_text().replace(port, str(free)))
    return copy


def eventually(right: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not right():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)  # three processes with real clocks


def test_in_three_processes_no_order_is_lost_or_taken_twice_when_one_of_them_is_killed(folder: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
    served = {name: Served(folder, name) for name in ("queues", "orders")}
    try:
        orders = served["orders"]
        orders.region.writeq_td("ORDI", "1 NUT-M8 40")  # waits on ORDI: the region of the stock is not there yet
        # It votes for the first order, and is killed when the decision arrives.
        served["stock"] = Served(folder, "stock", TDQ_LINK_FAULT="STKREGN:kill:in:4")
        assert served["stock"].process.wait() == -signal.SIGKILL
        served.pop("stock").end()
        eventually(lambda: orders.texts() == ["1 NUT-M8 40"])  # committed: all regions had voted
        orders.region.writeq_td("ORDI", "2 NUT-M8 60")
        served["stock"] = Served(folder, "stock")
        eventually(lambda: len(orders.texts()) == 2)
        assert served["orders"].end(signal.SIGKILL) == -signal.SIGKILL
        orders = served["orders"] = Served(folder, "orders")
        orders.region.writeq_td("ORDI", "3 NUT-M8 1")
        eventually(lambda: orders.texts("ORDX") == ["3 NUT-M8 1: OUT OF STOCK"])
        assert orders.texts() == served["queues"].texts() == ["1 NUT-M8 40", "2 NUT-M8 60"]
        assert served["stock"].texts() == ["1 NUT-M8 -40", "2 NUT-M8 -60"]
        assert orders.texts("ORDI") == []
    finally:
        codes = [each.end() for each in served.values()]
    assert codes == [0, 0, 0]
