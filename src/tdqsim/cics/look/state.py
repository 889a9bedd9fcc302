"""The visible state of queues, tasks and units of work, each read in one place into a frozen value.

Whatever shows a region renders these values and asks no live object: peek and snapshot, explain, the test kit's
snapshots and histories, reports, the console, the API's answers. INQUIRE alone reads option by option, since a program
that asks for three options must not pay for forty; its table is :mod:`tdqsim.cics.spi.tdqueue_options`.

Reading starts no task, counts nothing and records nothing. It must be done in the thread of the region.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tdqsim.cics.look.records import records as records_of
from tdqsim.cics.model.queue import ExtraTdQueue, IndirectTdQueue, IntraTdQueue, RemoteTdQueue, TdQueue
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.model.lock import Lock
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.model.unit import UnitOfWork
    from tdqsim.core.dispatch import Strand

__all__ = [
    "LockState",
    "QueueState",
    "TaskState",
    "Uncommitted",
    "UnitState",
    "WaitingTask",
    "WorkState",
    "queue_state",
    "tasks_of",
    "unit_state",
    "waiter_of",
]


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A task, or a strand without one, that waits for a lock, a commit or a name.

    Attributes:
        name: of the strand, for people.
        task: its task's number; 0 where no task waits.
        transid: its transaction.
        until_ns: when its wait ends by itself; None for never.
    """

    name: str
    task: int
    transid: str
    until_ns: int | None

    @property
    def title(self) -> str:
        """The task, where one waits, or the strand, for people."""
        return f"task {self.task} {self.transid}" if self.transid else self.name


@dataclass(frozen=True, slots=True)
class LockState:
    """One end of a logically recoverable queue.

    Attributes:
        end: FROMQ (READQ needs it) or TOQ (WRITEQ needs it).
        uow: the unit of work that holds it, in hexadecimal; empty for none.
        task, transid: of that unit of work; 0 and empty for none.
        holder: who holds it, for people; empty for nobody.
        retained: whether requests that need it are refused with LOCKED.
        waiting: who waits for it, in order.
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
    """What one unit of work has done to a logically recoverable queue and not committed.

    Attributes:
        uow: the unit of work, as hexadecimal.
        task: number of its task; 0 once it is shunted after a restart.
        transid: its transaction.
        state: INFLIGHT, INDOUBT or SHUNTED.
        read: the committed records that it has read, in order; none where records are not asked for.
        written: the records that it has written and not read back, in order.
        deleted: whether it has deleted the queue.
        reads: how many committed records it has read.
        title: the unit of work, for people.
        uowstate: UOWSTATE, which of one that is SHUNTED is mostly INDOUBT.
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


@dataclass(frozen=True, slots=True)
class QueueState:
    """One queue at one moment. What a type does not have is empty, 0 or False.

    Attributes:
        name, type: as defined; INTRA, EXTRA, INDIRECT or REMOTE.
        enablestatus: ENABLED, DISABLING or DISABLED.
        openstatus: of a data set.
        records: the committed records in order; of a data set what can be seen of it. None where not asked for.
        uncommitted: by the units of work that hold an end of it, in the order of their ends.
        cycle: whether a trigger cycle is on.
        target: INDIRECTNAME of an alias, REMOTENAME of a remote queue.
        region: APPLID of the region where a remote queue was followed to: ``records``, ``uncommitted`` and ``cycle``
            are those there; empty for other queues, and when the link is down.
        system: REMOTESYSTEM.
        recovstatus: NO, PHYSICAL or LOGICAL, of an intrapartition queue.
        numitems: how many (committed) records an intrapartition queue holds.
        atifacility, facilityid, transid, triggerlevel, userid: the trigger as it stands.
        emptystatus: of a data set; NOTAPPLIC when it is closed.
        output: whether a data set is written rather than read.
        dataset: DSNAME of a data set, else its DDNAME.
        locks: the read end and the write end of a logically recoverable queue.
        awaiting: the readers that wait for what is not committed (TD_READ).
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
    atifacility: str = ""
    facilityid: str = ""
    transid: str = ""
    triggerlevel: int = 0
    userid: str = ""
    emptystatus: str = ""
    output: bool = False
    dataset: str = ""
    locks: tuple[LockState, ...] = ()
    awaiting: tuple[WaitingTask, ...] = ()

    @property
    def holds_records(self) -> bool:
        """Whether it is an intrapartition queue, whose records are in the region's store."""
        return bool(self.recovstatus)

    @property
    def level(self) -> int:
        """The count of records that starts a task; 0 where none is started."""
        return self.triggerlevel if self.transid else 0


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task that has begun and not ended.

    Attributes:
        number: its number.
        transid: its transaction.
        userid: its user.
        startcode: as ASSIGN STARTCODE gives it.
        queue: the queue whose trigger started it; empty for none.
        waits_for: what it waits for, for people; empty while it does not wait.
        until_ns: when its wait ends by itself; 0 for never.
        uow: its unit of work in hexadecimal; empty for none.
        strand: the name of the strand on which it runs or waits; empty for one of the program outside.
    """

    number: int
    transid: str
    userid: str
    startcode: str
    queue: str
    waits_for: str
    until_ns: int
    uow: str
    strand: str


@dataclass(frozen=True, slots=True)
class WorkState:
    """How much a unit of work has done to a queue and not committed.

    Attributes:
        queue: the queue.
        read: how many committed records it has read.
        written: how many records it has written and not read back.
        deleted: whether it has deleted the queue.
    """

    queue: str
    read: int
    written: int
    deleted: bool


@dataclass(frozen=True, slots=True)
class UnitState:
    """A unit of work.

    Attributes:
        uow: its id in hexadecimal.
        state: UOWSTATE.
        waitstate: WAITSTATE.
        task: number of its task; 0 when it has none any more.
        transid: the transaction.
        userid: the user.
        link: the connection to its coordinator, where that is remote.
        holds: the queues and ends that it has.
        works: what it has done to logically recoverable queues and not committed.
    """

    uow: str
    state: str
    waitstate: str
    task: int
    transid: str
    userid: str
    link: str
    holds: tuple[tuple[str, str], ...]
    works: tuple[WorkState, ...]


# -- queues -----------------------------------------------------------------------------------------------------------


def queue_state(queue: TdQueue, *, records: bool = False) -> QueueState:
    """One queue as it is now.

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
        atifacility=queue.atifacility,
        facilityid=queue.facilityid,
        transid=queue.transid,
        triggerlevel=queue.triggerlevel,
        userid=queue.userid,
        locks=tuple(map(_lock, queue.locks)) if logical else (),
        awaiting=tuple(map(waiter_of, queue.td_read.waiters)) if queue.td_read is not None else (),
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
        )


def _lock(lock: Lock) -> LockState:
    owner = lock.owner
    waiting = tuple(map(waiter_of, lock.waiting.waiters)) if lock.in_use else ()
    if owner is None:
        return LockState(lock.end, "", 0, "", "", retained=False, waiting=waiting)
    uow, task, transid = owner.id.hex().upper(), owner.taskid, owner.transid
    holder = f"unit of work {uow} {owner.state.name}" if owner.task is None else f"task {task} {transid}"
    return LockState(lock.end, uow, task, transid, holder, retained=lock.retained, waiting=waiting)


def waiter_of(strand: Strand) -> WaitingTask:
    """A strand that waits."""
    task = strand.local
    return WaitingTask(strand.name, getattr(task, "number", 0), getattr(task, "transid", ""), strand.deadline_ns)


# -- tasks and units of work ------------------------------------------------------------------------------------------


def tasks_of(region: RegionData) -> Iterator[TaskState]:
    """The tasks of a region, in order of their start. A call from outside has a task on its caller's strand."""
    lent = {id(strand.local): strand for strand in region.dispatcher.strands if strand.local is not None}
    for task in region.tasks.values():
        yield _task(task, task.strand if task.strand is not None else lent.get(id(task)))


def _task(task: TaskData, strand: Strand | None) -> TaskState:
    waits_for = strand.waiting_for if strand is not None else None
    until_ns = strand.deadline_ns if strand is not None and waits_for is not None else None
    return TaskState(
        task.number,
        task.transid,
        task.userid,
        task.startcode,
        queue=task.request.queue.name if task.request is not None else "",
        waits_for=waits_for.name if waits_for is not None else "",
        until_ns=until_ns or 0,
        uow=task.unit.id.hex().upper() if task.unit is not None and task.has_uow else "",
        strand=strand.name if strand is not None else "",
    )


def unit_state(uow: UnitOfWork) -> UnitState:
    """One unit of work as it is now; one that is INFLIGHT is ACTIVE, whatever its task waits for."""
    return UnitState(
        uow.id.hex().upper(),
        uow.state.name,
        uow.waitstate.name if uow.state is not Cvda.INFLIGHT else Cvda.ACTIVE.name,
        uow.taskid if uow.task is not None else 0,
        uow.transid,
        uow.userid,
        uow.link,
        holds=tuple((lock.queue.name, lock.end) for lock in uow.locks),
        works=tuple(
            WorkState(queue.name, work.reads, len(work.written), work.deleted) for queue, work in uow.works.items()
        ),
    )
