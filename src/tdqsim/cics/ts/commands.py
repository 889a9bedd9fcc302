"""WRITEQ TS, READQ TS and DELETEQ TS.

READQ TS differs from READQ TD: the item stays in the queue, a negative LENGTH is treated as zero, and no command here
has a RESP2. WRITEQ TS and DELETEQ TS enqueue on a recoverable queue until the end of the unit of work. READQ TS does
not: it never waits, and may read uncommitted items of another unit of work. Resource security is checked in the region
that has the queue, after the options and before the queue is looked up. A request for a queue of another region
(SYSID, or REMOTESYSTEM of a model) is function-shipped. MAIN and AUXILIARY apply to the first item of a queue without a
model; both kinds are in memory while the region runs.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from tdqsim.cics.kernel.authority import check_resource
from tdqsim.cics.kernel.command import Flag, From, HalfwordOrNone, Opt, command
from tdqsim.cics.kernel.conditions import Condition, check_sent
from tdqsim.cics.kernel.security import XTST, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.kernel.waiting import wait
from tdqsim.cics.ts.remote import TsRequest, ship_ts, where_queue
from tdqsim.cics.ts.storage import TemporaryStorage, check_length
from tdqsim.core.fiber import WAIT
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Resp

T = TypeVar("T")

QueueName = Annotated[str, Opt("name", 16, "QUEUE")]
Sysid = Annotated[str | None, Opt("name", 4, "SYSID")]


class TsWritten(NamedTuple):
    """The result of WRITEQ TS.

    Attributes:
        item: the number of the item.
        numitems: the number of items of the queue.
    """

    item: int
    numitems: int


class TsItem(NamedTuple):
    """The result of READQ TS.

    Attributes:
        data: the item.
        numitems: the number of items of the queue.
    """

    data: bytes
    numitems: int

    def as_dict(self) -> dict[str, Any]:
        """The receivers by option."""
        return {"INTO": self.data, "SET": self.data, "LENGTH": len(self.data), "NUMITEMS": self.numitems}


def _enqueue(task: TaskBase, queue: str) -> None:
    """Wait until no other unit of work has changed a recoverable queue, then record a change for the task's own.

    Raises:
        Condition: LOCKED: the other unit of work is in doubt.
    """
    ts: TemporaryStorage = task._region.ts
    if not ts.recoverable(queue):
        return
    uow = task._uow

    def attempt() -> object:
        owner = ts.changed_by(queue)
        if owner is None or owner is uow:
            return None
        if owner.task is None:
            raise Condition(Resp.LOCKED, detail=f"queue {queue} was changed by {owner.title}, which is in doubt")
        return WAIT

    if attempt() is WAIT:
        wait(task, attempt, ts.waiting, "TSQUEUE", queue)
    ts.change(queue, uow)


def _check_access(task: TaskBase, queue: str, level: Access) -> None:
    """Check resource security of a queue whose model has SECURITY(YES).

    Raises:
        Condition: NOTAUTH 101.
    """
    if task._region.security is not None and task._region.ts.is_secured(queue):
        check_resource(task, XTST, queue.rstrip(" "), level)


def _cut(data: bytes, length: int | None) -> bytes:
    """An item truncated to the area of READQ TS.

    Raises:
        Condition: LENGERR, with the truncated item.
    """
    most = len(data) if length is None else max(length, 0)
    if most < len(data):
        raise Condition(
            Resp.LENGERR,
            detail=f"LENGTH is {length}, the item has {len(data)} bytes",
            data=data[:most],
            length=len(data),
        )
    return data


@command(
    "WRITEQ TS",
    "INVREQ IOERR ISCINVREQ ITEMERR LENGERR LOCKED NOSPACE NOTAUTH QIDERR SYSIDERR",
    {"ITEM": Opt("halfword", 2), "NUMITEMS": Opt("halfword", 2)},
    resource="queue",
)
def writeq_ts(
    task: TaskBase,
    queue: QueueName,
    from_: From,
    length: HalfwordOrNone = None,
    *,
    item: HalfwordOrNone = None,
    rewrite: Flag = False,
    main: Flag = False,
    auxiliary: Flag = False,  # the default
    nosuspend: Flag = False,  # without effect: there is always space
    sysid: Sysid = None,
    nohandle: Flag = False,
) -> TsWritten:
    """Write an item to a queue; the first item creates the queue.

    Args:
        queue: 1 to 16 characters.
        from_: the item, 1 to 32763 bytes.
        length: the number of bytes of ``from_`` to write; all if not given.
        item: with ``rewrite``: the number of the item to replace.
        rewrite: replace an item instead of adding one.
        main: if this item creates a queue without a model: keep the queue in main storage, so that it does not survive
            a restart.
        auxiliary: the default.
        nosuspend: accepted; a write never waits.
        sysid: the system that owns the queue; the local models are then ignored.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: INVREQ, ITEMERR, LENGERR, LOCKED, NOTAUTH 101, QIDERR, SYSIDERR.
    """
    system, there = where_queue(task, queue, sysid)
    check_sent(from_, length)
    if length is not None and length <= 0:
        raise Condition(Resp.LENGERR, detail=f"LENGTH is {length}; allowed are 1 and more")
    data = bytes(from_[:length])
    if system:
        check_length(data)
        options = TsRequest(item, rewrite, main, auxiliary, nosuspend, data)
        done = ship_ts(task, system, "WRITEQ TS", there, options)
        return TsWritten(done.item, done.numitems)
    _check_access(task, queue, Access.UPDATE)
    ts: TemporaryStorage = task._region.ts
    _enqueue(task, queue)
    number = ts.rewrite(queue, data, item or 0) if rewrite else ts.write(queue, data, main=main)
    return TsWritten(number, len(ts.find(queue).items))


@command(
    "READQ TS",
    "INVREQ IOERR ISCINVREQ ITEMERR LENGERR NOTAUTH QIDERR SYSIDERR",
    {"INTO": Opt("data"), "SET": Opt("pointer", 4), "LENGTH": Opt("halfword", 2), "NUMITEMS": Opt("halfword", 2)},
    resource="queue",
)
def readq_ts(
    task: TaskBase,
    queue: QueueName,
    length: HalfwordOrNone = None,
    *,
    item: HalfwordOrNone = None,
    next: Flag = False,
    sysid: Sysid = None,
    nohandle: Flag = False,
) -> TsItem:
    """Read an item of a queue; the item stays in the queue.

    Args:
        queue: 1 to 16 characters.
        length: the length of the area (INTO) in bytes; if not given, the whole item is returned.
        item: its number; if not given, the item after the last one that any task has read.
        next: read the next item; the default.
        sysid: the system that owns the queue; the local models are then ignored.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: INVREQ, ITEMERR, NOTAUTH 101, LENGERR (with ``data`` and ``length``), QIDERR, SYSIDERR.
    """
    system, there = where_queue(task, queue, sysid)
    if system:
        _, numitems, data = ship_ts(task, system, "READQ TS", there, TsRequest(None if next else item))
        return TsItem(_cut(data, length), numitems)
    _check_access(task, queue, Access.READ)
    data, numitems = task._region.ts.read(queue, None if next else item)
    return TsItem(_cut(data, length), numitems)


@command("DELETEQ TS", "INVREQ ISCINVREQ LOCKED NOTAUTH QIDERR SYSIDERR", resource="queue")
def deleteq_ts(
    task: TaskBase,
    queue: QueueName,
    *,
    sysid: Sysid = None,
    nohandle: Flag = False,
) -> None:
    """Remove a queue with all its items.

    Args:
        queue: 1 to 16 characters.
        sysid: the system that owns the queue; the local models are then ignored.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: INVREQ, LOCKED, NOTAUTH 101, QIDERR, SYSIDERR.
    """
    system, there = where_queue(task, queue, sysid)
    if system:
        ship_ts(task, system, "DELETEQ TS", there, TsRequest())
        return
    _check_access(task, queue, Access.UPDATE)
    _enqueue(task, queue)
    task._region.ts.delete(queue)
