"""The directory in which a run or a server puts the data sets that no DD card names.

It is ``tdq-out/NAME`` in the current directory, and each run replaces its contents, as build tools do. Concurrent runs
use different directories: a run locks its directory while it lasts, and the next one uses ``NAME-2``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, Final

from tdqsim.core.symbolic_links import leads_out
from tdqsim.errors import DatasetError

_BASE: Final = "tdq-out"
_LOCK: Final = ".lock"


@contextmanager
def output_directory(given: Path | None, name: str) -> Iterator[Path]:
    """Create and lock the directory; ``given`` (--output) is used instead of the default.

    Raises:
        DatasetError: it cannot be created, or ``given`` is in use by another run.
    """
    for own in (Path(_BASE), Path(_BASE) / name) if given is None else ():
        if own.is_symlink():
            raise DatasetError(f"{own}: a symbolic link; choose a place with --output DIR")
    candidates = iter([given]) if given is not None else (Path(_BASE) / each for each in _names(name))
    for directory in candidates:
        lock = _locked(directory)
        if lock is not None:
            try:
                yield directory.resolve()
            finally:
                lock.close()
            return
    raise DatasetError(f"--output {given}: another run is writing there")


def _names(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}-{number}"


def _check_links(directory: Path) -> None:
    """Check that files written to the directory cannot end up elsewhere.

    Raises:
        DatasetError: an entry of the directory is a symbolic link that leads out of it.
    """
    home = directory.resolve()
    for entry in directory.iterdir():
        if entry.is_symlink() and leads_out(entry, home):
            raise DatasetError(f"{entry}: a symbolic link out of the directory; remove it, or use --output DIR")


def _locked(directory: Path) -> IO[bytes] | None:
    """Return an open file that holds the lock; None when another process has it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _check_links(directory)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        file = os.fdopen(os.open(directory / _LOCK, flags, 0o600), "rb+")
    except OSError as error:
        raise DatasetError(
            f"{directory}: data sets cannot be written there: {error.strerror}; choose a place with --output DIR"
        ) from None
    try:
        import fcntl  # noqa: PLC0415  (not on every platform; without it, concurrent runs are not detected)
    except ImportError:
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
