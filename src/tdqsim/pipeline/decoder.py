"""Records to Arrow, a batch at a time, giving exactly what :mod:`tdqsim.layouts` gives one by one.

The columns of a batch are cut out of one matrix of bytes (a row is a record) and converted with numpy. Whatever is not
plainly well-formed (blanks in a number, odd signs, text that is no UTF-16) goes to the plain decoder, each different
byte pattern once; so both agree by construction, and the fast path needs to know only the usual case.

A table is decoded as a matrix of its own, a row for each occurrence. Layouts whose fields move, because a table of
variable length takes only the room of its occurrences, are decoded in groups of records with equal counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts import Field, Layout, Occurs
from tdqsim.pipeline._batch import Corrupt, Level, Pass, counts_in
from tdqsim.pipeline._columns import up_to
from tdqsim.pipeline._numbers import Bytes
from tdqsim.pipeline.shape import Column, Shape, columns_of, list_of

__all__ = ["CORRUPT_TYPE", "Corrupt", "RecordDecoder"]

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

CORRUPT_TYPE = list_of(
    pa.struct([pa.field("field_name", pa.string()), pa.field("raw_value", pa.binary()), pa.field("offset", pa.int32())])
)
INT64 = np.iinfo(np.int64)


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
        wanted = {item.path for column in self.columns for item in column.field.walk()}
        self._moving = layout.variable_size_occurs == "shift_record" and bool(layout.counters)
        self._nested = self._moving and any(_inside_table(layout, item) for item in layout.walk() if item.depending_on)
        self._wanted = wanted

    def decode_fixed(self, data: bytes | memoryview, record_length: int) -> pa.RecordBatch:
        """Decode records of one length that lie one after another.

        Raises:
            ConversionError: the data is no multiple of the record length, or a field is corrupt under ``raise``.
        """
        if len(data) % record_length:
            raise ConversionError(f"{len(data)} bytes are no multiple of the record length {record_length}")
        matrix = np.frombuffer(data, np.uint8).reshape(-1, record_length)
        lengths = np.full(len(matrix), record_length, np.int64) if record_length < self.layout.length else None
        return self._matrix(_widened(matrix, self.layout.length), lengths)

    def decode(self, data: bytes | Bytes, starts: Ints, lengths: Ints) -> pa.RecordBatch:
        """Decode records by place: where each starts in ``data``, and how long it is.

        Raises:
            ConversionError: a field is corrupt under ``raise``; it names record, field and offset.
        """
        width = self.layout.length
        buffer = np.frombuffer(data, np.uint8) if not isinstance(data, np.ndarray) else data
        if len(starts) and int(starts.max()) + width > len(buffer):
            buffer = np.concatenate((buffer, np.zeros(width, np.uint8)))
        if not width or not len(starts):
            return self._matrix(np.zeros((len(starts), width), np.uint8), None)
        matrix = np.lib.stride_tricks.sliding_window_view(buffer, width)[starts]
        short = lengths < width
        if not short.any():
            return self._matrix(matrix, None)
        # What follows a short record in the file must not be seen in it.
        np.multiply(matrix, up_to(width, lengths), out=matrix)
        return self._matrix(matrix, np.minimum(lengths, width).astype(np.int64))

    def _matrix(self, matrix: Bytes, lengths: Ints | None) -> pa.RecordBatch:
        found: list[Corrupt] = []
        if self._nested:
            arrays = self._one_by_one(matrix, lengths, found)
        elif self._moving:
            arrays = self._by_counts(matrix, lengths, found)
        else:
            arrays = Pass(self.layout, self.shape, found).columns(self.columns, Level(matrix, 0, lengths))
        return self._finish(arrays, found, len(matrix))

    def _finish(self, arrays: list[pa.Array], found: list[Corrupt], rows: int) -> pa.RecordBatch:
        found.sort(key=lambda bad: (bad.row, bad.offset))
        if found and self.corrupt == "raise":
            bad = found[0]
            raise ConversionError(
                f"field {bad.field} X'{bad.raw.hex().upper()}': no value of its type",
                record=bad.row + 1,
                offset=bad.offset,
            )
        if self.shape.flat:
            arrays = list(_flattened(self.columns, arrays))
        if self.corrupt == "column":
            arrays.append(_corrupt_array(found, rows))
        if not self.schema.names:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    # fields that move -------------------------------------------------------------------------------------------------

    def _by_counts(self, matrix: Bytes, lengths: Ints | None, found: list[Corrupt]) -> list[pa.Array]:
        """Decode records with equal table sizes together, by a layout in which nothing moves any more."""
        order: list[Ints] = []
        parts: list[list[pa.Array]] = []
        self._split(self.layout, np.arange(len(matrix)), matrix, lengths, [], order, parts, found)
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return [pa.array([], column.arrow.type) for column in self.columns]
        back = pa.array(np.argsort(np.concatenate(order)))
        return [pa.concat_arrays([part[index] for part in parts]).take(back) for index in range(len(self.columns))]

    def _split(
        self,
        layout: Layout,
        rows: Ints,
        matrix: Bytes,
        lengths: Ints | None,
        done: list[tuple[str, ...]],
        order: list[Ints],
        parts: list[list[pa.Array]],
        found: list[Corrupt],
    ) -> None:
        table = next((item for item in layout.walk() if item.depending_on and item.path not in done), None)
        here, part_lengths = matrix[rows], None if lengths is None else lengths[rows]
        if table is None:
            mine: list[Corrupt] = []
            columns = _recolumned(self.columns, {item.path: item for item in layout.walk()})
            parts.append(Pass(layout, self.shape, mine).columns(columns, Level(here, 0, part_lengths)))
            order.append(rows)
            found += [replace(bad, row=int(rows[bad.row])) for bad in mine]
            return
        assert table.depending_on is not None
        assert table.occurs is not None
        counter = layout.field(".".join(table.depending_on))
        counts = np.clip(counts_in(counter, Level(here, 0, part_lengths), self.layout.rules), 0, table.occurs.maximum)
        for count in np.unique(counts):
            fixed = _with_count(layout, table, int(count))
            self._split(fixed, rows[counts == count], matrix, lengths, [*done, table.path], order, parts, found)

    def _one_by_one(self, matrix: Bytes, lengths: Ints | None, found: list[Corrupt]) -> list[pa.Array]:
        """A table of variable length within a table: the plain decoder."""
        rows: list[dict[str, Any]] = []
        for number, row in enumerate(matrix):
            record = row.tobytes() if lengths is None else row[: lengths[number]].tobytes()
            values, corrupt = self.layout.decode_with_corrupt(record, fillers=True)
            rows.append(values)
            found += [Corrupt(number, bad.field, bad.offset, bytes.fromhex(bad.hex)) for bad in corrupt]
        return [
            pa.array([_plain(column, row.get(column.field.key), self.shape) for row in rows], column.arrow.type)
            for column in self.columns
        ]


# helpers --------------------------------------------------------------------------------------------------------------


def _widened(matrix: Bytes, width: int) -> Bytes:
    """The matrix with at least as many columns as the layout has bytes; what is missing is marked by the lengths."""
    if matrix.shape[1] >= width:
        return matrix
    return np.concatenate((matrix, np.zeros((len(matrix), width - matrix.shape[1]), np.uint8)), axis=1)


def _inside_table(layout: Layout, item: Field) -> bool:
    """Whether a field is inside a table."""
    return any(
        other.occurs and item.path[: len(other.path)] == other.path and other is not item for other in layout.walk()
    )


def _with_count(layout: Layout, table: Field, count: int) -> Layout:
    """The layout when a table has this many occurrences: what follows it moves up."""
    assert table.occurs is not None
    saved = (table.occurs.maximum - count) * table.length
    behind = table.offset + table.size

    def moved(item: Field) -> Field:
        children = tuple(moved(child) for child in item.children)
        if item.path == table.path:
            return replace(item, occurs=Occurs(count, count), depending_on=None, children=children)
        around = table.path[: len(item.path)] == item.path
        if around:
            return replace(item, length=item.length - saved, children=children)
        return replace(item, offset=item.offset - saved if item.offset >= behind else item.offset, children=children)

    return replace(layout, fields=tuple(moved(item) for item in layout.fields))


def _recolumned(columns: tuple[Column, ...], fields: dict[tuple[str, ...], Field]) -> tuple[Column, ...]:
    """The columns with the fields of another version of the layout."""
    return tuple(
        replace(
            column, field=fields.get(column.field.path, column.field), children=_recolumned(column.children, fields)
        )
        for column in columns
    )


def _plain(column: Column, value: Any, shape: Shape) -> Any:
    """A value of the plain decoder as the column has it."""
    if value is None:
        return None
    if column.field.occurs is not None and isinstance(value, list):
        single = replace(column, field=replace(column.field, occurs=None))
        return [_plain(single, element, shape) for element in value]
    if column.children:
        return {child.name: _plain(child, value.get(child.field.key), shape) for child in column.children}
    if isinstance(value, str):
        blanks = "".join(map(chr, range(0x21)))
        policy = shape.string_trimming_policy
        return {"both": value.strip, "left": value.lstrip, "right": value.rstrip}.get(policy, lambda _: value)(blanks)
    if isinstance(value, bytes) and pa.types.is_string(column.type):
        return value.hex().upper()
    return str(value) if pa.types.is_string(column.type) else value


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
    """Groups as their columns, tables as a column for each occurrence."""
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
    """One occurrence of a table for every row; null where the row has fewer."""
    offsets = array.offsets.to_numpy()
    places = offsets[:-1] + index
    missing = places >= offsets[1:]
    return array.values.take(pa.array(np.where(missing, 0, places), mask=missing))


def _corrupt_array(found: list[Corrupt], rows: int) -> pa.Array:
    per_row = np.bincount([bad.row for bad in found], minlength=rows) if found else np.zeros(rows, np.int64)
    offsets = np.concatenate(([0], np.cumsum(per_row))).astype(np.int32)
    entries = pa.array(
        [{"field_name": bad.field, "raw_value": bad.raw, "offset": bad.offset} for bad in found],
        CORRUPT_TYPE.value_type,
    )
    return pa.ListArray.from_arrays(pa.array(offsets), entries, type=CORRUPT_TYPE)
