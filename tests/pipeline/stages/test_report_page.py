"""The page of a pipeline's run, from tables made here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tdqsim.errors import DatasetError
from tdqsim.pipeline.stages import TABLES, Receipt, manifest, report, tree_memory, write_report
from tdqsim.report.parts import Drawing, Section
from tests.report.conftest import Look, look  # noqa: F401

HOSTILE = "</script><script>alert(1)</script>"


def rows(name: str, *given: dict[str, Any]) -> pa.Table:
    """A table of replay with what is given, and empty values for the rest."""
    empty: dict[Any, Any] = {pa.string(): "", pa.int64(): 0}
    return pa.Table.from_pylist(
        [{each.name: row.get(each.name, empty.get(each.type)) for each in TABLES[name]} for row in given], TABLES[name]
    )


@pytest.fixture
def tables(tmp_path: Path) -> report.Tables:
    for stage, took in {"replay": [4.0, 1.0, 1.0], "split.exchange": [0.5], "reconcile": [0.25]}.items():
        details = {"compared": 50} if stage == "reconcile" else {}
        receipts = [Receipt(stage, at, "", rows=1000, seconds=each, details=details) for at, each in enumerate(took)]
        manifest.write_manifest(tmp_path, stage, receipts)
    differences = [
        {"region": f"CICS{n % 3}", "queue": "POSTED", "kind": "changed", "position": n, "key": None,
         "field": HOSTILE if n % 4 else "AMOUNT", "expected": HOSTILE, "actual": "2"}
        for n in range(100)
    ]  # fmt: skip
    return report.Tables(
        tmp_path,
        rows(
            "regions", {"region": HOSTILE, "kind": "CICS", "abends": "{}", "events": 7}, {"region": "A", "abends": "{}"}
        ),
        rows("queue_final", {"region": "A", "queue": "PAYQ", "kind": "TD", "peak": 9}),
        rows(
            "depth", *({"region": "A", "queue": "PAYQ", "step": n, "time_us": n * 1000, "depth": n} for n in range(10))
        ),
        rows("ati_events", {"region": "A", "depth": 5, "waited_dispatches": 2}),
        pa.Table.from_pylist(differences),
    )


SUMMARY = {
    "ok": False, "checks": {"every record as expected": False, HOSTILE: True}, "details": {}, "engine": "local",
    "engine_why": "few", "regions": 2, "events": 7, "seconds": 8.0, "differences": {"POSTED changed": 4000},
    "stage_seconds": {"ingest": 2.0, "replay": 5.0, "reconcile": 1.0},
    "stage_memory": {"ingest": 100_000_000, "replay": 1_600_000_000, "reconcile": 300_000_000},
}  # fmt: skip


def drawings(tables: report.Tables, summary: dict[str, Any] = SUMMARY) -> dict[str, Drawing]:
    sections = [part for part in report.page_of(summary, tables).parts if isinstance(part, Section)]
    return {part.title: part for section in sections for part in section.parts if isinstance(part, Drawing)}


def test_stages_stand_one_after_the_other_with_their_rates(tables: report.Tables) -> None:
    line = drawings(tables)["Stages, and what they did in a second"]
    (trace,) = line.data
    assert trace["base"] == [0.0, 2.0, 7.0]
    assert trace["x"] == [2.0, 5.0, 1.0]
    assert trace["y"] == ["ingest, 500 rows/s", "replay, 600 rows/s", "reconcile, 50 rows/s"]
    memory = drawings(tables)["Memory of all processes, at most"]
    assert memory.data[0]["y"] == [100.0, 1600.0, 300.0]


def test_stages_that_were_run_one_by_one_have_the_seconds_of_their_parts(tables: report.Tables) -> None:
    summary = {name: value for name, value in SUMMARY.items() if not name.startswith("stage_")}
    (trace,) = drawings(tables, summary)["Stages, and what they did in a second"].data
    assert trace["base"] == [0.0, 0.5, 6.5]
    assert trace["x"] == [0.5, 6.0, 0.25]
    assert trace["y"] == ["ingest, 2,000 rows/s", "replay, 500 rows/s", "reconcile, 200 rows/s"]


def test_skew_is_told(tables: report.Tables, look: Look) -> None:  # noqa: F811
    page = look("".join(report.page_of(SUMMARY, tables).html()))
    assert "Replay had 3 parts; the slowest took 4.00 times as long as the one in the middle." in page.text
    assert drawings(tables)["Seconds of the slowest parts of replay"].data[0]["y"] == [4.0, 1.0, 1.0]


def test_differences_by_field_and_by_region(tables: report.Tables, look: Look) -> None:  # noqa: F811
    found = drawings(tables)
    by_field, by_region = found["By field, of the 100 kept"], found["By region, of the 100 kept"]
    assert sorted(by_field.data[0]["x"]) == [25, 75]
    assert dict(zip(by_region.data[0]["x"], by_region.data[0]["y"], strict=True)) == {
        "CICS0": 34,
        "CICS1": 33,
        "CICS2": 33,
    }
    page = look("".join(report.page_of(SUMMARY, tables).html()))
    assert (
        "50 of 4,000 are shown; 100, the first of each kind of each queue of a region, are in reconcile/diffs."
        in page.text
    )


def test_of_bytes_less_is_shown_than_of_text(tables: report.Tables, look: Look) -> None:  # noqa: F811
    """Whole records in hexadecimal would push what came out off the page."""
    given = [("X'" + "F0" * 64 + "'", "A" * 200), ("...X'" + "C1" * 64 + "'", "B" * 120)]
    diffs = [
        {"region": "A", "queue": "POSTED", "kind": "changed", "position": n, "key": None, "field": "",
         "expected": expected, "actual": actual}
        for n, (expected, actual) in enumerate(given)
    ]  # fmt: skip
    page = look("".join(report.page_of(SUMMARY, replace(tables, diffs=pa.Table.from_pylist(diffs))).html()))
    assert "X'" + "F0" * 19 + "..." + "A" * 120 + "..." in page.text, "two cells of one row"
    assert "...X'" + "C1" * 17 + "C..." + "B" * 120 in page.text
    assert "B" * 120 + "..." not in page.text


def test_names_are_only_text(tables: report.Tables, look: Look) -> None:  # noqa: F811
    page = look("".join(report.page_of(SUMMARY, tables).html()))
    assert page.text.count(HOSTILE) >= 3
    assert not any("alert(1)</" in text for text in page.code)
    assert len(page.code) == 1


def test_the_memory_of_a_tree_is_that_of_its_processes() -> None:
    with tree_memory.TreeMemory().watching() as memory:
        held = bytearray(b"x" * 80_000_000)
        first = memory.take()
    del held
    memory.take()  # what was seen before, by the thread that has ended now
    second = memory.take()
    if not Path("/proc/self/stat").exists():
        assert first == second == 0
        return
    assert first >= 80_000_000
    assert second < first
    assert tree_memory.tree_bytes(1 << 30) == 0


def test_the_memory_of_children_counts() -> None:
    import subprocess
    import sys

    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc")
    memory = tree_memory.TreeMemory()
    before = memory.take()
    code = "held = bytearray(b'x' * 100_000_000); print('there', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"there\n"
        during = memory.take()
        child.communicate(b"\n")
    assert during - before >= 100_000_000


@pytest.mark.parametrize("name", ["run.json", "replay.manifest.parquet", "replay/regions/00000.parquet"])
@pytest.mark.parametrize("damage", [b"junk[", b"\xff\xfe"])
def test_a_damaged_run_is_told_and_keeps_its_report(tmp_path: Path, name: str, damage: bytes) -> None:
    victim = tmp_path / name
    victim.parent.mkdir(parents=True, exist_ok=True)
    victim.write_bytes(damage)
    if name.startswith("replay/"):
        manifest.write_manifest(tmp_path, "replay", [Receipt("replay", 0, "", (name,))])
    (tmp_path / "report.html").write_text("before")
    with pytest.raises(DatasetError):
        write_report(tmp_path)
    assert (tmp_path / "report.html").read_text() == "before"
