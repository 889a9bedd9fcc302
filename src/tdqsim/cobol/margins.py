"""The margins of fixed format: text after column 72 is ignored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["RIGHT", "cut_off", "within_margins"]

RIGHT: Final = 72
_IDENTIFICATION: Final = 8
"""Columns 73 to 80, which a shop may use for its own names and numbers."""
_TAG: Final = re.compile(r"(?=.*[0-9])[A-Z0-9@#$*/+-]+", re.IGNORECASE)


def within_margins(line: bytes) -> bytes:
    """A line of fixed format without its sequence number and the text after column 72; other lines unchanged."""
    if b"\t" in line[:RIGHT] or not (line[:6].strip().isdigit() or not line[:6].strip()):
        return line[:RIGHT] if b"\t" not in line[:RIGHT] and len(line) > RIGHT else line
    return b" " * len(line[:6]) + line[6:RIGHT]


def cut_off(text: bytes) -> Iterator[tuple[int, str]]:
    """The lines that seem to have program text after column 72, with that text.

    Columns 73 to 80 are taken as a comment area, not as program text, if most lines have something there, or if a word
    with a digit, such as the tag of a change, follows a blank there.
    """
    lines = text.decode("latin-1").replace("\r\n", "\n").split("\n")
    filled = [line for line in lines if line[7:RIGHT].strip()]
    identified = 2 * sum(bool(line[RIGHT:].strip()) for line in filled) > len(filled) > _IDENTIFICATION
    for number, line in enumerate(lines, 1):
        rest = line[RIGHT:].rstrip()
        if not rest.strip() or line[6:7] in ("*", "/") or "\t" in line[:RIGHT]:
            continue
        tag = identified or (line[RIGHT - 1] == " " and _TAG.fullmatch(rest.strip()) is not None)
        if len(rest) > _IDENTIFICATION or not tag:
            yield number, rest
