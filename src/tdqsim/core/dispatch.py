"""Tasks as greenlets on one dispatcher, in the manner of the CICS QR TCB.

A task (here: a :class:`Strand`, since the core knows no vendor's words) keeps control until it waits, and it can wait
only inside a command. So two strands never run at once, nothing needs a lock, a frozen clock blocks no task, and the
order of everything is a function of the seed.

The shapes of waiting
    A command that may have to wait is an *attempt*: a callable that returns its result or :data:`WAIT`.
    :meth:`Dispatcher.wait` tries it, parks the strand on a :class:`WaitQueue` while the attempt says WAIT, and tries
    again from scratch each time the queue is woken. A strand keeps its place in the queue until its wait is over, so
    waiters are served in order of arrival whatever the seed: an attempt asks ``queue.is_first(strand)``, so that no
    strand overtakes another.

Handing over
    A strand that gives way, or ends, switches straight to the next one where the loop would do nothing but hand over:
    the program outside lets everybody run, nothing is due, and it is not its own turn. Else it switches to the loop.
    :meth:`Dispatcher.step` gives one turn, and ending strands gives each one its turn; strands do not hand over then.

Order
    Seed 0 runs strands in the order in which they became ready. Any other seed permutes the ready strands, and only
    them. ``chooser`` replaces the seed by a decision from outside (schedule exploration).

Time
    Deadlines are moments on the shared clock. They are looked at on every dispatch. When no strand is ready and
    one waits with a deadline, a simulated clock jumps there.

The program outside
    The code that is not a strand (a test, the command line) may issue commands too. When such a command has to wait,
    strands are run until its attempt succeeds; if nothing can make it succeed, :class:`WouldWaitForever` names what it
    waits for and who could end it, instead of hanging.

Wake-ups that were lost
    Who changes what others wait for wakes them; between the two an interrupt may come. So before time moves or a wait
    is given up, the attempt of each waiting strand is made once more, silently: one that still says WAIT leaves no
    trace. To keep that from growing with the square of the waiters, it is done at a jump of the clock only when as
    many turns were given since as there are waiters, and always where something was interrupted or nothing else is
    left to do.

Interrupts
    Whatever is raised at whatever line (KeyboardInterrupt, a signal handler's exception) leaves no strand lost or half
    ended. Not every line is safe by itself; instead the order of assignments leaves a truth from which the rest is made
    anew by ``_recover``: a strand is over when ``done`` is True or its greenlet is dead, it has begun when its
    ``call`` is None, and every other strand may be made ready, since one that still has to wait parks again.

Threads
    A dispatcher belongs to the thread that made it. What other threads, and forked children, call is
    :class:`WrongThread` and has no effect; :meth:`Dispatcher.wake` alone is for them. See :mod:`tdqsim.core.engine`.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Final, TypeVar

from tdqsim.core._strand import WAIT, Strand, TimedOut, Timer, WaitMark, WaitQueue
from tdqsim.core._turns import Turns
from tdqsim.core.agenda import Agenda
from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.core.clock import NS_PER_SECOND, Clock, belongs_here
from tdqsim.errors import UsageError, WouldWaitForever

__all__ = ["WAIT", "Dispatcher", "Strand", "TimedOut", "Timer", "WaitMark", "WaitQueue"]

T = TypeVar("T")
_ASKED_AGAIN_WITHIN: Final = NS_PER_SECOND
"""The longest rest, in real time, before the attempts of waiting strands are made once more."""


class Dispatcher(Turns):
    """Runs strands, one at a time, in an order given by the seed.

    Args:
        clock: the clock for deadlines; a simulated one of its own by default.
        seed: 0 for first ready, first run; any other number for one fixed permutation of ready strands.
        agenda: makes what keeps the deadlines, of a clock and of what lets a strand try again.

    Raises:
        WrongThread: the clock belongs to another thread.

    Attributes:
        current: the strand that runs, or the outside strand.
        thread: identifier of the thread it belongs to; in a forked child one that no thread has.
        ready: the strands that are ready, first come first.
        deadlines: what is due when, see :class:`~tdqsim.core.agenda.Agenda`; both stay the same objects.
        on_idle: callables run whenever no strand is ready, before time moves; shared commits are made here.
        on_dispatch: called with each strand about to run, or None; for traces.
        chooser: picks the next strand's index from the list of ready ones instead of the seed, or None.
    """

    @explains_wrong_types
    def __init__(self, clock: Clock | None = None, seed: int = 0, *, agenda: Callable[..., Agenda] = Agenda) -> None:
        self.clock = clock if clock is not None else Clock()
        self.clock.check_thread()
        belongs_here(self.clock)
        super().__init__(Strand(self, "the program outside"), seed, agenda(self.clock, self.make_ready))
        self._numbers = count(1)
        self._waiting_outside = False
        self._asked = 0  # the number of turns when all attempts were last made once more
        self._asked_outside = 0

    def wake(self) -> None:
        """End the rest of the dispatcher's thread, or its next one; the one method that is for all threads."""
        self.clock.wake()

    # -- starting and running -------------------------------------------------------------------------------------

    def spawn(self, call: Callable[[], Any], *, name: object, owner: object = None, local: Any = None) -> Strand:
        """Make a strand that will run ``call``; it is ready at once and runs when it is dispatched.

        Args:
            call: the function.
            name: its name: text, or an object whose ``str()`` is the name.
            owner: the region or system it belongs to.
            local: data that the owner keeps with it.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        return self.begin(Strand(self, name, owner, call, local))

    def begin(self, strand: Strand) -> Strand:
        """Let a strand that was made beforehand begin; whatever is raised here, it has not, and never will.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        if self.thread != get_ident():
            self.check_thread()
        try:
            strand.number = next(self._numbers)
            self._live[strand.number] = strand
            self.ready.append(strand)
            strand.in_ready = True
            return strand  # noqa: TRY300  (an exception on this line counts as well)
        except BaseException as error:
            strand.done = True
            self._recover(error, self.current)
            raise

    @property
    def pending(self) -> bool:
        """Whether a dispatch could do something now; the end of every command outside a strand asks the two itself."""
        return bool(self.ready or self.deadlines)

    @property
    def can_go_on(self) -> bool:
        """Whether a strand is ready, or will be at some moment without the program outside doing anything."""
        if self.ready or any(strand.deadline_ns is not None for strand in self._live.values()):
            return True
        return self._agenda.has_active_timer

    @property
    def turns(self) -> int:
        """How many turns were given so far."""
        return self._turns

    @property
    def strands(self) -> tuple[Strand, ...]:
        """The strands that have not ended, oldest first."""
        return tuple(self._live.values())

    def run_ready(self) -> None:
        """Give every ready strand its turn, until none is ready; time does not move. Inside a strand: nothing.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        if self.thread != get_ident():
            self.check_thread()
        if self.current is self.outside:
            self._guarded(self._settle)

    def run(self) -> None:
        """Run until no strand can go on: ready ones, then those whose deadlines come, the clock jumping to each.

        Strands that wait without a deadline stay suspended; see :attr:`strands`. A call of :meth:`wake`
        meanwhile does nothing but interrupt the rest of a real clock.

        Raises:
            TdqError: called inside a strand.
            WrongThread: see :meth:`check_thread`.
        """
        self._check_outside("run()")
        self._guarded(self._run)

    def step(self) -> bool:
        """Give one ready strand its turn, or do the idle work; for a loop that has more to do than :meth:`run`.

        Returns:
            False when there was nothing to do: the loop may :meth:`rest`.

        Raises:
            TdqError: called inside a strand.
            WrongThread: see :meth:`check_thread`.
        """
        self._check_outside("step()")
        return self._guarded(partial(self._settle_one, flows=False))

    def rest(self) -> None:
        """Let time pass until something is due or :meth:`wake` is called; a simulated clock jumps there.

        The attempts of waiting strands are made once more first, or within a second. After it, go on with
        :meth:`step`; nothing may be due then, as another thread may wake at any time.

        Raises:
            TdqError: called inside a strand.
            WrongThread: see :meth:`check_thread`.
        """
        self._check_outside("rest()")
        self._guarded(self._rest)

    def _guarded(self, call: Callable[[], T]) -> T:
        """Do something outside all strands; what is raised meanwhile leaves nothing half done."""
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

    def _rest(self) -> None:
        if self._ask_again():
            return
        if self.clock.simulated:
            if not self._reach_next_deadline(outside_waits=False) and not self._ask_again(finally_=True):
                self.clock.rest()
            return
        until = self.next_deadline_ns()
        if self._asked != self._turns and not self.clock.frozen:
            soon = self.clock.time_ns() + _ASKED_AGAIN_WITHIN
            if until is None or until > soon:
                if not self.clock.rest(soon):
                    self._ask_again(finally_=True)
                return
        self.clock.rest(until)

    def yield_now(self, *, always: bool = False) -> None:
        """Let others that are ready go first; outside a strand the same as :meth:`run_ready`.

        Args:
            always: give way even when no strand is ready, so that the loop around :meth:`step` can take in new calls.

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
                self.ready.append(strand)
                strand.in_ready = True
            self._switch_out(strand)

    def call_after_round(self, callback: Callable[[], None]) -> None:
        """Call something, outside any strand, when as many turns have been given as strands are ready now.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        self._rounds.append((self._turns + len(self.ready), Timer(self, 0, callback, passive=True)))

    # -- waiting --------------------------------------------------------------------------------------------------

    def wait(self, attempt: Callable[[], T | WaitMark], queue: WaitQueue, timeout_ns: int | None = None) -> T:
        """Try, park, retry: the one way to wait.

        Args:
            attempt: returns the result, or :data:`WAIT`; it is evaluated from scratch each time.
            queue: where to park; code that changes the state which the attempt reads must wake it.
            timeout_ns: give up after this long on the clock; None waits without limit, 0 tries once.

        Returns:
            What the attempt returned.

        Raises:
            TimedOut: the deadline came first.
            WouldWaitForever: nothing can end the wait (only outside a strand; a strand stays suspended).
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
            if strand.waiting_for is queue:  # an interrupt came before the wait was quite over
                self._end_wait(strand, queue)
                queue.wake_one()
            if strand is self.outside:
                self._waiting_outside = strand.in_ready = False
            raise

    def _try_until(self, attempt: Callable[[], T | WaitMark], strand: Strand, queue: WaitQueue) -> T:
        while True:
            asked = self._park(strand, queue)
            value = attempt()
            if not isinstance(value, WaitMark):
                if asked:
                    self._goes_on(strand)
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
            self._asked = -1  # it may have changed anything since
            self._asked_outside = self._turns

    @staticmethod
    def _end_wait(strand: Strand, queue: WaitQueue) -> None:
        """End a wait; ``waiting_for`` is reset last, so that an interrupted end can be recognised."""
        was_first = queue.first is strand
        queue.order.pop(strand, None)
        strand.deadline_ns = None
        if was_first:
            queue.wake_one()  # the new first one may have waited only because it was not first
        strand.waiting_for = None

    def _park(self, strand: Strand, queue: WaitQueue) -> bool:
        """Give way until there is a reason to try again; True when all attempts are merely made once more."""
        if strand is self.outside:
            self._park_outside(queue)
        else:
            self._switch_out(strand)
        asked, self._asking = self._asking, False
        thrown, strand.thrown = strand.thrown, None
        if thrown is not None:
            raise thrown
        return asked

    def _park_outside(self, queue: WaitQueue) -> None:
        outside = self.outside
        self._waiting_outside = True
        try:
            found = self._guarded(self._until_outside_is_ready)
        finally:
            self._waiting_outside = False
            outside.in_ready = False
        if not found:
            raise WouldWaitForever(self._why_for_ever(queue))

    def _until_outside_is_ready(self) -> bool:
        """Run strands until the program outside has a reason to try again; False when there will be none."""
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
        """Make the attempts of waiting strands once more; False when none could go on, or it was too soon.

        Args:
            finally_: there is nothing else left to do.
        """
        turns = self._turns - self._asked
        if not self._doubtful and (not turns or (turns < len(self._live) and not finally_)):
            return False
        self._asked, self._doubtful = self._turns, False
        before = self._turns
        for strand in tuple(self._live.values()):
            queue = strand.waiting_for
            if queue is None or strand.done or strand.in_ready:  # it may have ended meanwhile
                continue
            self._asking = True
            self._dispatch(strand)
            if strand.done or strand.waiting_for is not queue:
                self._turns += 1
        self._asking = False
        return bool(self.ready) or self._turns != before

    def _goes_on(self, strand: Strand) -> None:
        """A strand that was only asked goes on: a turn like any other."""
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
        """Call something at a moment on the clock, outside any strand. It must not wait.

        Args:
            deadline_ns: the moment, nanoseconds since 1970 UTC.
            callback: what to call; once more when an interrupt ended the first call.
            passive: True keeps ``run()`` from jumping there when no strand waits.

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
        """End every strand of an owner, in order: each wait raises ``kind(message)``.

        Args:
            owner: as given to :meth:`spawn`.
            message: why, for people.
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
        """Let the idle worker greenlets go; called when the last region or system on the dispatcher closes.

        Raises:
            WrongThread: see :meth:`check_thread`.
        """
        self.check_thread()
        while self._idle_workers:
            self._idle_workers.pop().throw()
