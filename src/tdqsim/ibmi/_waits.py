"""Receives that wait for an entry: who gets the next one.

A send hands its entry to a waiting receive at once, as the machine's enqueue does: the waiter with the highest run
priority (lowest RUNPTY), first come first within a priority, whose key criteria the entry satisfies. A waiting peek is
served too and leaves the entry for the next. So the order in which jobs run decides nothing, and an entry is never
given twice. The entry stays in the store, promised, until the job runs; one whose job ends before is free again, in its
old place.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping
from operator import attrgetter, eq, ge, gt, le, lt, ne
from types import MappingProxyType
from typing import Any

from tdqsim.core.dispatch import WAIT, WaitQueue
from tdqsim.core.store import Entry, SearchOrder
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi._who import Who

__all__ = ["SATISFIES", "Waiter", "asked", "enter", "give_back", "leave", "note_receive", "serve"]

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
    """

    __slots__ = ("entry", "job", "key", "parked", "queue", "remove", "search")

    def __init__(self, job: Who, queue: DataQueue, search: SearchOrder | None, key: bytes, *, remove: bool) -> None:
        self.job = job
        self.queue = queue
        self.search = search
        self.key = key
        self.remove = remove
        self.entry: Entry | None = None
        self.parked = WaitQueue(f"an entry of data queue {queue.qualified} ({job.qualified_name})")

    @property
    def priority(self) -> int:
        """The run priority of its job; the lowest number goes first."""
        return self.job.run_priority

    def wants(self, key: bytes) -> bool:
        """Whether an entry with this key ends the wait."""
        return self.search is None or SATISFIES[self.search](key, self.key)

    def attempt(self) -> Any:
        """The entry, WAIT, or None when the queue is no more."""
        self.job.check_usable()
        if self.entry is not None:
            return self.entry
        return None if self.queue.gone else WAIT


def enter(waiter: Waiter) -> None:
    """Put a waiter in its place in front of the queue."""
    insort(waiter.queue.waiters, waiter, key=attrgetter("priority"))
    waiter.queue.settle()


def leave(waiter: Waiter) -> None:
    """Take a waiter away."""
    if waiter in waiter.queue.waiters:
        waiter.queue.waiters.remove(waiter)
        waiter.queue.settle()


def serve(queue: DataQueue, entry: Entry) -> None:
    """Hand a new entry to those who wait for it: to every peek before the receive that takes it."""
    for waiter in tuple(queue.waiters):
        if waiter.entry is not None or not waiter.wants(entry.key):
            continue
        waiter.entry = entry
        leave(waiter)
        waiter.parked.wake_one()
        if waiter.remove:
            queue.promise(entry)
        if queue.trace is not None:
            note_receive(waiter.job, queue, entry, waiter.search, waiter.key, remove=waiter.remove, waited=True)
        if waiter.remove:
            return


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
