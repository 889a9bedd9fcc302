"""Volatile FIFO and LIFO queues: a deque whose middle (or bottom) may be on the disk.

The count is derived from the records themselves, so an interrupt at any line of a put or a take cannot make them
disagree. A queue is in one of three states:

- *unused*: nothing was ever put. It has not even a deque, since a region may have 100,000 such queues;
- *in memory*: all records are in ``tail``;
- *overflowed*: the next records are in ``head``, then come those on ``disk``, then ``tail``. A LIFO queue has no head:
  ``tail`` is on top of ``disk``. This description holds for a queue in memory too, so a queue becomes overflowed
  before its records are moved.

In memory a put or a take is a single deque operation. In the other two states the queue is ``careful``.

Records are moved by a commit of the disk file, whose settling also sets the queue's records in memory. If that is
interrupted, the commit is in doubt, so each operation of a careful queue begins by settling it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from tdqsim.core.store._layout import Entry, Item, Order, SearchOrder, not_keyed, nothing
from tdqsim.errors import StoreFull

if TYPE_CHECKING:
    from tdqsim.core.store._queue import DurableQueue
    from tdqsim.core.store._volatile import Volatile

PER_RECORD: Final = 64
"""The memory that a record is charged for in addition to its data."""
_BATCH_BYTES: Final = 256 * 1024
_LEAST: Final = 16
_MOST: Final = 512
_MOVED: Final = 20_000
"""Records moved in one commit."""
NOTHING: Final[deque[bytes]] = deque(maxlen=0)


class Moved:
    """The records in memory after a commit that moved some; settling the commit sets them in the queue."""

    __slots__ = ("head", "queue", "tail")

    def __init__(self, queue: VolatileQueue, head: Iterable[bytes] = (), tail: Iterable[bytes] = ()) -> None:
        self.queue, self.head, self.tail = queue, deque(head), deque(tail)

    def committed(self) -> None:
        """See :class:`~tdqsim.core.store._durable.CommitOwner`."""
        self.queue.head, self.queue.tail = self.head, self.tail


class VolatileQueue:
    """A volatile FIFO queue, and the base of the others; see the module's text.

    Attributes:
        name: its name.
        order: the order in which entries are taken.
        key_length: the length of its keys; 0 unless KEYED.
    """

    __slots__ = ("batch", "careful", "disk", "head", "key_length", "name", "order", "pool", "tail")

    def __init__(self, pool: Volatile, name: bytes, order: Order, key_length: int) -> None:
        self.pool, self.name, self.order, self.key_length = pool, name, order, key_length
        self.disk: DurableQueue | None = None
        self.head = self.tail = NOTHING
        self.batch = _MOST
        self.careful = True

    def __repr__(self) -> str:
        return f"<volatile {self.order.name} queue {self.name!r} with {self.count} entries>"

    # -- putting and taking -------------------------------------------------------------------------------------------

    def put(self, data: bytes) -> int:
        """Add a record to a FIFO or LIFO queue; returns the number of records after it.

        Raises:
            StoreFull: memory is used up, and there is no room on the disk; nothing was put.
            ValueError: the queue is KEYED.
        """
        pool = self.pool
        pool.left -= len(data) + PER_RECORD
        if self.careful or pool.left < 0:
            return self._put_with_care(data)
        tail = self.tail
        tail.append(data)
        return len(tail)

    def _put_with_care(self, data: bytes) -> int:
        if self.pool.left < 0:
            self.pool.make_room()
        stored = self.disk
        if stored is None:
            tail = self._tail()
            tail.append(data)
            return len(tail)
        if stored.durable.in_doubt:
            stored.durable.settle()
        if self.careful and len(self.tail) >= 2 * self.batch:
            self._move_if_it_fits()
        tail = self.tail if self.tail is not NOTHING else self._tail()
        tail.append(data)
        return len(self.head) + len(tail) + stored.now.count

    def _settled(self) -> DurableQueue | None:
        """The queue on the disk, if there is one, after settling a commit in doubt."""
        stored = self.disk
        if stored is not None and stored.durable.in_doubt:
            stored.durable.settle()
        return stored

    def _tail(self) -> deque[bytes]:
        """The deque for new records; made for the first one."""
        if self.tail is NOTHING:
            self.tail = deque()
        if self.disk is None:
            self.careful = False
        return self.tail

    def _move_if_it_fits(self) -> None:
        try:
            self._move(self.batch)
        except StoreFull:
            self.batch = len(self.tail)  # keep the records in memory until the budget is spent

    def take(self) -> bytes | None:
        """Remove the next entry in the queue's order and return its data; None when the queue is empty."""
        if self.careful:
            return self._take_with_care()
        tail = self.tail
        return tail.popleft() if tail else None

    def _take_with_care(self) -> bytes | None:
        stored = self._settled()
        if not self.head and stored is not None and stored.now.count:
            work: Any = stored.work()
            items = work.take_batch()
            self._commit(work, items, self.tail)
        if self.head:
            return self.head.popleft()
        self.careful = self.tail is NOTHING
        return self.tail.popleft() if self.tail else None

    def put_back(self, item: Item) -> None:
        """Add a record, or an entry of a KEYED queue, at the front: it is the next one taken (with its key)."""
        self._settled()
        near = self._tail()
        (self.head if self.careful else near).appendleft(item)  # type: ignore[arg-type]

    def put_entry(self, _entry: Entry) -> int:
        """Add an entry to a KEYED queue, as :meth:`put`; ValueError when the queue is not KEYED or cannot take it."""
        raise not_keyed(self.name, self.order)

    def take_entry(self) -> Entry | None:
        """Remove the next entry in the queue's order and return it; None when the queue is empty."""
        data = self.take()
        return None if data is None else Entry(data)

    def take_key(self, _search: SearchOrder, _key: bytes) -> Entry | None:
        """Remove and return the entry that :meth:`find` would return."""
        raise not_keyed(self.name, self.order)

    # -- reading ------------------------------------------------------------------------------------------------------

    def _parts(self) -> tuple[deque[bytes] | DurableQueue | None, ...]:
        """The places of the records, in the order in which they are taken."""
        stored = self._settled()
        return self.head, stored, self.tail

    @property
    def count(self) -> int:
        """How many entries there are."""
        if self.disk is None:
            return len(self.tail)
        stored = self._settled()
        return len(self.head) + len(self.tail) + (0 if stored is None else stored.now.count)

    @property
    def memory_count(self) -> int:
        """How many entries are only in memory."""
        return self.count - (self.disk.now.count if self.disk is not None else 0)

    @property
    def data_bytes(self) -> int:
        """The bytes of data of all entries; computed for those in memory."""
        stored = self._settled()
        return sum(map(len, self.head)) + sum(map(len, self.tail)) + (0 if stored is None else stored.data_bytes)

    def peek(self, position: int = 0) -> Entry | None:
        """The entry at a position in the queue's order; None when there are not so many."""
        return next(self.entries(skip=position, limit=1), None)

    def entries(
        self, *, reverse: bool = False, skip: int = 0, limit: int | None = None, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """The current entries in the order in which they would be taken.

        Entries on the disk are read during the iteration and must not be taken meanwhile.

        Args:
            reverse: give them in reverse order.
            skip: how many to skip first.
            limit: how many at most.
            pause: see :meth:`tdqsim.core.store.DurableQueue.entries`.
        """
        left = self.count if limit is None else limit
        walks: list[Iterator[Entry]] = []
        for part in self._parts()[:: -1 if reverse else 1]:
            size = 0 if part is None else len(part) if isinstance(part, deque) else part.now.count
            count = max(0, min(size - skip, left))
            if isinstance(part, deque):
                walks.append(self._some(part, skip, skip + count, down=reverse != (self.order is Order.LIFO)))
            elif part is not None:
                walks.append(part.entries(reverse=reverse, skip=skip, limit=count, pause=pause))
            skip, left = max(0, skip - size), left - count
        return chain.from_iterable(walks)

    def _some(self, part: deque[bytes], start: int, stop: int, *, down: bool) -> Iterator[Entry]:
        if stop - start == 1:
            return map(Entry, [part[-1 - start if down else start]])
        return map(Entry, list(islice(reversed(part) if down else part, start, stop)))

    def find(self, search: SearchOrder, key: bytes) -> Entry | None:
        """The first entry with the lowest key that matches a search, or None.

        Raises:
            ValueError: the queue is not KEYED, or ``key`` does not have its key length.
        """
        return next(self.search(search, key), None)

    def search(
        self,
        search: SearchOrder,
        key: bytes,
        *,
        skip: int = 0,
        pause: Callable[[], object] = nothing,
    ) -> Iterator[Entry]:
        """All entries whose keys match a search, by ascending key, and in order of arrival within a key."""
        del search, key, skip, pause  # for KEYED queues only
        raise not_keyed(self.name, self.order)

    # -- many records -------------------------------------------------------------------------------------------------

    def clear(self) -> int:
        """Remove all entries; returns how many there were."""
        removed = self.count
        if self.disk is not None and self.careful:
            work = self.disk.work()
            work.clear()
            self._commit(work)
        elif removed:
            self.tail = deque()
        return removed

    def clear_keys(self, _search: SearchOrder, _key: bytes) -> int:
        """Remove all entries whose keys match a search; returns how many there were."""
        raise not_keyed(self.name, self.order)

    def memory_bytes(self) -> int:
        """The memory that entries take."""
        count = len(self.head) + len(self.tail)
        return sum(map(len, self.head)) + sum(map(len, self.tail)) + PER_RECORD * count

    def overflow(self) -> None:
        """Move most entries in memory to the disk; StoreFull, and nothing is changed, when there is no room."""
        count = len(self.head) + len(self.tail)
        if count:
            most = min(_BATCH_BYTES, self.pool.budget // 8)
            self.batch = max(_LEAST, min(_MOST, most * count // self.memory_bytes()))
            self._move(self.batch)

    def write_out(self) -> None:
        """Move all entries to the disk; StoreFull, and nothing is lost, when there is no room."""
        if self.count:
            self._move(0)

    def _move(self, keep: int) -> None:
        """Move ``tail`` to the end of the records on the disk.

        When all records are in memory, the first ``keep`` ones stay there as ``head``. When ``keep`` is 0, ``head`` is
        moved to the front of the records on the disk.
        """
        stored = self._about_to_move()
        if not self.head and not stored.now.count:
            head, tail = deque(islice(self.tail, keep)), deque(islice(self.tail, keep, None))
            self.head, self.tail = head, tail
        while self.head and not keep:
            work = stored.work()
            for item in list(self.head)[: -_MOVED - 1 : -1]:
                work.put_back(item)
            self._commit(work, islice(self.head, max(0, len(self.head) - _MOVED)), self.tail)
        while self.tail:
            work = stored.work()
            work.put_many(list(islice(self.tail, _MOVED)))
            self._commit(work, self.head, islice(self.tail, _MOVED, None))

    def _made_on_disk(self) -> DurableQueue:
        """The queue on the disk, made if needed."""
        disk = self.pool.disk
        stored = disk.queue(self.name)
        return disk.create_queue(self.name, self.order, self.key_length) if stored is None else stored

    def _about_to_move(self) -> DurableQueue:
        if self.disk is None:
            self.disk = self._made_on_disk()
        if not self.head:
            self.head = deque()
        self.careful = True
        self._settled()
        return self.disk

    def _commit(self, work: Any, head: Iterable[bytes] = (), tail: Iterable[bytes] = ()) -> None:
        """Commit a move of records, after which ``head`` and ``tail`` are the records in memory."""
        work.queue.durable.commit((work,), owner=Moved(self, head, tail))

    def on_disk(self, stored: DurableQueue) -> None:
        """Set the queue to a stored one of a previous run, with all entries on the disk."""
        self.disk = stored
        self.head, self.tail = deque(), deque()

    def forget(self) -> None:
        """Become an empty queue that belongs to no store."""
        self.disk, self.careful = None, True
        self.head = self.tail = NOTHING


class LifoQueue(VolatileQueue):
    """A LIFO queue."""

    __slots__ = ()

    def take(self) -> bytes | None:
        """See the base."""
        if self.careful:
            return self._take_with_care()
        tail = self.tail
        return tail.pop() if tail else None

    def _take_with_care(self) -> bytes | None:
        stored = self._settled()
        if not self.tail:
            if stored is None or not stored.now.count:
                self.careful = self.tail is NOTHING
                return None
            work: Any = stored.work()
            items = work.take_batch()
            self._commit(work, (), items)
        return self.tail.pop()

    def put_back(self, item: Item) -> None:
        """See the base."""
        self._settled()
        self._tail().append(item)  # type: ignore[arg-type]

    def _parts(self) -> tuple[deque[bytes] | DurableQueue | None, ...]:
        stored = self._settled()
        return self.tail, stored

    def _move(self, keep: int) -> None:
        """Move all but the newest ``keep`` records of ``tail`` to the top of the records on the disk."""
        stored = self._about_to_move()
        while (more := len(self.tail) - keep) > 0:
            work = stored.work()
            count = min(more, _MOVED)
            work.put_many(list(islice(self.tail, count)))
            self._commit(work, (), islice(self.tail, count, None))
