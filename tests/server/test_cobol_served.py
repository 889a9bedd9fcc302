"""COBOL programs in a served region: they run in the engine's thread, and signals stay those of the process."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.client import Client
from tests.cobol.dap import DebugClient

pytestmark = [
    pytest.mark.cobc,
    pytest.mark.skipif(shutil.which("cobc") is None, reason="GnuCOBOL (cobc) is not installed"),
]

ROOT = Path(__file__).resolve().parents[2]
TDQ = [sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main(sys.argv[1:]))"]
REASONS = ["NO CUSTOMER", "NOTHING ORDERED", "QUANTITY NOT NUMERIC"]


@contextmanager
def served(folder, *words):
    """A server as a process of its own; when it is over it has ended as SIGTERM asks for."""
    ready, log = folder / "ready.json", folder / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [*TDQ, "serve", *words, "--ready-file", str(ready)],
            stdout=subprocess.PIPE, stderr=file, text=True, cwd=folder,
        )  # fmt: skip
    try:
        assert any(line.startswith("Authorization: Bearer ") for line in process.stdout), log.read_text()
        with Client.from_ready_file(ready) as client:
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(300)
        process.stdout.close()
    assert code == 0, log.read_text()
    assert "server_stopped" in log.read_text()
    assert "abnormal termination" not in log.read_text()
    assert not ready.exists()


def example(folder):
    """The example in a folder of its own; nothing is started with it."""
    place = folder / "orders"
    shutil.copytree(ROOT / "examples" / "cobol_orders", place)
    described = place / "region.yaml"
    described.write_text(re.sub(r"^start_transactions:\n(?:  - .*\n)+", "", described.read_text(), flags=re.MULTILINE))
    assert "start_transactions:" not in described.read_text()
    return place


def rejected(orders):
    """The reasons on the queue of rejected orders, as the API shows their text."""
    found = orders.request("GET", "/regions/ORDREGN/queues/ORDR/records", query={"encoding": "text"})
    return [text[40:].rstrip() for text in found["records"]]


def test_the_command_of_the_guide_runs_the_cobol_programs(tmp_path):
    guide = (ROOT / "src/tdqsim/guide/serve.md").read_text("utf-8")
    (line,) = re.findall(r"^      tdq serve (card_posting .*)$", guide, re.MULTILINE)
    with served(tmp_path, *shlex.split(line)) as client:
        orders = client.region("ORDREGN")
        orders.wait("ORDR", 3)
        orders.wait_for_tasks()
        cards = client.region("CARDREGN")
        cards.wait_for_tasks()
        assert {each.about()["applid"]: each.about()["abends"] for each in (orders, cards)} == {
            "ORDREGN": {},
            "CARDREGN": {},
        }
        assert rejected(client) == REASONS
        assert orders.inquire_tdqueue("ORDP")["NUMITEMS"] == 0


def test_a_first_program_long_after_the_start_leaves_the_signals_to_the_process(tmp_path):
    with served(tmp_path, str(example(tmp_path))) as client:
        orders = client.region("ORDREGN")
        assert orders.peek("ORDR") == []
        orders.start("ORDI")
        orders.wait("ORDR", 3)
        orders.wait_for_tasks()
        assert orders.about()["abends"] == {}
        assert rejected(client) == REASONS


FAILS = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. ORDIN.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  X PIC X(4) VALUE 'ZZZZ'.
       01  D REDEFINES X PIC S9(7) COMP-3.
       PROCEDURE DIVISION.
       AGAIN.
           {}
"""


@pytest.mark.parametrize(
    ("statement", "code", "lines"),
    [
        ("ADD 1 TO D.", "ASRA", {9}),
        ("MOVE 1 TO RETURN-CODE.\n           GO TO AGAIN.", "AICA", {9, 10}),
    ],
)
def test_a_program_that_fails_in_the_engines_thread_abends_and_the_server_goes_on(tmp_path, statement, code, lines):
    place = example(tmp_path)
    (place / "cobol" / "ORDIN.cbl").write_text(FAILS.format(statement))
    described = (place / "region.yaml").read_text()
    (place / "region.yaml").write_text(described.replace("cobol:\n", "cobol:\n  runaway: 200\n"))
    with served(tmp_path, str(place)) as client:
        orders = client.region("ORDREGN")
        for count in (1, 2):
            orders.start("ORDI")
            orders.wait_for_tasks()
            assert orders.about()["abends"] == {code: count}
        dumps = orders.dumps()
        assert [(each["code"], each["program"]) for each in dumps] == [(code, "ORDIN")] * 2
        assert all(each["statement"] and each["statement"] in statement for each in dumps)
        assert dumps[0]["file"].endswith("/ORDIN.cbl")
        assert {each["line"] for each in dumps} <= lines
        assert [(each["level"], each["name"], each["value"]) for each in dumps[0]["storage"]][:1] == [
            (1, "X", "'ZZZZ'")
        ]


def test_a_debugger_holds_a_served_region_until_it_lets_go_or_the_server_ends(tmp_path):
    with ThreadPoolExecutor() as pool, served(tmp_path, str(example(tmp_path)), "--debug-port", "0") as client:
        debugger = DebugClient(json.loads((tmp_path / "ready.json").read_text())["ports"]["debug"])
        debugger.attach(functions=["ORDIN", "EXEC CICS WRITEQ TD"])
        orders = client.region("ORDREGN")
        asked = pool.submit(orders.start, "ORDI")
        assert debugger.stopped()[0] == "function breakpoint"
        assert debugger.go()[0] == "function breakpoint"
        asked = pool.submit(orders.about)
        assert not asked.done()
        debugger.request("disconnect")
        assert asked.result(60)["applid"] == "ORDREGN"
        orders.wait("ORDR", 3)
        orders.wait_for_tasks()
        assert rejected(client) == REASONS
        debugger.close()
        again = DebugClient(json.loads((tmp_path / "ready.json").read_text())["ports"]["debug"])
        again.attach(functions=["ORDIN"])
        pool.submit(orders.start, "ORDI")
        again.stopped()
    assert again.event("terminated") == {}
    again.close()
