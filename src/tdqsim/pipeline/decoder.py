"""Decode records to Arrow, a batch at a time, with exactly the results of :mod:`tdqsim.layouts`.

The columns of a batch are read from one matrix of bytes (a row is a record) and converted with numpy. If all records
have the same length, the matrix is a view of the file's bytes; otherwise only the leading bytes, up to the last number,
are copied into a matrix, and text is copied from where it is. Whatever is not clearly well-formed (blanks in a number,
unusual signs, text that is not valid UTF-16) goes to the plain decoder, each different byte pattern once. So both agree
by construction, and the fast path handles only the usual case.

A table is decoded as a separate matrix, with a row for each occurrence. If the tables of records take only the room of
their occurrences, the records are first expanded as if each table had its maximum, so that every field has a fixed
offset. Table by table, the bytes that follow it are moved to where they would be, for all records with the same count
together; the bytes of missing occurrences are never read. A redefinition with such a table has a separate *view*: its
tables say nothing about the other fields that share its bytes, nor about the fields that follow. The first view
contains no redefinition: everything is read by the fields that redefine nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts import Field, FieldType, Layout
from tdqsim.pipeline._batch import Pass, TableLevel, counts_in, windows
from tdqsim.pipeline._corrupt import CORRUPT_TYPE, Corrupt, corrupt_array, refuse_first
from tdqsim.pipeline._numbers import Bytes, Ints
from tdqsim.pipeline.shape import Column, Shape, columns_of

__all__ = ["Expansion", "RecordDecoder", "grafted", "view_of", "views"]

Path = tuple[str, ...]


class RecordDecoder:
    """Decodes batches of records by a layout.

    Args:
        layout: the layout.
        shape: names and types of the columns.
        columns: names of the top-level columns wanted, in this order; None for all.
        corrupt: ``null``, ``raise``, or ``column`` (null, and a list of corrupt fields as the last column).
        corrupt_name: the name of that column.

    Raises:
        LayoutError: a wanted column does not exist, or a column has no Arrow type.
    """

    def __init__(
        self,
        layout: Layout,
        shape: Shape | None = None,
        *,
        columns: Sequence[str] | None = None,
        corrupt: str = "null",
        corrupt_name: str = "_corrupt_fields",
    ) -> None:
        self.layout = layout
        self.shape = shape or Shape()
        known = {column.name.lower(): column for column in columns_of(layout, self.shape)}
        for name in columns or ():
            if name.lower() not in known:
                raise LayoutError(
                    f"layout {layout.name} has no column {name!r}; it has {', '.join(c.name for c in known.values())}"
                )
        self.columns = tuple(known.values()) if columns is None else tuple(known[name.lower()] for name in columns)
        self.corrupt = corrupt
        fields = list(_flat_fields(self.columns)) if self.shape.flat else [column.arrow for column in self.columns]
        if corrupt == "column":
            fields.append(pa.field(corrupt_name, CORRUPT_TYPE))
        self.schema = pa.schema(fields)
        self._moving = layout.variable_size_occurs == "shift_record" and bool(layout.counters)
        self._views = views(layout) if self._moving else ()
        self._numbers_end = _numbers_end(column.field for column in self.columns)

    def decode_fixed(self, data: bytes | memoryview, record_length: int) -> pa.RecordBatch:
        """Decode consecutive records of one length.

        Raises:
            ConversionError: the size of the data is not a multiple of the record length, or a field is corrupt under
                ``raise``.
        """
        if len(data) % record_length:
            raise ConversionError(f"{len(data)} bytes are no multiple of the record length {record_length}")
        starts = np.arange(0, len(data), record_length, dtype=np.int64)
        return self.decode(data, starts, np.full(len(starts), record_length, np.int64))

    def decode(self, data: bytes | memoryview | Bytes, starts: Ints, lengths: Ints) -> pa.RecordBatch:
        """Decode records that start at ``starts`` in ``data``, in ascending order, and have the given ``lengths``.

        Raises:
            ConversionError: a field is corrupt under ``raise``; it names record, field and offset.
        """
        width = self.layout.length
        buffer = np.frombuffer(data, np.uint8) if not isinstance(data, np.ndarray) else data
        if not width or not len(starts):
            starts, lengths, buffer = starts * 0, lengths * 0, np.zeros(width, np.uint8)
        first, end = (int(starts[0]), int(starts[-1]) + width) if len(starts) else (0, width)
        short = bool(len(starts)) and int(lengths.min()) < width
        if end <= len(buffer):
            buffer = buffer[first:end]
        else:
            buffer = np.concatenate((buffer[first:], np.zeros(end - len(buffer), np.uint8)))
        rows = _Rows(buffer, starts - first if first else starts, np.minimum(lengths, width) if short else None)
        return self._rows(rows)

    def _rows(self, rows: _Rows) -> pa.RecordBatch:
        corrupt: list[Corrupt] = []
        if self._moving:
            arrays = self._expanded(rows, corrupt)
        else:
            level = rows.level(self.layout, self._numbers_end)
            arrays = Pass(self.layout, self.shape, self._kept(corrupt)).columns(self.columns, level)
        return self._finish(arrays, corrupt, len(rows.places))

    def _kept(self, corrupt: list[Corrupt]) -> list[Corrupt] | None:
        """Where corrupt fields are collected; None if nothing uses them."""
        return None if self.corrupt == "null" else corrupt

    def _finish(self, arrays: list[pa.Array], corrupt: list[Corrupt], rows: int) -> pa.RecordBatch:
        if self.corrupt == "raise":
            refuse_first(corrupt)
        if self.shape.flat:
            arrays = list(_flattened(self.columns, arrays))
        if self.corrupt == "column":
            arrays.append(corrupt_array(corrupt, rows))
        if not self.schema.names:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _expanded(self, rows: _Rows, corrupt: list[Corrupt]) -> list[pa.Array]:
        """Decode records in which fields move, after moving them; each redefinition with tables has a separate view."""
        layout = replace(self.layout, variable_size_occurs="max_size")
        arrays: list[pa.Array | None] = [None] * len(self.columns)
        for view in self._views:
            wanted = [
                index for index, column in enumerate(self.columns) if _is_read_in(column.field.path, view, self._views)
            ]
            if not wanted:
                continue
            mine: list[Corrupt] = []
            made = Expansion(layout, *rows.copied(layout.length), view)
            here = Pass(layout, self.shape, self._kept(mine)).columns(
                [self.columns[index] for index in wanted], made.level
            )
            for index, array in zip(wanted, here, strict=True):
                before = arrays[index]
                arrays[index] = array if before is None else grafted(self.columns[index], before, array, view)
            corrupt += [made.in_records(bad) for bad in mine if view_of(bad.path, self._views) == view]
        return arrays


# helpers --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    """Records in the data of a file; ``lengths`` are the bytes that belong to each (None: all of the layout)."""

    data: Bytes
    places: Ints
    lengths: Ints | None

    def level(self, layout: Layout, end: int) -> TableLevel:
        """The records as rows: a view where they are evenly spaced, else their first ``end`` bytes in one matrix."""
        count, width = len(self.places), layout.length
        step = int(self.places[1] - self.places[0]) if count > 1 else width
        if not count or (int(self.places[-1] - self.places[0]) == step * (count - 1) and _even(self.places, step)):
            data = self.data[int(self.places[0]) if count else 0 :]
            rows = np.lib.stride_tricks.as_strided(data, (count, width), (step, 1), writeable=False)
            return TableLevel(rows, 0, self.lengths)
        return TableLevel(windows(self.data, end)[self.places], 0, self.lengths, self.data, self.places)

    def copied(self, width: int) -> tuple[Bytes, Ints]:
        """A row of ``width`` bytes for each record, and how many of these bytes belong to the record."""
        lengths = np.full(len(self.places), width, np.int64) if self.lengths is None else self.lengths.copy()
        return windows(self.data, width)[self.places], lengths


def _even(places: Ints, step: int) -> bool:
    return step > 0 and bool((np.diff(places) == step).all())


def _numbers_end(fields: Iterable[Field]) -> int:
    """Where the last field ends that is not text outside tables; the bytes before it are copied into the matrix."""
    end = 0
    for item in fields:
        if item.type is FieldType.GROUP and item.occurs is None:
            end = max(end, _numbers_end(item.children))
        elif item.occurs is not None or item.type is not FieldType.TEXT:
            end = max(end, item.offset + item.size)
    return end


def _is_read_in(path: Path, view: Path, known: tuple[Path, ...]) -> bool:
    """Whether anything of a column is read in a view: the field itself, or a redefinition inside it."""
    return view_of(path, known) == view or (len(view) > len(path) and view[: len(path)] == path)


def _flat_fields(columns: Iterable[Column], prefix: str = "") -> Iterable[pa.Field]:
    for column in columns:
        names = [f"{prefix}{column.name}"]
        if column.field.occurs:
            names = [f"{prefix}{column.name}_{index + 1}" for index in range(column.field.occurs.maximum)]
        for name in names:
            if column.children:
                yield from _flat_fields(column.children, f"{name}_")
            else:
                yield pa.field(name, column.type)


def _flattened(columns: Iterable[Column], arrays: Iterable[pa.Array]) -> Iterable[pa.Array]:
    """Groups as their columns, tables as one column for each occurrence."""
    for column, array in zip(columns, arrays, strict=True):
        singles = [array]
        if column.field.occurs:
            singles = [_element(array, index) for index in range(column.field.occurs.maximum)]
        for single in singles:
            if column.children:
                yield from _flattened(column.children, single.flatten())
            else:
                yield single


def _element(array: pa.Array, index: int) -> pa.Array:
    """One occurrence of a table for every row; null where the row has fewer occurrences."""
    offsets = array.offsets.to_numpy()
    places = offsets[:-1] + index
    missing = places >= offsets[1:]
    return array.values.take(pa.array(np.where(missing, 0, places), mask=missing))


# records in which fields move -----------------------------------------------------------------------------------------


def views(layout: Layout) -> tuple[Path, ...]:
    """The views of a layout: the first, whose path is empty, then the redefinitions with tables, outermost first.

    Raises:
        LayoutError: such a redefinition is inside a table.
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
    """The view in which a field is valid: that of the innermost redefinition that contains it."""
    return max((view for view in known if path[: len(view)] == view), key=len)


class Expansion:
    """One batch in one view.

    Args:
        layout: the layout.
        matrix: the records' bytes, a row each, as many as the layout's longest record has; the expansion changes it.
        lengths: how many of these bytes belong to the record.
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
        self._holes = np.zeros((2, len(matrix)), np.int64)
        self._matrix, self._lengths = matrix, lengths
        self._fields((), 0, np.arange(len(matrix)))
        self.level = TableLevel(matrix, 0, lengths)

    def _fields(self, group: Path, shift: int, rows: Ints) -> None:
        """Expand the fields of a group; this occurrence of it begins ``shift`` bytes after the first."""
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
        """Move the bytes that follow a table to ``place``; each of the rows lacks ``missing`` bytes there."""
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
        """Clear the gap in which a record ends: a redefinition that is longer than the gap would read foreign bytes."""
        inside = (own > start) & (own < place)
        for row, end in zip(rows[inside].tolist(), own[inside].tolist(), strict=True):
            self._matrix[row, end:place] = 0
            self._holes[:, row] = end, place

    def in_records(self, bad: Corrupt) -> Corrupt:
        """Corrupt fields with their offsets in the original records, without those after the end of a record."""
        end, place = self._holes[:, bad.rows]
        bad = bad.some((bad.offsets < end) | (bad.offsets >= place))
        return bad.moved(
            sum((np.where(place <= bad.offsets, gap[bad.rows], 0) for place, gap in self._gaps), 0 * bad.rows)
        )


def grafted(column: Column, array: pa.Array, other: pa.Array, path: Path) -> pa.Array:
    """An array of a column, with the field of a path taken from another array of the same column."""
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
