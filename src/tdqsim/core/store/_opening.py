"""Opening an environment: what can be seen to be wrong is seen before LMDB maps the file.

LMDB trusts its file: a file that is too short kills the process with SIGBUS, a wrong root page number may do anything.
So the two meta pages are read and compared first, and the state record in the tree must be of the last commit.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import lmdb

from tdqsim.core.store._entry import FIRST_NUMBER, FORMAT, STATE_KEY
from tdqsim.core.store._environment import Environment
from tdqsim.core.store._half import Half
from tdqsim.core.store._journal import Journal, JournalView, look_at_journal
from tdqsim.core.store._meta import KINDS, damaged, read_meta, swapped
from tdqsim.core.store._pages import Meta, PageFile
from tdqsim.core.store._space import Space
from tdqsim.core.store._state import State
from tdqsim.core.store._writer import Writer
from tdqsim.errors import StoreError, StoreFull, StoreVersionError

__all__ = ["make_half", "open_half", "read_state"]

_MAP: Final = 64 * 2**30
"""Address space for a map: only that, nothing is taken before it is written, so it need not grow with the file."""
_SMALL_MAP: Final = 2**30
"""Where address space is limited."""
_READERS: Final = 126
_LOCK_FILE: Final = (_READERS + 2) * 64
"""Bytes of LMDB's lock file: as many readers, and its own head."""
_LOOKS: Final = 20
_DAMAGE: Final = (lmdb.CorruptedError, lmdb.InvalidError, lmdb.PanicError, lmdb.VersionMismatchError)
"""What LMDB says of a file that is not right in itself; all else is what the system says of one that is."""
_LOOKED_AT: Final = 64
"""A file of up to so many pages is looked through at each opening: that takes a few milliseconds."""
_SHAPE_LOOKED_AT: Final = 1024
"""Of a file of up to so many pages, which is some 50,000 small records, at least the pages' shape is looked at."""


def _environment(path: Path, *, sync: bool, readonly: bool) -> tuple[Any, int]:
    """The LMDB environment and the size of its map."""
    file = path / "data.mdb"
    least = 4 * file.stat().st_size if file.exists() else 0
    if not readonly:
        _reserve_lock_file(path / "lock.mdb")
    for size in (max(_MAP, least), max(_SMALL_MAP, least)):
        try:
            return _lmdb(path, size, sync=sync, readonly=readonly), size
        except lmdb.MemoryError:
            continue
        except lmdb.Error as error:
            if "No space left" in str(error):
                raise StoreFull(f"{path}: the disk is full") from error
            if "already open in this process" in str(error):
                raise StoreError(f"{path}: this process has it open already") from error
            if isinstance(error, _DAMAGE):
                raise damaged(path, f"LMDB cannot open it: {error}") from error
            reason = str(error).removeprefix(f"{path}: ")
            raise StoreError(f"{path}: data.mdb or lock.mdb cannot be opened: {reason}") from error
    raise StoreFull(f"{path}: there is no address space for a map of {max(_SMALL_MAP, least)} bytes")


def _reserve_lock_file(path: Path) -> None:
    """LMDB writes its lock file through a mapping, and a full disk would end the process there: have its room first."""
    if not hasattr(os, "posix_fallocate") or (path.exists() and not path.is_file()):  # then LMDB says what it is
        return
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.posix_fallocate(fd, 0, _LOCK_FILE)
    finally:
        os.close(fd)


def _lmdb(path: Path, size: int, *, sync: bool, readonly: bool) -> Any:
    return lmdb.open(
        str(path),
        map_size=size,
        subdir=True,
        sync=sync,
        metasync=sync,
        readonly=readonly,
        lock=True,
        readahead=False,
        max_dbs=0,
        max_readers=_READERS,
        meminit=False,
    )


def make_half(path: Path, kind: str, store_id: bytes, limit: int | None, *, brief: bool = False) -> None:
    """Make an empty environment; a ``brief`` one is gone with its process: it needs no sync and holds no room ahead."""
    path.mkdir(exist_ok=True)
    env, _ = _environment(path, sync=False, readonly=False)
    try:
        space = Space(path / "data.mdb", env.stat()["psize"], limit, _SMALL_MAP)
        try:
            if not (brief and space.ample()) and not space.grow(32):
                raise StoreFull(f"{path}: there is no room for a new store")
        finally:
            space.close()
        state = State(FORMAT, KINDS.index(kind), store_id, FIRST_NUMBER + 1)
        with env.begin(write=True) as txn:
            state.txnid = txn.id()
            txn.put(STATE_KEY, state.pack())
        if not brief:
            env.sync(True)
    finally:
        env.close()


def open_half(
    path: Path, *, limit: int | None, sync: bool, automatic: bool, readonly: bool, brief: bool = False
) -> Environment:
    """Open an environment, having looked that it is whole as far as that costs nothing; raise what is wrong with it."""
    meta = read_meta(path, busy=readonly)
    if not readonly and not brief:
        _doubt(path, meta)
    env, room = _environment(path, sync=sync, readonly=readonly)
    try:
        state = _state(env, path)
        _check_journal(env, path, state, busy=readonly)
        space = Space(path / "data.mdb", meta.page_size, limit, room, readonly=readonly)
    except BaseException:
        env.close()
        raise
    pen = Writer(env, space, state, path, automatic=automatic, readonly=readonly)
    environment = Environment(env, pen)
    try:
        if readonly:
            pen.view = None if automatic else JournalView(path)
        else:
            env.reader_check()
            space.start(meta.last_page + 1, brief=brief)
            pen.recover()
            pen.pending = pen.reclaimable()
            state.format = FORMAT
            if not automatic:
                pen.journal = _journal(path, state, brief=brief, synced=sync)
    except BaseException:
        environment.close()
        raise
    return environment


def _check_journal(env: Any, path: Path, state: State, *, busy: bool) -> None:
    """See that the journal is there and whole; a reader looks again when the writer has been at work meanwhile.

    After a clean close everything is in the tree, whatever the journal still holds.
    """
    for _ in range(_LOOKS if busy else 1):
        if state.clean:
            return
        frames, problem = look_at_journal(path, state.store_id, state.txnid)
        if not problem and state.journal and frames is None:
            problem = "the file journal is missing"
        if not problem:
            return
        state = _state(env, path)
    raise damaged(path, problem)


def _journal(path: Path, state: State, *, brief: bool, synced: bool) -> Journal | None:
    """The journal begun anew; without room for it there is none, and LMDB makes every commit."""
    try:
        journal = Journal(path, state.store_id, brief=brief, synced=synced)
    except OSError:
        return None
    journal.begin(state.txnid)
    return journal


def _doubt(path: Path, meta: Meta) -> None:
    """Look at as much of the file as its size allows in some ten milliseconds, before LMDB trusts it."""
    if meta.last_page <= _LOOKED_AT:
        _look(path)
    else:
        file = PageFile(path, meta)
        try:
            if meta.last_page <= _SHAPE_LOOKED_AT:
                file.check_shape()
            else:
                file.check_depth()
        finally:
            file.close()
        if file.problems:
            raise damaged(path, file.problems[0])


def _look(path: Path) -> None:
    """Look at everything, as LMDB does not: damage that would end the process is an error instead.

    An entry that is damaged in itself keeps nobody from the others: that is said when it is read.
    """
    half = Half(path)
    for _ in half.entries():
        pass
    newer = half.state is not None and half.state.format > FORMAT
    if half.problems and not newer:
        raise damaged(path, half.problems[0])


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
    try:
        with env.begin() as txn:
            record, seen = txn.get(STATE_KEY), txn.id()
    except lmdb.Error as error:
        raise damaged(path, f"LMDB cannot read it: {error}") from error
    return _check_state(record, seen, path)


def _check_state(record: bytes | None, seen: int, path: Path) -> State:
    if record is None:
        raise damaged(path, "the state record is missing")
    state = State.unpack(bytes(record), str(path))
    if state.format > FORMAT:
        raise StoreVersionError(f"{path}: the store has format {state.format}; this tdqsim reads up to {FORMAT}")
    if state.kind != KINDS.index(path.name):
        raise damaged(path, swapped(state.kind))
    if state.txnid != seen:
        raise damaged(path, f"the tree is of commit {state.txnid}, the meta page of commit {seen}")
    return state
