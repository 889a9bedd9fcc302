"""The one source of time.

Only this module reads the machine's clock. The time of a :class:`Clock` is that reading plus the jumps made so far. So
freezegun works (the functions of :mod:`time` are looked up at each call, since freezegun does not patch a saved
reference), and a simulated wait moves the clock forward instead of sleeping. Several regions and systems may share a
clock.

Three kinds of waiting
    A *simulated* clock jumps to the next deadline when every task waits. With a *real* clock the thread sleeps until
    then, and another thread may end the sleep with :meth:`Clock.wake`. A real clock may be *frozen*: it stands still, a
    wait lasts until the clock is moved, and :meth:`Clock.thaw` lets it run on from there.

When the machine's clock is set
    Forward: a real clock follows it, as after the machine has slept. Back: a real clock runs on, so that no wait is
    longer than requested, and stays ahead of the machine's clock from then on. The functions in
    :attr:`Clock.on_set_back` are called. The time that has passed meanwhile is that of the monotonic clock. The two are
    compared when a thread begins and ends to sleep, and not at each reading. A simulated clock is not affected: its
    waits jump.

A clock belongs to the thread of its dispatcher, like everything that is simulated. Other threads may only read it and
call :meth:`Clock.wake`.
"""

from __future__ import annotations

import os
import time
from _thread import LockType, allocate_lock, get_ident
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Protocol
from weakref import WeakSet

from tdqsim.errors import UsageError, WrongThread, WrongType, WrongValue

NS_PER_SECOND: Final = 1_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_NAP: Final = 5.0
"""Seconds after which a sleeping thread reads the machine's clock again, because that clock may have been set."""
_SET_BACK_NS: Final = NS_PER_SECOND
"""Less than this is no setting back: a thread may lose the processor between two readings."""
_LONGEST_PASSED_NS: Final = 86_400 * NS_PER_SECOND
"""More than this between two comparisons is not believed: a test has replaced the second clock in between."""
NO_THREAD: Final = -1
_END_NS: Final = 2**63 - 1
"""The last moment of a clock, in the year 2262: the largest signed number of 8 bytes in nanoseconds since 1970."""


class _Owned(Protocol):
    """An object that belongs to a thread: ``thread`` is the thread's identifier, or -1 for no thread."""

    thread: int


_owned: WeakSet[_Owned] = WeakSet()


def belongs_here(owned: _Owned) -> None:
    """Bind an object to the calling thread; in a forked child it belongs to no thread."""
    owned.thread = get_ident()
    _owned.add(owned)


def _disown_all() -> None:
    for owned in tuple(_owned):
        owned.thread = NO_THREAD


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)


def time_zone(name: str) -> tzinfo:
    """The time zone of this IANA name, such as ``Europe/Berlin`` or ``UTC``.

    Raises:
        TdqError: there is no such zone.
    """
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415  (most regions are in UTC)

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(
            f"timezone {name!r} is not known; allowed are IANA names such as UTC or Europe/Berlin"
        ) from error


class Clock:
    """Time for everything that is simulated: signatures, ABSTIME, *DTS, and the deadlines of waits.

    Args:
        simulated: True (the default) lets the dispatcher jump to the next deadline when every task waits. With False
            such a wait takes real time, for a process that serves people or other programs.

    Attributes:
        thread: identifier of the thread that may move it; 0 until it is passed to a dispatcher.
        awake: a lock that the thread gives back while it sleeps; None if nobody asks for it.
        on_move: functions called after :meth:`advance`, :meth:`advance_to` or a jump has moved it; a region's day ends
            so without a timer.
        on_set_back: functions called after the machine's clock was set back under a real clock, with the nanoseconds by
            which it was, and by which this clock is ahead of it since.

    Raises:
        UsageError: the machine's clock, which a test may have replaced, is before 1970 or after 2262.
    """

    __slots__ = (
        "__weakref__", "_ahead_ns", "_alarm", "_jumped_ns", "_machine_ns", "_steady_ns", "_stood_ns", "awake",
        "on_move", "on_set_back", "simulated", "thread",
    )  # fmt: skip

    def __init__(self, *, simulated: bool = True) -> None:
        if not 0 <= time.time_ns() <= _END_NS:
            raise UsageError(
                f"the machine's clock, or what stands for it in a test, is at {time.time():.0f} seconds since 1970; "
                "allowed are the years 1970 to 2262"
            )
        self.simulated = simulated
        self.thread = 0
        self._jumped_ns = 0
        self.on_move: list[Callable[[], None]] = []
        self.on_set_back: list[Callable[[int, int], None]] = []
        self._ahead_ns = 0
        self._machine_ns, self._steady_ns = time.time_ns(), time.monotonic_ns()  # at the last comparison
        self._stood_ns: int | None = None
        self.awake: LockType | None = None
        self._alarm = allocate_lock()  # a one-bit event: locked unless wake() was called
        self._alarm.acquire()

    def time_ns(self) -> int:
        """Nanoseconds since 1970-01-01 00:00 UTC, including the jumps."""
        stood = self._stood_ns
        return (time.time_ns() if stood is None else stood) + self._jumped_ns

    def now(self) -> datetime:
        """The same moment as an aware datetime in UTC, to the microsecond."""
        return _EPOCH + timedelta(microseconds=self.time_ns() // 1000)

    # -- moving it ------------------------------------------------------------------------------------------------

    def check_thread(self) -> None:
        """Refuse a call from another thread than the one it belongs to.

        Raises:
            WrongThread: called in another thread, or in a forked child.
        """
        if self.thread and self.thread != get_ident():
            raise WrongThread("a clock is moved only in the thread of its dispatcher; use Engine.submit from others")

    def advance(self, seconds: float) -> None:
        """Move time forward by a number of seconds.

        Deadlines that have passed take effect at the next dispatch: the next command outside a task, or ``run()``.

        Raises:
            ValueError: ``seconds`` is negative (simulated time does not run backward), NaN, or leads beyond 11 April
                2262.
            TypeError: ``seconds`` is not a number.
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        if not isinstance(seconds, int | float):
            raise WrongType(f"advance({seconds!r:.40}): allowed is a number of seconds")
        if seconds < 0:
            raise WrongValue(f"time does not run backward: advance({seconds!r}); allowed is 0 or more seconds")
        most = (_END_NS - self.time_ns()) // NS_PER_SECOND
        if not seconds <= most:
            raise WrongValue(f"advance({seconds!r:.40}): allowed are 0 to {most} seconds, to 11 April 2262")
        self._jumped_ns += round(seconds * NS_PER_SECOND)
        self._moved()

    def advance_to(self, moment_ns: int) -> None:
        """Move time forward to a moment (nanoseconds since 1970 UTC); a moment in the past changes nothing.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        behind = moment_ns - self.time_ns()
        if behind > 0:
            self._jumped_ns += behind
            self._moved()

    def _moved(self) -> None:
        for each in tuple(self.on_move):
            each()

    @property
    def frozen(self) -> bool:
        """Whether it stands still."""
        return self._stood_ns is not None

    def freeze(self) -> None:
        """Stop the clock; from then on only :meth:`advance`, :meth:`advance_to` and jumps move it.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        if self._stood_ns is None:
            self._compare()
            self._stood_ns = time.time_ns()

    def thaw(self) -> None:
        """Let the clock run on from where it stands; it stays behind the machine's clock by the time it stood still.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        stood = self._stood_ns
        if stood is not None:
            self._compare()
            self._jumped_ns, self._stood_ns = self._jumped_ns + stood - time.time_ns(), None

    def _compare(self) -> None:
        """Make good what the machine's clock was set back by since the last comparison."""
        if self.simulated:
            return
        machine, steady = time.time_ns(), time.monotonic_ns()
        went, passed = machine - self._machine_ns, steady - self._steady_ns
        self._machine_ns, self._steady_ns = machine, steady
        lost = (passed if 0 <= passed <= _LONGEST_PASSED_NS else 0) - went
        if lost < _SET_BACK_NS or self.frozen:  # frozen it reads no machine's clock
            return
        self._jumped_ns += lost
        self._ahead_ns += lost
        for each in tuple(self.on_set_back):
            each(lost, self._ahead_ns)

    # -- waiting --------------------------------------------------------------------------------------------------

    def reach(self, moment_ns: int) -> bool:
        """Reach a moment: by a jump when simulated, otherwise by sleeping.

        Returns:
            False when :meth:`wake` ended the sleep early.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        if self.simulated:
            self.advance_to(moment_ns)
            return True
        return not self.rest(moment_ns)

    def rest(self, until_ns: int | None = None) -> bool:
        """Sleep until a moment on this clock or until :meth:`wake`; without a moment, or frozen, only until ``wake``.

        Returns:
            Whether :meth:`wake` was called, perhaps before the sleep began.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        while True:
            self._compare()
            nap = _LONGEST_NAP
            if until_ns is not None and not self.frozen:
                behind = until_ns - self.time_ns()
                if behind <= 0:
                    return False
                nap = min(nap, behind / NS_PER_SECOND)
            if self._sleep(nap):
                self._compare()
                return True

    def _sleep(self, seconds: float) -> bool:
        """Sleep until :meth:`wake`, which it returns True for; what wants ``awake`` meanwhile gets it."""
        awake = self.awake
        if awake is None:
            return self._alarm.acquire(timeout=seconds)
        awake.release()
        try:
            return self._alarm.acquire(timeout=seconds)
        finally:
            awake.acquire()

    def wake(self) -> None:
        """End the current sleep, or the next one. Any thread may call it, any number of times."""
        if self._alarm.locked():
            with suppress(RuntimeError):  # another thread has released it in between
                self._alarm.release()
