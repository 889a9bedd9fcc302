"""Records that say by what is in them how long they are: by a field, or by the counters of their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tdqsim.errors import DatasetError
from tdqsim.layouts import BadValue, Field, Layout, decode_value
from tdqsim.pipeline._framing import Frames, FramingError, Walk, found
from tdqsim.pipeline._numbers import Bytes
from tdqsim.pipeline.expressions import Expression, ExpressionError
from tdqsim.pipeline.options import QsamOptions

__all__ = ["by_counters", "by_length_field"]


def by_length_field(options: QsamOptions) -> Walk:
    """Records whose length is in a field of theirs."""
    layout = options.layout
    if layout is None:
        raise DatasetError("record_length_field needs a copybook")
    size_of, adjustment = _length_expression(layout, options), options.length_adjustment
    return _one_by_one(
        layout.length, lambda head, at: size_of(head, at) + adjustment, options.record_length_field, options
    )


def by_counters(options: QsamOptions) -> Walk:
    """Records that are as long as their tables."""
    assert options.layout is not None
    layout, before = options.layout, options.record_start_offset
    return _one_by_one(
        layout.length + before, lambda head, _: layout.length_of(head[before:]), "the number of occurrences", options
    )


def _one_by_one(need: int, size_of: Callable[[bytes, int], int], who: str, options: QsamOptions) -> Walk:
    """Records without descriptor words: each one's first ``need`` bytes say how long it is."""
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
                if final and options.cobrix:  # there the last record is what is left
                    length = len(raw) - position
                elif final:
                    raise FramingError(
                        f"the last record is cut short: {length} bytes were said, {len(raw) - position} are left",
                        position,
                    )
                else:
                    break
            starts.append(position)
            position += length
        begin = np.array(starts, np.int64)
        return found(data, begin, np.append(begin[1:], position) - begin if len(begin) else begin, position)

    return walk


def _length_expression(layout: Layout, options: QsamOptions) -> Callable[[bytes, int], int]:
    """What the field, or the expression, says about the length of a record, through the map where there is one."""
    expression, mapping = Expression(options.record_length_field, "record_length_field"), options.record_length_map
    if mapping and not expression.is_name:
        raise DatasetError(
            f"record_length_map goes with a single field, not with record_length_field {options.record_length_field!r}"
        )
    try:
        fields = {name: layout.field(name) for name in expression.names}
    except LookupError as error:
        raise DatasetError(f"record_length_field: {error.args[0]}") from None

    def value(head: bytes, position: int) -> int:
        values = {name: _field_value(layout, item, head, position, options) for name, item in fields.items()}
        if mapping:
            return _mapped(mapping, options.record_length_field, next(iter(values.values())), position)
        try:
            length = expression.value(values)
        except ExpressionError as error:
            raise FramingError(f"{options.record_length_field}: {error}", position) from None
        if isinstance(length, str) and length.isascii() and length.isdigit():
            return int(length)
        if length is None or isinstance(length, str | bool):
            said = "null" if length is None else repr(length)
            raise FramingError(f"record length field {options.record_length_field} is {said}, no integer", position)
        return length

    return value


def _field_value(layout: Layout, item: Field, head: bytes, position: int, options: QsamOptions) -> Any:
    at = item.offset + options.record_start_offset
    try:
        return decode_value(item, head[at : at + item.length], layout.rules)
    except BadValue as error:
        raise FramingError(f"{item.name}: {error}", position) from None


def _mapped(mapping: Mapping[str, int], name: str, found: Any, position: int) -> int:
    key = "" if found is None else str(found).strip()
    if key not in mapping and "_" not in mapping:
        said = f"record length field {name} is null, and" if found is None else "a length"
        raise FramingError(f"{said} is not mapped for {key!r} by record_length_map", position)
    return mapping.get(key, mapping.get("_", 0))
