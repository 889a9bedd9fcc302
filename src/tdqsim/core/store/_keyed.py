"""Volatile KEYED queues: a dict from key to the entries with that key, in order of arrival.

All other state is derived from the dict, which a single operation changes. The sorted keys are made at the first search
that is not EQ, and maintained from then on. During a change the queue is ``unsure``. If an exception interrupts the
change, the next call sees this, counts the entries again and drops the sorted keys. When memory is short, all entries
are moved to the disk, and each operation is a commit there, until the queue is empty again. So each method first checks
where the entries are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from tdqsim.core.store._layout import Entry, Item, Order, SearchOrder, check_entry, check_key, nothing
from tdqsim.core.store._memory import PER_RECORD, VolatileQueue

if TYPE_CHECKING:
    from tdqsim.core.store._queue import DurableQueue
    from tdqsim.core.store._volatile import Volatile

_PER_ENTRY: Final = 400


class _Emptied:
    """Empties a queue's memory after the commit that moved its entries to the disk."""

    __slots__ = ("queue",)

    def __init__(self, queue: KeyedQueue) -> None:
        self.queue = queue

    def committed(self) -> None:
        """See :class:`~tdqsim.core.store._durable.CommitOwner`."""
        self.queue.unsure, self.queue.by_key = True, {}


class KeyedQueue(VolatileQueue):
    """A KEYED queue.

    Attributes:
        by_key: the entry, or the entries in order of arrival, under each key; empty while all are on the disk.
        keys: the sorted keys; None until they are needed.
        in_memory: the number of entries in memory.
        unsure: whether a change of these three was begun and not finished.
    """

    __slots__ = ("by_key", "in_memory", "keys", "unsure")

    def __init__(self, pool: Volatile, name: bytes, order: Order, key_length: int) -> None:
        super().__init__(pool, name, order, key_length)
        self.by_key: dict[bytes, Entry | deque[Entry]] = {}
        self.keys: Any = None
        self.in_memory = 0
        self.unsure = False

    def _home(self) -> DurableQueue | None:
        """The queue on the disk if the entries are there; None if they are in memory, which is consistent then."""
        stored = self.disk
        if stored is not None:
            stored.durable.settle()
            if stored.now.count:
                return stored
        if self.unsure:
            self._count_anew()
        return None

    def _count_anew(self) -> None:
        """Derive the rest of the state from the dict again."""
        self.keys = None
        self.in_memory = sum(len(there) if isinstance(there, deque) else 1 for there in self.by_key.values())
        self.unsure = False

    # -- putting and taking -------------------------------------------------------------------------------------------

    def put(self, data: bytes) -> int:
        """Refused: an entry of a KEYED queue has a key."""
        return self.put_entry(Entry(data))

    def put_entry(self, entry: Entry) -> int:
        """See the base."""
        check_entry(self.name, entry, self.key_length)
        pool = self.pool
        pool.left -= len(entry.data) + len(entry.sender) + self.key_length + PER_RECORD + _PER_ENTRY
        if pool.left < 0:
            pool.make_room()
        return self._add(entry, front=False)

    def put_back(self, item: Item) -> None:
        """See the base."""
        entry = item if isinstance(item, Entry) else Entry(item)
        check_entry(self.name, entry, self.key_length)
        self._add(entry, front=True)

    def _add(self, entry: Entry, *, front: bool) -> int:
        stored = self._home()
        if stored is not None:
            work: Any = stored.work()
            (work.put_back if front else work.put_entry)(entry)
            stored.durable.commit((work,))
            return stored.now.count
        key = entry.key
        self.unsure = True
        there = self.by_key.get(key)
        if there is None:
            self.by_key[key] = entry
            if self.keys is not None:
                self.keys.add(key)
        elif isinstance(there, deque):
            (there.appendleft if front else there.append)(entry)
        else:
            self.by_key[key] = deque((entry, there) if front else (there, entry))
        self.in_memory += 1
        self.unsure = False
        return self.in_memory

    def take(self) -> bytes | None:
        """See the base."""
        entry = self.take_entry()
        return None if entry is None else entry.data

    def take_entry(self) -> Entry | None:
        """See the base: by key, and in order of arrival within a key."""
        stored = self._home()
        if stored is not None:
            return self._take_stored(stored, None, b"")
        keys = self._in_order()
        return self._take(keys[0]) if keys else None

    def take_key(self, search: SearchOrder, key: bytes) -> Entry | None:
        """See the base."""
        check_key(self.name, key, self.key_length)
        stored = self._home()
        if stored is not None:
            return self._take_stored(stored, search, key)
        if search is SearchOrder.EQ:
            return self._take(key)
        first = next(self._matching(search, key), None)
        return None if first is None else self._take(first)

    @staticmethod
    def _take_stored(stored: DurableQueue, search: SearchOrder | None, key: bytes) -> Entry | None:
        work: Any = stored.work()
        entry: Entry | None = work.take_entry() if search is None else work.take_key(search, key)
        if entry is not None:
            stored.durable.commit((work,))
        return entry

    def _take(self, key: bytes) -> Entry | None:
        there = self.by_key.get(key)
        if there is None:
            return None
        self.unsure = True
        if isinstance(there, deque) and len(there) > 1:
            entry = there.popleft()
        else:
            entry = there[0] if isinstance(there, deque) else there
            del self.by_key[key]
            if self.keys is not None:
                self.keys.remove(key)
        self.in_memory -= 1
        self.unsure = False
        return entry

    def _in_order(self) -> Any:
        if self.keys is None:
            from sortedcontainers import SortedList  # noqa: PLC0415  (few programs search by key order)

            self.keys = SortedList(self.by_key)
        return self.keys

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """See the base."""
        stored = self._home()
        return self.in_memory if stored is None else stored.now.count

    @property
    def data_bytes(self) -> int:
        """See the base."""
        stored = self._home()
        return stored.data_bytes if stored is not None else sum(len(entry.data) for entry in self._under(self.by_key))

    def entries(
        self, *, reverse: bool = False, skip: int = 0, limit: int | None = None, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """See the base."""
        stored = self._home()
        if stored is not None:
            return stored.entries(reverse=reverse, skip=skip, limit=limit, pause=pause)
        stop = None if limit is None else skip + max(0, limit)
        keys = self._in_order()
        return iter(list(islice(self._under(reversed(keys) if reverse else keys, reverse=reverse), skip, stop)))

    def _under(self, keys: Any, *, reverse: bool = False) -> Iterator[Entry]:
        for key in keys:
            there = self.by_key[key]
            if isinstance(there, deque):
                yield from reversed(there) if reverse else there
            else:
                yield there

    def search(
        self, search: SearchOrder, key: bytes, *, skip: int = 0, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """See the base."""
        check_key(self.name, key, self.key_length)
        stored = self._home()
        if stored is not None:
            return stored.search(search, key, skip=skip, pause=pause)
        return iter(list(islice(self._under(self._matching(search, key)), skip, None)))

    def _matching(self, search: SearchOrder, key: bytes) -> Iterator[bytes]:
        """The keys that match a search, ascending."""
        if search is SearchOrder.EQ:
            return iter([key] if key in self.by_key else ())
        keys = self._in_order()
        below = keys.irange(None, key, (True, search is SearchOrder.LE))
        above = keys.irange(key, None, (search is SearchOrder.GE, True))
        if search is SearchOrder.NE:
            return chain(below, above)
        return iter(below if search in (SearchOrder.LT, SearchOrder.LE) else above)

    # -- many entries -------------------------------------------------------------------------------------------------

    def clear(self) -> int:
        """See the base."""
        removed = self.count
        stored = self._home()
        if stored is None:
            self.unsure, self.by_key = True, {}
        else:
            work = stored.work()
            work.clear()
            stored.durable.commit((work,))
        return removed

    def clear_keys(self, search: SearchOrder, key: bytes) -> int:
        """See the base."""
        check_key(self.name, key, self.key_length)
        before = self.count
        stored = self._home()
        if stored is None:
            remaining = dict(self.by_key)
            for each in list(self._matching(search, key)):
                del remaining[each]
            self.unsure, self.by_key = True, remaining
        else:
            work: Any = stored.work()
            while work.take_key(search, key) is not None:
                continue
            stored.durable.commit((work,))
        return before - self.count

    # -- for the pool -------------------------------------------------------------------------------------------------

    def memory_bytes(self) -> int:
        """See the base."""
        if self._home() is not None:
            return 0
        each = self.key_length + PER_RECORD + _PER_ENTRY
        return sum(len(entry.data) + len(entry.sender) + each for entry in self._under(self.by_key))

    def overflow(self) -> None:
        """Move all entries to the disk."""
        if self.disk is None:
            self.disk = self._made_on_disk()
        if self._home() is None and self.by_key:
            work: Any = self.disk.work()
            work.put_many(list(self._under(sorted(self.by_key))))
            self.disk.durable.commit((work,), owner=_Emptied(self))

    write_out = overflow

    def on_disk(self, stored: DurableQueue) -> None:
        """See the base."""
        self.disk = stored

    def forget(self) -> None:
        """See the base."""
        self.disk, self.by_key, self.unsure = None, {}, True
