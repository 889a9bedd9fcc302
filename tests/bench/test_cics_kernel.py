"""What the kernel of a region costs: requests, triggered tasks, units of work, growth and installing.

Everything is a ratio to an empty Python call, or to the same change made on LMDB directly, in the same run.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import lmdb
import pytest

from tdqsim.cics import Region, Task
from tdqsim.definitions import Definitions, define_tdqueue
from tdqsim.facts import Resp

from ._ratio import compare, report

pytestmark = pytest.mark.bench

RECORD = b"x" * 100
RECORD_4K = b"y" * 4000
QUEUES = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    define_tdqueue(name="LOG1", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="LOG2", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="TRGQ", type="INTRA", transid="TRIG", triggerlevel=1, atifacility="FILE"),
]


@pytest.fixture
def region() -> Iterator[Region]:
    with Region(QUEUES, supplied_queues=False, dfhintra={"control_intervals": 10_000_000}) as made:
        yield made


def pairs(task: Any, record: bytes) -> Callable[[int], None]:
    def batch(n: int) -> None:
        write, read = task.writeq_td, task.readq_td
        for _ in range(n):
            write("NOQ", record)
            read("NOQ")

    return batch


def pairs_in_a_started_task(region: Region) -> Callable[[int], None]:
    def batch(n: int) -> None:
        region.start(lambda task: pairs(task, RECORD)(n)).result()

    return batch


def test_a_pair_of_requests(region: Region) -> None:
    stored = region.store.volatile.create_queue(b"bench")

    def store(n: int) -> None:
        for _ in range(n):
            stored.put(RECORD)
            stored.take()

    task = region.task()
    costs = compare(
        {
            "the store alone, 100 bytes": store,
            "WRITEQ + READQ in a started task, 100 bytes": pairs_in_a_started_task(region),
            "WRITEQ + READQ in a block, 100 bytes": pairs(task, RECORD),
            "WRITEQ + READQ in a block, 4 KB": pairs(task, RECORD_4K),
            "WRITEQ + READQ on the region, 100 bytes": pairs(region, RECORD),
        },
        n=3000,
    )
    report("a pair of requests (at most 200 x; 4 KB 500 x)", costs)
    assert costs["WRITEQ + READQ in a started task, 100 bytes"].ratio <= 200
    assert costs["WRITEQ + READQ in a block, 4 KB"].ratio <= 500


def test_a_triggered_task(region: Region) -> None:
    def empty(_task: Task) -> None:
        """Does nothing; its end ends the cycle."""

    region.register("TRIG", empty)
    region.register("NONE", empty)

    def attach(n: int) -> None:
        for _ in range(n):
            region.start("NONE")
        region.dispatcher.run_ready()

    def triggered(n: int) -> None:
        def writer(task: Task) -> None:
            for _ in range(n):
                task.writeq_td("TRGQ", RECORD)
                task.suspend()

        region.start(writer).result()

    costs = compare({"attach, run, end": attach, "WRITEQ that triggers, attach, run, end": triggered}, n=500)
    report("a triggered task (at most 300 x)", costs)
    assert costs["attach, run, end"].ratio <= 300
    region.deleteq_td("TRGQ")


class BareLmdb:
    """The same changes as a unit of work's, on LMDB itself."""

    def __init__(self, path: Path, *, sync: bool) -> None:
        self.env = lmdb.open(str(path), map_size=1 << 30, sync=sync, metasync=sync)
        self.next = 0

    def move(self, n: int, each: int = 1) -> None:
        """Move records from one queue to another, so many in each transaction."""
        for _ in range(n):
            with self.env.begin(write=True) as txn:
                for _ in range(each):
                    self.next += 1
                    txn.put(b"b%016d" % self.next, RECORD)
                    txn.pop(b"a%016d" % self.next)
                    txn.put(b"a%016d" % (self.next + 1000), RECORD)
                    txn.pop(b"b%016d" % self.next)


def moves(region: Region, each: int = 1) -> Callable[[int], None]:
    """Read a record of one queue and write it to the other, and back, so many in each unit of work."""

    def batch(n: int) -> None:
        with region.task() as task:
            for _ in range(n // 2):
                for source, target in (("LOG1", "LOG2"), ("LOG2", "LOG1")):
                    for _ in range(each):
                        task.writeq_td(target, task.readq_td(source))
                    task.syncpoint()

    return batch


@pytest.mark.parametrize("durability", ["process", "power"])
@pytest.mark.parametrize("each", [1, 100])
def test_a_unit_of_work(tmp_path: Path, durability: Any, each: int) -> None:
    region = Region(QUEUES, supplied_queues=False, store=tmp_path / "store", durability=durability)
    region.seed("LOG1", [RECORD] * (each + 1))
    bare = BareLmdb(tmp_path / "bare", sync=durability == "power")
    with bare.env.begin(write=True) as txn:
        for number in range(1000):
            txn.put(b"a%016d" % (number + 1), RECORD)
    before = region.hardening.commits
    n = 40 if each == 1 else 4
    moved = moves(region, each)
    costs = compare({"a unit of work": moved}, n=n, rounds=7, reference=lambda k: bare.move(k, each), reference_n=n)
    commits = (region.hardening.commits - before) / (8 * n)
    report(f"{each} x (READQ + WRITEQ) a unit of work, durability {durability}: {commits:.2f} commits each", costs)
    assert commits == 1.0
    region.close()


def test_tasks_that_commit_together(tmp_path: Path) -> None:
    queues = [define_tdqueue(name=f"G{number:03d}", type="INTRA", recovstatus="LOGICAL") for number in range(100)]
    with Region(queues, supplied_queues=False, store=tmp_path / "store", durability="power") as region:
        before = region.hardening.commits
        for queue in queues:
            region.start(lambda task, name: task.writeq_td(name, RECORD), queue.name)
        region.run()
        print(f"\n100 units of work: {region.hardening.commits - before} commit")
        assert region.hardening.commits - before == 1


def test_backout_costs_its_own_unit_of_work(region: Region) -> None:
    def backed_out(size: int) -> Callable[[int], None]:
        def batch(n: int) -> None:
            with region.task() as task:
                for _ in range(n):
                    for _ in range(size):
                        task.readq_td("LOG1")
                    task.syncpoint_rollback()

        return batch

    region.seed("LOG1", [RECORD] * 1000)
    small = compare({"10 reads backed out": backed_out(10)}, n=50)["10 reads backed out"]
    region.seed("LOG1", [RECORD] * 100_000)
    large = compare({"10 reads backed out": backed_out(10)}, n=50)["10 reads backed out"]
    print(f"\n{small}\n{large}  on a queue a hundred times as long")
    assert large.ratio < 2 * small.ratio


def test_growth(region: Region) -> None:
    """Cost a pair with ten thousand and with a million records queued, and the process's memory."""
    task = region.task()

    def grow(count: int) -> None:
        write = task.writeq_td
        for _ in range(count):
            write("NOQ", RECORD)

    grow(10_000)
    short = compare({"pair": pairs(task, RECORD)}, n=3000)["pair"]
    grow(990_000)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    long = compare({"pair": pairs(task, RECORD)}, n=3000)["pair"]
    print(f"\n10 thousand queued {short}\n1 million queued   {long}\nratio {long.ratio / short.ratio:.2f}")
    print(f"peak resident memory {memory // 1024} MB, LMDB's map included")
    assert task.inquire_tdqueue("NOQ", "NUMITEMS").numitems == 1_000_000


def test_a_hundred_thousand_definitions() -> None:
    alphabet = "ABDEFGHIJKLMNOPQRSTUVWXYZ"
    names = [f"{a}{b}{number:02d}" for a in alphabet for b in alphabet + "0123456789C" for number in range(100)]
    begun = perf_counter()
    definitions = Definitions.of([define_tdqueue(name=name, type="INTRA") for name in names[:89_900]])
    defined = perf_counter()
    with Region(definitions, supplied_queues=False) as region:
        installed = perf_counter()
        count = sum(1 for _ in region.browse_tdqueue("TYPE"))
        browsed = perf_counter()
    print(
        f"\n{count} queues: defined in {defined - begun:.1f} s, installed in {installed - defined:.1f} s, "
        f"browsed at {count / (browsed - installed):,.0f} a second"
    )
    assert count == 89_900


def test_a_store_with_many_records_reopens_fast(tmp_path: Path) -> None:
    region = Region(QUEUES, supplied_queues=False, store=tmp_path / "store", dfhintra={"control_intervals": 10_000_000})
    for _ in range(100):
        with region.task() as task:
            for _ in range(10_000):
                task.writeq_td("LOG1", RECORD)
    for clean in (False, True):
        region.close(clean=clean)
        begun = perf_counter()
        region = Region(store=tmp_path / "store", dfhintra={"control_intervals": 10_000_000})
        took = perf_counter() - begun
        print(f"\na million committed records: {region.start_type} start in {1000 * took:.1f} ms")
        assert region.tdqueues["LOG1"].numitems == 1_000_000  # type: ignore[attr-defined]
    assert region.readq_td("LOG1") == RECORD
    assert region.task().readq_td("NONE", nohandle=True) == b""
    assert Resp.QIDERR.name == "QIDERR"
    region.close()
