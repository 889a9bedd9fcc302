"""Finds deadlocks (tasks that wait for each other in a ring), and triggers that will start no task.

CICS detects neither. A deadlock lasts until DTIMOUT or an operator ends it. A trigger is *lost* if a queue holds as
many records as its trigger level while its cycle is over, or while its cycle is on and no task is left to end it: then
no task is started until the next WRITEQ, or at all. The usual cause is a program that stops before QZERO.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from tdqsim.cics.inspection.state import QueueState, intra_states, tasks_of
from tdqsim.cics.inspection.waits import blocked
from tdqsim.cics.internals import core_of

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.core.fiber import Fiber
    from tdqsim.ibmi import System

_RESOURCES: Final = {
    "END": "the {1} end of {0}",
    "COMMIT": "the commit of what was written to {0}",
    "ENQ": "ENQ {0}",
}


class Deadlock(NamedTuple):
    """A deadlock: a ring of tasks that wait for each other.

    Attributes:
        tasks: the tasks; each waits for the next, the last for the first.
        text: a description.
    """

    tasks: tuple[str, ...]
    text: str


def find_deadlock(regions: Iterable[Region], systems: Iterable[System] = ()) -> Deadlock | None:
    """A ring of tasks and jobs that wait for each other's locks, ENQs or object locks, or None.

    Shunted units of work hold locks without a task, so a wait for them is not a ring. A job may wait for several others
    at once, and continues when all of them have released their locks; so one of them in a ring is enough.
    """
    waits: dict[Fiber, dict[Fiber, str]] = {}
    for edges in (*map(_edges, regions), *map(_job_edges, systems)):
        for waiter, holder, what in edges:
            waits.setdefault(waiter, {})[holder] = what
    for start in waits:
        ring = _ring_from(start, waits)
        if ring:
            parts = (
                f"{one.name} waits for {waits[one][next_one]}, held by {next_one.name}"
                for one, next_one in zip(ring, (*ring[1:], ring[0]), strict=True)
            )
            return Deadlock(tuple(fiber.name for fiber in ring), "; ".join(parts))
    return None


def _ring_from(start: Fiber, waits: dict[Fiber, dict[Fiber, str]]) -> list[Fiber]:
    """A path from a fiber back to itself; empty if there is none."""
    way, open_ends, visited = [start], [iter(waits[start])], {start}
    while open_ends:
        following = next(open_ends[-1], None)
        if following is None:
            open_ends.pop()
            way.pop()
        elif following is start:
            return way
        elif following in waits and following not in visited:
            visited.add(following)
            way.append(following)
            open_ends.append(iter(waits[following]))
    return []


def _edges(region: Region) -> Iterator[tuple[Fiber, Fiber, str]]:
    for wait in blocked(core_of(region)):
        waiter, holder = wait.fibers or (None, None)
        if waiter is not None and holder is not None and waiter is not holder:
            yield waiter, holder, _RESOURCES[wait.kind].format(wait.resource, wait.end)


def _job_edges(system: System) -> Iterator[tuple[Fiber, Fiber, str]]:
    outside = system.dispatcher.outside
    for job, request, blockers in system.locks.waits():
        waiter = job.fiber or outside
        for held in blockers:
            holder = held.job.fiber or outside
            if holder is not waiter:
                yield waiter, holder, f"{request.state} of {request.target.qualified}"


def stuck(fibers: Iterable[Fiber]) -> list[str]:
    """A line for each task that waits without a limit; call it when no task is ready."""
    lines = []
    for fiber in fibers:
        queue = fiber.waiting_for
        if queue is not None and fiber.deadline_ns is None:
            holder = f" ({queue.holders()})" if queue.holders is not None else ""
            lines.append(f"{fiber.name} waits for {queue.name}{holder}")
    return lines


def lost_triggers(region: Region) -> list[str]:
    """A line for each queue with a lost trigger; call it when no task is ready."""
    return [text for now in intra_states(core_of(region)) if (text := _lost(region, now))]


def _lost(region: Region, now: QueueState) -> str:
    level, count = now.level, now.numitems
    if not level or count < level:
        return ""
    core = core_of(region)
    if any(task.queue == now.name for task in tasks_of(core)):
        return ""
    requests = (request for facility in core.facilities.values() for request in facility.requests)
    if now.cycle and any(getattr(request, "queue", None) is core.tdqueues[now.name] for request in requests):
        return ""  # the cycle waits for its terminal or connection
    state = "its cycle is on, but the cycle's task has ended" if now.cycle else "no cycle is on"
    return f"queue {now.name} holds {count} records at trigger level {level}, but starts no task: {state}"
