"""The regions of a bucket are made here, one after another, with limits, and marks in case the process dies.

To open a store costs more than everything else about a small region. So a store is handed to one region after another,
each of which begins with an initial start and so finds nothing in it; a region that did not end well, or made the
store large, is the last one to have it. All of it is in one temporary folder, whose name tells its process: the
next process removes those of processes that were killed.

A mark says which region a worker process works on, so that the death of the process is attributed to that region. It
is a small file for each attempt at a bucket: written in place, since a process that dies leaves what it wrote. A
bucket that is done again finds the marks of attempts whose process is gone.

An endless handler ends a region and not a job, by two bounds. The number of dispatches and commands is exact: the same
handlers meet it at the same place in every run (the short ways of a plain READQ or WRITEQ are not counted one by one,
but looked up now and then). A handler that never gives control back cannot be counted, so a timer looks on: when
nothing at all has happened in the region from one tick to the next (no dispatch, no command that changed a queue), the
handler is interrupted. One that swallows even that (``except:`` in an endless loop) is left where it is and never taken
up again.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self

from greenlet import getcurrent, greenlet

from tdqsim.core.portable import alive, write_at
from tdqsim.core.store import BorrowedStore
from tdqsim.errors import DatasetError, StoreFull
from tdqsim.pipeline.bounds import BOUNDS
from tdqsim.pipeline.publishing import left_behind

__all__ = ["Budget", "LentStore", "Marks", "OutOfBudget", "Workshop"]

_PREFIX: Final = "tdqsim-replay"
_ROOM: Final = 1 << 20


class LentStore(BorrowedStore):
    """A temporary store that stays open when its borrower closes it."""

    def close(self, *, clean: bool = True) -> None:
        """Nothing: it is wanted again."""

    @property
    def bytes_on_disk(self) -> int:
        """The sizes of its files."""
        return sum(path.stat().st_size for path in self.path.glob("*/*"))


class Workshop:
    """A folder and a store, for one region after another; a context manager."""

    def __init__(self) -> None:
        self._store: LentStore | None = None
        self._folder = Path()

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}.{socket.gethostname()}.{os.getpid()}."))
        mine = self._folder.stat().st_uid
        for other in self._folder.parent.glob(f"{_PREFIX}.*"):
            with suppress(FileNotFoundError):  # another workshop that begins now removes it too
                if left_behind(other.name) and not other.is_symlink() and other.stat().st_uid == mine:
                    shutil.rmtree(other, ignore_errors=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.spoil()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def store(self) -> LentStore:
        """The store; it is open, and may have records of the region before."""
        if self._store is not None:
            self._store.tidy()
            if self._store.bytes_on_disk > BOUNDS["store_bytes"]:
                self.spoil()
        if self._store is None:
            before, tempfile.tempdir = tempfile.tempdir, str(self._folder)
            try:
                self._store = LentStore()
            finally:
                tempfile.tempdir = before
        return self._store

    def spoil(self) -> None:
        """The store is not to be used again."""
        store, self._store = self._store, None
        if store is not None:
            store.end()

    @contextmanager
    def place(self) -> Iterator[Path]:
        """A folder for one region, empty.

        Raises:
            DatasetError: the disk is full: the region's results are invalid then.
        """
        folder = self._folder / "region"
        try:
            folder.mkdir()
            yield folder
            if shutil.disk_usage(folder).free < _ROOM:
                raise self.full()
        except StoreFull as error:
            raise self.full() from error
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise self.full() from error
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def full(self) -> DatasetError:
        """The error that says what to do."""
        return DatasetError(
            f"{self._folder}: the disk is full; make room there or set TMPDIR to another folder, and run it again: "
            "what is finished is kept"
        )


# what it works on -----------------------------------------------------------------------------------------------------


class Marks:
    """The marks of one attempt at a bucket.

    Args:
        folder: where they are.
        bucket: the bucket.
        inputs: digest of what its outcome depends on; marks of other inputs say nothing.
    """

    def __init__(self, folder: Path, bucket: int, inputs: str) -> None:
        self._inputs = inputs
        self._host = socket.gethostname()
        self._longest = 0
        self._deaths: Counter[str] = Counter()
        self._old: list[Path] = []
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob(f"{bucket:05d}.*.working")):
            self._look(path)
        self._path = folder / f"{bucket:05d}.{uuid.uuid4().hex[:12]}.working"
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)

    def _look(self, path: Path) -> None:
        try:
            found: dict[str, Any] = json.loads(path.read_text("utf-8") or "{}")
        except (OSError, ValueError):
            return
        if found.get("host") == self._host and _alive(int(found.get("pid", 0))):
            return  # the same bucket is done twice at once
        self._old.append(path)
        if found.get("inputs") == self._inputs and found.get("region"):
            self._deaths[str(found["region"])] += 1

    def deaths(self, region: str) -> int:
        """How many processes died while they worked on a region."""
        return self._deaths[region]

    @contextmanager
    def working_on(self, region: str) -> Iterator[None]:
        """Mark the region while the block runs; an exception takes the mark away, a death does not."""
        self._write(region)
        try:
            yield
        finally:
            self._write("")

    def _write(self, region: str) -> None:
        mark = {"inputs": self._inputs, "region": region, "host": self._host, "pid": os.getpid()}
        text = json.dumps(mark).encode()
        self._longest = max(self._longest, len(text))
        write_at(self._file, text.ljust(self._longest), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        os.close(self._file)
        self._path.unlink(missing_ok=True)
        if error is None:
            for path in self._old:
                path.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    """Whether a process of this machine is there, and is not this one, which has nothing else under way."""
    return pid not in (0, os.getpid()) and alive(pid)


# what it may do -------------------------------------------------------------------------------------------------------


_LOOK: Final = 1024
"""Commands of the short way are looked up every so many counted ones; every full control interval counts one."""
_PATIENCE: Final = 3
_TICK_SECONDS: Final = 2.0
_left_behind: Final[list[greenlet]] = []
"""Handlers that would not end; letting go of one would take it up again, to end it."""


class OutOfBudget(BaseException):
    """A region did more than it may, or nothing for too long; the text says which."""


class Budget:
    """Watches one region or system while it works."""

    def __init__(self, commands: int, stuck_seconds: float, done: Callable[[], int]) -> None:
        self.commands = commands
        self.stuck_seconds = stuck_seconds
        self._done = done
        self.used = 0
        self._refused = 0
        self._every = min(stuck_seconds, _TICK_SECONDS)
        self._idle = 0.0
        self._seen = (-1, -1)

    def dispatched(self, _strand: object) -> None:
        """A task is about to run, or has issued a command."""
        self.used += 1
        if self.used > self.commands or (not self.used % _LOOK and self._done() > self.commands):
            self._refuse_more()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look on while the block runs; only in a process's main thread, elsewhere the count alone holds."""
        if not self.stuck_seconds or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, self._tick)
        signal.setitimer(signal.ITIMER_REAL, self._every, self._every)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _tick(self, _number: int, _frame: object) -> None:
        now = (self.used, self._done())
        self._idle = self._idle + self._every if now == self._seen else 0.0
        self._seen = now
        if self._idle >= self.stuck_seconds or self._refused:
            self._refuse(f"nothing happened for {self.stuck_seconds:g} s; a program of it does not come to an end")
        if now[1] > self.commands:
            self._refuse_more()

    def _refuse_more(self) -> None:
        self._refuse(f"more than {self.commands:,} dispatches and commands; its tasks go on for ever")

    def _refuse(self, text: str) -> None:
        self._refused += 1
        error = OutOfBudget(text)
        here = getcurrent()
        if self._refused > _PATIENCE and here.parent is not None:
            _left_behind.append(here)
            here.parent.throw(error)
        raise error
