"""PICTURE strings: category, number of digits, decimal point and length of an item.

The rules are those of the PICTURE clause in the Enterprise COBOL language reference: A, X, N, G and U make text items,
9, S, V and P numeric ones, and any editing symbol (B 0 / , . Z * + - CR DB and the currency sign) an edited one.

Edited items whose characters clearly form a number (``ZZ9.99-``, ``+9(5)``, ``9(3),99``: blanks for leading zeros, at
most one point and one sign) have a mask; they are read and written as numbers. The same applies to strings such as
``S9(3).99``, which the language does not allow but other readers of mainframe files accept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tdqsim.errors import LayoutError

MAX_PICTURE = 256
MAX_DIGITS = 38
MAX_LENGTH = 1 << 24
SYMBOL = re.compile(r"(CR|DB|[A-Z0-9/,.*+\-$€£¥])(?:\(([0-9]{1,9})\))?", re.IGNORECASE)
EDITING = frozenset("B0/,.Z*+-$€£¥") | {"CR", "DB"}
PLAIN_NUMBER = re.compile(r"(?P<left>[S+\-]?)(?P<whole>Z*9*)(?:(?P<point>[.,V])(?P<part>9*|Z*))?(?P<right>[+\-]?)")
EXTERNAL_FLOAT = re.compile(r"[+-](?:9+[.V]?9*|[.V]9+)E[+-]99")
INSERTED = {"N": {"B", "0", "/"}, "G": {"B"}}
GROUP = 3


@dataclass(frozen=True, slots=True)
class Picture:
    """A parsed PICTURE string.

    Attributes:
        text: the string as written.
        category: alphabetic, alphanumeric, alphanumeric-edited, national, dbcs, numeric, numeric-edited or
            external-float (``+9.99E+99``, read as text).
        length: character positions under USAGE DISPLAY (S, V and P take none).
        digits: digit positions stored (0 for text).
        scale: digits after the decimal point; negative if P stands for zeros before it.
        signed: the string has an S, or the edited item has a sign.
        mask: for an item with a point, a sign or suppressed zeros that is read as a number, its symbols without S and
            V, with ``.`` or ``,`` as point; otherwise empty.
    """

    text: str
    category: str
    length: int
    digits: int
    scale: int
    signed: bool
    mask: str = ""


def parse_picture(text: str) -> Picture:
    """Parse a PICTURE string such as ``S9(7)V99``.

    Raises:
        LayoutError: the string is not a PICTURE; the message names the symbol, but no line, which the caller adds.
    """
    if not text or len(text) > MAX_PICTURE:
        raise LayoutError(f"PICTURE {text[:40]!r}: a PICTURE string has 1 to {MAX_PICTURE} characters")
    symbols = _symbols(text)
    kinds = {symbol for symbol, _ in symbols}
    length = sum(count * len(symbol) for symbol, count in symbols if symbol not in "SVP")
    if length > MAX_LENGTH:
        raise LayoutError(f"PICTURE {text!r}: {length} positions; at most {MAX_LENGTH} are allowed")
    if kinds <= {"9", "S", "V", "P"}:
        return _numeric(text, symbols, length)
    mask = _mask(symbols)
    if "S" in kinds and mask:
        return replace(_edited(text, symbols, length), category="numeric", signed=True, mask=mask)
    return replace(_other(text, symbols, kinds, length), mask=mask)


def _mask(symbols: list[tuple[str, int]]) -> str:
    """Return the symbols one by one if the edited item can be read as a number; otherwise an empty string.

    A comma with three digits after it is taken as a thousands separator, any other as a decimal point.
    """
    if sum(count for _, count in symbols) > MAX_PICTURE:
        return ""
    match = PLAIN_NUMBER.fullmatch("".join(symbol * count for symbol, count in symbols))
    if match is None or (match["left"] and match["right"]) or not (match["whole"] or match["part"]):
        return ""
    if (match["point"] in (".", ",") and not match["part"]) or (match["point"] == "," and len(match["part"]) == GROUP):
        return ""
    return match[0].replace("S", "").replace("V", "")


def _symbols(text: str) -> list[tuple[str, int]]:
    symbols: list[tuple[str, int]] = []
    position = 0
    while position < len(text):
        match = SYMBOL.match(text, position)
        if match is None:
            raise LayoutError(f"PICTURE {text!r}: {text[position]!r} at position {position + 1} is not allowed")
        count = int(match[2]) if match[2] is not None else 1
        if count == 0:
            raise LayoutError(f"PICTURE {text!r}: a repetition of 0 is not allowed")
        symbols.append((match[1].upper(), count))
        position = match.end()
    return symbols


def _numeric(text: str, symbols: list[tuple[str, int]], length: int) -> Picture:
    order = [symbol for symbol, _ in symbols]
    if order.count("V") > 1 or any(count > 1 for symbol, count in symbols if symbol in "SV"):
        raise LayoutError(f"PICTURE {text!r}: S and V may occur once")
    if "S" in order[1:]:
        raise LayoutError(f"PICTURE {text!r}: S must be the first symbol")
    digits = sum(count for symbol, count in symbols if symbol == "9")
    scale = _scale(text, [(symbol, count) for symbol, count in symbols if symbol != "S"])
    if not 1 <= digits <= MAX_DIGITS or digits + abs(scale) > 2 * MAX_DIGITS:
        raise LayoutError(f"PICTURE {text!r}: a numeric item has 1 to {MAX_DIGITS} digits")
    return Picture(text, "numeric", length, digits, scale, order[0] == "S")


def _scale(text: str, symbols: list[tuple[str, int]]) -> int:
    """Return the digits after the point: with P on the left, the point is before it; on the right, P means zeros."""
    shape = re.sub(r"(.)\1+", r"\1", "".join(symbol for symbol, _ in symbols))
    total = {mark: sum(count for symbol, count in symbols if symbol == mark) for mark in "9P"}
    if shape in ("9", "9V"):
        return 0
    if shape in ("9P", "9PV"):
        return -total["P"]
    if shape in ("P9", "VP9"):
        return total["P"] + total["9"]
    if shape in ("V9", "9V9"):
        point = [symbol for symbol, _ in symbols].index("V")
        return sum(count for symbol, count in symbols[point:] if symbol == "9")
    raise LayoutError(f"PICTURE {text!r}: P and V must be at one end of the digits, V once")


def _other(text: str, symbols: list[tuple[str, int]], kinds: set[str], length: int) -> Picture:
    for allowed, category in (("A", "alphabetic"), ("N", "national"), ("G", "dbcs"), ("U", "utf-8")):
        if kinds == {allowed} or (allowed in kinds and kinds - {allowed} <= INSERTED.get(allowed, set())):
            if category == "utf-8":
                raise LayoutError(f"PICTURE {text!r}: UTF-8 items (U) have no fixed length and are not supported")
            return Picture(text, category, length, 0, 0, signed=False)
    if "E" in kinds and EXTERNAL_FLOAT.fullmatch("".join(symbol * count for symbol, count in symbols)):
        return Picture(text, "external-float", length, 0, 0, signed=False)
    if kinds & {"X", "A"} and kinds <= {"X", "A", "9"}:
        return Picture(text, "alphanumeric", length, 0, 0, signed=False)
    if kinds & {"X", "A"} and kinds <= {"X", "A", "9", "B", "0", "/"}:
        return Picture(text, "alphanumeric-edited", length, 0, 0, signed=False)
    if kinds <= EDITING | {"9", "V", "P"} and kinds & EDITING:
        return _edited(text, symbols, length)
    odd = sorted(kinds - EDITING - set("AXNG9SVP")) or sorted(kinds)
    raise LayoutError(f"PICTURE {text!r}: the symbols {' '.join(odd)} cannot be combined")


def _refuse_two_signs(text: str, order: list[str]) -> None:
    """Refuse a sign both before and after the digits."""
    digits = [place for place, symbol in enumerate(order) if symbol in "9Z*"]
    if digits and {"+", "-"} & set(order[: digits[0]]) and {"+", "-", "CR", "DB"} & set(order[digits[-1] :]):
        raise LayoutError(f"PICTURE {text!r}: two signs; one is allowed, before or after the digits")


def _edited(text: str, symbols: list[tuple[str, int]], length: int) -> Picture:
    marks = ".V" if any(symbol in ".V" for symbol, _ in symbols) or not _mask(symbols) else ","
    point = [symbol in marks for symbol, _ in symbols]
    if sum(point) > 1 or any(count > 1 for symbol, count in symbols if symbol in (".", "V", "CR", "DB")):
        raise LayoutError(f"PICTURE {text!r}: one decimal point, and CR or DB once, are allowed")
    after = symbols[point.index(True) :] if any(point) else []
    _refuse_two_signs(text, [symbol for symbol, _ in symbols])
    floating = [mark for mark in "+-$€£¥" if sum(count for symbol, count in symbols if symbol == mark) > 1]
    digit = frozenset("9Z*") | set(floating)
    digits = sum(count for symbol, count in symbols if symbol in digit) - (1 if floating else 0)
    scale = sum(count for symbol, count in after if symbol in digit)
    if digits < 1 or digits > MAX_DIGITS:
        raise LayoutError(f"PICTURE {text!r}: a numeric-edited item has 1 to {MAX_DIGITS} digit positions")
    signed = any(symbol in ("+", "-", "CR", "DB") for symbol, _ in symbols)
    return Picture(text, "numeric-edited", length, digits, scale, signed)
