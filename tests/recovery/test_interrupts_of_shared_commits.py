"""Whatever is raised while tasks share a commit, at whatever line: each unit of work is committed once or not at all.

Started tasks of a region with durability ``power`` move records between queues, one of them waits for the lock of
another, and one starts a triggered task. An exception is raised at a line of the package that their run comes to; by
default at some lines, in the slow tests at every one. Then the others go on, no lock is held, and the next start finds
what this one shows. The second part does the same with units of work that two regions share.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tdqsim
from tdqsim.cics import Region, Task
from tdqsim.core.store import Durable
from tdqsim.definitions import define_tdqueue, define_transaction
from tdqsim.facts import Resp
from tests.interrupts import RaiseAt, signals

PACKAGE = str(Path(tdqsim.__file__).parent)
SAMPLE = 12
"""So many of a run's lines by default; all of them in the slow tests."""
MOVES = (("IN1", "OUT1"), ("IN2", "OUT2"), ("IN3", "OUT1"))
RECORDS = {"IN1": b"first", "IN2": b"second", "IN3": b"third"}
NAMES = ("IN1", "IN2", "IN3", "OUT1", "OUT2", "TRG")


class Boom(KeyboardInterrupt):
    """What is raised, and belongs to the program outside."""


KINDS = [Boom, MemoryError]
"""A MemoryError inside a task is its abend."""


class World:
    """A region whose tasks share their commits."""

    def __init__(self, store: Path, durability: str = "power") -> None:
        self.store, self.durability = store, durability
        self.triggered = 0
        self.region = self._made()

    def _made(self) -> Region:
        queues = [define_tdqueue(name=name, type="INTRA", recovstatus="LOGICAL") for name in NAMES[:-1]]
        trigger = define_tdqueue(
            name="TRG", type="INTRA", recovstatus="LOGICAL", transid="TRIG", triggerlevel=1, atifacility="FILE"
        )
        triggered = define_transaction(name="TRIG")
        region = Region(
            [*queues, trigger, triggered], supplied_queues=False, store=self.store, durability=self.durability
        )
        region.register("TRIG", self._trigger)
        return region

    def _trigger(self, task: Task) -> None:
        self.triggered += 1
        task.readq_td("TRG", nohandle=True)

    def fill(self) -> None:
        for name in NAMES:
            self.region.deleteq_td(name)
        self.region.run()
        for name, record in RECORDS.items():
            self.region.seed(name, [record])
        self.triggered = 0

    def start(self) -> list[Any]:
        """The tasks whose run is interrupted."""
        return [self.region.start(_move, source, target) for source, target in MOVES]

    def contents(self) -> dict[str, list[bytes]]:
        return {name: self.region.peek(name) for name in NAMES}

    def again(self) -> None:
        self.region.close()
        self.region = self._made()


def _move(task: Task, source: str, target: str) -> None:
    task.writeq_td(target, task.readq_td(source))
    if source == "IN2":
        task.writeq_td("TRG", b"one is due")
    task.syncpoint()


def after_an_interrupt(world: World, fibers: list[Any], where: object) -> None:
    region = world.region
    region.run()
    assert all(fiber.done for fiber in fibers), where
    assert sum(fiber.exception is not None for fiber in fibers) <= 1, where
    found = world.contents()
    moved = [source for source, _ in MOVES if not found[source]]
    for source, target in MOVES:
        assert found[source] in ([], [RECORDS[source]]), where
        assert found[target].count(RECORDS[source]) == (source in moved), where
    assert len(found["OUT1"] + found["OUT2"]) == len(moved), where
    for fiber, (source, _) in zip(fibers, MOVES, strict=True):
        assert source in moved or fiber.exception is not None, where
    assert world.triggered <= 1, where
    assert not region.tasks, where
    assert not region.recovery.units, where
    assert not region.dispatcher.fibers, where
    with region.task() as other:  # it gets both ends of each queue
        for name in NAMES:
            other.readq_td(name, nohandle=True, nosuspend=True)
            assert other.eib.eibresp in (Resp.NORMAL, Resp.QZERO), (name, where)
            other.writeq_td(name, b"other")
        other.syncpoint_rollback()
    assert world.contents() == found, where


def and_after_a_restart(world: World, where: object) -> None:
    found = world.contents()
    world.again()
    assert world.contents() == found, where
    world.region.run()
    before = world.triggered
    world.region.writeq_td("TRG", b"again")
    world.region.run()
    assert world.triggered == before + 1, where


def lines(run: Callable[[], object]) -> int:
    counting = RaiseAt(10**9, Boom, PACKAGE)
    with counting:
        run()
    return 10**9 - counting.left


def sampled(many: int, *, every: bool) -> Iterator[int]:
    assert many > 1000
    return iter(range(1, many + 1, 1 if every else many // SAMPLE))


EVERY = pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])


@EVERY
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("durability", ["power", "process"])
def test_each_unit_of_work_is_committed_once_or_not_at_all(
    tmp_path: Path, durability: str, kind: type[BaseException], every: bool
) -> None:
    world = World(tmp_path / "store", durability)
    world.fill()
    world.start()
    met = 0
    for number in sampled(lines(world.region.run), every=every):
        world.fill()
        fibers = world.start()
        interrupt = RaiseAt(number, kind, PACKAGE)
        with suppress(kind), interrupt:
            world.region.run()
        met += interrupt.where is not None
        after_an_interrupt(world, fibers, interrupt.where)
        if not every or number % 10 == 0:
            and_after_a_restart(world, interrupt.where)
    world.region.close()
    assert met >= SAMPLE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["commit", "settle"])
def test_an_interrupt_as_the_store_begins_to_commit_or_to_settle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: type[BaseException]
) -> None:
    """The commit that the tasks share is settled by the next caller, and is not made a second time."""
    world = World(tmp_path / "store")
    world.fill()
    fibers = world.start()
    real, hits = getattr(Durable, name), []

    def raising(self: Durable, *given: Any) -> Any:
        if not hits and (name == "commit" or self.in_doubt):
            hits.append(1)
            raise kind
        return real(self, *given)

    monkeypatch.setattr(Durable, name, raising)
    with pytest.raises(kind):
        world.region.run()
    assert hits
    after_an_interrupt(world, fibers, name)
    assert [fiber.exception for fiber in fibers] == [None] * len(fibers)
    and_after_a_restart(world, name)
    world.region.close()


@pytest.mark.parametrize("durability", ["power", "process"])
@pytest.mark.parametrize("rounds", [20, pytest.param(2000, marks=pytest.mark.slow)])
def test_signals_at_any_moment_of_a_shared_commit(tmp_path: Path, rounds: int, durability: str) -> None:
    draw = random.Random(11)
    hits = 0
    world = World(tmp_path / "store", durability)
    with signals(Boom) as strike:
        for number in range(rounds):
            world.fill()
            fibers = world.start()
            hits += strike(world.region.run, draw.uniform(0.00005, 0.0008))
            after_an_interrupt(world, fibers, number)
            if draw.random() < 0.1:
                and_after_a_restart(world, number)
        world.region.close()
    assert hits
