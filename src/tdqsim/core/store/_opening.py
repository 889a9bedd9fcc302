"""Making and opening the LMDB file of one half (volatile or durable) of a store."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import lmdb

from tdqsim.core.named import NamedTuple
from tdqsim.core.portable import OWN_FILE
from tdqsim.core.store._durable import DAMAGE, Durable
from tdqsim.core.store._layout import FORMAT, HEAD_KEY, META, QUEUE, Head, read_head, unseal
from tdqsim.core.store._lockfile import this_boot
from tdqsim.core.store._meta import Meta, repair, usable
from tdqsim.core.store._pages import PageFile
from tdqsim.errors import STORE_HELP, StoreDamaged, StoreError, StoreFull

KINDS: Final = ("volatile", "durable")
UNFINISHED: Final = "unfinished"
"""The subdirectory in which a salvage makes the new store."""
_SEALED: Final = (META, QUEUE)
_MAP: Final = 64 * 2**30
"""The size of a map. It takes only address space, no memory or disk, so it is large enough from the start."""
_SMALL_MAP: Final = 2**30
"""The size of a map where address space is limited."""
_READERS: Final = 126
_LOCK_FILE: Final = (_READERS + 2) * 64
"""The size of LMDB's lock file: a header and one slot for each reader."""


def remove(path: Path) -> None:
    """Remove a directory with its contents, if it exists."""
    if path.exists():
        from shutil import rmtree  # noqa: PLC0415  (it imports all that reads archives)

        rmtree(path, ignore_errors=True)


def make_half(path: Path, kind: int, store_id: bytes) -> None:
    """Make an empty file of a kind in its own directory, where an interrupted call may have left an incomplete one.

    The internal numbers of queues begin at a random number, so that a queue of a recreated file is not mistaken for the
    old one.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    check_file(path)
    env = environment(path, sync=False, readonly=False, locked=True)
    try:
        _make_empty(env, path, Head(FORMAT, kind, store_id, 0, boot=this_boot()))
    finally:
        env.close()


def temporary_half(path: Path, head: Head, *, limit: int | None, sync: bool) -> Durable:
    """Make the file of a store that is never opened again, in a new directory, and leave it open."""
    path.mkdir(mode=0o700)
    env = environment(path, sync=sync, readonly=False, locked=True)
    try:
        _make_empty(env, path, head)
        return Durable(env, path, limit, readonly=False, unlocked=False)
    except BaseException:
        env.close()
        raise


def _make_empty(env: Any, path: Path, head: Head) -> None:
    number = 1 + int.from_bytes(os.urandom(5), "big")
    try:
        with env.begin(write=True) as txn:
            txn.drop(env.open_db(None, txn), delete=False)
            txn.put(HEAD_KEY, head._replace(next_number=number).pack())
    except lmdb.Error as error:
        raise _refused(path, error) from error


class LastCommit(NamedTuple):
    """The last commit of a file, read without LMDB.

    Attributes:
        meta: its meta page.
        head: its head record; None when that is missing or damaged.
        note: the problem with the other meta page, because of which a later commit may be missing; empty for none.
    """

    meta: Meta
    head: Head | None
    note: str


def last_commit(path: Path, *, busy: bool = False) -> LastCommit:
    """The last commit of the file in a directory.

    Args:
        path: the directory.
        busy: another process may be writing the file, so data that looks damaged is read again.

    Raises:
        StoreDamaged: the file is missing, or neither of its meta pages can be used.
        StoreError: it cannot be read.
    """
    for _ in range(20 if busy else 0):
        try:
            commit = _last_commit(path)
        except StoreDamaged:
            continue
        if commit.head is not None and not commit.note:
            return commit
    return _last_commit(path)


def _last_commit(path: Path) -> LastCommit:
    meta, note = usable(path)
    head = _head(path, meta)
    if head is not None and head.clean and head.commit != meta.txnid:  # any later commit removes the clean mark
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
    """Read and check every page of a commit, because LMDB trusts its pages and a damaged one may kill the process.

    The values of meta data and of queue records are checked too: a search passes by a key that damage has altered, so
    a record under such a key would be missing without an error.

    Raises:
        StoreDamaged: a page is not what LMDB wrote.
    """
    file = PageFile(path, meta)
    try:
        for key, value in file.records():
            if key[:1] in _SEALED:
                unseal(key, value, "a record")
        file.free()
        wrong = file.problems[0] if file.problems else ""
    except StoreDamaged:
        wrong = f"the record under the key {key!r} is damaged: its checksum does not match"
    finally:
        file.close()
    if wrong:
        raise StoreDamaged(f"{path}: data.mdb is damaged: {wrong}; {STORE_HELP}")


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
    """Open a file after quick checks.

    Args:
        path: its directory.
        kind: the index in KINDS that its head must have.
        store_id: the store that it must belong to.
        limit: its maximum size in bytes, or None.
        sync: whether each commit survives a loss of power.
        readonly: whether it is only read.
        last: its last commit, if the caller knows it, and has checked the files.
        note: called with a text about each repair.

    Raises:
        StoreDamaged: it is not what was written.
        StoreFull: the disk is full.
        StoreError: it cannot be opened.
    """
    if last is None:
        check_file(path)
        last = last_commit(path, busy=readonly)
    meta, _, wrong = last
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
    """Raise StoreError if the path is not a directory, or a file in it is not a regular file, such as a link."""
    for place in (path, path / "data.mdb", path / "lock.mdb"):
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(mode):
            raise StoreError(f"{place}: it is a symbolic link; a store has its own files")
        if place is path and not stat.S_ISDIR(mode):
            raise StoreError(f"{place}: it is not a directory; a store keeps its files there")
        if place is not path and not stat.S_ISREG(mode):
            raise StoreError(f"{place}: it is not a regular file")


def _may_lock(path: Path) -> bool:
    """Whether LMDB's lock file exists and may be written; even a reader writes it."""
    file = path / "lock.mdb"
    return file.exists() and os.access(file, os.W_OK)


def environment(path: Path, *, sync: bool, readonly: bool, locked: bool) -> Any:
    """Open a file with LMDB; with ``locked``, use LMDB's lock file, which lists the readers."""
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
    """The package's exception for a file that LMDB cannot open."""
    text = str(error)
    if "No space left" in text:
        return StoreFull(f"{path}: the disk is full")
    if "already open in this process" in text:
        return StoreError(f"{path}: this process has it open already")
    if isinstance(error, DAMAGE):
        return StoreDamaged(f"{path}: LMDB cannot open data.mdb: {text}; {STORE_HELP}")
    return StoreError(f"{path}: data.mdb or lock.mdb cannot be opened: {text.removeprefix(f'{path}: ')}")


def _reserve_lock_file(path: Path) -> None:
    """Allocate LMDB's lock file; LMDB writes it through a mapping, where a full disk would kill the process."""
    if not hasattr(os, "posix_fallocate") or (
        path.exists() and not path.is_file()
    ):  # not a file: LMDB's own error names the reason
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
