"""Starts of the last run that wait for the handler of their transaction.

A region that is started again has its definitions at once, but the Python functions of its transactions only when the
program has registered them. A trigger cycle that was on when the last run ended, and a START whose time has come
meanwhile, go on when their transaction has a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from tdqsim.cics.model.region import RegionData

__all__ = ["AwaitingHandlers", "PendingStart"]


class _Start(Protocol):
    @property
    def transid(self) -> str:
        """The transaction; that of a queue can be changed while it waits."""


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
    """The starts of one region that wait so."""

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self._pending: list[PendingStart] = []

    def begin(self, due: Iterable[PendingStart]) -> None:
        """Go on with starts of the last run, those that can."""
        for start in due:
            if self._waits(start):
                self._pending.append(start)
                self._region.log.warning("start_waits_for_handler", name=start.name, transid=start.what.transid)
            else:
                start.go_on()

    def _waits(self, start: PendingStart) -> bool:
        entry = self._region.transactions.get(start.what.transid)
        return entry is None or (entry.program is None and entry.enabled)

    def look_again(self) -> None:
        """A handler was registered: go on with the starts that waited for it."""
        pending, self._pending = self._pending, []
        for start in pending:
            if self._waits(start):
                self._pending.append(start)
            else:
                start.go_on()
