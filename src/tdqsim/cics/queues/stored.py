"""A region's intrapartition queues on its store, for tools that move records in bulk while the region does not run.

What a region does beside keeping records does not happen here: no task, no unit of work, no trigger, no statistics. It
is as if the records had been there when the region ended. So how that run ended stays known: a store that was closed
cleanly is clean again afterwards, also when the tool was killed and comes back before the region does.

What is put on and taken off recoverable queues gathers until :meth:`StoredRegion.commit`, which makes all of it
permanent with whatever the tool notes beside it, or nothing. Non-recoverable queues change at once, and are on the disk
when the store is closed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.queues.intra import check_size
from tdqsim.cics.region_arguments import dfhintra as dfhintra_sizes
from tdqsim.core.store import Store
from tdqsim.core.store.keeper import claim
from tdqsim.errors import StoreError
from tdqsim.facts import LIMITS, Resp

__all__ = ["StoredRegion"]

_KEEPER: Final = "a CICS region"
_UNITS: Final = b"uow/"
_CLEAN: Final = b"stream/clean"
"""While a tool has the store: the region's own run had ended normally."""


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
        longest: the longest record, in bytes.

    Raises:
        StoreInUse: a process has the store, and it is not only looked at.
        StoreError: it cannot be used, or is not the store of a region.
    """

    def __init__(self, path: Path, *, readonly: bool = False, dfhintra: Mapping[str, int] | None = None) -> None:
        ci_size, control_intervals = dfhintra_sizes(dfhintra or {})
        self.longest = ci_size - LIMITS["ci_overhead"]
        self._capacity = control_intervals - 1
        self.store = Store(path, create=False, readonly=readonly)
        self._readonly = readonly
        self._works: dict[str, Any] = {}
        self._meta: dict[bytes, bytes | None] = {}
        try:
            claim(self.store, _KEEPER, readonly=True)
            self.sound = self.store.closed_clean or self.store.durable.get_meta(_CLEAN) is not None
            if self.sound and not readonly:
                self.store.durable.commit((), {_CLEAN: b""})
            halves: tuple[Any, ...] = (self.store.volatile, self.store.durable)
            self.queues = {queue.name.decode(): queue for half in halves for queue in half.queues()}
        except BaseException:
            self.store.close(clean=False)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(commit=kind is None)

    def close(self, *, commit: bool = True) -> None:
        """Commit, and leave the store as the region's own run had left it."""
        try:
            if not self._readonly:
                if self.sound:
                    self._meta[_CLEAN] = None
                if commit:
                    self.commit()
        finally:
            self.store.close(clean=self.sound)

    def recoverable(self, name: str) -> bool:
        """Whether a queue's records outlive an emergency restart."""
        return self.store.durable.queue(self.queues[name].name) is not None

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

    def check(self, records: Iterable[tuple[str, int]]) -> None:
        """Whether records, given by queue and length, fit into DFHINTRA behind those that are there.

        Raises:
            Condition: LENGERR; NOSPACE: DFHINTRA has no room for all of them.
        """
        used = sum(-(-queue.data_bytes // self.longest) for queue in self.queues.values() if queue.count)
        left: dict[str, int] = {}
        for name, size in records:
            check_size(self.longest, size)
            if size > left.get(name, 0):
                left[name], used = self.longest, used + 1
                if used > self._capacity:
                    raise Condition(
                        Resp.NOSPACE, detail=f"all {self._capacity} control intervals of DFHINTRA are in use"
                    )
            left[name] -= size

    def _work(self, name: str) -> Any:
        if name not in self._works:
            self._works[name] = self.queues[name].work()
        return self._works[name]

    def put(self, name: str, data: bytes) -> None:
        """Put one record on."""
        if self.recoverable(name):
            self._work(name).put(data)
        else:
            self.queues[name].put(data)

    def take(self, name: str, count: int) -> int:
        """Take records off the head; how many went."""
        take = self._work(name).take if self.recoverable(name) else self.queues[name].take
        gone = 0
        while gone < count and take() is not None:
            gone += 1
        return gone

    def note(self, key: bytes, value: bytes | None) -> None:
        """Have something put down with the next commit."""
        self._meta[key] = value

    def commit(self) -> None:
        """Make all changes permanent."""
        works, self._works = self._works, {}
        meta, self._meta = self._meta, {}
        self.store.durable.commit(list(works.values()), meta)
