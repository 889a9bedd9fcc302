"""Columns of records for reconcile: read from both sides, and compared exactly by Arrow, some thousands at a time.

Neither side is held in memory: expected records stay in mapped files, and are taken some megabytes at a time, as are
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.errors import DatasetError
from tdqsim.pipeline._numbers import Bytes, Ints
from tdqsim.pipeline.parquet import open_parquet
from tdqsim.pipeline.stages.events import Slice, in_order, runs

_BYTES_AT_ONCE = 8 << 20


class RecordColumn:
    """One column of records."""

    def __init__(self, records: pa.Array) -> None:
        self.values = pc.fill_null(records, b"") if records.null_count else records
        self.count = len(records)

    def __len__(self) -> int:
        return self.count

    def record(self, place: int) -> bytes:
        """The record at a place, from 0."""
        return self.values[place].as_py()  # type: ignore[no-any-return]

    def records(self, places: Ints) -> list[bytes]:
        """The records at some places."""
        return self.values.take(pa.array(places)).to_pylist()  # type: ignore[no-any-return]

    def part(self, span: slice, places: Ints | None = None) -> pa.Array:
        """A slice of the records at some places, or of all; short records are padded with X'00'."""
        values = self.values if places is None else self.values.take(pa.array(places))
        slices, width = pc.binary_slice(values, span.start, span.stop), span.stop - span.start
        if len(slices) and np.frombuffer(slices.buffers()[1], np.int32)[len(slices)] < width * len(slices):
            return pc.binary_slice(pc.binary_join_element_wise(slices, bytes(width), b""), 0, width)
        return slices

    @property
    def step(self) -> int:
        """How many records make some megabytes."""
        size: int = self.values.nbytes
        return max(1, _BYTES_AT_ONCE * self.count // max(1, size))


def unequal(left: RecordColumn, right: RecordColumn, pairs: tuple[Ints, Ints] | None = None) -> Ints:
    """Which pairs of records differ.

    Args:
        left: one column.
        right: the other column.
        pairs: the places of the pairs in both columns; None pairs the records at the same places.

    Returns:
        The numbers of the pairs, in order.
    """
    size = min(left.count, right.count) if pairs is None else len(pairs[0])
    if pairs is None and left.values.slice(0, size).equals(right.values.slice(0, size)):
        return np.empty(0, np.int64)
    unequal_pairs, step = [np.empty(0, np.int64)], min(left.step, right.step)
    for at in range(0, size, step):
        if pairs is None:
            a, b = left.values.slice(at, min(step, size - at)), right.values.slice(at, min(step, size - at))
        else:
            mine, theirs = (pa.array(side[at : at + step]) for side in pairs)
            a, b = left.values.take(mine), right.values.take(theirs)
        unequal_pairs.append(at + np.flatnonzero(pc.not_equal(a, b).to_numpy(zero_copy_only=False)))
    return np.concatenate(unequal_pairs)


def matrices(left: RecordColumn, right: RecordColumn, mine: Ints, theirs: Ints) -> Iterator[tuple[Ints, Bytes, Bytes]]:
    """Pairs of records of equal length as rows of bytes, in parts of some megabytes; other pairs are left out.

    Yields:
        the numbers of the pairs, the records of the left side, and those of the right side.
    """
    step = min(left.step, right.step)
    for at in range(0, len(mine), step):
        a, b = left.values.take(pa.array(mine[at : at + step])), right.values.take(pa.array(theirs[at : at + step]))
        lengths = pc.binary_length(a).to_numpy()
        same = lengths == pc.binary_length(b).to_numpy()
        for length in np.unique(lengths[same & (lengths > 0)]).tolist():
            which = np.flatnonzero(same & (lengths == length))
            yield at + which, _matrix(a, which, length), _matrix(b, which, length)


def _matrix(values: pa.Array, which: Ints, length: int) -> Bytes:
    data = values.take(pa.array(which)).buffers()[2]
    return np.frombuffer(data, np.uint8)[: len(which) * length].reshape(len(which), length)


def rows(keys: pa.Array) -> Bytes:
    """Keys as :meth:`RecordColumn.part` makes them, for numpy to compare."""
    width = len(keys[0].as_py())
    return np.frombuffer(keys.buffers()[2], f"S{width}", len(keys)) if width else np.zeros(len(keys), np.uint8)


def ranked(values: pa.Array) -> tuple[Ints, Ints]:
    """Group values that are exactly equal.

    Returns:
        The places of the values by group, those of a group in their order; and the group number of each.
    """
    codes = values.dictionary_encode().indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    return order, codes[order]


# the two sides, region by region --------------------------------------------------------------------------------------


_EXPECT = "EXPECT"
_AT_ONCE = 16384
"""Output rows that are read at once: a whole row group takes three times the memory, and as long."""


def expected_records(slices: Sequence[Slice], queue: str) -> Iterator[pa.Array]:
    """The expected records of one queue of a region, in order, in parts of some megabytes.

    Raises:
        DatasetError: two events have the same number; the message names it.
    """
    for batch in in_order(slices):
        right = pc.and_(pc.equal(batch.column("command"), _EXPECT), pc.equal(batch.column("queue"), queue))
        every = pc.all(pc.fill_null(right, fill_value=False)).as_py()
        yield batch.column("data") if every else batch.column("data").filter(right)


def actual_records(path: Path) -> Iterator[tuple[str, str, pa.Array]]:
    """The records of a bucket from replay, in parts of region, queue, records; a region's parts are consecutive.

    Raises:
        DatasetError: the table cannot be read, or has a region in two places.
    """
    again = "run tdq pipeline replay again"
    names: set[str] = set()
    name: str | None = None
    try:
        for batch in _batches(path):
            for start, stop, region in runs(batch.column("region")):
                if region != name and region in names:
                    raise DatasetError(f"{path}: the records of region {region} are in two places; {again}")
                names.add(region)
                name = region
                part = batch.slice(start, stop - start)
                for queue, data in _by_queue(part.column("queue"), part.column("data")):
                    yield region, queue, data
    except (OSError, pa.ArrowInvalid) as error:
        raise DatasetError(f"{path}: this table of records cannot be read: {error}; {again}") from error


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    """A records table, in parts of some megabytes; names stay dictionary-encoded, so that they are cheap to read."""
    with open_parquet(path, read_dictionary=["region", "queue"]) as file:
        for group in range(file.num_row_groups):
            # Spark runs a task for each core; threads of Arrow would only compete with the tasks.
            yield from file.iter_batches(_AT_ONCE, [group], ["region", "queue", "data"], use_threads=False)


def _by_queue(queues: pa.DictionaryArray, data: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Records by queue, those of a queue in their order."""
    codes = queues.indices.to_numpy()
    if bool((np.diff(codes) < 0).any()):
        order = pa.array(np.argsort(codes, kind="stable"))
        queues, data = queues.take(order), data.take(order)
    for start, stop, queue in runs(queues):
        yield queue, data.slice(start, stop - start)


def one(parts: Sequence[pa.Array], queue: str) -> pa.Array:
    """Records as one column; its places must fit in 31 bits.

    Raises:
        DatasetError: there are more; the message names the queue.
    """
    if len(parts) == 1:
        return parts[0]
    try:
        return pa.concat_arrays(parts) if parts else pa.array([], pa.binary())
    except pa.ArrowInvalid as error:
        size = sum(part.nbytes for part in parts)
        text = (
            "reconcile can hold 2 GB of a queue of a region from the first record on that is not where it is expected; "
            "spread them over more regions"
        )
        raise DatasetError(f"queue {queue}: {size:,} bytes of records: {text}") from error
