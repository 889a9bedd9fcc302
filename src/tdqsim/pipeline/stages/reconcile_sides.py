"""The two sides of reconcile, region by region: what was expected from the exchange, what came out from replay.

Neither is held: what was expected stays in mapped files, with the places of each queue's records, and is taken some
megabytes at a time, as is what came out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tdqsim.errors import DatasetError
from tdqsim.pipeline.stages.events import Slice, rows_at_once
from tdqsim.pipeline.stages.order import order_of

__all__ = ["ExpectedRecords", "actual_records", "one"]

_EXPECT = "EXPECT"
_MOST_ROWS = 32768
"""As many of the longest records there are, 65,535 bytes, can be counted in 31 bits."""
_AT_ONCE = 16384
"""Rows of what came out that are read at once: a whole row group takes three times the memory, and as long."""


class ExpectedRecords:
    """The expected records of a region.

    Args:
        slices: its events.

    Raises:
        DatasetError: two events have the same number; names it.
    """

    def __init__(self, slices: Sequence[Slice]) -> None:
        self._order = order_of(slices) if slices else None
        self._queues = _Side(slices, "queue").parts
        self._right = [pc.fill_null(pc.equal(part, _EXPECT), False) for part in _Side(slices, "command").parts]
        self._data = _Side(slices, "data")
        self._rows = min(_MOST_ROWS, max(1, rows_at_once(slices[0].table) // 4)) if slices else 1

    def of(self, queue: str) -> Iterator[pa.Array]:
        """Those of one queue, in order, some megabytes at a time."""
        places = self._places(queue)
        for done in range(0, len(places), self._rows):
            yield self._data.taken(places[done : done + self._rows])

    def _places(self, queue: str) -> Any:
        """Where the records of a queue are, in order; an event that names none belongs to none."""
        marks = [
            pc.and_(right, pc.fill_null(pc.equal(names, queue), False)).to_numpy(zero_copy_only=False)
            for right, names in zip(self._right, self._queues, strict=True)
        ]
        if not marks:
            return np.empty(0, np.int64)
        found = np.concatenate(marks)
        return np.flatnonzero(found) if self._order is None else self._order[found[self._order]]


class _Side:
    """A column of several slices, laid one after another where they are."""

    def __init__(self, slices: Sequence[Slice], name: str) -> None:
        columns = [each.table.column(name).slice(each.start, each.stop - each.start) for each in slices]
        self.parts: list[pa.Array] = [part for column in columns for part in column.chunks if len(part)]
        self._ends = np.cumsum([len(part) for part in self.parts])
        self._pages = slices[0].pages if slices else None

    def taken(self, places: Any) -> pa.Array:
        """The values at some places, in their order; there are some, and none is there twice."""
        parts = np.searchsorted(self._ends, places, side="right")
        order = None
        if bool((np.diff(parts) < 0).any()):
            order = np.argsort(parts, kind="stable")
            places, parts = places[order], parts[order]
        cuts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)]
        found = [self._of_part(int(parts[start]), places[start:stop]) for start, stop in pairwise(cuts)]
        whole = found[0] if len(found) == 1 else pa.concat_arrays(found)
        if order is None:
            return whole
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return whole.take(pa.array(back))

    def _of_part(self, number: int, places: Any) -> pa.Array:
        part = self.parts[number]
        inside = places - (int(self._ends[number]) - len(part))
        first, last = int(inside[0]), int(inside[-1])
        span = part.slice(first, last - first + 1)
        found = span if len(span) == len(inside) else part.take(pa.array(inside))
        if self._pages is not None:  # of all that lies between them the pages were read
            self._pages.read(span.nbytes)
        return found


def actual_records(path: Path) -> Iterator[tuple[str, str, pa.Array]]:
    """The records of a bucket as replay wrote them, in parts: region, queue, records. The parts of a region follow.

    Raises:
        DatasetError: the table cannot be read, or has a region in two places.
    """
    again = "run tdq pipeline replay again"
    seen: set[str] = set()
    name: str | None = None
    try:
        for batch in _batches(path):
            for start, stop, region in _runs(batch.column("region")):
                if region != name and region in seen:
                    raise DatasetError(f"{path}: the records of region {region} are in two places; {again}")
                seen.add(region)
                name = region
                part = batch.slice(start, stop - start)
                for queue, data in _by_queue(part.column("queue"), part.column("data")):
                    yield region, queue, data
    except (OSError, pa.ArrowInvalid) as error:
        raise DatasetError(f"{path}: this table of records cannot be read: {error}; {again}") from error


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    """A records table, some megabytes at a time; names stay coded, which costs next to nothing to read."""
    with pq.ParquetFile(path, read_dictionary=["region", "queue"]) as file:
        for group in range(file.num_row_groups):
            # Spark runs a task for each core: threads of Arrow's would only get in each other's way.
            yield from file.iter_batches(_AT_ONCE, [group], ["region", "queue", "data"], use_threads=False)


def _runs(coded: pa.DictionaryArray) -> Iterator[tuple[int, int, str]]:
    """Where the same value stands in a row of it: from, to, the value."""
    codes = coded.indices.to_numpy()
    cuts = np.concatenate(([0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)])).tolist()
    for start, stop in pairwise(cuts):
        if stop > start:
            yield start, stop, coded[start].as_py()


def _by_queue(queues: pa.DictionaryArray, data: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Records by queue, those of a queue in their order."""
    codes = queues.indices.to_numpy()
    if bool((np.diff(codes) < 0).any()):
        order = pa.array(np.argsort(codes, kind="stable"))
        queues, data = queues.take(order), data.take(order)
    for start, stop, queue in _runs(queues):
        yield queue, data.slice(start, stop - start)


def one(parts: Sequence[pa.Array], queue: str) -> pa.Array:
    """Records as one column; its places are counted in 31 bits.

    Raises:
        DatasetError: there is more than that; names the queue.
    """
    if len(parts) == 1:
        return parts[0]
    try:
        return pa.concat_arrays(parts) if parts else pa.array([], pa.binary())
    except pa.ArrowInvalid as error:
        size = sum(part.nbytes for part in parts)
        text = (
            "reconcile takes 2 GB of a queue of a region from the first record on that is not where it is expected; "
            "spread them over more regions"
        )
        raise DatasetError(f"queue {queue}: {size:,} bytes of records: {text}") from error
