"""Code pages: the conversion between a program's characters and those of records.

Programs compiled by GnuCOBOL run in ASCII. Records are bytes, and are converted only if a code page is specified: for a
queue or file by name, or for all others under ``*``. With only a code page, the whole record is text; with a layout,
its text and DISPLAY fields are converted, and binary, packed and pointer fields are unchanged. The sign over the last
digit of a DISPLAY number is a letter in both code pages (``-fsign=EBCDIC``), so it is converted like text. Keys
(RIDFLD) are converted as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tdqsim.cics import Abend
from tdqsim.errors import TdqError
from tdqsim.hosting import CodePage, codepage
from tdqsim.layouts import Field, FieldType, Layout

_LATIN: Final = "latin-1"
_CHARACTERS: Final = (FieldType.TEXT, FieldType.EDITED, FieldType.ZONED)


_UNICODE: Final = {1200: "utf-16-be", 13488: "utf-16-be", 1208: "utf-8", 0: _LATIN}
"""CCSIDs that are not single-byte code pages; 0 stands for the characters in which programs run."""


def converted(data: bytes, ccsid: int, *, national: bool) -> bytes:
    """FUNCTION NATIONAL-OF: convert text of a CCSID to UTF-16; FUNCTION DISPLAY-OF: the reverse.

    Args:
        data: the text.
        ccsid: the coded character set of the text or the result; 0 for the characters in which programs run here.
        national: True for NATIONAL-OF, False for DISPLAY-OF.

    Raises:
        Abend: ASRA: the CCSID is not supported here.
    """
    if national:
        text = data.decode(_UNICODE[ccsid], "replace") if ccsid in _UNICODE else _page(ccsid).decode(data)
        return text.encode(_UNICODE[1200])
    text = data.decode(_UNICODE[1200], "replace")
    return text.encode(_UNICODE[ccsid], "replace") if ccsid in _UNICODE else _page(ccsid).encode(text)


def _page(ccsid: int) -> CodePage:
    try:
        return codepage(ccsid)
    except TdqError as error:
        raise Abend("ASRA", error, detail=f"DISPLAY-OF or NATIONAL-OF with CCSID {ccsid}") from error


class Conversion:
    """How the records of one queue or file are converted.

    Args:
        page: the code page of the records.
        layout: their layout; None if the whole record is text.
    """

    def __init__(self, page: str | int | CodePage, layout: Layout | None = None) -> None:
        code_page = codepage(page)
        self.page = code_page
        self.layout = layout
        characters = [code_page.decode(bytes([byte])) for byte in range(256)]
        self._to_program = bytes(_byte(character) for character in characters)
        table = bytearray(range(256))
        for byte in range(255, -1, -1):
            table[self._to_program[byte]] = byte
        for byte in range(256):
            if bytes([byte]).decode(_LATIN) not in characters:
                table[byte] = code_page.encode("?")[0]
        self._to_region = bytes(table)
        self._places = None if layout is None else list(_places(layout.fields, 0))

    def to_region(self, data: bytes, word: str) -> bytes:
        """Convert a record that a program has written to its form in the region."""
        return self._converted(data, word, self._to_region)

    def to_program(self, data: bytes, word: str) -> bytes:
        """Convert a record to the form that the program gets."""
        return self._converted(data, word, self._to_program)

    def _converted(self, data: bytes, word: str, table: bytes) -> bytes:
        if self._places is None or word == "RIDFLD":
            return data.translate(table)
        record = bytearray(data)
        for start, end in self._places:
            record[start:end] = record[start:end].translate(table)
        return bytes(record)


def _byte(character: str) -> int:
    code = ord(character) if len(character) == 1 else 0x1A
    return code if code < 256 else 0x1A


def _places(fields: Iterable[Field], shift: int) -> Iterator[tuple[int, int]]:
    """The offsets of the characters in a record, table by table."""
    for item in fields:
        yield from _places_of(item, shift)


def _places_of(item: Field, shift: int) -> Iterator[tuple[int, int]]:
    count = item.occurs.maximum if item.occurs is not None else 1
    for at in range(count):
        start = shift + at * item.length
        if item.type is FieldType.GROUP:
            if item.redefines is None:
                yield from _places(item.children, start)
        elif item.type in _CHARACTERS and item.redefines is None:
            yield start + item.offset, start + item.offset + item.length


class CodePages:
    """The conversions of one region's programs.

    Args:
        by_name: the conversions by queue or file; ``*`` for all others.
        expected: whether every queue and file should have a conversion, as in an EBCDIC region.
    """

    def __init__(self, by_name: Mapping[str, Conversion] | None = None, *, expected: bool = False) -> None:
        self.expected = expected
        self._by_name = {name.upper(): each for name, each in (by_name or {}).items()}
        self._otherwise = self._by_name.get("*")

    def of(self, name: str) -> Conversion | None:
        """The conversion for the records of a queue or file; None for no conversion."""
        if not self._by_name:
            return None
        return self._by_name.get(name.rstrip(" ").upper(), self._otherwise)


NO_CODE_PAGES: Final = CodePages()
"""Converts nothing."""
