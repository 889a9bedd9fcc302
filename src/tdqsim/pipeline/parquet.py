"""Parquet files of the pipeline; each is written under a temporary name and renamed when it is complete."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tdqsim.errors import DatasetError
from tdqsim.pipeline.publishing import is_local, place, published

GROUP_ROWS = 1 << 17
# Beyond this size the writer stops using a dictionary of values. With the usual megabyte, a column of all different
# numbers would first build a dictionary, which halves the speed and makes the file larger.
DICTIONARY_BYTES = 1 << 16


def schema(columns: str) -> pa.Schema:
    """The schema of a table, from names and Arrow's names of types: ``region string, seq int64``."""
    words = (column.split() for column in columns.split(","))
    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in words])


def arrow_source(path: Any) -> tuple[str, Any]:
    """A file, local or in an object store, for functions of Arrow: its name, and its file system (None: local)."""
    return (str(path), None) if is_local(path) else (path.path, path.fs)


def open_parquet(path: Path, **options: Any) -> pq.ParquetFile:
    """A Parquet file, local or in an object store; ``options`` are those of ``pyarrow.parquet.ParquetFile``."""
    source, filesystem = arrow_source(path)
    return pq.ParquetFile(source, filesystem=filesystem, **options)


def read_parquet(path: Path, columns: list[str] | None = None, **options: Any) -> pa.Table:
    """A small table; ``options`` are those of ``pyarrow.parquet.read_table``.

    An object is read into memory first, so that Arrow's threads do not read from the object store.
    """
    source = str(path) if is_local(path) else pa.BufferReader(path.read_bytes())
    return pq.read_table(source, columns=columns, partitioning=None, **options)


def parquet_writer(path: str | Path, schema: pa.Schema, compression: str = "zstd") -> pq.ParquetWriter:
    """A writer that stops using dictionaries of values early."""
    return pq.ParquetWriter(path, schema, compression=compression, dictionary_pagesize_limit=DICTIONARY_BYTES)


def write_parquet(
    path: str | Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, compression: str = "zstd"
) -> int:
    """Write batches to a file, in row groups of some hundred thousand rows; returns the number of rows.

    The file is written under a temporary name and renamed, so that a task that is run twice or killed leaves no partial
    file.

    Raises:
        DatasetError: it cannot be written (disk full, no permission); no file is left.
    """
    rows, waiting, count = 0, list[pa.RecordBatch](), 0
    try:
        with published(place(path)) as fresh, parquet_writer(fresh, schema, compression) as writer:
            for batch in batches:
                waiting.append(batch)
                count += batch.num_rows
                if count >= GROUP_ROWS:
                    writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=count)
                    rows, waiting, count = rows + count, [], 0
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=max(count, 1))
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written: {error}") from error
    return rows + count
