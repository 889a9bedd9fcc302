"""Receives that wait for an entry, and which of them gets the next one.

A send hands its entry to a waiting receive at once, as an enqueue instruction does. It goes to the waiter with the
highest run priority (lowest RUNPTY) whose key criteria the entry satisfies; within a priority to the one that came
first. A waiting peek also gets the entry, but leaves it for the next waiter. So the result does not depend on the order
in which jobs run, and no entry is received twice. The entry stays in the store, promised to its job, until the job
runs. If the job ends before that, the entry is free again, in its old place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from operator import eq, ge, gt, le, lt, ne
from types import MappingProxyType
from typing import TYPE_CHECKING

from sortedcontainers import SortedDict

from tdqsim.core.fiber import WAIT, WaitMark, WaitQueue
from tdqsim.core.store import Entry, SearchOrder
from tdqsim.ibmi.entries import Received

if TYPE_CHECKING:
    from tdqsim.ibmi.data import JobData
    from tdqsim.ibmi.queue import DataQueue

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
        job: the job that waits.
        search: the key order, or None for a queue without keys.
        key: the key that entries are compared with.
        remove: False for a peek, which leaves the entry on the queue.
        entry: the entry that was handed to it, or None.
        parked: the queue in which its fiber waits.
        place: its place among the waiters: the run priority of its job, and a number in order of arrival.
    """

    __slots__ = ("entry", "job", "key", "parked", "place", "queue", "remove", "search")

    def __init__(self, job: JobData, queue: DataQueue, search: SearchOrder | None, key: bytes, *, remove: bool) -> None:
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
        """The key, if only entries with exactly this key can end the wait; otherwise None."""
        return self.key if self.search is SearchOrder.EQ else None

    def wants(self, key: bytes) -> bool:
        """Whether an entry with this key ends the wait."""
        return self.search is None or SATISFIES[self.search](key, self.key)

    def attempt(self) -> Entry | WaitMark | None:
        """The entry, WAIT, or None when the queue was deleted."""
        self.job.check_usable()
        if self.entry is not None:
            return self.entry
        return None if self.queue.deleted else WAIT


class Waiters:
    """The receives that wait at one queue.

    Receives for exactly one key are indexed by it, so that thousands of jobs may each wait for their own answer.
    """

    __slots__ = ("_last", "_lines")

    def __init__(self) -> None:
        self._last = 0
        self._lines: dict[bytes | None, SortedDict[tuple[int, int], Waiter]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __bool__(self) -> bool:
        return bool(self._lines)

    def __iter__(self) -> Iterator[Waiter]:
        """All waiters, in the order in which they are served."""
        return self._in_turn(*self._lines)

    def _in_turn(self, *lines: bytes | None) -> Iterator[Waiter]:
        return (waiter for _, waiter in merge(*(self._lines[line].items() for line in lines if line in self._lines)))

    def add(self, waiter: Waiter) -> None:
        """Add a waiter after the others of its priority."""
        self._last += 1
        waiter.place = (waiter.job.run_priority, self._last)
        self._lines.setdefault(waiter.line, SortedDict())[waiter.place] = waiter

    def move(self, waiter: Waiter) -> None:
        """Move a waiter to the place for its job's new run priority, in order of arrival there."""
        place = waiter.job.run_priority, waiter.place[1]
        line = self._lines[waiter.line]
        del line[waiter.place]
        waiter.place = place
        line[place] = waiter

    def discard(self, waiter: Waiter) -> bool:
        """Remove a waiter; False when it was not there."""
        line = self._lines.get(waiter.line, {})
        there = line.pop(waiter.place, None) is waiter
        if not line:
            self._lines.pop(waiter.line, None)
        return there

    def served_by(self, key: bytes) -> list[Waiter]:
        """The waiters that get a new entry: the first receive that removes it, and every peek before that one."""
        served = []
        for waiter in self._in_turn(None, key):
            if waiter.entry is None and waiter.wants(key):
                served.append(waiter)
                if waiter.remove:
                    break
        return served


def enter(waiter: Waiter) -> None:
    """Add a waiter to its queue."""
    waiter.queue.waiters.add(waiter)
    waiter.queue.bind()


def leave(waiter: Waiter) -> None:
    """Remove a waiter from its queue."""
    if waiter.queue.waiters.discard(waiter):
        waiter.queue.bind()


def serve(queue: DataQueue, entry: Entry) -> None:
    """Hand a new entry to the receives that wait for it."""
    for waiter in queue.waiters.served_by(entry.key):
        waiter.entry = entry
        leave(waiter)
        waiter.parked.wake_one()
        if waiter.remove:
            queue.promise(entry)
        if queue.trace is not None:
            note_receive(waiter.job, queue, entry, waiter.search, waiter.key, remove=waiter.remove, waited=True)


def give_back(waiter: Waiter) -> None:
    """Free an entry that a waiter could not use, so that the next waiter may get it."""
    entry, waiter.entry = waiter.entry, None
    if entry is None or not waiter.remove:
        return
    if not waiter.queue.deleted:
        waiter.queue.free(entry)
        waiter.job.note("GIVEBACK", waiter.queue, entry.data, entry.key)
        serve(waiter.queue, entry)


def asked(search: SearchOrder | None, key: bytes, *, remove: bool) -> dict[str, str]:
    """The criteria of a receive or a clear, for a history."""
    info: dict[str, str] = {} if search is None else {"key_order": search.name, "key": key.hex()}
    if not remove:
        info["remove"] = "*NO"
    return info


def note_receive(
    job: JobData, queue: DataQueue, received: Received | None, search: SearchOrder | None, key: bytes, *, remove: bool,
    waited: bool = False,
) -> None:  # fmt: skip
    """Record the result of a receive; None for no entry."""
    info: dict[str, object] = {**asked(search, key, remove=remove)}
    if waited:
        info["waited"] = True
    job.note("QRCVDTAQ", queue, *(() if received is None else received[:2]), **info)
