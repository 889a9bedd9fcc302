"""The margins of fixed format: text after column 72 is ignored.

A directive such as ``>>SOURCE FORMAT IS FREE`` begins lines of another format, which have no margins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

RIGHT: Final = 72
_IDENTIFICATION: Final = 8
"""Columns 73 to 80, which a shop may use for its own names and numbers."""
_DIRECTIVE: Final = re.compile(
    rb"\s*(?:>>\s*SOURCE(?:\s+FORMAT)?(?:\s+IS)?\s|(?:>>\s*|\$)SET\s+SOURCEFORMAT\s*)[\s(\"']*(FREE|FIXED|VARIABLE)\b",
    re.IGNORECASE,
)
_FREE_OPTIONS: Final = frozenset(("-free", "-F"))
_TAG: Final = re.compile(r"(?=.*[0-9])[A-Z0-9@#$*/+-]+", re.IGNORECASE)


def _with_format(lines: Iterable[bytes], *, free: bool) -> Iterator[tuple[bytes, bool]]:
    """Each line, and whether it is in fixed format."""
    for line in lines:
        yield line, not free
        if (directive := _DIRECTIVE.match(line)) is not None:
            free = directive[1].upper() != b"FIXED"


def is_free(lines: Iterable[bytes], options: Iterable[str] = ()) -> bool:
    """Whether a program has lines that are not in fixed format, by a directive or an option of the compiler."""
    return not _FREE_OPTIONS.isdisjoint(options) or any(not fixed for _, fixed in _with_format(lines, free=False))


def without_margins(lines: Iterable[bytes], *, free: bool = False) -> list[bytes]:
    """The lines, those of fixed format without their sequence numbers and the text after column 72.

    Args:
        lines: the lines of a program or copybook.
        free: whether the first line is not in fixed format.
    """
    return [_within_margins(line) if fixed else line for line, fixed in _with_format(lines, free=free)]


def _within_margins(line: bytes) -> bytes:
    if b"\t" in line[:RIGHT] or not (line[:6].strip().isdigit() or not line[:6].strip()):
        return line[:RIGHT] if b"\t" not in line[:RIGHT] and len(line) > RIGHT else line
    return b" " * len(line[:6]) + line[6:RIGHT]


def told_of(files: Iterable[str]) -> Iterator[str]:
    """A message for each line of these files, as far as they exist, that seems to have program text after column 72."""
    for file in dict.fromkeys(files):
        if Path(file).is_file():
            for line, rest in cut_off(Path(file).read_bytes()):
                yield f"{file}:{line}: {rest.strip()!r} is after column {RIGHT} and is ignored"


def cut_off(text: bytes) -> Iterator[tuple[int, str]]:
    """The lines that seem to have program text after column 72, with that text.

    Columns 73 to 80 are taken as a comment area, not as program text, if most lines have something there, or if a word
    with a digit, such as the tag of a change, follows a blank there.
    """
    formats = _with_format(text.replace(b"\r\n", b"\n").split(b"\n"), free=False)
    lines = [line.decode("latin-1") if fixed else "" for line, fixed in formats]
    filled = [line for line in lines if line[7:RIGHT].strip()]
    identified = 2 * sum(bool(line[RIGHT:].strip()) for line in filled) > len(filled) > _IDENTIFICATION
    for number, line in enumerate(lines, 1):
        rest = line[RIGHT:].rstrip()
        if not rest.strip() or line[6:7] in ("*", "/") or "\t" in line[:RIGHT]:
            continue
        tag = identified or (line[RIGHT - 1] == " " and _TAG.fullmatch(rest.strip()) is not None)
        if len(rest) > _IDENTIFICATION or not tag:
            yield number, rest
