"""What must hold for any copybook text, any layout in YAML and any record: used by the corpus test and by the fuzzer."""

from __future__ import annotations

import re

from tdqsim.errors import LayoutError
from tdqsim.layouts import Copybook, Field, Layout, parse_copybook, parse_layout_yaml

LARGEST_RECORD = 2000
MANY_FIELDS = 400
PLACE = re.compile(r"^fuzz(\.cpy)?:\d+:\d+: ")
MEMBERS = {"A": "05 :P:-X PIC X(3).\n", "B": "COPY A REPLACING ==:P:== BY ==Q==.", "LOOP": "COPY LOOP."}
FORMATS = ("auto", "fixed", "free")


def library(name: str, _: str) -> tuple[str, str]:
    """The members that a COPY may name."""
    if name.upper() not in MEMBERS:
        raise LookupError(f"no member {name}")
    return "fuzz.cpy", MEMBERS[name.upper()]


def check(data: bytes) -> None:
    """A copybook and a record, or a layout in YAML, as the first byte says; AssertionError is a finding."""
    if not data:
        return
    kind, rest = data[0], data[1:]
    text, _, record = rest.partition(b"\xff")
    if kind & 8:
        check_yaml(text.decode("latin-1"), record)
        return
    try:
        book = parse_copybook(
            text.decode("latin-1"), file="fuzz", source_format=FORMATS[kind % 3], library=library,
            pointer_size=8 if kind & 16 else 4,
        )  # fmt: skip
    except LayoutError as error:
        assert PLACE.match(str(error)), str(error)  # noqa: PT017 - either outcome is right
        return
    check_copybook(book, record)


def check_copybook(book: Copybook, record: bytes) -> None:
    """Every record of a copybook, and all of it as one."""
    for layout in {id(layout): layout for layout in (*book.records, book.whole)}.values():
        check_layout(layout, record)


def check_yaml(text: str, record: bytes) -> None:
    """A layout in YAML, or a clear refusal."""
    try:
        layout = parse_layout_yaml(text, file="fuzz")
    except LayoutError as error:
        assert "fuzz" in str(error), str(error)  # noqa: PT017 - either outcome is right
        return
    check_layout(layout, record)


def check_layout(layout: Layout, record: bytes) -> None:
    """Places are right, and any bytes are decoded and come back."""
    for item in layout.fields:
        check_place(item, 0, layout.length)
    assert 0 <= layout.minimum_length <= layout.length
    assert len(layout.table()) == sum(1 for _ in layout.walk()) + len(layout.renames)
    if layout.length > LARGEST_RECORD or _leaves(layout.fields) > MANY_FIELDS:
        return
    for data in {record[: layout.length + 1], bytes(layout.length), b"\xf1" * layout.length}:
        values, _ = layout.decode_with_corrupt(data, fillers=True)
        assert layout.encode(values, base=data) == data


def check_place(item: Field, low: int, high: int) -> None:
    """A field lies within what it belongs to."""
    assert low <= item.offset, item.path
    assert item.offset + item.size <= high, item.path
    assert item.length >= 0
    for child in item.children:
        check_place(child, item.offset, item.offset + item.length)


def _leaves(fields: tuple[Field, ...]) -> int:
    return sum(item.count * (_leaves(item.children) if item.children else 1) for item in fields)
