"""Operations that differ between operating systems: file locks, reads and writes at an offset, processes.

POSIX systems have flock, pread and pwrite. Elsewhere (Windows) locks come from the package filelock, and reads and
writes seek first, which is safe because no other code uses the same descriptor.
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

OWN_FILE: Final = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_BINARY"))
"""Flags for opening a file of the package: not inherited by children, no symbolic links, no newline conversion."""
_HELD_ELSEWHERE: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)


def read_at(fd: int, size: int, offset: int) -> bytes:
    """Read ``size`` bytes at an offset; fewer only at the end of the file. The system may deliver them in parts."""
    data = _read_some(fd, size, offset)
    while len(data) < size:
        part = _read_some(fd, size - len(data), offset + len(data))
        if not part:
            break
        data += part
    return data


def _read_some(fd: int, size: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(fd, size, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)


def write_at(fd: int, data: bytes, offset: int) -> None:
    """Write all of the data at an offset. The system may take them in parts.

    Raises:
        OSError: not all of them could be written.
    """
    done = 0
    while done < len(data):
        part = _write_some(fd, data[done:], offset + done)
        if not part:
            raise OSError(errno.EIO, f"only {done} of {len(data)} bytes were written")
        done += part


def _write_some(fd: int, data: bytes, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(fd, data, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.write(fd, data)


class FileLock:
    """The system's lock on an open file, which the system releases when the process ends in any way.

    Args:
        fd: the file's descriptor.
        path: the file's name. Without flock, another file beside it is locked, so that this one can still be read.
    """

    __slots__ = ("_beside", "_fd", "_path")

    def __init__(self, fd: int, path: Path) -> None:
        self._fd, self._path = fd, path
        self._beside: Any = None

    def take(self) -> bool:
        """Take the lock without waiting; False when another process has it."""
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
        """Release the lock."""
        if fcntl is not None:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        elif self._beside is not None:
            self._beside.release()

    def _take_beside(self) -> bool:
        import filelock  # noqa: PLC0415  (not needed, and not installed, on POSIX systems)

        self._beside = filelock.FileLock(f"{self._path}.held", blocking=False)
        try:
            self._beside.acquire()
        except filelock.Timeout:
            return False
        except PermissionError:  # the directory is not writable, so no process holds the lock
            self._beside = None
        return True


def alive(pid: int) -> bool:
    """Whether a process with this id exists on this machine; always True on Windows."""
    if sys.platform == "win32":  # os.kill would end the process there
        return True
    try:
        os.kill(pid, 0)  # signal 0 only checks
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
