"""A region's intrapartition queues on its store, for tools that move records in bulk while the region does not run.

Only records are moved here: there is no task, unit of work, trigger or statistics. The effect is as if the records had
been on the store when the region ended. The way in which the region's run ended stays recorded: a store that was closed
cleanly is marked clean again afterwards, even if the tool was killed and is run again before the region.

While a region does not run all its records are on disk: those of recoverable queues in the durable half of the store,
the others in the half to which they were written at the normal end. Both halves hold the same kind of queue, with
record numbers that are never used twice. Changes are collected until :meth:`StoredRegion.commit`, which makes one
commit for each half. If the region is running or was killed, the records of non-recoverable queues are or were in its
memory and cannot be read.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

from tdqsim import definitions as defs
from tdqsim.cics.model.space import NEVER, NO_BOUNDS, IntraSpace, check_size
from tdqsim.cics.region_arguments import dfhintra as sizes
from tdqsim.core.store import Durable, DurableQueue, Order, Store, Work
from tdqsim.core.store.keeper import claim
from tdqsim.errors import StoreDamaged, StoreError

_KEEPER: Final = "a CICS region"
_CATALOGUE: Final = b"cat/TDQUEUE/"
_UNITS: Final = b"uow/"
_CLEAN: Final = b"stream/clean"
"""A mark, in the half that an emergency restart discards, that the region's last run ended normally."""


class _Account:
    """The account that :class:`~tdqsim.cics.model.space.IntraSpace` needs, for a queue that no task writes."""

    __slots__ = ("bounds", "ci_left", "free_at", "peak", "peak_cis", "stored")

    uncommitted = None

    def __init__(self, stored: DurableQueue) -> None:
        self.stored = stored
        self.bounds: deque[int] = NO_BOUNDS
        self.ci_left, self.free_at, self.peak, self.peak_cis = -1, NEVER, 0, 0

    @property
    def gone(self) -> int:
        """The number of the last record that has left the queue."""
        return self.stored.now.first - 1


class StoredRegion:
    """The queues of a store.

    Args:
        path: the store's directory.
        readonly: only read, at the last commit of the process that writes the store.
        dfhintra: the argument of :class:`~tdqsim.cics.region.Region`, which the store does not record.

    Attributes:
        store: the store.
        queues: the stored queues by name.
        sound: whether the region's last run ended normally, so that its next start is a warm start.

    Raises:
        StoreInUse: another process writes the store, and ``readonly`` is False.
        StoreError: the store cannot be used, or does not belong to a region.
    """

    def __init__(self, path: Path, *, readonly: bool = False, dfhintra: Mapping[str, int] | None = None) -> None:
        size = sizes(dfhintra or {})
        self.store = Store(path, create=False, readonly=readonly)
        self._readonly = readonly
        self._works: dict[str, Work] = {}
        self._marks: dict[bool, dict[bytes, bytes | None]] = {True: {}, False: {}}
        try:
            claim(self.store, _KEEPER, readonly=True)
            self._volatile = self.store.volatile.disk if not readonly or self.store.volatile.overflowed else None
            self.sound = self.store.closed_clean or self._marked_clean()
            if readonly and not self.sound:
                self._volatile = None
            # The open store is marked as not closed; this mark records the clean end in case the tool is killed.
            if self.sound and self._volatile is not None and not readonly:
                self._volatile.commit((), {_CLEAN: b""})
            self._recoverable = dict(self._catalogue())
            self.queues = {name: self._queue(name) for name in self._recoverable}
            self._space = IntraSpace(*size)
        except BaseException:
            self.store.close(clean=False)
            raise

    def _marked_clean(self) -> bool:
        return self._volatile is not None and self._volatile.get_meta(_CLEAN) is not None

    def _catalogue(self) -> Iterator[tuple[str, bool]]:
        """The installed intrapartition queues, and whether each is recoverable."""
        for key, value in self.store.durable.metas(_CATALOGUE):
            try:
                record: Any = json.loads(value)
                if record["kind"] == "INTRA":
                    yield (
                        key[len(_CATALOGUE) :].decode(),
                        defs.IntraQueue.model_validate(record["fields"]).recovstatus != "NO",
                    )
            except (KeyError, TypeError, ValueError) as error:
                raise StoreDamaged(
                    f"{self.store.path}: the catalogue's entry {key!r} cannot be read: {error}"
                ) from error

    def _queue(self, name: str) -> DurableQueue:
        key = name.encode()
        file = self._file(self._recoverable[name])
        present = file.queue(key) if file is not None else None
        if present is not None:
            return present
        if self._readonly or file is None:  # an empty queue that is not written to the store
            return DurableQueue(self.store.durable, key, Order.FIFO, 0)
        return file.create_queue(key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store, marked as the region's run had left it; uncommitted changes are discarded."""
        if not self._readonly and self.sound and self._volatile is not None:
            self._volatile.commit((), {_CLEAN: None})
        self.store.close(clean=self.sound)

    def recoverable(self, name: str) -> bool:
        """Whether a queue's records survive an emergency restart; it determines the half of the store that has them."""
        return self._recoverable[name]

    def _file(self, recoverable: bool) -> Durable | None:
        """The file with a half of the store; None if its records cannot be read."""
        return self.store.durable if recoverable else self._volatile

    def mark(self, key: bytes, *, recoverable: bool) -> bytes | None:
        """The value stored under a key in a half of the store; each half has marks, committed with its records."""
        file = self._file(recoverable)
        return None if file is None else file.get_meta(key)

    def in_doubt(self) -> frozenset[str]:
        """The queues that an indoubt unit of work has changed or locked; they must not be changed until it is decided.

        Raises:
            StoreError: the record of a unit of work cannot be read.
        """
        names: set[str] = set()
        for key, value in self.store.durable.metas(_UNITS):
            try:
                head: Any = json.loads(value[4 : 4 + int.from_bytes(value[:4], "big")])
                names |= {part["name"] for part in head["queues"]} | {name for name, _ in head["locks"]}
            except (ValueError, KeyError, TypeError) as error:
                raise StoreError(f"{self.store.path}: the unit of work {key!r} cannot be read: {error}") from error
        return frozenset(names)

    # -- changing -------------------------------------------------------------------------------------------------

    def check_length(self, size: int) -> None:
        """Check that an intrapartition queue can hold a record of this length.

        Raises:
            Condition: LENGERR.
        """
        check_size(self._space.longest, size)

    def check_room(self, records: Mapping[str, Iterable[int]]) -> None:
        """Check that DFHINTRA has space for further records of these lengths, by queue.

        Raises:
            Condition: NOSPACE.
        """
        space = IntraSpace(self._space.ci_size, self._space.control_intervals)
        accounts = {name: _Account(queue) for name, queue in self.queues.items()}
        for account in accounts.values():
            space.open_queue(account)
        for name, lengths in records.items():
            account = accounts[name]
            before = space.in_use
            left = account.ci_left
            for size in lengths:
                if size > left:
                    space.in_use += 1
                    left = space.longest
                left -= size
            if space.in_use > before and space.in_use > space.capacity:
                raise space.full()

    def _work(self, name: str) -> Work:
        work = self._works.get(name)
        if work is None:
            work = self._works[name] = self.queues[name].work()
        return work

    def add(self, name: str, data: bytes) -> None:
        """Add a record to a queue with the next commit."""
        self._work(name).put(data)

    def put_mark(self, key: bytes, value: bytes, *, recoverable: bool) -> None:
        """Store a value under a key in a half of the store with the next commit."""
        self._marks[recoverable][key] = value

    def take_through(self, name: str, seq: int) -> int:
        """Remove the records with numbers up to ``seq`` with the next commit, and return how many there are.

        Their numbers are not reused.
        """
        work, now = self._work(name), self.queues[name].now
        gone = max(0, min(seq, now.last) - now.first + 1)
        for _ in range(gone):
            work.take()
        return gone

    def commit(self) -> None:
        """Write the collected changes: one commit for each half of the store.

        Raises:
            StoreError: the store refused a commit.
        """
        for recoverable, marks in self._marks.items():
            file = self._file(recoverable)
            works = [
                work for name, work in self._works.items() if self._recoverable[name] == recoverable and work.changed
            ]
            if file is not None and (works or marks):
                file.commit(works, dict(marks))
            marks.clear()
        self._works.clear()
