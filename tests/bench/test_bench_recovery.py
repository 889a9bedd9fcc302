"""What recovery costs: ratios to bare LMDB commits in the same run, and to empty calls for opening a large store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import lmdb
import pytest

from tdqsim.cics import Region
from tdqsim.definitions import define_tdqueue
from tests.bench._ratio import Cost, compare, empty_call, report
from tests.bench._table import hold

pytestmark = pytest.mark.bench
DATA = b"x" * 100
MILLION = 1_000_000
KINDS = {"LOG1": "LOGICAL", "LOG2": "LOGICAL", "PHYQ": "PHYSICAL", "NOQ": "NO"}


def make(path: Path, **options: object) -> Region:
    queues = [define_tdqueue(name=name, type="INTRA", recovstatus=kind) for name, kind in KINDS.items()]
    return Region(queues, store=path, supplied_queues=False, dfhintra={"control_intervals": 2_000_000}, **options)  # type: ignore[arg-type]


class Bare:
    """LMDB alone, in a file of the same size: a commit of a put, or of a put and a delete."""

    def __init__(self, path: Path, *, sync: bool) -> None:
        self.env = lmdb.open(str(path), map_size=1 << 34, sync=sync, metasync=sync)
        self.number = 0
        with self.env.begin(write=True) as txn:
            for number in range(2000):
                txn.put(b"%016d" % number, DATA)
        self.first, self.number = 0, 2000

    def put(self, n: int) -> None:
        for _ in range(n):
            self.number += 1
            with self.env.begin(write=True) as txn:
                txn.put(b"%016d" % self.number, DATA)

    def pair(self, n: int, changes: int = 1) -> None:
        for _ in range(n):
            with self.env.begin(write=True) as txn:
                for _ in range(changes):
                    txn.delete(b"%016d" % self.first)
                    self.first += 1
                    self.number += 1
                    txn.put(b"%016d" % self.number, DATA)

    def hundred(self, n: int) -> None:
        self.pair(n, 50)


class Work:
    """The same done by a region."""

    def __init__(self, region: Region) -> None:
        self.region = region
        for name in KINDS:
            region.seed(name, [DATA] * 2000)

    def write(self, name: str):
        def run(n: int) -> None:
            write = self.region.writeq_td
            for _ in range(n):
                write(name, DATA)

        return run

    def read_physical(self, n: int) -> None:
        for _ in range(n):
            self.region.readq_td("PHYQ")
            self.region.seed("PHYQ", [DATA])

    def pair(self, n: int, changes: int = 1) -> None:
        one, other = "LOG1", "LOG2"
        with self.region.task() as task:
            for _ in range(n):
                for _ in range(changes):
                    task.readq_td(one)
                    task.writeq_td(other, DATA)
                one, other = other, one
                task.syncpoint()

    def hundred(self, n: int) -> None:
        self.pair(n, 50)

    def backout(self, changes: int):
        def run(n: int) -> None:
            with self.region.task() as task:
                for _ in range(n):
                    for _ in range(changes):
                        task.readq_td("LOG1")
                        task.writeq_td("LOG2", DATA)
                    task.syncpoint_rollback()

        return run

    def group(self, n: int) -> None:
        region = self.region
        for _ in range(n):
            for number in range(100):
                name = f"G{number:03d}"
                region.start(lambda task, name=name: task.writeq_td(name, DATA))
            region.run()


@pytest.fixture(params=["process", "power"])
def durability(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def work(tmp_path: Path, durability: str) -> Iterator[Work]:
    with make(tmp_path / "store", durability=durability) as region:
        yield Work(region)


LIMITS = {
    ("WRITEQ, LOGICAL", "bare: put"): ((6.5, None), (3.0, None)),
    ("WRITEQ, PHYSICAL", "bare: put"): ((4.5, None), (3.0, None)),
    ("READQ, WRITEQ, SYNCPOINT", "bare: delete and put"): ((6.5, 2.1), (2.2, 1.8)),
    ("50 READQ and WRITEQ, SYNCPOINT", "bare: 50 deletes and puts"): ((4.5, 1.5), (3.5, 1.5)),
}
"""What a commit may cost to the bare one, and the bar where there is one: kept by a process, by its CPU, and synced, by the wall.

The bars are those of :mod:`tests.bench.test_cics_kernel`, where the bare work is all that the region's store does; here it
is the entries alone, without the queue's record and the sums of what is written, so the limits are wider.
"""


def hold_to_bare(costs: dict[str, Cost], durability: str) -> None:
    for (ours, bare), limits in LIMITS.items():
        what = f"recovery, {durability}: {ours}, to {bare}"
        limit, wanted = limits[durability == "power"]
        hold(limit, costs[ours].ratio / costs[bare].ratio, what, wanted=wanted)


def test_units_of_work(work: Work, tmp_path: Path, durability: str) -> None:
    bare = Bare(tmp_path / "bare", sync=durability == "power")
    n = 40 if durability == "power" else 400
    costs = compare(
        {
            "bare: put": bare.put,
            "WRITEQ, LOGICAL": work.write("LOG1"),
            "WRITEQ, PHYSICAL": work.write("PHYQ"),
            "bare: delete and put": bare.pair,
            "READQ, WRITEQ, SYNCPOINT": work.pair,
            "bare: 50 deletes and puts": bare.hundred,
            "50 READQ and WRITEQ, SYNCPOINT": work.hundred,
        },
        n={
            "bare: put": n,
            "WRITEQ, LOGICAL": n,
            "WRITEQ, PHYSICAL": n,
            "bare: delete and put": n,
            "READQ, WRITEQ, SYNCPOINT": n,
            "bare: 50 deletes and puts": n // 8,
            "50 READQ and WRITEQ, SYNCPOINT": n // 8,
        },
        cpu=durability == "process",
    )
    report(f"units of work, durability {durability}", costs)
    hold_to_bare(costs, durability)


def test_volatile_traffic_before_a_commit(work: Work, tmp_path: Path, durability: str) -> None:
    """A recoverable commit does not pay for what was written to NO queues before it.

    A file system may make a sync wait for other files' new blocks too; so the bare commit it is compared with comes
    after as many unsynced puts into another file.
    """
    bare = Bare(tmp_path / "bare", sync=durability == "power")
    other = lmdb.open(str(tmp_path / "other"), map_size=1 << 34, sync=False)
    count = [0]
    clock = perf_counter if durability == "power" else process_time

    def region_traffic() -> None:
        for _ in range(3000):
            work.region.writeq_td("NOQ", DATA)

    def bare_traffic() -> None:
        for _ in range(3):
            with other.begin(write=True) as txn:
                for _ in range(1000):
                    count[0] += 1
                    txn.put(b"%016d" % count[0], DATA)

    def timed(before: Callable[[], None], call: Callable[[int], None]) -> float:
        before()
        start = clock()
        call(1)
        return clock() - start

    write = work.write("LOG1")
    after = [timed(region_traffic, write) / timed(bare_traffic, bare.put) for _ in range(60)]
    alone = [timed(lambda: None, write) / timed(lambda: None, bare.put) for _ in range(60)]
    what = f"recovery, {durability}: a LOGICAL WRITEQ to a bare put, after 3000 puts elsewhere to without them"
    hold(2.0 if durability == "power" else 5.0, median(after) / median(alone), what)


def test_backout_is_in_proportion(work: Work) -> None:
    costs = compare(
        {f"backout of {2 * changes}": work.backout(changes) for changes in (1, 10, 100, 1000)},
        n={"backout of 2": 1000, "backout of 20": 200, "backout of 200": 20, "backout of 2000": 4},
        rounds=5,
    )
    report("backout, requests included", costs)
    small, large = costs["backout of 20"].ratio / 20, costs["backout of 2000"].ratio / 2000
    hold(1.5, large / small, "recovery: backout of 2000 requests, a request, to one of 20")


def test_group_commit(tmp_path: Path, durability: str) -> None:
    queues = [define_tdqueue(name=f"G{number:03d}", type="INTRA", recovstatus="LOGICAL") for number in range(100)]
    with Region(queues, store=tmp_path / "store", supplied_queues=False, durability=durability) as region:  # type: ignore[arg-type]
        work = Work.__new__(Work)
        work.region = region
        alone = compare(
            {"100 tasks that commit together": work.group, "100 commits one by one": lambda n: one_by_one(region, n)},
            n=3, rounds=5,
        )  # fmt: skip
        report(f"group commit, durability {durability}", alone)
        together = alone["100 tasks that commit together"].ratio / alone["100 commits one by one"].ratio
        hold(3.0, together, f"recovery, {durability}: 100 tasks that commit together, to 100 commits one by one")


def one_by_one(region: Region, n: int) -> None:
    for _ in range(n):
        for number in range(100):
            region.writeq_td(f"G{number:03d}", DATA)


FILL = """
import os, sys
from pathlib import Path
from tests.bench.test_bench_recovery import DATA, make
region = make(Path(sys.argv[1]))
for name in ("LOG1", "PHYQ"):
    region.seed(name, (DATA for _ in range(500_000)))
region.writeq_td("LOG1", DATA)
print("filled", flush=True)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), 9)
region.close()
"""


@pytest.mark.parametrize("end", ["kill", "close"])
def test_a_million_records_are_opened_again(tmp_path: Path, end: str) -> None:
    command = [sys.executable, "-c", FILL, str(tmp_path / "store"), end]
    subprocess.run(command, cwd=Path(__file__).parents[2], env={**os.environ}, check=False, stdout=subprocess.DEVNULL)
    costs = []
    for turn in range(5):
        start = process_time()
        region = make(tmp_path / "store")
        took = process_time() - start
        start = process_time()
        empty_call(MILLION)
        costs.append(took / (process_time() - start))
        assert region.recovery.start_type == ("WARM" if end == "close" else "EMERGENCY")
        assert region.inquire_tdqueue("LOG1", "NUMITEMS").numitems == MILLION // 2 + 1 + turn
        region.writeq_td("LOG1", DATA)
        region.close(clean=end == "close")
    limit = 9 if end == "kill" else 3  # after an unclean end every page is checked
    hold(limit, median(costs), f"recovery: a million records opened after {end}, a record, in empty calls")
