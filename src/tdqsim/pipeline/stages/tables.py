"""The tables that replay writes, and writers with bounded memory that also compute a digest for each region."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tdqsim.errors import DatasetError
from tdqsim.pipeline._columns import joined_bytes
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.parquet import parquet_writer, read_parquet, schema
from tdqsim.pipeline.publishing import no_room, published
from tdqsim.pipeline.stages.manifest import finished, read_manifest

_ROWS_AT_ONCE = 8192
"""Rows that are kept as tuples before they become columns; each may contain a record of 32,760 bytes."""

TABLES = {
    "results": schema(
        "region string, seq int64, time_us int64, task int64, command string, queue string, resp string, "
        "resp2 int32, as_expected bool, length int32, data binary, depth int64, cause string"
    ),
    "records": schema("region string, queue string, kind string, recno int64, key binary, data binary"),
    "queue_final": schema(
        "region string, queue string, kind string, depth int64, peak int64, bytes int64, digest string"
    ),
    "ati_events": schema(
        "region string, queue string, tran string, task int64, depth int64, attached_us int64, began_us int64, "
        "waited_dispatches int64"
    ),
    "depth": schema("region string, queue string, step int64, time_us int64, depth int64"),
    "regions": schema(
        "region string, kind string, events int64, unexpected int64, tasks int64, dispatches int64, "
        "ati_starts int64, abends string, waiting string, cause string, figures string, checks string, digest string"
    ),
}
"""The tables that replay writes; ``results`` has every response, ``records`` the contents of queues and data sets at
the end, and so on."""


class Rows:
    """Rows of one table for one region; written whenever there are enough of them.

    Attributes:
        before: called before a row is added, so that earlier rows are written first.
        count: rows so far.
    """

    def __init__(self, tables: BucketTables, name: str) -> None:
        self._tables = tables
        self._schema = TABLES[name]
        self._name = name
        self._rows: list[tuple[object, ...]] = []
        self.before: Callable[[], None] | None = None
        self.count = 0

    def add(self, *row: object) -> None:
        """Add one row, in the order of the columns after the region."""
        if self.before is not None:
            self.before()
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self.flush()

    def extend(self, rows: Iterable[tuple[object, ...]]) -> None:
        """Add several rows, without a call of ``before``."""
        self._rows.extend(rows)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write the rows held."""
        if self._rows:
            columns = [
                pa.array(column, field.type)
                for column, field in zip(zip(*self._rows, strict=True), list(self._schema)[1:], strict=True)
            ]
            self._rows.clear()
            self._put(columns)

    def columns(self, columns: list[pa.Array]) -> None:
        """Add rows that are already columns, those after the region."""
        self.flush()
        if len(columns[0]):
            self._put(columns)

    def _put(self, columns: list[pa.Array]) -> None:
        region = pa.repeat(pa.scalar(self._tables.region, pa.string()), len(columns[0]))
        self.count += len(columns[0])
        self._tables.put(self._name, pa.record_batch([region, *columns], schema=self._schema))


@dataclass(slots=True)
class _Held:
    """Batches of a table that are to be one row group."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    size: int = 0


class BucketTables:
    """The tables of one bucket, inside the block of :func:`bucket_tables`."""

    def __init__(self, paths: Mapping[str, Path], writers: Mapping[str, pq.ParquetWriter]) -> None:
        self.region = ""
        self.rows = 0
        self.failed: Exception | None = None
        self._paths = paths
        self._writers = writers
        self._digest = RowsDigest()
        self._held = {name: _Held() for name in paths}

    @contextmanager
    def of(self, region: str) -> Iterator[dict[str, Rows]]:
        """Rows for each table of one region."""
        self.region = region
        self._digest = RowsDigest()
        rows = {name: Rows(self, name) for name in self._paths}
        yield rows
        for each in rows.values():
            each.flush()

    def digest(self, rows: dict[str, Rows]) -> str:
        """The digest of the region's rows so far.

        Raises:
            DatasetError: the disk had no room for some of them.
        """
        if self.failed is not None:
            raise self.failed
        for each in rows.values():
            each.flush()
        return self._digest.hexdigest()

    def put(self, name: str, batch: pa.RecordBatch) -> None:
        """Add some rows to a table and to the region's digest."""
        self.rows += batch.num_rows
        self._digest.update(name, batch)
        held = self._held[name]
        held.batches.append(batch)
        held.rows += batch.num_rows
        held.size += batch.nbytes
        if held.rows >= BOUNDS["batch_rows"] or held.size >= BOUNDS["batch_bytes"]:
            self._flush(name)

    def flush(self) -> None:
        """Write the rows held, of all tables."""
        for name in self._held:
            self._flush(name)

    def _flush(self, name: str) -> None:
        """Write the rows held, of one table."""
        if self.failed is not None:
            raise self.failed
        held = self._held[name]
        if not held.rows:
            return
        whole = pa.Table.from_batches(held.batches, schema=TABLES[name])
        try:
            self._writers[name].write_table(whole, row_group_size=held.rows)
        except OSError as error:
            self.failed = no_room(self._paths[name], error) or error
            raise self.failed from error
        self._held[name] = _Held()


@contextmanager
def bucket_tables(run: Path, files: Mapping[str, str]) -> Iterator[BucketTables]:
    """The tables of one bucket; they get their names at the end of the block, all or none.

    Raises:
        DatasetError: the disk had no room for some rows, whatever other error followed.
    """
    paths = {name: run / file for name, file in files.items()}
    tables = None
    try:
        with ExitStack() as stack:
            fresh = {name: stack.enter_context(published(path)) for name, path in paths.items()}
            writers = {name: stack.enter_context(parquet_writer(path, TABLES[name])) for name, path in fresh.items()}
            tables = BucketTables(paths, writers)
            yield tables
            tables.flush()
    except Exception as error:  # the error of a writer at the end of the block is a consequence of the full disk
        if tables is None or tables.failed is None or tables.failed is error:
            raise
        raise tables.failed from error


def table_files(run: Path, stage: str, name: str) -> list[Path]:
    """The files of a table, in bucket order; none if the stage is not complete."""
    files = (file for part in read_manifest(run, stage) for file in part.files)
    return [run / file for file in files if file.startswith(f"{stage}/{name}/")]


def read_table(run: Path, stage: str, name: str, columns: list[str] | None = None) -> pa.Table:
    """A table of all buckets, sorted by region; for the small ones.

    Raises:
        DatasetError: it is missing or incomplete: the stage was not run, or was not completed.
    """
    if not (run / stage / name).exists():
        raise DatasetError(f"{run / stage / name}: there are no files; run tdq pipeline {stage} first")
    finished(run, stage, stage)
    whole = pa.concat_tables([read_parquet(file, columns) for file in table_files(run, stage, name)])
    # Each region is in one file, with its rows in order, and the sort is stable.
    return whole.take(pc.sort_indices(whole.column("region"))) if "region" in whole.column_names else whole


class _Column:
    """One column: a mask of the values, their lengths if they differ, and their bytes."""

    __slots__ = ("_bytes", "_lengths", "_valid")

    def __init__(self) -> None:
        self._valid, self._lengths, self._bytes = (blake2b(digest_size=16) for _ in range(3))

    def add(self, column: pa.Array) -> None:
        self._valid.update(column.is_valid().cast(pa.uint8()).to_numpy().data)
        column = column.drop_null() if column.null_count else column
        if pa.types.is_binary(column.type) or pa.types.is_string(column.type):
            self._lengths.update(pc.binary_length(column).to_numpy().data)
            self._bytes.update(joined_bytes(column))
        else:
            values = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
            self._bytes.update(np.ascontiguousarray(values.to_numpy()).data)

    def digest(self) -> bytes:
        return self._valid.digest() + self._lengths.digest() + self._bytes.digest()


class RowsDigest:
    """A digest of the rows of several tables; it depends on the order of the rows in a table, not of the tables."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], _Column] = {}

    def update(self, name: str, batch: pa.RecordBatch) -> None:
        """Add more rows of a table."""
        for column, each in zip(batch.columns, batch.schema, strict=True):
            key = (name, each.name)
            if key not in self._columns:
                self._columns[key] = _Column()
            self._columns[key].add(column)

    def hexdigest(self) -> str:
        """The digest of all rows added so far."""
        total = blake2b(digest_size=16)
        for key in sorted(self._columns):
            total.update("/".join(key).encode() + b"\0" + self._columns[key].digest())
        return total.hexdigest()
