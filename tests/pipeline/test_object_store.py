"""Data sets and what is made of them in an object store: an S3 in this process, and fsspec's memory."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")
pytest.importorskip("upath", reason="the extra tdqsim[spark] is not installed")

from tdqsim.cli import main
from tdqsim.datasets import Dcb, RecordFormat, write_records
from tdqsim.errors import DatasetError
from tdqsim.pipeline.data_sets import stage_data_set
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.publishing import files_below, place, publish_json, published, stamp
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.splits import plan
from tdqsim.pipeline.stages import (
    EngineName,
    IngestRequest,
    LoadRequest,
    Receipt,
    ReplaySpec,
    isolation,
    read_table,
    replay_bucket,
    run_ingest,
    run_load,
    run_reconcile,
    run_replay,
    write_report,
)

COPYBOOK = "01 R. 05 KIND PIC X. 05 ID PIC 9(5)."
OPTIONS: dict[str, Any] = {"copybook_contents": COPYBOOK, "record_format": "VB", "input_split_records": 100}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    records = (f"{'CP'[number % 2]}{number:05d}".encode("cp037") for number in range(1000))
    write_records(tmp_path / "data", records, Dcb(RecordFormat.VB, lrecl=84, blksize=400))
    return tmp_path / "data"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An S3 of this process's own, with one bucket; as environment variables tell it to whoever reads and writes."""
    s3fs = pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server")
    botocore = pytest.importorskip("botocore.session")
    threaded = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    threaded.start()
    host, port = threaded.get_host_and_port()
    s3fs.S3FileSystem.clear_instance_cache()  # they would know the server of the test before
    for name, value in (
        ("AWS_ENDPOINT_URL", f"http://{host}:{port}"),
        ("AWS_ACCESS_KEY_ID", "testing"),
        ("AWS_SECRET_ACCESS_KEY", "testing"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    botocore.get_session().create_client("s3").create_bucket(Bucket="captures")
    yield "s3://captures"
    threaded.stop()


@pytest.fixture
def memory() -> Iterator[str]:
    fsspec = pytest.importorskip("fsspec")
    yield "memory://captures"
    fsspec.filesystem("memory").store.clear()


FOREIGN = ("gs://captures", "abfs://captures@account.dfs.core.windows.net", "hdfs://namenode:8020/captures")


def foreign(uri: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of another kind: what it keeps is in memory, under names as the library for its scheme has them."""
    registry = pytest.importorskip("fsspec.registry")
    memory = pytest.importorskip("fsspec.implementations.memory")

    class Fake(memory.MemoryFileSystem):
        protocol, cachable = uri.partition(":")[0], False
        store: ClassVar[dict[str, Any]] = {}
        pseudo_dirs: ClassVar[list[str]] = [""]

        @classmethod
        def _strip_protocol(cls, path: Any) -> str:
            container, _, key = str(path).rpartition("://")[2].strip("/").partition("/")
            if uri.startswith("hdfs"):
                return f"/{key if container == 'namenode:8020' else f'{container}/{key}'}".rstrip("/")
            return f"{container.partition('@')[0]}/{key}".rstrip("/")

    monkeypatch.setitem(registry._registry, Fake.protocol, Fake)
    return uri


@pytest.fixture(params=["bucket", "memory", *FOREIGN])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param in FOREIGN:
        return foreign(request.param, monkeypatch)
    return str(request.getfixturevalue(request.param))


pytestmark = pytest.mark.filterwarnings("ignore")  # libraries of the stores' own


def write_half(target: Path) -> None:
    with published(target) as fresh:
        fresh.write_text("half")
        raise KeyError


def test_a_file_is_there_whole_or_not_at_all(store: str) -> None:
    target = place(f"{store}/a/b.json")
    publish_json(target, {"n": 1})
    assert target.read_text() == '{"n": 1}'
    first = stamp(f"{store}/a/b.json")
    with pytest.raises(KeyError):
        write_half(target)
    assert (target.read_text(), stamp(f"{store}/a/b.json")) == ('{"n": 1}', first)
    publish_json(target, {"n": 22})
    assert stamp(f"{store}/a/b.json") != first


def test_parquet_is_staged_there_once(store: str, path: Path) -> None:
    first = stage_data_set(path, f"{store}/stage", columns=["ID"], **OPTIONS)
    assert first.rows == 1000
    assert len(first.files) > 5
    ids = [
        row["ID"] for number in range(len(first.files)) for batch in first.batches(number) for row in batch.to_pylist()
    ]
    assert ids == list(range(1000))
    written = {str(each): each.stat().st_mtime for each in first.folder.rglob("*") if each.is_file()}
    assert stage_data_set(path, f"{store}/stage", columns=["ID"], **OPTIONS) == first
    assert {str(each): each.stat().st_mtime for each in first.folder.rglob("*") if each.is_file()} == written


def test_what_was_changed_there_at_the_same_length_is_made_again(store: str, path: Path) -> None:
    found = stage_data_set(path, f"{store}/stage", columns=["ID"], **OPTIONS)
    made = found.folder / found.files[0]
    good = made.read_bytes()
    made.write_bytes(bytes(len(good)))
    assert stage_data_set(path, f"{store}/stage", columns=["ID"], **OPTIONS) == found
    assert made.read_bytes() == good


@pytest.fixture
def requests_made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that the S3 of this process has answered."""
    serving, made = pytest.importorskip("werkzeug.serving"), list[str]()
    monkeypatch.setattr(serving.WSGIRequestHandler, "log_request", lambda self, *_: made.append(self.command))
    return made


@pytest.mark.parametrize("megabytes", [24, pytest.param(200, marks=pytest.mark.slow)])
def test_planning_takes_some_requests_however_large_the_file(
    bucket: str, requests_made: list[str], tmp_path: Path, megabytes: int
) -> None:
    path, count = tmp_path / "large", megabytes * 1000
    write_records(path, (f"{number:07d}".encode("cp037") * 143 for number in range(count)), Dcb(RecordFormat.VB))
    place(f"{bucket}/large").write_bytes(path.read_bytes())
    options = read_options({"path": f"{bucket}/large", "record_format": "VB", "input_split_size_mb": "1"})
    requests_made.clear()
    parts = plan(options)
    assert len(parts) > megabytes * 0.9
    assert len(requests_made) <= 5
    reader, found = ReadPlan.of(options), 0
    for part in parts:
        requests_made.clear()
        for batch in reader.read(part):
            first = batch.column(0)[0].as_py()
            assert first == f"{found:07d}".encode("cp037") * 143
            found += batch.num_rows
        assert len(requests_made) <= 5
    assert found == count


@pytest.mark.slow
def test_planning_takes_some_requests_in_google_cloud_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its emulator; ``pip install gcsfs gcp-storage-emulator`` brings what it needs."""
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # it asks a service that the emulator lacks
    gcsfs = pytest.importorskip("gcsfs")
    emulator = pytest.importorskip("gcp_storage_emulator.server")
    made: list[str] = []
    answer = emulator.RequestHandler.do_GET
    monkeypatch.setattr(emulator.RequestHandler, "do_GET", lambda self: (made.append(self.path), answer(self))[1])
    server = emulator.create_server("127.0.0.1", 9055, in_memory=True, default_bucket="captures")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9055")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "tests")
    gcsfs.GCSFileSystem.clear_instance_cache()
    server.start()
    try:
        path, uri = tmp_path / "large", "gs://captures/large"
        write_records(path, (f"{number:07d}".encode("cp037") * 143 for number in range(20_000)), Dcb(RecordFormat.VB))
        place(uri).write_bytes(path.read_bytes())
        options = read_options({"path": uri, "record_format": "VB", "input_split_size_mb": "1"})
        made.clear()
        parts = plan(options)
        assert len(parts) > 15
        assert len(made) <= 4
        made.clear()
        rows = [batch.num_rows for batch in ReadPlan.of(options).read(parts[7])]
        assert (sum(rows) > 900, len(made)) == (True, 3)
    finally:
        server.stop()


@pytest.mark.parametrize("uri", FOREIGN)
def test_other_stores_are_asked_where_a_file_is_once_and_then_for_bytes(
    uri: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign(uri, monkeypatch)
    place(f"{uri}/data").write_bytes(path.read_bytes())
    fake, calls = sys.modules["fsspec.registry"]._registry[uri.partition(":")[0]], list[str]()
    info = fake.info

    def cat_file(self: Any, name: str, start: int, end: int) -> Any:
        calls.append("bytes")
        return self.store[self._strip_protocol(name)].getvalue()[start:end]

    monkeypatch.setattr(fake, "cat_file", cat_file)
    monkeypatch.setattr(fake, "info", lambda self, name, **more: (calls.append("info"), info(self, name, **more))[1])
    options = read_options({"path": f"{uri}/data", "record_format": "VB"})
    (part,) = plan(options)
    assert calls == ["info"]
    calls.clear()
    assert sum(batch.num_rows for batch in ReadPlan.of(options).read(part)) == 1000
    assert calls == ["bytes"]


def test_a_compressed_file_is_read_in_few_requests(bucket: str, requests_made: list[str]) -> None:
    records = random.Random(1).randbytes(8_000_000)
    place(f"{bucket}/data.gz").write_bytes(gzip.compress(records, 1))
    options = read_options({"path": f"{bucket}/data.gz", "record_format": "F", "record_length": "80"})
    (part,) = plan(options)
    requests_made.clear()
    found = b"".join(b"".join(batch.column(0).to_pylist()) for batch in ReadPlan.of(options).read(part))
    assert found == records
    assert len(requests_made) <= 5


def test_data_sets_are_read_from_there(store: str, path: Path, tmp_path: Path) -> None:
    place(f"{store}/in/one").write_bytes(path.read_bytes())
    found = stage_data_set(f"{store}/in/one", tmp_path / "stage", columns=["ID"], **OPTIONS)
    assert (found.rows, len(found.files) > 5) == (1000, True)
    place(f"{store}/in/two").write_bytes(path.read_bytes())
    both = stage_data_set(f"{store}/in", f"{store}/stage", **OPTIONS)
    assert both.rows == 2000
    with pytest.raises(DatasetError, match="none"):
        stage_data_set(f"{store}/none/at-all", tmp_path / "stage", **OPTIONS)


@pytest.mark.parametrize("uri", FOREIGN)
def test_a_store_without_its_library_is_refused_at_once(uri: str, path: Path, tmp_path: Path) -> None:
    for scheme, library in (("gs", "gcsfs"), ("abfs", "adlfs")):
        if uri.startswith(scheme) and find_spec(library) is not None:
            pytest.skip(f"{library} is here")
    for source, stage in ((f"{uri}/in", tmp_path), (path, f"{uri}/stage")):
        with pytest.raises(DatasetError, match="no such place can be reached"):
            stage_data_set(source, stage, **OPTIONS)


def test_what_a_stores_library_says_is_told(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign("gs://captures", monkeypatch)
    fake = sys.modules["fsspec.registry"]._registry["gs"]

    def refuse(*_: Any, **__: Any) -> Any:
        raise LookupError("no credentials")  # as libraries do: of no kind that files have

    for name in ("info", "_open", "put_file"):
        monkeypatch.setattr(fake, name, refuse)
    for source, stage in (("gs://captures/in", tmp_path / "stage"), (path, "gs://captures/stage")):
        with pytest.raises(DatasetError, match=r"^gs://captures/.*no credentials"):
            stage_data_set(source, stage, **OPTIONS)


def test_the_command_takes_such_places(bucket: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [word for name, value in OPTIONS.items() for word in ("--option", f"{name}={value}")]
    assert main(["pipeline", "decode", str(path), "--stage", f"{bucket}/stage", "--columns", "id", *options]) == 0
    assert f"{bucket}/stage/" in capsys.readouterr().out
    assert main(["pipeline", "decode", str(path), "--stage", "nowhere://stage", *options]) == 2
    assert "nowhere://stage: no such place can be reached" in capsys.readouterr().err


def test_captures_are_ingested_from_there(store: str, path: Path, tmp_path: Path) -> None:
    place(f"{store}/days/one").write_bytes(path.read_bytes())
    columns = {"region": "R{KIND}", "command": "WRITEQ TD", "queue": "PAYQ"}
    options = {name: str(value) for name, value in OPTIONS.items()}
    outcomes = []
    for name, source in (("there", f"{store}/days"), ("here", str(path))):
        run_ingest(IngestRequest(tmp_path / name, (source,), columns=columns, options=options, engine="local"))
        outcomes.append(read_table(tmp_path / name, "ingest", "events").to_pylist())
    assert len(outcomes[0]) == 1000
    assert outcomes[0] == outcomes[1]
    with pytest.raises(DatasetError, match="from an object store data sets are brought in"):
        run_ingest(IngestRequest(tmp_path / "csv", (f"{store}/days",), form="csv", columns=columns, engine="local"))


def test_a_report_goes_there(store: str, tmp_path: Path) -> None:
    definitions, trace, run = tmp_path / "q.yaml", tmp_path / "t.jsonl", ["--run", str(tmp_path / "run")]
    definitions.write_text("group: G\ntdqueue:\n  - {name: PAYQ, type: INTRA}\n")
    trace.write_text('{"region": "A", "command": "WRITEQ TD", "queue": "PAYQ", "data": "one"}\n')
    assert main(["pipeline", "ingest", str(trace), *run]) == 0
    assert main(["pipeline", "replay", "--definitions", str(definitions), *run]) == 0
    assert main(["pipeline", "report", *run, "--output", f"{store}/reports"]) == 0
    made = [place(f"{store}/reports/{name}") for name in ("junit.xml", "report.html", "report.json")]
    assert [each.stat().st_size > 100 for each in made] == [True] * 3
    assert not (tmp_path / "run" / "report.html").exists()


SPARK = """
import json, sys
from tdqsim.pipeline.data_sets import read_data_set
from tdqsim.pipeline.sessions import session
spark = session(register=False)
for path in sys.argv[2:]:
    frame = read_data_set(spark, path, columns=["ID"], stage=sys.argv[1], **json.loads(sys.stdin.readline()))
    print(frame.agg({"ID": "sum"}).collect()[0][0])
"""


@pytest.mark.spark
def test_spark_reads_and_stages_there(bucket: str, path: Path) -> None:
    place(f"{bucket}/in/one").write_bytes(path.read_bytes())
    lines = f"{json.dumps(OPTIONS)}\n" * 2
    command = [sys.executable, "-c", SPARK, f"{bucket}/stage", str(path), f"{bucket}/in/one"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.split() == [str(sum(range(1000)))] * 2, done.stderr


# a run in an object store -----------------------------------------------------------------------------------------------

QUEUES = "group: G\ntdqueue:\n  - {name: PAYQ, type: INTRA}\n  - {name: KEEP, type: INTRA}\n"


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    """Definitions, a trace over five regions in two files, and what must be left; one record is not as expected."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "queues.yaml").write_text(QUEUES)
    (tmp_path / "traces").mkdir()
    for part in range(2):
        lines = (
            json.dumps({"region": f"R{n % 5}", "seq": n, "command": "WRITEQ TD", "queue": "PAYQ", "data": f"D{n}"})
            for n in range(part * 30, part * 30 + 30)
        )
        (tmp_path / "traces" / f"{part}.jsonl").write_text("\n".join(lines))
    rows = [
        {
            "region": f"R{n % 5}",
            "seq": n,
            "command": "EXPECT",
            "queue": "PAYQ",
            "data": f"D{n + (n == 7)}".encode("cp037"),
        }
        for n in range(60)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "expected.parquet")
    return tmp_path


def stages(folder: Path, run: Path, expected: Path, engine: EngineName, spark: Any = None) -> dict[str, Any]:
    """Run the stages; returns the outcome of each, without the names of places."""
    traces = tuple(str(path) for path in sorted((folder / "traces").iterdir()))
    spec = ReplaySpec(definitions=(folder / "queues.yaml",))
    outcome = {
        "ingest": run_ingest(IngestRequest(run, traces, engine=engine, buckets=2), spark=spark),
        "replay": run_replay(run, spec, engine, spark=spark),
        "reconcile": run_reconcile(run, [expected], {}, engine, spark=spark),
    }
    page = write_report(run)
    outcome["report"] = json.loads((page.parent / "report.json").read_text("utf-8"))
    outcome["load"] = run_load(LoadRequest(run, "seed", folder / f"seeds.{engine}"))
    for each in outcome.values():
        each.pop("output", None)
    return outcome


def test_a_run_in_an_object_store_is_as_one_in_a_directory(bucket: str, traffic: Path) -> None:
    here = stages(traffic, traffic / "run", traffic / "expected.parquet", "local")
    assert here["replay"]["ok"]
    assert here["reconcile"]["compared"] == 60
    assert here["reconcile"]["differences"] == {"PAYQ changed": 1}
    place(f"{bucket}/days/expected.parquet").write_bytes((traffic / "expected.parquet").read_bytes())
    there = place(f"{bucket}/whole")
    assert stages(traffic, there, place(f"{bucket}/days"), "local") == here
    names = {str(path).removeprefix(str(there)) for path in files_below(there)}
    assert {"/replay.manifest.parquet", "/reconcile.manifest.parquet", "/report.html"} <= names
    assert not [name for name in names if name.endswith(".working")]


def test_a_replay_that_was_stopped_goes_on_in_an_object_store(
    bucket: str, traffic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, done = place(f"{bucket}/stopped"), []
    traces = tuple(str(path) for path in sorted((traffic / "traces").iterdir()))
    spec = ReplaySpec(definitions=(traffic / "queues.yaml",))
    run_ingest(IngestRequest(run, traces, engine="local"))

    def stopped_at_the_third(task: Any) -> Receipt:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(task.bucket)
        return replay_bucket(task)

    monkeypatch.setattr("tdqsim.pipeline.stages.replay.replay_bucket", stopped_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        run_replay(run, spec, "local")
    monkeypatch.undo()
    with pytest.raises(DatasetError, match=r"^s3://captures/stopped: replay was not completed there"):
        run_reconcile(run, [traffic / "expected.parquet"], {}, "local")
    said: list[str] = []
    assert run_replay(run, spec, "local", say=said.append)["events"] == 60
    assert f"replay: {len(done)} of 5 buckets were done before; 3 are left" in said
    changed = run / "replay" / "records" / "00000.parquet"
    changed.write_bytes(b"other")
    assert run_replay(run, spec, "local", say=said.append)["events"] == 60
    assert said[-1] == "replay: 4 of 5 buckets were done before; 1 are left"


def test_a_worker_that_died_at_an_object_store_is_known(bucket: str) -> None:
    folder = place(f"{bucket}/marks")
    with isolation.Marks(folder, 0, "x") as first:
        with first.working_on("A"):
            (mark,) = files_below(folder)
            left = json.loads(mark.read_text("utf-8")) | {"host": "another"}
        publish_json(folder / "00000.dead.working", left)
    with isolation.Marks(folder, 0, "x") as again:
        assert (again.deaths("A"), again.deaths("B")) == (1, 0)
    assert files_below(folder) == []


@pytest.mark.slow
@pytest.mark.spark
def test_spark_works_on_a_run_in_an_object_store(bucket: str, traffic: Path) -> None:
    command = [sys.executable, "-c", STAGES, str(traffic), f"{bucket}/spark"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.split() == ["same", "True"], done.stderr


STAGES = """
import sys
from pathlib import Path
from tdqsim.pipeline.publishing import place
from tdqsim.pipeline.sessions import session
from tests.pipeline.test_object_store import stages
folder, run = Path(sys.argv[1]), place(sys.argv[2])
alone = stages(folder, folder / "run", folder / "expected.parquet", "local")
spark = session(register=False)
there = stages(folder, run, folder / "expected.parquet", "spark", spark)
for each in (alone, there):
    for outcome in each.values():
        outcome.pop("engine", None), outcome.pop("engine_why", None)
print("same", there == alone)
spark.stop()
"""
