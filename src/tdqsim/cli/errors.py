"""The exit codes and messages of ``tdq``: codes for scripts, one clear line for people, never a traceback.

The codes:
    =====  ==========================================================================================
    0      done
    1      the command or the work of the region ended in a condition, an abend, or a failed check
    2      the command line, a definition, a data set or another file is wrong or unusable, or a part is not installed
    3      the store: in use, missing, damaged, full, or written by another version
    4      an error of tdqsim itself
    130    interrupted (Ctrl-C)
    141    the program that read the output ended
    =====  ==========================================================================================
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from enum import IntEnum

from tdqsim.errors import (
    TdqError,
)


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
    """The user's input cannot be used; the text names what is allowed."""


class CommandFailed(TdqError):
    """The command was executed and its result is a failure; the text describes it unless that was done before."""


@dataclass(slots=True)
class CommandOutput:
    """The output of a command so far.

    Attributes:
        as_json: whether it has written JSON.
        messages: its messages on standard error.
    """

    as_json: bool = False
    messages: list[str] = field(default_factory=list)


command_output = CommandOutput()
"""The output of the command that this process runs."""


def visible(text: str, *, json: bool = False) -> str:
    """Text that is safe for a terminal: control and format characters are escaped, except line ends.

    Args:
        text: the text to show.
        json: whether it is JSON, whose escapes have four digits.
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
    """Print a warning on standard error."""
    command_output.messages.append(text)
    print(f"tdq: {visible(text)}", file=sys.stderr)  # noqa: T201  (messages go to standard error)


def aside(text: str) -> None:
    """Print a remark, which is not a warning, on standard error."""
    print(visible(text), file=sys.stderr)  # noqa: T201  (as above)
