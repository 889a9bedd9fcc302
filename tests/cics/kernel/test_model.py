"""The region against a slow obvious model, through tasks, commits, backouts, waits, disables, crashes and restarts.

The model shares nothing with the region but the vendor's names. It holds each queue as a plain list, each unit of work
as what it would do, and decides by the tables of the reference alone.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tdqsim import StartOptions
from tdqsim.cics import Condition, Region, Task
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import WouldWaitForever

RECOVERY = {"NO1": "NO", "PH1": "PHYSICAL", "LR1": "LOGICAL", "LR2": "LOGICAL"}
DEFINITIONS = [define_tdqueue(name=name, type="INTRA", recovstatus=value) for name, value in RECOVERY.items()]
QUEUES = st.sampled_from(sorted(RECOVERY))
TASKS = st.integers(0, 2)
WAITS = "WAITS"


@dataclass
class ModelUow:
    """What one task has done and not committed: per queue (records read, deleted, records written)."""

    read: dict[str, list[bytes]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    written: dict[str, list[bytes]] = field(default_factory=dict)
    ends: set[tuple[str, str]] = field(default_factory=set)
    last_physical: dict[str, bytes] = field(default_factory=dict)


class Model:
    """The region as the reference describes it."""

    def __init__(self) -> None:
        self.records: dict[str, list[bytes]] = {name: [] for name in RECOVERY}
        self.status = dict.fromkeys(RECOVERY, "ENABLED")
        self.uows = [ModelUow() for _ in range(3)]

    def holder(self, queue: str, end: str) -> int | None:
        return next((index for index, uow in enumerate(self.uows) if (queue, end) in uow.ends), None)

    def refused(self, task: int, queue: str) -> str | None:
        if self.status[queue] == "ENABLED":
            return None
        owns = any((queue, end) in self.uows[task].ends for end in ("R", "W"))
        return None if self.status[queue] == "DISABLING" and owns else "DISABLED"

    def busy(self, task: int, queue: str, end: str) -> bool:
        return self.holder(queue, end) not in (None, task)

    def write(self, task: int, queue: str, data: bytes) -> str:
        if (answer := self.refused(task, queue)) is not None:
            return answer
        if RECOVERY[queue] != "LOGICAL":
            self.records[queue].append(data)
            return "NORMAL"
        if self.busy(task, queue, "W"):
            return WAITS
        self.uows[task].ends.add((queue, "W"))
        self.uows[task].written.setdefault(queue, []).append(data)
        return "NORMAL"

    def read(self, task: int, queue: str, *, nosuspend: bool) -> str | bytes:
        if (answer := self.refused(task, queue)) is not None:
            return answer
        uow = self.uows[task]
        if RECOVERY[queue] != "LOGICAL":
            if not self.records[queue]:
                return "QZERO"
            record = self.records[queue].pop(0)
            if RECOVERY[queue] == "PHYSICAL":
                uow.last_physical[queue] = record
            return record
        wait = "QBUSY" if nosuspend else WAITS
        if self.busy(task, queue, "R"):
            return wait
        had = (queue, "R") in uow.ends
        uow.ends.add((queue, "R"))
        seen = uow.read.setdefault(queue, [])
        committed = [] if queue in uow.deleted else self.records[queue][len(seen) :]
        if committed:
            seen.append(committed[0])
            return committed[0]
        if self.busy(task, queue, "W"):
            if not had:  # neither QBUSY nor a wait that nothing can end keeps the end
                uow.ends.discard((queue, "R"))
            return wait
        own = uow.written.get(queue, [])
        return own.pop(0) if own else "QZERO"

    def delete(self, task: int, queue: str) -> str:
        if (answer := self.refused(task, queue)) is not None:
            return answer
        if RECOVERY[queue] != "LOGICAL":
            self.records[queue].clear()
            for uow in self.uows:
                uow.last_physical.pop(queue, None)
            return "NORMAL"
        if self.busy(task, queue, "R") or self.busy(task, queue, "W"):
            return WAITS
        self.uows[task].ends |= {(queue, "R"), (queue, "W")}
        self.uows[task].deleted.add(queue)
        self.uows[task].written.pop(queue, None)
        return "NORMAL"

    def end(self, task: int, *, commit: bool) -> None:
        uow, self.uows[task] = self.uows[task], ModelUow()
        if commit:
            for queue in RECOVERY:
                if queue in uow.deleted:
                    self.records[queue].clear()
                else:
                    del self.records[queue][: len(uow.read.get(queue, []))]
                self.records[queue] += uow.written.get(queue, [])
        for queue in RECOVERY:
            self.settle(queue)

    def settle(self, queue: str) -> None:
        if self.status[queue] == "DISABLING" and all(self.holder(queue, end) is None for end in ("R", "W")):
            self.status[queue] = "DISABLED"

    def disable(self, queue: str) -> None:
        if self.status[queue] == "ENABLED":
            self.status[queue] = "DISABLING"
            self.settle(queue)

    def restart(self, *, clean: bool, empty: bool) -> None:
        for queue, kind in RECOVERY.items():
            if empty or (kind == "NO" and not clean):
                self.records[queue].clear()
            elif kind == "PHYSICAL" and not clean:
                back = [uow.last_physical[queue] for uow in self.uows if queue in uow.last_physical]
                self.records[queue][:0] = sorted(back)  # records are numbered, and are read in order
        self.status = dict.fromkeys(RECOVERY, "ENABLED")
        self.uows = [ModelUow() for _ in range(3)]


class RegionMachine(RuleBasedStateMachine):
    """Three tasks of the program outside, so that a wait shows at once as one that nothing can end."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory(prefix="tdqsim-test-")
        self.number = 0

    @initialize(ci_size=st.sampled_from([512, 4096]))
    def begin(self, ci_size: int) -> None:
        self.options: dict[str, Any] = {"dfhintra": {"ci_size": ci_size}, "supplied_queues": False}
        self.model = Model()
        self.region = self.open()

    def open(self, **more: Any) -> Region:
        region = Region(DEFINITIONS, store=f"{self.directory.name}/store", **self.options, **more)
        self.tasks: list[Task] = [region.task() for _ in range(3)]
        return region

    def answer(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            value = call(*args, **kwargs)
        except Condition as condition:
            return condition.name
        except WouldWaitForever:
            return WAITS
        return "NORMAL" if value is None else value

    @rule(task=TASKS, queue=QUEUES, size=st.integers(8, 300))
    def write(self, task: int, queue: str, size: int) -> None:
        self.number += 1
        data = b"%08d" % self.number + b"." * (size - 8)
        assert self.answer(self.tasks[task].writeq_td, queue, data) == self.model.write(task, queue, data)

    @rule(task=TASKS, queue=QUEUES, nosuspend=st.booleans())
    def read(self, task: int, queue: str, nosuspend: bool) -> None:
        found = self.answer(self.tasks[task].readq_td, queue, nosuspend=nosuspend)
        expected = self.model.read(task, queue, nosuspend=nosuspend)
        assert found == expected
        if expected == "QBUSY":
            assert self.tasks[task].eib.eibresp.name == "QBUSY"

    @rule(task=TASKS, queue=QUEUES)
    def delete(self, task: int, queue: str) -> None:
        assert self.answer(self.tasks[task].deleteq_td, queue) == self.model.delete(task, queue)

    @rule(task=TASKS)
    def syncpoint(self, task: int) -> None:
        self.tasks[task].syncpoint()
        self.model.end(task, commit=True)

    @rule(task=TASKS)
    def rollback(self, task: int) -> None:
        self.tasks[task].syncpoint_rollback()
        self.model.end(task, commit=False)

    @rule(task=TASKS, commit=st.booleans())
    def ends(self, task: int, commit: bool) -> None:
        if commit:
            self.tasks[task].__exit__(None, None, None)
        else:
            self.tasks[task].end(normal=False)
        self.model.end(task, commit=commit)
        self.tasks[task] = self.region.task()

    @rule(queue=QUEUES)
    def disable(self, queue: str) -> None:
        if self.model.status[queue] != "DISABLING":
            self.region.set_tdqueue(queue, enablestatus="DISABLED")
            self.model.disable(queue)

    @precondition(lambda self: any(status == "DISABLED" for status in self.model.status.values()))
    @rule()
    def enable_all(self) -> None:
        for queue, status in self.model.status.items():
            if status == "DISABLED":
                self.region.set_tdqueue(queue, enablestatus="ENABLED")
                self.model.status[queue] = "ENABLED"

    @rule(clean=st.booleans(), empty=st.sampled_from([False, False, False, True]))
    def restart(self, clean: bool, empty: bool) -> None:
        self.region.close(clean=clean)
        self.model.restart(clean=clean, empty=empty)
        self.region = self.open(start=StartOptions(tdintra="EMPTY" if empty else "NOEMPTY"))
        assert self.region.recovery.start_type == ("WARM" if clean else "EMERGENCY")

    @invariant()
    def same_records(self) -> None:
        if not hasattr(self, "region"):
            return
        for queue in RECOVERY:
            assert self.region.peek(queue) == self.model.records[queue], queue
            state: Any = self.region.tdqueues[queue]
            assert state.numitems == len(self.model.records[queue])
            assert state.enablestatus.name == self.model.status[queue]

    @invariant()
    def room_is_accounted(self) -> None:
        if not hasattr(self, "region"):
            return
        queues: list[Any] = list(self.region.tdqueues.values())
        assert self.region._core.intra.in_use >= sum(queue.cis for queue in queues)
        assert self.region._core.intra.count() == sum(queue.cis for queue in queues)
        idle = all(not uow.ends for uow in self.model.uows)
        if idle and not any(self.model.records.values()):
            assert self.region._core.intra.count() == 0

    def teardown(self) -> None:
        if hasattr(self, "region"):
            self.region.close()
        self.directory.cleanup()


RegionMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestRegionAgainstModel = RegionMachine.TestCase
