"""A region's intrapartition queues on its store, for tools that move records in bulk while the region does not run.

What a region does beside keeping records does not happen here: no task, no unit of work, no trigger, no statistics. It
is as if the records had been there when the region ended. So how that run ended stays known: a store that was closed
cleanly is clean again afterwards, also when the tool was killed and comes back before the region does.

Of a region that does not run all records are on the disk: recoverable queues in the durable half of the store, the
others where they were written out to. Both are the same kind of queue there, with numbers that are never used twice.
What is put and taken gathers until :meth:`StoredRegion.commit`, which makes it permanent, one commit a half. Of a
region that runs, or was killed, the records of non-recoverable queues were in its memory: they cannot be seen.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tdqsim import definitions as defs
from tdqsim.cics.model.space import NEVER, NO_BOUNDS, IntraSpace, check_size
from tdqsim.cics.region_arguments import dfhintra as sizes
from tdqsim.core.store import Durable, DurableQueue, Order, Store, Work
from tdqsim.core.store.keeper import claim
from tdqsim.errors import StoreDamaged, StoreError

__all__ = ["StoredRegion"]

_KEEPER: Final = "a CICS region"
_CATALOGUE: Final = b"cat/TDQUEUE/"
_UNITS: Final = b"uow/"
_CLEAN: Final = b"stream/clean"
"""With the non-recoverable queues, which an emergency restart throws away: the region's own run had ended normally."""


class _Account:
    """What :class:`~tdqsim.cics.model.space.IntraSpace` has to know of a queue that nobody is writing to."""

    __slots__ = ("bounds", "ci_left", "free_at", "peak", "peak_cis", "stored")

    uncommitted = None

    def __init__(self, stored: DurableQueue) -> None:
        self.stored = stored
        self.bounds: deque[int] = NO_BOUNDS
        self.ci_left, self.free_at, self.peak, self.peak_cis = -1, NEVER, 0, 0

    @property
    def gone(self) -> int:
        """The number before that of the first record."""
        return self.stored.now.first - 1


class StoredRegion:
    """The queues of a store.

    Args:
        path: the store's directory.
        readonly: only look, at the last commit of the process that writes the store.
        dfhintra: the region's own (see :class:`~tdqsim.cics.region.Region`), which the store does not tell.

    Attributes:
        store: the store.
        queues: the stored queues by name.
        sound: whether the region's last run ended normally, so that its next start is a warm one.

    Raises:
        StoreInUse: a process has the store, and it is not only looked at.
        StoreError: it cannot be used, or is not the store of a region.
    """

    def __init__(self, path: Path, *, readonly: bool = False, dfhintra: Mapping[str, int] | None = None) -> None:
        size = sizes(dfhintra or {})
        self.store = Store(path, create=False, readonly=readonly)
        self._readonly = readonly
        self._works: dict[str, Work] = {}
        self._meta: dict[str, dict[bytes, bytes | None]] = {"durable": {}, "volatile": {}}
        try:
            claim(self.store, _KEEPER, readonly=True)
            self._volatile = self.store.volatile.disk if not readonly or self.store.volatile.overflowed else None
            self.sound = self.store.closed_clean or self._marked_clean()
            if readonly and not self.sound:
                self._volatile = None
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
        half = self.half(name)
        found = half.queue(key) if half is not None else None
        if found is not None:
            return found
        if self._readonly or half is None:
            return DurableQueue(self.store.durable, key, Order.FIFO, 0)
        return half.create_queue(key)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the store as the region's own run had left it; what was not committed is forgotten."""
        if not self._readonly and self.sound and self._volatile is not None:
            self._volatile.commit((), {_CLEAN: None})
        self.store.close(clean=self.sound)

    def half(self, name: str) -> Durable | None:
        """Where a queue's records are; None when they cannot be seen."""
        return self.store.durable if self._recoverable[name] else self._volatile

    def recoverable(self, name: str) -> bool:
        """Whether a queue's records outlive an emergency restart."""
        return self._recoverable[name]

    @property
    def longest(self) -> int:
        """The longest record, in bytes."""
        return self._space.longest

    def in_doubt(self) -> frozenset[str]:
        """The queues that a unit of work in doubt has changed or locked: they are not for others until it is decided.

        Raises:
            StoreError: its record on the store cannot be read.
        """
        found: set[str] = set()
        for key, value in self.store.durable.metas(_UNITS):
            try:
                head: Any = json.loads(value[4 : 4 + int.from_bytes(value[:4], "big")])
                found |= {part["name"] for part in head["queues"]} | {name for name, _ in head["locks"]}
            except (ValueError, KeyError, TypeError) as error:
                raise StoreError(f"{self.store.path}: the unit of work {key!r} cannot be read: {error}") from error
        return frozenset(found)

    # -- changing -------------------------------------------------------------------------------------------------

    def check(self, size: int) -> None:
        """Whether a record of this length is one for an intrapartition queue.

        Raises:
            Condition: LENGERR.
        """
        check_size(self.longest, size)

    def check_room(self, records: Mapping[str, Iterable[int]]) -> None:
        """Whether DFHINTRA has room for records of these lengths, by queue, behind all that is there.

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
        found = self._works.get(name)
        if found is None:
            found = self._works[name] = self.queues[name].work()
        return found

    def put(self, name: str, data: bytes) -> None:
        """Put one record on, with the next commit."""
        self._work(name).put(data)

    def note(self, half: str, key: bytes, value: bytes) -> None:
        """Put something down in a half of the store, ``durable`` or ``volatile``, with the next commit."""
        self._meta[half][key] = value

    def forget(self) -> None:
        """What was put or noted and not committed is forgotten."""
        self._works.clear()
        for noted in self._meta.values():
            noted.clear()

    def take_through(self, name: str, seq: int) -> int:
        """Take off the records with numbers not above ``seq``, with the next commit; how many.

        Their numbers are not given again.
        """
        work, now = self._work(name), self.queues[name].now
        gone = max(0, min(seq, now.last) - now.first + 1)
        for _ in range(gone):
            work.take()
        return gone

    def commit(self) -> None:
        """Make everything permanent, one commit a half.

        Raises:
            StoreError: the store did not take it.
        """
        for half, durable in (("durable", self.store.durable), ("volatile", self._volatile)):
            works = [work for name, work in self._works.items() if self.half(name) is durable and work.changed]
            if durable is not None and (works or self._meta[half]):
                durable.commit(works, dict(self._meta[half]))
        self.forget()
