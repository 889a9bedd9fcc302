"""One process writes a store: the lock file that says which.

The lock is the system's, so it ends with the process however that ends, and a file that is left behind locks nobody
out. The process id inside is for the message only. A symbolic link in its place is refused.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, Final

from tdqsim.errors import StoreError, StoreInUse

fcntl: Any
try:
    import fcntl
except ImportError:  # pragma: no cover - elsewhere than on POSIX systems
    import msvcrt

    fcntl = None

__all__ = ["LockFile", "this_boot"]

_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class LockFile:
    """The lock of one store directory, held from construction to :meth:`release`."""

    __slots__ = ("_fd",)

    def __init__(self, path: Path, *, mine: bool = True) -> None:
        """Take the lock and leave a mark if it is ``mine``; where nothing may be written, ask for no more than reading.

        Raises:
            StoreInUse: another process has it.
            StoreError: there is a symbolic link in its place.
        """
        self._fd = -1
        self._fd = _opened(path, mine=mine)
        if self._fd < 0:
            return
        try:
            if not _lock(self._fd):
                raise StoreInUse(path.parent, _holder(self._fd))  # noqa: TRY301 - the file is closed in one place
            if mine:
                mark = b"%d\n" % os.getpid()
                os.pwrite(self._fd, mark, 0)
                os.ftruncate(self._fd, len(mark))
        except BaseException:
            self.forget()
            raise

    def release(self) -> None:
        """Give the lock up; may be done again when it was interrupted."""
        if self._fd >= 0:
            _unlock(self._fd)
            self.forget()

    def forget(self) -> None:
        """Let the file go: all that a forked child may do, since the lock itself is its parent's too."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.forget()


def _opened(path: Path, *, mine: bool) -> int:
    """The file's descriptor; -1 when there is none, nor can be: then nobody can hold it either."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(f"{path}: it is a symbolic link; a store has its own lock file") from None
        if mine or error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
    try:
        return os.open(path, os.O_RDONLY | _FLAGS)
    except FileNotFoundError:
        return -1


def _lock(fd: int) -> bool:
    """Take the system's lock; False when another process has it."""
    try:
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:  # pragma: no cover - elsewhere than on POSIX systems
            os.lseek(fd, 1 << 20, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


def _unlock(fd: int) -> None:
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_UN)


def _holder(fd: int) -> int:
    """The process id in a lock file; 0 when its owner has not written it yet."""
    word = os.pread(fd, 20, 0).split(maxsplit=1)
    return int(word[0]) if word and word[0].isdigit() else 0


def this_boot() -> str:
    """What tells one start of the machine from another; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
