"""The lock file of a store, which ensures that only one process writes it.

It uses a lock of the operating system, which is released when the process ends in any way; a file that is left behind
does not lock out other processes. The process id in the file is only used in messages. A symbolic link in its place is
refused.
"""

from __future__ import annotations

import errno
import os
from functools import cache
from pathlib import Path

from tdqsim.core.portable import OWN_FILE, FileLock, read_at, write_at
from tdqsim.errors import StoreError, StoreInUse


class LockFile:
    """The lock of one store directory, held from construction to :meth:`release`."""

    __slots__ = ("_fd", "_lock")

    def __init__(self, path: Path, *, mine: bool = True) -> None:
        """Take the lock; for a writer (``mine``) also write this process's id into the file.

        If the caller is not a writer and may not write the file, it is opened for reading only.

        Raises:
            StoreInUse: another process has the lock.
            StoreError: the path is a symbolic link, or is not a regular file.
        """
        self._fd = -1
        self._fd = _opened(path, mine=mine)
        if self._fd < 0:
            return
        try:
            self._lock = FileLock(self._fd, path)
            if not self._lock.take():
                raise StoreInUse(path.parent, _holder(self._fd))  # the file is closed in one place
            if mine:
                mark = b"%d\n" % os.getpid()
                write_at(self._fd, mark, 0)
                os.ftruncate(self._fd, len(mark))
        except BaseException:
            self.forget()
            raise

    def release(self) -> None:
        """Release the lock; may be called again after an interrupt."""
        if self._fd >= 0:
            self._lock.release()
            self.forget()

    def forget(self) -> None:
        """Close the file without unlocking it, as a forked child does, which shares the lock with its parent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.forget()


def _opened(path: Path, *, mine: bool) -> int:
    """Open the file; returns -1 when it does not exist and cannot be made, so that no process can hold it either."""
    if path.exists() and not path.is_file():  # opening a named pipe may wait
        raise StoreError(f"{path}: it is not a regular file")
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | OWN_FILE, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(f"{path}: it is a symbolic link; a store has its own lock file") from None
        if mine or error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
    try:
        return os.open(path, os.O_RDONLY | OWN_FILE)
    except FileNotFoundError:
        return -1


def _holder(fd: int) -> int:
    """The process id in a lock file; 0 when its owner has not written it yet."""
    word = read_at(fd, 20, 0).split(maxsplit=1)
    return int(word[0]) if word and word[0].isdigit() else 0


@cache
def this_boot() -> bytes:
    """The identifier of the machine's current boot, 16 bytes; zeros where the system has none."""
    try:
        return bytes.fromhex(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip().replace("-", ""))
    except (OSError, ValueError):
        return bytes(16)


def is_held(path: Path) -> bool:
    """Whether a process has the store in a directory open for writing."""
    try:
        LockFile(path / "lock", mine=False).release()
    except StoreInUse:
        return True
    return False
