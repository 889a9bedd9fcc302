"""The visible state of queues, tasks and units of work, read into frozen values in this one place.

All views of a region use these values and not the live objects: peek and snapshot, explain, the test kit's snapshots
and histories, reports, the console, and the responses of the API. The exception is INQUIRE, which reads option by
option, so that a program that requests three options does not pay for forty; its table is
:mod:`tdqsim.cics.spi.tdqueue_options`.

Reading the state starts no task, counts nothing and records nothing. It must be done in the thread of the region.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tdqsim.cics.inspection.records import records as records_of
from tdqsim.cics.model.queue import (
    TRIGGER,
    ExtraTdQueue,
    IndirectTdQueue,
    IntraTdQueue,
    RemoteTdQueue,
    TdQueue,
    intra_queues,
)
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.model.lock import Lock
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.model.unit import UnitOfWork
    from tdqsim.core.fiber import Fiber


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A task, or a fiber without one, that waits for a lock, a commit or a name of ENQ.

    Attributes:
        name: the name of the fiber, for display.
        task: the number of its task; 0 if it has no task.
        transid: its transaction.
        until_ns: when its wait times out, in nanoseconds; None for never.
    """

    name: str
    task: int
    transid: str
    until_ns: int | None

    @property
    def title(self) -> str:
        """The task, or the fiber if it has no task, for display."""
        return f"task {self.task} {self.transid}" if self.transid else self.name


@dataclass(frozen=True, slots=True)
class LockState:
    """One end of a logically recoverable queue.

    Attributes:
        end: FROMQ (READQ needs it) or TOQ (WRITEQ needs it).
        uow: the unit of work that holds it, in hexadecimal; empty for none.
        task, transid: the task and transaction of that unit of work; 0 and empty for none.
        holder: the holder, for display; empty if it is free.
        retained: whether requests that need it get LOCKED.
        waiting: the waiters, in order.
    """

    end: str
    uow: str
    task: int
    transid: str
    holder: str
    retained: bool
    waiting: tuple[WaitingTask, ...]


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """The uncommitted changes that one unit of work has made to a logically recoverable queue.

    Attributes:
        uow: the unit of work, in hexadecimal.
        task: the number of the task that began it.
        transid: its transaction.
        state: INFLIGHT, INDOUBT or SHUNTED.
        read: the committed records that it has read, in order; empty if records were not requested.
        written: the records that it has written and not read back, in order.
        deleted: whether it has deleted the queue.
        reads: the number of committed records that it has read.
        title: the unit of work, for display.
        uowstate: UOWSTATE; usually INDOUBT for one that is SHUNTED.
        coordinator: the name of the unit of work of another region to which it belongs (APPLID and id); empty for none.
    """

    uow: str
    task: int
    transid: str
    state: str
    read: tuple[bytes, ...]
    written: tuple[bytes, ...]
    deleted: bool
    reads: int = 0
    title: str = ""
    uowstate: str = ""
    coordinator: str = ""


@dataclass(frozen=True, slots=True)
class QueueState:
    """The state of one queue, with its trigger. Attributes that its type does not have are empty, 0 or False.

    Attributes:
        name, type: as defined; INTRA, EXTRA, INDIRECT or REMOTE. enablestatus: ENABLED, DISABLING or DISABLED.
        openstatus: OPENSTATUS of a data set. records: the committed records in order; for a data set those of
        :func:`~tdqsim.cics.inspection.records.records`.
            Empty if not requested.
        uncommitted: the changes of the units of work that hold an end of it: the holder of the read end first.
        cycle: whether an ATI cycle is in progress.
        target: INDIRECTNAME of an alias, REMOTENAME of a remote queue.
        region: for a remote queue the APPLID of the region that owns the queue, from which ``records``, ``uncommitted``
            and ``cycle`` were read; empty for other queues, and if the link is down.
        system: REMOTESYSTEM.
        recovstatus: NO, PHYSICAL or LOGICAL, for an intrapartition queue.
        numitems: the number of (committed) records of an intrapartition queue; -1 if only the running region knows it,
            whose store this region reads.
        peak_items: the highest ``numitems`` since statistics were last reset.
        emptystatus: EMPTYSTATUS of a data set; NOTAPPLIC if it is closed.
        output: whether it is an output data set.
        dataset: DSNAME of a data set, or its DDNAME if it has none.
        locks: the read end and the write end of a logically recoverable queue.
        awaiting: the readers that wait for another task's commit (TD_READ).
        atifacility: the kind of principal facility of a triggered task: TERMINAL, FILE (none) or SYSTEM.
        facilityid: the terminal or connection in effect.
        transid: the transaction that the trigger starts; empty for none.
        triggerlevel: the number of records that starts it; 0 for never.
        userid: the user ID of tasks without a facility.
    """

    name: str
    type: str
    enablestatus: str = ""
    openstatus: str = ""
    records: tuple[bytes, ...] = ()
    uncommitted: tuple[Uncommitted, ...] = ()
    cycle: bool = False
    target: str = ""
    region: str = ""
    system: str = ""
    recovstatus: str = ""
    numitems: int = 0
    peak_items: int = 0
    emptystatus: str = ""
    output: bool = False
    dataset: str = ""
    locks: tuple[LockState, ...] = ()
    awaiting: tuple[WaitingTask, ...] = ()
    atifacility: str = ""
    facilityid: str = ""
    transid: str = ""
    triggerlevel: int = 0
    userid: str = ""

    @property
    def holds_records(self) -> bool:
        """Whether it is an intrapartition queue, whose records are in the region's store."""
        return bool(self.recovstatus)

    @property
    def level(self) -> int:
        """The number of records that starts a task; 0 if no task is started."""
        return self.triggerlevel if self.transid else 0


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of a task that has started and not ended.

    Attributes:
        number: its number.
        transid: its transaction.
        userid: its user.
        startcode: as returned by ASSIGN STARTCODE.
        queue: the queue whose trigger started it; empty for none.
        waits_for: what it waits for, for display; empty if it does not wait.
        suspended: the kind and the name of what it waits for inside a command, such as ("TD_READ", "PAYQ"), or None.
        since_ns: when its wait began, in nanoseconds; 0 if it does not wait.
        until_ns: when its wait times out, in nanoseconds; 0 for never.
        uow: its unit of work in hexadecimal; empty for none.
        fiber: the name of the fiber on which it runs or waits; empty for a task of the calling Python program.
    """

    number: int
    transid: str
    userid: str
    startcode: str
    queue: str
    waits_for: str
    suspended: tuple[str, str] | None
    since_ns: int
    until_ns: int
    uow: str
    fiber: str


@dataclass(frozen=True, slots=True)
class WorkState:
    """The number of uncommitted changes that a unit of work has made to a queue.

    Attributes:
        queue: the queue.
        read: the number of committed records that it has read.
        written: the number of records that it has written and not read back.
        deleted: whether it has deleted the queue.
    """

    queue: str
    read: int
    written: int
    deleted: bool


@dataclass(frozen=True, slots=True)
class UnitState:
    """The state of a unit of work.

    Attributes:
        uow: its id in hexadecimal.
        state: UOWSTATE.
        waitstate: WAITSTATE.
        task: the number of its task; 0 if it no longer has one.
        taskid: the number of the task that began it.
        transid: the transaction.
        userid: the user.
        link: the connection to its coordinator, if that is another region.
        coordinator: the name of the unit of work in that region, ``APPLID.ID``; empty if this region coordinates it.
        holds: the queues and ends that it holds.
        works: its uncommitted changes of logically recoverable queues.
    """

    uow: str
    state: str
    waitstate: str
    task: int
    taskid: int
    transid: str
    userid: str
    link: str
    coordinator: str
    holds: tuple[tuple[str, str], ...]
    works: tuple[WorkState, ...]


class LinkState(NamedTuple):
    """A connection: its name, its NETNAME, and whether it is ACQUIRED."""

    name: str
    netname: str
    acquired: bool


# -- queues -----------------------------------------------------------------------------------------------------------


def queue_state(queue: TdQueue, *, records: bool = False) -> QueueState:
    """The present state of one queue.

    Args:
        queue: the queue.
        records: read the records too.

    Raises:
        Condition: IOERR: the records of a data set cannot be read.
    """
    status = queue.enablestatus.name
    data = tuple(records_of(queue)) if records and isinstance(queue, IntraTdQueue | ExtraTdQueue) else ()
    if isinstance(queue, IntraTdQueue):
        return _intra(queue, status, data)
    if isinstance(queue, ExtraTdQueue):
        definition = queue.definition
        return QueueState(
            queue.name, "EXTRA", status, queue.openstatus.name, data, emptystatus=queue.emptystatus.name,
            output=queue.output, dataset=definition.dsname or definition.ddname,
        )  # fmt: skip
    if isinstance(queue, RemoteTdQueue):
        return QueueState(queue.name, "REMOTE", status, target=queue.remotename, system=queue.remotesystem)
    assert isinstance(queue, IndirectTdQueue), queue
    return QueueState(queue.name, "INDIRECT", status, target=queue.indirectname)


def _intra(queue: IntraTdQueue, status: str, data: tuple[bytes, ...]) -> QueueState:
    logical = queue.logical
    return QueueState(
        queue.name,
        "INTRA",
        status,
        records=data,
        uncommitted=tuple(_uncommitted(queue, data)) if logical else (),
        cycle=queue.latch,
        recovstatus=queue.recovstatus,
        numitems=queue.numitems,
        peak_items=queue.peak_items,
        locks=tuple(map(_lock, queue.locks)) if logical else (),
        awaiting=tuple(map(waiter_of, queue.td_read.waiters)) if queue.td_read is not None else (),
        **{name: getattr(queue, name) for name in TRIGGER},
    )


def _uncommitted(queue: IntraTdQueue, data: tuple[bytes, ...]) -> Iterator[Uncommitted]:
    for uow in dict.fromkeys(lock.owner for lock in queue.locks if lock.owner is not None):
        work = uow.works.get(queue)
        state = "SHUNTED" if uow.waitstate is Cvda.SHUNTED else uow.state.name
        reads, written, deleted = (0, (), False) if work is None else (work.reads, tuple(work.written), work.deleted)
        yield Uncommitted(
            uow.id.hex(),
            uow.taskid,
            uow.transid,
            state,
            data[:reads],
            written,
            deleted,
            reads,
            uow.title,
            uow.state.name,
            uow.coordinator,
        )


def _lock(lock: Lock) -> LockState:
    owner = lock.owner
    waiting = tuple(map(waiter_of, lock.waiting.waiters)) if lock.in_use else ()
    if owner is None:
        return LockState(lock.end, "", 0, "", "", retained=False, waiting=waiting)
    return LockState(
        lock.end, owner.id.hex().upper(), owner.taskid, owner.transid, holder_of(lock), retained=lock.retained,
        waiting=waiting,
    )  # fmt: skip


def holder_of(lock: Lock) -> str:
    """The holder of an end of a queue, for display; empty if it is free."""
    owner = lock.owner
    if owner is None:
        return ""
    if owner.task is None:
        return f"unit of work {owner.id.hex().upper()} {owner.state.name}"
    return f"task {owner.taskid} {owner.transid}"


def waiter_of(fiber: Fiber) -> WaitingTask:
    """The state of a waiting fiber."""
    task = fiber.local
    return WaitingTask(fiber.name, getattr(task, "number", 0), getattr(task, "transid", ""), fiber.deadline_ns)


def queue_states(region: RegionData, *, records: bool = False) -> Iterator[QueueState]:
    """The present state of all queues of a region, in the order of installation; see :func:`queue_state`."""
    region.dispatcher.check_thread()
    return (queue_state(queue, records=records) for queue in tuple(region.tdqueues.values()))


def intra_states(region: RegionData, *, records: bool = False) -> Iterator[QueueState]:
    """The present state of the intrapartition queues of a region, in the order of installation."""
    region.dispatcher.check_thread()
    return (queue_state(queue, records=records) for queue in intra_queues(region.tdqueues))


def state_of(region: RegionData, name: str, *, records: bool = False) -> QueueState | None:
    """The present state of a named queue (of an alias itself, not its target); None if it is not installed."""
    queue = region.tdqueues.get(name)
    return None if queue is None else queue_state(queue, records=records)


# -- tasks and units of work ------------------------------------------------------------------------------------------


def tasks_of(region: RegionData) -> Iterator[TaskState]:
    """The tasks of a region, in order of their start. A call from outside has a task on its caller's fiber."""
    lent = {id(fiber.local): fiber for fiber in region.dispatcher.fibers if fiber.local is not None}
    for task in region.tasks.values():
        yield _task(task, task._fiber if task._fiber is not None else lent.get(id(task)))


def _task(task: TaskData, fiber: Fiber | None) -> TaskState:
    waits_for = fiber.waiting_for if fiber is not None else None
    until_ns = fiber.deadline_ns if fiber is not None and waits_for is not None else None
    return TaskState(
        task.number,
        task.transid,
        task.userid,
        task._startcode,
        queue=task._request.queue.name if task._request is not None else "",
        waits_for=waits_for.name if waits_for is not None else "",
        suspended=task._suspended,
        since_ns=fiber.since_ns if fiber is not None and waits_for is not None else 0,
        until_ns=until_ns or 0,
        uow=task._unit.id.hex().upper() if task._unit is not None and task._has_uow else "",
        fiber=fiber.name if fiber is not None else "",
    )


def unit_state(uow: UnitOfWork) -> UnitState:
    """The present state of one unit of work; one that is INFLIGHT is ACTIVE even if its task waits."""
    return UnitState(
        uow.id.hex().upper(),
        uow.state.name,
        uow.waitstate.name if uow.state is not Cvda.INFLIGHT else Cvda.ACTIVE.name,
        uow.taskid if uow.task is not None else 0,
        uow.taskid,
        uow.transid,
        uow.userid,
        uow.link,
        uow.coordinator if uow.link else "",
        holds=tuple((lock.queue.name, lock.end) for lock in uow.locks),
        works=tuple(
            WorkState(queue.name, work.reads, len(work.written), work.deleted) for queue, work in uow.works.items()
        ),
    )
