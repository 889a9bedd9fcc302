"""Regions and systems for schedule exploration: their dispatcher asks the explorer which task runs next.

There are two kinds of choices: tasks that are ready, and timers that are due. So a START with an interval and a task
whose DELAY ends at the same time may run in either order. *Slack* simulates a slow machine: a timer that becomes due
within that number of seconds may run before a task that is ready now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tdqsim.cics import Region, Task
from tdqsim.cics.internals import TaskInternals, core_of
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.core.deadlines import Agenda, Entry, is_stale
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import Fiber, Timer, WaitQueue
from tdqsim.definitions import Definitions, Resource
from tdqsim.faults.hooks import add_hook
from tdqsim.faults.plan import FaultPlan, MessageFault
from tdqsim.ibmi import StartedJob, System
from tdqsim.ibmi.job_core import JobBase
from tdqsim.state.deadlock import find_deadlock, lost_triggers, stuck
from tdqsim.testing._footprints import ENQ, Footprint, Touch, touched_by_api, touched_by_command
from tdqsim.testing._orders import Broken, Choice, Controller, Policy
from tdqsim.testing.clock import StillClock
from tdqsim.testing.stores import RecycledStores
from tdqsim.testing.text import show_record

if TYPE_CHECKING:
    from tdqsim.cics.model.unit import UnitOfWork
    from tdqsim.testing._placements import Placed

_NS: Final = 1_000_000_000
S = TypeVar("S", bound=Fiber)


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
        """See :class:`tdqsim.core.deadlines.Agenda`."""
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
    """A dispatcher that asks the explorer for the next task or timer; see the top of this module.

    Args:
        controller: decides, and records the turns.
        slack: see the module.
        clock: the clock of the regions; a new one by default.
        faults: the faults; commands that one of them may fit conflict with each other, because the fault counts them.
    """

    _agenda: _StagedAgenda

    def __init__(
        self,
        controller: Controller,
        slack: float = 0.0,
        clock: StillClock | None = None,
        faults: FaultPlan | None = None,
    ) -> None:
        super().__init__(clock or StillClock(), agenda=_StagedAgenda)
        self.chooser = self._choose = controller.choose
        self._slack_ns = round(slack * _NS)
        self._controller = controller
        self._faults = () if faults is None else faults.faults
        self._held: dict[int, Footprint] = {}
        self._begun: dict[int, int] = {}
        self.on_idle.append(controller.idle)

    # -- what turns use -----------------------------------------------------------------------------------------------

    def begin(self, fiber: S) -> S:
        """See :class:`tdqsim.core.dispatch.Dispatcher`."""
        begun = super().begin(fiber)
        parent, controller = self.current.number, self._controller
        count = self._begun[parent] = self._begun.get(parent, 0) + 1
        controller.names[begun.number] = (controller.names.get(parent, 0), count)
        if isinstance(begun.local, TaskBase):
            controller.recorded.add(begun.number)
        return begun

    def record_job(self, fiber: Fiber) -> None:
        """The fiber of a job: its use of resources is recorded."""
        self._controller.recorded.add(fiber.number)

    def use(self, touches: Iterable[Touch] | None, operation: str = "") -> None:
        """The command that begins uses resources; None for anything. Outside any task it may use anything."""
        footprint = Footprint(everything=touches is None or self.current is self.outside)
        for touch in touches or ():
            footprint.add(touch.key, writes=touch.writes)
            if touch.held:
                self._held.setdefault(self.current.number, Footprint()).add(touch.key)
        for number, fault in enumerate(self._faults):
            matched = fault.operation if isinstance(fault, MessageFault) else getattr(fault, "command", operation)
            if matched in ("", operation):
                footprint.add(("fault", number))
                self.end_unit(over=False)  # perhaps the fault backs it out
        self._controller.pending[self.current.number] = footprint
        self._add(footprint)

    def use_everything(self) -> None:
        """The turn may use anything."""
        self._add(Footprint(everything=True))

    def used(self) -> None:
        """The command is complete."""
        self._controller.pending.pop(self.current.number, None)

    def end_unit(self, *, alone: bool = True, over: bool = True) -> None:
        """A unit of work ends: its locks are free.

        Args:
            alone: no other region takes part.
            over: it ends now, not only perhaps.
        """
        held = self._held.get(self.current.number)
        if held is not None:
            self._add(held)
            if over:
                held.written = {key for key in held.written if key[0] == ENQ}  # perhaps it is held by the task
        if not alone:
            self.use(None)

    def _add(self, footprint: Footprint) -> None:
        own = self._controller.footprint
        if own is not None:
            own.include(footprint)

    def _finish(self, fiber: Fiber) -> None:
        task = fiber.local
        if fiber.exception is not None:
            self.use_everything()  # messages and statistics
        if fiber.number in self._held:
            self._add(self._held.pop(fiber.number))
        if isinstance(task, TaskBase):
            self._add(_used_at_end(task))
        super()._finish(fiber)

    def _park_outside(self, queue: WaitQueue) -> None:
        super()._park_outside(queue)
        self.use_everything()

    # -- turns --------------------------------------------------------------------------------------------------------

    def _settle_one(self, *, flows: bool = True) -> bool:  # every dispatch is a choice
        """Dispatch the chosen fiber, or fire the chosen timer."""
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


def _used_at_end(task: TaskBase) -> Footprint:
    """The trigger queue and the terminal of a task, which its end makes free."""
    footprint = Footprint()
    request = TaskInternals(task).request
    applid = task.region.applid
    if request is not None:
        footprint.add(("TD", applid, request.queue.name))
    if task.eib.eibtrmid.strip():
        footprint.add(("terminals", applid))
    return footprint


class _Yields:
    """A hook that lets other tasks run before each command of a region and before each commit."""

    def __init__(self, region: Region, dispatcher: StagedDispatcher) -> None:
        self._region, self._dispatcher = region, dispatcher

    def before(self, task: Task, command: str, arguments: Mapping[str, object]) -> None:  # a hook's
        """Let another task run before this command, and record what the command uses."""
        self._give_way()
        self._dispatcher.use(touched_by_command(core_of(self._region), command, arguments), command)
        if command == "SYNCPOINT ROLLBACK":
            self._dispatcher.end_unit()

    def after(self, task: Task, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """Record that the command is complete."""
        self._dispatcher.used()

    def before_commit(self, uow: UnitOfWork) -> None:
        """Let another task run before this commit."""
        self._give_way()
        self._dispatcher.end_unit(alone=not uow.participants)

    def _give_way(self) -> None:
        """Let another task run now, unless the caller is outside any task."""
        if self._dispatcher.current is not self._dispatcher.outside:
            self._dispatcher.yield_now(always=True)


class StagedRegion(Region):
    """A region in which other tasks may run before every command and every syncpoint; commits are never shared."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        core = core_of(self)
        core.committer.shared = False  # a shared commit would hide the order of its units of work
        dispatcher = self.dispatcher
        assert isinstance(dispatcher, StagedDispatcher)
        yields = _Yields(self, dispatcher)
        core.recovery.before_commit = yields.before_commit
        add_hook(self, yields)


def _uses_everything(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a region that a task may call, too; its turn may then use anything."""

    @wraps(method)
    def call(self: StagedRegion, *args: Any, **options: Any) -> Any:
        dispatcher = self.dispatcher
        assert isinstance(dispatcher, StagedDispatcher)
        dispatcher.use_everything()
        return method(self, *args, **options)

    return call


for _name in (
    "browse_tdqueue", "close", "explain", "install", "load_handlers", "peek", "register", "seed", "set_terminal",
    "shutdown", "snapshot", "start",
):  # fmt: skip
    setattr(StagedRegion, _name, _uses_everything(getattr(Region, _name)))


class _StagedSystem(System):
    """A system that keeps a list of the jobs that it has started."""

    def start(self, *args: Any, **options: Any) -> StartedJob:  # type: ignore[override]  # it passes all arguments on
        """See :meth:`tdqsim.ibmi.System.start`."""
        started = super().start(*args, **options)
        if isinstance(self.dispatcher, StagedDispatcher):
            self.dispatcher.use_everything()
            self.dispatcher.record_job(started.fiber)
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
        self,
        policy: Policy,
        stores: RecycledStores,
        longest: int,
        *,
        slack: float = 0.0,
        log: bool = False,
        shared: bool = False,
        faults: Placed | None = None,
    ) -> None:
        # with slack, time may move between any two turns
        self.controller = Controller(policy, longest, shared=shared or slack > 0)
        self._staged = StagedDispatcher(self.controller, slack, faults=faults.plan if faults else None)
        self.dispatcher: Dispatcher = self._staged
        self.dispatcher.on_idle.append(self._look)
        self.regions: list[Region] = []
        self.faults = faults.active() if faults else None
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
        if self.faults is not None:
            self.faults.attach(region)
        self.regions.append(region)
        return region

    def system(self, **options: Any) -> System:
        """An IBM i system on the stage; other jobs may run before every API and command of its started jobs."""
        if "store" not in options:
            options["store"] = self._stores.take()
        system = _StagedSystem(dispatcher=self.dispatcher, **options)
        system.faults = partial(self._before_api, system)
        if self.faults is not None:
            self.faults.attach(system)
        self.systems.append(system)
        return system

    def _before_api(self, system: System, job: JobBase, operation: str, name: str, library: str) -> None:
        dispatcher = self._staged
        if dispatcher.current is not dispatcher.outside:
            dispatcher.yield_now(always=True)
        dispatcher.use(touched_by_api(system, operation, name), operation)
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
        if not self.deadlock and any(fiber.waiting_for is not None for fiber in self.dispatcher.fibers):
            deadlock = find_deadlock(self.regions, self.systems)
            if deadlock is not None:
                self.deadlock = deadlock.text

    def verdict(self, allowed: frozenset[str], *, may_wait: bool) -> None:
        """Raise Broken for a deadlock, an abend that is not allowed, a task that waits for ever, or a lost trigger."""
        if self.deadlock:
            raise Broken("deadlock", self.deadlock)
        for region in self.regions:
            abends = [code for code in region.statistics.abends if code not in allowed and "*" not in allowed]
            if abends:
                raise Broken("abend", f"a task ended with abend {', '.join(abends)}")
        for system in self.systems:
            _check_jobs(system, allowed)
        self._look()
        if self.deadlock:
            raise Broken("deadlock", self.deadlock)
        waits = [] if may_wait else stuck(self.dispatcher.fibers)
        if waits:
            raise Broken("endless wait", "; ".join(waits))
        lost = [text for region in self.regions if not region.closed for text in lost_triggers(region)]
        if lost:
            raise Broken("lost trigger", "; ".join(lost))

    def close(self) -> None:
        """End the regions and systems."""
        if self.faults is not None:
            self.faults.detach()
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
