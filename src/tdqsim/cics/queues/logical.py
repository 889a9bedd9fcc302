"""Requests to a logically recoverable queue: their changes are collected in the unit of work, which owns the ends.

READQ takes the read end, WRITEQ the write end, DELETEQ both. A request that ends with a condition other than QZERO
releases the ends that it has taken. :func:`attempt` gives the outcome of a READQ, and is used for predictions too.
"""

from __future__ import annotations

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.waiting import wait
from tdqsim.cics.model.lock import ASKED, READ_OUT, Lock
from tdqsim.cics.model.queue import IntraTdQueue
from tdqsim.cics.model.space import check_size
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.unit import UnitOfWork
from tdqsim.cics.model.work import LogicalWork
from tdqsim.core.fiber import WAIT, WaitMark
from tdqsim.errors import StoreDamaged, StoreFull, WouldWaitForever
from tdqsim.facts import Cvda, Resp


def write(queue: IntraTdQueue, task: TaskData, data: bytes, length: int | None) -> None:
    """WRITEQ TD."""
    uow = task._unit
    if uow is None:
        uow = task._region.recovery.new(task)
    elif uow.ended:
        uow = task._uow
    size = len(data)
    had = queue.write_end.taken_by is uow
    if had:
        work = uow.works[queue]
    else:
        if not 0 < size <= queue.ci_left:
            check_size(task._region.intra.longest, size, length)  # refused in any case, so do not wait first
        work = uow.on(queue)
        if not queue.write_end.take_free(uow, task._region.clock):
            _acquire(task, uow, queue.write_end)
    left = queue.ci_left
    try:
        if not 0 < size <= left:
            task._region.intra.extend(queue, size, length, work)
        if work.left_before is None:
            work.left_before = left
        work.put(data)
    except StoreFull as error:
        task._region.intra.refused(queue, work)
        _refuse_write(task, queue, work, had=had)
        raise Condition(Resp.NOSPACE, detail=str(error)) from error
    except Condition:
        _refuse_write(task, queue, work, had=had)
        raise
    queue.ci_left -= size
    queue.writes += 1


def read(queue: IntraTdQueue, task: TaskData, busy: bool, _length: int | None) -> bytes | None:
    """READQ TD."""
    uow = task._unit
    if uow is None:
        uow = task._region.recovery.new(task)
    elif uow.ended:
        uow = task._uow
    if queue.read_end.taken_by is not uow:
        data = _read_first(queue, task, uow, busy)
    else:
        try:
            data = uow.works[queue].take()
        except StoreDamaged as error:
            raise Condition(Resp.IOERR, detail=str(error), rule="REC-DAMAGED-RECORD") from error
        if data is None:
            data = _read_out(queue, task, uow.works[queue], busy)
    if data is not None:
        queue.reads += 1
    return data


def _read_first(queue: IntraTdQueue, task: TaskData, uow: UnitOfWork, busy: bool) -> bytes | None:
    work = uow.on(queue)
    if not queue.read_end.take_free(uow, task._region.clock):
        _acquire(task, uow, queue.read_end, busy=busy)
    try:
        data = work.take()
        return _read_out(queue, task, work, busy) if data is None else data
    except StoreDamaged as error:
        _give_back(task, queue, queue.read_end)
        raise Condition(Resp.IOERR, detail=str(error), rule="REC-DAMAGED-RECORD") from error
    except (Condition, WouldWaitForever):
        _give_back(task, queue, queue.read_end)
        raise


def _read_out(queue: IntraTdQueue, task: TaskData, work: LogicalWork, busy: bool) -> bytes | None:
    """Read without a committed record: an own uncommitted one, or one committed during a wait; None for QZERO."""
    task._region.committer.settle()
    uow, end = task._unit, queue.write_end
    assert uow is not None  # it has taken the read end
    try:
        data = attempt(work, end, uow)
        if isinstance(data, WaitMark):
            if busy:
                detail = f"no committed record is left, and {end.holder()}"
                raise Condition(Resp.QBUSY, detail=detail, rule="LOCK-QBUSY-NOSUSPEND")  # only LOCKED is counted
            waiting = queue.td_read
            assert waiting is not None  # a logically recoverable queue has one
            data = wait(task, lambda: attempt(work, end, uow), waiting, "TD_READ", queue.name)
    except Condition as condition:
        if condition.resp is Resp.LOCKED:
            end.refused()
        raise
    if data is None:
        uow.saw_qzero(queue)
    return data


def attempt(work: LogicalWork, write_end: Lock, uow: UnitOfWork) -> bytes | WaitMark | None:
    """The next record; None (QZERO) if there is none; WAIT if another unit of work may still commit one."""
    record = work.take()
    if record is not None:
        return record
    resp = READ_OUT[write_end.standing(uow)]
    if resp is Resp.NORMAL:
        return work.take_own()
    if resp is None:
        return WAIT
    raise Condition(resp, detail=f"no committed record is left, and {write_end.holder()}")


def clear(queue: IntraTdQueue, task: TaskData) -> None:
    """DELETEQ TD."""
    uow = task._uow
    work = uow.on(queue)
    had = queue.read_end.owner is uow
    _acquire(task, uow, queue.read_end)
    try:
        _acquire(task, uow, queue.write_end)
    except (Condition, WouldWaitForever):
        if not had:
            _give_back(task, queue, queue.read_end)
        raise
    if work.left_before is None:
        work.left_before = queue.ci_left
    work.clear()
    task._region.intra.forget(queue, work)
    uow.saw_qzero(queue)
    queue.deletes += 1


# -- locks ----------------------------------------------------------------------------------------------------------


def _acquire(task: TaskData, uow: UnitOfWork, lock: Lock, *, busy: bool = False) -> None:
    """Acquire one end of a queue for the task's unit of work, waiting if necessary.

    Raises:
        Condition: LOCKED: a shunted unit of work retains it. QBUSY: it would have to wait, and NOSUSPEND is given.
    """
    if lock.take_free(uow, task._region.clock):
        return
    task._region.committer.settle()  # the holder's commit may be made but not settled yet
    resp = ASKED[lock.standing(uow)]
    if resp is Resp.NORMAL:
        if lock.taken_by is not uow:
            lock.take(uow, task._region.clock.time_ns())
        return
    if busy and resp is None:
        detail = f"the {lock.end} end of queue {lock.queue.name} is {lock.holder()}"
        raise Condition(Resp.QBUSY, detail=detail, rule="LOCK-QBUSY-NOSUSPEND")
    try:
        wait(task, lambda: _try(task, lock), lock.waiting, "ENQUEUE", "TDNQ")
    finally:  # this task may have been the last user of a queue that is DISABLING
        if lock.queue.enablestatus is Cvda.DISABLING:
            task._region.directory.settle_disable(lock.queue)


def _try(task: TaskData, lock: Lock) -> WaitMark | None:
    resp = ASKED[lock.standing(task._unit)]
    if resp is Resp.LOCKED:
        lock.refused()
        raise Condition(Resp.LOCKED, detail=f"the {lock.end} end of queue {lock.queue.name} is {lock.holder()}")
    if lock.owner is None and lock.waiting.is_first(task._region.dispatcher.current):
        lock.take(task._uow, task._region.clock.time_ns())
        return None
    return WAIT


def _refuse_write(task: TaskData, queue: IntraTdQueue, work: LogicalWork, *, had: bool) -> None:
    """There is no space for a record; ``had``: whether the unit of work had the write end before."""
    if not had:
        work.left_before = None
        _give_back(task, queue, queue.write_end)


def _give_back(task: TaskData, queue: IntraTdQueue, lock: Lock) -> None:
    """Give back an end that a refused request had just taken."""
    if lock.owner is task._unit:
        lock.give_back()
        if queue.enablestatus is Cvda.DISABLING:
            task._region.directory.settle_disable(queue)
