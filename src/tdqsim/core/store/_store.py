"""A store: a directory with volatile and durable queues, and the promise that one process writes it."""

from __future__ import annotations

import atexit
import errno
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Self

from tdqsim.core.store._durable import Durable
from tdqsim.core.store._layout import Durability
from tdqsim.core.store._lockfile import LockFile, this_boot
from tdqsim.core.store._meta import usable
from tdqsim.core.store._opening import KINDS, check_file, make_half, open_half, remove
from tdqsim.core.store._state import State, StateFile
from tdqsim.core.store._volatile import Volatile
from tdqsim.errors import STORE_HELP, StoreDamaged, StoreError, StoreFull, StoreMissing, StoreVersionError

__all__ = ["Store"]

MEMORY_BYTES: Final = 32 << 20
_open_stores: weakref.WeakSet[Store] = weakref.WeakSet()


class Store:
    """A directory with volatile and durable queues.

    Args:
        path: the directory; None for a temporary one that is removed at close and at the end of the process.
        durability: what a commit survives: ``process`` (SIGKILL) or ``power``.
        limit_bytes: neither of the two files grows over this; two megabytes of each are kept for commits.
        create: make the store when there is none.
        readonly: look at a store that another process may be writing; every call sees its last commit, and of volatile
            records those only that are on the disk.
        memory_bytes: what volatile records may take in memory before they overflow to the disk.

    Attributes:
        volatile: the queues that are in memory and overflow.
        durable: the queues and the meta data whose commits are kept.
        created: there was no store before.
        closed_clean: how the run before this one ended; True too when there was none. When the store is only looked
            at, False says that another process has it open, or was killed: volatile records in memory are not seen.
        salvaged: it was made by salvage, and nobody has closed it cleanly since: what refers to what was lost is to
            be expected.
        notes: what had to be set right when it was opened; each is a warning of the logger ``tdqsim.store`` too.

    Raises:
        StoreInUse: another process writes the store.
        StoreMissing: there is none, and none was to be made.
        StoreDamaged: what is there is not what was written; the message says what, and what can be done.
        StoreVersionError: another version of tdqsim wrote it; it is left as it is.
        StoreFull: there is no room for a new store.
        ValueError: an argument is out of range, or the path is empty.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        durability: Durability = "process",
        limit_bytes: int | None = None,
        create: bool = True,
        readonly: bool = False,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        if durability not in ("process", "power"):
            raise ValueError(f"durability {durability!r}: it must be 'process' or 'power'")
        if memory_bytes < 1:
            raise ValueError(f"memory_bytes {memory_bytes}: it must be 1 or more")
        if path == "":
            raise ValueError("path '': it must name a directory ('.' is the current one), or be None")
        self._temporary = path is None
        self.path = _new_directory() if path is None else Path(path)
        self.readonly = readonly
        self._sync = durability == "power"
        self._limit, self._memory = limit_bytes, memory_bytes
        self._lock: LockFile | None = None
        self._file = StateFile(self.path / "state")
        self._before: State | None = None
        self._notes: list[str] = []
        self._closing = self._closed = False
        try:
            self._open(create=create and not readonly)
            _open_stores.add(self)
        except OSError as error:
            self._close_all()
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StoreFull(f"{self.path}: the disk is full") from error
            raise StoreError(f"{error.filename or self.path}: the store cannot be opened: {error.strerror}") from error
        except BaseException:
            self._leave_as_it_was()
            self._close_all()
            raise

    def _leave_as_it_was(self) -> None:
        """Opening it was cut short: nothing of it has changed since it was closed."""
        if self._before is not None:
            self._file.write(self._before)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def store_id(self) -> bytes:
        """What tells it from other stores."""
        return bytes.fromhex(self._state.store_id)

    @property
    def notes(self) -> tuple[str, ...]:
        """See the class."""
        return tuple(self._notes)

    # -- opening ------------------------------------------------------------------------------------------------------

    def _open(self, *, create: bool) -> None:
        state = self._known()
        if state is None and not create:
            raise StoreMissing(f"{self.path}: there is no store here")
        if not self.readonly:
            self._make_directory()
            self._lock = LockFile(self.path / "lock")
            state = self._known()
        if self._file.note:
            _noted(self._notes, self._file.note)
        self.created = state is None or not state.made
        if state is None or not state.made:
            if self.readonly:
                raise StoreMissing(f"{self.path}: the store is not finished yet")
            state = self._create()
        self._state = state
        self.closed_clean, self.salvaged = self.created or state.clean, state.salvaged
        if not self.readonly and not self.closed_clean and state.boot not in ("", this_boot()):
            self._machine_stopped()
        self._open_halves(bytes.fromhex(state.store_id))
        if not self.readonly:
            self._before = state
            self._state = state._replace(clean=False, boot=this_boot(), commits={})
            self._file.write(self._state)

    def _known(self) -> State | None:
        """The state of the store that is here; None when there is none."""
        state = self._file.read()
        if state is None and any((self.path / kind / "data.mdb").exists() for kind in KINDS):
            raise StoreVersionError(
                f"{self.path}: the store has no file `state`: it is of an older format, which this tdqsim does not "
                f"read, "
                f"or is not whole; it was left as it is"
            )
        return state

    def _make_directory(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path}: the directory of the store cannot be made: {error.strerror}") from error

    def _create(self) -> State:
        """Make a store; killed in between, it is made again from the beginning."""
        state = State(os.urandom(16).hex())
        self._file.write(state)
        remove(self.path / "durable")
        make_half(self.path / "durable", 1, bytes.fromhex(state.store_id), self._limit)
        state = state._replace(made=True, clean=True)
        self._file.write(state)
        return state

    def _machine_stopped(self) -> None:
        """The machine has been started anew while the store was open: what was not synced is doubtful.

        The volatile data is given up. The durable data is looked through, in a process of its own.
        """
        remove(self.path / "volatile")
        from tdqsim.core.store.check import look_through  # noqa: PLC0415  (it brings what starts processes)

        report = look_through(self.path)
        damaged = [queue for queue in report.queues if queue.damaged]
        if report.problems or damaged:
            what = report.problems[0] if report.problems else f"record {damaged[0].damaged[0]} of {damaged[0].name!r}"
            raise StoreDamaged(f"{self.path}: the machine stopped while the store was in use: {what}; {STORE_HELP}")

    def _open_halves(self, store_id: bytes) -> None:
        closed = self._state.commits if self._state.clean else {}
        half = partial(
            _opened, self.path, store_id, limit=self._limit, sync=self._sync, readonly=self.readonly, closed=closed,
            note=partial(_noted, self._notes),
        )  # fmt: skip
        self.durable = half("durable")
        check_file(self.path / "volatile")  # it is opened later, where an error would cost records
        there = (self.path / "volatile" / "made").exists()
        if "volatile" in closed and not there:
            raise StoreDamaged(
                f"{self.path / 'volatile'}: the file is missing that the store was closed with; {STORE_HELP}"
            )
        self.volatile = Volatile(self.path / "volatile", self._memory, partial(half, "volatile"), there=there)

    # -- life ---------------------------------------------------------------------------------------------------------

    def discard_volatile(self) -> None:
        """Throw everything volatile away, as an emergency restart does. Volatile queue objects become unusable."""
        self.volatile.discard()

    def clear(self, keep: Mapping[bytes, bytes] | None = None) -> None:
        """Throw everything away, as a cold start does. All queue objects become unusable.

        Args:
            keep: durable meta data that is there instead, from the same commit on.
        """
        self.volatile.discard()
        self.durable.empty(keep)

    @property
    def is_open(self) -> bool:
        """Whether anything of it is still to be closed."""
        return not self._closed

    def close(self, *, clean: bool = True) -> None:
        """Close the store, writing volatile records out. Unless ``clean``, as if the process had been killed.

        Raises:
            StoreFull: there is no room for the volatile records, and how many are lost; the store is closed, but not
                cleanly. What is durable is kept.
            StoreError: the system refused to write; likewise.
        """
        if self._closed:
            return
        begun, self._closing = self._closing, True
        try:
            if clean and not (begun or self.readonly or self._temporary):  # one that was interrupted is only finished
                self._finish()
        except OSError as error:
            raise StoreError(f"{error.filename or self.path}: the store cannot be closed: {error.strerror}") from error
        finally:
            self._close_all()

    def _finish(self) -> None:
        self.durable.settle()
        self._write_out()
        self.volatile.sync()
        self.durable.sync()
        commits = {}
        for kind in KINDS if self.volatile.overflowed else ("durable",):
            meta, _ = usable(self.path / kind)
            commits[kind] = [meta.txnid, meta.crc]
        self._file.write(self._state._replace(clean=True, salvaged=False, commits=commits), sync=self._sync)

    def _write_out(self) -> None:
        try:
            self.volatile.write_out()
        except StoreFull as error:
            lost = sum(queue.memory_count for queue in self.volatile.queues())
            raise StoreFull(
                f"{error}; the store is closed as by a failure, and {lost} volatile records that are in memory are lost"
            ) from error

    def _close_all(self) -> None:
        """Close what is open; may be done again when it was interrupted."""
        for half in ("volatile", "durable"):
            if hasattr(self, half):
                getattr(self, half).close()
        if self._lock is not None:
            self._lock.release()
        if self._temporary:
            remove(self.path)
        self._closed = True

    def abandon(self) -> None:
        """In a forked child: the store belongs to the parent, so refuse every use and let the lock go."""
        self._closed = True
        self._temporary = False
        self.volatile.disown()
        self.durable.disown()
        if self._lock is not None:
            self._lock.forget()


def _new_directory() -> Path:
    """A directory for a store that nobody gave one."""
    import tempfile  # noqa: PLC0415  (a tool that works on a store need not wait for it)

    return Path(tempfile.mkdtemp(prefix="tdqsim-"))


def _opened(
    path: Path, store_id: bytes, kind: str, *, limit: int | None, sync: bool, readonly: bool,
    closed: Mapping[str, Sequence[int]], note: Callable[[str], None],
) -> Durable:  # fmt: skip
    """One half of a store; the volatile one is made when the file ``made`` does not say that it is finished."""
    place, as_closed = path / kind, closed.get(kind, ())
    if kind == "volatile" and not (place / "made").exists():
        remove(place)
        make_half(place, KINDS.index(kind), store_id, limit)
        (place / "made").touch(mode=0o600)
        as_closed = ()  # that was another file, which has been discarded since
    return open_half(
        place, KINDS.index(kind), store_id, limit=limit, sync=sync and kind == "durable", readonly=readonly,
        closed=as_closed, note=note,
    )  # fmt: skip


def _noted(notes: list[str], text: str) -> None:
    """Keep what had to be set right, and say it where somebody sees it: something may be missing."""
    notes.append(text)
    import logging  # noqa: PLC0415  (few stores have a note)

    logging.getLogger("tdqsim.store").warning(text)


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
