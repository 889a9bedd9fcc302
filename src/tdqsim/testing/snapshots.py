"""Queues and regions as values: what is committed, what is not and by whom; and what changed between two moments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from difflib import SequenceMatcher
from typing import Any

from tdqsim.cics import Condition, Region
from tdqsim.cics.queues.checks import final_target
from tdqsim.cics.queues.kinds import ExtraTdQueue, IntraTdQueue, RemoteTdQueue, TdQueue
from tdqsim.cics.ship.remote import LinkEnd
from tdqsim.core.codepage import CodePage
from tdqsim.facts import Cvda
from tdqsim.ibmi import System
from tdqsim.testing.text import show_record

__all__ = ["QueueState", "RegionState", "SystemState", "Uncommitted", "diff", "record_changes", "snapshot"]


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """What one unit of work has done to a logically recoverable queue and not committed.

    Attributes:
        uow: the unit of work, as hexadecimal.
        task: number of its task; 0 once it is shunted after a restart.
        transid: its transaction.
        state: INFLIGHT, INDOUBT or SHUNTED.
        read: the committed records that it has read, in order.
        written: the records that it has written and not read back, in order.
        deleted: whether it has deleted the queue.
    """

    uow: str
    task: int
    transid: str
    state: str
    read: tuple[bytes, ...]
    written: tuple[bytes, ...]
    deleted: bool


@dataclass(frozen=True, slots=True)
class QueueState:
    """One queue at one moment.

    Attributes:
        name, type: as defined; INTRA, EXTRA, INDIRECT or REMOTE.
        enablestatus: ENABLED, DISABLING or DISABLED.
        openstatus: of a data set; empty for others.
        records: the committed records in order; of a data set what can be seen of it.
        uncommitted: by the units of work that hold an end of it, in the order of their ends.
        cycle: whether a trigger cycle is on.
        target: of an alias or a remote queue.
        region: APPLID of the region where a remote queue was followed to: ``records``, ``uncommitted`` and ``cycle``
            are those there; empty for other queues, and when the link is down.
    """

    name: str
    type: str
    enablestatus: str = ""
    openstatus: str = ""
    records: tuple[bytes, ...] = ()
    uncommitted: tuple[Uncommitted, ...] = ()
    cycle: bool = False
    target: str = ""
    region: str = ""


@dataclass(frozen=True, slots=True)
class RegionState:
    """A region at one moment.

    Attributes:
        applid: whose.
        queues: every queue by name, in the order of installation.
        tasks: task numbers and transactions of the tasks that have begun and not ended.
        abends: how many tasks abended, by code.
    """

    applid: str
    queues: Mapping[str, QueueState]
    tasks: tuple[tuple[int, str], ...]
    abends: Mapping[str, int]

    def __getitem__(self, name: str) -> QueueState:
        """One queue."""
        return self.queues[name]


@dataclass(frozen=True, slots=True)
class SystemState:
    """An IBM i system at one moment.

    Attributes:
        name: of the system.
        queues: ``LIB/NAME`` -> entries as (key, data, sender) in the order of the queue.
    """

    name: str
    queues: Mapping[str, tuple[tuple[bytes, bytes, bytes], ...]]


def snapshot(owner: Region | System, *, records: bool = True) -> RegionState | SystemState:
    """Everything there is, as a value that never changes and can be compared.

    Remote queues are followed to the region that has them, as long as it is connected.

    Args:
        owner: a region or a system.
        records: False leaves the records out.
    """
    if isinstance(owner, System):
        return SystemState(owner.name, dict(_data_queues(owner, records=records)))
    queues = {name: _queue(owner, queue, records=records) for name, queue in owner.tdqueues.items()}
    tasks = tuple((task.number, task.transid) for task in owner.tasks.values())
    return RegionState(owner.applid, queues, tasks, dict(owner.abends))


def _data_queues(system: System, *, records: bool) -> Iterator[tuple[str, tuple[tuple[bytes, bytes, bytes], ...]]]:
    for queue in system.queues():
        entries = queue.stored.entries() if records and not queue.ddm else ()
        yield f"{queue.library}/{queue.name}", tuple((entry.key, entry.data, entry.sender) for entry in entries)


def _queue(region: Region, queue: TdQueue, *, records: bool) -> QueueState:
    status = queue.enablestatus.name
    if isinstance(queue, IntraTdQueue):
        data = tuple(entry.data for entry in queue.stored.entries()) if records else ()
        return QueueState(
            queue.name, "INTRA", status, "", data, tuple(_uncommitted(queue, data)), queue.latch, queue.transid
        )
    if isinstance(queue, ExtraTdQueue):
        data = tuple(queue.file.peek()) if records and queue.file is not None else ()
        return QueueState(queue.name, "EXTRA", status, queue.openstatus.name, data)
    if isinstance(queue, RemoteTdQueue):
        return _remote(region, queue, records=records)
    return QueueState(queue.name, queue.type, status, target=getattr(queue, "indirectname", ""))


def _remote(region: Region, queue: RemoteTdQueue, *, records: bool) -> QueueState:
    state = QueueState(queue.name, queue.type, queue.enablestatus.name, target=queue.remotename)
    found = followed(region, queue)
    if found is None:
        return state
    there, target = found
    seen = _queue(there, target, records=records)
    return replace(
        state, openstatus=seen.openstatus, records=seen.records, uncommitted=seen.uncommitted, cycle=seen.cycle,
        region=there.applid,
    )  # fmt: skip


def followed(region: Region, queue: TdQueue) -> tuple[Region, TdQueue] | None:
    """The region and the queue that a remote queue is in the end; None when nobody can say: no link, or no queue."""
    seen = set()
    while isinstance(queue, RemoteTdQueue) and (region.applid, queue.name) not in seen:
        seen.add((region.applid, queue.name))
        link = region.links.get(queue.remotesystem)
        if not isinstance(link, LinkEnd) or not link.link.acquired or link.far.region.closed:
            return None
        region = link.far.region
        try:
            queue = final_target(region, queue.remotename)
        except Condition:
            return None
    return None if isinstance(queue, RemoteTdQueue) else (region, queue)


def _uncommitted(queue: IntraTdQueue, records: tuple[bytes, ...]) -> Iterator[Uncommitted]:
    for uow in dict.fromkeys(lock.owner for lock in queue.locks if lock.owner is not None):
        work = uow.works.get(queue)
        state = "SHUNTED" if uow.waitstate is Cvda.SHUNTED else uow.state.name
        read = records[: work.reads] if work is not None else ()
        written = tuple(map(_data, work.written)) if work is not None else ()
        deleted = work is not None and work.deleted
        yield Uncommitted(uow.id.hex(), uow.taskid, uow.transid, state, read, written, deleted)


def _data(record: Any) -> bytes:
    """A record as a unit of work holds it: bytes, or an entry with more to it."""
    found: bytes = record if isinstance(record, bytes) else record.data
    return found


# -- what changed ---------------------------------------------------------------------------------------------------


def diff(
    before: RegionState | SystemState, after: RegionState | SystemState, page: CodePage | None = None
) -> list[str]:
    """What changed between two snapshots, a line for each thing; empty when nothing did.

    Args:
        before: the earlier one.
        after: the later one.
        page: the code page in which records are shown.
    """
    lines: list[str] = []
    for name in [*before.queues, *(name for name in after.queues if name not in before.queues)]:
        one, other = before.queues.get(name), after.queues.get(name)
        if one is None or other is None:
            lines.append(f"{name}: {'new' if one is None else 'gone'}")
        elif isinstance(one, QueueState) and isinstance(other, QueueState):
            lines += _queue_changes(one, other, page)
        elif isinstance(one, tuple) and isinstance(other, tuple):
            first, second = ([key + data for key, data, _ in each] for each in (one, other))
            lines += [f"{name}: {line}" for line in record_changes(first, second, page)]
    return lines


def _queue_changes(one: QueueState, other: QueueState, page: CodePage | None) -> Iterator[str]:
    for field in fields(one):
        before, after = getattr(one, field.name), getattr(other, field.name)
        if field.name == "records":
            yield from (f"{one.name}: {line}" for line in record_changes(before, after, page))
        elif field.name == "uncommitted" and before != after:
            yield from (f"{one.name}: uncommitted: {_shown(each, page)}" for each in after if each not in before)
            yield from (f"{one.name}: no longer: {_shown(each, page)}" for each in before if each not in after)
        elif before != after:
            yield f"{one.name}: {field.name} {before or '-'} -> {after or '-'}"


def _shown(work: Uncommitted, page: CodePage | None) -> str:
    parts = [f"task {work.task} {work.transid} {work.state}" if work.task else f"unit of work {work.uow} {work.state}"]
    for word, records in (("read", work.read), ("written", work.written)):
        if records:
            parts.append(f"{word} {', '.join(show_record(record, page) for record in records)}")
    return "; ".join([*parts, *(["deleted"] if work.deleted else [])])


def record_changes(
    before: tuple[bytes, ...] | list[bytes], after: tuple[bytes, ...] | list[bytes], page: CodePage | None = None
) -> list[str]:
    """What came (+) and went (-), with positions from 1."""
    lines = []
    for kind, start, end, begin, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            lines += [f"- {at + 1}: {show_record(before[at], page)}" for at in range(start, end)]
            lines += [f"+ {at + 1}: {show_record(after[at], page)}" for at in range(begin, stop)]
    return lines
