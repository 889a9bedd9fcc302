"""The uncommitted changes to one durable queue.

A work changes nothing but itself: throw it away, and nothing was done. Each of its methods changes it by one
assignment or one append at its end, so that an exception inside leaves it as it was before or as it is after.
Applying it to a transaction changes nothing but the transaction, so it can be repeated after a commit that
failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias
from weakref import ref

from tdqsim.core.store._layout import (
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
    not_keyed,
    parts,
    queue_record,
    size_of,
)
from tdqsim.core.store._lmdb import StoreTransaction
from tdqsim.core.store._room import FACTOR, PER_ENTRY
from tdqsim.errors import StoreDamaged, StoreFull

if TYPE_CHECKING:
    from tdqsim.core.store._queue import DurableQueue

__all__ = ["AHEAD", "NOT_AHEAD", "Ahead", "KeyedWork", "LifoWork", "Work"]

NOTHING: Final[list[Any]] = []
AHEAD: Final = 64
"""Records that are known without a look, at most."""
Ahead: TypeAlias = tuple[int, list[Any], dict[int, Long | None]]
"""The number of the first of them, the records, and which of them are the last of their LMDB entries."""
NOT_AHEAD: Final[Ahead] = (0, [], {})
"""No record is known. All queues share it: records have numbers from 1 on, so none comes right behind it."""
_TOO_MUCH: Final = FACTOR * (MAX_DATA + PER_ENTRY)
_Standing: TypeAlias = Standing | tuple[int, int, int, int, int]
_new: Any = tuple.__new__
_NO_READS: Final = (0, 0)


class Work:
    """Changes to a FIFO queue, or another, that gather until they are committed; see the module's text.

    One work at a time may take from a queue; others may put on a FIFO or KEYED queue at the same time.

    Attributes:
        queue: the queue.
        items: the put items, in order: records, of a KEYED queue entries.
        own: how many of these were read back with :meth:`take_own`.
        front: the items that were put back; the last one is taken first.
        cleared: whether everything committed goes.
        dropped: whether the queue goes too.
        held: the room that is held for the put items.
        last: the number of the last record that it put; set when it is applied.
        taken: how many committed records were taken off a FIFO queue, and the bytes of their data.
        spent: LMDB entries of which the last record was taken.
    """

    __slots__ = (
        "__weakref__", "cleared", "dropped", "front", "held", "items", "last", "own", "queue", "spent", "taken",
    )  # fmt: skip

    def __init__(self, queue: DurableQueue) -> None:
        self.queue = queue
        self.items: list[Any] = []
        self.front: list[Any] = NOTHING
        self.own = self.held = self.last = 0
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
        left = room.left - cost
        if left < 0 or not self.held:
            self._hold(cost)
        else:
            room.left = left
            self.held += cost
        self.items.append(data)

    def put_entry(self, _entry: Entry) -> None:
        """Add an entry to a KEYED queue; as :meth:`put`, ValueError also when the queue cannot take it."""
        raise not_keyed(self.queue.name, self.queue.order)

    def put_many(self, items: list[Any]) -> None:
        """Add items that were checked before, in one go: StoreFull, and none of them, when there is no room."""
        self._hold(self._cost(items))
        self.items += items

    def put_back(self, item: Item) -> None:
        """Add a record, or an entry of a KEYED queue, in front: it is the next that is taken (with its key)."""
        if self.front is NOTHING:
            self.front = []  # before it can be refused: see :meth:`give_back`
        self._hold(self._cost([item]))
        self.front.append(item)

    def give_back(self, item: Item) -> None:
        """As :meth:`put_back`, even without room: an item whose removal was not committed still has its own."""
        try:
            self.put_back(item)
        except StoreFull:
            self.front.append(item)

    def _cost(self, items: list[Any]) -> int:
        return self.queue.durable.room.cost(sum(map(size_of, items)), len(items), keyed=self.queue.key_length > 0)

    def _hold(self, cost: int) -> None:
        if cost > _TOO_MUCH:
            raise ValueError(f"queue {self.queue.name!r}: more than {MAX_DATA} bytes")
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
        """The data of the next committed entry behind those that this work took; None when there is none."""
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
            self.spent.append((seq, ends[seq]))  # when this is as far as it gets, it is there twice: that does no harm
        self.taken = reads + 1, size + len(data)
        return data

    def take_batch(self) -> list[bytes]:
        """The next committed records, as many as are read at once; none when there are no more."""
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
        """The next committed entry, as :meth:`take`."""
        data = self.take()
        return None if data is None else Entry(data)

    def take_own(self) -> bytes | None:
        """The oldest record that this work put on a FIFO queue and did not read back; or None."""
        if self.own >= len(self.items):
            return None
        data: bytes = self.items[self.own]
        self.own += 1
        return data

    def take_key(self, _search: SearchOrder, _key: bytes) -> Entry | None:
        """The first committed entry not yet taken whose key relates to ``key`` as asked, of the lowest such key.

        Raises:
            ValueError: the queue is not KEYED, or the key has not its key length.
        """
        raise not_keyed(self.queue.name, self.queue.order)

    # -- all at once ----------------------------------------------------------------------------------------------

    def clear(self) -> int:
        """Remove all committed entries and the items of this work; returns how many."""
        went = (0 if self.cleared else self.queue.count - self.reads) + len(self.items) - self.own + len(self.front)
        self.items, self.front, self.own, self.cleared = [], NOTHING, 0, True
        return went

    def drop(self) -> int:
        """As :meth:`clear`, and the queue goes too."""
        went = self.clear()
        self.dropped = True
        return went

    # -- committing -----------------------------------------------------------------------------------------------

    def apply(self, txn: StoreTransaction) -> None:
        """Change the transaction, and the queue's ``after``, its state in it."""
        queue = self.queue
        first, last, count, size, number = self._cleared(txn) if self.cleared else queue.after
        reads, went = self.taken
        if reads and not self.cleared:
            first, count, size = first + reads, count - reads, size - went
            if self.spent:
                self._remove(txn, number, first)
        items = self.items[self.own :] if self.own else self.items
        if self.front or items:
            number = number or queue.durable.new_number(txn)
            if self.front:
                self._free_numbers(txn, number, first)
                front = self.front[::-1]
                first, count = first - len(front), count + len(front)
                size += self._write(txn, number, first - 1, front)
            if items:
                size += self._write(txn, number, last, items)
                last, count = last + len(items), count + len(items)
                self.last = last
        self._follow(txn, (first, last, count, size, number))

    def settled(self) -> None:
        """The commit is made: memory follows. May be done again.

        A record that comes right behind those that were read ahead of a FIFO queue is known too.
        """
        queue, items = self.queue, self.items
        after = queue.after
        start, known, ends = queue.ahead
        if self.cleared or self.front or not after[2]:
            queue.ahead = NOT_AHEAD
            if self.dropped:
                queue.durable.forget(queue)
        elif len(items) == 1 and not self.own and len(items[0]) <= INLINE:
            if start + len(known) == self.last and len(known) < AHEAD:
                ends[self.last] = None
                known.append(items[0])
            elif after[2] == 1:
                queue.ahead = self.last, items[:], {self.last: None}
        queue.now = after
        self.held = 0

    def _follow(self, txn: StoreTransaction, after: _Standing) -> None:
        """Write the queue's record if anything of it has changed."""
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
        """Remove the LMDB entries all of whose records were taken, when the queue begins with ``first``."""
        for end, long in self.spent:
            if end < first:
                txn.delete(entry_key(number, end))
                if long is not None:
                    self.queue.durable.delete_long(txn, long)

    def _free_numbers(self, txn: StoreTransaction, number: int, first: int) -> None:
        """Remove taken records from the LMDB entry of the first record: their numbers are used again."""
        cursor = txn.cursor()
        if cursor.set_range(entry_key(number, first)) and cursor.key()[:8] == entry_key(number, first)[:8]:
            key, value = cursor.item()
            with suppress(StoreDamaged):  # the damage is reported when the record is read
                found = decode(key, value, "")
                left = entry_number(key) - first + 1
                if isinstance(found, list) and left < len(found):
                    txn.put(key, encode(key, found[-left:]))

    def _write(self, txn: StoreTransaction, number: int, seq: int, items: Sequence[Any]) -> int:
        """Write records behind a number; the bytes of their data.

        LMDB fills its pages when it knows that the key is the last of all; else it splits them into halves.
        """
        total = 0
        last = len(items) > 1
        for part, size in self._parts(items) if last else ((items, len(items[0])),):
            seq += len(part)
            key = entry_key(number, seq)
            value = encode(key, part) if size <= INLINE else self.queue.durable.put_long(txn, key, part[0])
            last = last and txn.put(key, value, append=True)
            if not last:
                txn.put(key, value)
            total += size
        return total

    def _parts(self, items: Sequence[bytes]) -> Iterable[tuple[Sequence[bytes], int]]:
        """Which records share an LMDB entry, and the bytes of their data: those of a FIFO queue."""
        return parts(items)


class LifoWork(Work):
    """Changes to a LIFO queue: while one takes, no other may put.

    Attributes:
        gone: the committed entries that were taken, by LMDB key: bytes of data, and where it is when it is long.
    """

    __slots__ = ("gone",)

    def __init__(self, queue: DurableQueue) -> None:
        Work.__init__(self, queue)
        self.gone: dict[bytes, tuple[int, Long | None]] = {}

    @property
    def reads(self) -> int:
        """How many committed entries were taken."""
        return len(self.gone)

    def take(self) -> bytes | None:
        """The newest committed record not yet taken."""
        taken = self._take(1)
        return taken[0] if taken else None

    def take_batch(self) -> list[bytes]:
        """The next committed records, as many as are read at once, the oldest first; none when there are no more."""
        return self._take()[::-1]

    def _take(self, most: int | None = None) -> list[bytes]:
        now = self.queue.now
        seq = now.last - len(self.gone)
        if seq < now.first or self.cleared:
            return []
        found = self.queue.look_run_down(seq, most)
        for key, item, long in found:
            self.gone[key] = len(item), long
        return [item for _, item, _ in found]  # type: ignore[misc]

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
        for key, (nbytes, long) in self.gone.items():
            if not txn.delete(key):
                raise self.queue.damaged(f"record {entry_number(key)} is missing")
            if long is not None:
                self.queue.durable.delete_long(txn, long)
            size -= nbytes
        went = len(self.gone)
        return first, last - (went if self._shrinks else 0), count - went, size, number

    _shrinks: ClassVar = True

    def _insert(self, txn: StoreTransaction, number: int, first: int, last: int) -> tuple[int, int, int]:
        """Put the items that were put back on top; returns the first and last record then, and the bytes added."""
        items = self.items[self.own :] + self.front
        return first, last + len(items), self._write(txn, number, last, items)

    def _parts(self, items: Sequence[bytes]) -> Iterable[tuple[Sequence[bytes], int]]:
        return (((item,), len(item)) for item in items)


class KeyedWork(LifoWork):
    """Changes to a KEYED queue."""

    __slots__ = ()
    _shrinks = False

    def put(self, data: bytes) -> None:
        """Refused: an entry of a KEYED queue has a key."""
        self.put_entry(Entry(data))

    def put_entry(self, entry: Entry) -> None:
        """See :meth:`Work.put_entry`."""
        check_entry(self.queue.name, entry, self.queue.key_length)
        self._hold(self._cost([entry]))
        self.items.append(entry)

    def put_back(self, item: Item) -> None:
        """Add an entry: it is the next that is taken with its key."""
        entry = item if isinstance(item, Entry) else Entry(item)
        check_entry(self.queue.name, entry, self.queue.key_length)
        Work.put_back(self, entry)

    def take(self) -> bytes | None:
        """The data of the first committed entry by key not yet taken."""
        entry = self.take_entry()
        return None if entry is None else entry.data

    def take_entry(self) -> Entry | None:
        """The first committed entry by key not yet taken."""
        return self._find(None, b"")

    def take_key(self, search: SearchOrder, key: bytes) -> Entry | None:
        """See :meth:`Work.take_key`."""
        self.queue.check_key(key)
        return self._find(search, key)

    def _find(self, search: SearchOrder | None, key: bytes) -> Entry | None:
        gone = self.gone
        if self.cleared:
            return None
        found = next(self.queue.matching(search, key, gone.__contains__, most=1), None)
        if found is None:
            return None
        key, item, long = found
        self.gone[key] = len(item.data), long  # type: ignore[union-attr]
        return item  # type: ignore[return-value]

    def _insert(self, txn: StoreTransaction, number: int, first: int, last: int) -> tuple[int, int, int]:
        front, items = self.front[::-1], self.items[self.own :]
        first -= len(front)
        size = self._write(txn, number, first - 1, front) + self._write(txn, number, last, items)
        return first, last + len(items), size

    def _write(self, txn: StoreTransaction, number: int, seq: int, items: Sequence[Entry]) -> int:
        total = 0
        for place, item in enumerate(items, seq + 1):
            key = entry_key(number, place, item.key)
            size = len(item.data)
            txn.put(key, encode(key, (item,)) if size <= INLINE else self.queue.durable.put_long(txn, key, item))
            total += size
        return total
