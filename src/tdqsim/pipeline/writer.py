"""Write rows to data sets: each task writes parts into a hidden directory, and the commit puts them in their place.

    write_data_set([{"ID": 1, "NAME": "A"}], "OUT.PS", copybook="out.cpy", record_format="VB")

A data set is one file, to which the commit joins the parts in the order of the tasks, or a directory with a file for
each task. With ``partition_by``, it is a directory tree with a file (or one for each task) for each combination of the
values of some columns. Blocks and records are complete in each part, so every format stays valid when parts are joined:
a part may end with a short block, as in data sets extended with DISP=MOD. A file changes in one rename, and a failed
write leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import pyarrow as pa

from tdqsim.errors import ConversionError, DatasetError
from tdqsim.hosting import codepage
from tdqsim.pipeline.encoder import RecordEncoder
from tdqsim.pipeline.opening import compression
from tdqsim.pipeline.options import QsamOptions, read_options
from tdqsim.pipeline.publishing import no_room, published
from tdqsim.pipeline.record_framing import RecordFraming
from tdqsim.pipeline.shape import columns_of
from tdqsim.pipeline.source import ReadPlan

GENERATED = ("File_Id", "Record_Id", "Record_Byte_Length", "Record_Bytes", "_corrupt_fields")
PLAIN = " !$&()+,;<>@^`|~"
"""Characters that stay in the name of a partition's directory, besides letters, digits and ``_.-``."""
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
ROWS = 4096

Rows: TypeAlias = "pa.RecordBatch | Sequence[Mapping[str, Any] | bytes]"
"""Some rows: a batch, mappings of columns to values, or (without a copybook) records."""


@dataclass(frozen=True, slots=True)
class DataSetPart:
    """What one task has written.

    Attributes:
        number: the task's place among the tasks.
        files: the directory of a partition (empty if there are none), and the file with its records.
        rows: how many rows there were.
    """

    number: int
    files: tuple[tuple[str, str], ...]
    rows: int


class PartWriter:
    """Writes the parts of one data set.

    Args:
        options: the options of the write.
        schema: the columns of the rows; None if the rows are mappings.

    Raises:
        DatasetError: no path, a remote path, options only for reading, a field without a column, or a column without a
            field.
    """

    def __init__(self, options: QsamOptions, schema: pa.Schema | None) -> None:
        self.options = options
        self.path = _target(options).absolute()  # a task may have another current directory
        if options.only_read:
            raise DatasetError(f"{', '.join(options.only_read)}: only for reading; leave it out of a write")
        if options.extracted:
            raise DatasetError("record_header_parser: a write does not know the headers of your parser")
        RecordFraming(options)  # refuses what cannot be written
        self._folder = self.path if _is_tree(options) else self.path.parent
        self._made = [each for each in (self._folder, *self._folder.parents) if not each.exists()]
        self._staging = self._folder / f".{self.path.name}.{uuid.uuid4().hex[:12]}"
        self._checked_names = set[frozenset[str]]()
        if schema is not None:
            self._check_columns(schema.names)
            if options.layout is None:
                _raw_column(schema, options.partition_by)

    def write(self, batches: Iterable[Rows], number: int, attempt: int = 0) -> DataSetPart:
        """Write the rows of one task.

        Raises:
            ConversionError: a value does not fit its field, or a record the format; the message names the record,
                counted from 1 in this task.
            DatasetError: the rows have other columns than the copybook, or the disk is full.
        """
        files: dict[str, tuple[Path, RecordFraming]] = {}
        rows = 0
        encoder = None if self.options.layout is None else RecordEncoder(self.options)
        framing = RecordFraming(self.options)
        try:
            self._staging.mkdir(parents=True, exist_ok=True)
            for batch in batches:
                for folder, records in self._by_folder(batch, rows, encoder, framing):
                    if folder not in files:
                        files[folder] = (
                            self._staging / f"{number:06d}.{attempt}.{len(files)}",
                            RecordFraming(self.options),
                        )
                    _append(files[folder][0], files[folder][1].add(records))
                rows += len(batch)
            if not files and not self.options.partition_by:  # a data set without records
                files[""] = self._staging / f"{number:06d}.{attempt}.0", RecordFraming(self.options)
            for path, framing in files.values():
                _append(path, framing.end())
        except BaseException as error:
            for path, _ in files.values():
                path.unlink(missing_ok=True)
            self._clean()
            if isinstance(error, OSError):
                raise no_room(self.path, error) or DatasetError(f"{self.path}: cannot be written: {error}") from error
            raise
        return DataSetPart(number, tuple((folder, str(path)) for folder, (path, _) in files.items()), rows)

    def discard(self) -> None:
        """Remove everything that tasks have written."""
        shutil.rmtree(self._staging, ignore_errors=True)
        self._clean()

    def _clean(self) -> None:
        """Remove the directories that were made for this write, if they are empty."""
        for folder in (self._staging, *self._made):
            with suppress(OSError):
                folder.rmdir()

    def _by_folder(
        self, rows: Rows, first: int, encoder: RecordEncoder | None, framing: RecordFraming
    ) -> Iterator[tuple[str, list[bytes]]]:
        """The records of rows, by the directory of their partition."""
        if not isinstance(rows, pa.RecordBatch):
            for names in {frozenset(row) for row in rows if isinstance(row, Mapping)} - self._checked_names:
                self._check_columns(list(names))
                self._checked_names.add(names)
        owners: Iterable[int] = range(len(rows))
        if encoder is None:
            records = _raw_records(rows, self.options.partition_by, first)
        elif isinstance(rows, pa.RecordBatch) and not encoder.row_records:
            records = encoder.encode(rows, first)
        else:
            made = encoder.encode_rows(rows.to_pylist() if isinstance(rows, pa.RecordBatch) else _mappings(rows), first)
            records = [record for each in made for record in each]
            owners = [number for number, each in enumerate(made) for _ in each]
        framing.check(records, first)
        if not self.options.partition_by:
            yield "", records
            return
        folders = _folders(rows, self.options.partition_by)
        groups: dict[str, list[bytes]] = {}
        for owner, record in zip(owners, records, strict=True):
            groups.setdefault(folders[owner], []).append(record)
        yield from groups.items()

    def _check_columns(self, names: Sequence[str]) -> None:
        """Check that every field has a column, except redefinitions and numbers of occurrences, which are counted."""
        options = self.options
        there = {name.lower() for name in names}
        for name in options.partition_by:
            if name.lower() not in there or name.startswith((".", "_")):
                raise DatasetError(
                    f"partition_by: {name} is no column to divide by; there are {', '.join(names)}; a name must not "
                    "begin with . or _"
                )
        if options.write_onto_record_bytes and "Record_Bytes" not in names:
            raise DatasetError("write_onto_record_bytes needs the column Record_Bytes")
        if options.layout is None:
            return
        read = {name.lower() for name in ReadPlan.of(options).full.names}
        for column in columns_of(options.layout, options.shape):
            needed = not (column.field.redefines or column.is_debug or column.field.path in options.layout.counters)
            if needed and column.name.lower() in read and column.name.lower() not in there:
                raise DatasetError(f"the copybook's field {column.field.name} has no column {column.name}")
        known = read | {name.lower() for name in (*GENERATED, *options.partition_by)}
        for name in names:
            if name.lower() not in known:
                raise DatasetError(f"the copybook has no field for the column {name}; drop it")


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def _is_tree(options: QsamOptions) -> bool:
    """Whether the data set is a directory with files."""
    return options.output == "directory" or bool(options.partition_by)


def _target(options: QsamOptions) -> Path:
    if len(options.paths) != 1:
        raise DatasetError("one path is written: save(path)")
    path = options.paths[0].removeprefix("file://").removeprefix("file:")
    if "://" in path:
        raise DatasetError(f"{path}: only paths of a file system are written; mount it, or copy the file there")
    if compression(path):
        raise DatasetError(f"{path}: writes are not compressed, but a file with this name would be read as compressed")
    return Path(path)


# rows -----------------------------------------------------------------------------------------------------------------


def _raw_column(schema: pa.Schema, partition_by: Sequence[str] = ()) -> str:
    names = [name for name in schema.names if name not in partition_by]
    if "Record_Bytes" in names:
        return "Record_Bytes"
    kind = schema.field(names[0]).type if len(names) == 1 else None
    if kind is not None and (pa.types.is_binary(kind) or pa.types.is_string(kind)):
        return str(names[0])
    raise DatasetError("without a copybook one column of binary records (Record_Bytes) is written")


def _raw_records(rows: Rows, partition_by: Sequence[str], first: int) -> list[bytes]:
    if isinstance(rows, pa.RecordBatch):
        values = rows.column(_raw_column(rows.schema, partition_by)).to_pylist()
    else:
        values = [row.get("Record_Bytes") if isinstance(row, Mapping) else row for row in rows]
    for number, value in enumerate(values, first + 1):
        if not isinstance(value, bytes | str):
            problem = "the record is null" if value is None else f"Record_Bytes: {str(value)[:60]!r} is no bytes"
            raise ConversionError(problem, record=number)
    return [value if isinstance(value, bytes) else codepage("037").encode(value) for value in values]


def _mappings(rows: Sequence[Mapping[str, Any] | bytes]) -> Iterator[Mapping[str, Any]]:
    for row in rows:
        if not isinstance(row, Mapping):
            raise DatasetError(f"{str(row)[:60]!r} is no row: with a copybook, a row is a mapping of columns to values")
        yield row


def _folders(rows: Rows, partition_by: Sequence[str]) -> list[str]:
    """The directory of each row's partition, in the form ``A=1/B=x``."""
    if isinstance(rows, pa.RecordBatch):
        given = {name.lower(): name for name in rows.schema.names}
        columns = [rows.column(given[name.lower()]).to_pylist() for name in partition_by]
    else:
        lower = [{name.lower(): value for name, value in row.items()} for row in _mappings(rows)]
        columns = [[row[name.lower()] for row in lower] for name in partition_by]
    known: dict[tuple[Any, ...], str] = {}
    folders = []
    for values in zip(*columns, strict=True):
        if values not in known:
            known[values] = "/".join(map(_partition, partition_by, values))
        folders.append(known[values])
    return folders


def _partition(name: str, value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
    return f"{quote(name, safe=PLAIN)}={quote(text, safe=PLAIN) or NULL_PARTITION}"


# the commit -----------------------------------------------------------------------------------------------------------


def commit_parts(options: QsamOptions, parts: Iterable[DataSetPart], *, overwrite: bool) -> None:
    """Put the parts in their place: the old data set is replaced or, for append, extended like DISP=MOD.

    Raises:
        DatasetError: the target cannot be written; the parts are removed, and a target that is one file is unchanged.
    """
    ordered = sorted(parts, key=lambda part: part.number)
    target = _target(options)
    try:
        if _is_tree(options):
            _into_tree(target, ordered, joined=options.output == "file", overwrite=overwrite)
        else:
            _into_file(target, [path for part in ordered for _, path in part.files], overwrite=overwrite)
    except OSError as error:
        raise DatasetError(f"{target}: cannot be written: {error}") from error
    finally:
        for staging in {Path(path).parent for part in ordered for _, path in part.files}:
            shutil.rmtree(staging, ignore_errors=True)


def _into_file(target: Path, pieces: list[str], *, overwrite: bool) -> None:
    if not overwrite and target.exists():
        pieces.insert(0, str(target))
    with published(target) as fresh, fresh.open("wb") as out:
        for piece in pieces:
            with Path(piece).open("rb") as source:
                shutil.copyfileobj(source, out, 1 << 20)
        out.flush()
        os.fsync(out.fileno())


def _into_tree(target: Path, parts: list[DataSetPart], *, joined: bool, overwrite: bool) -> None:
    old = set(target.rglob("part-*")) if overwrite else set()
    pieces: dict[Path, list[str]] = {}
    stamp = uuid.uuid4().hex[:8]
    for part in parts:
        for folder, path in part.files:
            name = "part-00000" if joined else f"part-{part.number:05d}-{stamp}"
            pieces.setdefault(target / folder / name, []).append(path)
    for place, files in pieces.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        if joined:
            _into_file(place, files, overwrite=overwrite)
        else:
            Path(files[0]).replace(place)
    for gone in old - pieces.keys():
        gone.unlink()
        with suppress(OSError):  # other files are in the directory
            for above in gone.relative_to(target).parents[:-1]:
                (target / above).rmdir()
    (target / "_SUCCESS").touch()


# without Spark --------------------------------------------------------------------------------------------------------


def write_data_set(
    rows: pa.Table | pa.RecordBatchReader | pa.RecordBatch | Iterable[Mapping[str, Any] | bytes],
    path: str | Path,
    *,
    mode: str = "error",
    **options: Any,
) -> int:
    """Write rows to a data set in this process, without Spark.

    Args:
        rows: an Arrow table, reader or batch; or mappings of columns to values, as ``Layout.decode`` or a DataFrame's
            rows give them; or, without a copybook, records.
        path: the file, or a directory for ``output="directory"`` and ``partition_by``.
        mode: ``error`` if the data set exists, ``overwrite`` or ``append``.
        options: those of ``format("qsam")``.

    Returns:
        The number of rows.

    Raises:
        ConversionError: a value does not fit its field, or a record its format; nothing was written.
        DatasetError: an option is not known, rows and copybook have different columns, the data set exists, or it
            cannot be written.
        LayoutError: the copybook cannot be used.
    """
    if mode not in ("error", "overwrite", "append"):
        raise DatasetError(f"mode is {mode!r}; must be error, overwrite or append")
    chosen = read_options(options | {"path": str(path)})
    batches, schema = _batches(rows)
    writer = PartWriter(chosen, schema)
    if mode == "error" and writer.path.exists():
        raise DatasetError(f"{writer.path}: exists already; choose mode overwrite or append, or another path")
    part = writer.write(batches, 0)
    commit_parts(chosen, [part], overwrite=mode == "overwrite")
    return part.rows


def _batches(rows: Any) -> tuple[Iterable[Rows], pa.Schema | None]:
    if isinstance(rows, pa.RecordBatch):
        return [rows], rows.schema
    if isinstance(rows, pa.Table):
        return rows.to_batches(), rows.schema
    if isinstance(rows, pa.RecordBatchReader):
        return rows, rows.schema
    source = iter(rows)
    return iter(lambda: list(islice(source, ROWS)), []), None
