"""Trigger cycles against a slow obvious model: progress, abends, SET, a full backlog, one restart after another.

Each request is followed by everything that it starts, so the model is a loop: while a task of the queue is due, it takes
so many records and ends. :mod:`tests.cics.kernel.test_many_tasks` has what happens when several tasks meet.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tdqsim.cics import Region, Task
from tdqsim.definitions import define_tdqueue, define_terminal, define_transaction
from tdqsim.facts import Resp

NO_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
"""A mistake is told at once, by the steps that have shown it; the long test finds fewer of them."""
MOST_STARTS = 20
"""Starts in a row that take no record."""
FACILITIES = {"NOTE": "TERMINAL", "PHTE": "TERMINAL", "LOTE": "TERMINAL", "LOFI": "FILE"}
RECOVERY = {"NO": "NO", "PH": "PHYSICAL", "LO": "LOGICAL"}
ALL = 1000
queues = st.sampled_from(sorted(FACILITIES))


@dataclass
class Queue:
    """A queue, its cycle, and what its program does: takes so many records, and ends normally or not."""

    name: str
    records: list[bytes] = field(default_factory=list)
    level: int = 1
    on: bool = False
    abended: bool = False
    takes: int = ALL
    normal: bool = True
    starts: int = 0
    tasks: int = 0

    @property
    def recovery(self) -> str:
        return RECOVERY[self.name[:2]]

    def look(self) -> None:
        """The count is checked: after a write, or a commit that wrote."""
        if not self.on and 0 < self.level <= len(self.records):
            self.on, self.starts = True, 0
            self.run()

    def run(self) -> None:
        """The tasks of a cycle, until none is due."""
        while True:
            if FACILITIES[self.name] == "TERMINAL":
                if self.starts >= MOST_STARTS:
                    return
                self.starts += 1
            self.tasks += 1
            taken, empty = self.records[: self.takes], self.takes > len(self.records)
            backed_out = self.recovery == "LOGICAL" and not self.normal
            if not backed_out:
                del self.records[: len(taken)]
                self.starts = 0 if taken else self.starts
                self.on = self.on and not empty
            if not self.on:
                return
            if FACILITIES[self.name] == "FILE":
                self.on = False
                return
            self.abended = not self.normal
            if self.abended:
                return
            if not self.level:
                self.on = False
                return

    def over(self) -> None:
        self.on = self.abended = False

    def restart(self, *, clean: bool) -> None:
        """What is on the log, and a cycle of a terminal that goes on."""
        if not clean and self.recovery == "NO":
            self.records.clear()
            self.over()
        self.abended = False
        goes_on = self.on and FACILITIES[self.name] == "TERMINAL" and 0 < self.level <= len(self.records)
        self.on, self.starts, self.tasks = goes_on, 0, 0
        if goes_on:
            self.run()


class TriggerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory(prefix="tdqsim-test-")
        self.model = {name: Queue(name) for name in FACILITIES}
        self.number = 0
        self.definitions = [
            each
            for name, facility in FACILITIES.items()
            for each in (
                define_tdqueue(
                    name=name, type="INTRA", recovstatus=RECOVERY[name[:2]], triggerlevel=1, transid=name,
                    atifacility=facility, **({"facilityid": name} if facility == "TERMINAL" else {}),
                ),
                define_transaction(name=name),
                define_terminal(name=name),
            )
        ]  # fmt: skip
        self.region = self.open()

    @initialize(
        levels=st.lists(st.sampled_from([1, 2, 30]), min_size=4, max_size=4),
        takes=st.lists(st.sampled_from([0, 1, 1, 2, ALL]), min_size=4, max_size=4),
        normal=st.lists(st.booleans(), min_size=4, max_size=4),
    )
    def begin(self, levels: list[int], takes: list[int], normal: list[bool]) -> None:
        for name, *values in zip(FACILITIES, levels, takes, normal, strict=True):
            queue = self.model[name]
            queue.level, queue.takes, queue.normal = values
            self.region.set_tdqueue(name, triggerlevel=queue.level)

    def teardown(self) -> None:
        self.region.close()
        self.place.cleanup()

    def open(self, **options: Any) -> Region:
        region = Region(self.definitions, store=f"{self.place.name}/store", supplied_queues=False, **options)
        for name in FACILITIES:
            region.register(name, self.program(name))
        self.settle(region)
        return region

    def program(self, name: str) -> Callable[[Task], None]:
        def taking(task: Task) -> None:
            queue = self.model[name]
            for _ in range(queue.takes):
                task.readq_td(name, nohandle=True)
                if task.eib.eibresp is Resp.QZERO:
                    break
            if not queue.normal:
                task.abend("ENDS", nodump=True)

        return taking

    @staticmethod
    def settle(region: Region) -> None:
        region.execute("ASKTIME", {})  # after a command outside a task the others have their turn

    @rule(name=queues, count=st.sampled_from([1, 1, 2, 30]), commit=st.sampled_from([True, True, True, False]))
    def write(self, name: str, count: int, commit: bool) -> None:
        queue = self.model[name]
        records = [b"%d" % (self.number + at) for at in range(count)]
        self.number += count
        if queue.recovery != "LOGICAL":
            for record in records:
                self.region.writeq_td(name, record)
                self.settle(self.region)
                queue.records.append(record)
                queue.look()
            return
        with self.region.task() as task:
            for record in records:
                task.writeq_td(name, record)
            if not commit:
                task.syncpoint_rollback()
        self.settle(self.region)
        if commit:
            queue.records += records
            queue.look()

    @rule(name=queues, how=st.sampled_from(["read", "read", "read all", "delete"]))
    def take(self, name: str, how: str) -> None:
        queue = self.model[name]
        if how == "delete":
            self.region.deleteq_td(name)
            queue.records.clear()
            queue.over()
        elif how == "read all":
            assert list(self.region.readq_td_all(name)) == queue.records
            queue.records.clear()
            queue.over()
        elif queue.records:
            assert self.region.readq_td(name) == queue.records.pop(0)
        self.settle(self.region)

    @rule(name=queues, takes=st.sampled_from([0, 1, 1, 2, ALL]), normal=st.booleans())
    def program_changes(self, name: str, takes: int, normal: bool) -> None:
        self.model[name].takes, self.model[name].normal = takes, normal

    @rule(name=queues, level=st.sampled_from([0, 1, 2, 30]))
    def set_level(self, name: str, level: int) -> None:
        queue = self.model[name]
        self.region.set_tdqueue(name, triggerlevel=level)
        self.settle(self.region)
        queue.level = level
        if not queue.abended:
            queue.over()

    @precondition(lambda self: self.number % 2)
    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        self.region.close(clean=clean)
        self.region = self.open()
        for queue in self.model.values():
            queue.restart(clean=clean)

    @invariant()
    def the_same(self) -> None:
        for name, queue in self.model.items():
            state: Any = self.region.tdqueues[name]
            assert self.region.peek(name) == queue.records, name
            assert (state.triggers, state.latch) == (queue.tasks, queue.on), name


TriggerMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, phases=NO_SHRINKING)
TestTriggersAgainstModel = TriggerMachine.TestCase


@pytest.mark.slow
class TestTriggersAgainstModelLong(TriggerMachine.TestCase):  # type: ignore[name-defined,misc]
    """The same for longer."""

    settings = settings(max_examples=1000, stateful_step_count=60, deadline=None)
