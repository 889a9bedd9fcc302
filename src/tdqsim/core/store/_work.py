"""What has been done to one durable queue and not committed.

A work changes nothing but itself: throw it away, and nothing was done. Each of its methods changes it by one
assignment or one append at its end, so that whatever is raised inside leaves it as it was before or as it is after.
To apply itself to a transaction changes nothing but the transaction, so it can be done again after a commit that
failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    data_of,
    encode,
    entry_key,
    entry_number,
    parts,
    size_of,
)
from tdqsim.core.store._room import FACTOR, PER_ENTRY

if TYPE_CHECKING:
    from tdqsim.core.store._queue import DurableQueue, Record

__all__ = ["FifoWork", "KeyedWork", "LifoWork", "Work"]

NOTHING: Final[list[Item]] = []
_AHEAD: Final = 64
_TOO_MUCH: Final = FACTOR * (MAX_DATA + PER_ENTRY)
_Standing: TypeAlias = Standing | tuple[int, int, int, int, int]
_new: Any = tuple.__new__
_NO_READS: Final = (0, 0)
_NONE: Final[tuple[int | None, int, Item, Long | None]] = (None, 0, b"", None)


class Work:
    """Changes to a queue that gather until they are committed; see the module's text.

    One work at a time may take from a queue; others may put on a FIFO or KEYED queue at the same time.

    Attributes:
        queue: the queue.
        items: what was put, in order.
        own: how many of these were read back with :meth:`take_own`.
        front: what was put back, the last one first of all.
        cleared: whether everything committed goes.
        dropped: whether the queue goes too.
        held: the room that is held for what was put.
        after: what the queue is when this is committed; set when it is applied.
    """

    __slots__ = ("__weakref__", "after", "cleared", "dropped", "front", "held", "items", "own", "queue")

    def __init__(self, queue: DurableQueue) -> None:
        self.queue = queue
        self.after = queue.now
        self.items: list[Item] = []
        self.front: list[Item] = NOTHING
        self.own = self.held = 0
        self.cleared = self.dropped = False

    @property
    def reads(self) -> int:
        """How many committed entries were taken."""
        raise NotImplementedError

    @property
    def changed(self) -> bool:
        """Whether a commit would change anything."""
        return bool(len(self.items) > self.own or self.reads or self.front or self.cleared or self.dropped)

    # -- putting --------------------------------------------------------------------------------------------------

    def put(self, data: bytes) -> None:
        """Add an entry with nothing but data.

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

    def put_many(self, items: list[Item]) -> None:
        """Add entries that were checked before, in one go: StoreFull, and none of them, when there is no room."""
        self._hold(self._cost(sum(map(size_of, items)), len(items)))
        self.items += items

    def put_entry(self, entry: Entry) -> None:
        """Add an entry; as :meth:`put`, ValueError also when key, sender or time are not what the queue can take."""
        check_entry(self.queue.name, entry, self.queue.key_length)
        self._hold(self._cost(len(entry.data) + len(entry.sender)))
        self.items.append(entry)

    def put_back(self, item: Item) -> None:
        """Add an entry in front: it is the next that is taken, of a KEYED queue the next with its key."""
        if isinstance(item, Entry):
            check_entry(self.queue.name, item, self.queue.key_length)
        if self.front is NOTHING:
            self.front = []  # before it can be refused: who must put it back all the same adds it to this list
        self._hold(self._cost(size_of(item)))
        self.front.append(item)

    def _cost(self, nbytes: int, many: int = 1) -> int:
        return self.queue.durable.room.cost(nbytes, many, keyed=self.queue.key_length > 0)

    def _hold(self, cost: int) -> None:
        if cost > _TOO_MUCH:
            raise ValueError(f"queue {self.queue.name!r}: more than {MAX_DATA} bytes")
        durable = self.queue.durable
        durable.charge(cost)
        if not self.held:
            durable.room.holders.append(ref(self))
        self.held += cost

    # -- taking ---------------------------------------------------------------------------------------------------

    def take(self) -> bytes | None:
        """The data of the next committed entry behind those that this work took; None when there is none."""
        item = self.take_item()
        return item.data if item.__class__ is Entry else item  # type: ignore[return-value]

    def take_entry(self) -> Entry | None:
        """The next committed entry, as :meth:`take`."""
        item = self.take_item()
        return item if item is None or isinstance(item, Entry) else Entry(item)

    def take_item(self) -> Item | None:
        """The next committed entry as it is kept, as :meth:`take`."""
        raise NotImplementedError

    def take_own(self) -> bytes | None:
        """The data of the oldest entry that this work put on a FIFO queue and did not read back; or None."""
        if self.own >= len(self.items):
            return None
        data = data_of(self.items[self.own])
        self.own += 1
        return data

    def take_key(self, search: SearchOrder, key: bytes) -> Entry | None:  # noqa: ARG002 - a KEYED queue's
        """The first committed entry not yet taken whose key relates to ``key`` as asked, of the lowest such key.

        Raises:
            ValueError: the queue is not KEYED, or the key has not its key length.
        """
        raise ValueError(f"queue {self.queue.name!r}: only a KEYED queue is searched by key")

    # -- all at once ----------------------------------------------------------------------------------------------

    def clear(self) -> int:
        """Everything committed goes, and what this work put; how many entries that are."""
        went = (0 if self.cleared else self.queue.count - self.reads) + len(self.items) - self.own + len(self.front)
        self.items, self.front, self.own, self.cleared = [], NOTHING, 0, True
        return went

    def drop(self) -> int:
        """As :meth:`clear`, and the queue goes too."""
        went = self.clear()
        self.dropped = True
        return went

    # -- committing -----------------------------------------------------------------------------------------------

    def apply(self, txn: Any, now: Standing) -> Standing:
        """Change the transaction, in which the queue is ``now``; what it is then."""
        after: _Standing = self._clear(txn, now) if self.cleared else self._remove(txn, now)
        if len(self.items) > self.own or self.front:
            after = self._insert(txn, after)
        return now if after is now else _new(Standing, after)

    def settled(self) -> None:
        """The commit is made: memory follows. May be done again."""
        queue = self.queue
        if self.cleared or self.front:
            queue.ahead.clear()
            if self.dropped:
                queue.durable.forget(queue)
        queue.now = self.after
        self.held = 0

    def _clear(self, txn: Any, now: Standing) -> _Standing:
        durable = self.queue.durable
        if now.number:
            durable.reclaim_later(txn, now.number)
        if self.dropped:
            return Standing()
        return now.last + 1, now.last, 0, 0, durable.new_number(txn)

    def _remove(self, txn: Any, now: _Standing) -> _Standing:
        raise NotImplementedError

    def _insert(self, txn: Any, now: _Standing) -> _Standing:
        """Write what was put: behind the last, and before the first."""
        first, last, count, size, number = now
        number = number or self.queue.durable.new_number(txn)
        items = self.items[self.own :] if self.own else self.items
        if self.front:
            front = self.front[::-1]
            first -= len(front)
            count += len(front)
            size += self._write(txn, number, first - 1, front)
        many = len(items)
        return first, last + many, count + many, size + self._write(txn, number, last, items), number

    def _write(self, txn: Any, number: int, seq: int, items: Sequence[Item]) -> int:
        """Write records behind a number; the bytes of their data."""
        total = 0
        for part in self._parts(items) if len(items) != 1 else (items,):
            seq += len(part)
            item = part[0]
            if item.__class__ is bytes:
                key = entry_key(number, seq)
                size = len(item) if len(part) == 1 else sum(map(len, part))
            else:
                key = entry_key(number, seq, item.key)  # type: ignore[union-attr]
                size = len(item.data)  # type: ignore[union-attr]
            txn.put(key, encode(key, part) if size <= INLINE else self.queue.durable.put_long(txn, key, item))
            total += size
        return total

    def _parts(self, items: Sequence[Item]) -> Iterable[Sequence[Item]]:
        """Which records share an LMDB entry."""
        return ((item,) for item in items)


class FifoWork(Work):
    """Changes to a FIFO queue.

    Attributes:
        taken: how many committed records were taken, and the bytes of their data.
        spent: LMDB entries of which the last record was taken.
    """

    __slots__ = ("spent", "taken")

    def __init__(self, queue: DurableQueue) -> None:
        self.queue = queue
        self.after = queue.now
        self.items = []
        self.front = NOTHING
        self.own = self.held = 0
        self.cleared = self.dropped = False
        self.taken = _NO_READS
        self.spent: list[tuple[int, Long | None]] = []

    @property
    def reads(self) -> int:
        """How many committed records were taken."""
        return self.taken[0]

    def take_item(self) -> Item | None:
        """The next committed record."""
        queue = self.queue
        reads, size = self.taken
        first, last, _, _, _ = queue.now
        seq = first + reads
        if seq > last or self.cleared:
            return None
        ahead = queue.ahead
        at, end, item, long = ahead.popleft() if ahead else _NONE
        if at != seq:
            _, end, item, long = queue.look_up(seq)
        if seq == end:
            self.spent.append((end, long))  # when this is as far as it gets, it is there twice: that does no harm
        self.taken = reads + 1, size + (len(item) if item.__class__ is bytes else size_of(item))
        return item

    def take_batch(self) -> list[Item]:
        """The next committed records, as many as are read at once; none when there are no more."""
        queue = self.queue
        reads, size = self.taken
        seq = queue.now.first + reads
        if seq > queue.now.last or self.cleared:
            return []
        items, ends = queue.look_run(seq)
        self.spent += ends
        self.taken = reads + len(items), size + sum(map(size_of, items))
        return items

    def settled(self) -> None:
        """The commit is made; a record that comes right behind what was read ahead is known too."""
        ahead, written = self.queue.ahead, self.items
        if len(written) == 1 and len(ahead) < _AHEAD:
            _, last, count, _, _ = self.after
            item = written[0]
            if count == len(ahead) + 1 and not self.own and size_of(item) <= INLINE:
                ahead.append((last, last, item, None))  # when it is done again, it is there twice: no harm
        Work.settled(self)

    def _parts(self, items: Sequence[Item]) -> Iterable[Sequence[Item]]:
        return parts(items)

    def _remove(self, txn: Any, now: _Standing) -> _Standing:
        reads, went = self.taken
        if not reads:
            return now
        first, last, count, size, number = now
        first += reads
        for end, long in self.spent:
            if end < first:
                txn.delete(entry_key(number, end))
                if long is not None:
                    self.queue.durable.delete_long(txn, long)
        return first, last, count - reads, size - went, number


class LifoWork(Work):
    """Changes to a LIFO queue: while one takes, no other may put.

    Attributes:
        gone: the committed entries that were taken, by LMDB key: bytes of data, and where it is when it is long.
    """

    __slots__ = ("gone",)

    def __init__(self, queue: DurableQueue) -> None:
        super().__init__(queue)
        self.gone: dict[bytes, tuple[int, Long | None]] = {}

    @property
    def reads(self) -> int:
        """How many committed entries were taken."""
        return len(self.gone)

    def take_item(self) -> Item | None:
        """The newest committed entry not yet taken."""
        now = self.queue.now
        seq = now.last - len(self.gone)
        if seq < now.first or self.cleared:
            return None
        record = self.queue.look_down(seq)
        self._note(entry_key(now.number, seq), record)
        return record.item

    def take_batch(self) -> list[Item]:
        """The next committed entries, as many as are read at once, the oldest first; none when there are no more."""
        now = self.queue.now
        seq = now.last - len(self.gone)
        if seq < now.first or self.cleared:
            return []
        records = self.queue.look_run_down(seq)
        for record in records:
            self._note(entry_key(now.number, record.seq), record)
        return [record.item for record in reversed(records)]

    def _note(self, key: bytes, record: Record) -> None:
        self.gone[key] = size_of(record.item), record.long

    def _remove(self, txn: Any, now: _Standing) -> _Standing:
        if not self.gone:
            return now
        first, last, count, size, number = now
        for key, (nbytes, long) in self.gone.items():
            if not txn.delete(key):
                raise self.queue.damaged(f"record {entry_number(key)} is missing")
            if long is not None:
                self.queue.durable.delete_long(txn, long)
            size -= nbytes
        went = len(self.gone)
        return first, last - (went if self._shrinks else 0), count - went, size, number

    _shrinks: ClassVar = True

    def _insert(self, txn: Any, now: _Standing) -> _Standing:
        """What is put back in front of a LIFO queue is on its top."""
        first, last, count, size, number = now
        number = number or self.queue.durable.new_number(txn)
        items = self.items[self.own :] + self.front
        size += self._write(txn, number, last, items)
        return first, last + len(items), count + len(items), size, number


class KeyedWork(LifoWork):
    """Changes to a KEYED queue."""

    __slots__ = ()
    _shrinks = False
    _insert = Work._insert  # noqa: SLF001 - the base's own

    def put(self, data: bytes) -> None:
        """Refused: an entry of a KEYED queue has a key."""
        self.put_entry(Entry(data))

    def put_back(self, item: Item) -> None:
        """Add an entry: it is the next that is taken with its key."""
        super().put_back(item if isinstance(item, Entry) else Entry(item))

    def take_item(self) -> Item | None:
        """The first committed entry by key not yet taken."""
        return self._take(None, b"")

    def take_key(self, search: SearchOrder, key: bytes) -> Entry | None:
        """See :meth:`Work.take_key`."""
        self.queue.check_key(key)
        return self._take(search, key)

    def _take(self, search: SearchOrder | None, key: bytes) -> Entry | None:
        gone = self.gone
        if self.cleared:
            return None
        found = next(self.queue.matching(search, key, gone.__contains__, most=1), None)
        if found is None:
            return None
        self._note(*found)
        return found[1].item  # type: ignore[return-value]
