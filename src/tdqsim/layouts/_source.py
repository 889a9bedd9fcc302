"""From the lines of a copybook to one text, with the line and column of each character.

COBOL source comes in two reference formats. In *fixed* format columns 1 to 6 hold a sequence number, column 7 an
indicator (``*`` or ``/`` comment, ``-`` continuation, ``D`` debugging line), columns 8 to 72 the text; what follows is
ignored. In *free* format the whole line is text. ``*>`` starts a comment in both. Debugging lines are comments, since a
layout has no DEBUGGING MODE.

Continuation follows the language reference: a continued literal runs to column 72 and goes on after the quote that
opens it again; a continued word goes on at the first non-blank.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tdqsim.errors import LayoutError

__all__ = ["SourcePlace", "SourceText", "bad", "read_bounded", "read_source"]

MAX_SOURCE = 4 * 1024 * 1024
TAB_STOPS = (8, 4)
QUOTES = "'\""
SEQUENCE = re.compile(
    r"[ ]{6}|[0-9A-Za-z]{6}|[0-9]{1,5}[ ]{1,5}|(?!COPY|EXEC)[A-Z@#$][^ ]{0,4}[ ]{1,5}|[A-Z@#$][^ .]{5}", re.IGNORECASE
)
TAG = re.compile(r" *[0-9]{1,6} *|[A-Z@#$][^ .]{0,5} *", re.IGNORECASE)
STARRED_TAG = re.compile(r"\*[0-9A-Z@#$][^ .]{0,4} *", re.IGNORECASE)
ENTRY_OR_COMMENT = re.compile(r"[*/]| +[0-9]{1,2} +[A-Z]", re.IGNORECASE)
NUMBERED = re.compile(r"[0-9]{6}[ */-]")
IDENTIFICATION = re.compile(r" [0-9A-Za-z ]{1,8} *")
SOURCE_DIRECTIVE = re.compile(
    r"\s*(?:>>|\$SET\s+)SOURCE\s*(?:FORMAT)?\s*(?:IS)?\s*\(?\"?(FREE|FIXED)\"?\)?\s*\.?\s*", re.IGNORECASE
)
LISTING = re.compile(r"\s*(?:EJECT|SKIP[123])\s*\.?\s*$|\s*TITLE\s+['\"].*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where something stands: file name as given, line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """``file:line:column``, as compilers write it."""
        return f"{self.file}:{self.line}:{self.column}"


def bad(place: SourcePlace, clause: str, message: str) -> LayoutError:
    """A :class:`LayoutError` that names place, clause and what is allowed."""
    return LayoutError(f"{place}: {clause}: {message}" if clause else f"{place}: {message}")


def read_bounded(path: Path, most: int) -> bytes:
    """The bytes of a file, of which no more are read than it may have.

    Raises:
        LayoutError: the file cannot be read, or is larger than ``most`` bytes.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise LayoutError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > most:
        raise LayoutError(f"{path}: larger than {most} bytes; is it a layout?")
    return data


@dataclass(slots=True)
class SourceText:
    """The program text of one file, comments and columns taken away, with a way back to line and column."""

    file: str
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _starts: list[int] = field(default_factory=list)
    _places: list[tuple[int, int]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of the text; lines end with a newline before them."""
        return "".join(self._parts)

    def add(self, text: str, line: int, column: int) -> None:
        """Append a stretch of text that begins at this line and column."""
        self._starts.append(self._length)
        self._places.append((line, column))
        self._parts.append(text)
        self._length += len(text)

    def end_at(self, width: int | None) -> None:
        """Pad the last stretch with blanks to this width, or with None take its trailing blanks away."""
        last = self._parts.pop() if self._parts else ""
        self._length -= len(last)
        last = last.rstrip(" ") if width is None else last.ljust(width)
        self._parts.append(last)
        self._length += len(last)

    def place(self, offset: int) -> SourcePlace:
        """The place of one character of ``text``."""
        if not self._starts:
            return SourcePlace(self.file, 1, 1)
        index = max(bisect_right(self._starts, offset) - 1, 0)
        line, column = self._places[index]
        return SourcePlace(self.file, line, column + max(offset - self._starts[index], 0))


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    column: int
    text: str
    continues: bool


def read_source(text: str, file: str, *, source_format: str = "auto", columns: tuple[int, int] = (6, 72)) -> SourceText:
    """Take comments, sequence numbers and continuations out of copybook text.

    Args:
        text: the copybook as read, any line ends.
        file: its name for messages.
        source_format: ``fixed``, ``free`` or ``auto`` (fixed when every line could be fixed).
        columns: for fixed format, how many columns precede the indicator and where the text ends.

    Raises:
        LayoutError: the text is larger than 4 MiB, or column 7 holds an unknown indicator.
    """
    if len(text) > MAX_SOURCE:
        raise bad(
            SourcePlace(file, 1, 1), "", f"the copybook has {len(text)} characters; at most {MAX_SOURCE} are read"
        )
    if source_format not in ("auto", "fixed", "free"):
        raise LayoutError(f"source format {source_format!r}: must be auto, fixed or free")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\x1a", "")
    lines = _without_tabs(text.split("\n"), columns[1])
    fixed = source_format == "fixed" or (source_format == "auto" and _looks_fixed(lines, columns))
    return _join(file, list(_program_lines(lines, file, fixed=fixed, columns=columns)), columns[1])


def _without_tabs(lines: list[str], right: int) -> list[str]:
    """Tabs to every eighth column; to every fourth where a line with tabs fits before column 72 that way only."""
    tabbed = [line for line in lines if "\t" in line]
    wide, narrow = (any(len(line.expandtabs(stop).rstrip()) > right for line in tabbed) for stop in TAB_STOPS)
    return [line.expandtabs(TAB_STOPS[1] if wide and not narrow else TAB_STOPS[0]) for line in lines]


def _looks_fixed(lines: list[str], columns: tuple[int, int]) -> bool:
    """Whether every line has blanks or a sequence number in columns 1 to 6 and an indicator in column 7."""
    left, right = columns
    aside = [line[right - 1 :] for line in lines if len(line.rstrip()) > right]
    named = bool(aside) and all(IDENTIFICATION.fullmatch(rest) for rest in aside)
    surely = named or any(NUMBERED.match(line) for line in lines)
    for line in lines:
        if not line.strip() or SOURCE_DIRECTIVE.fullmatch(line):
            continue
        if len(line) <= left:
            if not (left != 6 or TAG.fullmatch(line) or line.lstrip().startswith("*")):
                return False
        elif not (
            _early(line, left)
            or ((left != 6 or SEQUENCE.fullmatch(line[:6])) and line[left] in " *-/dD$")
            or (surely and line[: left + 1].strip().isdigit())
            or (left == 6 and STARRED_TAG.fullmatch(line[:6]) and ENTRY_OR_COMMENT.match(line[6:]))
        ):
            return False
    return True


def _early(line: str, left: int) -> bool:
    """Whether the level number begins in the indicator's own column, next to a sequence number, or all are stars."""
    return line[: left + 1].isdigit() or set(line[: left + 1]) == {"*"}


def _program_lines(lines: list[str], file: str, *, fixed: bool, columns: tuple[int, int]) -> Iterator[_Line]:
    left, right = columns
    for number, line in enumerate(lines, 1):
        directive = SOURCE_DIRECTIVE.fullmatch(line)
        if directive:
            fixed = directive[1].upper() == "FIXED"
            continue
        if fixed:
            if len(line) <= left:
                continue
            indicator, column, body = line[left], left + 2, line[left + 1 : right]
            if indicator in "*/dD$" or (indicator == " " and body.lstrip().startswith("*")):
                continue
            if indicator.isdigit() and indicator.isascii():  # a level number one column too far to the left
                indicator, column, body = " ", left + 1, line[left:right]
            if indicator not in " -":
                raise bad(
                    SourcePlace(file, number, left + 1),
                    "indicator",
                    f"column {left + 1} is {indicator!r}; blank, *, /, D or - is allowed",
                )
        else:
            indicator, column, body = " ", 1, line
            if body.lstrip().startswith("*"):
                continue
        if not LISTING.match(body) and (body.strip() or indicator == "-"):
            yield _Line(number, column, body, indicator == "-")


def _strip_comment(body: str, quote: str) -> tuple[str, str]:
    """The text before ``*>``, and the quote still open at its end (empty when none)."""
    for index, char in enumerate(body):
        if quote:
            quote = "" if char == quote else quote
        elif char in QUOTES:
            quote = char
        elif body.startswith("*>", index):
            return body[:index], quote
    return body, quote


def _join(file: str, lines: list[_Line], right: int) -> SourceText:
    source = SourceText(file)
    quote = ""
    for line in lines:
        body, column = line.text, line.column
        if line.continues:
            indent = len(body) - len(body.lstrip())
            body, column = body[indent:], column + indent
            if quote:
                if not body.startswith(quote):
                    raise bad(
                        SourcePlace(file, line.number, column),
                        "literal",
                        f"a continued literal must go on with {quote}",
                    )
                source.end_at(right - line.column + 1)
                body, column = body[1:], column + 1
            else:
                source.end_at(None)
        else:
            quote = ""
            source.add("\n", line.number, column)
        body, quote = _strip_comment(body, quote)
        source.add(body, line.number, column)
    return source
