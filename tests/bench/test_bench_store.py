"""What the store costs: ratios to an empty Python call, and to bare LMDB doing the same work, in the same run.

The work of bare LMDB is what anybody who keeps a queue in it must do: put an entry, read and check one and delete it,
put the queue's record, all with checksums, and commit. The bars are the store's share of those of whole commands, which
are asserted where the commands are.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from zlib import crc32

import lmdb
import pytest

from tdqsim.core.store import Durability, DurableQueue, Entry, Order, SearchOrder, Store
from tests.bench._ratio import compare, report
from tests.bench._table import hold

pytestmark = pytest.mark.bench
DATA = b"x" * 100
KEY = Struct(">QQ").pack
ENTRY = Struct(">BQI")
RECORD = Struct(">QQQQI").pack
Batch = Callable[[int], None]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as opened:
        yield opened


class Bare:
    """A queue on LMDB alone, an entry to a record."""

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self.env = lmdb.open(str(path), map_size=1 << 34, sync=sync, metasync=sync, readahead=False, meminit=False)
        self.first, self.last = 1, 0
        self.put(100)

    def _put(self, txn: lmdb.Transaction) -> None:
        self.last += 1
        key = KEY(1, self.last)
        txn.put(key, ENTRY.pack(1, 0, crc32(DATA, crc32(key))) + DATA)

    def _take(self, txn: lmdb.Transaction) -> None:
        key = KEY(1, self.first)
        value = txn.get(key)
        assert crc32(value[13:], crc32(key)) == ENTRY.unpack_from(value)[2]
        txn.delete(key)
        self.first += 1

    def _record(self, txn: lmdb.Transaction) -> None:
        record = RECORD(1, self.first, self.last, 100, 0)
        txn.put(b"queue", record + crc32(record).to_bytes(4, "big"))
        txn.commit()

    def put(self, many: int) -> None:
        """A commit of so many puts."""
        txn = self.env.begin(write=True)
        for _ in range(many):
            self._put(txn)
        self._record(txn)

    def pairs(self, many: int = 1) -> Batch:
        """Commits of so many takes and puts."""

        def run(n: int) -> None:
            for _ in range(n):
                txn = self.env.begin(write=True)
                for _ in range(many):
                    self._take(txn)
                    self._put(txn)
                self._record(txn)

        return run

    def two_commits(self, n: int) -> None:
        """A commit to put and one to take."""
        for _ in range(n):
            self.put(1)
            txn = self.env.begin(write=True)
            self._take(txn)
            self._record(txn)


def units_of_work(store: Store, queues: list[DurableQueue], many: int = 1) -> Batch:
    """Units of work that take from one queue and put on the other, or the same; then the other way."""

    def run(n: int) -> None:
        for _ in range(n):
            queues.reverse()
            works = [queue.work() for queue in queues]
            for _ in range(many):
                works[0].take()
            for _ in range(many):
                works[-1].put(DATA)
            store.durable.commit(works)

    return run


def immediate(store: Store, queue: DurableQueue) -> Batch:
    """A commit to put and one to take."""

    def run(n: int) -> None:
        for _ in range(n):
            work = queue.work()
            work.put(DATA)
            store.durable.commit((work,))
            work = queue.work()
            work.take()
            store.durable.commit((work,))

    return run


def filled(store: Store, name: bytes, many: int) -> DurableQueue:
    queue = store.durable.create_queue(name)
    work = queue.work()
    for _ in range(many):
        work.put(DATA)
    store.durable.commit((work,))
    return queue


def test_volatile_pairs(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", memory_bytes=1 << 30)
    shallow, deep = store.volatile.create_queue(b"S"), store.volatile.create_queue(b"D")
    for _ in range(100_000):
        deep.put(DATA)
    lifo = store.volatile.create_queue(b"L", Order.LIFO)
    keyed = {search: store.volatile.create_queue(search.name.encode(), Order.KEYED, 8) for search in SearchOrder}
    for queue in keyed.values():
        for number in range(10_000):
            queue.put_entry(Entry(DATA, b"%08d" % number))
    keys = [b"%08d" % (number * 7919 % 10_000) for number in range(10_000)]

    def plain(queue: object) -> Batch:
        def run(n: int) -> None:
            for _ in range(n):
                queue.put(DATA)  # type: ignore[attr-defined]
                queue.take()  # type: ignore[attr-defined]

        return run

    def by_key(search: SearchOrder) -> Batch:
        queue = keyed[search]

        def run(n: int) -> None:
            for number in range(n):
                key = keys[number % 10_000]
                queue.take_key(search, key)
                queue.put_entry(Entry(DATA, key))

        return run

    costs = compare(
        {
            "put + take": plain(shallow), "100 thousand deep": plain(deep), "LIFO": plain(lifo),
            "KEYED, EQ, among 10 thousand": by_key(SearchOrder.EQ), "KEYED, GE, among 10 thousand": by_key(SearchOrder.GE),
        },
        n=5_000, cpu=True,
    )  # fmt: skip
    report("volatile queues, in empty calls", costs)
    bars = {
        "put + take": 20, "100 thousand deep": 35, "LIFO": 20, "KEYED, EQ, among 10 thousand": 140,
        "KEYED, GE, among 10 thousand": 700,
    }  # fmt: skip
    for what, bar in bars.items():
        hold(bar, costs[what].ratio, f"the store: volatile, a pair, {what}, in empty calls")


def test_units_of_work(store: Store, tmp_path: Path) -> None:
    bare = Bare(tmp_path / "bare")
    one, two, three, many = (filled(store, name, 100) for name in (b"1", b"2", b"3", b"4"))
    costs = compare(
        {
            "bare LMDB": bare.pairs(), "take + put + commit": units_of_work(store, [one]),
            "two queues": units_of_work(store, [two, three]), "bare LMDB, two commits": bare.two_commits,
            "put + commit, take + commit": immediate(store, one),
        },
        n=1_500, cpu=True,
    )  # fmt: skip
    report("units of work, in empty calls", costs)
    base = costs["bare LMDB"].ratio
    hold(1.8, costs["take + put + commit"].ratio / base, "the store: take + put + commit, to bare LMDB")
    hold(2.4, costs["two queues"].ratio / base, "the store: take + put + commit, two queues, to bare LMDB")
    immediately = costs["put + commit, take + commit"].ratio / costs["bare LMDB, two commits"].ratio
    hold(1.8, immediately, "the store: put + commit, take + commit, to bare LMDB")
    costs = compare(
        {"bare LMDB, 50 + 50": bare.pairs(50), "50 takes + 50 puts + commit": units_of_work(store, [many], 50)},
        n=60, cpu=True,
    )  # fmt: skip
    report("50 + 50 records to a unit of work, in empty calls", costs)
    together = costs["50 takes + 50 puts + commit"].ratio / costs["bare LMDB, 50 + 50"].ratio
    hold(1.5, together, "the store: 50 takes + 50 puts + commit, to bare LMDB")


@pytest.mark.parametrize("many", [1, 100])
def test_units_of_work_that_survive_a_loss_of_power(tmp_path: Path, many: int) -> None:
    durability: Durability = "power"
    with Store(tmp_path / "store", durability=durability) as store:
        bare = Bare(tmp_path / "bare", sync=True)
        queue = filled(store, b"Q", 200)
        costs = compare(
            {"bare LMDB, synced": bare.pairs(many), "take + put + commit": units_of_work(store, [queue], many)}, n=20
        )
        report(f"power, {many} records to a unit of work", costs)
        seen = costs["take + put + commit"].ratio / costs["bare LMDB, synced"].ratio
        what = f"the store: power, {many} + {many} records and commit, to bare synced LMDB, by the wall"
        hold(1.7 if many == 1 else 1.5, seen, what)


OVERFLOW = """
import json, sys
from pathlib import Path
from time import process_time
from tdqsim.core.store import Store
def memory():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon")) << 10
def empty():
    pass
def unit():
    start = process_time()
    for _ in range(1_000_000):
        empty()
    return (process_time() - start) / 1_000_000
many, data = int(sys.argv[2]), b"x" * 92
with Store(Path(sys.argv[1])) as store:
    queue = store.volatile.create_queue(b"Q")
    before, most = memory(), 0
    calls, took = [unit()], []
    for step in ("put", "take"):
        start = process_time()
        for number in range(many):
            if step == "put":
                queue.put(b"%08d" % number + data)
            elif number % 100_000 == 0:
                assert queue.take()[:8] == b"%08d" % number
            else:
                queue.take()
            if number % 50_000 == 0:
                most = max(most, memory())
        took.append((process_time() - start) / many)
        calls.append(unit())
    assert queue.count == 0
    call = sorted(calls)[1]
print(json.dumps([took[0] / call, took[1] / call, (most - before) / 2**20]))
"""


@pytest.mark.parametrize("many", [1_000_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_more_than_memory_holds(tmp_path: Path, many: int) -> None:
    command = [sys.executable, "-c", OVERFLOW, str(tmp_path / "store"), str(many)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    put, take, grown = (float(word) for word in done.stdout.strip("[]\n").split(","))
    print(f"\n{many:,} records: put {put:.1f}, take {take:.1f} empty calls; +{grown:.1f} MB")
    hold(90, put + take, f"the store: {many:,} records put, then taken: a pair, in empty calls")
    hold(64, grown, f"the store: {many:,} records: anonymous memory, MB")
