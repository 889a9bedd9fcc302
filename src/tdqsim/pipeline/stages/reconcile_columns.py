"""Columns of records for reconcile: their bytes side by side, so that thousands are compared at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Column", "alike", "ranked", "unequal_at_places"]

_BYTES_AT_ONCE = 8 << 20
_WORD = 8
_INDEX_BITS = 32
_INDEX = (1 << _INDEX_BITS) - 1


class Column:
    """One column of records.

    Args:
        records: binary values; a null is an empty record.
    """

    def __init__(self, records: pa.Array) -> None:
        given = pc.fill_null(records, b"") if records.null_count else records
        self.count = len(given)
        buffers = given.buffers()
        ends = np.frombuffer(buffers[1], np.int32) if self.count else np.zeros(1, np.int32)
        self.offsets = ends[given.offset : given.offset + self.count + 1]
        data = buffers[2] if self.count else None
        self.data = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)

    def __len__(self) -> int:
        return self.count

    def record(self, place: int) -> bytes:
        """The record at a place, from 0."""
        return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()

    @cached_property
    def lengths(self) -> Any:
        """Bytes of each record."""
        return np.diff(self.offsets)

    @cached_property
    def length(self) -> int:
        """Bytes of every record when all have as many; else 0."""
        each = int(self.lengths[0]) if self.count else 0
        return each if bool((self.lengths == each).all()) else 0

    @property
    def bytes(self) -> Any:
        """The bytes of all records, one after another."""
        return self.data[self.offsets[0] : self.offsets[-1]]

    def rows(self, places: Any, length: int) -> Any:
        """The records at some places, a row each; all of them have that length, and some."""
        if self.length == length:
            return np.take(self.bytes.reshape(self.count, length), places, axis=0)
        return np.lib.stride_tricks.sliding_window_view(self.data, length)[self.offsets[places]]

    def words(self, part: slice, places: Any) -> Any:
        """A part of the records at some places, as numbers of 64 bits, a row each; short ones go on with X'00'.

        Two rows are equal when the parts are.

        Args:
            part: which bytes.
            places: of which records; in order, none twice.
        """
        width = part.stop - part.start
        found = np.zeros((len(places), -(-width // _WORD) * _WORD), np.uint8)
        if self.length >= part.stop:
            matrix = self.bytes.reshape(self.count, self.length)
            together = len(places) and len(places) == places[-1] - places[0] + 1
            found[:, :width] = matrix[places[0] : places[-1] + 1, part] if together else matrix[places, part]
            return found.view(np.uint64)
        step = max(1, _BYTES_AT_ONCE // (_WORD * width))
        for done in range(0, len(places), step):
            some, room = places[done : done + step], found[done : done + step, :width]
            spots = self.offsets[some].astype(np.int64)[:, None] + np.arange(part.start, part.stop)
            inside = spots < self.offsets[some + 1][:, None]
            room[inside] = self.data[spots[inside]]
        return found.view(np.uint64)


def unequal_at_places(left: Column, right: Column) -> Any:
    """Of the places that both columns have: those where the records differ, in order."""
    places = np.arange(min(left.count, right.count))
    if not len(places):
        return places
    first, last = (left.offsets[0], right.offsets[0]), (left.offsets[len(places)], right.offsets[len(places)])
    a, b = left.data[first[0] : last[0]], right.data[first[1] : last[1]]
    length = left.length if left.length == right.length else 0
    if length:
        return _unequal_rows(a, b, length)
    lengths = left.lengths[: len(places)], right.lengths[: len(places)]
    same = lengths[0] == lengths[1]
    if bool(same.all()) and pa.py_buffer(a).equals(pa.py_buffer(b)):
        return places[:0]
    marks = ~same
    for which, *_ in alike(left, right, places[same], places[same]):
        marks[places[same][which]] = True
    return np.flatnonzero(marks)


def alike(left: Column, right: Column, mine: Any, theirs: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Those pairs of records that have the same length but not the same bytes, some megabytes at a time.

    Args:
        left: one column.
        right: the other column.
        mine: the places of the pairs in the one.
        theirs: the places of the pairs in the other; the records of a pair have the same length.

    Yields:
        which pairs they are, the records of the left side, a row each, and those of the right side.
    """
    for length, of_length in _by_length(left.lengths[mine]):
        step = max(1, _BYTES_AT_ONCE // length)
        for done in range(0, len(of_length), step):
            part = of_length[done : done + step]
            a, b = left.rows(mine[part], length), right.rows(theirs[part], length)
            at = _unequal_rows(a.ravel(), b.ravel(), length)
            if len(at):
                yield part[at], a[at], b[at]


def _by_length(lengths: Any) -> Iterator[tuple[int, Any]]:
    """Each length above 0 that there is, and where."""
    if len(lengths) and lengths[0] and bool((lengths == lengths[0]).all()):
        yield int(lengths[0]), np.arange(len(lengths))
        return
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    cuts = np.concatenate(([0], np.flatnonzero(np.diff(ordered)) + 1, [len(order)]))
    for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        if stop > start and ordered[start]:
            yield int(ordered[start]), order[start:stop]


def _unequal_rows(a: Any, b: Any, length: int) -> Any:
    """Which rows of two matrices, given as their bytes, differ; as words where rows are words, which is faster."""
    width = length
    if length % _WORD == 0:
        a, b, width = a.view(np.uint64), b.view(np.uint64), length // _WORD
    spots = [done + np.flatnonzero(a[done : done + _BYTES_AT_ONCE] != b[done : done + _BYTES_AT_ONCE])
             for done in range(0, len(a), _BYTES_AT_ONCE)]  # fmt: skip
    marks = np.zeros(len(a) // width, np.bool_)
    for each in spots:
        marks[each // width] = True
    return np.flatnonzero(marks)


def ranked(words: Any) -> tuple[Any, Any]:
    """Rows grouped by what they are, exactly.

    Args:
        words: rows of numbers.

    Returns:
        The rows by group, those of a group in their order; and the number of the group of each of these.
    """
    left = [column for column in words.T if bool((column != column[:1]).any())]
    groups = _dense(left.pop(0)) if left else np.zeros(len(words), np.uint64)
    while left and not _settled(left, groups):
        groups = _dense(groups << np.uint64(_INDEX_BITS) | _dense(left.pop(0)))
    found = np.sort(groups << np.uint64(_INDEX_BITS) | np.arange(len(words), dtype=np.uint64))
    return (found & np.uint64(_INDEX)).astype(np.int64), (found >> np.uint64(_INDEX_BITS)).astype(np.int64)


def _dense(values: Any) -> Any:
    """Equal numbers for equal values, from 0 without gaps."""
    order = np.argsort(values)
    steps = np.zeros(len(values), np.uint64)
    ordered = values[order]
    steps[1:] = ordered[1:] != ordered[:-1]
    found = np.empty_like(steps)
    found[order] = np.cumsum(steps, dtype=np.uint64)
    return found


def _settled(left: list[Any], groups: Any) -> bool:
    """Whether rows of the same group are equal in the columns that are left, too."""
    some = np.zeros(int(groups.max()) + 1, np.int64)
    some[groups] = np.arange(len(groups))
    like = some[groups]
    return all(bool((column[like] == column).all()) for column in left)
