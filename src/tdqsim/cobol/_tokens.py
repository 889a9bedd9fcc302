"""Split COBOL text that ``cobc -E`` has expanded into words for the translator.

The preprocessor has expanded COPY and REPLACE, joined continued literals and dropped comments and both margins; what is
left is free text with ``#line`` marks. A word here is a literal, a COBOL word, a number, a full stop or one other
character; the marks give the file and line that it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""
    (?P<mark>^\#line[^\n]*$) | (?P<line>\n) | (?P<blank>[^\S\n]+|[,;](?=\s))
  | (?P<literal>(?:[XxZzNnGgHhBb]|[Nn][Xx])?(?:'(?:[^'\n]|'')*'|"(?:[^"\n]|"")*"))
  | (?P<pseudo>==)
  | (?P<number>[+-]?[0-9]+(?:\.[0-9]+)?(?![A-Za-z0-9@\#$_-]))
  | (?P<word>[A-Za-z0-9@\#$_&\x80-\xff][A-Za-z0-9@\#$_\x80-\xff-]*)
  | (?P<stop>\.(?=\s|\Z))
  | (?P<other>.)
    """,
    re.VERBOSE | re.MULTILINE,
)
_AS_LATIN: Final = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}
COPY_OPTION: Final = "C#PY"
"""What stands for the option COPY of a command while the preprocessor expands COPY statements; of the same length."""
_MARK: Final = re.compile(r'#line\s+(\d+)\s+"([^"]*)"')


class WordPlace(NamedTuple):
    """Where a word stands in the user's sources.

    Attributes:
        file: the file's name as the preprocessor wrote it.
        line: counted from 1.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Word(NamedTuple):
    """A word and its place.

    Attributes:
        kind: ``literal``, ``number``, ``word``, ``stop`` or ``other``.
        text: as written.
        start, end: where it stands in the text.
        place: the user's file and line.
    """

    kind: str
    text: str
    start: int
    end: int
    place: WordPlace

    def is_word(self, *names: str) -> bool:
        """Whether the word is one of these, which are given in upper case."""
        return self.kind == "word" and self.text.upper() in names


def readable(text: str) -> str:
    """A text in which bytes that are not UTF-8, decoded as lone surrogates, are the characters of Latin-1."""
    return text.translate(_AS_LATIN)


def words(text: str, file: str) -> Iterator[Word]:
    """The words of a preprocessed text; ``file`` is its name until a mark gives another."""
    place = WordPlace(file, 1)
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind == "line":
            place = WordPlace(place.file, place.line + 1)
        elif kind == "mark":
            mark = _MARK.match(match.group())
            if mark:  # the number is that of the next line, and the end of the mark's own line is counted before it
                place = WordPlace(mark.group(2), int(mark.group(1)) - 1)
        elif kind not in ("blank", "pseudo"):
            yield Word(kind, match[0], match.start(), match.end(), place)
