"""What the store costs: ratios to an empty Python call, to bare LMDB and to SQLite in the same run, and counts."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from time import perf_counter

import lmdb
import pytest

from tdqsim.core.store import Order, SearchOrder, Store
from tests.bench._ratio import compare, report

pytestmark = pytest.mark.bench
KEY = Struct(">QQ").pack


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as opened:
        yield opened


class Bare:
    """LMDB alone: what any store on it must cost."""

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self.env = lmdb.open(str(path), map_size=1 << 34, sync=sync, metasync=sync)
        self.number = 0

    def pairs(self, data: bytes):
        def run(n: int) -> None:
            with self.env.begin(write=True) as txn:
                for number in range(n):
                    key = KEY(1 << 63, number)
                    txn.put(key, data)
                    txn.pop(key)

        return run

    def commits(self, n: int) -> None:
        for _ in range(n):
            self.number += 1
            with self.env.begin(write=True) as txn:
                txn.put(KEY(1 << 63, self.number), b"x" * 100)
                if self.number > 10:
                    txn.pop(KEY(1 << 63, self.number - 10))


def pairs(queue, data):
    def run(n: int) -> None:
        put, take = queue.put, queue.take
        for _ in range(n):
            put(data)
            take()

    return run


def sqlite_pairs(n: int) -> None:
    base = sqlite3.connect(":memory:")
    base.execute("create table q (seq integer primary key, data blob)")
    for number in range(n):
        base.execute("insert into q values (?, ?)", (number, b"x" * 100))
        base.execute("select data from q where seq = ?", (number,)).fetchone()
        base.execute("delete from q where seq = ?", (number,))


def test_put_and_take(store, tmp_path):
    bare = Bare(tmp_path / "bare")
    queue = store.volatile.create_queue(b"Q")
    lifo = store.volatile.create_queue(b"L", order=Order.LIFO)
    small, large = b"x" * 100, b"x" * 4096
    costs = compare(
        {
            "put + take, 100 bytes": pairs(queue, small),
            "bare LMDB, one transaction, 100 bytes": bare.pairs(small),
            "put + take, 4096 bytes": pairs(queue, large),
            "bare LMDB, one transaction, 4096 bytes": bare.pairs(large),
            "put + take, LIFO, 100 bytes": pairs(lifo, small),
            "SQLite in memory, 100 bytes": sqlite_pairs,
        },
        n=3000,
    )
    report("put and take in the volatile environment", costs)
    assert costs["put + take, 100 bytes"].ratio < costs["SQLite in memory, 100 bytes"].ratio


def test_the_cost_does_not_grow_with_the_queue(store):
    small = store.volatile.create_queue(b"SMALL")
    large = store.volatile.create_queue(b"LARGE")
    for queue, entries in ((small, 10_000), (large, 1_000_000)):
        for _ in range(entries):
            queue.put(b"x" * 100)
    data = b"x" * 100
    costs = compare({"10 thousand queued": pairs(small, data), "1 million queued": pairs(large, data)}, n=20_000)
    report("put + take with many queued", costs)


def test_a_keyed_find_among_many(store):
    finds = {}
    for entries in (1000, 1_000_000):
        queue = store.volatile.create_queue(b"%d" % entries, order=Order.KEYED, key_length=8)
        for number in range(entries):
            queue.put(b"x" * 20, b"%08d" % (number * 7919 % entries))

        def find(n: int, queue=queue, entries=entries) -> None:
            for number in range(n):
                queue.find(SearchOrder.GE, b"%08d" % (number * 104729 % entries))

        finds[f"find GE among {entries}"] = find
    report("keyed find", compare(finds, n=3000))


@pytest.mark.parametrize("durability", ["process", "power"])
def test_a_commit(tmp_path, durability):
    bare = Bare(tmp_path / "bare", sync=durability == "power")
    with Store(tmp_path / "store", durability=durability) as store:
        queue = store.durable.create_queue(b"Q")
        for _ in range(10):
            queue.put(b"x" * 100)
        for _ in range(100_000):
            store.volatile.queue(b"V") or store.volatile.create_queue(b"V")
            store.volatile.queue(b"V").put(b"volatile traffic before it")

        def commits(n: int) -> None:
            for _ in range(n):
                queue.put(b"x" * 100)
                queue.take()
                store.durable.commit()

        costs = compare(
            {"one put, one take, commit": commits, "bare LMDB, the same": bare.commits},
            n=300 if durability == "power" else 3000,
        )
        report(f"a commit with durability {durability}", costs)


SYNCS = """
import sys
from pathlib import Path
from tdqsim.core.store import Store
store = Store(Path(sys.argv[1]), durability="power")
queue = store.durable.create_queue(b"Q")
store.durable.commit()
print("begin", flush=True)
for _ in range(100):
    queue.put(b"x"); queue.put(b"y"); queue.take(); store.durable.commit()
print("end", flush=True)
store.close(clean=False)
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace counts the syncs")
def test_one_sync_for_one_commit(tmp_path):
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-o", str(trace), "-e", "trace=fsync,fdatasync,msync,sync_file_range,write"]
    subprocess.run([*command, sys.executable, "-c", SYNCS, str(tmp_path / "store")], check=True, capture_output=True)
    lines = trace.read_text().split('"begin')[1].split('"end')[0].splitlines()
    syncs = sum("sync" in line for line in lines)
    print(f"\nsyncs in 100 commits with durability power: {syncs}")
    assert syncs == 100


REOPEN = """
import sys
from pathlib import Path
from tdqsim.core.store import Store
store = Store(Path(sys.argv[1]))
queue = store.durable.create_queue(b"Q")
for number in range(1_000_000):
    queue.put(b"x" * 100)
    if number % 1000 == 999:
        store.durable.commit()
store.durable.commit()
store.close(clean=sys.argv[2] == "clean")
"""


@pytest.mark.parametrize("how", ["clean", "killed"])
def test_reopening_a_million_entries(tmp_path, how):
    place = tmp_path / "store"
    subprocess.run([sys.executable, "-c", REOPEN, str(place), how], check=True)
    start = perf_counter()
    with Store(place) as store:
        queue = store.durable.queue(b"Q")
        opened = perf_counter() - start
        assert queue.count == 1_000_000
        assert queue.take() == b"x" * 100
    print(f"\nreopened a million entries ({how}) in {opened * 1000:.1f} ms")


def test_many_queues(store):
    start = perf_counter()
    for number in range(100_000):
        store.durable.create_queue(b"QUEUE%06d" % number)
    store.durable.commit()
    created = perf_counter() - start
    start = perf_counter()
    assert sum(1 for _ in store.durable.queues()) == 100_000
    print(
        f"\n100,000 queues: {created * 10:.1f} us each to create, {(perf_counter() - start) * 10:.1f} us each to list"
    )
