"""Whatever is raised at whatever line of the store, what was asked for happened or did not.

An exception is raised at each line of each operation in turn, until the operation runs through. After each, the queue
must hold what the model held before or what it holds afterwards; the run goes on from there, so that what an interrupt
leaves behind meets the next operation too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tdqsim.core.store
from tdqsim.core.store import CommitRequest, Entry, Order, SearchOrder, Store
from tdqsim.errors import StoreFull
from tests.interrupts import RaiseAt

HOME = str(Path(tdqsim.core.store.__file__).parent)


KINDS = [
    KeyboardInterrupt,
    pytest.param(MemoryError, marks=pytest.mark.slow),
    pytest.param(RecursionError, marks=pytest.mark.slow),
]
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # a file closed by the collector


def at_each_line(
    operation: Callable[[], object],
    seen: Callable[[], object],
    options: Callable[[Any], list[Any]],
    kind: type[BaseException],
) -> int:
    """Raise at each line of an operation; ``options`` says what may be seen after it, given what was seen before."""
    places = set()
    line = 0
    after = seen()
    while True:
        line += 1
        before = after  # nothing happens between two rounds
        injector = RaiseAt(line, kind, HOME)
        try:
            with injector:
                operation()
        except kind:
            assert injector.where is not None
        if injector.where is None:
            assert seen() == options(before)[-1], "nothing was raised, and it did not happen"
            return len(places)
        places.add(injector.where)
        after = seen()
        assert after in [before, *options(before)], f"neither before nor after: raised at {injector.where}"


# -- volatile ---------------------------------------------------------------------------------------------------------


def volatile(store: Store, order: Order, many: int) -> Any:
    queue = store.volatile.create_queue(b"Q", order, 2 if order is Order.KEYED else 0)
    for number in range(many):
        if order is Order.KEYED:
            queue.put_entry(Entry(b"%d" % number, b"%02d" % (number % 50)))
        else:
            queue.put(b"%d" % number)
    return queue


def data(queue: Any) -> list[bytes]:
    seen = [entry.data for entry in queue.entries()]
    assert queue.count == len(seen)
    return seen


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> type[BaseException]:
    return request.param


@pytest.mark.parametrize("memory", [1 << 20, 2000], ids=["in memory", "overflowing"])
@pytest.mark.parametrize("order", [Order.FIFO, Order.LIFO])
def test_volatile_put_and_take(place: Path, order: Order, memory: int, kind: type[BaseException]) -> None:
    with Store(place, memory_bytes=memory) as store:
        queue = volatile(store, order, 16)
        front = order is Order.LIFO
        serial = iter(range(100_000))

        def more() -> None:
            queue.put(b"new %d" % next(serial))

        def put_options(before: list[bytes]) -> list[list[bytes]]:
            now = data(queue)
            added = [each for each in now if each not in before]
            assert len(added) <= 1
            return [added + before if front else before + added] if added else [before]

        for _ in range(16):
            at_each_line(more, lambda: data(queue), put_options, kind)
        for _ in range(20):
            at_each_line(lambda: queue.take(), lambda: data(queue), lambda before: [before[1:]], kind)  # noqa: PLW0108 - its class changes, and its methods with it
        for number in range(5):
            at_each_line(
                lambda number=number: queue.put_back(b"back %d" % number), lambda: data(queue),
                lambda before, number=number: [[b"back %d" % number, *before]], kind,
            )  # fmt: skip


@pytest.mark.parametrize(
    "memory", [pytest.param(1 << 20, marks=pytest.mark.slow), 2000], ids=["in memory", "overflowing"]
)
@pytest.mark.parametrize("order", Order)
def test_volatile_overflow_write_out_and_clear(
    place: Path, order: Order, memory: int, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tdqsim.core.store._keyed._MOVED", 15)  # so that keys are moved in parts
    with Store(place, memory_bytes=memory) as store:
        queue = volatile(store, order, 40)
        assert at_each_line(store.volatile.make_room, lambda: data(queue), lambda before: [before], kind)
        assert at_each_line(store.volatile.write_out, lambda: data(queue), lambda before: [before], kind)
        for _ in range(3):
            at_each_line(lambda: queue.take(), lambda: data(queue), lambda before: [before[1:]], kind)  # noqa: PLW0108 - its class changes, and its methods with it
        assert at_each_line(store.volatile.write_out, lambda: data(queue), lambda before: [before], kind)
        assert at_each_line(lambda: queue.clear(), lambda: data(queue), lambda _: [[]], kind)  # noqa: PLW0108 - its class changes, and its methods with it


@pytest.mark.parametrize("memory", [1 << 20, 20_000], ids=["in memory", "on disk"])
@pytest.mark.parametrize(
    "search",
    [
        SearchOrder.EQ,
        SearchOrder.GE,
        *(pytest.param(SearchOrder[each], marks=pytest.mark.slow) for each in ("NE", "LT", "LE", "GT")),
    ],
)
def test_volatile_keyed(place: Path, search: SearchOrder, memory: int, kind: type[BaseException]) -> None:
    with Store(place, memory_bytes=memory) as store:
        queue = volatile(store, Order.KEYED, 50)

        latest: list[tuple[bytes, bytes]] = []

        def seen() -> list[tuple[bytes, bytes]]:
            found = [(entry.key, entry.data) for entry in queue.entries()]
            assert queue.count == len(found)
            latest[:] = found
            return found

        def without_first(before: list[tuple[bytes, bytes]]) -> list[Any]:
            found = [pair for pair in before if matches(search, pair[0], b"25")]
            return [[pair for pair in before if pair != found[0]] if found else before]

        for _ in range(4):
            at_each_line(lambda: queue.take_key(search, b"25"), seen, without_first, kind)
        for number in range(4):
            pair = (b"25", b"new %d" % number)

            def with_pair(before: list[Any], pair: Any = pair) -> list[Any]:
                return [before if pair in before else sorted([*before, pair], key=lambda each: each[0])]

            at_each_line(
                lambda pair=pair: pair in latest or queue.put_entry(Entry(pair[1], pair[0])), seen, with_pair, kind
            )
        assert at_each_line(seen, seen, lambda before: [before], kind)
        at_each_line(
            lambda: queue.clear_keys(search, b"25"), seen,
            lambda before: [[pair for pair in before if not matches(search, pair[0], b"25")]], kind,
        )  # fmt: skip


def test_an_entry_put_after_an_interrupted_move_of_a_keyed_queue_is_kept(
    place: Path, kind: type[BaseException]
) -> None:
    with Store(place) as store:
        queue = volatile(store, Order.KEYED, 4)
        store.volatile.write_out()  # opens the file

        def seen() -> list[bytes]:
            queue.put_entry(Entry(b"new", b"zz"))
            found = data(queue)
            assert queue.take_key(SearchOrder.EQ, b"zz") == Entry(b"new", b"zz")
            return found

        assert at_each_line(store.volatile.write_out, seen, lambda before: [before], kind)


def matches(search: SearchOrder, key: bytes, wanted: bytes) -> bool:
    return {
        SearchOrder.EQ: key == wanted, SearchOrder.NE: key != wanted, SearchOrder.LT: key < wanted,
        SearchOrder.LE: key <= wanted, SearchOrder.GT: key > wanted, SearchOrder.GE: key >= wanted,
    }[search]  # fmt: skip


# -- durable ----------------------------------------------------------------------------------------------------------


class Told:
    """An owner that counts nothing and remembers that it was told."""

    def __init__(self) -> None:
        self.state = "INFLIGHT"

    def committed(self) -> None:
        self.state = "COMMITTED"


@pytest.mark.parametrize("durability", ["process", pytest.param("power", marks=pytest.mark.slow)])
@pytest.mark.parametrize("order", Order)
def test_commit(place: Path, order: Order, durability: Any, kind: type[BaseException]) -> None:
    with Store(place, durability=durability) as store:
        durable = store.durable
        queues = [durable.create_queue(name, order, 2 if order is Order.KEYED else 0) for name in (b"A", b"B")]
        key = b"kk" if order is Order.KEYED else b""
        serial = iter(range(100_000))

        def seen() -> list[Any]:
            durable.settle()
            found = [[entry.data for entry in queue.entries()] for queue in queues]
            assert [queue.count for queue in queues] == [len(each) for each in found]
            return [*found, durable.get_meta(b"meta")]

        def unit_of_work(long: int) -> tuple[list[Any], Callable[[], None]]:
            """What is seen after it, and the unit of work."""
            one, two = queues[0].work(), queues[1].work()
            new = [b"%d" % next(serial), (b"%d." % next(serial)).ljust(long, b"x")]
            now = seen()
            for work, data in ((one, new[0]), (one, new[1]), (two, new[1])):
                if order is Order.KEYED:
                    work.put_entry(Entry(data, key))
                else:
                    work.put(data)
            one.take()
            left = now[0][1:]
            after = [new[::-1] + left if order is Order.LIFO else left + new]
            after.append([new[1], *now[1]] if order is Order.LIFO else [*now[1], new[1]])
            owner = Told()

            def commit() -> None:
                if owner.state == "INFLIGHT":
                    durable.commit((one, two), {b"meta": new[0]}, owner)

            expected.append(([*after, new[0]], owner))
            return [*after, new[0]], commit

        expected: list[Any] = []
        for long in (10, 10, 3000):
            after, commit = unit_of_work(long)
            at_each_line(commit, seen, lambda _, after=after: [after], kind)
            assert expected[-1][1].state == "COMMITTED"
        for queue in queues:
            work = queue.work()
            work.clear()
            index = queues.index(queue)
            done = Told()
            at_each_line(
                lambda work=work, done=done: done.state == "COMMITTED" or durable.commit((work,), owner=done), seen,
                lambda before, index=index: [[[] if at == index else each for at, each in enumerate(before)]], kind,
            )  # fmt: skip
        final = seen()
    with Store(place) as store:
        assert [[entry.data for entry in queue.entries()] for queue in store.durable.queues()] == final[:2]


def test_work_put_and_take(place: Path, kind: type[BaseException]) -> None:
    with Store(place) as store:
        queue = store.durable.create_queue(b"A")
        work = queue.work()
        for number in range(300):
            work.put(b"%d" % number)
        store.durable.commit((work,))
        work = queue.work()
        serial = iter(range(100_000))
        for _ in range(3):
            at_each_line(work.take, lambda: work.reads, lambda before: [before + 1], kind)
            at_each_line(
                lambda: work.put(b"n%d" % next(serial)), lambda: len(work.items), lambda before: [before + 1], kind
            )
            at_each_line(work.take_own, lambda: work.own, lambda before: [min(before + 1, len(work.items))], kind)
        reads, written = work.reads, work.items[work.own :]
        store.durable.commit((work,))
        kept = [entry.data for entry in queue.entries()]
        assert kept == [b"%d" % number for number in range(reads, 300)] + written
        assert queue.data_bytes == sum(map(len, kept))


def test_growth(place: Path, kind: type[BaseException]) -> None:
    """Growing the file at a put: the put is made or not, and what it holds is not lost."""
    with Store(place) as store:
        queue = store.durable.create_queue(b"A")
        works = [queue.work() for _ in range(40)]
        for work in works:
            work.put(bytes(1_000_000))
            at_each_line(
                lambda work=work: len(work.items) > 1 or work.put(bytes(1000)), lambda work=work: len(work.items),
                lambda _: [2], kind,
            )  # fmt: skip
        store.durable.commit(works)
        assert queue.count == 80


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)], ids=["some lines", "all"])
def test_close_and_reopening(place: Path, kind: type[BaseException], step: int) -> None:
    """An interrupted close leaves a store that was closed, cleanly or not; what is committed is there."""
    line, clean = 1 - step, 0
    with Store(place) as store:
        work = store.durable.create_queue(b"D").work()
        work.put(b"durable")
        store.durable.commit((work,))
    while True:
        line += step
        store = Store(place)
        queue = store.volatile.queue(b"V") or store.volatile.create_queue(b"V")
        queue.clear()
        for number in range(3):
            queue.put(b"%d" % number)
        injector = RaiseAt(line, kind, HOME)
        try:
            with injector:
                store.close()
        except kind:
            pass
        store.close()
        del store, queue
        with Store(place) as again:
            kept = again.durable.queue(b"D")
            assert kept is not None
            assert [entry.data for entry in kept.entries()] == [b"durable"]
            clean += again.closed_clean
            if again.closed_clean:
                found = again.volatile.queue(b"V")
                assert found is not None
                assert data(found) == [b"0", b"1", b"2"]
            else:
                again.discard_volatile()
        if injector.where is None:
            break
    assert clean > 1


@pytest.mark.slow
def test_opening(place: Path, kind: type[BaseException]) -> None:
    """An interrupted opening leaves a store that can be opened."""
    Store(place).close()
    line = 0
    while True:
        line += 1
        injector = RaiseAt(line, kind, HOME)
        try:
            with injector:
                store = Store(place)
            store.close()
        except kind:
            pass
        if injector.where is None:
            break
        Store(place).close()
    assert line > 100


@pytest.mark.slow
def test_making(tmp_path: Path, kind: type[BaseException]) -> None:
    """An interrupted making of a store leaves a place where one can be made."""
    line = 0
    while True:
        line += 1
        place = tmp_path / str(line)
        injector = RaiseAt(line, kind, HOME)
        store = None
        try:
            with injector:
                store = Store(place)
                store.close()
        except kind:
            pass
        if store is not None:
            store.close()
        with Store(place) as store:
            assert list(store.durable.queues()) == []
        if injector.where is None:
            break
    assert line > 100


def test_a_request_is_not_told_why_an_earlier_commit_was_refused(place: Path) -> None:
    """A commit without room, interrupted at each line in turn, and a second one that is interrupted by its owner."""

    def interrupt(moment: str) -> None:
        if moment == "before_commit":
            raise KeyboardInterrupt

    with Store(place) as store:
        durable = store.durable
        durable.limit_bytes = durable.statistics()["reserved_bytes"]
        line, raised = 0, True
        while raised:
            line += 1
            injector = RaiseAt(line, KeyboardInterrupt, HOME)
            with suppress(KeyboardInterrupt, StoreFull), injector:
                durable.commit((), {b"big": bytes(30_000_000)})
            raised = injector.where is not None
            request = CommitRequest((), {b"small": b"1"}, Told())
            durable.waiting.append(request)
            durable.fault = interrupt
            with pytest.raises(KeyboardInterrupt):
                durable.commit()
            assert (request.pending, request.error) == (True, None), injector.where
            durable.fault = None
            durable.commit()
            assert (request.pending, request.error) == (False, None), injector.where
        assert line > 30
