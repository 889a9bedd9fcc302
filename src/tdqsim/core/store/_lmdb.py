"""The part of LMDB's interface that the store uses, with bytes in and out.

The type hints of the package lmdb let every key and value be a memoryview too, which it gives only to those who ask for
buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

__all__ = ["StoreCursor", "StoreTransaction"]


class StoreCursor(Protocol):
    """A place among the entries of a transaction, in the order of their keys."""

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]: ...

    def set_range(self, key: bytes, /) -> bool:
        """Go to the first entry whose key is this one or a later one; False when there is none."""

    def prev(self) -> bool:
        """Go to the entry before; False when there is none."""

    def key(self) -> bytes:
        """The key of the entry here."""

    def value(self) -> bytes:
        """The value of the entry here."""

    def item(self) -> tuple[bytes, bytes]:
        """Both."""

    def delete(self) -> bool:
        """Delete the entry here and go to the next one."""

    def iternext(self, *, values: bool = True) -> Iterator[Any]:
        """The entries from here on, or their keys alone."""

    def iterprev(self, *, values: bool = True) -> Iterator[Any]:
        """The entries from here backward, or their keys alone."""


class StoreTransaction(Protocol):
    """A read or write transaction."""

    def id(self) -> int:
        """Its number: that of the commit it makes, or that it reads."""

    def get(self, key: bytes, /) -> bytes | None:
        """The value of a key, or None."""

    def put(self, key: bytes, value: bytes, /, *, append: bool = False) -> bool:
        """Set a value; with ``append``, which is faster, False and nothing done unless the key is the last of all."""

    def delete(self, key: bytes, /) -> bool:
        """Delete an entry; False when there is none."""

    def pop(self, key: bytes, /) -> bytes | None:
        """Delete an entry; its value, or None."""

    def cursor(self) -> StoreCursor:
        """A new cursor."""

    def drop(self, database: object, /, delete: bool = True) -> None:
        """Delete all entries of a database."""

    def commit(self) -> None:
        """Make the changes permanent."""

    def abort(self) -> None:
        """Undo the changes."""
