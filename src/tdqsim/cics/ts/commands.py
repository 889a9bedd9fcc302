"""WRITEQ TS, READQ TS and DELETEQ TS.

READQ TS is not READQ TD: an item stays where it is, a negative LENGTH counts as zero, and no command here has a RESP2.
WRITEQ TS and DELETEQ TS enqueue on a recoverable queue to the end of the unit of work, READQ TS does not: it may read
what another unit of work has not committed, and never waits.
A request for a queue of another region (SYSID, or REMOTESYSTEM of a model) is function-shipped.
MAIN and AUXILIARY concern the first item of a queue without a model; both are in memory while the region runs.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeVar

from tdqsim.cics.kernel.command import Flag, From, HalfwordOrNone, Opt, command
from tdqsim.cics.kernel.conditions import Condition, check_sent
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.kernel.waiting import wait
from tdqsim.cics.ts.remote import TsRequest, ship_ts, where_queue
from tdqsim.cics.ts.storage import TemporaryStorage, check_length
from tdqsim.core.dispatch import WAIT
from tdqsim.facts import Resp

__all__ = ["TsItem", "TsWritten", "deleteq_ts", "readq_ts", "writeq_ts"]

T = TypeVar("T")

QueueName = Annotated[str, Opt("name", 16, "QUEUE")]
Sysid = Annotated[str | None, Opt("name", 4, "SYSID")]


class TsWritten(NamedTuple):
    """What WRITEQ TS gives back.

    Attributes:
        item: the number of the item.
        numitems: how many the queue has.
    """

    item: int
    numitems: int


class TsItem(NamedTuple):
    """What READQ TS gives back.

    Attributes:
        data: the item.
        numitems: how many items the queue has.
    """

    data: bytes
    numitems: int

    def as_dict(self) -> dict[str, Any]:
        """The receivers by option."""
        return {"INTO": self.data, "SET": self.data, "LENGTH": len(self.data), "NUMITEMS": self.numitems}


def _enqueue(task: TaskBase, queue: str) -> None:
    """Make the change of a recoverable queue that of the task's unit of work, once no other one has changed it.

    Raises:
        Condition: LOCKED: that unit of work is in doubt.
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


def _cut(data: bytes, length: int | None) -> bytes:
    """An item that fits the area of READQ.

    Raises:
        Condition: LENGERR, with what fits.
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
    nosuspend: Flag = False,  # there is always space
    sysid: Sysid = None,
    nohandle: Flag = False,
) -> TsWritten:
    """Write an item to a queue; the first item creates the queue.

    Args:
        queue: 1 to 16 characters.
        from_: the item, 1 to 32763 bytes.
        length: how many bytes of ``from_``; all when not given.
        item: with ``rewrite``: the item to replace.
        rewrite: replace an item rather than add one.
        main: the queue is in main storage, where this makes it and it has no model: no restart finds it.
        auxiliary: the default.
        nosuspend: accepted; a write never waits.
        sysid: the system that owns the queue; the local models are then not looked at.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: INVREQ, ITEMERR, LENGERR, LOCKED, QIDERR, SYSIDERR.
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
    next: Flag = False,  # noqa: A002  (the vendor's word)
    sysid: Sysid = None,
    nohandle: Flag = False,
) -> TsItem:
    """Read an item of a queue; the item stays in the queue.

    Args:
        queue: 1 to 16 characters.
        length: bytes of the area (INTO); the whole item is given when there is none.
        item: its number; without it the item after the one that any task has read last.
        next: as without ``item``.
        sysid: the system that owns the queue; the local models are then not looked at.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: INVREQ, ITEMERR, LENGERR (with ``data`` and ``length``), QIDERR, SYSIDERR.
    """
    system, there = where_queue(task, queue, sysid)
    if system:
        _, numitems, data = ship_ts(task, system, "READQ TS", there, TsRequest(None if next else item))
        return TsItem(_cut(data, length), numitems)
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
        sysid: the system that owns the queue; the local models are then not looked at.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: INVREQ, LOCKED, QIDERR, SYSIDERR.
    """
    system, there = where_queue(task, queue, sysid)
    if system:
        ship_ts(task, system, "DELETEQ TS", there, TsRequest())
        return
    _enqueue(task, queue)
    task._region.ts.delete(queue)
