"""Temporary stores that are used again: to make two files and remove them costs more than most tests.

A store is emptied before it is used again, and what its region kept beside it (SYSOUT, jobs) is removed, so no test
finds anything of the one before. A store in which a fault was planned, or that has grown, is thrown away instead.
"""

from __future__ import annotations

from typing import Final, Self

from tdqsim.core.store import BorrowedStore, Durability, Store

__all__ = ["RecycledStores"]

_KEPT: Final = 8
_LARGEST: Final = 16 * 2**20


class RecycledStore(BorrowedStore):
    """A temporary store that goes back to its owner when its region closes."""

    def __init__(self, owner: RecycledStores, durability: Durability) -> None:
        super().__init__(durability)
        self._owner = owner

    def close(self, *, clean: bool = True) -> None:
        """Give it back, or close it when it cannot be used again."""
        if self._closed or not self._owner.give_back(self):
            super().close(clean=clean)


class RecycledStores:
    """Hands out temporary stores, for one thread of one process. Use it in a ``with`` statement, or close it."""

    def __init__(self) -> None:
        self._idle: list[RecycledStore] = []
        self._closed = False

    def take(self, durability: Durability = "process") -> Store:
        """An empty temporary store; ``close()`` gives it back."""
        if durability != "process" or not self._idle:
            return RecycledStore(self, durability)
        store = self._idle.pop()
        store.clear()
        store.tidy()
        return store

    def give_back(self, store: RecycledStore) -> bool:
        """Keep a store for the next user; False when it is not fit for that."""
        durable = store.durable
        if self._closed or len(self._idle) >= _KEPT or durable.fault is not None or store.volatile.overflowed:
            return False
        if durable.statistics()["reserved_bytes"] > _LARGEST:
            return False
        self._idle.append(store)
        return True

    def close(self) -> None:
        """Remove all that are here; those that are out are removed by their users."""
        self._closed = True
        while self._idle:
            self._idle.pop().end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
