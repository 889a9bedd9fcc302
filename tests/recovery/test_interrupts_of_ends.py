"""Whatever is raised at the end of a task, at whatever line: the end is completed later, and nothing of it is left.

An exception is raised at each line of the package that the end of a task runs through, in its block or in a fiber. What
comes next, a command or a run of the dispatcher, completes the end: the task is not listed, its ENQ, its unit of work and
its terminal are free, and its queue's cycle goes on as often as it should.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest

import tdqsim
from tdqsim.cics import Region, Task
from tdqsim.definitions import define_tdqueue, define_terminal
from tdqsim.errors import UsageError
from tdqsim.facts import Resp
from tests.interrupts import RaiseAt

PACKAGE = str(Path(tdqsim.__file__).parent)
DURABILITY = pytest.mark.parametrize("durability", ["process", "power"])


class Boom(KeyboardInterrupt):
    """What is raised."""


KINDS = [Boom, MemoryError]


def free(region: Region, where: object) -> None:
    """The next task gets all that the last one had."""
    with region.task() as other:
        assert list(region.tasks.values()) == [other], where
        other.enq(b"RES", nosuspend=True)
        other.writeq_td("LOGQ", b"other")
        other.readq_td("LOGQ")
        assert other.eib.eibresp == Resp.NORMAL
        other.syncpoint_rollback()
    assert not region.recovery.units, where


@DURABILITY
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outcome", ["commit", "backout"])
@pytest.mark.parametrize("then", ["a command", "a run"])
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)], ids=["every fifth line", "all"])
def test_the_end_of_a_block_that_was_interrupted_is_completed(
    tmp_path: Path,
    step: int,
    then: str,
    outcome: str,
    kind: type[BaseException],
    durability: Literal["process", "power"],
) -> None:
    """By default the lines that one kind leaves out are those of the other kind."""
    queues = [
        define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
        define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    ]
    region = Region(queues, supplied_queues=False, store=tmp_path / "store", durability=durability)
    number = 1 - step if kind is Boom else 0
    while True:
        number += step
        region.deleteq_td("LOGQ")
        region.seed("PHYQ", [b"read"])
        interrupt = RaiseAt(number, kind, PACKAGE)
        try:
            with suppress(kind, ZeroDivisionError), region.task() as task:
                task.enq(b"RES", task=True)
                task.readq_td("PHYQ")
                task.writeq_td("LOGQ", b"new")
                interrupt.__enter__()
                if outcome == "backout":
                    raise ZeroDivisionError
        finally:
            interrupt.__exit__()
        if then == "a run":
            region.run()
            assert not region.tasks, interrupt.where
        free(region, interrupt.where)
        assert region.peek("LOGQ") in ([], [b"new"]), interrupt.where
        if not interrupt.where:
            break
    assert region.peek("LOGQ") == ([b"new"] if outcome == "commit" else [])
    region.close()
    assert number > 10


@DURABILITY
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)], ids=["some lines", "all"])
def test_the_cycle_of_a_task_whose_end_was_interrupted_goes_on_no_more_often(
    tmp_path: Path, step: int, kind: type[BaseException], durability: Literal["process", "power"]
) -> None:
    """Three records and a task for each; then one that finds none, which is the end of the cycle."""
    queues = [
        define_tdqueue(
            name="TRGT", type="INTRA", transid="JOBT", triggerlevel=3, atifacility="TERMINAL", facilityid="T001",
            recovstatus="LOGICAL",
        ),
        define_terminal(name="T001"),
        define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    ]  # fmt: skip
    ran: list[bytes] = []

    def job(task: Task) -> None:
        task.enq(b"RES", task=True)
        ran.append(task.readq_td("TRGT", nohandle=True))

    region = Region(queues, supplied_queues=False, store=tmp_path / "store", durability=durability)
    region.register("JOBT", job)
    number = 1 - step
    while True:
        number += step
        region.deleteq_td("TRGT")
        region.run()
        ran.clear()
        writer = region.start(lambda task: [task.writeq_td("TRGT", b"%d" % each) for each in range(3)])
        interrupt = RaiseAt(number, kind, PACKAGE)
        with suppress(kind), interrupt:
            region.run()
        region.run()
        assert writer.done
        assert not region.tasks, interrupt.where
        assert not region.dispatcher.fibers, interrupt.where
        committed = writer.exception is None
        assert len(ran) <= 4, (ran, interrupt.where)
        rolled_back = sum(ran.count(record) > 1 for record in set(ran))
        assert rolled_back <= (interrupt.where is not None), (ran, interrupt.where)
        region.seed("LOGQ", [b"one"])
        free(region, interrupt.where)
        region.readq_td("LOGQ")
        if not interrupt.where:
            break
        if committed and ran and ran[-1] == b"":
            assert region.peek("TRGT") == []
        region.deleteq_td("TRGT")
        ran.clear()
        region.start("JOBT", terminal="T001")
        region.run()
        assert ran == [b""], interrupt.where
    assert ran == [b"0", b"1", b"2", b""]
    region.close()


def test_an_interrupt_between_the_block_and_its_end_leaves_no_lock() -> None:
    """The exception is raised where a signal is most often handled: at the first instruction of what ends the block."""
    region = Region([define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")], supplied_queues=False)

    def interrupt(_frame: object, event: str, _arg: object) -> None:
        if event == "call":
            sys.settrace(None)
            raise Boom

    before = sys.gettrace()
    kept: list[Boom] = []  # the traceback keeps what its frames refer to
    try:
        with region.task() as task:
            task.enq(b"RES", task=True)
            task.writeq_td("LOGQ", b"new")
            sys.settrace(interrupt)
    except Boom as boom:
        kept.append(boom)
    finally:
        sys.settrace(before)
    region.writeq_td("LOGQ", b"other")
    assert (region.peek("LOGQ"), list(region.tasks), len(kept)) == ([b"other"], [], 1)
    with pytest.raises(UsageError, match="has ended"):
        task.writeq_td("LOGQ", b"late")
    free(region, "")


def test_a_command_outside_of_tasks_completes_the_end_of_a_block_that_was_left_without_it() -> None:
    queue = define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")
    with Region([queue], supplied_queues=False) as region:
        region.writeq_td("LOGQ", b"read")
        task = region.task().__enter__()
        task.readq_td("LOGQ")
        leave = task.__exit__
        del leave  # as an interrupt leaves it that comes between the block and its end
        assert region.readq_td("LOGQ", nosuspend=True) == b"read"
