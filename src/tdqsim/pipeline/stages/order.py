"""The events of one region in sequence order, from all pieces that have some, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.errors import DatasetError
from tdqsim.pipeline.stages.events import Slice, rows_at_once

__all__ = ["in_order"]


def in_order(slices: Sequence[Slice]) -> Iterator[pa.RecordBatch]:
    """Batches of a region's events by sequence number.

    Pieces that follow each other, as those of a file do, are read one after another; others are merged.

    Raises:
        DatasetError: two events have the same number; names it.
    """
    parts = _following(slices) if _follow(slices) else _merged(slices)
    last: int | None = None
    for part in parts:
        seq = part.column("seq").to_numpy()
        if last is not None and seq[0] == last:
            raise _double(part, last)
        doubles = np.flatnonzero(np.diff(seq) == 0)
        if len(doubles):
            raise _double(part, int(seq[doubles[0]]))
        last = int(seq[-1])
        yield part


def _follow(slices: Sequence[Slice]) -> bool:
    return all(left.last < right.first for left, right in pairwise(slices))


def _following(slices: Sequence[Slice]) -> Iterator[pa.RecordBatch]:
    for each in slices:
        yield from each.batches()


def _double(part: pa.RecordBatch | pa.Table, seq: int) -> DatasetError:
    return DatasetError(
        f"region {part.column('region')[0]}: two events have the number {seq} in column seq; numbers must differ. "
        "Correct them, or leave the column out: events then have the order of their files and records"
    )


class _Source:
    """One slice that is being merged: the part of it that is held, and the rest on disk."""

    def __init__(self, each: Slice, rows: int) -> None:
        self._batches = each.batches(rows)
        self.held: pa.RecordBatch | None = None
        self.next()

    def next(self) -> None:
        """Hold the next part."""
        self.held = next(self._batches, None)

    @property
    def last(self) -> int:
        """The number of the last event that is held."""
        assert self.held is not None
        return int(self.held.column("seq")[-1].as_py())

    def take(self, mark: int) -> pa.RecordBatch:
        """The events that are held up to a number, which then are held no more."""
        assert self.held is not None
        count = int(np.searchsorted(self.held.column("seq").to_numpy(), mark, side="right"))
        found = self.held.slice(0, count)
        self.held = self.held.slice(count)
        if not self.held.num_rows:
            self.next()
        return found


def _merged(slices: Sequence[Slice]) -> Iterator[pa.RecordBatch]:
    """Slices merged: what is up to the earliest end of what is held of any can be sorted and given away.

    As much is held of all of them together as of a single one otherwise.
    """
    rows = max(1, rows_at_once(slices[0].table) // len(slices))
    sources = [source for source in (_Source(each, rows) for each in slices) if source.held is not None]
    while sources:
        mark = min(source.last for source in sources)
        whole = pa.Table.from_batches([source.take(mark) for source in sources])
        sources = [source for source in sources if source.held is not None]
        if whole.num_rows:
            ordered = whole.take(pc.sort_indices(whole, [("seq", "ascending")]))
            yield from ordered.combine_chunks().to_batches()
