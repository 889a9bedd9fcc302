"""A digest of a history in bounded memory: the data for the charts of a page.

A digest reads a history of millions of events once, event by event. For each queue it keeps the depth as steps, the
counts, and the last operations. If there are too many steps, it halves them: of two neighbours it keeps the deeper one.
For tasks and units of work it keeps the bars of a time line: the last that failed or waited, and the last others. It
counts what it leaves out, so that the page can report it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tdqsim.report.flows import FlowCounts
from tdqsim.report.pictures import Point, Stretch
from tdqsim.report.refused import RefusedCommands

_LAST: Final = 8
"""The number of operations kept for each queue."""
_QUEUES: Final = 500
"""The maximum number of queues in a digest."""
_BARS: Final = 100
_STEPS: Final = 20_000
"""The number of steps kept for all queues together; each queue has at least ``_FEWEST``."""
_FEWEST: Final = 20
_TRIGGERS: Final = 200
_UNNAMED: Final = 200
_BILLION: Final = 1_000_000_000

TASK, UNIT, BACKED_OUT, WAIT, ABEND = "task", "unit of work", "backed out", "waits", "abend"


class Moment(NamedTuple):
    """An event of CICS or of IBM i.

    Attributes:
        time_ns: its time by the clock, in nanoseconds.
        what: the command or API, or another name of the event.
        task: the task or job; empty for none.
        queue: the queue; empty for none.
        line: returns a description of the event on one line; called only for the few events that are shown.
        part: ``begin`` or ``end`` of a task; ``commit`` or ``backout`` of a unit of work; ``wait`` when a task begins
            to wait for ``what``, and ``resume`` when it continues; ``state`` for the depth of a queue; ``restart``;
            empty for an operation.
        unit: the unit of work; empty for none.
        change: the change of the depth of the queue.
        depth: the depth after the event; None to compute it from ``change``.
        wrong: the condition, message or abend code; empty for a normal end.
        started_by: for ``begin``, the queue whose trigger level started the task.
        actor: the transaction or the name of the job; empty for none.
        resource: the file, program or transaction of a command; empty for none.
    """

    time_ns: int
    what: str
    task: str = ""
    queue: str = ""
    line: Callable[[], str] = str
    part: str = ""
    unit: str = ""
    change: int = 0
    depth: int | None = None
    wrong: str = ""
    started_by: str = ""
    actor: str = ""
    resource: str = ""


class Trigger(NamedTuple):
    """A task that a trigger level started, and the time of the start."""

    queue: str
    task: str
    order: int
    seconds: float


@dataclass(slots=True)
class QueueDigest:
    """The digest of one queue; ``is_stored`` if its depth is known: an intrapartition queue or a data queue."""

    depth: int = 0
    deepest: int = 0
    steps: list[Point] = field(default_factory=list)
    width: int = 1  # the number of steps in one point; the same for old and new points
    joined: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    last: deque[Callable[[], str]] = field(default_factory=lambda: deque(maxlen=_LAST))
    is_stored: bool = False

    def step(self, order: int, seconds: float, most: int) -> None:
        """Record the depth; thins the steps, so that a million of them need the memory of hundreds."""
        self.deepest = max(self.deepest, self.depth)
        point = Point(order, seconds, self.depth)
        if self.joined % self.width:
            self.steps[-1] = max(point, self.steps[-1], key=lambda each: each.value)
        else:
            self.steps.append(point)
        self.joined += 1
        if len(self.steps) > 2 * most:  # keep the first step: the line begins with the queue
            pairs = zip(self.steps[1::2], self.steps[2::2], strict=False)
            self.steps[1 : len(self.steps) - 1 + len(self.steps) % 2] = [
                max(pair, key=lambda each: each.value) for pair in pairs
            ]
            self.width, self.joined = 2 * self.width, 0


@dataclass(slots=True)
class _Open:
    """A task or unit of work that has not ended, or a wait."""

    lane: str
    order: int
    seconds: float
    text: str = ""
    last_order: int = 0
    last_seconds: float = 0.0
    changes: Counter[str] = field(default_factory=Counter)


class Digest:
    """The digest of one region or system.

    Args:
        steps: the approximate number of steps kept for a queue, at most twice as many; fewer if there are many queues.
        tasks: the number of tasks kept that failed or waited, and the number of other tasks kept.

    Attributes:
        events: the number of events.
        queues: the queues by name, at most 500; ``queues_left_out`` has the names of others.
        triggers: the last 200 of ``trigger_count``.
        tasks: the number of tasks that ended; ``abends`` counts those that abended, by code.
        of_jobs: whether the events are those of an IBM i system.
        refused: the commands that were refused because something is wrong.
    """

    def __init__(self, steps: int = 400, tasks: int = 30) -> None:
        self._steps = self._steps_each = steps
        self._most = tasks
        self.events = self.tasks = self.trigger_count = self.bars_left_out = 0
        self.queues: dict[str, QueueDigest] = {}
        self.queues_left_out: set[str] = set()
        self.abends: Counter[str] = Counter()
        self._flows = FlowCounts()
        self.refused = RefusedCommands()
        self._unnamed: dict[str, Counter[tuple[str, str, str]]] = {}
        self.of_jobs = False
        self.triggers: deque[Trigger] = deque(maxlen=_TRIGGERS)
        self._first_ns: int | None = None
        self._seconds = 0.0
        self._tasks: dict[str, _Open] = {}
        self._units: dict[str, _Open] = {}
        self._waits: dict[str, _Open] = {}
        self._wrong: deque[list[Stretch]] = deque()
        self._normal: deque[list[Stretch]] = deque()
        self._bars: dict[str, list[Stretch]] = {}
        self._acts: dict[str, Callable[[Moment], object]] = {
            "begin": self._begun, "end": self._ended, "commit": self._unit_ended, "backout": self._unit_ended,
            "wait": self._waits_now, "resume": self._goes_on, "state": lambda _moment: None,
            "restart": lambda _moment: self._settle(),
        }  # fmt: skip

    def follow(self, moments: Iterable[Moment]) -> Digest:
        """Add several events."""
        for moment in moments:
            self.take(moment)
        return self

    def take(self, moment: Moment) -> None:
        """Add the next event."""
        self.events += 1
        self._moved_to(moment.time_ns)
        if moment.queue:
            self._queue(moment)
        act = self._acts.get(moment.part)
        if not moment.part:
            self._flowed(moment)
        if act is not None:
            act(moment)
        elif moment.task:
            self._worked(moment)

    def _flowed(self, moment: Moment) -> None:
        """Count a command; those of a task whose transaction only its end shows are kept until then."""
        resource = moment.queue or moment.resource
        key = (moment.what, resource, moment.wrong or "NORMAL")
        if moment.wrong:
            actor = moment.actor or moment.task
            self.refused.add(actor, moment.what, resource, moment.wrong, moment.time_ns, task=_number(moment.task))
        if moment.actor or not moment.task:
            self._flows.command(moment.actor, *key)
            return
        self._unnamed.setdefault(_number(moment.task), Counter())[key] += 1
        if len(self._unnamed) > _UNNAMED:
            self._name(next(iter(self._unnamed)), "")

    def _name(self, task: str, actor: str) -> None:
        for key, count in self._unnamed.pop(task, Counter()).items():
            self._flows.command(actor, *key, count)

    @property
    def flows(self) -> FlowCounts:
        """The counts of commands by transaction or job, and resource."""
        for task in list(self._unnamed):
            self._name(task, "")
        return self._flows

    def _moved_to(self, time_ns: int) -> None:
        if self._first_ns is None:
            self._first_ns = time_ns
        self._seconds = (time_ns - self._first_ns) / _BILLION

    # -- queues ---------------------------------------------------------------------------------------------------

    def _queue(self, moment: Moment) -> None:
        digest = self.queues.get(moment.queue)
        if digest is None:
            if len(self.queues) >= _QUEUES:
                if len(self.queues_left_out) < _QUEUES * 20:
                    self.queues_left_out.add(moment.queue)
                return
            digest = self.queues[moment.queue] = QueueDigest()
            self._steps_each = max(_FEWEST, min(self._steps, _STEPS // len(self.queues)))
        depth = max(0, digest.depth + moment.change) if moment.depth is None else moment.depth
        if depth != digest.depth or moment.part == "state":
            if moment.unit:
                self._unit(moment).changes[moment.queue] += depth - digest.depth
            digest.depth = depth
            digest.step(self.events, self._seconds, self._steps_each)
        if moment.part == "state":
            digest.is_stored = True
            self.of_jobs = self.of_jobs or "/" in moment.queue
        if moment.part == "":
            digest.counts[moment.what] += 1
            digest.last.append(moment.line)
            if moment.wrong:
                digest.wrong[moment.wrong] += 1

    # -- tasks and units of work ----------------------------------------------------------------------------------

    def _begun(self, moment: Moment) -> None:
        self._tasks[moment.task] = self._opened(moment.task, moment.started_by)
        self._flows.tasks[moment.actor] += 1
        if moment.started_by:
            self._flows.started[moment.started_by, moment.actor] += 1
            self.trigger_count += 1
            self.triggers.append(Trigger(moment.started_by, moment.task, self.events, self._seconds))

    def _opened(self, lane: str, text: str = "") -> _Open:
        return _Open(lane, self.events, self._seconds, text, self.events, self._seconds)

    def _worked(self, moment: Moment) -> None:
        task = self._tasks.get(moment.task)
        if task is None:
            task = self._tasks[moment.task] = self._opened(moment.task)
            if len(self._tasks) > 2 * self._most:
                self._forget_idle()
        task.last_order, task.last_seconds = self.events, self._seconds
        if moment.task in self._waits:
            self._goes_on(moment)
        if moment.unit:
            self._unit(moment)

    def _forget_idle(self) -> None:
        """Close the tasks that have been idle longest: tasks of a single command have no event for their end."""
        loose = [each for each in self._tasks if each not in self._waits and not self._tasks[each].text]
        for task in loose[: max(0, len(loose) - self._most)]:
            self._close(task, "")

    def _unit(self, moment: Moment) -> _Open:
        unit = self._units.get(moment.unit)
        if unit is None:
            unit = self._units[moment.unit] = self._opened(moment.task)
        return unit

    def _unit_ended(self, moment: Moment) -> None:
        unit = self._units.pop(moment.unit, None)
        if unit is None:
            return
        backed_out = moment.part == "backout"
        if backed_out:
            for name, change in unit.changes.items():
                queue = self.queues[name]
                queue.depth = max(0, queue.depth - change)
                queue.step(self.events, self._seconds, self._steps_each)
        text = f"unit of work {moment.unit} {'backed out' if backed_out else 'committed'}"
        self._bar(unit, BACKED_OUT if backed_out else UNIT, text)
        if moment.task not in self._tasks:
            self._worked(moment._replace(unit=""))

    def _ended(self, moment: Moment) -> None:
        self.tasks += 1
        self._name(_number(moment.task), moment.actor)
        self._goes_on(moment)
        if moment.wrong:
            self.abends[moment.wrong] += 1
            self._flows.abends[moment.actor, moment.wrong] += 1
            self.refused.abended(_number(moment.task), moment.wrong)
        self._tasks.setdefault(moment.task, self._opened(moment.task))
        self._close(moment.task, moment.wrong)

    def _close(self, name: str, wrong: str, *, at_end: bool = False) -> None:
        """End a task, and keep its bars if it is one of the last, or one of the last that failed or waited."""
        task = self._tasks.pop(name)
        if not at_end:
            task.last_order, task.last_seconds = self.events, self._seconds
        trigger = f", started by {task.text}" if task.text else ""
        text = f"{name}{trigger}: {f'abend {wrong}' if wrong else 'normal end'}"
        span = (task.order, max(task.last_order, task.order)), (task.seconds, max(task.last_seconds, task.seconds))
        bars = [Stretch(name, ABEND if wrong else TASK, text, *span), *self._bars.pop(name, [])]
        self._keep(bars, worth=bool(wrong) or any(bar.kind in (WAIT, BACKED_OUT) for bar in bars))

    def _keep(self, bars: list[Stretch], *, worth: bool) -> None:
        kept = self._wrong if worth else self._normal
        kept.append(bars)
        if len(kept) > self._most:
            kept.popleft()
            self.bars_left_out += 1

    def _bar(self, opened: _Open, kind: str, text: str) -> None:
        span = (opened.order, self.events), (opened.seconds, self._seconds)
        bars = self._bars.setdefault(opened.lane, [])
        bars.append(Stretch(opened.lane, kind, text, *span))
        del bars[:-_BARS]

    # -- waits ----------------------------------------------------------------------------------------------------

    def _waits_now(self, moment: Moment) -> None:
        if moment.task not in self._waits:
            self._waits[moment.task] = self._opened(moment.task, moment.what)

    def _goes_on(self, moment: Moment) -> None:
        wait = self._waits.pop(moment.task, None)
        if wait is not None:
            text = f"{moment.task} waited for {wait.text}, {self._seconds - wait.seconds:.6g} s by the clock"
            self._bar(wait, WAIT, text)

    def _settle(self) -> None:
        """End everything that is open at the present moment, for the end of the history or a restart."""
        for wait in self._waits.values():
            self._bar(wait, WAIT, f"{wait.lane} still waits for {wait.text}")
            self._tasks.setdefault(wait.lane, self._opened(wait.lane))
        self._waits.clear()
        for unit in self._units.values():
            self._bar(unit, UNIT, "unit of work without an end")
        self._units.clear()
        for name in list(self._tasks):
            self._close(name, "", at_end=True)

    def seconds_of(self, time_ns: int) -> float:
        """The seconds from the first event to a time."""
        return (time_ns - (self._first_ns or 0)) / _BILLION

    def steps(self, queue: str) -> list[Point]:
        """The depth of a queue over time, up to the last event."""
        digest = self.queues[queue]
        return [*digest.steps, Point(self.events, self._seconds, digest.depth)]

    def bars(self) -> list[Stretch]:
        """The bars of the time line, by the beginning of the tasks; tasks that are still open end at the last event."""
        self._settle()
        lanes = sorted([*self._wrong, *self._normal], key=lambda bars: bars[0].order)
        return [bar for bars in lanes for bar in bars]


def _number(task: str) -> str:
    """The name of a task without its transaction, such as ``task 7``."""
    return " ".join(task.split(" ")[:2])
