"""Requests to a physically recoverable queue: each is a separate commit.

The commit includes what must be atomic with the request: for WRITEQ the trigger cycle that it begins; for READQ a copy
of the record, which the next start puts back if the region fails before the reader's unit of work ends.
"""

from __future__ import annotations

from typing import Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.queue import IntraTdQueue
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.unit import READS
from tdqsim.cics.queues.volatile import emptied
from tdqsim.errors import StoreDamaged, StoreFull
from tdqsim.facts import Resp

_NO_META: Final[dict[bytes, bytes | None]] = {}


def write(queue: IntraTdQueue, task: TaskData, data: bytes, length: int | None) -> None:
    """WRITEQ TD."""
    region, size = task._region, len(data)
    committer = region.committer
    if region.store.durable.in_doubt:
        committer.settle()
    if not 0 < size <= queue.ci_left:
        region.intra.extend(queue, size, length)
    count = queue.durable.now.count + 1
    latch = (
        region.ati.due(queue, count, task.number, task.transid, task.eib.eibtrmid) if count >= queue.fire_at else None
    )
    work = queue.durable.work()
    try:
        work.put(data)
        committer.commit((work,), _NO_META if latch is None else latch.meta())
    except StoreFull as error:
        region.intra.refused(queue)
        raise Condition(Resp.NOSPACE, detail=str(error)) from error
    queue.ci_left -= size
    queue.writes += 1
    if count > queue.peak:  # max() costs a call
        queue.peak = count
    if latch is not None:
        region.ati.begin(latch)


def read(queue: IntraTdQueue, task: TaskData, _busy: bool, _length: int | None) -> bytes | None:
    """READQ TD."""
    region, stored = task._region, queue.durable
    committer = region.committer
    if region.store.durable.in_doubt:
        committer.settle()
    work = stored.work()
    try:
        data = work.take()
    except StoreDamaged as error:
        raise Condition(Resp.IOERR, detail=str(error), rule="REC-DAMAGED-RECORD") from error
    if data is None:
        emptied(queue, task)
        return None
    # A command outside any task is its own unit of work, which ends with this commit: there is nothing to put back.
    meta = _NO_META if task._implicit else task._uow.remember_read(queue, stored.now.first, data)
    committer.commit((work,), meta)
    queue.reads += 1
    if stored.now.first > queue.free_at:
        region.intra.freed(queue)
    return data


def clear(queue: IntraTdQueue, task: TaskData) -> None:
    """DELETEQ TD; records that were read before are not put back at a restart any more."""
    region = task._region
    region.committer.settle()
    work = queue.durable.work()
    work.clear()
    kept = region.committer.metas(READS + queue.name.encode() + b"/")
    region.committer.commit((work,), {key: None for key, _ in kept})
    region.intra.settle(queue)
    region.ati.emptied(queue)
    queue.deletes += 1
