"""The event table: everything that is to happen in many regions, one row for each event.

The column ``command`` says what an event is. For CICS: WRITEQ TD, READQ TD, DELETEQ TD; SYNCPOINT, SYNCPOINT ROLLBACK,
RETURN and ABEND of the task named in ``task``; START of the transaction in ``tran``; any other command as text in
``data`` under EXEC CICS. For IBM i: QSNDDTAQ, QRCVDTAQ, QCLRDTAQ, with LIBRARY/QUEUE in ``queue``; QSNDDTAQ JE sends
the entry-specific data of a journal entry. Before a region starts: DD, a record of the data set of the DD name in
``queue``; SEED, a record on a queue. EXPECT is a record that must be in the queue or data set at the end; replay
ignores it, reconcile looks for it.

The events of a region are read in the order of their numbers, from all pieces that contain some, in bounded memory.
"""

from __future__ import annotations

import mmap
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.errors import DatasetError
from tdqsim.pipeline._numbers import Ints
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.parquet import schema
from tdqsim.pipeline.publishing import is_local

COLUMNS = {
    "region": "applid of the region, or name of the IBM i system",
    "seq": "order within the region; no two events of a region have the same",
    "time_us": "microseconds since 1970 UTC; the region's clock is moved forward to it; null or 0: it stays",
    "task": "events with the same number above 0 belong to one task; 0 is a task of its own",
    "tran": "transaction id of the task, or the one to start",
    "command": "what happens; see the module",
    "queue": "queue, DD name, or LIBRARY/QUEUE",
    "key": "key of a keyed data queue; of EXPECT: the key that identifies records",
    "data": "the record",
    "resp": "the response that is expected, by name; null for any",
    "resp2": "the RESP2 that is expected; null for any",
}
"""The meaning of each column of an event table."""

EVENTS = schema(
    "region string, seq int64, time_us int64, task int64, tran string, command string, queue string, key binary, "
    "data binary, resp string, resp2 int32"
)
_NEEDED = ("region", "seq", "command")


def conform(given: pa.Table, where: str, first: int = 0) -> pa.Table:
    """Convert a table to an event table: columns in order, missing ones null, others dropped.

    Messages name the file, and count its records from ``first``.

    Raises:
        DatasetError: a required column is missing, or has values of another type; the message names the column.
    """
    columns = []
    for field in EVENTS:
        if field.name in given.column_names:
            columns.append(_cast(given.column(field.name), field, where, first))
        elif field.name in _NEEDED:
            have = ", ".join(given.column_names) or "none"
            raise DatasetError(f"{where}: an event table needs the column {field.name}; it has {have}")
        else:
            columns.append(pa.nulls(given.num_rows, field.type))
    made = pa.table(columns, schema=EVENTS)
    for name in _NEEDED:
        no_nulls(made.column(name), name, where, first)
    return made


def no_nulls(column: pa.ChunkedArray, name: str, where: str, first: int) -> None:
    """Check that every record has a value, and that no value is an empty text.

    Raises:
        DatasetError: one has none; the message names it.
    """
    missing, what = column.is_null(), "null"
    if not column.null_count and _is_text(column.type):
        missing, what = pc.equal(column, ""), "empty"
    if (row := pc.index(missing, True).as_py()) >= 0:
        raise DatasetError(f"{where}: record {first + row + 1}: column {name} is {what}; every event needs it")


def _cast(column: pa.ChunkedArray, field: pa.Field, where: str, first: int) -> pa.ChunkedArray:
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_timestamp(column.type):  # whatever its unit is
            column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        if field.type == pa.binary() and _is_text(column.type):
            column = _encoded(column)
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeEncodeError) as error:
        last = first + len(column)
        raise DatasetError(
            f"{where}: records {first + 1} to {last}: column {field.name} holds {column.type}; "
            f"{field.type} is needed: {error}"
        ) from error


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _encoded(column: pa.ChunkedArray) -> pa.Array:
    """Text as bytes in code page 037, as in traces; each different text is encoded once."""
    coded = encoded(column)
    texts = [None if text is None else text.encode("cp037") for text in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.binary()).take(coded.indices)


def fixed_binary(matrix: npt.NDArray[np.uint8]) -> pa.Array:
    """A matrix of bytes, one row for each record, as a binary column, without handling single bytes."""
    rows, width = matrix.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    data = np.ascontiguousarray(matrix)
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def event_table(
    regions: pa.Array, seq: Ints, command: str, queue: str, data: pa.Array, key: pa.Array | None = None
) -> pa.Table:
    """Events that differ only in region, sequence number, data and key."""
    rows = len(seq)
    columns = {
        "region": regions,
        "seq": pa.array(seq, pa.int64()),
        "command": pa.repeat(pa.scalar(command, pa.string()), rows),
        "queue": pa.repeat(pa.scalar(queue, pa.string()), rows),
        "data": data,
    }
    if key is not None:
        columns["key"] = key
    return pa.table([columns.get(f.name, pa.nulls(rows, f.type)) for f in EVENTS], schema=EVENTS)


@contextmanager
def _on_disk(path: Path) -> Iterator[IO[bytes]]:
    """A file of this machine: the file itself, or a copy of an object, which the system deletes after its last use."""
    if is_local(path):
        with path.open("rb") as file:
            yield file
        return
    with TemporaryFile() as copy, path.open("rb") as stored:
        shutil.copyfileobj(stored, copy, BOUNDS["mapped_bytes"])
        copy.flush()
        yield copy


class Pages:
    """Memory-mapped files; those in an object store are copied to the temporary disk.

    A page that was read counts as memory of this process until it is released. Pages are released whenever some
    megabytes have been read since the last release, so that even a large bucket takes only some megabytes. A released
    page that is needed again is read from the system's cache.
    """

    def __init__(self) -> None:
        self._files: list[mmap.mmap] = []
        self._read = 0

    def table(self, path: Path) -> pa.Table:
        """The table in an Arrow file, whose columns stay in the file.

        Raises:
            OSError, ValueError: it cannot be read, or is not an Arrow file.
        """
        with _on_disk(path) as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._files.append(mapped)
        return pa.ipc.open_file(pa.py_buffer(mapped)).read_all()

    def read(self, size: int) -> None:
        """Note that ``size`` bytes were read."""
        self._read += size
        if self._read >= BOUNDS["mapped_bytes"]:
            self.forget()

    def forget(self) -> None:
        """Release all pages, and the memory that Arrow keeps of what was made from them."""
        self._read = 0
        pa.default_memory_pool().release_unused()
        for mapped in self._files if hasattr(mmap, "MADV_DONTNEED") else ():
            mapped.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True, slots=True)
class Slice:
    """The events of one region in one piece; they stay on disk until they are read.

    Attributes:
        table: the piece, memory-mapped.
        start, stop: its rows, in sequence order.
        pages: the mapping; None for a table in memory.
    """

    table: pa.Table
    start: int
    stop: int
    pages: Pages | None = None

    @property
    def first(self) -> int:
        """The sequence number of its first event."""
        return int(self.table.column("seq")[self.start].as_py())

    @property
    def last(self) -> int:
        """The sequence number of its last event."""
        return int(self.table.column("seq")[self.stop - 1].as_py())

    @property
    def numbers(self) -> Ints:
        """The sequence numbers of its events."""
        numbers: Ints = self.table.column("seq").slice(self.start, self.stop - self.start).to_numpy()
        return numbers

    def batches(self, rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Its events in batches of ``rows`` events; by default batches of some megabytes."""
        size = rows or rows_at_once(self.table)
        for start in range(self.start, self.stop, size):
            part = self.table.slice(start, min(size, self.stop - start))
            yield from part.combine_chunks().to_batches()
            if self.pages is not None:
                self.pages.read(part.nbytes)


def rows_at_once(table: pa.Table) -> int:
    """How many rows of a table are read at once: few when records are long."""
    each: int = max(1, table.nbytes // max(1, table.num_rows))
    return max(1, min(BOUNDS["batch_rows"], BOUNDS["batch_bytes"] // each))


def open_pieces(files: list[Path]) -> dict[str, list[Slice]]:
    """The slices of each region in the pieces of a bucket, regions by name, slices by their first event.

    Raises:
        DatasetError: a piece cannot be read; the message names it.
    """
    slices: dict[str, list[Slice]] = {}
    pages = Pages()
    for path in files:
        try:
            whole = pages.table(path)
        except (OSError, ValueError) as error:
            raise DatasetError(
                f"{path}: this piece of the exchange cannot be read: {error}; run ingest again"
            ) from error
        for start, stop, name in runs(encoded(whole.column("region"))):
            slices.setdefault(name, []).append(Slice(whole, start, stop, pages))
        pages.read(whole.column("region").nbytes)
    return {name: sorted(slices[name], key=lambda each: each.first) for name in sorted(slices)}


def encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column as one array with a dictionary of its different values."""
    coded = column.combine_chunks().dictionary_encode()
    return coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded


def runs(coded: pa.DictionaryArray) -> Iterator[tuple[int, int, str]]:
    """The ranges in which a value is repeated: from, to, the value."""
    for start, stop in stretches(coded.indices.to_numpy()):
        yield start, stop, coded[start].as_py()


def stretches(codes: Ints) -> Iterator[tuple[int, int]]:
    """The ranges in which the same number is repeated."""
    cuts = np.concatenate(([0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)])).tolist()
    return ((start, stop) for start, stop in pairwise(cuts) if stop > start)


# in sequence order ----------------------------------------------------------------------------------------------------


def in_order(slices: Sequence[Slice]) -> Iterator[pa.RecordBatch]:
    """Batches of a region's events by sequence number.

    Pieces that follow each other, such as those of one file, are read one after another; pieces whose ranges overlap
    are merged where they do.

    Raises:
        DatasetError: two events have the same number; the message names it.
    """
    last: int | None = None
    for part in _joined(_merged(slices)):
        seq = part.column("seq").to_numpy()
        if last is not None and seq[0] == last:
            raise _double(part, last)
        doubles = np.flatnonzero(np.diff(seq) == 0)
        if len(doubles):
            raise _double(part, int(seq[doubles[0]]))
        last = int(seq[-1])
        yield part


def _joined(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join short batches: to process a batch costs as much as to process some hundred events, however short it is."""
    short: list[pa.RecordBatch] = []
    rows = size = 0
    for part in parts:
        short.append(part)
        rows, size = rows + part.num_rows, size + part.nbytes
        if rows >= BOUNDS["batch_rows"] // 8 or size >= BOUNDS["mapped_bytes"] // 4:
            yield from pa.Table.from_batches(short).combine_chunks().to_batches()
            short, rows, size = [], 0, 0
    if short:
        yield from pa.Table.from_batches(short).combine_chunks().to_batches()


def _double(part: pa.RecordBatch | pa.Table, seq: int) -> DatasetError:
    return DatasetError(
        f"region {part.column('region')[0]}: two events have the number {seq} in column seq; numbers must differ. "
        "Correct them, or leave the column out: events then have the order of their files and records"
    )


def _merged(slices: Sequence[Slice]) -> Iterator[pa.RecordBatch]:
    """Merge slices: events up to the earliest end of the current batches of all slices can be sorted and returned.

    A slice takes part only from its first event to its last. All current batches together are as long as one batch of a
    single slice.
    """
    waiting = sorted(slices, key=lambda each: each.first, reverse=True)
    open_: list[Slice] = []
    while waiting or open_:
        open_ = open_ or [waiting.pop()]
        rows = max(1, rows_at_once(open_[0].table) // len(open_))
        heads = [replace(each, stop=min(each.start + rows, each.stop)) for each in open_]
        ends = [head.last for head, each in zip(heads, open_, strict=True) if head.stop < each.stop]
        mark = min(ends) if ends else max(head.last for head in heads)
        if waiting and waiting[-1].first <= mark:
            while waiting and waiting[-1].first <= mark:
                open_.append(waiting.pop())
            continue
        cuts = [head.start + int(np.searchsorted(head.numbers, mark, side="right")) for head in heads]
        due = [replace(each, stop=cut) for each, cut in zip(open_, cuts, strict=True) if cut > each.start]
        open_ = [replace(each, start=cut) for each, cut in zip(open_, cuts, strict=True) if cut < each.stop]
        if len(due) == 1:
            yield from due[0].batches()
            continue
        whole = pa.Table.from_batches([batch for each in due for batch in each.batches()])
        ordered = whole.take(pc.sort_indices(whole, [("seq", "ascending")]))
        yield from ordered.combine_chunks().to_batches()
