"""Fibers, the queues in which they wait, and timers; :mod:`tdqsim.core.dispatch` explains how they work together."""

from __future__ import annotations

from _thread import get_ident
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
    T_co = TypeVar("T_co", covariant=True)  # only type checkers need the default, whose import is slow


class WaitMark:
    """The type of :data:`WAIT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "WAIT"


WAIT: Final = WaitMark()
"""The result of an attempt that cannot succeed yet."""


class TimedOut(TdqError, TimeoutError):
    """A wait reached its deadline."""


class WaitQueue:
    """Fibers that wait for the same thing, in order of arrival.

    Args:
        name: the event waited for, as shown to people, such as ``TD_READ PAYQ``.
        holders: called when a wait can never end; returns a text that names the tasks that could have ended it.

    Attributes:
        order: the waiting fibers as keys, in order of arrival; only the dispatcher changes it.
    """

    __slots__ = ("holders", "name", "order")

    def __init__(self, name: str, holders: Callable[[], str] | None = None) -> None:
        self.name = name
        self.holders = holders
        self.order: OrderedDict[Fiber, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self.order)

    def __bool__(self) -> bool:
        return bool(self.order)

    @property
    def waiters(self) -> tuple[Fiber, ...]:
        """The waiting fibers, in order of arrival."""
        return tuple(self.order)

    @property
    def first(self) -> Fiber | None:
        """The fiber that has waited longest, or None."""
        return next(iter(self.order), None)

    def is_first(self, fiber: Fiber) -> bool:
        """Whether no other fiber is ahead of this one; true too for a fiber not yet in an empty queue."""
        return not self.order or next(iter(self.order)) is fiber

    def wake_one(self) -> None:
        """Let the first waiter try again."""
        first = self.first
        if first is not None:
            first.dispatcher.make_ready(first)

    def wake_all(self) -> None:
        """Let every waiter try again, in order."""
        for fiber in tuple(self.order):
            fiber.dispatcher.make_ready(fiber)


class Fiber(Generic[T_co]):
    """One task of a dispatcher, whose program returns T_co; also the handle for the code that started it.

    The first argument is its dispatcher, ``local`` what its owner keeps with it, the others are those of ``spawn``.

    Attributes:
        name: the text of the object that was passed as its name, for people and traces.
        owner: the region or system that the fiber belongs to; when that closes, it ends the fiber.
        number: start order on its dispatcher, from 1; 0 is the program outside.
        waiting_for: the queue it is parked on, or None.
        deadline_ns: when its wait times out, or None.
        exception: the exception that ended it, or None.
        reported: whether the exception has been passed on: raised from :meth:`result`, or set by :meth:`cancel`.
        local: data that the owner keeps with the fiber.
        rank_ns: how much time before the moment at which it became ready the fiber counts as ready; see
            :meth:`Dispatcher.rank`.

    Only the dispatcher uses the other attributes:
        call: the function to run; None once it has begun.
        worker: the greenlet that runs it; None before it begins and after it ends.
        in_ready: whether it is in the dispatcher's queue of ready fibers.
        place_ns: the moment by which it is placed there; meaningful only once fibers have ranks.
        thrown: an exception to raise in the fiber at its next turn, or None.
        value: the function's return value; set when that has returned.
        since_ns: when its wait began.
        end_queue: the fibers that wait for its end; made by :attr:`ended` when first needed.
    """

    __slots__ = (
        "__dict__", "_name", "call", "dispatcher", "done", "in_ready", "local", "number", "owner", "value", "worker",
    )  # fmt: skip
    value: Any

    # What most fibers never change: a new one does not set it.
    deadline_ns: int | None = None
    end_queue: WaitQueue | None = None
    exception: BaseException | None = None
    place_ns = rank_ns = since_ns = 0
    reported = False
    thrown: BaseException | None = None
    waiting_for: WaitQueue | None = None

    def __init__(
        self,
        dispatcher: Dispatcher,
        name: object,
        owner: object = None,
        call: Callable[[], Any] | None = None,
        local: Any = None,
    ) -> None:
        self.dispatcher = dispatcher
        self.number = next(dispatcher.numbers)
        self._name = name
        self.owner = owner
        self.call = call
        self.local = local
        self.done = self.in_ready = False
        self.worker: greenlet | None = None

    def __repr__(self) -> str:
        state = "done" if self.done else f"waiting for {self.waiting_for.name}" if self.waiting_for else "active"
        return f"<Fiber {self.number} {self.name}: {state}>"

    @property
    def name(self) -> str:
        """See the class."""
        return str(self._name)

    def abandon(self) -> None:
        """Called when an exception has ended it, maybe before its function did anything."""

    @property
    def ended(self) -> WaitQueue:
        """The queue in which other fibers wait for its end."""
        if self.end_queue is None:
            self.end_queue = WaitQueue(f"the end of {self.name}")
        return self.end_queue

    def result(self) -> T_co:
        """Run fibers until this one ends, and return its function's value.

        Raises:
            WouldWaitForever: it waits for something that can never happen.
            WrongThread: called in another thread than the dispatcher's.
            BaseException: the exception that ended the fiber's function.
        """
        if self.dispatcher.thread != get_ident():
            self.dispatcher.check_thread()
        if not self.done:
            self.dispatcher.wait(lambda: None if self.done else WAIT, self.ended)
        if self.exception is not None:
            self.reported = True
            raise self.exception
        value: T_co = self.value
        return value

    def cancel(self, exception: BaseException) -> bool:
        """End its wait by raising ``exception`` in it at its next turn; False when it was not waiting.

        Raises:
            WrongThread: called in another thread than the dispatcher's.
        """
        self.dispatcher.check_thread()
        if self.done or self.waiting_for is None:
            return False
        self.thrown = exception
        self.reported = True
        self.dispatcher.make_ready(self)
        return True


class Timer:
    """A callback at a moment on the clock; a simulated clock does not jump for the sake of a ``passive`` one."""

    __slots__ = ("callback", "deadline_ns", "dispatcher", "passive")

    def __init__(
        self, dispatcher: Dispatcher, deadline_ns: int, callback: Callable[[], None], *, passive: bool
    ) -> None:
        self.dispatcher = dispatcher
        self.deadline_ns = deadline_ns
        self.callback: Callable[[], None] | None = callback
        self.passive = passive

    def cancel(self) -> None:
        """Cancel the call.

        Raises:
            WrongThread: called in another thread than the dispatcher's.
        """
        self.dispatcher.check_thread()
        self.callback = None
