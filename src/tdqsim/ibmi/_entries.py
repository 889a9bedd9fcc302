"""The entries of one data queue in the store, and what of them is promised.

Where they are
    Those of a FORCE(*YES) queue are durable: each change is one commit, together with the journal's entry and the
    queue's allocation. Those of the others are volatile: in memory, on the disk where memory is short, and written out
    when the system is closed cleanly, or by :meth:`~tdqsim.ibmi.System.write_out`.

What is kept of an entry
    The moment of its enqueue (eight bytes) and the sender ID, in front of its data, in one record; of a KEYED queue
    the store's own entry with its key. The moments of one queue differ, so that they name its entries.

Promised entries
    An entry that a send hands to a waiting job stays in the store until that job runs and has it: meanwhile it is
    promised, and invisible to other jobs. So an entry whose send was acknowledged is in the store or with its receiver
    at every moment, and a job that ends before it could run needs nothing put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from struct import Struct
from types import MappingProxyType

from tdqsim.core.clock import Clock
from tdqsim.core.store import (
    Durable,
    DurableQueue,
    Entry,
    Order,
    SearchOrder,
    Store,
    Volatile,
    VolatileQueue,
    Work,
    nothing,
)
from tdqsim.errors import StoreError

__all__ = ["STAMP_BYTES", "Entries", "Journaling", "Receive", "Received", "Send"]

STAMP_BYTES = 8
_new = tuple.__new__
"""``_make`` of a named tuple without its check of the length, for a hundred thousand entries in a row."""
Received = tuple[bytes, bytes, bytes, int]
"""What a receive takes off: data, key, sender ID and moment, in the order of :class:`Entry`."""
Journaling = Callable[[Entry], Sequence[Work]]
"""Returns the records to commit with the receive of an entry."""
Send = Callable[[bytes, bytes, bytes, int, Sequence[Work]], None]
"""Adds an entry: data, key, sender ID, moment, and the changes of the store to be committed with it."""
Receive = Callable[[SearchOrder | None, bytes, Journaling, Clock], Received | None]
"""Takes off the entry that a receive gets: relation, key, what journals it, the system's clock."""
_NOTHING: Mapping[bytes, bytes | None] = MappingProxyType({})


class Entries:
    """See the module's text.

    Args:
        store: where they are.
        name: under which name.
        order: of receiving.
        key_length: of a KEYED queue.
        sender_length: bytes of the sender ID that each has, 0 for none.
        forced: they are durable.
        aside: where volatile entries are looked for instead, by a system that only looks.

    Attributes:
        raw: the store's queue.
        readonly: nothing can be changed.
        promised: moments of the entries that were handed to jobs which have not run since.
    """

    __slots__ = ("_durable", "_forced", "_head", "_keyed", "_place", "_start", "promised", "raw", "readonly")

    def __init__(
        self, store: Store, name: bytes, order: Order, key_length: int, sender_length: int, *, forced: bool,
        aside: Store | None = None,
    ) -> None:  # fmt: skip
        self._durable: Durable = store.durable
        self._keyed = order is Order.KEYED
        self._start = STAMP_BYTES + sender_length
        self._head: Callable[[bytes], tuple[int, bytes]] = Struct(f">Q{sender_length}s").unpack_from
        self._place: Durable | Volatile = store.durable if forced else store.volatile
        found = self._place.queue(name)
        if found is None and aside is not None:
            forced, self._place = False, aside.volatile
        self._forced = forced
        self.readonly = aside is not None
        self.raw: DurableQueue | VolatileQueue = found or self._place.create_queue(name, order, key_length)
        self.promised: set[int] = set()

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many entries a receive could get."""
        return self.raw.count - len(self.promised)

    @property
    def text_bytes(self) -> int:
        """Bytes of all message texts, sender IDs included; of a queue without promised entries."""
        count = self.raw.count
        if self._keyed:
            return self.raw.data_bytes + count * (self._start - STAMP_BYTES)
        return self.raw.data_bytes - count * STAMP_BYTES

    def latest(self, *, every: bool) -> int:
        """The moment of the newest entry, 0 for none; of a KEYED queue that of some entry unless every one counts."""
        found = self.raw.entries(reverse=self.raw.order is not Order.LIFO, limit=None if every else 1)
        return max((self._entry(one).time_ns for one in found), default=0)

    def entries(
        self, *, reverse: bool = False, skip: int = 0, limit: int | None = None, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """The entries in the order of receiving, or from its other end, behind the first ``skip`` of them.

        Promised ones count among the first, so that nothing has to be read to find the place; ``pause`` is called where
        that takes long all the same, as in a large KEYED queue.
        """
        if not self.promised:
            return map(self._entry, self.raw.entries(reverse=reverse, skip=skip, limit=limit, pause=pause))
        return islice(self._free(self.raw.entries(reverse=reverse, skip=skip, pause=pause)), limit)

    def matching(
        self, search: SearchOrder, key: bytes, *, skip: int = 0, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """The entries of a keyed queue whose keys are in a relation to ``key``, lowest key first."""
        return self._free(self.raw.search(search, key, skip=skip, pause=pause))

    def _free(self, items: Iterator[Entry]) -> Iterator[Entry]:
        return (entry for entry in map(self._entry, items) if entry.time_ns not in self.promised)

    def next(self, search: SearchOrder | None, key: bytes) -> Entry | None:
        """The entry that a receive would get."""
        if not self.promised:
            found = self.raw.peek() if search is None else self.raw.find(search, key)
            return self._entry(found) if found is not None else None
        return next(self.entries(limit=1) if search is None else self.matching(search, key), None)

    def _entry(self, item: Entry) -> Entry:
        """An entry of the store as one of the queue."""
        if self._keyed:
            return item
        record = item.data
        moment, sender = self._head(record)
        return _new(Entry, (record[self._start :], b"", sender, moment))

    # -- in memory ----------------------------------------------------------------------------------------------------

    def in_memory(self) -> tuple[Send, Receive] | None:
        """What a send and a receive do while nothing is to be committed and nothing is promised.

        None for a durable queue. These are functions rather than methods for speed: each is all that such a request
        does to the entries.
        """
        memory, head, start = self.raw, self._head, self._start
        if not isinstance(memory, VolatileQueue) or self.readonly:
            return None
        put, put_entry, take, take_key = memory.put, memory.put_entry, memory.take, memory.take_key

        def send(data: bytes, _key: bytes, sender: bytes, time_ns: int, _works: Sequence[Work]) -> None:
            put(time_ns.to_bytes(STAMP_BYTES, "big") + sender + data)

        def send_with_key(data: bytes, key: bytes, sender: bytes, time_ns: int, _works: Sequence[Work]) -> None:
            put_entry(_new(Entry, (data, key, sender, time_ns)))

        def receive(
            _search: SearchOrder | None, _key: bytes, _journaling: Journaling, _clock: Clock
        ) -> Received | None:
            record = take()
            if record is None:
                return None
            moment, sender = head(record)
            return record[start:], b"", sender, moment

        def receive_by_key(
            search: SearchOrder | None, key: bytes, _journaling: Journaling, _clock: Clock
        ) -> Received | None:
            assert search is not None
            return take_key(search, key)

        return (send_with_key, receive_by_key) if self._keyed else (send, receive)

    # -- changing -----------------------------------------------------------------------------------------------------

    def _changer(self) -> VolatileQueue | Work:
        """What takes and puts: of durable entries a work, to be committed.

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
        """Commit the durable part of a change, with the records that belong to it."""
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

    def put_back(self, entry: Entry, also: Sequence[Work] = ()) -> None:
        """Put an entry back in front: it is the next that is taken, of a KEYED queue the next with its key.

        Of several that are put back, of a queue that is not LIFO, the oldest comes first again.
        """
        changer = self._changer()
        older = [] if self.raw.order is Order.LIFO else self._take_older(changer, entry)
        for each in (entry, *reversed(older)):
            self._put_back(changer, each)
        self.commit(changer, also)

    def _take_older(self, changer: VolatileQueue | Work, entry: Entry) -> list[Entry]:
        """Take off what stands in front and came before an entry, of a KEYED queue with its key."""
        found: list[Entry] = []
        while True:
            item = changer.take_key(SearchOrder.EQ, entry.key) if self._keyed else changer.take_entry()
            if item is None:
                break
            first = self._entry(item)
            if first.time_ns > entry.time_ns:
                self._put_back(changer, first)
                break
            found.append(first)
        return found

    def take(
        self, search: SearchOrder | None, key: bytes, journaling: Journaling, meta: Mapping[bytes, bytes | None]
    ) -> Entry | None:
        """Take off the entry that a receive gets."""
        changer = self._changer()
        entry = self._take_where(changer, search, key, lambda moment: moment not in self.promised)
        if entry is not None:
            self._commit_taken(changer, entry, journaling, meta)
        return entry

    def take_promised(self, entry: Entry, journaling: Journaling, meta: Mapping[bytes, bytes | None]) -> None:
        """Take off an entry that was promised: its job has it now."""
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
        """Take the first entry that is wanted; what stands before it stays where it is."""
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
        """Remove every entry, or those whose keys are in the relation; returns how many."""
        changer = self._changer()
        if search is None and not self.promised:
            gone = changer.clear()
        elif isinstance(changer, VolatileQueue) and search is not None and not self.promised:
            gone = changer.clear_keys(search, key)
        else:
            gone = self._clear_one_by_one(changer, search, key)
        self.commit(changer if gone else None, also, meta)
        return gone

    def _clear_one_by_one(self, changer: VolatileQueue | Work, search: SearchOrder | None, key: bytes) -> int:
        gone, kept = 0, []
        while (item := changer.take_entry() if search is None else changer.take_key(search, key)) is not None:
            entry = self._entry(item)
            if entry.time_ns in self.promised:
                kept.append(entry)
            else:
                gone += 1
        for entry in reversed(kept):
            self._put_back(changer, entry)
        return gone

    def drop(self) -> Work | None:
        """Everything is to go, the queue too: the work that does it; None for :meth:`discard`."""
        if not isinstance(self.raw, DurableQueue):
            return None
        work = self.raw.work()
        work.drop()
        return work

    def discard(self) -> None:
        """Everything goes that is not durable."""
        assert isinstance(self._place, Volatile)
        assert isinstance(self.raw, VolatileQueue)
        self._place.drop(self.raw)
