"""Everything in one environment's file, read without LMDB and compared: records, counts, pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tdqsim.core.store._entry import (
    ENTRIES,
    META,
    NUMBER,
    PIECE_KEY,
    PIECES,
    QUEUE,
    RECLAIM,
    STATE_KEY,
    Entry,
    Order,
    decode,
    queue_facts,
    unseal,
)
from tdqsim.core.store._journal import Changes, look_at_journal
from tdqsim.core.store._meta import any_meta, read_meta
from tdqsim.core.store._pages import PageFile
from tdqsim.core.store._state import State
from tdqsim.errors import StoreDamaged

__all__ = ["Found", "Half"]


class Found:
    """What was found of one queue."""

    __slots__ = ("count", "damaged", "head", "key_length", "last", "name", "number", "order", "saved", "size", "sound")

    def __init__(self, name: bytes, facts: tuple[Order, int, int, int, int, int, int]) -> None:
        self.name = name
        self.order, self.key_length, self.number, self.count, self.size, self.head, self.last = facts
        self.sound = 0
        self.saved = 0
        self.damaged: list[int] = []


class Half:
    """Walks one environment's file: queue records and meta data first, then the entries as they come.

    Attributes:
        queues: what was found, by internal number.
        meta: the meta data that is whole.
        problems: what is wrong beside damaged entries.
        state: the state record; None when it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.queues: dict[int, Found] = {}
        self.meta: dict[bytes, bytes] = {}
        self.problems: list[str] = []
        self.state: State | None = None
        self._gone: set[int] = set()
        self._split: dict[bytes, tuple[bytes, dict[int, bytes]]] = {}

    def entries(self) -> Iterator[tuple[Found, Entry]]:
        """Every entry that is what was put there, with its queue."""
        try:
            meta = read_meta(self.path)
        except StoreDamaged as error:
            self.problems.append(str(error))
            usable = any_meta(self.path) if (self.path / "data.mdb").exists() else None
            if usable is None:
                return
            meta = usable
        file = PageFile(self.path, meta)
        try:
            records = self._records(file, meta.root, meta.entries)
            for key, value in self._with_journal(records, meta.txnid):
                yield from self._record(key, value)
            yield from self._split_entries()
        finally:
            self.problems += file.problems
            file.close()
        self._compare(meta.txnid)

    def _records(self, file: PageFile, root: int, expected: int) -> Iterator[tuple[bytes, bytes | None]]:
        yield from file.walk(root)
        if not file.problems and file.entries != expected:
            file.problems.append(f"{file.entries} records were found, {expected} should be there")
        free = file.check_free()
        if free is not None and file.problems:
            yield from sorted(file.orphans(free), key=lambda record: record[0])

    def _with_journal(
        self, records: Iterator[tuple[bytes, bytes | None]], base: int
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """The records as they will be when the journal has been carried into the tree."""
        first = next(records, None)
        if first is None:
            return
        yield first
        changes = self._journal(base)  # the state record is the first one: it is known now whose journal it must be
        new = sorted((key for key, value in changes.items() if value is not None), reverse=True)
        for key, value in records:
            while new and new[-1] <= key:
                yield new[-1], changes[new.pop()]
            if key not in changes:
                yield key, value
        while new:
            yield new[-1], changes[new.pop()]

    def _journal(self, base: int) -> Changes:
        """What the journal changes in the tree; nothing after a clean close."""
        state = self.state
        if state is not None and state.clean:
            return {}
        frames, problem = look_at_journal(self.path, None if state is None else state.store_id, base)
        if frames is None and state is not None and state.journal:
            problem = "the file journal is missing"
        if problem:
            self.problems.append(problem)
        return {key: value for frame in frames or () for key, value in frame}

    def _record(self, key: bytes, value: bytes | None) -> Iterator[tuple[Found, Entry]]:
        try:
            if key >= ENTRIES:
                yield from self._entry(key, value)
            elif key.startswith(RECLAIM):
                self._gone.add(NUMBER.unpack(key[1:])[0] if len(key) == 1 + NUMBER.size else 0)
            elif value is None:
                self.problems.append(f"the record {key!r} cannot be read")
            elif key == STATE_KEY:
                self.state = State.unpack(value, str(self.path))
            elif key.startswith(META):
                self.meta[key[1:]] = unseal(key, value, f"the meta data {key[1:]!r}")
            elif key.startswith(QUEUE):
                found = Found(key[1:], queue_facts(key[1:], value))
                self.queues[found.number] = found
        except StoreDamaged as error:
            self.problems.append(str(error))

    def _entry(self, key: bytes, value: bytes | None) -> Iterator[tuple[Found, Entry]]:
        number = int.from_bytes(key[:8], "big")
        if number & PIECES:
            self._piece(key, value)
            return
        queue = self._queue_of(key, number)
        if queue is None:
            return
        seq = int.from_bytes(key[-8:], "big")
        wanted: list[int] = []

        def later(count: int) -> bytes:
            wanted.append(count)
            return b""

        parts = None if value is None else decode(key, value, later)
        if wanted and value is not None:
            self._split[key] = (value, {})
        elif parts is None:
            queue.damaged.append(seq)
        else:
            yield from self._sound(queue, key, seq, parts)

    def _sound(
        self, queue: Found, key: bytes, seq: int, parts: tuple[int, bytes, bytes, bytes]
    ) -> Iterator[tuple[Found, Entry]]:
        time_ns, slot, sender, data = parts
        if queue.order is not Order.KEYED and not queue.head <= seq <= queue.last:
            self.problems.append(f"queue {queue.name!r}: entry {seq} was taken long ago, but is still there")
            return
        queue.sound += 1
        yield queue, Entry(seq, time_ns, key[8:-8] if queue.order is Order.KEYED else slot, sender, data)

    def _queue_of(self, key: bytes, number: int) -> Found | None:
        """The queue an entry belongs to; one that is made up when its record is lost."""
        if number in self._gone or len(key) < 16:
            return None
        if number not in self.queues:
            length = len(key) - 16
            name = b"LOST-%d" % (number & 0xFFFFFFFF)
            order = Order.KEYED if length else Order.FIFO
            self.queues[number] = Found(name, (order, length, number, -1, -1, 0, 2**64 - 2))
            self.problems.append(f"there are entries of a queue whose record is lost; it is called {name!r} here")
        return self.queues[number]

    def _piece(self, key: bytes, value: bytes | None) -> None:
        if value is not None and len(key) == PIECE_KEY.size:
            number, seq, index = PIECE_KEY.unpack(key)
            for head, (_, pieces) in self._split.items() if self._split else ():
                if int.from_bytes(head[:8], "big") | PIECES == number and int.from_bytes(head[-8:], "big") == seq:
                    pieces[index] = value

    def _split_entries(self) -> Iterator[tuple[Found, Entry]]:
        for key, (value, pieces) in self._split.items():
            queue = self.queues[int.from_bytes(key[:8], "big")]
            seq = int.from_bytes(key[-8:], "big")
            whole = b"".join(pieces[index] for index in sorted(pieces))
            parts = decode(key, value, lambda _count, whole=whole: whole)  # type: ignore[misc]
            if parts is None:
                queue.damaged.append(seq)
            else:
                yield from self._sound(queue, key, seq, parts)

    def _compare(self, txnid: int) -> None:
        if self.state is None:
            self.problems.append("the state record is missing or damaged")
        elif self.state.txnid != txnid:
            self.problems.append(f"the tree is of commit {self.state.txnid}, the meta page of commit {txnid}")
        for queue in self.queues.values():
            there = queue.sound + len(queue.damaged)
            if queue.count >= 0 and there != queue.count:
                self.problems.append(f"queue {queue.name!r}: {there} entries are there, {queue.count} should be")
