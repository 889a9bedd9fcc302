"""Read data sets as DataFrames; tasks decode only the columns that you ask for.

    read_data_set(spark, "DALYTRAN.PS", copybook="dalytran.cpy", columns=["TRAN_ID", "TRAN_AMT"], stage="/shared/stage")

``stage`` is a directory that all workers can access, or a place in an object store. Tasks write the columns there as
Parquet, the cheapest way to pass them to Spark, and the frame is Spark's own reader over these files. The files are
kept and used again for the same columns of the same inputs with the same layout and options. An input, or a file made
from it, is the same if its name, size and times of change are the same. Without ``stage`` the frame reads the data set
each time it is used.

Options, rows, types and errors are those of ``format("qsam")``.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from tdqsim.errors import DatasetError
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.opening import list_files
from tdqsim.pipeline.options import QsamOptions, read_options
from tdqsim.pipeline.parquet import write_parquet
from tdqsim.pipeline.publishing import is_local, place, reached, stamp
from tdqsim.pipeline.quality import ColumnQuality, DataQualityWarning, Quality, tell, telling
from tdqsim.pipeline.sessions import spark_schema, task_frames
from tdqsim.pipeline.source import ReadPlan, columns_among
from tdqsim.pipeline.splits import Split
from tdqsim.pipeline.stages.manifest import Receipt, StageTask, digest_of, publish, read_manifest, whole
from tdqsim.pipeline.stages.plan import TaskStep
from tdqsim.pipeline.stages.runners import LocalRunner, Runner, SparkRunner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
STAGE = "decode"
_COUNTS = pa.schema([("number", pa.int64()), ("quality", pa.string())])
_QUALITY = (
    "column string, rows long, corrupt long, nulls long, file string, record long, record_offset long, offset int, "
    "bytes binary"
)
_PATTERN = re.compile(r"([\\\[\]{}*?,^])")
"""Characters in a file name that Hadoop would interpret as a pattern."""


def read_data_set(
    spark: SparkSession,
    path: str | Path | Sequence[str | Path],
    *,
    columns: Iterable[str] | None = None,
    stage: str | Path | None = None,
    **options: Any,
) -> DataFrame:
    """A DataFrame of the records of data sets.

    Args:
        spark: the session.
        path: files, directories or patterns, local or of an object store.
        columns: the columns to return, in this order; None for all.
        stage: where the Parquet files are kept; None to decode each time the frame is used.
        options: those of ``format("qsam")``.

    Raises:
        DatasetError: an option or a column is not known, a file cannot be read, or its descriptor words are wrong; with
            ``stage`` also an error in a record under ``mode="failfast"``.
        LayoutError: the copybook cannot be used.

    Warns:
        DataQualityWarning: values are corrupt; how many by column, and the first of each. Or records of child segments
            have no parent, and are left out. With ``stage`` at once, for
            all data; otherwise when the frame is used, once, for the part in which they were found first.
    """
    if stage is not None:
        staged = stage_data_set(path, stage, columns=columns, engine=SparkRunner(spark), **options)
        if said := "; ".join(filter(None, (staged.quality.lost, *staged.quality.lines()))):
            warnings.warn(said, DataQualityWarning, stacklevel=2)
        return staged.frame(spark)
    plan = _plan(path, columns, options)

    teller = telling(spark)

    def read(splits: tuple[Split, ...]) -> Iterator[pa.RecordBatch]:
        quality = Quality()
        yield from _batches(plan, splits, quality)
        tell(teller, plan.name, quality)

    return _frame(spark, grouped(plan.splits()), read, plan.schema)


def data_quality(
    spark: SparkSession,
    path: str | Path | Sequence[str | Path],
    *,
    columns: Iterable[str] | None = None,
    **options: Any,
) -> DataFrame:
    """The quality of data sets: a row for each column with its corrupt and null values, and the first corrupt one.

    Tasks decode the data sets once. Arguments, options and errors are those of :func:`read_data_set`. The columns of
    the frame are ``column``, ``rows``, ``corrupt``, ``nulls``, and, of the first corrupt value, ``file``, ``record``
    (null where it was not counted), ``record_offset`` (of the record in the file), ``offset`` (of the field in the
    record) and ``bytes``.
    """
    plan = _plan(path, columns, options)

    def read(item: tuple[int, tuple[Split, ...]]) -> Iterator[pa.RecordBatch]:
        quality = Quality()
        for _ in _batches(plan, item[1], quality):
            pass
        yield pa.record_batch([pa.array([item[0]]), pa.array([json.dumps(quality.as_json())])], _COUNTS)

    total, names = Quality(), dict.fromkeys(plan.schema.names)
    counted = _frame(spark, list(enumerate(grouped(plan.splits()))), read, _COUNTS).collect()
    for row in sorted(counted, key=lambda row: int(row["number"])):
        total.add(Quality.from_json(json.loads(row["quality"])))
    rows = []
    for name in [*names, *(name for name in total.columns if name not in names)]:
        each = total.columns.get(name, ColumnQuality())
        first = each.first
        shown: tuple[object, ...] = (None,) * 5
        if first is not None:
            shown = (first.file, first.record or None, first.at, first.offset, bytes.fromhex(first.hex))
        rows.append((name, total.rows, each.corrupt, each.nulls, *shown))
    return spark.createDataFrame(rows, _QUALITY)


def _plan(path: str | Path | Sequence[str | Path], columns: Iterable[str] | None, options: dict[str, Any]) -> ReadPlan:
    """The plan of a read of some columns; their names are spelled in any case."""
    plan = ReadPlan.of(_options(path, options))
    return plan.only(columns_among(plan.full.names, columns))


def _options(path: str | Path | Sequence[str | Path], options: dict[str, Any]) -> QsamOptions:
    paths = [path] if isinstance(path, str | Path) else list(path)
    # As a JSON list, because a name may contain commas.
    where = {"path": str(paths[0])} if len(paths) == 1 else {"paths": json.dumps([str(each) for each in paths])}
    return read_options(options | where)


def grouped(splits: Sequence[Split]) -> list[tuple[Split, ...]]:
    """The parts that each task reads: one, or several consecutive ones if there are very many parts."""
    each = -(-len(splits) // BOUNDS["decode_tasks"])
    return [tuple(splits[at : at + each]) for at in range(0, len(splits), max(each, 1))]


def _batches(plan: ReadPlan, splits: Iterable[Split], quality: Quality | None = None) -> Iterator[pa.RecordBatch]:
    for split in splits:
        yield from plan.read(split, quality)


def _frame(spark: SparkSession, items: Sequence[T], read: Callable[[T], Any], schema: pa.Schema) -> DataFrame:
    """A frame of the batches that ``read`` gives for each item, with one task for each item."""
    frames = list(task_frames(spark, items, read, schema))
    return (
        reduce(lambda one, other: one.unionAll(other), frames)
        if frames
        else spark.createDataFrame([], spark_schema(schema))
    )


# staged ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DecodeTask(StageTask):
    """Decode parts of data sets into a Parquet file; its weight is in bytes."""

    plan: ReadPlan
    splits: tuple[Split, ...]


def decode_part(task: DecodeTask) -> Receipt:
    """Decode the columns of some parts, and write them and their receipt.

    Raises:
        DatasetError: a part cannot be read, or the file cannot be written.
        ConversionError: a field is corrupt under ``failfast``.
    """
    started, name = time.perf_counter(), f"data/{task.bucket:05d}.parquet"
    quality = Quality()
    rows = write_parquet(task.run / name, _batches(task.plan, task.splits, quality), task.plan.schema)
    return publish(task, STAGE, (name,), rows, started, quality=quality.as_json())


@dataclass(frozen=True, slots=True)
class Staged:
    """Columns of data sets as Parquet.

    Attributes:
        folder: where they are.
        schema: the columns.
        files: the files, in the order of the records.
        rows: how many records there are.
        quality: the corrupt and null values by column, and how many records are left out.
    """

    folder: Path
    schema: pa.Schema
    files: tuple[str, ...]
    rows: int
    quality: Quality

    def frame(self, spark: SparkSession) -> DataFrame:
        """A frame over the files: Spark's own reader, or tasks in an object store, where Spark needs extra jars."""
        if is_local(self.folder):
            named = _PATTERN.sub(r"\\\1", f"{self.folder.as_posix()}/data")
            return spark.read.schema(spark_schema(self.schema)).parquet(f"file://{named}")
        return _frame(spark, range(len(self.files)), self.batches, self.schema)

    def write(self, path: str) -> None:
        """Write all rows to one Parquet file.

        Raises:
            DatasetError: it cannot be written.
        """
        write_parquet(path, (batch for number in range(len(self.files)) for batch in self.batches(number)), self.schema)

    def batches(self, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of one file."""
        for batch in _parquet(self.folder / self.files[number]).iter_batches(use_threads=False):
            yield batch.cast(self.schema)


def stage_data_set(
    path: str | Path | Sequence[str | Path],
    stage: str | Path,
    *,
    columns: Iterable[str] | None = None,
    engine: Runner | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> Staged:
    """Have tasks write columns of data sets as Parquet, unless the files exist already.

    Args:
        path: files, directories or patterns, local or of an object store.
        stage: the directory that holds them, in a subdirectory for each set of inputs, options and columns.
        columns: the columns to return, in this order; None for all.
        engine: where tasks run; this process by default.
        progress: called with a label, the bytes that tasks in this process have read, and all bytes.
        options: those of ``format("qsam")``.

    Raises:
        DatasetError: as :func:`read_data_set`; or tasks wrote the files where this process does not see them.
    """
    if not str(stage):
        raise DatasetError("stage is empty; . is the current directory")
    plan = _plan(path, columns, options)
    checked, names = plan.options, tuple(plan.schema.names)
    files = [name for name, _ in list_files(checked.paths)]
    with ThreadPoolExecutor() as pool:  # in an object store, each size is a request
        stamps = list(pool.map(stamp, files))
    shown = files if checked.with_input_file_name_col else []  # the column contains the paths as they were given
    inputs = digest_of(stamps, sorted(options.items()), repr(checked.layout), names, shown)
    run = place(stage) / inputs
    with reached(run):
        rows = _kept(run)
        if not rows:
            _decode(engine or LocalRunner(), run, inputs, plan, progress)
            rows = read_manifest(run, STAGE)
    made = tuple(row.files[0] for row in rows)
    quality = Quality()
    for row in rows:
        quality.add(Quality.from_json(row.details.get("quality", {})))
    return Staged(run, plan.schema, made, sum(row.rows for row in rows), quality)


def _kept(run: Path) -> list[Receipt]:
    """The result of an earlier run, if all of it still exists."""
    try:
        rows = read_manifest(run, STAGE)
        with ThreadPoolExecutor() as pool:
            good = all(pool.map(lambda row: whole(run, row.files, row.state), rows))
    except (OSError, pa.ArrowException):  # the manifest is damaged
        return []
    return rows if good else []


def _decode(
    runner: Runner, run: Path, inputs: str, plan: ReadPlan, progress: Callable[[str, int, int], None] | None
) -> None:
    """Have tasks write the columns."""
    tasks = [
        DecodeTask(run, number, inputs, sum(each.end - each.start for each in splits), plan, splits)
        for number, splits in enumerate(grouped(plan.splits()))
    ]
    work, done, every = decode_part, 0, sum(task.weight for task in tasks)

    def shown(task: DecodeTask) -> Receipt:
        nonlocal done
        receipt = work(task)
        done += task.weight
        if progress is not None:
            progress("MB decoded", done >> 20, every >> 20)
        return receipt

    try:  # tasks on Spark run elsewhere, where nothing can be shown
        runner.run(TaskStep(STAGE, run, tasks, shown if isinstance(runner, LocalRunner) else work, "data"))
    except OSError as error:
        problem = error.strerror or error
        raise DatasetError(f"{error.filename or run}: {problem}; stage is the directory it goes to") from error


def _parquet(path: Path) -> pq.ParquetFile:
    """A table of some megabytes at most, read into memory first so that Arrow's threads do not read the file."""
    return pq.ParquetFile(pa.BufferReader(path.read_bytes()))
