"""Write rows to data sets: each task writes a part next to the target, and the commit joins the parts in order.

Joining whole blocks and records keeps every format valid: a part may end with a short block, as in data sets extended
with DISP=MOD. The target changes in one rename, so that a failed job leaves it unchanged.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tdqsim.core.codepage import codepage
from tdqsim.datasets import Dcb, RecordFormat, write_records
from tdqsim.errors import ConversionError, DatasetError
from tdqsim.pipeline.encoder import RecordEncoder
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.publishing import published
from tdqsim.pipeline.shape import Column, columns_of
from tdqsim.pipeline.splits import compression

__all__ = ["GENERATED", "DataSetPart", "PartWriter", "commit_parts", "discard_parts", "records_of"]

GENERATED = ("File_Id", "Record_Id", "Record_Byte_Length", "Record_Bytes", "_corrupt_fields")


@dataclass(frozen=True, slots=True)
class DataSetPart:
    """The result of one writing task."""

    number: int
    path: str
    rows: int
    bytes: int


class PartWriter:
    """Writes the parts of one data set.

    Raises:
        DatasetError: no path, a remote path, a field without a column, or a column without a field.
    """

    def __init__(self, options: QsamOptions, schema: pa.Schema) -> None:
        self.options = options
        self.job = uuid.uuid4().hex[:12]
        self.target = _target(options).absolute()  # a task may have another current directory
        if options.layout is None:
            _raw_column(schema)
        else:
            _check_columns(columns_of(options.layout, options.shape), schema, options.layout.counters)
        if options.recfm.fixed and options.length <= 0:
            raise DatasetError("fixed-length records need a copybook or record_length")
        if options.write_onto_record_bytes and "Record_Bytes" not in schema.names:
            raise DatasetError("write_onto_record_bytes needs the column Record_Bytes")
        _refuse_format(options)

    def write(self, batches: Iterable[pa.RecordBatch], number: int, attempt: int = 0) -> DataSetPart:
        """Write the rows of one partition.

        Raises:
            ConversionError: a value does not fit its field; the message names the record.
            DatasetError: a record does not fit the format, or the disk is full.
        """
        folder = self.target.parent
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f".{self.target.name}.{self.job}.{number:06d}.{attempt}"
        try:
            rows = write_records(path, records_of(batches, self.options), _dcb(self.options))
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return DataSetPart(number, str(path), rows, path.stat().st_size)


def records_of(batches: Iterable[pa.RecordBatch], options: QsamOptions) -> Iterator[bytes]:
    """The records of rows: encoded by the layout, or the values of the one binary column.

    Raises:
        ConversionError: a value does not fit its field; the message names the record, counted from 1 in these batches.
    """
    number = 0
    encoder = None if options.layout is None else RecordEncoder(options)
    for batch in batches:
        yield from _raw_records(batch, number) if encoder is None else encoder.encode(batch, number)
        number += batch.num_rows


def _raw_records(batch: pa.RecordBatch, before: int) -> Iterator[bytes]:
    for number, value in enumerate(batch.column(_raw_column(batch.schema)).to_pylist(), before + 1):
        if value is None:
            raise ConversionError("the record is null", record=number)
        yield value if isinstance(value, bytes) else codepage("037").encode(value)


def _check_columns(columns: tuple[Column, ...], schema: pa.Schema, counters: frozenset[tuple[str, ...]]) -> None:
    """Check that every field has a column, except redefinitions and numbers of occurrences, which are counted."""
    names = {name.lower() for name in schema.names}
    for column in columns:
        needed = not column.field.redefines and column.field.path not in counters
        if column.name.lower() not in names and needed:
            raise DatasetError(f"the copybook's field {column.field.name} has no column {column.name}")
    known = {column.name.lower() for column in columns} | {name.lower() for name in GENERATED}
    for name in schema.names:
        if name.lower() not in known:
            raise DatasetError(f"the copybook has no field for the column {name}; drop it")


def _raw_column(schema: pa.Schema) -> str:
    if "Record_Bytes" in schema.names:
        return "Record_Bytes"
    if len(schema.names) == 1 and (pa.types.is_binary(schema.types[0]) or pa.types.is_string(schema.types[0])):
        return str(schema.names[0])
    raise DatasetError("without a copybook one column of binary records (Record_Bytes) is written")


def _target(options: QsamOptions) -> Path:
    if len(options.paths) != 1:
        raise DatasetError("one path is written: save(path)")
    path = options.paths[0].removeprefix("file://").removeprefix("file:")
    if "://" in path:
        raise DatasetError(f"{path}: only paths of a file system are written; mount it, or copy the file there")
    if compression(path):
        raise DatasetError(f"{path}: writes are not compressed, but a file with this name would be read as compressed")
    return Path(path) / "part" if options.output == "directory" else Path(path)


def _refuse_format(options: QsamOptions) -> None:
    """Refuse options that would write data in a different way than it would be read."""
    recfm = options.recfm
    if options.cobrix and recfm not in (RecordFormat.F, RecordFormat.RDW):
        raise DatasetError("format cobol writes record_format F and V; format qsam writes the others")
    usual = options.bdw_big_endian and options.rdw_big_endian
    usual = usual and options.bdw_adjustment == options.rdw_adjustment == -4
    if options.fixed_blocks or (recfm.variable and not usual):
        raise DatasetError("blocks are written with the descriptor words of data sets; leave rdw and bdw options out")


def _dcb(options: QsamOptions) -> Dcb:
    recfm = options.recfm
    if recfm.fixed:
        block = options.block_length if recfm is RecordFormat.FB else 0
        return Dcb(recfm=recfm, lrecl=options.length, blksize=block)
    if recfm is RecordFormat.RDW:
        inclusive, big = options.rdw_adjustment == -4, options.rdw_big_endian
        form = recfm if big else RecordFormat.RDWLE
        return Dcb(recfm=form, rdw_inclusive=inclusive, rdw_position=None if big else 2)
    return Dcb(recfm=recfm, lrecl=0 if recfm.separator else options.record_length, blksize=options.block_length)


def commit_parts(options: QsamOptions, parts: Iterable[DataSetPart], *, overwrite: bool) -> None:
    """Join the parts to the data set: the old one is replaced or, for append, extended like DISP=MOD.

    Raises:
        DatasetError: the target cannot be written; the parts are removed and the target is unchanged.
    """
    ordered = sorted(parts, key=lambda part: part.number)
    target = _target(options)
    try:
        if options.output == "directory":
            _into_directory(target.parent, ordered, overwrite=overwrite)
        else:
            _into_file(target, ordered, overwrite=overwrite)
    except OSError as error:
        raise DatasetError(f"{target}: cannot be written: {error}") from error
    finally:
        discard_parts(ordered)


def _into_file(target: Path, parts: list[DataSetPart], *, overwrite: bool) -> None:
    pieces = [Path(part.path) for part in parts]
    if not overwrite and target.exists():
        pieces.insert(0, target)
    with published(target) as fresh, fresh.open("wb") as out:
        for piece in pieces:
            with piece.open("rb") as source:
                shutil.copyfileobj(source, out, 1 << 20)
        out.flush()
        os.fsync(out.fileno())


def _into_directory(folder: Path, parts: list[DataSetPart], *, overwrite: bool) -> None:
    old = sorted(folder.glob("part-*")) if overwrite else []
    stamp = uuid.uuid4().hex[:8]
    for part in parts:
        Path(part.path).replace(folder / f"part-{part.number:05d}-{stamp}")
    for path in old:
        path.unlink()
    (folder / "_SUCCESS").touch()


def discard_parts(parts: Iterable[DataSetPart]) -> None:
    """Remove parts that are still there."""
    for part in parts:
        Path(part.path).unlink(missing_ok=True)
