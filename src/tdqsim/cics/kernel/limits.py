"""The limits on the number of tasks: MXT for the region, MAXACTIVE and PURGETHRESH for a transaction class.

An attached task is *active* from its admission to its end. A task that the limits do not admit is queued: it exists, is
listed and can be purged, but its program does not begin. Whenever a task ends or a limit is raised, queued tasks are
admitted while the limits allow it: the highest PRIORITY first, within a priority in order of arrival. A task that waits
for its class does not delay tasks outside the class. A task that arrives when PURGETHRESH - 1 tasks of its class are
queued ends with abend AKCC and message DFHAC2004; so do the last tasks in the queue, lowest priority first, when SET
lowers PURGETHRESH.

=====================  =========================================
A task                 is admitted while
=====================  =========================================
without a class        fewer than MXT tasks are active
of a class             the same, and fewer than MAXACTIVE tasks of the class are active
=====================  =========================================

Only attached tasks count: triggered, started and terminal tasks. The mirror tasks of other regions and the tasks of the
calling Python program neither count nor wait. A region without limits has no object of this module.

Sources: MXT; Specifying a transaction class purge threshold; SET TRANCLASS (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.conditions import Abend
from tdqsim.cics.kernel.waiting import park
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.transaction import Handler, TransactionEntry
from tdqsim.core.fiber import WAIT, WaitMark, WaitQueue
from tdqsim.errors import UsageError
from tdqsim.facts import LIMITS

if TYPE_CHECKING:
    from tdqsim import definitions as defs

PURGED_BY_THRESHOLD: Final = "AKCC"
_PURGED_MESSAGE: Final = "DFHAC2004"
_MXT_WAIT: Final = ("MXT", "XM_HELD")
_CLASS_WAIT: Final = "TCLASS"


def check_maxtasks(maxtasks: int) -> None:
    """Check MXT.

    Raises:
        UsageError: it is not in the range; the text names the range.
    """
    low, high = LIMITS["mxt_minimum"], LIMITS["mxt_maximum"]
    if not low <= maxtasks <= high:
        raise UsageError(f"mxt {maxtasks}: allowed are {low} to {high}")


class _Place:
    """The place of a task in the queue.

    Attributes:
        task, priority: the task and the PRIORITY of its transaction.
        number: its number in order of arrival.
        wakes: where its fiber waits.
        purged: whether it is to end with AKCC.
    """

    __slots__ = ("number", "priority", "purged", "task", "wakes")

    def __init__(self, task: TaskData, priority: int, number: int, wakes: WaitQueue) -> None:
        self.task, self.priority, self.number, self.wakes = task, priority, number, wakes
        self.purged = False


class ClassCounts:
    """What statistics count of one transaction class, or of MXT, since the last reset.

    Attributes:
        attaches: the tasks that arrived.
        delayed: those that were queued.
        purged: those that ended with AKCC when they arrived.
        purged_waiting: those that ended while they were queued.
        times_full: how often the limit was reached.
        peak_active, peak_queued: the most active and queued tasks.
    """

    __slots__ = ("attaches", "delayed", "peak_active", "peak_queued", "purged", "purged_waiting", "times_full")

    def __init__(self, active: int = 0, queued: int = 0) -> None:
        self.attaches = self.delayed = self.purged = self.purged_waiting = self.times_full = 0
        self.peak_active, self.peak_queued = active, queued


class TransactionClass:
    """A transaction class with its tasks; one without a name holds the tasks that have no class.

    Attributes:
        name: its name.
        maxactive: the most active tasks, 0 to 999; None for no limit.
        purgethresh: one more than the most queued tasks, 1 to 1000000; 0 for no limit.
        active: its active tasks.
        queued: the places of its queued tasks.
        counts: what statistics count.
    """

    __slots__ = ("_line", "active", "counts", "maxactive", "name", "purgethresh", "queued")

    def __init__(self, name: str = "", maxactive: int | None = None, purgethresh: int = 0) -> None:
        self.name, self.maxactive, self.purgethresh = name, maxactive, purgethresh
        self.active: dict[TaskData, None] = {}
        self.queued: dict[TaskData, _Place] = {}
        self.counts = ClassCounts()
        self._line: list[tuple[int, int, _Place]] = []  # may have places of tasks that are not queued any more

    def join(self, place: _Place) -> None:
        """Queue a task."""
        self.queued[place.task] = place
        heappush(self._line, (-place.priority, place.number, place))

    def reset(self) -> None:
        """Begin to count again."""
        self.counts = ClassCounts(len(self.active), len(self.queued))

    def first(self) -> tuple[int, int, _Place] | None:
        """The place that is served first, after its order; None when the class is full or no task waits."""
        if self.maxactive is not None and len(self.active) >= self.maxactive:
            return None
        line = self._line
        while line and line[0][2].task not in self.queued:
            heappop(line)
        return line[0] if line else None

    def surplus(self) -> Iterator[_Place]:
        """The queued tasks over the threshold, the lowest priority first, and the last of a priority."""
        too_many = len(self.queued) - self.purgethresh + 1
        if self.purgethresh and too_many > 0:
            places = sorted(self.queued.values(), key=lambda place: (place.priority, -place.number))
            yield from places[:too_many]


class Limits:
    """The limits of one region.

    Attributes:
        maxtasks: MXT; 0 for no limit.
        active: the active tasks, each with its class.
        classes: the installed transaction classes by name.
        held: the tasks that are queued because MXT was reached when they arrived.
        counts: what statistics count of MXT.
    """

    __slots__ = ("_no_class", "_numbers", "active", "classes", "counts", "held", "maxtasks")

    def __init__(self, region: RegionData, maxtasks: int = 0) -> None:
        self._no_class = TransactionClass()
        self._numbers = count()
        self.maxtasks = maxtasks
        self.held: dict[TaskData, None] = {}
        self.counts = ClassCounts()
        self.classes: dict[str, TransactionClass] = {}
        running = (task for task in region.tasks.values() if task._fiber is not None)
        self.active: dict[TaskData, TransactionClass] = dict.fromkeys(running, self._no_class)

    def define(self, name: str, maxactive: int, purgethresh: int) -> None:
        """Install a transaction class, or change its limits."""
        known = self.classes.get(name)
        if known is None:
            self.classes[name] = TransactionClass(name, maxactive, purgethresh)
        else:
            known.maxactive, known.purgethresh = maxactive, purgethresh
            self.admit()
            for place in known.surplus():
                place.purged = True
                if known.queued.pop(place.task, None) is not None:
                    known.counts.purged_waiting += 1
                place.wakes.wake_one()

    def set_maxtasks(self, maxtasks: int) -> None:
        """Change MXT."""
        self.maxtasks = maxtasks
        self.admit()

    def arrive(self, task: TaskData, entry: TransactionEntry) -> None:
        """Admit a new task, or make it wait before its program begins."""
        of = self.classes.get(entry.definition.tranclass, self._no_class)
        of.counts.attaches += 1
        full = of.maxactive is not None and len(of.active) >= of.maxactive
        if not full and (not self.maxtasks or len(self.active) < self.maxtasks):
            self._activate(task, of)
            return
        kind, name = (_CLASS_WAIT, of.name) if full else _MXT_WAIT
        place = _Place(task, entry.definition.priority, next(self._numbers), WaitQueue(f"{kind} {name}"))
        if of.purgethresh and len(of.queued) >= of.purgethresh - 1:
            place.purged = True
            of.counts.purged += 1
        else:
            self._queue(of, place, full=full)
        task._work = self._run_later, (of, place, (kind, name), *task._work)

    def _queue(self, of: TransactionClass, place: _Place, *, full: bool) -> None:
        of.join(place)
        if full:
            counts, queued = of.counts, len(of.queued)
        else:
            self.held[place.task] = None
            counts, queued = self.counts, len(self.held)
        counts.delayed += 1
        counts.peak_queued = max(counts.peak_queued, queued)

    def _run_later(
        self,
        task: TaskData,
        of: TransactionClass,
        place: _Place,
        wait: tuple[str, str],
        program: Handler,
        args: tuple[object, ...],
    ) -> object:
        """The program of a queued task: waits until the limits admit the task, and runs the real program.

        Raises:
            Abend: AKCC: the queue of its class is too long; or the code with which the task was purged.
        """

        def attempt() -> WaitMark | None:
            if place.purged:
                _tell_purged(task)
                text = f"the queue of transaction class {of.name} has reached PURGETHRESH {of.purgethresh}"
                raise Abend(PURGED_BY_THRESHOLD, detail=text)
            if task not in self.active:
                self.admit()
            return None if task in self.active else WAIT

        if place.purged or task not in self.active:
            park(task, attempt, place.wakes, *wait)
        return program(task, *args)

    def admit(self) -> None:
        """Admit queued tasks while the limits allow it. May be called again after an interrupt."""
        while not self.maxtasks or len(self.active) < self.maxtasks:
            heads = (of.first() for of in (self._no_class, *self.classes.values()))
            head = min((head for head in heads if head is not None), default=None)
            if head is None:
                return
            place = head[2]
            of = next(each for each in (self._no_class, *self.classes.values()) if place.task in each.queued)
            self._activate(place.task, of)
            of.queued.pop(place.task, None)
            place.wakes.wake_one()

    def _activate(self, task: TaskData, of: TransactionClass) -> None:
        of.active[task] = None
        self.active[task] = of
        self.held.pop(task, None)
        for counts, active, most in (
            (of.counts, len(of.active), of.maxactive),
            (self.counts, len(self.active), self.maxtasks),
        ):
            counts.peak_active = max(counts.peak_active, active)
            counts.times_full += active == most

    def reset(self) -> None:
        """Begin to count tasks that MXT delays again."""
        self.counts = ClassCounts(len(self.active), len(self.held))

    def left(self, task: TaskData) -> None:
        """Take a task that has ended, or could not begin, out of the lists, and admit others."""
        for of in (self._no_class, *self.classes.values()):
            of.active.pop(task, None)
            if of.queued.pop(task, None) is not None:
                of.counts.purged_waiting += 1
        self.active.pop(task, None)
        self.held.pop(task, None)
        self.admit()


def _tell_purged(task: TaskData) -> None:
    """Report to the user of the terminal, or on CSMT, that the threshold has ended a task."""
    messages, facility = task._region.messages, task._facility
    inserts = {"transid": task.transid, "abcode": PURGED_BY_THRESHOLD}
    if facility is not None and facility.kind == "TERMINAL":
        messages.show(facility.name, _PURGED_MESSAGE, **inserts)
    else:
        messages.write(_PURGED_MESSAGE, **inserts)


def define_class(region: RegionData, definition: defs.Tranclass) -> None:
    """Install a transaction class; one of that name gets the new limits and keeps its tasks."""
    limits_of(region).define(definition.name, definition.maxactive, definition.threshold)


def limits_of(region: RegionData) -> Limits:
    """The limits of a region, made now if it has none."""
    if region.limits is None:
        region.limits = Limits(region)
    limits: Limits = region.limits
    return limits
