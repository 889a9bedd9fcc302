"""Turns: which strand runs next, on which greenlet, and what holds after an exception at any line.

The lower half of a :class:`~tdqsim.core.dispatch.Dispatcher`, whose module has the theory: strands that are ready get
their turns here, one at a time, and end; waiting and time are the upper half's.
"""

from __future__ import annotations

from _thread import get_ident
from collections import deque
from collections.abc import Callable, Collection
from typing import Final

from greenlet import GreenletExit, getcurrent, greenlet

from tdqsim.core._strand import Strand
from tdqsim.core.agenda import Agenda
from tdqsim.core.clock import belongs_here
from tdqsim.errors import WrongThread

__all__ = ["Turns"]

_IDLE_WORKERS_KEPT: Final = 64


class Turns:
    """The strands of a dispatcher and their turns; it documents the attributes that have no underscore.

    Args:
        outside: stands for the program outside.
        seed: see the dispatcher's.
        agenda: what is due when.
    """

    thread: int

    def __init__(self, outside: Strand, seed: int, agenda: Agenda) -> None:
        belongs_here(self)
        self.outside = self.current = outside
        self.seed = seed
        self.on_idle: list[Callable[[], None]] = []
        self.on_dispatch: Callable[[Strand], None] | None = None
        self._draw = _draw(seed)
        self.ready: deque[Strand] = deque()
        self.chooser = None
        self._live: dict[int, Strand] = {}
        self._agenda = agenda
        self.deadlines, self._rounds = agenda.deadlines, agenda.rounds
        self._idle_workers: list[greenlet] = []
        self._flows = False  # strands may hand over to each other: the loop would do nothing else
        self._turns = 0  # how many turns were given so far
        self._asking = False  # a strand has its turn only to make its attempt once more
        self._doubtful = False  # something was interrupted: a wake-up may be lost

    def check_thread(self) -> None:
        """Refuse a call from another thread, before it has any effect; each entry of a region or system calls it.

        Raises:
            WrongThread: another thread than the one that made it, or a forked child.
        """
        if self.thread != get_ident():
            raise WrongThread(
                "a dispatcher, with its regions and systems, is used in the thread and process that made it only; "
                "from another thread use Engine.submit"
            )

    @property
    def chooser(self) -> Callable[[list[Strand]], int] | None:
        """See the dispatcher."""
        return self._chooser

    @chooser.setter
    def chooser(self, chooser: Callable[[list[Strand]], int] | None) -> None:
        self._chooser = chooser
        self._next_ready: Callable[[], Strand] = self._pick if chooser or self.seed else self.ready.popleft

    # -- the loop -------------------------------------------------------------------------------------------------

    def make_ready(self, strand: Strand) -> None:
        self.check_thread()
        if not strand.in_ready:
            if strand is not self.outside:
                self.ready.append(strand)
            strand.in_ready = True  # not before: to be there twice does no harm, to be missing would

    def _settle(self) -> None:
        """Run strands until none is ready, idle hooks included."""
        while self._settle_one():
            pass

    def _settle_one(self, *, flows: bool = True) -> bool:
        """Dispatch one ready strand, or do the idle work; False when there was nothing to do.

        Args:
            flows: the strand may hand over to the next one, and that to its next, as long as nothing else is to do.
        """
        if self.deadlines:
            self._agenda.fire_due()
        if self._rounds:
            self._agenda.end_rounds(self._turns)
        if self.ready:
            self._dispatch(self._next_ready(), flows=flows)
            return True
        for hook in tuple(self.on_idle):
            hook()
        return bool(self.ready)

    def _pick(self) -> Strand:
        """The strand that the chooser or the seed picks, instead of the first one."""
        ready, chooser = self.ready, self._chooser
        index = chooser(list(ready)) if chooser is not None else self._draw(len(ready))
        ready.rotate(-index)
        strand = ready.popleft()
        ready.rotate(index)
        return strand

    def _dispatch(self, strand: Strand, *, flows: bool = False) -> None:
        before, flowed = self.current, self._flows
        self._flows = flows
        try:  # who asks is whom workers come back to: the loop, or a task that closes another region and ends its tasks
            self._begin_turn(strand, getcurrent()).switch()
        finally:
            self.current, self._flows = before, flowed

    def _begin_turn(self, strand: Strand, hub: greenlet) -> greenlet:
        """A strand is about to run: its worker, to be switched to; one that has ended meanwhile gives way at once."""
        strand.in_ready = False
        if strand.done:
            return hub
        if not self._asking:
            self._turns += 1
            if self.on_dispatch is not None:
                self.on_dispatch(strand)
        self.current = strand
        worker = strand.worker
        if worker is None:
            worker = self._idle_workers.pop() if self._idle_workers else greenlet(self._work)
            strand.worker = worker
        if worker.parent is not hub:
            worker.parent = hub
        return worker

    def _hand_over(self, worker: greenlet) -> None:
        """A worker gives way: straight to the next strand where the loop would do nothing else, else to the loop.

        Not without a worker in reserve: the next strand may need one, and a greenlet that is begun by another begins at
        that one's depth of calls. Nothing here names a strand: a worker that waits here for work keeps no strand alive.
        """
        hub = worker.parent
        assert hub is not None, "only the main greenlet has no parent"
        alone = self.deadlines or self._rounds or self.outside.in_ready  # only the loop sees to these
        if self._flows and self.ready and self._idle_workers and not alone:
            next_ready = self._next_ready  # what an attribute holds costs more when it is called by its name
            self._begin_turn(next_ready(), hub).switch()
        else:
            hub.switch()

    def _switch_out(self, strand: Strand) -> None:
        worker = strand.worker
        assert worker is not None, strand
        try:
            self._hand_over(worker)
        except GreenletExit:
            raise
        except BaseException as error:  # the program may go on after it: the next strand must not be lost
            self._recover(error, strand)
            raise

    def _work(self) -> None:
        """The life of a worker greenlet: one strand after another, because a fresh greenlet is dear."""
        worker = getcurrent()
        while True:
            strand = self.current
            call, strand.call = strand.call, None  # without a call it has begun
            assert call is not None, strand
            try:
                strand.value = call()
            except GreenletExit:
                raise
            except Exception as error:  # noqa: BLE001  (whatever left the function is the strand's result)
                strand.exception = error  # an interrupt is no Exception and goes to the program outside: see _recover
                if strand.abandon is not None:
                    strand.abandon()  # the function may not have done anything yet: no memory, say
            self._finish(strand)
            del call, strand  # a worker that waits for work keeps nothing alive
            if len(self._idle_workers) >= _IDLE_WORKERS_KEPT:
                return
            self._idle_workers.append(worker)
            self._hand_over(worker)

    def _finish(self, strand: Strand) -> None:
        """End a strand; after the first line it is over, and the rest can be done again."""
        strand.done = True
        strand.call = strand.worker = None
        if strand.end_queue is not None:
            strand.end_queue.wake_all()
        self._live.pop(strand.number, None)

    # -- after whatever was raised --------------------------------------------------------------------------------

    def _recover(self, error: BaseException, current: Strand) -> None:
        """Repair the state after an exception at any line: no strand is lost, and each that can go on will.

        Args:
            error: the exception.
            current: the strand that runs now.
        """
        self.current = current
        self._asking = False
        self._doubtful = True
        self._agenda.recover(error)
        over = []
        for strand in tuple(self._live.values()):
            worker = strand.worker
            if worker is not None and worker.dead:
                if strand.call is None:
                    strand.exception = strand.exception or error
                    strand.done = True
                else:
                    strand.worker = None  # it had not begun
            if strand.done:
                self._finish(strand)
                over.append(strand)
        self._idle_workers = [worker for worker in self._idle_workers if not worker.dead]
        self._keep_ready(dict.fromkeys(strand for strand in self.ready if not strand.done))
        running = _running()
        known = set(self.ready)
        for strand in self._live.values():
            if strand not in known and strand.worker not in running:
                self.ready.append(strand)
            strand.in_ready = strand.worker not in running or strand in known
        for strand in over:
            if strand.abandon is not None:
                strand.abandon()

    def _keep_ready(self, strands: Collection[Strand]) -> None:
        """These alone are ready. They are there twice for a moment, which does no harm; to be missing would."""
        before = len(self.ready)
        self.ready.extend(strands)
        for _ in range(before):
            self.ready.popleft()


def _draw(seed: int) -> Callable[[int], int]:
    """A function that draws a number below a limit, by a seed; always 0 for seed 0."""
    if seed == 0:
        return lambda _limit: 0
    from random import Random  # noqa: PLC0415  (most dispatchers have seed 0)

    return Random(seed).randrange  # noqa: S311  (repeatable on purpose)


def _running() -> set[greenlet]:
    """The greenlets that have called each other down to the one that runs."""
    found: set[greenlet] = set()
    each: greenlet | None = getcurrent()
    while each is not None:
        found.add(each)
        each = each.parent
    return found
