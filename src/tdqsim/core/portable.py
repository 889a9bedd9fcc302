"""Operations that differ between operating systems: file locks, reads and writes at an offset, processes.

On POSIX systems this is flock, pread and pwrite. Where there are none of these (Windows) a lock is the package
filelock's, and reads and writes seek first: no other code uses the same descriptor.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any, Final

fcntl: Any
try:
    import fcntl
except ImportError:
    fcntl = None

__all__ = ["OWN_FILE", "FileLock", "alive", "read_at", "write_at"]

OWN_FILE: Final = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_BINARY"))
"""Flags for opening a file of our own: not for children, not through a symbolic link, and bytes are bytes."""
_HELD_ELSEWHERE: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)


def read_at(fd: int, size: int, offset: int) -> bytes:
    """At most ``size`` bytes from there."""
    if hasattr(os, "pread"):
        return os.pread(fd, size, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)


def write_at(fd: int, data: bytes, offset: int) -> int:
    """Write there; how many bytes were written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(fd, data, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.write(fd, data)


class FileLock:
    """The system's lock on an open file, which ends with the process however that ends.

    Args:
        fd: the file's descriptor.
        path: its name; where there is no flock the lock is on a file beside it, so that this one can still be read.
    """

    __slots__ = ("_beside", "_fd", "_path")

    def __init__(self, fd: int, path: Path) -> None:
        self._fd, self._path = fd, path
        self._beside: Any = None

    def take(self) -> bool:
        """Take it at once; False when another process has it."""
        if fcntl is None:
            return self._take_beside()
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _HELD_ELSEWHERE:
                return False
            raise
        return True

    def release(self) -> None:
        """Give it up."""
        if fcntl is not None:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        elif self._beside is not None:
            self._beside.release()

    def _take_beside(self) -> bool:
        import filelock  # noqa: PLC0415  (elsewhere than on POSIX systems)

        self._beside = filelock.FileLock(f"{self._path}.held", blocking=False)
        try:
            self._beside.acquire()
        except filelock.Timeout:
            return False
        except PermissionError:  # no process may write here, so none holds the lock
            self._beside = None
        return True


def alive(pid: int) -> bool:
    """Whether there is such a process on this machine; where that cannot be asked, it counts as there."""
    if sys.platform == "win32":  # what asks elsewhere would end the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
