"""The journal: commits that survive the end of the process, each with one short write instead of one of LMDB's.

An LMDB commit writes every page it has touched, and its meta page. With durability ``process`` the durable environment
therefore keeps LMDB's transaction open over many commits, and what each of them changes is appended to this file in one
write, which the system keeps even if the process is killed in the next instant. Now and then, when the file is full or
a change is not of the short kind, LMDB commits everything at once, and the file begins anew.

A frame holds the changes of one commit::

    base       8  number of the LMDB commit on which the frames build; a frame with an older one is done with
    index      4  1 for the first frame on that base
    length     4  of the changes
    checksum   4  of base, index and changes
    changes       each: kind, length of the key, for ``P`` length of the value; the key; the value
    mark      20  the letters TDQ; base, index and a checksum of both

The mark is written last. So a frame that is not whole was being written when the process was killed if its mark, and
that of every later frame, is missing; otherwise it is damaged, and nothing behind it is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Any, Final
from zlib import crc32

from tdqsim.core._meta import damaged
from tdqsim.errors import StoreError

__all__ = ["JOURNAL_SIZE", "Changes", "Journal", "JournalView", "look_at_journal", "read_journal"]

JOURNAL_SIZE: Final = 256 * 1024
"""Bytes of the file: what is replayed when a store is opened after a kill is never more."""

_NAME: Final = "journal"
_MAGIC: Final = b"TDQJ\0\1"
_HEAD: Final = Struct(">6s16sI")
_FIRST: Final = 64
"""Where the first frame lies."""
_FRAME: Final = Struct(">QIII")
_MARK: Final = Struct(">4sQII")
_TELL: Final = b"TDQ;"
_SEED: Final = Struct(">QI")
_PUT: Final = Struct(">BHI")
_DELETE: Final = Struct(">BH")
_P: Final = ord("P")
_D: Final = ord("D")
_OVERHEAD: Final = _FRAME.size + _MARK.size

Changes = dict[bytes, bytes | None]
"""What is in the journal and not yet in the tree: the last value of each key, None for one that is gone."""

_frame = _FRAME.pack
_mark = _MARK.pack
_seed = _SEED.pack
_put = _PUT.pack
_delete = _DELETE.pack


class Journal:
    """The file, open for appending.

    Attributes:
        base: the LMDB commit on which the next frame builds.
    """

    __slots__ = ("_at", "_fd", "_index", "base")

    def __init__(self, place: Path, store_id: bytes, *, brief: bool = False) -> None:
        """Begin the journal of an environment anew.

        Whoever calls this has replayed what was in it. OSError when there is no room for it.
        """
        fd = os.open(place / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if not brief and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(fd, 0, JOURNAL_SIZE)
            elif os.fstat(fd).st_size < JOURNAL_SIZE:
                os.ftruncate(fd, JOURNAL_SIZE)
            os.pwrite(fd, _head(store_id), 0)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        self.base = -1
        self._at = _FIRST
        self._index = 1

    def begin(self, base: int) -> None:
        """Everything is in LMDB's commit ``base``: the next frame is the first one on it."""
        self.base = base
        self._at = _FIRST
        self._index = 1

    def append(self, changes: list[Any]) -> bool:
        """Write the changes of one commit; False when they have no room, and nothing is written then.

        Args:
            changes: keys and values in turn, None for a key that is gone, in the order in which they happened.
        """
        parts: list[bytes] = []
        here = iter(changes)
        for key, value in zip(here, here, strict=True):
            if value is None:
                parts += _delete(_D, len(key)), key
            else:
                parts += _put(_P, len(key), len(value)), key, value
        body = b"".join(parts)
        base, index, at, size = self.base, self._index, self._at, len(body)
        end = at + size + _OVERHEAD
        if end > JOURNAL_SIZE:
            return False
        start = crc32(_seed(base, index))
        frame = _frame(base, index, size, crc32(body, start)) + body + _mark(_TELL, base, index, start)
        try:
            if os.pwrite(self._fd, frame, at) != len(frame):
                return False
        except OSError:  # LMDB's commit takes its place, and says what is wrong if that fails too
            return False
        self._at = end
        self._index = index + 1
        return True

    def close(self) -> None:
        """Let the file go."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _head(store_id: bytes) -> bytes:
    return _HEAD.pack(_MAGIC, store_id, crc32(store_id, crc32(_MAGIC)))


def read_journal(place: Path, store_id: bytes, base: int) -> list[list[tuple[bytes, bytes | None]]]:
    """The changes of each commit that builds on LMDB's commit ``base``; empty when there is no journal.

    Raises:
        StoreDamaged: what is there is not what was written, or belongs to another store or another commit.
    """
    frames, problem = look_at_journal(place, store_id, base)
    if problem:
        raise damaged(place, problem)
    return frames or []


def look_at_journal(
    place: Path, store_id: bytes | None, base: int
) -> tuple[list[list[tuple[bytes, bytes | None]]] | None, str]:
    """The changes in the frames that are whole, None when there is no file, and what is wrong; nothing when empty.

    ``store_id`` is None when it is not known to which store it should belong.
    """
    try:
        raw = (place / _NAME).read_bytes()[: JOURNAL_SIZE + 1]
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        raise StoreError(f"{place / _NAME}: it cannot be read: {error.strerror}") from error
    if not raw.strip(b"\0"):
        return [], ""  # killed before it had a head, so before its first frame
    if len(raw) != JOURNAL_SIZE:
        return [], f"the journal has {len(raw)} bytes instead of {JOURNAL_SIZE}"
    owner = raw[len(_MAGIC) : len(_MAGIC) + 16]
    if raw[: _HEAD.size] != _head(owner):
        return [], "the head of the journal is damaged"
    if store_id not in (None, owner):
        return [], "the journal belongs to another store"
    frames, problem = _frames(raw, base)
    return [list(_changes(body)) for body in frames], problem


def _frames(raw: bytes, base: int) -> tuple[list[bytes], str]:
    """The whole frames in front; a mark of the same or a later frame behind them tells of damage."""
    found: list[bytes] = []
    at, index = _FIRST, 1
    while (body := _frame_at(raw, at, base, index)) is not None:
        found.append(body)
        at += len(body) + _OVERHEAD
        index += 1
    later = _mark_behind(raw, at, base, index)
    if later > base:
        return [], f"the journal builds on commit {later}, but the last commit in data.mdb is {base}"
    return found, f"commit {index} in the journal is damaged" if later == base else ""


def _frame_at(raw: bytes, at: int, base: int, index: int) -> bytes | None:
    if at + _OVERHEAD > len(raw):
        return None
    its_base, its_index, size, checksum = _FRAME.unpack_from(raw, at)
    start = at + _FRAME.size
    if (its_base, its_index) != (base, index) or start + size + _MARK.size > len(raw):
        return None
    body = raw[start : start + size]
    return body if crc32(body, crc32(_seed(base, index))) == checksum else None


def _mark_behind(raw: bytes, at: int, base: int, index: int) -> int:
    """The highest base in a mark behind ``at`` that a frame with this base and index, or a later one, has left; -1."""
    highest = -1
    while (at := raw.find(_TELL, at)) >= 0:
        if at + _MARK.size <= len(raw):
            _, its_base, its_index, checksum = _MARK.unpack_from(raw, at)
            if checksum == crc32(_seed(its_base, its_index)) and (its_base, its_index) >= (base, index):
                highest = max(highest, its_base)
        at += 1
    return highest


def _changes(body: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Keys and values of a frame whose checksum was right."""
    at, end = 0, len(body)
    while at < end:
        if body[at] == _D:
            _, length = _DELETE.unpack_from(body, at)
            at += _DELETE.size + length
            yield body[at - length : at], None
        else:
            _, length, size = _PUT.unpack_from(body, at)
            at += _PUT.size + length + size
            yield body[at - size - length : at - size], body[at - size : at]


class JournalView:
    """What a reader sees of another process's journal.

    Attributes:
        changes: what the journal changes in the tree of the commit that was asked for last.
        keys: its keys in order.
    """

    __slots__ = ("_at", "_base", "_index", "_path", "_sorted", "changes")

    def __init__(self, place: Path) -> None:
        self._path = place / _NAME
        self.changes: Changes = {}
        self._base = self._at = self._index = -1
        self._sorted: list[bytes] | None = None

    @property
    def keys(self) -> list[bytes]:
        """The keys that are changed, in order."""
        if self._sorted is None:
            self._sorted = sorted(self.changes)
        return self._sorted

    def refresh(self, base: int) -> None:
        """Read what was appended since, on LMDB's commit ``base``."""
        if base != self._base:
            self._base, self._at, self._index = base, _FIRST, 1
            self.changes, self._sorted = {}, None
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                raw = file.read(_OVERHEAD)
                if len(raw) < _OVERHEAD or _FRAME.unpack_from(raw)[:2] != (base, self._index):
                    return
                raw += file.read()
        except FileNotFoundError:
            return
        self._take(raw)

    def _take(self, raw: bytes) -> None:
        at = 0
        while (body := _frame_at(raw, at, self._base, self._index)) is not None:
            self.changes.update(_changes(body))
            self._sorted = None
            at += len(body) + _OVERHEAD
            self._index += 1
        self._at += at
