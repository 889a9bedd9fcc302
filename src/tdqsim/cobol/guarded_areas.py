"""Areas that the region allocates for programs, with guard pages: a program that writes beyond one ends with ASRA.

The storage of a program itself, and what a COBOL program passes on to another one, has no guard pages.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tdqsim.cobol._libcob import Libcob

_NAMES: Final[dict[str, bytes]] = {}
"""The names of areas, whose bytes the run-time keeps."""


class GuardedArea:
    """An area whose last byte is the last one of a page; the pages behind it cannot be accessed.

    Attributes:
        address: where it begins.
        size: its length in bytes.
    """

    __slots__ = ("_handle", "_libcob", "address", "size")

    def __init__(self, libcob: Libcob, name: str, data: bytes | memoryview) -> None:
        """Allocate it.

        Args:
            libcob: the run-time.
            name: what it is, for messages.
            data: its contents.

        Raises:
            MemoryError: there is no room.
        """
        self._libcob = libcob
        self.size = len(data)
        handle = libcob.area(self.size, _NAMES.setdefault(name, name.encode("latin-1")))
        self._handle = handle
        if handle is None:
            raise MemoryError(f"{self.size} bytes for the {name}")
        self.address = libcob.area_data(handle)
        ctypes.memmove(self.address, bytes(data), self.size)

    def __del__(self) -> None:
        if self._handle is not None:
            self._libcob.area_end(self._handle)
            self._handle = None

    def free(self, name: str) -> None:
        """Let no program access it any more; it is not used again as long as this object is kept.

        Args:
            name: what it is now, for messages.
        """
        assert self._handle is not None
        self._libcob.area_free(self._handle, _NAMES.setdefault(name, name.encode("latin-1", "replace")))

    def view(self) -> memoryview:
        """Its storage, for reading and writing; usable until the area is freed."""
        return memoryview((ctypes.c_char * self.size).from_address(self.address)).cast("B")
