"""What a user meets when something is wrong: no outcome is lost or made up, and the message says where and what to do."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tdqsim.cli import main
from tdqsim.errors import DatasetError
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.stages import (
    IngestRequest,
    LoadRequest,
    LocalRunner,
    Match,
    NotAllowed,
    Receipt,
    ReplaySpec,
    RunRequest,
    SparkRunner,
    StageFailed,
    TaskStep,
    isolation,
    manifest,
    parse_match,
    read_table,
    replay_bucket,
    run_ingest,
    run_job,
    run_load,
    run_reconcile,
    run_replay,
    table_files,
    write_report,
)
from tests.pipeline.stages.conftest import make_region_directory
from tests.pipeline.stages.helpers import replayed, spread, write, write_events


def expecting(path: Path, rows: list[tuple[str, bytes]]) -> Path:
    wanted = [
        {"region": region, "seq": number, "command": "EXPECT", "queue": "KEEP", "data": data}
        for number, (region, data) in enumerate(rows)
    ]
    return write_events(path, wanted)


# a full disk ------------------------------------------------------------------------------------------------------------


def test_a_disk_that_gets_full_while_a_region_runs_is_not_the_regions_doing(
    tmp_path: Path, small_disk: Path, region_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BOUNDS, "batch_rows", 100)
    run = small_disk / "run"
    rows = [
        {"region": "A", "seq": n, "command": "WRITEQ TD" if n % 2 == 0 else "READQ TD", "queue": "KEEP",
         "data": os.urandom(3000) if n % 2 == 0 else None} for n in range(1200)
    ]  # fmt: skip
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    spread(run, [write_events(tmp_path / "e.parquet", rows)])
    room = os.statvfs(small_disk)
    (small_disk / "fill").write_bytes(bytes(room.f_bavail * room.f_frsize - 500_000))
    with pytest.raises(DatasetError, match=r"replay/results/00000\.parquet: there is no room for it; make some"):
        run_replay(run, ReplaySpec(directory=region_directory), "local")
    assert not table_files(run, "replay", "regions")
    (small_disk / "fill").unlink()
    outcome = run_replay(run, ReplaySpec(directory=region_directory), "local")
    assert (outcome["ok"], outcome["events"]) == (True, 1200)


def test_a_full_disk_for_a_data_set_names_the_data_set(
    tmp_path: Path, small_disk: Path, region_directory: Path
) -> None:
    run = replayed(tmp_path, region_directory, [write("A", n, "KEEP", os.urandom(3000)) for n in range(1500)])
    with pytest.raises(
        DatasetError, match=r"^queue KEEP of region A: .*/out/KEEP\.PS, record \d+: .*make room"
    ) as told:
        run_load(LoadRequest(run, "dataset", small_disk / "out"))
    assert "/." not in str(told.value)
    assert not list((small_disk / "out").iterdir())


# what is not finished ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def done_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with everything done, reports too."""
    folder = tmp_path_factory.mktemp("done")
    directory = make_region_directory(folder / "region")
    run = replayed(folder, directory, [write(f"R{n % 6}", n, "KEEP", b"%d" % n) for n in range(60)])
    run_reconcile(run, [expecting(folder / "x.parquet", [("R1", b"1")])], {}, "local")
    write_report(run)
    return folder


@pytest.fixture
def done(tmp_path: Path, done_once: Path) -> Path:
    """The run of a test's own, and what was expected of it."""
    shutil.copytree(done_once / "run4", tmp_path / "run4")
    shutil.copy(done_once / "x.parquet", tmp_path / "x.parquet")
    return tmp_path / "run4"


_calls: list[Any] = []


def killed(task: Any) -> Any:
    """Stands in for the function of a bucket: somebody presses Ctrl-C at the third."""
    _calls.append(task)
    if len(_calls) > 2:
        raise KeyboardInterrupt
    return replay_bucket(task)


@pytest.mark.parametrize("command", ["report", "load", "reconcile"])
def test_half_a_replay_is_no_result(
    tmp_path: Path, done: Path, region_directory: Path, command: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("tdqsim.pipeline.stages.replay.replay_bucket", killed)
    other = ReplaySpec(directory=region_directory, seed=7)
    with pytest.raises(KeyboardInterrupt):
        run_replay(done, other, "local")
    monkeypatch.undo()
    assert not [*done.glob("report.*"), *done.glob("junit.xml")]
    more = {
        "report": [], "load": ["seed", "--output", str(tmp_path / "out")],
        "reconcile": ["--expected", str(tmp_path / "x.parquet"), "--engine", "local"],
    }[command]  # fmt: skip
    assert main(["pipeline", command, "--run", str(done), *more]) == 2
    assert f"{done}: replay was not completed there" in capsys.readouterr().err
    run_replay(done, other, "local")
    assert main(["pipeline", command, "--run", str(done), *more]) == (1 if command == "reconcile" else 0)


def test_differences_of_an_earlier_replay_are_not_shown(done: Path, region_directory: Path) -> None:
    assert json.loads((done / "report.json").read_text())["differences"]
    run_replay(done, ReplaySpec(directory=region_directory, seed=7), "local")
    assert "Reconcile was not run." in write_report(done).read_text()
    assert json.loads((done / "report.json").read_text())["ok"]


def test_other_events_need_another_replay(done: Path, tmp_path: Path, region_directory: Path) -> None:
    spread(done, [write_events(tmp_path / "new.parquet", [write("N", 1, "KEEP", b"new")])], base="other")
    with pytest.raises(DatasetError, match="give tdq pipeline replay first"):
        write_report(done)
    assert run_replay(done, ReplaySpec(directory=region_directory), "local")["regions"] == 1


def leave_half(path: Path) -> None:
    """A process is killed while it writes a file."""
    text = (
        "import os, sys; from pathlib import Path; from tdqsim.pipeline.publishing import published\n"
        "with published(Path(sys.argv[1])) as fresh: fresh.write_text('half'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", text, str(path)], check=False).returncode == 9
    assert list(path.parent.glob(".*"))


def test_what_a_killed_process_left_is_removed(tmp_path: Path, region_directory: Path) -> None:
    run = tmp_path / "run"
    spread(run, [write_events(tmp_path / "e.parquet", [write("A", 1, "KEEP", b"x")])])
    path = run / "replay" / "results" / "00000.parquet"
    leave_half(path)
    other = path.parent / ".00000.parquet.another-machine.1.2"
    other.write_text("being written")
    assert len(list(path.parent.glob(".*"))) == 2
    run_replay(run, ReplaySpec(directory=region_directory), "local")
    assert list(path.parent.glob(".*")) == [other]


def test_nobodys_link_is_the_lock_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match=r"symbolic link"), manifest.holding(tmp_path / "run"):
        pass
    assert not (tmp_path / "outside").exists()


def test_a_command_waits_for_another_one_in_the_same_run(tmp_path: Path, region_directory: Path) -> None:
    pytest.importorskip("fcntl")
    run = tmp_path / "run"
    spread(run, [write_events(tmp_path / "e.parquet", [write("A", 1, "KEEP", b"x")])])
    command = [
        sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main())",
        "pipeline", "replay", "--run", str(run), "--region", str(region_directory), "--engine", "local",
    ]  # fmt: skip
    with manifest.holding(run):
        other = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert other.stderr is not None
        assert "another command is writing there; this one continues when it has ended" in other.stderr.readline()
        assert not (run / "replay").exists()
    other.communicate()
    assert other.returncode == 0
    assert table_files(run, "replay", "regions")


# load -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"target": "tape"}, "load tape: allowed are dataset, seed, dtaq"),
        ({"table": "results"}, "--table results: allowed are records, events"),
        ({"queues": ("KEPT",)}, "--queue KEPT: no region of .* has it; there are records of KEEP"),
        ({"lrecl": 9}, "queue KEEP of region R0: .*/out/KEEP.PS, record 1: .*; see --recfm and --lrecl"),
    ],
)
def test_what_cannot_be_loaded(tmp_path: Path, done: Path, more: dict[str, Any], text: str) -> None:
    with pytest.raises(DatasetError, match=text):
        run_load(LoadRequest(**{"run": done, "target": "dataset", "out": tmp_path / "out", **more}))
    assert not list((tmp_path / "out").glob("*"))


def test_a_queue_that_is_empty_is_an_empty_data_set(tmp_path: Path, region_directory: Path) -> None:
    rows = [write("A", 1, "KEEP", b"x"), {"region": "A", "seq": 2, "command": "DELETEQ TD", "queue": "KEEP"}]
    run = replayed(tmp_path, region_directory, rows)
    assert run_load(LoadRequest(run, "dataset", tmp_path / "out", queues=("KEEP",)))["queues"] == {"KEEP": 0}
    assert (tmp_path / "out/KEEP.PS").read_bytes() == b""


def test_files_of_the_same_name_are_not_written_over_each_other(tmp_path: Path) -> None:
    run = tmp_path / "run"
    rows = [write("A", 1, "B/C", b"1"), write("A.B", 1, "C", b"2")]
    source = write_events(tmp_path / "e.csv.parquet", rows)
    assert main(["pipeline", "ingest", str(source), "--run", str(run), "--engine", "local"]) == 0
    with pytest.raises(DatasetError, match=r"queue B/C of region A and queue C of region A\.B would both be the file"):
        run_load(LoadRequest(run, "seed", tmp_path / "out", "events"))


def test_a_place_that_is_a_file(tmp_path: Path, done: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(DatasetError, match=r"--output .*/out: File exists; name a directory"):
        run_load(LoadRequest(done, "dataset", tmp_path / "out"))


# arguments --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["load", "tape", "--output", "x"],
        ["load", "seed", "--output", "x", "--table", "all"],
        ["reconcile", "--expected", "x", "--match", "KEEP:key=9-1"],
        ["reconcile", "--expected", "x", "--match", "KEEP", "--tolerance", "AMOUNT=much"],
        ["reconcile", "--expected", "x", "--mask", "AMOUNT"],
    ],
)
def test_a_wrong_argument_is_no_difference_to_a_script(
    done: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", *arguments, "--run", str(done)]) == 2
    assert capsys.readouterr().err.startswith("tdq: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [(b" 01 R. 05 A PIC 9(3) COMP-7.", "COMP-7"), (b" 01 R. 05 \xe9\xff PIC 9(3) USAGE ODD.", "book.cpy")],
    ids=["a bad clause", "not UTF-8"],
)
def test_what_is_wrong_with_the_copybook_is_said_with_its_name(
    done: Path, tmp_path: Path, text: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "book.cpy").write_bytes(text)
    arguments = ["--expected", "x", "--match", "KEEP", "--copybook", str(tmp_path / "book.cpy")]
    assert main(["pipeline", "reconcile", "--run", str(done), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"tdq: {tmp_path / 'book.cpy'}")
    assert said in error


# the report -------------------------------------------------------------------------------------------------------------


def test_names_are_never_markup(tmp_path: Path, region_directory: Path) -> None:
    odd = ["<span onclick=x>", "A&B", 'Q"<b>', "\x01\x02", "ÄÖ日本", " ", "../../up"]
    rows = [{**write(name, 1, "KEEP", b"x"), "resp": "QZERO"} for name in odd]
    run = replayed(tmp_path, region_directory, rows)
    page = write_report(run).read_text("utf-8")
    assert not [text for text in ("<span onclick", "<b>") if text in page]
    assert [text for text in ("&lt;span onclick=x&gt;", "ÄÖ日本") if text in page]
    suite = ET.fromstring((run / "junit.xml").read_text("utf-8"))
    assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
    assert not list(tmp_path.glob("up*"))


def test_a_response_is_shown_beside_the_one_that_was_expected(tmp_path: Path, region_directory: Path) -> None:
    rows = [{**write("A", n, "KEEP", b"x"), "resp": "NORMAL"} for n in range(300)]
    rows[217] |= {"resp": "NOSPACE", "resp2": 3}
    rows[218] |= {"resp": None, "resp2": 9}
    page = write_report(replayed(tmp_path, region_directory, rows)).read_text()
    assert "<td>NOSPACE, RESP2 3</td><td>NORMAL</td>" in page
    assert "<td>RESP2 9</td><td>NORMAL</td>" in page


def test_the_page_says_how_many_differences_are_kept(tmp_path: Path, region_directory: Path) -> None:
    run = replayed(tmp_path, region_directory, [write("A", n, "KEEP", b"%d" % n) for n in range(150)])
    run_reconcile(run, [expecting(tmp_path / "x.parquet", [("A", b"no")])], {}, "local")
    page = write_report(run).read_text()
    assert "of 150 are shown; 101, the first of each kind of each queue of a region, are in reconcile/diffs" in page


def test_a_difference_is_no_lost_stage(tmp_path: Path, region_directory: Path) -> None:
    """The exit code 1 is for what came out; a piece of the exchange that is gone is 2."""
    run = replayed(tmp_path, region_directory, [write("A", 1, "KEEP", b"x")])
    (run / "replay" / "records" / "00000.parquet").write_bytes(b"PAR1")
    expected = expecting(tmp_path / "x.parquet", [("A", b"x")])
    assert main(["pipeline", "reconcile", "--run", str(run), "--expected", str(expected), "--engine", "local"]) == 2


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        *((name, None, "null") for name in ("region", "seq", "command")),
        *((name, "", "empty") for name in ("region", "command")),
    ],
)
def test_a_record_without_a_value_is_named_by_its_number_in_the_file(
    tmp_path: Path, done: Path, name: str, value: object, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BOUNDS, "batch_rows", 16)  # the record is neither in the first row group nor in a first batch
    rows: list[dict[str, object]] = [
        {"region": "R1", "seq": n, "command": "EXPECT", "queue": "KEEP", "data": b"x"} for n in range(500)
    ]
    rows[377][name] = value
    source = write_events(tmp_path / "null.parquet", rows, group=200)
    with pytest.raises(DatasetError, match=rf"null\.parquet: record 378: column {name} is {text};"):
        run_reconcile(done, [source], {}, "local")


def test_times_of_any_unit_are_microseconds(tmp_path: Path, region_directory: Path) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    found = set()
    for unit in ("s", "ms", "us", "ns"):
        table = pa.table(
            {
                "region": ["A"], "seq": [1], "command": ["READQ TD"], "queue": ["KEEP"],
                "time_us": pa.array([moment], pa.timestamp(unit, "UTC")),
            }
        )  # fmt: skip
        pq.write_table(table, tmp_path / f"{unit}.parquet")
        spread(tmp_path / unit, [tmp_path / f"{unit}.parquet"], base=unit)
        run_replay(tmp_path / unit, ReplaySpec(directory=region_directory), "local")
        found |= set(read_table(tmp_path / unit, "replay", "results").column("time_us").to_pylist())
    assert found == {int(moment.timestamp()) * 1_000_000}


# reconcile --------------------------------------------------------------------------------------------------------------

COPYBOOK = """
       01 R.
          05 ID PIC X(2).
          05 AMOUNT PIC S9(5) COMP-3.
          05 RATE COMP-1.
"""


def rated(number: int, amount: str, rate: bytes) -> bytes:
    return b"%02d" % number + bytes.fromhex(amount) + rate


@pytest.mark.parametrize(
    ("masks", "tolerances", "text"),
    [
        (
            ("NOPE",),
            {},
            "--mask NOPE: the copybook has no such elementary field outside tables; it has ID, AMOUNT, RATE",
        ),
        ((), {"NOPE": "1"}, "--tolerance NOPE: the copybook has no such"),
        ((), {"ID": "1"}, "--tolerance ID: ID holds text, which is not a number"),
        ((), {"AMOUNT": "-1"}, "--tolerance AMOUNT=-1: must be a number, 0 or more"),
        ((), {"AMOUNT": "nan"}, "--tolerance AMOUNT=nan: must be a number, 0 or more"),
        ((), {"AMOUNT": "much"}, "--tolerance AMOUNT=much: must be a number, 0 or more"),
    ],
)
def test_masks_and_tolerances_are_for_fields_that_there_are(
    done: Path, tmp_path: Path, masks: tuple[str, ...], tolerances: dict[str, str], text: str
) -> None:
    with pytest.raises(NotAllowed, match=text):
        run_reconcile(done, [tmp_path / "x.parquet"], dict([parse_match("KEEP", COPYBOOK, masks, tolerances)]), "local")


def test_a_mask_without_a_layout_is_refused(done: Path, tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="--mask ID: only a layout gives fields names; name one with --copybook"):
        run_reconcile(done, [tmp_path / "x.parquet"], {"KEEP": Match(masks=("ID",))}, "local")


def test_tolerances_hold_for_floating_point_and_bad_fields_are_shown_as_they_are(
    tmp_path: Path, region_directory: Path
) -> None:
    half, more, eight = b"\x40\x80\x00\x00", b"\x40\x81\x00\x00", b"\x41\x80\x00\x00"
    actual = [rated(1, "00001c", half), rated(2, "00001c", half), rated(3, "00007c", half)]
    expected = [rated(1, "00001c", more), rated(2, "00001c", eight), rated(3, "ffffff", half)]
    run = replayed(tmp_path, region_directory, [write("A", n, "KEEP", data) for n, data in enumerate(actual)])
    match = parse_match("KEEP:key=0-2", COPYBOOK, (), {"rate": "0.1", "amount": "100"})
    source = expecting(tmp_path / "x.parquet", [("A", data) for data in expected])
    assert run_reconcile(run, [source], dict([match]), "local")["differences"] == {"KEEP changed": 2}
    found = read_table(run, "reconcile", "diffs").to_pylist()
    assert [(row["field"], row["expected"], row["actual"]) for row in found] == [
        ("RATE", "8.0", "0.5"), ("AMOUNT", "X'FFFFFF'", "7"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"queue": None}, "there is no column queue; .* It has region, seq, command, data"),
        ({"command": ["WRITEQ TD"]}, "no event with command EXPECT names a queue, so there is nothing to compare"),
        ({"data": ["日"]}, "records 1 to 1: column data holds string; binary is needed: 'charmap'"),
    ],
)
def test_what_is_expected_of_nothing_is_no_success(
    done: Path, tmp_path: Path, columns: dict[str, Any], text: str
) -> None:
    good = {"region": ["A"], "seq": [1], "command": ["EXPECT"], "queue": ["KEEP"], "data": [b"x"]}
    table = pa.table({name: value for name, value in (good | columns).items() if value is not None})
    pq.write_table(table, tmp_path / "wrong.parquet")
    with pytest.raises(DatasetError, match=rf"wrong\.parquet: {text}"):
        run_reconcile(done, [tmp_path / "wrong.parquet"], {}, "local")


def test_a_queue_that_nobody_knows_is_told(done: Path, tmp_path: Path) -> None:
    matches = {"KEEP": Match(), "KEPT": Match()}
    assert run_reconcile(done, [tmp_path / "x.parquet"], matches, "local")["matches_of_nothing"] == ["KEPT"]
    with pytest.raises(DatasetError, match=r"--expected .*none\.parquet: there is no such file"):
        run_reconcile(done, [tmp_path / "none.parquet"], {}, "local")


def test_text_is_in_code_page_037_in_parquet_too(tmp_path: Path, region_directory: Path) -> None:
    run = replayed(tmp_path, region_directory, [write("A", 1, "KEEP", "ÄÖ1".encode("cp037"))])
    table = pa.table({"region": ["A"], "seq": [1], "command": ["EXPECT"], "queue": ["KEEP"], "data": ["ÄÖ1"]})
    pq.write_table(table, tmp_path / "text.parquet")
    assert run_reconcile(run, [tmp_path / "text.parquet"], {}, "local")["ok"]


# errors of tasks --------------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_an_error_in_a_worker_is_the_one_of_this_process(tmp_path: Path, spark: Any) -> None:
    source = tmp_path / "bad.jsonl"
    source.write_text('{"region": "A", "command": "READQ TD"}\n{"region": "A"}\n')
    said = []
    for name in ("local", "spark"):
        run = tmp_path / name
        with pytest.raises(DatasetError) as told:
            run_ingest(IngestRequest(run, (str(source),), engine=name), spark=spark)
        said.append((type(told.value), str(told.value)))
        assert not list((run / "manifest").glob("*.failed"))
    assert said[0][1].startswith(f"{source}: record 2 at offset 39: no command")
    assert said[0][1] == said[1][1]


@pytest.mark.spark
def test_an_unexpected_error_in_a_worker_has_no_frames(tmp_path: Path, spark: Any) -> None:
    @dataclass(frozen=True)
    class Work:
        run: Path
        bucket: int
        inputs: str = "x"
        weight: int = 1

    def divide(task: Any) -> Receipt:
        raise ZeroDivisionError(f"bucket {task.bucket}")

    tasks = [Work(tmp_path, bucket) for bucket in range(3)]
    for runner in (LocalRunner(), SparkRunner(spark)):
        with pytest.raises(StageFailed, match=r"^stage: 3 buckets are left; .* ZeroDivisionError: bucket \d$"):
            runner.run(TaskStep("stage", tmp_path, tasks, divide))


# temporary folders ------------------------------------------------------------------------------------------------------

KILLED = (
    "import os; from tdqsim.pipeline.stages.isolation import Workshop\n"
    "with Workshop() as shop, shop.place() as folder:\n"
    "    shop.store; (folder / 'OUT').write_text('x'); os._exit(9)"
)


def test_what_a_killed_region_left_is_removed_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [tmp_path / "another", tmp_path / f"tdqsim-replay.{socket.gethostname()}.{os.getppid()}.of-one-that-lives"]
    others.append(tmp_path / f"tdqsim-replay.another-machine.{2**22 + 1}.x")
    for other in others:
        other.mkdir()
    for _ in range(2):
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        assert subprocess.run([sys.executable, "-c", KILLED], check=False, env=environment).returncode == 9
        assert len(list(tmp_path.iterdir())) == len(others) + 1  # not two more
    (tmp_path / f"tdqsim-replay.{socket.gethostname()}.{2**22 + 1}.link").symlink_to(tmp_path / "another")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with isolation.Workshop() as one, isolation.Workshop() as two:
        assert one.store.path.is_dir()
        assert two.store.path.is_dir()
    left = sorted(path for path in tmp_path.iterdir() if not path.is_symlink())
    assert left == sorted(others)


def test_two_that_begin_at_once_remove_what_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"tdqsim-replay.{socket.gethostname()}.{2**22 + 1}.x").mkdir()

    def removed_by_the_other(name: str) -> bool:
        if not name.endswith(".x"):
            return False
        (tmp_path / name).rmdir()
        return True

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("tdqsim.pipeline.stages.isolation.left_behind", removed_by_the_other)
    with isolation.Workshop() as shop:
        assert shop.store.path.is_dir()


# a poisoned record in a job ---------------------------------------------------------------------------------------------

JOB = """
from types import SimpleNamespace

class Job:
    def __init__(self, request):
        self.path = request.dd["INDD"]

    def prepare(self):
        return {}

    def finish(self, region):
        data = self.path.read_bytes()
        for place in range(0, len(data), 8):
            if data[place : place + 8] == b"9POISON9":
                raise ValueError(f"{self.path}: record {place // 8 + 1}: it is poisoned")
        return SimpleNamespace(figures={"records": len(data) // 8}, checks=[])

class Spread:
    inputs = {"INDD": 8}
    outputs = {}

    def prepare(self, request):
        return dict(request.dd)

    def region_name(self, number, regions):
        return f"PART{number}"

    def router(self, files, regions):
        return lambda dd, records: records[:, 0].astype("int64") % regions

    def expected(self, files, regions):
        return iter(())

    def expected_figures(self, expected):
        return {}

    def add_figures(self, figures, more):
        figures["records"] = figures.get("records", 0) + more.get("records", 0)
"""
INPUT = """
group: JOB
tdqueue:
  - {name: INQ, type: EXTRA, ddname: INDD, typefile: INPUT, recordformat: FIXED, recordsize: 8, blockformat: BLOCKED}
"""


@pytest.fixture
def job_directory(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "definitions.yaml").write_text(INPUT)
    (folder / "poisoned_job.py").write_text(JOB)
    (folder / "region.yaml").write_text("applid: JOB\ndefinitions: [definitions.yaml]\njob: poisoned_job:Job\n")
    (folder / "pipeline.yaml").write_text("spread: poisoned_job:Spread\n")
    return folder


def test_a_poisoned_record_of_a_job_is_named_by_its_place_in_the_file(tmp_path: Path, job_directory: Path) -> None:
    records = [b"%d-------" % (number % 10) for number in range(1000)]
    records[777] = b"9POISON9"
    source = tmp_path / "DAY.PS"
    source.write_bytes(b"".join(records))
    rows = []
    for name, buckets in (("one", 1), ("two", 7)):
        run = tmp_path / name
        result = run_job(RunRequest(job_directory, run, "local", 4, buckets, {"INDD": source}))
        assert result.figures == {"records": 699}
        assert result.causes == {
            "PART1": "ValueError: INDD.in: record 234: it is poisoned "
            f"({source}: record 778 at offset {777 * 8}; correct it and run it again)"
        }
        rows.append(read_table(run, "replay", "regions"))
    assert rows[0] == rows[1]  # nothing of temporary folders


def test_what_fails_in_the_class_of_a_job_is_named(tmp_path: Path, job_directory: Path) -> None:
    source = tmp_path / "DAY.PS"
    source.write_bytes(b"1-------")
    path = job_directory / "poisoned_job.py"
    path.write_text(path.read_text().replace("return {}\n\n    def add", "return {}['sum']\n\n    def add"))
    request = RunRequest(job_directory, tmp_path / "run", "local", 4, 4, {"INDD": source})
    with pytest.raises(DatasetError, match=r"^Spread\.expected_figures failed: KeyError: 'sum'$"):
        run_job(request)


def test_an_error_that_the_class_of_a_job_words_itself_keeps_its_words(tmp_path: Path, job_directory: Path) -> None:
    source = tmp_path / "DAY.PS"
    source.write_bytes(b"1-------")
    path = job_directory / "poisoned_job.py"
    text = path.read_text().replace("return {}\n\n    def add", "raise OSError('no figures of the day')\n\n    def add")
    path.write_text(text)
    with pytest.raises(OSError, match=r"^no figures of the day$"):
        run_job(RunRequest(job_directory, tmp_path / "run", "local", 4, 4, {"INDD": source}))


def test_what_a_killed_run_left_of_the_expected_records_is_removed(tmp_path: Path, job_directory: Path) -> None:
    source = tmp_path / "DAY.PS"
    source.write_bytes(b"1-------")
    run = tmp_path / "run"
    for records in (b"1-------", b"1-------2-------"):
        source.write_bytes(records)
        leave_half(run / "expected.table" / "00000.parquet")
        assert run_job(RunRequest(job_directory, run, "local", 4, 4, {"INDD": source})).ok
        assert not list((run / "expected.table").glob(".*"))


def test_of_long_records_what_differs_is_shown(tmp_path: Path, region_directory: Path) -> None:
    record = bytes(range(256)) * 2
    run = replayed(tmp_path, region_directory, [write("A", 1, "KEEP", record)])
    source = expecting(tmp_path / "x.parquet", [("A", record[:300] + b"\x00" + record[301:-1])])
    assert run_reconcile(run, [source], {}, "local")["differences"] == {"KEEP changed": 1}
    (found,) = read_table(run, "reconcile", "diffs").to_pylist()
    assert found["field"] == "from byte 300"
    assert (found["expected"][:9], found["actual"][:9]) == ("...X'002D", "...X'2C2D")
    assert found["expected"].endswith("'... of 511 bytes")
    assert "from byte 300" in write_report(run).read_text()
