"""Fault plans: values that describe faults, and where and when they happen.

A plan consists of faults. It can be printed (``print(plan)`` shows Python source to paste), saved (``plan.to_json()``)
and used again. It has no effect until it is used on regions, a sysplex or systems::

    plan = FaultPlan(Fault("IOERR", command="READQ TD", queue="PAYQ", nth=3))
    with plan.on(region) as active:
        ...
    assert active.happened

Each fault counts matching commands over all regions and systems that use the plan. The faults are caused by
:mod:`~tdqsim.faults.active`; commands that run without a plan have no extra cost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from tdqsim.cics.kernel.command import COMMANDS
from tdqsim.cics.ship.messages import STEPS
from tdqsim.errors import WrongType, WrongValue
from tdqsim.facts import Resp
from tdqsim.ibmi import DECLARATIONS, MessagePlan

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cics.ship.sysplex import Sysplex
    from tdqsim.faults.active import ActivePlan
    from tdqsim.ibmi import System

Half = Literal["durable", "volatile"]
Moment = Literal["before_commit", "after_commit"]
_HALVES: Final = ("durable", "volatile")
_MOMENTS: Final = ("before_commit", "after_commit")
_SERVICES: Final = ("DATA_QUEUE_INFO", "DATA_QUEUE_ENTRIES")


class Crashed(BaseException):
    """Stands for the end of the process: nothing more is written to the store of the region or system.

    It is not a subclass of Exception, so that the program under test does not handle it.
    """


@dataclass(frozen=True, slots=True)
class Fault:
    """A condition in place of a command's work, or a slow command. An attribute that is not given matches everything.

    Attributes:
        condition: name of the condition, such as IOERR; may be empty with ``delay``. ROLLEDBACK in place of a SYNCPOINT
            also backs the unit of work out.
        resp2: RESP2.
        command: only this command, such as ``READQ TD``.
        queue: only for this queue: the name that the program uses, or the name of the final queue after aliases.
        transid: only in tasks of this transaction.
        task: only in the task with this number; 0 for any.
        region: only in the region with this APPLID.
        nth: from the nth matching command, counted from 1.
        times: the number of consecutive times; 0 for ever.
        delay: seconds of the simulated clock by which the command is delayed; other tasks run meanwhile.
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
        _check(self)
        if self.condition and self.condition not in Resp.__members__:
            raise WrongValue(f"condition {self.condition!r}: allowed are the names of Resp, such as IOERR")
        if self.command and self.command not in COMMANDS:
            raise WrongValue(f"command {self.command!r}: allowed are {', '.join(COMMANDS)}")
        if not self.condition and not self.delay:
            raise WrongValue("a fault has a condition, a delay, or both")


@dataclass(frozen=True, slots=True)
class MessageFault:
    """An escape message in place of an API's work, or a slow API. An attribute that is not given matches everything.

    Attributes:
        message: such as CPF9872, any of the message file; may be empty with ``delay``.
        operation: only in this API or command, such as QRCVDTAQ.
        name: only for this data queue. library: only for a queue that the program looks for in this library, such as
            PAYLIB.
        job: only in this job: its name, or its qualified name.
        system: only in the system of this name.
        nth: from the nth matching call, counted from 1.
        times: the number of consecutive times; 0 for ever.
        values: the variables of the message; by default, plausible ones are used.
        delay: seconds of the simulated clock by which the call is delayed; other jobs run meanwhile.
    """

    message: str = ""
    operation: str = ""
    name: str = ""
    library: str = ""
    job: str = ""
    system: str = ""
    nth: int = 1
    times: int = 1
    values: tuple[str | int, ...] = ()
    delay: float = 0.0

    kind: ClassVar[str] = "message"

    def __post_init__(self) -> None:
        _check(self)
        if self.operation and self.operation not in (*DECLARATIONS, *_SERVICES):
            allowed = ", ".join((*DECLARATIONS, *_SERVICES))
            raise WrongValue(f"operation {self.operation!r}: allowed are {allowed}")
        if self.message:
            MessagePlan().add(self.message)  # raises for an unknown message
        elif not self.delay:
            raise WrongValue("a fault has a message, a delay, or both")


@dataclass(frozen=True, slots=True)
class LinkCut:
    """A link between regions breaks when a message is sent over it; the message is lost.

    It counts messages on the links that exist when the plan is attached; the links of a restarted region are new ones.

    Attributes:
        step: one of :data:`tdqsim.cics.ship.messages.STEPS`: a request, its reply, or a step of the two phases.
        nth: when the nth such message is sent.
        regions: APPLIDs of both ends; any link when empty.
        restore: seconds of the simulated clock after which the link works again; with 0 the test restores it.
    """

    step: str
    nth: int = 1
    regions: tuple[str, ...] = ()
    restore: float = 0.0

    kind: ClassVar[str] = "link"

    def __post_init__(self) -> None:
        _check(self)
        if self.step not in STEPS:
            raise WrongValue(f"step {self.step!r}: allowed are {', '.join(STEPS)}")
        if len(self.regions) not in (0, 2):
            raise WrongValue(f"regions {self.regions!r}: a link has two ends; allowed are two APPLIDs or none")


@dataclass(frozen=True, slots=True)
class DiskFull:
    """The disk has no room for the store's files to grow.

    Attributes:
        half: ``durable`` (recoverable queues) or ``volatile``.
        nth: from the nth time that a file must grow; space that is reserved already can still be written.
        owner: only the store of the region with this APPLID, or of the system of this name.
    """

    half: Half = "durable"
    nth: int = 1
    owner: str = ""

    kind: ClassVar[str] = "disk"

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The process ends at a commit.

    Attributes:
        nth: at the nth time.
        half: of the ``durable`` or the ``volatile`` environment.
        when: ``before_commit``: the commit is lost; ``after_commit``: it is kept, but the command does not return.
        owner: only in the region with this APPLID, or the system of this name.
    """

    nth: int = 1
    half: Half = "durable"
    when: Moment = "before_commit"
    owner: str = ""

    kind: ClassVar[str] = "crash"

    def __post_init__(self) -> None:
        _check(self)
        if self.when not in _MOMENTS:
            raise WrongValue(f"when {self.when!r}: allowed are {', '.join(_MOMENTS)}")


@dataclass(frozen=True, slots=True)
class TornWrite:
    """The process ends in the middle of a commit: part of it is on the disk, as after a power cut without sync.

    The next start either finds that the commit was not made, or refuses the store (StoreDamaged).

    Attributes:
        nth: at the nth commit.
        half: of the ``durable`` or the ``volatile`` environment.
        owner: only in the region with this APPLID, or the system of this name.
    """

    nth: int = 1
    half: Half = "durable"
    owner: str = ""

    kind: ClassVar[str] = "torn"

    def __post_init__(self) -> None:
        _check(self)


AnyFault = Fault | MessageFault | LinkCut | DiskFull | CrashPoint | TornWrite
_KINDS: Final[dict[str, type[Any]]] = {
    each.kind: each for each in (Fault, MessageFault, LinkCut, DiskFull, CrashPoint, TornWrite)
}


def _check(fault: AnyFault) -> None:
    """Check that each value has the right type, and that numbers are in their range."""
    for each in fields(fault):
        value = getattr(fault, each.name)
        wanted = str if each.default is MISSING else type(each.default)
        number = wanted is float and isinstance(value, int) and not isinstance(value, bool)
        if type(value) is not wanted and not number:
            raise WrongValue(f"{each.name} {value!r}: a {wanted.__name__} is needed")
        if each.name == "half" and value not in _HALVES:
            raise WrongValue(f"half {value!r}: allowed are {' and '.join(_HALVES)}")
        if wanted in (int, float) and value < (1 if each.name == "nth" else 0):
            raise WrongValue(f"{each.name} {value}: allowed is {1 if each.name == 'nth' else 0} or more")


def _kind_of(record: object) -> tuple[type[AnyFault], dict[str, Any]]:
    """The class and the fields of a fault that was saved.

    Raises:
        ValueError: it is not a fault, or has a field that its class does not have.
    """
    if not isinstance(record, dict):
        raise WrongValue(f"{record!r:.40} is not a fault; a fault is an object with its kind and its fields")
    name = record.get("kind")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise WrongValue(f"kind {name!r:.40}: allowed are {', '.join(_KINDS)}")
    values = {field: value for field, value in record.items() if field != "kind"}
    known = [each.name for each in fields(kind) if each.init]
    for field in values:
        if field not in known:
            raise WrongValue(f"{kind.kind} has no {field!r:.40}; allowed are {', '.join(known)}")
    return kind, values


class FaultPlan:
    """A list of faults. Two plans with the same faults are equal.

    Args:
        faults: the faults. If several match one command, they happen in this order; the first condition ends the
            command.
    """

    __slots__ = ("faults",)

    def __init__(self, *faults: AnyFault) -> None:
        for each in faults:
            if not isinstance(each, AnyFault):
                raise WrongType(f"{each!r} is not a fault")
        self.faults = faults

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FaultPlan) and self.faults == other.faults

    def __hash__(self) -> int:
        return hash(self.faults)

    def __repr__(self) -> str:
        return f"FaultPlan({', '.join(shown(fault) for fault in self.faults)})"

    def __str__(self) -> str:
        """Python source of the plan, one fault a line."""
        lines = [f"    {shown(fault)},\n" for fault in self.faults]
        return f"FaultPlan(\n{''.join(lines)})" if lines else "FaultPlan()"

    def to_json(self) -> str:
        """The plan as text, for :meth:`from_json`."""
        return json.dumps([{"kind": fault.kind, **_given(fault)} for fault in self.faults])

    @classmethod
    def from_json(cls, text: str) -> FaultPlan:
        """The plan from the text of :meth:`to_json`.

        Raises:
            ValueError: the text is not a plan; the message names the wrong fault.
        """
        faults = []
        try:
            records = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise WrongValue(f"a fault plan is written as JSON: {error}") from error
        if not isinstance(records, list):
            raise WrongValue("a fault plan is a list of faults")  # external data
        for number, record in enumerate(records, 1):
            try:
                kind, values = _kind_of(record)
                lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
                faults.append(kind(**{**values, **lists}))
            except (TypeError, ValueError) as error:
                raise WrongValue(f"fault {number}: {error}") from error
        return cls(*faults)

    @contextmanager
    def on(self, *targets: Region | Sysplex | System) -> Iterator[ActivePlan]:
        """Use the plan on regions, sysplexes and systems during a ``with`` block.

        An exception that leaves the block gets a note with the faults that have happened. A fault that has not happened
        by the end of the block is a notice of the first region or system.
        """
        from tdqsim.faults.active import ActivePlan  # noqa: PLC0415  (that imports this module)

        active = ActivePlan(self)
        try:
            for target in targets:
                active.attach(target)
            yield active
            active.tell_what_never_happened()
        except BaseException as error:
            error.add_note("\n".join([f"under the fault plan {self!r}", *active.happened]))
            raise
        finally:
            active.detach()


def _given(fault: AnyFault) -> dict[str, Any]:
    defaults = {each.name: each.default for each in fields(fault)}
    return {
        name: value for name, value in asdict(fault).items() if defaults[name] is MISSING or value != defaults[name]
    }


def shown(fault: AnyFault) -> str:
    """A fault as Python source."""
    return f"{type(fault).__name__}({', '.join(f'{name}={value!r}' for name, value in _given(fault).items())})"
