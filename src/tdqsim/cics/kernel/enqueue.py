"""ENQ and DEQ: exclusive use of a name that programs have agreed on.

ENQ is the only way for a program to have a non-recoverable or extrapartition queue to itself for several requests. The
owner of a name is a task. The task may ENQ the name several times, each time for its unit of work or, with the option
TASK, for the task itself. The name is free after as many DEQs, or when the unit of work and the task have ended. A DEQ
undoes only an ENQ of the same lifetime; that the two lifetimes are counted separately is a choice. Names always have a
length here, so each is a string (enqueue pool EXECSTRN), never an address. Sources: ENQ, DEQ (IBM Docs); ENQUEUE_TYPE
of the XPI's ENQUEUE function for the pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.waiting import wait
from tdqsim.cics.model.lock import Enqueue
from tdqsim.core.fiber import WAIT, WaitMark
from tdqsim.errors import UsageError, WrongType
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.task import TaskData

_LONGEST: Final = 255
_POOL: Final = "EXECSTRN"


def _name(task: TaskData, resource: object, length: int | None) -> bytes:
    name = task._region.encode(resource) if isinstance(resource, str) else resource
    if not isinstance(name, bytes | bytearray):
        raise WrongType(f"resource {resource!r}: allowed are bytes and str")
    size = len(name) if length is None else length
    if not 0 < size <= _LONGEST:
        raise Condition(Resp.LENGERR, 1, f"the name has {size} bytes; allowed are 1 to {_LONGEST}")
    if size > len(name):
        raise UsageError(f"LENGTH {size} is more than the {len(name)} bytes of RESOURCE")
    return bytes(name[:size])


def acquire(task: TaskData, resource: object, *, for_task: bool, nosuspend: bool, length: int | None = None) -> None:
    """Acquire a name for the task or its unit of work.

    Args:
        task: the task that issues ENQ.
        resource: the name; text is encoded in the region's code page.
        for_task: hold it for the task rather than for its unit of work.
        nosuspend: raise ENQBUSY instead of waiting.
        length: the number of bytes of ``resource`` that are the name; all when not given.

    Raises:
        UsageError: ``length`` goes beyond the name.
        Condition: ENQBUSY: another task has it and NOSUSPEND was given; LENGERR.
        Abend: the wait was ended by DTIMOUT or a purge.
    """
    name = _name(task, resource, length)
    region = task._region
    enqueue = region.enqueues.get(name)
    if enqueue is None:
        enqueue = region.enqueues[name] = Enqueue(name)
    acquired = enqueue

    def attempt() -> WaitMark | None:
        if acquired.owner is not task:
            # a free name goes to the task that has waited longest, not to one that comes between
            if acquired.holds or not acquired.waiting.is_first(region.dispatcher.current):
                return WAIT
            acquired.owner, acquired.since_ns = task, region.clock.time_ns()
        holder = task if for_task else task._uow
        region.enqueued.setdefault(holder, {})[name] = acquired
        acquired.holds[holder] = acquired.holds.get(holder, 0) + 1
        return None

    if attempt() is not WAIT:
        return
    if nosuspend:
        raise Condition(Resp.ENQBUSY, detail=f"{name!r} is held by {acquired.owner}")
    try:
        wait(task, attempt, acquired.waiting, "ENQUEUE", _POOL)
    except BaseException:
        if not acquired.holds:
            _free(region, acquired)  # it was about to be given to this task
        raise


def give_up(task: TaskData, resource: object, *, for_task: bool, length: int | None = None) -> None:
    """Undo one ENQ of a name; without an ENQ of this lifetime nothing happens.

    Raises:
        UsageError, Condition: as :func:`acquire`.
    """
    enqueue = task._region.enqueues.get(_name(task, resource, length))
    holder = task if for_task else task._uow if task._has_uow else None
    if enqueue is None or holder not in enqueue.holds:
        return
    enqueue.holds[holder] -= 1
    if not enqueue.holds[holder]:
        _remove_hold(task._region, enqueue, holder)


def _remove_hold(region: RegionData, enqueue: Enqueue, holder: object) -> None:
    del enqueue.holds[holder]
    names = region.enqueued.get(holder, {})
    names.pop(enqueue.resource, None)
    if not names:
        region.enqueued.pop(holder, None)
    if not enqueue.holds:
        _free(region, enqueue)


def _free(region: RegionData, enqueue: Enqueue) -> None:
    enqueue.owner = None
    if enqueue.waiting:
        enqueue.waiting.wake_one()
    elif region.enqueues.get(enqueue.resource) is enqueue:
        del region.enqueues[enqueue.resource]


def release_all(region: RegionData, holder: object) -> None:
    """Free all names that a unit of work or task holds: it has ended, or was shunted."""
    for enqueue in tuple(region.enqueued.get(holder, {}).values()):
        if holder in enqueue.holds:  # it is not, if an interrupt came before the hold or after the release
            _remove_hold(region, enqueue, holder)
    region.enqueued.pop(holder, None)
