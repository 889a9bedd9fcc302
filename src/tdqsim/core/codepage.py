"""EBCDIC and other single-byte code pages as 256-byte tables, for decoding and encoding.

A record is bytes; it becomes text only where a user sees it, and only by a named code page. A page has a CCSID and
several spellings: ``37``, ``"037"``, ``"cp037"``, ``"IBM-037"``, ``"CCSID 37"``, ``"latin-1"``. The known pages are the
rows of ``facts/codepages.tsv``. Their tables come from Python's codecs, from the ``ebcdic`` package, and from IBM's
conversion tables as ICU or Java has them (``facts/codepage_tables.tsv``, each as the differences from another page).

Two corrections are made to those tables. Several pages of the ``ebcdic`` package give X'15' and X'25' the same
character, and 1047 swaps the two. Here X'15' (NL) is U+0085 and X'25' (LF) is U+000A in every EBCDIC page, as in IBM's
registered tables, so that a round trip loses nothing. And a byte that a page leaves undefined is an error, not a
substitute character.

A name may have a suffix that changes how control characters are decoded:

* ``037_extended``: a control character that does not exist in ASCII, such as X'FF', is decoded as a blank;
* ``037_text``: all control characters, no-break spaces and soft hyphens are decoded as blanks, except the bytes that
  the column ``kept`` of the page's row lists; where the column says ``ascii``, it is the same as ``_extended``;
* ``037_common``, or ``common``: everything but printable ASCII, the broken bar, CR and LF is decoded as a blank, and a
  soft hyphen as a hyphen;
* ``037_common_extended``, or ``common_extended``: the control characters of ASCII are kept too, except DEL and SUB; the
  other control characters below X'20' are decoded as SUB (U+001A), as in Cobrix, which defines this page.

Cobrix calls these pages ``cp037_extended``, ``cp037``, ``common`` and ``common_extended``. Encoding is that of the page
without the suffix, except that the common pages encode only the characters that they can decode.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

from tdqsim.errors import ConversionError

_UNDEFINED = "\ufffe"  # means "no character" to charmap_decode
_SUB, _NEL = "\x1a", "\x85"
_SOFT_HYPHEN = "\xad"
_NOT_BROKEN = "\xa0" + _SOFT_HYPHEN
_ALSO_COMMON = "\r\n\xa6"
_NOT_EXTENDED = "\x7f" + _SUB
_COMMON, _COMMON_WAYS = "037", ("common", "common_extended")
_Row = dict[str, str]
_PREFIX = re.compile(r"(?:IBM|CP|CCSID|EBCDIC|X-IBM|CODEPAGE|CS)+", re.ASCII)


class CodePage:
    """One single-byte code page.

    Attributes:
        ccsid: the number, such as 37.
        name: the usual short form, such as ``037``.
        kind: ``EBCDIC`` or ``ASCII``.
        description: where it is used.
        space: the byte that is a blank (X'40' or X'20').
    """

    __slots__ = ("_charmap", "_defined", "_encoding", "_from_latin", "_printable", "_to_latin", "_written", "ccsid",
                 "description", "kind", "name", "space")  # fmt: skip

    def __init__(self, row: _Row, way: str = "") -> None:
        self.ccsid = int(row["ccsid"])
        self.name = f"{self.ccsid:03d}{'_' if way else ''}{way}"
        self.kind = row["kind"]
        self.description = row["description"]
        written = _characters(row)
        read = [_WAYS[way](row, byte, character) for byte, character in enumerate(written)] if way else written
        if way in _COMMON_WAYS:  # do not encode a character that would be decoded as a blank: it would be lost
            written = [c if c == own else _UNDEFINED for c, own in zip(read, written, strict=True)]
        self._charmap, self._written = "".join(read), "".join(written)
        self._defined = bytes(byte for byte, character in enumerate(read) if character != _UNDEFINED)
        self._encoding = codecs.charmap_build(self._written)
        latin = all(ord(character) < 256 for character in read)
        self._to_latin = self._charmap.encode("latin-1") if latin else None
        every = latin and way not in _COMMON_WAYS
        self._from_latin = bytes(map(self._written.index, map(chr, range(256)))) if every else None
        self._printable = "".join(character if _displayable(character) else "." for character in read)
        self.space = self._written.index(" ")

    def __repr__(self) -> str:
        return f"CodePage({self.name!r})"

    def decode(self, data: bytes, record: int | None = None) -> str:
        """The text of ``data``; ``record`` is named in an error.

        Raises:
            ConversionError: a byte is undefined in this page; ``offset`` names the first one.
        """
        if self._to_latin is not None:
            return data.translate(self._to_latin).decode("latin-1")
        try:
            return codecs.charmap_decode(data, "strict", self._charmap)[0]
        except UnicodeDecodeError as error:
            raise ConversionError(
                f"byte X'{data[error.start]:02X}' is undefined in code page {self.name}",
                offset=error.start,
                record=record,
            ) from None

    def encode(self, text: str, record: int | None = None) -> bytes:
        """The bytes of ``text``; ``record`` is named in an error.

        Raises:
            ConversionError: a character is not in this page; ``offset`` is the position of the first one.
        """
        try:
            if self._from_latin is not None:
                return text.encode("latin-1").translate(self._from_latin)
            return codecs.charmap_encode(text, "strict", self._encoding)[0]
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise ConversionError(
                f"character {character!r} (U+{ord(character):04X}) is not in code page {self.name}",
                offset=error.start,
                record=record,
            ) from None

    def printable(self, data: bytes) -> str:
        """``data`` for display: one character a byte, with a full stop for each that cannot be displayed."""
        return codecs.charmap_decode(data, "strict", self._printable)[0]

    def convert(self, data: bytes, target: CodePage, record: int | None = None) -> bytes:
        """Convert ``data`` from this page to ``target``, byte by byte; ``record`` is named in an error.

        Raises:
            ConversionError: a byte has no counterpart; ``offset`` names the first one.
        """
        table, convertible = _conversion(self, target)
        stray = data.translate(None, convertible)
        if stray:
            offset = data.index(stray[0])
            raise ConversionError(
                f"byte X'{stray[0]:02X}' of code page {self.name} has no counterpart in code page {target.name}",
                offset=offset,
                record=record,
            )
        return data.translate(table)

    def undefined(self, data: bytes) -> int | None:
        """Offset of the first byte of ``data`` that this page leaves undefined, or None."""
        stray = data.translate(None, self._defined)
        return data.index(stray[0]) if stray else None

    def characters(self) -> str:
        """The 256 characters by byte value; U+FFFE stands for undefined."""
        return self._charmap

    def byte_of(self, character: str) -> int:
        """The byte that encodes a character; -1 when there is none."""
        return -1 if character == _UNDEFINED else self._written.find(character)


def codepage(name: str | int | CodePage) -> CodePage:
    """The code page with this name or CCSID; case, blanks and the prefixes IBM, CP, CCSID do not matter.

    Raises:
        ConversionError: there is no such code page; the message lists the known ones.
    """
    return name if isinstance(name, CodePage) else _by_name(str(name))


def known_codepages() -> tuple[int, ...]:
    """The CCSIDs of all pages, ascending."""
    return tuple(sorted(int(row["ccsid"]) for row in _rows()))


@cache
def _by_name(name: str) -> CodePage:
    base, way = _way(name)
    row = _spellings().get(_normal(base))
    if row is None or (way and row["kind"] != "EBCDIC"):
        allowed = ", ".join(f"{ccsid:03d}" for ccsid in known_codepages())
        raise ConversionError(
            f"unknown code page {base[:40]!r}; known are the CCSIDs {allowed}, also as IBM-037, cp037; ascii, latin-1"
        )
    return _page(row["ccsid"], way)


@cache
def _page(ccsid: str, way: str) -> CodePage:
    return CodePage(_spellings()[ccsid], way)


def _way(name: str) -> tuple[str, str]:
    """Split a name into the page's name and the suffix that changes decoding."""
    if name.strip().lower() in _COMMON_WAYS:
        return _COMMON, name.strip().lower()
    match = _WAY.fullmatch(name.strip())
    return (match["page"], match["way"].lower()) if match else (name, "")


@cache
def _rows() -> tuple[_Row, ...]:
    return _table("codepages.tsv")


@cache
def _differences() -> dict[str, _Row]:
    return {row["ccsid"]: row for row in _table("codepage_tables.tsv")}


def _table(file: str) -> tuple[_Row, ...]:
    text = (Path(__file__).parents[1] / "facts" / file).read_text("utf-8")
    header, *rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(dict(zip(header, row, strict=True)) for row in rows)


@cache
def _spellings() -> dict[str, _Row]:
    rows: dict[str, _Row] = {}
    for row in _rows():
        rows[row["ccsid"]] = row
        if row["codec"]:
            rows.setdefault(_normal(row["codec"]), row)
    rows.update({alias: rows[ccsid] for alias, ccsid in _ALIASES.items()})
    return rows


_ALIASES = {"USASCII": "367", "LATIN1": "819", "ISO88591": "819", "ISO885915": "923", "LATIN9": "923"} | {
    f"WINDOWS{number}": str(number) for number in range(1250, 1259)
}


def _normal(name: str) -> str:
    packed = re.sub(r"[\s_.\-]", "", name.upper())
    number = _PREFIX.sub("", packed, count=1) if _PREFIX.match(packed) else packed
    return (number.lstrip("0") or "0") if number.isascii() and number.isdigit() else packed


def _characters(row: _Row) -> list[str]:
    if not row["codec"]:
        changes = _differences()[row["ccsid"]]
        characters = _characters(_spellings()[changes["like"]])
        for change in changes["differences"].split():
            byte, _, code = change.partition(":")
            characters[int(byte, 16)] = chr(int(code, 16)) if code else _UNDEFINED
        return characters
    decode = _decoder(row["codec"])
    characters = [_character(decode(bytes([byte]), "replace")[0]) for byte in range(256)]
    if row["kind"] == "EBCDIC":
        characters[0x15], characters[0x25] = "\x85", "\n"
        # Python's tables have SUB for undefined bytes; the real SUB is X'3F'.
        characters = [_UNDEFINED if c == _SUB and byte != 0x3F else c for byte, c in enumerate(characters)]
    return characters


def _decoder(codec: str) -> Callable[[bytes, str], tuple[str, int]]:
    """Python's own codec if there is one; otherwise that of the package ebcdic, whose import is slow."""
    try:
        return codecs.lookup(codec).decode
    except LookupError:
        import_module("ebcdic")
        return codecs.lookup(codec).decode


def _character(text: str) -> str:
    return _UNDEFINED if text in {"\ufffd", ""} else text


def _displayable(character: str) -> bool:
    return character.isprintable() and character != _UNDEFINED


def _extended(_row: _Row, _byte: int, character: str) -> str:
    return " " if "\x80" <= character <= "\x9f" and character != _NEL else character


def _text(row: _Row, byte: int, character: str) -> str:
    if row["kept"] == "ascii":
        return _extended(row, byte, character)
    unseen = unicodedata.category(character) == "Cc" or character in _NOT_BROKEN
    return " " if unseen and f"{byte:02X}" not in row["kept"].split() else character


def _common(_row: _Row, _byte: int, character: str) -> str:
    if character == _SOFT_HYPHEN:
        return "-"
    return character if (character.isascii() and character.isprintable()) or character in _ALSO_COMMON else " "


def _common_extended(row: _Row, byte: int, character: str) -> str:
    if byte < 0x20 and not character.isascii():
        return _SUB
    return character if character.isascii() and character not in _NOT_EXTENDED else _common(row, byte, character)


_WAYS = {"extended": _extended, "text": _text, "common": _common, "common_extended": _common_extended}
_WAY = re.compile(rf"(?P<page>.+?)[_\-](?P<way>{'|'.join(_WAYS)})", re.IGNORECASE)


@cache
def _conversion(source: CodePage, target: CodePage) -> tuple[bytes, bytes]:
    table, convertible = bytearray(256), bytearray()
    for byte, character in enumerate(source.characters()):
        converted = target.byte_of(character)
        if converted >= 0:
            table[byte] = converted
            convertible.append(byte)
    return bytes(table), bytes(convertible)


def shown_bytes(text: str, page: CodePage) -> bytes:
    """Encode text for people; characters that the code page does not have become question marks."""
    try:
        return page.encode(text)
    except ConversionError:
        return b"".join(_encode_character(page, character) for character in text)


def _encode_character(page: CodePage, character: str) -> bytes:
    try:
        return page.encode(character)
    except ConversionError:
        return page.encode("?")
