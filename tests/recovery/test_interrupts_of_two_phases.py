"""Whatever is raised while two regions commit units of work together, at whatever line: both commit them, or neither.

Two tasks of NEAR each write a queue here and one of FAR, and take a syncpoint; with durability ``power`` they share the
commits of each phase. An exception is raised at a line of the package that this comes to; by default at some lines, in
the slow tests at all. Real signals come at any moment. Then the others go on; when the link has gone and come back, nothing is in doubt or held, and both
regions, started again, agree still.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tdqsim
from tdqsim.cics import Task
from tests.interrupts import RaiseAt, signals
from tests.recovery.complexes import Complex, pair, remote
from tests.recovery.helpers import queue

PACKAGE = str(Path(tdqsim.__file__).parent)
SAMPLE = 6
PAIRS = (("LOCL", "REMQ", "FARQ"), ("LOC2", "REM2", "FAR2"))


class Boom(KeyboardInterrupt):
    """What is raised."""


KINDS = [Boom, MemoryError]


def work(task: Task, number: int, local: str, shipped: str) -> None:
    task.writeq_td(local, b"%d" % number)
    task.writeq_td(shipped, b"%d" % number)
    task.syncpoint()


def start(two: Complex, number: int) -> list[Any]:
    return [two["NEAR"].start(work, number, local, shipped) for local, shipped, _ in PAIRS]


def check(two: Complex, number: int, where: object) -> None:
    """What each task wrote is in both regions, or in none."""
    for local, _, far in PAIRS:
        here, there = two["NEAR"].peek(local), two["FAR"].peek(far)
        assert here == there, (number, where)
        assert here.count(b"%d" % number) <= 1, where


def after_an_interrupt(two: Complex, number: int, fibers: list[Any], where: object) -> None:
    """The others go on, and the link goes and comes back."""
    two.run()
    two.link().cut()
    two.run()
    two.link().restore()
    two.run()
    assert all(fiber.done for fiber in fibers), where
    check(two, number, where)
    assert not two.left(), where
    assert not two.in_doubt(), where


def and_after_a_restart(two: Complex, where: object) -> None:
    found = two.contents()
    for applid in ("NEAR", "FAR"):
        two.again(applid)
    two.link().restore()
    two.run()
    assert two.contents() == found, where
    assert not two.left(), where


def lines(two: Complex) -> int:
    start(two, 0)
    counting = RaiseAt(10**9, Boom, PACKAGE)
    with counting:
        two.run()
    check(two, 0, None)
    assert two["NEAR"].peek("LOCL") == two["NEAR"].peek("LOC2") == [b"0"]
    return 10**9 - counting.left


@pytest.fixture(params=["at once", "network"])
def made(tmp_path: Path, request: pytest.FixtureRequest, durability: str) -> Iterator[Complex]:
    near, far = [queue("LOC2"), remote("REM2", "FAR", "FAR2")], [queue("FARQ"), queue("FAR2")]
    two = pair(tmp_path, near=near, far=far, durability=durability, at_once=request.param == "at once")
    yield two
    two.sysplex.close()


@pytest.mark.rule("REC-TWO-PHASE")
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("durability", ["power", "process"])
def test_both_regions_commit_or_neither(made: Complex, kind: type[BaseException], every: bool) -> None:
    two = made
    many = lines(two)
    assert many > 1000
    step = 1 if every else many // SAMPLE
    for number in range(1 if every or kind is Boom else 1 + step // 2, many + 1, step):
        fibers = start(two, number)
        interrupt = RaiseAt(number, kind, PACKAGE)
        with suppress(kind), interrupt:
            two.run()
        after_an_interrupt(two, number, fibers, interrupt.where)
        if not every or number % 20 == 0:
            and_after_a_restart(two, interrupt.where)


@pytest.mark.parametrize("rounds", [20, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("durability", ["power", "process"])
def test_signals_at_any_moment_of_a_two_phase_commit(made: Complex, rounds: int) -> None:
    two = made
    draw = random.Random(13)
    hits = 0
    with signals(Boom) as strike:
        for number in range(rounds):
            fibers = start(two, number)
            hits += strike(two.run, draw.uniform(0.00005, 0.002))
            after_an_interrupt(two, number, fibers, number)
            if draw.random() < 0.1:
                and_after_a_restart(two, number)
    assert hits
