"""What moves have changed in a queue and the tree does not have yet; the journal has it.

A move (:mod:`~tdqsim.core.store._moves`) leaves the tree alone: entries that it takes stay there below the head,
where nobody
looks for them, and entries that it puts are kept here, as they are in the journal. All of these lie behind all that is
in the tree, since their numbers are higher. :meth:`Memtable.flush` carries both into the tree: before the queue is
walked or changed in any other way, before the tree is measured, and before LMDB commits. What is put and taken between
two flushes never reaches the tree.
"""

from __future__ import annotations

import struct
from _thread import get_ident
from typing import TYPE_CHECKING, Final
from zlib import crc32

import lmdb

from tdqsim.core.store._entry import ENTRY_KEY, MAX_SEQ, PLAIN, PLAIN_HEAD
from tdqsim.core.store._journal import PUT_SIZE

if TYPE_CHECKING:
    from tdqsim.core.store._writer import Writer

__all__ = ["Memtable"]

_EMPTY: Final[dict[int, bytes]] = {}
"""The memtable of all queues on which no move has put anything: there may be very many."""

_NEVER: Final = MAX_SEQ + 1
_PLAIN_SIZE: Final = PLAIN_HEAD.size
_DATA: Final = PUT_SIZE + _PLAIN_SIZE
"""Where the data begins in what is kept of an entry."""
_entry_key = ENTRY_KEY.pack
_read_head = struct.Struct(">BIII").unpack_from
"""The head of a plain entry, its time in two halves: combined they begin the checksum."""


class Memtable:
    """The part of a stored queue that moves and whoever reads for them use.

    Attributes used by :func:`~tdqsim.core.store._moves.commit_moves`:
        _memtable: the entries that moves have put, by sequence number.
        _memtable_from: the lowest of these numbers, or a lower one that is over all in the tree.
        _left_behind: number of the first entry that moves have taken and that is still in the tree; 0 for none.
    """

    __slots__ = ("_head", "_left_behind", "_memtable", "_memtable_from", "_number", "_pen", "_prefix")

    if TYPE_CHECKING:
        _head: int
        _number: int
        _pen: Writer
        _prefix: bytes

        def _skip_to(self, seq: int) -> bool:
            """Take the head over a gap: see the queue."""

    def __init__(self) -> None:
        self._left_behind = 0
        self._memtable = _EMPTY
        self._memtable_from = _NEVER

    def plain(self, seq: int) -> bytes | None:
        """The data of the entry with a sequence number in a FIFO queue, which stays.

        Returns:
            None when there is no such entry, or it is not of the plain kind: then :meth:`get` must be asked.
        """
        pen = self._pen
        if pen.txn is None or get_ident() != pen.thread:
            return None
        if seq >= self._memtable_from and (part := self._memtable.get(seq)) is not None:
            return part[_DATA:]
        lmdb_key = _entry_key(self._number, seq)
        try:
            value: bytes | None = pen.txn.get(lmdb_key)
            if value is None:
                return None
            kind, high, low, checksum = _read_head(value)
        except (lmdb.Error, struct.error):  # the long way says what is wrong
            return None
        data = value[_PLAIN_SIZE:]
        return data if crc32(data, crc32(lmdb_key, high ^ low)) == checksum and kind == PLAIN else None

    def plain_behind(self, seq: int) -> tuple[int, bytes] | None:
        """Number and data of the first entry behind a sequence number in a FIFO queue, which stays.

        Returns:
            None when there is no such entry, it is not of the plain kind, or entries are missing in front of it: then
            :meth:`entries` or :meth:`peek` must be asked.
        """
        pen = self._pen
        if pen.txn is None or get_ident() != pen.thread:
            return None
        try:
            found = self._number_behind(seq)
        except lmdb.Error:
            return None
        data = self.plain(found) if found else None
        if data is None or (seq < self._head and not self._skip_to(found)):
            return None
        return found, data

    def _number_behind(self, seq: int) -> int:
        """The number of the first entry behind a sequence number, whatever it holds; 0 when there is none."""
        with self._pen.txn.cursor() as cursor:
            key = cursor.key() if cursor.set_range(_entry_key(self._number, seq + 1)) else b""
        if key.startswith(self._prefix):
            return int.from_bytes(key[-8:], "big")
        return next((put for put in self._memtable if put > seq), 0)  # what moves put is behind all that is in the tree

    def flush(self) -> None:
        """Bring the tree up to what moves have put and taken; the journal has it already."""
        if not (self._left_behind or self._memtable):
            return
        pen, number = self._pen, self._number
        start, self._left_behind = self._left_behind, 0
        try:
            if start:
                pen.remove(_entry_key(number, start), _entry_key(number, self._head), MAX_SEQ)
            if self._memtable:
                with pen.begin().cursor() as cursor:
                    cursor.putmulti(
                        [(_entry_key(number, seq), part[PUT_SIZE:]) for seq, part in self._memtable.items()]
                    )
        except lmdb.Error as error:
            raise pen.broken(error) from error
        self.forget_moves()

    def forget_moves(self) -> None:
        """The tree has what moves have put and taken, or the queue is gone."""
        self._left_behind = 0
        self._memtable = _EMPTY
        self._memtable_from = _NEVER
