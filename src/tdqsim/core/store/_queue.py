"""One stored queue: what it hands out in which order, and its counts.

``put`` and ``take`` of a FIFO queue are the hot path of everything above, which is why they are written flat: what
they need lies in local reach, they allocate nothing but the record itself, and whatever is rare is one call away.
"""

from __future__ import annotations

import struct
from _thread import get_ident
from collections.abc import Iterator
from typing import Final
from zlib import crc32

import lmdb

from tdqsim.core.store._entry import (
    ENTRY_KEY,
    FULL,
    FULL_HEAD,
    MAX_KEY,
    MAX_SEQ,
    NUMBER,
    ORDERS,
    PIECE_KEY,
    PIECES,
    PLAIN,
    PLAIN_HEAD,
    QUEUE,
    QUEUE_RECORD,
    SEAL,
    Entry,
    Order,
    SearchOrder,
    bad_time,
    check_slots,
    decode,
    encode,
)
from tdqsim.core.store._journal import moved_queue
from tdqsim.core.store._memtable import Memtable
from tdqsim.core.store._room import OPERATION, REMOVAL
from tdqsim.core.store._writer import Writer
from tdqsim.errors import StoreDamaged, StoreError

__all__ = ["StoredQueue"]

_PLAIN_SIZE: Final = PLAIN_HEAD.size
_BATCH: Final = 128
_NODE: Final = 1960
"""Key and value up to this length lie in a tree page together."""
_END: Final = b"\xff" * 9
"""Longer and higher than any sequence number."""

_entry_key = ENTRY_KEY.pack
_plain_head = PLAIN_HEAD.pack
_read_plain = PLAIN_HEAD.unpack_from
_queue_record = QUEUE_RECORD.pack
_seal = SEAL.pack
_new_tuple = tuple.__new__
_number = int.from_bytes
_Saved = tuple[int, int, int, int, int, bool]


class StoredQueue(Memtable):
    """Ordered entries under one name, in one environment.

    Made by :meth:`Environment.create_queue` and :meth:`Environment.queue`. Every method raises WrongThread when it is
    called from another thread or process than the one that opened the store, StoreError when the store is closed or
    the queue was dropped, and StoreDamaged when an entry is not what was put there; a damaged entry stays where it is.

    Attributes:
        name: the queue's name.
        order: in which order it hands out its entries.
        key_length: length of each entry's key in a KEYED queue; 0 otherwise.
        count: how many entries it holds.
        data_bytes: the sum of the lengths of their data.
        last_seq: the highest sequence number it ever gave an entry; 0 at first. It never goes back, except by abort.
    """

    __slots__ = (
        "_clean", "_dropped", "_moved", "_sealing", "count", "data_bytes", "key_length", "last_seq", "name", "order",
    )  # fmt: skip

    def __init__(
        self,
        pen: Writer,
        name: bytes,
        order: Order,
        key_length: int,
        number: int,
        count: int = 0,
        data_bytes: int = 0,
        head: int = 1,
        last_seq: int = 0,
    ) -> None:
        super().__init__()
        self._pen = pen
        self.name = name
        self.order = order
        self.key_length = key_length
        self.count = count
        self.data_bytes = data_bytes
        self.last_seq = last_seq
        self._head = head
        self._clean = True
        self._dropped = False
        key = QUEUE + name
        self._sealing = key, crc32(key), ORDERS.index(order)
        self._renumber(number)

    def _renumber(self, number: int) -> None:
        self._number = number
        self._prefix = NUMBER.pack(number)
        key, _, order = self._sealing
        self._moved = moved_queue(key, order, self.key_length, number)

    def __repr__(self) -> str:
        return f"<StoredQueue {self.name!r} {self.order.name} count={self.count}>"

    # -- the hot path ---------------------------------------------------------------------------------------------

    def put(
        self, data: bytes, key: bytes = b"", sender: bytes = b"", *, seq: int | None = None, time_ns: int = 0
    ) -> int:
        """Add an entry and return its sequence number.

        Args:
            data: 0 bytes or more.
            key: exactly ``key_length`` bytes in a KEYED queue; elsewhere up to 256 bytes that are kept with the entry.
            sender: up to 255 bytes that are kept with the entry.
            seq: the sequence number, greater than ``last_seq``; ``last_seq + 1`` when not given.
            time_ns: the enqueue time to keep, 0 to 2**64 - 1.

        Raises:
            ValueError: an argument is outside of what is allowed; nothing was changed.
            StoreFull: there is no room; nothing was changed.
        """
        pen = self._pen
        size = len(data)
        if get_ident() != pen.thread or size > pen.inline or key or sender or self.order is Order.KEYED:
            return self._put_slowly(data, key, sender, seq, time_ns)
        last = self.last_seq
        if seq is None:
            seq = last + 1
        if not last < seq <= MAX_SEQ:
            raise ValueError(self._bad_seq(seq))
        left = pen.left - size - OPERATION
        if left < 0:
            left = pen.refill(size + OPERATION)
            if size > pen.inline:
                pen.left += size + OPERATION
                return self._put_slowly(data, key, sender, seq, time_ns)
        if self._clean:
            self._touch()
        try:
            lmdb_key = _entry_key(self._number, seq)
            checksum = crc32(data, crc32(lmdb_key, time_ns ^ (time_ns >> 32)))
            pen.put(lmdb_key, _plain_head(PLAIN, time_ns, checksum) + data)
        except lmdb.Error as error:
            raise pen.broken(error) from error
        except struct.error:
            raise ValueError(bad_time(self.name, time_ns)) from None
        pen.left = left
        self.last_seq = seq
        self.count += 1
        self.data_bytes += size
        return seq

    def take(self) -> bytes | None:
        """Remove the next entry in the queue's order and return its data; None when the queue is empty."""
        pen = self._pen
        if get_ident() != pen.thread:
            pen.refuse()
        if not self.count:
            return None
        if self.order is not Order.FIFO:
            entry = self.take_entry()
            return entry.data if entry is not None else None
        left = pen.left - OPERATION
        if left < 0:
            left = pen.refill(OPERATION, REMOVAL)
        if self._clean:
            self._touch()
        head = self._head
        lmdb_key = _entry_key(self._number, head)
        try:
            value = pen.pop(lmdb_key)
        except lmdb.Error as error:
            raise pen.broken(error) from error
        if value is None or value[0] != PLAIN:
            return self._take_slowly(lmdb_key, value)
        _, time_ns, checksum = _read_plain(value)
        data = value[_PLAIN_SIZE:]
        if crc32(data, crc32(lmdb_key, time_ns ^ (time_ns >> 32))) != checksum:
            raise self._put_back(lmdb_key, value)
        pen.left = left
        self._head = head + 1
        self.count -= 1
        self.data_bytes -= len(data)
        return data

    def discard(self) -> None:
        """Remove the next entry, as :meth:`take` does, without looking at it: it has been read before."""
        pen = self._pen
        if not self.count or get_ident() != pen.thread:
            self.take()
            return
        left = pen.left - OPERATION
        if left < 0:
            left = pen.refill(OPERATION, REMOVAL)
        if self._clean:
            self._touch()
        lmdb_key = _entry_key(self._number, self._head)
        try:
            value = pen.pop(lmdb_key)
            if value is None and self._skip_to(self._number_behind(self._head) or MAX_SEQ):  # over a gap
                lmdb_key = _entry_key(self._number, self._head)
                value = pen.pop(lmdb_key)
        except lmdb.Error as error:
            raise pen.broken(error) from error
        if value is None:
            raise self._lost()
        pen.left = left
        self.data_bytes -= len(value) - _PLAIN_SIZE if value[0] == PLAIN else self._rest_of(value)
        self._head += 1
        self.count -= 1

    # -- the rest of putting and taking ---------------------------------------------------------------------------

    def _touch(self) -> None:
        if self._dropped:
            raise StoreError(f"queue {self.name!r} was dropped")
        self.flush()
        saved = (self._number, self.count, self.data_bytes, self._head, self.last_seq, self._dropped)
        pen = self._pen
        if pen.txn is None:
            pen.touch(self, saved)
        else:
            pen.touched.setdefault(self, saved)
            pen.dirty = True
        self._clean = False

    def _bad_seq(self, seq: int) -> str:
        return f"queue {self.name!r}: sequence number {seq}: it must be over {self.last_seq} and at most {MAX_SEQ}"

    def _put_slowly(self, data: bytes, key: bytes, sender: bytes, seq: int | None, time_ns: int) -> int:
        if get_ident() != self._pen.thread:
            self._pen.refuse()
        chosen = self.last_seq + 1 if seq is None else seq
        if not self.last_seq < chosen <= MAX_SEQ:
            raise ValueError(self._bad_seq(chosen))
        if key or sender or self.order is Order.KEYED or not self._insert_large(chosen, time_ns, data):
            self._insert(Entry(chosen, time_ns, key, sender, data))
        self.last_seq = chosen
        return chosen

    def _insert_large(self, seq: int, time_ns: int, data: bytes) -> bool:
        """Write data that takes pages of its own; False when such pages cannot be relied on just now."""
        size = len(data)
        pen = self._pen
        left = pen.left - size - OPERATION
        pen.left = left if left >= 0 else pen.refill(size + OPERATION)
        if pen.inline < 0:
            pen.left += size + OPERATION
            return False
        if self._clean:
            self._touch()
        try:
            lmdb_key = _entry_key(self._number, seq)
            checksum = crc32(data, crc32(lmdb_key, time_ns ^ (time_ns >> 32)))
            pen.put(lmdb_key, _plain_head(PLAIN, time_ns, checksum) + data)
        except lmdb.Error as error:
            raise pen.broken(error) from error
        except struct.error:
            raise ValueError(bad_time(self.name, time_ns)) from None
        pen.large_pages += size // pen.space.page_size + 2
        self.count += 1
        self.data_bytes += size
        return True

    def _insert(self, entry: Entry, margin: int = 0) -> None:
        """Write an entry whose sequence number is right, and count it; ``margin`` as for the writer's ``room_for``."""
        self._check_key(entry.key)
        check_slots(self.name, entry.sender, entry.time_ns)
        size = len(entry.data)
        pen = self._pen
        pen.room_for(size + len(entry.key) + len(entry.sender), margin)
        lmdb_key = self._key(entry.seq, entry.key)
        slot = b"" if self.order is Order.KEYED else entry.key
        large = FULL_HEAD.size + len(lmdb_key) + len(slot) + len(entry.sender) + size > _NODE
        split = large and pen.inline < 0
        value, pieces = encode(lmdb_key, entry.time_ns, slot, entry.sender, bytes(entry.data), split=split)
        if self._clean:
            self._touch()
        try:
            if not pen.txn.put(lmdb_key, value, overwrite=False):
                raise ValueError(f"queue {self.name!r}: there is an entry with sequence number {entry.seq}")
            pen.note(lmdb_key, value)
            for index, piece in enumerate(pieces):
                pen.put(PIECE_KEY.pack(self._number | PIECES, entry.seq, index), piece)
        except lmdb.Error as error:
            raise pen.broken(error) from error
        if large and not split:
            pen.large_pages += size // pen.space.page_size + 2
        self.count += 1
        self.data_bytes += size

    def _check_key(self, key: bytes) -> None:
        if self.order is Order.KEYED:
            if len(key) != self.key_length:
                raise ValueError(f"queue {self.name!r}: key of {len(key)} bytes: its keys have {self.key_length}")
        elif len(key) > MAX_KEY:
            raise ValueError(f"queue {self.name!r}: key of {len(key)} bytes: at most {MAX_KEY}")

    def _key(self, seq: int, key: bytes) -> bytes:
        if self.order is Order.KEYED:
            return self._prefix + key + NUMBER.pack(seq)
        return _entry_key(self._number, seq)

    def _take_slowly(self, lmdb_key: bytes, value: bytes | None) -> bytes | None:
        """The head was not a plain entry: what was popped goes back, and it is taken the general way."""
        if value is not None:
            self._pen.put(lmdb_key, value)
        entry = self.take_entry()
        return entry.data if entry is not None else None

    def _rest_of(self, value: bytes) -> int:
        """Remove the pieces of the head, which was popped; the bytes of its data, as far as it can still say."""
        self._delete_pieces(self._head)
        whole = value[0] == FULL and len(value) >= FULL_HEAD.size
        return min(FULL_HEAD.unpack_from(value)[5], self.data_bytes) if whole else 0

    def _put_back(self, lmdb_key: bytes, value: bytes) -> StoreDamaged:
        self._pen.put(lmdb_key, value)
        return self._damaged(int.from_bytes(lmdb_key[-8:], "big"))

    def _damaged(self, seq: int) -> StoreDamaged:
        return StoreDamaged(
            f"{self._pen.place}: queue {self.name!r}: entry {seq} is damaged; `tdq store check` lists the damage, "
            f"`tdq store salvage` saves what is whole to a new store"
        )

    def _lost(self) -> StoreDamaged:
        return StoreDamaged(
            f"{self._pen.place}: queue {self.name!r}: it should hold {self.count} entries, and one of them is missing; "
            f"see `tdq store check` and `tdq store salvage`"
        )

    def take_entry(self) -> Entry | None:
        """Remove the next entry in the queue's order and return it; None when the queue is empty."""
        entry = self.peek()
        if entry is not None:
            self._delete(entry)
        return entry

    def peek(self) -> Entry | None:
        """The next entry in the queue's order, which stays; None when the queue is empty."""
        return self._edge(reverse=self.order is Order.LIFO)

    def _edge(self, *, reverse: bool) -> Entry | None:
        if get_ident() != self._pen.thread:
            self._pen.refuse()
        if not self.count:
            return None
        found = self._scan(*self._bounds(), 1, reverse=reverse)
        if not found:
            raise self._lost()
        if not reverse and self.order is not Order.KEYED and not self._skip_to(found[0].seq):
            raise self._lost()
        return found[0]

    def _skip_to(self, seq: int) -> bool:
        """Move the head to the lowest number there is, unless that would jump over entries that must be there."""
        holes = self.last_seq - self._head + 1 - self.count
        if seq - self._head > holes:
            return False
        if not self._pen.readonly:
            self._head = seq
        return True

    def _delete(self, entry: Entry) -> None:
        pen = self._pen
        left = pen.left - OPERATION
        pen.left = left if left >= 0 else pen.refill(OPERATION, REMOVAL)
        if self._clean:
            self._touch()
        lmdb_key = self._key(entry.seq, entry.key)
        try:
            value = pen.pop(lmdb_key)
            if value is not None and len(value) < len(entry.data):
                self._delete_pieces(entry.seq)
        except lmdb.Error as error:
            raise pen.broken(error) from error
        if value is None:
            raise self._lost()
        self.count -= 1
        self.data_bytes -= len(entry.data)
        if not self.count:
            self._head = self.last_seq + 1
        elif entry.seq == self._head:
            self._head += 1

    def _delete_pieces(self, seq: int) -> None:
        index = 0
        while self._pen.pop(PIECE_KEY.pack(self._number | PIECES, seq, index)) is not None:
            index += 1

    # -- single entries -------------------------------------------------------------------------------------------

    @property
    def incarnation(self) -> int:
        """Changes when the queue is cleared or made anew: no other queue of the environment has or had this number."""
        return self._number

    @property
    def first_seq(self) -> int:
        """The number of the first entry: the lowest, or when KEYED the first by key; ``last_seq + 1`` when empty."""
        if not self.count:
            return self.last_seq + 1
        if self.order is not Order.KEYED and self.last_seq - self._head + 1 == self.count:
            return self._head
        if self.order is Order.FIFO and self.plain_behind(self._head - 1) is not None:
            return self._head
        entry = self._edge(reverse=False)
        return self.last_seq + 1 if entry is None else entry.seq

    def get(self, seq: int, key: bytes = b"") -> Entry | None:
        """The entry with a sequence number, in a KEYED queue under its key too; None when there is none."""
        if not 0 < seq <= MAX_SEQ:
            return None
        self.flush()
        lmdb_key = self._key(seq, key)
        value = self._pen.get(lmdb_key)
        return None if value is None else self._entry(lmdb_key, value)

    def remove(self, seq: int, key: bytes = b"") -> Entry | None:
        """Remove the entry that :meth:`get` finds and return it."""
        entry = self.get(seq, key)
        if entry is not None:
            self._delete(entry)
        return entry

    def restore(self, entry: Entry, *, instead: bool = False) -> None:
        """Put an entry back under its old sequence number, which may lie before ``first_seq``.

        Args:
            entry: an entry that was taken.
            instead: it may have the room kept for removals, in a store that may have become full meanwhile.

        Raises:
            ValueError: the number is outside of 1 to 2**64 - 2, or there is an entry with it.
            StoreFull: there is no room; nothing was changed.
        """
        if not 0 < entry.seq <= MAX_SEQ:
            raise ValueError(f"queue {self.name!r}: sequence number {entry.seq}: it must be 1 to {MAX_SEQ}")
        self.flush()
        self._insert(entry, REMOVAL if instead else 0)
        self.last_seq = max(self.last_seq, entry.seq)
        self._head = min(self._head, entry.seq)

    # -- many entries ---------------------------------------------------------------------------------------------

    def entries(
        self, *, reverse: bool = False, after: Entry | int | None = None, limit: int | None = None
    ) -> Iterator[Entry]:
        """The entries in the order in which they would be taken, or in reverse; the queue may change meanwhile.

        Entries that are put or removed while the iterator is in use may or may not be seen; no other is missed or
        seen twice.

        Args:
            reverse: the other way round.
            after: begin behind this entry, which need not be there any more; a number will do unless KEYED.
            limit: how many at most.
        """
        backward = reverse != (self.order is Order.LIFO)
        start, stop = self._bounds()
        if after is not None:
            here = self._place(after)
            start, stop = (start, min(here, stop)) if backward else (max(start, here + b"\0"), stop)
        return self._walk(start, stop, limit, reverse=backward)

    def numbers(self, *, through: int) -> Iterator[int]:
        """The sequence numbers up to ``through`` of a FIFO queue's entries, in order, whether they are whole or not.

        Nothing is looked at but that there is an entry: a damaged one is met when it is read.
        """
        self.flush()
        start, stop = self._bounds()[0], _entry_key(self._number, through + 1)
        while batch := self._pen.scan(start, stop, _BATCH):
            yield from (_number(key[-8:], "big") for key, _ in batch)
            start = batch[-1][0] + b"\0"

    def _place(self, after: Entry | int) -> bytes:
        if not isinstance(after, int):
            return self._key(after.seq, after.key)
        if self.order is Order.KEYED:
            raise ValueError(f"queue {self.name!r}: a KEYED queue is continued after an entry, not after a number")
        return self._key(after, b"")

    def _bounds(self) -> tuple[bytes, bytes]:
        """The LMDB keys between which the entries lie; what lies before the head was left there by damage only."""
        if self.order is Order.KEYED:
            return self._prefix, NUMBER.pack(self._number + 1)
        return _entry_key(self._number, self._head), NUMBER.pack(self._number + 1)

    def _walk(self, start: bytes, stop: bytes, limit: int | None, *, reverse: bool) -> Iterator[Entry]:
        left = MAX_SEQ if limit is None else limit
        number = self._number
        while left > 0 and self._number == number:
            batch = self._scan(start, stop, min(left, _BATCH), reverse=reverse)
            if not batch:
                return
            yield from batch
            left -= len(batch)
            here = self._key_in(number, batch[-1])
            start, stop = (start, here) if reverse else (here + b"\0", stop)

    def _key_in(self, number: int, entry: Entry) -> bytes:
        key = entry.key if self.order is Order.KEYED else b""
        return NUMBER.pack(number) + key + NUMBER.pack(entry.seq)

    def _scan(self, start: bytes, stop: bytes, limit: int, *, reverse: bool = False) -> list[Entry]:
        self.flush()
        found = []
        user_key = slice(8, -8) if self.order is Order.KEYED else slice(0)
        for lmdb_key, value in self._pen.scan(start, stop, limit, reverse=reverse):
            if len(value) < _PLAIN_SIZE or value[0] != PLAIN:
                found.append(self._entry(lmdb_key, value))
                continue
            _, time_ns, checksum = _read_plain(value)  # what decode() does, without its calls: walks are long
            data, seq = value[_PLAIN_SIZE:], _number(lmdb_key[-8:], "big")
            if crc32(data, crc32(lmdb_key, time_ns ^ (time_ns >> 32))) != checksum:
                raise self._damaged(seq)
            found.append(_new_tuple(Entry, (seq, time_ns, lmdb_key[user_key], b"", data)))
        return found

    def _entry(self, lmdb_key: bytes, value: bytes) -> Entry:
        seq = int.from_bytes(lmdb_key[-8:], "big")

        def pieces(count: int) -> bytes:
            keys = (PIECE_KEY.pack(self._number | PIECES, seq, index) for index in range(count))
            return b"".join(self._pen.get(key) or b"" for key in keys)

        parts = decode(lmdb_key, value, pieces)
        if parts is None:
            raise self._damaged(seq)
        time_ns, key, sender, data = parts
        return Entry(seq, time_ns, lmdb_key[8:-8] if self.order is Order.KEYED else key, sender, data)

    # -- keyed ----------------------------------------------------------------------------------------------------

    def _ranges(self, search: SearchOrder, key: bytes) -> list[tuple[bytes, bytes]]:
        """The spans of LMDB keys that qualify, ascending."""
        if self.order is not Order.KEYED:
            raise ValueError(
                f"queue {self.name!r}: only a KEYED queue is searched by key; this one is {self.order.name}"
            )
        self._check_key(key)
        low, high = self._bounds()
        here, beyond = self._prefix + key, self._prefix + key + _END
        return {
            SearchOrder.EQ: [(here, beyond)],
            SearchOrder.NE: [(low, here), (beyond, high)],
            SearchOrder.LT: [(low, here)],
            SearchOrder.LE: [(low, beyond)],
            SearchOrder.GT: [(beyond, high)],
            SearchOrder.GE: [(here, high)],
        }[search]

    def find(self, search: SearchOrder, key: bytes) -> Entry | None:
        """The first entry under the lowest key that relates to ``key`` as asked; None when there is none.

        Raises:
            ValueError: the queue is not KEYED, or the key has not its key length.
        """
        for start, stop in self._ranges(search, key):
            found = self._scan(start, stop, 1)
            if found:
                return found[0]
        return None

    def take_key(self, search: SearchOrder, key: bytes) -> Entry | None:
        """Remove the entry that :meth:`find` finds and return it."""
        entry = self.find(search, key)
        if entry is not None:
            self._delete(entry)
        return entry

    def search(self, search: SearchOrder, key: bytes) -> Iterator[Entry]:
        """All entries whose key relates to ``key`` as asked, by key ascending and in order of arrival within a key."""
        for start, stop in self._ranges(search, key):
            yield from self._walk(start, stop, None, reverse=False)

    # -- clearing -------------------------------------------------------------------------------------------------

    def clear(self) -> int:
        """Remove all entries at once and return how many they were; their room is reclaimed bit by bit."""
        went = self.count
        if went:
            self._pen.change(margin=REMOVAL)
            if self._clean:
                self._touch()
            old = self._number
            self._renumber(self._pen.next_number())
            self._pen.reclaim_later(old)
            self.count = self.data_bytes = 0
            self._head = self.last_seq + 1
        return went

    def clear_keys(self, search: SearchOrder, key: bytes) -> int:
        """Remove all entries whose key relates to ``key`` as asked; return how many they were."""
        went = 0
        for entry in self.search(search, key):
            self._delete(entry)
            went += 1
        return went

    # -- for the environment --------------------------------------------------------------------------------------

    def drop(self) -> None:
        """Become unusable; the environment has removed the record."""
        if self._clean:
            self._touch()
        self._clean = self._dropped = True
        self._pen.reclaim_later(self._number)
        self.count = self.data_bytes = 0
        self.forget_moves()

    def disown(self) -> None:
        """Become unusable: the environment was emptied or closed."""
        self._clean = self._dropped = True
        self.count = self.data_bytes = 0
        self.forget_moves()

    def number_after(self, seq: int) -> None:
        """Give numbers over ``seq`` only from now on."""
        self._pen.change()
        if self._clean:
            self._touch()
        self.last_seq = max(self.last_seq, seq)
        if not self.count:
            self._head = self.last_seq + 1

    def announce(self) -> None:
        """Write the record of a queue that was just created."""
        saved = (self._number, 0, 0, 1, 0, True)
        self._pen.touch(self, saved)
        self._clean = False
        self._pen.put(*self._record())

    def record(self) -> tuple[bytes, bytes] | None:
        """Key and value of the queue's record; None when it was dropped."""
        return None if self._dropped else self._record()

    def _record(self) -> tuple[bytes, bytes]:
        key, checksum, order = self._sealing
        body = _queue_record(
            order, self.key_length, self._number, self.count, self.data_bytes, self._head, self.last_seq
        )
        return key, _seal(crc32(body, checksum)) + body

    def settle(self) -> None:
        """There was a commit."""
        self._clean = True

    def roll_back(self, saved: _Saved) -> None:
        """Become what the queue was before the transaction."""
        number, self.count, self.data_bytes, self._head, self.last_seq, self._dropped = saved
        self._renumber(number)
