"""What the test kit costs: nothing when it is not used, little when it is. Ratios within one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time_ns

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.testing import History, RecycledStores, Stage, explore
from tdqsim.testing.hooks import HookChain
from tdqsim.testing.kit import Kit, definitions_of
from tests.bench._ratio import Batch

pytestmark = pytest.mark.bench
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
        print(f"  {name:<28} / off = {median(found):.2f}")
    later.close()
    now.close()


def scenario(stage: Stage) -> None:
    """Three tasks, thirty commands."""
    region = stage.region(DEFINITIONS)

    def program(task, queue: str) -> None:
        for _ in range(5):
            task.writeq_td(queue, b"x" * 100)
        task.syncpoint()
        for _ in range(4):
            task.readq_td(queue, nosuspend=True, nohandle=True)

    for queue in ("NOQ", "LOGQ", "LOG2"):
        region.start(program, queue)
    region.run()


def test_schedules() -> None:
    start = perf_counter()
    found = explore(scenario, 2000)
    took = perf_counter() - start
    print(f"\n2000 schedules in {took:.1f} s, {found.distinct} different; 10,000 would take {took * 5:.0f} s")


def test_the_fixture() -> None:
    times = []
    with RecycledStores() as stores:
        for _ in range(50):
            start = perf_counter()
            kit = Kit(seed=0, definitions=definitions_of(DEFINITIONS, Path()), start="AUTO", stores=stores)
            kit.region()
            kit.close()
            times.append(1000 * (perf_counter() - start))
    first, *rest = times
    print(f"\nregion fixture: the first {first:.1f} ms, then a median of {sorted(rest)[len(rest) // 2]:.2f} ms")
