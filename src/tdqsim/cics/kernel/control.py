"""Commands for the task itself: SYNCPOINT, ABEND, RETURN, ENQ, DEQ, SUSPEND, ASSIGN and ASKTIME."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, Literal, NoReturn

from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.kernel.command import Flag, HalfwordOrNone, Name4, Opt, command
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.enqueue import acquire, give_up
from tdqsim.cics.kernel.issue import check_options
from tdqsim.cics.kernel.levels import check_subset
from tdqsim.cics.kernel.priorities import task_priority, transaction_priority
from tdqsim.cics.kernel.task import TaskBase, take_rollback, take_syncpoint
from tdqsim.cics.model.unit import transaction_of
from tdqsim.errors import UsageError
from tdqsim.facts import Resp, table

_NO_CODE: Final = "????"
"""The abend code of ABEND without ABCODE."""
ResourceName = Annotated[str | bytes, Opt("data", 255)]

AssignOption = Literal[
    "ABCODE", "abcode", "APPLID", "applid", "FACILITY", "facility", "FCI", "fci", "NETNAME", "netname", "PROGRAM",
    "program", "QNAME", "qname", "STARTCODE", "startcode", "SYSID", "sysid", "USERID", "userid", "ABPROGRAM",
    "abprogram", "CHANNEL", "channel", "INVOKINGPROG", "invokingprog", "LINKLEVEL", "linklevel", "ORGABCODE",
    "orgabcode", "PRINSYSID", "prinsysid", "RESTART", "restart", "RETURNPROG", "returnprog", "OPID", "opid",
    "USERNAME", "username", "NEXTTRANSID", "nexttransid", "TERMCODE", "termcode", "CWALENG", "cwaleng", "TWALENG",
    "twaleng", "TCTUALENG", "tctualeng", "TASKPRIORITY", "taskpriority", "TRANPRIORITY", "tranpriority", "SCRNHT",
    "scrnht", "SCRNWD", "scrnwd", "DEFSCRNHT", "defscrnht", "DEFSCRNWD", "defscrnwd", "ALTSCRNHT", "altscrnht",
    "ALTSCRNWD", "altscrnwd", "COLOR", "color", "EXTDS", "extds", "HILIGHT", "hilight",
]  # fmt: skip
"""The options of ASSIGN, for type checkers; a test checks that they are the same as in :data:`ASSIGN_OPTIONS`."""

_SCREEN_SIZES: Final = {row["name"]: int(row["value"]) for row in table("terminal") if row["kind"] == "assign"}
_SCREEN_FLAGS: Final = ("COLOR", "EXTDS", "HILIGHT")
_NO_TERMINAL: Final = 5
_NO_ATI: Final = 4
_FCI: Final = {"none": b"\0", "terminal": b"\1", "interval control": b"\4", "queue": b"\x08"}


@command("SYNCPOINT", "INVREQ ROLLEDBACK")
def syncpoint(task: TaskBase, *, nohandle: Flag = False) -> None:
    """End the unit of work and commit it; the next recoverable request begins another.

    Raises:
        Condition: ROLLEDBACK: it could not be committed and was backed out. INVREQ 200: a distributed program link
            without SYNCONRETURN runs the program.
    """
    check_subset(task, syncpoint=True)
    take_syncpoint(task)


@command("SYNCPOINT ROLLBACK", "INVREQ")
def syncpoint_rollback(task: TaskBase, *, nohandle: Flag = False) -> None:
    """End the unit of work and back it out: records of LOGICAL queues are as before it, others stay as they are.

    Raises:
        Condition: INVREQ 200: a distributed program link without SYNCONRETURN runs the program.
    """
    check_subset(task, syncpoint=True)
    take_rollback(task)


@command("ABEND")
def abend(
    task: TaskBase,
    abcode: Name4 = _NO_CODE,
    *,
    cancel: Flag = False,
    nodump: Flag = False,
) -> NoReturn:
    """End the task abnormally.

    Args:
        abcode: four characters at most, not beginning with A for user programs; ``????`` when not given.
        cancel: no abend exit is called, on any program level.
        nodump: no transaction dump is taken, as without ``abcode``; the region still keeps what it knows of the task.

    Raises:
        Abend: always.
    """
    if not 0 < len(abcode) <= 4:
        raise UsageError(f"ABEND ABCODE({abcode!r}): allowed are 1 to 4 characters")
    if cancel:
        task._handles = task._handles._replace(abend=None, cancelled=None)
    ended = Abend(abcode, cancel=cancel)
    ended.nodump = nodump or abcode == _NO_CODE
    raise ended


@command("ENQ", "ENQBUSY INVREQ LENGERR")
def enq(
    issuer: TaskBase,
    resource: ResourceName,
    length: HalfwordOrNone = None,
    *,
    uow: Flag = False,  # the default without TASK
    task: Flag = False,
    nosuspend: Flag = False,
    nohandle: Flag = False,
) -> None:
    """Lock a resource name exclusively; wait while another task holds it.

    Args:
        resource: 1 to 255 bytes or characters, the same for all tasks that share the resource.
        length: the number of bytes or characters that are the name; all when not given.
        uow: keep it to the end of the unit of work, as without ``task``.
        task: keep it to the end of the task rather than of the unit of work.
        nosuspend: ENQBUSY instead of waiting.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: ENQBUSY; LENGERR: the name is empty or too long.
    """
    acquire(issuer, resource, for_task=task, nosuspend=nosuspend, length=length)


@command("DEQ", "INVREQ LENGERR")
def deq(
    issuer: TaskBase,
    resource: ResourceName,
    length: HalfwordOrNone = None,
    *,
    uow: Flag = False,  # the default without TASK
    task: Flag = False,
    nohandle: Flag = False,
) -> None:
    """Release a resource name that ENQ has locked; a name that this task does not hold is not an error.

    Args:
        resource: the name.
        length: the number of bytes or characters of ``resource`` that are the name; all when not given.
        uow: it was locked for the unit of work, as without ``task``.
        task: it was locked for the task.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: LENGERR: the name is empty or too long.
    """
    give_up(issuer, resource, for_task=task, length=length)


@command("SUSPEND")
def suspend(task: TaskBase) -> None:
    """Let other ready tasks run first."""
    task._region.dispatcher.yield_now()


@command("ASKTIME ABSTIME", receives={"ABSTIME": Opt("abstime", 8)}, otherwise=0)
def asktime(task: TaskBase) -> int:
    """Update EIBDATE and EIBTIME.

    Returns:
        ABSTIME: milliseconds since 1900, local time.
    """
    task.eib.moment_ns = task._region.clock.time_ns()
    return abstime(task.eib.moment_ns, task._region.zone)


@command("ASKTIME")
def asktime_eib(task: TaskBase) -> None:
    """Update EIBDATE and EIBTIME: ASKTIME without ABSTIME, which has a different EIBFN."""
    task.eib.moment_ns = task._region.clock.time_ns()


def _qname(task: TaskBase) -> str:
    if task._request is None:
        raise Condition(Resp.INVREQ, _NO_ATI, "the task was not started by a transient data queue")
    return task._request.queue.name


def _facility(task: TaskBase) -> str:
    if task._facility is None:
        raise Condition(Resp.INVREQ, detail="the task has no principal facility")
    return task._facility.name


def _fci(task: TaskBase) -> bytes:
    """The facility control indicator: what kind of principal facility the task has."""
    if task._facility is not None:
        return _FCI["terminal"]
    if task._request is not None:
        return _FCI["queue"]
    return _FCI["interval control" if task._startcode.startswith("S") else "none"]


def _terminal(value: Callable[[TaskBase], object]) -> Callable[[TaskBase], object]:
    """Make the reader of an option that only a task with a terminal has; for others it raises INVREQ 5."""

    def get(task: TaskBase) -> object:
        check_subset(task)
        if task._facility is None:
            raise Condition(Resp.INVREQ, _NO_TERMINAL, "the task has no terminal")
        return value(task)

    return get


def _given(value: object, _task: TaskBase) -> object:
    return value


def _level(task: TaskBase, name: str, otherwise: object) -> object:
    """An attribute of the program's level, or ``otherwise`` for a task without levels, which is at the top."""
    return otherwise if task._level is None else getattr(task._level, name)


def _twa_length(task: TaskBase) -> int:
    entry = transaction_of(task)
    return 0 if entry is None else entry.definition.twasize


def _netname(task: TaskBase) -> str:
    """NETNAME of the terminal's definition; its name if the definition has none."""
    if task._facility is None:
        return ""
    definition = task._region.terminals.get(task._facility.name)
    return task._facility.name if definition is None else definition.netname or task._facility.name


def _prinsysid(task: TaskBase) -> str:
    """PRINSYSID; a routed task cannot learn from it which system owns its terminal."""
    if task._facility is not None and task._facility.surrogate is not None:
        raise Condition(Resp.INVREQ, _NO_TERMINAL, "another system owns the terminal of the task")
    return task._region.sysid


_ASSIGN: Final[dict[str, tuple[Opt, Callable[[TaskBase], object]]]] = {
    "ABCODE": (Opt("name", 4), lambda task: task.abcode),
    "APPLID": (Opt("name", 8), lambda task: task._region.applid),
    "FACILITY": (Opt("name", 4), _facility),
    "FCI": (Opt("data", 1), _fci),
    "NETNAME": (Opt("name", 8), _netname),
    "PROGRAM": (Opt("name", 8), lambda task: _level(task, "program", task._program)),
    "QNAME": (Opt("name", 4), _qname),
    "STARTCODE": (Opt("name", 2), lambda task: task._startcode),
    "SYSID": (Opt("name", 4), lambda task: task._region.sysid),
    "USERID": (Opt("name", 8), lambda task: task.userid),
    "ABPROGRAM": (Opt("name", 8), lambda task: task._abprogram),
    "CHANNEL": (Opt("name", 16), lambda task: _level(task, "channel_name", "")),
    "INVOKINGPROG": (Opt("name", 8), lambda task: _level(task, "invoker", "")),
    "LINKLEVEL": (Opt("halfword", 2), lambda task: _level(task, "number", 1)),
    "ORGABCODE": (Opt("name", 4), lambda task: task._orgabcode),
    "PRINSYSID": (Opt("name", 4), _terminal(_prinsysid)),
    "RESTART": (Opt("data", 1), lambda _task: b"\0"),
    "RETURNPROG": (Opt("name", 8), lambda task: _level(task, "return_program", "")),
    "OPID": (Opt("name", 3), _terminal(lambda task: task.userid[:3])),
    "USERNAME": (Opt("name", 20), lambda task: task.userid),
    "NEXTTRANSID": (Opt("name", 4), _terminal(lambda _task: "")),
    "TERMCODE": (Opt("data", 2), _terminal(lambda _task: b"\x91\x02")),
    "CWALENG": (Opt("halfword", 2), lambda _task: 0),
    "TWALENG": (Opt("halfword", 2), _twa_length),
    "TCTUALENG": (Opt("halfword", 2), _terminal(lambda _task: 0)),
    "TASKPRIORITY": (Opt("halfword", 2), task_priority),
    "TRANPRIORITY": (Opt("halfword", 2), transaction_priority),
    **{word: (Opt("halfword", 2), _terminal(partial(_given, size))) for word, size in _SCREEN_SIZES.items()},
    **{word: (Opt("data", 1), _terminal(lambda _task: b"\xff")) for word in _SCREEN_FLAGS},
}
ASSIGN_OPTIONS: Final = {word: read for word, (_receiver, read) in _ASSIGN.items()}
"""The options of ASSIGN and where each value comes from."""


def _no_values(*options: str) -> object:
    return "" if len(options) == 1 else ("",) * len(options)


@command("ASSIGN", "INVREQ", {word: receiver for word, (receiver, _read) in _ASSIGN.items()}, otherwise=_no_values)
def assign(task: TaskBase, *options: AssignOption, nohandle: Flag = False) -> Any:
    """Get values about the task and its region.

    Args:
        options: one or more of ABCODE, APPLID, FACILITY, FCI, NETNAME, PROGRAM, QNAME, STARTCODE, SYSID, USERID and the
            others of :data:`ASSIGN_OPTIONS`.
        nohandle: raise nothing; the response is in the EIB, and the values are empty.

    Returns:
        The value; a tuple of values in the order asked for when there are several options. Text is not padded.

    Raises:
        Condition: INVREQ 4: QNAME of a task that no queue has triggered; INVREQ: FACILITY of a task without one;
            INVREQ 5: what only a terminal has.
        UsageError: an option that is not known.
    """
    wanted = [option.upper() for option in options]
    check_options("ASSIGN", wanted, ASSIGN_OPTIONS)
    if not wanted:
        raise UsageError("ASSIGN names no option")
    values = tuple(ASSIGN_OPTIONS[option](task) for option in wanted)
    return values[0] if len(values) == 1 else values
