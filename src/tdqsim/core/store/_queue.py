"""A durable queue: what it holds as of the last commit. What is to be done to it gathers in a work.

Record numbers have no holes in a FIFO or LIFO queue, so a position is a number, and counting costs nothing. Committed
records never change: what was read ahead says which record it is, so nothing has to be kept in step with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

from tdqsim.core.store._layout import (
    ENTRIES,
    ORDERS,
    QUEUE,
    Entry,
    Item,
    Long,
    Order,
    SearchOrder,
    Standing,
    decode,
    entry_key,
    entry_number,
    queue_record,
    read_queue_record,
    size_of,
)
from tdqsim.core.store._work import FifoWork, KeyedWork, LifoWork, Work
from tdqsim.errors import StoreDamaged

if TYPE_CHECKING:
    from tdqsim.core.store._durable import Durable

__all__ = ["DurableQueue", "Record"]

_BATCH: Final = 256
_AHEAD: Final = 64
_AHEAD_BYTES: Final = 32768
_RUN: Final = 64
_END: Final = b"\xff" * 9
"""Behind every record number."""
_WORKS: Final = {Order.FIFO: FifoWork, Order.LIFO: LifoWork, Order.KEYED: KeyedWork}


class Record(NamedTuple):
    """A committed record: its number, that of its LMDB entry's last record, itself, and where its data is when long."""

    seq: int
    end: int
    item: Item
    long: Long | None


class DurableQueue:
    """One queue of a durable file.

    Attributes:
        name: its name.
        order: the order in which it hands out its entries.
        key_length: the length of its keys; 0 unless KEYED.
        now: what it is as of the last commit; in a store that is only looked at, as of when it was asked for.
        durable: the file it is in.
        record_key: the key of its record.
        ahead: records that were read ahead.
    """

    __slots__ = ("_record", "_work", "ahead", "durable", "key_length", "name", "now", "order", "record_key")

    def __init__(
        self,
        durable: Durable,
        name: bytes,
        order: Order,
        key_length: int,
        now: Standing = Standing(),  # noqa: B008
    ) -> None:
        self.durable = durable
        self.name, self.order, self.key_length = name, order, key_length
        self.now = now
        self.ahead: deque[Any] = deque()  # of Record, some of them plain tuples
        self.record_key = QUEUE + name
        self._work: type[Work] = _WORKS[order]
        self._record = crc32(self.record_key), ORDERS.index(order), key_length

    def __repr__(self) -> str:
        return f"<{self.order.name} queue {self.name!r} with {self.count} records>"

    @property
    def count(self) -> int:
        """How many entries are committed."""
        return self.now.count

    @property
    def data_bytes(self) -> int:
        """Bytes of their data."""
        return self.now.data_bytes

    def work(self) -> Work:
        """Something in which changes to the queue gather until they are committed, or thrown away."""
        return self._work(self)

    def record(self, now: Standing) -> bytes:
        """The value of its record when it is ``now``."""
        return queue_record(self._record, now)

    # -- looking --------------------------------------------------------------------------------------------------

    def peek(self, position: int = 0) -> Entry | None:
        """The entry at a position in the queue's order; None when there are not so many."""
        return next(self.entries(skip=position, limit=1), None)

    def entries(self, *, reverse: bool = False, skip: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries in the order in which they would be taken; the queue may change meanwhile.

        Args:
            reverse: the other way round.
            skip: how many to pass over first, which costs nothing unless KEYED.
            limit: how many at most.
        """
        walk = self._by_key(reverse=reverse) if self.order is Order.KEYED else self._by_number(skip, reverse=reverse)
        start = skip if self.order is Order.KEYED else 0
        for position, item in enumerate(walk):
            if limit is not None and position >= start + limit:
                return
            if position >= start:
                yield item if isinstance(item, Entry) else Entry(item)

    def _by_number(self, skip: int, *, reverse: bool) -> Iterator[Item]:
        down = reverse != (self.order is Order.LIFO)
        seq: int | None = None
        while True:
            found = self.durable.look(lambda txn, seq=seq: self._some(txn, seq, skip, down=down))  # type: ignore[misc]
            for record in found:
                yield record.item
            if not found:
                return
            seq = found[-1].seq + (-1 if down else 1)

    def _some(self, txn: Any, seq: int | None, skip: int, *, down: bool) -> list[Record]:
        """A batch of records from a number on, or from where the queue begins."""
        now = self._committed(txn)
        if not now.number or now.number != self.now.number:
            return []
        if seq is None:
            seq = now.last - skip if down else now.first + skip
        seq = min(seq, now.last) if down else max(seq, now.first)
        if not now.first <= seq <= now.last:
            return []
        return list(self._run(txn, now, seq, down=down))

    def _committed(self, txn: Any) -> Standing:
        """What the queue is as of the commit that is looked at, which may be another process's."""
        value = txn.get(self.record_key)
        return Standing() if value is None else read_queue_record(self.name, value)[2]

    def _run(self, txn: Any, now: Standing, seq: int, *, down: bool = False, most: int = _BATCH) -> Iterator[Record]:
        """Records from a number on, from up to ``most`` LMDB entries; damage ends it; only at once is it raised."""
        any_found = False
        try:
            for record in self._walk(txn, now, seq, down=down, most=most):
                any_found = True
                yield record
        except StoreDamaged:
            if not any_found:
                raise

    def _walk(self, txn: Any, now: Standing, seq: int, *, down: bool, most: int) -> Iterator[Record]:
        cursor = txn.cursor()
        wanted = cursor.set_range(entry_key(now.number, seq))
        size = 0
        for key, value in cursor.iterprev() if down else cursor if wanted else ():
            if key[:8] != (now.number | ENTRIES).to_bytes(8, "big"):
                break
            for record in self.open(txn, key, value, down=down):
                if record.seq != seq:
                    if (record.seq > seq) != down:
                        raise self.damaged(f"record {seq} is missing")
                    continue
                yield record
                size += size_of(record.item)
                seq += -1 if down else 1
                if not now.first <= seq <= now.last:
                    return
            most -= 1
            if most <= 0 or size > _AHEAD_BYTES:
                return
        raise self.damaged(f"record {seq} is missing")

    def open(self, txn: Any, key: bytes, value: bytes, *, down: bool = False) -> list[Record]:
        """The records in an LMDB entry; StoreDamaged when it is not what was put."""
        end = entry_number(key)
        items, long = self._items(txn, key, value)
        records = [Record(seq, end, item, long) for seq, item in enumerate(items, end - len(items) + 1)]
        return records[::-1] if down else records

    def _items(self, txn: Any, key: bytes, value: bytes) -> tuple[list[Item], Long | None]:
        """What is in an LMDB entry; where its data is when it is long."""
        try:
            found = decode(key, value, "")
            if found.__class__ is list:
                return found, None
            data = self.durable.read_long(txn, found)  # type: ignore[arg-type]
        except StoreDamaged:
            raise self.damaged(f"record {entry_number(key)} is damaged") from None
        assert isinstance(found, Long), "what is no list is long"
        plain = not (found.sender or found.time_ns or len(key) > 16)
        return [data if plain else Entry(data, key[8:-8], found.sender, found.time_ns)], found

    def look_up(self, seq: int) -> Record:
        """The committed record of a FIFO queue with a number, and those behind it read ahead."""
        found = self.durable.look(lambda txn: self._ahead(txn, seq))
        while found and found[0][0] < seq:
            found.popleft()
        if not found or found[0][0] != seq:
            raise self.damaged(f"record {seq} is missing")
        record: Record = found.popleft()
        self.ahead = found
        return record

    def _ahead(self, txn: Any, seq: int) -> deque[Any]:
        number = self.now.number
        prefix = (number | ENTRIES).to_bytes(8, "big")
        found: deque[Any] = deque()
        cursor = txn.cursor()
        for key, value in cursor if cursor.set_range(entry_key(number, seq)) else ():
            if len(found) >= _AHEAD or not key.startswith(prefix):
                break
            try:
                items, long = self._items(txn, key, value)
            except StoreDamaged:  # it is told to who comes to it, not to who reads the record before
                if found:
                    break
                raise
            end = entry_number(key)
            if len(items) == 1:
                found.append((end, end, items[0], long))
                if long is not None:
                    break
            else:
                found += zip(range(end - len(items) + 1, end + 1), repeat(end), items, repeat(None), strict=False)
        return found

    def look_down(self, seq: int) -> Record:
        """The committed record with a number, as :meth:`look_up`, with nothing read ahead."""
        now = self.now
        return self.durable.look(lambda txn: next(self._run(txn, now, seq, down=True)))

    def look_run(self, seq: int) -> tuple[list[Item], list[tuple[int, Long | None]]]:
        """The committed records of a FIFO queue from a number on, as many as are read at once, and entries."""
        return self.durable.look(lambda txn: self._run_up(txn, seq))

    def _run_up(self, txn: Any, seq: int) -> tuple[list[Item], list[tuple[int, Long | None]]]:
        prefix = (self.now.number | ENTRIES).to_bytes(8, "big")
        cursor = txn.cursor()
        items: list[Item] = []
        ends: list[tuple[int, Long | None]] = []
        for key, value in islice(cursor, _RUN) if cursor.set_range(entry_key(self.now.number, seq)) else ():
            if not key.startswith(prefix):
                break
            end = entry_number(key)
            try:
                found, long = self._items(txn, key, value)
            except StoreDamaged:  # those before it are had first
                if items:
                    break
                raise
            start = end - len(found) + 1
            if start > seq or (start < seq and items):
                break
            items += found[seq - start :] if start < seq else found
            ends.append((end, long))
            seq = end + 1
        if not items:
            raise self.damaged(f"record {seq} is missing")
        return items, ends

    def look_run_down(self, seq: int) -> list[Record]:
        """The committed records of a LIFO queue from a number down, as many as are read at once."""
        now = self.now
        return self.durable.look(lambda txn: list(self._run(txn, now, seq, down=True, most=_RUN)))

    def damaged(self, what: str) -> StoreDamaged:
        """The error for something of the queue that is not what was written."""
        return self.durable.damaged(f"queue {self.name!r}: {what}")

    # -- by key ---------------------------------------------------------------------------------------------------

    def find(self, search: SearchOrder, key: bytes) -> Entry | None:
        """The first entry under the lowest key that relates to ``key`` as asked; None when there is none.

        Raises:
            ValueError: the queue is not KEYED, or the key has not its key length.
        """
        return next(self.search(search, key), None)

    def search(self, search: SearchOrder, key: bytes) -> Iterator[Entry]:
        """All entries whose key relates to ``key`` as asked, by key ascending and in order of arrival within a key."""
        self.check_key(key)
        return (record.item for _, record in self.matching(search, key))  # type: ignore[misc]

    def check_key(self, key: bytes) -> None:
        """ValueError unless the queue is searched by such keys."""
        if self.order is not Order.KEYED:
            raise ValueError(
                f"queue {self.name!r}: only a KEYED queue is searched by key; this one is {self.order.name}"
            )
        if len(key) != self.key_length:
            raise ValueError(f"queue {self.name!r}: key of {len(key)} bytes: it must have {self.key_length}")

    def matching(
        self,
        search: SearchOrder | None,
        key: bytes = b"",
        but: Callable[[bytes], bool] | None = None,
        *,
        reverse: bool = False,
        most: int = _BATCH,
    ) -> Iterator[tuple[bytes, Record]]:
        """LMDB keys and records whose key relates to ``key`` as asked, all of them for None, without some."""
        number = self.now.number
        low = (number | ENTRIES).to_bytes(8, "big")
        for start, stop in key_ranges(low, search, key)[:: -1 if reverse else 1]:
            while found := self.durable.look(
                lambda txn, start=start, stop=stop: self._between(txn, start, stop, but, most, reverse=reverse)  # type: ignore[misc]
            ):
                yield from found
                if self.now.number != number and not self.durable.readonly:
                    return
                start, stop = (start, found[-1][0]) if reverse else (found[-1][0] + b"\0", stop)  # noqa: PLW2901

    def _between(
        self, txn: Any, start: bytes, stop: bytes, but: Callable[[bytes], bool] | None, most: int, *, reverse: bool
    ) -> list[tuple[bytes, Record]]:
        cursor = txn.cursor()
        found: list[tuple[bytes, Record]] = []
        at_or_behind = cursor.set_range(stop if reverse else start)
        if reverse and at_or_behind and not cursor.prev():
            return found
        for key, value in cursor.iterprev() if reverse else cursor if at_or_behind else ():
            if not start <= key < stop or len(found) == most:
                break
            if but is None or not but(key):
                found.append((key, self.open(txn, key, value)[0]))
        return found

    def _by_key(self, *, reverse: bool) -> Iterator[Item]:
        return (record.item for _, record in self.matching(None, reverse=reverse))


def key_ranges(prefix: bytes, search: SearchOrder | None, key: bytes) -> list[tuple[bytes, bytes]]:
    """The spans of LMDB keys whose user keys qualify, ascending."""
    low, high = prefix, (int.from_bytes(prefix, "big") + 1).to_bytes(8, "big")
    here, beyond = prefix + key, prefix + key + _END
    if search is None:
        return [(low, high)]
    return {
        SearchOrder.EQ: [(here, beyond)],
        SearchOrder.NE: [(low, here), (beyond, high)],
        SearchOrder.LT: [(low, here)],
        SearchOrder.LE: [(low, beyond)],
        SearchOrder.GT: [(beyond, high)],
        SearchOrder.GE: [(here, high)],
    }[search]
