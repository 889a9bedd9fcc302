"""The room of one environment's file: reserved ahead, so that a full disk is met between changes, never in a commit."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

__all__ = ["Space"]

FIRST: Final = 1024 * 1024
_STEP: Final = 64 * 1024 * 1024
_AMPLE: Final = 64 * FIRST
"""With so many bytes free on the disk, the beginning of a temporary file is not reserved."""
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Space:
    """How far the file is ours.

    Attributes:
        pages: pages of the file that can be written without asking the disk for more.
        page_size: bytes in a page.
        limit_bytes: the file never grows over this; None for no ceiling but the disk's and the map's.
    """

    __slots__ = ("_fd", "_room", "limit_bytes", "page_size", "pages")

    def __init__(
        self, path: Path, page_size: int, limit_bytes: int | None, room: int, *, readonly: bool = False
    ) -> None:
        self._fd = os.open(path, (os.O_RDONLY if readonly else os.O_RDWR) | os.O_CLOEXEC)
        self.page_size = page_size
        self.limit_bytes = limit_bytes
        self._room = room
        self.pages = 0

    def ample(self) -> bool:
        """Whether the disk has so much room that the beginning of a file need not be reserved.

        Blocks that were never given to a file cost nothing to take back: that makes a temporary store cheap to close.
        """
        if self.limit_bytes is not None or not hasattr(os, "fstatvfs"):
            return False
        disk = os.fstatvfs(self._fd)
        return disk.f_bavail * disk.f_frsize >= _AMPLE

    def start(self, used: int, *, brief: bool = False) -> None:
        """Reserve the file as it is: it may have been copied by a tool that left holes in it.

        The beginning of a ``brief`` one is taken for granted on a disk with ample room.
        """
        if brief and self.ample():
            self.pages = FIRST // self.page_size
            return
        size = os.fstat(self._fd).st_size
        wanted = max(size // self.page_size, used)
        if not self._reserve(wanted):
            self.pages = used

    def grow(self, pages: int) -> bool:
        """Reserve at least ``pages``; False when the disk or the ceiling does not allow it."""
        ahead = pages + min(pages // 4, _STEP // self.page_size)
        return self._reserve(max(ahead, FIRST // self.page_size)) or self._reserve(pages)

    def _reserve(self, pages: int) -> bool:
        size = pages * self.page_size
        if size > (self._room if self.limit_bytes is None else min(self.limit_bytes, self._room)):
            return False
        have = self.pages * self.page_size
        if size <= have:
            return True
        try:
            _allocate(self._fd, have, size - have)
        except OSError as error:
            if error.errno in _NO_ROOM:
                return False
            raise
        self.pages = pages
        return True

    def close(self) -> None:
        """Let the file go."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _allocate(fd: int, offset: int, length: int) -> None:
    """Reserve with the system's own call, or, where there is none, by writing what lies beyond the end."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, offset, length)
        return
    end = os.fstat(fd).st_size
    block = bytes(1 << 20)
    for at in range(max(offset, end), offset + length, len(block)):
        os.pwrite(fd, block[: offset + length - at], at)
