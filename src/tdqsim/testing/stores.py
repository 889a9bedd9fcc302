"""Temporary stores that are reused: making and removing two files takes longer than most tests.

A store is emptied before it is reused, and files that its region kept in the same directory (SYSOUT, jobs) are removed,
so a test sees nothing of the previous one. A store with planned faults, or that has grown, is discarded instead.
"""

from __future__ import annotations

from typing import Final, Self

from tdqsim.core.store import BorrowedStore, Durability, Store

_KEPT: Final = 8
_LARGEST: Final = 16 * 2**20


class RecycledStore(BorrowedStore):
    """A temporary store that is returned for reuse when its region closes."""

    def __init__(self, owner: RecycledStores, durability: Durability) -> None:
        super().__init__(durability)
        self._owner = owner

    def close(self, *, clean: bool = True) -> None:
        """Return the store for reuse, or close it if it cannot be reused."""
        if self._closed or not self._owner.give_back(self):
            super().close(clean=clean)


class RecycledStores:
    """Provides temporary stores, to one thread of one process. Use it in a ``with`` statement, or close it."""

    def __init__(self) -> None:
        self._idle: list[RecycledStore] = []
        self._closed = False

    def take(self, durability: Durability = "process") -> Store:
        """An empty temporary store; its ``close()`` returns it for reuse."""
        if durability != "process" or not self._idle:
            return RecycledStore(self, durability)
        store = self._idle.pop()
        store.clear()
        store.tidy()
        return store

    def give_back(self, store: RecycledStore) -> bool:
        """Keep a store for reuse; False if it cannot be reused."""
        durable = store.durable
        if self._closed or len(self._idle) >= _KEPT or durable.fault is not None or store.volatile.overflowed:
            return False
        if durable.statistics()["reserved_bytes"] > _LARGEST:
            return False
        self._idle.append(store)
        return True

    def close(self) -> None:
        """Remove the stores that are not in use; the others are removed when they are closed."""
        self._closed = True
        while self._idle:
            self._idle.pop().end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
