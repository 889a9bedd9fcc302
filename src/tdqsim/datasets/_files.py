"""Open the files of data sets: only regular files, locked according to DISP, with the errors of this package."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tdqsim.datasets.errors import DatasetInUse, OpenError

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without POSIX locks
    fcntl = None  # type: ignore[assignment]

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_BUSY = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # without it, opening a pipe that has no writer would block
_BINARY = getattr(os, "O_BINARY", 0)


class RawFile(Protocol):
    """The methods of an unbuffered binary file that this package uses. Tests substitute their own to make I/O fail."""

    def fileno(self) -> int: ...
    def read(self, size: int, /) -> bytes | None: ...
    def write(self, data: bytes | memoryview, /) -> int | None: ...
    def seek(self, offset: int, /) -> int: ...
    def truncate(self, size: int, /) -> int: ...
    def close(self) -> None: ...


Opener = Callable[[Path, int], RawFile]


def open_raw(path: Path, flags: int) -> RawFile:
    """Open the file unbuffered; ``flags`` are those of ``os.open``, read-only or O_RDWR."""
    descriptor = os.open(path, flags | _NONBLOCK | _BINARY | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        return io.FileIO(descriptor, "r+b" if flags & os.O_RDWR else "rb")
    except OSError:  # it is a directory
        os.close(descriptor)
        raise


def open_file(path: Path, flags: int, opener: Opener | None) -> RawFile:
    """Open a regular file.

    Raises:
        OpenError: it is missing, not a regular file, not permitted, or the system refuses.
    """
    try:
        file = (opener or open_raw)(path, flags)
    except (OSError, ValueError) as error:  # ValueError: the name holds a zero byte
        raise OpenError(path, _reason(error, flags)) from error
    kind = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(kind):
        file.close()
        what = "a directory" if stat.S_ISDIR(kind) else "not a regular file"
        raise OpenError(path, f"is {what}; a data set is a regular file")
    return file


def lock(file: RawFile, path: Path, *, exclusive: bool) -> None:
    """Lock the file according to DISP: exclusively (OLD, MOD, NEW) or shared (SHR).

    The lock is advisory and is released when the file is closed. On a file system without locks, nothing is locked.

    Raises:
        DatasetInUse: another open, in this process or another, excludes it.
    """
    if not hasattr(fcntl, "flock"):  # pragma: no cover
        return
    try:
        fcntl.flock(file.fileno(), (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            file.close()
            way = "exclusively (DISP=OLD, MOD or NEW)" if exclusive else "as shared (DISP=SHR)"
            raise DatasetInUse(
                path, f"cannot be opened {way}: it is open elsewhere in a way that excludes this"
            ) from error


def is_data_set(path: Path) -> bool:
    """Return whether there is a regular file at the path; False when that cannot be determined."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - Path.is_file raises for names that are too long
    except (OSError, ValueError):
        return False


def _reason(error: OSError | ValueError, flags: int) -> str:
    if not isinstance(error, OSError):
        return f"cannot be opened: {error}"
    if error.errno == errno.EEXIST:
        return "exists; DISP=NEW makes a data set that is not there yet"
    if error.errno == errno.ENOENT:
        return "cannot be created: its directory does not exist" if flags & os.O_CREAT else "does not exist"
    if error.errno == errno.EISDIR:
        return "is a directory; a data set is a regular file"
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return f"may not be opened: {error.strerror}"
    return f"cannot be opened: {error.strerror or error}"
