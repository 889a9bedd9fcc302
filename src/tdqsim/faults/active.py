"""A fault plan in use: it counts matching commands and steps, and causes the faults in regions, links and stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from tdqsim.cics import Condition, Region, Task
from tdqsim.cics.internals import core_of
from tdqsim.cics.kernel.task import take_rollback
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.queues.state_table import final_target
from tdqsim.cics.ship.link import Link
from tdqsim.cics.ship.remote import LinkEnd
from tdqsim.cics.ship.sysplex import Sysplex
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import WAIT, TimedOut, WaitQueue
from tdqsim.core.store.check import as_if_machine_stopped
from tdqsim.facts import Resp
from tdqsim.faults.hooks import add_hook, remove_hook
from tdqsim.faults.plan import (
    AnyFault,
    Crashed,
    CrashPoint,
    DiskFull,
    Fault,
    FaultPlan,
    LinkCut,
    MessageFault,
    TornWrite,
    shown,
)
from tdqsim.faults.torn import Image, image_of, tear
from tdqsim.ibmi import MessagePlan, System
from tdqsim.ibmi.job_core import JobBase

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.core.store import Durable, Store
    from tdqsim.ibmi.messages import Message

F = TypeVar("F")
_NS: Final = 1_000_000_000
_HALVES: Final = ("durable", "volatile")
_STEP_OF: Final = {DiskFull: "grow", TornWrite: "before_commit", CrashPoint: ""}
_ROLLEDBACK: Final = ("SYNCPOINT", Resp.ROLLEDBACK.name)


class ActivePlan:
    """A fault plan in use, as ``with plan.on(region) as active`` returns it.

    Attributes:
        plan: the plan.
        happened: a line for each fault that has happened, in order.
    """

    def __init__(self, plan: FaultPlan) -> None:
        self.plan = plan
        self.happened: list[str] = []
        self._counts: dict[int, int] = {}
        self._undo: list[Callable[[], None]] = []
        self._targets: list[Region | Sysplex | System] = []
        self._conditions = self._of(Fault)
        self._crashed = False

    def _of(self, kind: type[F]) -> list[tuple[int, F]]:
        return [(number, each) for number, each in enumerate(self.plan.faults) if isinstance(each, kind)]

    # -- attaching ------------------------------------------------------------------------------------------------

    def attach(self, target: Region | Sysplex | System) -> None:
        """Use the plan on a region and its links, on all regions of a sysplex, or on a system."""
        self._targets.append(target)
        if isinstance(target, Sysplex):
            for region in target.regions.values():
                self._attach_region(region)
        elif isinstance(target, Region):
            self._attach_region(target)
        else:
            self._attach_system(target)

    def _attach_region(self, region: Region) -> None:
        if self._conditions:
            add_hook(region, self)
            self._undo.append(lambda: remove_hook(region, self))
        self._attach_store(region.store, region.applid)
        for end in core_of(region).links.values():
            if isinstance(end, LinkEnd) and isinstance(end.link, Link):
                self._attach_link(end.link)

    def _attach_link(self, link: Link) -> None:
        ends = {end.region.applid for end in link.ends}
        cuts = [(n, each) for n, each in self._of(LinkCut) if not each.regions or ends == set(each.regions)]
        if cuts and getattr(link.fault, "func", None) != self._at_link:
            self._undo.append(partial(setattr, link, "fault", link.fault))
            link.fault = partial(self._at_link, link, cuts, link.fault)

    def _attach_store(self, store: Store, owner: str) -> None:
        for name in _HALVES:
            points = [
                (number, each)
                for number, each in enumerate(self.plan.faults)
                if isinstance(each, DiskFull | CrashPoint | TornWrite)
                and each.half == name
                and each.owner in ("", owner)
            ]
            if points:
                half: Durable = store.durable if name == "durable" else store.volatile.disk
                self._undo.append(partial(_release, half, half.fault, half.limit_bytes))
                half.fault = _StoreFaults(self, half, points)

    def _attach_system(self, system: System) -> None:
        messages = self._of(MessageFault)
        if messages:
            before = system.faults
            mine = partial(self._message, system, [each for each in messages if each[1].system in ("", system.name)])

            def fault(job: JobBase, operation: str, name: str, library: str) -> Message | None:
                match = mine(job, operation, name, library)
                return before(job, operation, name, library) if match is None and before is not None else match

            system.faults = fault
            self._undo.append(lambda: setattr(system, "faults", before))
        self._attach_store(system.store, system.name)

    def detach(self) -> None:
        """Stop using the plan; a link that was cut stays cut."""
        while self._undo:
            self._undo.pop()()

    def tell_what_never_happened(self) -> None:
        """Say which faults have not happened: a test of them has tested nothing."""
        owners = (each for target in self._targets for each in _owners(target))
        if (first := next(owners, None)) is not None:
            for number, fault in enumerate(self.plan.faults):
                if self.count(number) < fault.nth:
                    first.notices.say("fault_never_happened", fault=shown(fault), met=self.count(number))

    # -- at a command ---------------------------------------------------------------------------------------------

    def before(self, task: Task, command: str, arguments: Mapping[str, object]) -> None:
        """See :class:`tdqsim.cics.Hook`."""
        for number, fault in self._conditions:
            if _fits(fault, task, command, arguments) and self.due(number, fault.nth, fault.times):
                self.note(fault, f"at {command} of task {task.number} {task.transid}")
                if fault.delay:
                    _take_time(task.region.dispatcher, f"a slow {command}", fault.delay)
                if fault.condition:
                    if (command, fault.condition) == _ROLLEDBACK:
                        take_rollback(task)
                    raise _condition(fault)

    def after(self, task: Task, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """Do nothing after a command."""

    def foresee(self, task: Task, command: str, arguments: Mapping[str, object]) -> Condition | None:
        """The condition that a command would raise now; the command is not counted."""
        for number, fault in self._conditions:
            if fault.condition and _fits(fault, task, command, arguments) and self._is_due(number, fault):
                return _condition(fault)
        return None

    def _is_due(self, number: int, fault: Fault) -> bool:
        return _within(self._counts.get(number, 0) + 1, fault.nth, fault.times)

    def due(self, number: int, nth: int, times: int) -> bool:
        """Count a match of a fault; True if the fault happens this time."""
        count = self._counts[number] = self._counts.get(number, 0) + 1
        return _within(count, nth, times)

    def count(self, number: int) -> int:
        """How many commands have matched the fault with this number in the plan."""
        return self._counts.get(number, 0)

    def note(self, fault: AnyFault, where: str) -> None:
        """Add a fault to ``happened``."""
        self.happened.append(f"{shown(fault)} {where}")

    def _message(
        self,
        system: System,
        messages: list[tuple[int, MessageFault]],
        job: JobBase,
        operation: str,
        name: str,
        library: str,
    ) -> Message | None:
        for number, fault in messages:
            if _fits_call(fault, job, operation, name, library) and self.due(number, fault.nth, fault.times):
                self.note(fault, f"at {operation} of job {job.qualified_name}")
                if fault.delay:
                    _take_time(system.dispatcher, f"a slow {operation}", fault.delay)
                if fault.message:
                    one = MessagePlan()
                    one.add(fault.message, *fault.values)
                    return one(job, operation, name, library)
        return None

    # -- at a link and at a store ---------------------------------------------------------------------------------

    def _at_link(
        self, link: Link, cuts: list[tuple[int, LinkCut]], before: Callable[[str], None] | None, step: str
    ) -> None:
        if before is not None:
            before(step)
        for number, cut in cuts:
            if cut.step == step and link.acquired and self.due(number, cut.nth, 1):
                self.note(cut, f"between {' and '.join(end.region.applid for end in link.ends)}")
                link.cut()
                if cut.restore:
                    region = link.ends[0].region
                    region.dispatcher.call_at(region.clock.time_ns() + round(cut.restore * _NS), link.restore)

    def crash(self, fault: AnyFault) -> None:
        """End the process here: note the fault and raise Crashed."""
        self._crashed = True
        self.note(fault, "ended the process")
        raise Crashed(f"{shown(fault)}: the process ends here")

    @property
    def crashed(self) -> bool:
        """Whether a fault has ended the process, after which nothing more is written to a store."""
        return self._crashed


class _StoreFaults:
    """The faults of a plan for one LMDB environment, called at each step of a commit."""

    def __init__(
        self, active: ActivePlan, half: Durable, points: list[tuple[int, DiskFull | CrashPoint | TornWrite]]
    ) -> None:
        self._active, self._half, self._points = active, half, points
        self._before = half.fault
        self._torn: tuple[TornWrite, Image] | None = None

    def __call__(self, step: str) -> None:
        if self._before is not None:
            self._before(step)
        if self._active.crashed and step == "before_commit":
            raise Crashed("the process has ended already")
        if self._torn is not None and step == "after_commit":
            torn, before = self._torn
            tear(self._half.path, before)
            as_if_machine_stopped(self._half.path.parent)
            self._active.crash(torn)
        for number, fault in self._points:
            self._apply(number, fault, step)

    def _apply(self, number: int, fault: DiskFull | CrashPoint | TornWrite, step: str) -> None:
        if step != _STEP_OF[type(fault)] and step != getattr(fault, "when", ""):
            return
        if not self._active.due(number, fault.nth, 0 if isinstance(fault, DiskFull) else 1):
            return
        if isinstance(fault, CrashPoint):
            self._active.crash(fault)
        if isinstance(fault, TornWrite):
            self._torn = fault, image_of(self._half.path)
        elif self._half.limit_bytes != 0:
            self._active.note(fault, "let no file grow")
            self._half.limit_bytes = 0


def _owners(target: Region | Sysplex | System) -> Iterable[Region | System]:
    return target.regions.values() if isinstance(target, Sysplex) else (target,)


def _release(half: Durable, fault: Callable[[str], None] | None, limit: int | None) -> None:
    half.fault = fault
    half.limit_bytes = limit


def _within(count: int, nth: int, times: int) -> bool:
    return count >= nth and (not times or count < nth + times)


def _condition(fault: Fault) -> Condition:
    return Condition(Resp[fault.condition], fault.resp2, f"a planned fault: {shown(fault)}", rule="")


def _fits(fault: Fault, task: Task, command: str, arguments: Mapping[str, object]) -> bool:
    return (
        fault.command in ("", command)
        and fault.transid in ("", task.transid)
        and fault.task in (0, task.number)
        and fault.region in ("", task.region.applid)
        and (not fault.queue or fault.queue in _queues_of(core_of(task.region), arguments))
    )


def _queues_of(region: RegionData, arguments: Mapping[str, object]) -> Iterator[str]:
    """The name that the program uses, and the name of the final queue after aliases."""
    name = str(arguments.get("queue") or arguments.get("tdqueue") or "").rstrip(" ")
    yield name
    if "queue" in arguments and not arguments.get("sysid"):
        try:
            yield final_target(region, name).name
        except Condition:
            return


def _fits_call(fault: MessageFault, job: JobBase, operation: str, name: str, library: str) -> bool:
    return (
        fault.operation in ("", operation)
        and fault.name in ("", name, name.rpartition("/")[2])
        and fault.library in ("", library, name.rpartition("/")[0])
        and fault.job in ("", job.name, job.qualified_name)
    )


def _take_time(dispatcher: Dispatcher, what: str, seconds: float) -> None:
    try:
        dispatcher.wait(lambda: WAIT, WaitQueue(what), round(seconds * _NS))
    except TimedOut:
        return
