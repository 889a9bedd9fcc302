"""The card posting over many regions, from the command line: figures, resumption, killed workers, planted faults."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tdqsim.cli import main
from tdqsim.pipeline.java import JavaMissing
from tdqsim.pipeline.stages import RunRequest, SparkRunner, SpreadRequest, choose, run_job
from tdqsim.pipeline.stages import replay as replay_module
from tdqsim.pipeline.stages.jobs import loaded_job
from tests.pipeline.stages.conftest import CARD_POSTING
from tests.report.conftest import Look, look  # noqa: F401

REAL = {
    "records_in": 300,
    "records_posted": 262,
    "records_rejected": 38,
    "amount_in": "104801.54",
    "amount_posted": "77954.70",
    "amount_rejected": "26846.84",
    "rejected_by_reason": {"102": 38},
}


@pytest.mark.parametrize(
    ("records", "size", "name"),
    [
        (4_999_999, 499_999_999, "local"),
        (5_000_000, 0, "spark"),
        (0, 500_000_000, "spark"),
    ],
)
def test_auto_takes_spark_from_five_million_records_or_500_mb(records: int, size: int, name: str) -> None:
    chosen = choose("auto", records=records, size=size)
    assert chosen.name == name
    assert f"{records:,} records, {size:,} bytes" in chosen.why
    if name == "local":
        assert "Spark pays from 5,000,000 records or 500,000,000 bytes" in chosen.why


def tree(folder: Path) -> dict[str, str]:
    """Every file that replay wrote, by content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "replay").rglob("*.parquet"))
    }


def pipeline_run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> dict[str, Any]:
    assert main(["pipeline", "run", str(CARD_POSTING), "--json", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    found: dict[str, Any] = json.loads(captured.out.splitlines()[-1])
    return found


def test_the_real_files_give_the_known_figures(
    real_data: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    look: Look,  # noqa: F811
) -> None:
    cards = [word for name, path in real_data.items() for word in ("--dd", f"{name}={path}")]
    found = pipeline_run(capsys, *cards, "--output", tmp_path / "run")
    assert {name: found[name] for name in REAL} == REAL
    assert (found["ok"], found["engine"], found["differences"]) == (True, "local", {})
    assert "Spark pays from" in found["engine_why"]
    assert ET.parse(tmp_path / "run" / "junit.xml").getroot().get("failures") == "0"
    page = look(tmp_path / "run" / "report.html")
    assert "104801.54" in page.text
    for head in ("Stages", "Skew of parts", "Memory of all processes", "Depth over time", "Triggers", "Regions"):
        assert head in page.text


def test_an_amount_that_is_no_number_is_told_with_its_record(
    real_data: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(real_data["DALYTRAN"].read_bytes())
    data[13 * 350 + 135] = 0x7C  # in the amount of record 14
    (tmp_path / "damaged").write_bytes(data)
    files = real_data | {"DALYTRAN": tmp_path / "damaged"}
    cards = [word for name, path in files.items() for word in ("--dd", f"{name}={path}")]
    assert main(["pipeline", "run", str(CARD_POSTING), *cards, "--output", str(tmp_path / "run")]) == 2
    assert f"{tmp_path / 'damaged'}: record 14 at offset 4550: AMOUNT is no number" in capsys.readouterr().err


def test_however_it_is_spread_the_figures_are_the_same(tmp_path: Path) -> None:
    figures = []
    for regions, buckets, piece in ((1, 1, 1 << 26), (4, 2, 50_000), (11, 64, 7_000)):
        out = tmp_path / f"{regions}"
        result = run_job(
            RunRequest(CARD_POSTING, out, "local", regions, buckets, records=120, seed=4, piece_bytes=piece)
        )
        assert result.ok, result.details
        assert result.regions <= regions
        figures.append(result.figures)
    assert figures[0] == figures[1] == figures[2]
    assert figures[0]["records_in"] == 120


def test_a_finished_run_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = RunRequest(CARD_POSTING, tmp_path / "run", "local", 2, records=100)
    first = run_job(request)
    monkeypatch.setattr(replay_module, "replay_bucket", None)  # would fail if it were called
    again = run_job(request)
    assert again.figures == first.figures
    assert again.digest == first.digest


@pytest.mark.parametrize(
    "other",
    [{"seed": 1}, {"regions": 3}, {"records": 90}, {"piece_bytes": 7_000}, {"commands": True}],
    ids=str,
)
def test_other_arguments_begin_anew(tmp_path: Path, other: dict[str, int]) -> None:
    request = RunRequest(CARD_POSTING, tmp_path / "run", "local", 2, records=100)
    first = run_job(request)
    if "piece_bytes" in other:  # this matters for a run that was killed before its replay
        shutil.rmtree(tmp_path / "run" / "manifest" / "replay")
    again = run_job(replace(request, **other))  # type: ignore[arg-type]
    fresh = run_job(replace(request, **other, out=tmp_path / "fresh"))  # type: ignore[arg-type]
    assert (again.ok, again.digest, again.figures) == (True, fresh.digest, fresh.figures)
    assert tree(tmp_path / "run") == tree(tmp_path / "fresh")
    assert run_job(request).digest == first.digest


def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    whole = run_job(RunRequest(CARD_POSTING, tmp_path / "whole", "local", 8, records=300))
    command = [
        sys.executable, "-c",
        "import sys; from tdqsim.cli import main; sys.exit(main(sys.argv[1:]))",
        "pipeline", "run", str(CARD_POSTING), "--records", "300", "--regions", "8", "--engine", "local",
        "--output", str(tmp_path / "killed"),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        receipts = tmp_path / "killed" / "manifest" / "replay"
        while process.poll() is None and len(list(receipts.glob("*.json"))) < 2:
            os.sched_yield()
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "replay.manifest.parquet").exists()
    resumed = run_job(RunRequest(CARD_POSTING, tmp_path / "killed", "local", 8, records=300))
    assert resumed.digest == whole.digest
    assert tree(tmp_path / "killed") == tree(tmp_path / "whole")


def test_a_wrong_program_is_found_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "card_posting"
    folder.mkdir()
    for path in CARD_POSTING.glob("card_*.py"):
        (folder / path.name).write_bytes(path.read_bytes())
    for path in CARD_POSTING.glob("*.yaml"):
        (folder / path.name).write_bytes(path.read_bytes())
    with loaded_job(folder) as job:
        files = job.prepare(SpreadRequest(folder, tmp_path, {}, 900, 0, lambda *_: None))
    request = RunRequest(folder, tmp_path / "run", "local", 4, dd={name: files[name] for name in job.inputs})
    assert run_job(request).ok
    rules = folder / "card_rules.py"
    text = rules.read_text()
    rules.write_text(
        text.replace(
            "account.credit_limit < account.cycle",
            "account.credit_limit <= account.cycle - 5000 + account.cycle_debit * 0 +account.cycle",
        )
    )
    assert rules.read_text() != text
    result = run_job(request)
    assert not result.ok
    assert result.checks["amount_in as computed independently"]
    assert not result.checks["every record as expected, in its order"]
    assert result.differences


def test_input_that_is_cut_off_is_refused_by_record_and_offset(
    real_data: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "DALYTRAN.PS"
    cut.write_bytes(real_data["DALYTRAN"].read_bytes()[:-10])
    files = {**real_data, "DALYTRAN": cut}
    cards = [word for name, path in files.items() for word in ("--dd", f"{name}={path}")]
    assert main(["pipeline", "run", str(CARD_POSTING), *cards, "--output", str(tmp_path / "run"), "--json"]) == 2
    assert "record 300 at offset 104650 has only 340" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--engine", "cluster"], "allowed are local, spark and auto"),
        (["--dd", "DALYTRAN"], "must be NAME=FILE"),
        (["--dd", "DALYTRAN=/nowhere"], "/nowhere is not a file"),
    ],
)
def test_arguments_that_cannot_be_used(
    arguments: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "run", str(CARD_POSTING), "--output", str(tmp_path / "run"), *arguments]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("hidden", "arguments", "says"),
    [
        ("pyspark.sql", ["--engine", "spark"], " is not installed; "),
        ("pyspark.sql", ["--records", "5000000"], " is not installed; "),
    ],
)
def test_what_a_run_will_need_is_looked_for_first(
    hidden: str,
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, hidden, None)
    command = ["pipeline", "run", str(CARD_POSTING), "--output", str(tmp_path), *arguments]
    assert main(command) == 2
    assert says in capsys.readouterr().err
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith(".")]


def test_without_a_java_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(*_: object) -> None:
        raise JavaMissing("there is no Java")

    monkeypatch.setattr("tdqsim.pipeline.sessions.find_java", none)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    command = ["pipeline", "run", str(CARD_POSTING), "--output", str(tmp_path), "--engine", "spark"]
    assert main(command) == 2
    assert "there is no Java" in capsys.readouterr().err
    assert not (tmp_path / "input").exists()


def test_the_engine_is_chosen_by_size() -> None:
    assert choose("auto", records=10, size=10).name == "local"
    assert choose("auto", records=10, size=1 << 40).name == "spark"
    assert choose("spark", records=1, size=1).name == "spark"


@pytest.mark.spark
def test_spark_gives_the_same_files_and_survives_a_killed_worker(tmp_path: Path, spark: Any) -> None:
    local = run_job(RunRequest(CARD_POSTING, tmp_path / "local", "local", 4, records=800))
    said: list[str] = []
    killed: list[int] = []

    def kill_a_worker() -> None:
        marks = tmp_path / "spark" / "manifest" / "replay"
        while not killed:
            for path in marks.glob("*.working"):
                try:
                    pid = json.loads(path.read_text())["pid"]
                except (OSError, ValueError):
                    continue
                if pid != os.getpid():
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    return
            time.sleep(0.001)

    killer = threading.Thread(target=kill_a_worker, daemon=True)
    killer.start()
    result = run_job(
        RunRequest(CARD_POSTING, tmp_path / "spark", "spark", 4, records=800), spark=spark, say=said.append
    )
    assert killed
    assert any("a worker died" in text for text in said)
    assert result.ok, result.details
    assert (result.figures, result.digest) == (local.figures, local.digest)
    assert tree(tmp_path / "spark") == tree(tmp_path / "local")
    assert isinstance(SparkRunner(spark).session(), type(spark))
