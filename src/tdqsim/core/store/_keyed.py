"""Volatile KEYED queues: a dict from key to what has that key, in order of arrival.

The dict is the only truth; one operation changes it. The order of the keys is made when somebody first searches by
anything but EQ, and kept from then on. While a change is under way the queue is ``unsure``: who finds it so, since
something was raised in between, counts the entries anew and has the order made anew. When memory is short, all entries
go to the disk, and everything is done there, a commit each, until the queue is empty again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from tdqsim.core.store._layout import Entry, Item, Order, SearchOrder, check_entry
from tdqsim.core.store._memory import PER_RECORD, VolatileQueue

if TYPE_CHECKING:
    from tdqsim.core.store._queue import DurableQueue
    from tdqsim.core.store._volatile import Volatile
    from tdqsim.core.store._work import Work

__all__ = ["KeyedQueue"]

_PER_ENTRY: Final = 400


class KeyedQueue(VolatileQueue):
    """A KEYED queue in memory.

    Attributes:
        by_key: the entry, or the entries in order of arrival, under each key.
        keys: the keys in order; None until they are asked for.
        many: how many entries there are.
        unsure: whether a change of these three was begun and not finished.
    """

    __slots__ = ("by_key", "keys", "many", "unsure")

    def __init__(self, pool: Volatile, name: bytes, order: Order, key_length: int) -> None:
        super().__init__(pool, name, order, key_length)
        self.by_key: dict[bytes, Entry | deque[Entry]] = {}
        self.keys: Any = None
        self.many = 0
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
            if self.__class__ is not KeyedQueue:
                return self.put_entry(entry)
        return self._add(entry, front=False)

    def _add(self, entry: Entry, *, front: bool) -> int:
        if self.unsure:
            self._count_anew()
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
        self.many += 1
        self.unsure = False
        return self.many

    def put_back(self, item: Item) -> None:
        """See the base."""
        entry = item if isinstance(item, Entry) else Entry(item)
        check_entry(self.name, entry, self.key_length)
        self._add(entry, front=True)

    def take(self) -> bytes | None:
        """See the base."""
        entry = self.take_entry()
        return None if entry is None else entry.data

    def take_entry(self) -> Entry | None:
        """See the base: by key, and in order of arrival within a key."""
        keys = self._in_order()
        return self._take(keys[0]) if keys else None

    def take_key(self, search: SearchOrder, key: bytes) -> Entry | None:
        """See the base."""
        self._check_key(key)
        if search is SearchOrder.EQ:
            return self._take(key)
        found = next(self._matching(search, key), None)
        return None if found is None else self._take(found)

    def _take(self, key: bytes) -> Entry | None:
        if self.unsure:
            self._count_anew()
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
        self.many -= 1
        self.unsure = False
        return entry

    def _count_anew(self) -> None:
        """Make everything anew from the entries themselves."""
        self.keys = None
        self.many = sum(len(there) if isinstance(there, deque) else 1 for there in self.by_key.values())
        self.unsure = False

    def _in_order(self) -> Any:
        if self.unsure:
            self._count_anew()
        if self.keys is None:
            from sortedcontainers import SortedList  # noqa: PLC0415  (few who import a store ever ask for an order)

            self.keys = SortedList(self.by_key)
        return self.keys

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """See the base."""
        if self.unsure:
            self._count_anew()
        return self.many

    @property
    def data_bytes(self) -> int:
        """See the base."""
        return sum(len(entry.data) for entry in self._under(self.by_key))

    def entries(self, *, reverse: bool = False, skip: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """See the base."""
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

    def search(self, search: SearchOrder, key: bytes) -> Iterator[Entry]:
        """See the base."""
        self._check_key(key)
        return iter(list(self._under(self._matching(search, key))))

    def _matching(self, search: SearchOrder, key: bytes) -> Iterator[bytes]:
        """The keys that relate to ``key`` as asked, ascending."""
        if search is SearchOrder.EQ:
            return iter([key] if key in self.by_key else ())
        keys = self._in_order()
        below = keys.irange(None, key, (True, search is SearchOrder.LE))
        above = keys.irange(key, None, (search is SearchOrder.GE, True))
        if search is SearchOrder.NE:
            return chain(below, above)
        return iter(below if search in (SearchOrder.LT, SearchOrder.LE) else above)

    def _check_key(self, key: bytes) -> None:
        if len(key) != self.key_length:
            raise ValueError(f"queue {self.name!r}: key of {len(key)} bytes: it must have {self.key_length}")

    # -- many entries -------------------------------------------------------------------------------------------------

    def clear(self) -> int:
        """See the base."""
        went = self.count
        self.unsure, self.by_key = True, {}
        self._count_anew()
        return went

    def clear_keys(self, search: SearchOrder, key: bytes) -> int:
        """See the base."""
        self._check_key(key)
        left = dict(self.by_key)
        for found in list(self._matching(search, key)):
            del left[found]
        before = self.count
        self.unsure, self.by_key = True, left
        self._count_anew()
        return before - self.many

    # -- for the pool -------------------------------------------------------------------------------------------------

    def memory_bytes(self) -> int:
        """See the base."""
        each = self.key_length + PER_RECORD + _PER_ENTRY
        return sum(len(entry.data) + len(entry.sender) + each for entry in self._under(self.by_key))

    def overflow(self) -> None:
        """Write everything to the disk."""
        self.disk = self._stored()
        self.__class__ = _KeyedOnDisk
        self.overflow()

    def write_out(self) -> None:
        """See the base."""
        if self.count:
            self.overflow()

    def on_disk(self, stored: DurableQueue) -> None:
        """See the base."""
        self.disk = stored
        self.__class__ = _KeyedOnDisk

    def forget(self) -> None:
        """See the base."""
        self.disk, self.by_key, self.unsure = None, {}, True
        self.__class__ = KeyedQueue


class _Emptied:
    """All entries were moved: what is in memory then."""

    __slots__ = ("queue",)

    def __init__(self, queue: KeyedQueue) -> None:
        self.queue = queue

    def committed(self) -> None:
        """See :class:`~tdqsim.core.store._durable.Owner`."""
        self.queue.unsure, self.queue.by_key = True, {}


class _KeyedOnDisk(KeyedQueue):
    """A KEYED queue on the disk; or, when its move was interrupted or all was taken, in memory, which it then says."""

    __slots__ = ()

    def _home(self) -> DurableQueue | None:
        """The queue on the disk, when it is there; else this becomes a queue in memory."""
        stored = self.disk
        assert stored is not None, "a queue on the disk has a disk"
        stored.durable.settle()
        if stored.now.count and not self.by_key:
            return stored
        self.__class__ = KeyedQueue  # type: ignore[assignment]
        return None

    def _add(self, entry: Entry, *, front: bool) -> int:
        stored = self._home()
        if stored is None:
            return self._add(entry, front=front)
        work = stored.work()
        (work.put_back if front else work.put_entry)(entry)
        stored.durable.commit((work,))
        return stored.now.count

    def put_entry(self, entry: Entry) -> int:
        check_entry(self.name, entry, self.key_length)
        return self._add(entry, front=False)

    def take_entry(self) -> Entry | None:
        stored = self._home()
        return self.take_entry() if stored is None else self._gone(stored.work(), None, b"")

    def take_key(self, search: SearchOrder, key: bytes) -> Entry | None:
        stored = self._home()
        return self.take_key(search, key) if stored is None else self._gone(stored.work(), search, key)

    def _gone(self, work: Work, search: SearchOrder | None, key: bytes) -> Entry | None:
        entry = work.take_entry() if search is None else work.take_key(search, key)
        if entry is not None:
            work.queue.durable.commit((work,))
        return entry

    @property
    def count(self) -> int:
        stored = self._home()
        return self.count if stored is None else stored.now.count

    @property
    def data_bytes(self) -> int:
        stored = self._home()
        return self.data_bytes if stored is None else stored.now.data_bytes

    def entries(self, *, reverse: bool = False, skip: int = 0, limit: int | None = None) -> Iterator[Entry]:
        stored = self._home()
        if stored is None:
            return self.entries(reverse=reverse, skip=skip, limit=limit)
        return stored.entries(reverse=reverse, skip=skip, limit=limit)

    def search(self, search: SearchOrder, key: bytes) -> Iterator[Entry]:
        stored = self._home()
        return self.search(search, key) if stored is None else stored.search(search, key)

    def clear(self) -> int:
        stored = self._home()
        if stored is None:
            return self.clear()
        work = stored.work()
        went = work.clear()
        stored.durable.commit((work,))
        return went

    def clear_keys(self, search: SearchOrder, key: bytes) -> int:
        stored = self._home()
        if stored is None:
            return self.clear_keys(search, key)
        work = stored.work()
        while work.take_key(search, key) is not None:
            continue
        stored.durable.commit((work,))
        return work.reads

    def memory_bytes(self) -> int:
        return self.memory_bytes() if self._home() is None else 0

    def overflow(self) -> None:
        stored = self.disk
        assert stored is not None, "a queue on the disk has a disk"
        stored.durable.settle()
        if not self.by_key:
            return
        work = stored.work()
        work.put_many(list(self._under(sorted(self.by_key))))
        stored.durable.commit((work,), owner=_Emptied(self))

    write_out = overflow
