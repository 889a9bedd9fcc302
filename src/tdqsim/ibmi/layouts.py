"""Byte layouts: the rows of ``facts/ibmi_formats.tsv`` as objects that build, parse and describe.

One table serves all three uses, so that writing, reading and documentation cannot differ. Kinds of fields: ``B`` signed
binary of four bytes, ``C`` characters in a code page (padded with blanks), ``H`` bytes, ``P`` packed decimal. A field
of length ``*`` takes the rest, or the length that the caller passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

from tdqsim.core.codepage import CodePage, codepage, shown_bytes
from tdqsim.errors import ConversionError, WrongValue
from tdqsim.facts import table

_BINARY_BYTES = 4
_NAME_BYTES = 10
_BINARY_MAXIMUM = 2**31 - 1


class FormatField(NamedTuple):
    """One field of a format of an API.

    Attributes:
        offset: the offset from the start of the format, in bytes.
        kind: ``B``, ``C``, ``H`` or ``P``.
        length: the length in bytes; None for a field that takes the rest.
        field: the manual's name.
        name: the name in Python records.
        ddm: the fixed value for a DDM data queue, or empty (one blank means blank).
        note: its meaning.
        source: the source of the layout.
    """

    offset: int
    kind: str
    length: int | None
    field: str
    name: str
    ddm: str
    note: str
    source: str

    def encode(self, value: Any, page: CodePage) -> bytes:
        """Convert a value to bytes; text is cut on the right, and a character not in the page becomes ``?``."""
        if self.kind == "B":
            return pack_binary(min(value, _BINARY_MAXIMUM))  # a larger count is returned as the highest value
        if self.kind == "P":
            assert self.length is not None
            return pack_decimal(value, 2 * self.length - 1)
        if self.kind == "C":
            assert self.length is not None
            return shown_char(value, self.length, page)
        assert self.length is None or len(value) == self.length, f"{self.name}: {len(value)} bytes"
        return bytes(value)

    def decode(self, data: bytes, page: CodePage) -> Any:
        """Convert the field's bytes to a value; text is returned without trailing blanks."""
        if self.kind == "B":
            return unpack_binary(data)
        if self.kind == "P":
            return unpack_decimal(data)
        if self.kind == "C":
            return _text(data, page).rstrip(" ")
        return bytes(data)


def _text(data: bytes, page: CodePage) -> str:
    try:
        return page.decode(data)
    except ConversionError:  # an undefined byte should not prevent reading the rest
        return page.printable(data)


class Format:
    """One format of an API, such as RDQD0100: its fields in order.

    Attributes:
        name: the manual's name, such as ``RDQD0100``.
        fields: the fields, in order of offset.
        length: the bytes of the fields with a fixed length.
        head: a struct for those fields, for hot paths: binary fields as integers, all others as bytes.
    """

    __slots__ = ("_by_name", "fields", "head", "length", "name")

    def __init__(self, name: str, fields: Sequence[FormatField]) -> None:
        self.name = name
        self.fields = tuple(fields)
        self.length = sum(field.length or 0 for field in fields)
        codes = ("i" if field.kind == "B" else f"{field.length}s" for field in fields if field.length)
        self.head = Struct(">" + "".join(codes))
        self._by_name = {field.name: field for field in fields}

    def __repr__(self) -> str:
        return f"<Format {self.name}: {self.length} bytes>"

    def __getitem__(self, name: str) -> FormatField:
        return self._by_name[name]

    def build(self, values: Mapping[str, Any], page: CodePage) -> bytes:
        """Build the format's bytes from values by field name; a missing reserved field is blank or zeros."""
        return b"".join(field.encode(values.get(field.name, _nothing(field)), page) for field in self.fields)

    def parse(self, data: bytes, page: CodePage, lengths: Mapping[str, int] | None = None) -> dict[str, Any]:
        """Parse bytes to values by field name, for every field that ``data`` contains completely.

        Args:
            data: the bytes; they may end early, as in a receiver that was too short.
            page: the code page of the character fields.
            lengths: the lengths of fields without a length in the table; by default such a field takes the rest.
        """
        values: dict[str, Any] = {}
        offset = 0
        for field in self.fields:
            length = field.length if field.length is not None else (lengths or {}).get(field.name, len(data) - offset)
            if offset + length > len(data) or length < 0:
                break
            values[field.name] = field.decode(data[offset : offset + length], page)
            offset += length
        return values

    def describe(self) -> str:
        """The layout as text for people, one line per field."""
        lines = [f"{self.name} ({self.length} bytes of fixed fields)"]
        lines += [f"{one.offset:5} {one.kind}{one.length or '*':<4} {one.field}: {one.note}" for one in self.fields]
        return "\n".join(lines)


def _nothing(field: FormatField) -> Any:
    if field.kind == "C":
        return ""
    return bytes(field.length or 0) if field.kind == "H" else 0


@cache
def formats() -> Mapping[str, Format]:
    """All formats by name.

    Raises:
        ValueError: the offsets in the table do not agree with the lengths.
    """
    rows: dict[str, list[FormatField]] = {}
    for row in table("ibmi_formats"):
        length = None if row["length"] == "*" else int(row["length"])
        field = FormatField(
            int(row["offset"]), row["kind"], length, row["field"], row["name"], row["ddm"], row["note"], row["source"]
        )
        fields = rows.setdefault(row["format"], [])
        if field.offset != sum(before.length or 0 for before in fields):
            raise WrongValue(f"ibmi_formats.tsv: {row['format']} {field.field}: offset {field.offset} does not follow")
        fields.append(field)
    return {name: Format(name, fields) for name, fields in rows.items()}


def layout(name: str) -> Format:
    """The format with this name; KeyError when there is none."""
    return formats()[name]


def shown_char(text: str, length: int, page: CodePage) -> bytes:
    """Encode text like :func:`shown_bytes` as CHAR(length): padded with blanks on the right, or cut."""
    return shown_bytes(text, page)[:length].ljust(length, bytes((page.space,)))


def char(text: str, length: int, page: CodePage) -> bytes:
    """Encode text as CHAR(length): padded with blanks on the right, or cut."""
    return page.encode(text)[:length].ljust(length, bytes((page.space,)))


def qualified_name(name: str, library: str = "", page: CodePage | int = 37) -> bytes:
    """The CHAR(20) of a qualified name: ten characters of name, ten of library.

    Args:
        name: ``"LIB/NAME"``, or a name; it is converted to upper case.
        library: its library; by default ``*LIBL``.
        page: code page, or its CCSID.

    Raises:
        ValueError: a part is empty or longer than ten characters.
    """
    if not library:
        library, slash, name = name.rpartition("/")
        library = library if slash else "*LIBL"
    if not 0 < len(name) <= _NAME_BYTES or not 0 < len(library) <= _NAME_BYTES:
        raise WrongValue(f"{library}/{name}: each part of a name has 1 to {_NAME_BYTES} characters")
    page = codepage(page)
    return char(name.upper(), _NAME_BYTES, page) + char(library.upper(), _NAME_BYTES, page)


def pack_binary(value: int) -> bytes:
    """``value`` as BINARY(4).

    Raises:
        ValueError: the field cannot hold it.
    """
    if not -_BINARY_MAXIMUM - 1 <= value <= _BINARY_MAXIMUM:
        raise WrongValue(f"{value} does not fit BINARY(4): allowed are {-_BINARY_MAXIMUM - 1} to {_BINARY_MAXIMUM}")
    return value.to_bytes(_BINARY_BYTES, "big", signed=True)


def unpack_binary(data: bytes) -> int:
    """The value of a signed binary field."""
    return int.from_bytes(data, "big", signed=True)


def pack_decimal(value: int, digits: int) -> bytes:
    """``value`` as PACKED(digits, 0): 10 in 5 digits is X'00010F', -1 is X'00001D'; 5 digits take 3 bytes, 3 take 2.

    Raises:
        ValueError: it has more digits than the field.
    """
    length = digits // 2 + 1
    shown = f"{abs(value):0{2 * length - 1}d}"
    if len(shown.lstrip("0")) > digits:
        raise WrongValue(f"{value} does not fit a packed field of {digits} digits")
    return bytes.fromhex(shown + ("D" if value < 0 else "F"))


def unpack_decimal(data: bytes) -> int:
    """The value of a packed decimal field.

    Raises:
        ValueError: a digit is not 0-9, or the sign is not one of A-F.
    """
    shown = data.hex().upper()
    digits, sign = shown[:-1], shown[-1:]
    if not digits.isdecimal() or sign not in "ABCDEF" or not sign:
        raise WrongValue(f"X'{shown}' is not packed decimal")
    return -int(digits) if sign in "BD" else int(digits)
