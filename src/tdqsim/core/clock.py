"""The one source of time.

Nothing else in the package reads the machine's clock. A :class:`Clock` is that reading plus the jumps made so far:
freezegun drives it (the functions of :mod:`time` are looked up at each call, since freezegun does not patch a kept
reference), and a simulated wait moves it forward instead of sleeping. Several regions and systems share one clock.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

__all__ = ["NS_PER_SECOND", "Clock"]

NS_PER_SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    """Time for everything that is simulated: signatures, ABSTIME, *DTS, and the deadlines of waits.

    Args:
        simulated: True (the default) lets the dispatcher jump to the next deadline when every task waits. False makes
            such a wait last as long as it says, for a process that serves people or other programs.
    """

    __slots__ = ("_jumped_ns", "simulated")

    def __init__(self, *, simulated: bool = True) -> None:
        self.simulated = simulated
        self._jumped_ns = 0

    def time_ns(self) -> int:
        """Nanoseconds since 1970-01-01 00:00 UTC, the jumps included."""
        return time.time_ns() + self._jumped_ns

    def now(self) -> datetime:
        """The same moment as an aware datetime in UTC, to the microsecond."""
        return _EPOCH + timedelta(microseconds=self.time_ns() // 1000)

    def advance(self, seconds: float) -> None:
        """Move time forward by a number of seconds.

        Deadlines that pass are acted upon at the next dispatch: the next command outside a task, or ``run()``.

        Raises:
            ValueError: the number is negative; simulated time does not run backward.
        """
        if seconds < 0:
            raise ValueError(f"time does not run backward: advance({seconds!r}); allowed is 0 or more seconds")
        self._jumped_ns += round(seconds * NS_PER_SECOND)

    def advance_to(self, moment_ns: int) -> None:
        """Move time forward to a moment (nanoseconds since 1970 UTC); a moment in the past changes nothing."""
        behind = moment_ns - self.time_ns()
        if behind > 0:
            self._jumped_ns += behind

    def reach(self, moment_ns: int) -> None:
        """Let a moment come: by a jump when simulated, by sleeping when not."""
        if self.simulated:
            self.advance_to(moment_ns)
            return
        while (behind := moment_ns - self.time_ns()) > 0:
            time.sleep(behind / NS_PER_SECOND)
