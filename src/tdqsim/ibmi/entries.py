"""The entries of one data queue in the store, and which of them are promised to jobs.

Place
    The entries of a queue with FORCE(*YES), or that is or was journaled, are durable: each change is one commit,
    together with the journal entry and the queue's allocation. The entries of other queues are volatile: they are in
    memory, or on the disk when memory is short, and are written out when the system is closed cleanly, or by
    :meth:`~tdqsim.ibmi.System.write_out`.

Form
    An entry is stored as one record: the moment of its enqueue (eight bytes), the sender ID, and the data. An entry of
    a KEYED queue is stored as an entry with a key. The moments in one queue all differ, so they identify its entries.

Promised entries
    An entry that a send hands to a waiting job stays in the store until that job runs and receives it. Until then it is
    promised, and invisible to other jobs. So at every moment an entry whose send was acknowledged is in the store or
    with its receiver, and when a job ends before it could run, nothing needs to be put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from struct import Struct
from types import MappingProxyType

from tdqsim.core.store import (
    Durable,
    DurableQueue,
    Entry,
    KeyedQueue,
    Order,
    SearchOrder,
    Store,
    Volatile,
    VolatileQueue,
    Work,
    nothing,
)
from tdqsim.errors import StoreError

STAMP_BYTES = 8
_new = tuple.__new__
"""As ``_make`` of a named tuple, but without its check of the length, which is slow for 100,000 entries."""
Received = tuple[bytes, bytes, bytes, int]
"""The result of a receive: data, key, sender ID and moment, in the order of :class:`Entry`."""
Journaling = Callable[[Entry], Sequence[Work]]
"""Returns the records to commit with the receive of an entry."""
InMemory = tuple[
    Callable[[bytes, bytes | None, bytes, int, object], None],
    Callable[[SearchOrder | None, bytes | None, object], Received | None],
]
"""See :data:`tdqsim.ibmi.queue.Send` and :data:`tdqsim.ibmi.queue.Receive`; these two do not need the job."""
_NOTHING: Mapping[bytes, bytes | None] = MappingProxyType({})


@cache
def _head(sender_length: int) -> Callable[[bytes], tuple[int, bytes]]:
    """Reads moment and sender ID from the begin of a stored entry."""
    return Struct(f">Q{sender_length}s").unpack_from


class Entries:
    """See the module's text.

    Args:
        store: the store.
        name: the queue's name in the store.
        order: the order of receiving.
        key_length: the key length of a KEYED queue.
        sender_length: bytes of the sender ID in each entry, 0 for none.
        forced: whether they are durable.
        aside: for a system opened for reading only, a store for a queue that the real store does not have yet.

    Attributes:
        raw: the store's queue.
        readonly: whether nothing can be changed.
        promised: the moments of the entries that were handed to jobs which have not run since.
    """

    __slots__ = ("_durable", "_forced", "_head", "_keyed", "_place", "_start", "promised", "raw", "readonly")

    def __init__(
        self, store: Store, name: bytes, order: Order, key_length: int, sender_length: int, *, forced: bool,
        aside: Store | None = None,
    ) -> None:  # fmt: skip
        self._durable: Durable = store.durable
        self._keyed = order is Order.KEYED
        self._start = STAMP_BYTES + sender_length
        self._head = _head(sender_length)
        self._place: Durable | Volatile = store.durable if forced else store.volatile
        if aside is not None and self._place.queue(name) is None:
            forced, self._place = False, aside.volatile
        self._forced = forced
        self.readonly = aside is not None
        self.raw: DurableQueue | VolatileQueue = self._place.have_queue(name, order, key_length)
        self.promised: set[int] = set()

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """The number of entries that receives could get."""
        return self.raw.count - len(self.promised)

    @property
    def text_bytes(self) -> int:
        """The bytes of all message texts, including sender IDs; for a queue without promised entries."""
        count = self.raw.count
        if self._keyed:
            return self.raw.data_bytes + count * (self._start - STAMP_BYTES)
        return self.raw.data_bytes - count * STAMP_BYTES

    def latest(self, *, every: bool) -> int:
        """The moment of the newest entry, 0 for none. For a KEYED queue this is exact only with ``every``."""
        newest = self.raw.entries(reverse=self.raw.order is not Order.LIFO, limit=None if every else 1)
        return max((self._entry(one).time_ns for one in newest), default=0)

    def entries(
        self, *, reverse: bool = False, skip: int = 0, limit: int | None = None, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """The entries in the order of receiving, or in reverse, without the first ``skip`` of them.

        Promised entries count among those skipped, so that usually nothing has to be read to find the place. Where that
        takes long, as in a large KEYED queue, ``pause`` is called in between.
        """
        if not self.promised:
            return map(self._entry, self.raw.entries(reverse=reverse, skip=skip, limit=limit, pause=pause))
        return islice(self._free(self.raw.entries(reverse=reverse, skip=skip, pause=pause)), limit)

    def matching(
        self, search: SearchOrder, key: bytes, *, skip: int = 0, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """The entries of a keyed queue whose keys match a search, lowest key first."""
        return self._free(self.raw.search(search, key, skip=skip, pause=pause))

    def _free(self, items: Iterator[Entry]) -> Iterator[Entry]:
        return (entry for entry in map(self._entry, items) if entry.time_ns not in self.promised)

    def next(self, search: SearchOrder | None, key: bytes) -> Entry | None:
        """The entry that a receive would get, or None."""
        if not self.promised:
            item = self.raw.peek() if search is None else self.raw.find(search, key)
            return self._entry(item) if item is not None else None
        return next(self.entries() if search is None else self.matching(search, key), None)

    def _entry(self, item: Entry) -> Entry:
        """Convert an entry of the store to one of the data queue."""
        if self._keyed:
            return item
        record = item.data
        moment, sender = self._head(record)
        return _new(Entry, (record[self._start :], b"", sender, moment))

    # -- in memory ----------------------------------------------------------------------------------------------------

    def in_memory(self) -> InMemory | None:
        """The functions for a send and a receive while nothing is to be committed and nothing is promised.

        None for a durable queue. They are closures rather than methods for speed.
        """
        memory, head, start = self.raw, self._head, self._start
        if not isinstance(memory, VolatileQueue) or self.readonly:
            return None
        put, take = memory.put, memory.take

        if isinstance(memory, KeyedQueue):
            put_fields, take_key = memory.put_fields, memory.take_key

            def send_with_key(data: bytes, key: bytes | None, sender: bytes, time_ns: int, _job: object) -> None:
                put_fields(data, key or b"", sender, time_ns)

            def receive_by_key(search: SearchOrder | None, key: bytes | None, _job: object) -> Received | None:
                assert search is not None
                return take_key(search, key or b"")

            return send_with_key, receive_by_key

        def send(data: bytes, _key: bytes | None, sender: bytes, time_ns: int, _job: object) -> None:
            put(time_ns.to_bytes(STAMP_BYTES, "big") + sender + data)

        def receive(_search: SearchOrder | None, _key: bytes | None, _job: object) -> Received | None:
            record = take()
            if record is None:
                return None
            moment, sender = head(record)
            return record[start:], b"", sender, moment

        return send, receive

    # -- changing -----------------------------------------------------------------------------------------------------

    def _changer(self) -> VolatileQueue | Work:
        """The object with the methods that take and put: for durable entries a work, which must be committed.

        Raises:
            StoreError: the store is open for reading only.
        """
        if self.readonly:
            raise StoreError(f"{self._durable.path}: the system is open for reading only")
        return self.raw.work() if isinstance(self.raw, DurableQueue) else self.raw

    def commit(
        self, changer: VolatileQueue | Work | None, also: Sequence[Work] = (),
        meta: Mapping[bytes, bytes | None] = _NOTHING,
    ) -> None:  # fmt: skip
        """Commit the durable part of a change, with further changes that belong to it."""
        works = [changer, *also] if isinstance(changer, Work) else list(also)
        if works or (meta and self._forced):
            self._durable.commit(works, meta if self._forced else _NOTHING)

    def put(self, entry: Entry, also: Sequence[Work] = (), meta: Mapping[bytes, bytes | None] = _NOTHING) -> None:
        """Add an entry.

        Raises:
            StoreFull: there is no room; nothing was added.
        """
        changer = self._changer()
        if self._forced:
            self._put(changer, entry)
            self.commit(changer, also, meta)
        else:
            if also:
                self._durable.commit(also)
            self._put(changer, entry)

    def _put(self, changer: VolatileQueue | Work, entry: Entry) -> None:
        if self._keyed:
            changer.put_entry(entry)
        else:
            changer.put(entry.time_ns.to_bytes(STAMP_BYTES, "big") + entry.sender + entry.data)

    def copied(self, other: Entries) -> Work:
        """The work that puts another queue's entries into this durable and empty one, in their order."""
        assert isinstance(self.raw, DurableQueue)
        work = self.raw.work()
        for item in other.raw.entries(reverse=other.raw.order is Order.LIFO):
            self._put(work, other._entry(item))
        self.promised = set(other.promised)
        return work

    def put_back(self, entry: Entry, also: Sequence[Work] = ()) -> None:
        """Put an entry back at the front: it is the next one taken, in a KEYED queue the next one with its key.

        When several are put back, the oldest comes first again, except in a LIFO queue.
        """
        changer = self._changer()
        older = [] if self.raw.order is Order.LIFO else self._take_older(changer, entry)
        for each in (entry, *reversed(older)):
            self._put_back(changer, each)
        self.commit(changer, also)

    def _take_older(self, changer: VolatileQueue | Work, entry: Entry) -> list[Entry]:
        """Take the entries at the front that are older than an entry; in a KEYED queue those with its key."""
        older: list[Entry] = []
        while True:
            item = changer.take_key(SearchOrder.EQ, entry.key) if self._keyed else changer.take_entry()
            if item is None:
                break
            first = self._entry(item)
            if first.time_ns > entry.time_ns:
                self._put_back(changer, first)
                break
            older.append(first)
        return older

    def take(
        self, search: SearchOrder | None, key: bytes, journaling: Journaling, meta: Mapping[bytes, bytes | None]
    ) -> Entry | None:
        """Take the entry for a receive."""
        changer = self._changer()
        entry = self._take_where(changer, search, key, lambda moment: moment not in self.promised)
        if entry is not None:
            self._commit_taken(changer, entry, journaling, meta)
        return entry

    def take_promised(self, entry: Entry, journaling: Journaling, meta: Mapping[bytes, bytes | None]) -> None:
        """Take a promised entry, which its job has received now."""
        changer = self._changer()
        search = SearchOrder.EQ if self._keyed else None
        if self._take_where(changer, search, entry.key, lambda moment: moment == entry.time_ns) is not None:
            self._commit_taken(changer, entry, journaling, meta)
        self.promised.discard(entry.time_ns)

    def _commit_taken(
        self, changer: VolatileQueue | Work, entry: Entry, journaling: Journaling, meta: Mapping[bytes, bytes | None]
    ) -> None:
        try:
            self.commit(changer, journaling(entry), meta)
        except BaseException:
            if not self._forced:
                self._put_back(changer, entry)
            raise

    def _take_where(
        self, changer: VolatileQueue | Work, search: SearchOrder | None, key: bytes, wanted: Callable[[int], bool]
    ) -> Entry | None:
        """Take the first entry for whose moment ``wanted`` is true; the entries before it keep their places."""
        passed: list[Entry] = []
        while True:
            item = changer.take_entry() if search is None else changer.take_key(search, key)
            entry = self._entry(item) if item is not None else None
            if entry is None or wanted(entry.time_ns):
                break
            passed.append(entry)
        for before in reversed(passed):
            self._put_back(changer, before)
        return entry

    def _put_back(self, changer: VolatileQueue | Work, entry: Entry) -> None:
        if self._keyed:
            changer.put_back(entry)
        else:
            changer.put_back(entry.time_ns.to_bytes(STAMP_BYTES, "big") + entry.sender + entry.data)

    def clear(
        self, search: SearchOrder | None, key: bytes, also: Sequence[Work], meta: Mapping[bytes, bytes | None]
    ) -> int:
        """Remove all entries, or those whose keys match a search; returns how many."""
        changer = self._changer()
        if search is None and not self.promised:
            removed = changer.clear()
        elif isinstance(changer, VolatileQueue) and search is not None and not self.promised:
            removed = changer.clear_keys(search, key)
        else:
            removed = self._clear_one_by_one(changer, search, key)
        self.commit(changer if removed else None, also, meta)
        return removed

    def _clear_one_by_one(self, changer: VolatileQueue | Work, search: SearchOrder | None, key: bytes) -> int:
        removed, kept = 0, []
        while (item := changer.take_entry() if search is None else changer.take_key(search, key)) is not None:
            entry = self._entry(item)
            if entry.time_ns in self.promised:
                kept.append(entry)
            else:
                removed += 1
        for entry in reversed(kept):
            self._put_back(changer, entry)
        return removed

    def drop(self) -> Work | None:
        """The work that removes the queue with all entries; None for a volatile queue, see :meth:`discard`."""
        if not isinstance(self.raw, DurableQueue):
            return None
        work = self.raw.work()
        work.drop()
        return work

    def discard(self) -> None:
        """Remove a volatile queue with all entries."""
        assert isinstance(self._place, Volatile)
        assert isinstance(self.raw, VolatileQueue)
        self._place.drop(self.raw)
