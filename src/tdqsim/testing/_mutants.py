"""Mutants: small alterations of a handler or program, each like a mistake that programmers make."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

KINDS: Final = {
    "drop syncpoint": "a SYNCPOINT is left out",
    "swap commands": "two commands change places",
    "wrong queue": "a command names another queue",
    "RESP check": "a response or condition is not checked",
    "wrong length": "a record is one byte short",
    "lost trigger": "a handler stops before QZERO",
}
"""Each kind of mutant with a description."""


_NOWHERE: Final = "NOQ"
"""The replacement for a queue's name if the file names no other suitable queue."""


class Edit(NamedTuple):
    """A replacement of a part of the text.

    Attributes:
        start, end: the old text, as offsets in characters.
        text: the new text.
    """

    start: int
    end: int
    text: str


class Mutant(NamedTuple):
    """One alteration of a source file.

    Attributes:
        path: the file.
        line: the number of the line, from 1.
        kind: one of :data:`KINDS`.
        command: the altered command, such as ``WRITEQ TD``.
        change: a description of the alteration.
        edits: the alterations of the text; they do not overlap.
    """

    path: Path
    line: int
    kind: str
    command: str
    change: str
    edits: tuple[Edit, ...]


def altered(source: str, edits: Iterable[Edit]) -> str:
    """The text of a file after the edits."""
    for edit in sorted(edits, reverse=True):
        source = source[: edit.start] + edit.text + source[edit.end :]
    return source


def wrong_queue(queue: str, queues: Iterable[str], opposite: Iterable[str]) -> str:
    """Another queue for a command.

    Args:
        queue: the queue that it names.
        queues: all queues that the file names.
        opposite: the queues that the file reads, for a command that writes, and vice versa. These are avoided, because
            a program that reads what it writes may never end.
    """
    others = sorted({*queues} - {queue, *opposite})
    return next((name for name in others if name > queue), (others or [_NOWHERE])[0])
