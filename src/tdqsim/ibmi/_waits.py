"""Receives that wait for an entry: who gets the next one.

A send hands its entry to a waiting receive at once, as the machine's enqueue does: the waiter with the highest run
priority (lowest RUNPTY), first come first within a priority, whose key criteria the entry satisfies. A waiting peek is
served too and leaves the entry for the next. So the order in which jobs run decides nothing, and an entry is never
given twice. The entry stays in the store, promised, until the job runs; one whose job ends before is free again, in its
old place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from operator import eq, ge, gt, le, lt, ne
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tdqsim.core.dispatch import WAIT, WaitQueue
from tdqsim.core.store import Entry, SearchOrder

if TYPE_CHECKING:
    from sortedcontainers import SortedDict

    from tdqsim.ibmi._queue import DataQueue
    from tdqsim.ibmi._who import Who

__all__ = ["SATISFIES", "Waiter", "Waiters", "asked", "enter", "give_back", "leave", "note_receive", "serve"]

SATISFIES: Mapping[SearchOrder, Callable[[bytes, bytes], bool]] = MappingProxyType(
    {
        SearchOrder.EQ: eq, SearchOrder.NE: ne, SearchOrder.LT: lt,
        SearchOrder.LE: le, SearchOrder.GT: gt, SearchOrder.GE: ge,
    }
)  # fmt: skip
"""Whether ``entry key <order> search key`` holds."""


class Waiter:
    """One receive that waits.

    Attributes:
        job: who waits.
        search: key order, or None for a queue without keys.
        key: the key that entries are compared with.
        remove: the entry is taken, not looked at.
        entry: what it was given, or None.
        parked: where its strand waits.
        place: in front of the queue: the run priority of its job, and the order in which they came.
    """

    __slots__ = ("entry", "job", "key", "parked", "place", "queue", "remove", "search")

    def __init__(self, job: Who, queue: DataQueue, search: SearchOrder | None, key: bytes, *, remove: bool) -> None:
        self.job = job
        self.queue = queue
        self.search = search
        self.key = key
        self.remove = remove
        self.entry: Entry | None = None
        self.parked = WaitQueue(f"an entry of data queue {queue.qualified} ({job.qualified_name})")
        self.place = (job.run_priority, 0)

    @property
    def line(self) -> bytes | None:
        """The key, of one that only entries of this key can serve; None of others."""
        return self.key if self.search is SearchOrder.EQ else None

    def wants(self, key: bytes) -> bool:
        """Whether an entry with this key ends the wait."""
        return self.search is None or SATISFIES[self.search](key, self.key)

    def attempt(self) -> Any:
        """The entry, WAIT, or None when the queue is no more."""
        self.job.check_usable()
        if self.entry is not None:
            return self.entry
        return None if self.queue.gone else WAIT


class Waiters:
    """The receives that wait in front of one queue.

    Those that wait for a key of their own are found by it, so that thousands of jobs may each wait for their answer.
    """

    __slots__ = ("_last", "_lines")

    def __init__(self) -> None:
        self._last = 0
        self._lines: dict[bytes | None, SortedDict[tuple[int, int], Waiter]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __bool__(self) -> bool:
        return any(self._lines.values())

    def __iter__(self) -> Iterator[Waiter]:
        """All of them, the one that is served first first."""
        return self._in_turn(*self._lines)

    def _in_turn(self, *lines: bytes | None) -> Iterator[Waiter]:
        return (waiter for _, waiter in merge(*(self._lines[line].items() for line in lines if line in self._lines)))

    def add(self, waiter: Waiter) -> None:
        """Put one behind those of its priority."""
        from sortedcontainers import SortedDict  # noqa: PLC0415  (on most queues nobody waits)

        self._last += 1
        waiter.place = (waiter.job.run_priority, self._last)
        self._lines.setdefault(waiter.line, SortedDict())[waiter.place] = waiter

    def move(self, waiter: Waiter) -> None:
        """Put one that is there where its job's run priority now has it, by when it came."""
        place = waiter.job.run_priority, waiter.place[1]
        line = self._lines[waiter.line]
        del line[waiter.place]
        waiter.place = place
        line[place] = waiter

    def discard(self, waiter: Waiter) -> bool:
        """Take one away; False when it was not there."""
        line = self._lines.get(waiter.line, {})
        there = line.pop(waiter.place, None) is waiter
        if there and not line:
            self._lines.pop(waiter.line, None)
        return there

    def served_by(self, key: bytes) -> list[Waiter]:
        """Who gets a new entry with this key: every peek before the receive that takes it, and that one."""
        found = []
        for waiter in self._in_turn(None, key):
            if waiter.entry is None and waiter.wants(key):
                found.append(waiter)
                if waiter.remove:
                    break
        return found


def enter(waiter: Waiter) -> None:
    """Put a waiter in its place in front of the queue."""
    waiter.queue.waiters.add(waiter)
    waiter.job.waiters.add(waiter)
    waiter.queue.settle()


def leave(waiter: Waiter) -> None:
    """Take a waiter away."""
    waiter.job.waiters.discard(waiter)
    if waiter.queue.waiters.discard(waiter):
        waiter.queue.settle()


def serve(queue: DataQueue, entry: Entry) -> None:
    """Hand a new entry to those who wait for it."""
    for waiter in queue.waiters.served_by(entry.key):
        waiter.entry = entry
        leave(waiter)
        waiter.parked.wake_one()
        if waiter.remove:
            queue.promise(entry)
        if queue.trace is not None:
            note_receive(waiter.job, queue, entry, waiter.search, waiter.key, remove=waiter.remove, waited=True)


def give_back(waiter: Waiter) -> None:
    """Free an entry that a waiter was given, but could not use; the next waiter may have it."""
    entry, waiter.entry = waiter.entry, None
    if entry is None or not waiter.remove:
        return
    if not waiter.queue.gone:
        waiter.queue.free(entry)
        waiter.job.note("GIVEBACK", waiter.queue, entry.data, entry.key)
        serve(waiter.queue, entry)


def asked(search: SearchOrder | None, key: bytes, *, remove: bool) -> dict[str, Any]:
    """What a receive or a clear asks for, as a history has it."""
    info: dict[str, Any] = {} if search is None else {"key_order": search.name, "key": key.hex()}
    if not remove:
        info["remove"] = "*NO"
    return info


def note_receive(
    job: Who, queue: DataQueue, entry: Entry | None, search: SearchOrder | None, key: bytes, *, remove: bool,
    waited: bool = False,
) -> None:  # fmt: skip
    """Tell the recorder what a receive was given, None for nothing."""
    info = asked(search, key, remove=remove)
    if waited:
        info["waited"] = True
    data, found = (b"", b"") if entry is None else (entry.data, entry.key)
    job.note("QRCVDTAQ", queue, data, found, **info)
