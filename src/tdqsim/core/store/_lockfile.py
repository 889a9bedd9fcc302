"""One process writes a store: the lock file that says which.

The lock is the kernel's (``flock``), so it ends with the process however that ends, and a file that is left behind
locks nobody out. The process id inside is for the message only.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from tdqsim.errors import StoreInUse

__all__ = ["LockFile"]


class LockFile:
    """The lock of one store directory, held from construction to :meth:`release`.

    Attributes:
        boot_id: which start of the machine the file was left by; it stays in it until :meth:`settle`.
    """

    __slots__ = ("_fd", "boot_id")

    def __init__(self, path: Path, *, mine: bool = True) -> None:
        """Take the lock, or raise StoreInUse with the holder's process id; leave a mark if it is ``mine``.

        Where it is not, and nothing may be written, no more than reading is asked for.
        """
        self._fd = -1
        self.boot_id = b""
        fd = _opened(path, mine=mine)
        if fd < 0:
            return
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreInUse(path.parent, _holder(fd)) from None
            before = os.pread(fd, 200, 0).split()
            self.boot_id = before[1] if len(before) > 1 else b""
            if mine:
                _mark(fd, self.boot_id or this_boot())
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def settle(self) -> None:
        """What the last start of the machine had left in doubt has been seen to."""
        self.boot_id = this_boot()
        _mark(self._fd, self.boot_id)

    def release(self) -> None:
        """Give the lock up. In a forked child only the child's copy of the descriptor goes."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _opened(path: Path, *, mine: bool) -> int:
    """The file's descriptor; -1 when there is none, nor can be: then nobody can hold it either."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if mine or error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return -1


def _mark(fd: int, boot_id: bytes) -> None:
    mark = b"%d %s\n" % (os.getpid(), boot_id)
    os.pwrite(fd, mark, 0)
    os.ftruncate(fd, len(mark))


def _holder(fd: int) -> int:
    """The process id in a lock file; 0 when its owner has not written it yet."""
    word = os.pread(fd, 20, 0).split(maxsplit=1)
    return int(word[0]) if word and word[0].isdigit() else 0


def this_boot() -> bytes:
    """What tells one start of the machine from another; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:
        return b""
