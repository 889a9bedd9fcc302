"""Replay as a plain function: responses, ATI, abends, budgets, and the same bytes whatever the buckets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from tdqsim.errors import DatasetError
from tdqsim.pipeline.stages import (
    TABLES,
    EngineName,
    LocalRunner,
    ReplaySpec,
    exchange,
    parquet_pieces,
    read_table,
    run_replay,
    spread_events,
)
from tests.pipeline.stages.helpers import replayed, spread, write, write_events


def test_every_response_ati_start_and_final_record(tmp_path: Path, region_directory: Path) -> None:
    rows = [write("A", n, "PAYQ", b"%d" % n, time_us=1_000_000 + n) for n in range(1, 6)]
    rows += [
        {"region": "A", "seq": 6, "command": "READQ TD", "queue": "NONE", "resp": "QIDERR"},
        {"region": "A", "seq": 7, "command": "READQ TD", "queue": "KEEP", "resp": "NORMAL", "resp2": 0},
        {"region": "A", "seq": 8, "command": "READQ TD", "queue": "PAYQ", "resp": "QZERO"},
    ]
    run = replayed(tmp_path, region_directory, rows)
    results = read_table(run, "replay", "results").to_pylist()
    assert [row["resp"] for row in results] == ["NORMAL"] * 5 + ["QIDERR", "NORMAL", "NORMAL"]
    assert [row["as_expected"] for row in results] == [None] * 5 + [True, True, False]
    assert results[6]["data"] == b"PAID 1"
    assert [row["depth"] for row in results[:5]] == [1, 2, 0, 1, 2]
    assert results[0]["time_us"] == 1_000_001
    (start,) = read_table(run, "replay", "ati_events").to_pylist()
    assert (start["queue"], start["tran"], start["depth"]) == ("PAYQ", "PAYT", 3)
    kept = read_table(run, "replay", "records").to_pylist()
    assert [(row["queue"], row["data"]) for row in kept] == [
        ("KEEP", b"PAID 2"), ("KEEP", b"PAID 3"), ("PAYQ", b"5"),
    ]  # fmt: skip
    (region,) = read_table(run, "replay", "regions").to_pylist()
    assert (region["events"], region["unexpected"], region["ati_starts"], region["cause"]) == (8, 1, 1, "")


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_files_that_were_edited_since_the_last_run_of_a_session_count(
    request: pytest.FixtureRequest, tmp_path: Path, region_directory: Path, engine: EngineName
) -> None:
    spark = request.getfixturevalue("spark") if engine == "spark" else None
    spread(tmp_path / "run", [write_events(tmp_path / "e.parquet", [write("A", n, "PAYQ", b"%d" % n) for n in (1, 2)])])

    def kept() -> list[tuple[str, bytes]]:
        run_replay(tmp_path / "run", ReplaySpec(directory=region_directory), engine, spark=spark)
        return [(row["queue"], row["data"]) for row in read_table(tmp_path / "run", "replay", "records").to_pylist()]

    assert kept() == [("PAYQ", b"1"), ("PAYQ", b"2")]
    definitions, programs = region_directory / "definitions.yaml", region_directory / "stage_programs.py"
    definitions.write_text(definitions.read_text().replace("triggerlevel: 3", "triggerlevel: 2"))
    assert kept() == [("KEEP", b"PAID 1"), ("KEEP", b"PAID 2")]
    programs.write_text(programs.read_text().replace("PAID", "RETURNED"))
    assert kept() == [("KEEP", b"RETURNED 1"), ("KEEP", b"RETURNED 2")]
    part = region_directory / "parts" / "word.py"
    part.parent.mkdir()
    part.write_text("WORD = b'ONE '")
    text = programs.read_text().replace('b"RETURNED "', "WORD")
    programs.write_text(f"from parts.word import WORD\n{text}")
    assert kept() == [("KEEP", b"ONE 1"), ("KEEP", b"ONE 2")]
    part.write_text("WORD = b'ANOTHER '")
    assert kept() == [("KEEP", b"ANOTHER 1"), ("KEEP", b"ANOTHER 2")]
    shared = tmp_path / "shared.yaml"
    definitions.rename(shared)
    (region_directory / "region.yaml").write_text("definitions: [../shared.yaml]\nhandlers: [stage_programs]\n")
    assert kept() == [("KEEP", b"ANOTHER 1"), ("KEEP", b"ANOTHER 2")]
    shared.write_text(shared.read_text().replace("triggerlevel: 2", "triggerlevel: 3"))
    assert kept() == [("PAYQ", b"1"), ("PAYQ", b"2")]
    made = {each: each.stat().st_mtime_ns for each in (tmp_path / "run" / "replay").rglob("*.parquet")}
    (region_directory / "environment").mkdir()
    (region_directory / "environment" / "pyvenv.cfg").write_text("")
    (region_directory / "environment" / "module.py").write_text("")
    kept()  # nothing is left to do: a virtual environment does not count
    assert made
    assert {each: each.stat().st_mtime_ns for each in made} == made


@pytest.mark.cobc
def test_a_cobol_program_that_was_edited_since_the_last_run_counts(tmp_path: Path) -> None:
    directory, run = tmp_path / "region", tmp_path / "run"
    (directory / "cobol").mkdir(parents=True)
    (directory / "region.yaml").write_text("definitions: [queues.yaml]\ncobol: {sources: [cobol]}\n")
    (directory / "queues.yaml").write_text(
        "group: G\ntdqueue: [{name: WORD, type: INTRA}]\ntransaction: [{name: SAYS, program: SAYS}]\n"
    )
    spread(run, [write_events(tmp_path / "e.parquet", [{"region": "A", "seq": 1, "command": "START", "tran": "SAYS"}])])
    for word in (b"FIRST", b"OTHER"):
        (directory / "cobol" / "SAYS.cbl").write_bytes(
            b"       IDENTIFICATION DIVISION.\n       PROGRAM-ID. SAYS.\n       DATA DIVISION.\n"
            b"       WORKING-STORAGE SECTION.\n       01 W PIC X(5) VALUE '" + word + b"'.\n"
            b"       PROCEDURE DIVISION.\n           EXEC CICS WRITEQ TD QUEUE('WORD') FROM(W) END-EXEC\n"
            b"           EXEC CICS RETURN END-EXEC.\n"
        )
        run_replay(run, ReplaySpec(directory=directory), "local")
        assert read_table(run, "replay", "records").column("data").to_pylist() == [word]


def test_a_task_of_several_events_is_one_unit_of_work(tmp_path: Path, region_directory: Path) -> None:
    rows = [
        write("A", 1, "KEEP", b"one", task=7),
        {"region": "A", "seq": 2, "command": "SYNCPOINT", "task": 7},
        {"region": "A", "seq": 3, "command": "ABEND", "task": 7},
        {"region": "A", "seq": 4, "command": "RETURN", "task": 0},
    ]
    results = read_table(replayed(tmp_path, region_directory, rows), "replay", "results").to_pylist()
    assert [row["resp"] for row in results if row["seq"]] == ["NORMAL", "NORMAL", "NORMAL", "ERROR"]
    assert [row["command"] for row in results if row["seq"] is None] == ["ABEND"]


def test_an_abend_is_a_row_and_other_regions_go_on(tmp_path: Path, region_directory: Path) -> None:
    rows = [write("A", 1, "CRSH", b"x"), write("B", 1, "KEEP", b"x")]
    regions = read_table(replayed(tmp_path, region_directory, rows), "replay", "regions").to_pylist()
    assert [json.loads(row["abends"]) for row in regions] == [{"ASRA": 1}, {}]


@pytest.mark.parametrize(
    ("tran", "spec", "cause"),
    [
        ("LOOT", {"dispatches": 50}, "stopped: more than 50 dispatches and commands"),
        ("BUST", {"dispatches": 5000}, "stopped: more than 5,000 dispatches and commands"),
        ("FILT", {"dispatches": 5000, "stuck_seconds": 0.05}, "stopped: more than 5,000 dispatches and commands"),
        ("DEAF", {"dispatches": 50, "stuck_seconds": 0.05}, "stopped: more than 50 dispatches and commands"),
        ("DUMB", {"stuck_seconds": 0.05}, "stopped: nothing happened for 0.05 s"),
        ("SLEP", {"stuck_seconds": 0.05}, "stopped: nothing happened for 0.05 s"),
        ("SPIT", {"stuck_seconds": 0.05}, "stopped: nothing happened for 0.05 s"),
    ],
)
def test_an_endless_handler_is_a_row_with_its_cause(
    tmp_path: Path, region_directory: Path, tran: str, spec: dict[str, float], cause: str
) -> None:
    rows = [{"region": "A", "seq": n, "command": "START", "tran": tran} for n in (1, 2)]
    rows += [write("B", 1, "KEEP", b"x")]
    regions = read_table(replayed(tmp_path, region_directory, rows, **spec), "replay", "regions").to_pylist()
    assert regions[0]["cause"].startswith(cause)
    assert (regions[1]["cause"], regions[1]["events"]) == ("", 1)


@pytest.mark.parametrize("buckets", [1, 3])
def test_a_handler_that_takes_its_process_along_is_a_row(tmp_path: Path, region_directory: Path, buckets: int) -> None:
    """And the command goes on: that region is tried twice, the others are as they would be without it."""
    rows = [write("A", 1, "KEEP", b"a"), write("B", 1, "KILL", b"x"), write("C", 1, "KEEP", b"c")]
    rows += [write("D", 1, "KILL", b"x")]
    source = write_events(tmp_path / "events.parquet", rows)
    program = "import sys; from tdqsim.cli import main; sys.exit(main())"
    arguments = ["pipeline", "replay", "--run", tmp_path / "run", "--engine", "local", "--json"]
    LocalRunner().execute(spread_events(tmp_path / "run", parquet_pieces([source]), "base", buckets, "exchange"))
    command = [sys.executable, "-c", program, *arguments, "--region", region_directory]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 1
    died = "its worker process died 2 times while it ran"
    assert json.loads(ended.stdout.splitlines()[-1])["causes"] == {"B": died, "D": died}
    regions = read_table(tmp_path / "run", "replay", "regions").to_pylist()
    assert [(row["cause"], row["events"]) for row in regions] == [("", 1), (died, 0), ("", 1), (died, 0)]
    assert not list((tmp_path / "run" / "manifest").rglob("*.working"))


def test_beside_other_threads_the_process_is_not_copied(tmp_path: Path, region_directory: Path) -> None:
    """What they hold nobody would ever let go of in the copy."""
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        run = replayed(tmp_path, region_directory, [write("A", 1, "KEEP", b"a")])
    finally:
        ended.set()
        other.join()
    (receipt,) = (json.loads(path.read_text()) for path in (run / "manifest" / "replay").glob("*.json"))
    assert receipt["details"]["pid"] == os.getpid()


def test_the_same_bytes_whatever_the_buckets(tmp_path: Path, region_directory: Path) -> None:
    rows = [write(f"R{n % 11:02d}", n, "PAYQ", b"%d" % n) for n in range(300)]
    outcomes = set()
    for buckets in (1, 3, 64):
        run = replayed(tmp_path, region_directory, rows, buckets)
        outcomes.add(tuple(str(read_table(run, "replay", name).to_pydict()) for name in TABLES))
    assert len(outcomes) == 1


def test_events_of_a_region_from_several_files_are_merged_by_sequence(tmp_path: Path, region_directory: Path) -> None:
    even = write_events(tmp_path / "even.parquet", [write("A", n, "KEEP", b"%d" % n) for n in range(0, 20, 2)])
    odd = write_events(tmp_path / "odd.parquet", [write("A", n, "KEEP", b"%d" % n) for n in range(1, 20, 2)])
    run = tmp_path / "run"
    LocalRunner().execute(spread_events(run, parquet_pieces([even, odd]), "base", 4, "exchange"))
    run_replay(run, ReplaySpec(directory=region_directory), "local")
    kept = read_table(run, "replay", "records").column("data").to_pylist()
    assert kept == [b"%d" % n for n in range(20)]


def test_two_events_with_one_number_are_refused(tmp_path: Path, region_directory: Path) -> None:
    one = write_events(tmp_path / "one.parquet", [write("A", 1, "KEEP", b"x"), write("A", 5, "KEEP", b"x")])
    two = write_events(tmp_path / "two.parquet", [write("A", 5, "KEEP", b"y")])
    run = tmp_path / "run"
    LocalRunner().execute(spread_events(run, parquet_pieces([one, two]), "base", 4, "exchange"))
    outcome = run_replay(run, ReplaySpec(directory=region_directory), "local")
    assert list(outcome["causes"]) == ["A"]
    assert "region A: two events have the number 5 in column seq; numbers must differ" in outcome["causes"]["A"]


def test_ibm_i_systems_beside_regions(tmp_path: Path, region_directory: Path) -> None:
    queues = tmp_path / "queues.yaml"
    queues.write_text("dtaq:\n  - {dtaq: SHOP/ORDERS, maxlen: 80}\n")
    rows = [
        {"region": "IBMI1", "seq": 1, "command": "QSNDDTAQ", "queue": "SHOP/ORDERS", "data": b"first"},
        {"region": "IBMI1", "seq": 2, "command": "QSNDDTAQ", "queue": "SHOP/ORDERS", "data": b"second"},
        {"region": "IBMI1", "seq": 3, "command": "QRCVDTAQ", "queue": "SHOP/ORDERS"},
        {"region": "IBMI1", "seq": 4, "command": "QRCVDTAQ", "queue": "SHOP/NONE", "resp": "CPF9801"},
        write("CICS1", 1, "KEEP", b"x"),
    ]
    run = replayed(tmp_path, region_directory, rows, definitions=(queues,))
    assert read_table(run, "replay", "regions").column("cause").to_pylist() == ["", ""]
    results = read_table(run, "replay", "results").filter(pa.compute.field("region") == "IBMI1").to_pylist()
    assert [(row["resp"], row["data"], row["depth"]) for row in results] == [
        ("NORMAL", None, 1), ("NORMAL", None, 2), ("NORMAL", b"first", 1), ("CPF9801", None, None),
    ]  # fmt: skip
    assert read_table(run, "replay", "records").column("data").to_pylist() == [b"x", b"second"]
    assert read_table(run, "replay", "regions").column("kind").to_pylist() == ["CICS", "IBMI"]


def test_commands_of_handlers_when_asked_for(tmp_path: Path, region_directory: Path) -> None:
    rows = [write("A", n, "PAYQ", b"%d" % n) for n in range(1, 4)]
    plain = read_table(replayed(tmp_path, region_directory, rows, 1), "replay", "results")
    whole = read_table(replayed(tmp_path, region_directory, rows, 2, commands=True), "replay", "results")
    assert plain.num_rows == 3
    own = [row["command"] for row in whole.to_pylist() if row["seq"] is None]
    assert own.count("READQ TD") == 4
    assert own.count("WRITEQ TD") == 3 + 3


def test_depths_stay_within_bounds(tmp_path: Path, region_directory: Path) -> None:
    rows = [write("A", n, "KEEP", b"x") for n in range(2000)]
    run = replayed(tmp_path, region_directory, rows)
    points = [row for row in read_table(run, "replay", "depth").to_pylist() if row["queue"] == "KEEP"]
    assert 100 < len(points) <= 257
    (final,) = [row for row in read_table(run, "replay", "queue_final").to_pylist() if row["queue"] == "KEEP"]
    assert (final["depth"], final["peak"]) == (2000, 2000)


def test_regions_go_to_buckets_heaviest_first() -> None:
    counts = {"A": 100, "B": 60, "C": 50, "D": 5}
    assert exchange.assign(counts, 2) == {"A": 0, "B": 1, "C": 1, "D": 0}
    assert set(exchange.assign({str(n): 1 for n in range(100)}, 8).values()) == set(range(8))


def test_replay_without_ingest_says_what_to_do(tmp_path: Path, region_directory: Path) -> None:
    with pytest.raises(DatasetError, match="run tdq pipeline ingest"):
        run_replay(tmp_path, ReplaySpec(directory=region_directory), "local")
