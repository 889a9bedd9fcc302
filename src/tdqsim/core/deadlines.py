"""The deadlines of a dispatcher: ends of waits, timers, and callbacks after a round of turns.

Deadlines are in a heap and are never removed from its middle: an entry whose wait is over, or whose timer was
cancelled, is *stale* and is dropped when it reaches the top. A callback that an interrupt cuts short is called again;
``_firing`` holds it until it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count

from tdqsim.core.clock import Clock
from tdqsim.core.fiber import Fiber, Timer

Entry = tuple[int, int, Fiber | Timer]
"""A moment, a unique number, and the fiber or timer that is due then."""


class Agenda:
    """Deadlines and rounds of one dispatcher.

    Args:
        clock: the clock of all moments.
        make_ready: lets a fiber try again.

    Attributes:
        deadlines: a heap of entries; the dispatcher checks at each turn whether it is empty.
        rounds: timers to call when the dispatcher has given a number of turns.
    """

    __slots__ = ("_clock", "_firing", "_make_ready", "_numbers", "deadlines", "rounds")

    def __init__(self, clock: Clock, make_ready: Callable[[Fiber], None]) -> None:
        self._clock = clock
        self._make_ready = make_ready
        self._numbers = count()
        self._firing: tuple[Timer, Callable[[], None]] | None = None
        self.deadlines: list[Entry] = []
        self.rounds: list[tuple[int, Timer]] = []

    def add(self, deadline_ns: int, who: Fiber | Timer) -> None:
        """Add a fiber or timer that is due at a moment, in nanoseconds since 1970 UTC."""
        heappush(self.deadlines, (deadline_ns, next(self._numbers), who))

    def now(self) -> int:
        """The present moment, in nanoseconds since 1970 UTC."""
        return self._clock.time_ns()

    def next_ns(self) -> int | None:
        """The next moment at which something is due, or None."""
        self._drop_stale()
        return self.deadlines[0][0] if self.deadlines else None

    def comes_to(self, waiting: Iterable[Fiber]) -> bool:
        """Whether the clock may jump to the next deadline: passive timers alone count only while a fiber waits."""
        return any(not _is_passive(who) for _, _, who in self.deadlines) or any(each.waiting_for for each in waiting)

    @property
    def has_active_timer(self) -> bool:
        """Whether there is a timer that is neither passive nor cancelled."""
        return any(
            isinstance(who, Timer) and not who.passive and who.callback is not None for *_, who in self.deadlines
        )

    def _drop_stale(self) -> None:
        while self.deadlines and is_stale(self.deadlines[0]):
            heappop(self.deadlines)

    def fire_due(self) -> None:
        """Call the timers and wake the fibers that are due by now."""
        due = self.next_ns()
        if due is None or due > (now := self._clock.time_ns()):
            return
        while self.deadlines and self.deadlines[0][0] <= now:
            who = self.deadlines[0][2]
            if isinstance(who, Timer):
                self._call_back(who)  # this removes the callback, which makes the entry stale
            else:
                self._make_ready(who)
                heappop(self.deadlines)
            self._drop_stale()

    def end_rounds(self, turns: int) -> None:
        """Call the timers that are due after this number of turns."""
        for due in [each for each in self.rounds if each[0] <= turns]:
            self._call_back(due[1])
        self.rounds[:] = [each for each in self.rounds if each[1].callback is not None]

    def _call_back(self, timer: Timer) -> None:
        callback = timer.callback
        if callback is not None:
            self._firing = timer, callback  # kept until it has ended, so that it is called again after an interrupt
            timer.callback = None
            callback()
            self._firing = None

    def recover(self, error: BaseException) -> None:
        """After an exception: a callback cut short by an interrupt is due again; one that failed by itself is not."""
        firing, self._firing = self._firing, None
        if firing is not None and not isinstance(error, Exception):
            timer, callback = firing
            timer.callback = callback
            self.add(timer.deadline_ns, timer)


def _is_passive(who: Fiber | Timer) -> bool:
    return isinstance(who, Timer) and who.passive


def is_stale(entry: Entry) -> bool:
    """Whether an entry no longer matters: its wait is over, or its timer was cancelled."""
    deadline, _, who = entry
    if isinstance(who, Timer):
        return who.callback is None
    return who.done or who.deadline_ns != deadline
