"""EBCDIC and other single-byte code pages as 256-byte tables, both ways.

A record is bytes; it becomes text only at an edge and only by a named page. A page is found by its CCSID or by any of
the spellings in use for it: ``37``, ``"037"``, ``"cp037"``, ``"IBM-037"``, ``"CCSID 37"``, ``"latin-1"``. The pages
known are the rows of ``facts/codepages.tsv``; their tables come from Python's codecs, from the ``ebcdic`` package, and
from IBM's conversion tables as ICU has them (``facts/codepage_tables.tsv``, each as what differs from another page).

Two corrections are made to those tables. Several of the package's pages give X'15' and X'25' the same character, and
1047 swaps the two: here X'15' (NL) is U+0085 and X'25' (LF) is U+000A in every EBCDIC page, as IBM's registered tables
have it, so that a round trip loses nothing. And a byte that a page leaves undefined is undefined, not a substitute.

A name may end in the way its text is read, for those who have no use for control characters:

* ``037_extended``: a control character that ASCII has not, such as X'FF', is read as a blank;
* ``037_text``: so are all others and no-break spaces and soft hyphens, except for the bytes that the column ``kept`` of
  the page's row lists; where that says ``ascii``, it is the same as ``_extended``;
* ``037_common``, or ``common``: whatever is not printable ASCII, the broken bar, CR or LF is a blank,
  but a soft hyphen is a hyphen;
* ``037_common_extended``, or ``common_extended``: the control characters of ASCII are kept too.

These are the pages that Cobrix knows as ``cp037_extended``, ``cp037``, ``common`` and ``common_extended``. Text is
written as by the page itself; but by the common ones only what they read.
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

__all__ = ["CodePage", "codepage", "known_codepages"]

_UNDEFINED = "\ufffe"  # what charmap_decode takes for "no character"
_SUB, _NEL = "\x1a", "\x85"
_SOFT_HYPHEN = "\xad"
_NOT_BROKEN = "\xa0" + _SOFT_HYPHEN
_ALSO_COMMON = "\r\n\xa6"
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
        if way in _COMMON_WAYS:  # what reads as a blank would be lost, and may be another character on other pages
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
        """``data`` for people: one character a byte, everything that cannot be displayed as a full stop."""
        return codecs.charmap_decode(data, "strict", self._printable)[0]

    def convert(self, data: bytes, target: CodePage, record: int | None = None) -> bytes:
        """``data`` of this page in the bytes of ``target``, same length; ``record`` is named in an error.

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
        """The byte that a character is written as, -1 for none."""
        return -1 if character == _UNDEFINED else self._written.find(character)


def codepage(name: str | int | CodePage) -> CodePage:
    """The code page of that name or CCSID; case, blanks and the prefixes IBM, CP, CCSID do not matter.

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
    """The page's own name, and how its text is read."""
    if name.strip().lower() in _COMMON_WAYS:
        return _COMMON, name.strip().lower()
    found = _WAY.fullmatch(name.strip())
    return (found["page"], found["way"].lower()) if found else (name, "")


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
    found: dict[str, _Row] = {}
    for row in _rows():
        found[row["ccsid"]] = row
        if row["codec"]:
            found.setdefault(_normal(row["codec"]), row)
    found.update({alias: found[ccsid] for alias, ccsid in _ALIASES.items()})
    return found


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
        # Python's tables put SUB where a page has nothing; the real SUB is X'3F'.
        characters = [_UNDEFINED if c == _SUB and byte != 0x3F else c for byte, c in enumerate(characters)]
    return characters


def _decoder(codec: str) -> Callable[[bytes, str], tuple[str, int]]:
    """Python's own codec, or else the one that the package ebcdic registers, which costs as much as all else here."""
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
    return character if character.isascii() else _common(row, byte, character)


_WAYS = {"extended": _extended, "text": _text, "common": _common, "common_extended": _common_extended}
_WAY = re.compile(rf"(?P<page>.+?)[_\-](?P<way>{'|'.join(_WAYS)})", re.IGNORECASE)


@cache
def _conversion(source: CodePage, target: CodePage) -> tuple[bytes, bytes]:
    table, convertible = bytearray(256), bytearray()
    for byte, character in enumerate(source.characters()):
        found = target.byte_of(character)
        if found >= 0:
            table[byte] = found
            convertible.append(byte)
    return bytes(table), bytes(convertible)
