"""Clocks for tests: a clock that stands still, a clock that is frozen with the rest of Python, and the list of waits.

By default, a region's clock is the machine's clock plus the jumps of simulated waits. freezegun stops the machine's
clock, but only regions see the jumps, so ``datetime.now()`` in the program under test falls behind. A
:class:`FrozenClock` passes every jump to freezegun, so both always show the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from tdqsim.core.clock import NS_PER_SECOND, Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.errors import ExtraMissing, WrongValue

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NS_PER_MICROSECOND: Final = 1000
_START_NS: Final = 1_700_000_000 * NS_PER_SECOND


class StillClock(Clock):
    """A clock that moves by jumps only, so that two runs of the same program read the same times.

    Args:
        start_ns: its first time, in nanoseconds since 1970 UTC.
    """

    __slots__ = ("_start_ns",)

    def __init__(self, start_ns: int = _START_NS) -> None:
        super().__init__()
        self._start_ns = start_ns

    def time_ns(self) -> int:
        """The time, in nanoseconds since 1970 UTC."""
        return self._start_ns + self._jumped_ns


class FrozenClock(Clock):
    """The clock while Python's time is frozen: moving it moves freezegun's time, and the other way round.

    Args:
        factory: the result of ``freezegun.freeze_time(...).start()``.
    """

    __slots__ = ("_factory",)

    def __init__(self, factory: Any) -> None:
        super().__init__()
        self._factory = factory

    def time_ns(self) -> int:
        """Nanoseconds since 1970 UTC, from freezegun's microseconds, since its nanoseconds have rounding errors."""
        micros = (super().time_ns() - self._jumped_ns + _NS_PER_MICROSECOND // 2) // _NS_PER_MICROSECOND
        return micros * _NS_PER_MICROSECOND + self._jumped_ns

    def advance(self, seconds: float) -> None:
        """Move time forward, for all of Python. Parts of a microsecond, which freezegun does not have, are kept here.

        Raises:
            ValueError: the number is negative.
        """
        if seconds < 0:
            raise WrongValue(f"time does not run backward: advance({seconds!r}); allowed is 0 or more seconds")
        self.advance_to(self.time_ns() + round(seconds * NS_PER_SECOND))

    def advance_to(self, moment_ns: int) -> None:
        """Move time forward to a moment (nanoseconds since 1970 UTC); do nothing for a moment in the past."""
        behind = moment_ns - self.time_ns()
        if behind <= 0:
            return
        whole, rest = divmod(behind + self._jumped_ns, _NS_PER_MICROSECOND)
        self._factory.tick(timedelta(microseconds=whole))
        self._jumped_ns = rest
        self._moved()


@contextmanager
def frozen(moment: str | datetime = "2026-01-01 08:00:00") -> Iterator[FrozenClock]:
    """Freeze Python's time with freezegun, and return the clock for regions and systems.

    Args:
        moment: the time, in UTC unless it names a time zone.

    Raises:
        ExtraMissing: freezegun is not installed.
    """
    try:
        from freezegun import freeze_time  # noqa: PLC0415  (an optional library)
    except ImportError as error:
        raise ExtraMissing("freezegun", "test") from error
    with freeze_time(moment) as factory:
        yield FrozenClock(factory)


class Waiting(NamedTuple):
    """A task or job that waits, as :func:`waiting` lists it.

    Attributes:
        who: the waiting task or job.
        what: what it waits for.
        until: the moment when its wait ends without success; None if it waits without limit.
        holder: the task or job that holds what it waits for; empty if there is none.
    """

    who: str
    what: str
    until: datetime | None
    holder: str

    def __str__(self) -> str:
        """The wait on one line."""
        until = f" until {self.until:%Y-%m-%d %H:%M:%S.%f}" if self.until is not None else " without limit"
        return f"{self.who} waits for {self.what}{until}{f' ({self.holder})' if self.holder else ''}"


def waiting(dispatcher: Dispatcher) -> list[Waiting]:
    """The tasks and jobs that wait, with what they wait for and until when, oldest task first."""
    waits = []
    for fiber in dispatcher.fibers:
        queue = fiber.waiting_for
        if queue is None:
            continue
        until = fiber.deadline_ns
        moment = None if until is None else _EPOCH + timedelta(microseconds=until // _NS_PER_MICROSECOND)
        waits.append(Waiting(fiber.name, queue.name, moment, queue.holders() if queue.holders is not None else ""))
    return waits


def jump_to_next_deadline(dispatcher: Dispatcher) -> datetime | None:
    """Move the clock to the next deadline, and run the tasks whose wait ends then.

    Returns:
        The time of the deadline; None if there is no deadline, and then nothing happens.
    """
    deadline = dispatcher.next_deadline_ns()
    if deadline is None:
        return None
    dispatcher.clock.reach(deadline)
    dispatcher.run_ready()
    return _EPOCH + timedelta(microseconds=deadline // _NS_PER_MICROSECOND)
