"""The journal: commits that are one short write each, instead of one of LMDB's.

An LMDB commit writes every page it has touched, and its meta page. The durable environment therefore keeps LMDB's
transaction open over many commits, and what each of them changes is appended to this file in one write. With durability
``process`` that is all: the system keeps what was written even if the process is killed in the next instant. With
durability ``power`` the file is synced before the commit is over. Now and then, when the file is full or a change is
not of the short kind, LMDB commits everything at once, and the file begins anew.

A frame holds the changes of one commit::

    base       8  number of the LMDB commit on which the frames build; a frame with an older one is done with
    length     4  of the changes
    checksum   4  of base, place in the file, and changes
    changes       how many keys and values, four bytes; their lengths, a byte each, or four bytes each when one is over
                  255 and the number has its highest bit set; keys and values in turn, an empty value for a key that is
                  gone; the record of a queue may lie there without its seal, since the frame has a checksum
    mark      16  the letters TDQ; and base and a checksum of both

The shortest commits (:mod:`~tdqsim.core.store._moves`) have changes of their own kind: a number with the second
highest bit
set, four bytes; then for each queue, or for each run of entries that is taken from it, since gaps part them::

    taken      2  how many entries the run has
    put        2  how many entries are put
    first      8  sequence number of the first entry of the run; behind it is the new head
    record    24  what else is new in the queue's record: count, bytes of data, highest sequence number
    queue     13  length of the queue's key, and what stays as it is in its record: order, key length, internal number
    the key
    an entry      each: sequence number, 8; length of the value, 2; the value

The mark is written last. So a frame that is not whole was being written when the process was killed if its mark, and
that of every later frame, is missing; otherwise it is damaged, and nothing behind it is used.

How far the frames go is told a second time, in the head of the file, so that frames lost from the end are missed: two
slots in turn, base, end and a check of both, each written after its frame through a mapping of the first page. The one
that was being written when the process was killed may be torn; then the other one tells of the frame before. A journal
that is synced does without, as the head would be a second page to sync.

When the machine stops, the last frame may be on the disk in part, its mark too. As each frame is synced before the next
one is written, only the last one can be, and nobody was told that it was committed: :func:`forget_torn`.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct, pack, unpack_from
from typing import Final
from zlib import crc32

from tdqsim.core.store._entry import ENTRY_KEY, PLAIN_HEAD, QUEUE, QUEUE_RECORD, seal
from tdqsim.core.store._meta import damaged
from tdqsim.errors import StoreError

__all__ = [
    "JOURNAL_SIZE",
    "MOVES",
    "PUT_SIZE",
    "Changes",
    "Frame",
    "Journal",
    "JournalView",
    "forget_ends",
    "forget_torn",
    "look_at_journal",
    "move",
    "moved_queue",
    "plain_put",
    "read_journal",
]

JOURNAL_SIZE: Final = 256 * 1024
"""Bytes of the file: what is replayed when a store is opened after a kill is never more."""

_NAME: Final = "journal"
_MAGIC: Final = b"TDQJ\0\1"
_HEAD: Final = Struct(">6s16sI")
_FIRST: Final = 64
"""Where the first frame lies."""
_BASE: Final = Struct(">Q")
_FRAME: Final = Struct(">QII")
_SIZE: Final = Struct(">II")
_MARK: Final = Struct(">4sQI")
_TELL: Final = b"TDQ;"
_COUNT: Final = Struct(">I")
_WIDE: Final = 1 << 31
_MOVES: Final = 1 << 30
_MOVE: Final = Struct(">HHQQQQ")
_MOVED: Final = Struct(">HBHQ")
_PUT: Final = Struct(">QH")
_TAKEN_AT_MOST: Final = 1 << 20
"""Entries that one frame may take: far more than a commit of the short kind ever has."""
_OVERHEAD: Final = _FRAME.size + _MARK.size
_SLOT: Final = Struct("<QII")
_SLOTS: Final = (32, 48)

Changes = dict[bytes, bytes | None]
"""What is in the journal and not yet in the tree: the last value of each key, None for one that is gone."""

Frame = list[tuple[bytes, bytes | None]]
"""The changes of one commit: keys and values in the order in which they happened, None for a key that is gone."""

MOVES: Final = _COUNT.pack(_MOVES)
"""What the changes begin with when they are moves."""
move = _MOVE.pack
"""The head of what a frame of moves says of a queue, or of a run."""
plain_put = Struct(_PUT.format + PLAIN_HEAD.format.lstrip(">")).pack
"""The head of a plain entry that is put, its value's own head included."""
PUT_SIZE: Final = _PUT.size
"""Where its value begins."""
_size = _SIZE.pack
_count = _COUNT.pack
_tell = _SLOT.pack_into
pwrite = os.pwrite
fdatasync = os.fdatasync if hasattr(os, "fdatasync") else os.fsync


def moved_queue(key: bytes, order: int, key_length: int, number: int) -> bytes:
    """What a frame of moves says of a queue itself."""
    return _MOVED.pack(len(key), order, key_length, number) + key


class Journal:
    """The file, open for appending.

    Attributes:
        base: the LMDB commit on which the next frame builds.
        end: where the next frame will lie in the file.
        synced: whether each frame is synced to the disk.
    """

    __slots__ = ("_check", "_fd", "_first_page", "_front", "_mark", "_slot", "_start", "base", "end", "synced")

    def __init__(self, place: Path, store_id: bytes, *, brief: bool = False, synced: bool = False) -> None:
        """Begin the journal of an environment anew.

        Whoever calls this has replayed what was in it. OSError when there is no room for it.
        """
        fd = os.open(place / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _make_room(fd, brief=brief, synced=synced)
            os.pwrite(fd, _head(store_id).ljust(_FIRST, b"\0"), 0)
            if synced:
                os.fsync(fd)
                _sync_directory(place)
            self._first_page = mmap.mmap(fd, mmap.PAGESIZE)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        self.synced = synced
        self._slot = _SLOTS[0]
        self.begin(0)

    def begin(self, base: int) -> None:
        """Everything is in LMDB's commit ``base``: the next frame is the first one on it."""
        self.base = base
        self.end = _FIRST
        self._front = _BASE.pack(base)
        self._start = crc32(self._front)
        self._check = _slot_check(base)
        self._mark = _mark_of(base)

    @property
    def used(self) -> bool:
        """Whether there is a frame on this base."""
        return self.end > _FIRST

    def append(self, changes: list[bytes]) -> bool:
        """Write the changes of one commit; False when they have no room, and nothing is written then.

        Args:
            changes: keys and values in turn, in the order in which they happened; no value is empty but of a key that
                is gone.
        """
        count = len(changes)
        try:
            body = _count(count) + bytes(map(len, changes)) + b"".join(changes)
        except ValueError:  # a length over 255
            body = pack(f">I{count}I", count | _WIDE, *map(len, changes)) + b"".join(changes)
        return self.write(body)

    def write(self, body: bytes) -> bool:
        """The same for changes that are in the form in which they lie in a frame."""
        size = len(body)
        at = self.end
        end = at + size + _OVERHEAD
        if end > JOURNAL_SIZE:
            return False
        frame = b"".join((self._front, _size(size, crc32(body, self._start ^ at)), body, self._mark))
        try:
            if pwrite(self._fd, frame, at) != len(frame):
                return False
            if self.synced:
                fdatasync(self._fd)
            else:
                _tell(self._first_page, self._slot, self.base, end, end ^ self._check)
                self._slot ^= 16
        except OSError:  # LMDB's commit takes its place, and says what is wrong if that fails too
            self._wipe(at, end)
            return False
        self.end = end
        return True

    def _wipe(self, at: int, end: int) -> None:
        """Leave nothing of a frame that may not be on the disk: it is not committed."""
        with suppress(OSError):  # on a disk that takes nothing, LMDB's commit fails too, and that is said
            pwrite(self._fd, bytes(end - at), at)

    def frames(self, place: Path, store_id: bytes) -> list[Frame]:
        """The changes of each commit that was appended on this base; raises what :func:`read_journal` does."""
        try:
            raw = os.pread(self._fd, self.end, 0)
        except OSError as error:
            raise _unreadable(place, error) from error
        return _whole(place, *_look_at(raw.ljust(JOURNAL_SIZE, b"\0"), store_id, self.base))

    def close(self) -> None:
        """Let the file go."""
        if self._fd >= 0:
            self._first_page.close()
            os.close(self._fd)
            self._fd = -1


def forget_ends(place: Path) -> None:
    """Forget how far the frames should go: after a loss of power the head may be on the disk, the last frames not."""
    if (place / _NAME).exists():
        with (place / _NAME).open("r+b") as file:
            file.seek(_SLOTS[0])
            file.write(bytes(_FIRST - _SLOTS[0]))


def forget_torn(place: Path, base: int) -> None:
    """Forget a frame on LMDB's commit ``base`` that was being synced when the machine stopped, and is there in part.

    What looks like more than that is left to be found: a whole frame behind it, or the marks of two.
    """
    path = place / _NAME
    if not path.exists():
        return
    raw = path.read_bytes()
    _, at = _whole_frames(raw, base)
    mark = _mark_of(base)
    two = 0 <= raw.find(mark, at) < raw.rfind(mark)
    if two or _mark_behind(raw, at, base) > base or _has_whole_frame(raw, at, base):
        return
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes(len(raw) - at))
        file.flush()
        os.fsync(file.fileno())


def _make_room(fd: int, *, brief: bool, synced: bool) -> None:
    """Make the file as large as it will ever be."""
    if synced:
        if os.fstat(fd).st_size < JOURNAL_SIZE:  # written once, its blocks are no more a change to sync
            os.pwrite(fd, bytes(JOURNAL_SIZE), 0)
    elif not brief and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, JOURNAL_SIZE)
    elif os.fstat(fd).st_size < JOURNAL_SIZE:
        os.ftruncate(fd, JOURNAL_SIZE)


def _sync_directory(place: Path) -> None:
    fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _slot_check(base: int) -> int:
    """What the end in a slot is combined with; never zero, so that a slot of zeros is one that was never written."""
    return crc32(_BASE.pack(base)) | 1


def _head(store_id: bytes) -> bytes:
    return _HEAD.pack(_MAGIC, store_id, crc32(store_id, crc32(_MAGIC)))


def _unreadable(place: Path, error: OSError) -> StoreError:
    return StoreError(f"{place / _NAME}: it cannot be read: {error.strerror}")


def read_journal(place: Path, store_id: bytes, base: int) -> list[Frame]:
    """The changes of each commit that builds on LMDB's commit ``base``; empty when there is no journal.

    Raises:
        StoreDamaged: what is there is not what was written, or belongs to another store or another commit.
    """
    return _whole(place, *look_at_journal(place, store_id, base))


def _whole(place: Path, frames: list[Frame] | None, problem: str) -> list[Frame]:
    if problem:
        raise damaged(place, problem)
    return frames or []


def look_at_journal(place: Path, store_id: bytes | None, base: int) -> tuple[list[Frame] | None, str]:
    """The changes in the frames that are whole, None when there is no file, and what is wrong; nothing when empty.

    Whatever is wrong, the frames in front of the damage can be salvaged. ``store_id`` is None when it is not known to
    which store it should belong.
    """
    try:
        raw = (place / _NAME).read_bytes()[: JOURNAL_SIZE + 1]
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        raise _unreadable(place, error) from error
    return _look_at(raw, store_id, base)


def _look_at(raw: bytes, store_id: bytes | None, base: int) -> tuple[list[Frame] | None, str]:
    if not raw.strip(b"\0"):
        return None, ""  # killed before it had a head, so before its first frame; or as good as missing
    owner = raw[len(_MAGIC) : len(_MAGIC) + 16]
    whole_head = raw[: _HEAD.size] == _head(owner)
    if whole_head and store_id not in (None, owner):
        return [], "the journal belongs to another store"
    frames, problem = _frames(raw, base)
    if len(raw) != JOURNAL_SIZE:
        problem = f"the journal has {len(raw)} bytes instead of {JOURNAL_SIZE}"
    elif not whole_head or not _slots(raw):
        problem = "the head of the journal is damaged"
    found: list[Frame] = []
    for body in frames:
        changes = _read(body)
        if changes is None:
            return found, f"commit {len(found) + 1} in the journal is damaged"
        found.append(changes)
    return found, problem


def _slots(raw: bytes) -> list[tuple[int, int]]:
    """Base and end of the slots in the head that are whole; one of zeros was never written."""
    slots = [_SLOT.unpack_from(raw, at) for at in _SLOTS if len(raw) >= _FIRST]
    return [(its, end) for its, end, check in slots if end ^ _slot_check(its) == check or not (its or end or check)]


def _mark_of(base: int) -> bytes:
    front = _BASE.pack(base)
    return _MARK.pack(_TELL, base, crc32(front, crc32(_TELL)))


def _frames(raw: bytes, base: int) -> tuple[list[bytes], str]:
    """The whole frames in front; a mark of the same base or a later one behind them, or a slot, tells of damage."""
    found, at = _whole_frames(raw, base)
    told = _slots(raw)
    marked = _mark_behind(raw, at, base)
    later = max([marked, *(its for its, _ in told)])
    if later > base:
        return [], f"the journal builds on commit {later}, but the last commit in data.mdb is {base}"
    if later == base and (marked == base or (base, at) < max(told, default=(0, 0))):
        return found, f"commit {len(found) + 1} in the journal is damaged"
    return found, ""


def _whole_frames(raw: bytes, base: int) -> tuple[list[bytes], int]:
    """The changes in the frames in front that are whole, and where the last of them ends."""
    found: list[bytes] = []
    at = _FIRST
    while (body := _frame_at(raw, at, base)) is not None:
        found.append(body)
        at += len(body) + _OVERHEAD
    return found, at


def _has_whole_frame(raw: bytes, at: int, base: int) -> bool:
    """Whether there is a whole frame anywhere behind ``at``."""
    front = _BASE.pack(base)
    while (at := raw.find(front, at)) >= 0:
        if _frame_at(raw, at, base) is not None:
            return True
        at += 1
    return False


def _frame_at(raw: bytes, at: int, base: int, offset: int = 0) -> bytes | None:
    """The changes of the frame at a place of ``raw``, the file from ``offset`` on; None when it is not whole."""
    if at + _OVERHEAD > len(raw):
        return None
    its_base, size, checksum = _FRAME.unpack_from(raw, at)
    start = at + _FRAME.size
    if its_base != base or start + size + _MARK.size > len(raw):
        return None
    body = raw[start : start + size]
    return body if crc32(body, crc32(raw[at : at + _BASE.size]) ^ (at + offset)) == checksum else None


def _mark_behind(raw: bytes, at: int, base: int) -> int:
    """The highest base, from this one on, in the marks behind ``at``; -1 when there is none."""
    highest = -1
    while (at := raw.find(_TELL, at)) >= 0:
        if at + _MARK.size <= len(raw):
            its_base = _MARK.unpack_from(raw, at)[1]
            if its_base >= base and raw.startswith(_mark_of(its_base), at):
                highest = max(highest, its_base)
        at += 1
    return highest


def _read(body: bytes) -> Frame | None:
    """The changes of a frame whose checksum was right; None when they are not what a frame may hold all the same."""
    try:
        return list(_changes(body))
    except (struct.error, IndexError, ValueError):
        return None


def _changes(body: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Keys and values of a frame whose checksum was right; records of queues that are not sealed become so."""
    (count,) = _COUNT.unpack_from(body)
    if count & _MOVES and not count & _WIDE:
        yield from _moves(body)
        return
    wide, count = count & _WIDE, count & ~_WIDE
    at = _COUNT.size
    lengths = unpack_from(f">{count}I", body, at) if wide else body[at : at + count]
    at += 4 * count if wide else count
    for index in range(0, count, 2):
        middle = at + lengths[index]
        end = middle + lengths[index + 1]
        key, value = body[at:middle], body[middle:end] or None
        if end - middle == QUEUE_RECORD.size and key.startswith(QUEUE):
            value = seal(key, body[middle:end])
        yield key, value
        at = end


def _moves(body: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Keys and values of a frame of moves."""
    at, gone = len(MOVES), 0
    while at < len(body):
        taken, puts, first, count, total, last = _MOVE.unpack_from(body, at)
        gone += taken
        if gone > _TAKEN_AT_MOST:
            raise ValueError(gone)
        at += _MOVE.size
        length, order, key_length, number = _MOVED.unpack_from(body, at)
        at += _MOVED.size
        key = body[at : at + length]
        at += length
        for seq in range(first, first + taken):
            yield ENTRY_KEY.pack(number, seq), None
        for _ in range(puts):
            seq, size = _PUT.unpack_from(body, at)
            at += _PUT.size
            yield ENTRY_KEY.pack(number, seq), body[at : at + size]
            at += size
        yield key, seal(key, QUEUE_RECORD.pack(order, key_length, number, count, total, first + taken, last))


class JournalView:
    """What a reader sees of another process's journal.

    Attributes:
        changes: what the journal changes in the tree of the commit that was asked for last.
        keys: its keys in order.
    """

    __slots__ = ("_at", "_base", "_path", "_sorted", "changes")

    def __init__(self, place: Path) -> None:
        self._path = place / _NAME
        self.changes: Changes = {}
        self._base = self._at = -1
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
            self._base, self._at = base, _FIRST
            self.changes, self._sorted = {}, None
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                raw = file.read(_OVERHEAD)
                if len(raw) < _OVERHEAD or _FRAME.unpack_from(raw)[0] != base:
                    return
                raw += file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unreadable(self._path.parent, error) from error
        self._take(raw)

    def _take(self, raw: bytes) -> None:
        at = 0
        while (body := _frame_at(raw, at, self._base, self._at)) is not None:
            changes = _read(body)
            if changes is None:
                raise damaged(self._path.parent, "a commit in the journal is damaged")
            self.changes.update(changes)
            self._sorted = None
            at += len(body) + _OVERHEAD
        self._at += at
