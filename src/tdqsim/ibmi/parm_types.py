"""Conversion of typed parameters from and to storage; the types are the rows of ``facts/ibmi_parm_types.tsv``."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Protocol

from tdqsim.core.codepage import CodePage
from tdqsim.errors import WrongValue
from tdqsim.facts import table
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.layouts import pack_decimal, unpack_decimal

_TYPE: Final = re.compile(r"([A-Z][A-Z0-9]*)(?:\(([0-9]{1,5})(?::([0-9]{1,2}))?\))?", re.ASCII)
_KINDS: Final = {row["type"]: row for row in table("ibmi_parm_types")}
LONGEST: Final = int(_KINDS["DATA"]["most"])
"""The most bytes that one parameter may take."""
_INTEGERS: Final = {3: 1, 5: 2, 10: 4, 20: 8}
_LENGTH_PREFIX: Final = 2
_POSITIVE, _NEGATIVE = 0xF0, 0xD0
_MINUS: Final = (0xB0, 0xD0)
_SIGNS: Final = (0xA0, 0xB0, 0xC0, 0xD0, 0xE0, 0xF0)
_FLOATS: Final = {4: ">f", 8: ">d"}


class Codec(Protocol):
    """Converts values of one type; ``decode`` and ``encode`` raise ValueError for values that are not valid."""

    @property
    def length(self) -> int:
        """The bytes of storage that a value takes."""

    def decode(self, data: bytes, page: CodePage, /) -> Any:
        """Convert bytes to a value."""

    def encode(self, value: Any, page: CodePage, /) -> bytes:
        """Convert a value to bytes."""


@dataclass(frozen=True, slots=True)
class _Char:
    length: int

    def decode(self, data: bytes, page: CodePage) -> str:
        return page.printable(data).rstrip(" ")

    def encode(self, value: Any, page: CodePage) -> bytes:
        return _exact(page.encode(_text(value)), self.length).ljust(self.length, page.encode(" "))


@dataclass(frozen=True, slots=True)
class _VarChar:
    length: int

    def decode(self, data: bytes, page: CodePage) -> str:
        length = int.from_bytes(data[:_LENGTH_PREFIX], "big")
        if length > self.length - _LENGTH_PREFIX:
            raise WrongValue(f"a length of {length}")
        return page.printable(data[_LENGTH_PREFIX : _LENGTH_PREFIX + length])

    def encode(self, value: Any, page: CodePage) -> bytes:
        data = _exact(page.encode(_text(value)), self.length - _LENGTH_PREFIX)
        return len(data).to_bytes(_LENGTH_PREFIX, "big") + data


@dataclass(frozen=True, slots=True)
class _Data:
    length: int

    def decode(self, data: bytes, _page: CodePage) -> bytes:
        return data

    def encode(self, value: Any, _page: CodePage) -> bytes:
        if not isinstance(value, bytes | bytearray | memoryview) or len(value) != self.length:
            raise WrongValue(f"{self.length} bytes are needed")
        return bytes(value)


@dataclass(frozen=True, slots=True)
class _Ucs2:
    length: int

    def decode(self, data: bytes, _page: CodePage) -> str:
        return data.decode("utf-16-be").rstrip(" ")

    def encode(self, value: Any, _page: CodePage) -> bytes:
        return _exact(_text(value).ljust(self.length // 2).encode("utf-16-be"), self.length)


@dataclass(frozen=True, slots=True)
class _Packed:
    length: int
    digits: int
    decimals: int

    def decode(self, data: bytes, _page: CodePage) -> int | Decimal:
        return _scaled(unpack_decimal(data), self.decimals)

    def encode(self, value: Any, _page: CodePage) -> bytes:
        return pack_decimal(_unscaled(value, self.digits, self.decimals), self.digits)


@dataclass(frozen=True, slots=True)
class _Zoned:
    length: int
    decimals: int

    def decode(self, data: bytes, _page: CodePage) -> int | Decimal:
        zones, digits = [byte & 0xF0 for byte in data], [byte & 0x0F for byte in data]
        if max(digits) > 9 or zones[-1] not in _SIGNS:
            raise WrongValue("no zoned decimal")
        number = int("".join(map(str, digits)))
        return _scaled(-number if zones[-1] in _MINUS else number, self.decimals)

    def encode(self, value: Any, _page: CodePage) -> bytes:
        number = _unscaled(value, self.length, self.decimals)
        made = bytearray(0xF0 | int(digit) for digit in f"{abs(number):0{self.length}d}")
        made[-1] = made[-1] & 0x0F | (_NEGATIVE if number < 0 else _POSITIVE)
        return bytes(made)


@dataclass(frozen=True, slots=True)
class _Integer:
    length: int
    signed: bool

    def decode(self, data: bytes, _page: CodePage) -> int:
        return int.from_bytes(data, "big", signed=self.signed)

    def encode(self, value: Any, _page: CodePage) -> bytes:
        if not isinstance(value, int):
            raise WrongValue("a whole number is needed")
        try:
            return value.to_bytes(self.length, "big", signed=self.signed)
        except OverflowError as error:
            raise WrongValue(f"it does not fit into {self.length} bytes") from error


@dataclass(frozen=True, slots=True)
class _Float:
    length: int

    def decode(self, data: bytes, _page: CodePage) -> float:
        value: float = struct.unpack(_FLOATS[self.length], data)[0]
        return value

    def encode(self, value: Any, _page: CodePage) -> bytes:
        try:
            return struct.pack(_FLOATS[self.length], value)
        except (struct.error, OverflowError) as error:
            raise WrongValue(str(error)) from error


@dataclass(frozen=True, slots=True)
class _Indicator:
    length: int = 1

    def decode(self, data: bytes, _page: CodePage) -> bool:
        if data not in (b"\xf0", b"\xf1"):
            raise WrongValue("neither '0' nor '1'")
        return data == b"\xf1"

    def encode(self, value: Any, _page: CodePage) -> bytes:
        if not isinstance(value, bool):
            raise WrongValue("True or False is needed")
        return b"\xf1" if value else b"\xf0"


@dataclass(frozen=True, slots=True)
class Array:
    """An array, DIM(count): consecutive elements of one type."""

    element: Codec
    count: int

    @property
    def length(self) -> int:
        """The bytes of all elements."""
        return self.count * self.element.length

    def decode(self, data: bytes, page: CodePage) -> list[Any]:
        """Convert bytes to a list of the elements."""
        step = self.element.length
        return [self.element.decode(data[at : at + step], page) for at in range(0, self.length, step)]

    def encode(self, value: Any, page: CodePage) -> bytes:
        """Convert a sequence to bytes; it must have as many values as the array has elements."""
        if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) != self.count:
            raise WrongValue(f"{self.count} values are needed")
        return b"".join(_filled(self.element, one, page) for one in value)


@dataclass(frozen=True, slots=True)
class Structure:
    """A data structure: subfields without gaps between them."""

    fields: tuple[tuple[str, Codec], ...]
    length: int

    def decode(self, data: bytes, page: CodePage) -> dict[str, Any]:
        """Convert bytes to a dict of the values by the names of the subfields."""
        values, at = {}, 0
        for name, field in self.fields:
            values[name] = field.decode(data[at : at + field.length], page)
            at += field.length
        return values

    def encode(self, value: Any, page: CodePage) -> bytes:
        """Convert a mapping to bytes; it must have a value for each subfield."""
        names = [name for name, _ in self.fields]
        if not isinstance(value, Mapping) or set(value) != set(names):
            raise WrongValue(f"a value for each of {', '.join(names)} is needed, by its name")
        made = b""
        for name, field in self.fields:
            try:
                made += _filled(field, value[name], page)
            except ValueError as error:
                raise WrongValue(f"{name}: {error}") from error
        return made


def _filled(part: Codec, value: Any, page: CodePage) -> bytes:
    """Encode an element or subfield and pad it to its full length; only a varying one can be shorter."""
    return part.encode(value, page).ljust(part.length, b"\0")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongValue("text is needed")
    return value


def _exact(data: bytes, most: int) -> bytes:
    if len(data) > most:
        raise WrongValue(f"{len(data)} bytes are more than {most}")
    return data


def _scaled(number: int, decimals: int) -> int | Decimal:
    if not decimals:
        return number
    return Decimal((number < 0, tuple(map(int, str(abs(number)))), -decimals))


def _unscaled(value: Any, digits: int, decimals: int) -> int:
    """A number times 10**decimals, computed from its digits because Decimal arithmetic would round a long number."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not Decimal(value).is_finite():
        raise WrongValue("an int or a Decimal is needed")
    exact = Decimal(value)
    sign, figures, exponent = exact.as_tuple()
    shift = int(exponent) + decimals
    if exact and exact.adjusted() + decimals >= digits:
        raise WrongValue(f"it does not fit into {digits} digits")
    number = int("".join(map(str, figures)))
    if number and shift < 0:
        number, cut = divmod(number, int(10**-shift))
        if cut:
            raise WrongValue(f"it has more than {decimals} decimals")
    elif number:
        number *= int(10**shift)
    return -number if sign else number


def codec(name: str, written: str) -> Codec:
    """The codec for a parameter type.

    Raises:
        ParameterError: there is no such type, or it does not allow this length or these digits.
    """
    match = _TYPE.fullmatch(written.upper().replace(" ", ""))
    row = _KINDS.get(match[1]) if match else None
    if match is None or row is None:
        raise ParameterError(f"parameter {name}: type {written!r}: allowed are {', '.join(_KINDS)}, as in PACKED(7:2)")
    size, decimals = int(match[2] or 0), int(match[3] or 0)
    allowed = [int(one) for one in row["sizes"].split()] if row["sizes"] else [0]
    fits = size in allowed if row["sized"] == "list" else int(row["least"]) <= size <= int(row["most"])
    if not fits or decimals > min(size, int(row["decimals"])) or (match[3] and not int(row["decimals"])):
        words = f"one of {row['sizes'] or 'none'}" if row["sized"] == "list" else f"{row['least']} to {row['most']}"
        raise ParameterError(
            f"parameter {name}: type {written!r}: {match[1]} takes {words}, decimals at most its digits"
        )
    return _new_codec(match[1], size, decimals)


def _new_codec(kind: str, size: int, decimals: int) -> Codec:
    if kind == "PACKED":
        return _Packed(size // 2 + 1, size, decimals)
    if kind == "ZONED":
        return _Zoned(size, decimals)
    if kind in ("INT", "UNS"):
        return _Integer(_INTEGERS[size], kind == "INT")
    if kind == "IND":
        return _Indicator()
    if kind == "UCS2":
        return _Ucs2(2 * size)
    if kind == "VARCHAR":
        return _VarChar(size + _LENGTH_PREFIX)
    simple: dict[str, type[_Char | _Data | _Float]] = {"CHAR": _Char, "DATA": _Data, "FLOAT": _Float}
    return simple[kind](size)
