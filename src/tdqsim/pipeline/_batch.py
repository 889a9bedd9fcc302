"""Decode a batch of records column by column; see :mod:`tdqsim.pipeline.decoder`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.layouts import (
    BadValue,
    DisplayBytes,
    Field,
    FieldType,
    Layout,
    Rules,
    byte_order,
    decode_value,
)
from tdqsim.pipeline import _numbers
from tdqsim.pipeline._columns import (
    GRAPHICS,
    ascii_table,
    blank_bytes,
    decimal_array,
    fixed_width,
    in_charset,
    in_hexadecimal,
    integer_array,
    null_mask,
    recoded,
    strings,
    translated,
    trimmed,
    up_to,
)
from tdqsim.pipeline._corrupt import Corrupt
from tdqsim.pipeline._numbers import Bytes, Integers, Ints, Mask, copied
from tdqsim.pipeline._rows import Path, PlacedRows
from tdqsim.pipeline.shape import Column, Shape, charset_of

INT64 = np.iinfo(np.int64)
LONG = 8


class Pass:
    """Decodes one batch.

    Args:
        layout: the layout.
        shape: types and trimming of the columns.
        records: the records of the batch.
        counting: the paths of the fields that hold a number of occurrences, of the tables that have such a number, and
            of the groups that contain either.
        corrupt: a list to which corrupt fields are added, or None.
        strict: whether the number of a table that the table does not allow is corrupt. The table has its maximum then.
        present: for fields that only some records have, which records; they are null in the others.
    """

    def __init__(
        self,
        layout: Layout,
        shape: Shape,
        records: PlacedRows,
        *,
        counting: Collection[Path],
        corrupt: list[Corrupt] | None,
        strict: bool,
        present: Mapping[Path, Mask] | None,
    ) -> None:
        self._strict, self._checked = strict, set[Path]()
        self.layout, self.rules, self.shape = layout, layout.rules, shape
        self.records, self.counting, self.corrupt, self.present = records, counting, corrupt, present or {}
        self._moving = layout.variable_size_occurs == "shift_record"
        self._placed: dict[Path, PlacedRows] = {}
        if counting:
            self._place((), records)

    def columns(self, columns: Iterable[Column], rows: PlacedRows | None = None) -> list[pa.Array]:
        """The columns of some rows; by default those of the records."""
        return [self._column(column, self.records if rows is None else rows) for column in columns]

    def _column(self, column: Column, rows: PlacedRows) -> pa.Array:
        item = column.field
        make = self._single if item.occurs is None else self._table
        rows = self._placed.get(item.path, rows)
        if item.path not in self.present:
            return make(column, rows)
        has = self._has(item, rows)
        which = np.flatnonzero(has)
        if len(which) == len(rows):
            return make(column, rows)
        if not len(which):
            return pa.nulls(len(rows), column.arrow.type)
        some = rows.some(which, item)
        if item.is_group and item.path in self.counting:
            self._place(item.path, some)
        return make(column, some).take(pa.array(np.cumsum(has) - 1, mask=~has))

    def _has(self, item: Field, rows: PlacedRows) -> Mask:
        """Which rows have a field that only some records have."""
        return self.present[item.path][rows.within(self.records)]

    def _single(self, column: Column, rows: PlacedRows) -> pa.Array:
        if not column.children:
            return self._leaf(column.field, column.type, rows)
        return pa.StructArray.from_arrays(self.columns(column.children, rows), fields=list(column.type))

    def _table(self, column: Column, rows: PlacedRows) -> pa.Array:
        item = column.field
        counts = self._counts(item, rows)
        inner, _ = self._occurrences(item, rows, counts)
        if item.is_group and item.path in self.counting:
            self._place(item.path, inner)
        values = self._single(replace(column, field=replace(item, occurs=None)), inner)
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), values, type=column.arrow.type)

    # tables of variable length ----------------------------------------------------------------------------------------

    def _place(self, group: Path, rows: PlacedRows) -> PlacedRows:
        """Record where the fields of a group are; returns the rows for the fields that follow the group.

        Fields that share bytes have the same place. Of these, only the first has an effect on the fields that follow.
        """
        for sharing in self.layout.groups[group]:
            after = rows
            for item in sharing:
                self._placed[item.path] = rows
                if item.path in self.counting:
                    behind = self._behind(item, rows)
                    after = behind if item is sharing[0] else after
            rows = after
        return rows

    def _behind(self, item: Field, rows: PlacedRows) -> PlacedRows:
        """The rows for the fields that follow one field."""
        after = rows
        if item.occurs is None and item.is_group:
            after = self._place(item.path, rows)
        elif item.occurs is not None and self._moving:
            counts = self._counts(item, rows)
            missing = (item.count - counts) * item.length
            if self._has_moving(item):
                missing = missing + self._occurrences(item, rows, counts)[1]
            after = rows.moved(missing, item.offset + item.size)
        if after is rows or item.path not in self.present:
            return after
        missing = np.where(self._has(item, rows), rows.places - after.places, 0)
        return rows.moved(missing, item.offset + item.size)

    def _has_moving(self, item: Field) -> bool:
        """Whether a table contains tables of variable length."""
        return self._moving and any(child.path in self.counting for child in item.children)

    def _occurrences(self, item: Field, rows: PlacedRows, counts: Ints) -> tuple[PlacedRows, Ints]:
        """The occurrences of a table, and how many bytes they lack in each row because of the tables in them."""
        inner, missing = rows.occurrences(item, counts), np.zeros(len(rows), np.int64)
        if self._has_moving(item):
            assert inner.index is not None
            assert inner.which is not None
            for number in range(counts.max(initial=0)):
                here = np.flatnonzero(inner.index == number)
                inner.places[here] -= missing[inner.which[here]]
                some = inner.some(here, replace(item, occurs=None))
                missing[inner.which[here]] += some.places - self._place(item.path, some).places
        return inner, missing

    def _counts(self, item: Field, rows: PlacedRows) -> Ints:
        """How many occurrences of a table each row has; the maximum where the counter is not an allowed number."""
        if item.depending_on is None or item.occurs is None:
            return np.full(len(rows), item.count, np.int64)
        counter, occurs = self.layout.field(".".join(item.depending_on)), item.occurs
        holder = self._placed[counter.path]
        patterns = fixed_width(copied(holder.cut(counter)), pa.binary()).dictionary_encode()
        values = [self._counter(counter, pattern) for pattern in patterns.dictionary.to_pylist()]
        which, have = patterns.indices.to_numpy(), holder.available(counter)
        counts = np.array([occurs.count(value) for value in values], np.int64)[which]
        outside = np.array([occurs.is_outside(value) for value in values], np.bool_)
        if self._strict and outside.any() and self.corrupt is not None and item.path not in self._checked:
            self._checked.add(item.path)
            wrong = np.flatnonzero(outside[which])
            self.corrupt.append(self._noted(counter, holder, wrong, holder.raw(counter, pa.binary(), wrong)))
        if have is not None:
            counts[have < counter.length] = occurs.count(None)
        mine: Ints = counts[rows.within(holder)]
        return mine

    def _counter(self, counter: Field, data: bytes) -> object:
        try:
            return decode_value(counter, data, self.rules)
        except BadValue:
            return None

    # leaves -----------------------------------------------------------------------------------------------------------

    def _leaf(self, item: Field, kind: pa.DataType, rows: PlacedRows) -> pa.Array:
        have = rows.available(item)
        if item.type is FieldType.NATIONAL:
            return trimmed(self._national(item, rows, have), self.shape.string_trimming_policy)
        if item.type in (FieldType.TEXT, FieldType.EDITED):
            return self._text(item, rows, have)
        missing = None if have is None else have < item.length
        if item.type is FieldType.ZONED and pa.types.is_string(kind):
            return self._digits(item, rows, missing)
        if item.type in (FieldType.BYTES, FieldType.DBCS):
            return self._bytes(item, kind, rows, missing)
        if item.type is FieldType.FLOAT:
            return self._float(item, kind, rows, missing)
        return self._number(item, kind, rows, missing)

    def _settled(
        self, array: pa.Array, item: Field, rows: PlacedRows, odd: Mask, one: Callable[[bytes], object]
    ) -> pa.Array:
        """The array with other values where ``odd``, decoded by ``one`` from each different byte pattern once.

        A corrupt pattern, for which ``one`` raises BadValue, is null, and is recorded for each row that contains it.
        """
        which = np.flatnonzero(odd)
        if not len(which):
            return array
        raw = rows.raw(item, pa.binary(), which)
        patterns = raw.dictionary_encode()
        values, bad = list[object](), np.zeros(len(patterns.dictionary), np.bool_)
        for number, pattern in enumerate(patterns.dictionary.to_pylist()):
            try:
                values.append(one(pattern))
            except BadValue:
                values.append(None)
                bad[number] = True
        wrong = bad[patterns.indices.to_numpy()]
        if wrong.any() and self.corrupt is not None:
            self.corrupt.append(self._noted(item, rows, which[wrong], raw.filter(pa.array(wrong))))
        return pc.replace_with_mask(array, pa.array(odd), pa.array(values, array.type).take(patterns.indices))

    def _noted(self, item: Field, rows: PlacedRows, which: Ints, raw: pa.Array) -> Corrupt:
        """The places where a field is corrupt, with its bytes."""
        indexes, records = list[Ints](), which
        for level, records in rows.levels(which):
            if level.index is not None:
                indexes.insert(0, level.index[records])
        offsets = rows.places[which] + item.offset - self.records.places[records]
        return Corrupt(item.path, records, offsets, _names(item, indexes, len(which)), raw)

    def _number(self, item: Field, kind: pa.DataType, rows: PlacedRows, missing: Mask | None) -> pa.Array:
        numbers = _fast(item, rows, self.rules)
        fits = _fits(item, kind, numbers)
        odd = ~numbers.good if fits is None else ~(numbers.good & fits)
        nulls = missing
        if missing is not None:
            odd &= ~missing
        if odd.any():
            nulls = odd if missing is None else odd | missing
        if not pa.types.is_decimal(kind):
            array = integer_array(numbers.low, kind, nulls)
        elif item.scale >= 0:
            array = decimal_array(numbers.low, numbers.high, kind, nulls)
        else:
            unscaled = decimal_array(numbers.low, numbers.high, pa.decimal128(item.digits, item.scale), nulls)
            array = unscaled.cast(kind)
        is_decimal = pa.types.is_decimal(kind)
        limit = 10 ** (kind.precision - kind.scale) if is_decimal else 1 << (kind.bit_width - 1)

        def one(data: bytes) -> object:
            value = decode_value(item, data, self.rules)
            if isinstance(value, int | Decimal) and not -limit - (not is_decimal) < value < limit:
                raise BadValue("more digits than the column")
            return value

        return self._settled(array, item, rows, odd, one)

    def _digits(self, item: Field, rows: PlacedRows, missing: Mask | None) -> pa.Array:
        """The digits of a DISPLAY number as text."""
        numbers, sign = _fast(item, rows, self.rules), item.sign
        odd = ~numbers.good if missing is None else ~(numbers.good | missing)
        sizes = pc.abs(decimal_array(numbers.low, numbers.high, pa.decimal128(38), odd)).cast(pa.string())
        digits = pc.utf8_lpad(sizes, item.length - (sign is not None and sign.separate), "0")
        signs: pa.Array | str = ""
        if item.signed:
            column = rows.cut(item)[:, 0 if sign is not None and sign.leading else -1]
            marks = _numbers.sign_marks(column, self.rules.page(item).kind)
            signs = pa.array(["", "+", "-"]).take(pa.array(marks))
        array = pc.binary_join_element_wise(signs, digits, "")
        if missing is not None:
            array = pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), array)
        return self._settled(array, item, rows, odd, lambda data: digits_text(item, data, self.rules))

    def _float(self, item: Field, kind: pa.DataType, rows: PlacedRows, missing: Mask | None) -> pa.Array:
        values = _floats(copied(rows.cut(item)), self.rules.floating_point)
        nulls, odd = missing, np.zeros(len(rows), np.bool_)
        if pa.types.is_float32(kind):
            odd = np.isfinite(values) & (np.abs(values) > np.finfo(np.float32).max)
            values = np.where(odd, 0, values).astype(np.float32)
            if missing is not None:
                odd &= ~missing

        def one(_: bytes) -> object:
            raise BadValue("beyond the range of the column")

        array = pa.Array.from_buffers(kind, len(rows), [null_mask(nulls), pa.py_buffer(values)])
        return self._settled(array, item, rows, odd, one)

    def _bytes(self, item: Field, kind: pa.DataType, rows: PlacedRows, missing: Mask | None) -> pa.Array:
        column = copied(rows.cut(item))
        if not pa.types.is_string(kind):
            return fixed_width(column, kind, missing)
        if self.shape.debug == "string":
            charset = self.shape.ascii_charset or "utf-8"
            return in_charset(fixed_width(column, kind), charset, missing, controls=True)
        return in_hexadecimal(fixed_width(column, pa.binary(), missing))

    def _text(self, item: Field, rows: PlacedRows, have: Ints | None) -> pa.Array:
        page, policy = self.rules.page(item), self.shape.string_trimming_policy
        charset = charset_of(item, page, self.shape)
        raw = fixed_width(copied(rows.cut(item)), pa.string()) if have is None else rows.raw(item, pa.string())
        nulls = self._nulls(item, rows, have)
        inner = trimmed(raw, policy, blank_bytes(page))
        array = translated(inner, GRAPHICS if charset else ascii_table(page), nulls)
        if array is not None:
            return array
        if charset:
            array = in_charset(raw, charset, nulls, controls=policy == "keep_all")
        else:
            array, odd = recoded(raw, page, nulls)
            array = self._settled(array, item, rows, odd, lambda data: decode_value(item, data, self.rules))
        return trimmed(array, policy)

    def _nulls(self, item: Field, rows: PlacedRows, have: Ints | None) -> Mask | None:
        """The null mask: rows without any byte of the field, and rows that contain only X'00'.

        Without null detection, a text that would begin exactly where the record ends is empty, not null.
        """
        nulls = None if have is None else have < (2 if item.type is FieldType.NATIONAL else 1)
        if nulls is not None and not self.rules.null_detection:
            nulls = rows.left < item.offset
        if self.rules.null_detection:
            first = rows.cut(item)[:, 0]
            if len(first) and not first.min():
                zero = np.flatnonzero(first == 0)
                column = copied(rows.cut(item))[zero]
                if have is not None:
                    column *= up_to(item.length, have[zero])
                zero = zero[np.logical_not(column.any(axis=1))]
                nulls = np.zeros(len(rows), np.bool_) if nulls is None else nulls
                nulls[zero] = True
        return nulls

    def _national(self, item: Field, rows: PlacedRows, have: Ints | None) -> pa.Array:
        order = ">u2" if self.rules.utf16_big_endian else "<u2"
        column = copied(rows.cut(item))
        units = column.view(order).astype(np.uint32)
        lengths = np.full(len(rows), item.length // 2, np.int64) if have is None else have // 2
        nulls = self._nulls(item, rows, have)
        odd = ((units & 0xF800) == 0xD800).any(axis=1)
        if nulls is not None:
            odd &= ~nulls
        lengths = np.where(odd if nulls is None else odd | nulls, 0, lengths)

        def one(data: bytes) -> object:
            return decode_value(item, data[: len(data) & ~1], self.rules)

        return self._settled(strings(units, lengths, nulls), item, rows, odd, one)


def _names(item: Field, indexes: list[Ints], count: int) -> pa.Array:
    """The path of a field with its occurrence numbers, outermost table first, for each of ``count`` places."""
    name = ".".join(item.path)
    if not indexes:
        return pa.repeat(name, count)
    occurrence = np.ravel_multi_index(indexes, tuple(int(index.max()) + 1 for index in indexes))
    _, first, which = np.unique(occurrence, return_index=True, return_inverse=True)
    names = [f"{name}({','.join(str(index[row] + 1) for index in indexes)})" for row in first]
    return pa.array(names, pa.string()).take(pa.array(which))


def _fast(item: Field, rows: PlacedRows, rules: Rules) -> Integers:
    """The numbers of a column, where they are clearly well-formed."""
    mask = item.picture.mask if item.picture is not None else ""
    if ("." in mask or "," in mask) and rules.numbers == "IBM":  # a digit where the point belongs is none
        return Integers(np.zeros(len(rows), np.int64), None, np.zeros(len(rows), np.bool_))
    if item.type is FieldType.ZONED:
        separate = item.sign is not None and item.sign.separate
        leading = item.sign is not None and item.sign.leading
        digits = rows.words(item, item.length - (separate and not leading))
        family, sign = rules.page(item).kind, rows.cut(item)[:, 0 if leading else -1] if item.signed else None
        width = item.length - separate
        return _numbers.zoned(digits, width, family=family, sign=sign, leading=leading, separate=separate)
    if item.type is FieldType.PACKED:
        words, has_sign = rows.words(item, item.length), item.usage.value != "COMP-6"
        return _numbers.packed(words, item.length, item.digits, has_sign=has_sign)
    column = rows.cut(item)
    if item.type is FieldType.NATIONAL_DIGITS or item.length > LONG:  # rare: left to the plain decoder
        return Integers(np.zeros(len(rows), np.int64), None, np.zeros(len(rows), np.bool_))
    little = byte_order(item, rules) == "little"
    numbers = _numbers.binary(column, signed=item.signed, little=little)
    if not item.signed and item.usage.value != "COMP-5":
        numbers.good &= column[:, -1 if little else 0] < 0x80
    return numbers


def digits_text(item: Field, data: bytes, rules: Rules) -> str | None:
    """The digits of a DISPLAY number as text, preceded by its sign if it has one; blanks are left out.

    Raises:
        BadValue: the bytes are not a number.
    """
    value, family = decode_value(item, data, rules), rules.page(item).kind
    form = DisplayBytes.of(family)
    digits = len(data.translate(None, bytes([0, form.plus, form.minus, form.blank])))
    if value is None or not digits:
        return None if rules.null_detection else ""
    assert isinstance(value, int)
    signs = [" +-"[mark >> 4] for mark in data.translate(form.meanings) if mark >> 4 in (1, 2)]
    sign = "".join(signs[-1:]) or ("-" if value < 0 else "")
    return sign + str(abs(value)).rjust(digits, "0")


def _fits(item: Field, kind: pa.DataType, numbers: Integers) -> Mask | None:
    """Which numbers surely have no more digits than the column; None when all do. Others are checked one by one."""
    if pa.types.is_decimal(kind):
        limit = 10 ** min(
            kind.precision + min(item.scale, 0), item.digits if item.scale > 0 and item.usage.value != "COMP-5" else 38
        )
    else:
        limit = 10**item.digits if item.type is not FieldType.BINARY else INT64.max
    if limit >= _most(item) or (numbers.high is None and limit > INT64.max):
        return None
    if numbers.high is not None:
        sizes = pc.abs(decimal_array(numbers.low, numbers.high, pa.decimal128(38), None))
        return np.asarray(pc.less_equal(sizes, pa.scalar(limit - 1, pa.decimal128(38))))
    fits: Mask = (numbers.low < limit) & (numbers.low > -limit)
    return fits


def _most(item: Field) -> int:
    """An exclusive upper bound of the numbers that a field's bytes can hold."""
    if item.type is FieldType.ZONED:
        return int(10 ** (item.length - (item.sign is not None and item.sign.separate)))
    if item.type is FieldType.PACKED:
        return int(10 ** (2 * item.length - (item.usage.value != "COMP-6")))
    return 1 << 8 * item.length if item.type is FieldType.BINARY else 1 << 128


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
