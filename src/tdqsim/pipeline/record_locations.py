"""Locate records in batches of bytes: starts and lengths, for every record format.

A *walk* is called with bytes that begin at a boundary of the format (a record, a block, a line). It returns where the
records in them are and how many bytes it has used. The caller passes the unused bytes again, followed by more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tdqsim.datasets import RecordFormat
from tdqsim.errors import DatasetError
from tdqsim.layouts import BadValue, Field, Layout, decode_value
from tdqsim.pipeline._numbers import Bytes, Ints, Mask
from tdqsim.pipeline._rows import Path
from tdqsim.pipeline.descriptor_words import (
    Frames,
    FramingError,
    Walk,
    blocked,
    fixed_blocks,
    headed,
    in_place,
    spanned,
)
from tdqsim.pipeline.expressions import Expression, ExpressionError
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.redefines import HOW_TO_TELL, RedefineRules, fields_called

LINE_FEED, RETURN = b"\n", 0x0D
END_OF_FILE = b"\x1a"  # as a line by itself it is the end-of-file mark of old systems


def walk_for(options: QsamOptions) -> Walk:
    """The walk of a record format.

    Raises:
        DatasetError: the format needs an option that is missing (the length of fixed records, a layout for a length
            field).
    """
    walk = _walk_for(options)
    whole_lines = (
        options.recfm.separator and not options.allow_partial_records
    )  # those bytes are left out before the records are cut
    if whole_lines or not (options.minimum_record_length or options.maximum_record_length):
        return walk

    def wanted(data: Bytes, final: bool, *part: int) -> Frames:
        frames = walk(data, final, *part)
        keep = options.wanted_lengths(frames.lengths - options.record_start_offset - options.record_end_offset)
        return replace(frames, starts=frames.starts[keep], lengths=frames.lengths[keep], places=frames.places[keep])

    return wanted


def _walk_for(options: QsamOptions) -> Walk:
    if options.record_length_field:
        return by_length_field(options)
    if options.counted:
        return by_counters(options)
    recfm = options.recfm
    if recfm.fixed:
        if options.length <= 0:
            raise DatasetError("fixed-length records need a copybook or record_length")
        return fixed_blocks(options) if options.fixed_blocks else _fixed(options.length, options.debug_ignore_file_size)
    if recfm is RecordFormat.U:
        if options.block_length <= 0:
            raise DatasetError("record_format U needs block_length: nothing in the file tells where a block ends")
        return _undefined(options.block_length)
    if recfm.separator:
        return _lines(options, options.layout.length if options.layout is not None else 0)
    if recfm.variable:
        return spanned(options) if recfm.spanned else blocked(options)
    return headed(options)


def _fixed(length: int, ignore_rest: bool) -> Walk:
    def walk(data: Bytes, final: bool) -> Frames:
        count = len(data) // length
        rest = len(data) - count * length
        if final and rest and not ignore_rest:
            raise FramingError(
                f"the last {rest} bytes are no whole record of {length} bytes, of which the data is no multiple; is the"
                " record length right?",
                count * length,
            )
        starts = np.arange(count, dtype=np.int64) * length
        return in_place(data, starts, np.full(count, length, np.int64), len(data) if final else count * length)

    return walk


def _undefined(length: int) -> Walk:
    def walk(data: Bytes, final: bool) -> Frames:
        used = len(data) if final else len(data) - len(data) % length
        starts = np.arange(0, used, length, dtype=np.int64)
        return in_place(data, starts, np.minimum(used - starts, length), used)

    return walk


def _lines(options: QsamOptions, width: int) -> Walk:
    """Lines that are not empty, without their CR; the rest of a line beyond ``width`` is dropped or becomes a record.

    As in Cobrix, one more byte is kept where the separator is one byte, and a line with a separator is kept whole up to
    twice the width.
    """
    # Long, because each step narrows the same four arrays, and the order of the steps matters.
    separator, partial = options.recfm.separator, options.allow_partial_records
    limited = bool(options.minimum_record_length or options.maximum_record_length) and not partial

    def walk(data: Bytes, final: bool) -> Frames:
        ends = np.flatnonzero(data == separator[-1]).astype(np.int64, copy=False)
        used = int(ends[-1]) + 1 if len(ends) else 0
        whole = len(ends)
        if final and used < len(data):
            ends, used = np.append(ends, len(data)), len(data)
        starts = np.zeros(len(ends), np.int64)
        np.add(ends[:-1], 1, out=starts[1:])
        lengths = ends - starts
        bare = np.ones(len(ends), np.bool_)
        if separator[-1:] == LINE_FEED and len(ends):
            before = data.take(ends - 1, mode="wrap")
            if int(before.min()) <= RETURN:  # the last character of nearly every line is greater than CR
                bare = (before != RETURN) | (lengths == 0)
                lengths -= ~bare
        if final and len(lengths) and data[starts[-1] : ends[-1]].tobytes() == END_OF_FILE:
            starts, lengths, bare = starts[:-1], lengths[:-1], bare[:-1]
        ended = np.arange(len(lengths)) < whole
        if limited:
            keep = options.wanted_lengths(lengths - options.record_start_offset - options.record_end_offset)
            starts, lengths, bare, ended = starts[keep], lengths[keep], bare[keep], ended[keep]
        if width and len(lengths) and int(lengths.max()) > width:
            if partial:
                starts, lengths = _cut_up(starts, lengths, width, bare & ended)
            else:
                lengths = np.where(lengths > width * (1 + ended) + (bare & ended), width, lengths)
        if len(lengths) and not lengths.min():
            filled = lengths > 0
            starts, lengths = starts[filled], lengths[filled]
        return in_place(data, starts, lengths, used)

    return walk


def _cut_up(starts: Ints, lengths: Ints, width: int, spare: Mask) -> tuple[Ints, Ints]:
    """Cut records of ``width`` bytes from longer ones; with ``spare``, the last one may have one byte more."""
    most = width + spare.astype(np.int64)
    pieces_each = 1 + np.maximum(-(-(lengths - most) // width), 0)
    first = np.cumsum(pieces_each) - pieces_each
    number = np.arange(int(pieces_each.sum())) - np.repeat(first, pieces_each)
    left = np.repeat(lengths, pieces_each) - number * width
    last = number == np.repeat(pieces_each, pieces_each) - 1
    return np.repeat(starts, pieces_each) + number * width, np.where(last, left, width)


# records that contain their length -----------------------------------------------------------------------------------


def by_length_field(options: QsamOptions) -> Walk:
    """A walk over records that contain their length in a field."""
    layout = options.layout
    if layout is None:
        raise DatasetError("record_length_field needs a copybook")
    size_of, adjustment = length_expression(layout, options), options.length_adjustment
    need = layout.length + options.record_start_offset
    return _one_by_one(need, lambda head, at: size_of(head, at) + adjustment, options.record_length_field, options)


def by_counters(options: QsamOptions) -> Walk:
    """A walk over records whose length follows from the counts of their tables, and from the redefinition they have.

    Raises:
        DatasetError: a table of variable length is in a redefinition, and no option says which records have it.
    """
    assert options.layout is not None
    layout, before = options.layout, options.record_start_offset
    absent = _absent_in(layout, options)

    def size_of(head: bytes, at: int) -> int:
        record = head[before:]
        return layout.length_of(record, absent(record, at) if absent is not None else ())

    return _one_by_one(layout.length + before, size_of, "the number of occurrences", options)


def _absent_in(layout: Layout, options: QsamOptions) -> Callable[[bytes, int], frozenset[Path]] | None:
    """What determines the redefinitions that a record lacks; None where all records have the same fields."""
    unions = [
        {item.path for item in fields} for groups in layout.groups.values() for fields in groups if len(fields) > 1
    ]
    ids = {path: ids for name, ids in options.segment_map.items() for path in fields_called(layout, name)}
    rules = RedefineRules(layout, options.shape, options.redefine_rules) if options.redefine_rules else None
    ruled = {path for paths in rules.paths.values() for path in paths} if rules is not None else set[Path]()
    told = [union for union in unions if union & (ruled | ids.keys())]
    for item in layout.walk():
        inside = [union for union in unions if any(item.path[:end] in union for end in range(1, len(item.path) + 1))]
        if item.depending_on and any(union not in told for union in inside):
            raise DatasetError(
                f"the length of a record depends on {item.name}, {HOW_TO_TELL}; or give record_length or "
                "record_length_field"
            )
    if not told:
        return None
    segment = _segment_in(layout, layout.field(options.segment_field)) if options.segment_field else None

    def absent(record: bytes, at: int) -> frozenset[Path]:
        value = None if segment is None else segment(record)
        there = {path for path, mine in ids.items() if value in mine}
        if rules is not None:
            one = np.zeros(1, np.int64)
            found = rules.present(np.frombuffer(record, np.uint8), one, one + len(record))
            there |= {path for path, mask in found.items() if mask[0]}
        left = set[Path]()
        for union in told:
            mine = union & there or union - ids.keys() - ruled
            if not mine:
                which = f"segment {value!r}" if segment is not None else "a record that fits no rule"
                raise FramingError(f"{which} has no redefinition, so the length of its record is not known", at)
            left |= union - mine
        return frozenset(left)

    return absent


def _segment_in(layout: Layout, item: Field) -> Callable[[bytes], str]:
    """What gives the id of a record's segment."""
    bytes_in = _bytes_in(layout, item)

    def segment(record: bytes) -> str:
        try:
            value = decode_value(item, bytes_in(record), layout.rules)
        except BadValue:
            value = None
        return "" if value is None else str(value).strip()

    return segment


def _bytes_in(layout: Layout, item: Field) -> Callable[[bytes], bytes]:
    """What gives the bytes of a field outside tables, as far as a record has them."""
    start, end = item.offset, item.offset + item.length
    if not any(table.depending_on and table.offset < start for table in layout.walk()):
        return lambda record: record[start:end]
    same = (each for each in layout.walk() if each.offset == start and not (each.is_group or _in_table(layout, each)))
    first = next(same) if item.level == 66 else item  # RENAMES: it begins where the first field does that it renames
    name = ".".join(first.path)

    def moved(record: bytes) -> bytes:
        at = next(found.offset for found in layout.found_in(record) if found.field == name)
        return record[at : at + item.length]

    return moved


def _in_table(layout: Layout, item: Field) -> bool:
    return any(table.occurs and item in table.walk() for table in layout.walk())


def _one_by_one(need: int, size_of: Callable[[bytes, int], int], who: str, options: QsamOptions) -> Walk:
    """A walk over records without descriptor words; the first ``need`` bytes of each give its length."""
    aside = options.record_start_offset + options.record_end_offset

    def walk(data: Bytes, final: bool) -> Frames:
        raw, starts, position = data.tobytes(), [], 0
        while position < len(raw):
            head = raw[position : position + need]
            if len(head) < need and not final:
                break
            length = size_of(head, position) + aside
            if length <= 0:
                raise FramingError(f"{who} says that the record has {length} bytes", position)
            if position + length > len(raw):
                if final and options.cobrix:  # Cobrix takes the rest of the file as the last record
                    length = len(raw) - position
                elif final:
                    raise FramingError(
                        f"the last record is cut short: {length} bytes expected, {len(raw) - position} are left",
                        position,
                    )
                else:
                    break
            starts.append(position)
            position += length
        begin = np.array(starts, np.int64)
        return in_place(data, begin, np.append(begin[1:], position) - begin if len(begin) else begin, position)

    return walk


def length_expression(layout: Layout, options: QsamOptions) -> Callable[[bytes, int], int]:
    """The length of a record from the field or the expression, through the map if there is one."""
    expression, mapping = Expression(options.record_length_field, "record_length_field"), options.record_length_map
    if mapping and not expression.is_name:
        raise DatasetError(
            f"record_length_map goes with a single field, not with record_length_field {options.record_length_field!r}"
        )
    try:
        fields = {name: layout.field(name) for name in expression.names}
    except LookupError as error:
        raise DatasetError(f"record_length_field: {error.args[0]}") from None
    for name, item in fields.items():
        if item.is_group or _in_table(layout, item):
            raise DatasetError(f"record_length_field: {name} is not a single elementary field")

    readers = {name: _field_value(layout, item, options) for name, item in fields.items()}

    def value(head: bytes, position: int) -> int:
        values = {name: read(head, position) for name, read in readers.items()}
        if mapping:
            return _mapped(mapping, options.record_length_field, next(iter(values.values())), position)
        try:
            length = expression.value(values)
        except ExpressionError as error:
            raise FramingError(f"{options.record_length_field}: {error}", position) from None
        if isinstance(length, str) and length.isascii() and length.isdigit():
            return int(length)
        if length is None or isinstance(length, str | bool):
            value = "null" if length is None else repr(length)
            raise FramingError(f"record length field {options.record_length_field} is {value}, no integer", position)
        return length

    return value


def _field_value(layout: Layout, item: Field, options: QsamOptions) -> Callable[[bytes, int], Any]:
    bytes_in, before = _bytes_in(layout, item), options.record_start_offset

    def value(head: bytes, position: int) -> Any:
        data = bytes_in(head[before:])
        if len(data) < item.length:
            raise FramingError(f"the last record is cut short: it ends before or in {item.name}, its length", position)
        try:
            return decode_value(item, data, layout.rules)
        except BadValue as error:
            raise FramingError(f"{item.name}: {error}", position) from None

    return value


def _mapped(mapping: Mapping[str, int], name: str, value: Any, position: int) -> int:
    key = "" if value is None else str(value).strip()
    if key not in mapping and "_" not in mapping:
        shown = f"record length field {name} is null, and" if value is None else "a length"
        raise FramingError(f"{shown} is not mapped for {key!r} by record_length_map", position)
    return mapping.get(key, mapping.get("_", 0))
