"""Opening an environment: what can be seen to be wrong is seen before LMDB maps the file.

LMDB trusts its file: a file that is too short kills the process with SIGBUS, a wrong root page number may do anything.
So the two meta pages are read and compared first, and the state record in the tree must be of the last commit.
"""

from __future__ import annotations

import os
from pathlib import Path
from struct import Struct
from typing import Any, Final

import lmdb

from tdqsim.core._entry import FIRST_NUMBER, FORMAT, STATE_KEY
from tdqsim.core._environment import Environment
from tdqsim.core._pages import Meta, PageFile
from tdqsim.core._space import Space
from tdqsim.core._writer import State, Writer
from tdqsim.errors import StoreDamaged, StoreFull, StoreMissing, StoreVersionError

__all__ = ["HELP", "KINDS", "Meta", "any_meta", "make_half", "open_half", "read_meta", "read_state"]

KINDS: Final = ("volatile", "durable")
MAP_SIZE: Final = 64 * 2**30
"""Address space for the map; nothing of it is taken before it is written. What is not mapped needs no growing."""
HELP: Final = "`tdq store check` lists the damage, `tdq store salvage` saves what is whole to a new store"
_LOOKED_AT: Final = 64
"""A file of up to so many pages is looked through at each opening: that takes a few milliseconds at most."""
_MAGIC: Final = 0xBEEFC0DE
_PAGE_HEAD: Final = Struct("=QHHHH")
_META: Final = Struct("=IIQQ" + "IHHQQQQQ" * 2 + "QQ")
_META_FLAG: Final = 0x08
_INTEGER_KEY: Final = 0x08
_NO_PAGE: Final = 2**64 - 1


def _damaged(path: Path, what: str) -> StoreDamaged:
    return StoreDamaged(f"{path}: {what}; {HELP}")


def read_meta(path: Path, *, busy: bool = False) -> Meta:
    """The newer meta page of an environment's file; StoreDamaged when either is not what LMDB writes.

    ``busy`` says that another process may be writing: pages read while it commits are read again.
    """
    for _ in range(20 if busy else 0):
        try:
            return _read_meta(path)
        except StoreDamaged:
            continue
    return _read_meta(path)


def _read_meta(path: Path) -> Meta:
    file = path / "data.mdb"
    try:
        with file.open("rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            first = _meta_at(path, handle.read(_PAGE_HEAD.size + _META.size), 0)
            handle.seek(first.page_size)
            second = _meta_at(path, handle.read(_PAGE_HEAD.size + _META.size), 1)
    except FileNotFoundError:
        raise _damaged(path, "the file data.mdb is missing") from None
    except OSError as error:
        raise StoreMissing(f"{file}: it cannot be read: {error.strerror}") from error
    newer, older = (first, second) if first.txnid > second.txnid else (second, first)
    if (
        newer.txnid - older.txnid > 1
        or newer.page_size != older.page_size
        or (newer.txnid and newer.txnid % 2 != (newer is second))
    ):
        raise _damaged(path, "the two meta pages do not belong together")
    if (newer.last_page + 1) * newer.page_size > size:
        raise _damaged(
            path, f"data.mdb has {size} bytes, but {(newer.last_page + 1) * newer.page_size} are in use: it was cut off"
        )
    return newer


def any_meta(path: Path) -> Meta | None:
    """The newest meta page that can be used at all, for salvage; None when there is none."""
    found: list[Meta] = []
    with (path / "data.mdb").open("rb") as handle:
        size = os.fstat(handle.fileno()).st_size
        for index, at in ((0, 0), *((1, 1 << bits) for bits in range(9, 17))):
            handle.seek(at)
            try:
                meta = _meta_at(path, handle.read(_PAGE_HEAD.size + _META.size), index)
            except StoreDamaged:
                continue
            if index == 0 or meta.page_size == at:
                found.append(meta._replace(last_page=min(meta.last_page, size // meta.page_size - 1)))
    return max(found, key=lambda meta: meta.txnid, default=None)


def _meta_at(path: Path, raw: bytes, index: int) -> Meta:
    what = f"meta page {index} of data.mdb is damaged"
    if len(raw) < _PAGE_HEAD.size + _META.size:
        raise _damaged(path, f"data.mdb is cut off: {what}")
    number, _, flags, _, _ = _PAGE_HEAD.unpack_from(raw)
    magic, version, _, _, *rest = _META.unpack_from(raw, _PAGE_HEAD.size)
    page_size, free_flags, _, free_branch, free_leaf, free_overflow, _, free_root = rest[:8]
    _, flags_main, depth, branch, leaf, overflow, entries, root = rest[8:16]
    last_page, txnid = rest[16:18]
    sane = (
        number == index
        and flags == _META_FLAG
        and magic == _MAGIC
        and version == 1
        and page_size in {1 << bits for bits in range(9, 17)}
        and free_flags & 0xFF == _INTEGER_KEY
        and flags_main == 0
        and depth < 32
        and branch + leaf + overflow <= last_page
        and all(page == _NO_PAGE or 1 < page <= last_page for page in (free_root, root))
    )
    if not sane:
        raise _damaged(path, what)
    free_pages = free_branch + free_leaf + free_overflow
    return Meta(page_size, last_page, txnid, free_root, root, free_pages, branch + leaf + overflow, entries, depth)


def _environment(path: Path, *, sync: bool, readonly: bool) -> Any:
    try:
        return lmdb.open(
            str(path),
            map_size=MAP_SIZE,
            subdir=True,
            sync=sync,
            metasync=sync,
            readonly=readonly,
            lock=True,
            readahead=False,
            max_dbs=0,
            max_readers=126,
            meminit=False,
        )
    except lmdb.Error as error:
        raise _damaged(path, f"LMDB cannot open it: {error}") from error


def make_half(path: Path, kind: str, store_id: bytes, limit: int | None) -> None:
    """Make an empty environment."""
    path.mkdir(exist_ok=True)
    env = _environment(path, sync=False, readonly=False)
    try:
        space = Space(path / "data.mdb", env.stat()["psize"], limit)
        try:
            if not space.grow(32):
                raise StoreFull(f"{path}: there is no room for a new store")
        finally:
            space.close()
        state = State(FORMAT, KINDS.index(kind), store_id, FIRST_NUMBER + 1)
        with env.begin(write=True) as txn:
            state.txnid = txn.id()
            txn.put(STATE_KEY, state.pack())
        env.sync(True)
    finally:
        env.close()


def open_half(path: Path, *, limit: int | None, sync: bool, automatic: bool, readonly: bool) -> Environment:
    """Open an environment, having looked that it is whole as far as that costs nothing; raise what is wrong with it."""
    meta = read_meta(path, busy=readonly)
    if meta.last_page <= _LOOKED_AT and not readonly:
        _look(path, meta)
    env = _environment(path, sync=sync, readonly=readonly)
    try:
        state = _state(env, path)
        space = Space(path / "data.mdb", meta.page_size, limit)
    except BaseException:
        env.close()
        raise
    pen = Writer(env, space, state, path, automatic=automatic, readonly=readonly)
    environment = Environment(env, pen)
    try:
        if not readonly:
            env.reader_check()
            space.start(meta.last_page + 1)
            pen.pending = pen.reclaimable()
    except BaseException:
        environment.close()
        raise
    return environment


def _look(path: Path, meta: Meta) -> None:
    """Look at every page, as LMDB does not: damage that would end the process is an error instead."""
    file = PageFile(path, meta)
    try:
        for _ in file.walk(meta.root):
            pass
        file.check_free()
        if file.problems:
            raise _damaged(path, file.problems[0])
    finally:
        file.close()


def read_state(path: Path) -> State:
    """The state record of an environment, read without opening it."""
    meta = read_meta(path)
    file = PageFile(path, meta)
    try:
        key, record = next(file.walk(meta.root), (b"", None))
    finally:
        file.close()
    return _check_state(record if key == STATE_KEY else None, meta.txnid, path)


def _state(env: Any, path: Path) -> State:
    with env.begin() as txn:
        return _check_state(txn.get(STATE_KEY), txn.id(), path)


def _check_state(record: bytes | None, seen: int, path: Path) -> State:
    if record is None:
        raise _damaged(path, "the state record is missing")
    state = State.unpack(bytes(record), str(path))
    if state.format > FORMAT:
        raise StoreVersionError(f"{path}: the store has format {state.format}; this tdqsim reads up to {FORMAT}")
    if state.kind != KINDS.index(path.name):
        raise _damaged(path, f"it holds the {KINDS[state.kind & 1]} data: files were swapped")
    if state.txnid != seen:
        raise _damaged(path, f"the tree is of commit {state.txnid}, the meta page of commit {seen}")
    return state
