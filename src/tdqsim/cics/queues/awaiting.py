"""Cycles of the last run that wait for the handler of their transaction.

A region that is started again has its definitions at once, but the Python functions of its transactions only when the
program has registered them. A cycle that was on when the last run ended goes on when its transaction has a program.
"""

from __future__ import annotations

from collections.abc import Iterable

from tdqsim.cics.model.queue import IntraTdQueue
from tdqsim.cics.model.region import RegionData

__all__ = ["AwaitingHandlers"]


class AwaitingHandlers:
    """The queues of one region whose cycles wait so."""

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self._queues: list[IntraTdQueue] = []

    def begin(self, due: Iterable[IntraTdQueue]) -> None:
        """Go on with cycles of the last run, those that can."""
        for queue in due:
            if self._waits(queue):
                self._queues.append(queue)
                self._region.log.warning("start_waits_for_handler", queue=queue.name, transid=queue.transid)
            else:
                self._schedule(queue)

    def _waits(self, queue: IntraTdQueue) -> bool:
        entry = self._region.transactions.get(queue.transid)
        return entry is None or (entry.program is None and entry.enabled)

    def _schedule(self, queue: IntraTdQueue) -> None:
        if self._region.tdqueues.get(queue.name) is queue and queue.latched is not None:
            self._region.ati.schedule(queue)

    def look_again(self) -> None:
        """A handler was registered: go on with the cycles that waited for it."""
        queues, self._queues = self._queues, []
        for queue in queues:
            if self._waits(queue):
                self._queues.append(queue)
            else:
                self._schedule(queue)
