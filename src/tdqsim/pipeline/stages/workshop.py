"""Where the regions of a bucket are made, one after another: a folder for data sets, and one temporary store.

To open a store costs more than everything else about a small region. So a store is handed to one region after another,
each of which begins with an initial start and so finds nothing in it; a region that did not end well, or made the
store large, is the last one to have it.

All of it is in one temporary folder, whose name tells its process: whoever comes next removes those of processes that
were killed.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

from tdqsim.core.store import Store
from tdqsim.errors import DatasetError, StoreFull
from tdqsim.pipeline.bounds import BOUNDS
from tdqsim.pipeline.publishing import left_behind

__all__ = ["LentStore", "Workshop"]

_PREFIX: Final = "tdqsim-replay"
_ROOM: Final = 1 << 20


class LentStore(Store):
    """A temporary store that stays open when its borrower closes it."""

    def __init__(self) -> None:
        super().__init__()
        self._own = {path.name for path in self.path.iterdir()}

    def close(self, *, clean: bool = True) -> None:
        """Nothing: it is wanted again."""

    def end(self) -> None:
        """Close it."""
        super().close(clean=False)

    def tidy(self) -> int:
        """Remove what a borrower laid beside it (a spool); gives the bytes of the store's own files."""
        for path in self.path.iterdir():
            if path.name not in self._own:
                shutil.rmtree(path)
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
        """The store; whoever takes it finds it open, and with whatever records were in it."""
        if self._store is not None and self._store.tidy() > BOUNDS["store_bytes"]:
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
            DatasetError: the disk is full: what the region gave is then worth nothing.
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
