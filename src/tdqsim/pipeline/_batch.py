"""Decode a batch of records whose fields have fixed offsets, column by column; see :mod:`tdqsim.pipeline.decoder`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.layouts import BadValue, Field, FieldType, Layout, Occurs, Rules, byte_order, decode_value
from tdqsim.pipeline import _numbers
from tdqsim.pipeline._columns import (
    GRAPHICS,
    UNDEFINED,
    ascii_strings,
    ascii_table,
    blank_bytes,
    code_points,
    decimal_array,
    in_charset,
    integer_array,
    null_mask,
    strings,
    translated,
    trimmed,
    up_to,
)
from tdqsim.pipeline._corrupt import Corrupt
from tdqsim.pipeline._levels import CounterKey, Path, TableLevel
from tdqsim.pipeline._numbers import Bytes, Cut, Integers, Ints, Mask
from tdqsim.pipeline.shape import Column, Shape, charset_of

__all__ = ["Pass", "counter_key", "counts_in", "digits_text"]

INT64 = np.iinfo(np.int64)
LOW_WORD = 0xFFFFFFFFFFFFFFFF


class Pass:
    """Decodes a batch of records whose fields have fixed offsets.

    Args:
        layout: the layout.
        shape: types and trimming of the columns.
        corrupt: a list to which corrupt fields are added, or None.
        present: for fields that only some records have, which records; they are null in the others.
    """

    def __init__(
        self, layout: Layout, shape: Shape, corrupt: list[Corrupt] | None, present: Mapping[Path, Mask] | None = None
    ) -> None:
        self.rules, self.width = layout.rules, layout.length
        self.shape, self.present = shape, present or {}
        self.counters: Mapping[tuple[str, ...], Field] = {
            path: layout.field(".".join(path)) for path in layout.counters
        }
        self.corrupt = corrupt

    def columns(self, columns: Iterable[Column], level: TableLevel) -> list[pa.Array]:
        return [self._column(column, level) for column in columns]

    def _column(self, column: Column, level: TableLevel) -> pa.Array:
        make = self._single if column.field.occurs is None else self._table
        has = self.present.get(column.field.path)
        if has is None:
            return make(column, level)
        if level.above is not None:
            has = has[level.records(np.arange(level.rows))]
        rows = np.flatnonzero(has)
        if len(rows) == level.rows:
            return make(column, level)
        if not len(rows):
            return pa.nulls(level.rows, column.arrow.type)
        array = make(column, level.some(rows, column.field, self.width))
        return array.take(pa.array(np.cumsum(has) - 1, mask=~has))

    def _single(self, column: Column, level: TableLevel) -> pa.Array:
        if not column.children:
            return self._leaf(column.field, column.type, level)
        arrays = self.columns(column.children, level)
        return pa.StructArray.from_arrays(arrays, fields=list(column.type))

    def _table(self, column: Column, level: TableLevel) -> pa.Array:
        item = column.field
        counts = None if item.depending_on is None else self._counted(item, level)
        inner = level.occurrences(item, counts, self._carried(item, level))
        values = self._single(replace(column, field=replace(item, occurs=None)), inner)
        sizes = np.full(level.rows, item.count, np.int64) if counts is None else counts
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), values, type=column.arrow.type)

    def _carried(self, item: Field, level: TableLevel) -> dict[CounterKey, Ints]:
        """The counts for tables inside this one whose DEPENDING ON field is outside it."""
        outside = (inner for inner in item.walk() if inner is not item and inner.depending_on)
        return {
            counter_key(inner): self._counted(inner, level)
            for inner in outside
            if inner.depending_on and inner.depending_on[: len(item.path)] != item.path
        }

    def _counted(self, item: Field, level: TableLevel) -> Ints:
        known = level.counts.get(counter_key(item))
        assert item.depending_on is not None
        assert item.occurs is not None
        return counts_in(self.counters[item.depending_on], level, self.rules, item.occurs) if known is None else known

    # leaves -----------------------------------------------------------------------------------------------------------

    def _leaf(self, item: Field, kind: pa.DataType, level: TableLevel) -> pa.Array:
        have = level.available(item)
        if item.type in (FieldType.TEXT, FieldType.EDITED, FieldType.NATIONAL):
            return self._text(item, level, have)
        missing = None if have is None else have < item.length
        if item.type is FieldType.ZONED and pa.types.is_string(kind):
            return self._digits(item, level, missing)
        if item.type in (FieldType.BYTES, FieldType.DBCS):
            return self._bytes(item, kind, level, missing)
        if item.type is FieldType.FLOAT:
            return self._float(item, kind, level, missing)
        return self._number(item, kind, level, missing)

    def _number(self, item: Field, kind: pa.DataType, level: TableLevel, missing: Mask | None) -> pa.Array:
        numbers = _fast(item, level.cut(item), self.rules)
        fits = _fits(item, kind, numbers)
        doubtful = ~numbers.good if fits is None else ~(numbers.good & fits)
        nulls = missing
        if missing is not None:
            doubtful &= ~missing
        if doubtful.any():
            nulls = self._settle(item, kind, level, np.flatnonzero(doubtful), numbers=numbers, missing=missing)
        if item.scale < 0:
            if not _small(item):
                return _slow_decimals(item, kind, numbers, nulls)
            numbers.low = numbers.low * np.int64(10**-item.scale)
        if pa.types.is_decimal(kind):
            return decimal_array(numbers.low, numbers.high, kind, nulls)
        return integer_array(numbers.low, kind, nulls)

    def _settle(
        self, item: Field, kind: pa.DataType, level: TableLevel, rows: Ints, *, numbers: Integers, missing: Mask | None
    ) -> Mask:
        """Decode the numbers that the fast path could not, each byte pattern once; returns the null mask."""
        nulls = np.zeros(level.rows, np.bool_) if missing is None else missing.copy()

        def one(data: bytes) -> int | None:
            value = decode_value(item, data, self.rules)
            if value is None:
                return None
            assert isinstance(value, int | Decimal)
            unscaled = _unscaled(value, item.scale)
            if pa.types.is_decimal(kind) and abs(unscaled) >= 10 ** (kind.precision + min(item.scale, 0)):
                raise BadValue("more digits than the column")
            return unscaled

        values, which = self._patterns(item, level, rows, one)
        bad = np.array([value is None for value in values])
        whole = [value or 0 for value in values]
        nulls[rows] = bad[which]
        numbers.low[rows] = np.array([value & LOW_WORD for value in whole], np.uint64).view(np.int64)[which]
        if numbers.high is not None:
            numbers.high[rows] = np.array([value >> 64 for value in whole], np.int64)[which]
        return nulls

    def _patterns(
        self, item: Field, level: TableLevel, rows: Ints, one: Callable[[bytes], Any]
    ) -> tuple[list[Any], Ints]:
        """Decode each different byte pattern in these rows once.

        Returns the values, and for each row the index of its pattern. A corrupt pattern has the value None and is
        recorded for each row that contains it.
        """
        unique, which = _different(level.cut(item), rows)
        values, bad = [], np.zeros(len(unique), np.bool_)
        for number, pattern in enumerate(unique):
            try:
                values.append(one(pattern.tobytes()))
            except BadValue:
                values.append(None)
                bad[number] = True
        if bad.any():
            kind = pa.binary(unique.dtype.itemsize)
            patterns = pa.Array.from_buffers(kind, len(unique), [None, pa.py_buffer(unique)]).cast(pa.binary())
            there = bad[which]
            self._note(item, level, rows[there], patterns.take(pa.array(which[there])))
        return values, which

    def _note(self, item: Field, level: TableLevel, rows: Ints, raw: pa.Array) -> None:
        """Record the places where a field is corrupt, with its bytes."""
        if self.corrupt is not None and len(rows):
            offsets, indexes, some = np.full(len(rows), item.offset, np.int64), list[Ints](), rows
            for each, some in level.levels(rows):
                if each.item is not None:
                    index = each.index[some]
                    offsets += index * each.item.length
                    indexes.insert(0, index)
            self.corrupt.append(Corrupt(item.path, some, offsets, _names(item, indexes, len(rows)), raw))

    def _digits(self, item: Field, level: TableLevel, missing: Mask | None) -> pa.Array:
        """The digits of a DISPLAY number as text."""
        column, form = level.cut(item), _zoned_form(item, self.rules)
        numbers = _fast(item, column, self.rules)
        doubtful = ~numbers.good if missing is None else ~(numbers.good | missing)
        sizes = pc.abs(decimal_array(numbers.low, numbers.high, pa.decimal128(38), doubtful)).cast(pa.string())
        digits = pc.utf8_lpad(sizes, item.length - form["separate"], "0")
        signs = pa.array(["", "+", "-"]).take(pa.array(_numbers.sign_marks(column, **form)))
        array = pc.binary_join_element_wise(signs, digits, "")
        if missing is not None:
            array = pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), array)
        if not doubtful.any():
            return array
        rows = np.flatnonzero(doubtful)
        values, which = self._patterns(item, level, rows, lambda data: digits_text(item, data, self.rules))
        odd = pa.array(values, pa.string()).take(pa.array(which))
        return pc.replace_with_mask(array, pa.array(doubtful), odd)

    def _float(self, item: Field, kind: pa.DataType, level: TableLevel, missing: Mask | None) -> pa.Array:
        column = level.cut(item).bytes()
        values = _floats(column, self.rules.floating_point)
        nulls = missing
        if pa.types.is_float32(kind):
            too_large = np.isfinite(values) & (np.abs(values) > np.finfo(np.float32).max)
            if too_large.any():
                nulls = too_large if missing is None else missing | too_large
                rows = np.flatnonzero(too_large & ~missing if missing is not None else too_large)
                self._note(item, level, rows, pa.array([each.tobytes() for each in column[rows]], pa.binary()))
                values = np.where(too_large, 0, values)
            values = values.astype(np.float32)
        return pa.Array.from_buffers(kind, level.rows, [null_mask(nulls), pa.py_buffer(values)])

    def _bytes(self, item: Field, kind: pa.DataType, level: TableLevel, missing: Mask | None) -> pa.Array:
        column = level.cut(item).bytes()
        if self.shape.debug == "string" and pa.types.is_string(kind):
            charset = self.shape.ascii_charset or "utf-8"
            return in_charset(ascii_strings(column), charset, missing, controls=True)
        if pa.types.is_string(kind):
            text = np.frombuffer(column.tobytes().hex().upper().encode(), np.uint8)
            column = text.reshape(level.rows, 2 * item.length)
            return ascii_strings(column, missing)
        offsets = np.arange(0, (level.rows + 1) * item.length, item.length, dtype=np.int32)
        return pa.Array.from_buffers(
            kind, level.rows, [null_mask(missing), pa.py_buffer(offsets), pa.py_buffer(column)]
        )

    def _text(self, item: Field, level: TableLevel, have: Ints | None) -> pa.Array:
        if item.type is FieldType.NATIONAL:
            return trimmed(self._national(item, level, have), self.shape.string_trimming_policy)
        page, policy = self.rules.page(item), self.shape.string_trimming_policy
        blanks, charset = blank_bytes(page), charset_of(item, self.rules, self.shape)
        if have is None:
            column = level.cut(item).bytes()
            raw = whole = ascii_strings(column)
            first, padded = column[:, 0], _padded(column, blanks)
        else:
            raw = whole = level.text(item, have)
            first, padded = level.cut(item, 1).byte(0), True
        nulls = self._nulls(item, level, have, first)
        if padded:
            raw = trimmed(raw, policy, blanks)
        array = translated(raw, GRAPHICS if charset else ascii_table(page), nulls)
        if array is not None:
            return array
        if charset:
            array = in_charset(whole, charset, nulls, controls=policy == "keep_all")
        else:
            array = self._beyond_ascii(item, level, have, nulls)
        return trimmed(array, policy)

    def _nulls(self, item: Field, level: TableLevel, have: Ints | None, first: Bytes) -> Mask | None:
        """The null mask: rows without any byte of the field, and rows that contain only X'00'.

        Without null detection, a text that would begin exactly where the record ends is empty, not null.
        """
        nulls = None if have is None else have < (2 if item.type is FieldType.NATIONAL else 1)
        if nulls is not None and not self.rules.null_detection and level.lengths is not None:
            nulls = level.lengths < item.offset - level.start
        if self.rules.null_detection:
            zero = np.flatnonzero(first == 0) if len(first) and not first.min() else np.empty(0, np.intp)
            if len(zero):
                column = level.cut(item).bytes()[zero]
                if have is not None:
                    column *= up_to(item.length, have[zero])
                zero = zero[np.logical_not(column.any(axis=1))]
                nulls = np.zeros(level.rows, np.bool_) if nulls is None else nulls
                nulls[zero] = True
        return nulls

    def _beyond_ascii(self, item: Field, level: TableLevel, have: Ints | None, nulls: Mask | None) -> pa.Array:
        """Text with characters outside ASCII, or with bytes that are not characters."""
        page = self.rules.page(item)
        column = level.cut(item).bytes()
        undefined = code_points(page)[column] == UNDEFINED
        if have is not None:
            undefined &= up_to(item.length, have)
        if undefined.any():
            rows = np.flatnonzero(undefined.any(axis=1))
            nulls = np.zeros(level.rows, np.bool_) if nulls is None else nulls
            nulls[rows] = True
            widths = np.full(len(rows), item.length) if have is None else have[rows]
            raw = [each[:width].tobytes() for each, width in zip(column[rows], widths, strict=True)]
            self._note(item, level, rows, pa.array(raw, pa.binary()))
        lengths = np.full(level.rows, item.length, np.int64) if have is None else have
        if nulls is not None:
            lengths = np.where(nulls, 0, lengths)
        return strings(code_points(page)[column], lengths, nulls)

    def _national(self, item: Field, level: TableLevel, have: Ints | None) -> pa.Array:
        order = ">u2" if self.rules.utf16_big_endian else "<u2"
        column = level.cut(item).bytes()
        units = column.view(order).astype(np.uint32)
        lengths = np.full(level.rows, item.length // 2, np.int64) if have is None else have // 2
        nulls = self._nulls(item, level, have, column[:, 0])
        surrogates = ((units & 0xF800) == 0xD800).any(axis=1)
        if not surrogates.any():
            return strings(units, lengths if nulls is None else np.where(nulls, 0, lengths), nulls)
        texts: list[str | None] = []
        bad: dict[int, bytes] = {}
        for row in range(level.rows):
            raw = column[row][: item.length if have is None else int(have[row])].tobytes()
            data = raw[: len(raw) & ~1]
            try:
                value = decode_value(item, data, self.rules) if data else None
            except BadValue:
                value, bad[row] = None, raw
            texts.append(value)  # type: ignore[arg-type]
        if bad:
            self._note(item, level, np.array(list(bad)), pa.array(bad.values(), pa.binary()))
        return pa.array(texts, pa.string())


def _names(item: Field, indexes: list[Ints], count: int) -> pa.Array:
    """The path of a field with its occurrence numbers, outermost table first, for each of ``count`` places."""
    name = ".".join(item.path)
    if not indexes:
        return pa.repeat(name, count)
    occurrence = np.ravel_multi_index(indexes, tuple(int(index.max()) + 1 for index in indexes))
    _, first, which = np.unique(occurrence, return_index=True, return_inverse=True)
    names = [f"{name}({','.join(str(index[row] + 1) for index in indexes)})" for row in first]
    return pa.array(names, pa.string()).take(pa.array(which))


def _different(cut: Cut, rows: Ints) -> tuple[Any, Ints]:
    """The different byte patterns of a column in some rows, and for each row the index of its pattern."""
    column = Cut(cut.data[rows], cut.at, cut.width).bytes()
    return np.unique(column.view(np.dtype((np.void, cut.width)))[:, 0], return_inverse=True)


def _padded(column: Bytes, blanks: str) -> bool:
    """Whether any row may begin or end with a blank."""
    highest = ord(max(blanks))
    return column.size > 0 and (int(column[:, -1].min()) <= highest or int(column[:, 0].min()) <= highest)


def _fast(item: Field, column: Cut, rules: Rules) -> Integers:
    """The numbers of a column, where they are clearly well-formed."""
    if item.type is FieldType.ZONED:
        numbers = _numbers.zoned(column, **_zoned_form(item, rules))
    elif item.type is FieldType.NATIONAL_DIGITS:
        rows = len(column.data)
        numbers = Integers(np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.bool_))
    elif item.type is FieldType.PACKED:
        numbers = _numbers.packed(column, item.digits, has_sign=item.usage.value != "COMP-6")
    else:
        little = byte_order(item, rules) == "little"
        numbers = _numbers.binary(column, signed=item.signed, little=little)
        if not item.signed and item.usage.value != "COMP-5":
            numbers.good &= column.byte(-1 if little else 0) < 0x80
    return numbers


def _zoned_form(item: Field, rules: Rules) -> dict[str, bool]:
    """How a DISPLAY number is written: its digits, and the place of its sign."""
    sign = item.sign
    return {
        "ascii_digits": rules.page(item).kind != "EBCDIC",
        "signed": item.signed,
        "leading": sign is not None and sign.leading,
        "separate": sign is not None and sign.separate,
    }


def digits_text(item: Field, data: bytes, rules: Rules) -> str | None:
    """The digits of a DISPLAY number as text, preceded by its sign if it has one; blanks are left out.

    Raises:
        BadValue: the bytes are not a number.
    """
    value = decode_value(item, data, rules)
    ascii_digits = rules.page(item).kind != "EBCDIC"
    digits = len(data.translate(None, b"\0+- " if ascii_digits else b"\0\x4e\x60\x40"))
    if value is None or not digits:
        return None if rules.null_detection else ""
    assert isinstance(value, int)
    return _numbers.sign_mark(data, ascii_digits=ascii_digits) + str(abs(value)).rjust(digits, "0")


def _fits(item: Field, kind: pa.DataType, numbers: Integers) -> Mask | None:
    """Which numbers surely have no more digits than the column; None when all do. Others are checked one by one."""
    if pa.types.is_decimal(kind):
        limit = 10 ** min(
            kind.precision + min(item.scale, 0), item.digits if item.scale > 0 and item.usage.value != "COMP-5" else 38
        )
    else:
        limit = 10**item.digits if item.type is not FieldType.BINARY else INT64.max
    if limit >= _most(item):
        return None
    fits: Mask
    if numbers.high is None:
        if limit > INT64.max:
            return None
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


def _most(item: Field) -> int:
    """An exclusive upper bound of the numbers that a field's bytes can hold."""
    if item.type is FieldType.ZONED:
        return int(10 ** (item.length - (item.sign is not None and item.sign.separate)))
    if item.type is FieldType.PACKED:
        return int(10 ** (2 * item.length - (item.usage.value != "COMP-6")))
    return 1 << 8 * item.length if item.type is FieldType.BINARY else 1 << 128


def _small(item: Field) -> bool:
    return item.digits - item.scale <= 18


def _slow_decimals(item: Field, kind: pa.DataType, numbers: Integers, nulls: Mask | None) -> pa.Array:
    """Numbers with many digits and trailing P in their PICTURE, which are rare enough for a loop in Python."""
    high = numbers.low >> 63 if numbers.high is None else numbers.high
    values: list[Decimal | None] = []
    for row, (top, low) in enumerate(zip(high.tolist(), numbers.low.tolist(), strict=True)):
        number = (top << 64) | (low & LOW_WORD)
        values.append(None if nulls is not None and nulls[row] else Decimal(number * int(10**-item.scale)))
    return pa.array(values, kind)


def _unscaled(value: int | Decimal, scale: int) -> int:
    """The stored digits of a value. Decimal arithmetic is not used because it rounds to 28 digits."""
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


def counter_key(item: Field) -> CounterKey:
    """The key of a counter: tables with the same DEPENDING ON field and the same meaning of it have the same counts."""
    assert item.occurs is not None
    return item.depending_on or (), (item.occurs.minimum, item.occurs.maximum), item.occurs.counts


def counts_in(counter: Field, level: TableLevel, rules: Rules, occurs: Occurs) -> Ints:
    """The value of a DEPENDING ON field in each row; where it is not an allowed number of occurrences, the maximum."""
    counts, easy = np.zeros(level.rows, np.int64), np.zeros(level.rows, np.bool_)
    if counter.is_numeric and counter.scale == 0 and not occurs.counts:
        numbers = _fast(counter, level.cut(counter), rules)
        easy = numbers.good if numbers.high is None else numbers.good & (numbers.high == 0)
        counts[easy] = numbers.low[easy]
    odd = np.flatnonzero(~easy)
    if len(odd):
        unique, inverse = _different(level.cut(counter), odd)
        counts[odd] = np.array([_count_in(counter, pattern.tobytes(), rules, occurs) for pattern in unique])[inverse]
    have = level.available(counter)
    if have is not None:
        counts[have < counter.length] = occurs.count(None)
    counts[(counts < occurs.minimum) | (counts > occurs.maximum)] = occurs.maximum
    return counts


def _count_in(counter: Field, data: bytes, rules: Rules, occurs: Occurs) -> int:
    try:
        return occurs.count(decode_value(counter, data, rules))
    except BadValue:
        return occurs.count(None)
