"""Temporary folders that do not outlive a killed process for long: whoever comes next removes them.

Beside a folder lies a file that names it and what belongs to it, locked as long as its process lives, however it ends.
A file that can be locked is of a process that is gone. Where there are no locks nothing is removed.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["Claim", "sweep"]

_PREFIX: Final = "tdqsim-"
_SUFFIX: Final = ".claim"


class Claim:
    """Says that temporary folders are in use.

    Args:
        folder: the first of them; the claim lies beside it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder.with_name(f"{folder.name}{_SUFFIX}")
        fresh = folder.with_name(f".{self._path.name}")
        self._file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        _lock(self._file)
        self.add(folder)
        fresh.rename(self._path)  # nobody finds it before it is locked

    def add(self, folder: Path) -> None:
        """One more folder, in the same place."""
        with suppress(OSError):  # on a full disk there is only less that is removed one day
            os.write(self._file, f"{folder.name}\n".encode())

    def release(self) -> None:
        """The folders are gone."""
        self._path.unlink(missing_ok=True)
        os.close(self._file)


def sweep(place: Path) -> None:
    """Remove the folders of this user's processes that are gone.

    Args:
        place: where temporary folders are made.
    """
    for path in place.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            _take_up(path)


def _take_up(path: Path) -> None:
    file = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        if _lock(file) and os.fstat(file).st_uid == os.getuid():
            for name in path.read_text("utf-8").splitlines():
                folder = path.parent / name
                if name == Path(name).name and name.startswith(_PREFIX) and not folder.is_symlink():
                    shutil.rmtree(folder, ignore_errors=True)
            path.unlink(missing_ok=True)
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    """Lock a file; False when somebody else has it, or nobody can."""
    try:
        import fcntl  # noqa: PLC0415  (not on every platform)

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
