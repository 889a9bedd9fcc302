"""ENQ and DEQ: exclusive use of a name that programs have agreed on.

It is the only way to keep a non-recoverable or extrapartition queue to oneself over several requests. A name is held by
a unit of work, or by a task with the TASK option; the same holder may get it several times, and gives it up as often.
Source: ENQ, DEQ (IBM Docs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.conditions import Condition
from tdqsim.core.dispatch import WAIT, WaitQueue
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics.region import Region
    from tdqsim.cics.task import Task

__all__ = ["Enqueue", "acquire", "give_up", "release_all"]

_LONGEST: Final = 255


class Enqueue:
    """One name that is held or waited for.

    Attributes:
        resource: the name.
        holder: the unit of work or the task that has it, or None.
        owner: the task of the holder, for people.
        count: how often it was got.
        waiting: who waits for it.
    """

    __slots__ = ("count", "holder", "owner", "resource", "waiting")

    def __init__(self, resource: bytes) -> None:
        self.resource = resource
        self.holder: object | None = None
        self.owner: Task | None = None
        self.count = 0
        self.waiting = WaitQueue(f"ENQ {resource!r}", lambda: f"held by {self.owner}")


def _name(task: Task, resource: object) -> bytes:
    if isinstance(resource, str):
        resource = task.region.encode(resource)
    if not isinstance(resource, bytes):
        raise TypeError(f"resource {resource!r}: allowed are bytes and str")
    if not 0 < len(resource) <= _LONGEST:
        raise Condition(Resp.LENGERR, 1, f"the name has {len(resource)} bytes; allowed are 1 to {_LONGEST}")
    return resource


def acquire(task: Task, resource: object, *, for_task: bool, nosuspend: bool) -> None:
    """Get a name for the task or its unit of work.

    Raises:
        Condition: ENQBUSY: another has it and NOSUSPEND was given; LENGERR.
    """
    name = _name(task, resource)
    table = task.region.enqueues
    enqueue = table.get(name)
    if enqueue is None:
        enqueue = table[name] = Enqueue(name)
    found = enqueue

    def attempt() -> Any:
        if found.owner is not task and (
            found.holder is not None or not found.waiting.is_first(task.region.dispatcher.current)
        ):
            return WAIT
        if found.holder is None:
            found.holder, found.owner = (task if for_task else task.uow), task
        found.count += 1
        return None

    if attempt() is not WAIT:
        return
    if nosuspend:
        raise Condition(Resp.ENQBUSY, detail=f"{name!r} is held by {found.owner}")
    task.wait(attempt, found.waiting, "ENQUEUE", "KCADDR")


def give_up(task: Task, resource: object, *, for_task: bool) -> None:  # noqa: ARG001  (the option names the same hold)
    """Give a name up once."""
    enqueue = task.region.enqueues.get(_name(task, resource))
    if enqueue is None or enqueue.owner is not task:
        return
    enqueue.count -= 1
    if not enqueue.count:
        _free(task.region, enqueue)


def _free(region: Region, enqueue: Enqueue) -> None:
    enqueue.holder = enqueue.owner = None
    enqueue.count = 0
    if enqueue.waiting:
        enqueue.waiting.wake_one()
    else:
        del region.enqueues[enqueue.resource]


def release_all(region: Region, holder: object) -> None:
    """A unit of work or a task has ended: what it holds is free."""
    for enqueue in tuple(region.enqueues.values()):
        if enqueue.holder is holder:
            _free(region, enqueue)
