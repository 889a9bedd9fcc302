"""One command at a time in a run's directory: two that write there at once would mix what they leave."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tdqsim.pipeline.publishing import no_room

__all__ = ["holding"]

_LOCK = ".lock"
"""The name that ``tdq pipeline run`` locks, too."""


@contextmanager
def holding(run: Path, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Have a run's directory to oneself while the block runs; another command there is waited for.

    The lock goes with the process, however it ends. Where a file system knows no locks nothing is locked.

    Args:
        run: the run's directory; when there is none, there is nothing to hold.
        say: told when there is somebody to wait for.

    Raises:
        DatasetError: there is no room even for an empty file.
    """
    try:
        import fcntl  # noqa: PLC0415  (not on every platform)
    except ImportError:
        yield
        return
    if not run.is_dir():
        yield
        return
    path = run / _LOCK
    try:
        file = path.open("wb")
    except OSError as error:
        if (told := no_room(path, error)) is None:
            raise
        raise told from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN):
                (say or (lambda _: None))(f"{run}: another command is writing there; this one goes on after it")
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
