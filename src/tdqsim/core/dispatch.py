"""Tasks as greenlets on one dispatcher, similar to the CICS QR TCB.

A task (here called a :class:`Strand`, since the core has no vendor terms) keeps control until it waits, and it can wait
only inside a command. So two strands never run at once, nothing needs a lock, a frozen clock blocks no task, and the
order of everything is a function of the seed.

Waiting
    A command that may have to wait is an *attempt*: a callable that returns its result or :data:`WAIT`.
    :meth:`Dispatcher.wait` tries it, parks the strand on a :class:`WaitQueue` while the attempt returns WAIT, and
    tries again from scratch each time the queue is woken. A strand keeps its place in the queue until its wait is
    over, and an attempt checks ``queue.is_first(strand)``. So waiters are served in order of arrival, whatever the
    seed.

Switching between strands
    A strand that waits or ends switches straight to the next one if the loop would do nothing else: the program
    outside is running all ready strands, no deadline is due, and the program outside itself is not ready. Otherwise it
    switches to the loop. :meth:`Dispatcher.step` and the ending of strands give single turns, without such switches.

Order
    Seed 0 runs strands in the order in which they became ready; a strand with a rank (:meth:`Dispatcher.rank`) counts
    as ready earlier than it was. Any other seed permutes the ready strands, and only them, whatever their ranks.
    ``chooser`` replaces the seed by a decision from outside (schedule exploration).

Time
    Deadlines are moments on the shared clock. They are checked at every dispatch. When no strand is ready and one waits
    with a deadline, a simulated clock jumps there.

The program outside
    Code that is not a strand (a test, the command line) may issue commands too. When such a command has to wait,
    strands are run until its attempt succeeds. If nothing can make it succeed, :class:`WouldWaitForever` is raised
    instead of hanging; it names the event waited for and the tasks that could cause it.

Lost wake-ups
    Code that changes a state wakes the strands that wait for it, but an interrupt may come between the change and the
    wake-up. So before time moves, or a wait is given up, the attempt of each waiting strand is repeated silently: one
    that still returns WAIT leaves no trace. To avoid a cost quadratic in the number of waiters, this is done at a jump
    of the clock only if at least as many turns as there are strands were given since the last time. It is always done
    after an interrupt, and when nothing else is left to do.

Interrupts
    An exception at any line (KeyboardInterrupt, a signal handler's exception) leaves no strand lost or half ended. The
    single lines are not all safe. Instead, assignments are ordered so that ``_recover`` can restore the rest from a few
    facts: a strand has ended when ``done`` is True or its greenlet is dead, it has begun when its ``call`` is None, and
    every other strand may be made ready, since a strand that still has to wait parks again.

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
from tdqsim.core.strand import Strand, TimedOut, Timer, WaitMark, WaitQueue
from tdqsim.errors import UsageError, WouldWaitForever

T = TypeVar("T")
S = TypeVar("S", bound=Strand)
_REPEATED_WITHIN: Final = NS_PER_SECOND
"""The longest rest, in real time, before the attempts of waiting strands are repeated."""


class Dispatcher(Turns):
    """Runs strands, one at a time, in an order given by the seed.

    Args:
        clock: the clock for deadlines; a new simulated one by default.
        seed: 0 for first ready, first run; any other number for one fixed permutation of ready strands.
        agenda: the class that keeps the deadlines; called with the clock and :meth:`make_ready`.

    Raises:
        WrongThread: the clock belongs to another thread.

    Attributes:
        current: the strand that runs, or the outside strand.
        thread: identifier of the thread it belongs to; -1 in a forked child, where it belongs to no thread.
        ready: the ready strands, in the order in which they became ready; always the same object.
        deadlines: the heap of :class:`~tdqsim.core.deadlines.Agenda`; always the same object.
        on_idle: callables run whenever no strand is ready, before time moves; shared commits are made here.
        on_dispatch: called with each strand that is about to run, for traces; or None.
        chooser: returns the index of the next strand in the list of ready ones, instead of the seed; or None.
    """

    @explains_wrong_types
    def __init__(self, clock: Clock | None = None, seed: int = 0, *, agenda: Callable[..., Agenda] = Agenda) -> None:
        self.clock = clock if clock is not None else Clock()
        self.clock.check_thread()
        belongs_here(self.clock)
        super().__init__(Strand(self, "the program outside"), seed, agenda(self.clock, self.make_ready))
        self._numbers = count(1)
        self._waiting_outside = False
        self._asked = 0  # the number of turns when the attempts of all waiting strands were last repeated
        self._asked_outside = 0  # the number of turns when the program outside last tried its attempt

    def wake(self) -> None:
        """End the current or the next :meth:`rest` of the dispatcher's thread. Any thread may call it."""
        self.clock.wake()

    # -- starting and running -------------------------------------------------------------------------------------

    def spawn(self, call: Callable[[], Any], *, name: object, owner: object = None, local: Any = None) -> Strand:
        """Make a strand that runs ``call``; it is ready at once and runs when it is dispatched.

        Args:
            call: the function.
            name: its name: text, or an object whose ``str()`` is the name.
            owner: the region or system that it belongs to.
            local: data that the owner keeps with the strand.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        return self.begin(Strand(self, name, owner, call, local))

    def begin(self, strand: S) -> S:
        """Make a new strand ready. If this method raises an exception, the strand never runs.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        if self.thread != get_ident():
            self.check_thread()
        try:
            strand.number = next(self._numbers)
            self._live[strand.number] = strand
            if self._ranked:
                self.add_ready(strand)
            else:
                self.ready.append(strand)
            strand.in_ready = True
            return strand  # noqa: TRY300  (an interrupt may come at this line too)
        except BaseException as error:
            strand.done = True
            self._recover(error, self.current)
            raise

    @property
    def pending(self) -> bool:
        """Whether a dispatch could do something now. Commands outside a strand inline this check, for speed."""
        return bool(self.ready or self.deadlines)

    @property
    def can_go_on(self) -> bool:
        """Whether a strand is ready, or will become ready without any action of the program outside."""
        if self.ready or any(strand.deadline_ns is not None for strand in self._live.values()):
            return True
        return self._agenda.has_active_timer

    @property
    def turns(self) -> int:
        """The number of turns given so far."""
        return self._turns

    @property
    def strands(self) -> tuple[Strand, ...]:
        """The strands that have not ended, oldest first."""
        return tuple(self._live.values())

    def run_ready(self) -> None:
        """Run strands until none is ready; time does not move. Inside a strand this does nothing.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        if self.thread != get_ident():
            self.check_thread()
        if self.current is self.outside:
            self._guarded(self._settle)

    def run(self) -> None:
        """Run strands until none can continue; whenever none is ready, the clock moves to the next deadline.

        Strands that wait without a deadline stay suspended; see :attr:`strands`. A call of :meth:`wake` only interrupts
        the sleep of a real clock.

        Raises:
            TdqError: called inside a strand.
            WrongThread: see :meth:`check_thread`.
        """
        self._check_outside("run()")
        self._guarded(self._run)

    def step(self) -> bool:
        """Give one ready strand its turn, or call the idle hooks; for loops that have other work too.

        Returns:
            False when there was nothing to do, so that the loop may :meth:`rest`.

        Raises:
            TdqError: called inside a strand.
            WrongThread: see :meth:`check_thread`.
        """
        self._check_outside("step()")
        return self._guarded(partial(self._settle_one, flows=False))

    def rest(self) -> bool:
        """Sleep until a deadline comes or :meth:`wake` is called; a simulated clock jumps to the deadline.

        The attempts of waiting strands are repeated before, or within a second. Call :meth:`step` next; it may find
        nothing to do, because another thread may call :meth:`wake` at any time.

        Returns:
            Whether it has only slept, and nothing but :meth:`wake` has ended that.

        Raises:
            TdqError: called inside a strand.
            WrongThread: see :meth:`check_thread`.
        """
        self._check_outside("rest()")
        return self._guarded(self._rest)

    def _guarded(self, call: Callable[[], T]) -> T:
        """Call a function outside all strands, and repair the dispatcher's state after any exception."""
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
        """Let other ready strands run first; outside a strand the same as :meth:`run_ready`.

        Args:
            always: switch to the loop even when no strand is ready, so that a loop around :meth:`step` can accept new
                calls.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        if self.thread != get_ident():
            self.check_thread()
        strand = self.current
        if strand is self.outside:
            self._guarded(self._settle)
        elif self.ready or self._rounds or always:
            if not strand.in_ready:
                self.add_ready(strand)
                strand.in_ready = True
            self._switch_out(strand)

    def call_after_round(self, callback: Callable[[], None]) -> None:
        """Call a function, outside any strand, after one round: as many turns as there are ready strands now.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
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
            WouldWaitForever: nothing can end the wait (only outside a strand; a strand just stays suspended).
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        value = attempt()
        if not isinstance(value, WaitMark):
            return value
        strand = self.current
        if strand is self.outside and self._waiting_outside:
            raise UsageError("two commands outside the tasks wait at once; start one of them as a task")
        try:
            try:
                self._begin_wait(strand, queue, timeout_ns)
                return self._try_until(attempt, strand, queue)
            finally:
                self._end_wait(strand, queue)
        except BaseException:
            if strand.waiting_for is queue:  # an interrupt came inside _end_wait
                self._end_wait(strand, queue)
                queue.wake_one()
            if strand is self.outside:
                self._waiting_outside = strand.in_ready = False
            raise

    def _try_until(self, attempt: Callable[[], T | WaitMark], strand: Strand, queue: WaitQueue) -> T:
        while True:
            repeated = self._park(strand, queue)
            value = attempt()
            if not isinstance(value, WaitMark):
                if repeated:
                    self._count_turn(strand)
                return value
            if strand.deadline_ns is not None and self.clock.time_ns() >= strand.deadline_ns:
                raise TimedOut(f"{strand.name}: waited for {queue.name} until its deadline")

    def _begin_wait(self, strand: Strand, queue: WaitQueue, timeout_ns: int | None) -> None:
        strand.waiting_for = queue
        queue.order[strand] = None
        strand.since_ns = now = self.clock.time_ns()
        if timeout_ns is not None:
            strand.deadline_ns = now + timeout_ns
            self._agenda.add(strand.deadline_ns, strand)
        if strand is self.outside:
            self._asked = -1  # the program outside may have changed anything since the attempts were last repeated
            self._asked_outside = self._turns

    @staticmethod
    def _end_wait(strand: Strand, queue: WaitQueue) -> None:
        """End a wait; ``waiting_for`` is reset last, so that an interrupted end can be recognised."""
        was_first = queue.first is strand
        queue.order.pop(strand, None)
        strand.deadline_ns = None
        if was_first:
            queue.wake_one()  # the next strand may have waited only because it was not first
        strand.waiting_for = None

    def _park(self, strand: Strand, queue: WaitQueue) -> bool:
        """Switch away until the strand is to try again; True when its attempt is only repeated, not woken."""
        if strand is self.outside:
            self._park_outside(queue)
        else:
            self._switch_out(strand)
        repeated, self._asking = self._asking, False
        thrown, strand.thrown = strand.thrown, None
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
        """Run strands until the program outside should try again; False when nothing can make it succeed."""
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
        """Repeat the attempts of waiting strands; False when all still wait, or when it is too soon for that.

        Args:
            finally_: nothing else is left to do, so it is never too soon.
        """
        turns = self._turns - self._asked
        if not self._doubtful and (not turns or (turns < len(self._live) and not finally_)):
            return False
        self._asked, self._doubtful = self._turns, False
        before = self._turns
        for strand in tuple(self._live.values()):
            queue = strand.waiting_for
            if queue is None or strand.done or strand.in_ready:  # an attempt before it may have ended it
                continue
            self._asking = True
            self._dispatch(strand)
            if strand.done or strand.waiting_for is not queue:
                self._turns += 1
        self._asking = False
        return bool(self.ready) or self._turns != before

    def _count_turn(self, strand: Strand) -> None:
        """Count the dispatch of a strand whose repeated attempt succeeded as a turn like any other."""
        self._turns += 1
        if self.on_dispatch is not None:
            self.on_dispatch(strand)

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
        """Call a function at a moment on the clock, outside any strand. It must not wait.

        Args:
            deadline_ns: the moment, in nanoseconds since 1970 UTC.
            callback: the function; it is called again if an interrupt ended the first call.
            passive: with True, ``run()`` does not jump there unless a strand waits.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        timer = Timer(self, deadline_ns, callback, passive=passive)
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

    def end_strands(self, owner: object, message: str, kind: Callable[[str], BaseException]) -> tuple[Strand, ...]:
        """End every strand of an owner, in start order: each wait raises ``kind(message)``.

        Args:
            owner: the owner that was passed to :meth:`spawn`.
            message: the reason, for people.
            kind: makes the exception.

        Returns:
            The strands that were suspended or had not started.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        doomed = tuple(strand for strand in self._live.values() if strand.owner is owner and strand is not self.current)
        current = self.current
        try:
            for strand in doomed:
                self._end_strand(strand, partial(kind, message))
        except BaseException as error:
            self._recover(error, current)
            raise
        self._keep_ready([strand for strand in self.ready if not strand.done])
        return doomed

    def _end_strand(self, strand: Strand, why: Callable[[], BaseException]) -> None:
        while not strand.done:
            if strand.worker is None:  # it has not started
                strand.exception = why()
                self._finish(strand)
            else:
                strand.thrown = why()
                self._dispatch(strand)

    def release_workers(self) -> None:
        """End the idle worker greenlets; called when the last region or system on the dispatcher closes.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        while self._idle_workers:
            self._idle_workers.pop().throw()
