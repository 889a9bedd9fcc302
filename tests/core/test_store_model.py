"""Queues of every order, volatile and durable, beside a list that is slow and obvious."""

from __future__ import annotations

from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tdqsim.core.store import Entry, Order, SearchOrder, Store

RELATIONS = {
    SearchOrder.EQ: eq, SearchOrder.NE: ne, SearchOrder.LT: lt, SearchOrder.LE: le, SearchOrder.GT: gt, SearchOrder.GE: ge,
}  # fmt: skip
sizes = st.one_of(st.integers(0, 300), st.sampled_from([0, 1, 1899, 1900, 1901, 5000]))
keys = st.sampled_from([b"\0\0", b"a\0", b"aa", b"ab", b"\xff\xff"])
senders = st.sampled_from([b"", b"", b"J" * 36, b"S" * 255])
searches = st.sampled_from(list(SearchOrder))


class Model:
    """The entries of one queue, oldest first; those of a KEYED queue by key, and oldest first within a key."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.kept: list[Entry] = []

    def put(self, entry: Entry) -> None:
        """Behind all others, or behind those of its key."""
        self.kept.append(entry)
        if self.order is Order.KEYED:
            self.kept.sort(key=lambda kept: kept.key)

    def put_back(self, entry: Entry) -> None:
        """Where the next entry is taken."""
        if self.order is Order.LIFO:
            self.kept.append(entry)
        else:
            self.kept.insert(0, entry)
        if self.order is Order.KEYED:
            self.kept.sort(key=lambda kept: kept.key)

    def in_order(self) -> list[Entry]:
        """As they are taken."""
        return self.kept[::-1] if self.order is Order.LIFO else list(self.kept)

    def take(self) -> Entry | None:
        """The next."""
        return None if not self.kept else self.kept.pop(-1 if self.order is Order.LIFO else 0)

    def matching(self, search: SearchOrder, key: bytes) -> list[Entry]:
        """By key."""
        return [entry for entry in self.kept if RELATIONS[search](entry.key, key)]


class Queues(RuleBasedStateMachine):
    """One queue of each order in the volatile and in the durable half; little memory, so that it overflows."""

    def __init__(self) -> None:
        super().__init__()
        self.place = TemporaryDirectory()
        self.path = Path(self.place.name) / "store"
        self.serial = 0
        self.models = {(half, order): Model(order) for half in ("volatile", "durable") for order in Order}
        self.store = Store(self.path, memory_bytes=3000)

    def teardown(self) -> None:
        self.store.close(clean=False)
        self.place.cleanup()

    def queue(self, half: str, order: Order) -> Any:
        """The queue, made when it is not there."""
        owner: Any = getattr(self.store, half)
        name = order.name.encode()
        return owner.queue(name) or owner.create_queue(name, order, 2 if order is Order.KEYED else 0)

    def change(self, half: str, order: Order, what: Any) -> Any:
        """Do something to a volatile queue, or to a work of a durable one that is committed."""
        queue = self.queue(half, order)
        if half == "volatile":
            return what(queue)
        work = queue.work()
        result = what(work)
        self.store.durable.commit((work,))
        return result

    def entry(self, order: Order, size: int, key: bytes, sender: bytes) -> Entry:
        """An entry that no other equals."""
        self.serial += 1
        data = (b"%d." % self.serial).ljust(size, b"x")[: max(size, 5)]
        return Entry(data, key, sender, self.serial) if order is Order.KEYED else Entry(data)

    @rule(half=st.sampled_from(["volatile", "durable"]), order=st.sampled_from(Order), size=sizes, key=keys, sender=senders,
          many=st.sampled_from([1, 1, 3, 40]))  # fmt: skip
    def put(self, half: str, order: Order, size: int, key: bytes, sender: bytes, many: int) -> None:
        entries = [self.entry(order, size, key, sender) for _ in range(many)]

        def puts(queue: Any) -> None:
            for entry in entries:
                if order is Order.KEYED:
                    queue.put_entry(entry)
                else:
                    queue.put(entry.data)

        self.change(half, order, puts)
        for entry in entries:
            self.models[half, order].put(entry)

    @rule(half=st.sampled_from(["volatile", "durable"]), order=st.sampled_from([Order.FIFO, Order.LIFO]), size=sizes,
          many=st.sampled_from([1, 1, 3, 120]))  # fmt: skip
    def put_plain(self, half: str, order: Order, size: int, many: int) -> None:
        entries = [Entry(self.entry(order, size, b"", b"").data) for _ in range(many)]

        def puts(queue: Any) -> None:
            for entry in entries:
                queue.put(entry.data)

        self.change(half, order, puts)
        for entry in entries:
            self.models[half, order].put(entry)

    @rule(half=st.sampled_from(["volatile", "durable"]), order=st.sampled_from(Order), size=sizes, key=keys)
    def put_back(self, half: str, order: Order, size: int, key: bytes) -> None:
        entry = self.entry(order, size, key, b"")
        self.change(half, order, lambda queue: queue.put_back(entry if order is Order.KEYED else entry.data))
        self.models[half, order].put_back(entry)

    @rule(half=st.sampled_from(["volatile", "durable"]), order=st.sampled_from(Order), plain=st.booleans(),
          many=st.sampled_from([1, 1, 2, 50, 200]))  # fmt: skip
    def take(self, half: str, order: Order, plain: bool, many: int) -> None:
        def takes(queue: Any) -> list[Any]:
            return [queue.take() if plain else queue.take_entry() for _ in range(many)]

        expected = [self.models[half, order].take() for _ in range(many)]
        got = self.change(half, order, takes)
        assert got == ([entry and entry.data for entry in expected] if plain else expected)

    @rule(half=st.sampled_from(["volatile", "durable"]), search=searches, key=keys, many=st.sampled_from([1, 4]))
    def take_key(self, half: str, search: SearchOrder, key: bytes, many: int) -> None:
        model = self.models[half, Order.KEYED]

        def takes(queue: Any) -> list[Any]:
            return [queue.take_key(search, key) for _ in range(many)]

        got = self.change(half, Order.KEYED, takes)
        for entry in got:
            matching = model.matching(search, key)
            assert entry == (matching[0] if matching else None)
            if entry is not None:
                model.kept.remove(entry)

    @rule(search=searches, key=keys)
    def clear_keys(self, search: SearchOrder, key: bytes) -> None:
        model = self.models["volatile", Order.KEYED]
        gone = model.matching(search, key)
        assert self.queue("volatile", Order.KEYED).clear_keys(search, key) == len(gone)
        model.kept = [entry for entry in model.kept if entry not in gone]

    @rule(half=st.sampled_from(["volatile", "durable"]), order=st.sampled_from(Order))
    def clear(self, half: str, order: Order) -> None:
        went = len(self.models[half, order].kept)
        assert self.change(half, order, lambda queue: queue.clear()) == went
        self.models[half, order].kept = []

    @rule(half=st.sampled_from(["volatile", "durable"]), order=st.sampled_from(Order))
    def drop(self, half: str, order: Order) -> None:
        owner: Any = getattr(self.store, half)
        owner.drop(self.queue(half, order))
        assert owner.queue(order.name.encode()) is None
        self.models[half, order].kept = []

    @rule(half=st.sampled_from(["volatile", "durable"]), order=st.sampled_from(Order), reverse=st.booleans(),
          skip=st.integers(0, 60), limit=st.one_of(st.none(), st.integers(0, 60)))  # fmt: skip
    def look(self, half: str, order: Order, reverse: bool, skip: int, limit: int | None) -> None:
        queue = self.queue(half, order)
        expected = self.models[half, order].in_order()[:: -1 if reverse else 1][skip:][:limit]
        assert list(queue.entries(reverse=reverse, skip=skip, limit=limit)) == expected
        order_now = self.models[half, order].in_order()
        assert queue.peek(skip) == (order_now[skip] if skip < len(order_now) else None)

    @rule(half=st.sampled_from(["volatile", "durable"]), search=searches, key=keys)
    def search(self, half: str, search: SearchOrder, key: bytes) -> None:
        expected = self.models[half, Order.KEYED].matching(search, key)
        assert list(self.queue(half, Order.KEYED).search(search, key)) == expected
        assert self.queue(half, Order.KEYED).find(search, key) == (expected[0] if expected else None)

    @rule(order=st.sampled_from([Order.FIFO]), size=st.integers(1, 200))
    def thrown_away(self, order: Order, size: int) -> None:
        work = self.queue("durable", order).work()
        work.put(bytes(size))
        work.take()
        work.take_own()

    @rule(reads=st.integers(0, 5), puts=st.integers(0, 5))
    def two_works_in_one_commit(self, reads: int, puts: int) -> None:
        queue, model = self.queue("durable", Order.FIFO), self.models["durable", Order.FIFO]
        reader, writer = queue.work(), queue.work()
        entries = [Entry(self.entry(Order.FIFO, 20, b"", b"").data) for _ in range(puts)]
        got = [reader.take_entry() for _ in range(reads)]
        for entry in entries:
            writer.put(entry.data)
        self.store.durable.commit((reader, writer))
        assert got == [model.take() for _ in range(reads)]
        for entry in entries:
            model.put(entry)

    @rule()
    def write_out(self) -> None:
        self.store.volatile.write_out()

    @rule(clean=st.booleans())
    @precondition(lambda self: self.serial % 3 == 0)
    def reopen(self, clean: bool) -> None:
        if not clean:
            self.store.volatile.write_out()  # what is on the disk outlives the process
        self.store.close(clean=clean)
        self.store = Store(self.path, memory_bytes=3000)
        assert self.store.closed_clean is clean

    @invariant()
    def counts(self) -> None:
        for (half, order), model in self.models.items():
            queue = self.queue(half, order)
            assert queue.count == len(model.kept)
            assert queue.data_bytes == sum(len(entry.data) for entry in model.kept)


Queues.TestCase.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestQueues = Queues.TestCase


@pytest.mark.slow
class TestQueuesLong(Queues.TestCase):  # type: ignore[name-defined]
    """The same for longer."""

    settings = settings(
        max_examples=1500, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
    )


halves = st.sampled_from(["volatile", "roomy", "durable"])


class KeyedPages(RuleBasedStateMachine):
    """Pages of KEYED queues, one after another while entries come and go: a position that was looked up before is not
    where it was. One volatile queue overflows to the disk and comes back from there, the other one stays in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.place = TemporaryDirectory()
        self.store = Store(Path(self.place.name) / "store", memory_bytes=3000)
        self.roomy = Store(Path(self.place.name) / "roomy")
        halves: Any = {"volatile": self.store.volatile, "roomy": self.roomy.volatile, "durable": self.store.durable}
        self.queues = {half: owner.create_queue(b"Q", Order.KEYED, 2) for half, owner in halves.items()}
        self.models = {half: Model(Order.KEYED) for half in halves}
        self.serial = 0
        for half in halves:
            self.put(half, 20, list(range(0, 200, 10)), 100)

    def teardown(self) -> None:
        self.store.close(clean=False)
        self.roomy.close(clean=False)
        self.place.cleanup()

    def change(self, half: str, what: Any) -> Any:
        if half != "durable":
            return what(self.queues[half])
        work = self.queues[half].work()
        result = what(work)
        self.store.durable.commit((work,))
        return result

    @rule(half=halves, size=st.sampled_from([20, 900]),
          numbers=st.lists(st.integers(0, 199), min_size=1, max_size=12))  # fmt: skip
    def put_some(self, half: str, size: int, numbers: list[int]) -> None:
        self.put(half, size, numbers, size)

    def put(self, half: str, size: int, numbers: list[int], more: int) -> None:
        entries = []
        for number in numbers:
            self.serial += 1
            entries.append(
                Entry((b"%d." % self.serial).ljust(size + more, b"x"), b"%c%c" % (number, 0), b"", self.serial)
            )
        self.change(half, lambda queue: [queue.put_entry(entry) for entry in entries])
        for entry in entries:
            self.models[half].put(entry)

    @rule(half=halves, at=st.integers(0, 20), size=st.sampled_from([20, 900]))
    def put_back_some(self, half: str, at: int, size: int) -> None:
        """Two with the key of an entry that is there: in front of it, the second one first."""
        model = self.models[half]
        if model.kept:
            key = model.kept[at % len(model.kept)].key
            for _ in range(2):
                self.serial += 1
                entry = Entry((b"%d." % self.serial).ljust(size, b"x"), key, b"", self.serial)
                self.change(half, lambda queue, entry=entry: queue.put_back(entry))
                model.put_back(entry)

    @rule(half=halves, number=st.integers(0, 199), search=searches,
          many=st.sampled_from([1, 1, 12]))  # fmt: skip
    def take_by_key(self, half: str, number: int, search: SearchOrder, many: int) -> None:
        model, key = self.models[half], b"%c%c" % (number, 0)
        for entry in self.change(half, lambda queue: [queue.take_key(search, key) for _ in range(many)]):
            matching = model.matching(search, key)
            assert entry == (matching[0] if matching else None)
            if entry is not None:
                model.kept.remove(entry)

    @rule(half=halves, reverse=st.booleans(), skip=st.integers(0, 40),
          limit=st.sampled_from([1, 2, 200]))  # fmt: skip
    def page(self, half: str, reverse: bool, skip: int, limit: int) -> None:
        expected = self.models[half].in_order()[:: -1 if reverse else 1][skip:][:limit]
        assert list(self.queues[half].entries(reverse=reverse, skip=skip, limit=limit)) == expected

    @rule(half=halves, number=st.integers(0, 199), search=searches,
          skip=st.integers(0, 20))  # fmt: skip
    def page_of_a_search(self, half: str, number: int, search: SearchOrder, skip: int) -> None:
        key = b"%c%c" % (number, 0)
        assert list(self.queues[half].search(search, key, skip=skip)) == self.models[half].matching(search, key)[skip:]

    @rule(half=st.sampled_from(["volatile", "roomy"]), number=st.integers(0, 199), search=searches)
    def clear_some(self, half: str, number: int, search: SearchOrder) -> None:
        model, key = self.models[half], b"%c%c" % (number, 0)
        gone = model.matching(search, key)
        if len(gone) < 12:
            assert self.queues[half].clear_keys(search, key) == len(gone)
            model.kept = [each for each in model.kept if each not in gone]

    @rule()
    def write_out(self) -> None:
        self.store.volatile.write_out()

    @invariant()
    def counts(self) -> None:
        for half, model in self.models.items():
            assert self.queues[half].count == len(model.kept)
            assert self.queues[half].data_bytes == sum(len(entry.data) for entry in model.kept)
            if self.serial % 2:  # a look may change what is remembered, so there are steps without
                assert list(self.queues[half].entries()) == model.in_order()


KeyedPages.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a mistake is told at once, by the steps that have shown it
)
TestKeyedPages = KeyedPages.TestCase
