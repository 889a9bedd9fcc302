"""Making and opening the LMDB file of one half of a store."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import lmdb

from tdqsim.core.portable import OWN_FILE
from tdqsim.core.store._durable import DAMAGE, Durable
from tdqsim.core.store._layout import FORMAT, HEAD_KEY, Head, read_head
from tdqsim.core.store._lockfile import this_boot
from tdqsim.core.store._meta import Meta, repair, usable
from tdqsim.core.store._pages import PageFile
from tdqsim.errors import STORE_HELP, StoreDamaged, StoreError, StoreFull

__all__ = [
    "KINDS",
    "LastCommit",
    "check_file",
    "check_pages",
    "environment",
    "last_commit",
    "make_half",
    "open_half",
    "remove",
]

KINDS: Final = ("volatile", "durable")
_MAP: Final = 64 * 2**30
"""Address space for a map: only that, nothing is taken before it is written, so it need not grow with the file."""
_SMALL_MAP: Final = 2**30
"""Where address space is limited."""
_READERS: Final = 126
_LOCK_FILE: Final = (_READERS + 2) * 64
"""Bytes of LMDB's lock file: as many readers, and its own head."""


def remove(path: Path) -> None:
    """Remove a directory with its contents, if it is there."""
    if path.exists():
        shutil.rmtree(path, ignore_errors=True)


def make_half(path: Path, kind: int, store_id: bytes) -> None:
    """Make an empty file of a kind in a directory of its own, of which there may be half of one.

    Queues are numbered from somewhere at random, so that a queue of a recreated file is not taken for the old one.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    check_file(path)
    number = 1 + int.from_bytes(os.urandom(5), "big")
    env = environment(path, sync=False, readonly=False, locked=True)
    try:
        with env.begin(write=True) as txn:
            txn.drop(env.open_db(None, txn), delete=False)
            txn.put(HEAD_KEY, Head(FORMAT, kind, store_id, number, boot=this_boot()).pack())
    except lmdb.Error as error:
        raise _refused(path, error) from error
    finally:
        env.close()


class LastCommit(NamedTuple):
    """The last commit of a file, read without LMDB.

    Attributes:
        meta: its meta page.
        head: its head record; None when that is missing or damaged.
        note: the problem with the other meta page, so that this may not be the last commit; empty for none.
    """

    meta: Meta
    head: Head | None
    note: str


def last_commit(path: Path, *, busy: bool = False) -> LastCommit:
    """The last commit of the file in a directory.

    Args:
        path: the directory.
        busy: another process may be committing meanwhile: data that looks damaged is read again.

    Raises:
        StoreDamaged: the file is missing, or neither of its meta pages can be used.
        StoreError: it cannot be read.
    """
    for _ in range(20 if busy else 0):
        try:
            found = _last_commit(path)
        except StoreDamaged:
            continue
        if found.head is not None and not found.note:
            return found
    return _last_commit(path)


def _last_commit(path: Path) -> LastCommit:
    meta, note = usable(path)
    head = _head(path, meta)
    if head is not None and head.clean and head.commit != meta.txnid:  # another commit would have removed the mark
        meta, note = usable(path, without=meta)
        head = _head(path, meta)
    return LastCommit(meta, head, note)


def _head(path: Path, meta: Meta) -> Head | None:
    file = PageFile(path, meta)
    try:
        return read_head(file.get(HEAD_KEY))
    except StoreDamaged:
        return None
    finally:
        file.close()


def check_pages(path: Path, meta: Meta) -> None:
    """Read every page of a commit. LMDB trusts its pages, and one that is damaged may end the process.

    Raises:
        StoreDamaged: a page is not as LMDB wrote it.
    """
    file = PageFile(path, meta)
    try:
        problems = file.check()
    finally:
        file.close()
    if problems:
        raise StoreDamaged(f"{path}: data.mdb is damaged: {problems[0]}; {STORE_HELP}")


def open_half(
    path: Path,
    kind: int,
    store_id: bytes,
    *,
    limit: int | None,
    sync: bool,
    readonly: bool = False,
    last: LastCommit | None = None,
    note: Callable[[str], None] | None = None,
) -> Durable:
    """Open a file after the cheap checks.

    Args:
        path: its directory.
        kind: its place in KINDS, which it must have.
        store_id: the store that it must belong to.
        limit: it never grows over this.
        sync: each commit survives a loss of power.
        readonly: it is only looked at.
        last: its last commit, if the caller knows it.
        note: called with a text about each repair.

    Raises:
        StoreDamaged: it is not as it was written.
        StoreFull: the disk is full.
        StoreError: it cannot be opened.
    """
    check_file(path)
    meta, _, wrong = last or last_commit(path, busy=readonly)
    if wrong:
        if readonly:
            raise StoreDamaged(f"{wrong}: open it for writing first; {STORE_HELP}")
        repair(path, meta)
        if note is not None:
            note(wrong)
    locked = not readonly or _may_lock(path)
    env = environment(path, sync=sync, readonly=readonly, locked=locked)
    half = None
    try:
        if not readonly:
            env.reader_check()
        half = Durable(env, path, limit, readonly=readonly, unlocked=not locked)
        half.check_head(kind, store_id)
    except BaseException:
        (half or env).close()
        raise
    return half


def check_file(path: Path) -> None:
    """StoreError when a symbolic link would lead elsewhere, or something else has the directory's place."""
    for place in (path, path / "data.mdb", path / "lock.mdb"):
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(mode):
            raise StoreError(f"{place}: it is a symbolic link; a store has its own files")
        if place is path and not stat.S_ISDIR(mode):
            raise StoreError(f"{place}: it is no directory; a store keeps files of its own there")


def _may_lock(path: Path) -> bool:
    """Whether LMDB's lock file is there and may be written, which even a reader does."""
    file = path / "lock.mdb"
    return file.exists() and os.access(file, os.W_OK)


def environment(path: Path, *, sync: bool, readonly: bool, locked: bool) -> Any:
    """Open a file with LMDB; ``locked`` with its lock file, in which readers are listed."""
    file = path / "data.mdb"
    least = 4 * file.stat().st_size if file.exists() else 0
    if not readonly:
        _reserve_lock_file(path / "lock.mdb")
    for size in (max(_MAP, least), max(_SMALL_MAP, least)):
        try:
            return _lmdb(path, size, sync=sync, readonly=readonly, locked=locked)
        except lmdb.MemoryError:
            continue
        except lmdb.Error as error:
            raise _refused(path, error) from error
    raise StoreFull(f"{path}: there is no address space for a map of {max(_SMALL_MAP, least)} bytes")


def _refused(path: Path, error: lmdb.Error) -> StoreError:
    """Our exception when LMDB cannot open a file."""
    text = str(error)
    if "No space left" in text:
        return StoreFull(f"{path}: the disk is full")
    if "already open in this process" in text:
        return StoreError(f"{path}: this process has it open already")
    if isinstance(error, DAMAGE):
        return StoreDamaged(f"{path}: LMDB cannot open data.mdb: {text}; {STORE_HELP}")
    return StoreError(f"{path}: data.mdb or lock.mdb cannot be opened: {text.removeprefix(f'{path}: ')}")


def _reserve_lock_file(path: Path) -> None:
    """LMDB writes its lock file through a mapping, and a full disk would end the process there: have its room first."""
    if not hasattr(os, "posix_fallocate") or (
        path.exists() and not path.is_file()
    ):  # then LMDB's error names the reason
        return
    fd = os.open(path, os.O_RDWR | os.O_CREAT | OWN_FILE, 0o600)
    try:
        os.posix_fallocate(fd, 0, _LOCK_FILE)
    finally:
        os.close(fd)


def _lmdb(path: Path, size: int, *, sync: bool, readonly: bool, locked: bool) -> Any:
    return lmdb.open(
        str(path),
        map_size=size,
        subdir=True,
        sync=sync,
        metasync=sync,
        readonly=readonly,
        lock=locked,
        readahead=False,
        max_dbs=0,
        max_readers=_READERS,
        meminit=False,
        mode=0o600,
        create=not readonly,
    )
