"""The waits in a region: for ends of queues, for another task's commit, for names of ENQ, and for time.

The console, the API and the metrics show these waits; the test kit searches them for deadlocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tdqsim.cics.inspection.state import holder_of, tasks_of, waiter_of
from tdqsim.cics.model.lock import WRITE_END
from tdqsim.cics.model.queue import IntraTdQueue

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.core.fiber import Fiber, WaitQueue


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait.

    Attributes:
        waiter: the waiting task, for display.
        task: the number of the waiting task; 0 for a fiber without a task.
        holder: the holder of the resource; empty if it is not known.
        what: what it waits for.
        kind: END for an end of a queue, COMMIT for uncommitted records, ENQ, or OTHER.
        resource: the queue, or the name of ENQ as the ``repr`` of its bytes; empty for OTHER.
        end: the end of the queue: FROMQ or TOQ.
        since_ns: when it began, in nanoseconds on the region's clock.
        fibers: the waiting fiber and the fiber of the holder, None if no fiber holds it.
    """

    waiter: str
    task: int
    holder: str
    what: str
    kind: Literal["END", "COMMIT", "ENQ", "OTHER"] = "OTHER"
    resource: str = ""
    end: str = ""
    since_ns: int = 0
    fibers: tuple[Fiber, Fiber | None] | None = field(default=None, compare=False, repr=False)


def waits_of(region: RegionData) -> Iterator[Wait]:
    """All waits in a region: first those for a resource that another task holds, then the others."""
    known: set[str] = set()  # fibers whose wait was reported already
    for wait in blocked(region):
        if wait.fibers is not None:
            known.add(wait.fibers[0].name)
        yield wait
    for task in tasks_of(region):
        if task.waits_for and task.fiber not in known:
            title = f"task {task.number} {task.transid}"
            yield Wait(title, task.number, "", task.waits_for, since_ns=task.since_ns)


def blocked(region: RegionData) -> Iterator[Wait]:
    """The waits for a resource that another task or unit of work holds."""
    region.dispatcher.check_thread()
    for queue in tuple(region.tdqueues.values()):
        if isinstance(queue, IntraTdQueue) and queue.logical:
            yield from _at_queue(queue)
    for enqueue in region.enqueues.values():
        owner = enqueue.owner
        holder = f"task {owner.number} {owner.transid}" if owner is not None else "another task"
        name = repr(enqueue.resource)
        fiber = owner._fiber if owner is not None else None
        yield from _waiting(enqueue.waiting, fiber, holder, f"ENQ {name}", "ENQ", name)


def _at_queue(queue: IntraTdQueue) -> Iterator[Wait]:
    for lock in queue.locks:
        fiber = lock.owner.task._fiber if lock.owner is not None and lock.owner.task is not None else None
        holder, name = holder_of(lock), queue.name
        if lock.in_use:
            yield from _waiting(lock.waiting, fiber, holder, f"{lock.end} of {name}", "END", name, lock.end)
        if lock.end == WRITE_END and queue.td_read is not None:
            what = f"what is not committed to {name}"
            yield from _waiting(queue.td_read, fiber, holder, what, "COMMIT", name)


def _waiting(
    queue: WaitQueue,
    owner: Fiber | None,
    holder: str,
    what: str,
    kind: Literal["END", "COMMIT", "ENQ"],
    resource: str,
    end: str = "",
) -> Iterator[Wait]:
    for fiber in queue.waiters:
        waiter = waiter_of(fiber)
        since_ns, fibers = fiber.since_ns, (fiber, owner)
        yield Wait(waiter.title, waiter.task, holder, what, kind, resource, end, since_ns, fibers)
