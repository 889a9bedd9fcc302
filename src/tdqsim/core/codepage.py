"""EBCDIC and other single-byte code pages as 256-byte tables, both ways.

A record is bytes; it becomes text only at an edge and only by a named page. A page is found by its CCSID or by any of
the spellings in use for it: ``37``, ``"037"``, ``"cp037"``, ``"IBM-037"``, ``"CCSID 37"``, ``"latin-1"``. The pages
known are the rows of ``facts/codepages.tsv``; their tables come from Python's codecs and the ``ebcdic`` package.

Two corrections are made to those tables. Several of the package's pages give X'15' and X'25' the same character, and
1047 swaps the two: here X'15' (NL) is U+0085 and X'25' (LF) is U+000A in every EBCDIC page, as IBM's registered tables
have it, so that a round trip loses nothing. And a byte that a page leaves undefined is undefined, not a substitute.
"""

from __future__ import annotations

import codecs
import csv
import re
from functools import cache
from importlib import resources

import ebcdic  # registers its codecs at import

from tdqsim.errors import ConversionError

__all__ = ["CodePage", "codepage", "known_codepages"]

assert ebcdic  # the import is wanted for what it registers

_UNDEFINED = "\ufffe"  # what charmap_decode takes for "no character"
_SUB = "\x1a"
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

    __slots__ = ("_charmap", "_defined", "_encoding", "_from_latin", "_printable", "_to_latin", "ccsid", "description",
                 "kind", "name", "space")  # fmt: skip

    def __init__(self, ccsid: int, codec: str, kind: str, description: str) -> None:
        self.ccsid = ccsid
        self.name = f"{ccsid:03d}"
        self.kind = kind
        self.description = description
        characters = _characters(codec, ebcdic_page=kind == "EBCDIC")
        self._charmap = "".join(characters)
        self._defined = bytes(byte for byte, character in enumerate(characters) if character != _UNDEFINED)
        self._encoding = codecs.charmap_build(self._charmap)
        latin = all(ord(character) < 256 for character in characters)
        self._to_latin = self._charmap.encode("latin-1") if latin else None
        self._from_latin = bytes(map(self._charmap.index, map(chr, range(256)))) if latin else None
        self._printable = "".join(character if _displayable(character) else "." for character in characters)
        self.space = self._charmap.index(" ")

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


def codepage(name: str | int | CodePage) -> CodePage:
    """The code page of that name or CCSID; case, blanks and the prefixes IBM, CP, CCSID do not matter.

    Raises:
        ConversionError: there is none of that name; the message lists what there is.
    """
    return name if isinstance(name, CodePage) else _by_name(str(name))


def known_codepages() -> tuple[int, ...]:
    """The CCSIDs of all pages, ascending."""
    return tuple(sorted(int(row["ccsid"]) for row in _rows()))


@cache
def _by_name(name: str) -> CodePage:
    row = _spellings().get(_normal(name))
    if row is None:
        allowed = ", ".join(f"{ccsid:03d}" for ccsid in known_codepages())
        raise ConversionError(
            f"unknown code page {name[:40]!r}; known are the CCSIDs {allowed}, also as IBM-037, cp037; ascii, latin-1"
        )
    return _page(int(row["ccsid"]), row["codec"], row["kind"], row["description"])


_page = cache(CodePage)


@cache
def _rows() -> tuple[dict[str, str], ...]:
    text = (resources.files("tdqsim") / "facts" / "codepages.tsv").read_text("utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return tuple(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def _spellings() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in _rows():
        found[row["ccsid"]] = row
        found.setdefault(_normal(row["codec"]), row)
    found.update({alias: found[ccsid] for alias, ccsid in _ALIASES.items()})
    return found


_ALIASES = {
    "USASCII": "367",
    "LATIN1": "819",
    "ISO88591": "819",
    "ISO885915": "923",
    "LATIN9": "923",
    "WINDOWS1252": "1252",
}


def _normal(name: str) -> str:
    packed = re.sub(r"[\s_.\-]", "", name.upper())
    number = _PREFIX.sub("", packed, count=1) if _PREFIX.match(packed) else packed
    return (number.lstrip("0") or "0") if number.isascii() and number.isdigit() else packed


def _characters(codec: str, *, ebcdic_page: bool) -> list[str]:
    decode = codecs.lookup(codec).decode
    characters = [_character(decode(bytes([byte]), "replace")[0]) for byte in range(256)]
    if ebcdic_page:
        characters[0x15], characters[0x25] = "\x85", "\n"
        # Python's tables put SUB where a page has nothing; the real SUB is X'3F'.
        characters = [_UNDEFINED if c == _SUB and byte != 0x3F else c for byte, c in enumerate(characters)]
    return characters


def _character(text: str) -> str:
    return _UNDEFINED if text in {"\ufffd", ""} else text


def _displayable(character: str) -> bool:
    return character.isprintable() and character != _UNDEFINED


@cache
def _conversion(source: CodePage, target: CodePage) -> tuple[bytes, bytes]:
    table, convertible = bytearray(256), bytearray()
    for byte, character in enumerate(source.characters()):
        found = -1 if character == _UNDEFINED else target.characters().find(character)
        if found >= 0:
            table[byte] = found
            convertible.append(byte)
    return bytes(table), bytes(convertible)
