"""What the COBOL programs of one task have: storage that CICS gave them, and their own items by name.

``task.storage["WS-COUNT"]`` is an item of the program that runs, or waits, at the lowest level of the task, or of one
above it; see :mod:`~tdqsim.cobol.view` for the names.
"""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = ["TaskStorage"]


class TaskStorage:
    """The storage of one task; it is freed with the task.

    Attributes:
        levels: the levels of COBOL programs, the lowest last.
    """

    def __init__(self) -> None:
        self.levels: list[Any] = []
        self._got: dict[int, Any] = {}
        self._held: dict[object, Any] = {}

    def get(self, size: int, fill: bytes) -> int:
        """Storage of so many bytes on a 16-byte boundary."""
        buffer = ctypes.create_string_buffer(fill * (size + 16), size + 16)
        address = -(-ctypes.addressof(buffer) // 16) * 16
        self._got[address] = buffer
        return address

    def free(self, address: int) -> bool:
        """Give storage back; False when it was not got here."""
        return self._got.pop(address, None) is not None

    def hold(self, key: object, data: bytes) -> int:
        """Keep a record for the program to look at, until the next one with this key."""
        buffer = self._held[key] = ctypes.create_string_buffer(data, max(len(data), 1))
        return ctypes.addressof(buffer)
