from __future__ import annotations

import re

import pytest

from tdqsim.errors import LayoutError
from tdqsim.layouts import parse_picture


@pytest.mark.parametrize(
    ("text", "category", "length", "digits", "scale", "signed"),
    [
        ("X", "alphanumeric", 1, 0, 0, False),
        ("x(10)", "alphanumeric", 10, 0, 0, False),
        ("XX9(3)", "alphanumeric", 5, 0, 0, False),
        ("XA9", "alphanumeric", 3, 0, 0, False),
        ("XAB9", "alphanumeric-edited", 4, 0, 0, False),
        ("A(5)", "alphabetic", 5, 0, 0, False),
        ("XXBXX/XX", "alphanumeric-edited", 8, 0, 0, False),
        ("N(4)", "national", 4, 0, 0, False),
        ("G(4)", "dbcs", 4, 0, 0, False),
        ("9(4)", "numeric", 4, 4, 0, False),
        ("S9(7)V99", "numeric", 9, 9, 2, True),
        ("S9(7)V9(2)", "numeric", 9, 9, 2, True),
        ("V99", "numeric", 2, 2, 2, False),
        ("9V", "numeric", 1, 1, 0, False),
        ("9(3)P(3)", "numeric", 3, 3, -3, False),
        ("SVPP99", "numeric", 2, 2, 4, True),
        ("PP99", "numeric", 2, 2, 4, False),
        ("ZZ9.99", "numeric-edited", 6, 5, 2, False),
        ("Z,ZZ9.99-", "numeric-edited", 9, 6, 2, True),
        ("$$,$$9.99CR", "numeric-edited", 11, 6, 2, True),
        ("-(5)9", "numeric-edited", 6, 5, 0, True),
        ("99/99/9999", "numeric-edited", 10, 8, 0, False),
        ("*(6)9", "numeric-edited", 7, 7, 0, False),
        ("S9(3).99", "numeric", 6, 5, 2, True),
        ("9(3),99", "numeric-edited", 6, 5, 2, False),
        ("9(38)", "numeric", 38, 38, 0, False),
    ],
)
def test_what_a_picture_says(text, category, length, digits, scale, signed):
    picture = parse_picture(text)
    assert (picture.category, picture.length, picture.digits) == (category, length, digits)
    assert (picture.scale, picture.signed) == (scale, signed)


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("9(3)", ""),
        ("ZZ9.99", "ZZ9.99"),
        ("Z(3)V99", "ZZZ99"),
        ("+9(3)", "+999"),
        ("9(3).9-", "999.9-"),
        ("S9(2).9", "99.9"),
        ("9,99", "9,99"),
        ("9,999", ""),
        ("Z,ZZ9.99", ""),
        ("-(5)9", ""),
        ("$9.99", ""),
        ("99/99", ""),
        ("Z9Z", ""),
        ("9.", ""),
        ("*9", ""),
    ],
)
def test_what_is_read_as_a_number_has_a_mask(text, mask):
    assert parse_picture(text).mask == mask


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9S",
        "S",
        "V",
        "9V9V",
        "9P9",
        "X(0)",
        "9(\u0663)",  # a digit, but not of COBOL
        "X(",
        "X)",
        "9(39)",
        "XZ",
        "Q",
        "9.9.9",
        "U(3)",
        "NX",
        "SX",
        "X(99999999)",
        "Z(9999999)",
        "+S9",
        "S9-",
        "9" * 300,
    ],
)
def test_a_wrong_picture_is_refused_by_name(text):
    with pytest.raises(LayoutError, match="PICTURE"):
        parse_picture(text)


@pytest.mark.parametrize(("text", "odd"), [("XV9", "9 V X"), ("XS9", "9 S X"), ("X(3)Q", "Q")])
def test_symbols_that_do_not_go_together_are_named_the_unknown_ones_alone(text, odd):
    with pytest.raises(LayoutError, match=re.escape(f"the symbols {odd} cannot be combined")):
        parse_picture(text)
