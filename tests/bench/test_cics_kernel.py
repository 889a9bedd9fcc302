"""What the kernel of a region costs: requests, triggered tasks, units of work, growth and installing.

Everything is a ratio to an empty Python call, or to the same change made on LMDB directly, in the same run, of process
time; the bars are asserted.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from struct import Struct
from time import perf_counter, process_time
from typing import Any
from zlib import crc32

import lmdb
import pytest

from tdqsim.cics import Region, Task
from tdqsim.core.codepage import codepage
from tdqsim.datasets.intrdr import InternalReader
from tdqsim.datasets.jobs import JobLog
from tdqsim.definitions import Definitions, define_tdqueue, define_transaction
from tdqsim.facts import Resp
from tdqsim.testing import History

from ._ratio import compare, empty_call
from ._table import hold

pytestmark = pytest.mark.bench

RECORD = b"x" * 100
RECORD_4K = b"y" * 4000
QUEUES = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="NOQ"),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    define_tdqueue(name="LOG1", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="LOG2", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="TRGQ", type="INTRA", transid="TRIG", triggerlevel=1, atifacility="FILE"),
    define_transaction(name="TRIG"),
    define_tdqueue(name="PLNQ", type="INTRA"),
]


@pytest.fixture
def region() -> Iterator[Region]:
    with Region(QUEUES, supplied_queues=False, dfhintra={"control_intervals": 10_000_000}) as made:
        yield made


def ratio(
    work: Callable[[int], object],
    reference: Callable[[int], object],
    n: int,
    many: int,
    rounds: int = 11,
    clock: Callable[[], float] = process_time,
) -> float:
    """The median of the quotients of process time for one turn of each, taken side by side."""
    found = []
    for turn in range(rounds + 1):
        begun = clock()
        work(n)
        middle = clock()
        reference(many)
        end = clock()
        if turn:  # the first warms up
            found.append((middle - begun) / n / ((end - middle) / many))
    return median(found)


def calls(work: Callable[[int], object], n: int = 3000) -> float:
    """What one turn costs in empty calls."""
    return ratio(work, empty_call, n, 10 * n)


def started(region: Region, work: Callable[[Task, int], object]) -> Callable[[int], object]:
    return lambda n: region.start(lambda task: work(task, n)).result()


def pairs(task: Any, n: int, queue: str = "NOQ", record: bytes = RECORD) -> None:
    write, read = task.writeq_td, task.readq_td
    for _ in range(n):
        write(queue, record)
        read(queue)


def pairs_with_length(task: Any, n: int) -> None:
    write, read = task.writeq_td, task.readq_td
    for _ in range(n):
        write("NOQ", RECORD, 100)
        read("NOQ", 100)


def empty_reads(task: Any, n: int) -> None:
    read = task.readq_td
    for _ in range(n):
        read("NOQ", nohandle=True)


@pytest.mark.parametrize(
    ("what", "bar", "wanted"),
    [
        ("started", 45, 45),
        ("outside", 70, 65),  # a task of its own each: its number, its syncpoint, who else is ready
        ("LENGTH", 52, 52),
        ("indirect", 54, 54),
        ("4 KB", 80, 80),
        ("100,000 deep", 60, 60),
    ],
)
def test_a_pair_of_requests(region: Region, what: str, bar: float, wanted: float) -> None:
    work: dict[str, Callable[[int], object]] = {
        "started": started(region, pairs),
        "outside": lambda n: pairs(region, n),
        "LENGTH": started(region, pairs_with_length),
        "indirect": started(region, lambda task, n: pairs(task, n, "ALIA")),
        "4 KB": started(region, lambda task, n: pairs(task, n, "NOQ", RECORD_4K)),
        "100,000 deep": started(region, pairs),
    }
    if what == "100,000 deep":
        region.seed("NOQ", [RECORD] * 100_000)
    hold(bar, calls(work[what]), f"a pair, {what}, in empty calls", wanted=wanted)


def test_qzero_under_nohandle(region: Region) -> None:
    hold(60, calls(started(region, empty_reads)), "QZERO with NOHANDLE, in empty calls")


def test_a_pair_with_a_history(region: Region) -> None:
    with History(limit=1000).attach(region):
        hold(60, calls(started(region, pairs)), "a pair with a history on, in empty calls")


def test_a_pair_on_an_open_data_set(tmp_path: Path) -> None:
    """A record written to an output data set and one read from an input one; each reads and writes blocks of 100."""
    form = {"type": "EXTRA", "recordformat": "FIXED", "recordsize": 100, "blocksize": 10_000, "opentime": "INITIAL"}
    queues = [
        define_tdqueue(name="OUTQ", ddname="OUTDD", typefile="OUTPUT", **form),
        define_tdqueue(name="INQ", ddname="INDD", typefile="INPUT", **form),
    ]
    (tmp_path / "in").write_bytes(RECORD * 50_000)
    dd = {"OUTDD": tmp_path / "out", "INDD": tmp_path / "in"}

    def both(task: Task, n: int) -> None:
        write, read = task.writeq_td, task.readq_td
        for _ in range(n):
            write("OUTQ", RECORD)
            read("INQ")

    with Region(queues, supplied_queues=False, dd=dd) as region:
        hold(65, calls(started(region, both)), "a pair on open data sets, in empty calls")


def test_a_triggered_task(region: Region) -> None:
    region.register("TRIG", lambda _task: None)

    def writes(queue: str) -> Callable[[Task, int], None]:
        def program(task: Task, n: int) -> None:
            for _ in range(n):
                task.writeq_td(queue, RECORD)
                task.suspend()

        return program

    triggered = calls(started(region, writes("TRGQ")), n=300)
    plain = calls(started(region, writes("PLNQ")), n=300)
    # a task, its EIB and its fiber, two turns of the dispatcher and two switches of stacks
    what = "WRITEQ that triggers an empty task, above the plain one, in empty calls"
    hold(270, triggered - plain, what, wanted=120)


DEPTH = 10_000
_key, _record = Struct(">QQ").pack, Struct(">QQQQI").pack


class BareLmdb:
    """The same changes as a unit of work's, on LMDB itself: entries put and deleted, the queue's record, a crc each.

    It holds as many records as the region's queue: a deeper tree costs a page more in each commit.
    """

    def __init__(self, path: Path, *, sync: bool, queues: int = 1) -> None:
        self.queues = [b"queue %d" % number for number in range(queues)]
        self.env = lmdb.open(str(path), map_size=1 << 30, sync=sync, metasync=sync, readahead=False, meminit=False)
        self.first, self.last = 1, 0
        with self.env.begin(write=True) as txn:
            for _ in range(DEPTH):
                self.last += 1
                txn.put(_key(1, self.last), RECORD)

    def move(self, n: int, each: int = 1) -> None:
        """Take records off a queue and put as many on, so many in each transaction."""
        for _ in range(n):
            with self.env.begin(write=True) as txn:
                for _ in range(each):
                    txn.delete(_key(1, self.first))
                    self.first += 1
                    self.last += 1
                    txn.put(_key(1, self.last), crc32(RECORD).to_bytes(4, "big") + RECORD)
                body = _record(1, self.first, self.last, 0, 0)
                for name in self.queues:
                    txn.put(name, body + crc32(body).to_bytes(4, "big"))


def moves(source: str, target: str, each: int = 1) -> Callable[[Task, int], None]:
    def program(task: Task, n: int) -> None:
        for _ in range(n):
            for _ in range(each):
                task.writeq_td(target, task.readq_td(source))
            task.syncpoint()

    return program


@pytest.mark.parametrize(
    ("what", "each", "bar", "wanted"),
    [("one queue", 1, 3.0, 2.0), ("two queues", 1, 3.3, 2.1), ("one queue, 50 + 50", 50, 2.7, 1.5)],
)
def test_a_unit_of_work(tmp_path: Path, what: str, each: int, bar: float, wanted: float) -> None:
    """The store alone has 1.4, 1.7 and 1.2.

    The rest are the three commands, the unit of work with its locks and what follows from its end, and the account of
    control intervals.
    """
    bare = BareLmdb(tmp_path, sync=False, queues=1 if "one" in what else 2)
    with Region(QUEUES, supplied_queues=False, store=tmp_path / "store") as region:
        region.seed("LOG1", [RECORD] * DEPTH)
        work = started(region, moves("LOG1", "LOG1" if "one" in what else "LOG2", each))
        n = 300 if each == 1 else 20
        seen = ratio(work, lambda k: bare.move(k, each), n, n)
        hold(bar, seen, f"READQ + WRITEQ + SYNCPOINT, {what}, to bare LMDB", wanted=wanted)


@pytest.mark.parametrize(("each", "bar", "wanted"), [(1, 1.8, 1.8), (100, 2.6, 1.5)])
def test_a_unit_of_work_that_is_synced(tmp_path: Path, each: int, bar: float, wanted: float) -> None:
    """By the wall: what a sync costs is time, not work; where it is quick, 200 commands take longer than two of them."""
    bare = BareLmdb(tmp_path, sync=True)
    with Region(QUEUES, supplied_queues=False, store=tmp_path / "store", durability="power") as region:
        region.seed("LOG1", [RECORD] * 10_000)
        work = started(region, moves("LOG1", "LOG1", each))
        seen = ratio(work, lambda k: bare.move(k, each), 20, 20, clock=perf_counter)
        hold(bar, seen, f"power: {each} + {each} records, SYNCPOINT, to bare synced LMDB, by the wall", wanted=wanted)


def test_a_pair_on_a_physical_queue(tmp_path: Path) -> None:
    bare = BareLmdb(tmp_path, sync=False)

    def reference(n: int) -> None:
        bare.move(2 * n)

    with Region(QUEUES, supplied_queues=False, store=tmp_path / "store") as region:
        work = started(region, lambda task, n: pairs(task, n, "PHYQ"))
        hold(2.0, ratio(work, reference, 200, 200), "a pair on a PHYSICAL queue, to two bare commits")


def test_tasks_that_commit_together(tmp_path: Path) -> None:
    queues = [define_tdqueue(name=f"G{number:03d}", type="INTRA", recovstatus="LOGICAL") for number in range(100)]
    with Region(queues, supplied_queues=False, store=tmp_path / "store", durability="power") as region:
        before = region._core.committer.commits
        for queue in queues:
            region.start(lambda task, name: task.writeq_td(name, RECORD), queue.name)
        region.run()
        print(f"\n100 units of work: {region._core.committer.commits - before} commit")
        assert region._core.committer.commits - before == 1


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
    small = compare({"10 reads backed out": backed_out(10)}, n=50, cpu=True)["10 reads backed out"]
    region.seed("LOG1", [RECORD] * 100_000)
    large = compare({"10 reads backed out": backed_out(10)}, n=50, cpu=True)["10 reads backed out"]
    hold(2, large.ratio / small.ratio, "10 reads backed out, a queue of 100,000 to one of 1,000")


def test_growth(region: Region) -> None:
    """Cost a pair with ten thousand and with a million records queued, and the process's memory."""
    task = region.task()

    def grow(count: int) -> None:
        write = task.writeq_td
        for _ in range(count):
            write("NOQ", RECORD)

    grow(10_000)
    short = calls(lambda n: pairs(task, n))
    grow(990_000)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    long = calls(lambda n: pairs(task, n))
    print(f"\npeak resident memory {memory // 1024} MB, LMDB's map included; 10 thousand queued {short:.1f}")
    hold(90, long, "a pair, 1 million queued")
    assert task.inquire_tdqueue("NOQ", "NUMITEMS").numitems == 1_000_000


GROWTH = """
import sys
from statistics import median
from time import process_time
from tdqsim.cics import Region
from tdqsim.definitions import define_tdqueue
from tests.bench._ratio import empty_call

def memory():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon")) / 1024

def timed(work, *args):
    begun = process_time()
    work(*args)
    spent = process_time() - begun
    begun = process_time()
    empty_call(1_000_000)
    return spent / (process_time() - begun) * 1_000_000

def write(task, n):
    put = task.writeq_td
    for _ in range(n):
        put("NOQ", b"x" * 100)

def read(task, n):
    get = task.readq_td
    for _ in range(n):
        get("NOQ")

many, some = int(sys.argv[1]), 200_000
queue = define_tdqueue(name="NOQ", type="INTRA")
with Region([queue], supplied_queues=False, dfhintra={"control_intervals": 100_000_000}) as region, region.task() as task:
    few = sorted((timed(write, task, 10_000) + timed(read, task, 10_000)) / 10_000 for _ in range(5))[2]
    writes, reads, before, most = [], [], memory(), 0.0
    for work, costs in ((write, writes), (read, reads)):
        for _ in range(many // some):
            costs.append(timed(work, task, some) / some)
            most = max(most, memory() - before)
    quarter = max(1, len(writes) // 4)
    last = median(writes[-quarter:]) + median(reads[-quarter:])
    first = median(writes[:quarter]) + median(reads[:quarter])
print(median(writes) + median(reads), last / first, most, few)
"""


@pytest.mark.parametrize(
    ("many", "pair_limit", "growth_limit"),
    [(1_000_000, 90, 1.2), pytest.param(10_000_000, 120, 1.6, marks=pytest.mark.slow)],
)
def test_more_records_than_memory_holds(many: int, pair_limit: float, growth_limit: float) -> None:
    """Written, then read, in a process of its own; the growth is that of the last quarter to the first.

    Ten million are a gigabyte in a file, whose pages the system writes back meanwhile; that this is charged to the
    process, and how much, depends on what else is written on the machine, so the limits leave a third above the bars.
    """
    command = [sys.executable, "-c", GROWTH, str(many)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    pair, growth, grown, few = (float(word) for word in done.stdout.split())
    print(f"\n{many:,} records: a pair {pair:.1f}, with ten thousand {few:.1f}; +{grown:.1f} MB")
    hold(64, grown, f"{many:,} records: anonymous memory, MB")
    hold(growth_limit, growth, f"{many:,} records: the last quarter to the first", wanted=1.2)
    hold(pair_limit, pair, f"{many:,} records written, then read: a pair, in empty calls", wanted=90)


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


def test_a_restart_to_its_install(tmp_path: Path) -> None:
    """Wanted is 0.7: half of either is making the queue itself, which is the same work."""
    names = [f"{letter}{number:03d}" for letter in "ABDEFGHIJKLMNOPQRSTU" for number in range(1000)]
    definitions = Definitions.of([define_tdqueue(name=name, type="INTRA") for name in names])
    begun = process_time()
    region = Region(definitions, supplied_queues=False, store=tmp_path / "store")
    installed = process_time() - begun
    region.close(clean=False)
    begun = process_time()
    with Region(store=tmp_path / "store") as again:
        restarted = process_time() - begun
        assert len(again.tdqueues) == len(names)
    hold(0.95, restarted / installed, "a restart with 20,000 queues, to their install", wanted=0.7)


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
        print(f"\na million committed records: {region.recovery.start_type} start in {1000 * took:.1f} ms")
        assert region.tdqueues["LOG1"].numitems == 1_000_000  # type: ignore[attr-defined]
    assert region.readq_td("LOG1") == RECORD
    assert region.task().readq_td("NONE", nohandle=True) == b""
    assert Resp.QIDERR.name == "QIDERR"
    region.close()


def test_many_tasks_that_hold_names_end_as_fast_as_few() -> None:
    def each(tasks: int) -> float:
        def program(task: Task, number: int) -> None:
            task.enq(f"NAME {number}")
            task.suspend()

        with Region([], supplied_queues=False) as region:
            for number in range(tasks):
                region.start(program, number)
            begun = process_time()
            region.run()
            return (process_time() - begun) / tasks

    found = median(each(8000) / each(1000) for _ in range(5))
    hold(2, found, "end of a task that holds a name, among 8,000 and among 1,000")


def test_many_jobs_of_an_internal_reader_are_taken_as_fast_as_few(tmp_path: Path) -> None:
    def each(jobs: int, root: Path) -> float:
        log = JobLog(lambda: 0, root=root)
        card, end = (codepage(37).encode(text.ljust(80)) for text in ("//A JOB", "/*EOF"))
        begun = process_time()
        for _ in range(jobs):
            reader = InternalReader(log)
            reader.put(card)
            reader.put(end)
        return (process_time() - begun) / jobs

    found = [each(2000, tmp_path / f"many {turn}") / each(250, tmp_path / f"few {turn}") for turn in range(5)]
    hold(2, median(found), "a job of an internal reader, the 2,000th and the 250th")
