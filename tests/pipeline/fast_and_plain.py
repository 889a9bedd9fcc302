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


def layout_of(clauses: str, page: str = "037", numbers: str = "IBM") -> Layout:
    """A layout of the field A, whose numbers are read by IBM's rules or by Cobrix's."""
    from tdqsim.layouts import parse_copybook

    return parse_copybook(f"01 R. 05 A {clauses}.").record().with_rules(code_page=page, numbers=numbers)


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
    kind = arrow_type(item, Shape())
    wide = str(kind).startswith("decimal")
    most = 10 ** (kind.precision - kind.scale) if wide else 1 << (kind.bit_width - 1)
    for pattern in patterns:
        try:
            value = decode_value(item, pattern, layout.rules)
        except BadValue:
            values.append(CORRUPT)
        else:
            fits = value is None or -most <= value < most  # what the column cannot hold is corrupt there
            values.append(CORRUPT if not fits else Decimal(value) if wide and isinstance(value, int) else value)
    return values


# the whole cross product -----------------------------------------------------------------------------------------------

WIDTHS = (*range(1, 20), 31)
PAGES = ("037", "273", "1047", "ascii")
SIGNS = ("", " SIGN LEADING", " SIGN TRAILING SEPARATE", " SIGN LEADING SEPARATE")
EDITED = (
    "PIC ZZ9", "PIC Z(5)", "PIC ZZ9.99-", "PIC -ZZ9.9", "PIC +9(3),99", "PIC S9(3).99", "PIC ZZZ.ZZ", "PIC Z(3)V99",
    "PIC 9(3) BLANK WHEN ZERO", "PIC S9(3).9 SIGN LEADING SEPARATE",
)  # fmt: skip


def kinds() -> list[tuple[str, str, str]]:
    """Clauses, code page and rules of every usage, form of the sign, width and scale."""
    found = list[tuple[str, str]]()
    for digits in WIDTHS:
        for scale in sorted({0, 1, digits // 2, digits}):
            whole, part = f"9({digits - scale})" * (digits > scale), f"V9({scale})" * (scale > 0)
            signed, plain = f"PIC S{whole}{part}", f"PIC {whole}{part}"
            found += [(f"{signed}{form}", page) for form in SIGNS for page in PAGES] + [(plain, page) for page in PAGES]
            usages = ("COMP-3", "COMP", "COMP-5", "COMP-9") if digits <= 18 else ("COMP-3",)
            found += [(f"{start} {usage}", "037") for start in (signed, plain) for usage in usages]
            found.append((f"{plain} COMP-6", "037"))
            found += [(f"{start} NATIONAL", "037") for start in (signed, plain)]
    found += [(clauses, page) for clauses in (*EDITED, *KINDS_WITH_SIGN) for page in PAGES]
    return [(*each, numbers) for each in dict.fromkeys(found) for numbers in ("IBM", "Cobrix")]


def patterns_of(layout: Layout, seed: str) -> list[bytes]:
    """Every byte in each place of a value of the field, all pairs for a short field, and drawn bytes."""
    from random import Random

    drawn, values, length = Random(seed), valid_values(layout), layout.length
    found = [each for at in range(length) for each in every_byte_at(at, values[at % len(values)])]
    if length == 2:
        found += [bytes([one, two]) for one in range(256) for two in range(256)]
    likely = b"\x00\x0c\x0d\x40\x20\x4b\x4e\x60\x2b\x2d\x2e\xc1\xd2\xf0\xf5\xf9\x30\x39\x41\x4b\x7d"
    for source in (range(256), likely):
        found += [bytes(drawn.choice(source) for _ in range(length)) for _ in range(100)]
    return found


def main() -> None:
    """Compare the whole cross product; prints what differs, and how much was compared."""
    import sys

    number = bad = 0
    for index, (clauses, page, numbers) in enumerate(every := kinds()):
        layout = layout_of(clauses, page, numbers)
        patterns = patterns_of(layout, clauses)
        number += len(patterns)
        for difference in differences(layout, patterns):
            bad += 1
            sys.stdout.write(f"{clauses} in {page} by the rules of {numbers}: {difference}\n")
        if not index % 100:
            sys.stderr.write(f"{index} of {len(every)} kinds, {number:,} values, {bad} differences\n")
    sys.stdout.write(f"{len(every):,} kinds, {number:,} values, {bad} differences\n")


if __name__ == "__main__":
    main()
