"""The uncommitted changes to one durable queue.

A work only records changes; throwing it away undoes them. Each of its methods ends with one assignment or append that
makes the change, so that after an exception the method has either happened or not. Applying a work changes only the
transaction, so it can be repeated after a failed commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias
from weakref import ref

from tdqsim.core.named import NamedTuple
from tdqsim.core.store._layout import (
    EQ,
    INLINE,
    MAX_DATA,
    Entry,
    Item,
    Long,
    SearchOrder,
    Standing,
    check_entry,
    decode,
    encode,
    entry_key,
    entry_number,
    entry_prefix,
    keyed_entry_key,
    not_keyed,
    packed,
    packed_size,
    parts,
    queue_record,
    seal,
    size_of,
    unpacked,
)
from tdqsim.core.store._lmdb import StoreTransaction
from tdqsim.core.store._room import FACTOR, PER_ENTRY
from tdqsim.errors import StoreDamaged, StoreFull, WrongValue

if TYPE_CHECKING:
    from tdqsim.core.store._queue import DurableQueue, StoredValue

NOTHING: Final[list[Any]] = []
AHEAD: Final = 64
"""The most records that are read ahead."""
Ahead: TypeAlias = tuple[int, list[Any], dict[int, Long | None]]
"""Records read ahead: the number of the first, the records, and for the last of each LMDB entry its long data."""
NOT_AHEAD: Final[Ahead] = (0, [], {})
"""Nothing is read ahead. All queues share this object: record numbers begin at 1, so no record is appended to it."""
_TOO_MUCH: Final = FACTOR * (MAX_DATA + PER_ENTRY)
_Standing: TypeAlias = Standing | tuple[int, int, int, int, int]
_new: Any = tuple.__new__
_NO_READS: Final = (0, 0)


class Work:
    """The uncommitted changes to a FIFO queue, and the base of the others; see the module's text.

    One work at a time may take from a queue; others may put on a FIFO or KEYED queue at the same time.

    Attributes:
        queue: the queue.
        items: the items that were put, in order: records, or entries of a KEYED queue.
        own: how many of these items were read back with :meth:`take_own`.
        front: the items that were put back; the last one is taken first.
        cleared: whether all committed entries are removed.
        dropped: whether the queue is removed too.
        held: the room that is held for the put items.
        taken: the number of committed records taken from a FIFO queue, and the bytes of their data.
        spent: the LMDB entries whose last record was taken.
    """

    __slots__ = (
        "__weakref__", "cleared", "dropped", "front", "held", "items", "own", "queue", "spent", "taken",
    )  # fmt: skip

    def __init__(self, queue: DurableQueue) -> None:
        self.queue = queue
        self.items: list[Any] = []
        self.front: list[Any] = NOTHING
        self.own = self.held = 0
        self.cleared = self.dropped = False
        self.taken = _NO_READS
        self.spent: list[tuple[int, Long | None]] = []

    @property
    def reads(self) -> int:
        """How many committed entries were taken."""
        return self.taken[0]

    @property
    def changed(self) -> bool:
        """Whether a commit would change anything."""
        return bool(len(self.items) > self.own or self.reads or self.front or self.cleared or self.dropped)

    # -- putting --------------------------------------------------------------------------------------------------

    def put(self, data: bytes) -> None:
        """Add a record to a FIFO or LIFO queue.

        Raises:
            StoreFull: there is no room; nothing was done.
            ValueError: the data is longer than 2**31 - 1 bytes, or the queue is KEYED.
        """
        cost = FACTOR * (len(data) + PER_ENTRY)
        room = self.queue.durable.room
        if self.held and cost <= room.left:
            room.left -= cost
            self.held += cost
        else:
            self._hold(cost)
        self.items.append(data)

    def put_entry(self, _entry: Entry) -> None:
        """Add an entry to a KEYED queue, as :meth:`put`; ValueError when the queue is not KEYED or cannot take it."""
        raise not_keyed(self.queue.name, self.queue.order)

    def put_many(self, items: list[Any]) -> None:
        """Add items that were checked before; StoreFull, and none of them is added, when there is no room."""
        self._hold(self._cost(items))
        self.items += items

    def put_back(self, item: Any) -> None:
        """Add a record, or an entry of a KEYED queue, at the front: it is the next one taken (with its key)."""
        if self.front is NOTHING:
            self.front = []  # first, since give_back appends to it even when there is no room
        self._hold(self._cost([item]))
        self.front.append(item)

    def give_back(self, data: bytes) -> None:
        """As :meth:`put_back`, but never refused: a record whose removal is not committed still has room on disk."""
        try:
            self.put_back(data)
        except StoreFull:
            self.front.append(data)

    def _cost(self, items: list[Any]) -> int:
        return self.queue.durable.room.cost(sum(map(size_of, items)), len(items))

    def _hold(self, cost: int) -> None:
        if cost > _TOO_MUCH:
            raise WrongValue(f"queue {self.queue.name!r}: more than {MAX_DATA} bytes")
        durable = self.queue.durable
        room = durable.room
        if room.left < cost:
            durable.find_room(cost)
        room.left -= cost
        if not self.held:
            room.holders.append(ref(self))
        self.held += cost

    # -- taking ---------------------------------------------------------------------------------------------------

    def take(self) -> bytes | None:
        """Take the next committed entry and return its data; None when there are no more."""
        queue = self.queue
        reads, size = self.taken
        now = queue.now
        seq = now.first + reads
        if seq > now.last or self.cleared:
            return None
        start, items, ends = queue.ahead
        if not start <= seq < start + len(items):
            start, items, ends = queue.look_up(seq)
        data: bytes = items[seq - start]
        if seq in ends:
            self.spent.append((seq, ends[seq]))  # an interrupt here may leave it there twice, which is harmless
        self.taken = reads + 1, size + len(data)
        return data

    def take_batch(self) -> list[bytes]:
        """Take the next batch of committed records; an empty list when there are no more."""
        queue = self.queue
        reads, size = self.taken
        seq = queue.now.first + reads
        if seq > queue.now.last or self.cleared:
            return []
        items, ends = queue.look_run(seq)
        self.spent += ends
        self.taken = reads + len(items), size + sum(map(len, items))
        return items

    def take_entry(self) -> Entry | None:
        """Take the next committed entry, as :meth:`take`."""
        data = self.take()
        return None if data is None else Entry(data)

    def take_own(self) -> bytes | None:
        """Take the oldest record that this work itself put on a FIFO queue; None when there are no more."""
        if self.own >= len(self.items):
            return None
        data: bytes = self.items[self.own]
        self.own += 1
        return data

    def take_key(self, _search: SearchOrder, _key: bytes) -> Entry | None:
        """Take the first committed entry with the lowest key that matches a search; None when there is none.

        Raises:
            ValueError: the queue is not KEYED, or the key does not have its key length.
        """
        raise not_keyed(self.queue.name, self.queue.order)

    # -- removing all ---------------------------------------------------------------------------------------------

    def clear(self) -> int:
        """Remove all committed entries and the items of this work; returns how many."""
        removed = (0 if self.cleared else self.queue.count - self.reads) + len(self.items) - self.own + len(self.front)
        self.items, self.front, self.own, self.cleared = [], NOTHING, 0, True
        return removed

    def drop(self) -> int:
        """As :meth:`clear`, and remove the queue too."""
        removed = self.clear()
        self.dropped = True
        return removed

    # -- committing -----------------------------------------------------------------------------------------------

    def apply(self, txn: StoreTransaction) -> None:
        """Apply the changes to a transaction, and set the queue's ``after``, its state in the transaction."""
        queue = self.queue
        first, last, count, size, number = self._cleared(txn) if self.cleared else queue.after
        reads, read_bytes = self.taken
        if reads and not self.cleared:
            first, count, size = first + reads, count - reads, size - read_bytes
            if self.spent:
                self._remove(txn, number, first)
        if self.front:
            number = number or queue.durable.new_number(txn)
            self._free_numbers(txn, number, first)
            front = self.front[::-1]
            first, count = first - len(front), count + len(front)
            size += self._write(txn, number, first - 1, front)
        items = self.items[self.own :] if self.own else self.items
        if items:
            number = number or queue.durable.new_number(txn)
            size += self._write(txn, number, last, items)
            last, count = last + len(items), count + len(items)
        self._follow(txn, (first, last, count, size, number))

    def settled(self) -> None:
        """Update memory after the commit; may be called again.

        A single new record that follows those read ahead from a FIFO queue is added to them.
        """
        queue, items = self.queue, self.items
        after = queue.after
        if self.cleared or self.front or not after[2]:
            queue.ahead = NOT_AHEAD
            if self.dropped:
                queue.durable.forget(queue)
        elif items and len(items) == 1 and not self.own and len(items[0]) <= INLINE:
            start, known, ends = queue.ahead
            last = after[1]  # if another work of the commit has put this record, those before it are not known
            if start + len(known) == last and len(known) < AHEAD:
                ends[last] = None
                known.append(items[0])
            elif after[2] == 1:
                queue.ahead = last, items[:], {last: None}
        queue.now = after
        self.held = 0

    def _follow(self, txn: StoreTransaction, after: _Standing) -> None:
        """Write the queue's record if its state has changed."""
        queue = self.queue
        if after == queue.after:
            return
        queue.after = now = _new(Standing, after)
        if after[4]:
            txn.put(queue.record_key, queue_record(queue.facts, now))
        else:
            txn.delete(queue.record_key)

    def _cleared(self, txn: StoreTransaction) -> _Standing:
        """The state of the queue after all committed entries are removed."""
        now, durable = self.queue.after, self.queue.durable
        if now.number:
            durable.reclaim_later(txn, now.number)
        if self.dropped:
            return Standing()
        return now.last + 1, now.last, 0, 0, durable.new_number(txn)

    def _remove(self, txn: StoreTransaction, number: int, first: int) -> None:
        """Remove the LMDB entries all of whose records were taken; ``first`` is the queue's new first record."""
        for end, long in self.spent:
            if end < first:
                txn.delete(entry_key(number, end))
                if long is not None:
                    self.queue.durable.delete_long(txn, long)

    def _free_numbers(self, txn: StoreTransaction, number: int, first: int) -> None:
        """Remove taken records from the LMDB entry of the first record, because their numbers are used again."""
        cursor = txn.cursor()
        if cursor.set_range(entry_key(number, first)) and cursor.key()[:8] == entry_key(number, first)[:8]:
            key, value = cursor.item()
            with suppress(StoreDamaged):  # the damage is reported when the record is read
                records = decode(key, value, "")
                left = entry_number(key) - first + 1
                if isinstance(records, list) and left < len(records):
                    txn.put(key, encode(key, records[-left:]))

    def _write(self, txn: StoreTransaction, number: int, seq: int, items: Sequence[Any]) -> int:
        """Write records with the numbers after ``seq``; returns the bytes of their data.

        With ``append`` LMDB fills its pages completely; otherwise it splits full pages in half.
        """
        total = len(items[0])
        if len(items) == 1:
            key = entry_key(number, seq + 1)
            txn.put(key, self._value(txn, key, items, total))
            return total
        total, append = 0, True
        for part, size in self._parts(items):
            seq += len(part)
            key = entry_key(number, seq)
            value = self._value(txn, key, part, size)
            append = append and txn.put(key, value, append=True)
            if not append:
                txn.put(key, value)
            total += size
        return total

    def _value(self, txn: StoreTransaction, key: bytes, part: Sequence[Any], size: int) -> bytes:
        """The value under a key for records that share an LMDB entry, or for a long one, whose pieces are written."""
        return encode(key, part) if size <= INLINE else self.queue.durable.put_long(txn, key, part[0])

    def _parts(self, items: Sequence[bytes]) -> Iterable[tuple[Sequence[bytes], int]]:
        """Divide records into groups that share an LMDB entry, with the bytes of their data."""
        return parts(items)


class LifoWork(Work):
    """The uncommitted changes to a LIFO queue; while one work takes, no other may put.

    Attributes:
        taken_keys: the committed entries that were taken, by LMDB key: bytes of data, and its place when it is long.
    """

    __slots__ = ("taken_keys",)

    def __init__(self, queue: DurableQueue) -> None:
        Work.__init__(self, queue)
        self.taken_keys: dict[bytes, tuple[int, Long | None]] = {}

    @property
    def reads(self) -> int:
        """How many committed entries were taken."""
        return len(self.taken_keys)

    def take(self) -> bytes | None:
        """Take the newest committed record; None when there are no more."""
        taken = self._take(1)
        return taken[0] if taken else None

    def take_batch(self) -> list[bytes]:
        """Take the next batch of committed records, returned oldest first; an empty list when there are no more."""
        return self._take()[::-1]

    def _take(self, most: int | None = None) -> list[bytes]:
        now = self.queue.now
        seq = now.last - len(self.taken_keys)
        if seq < now.first or self.cleared:
            return []
        batch = self.queue.look_run_down(seq, most)
        for key, item, long in batch:
            self.taken_keys[key] = len(item), long
        return [item for _, item, _ in batch]  # type: ignore[misc]

    def apply(self, txn: StoreTransaction) -> None:
        """See the base."""
        first, last, count, size, number = self._cleared(txn) if self.cleared else self._removed(txn)
        if len(self.items) > self.own or self.front:
            number = number or self.queue.durable.new_number(txn)
            first, last, more = self._insert(txn, number, first, last)
            count, size = count + len(self.items) - self.own + len(self.front), size + more
        self._follow(txn, (first, last, count, size, number))

    def settled(self) -> None:
        """See the base."""
        if self.dropped:
            self.queue.durable.forget(self.queue)
        self.queue.now = self.queue.after
        self.held = 0

    def _removed(self, txn: StoreTransaction) -> _Standing:
        """The state of the queue after the taken entries are removed."""
        first, last, count, size, number = self.queue.after
        for key, (nbytes, long) in self.taken_keys.items():
            if not txn.delete(key):
                raise self.queue.damaged(f"record {entry_number(key)} is missing")
            if long is not None:
                self.queue.durable.delete_long(txn, long)
            size -= nbytes
        removed = len(self.taken_keys)
        return first, last - (removed if self._shrinks else 0), count - removed, size, number

    _shrinks: ClassVar = True

    def _insert(self, txn: StoreTransaction, number: int, first: int, last: int) -> tuple[int, int, int]:
        """Write the items, those that were put back on top; returns the new first and last number and the bytes."""
        items = self.items[self.own :] + self.front
        return first, last + len(items), self._write(txn, number, last, items)

    def _parts(self, items: Sequence[bytes]) -> Iterable[tuple[Sequence[bytes], int]]:
        return (((item,), len(item)) for item in items)


class Known(NamedTuple):
    """What a work knows of the committed entries of a KEYED queue between two LMDB keys.

    Attributes:
        now: the state of the queue that they are of.
        low, high: the LMDB keys.
        most: how many were read at the last time, at most.
        ahead: those that were not taken, not decoded, the next one last.
    """

    now: Standing | None
    low: bytes
    high: bytes
    most: int
    ahead: list[StoredValue]


_UNKNOWN: Final = Known(None, b"", b"", 0, [])


class KeyedWork(LifoWork):
    """The uncommitted changes to a KEYED queue. Its items, those in front too, are pairs of key and packed entry.

    Attributes:
        known: what was read ahead. A search that begins there continues with it, so that taking one key after another,
            many entries of one key, or the lowest one again and again, reads them in batches and does not walk over
            those taken before. The batches grow while all of what was read is taken.
    """

    __slots__ = ("known",)
    _shrinks = False

    def __init__(self, queue: DurableQueue) -> None:
        LifoWork.__init__(self, queue)
        self.known = _UNKNOWN

    def put(self, data: bytes) -> None:
        """Refused: an entry of a KEYED queue has a key."""
        self.put_entry(Entry(data))

    def put_entry(self, entry: Entry) -> None:
        """See :meth:`Work.put_entry`."""
        check_entry(self.queue.name, entry, self.queue.key_length)
        self.put_many([entry])

    def put_many(self, items: list[Entry]) -> None:
        """See the base."""
        self.put_packed([(item.key, packed(*item)) for item in items])

    def put_packed(self, pairs: list[tuple[bytes, bytes]]) -> None:
        """As :meth:`put_many`, with keys and packed entries."""
        Work.put_many(self, pairs)

    def put_back(self, item: Item) -> None:
        """Add an entry that is the next one taken with its key."""
        entry = item if isinstance(item, Entry) else Entry(item)
        check_entry(self.queue.name, entry, self.queue.key_length)
        Work.put_back(self, (entry.key, packed(*entry)))

    def _cost(self, items: list[tuple[bytes, bytes]]) -> int:
        """The charge for entries in key order: those that follow one with their key share its pages."""
        room, keys = self.queue.durable.room, len(dict(items))
        size = sum(map(len, chain.from_iterable(items)))
        return room.cost(0, keys, keyed=True) + room.cost(size, len(items) - keys)

    def take(self) -> bytes | None:
        """Take the first committed entry in key order and return its data; None when there are no more."""
        entry = self.take_entry()
        return None if entry is None else entry.data

    def take_entry(self) -> Entry | None:
        """Take the first committed entry in key order; None when there are no more."""
        return self._find(None, b"")

    def take_key(self, search: SearchOrder, key: bytes) -> Entry | None:
        """See :meth:`Work.take_key`."""
        self.queue.check_key(key)
        return self._find(search, key)

    def _find(self, search: SearchOrder | None, key: bytes) -> Entry | None:
        first = self.first(search, key)
        return None if first is None else self.mark(first)

    def first(self, search: SearchOrder | None, key: bytes) -> StoredValue | None:
        """The committed entry that a take would return, or None."""
        if self.cleared:
            return None
        queue, taken, ahead = self.queue, self.taken_keys, self.known.ahead
        while ahead and ahead[-1][0] in taken:
            ahead.pop()
        if ahead and search is EQ and ahead[-1][0][8:-8] == key and self.known.now is queue.now:
            return ahead[-1]
        for start, stop in queue.spans(search, key):
            now, low, high, most, ahead = self.known
            known = low <= start <= high and now is queue.now
            if known:
                known = not ahead or start <= ahead[-1][0]  # else this search leaves an entry out
            if not known or not ahead:
                most = min(2 * most, AHEAD) if high in taken else 1
                ahead = queue.read_ahead(high if known else start, taken, most)[::-1]
                if not ahead or ahead[-1][0] >= stop:
                    continue
                self.known = Known(queue.now, low if known else start, ahead[0][0], most, ahead)
            if ahead[-1][0] < stop:
                return ahead[-1]
        return None

    def mark(self, first: StoredValue) -> Entry:
        """Take the entry that :meth:`first` has returned."""
        key, value = first
        entry: Entry
        (entry,), long = self.queue.items_of(key, value, self.queue.piece)
        self.taken_keys[key] = len(entry.data), long
        return entry

    def _insert(self, txn: StoreTransaction, number: int, first: int, last: int) -> tuple[int, int, int]:
        front, items = self.front[::-1], self.items[self.own :]
        first -= len(front)
        size = self._write(txn, number, first - 1, front) + self._write(txn, number, last, items)
        return first, last + len(items), size

    def _write(self, txn: StoreTransaction, number: int, seq: int, items: Sequence[tuple[bytes, bytes]]) -> int:
        total, prefix, put = 0, entry_prefix(number), txn.put
        for place, (key, one) in enumerate(items, seq + 1):
            at = keyed_entry_key(prefix, key, place)
            size = packed_size(one)
            put(at, seal(at, one) if size <= INLINE else self.queue.durable.put_long(txn, at, unpacked(one, key)))
            total += size
        return total
