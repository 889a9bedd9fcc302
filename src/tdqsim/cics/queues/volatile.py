"""Requests to a non-recoverable queue, whose records are in memory only.

``ci_left`` and ``taken`` belong to the account of control intervals, which is updated once per control interval (see
:mod:`~tdqsim.cics.model.space`); the same check detects a wrong length. After an exception, such as an interrupt, the
request was either made completely or not at all.
"""

from __future__ import annotations

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.queue import IntraTdQueue
from tdqsim.cics.model.task import TaskData
from tdqsim.errors import StoreDamaged, StoreError, StoreFull
from tdqsim.facts import Resp


def write(queue: IntraTdQueue, task: TaskData, data: bytes, length: int | None) -> None:
    """WRITEQ TD."""
    size = len(data)
    if not 0 < size <= queue.ci_left:
        task._region.intra.extend(queue, size, length)
    try:
        count = queue.volatile.put(data)
    except StoreFull as error:
        task._region.intra.refused(queue)
        raise Condition(Resp.NOSPACE, detail=str(error)) from error
    except StoreError as error:
        task._region.committer.refused(task._region.store.volatile.failed, error)
        raise
    queue.ci_left -= size
    queue.writes += 1
    if count > queue.peak:  # max() costs a call
        queue.peak = count
    if count >= queue.fire_at:
        ati = task._region.ati
        latch = ati.due(queue, count, task.number, task.transid, task.eib.eibtrmid)
        if latch is not None:
            ati.begin(latch)


def read(queue: IntraTdQueue, task: TaskData, _busy: bool, _length: int | None) -> bytes | None:
    """READQ TD."""
    try:
        data = queue.volatile.take()
    except StoreDamaged as error:
        raise Condition(Resp.IOERR, detail=str(error), rule="REC-DAMAGED-RECORD") from error
    except StoreError as error:
        task._region.committer.refused(task._region.store.volatile.failed, error)
        raise
    if data is None:
        emptied(queue, task)
        return None
    queue.reads += 1
    queue.taken += 1
    if queue.taken >= queue.free_at:
        task._region.intra.freed(queue)
    return data


def clear(queue: IntraTdQueue, task: TaskData) -> None:
    """DELETEQ TD."""
    region = task._region
    try:
        queue.taken += queue.volatile.clear()
    except StoreError as error:
        region.committer.refused(region.store.volatile.failed, error)
        raise
    region.intra.settle(queue)
    region.ati.emptied(queue)
    queue.deletes += 1


def emptied(queue: IntraTdQueue, task: TaskData) -> None:
    """Handle QZERO: end the trigger cycle, and free the queue's control intervals."""
    if queue.latched is not None:
        task._region.ati.emptied(queue)
    if queue.bounds:
        task._region.intra.settle(queue)
