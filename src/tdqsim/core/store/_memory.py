"""Volatile FIFO and LIFO queues: a deque, of which the middle (or the bottom) may be on the disk.

The records themselves are the only truth: the count is derived from them, and no line of a put or a take can be
interrupted so that they disagree. The class of a queue says where its records are, and changes as they move:

- *unused*: nothing was ever put, so not even a deque is there, of which there may be a hundred thousand;
- *in memory*: everything is in ``tail``;
- *overflowed*: what is taken next is in ``head``, then comes ``disk``, then ``tail``; of a LIFO queue ``tail`` is on
  top of ``disk``, and there is no head. This is right of a queue in memory too, so it becomes this before it moves.

Records move in a commit of the disk, which says to the queue in the same moment what is left in memory: if that is
interrupted, the disk is in doubt, and everything that an overflowed queue does begins with settling it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from tdqsim.core.store._layout import Entry, Item, Order, SearchOrder, check_entry, size_of
from tdqsim.errors import StoreFull

if TYPE_CHECKING:
    from tdqsim.core.store._queue import DurableQueue
    from tdqsim.core.store._volatile import Volatile
    from tdqsim.core.store._work import Work

__all__ = ["PER_RECORD", "FifoQueue", "LifoQueue", "VolatileQueue"]

PER_RECORD: Final = 64
"""Memory that a record takes beside its data, and what is charged for that."""
_PER_ENTRY: Final = 256
"""The same with key, sender and time."""
_BATCH_BYTES: Final = 256 * 1024
_LEAST: Final = 16
_MOST: Final = 512
_MOVED: Final = 20_000
"""Records moved in one commit."""
NOTHING: Final[deque[Item]] = deque(maxlen=0)


class Moved:
    """Records were moved in a commit: what is in memory then, told to the queue by its settling."""

    __slots__ = ("head", "queue", "tail")

    def __init__(self, queue: VolatileQueue, head: deque[Item], tail: deque[Item]) -> None:
        self.queue, self.head, self.tail = queue, head, tail

    def committed(self) -> None:
        """See :class:`~tdqsim.core.store._durable.Owner`."""
        self.queue.head, self.queue.tail = self.head, self.tail


class VolatileQueue:
    """One volatile queue; see the module's text. This is what all orders and places have in common.

    Attributes:
        name: its name.
        order: the order in which it hands out its entries.
        key_length: the length of its keys; 0 unless KEYED.
    """

    __slots__ = ("batch", "disk", "head", "key_length", "name", "order", "plain", "pool", "tail")

    def __init__(self, pool: Volatile, name: bytes, order: Order, key_length: int) -> None:
        self.pool, self.name, self.order, self.key_length = pool, name, order, key_length
        self.head = self.tail = NOTHING
        self.disk: DurableQueue | None = None
        self.batch = _MOST
        self.plain = True

    def __repr__(self) -> str:
        return f"<volatile {self.order.name} queue {self.name!r} with {self.count} entries>"

    # -- putting and taking -------------------------------------------------------------------------------------------

    def put(self, data: bytes) -> int:
        """Add an entry with nothing but data; how many there are then.

        Raises:
            StoreFull: memory is used up, and there is no room on the disk; nothing was put.
            ValueError: the queue is KEYED.
        """
        raise NotImplementedError

    def take(self) -> bytes | None:
        """Remove the next entry in the queue's order and return its data; None when the queue is empty."""
        raise NotImplementedError

    def put_entry(self, entry: Entry) -> int:
        """Add an entry, as :meth:`put`; ValueError also when key or sender are not what the queue can take."""
        raise NotImplementedError

    def take_entry(self) -> Entry | None:
        """Remove the next entry in the queue's order and return it; None when the queue is empty."""
        raise NotImplementedError

    def put_back(self, item: Item) -> None:
        """Add an entry in front: it is the next that is taken, of a KEYED queue the next with its key."""
        raise NotImplementedError

    def take_key(self, search: SearchOrder, key: bytes) -> Entry | None:  # noqa: ARG002 - a KEYED queue's
        """Remove the entry that :meth:`find` finds and return it."""
        raise self._not_keyed()

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many entries there are."""
        raise NotImplementedError

    @property
    def memory_count(self) -> int:
        """How many of them are in memory only."""
        return self.count - (self.disk.now.count if self.disk is not None else 0)

    @property
    def data_bytes(self) -> int:
        """Bytes of their data; those in memory are added up."""
        raise NotImplementedError

    def peek(self, position: int = 0) -> Entry | None:
        """The entry at a position in the queue's order; None when there are not so many."""
        return next(self.entries(skip=position, limit=1), None)

    def entries(self, *, reverse: bool = False, skip: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries in the order in which they would be taken, as they are now.

        Those that overflowed are read as they are asked for: they must not be taken meanwhile.

        Args:
            reverse: the other way round.
            skip: how many to pass over first.
            limit: how many at most.
        """
        raise NotImplementedError

    def find(self, search: SearchOrder, key: bytes) -> Entry | None:
        """The first entry under the lowest key that relates to ``key`` as asked; None when there is none.

        Raises:
            ValueError: the queue is not KEYED, or the key has not its key length.
        """
        return next(self.search(search, key), None)

    def search(self, search: SearchOrder, key: bytes) -> Iterator[Entry]:  # noqa: ARG002 - a KEYED queue's
        """All entries whose key relates to ``key`` as asked, by key ascending and in order of arrival within a key."""
        raise self._not_keyed()

    # -- many entries -------------------------------------------------------------------------------------------------

    def clear(self) -> int:
        """Remove all entries; how many they were."""
        raise NotImplementedError

    def clear_keys(self, search: SearchOrder, key: bytes) -> int:  # noqa: ARG002 - a KEYED queue's
        """Remove all entries whose key relates to ``key`` as asked; how many they were."""
        raise self._not_keyed()

    def _not_keyed(self) -> ValueError:
        return ValueError(f"queue {self.name!r}: only a KEYED queue is searched by key; this one is {self.order.name}")

    # -- for the pool -------------------------------------------------------------------------------------------------

    def memory_bytes(self) -> int:
        """What the entries in memory take."""
        raise NotImplementedError

    def overflow(self) -> None:
        """Write most of what is in memory to the disk; StoreFull, and nothing is changed, when there is no room."""
        raise NotImplementedError

    def write_out(self) -> None:
        """Write everything to the disk; StoreFull, and nothing is lost, when there is no room."""
        raise NotImplementedError

    def on_disk(self, stored: DurableQueue) -> None:
        """Everything is in a queue on the disk, from a run before."""
        raise NotImplementedError

    def forget(self) -> None:
        """Become an empty queue of nobody."""
        raise NotImplementedError

    def _stored(self) -> DurableQueue:
        """The queue on the disk, made when there is none."""
        disk = self.pool.disk
        stored = disk.queue(self.name)
        return disk.create_queue(self.name, self.order, self.key_length) if stored is None else stored


class _Deque(VolatileQueue):
    """FIFO and LIFO queues, wherever they are."""

    __slots__ = ()

    def take_entry(self) -> Entry | None:
        item = self.take_item()
        return item if item is None or isinstance(item, Entry) else Entry(item)

    def take_item(self) -> Item | None:
        """The next entry as it is kept."""
        raise NotImplementedError

    def put_entry(self, entry: Entry) -> int:
        check_entry(self.name, entry, 0)
        self.plain = False
        self.pool.left -= len(entry.sender) + _PER_ENTRY
        return self._put(entry, len(entry.data))

    def _put(self, item: Item, size: int) -> int:
        raise NotImplementedError

    def entries(self, *, reverse: bool = False, skip: int = 0, limit: int | None = None) -> Iterator[Entry]:
        left = self.count if limit is None else limit
        walks: list[Iterator[Entry]] = []
        for part in self._parts()[:: -1 if reverse else 1]:
            size = len(part) if isinstance(part, deque) else part.now.count
            went = max(0, min(size - skip, left))
            if isinstance(part, deque):
                walks.append(self._some(part, skip, skip + went, down=reverse != (self.order is Order.LIFO)))
            else:
                walks.append(part.entries(reverse=reverse, skip=skip, limit=went))
            skip, left = max(0, skip - size), left - went
        return chain.from_iterable(walks)

    def _some(self, part: deque[Item], start: int, stop: int, *, down: bool) -> Iterator[Entry]:
        found: list[Item]
        if stop - start == 1:
            found = [part[-1 - start if down else start]]
        else:
            found = list(islice(reversed(part) if down else part, start, stop))
        return (item if isinstance(item, Entry) else Entry(item) for item in found)

    def _parts(self) -> list[deque[Item] | DurableQueue]:
        """Where the entries are, in the order in which they are taken."""
        return [self.tail]

    @property
    def count(self) -> int:
        return len(self.tail)

    @property
    def data_bytes(self) -> int:
        return sum(sum(map(size_of, part)) if isinstance(part, deque) else part.data_bytes for part in self._parts())

    def memory_bytes(self) -> int:
        total = 0
        for part in (self.head, self.tail):
            if self.plain:
                total += sum(map(len, part)) + PER_RECORD * len(part)
            else:
                total += sum(map(size_of, part)) + (PER_RECORD + _PER_ENTRY) * len(part)
        return total

    def put_back(self, item: Item) -> None:
        if isinstance(item, Entry):
            check_entry(self.name, item, 0)
            self.plain = False
        self._put_front(item)

    def _put_front(self, item: Item) -> None:
        raise NotImplementedError

    def clear(self) -> int:
        went = self.count
        self.tail = deque()
        return went

    def overflow(self) -> None:
        count = len(self.head) + len(self.tail)
        if count:
            most = min(_BATCH_BYTES, self.pool.budget // 8)
            self.batch = max(_LEAST, min(_MOST, most * count // self.memory_bytes()))
            self._move(self.batch)

    def write_out(self) -> None:
        if self.count:
            self._move(0)

    def _move(self, keep: int) -> None:
        """Have at most some records in memory."""
        if self.disk is None:
            self.disk = self._stored()
        self.__class__ = self._overflowed
        self._move(keep)

    @property
    def _overflowed(self) -> type[_Deque]:
        raise NotImplementedError

    def on_disk(self, stored: DurableQueue) -> None:
        self.disk = stored
        self.head, self.tail = deque(), deque()
        self.plain = False
        self.__class__ = self._overflowed

    def forget(self) -> None:
        self.disk = None
        self.head = self.tail = NOTHING
        self.__class__ = FifoQueue if self.order is Order.FIFO else LifoQueue


class _Unused(_Deque):
    """Nothing was ever put."""

    __slots__ = ()

    def put(self, data: bytes) -> int:
        return self._put(data, len(data))

    def _put(self, item: Item, size: int) -> int:
        self._begin()
        return self._put(item, size)

    def _put_front(self, item: Item) -> None:
        self._begin()
        self._put_front(item)

    def _begin(self) -> None:
        self.tail = deque()
        self.__class__ = _FifoInMemory if self.order is Order.FIFO else _LifoInMemory  # type: ignore[assignment]

    def take(self) -> bytes | None:
        return None

    take_item = take

    def clear(self) -> int:
        return 0

    @property
    def _overflowed(self) -> type[_Deque]:
        return _FifoOverflowed if self.order is Order.FIFO else _LifoOverflowed


class FifoQueue(_Unused):
    """A FIFO queue."""

    __slots__ = ()


class LifoQueue(_Unused):
    """A LIFO queue."""

    __slots__ = ()


class _InMemory(_Deque):
    """Everything is in ``tail``."""

    __slots__ = ()

    def put(self, data: bytes) -> int:
        pool = self.pool
        pool.left -= len(data) + PER_RECORD
        if pool.left < 0:
            return self._put_with_care(data)
        tail = self.tail
        tail.append(data)
        return len(tail)

    def _put_with_care(self, item: Item) -> int:
        self.pool.make_room()
        return self._add(item)  # which may be an overflowed queue's by now

    def _add(self, item: Item) -> int:
        self.tail.append(item)
        return len(self.tail)

    def _put(self, item: Item, size: int) -> int:
        pool = self.pool
        pool.left -= size + PER_RECORD
        if pool.left < 0:
            return self._put_with_care(item)
        self.tail.append(item)
        return len(self.tail)


class _FifoInMemory(_InMemory):
    """A FIFO queue in memory."""

    __slots__ = ()

    def take(self) -> bytes | None:
        tail = self.tail
        if not tail:
            return None
        item = tail.popleft()
        return item if item.__class__ is bytes else item.data  # type: ignore[union-attr]

    def take_item(self) -> Item | None:
        return self.tail.popleft() if self.tail else None

    def _put_front(self, item: Item) -> None:
        self.tail.appendleft(item)

    @property
    def _overflowed(self) -> type[_Deque]:
        return _FifoOverflowed


class _LifoInMemory(_InMemory):
    """A LIFO queue in memory."""

    __slots__ = ()

    def take(self) -> bytes | None:
        tail = self.tail
        if not tail:
            return None
        item = tail.pop()
        return item if item.__class__ is bytes else item.data  # type: ignore[union-attr]

    def take_item(self) -> Item | None:
        return self.tail.pop() if self.tail else None

    def _put_front(self, item: Item) -> None:
        self.tail.append(item)

    def _parts(self) -> list[deque[Item] | DurableQueue]:
        return [self.tail]

    @property
    def _overflowed(self) -> type[_Deque]:
        return _LifoOverflowed


class _Overflowed(_Deque):
    """A queue that is partly on the disk."""

    __slots__ = ()

    def settle(self) -> DurableQueue:
        """The queue on the disk, when nothing of it is in doubt."""
        stored = self.disk
        assert stored is not None, "an overflowed queue has a disk"
        if stored.durable.in_doubt:
            stored.durable.settle()
        return stored

    def put(self, data: bytes) -> int:
        return self._put(data, len(data))

    def _put(self, item: Item, size: int) -> int:
        pool = self.pool
        pool.left -= size + PER_RECORD
        if pool.left < 0:
            pool.make_room()
        return self._add(item)

    def _add(self, item: Item) -> int:
        stored = self.settle()
        if len(self.tail) >= 2 * self.batch:
            self._move_if_it_fits()
        tail = self.tail
        tail.append(item)
        return len(self.head) + stored.now.count + len(tail)

    def _move_if_it_fits(self) -> None:
        try:
            self._move(self.batch)
        except StoreFull:
            self.batch = len(self.tail)  # memory will do until the budget is spent

    def take(self) -> bytes | None:
        item = self.take_item()
        return item.data if isinstance(item, Entry) else item

    @property
    def count(self) -> int:
        stored = self.settle()
        return len(self.head) + stored.now.count + len(self.tail)

    def clear(self) -> int:
        went = self.count
        stored = self.settle()
        work = stored.work()
        work.clear()
        stored.durable.commit((work,), owner=Moved(self, deque(), deque()))
        return went

    def _commit(self, work: Work, head: Iterable[Item], tail: Iterable[Item]) -> None:
        """Move records; then so much is in memory."""
        work.queue.durable.commit((work,), owner=Moved(self, deque(head), deque(tail)))


class _FifoOverflowed(_Overflowed):
    """A FIFO queue that is partly on the disk."""

    __slots__ = ()

    def take_item(self) -> Item | None:
        stored = self.settle()
        head = self.head
        if not head:
            if not stored.now.count:
                self.__class__ = _FifoInMemory  # type: ignore[assignment]
                return self.take_item()
            self._refill(stored)
            head = self.head
        return head.popleft()

    def _refill(self, stored: DurableQueue) -> None:
        work: Any = stored.work()
        items = work.take_batch()
        self._commit(work, items, self.tail)

    def _put_front(self, item: Item) -> None:
        self.settle()
        self.head.appendleft(item)

    def _parts(self) -> list[deque[Item] | DurableQueue]:
        stored = self.settle()
        return [self.head, stored, self.tail]

    def _move(self, keep: int) -> None:
        """Put ``tail`` behind what is on the disk; of a queue all of which is in memory, but for its first records.

        With nothing kept, ``head`` is put back in front.
        """
        stored = self.settle()
        while self.head and not keep:
            work = stored.work()
            for item in list(self.head)[: -_MOVED - 1 : -1]:
                work.put_back(item)
            self._commit(work, list(self.head)[: -_MOVED or None] if len(self.head) > _MOVED else (), self.tail)
        if keep and not self.head and not stored.now.count:
            head = deque(islice(self.tail, keep))
            self.head, self.tail = head, deque(islice(self.tail, keep, None))
        while self.tail:
            work = stored.work()
            work.put_many(list(islice(self.tail, _MOVED)))
            self._commit(work, self.head, islice(self.tail, _MOVED, None))

    @property
    def _overflowed(self) -> type[_Deque]:
        return _FifoOverflowed


class _LifoOverflowed(_Overflowed):
    """A LIFO queue of which the bottom is on the disk."""

    __slots__ = ()

    def take_item(self) -> Item | None:
        stored = self.settle()
        if not self.tail:
            if not stored.now.count:
                self.__class__ = _LifoInMemory  # type: ignore[assignment]
                return None
            work: Any = stored.work()
            self._commit(work, (), work.take_batch())
        return self.tail.pop()

    def _put_front(self, item: Item) -> None:
        self.settle()
        self.tail.append(item)

    def _parts(self) -> list[deque[Item] | DurableQueue]:
        return [self.tail, self.settle()]

    def _move(self, keep: int) -> None:
        """Put all but the newest of ``tail`` on top of what is on the disk."""
        stored = self.settle()
        while (more := len(self.tail) - keep) > 0:
            work = stored.work()
            went = min(more, _MOVED)
            work.put_many(list(islice(self.tail, went)))
            self._commit(work, (), islice(self.tail, went, None))

    @property
    def _overflowed(self) -> type[_Deque]:
        return _LifoOverflowed
