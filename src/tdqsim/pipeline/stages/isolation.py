"""The place where a process makes the regions of a bucket, one after another, with limits, and with marks for crashes.

Opening a store costs more than everything else about a small region. So regions share a store, one after another; each
begins with an initial start, which empties it. A region that did not end well, or that made the store large, is the
last one to use it. The store is in a temporary folder whose name contains the process id: the next process removes the
folders of processes that were killed.

A mark names the region on which a worker process works, so that the death of the process is attributed to that region.
It is a small file in the run's directory for each attempt at a bucket, which a process that dies leaves there. When a
bucket is retried, it reads the marks of attempts whose process has ended.

Two limits make an endless handler end its region instead of the job. The number of dispatches and commands is exact:
the same handlers reach it at the same place in every run. (Plain READQ and WRITEQ commands on the fast path are not
counted one by one; their number is read now and then.) A handler that never gives control back cannot be counted, so a
timer checks for progress: when nothing has happened in the region from one tick to the next (no dispatch, no command
that changed a queue), the handler is interrupted. A handler that catches even this interrupt (``except:`` in an endless
loop) is abandoned and never resumed.
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
from types import FrameType
from typing import Any, Final, Self

from greenlet import getcurrent, greenlet

from tdqsim.errors import DatasetError, StoreFull
from tdqsim.hosting import BorrowedStore, alive, discards_errors
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.publishing import files_below, left_behind, publish_json

_PREFIX: Final = "tdqsim-replay"
_ROOM: Final = 1 << 20


class LentStore(BorrowedStore):
    """A temporary store that stays open when its borrower closes it."""

    def close(self, *, clean: bool = True) -> None:
        """Do nothing: the store is needed again."""

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
            with suppress(FileNotFoundError):  # another workshop that starts at the same time may remove it too
                if left_behind(other.name) and not other.is_symlink() and other.stat().st_uid == mine:
                    shutil.rmtree(other, ignore_errors=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.spoil()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def store(self) -> LentStore:
        """The open store; it may contain records of the region before."""
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
        """Do not use the store again."""
        store, self._store = self._store, None
        if store is not None:
            store.end()

    @contextmanager
    def place(self) -> Iterator[Path]:
        """A folder for one region, empty.

        Raises:
            DatasetError: the disk is full, so that the region's results are invalid.
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
        """The error for a full disk, which names the remedy."""
        return DatasetError(
            f"{self._folder}: the disk is full; make room there or set TMPDIR to another folder, and run it again: "
            "finished parts are kept"
        )


# what it works on -----------------------------------------------------------------------------------------------------


class Marks:
    """The marks of one attempt at a bucket.

    Args:
        folder: where they are.
        bucket: the bucket.
        inputs: digest of what its outcome depends on; marks for other inputs are ignored.
    """

    def __init__(self, folder: Path, bucket: int, inputs: str) -> None:
        self._inputs = inputs
        self._host = socket.gethostname()
        self._deaths: Counter[str] = Counter()
        self._old: list[Path] = []
        for path in sorted(files_below(folder)):
            if path.name.startswith(f"{bucket:05d}.") and path.name.endswith(".working"):
                self._look(path)
        self._path = folder / f"{bucket:05d}.{uuid.uuid4().hex[:12]}.working"

    def _look(self, path: Path) -> None:
        try:
            mark: dict[str, Any] = json.loads(path.read_text("utf-8") or "{}")
        except (OSError, ValueError):
            return
        if mark.get("host") == self._host and _alive(int(mark.get("pid", 0))):
            return  # two attempts at the same bucket run at the same time
        self._old.append(path)
        if mark.get("inputs") == self._inputs and mark.get("region"):
            self._deaths[str(mark["region"])] += 1

    def deaths(self, region: str) -> int:
        """How many processes died while they worked on a region."""
        return self._deaths[region]

    @contextmanager
    def working_on(self, region: str) -> Iterator[None]:
        """Mark the region while the block runs; an exception removes the mark, the death of the process leaves it."""
        self._write(region)
        try:
            yield
        finally:
            self._write("")

    def _write(self, region: str) -> None:
        mark = {"inputs": self._inputs, "region": region, "host": self._host, "pid": os.getpid()}
        publish_json(self._path, mark)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        self._path.unlink(missing_ok=True)
        if error is None:
            for path in self._old:
                path.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    """Whether a process of this machine exists and is not this one, which has no other attempt running."""
    return pid not in (0, os.getpid()) and alive(pid)


# what it may do -------------------------------------------------------------------------------------------------------


_LOOK: Final = 1024
"""The commands of the fast path are read once for this many counted ones; each full control interval counts as one."""
_PATIENCE: Final = 3
_TICK_SECONDS: Final = 2.0
_left_behind: Final[list[greenlet]] = []
"""Handlers that would not end; releasing such a frame would resume it, to end it."""


class OutOfBudget(BaseException):
    """A region exceeded its limit, or made no progress for too long; the text distinguishes both."""


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

    def dispatched(self, _fiber: object) -> None:
        """A task is about to run, or has issued a command."""
        self.used += 1
        if self.used > self.commands or (not self.used % _LOOK and self._done() > self.commands):
            self._refuse_more()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Check for progress while the block runs; outside a process's main thread only the count is checked."""
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

    def _tick(self, _number: int, frame: FrameType | None) -> None:
        if discards_errors(frame):
            return  # the next tick decides
        now = (self.used, self._done())
        self._idle = self._idle + self._every if now == self._seen else 0.0
        self._seen = now
        if self._idle >= self.stuck_seconds or self._refused:
            self._refuse(f"nothing happened for {self.stuck_seconds:g} s; one of its programs does not end")
        if now[1] > self.commands:
            self._refuse_more()

    def _refuse_more(self) -> None:
        self._refuse(f"more than {self.commands:,} dispatches and commands; its tasks do not end")

    def _refuse(self, text: str) -> None:
        self._refused += 1
        error = OutOfBudget(text)
        here = getcurrent()
        if self._refused > _PATIENCE and here.parent is not None:
            _left_behind.append(here)
            here.parent.throw(error)
        raise error
