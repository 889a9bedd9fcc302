"""Two linked regions against a model: tasks, commits, backouts, cut links, failures, restarts, SETs, in any order.

Every step is written down as a line of Python; a failure prints the lines as a script that can be pasted and run.
The model is two lists a queue and the tables of the behaviour reference; it shares no code with the regions.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tdqsim.cics.uow import restart
from tests.recovery.driver import Driver

NEAR_QUEUES = ("NLOG", "NNO", "NPHY")
FAR_QUEUES = ("FLOG", "FNO", "FPHY")
LOGICAL = ("NLOG", "FLOG")
STEPS = ("", "REQUEST", "REPLY", "PREPARE", "VOTE", "COMMIT", "COMMITTED", "BACKOUT", "BACKED_OUT")
queues = st.sampled_from(NEAR_QUEUES + FAR_QUEUES)


class Model:
    """The two regions, as the reference says they are.

    One unit of work, of a task in NEAR, may have changes in both; another one is prepared, or shunted, in FAR.
    """

    def __init__(self) -> None:
        self.records: dict[str, list[bytes]] = {name: [] for name in NEAR_QUEUES + FAR_QUEUES}
        self.disabled: set[str] = set()
        self.disabling: set[str] = set()
        self.forget_task()
        self.link = True
        self.shunted: Unit | None = None
        self.decision: str | None = None
        self.damage = 0
        self.heuristic: str | None = None

    def forget_task(self) -> None:
        self.unit: Unit | None = None
        self.lost = False
        self.reached = False
        self.disabling.clear()  # its last user is gone

    def set(self, name: str, *, disabled: bool) -> str | None:
        if name in self.disabling:
            return "INVREQ"
        if disabled and name not in self.disabled and self.unit is not None and name in self.unit.uses:
            self.disabling.add(name)
        (self.disabled.add if disabled else self.disabled.discard)(name)
        return None

    # -- one request ----------------------------------------------------------------------------------------------

    def request(self, kind: str, name: str, data: bytes, cut: str) -> Any:
        if self.unit is None:
            self.unit = Unit()
        if name in FAR_QUEUES:
            if self.lost or not self.link:
                return "SYSIDERR"
            if cut == "REQUEST":
                self.cut()
                return "SYSIDERR"
            answer = self.carry_out(kind, name, data)
            if name in LOGICAL or (name == "FPHY" and kind == "read" and answer != "QZERO"):
                self.reached = self.reached or name in LOGICAL or answer != "DISABLED"
            if cut == "REPLY":
                self.reached = True
                self.cut()
                return "SYSIDERR"
            return answer
        return self.carry_out(kind, name, data)

    def carry_out(self, kind: str, name: str, data: bytes) -> Any:
        unit = self.unit
        assert unit is not None
        if name in self.disabled and not (name in self.disabling and name in unit.uses):
            return "DISABLED"
        if name not in LOGICAL:
            return self.direct(kind, name, data)
        if (held := self.shunted) is not None and name == "FLOG":
            ends = {"read": "R", "write": "W", "delete": "RW"}[kind]
            if set(ends) & held.ends:
                return "LOCKED"
        return unit.do(kind, name, data, self.records[name], self.shunted)

    def direct(self, kind: str, name: str, data: bytes) -> Any:
        records = self.records[name]
        if kind == "write":
            records.append(data)
        elif kind == "delete":
            records.clear()
            if self.unit is not None:
                self.unit.last_read.pop(name, None)
        elif not records:
            return "QZERO"
        else:
            assert self.unit is not None
            data = records.pop(0)
            if name.endswith("PHY"):
                self.unit.last_read[name] = data
            return data
        return None

    def local(self, kind: str, name: str, data: bytes) -> Any:
        """The same by a task of its own in the region that has the queue."""
        mine, self.unit = self.unit, Unit()
        try:
            answer = self.carry_out(kind, name, data)
            self.unit.apply(self.records)
        finally:
            self.unit = mine
        if kind == "delete" and answer is None and mine is not None:
            mine.last_read.pop(name, None)
        return answer

    @property
    def may_be_locked(self) -> bool:
        """Whether the task holds an end of a LOGICAL queue, so that others may have to wait."""
        return self.unit is not None

    # -- the end of the unit of work ------------------------------------------------------------------------------

    def syncpoint(self, cut: str) -> str | None:
        unit = self.unit or Unit()
        if not self.reached:
            unit.apply(self.records)
            self.forget_task()
            return None
        if self.lost or cut == "PREPARE":
            self.cut_if(cut == "PREPARE" and not self.lost)
            self.forget_task()
            return "ROLLEDBACK"
        if cut == "VOTE":
            self.leave_in_doubt(unit, "BACKOUT")
            self.forget_task()
            self.cut()
            return "ROLLEDBACK"
        near, far = unit.parts()
        near.apply(self.records)
        if cut == "COMMIT":
            self.leave_in_doubt(far, "COMMIT")
        else:
            far.apply(self.records)
        self.forget_task()
        self.cut_if(cut in ("COMMIT", "COMMITTED"))
        return None

    def leave_in_doubt(self, unit: Unit, decision: str) -> None:
        _, far = unit.parts()
        self.shunted, self.decision = far, decision

    def rollback(self, cut: str) -> None:
        reached = self.reached and not self.lost
        self.forget_task()
        self.cut_if(reached and cut in ("BACKOUT", "BACKED_OUT"))

    # -- the link and failures ------------------------------------------------------------------------------------

    def cut(self) -> None:
        self.cut_if(True)

    def cut_if(self, really: bool) -> None:
        if really and self.link:
            self.link = False
            if self.reached:
                self.lost = True
                if self.unit is not None:
                    self.unit.forget_far()

    def talk(self) -> None:
        """The link is there again, and so is everybody."""
        self.link = True
        if self.shunted is not None:
            if self.decision == "COMMIT":
                self.shunted.apply(self.records)
            self.shunted = None
        if self.heuristic is not None:
            self.damage += self.heuristic != self.decision
            self.heuristic = None
        self.decision = None

    def force(self, how: str) -> None:
        assert self.shunted is not None
        if how == "COMMIT":
            self.shunted.apply(self.records)
        self.shunted = None
        self.heuristic = how

    def fail(self, region: str, *, clean: bool = False) -> None:
        prefix = region[0]
        unit = self.unit
        if unit is not None and not clean:
            for name, data in unit.last_read.items():
                if name.startswith(prefix):
                    self.records[name].insert(0, data)
        self.forget_task_in(prefix)
        if not clean:
            self.records[f"{prefix}NO"] = []
        self.damage = 0 if prefix == "F" else self.damage
        self.disabled = {name for name in self.disabled if not name.startswith(prefix)}

    def forget_task_in(self, prefix: str) -> None:
        if prefix == "N":
            self.forget_task()
        else:
            if self.reached:
                self.lost = True
            if self.unit is not None:
                self.unit.forget_far()


class Unit:
    """A unit of work: what it did to LOGICAL queues, and its last reads of PHYSICAL ones."""

    def __init__(self) -> None:
        self.reads: dict[str, int] = {}
        self.deleted: set[str] = set()
        self.writes: dict[str, list[bytes]] = {}
        self.last_read: dict[str, bytes] = {}
        self.ends: set[str] = set()
        self.uses: set[str] = set()

    def do(self, kind: str, name: str, data: bytes, committed: list[bytes], shunted: Unit | None) -> Any:
        self.uses.add(name)
        if name == "FLOG":
            self.ends |= set({"read": "R", "write": "W", "delete": "RW"}[kind])
        if kind == "write":
            self.writes.setdefault(name, []).append(data)
        elif kind == "delete":
            self.deleted.add(name)
            self.writes[name] = []
        else:
            done = self.reads.get(name, 0)
            if name not in self.deleted and done < len(committed):
                self.reads[name] = done + 1
                return committed[done]
            if name == "FLOG" and shunted is not None and "W" in shunted.ends:
                return "LOCKED"
            own = self.writes.get(name)
            return own.pop(0) if own else "QZERO"
        return None

    def apply(self, records: dict[str, list[bytes]]) -> None:
        for name in LOGICAL:
            if name in self.deleted:
                records[name].clear()
            else:
                del records[name][: self.reads.get(name, 0)]
            records[name] += self.writes.get(name, [])

    def parts(self) -> tuple[Unit, Unit]:
        """What it did near, and what it did far away."""
        near, far = Unit(), Unit()
        for part, name in ((near, "NLOG"), (far, "FLOG")):
            part.reads = {name: self.reads.get(name, 0)}
            part.deleted = self.deleted & {name}
            part.writes = {name: self.writes.get(name, [])}
        far.ends = self.ends
        return near, far

    def forget_far(self) -> None:
        self.reads.pop("FLOG", None)
        self.writes.pop("FLOG", None)
        self.deleted.discard("FLOG")
        self.last_read.pop("FPHY", None)
        self.ends.clear()


class Machine(RuleBasedStateMachine):
    """Steps in any order; every one goes to the driver, the model and the script."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="tdqsim-test-"))
        self.driver = Driver(self.directory)
        self.model = Model()
        self.script = ["from tests.recovery.driver import Driver", "d = Driver()"]
        self.number = 0

    def teardown(self) -> None:
        try:
            self.driver.check_histories()
        except AssertionError as error:
            self.script.append("d.check_histories()")
            self.fail_with(str(error))
        finally:
            self.driver.close()
            shutil.rmtree(self.directory)

    def step(self, line: str, expected: Any) -> None:
        """Do one line of the script; what comes of it must be what the model says."""
        self.script.append(f"assert {line} == {expected!r}")
        answer = eval(line, {"d": self.driver})
        if answer != expected:
            self.fail_with(f"{line} gave {answer!r}, not {expected!r}")

    def fail_with(self, reason: str) -> None:
        raise AssertionError("\n".join([reason, "To see it again:", *self.script]))

    @initialize(counts=st.lists(st.integers(0, 3), min_size=6, max_size=6))
    def begin(self, counts):
        for name, count in zip(NEAR_QUEUES + FAR_QUEUES, counts, strict=True):
            records = [b"%s%d" % (name.encode(), number) for number in range(count)]
            self.step(f"d.seed({name!r}, {records!r})", count)
            self.model.records[name] += records

    @rule(kind=st.sampled_from(["read", "write", "delete"]), name=queues, cut=st.sampled_from(STEPS[:3]))
    def request(self, kind, name, cut):
        self.number += 1
        data = b"%d" % self.number
        cut = cut if name in FAR_QUEUES and self.model.link and not self.model.lost else ""
        expected = self.model.request(kind, name, data, cut)
        self.step(f"d.request({kind!r}, {name!r}, {data!r}, {cut!r})", expected)

    @precondition(lambda self: self.model.link and not self.model.lost)
    @rule(
        kinds=st.lists(st.sampled_from(["read", "write", "delete"]), min_size=1, max_size=4), cut=st.sampled_from(STEPS)
    )
    def distributed(self, kinds, cut):
        """A distributed unit of work from beginning to end."""
        self.request("write", "NLOG", "")
        for kind in kinds:
            self.request(kind, "FLOG", "")
        self.syncpoint(cut)

    @precondition(lambda self: not self.model.may_be_locked)
    @rule(kind=st.sampled_from(["read", "write", "delete"]), name=queues)
    def local(self, kind, name):
        """A command in the region that has the queue, a task of its own."""
        self.number += 1
        data = b"%d" % self.number
        expected = self.model.local(kind, name, data)
        self.step(f"d.local({kind!r}, {name!r}, {data!r})", expected)

    @rule(cut=st.sampled_from(STEPS))
    def syncpoint(self, cut):
        cut = cut if cut in STEPS[3:7] and self.model.reached and self.model.link and not self.model.lost else ""
        self.step(f"d.syncpoint({cut!r})", self.model.syncpoint(cut))

    @rule(cut=st.sampled_from(["", "BACKOUT", "BACKED_OUT"]))
    def rollback(self, cut):
        cut = cut if self.model.reached and self.model.link and not self.model.lost else ""
        self.model.rollback(cut)
        self.step(f"d.rollback({cut!r})", None)

    @rule()
    def cut(self):
        self.model.cut()
        self.step("d.cut()", None)

    @precondition(lambda self: not self.model.link)
    @rule()
    def restore(self):
        self.model.talk()
        self.step("d.restore()", None)

    @rule(region=st.sampled_from(["NEAR", "FAR"]))
    def fail_and_start(self, region):
        self.model.fail(region)
        self.model.talk()
        self.step(f"d.again({region!r})", "EMERGENCY")

    @rule(region=st.sampled_from(["NEAR", "FAR"]))
    def end_and_start(self, region):
        self.model.fail(region, clean=True)
        self.model.talk()
        self.step(f"d.again({region!r}, clean=True)", "WARM")

    @rule()
    def fail_both(self):
        for region in ("NEAR", "FAR"):
            self.model.fail(region)
        self.model.talk()
        self.step("d.again('NEAR', 'FAR')", "EMERGENCY")

    @precondition(lambda self: self.model.shunted is not None)
    @rule(how=st.sampled_from(["COMMIT", "BACKOUT", "FORCE"]))
    def set_uow(self, how):
        self.model.force("BACKOUT" if how == "FORCE" else how)
        self.step(f"d.set_uow({how!r})", None)

    @rule(name=st.sampled_from(["NLOG", "NNO", "NPHY", "FNO", "FPHY"]), disabled=st.booleans())
    def set_enablestatus(self, name, disabled):
        expected = self.model.set(name, disabled=disabled)
        self.step(f"d.set({name!r}, {'DISABLED' if disabled else 'ENABLED'!r})", expected)

    @invariant()
    def all_is_as_it_should_be(self):
        model, driver = self.model, self.driver
        for name, records in model.records.items():
            if driver.peek(name) != records:
                self.script.append(f"assert d.peek({name!r}) == {records!r}")
                self.fail_with(f"{name} has {driver.peek(name)}, not {records}")
        if driver.in_doubt() != (model.shunted is not None):
            self.script.append(f"assert d.in_doubt() is {model.shunted is not None}")
            self.fail_with(f"in doubt: {driver.in_doubt()}")
        if driver.damage() != model.damage:
            self.script.append(f"assert d.damage() == {model.damage}")
            self.fail_with(f"damage: {driver.damage()}, not {model.damage}")


def machine(examples: int, steps: int, **more: Any) -> Callable[..., Any]:
    found = type("Found", (Machine,), {}).TestCase
    slow = [HealthCheck.too_slow]  # a machine that is busy with other things is no failure
    found.settings = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=slow, **more
    )
    return found


@pytest.mark.slow
def test_a_planted_bug_is_found_and_told_as_a_script(monkeypatch):
    """Nothing is given back to PHYSICAL queues; the script that is printed fails as the machine did."""
    monkeypatch.setattr(restart, "give_back_reads", lambda _region: None)
    case = machine(600, 20, database=None, phases=[Phase.generate], derandomize=True)("runTest")
    with pytest.raises(AssertionError, match="To see it again") as raised:
        case.runTest()
    script = str(raised.value).partition("To see it again:\n")[2]
    with pytest.raises(AssertionError):
        exec(script, {})
    monkeypatch.undo()
    exec(script, {})


TestTwoRegions = machine(15, 40)
TestTwoRegionsAtLength = pytest.mark.slow(machine(1000, 100))
