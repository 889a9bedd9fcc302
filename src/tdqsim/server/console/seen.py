"""What the console shows of a region, read in the engine's thread as plain values.

Looking starts no task, counts nothing and records nothing: it reads what INQUIRE would, from the same places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from tdqsim.cics import Region
from tdqsim.cics.queues.kinds import ExtraTdQueue, IndirectTdQueue, IntraTdQueue, RemoteTdQueue, TdQueue
from tdqsim.facts import Cvda, table
from tdqsim.server.blocking import Wait, waits_of, with_strands

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
        queues={name: _queue(there[name]) for name in wanted},
        names=tuple(there) if names is None else (),
        tasks=tuple(_task(task, strand) for task, strand in with_strands(region)),
        units=tuple(_unit(uow) for uow in region.units_of_work()),
        waits=tuple(waits_of(region)),
        abends=dict(region.abends),
    )


# -- queues -----------------------------------------------------------------------------------------------------------


def _queue(queue: TdQueue) -> QueueSeen:
    supplied = queue.name in _SUPPLIED
    if isinstance(queue, IntraTdQueue):
        return _intra(queue, supplied=supplied)
    enabled = queue.enablestatus.name
    if isinstance(queue, ExtraTdQueue):
        return QueueSeen(
            queue.name, queue.type, enabled=enabled, open=queue.openstatus.name, target=_dsname(queue),
            supplied=supplied,
        )  # fmt: skip
    if isinstance(queue, IndirectTdQueue):
        return QueueSeen(queue.name, queue.type, target=queue.indirectname, supplied=supplied)
    assert isinstance(queue, RemoteTdQueue), queue
    return QueueSeen(
        queue.name, queue.type, enabled=enabled, target=f"{queue.remotename} of {queue.definition.remotesystem}"
    )


def _dsname(queue: ExtraTdQueue) -> str:
    return str(getattr(queue.definition, "dsname", "") or getattr(queue.definition, "ddname", "") or "")


def _intra(queue: IntraTdQueue, *, supplied: bool) -> QueueSeen:
    return QueueSeen(
        queue.name,
        queue.type,
        recovery=queue.recovstatus,
        enabled=queue.enablestatus.name,
        depth=queue.numitems,
        trigger=queue.transid if queue.triggerlevel else "",
        level=queue.triggerlevel if queue.transid else 0,
        cycle=bool(queue.latch),
        locks="; ".join(filter(None, map(_lock, queue.locks))),
        supplied=supplied,
    )


def _lock(lock: Any) -> str:
    owner, waiting = lock.owner, len(lock.waiting)
    if owner is None and not waiting:
        return ""
    whose = "" if owner is None else f" {owner.facts.transid} task {owner.facts.taskid}"
    retained = " retained" if lock.retained else ""
    return f"{lock.end}{whose}{retained}{f', {waiting} waiting' if waiting else ''}"


# -- tasks and units of work ------------------------------------------------------------------------------------------


def _task(task: Any, strand: Any) -> TaskSeen:
    parked = strand.waiting_for if strand is not None else None
    return TaskSeen(
        task.number,
        task.transid,
        task.userid,
        started_by=f"queue {task.request.queue.name}" if task.request is not None else task.startcode,
        waits_for=parked.name if parked is not None else "",
        until_ns=(strand.deadline_ns or 0) if strand is not None and parked is not None else 0,
        uow=task.uow.id.hex().upper() if task.has_uow else "",
    )


def _unit(uow: Any) -> UnitSeen:
    facts = uow.facts
    return UnitSeen(
        uow.id.hex().upper(),
        uow.state.name,
        uow.waitstate.name if uow.state is not Cvda.INFLIGHT else Cvda.ACTIVE.name,
        facts.taskid if uow.task is not None else 0,
        facts.transid,
        facts.userid,
        uow.link,
        holds=", ".join(f"{lock.queue.name} {lock.end}" for lock in uow.locks),
        changes=", ".join(_work(queue.name, work) for queue, work in uow.works.items()),
    )


def _work(queue: str, work: Any) -> str:
    done = [f"{work.reads} read"] if work.reads else []
    done += ["deleted"] if work.deleted else []
    done += [f"{len(work.written)} written"] if work.written else []
    return f"{queue}: {', '.join(done) or 'nothing yet'}"
