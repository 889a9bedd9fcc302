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
from tdqsim.state import Dump, LockState, QueueState, TaskState, UnitState, Wait, WorkState

_SUPPLIED: Final = frozenset(row["name"] for row in table("supplied_queues"))


@dataclass(frozen=True, slots=True)
class QueueRow:
    """The state of a queue.

    Attributes:
        name: its name.
        type: INTRA, EXTRA, INDIRECT or REMOTE.
        recovery: RECOVSTATUS of an intrapartition queue; empty for others.
        enabled: ENABLESTATUS; empty for an alias.
        open: OPENSTATUS of a data set; empty for others.
        depth: NUMITEMS; -1 for an INDIRECT or REMOTE queue, which has no records.
        most: the highest NUMITEMS since statistics were last reset, as on the page Statistics.
        trigger, level: the transaction that it starts, and the trigger level; empty and 0 for none.
        cycle: whether a trigger cycle is active.
        locks: the holders of its ends and the numbers of waiting tasks, as text; empty without locks.
        target: the target of an alias or a remote queue.
        supplied: whether it is a supplied queue (group DFHDCTG).
    """

    name: str
    type: str
    recovery: str = ""
    enabled: str = ""
    open: str = ""
    depth: int = -1
    most: int = 0
    trigger: str = ""
    level: int = 0
    cycle: bool = False
    locks: str = ""
    target: str = ""
    supplied: bool = False


@dataclass(frozen=True, slots=True)
class TaskRow:
    """The state of a task that has not ended.

    Attributes:
        number: its number.
        transid: its transaction.
        userid: its user.
        started_by: the queue whose trigger started it, or its start code.
        waits_for: the resource for which it waits, as text; empty if it does not wait.
        until_ns: the time limit of its wait; 0 for none.
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
class UnitRow:
    """The state of a unit of work.

    Attributes:
        uow: its id in hexadecimal.
        state: UOWSTATE.
        waitstate: WAITSTATE.
        task: the number of its task; 0 if the task has ended.
        begun_by: the number of the task that began it.
        transid: the transaction.
        userid: the user.
        link: the connection to its coordinator, if that is remote.
        coordinator: the name of the unit of work in that region; empty if no other region coordinates it.
        holds: the ends of queues that it holds, as text.
        changes: its uncommitted changes, as text.
    """

    uow: str
    state: str
    waitstate: str
    task: int
    begun_by: int
    transid: str
    userid: str
    link: str
    coordinator: str
    holds: str
    changes: str


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
    queues: dict[str, QueueRow]
    names: tuple[str, ...]
    tasks: tuple[TaskRow, ...]
    units: tuple[UnitRow, ...]
    waits: tuple[Wait, ...]
    abends: dict[str, int]
    dumps: tuple[Dump, ...] = ()


def read_region(region: Region, names: Iterable[str] | None) -> RegionSnapshot:
    """Read the state of a region with all its queues, or with those of the given names that exist."""
    read = state.queues(region) if names is None else (state.queue(region, name) for name in names)
    return RegionSnapshot(
        time_ns=region.clock.time_ns(),
        frozen=region.clock.frozen,
        queues={each.name: _queue(each) for each in read if each is not None},
        names=tuple(region.tdqueues) if names is None else (),
        tasks=tuple(map(_task, state.tasks(region))),
        units=tuple(map(_unit, state.units(region))),
        waits=state.waits(region),
        abends=dict(region.statistics.abends),
        dumps=tuple(region.diagnostics.failures),
    )


# -- queues -----------------------------------------------------------------------------------------------------------


def _queue(state: QueueState) -> QueueRow:
    supplied = state.name in _SUPPLIED
    if state.type == "INTRA":
        return _intra(state, supplied=supplied)
    if state.type == "EXTRA":
        return QueueRow(
            state.name, state.type, enabled=state.enablestatus, open=state.openstatus, target=state.dataset,
            supplied=supplied,
        )  # fmt: skip
    if state.type == "INDIRECT":
        return QueueRow(state.name, state.type, target=state.target, supplied=supplied)
    return QueueRow(state.name, state.type, enabled=state.enablestatus, target=f"{state.target} of {state.system}")


def _intra(state: QueueState, *, supplied: bool) -> QueueRow:
    return QueueRow(
        state.name,
        state.type,
        recovery=state.recovstatus,
        enabled=state.enablestatus,
        depth=state.numitems,
        most=state.peak_items,
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


def _task(task: TaskState) -> TaskRow:
    return TaskRow(
        task.number,
        task.transid,
        task.userid,
        started_by=f"queue {task.queue}" if task.queue else task.startcode,
        waits_for=task.waits_for,
        until_ns=task.until_ns,
        uow=task.uow,
    )


def _unit(unit: UnitState) -> UnitRow:
    return UnitRow(
        unit.uow,
        unit.state,
        unit.waitstate,
        unit.task,
        unit.taskid,
        unit.transid,
        unit.userid,
        unit.link,
        unit.coordinator,
        holds=", ".join(f"{queue} {end}" for queue, end in unit.holds),
        changes=", ".join(map(_work, unit.works)),
    )


def _work(work: WorkState) -> str:
    done = [f"{work.read} read"] if work.read else []
    done += ["deleted"] if work.deleted else []
    done += [f"{work.written} written"] if work.written else []
    return f"{work.queue}: {', '.join(done) or 'nothing yet'}"
