"""START requests against a slow obvious model: PROTECT, recoverable data, CANCEL, doubt, and one restart after another.

The model is a dictionary from REQID to what the table of Recovery and Restart Guide, "Start requests", says of it. The
unit of work that issues START ends at once, stays in flight, or is in doubt; and so does that of the started task.
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
USERS = {"A": "RENDS", "B": "RABEND", "C": "RDOUBT", "D": "RLONG", "E": "ENDS", "F": "ABEND", "G": "DOUBT", "H": "LONG"}
RETRIEVING = "ABCD"
"""What the task of a request does, by the last letter of REQID; its user says it to the task. R: first RETRIEVE."""
REQUESTS = st.tuples(
    st.sampled_from([True, True, False]),  # whether the data are recoverable
    st.sampled_from([False, False, True]),  # PROTECT
    st.sampled_from(sorted(USERS)),
    st.sampled_from(["COMMITS", "BACKS OUT", "IN FLIGHT", "IN DOUBT", "IN DOUBT LATER"]),
    st.sampled_from([0, 5, 60, 100]),  # the interval in seconds
)
NO_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
"""A mistake is told at once, by the steps that have shown it; the long test finds fewer of them."""
BEGIN = 1_767_225_600_000


class Request(NamedTuple):
    """A request that may still start a task, or whose task has not ended.

    ``at``: when it expires, in milliseconds. ``recoverable``: whether the data are on the log. ``protect``: whether it
    begins only when its issuer commits. ``issuer``: "", IN FLIGHT, IN DOUBT. ``answer``: that of its RETRIEVE. ``task``:
    "", WAITS in RETRIEVE, RUNS. ``ends``: when its task ends, in milliseconds.
    """

    at: int
    recoverable: bool
    protect: bool
    issuer: str
    answer: str
    task: str = ""
    ends: int = 0


class StartMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory(prefix="tdqsim-test-")
        self.clock = StillClock(BEGIN * 10**6)
        self.number, self.now = 0, BEGIN
        self.requests: dict[str, Request] = {}
        self.issuers: dict[str, Task] = {}
        self.in_doubt: dict[str, Any] = {}
        self.tasks_in_doubt: dict[str, Any] = {}
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
        """The user id says what the task does, since a request without data of its own has it too."""
        does = task.userid
        self.seen.append(f"{does} begins")
        if does[0] == "R":
            data = task.retrieve(nohandle=True)
            self.seen.append(data.decode() or task.eib.eibresp.name)
        if "ABEND" in does:
            task.abend("ODD")
        if "DOUBT" in does:
            self.number += 1
            branch = self.tasks_in_doubt[f"T{self.number}"] = self.region.recovery.branch(f"T{self.number}", task)
            assert branch.prepare()
        if "LONG" in does:
            task.delay(seconds=70)

    def run_what_is_due(self) -> None:
        """In the region and in the model.

        The commit takes along what was noted for it: requests that are done with no commit of their own.
        """
        self.region.execute("ASKTIME", {})
        self.region.writeq_td("LOGQ", b"commit")
        for reqid, each in tuple(self.requests.items()):
            if each.task == "RUNS" and each.ends <= self.now:
                del self.requests[reqid]
        for reqid, each in sorted(self.requests.items(), key=lambda item: item[1].at):
            if not each.task and each.at <= self.now and not (each.protect and each.issuer):
                self.begins(reqid)

    def begins(self, reqid: str) -> None:
        each = self.requests[reqid]
        self.expected.append(f"{USERS[reqid[-1]]} begins")
        if reqid[-1] in RETRIEVING and each.recoverable and each.issuer:
            self.requests[reqid] = each._replace(task="WAITS")
        else:
            self.retrieves(reqid)

    def retrieves(self, reqid: str) -> None:
        each = self.requests.pop(reqid)
        if reqid[-1] in RETRIEVING:
            self.expected.append(each.answer)
        if "LONG" in USERS[reqid[-1]]:
            self.requests[reqid] = each._replace(task="RUNS", ends=self.now + 70_000)

    @rule(requests=st.lists(REQUESTS, min_size=1, max_size=4))
    def start(self, requests: list[tuple[bool, bool, str, str, int]]) -> None:
        for each in requests:
            self.start_one(*each)

    def start_one(self, recoverable: bool, protect: bool, does: str, issuer: str, seconds: int) -> None:
        self.number += 1
        reqid = f"{'REC' if recoverable else 'PLA'}{self.number:04}{does}"
        task = self.issuers[reqid] = self.region.task().__enter__()
        task.start("LATE", reqid.encode(), reqid=reqid, seconds=seconds, protect=protect, userid=USERS[does])
        self.requests[reqid] = Request(self.now + 1000 * seconds, recoverable, protect, "IN FLIGHT", reqid)
        self.advance_by(0.001)  # no two requests expire at the same moment
        if issuer in ("COMMITS", "BACKS OUT"):
            self.ends(reqid, commit=issuer == "COMMITS")
        elif issuer == "IN DOUBT":
            self.becomes_in_doubt(reqid)
        self.run_what_is_due()
        if issuer == "IN DOUBT LATER":
            self.becomes_in_doubt(reqid)

    def becomes_in_doubt(self, reqid: str) -> None:
        task = self.issuers.pop(reqid)
        branch = self.in_doubt[reqid] = self.region.recovery.branch(reqid, task)
        assert branch.prepare()
        task.end()
        if reqid in self.requests:
            self.requests[reqid] = self.requests[reqid]._replace(issuer="IN DOUBT")

    def ends(self, reqid: str, *, commit: bool) -> None:
        """The unit of work that has issued the request ends, in the region and in the model."""
        if reqid in self.in_doubt:
            branch = self.in_doubt.pop(reqid)
            (branch.commit if commit else branch.back_out)()
        else:
            task = self.issuers.pop(reqid)
            (task.syncpoint if commit else task.syncpoint_rollback)()
            task.end()
        each = self.requests.get(reqid)
        if each is None:
            return
        if each.protect and not commit:
            del self.requests[reqid]
            return
        if not commit and each.recoverable:
            each = each._replace(recoverable=False, answer="NOTFND")
        self.requests[reqid] = each._replace(issuer="")
        if each.task == "WAITS":
            self.retrieves(reqid)

    @precondition(lambda self: self.issuers or self.in_doubt or self.tasks_in_doubt)
    @rule(data=st.data(), how=st.sampled_from(["commit", "commit", "back out", "in doubt"]))
    def a_unit_of_work_goes_on(self, data: Any, how: str) -> None:
        name = data.draw(st.sampled_from(sorted({*self.issuers, *self.in_doubt, *self.tasks_in_doubt})))
        if name in self.tasks_in_doubt:
            branch = self.tasks_in_doubt.pop(name)
            (branch.commit if how == "commit" else branch.back_out)()
        elif name in self.issuers and how == "in doubt":
            self.becomes_in_doubt(name)
        else:
            self.ends(name, commit=how == "commit")
        self.run_what_is_due()

    @precondition(lambda self: self.cancellable())
    @rule(data=st.data())
    def cancel(self, data: Any) -> None:
        reqid = data.draw(st.sampled_from(self.cancellable()))
        self.region.execute(f"CANCEL REQID('{reqid}')", {})
        del self.requests[reqid]

    def cancellable(self) -> list[str]:
        return sorted(
            reqid for reqid, each in self.requests.items() if not each.task and not (each.protect and each.issuer)
        )

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
        for reqid in self.cancellable():
            if self.requests[reqid].at <= self.now:
                del self.requests[reqid]
        self.run_what_is_due()
        self.region.execute("SET TRANSACTION('LATE') ENABLED", {})

    @rule(
        how=st.sampled_from(["emergency", "emergency", "emergency", "warm", "warm", "cold"]),
        seconds=st.sampled_from([0, 0, 50]),
        commits=st.booleans(),
    )
    def restart(self, how: str, seconds: int, commits: bool) -> None:
        self.region.close(clean=how != "emergency")
        self.advance_by(seconds)
        self.region = self.open(start="COLD" if how == "cold" else "AUTO")
        self.issuers.clear()
        self.requests = {
            reqid: after
            for reqid, each in self.requests.items()
            if how != "cold" and (after := after_restart(each, warm=how == "warm")) is not None
        }
        for branches in (self.in_doubt, self.tasks_in_doubt):
            for name in tuple(branches):
                branches[name] = self.region.recovery.branch(name)
                assert (branches[name] is None) is (how == "cold")
            if how == "cold":
                branches.clear()
        self.run_what_is_due()
        for reqid in tuple(self.in_doubt) if commits else ():
            self.ends(reqid, commit=True)
            self.run_what_is_due()

    @invariant()
    def every_request_has_run_once(self) -> None:
        assert self.seen == self.expected


def after_restart(each: Request, *, warm: bool) -> Request | None:
    """A request after a warm start or emergency restart; None if it is gone."""
    if each.issuer == "IN DOUBT" and (each.recoverable or each.protect):
        return each._replace(task="", protect=True)  # its task begins when its issuer is committed
    if each.issuer == "IN FLIGHT" and each.protect:
        return None
    if each.issuer == "IN FLIGHT" and each.recoverable:
        if each.task or not warm:
            return None
        return each._replace(recoverable=False, issuer="", answer="NOTFND")
    if each.recoverable:
        return each._replace(task="")
    return each._replace(issuer="") if warm and not each.task else None


StartMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=15, deadline=None, phases=NO_SHRINKING)
TestStartsAgainstModel = StartMachine.TestCase


@pytest.mark.slow
class TestStartsAgainstModelLong(StartMachine.TestCase):  # type: ignore[name-defined,misc]
    """The same for longer."""

    settings = settings(max_examples=1000, stateful_step_count=40, deadline=None)
