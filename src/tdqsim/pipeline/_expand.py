"""Records whose tables take the room of their occurrences only, made as long as if each table had its maximum.

Then nothing moves any more, and a batch is decoded at once. Table by table the bytes behind it are moved to where they
would be, for all records with as many occurrences together; what a table lacks is never looked at.

A redefinition with such a table has a *view* of its own: its tables say nothing about the bytes of the fields that
share them, nor about what follows. In the first view, of no redefinition, all is read by the fields that redefine none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tdqsim.errors import LayoutError
from tdqsim.layouts import Field, Layout
from tdqsim.pipeline._batch import Corrupt, TableLevel, counts_in
from tdqsim.pipeline._numbers import Bytes, Ints
from tdqsim.pipeline.shape import Column

__all__ = ["Expansion", "grafted", "view_of", "views"]

Path = tuple[str, ...]


def views(layout: Layout) -> tuple[Path, ...]:
    """The views of a layout: the first one, whose path is empty, and the redefinitions with tables, outermost first.

    Raises:
        LayoutError: such a redefinition is in a table itself.
    """
    moving = [
        item.path for item in layout.walk() if item.redefines and any(inner.depending_on for inner in item.walk())
    ]
    tables = {item.path for item in layout.walk() if item.occurs}
    for path in moving:
        if any(path[:end] in tables for end in range(1, len(path) + 1)):
            raise LayoutError(
                f"layout {layout.name}: {'.'.join(path)} is in a table, redefines a field, and has a table of variable"
                " length; only variable_size_occurs max_size reads that"
            )
    return ((), *moving)


def view_of(path: Path, known: tuple[Path, ...]) -> Path:
    """The view in which a field is right: the innermost redefinition that it is in."""
    return max((view for view in known if path[: len(view)] == view), key=len)


class Expansion:
    """One batch in one view.

    Args:
        layout: the layout.
        matrix: the records' bytes, a row each, as many as the layout's longest record has; they are changed.
        lengths: how many of them are the record's own.
        view: a redefinition, or the empty path.

    Attributes:
        level: the records with every table at its maximum.
    """

    def __init__(self, layout: Layout, matrix: Bytes, lengths: Ints, view: Path) -> None:
        self._layout, self._rules = layout, layout.rules
        self._around = {view[:end] for end in range(1, len(view) + 1)}
        self._counters = {path: layout.field(".".join(path)) for path in layout.counters}
        self._telling = {
            item.path
            for item in layout.walk()
            if any(inner.depending_on or inner.path in layout.counters for inner in item.walk())
        }
        self._shifts: dict[Path, int] = {}
        self._gaps: list[tuple[int, Ints]] = []
        self._holes: dict[int, tuple[int, int]] = {}
        self._matrix, self._lengths = matrix, lengths
        self._fields((), 0, np.arange(len(matrix)))
        self.level = TableLevel(matrix, 0, lengths)

    def _fields(self, group: Path, shift: int, rows: Ints) -> None:
        """The fields of a group, of which one occurrence is ``shift`` bytes behind the first."""
        for sharing in self._layout.groups[group]:
            chosen = [item for item in sharing if item.path in self._around]
            for item in chosen or [item for item in sharing if item.redefines is None]:
                if item.path in self._telling:
                    self._field(item, shift, rows)

    def _field(self, item: Field, shift: int, rows: Ints) -> None:
        self._shifts[item.path] = shift
        counts = None
        if item.depending_on is not None and item.occurs is not None:
            counter = self._counters[item.depending_on]
            placed = replace(counter, offset=counter.offset + self._shifts.get(counter.path, 0))
            level = TableLevel(self._matrix[rows], 0, self._lengths[rows])
            counts = counts_in(placed, level, self._rules, item.occurs)
        if any(child.path in self._telling for child in item.children):
            for index in range(item.count):
                here = rows if counts is None else rows[counts > index]
                if not len(here):
                    break
                self._fields(item.path, shift + index * item.length, here)
        if counts is not None:
            self._open(item.offset + shift + item.size, (item.count - counts) * item.length, rows)

    def _open(self, place: int, missing: Ints, rows: Ints) -> None:
        """Move what is behind a table to ``place``; for each of the rows so many bytes are missing there."""
        gap = np.zeros(len(self._matrix), np.int64)
        gap[rows] = missing
        self._gaps.append((place, gap))
        for size in np.unique(missing[missing > 0]).tolist():
            some = rows[missing == size]
            self._matrix[some, place:] = self._matrix[some, place - size : self._matrix.shape[1] - size]
            own = self._lengths[some]
            self._blank(some, own, place - size, place)
            self._lengths[some] = np.where(own > place - size, np.minimum(own + size, self._matrix.shape[1]), own)

    def _blank(self, rows: Ints, own: Ints, start: int, place: int) -> None:
        """Where a record ends in a gap, a redefinition longer than what is there would read what is not its own."""
        inside = (own > start) & (own < place)
        for row, end in zip(rows[inside].tolist(), own[inside].tolist(), strict=True):
            self._matrix[row, end:place] = 0
            self._holes[row] = (end, place)

    def told(self, bad: Corrupt) -> Corrupt | None:
        """A corrupt field with its offset in the record as it was; None when the record had ended there."""
        end, place = self._holes.get(bad.row, (0, 0))
        if end <= bad.offset < place:
            return None
        before = sum(int(gap[bad.row]) for place, gap in self._gaps if place <= bad.offset)
        return replace(bad, offset=bad.offset - before)


def grafted(column: Column, array: pa.Array, other: pa.Array, path: Path) -> pa.Array:
    """An array of a column in which the field of a path is that of another array of the column."""
    if pa.types.is_list(array.type):
        values = grafted(replace(column, field=replace(column.field, occurs=None)), array.values, other.values, path)
        return pa.ListArray.from_arrays(array.offsets, values, type=array.type)
    if column.field.path == path or not pa.types.is_struct(array.type):
        return other
    children = [
        grafted(child, array.field(index), other.field(index), path)
        if child.field.path == path[: len(child.field.path)]
        else array.field(index)
        for index, child in enumerate(column.children)
    ]
    return pa.StructArray.from_arrays(children, fields=list(array.type))
