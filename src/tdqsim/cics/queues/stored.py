"""A region's intrapartition queues on its store, for tools that move records in bulk while the region does not run.

What a region does beside keeping records does not happen here: no task, no unit of work, no trigger, no statistics. It
is as if the records had been there when the region ended. So how that run ended stays known: a store that was closed
cleanly is clean again afterwards, also when the tool was killed and comes back before the region does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.queues.intra import IntraSpace
from tdqsim.cics.queues.kinds import IntraQueue
from tdqsim.cics.region_arguments import dfhintra as sizes
from tdqsim.core.store import Environment, Store, StoredQueue
from tdqsim.core.store.keeper import claim
from tdqsim.errors import StoreError
from tdqsim.facts import Resp

__all__ = ["StoredRegion"]

_KEEPER: Final = "a CICS region"
_UNITS: Final = b"uow/"
_CLEAN: Final = b"stream/clean"
"""In the volatile half, which an emergency restart empties: the region's own run had ended normally."""
_BATCH: Final = 1000


class _Tail:
    """What :class:`~tdqsim.cics.queues.intra.IntraSpace` has to know of a queue."""

    __slots__ = ("ci_left", "head_ci", "name", "peak_cis", "stored", "tail_ci", "uncommitted")

    def __init__(self, name: str, stored: StoredQueue) -> None:
        self.name, self.stored = name, stored
        self.head_ci = self.tail_ci = self.peak_cis = 0
        self.ci_left = -1
        self.uncommitted = False


class StoredRegion:
    """The queues of a store.

    Args:
        path: the store's directory.
        readonly: only look, at the last commit of whoever writes the store.
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
        try:
            claim(self.store, _KEEPER, readonly=True)
            self.sound = self.store.closed_clean or self.store.volatile.get_meta(_CLEAN) is not None
            if self.sound and not readonly:
                self.store.volatile.put_meta(_CLEAN, b"", instead=True)
                self.store.volatile.commit()
            self.queues = {queue.name.decode(): queue for half in self._halves() for queue in half.queues()}
            self._tails: dict[str, _Tail] = {}
            self._space = IntraSpace(*size, lambda: cast("Iterable[IntraQueue]", self._tails.values()))
        except BaseException:
            self.store.close(clean=False)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Commit, and leave the store as the region's own run had left it."""
        if not self._readonly:
            if self.sound:
                self.store.volatile.delete_meta(_CLEAN)
            for half in self._halves():
                half.commit()
        self.store.close(clean=self.sound)

    def _halves(self) -> tuple[Environment, Environment]:
        return self.store.durable, self.store.volatile

    def half(self, name: str) -> Environment:
        """Where a queue's records are: the durable half when it is recoverable, else the volatile one."""
        stored = self.queues[name]
        return self.store.durable if self.store.durable.queue(stored.name) is not None else self.store.volatile

    def recoverable(self, name: str) -> bool:
        """Whether a queue's records outlive an emergency restart."""
        return self.half(name) is self.store.durable

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
        for key, value in self.store.durable.meta_items(_UNITS):
            try:
                head: Any = json.loads(value[4 : 4 + int.from_bytes(value[:4], "big")])
                found |= {part["name"] for part in head["queues"]} | {name for name, _ in head["locks"]}
            except (ValueError, KeyError, TypeError) as error:
                raise StoreError(f"{self.store.path}: the unit of work {key!r} cannot be read: {error}") from error
        return frozenset(found)

    # -- putting on -----------------------------------------------------------------------------------------------

    def plan(self, records: Iterable[tuple[str, int]]) -> Iterator[int]:
        """The sequence number that each of some records, given by queue and length, gets when they are put in order.

        Raises:
            Condition: LENGERR; NOSPACE: DFHINTRA has no room for all of them.
        """
        if not self._tails:
            self._open_tails()
        last: dict[str, int] = {}
        for name, size in records:
            if not 0 < size <= self.longest:
                raise Condition(Resp.LENGERR, detail=f"a record has {size} bytes; allowed are 1 to {self.longest}")
            tail = self._tails[name]
            before = last.get(name, tail.stored.last_seq)
            empty = name not in last and not tail.stored.count
            last[name] = self._space.place(cast("IntraQueue", tail), size, before, empty=empty)
            yield last[name]

    def _open_tails(self) -> None:
        for name, stored in self.queues.items():
            tail = self._tails[name] = _Tail(name, stored)
            self._space.open_queue(cast("IntraQueue", tail))

    def forget_plan(self) -> None:
        """What was planned was put, or will not be: plan from what is there."""
        self._tails.clear()
        self._space.in_use = 0

    def put(self, name: str, data: bytes, seq: int) -> None:
        """Put one record on, under the number that :meth:`plan` gave it."""
        self.queues[name].put(data, seq=seq)

    # -- taking off -----------------------------------------------------------------------------------------------

    def take_through(self, name: str, seq: int) -> int:
        """Take off the records with numbers not above ``seq``; how many went. Their numbers are not given again."""
        queue = self.queues[name]
        gone = 0
        while batch := [entry.seq for entry in queue.entries(limit=_BATCH) if entry.seq <= seq]:
            for number in batch:
                queue.remove(number)
            gone += len(batch)
        self.half(name).commit()
        return gone

    def take_after(self, name: str, seq: int) -> None:
        """Take off the records with numbers above ``seq``: those of a write that could not be finished."""
        queue = self.queues[name]
        while batch := [entry.seq for entry in queue.entries(reverse=True, limit=_BATCH) if entry.seq > seq]:
            for number in batch:
                queue.remove(number)
