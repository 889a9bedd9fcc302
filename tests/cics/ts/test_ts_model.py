"""Temporary storage against a slow obvious model: items, NEXT, REWRITE, DELETEQ, backouts, one restart after another."""

from __future__ import annotations

import tempfile
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tdqsim.cics import Condition, Region, Task
from tdqsim.definitions import define_tsmodel
from tdqsim.errors import WouldWaitForever

DEFINITIONS = (
    define_tsmodel(name="KEPT", prefix="REC", recovery="YES"),
    define_tsmodel(name="MEMORY", prefix="MAIN", location="MAIN"),
)
NAMES = ["PLAIN", "MAIN", "RECA", "RECB"]
TASKS = (0, 1)
NO_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
"""A mistake is told at once, by the steps that have shown it; the long test finds fewer of them."""
names = st.sampled_from(["PLAIN", "MAIN", "RECA", "RECA", "RECA", "RECB"])
tasks = st.sampled_from(TASKS)


@dataclass
class Queue:
    items: list[bytes] = field(default_factory=list)
    position: int = 0


@dataclass
class Change:
    """What a unit of work has changed of a recoverable queue: who, what was there before, whether it is deleted."""

    task: int
    before: list[bytes]
    deleted: Queue | None = None


class Model:
    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}
        self.changes: dict[str, Change] = {}

    def enqueue(self, task: int, name: str) -> str:
        if not name.startswith("REC"):
            return ""
        if name in self.changes:
            return "" if self.changes[name].task == task else "WAITS"
        self.changes[name] = Change(task, list(self.queues[name].items) if name in self.queues else [])
        return ""

    def write(self, task: int, name: str, data: bytes, item: int | None) -> Any:
        if refused := self.enqueue(task, name):
            return refused
        queue = self.queues.get(name)
        if item is not None:
            if queue is None:
                return "QIDERR"
            if item > len(queue.items):
                return "ITEMERR"
            queue.items[item - 1] = data
            return item, len(queue.items)
        if queue is None:
            if name in self.changes and self.changes[name].deleted is not None:
                return "INVREQ"
            queue = self.queues[name] = Queue()
        queue.items.append(data)
        return len(queue.items), len(queue.items)

    def read(self, name: str, item: int | None) -> Any:
        queue = self.queues.get(name)
        if queue is None:
            return "QIDERR"
        number = queue.position + 1 if item is None else item
        if number > len(queue.items):
            return "ITEMERR"
        queue.position = number
        return queue.items[number - 1], len(queue.items)

    def delete(self, task: int, name: str) -> str:
        if refused := self.enqueue(task, name):
            return refused
        if name not in self.queues:
            return "QIDERR"
        queue = self.queues.pop(name)
        if name in self.changes:
            self.changes[name].deleted = queue
        return "NORMAL"

    def end(self, task: int, *, commit: bool) -> None:
        for name, change in tuple(self.changes.items()):
            if change.task == task:
                del self.changes[name]
                if not commit:
                    self.back_out(name, change)

    def back_out(self, name: str, change: Change) -> None:
        queue = change.deleted or self.queues.pop(name, Queue())
        if change.before:  # NEXT goes on behind the last item read of those that are there
            self.queues[name] = Queue(change.before, min(queue.position, len(change.before)))

    def restart(self, how: str) -> None:
        for task in TASKS:
            self.end(task, commit=False)
        kept = {"warm": ("REC", "PLAIN"), "emergency": ("REC",), "cold": ()}[how]
        queues = deepcopy(self.queues)
        self.queues = {name: Queue(queue.items) for name, queue in queues.items() if name.startswith(kept or ("-",))}


class TsMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory(prefix="tdqsim-test-")
        self.model, self.number = Model(), 0
        self.open()

    def teardown(self) -> None:
        self.region.close()
        self.place.cleanup()

    def open(self, **options: Any) -> None:
        self.region = Region(DEFINITIONS, store=f"{self.place.name}/store", **options)
        self.tasks: list[Task] = [self.region.task() for _ in TASKS]

    def answer(self, call: Any, *args: Any, **options: Any) -> Any:
        try:
            answer = call(*args, **options)
        except Condition as condition:
            return condition.name
        except WouldWaitForever:
            return "WAITS"
        return "NORMAL" if answer is None else tuple(answer)

    @initialize()
    def begin(self) -> None:
        """With some items, so that most requests find one."""
        for name in NAMES:
            self.write(0, name, None, 3)
        self.end(0, commit=True, ends=False)

    @rule(task=tasks, name=names, item=st.sampled_from([None, 1, 1, 2, 3, 5]), times=st.sampled_from([1, 1, 2]))
    def write(self, task: int, name: str, item: int | None, times: int) -> None:
        for _ in range(times):
            self.number += 1
            data = b"%d" % self.number
            options = {} if item is None else {"item": item, "rewrite": True}
            found = self.answer(self.tasks[task].writeq_ts, name, data, **options)
            assert found == self.model.write(task, name, data, item)

    @rule(task=tasks, name=names, item=st.sampled_from([None, None, None, 1, 2, 4]))
    def read(self, task: int, name: str, item: int | None) -> None:
        assert self.answer(self.tasks[task].readq_ts, name, item=item) == self.model.read(name, item)

    @rule(task=tasks, name=names)
    def read_to_the_end(self, task: int, name: str) -> None:
        found = "NORMAL"
        while not isinstance(found, str) or found == "NORMAL":
            found = self.answer(self.tasks[task].readq_ts, name)
            assert found == self.model.read(name, None)

    @precondition(lambda self: self.number % 8 == 0)
    @rule(task=tasks, name=names)
    def delete(self, task: int, name: str) -> None:
        assert self.answer(self.tasks[task].deleteq_ts, name) == self.model.delete(task, name)

    @rule(task=tasks, commit=st.booleans(), ends=st.booleans())
    def end(self, task: int, commit: bool, ends: bool) -> None:
        if ends:
            self.tasks[task].__exit__(None, None, None) if commit else self.tasks[task].end(normal=False)
            self.tasks[task] = self.region.task()
        elif commit:
            self.tasks[task].syncpoint()
        else:
            self.tasks[task].syncpoint_rollback()
        self.model.end(task, commit=commit)

    @precondition(lambda self: self.number % 4 == 1)
    @rule(how=st.sampled_from(["warm", "emergency", "emergency", "cold"]))
    def restart(self, how: str) -> None:
        if how != "emergency":  # a task that runs is ended as it wishes: these are backed out
            for task in self.tasks:
                task.end(normal=False)
        self.region.close(clean=how != "emergency")
        self.model.restart(how)
        self.open(start="COLD" if how == "cold" else "AUTO")

    @invariant()
    def the_same_is_there(self) -> None:
        there = self.region._core.ts.queues
        assert {name: queue.items for name, queue in there.items()} == {
            name: queue.items for name, queue in self.model.queues.items()
        }
        assert {name: queue.position for name, queue in there.items()} == {
            name: queue.position for name, queue in self.model.queues.items()
        }


TsMachine.TestCase.settings = settings(max_examples=50, stateful_step_count=40, deadline=None, phases=NO_SHRINKING)
TestTsAgainstModel = TsMachine.TestCase


@pytest.mark.slow
class TestTsAgainstModelLong(TsMachine.TestCase):  # type: ignore[name-defined,misc]
    """The same for longer."""

    settings = settings(max_examples=1500, stateful_step_count=60, deadline=None)
