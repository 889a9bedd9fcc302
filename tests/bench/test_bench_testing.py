"""What the test kit costs: nothing when it is not used, little when it is. Ratios within one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import process_time, process_time_ns

import pytest

from tdqsim import Region, System, Task, define_tdqueue
from tdqsim.faults.hooks import HookChain
from tdqsim.testing import Event, History, RecycledStores, Stage, check_history, explore
from tdqsim.testing.kit import Kit, definitions_of
from tests.bench._ratio import Batch, compare, report
from tests.bench._table import hold, reach

pytestmark = pytest.mark.bench
MOST_OF_HISTORY = {"ring": 8.0, "file, before it is written": 8.0, "file, written": 20.0, "file": 20.0, "hook": 8.0}
"""The cost relative to the same run without it. A pair that writes to disk is so slow that it hides the rest."""
DEFINITIONS = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="LOG2", type="INTRA", recovstatus="LOGICAL"),
]


@pytest.fixture
def regions() -> Iterator[list[Region]]:
    made = [Region(DEFINITIONS, supplied_queues=False) for _ in range(5)]
    yield made
    for region in made:
        region.close()


def pairs(region: Region, queue: str, per_commit: int, after: Callable[[], object] = lambda: None) -> Batch:
    """WRITEQ and READQ of 100 bytes, in one task that commits after so many pairs."""
    task = region.task().__enter__()

    def run(n: int) -> None:
        write, read, data = task.writeq_td, task.readq_td, b"x" * 100
        for number in range(1, n + 1):
            write(queue, data)
            read(queue)
            if number % per_commit == 0:
                task.syncpoint()
        task.syncpoint()
        after()

    return run


def cpu(batch: Batch, n: int) -> int:
    start = process_time_ns()
    batch(n)
    return process_time_ns() - start


@pytest.mark.parametrize(("queue", "per_commit"), [("NOQ", 10_000), ("LOGQ", 10_000), ("LOGQ", 10), ("LOGQ", 1)])
def test_history_on(regions: list[Region], tmp_path: Path, queue: str, per_commit: int) -> None:
    """Processor time of the process, side by side: off, in memory, to a file that is written later, and at once."""
    off, on, file, written, hooked = regions
    History().attach(on)
    later = History(path=tmp_path / "later.jsonl", batch=10**9).attach(file)
    now = History(path=tmp_path / "now.jsonl").attach(written)
    hooked.hook = HookChain()
    contenders = {
        "off": pairs(off, queue, per_commit),
        "ring": pairs(on, queue, per_commit),
        "file, before it is written": pairs(file, queue, per_commit),
        "file, written": pairs(written, queue, per_commit, now.flush),
        "hook": pairs(hooked, queue, per_commit),
    }
    ratios: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(16):
        took = {name: cpu(batch, 1000) for name, batch in contenders.items()}
        later.flush()
        for name in contenders if turn else ():
            ratios[name].append(took[name] / took["off"])
    print(f"\nhistory, pairs on {queue}, {per_commit} a commit")
    for name, found in ratios.items():
        what = f"history, {name}, {queue}, {per_commit:,} pairs a commit, to off"
        if name != "off":
            hold(MOST_OF_HISTORY[name], median(found), what)
    later.close()
    now.close()


def program(task: Task, queue: str) -> None:
    for _ in range(5):
        task.writeq_td(queue, b"x" * 100)
    task.syncpoint()
    for _ in range(4):
        task.readq_td(queue, nosuspend=True, nohandle=True)


def scenario(stage: Stage) -> None:
    """Three tasks, thirty commands."""
    region = stage.region(DEFINITIONS)
    for queue in ("NOQ", "LOGQ", "LOG2"):
        region.start(program, queue)
    region.run()


def test_schedules() -> None:
    found: list[int] = []

    def by_hand(n: int) -> None:
        for _ in range(n):
            with Region(DEFINITIONS, supplied_queues=False) as region:
                for queue in ("NOQ", "LOGQ", "LOG2"):
                    region.start(program, queue)
                region.run()

    def explored(n: int) -> None:
        found.append(explore(scenario, n, shared=True).distinct)  # otherwise one order is all there is

    costs = compare({"a schedule": explored}, n=200, rounds=5, reference=by_hand, reference_n=50, cpu=True)
    hold(1, costs["a schedule"].ratio, "explore, a schedule, to the same in a region of its own")
    reach(200, min(found), "explore, 200 schedules: different ones")


def test_the_fixture() -> None:
    """The stores are used again: that is what the fixture has over a region of its own."""
    with RecycledStores() as stores:

        def fixture(n: int) -> None:
            for _ in range(n):
                kit = Kit(seed=0, definitions=definitions_of(DEFINITIONS, Path()), start="AUTO", stores=stores)
                kit.region()
                kit.close()

        def region(n: int) -> None:
            for _ in range(n):
                Region(DEFINITIONS).close()

        costs = compare({"the fixture": fixture}, n=20, rounds=7, reference=region, reference_n=20, cpu=True)
    hold(1.5, costs["the fixture"].ratio, "the fixture's region, to Region(...).close()")


def test_history_of_jobs_on(tmp_path: Path) -> None:
    def pairs_of(system: System) -> Batch:
        job = system.job()
        job.crtdtaq(dtaq="QGPL/PLAIN", maxlen=100)

        def run(n: int) -> None:
            for _ in range(n):
                job.qsnddtaq("PLAIN", "QGPL", b"x" * 100)
                job.qrcvdtaq("PLAIN", "QGPL")

        return run

    with System() as off, System() as on, System() as file, History(path=tmp_path / "h.jsonl") as history:
        History().attach(on)
        history.attach(file)
        batches = {"off": pairs_of(off), "ring": pairs_of(on), "file": pairs_of(file)}
        costs = compare(batches, n=2000, rounds=15, cpu=True)
        report("history, pair of QSNDDTAQ and QRCVDTAQ", costs)
        for name in ("ring", "file"):
            ratio = costs[name].ratio / costs["off"].ratio
            hold(MOST_OF_HISTORY[name], ratio, f"history, {name}, a pair of QSNDDTAQ and QRCVDTAQ, to off")


def test_the_checker_takes_each_event_once() -> None:
    """Ten times the events, ten times the time: what a list that is searched would not do."""

    def seconds(count: int) -> float:
        facts = {"recovstatus": "NO", "records": []}
        events = [Event("QUEUE", 0, "Q", b"", 0, info=facts)]
        events += [Event(kind, 1, "Q", b"%d" % n, 0) for kind in ("WRITEQ TD", "READQ TD") for n in range(count // 2)]
        start = process_time()
        check_history(events).check()
        return process_time() - start

    small, large = seconds(100_000), seconds(1_000_000)
    hold(30, large / small, "the checker, a million events, to a hundred thousand")
