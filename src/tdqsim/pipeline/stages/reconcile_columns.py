"""Columns of records for reconcile: compared by Arrow, exactly, some thousands at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["RecordColumn", "matrices", "ranked", "unequal"]

_BYTES_AT_ONCE = 8 << 20


class RecordColumn:
    """One column of records.

    Args:
        records: binary values; a null is an empty record.
    """

    def __init__(self, records: pa.Array) -> None:
        self.values = pc.fill_null(records, b"") if records.null_count else records
        self.count = len(records)

    def __len__(self) -> int:
        return self.count

    def record(self, place: int) -> bytes:
        """The record at a place, from 0."""
        return bytes(self.values[place].as_py())

    def part(self, span: slice, places: Any = None) -> pa.Array:
        """A part of the records at some places, or of all; short ones go on with X'00'."""
        values = self.values if places is None else self.values.take(pa.array(places))
        found, width = pc.binary_slice(values, span.start, span.stop), span.stop - span.start
        if len(found) and pc.min(pc.binary_length(found)).as_py() < width:
            return pc.binary_slice(pc.binary_join_element_wise(found, bytes(width), b""), 0, width)
        return found

    @property
    def step(self) -> int:
        """How many records are some megabytes."""
        size: int = self.values.nbytes
        return max(1, _BYTES_AT_ONCE * self.count // max(1, size))


def unequal(left: RecordColumn, right: RecordColumn, mine: Any = None, theirs: Any = None) -> Any:
    """Which pairs of records differ.

    Args:
        left: one column.
        right: the other column.
        mine: the places of the pairs in the one; None pairs the records at the same places.
        theirs: the places of the pairs in the other.

    Returns:
        The numbers of the pairs, in order.
    """
    size = min(left.count, right.count) if mine is None else len(mine)
    if mine is None and left.values.slice(0, size).equals(right.values.slice(0, size)):
        return np.empty(0, np.int64)
    found, step = [np.empty(0, np.int64)], min(left.step, right.step)
    for at in range(0, size, step):
        if mine is None:
            a, b = left.values.slice(at, min(step, size - at)), right.values.slice(at, min(step, size - at))
        else:
            a, b = left.values.take(pa.array(mine[at : at + step])), right.values.take(pa.array(theirs[at : at + step]))
        found.append(at + np.flatnonzero(pc.not_equal(a, b).to_numpy(zero_copy_only=False)))
    return np.concatenate(found)


def matrices(left: RecordColumn, right: RecordColumn, mine: Any, theirs: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Pairs of records of one length as rows of bytes, some megabytes at a time; those of other lengths are left out.

    Args:
        left: one column.
        right: the other column.
        mine: the places of the pairs in the one.
        theirs: the places of the pairs in the other.

    Yields:
        which pairs they are, the records of the left side, and those of the right side.
    """
    step = min(left.step, right.step)
    for at in range(0, len(mine), step):
        a, b = left.values.take(pa.array(mine[at : at + step])), right.values.take(pa.array(theirs[at : at + step]))
        lengths = pc.binary_length(a).to_numpy()
        same = lengths == pc.binary_length(b).to_numpy()
        for length in np.unique(lengths[same & (lengths > 0)]).tolist():
            which = np.flatnonzero(same & (lengths == length))
            yield at + which, _matrix(a, which, length), _matrix(b, which, length)


def _matrix(values: pa.Array, which: Any, length: int) -> Any:
    data = values.take(pa.array(which)).buffers()[2]
    return np.frombuffer(data, np.uint8)[: len(which) * length].reshape(len(which), length)


def ranked(values: pa.Array) -> tuple[Any, Any]:
    """Values grouped by what they are, exactly.

    Returns:
        The places of the values by group, those of a group in their order, and the number of the group of each.
    """
    codes = values.dictionary_encode().indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    return order, codes[order]
