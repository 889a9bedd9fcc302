"""Whatever is raised inside a command, at whatever line: it happened or it did not, and nothing is left half done.

An exception is raised at every line of the package that a command runs through, one after the other. Then the unit of
work goes on, others get every end of every queue, and a region that is closed and started again has the same records.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tdqsim
from tdqsim.cics import Condition, Region, Task
from tdqsim.core.store import Durability
from tdqsim.definitions import define_tdqueue
from tdqsim.facts import Resp
from tests.interrupts import RaiseAt, signals

PACKAGE = str(Path(tdqsim.__file__).parent)
QUEUES = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="LOG2", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="TRGQ", type="INTRA", transid="TRIG", triggerlevel=1),
    define_tdqueue(name="TRGL", type="INTRA", transid="TRIG", triggerlevel=1, recovstatus="LOGICAL"),
]
DURABILITY = pytest.mark.parametrize("durability", ["process", "power"])
SAMPLE = 11
"""So many of a command's lines by default; all of them in the slow test."""
NAMES = ("NOQ", "PHYQ", "LOGQ", "LOG2", "TRGQ", "TRGL")
FIRST = {name: [b"one", b"two"] if name[:3] != "TRG" else [] for name in NAMES}


class Boom(KeyboardInterrupt):
    """What is raised."""


def changed(**records: list[bytes]) -> dict[str, list[bytes]]:
    return {**FIRST, **records}


def moved(task: Task) -> None:
    """A unit of work that has read and written."""
    task.writeq_td("LOG2", task.readq_td("LOGQ"))


COMMANDS: dict[str, tuple[Callable[[Region, Task], object], Callable[[Region, Task], object], list[dict[str, Any]]]] = {
    # what goes before, what is interrupted, and what may be on the queues once the unit of work is committed
    "WRITEQ NO": (lambda _r, _t: None, lambda _r, t: t.writeq_td("NOQ", b"new"), [changed(NOQ=[b"one", b"two", b"new"])]),
    "READQ NO": (lambda _r, _t: None, lambda _r, t: t.readq_td("NOQ"), [changed(NOQ=[b"two"])]),
    "DELETEQ NO": (lambda _r, _t: None, lambda _r, t: t.deleteq_td("NOQ"), [changed(NOQ=[])]),
    "WRITEQ PHYSICAL": (
        lambda _r, _t: None, lambda _r, t: t.writeq_td("PHYQ", b"new"), [changed(PHYQ=[b"one", b"two", b"new"])],
    ),
    "READQ PHYSICAL": (lambda _r, _t: None, lambda _r, t: t.readq_td("PHYQ"), [changed(PHYQ=[b"two"])]),
    "DELETEQ PHYSICAL": (lambda _r, _t: None, lambda _r, t: t.deleteq_td("PHYQ"), [changed(PHYQ=[])]),
    "WRITEQ LOGICAL": (
        lambda _r, _t: None, lambda _r, t: t.writeq_td("LOGQ", b"new"), [changed(LOGQ=[b"one", b"two", b"new"])],
    ),
    "READQ LOGICAL": (lambda _r, _t: None, lambda _r, t: t.readq_td("LOGQ"), [changed(LOGQ=[b"two"])]),
    "DELETEQ LOGICAL": (lambda _r, _t: None, lambda _r, t: t.deleteq_td("LOGQ"), [changed(LOGQ=[])]),
    "SYNCPOINT": (
        lambda _r, t: moved(t), lambda _r, t: t.syncpoint(), [changed(LOGQ=[b"two"], LOG2=[b"one", b"two", b"one"])],
    ),
    "ROLLBACK": (
        lambda _r, t: moved(t), lambda _r, t: t.syncpoint_rollback(),
        [changed(LOGQ=[b"two"], LOG2=[b"one", b"two", b"one"])],
    ),
    "WRITEQ LOGICAL outside": (
        lambda _r, _t: None, lambda r, _t: r.writeq_td("LOGQ", b"new"), [changed(LOGQ=[b"one", b"two", b"new"])],
    ),
    "READQ LOGICAL outside": (lambda _r, _t: None, lambda r, _t: r.readq_td("LOGQ"), [changed(LOGQ=[b"two"])]),
    "WRITEQ that triggers": (lambda _r, _t: None, lambda _r, t: t.writeq_td("TRGQ", b"new"), [changed(TRGQ=[b"new"])]),
    "SYNCPOINT that triggers": (
        lambda _r, t: t.writeq_td("TRGL", b"new"), lambda _r, t: t.syncpoint(), [changed(TRGL=[b"new"])],
    ),
}  # fmt: skip


def made(store: Path, durability: Durability = "process") -> Region:
    region = Region(QUEUES, supplied_queues=False, store=store, durability=durability)
    region.register("TRIG", lambda _task: None)
    return region


def contents(region: Region) -> dict[str, list[bytes]]:
    return {name: region.peek(name) for name in NAMES}


def free(region: Region) -> None:
    """Another task gets both ends of every queue, and nobody has anything else."""
    with region.task() as other:
        for name in ("LOGQ", "LOG2", "TRGL"):
            other.readq_td(name, nohandle=True, nosuspend=True)
            assert other.eib.eibresp in (Resp.NORMAL, Resp.QZERO), (name, other.eib.eibresp)
            other.writeq_td(name, b"other")
        other.syncpoint_rollback()
    assert not region.recovery.units
    assert not region.recovery.shunted


def after_an_interrupt(region: Region, task: Task) -> dict[str, list[bytes]]:
    """What is on the queues when the program goes on, ends its unit of work, and its task."""
    task.syncpoint()
    task.end(normal=True)
    region.run()
    found = contents(region)
    free(region)
    return found


def begin(region: Region) -> None:
    """Put on the queues what is there before each command."""
    for queue, records in FIRST.items():
        region.deleteq_td(queue)
        region.seed(queue, records)


def lines_of(region: Region, name: str) -> int:
    """How many lines of the package a command runs through, after a first time, which may import modules."""
    before, command, _ = COMMANDS[name]
    for _ in range(2):
        begin(region)
        task = region.task()
        before(region, task)
        counting = RaiseAt(10**9, Boom, PACKAGE)
        with counting:
            command(region, task)
        after_an_interrupt(region, task)
    return 10**9 - counting.left


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
@DURABILITY
@pytest.mark.parametrize("name", COMMANDS)
def test_an_exception_at_every_line_of_a_command(
    tmp_path: Path, name: str, durability: Durability, every: bool
) -> None:
    """By default at some lines, other ones for each durability."""
    before, command, expected = COMMANDS[name]
    region = made(tmp_path / "store", durability)
    step = 1 if every else max(2, lines_of(region, name) // SAMPLE)
    first = 1 if every or durability == "process" else 1 + step // 2
    number, fired = first - step, 0
    while True:
        number += step
        begin(region)
        task = region.task()
        before(region, task)
        interrupt = RaiseAt(number, Boom, PACKAGE)
        try:
            with interrupt:
                command(region, task)
        except Boom:
            fired += 1
        found = after_an_interrupt(region, task)
        assert found in (FIRST, *expected), interrupt.where
        region.close()
        region = made(tmp_path / "store", durability)
        assert contents(region) == found, interrupt.where
        if not interrupt.where:
            break
    region.close()
    assert fired == (number - first) // step > 8
    assert found == (FIRST if name == "ROLLBACK" else expected[0])


@DURABILITY
@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.slow)], ids=["every second line", "all"])
def test_a_task_whose_end_was_interrupted_has_ended_for_the_next_start_too(
    tmp_path: Path, durability: Durability, step: int
) -> None:
    """What it had read of a PHYSICAL queue is not given back, although the region fails at once.

    By default the lines that one durability leaves out are those of the other.
    """
    number = 1 - step if durability == "process" else 0
    while True:
        number += step
        store = tmp_path / str(number)
        region = made(store, durability)
        region.seed("PHYQ", [b"one", b"two"])
        task = region.task()
        task.readq_td("PHYQ")
        interrupt = RaiseAt(number, Boom, PACKAGE)
        with suppress(Boom), interrupt:
            task.end(normal=True)
        task.end(normal=True)
        region.close(clean=False)
        with made(store, durability) as again:
            assert again.peek("PHYQ") == [b"two"], interrupt.where
        shutil.rmtree(store)
        if not interrupt.where:
            break
    assert number > 10


def deep(left: int, call: Callable[[], object]) -> object:
    return call() if left <= 0 else deep(left - 1, call)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file opened just then goes unclosed
@pytest.mark.parametrize(
    ("clean", "step"), [(True, 19), pytest.param(True, 1, marks=pytest.mark.slow), (False, 2), pytest.param(False, 1, marks=pytest.mark.slow)],
    ids=["clean, some lines", "clean, all lines", "failed, some lines", "failed, all lines"],
)  # fmt: skip
def test_a_close_that_was_interrupted_lets_the_store_go(tmp_path: Path, clean: bool, step: int) -> None:
    """Most lines of a clean close are the store's, which has a test of its own at every one of them."""
    number, met = 1 - step, 0
    region = made(tmp_path / "store")
    while True:
        number += step
        for queue in ("LOGQ", "NOQ"):
            region.deleteq_td(queue)
            region.seed(queue, [b"one"])
        interrupt = RaiseAt(number, Boom, PACKAGE)
        try:
            with interrupt:
                region.close(clean=clean)
        except Boom:
            met += 1
            region.close(clean=clean)
        region = made(tmp_path / "store")
        assert region.peek("LOGQ") == [b"one"], interrupt.where
        assert region.peek("NOQ") in ([b"one"], []), interrupt.where
        if not interrupt.where:
            break
    region.close()
    assert met > 10


@pytest.mark.parametrize("queue", ["NOQ", "PHYQ", "LOGQ"])
def test_an_implicit_task_that_runs_out_of_stack_leaves_no_lock(tmp_path: Path, queue: str) -> None:
    with made(tmp_path / "store") as region:
        depth, frame = 0, sys._getframe()
        while frame is not None:
            depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
        met = 0
        for margin in range(2, 30):
            before = region.peek(queue)
            try:
                deep(sys.getrecursionlimit() - depth - margin, lambda: region.writeq_td(queue, b"deep"))
            except (RecursionError, Condition):
                met += 1
            assert region.peek(queue) in (before, [*before, b"deep"])
            free(region)
        assert met


@DURABILITY
@pytest.mark.parametrize("rounds", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_signals_at_any_moment(tmp_path: Path, rounds: int, durability: Durability) -> None:
    """Moves between two queues, interrupted by real signals: no record is lost or doubled, and no lock is left."""
    draw = random.Random(7)
    store = tmp_path / "store"
    region = made(store, durability)
    records = [b"%03d" % number for number in range(50)]
    region.seed("LOGQ", records)
    tasks: list[Task] = []

    def move() -> None:
        while True:
            tasks[:] = [task := region.task()]
            for source, target in (("LOGQ", "LOG2"), ("LOG2", "LOGQ")):
                task.writeq_td(target, task.readq_td(source, nohandle=True) or b"none")
                task.syncpoint() if draw.random() < 0.8 else task.syncpoint_rollback()
            task.end(normal=True)

    with signals(Boom) as strike:
        for _ in range(rounds):
            assert strike(move, draw.uniform(0.0001, 0.005))
            tasks[0].end(normal=False)
            found = [*region.peek("LOGQ"), *region.peek("LOG2")]
            assert sorted(record for record in found if record != b"none") == records
            free(region)
            if draw.random() < 0.1:
                region.close()
                region = made(store, durability)
                assert sorted([*region.peek("LOGQ"), *region.peek("LOG2")]) == sorted(found)
        region.close()
