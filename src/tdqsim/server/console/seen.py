"""What the console shows of a region, read in the engine's thread as plain values.

Looking starts no task, counts nothing and records nothing: it reads what INQUIRE would, from the same places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tdqsim.cics import Region
from tdqsim.cics.look.state import (
    LockState,
    QueueState,
    TaskState,
    UnitState,
    WorkState,
    queue_state,
    tasks_of,
    unit_states,
)  # fmt: skip
from tdqsim.cics.look.waits import Wait, waits_of
from tdqsim.facts import table

__all__ = ["QueueSeen", "RegionSeen", "TaskSeen", "UnitSeen", "look"]


_SUPPLIED: Final = frozenset(row["name"] for row in table("supplied_queues"))


@dataclass(frozen=True, slots=True)
class QueueSeen:
    """A queue at one moment.

    Attributes:
        name: its name.
        type: INTRA, EXTRA, INDIRECT or REMOTE.
        recovery: RECOVSTATUS of an intrapartition queue; empty for others.
        enabled: ENABLESTATUS; empty for an alias.
        open: OPENSTATUS of a data set; empty for others.
        depth: NUMITEMS; -1 for what holds no records of its own.
        trigger: the transaction that it starts, and the level; empty and 0 for none.
        cycle: whether a trigger cycle is on.
        locks: who holds its ends and how many wait, in words; empty for nobody.
        target: what an alias or a remote queue stands for.
        supplied: whether it is one of the queues that every region has (group DFHDCTG).
    """

    name: str
    type: str
    recovery: str = ""
    enabled: str = ""
    open: str = ""
    depth: int = -1
    trigger: str = ""
    level: int = 0
    cycle: bool = False
    locks: str = ""
    target: str = ""
    supplied: bool = False


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """A task that has begun and not ended.

    Attributes:
        number: its number.
        transid: its transaction.
        userid: its user.
        started_by: the queue whose trigger started it, or its start code.
        waits_for: what it waits for, in words; empty while it does not.
        until_ns: when its wait gives up; 0 for never.
        uow: its unit of work in hexadecimal; empty for none.
    """

    number: int
    transid: str
    userid: str
    started_by: str
    waits_for: str
    until_ns: int
    uow: str


@dataclass(frozen=True, slots=True)
class UnitSeen:
    """A unit of work.

    Attributes:
        uow: its id in hexadecimal.
        state: UOWSTATE.
        waitstate: WAITSTATE.
        task: number of its task; 0 when it has none any more.
        transid: the transaction.
        userid: the user.
        link: the connection to its coordinator, where that is remote.
        holds: the ends of queues that it has, in words.
        changes: what it has done and not committed, in words.
    """

    uow: str
    state: str
    waitstate: str
    task: int
    transid: str
    userid: str
    link: str
    holds: str
    changes: str


@dataclass(frozen=True, slots=True)
class RegionSeen:
    """A region at one moment.

    Attributes:
        time_ns: on the region's clock.
        frozen: whether that stands still.
        queues: those that were asked for, by name.
        names: all that there are, in the order of installation; empty unless all were asked for.
        tasks: the tasks.
        units: the units of work.
        waits: who waits for whom.
        abends: how many tasks have abended, by code.
    """

    time_ns: int
    frozen: bool
    queues: dict[str, QueueSeen]
    names: tuple[str, ...]
    tasks: tuple[TaskSeen, ...]
    units: tuple[UnitSeen, ...]
    waits: tuple[Wait, ...]
    abends: dict[str, int]


def look(region: Region, names: Iterable[str] | None) -> RegionSeen:
    """Look at a region: at all its queues, or at those named as far as they are there."""
    there = region.tdqueues
    wanted = there if names is None else [name for name in names if name in there]
    return RegionSeen(
        time_ns=region.clock.time_ns(),
        frozen=region.clock.frozen,
        queues={name: _queue(queue_state(there[name])) for name in wanted},
        names=tuple(there) if names is None else (),
        tasks=tuple(map(_task, tasks_of(region))),
        units=tuple(map(_unit, unit_states(region))),
        waits=tuple(waits_of(region)),
        abends=dict(region.abends),
    )


# -- queues -----------------------------------------------------------------------------------------------------------


def _queue(state: QueueState) -> QueueSeen:
    supplied = state.name in _SUPPLIED
    if state.type == "INTRA":
        return _intra(state, supplied=supplied)
    if state.type == "EXTRA":
        return QueueSeen(
            state.name, state.type, enabled=state.enablestatus, open=state.openstatus, target=state.dataset,
            supplied=supplied,
        )  # fmt: skip
    if state.type == "INDIRECT":
        return QueueSeen(state.name, state.type, target=state.target, supplied=supplied)
    return QueueSeen(state.name, state.type, enabled=state.enablestatus, target=f"{state.target} of {state.system}")


def _intra(state: QueueState, *, supplied: bool) -> QueueSeen:
    return QueueSeen(
        state.name,
        state.type,
        recovery=state.recovstatus,
        enabled=state.enablestatus,
        depth=state.numitems,
        trigger=state.transid if state.triggerlevel else "",
        level=state.level,
        cycle=state.cycle,
        locks="; ".join(filter(None, map(_lock, state.locks))),
        supplied=supplied,
    )


def _lock(lock: LockState) -> str:
    waiting = len(lock.waiting)
    if not lock.uow and not waiting:
        return ""
    holder = f" {lock.transid} task {lock.task}" if lock.uow else ""
    retained = " retained" if lock.retained else ""
    return f"{lock.end}{holder}{retained}{f', {waiting} waiting' if waiting else ''}"


# -- tasks and units of work ------------------------------------------------------------------------------------------


def _task(task: TaskState) -> TaskSeen:
    return TaskSeen(
        task.number,
        task.transid,
        task.userid,
        started_by=f"queue {task.queue}" if task.queue else task.startcode,
        waits_for=task.waits_for,
        until_ns=task.until_ns,
        uow=task.uow,
    )


def _unit(unit: UnitState) -> UnitSeen:
    return UnitSeen(
        unit.uow,
        unit.state,
        unit.waitstate,
        unit.task,
        unit.transid,
        unit.userid,
        unit.link,
        holds=", ".join(f"{queue} {end}" for queue, end in unit.holds),
        changes=", ".join(map(_work, unit.works)),
    )


def _work(work: WorkState) -> str:
    done = [f"{work.read} read"] if work.read else []
    done += ["deleted"] if work.deleted else []
    done += [f"{work.written} written"] if work.written else []
    return f"{work.queue}: {', '.join(done) or 'nothing yet'}"
