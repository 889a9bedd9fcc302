"""The queues of a store by name, for both kinds of store: read them, write to them, and remove records up to a number.

A region's store is opened without the region (:mod:`tdqsim.cics.queues.stored`); an IBM i system's store together with
the system, so that sends obey every rule of QSNDDTAQ. Reading is safe while another process has the store; everything
else needs the store for itself, and the error names the process that has it. No other module of the queue sources
depends on how a store keeps queues.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import Final, Literal, NamedTuple, Self
from zlib import crc32

from tdqsim.cics import Condition
from tdqsim.cics.queues.stored import StoredRegion
from tdqsim.core.store import Entry, Store
from tdqsim.errors import DatasetError, StoreInUse, StoreMissing
from tdqsim.ibmi import DataQueue, EscapeMessage, System, take_entries

__all__ = ["Kind", "Numbered", "Place", "Queue", "Stored", "check_free", "opened", "wanted"]

_PAUSE: Final = 0.05

Kind = Literal["tdqueue", "dtaq"]

Place = tuple[str, bytes, bytes]
"""A record to be put: queue, key, data."""


class Queue(NamedTuple):
    """The current state of a queue.

    Attributes:
        name: the name of a region's queue; LIBRARY/NAME of a system's queue.
        first: the lowest number on it; for an empty queue, the number after the last. For a keyed queue it is 1,
            because finding the lowest number would need a pass over its keys.
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


class Numbered(NamedTuple):
    """An entry of a queue with its number.

    Attributes:
        seq: its number.
        time_ns: when it was put, for an IBM i queue.
        key, sender, data: its contents.
    """

    seq: int
    time_ns: int
    key: bytes
    sender: bytes
    data: bytes


def _identity(store: Store, number: int) -> int:
    """A number that identifies a queue among all others; 0 as long as nothing of it is stored."""
    return crc32(number.to_bytes(8, "big"), crc32(store.store_id)) if number else 0


class _Region:
    """A region's store; that of a system has the same methods."""

    def __init__(self, path: Path, *, readonly: bool, dfhintra: Mapping[str, int] | None) -> None:
        self._region = StoredRegion(path, readonly=readonly, dfhintra=dfhintra)
        self._path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._region.close()

    @property
    def names(self) -> Collection[str]:
        """The names of the queues."""
        return self._region.queues.keys()

    def queue(self, name: str) -> Queue:
        """The current state of a queue."""
        queue = self._region.queues[name]
        now = queue.now
        return Queue(
            name, now.first if now.count else now.last + 1, now.last, now.count, now.data_bytes, queue.order.name,
            queue.key_length, self._region.recoverable(name), _identity(self._region.store, now.number),
        )  # fmt: skip

    def entries(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Numbered]:
        """The entries with numbers above ``after`` and up to ``upto``, by number, whatever the order of the queue."""
        queue = self._region.queues[name]
        first = max(queue.now.first, after + 1)
        limit = None if upto is None else max(0, upto - first + 1)
        for seq, entry in enumerate(queue.entries(skip=first - queue.now.first, limit=limit), first):
            yield Numbered(seq, entry.time_ns, entry.key, entry.sender, entry.data)

    def half(self, name: str) -> str:
        """The half of the store that holds a queue's records; each half has marks, committed with the records."""
        return "durable" if self._region.recoverable(name) else "volatile"

    def mark(self, half: str, key: bytes) -> bytes | None:
        """The value stored under a key in a half of the store."""
        store = self._region.store
        return (store.durable if half == "durable" else store.volatile.disk).get_meta(key)

    def check_writable(self, names: frozenset[str]) -> None:
        """Refuse queues that currently accept no records."""
        self._check_settled(names)
        for name in sorted(names):
            if not self._region.sound and not self._region.recoverable(name):
                raise DatasetError(
                    f"{self._path}: the region did not end normally: queue {name}, which is not recoverable, will be "
                    "emptied by its next start, and so would records written now; start and end the region first"
                )

    def _check_settled(self, names: frozenset[str]) -> None:
        doubtful = sorted(names & self._region.in_doubt())
        if doubtful:
            raise DatasetError(
                f"{self._path}: a unit of work in doubt has queue {', '.join(doubtful)}; resolve it in the region first"
            )

    def check(self, records: Iterator[tuple[str, int, int]]) -> int:
        """Refuse records, given by queue and lengths of key and data, if not all fit; returns how many there are."""
        sizes: dict[str, array[int]] = {}
        number = 0
        try:
            for name, _key, size in records:
                number += 1  # the number of this record, for the message
                self._region.check(size)
                sizes.setdefault(name, array("H")).append(size)
        except Condition as condition:
            raise self._refused(condition, f"record {number} of the write: ") from None
        try:
            self._region.check_room(sizes)
        except Condition as condition:
            raise self._refused(condition, "") from None
        return number

    def put_mark(self, half: str, key: bytes, value: bytes) -> None:
        """Store a value under a key, with the next commit."""
        self._region.note(half, key, value)

    def commit(self) -> None:
        """Make all changes permanent; marks before records, where one commit cannot contain both."""
        self._region.commit()

    def forget(self) -> None:
        """Discard what was not committed."""
        self._region.forget()

    def _refused(self, condition: Condition, which: str) -> DatasetError:
        return DatasetError(f"{which}{self._path}: {condition.name}: {condition.detail}; nothing was written")

    def put(self, record: Place) -> None:
        """Put one record on; it becomes permanent with the next commit at the latest."""
        self._region.put(record[0], record[2])

    def put_since(self, name: str, before: int) -> int:
        """How many records interrupted writes put on after the record with the number ``before``."""
        return max(0, self._region.queues[name].now.last - before)

    def take_through(self, name: str, seq: int) -> int:
        """Take off the records with numbers up to ``seq``, with the next commit at the latest; returns how many."""
        self._check_settled(frozenset((name,)))
        return self._region.take_through(name, seq)


class _System:
    """A system's store; a job sends the records. The number of an entry is the time of its enqueue."""

    def __init__(self, path: Path, *, readonly: bool) -> None:
        self._system = System(path=path, create=False, readonly=readonly)
        self._path = path
        self._queues = {queue.qualified: queue for queue in self._system.queues() if not queue.ddm}
        self._job = None if readonly else self._system.job("TDQSPARK", "QSECOFR")
        self._places: list[Place] = []
        self._marks: dict[bytes, bytes | None] = {}

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
        keyed = queue.keyed
        last = max((entry.time_ns for entry in held.entries()), default=0) if keyed else queue.stamp
        first = 1 if keyed and held.count else next((entry.seq for entry in self.entries(name)), last + 1)
        return Queue(
            name, first, last, held.count, held.text_bytes, queue.attributes.seq.removeprefix("*"),
            queue.key_length, queue.attributes.force, _identity(self._system.store, queue.number),
        )  # fmt: skip

    def entries(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Numbered]:
        queue = self._queues[name]
        if queue.keyed:
            walk = iter(sorted(queue.stored.entries(), key=lambda entry: entry.time_ns))
        else:
            walk = queue.stored.entries(reverse=queue.attributes.seq == "*LIFO")
        for entry in walk:
            if entry.time_ns <= after:
                continue
            if upto is not None and entry.time_ns > upto:
                return
            yield Numbered(entry.time_ns, entry.time_ns, entry.key, entry.sender, entry.data)

    def half(self, name: str) -> str:
        return "durable" if self._queues[name].attributes.force else "volatile"

    def mark(self, half: str, key: bytes) -> bytes | None:
        return self._system.store.durable.get_meta(key + b"@" + half.encode())

    def put_mark(self, half: str, key: bytes, value: bytes) -> None:
        self._marks[key + b"@" + half.encode()] = value

    def check_writable(self, names: frozenset[str]) -> None:
        """Nothing to refuse: every queue accepts entries, and :meth:`check` refuses those that do not fit."""

    def check(self, records: Iterator[tuple[str, int, int]]) -> int:
        more: Counter[str] = Counter()
        number = 0
        for number, (name, key_size, size) in enumerate(records, 1):
            queue = self._queues[name]
            self._check(queue, key_size, size, number)
            more[name] += 1
            if more[name] > queue.maximum - queue.stored.count:
                raise DatasetError(
                    f"record {number} of the write: {self._path}: {name} holds {queue.maximum} entries at most, "
                    f"{queue.stored.count} are on it; nothing was written (CPF950A)"
                )
        return number

    def _check(self, queue: DataQueue, key_size: int, size: int, number: int) -> None:
        where = f"record {number} of the write: {self._path}: {queue.qualified}"
        if key_size != queue.key_length:
            raise DatasetError(
                f"{where}: a key has {key_size} bytes; it must have {queue.key_length} (CPF9506); nothing was written"
            )
        if not 0 < size <= queue.maxlen:
            raise DatasetError(
                f"{where}: an entry has {size} bytes; allowed are 1 to {queue.maxlen} (CPF2498); nothing was written"
            )

    def put(self, record: Place) -> None:
        self._places.append(record)

    def take_through(self, name: str, seq: int) -> int:
        assert self._job is not None
        entries = [Entry(one.data, one.key, one.sender, one.seq) for one in self.entries(name, 0, seq)]
        return take_entries(self._job, self._queues[name], entries)

    def put_since(self, name: str, before: int) -> int:
        return sum(1 for _ in self.entries(name, before))

    def commit(self) -> None:
        assert self._job is not None
        if self._marks:
            self._system.store.durable.commit((), self._marks)
        for name, key, data in self._places:
            queue = self._queues[name]
            try:
                self._job.qsnddtaq(queue.name, queue.library, data, key or None)
            except EscapeMessage as message:
                raise DatasetError(f"{self._path}: {name}: {message}") from message
        self.forget()

    def forget(self) -> None:
        self._places, self._marks = [], {}


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
            return _open(path, kind, readonly=readonly, dfhintra=dfhintra)
        except StoreInUse:
            if not left:
                raise
            Event().wait(_PAUSE)
    raise AssertionError(wait)


def _open(
    path: Path, kind: Kind, *, readonly: bool, dfhintra: Mapping[str, int] | None
) -> AbstractContextManager[Stored]:
    try:
        if kind == "tdqueue":
            return _Region(path, readonly=readonly, dfhintra=dfhintra)
        return _System(path, readonly=readonly)
    except StoreMissing as error:
        raise DatasetError(f"{path}: there is no store in it; give the directory that --store named") from error


def wanted(stored: Stored, names: Iterable[str], path: Path) -> list[Queue]:
    """The queues with these names, or all queues when no name is given.

    Raises:
        DatasetError: there is no such queue.
    """
    chosen = [name if name in stored.names else name.upper() for name in names] or sorted(stored.names)
    for name in chosen:
        if name not in stored.names:
            raise DatasetError(
                f"{path}: there is no queue {name}; there are {', '.join(sorted(stored.names)) or 'none'}"
            )
    return [stored.queue(name) for name in dict.fromkeys(chosen)]


def check_free(path: Path, kind: Kind) -> None:
    """Refuse a store that a process is using.

    Raises:
        StoreInUse: a process is using it; the message names it.
        DatasetError: there is no store.
    """
    with opened(path, kind, readonly=False):
        pass
