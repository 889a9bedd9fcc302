"""Who waits for whom in a region, read in the engine's thread as plain values: for the console, the API, metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tdqsim.cics import Region
from tdqsim.cics.look.state import queue_state, tasks_of, waiter_of
from tdqsim.cics.model.lock import WRITE_END

__all__ = ["Wait", "waits_of"]


@dataclass(frozen=True, slots=True)
class Wait:
    """One waits for another.

    Attributes:
        waiter: who waits, for people.
        task: its task's number; 0 where no task waits.
        holder: who has what it waits for; empty where nobody is known to.
        what: what it waits for.
    """

    waiter: str
    task: int
    holder: str
    what: str


def waits_of(region: Region) -> Iterator[Wait]:
    """Who waits for whom in a region: for ends of queues, for what is not committed, for names."""
    known: set[str] = set()  # the strands whose wait has been given
    for queue in map(queue_state, region.intra_queues()):
        for lock in queue.locks:
            rows = [(waiter, f"{lock.end} of {queue.name}") for waiter in lock.waiting]
            if lock.end == WRITE_END:
                rows += [(waiter, f"what is not committed to {queue.name}") for waiter in queue.awaiting]
            for waiter, what in rows:
                known.add(waiter.name)
                yield Wait(waiter.title, waiter.task, lock.holder, what)
    for enqueue in region.enqueues.values():
        owner = enqueue.owner
        holder = f"task {owner.number} {owner.transid}" if owner is not None else "another task"
        for waiter in map(waiter_of, enqueue.waiting.waiters):
            known.add(waiter.name)
            yield Wait(waiter.title, waiter.task, holder, f"ENQ {enqueue.resource!r}")
    for task in tasks_of(region):
        if task.waits_for and task.strand not in known:
            yield Wait(f"task {task.number} {task.transid}", task.number, "", task.waits_for)
