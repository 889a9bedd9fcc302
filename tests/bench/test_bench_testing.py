"""What the test kit costs: nothing when it is not used, little when it is. Ratios within one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.testing import History, RecycledStores, Stage, explore
from tdqsim.testing.hooks import HookChain
from tdqsim.testing.kit import Kit, definitions_of
from tests.bench._ratio import Batch, compare, report

pytestmark = pytest.mark.bench
DEFINITIONS = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="LOG2", type="INTRA", recovstatus="LOGICAL"),
]


@pytest.fixture
def regions() -> Iterator[list[Region]]:
    made = [Region(DEFINITIONS, supplied_queues=False) for _ in range(4)]
    yield made
    for region in made:
        region.close()


def pairs(region: Region, queue: str) -> Batch:
    """WRITEQ and READQ of 100 bytes, in one task."""
    task = region.task().__enter__()

    def run(n: int) -> None:
        write, read, data = task.writeq_td, task.readq_td, b"x" * 100
        for _ in range(n):
            write(queue, data)
            read(queue)
        task.syncpoint()

    return run


@pytest.mark.parametrize("queue", ["NOQ", "LOGQ"])
def test_history_on(regions: list[Region], tmp_path: Path, queue: str) -> None:
    off, on, file, hooked = regions
    History().attach(on)
    history = History(path=tmp_path / "history.jsonl").attach(file)
    hooked.hook = HookChain()
    costs = compare(
        {"off": pairs(off, queue), "ring": pairs(on, queue), "file": pairs(file, queue), "hook": pairs(hooked, queue)},
        n=3000,
        rounds=15,
    )
    report(f"history, pair on {queue}", costs)
    for name in ("ring", "file", "hook"):
        print(f"  {name} / off = {costs[name].ratio / costs['off'].ratio:.2f}")
    history.close()


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
