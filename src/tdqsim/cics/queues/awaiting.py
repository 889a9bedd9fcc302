"""Starts of the last run that wait for the handler of their transaction.

A restarted region has its definitions at once, but it has the Python functions of its transactions only after the
program has registered them. A trigger cycle that was on when the last run ended, and a START whose time has come since
then, continue when their transaction has a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from tdqsim.cics.model.region import RegionData
from tdqsim.core.named import NamedTuple


class _Start(Protocol):
    @property
    def transid(self) -> str:
        """The transaction. It is looked up at each use, since SET TDQUEUE may change it while the start waits."""


class PendingStart(NamedTuple):
    """A start of the last run.

    Attributes:
        what: the queue or the START request.
        name: its name, for the log.
        go_on: called when its transaction has a program.
    """

    what: _Start
    name: str
    go_on: Callable[[], object]


class AwaitingHandlers:
    """The starts of one region that wait for a handler."""

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self._pending: list[PendingStart] = []

    def begin(self, due: Iterable[PendingStart]) -> None:
        """Continue those starts of the last run whose transaction has a program; the others wait."""
        for start in due:
            if self._waits(start):
                self._pending.append(start)
                self._region.notices.say("start_waits_for_handler", name=start.name, transid=start.what.transid)
            else:
                start.go_on()

    def _waits(self, start: PendingStart) -> bool:
        entry = self._region.transactions.get(start.what.transid)
        return entry is None or (entry.program is None and entry.enabled)

    def look_again(self) -> None:
        """Called when a handler was registered: continue the starts that waited for it."""
        pending, self._pending = self._pending, []
        for start in pending:
            if self._waits(start):
                self._pending.append(start)
            else:
                start.go_on()
