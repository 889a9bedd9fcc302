"""Bytes for every kind of number, decoded by the fast decoder and by the plain one of the same rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tdqsim.layouts import Layout

CORRUPT = "corrupt"

KINDS_WITH_SIGN = (
    "PIC S9(3)", "PIC S9(3)V99", "PIC S9(9)", "PIC S9(20)", "PIC SVPP9(3)", "PIC S9(3)PP",
    "PIC S9(3) SIGN LEADING", "PIC S9(12) SIGN LEADING", "PIC S9(19)V9 SIGN LEADING",
    "PIC S9(3) SIGN TRAILING SEPARATE", "PIC S9(5)V99 SIGN TRAILING SEPARATE", "PIC S9(18) SIGN TRAILING SEPARATE",
    "PIC S9(20) SIGN TRAILING SEPARATE", "PIC S9(31) SIGN TRAILING SEPARATE",
    "PIC S9(3) SIGN LEADING SEPARATE", "PIC S9(5)V99 SIGN LEADING SEPARATE", "PIC S9(18) SIGN LEADING SEPARATE",
    "PIC S9(20) SIGN LEADING SEPARATE", "PIC S9(31) SIGN LEADING SEPARATE",
    "PIC -9(3)", "PIC 9(3)-", "PIC +9(3)", "PIC 9(3)+", "PIC -9(3).99", "PIC 9(3).99-",
    "PIC S9(3) COMP-3", "PIC S9(4) COMP-3", "PIC S9(5)V99 COMP-3", "PIC S9(18) COMP-3", "PIC S9(31) COMP-3",
    "PIC 9(3) COMP-3", "PIC 9(4) COMP-6", "PIC S9(4) COMP", "PIC S9(9) COMP", "PIC S9(18) COMP", "PIC 9(9) COMP",
    "PIC S9(4) COMP-5", "PIC 9(4) COMP-5", "PIC 9(18) COMP-5", "PIC S9(4) COMP-9", "PIC 9(3)", "PIC 9(12)V99",
    "PIC S9(3) NATIONAL", "PIC S9(3) NATIONAL SIGN TRAILING SEPARATE",
)  # fmt: skip
"""Clauses of numbers, most of them with a sign: each usage, form of the sign, and the widths where the decoder changes."""


def layout_of(clauses: str, page: str = "037") -> Layout:
    """A layout of the field A."""
    from tdqsim.layouts import parse_copybook

    return parse_copybook(f"01 R. 05 A {clauses}.").record().with_rules(code_page=page)


def valid_values(layout: Layout) -> list[bytes]:
    """The bytes of some numbers that the field can hold: zero, and of both signs where it has one."""
    from decimal import Decimal

    item = layout.fields[0]
    digits = "1234567890" * 4
    number = Decimal(int(digits[: item.digits])).scaleb(-item.scale)
    numbers = [number] if not item.signed else [number, -number]
    return [layout.encode({"A": value if item.scale > 0 else int(value)}) for value in [Decimal(0), *numbers]]


def every_byte_at(place: int, value: bytes) -> Iterator[bytes]:
    """The bytes of a value, with each byte in one place of it."""
    return (value[:place] + bytes([byte]) + value[place + 1 :] for byte in range(256))


def differences(layout: Layout, patterns: Sequence[bytes]) -> list[str]:
    """The patterns for which the fast decoder and the plain one have different answers."""
    return [
        f"X'{pattern.hex().upper()}': fast {mine!r}, plain {other!r}"
        for pattern, mine, other in zip(patterns, fast(layout, patterns), plain(layout, patterns), strict=True)
        if mine != other or type(mine) is not type(other)
    ]


def fast(layout: Layout, patterns: Iterable[bytes]) -> list[object]:
    """The value of each pattern as a column has it."""
    from tdqsim.pipeline.decoder import RecordDecoder
    from tests.pipeline.batches import fixed_batch

    batch = fixed_batch(RecordDecoder(layout, corrupt=True), b"".join(patterns), layout.length)
    return [CORRUPT if row["_corrupt_fields"] else row["A"] for row in batch.to_pylist()]


def plain(layout: Layout, patterns: Iterable[bytes]) -> list[object]:
    """The value of each pattern as the plain decoder has it."""
    from decimal import Decimal

    from tdqsim.layouts import BadValue, decode_value
    from tdqsim.pipeline.shape import Shape, arrow_type

    item, values = layout.fields[0], list[object]()
    wide = str(arrow_type(item, Shape())).startswith("decimal")
    for pattern in patterns:
        try:
            value = decode_value(item, pattern, layout.rules)
        except BadValue:
            values.append(CORRUPT)
        else:
            values.append(Decimal(value) if wide and isinstance(value, int) else value)
    return values
