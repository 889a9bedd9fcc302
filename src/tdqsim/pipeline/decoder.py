"""Records to Arrow, a batch at a time, giving exactly what :mod:`tdqsim.layouts` gives one by one.

The columns of a batch are cut out of one matrix of bytes (a row is a record) and converted with numpy. Whatever is not
plainly well-formed (blanks in a number, odd signs, text that is no UTF-16) goes to the plain decoder, each different
byte pattern once; so both agree by construction, and the fast path needs to know only the usual case.

A table is decoded as a matrix of its own, a row for each occurrence. Layouts whose fields move, because a table of
variable length takes only the room of its occurrences, are decoded in groups of records with equal counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts import BadValue, Field, FieldType, Layout, Occurs, Rules, decode_value
from tdqsim.pipeline import _numbers
from tdqsim.pipeline._columns import (
    ascii_strings,
    ascii_table,
    code_points,
    decimal_array,
    integer_array,
    null_mask,
    strings,
    trimmed,
    up_to,
)
from tdqsim.pipeline._numbers import Bytes, Integers
from tdqsim.pipeline.shape import Column, Shape, columns_of, list_of

__all__ = ["CORRUPT_TYPE", "Corrupt", "RecordDecoder"]

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

CORRUPT_TYPE = list_of(
    pa.struct([pa.field("field_name", pa.string()), pa.field("raw_value", pa.binary()), pa.field("offset", pa.int32())])
)
INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True)
class Corrupt:
    """A corrupt field: row in the batch, path with occurrences, offset in the record, bytes."""

    row: int
    field: str
    offset: int
    raw: bytes


@dataclass(slots=True)
class _Level:
    """A matrix of bytes: the records, or the occurrences of a table in them.

    Attributes:
        data: bytes, a row for each record or occurrence.
        start: offset in the layout of the first byte of each row.
        lengths: valid bytes of each row, or None when all are.
        records: record number of each row, or None at the top.
        offsets: offset in its record of each row, or None at the top.
        indexes: occurrence numbers of each row, outermost first.
        counts: values of DEPENDING ON fields, by path, one for each row.
    """

    data: Bytes
    start: int
    lengths: Ints | None
    records: Ints | None = None
    offsets: Ints | None = None
    indexes: tuple[Ints, ...] = ()
    counts: dict[tuple[str, ...], Ints] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(self.data)

    def cut(self, item: Field) -> Bytes:
        """The bytes of one field."""
        at = item.offset - self.start
        return self.data[:, at : at + item.length]

    def text(self, item: Field, rules: Rules) -> Bytes:
        """The same in ASCII (X'80' and up: look closer)."""
        flat = self.cut(item).tobytes().translate(ascii_table(rules.page(item)))
        return np.frombuffer(flat, np.uint8).reshape(self.rows, item.length)

    def available(self, item: Field) -> Ints | None:
        """How many bytes of the field each row really has; None when all of them."""
        if self.lengths is None:
            return None
        have = np.clip(self.lengths - (item.offset - self.start), 0, item.length)
        return None if (have == item.length).all() else have


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
        self._counters = {
            item.depending_on: layout.field(".".join(item.depending_on)) for item in layout.walk() if item.depending_on
        }
        self._moving = layout.variable_size_occurs == "shift_record" and bool(self._counters)
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
            arrays = _Pass(self, found).columns(self.columns, _Level(matrix, 0, lengths))
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
            inner = RecordDecoder.__new__(RecordDecoder)
            inner.__dict__.update(self.__dict__, layout=replace(layout, variable_size_occurs="max_size"))
            mine: list[Corrupt] = []
            columns = _recolumned(self.columns, {item.path: item for item in layout.walk()})
            parts.append(_Pass(inner, mine).columns(columns, _Level(here, 0, part_lengths)))
            order.append(rows)
            found += [replace(bad, row=int(rows[bad.row])) for bad in mine]
            return
        assert table.depending_on is not None
        assert table.occurs is not None
        counter = layout.field(".".join(table.depending_on))
        counts = np.clip(_counts(counter, _Level(here, 0, part_lengths), self.layout.rules), 0, table.occurs.maximum)
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


class _Pass:
    """Decodes one batch of records whose fields do not move."""

    def __init__(self, decoder: RecordDecoder, found: list[Corrupt]) -> None:
        self.rules = decoder.layout.rules
        self.shape = decoder.shape
        self.counters = decoder._counters  # noqa: SLF001 - one class in two parts
        self.found = found

    def columns(self, columns: Iterable[Column], level: _Level) -> list[pa.Array]:
        return [self._column(column, level) for column in columns]

    def _column(self, column: Column, level: _Level) -> pa.Array:
        if column.field.occurs is None:
            return self._single(column, level)
        return self._table(column, level)

    def _single(self, column: Column, level: _Level) -> pa.Array:
        if not column.children:
            return self._leaf(column.field, column.type, level)
        arrays = self.columns(column.children, level)
        return pa.StructArray.from_arrays(arrays, fields=list(column.type))

    def _table(self, column: Column, level: _Level) -> pa.Array:
        item = column.field
        size, rows = item.count, level.rows
        at = item.offset - level.start
        data = np.ascontiguousarray(level.data[:, at : at + size * item.length]).reshape(rows * size, item.length)
        counts = self._sizes(item, level)
        keep = None if counts is None else (np.arange(size) < counts[:, None]).ravel()
        inner = _occurrences(level, item, data, keep, self._carried(item, level))
        values = self._single(replace(column, field=replace(item, occurs=None)), inner)
        sizes = np.full(rows, size, np.int64) if counts is None else counts
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), values, type=column.arrow.type)

    def _carried(self, item: Field, level: _Level) -> dict[tuple[str, ...], Ints]:
        """Counts that tables inside this one depend on, and that stand outside it."""
        outside = {inner.depending_on for inner in item.walk() if inner is not item and inner.depending_on}
        return {
            path: level.counts[path] if path in level.counts else _counts(self.counters[path], level, self.rules)
            for path in outside
            if path[: len(item.path)] != item.path
        }

    def _sizes(self, item: Field, level: _Level) -> Ints | None:
        """How many occurrences each row has; None when always the maximum."""
        if item.depending_on is None:
            return None
        counts = level.counts.get(item.depending_on)
        if counts is None:
            counts = _counts(self.counters[item.depending_on], level, self.rules)
        return np.clip(counts, 0, item.count)

    # leaves -----------------------------------------------------------------------------------------------------------

    def _leaf(self, item: Field, kind: pa.DataType, level: _Level) -> pa.Array:
        have = level.available(item)
        if item.type in (FieldType.TEXT, FieldType.EDITED, FieldType.NATIONAL) or (
            pa.types.is_string(kind) and item.type is FieldType.ZONED
        ):
            return self._text(item, level, have)
        missing = None if have is None else have < item.length
        if item.type in (FieldType.BYTES, FieldType.DBCS):
            return self._bytes(item, kind, level, missing)
        if item.type is FieldType.FLOAT:
            return self._float(item, kind, level, missing)
        return self._number(item, kind, level, missing)

    def _number(self, item: Field, kind: pa.DataType, level: _Level, missing: Mask | None) -> pa.Array:
        column = level.cut(item)
        numbers = _fast(item, np.ascontiguousarray(column), self.rules)
        doubtful = ~(numbers.good & _fits(item, kind, numbers))
        nulls = missing
        if missing is not None:
            doubtful &= ~missing
        if doubtful.any():
            nulls = self._settle(item, kind, level, np.flatnonzero(doubtful), numbers=numbers, missing=missing)
        if item.scale < 0:
            numbers.low = numbers.low * np.int64(10**-item.scale) if numbers.high is None else numbers.low
        if pa.types.is_decimal(kind):
            if item.scale < 0 and not _small(item):
                return _slow_decimals(item, kind, numbers, nulls)
            return decimal_array(numbers.low, numbers.high, kind, nulls)
        return integer_array(numbers.low, kind, nulls)

    def _settle(
        self, item: Field, kind: pa.DataType, level: _Level, rows: Ints, *, numbers: Integers, missing: Mask | None
    ) -> Mask:
        """Ask the plain decoder about odd numbers, each byte pattern once; gives the nulls."""
        nulls = np.zeros(level.rows, np.bool_) if missing is None else missing.copy()

        def one(data: bytes) -> int | None:
            value = decode_value(item, data, self.rules)
            if value is None:
                return None
            assert isinstance(value, int | Decimal)
            unscaled = _unscaled(value, item.scale)
            if pa.types.is_decimal(kind) and abs(unscaled) >= 10**kind.precision:
                raise BadValue("more digits than the column")
            return unscaled

        for same, value in self._patterns(item, level, rows, one):
            if value is None:
                nulls[same] = True
                numbers.low[same] = 0
            else:
                low = value & 0xFFFFFFFFFFFFFFFF
                numbers.low[same] = low - (1 << 64) if low >> 63 else low
                if numbers.high is not None:
                    numbers.high[same] = value >> 64
        return nulls

    def _patterns(
        self, item: Field, level: _Level, rows: Ints, one: Callable[[bytes], Any]
    ) -> Iterable[tuple[Ints, Any]]:
        """Each different byte pattern of these rows decoded once; a corrupt one is noted for each row and None."""
        column = np.ascontiguousarray(level.cut(item)[rows])
        unique, inverse = np.unique(column.view(np.dtype((np.void, item.length)))[:, 0], return_inverse=True)
        for number, pattern in enumerate(unique):
            data, same = pattern.tobytes(), rows[inverse == number]
            try:
                value = one(data)
            except BadValue:
                value = None
                self._note(item, level, same, data)
            yield same, value

    def _note(self, item: Field, level: _Level, rows: Ints, data: bytes) -> None:
        for row in rows.tolist():
            record = row if level.records is None else int(level.records[row])
            before = item.offset if level.offsets is None else int(level.offsets[row]) + item.offset - level.start
            indexes = ",".join(str(int(index[row]) + 1) for index in level.indexes)
            self.found.append(Corrupt(record, ".".join(item.path) + (f"({indexes})" if indexes else ""), before, data))

    def _float(self, item: Field, kind: pa.DataType, level: _Level, missing: Mask | None) -> pa.Array:
        values = _floats(np.ascontiguousarray(level.cut(item)), self.rules.floating_point)
        nulls = missing
        if pa.types.is_float32(kind):
            too_large = np.isfinite(values) & (np.abs(values) > np.finfo(np.float32).max)
            if too_large.any():
                nulls = too_large if missing is None else missing | too_large
                for row in np.flatnonzero(too_large & ~missing if missing is not None else too_large):
                    self._note(item, level, np.array([row]), level.cut(item)[row].tobytes())
                values = np.where(too_large, 0, values)
            values = values.astype(np.float32)
        return pa.Array.from_buffers(kind, level.rows, [null_mask(nulls), pa.py_buffer(values)])

    def _bytes(self, item: Field, kind: pa.DataType, level: _Level, missing: Mask | None) -> pa.Array:
        column = np.ascontiguousarray(level.cut(item))
        if pa.types.is_string(kind):
            column = np.frombuffer(column.tobytes().hex().upper().encode(), np.uint8).reshape(level.rows, -1)
            return ascii_strings(column, None, missing)
        offsets = np.arange(0, (level.rows + 1) * item.length, item.length, dtype=np.int32)
        return pa.Array.from_buffers(
            kind, level.rows, [null_mask(missing), pa.py_buffer(offsets), pa.py_buffer(column)]
        )

    def _text(self, item: Field, level: _Level, have: Ints | None) -> pa.Array:
        if item.type is FieldType.NATIONAL:
            array = self._national(item, level, have)
        else:
            array = self._single_byte(item, level, have)
        return trimmed(array, self.shape.string_trimming_policy)

    def _nulls(self, item: Field, level: _Level, have: Ints | None) -> Mask | None:
        """Rows without any byte of the field, and rows of X'00' only."""
        nulls = None if have is None else have < (2 if item.type is FieldType.NATIONAL else 1)
        if self.rules.null_detection:
            column = level.cut(item)
            zero = np.flatnonzero(column[:, 0] == 0)
            zero = zero[~column[zero].any(axis=1)]
            if len(zero):
                nulls = np.zeros(level.rows, np.bool_) if nulls is None else nulls
                nulls[zero] = True
        return nulls

    def _single_byte(self, item: Field, level: _Level, have: Ints | None) -> pa.Array:
        text = level.text(item, self.rules)
        nulls = self._nulls(item, level, have)
        if not text.size or text.max() <= 0x7F:
            return ascii_strings(text, have, nulls)
        column = level.cut(item)
        undefined = text == 0x81
        if have is not None:
            undefined &= np.arange(item.length) < have[:, None]
        if undefined.any():
            rows = np.flatnonzero(undefined.any(axis=1))
            nulls = np.zeros(level.rows, np.bool_) if nulls is None else nulls
            nulls[rows] = True
            for row in rows:
                width = item.length if have is None else int(have[row])
                self._note(item, level, np.array([row]), column[row][:width].tobytes())
        lengths = np.full(level.rows, item.length, np.int64) if have is None else have
        if nulls is not None:
            lengths = np.where(nulls, 0, lengths)
        return strings(code_points(self.rules.page(item))[column], lengths, nulls)

    def _national(self, item: Field, level: _Level, have: Ints | None) -> pa.Array:
        order = ">u2" if self.rules.utf16_big_endian else "<u2"
        units = np.ascontiguousarray(level.cut(item)).view(order).astype(np.uint32)
        lengths = np.full(level.rows, item.length // 2, np.int64) if have is None else have // 2
        nulls = self._nulls(item, level, have)
        surrogates = ((units & 0xF800) == 0xD800).any(axis=1)
        if not surrogates.any():
            return strings(units, lengths if nulls is None else np.where(nulls, 0, lengths), nulls)
        texts: list[str | None] = []
        for row in range(level.rows):
            raw = level.cut(item)[row][: item.length if have is None else int(have[row])].tobytes()
            data = raw[: len(raw) & ~1]
            try:
                value = decode_value(item, data, self.rules) if data else None
            except BadValue:
                value = None
                self._note(item, level, np.array([row]), raw)
            texts.append(value)  # type: ignore[arg-type]
        return pa.array(texts, pa.string())


# helpers --------------------------------------------------------------------------------------------------------------


def _widened(matrix: Bytes, width: int) -> Bytes:
    """The matrix with at least as many columns as the layout has bytes; what is missing is marked by the lengths."""
    if matrix.shape[1] >= width:
        return matrix
    return np.concatenate((matrix, np.zeros((len(matrix), width - matrix.shape[1]), np.uint8)), axis=1)


def _occurrences(
    level: _Level, item: Field, data: Bytes, keep: Mask | None, carried: dict[tuple[str, ...], Ints]
) -> _Level:
    """The level of a table's occurrences; only those to keep."""
    size, rows = item.count, level.rows
    index = np.tile(np.arange(size), rows)
    at = item.offset - level.start + index * item.length
    above = np.repeat(np.arange(rows), size)
    if keep is not None:
        data, index, at, above = data[keep], index[keep], at[keep], above[keep]
    return _Level(
        data,
        item.offset,
        None if level.lengths is None else np.clip(level.lengths[above] - at, 0, item.length),
        above if level.records is None else level.records[above],
        at if level.offsets is None else level.offsets[above] + at,
        (*(outer[above] for outer in level.indexes), index),
        {path: counts[above] for path, counts in carried.items()},
    )


def _fast(item: Field, column: Bytes, rules: Rules) -> Integers:
    """The numbers of a column as far as they are plainly well-formed."""
    if item.type is FieldType.ZONED:
        sign = item.sign
        numbers = _numbers.zoned(
            column,
            ascii_digits=rules.page(item).kind != "EBCDIC",
            signed=item.signed,
            leading=sign is not None and sign.leading,
            separate=sign is not None and sign.separate,
        )
    elif item.type is FieldType.NATIONAL_DIGITS:
        numbers = Integers(
            np.zeros(len(column), np.int64), np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_)
        )
    elif item.type is FieldType.PACKED:
        numbers = _numbers.packed(column, item.digits, has_sign=item.usage.value != "COMP-6")
    else:
        little = item.usage.value == "COMP-5" and rules.native_little_endian
        numbers = _numbers.binary(column, signed=item.signed, little=little)
        numbers.good &= _top_bit_clear(item, column, little=little)
    return numbers


def _top_bit_clear(item: Field, column: Bytes, *, little: bool) -> Mask:
    if item.signed or item.usage.value == "COMP-5":
        return np.ones(len(column), np.bool_)
    return column[:, -1 if little else 0] < 0x80


def _fits(item: Field, kind: pa.DataType, numbers: Integers) -> Mask:
    """Numbers that surely have no more digits than the column; the others are looked at one by one."""
    if pa.types.is_decimal(kind):
        limit = 10 ** min(
            kind.precision + min(item.scale, 0), item.digits if item.scale > 0 and item.usage.value != "COMP-5" else 38
        )
    else:
        limit = 10**item.digits if item.type is not FieldType.BINARY else INT64.max
    fits: Mask
    if numbers.high is None:
        if limit > INT64.max:
            return np.ones(len(numbers.low), np.bool_)
        fits = (numbers.low < limit) & (numbers.low > -limit)
        return fits
    high_limit = limit >> 64
    if high_limit == 0:
        bound = np.uint64(limit - 1)
        plus = (numbers.high == 0) & (numbers.low.view(np.uint64) <= bound)
        minus = (numbers.high == -1) & (np.negative(numbers.low).view(np.uint64) <= bound)
        fits = plus | minus
    else:
        fits = (numbers.high < high_limit) & (numbers.high > -high_limit)
    return fits


def _small(item: Field) -> bool:
    return item.digits - item.scale <= 18


def _slow_decimals(item: Field, kind: pa.DataType, numbers: Integers, nulls: Mask | None) -> pa.Array:
    """Many digits and zeros behind them (P): rare enough for Python."""
    high = numbers.low >> 63 if numbers.high is None else numbers.high
    scaled = numbers.high is None
    values: list[Decimal | None] = []
    for row, (top, low) in enumerate(zip(high.tolist(), numbers.low.tolist(), strict=True)):
        number = (top << 64) | (low & 0xFFFFFFFFFFFFFFFF)
        values.append(
            None if nulls is not None and nulls[row] else Decimal(number if scaled else number * 10**-item.scale)
        )
    return pa.array(values, kind)


def _unscaled(value: int | Decimal, scale: int) -> int:
    """The stored digits of a value; not by Decimal arithmetic, which rounds to 28 digits."""
    if isinstance(value, int):
        return value // int(10**-scale)
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits)))
    return -number if sign else number


def _floats(column: Bytes, form: str) -> npt.NDArray[np.float64]:
    width = column.shape[1]
    little = form.endswith("little_endian")
    if form.startswith("IEEE754"):
        plain: npt.NDArray[np.float64] = column.view(f"{'<' if little else '>'}f{width}")[:, 0].astype(np.float64)
        return plain
    words = column.view(f"{'<' if little else '>'}u{width}")[:, 0].astype(np.uint64)
    bits = 8 * width - 8
    fraction = (words & np.uint64((1 << bits) - 1)).astype(np.float64)
    exponent = ((words >> np.uint64(bits)) & np.uint64(0x7F)).astype(np.int64)
    values = np.ldexp(fraction, (4 * (exponent - 64) - bits).astype(np.int32))
    signed: npt.NDArray[np.float64] = np.where(words >> np.uint64(bits + 7), -values, values)
    return signed


def _counts(counter: Field, level: _Level, rules: Rules) -> Ints:
    """The value of a DEPENDING ON field in each row; 0 where it is none."""
    have = level.available(counter)
    counts = np.zeros(level.rows, np.int64)
    if counter.is_numeric and counter.scale == 0:
        numbers = _fast(counter, np.ascontiguousarray(level.cut(counter)), rules)
        easy = numbers.good if numbers.high is None else numbers.good & (numbers.high == 0)
        counts[easy] = numbers.low[easy]
    else:
        easy = np.zeros(level.rows, np.bool_)
    for row in np.flatnonzero(~easy):
        try:
            value = decode_value(counter, level.cut(counter)[row].tobytes(), rules)
        except BadValue:
            continue
        if isinstance(value, str):
            value = int(value) if value.strip().isascii() and value.strip().isdigit() and len(value.strip()) <= 9 else 0
        counts[row] = min(max(int(value), -1), 1 << 24) if isinstance(value, int | Decimal) else 0
    if have is not None:
        counts[have < counter.length] = 0
    return counts


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
