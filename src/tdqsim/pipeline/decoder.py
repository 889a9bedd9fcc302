"""Records to Arrow, a batch at a time, giving exactly what :mod:`tdqsim.layouts` gives one by one.

The columns of a batch are read from one matrix of bytes (a row is a record) and converted with numpy. Where records
have one length the matrix is a view of the file's bytes; else only the part with numbers in it is brought together, and
text is copied from where it lies. Whatever is not
plainly well-formed (blanks in a number, odd signs, text that is no UTF-16) goes to the plain decoder, each different
byte pattern once; so both agree by construction, and the fast path needs to know only the usual case.

A table is decoded as a matrix of its own, a row for each occurrence. Layouts whose fields move, because a table of
variable length takes only the room of its occurrences, are decoded in groups of records with equal counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts import BadValue, Field, FieldType, Layout, Occurs
from tdqsim.pipeline._batch import Corrupt, Level, Pass, counts_in, digits_text, windows
from tdqsim.pipeline._columns import in_charset
from tdqsim.pipeline._numbers import Bytes
from tdqsim.pipeline.shape import Column, Shape, charset_of, columns_of

__all__ = ["CORRUPT_TYPE", "Corrupt", "RecordDecoder", "corrupt_type"]

Ints = npt.NDArray[np.int64]
BYTE_FOR_BYTE = "latin-1"


def corrupt_type(*, as_hex: bool, offset: bool = True) -> pa.ListType:
    """The type of the column of corrupt fields: name, bytes (as they are or in hexadecimal), offset in the record."""
    fields = [
        ("field_name", pa.string()),
        ("raw_value", pa.string() if as_hex else pa.binary()),
        ("offset", pa.int32()),
    ]
    members = [pa.field(name, kind, nullable=False) for name, kind in (fields if offset else fields[:2])]
    return pa.list_(pa.field("element", pa.struct(members), nullable=False))


CORRUPT_TYPE = corrupt_type(as_hex=False)


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
        self._nested = self._moving and any(_inside_table(layout, item) for item in layout.walk() if item.depending_on)
        if self._nested and self.shape.debug:
            raise LayoutError(f"layout {layout.name}: debug does not go with a table of variable length in a table")
        self._numbers_end = _numbers_end(column.field for column in self.columns)

    def decode_fixed(self, data: bytes | memoryview, record_length: int) -> pa.RecordBatch:
        """Decode records of one length that lie one after another.

        Raises:
            ConversionError: the data is no multiple of the record length, or a field is corrupt under ``raise``.
        """
        if len(data) % record_length:
            raise ConversionError(f"{len(data)} bytes are no multiple of the record length {record_length}")
        starts = np.arange(0, len(data), record_length, dtype=np.int64)
        return self.decode(data, starts, np.full(len(starts), record_length, np.int64))

    def decode(self, data: bytes | memoryview | Bytes, starts: Ints, lengths: Ints) -> pa.RecordBatch:
        """Decode records by place: where each starts in ``data``, one after the other, and how long it is.

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
        found: list[Corrupt] = []
        if self._nested:
            arrays = self._one_by_one(rows, found)
        elif self._moving:
            arrays = self._by_counts(rows, found)
        else:
            level = rows.level(self.layout, self._numbers_end)
            arrays = Pass(self.layout, self.shape, found).columns(self.columns, level)
        return self._finish(arrays, found, len(rows.places))

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

    def _by_counts(self, rows: _Rows, found: list[Corrupt]) -> list[pa.Array]:
        """Decode records with equal table sizes together, by a layout in which nothing moves any more."""
        order: list[Ints] = []
        parts: list[list[pa.Array]] = []
        self._split(self.layout, np.arange(len(rows.places)), rows, [], order, parts, found)
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return [pa.array([], column.arrow.type) for column in self.columns]
        back = pa.array(np.argsort(np.concatenate(order)))
        return [pa.concat_arrays([part[index] for part in parts]).take(back) for index in range(len(self.columns))]

    def _split(
        self,
        layout: Layout,
        members: Ints,
        rows: _Rows,
        done: list[tuple[str, ...]],
        order: list[Ints],
        parts: list[list[pa.Array]],
        found: list[Corrupt],
    ) -> None:
        table = next((item for item in layout.walk() if item.depending_on and item.path not in done), None)
        here = rows.some(members)
        if table is None:
            mine: list[Corrupt] = []
            columns = _recolumned(self.columns, {item.path: item for item in layout.walk()})
            level = here.level(self.layout, _numbers_end(column.field for column in columns))
            parts.append(Pass(layout, self.shape, mine).columns(columns, level))
            order.append(members)
            found += [replace(bad, row=int(members[bad.row])) for bad in mine]
            return
        assert table.depending_on is not None
        assert table.occurs is not None
        counter = layout.field(".".join(table.depending_on))
        level = here.level(self.layout, counter.offset + counter.length)
        counts = counts_in(counter, level, self.layout.rules, table.occurs)
        for count in np.unique(counts):
            fixed = _with_count(layout, table, int(count))
            self._split(fixed, members[counts == count], rows, [*done, table.path], order, parts, found)

    def _one_by_one(self, rows: _Rows, found: list[Corrupt]) -> list[pa.Array]:
        """A table of variable length within a table: the plain decoder."""
        made: list[dict[str, Any]] = []
        plain = _as_bytes(self.layout, self.shape, self.columns)
        for number, record in enumerate(rows.records(self.layout.length)):
            values, corrupt = self.layout.decode_with_corrupt(record, fillers=True)
            made.append(values if plain is self.layout else plain.decode(record, corrupt="null", fillers=True))
            found += [Corrupt(number, bad.field, bad.offset, bytes.fromhex(bad.hex)) for bad in corrupt]
        return [
            pa.array([_plain(column, self._of(column, row), self) for row in made], column.arrow.type)
            for column in self.columns
        ]

    @staticmethod
    def _of(column: Column, row: dict[str, Any]) -> Any:
        """What the column is made of; the level 01 group is the record itself."""
        return row.get(column.field.key) if column.field.path else row


# helpers --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    """Records where they lie: each has the layout's bytes in ``data``, of which ``lengths`` are its own (None: all)."""

    data: Bytes
    places: Ints
    lengths: Ints | None

    def some(self, rows: Ints) -> _Rows:
        """Only these records."""
        return _Rows(self.data, self.places[rows], None if self.lengths is None else self.lengths[rows])

    def level(self, layout: Layout, end: int) -> Level:
        """The records as rows: a view where they are evenly spaced, else their first ``end`` bytes in one matrix."""
        count, width = len(self.places), layout.length
        step = int(self.places[1] - self.places[0]) if count > 1 else width
        if not count or (int(self.places[-1] - self.places[0]) == step * (count - 1) and _even(self.places, step)):
            data = self.data[int(self.places[0]) if count else 0 :]
            rows = np.lib.stride_tricks.as_strided(data, (count, width), (step, 1), writeable=False)
            return Level(rows, 0, self.lengths)
        return Level(windows(self.data, end)[self.places], 0, self.lengths, self.data, self.places)

    def records(self, width: int) -> Iterable[bytes]:
        """The bytes of each record."""
        for number, place in enumerate(self.places.tolist()):
            size = width if self.lengths is None else int(self.lengths[number])
            yield self.data[place : place + size].tobytes()


def _even(places: Ints, step: int) -> bool:
    return step > 0 and bool((np.diff(places) == step).all())


def _numbers_end(fields: Iterable[Field]) -> int:
    """Where the last field ends that is not a text outside any table: up to there records are brought together."""
    end = 0
    for item in fields:
        if item.type is FieldType.GROUP and item.occurs is None:
            end = max(end, _numbers_end(item.children))
        elif item.occurs is not None or item.type is not FieldType.TEXT:
            end = max(end, item.offset + item.size)
    return end


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
    """The columns with the fields of another version of the layout, read as before."""

    def again(column: Column) -> Column:
        moved = replace(fields.get(column.field.path, column.field), type=column.field.type)
        return replace(column, field=moved, children=tuple(again(child) for child in column.children))

    return tuple(again(column) for column in columns)


def _leaves(columns: Iterable[Column]) -> Iterator[Column]:
    for column in columns:
        yield from _leaves(column.children) if column.children else (column,)


def _is_digits_text(column: Column) -> bool:
    return column.field.type is FieldType.ZONED and pa.types.is_string(column.type)


def _as_bytes(layout: Layout, shape: Shape, columns: Iterable[Column]) -> Layout:
    """The layout with the bytes of those fields whose columns are made of them; text as a character for each byte."""
    digits = {leaf.field.path for leaf in _leaves(columns) if _is_digits_text(leaf)} - layout.counters

    def changed(item: Field) -> Field:
        kind = FieldType.BYTES if item.path in digits else item.type
        page = BYTE_FOR_BYTE if charset_of(item, layout.rules, shape) else item.code_page
        return replace(item, type=kind, code_page=page, children=tuple(changed(child) for child in item.children))

    return (
        replace(layout, fields=tuple(changed(item) for item in layout.fields))
        if digits or shape.ascii_charset
        else layout
    )


def _plain(column: Column, value: Any, decoder: RecordDecoder) -> Any:
    """A value of the plain decoder as the column has it."""
    if value is None:
        return None
    if column.field.occurs is not None and isinstance(value, list):
        single = replace(column, field=replace(column.field, occurs=None))
        return [_plain(single, element, decoder) for element in value]
    if column.children:
        return {child.name: _plain(child, value.get(child.field.key), decoder) for child in column.children}
    if isinstance(value, str):
        blanks = "".join(map(chr, range(0x21)))
        policy = decoder.shape.string_trimming_policy
        charset = charset_of(column.field, decoder.layout.rules, decoder.shape)
        if charset:
            raw = pa.array([value.encode(BYTE_FOR_BYTE)], pa.binary()).view(pa.string())
            value = in_charset(raw, charset, None, controls=policy == "keep_all")[0].as_py()
        return {"both": value.strip, "left": value.lstrip, "right": value.rstrip}.get(policy, lambda _: value)(blanks)
    if isinstance(value, bytes) and pa.types.is_string(column.type):
        return _digits(column, value, decoder) if _is_digits_text(column) else value.hex().upper()
    return str(value) if pa.types.is_string(column.type) else value


def _digits(column: Column, value: bytes, decoder: RecordDecoder) -> str | None:
    try:
        return digits_text(column.field, value, decoder.layout.rules)
    except BadValue:
        return None


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
