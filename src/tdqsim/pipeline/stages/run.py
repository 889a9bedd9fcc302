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
from tdqsim.pipeline.publishing import publish_json, published, stamp
from tdqsim.pipeline.session import check_session
from tdqsim.pipeline.stages.engine import EngineName, StageEngine, choose, insist
from tdqsim.pipeline.stages.events import EVENTS, conform
from tdqsim.pipeline.stages.exchange import DD_SHIFT, FixedPiece, Piece, pieces_of
from tdqsim.pipeline.stages.jobs import SpreadJob, SpreadRequest, loaded_job
from tdqsim.pipeline.stages.manifest import Receipt, digest_of, keep_only
from tdqsim.pipeline.stages.outcome import Checks, RegionOutcomes, few
from tdqsim.pipeline.stages.plan import (
    BucketPlan,
    code_of,
    parquet_pieces,
    reconcile_exchange,
    replay_exchange,
    spread_events,
    sum_of,
)
from tdqsim.pipeline.stages.reconcile import Match
from tdqsim.pipeline.stages.replay import ReplaySpec
from tdqsim.pipeline.stages.tree_memory import TreeMemory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["RunRequest", "RunResult", "run_job"]


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
        independent_result: how the expected output was computed.
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
    independent_result: str
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
    talk = say or (lambda _: None)
    _check_engine(request, spark)
    with loaded_job(request.directory) as job, TreeMemory().watching() as memory:
        timer = _Timer(memory)
        files = _inputs(job, request, progress)
        timer("input")
        size = sum(path.stat().st_size for path in files.values())
        first, length = next(iter(job.inputs.items()))
        records = files[first].stat().st_size // length
        engine = choose(request.engine, records=records, size=size, spark=spark, say=talk)
        talk(f"engine {engine.name}: {engine.why}")
        base = _base(request, files)
        plan = _spread(engine, job, request, files, base)
        timer("ingest")
        replay_exchange(engine, request.out, plan, _spec(request), base)
        timer("replay")
        independent = _expect(engine, job, request, files, base, plan)
        timer("expected")
        reconciled = _reconcile(engine, job, request, plan, base)
        timer("reconcile")
        result = _result(job, request, engine, reconciled, records, independent, timer, files)
    publish_json(request.out / "run.json", result.as_dict())
    return result


def _check_engine(request: RunRequest, spark: SparkSession | None) -> None:
    """Check that Spark is installed if the run needs it, before the input is generated."""
    size = sum(path.stat().st_size for path in request.dd.values())
    if spark is None and choose(request.engine, records=request.records or 0, size=size).name == "spark":
        check_session()


def _spec(request: RunRequest) -> ReplaySpec:
    return ReplaySpec(directory=request.directory.resolve(), seed=request.seed, commands=request.commands)


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
        content, code_of(request.directory), request.regions, request.buckets, request.seed, request.commands,
        request.piece_bytes,
    )  # fmt: skip


# spreading -----------------------------------------------------------------------------------------------------------


def _spread(
    engine: StageEngine, job: SpreadJob, request: RunRequest, files: Mapping[str, Path], base: str
) -> BucketPlan:
    pieces: list[Piece] = []
    given = tuple(sorted(files.items()))
    for place, (dd, length) in enumerate(job.inputs.items()):
        path = files[dd]

        def whole(first: int, count: int, path: Path = path, dd: str = dd, place: int = place, length: int = length
        ) -> Piece:  # fmt: skip
            return FixedPiece(
                path, dd, place, length, first, count, request.directory.resolve(), request.regions, given
            )

        pieces += pieces_of(path, whole, length, request.piece_bytes)
    return spread_events(engine, request.out, pieces, base, request.buckets, "exchange")


# what must come out --------------------------------------------------------------------------------------------------


def _expect(
    engine: StageEngine, job: SpreadJob, request: RunRequest, files: Mapping[str, Path], base: str, plan: BucketPlan
) -> str:
    """Compute the expected output and store it by bucket; returns how it was computed."""
    folder = request.out / f"expected.{engine.name}"
    stamp = folder / "inputs.json"
    if not stamp.is_file() or json.loads(stamp.read_text("utf-8")) != {"base": base}:
        if engine.name == "spark":
            _expect_by_sql(engine, job, request, files, folder)
        else:
            keep_only(request.out, folder.name, ())
            _expect_here(job, request, files, folder)
        publish_json(stamp, {"base": base})
    pieces = parquet_pieces(sorted(folder.glob("*.parquet")), BOUNDS["batch_rows"])
    spread_events(engine, request.out, pieces, digest_of(base, engine.name), request.buckets, "expected", plan.regions)
    return "Spark SQL" if engine.name == "spark" else "a plain loop in Python over columns decoded by the layout"


def _expect_by_sql(
    engine: StageEngine, job: SpreadJob, request: RunRequest, files: Mapping[str, Path], folder: Path
) -> None:
    spark = engine.session()
    frame = job.expected_sql(spark, files, request.regions)
    frame = frame.selectExpr("region", "seq", "'EXPECT' as command", "queue", "key", "data")
    # The next stage is divided at row groups, and each writer holds one row group in memory.
    groups = {"parquet.block.size": BOUNDS["batch_bytes"] // 8}
    writer = frame.write.options(**groups).mode("overwrite")
    insist(engine, "expected", lambda: writer.parquet(str(folder.resolve())))


def _expect_here(job: SpreadJob, request: RunRequest, files: Mapping[str, Path], folder: Path) -> None:
    with (
        published(folder / "00000.parquet") as fresh,
        pq.ParquetWriter(fresh, EVENTS, compression="zstd") as writer,
    ):
        for part in job.expected(files, request.regions):
            if part.num_rows:
                writer.write_table(part)


def _expected_tables(run: Path, engine: str) -> Iterator[pa.Table]:
    """Expected tables of a few megabytes: a job handles them record by record, and other processes need memory too."""
    for path in sorted((run / f"expected.{engine}").glob("*.parquet")):
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(BOUNDS["batch_rows"] // 8, row_groups=[group], use_threads=False):
                yield conform(pa.Table.from_batches([batch]), str(path))


def _reconcile(engine: StageEngine, job: SpreadJob, request: RunRequest, plan: BucketPlan, base: str) -> list[Receipt]:
    matches = {
        name: Match(key=each.key, order=each.order, copybook=each.copybook, masks=each.masks)
        for name, each in job.outputs.items()
    }
    return reconcile_exchange(engine, request.out, plan, matches, digest_of(base, engine.name, repr(matches)))


# the outcome ---------------------------------------------------------------------------------------------------------


def _result(
    job: SpreadJob, request: RunRequest, engine: StageEngine, reconciled: list[Receipt],
    records: int, independent: str, timer: _Timer, files: Mapping[str, Path],
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
        expected = job.expected_figures(_expected_tables(request.out, engine.name))
    differences = sum_of(reconciled, "differences")
    causes = {region: _placed(cause, job, files) for region, cause in regions.causes.items()}
    checks = Checks()
    checks.of_regions(regions, causes)
    checks.add("every region's own checks hold", not wrong, few(wrong))
    for name, value in expected.items():
        observed = f"{figures.get(name)} is not {value}"
        checks.add(f"{name} as computed independently", figures.get(name) == value, observed)
    checks.of_differences(differences)
    return RunResult(
        figures, checks.holds, checks.seen, engine.name, engine.why, independent, len(regions.rows), causes,
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
