"""Collects failures of tasks whose ``result()`` no test requests: abends, and starts without a program.

The program that reaches a trigger level or issues START does not learn how the started task ends: an abend is only a
message on CSMT and a number in the statistics. Such failures are collected here, so that a test fails because of them,
and a command can show them. Tasks whose ``result()`` was requested, and tasks that were ended on purpose, are not
included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from tdqsim.cics.internals import core_of
from tdqsim.errors import RegionClosed, SystemClosed
from tdqsim.testing._frames import user_places

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.core.strand import Strand

_NO_PROGRAM: Final = "DFHAC2016"
_NO_START: Final = {
    "DFHAC2001": "no TRANSACTION of that name is defined",
    "DFHAC2008": "the transaction is disabled",
    _NO_PROGRAM: "it has no program: register a handler for it, or name one by handler: in its definition",
    "DFHTD0183": "no TRANSACTION of that name is defined",
    "DFHTD0340": "the transaction is remote, and the program of a trigger must be local",
}


class Outcome(NamedTuple):
    """One failure.

    Attributes:
        code: the abend code, message ID, or name of the exception, by which a test can expect the failure.
        text: a description in a sentence.
        strand: the task that ended; None if no task was started.
    """

    code: str
    text: str
    strand: Strand | None

    @property
    def reported(self) -> bool:
        """Whether the test has got the failure: ``result()`` has raised it, or the task was ended on purpose."""
        return self.strand is not None and self.strand.reported


class Outcomes:
    """Collects the failures on one dispatcher: call it with each strand that is about to run, and each region."""

    def __init__(self) -> None:
        self._failures: list[Outcome] = []
        self._last: Strand | None = None
        self.ended = 0

    def watch(self, region: Region) -> None:
        """Also collect the failed starts of a region."""
        core_of(region).messages.listeners.append(partial(self._message, region))

    def dispatched(self, strand: Strand | None) -> None:
        """Called before a strand runs, when the previous one has ended or waits; with None at the end of the test."""
        last, self._last = self._last, strand
        if last is None or not last.done:
            return
        self.ended += 1
        error = last.exception
        if error is not None and not isinstance(error, RegionClosed | SystemClosed):
            self._failures.append(Outcome(getattr(error, "code", "") or _code(error), _description(last, error), last))

    def _message(self, region: Region, message: str, inserts: Mapping[str, object]) -> None:
        if message in _NO_START:
            transid = str(inserts["transid"])
            why = _not_imported(region, transid) if message == _NO_PROGRAM else ""
            text = f"transaction {transid} was not started ({message}): {why or _NO_START[message]}"
            queue = inserts.get("queue")
            self._failures.append(Outcome(message, f"queue {queue}: {text}" if queue else text, None))

    def unexpected(self, expected: Iterable[str] = ()) -> list[Outcome]:
        """The failures that the test has not got so far, without the expected abend codes and message IDs."""
        self.dispatched(None)
        allowed = frozenset(expected)
        return [each for each in self._failures if not each.reported and each.code not in allowed]


def _not_imported(region: Region, transid: str) -> str:
    """A note that the handler which a transaction names was not imported; empty if it names none."""
    entry = region.resources.transactions.get(transid)
    if entry is None or not entry.definition.handler:
        return ""
    handler = entry.definition.handler
    return f"it has no program: its handler {handler} was not imported; region.load_handlers() imports it"


def _code(error: BaseException) -> str:
    return str(getattr(error, "message_id", "") or type(error).__name__)


def _description(strand: Strand, error: BaseException) -> str:
    cause = error.__cause__ if error.__cause__ is not None else error
    places = user_places(cause.__traceback__)
    place = f" ({places[-1]})" if places else ""
    return f"{strand.name}: {error}{place}"
