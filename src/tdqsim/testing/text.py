"""Shows bytes: as text if they are text in the code page, and in hexadecimal."""

from __future__ import annotations

from typing import Final

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.errors import ConversionError
from tdqsim.facts import REGION_DEFAULTS

_DEFAULT: Final = codepage(REGION_DEFAULTS["code_page"])
_LONGEST: Final = 60
_ROW: Final = 16
_NO_CHARACTER: Final = "."


def text_of(record: bytes, page: CodePage | None = None) -> str:
    """The record as text, with a full stop for every byte that is not a printable character.

    A record of printable ASCII characters only is shown as ASCII, which programs under test often write. Any other is
    decoded by the code page; by default that of a region without options.
    """
    return "".join(character or _NO_CHARACTER for character in _characters(record, page))


def _characters(record: bytes, page: CodePage | None) -> list[str]:
    """The character of each byte; empty for a byte without a printable character."""
    if record.isascii() and record.decode("ascii").isprintable():
        return list(record.decode("ascii"))
    page = _DEFAULT if page is None else page
    return [_character(page, bytes((byte,))) for byte in record]


def _character(page: CodePage, byte: bytes) -> str:
    try:
        text = page.decode(byte)
    except ConversionError:
        return ""
    return text if len(text) == 1 and text.isprintable() else ""


def show_record(record: bytes, page: CodePage | None = None) -> str:
    """A record on one line: as text if all of it is text, else as text and hexadecimal; long ones are truncated."""
    shown = record[:_LONGEST]
    characters = _characters(shown, page)
    text = "".join(character or _NO_CHARACTER for character in characters)
    more = f"... ({len(record)} bytes)" if len(record) > _LONGEST else ""
    if all(characters):
        return f"'{text}{more}'"
    return f"'{text}' X'{shown[:_ROW].hex().upper()}{'...' if len(shown) > _ROW else ''}'{more}"


def hex_lines(record: bytes, page: CodePage | None = None) -> list[str]:
    """A record as a dump: offset, hexadecimal, text; 16 bytes a line."""
    lines = []
    for start in range(0, len(record), _ROW):
        row = record[start : start + _ROW]
        words = " ".join(row[at : at + 4].hex().upper() for at in range(0, len(row), 4))
        lines.append(f"{start:04X}  {words:<35}  {text_of(row, page)}")
    return lines or ["(no bytes)"]
