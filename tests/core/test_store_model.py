"""The store against a model made of plain lists, which shares no code with it."""

from __future__ import annotations

import copy
import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tdqsim.core.store import Entry, Order, SearchOrder, Store

NAMES = [b"FIFO", b"LIFO", b"KEYED", b"FIFO2"]
KEYS = [b"AA", b"AB", b"BA", b"\x00\x00", b"\xff\xff"]
ORDERS = {b"FIFO": Order.FIFO, b"LIFO": Order.LIFO, b"KEYED": Order.KEYED, b"FIFO2": Order.FIFO}
RELATED = {
    SearchOrder.EQ: lambda a, b: a == b,
    SearchOrder.NE: lambda a, b: a != b,
    SearchOrder.LT: lambda a, b: a < b,
    SearchOrder.LE: lambda a, b: a <= b,
    SearchOrder.GT: lambda a, b: a > b,
    SearchOrder.GE: lambda a, b: a >= b,
}
names = st.sampled_from(NAMES)
keys = st.sampled_from(KEYS)
searches = st.sampled_from(list(SearchOrder))
sizes = st.one_of(st.integers(0, 20), st.integers(1880, 2100), st.integers(0, 70000))


class ListQueue:
    """A queue as a list of tuples (seq, time, key, sender, data) in order of arrival."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.items: list[tuple] = []
        self.last = 0

    def in_order(self) -> list[tuple]:
        if self.order is Order.KEYED:
            return sorted(self.items, key=lambda item: (item[2], item[0]))
        return sorted(self.items, key=lambda item: item[0], reverse=self.order is Order.LIFO)

    def qualify(self, search: SearchOrder, key: bytes) -> list[tuple]:
        return [item for item in self.in_order() if RELATED[search](item[2], key)]


class StoreMachine(RuleBasedStateMachine):
    half = "durable"

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="tdqsim-test-"))
        self.store = Store(self.directory / "store", limit_bytes=32 * 2**20)
        self.model: dict[bytes, ListQueue] = {}
        self.committed: dict[bytes, ListQueue] = {}
        self.meta: dict[bytes, bytes] = {}
        self.committed_meta: dict[bytes, bytes] = {}
        self.removed: list[tuple[bytes, tuple]] = []

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.directory)

    @property
    def env(self):
        return getattr(self.store, self.half)

    def queue(self, name: bytes):
        queue = self.env.queue(name)
        assert (queue is None) == (name not in self.model)
        return queue

    @initialize(chosen=st.sets(names, min_size=1))
    def begin(self, chosen):
        for name in sorted(chosen):
            self.create(name)

    @rule(name=names)
    def create(self, name):
        if name not in self.model:
            order = ORDERS[name]
            self.env.create_queue(name, order=order, key_length=2 if order is Order.KEYED else 0)
            self.model[name] = ListQueue(order)

    @rule(
        name=names,
        key=keys,
        size=sizes,
        fill=st.integers(0, 255),
        gap=st.integers(0, 3),
        sender=st.sampled_from([b"", b"s" * 36]),
    )
    def put(self, name, key, size, fill, gap, sender):
        queue = self.queue(name)
        if queue is None:
            return
        model = self.model[name]
        slot = key if model.order is Order.KEYED else b""
        seq = model.last + 1 + gap
        assert queue.put(bytes([fill]) * size, slot, sender, seq=seq if gap else None, time_ns=fill << 56) == seq
        model.items.append((seq, fill << 56, slot, sender, bytes([fill]) * size))
        model.last = seq

    @rule(name=names, count=st.integers(1, 150))
    def put_many(self, name, count):
        queue = self.queue(name)
        if queue is None:
            return
        model = self.model[name]
        for number in range(count):
            key = KEYS[number % 5] if model.order is Order.KEYED else b""
            model.last += 1
            assert queue.put(b"%d" % model.last, key) == model.last
            model.items.append((model.last, 0, key, b"", b"%d" % model.last))

    @rule(name=names, count=st.integers(1, 40))
    def take(self, name, count):
        queue = self.queue(name)
        if queue is None:
            return
        model = self.model[name]
        for _ in range(count):
            ordered = model.in_order()
            assert queue.take() == (ordered[0][4] if ordered else None)
            if ordered:
                model.items.remove(ordered[0])

    @rule(name=names)
    def take_entry(self, name):
        queue = self.queue(name)
        if queue is None:
            return
        ordered = self.model[name].in_order()
        assert queue.peek() == (Entry(*ordered[0]) if ordered else None)
        assert queue.take_entry() == (Entry(*ordered[0]) if ordered else None)
        if ordered:
            self.model[name].items.remove(ordered[0])
            self.removed.append((name, ordered[0]))

    @rule(name=names, where=st.integers(0, 1000))
    def remove(self, name, where):
        queue = self.queue(name)
        if queue is None or not self.model[name].items:
            return
        items = self.model[name].items
        item = items.pop(where % len(items))
        assert queue.get(item[0], item[2]) == Entry(*item)
        assert queue.remove(item[0], item[2]) == Entry(*item)
        assert queue.get(item[0], item[2]) is None
        self.removed.append((name, item))

    @precondition(lambda self: self.removed)
    @rule()
    def restore(self):
        name, item = self.removed.pop()
        queue = self.queue(name)
        if queue is None or any(item[0] == other[0] for other in self.model[name].items):
            return
        queue.restore(Entry(*item))
        self.model[name].items.append(item)
        self.model[name].last = max(self.model[name].last, item[0])

    @rule(search=searches, key=keys)
    def keyed(self, search, key):
        queue = self.queue(b"KEYED")
        if queue is None:
            return
        expected = [Entry(*item) for item in self.model[b"KEYED"].qualify(search, key)]
        assert list(queue.search(search, key)) == expected
        assert queue.find(search, key) == (expected[0] if expected else None)

    @rule(search=searches, key=keys)
    def take_key(self, search, key):
        queue = self.queue(b"KEYED")
        if queue is None:
            return
        expected = self.model[b"KEYED"].qualify(search, key)
        assert queue.take_key(search, key) == (Entry(*expected[0]) if expected else None)
        if expected:
            self.model[b"KEYED"].items.remove(expected[0])

    @rule(search=searches, key=keys)
    def clear_keys(self, search, key):
        queue = self.queue(b"KEYED")
        if queue is None:
            return
        gone = self.model[b"KEYED"].qualify(search, key)
        assert queue.clear_keys(search, key) == len(gone)
        self.model[b"KEYED"].items = [item for item in self.model[b"KEYED"].items if item not in gone]

    @rule(name=names, where=st.integers(0, 1000), reverse=st.booleans(), limit=st.integers(0, 200))
    def continue_after(self, name, where, reverse, limit):
        queue = self.queue(name)
        if queue is None or not self.model[name].items:
            return
        ordered = self.model[name].in_order()
        if reverse:
            ordered.reverse()
        at = where % len(ordered)
        found = list(queue.entries(reverse=reverse, after=Entry(*ordered[at]), limit=limit))
        assert found == [Entry(*item) for item in ordered[at + 1 : at + 1 + limit]]

    @rule(name=names)
    def clear(self, name):
        queue = self.queue(name)
        if queue is not None:
            assert queue.clear() == len(self.model[name].items)
            self.model[name].items = []

    @rule(name=names)
    def drop(self, name):
        if self.queue(name) is not None:
            self.env.drop_queue(name)
            del self.model[name]
            self.removed = [pair for pair in self.removed if pair[0] != name]

    @rule(key=keys, size=st.integers(0, 5000))
    def put_meta(self, key, size):
        self.env.put_meta(key, b"m" * size)
        self.meta[key] = b"m" * size

    @rule(key=keys)
    def delete_meta(self, key):
        self.env.delete_meta(key)
        self.meta.pop(key, None)

    @rule()
    def commit(self):
        self.env.commit()
        assert not self.env.dirty
        self.committed = copy.deepcopy(self.model)
        self.committed_meta = dict(self.meta)

    @precondition(lambda self: self.half == "durable")
    @rule()
    def abort(self):
        self.env.abort()
        self.back()

    def back(self):
        self.model = copy.deepcopy(self.committed)
        self.meta = dict(self.committed_meta)
        self.removed = []

    @rule()
    def crash(self):
        if self.half == "volatile":
            self.commit()
        self.store.close(clean=False)
        self.back()
        self.reopen(clean=False)

    @rule()
    def close(self):
        self.store.close()
        self.committed = copy.deepcopy(self.model)
        self.committed_meta = dict(self.meta)
        self.reopen(clean=True)

    def reopen(self, *, clean):
        self.store = Store(self.directory / "store", limit_bytes=32 * 2**20)
        assert self.store.closed_clean is clean
        assert not self.store.created

    @invariant()
    def same(self):
        assert [queue.name for queue in self.env.queues()] == sorted(self.model)
        assert dict(self.env.meta_items()) == self.meta
        for name, model in self.model.items():
            queue = self.env.queue(name)
            ordered = model.in_order()
            assert (queue.count, queue.data_bytes, queue.last_seq) == (
                len(ordered),
                sum(len(item[4]) for item in ordered),
                model.last,
            )
            assert list(queue.entries()) == [Entry(*item) for item in ordered]
            if model.order is not Order.KEYED:
                assert queue.first_seq == min((item[0] for item in ordered), default=model.last + 1)


class VolatileMachine(StoreMachine):
    half = "volatile"


RUN = settings(
    max_examples=25, stateful_step_count=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
TestDurable = StoreMachine.TestCase
TestDurable.settings = RUN
TestVolatile = VolatileMachine.TestCase
TestVolatile.settings = RUN
