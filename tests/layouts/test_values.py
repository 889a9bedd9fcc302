from __future__ import annotations

from decimal import Decimal

import pytest

from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts import Rules, binary_range, parse_copybook
from tests.rules import expect_rule


def field(clauses, **rules):
    return parse_copybook(f"01 R. 05 A {clauses}.").record().with_rules(**rules)


def value(clauses, data, **rules):
    return field(clauses, **rules).decode(bytes.fromhex(data), corrupt="raise")["A"]


def written(clauses, given, **rules):
    return field(clauses, **rules).encode({"A": given}).hex(" ").upper()


BOTH_WAYS = [
    ("PIC X(3)", "C1 C2 40", "AB "),
    ("PIC X(3) JUST RIGHT", "40 C1 C2", " AB"),
    ("PIC A(2)", "81 82", "ab"),
    ("PIC N(2)", "00 41 20 AC", "A€"),
    ("PIC G(1)", "45 66", bytes.fromhex("4566")),
    ("PIC ZZ9.99-", "40 40 F7 4B F5 F0 60", Decimal("-7.50")),
    ("PIC ZZ,ZZ9.99-", "40 40 40 40 40 F7 4B F5 F0 60", "     7.50-"),
    ("PIC ZZ9.99", "F1 F0 F7 4B F0 F5", Decimal("107.05")),
    ("PIC ZZZ.ZZ", "40 40 40 40 40 40", Decimal("0.00")),
    ("PIC ZZZ.ZZ", "40 40 40 4B F0 F5", Decimal("0.05")),
    ("PIC Z(5)", "40 40 40 40 40", 0),
    ("PIC Z(3)V99", "40 40 F7 F5 F0", Decimal("7.50")),
    ("PIC +9(3)", "4E F0 F4 F2", 42),
    ("PIC +9(3)", "60 F0 F4 F2", -42),
    ("PIC -ZZ9.9", "40 40 F4 F2 4B F5", Decimal("42.5")),
    ("PIC 9(3)-", "F0 F4 F2 60", -42),
    ("PIC 9(3),99", "F0 F4 F2 6B F5 F0", Decimal("42.50")),
    ("PIC 9,999", "F1 6B F2 F3 F4", "1,234"),
    ("PIC S9(3).99", "F0 F4 F2 4B F5 D0", Decimal("-42.50")),
    ("PIC S9(3).9 SIGN LEADING SEPARATE", "60 F0 F4 F2 4B F5", Decimal("-42.5")),
    ("PIC 9(4) COMP-3U", "00 42", 42),
    ("PIC X(2) COMP-3U", "12 34", 1234),
    ("PIC 9(4)", "F0 F0 F4 F2", 42),
    ("PIC S9(4)", "F0 F0 F4 C2", 42),
    ("PIC S9(4)", "F0 F0 F4 D2", -42),
    ("PIC S9(3)V99", "F1 F2 F3 F4 D5", Decimal("-123.45")),
    ("PIC S9(4) SIGN LEADING", "D0 F0 F4 F2", -42),
    ("PIC S9(4) SIGN LEADING SEPARATE", "60 F0 F0 F4 F2", -42),
    ("PIC 9(2)V99 SIGN LEADING SEPARATE", "60 F3 F0 F5 F0", Decimal("-30.50")),
    ("PIC S9(4) SIGN TRAILING SEPARATE", "F0 F0 F4 F2 4E", 42),
    ("PIC 9(3)PP", "F0 F1 F2", 1200),
    ("PIC VPP99", "F1 F2", Decimal("0.0012")),
    ("PIC S9(2) NATIONAL", "00 34 00 4B", -42),
    ("PIC S9(3)V99 COMP-3", "12 34 5D", Decimal("-123.45")),
    ("PIC S9(4) COMP-3", "00 04 2C", 42),
    ("PIC 9(3) COMP-3", "04 2F", 42),
    ("PIC 9(4) COMP-6", "00 42", 42),
    ("PIC 9(4) COMP-6", "00 00", 0),
    ("PIC S9(31) COMP-3", "12 34 56 78 90 12 34 56 78 90 12 34 56 78 90 1D", -1234567890123456789012345678901),
    ("PIC S9(4) COMP", "FF D6", -42),
    ("PIC S9(4) COMP", "7F FF", 32767),
    ("PIC S9(4)V99 COMP", "00 00 30 39", Decimal("123.45")),
    ("PIC S9(2)V99 COMP", "27 0F", Decimal("99.99")),
    ("PIC 9(9) COMP", "FF FF FF FF", 4294967295),
    ("PIC 9(18) COMP-5", "FF FF FF FF FF FF FF FF", 18446744073709551615),
    ("PIC S9(18) COMP-5", "80 00 00 00 00 00 00 00", -9223372036854775808),
    ("INDEX", "00 00 00 07", 7),
    ("POINTER", "12 34 56 78", bytes.fromhex("12345678")),
    ("PIC X(2) COMP", "12 34", bytes.fromhex("1234")),
    ("COMP-1", "42 76 A0 00", 118.625),
    ("COMP-1", "C2 76 A0 00", -118.625),
    ("COMP-2", "41 10 00 00 00 00 00 00", 1.0),
    ("COMP-2", "40 19 99 99 99 99 99 9A", 0.1),
]


@pytest.mark.parametrize(
    ("clauses", "data", "expected"), BOTH_WAYS, ids=[f"{row[0]} {row[1]}"[:60] for row in BOTH_WAYS]
)
def test_bytes_and_value_both_ways(clauses, data, expected):
    found = value(clauses, data)
    assert found == expected
    assert type(found) is type(expected)
    assert written(clauses, expected) == data


@pytest.mark.parametrize(
    ("rules", "clauses", "data", "expected"),
    [
        ({"floating_point": "IEEE754"}, "COMP-1", "42 ED 40 00", 118.625),
        ({"floating_point": "IEEE754_little_endian"}, "COMP-2", "00 00 00 00 00 00 F0 3F", 1.0),
        ({"floating_point": "IBM_little_endian"}, "COMP-1", "00 A0 76 42", 118.625),
        ({"native_little_endian": True}, "PIC S9(4) COMP-5", "D6 FF", -42),
        ({"code_page": "ascii"}, "PIC S9(4)", "30 30 34 4B", -42),
        ({"code_page": "ascii"}, "PIC S9(4)", "30 30 34 42", 42),
        ({"code_page": "ascii"}, "PIC S9(2) SIGN LEADING SEPARATE", "2D 34 32", -42),
        ({"code_page": "1047"}, "PIC X(2)", "AD BD", "[]"),
        ({"code_page": "1140"}, "PIC X", "9F", "€"),
        ({"utf16_big_endian": False}, "PIC N", "41 00", "A"),
    ],
)
def test_rules_of_a_layout(rules, clauses, data, expected):
    assert value(clauses, data, **rules) == expected
    assert written(clauses, expected, **rules) == data


@pytest.mark.rule("LAY-DISPLAY-SIGN", "LAY-DISPLAY-NULL", "LAY-PACKED-SIGN", "LAY-BINARY-PICTURE", "LAY-TEXT-NULL")
@pytest.mark.parametrize(
    ("clauses", "data", "expected"),
    [
        ("PIC S9(3)", "F1 F2 F3", 123),
        ("PIC S9(3)V99", "F1 F2 F3 F4 A5", Decimal("123.45")),
        ("PIC S9(3)V99", "F1 F2 F3 F4 B5", Decimal("-123.45")),
        ("PIC S9(3)V99", "F1 F2 F3 F4 E5", Decimal("123.45")),
        ("PIC S9(3) SIGN LEADING", "B1 F2 F3", -123),
        ("PIC S9(3)V99", "F1 F2 40 F4 C5", Decimal("120.45")),
        ("PIC S9(3)V99", "F1 40 00 F4 C5", Decimal("100.45")),
        ("PIC S9(3) SIGN TRAILING SEPARATE", "40 F4 F2 60", -42),
        ("PIC S9(3)V99 COMP-3", "12 34 5A", Decimal("123.45")),
        ("PIC S9(3)V99 COMP-3", "12 34 5B", Decimal("-123.45")),
        ("PIC S9(3)V99 COMP-3", "12 34 5E", Decimal("123.45")),
        ("PIC 9(3)", "40 F2 F3", 23),
        ("PIC 9(3)", "40 40 40", None),
        ("PIC S9(3)", "00 00 00", None),
        ("PIC X(2)", "00 00", None),
        ("PIC X(2)", "00 40", "\x00 "),
        ("PIC S9(3) COMP-3", "00 00", None),
        ("PIC 9(3) COMP-3", "12 3D", -123),
        ("PIC S9(4) COMP-3", "12 34 5C", 12345),
        ("PIC 9(4) COMP", "7F FF", 32767),
        ("PIC 9(4) COMP", "FF FE", 65534),
        ("PIC 9(18) COMP", "FF FF FF FF FF FF FF FE", 18446744073709551614),
        ("PIC 9(5) COMP-5", "80 00 00 00", 2147483648),
        ("PIC 9(3) COMP-0", "00 07", 7),
        ("PIC S9(18) COMP-3", "44 35 29 38 16 34 88 32 91 5C", 4435293816348832915),
        ("PIC ZZ9.99", "40 40 40 40 40 40", None),
        ("PIC S9(3).99", "40 40 F7 4B F5 D0", Decimal("-7.50")),
        ("PIC -9(3)", "60 F0 F0 F7", -7),
        ("PIC 9(3)-", "40 40 F7 40", 7),
        ("PIC 9(2)V9 BLANK WHEN ZERO", "40 40 40", Decimal("0.0")),
    ],
)
def test_comp_3_and_other_numbers_by_the_rules_of_ibm(clauses, data, expected):
    found = value(clauses, data)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.rule("LAY-COBRIX-SIGN", "LAY-COBRIX-NULL")
@pytest.mark.parametrize(
    ("clauses", "data", "expected"),
    [
        ("PIC S9(3)", "C1 F2 F3", 123),
        ("PIC 9(3)", "F1 00 F3", 13),
        ("PIC 9(3)V99", "F1 F2 4B F5 40", Decimal("12.50")),
        ("PIC 9(3)V99", "F1 F2 6B F5 40", Decimal("12.50")),
        ("PIC S9(4)", "60 F0 F4 F2", -42),
        ("PIC 9(3).99", "F7 40 40 40 40 40", Decimal("7.00")),
        ("PIC 9(3).99", "F0 F0 F7 6B F5 F0", Decimal("7.50")),
    ],
)
def test_numbers_by_the_rules_of_cobrix_only(clauses, data, expected):
    found = value(clauses, data, numbers="Cobrix")
    assert found == expected
    assert type(found) is type(expected)
    try:
        other = value(clauses, data)
    except ConversionError:
        other = "corrupt"
    assert other == (103 if clauses == "PIC 9(3)" else "corrupt")


@pytest.mark.rule("LAY-COBRIX-NULL")
def test_a_blank_between_ascii_digits_is_corrupt_by_the_rules_of_cobrix():
    assert value("PIC 9(3)", "20 31 32", code_page="ascii", numbers="Cobrix") == 12
    with pytest.raises(ConversionError, match="a blank or X'00' between the digits"):
        value("PIC 9(3)", "31 20 32", code_page="ascii", numbers="Cobrix")


@pytest.mark.rule("LAY-COBRIX-PACKED")
@pytest.mark.parametrize("data", ["12 3A", "12 3B", "12 3E"])
def test_packed_signs_a_b_and_e_are_none_by_the_rules_of_cobrix(data):
    with pytest.raises(ConversionError, match="the sign is not C, D or F"):
        value("PIC S9(3) COMP-3", data, numbers="Cobrix")


@pytest.mark.rule("LAY-PACKED-SIGN")
def test_an_unsigned_packed_number_has_the_sign_that_is_there():
    layout = parse_copybook("01 R. 05 A PIC 9(3) COMP-3.").record()
    for data, value in ((b"\x12\x3f", 123), (b"\x12\x3c", 123), (b"\x12\x3d", -123)):
        assert layout.decode(data) == {"A": value}
    assert layout.encode({"A": 123}) == b"\x12\x3f"
    with pytest.raises(ConversionError, match="the PICTURE has no S"):
        layout.encode({"A": -123})


@pytest.mark.rule(
    "LAY-DISPLAY-SIGN", "LAY-DISPLAY-SEPARATE", "LAY-DISPLAY-NULL", "LAY-PACKED-SIGN", "LAY-BINARY-PICTURE"
)
@pytest.mark.parametrize(
    ("clauses", "data"),
    [
        ("PIC 9(3)", "F1 F2 C3"),
        ("PIC 9(3)", "F1 F2 D3"),
        ("PIC 9(3)", "F1 C1 F3"),
        ("PIC S9(3)", "C1 F2 C3"),
        ("PIC S9(3)", "F1 C1 60"),
        ("PIC S9(3)", "4E 40 40"),
        ("PIC 9(3)", "F1 4B F3"),
        ("PIC 9(3)V9", "F1 4B F3 F4"),
        ("PIC S9(3)", "F1 F2 40"),
        ("PIC S9(3)", "F1 F2 00"),
        ("PIC S9(3) SIGN LEADING", "40 F2 F3"),
        ("PIC S9(3) SIGN TRAILING SEPARATE", "F2 F3 F5 F9"),
        ("PIC S9(3) SIGN TRAILING SEPARATE", "F0 F4 F2 CA"),
        ("PIC S9(3) SIGN TRAILING SEPARATE", "F0 F4 F2 40"),
        ("PIC S9(3) SIGN TRAILING SEPARATE", "F0 F4 40 60"),
        ("PIC S9(3) SIGN LEADING SEPARATE", "4E F4 F2 C1"),
        ("PIC 9(3)-", "F0 F4 F2 00"),
        ("PIC 9(3).99", "F0 F0 F7 F0 F5 F0"),
        ("PIC S9(3) COMP-3", "12 39"),
        ("PIC S9(3) COMP-3", "1A 3C"),
        ("PIC S9(2)V99 COMP-3", "12 34 5C"),
        ("PIC 9(4) COMP-6", "0A 00"),
        ("PIC 9(5) COMP", "80 00 00 00"),
        ("PIC 9(8) COMP", "FF FF FF FF"),
        ("PIC 9(10) COMP", "80 00 00 00 00 00 00 00"),
        ("PIC 9(17) COMP", "FF FF FF FF FF FF FF FF"),
        ("PIC S9(2)V99 COMP", "7F FF"),
        ("PIC S9(2)V99 COMP", "27 10"),
        ("PIC N", "D8 00"),
        ("PIC 9(2) NATIONAL", "00 41 00 30"),
    ],
)
def test_corrupt_fields_are_reported_with_their_bytes(clauses, data):
    layout = field(clauses)
    record = bytes.fromhex(data)
    values, corrupt = layout.decode_with_corrupt(record)
    assert values == {"A": None}
    assert [(bad.field, bad.offset, bad.hex) for bad in corrupt] == [("A", 0, data.replace(" ", ""))]
    assert layout.decode(record, corrupt="null") == {"A": None}
    with pytest.raises(ConversionError, match=f"field A X'{corrupt[0].hex}'"):
        layout.decode(record)
    assert layout.encode(values, base=record) == record


@pytest.mark.rule("LAY-DISPLAY-BLANK-ZERO")
def test_blank_when_zero():
    assert value("PIC 9(3) BLANK WHEN ZERO", "40 40 40") == 0
    assert written("PIC 9(3) BLANK WHEN ZERO", 0) == "40 40 40"
    assert written("PIC 9(3) BLANK WHEN ZERO", 1) == "F0 F0 F1"


def test_a_plus_on_an_unsigned_number_is_read_over_when_asked():
    assert value("PIC 9(3)", "F1 F2 C3", strict_overpunch=False) == 123
    with pytest.raises(ConversionError):
        value("PIC 9(3)", "F1 F2 D3", strict_overpunch=False)


def test_null_text_can_be_kept_as_text():
    assert value("PIC X(2)", "00 00", null_detection=False) == "\x00\x00"


@pytest.mark.rule("LAY-ENCODE-OVERFLOW")
@pytest.mark.parametrize(
    ("clauses", "given"),
    [
        ("PIC X(2)", "ABC"),
        ("PIC X(2)", 42),
        ("PIC 9(2)", 100),
        ("PIC 9(2)", -1),
        ("PIC 9(2)", Decimal("1.5")),
        ("PIC 9(2)", True),
        ("PIC 9(2)", "42"),
        ("PIC 9(2)", Decimal("NaN")),
        ("PIC 9(2)", Decimal("1E+999999")),
        ("PIC 9(2)PP", 150),
        ("PIC S9(3)V99", Decimal("0.001")),
        ("PIC S9(4) COMP", 32768),
        ("PIC 9(4) COMP", 65536),
        ("PIC S9(4)V99 COMP", Decimal("10000.00")),
        ("PIC S9(3) COMP-3", 1000),
        ("PIC N(1)", "ab"),
        ("PIC G(1)", b"x"),
        ("COMP-1", 1e76),
        ("COMP-1", float("inf")),
        ("COMP-1", "1"),
        ("PIC N", "\ud800"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(clauses, given):
    expect_rule("LAY-ENCODE-OVERFLOW", field(clauses).encode, {"A": given})


def test_a_character_outside_the_code_page_is_refused():
    with pytest.raises(ConversionError, match="U\\+20AC") as refused:
        field("PIC X(3)").encode({"A": "€"})
    assert str(refused.value).count("at offset") == 1


def test_unknown_code_page_and_float_format_are_refused():
    with pytest.raises(LayoutError, match="unknown code page 'cp9999'"):
        field("PIC X", code_page="cp9999")
    with pytest.raises(LayoutError, match="floating_point"):
        field("COMP-1", floating_point="VAX")


def number(clauses, data, **rules):
    """The value of a field of these clauses; None where it is corrupt."""
    return parse_copybook(f"01 R. 05 F {clauses}.", rules=Rules(**rules)).record().decode(data, corrupt="null")["F"]


@pytest.mark.rule("LAY-DISPLAY-ASCII-SIGN")
def test_in_ascii_a_digit_with_its_sign_is_first_or_last():
    for text, expected in (("12A4", None), ("1B3D", None), ("A234", None), ("123M", -1234), ("}234", None)):
        assert number("PIC S9(4)", text.encode(), code_page="ascii") == expected
    assert number("PIC S9(4)", b"12A4", code_page="ascii", strict_overpunch=False) == 1214
    assert number("PIC S9(4)", b"A234", code_page="ascii", numbers="Cobrix") == 1234
    assert number("PIC S9(4)", bytes.fromhex("F1F2C1F4"), numbers="Cobrix") == 1214  # in EBCDIC it may stand anywhere


@pytest.mark.rule("LAY-DISPLAY-RELAXED")
@pytest.mark.parametrize(
    ("clauses", "data", "relaxed", "strict"),
    [
        ("PIC S9(5)V9", "F1 F2 F3 D0 C4 40", Decimal("1230.4"), None),
        ("PIC S9(5)V9", "F1 F2 F3 C0 D4 40", Decimal("-1230.4"), None),
        ("PIC 9(4)", "F1 C2 F3 F4", 1234, None),
        ("PIC 9(4)", "D1 F2 F3 C4", 1234, None),
        ("PIC 9(4)", "C1 F2 F3 D4", None, None),
        ("PIC S9(4)", "60 F1 F2 C3", 123, None),
    ],
)
def test_relaxed_signs(clauses, data, relaxed, strict):
    assert number(clauses, bytes.fromhex(data), strict_overpunch=False) == relaxed
    assert number(clauses, bytes.fromhex(data)) == strict


def test_blank_decimals_are_zero_where_it_is_asked_for():
    for data in (b"\x40" * 3, bytes(3), b"\x00\x40\x00"):
        assert number("PIC 9(2)V9", data) is None
        assert str(number("PIC 9(2)V9", data, blank_is_zero=True)) == "0.0"
        assert number("PIC 9(3)", data, blank_is_zero=True) is None


@pytest.mark.parametrize(
    ("clauses", "least", "greatest"),
    [("PIC 9(4)V99 COMP", 0, 999_999), ("PIC S9(4)V99 COMP", -999_999, 999_999), ("PIC S9(4) COMP", -32768, 32767)],
)
def test_a_binary_number_with_decimals_has_no_more_digits_than_its_picture(clauses, least, greatest):
    assert binary_range(field(clauses).field("A")) == (least, greatest)
