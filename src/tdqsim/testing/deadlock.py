"""What can be seen of a standstill: a ring of tasks that wait for each other, and a trigger that nobody will serve.

CICS notices neither. A ring lasts until DTIMOUT or an operator ends it. A trigger is *lost* when records at or over the
level stay on a queue while its cycle is over, or on with nobody left to end it: then nothing happens until the next
WRITEQ, or ever. The usual cause is a program that stops before QZERO.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tdqsim.cics.queues import IntraQueue

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.core.dispatch import Strand, WaitQueue

__all__ = ["Deadlock", "find_deadlock", "lost_triggers", "stuck"]


class Deadlock(NamedTuple):
    """A ring of tasks.

    Attributes:
        tasks: the tasks, each waits for the next, the last for the first.
        text: the ring in words.
    """

    tasks: tuple[str, ...]
    text: str


def find_deadlock(regions: Iterable[Region]) -> Deadlock | None:
    """A ring of tasks that wait for each other's locks or ENQs, or None.

    Units of work that are shunted hold locks without a task; waiting for them is no ring.
    """
    waits = {}
    for region in regions:
        for waiter, holder, what in _edges(region):
            waits[waiter] = (holder, what)
    for start in waits:
        ring = [start]
        while ring[-1] in waits:
            following = waits[ring[-1]][0]
            if following in ring:
                return _ring(ring[ring.index(following) :], waits)
            ring.append(following)
    return None


def _ring(ring: list[Strand], waits: dict[Strand, tuple[Strand, str]]) -> Deadlock:
    parts = [f"{strand.name} waits for {waits[strand][1]}, held by {waits[strand][0].name}" for strand in ring]
    return Deadlock(tuple(strand.name for strand in ring), "; ".join(parts))


def _edges(region: Region) -> Iterator[tuple[Strand, Strand, str]]:
    for queue in region.intra_queues():
        for lock in queue.locks:
            owner = lock.owner.task.strand if lock.owner is not None and lock.owner.task is not None else None
            if owner is not None:
                yield from _waiters(lock.waiting, owner, f"the {lock.end} end of {queue.name}")
                if lock is queue.write_end and queue.td_read is not None:
                    yield from _waiters(queue.td_read, owner, f"the commit of what was written to {queue.name}")
    for enqueue in region.enqueues.values():
        owner = enqueue.owner.strand if enqueue.owner is not None else None
        if owner is not None:
            yield from _waiters(enqueue.waiting, owner, f"ENQ {enqueue.resource!r}")


def _waiters(queue: WaitQueue, owner: Strand, what: str) -> Iterator[tuple[Strand, Strand, str]]:
    for waiter in queue.waiters:
        if waiter is not owner:
            yield waiter, owner, what


def stuck(strands: Iterable[Strand]) -> list[str]:
    """Tasks that wait without a limit, in words; to be asked when nothing is ready."""
    found = []
    for strand in strands:
        queue = strand.waiting_for
        if queue is not None and strand.deadline_ns is None:
            holder = f" ({queue.holders()})" if queue.holders is not None else ""
            found.append(f"{strand.name} waits for {queue.name}{holder}")
    return found


def lost_triggers(region: Region) -> list[str]:
    """Queues whose records nobody will come for, in words; to be asked when nothing is ready."""
    return [text for queue in region.intra_queues() if (text := _lost(region, queue))]


def _lost(region: Region, queue: IntraQueue) -> str:
    level, count = queue.triggerlevel, queue.stored.count
    if not queue.transid or not level or count < level:
        return ""
    if any(task.request is not None and task.request.queue is queue for task in region.tasks.values()):
        return ""
    if queue.latch and _requested(region, queue):
        return ""
    state = "its cycle is on, but the task of it has ended" if queue.latch else "no cycle is on"
    return f"queue {queue.name} holds {count} records at trigger level {level}, and no task comes for them: {state}"


def _requested(region: Region, queue: IntraQueue) -> bool:
    """Whether a start waits for its terminal or connection."""
    return any(
        getattr(request, "queue", None) is queue
        for facility in region.facilities.values()
        for request in facility.requests
    )
