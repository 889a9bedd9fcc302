"""The clock in a test: still, frozen together with the rest of Python, moved on, and asked what is waited for.

Without help, a region's clock is the machine's plus the jumps of simulated waits. freezegun stops the machine's; but
then the jumps are seen by regions only, and ``datetime.now()`` in the program under test falls behind. A
:class:`FrozenClock` hands every jump to freezegun, so that both always show the same moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from tdqsim.core.clock import NS_PER_SECOND, Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.errors import NotInstalled

__all__ = ["FrozenClock", "StillClock", "Waiting", "frozen", "jump_to_next_deadline", "waiting"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NS_PER_MICROSECOND: Final = 1000
_START_NS: Final = 1_700_000_000 * NS_PER_SECOND


class StillClock(Clock):
    """A clock that moves by jumps only, so that two runs of the same thing read the same times.

    Args:
        start_ns: where it stands at first, nanoseconds since 1970 UTC.
    """

    __slots__ = ("_start_ns",)

    def __init__(self, start_ns: int = _START_NS) -> None:
        super().__init__()
        self._start_ns = start_ns

    def time_ns(self) -> int:
        """Where it stands."""
        return self._start_ns + self._jumped_ns


class FrozenClock(Clock):
    """The clock of a frozen Python: to move it moves freezegun's time, and the other way round.

    Args:
        factory: what ``freezegun.freeze_time(...).start()`` gives.
    """

    __slots__ = ("_factory",)

    def __init__(self, factory: Any) -> None:
        super().__init__()
        self._factory = factory

    def time_ns(self) -> int:
        """Nanoseconds since 1970 UTC. freezegun counts microseconds; its nanoseconds have the errors of a float."""
        micros = (super().time_ns() - self._jumped_ns + _NS_PER_MICROSECOND // 2) // _NS_PER_MICROSECOND
        return micros * _NS_PER_MICROSECOND + self._jumped_ns

    def advance(self, seconds: float) -> None:
        """Move time forward, for everybody. Less than a microsecond, which freezegun does not know, is kept here.

        Raises:
            ValueError: the number is negative.
        """
        if seconds < 0:
            raise ValueError(f"time does not run backward: advance({seconds!r}); allowed is 0 or more seconds")
        self.advance_to(self.time_ns() + round(seconds * NS_PER_SECOND))

    def advance_to(self, moment_ns: int) -> None:
        """Move time forward to a moment (nanoseconds since 1970 UTC); a moment in the past changes nothing."""
        behind = moment_ns - self.time_ns()
        if behind <= 0:
            return
        whole, rest = divmod(behind + self._jumped_ns, _NS_PER_MICROSECOND)
        self._factory.tick(timedelta(microseconds=whole))
        self._jumped_ns = rest


@contextmanager
def frozen(moment: str | datetime = "2026-01-01 08:00:00") -> Iterator[FrozenClock]:
    """Freeze Python's time with freezegun and give the clock to make regions and systems with.

    Args:
        moment: where time stands, UTC when it says nothing else.

    Raises:
        NotInstalled: freezegun is not installed.
    """
    try:
        from freezegun import freeze_time  # noqa: PLC0415  (an optional library)
    except ImportError as error:
        raise NotInstalled("to freeze time needs freezegun: pip install 'tdqsim[test]'") from error
    with freeze_time(moment) as factory:
        yield FrozenClock(factory)


class Waiting(NamedTuple):
    """A task or job that waits, as :func:`waiting` tells it.

    Attributes:
        who: the task or job.
        what: what for.
        until: the moment when it gives up; None when it waits without limit.
        holder: who could end it; empty when nobody in particular.
    """

    who: str
    what: str
    until: datetime | None
    holder: str

    def __str__(self) -> str:
        """One line for people."""
        until = f" until {self.until:%Y-%m-%d %H:%M:%S.%f}" if self.until is not None else " without limit"
        return f"{self.who} waits for {self.what}{until}{f' ({self.holder})' if self.holder else ''}"


def waiting(dispatcher: Dispatcher) -> list[Waiting]:
    """Who waits for what and until when, oldest task first."""
    found = []
    for strand in dispatcher.strands:
        queue = strand.waiting_for
        if queue is None:
            continue
        until = strand.deadline_ns
        moment = None if until is None else _EPOCH + timedelta(microseconds=until // _NS_PER_MICROSECOND)
        found.append(Waiting(strand.name, queue.name, moment, queue.holders() if queue.holders is not None else ""))
    return found


def jump_to_next_deadline(dispatcher: Dispatcher) -> datetime | None:
    """Move the clock to the next deadline and let those run whose it is.

    Returns:
        The moment; None when there is no deadline, and then nothing happens.
    """
    deadline = dispatcher.next_deadline_ns()
    if deadline is None:
        return None
    dispatcher.clock.reach(deadline)
    dispatcher.run_ready()
    return _EPOCH + timedelta(microseconds=deadline // _NS_PER_MICROSECOND)
