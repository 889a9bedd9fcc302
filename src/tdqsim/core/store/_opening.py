"""Making and opening the LMDB file of one half of a store."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import lmdb

from tdqsim.core.portable import OWN_FILE
from tdqsim.core.store._durable import DAMAGE, Durable
from tdqsim.core.store._layout import FORMAT, HEAD_KEY, Head
from tdqsim.core.store._meta import Meta, repair, usable
from tdqsim.errors import STORE_HELP, StoreDamaged, StoreError, StoreFull

__all__ = ["KINDS", "check_file", "make_half", "open_half", "remove"]

KINDS: Final = ("volatile", "durable")
_MAP: Final = 64 * 2**30
"""Address space for a map: only that, nothing is taken before it is written, so it need not grow with the file."""
_SMALL_MAP: Final = 2**30
"""Where address space is limited."""
_READERS: Final = 126
_LOCK_FILE: Final = (_READERS + 2) * 64
"""Bytes of LMDB's lock file: as many readers, and its own head."""


def remove(path: Path) -> None:
    """Remove a directory with all that is in it, if it is there."""
    if path.exists():
        from shutil import rmtree  # noqa: PLC0415  (it brings what packs archives)

        rmtree(path, ignore_errors=True)


def make_half(path: Path, kind: int, store_id: bytes, limit: int | None) -> None:
    """Make an empty file of a kind in a directory of its own, of which there may be half of one.

    Queues are numbered from somewhere at random, so that a queue of a file that was made anew is told from the old one.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    check_file(path)
    env = _environment(path, sync=False, readonly=False, locked=True)
    try:
        with env.begin(write=True) as txn:
            txn.drop(env.open_db(None, txn), delete=False)
            txn.put(HEAD_KEY, Head(FORMAT, kind, store_id, 1 + int.from_bytes(os.urandom(5), "big")).pack())
    except lmdb.Error as error:
        raise _refused(path, error) from error
    finally:
        env.close()
    open_half(path, kind, store_id, limit=limit, sync=False).close()


def open_half(
    path: Path,
    kind: int,
    store_id: bytes,
    *,
    limit: int | None,
    sync: bool,
    readonly: bool = False,
    closed: Sequence[int] = (),
    note: Callable[[str], None] | None = None,
) -> Durable:
    """Open a file, having looked that it is whole as far as that costs nothing.

    Args:
        path: its directory.
        kind: its place in KINDS, which it must have.
        store_id: the store that it must belong to.
        limit: it never grows over this.
        sync: each commit survives a loss of power.
        readonly: it is only looked at.
        closed: number and checksum of the meta page by which it was closed cleanly, if it was.
        note: told what had to be set right.

    Raises:
        StoreDamaged: it is not what was written.
        StoreFull: the disk is full.
        StoreError: it cannot be opened.
    """
    check_file(path)
    meta, wrong = _meta(path, closed, busy=readonly)
    if closed and [meta.txnid, meta.crc] != closed:
        raise StoreDamaged(
            f"{path}: data.mdb is not as it was when the store was closed: its last commit is {meta.txnid}, "
            f"{closed[0]} is right, or its meta page is damaged; {STORE_HELP}"
        )
    if wrong:
        if readonly:
            raise StoreDamaged(f"{wrong}: open it for writing first; {STORE_HELP}")
        repair(path, meta)
        if note is not None:
            note(wrong)
    locked = not readonly or _may_lock(path)
    env = _environment(path, sync=sync, readonly=readonly, locked=locked)
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


def _meta(path: Path, closed: Sequence[int], *, busy: bool) -> tuple[Meta, str]:
    """The meta page to go by; pages that are read while another process commits are read again."""
    for _ in range(20 if busy else 0):
        try:
            meta, note = usable(path, closed)
        except StoreDamaged:
            continue
        if not note:
            return meta, note
    return usable(path, closed)


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


def _environment(path: Path, *, sync: bool, readonly: bool, locked: bool) -> Any:
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
    """What it means that LMDB cannot open a file."""
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
    if not hasattr(os, "posix_fallocate") or (path.exists() and not path.is_file()):  # then LMDB says what it is
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
