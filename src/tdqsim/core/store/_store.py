"""A store: a directory with volatile and durable queues, which only one process writes at a time.

The head record of the durable file tells whether the store was closed cleanly. Opening the store removes this mark in a
separate commit, and a clean close sets it in the last commit. So the mark is committed and synced together with the
data, and after a failure it always matches the data in the file. If the mark is set, the volatile file must be at the
commit that the mark names, which was synced before. If anything is uncertain, the store counts as not closed cleanly.

After an unclean close every page is checked before LMDB opens the files. If the machine was rebooted since then, all
records are read too, in a separate process, and volatile records are discarded.
"""

from __future__ import annotations

import atexit
import errno
import os
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Self

from tdqsim.core.store._durable import Durable
from tdqsim.core.store._layout import FORMAT, Durability, Head
from tdqsim.core.store._lockfile import LockFile, is_held, this_boot
from tdqsim.core.store._meta import seal
from tdqsim.core.store._opening import (
    KINDS,
    UNFINISHED,
    LastCommit,
    check_file,
    check_pages,
    last_commit,
    make_half,
    open_half,
    remove,
    temporary_half,
)
from tdqsim.core.store._volatile import Volatile
from tdqsim.errors import STORE_HELP, StoreDamaged, StoreError, StoreFull, StoreMissing, StoreVersionError, WrongValue

MEMORY_BYTES: Final = 32 << 20
_open_stores: weakref.WeakSet[Store] = weakref.WeakSet()


class Store:
    """A directory with volatile and durable queues.

    Args:
        path: the directory; None for a temporary one that is removed at close and at the end of the process.
        durability: the failures that a commit survives: ``process`` (SIGKILL) or ``power``.
        limit_bytes: the maximum size of each of the two files; two megabytes of each are reserved for commits.
        create: create the store if it does not exist.
        readonly: only read a store that another process may be writing. Every call sees its last commit; volatile
            records are visible only if they are on the disk.
        memory_bytes: the memory that volatile records may take before they overflow to the disk.

    Attributes:
        volatile: the queues in memory, which may overflow to the disk.
        durable: the durable queues and meta data.
        created: whether this object has created the store.
        closed_clean: whether the previous run closed it cleanly; also True for a new store. With ``readonly``, False
            means that another process has it open or was killed, so volatile records in its memory are not visible.
        salvaged: it was made by salvage and not closed cleanly since, so references to lost records may occur.
        notes: the repairs made when it was opened; the logger ``tdqsim.store`` warns of each.

    Raises:
        StoreInUse: another process writes the store.
        StoreMissing: there is none, and ``create`` is False.
        StoreDamaged: it is not what was written; the message names the damage and the remedy.
        StoreVersionError: another version of tdqsim wrote it; it is not changed.
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
            raise WrongValue(f"durability {durability!r}: it must be 'process' or 'power'")
        if memory_bytes < 1:
            raise WrongValue(f"memory_bytes {memory_bytes}: it must be 1 or more")
        if path == "":
            raise WrongValue("path '': it must name a directory ('.' is the current one), or be None")
        self._temporary = path is None
        self.path = _new_directory() if path is None else Path(path)
        self.readonly = readonly
        self._sync = durability == "power"
        self._limit, self._memory = limit_bytes, memory_bytes
        self._lock: LockFile | None = None
        self._before: Head | None = None
        self._notes: list[str] = []
        self._closing = self._closed = False
        try:
            if self._temporary and create and not readonly:
                self._open_temporary()
            else:
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
        """After a failed opening, mark the store as closed cleanly again, since nothing in it has changed."""
        if self._before is not None:
            self._mark_clean(self._before.volatile, salvaged=self._before.salvaged)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def store_id(self) -> bytes:
        """Its unique identifier."""
        return self._head.store_id

    @property
    def notes(self) -> tuple[str, ...]:
        """See the class."""
        return tuple(self._notes)

    # -- opening ------------------------------------------------------------------------------------------------------

    def _open(self, *, create: bool) -> None:
        last = self._last_commit()
        if last is None and not create:
            raise StoreMissing(f"{self.path}: there is no store here")
        if not self.readonly:
            self._make_directory()
            self._lock = LockFile(self.path / "lock")
            last = self._last_commit()
        self.created = last is None
        if last is None:
            self._create()
            last = last_commit(self.path / "durable")
        assert last.head is not None, "_last_commit refuses a file without"
        self._head = head = last.head
        marked = head.clean and not last.note
        stopped = not marked and head.boot not in (bytes(16), this_boot())  # rebooted while the store was open
        volatile = None if stopped else self._last_volatile(last)
        self.closed_clean = self.created or (marked and self._is_clean(head, volatile))
        self.salvaged = head.salvaged
        if not self.created:
            self._check(last, volatile, stopped=stopped)
        self._open_halves(last, volatile)
        if not self.readonly:
            self.durable.room.refusal(1)  # allocate room now, because the marks must be written even on a full disk
        if not self.readonly and not self.created:
            self._mark_open()

    def _open_temporary(self) -> None:
        """Make a store in a new directory; nothing in it is there before, or is read after the end of the process."""
        self._lock = LockFile(self.path / "lock")
        self.created, self.closed_clean, self.salvaged = True, True, False
        self._head = head = Head(FORMAT, KINDS.index("durable"), os.urandom(16), 0, boot=this_boot())
        self.durable = temporary_half(self.path / "durable", head, limit=self._limit, sync=self._sync)
        self._have_volatile(None)

    def _last_commit(self) -> LastCommit | None:
        """The last commit of the store; None when there is no store yet.

        Raises:
            StoreDamaged: the store is damaged and cannot be opened.
            StoreVersionError: it has another format.
        """
        place = self.path / "durable"
        check_file(place)
        if not place.exists():
            if (self.path / "volatile" / "data.mdb").exists():
                raise StoreDamaged(f"{place}: the file data.mdb is missing; {STORE_HELP}")
            if (self.path / UNFINISHED).exists():
                raise StoreError(f"{self.path}: a salvage to it has not ended; if it was killed, salvage to it again")
            return None
        last = last_commit(place, busy=self.readonly)
        if last.head is None:
            raise StoreDamaged(f"{place}: the head record is missing or damaged; {STORE_HELP}")
        if last.head.format != FORMAT:
            raise StoreVersionError(
                f"{self.path}: the store has format {last.head.format}; this tdqsim reads format {FORMAT}"
            )
        return last

    def _make_directory(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path}: the directory of the store cannot be made: {error.strerror}") from error

    def _create(self) -> None:
        """Make the durable file under a temporary name, so that a process that is killed meanwhile leaves no store."""
        place = self.path / "durable.new"
        remove(place)
        make_half(place, KINDS.index("durable"), os.urandom(16))
        if self._sync:
            _sync(place / "data.mdb", place)
        place.rename(self.path / "durable")
        if self._sync:
            _sync(self.path, self.path.absolute().parent)

    def _last_volatile(self, last: LastCommit) -> LastCommit | None:
        """The last commit of the volatile file; None when there is no such file, or only a part of one."""
        place = self.path / "volatile"
        check_file(place)  # an error now loses nothing; at the later opening it would lose records
        head = last.head
        if not (place / "made").exists() or (head is not None and head.clean and not head.volatile):
            return None
        return last_commit(place, busy=self.readonly)

    def _is_clean(self, head: Head, volatile: LastCommit | None) -> bool:
        """Whether the volatile file is the one of the clean close; False when another process has opened it since.

        Raises:
            StoreDamaged: it is another file, or it is missing.
        """
        if not head.volatile or (volatile is not None and volatile.meta.txnid == head.volatile):
            return True
        if self.readonly and is_held(self.path):  # a process has opened the store since the mark was read
            return False
        place = self.path / "volatile"
        if volatile is not None:
            raise StoreDamaged(f"{place}: the file has changed since the store was closed; {STORE_HELP}")
        if (place / "data.mdb").exists():
            why = "it marks data.mdb beside it as complete; make it anew, as an empty file"
            raise StoreDamaged(f"{place / 'made'}: the file is missing: {why}")
        raise StoreDamaged(f"{place}: the file data.mdb is missing; {STORE_HELP}")

    def _check(self, last: LastCommit, volatile: LastCommit | None, *, stopped: bool) -> None:
        """Check the files, after a clean end too: a page may have been damaged since."""
        if self.readonly and is_held(self.path):  # the process that has it open has checked it
            return
        if stopped and not self.readonly:
            self._machine_stopped()
            return
        check_pages(self.path / "durable", last.meta)
        if volatile is not None:
            check_pages(self.path / "volatile", volatile.meta)

    def _machine_stopped(self) -> None:
        """Handle a reboot of the machine while the store was open, after which unsynced data may be missing.

        The volatile data is discarded. All durable data is read and checked in a separate process.
        """
        remove(self.path / "volatile")
        from tdqsim.core.store.check import look_through  # noqa: PLC0415  (it imports subprocess, rarely needed)

        report = look_through(self.path)
        damaged = [queue for queue in report.queues if queue.damaged]
        if report.problems or damaged:
            what = report.problems[0] if report.problems else f"record {damaged[0].damaged[0]} of {damaged[0].name!r}"
            raise StoreDamaged(f"{self.path}: the machine stopped while the store was in use: {what}; {STORE_HELP}")

    def _open_halves(self, last: LastCommit, volatile: LastCommit | None) -> None:
        self.durable = self._half("durable", last)
        if volatile is None and not self.readonly:
            remove(self.path / "volatile")
        self._have_volatile(volatile)

    def _have_volatile(self, last: LastCommit | None) -> None:
        first = [last]  # applies only to the present file, not to one that is made later

        def open_volatile() -> Durable:
            return self._half("volatile", first.pop() if first else None)

        self.volatile = Volatile(self.path / "volatile", self._memory, open_volatile, there=last is not None)

    def _half(self, kind: str, last: LastCommit | None) -> Durable:
        return _opened(
            self.path, self._head.store_id, kind, limit=self._limit, sync=self._sync, readonly=self.readonly, last=last,
            note=self._note,
        )  # fmt: skip

    def _mark_open(self) -> None:
        """Remove the mark of a clean close from the file, before anything changes."""
        boot = this_boot()
        if not self._head.clean and self._head.boot == boot:
            return
        if self.closed_clean:
            self._before = self._head
        self.durable.mark(lambda head, _: head._replace(clean=False, commit=0, volatile=0, boot=boot))
        if not self._sync:  # with `power` every commit is synced
            self.durable.sync()

    def _mark_clean(self, volatile: int, *, salvaged: bool) -> None:
        """Set the mark of a clean close in the last commit, and sync everything to the disk."""
        self.durable.mark(
            lambda head, commit: head._replace(clean=True, salvaged=salvaged, commit=commit, volatile=volatile)
        )
        seal(self.path / "durable")
        if not self._sync:
            self.durable.sync()

    def _note(self, text: str) -> None:
        """Record a note about a repair and log a warning, since a commit may be missing."""
        self._notes.append(text)
        import logging  # noqa: PLC0415  (few stores have a note)

        logging.getLogger("tdqsim.store").warning(text)

    # -- discarding and closing ---------------------------------------------------------------------------------------

    def discard_volatile(self) -> None:
        """Discard all volatile queues, as an emergency restart does. Volatile queue objects become unusable."""
        self.volatile.discard()

    def clear(self, keep: Mapping[bytes, bytes] | None = None) -> None:
        """Discard everything, as a cold start does. All queue objects become unusable.

        Args:
            keep: durable meta data to write in the same commit.
        """
        self.volatile.discard()
        self.durable.empty(keep)

    @property
    def is_open(self) -> bool:
        """Whether the store, or a part of it, is still open."""
        return not self._closed

    def close(self, *, clean: bool = True) -> None:
        """Write volatile records to the disk and close the store.

        Args:
            clean: False closes the store as if the process had been killed: nothing more is written.

        Raises:
            StoreFull: there is no room for the volatile records; the message says how many are lost. The store is
                closed, but not cleanly. Durable data is kept.
            StoreError: the system refused to write; the consequences are the same.
        """
        if self._closed:
            return
        closing_before, self._closing = self._closing, True
        try:
            if clean and not (
                closing_before or self.readonly or self._temporary
            ):  # after an interrupted close, only close files
                self._finish()
        except OSError as error:
            raise StoreError(f"{error.filename or self.path}: the store cannot be closed: {error.strerror}") from error
        finally:
            self._close_all()

    def close_as(self, *, clean: bool, salvaged: bool) -> None:
        """Close a store that salvage has filled, marked as the damaged one was."""
        self._finish(clean=clean, salvaged=salvaged)
        self.close(clean=False)

    def _finish(self, *, clean: bool = True, salvaged: bool = False) -> None:
        self.durable.settle()
        self._write_out()
        number = 0
        if self.volatile.overflowed:
            number = seal(self.path / "volatile").txnid
            self.volatile.sync()
            _sync(self.path / "volatile", self.path)
        if clean:
            self._mark_clean(number, salvaged=salvaged)
        else:
            self.durable.mark(lambda head, _: head._replace(salvaged=salvaged))
            self.durable.sync()

    def _write_out(self) -> None:
        try:
            self.volatile.write_out()
        except StoreFull as error:
            lost = sum(queue.memory_count for queue in self.volatile.queues())
            raise StoreFull(
                f"{error}; the store is closed as by a failure, and {lost} volatile records that are in memory are lost"
            ) from error

    def _close_all(self) -> None:
        """Close the files; may be called again after an interrupt."""
        for half in ("volatile", "durable"):
            if hasattr(self, half):
                getattr(self, half).close()
        if self._lock is not None:
            self._lock.release()
        if self._temporary:
            remove(self.path)
        self._closed = True

    def abandon(self) -> None:
        """Called in a forked child: refuse every use, and close the lock file; the store belongs to the parent."""
        self._closed = True
        self._temporary = False
        self.volatile.disown()
        self.durable.disown()
        if self._lock is not None:
            self._lock.forget()


def _new_directory() -> Path:
    """Make a temporary directory for a store."""
    import tempfile  # noqa: PLC0415  (most stores have a path)

    return Path(tempfile.mkdtemp(prefix="tdqsim-"))


def _sync(*paths: Path) -> None:
    """Have the system write files and directories to the disk."""
    for path in paths:
        try:
            fd = os.open(path, os.O_RDONLY)
        except OSError:
            if path.is_dir():  # Windows cannot open a directory
                continue
            raise
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _opened(
    path: Path, store_id: bytes, kind: str, *, limit: int | None, sync: bool, readonly: bool,
    last: LastCommit | None, note: Callable[[str], None],
) -> Durable:  # fmt: skip
    """Open one half of a store; the volatile one is made first unless the file ``made`` marks it as complete."""
    place = path / kind
    if kind == "volatile" and not (place / "made").exists():
        remove(place)
        make_half(place, KINDS.index(kind), store_id)
        (place / "made").touch(mode=0o600)
        last = None
    return open_half(
        place, KINDS.index(kind), store_id, limit=limit, sync=sync and kind == "durable", readonly=readonly,
        last=last, note=note,
    )  # fmt: skip


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
