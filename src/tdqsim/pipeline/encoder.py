"""Encode rows to records, a batch at a time, with exactly the results of :mod:`tdqsim.layouts`.

A batch becomes one matrix of bytes, a row for each record, which numpy fills column by column. A row with anything that
is not clearly right (a number too large, text beyond ASCII, a null in a field that cannot be null) is written again by
the plain encoder, which handles all cases and refuses values that do not fit; so both agree by construction. Layouts in
which fields share bytes or tables vary in length are always written by the plain encoder.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import chain, zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.errors import ConversionError
from tdqsim.hosting import CodePage
from tdqsim.layouts import (
    DisplayBytes,
    Field,
    FieldType,
    Layout,
    Usage,
    binary_range,
    byte_order,
    encode_value,
    fill,
)
from tdqsim.pipeline._columns import joined_bytes
from tdqsim.pipeline._numbers import Bytes, Ints, Mask
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.descriptor_words import FramingError
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.record_locations import length_expression
from tdqsim.pipeline.row_encoder import RowEncoder
from tdqsim.pipeline.segment_rows import Row
from tdqsim.pipeline.shape import Column

LONG_DIGITS = 18
RECORD_BYTES = "Record_Bytes"
TEXTS = (FieldType.TEXT, FieldType.EDITED)
NUMBERS = (FieldType.ZONED, FieldType.PACKED, FieldType.BINARY)


class RecordEncoder:
    """Encodes rows by a layout: batches, or mappings of columns to values.

    Attributes:
        row_records: whether a row may become several records: a root and its child segments.
    """

    def __init__(self, options: QsamOptions) -> None:
        assert options.layout is not None
        self.options = options
        self.layout: Layout = options.layout
        self.plain = RowEncoder(self.layout, options)
        self.row_records = bool(options.segment_children)
        varies = any(item.redefines or item.depending_on for item in self.layout.walk())
        self.plainly = varies or self.row_records or bool(options.record_length_field) or not self.layout.length
        self.decoder = RecordDecoder(self.layout, self.plain.shape) if options.write_onto_record_bytes else None
        self._fit = _Length(options) if options.record_length_field else None
        self._before, self._after = bytes(options.record_start_offset), bytes(options.record_end_offset)

    def encode(self, batch: pa.RecordBatch, first: int = 0) -> list[bytes]:
        """The records of a batch.

        Raises:
            ConversionError: a value does not fit its field; the message names the record, counted from 1.
        """
        if self.decoder is not None and RECORD_BYTES in batch.schema.names:
            return self._onto(self.decoder, batch, first)
        if self.plainly or not batch.num_rows:
            return list(chain.from_iterable(self.encode_rows(batch.to_pylist(), first)))
        made = _Matrix(self.plain, batch)
        data, width = made.data.tobytes(), self.layout.length
        records = [data[at : at + width] for at in range(0, len(data), width)]
        odd = np.flatnonzero(made.odd)
        for number, row in zip(odd.tolist(), batch.take(pa.array(odd)).to_pylist(), strict=True):
            (records[number],) = self._plainly(row, first + number)
        return self._placed(records)

    def encode_rows(self, rows: Iterable[Row], first: int = 0) -> list[list[bytes]]:
        """The records of each row.

        Raises:
            ConversionError: as :meth:`encode`.
        """
        return [self._placed(self._plainly(row, first + number)) for number, row in enumerate(rows)]

    def _placed(self, records: Iterable[bytes]) -> list[bytes]:
        """The records with the bytes that a read skips before and after each."""
        if self._before or self._after:
            return [self._before + record + self._after for record in records]
        return list(records)

    def _onto(self, decoder: RecordDecoder, batch: pa.RecordBatch, first: int) -> list[bytes]:
        """Each record: the bytes in its binary column, with the changes that the row makes."""
        made: list[bytes] = []
        bases = batch.column(RECORD_BYTES).to_pylist()
        aside = len(self._before) + len(self._after)
        starts = np.cumsum([0, *(len(base or b"") for base in bases)])
        lengths = np.maximum(np.diff(starts) - aside, 0)
        before = decoder.decode(b"".join(base or b"" for base in bases), starts[:-1] + len(self._before), lengths)
        for number, (row, base, old) in enumerate(
            zip(batch.to_pylist(), bases, before.to_pylist(), strict=True), first
        ):
            if base is None:
                made += self._placed(self._plainly(row, number))
                continue
            end = len(base) - len(self._after)
            try:
                inner = self.plain.onto(row, base[len(self._before) : end], old)
            except ConversionError as error:
                raise ConversionError(str(error), record=number + 1) from None
            made.append(base[: len(self._before)] + inner + base[end:])
        return made

    def _plainly(self, row: Row, before: int) -> list[bytes]:
        try:
            records = self.plain.family(row) if self.row_records else [self.plain.encode(row)]
            return records if self._fit is None else [self._fit.fitted(record) for record in records]
        except ConversionError as error:
            raise ConversionError(str(error), record=before + 1) from None


class _Length:
    """Gives each record the length in its length field."""

    def __init__(self, options: QsamOptions) -> None:
        assert options.layout is not None
        whole = replace(options, record_start_offset=0, record_end_offset=0)
        self._size_of = length_expression(options.layout, whole)
        self._options = options
        self._unused = _template(options.layout)
        rules = options.layout.rules
        self._blanks = bytes({0, *(rules.page(item).space for item in options.layout.walk())})

    def fitted(self, record: bytes) -> bytes:
        """The record, with X'00' added, or without fields at its end that are null or blank.

        Raises:
            ConversionError: the record has more values than fit the length in its length field.
        """
        try:
            size = self._size_of(record, 0) + self._options.length_adjustment
        except FramingError as error:
            raise ConversionError(f"no length of the record: {error.problem}") from None
        rest = zip_longest(record[max(size, 0) :], self._unused[max(size, 0) : len(record)])
        if size <= 0 or any(byte not in self._blanks and byte != usual for byte, usual in rest):
            name = self._options.record_length_field
            raise ConversionError(
                f"{name}: the record has {len(record)} bytes and says {size}; allowed: room for all its values"
            )
        return record[:size].ljust(size, b"\0")


class _Matrix:
    """A batch that is being encoded; ``odd`` marks the rows that the plain encoder must write again."""

    def __init__(self, plain: RowEncoder, batch: pa.RecordBatch) -> None:
        self.plain = plain
        self.rules = plain.layout.rules
        self.width, rows = plain.layout.length, batch.num_rows
        self.data = np.tile(np.frombuffer(_template(plain.layout), np.uint8), rows)
        self.odd = np.zeros(rows, np.bool_)
        self._group(plain.columns, batch.schema.names, batch.columns, np.arange(rows) * self.width)

    def _group(self, columns: Iterable[Column], names: Iterable[str], arrays: Iterable[pa.Array], places: Ints) -> None:
        by_name = {name.lower(): array for name, array in zip(names, arrays, strict=True)}
        for column in columns:
            self._column(column, by_name.get(column.name.lower()), places)

    def _column(self, column: Column, array: pa.Array | None, places: Ints) -> None:
        """Encode a column at the places of its rows in the data, to which the offsets of fields are added."""
        item = column.field
        if item.occurs is not None and array is not None and pa.types.is_list(array.type):
            # A table has a row for each occurrence, provided that each row has all occurrences.
            full = not array.null_count and bool((np.diff(array.offsets.to_numpy()) == item.count).all())
            places_each = np.add.outer(places, np.arange(item.count) * item.length).ravel()
            single = replace(column, field=replace(item, occurs=None))
            self._column(single, array.flatten() if full else None, places_each)
        elif array is None or item.occurs is not None or pa.types.is_null(array.type):
            self.odd[places // self.width] = True
        elif not column.children:
            data, odd = self._leaf(column, array)
            self.odd[places[odd] // self.width] = True
            size = len(self.data) - item.length + 1, item.length
            everywhere = np.lib.stride_tricks.as_strided(self.data, size, (1, 1)).view(f"V{item.length}")[:, 0]
            everywhere[places + item.offset] = np.ascontiguousarray(data).view(f"V{item.length}")[:, 0]
        elif pa.types.is_struct(array.type):
            self._group(column.children, [field.name for field in array.type], array.flatten(), places)
        else:
            self.odd[places // self.width] = True

    # leaves -----------------------------------------------------------------------------------------------------------

    def _leaf(self, column: Column, array: pa.Array) -> tuple[Bytes, Mask]:
        item, made = column.field, None
        if item.type in TEXTS and pa.types.is_string(array.type):
            made = _texts(item, array, self.rules.page(item))
        elif item.type in NUMBERS and not (item.picture is not None and item.picture.mask):
            made = self._number(item, array)
        data, odd = made or self._one_by_one(column, array)
        if array.null_count:
            nulls = np.asarray(array.is_null())
            data[nulls] = np.frombuffer(encode_value(item, self.plain.null(item), self.rules), np.uint8)
            odd &= ~nulls
        return data, odd

    def _number(self, item: Field, array: pa.Array) -> tuple[Bytes, Mask] | None:
        values = _integers(item, array)
        if values is None:
            return None
        low, odd = values
        if item.type is FieldType.BINARY:
            data, wrong = _binary(item, low, little=byte_order(item, self.rules) == "little")
            return data, odd | wrong
        odd |= np.abs(low) >= 10**item.digits
        negative = low < 0
        if not item.signed:
            odd |= negative
        if item.blank_when_zero:
            odd |= low == 0
        digits = _digits(np.where(odd, 0, np.abs(low)), item.digits)
        if item.type is FieldType.PACKED:
            return _packed(item, digits, negative), odd
        return _zoned(item, digits, negative, DisplayBytes.of(self.rules.page(item).kind)), odd

    def _one_by_one(self, column: Column, array: pa.Array) -> tuple[Bytes, Mask]:
        """Encode each value with the plain encoder, for kinds of columns that are too rare for a fast path."""
        item = column.field
        data, odd = np.zeros((len(array), item.length), np.uint8), np.zeros(len(array), np.bool_)
        for number, value in enumerate(array.to_pylist()):
            try:
                encoded = encode_value(item, self.plain.single(column, value), self.rules)
                data[number] = np.frombuffer(encoded, np.uint8)
            except (ConversionError, ValueError, TypeError):
                odd[number] = True  # the plain encoder reports the error together with the record
        return data, odd


def _template(layout: Layout) -> bytes:
    """A record in which no field has a value; slack bytes are X'00'."""
    record = bytearray(layout.length)

    def put(fields: tuple[Field, ...], shift: int) -> None:
        for item in fields:
            for index in range(item.count):
                moved = shift + index * item.length
                if item.is_group:
                    put(item.children, moved)
                else:
                    at = item.offset + moved
                    record[at : at + item.length] = fill(item, layout.rules)

    put(layout.fields, 0)
    return bytes(record)


# columns --------------------------------------------------------------------------------------------------------------


@cache
def _to_page(page: CodePage) -> tuple[bytes, bytes]:
    """The byte of each ASCII character in a code page, and the characters that the page does not have."""
    table, missing = bytearray(256), bytearray()
    for code in range(128):
        try:
            table[code] = page.encode(chr(code))[0]
        except ConversionError:
            missing.append(code)
    return bytes(table), bytes(missing)


def _texts(item: Field, array: pa.Array, page: CodePage) -> tuple[Bytes, Mask]:
    """Text padded with blanks."""
    array = pc.fill_null(array, "")
    odd = ~np.asarray(pc.string_is_ascii(array)) | (np.asarray(pc.binary_length(array)) > item.length)
    if odd.any():
        array = pc.if_else(pa.array(odd), "", array)
    table, missing = _to_page(page)
    pad = pc.ascii_lpad if item.justified else pc.ascii_rpad
    text = bytearray(joined_bytes(pad(array, item.length)))
    if missing and any(byte in text for byte in missing):
        odd[:] = True
    return np.frombuffer(text.translate(table), np.uint8).reshape(-1, item.length), odd


def _integers(item: Field, array: pa.Array) -> tuple[Ints, Mask] | None:
    """Unscaled 64-bit numbers, and a mask of those that are too large; None if the fast path does not apply."""
    if item.digits > LONG_DIGITS:
        return None
    if pa.types.is_signed_integer(array.type):
        array = array.cast(pa.decimal128(19))
    if not pa.types.is_decimal128(array.type) or array.type.scale != item.scale:
        return None
    pairs = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    low = pairs[:, 0]
    return low, ((low >> 63) != pairs[:, 1]) | (low == np.iinfo(np.int64).min)


def _digits(numbers: Ints, width: int) -> Bytes:
    """The digits of numbers that are not negative, one in each byte."""
    text = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")
    digits: Bytes = np.frombuffer(joined_bytes(text), np.uint8).reshape(-1, width) & np.uint8(15)
    return digits


def _packed(item: Field, digits: Bytes, negative: Mask) -> Bytes:
    """COMP-3, with its sign in the last half byte, and COMP-6, which has none."""
    rows, halves = len(digits), 2 * item.length
    nibbles = np.zeros((rows, halves), np.uint8)
    if item.usage is Usage.COMP_6:
        nibbles[:, halves - item.digits :] = digits
    else:
        nibbles[:, halves - 1 - item.digits : halves - 1] = digits
        nibbles[:, -1] = np.where(negative, 0xD, 0xC) if item.signed else 0xF
    packed: Bytes = np.bitwise_or(nibbles[:, ::2] << np.uint8(4), nibbles[:, 1::2])
    return packed


def _zoned(item: Field, digits: Bytes, negative: Mask, form: DisplayBytes) -> Bytes:
    """DISPLAY: one digit in each byte, the sign in the zone of the last or first digit, or in a separate byte."""
    data = digits | np.uint8(form.zone)
    if not item.signed:
        return data
    leading = item.sign is not None and item.sign.leading
    if item.sign is not None and item.sign.separate:
        mark = np.where(negative, form.minus, form.plus).astype(np.uint8)[:, None]
        return np.concatenate((mark, data) if leading else (data, mark), axis=1)
    at = 0 if leading else -1
    data[:, at] = np.frombuffer(form.signed, np.uint8)[digits[:, at] + np.where(negative, 10, 0)]
    return data


def _binary(item: Field, low: Ints, *, little: bool) -> tuple[Bytes, Mask]:
    """Two's complement; like the plain encoder, this marks numbers that do not fit as wrong."""
    least, most = binary_range(item)
    wrong = (low > min(most, np.iinfo(np.int64).max)) | (low < least)
    kind = f"{'<' if little else '>'}{'i' if item.signed else 'u'}{item.length}"
    return np.where(wrong, 0, low).astype(kind).view(np.uint8).reshape(-1, item.length), wrong
