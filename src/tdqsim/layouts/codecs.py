"""Elementary values: lossless conversion between bytes and Python values.

There are two tables of rules for numbers (:attr:`Rules.numbers`; ``facts/rules.tsv`` rows LAY-...):

``IBM``
    As programs of Enterprise COBOL see them, compiled with NUMPROC(NOPFD). The signs of zoned and packed numbers are A,
    C, E and F (plus), B and D (minus); a zoned number has its sign in one place, a separate sign is ``+`` or ``-``.
    A blank or X'00' before the last digit counts as zero, because the machine ignores the left half of such a
    byte. Any other byte is corrupt.
``Cobrix``
    As Cobrix reads files: signs C, D and F; the sign of a zoned number may be anywhere; blanks and X'00' are passed
    over, so that the digits move together (in ASCII only around the digits); ``.`` and ``,`` in the data are decimal
    points.

Both have in common:

* A DISPLAY number that is only blanks or X'00', a packed number that is only X'00', and a text of X'00' are null.
* Binary numbers are not truncated to their PICTURE. An unsigned one with its top bit set is corrupt, except COMP-5,
  those of two bytes, and those of 9 and 18 digits.

A null is None in Python. Any other bytes are corrupt: :class:`BadValue`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Final, Literal

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.errors import ConversionError, LayoutError, WrongValue
from tdqsim.layouts._items import Literal as ValueLiteral
from tdqsim.layouts._items import Usage
from tdqsim.layouts.fields import Field, FieldType

Value = str | int | Decimal | float | bytes | None

FLOAT_FORMATS = ("IBM", "IEEE754", "IBM_little_endian", "IEEE754_little_endian")
FloatFormat = str
NumberRules = Literal["IBM", "Cobrix"]
INT_DIGITS, LONG_DIGITS = 9, 18
WIDENED_DIGITS = (9, 18)
HALFWORD = 2
DIGIT, PLUS, MINUS, POINT, SKIP, BAD = 0, 16, 32, 48, 49, 255
ZONED_SIGNS = {0xA: PLUS, 0xB: MINUS, 0xC: PLUS, 0xD: MINUS, 0xE: PLUS, 0xF: PLUS}
PACKED_SIGNS = {"IBM": {"plus": "acef", "minus": "bd"}, "Cobrix": {"plus": "cf", "minus": "d"}}
_SKIPPED = bytes([SKIP])
EBCDIC_FAMILY, ASCII_FAMILY = "EBCDIC", "ASCII"


class BadValue(WrongValue):
    """The bytes are not a value of the field's type; the message says why."""


@dataclass(frozen=True, slots=True)
class DisplayBytes:
    """The bytes of DISPLAY numbers in a family of code pages.

    Attributes:
        zone: the left half of the byte of a digit.
        plus, minus: the separate signs.
        signed: the bytes of the digits 0 to 9 with a plus, then with a minus.
        points: the byte of each decimal point.
        blank: the blank.
        meanings: the meaning of each byte of a number: a digit, a digit with plus (16+) or minus (32+), a sign, a
            point, or a byte to skip.
    """

    zone: int
    plus: int
    minus: int
    signed: bytes
    points: Mapping[str, int]
    blank: int
    meanings: bytes = field(init=False)

    def __post_init__(self) -> None:
        table = bytearray([BAD]) * 256
        for digit in range(10):
            table[self.zone + digit] = digit
            table[self.signed[digit]], table[self.signed[digit + 10]] = PLUS + digit, MINUS + digit
        table[self.plus], table[self.minus] = PLUS + 15, MINUS + 15
        for point in self.points.values():
            table[point] = POINT
        table[self.blank] = table[0] = SKIP
        object.__setattr__(self, "meanings", bytes(table))

    @classmethod
    def of(cls, family: str) -> DisplayBytes:
        """The bytes of DISPLAY numbers in the code pages of a family."""
        return _EBCDIC_BYTES if family == EBCDIC_FAMILY else _ASCII_BYTES


_EBCDIC_BYTES = DisplayBytes(
    0xF0, 0x4E, 0x60, bytes([*range(0xC0, 0xCA), *range(0xD0, 0xDA)]), {".": 0x4B, ",": 0x6B}, 0x40
)
_ASCII_BYTES = DisplayBytes(0x30, 0x2B, 0x2D, b"{ABCDEFGHI}JKLMNOPQR", {".": 0x2E, ",": 0x2C}, 0x20)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules by which the values of a layout are read.

    Attributes:
        code_page: name of the code page of text and DISPLAY numbers.
        floating_point: COMP-1 and COMP-2: IBM (hexadecimal), IEEE754, or either with ``_little_endian``.
        native_little_endian: COMP-5 has its low byte first.
        numbers: whose rules hold for zoned and packed numbers; see the module's docstring.
        strict_overpunch: True: a DISPLAY number has at most one sign, and an unsigned one has none. False: DISPLAY
            numbers are read by Cobrix's rules, there may be several signs, of which the last applies, and a plus on an
            unsigned number is ignored.
        null_detection: text of X'00' is None; otherwise it is the text of those bytes.
        blank_is_zero: a DISPLAY number with decimals that consists only of blanks or X'00' is zero; otherwise None.
        utf16_big_endian: byte order of PIC N.
    """

    code_page: str = "037"
    floating_point: FloatFormat = "IBM"
    numbers: NumberRules = "IBM"
    native_little_endian: bool = False
    strict_overpunch: bool = True
    null_detection: bool = True
    blank_is_zero: bool = False
    utf16_big_endian: bool = True

    def __post_init__(self) -> None:
        if self.floating_point not in FLOAT_FORMATS:
            raise LayoutError(f"floating_point {self.floating_point!r}: must be one of {', '.join(FLOAT_FORMATS)}")

    def page(self, field: Field) -> CodePage:
        """Return the code page of one field."""
        return codepage(field.code_page or self.code_page)


_Decode = Callable[[Field, bytes, Rules], Value]
_Encode = Callable[[Field, object, Rules], bytes]


def decode_value(field: Field, data: bytes, rules: Rules) -> Value:
    """Return the value of an elementary field; ``data`` are exactly its bytes.

    Raises:
        BadValue: the bytes are not a value of this type.
    """
    return _CODECS[field.type][0](field, data, rules)


def encode_value(field: Field, value: object, rules: Rules) -> bytes:
    """Return the bytes of a value, exactly ``field.length`` long.

    Raises:
        ConversionError: the value is of the wrong type, too long or too large; nothing is truncated silently.
    """
    if value is None:
        return _null(field)
    data = _CODECS[field.type][1](field, value, rules)
    assert len(data) == field.length
    return data


def fill(field: Field, rules: Rules) -> bytes:
    """Return the contents of a field without a value: its VALUE, otherwise zero, X'00' (pointers) or blanks."""
    if field.values and field.values[0][1] is None:
        try:
            return _initial(field, ValueLiteral.of(field.values[0][0]), rules)
        except (ConversionError, ArithmeticError):
            pass  # the literal does not fit the item: use blanks or zero instead
    if field.is_numeric:
        return encode_value(field, 0, rules)
    if field.type in (FieldType.FLOAT, FieldType.BYTES):
        return bytes(field.length)
    if field.type is FieldType.NATIONAL:
        return encode_value(field, "", rules)
    return bytes([rules.page(field).space]) * field.length


def _initial(field: Field, literal: ValueLiteral, rules: Rules) -> bytes:
    """Return the bytes that a VALUE clause gives to a field."""
    if field.is_numeric or field.type is FieldType.FLOAT:
        return encode_value(field, Decimal(literal), rules)
    if field.type in (FieldType.TEXT, FieldType.EDITED, FieldType.NATIONAL):
        data = literal.contents(field.length, partial(_text_bytes, field, rules))
        if len(data) == field.length:
            return data
    return encode_value(field, literal, rules)


def binary_range(field: Field) -> tuple[int, int]:
    """Return the least and the greatest number of a binary field, without its decimal point.

    Numbers with decimals, except COMP-5, and numbers of more than 18 digits have no more digits than their PICTURE.
    """
    native, bits = field.usage is Usage.COMP_5, 8 * field.length - 1
    whole = not field.signed and (native or field.digits in WIDENED_DIGITS or field.length <= HALFWORD)
    low, top = -(1 << bits) if field.signed else 0, (1 << (bits + whole)) - 1
    if (native or field.scale <= 0) and field.digits <= LONG_DIGITS:
        return low, top
    most = int(10**field.digits) - 1
    return max(low, -most), min(top, most)


def overflows(field: Field, unscaled: int) -> bool:
    """Return whether a number read from a record has more digits than the field can hold."""
    if field.type is FieldType.BINARY:
        low, top = binary_range(field)
        return not low <= unscaled <= top
    if field.type is FieldType.ZONED and field.scale == 0 and field.digits <= LONG_DIGITS:
        # The byte of a separate sign may contain one more digit; the number must fit 32 or 64 bits.
        bits = 31 if field.digits <= INT_DIGITS else 63
        return not -(1 << bits) <= unscaled < 1 << bits
    # A packed number with an even number of digits has room for one more; an integer may use it if it fits 64 bits.
    spare = field.type is FieldType.PACKED and field.scale == 0 and field.digits <= LONG_DIGITS
    return abs(unscaled) >= (1 << 63 if spare else int(10**field.digits))


def _null(field: Field) -> bytes:
    if field.type in (FieldType.BINARY, FieldType.FLOAT, FieldType.BYTES):
        raise ConversionError(f"{'.'.join(field.path)}: None has no representation in a {field.type} field")
    return bytes(field.length)


def _wrong(field: Field, value: object, allowed: str) -> ConversionError:
    return ConversionError(f"{'.'.join(field.path)}: {str(value)[:60]!r} does not fit; allowed: {allowed}")


# Numbers ----------------------------------------------------------------------------------------------------------


def _scaled(field: Field, unscaled: int) -> int | Decimal:
    if overflows(field, unscaled):
        raise BadValue(f"{unscaled} has more digits than the PICTURE, {field.digits}, or its top bit is set")
    if field.scale > 0:
        sign, digits = (1, -unscaled) if unscaled < 0 else (0, unscaled)
        return Decimal((sign, tuple(map(int, str(digits))), -field.scale))
    return unscaled * int(10**-field.scale)


def _unscaled(field: Field, value: object) -> int:
    """Return the number as the integer that the field stores; refuse a number that would lose digits."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise _wrong(field, value, "an int or a Decimal")
    number = Decimal(value)
    if not number.is_finite() or abs(number.adjusted()) > 2 * 38:
        raise _wrong(field, value, "a finite number")
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + field.scale
    whole: int = int("".join(map(str, digits)) or "0")
    if shift < 0:
        whole, lost = divmod(whole, int(10**-shift))
        if lost:
            raise _wrong(
                field,
                value,
                f"{max(field.scale, 0)} digits after the decimal point"
                if field.scale >= 0
                else f"multiples of 10**{-field.scale}",
            )
    else:
        whole *= int(10**shift)
    if sign and whole and not field.signed:
        raise _wrong(field, value, "no negative numbers, the PICTURE has no S")
    return -whole if sign else whole


def _digits(field: Field, value: object) -> tuple[bool, str]:
    unscaled = _unscaled(field, value)
    text = str(abs(unscaled))
    if len(text) > field.digits:
        raise _wrong(field, value, f"{field.digits} digits with scale {field.scale}")
    return unscaled < 0, text.rjust(field.digits, "0")


def _parse_display(field: Field, data: bytes, rules: Rules, family: str) -> int | Decimal | None:
    if rules.numbers == "IBM" and rules.strict_overpunch:
        return _parse_in_places(field, data, rules, family)
    meaning = data.translate((_EBCDIC_BYTES if family == EBCDIC_FAMILY else _ASCII_BYTES).meanings)
    if family == ASCII_FAMILY and SKIP in meaning.strip(_SKIPPED):
        raise BadValue("there is a blank or X'00' between the digits")
    return _parse_anywhere(field, data, meaning, rules, family)


def _parse_anywhere(field: Field, data: bytes, meaning: bytes, rules: Rules, family: str) -> int | Decimal | None:
    """A DISPLAY number by Cobrix's rules, from the meaning of its bytes: sign and point may be anywhere."""
    sign: int | None = None
    digits: list[str] = []
    point = -1
    for index, code in enumerate(meaning):
        if code < 10:
            digits.append(str(code))
        elif code == SKIP:
            continue
        elif code == POINT and point < 0:
            point = len(digits)
        elif code in (BAD, POINT) or (sign is not None and rules.strict_overpunch):
            raise BadValue("a byte is not a digit, sign or decimal point, or there are two signs")
        else:
            sign = code
            if code & 15 < 10:
                if family == ASCII_FAMILY and rules.strict_overpunch and index not in (0, len(data) - 1):
                    raise BadValue("a letter for a digit with a sign is neither first nor last")
                digits.append(str(code & 15))
    if not digits:
        if sign is None and point < 0:
            return _blank(field, data, rules)
        raise BadValue("there is a sign or a point, but no digit")
    negative = sign is not None and sign >= MINUS
    if sign is not None:
        _check_sign(field, sign, negative=negative, rules=rules)
    number = int("".join(digits))
    return _pointed(field, -number if negative else number, len(digits), len(digits) - point if point >= 0 else None)


def _parse_in_places(field: Field, data: bytes, rules: Rules, family: str) -> int | Decimal | None:
    """A DISPLAY number by IBM's rules: each position has what the PICTURE gives, and one position has the sign."""
    meaning = data.translate((_EBCDIC_BYTES if family == EBCDIC_FAMILY else _ASCII_BYTES).meanings)
    if not meaning.strip(_SKIPPED):
        return _blank(field, data, rules)
    mask = field.picture.mask if field.picture is not None else ""
    sign_at = (0 if field.sign is not None and field.sign.leading else len(data) - 1) if field.signed else -1
    sign = PLUS
    if field.sign is not None and field.sign.separate:
        mark = meaning[sign_at]
        if mark not in (PLUS + 15, MINUS + 15) and not (mark == SKIP and data[sign_at] and "-" in mask):
            raise BadValue("the separate sign is neither plus nor minus")
        sign = MINUS if mark == MINUS + 15 else PLUS
        data, meaning, sign_at = *((data[1:], meaning[1:]) if not sign_at else (data[:-1], meaning[:-1])), -1
        mask = mask.strip("+-")
    digits: list[int] = []
    for place, (byte, code) in enumerate(zip(data, meaning, strict=True)):
        if place < len(mask) and mask[place] in ".,":
            if byte != DisplayBytes.of(family).points[mask[place]] and (digits or code != SKIP):
                raise BadValue(f"there is no {mask[place]!r} where the PICTURE has it")
        elif code < 10:
            digits.append(code)
        elif place == sign_at:
            sign, digit = _overpunched(byte, code, family)
            digits.append(digit)
        elif code == SKIP and place < len(data) - 1 and not (mask and digits):
            digits += [] if mask else [0]
        else:
            raise BadValue("a byte is not a digit" if field.signed else "a byte is not a digit, of an unsigned number")
    number = int("".join(map(str, digits)) or "0")
    return _scaled(field, -number if sign == MINUS else number)


def _overpunched(byte: int, code: int, family: str) -> tuple[int, int]:
    """The sign and the digit of a byte that has both."""
    if code >> 4 <= 2 and code & 15 < 10:
        return code & 0xF0, code & 15
    if family == EBCDIC_FAMILY and byte >> 4 in ZONED_SIGNS and byte & 15 < 10:
        return ZONED_SIGNS[byte >> 4], byte & 15
    raise BadValue("the byte with the sign has no sign, or no digit")


def _blank(field: Field, data: bytes, rules: Rules) -> int | Decimal | None:
    """Return the value of a number that consists only of blanks and X'00': zero or null."""
    zero = (_blank_is_zero(field) and any(data)) or (rules.blank_is_zero and field.scale > 0)
    return _scaled(field, 0) if zero else None


def _blank_is_zero(field: Field) -> bool:
    """Return whether blanks mean zero: BLANK WHEN ZERO, or a PICTURE that suppresses every digit."""
    mask = field.picture.mask if field.picture is not None else ""
    return field.blank_when_zero or ("Z" in mask and "9" not in mask)


def _check_sign(field: Field, code: int, *, negative: bool, rules: Rules) -> None:
    if field.signed:
        return
    if negative or (rules.strict_overpunch and code & 15 < 10):
        raise BadValue("the field is unsigned, its PICTURE has no S")


def _pointed(field: Field, number: int, digits: int, after_point: int | None) -> int | Decimal:
    """Apply the decimal point: one in the data takes precedence over that of the PICTURE.

    If the PICTURE has an explicit point and the data has none, the data has no decimals, unless there are so many
    digits that one occupies the position of the point.
    """
    if after_point is None:
        mask = field.picture.mask.strip("+-") if field.picture is not None else ""
        explicit = ("." in mask or "," in mask) and digits < len(mask)
        return _scaled(field, number * int(10**field.scale) if explicit else number)
    if field.scale < after_point or (field.scale <= 0 and after_point >= 0):
        raise BadValue("there is a decimal point, followed by more digits than the PICTURE allows")
    return _scaled(field, number * int(10 ** (field.scale - after_point)))


def _decode_zoned(field: Field, data: bytes, rules: Rules) -> Value:
    return _parse_display(field, data, rules, rules.page(field).kind)


def _encode_zoned(field: Field, value: object, rules: Rules) -> bytes:
    kind = rules.page(field).kind
    negative, digits = _digits(field, value)
    if _blank_is_zero(field) and not digits.strip("0"):
        return bytes([DisplayBytes.of(kind).blank]) * field.length
    if field.picture is not None and field.picture.mask:
        text = _edited(field, field.picture.mask, digits, negative=negative)
    else:
        text = _signed_text(field, digits, negative=negative)
    # cp037 for every EBCDIC page: the overpunched signs '{' and 'A'-'I' must become C0-C9, '}' and 'J'-'R' D0-D9.
    return text.encode("cp037" if kind == EBCDIC_FAMILY else "ascii")


def _signed_text(field: Field, digits: str, *, negative: bool) -> str:
    if not field.signed:
        return digits
    leading = field.sign is not None and field.sign.leading
    if field.sign is not None and field.sign.separate:
        mark = "-" if negative else "+"
        return mark + digits if leading else digits + mark
    index = 0 if leading else len(digits) - 1
    digit = chr(_ASCII_BYTES.signed[int(digits[index]) + 10 * negative])
    return digits[:index] + digit + digits[index + 1 :]


def _edited(field: Field, mask: str, digits: str, *, negative: bool) -> str:
    """Return the digits formatted by a mask: leading zeros are blank under Z, and a plus is blank under ``-``."""
    if field.sign is not None and field.sign.separate:
        mark = "-" if negative else " " if "-" in mask else "+"
        body = _suppressed(mask.strip("+-"), digits)
        return mark + body if field.sign.leading else body + mark
    return _suppressed(mask, _signed_text(field, digits, negative=negative))


def _suppressed(mask: str, digits: str) -> str:
    rest, significant, out = iter(digits), False, list[str]()
    for symbol in mask:
        character = symbol if symbol in ".," else next(rest)
        significant = significant or symbol != "Z" or character != "0"
        out.append(character if significant else " ")
    return "".join(out)


def _decode_national_digits(field: Field, data: bytes, rules: Rules) -> Value:
    try:
        text = data.decode("utf-16-be" if rules.utf16_big_endian else "utf-16-le").encode("ascii")
    except UnicodeError:
        raise BadValue("the bytes are not digits in UTF-16") from None
    return _parse_display(field, text, rules, ASCII_FAMILY)


def _encode_national_digits(field: Field, value: object, rules: Rules) -> bytes:
    negative, digits = _digits(field, value)
    text = (
        " " * (field.length // 2)
        if field.blank_when_zero and not digits.strip("0")
        else _signed_text(field, digits, negative=negative)
    )
    return text.encode("utf-16-be" if rules.utf16_big_endian else "utf-16-le")


def byte_order(field: Field, rules: Rules) -> Literal["big", "little"]:
    """Return the byte order of a binary number: little-endian for COMP-9, and for COMP-5 if the rules say so."""
    native = field.usage is Usage.COMP_5 and rules.native_little_endian
    return "little" if native or field.usage is Usage.COMP_9 else "big"


def _decode_binary(field: Field, data: bytes, rules: Rules) -> Value:
    return _scaled(field, int.from_bytes(data, byte_order(field, rules), signed=field.signed))


def _encode_binary(field: Field, value: object, rules: Rules) -> bytes:
    unscaled = _unscaled(field, value)
    if overflows(field, unscaled):
        raise _wrong(
            field, value, f"numbers of {field.length} bytes and {field.digits} digits with scale {field.scale}"
        )
    return unscaled.to_bytes(field.length, byte_order(field, rules), signed=field.signed)


def _decode_packed(field: Field, data: bytes, rules: Rules) -> Value:
    if not any(data) and field.usage is not Usage.COMP_6:
        return None
    text, sign, signs = data.hex(), "f", PACKED_SIGNS[rules.numbers]
    if field.usage is not Usage.COMP_6:
        text, sign = text[:-1], text[-1]
    if not text.isdecimal() or sign not in signs["plus"] + signs["minus"]:
        known = "A to F" if rules.numbers == "IBM" else "C, D or F"
        raise BadValue(f"a digit is over 9, or the sign is not {known}")
    number = int(text)
    return _scaled(field, -number if sign in signs["minus"] else number)


def _encode_packed(field: Field, value: object, _rules: Rules) -> bytes:
    negative, digits = _digits(field, value)
    sign = "" if field.usage is Usage.COMP_6 else ("d" if negative else "c") if field.signed else "f"
    return bytes.fromhex((digits + sign).rjust(2 * field.length, "0"))


# Floating point ---------------------------------------------------------------------------------------------------


def _decode_float(_field: Field, data: bytes, rules: Rules) -> Value:
    if rules.floating_point.endswith("little_endian"):
        data = data[::-1]
    if rules.floating_point.startswith("IEEE754"):
        return float(struct.unpack(">f" if len(data) == 4 else ">d", data)[0])
    bits = 8 * len(data) - 8
    number = int.from_bytes(data, "big")
    fraction, exponent = number & ((1 << bits) - 1), (number >> bits) & 0x7F
    value = math.ldexp(fraction, 4 * (exponent - 64) - bits)
    return -value if number >> (bits + 7) else value


def _encode_float(field: Field, value: object, rules: Rules) -> bytes:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _wrong(field, value, "a number")
    number = float(value)
    if rules.floating_point.startswith("IEEE754"):
        try:
            data = struct.pack(">f" if field.length == 4 else ">d", number)
        except OverflowError:
            raise _wrong(field, value, "numbers in the range of COMP-1") from None
    else:
        data = _hexadecimal(field, number, value)
    return data[::-1] if rules.floating_point.endswith("little_endian") else data


def _hexadecimal(field: Field, number: float, value: object) -> bytes:
    """Encode IBM hexadecimal floating point: sign, excess-64 exponent of 16, normalized fraction of 24 or 56 bits."""
    if not math.isfinite(number):
        raise _wrong(field, value, "finite numbers")
    bits = 8 * field.length - 8
    mantissa, exponent2 = math.frexp(abs(number))
    exponent = -(-exponent2 // 4)
    fraction = round(math.ldexp(mantissa, bits + exponent2 - 4 * exponent))
    if fraction >> bits:
        fraction, exponent = fraction >> 4, exponent + 1
    if number == 0 or exponent < -64:
        fraction, exponent = 0, -64
    if exponent > 63:
        raise _wrong(field, value, "numbers up to 7.2E+75")
    sign = 0x80 if math.copysign(1.0, number) < 0 else 0
    return ((sign | (exponent + 64)) << bits | fraction).to_bytes(field.length, "big")


# Text -------------------------------------------------------------------------------------------------------------


def _decode_text(field: Field, data: bytes, rules: Rules) -> Value:
    if rules.null_detection and not any(data):
        return None
    try:
        return rules.page(field).decode(data)
    except ConversionError as error:
        raise BadValue(str(error)) from None


def _encode_text(field: Field, value: object, rules: Rules) -> bytes:
    if not isinstance(value, str):
        raise _wrong(field, value, "text")
    page = rules.page(field)
    try:
        data = page.encode(value)
    except ConversionError as error:
        problem = str(error).removesuffix(f" at offset {error.offset}")  # the caller adds that of the field
        raise ConversionError(f"{'.'.join(field.path)}: {problem}") from None
    return _padded(field, value, data, bytes([page.space]))


def _text_bytes(field: Field, rules: Rules, text: str) -> bytes:
    if field.type is FieldType.NATIONAL:
        return text.encode("utf-16-be" if rules.utf16_big_endian else "utf-16-le")
    return rules.page(field).encode(text)


def _padded(field: Field, value: object, data: bytes, blank: bytes) -> bytes:
    if len(data) > field.length:
        raise _wrong(field, value, f"text of {field.length} bytes")
    pad = blank * ((field.length - len(data)) // len(blank))
    return pad + data if field.justified else data + pad


def _decode_national(_field: Field, data: bytes, rules: Rules) -> Value:
    if rules.null_detection and not any(data):
        return None
    try:
        return data.decode("utf-16-be" if rules.utf16_big_endian else "utf-16-le")
    except UnicodeError:
        raise BadValue("the bytes are not UTF-16") from None


def _encode_national(field: Field, value: object, rules: Rules) -> bytes:
    if not isinstance(value, str):
        raise _wrong(field, value, "text")
    order = "utf-16-be" if rules.utf16_big_endian else "utf-16-le"
    try:
        return _padded(field, value, value.encode(order), " ".encode(order))
    except UnicodeError:
        raise _wrong(field, value, "text without lone surrogates") from None


def _decode_bytes(_field: Field, data: bytes, _rules: Rules) -> Value:
    return data


def _encode_bytes(field: Field, value: object, _rules: Rules) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview) or len(value) != field.length:
        raise _wrong(field, value, f"{field.length} bytes")
    return bytes(value)


_CODECS: Final[Mapping[FieldType, tuple[_Decode, _Encode]]] = {
    FieldType.TEXT: (_decode_text, _encode_text),
    FieldType.EDITED: (_decode_text, _encode_text),
    FieldType.NATIONAL: (_decode_national, _encode_national),
    FieldType.DBCS: (_decode_bytes, _encode_bytes),
    FieldType.BYTES: (_decode_bytes, _encode_bytes),
    FieldType.ZONED: (_decode_zoned, _encode_zoned),
    FieldType.NATIONAL_DIGITS: (_decode_national_digits, _encode_national_digits),
    FieldType.BINARY: (_decode_binary, _encode_binary),
    FieldType.PACKED: (_decode_packed, _encode_packed),
    FieldType.FLOAT: (_decode_float, _encode_float),
}
"""How the values of each type are decoded and encoded."""
