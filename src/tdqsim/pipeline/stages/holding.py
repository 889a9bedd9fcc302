"""What commands in a run's directory share: one at a time there, and arguments that are refused by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Final

from tdqsim.core.portable import OWN_FILE, FileLock
from tdqsim.errors import DatasetError
from tdqsim.pipeline.publishing import no_room

__all__ = ["NotAllowed", "holding", "one_of"]

_LOCK: Final = ".lock"
"""The name that ``tdq pipeline run`` locks, too."""
_PAUSE: Final = 0.1


@contextmanager
def holding(run: Path, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Have a run's directory to oneself while the block runs; another command there is waited for.

    The lock goes with the process, however it ends.

    Raises:
        DatasetError: there is no room even for an empty file.
    """
    if not run.is_dir():
        yield
        return
    path = run / _LOCK
    try:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | OWN_FILE, 0o666), "wb")
    except OSError as error:
        raise no_room(path, error) or error from error
    with file:
        lock = FileLock(file.fileno(), path)
        if not lock.take():
            (say or (lambda _: None))(f"{run}: another command is writing there; this one goes on after it")
            while not lock.take():
                Event().wait(_PAUSE)
        try:
            yield
        finally:
            lock.release()


class NotAllowed(DatasetError):
    """An argument that a stage does not know; the message has its name, its value and what is allowed."""


def one_of(name: str, value: str, allowed: Iterable[str]) -> None:
    """Look at an argument.

    Raises:
        NotAllowed: it is none of them.
    """
    known = list(allowed)
    if value not in known:
        raise NotAllowed(f"{name} {value}: allowed are {', '.join(known)}")
