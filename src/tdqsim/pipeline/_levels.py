"""Records of a batch, and the occurrences of tables in them, as rows of bytes; see :mod:`tdqsim.pipeline.decoder`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from tdqsim.layouts import Field
from tdqsim.pipeline._columns import pieces, up_to
from tdqsim.pipeline._numbers import Bytes, Cut, Ints, copied

__all__ = ["CounterKey", "Path", "TableLevel", "gathered"]

Path = tuple[str, ...]
CounterKey = tuple[Path, tuple[int, int], tuple[tuple[str, int], ...]]


class TableLevel:
    """Rows of bytes: records, some of them, or the occurrences of a table in them.

    Attributes:
        data: the bytes, one row for each record or occurrence; only the leading bytes of a row if there is a
            ``source``.
        start: offset in the layout of the first byte of each row.
        lengths: number of valid bytes in each row, or None when all bytes are valid.
        source, places: the bytes in which the records are, and where each begins in them, in ascending order; None if
            ``data`` has all bytes.
        above: the level that these rows are taken from; None for the records of a batch.
        item: the table whose occurrences the rows are, or None.
        counts: occurrences of tables that depend on a field outside this level, by :func:`counter_key`, one for each
            row.
    """

    def __init__(self, data: Bytes, start: int = 0, lengths: Ints | None = None) -> None:
        self.data, self.start, self.lengths = data, start, lengths
        self.source: Bytes | None = None
        self.places: Ints | None = None
        self.above: TableLevel | None = None
        self.item: Field | None = None
        self.counts: dict[CounterKey, Ints] = {}
        self._origin: Callable[[], tuple[Ints, Ints]] | None = None

    @classmethod
    def of_records(cls, data: Bytes, places: Ints, lengths: Ints | None, width: int, wanted: int) -> TableLevel:
        """Records that begin at ``places``: a view if they are evenly spaced, else a copy of their leading bytes.

        Only bytes that all records have are copied together; fields after them are read one by one.

        Args:
            data: the bytes in which the records are; ``width`` bytes follow each place.
            places: where they begin.
            lengths: how many of these bytes belong to each record; None for all.
            width: bytes of the layout.
            wanted: number of the leading bytes that are usually read.
        """
        count = len(places)
        step = int(places[1] - places[0]) if count > 1 else width
        if not count or (int(places[-1] - places[0]) == step * (count - 1) and _even(places, step)):
            first = data[int(places[0]) if count else 0 :]
            return cls(np.lib.stride_tricks.as_strided(first, (count, width), (step, 1), writeable=False), 0, lengths)
        common = min(wanted, width) if lengths is None else min(wanted, int(lengths.min()))
        level = cls(gathered(data, places, common), 0, lengths)
        level.source, level.places = data, places
        return level

    def some(self, rows: Ints, item: Field, width: int) -> TableLevel:
        """Some rows of this level, of which one field is wanted; ``width`` bytes has a record of the layout."""
        lengths = None if self.lengths is None else self.lengths[rows]
        if self.source is not None and self.places is not None:
            level = self.of_records(self.source, self.places[rows], lengths, width, item.offset + item.size)
        else:
            level = TableLevel(copied(self.data, rows), self.start, lengths)
        level.counts = {key: each[rows] for key, each in self.counts.items()}
        level.above, level._origin = self, lambda: (rows, rows)
        return level

    def occurrences(self, item: Field, counts: Ints | None, carried: Mapping[CounterKey, Ints]) -> TableLevel:
        """The occurrences of a table; ``counts`` says how many of them each row has, None that it has all."""
        cut, size, length = self.cut(item, item.size), item.count, item.length
        table = cut.data[:, cut.at : cut.at + cut.width]
        kept = up_to(size, np.full(self.rows, size) if counts is None else counts)
        data = copied(table) if counts is None else table.view(f"V{length}")[kept].view(np.uint8)
        level = TableLevel(data.reshape(-1, length), item.offset)
        level.above, level.item, level._origin = self, item, lambda: np.divmod(np.flatnonzero(kept), size)
        at = item.offset - self.start
        if self.lengths is not None and (self.lengths < at + length * (size if counts is None else counts)).any():
            level.lengths = np.clip(self.lengths[level.rows_above] - at - level.index * length, -1, length)
        level.counts = {key: each[level.rows_above] for key, each in carried.items()}
        return level

    @property
    def rows(self) -> int:
        return len(self.data)

    @cached_property
    def shortest(self) -> int:
        """The number of bytes that all rows have, if ``lengths`` are given."""
        return int(self.lengths.min()) if self.lengths is not None and len(self.lengths) else 0

    @cached_property
    def origin(self) -> tuple[Ints, Ints]:
        """For each row the row of the level above that it belongs to, and its number in a table."""
        assert self._origin is not None
        return self._origin()

    @property
    def rows_above(self) -> Ints:
        return self.origin[0]

    @property
    def index(self) -> Ints:
        return self.origin[1]

    def levels(self, rows: Ints) -> Iterator[tuple[TableLevel, Ints]]:
        """This level and those above it, each with the rows that belong to some rows of this level."""
        level: TableLevel | None = self
        while level is not None:
            yield level, rows
            if level.above is not None:
                rows = level.rows_above[rows]
            level = level.above

    def records(self, rows: Ints) -> Ints:
        """The record numbers of some rows."""
        *_, (_, records) = self.levels(rows)
        return records

    def cut(self, item: Field, size: int | None = None) -> Cut:
        """The bytes of one field, or of a table of ``size`` bytes."""
        at, width = item.offset - self.start, item.length if size is None else size
        if at + width <= self.data.shape[1]:
            return Cut(self.data, at, width)
        assert self.source is not None
        assert self.places is not None
        return Cut(gathered(self.source, self.places + at, width), 0, width)

    def text(self, item: Field, have: Ints) -> pa.Array:
        """The bytes of a field as text, for rows that have only some of them."""
        if self.source is not None and self.places is not None and self.lengths is not None:
            begins = self.places + np.minimum(item.offset - self.start, self.lengths)
            return pieces(self.source, begins, begins + have, pa.string())
        begins = np.arange(self.rows, dtype=np.int64) * item.length
        return pieces(self.cut(item).bytes().reshape(-1), begins, begins + have, pa.string())

    def available(self, item: Field) -> Ints | None:
        """How many bytes of the field each row has; None when every row has all of them."""
        end = item.offset - self.start + item.length
        if self.lengths is None or self.shortest >= end:
            return None
        return np.clip(self.lengths - (end - item.length), 0, item.length)


def _even(places: Ints, step: int) -> bool:
    return step > 0 and bool((np.diff(places) == step).all())


def gathered(data: Bytes, places: Ints, width: int) -> Bytes:
    """The ``width`` bytes from each place on, a row each."""
    rows = len(data) - width + 1
    return copied(np.lib.stride_tricks.as_strided(data, (rows, width), (1, 1), writeable=False), places)
