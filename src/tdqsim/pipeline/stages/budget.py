"""Bounds on what one region may do, so that an endless handler ends a region and not a job.

Two bounds. The number of dispatches and commands is exact: the same handlers meet it at the same place in every run
(the short ways of a plain READQ or WRITEQ are not counted one by one, but looked up now and then). A handler that
never gives control back cannot be counted, so a timer looks on: when nothing at all has happened in the region from one
tick to the next (no dispatch, no command that changed a queue), the handler is interrupted.

A handler that swallows even that (``except:`` in an endless loop) is left where it is and never taken up again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from greenlet import getcurrent, greenlet

__all__ = ["Budget", "OutOfBudget"]

_LOOK: Final = 1024
"""Commands of the short way are looked up every so many counted ones; every full control interval counts one."""
_PATIENCE: Final = 3
_TICK_SECONDS: Final = 2.0
_left_behind: Final[list[greenlet]] = []
"""Handlers that would not end; letting go of one would take it up again, to end it."""


class OutOfBudget(BaseException):
    """A region did more than it may, or nothing for too long; the text says which."""


class Budget:
    """Watches one region or system while it works."""

    def __init__(self, commands: int, stuck_seconds: float, done: Callable[[], int]) -> None:
        self.commands = commands
        self.stuck_seconds = stuck_seconds
        self._done = done
        self.used = 0
        self._refused = 0
        self._every = min(stuck_seconds, _TICK_SECONDS)
        self._idle = 0.0
        self._seen = (-1, -1)

    def dispatched(self, _strand: object) -> None:
        """A task is about to run, or has issued a command."""
        self.used += 1
        if self.used > self.commands or (not self.used % _LOOK and self._done() > self.commands):
            self._refuse_more()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look on while the block runs; only in a process's main thread, elsewhere the count alone holds."""
        if not self.stuck_seconds or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, self._tick)
        signal.setitimer(signal.ITIMER_REAL, self._every, self._every)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _tick(self, _number: int, _frame: object) -> None:
        now = (self.used, self._done())
        self._idle = self._idle + self._every if now == self._seen else 0.0
        self._seen = now
        if self._idle >= self.stuck_seconds or self._refused:
            self._refuse(f"nothing happened for {self.stuck_seconds:g} s; a program of it does not come to an end")
        if now[1] > self.commands:
            self._refuse_more()

    def _refuse_more(self) -> None:
        self._refuse(f"more than {self.commands:,} dispatches and commands; its tasks go on for ever")

    def _refuse(self, text: str) -> None:
        self._refused += 1
        error = OutOfBudget(text)
        here = getcurrent()
        if self._refused > _PATIENCE and here.parent is not None:
            _left_behind.append(here)
            here.parent.throw(error)
        raise error
