"""Turns: which fiber runs next, on which greenlet, and how the state is repaired after an exception at any line.

This is the lower half of a :class:`~tdqsim.core.dispatch.Dispatcher`; its module has the theory. Here ready fibers get
their turns, one at a time, and end. The upper half adds waiting and time.
"""

from __future__ import annotations

from _thread import get_ident
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection
from operator import attrgetter
from typing import Final

from greenlet import GreenletExit, getcurrent, greenlet

from tdqsim.core.clock import belongs_here
from tdqsim.core.deadlines import Agenda
from tdqsim.core.fiber import Fiber
from tdqsim.errors import UsageError, WrongThread

_IDLE_WORKERS_KEPT: Final = 64
_PLACE: Final = attrgetter("place_ns")


class Turns:
    """The fibers of a dispatcher and their turns; :class:`Dispatcher` documents the public attributes.

    Args:
        outside: the fiber that stands for the program outside.
        seed: the dispatcher's seed.
        agenda: the dispatcher's deadlines.
    """

    thread: int

    def __init__(self, outside: Fiber, seed: int, agenda: Agenda) -> None:
        belongs_here(self)
        self.outside = self.current = outside
        self.seed = seed
        self.on_idle: list[Callable[[], None]] = []
        self.on_dispatch: Callable[[Fiber], None] | None = None
        self._draw = _draw(seed)
        self.ready: deque[Fiber] = deque()
        self.add_ready: Callable[[Fiber], object] = self.ready.append  # until fibers have ranks
        self.chooser = None
        self._live: dict[int, Fiber] = {}
        self._agenda = agenda
        self.deadlines, self._rounds = agenda.deadlines, agenda.rounds
        self._idle_workers: list[greenlet] = []
        self._flows = False  # a fiber may switch straight to the next one: the loop has nothing else to do
        self._turns = 0  # the number of turns given so far
        self._asking = False  # the fiber was dispatched only to repeat its attempt, not because it was woken
        self._doubtful = False  # an exception interrupted something, so a wake-up may have been lost

    def check_thread(self) -> None:
        """Refuse a call from another thread before it has any effect; regions and systems check each of their calls.

        Raises:
            WrongThread: called in another thread than the one that made the dispatcher, or in a forked child.
        """
        if self.thread != get_ident():
            raise WrongThread(
                "a dispatcher, with its regions and systems, is used in the thread and process that made it only; "
                "from another thread use Engine.submit"
            )

    @property
    def chooser(self) -> Callable[[list[Fiber]], int] | None:
        """See the dispatcher."""
        return self._chooser

    @chooser.setter
    def chooser(self, chooser: Callable[[list[Fiber]], int] | None) -> None:
        self._chooser = chooser
        self._next_ready: Callable[[], Fiber] = self._pick if chooser or self.seed else self.ready.popleft

    # -- the loop -------------------------------------------------------------------------------------------------

    def make_ready(self, fiber: Fiber) -> None:
        self.check_thread()
        if not fiber.in_ready:
            if fiber is self.outside:
                self._flows = False
            else:
                self.add_ready(fiber)
            fiber.in_ready = True  # after the append: if interrupted between, it is appended twice, which is harmless

    def _add_at_place(self, fiber: Fiber) -> None:
        """Add a fiber to the ready ones at its place, once fibers have ranks."""
        ready = self.ready
        place = fiber.place_ns = self._agenda.now() - fiber.rank_ns
        if ready and ready[-1].place_ns > place:
            ready.insert(bisect_right(ready, place, key=_PLACE), fiber)
        else:
            ready.append(fiber)

    def rank(self, fiber: Fiber, rank_ns: int) -> None:
        """Let a fiber count as ready some time before it became ready; a negative time lets it count as ready later.

        So a fiber with a rank overtakes those that have become ready since. It does not change the order of those
        ready already. The first call costs every later change to ready a little.
        """
        if self.add_ready != self._add_at_place:
            for each in self.ready:
                each.place_ns = self._agenda.now()
            self.add_ready = self._add_at_place
        fiber.rank_ns = rank_ns

    def _settle(self) -> None:
        """Run fibers until none is ready, idle hooks included."""
        while self._settle_one():
            pass

    def _settle_one(self, *, flows: bool = True) -> bool:
        """Dispatch one ready fiber, or call the idle hooks; False when there was nothing to do.

        Args:
            flows: the fiber may switch straight to the next ready one, and so on, while the loop has nothing to do.
        """
        if self.deadlines:
            self._agenda.fire_due()
        if self._rounds:
            self._agenda.end_rounds(self._turns)
        if self.ready:
            more = self.deadlines or self._rounds or self.outside.in_ready  # only the loop handles these
            self._dispatch(self._next_ready(), flows=flows and not more)
            return True
        for hook in tuple(self.on_idle):
            hook()
        return bool(self.ready)

    def _pick(self) -> Fiber:
        """Take the ready fiber that the chooser or the seed picks, instead of the first one."""
        ready, chooser = self.ready, self._chooser
        index = chooser(list(ready)) if chooser is not None else self._draw(len(ready))
        ready.rotate(-index)
        fiber = ready.popleft()
        ready.rotate(index)
        return fiber

    def _dispatch(self, fiber: Fiber, *, flows: bool = False) -> None:
        before, self._flows = self.current, flows
        try:  # the worker switches back to this greenlet: the loop, or a task that closes a region and ends its tasks
            self._begin_turn(fiber, getcurrent()).switch()
        finally:
            self.current = before

    def _begin_turn(self, fiber: Fiber, hub: greenlet) -> greenlet:
        """Prepare a fiber's turn; returns the greenlet to switch to: its worker, or ``hub`` if it has ended."""
        fiber.in_ready = False
        if fiber.done:
            return hub
        if not self._asking:
            self._turns += 1
            if self.on_dispatch is not None:
                self.on_dispatch(fiber)
        self.current = fiber
        worker = fiber.worker
        if worker is None:
            worker = self._idle_workers.pop() if self._idle_workers else greenlet(self._work)
            fiber.worker = worker
        if worker.parent is not hub:
            worker.parent = hub
        return worker

    def _hand_over(self, worker: greenlet) -> None:
        """Leave a worker: switch to the next fiber if the loop has nothing else to do, otherwise to the loop.

        Switching to a fiber requires an idle worker. The fiber may need one, and a new greenlet that another worker
        starts would begin at the call depth of that worker. No local variable here refers to a fiber, because an idle
        worker waits in this function and must not keep a fiber alive.
        """
        hub: greenlet = worker.parent  # type: ignore[assignment]  # only the main greenlet has no parent
        if self._flows and self.ready and self._idle_workers:
            next_ready = self._next_ready  # calling a function in an attribute is slower than calling a local one
            self._begin_turn(next_ready(), hub).switch()
        else:
            hub.switch()

    def _switch_out(self, fiber: Fiber) -> None:
        worker = fiber.worker
        if worker is None:
            if fiber.in_ready:
                self.ready.remove(fiber)
                fiber.in_ready = False
            raise UsageError(f"{fiber.name}: it must not wait")
        try:
            self._hand_over(worker)
        except GreenletExit:
            raise
        except BaseException as error:  # the program may catch it and continue: the next fiber must not be lost
            self._recover(error, fiber)
            raise

    def _work(self) -> None:
        """The function of a worker greenlet: it runs one fiber after another, because a new greenlet is expensive."""
        worker = getcurrent()
        while True:
            fiber = self.current
            call, fiber.call = fiber.call, None  # None marks the fiber as begun
            assert call is not None, fiber
            try:
                fiber.value = call()
            except GreenletExit as error:
                if self.current is not fiber:  # it waited, and is thrown away with its dispatcher
                    raise
                fiber.exception = RuntimeError(f"{fiber} raised GreenletExit, which no program may raise")
                fiber.exception.__cause__ = error
                fiber.abandon()
            except Exception as error:  # noqa: BLE001  (any exception of the function is the fiber's result)
                fiber.exception = error  # KeyboardInterrupt and the like reach the program outside: see _recover
                fiber.abandon()  # the function may have failed before it did anything, as for lack of memory
            self._finish(fiber)
            del call, fiber  # an idle worker must not keep them alive
            if len(self._idle_workers) >= _IDLE_WORKERS_KEPT:
                return
            self._idle_workers.append(worker)
            self._hand_over(worker)

    def _finish(self, fiber: Fiber) -> None:
        """End a fiber; it counts as ended after the first line, and the rest may be repeated."""
        fiber.done = True
        fiber.worker = None
        if fiber.end_queue is not None:
            fiber.end_queue.wake_all()
        self._live.pop(fiber.number, None)

    # -- after an exception ---------------------------------------------------------------------------------------

    def _recover(self, error: BaseException, current: Fiber) -> None:
        """Repair the state after an exception at any line: no fiber is lost, and each that can continue is ready.

        Args:
            error: the exception.
            current: the fiber that runs now.
        """
        self.current = current
        self._asking = self._flows = False
        self._doubtful = True
        self._agenda.recover(error)
        ended = []
        for fiber in tuple(self._live.values()):
            worker = fiber.worker
            if worker is not None and worker.dead:
                if fiber.call is None:
                    fiber.exception = fiber.exception or error
                    fiber.done = True
                else:
                    fiber.worker = None  # the fiber had not begun; it gets another worker
            if fiber.done:
                self._finish(fiber)
                ended.append(fiber)
        self._idle_workers = [worker for worker in self._idle_workers if not worker.dead]
        self._keep_ready(dict.fromkeys(fiber for fiber in self.ready if not fiber.done))
        running = _running()
        known = set(self.ready)
        for fiber in self._live.values():
            if fiber not in known and fiber.worker not in running:
                self.add_ready(fiber)
            fiber.in_ready = fiber.worker not in running or fiber in known
        for fiber in ended:
            fiber.abandon()

    def _keep_ready(self, fibers: Collection[Fiber]) -> None:
        """Replace the ready fibers; an interrupt in between leaves some in the queue twice, which is harmless."""
        before = len(self.ready)
        self.ready.extend(fibers)
        for _ in range(before):
            self.ready.popleft()


def _draw(seed: int) -> Callable[[int], int]:
    """Make a function that draws a random number below a limit, by a seed; always 0 for seed 0."""
    if seed == 0:
        return lambda _limit: 0
    from random import Random  # noqa: PLC0415  (most dispatchers have seed 0)

    return Random(seed).randrange  # noqa: S311  (repeatable on purpose)


def _running() -> set[greenlet]:
    """The current greenlet and all its parents."""
    running: set[greenlet] = set()
    each: greenlet | None = getcurrent()
    while each is not None:
        running.add(each)
        each = each.parent
    return running
