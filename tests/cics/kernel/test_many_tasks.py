"""Several tasks that wait for each other, are purged and timed out, trigger others and lose their queues, in any order.

Every step is written down as a line of Python; a failure prints the lines as a script that can be pasted and run.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tdqsim.cics.model.lock import READ_OUT, LockStanding
from tdqsim.facts import Resp
from tests.cics.kernel.many_driver import QUEUES, Driver
from tests.cics.kernel.many_model import State, Task, settled

REQUESTS = st.one_of(
    st.tuples(st.just("read"), st.sampled_from(sorted(QUEUES)), st.booleans()),
    st.tuples(st.just("write"), st.sampled_from(sorted(QUEUES)), st.none()),
    st.tuples(st.just("delete"), st.sampled_from(sorted(QUEUES)), st.none()),
)
OTHERS = st.sampled_from(
    [("syncpoint",), ("syncpoint",), ("rollback",), ("return",), ("abend",), ("exit", "commit"), ("exit", "rollback")]
)
LETTERS = st.one_of(REQUESTS, REQUESTS, OTHERS)


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.driver: Driver | None = None
        self.states = [State(QUEUES)]
        self.number = 0

    @initialize(
        seed=st.sampled_from([0, 0, 1, 2]),
        guarded=st.booleans(),
        dtimouts=st.lists(st.booleans(), min_size=2, max_size=4),
    )
    def begin(self, seed, guarded, dtimouts):
        self.driver = Driver(seed, guarded=guarded)
        self.script = ["from tests.cics.kernel.many_driver import Driver", f"d = Driver({seed}, guarded={guarded})"]
        for number, dtimout in enumerate(dtimouts):
            self.begin_task(f"t{number}", dtimout=dtimout)

    def begin_task(self, name: str, *, dtimout: bool) -> None:
        self.script.append(f"d.begin({name!r}, dtimout={dtimout})")
        self.driver.begin(name, dtimout=dtimout)
        for state in self.states:
            state.tasks[name] = Task(dtimout=dtimout)

    def teardown(self) -> None:
        if self.driver is not None:
            self.driver.close()

    @property
    def tasks(self) -> list[str]:
        return [name for name, task in self.states[0].tasks.items() if not task.ended]

    @property
    def idle(self) -> list[str]:
        return [name for name in self.tasks if not self.states[0].tasks[name].waits]

    @property
    def waiting(self) -> list[str]:
        return [name for name in self.tasks if self.states[0].tasks[name].waits]

    def step(self, line: str, expected: list[State], answer: str = "") -> None:
        """Do one line of the script; what can be seen then must be one of what the model says."""
        self.script.append(line)
        seen = eval(line, {"d": self.driver})
        possible = settled(expected)
        shown = [(answer, state.shown()) if answer else state.shown() for state in possible]
        self.states = [state for state, each in zip(possible, shown, strict=True) if each == seen]
        if not self.states:
            lines = ["nobody expected", f"  {seen}", "but one of", *(f"  {each}" for each in shown[:5])]
            self.script[-1] = f"assert {line} in {shown!r}"
            raise AssertionError("\n".join([*lines, "To see it again:", *self.script]))
        for state in self.states:
            for task in state.tasks.values():
                task.answers = []

    def model(self) -> list[State]:
        return deepcopy(self.states)

    @precondition(lambda self: self.idle)
    @rule(data=st.data(), count=st.sampled_from([1, 1, 1, 2, 3]))
    def together(self, data, count):
        names = data.draw(st.permutations(self.idle))[:count]
        letters = {name: self.letter(name, data) for name in names}
        states = self.model()
        for state in states:
            for name, letter in letters.items():
                state.tasks[name].posted = letter
        told = ", ".join(f"{name.replace('-', '_')}={letter!r}" for name, letter in letters.items())
        self.step(f"d.together({told})", states)

    def letter(self, name: str, data: Any) -> tuple[Any, ...]:
        letter = data.draw(LETTERS)
        if letter[0] == "write":
            self.number += 1
            return ("write", letter[1], b"%d" % self.number)
        if letter[0] == "read" and "-" in name and data.draw(st.booleans()):
            return ("read", name.partition("-")[0], False)  # the queue that has started it
        return letter

    @precondition(lambda self: len(self.tasks) < 4)
    @rule(dtimout=st.booleans())
    def another(self, dtimout):
        self.begin_task(f"t{len(self.states[0].tasks)}", dtimout=dtimout)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def purge(self, data):
        name = data.draw(st.sampled_from(self.waiting))
        states = self.model()
        for state in states:
            state.tasks[name].doomed = "AEXY"
        self.step(f"d.purge({name!r})", states)

    @precondition(lambda self: self.waiting)
    @rule(seconds=st.sampled_from([4, 11]))
    def advance(self, seconds):
        states = self.model()
        for state in states:
            state.now += seconds
        self.step(f"d.advance({seconds})", states)

    @rule(queue=st.sampled_from(sorted(QUEUES)), status=st.sampled_from(["ENABLED", "DISABLED"]))
    def set_status(self, queue, status):
        states = self.model()
        answers = {state.set_status(queue, status) for state in states}
        assert len(answers) == 1
        self.step(f"d.set({queue!r}, enablestatus={status!r})", states, answers.pop())

    @rule(queue=st.sampled_from(["LOGT", "LOGF", "PHYF"]), level=st.integers(0, 3))
    def set_level(self, queue, level):
        states = self.model()
        for state in states:
            state.set_level(queue, level)
        self.step(f"d.set({queue!r}, triggerlevel={level})", states, "NORMAL")

    @rule(inservice=st.booleans())
    def terminal(self, inservice):
        states = self.model()
        for state in states:
            state.inservice = inservice
            state.serve()
        self.step(f"d.terminal(inservice={inservice})", states)


def machine(examples: int, steps: int, **more: Any) -> Any:
    found = type("Found", (Machine,), {}).TestCase
    slow = [HealthCheck.too_slow]  # a machine that is busy with other things is no failure
    found.settings = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=slow, **more
    )
    return found


def test_a_planted_bug_is_found_and_told_as_a_script(monkeypatch):
    """READQ does not wait for another's commit but meets QZERO; the script that is printed fails as the machine did."""
    monkeypatch.setitem(READ_OUT, LockStanding.HELD, Resp.NORMAL)
    case = machine(600, 20, database=None, phases=[Phase.generate], derandomize=True)("runTest")
    with pytest.raises(AssertionError, match="To see it again") as raised:
        case.runTest()
    script = str(raised.value).partition("To see it again:\n")[2]
    with pytest.raises(AssertionError):
        exec(script, {})
    monkeypatch.undo()
    exec(script, {})


TestManyTasks = machine(40, 30)
TestManyTasksAtLength = pytest.mark.slow(machine(1500, 60))
