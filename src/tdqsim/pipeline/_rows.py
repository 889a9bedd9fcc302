"""Rows of a batch, each a place in its bytes: records, or the occurrences of tables in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa

from tdqsim.layouts import Field
from tdqsim.pipeline._columns import pieces
from tdqsim.pipeline._numbers import WORD, Bytes, Ints, copied

Path = tuple[str, ...]


class PlacedRows:
    """Records, some of them, or the occurrences of a table in them.

    Attributes:
        data: the bytes in which the records are.
        places: for each row, in ascending order, the place to which the offset of a field in the layout is added.
        ends: the place where the record of each row ends.
        span: the offsets between which fields are read. These bytes of all rows are made one matrix.
        above: the rows that these are taken from; None for the records of a batch.
        which: for each row, the row above that it is taken from; None for the records of a batch.
        index: for each occurrence of a table its number, from 0; None for rows that are not occurrences.
    """

    def __init__(
        self,
        data: Bytes,
        places: Ints,
        ends: Ints,
        span: tuple[int, int],
        above: PlacedRows | None = None,
        which: Ints | None = None,
        index: Ints | None = None,
    ) -> None:
        self.data, self.places, self.ends, self.span = data, places, ends, span
        self.above, self.which, self.index = above, which, index

    def some(self, which: Ints, item: Field) -> PlacedRows:
        """Some of the rows, of which one field is wanted."""
        span = item.offset, item.offset + item.size
        return PlacedRows(self.data, self.places[which], self.ends[which], span, self, which)

    def occurrences(self, item: Field, counts: Ints) -> PlacedRows:
        """The occurrences of a table, of which each row has the first ``counts``."""
        which = np.repeat(np.arange(len(self)), counts)
        index = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        places, span = self.places[which] + index * item.length, (item.offset, item.offset + item.length)
        rows = PlacedRows(self.data, places, self.ends[which], span, self, which, index)
        if not any(inner.depending_on for inner in item.walk()):  # the whole table is copied at once, which is faster
            rows._matrix = copied(self.cut(item, item.size)).reshape(-1, item.length)
        return rows

    def moved(self, missing: Ints, offset: int) -> PlacedRows:
        """The same rows for the fields from an offset on, before which ``missing`` bytes of each row are left out."""
        span = offset, self.span[1]
        self.span = self.span[0], min(offset, span[1])
        return PlacedRows(self.data, self.places - missing, self.ends, span, self.above, self.which, self.index)

    def __len__(self) -> int:
        return len(self.places)

    def levels(self, which: Ints) -> Iterator[tuple[PlacedRows, Ints]]:
        """These rows and those above them, each with the rows there to which some of these belong."""
        level: PlacedRows | None = self
        while level is not None:
            yield level, which
            if level.which is not None:
                which = level.which[which]
            level = level.above

    def within(self, other: PlacedRows) -> Ints:
        """For each row the row of ``other``, or of rows that were moved from ``other``, to which it belongs."""
        every = np.arange(len(self))
        return next(which for level, which in self.levels(every) if level.which is other.which)

    @cached_property
    def left(self) -> Ints:
        """How many bytes of the record there are from the place of each row on."""
        left: Ints = self.ends - self.places
        return left

    @cached_property
    def _shortest(self) -> int:
        return int(self.left.min()) if len(self) else 0

    def available(self, item: Field) -> Ints | None:
        """How many bytes of a field each row has; None when every row has all of them."""
        if self._shortest >= item.offset + item.length:
            return None
        return np.clip(self.left - item.offset, 0, item.length)

    @cached_property
    def _matrix(self) -> Bytes:
        """The bytes of the span: a view if the rows are evenly spaced, else a copy."""
        places, width = self.places + self.span[0], self.span[1] - self.span[0]
        count = len(places)
        step = int(places[1] - places[0]) if count > 1 else width
        if count and int(places[-1] - places[0]) == step * (count - 1) and bool((np.diff(places) == step).all()):
            first = self.data[int(places[0]) :]
            return np.lib.stride_tricks.as_strided(first, (count, width), (step, 1), writeable=False)
        return _gathered(self.data, places, width)

    def cut(self, item: Field, size: int | None = None) -> Bytes:
        """The bytes of a field, or of a table of some size. If a row has fewer, the bytes after its record follow."""
        (low, high), width = self.span, item.length if size is None else size
        if low <= item.offset and item.offset + width <= high:
            return self._matrix[:, item.offset - low : item.offset - low + width]
        return _gathered(self.data, self.places + item.offset, width)

    def words(self, item: Field, size: int) -> Bytes:
        """The first ``size`` bytes of a field, preceded by as many others as make whole words of 8 bytes."""
        width = -(-size // WORD) * WORD
        end = item.offset - self.span[0] + size
        if width <= end <= self.span[1] - self.span[0]:
            return self._matrix[:, end - width : end]
        padded = np.zeros((len(self), width), np.uint8)
        padded[:, width - size :] = self.cut(item)[:, :size]
        return padded

    def raw(self, item: Field, kind: pa.DataType, which: Ints | None = None) -> pa.Array:
        """The bytes of a field that some rows have, as text or binary values."""
        places, ends = (self.places, self.ends) if which is None else (self.places[which], self.ends[which])
        begins = np.minimum(places + item.offset, ends)
        return pieces(self.data, begins, np.minimum(begins + item.length, ends), kind)


def _gathered(data: Bytes, places: Ints, width: int) -> Bytes:
    """The ``width`` bytes from each place on, a row each."""
    rows = len(data) - width + 1
    return copied(np.lib.stride_tricks.as_strided(data, (rows, width), (1, 1), writeable=False), places)
