"""Volatile KEYED queues: a dict from key to the entries with that key, in order of arrival.

An entry in memory is packed into one object: a million of them take a third less memory than with an object for each
field, and less time, since a processor waits for each object that it has not used for long.

All other state is derived from the dict, which a single operation changes. The sorted keys are made at the first search
that is not EQ, and maintained from then on. During a change the queue is ``unsure``. If an exception interrupts the
change, the next call sees this, counts the entries again and drops the sorted keys.

When memory is short, all entries are moved to the disk. From then on changes are collected: new entries in the dict,
and taken ones in a work that is not committed yet. A commit costs many times as much as a change, so that some hundreds
share one, and of new entries alone some ten thousands. With equal keys the entries on the disk are the older ones. When
those left would take a sixteenth of the budget, they come back to memory. A change outlives the process only if
:meth:`KeyedQueue.write_out` follows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import chain, groupby, islice
from operator import attrgetter
from struct import error as struct_error
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from tdqsim.core.store._layout import (
    EQ,
    Entry,
    Item,
    Order,
    SearchOrder,
    check_entry,
    check_key,
    entry_number,
    nothing,
    packed,
    packed_size,
    unpacked,
)
from tdqsim.core.store._memory import VolatileQueue

if TYPE_CHECKING:
    from tdqsim.core.store._durable import CommitOwner
    from tdqsim.core.store._queue import DurableQueue, StoredItem
    from tdqsim.core.store._volatile import Volatile
    from tdqsim.core.store._work import KeyedWork, Work

_PER_ENTRY: Final = 144
"""The memory of an entry in addition to its packed bytes and its key: 134 measured, and what malloc rounds up."""
_MOVED: Final = 4096
"""The keys whose entries are moved to the disk in one commit, for which room for as many pages is held."""
_TAKEN_AT_ONCE: Final = 512
"""The takes that share a commit, with the puts among them."""
_PUT_AT_ONCE: Final = 32_768
"""The puts without a take that share a commit: the more, the more of them have a page in common."""
_PER_DEQUE: Final = 640
"""The memory of a deque, for a key with several entries."""
_KEY: Final = attrgetter("key")
_ByKey: TypeAlias = dict[bytes, bytes | deque[bytes]]
_TAKING: Final = b"taking "
"""Meta data of a queue from which entries are taken without a commit for each.

If the process is killed meanwhile, it is unknown which of the entries on the disk were taken. None of them is given
twice, so the queue is empty then: what is in it must not outlive a failure.
"""


class _PartMoved:
    """Removes keys from the memory of a queue after the commit that moved their entries to the disk."""

    __slots__ = ("keys", "left", "queue")

    def __init__(self, queue: KeyedQueue, keys: list[bytes], left: int) -> None:
        self.queue, self.keys, self.left = queue, keys, left

    def committed(self) -> None:
        """See :class:`~tdqsim.core.store._durable.CommitOwner`; doing it again changes nothing."""
        queue = self.queue
        queue.unsure, queue.taken, queue.keys = True, None, None
        for key in self.keys:
            queue.by_key.pop(key, None)
        queue.in_memory, queue.unsure = self.left, False


class _Moved:
    """Gives a queue its entries in memory after the commit that moved entries to the disk, or back from it."""

    __slots__ = ("by_key", "queue")

    def __init__(self, queue: KeyedQueue, by_key: _ByKey) -> None:
        self.queue, self.by_key = queue, by_key

    def committed(self) -> None:
        """See :class:`~tdqsim.core.store._durable.CommitOwner`."""
        queue = self.queue
        queue.unsure, queue.by_key, queue.taken = True, self.by_key, None


def _by_key(there: Iterator[StoredItem], mine: Iterable[Entry], *, reverse: bool = False) -> Iterator[Entry]:
    """Entries on the disk and those in memory, by key; with equal keys those on the disk are the older ones."""
    older = cast("Iterator[Entry]", (item for _, item, _ in there))
    return merge(*((mine, older) if reverse else (older, mine)), key=_KEY, reverse=reverse)


class KeyedQueue(VolatileQueue):
    """A KEYED queue.

    Attributes:
        by_key: the entry, or the entries in order of arrival, packed, under each key: all, or those since the last
            commit.
        keys: the sorted keys; None until they are needed.
        in_memory: the number of entries in memory.
        unsure: whether a change of these three was begun and not finished.
        taken: the entries taken from the disk since the last commit; None for none.
    """

    __slots__ = ("by_key", "in_memory", "keys", "taken", "unsure")

    def __init__(self, pool: Volatile, name: bytes, order: Order, key_length: int) -> None:
        super().__init__(pool, name, order, key_length)
        self.by_key: _ByKey = {}
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
        self.put_fields(*entry)
        return self.count

    def put_fields(self, data: bytes, key: bytes, sender: bytes, time_ns: int) -> None:
        """As :meth:`put_entry`, but without the entry and the number of entries, for speed."""
        pool = self.pool
        if len(key) != self.key_length:
            check_key(self.name, key, self.key_length)
        try:
            there = packed(data, key, sender, time_ns)
        except struct_error:
            check_entry(self.name, Entry(data, key, sender, time_ns), self.key_length)
            raise
        cost = len(there) + self.key_length + _PER_ENTRY
        pool.left -= cost
        if pool.left < 0:
            pool.make_room()  # counts what there is, without this entry
            pool.left -= cost
        if self.unsure or (self.disk is not None and self.in_memory >= _PUT_AT_ONCE):
            self._flush_many()
        self.unsure = True
        before = self.by_key.get(key)
        if before is None:
            self._enter(key, there)
        elif isinstance(before, deque):
            before.append(there)
        else:
            pool.left -= _PER_DEQUE
            self.by_key[key] = deque((before, there))
        self.in_memory += 1
        self.unsure = False

    def _flush_many(self) -> None:
        stored = self._home()
        if stored is not None and self.in_memory >= _PUT_AT_ONCE:
            self._flush(stored)

    def _enter(self, key: bytes, one: bytes) -> None:
        self.by_key[key] = one
        if self.keys is not None:
            self.keys.add(key)

    def put_back(self, item: Item) -> None:
        """See the base."""
        entry = item if isinstance(item, Entry) else Entry(item)
        check_entry(self.name, entry, self.key_length)
        key, one = entry.key, packed(*entry)
        stored = self._home()
        if stored is not None:  # before those with its key on the disk
            self._flush(stored, back=False)
            work = stored.work()
            work.put_back(entry)
            stored.durable.commit((work,))
            return
        self.unsure = True
        before = self.by_key.get(key)
        if before is None:
            self._enter(key, one)
        elif isinstance(before, deque):
            before.appendleft(one)
        else:
            self.by_key[key] = deque((one, before))
        self.in_memory += 1
        self.unsure = False

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
        if len(key) != self.key_length:
            check_key(self.name, key, self.key_length)
        if (self.disk is not None or self.unsure) and (stored := self._home()) is not None:
            return self._take_either(stored, search, key)
        if search is EQ:
            return self._take(key)
        first = next(self._matching(search, key), None)
        return None if first is None else self._take(first)

    def _take_either(self, stored: DurableQueue, search: SearchOrder | None, key: bytes) -> Entry | None:
        """Take the first match, on the disk or in memory."""
        taken = self.taken
        if taken is None:
            stored.durable.commit((), {_TAKING + self.name: b""})
            taken = self.taken = cast("KeyedWork", stored.work())
        elif len(taken.taken_keys) >= _TAKEN_AT_ONCE:
            self._flush(stored)  # maybe all entries are in memory now
            return self.take_entry() if search is None else self.take_key(search, key)
        there = taken.first(search, key)
        if there is None or (search is not EQ and self.by_key):
            mine = next(self._matching(search, key), None)
            if mine is not None and (there is None or mine < there[0][8:-8]):
                return self._take(mine)
        return None if there is None else taken.mark(there)

    def _flush(self, stored: DurableQueue, *, back: bool = True) -> None:
        """Commit the collected changes; if few entries are left on the disk, take them back to memory.

        Raises:
            StoreFull: there is no room; each entry is either in memory or on the disk.
        """
        if not self.by_key and self.taken is None:
            return
        room = self.pool.budget // 16 - self._count(stored) * (self.key_length + _PER_ENTRY)
        if back and room >= 0 and self.data_bytes <= room:
            kept: _ByKey = {}
            for key, entries in groupby(self.entries(), _KEY):
                ones = deque(packed(*entry) for entry in entries)
                kept[key] = ones if len(ones) > 1 else ones[0]
            work = stored.work()
            work.clear()
            self._commit_moved(stored, (work,), _Moved(self, kept))
        else:
            keys = sorted(self.by_key)
            for start in range(0, max(1, len(keys)), _MOVED):
                self._move_keys(stored, keys[start : start + _MOVED], last=start + _MOVED >= len(keys))
        self._home()

    def _move_keys(self, stored: DurableQueue, keys: list[bytes], *, last: bool) -> None:
        """Commit what was taken from the disk, and move the entries with these keys there."""
        work = cast("KeyedWork", stored.work())
        entries = list(self._packed_under(keys))
        if entries:
            work.put_packed(entries)
        works = (work,) if self.taken is None else (self.taken, work)
        owner = _Moved(self, {}) if last else _PartMoved(self, keys, self.in_memory - len(entries))
        self._commit_moved(stored, works, owner)

    def _commit_moved(self, stored: DurableQueue, works: tuple[Work, ...], owner: CommitOwner) -> None:
        """Commit a change whose owner sets what is in memory; until it has, the queue is unsure."""
        no_mark: dict[bytes, None] = {} if self.taken is None else {_TAKING + self.name: None}
        self.unsure = True
        stored.durable.commit(works, no_mark, owner=owner)

    def _count(self, stored: DurableQueue) -> int:
        return stored.now.count - (self.taken.reads if self.taken is not None else 0) + self.in_memory

    def _take(self, key: bytes) -> Entry | None:
        there = self.by_key.get(key)
        if there is None:
            return None
        self.unsure = True
        if isinstance(there, deque) and len(there) > 1:
            first = there.popleft()
            if len(there) == 1:  # a deque takes more memory than some entries
                self.by_key[key] = there[0]
        else:
            first = there[0] if isinstance(there, deque) else there
            del self.by_key[key]
            if self.keys is not None:
                self.keys.remove(key)
        self.in_memory -= 1
        self.unsure = False
        return unpacked(first, key)

    def _in_order(self) -> Any:
        if self.keys is None:
            from sortedcontainers import SortedList  # noqa: PLC0415  (few programs search by key order)

            self.keys = SortedList(self.by_key)
        return self.keys

    # -- reading ------------------------------------------------------------------------------------------------------

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
        return (
            there - sum(size for size, _ in taken) + sum(packed_size(one) for _, one in self._packed_under(self.by_key))
        )

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
        return islice(_by_key(there, list(islice(mine, stop)), reverse=reverse), skip, stop)

    def _left_out(self, stored: DurableQueue) -> Callable[[bytes], bool]:
        """What a scan of the disk leaves out: LMDB keys of entries taken, or written after the scan began."""
        taken = self.taken.taken_keys if self.taken is not None else {}
        last = stored.now.last
        return lambda key: key in taken or entry_number(key) > last

    def _under(self, keys: Any, *, reverse: bool = False) -> Iterator[Entry]:
        return (unpacked(one, key) for key, one in self._packed_under(keys, reverse=reverse))

    def _packed_under(self, keys: Any, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        for key in keys:
            there = self.by_key[key]
            if isinstance(there, deque):
                for one in reversed(there) if reverse else there:
                    yield key, one
            else:
                yield key, there

    def search(
        self, search: SearchOrder, key: bytes, *, skip: int = 0, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """See the base."""
        check_key(self.name, key, self.key_length)
        stored = self._home()
        if stored is not None and not self.by_key and self.taken is None:
            return stored.search(search, key, skip=skip, pause=pause)
        mine = (unpacked(one, under) for under, one in list(self._packed_under(self._matching(search, key))))
        if stored is None:
            return islice(mine, skip, None)
        there = stored.matching(search, key, self._left_out(stored), pause=pause)
        return islice(_by_key(there, mine), skip, None)

    def _matching(self, search: SearchOrder | None, key: bytes) -> Iterator[bytes]:
        """The keys in memory that match a search (all for None), ascending."""
        if search is EQ:
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
            self._commit_moved(stored, (work,), _Moved(self, {}))
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
        return sum(
            sum(map(len, there)) + each * len(there) + _PER_DEQUE if isinstance(there, deque) else len(there) + each
            for there in self.by_key.values()
        )

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
