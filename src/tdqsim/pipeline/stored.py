"""The queues of a store by name, for both kinds of store: read them, write to them, and remove records up to a number.

A region's store is opened without the region (:mod:`tdqsim.cics.queues.offline`); an IBM i system's store together with
the system, so that sends obey every rule of QSNDDTAQ. Reading is safe while another process has the store; everything
else needs the store for itself, and the error names the process that has it. No other module of the queue sources
depends on how a store keeps queues.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import takewhile
from pathlib import Path
from threading import Event
from typing import Final, Literal, NamedTuple, Self
from zlib import crc32

from tdqsim.cics import Condition
from tdqsim.errors import DatasetError, StoreInUse, StoreMissing
from tdqsim.hosting import Entry, JobInternals, StoredRegion
from tdqsim.ibmi import EscapeMessage, Journal, System

_PAUSE: Final = 0.05
_HALVES: Final = {True: b"@durable", False: b"@volatile"}
"""What ends the keys of the marks for recoverable queues of a system, and for the others."""

Kind = Literal["tdqueue", "dtaq"]

Place = tuple[str, bytes, bytes]
"""A record to be put: queue, key, data."""


class Queue(NamedTuple):
    """The current state of a queue.

    Attributes:
        name: the name of a region's queue; LIBRARY/NAME of a system's queue.
        first: the lowest number on it; for an empty queue, the number after the last.
        last: the last number given; a number is never given to another record while the queue exists.
        records: how many records are on it.
        size: their bytes.
        order: FIFO, LIFO or KEYED.
        key_length: bytes of a key.
        recoverable: whether its records survive every crash.
        incarnation: a number that changes when the queue is deleted or created again, and that differs between stores;
            0 before it is stored.
    """

    name: str
    first: int
    last: int
    records: int
    size: int
    order: str
    key_length: int
    recoverable: bool
    incarnation: int


def _identity(store_id: bytes, number: int) -> int:
    """A number that identifies a queue among all others; 0 as long as nothing of it is stored."""
    return crc32(number.to_bytes(8, "big"), crc32(store_id)) if number else 0


class _Region(StoredRegion):
    """A region's store; that of a system has the same attributes and methods."""

    journals: Mapping[str, Journal] = {}
    """The journals by name; a region has none."""

    @property
    def names(self) -> Collection[str]:
        """The names of the queues."""
        return self.queues.keys()

    def queue(self, name: str) -> Queue:
        """The current state of a queue."""
        queue = self.queues[name]
        now = queue.now
        return Queue(
            name, now.first if now.count else now.last + 1, now.last, now.count, now.data_bytes, queue.order.name,
            queue.key_length, self.recoverable(name), _identity(self.store.store_id, now.number),
        )  # fmt: skip

    def entries(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[tuple[int, Entry]]:
        """The entries with numbers above ``after`` and up to ``upto``, by number, whatever the order of the queue."""
        queue = self.queues[name]
        first = max(queue.now.first, after + 1)
        limit = None if upto is None else max(0, upto - first + 1)
        return enumerate(queue.entries(skip=first - queue.now.first, limit=limit), first)

    def check_writable(self, names: frozenset[str]) -> None:
        """Refuse queues that currently accept no records."""
        self._check_settled(names)
        for name in sorted(names):
            if not self.sound and not self.recoverable(name):
                raise DatasetError(
                    f"{self.store.path}: the region did not end normally: queue {name}, which is not recoverable, will "
                    "be emptied by its next start, and so would records written now; start and end the region first"
                )

    def _check_settled(self, names: frozenset[str]) -> None:
        doubtful = sorted(names & self.in_doubt())
        if doubtful:
            raise DatasetError(
                f"{self.store.path}: a unit of work in doubt has queue {', '.join(doubtful)}; resolve it in the region "
                "first"
            )

    def check(self, records: Iterator[Place]) -> int:
        """Refuse records if not all fit; returns how many there are."""
        sizes: defaultdict[str, array[int]] = defaultdict(lambda: array("H"))
        try:
            for name, _key, data in records:
                self.check_length(len(data))
                sizes[name].append(len(data))
            self.check_room(sizes)
        except Condition as condition:
            number = sum(map(len, sizes.values())) + 1
            which = "" if condition.name == "NOSPACE" else f"record {number} of the write: "
            raise DatasetError(
                f"{which}{self.store.path}: {condition.name}: {condition.detail}; nothing was written"
            ) from None
        return sum(map(len, sizes.values()))

    def put(self, name: str, _key: bytes, data: bytes) -> None:
        """Put one record on; it becomes permanent with the next commit at the latest."""
        self.add(name, data)

    def put_since(self, name: str, before: int) -> int:
        """How many records interrupted writes put on after the record with the number ``before``."""
        return max(0, self.queues[name].now.last - before)

    def take_through(self, name: str, seq: int) -> int:
        """Take off the records with numbers up to ``seq``, with the next commit at the latest; returns how many."""
        self._check_settled(frozenset((name,)))
        return super().take_through(name, seq)


class _System:
    """A system's store; a job sends the records. The number of an entry is the time of its enqueue."""

    def __init__(self, path: Path, *, readonly: bool) -> None:
        self._system = System(store=path, create=False, readonly=readonly)
        self._path = path
        self._queues = {queue.qualified: queue for queue in self._system.queues() if not queue.ddm}
        objects = (one for library in self._system.libraries.values() for one in library.objects.values())
        self.journals = {one.qualified: one for one in objects if isinstance(one, Journal)}
        self._job = None if readonly else self._system.job("TDQSPARK", "QSECOFR")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._job is not None:
            self._job.end()
        self._system.close()

    @property
    def names(self) -> Collection[str]:
        return self._queues.keys()

    def queue(self, name: str) -> Queue:
        queue = self._queues[name]
        held = queue.stored
        if queue.keyed:  # its entries are stored by key
            moments = [entry.time_ns for entry in held.entries()]
            first, last = min(moments, default=1), max(moments, default=0)
        else:
            last = queue.stamp
            first = next((seq for seq, _ in self.entries(name)), last + 1)
        return Queue(
            name, first, last, held.count, held.text_bytes, queue.attributes.seq.removeprefix("*"),
            queue.key_length, queue.forced, _identity(self._system.store.store_id, queue.number),
        )  # fmt: skip

    def entries(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[tuple[int, Entry]]:
        queue = self._queues[name]
        walk = queue.stored.entries(reverse=queue.attributes.seq == "*LIFO")
        if queue.keyed:
            walk = iter(sorted(walk, key=lambda entry: entry.time_ns))
        found = ((entry.time_ns, entry) for entry in walk if entry.time_ns > after)
        return found if upto is None else takewhile(lambda each: each[0] <= upto, found)

    def recoverable(self, name: str) -> bool:
        return self._queues[name].attributes.force

    def mark(self, key: bytes, *, recoverable: bool) -> bytes | None:
        return self._system.store.durable.get_meta(key + _HALVES[recoverable])

    def put_mark(self, key: bytes, value: bytes, *, recoverable: bool) -> None:
        self._system.store.durable.commit((), {key + _HALVES[recoverable]: value})

    def check_writable(self, names: frozenset[str]) -> None:
        """Nothing to refuse: every queue accepts entries, and :meth:`check` refuses those that do not fit."""

    def check(self, records: Iterator[Place]) -> int:
        more: Counter[str] = Counter()
        number = 0
        for number, (name, key, data) in enumerate(records, 1):
            queue, where = self._queues[name], f"record {number} of the write: {self._path}: {name}"
            if len(key) != queue.key_length:
                raise DatasetError(
                    f"{where}: a key has {len(key)} bytes; it must have {queue.key_length} (CPF9506); nothing was "
                    "written"
                )
            if not 0 < len(data) <= queue.maxlen:
                raise DatasetError(
                    f"{where}: an entry has {len(data)} bytes; allowed are 1 to {queue.maxlen} (CPF2498); nothing was "
                    "written"
                )
            more[name] += 1
            if more[name] > queue.maximum - queue.stored.count:
                raise DatasetError(
                    f"{where} holds {queue.maximum} entries at most, {queue.stored.count} are on it; nothing was "
                    "written (CPF950A)"
                )
        return number

    def put(self, name: str, key: bytes, data: bytes) -> None:
        assert self._job is not None
        queue = self._queues[name]
        try:
            self._job.qsnddtaq(queue.name, queue.library, data, key or None)
        except EscapeMessage as message:
            raise DatasetError(f"{self._path}: {name}: {message}") from message

    def put_since(self, name: str, before: int) -> int:
        return sum(1 for _ in self.entries(name, before))

    def take_through(self, name: str, seq: int) -> int:
        assert self._job is not None
        entries = [entry for _, entry in self.entries(name, 0, seq)]
        return JobInternals(self._job).take_entries(self._queues[name], entries)

    def commit(self) -> None:
        """Nothing to do: each change is made at once, marks before the entries that they describe."""


Stored = _Region | _System
"""What the pipeline does with the queues of a store, for both kinds of store."""


def opened(
    path: Path, kind: Kind, *, readonly: bool = True, dfhintra: Mapping[str, int] | None = None, wait: float = 0
) -> AbstractContextManager[Stored]:
    """The queues of a store, to be used in a ``with`` statement.

    Args:
        path: the store's directory.
        kind: the kind of owner.
        readonly: only read.
        dfhintra: for a region: its DFHINTRA, if it is not at the usual place.
        wait: how many seconds to wait while a process has the store; streams have it only briefly.

    Raises:
        DatasetError: there is no store of that kind.
        StoreInUse: a process has the store, and ``readonly`` is false.
    """
    if not path.is_dir():
        raise DatasetError(f"{path}: there is no store; give the directory that --store named")
    for left in range(int(wait / _PAUSE), -1, -1):
        try:
            if kind == "tdqueue":
                return _Region(path, readonly=readonly, dfhintra=dfhintra)
            return _System(path, readonly=readonly)
        except StoreMissing as error:
            raise DatasetError(f"{path}: there is no store in it; give the directory that --store named") from error
        except StoreInUse:
            if not left:
                raise
            Event().wait(_PAUSE)
    raise AssertionError(wait)


def wanted(stored: Stored, names: Iterable[str], path: Path) -> list[Queue]:
    """The queues with these names, or all queues when no name is given.

    Raises:
        DatasetError: there is no such queue.
    """
    return [stored.queue(name) for name in chosen(names, stored.names, f"{path}: there is no queue")]


def chosen(names: Iterable[str], present: Collection[str], problem: str) -> list[str]:
    """The present names that these stand for, in any case, each once; or all present names, sorted, for no name.

    Raises:
        DatasetError: a name is not present; the message begins with ``problem``.
    """
    found = [name if name in present else name.upper() for name in names] or sorted(present)
    for name in found:
        if name not in present:
            raise DatasetError(f"{problem} {name}; there are {', '.join(sorted(present)) or 'none'}")
    return list(dict.fromkeys(found))


def check_free(path: Path, kind: Kind) -> None:
    """Refuse a store that a process is using.

    Raises:
        StoreInUse: a process is using it; the message names it.
        DatasetError: there is no store.
    """
    with opened(path, kind, readonly=False):
        pass
