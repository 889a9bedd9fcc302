"""Join the lines of a copybook into one text, and keep the line and column of each character.

COBOL source has two reference formats. In *fixed* format, columns 1 to 6 contain a sequence number, column 7 an
indicator (``*`` or ``/`` comment, ``-`` continuation, ``D`` debugging line), and columns 8 to 72 the text; the rest of
the line is ignored. In *free* format, the whole line is text. ``*>`` starts a comment in both. Debugging lines are
comments, because a layout has no DEBUGGING MODE.

Continuation follows the language reference: a continued literal extends to column 72 and continues after the opening
quote on the next line; a continued word continues at the first character that is not blank.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tdqsim.errors import LayoutError

MAX_SOURCE = 4 * 1024 * 1024
TAB_STOPS = (8, 4)
QUOTES = "'\""
SEQUENCE = re.compile(
    r"[ ]{6}|[0-9A-Za-z]{6}|[0-9]{1,5}[ ]{1,5}|(?!COPY|EXEC)[A-Z@#$][^ ]{0,4}[ ]{1,5}|[A-Z@#$][^ .]{5}", re.IGNORECASE
)
TAG = re.compile(r" *[0-9]{1,6} *|[A-Z@#$][^ .]{0,5} *", re.IGNORECASE)
STARRED_TAG = re.compile(r"\*[0-9A-Z@#$][^ .]{0,4} *", re.IGNORECASE)
ENTRY_OR_COMMENT = re.compile(r"[*/]| +[0-9]{1,2} +[A-Z]", re.IGNORECASE)
FIXED_ENTRY = re.compile(r".{6}[ D-] *[0-9]{1,2} +[A-Z0-9@#$:-]", re.IGNORECASE)
FREE_ENTRY = re.compile(r" *[0-9]{1,2} +[A-Z@#$:-]", re.IGNORECASE)
NUMBERED = re.compile(r"[0-9]{6}[ */-]")
IDENTIFICATION = re.compile(r" [0-9A-Za-z ]{1,8} *")
SOURCE_DIRECTIVE = re.compile(
    r"\s*(?:>>|\$SET\s+)SOURCE\s*(?:FORMAT)?\s*(?:IS)?\s*\(?\"?(FREE|FIXED)\"?\)?\s*\.?\s*", re.IGNORECASE
)
LISTING = re.compile(r"\s*(?:EJECT|SKIP[123])\s*\.?\s*$|\s*TITLE\s+['\"].*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A place in a source file: the file name as the caller wrote it, line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """Return ``file:line:column``, as compilers write it."""
        return f"{self.file}:{self.line}:{self.column}"


def bad(place: SourcePlace, clause: str, message: str) -> LayoutError:
    """Return a :class:`LayoutError` that names place and clause."""
    clause = "".join(char if char.isprintable() else f"X'{ord(char):02X}'" for char in clause)
    return LayoutError(f"{place}: {clause}: {message}" if clause else f"{place}: {message}")


def read_bounded(path: Path, most: int) -> bytes:
    """Return the bytes of a file that may have at most ``most`` bytes; no more are read.

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
    """The program text of one file without comments and number columns; maps each offset to its line and column.

    ``note``: what of the lines was read otherwise than it appears, for a message about the text; or empty.
    """

    file: str
    note: str = ""
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _starts: list[int] = field(default_factory=list)
    _places: list[tuple[int, int]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The whole text; each line begins with a newline."""
        return "".join(self._parts)

    def add(self, text: str, line: int, column: int) -> None:
        """Append a piece of text that begins at this line and column."""
        self._starts.append(self._length)
        self._places.append((line, column))
        self._parts.append(text)
        self._length += len(text)

    def end_at(self, width: int | None) -> None:
        """Pad the last piece with blanks to this width; with None, remove its trailing blanks."""
        last = self._parts.pop() if self._parts else ""
        self._length -= len(last)
        last = last.rstrip(" ") if width is None else last.ljust(width)
        self._parts.append(last)
        self._length += len(last)

    def place(self, offset: int) -> SourcePlace:
        """Return the place of one character of ``text``."""
        if not self._starts:
            return SourcePlace(self.file, 1, 1)
        index = max(bisect_right(self._starts, offset) - 1, 0)
        line, column = self._places[index]
        return SourcePlace(self.file, line, column + max(offset - self._starts[index], 0))

    def places(self, offsets: Iterable[int]) -> list[SourcePlace]:
        """Return the places of some characters of ``text``."""
        return [self.place(offset) for offset in offsets]


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    column: int
    text: str
    continues: bool


def read_source(text: str, file: str, *, source_format: str, columns: tuple[int, int]) -> SourceText:
    """Remove comments and sequence numbers from copybook text, and join continued lines.

    Args:
        text: the copybook as read, with any line ends.
        file: the file name for messages.
        source_format: ``fixed``, ``free`` or ``auto`` (fixed if every line could be in fixed format).
        columns: for fixed format, the number of columns before the indicator, and the last column of the text.

    Raises:
        LayoutError: the text is larger than 4 MiB, or column 7 contains an unknown indicator.
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
    source = _join(file, list(_program_lines(lines, file, fixed=fixed, columns=columns)), columns[1])
    source.note = _cut(lines, columns[1]) if fixed else _marked(lines) if source_format == "auto" else ""
    return source


def _cut(lines: list[str], right: int) -> str:
    """Which line has a period after the last column that is read in fixed format, in words."""
    for number, line in enumerate(lines, 1):
        if "." in line[right:] and line[:7].strip()[:1] != "*":
            column = line.index(".", right) + 1
            return (
                f"nothing after column {right} is read, and line {number} has a period in column {column}: "
                "shorten the line, or set source_format free (option comments_ubound)"
            )
    return ""


def _marked(lines: list[str]) -> str:
    """Which line looks like one of fixed format, in a text that is read as free format, in words."""
    for number, line in enumerate(lines, 1):
        if FIXED_ENTRY.match(line) and not FREE_ENTRY.match(line):
            return (
                f"read as free format, though line {number} has {line[:6].strip()!r} in columns 1 to 6: set "
                "source_format fixed (option comments_lbound=6)"
            )
    return ""


def _without_tabs(lines: list[str], right: int) -> list[str]:
    """Expand tabs to every eighth column; to every fourth if only then all lines with tabs end before column 72."""
    tabbed = [line for line in lines if "\t" in line]
    wide, narrow = (any(len(line.expandtabs(stop).rstrip()) > right for line in tabbed) for stop in TAB_STOPS)
    return [line.expandtabs(TAB_STOPS[1] if wide and not narrow else TAB_STOPS[0]) for line in lines]


def _looks_fixed(lines: list[str], columns: tuple[int, int]) -> bool:
    """Return whether the lines are in fixed format.

    They are if all of them could be. If some could not, the lines vote: those that have a level number after column 7
    and none at their beginning against those with one at their beginning only. Columns 1 to 6 may have any marks.
    """
    if _all_fixed(lines, columns):
        return True
    if columns[0] != 6:
        return False
    votes = [(bool(FIXED_ENTRY.match(line)), bool(FREE_ENTRY.match(line))) for line in lines]
    return votes.count((True, False)) > votes.count((False, True))


def _all_fixed(lines: list[str], columns: tuple[int, int]) -> bool:
    """Return whether every line has blanks or a sequence number in columns 1 to 6 and an indicator in column 7."""
    left, right = columns
    after_text = [line[right - 1 :] for line in lines if len(line.rstrip()) > right]
    named = bool(after_text) and all(IDENTIFICATION.fullmatch(rest) for rest in after_text)
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
    """Return whether the level number begins in the indicator's column, after a sequence number, or all are stars."""
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
    """Return the text before ``*>``, and the quote that is still open at its end (empty if none)."""
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
                        f"a continued literal must continue with {quote}",
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
