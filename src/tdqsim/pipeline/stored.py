"""The queues of a store by their names, whichever kind of store it is: looked at, written to, cut off behind a number.

A store of a region is opened without the region (:mod:`tdqsim.cics.queues.stored`); that of an IBM i system with the
system, whose sends obey every rule of QSNDDTAQ. Looking is harmless whoever has the store; everything else needs the
store for itself, and says which process has it. No other module of the queue sources knows how a store keeps queues.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Final, Literal, NamedTuple, Protocol, Self
from zlib import crc32

from tdqsim.cics import Condition
from tdqsim.cics.queues.stored import StoredRegion
from tdqsim.core.store import Entry, Environment, Order, Store, StoredQueue
from tdqsim.errors import DatasetError, StoreError, StoreInUse, StoreMissing
from tdqsim.ibmi import DataQueue, EscapeMessage, System

__all__ = ["Entry", "Kind", "Place", "Queue", "Stored", "check_free", "opened", "wanted"]

_BATCH: Final = 1000
_PAUSE: Final = 0.05

Kind = Literal["tdqueue", "dtaq"]

Place = tuple[str, bytes, bytes]
"""A record to be put: queue, key, data."""


class Queue(NamedTuple):
    """Where a queue stands.

    Attributes:
        name: of a region's queue as it is called, of a system's LIBRARY/NAME.
        first: the lowest number on it; of an empty queue the one after the last. Of a keyed queue 1: it lies by keys,
            so that its lowest number would take a walk to find.
        last: the last number ever given; a number is never given to another record while the queue lives.
        records: how many are on it.
        size: their bytes.
        order: FIFO, LIFO or KEYED.
        key_length: bytes of a key.
        recoverable: whether its records outlive a crash whatever happens.
        incarnation: another number when the queue was deleted or made anew, or is in another store; 0 before it is
            stored.
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


class Stored(Protocol):
    """What the pipeline does with the queues of a store."""

    @property
    def names(self) -> Collection[str]:
        """The queues that there are."""

    def queue(self, name: str) -> Queue:
        """Where a queue stands now."""

    def entries(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Entry]:
        """Its entries by number, whatever order it hands them out in: above ``after``, to ``upto``."""

    def half(self, name: str) -> str:
        """The half of the store that a queue's records are in: each has marks of its own, committed with records."""

    def mark(self, half: str, key: bytes) -> bytes | None:
        """What was put down under a key in a half of the store."""

    def put_mark(self, half: str, key: bytes, value: bytes) -> None:
        """Put something down with the next commit."""

    def check_writable(self, names: frozenset[str]) -> None:
        """Refuse queues that nothing can be put on now."""

    def plan(self, records: Iterator[tuple[str, int, int]]) -> Iterator[int]:
        """The numbers that records, by queue and lengths of key and data, will get; refuses those that do not fit."""

    def put(self, record: Place, seq: int) -> None:
        """Put one record on, under the number that was planned for it."""

    def take_after(self, name: str, seq: int) -> None:
        """Take off what has a number above ``seq``, of a write that could not be finished."""

    def take_through(self, name: str, seq: int) -> int:
        """Take off what has a number not above ``seq``; how many went."""

    def commit(self) -> None:
        """Make all changes permanent."""


class _Common:
    """What both kinds of store have in common."""

    _store: Store
    _queues: Mapping[str, StoredQueue]

    @property
    def names(self) -> Collection[str]:
        return self._queues.keys()

    def queue(self, name: str) -> Queue:
        found = self._queues[name]
        first = found.last_seq + 1 if not found.count else 1 if found.order is Order.KEYED else found.first_seq
        identity = 0
        if self._environment(name) in (self._store.durable, self._store.volatile):  # else it is not committed yet
            identity = crc32(found.incarnation.to_bytes(8, "big"), crc32(self._store.durable.state.store_id))
        return Queue(
            name, first, found.last_seq, found.count, found.data_bytes, found.order.name, found.key_length,
            self._recoverable(name), identity,
        )  # fmt: skip

    def entries(self, name: str, after: int = 0, upto: int | None = None) -> Iterator[Entry]:
        for entry in _ascending(self._queues[name], after):
            if upto is not None and entry.seq > upto:
                return
            yield entry

    def half(self, name: str) -> str:
        return "durable" if self._environment(name) is self._store.durable else "volatile"

    def mark(self, half: str, key: bytes) -> bytes | None:
        return self._half(half).get_meta(key)

    def put_mark(self, half: str, key: bytes, value: bytes) -> None:
        self._half(half).put_meta(key, value)

    def commit(self) -> None:
        self._store.durable.commit()
        self._store.volatile.commit()

    def _half(self, name: str) -> Environment:
        return self._store.durable if name == "durable" else self._store.volatile

    def _environment(self, name: str) -> Environment:
        raise NotImplementedError

    def _recoverable(self, name: str) -> bool:
        raise NotImplementedError


def _ascending(queue: StoredQueue, after: int) -> Iterator[Entry]:
    if queue.order is not Order.KEYED:
        yield from queue.entries(reverse=queue.order is Order.LIFO, after=after)
        return
    for seq, key in sorted((entry.seq, entry.key) for entry in queue.entries() if entry.seq > after):
        entry = queue.get(seq, key)
        if entry is not None:
            yield entry


class _Region(_Common):
    """A region's store."""

    def __init__(self, path: Path, *, readonly: bool, dfhintra: Mapping[str, int] | None) -> None:
        self._region = StoredRegion(path, readonly=readonly, dfhintra=dfhintra)
        self._path = path
        self._store = self._region.store
        self._queues = self._region.queues
        self._environment = self._region.half  # type: ignore[method-assign]
        self._recoverable = self._region.recoverable  # type: ignore[method-assign]
        self.take_after = self._region.take_after

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._region.forget_plan()
        self._region.close()

    def check_writable(self, names: frozenset[str]) -> None:
        self._check_settled(names)
        for name in sorted(names):
            if not self._region.sound and not self._region.recoverable(name):
                raise DatasetError(
                    f"{self._path}: the region did not end normally: queue {name}, which is not recoverable, will be "
                    "emptied by its next start, with what is written now; start and end the region first"
                )

    def _check_settled(self, names: frozenset[str]) -> None:
        doubtful = sorted(names & self._region.in_doubt())
        if doubtful:
            raise DatasetError(
                f"{self._path}: a unit of work in doubt has queue {', '.join(doubtful)}; resolve it in the region first"
            )

    def plan(self, records: Iterator[tuple[str, int, int]]) -> Iterator[int]:
        try:
            yield from self._region.plan((name, size) for name, _, size in records)
        except Condition as condition:
            raise DatasetError(f"{self._path}: {condition.name}: {condition.detail}; nothing was written") from None
        finally:
            self._region.forget_plan()

    def put(self, record: Place, seq: int) -> None:
        self._region.put(record[0], record[2], seq)

    def take_through(self, name: str, seq: int) -> int:
        self._check_settled(frozenset((name,)))
        return self._region.take_through(name, seq)


class _System(_Common):
    """A system's store; what is put is sent by a job, what is taken off is received by one."""

    def __init__(self, path: Path, *, readonly: bool) -> None:
        self._system = System(path=path, create=False, readonly=readonly)
        self._path = path
        self._found = {queue.qualified: queue for queue in self._system.queues() if not queue.ddm}
        self._store = self._system.store
        self._queues = {name: queue.stored for name, queue in self._found.items()}
        self._job = None if readonly else self._system.job("TDQSPARK", "QSECOFR")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._job is not None:
            self._job.end()
        self._system.close()

    def _environment(self, name: str) -> Environment:
        found = self._found[name].environment
        assert found is not None, name
        return found

    def _recoverable(self, name: str) -> bool:
        return self._found[name].attributes.force

    def check_writable(self, names: frozenset[str]) -> None:
        """Every queue takes entries; what does not fit is refused by the plan."""

    def plan(self, records: Iterator[tuple[str, int, int]]) -> Iterator[int]:
        last: dict[str, int] = {}
        for name, key_size, size in records:
            queue = self._found[name]
            self._check(queue, key_size, size)
            last[name] = seq = last.get(name, queue.stored.last_seq) + 1
            if seq - queue.stored.last_seq > queue.maximum - queue.stored.count:
                raise DatasetError(
                    f"{self._path}: {name} holds {queue.maximum} entries at most, {queue.stored.count} are on it; "
                    "nothing was written (CPF950A)"
                )
            yield seq

    def _check(self, queue: DataQueue, key_size: int, size: int) -> None:
        if key_size != queue.key_length:
            raise DatasetError(
                f"{self._path}: {queue.qualified}: a key has {key_size} bytes; it must have {queue.key_length} "
                "(CPF9506); nothing was written"
            )
        if not 0 < size <= queue.maxlen:
            raise DatasetError(
                f"{self._path}: {queue.qualified}: an entry has {size} bytes; allowed are 1 to {queue.maxlen} "
                "(CPF2498); nothing was written"
            )

    def put(self, record: Place, seq: int) -> None:
        name, key, data = record
        queue = self._found[name]
        assert self._job is not None
        try:
            self._job.qsnddtaq(queue.name, queue.library, data, key or None)
        except EscapeMessage as message:
            raise DatasetError(f"{self._path}: {name}: {message}") from message
        if queue.stored.last_seq != seq:
            raise StoreError(f"{self._path}: {name}: entry {seq} became {queue.stored.last_seq}")

    def take_after(self, name: str, seq: int) -> None:
        self._take(name, self.entries(name, seq))

    def take_through(self, name: str, seq: int) -> int:
        return self._take(name, self.entries(name, 0, seq))

    def _take(self, name: str, doomed: Iterator[Entry]) -> int:
        queue, system = self._found[name], self._system
        assert self._job is not None
        gone = 0
        while batch := list(islice(doomed, _BATCH)):
            for entry in batch:
                queue.stored.remove(entry.seq, entry.key)
                system.journals.received(self._job, queue, entry.key)
            gone += len(batch)
        if gone:
            queue.reclaim_if_empty(system.clock.time_ns())
        self._environment(name).commit()
        return gone


def opened(
    path: Path, kind: Kind, *, readonly: bool = True, dfhintra: Mapping[str, int] | None = None, wait: float = 0
) -> AbstractContextManager[Stored]:
    """The queues of a store, to be used in a ``with`` statement.

    Args:
        path: the store's directory.
        kind: whose it is.
        readonly: only look.
        dfhintra: of a region: its DFHINTRA, where it is not the usual one.
        wait: so many seconds for a process that has the store; streams have it for moments only.

    Raises:
        DatasetError: there is no store, or not of that kind.
        StoreInUse: a process has it, and it is not only looked at.
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
    """The queues of these names, or all when there is none.

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
        StoreInUse: one is; names it.
        DatasetError: there is no store.
    """
    with opened(path, kind, readonly=False):
        pass
