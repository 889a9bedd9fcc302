"""A worker process that is killed, in every stage: what is left is done again, and the outcome is as if it had not been."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")

from tdqsim.pipeline.data_sets import stage_data_set
from tdqsim.pipeline.stages import (
    IngestRequest,
    ReplaySpec,
    SparkRunner,
    TaskStep,
    manifest,
    run_ingest,
    run_reconcile,
    run_replay,
)
from tests.pipeline.stages.helpers import write_events

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

FUNCTIONS = {
    "ingest": "ingest.ingest_file",
    "count.exchange": "exchange.count_piece",
    "split.exchange": "exchange.split_piece",
    "replay": "replay.replay_bucket",
    "reconcile": "reconcile.reconcile_bucket",
}


class Killed:
    """A stage's function whose worker process is killed at its first task, once."""

    def __init__(self, function: Callable[[Any], Any], sign: Path) -> None:
        self.function = function
        self.sign = sign

    def __call__(self, task: Any) -> Any:
        if task.bucket == 0 and not self.sign.exists():
            self.sign.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.function(task)


def run(folder: Path, directory: Path, **engine: Any) -> dict[str, Any]:
    """All stages over a few events; what came out."""
    found = run_ingest(
        IngestRequest(folder, (str(directory / "events.jsonl"),), engine=engine["name"]), **engine["more"]
    )
    spec = ReplaySpec(directory=directory)
    replayed = run_replay(folder, spec, engine["name"], **engine["more"])
    compared = run_reconcile(folder, [directory / "expected.parquet"], {}, engine["name"], **engine["more"])
    kept = ("events", "regions", "digest", "ok", "compared", "differences")
    return {name: each[name] for each in (found, replayed, compared) for name in kept if name in each}


def test_a_worker_killed_in_every_stage(
    tmp_path: Path, region_directory: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"command": "WRITEQ TD", "queue": "KEEP"}
    lines = [json.dumps({**event, "region": f"R{n % 2}", "seq": n, "data": f"D{n}"}) for n in range(20)]
    (region_directory / "events.jsonl").write_text("\n".join(lines))
    expected = [
        {"region": f"R{n % 2}", "seq": n, "command": "EXPECT", "queue": "KEEP", "data": f"D{n}".encode("cp037")}
        for n in range(20)
    ]
    write_events(region_directory / "expected.parquet", expected)
    alone = run(tmp_path / "alone", region_directory, name="local", more={})
    assert (alone["ok"], alone["compared"]) == (True, 20)
    for stage, name in FUNCTIONS.items():
        where = f"tdqsim.pipeline.stages.{name}"
        module, _, attribute = where.rpartition(".")
        function = getattr(__import__(module, fromlist=[attribute]), attribute)
        monkeypatch.setattr(where, Killed(function, tmp_path / f"{stage}.killed"))
    said: list[str] = []
    outcome = run(tmp_path / "killed", region_directory, name="spark", more={"spark": spark, "say": said.append})
    assert outcome == alone
    assert {text for text in said if "worker died" in text} == {
        f"{stage}: a worker died; the rest is tried again" for stage in FUNCTIONS
    }
    assert {path.name for path in tmp_path.glob("*.killed")} == {f"{stage}.killed" for stage in FUNCTIONS}


def test_a_worker_killed_while_a_data_set_is_decoded(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tdqsim.pipeline import data_sets

    (tmp_path / "data").write_bytes("".join(f"{n:05d}" for n in range(1000)).encode("cp037"))
    monkeypatch.setattr(data_sets, "decode_part", Killed(data_sets.decode_part, tmp_path / "killed"))
    said: list[str] = []
    options = {"copybook_contents": "01 R. 05 ID PIC 9(5).", "record_format": "F", "input_split_records": 100}
    found = stage_data_set(tmp_path / "data", tmp_path / "stage", engine=SparkRunner(spark, say=said.append), **options)
    assert (tmp_path / "killed").exists()
    assert said == ["decode: a worker died; the rest is tried again"]
    ids = [
        row["ID"] for number in range(len(found.files)) for batch in found.batches(number) for row in batch.to_pylist()
    ]
    assert ids == list(range(1000))


def test_an_interrupted_stage_begins_no_more_tasks(tmp_path: Path, spark: Any) -> None:
    tasks = [manifest.StageTask(tmp_path, bucket, "inputs", 1) for bucket in range(8)]
    gate, here = tmp_path / "gate", os.getpid()

    def work(task: manifest.StageTask) -> manifest.Receipt:
        (tmp_path / f"{task.bucket}.ran").touch()
        if task.bucket == 0:
            os.kill(here, signal.SIGINT)
        else:
            with gate.open() as file:
                fcntl.flock(file, fcntl.LOCK_SH)
        return manifest.publish(task, "stage", [], 0, 0.0)

    with gate.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(KeyboardInterrupt):
            SparkRunner(spark).run(TaskStep("stage", tmp_path, tasks, work))
    # The interrupt ended the connection to Java; the thread of the next one has no active session, which others need.
    spark._jvm.SparkSession.setActiveSession(spark._jsparkSession)
    # A task of another stage begins after all that are left of the first one.
    SparkRunner(spark).run(
        TaskStep("other", tmp_path, tasks[:1], lambda task: manifest.publish(task, "other", [], 0, 0.0))
    )
    assert not (tmp_path / "7.ran").exists()
