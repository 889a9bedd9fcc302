"""Tasks as greenlets on one dispatcher, in the manner of the CICS QR TCB.

A task (here: a :class:`Strand`, since the core knows no vendor's words) keeps control until it waits, and it can wait
only inside a command. So two strands never run at once, nothing needs a lock, a frozen clock harms nobody, and the
order of everything is a function of the seed.

The shapes of waiting
    A command that may have to wait is an *attempt*: a callable that returns its result or :data:`WAIT`.
    :meth:`Dispatcher.wait` tries it, parks the strand on a :class:`WaitQueue` while the attempt says WAIT, and tries
    again from scratch each time the queue is woken. A strand keeps its place in the queue until its wait is over, so
    waiters are served in order of arrival whatever the seed: an attempt asks ``queue.is_first(strand)`` to let
    nobody overtake.

Order
    Seed 0 runs strands in the order in which they became ready. Any other seed permutes the ready strands, and only
    them. ``chooser`` replaces the seed by a decision from outside (schedule exploration).

Time
    Deadlines are moments on the shared clock. They are looked at on every dispatch. When nothing is ready and
    somebody waits with a deadline, a simulated clock jumps there.

The program outside
    The code that is not a strand (a test, the command line) may issue commands too. When such a command has to wait,
    strands are run until its attempt succeeds; if nothing can make it succeed, :class:`WouldWaitForever` names what it
    waits for and who could end it, instead of hanging.
"""

from __future__ import annotations

import random
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, TypeVar

from greenlet import GreenletExit, getcurrent, greenlet

from tdqsim.core.clock import Clock
from tdqsim.errors import RegionClosed, TdqError, WouldWaitForever, WrongThread

__all__ = ["WAIT", "Dispatcher", "Strand", "TimedOut", "Timer", "WaitQueue"]

T = TypeVar("T")
_IDLE_WORKERS_KEPT: Final = 64


class _Wait:
    """The type of :data:`WAIT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "WAIT"


WAIT: Final = _Wait()
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


class Strand:
    """One task as the dispatcher sees it; also the handle that its starter holds.

    Attributes:
        name: for people and traces.
        owner: whose strand it is (a region or a system); that one's close ends it.
        number: order of creation on its dispatcher, from 1; 0 is the program outside.
        waiting_for: the queue it is parked on, or None.
        deadline_ns: when its wait gives up, or None.
        exception: what ended it, or None.
        local: a place for the owner to keep what belongs to the strand.
    """

    __slots__ = (
        "_call", "_ended", "_in_ready", "_thrown", "_value", "_worker", "deadline_ns", "dispatcher", "done",
        "exception", "local", "name", "number", "owner", "since_ns", "waiting_for",
    )  # fmt: skip

    def __init__(self, dispatcher: Dispatcher, number: int, name: str, owner: object) -> None:
        self.dispatcher = dispatcher
        self.number = number
        self.name = name
        self.owner = owner
        self.done = False
        self.exception: BaseException | None = None
        self.waiting_for: WaitQueue | None = None
        self.since_ns = 0
        self.deadline_ns: int | None = None
        self.local: Any = None
        self._ended: WaitQueue | None = None
        self._call: Callable[[], Any] | None = None
        self._value: Any = None
        self._worker: greenlet | None = None
        self._in_ready = False
        self._thrown: BaseException | None = None

    def __repr__(self) -> str:
        state = "done" if self.done else f"waiting for {self.waiting_for.name}" if self.waiting_for else "active"
        return f"<Strand {self.number} {self.name}: {state}>"

    @property
    def ended(self) -> WaitQueue:
        """Where others wait for its end."""
        if self._ended is None:
            self._ended = WaitQueue(f"the end of {self.name}")
        return self._ended

    def result(self) -> Any:
        """Run what is needed for the strand to end, then give its return value.

        Raises:
            WouldWaitForever: it waits for something that nothing can bring about.
            BaseException: whatever left the strand's function.
        """
        if not self.done:
            self.dispatcher.wait(lambda: None if self.done else WAIT, self.ended)
        if self.exception is not None:
            raise self.exception
        return self._value

    def cancel(self, exception: BaseException) -> bool:
        """End its wait by raising ``exception`` in it at the next dispatch; False when it was not waiting."""
        if self.done or self.waiting_for is None:
            return False
        self._thrown = exception
        self.dispatcher._make_ready(self)  # noqa: SLF001
        return True


class Timer:
    """Something to be called at a moment on the clock; ``passive`` ones never make the clock jump by themselves."""

    __slots__ = ("callback", "deadline_ns", "passive")

    def __init__(self, deadline_ns: int, callback: Callable[[], None], *, passive: bool) -> None:
        self.deadline_ns = deadline_ns
        self.callback: Callable[[], None] | None = callback
        self.passive = passive

    def cancel(self) -> None:
        """Never call it."""
        self.callback = None


class Dispatcher:
    """Runs strands, one at a time, in an order given by the seed.

    Args:
        clock: the clock for deadlines; a simulated one of its own by default.
        seed: 0 for first ready, first run; any other number for one fixed permutation of ready strands.

    Attributes:
        current: the strand that runs, or the outside strand.
        on_idle: callables run whenever no strand is ready, before time moves; shared commits are made here.
        on_dispatch: called with each strand about to run, or None; for traces.
        chooser: picks the next strand's index from the list of ready ones instead of the seed, or None.
    """

    def __init__(self, clock: Clock | None = None, seed: int = 0) -> None:
        self.clock = clock if clock is not None else Clock()
        self.seed = seed
        self.on_idle: list[Callable[[], None]] = []
        self.on_dispatch: Callable[[Strand], None] | None = None
        self.chooser: Callable[[list[Strand]], int] | None = None
        self._random = random.Random(seed)  # noqa: S311  (repeatable on purpose)
        self._numbers = count(1)
        self._entries = count()
        self._ready: deque[Strand] = deque()
        self._live: dict[int, Strand] = {}
        self._deadlines: list[tuple[int, int, Strand | Timer]] = []
        self._rounds: list[tuple[int, Callable[[], None]]] = []
        self._idle_workers: list[greenlet] = []
        self._hub = getcurrent()
        self.thread = threading.get_ident()
        self._fatal: BaseException | None = None
        self._waiting_outside = False
        self.outside = Strand(self, 0, "the program outside", None)
        self.current = self.outside

    # -- starting and running -------------------------------------------------------------------------------------

    def spawn(self, call: Callable[[], Any], *, name: str, owner: object = None) -> Strand:
        """Make a strand that will run ``call``; it is ready at once and runs when it is dispatched."""
        strand = Strand(self, next(self._numbers), name, owner)
        strand._call = call  # noqa: SLF001
        self._live[strand.number] = strand
        strand._in_ready = True  # noqa: SLF001
        self._ready.append(strand)
        return strand

    @property
    def pending(self) -> bool:
        """Whether a dispatch could do something now: cheap, for the end of every command outside a strand."""
        return bool(self._ready or self._deadlines)

    @property
    def strands_live(self) -> bool:
        """Whether there is any strand that has not ended."""
        return bool(self._live)

    @property
    def strands(self) -> tuple[Strand, ...]:
        """The strands that have not ended, oldest first."""
        return tuple(self._live.values())

    def run_ready(self) -> None:
        """Give every ready strand its turn, until none is ready; time does not move. Inside a strand: nothing."""
        if self.current is self.outside:
            self._settle()

    def run(self) -> None:
        """Run until no strand can go on: ready ones, then those whose deadlines come, the clock jumping to each.

        Strands that wait without a deadline stay suspended; see :attr:`strands`.

        Raises:
            TdqError: called inside a strand.
        """
        if self.current is not self.outside:
            raise TdqError("run() is for the program outside the tasks; a task gives way only by a command that waits")
        while True:
            self._settle()
            if not self._reach_next_deadline(outside_waits=False):
                return

    def yield_now(self) -> None:
        """Let others that are ready go first; outside a strand the same as :meth:`run_ready`."""
        strand = self.current
        if strand is self.outside:
            self._settle()
        elif self._ready or self._rounds:
            self._make_ready(strand)
            self._switch_out(strand)

    def call_after_round(self, callback: Callable[[], None]) -> None:
        """Call something, outside any strand, when as many turns have been given as strands are ready now."""
        self._rounds.append((len(self._ready), callback))

    def _end_rounds(self) -> None:
        rounds, self._rounds = self._rounds, []
        for turns, callback in rounds:
            if turns:
                self._rounds.append((turns - 1, callback))
            else:
                callback()

    # -- waiting --------------------------------------------------------------------------------------------------

    def wait(self, attempt: Callable[[], T | _Wait], queue: WaitQueue, timeout_ns: int | None = None) -> T:
        """Try, park, retry: the one way to wait.

        Args:
            attempt: returns the result, or :data:`WAIT`; it is evaluated from scratch each time.
            queue: where to park; whoever changes what the attempt looks at wakes it.
            timeout_ns: give up after this long on the clock; None waits without limit, 0 tries once.

        Returns:
            What the attempt returned.

        Raises:
            TimedOut: the deadline came first.
            WouldWaitForever: nothing can end the wait (only outside a strand; a strand stays suspended).
        """
        value = attempt()
        if not isinstance(value, _Wait):
            return value
        strand = self.current
        self._begin_wait(strand, queue, timeout_ns)
        try:
            while True:
                self._park(strand, queue)
                value = attempt()
                if not isinstance(value, _Wait):
                    return value
                if strand.deadline_ns is not None and self.clock.time_ns() >= strand.deadline_ns:
                    raise TimedOut(f"{strand.name}: waited for {queue.name} until its deadline")
        finally:
            self._end_wait(strand, queue)

    def _begin_wait(self, strand: Strand, queue: WaitQueue, timeout_ns: int | None) -> None:
        queue._waiters[strand] = None  # noqa: SLF001
        strand.waiting_for = queue
        strand.since_ns = now = self.clock.time_ns()
        if timeout_ns is not None:
            strand.deadline_ns = now + timeout_ns
            heappush(self._deadlines, (strand.deadline_ns, next(self._entries), strand))

    @staticmethod
    def _end_wait(strand: Strand, queue: WaitQueue) -> None:
        was_first = queue.first is strand
        queue._waiters.pop(strand, None)  # noqa: SLF001
        strand.waiting_for = None
        strand.deadline_ns = None
        if was_first:
            queue.wake_one()  # whoever is first now may have been held up by the place in the queue alone

    def _park(self, strand: Strand, queue: WaitQueue) -> None:
        if strand is self.outside:
            self._park_outside(queue)
        else:
            self._switch_out(strand)
        thrown, strand._thrown = strand._thrown, None  # noqa: SLF001
        if thrown is not None:
            raise thrown

    def _switch_out(self, strand: Strand) -> None:
        self._hub.switch()
        self.current = strand

    def _park_outside(self, queue: WaitQueue) -> None:
        outside = self.outside
        if self._waiting_outside:
            raise TdqError("two commands outside the tasks wait at once; start one of them as a task")
        self._waiting_outside = True
        try:
            while True:
                progress = self._settle_one()
                if outside._in_ready:  # noqa: SLF001
                    return
                if not progress and not self._reach_next_deadline(outside_waits=True):
                    raise WouldWaitForever(self._why_for_ever(queue))
        finally:
            self._waiting_outside = False
            outside._in_ready = False  # noqa: SLF001

    def _why_for_ever(self, queue: WaitQueue) -> str:
        lines = [f"nothing can end the wait for {queue.name}"]
        if queue.holders is not None:
            lines.append(f"  {queue.holders()}")
        for strand in self._live.values():
            if strand.waiting_for is not None:
                held = strand.waiting_for.holders
                why = f" ({held()})" if held is not None else ""
                lines.append(f"  {strand.name} waits for {strand.waiting_for.name}{why}")
        return "\n".join(lines)

    # -- time -----------------------------------------------------------------------------------------------------

    def call_at(self, deadline_ns: int, callback: Callable[[], None], *, passive: bool = False) -> Timer:
        """Call something at a moment on the clock, outside any strand. It must not wait.

        Args:
            deadline_ns: the moment, nanoseconds since 1970 UTC.
            callback: what to call.
            passive: True keeps ``run()`` from jumping there when nobody waits.
        """
        timer = Timer(deadline_ns, callback, passive=passive)
        heappush(self._deadlines, (deadline_ns, next(self._entries), timer))
        return timer

    def next_deadline_ns(self) -> int | None:
        """The next moment at which something is due, or None."""
        self._drop_stale_deadlines()
        return self._deadlines[0][0] if self._deadlines else None

    def _drop_stale_deadlines(self) -> None:
        while self._deadlines and _is_stale(self._deadlines[0]):
            heappop(self._deadlines)

    def _fire_due(self) -> None:
        self._drop_stale_deadlines()
        if not self._deadlines or self._deadlines[0][0] > (now := self.clock.time_ns()):
            return
        while self._deadlines and self._deadlines[0][0] <= now:
            entry = heappop(self._deadlines)
            if _is_stale(entry):
                continue
            if isinstance(entry[2], Timer):
                callback, entry[2].callback = entry[2].callback, None
                assert callback is not None
                callback()
            else:
                self._make_ready(entry[2])

    def _reach_next_deadline(self, *, outside_waits: bool) -> bool:
        self._drop_stale_deadlines()
        if not self._deadlines:
            return False
        somebody = outside_waits or any(
            not (isinstance(entry[2], Timer) and entry[2].passive) for entry in self._deadlines
        )
        if not somebody and not any(strand.waiting_for for strand in self._live.values()):
            return False
        self.clock.reach(self._deadlines[0][0])
        self._fire_due()
        return True

    # -- the loop -------------------------------------------------------------------------------------------------

    def _make_ready(self, strand: Strand) -> None:
        if not strand._in_ready:  # noqa: SLF001
            strand._in_ready = True  # noqa: SLF001
            if strand is not self.outside:
                self._ready.append(strand)

    def _settle(self) -> None:
        """Run strands until none is ready, idle hooks included."""
        while self._settle_one():
            pass

    def _settle_one(self) -> bool:
        """Dispatch one ready strand, or do the idle work; False when there was nothing to do."""
        if self._deadlines:
            self._fire_due()
        if self._rounds:
            self._end_rounds()
        if self._ready:
            self._dispatch(self._next_ready())
            return True
        for hook in tuple(self.on_idle):
            hook()
        return bool(self._ready)

    def _next_ready(self) -> Strand:
        ready = self._ready
        if self.chooser is not None:
            index = self.chooser(list(ready))
        elif self.seed:
            index = self._random.randrange(len(ready))
        else:
            return ready.popleft()
        ready.rotate(-index)
        strand = ready.popleft()
        ready.rotate(index)
        return strand

    def check_thread(self) -> None:
        """Raise WrongThread in any thread but the one that made the dispatcher."""
        if threading.get_ident() != self.thread:
            raise WrongThread("a dispatcher runs its tasks only in the thread that made it")

    def _dispatch(self, strand: Strand) -> None:
        self.check_thread()
        if self.on_dispatch is not None:
            self.on_dispatch(strand)
        strand._in_ready = False  # noqa: SLF001
        hub = getcurrent()
        around, self._hub = self._hub, hub  # a task that closes another region dispatches that one's tasks
        before, self.current = self.current, strand
        try:
            worker = strand._worker  # noqa: SLF001
            if worker is None:
                worker = self._idle_workers.pop() if self._idle_workers else greenlet(self._work)
                strand._worker = worker  # noqa: SLF001
                if worker.parent is not hub:
                    worker.parent = hub
                worker.switch(strand)
            else:
                if worker.parent is not hub:
                    worker.parent = hub
                worker.switch()
        finally:
            self.current = before
            self._hub = around
        if self._fatal is not None:
            fatal, self._fatal = self._fatal, None
            raise fatal

    def _work(self, strand: Strand) -> None:
        """The life of a worker greenlet: one strand after another, because a fresh greenlet is dear."""
        worker = getcurrent()
        while True:
            self._execute(strand)
            if len(self._idle_workers) >= _IDLE_WORKERS_KEPT:
                return
            self._idle_workers.append(worker)
            strand = self._hub.switch()

    def _execute(self, strand: Strand) -> None:
        call = strand._call  # noqa: SLF001
        assert call is not None
        try:
            strand._value = call()  # noqa: SLF001
        except GreenletExit:
            raise
        except Exception as error:  # noqa: BLE001  (whatever left the function is the strand's result)
            strand.exception = error
        except BaseException as error:  # noqa: BLE001  (an interrupt belongs to the program outside)
            strand.exception = self._fatal = error
        strand._worker = None  # noqa: SLF001
        self._finish(strand)

    def _finish(self, strand: Strand) -> None:
        strand.done = True
        strand._call = None  # noqa: SLF001
        del self._live[strand.number]
        if strand._ended is not None:  # noqa: SLF001
            strand._ended.wake_all()  # noqa: SLF001

    # -- ending ---------------------------------------------------------------------------------------------------

    def end_strands(self, owner: object, message: str) -> tuple[Strand, ...]:
        """End every strand of an owner, in order: each wait raises :class:`RegionClosed` with ``message``.

        Returns:
            The strands that were suspended or had not started.
        """
        doomed = tuple(strand for strand in self._live.values() if strand.owner is owner and strand is not self.current)
        for strand in doomed:
            if strand._worker is None:  # noqa: SLF001
                self._forget(strand, RegionClosed(message))
                continue
            while not strand.done:
                strand._thrown = RegionClosed(message)  # noqa: SLF001
                if strand in self._ready:
                    self._ready.remove(strand)
                self._dispatch(strand)
        return doomed

    def _forget(self, strand: Strand, error: BaseException) -> None:
        self._ready.remove(strand)
        strand.exception = error
        self._finish(strand)

    def release_workers(self) -> None:
        """Let the idle worker greenlets go; called when the last region or system on the dispatcher closes."""
        while self._idle_workers:
            self._idle_workers.pop().throw()


def _is_stale(entry: tuple[int, int, Strand | Timer]) -> bool:
    """Whether a deadline no longer stands: its wait is over, or its timer was cancelled."""
    deadline, _, who = entry
    if isinstance(who, Timer):
        return who.callback is None
    return who.done or who.deadline_ns != deadline
