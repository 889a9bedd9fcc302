"""Tasks as greenlets on one dispatcher, similar to the CICS QR TCB.

A task (here called a :class:`Fiber`, since the core has no vendor terms) keeps control until it waits, and it can wait
only inside a command. So two fibers never run at once, nothing needs a lock, a frozen clock blocks no task, and the
order of everything is a function of the seed.

Waiting
    A command that may have to wait is an *attempt*: a callable that returns its result or :data:`WAIT`.
    :meth:`Dispatcher.wait` tries it, parks the fiber on a :class:`WaitQueue` while the attempt returns WAIT, and
    tries again from scratch each time the queue is woken. A fiber keeps its place in the queue until its wait is
    over, and an attempt checks ``queue.is_first(fiber)``. So waiters are served in order of arrival, whatever the
    seed.

Switching between fibers
    A fiber that waits or ends switches straight to the next one while the loop would do nothing else. The loop gives
    the leave for that with a turn, if there is no deadline and the program outside is not ready; whatever gives the
    loop more to do withdraws it. Otherwise the fiber switches to the loop. :meth:`Dispatcher.step` and the ending of
    fibers give single turns, without such switches.

Order
    Seed 0 runs fibers in the order in which they became ready; a fiber with a rank (:meth:`Dispatcher.rank`) counts
    as ready earlier than it was. Any other seed permutes the ready fibers, and only them, whatever their ranks.
    ``chooser`` replaces the seed by a decision from outside (schedule exploration).

Time
    Deadlines are moments on the shared clock. They are checked at every dispatch. When no fiber is ready and one waits
    with a deadline, a simulated clock jumps there.

The program outside
    Code that is not a fiber (a test, the command line) may issue commands too. When such a command has to wait,
    fibers are run until its attempt succeeds. If nothing can make it succeed, :class:`WouldWaitForever` is raised
    instead of hanging; it names the event waited for and the tasks that could cause it.

Lost wake-ups
    Code that changes a state wakes the fibers that wait for it, but an interrupt may come between the change and the
    wake-up. So before time moves, or a wait is given up, the attempt of each waiting fiber is repeated silently: one
    that still returns WAIT leaves no trace. To avoid a cost quadratic in the number of waiters, this is done at a jump
    of the clock only if at least as many turns as there are fibers were given since the last time. It is always done
    after an interrupt, and when nothing else is left to do.

Interrupts
    An exception at any line (KeyboardInterrupt, a signal handler's exception) leaves no fiber lost or half ended. The
    single lines are not all safe. Instead, assignments are ordered so that ``_recover`` can restore the rest from a few
    facts: a fiber has ended when ``done`` is True or its greenlet is dead, it has begun when its ``call`` is None, and
    every other fiber may be made ready, since a fiber that still has to wait parks again.

Threads
    A dispatcher belongs to the thread that made it. A call from another thread or a forked child raises
    :class:`WrongThread` and has no effect; only :meth:`Dispatcher.wake` is for all threads. See
    :mod:`tdqsim.core.engine`.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Final, TypeVar

from tdqsim.core._turns import Turns
from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.core.clock import NS_PER_SECOND, Clock, belongs_here
from tdqsim.core.deadlines import Agenda
from tdqsim.core.fiber import Fiber, TimedOut, Timer, WaitMark, WaitQueue
from tdqsim.errors import UsageError, WouldWaitForever

T = TypeVar("T")
S = TypeVar("S", bound=Fiber)
_REPEATED_WITHIN: Final = NS_PER_SECOND
"""The longest rest, in real time, before the attempts of waiting fibers are repeated."""


class Dispatcher(Turns):
    """Runs fibers, one at a time, in an order given by the seed.

    Args:
        clock: the clock for deadlines; a new simulated one by default.
        seed: 0 for first ready, first run; any other number for one fixed permutation of ready fibers.
        agenda: the class that keeps the deadlines; called with the clock and :meth:`make_ready`.

    Raises:
        WrongThread: the clock belongs to another thread.

    Attributes:
        current: the fiber that runs, or the outside fiber.
        thread: identifier of the thread it belongs to; -1 in a forked child, where it belongs to no thread.
        ready: the ready fibers, in the order in which they became ready; always the same object.
        numbers: the numbers of the fibers that it will make.
        deadlines: the heap of :class:`~tdqsim.core.deadlines.Agenda`; always the same object.
        on_idle: callables run whenever no fiber is ready, before time moves; shared commits are made here.
        on_dispatch: called with each fiber that is about to run, for traces; or None.
        chooser: returns the index of the next fiber in the list of ready ones, instead of the seed; or None.
    """

    @explains_wrong_types
    def __init__(self, clock: Clock | None = None, seed: int = 0, *, agenda: Callable[..., Agenda] = Agenda) -> None:
        self.clock = clock if clock is not None else Clock()
        self.clock.check_thread()
        belongs_here(self.clock)
        self.numbers = count()
        super().__init__(Fiber(self, "the program outside"), seed, agenda(self.clock, self.make_ready))
        self._waiting_outside = False
        self._asked = 0  # the number of turns when the attempts of all waiting fibers were last repeated
        self._asked_outside = 0  # the number of turns when the program outside last tried its attempt

    def wake(self) -> None:
        """End the current or the next :meth:`rest` of the dispatcher's thread. Any thread may call it."""
        self.clock.wake()

    # -- starting and running -------------------------------------------------------------------------------------

    def spawn(self, call: Callable[[], Any], *, name: object, owner: object = None) -> Fiber:
        """Make a fiber that runs ``call``; it is ready at once and runs when it is dispatched.

        Args:
            call: the function.
            name: its name: text, or an object whose ``str()`` is the name.
            owner: the region or system that it belongs to.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        return self.begin(Fiber(self, name, owner, call))

    def begin(self, fiber: S) -> S:
        """Make a new fiber ready. If this method raises an exception, the fiber never runs.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        if self.thread != get_ident():
            self.check_thread()
        try:
            self._live[fiber.number] = fiber
            self.add_ready(fiber)
            fiber.in_ready = True
            return fiber  # noqa: TRY300  (an interrupt may come at this line too)
        except BaseException as error:
            fiber.done = True
            self._recover(error, self.current)
            raise

    @property
    def pending(self) -> bool:
        """Whether a dispatch could do something now. Commands outside a fiber inline this check, for speed."""
        return bool(self.ready or self.deadlines)

    @property
    def can_go_on(self) -> bool:
        """Whether a fiber is ready, or will become ready without any action of the program outside."""
        if self.ready or any(fiber.deadline_ns is not None for fiber in self._live.values()):
            return True
        return self._agenda.has_active_timer

    @property
    def turns(self) -> int:
        """The number of turns given so far."""
        return self._turns

    @property
    def fibers(self) -> tuple[Fiber, ...]:
        """The fibers that have not ended, oldest first."""
        return tuple(self._live.values())

    def run_ready(self) -> None:
        """Run fibers until none is ready; time does not move. Inside a fiber this does nothing.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        if self.thread != get_ident():
            self.check_thread()
        if self.current is self.outside:
            self._guarded(self._settle)

    def run(self) -> None:
        """Run fibers until none can continue; whenever none is ready, the clock moves to the next deadline.

        Fibers that wait without a deadline stay suspended; see :attr:`fibers`. A call of :meth:`wake` only interrupts
        the sleep of a real clock.

        Raises:
            TdqError: called inside a fiber.
            WrongThread: see :meth:`check_thread`.
        """
        self._check_outside("run()")
        self._guarded(self._run)

    def step(self) -> bool:
        """Give one ready fiber its turn, or call the idle hooks; for loops that have other work too.

        Returns:
            False when there was nothing to do, so that the loop may :meth:`rest`.

        Raises:
            TdqError: called inside a fiber.
            WrongThread: see :meth:`check_thread`.
        """
        self._check_outside("step()")
        return self._guarded(partial(self._settle_one, flows=False))

    def rest(self) -> bool:
        """Sleep until a deadline comes or :meth:`wake` is called; a simulated clock jumps to the deadline.

        The attempts of waiting fibers are repeated before, or within a second. Call :meth:`step` next; it may find
        nothing to do, because another thread may call :meth:`wake` at any time.

        Returns:
            Whether it has only slept, and nothing but :meth:`wake` has ended that.

        Raises:
            TdqError: called inside a fiber.
            WrongThread: see :meth:`check_thread`.
        """
        self._check_outside("rest()")
        return self._guarded(self._rest)

    def _guarded(self, call: Callable[[], T]) -> T:
        """Call a function outside all fibers, and repair the dispatcher's state after any exception."""
        try:
            return call()
        except BaseException as error:
            self._recover(error, self.outside)
            raise

    def _check_outside(self, what: str) -> None:
        if self.thread != get_ident():
            self.check_thread()
        if self.current is not self.outside:
            raise UsageError(
                f"{what} is for the program outside the tasks; a task gives way only by a command that waits"
            )

    def _run(self) -> None:
        while True:
            self._settle()
            if self._ask_again():
                continue
            if not self._reach_next_deadline(outside_waits=False) and not self._ask_again(finally_=True):
                return

    def _rest(self) -> bool:
        if self._ask_again():
            return False
        if self.clock.simulated:
            if not self._reach_next_deadline(outside_waits=False) and not self._ask_again(finally_=True):
                self.clock.rest()
            return False
        until = self._agenda.next_ns()
        if self._asked != self._turns and not self.clock.frozen:
            soon = self.clock.time_ns() + _REPEATED_WITHIN
            if until is None or until > soon:
                if not self.clock.rest(soon):
                    self._ask_again(finally_=True)
                return False
        return self.clock.rest(until)

    def yield_now(self, *, always: bool = False) -> None:
        """Let other ready fibers run first; outside a fiber the same as :meth:`run_ready`.

        Args:
            always: switch to the loop even when no fiber is ready, so that a loop around :meth:`step` can accept new
                calls.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        if self.thread != get_ident():
            self.check_thread()
        fiber = self.current
        if fiber is self.outside:
            self._guarded(self._settle)
        elif self.ready or self._rounds or always:
            if not fiber.in_ready:
                self.add_ready(fiber)
                fiber.in_ready = True
            self._switch_out(fiber)

    def call_after_round(self, callback: Callable[[], None]) -> None:
        """Call a function, outside any fiber, after one round: as many turns as there are ready fibers now.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        self._flows = False
        self._rounds.append((self._turns + len(self.ready), Timer(self, 0, callback, passive=True)))

    # -- waiting --------------------------------------------------------------------------------------------------

    def wait(self, attempt: Callable[[], T | WaitMark], queue: WaitQueue, timeout_ns: int | None = None) -> T:
        """Try an attempt, park while it returns WAIT, and retry: the one way to wait.

        Args:
            attempt: returns the result, or :data:`WAIT`; it is called from scratch each time.
            queue: the queue to park in; code that changes the state which the attempt reads must wake it.
            timeout_ns: nanoseconds on the clock after which to give up; None waits without limit, 0 tries once.

        Returns:
            The attempt's result.

        Raises:
            TimedOut: the deadline came first.
            WouldWaitForever: nothing can end the wait (only outside a fiber; a fiber just stays suspended).
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        value = attempt()
        if not isinstance(value, WaitMark):
            return value
        fiber = self.current
        if fiber is self.outside and self._waiting_outside:
            raise UsageError("two commands outside the tasks wait at once; start one of them as a task")
        try:
            try:
                self._begin_wait(fiber, queue, timeout_ns)
                return self._try_until(attempt, fiber, queue)
            finally:
                self._end_wait(fiber, queue)
        except BaseException:
            if fiber.waiting_for is queue:  # an interrupt came inside _end_wait
                self._end_wait(fiber, queue)
                queue.wake_one()
            if fiber is self.outside:
                self._waiting_outside = fiber.in_ready = False
            raise

    def _try_until(self, attempt: Callable[[], T | WaitMark], fiber: Fiber, queue: WaitQueue) -> T:
        while True:
            repeated = self._park(fiber, queue)
            value = attempt()
            if not isinstance(value, WaitMark):
                if repeated:
                    self._count_turn(fiber)
                return value
            if fiber.deadline_ns is not None and self.clock.time_ns() >= fiber.deadline_ns:
                raise TimedOut(f"{fiber.name}: waited for {queue.name} until its deadline")

    def _begin_wait(self, fiber: Fiber, queue: WaitQueue, timeout_ns: int | None) -> None:
        fiber.waiting_for = queue
        queue.order[fiber] = None
        fiber.since_ns = now = self.clock.time_ns()
        if timeout_ns is not None:
            fiber.deadline_ns = now + timeout_ns
            self._flows = False
            self._agenda.add(fiber.deadline_ns, fiber)
        if fiber is self.outside:
            self._asked = -1  # the program outside may have changed anything since the attempts were last repeated
            self._asked_outside = self._turns

    @staticmethod
    def _end_wait(fiber: Fiber, queue: WaitQueue) -> None:
        """End a wait; ``waiting_for`` is reset last, so that an interrupted end can be recognised."""
        was_first = queue.first is fiber
        queue.order.pop(fiber, None)
        fiber.deadline_ns = None
        if was_first:
            queue.wake_one()  # the next fiber may have waited only because it was not first
        fiber.waiting_for = None

    def _park(self, fiber: Fiber, queue: WaitQueue) -> bool:
        """Switch away until the fiber is to try again; True when its attempt is only repeated, not woken."""
        if fiber is self.outside:
            self._park_outside(queue)
        else:
            self._switch_out(fiber)
        repeated, self._asking = self._asking, False
        thrown, fiber.thrown = fiber.thrown, None
        if thrown is not None:
            raise thrown
        return repeated

    def _park_outside(self, queue: WaitQueue) -> None:
        outside = self.outside
        self._waiting_outside = True
        try:
            ready = self._guarded(self._until_outside_is_ready)
        finally:
            self._waiting_outside = False
            outside.in_ready = False
        if not ready:
            raise WouldWaitForever(self._why_for_ever(queue))

    def _until_outside_is_ready(self) -> bool:
        """Run fibers until the program outside should try again; False when nothing can make it succeed."""
        while True:
            progress = self._settle_one()
            if self.outside.in_ready:
                return True
            if progress or self._ask_again():
                continue
            if self._asked_outside != self._turns:
                self._asked_outside = self._turns
                return True
            if not self._reach_next_deadline(outside_waits=True) and not self._ask_again(finally_=True):
                return False

    def _ask_again(self, *, finally_: bool = False) -> bool:
        """Repeat the attempts of waiting fibers; False when all still wait, or when it is too soon for that.

        Args:
            finally_: nothing else is left to do, so it is never too soon.
        """
        turns = self._turns - self._asked
        if not self._doubtful and (not turns or (turns < len(self._live) and not finally_)):
            return False
        self._asked, self._doubtful = self._turns, False
        before = self._turns
        for fiber in tuple(self._live.values()):
            queue = fiber.waiting_for
            if queue is None or fiber.done or fiber.in_ready:  # an attempt before it may have ended it
                continue
            self._asking = True
            self._dispatch(fiber)
            if fiber.done or fiber.waiting_for is not queue:
                self._turns += 1
        self._asking = False
        return bool(self.ready) or self._turns != before

    def _count_turn(self, fiber: Fiber) -> None:
        """Count the dispatch of a fiber whose repeated attempt succeeded as a turn like any other."""
        self._turns += 1
        if self.on_dispatch is not None:
            self.on_dispatch(fiber)

    def _why_for_ever(self, queue: WaitQueue) -> str:
        lines = [f"nothing can end the wait for {queue.name}"]
        if queue.holders is not None:
            lines.append(f"  {queue.holders()}")
        for fiber in self._live.values():
            if fiber.waiting_for is not None:
                held = fiber.waiting_for.holders
                why = f" ({held()})" if held is not None else ""
                lines.append(f"  {fiber.name} waits for {fiber.waiting_for.name}{why}")
        return "\n".join(lines)

    # -- time -----------------------------------------------------------------------------------------------------

    def call_at(self, deadline_ns: int, callback: Callable[[], None], *, passive: bool = False) -> Timer:
        """Call a function at a moment on the clock, outside any fiber. It must not wait.

        Args:
            deadline_ns: the moment, in nanoseconds since 1970 UTC.
            callback: the function; it is called again if an interrupt ended the first call.
            passive: with True, ``run()`` does not jump there unless a fiber waits.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        timer = Timer(self, deadline_ns, callback, passive=passive)
        self._flows = False
        self._agenda.add(deadline_ns, timer)
        return timer

    def next_deadline_ns(self) -> int | None:
        """The next moment at which something is due, or None.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        return self._agenda.next_ns()

    def _reach_next_deadline(self, *, outside_waits: bool) -> bool:
        moment = self._agenda.next_ns() if self.deadlines else None
        if moment is None or not (outside_waits or self._agenda.comes_to(self._live.values())):
            return False
        if self.clock.frozen and not self.clock.simulated and moment > self.clock.time_ns():
            return False
        self.clock.reach(moment)
        self._agenda.fire_due()
        return True

    # -- ending ---------------------------------------------------------------------------------------------------

    def end_fibers(self, owner: object, message: str, kind: Callable[[str], BaseException]) -> tuple[Fiber, ...]:
        """End every fiber of an owner, in start order: each wait raises ``kind(message)``.

        Args:
            owner: the owner that was passed to :meth:`spawn`.
            message: the reason, for people.
            kind: makes the exception.

        Returns:
            The fibers that were suspended or had not started.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        doomed = tuple(fiber for fiber in self._live.values() if fiber.owner is owner and fiber is not self.current)
        current = self.current
        try:
            for fiber in doomed:
                self._end_fiber(fiber, partial(kind, message))
        except BaseException as error:
            self._recover(error, current)
            raise
        self._keep_ready([fiber for fiber in self.ready if not fiber.done])
        return doomed

    def _end_fiber(self, fiber: Fiber, why: Callable[[], BaseException]) -> None:
        while not fiber.done:
            if fiber.worker is None:  # it has not started
                fiber.exception, fiber.call = why(), None
                self._finish(fiber)
            else:
                fiber.thrown = why()
                self._dispatch(fiber)

    def release_workers(self) -> None:
        """End the idle worker greenlets; called when the last region or system on the dispatcher closes.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        while self._idle_workers:
            self._idle_workers.pop().throw()
