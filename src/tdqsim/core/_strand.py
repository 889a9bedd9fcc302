"""What is dispatched: strands, the queues where they wait, and timers. The theory is :mod:`tdqsim.core.dispatch`'s."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from greenlet import greenlet

from tdqsim.errors import TdqError

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    from tdqsim.core.dispatch import Dispatcher

    T_co = TypeVarWithDefault("T_co", covariant=True, default=Any)
else:
    T_co = TypeVar("T_co", covariant=True)  # the default is for type checkers, and dear to import

__all__ = ["WAIT", "Strand", "T_co", "TimedOut", "Timer", "WaitMark", "WaitQueue"]


class WaitMark:
    """The type of :data:`WAIT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "WAIT"


WAIT: Final = WaitMark()
"""What an attempt returns when it cannot go on yet."""


class TimedOut(TdqError):
    """A wait reached its deadline."""


class WaitQueue:
    """Strands that wait for the same thing, in order of arrival.

    Args:
        name: what is waited for, as people should read it, such as ``TD_READ PAYQ``.
        holders: called when a wait can never end, to say who could have ended it.
    """

    __slots__ = ("_waiters", "holders", "name")

    def __init__(self, name: str, holders: Callable[[], str] | None = None) -> None:
        self.name = name
        self.holders = holders
        self._waiters: OrderedDict[Strand, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiters)

    def __bool__(self) -> bool:
        return bool(self._waiters)

    @property
    def waiters(self) -> tuple[Strand, ...]:
        """The strands that wait, first come first."""
        return tuple(self._waiters)

    @property
    def first(self) -> Strand | None:
        """The strand that has waited longest, or None."""
        return next(iter(self._waiters), None)

    def is_first(self, strand: Strand) -> bool:
        """Whether nobody else is in front: true for the first waiter, and for a newcomer to an empty queue."""
        return not self._waiters or next(iter(self._waiters)) is strand

    def wake_one(self) -> None:
        """Let the first waiter try again."""
        first = self.first
        if first is not None:
            first.dispatcher._make_ready(first)  # noqa: SLF001  (one mechanism in two classes)

    def wake_all(self) -> None:
        """Let every waiter try again, in order."""
        for strand in tuple(self._waiters):
            strand.dispatcher._make_ready(strand)  # noqa: SLF001


class Strand(Generic[T_co]):
    """One task as the dispatcher sees it; also the handle that its starter holds, of a program that returns T_co.

    The first argument is its dispatcher, the others are those of ``spawn``. ``abandon`` is called when an exception
    has ended the strand, maybe before its function did anything.

    Attributes:
        name: for people and traces; the text of what it was given as.
        owner: whose strand it is (a region or a system); that one's close ends it.
        number: order of their beginnings on its dispatcher, from 1; 0 is the program outside.
        waiting_for: the queue it is parked on, or None.
        deadline_ns: when its wait gives up, or None.
        exception: what ended it, or None.
        told: whether somebody has been told of that: who asked for its result, or who ended it.
        local: a place for the owner to keep what belongs to the strand.
    """

    __slots__ = (
        "_abandon", "_call", "_ended", "_in_ready", "_name", "_thrown", "_value", "_worker", "deadline_ns",
        "dispatcher", "done", "exception", "local", "number", "owner", "since_ns", "told", "waiting_for",
    )  # fmt: skip

    def __init__(
        self,
        dispatcher: Dispatcher,
        name: object,
        owner: object = None,
        call: Callable[[], Any] | None = None,
        local: Any = None,
        abandon: Callable[[], object] | None = None,
    ) -> None:
        self.dispatcher = dispatcher
        self.number = 0
        self._name = name
        self.owner = owner
        self._call = call
        self.local = local
        self._abandon = abandon
        self.done = False
        self.exception: BaseException | None = None
        self.told = False
        self.waiting_for: WaitQueue | None = None
        self.since_ns = 0
        self.deadline_ns: int | None = None
        self._ended: WaitQueue | None = None
        self._value: Any = None
        self._worker: greenlet | None = None
        self._in_ready = False
        self._thrown: BaseException | None = None

    def __repr__(self) -> str:
        state = "done" if self.done else f"waiting for {self.waiting_for.name}" if self.waiting_for else "active"
        return f"<Strand {self.number} {self.name}: {state}>"

    @property
    def name(self) -> str:
        """See the class."""
        return str(self._name)

    @property
    def ended(self) -> WaitQueue:
        """Where others wait for its end."""
        if self._ended is None:
            self._ended = WaitQueue(f"the end of {self.name}")
        return self._ended

    def result(self) -> T_co:
        """Run what is needed for the strand to end, then give its return value.

        Raises:
            WouldWaitForever: it waits for something that nothing can bring about.
            WrongThread: another thread than the dispatcher's.
            BaseException: whatever left the strand's function.
        """
        self.dispatcher.check_thread()
        if not self.done:
            self.dispatcher.wait(lambda: None if self.done else WAIT, self.ended)
        if self.exception is not None:
            self.told = True
            raise self.exception
        value: T_co = self._value
        return value

    def cancel(self, exception: BaseException) -> bool:
        """End its wait by raising ``exception`` in it at the next dispatch; False when it was not waiting.

        Raises:
            WrongThread: another thread than the dispatcher's.
        """
        self.dispatcher.check_thread()
        if self.done or self.waiting_for is None:
            return False
        self._thrown = exception
        self.told = True
        self.dispatcher._make_ready(self)  # noqa: SLF001
        return True


class Timer:
    """Something to be called at a moment on the clock; ``passive`` ones never make the clock jump by themselves."""

    __slots__ = ("callback", "deadline_ns", "dispatcher", "passive")

    def __init__(
        self, dispatcher: Dispatcher, deadline_ns: int, callback: Callable[[], None], *, passive: bool
    ) -> None:
        self.dispatcher = dispatcher
        self.deadline_ns = deadline_ns
        self.callback: Callable[[], None] | None = callback
        self.passive = passive

    def cancel(self) -> None:
        """Never call it.

        Raises:
            WrongThread: another thread than the dispatcher's.
        """
        self.dispatcher.check_thread()
        self.callback = None
