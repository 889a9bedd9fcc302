"""INQUIRE TASK, INQUIRE TASK LIST and SET TASK: the tasks, what they wait for, and how an operator ends one.

A task that waits is SUSPENDED; SUSPENDTYPE and SUSPENDVALUE say for what: ENQUEUE with the pool of the enqueue, TD_READ
with the queue, ICWAIT for DELAY, IRLINK with the connection for the answer or the next request of another region. SET
TASK ends a suspended task at once with abend AEXY; a task that is not suspended ends at its next wait (RESP2 13:
deferred). PURGE, FORCEPURGE and KILL do the same here, because each of them backs out the changes of the task and so
keeps data consistent. Sessions have no names, so that SUSPENDVALUE of IRLINK is the SYSID
alone. Sources: INQUIRE TASK, INQUIRE TASK LIST, SET TASK, AEXY (IBM Docs), CEMT INQUIRE TASK (SC33-1686), APAR PK18456
(ICWAIT), Resolving IRLINK waits (IBM Support).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from tdqsim.cics.kernel.authority import check_command
from tdqsim.cics.kernel.command import Flag, Fullword, Opt, command, to_cvda
from tdqsim.cics.kernel.priorities import task_priority, transaction_priority
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.kernel.waiting import is_purgeable
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.unit import facts_of, transaction_of
from tdqsim.cics.spi.inquiry import ResourceType, inquire_one, receivers
from tdqsim.cics.spi.requests import refusal
from tdqsim.cics.spi.uow_ids import NS, UOW_LENGTH, age, long_id
from tdqsim.core.fiber import Fiber
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Cvda
from tdqsim.facts.info import Info
from tdqsim.facts.inquiries import TaskInfo, TaskOption


class ListedTask(NamedTuple):
    """One task in the result of INQUIRE TASK LIST: its number and its transaction (4 characters)."""

    task: int
    transid: str


class TaskListInfo(Info):
    """The result of one INQUIRE TASK LIST: the number of tasks, their task numbers and their transactions.

    Iterating over it gives one :class:`ListedTask` for each task; ``len()`` is the number of tasks.
    """

    __slots__ = ()

    listsize: int
    set: tuple[int, ...]
    settransid: tuple[str, ...]

    def __iter__(self) -> Iterator[ListedTask]:  # type: ignore[override]  # iterates over tasks, not over options
        values = self.as_dict()
        return map(ListedTask, values.get("SET", ()), values.get("SETTRANSID", ()))

    def __len__(self) -> int:
        return int(self.as_dict().get("LISTSIZE", 0))


_NOTHING: Final = TaskInfo()
_NO_LIST: Final = TaskListInfo()
_SET: Final = "SET TASK"
Purgetype = Annotated[
    Literal["PURGE", "purge", "FORCEPURGE", "forcepurge", "KILL", "kill"] | Cvda | int, Opt("cvda", 4)
]
_PURGES: Final = (Cvda.PURGE, Cvda.FORCEPURGE, Cvda.KILL)
_MINUTE: Final = 60
_TRANSID_LENGTH: Final = 4
_LISTS: Final = {"LISTSIZE": Opt("fullword", 4), "SET": Opt("pointer", 4), "SETTRANSID": Opt("pointer", 4)}
_IRLINK: Final = "IRLINK"
_NO_CLASS: Final = "DFHTCL00"  # the name is also in tdqsim.definitions, which would import pydantic


# -- readers of the options -------------------------------------------------------------------------------------------


def _fiber(task: TaskData, region: RegionData) -> Fiber | None:
    """The fiber on which a task runs or waits; None for a task of the calling Python program between two commands."""
    if task._fiber is not None:
        return task._fiber
    dispatcher = region.dispatcher
    return next((each for each in (dispatcher.outside, *dispatcher.fibers) if each.local is task), None)


class _Suspended(NamedTuple):
    """The resource that a task waits for.

    Attributes:
        kind: the resource type (SUSPENDTYPE).
        name: the resource name (SUSPENDVALUE).
        since_ns: the start of the wait, in nanoseconds; 0 if it is not known.
    """

    kind: str
    name: str
    since_ns: int


def _wait(task: TaskData, region: RegionData) -> _Suspended | None:
    """The resource that a task waits for; None when it does not wait."""
    fiber = _fiber(task, region)
    if fiber is None:  # a mirror works only while the command of its requester runs
        return _Suspended(_IRLINK, task._uow.link if task._has_uow else "", 0) if task._is_mirror else None
    if fiber.local is not task:  # the requester and its mirror share a fiber, and the other of the two uses it now
        other: TaskBase = fiber.local
        since_ns = fiber.since_ns if fiber.waiting_for is not None else 0
        return None if other._region is region else _Suspended(_IRLINK, _link_to(region, other._region), since_ns)
    if fiber.waiting_for is None:
        return None
    kind, name = task._suspended or ("", "")
    return _Suspended(kind, name, fiber.since_ns)


def _link_to(region: RegionData, other: RegionData) -> str:
    return next((name for name, system in region.links.items() if system.netname == other.applid), "")


def _facility(task: TaskData, _region: RegionData) -> str:
    if task._facility is not None:
        return str(task._facility.name)
    return str(task._request.queue.name) if task._request is not None else ""


def _facilitytype(task: TaskData, _region: RegionData) -> Cvda:
    if task._facility is not None:
        return Cvda.TERM
    return Cvda.DEST if task._request is not None else Cvda.TASK


def _runstatus(task: TaskData, region: RegionData) -> Cvda:
    if _wait(task, region) is not None:
        return Cvda.SUSPENDED
    fiber = task._fiber
    running = fiber is None or fiber is region.dispatcher.current
    return Cvda.RUNNING if running else Cvda.DISPATCHABLE


def _suspendtime(task: TaskData, region: RegionData) -> int:
    wait = _wait(task, region)
    return 0 if wait is None else age(region, wait.since_ns)


def _suspendtype(task: TaskData, region: RegionData) -> str:
    wait = _wait(task, region)
    return "" if wait is None else wait.kind


def _suspendvalue(task: TaskData, region: RegionData) -> str:
    wait = _wait(task, region)
    return "" if wait is None else wait.name


def _tranclass(task: TaskData, region: RegionData) -> str:
    entry = transaction_of(task)
    if entry is None or region.limits is None or entry.definition.tranclass not in region.limits.classes:
        return _NO_CLASS
    return str(entry.definition.tranclass)


TASK: Final = ResourceType[int, TaskData, TaskInfo](
    "TASK",
    TaskInfo,
    {
        "DTIMEOUT": lambda task, _region: (task._dtimout_ns or 0) // NS,
        "FACILITY": _facility,
        "FACILITYTYPE": _facilitytype,
        "INDOUBT": lambda task, _region: Cvda[facts_of(task).action],
        "INDOUBTMINS": lambda task, _region: (facts_of(task).waittime or 0) // _MINUTE,
        "INDOUBTWAIT": lambda task, _region: Cvda.WAIT if facts_of(task).wait else Cvda.NOWAIT,
        "PRIORITY": lambda task, _region: task_priority(task),
        "PROGRAM": lambda task, _region: task._program,
        "RUNSTATUS": _runstatus,
        "STARTCODE": lambda task, _region: task._startcode,
        "SUSPENDTIME": _suspendtime,
        "SUSPENDTYPE": _suspendtype,
        "SUSPENDVALUE": _suspendvalue,
        "TRANCLASS": _tranclass,
        "TRANPRIORITY": lambda task, _region: transaction_priority(task),
        "TRANSACTION": lambda task, _region: task.transid,
        "UOW": lambda task, _region: long_id(task._uow.id) if task._has_uow else bytes(UOW_LENGTH),
        "USERID": lambda task, _region: task.userid,
    },
    keys=lambda region: region.tasks,
    find=lambda region, number: region.tasks.get(number),
    identity=lambda task: task.number,
)


# -- the commands -----------------------------------------------------------------------------------------------------


@command("INQUIRE TASK", "NOTAUTH TASKIDERR", receivers("TASK"), otherwise=_NOTHING)
def inquire_task(issuer: TaskBase, task: Fullword, *options: TaskOption, nohandle: bool = False) -> TaskInfo:
    """Retrieve information about a task.

    Args:
        task: its number (EIBTASKN).
        options: the options to return; all when none is named.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: TASKIDERR 1; NOTAUTH 100.
    """
    return inquire_one(issuer, TASK, task, options)


@command("INQUIRE TASK LIST", "NOTAUTH", _LISTS, otherwise=_NO_LIST)
def inquire_task_list(
    task: TaskBase,
    *,
    dispatchable: Flag = False,
    running: Flag = False,
    suspended: Flag = False,
    nohandle: Flag = False,
) -> TaskListInfo:
    """List the running, suspended and dispatchable tasks, in order of their start.

    Args:
        dispatchable: list the tasks that are ready to run; all tasks are listed when no kind is named.
        running: list the task that runs.
        suspended: list the tasks that wait.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        ``listsize``, the number of tasks; ``set``, their task numbers; ``settransid``, their transactions.

    Raises:
        Condition: NOTAUTH 100.
    """
    region = task._region
    check_command(task, "TASK", Access.READ)
    named = {Cvda.DISPATCHABLE: dispatchable, Cvda.RUNNING: running, Cvda.SUSPENDED: suspended}
    wanted = [kind for kind, is_named in named.items() if is_named] or list(named)
    tasks = [each for each in region.tasks.values() if _runstatus(each, region) in wanted]
    transids = tuple(each.transid.ljust(_TRANSID_LENGTH) for each in tasks)
    return TaskListInfo({"LISTSIZE": len(tasks), "SET": tuple(each.number for each in tasks), "SETTRANSID": transids})


@command(_SET, "INVREQ NOTAUTH TASKIDERR")
def set_task(issuer: TaskBase, task: Fullword, *, purgetype: Purgetype, nohandle: Flag = False) -> None:
    """End a task with the abend AEXY: at once when it waits, otherwise at its next wait; RESP2 shows which.

    Args:
        task: its number (EIBTASKN).
        purgetype: PURGE, FORCEPURGE or KILL.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: TASKIDERR 1; NOTAUTH 100; INVREQ 3: the CVDA is not allowed; INVREQ 5: the task belongs to the
            calling Python program, or PURGE is asked for and its transaction has SPURGE(NO).
    """
    region = issuer._region
    check_command(issuer, "TASK", Access.UPDATE)
    target = region.tasks.get(task)
    if target is None:
        raise refusal(_SET, "not found", f"there is no task {task}")
    if to_cvda(purgetype) not in _PURGES:
        raise refusal(_SET, "bad cvda", f"PURGETYPE must be PURGE, FORCEPURGE or KILL, not {purgetype!r}")
    if to_cvda(purgetype) is Cvda.PURGE and not is_purgeable(target):
        raise refusal(_SET, "not purgeable", f"transaction {target.transid} of task {task} has SPURGE(NO)")
    fiber = _purgeable(target, region)
    if not region.task_manager.purge(fiber):
        _purge_later(region, fiber)
        # RESP is NORMAL, so this condition only sets RESP2: the program gets no exception
        raise refusal(_SET, "deferred", f"task {task} ends when it waits")


def _purgeable(task: TaskData, region: RegionData) -> Fiber:
    """The fiber to cancel in order to end a task.

    Raises:
        Condition: INVREQ: the task belongs to the calling Python program, or it is a mirror that waits for its next
            request.
    """
    fiber = _fiber(task, region)
    if fiber is None or fiber is region.dispatcher.outside:
        raise refusal(
            _SET, "not purgeable", f"task {task.number} belongs to the program outside, which cannot be purged"
        )
    if fiber.local is not task and fiber.owner is not region:
        raise refusal(_SET, "not purgeable", f"task {task.number} is a mirror that waits for its next request")
    return fiber


def _purge_later(region: RegionData, fiber: Fiber) -> None:
    """Purge a task at its next wait, however late that comes."""

    def purge() -> None:
        if not fiber.done and not region.closed and not region.task_manager.purge(fiber):
            region.dispatcher.call_after_round(purge)

    region.dispatcher.call_after_round(purge)
