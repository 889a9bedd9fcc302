"""Faults on demand: a plan says what goes wrong, where and when; a plan is a value.

A plan is made of faults, printed (``str(plan)``), kept (``plan.to_json()``) and run again. It does nothing until it is
put on a region, a sysplex or a system::

    plan = FaultPlan(Fault("IOERR", command="READQ TD", queue="PAYQ", nth=3))
    with plan.on(region) as active:
        ...
    assert active.happened

Nothing of a plan is on the way of commands that run without one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from tdqsim.cics import Condition, Region, Task
from tdqsim.cics.command import COMMANDS
from tdqsim.cics.remote import STEPS, Link
from tdqsim.cics.sysplex import Sysplex
from tdqsim.core.dispatch import WAIT, Dispatcher, TimedOut, WaitQueue
from tdqsim.facts import Resp
from tdqsim.ibmi import FaultPlan as MessagePlan
from tdqsim.ibmi import System
from tdqsim.testing.hooks import add_hook, remove_hook

if TYPE_CHECKING:
    from tdqsim.core.store import Environment, Store

__all__ = ["ActivePlan", "CrashPoint", "Crashed", "DiskFull", "Fault", "FaultPlan", "LinkCut", "MessageFault"]

Half = Literal["durable", "volatile"]
_NS: Final = 1_000_000_000
_HALVES: Final = ("durable", "volatile")
_MOMENTS: Final = ("before_commit", "after_commit")


class Crashed(BaseException):
    """The process has ended, as far as the region is concerned: nothing more reaches its store.

    It is no Exception, so that the program under test does not handle it.
    """


@dataclass(frozen=True, slots=True)
class Fault:
    """A condition in place of a command's work, or a command that takes its time.

    Attributes:
        condition: name of the condition, such as IOERR; empty for none, with ``delay``.
        resp2: RESP2.
        command: only this command, such as ``READQ TD``; any when empty.
        queue: only for this queue, by the name that the program uses; any when empty.
        transid: only in tasks of this transaction.
        task: only in the task with this number; any when 0.
        region: only in the region with this APPLID.
        nth: at the nth command that fits, from 1.
        times: so many times in a row; 0 for ever.
        delay: seconds on the simulated clock that the command takes first.
    """

    condition: str = ""
    resp2: int = 0
    command: str = ""
    queue: str = ""
    transid: str = ""
    task: int = 0
    region: str = ""
    nth: int = 1
    times: int = 1
    delay: float = 0.0

    kind: ClassVar[str] = "condition"

    def __post_init__(self) -> None:
        if self.condition and self.condition not in Resp.__members__:
            raise ValueError(f"condition {self.condition!r}: allowed are the names of Resp, such as IOERR")
        if self.command and self.command not in COMMANDS:
            raise ValueError(f"command {self.command!r}: allowed are {', '.join(COMMANDS)}")
        if not self.condition and not self.delay:
            raise ValueError("a fault has a condition, a delay, or both")
        _check_numbers(self.nth, self.times)
        if self.delay < 0:
            raise ValueError(f"delay {self.delay}: 0 or more seconds")


@dataclass(frozen=True, slots=True)
class MessageFault:
    """An escape message in place of an IBM i API's work.

    Attributes:
        message: such as CPF9872; any of the message file.
        operation: only in this API or command, such as QRCVDTAQ; any when empty.
        name: only for this data queue; any when empty.
        nth: at the nth call that fits, from 1.
        times: so many times in a row.
        values: the message's variables; sensible ones are made up when there are none.
    """

    message: str
    operation: str = ""
    name: str = ""
    nth: int = 1
    times: int = 1
    values: tuple[str | int, ...] = ()

    kind: ClassVar[str] = "message"

    def __post_init__(self) -> None:
        _check_numbers(self.nth, self.times)
        MessagePlan().add(self.message)  # refuses a message that is none


@dataclass(frozen=True, slots=True)
class LinkCut:
    """A link between regions goes away when a message is sent over it.

    Attributes:
        step: one of :data:`tdqsim.cics.remote.STEPS`.
        nth: when the nth such message is sent.
        regions: APPLIDs of both ends; any link when empty.
    """

    step: str
    nth: int = 1
    regions: tuple[str, ...] = ()

    kind: ClassVar[str] = "link"

    def __post_init__(self) -> None:
        if self.step not in STEPS:
            raise ValueError(f"step {self.step!r}: allowed are {', '.join(STEPS)}")
        _check_numbers(self.nth, 1)


@dataclass(frozen=True, slots=True)
class DiskFull:
    """The disk has no room for the store's files to grow.

    Attributes:
        half: ``durable`` (recoverable queues) or ``volatile``.
        nth: from the nth time on that a file has to grow; what is reserved already can still be written.
    """

    half: Half = "durable"
    nth: int = 1

    kind: ClassVar[str] = "disk"

    def __post_init__(self) -> None:
        if self.half not in _HALVES:
            raise ValueError(f"half {self.half!r}: allowed are {' and '.join(_HALVES)}")
        _check_numbers(self.nth, 1)


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The process ends at a commit.

    Attributes:
        nth: at the nth commit.
        half: of the ``durable`` or the ``volatile`` environment.
        when: ``before_commit``: it is lost; ``after_commit``: it is kept, but nobody was told.
    """

    nth: int = 1
    half: Half = "durable"
    when: Literal["before_commit", "after_commit"] = "before_commit"

    kind: ClassVar[str] = "crash"

    def __post_init__(self) -> None:
        if self.half not in _HALVES:
            raise ValueError(f"half {self.half!r}: allowed are {' and '.join(_HALVES)}")
        if self.when not in _MOMENTS:
            raise ValueError(f"when {self.when!r}: allowed are {' and '.join(_MOMENTS)}")
        _check_numbers(self.nth, 1)


AnyFault = Fault | MessageFault | LinkCut | DiskFull | CrashPoint
_KINDS: Final[dict[str, type[Any]]] = {each.kind: each for each in (Fault, MessageFault, LinkCut, DiskFull, CrashPoint)}


def _check_numbers(nth: int, times: int) -> None:
    if nth < 1 or times < 0:
        raise ValueError(f"nth {nth}, times {times}: nth is 1 or more, times 0 or more")


class FaultPlan:
    """Faults, in order. Two plans with the same faults are equal.

    Args:
        faults: what goes wrong.
    """

    __slots__ = ("faults",)

    def __init__(self, *faults: AnyFault) -> None:
        self.faults = faults

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FaultPlan) and self.faults == other.faults

    def __hash__(self) -> int:
        return hash(self.faults)

    def __repr__(self) -> str:
        return f"FaultPlan({', '.join(_shown(fault) for fault in self.faults)})"

    def __str__(self) -> str:
        """One fault a line, as Python."""
        return "\n".join(_shown(fault) for fault in self.faults)

    def to_json(self) -> str:
        """The plan as text, for :meth:`from_json`."""
        return json.dumps([{"kind": fault.kind, **_given(fault)} for fault in self.faults])

    @classmethod
    def from_json(cls, text: str) -> FaultPlan:
        """The plan that was written.

        Raises:
            ValueError: the text is no plan; the message says which fault is wrong.
        """
        found = []
        records = json.loads(text)
        if not isinstance(records, list):
            raise ValueError("a fault plan is a list of faults")  # noqa: TRY004  (a value of outside, not a type of ours)
        for number, record in enumerate(records, 1):
            try:
                values = dict(record)
                kind = _KINDS[values.pop("kind")]
                lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
                found.append(kind(**{**values, **lists}))
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"fault {number}: {error}") from error
        return cls(*found)

    @contextmanager
    def on(self, *targets: Region | Sysplex | System) -> Iterator[ActivePlan]:
        """Put the plan on regions, sysplexes and systems for the length of a ``with`` block."""
        active = ActivePlan(self)
        try:
            for target in targets:
                active.attach(target)
            yield active
        finally:
            active.detach()


def _given(fault: AnyFault) -> dict[str, Any]:
    defaults = {each.name: each.default for each in fields(fault)}
    return {
        name: value for name, value in asdict(fault).items() if defaults[name] is MISSING or value != defaults[name]
    }


def _shown(fault: AnyFault) -> str:
    return f"{type(fault).__name__}({', '.join(f'{name}={value!r}' for name, value in _given(fault).items())})"


class ActivePlan:
    """A plan at work: it counts what fits, and lets the faults happen.

    Attributes:
        plan: the plan.
        happened: the faults that have happened, in words, in order.
    """

    def __init__(self, plan: FaultPlan) -> None:
        self.plan = plan
        self.happened: list[str] = []
        self._met: dict[int, int] = {}
        self._undo: list[Callable[[], None]] = []
        self._conditions = [(n, each) for n, each in enumerate(plan.faults) if isinstance(each, Fault)]
        self._crashed = False

    # -- attaching ------------------------------------------------------------------------------------------------

    def attach(self, target: Region | Sysplex | System) -> None:
        """Put it on a region, on all regions and links of a sysplex, or on a system."""
        if isinstance(target, Sysplex):
            for region in target.regions.values():
                self._attach_region(region)
            self._cut_links(target)
        elif isinstance(target, Region):
            self._attach_region(target)
        else:
            self._attach_system(target)

    def _attach_region(self, region: Region) -> None:
        if self._conditions:
            add_hook(region, self)
            self._undo.append(lambda: remove_hook(region, self))
        self._attach_store(region.store)

    def _attach_store(self, store: Store) -> None:
        for name in _HALVES:
            half: Environment = getattr(store, name)
            points = [
                (n, each)
                for n, each in enumerate(self.plan.faults)
                if isinstance(each, DiskFull | CrashPoint) and each.half == name
            ]
            if points:
                half.fault = partial(self._at_store, half, points)
                self._undo.append(partial(_release, half, half.limit_bytes))

    def _attach_system(self, system: System) -> None:
        messages = [(n, each) for n, each in enumerate(self.plan.faults) if isinstance(each, MessageFault)]
        if messages:
            before = system.faults

            def fault(job: Any, operation: str, name: str, library: str) -> Any:
                return self._message(messages, job, operation, name, library)

            system.faults = fault
            self._undo.append(lambda: setattr(system, "faults", before))
        self._attach_store(system.store)

    def _cut_links(self, sysplex: Sysplex) -> None:
        regions = tuple(sysplex.regions)
        for cut in self.plan.faults:
            if isinstance(cut, LinkCut):
                for link in _links(sysplex, cut.regions or regions):
                    link.cut_at(cut.step, nth=cut.nth)

    def detach(self) -> None:
        """Take it off again; a link that was cut stays cut."""
        while self._undo:
            self._undo.pop()()

    # -- at a command ---------------------------------------------------------------------------------------------

    def before(self, task: Task, command: str, arguments: Mapping[str, Any]) -> None:
        """See :class:`tdqsim.cics.Hook`."""
        for number, fault in self._conditions:
            if _fits(fault, task, command, arguments) and self._due(number, fault.nth, fault.times):
                self.happened.append(f"{_shown(fault)} at {command} of task {task.number} {task.transid}")
                if fault.delay:
                    _take_time(task.region.dispatcher, f"a slow {command}", round(fault.delay * _NS))
                if fault.condition:
                    raise Condition(Resp[fault.condition], fault.resp2, "a planned fault")

    def after(self, task: Task, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """Nothing happens after a command."""

    def _due(self, number: int, nth: int, times: int) -> bool:
        met = self._met[number] = self._met.get(number, 0) + 1
        return met >= nth and (not times or met < nth + times)

    def _message(
        self, messages: list[tuple[int, MessageFault]], job: Any, operation: str, name: str, library: str
    ) -> Any:
        for number, fault in messages:
            fits = fault.operation in ("", operation) and fault.name in ("", name)
            if fits and self._due(number, fault.nth, fault.times):
                self.happened.append(f"{_shown(fault)} at {operation} of job {job.qualified_name}")
                one = MessagePlan()
                one.add(fault.message, *fault.values)
                return one(job, operation, name, library)
        return None

    # -- at the store ---------------------------------------------------------------------------------------------

    def _at_store(self, half: Environment, points: list[tuple[int, DiskFull | CrashPoint]], step: str) -> None:
        if self._crashed and step == "before_commit":
            raise Crashed("the region has crashed already")
        for number, fault in points:
            if isinstance(fault, CrashPoint) and fault.when == step and self._due(number, fault.nth, 1):
                self._crashed = True
                self.happened.append(_shown(fault))
                raise Crashed(f"{_shown(fault)}: the process ends here")
            if isinstance(fault, DiskFull) and step == "grow" and self._due(number, fault.nth, 0):
                self.happened.append(_shown(fault))
                half.limit_bytes = 0


def _release(half: Environment, limit: int | None) -> None:
    half.fault = None
    half.limit_bytes = limit


def _fits(fault: Fault, task: Task, command: str, arguments: Mapping[str, Any]) -> bool:
    return (
        fault.command in ("", command)
        and fault.queue in ("", str(arguments.get("queue") or "").rstrip(" "))
        and fault.transid in ("", task.transid)
        and fault.task in (0, task.number)
        and fault.region in ("", task.region.applid)
    )


def _take_time(dispatcher: Dispatcher, what: str, pause_ns: int) -> None:
    try:
        dispatcher.wait(lambda: WAIT, WaitQueue(what), pause_ns)
    except TimedOut:
        return


def _links(sysplex: Sysplex, applids: tuple[str, ...]) -> list[Link]:
    found = {
        id(end.link): end.link
        for region in sysplex.regions.values()
        for end in region.links.values()
        if hasattr(end, "link") and {each.region.applid for each in end.link.ends} <= set(applids)
    }
    return list(found.values())
