"""Random layouts and records: decoding and encoding are each other's inverse, and no text breaks the parser."""

from __future__ import annotations

import contextlib
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts import FieldType, Usage, parse_copybook, parse_layout_yaml
from tests.layouts.strategies import copybooks

CHARACTERS = bytes(range(1, 256)).decode("cp037")
"""The characters of code page 037 without X'00'; a sorted alphabet of Hypothesis's own takes seconds to build."""


@settings(max_examples=60, deadline=None)
@given(copybooks(), st.data())
def test_decode_then_encode_gives_the_same_bytes(text, data):
    layout = parse_copybook(text).record()
    size = data.draw(st.integers(0, layout.length + 2))
    plain = data.draw(st.binary(min_size=size, max_size=size))
    digits_only = bytes(0xF0 + byte % 10 for byte in plain)
    for record in (plain, digits_only):
        values, _ = layout.decode_with_corrupt(record)
        assert layout.encode(values, base=record) == record


def leaf(field):
    """A value that the field can hold, in the form in which it is decoded."""
    if field.type in (FieldType.TEXT, FieldType.EDITED):
        return st.text(CHARACTERS, min_size=field.length, max_size=field.length)
    if field.type is FieldType.NATIONAL:
        size = field.length // 2
        return st.text(st.characters(max_codepoint=0xD7FF, min_codepoint=1), min_size=size, max_size=size)
    if field.type in (FieldType.BYTES, FieldType.DBCS):
        return st.binary(min_size=field.length, max_size=field.length)
    if field.type is FieldType.FLOAT:
        return st.integers(-(2**20), 2**20).map(lambda number: number / 64)
    top = 10**field.digits - 1
    if field.type is FieldType.BINARY and field.usage is not Usage.COMP_5:
        top = min(top, 2 ** (8 * field.length - 1) - 1)
    numbers = st.integers(-top if field.signed else 0, top)
    if field.scale > 0:
        return numbers.map(lambda number: Decimal(number).scaleb(-field.scale))
    return numbers.map(lambda number: number * 10**-field.scale)


@st.composite
def values_of(draw, fields, counts):
    found = {}
    for field in fields:
        if field.is_filler or field.redefines:
            continue
        one = values_of(field.children, counts) if field.is_group else leaf(field)
        if field.occurs is None:
            found[field.key] = draw(one)
            counts[field.path] = found[field.key]
        else:
            size = field.occurs.maximum
            if field.depending_on:
                size = min(counts[field.depending_on], size)
            found[field.key] = [draw(one) for _ in range(size)]
    return found


@settings(max_examples=60, deadline=None)
@given(copybooks(), st.data())
def test_encode_then_decode_gives_the_same_values(text, data):
    layout = parse_copybook(text).record()
    values = data.draw(values_of(layout.fields, {}))
    record = layout.encode(values)
    decoded, corrupt = layout.decode_with_corrupt(record)
    redefined = {field.key for field in layout.fields if field.redefines}
    assert {key: value for key, value in decoded.items() if key not in redefined} == values
    assert all(bad.field in redefined for bad in corrupt)
    assert layout.minimum_length <= len(record) <= layout.length


VOCABULARY = (
    "01 05 10 66 77 88 R A B FILLER PIC X(3) 9(4) S9(3)V99 COMP COMP-3 OCCURS 3 TIMES TO DEPENDING ON REDEFINES A VALUE 'x' ZERO THRU "
    "SYNC SIGN LEADING SEPARATE . . . COPY REPLACE ==a== BY == =:T:= RENAMES USAGE IS BLANK JUST '"
)
words = st.sampled_from(VOCABULARY.split(" "))


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.lists(words, max_size=40).map(" ".join),
        st.text(max_size=200),
        st.binary(max_size=200).map(lambda b: b.decode("latin-1")),
    )
)
def test_any_text_is_a_copybook_or_a_layout_error(text):
    try:
        book = parse_copybook(text, library=lambda *_: ("M", "05 C PIC X."))
    except LayoutError:
        return
    for layout in (*book.records, book.whole):
        assert layout.length >= 1
        if layout.length < 10_000:
            layout.decode_with_corrupt(bytes(layout.length))


@settings(max_examples=60, deadline=None)
@given(st.text("abfields:name- {}[]\n &*picture:X9(3)", max_size=120))
def test_any_text_is_a_yaml_layout_or_a_layout_error(text):
    for candidate in (text, "fields:\n- {name: A, picture: X}\n" + text):
        with contextlib.suppress(LayoutError):
            parse_layout_yaml(candidate)


@settings(max_examples=40, deadline=None)
@given(
    copybooks(),
    st.dictionaries(
        st.sampled_from(["N", "F0", "F1", "G0", "Q"]),
        st.one_of(st.none(), st.integers(), st.text(max_size=3), st.lists(st.integers(), max_size=3)),
    ),
)
def test_any_values_are_a_record_or_a_conversion_error(text, values):
    layout = parse_copybook(text).record()
    try:
        record = layout.encode(values)
    except ConversionError:
        return
    assert layout.minimum_length <= len(record) <= layout.length
