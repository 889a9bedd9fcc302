"""Bounds on what one region may do, so that an endless handler ends a region and not a job.

Two bounds. The number of dispatches, and of commands that do not take the short way of a plain READQ or WRITEQ, is
exact: the same handlers meet it at the same place in every run. A handler that
never gives control back cannot be counted, so a timer looks on: when nothing at all has happened in the region from one
tick to the next (no dispatch, no command that changed a queue), the handler is interrupted.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Budget", "OutOfBudget"]


class OutOfBudget(BaseException):
    """A region did more than it may, or nothing for too long; the text says which."""


class Budget:
    """Watches one region or system while it works.

    Args:
        dispatches: how many dispatches and commands there may be.
        stuck_seconds: how long nothing may happen; 0 does not look.
        alive: gives something that changes whenever anything happens.
    """

    def __init__(self, dispatches: int, stuck_seconds: float, alive: Callable[[], Any]) -> None:
        self.dispatches = dispatches
        self.stuck_seconds = stuck_seconds
        self._alive = alive
        self.used = 0
        self._seen: Any = None

    def dispatched(self, _strand: object) -> None:
        """A task is about to run, or has issued a command."""
        self.used += 1
        if self.used > self.dispatches:
            raise OutOfBudget(f"more than {self.dispatches:,} dispatches and commands; its tasks go on for ever")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look on while the block runs; only in a process's main thread, elsewhere the count alone holds."""
        if not self.stuck_seconds or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, self._tick)
        signal.setitimer(signal.ITIMER_REAL, self.stuck_seconds, self.stuck_seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _tick(self, _number: int, _frame: object) -> None:
        now = (self.used, self._alive())
        if now == self._seen:
            raise OutOfBudget(f"nothing happened for {self.stuck_seconds:g} s; a program of it does not come to an end")
        self._seen = now
