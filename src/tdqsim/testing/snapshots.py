"""Snapshots of regions and systems: committed and uncommitted records as values, and what changed between two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from typing import Final

from tdqsim.cics import Region
from tdqsim.cics.inspection.remote_queues import followed_states
from tdqsim.cics.inspection.state import QueueState, Uncommitted, tasks_of
from tdqsim.cics.internals import core_of
from tdqsim.cics.model.queue import TRIGGER
from tdqsim.core.codepage import CodePage
from tdqsim.ibmi import System
from tdqsim.testing.text import show_record

_NOT_COMPARED: Final = frozenset((
    "name", "system", "recovstatus", "numitems", "peak_items", "emptystatus", "output", "dataset", "locks", "awaiting",
))  # fmt: skip
_COMPARED: Final = (
    *(each.name for each in fields(QueueState) if each.name not in _NOT_COMPARED.union(TRIGGER)),
    *TRIGGER,
)
"""The fields of a queue's state that :func:`diff` compares."""


@dataclass(frozen=True, slots=True)
class RegionState:
    """The state of a region at one time.

    Attributes:
        applid: the region.
        queues: every queue by name, in the order of installation.
        tasks: task numbers and transactions of the tasks that have started and not ended.
        abends: the number of abended tasks, by code.
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
    """The state of an IBM i system at one time.

    Attributes:
        name: the name of the system.
        queues: ``LIB/NAME`` -> entries as (key, data, sender) in the order of the queue.
    """

    name: str
    queues: Mapping[str, tuple[tuple[bytes, bytes, bytes], ...]]


def snapshot(owner: Region | System, *, records: bool = True) -> RegionState | SystemState:
    """The state of a region or system as an immutable value, which can be compared.

    The records of a remote queue come from the region that has the queue, if it is connected.

    Args:
        owner: a region or a system.
        records: with False, the snapshot has no records.
    """
    if isinstance(owner, System):
        return SystemState(owner.name, dict(_data_queues(owner, records=records)))
    tasks = tuple((task.number, task.transid) for task in tasks_of(core_of(owner)))
    return RegionState(
        owner.applid, followed_states(core_of(owner), records=records), tasks, dict(owner.statistics.abends)
    )


def _data_queues(system: System, *, records: bool) -> Iterator[tuple[str, tuple[tuple[bytes, bytes, bytes], ...]]]:
    for queue in system.queues():
        entries = queue.stored.entries() if records and not queue.ddm else ()
        yield f"{queue.library}/{queue.name}", tuple((entry.key, entry.data, entry.sender) for entry in entries)


# -- differences ----------------------------------------------------------------------------------------------------


def diff(
    before: RegionState | SystemState, after: RegionState | SystemState, code_page: CodePage | None = None
) -> list[str]:
    """The changes between two snapshots, one line each; empty if there are none.

    Args:
        before: the earlier snapshot.
        after: the later snapshot.
        code_page: the code page of the records in the lines.
    """
    lines: list[str] = []
    for name in [*before.queues, *(name for name in after.queues if name not in before.queues)]:
        one, other = before.queues.get(name), after.queues.get(name)
        if one is None or other is None:
            lines.append(f"{name}: {'new' if one is None else 'gone'}")
        elif isinstance(one, QueueState) and isinstance(other, QueueState):
            lines += _queue_changes(one, other, code_page)
        elif isinstance(one, tuple) and isinstance(other, tuple):
            first, second = ([key + data for key, data, _ in each] for each in (one, other))
            lines += [f"{name}: {line}" for line in record_changes(first, second, code_page)]
    return lines


def _queue_changes(one: QueueState, other: QueueState, page: CodePage | None) -> Iterator[str]:
    for name in _COMPARED:
        before, after = getattr(one, name), getattr(other, name)
        if name == "records":
            yield from (f"{one.name}: {line}" for line in record_changes(before, after, page))
        elif name == "uncommitted" and before != after:
            yield from (f"{one.name}: uncommitted: {_shown(each, page)}" for each in after if each not in before)
            yield from (f"{one.name}: no longer: {_shown(each, page)}" for each in before if each not in after)
        elif before != after:
            yield f"{one.name}: {name} {before or '-'} -> {after or '-'}"


def _shown(work: Uncommitted, page: CodePage | None) -> str:
    parts = [f"task {work.task} {work.transid} {work.state}" if work.task else f"unit of work {work.uow} {work.state}"]
    for word, records in (("read", work.read), ("written", work.written)):
        if records:
            parts.append(f"{word} {', '.join(show_record(record, page) for record in records)}")
    return "; ".join([*parts, *(["deleted"] if work.deleted else [])])


def record_changes(
    before: tuple[bytes, ...] | list[bytes], after: tuple[bytes, ...] | list[bytes], page: CodePage | None = None
) -> list[str]:
    """The records that were added (+) and removed (-), with positions from 1."""
    lines = []
    for kind, start, end, begin, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            lines += [f"- {at + 1}: {show_record(before[at], page)}" for at in range(start, end)]
            lines += [f"+ {at + 1}: {show_record(after[at], page)}" for at in range(begin, stop)]
    return lines
