"""Tasks that are retried or run twice, runs that are killed, disks that are full: what is finished stays, and is right."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdqsim.cli import main
from tdqsim.errors import DatasetError, DefinitionError
from tdqsim.pipeline.publishing import published, stamp
from tdqsim.pipeline.stages import (
    LocalRunner,
    Receipt,
    ReplaySpec,
    SparkRunner,
    TaskStep,
    isolation,
    manifest,
    read_table,
    run_replay,
    table_files,
)
from tests.pipeline.stages.helpers import replayed, spread, write, write_events

REPLAY = (
    "import sys; from pathlib import Path; from tdqsim.pipeline.stages.replay import ReplaySpec;"
    "from tdqsim.pipeline.stages.commands import run_replay;"
    "run_replay(Path(sys.argv[1]), ReplaySpec(directory=Path(sys.argv[2])), 'local')"
)


def tree(run: Path) -> dict[str, str]:
    return {
        str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((run / "replay").rglob("*.parquet"))
    }


# the same bytes ---------------------------------------------------------------------------------------------------------

event = st.fixed_dictionaries(
    {
        "region": st.sampled_from(["A", "B", "C"]),
        "command": st.sampled_from(
            ["WRITEQ TD", "WRITEQ TD", "READQ TD", "DELETEQ TD", "SYNCPOINT", "RETURN", "WRONG"]
        ),
        "queue": st.sampled_from(["KEEP", "PAYQ", "CRSH", "NONE"]),
        "data": st.none() | st.binary(max_size=6),
        "task": st.sampled_from([None, None, 0, 1, 2]),
        "time_us": st.none() | st.integers(10**12, 10**12 + 100),
        "resp": st.sampled_from([None, "NORMAL", "QZERO"]),
    }
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(event, min_size=1, max_size=40), st.integers(1, 5), st.integers(1, 3))
def test_nothing_is_seen_of_buckets_pieces_and_batches(
    tmp_path: Path, region_directory: Path, rows: list[dict[str, Any]], buckets: int, group: int
) -> None:
    numbered = [{**row, "seq": number} for number, row in enumerate(rows)]
    outcomes = []
    for many, size in ((1, 1000), (buckets, group)):
        run = replayed(tmp_path, region_directory, numbered, many, size)
        found = read_table(run, "replay", "regions").to_pylist()
        outcomes.append(
            [(row["region"], row["digest"], row["events"], row["unexpected"], row["cause"]) for row in found]
        )
        shutil.rmtree(run)
    assert outcomes[0] == outcomes[1]
    assert sum(row[2] for row in outcomes[0]) == len(rows)


def test_a_seed_permutes_tasks_and_each_gives_the_same_again(tmp_path: Path, region_directory: Path) -> None:
    rows = [{"region": "A", "seq": n, "command": "START", "tran": "COPY"} for n in range(8)]
    found = {}
    for seed in (0, 1, 1):
        run = replayed(tmp_path, region_directory, rows, seed=seed, commands=True)
        digest = read_table(run, "replay", "regions").to_pylist()[0]["digest"]
        assert found.setdefault(seed, digest) == digest
        shutil.rmtree(run)


# twice, and again -------------------------------------------------------------------------------------------------------


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    rows = [write(f"R{n % 9}", n, "PAYQ", b"%d" % n) for n in range(450)]
    spread(tmp_path / "run", [write_events(tmp_path / "events.parquet", rows)], 3)
    return tmp_path / "run"


def test_a_bucket_that_is_done_twice_at_once_is_right(tmp_path: Path, ready: Path, region_directory: Path) -> None:
    alone = tmp_path / "alone"
    shutil.copytree(ready, alone)
    run_replay(alone, ReplaySpec(directory=region_directory), "local")
    command = [sys.executable, "-c", REPLAY, str(ready), str(region_directory)]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert tree(ready) == tree(alone)
    assert not list((ready / "manifest/replay").glob("*.working"))


def test_fewer_buckets_leave_nothing_of_more(tmp_path: Path, region_directory: Path) -> None:
    source = write_events(tmp_path / "e.parquet", [write(f"R{n}", n, "KEEP", b"x") for n in range(12)])
    for buckets in (12, 2):
        spread(tmp_path / "run", [source], buckets)
        outcome = run_replay(tmp_path / "run", ReplaySpec(directory=region_directory), "local")
        assert (outcome["regions"], outcome["events"]) == (12, 12)
    assert len(table_files(tmp_path / "run", "replay", "results")) == 2


def test_a_receipt_does_not_outlive_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with other arguments is killed between a file and its receipt; then the first arguments come again.

    The sizes are equal, and the place tells no versions of files, as some object stores do not.
    """
    monkeypatch.setattr(manifest, "state", lambda path: (path.stat().st_size, ""))

    def work(inputs: str) -> manifest.StageTask:
        return manifest.StageTask(tmp_path, 0, inputs, 1)

    def done(task: manifest.StageTask, *, killed: bool = False) -> Receipt:
        with published(tmp_path / "stage/0.txt") as fresh:
            fresh.write_text(task.inputs)
        if killed:
            raise KeyboardInterrupt
        return manifest.publish(task, "stage", ["stage/0.txt"], 1, 0.0)

    LocalRunner().run(TaskStep("stage", tmp_path, [work("first")], done))
    with pytest.raises(KeyboardInterrupt):
        LocalRunner().run(TaskStep("stage", tmp_path, [work("other")], lambda task: done(task, killed=True)))
    assert not (tmp_path / "stage.manifest.parquet").exists()
    LocalRunner().run(TaskStep("stage", tmp_path, [work("first")], done))
    assert (tmp_path / "stage/0.txt").read_text() == "first"


def test_a_receipt_is_for_files_as_they_were_published(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_text("one")
    manifest.publish(manifest.StageTask(tmp_path, 0, "inputs", 1), "stage", ["rows"], 1, 0.0)
    receipts = manifest.Receipts(tmp_path, "stage")
    assert receipts.get(0, "inputs") is not None
    file.write_text("another text")
    assert receipts.get(0, "inputs") is None


def test_a_run_of_another_format_is_refused_in_words(ready: Path, region_directory: Path) -> None:
    path = ready / "split.exchange.manifest.parquet"
    rows = pq.read_table(path)
    assert rows.column("format").unique().to_pylist() == [1]
    for name, value in (("format", pa.scalar(2, pa.int32())), ("tdqsim_version", pa.scalar("7.0"))):
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.repeat(value, rows.num_rows))
    pq.write_table(rows, path)
    with pytest.raises(
        DatasetError, match=r"is of format 2, by tdqsim 7\.0; this is .* and reads format 1: finish the"
    ):
        run_replay(ready, ReplaySpec(directory=region_directory), "local")


def test_a_stage_that_begins_outdates_itself_those_after_it_and_the_summary(tmp_path: Path) -> None:
    for stage in ("ingest", "replay", "reconcile"):
        manifest.write_manifest(tmp_path, stage, [])
    (tmp_path / "run.json").touch()
    manifest.outdate(tmp_path, "replay")
    assert [path.name for path in tmp_path.iterdir()] == ["ingest.manifest.parquet"]


def test_marks_of_processes_that_live_are_no_deaths(tmp_path: Path) -> None:
    with isolation.Marks(tmp_path, 0, "x") as first, first.working_on("A"):
        (path,) = tmp_path.glob("*.working")
        mark = json.loads(path.read_text())
        path.with_name("00000.other.working").write_text(json.dumps(mark | {"pid": os.getppid()}))
        assert (
            isolation.Marks(tmp_path, 0, "x").deaths("A") == 1
        )  # that of this very process, which has nothing else under way
    far = {"host": f"not-{socket.gethostname()}", "pid": os.getppid()}  # a number that lives here is another process
    marks: list[tuple[str, dict[str, object]]] = [
        ("dead", {}), ("far", far), ("older", {"inputs": "y"}), ("else", {"region": ""}),
    ]  # fmt: skip
    for name, more in marks:
        (tmp_path / f"00000.{name}.working").write_text(json.dumps(mark | {"pid": 2**22 + 1} | more))
    with pytest.raises(OSError, match="full"), isolation.Marks(tmp_path, 0, "x"):
        raise OSError("full")  # this attempt has failed, so the death is to be counted again
    with isolation.Marks(tmp_path, 0, "x") as again:
        assert (again.deaths("A"), again.deaths("B")) == (2, 0)
    assert sorted(path.name for path in tmp_path.glob("*other*")) == ["00000.other.working"]


def test_a_death_between_two_regions_is_that_of_neither(tmp_path: Path) -> None:
    with isolation.Marks(tmp_path, 0, "x") as first:
        with pytest.raises(KeyError), first.working_on("A"):
            raise KeyError("no such account")
        (path,) = tmp_path.glob("*.working")
        dead = json.loads(path.read_text()) | {"pid": 2**22 + 1}
    path.write_text(json.dumps(dead))
    with isolation.Marks(tmp_path, 0, "x") as again:
        assert again.deaths("A") == 0


def test_what_a_dead_worker_left_is_tried_again(tmp_path: Path) -> None:
    class Work:
        run, bucket, weight, inputs = tmp_path, 0, 1, "x"

    class Dying(SparkRunner):
        tries = 0

        def each(self, step: Any, tasks: Any) -> list[Receipt]:
            self.tries += 1
            if self.tries < 3:
                raise RuntimeError("Python worker exited unexpectedly (crashed)")
            return [step.work(task) for task in tasks]

    said: list[str] = []
    runner = Dying(say=said.append)
    (receipt,) = runner.run(TaskStep("stage", tmp_path, [Work()], lambda _: Receipt("stage", 0, "x")))
    assert (receipt.inputs, runner.tries) == ("x", 3)
    assert said == ["stage: a worker died; the rest is tried again"] * 2
    runner.tries = -2  # four deaths: the fourth was the last try
    with pytest.raises(
        DatasetError, match=r"^stage: 1 buckets are left; run it again to continue there\. RuntimeError"
    ):
        runner.run(TaskStep("stage", tmp_path, [Work()], lambda _: Receipt("stage", 0, "x")))
    assert runner.tries == 2


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("Job aborted\nTraceback\ntdqsim.errors.DatasetError: f.vb: at offset 7: no block\n\n", "f.vb: at offset 7: no block"),
        ('Job aborted: {"message": "f.vb: its writer crashed", "ours": true} at', "f.vb: its writer crashed"),
    ],
)  # fmt: skip
def test_an_error_of_the_tasks_own_is_told_as_in_this_process_after_one_try(
    tmp_path: Path, raised: str, told: str
) -> None:
    class Work:
        run, bucket, weight, inputs = tmp_path, 0, 1, "x"

    class Failing(SparkRunner):
        tries = 0

        def each(self, step: Any, tasks: Any) -> list[Receipt]:
            self.tries += 1
            raise RuntimeError(raised)

    runner = Failing()
    with pytest.raises(DatasetError, match=f"^{told}$"):
        runner.run(TaskStep("stage", tmp_path, [Work()], lambda _: Receipt("stage", 0, "x")))
    assert runner.tries == 1


def test_the_heaviest_tasks_start_first_and_receipts_are_in_the_order_of_buckets(tmp_path: Path) -> None:
    begun: list[int] = []

    def work(task: manifest.StageTask) -> Receipt:
        begun.append(task.bucket)
        return manifest.publish(task, "replay", [], 1, 0.0)

    step = TaskStep(
        "replay", tmp_path, [manifest.StageTask(tmp_path, n, "x", w) for n, w in enumerate((1, 5, 3, 5))], work
    )
    assert [receipt.bucket for receipt in LocalRunner().run(step)] == [0, 1, 2, 3]
    assert begun == [1, 3, 2, 0]
    manifest.write_manifest(tmp_path, "reconcile", [])
    (tmp_path / "run.json").touch()
    LocalRunner().run(step)  # nothing is left to do, and nothing outdated
    assert len(begun) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "manifest", "reconcile.manifest.parquet", "replay.manifest.parquet", "run.json",
    ]  # fmt: skip


# what cannot be used ----------------------------------------------------------------------------------------------------


def test_handlers_that_cannot_be_imported_are_named_once(
    ready: Path, region_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--run", str(ready), "--region", str(region_directory), "--handlers", "no_such_module", "--json"]
    assert main(["pipeline", "replay", *arguments]) == 2
    assert "module no_such_module cannot be imported" in capsys.readouterr().err
    (region_directory / "broken.py").write_text("def register(region):\n    raise RuntimeError('no luck')\n")
    assert main(["pipeline", "replay", *arguments[:4], "--handlers", "broken"]) == 1
    assert "register of handlers stage_programs, broken failed: RuntimeError: no luck" in capsys.readouterr().err
    (region_directory / "broken.py").write_text("this is no Python\n")
    with pytest.raises(DefinitionError, match="module broken cannot be imported: SyntaxError"):
        run_replay(ready, ReplaySpec(directory=region_directory, handlers=("broken",)), "local")
    assert not (ready / "replay").exists()


def test_a_damaged_piece_of_the_exchange_is_named(ready: Path, region_directory: Path) -> None:
    path = next((ready / "exchange").rglob("*.arrow"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(
        DatasetError, match=rf"{path.name}: this piece of the exchange cannot be read.*run ingest again"
    ):
        run_replay(ready, ReplaySpec(directory=region_directory), "local")


def test_a_full_disk_for_results_is_told_and_the_run_goes_on_later(
    tmp_path: Path, small_disk: Path, region_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [write("A", n, "KEEP", os.urandom(3000)) for n in range(600)]
    source = write_events(tmp_path / "e.parquet", rows)
    run = small_disk / "run"
    arguments = ["--run", str(run), "--engine", "local", "--json"]
    assert main(["pipeline", "ingest", str(source), *arguments]) == 2
    said = capsys.readouterr().err
    assert ".arrow: there is no room for it; make some and run it again" in said
    assert not list(run.rglob(".*.parquet*"))
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert main(["pipeline", "ingest", str(source), *arguments]) == 0
    assert main(["pipeline", "replay", "--region", str(region_directory), *arguments]) == 0


def test_a_full_disk_for_regions_is_no_outcome_of_theirs(
    tmp_path: Path, small_disk: Path, region_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [write("A", n, "KEEP", os.urandom(3000)) for n in range(2000)]
    spread(tmp_path / "run", [write_events(tmp_path / "e.parquet", rows)])
    (small_disk / "other").write_bytes(bytes(5 << 19))
    monkeypatch.setattr("tempfile.tempdir", str(small_disk))
    with pytest.raises(DatasetError, match="the disk is full; make room there or set TMPDIR"):
        run_replay(tmp_path / "run", ReplaySpec(directory=region_directory), "local")
    monkeypatch.setattr("tempfile.tempdir", None)
    outcome = run_replay(tmp_path / "run", ReplaySpec(directory=region_directory), "local")
    assert (outcome["ok"], outcome["events"]) == (True, 2000)


@pytest.mark.parametrize(("platform", "left"), [("linux", False), ("win32", True)])
def test_files_of_a_process_stay_where_nobody_can_be_asked_whether_it_is_there(
    platform: str, left: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(120)
    hidden = tmp_path / "replay" / f".00000.parquet.{socket.gethostname()}.{gone.pid}.1"
    hidden.parent.mkdir()
    hidden.touch()
    with monkeypatch.context() as other:
        other.setattr(sys, "platform", platform)
        manifest.keep_only(tmp_path, "replay", [])
    assert hidden.exists() == left


def test_a_file_has_one_identity_whatever_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert (
        stamp(tmp_path / "link" / "a")
        == stamp(tmp_path / "link" / ".." / "data" / "a")
        == stamp(tmp_path / "data" / "a")
    )
