"""Whatever is raised while a task is made, at whatever line: there is such a task, whole, or there is none.

An exception is raised at each line of the package that runs while tasks are started, one after the other; by default at
some of them, at all in the slow tests. A task that is listed can be waited for and ends; one that began ran once; its
terminal and its queue's cycle are free for the next; and the name of a request that began no task can be used again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

import tdqsim
from tdqsim.cics import Region, Task
from tdqsim.core.fiber import Fiber
from tdqsim.definitions import define_tdqueue, define_terminal
from tdqsim.facts import Resp
from tests.interrupts import RaiseAt

PACKAGE = str(Path(tdqsim.__file__).parent)


class Boom(KeyboardInterrupt):
    """What is raised."""


class World:
    """A region whose transaction JOBT says with what it ran: its terminal, and the data that it was given."""

    def __init__(self) -> None:
        self.region = Region(
            [
                define_tdqueue(name="TRGQ", type="INTRA", transid="JOBT", triggerlevel=1, atifacility="FILE"),
                define_tdqueue(
                    name="TRGL", type="INTRA", transid="JOBT", triggerlevel=1, atifacility="FILE", recovstatus="LOGICAL"
                ),
                define_tdqueue(
                    name="TRGT", type="INTRA", transid="JOBT", triggerlevel=1, atifacility="TERMINAL", facilityid="T001"
                ),
                define_terminal(name="T001"),
            ],
            supplied_queues=False,
        )
        self.ran: list[tuple[str, bytes, str]] = []
        self.begun: set[int] = set()
        self.region.register("JOBT", self._job)
        self.region.dispatcher.on_dispatch = self._dispatched
        self.mine: list[Task] = []

    def _dispatched(self, fiber: Fiber) -> None:
        if fiber.name.endswith("JOBT"):
            self.begun.add(fiber.number)

    def outside(self) -> Task:
        self.mine.append(self.region.task())
        return self.mine[-1]

    def end(self) -> None:
        """The programs outside go on with their tasks, and end them."""
        self.region.set_terminal("T001", servstatus="INSERVICE")
        for task in self.mine:
            if not task._ended:
                task.syncpoint()
            task.end(normal=True)
        for task in self.region.tasks.values():
            assert task._fiber is not None
        self.region.run()

    def _job(self, task: Task) -> None:
        assert task._fiber is not None
        assert self.region.tasks[task.number] is task
        data = task.retrieve(nohandle=True)
        channel = task._level.channel_name if task._level is not None else ""
        self.ran.append((task.eib.eibtrmid.rstrip(), data, task.eib.eibreqid.rstrip() + channel))
        queue = {"TRGQ", "TRGL", "TRGT"} & {task._request.queue.name if task._request is not None else ""}
        for name in queue:
            while task.readq_td(name, nohandle=True):
                pass


def commits(world: World, start: Callable[[Task], object]) -> None:
    task = world.outside()
    start(task)
    task.syncpoint()
    task.end(normal=True)


def syncpoint(world: World, start: Callable[[Task], object]) -> Callable[[], None]:
    """It is interrupted alone: what goes before is whole."""
    task = world.outside()
    start(task)
    return task.syncpoint


def waits_for_terminal(world: World) -> Callable[[], None]:
    region = world.region
    region.set_terminal("T001", servstatus="OUTSERVICE")
    with region.task() as task:
        task.start("JOBT", b"data", termid="T001", reqid="NAME")
    return lambda: region.set_terminal("T001", servstatus="INSERVICE")


def comes_due(world: World) -> Callable[[], None]:
    with world.region.task() as task:
        task.start("JOBT", b"data", interval=10, reqid="NAME", channel="CHAN")
    return world.region.run


DATA = ("", b"data", "NAME")
WAYS: dict[str, tuple[Callable[[World], Callable[[], object]], tuple[str, bytes, str], bool]] = {
    # what gives the call that is interrupted, with what the task runs, and whether it must begin whatever happens
    "start": (lambda w: lambda: w.region.start("JOBT"), ("", b"", ""), False),
    "start with data": (lambda w: lambda: w.region.start("JOBT", data=b"data"), ("", b"data", ""), False),
    "start at a terminal": (lambda w: lambda: w.region.start("JOBT", terminal="T001"), ("T001", b"", ""), False),
    "typed": (lambda w: lambda: w.region.screens.type("T001", "JOBT"), ("T001", b"", ""), False),
    "trigger": (lambda w: lambda: w.region.writeq_td("TRGQ", b"it"), ("", b"", ""), False),
    "trigger at a commit": (lambda w: lambda: w.region.writeq_td("TRGL", b"it"), ("", b"", ""), False),
    "trigger at a terminal": (lambda w: lambda: w.region.writeq_td("TRGT", b"it"), ("T001", b"", ""), False),
    "START": (lambda w: lambda: commits(w, lambda t: t.start("JOBT", b"data", reqid="NAME")), DATA, False),
    "START CHANNEL": (
        lambda w: lambda: commits(w, lambda t: t.start("JOBT", reqid="NAME", channel="CHAN")),
        ("", b"", "NAMECHAN"), False,
    ),
    "START TERMID": (
        lambda w: lambda: commits(w, lambda t: t.start("JOBT", b"data", termid="T001", reqid="NAME")),
        ("T001", b"data", "NAME"), False,
    ),
    "START INTERVAL": (
        lambda w: lambda: commits(w, lambda t: t.start("JOBT", b"data", interval=10, reqid="NAME")), DATA, False,
    ),
    "START PROTECT": (
        lambda w: lambda: commits(w, lambda t: t.start("JOBT", b"data", reqid="NAME", protect=True)), DATA, False,
    ),
    "SYNCPOINT after PROTECT": (
        lambda w: syncpoint(w, lambda t: t.start("JOBT", b"data", reqid="NAME", protect=True)), DATA, True,
    ),
    "SYNCPOINT after PROTECT INTERVAL": (
        lambda w: syncpoint(w, lambda t: t.start("JOBT", b"data", interval=1, reqid="NAME", protect=True)), DATA, True,
    ),
    "SYNCPOINT after PROTECT TERMID": (
        lambda w: syncpoint(w, lambda t: t.start("JOBT", b"data", termid="T001", reqid="NAME", protect=True)),
        ("T001", b"data", "NAME"), True,
    ),
    "an interval is over": (comes_due, ("", b"data", "NAMECHAN"), True),
    "the terminal comes": (waits_for_terminal, ("T001", b"data", "NAME"), True),
}  # fmt: skip


def interrupted(way: str, step: int) -> Iterator[tuple[World, RaiseAt]]:
    """A world after each, or some, of the lines at which the call can be interrupted; in the last one it was not."""
    for number in count(1, step):
        world = World()
        call = WAYS[way][0](world)
        interrupt = RaiseAt(number, Boom, PACKAGE)
        with suppress(Boom), interrupt:
            call()
        yield world, interrupt
        world.region.close()
        if not interrupt.where:
            break
    assert number > 10


@pytest.mark.parametrize("step", [61, pytest.param(1, marks=pytest.mark.slow)], ids=["some lines", "all"])
@pytest.mark.parametrize("way", WAYS)
def test_a_task_is_made_whole_or_not_at_all(way: str, step: int) -> None:
    _, expected, certain = WAYS[way]
    for world, interrupt in interrupted(way, step):
        region = world.region
        world.end()
        assert len(world.begun) == 1 or (not world.begun and interrupt.where and not certain), interrupt.where
        assert world.ran == [expected] or (not world.ran and interrupt.where), interrupt.where
        assert not region.tasks, interrupt.where
        assert not region.dispatcher.fibers, interrupt.where
        assert not region.recovery.units, interrupt.where
        again(world, interrupt)


def again(world: World, interrupt: RaiseAt) -> None:
    """Whatever could be started before can be started now, once."""
    region = world.region
    region.deleteq_td("TRGT")  # which ends its cycle; that of a task that was interrupted stays on
    for what, act in enumerate(
        (
            lambda: region.writeq_td("TRGQ", b"it"),
            lambda: region.writeq_td("TRGL", b"it"),
            lambda: region.writeq_td("TRGT", b"it"),
            lambda: region.start("JOBT", terminal="T001"),
            lambda: commits(world, lambda t: t.start("JOBT", b"data", reqid="NAME")),
        )
    ):
        world.ran.clear()
        act()
        region.run()
        world.end()
        assert len(world.ran) == 1, (what, interrupt.where)
    with region.task() as task:
        task.cancel("NAME", nohandle=True)
        assert task.eib.eibresp == Resp.NOTFND, interrupt.where


def test_a_task_of_the_program_outside_that_nobody_has_is_not_listed() -> None:
    number = 0
    while True:
        number += 1
        with Region(supplied_queues=False) as region:
            interrupt, made = RaiseAt(number, Boom, PACKAGE), []
            with suppress(Boom), interrupt:
                made.append(region.task())
            assert list(region.tasks.values()) == made, interrupt.where
            if made:
                made[0].end(normal=True)
        if not interrupt.where:
            break
    assert number > 10


def waiting_for_delay(task: Task) -> Any:
    return task.delay(seconds=5, reqid="NAME")


@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.slow)], ids=["some lines", "all"])
def test_a_wait_that_was_interrupted_leaves_nothing_listed(step: int) -> None:
    for number in count(1, step):
        with Region(supplied_queues=False) as region:
            interrupt = RaiseAt(number, Boom, PACKAGE)
            with suppress(Boom), interrupt:
                region.delay(seconds=5, reqid="NAME")
            assert not region.tasks, interrupt.where
            with region.task() as task:
                interrupt_again = RaiseAt(number, Boom, PACKAGE)
                with suppress(Boom), interrupt_again:
                    waiting_for_delay(task)
                assert task._suspended is None, interrupt.where
                task.cancel("NAME", nohandle=True)
                assert task.eib.eibresp == Resp.NOTFND, interrupt_again.where
                task.delay(seconds=1, reqid="NAME")
            assert not region.tasks, interrupt.where
        if not interrupt.where:
            break
    assert number > step


@freeze_time("2026-01-01")
def test_a_cancel_that_was_interrupted_ended_the_wait_or_can_be_issued_again() -> None:
    number = 0
    while True:
        number += 1
        with Region(supplied_queues=False) as region:
            region.start(waiting_for_delay)
            region.dispatcher.run_ready()
            with region.task() as task:
                interrupt = RaiseAt(number, Boom, PACKAGE)
                with suppress(Boom), interrupt:
                    task.cancel("NAME")
                began = region.clock.time_ns()
                task.cancel("NAME", nohandle=True)
                assert task.eib.eibresp in {Resp.NORMAL, Resp.NOTFND}, interrupt.where
                region.dispatcher.run_ready()
                assert list(region.tasks.values()) == [task], interrupt.where
                assert region.clock.time_ns() == began, interrupt.where
                task.cancel("NAME", nohandle=True)
                assert task.eib.eibresp == Resp.NOTFND, interrupt.where
        if not interrupt.where:
            break
    assert number > 10
