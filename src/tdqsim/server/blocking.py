"""Who waits for whom in a region, read in the engine's thread as plain values: for the console, the API, metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tdqsim.cics import Region

__all__ = ["Wait", "waits_of", "with_strands"]


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


def with_strands(region: Region) -> Iterator[tuple[Any, Any]]:
    """The tasks, each with the strand on which it runs or waits: a call from outside has a task on its own strand."""
    lent = {id(strand.local): strand for strand in region.dispatcher.strands if strand.local is not None}
    for task in region.tasks.values():
        yield task, task.strand if task.strand is not None else lent.get(id(task))


def waits_of(region: Region) -> Iterable[Wait]:
    """Who waits for whom in a region: for ends of queues, for what is not committed, for names."""
    told = set()
    for queue in region.intra_queues():
        for lock in queue.locks:
            if lock.owner is None and not lock.waiting:
                continue
            holder = "" if lock.owner is None else _holder(lock.owner)
            rows = [(strand, f"{lock.end} of {queue.name}") for strand in lock.waiting.waiters]
            if lock is queue.write_end and queue.td_read is not None:
                rows += [(strand, f"what is not committed to {queue.name}") for strand in queue.td_read.waiters]
            for strand, what in rows:
                told.add(strand)
                yield Wait(_waiter(strand), _number(strand), holder, what)
    for enqueue in region.enqueues.values():
        for strand in enqueue.waiting.waiters:
            told.add(strand)
            yield Wait(_waiter(strand), _number(strand), _enq_holder(enqueue.owner), f"ENQ {enqueue.resource!r}")
    for task, own in with_strands(region):
        if own is not None and own.waiting_for is not None and own not in told:
            yield Wait(f"task {task.number} {task.transid}", task.number, "", own.waiting_for.name)


def _holder(uow: Any) -> str:
    facts = uow.facts
    if uow.task is None:
        return f"unit of work {uow.id.hex().upper()} {uow.state.name}"
    return f"task {facts.taskid} {facts.transid}"


def _enq_holder(owner: Any) -> str:
    number, transid = getattr(owner, "number", 0), getattr(owner, "transid", "")
    return f"task {number} {transid}" if number else "another task"


def _waiter(strand: Any) -> str:
    task = strand.local
    return f"task {task.number} {task.transid}" if hasattr(task, "transid") else str(strand.name)


def _number(strand: Any) -> int:
    return int(getattr(strand.local, "number", 0))
