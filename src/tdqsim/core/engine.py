"""A thread that owns a dispatcher, and the entry point for all other threads.

Regions and systems belong to one thread, which makes them fast and repeatable. A program with several threads, or with
an asyncio loop, uses an :class:`Engine`, which starts a thread for them: regions and systems are made, used and closed
there, and all other threads *submit* calls. ``submit`` never blocks: it returns a :class:`concurrent.futures.Future`
(``asyncio.wrap_future`` makes it awaitable). Each call runs as a fiber, so that it may wait like a task: it is parked
and blocks no thread. The result of a call that starts a task, ``lambda: region.start(fn)``, is the task's result.

    program's threads                    the engine's thread
    submit(call) ----> inbox ---wake--->  take in -> fiber -> dispatch ... -> rest until wake or the next deadline
    future       <----------------------  result of the fiber
    Subscription <----------------------  publish(event)

``future.cancel()`` works until the call has ended: it ends the call's wait by raising :class:`CallCancelled` in it.
:meth:`Engine.stop` accepts no new calls, gives running tasks time to end, reports those that did not, and closes the
regions and systems that :meth:`Engine.make` has made, the last one first.

The clock is usually a real one. If it is frozen (:meth:`~tdqsim.core.clock.Clock.freeze`), only calls move it. A
simulated clock jumps whenever no task is ready, even if other threads are about to submit calls.
"""

from __future__ import annotations

import time
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread, get_ident
from typing import Any, Final, Protocol, Self, TypeVar

from tdqsim.core.callables import refuse_coroutine, why_unusable
from tdqsim.core.clock import NO_THREAD, NS_PER_SECOND, Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import WAIT, Fiber, WaitMark, WaitQueue
from tdqsim.errors import TdqError, UsageError, WrongThread

T = TypeVar("T")
M = TypeVar("M", bound="_Closable")


class ResultReceiver(Protocol):
    """Where the engine puts the result of a call; a :class:`concurrent.futures.Future` is one."""

    def cancelled(self) -> bool:
        """Whether the result is no longer needed; called in any thread."""

    def set_result(self, result: Any, /) -> None:
        """Set the result; InvalidStateError if there is one, or it is no longer needed."""

    def set_exception(self, exception: BaseException, /) -> None:
        """Set the exception; InvalidStateError as for a result."""


_GRACE: Final = 5.0
"""Seconds that closing may take beyond the time given for tasks to end, before the engine's thread is given up."""
_EVENTS_KEPT: Final = 10_000
_CHANGED: Final = -1
"""Stands for the turns that watchers have seen when something was changed without a turn."""


class EngineStopped(TdqError):
    """The engine accepts no more calls, or stopped before this call ended."""


class CallCancelled(TdqError, CancelledError):
    """The submitter has cancelled a call; this is raised where the call waits."""


@dataclass(frozen=True, slots=True)
class EngineFault:
    """An event: an exception in the engine's thread that belongs to no future.

    Attributes:
        error: the exception.
    """

    error: BaseException


@dataclass(frozen=True, slots=True)
class Stopped:
    """How an engine ended; it is also the last event that the engine publishes.

    Attributes:
        in_time: whether its thread has ended; False when a task kept control.
        unfinished: the names of the tasks and calls that had not ended by themselves, in start order.
        errors: the exceptions raised while regions and systems were closed.
    """

    in_time: bool
    unfinished: tuple[str, ...]
    errors: tuple[BaseException, ...]


class _Closable(Protocol):
    """A region or a system."""

    def close(self) -> object:
        """Close it."""


class _Answer(Future[T]):
    """A future that cannot be waited for in the engine's own thread, because that would hang."""

    def __init__(self, thread: Callable[[], int | None]) -> None:
        super().__init__()
        self._thread = thread

    def _check(self) -> None:
        if not self.done() and self._thread() == get_ident():
            raise WrongThread("the engine's own thread cannot wait for a future of it: use result() of the task")

    def result(self, timeout: float | None = None) -> T:
        self._check()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._check()
        return super().exception(timeout)


class Subscription:
    """The events for one listener in another thread or loop.

    Args:
        limit: how many events are kept; beyond that the oldest is dropped.
        wake: called in the engine's thread when the first event arrives after :meth:`take`; it must be quick, such as
            ``partial(loop.call_soon_threadsafe, event.set)`` or ``event.set``.
        wanted: called in the engine's thread; whether the listener receives an event. None for all events.

    Attributes:
        lost: how many events were dropped because the listener did not take them.
    """

    def __init__(
        self, limit: int, wake: Callable[[], object] | None, wanted: Callable[[object], bool] | None = None
    ) -> None:
        self.lost = 0
        self._events: deque[object] = deque()
        self._limit = limit
        self._wake = wake
        self._wanted = wanted
        self._woken = False

    def take(self) -> list[object]:
        """Remove and return the waiting events, oldest first."""
        events: list[object] = []
        self._woken = False  # reset before taking the events, so that an event added meanwhile wakes the listener again
        with suppress(IndexError):
            while True:
                events.append(self._events.popleft())
        return events

    def offer(self, event: object) -> None:
        """Add an event if the listener receives it; called by the engine."""
        if self._wanted is not None and not self._wanted(event):
            return
        self._events.append(event)
        if len(self._events) > self._limit:
            with suppress(IndexError):  # the listener has taken all events in between
                self._events.popleft()
                self.lost += 1
        if not self._woken and self._wake is not None:
            self._woken = True
            self._wake()


class Engine:
    """Owns a thread, a dispatcher in it, and the regions and systems on that dispatcher.

    Args:
        clock: a clock that no dispatcher uses yet; a real one by default.
        seed: the dispatcher's seed.
        name: the thread's name.

    Attributes:
        dispatcher: the dispatcher, for calls that run in the engine's thread.
    """

    dispatcher: Dispatcher

    def __init__(self, clock: Clock | None = None, seed: int = 0, *, name: str = "tdqsim engine") -> None:
        self._clock = clock if clock is not None else Clock(simulated=False)
        self._seed = seed
        self._inbox: deque[tuple[ResultReceiver, Callable[[], None]]] = deque()
        self._calls: dict[ResultReceiver, Fiber] = {}
        self._given_up: set[Fiber] = set()
        self._members: list[_Closable] = []
        self._listeners: tuple[Subscription, ...] = ()
        self._watched = WaitQueue("a change")
        self._seen_turns = 0
        self._at_rest = False  # whether it had nothing to do, until it was woken
        self._stop_at: float | None = None
        self._over = False
        self._ended: Stopped | None = None
        self._awake = allocate_lock()  # the engine's thread has it, except while it sleeps
        self._made = Event()
        self._failed: BaseException | None = None
        self._thread = Thread(target=self._live, name=name, daemon=True)
        self._thread.start()
        self._made.wait()
        if self._failed is not None:
            raise self._failed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- for all threads ------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether the engine accepts calls."""
        return self._stop_at is None

    def submit(self, call: Callable[[], T | Fiber], *, name: str = "a call") -> Future[T]:
        """Run a call in the engine's thread, as a fiber, which may wait.

        Args:
            call: a callable without arguments; if it returns a fiber (a started task), the result is the fiber's.
            name: the name of its fiber, for people and traces.

        Returns:
            A future with the result or the exception. Cancelling it ends the call's wait, but not a task that the call
            has started. Do not wait for it in the engine's own thread.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
            UsageError: it cannot be called without arguments, or calling it runs nothing (an async function).
        """
        if reason := why_unusable(call):
            raise UsageError(f"submit: {reason}")
        answer: _Answer[T] = _Answer(lambda: self.dispatcher.thread)
        self._post(partial(self._begin, answer, call, name), answer)
        answer.add_done_callback(self._noticed)
        return answer

    def submit_to(self, answer: ResultReceiver, call: Callable[[], object], *, name: str = "a call") -> None:
        """Run a call as :meth:`submit` does, with an answer of the caller's own in place of a future.

        Call :meth:`give_up` if the answer is cancelled.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
        """
        self._post(partial(self._begin, answer, call, name), answer)

    def give_up(self, answer: ResultReceiver) -> None:
        """End the wait of the call whose answer was cancelled, as cancelling the future of :meth:`submit` does."""
        self._inbox.append((_NO_ANSWER, partial(self._give_up, answer)))
        self._clock.wake()

    def make(self, factory: Callable[..., M], *args: object, **options: object) -> M:
        """Make a region or system in the engine's thread; the engine closes it when it stops.

        Args:
            factory: a class such as ``Region``; it is called with ``dispatcher`` in addition to these arguments.
            args: its arguments.
            options: its keyword arguments.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
            BaseException: any exception of the factory.
            WrongThread: called in the engine's own thread.
        """
        self._check_other_thread("make")

        def make() -> M:
            member = factory(*args, dispatcher=self.dispatcher, **options)
            self._members.append(member)
            return member

        return self.outside(make).result()

    def outside(self, call: Callable[[], T]) -> Future[T]:
        """Call a function in the engine's thread between the turns of its fibers; it must not wait.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
            UsageError: it cannot be called without arguments, or calling it runs nothing (an async function).
        """
        if reason := why_unusable(call):
            raise UsageError(f"submit: {reason}")
        answer: _Answer[T] = _Answer(lambda: self.dispatcher.thread)
        self._post(lambda: _answer_by(answer, call), answer)
        return answer

    def tell(self, act: Callable[[], None]) -> None:
        """Call a function as :meth:`outside` does, but without a future, which costs less.

        An exception in it is published as an :class:`EngineFault`.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
        """
        self._post(act, _NO_ANSWER)

    def look(self, act: Callable[[], None]) -> None:
        """Call a function as :meth:`tell` does, that changes nothing: if no fiber had work to do, none has now.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
        """
        self._post(act, _LOOK)

    def while_resting(self, act: Callable[[], T | None]) -> T | None:
        """Call a function in the calling thread if the engine's thread sleeps, which need not be woken for it then.

        The function must not wait: a wait in it is a :class:`~tdqsim.errors.UsageError`. While it runs, regions and
        systems belong to the calling thread.

        Returns:
            What the function returns; None also if the engine's thread is at work, and nothing was called.
        """
        dispatcher = self.dispatcher
        if not self._awake.acquire(blocking=False):
            return None
        try:
            if self._inbox or dispatcher.ready or self._stop_at is not None or dispatcher.thread == NO_THREAD:
                return None
            deadlines, outside = dispatcher.deadlines, dispatcher.outside
            first = deadlines[:1]
            dispatcher.thread, dispatcher.current = get_ident(), self._guest
            try:
                return act()
            finally:
                dispatcher.thread, dispatcher.current = self._clock.thread, outside
                if dispatcher.ready or outside.in_ready or self._watched or deadlines[:1] != first:
                    self._seen_turns = _CHANGED
                    self._clock.wake()
        finally:
            self._awake.release()

    def wait_until(self, condition: Callable[[], T | None], *, timeout: float | None = None) -> Future[T]:
        """Wait, without polling, for a condition that is checked in the engine's thread.

        Args:
            condition: called there at once, and again after other fibers have run or other calls were made, until it
                returns a true value; it must not wait, nor change anything.
            timeout: seconds on the engine's clock after which :class:`~tdqsim.core.dispatch.TimedOut` is raised.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
        """

        def attempt() -> T | WaitMark:
            return condition() or WAIT

        limit = None if timeout is None else round(timeout * NS_PER_SECOND)
        return self.submit(lambda: self.dispatcher.wait(attempt, self._watched, limit), name="a wait for a change")

    def subscribe(
        self,
        *,
        limit: int = _EVENTS_KEPT,
        wake: Callable[[], object] | None = None,
        wanted: Callable[[object], bool] | None = None,
    ) -> Subscription:
        """Receive the events that are published; see :class:`Subscription`."""
        subscription = Subscription(limit, wake, wanted)
        self._listeners = (*self._listeners, subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop receiving events."""
        self._listeners = tuple(each for each in self._listeners if each is not subscription)

    def stop(self, timeout: float = 10.0) -> Stopped:
        """Stop: accept no new calls, let tasks end, report those that did not, and close regions and systems.

        It returns before the timeout when no task is left, or only tasks that nothing can end. A second call has no
        further effect.

        Args:
            timeout: seconds in which tasks may end by themselves.

        Raises:
            WrongThread: called in the engine's own thread.
        """
        self._check_other_thread("stop")
        if self._stop_at is None:
            self._stop_at = time.monotonic() + timeout
            self._clock.wake()
        self._thread.join(timeout)
        self._clock.wake()  # the thread may sleep until a deadline after the time that tasks have
        self._thread.join(_GRACE)
        if self._ended is None:
            return Stopped(in_time=False, unfinished=(self.dispatcher.current.name,), errors=())
        return self._ended

    # -- for the engine's thread ----------------------------------------------------------------------------------

    def publish(self, event: object) -> None:
        """Pass an event to all listeners; it must be a value that other threads may read.

        Raises:
            WrongThread: called in another thread than the engine's.
        """
        self.dispatcher.check_thread()
        for each in self._listeners:
            try:
                each.offer(event)
            except Exception as error:  # noqa: BLE001  (a listener's loop may be closed; the others still get the event)
                self.unsubscribe(each)
                self.publish(EngineFault(error))

    # -- the engine's thread --------------------------------------------------------------------------------------

    def _check_other_thread(self, what: str) -> None:
        if self.dispatcher.thread == get_ident():
            raise WrongThread(f"{what}: the engine's own thread cannot wait for the engine")

    def _post(self, act: Callable[[], None], answer: ResultReceiver) -> None:
        if self.dispatcher.thread == NO_THREAD:
            raise WrongThread("the engine's thread is not in this process, which was forked")
        if self._stop_at is not None:
            raise EngineStopped("the engine no longer accepts calls")
        entry = (answer, act)
        self._inbox.append(entry)
        self._clock.wake()
        if self._over:  # the engine ended after the check above, so it will not read the inbox again
            with suppress(ValueError):
                self._inbox.remove(entry)
                raise EngineStopped("the engine no longer accepts calls")

    def _live(self) -> None:
        self._awake.acquire()
        try:
            self.dispatcher = Dispatcher(self._clock, self._seed)
            self._guest = Fiber(self.dispatcher, "a call while the engine rests")
            self._clock.awake = self._awake
        except BaseException as error:  # noqa: BLE001  (__init__ raises it in the caller's thread)
            self._failed = error
            return
        finally:
            self._made.set()
        while not self._is_over():
            try:
                self._turn()
            except BaseException as error:  # noqa: BLE001  (an exception of a task must not end the engine)
                self.publish(EngineFault(error))
        self._end()

    def _turn(self) -> None:
        dispatcher = self.dispatcher
        rests, self._at_rest = self._at_rest and bool(self._inbox), False
        while self._inbox:
            answer, act = self._inbox.popleft()
            rests = rests and answer is _LOOK
            if not answer.cancelled():
                act()
            if answer is not _LOOK:
                self._seen_turns = _CHANGED
        if rests and not dispatcher.ready:
            self._at_rest = dispatcher.rest()
            return
        if dispatcher.step() or self._inbox:
            return
        if self._tell_watchers():
            return
        for fiber in tuple(self._given_up):
            if fiber.cancel(CallCancelled("the submitter has cancelled the call")):
                return
        if not self._is_over():
            self._at_rest = dispatcher.rest()

    def _tell_watchers(self) -> bool:
        """If something may have changed since the last time, let those in :meth:`wait_until` check again."""
        dispatcher = self.dispatcher
        if not self._watched or dispatcher.turns == self._seen_turns:
            return False
        self._seen_turns = dispatcher.turns + len(self._watched)
        self._watched.wake_all()
        return True

    def _begin(self, answer: ResultReceiver, call: Callable[[], object], name: str) -> None:
        fiber = self.dispatcher.spawn(partial(self._carry_out, answer, call), name=name, owner=self)
        self._calls[answer] = fiber

    def _carry_out(self, answer: ResultReceiver, call: Callable[[], object]) -> None:
        try:
            if not answer.cancelled():
                _answer_by(answer, partial(_result_of, call))
        finally:
            fiber = self._calls.pop(answer, None)
            if fiber is not None:
                self._given_up.discard(fiber)

    def _noticed(self, answer: Future[Any]) -> None:
        """A future is done; if it was cancelled, have its fiber cancelled. Called in any thread."""
        if answer.cancelled():
            answer.set_running_or_notify_cancel()  # without this, concurrent.futures.wait() does not notice it
            self.give_up(answer)

    def _give_up(self, answer: ResultReceiver) -> None:
        fiber = self._calls.get(answer)
        if fiber is not None:
            self._given_up.add(fiber)

    # -- the end --------------------------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        """Whether the engine is stopping and either the time is up or no task can end by itself before that."""
        if self._stop_at is None:
            return False
        left = self._stop_at - time.monotonic()
        if left <= 0:
            return True
        if self._inbox or self._given_up or self.dispatcher.ready:
            return False
        return not self.dispatcher.can_go_on or self._sleeps_longer_than(left)

    def _sleeps_longer_than(self, seconds: float) -> bool:
        """Whether the next deadline is later than in so many seconds; a simulated clock jumps to it at once."""
        following = self.dispatcher.next_deadline_ns()
        if self._clock.simulated or following is None:
            return False
        return following > self._clock.time_ns() + seconds * NS_PER_SECOND

    def _end(self) -> None:
        dispatcher = self.dispatcher
        unfinished = tuple(fiber.name for fiber in dispatcher.fibers)
        errors: list[BaseException] = []
        acts: list[Callable[[], object]] = [
            partial(dispatcher.end_fibers, self, "the engine has stopped", EngineStopped),
            *[member.close for member in reversed(self._members)],
            dispatcher.release_workers,
        ]
        for act in acts:
            try:
                act()
            except BaseException as error:  # noqa: BLE001  (the others must be closed too)
                errors.append(error)
        self._over = True
        for answer in tuple(self._calls):
            _fail(answer)
        while self._inbox:
            _fail(self._inbox.popleft()[0])
        self._ended = Stopped(in_time=True, unfinished=unfinished, errors=tuple(errors))
        self.publish(self._ended)


_NO_ANSWER: Final[ResultReceiver] = Future()
"""Stands for the future in calls of :meth:`Engine.tell`, which have none."""
_LOOK: Final[ResultReceiver] = Future()
"""The same in calls of :meth:`Engine.look`."""


def _result_of(call: Callable[[], object]) -> object:
    value = call()
    refuse_coroutine(value)
    return value.result() if isinstance(value, Fiber) else value


def _answer_by(answer: ResultReceiver, call: Callable[[], object]) -> None:
    """Set a future to the result or exception of a call; the future may be cancelled until then."""
    try:
        value = call()
    except BaseException as error:  # noqa: BLE001  (the future passes it to the submitter)
        with suppress(InvalidStateError):
            answer.set_exception(error)
    else:
        with suppress(InvalidStateError):
            answer.set_result(value)


def _fail(answer: ResultReceiver) -> None:
    with suppress(InvalidStateError):
        answer.set_exception(EngineStopped("the engine has stopped"))
