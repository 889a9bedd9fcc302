"""Regions and systems for schedule exploration: their dispatcher asks the explorer which task runs next.

There are two kinds of choices: tasks that are ready, and timers that are due. So a START with an interval and a task
whose DELAY ends at the same time may run in either order. *Slack* simulates a slow machine: a timer that becomes due
within that number of seconds may run before a task that is ready now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from tdqsim.cics import Region, Task
from tdqsim.core.agenda import Agenda, Entry, is_stale
from tdqsim.core.dispatch import Dispatcher, Timer
from tdqsim.definitions import Definitions, Resource
from tdqsim.ibmi import StartedJob, System
from tdqsim.ibmi.job import JobBase
from tdqsim.testing._orders import Broken, Choice, Controller, Policy
from tdqsim.testing.clock import StillClock
from tdqsim.testing.deadlock import find_deadlock, lost_triggers, stuck
from tdqsim.testing.hooks import add_hook
from tdqsim.testing.stores import RecycledStores
from tdqsim.testing.text import show_record

__all__ = ["Stage", "StagedDispatcher", "StagedRegion"]

_NS: Final = 1_000_000_000


class _Due:
    """A timer that is due; with slack, also a timer or the end of a wait that is due soon.

    Attributes:
        number: a negative number; the same in every run with the same beginning.
        entry: the dispatcher's entry: time, number, and the timer or task.
    """

    __slots__ = ("entry", "number")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.number = -1 - entry[1]


class _StagedAgenda(Agenda):
    """An agenda that makes tasks ready when their wait is over, and leaves due timers to the explorer."""

    __slots__ = ()

    def fire_due(self) -> None:
        """See :class:`tdqsim.core.agenda.Agenda`."""
        now = self._clock.time_ns()
        standing = [entry for entry in sorted(self.deadlines, key=_moment) if not is_stale(entry)]
        for moment, _, waiter in standing:
            if moment <= now and not isinstance(waiter, Timer):
                self._make_ready(waiter)
        # a sorted list is a heap
        self.deadlines[:] = [entry for entry in standing if entry[0] > now or isinstance(entry[2], Timer)]

    def due(self) -> list[_Due]:
        """The timers that are due and have not been called or cancelled."""
        if not self.deadlines:
            return []
        self.fire_due()
        now = self._clock.time_ns()
        return [_Due(entry) for entry in self.deadlines if entry[0] <= now]


class StagedDispatcher(Dispatcher):
    """A dispatcher that asks the explorer for the next task or timer; see the top of this module."""

    _agenda: _StagedAgenda

    def __init__(
        self, choose: Callable[[Sequence[Choice]], int], slack: float = 0.0, clock: StillClock | None = None
    ) -> None:
        super().__init__(clock or StillClock(), agenda=_StagedAgenda)
        self.chooser = choose
        self._choose = choose
        self._slack_ns = round(slack * _NS)

    def _settle_one(self, *, flows: bool = True) -> bool:  # noqa: ARG002 (every dispatch is a choice)
        """Dispatch the chosen strand, or fire the chosen timer."""
        due = self._agenda.due()
        if due or (self._slack_ns and self.ready):
            return self._one_of(due)
        return super()._settle_one(flows=False)

    def _one_of(self, due: list[_Due]) -> bool:
        ready = list(self.ready)
        soon = self._soon()
        choices: list[Choice] = [*due, *ready, *soon]
        index = self._choose(choices)
        chosen = choices[index]
        if not isinstance(chosen, _Due):
            self.ready.remove(ready[index - len(due)])
            self._dispatch(ready[index - len(due)])
            return True
        if chosen not in due:
            self.clock.reach(chosen.entry[0])
            self._agenda.fire_due()
        self._fire(chosen)
        return True

    def _soon(self) -> list[_Due]:
        """The timers and ends of waits that may be taken early because of the slack."""
        if not self._slack_ns:
            return []
        now = self.clock.time_ns()
        entries = sorted(self.deadlines, key=_moment)
        return [_Due(entry) for entry in entries if not is_stale(entry) and now < entry[0] <= now + self._slack_ns]

    def _fire(self, chosen: _Due) -> None:
        timer = chosen.entry[2]
        if isinstance(timer, Timer) and timer.callback is not None:
            callback, timer.callback = timer.callback, None
            callback()


def _moment(entry: Entry) -> tuple[int, int]:
    return entry[:2]


class _Yields:
    """A hook that lets other tasks run before each command of a region and before each commit."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def before(self, task: Task, command: str, arguments: Mapping[str, object]) -> None:  # noqa: ARG002  (a hook's)
        """Let another task run before this command."""
        self.give_way()

    def after(self, task: Task, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """Do nothing after a command."""

    def give_way(self, *_: object) -> None:
        """Let another task run now, unless the caller is outside any task."""
        if self._dispatcher.current is not self._dispatcher.outside:
            self._dispatcher.yield_now()


class StagedRegion(Region):
    """A region in which other tasks may run before every command and every syncpoint; commits are never shared."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.hardening.shared = False  # a shared commit would hide the order of its units of work
        yields = _Yields(self.dispatcher)
        self.recovery.before_commit = yields.give_way
        add_hook(self, yields)


class _StagedSystem(System):
    """A system that keeps a list of the jobs that it has started."""

    def start(self, *args: Any, **options: Any) -> StartedJob:  # type: ignore[override]  # it passes all arguments on
        """See :meth:`tdqsim.ibmi.System.start`."""
        started = super().start(*args, **options)
        self.started.append(started)
        return started

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.started: list[StartedJob] = []


def _check_jobs(system: System, allowed: frozenset[str]) -> None:
    """Raise if a job ended with an exception that is not allowed."""
    for started in system.started if isinstance(system, _StagedSystem) else ():
        error = started.exception
        known = getattr(error, "message_id", type(error).__name__)
        if error is not None and known not in allowed and "*" not in allowed:
            raise Broken("abnormal end", f"job {started.job.qualified_name} ended with {known}: {error}")


class Stage:
    """Makes the regions and systems of a scenario. Each schedule has a new stage.

    Attributes:
        dispatcher: chooses the task that runs next.
        regions, systems: those made so far.
    """

    def __init__(
        self, policy: Policy, stores: RecycledStores, longest: int, *, slack: float = 0.0, log: bool = False
    ) -> None:
        self.controller = Controller(policy, longest)
        self.dispatcher: Dispatcher = StagedDispatcher(self.controller.choose, slack)
        self.dispatcher.on_idle.append(self._look)
        self.regions: list[Region] = []
        self.deadlock = ""
        self.log: list[str] | None = [] if log else None
        self._stores = stores
        self.systems: list[System] = []

    def region(self, definitions: Definitions | Iterable[Resource] = (), **options: Any) -> Region:
        """A region on the stage; arguments as for :class:`~tdqsim.cics.Region`; by default without supplied queues."""
        options.setdefault("supplied_queues", False)
        if "store" not in options:
            options["store"] = self._stores.take()
        region = StagedRegion(definitions, dispatcher=self.dispatcher, **options)
        if self.log is not None:
            add_hook(region, self)
        self.regions.append(region)
        return region

    def system(self, **options: Any) -> System:
        """An IBM i system on the stage; other jobs may run before every API and command of its started jobs."""
        if "path" not in options:
            options["path"] = self._stores.take()
        system = _StagedSystem(dispatcher=self.dispatcher, **options)
        system.faults = self._before_api
        self.systems.append(system)
        return system

    def _before_api(self, job: JobBase, operation: str, name: str, library: str) -> None:
        dispatcher = self.dispatcher
        if dispatcher.current is not dispatcher.outside:
            dispatcher.yield_now()
        if self.log is not None:
            self.log.append(f"job {job.qualified_name} {operation} {library}/{name}")

    def before(self, task: Task, command: str, arguments: Mapping[str, object]) -> None:
        """Write the command to the log."""
        if self.log is not None:
            self.log.append(_described(task, command, arguments))

    def after(self, task: Task, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """Do nothing after a command."""

    def _look(self) -> None:
        """Called when no task is ready: note a deadlock, if there is one."""
        if not self.deadlock and any(strand.waiting_for is not None for strand in self.dispatcher.strands):
            deadlock = find_deadlock(self.regions, self.systems)
            if deadlock is not None:
                self.deadlock = deadlock.text

    def verdict(self, allowed: frozenset[str], *, may_wait: bool) -> None:
        """Raise Broken for a deadlock, an abend that is not allowed, a task that waits for ever, or a lost trigger."""
        if self.deadlock:
            raise Broken("deadlock", self.deadlock)
        for region in self.regions:
            abends = [code for code in region.abends if code not in allowed and "*" not in allowed]
            if abends:
                raise Broken("abend", f"a task ended with abend {', '.join(abends)}")
        for system in self.systems:
            _check_jobs(system, allowed)
        self._look()
        if self.deadlock:
            raise Broken("deadlock", self.deadlock)
        waits = [] if may_wait else stuck(self.dispatcher.strands)
        if waits:
            raise Broken("endless wait", "; ".join(waits))
        lost = [text for region in self.regions if not region.closed for text in lost_triggers(region)]
        if lost:
            raise Broken("lost trigger", "; ".join(lost))

    def close(self) -> None:
        """End the regions and systems."""
        for system in self.systems:
            system.close()
        for region in self.regions:
            region.close()
        self.dispatcher.release_workers()


def _described(task: Task, command: str, arguments: Mapping[str, object]) -> str:
    data = arguments.get("from_")
    words = [f"task {task.number} {task.transid:<4}", command, str(arguments.get("queue") or "")]
    if isinstance(data, bytes):
        words.append(show_record(data))
    return " ".join(word for word in words if word)
