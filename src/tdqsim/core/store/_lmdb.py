"""The part of LMDB's interface that the store uses, with keys and values of type bytes.

In the type hints of the package lmdb every key and value may also be a memoryview, but it returns those only with
``buffers=True``, which the store does not use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol


class StoreCursor(Protocol):
    """A position among the entries of a transaction, in key order."""

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]: ...

    def set_range(self, key: bytes, /) -> bool:
        """Go to the first entry with this key or a greater one; False when there is none."""

    def prev(self) -> bool:
        """Go to the previous entry; False when there is none."""

    def key(self) -> bytes:
        """The key of the current entry."""

    def value(self) -> bytes:
        """The value of the current entry."""

    def item(self) -> tuple[bytes, bytes]:
        """The key and the value of the current entry."""

    def delete(self) -> bool:
        """Delete the current entry and go to the next one."""

    def iternext(self, *, values: bool = True) -> Iterator[Any]:
        """The entries from the current one forward, or only their keys."""

    def iterprev(self, *, values: bool = True) -> Iterator[Any]:
        """The entries from the current one backward, or only their keys."""


class StoreTransaction(Protocol):
    """A read or write transaction."""

    def id(self) -> int:
        """The number of the commit that it makes or reads."""

    def get(self, key: bytes, /) -> bytes | None:
        """The value of a key, or None."""

    def put(self, key: bytes, value: bytes, /, *, append: bool = False) -> bool:
        """Set a value; with ``append``, which is faster, return False and do nothing unless the key is the greatest."""

    def delete(self, key: bytes, /) -> bool:
        """Delete an entry; False when there is none."""

    def pop(self, key: bytes, /) -> bytes | None:
        """Delete an entry and return its value, or None."""

    def replace(self, key: bytes, value: bytes, /) -> bytes | None:
        """Set a value and return the one before, or None."""

    def cursor(self) -> StoreCursor:
        """A new cursor."""

    def drop(self, database: object, /, delete: bool = True) -> None:
        """Delete all entries of a database."""

    def commit(self) -> None:
        """Make the changes permanent."""

    def abort(self) -> None:
        """Undo the changes."""
