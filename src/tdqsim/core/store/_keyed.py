"""Volatile KEYED queues: a dict from key to the entries with that key, in order of arrival.

All other state is derived from the dict, which a single operation changes. The sorted keys are made at the first search
that is not EQ, and maintained from then on. During a change the queue is ``unsure``. If an exception interrupts the
change, the next call sees this, counts the entries again and drops the sorted keys.

When memory is short, all entries are moved to the disk. From then on changes are collected: new entries in the dict,
and taken ones in a work that is not committed yet. A commit costs many times as much as a change, so that some hundreds
share one. With equal keys the entries on the disk are the older ones. When those left would take a sixteenth of the
budget, they come back to memory. A change outlives the process only if :meth:`KeyedQueue.write_out` follows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, cast

from tdqsim.core.store._layout import Entry, Item, Order, SearchOrder, check_entry, check_key, entry_number, nothing
from tdqsim.core.store._memory import PER_RECORD, VolatileQueue

if TYPE_CHECKING:
    from tdqsim.core.store._queue import DurableQueue, StoredItem
    from tdqsim.core.store._volatile import Volatile
    from tdqsim.core.store._work import KeyedWork

_PER_ENTRY: Final = PER_RECORD + 240
"""The memory of an entry in addition to its data, sender and key: 276 bytes measured, and the list of sorted keys."""
_AT_ONCE: Final = 512
"""The changes that share a commit."""
_KEY: Final = attrgetter("key")
_TAKING: Final = b"taking "
"""Meta data of a queue from which entries are taken without a commit for each.

If the process is killed meanwhile, nobody knows which of the entries on the disk were taken. None of them is given
twice, so the queue is empty then: what is in it must not outlive a failure.
"""


class _Moved:
    """Gives a queue its entries in memory after the commit that moved entries to the disk, or back from it."""

    __slots__ = ("by_key", "queue")

    def __init__(self, queue: KeyedQueue, by_key: dict[bytes, Entry | deque[Entry]]) -> None:
        self.queue, self.by_key = queue, by_key

    def committed(self) -> None:
        """See :class:`~tdqsim.core.store._durable.CommitOwner`."""
        queue = self.queue
        queue.unsure, queue.by_key, queue.taken = True, self.by_key, None


def _by_key(there: Iterator[StoredItem], mine: list[Entry], *, reverse: bool = False) -> Iterator[Entry]:
    """Entries on the disk and those in memory, by key; with equal keys those on the disk are the older ones."""
    older = cast("Iterator[Entry]", (item for _, item, _ in there))
    return merge(*((mine, older) if reverse else (older, mine)), key=_KEY, reverse=reverse)


class KeyedQueue(VolatileQueue):
    """A KEYED queue.

    Attributes:
        by_key: the entry, or the entries in order of arrival, under each key: all, or those since the last commit.
        keys: the sorted keys; None until they are needed.
        in_memory: the number of entries in memory.
        unsure: whether a change of these three was begun and not finished.
        taken: the entries taken from the disk since the last commit; None for none.
    """

    __slots__ = ("by_key", "in_memory", "keys", "taken", "unsure")

    def __init__(self, pool: Volatile, name: bytes, order: Order, key_length: int) -> None:
        super().__init__(pool, name, order, key_length)
        self.by_key: dict[bytes, Entry | deque[Entry]] = {}
        self.keys: Any = None
        self.in_memory = 0
        self.unsure = False
        self.taken: KeyedWork | None = None

    def _home(self) -> DurableQueue | None:
        """The queue on the disk if it has entries; None if all are in memory. What is in memory is consistent then."""
        stored = self.disk
        if stored is not None and stored.durable.in_doubt:
            stored.durable.settle()
        if self.unsure:
            self._count_anew()
        return stored if stored is not None and stored.now.count else None

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
        cost = len(entry.data) + len(entry.sender) + self.key_length + _PER_ENTRY
        pool.left -= cost
        if pool.left < 0:
            pool.make_room()  # counts what there is, without this entry
            pool.left -= cost
        return self._add(entry, front=False)

    def put_back(self, item: Item) -> None:
        """See the base."""
        entry = item if isinstance(item, Entry) else Entry(item)
        check_entry(self.name, entry, self.key_length)
        self._add(entry, front=True)

    def _add(self, entry: Entry, *, front: bool) -> int:
        stored = self._home()
        if stored is not None:
            if front or self.in_memory >= _AT_ONCE:
                self._flush(stored, back=not front)
            if front:  # before those with its key on the disk
                work = stored.work()
                work.put_back(entry)
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
        return self.in_memory if stored is None else self._count(stored)

    def take(self) -> bytes | None:
        """See the base."""
        entry = self.take_entry()
        return None if entry is None else entry.data

    def take_entry(self) -> Entry | None:
        """See the base: by key, and in order of arrival within a key."""
        stored = self._home()
        if stored is not None:
            return self._take_either(stored, None, b"")
        keys = self._in_order()
        return self._take(keys[0]) if keys else None

    def take_key(self, search: SearchOrder, key: bytes) -> Entry | None:
        """See the base."""
        check_key(self.name, key, self.key_length)
        stored = self._home()
        if stored is not None:
            return self._take_either(stored, search, key)
        if search is SearchOrder.EQ:
            return self._take(key)
        first = next(self._matching(search, key), None)
        return None if first is None else self._take(first)

    def _take_either(self, stored: DurableQueue, search: SearchOrder | None, key: bytes) -> Entry | None:
        """Take the first match, on the disk or in memory."""
        if self.taken is not None and self.taken.reads >= _AT_ONCE:
            self._flush(stored)  # maybe all entries are in memory now
            return self.take_entry() if search is None else self.take_key(search, key)
        if self.taken is None:
            stored.durable.commit((), {_TAKING + self.name: b""})
            self.taken = cast("KeyedWork", stored.work())
        there = self.taken.first(search, key)
        mine = next(self._matching(search, key), None) if self.by_key else None
        if there is not None and (mine is None or cast("Entry", there[1]).key <= mine):
            return self.taken.mark(there)
        return None if mine is None else self._take(mine)

    def _flush(self, stored: DurableQueue, *, back: bool = True) -> None:
        """Commit the collected changes; if few entries are left on the disk, take them back to memory.

        Raises:
            StoreFull: there is no room; nothing was changed.
        """
        if not self.by_key and self.taken is None:
            return
        kept: dict[bytes, Entry | deque[Entry]] = {}
        work = cast("KeyedWork", stored.work())
        few = back and self._count(stored) * (self.key_length + _PER_ENTRY) + self.data_bytes <= self.pool.budget // 16
        if few:
            for key, entries in groupby(self.entries(), _KEY):
                kept[key] = deque(entries)
            work.clear()
        elif self.by_key:
            work.put_many(list(self._under(sorted(self.by_key))))
        works = (work,) if few or self.taken is None else (self.taken, work)
        stored.durable.commit(works, self._no_mark(), owner=_Moved(self, kept))
        self._home()

    def _no_mark(self) -> dict[bytes, None]:
        return {} if self.taken is None else {_TAKING + self.name: None}

    def _count(self, stored: DurableQueue) -> int:
        return stored.now.count - (self.taken.reads if self.taken is not None else 0) + self.in_memory

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
        return self.in_memory if stored is None else self._count(stored)

    @property
    def data_bytes(self) -> int:
        """See the base."""
        stored = self._home()
        there = 0 if stored is None else stored.data_bytes
        taken = self.taken.taken_keys.values() if self.taken is not None else ()
        return there - sum(size for size, _ in taken) + sum(len(entry.data) for entry in self._under(self.by_key))

    def entries(
        self, *, reverse: bool = False, skip: int = 0, limit: int | None = None, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """See the base."""
        stored = self._home()
        if stored is not None and not self.by_key and self.taken is None:
            return stored.entries(reverse=reverse, skip=skip, limit=limit, pause=pause)
        stop = None if limit is None else skip + max(0, limit)
        keys = self._in_order()
        mine = self._under(reversed(keys) if reverse else keys, reverse=reverse)
        if stored is None:
            return iter(list(islice(mine, skip, stop)))
        there = stored.matching(None, b"", self._left_out(stored), reverse=reverse, pause=pause)
        return islice(_by_key(there, list(mine), reverse=reverse), skip, stop)

    def _left_out(self, stored: DurableQueue) -> Callable[[bytes], bool]:
        """What a look at the disk leaves out: LMDB keys of entries taken, or written after the look began."""
        taken = self.taken.taken_keys if self.taken is not None else {}
        last = stored.now.last
        return lambda key: key in taken or entry_number(key) > last

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
        if stored is not None and not self.by_key and self.taken is None:
            return stored.search(search, key, skip=skip, pause=pause)
        mine = list(self._under(self._matching(search, key)))
        if stored is None:
            return islice(mine, skip, None)
        there = stored.matching(search, key, self._left_out(stored), pause=pause)
        return islice(_by_key(there, mine), skip, None)

    def _matching(self, search: SearchOrder | None, key: bytes) -> Iterator[bytes]:
        """The keys in memory that match a search (all for None), ascending."""
        if search is SearchOrder.EQ:
            return iter([key] if key in self.by_key else ())
        keys = self._in_order()
        if search is None:
            return iter(keys)
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
            stored.durable.commit((work,), self._no_mark(), owner=_Moved(self, {}))
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
            self._flush(stored, back=False)
            work = stored.work()
            while work.take_key(search, key) is not None:
                continue
            stored.durable.commit((work,))
        return before - self.count

    # -- for the pool -------------------------------------------------------------------------------------------------

    def memory_bytes(self) -> int:
        """See the base."""
        self._home()
        each = self.key_length + _PER_ENTRY
        return sum(len(entry.data) + len(entry.sender) + each for entry in self._under(self.by_key))

    def overflow(self) -> None:
        """Move all entries to the disk."""
        if self.disk is None:
            self.disk = self._made_on_disk()
        self._home()
        self._flush(self.disk, back=False)

    write_out = overflow

    def on_disk(self, stored: DurableQueue) -> None:
        """See the base."""
        self.disk = stored
        durable = stored.durable
        if not durable.readonly and durable.get_meta(_TAKING + self.name) is not None:
            work = stored.work()
            work.clear()
            durable.commit((work,), {_TAKING + self.name: None})

    def forget(self) -> None:
        """See the base."""
        self.disk, self.by_key, self.taken, self.unsure = None, {}, None, True
