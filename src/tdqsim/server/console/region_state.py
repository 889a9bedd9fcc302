"""A snapshot of a region for the console, read in the engine's thread as plain values.

Reading starts no task, changes no statistics and records no event. The values are those of INQUIRE.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tdqsim import state
from tdqsim.cics import Region
from tdqsim.facts import table
from tdqsim.state import Dump, QueueState, TaskState, UnitState, Wait

_SUPPLIED: Final = frozenset(row["name"] for row in table("supplied_queues"))


@dataclass(frozen=True, slots=True)
class RegionSnapshot:
    """The state of a region.

    Attributes:
        time_ns: the time of the region's clock.
        frozen: whether the clock stands still.
        queues: the requested queues by name.
        names: the names of all queues in the order of installation; empty unless all were requested.
        tasks: the tasks.
        units: the units of work.
        waits: the waits of tasks, with the holders of the resources.
        abends: the number of tasks that have abended, by code.
        dumps: the dumps of the last tasks that have abended, the newest last.
    """

    time_ns: int
    frozen: bool
    queues: dict[str, QueueState]
    names: tuple[str, ...]
    tasks: tuple[TaskState, ...]
    units: tuple[UnitState, ...]
    waits: tuple[Wait, ...]
    abends: dict[str, int]
    dumps: tuple[Dump, ...] = ()


def read_region(region: Region, names: Iterable[str] | None) -> RegionSnapshot:
    """Read the state of a region with all its queues, or with those of the given names that exist."""
    read = state.queues(region) if names is None else (state.queue(region, name) for name in names)
    return RegionSnapshot(
        time_ns=region.clock.time_ns(),
        frozen=region.clock.frozen,
        queues={each.name: each for each in read if each is not None},
        names=tuple(region.tdqueues) if names is None else (),
        tasks=tuple(state.tasks(region)),
        units=tuple(state.units(region)),
        waits=state.waits(region),
        abends=dict(region.statistics.abends),
        dumps=tuple(region.diagnostics.failures),
    )


# -- in words ---------------------------------------------------------------------------------------------------------


def is_supplied(queue: QueueState) -> bool:
    """Whether it is a supplied queue (group DFHDCTG)."""
    return queue.name in _SUPPLIED and queue.type != "REMOTE"


def depth(queue: QueueState) -> int:
    """NUMITEMS; -1 for a queue that has no records in the store."""
    return queue.numitems if queue.holds_records else -1


def trigger(queue: QueueState) -> str:
    """The transaction that a queue starts, and its trigger level; empty for none."""
    return f"{queue.transid} at {queue.level}" if queue.level else ""


def status(queue: QueueState) -> str:
    """ENABLESTATUS and OPENSTATUS; empty for an alias."""
    return f"{queue.enablestatus} {queue.openstatus}".strip() if queue.type != "INDIRECT" else ""


def stands_for(queue: QueueState) -> str:
    """The target of an alias or a remote queue, or the data set."""
    return f"{queue.target} of {queue.system}" if queue.type == "REMOTE" else queue.target or queue.dataset


def locked(queue: QueueState) -> str:
    """The holders of its ends and the numbers of waiting tasks; empty without locks."""
    held = []
    for lock in queue.locks:
        waiting = len(lock.waiting)
        if lock.uow or waiting:
            holder = f" {lock.transid} task {lock.task}" if lock.uow else ""
            retained = " retained" if lock.retained else ""
            held.append(f"{lock.end}{holder}{retained}{f', {waiting} waiting' if waiting else ''}")
    return "; ".join(held)


def uncommitted(unit: UnitState) -> str:
    """The uncommitted changes of a unit of work, queue by queue."""
    changes = []
    for work in unit.works:
        done = [f"{work.read} read"] if work.read else []
        done += ["deleted"] if work.deleted else []
        done += [f"{work.written} written"] if work.written else []
        changes.append(f"{work.queue}: {', '.join(done) or 'nothing yet'}")
    return ", ".join(changes)
