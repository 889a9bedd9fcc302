"""A durable queue: its records as of the last commit. Changes to it are collected in a work.

The record numbers of a FIFO or LIFO queue have no gaps, so the record at a position has a known number, and counting
costs nothing. The committed record with a number never changes, so records that were read ahead stay valid.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from zlib import crc32

from tdqsim.core.store._layout import (
    EQ,
    ORDERS,
    QUEUE,
    Entry,
    Item,
    Long,
    Order,
    SearchOrder,
    Standing,
    check_key,
    decode,
    entry_key,
    entry_number,
    entry_prefix,
    not_keyed,
    nothing,
    read_queue_record,
)
from tdqsim.core.store._lmdb import StoreTransaction
from tdqsim.core.store._work import AHEAD, NOT_AHEAD, Ahead, KeyedWork, LifoWork, Work
from tdqsim.errors import StoreDamaged

if TYPE_CHECKING:
    from tdqsim.core.store._durable import Durable

_BATCH: Final = 256
_AT_ONCE: Final = 1000
_SLICE: Final = 10_000
"""Keys that one transaction walks over, which takes about two milliseconds."""
_EMPTY: Final = Standing()
_END: Final = b"\xff" * 9
"""Sorts after every record number."""
_WORKS: Final = {Order.FIFO: Work, Order.LIFO: LifoWork, Order.KEYED: KeyedWork}
StoredItem: TypeAlias = tuple[bytes, Item, Long | None]
"""An LMDB entry with one record: its key, the record, and the place of its data when it is long."""
StoredValue: TypeAlias = tuple[bytes, bytes]
"""An LMDB entry: its key and its value."""
Run: TypeAlias = tuple[list[Any], list[tuple[int, Long | None]]]
"""Records that follow each other; for each of their LMDB entries the number of its last record, the place of long data.
"""


class DurableQueue:
    """One queue of a durable file.

    Attributes:
        name: its name.
        order: the order in which entries are taken.
        key_length: the length of its keys; 0 unless KEYED.
        now: its state as of the last commit; in a store opened for reading only, as of the call that returned it.
        after: its state in the transaction of a commit, while there is one; otherwise ``now``.
        durable: the file it is in.
        record_key: the key of its record.
        facts: the constant part of its record, see :func:`~tdqsim.core.store._layout.queue_record`.
        ahead: records that were read ahead.
    """

    __slots__ = (
        "_mark", "_work", "after", "ahead", "durable", "facts", "key_length", "name", "now", "order", "record_key",
    )  # fmt: skip

    def __init__(
        self,
        durable: Durable,
        name: bytes,
        order: Order,
        key_length: int,
        now: Standing = _EMPTY,
    ) -> None:
        self.durable = durable
        self.name, self.order, self.key_length = name, order, key_length
        self.stand(now)
        self.ahead = NOT_AHEAD
        self.record_key = QUEUE + name
        self._work: type[Work] = _WORKS[order]
        self._mark: tuple[Standing, int, bytes] | None = None  # the last position that was looked up, and its LMDB key
        self.facts = crc32(self.record_key), ORDERS.index(order), key_length

    def __repr__(self) -> str:
        return f"<{self.order.name} queue {self.name!r} with {self.count} records>"

    def stand(self, now: Standing) -> None:
        """Set its state outside a commit: another store had the entries before it, or they are gone."""
        self.now = self.after = now

    @property
    def count(self) -> int:
        """The number of committed entries."""
        return self.now.count

    @property
    def data_bytes(self) -> int:
        """The bytes of data of the committed entries."""
        return self.now.data_bytes

    def work(self) -> Work:
        """Make an object that collects changes to the queue until they are committed or thrown away.

        Raises:
            StoreError: the store is open for reading only.
        """
        if self.durable.readonly:
            raise self.durable.only_read()
        return self._work(self)

    # -- reading --------------------------------------------------------------------------------------------------

    def peek(self, position: int = 0) -> Entry | None:
        """The entry at a position in the queue's order; None when there are not so many."""
        return next(self.entries(skip=position, limit=1), None)

    def entries(
        self, *, reverse: bool = False, skip: int = 0, limit: int | None = None, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """The entries in the order in which they would be taken; the queue may change meanwhile.

        Args:
            reverse: give them in reverse order.
            skip: how many to skip first. This costs nothing unless the queue is KEYED. Then the keys are walked from
                the nearest end, or from where the last such walk ended if nothing has changed since.
            limit: how many at most.
            pause: called during a long walk over keys, to let other work run.
        """
        if self.order is Order.KEYED:
            items: Any = (item for _, item, _ in self.matching(None, reverse=reverse, skip=skip, pause=pause))
            return islice(items, None if limit is None else max(0, limit))
        return map(Entry, islice(self._by_number(skip, down=reverse != (self.order is Order.LIFO)), limit))

    def _by_number(self, skip: int, *, down: bool) -> Iterator[Any]:
        seq: int | None = None
        while True:
            batch, seq = self.durable.look(lambda txn, seq=seq: self._some(txn, seq, skip, down=down))  # type: ignore[misc]
            if not batch:
                return
            yield from batch

    def _some(self, txn: StoreTransaction, seq: int | None, skip: int, *, down: bool) -> tuple[list[Item], int]:
        """A batch of records from a number on, or from the beginning of the queue, and the number of the next one."""
        now = self._committed(txn)
        if seq is None:
            seq = now.last - skip if down else now.first + skip
        seq = min(seq, now.last) if down else max(seq, now.first)
        batch: list[Item] = []
        if now.number and now.number == self.now.number and now.first <= seq <= now.last:
            batch, _ = self._run(txn, now, seq, _BATCH, down=down)
        return batch, seq - len(batch) if down else seq + len(batch)

    def _committed(self, txn: StoreTransaction) -> Standing:
        """The state of the queue in the transaction's commit, which may be that of another process."""
        value = txn.get(self.record_key)
        return Standing() if value is None else read_queue_record(self.name, value)[2]

    def _run(self, txn: StoreTransaction, now: Standing, seq: int, most: int, *, down: bool = False) -> Run:
        """The records from a number on, about ``most`` of them, up to the first long one.

        A missing or damaged record ends the run, so that the records before it can be read. An error is raised only
        when it is the first one.
        """
        found: list[Item] = []
        ends: list[tuple[int, Long | None]] = []
        most = min(most, seq - now.first + 1 if down else now.last - seq + 1)
        cursor = txn.cursor()
        at = entry_key(now.number, seq)
        prefix = at[:8]
        for key, value in (cursor.iterprev() if down else cursor) if cursor.set_range(at) else ():
            if key[:8] != prefix:
                break
            try:
                items, long = self.items_of(key, value, txn.get)
            except StoreDamaged:
                if not found:
                    raise
                break
            end = entry_number(key)
            start = end - len(items) + 1
            if start != seq and not start < seq <= end:
                break
            ends.append((end, long))
            if down:
                items = items[max(0, now.first - start) : seq - start + 1][::-1]
                seq = start - 1
            else:
                if start != seq:
                    items = items[seq - start :]
                seq = end + 1
            found += items
            if len(found) >= most or long is not None:
                break
        if not found:
            raise self.damaged(f"record {seq} is missing")
        return found, ends

    def items_of(self, key: bytes, value: bytes, get: Callable[[bytes], bytes | None]) -> tuple[list[Any], Long | None]:
        """The items of an LMDB entry, and the place of its data when it is long; ``get`` reads the pieces then."""
        try:
            decoded = decode(key, value, "")
            if decoded.__class__ is list:
                return decoded, None
            assert isinstance(decoded, Long), "decode returns a list or a Long"
            return [decoded.item(key, decoded.data(get, ""))], decoded
        except StoreDamaged:
            raise self.damaged(f"record {entry_number(key)} is damaged") from None

    def piece(self, place: bytes) -> bytes | None:
        """The committed value under an LMDB key."""
        return self.durable.look(lambda txn: txn.get(place))

    def look_up(self, seq: int) -> Ahead:
        """Read ahead the committed records of a FIFO queue from a number on."""
        self.ahead = self.durable.look(lambda txn: self._ahead(txn, seq))
        return self.ahead

    def _ahead(self, txn: StoreTransaction, seq: int) -> Ahead:
        items, ends = self._run(txn, self.now, seq, AHEAD)
        return seq, items, dict(ends)

    def look_run(self, seq: int) -> Run:
        """A batch of committed records of a FIFO queue from a number on."""
        return self.durable.look(lambda txn: self._run(txn, self.now, seq, _AT_ONCE))

    def look_run_down(self, seq: int, most: int | None) -> list[StoredItem]:
        """At most ``most`` committed records of a LIFO queue from a number down; a batch of them for None."""
        number = self.now.number
        items, ends = self.durable.look(lambda txn: self._run(txn, self.now, seq, most or AHEAD, down=True))
        return [(entry_key(number, end), item, long) for item, (end, long) in zip(items, ends, strict=True)]

    def damaged(self, what: str) -> StoreDamaged:
        """The exception for a part of the queue that is not what was written."""
        return self.durable.damaged(f"queue {self.name!r}: {what}")

    # -- by key ---------------------------------------------------------------------------------------------------

    def find(self, search: SearchOrder, key: bytes) -> Entry | None:
        """The first entry with the lowest key that matches a search, or None.

        Raises:
            ValueError: the queue is not KEYED, or ``key`` does not have its key length.
        """
        return next(self.search(search, key), None)

    def search(
        self, search: SearchOrder, key: bytes, *, skip: int = 0, pause: Callable[[], object] = nothing
    ) -> Iterator[Entry]:
        """All entries whose keys match a search, by ascending key, and in order of arrival within a key."""
        self.check_key(key)
        return (item for _, item, _ in self.matching(search, key, skip=skip, pause=pause))  # type: ignore[misc]

    def check_key(self, key: bytes) -> None:
        """Raise ValueError unless the queue is KEYED and the key has its key length."""
        if self.order is not Order.KEYED:
            raise not_keyed(self.name, self.order)
        check_key(self.name, key, self.key_length)

    def matching(
        self,
        search: SearchOrder | None,
        key: bytes = b"",
        but: Callable[[bytes], bool] | None = None,
        *,
        reverse: bool = False,
        most: int = _BATCH,
        skip: int = 0,
        pause: Callable[[], object] = nothing,
    ) -> Iterator[StoredItem]:
        """Entries whose keys match a search (all for None), except those for whose LMDB key ``but`` returns true."""
        number = self.now.number
        for span in self.spans(search, key)[:: -1 if reverse else 1]:
            start, stop = span
            if skip and search is None:
                at = self._key_at(self.now.count - skip if reverse else skip, start, stop, pause)
                start, stop = (start, at) if reverse else (at, stop)
            elif skip:
                start, skipped = self._passed(start, stop, skip, pause)
                skip -= skipped
            while batch := self.between(start, stop, but, most, reverse=reverse):
                yield from batch
                if self.now.number != number and not self.durable.readonly:
                    return
                start, stop = (start, batch[-1][0]) if reverse else (batch[-1][0] + b"\0", stop)

    def _key_at(self, position: int, low: bytes, high: bytes, pause: Callable[[], object]) -> bytes:
        """The key with ``position`` entries of a span before it, counted from the nearest known position."""
        now = self.now
        known = [(0, low), (now.count, high)]
        if self._mark is not None and self._mark[0] is now:
            known.append(self._mark[1:])
        position = max(0, min(position, now.count))
        there, at = min(known, key=lambda each: abs(each[0] - position))
        if there < position:
            at = self._passed(at, high, position - there, pause)[0]
        elif there > position:
            at = self._passed(low, at, there - position, pause, down=True)[0]
        self._mark = (now, position, at)
        return at

    def _passed(
        self, start: bytes, stop: bytes, count: int, pause: Callable[[], object], *, down: bool = False
    ) -> tuple[bytes, int]:
        """Walk over at most ``count`` keys of a span, without values; returns the place after them and their number."""
        passed = 0
        while passed < count and (keys := self._keys(start, stop, min(count - passed, _SLICE), down=down)):
            passed += len(keys)
            start, stop = (start, keys[-1]) if down else (keys[-1] + b"\0", stop)
            pause()
        return (stop if down else start), passed

    def _keys(self, start: bytes, stop: bytes, most: int, *, down: bool) -> list[bytes]:
        def walk(txn: StoreTransaction) -> list[bytes]:
            cursor = txn.cursor()
            at_or_behind = cursor.set_range(stop if down else start)
            if (not at_or_behind and not down) or (at_or_behind and down and not cursor.prev()):
                return []
            keys = list(islice((cursor.iterprev if down else cursor.iternext)(values=False), most))
            return keys if start <= keys[-1] < stop else [key for key in keys if start <= key < stop]

        return self.durable.look(walk)

    def spans(self, search: SearchOrder | None, key: bytes) -> list[tuple[bytes, bytes]]:
        """The spans of LMDB keys whose user keys match a search (all for None), ascending."""
        number = self.now.number
        low = entry_prefix(number)
        here = low + key
        if search is EQ:
            return [(here, here + _END)]
        return _RANGES[search](low, here, here + _END, entry_prefix(number + 1))

    def read_ahead(self, start: bytes, taken: Container[bytes], most: int) -> list[StoredValue]:
        """The first entries from an LMDB key on, at most so many, not decoded, without those that were taken."""
        beyond = entry_prefix(self.now.number + 1)

        def read(txn: StoreTransaction) -> list[StoredValue]:
            cursor = txn.cursor()
            there = takewhile((beyond,).__gt__, cursor) if cursor.set_range(start) else ()
            return list(islice((each for each in there if each[0] not in taken), most))

        return self.durable.look(read)

    def between(
        self, start: bytes, stop: bytes, but: Callable[[bytes], bool] | None, most: int, *, reverse: bool = False
    ) -> list[StoredItem]:
        """The first entries of a span of LMDB keys, at most so many, without those for whose key ``but`` is true.

        A long entry is the last of its batch, and a damaged one an error only if it is the first.
        """
        return self.durable.look(lambda txn: self._between(txn, start, stop, but, most, reverse=reverse))

    def _between(
        self,
        txn: StoreTransaction,
        start: bytes,
        stop: bytes,
        but: Callable[[bytes], bool] | None,
        most: int,
        *,
        reverse: bool,
    ) -> list[StoredItem]:
        cursor = txn.cursor()
        batch: list[StoredItem] = []
        at_or_behind = cursor.set_range(stop if reverse else start)
        if reverse and at_or_behind and not cursor.prev():
            return batch
        for key, value in cursor.iterprev() if reverse else cursor if at_or_behind else ():
            if not start <= key < stop:
                break
            if but is None or not but(key):
                try:
                    items, long = self.items_of(key, value, txn.get)
                except StoreDamaged:
                    if not batch:
                        raise
                    break  # the next batch begins with it
                batch.append((key, items[0], long))
                if len(batch) == most or long is not None:  # before the cursor reads another
                    break
        return batch


_Span: TypeAlias = tuple[bytes, bytes]
_RANGES: Final[dict[SearchOrder | None, Callable[[bytes, bytes, bytes, bytes], list[_Span]]]] = {
    None: lambda low, _here, _beyond, high: [(low, high)],
    SearchOrder.NE: lambda low, here, beyond, high: [(low, here), (beyond, high)],
    SearchOrder.LT: lambda low, here, _beyond, _high: [(low, here)],
    SearchOrder.LE: lambda low, _here, beyond, _high: [(low, beyond)],
    SearchOrder.GT: lambda _low, _here, beyond, high: [(beyond, high)],
    SearchOrder.GE: lambda _low, here, _beyond, high: [(here, high)],
}
