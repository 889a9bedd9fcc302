"""How ``tdq`` ends: exit codes that scripts can use, one clear line for people, never a traceback.

What the codes mean
    =====  ==========================================================================================
    0      done
    1      the command or the region's work ended in a condition, an abend, or a check that failed
    2      the command line, a definition, a data set or another file is not right, cannot be used, or is not installed
    3      the store: in use, missing, damaged, full, or written by another version
    4      an error of tdqsim itself
    130    interrupted (Ctrl-C)
    141    whoever read the output went away
    =====  ==========================================================================================
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from enum import IntEnum

from tdqsim.errors import (
    TdqError,
)

__all__ = ["CommandFailed", "Exit", "InputError", "Spoken", "aside", "spoken", "visible", "warn"]


class Exit(IntEnum):
    """The exit codes; see the module's table."""

    OK = 0
    CONDITION = 1
    INPUT = 2
    STORE = 3
    INTERNAL = 4
    INTERRUPTED = 130
    PIPE_CLOSED = 141


class InputError(TdqError):
    """What the user gave cannot be used; the text says what is allowed."""


class CommandFailed(TdqError):
    """The command was carried out and its outcome is a failure that has been, or is, told in the text."""


@dataclass(slots=True)
class Spoken:
    """What a command has given to programs and to people so far.

    Attributes:
        as_json: it has written JSON.
        said: its messages on the error stream.
    """

    as_json: bool = False
    said: list[str] = field(default_factory=list)


spoken = Spoken()
"""That of the command that this process carries out."""


def visible(text: str, *, json: bool = False) -> str:
    """Text in which nothing acts on a terminal: control and format characters are shown escaped, but for line ends.

    Args:
        text: what is to be shown.
        json: it is JSON, whose escapes are of four digits.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else _escaped(each, json=json) for each in text)


def _escaped(character: str, *, json: bool) -> str:
    code = ord(character)
    if json:
        units = character.encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def warn(text: str) -> None:
    """Say something to people, on the error stream."""
    spoken.said.append(text)
    print(f"tdq: {visible(text)}", file=sys.stderr)  # noqa: T201  (the error stream is the command line's voice)


def aside(text: str) -> None:
    """Say something beside the output, on the error stream, that is no warning."""
    print(visible(text), file=sys.stderr)  # noqa: T201  (as above)
