"""START requests against a slow obvious model: PROTECT, recoverable data, CANCEL, backouts, and one restart after another.

The model is a dictionary from REQID to what the table of Recovery and Restart Guide, "Start requests", says of it. Tasks
run in the order in which their requests expire; half of them abend, which changes nothing of what was started.
"""

from __future__ import annotations

import tempfile
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tdqsim.cics import Region, Task
from tdqsim.definitions import define_tdqueue, define_transaction, define_tsmodel
from tdqsim.testing import StillClock

DEFINITIONS = (
    define_transaction(name="LATE"), define_tsmodel(name="KEPT", prefix="REC", recovery="YES"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
)  # fmt: skip
NO_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
"""A mistake is told at once, by the steps that have shown it; the long test finds fewer of them."""
BEGIN = 1_767_225_600_000


class Request(NamedTuple):
    """What is to happen, and when, in milliseconds; ``recoverable`` while the data are on the log, ``answer`` of its RETRIEVE."""

    at: int
    recoverable: bool
    answer: str


class StartMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory(prefix="tdqsim-test-")
        self.clock = StillClock(BEGIN * 10**6)
        self.number, self.now = 0, BEGIN
        self.waiting: dict[str, Request] = {}
        self.seen: list[str] = []
        self.expected: list[str] = []
        self.region = self.open()

    def teardown(self) -> None:
        self.region.close()
        self.place.cleanup()

    def open(self, **options: Any) -> Region:
        region = Region(DEFINITIONS, store=f"{self.place.name}/store", clock=self.clock, **options)
        region.register("LATE", self.late)
        return region

    def late(self, task: Task) -> None:
        data = task.retrieve(nohandle=True)
        self.seen.append(data.decode() or task.eib.eibresp.name)
        if data[-1:] in b"13579":
            task.abend("ODD")

    def run_what_is_due(self) -> None:
        """In the region and in the model.

        The commit takes along what was noted for it: requests that are done with no commit of their own.
        """
        self.region.execute("ASKTIME", {})
        self.region.writeq_td("LOGQ", b"commit")
        due = sorted((each.at, reqid) for reqid, each in self.waiting.items() if each.at <= self.now)
        self.expected += [self.waiting.pop(reqid).answer for _, reqid in due]

    @rule(recoverable=st.booleans(), protect=st.booleans(), commit=st.sampled_from([True, True, False]),
          seconds=st.sampled_from([0, 5, 60, 100]))  # fmt: skip
    def start(self, recoverable: bool, protect: bool, commit: bool, seconds: int) -> None:
        self.number += 1
        reqid = f"{'REC' if recoverable else 'PLA'}{self.number:05}"
        with self.region.task() as task:
            task.start("LATE", reqid.encode(), reqid=reqid, seconds=seconds, protect=protect)
            if not commit:
                task.syncpoint_rollback()
        if commit or not protect:
            kept = commit or not recoverable
            answer = reqid if kept else "NOTFND"
            self.waiting[reqid] = Request(self.now + 1000 * seconds, recoverable and kept, answer)
        self.advance_by(0.001)  # no two requests expire at the same moment
        self.run_what_is_due()

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel(self, data: Any) -> None:
        reqid = data.draw(st.sampled_from(sorted(self.waiting)))
        self.region.execute(f"CANCEL REQID('{reqid}')", {})
        del self.waiting[reqid]

    def advance_by(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.now += round(1000 * seconds)

    @rule(seconds=st.sampled_from([1, 5, 50, 100]))
    def advance(self, seconds: int) -> None:
        self.advance_by(seconds)
        self.run_what_is_due()

    @rule(seconds=st.sampled_from([0, 50]))
    def nothing_starts_while_the_transaction_is_disabled(self, seconds: int) -> None:
        self.region.execute("SET TRANSACTION('LATE') DISABLED", {})
        self.advance_by(seconds)
        self.region.execute("ASKTIME", {})
        self.region.writeq_td("LOGQ", b"commit")
        self.waiting = {reqid: each for reqid, each in self.waiting.items() if each.at > self.now}
        self.region.execute("SET TRANSACTION('LATE') ENABLED", {})

    @rule(
        how=st.sampled_from(["warm", "emergency", "emergency", "emergency", "cold"]),
        seconds=st.sampled_from([0, 0, 50]),
    )
    def restart(self, how: str, seconds: int) -> None:
        self.region.close(clean=how != "emergency")
        self.advance_by(seconds)
        self.region = self.open(start="COLD" if how == "cold" else "AUTO")
        if how != "warm":
            self.waiting = {
                reqid: each for reqid, each in self.waiting.items() if how == "emergency" and each.recoverable
            }
        self.run_what_is_due()

    @invariant()
    def every_request_has_run_once(self) -> None:
        assert self.seen == self.expected


StartMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None, phases=NO_SHRINKING)
TestStartsAgainstModel = StartMachine.TestCase


@pytest.mark.slow
class TestStartsAgainstModelLong(StartMachine.TestCase):  # type: ignore[name-defined,misc]
    """The same for longer."""

    settings = settings(max_examples=1500, stateful_step_count=60, deadline=None)
