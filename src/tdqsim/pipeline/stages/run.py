"""A whole run: a job is divided over many regions, replayed, reconciled with an independent result, and reported.

All files are in one directory, by stage. A run that was killed continues where it stopped when it is started again with
the same arguments; with other arguments it starts from the beginning.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tdqsim import __version__
from tdqsim.errors import DatasetError, TdqError
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.parquet import write_parquet
from tdqsim.pipeline.publishing import publish_json, stamp
from tdqsim.pipeline.sessions import check_session
from tdqsim.pipeline.stages.events import EVENTS, conform
from tdqsim.pipeline.stages.exchange import DD_SHIFT, FixedPiece, Piece, parquet_pieces, spread_events
from tdqsim.pipeline.stages.jobs import SpreadJob, SpreadRequest, loaded_job
from tdqsim.pipeline.stages.manifest import Receipt, StageTask, digest_of, publish, sum_of
from tdqsim.pipeline.stages.outcome import Checks, RegionOutcomes, few
from tdqsim.pipeline.stages.plan import Plan, TaskStep
from tdqsim.pipeline.stages.reconcile import Match, reconcile_records
from tdqsim.pipeline.stages.replay import ReplaySpec, code_of, replay_events
from tdqsim.pipeline.stages.runners import EngineName, Runner, choose
from tdqsim.pipeline.stages.tree_memory import TreeMemory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXPECTED = "expected.table"
_EVENT = re.compile(r" \(event (\d+)\)$")
"""The form in which replay names the event of a bad record."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The user's options.

    Attributes:
        directory: the region directory.
        out: the run's directory; it is created.
        engine: local, spark or auto.
        regions: the number of regions over which the job is divided.
        buckets: the number of files of each table, which is also the number of tasks.
        dd: files of input data sets by DD name; generated when none is given.
        records: how many records are generated.
        seed: the seed of the generated input and of the order of ready tasks.
        commands: also record every command of handlers.
        piece_bytes: bytes of input that one task takes.
    """

    directory: Path
    out: Path
    engine: EngineName = "auto"
    regions: int = 16
    buckets: int = BOUNDS["buckets"]
    dd: Mapping[str, Path] = field(default_factory=dict)
    records: int | None = None
    seed: int = 0
    commands: bool = False
    piece_bytes: int = BOUNDS["piece_bytes"]


@dataclass(slots=True)
class RunResult:
    """The results of a run.

    Attributes:
        figures: the job's figures, summed over the regions.
        checks: the checks and their results; ``details`` has the observed values of failed checks.
        engine: the engine, and why.
        causes: regions that did not end well, each with the cause.
        digest: a digest of the output of all regions, which is the same for the same input and seed.
        stage_seconds: how long each stage took.
        stage_memory: the greatest memory of all processes in each stage, in bytes; 0 where it cannot be measured.
        records: records of the first input.
        out: the run's directory.
    """

    figures: dict[str, Any]
    checks: dict[str, bool]
    details: dict[str, str]
    engine: str
    engine_why: str
    regions: int
    causes: dict[str, str]
    differences: dict[str, int]
    digest: str
    stage_seconds: dict[str, float]
    stage_memory: dict[str, int]
    records: int
    out: Path

    @property
    def ok(self) -> bool:
        """Whether all checks hold."""
        return all(self.checks.values())

    def as_dict(self) -> dict[str, Any]:
        """The result as a dict, for one line of JSON; the job's figures come first."""
        outcome = {each.name: getattr(self, each.name) for each in fields(self)}
        figures, records, out = outcome.pop("figures"), outcome.pop("records"), outcome.pop("out")
        seconds = sum(self.stage_seconds.values())
        return {
            **figures,
            "ok": self.ok,
            **outcome,
            "seconds": round(seconds, 3),
            "records_per_second": round(records / seconds) if seconds else 0,
            "output": str(out),
        }


class _Timer:
    """Seconds and memory by stage."""

    def __init__(self, memory: TreeMemory) -> None:
        self.seconds: dict[str, float] = {}
        self.memory: dict[str, int] = {}
        self._tree = memory
        self._last = time.perf_counter()

    def __call__(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = round(now - self._last, 3)
        self.memory[name] = self._tree.take()
        self._last = now


def run_job(
    request: RunRequest, *, spark: SparkSession | None = None, say: Callable[[str], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> RunResult:  # fmt: skip
    """Run a job over many regions.

    Raises:
        DefinitionError, DatasetError: the job or its input cannot be used.
        TdqError: Spark or a Java for it is missing; this is checked before the work begins.
        StageFailed: a stage could not be finished; running it again continues with the rest.
    """
    size = sum(path.stat().st_size for path in request.dd.values())
    if choose(request.engine, records=request.records or 0, size=size).name == "spark" and spark is None:
        check_session()
    with loaded_job(request.directory) as job, TreeMemory().watching() as memory:
        timer = _Timer(memory)
        files = _inputs(job, request, progress)
        timer("input")
        size = sum(path.stat().st_size for path in files.values())
        first, length = next(iter(job.inputs.items()))
        records = files[first].stat().st_size // length
        runner = choose(request.engine, records=records, size=size, spark=spark, say=say)
        runner.announce()
        expected, reconciled = runner.execute(_whole_run(job, request, files, timer))
        result = _result(job, request, runner, expected, reconciled, records, timer, files)
    publish_json(request.out / "run.json", result.as_dict())
    return result


def _whole_run(
    job: SpreadJob, request: RunRequest, files: Mapping[str, Path], timer: _Timer
) -> Plan[tuple[Receipt, list[Receipt]]]:
    """The plan of a whole run: returns the receipts of the expected table, and of reconcile."""
    run, base = request.out, _base(request, files)
    spec = ReplaySpec(directory=request.directory.resolve(), seed=request.seed, commands=request.commands)
    buckets = yield from spread_events(run, _pieces(job, request, files), base, request.buckets, "exchange")
    timer("ingest")
    yield from replay_events(run, buckets, spec, base)
    timer("replay")
    wanted = ExpectTask(run, 0, base, 1, request.directory.resolve(), tuple(sorted(files.items())), request.regions)
    (expected,) = yield TaskStep("expected", run, [wanted], compute_expected, _EXPECTED)
    pieces = parquet_pieces([run / name for name in expected.files], BOUNDS["batch_rows"])
    yield from spread_events(run, pieces, base, request.buckets, "expected", buckets.regions)
    timer("expected")
    matches = {
        name: Match(key=each.key, order=each.order, copybook=each.copybook, masks=each.masks)
        for name, each in job.outputs.items()
    }
    reconciled = yield from reconcile_records(run, buckets, matches, digest_of(base, repr(matches)))
    timer("reconcile")
    return expected, reconciled


@dataclass(frozen=True, slots=True)
class ExpectTask(StageTask):
    """Compute the records that must come out of a job, without its programs, in one file."""

    directory: Path
    files: tuple[tuple[str, Path], ...]
    regions: int


def compute_expected(task: ExpectTask) -> Receipt:
    """Write the expected records as an event table."""
    started, name = time.perf_counter(), f"{_EXPECTED}/00000.parquet"
    with loaded_job(task.directory) as job:
        tables = job.expected(dict(task.files), task.regions)
        rows = write_parquet(task.run / name, (part for table in tables for part in table.to_batches()), EVENTS)
    return publish(task, "expected", (name,), rows, started)


def _inputs(job: SpreadJob, request: RunRequest, progress: Callable[[str, int, int], None] | None) -> dict[str, Path]:
    """The input data sets; files generated earlier with the same arguments are used again."""
    folder = request.out / "input"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / "generated.json"
    wanted = {
        "records": request.records,
        "seed": request.seed,
        "version": __version__,
        "code": code_of(request.directory),
    }
    if not request.dd and stamp.is_file():
        earlier = json.loads(stamp.read_text("utf-8"))
        files = {name: folder / file for name, file in earlier.pop("files").items()}
        if earlier == wanted and all(path.is_file() for path in files.values()):
            return files
    show = progress or (lambda *_: None)
    files = job.prepare(SpreadRequest(request.directory, folder, request.dd, request.records, request.seed, show))
    for name, path in files.items():
        if not path.is_file():
            raise DatasetError(f"DD {name}: {path} is not a file")
    if not request.dd:
        publish_json(stamp, wanted | {"files": {name: path.name for name, path in files.items()}})
    return {name: files[name].resolve() for name in job.inputs}


def _base(request: RunRequest, files: Mapping[str, Path]) -> str:
    """A digest of everything that the outcome depends on."""
    content = {name: stamp(path) for name, path in files.items()}
    return digest_of(
        content, code_of(request.directory), request.regions, request.buckets, request.seed, request.piece_bytes
    )


def _pieces(job: SpreadJob, request: RunRequest, files: Mapping[str, Path]) -> list[Piece]:
    """The input data sets, divided."""
    pieces: list[Piece] = []
    given = tuple(sorted(files.items()))
    for place, (dd, length) in enumerate(job.inputs.items()):
        whole = FixedPiece(files[dd], dd, place, length, request.directory.resolve(), request.regions, given)
        pieces += whole.divided(request.piece_bytes)
    return pieces


# the outcome ---------------------------------------------------------------------------------------------------------


def _expected_tables(run: Path, expected: Receipt) -> Iterator[pa.Table]:
    """Expected tables of a few megabytes: a job handles them record by record, and other processes need memory too."""
    for name in expected.files:
        file = pq.ParquetFile(run / name)
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(BOUNDS["batch_rows"] // 8, row_groups=[group], use_threads=False):
                yield conform(pa.Table.from_batches([batch]), str(run / name))


def _result(
    job: SpreadJob, request: RunRequest, runner: Runner, expected: Receipt, reconciled: list[Receipt],
    records: int, timer: _Timer, files: Mapping[str, Path],
) -> RunResult:  # fmt: skip
    regions = RegionOutcomes.of(request.out)
    figures: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for row in regions.rows:
        with _jobs_own(job, "add_figures"):
            job.add_figures(figures, json.loads(row["figures"]))
        for name, holds in json.loads(row["checks"]).items():
            if not holds:
                wrong.setdefault(name, row["region"])
    with _jobs_own(job, "expected_figures"):
        wanted = job.expected_figures(_expected_tables(request.out, expected))
    differences = sum_of(reconciled, "differences")
    causes = {region: _placed(cause, job, files) for region, cause in regions.causes.items()}
    checks = Checks()
    checks.of_regions(regions, causes)
    checks.add("every region's own checks hold", not wrong, few(wrong))
    for name, value in wanted.items():
        observed = f"{figures.get(name)} is not {value}"
        checks.add(f"{name} as computed independently", figures.get(name) == value, observed)
    checks.of_differences(differences)
    return RunResult(
        figures, checks.holds, checks.seen, runner.name, runner.why, len(regions.rows), causes,
        dict(sorted(differences.items())), regions.digest, dict(timer.seconds), dict(timer.memory), records,
        request.out,
    )  # fmt: skip


@contextmanager
def _jobs_own(job: SpreadJob, what: str) -> Iterator[None]:
    """Call a function of the job."""
    try:
        yield
    except (TdqError, OSError):
        raise
    except Exception as error:
        raise DatasetError(f"{type(job).__name__}.{what} failed: {type(error).__name__}: {error}") from error


def _placed(cause: str, job: SpreadJob, files: Mapping[str, Path]) -> str:
    """A region's cause; if the cause is a bad input record, with the file, the record and the offset."""
    match = _EVENT.search(cause)
    if match is None:
        return cause
    place, number = divmod(int(match[1]), 1 << DD_SHIFT)
    names = list(job.inputs)
    if place >= len(names):
        return cause
    dd = names[place]
    offset = number * job.inputs[dd]
    return _EVENT.sub(f" ({files[dd]}: record {number + 1} at offset {offset}; correct it and run it again)", cause)
