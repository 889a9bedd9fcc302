"""Decode records to Arrow, a batch at a time, with exactly the results of :mod:`tdqsim.layouts`.

The columns of a batch are read from one matrix of bytes (a row is a record) and converted with numpy. If all records
have the same length, the matrix is a view of the file's bytes; otherwise the leading bytes that all records have are
copied into a matrix, and each field after them is read from where it is. Whatever is not clearly well-formed (blanks in
a number, unusual signs, text that is not valid UTF-16) goes to the plain decoder, each different byte pattern once. So
both agree by construction, and the fast path handles only the usual case.

A redefinition that only some records have is decoded for these records alone, and is null in the others.

A table is decoded as a separate matrix, with a row for each occurrence. If the tables of records take only the room of
their occurrences, the records are first expanded as if each table had its maximum, so that every field has a fixed
offset. Table by table, the bytes that follow it are moved to where they would be, for all records with the same count
together; the bytes of missing occurrences are never read. A redefinition with such a table has a separate *view*: its
tables say nothing about the other fields that share its bytes, nor about the fields that follow. The first view
contains no redefinition: everything is read by the fields that redefine nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts import Field, Layout
from tdqsim.pipeline._batch import Pass, counts_in
from tdqsim.pipeline._corrupt import CORRUPT_TYPE, Corrupt, corrupt_array, refuse_first
from tdqsim.pipeline._levels import Path, TableLevel, gathered
from tdqsim.pipeline._numbers import Bytes, Ints, Mask
from tdqsim.pipeline.shape import Column, Shape, columns_of

__all__ = ["Expansion", "RecordDecoder", "grafted", "view_of", "views"]


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
        self._wanted = max((column.field.offset + column.field.size for column in self.columns), default=0)

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

    def decode(
        self,
        data: bytes | memoryview | Bytes,
        starts: Ints,
        lengths: Ints,
        present: Mapping[Path, Mask] | None = None,
    ) -> pa.RecordBatch:
        """Decode records of a file.

        Args:
            data: the bytes in which the records are.
            starts: where each record begins in them, in ascending order.
            lengths: number of bytes of each record.
            present: for redefinitions that only some records have, which records these are.

        Raises:
            ConversionError: a field is corrupt under ``raise``; it names record, field and offset.
        """
        width, present = self.layout.length, present or {}
        buffer = np.frombuffer(data, np.uint8) if not isinstance(data, np.ndarray) else data
        if not width or not len(starts):
            starts, lengths, buffer = starts * 0, lengths * 0, np.zeros(width, np.uint8)
        first, end = (int(starts[0]), int(starts[-1]) + width) if len(starts) else (0, width)
        if end <= len(buffer):
            buffer = buffer[first:end]
        else:
            buffer = np.concatenate((buffer[first:], np.zeros(end - len(buffer), np.uint8)))
        places = starts - first if first else starts
        corrupt: list[Corrupt] = []
        if self._moving:
            arrays = self._expanded(buffer, places, np.minimum(lengths, width), corrupt, present)
        else:
            short = bool(len(starts)) and int(lengths.min()) < width
            have = np.minimum(lengths, width) if short else None
            level = TableLevel.of_records(buffer, places, have, width, self._wanted)
            arrays = Pass(self.layout, self.shape, self._kept(corrupt), present).columns(self.columns, level)
        return self._finish(arrays, corrupt, len(places))

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

    def _expanded(
        self, data: Bytes, places: Ints, lengths: Ints, corrupt: list[Corrupt], present: Mapping[Path, Mask]
    ) -> list[pa.Array]:
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
            made = Expansion(layout, gathered(data, places, layout.length), lengths.copy(), view, present)
            here = Pass(layout, self.shape, self._kept(mine), present).columns(
                [self.columns[index] for index in wanted], made.level
            )
            for index, array in zip(wanted, here, strict=True):
                before = arrays[index]
                arrays[index] = array if before is None else grafted(self.columns[index], before, array, view)
            corrupt += [made.in_records(bad) for bad in mine if view_of(bad.path, self._views) == view]
        return arrays


# helpers --------------------------------------------------------------------------------------------------------------


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
        lengths: how many of these bytes belong to the record; the expansion changes them.
        view: a redefinition, or the empty path.
        present: for redefinitions that only some records have, which records these are.

    Attributes:
        level: the records with every table at its maximum.
    """

    def __init__(
        self, layout: Layout, matrix: Bytes, lengths: Ints, view: Path, present: Mapping[Path, Mask] | None = None
    ) -> None:
        self._layout, self._rules, self._present = layout, layout.rules, present or {}
        self._around = {view[:end] for end in range(1, len(view) + 1)}
        self._counters = {path: layout.field(".".join(path)) for path in layout.counters}
        self._telling = {
            item.path
            for item in layout.walk()
            if any(inner.depending_on or inner.path in layout.counters for inner in item.walk())
        }
        self._shifts: dict[Path, int] = {}
        self._gaps: list[tuple[int, Ints, Ints]] = []
        self._holes = np.zeros((2, len(matrix)), np.int64)
        self._matrix, self._lengths = matrix, lengths
        self._fields((), 0, np.arange(len(matrix)))
        width = matrix.shape[1]
        self.level = TableLevel(matrix, 0, lengths if len(lengths) and int(lengths.min()) < width else None)

    def _fields(self, group: Path, shift: int, rows: Ints) -> None:
        """Expand the fields of a group; this occurrence of it begins ``shift`` bytes after the first."""
        for sharing in self._layout.groups[group]:
            chosen = [item for item in sharing if item.path in self._around]
            for item in chosen or [item for item in sharing if item.redefines is None]:
                if item.path in self._telling:
                    has = self._present.get(item.path)
                    self._field(item, shift, rows if has is None else rows[has[rows]])

    def _field(self, item: Field, shift: int, rows: Ints) -> None:
        self._shifts[item.path] = shift
        counts = None
        if item.depending_on is not None and item.occurs is not None:
            counter = self._counters[item.depending_on]
            placed = replace(counter, offset=counter.offset + self._shifts.get(counter.path, 0))
            some = slice(None) if len(rows) == len(self._matrix) else rows
            counts = counts_in(placed, TableLevel(self._matrix[some], 0, self._lengths[some]), self._rules, item.occurs)
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
        self._gaps.append((place, rows, missing))
        width = self._matrix.shape[1]
        for size in np.unique(missing[missing > 0]).tolist() if place < width else ():
            some = rows[missing == size]
            self._matrix[some, place:] = self._matrix[some, place - size : width - size]
        own, start = self._lengths[rows], place - missing
        # A record that ends in its gap: a redefinition that is longer than the gap would read bytes of the next record.
        inside = np.flatnonzero((own > start) & (own < place))
        for row, end in zip(rows[inside].tolist(), own[inside].tolist(), strict=True):
            self._matrix[row, end:place] = 0
            self._holes[:, row] = end, place
        self._lengths[rows] = np.where(own > start, np.minimum(own + missing, width), own)

    def in_records(self, bad: Corrupt) -> Corrupt:
        """Corrupt fields with their offsets in the original records, without those after the end of a record."""
        end, place = self._holes[:, bad.rows]
        bad = bad.some((bad.offsets < end) | (bad.offsets >= place))
        shift = 0 * bad.rows
        for place, rows, missing in self._gaps:
            gap = np.zeros(len(self._matrix), np.int64)
            gap[rows] = missing
            shift += np.where(place <= bad.offsets, gap[bad.rows], 0)
        return bad.moved(shift)


def grafted(column: Column, array: pa.Array, other: pa.Array, path: Path) -> pa.Array:
    """An array of a column, with the field of a path taken from another array of the same column."""
    if column.field.path == path or not pa.types.is_struct(array.type):
        return other
    children = [
        grafted(child, array.field(index), other.field(index), path)
        if child.field.path == path[: len(child.field.path)]
        else array.field(index)
        for index, child in enumerate(column.children)
    ]
    return pa.StructArray.from_arrays(children, fields=list(array.type), mask=array.is_null())
