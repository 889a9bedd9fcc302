"""The audit log: one line for each change that somebody requests, whichever interface was used.

=============  ========================================================================================
key            value
=============  ========================================================================================
interface      http, console, command line, link, mapepire, or the service of a host server such as as-dtaq
userid         the user; ``(owner)`` for the owner of the process, None if no user has signed on
origin         the address of the client; ``local`` for the command line
operation      the command, or the name of another operation (``facts/operations.tsv``)
applid, queue  the region and the queue, or ``system`` and ``dtaq``, as far as the request names them
command        the text of a command; not shown are the values of options that are declared as secret, such as
               PASSWORD, and the data that it sends; text in a host variable, such as a name, is shown
client, job    of SQL: the name that the client gives itself, and its job
times          how often a connection has done this to a data queue, or executed such a statement
resp, status   the condition of the command, the status of the HTTP answer, as far as there is one
=============  ========================================================================================

No record, password, token or parameter of a CL command is logged. Values of clients are made safe for one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import structlog

if TYPE_CHECKING:
    from tdqsim.languages import Resolved

OWNER_NAME: Final = "(owner)"
"""The user of the audit line if the owner of the process acts."""
LINK: Final = "link"
"""The interface of commands that other regions ship. No person has requested them: only ``debug`` shows them."""
_LONGEST: Final = 200
_log = structlog.get_logger("tdqsim.audit")


def one_line(text: str) -> str:
    """Text of a client for a line of the log: without line ends and terminal control characters."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text[:_LONGEST])


def command_text(resolved: Resolved, variables: Mapping[str, object] | None = None) -> str:
    """The text of a command, with dots for what its declaration does not show: secrets, and data it sends.

    A host variable whose value is text is shown as its value, such as the name of a queue.
    """
    values = variables or {}
    text, at = resolved.source.text, 0
    shown: list[str] = []
    for declared, option in sorted(resolved.sends, key=lambda each: each[1].argument_offset):
        if option.argument is None or option.argument_offset < at:
            continue
        value = values.get(str(option.argument))
        if not declared.is_shown or isinstance(value, str):
            shown += text[at : option.argument_offset], repr(value) if declared.is_shown else "..."
            at = _end_of_argument(text, option.argument_offset)
    return one_line("".join([*shown, text[at:]]).strip())


def cl_command_name(text: str) -> str:
    """The name of a CL command, without its library and its parameters, which may contain a secret."""
    return text.strip().partition(" ")[0].rpartition("/")[2][:10].upper() or "CL command"


def _end_of_argument(text: str, at: int) -> int:
    """The offset of the parenthesis that closes the argument which begins at an offset; else the end of the text."""
    depth, quote = 0, ""
    for offset in range(at, len(text)):
        character = text[offset]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth < 0:
                return offset
    return len(text)


def audit(interface: str, userid: str | None, operation: str, **facts: str | int | None) -> None:
    """Write one line.

    Args:
        interface: the interface that was used.
        userid: the user; empty for the owner of the process, None if no user has signed on.
        operation: what was requested.
        facts: further values; None and empty ones are left out.
    """
    given = {key: one_line(value) if isinstance(value, str) else value for key, value in facts.items()}
    values = {key: value for key, value in given.items() if value not in (None, "")}
    write = _log.debug if interface == LINK else _log.info
    write(
        "change",
        interface=interface,
        userid=OWNER_NAME if userid == "" else userid,
        operation=one_line(operation),
        **values,
    )


class Counted:
    """Changes of one connection that are counted before they are logged, one line for each kind of change.

    Data queues are used thousands of times a second, and a line for each use would cost more than the use itself.
    """

    _MOST: Final = 100
    """The kinds of change that are counted before they are logged."""

    def __init__(self, interface: str, system: str) -> None:
        self._interface, self._system = interface, system
        self._done: Counter[tuple[str, str, tuple[tuple[str, str], ...]]] = Counter()

    def count(self, operation: str, userid: str, **facts: str) -> None:
        """Count a change, which its operation and further values distinguish from others."""
        self._done[operation, userid, tuple(facts.items())] += 1
        if len(self._done) > self._MOST:
            self.write()

    def write(self) -> None:
        """Write what was counted."""
        done, self._done = self._done, Counter()
        for (operation, userid, facts), times in done.items():
            audit(self._interface, userid, operation, system=self._system, times=times, **dict(facts))
