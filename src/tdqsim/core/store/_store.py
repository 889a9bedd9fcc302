"""A store: two environments in one directory, and the promise that one process writes it.

The *volatile* environment is committed often and never synced but at a clean close; the *durable* one is committed
when its user says so. They are apart because a commit would otherwise pay for everything volatile before it.

A commit of the durable environment is one short write to its journal, which is synced with durability ``power``; LMDB's
own file catches up with it now and then.
"""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tdqsim.core.store._entry import INLINE, Durability, Entry, Order, SearchOrder
from tdqsim.core.store._environment import Environment
from tdqsim.core.store._journal import forget_ends, forget_torn
from tdqsim.core.store._lockfile import LockFile, this_boot
from tdqsim.core.store._meta import HELP, KINDS
from tdqsim.core.store._moves import Moves
from tdqsim.core.store._opening import make_half, open_half, read_state
from tdqsim.core.store._queue import StoredQueue
from tdqsim.core.store._state import State, pair_problem
from tdqsim.core.store.check import look_through
from tdqsim.errors import StoreDamaged, StoreError, StoreFull, StoreMissing

__all__ = ["INLINE", "Durability", "Entry", "Environment", "Moves", "Order", "SearchOrder", "Store", "StoredQueue"]

_open_stores: weakref.WeakSet[Store] = weakref.WeakSet()


class Store:
    """A directory with a volatile and a durable environment.

    Args:
        path: the directory; None for a temporary one that is removed at close and at the end of the process.
        durability: what a commit of the durable environment survives: ``process`` (SIGKILL) or ``power``.
        limit_bytes: neither environment's file grows over this.
        create: make the store when there is none.
        readonly: look at a store that another process may be writing; every call sees its last commit.

    Attributes:
        volatile: the environment that is never synced but at a clean close.
        durable: the environment whose commits are kept.
        created: there was no store before.
        closed_clean: how the run before this one ended; True too when there was none.

    Raises:
        StoreInUse: another process writes the store.
        StoreMissing: there is none, and none was to be made.
        StoreDamaged: what is there is not what was written; the message says what, and what can be done.
        StoreVersionError: a newer version of tdqsim wrote it.
        StoreFull: there is no room for a new store.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        durability: Durability = "process",
        limit_bytes: int | None = None,
        create: bool = True,
        readonly: bool = False,
    ) -> None:
        if durability not in ("process", "power"):
            raise ValueError(f"durability {durability!r}: it must be 'process' or 'power'")
        self._temporary = path is None
        self.path = Path(tempfile.mkdtemp(prefix="tdqsim-")) if path is None else Path(path)
        self._durability: Durability = durability
        self._limit = limit_bytes
        self._readonly = readonly
        self._lock: LockFile | None = None
        self._closed = False
        try:
            self._open(create=create and not readonly)
        except OSError as error:
            self._let_go()
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StoreFull(f"{self.path}: the disk is full") from error
            raise StoreError(f"{error.filename or self.path}: the store cannot be opened: {error.strerror}") from error
        except BaseException:
            self._let_go()
            raise
        _open_stores.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _open(self, *, create: bool) -> None:
        there = (self.path / "durable").exists() or (self.path / "volatile").exists()
        if not there and not create:
            raise StoreMissing(f"{self.path}: there is no store here")
        if not self._readonly:
            self._make_directory()
            self._lock = LockFile(self.path / "lock")
            there = there and not self._half_made()
        self.created = not there
        if self.created:
            self._create()
        if self._lock is not None and self._lock.boot_id not in (b"", this_boot()):
            if not self.created:
                self._machine_stopped()  # if this is killed, or refuses the store, the next start does the same
            self._lock.settle()
        self._open_halves()
        self.closed_clean = self.created or self.durable.state.clean
        if not self._readonly:
            self.durable.mark(clean=False)

    def _make_directory(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path}: the directory of the store cannot be made: {error.strerror}") from error

    def _half_made(self) -> bool:
        """Whether the process that made the store was killed before it was done: then nobody has used it."""
        return not (self.path / "durable").exists() and (self.path / "durable.new").exists()

    def _create(self) -> None:
        store_id = os.urandom(16)
        for kind in KINDS:
            shutil.rmtree(self.path / f"{kind}.new", ignore_errors=True)
            make_half(self.path / f"{kind}.new", kind, store_id, self._limit, brief=self._temporary)
        for kind in KINDS:
            shutil.rmtree(self.path / kind, ignore_errors=True)
            (self.path / f"{kind}.new").rename(self.path / kind)

    def _machine_stopped(self) -> None:
        """The machine has been started anew: unless the store was closed, what was not synced is doubtful.

        The volatile data is given up. The durable data is looked through, in a process of its own.
        """
        state = read_state(self.path / "durable")
        if state.clean:
            return
        forget_ends(self.path / "durable")
        if state.synced:
            forget_torn(self.path / "durable", state.txnid)
        report = look_through(self.path)
        wrong = [problem for problem in report.problems if problem.startswith("durable")]
        damaged = [queue for queue in report.queues if queue.environment == "durable" and queue.damaged]
        if wrong or damaged:
            what = wrong[0] if wrong else f"entry {damaged[0].damaged[0]} of queue {damaged[0].name!r} is damaged"
            raise StoreDamaged(f"{self.path}: the machine stopped while the store was in use: {what}; {HELP}")
        shutil.rmtree(self.path / "volatile.new", ignore_errors=True)
        make_half(self.path / "volatile.new", "volatile", state.store_id, self._limit)
        shutil.rmtree(self.path / "volatile", ignore_errors=True)
        (self.path / "volatile.new").rename(self.path / "volatile")

    def _open_halves(self) -> None:
        self.volatile = self._half("volatile", sync=False, automatic=True)
        try:
            self.durable = self._half("durable", sync=self._durability == "power", automatic=False)
            try:
                self._check_pair(self.volatile.state, self.durable.state)
            except BaseException:
                self.durable.close()
                raise
        except BaseException:
            self.volatile.close()
            raise

    def _half(self, kind: str, *, sync: bool, automatic: bool) -> Environment:
        return open_half(
            self.path / kind,
            limit=self._limit,
            sync=sync,
            automatic=automatic,
            readonly=self._readonly,
            brief=self._temporary,
        )

    def _check_pair(self, volatile: State, durable: State) -> None:
        if problem := pair_problem(volatile, durable):
            raise StoreDamaged(f"{self.path}: {problem}; {HELP}")

    # -- life -----------------------------------------------------------------------------------------------------

    def discard_volatile(self) -> None:
        """Throw everything volatile away, as an emergency restart does. Volatile queue objects become unusable."""
        self.volatile.empty()

    def clear(self, keep: Mapping[bytes, bytes] | None = None) -> None:
        """Throw everything away, as a cold start does. All queue objects become unusable.

        Args:
            keep: durable meta data that is there instead, from the same commit on.
        """
        self.volatile.empty()
        self.durable.empty(keep)

    def close(self, *, clean: bool = True) -> None:
        """Close the store. Unless ``clean``, what is not committed is lost, as if the process had been killed."""
        if self._closed:
            return
        self._closed = True
        try:
            if not self._readonly:
                self._finish(clean=clean and not self._temporary)
        finally:
            self.volatile.close()
            self.durable.close()
            self._let_go()

    def _finish(self, *, clean: bool) -> None:
        if not clean:
            return
        self.volatile.commit()
        self.volatile.sync()
        self.durable.commit()
        self.durable.mark(clean=True, partner=self.volatile.state.txnid)
        self.durable.sync()

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        if self._temporary:
            shutil.rmtree(self.path, ignore_errors=True)

    def abandon(self) -> None:
        """In a forked child: the store belongs to the parent, so refuse every use and let the lock go."""
        self._closed = True
        self._temporary = False
        for half in (self.volatile, self.durable):
            half.disown()
        if self._lock is not None:
            self._lock.release()


def _at_exit() -> None:
    for store in list(_open_stores):
        if store._temporary:  # noqa: SLF001 - the module's own class
            store.close(clean=False)


def _in_child() -> None:
    for store in list(_open_stores):
        store.abandon()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
