"""START requests: one task for all that have expired at a terminal, RETRIEVE WAIT, and what survives a restart.

Expectations are from RETRIEVE (cics-ts 5.3, summary-retrieve) and from the Recovery and Restart Guide, "Start requests".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tdqsim import Sysplex, TdqError
from tdqsim.cics import Region, Task
from tdqsim.definitions import define_tdqueue, define_terminal, define_transaction, define_tsmodel
from tdqsim.facts import Resp
from tdqsim.languages import TaskInternals
from tdqsim.testing import StillClock
from tests.rules import expect_rule, rule

HOUR = 3600 * 10**9
MIDNIGHT = 1_767_225_600 * 10**9
"""2026-01-01 00:00 UTC."""
DEFINITIONS = (
    define_transaction(name="LATE"),
    define_transaction(name="OTHR"),
    define_terminal(name="T001"),
    define_terminal(name="T002"),
    define_tsmodel(name="KEPT", prefix="REC", recovery="YES"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
)


def everything(
    task: Task, row: str = "IC-RETRIEVE-TERMINAL", found: list[bytes] | None = None, **options: Any
) -> list[bytes]:
    """All that RETRIEVE gives until it answers as the rule says, which is ENDDATA; ``found`` has it as it comes."""
    found = [] if found is None else found
    while True:
        data = task.retrieve(nohandle=True, **options)
        if task.eib.eibresp is not Resp.NORMAL:
            assert task.eib.eibresp.name == rule(row).resp
            return found
        found.append(data)


@pytest.fixture
def region() -> Iterator[Region]:
    with Region(DEFINITIONS, clock=StillClock(MIDNIGHT)) as region:
        yield region


def later(region: Region, seconds: int) -> None:
    """Let time pass, and what is due run; unlike ``region.run()`` this moves the clock no further."""
    region.clock.advance(seconds)
    run_what_is_due(region)


def run_what_is_due(region: Region) -> None:
    region.execute("ASKTIME", {})  # after a command outside a task the others have their turn


# -- at a terminal ----------------------------------------------------------------------------------------------------


@pytest.mark.rule("IC-RETRIEVE-TERMINAL")
def test_one_task_at_a_terminal_retrieves_the_data_of_all_starts_that_have_expired(region: Region) -> None:
    seen: list[tuple[str, list[bytes]]] = []
    region.register("LATE", lambda task: seen.append((task.eib.eibtrmid, everything(task))))
    for data, seconds in ((b"two", 2), (b"tri", 3), (b"one", 1)):
        region.execute(f"START TRANSID('LATE') FROM(D) AFTER SECONDS({seconds}) TERMID('T001')", {"D": data})
    region.execute("START TRANSID('LATE') FROM(D) AFTER SECONDS(2) TERMID('T002')", {"D": b"elsewhere"})
    later(region, 5)
    assert seen == [("T001", [b"one", b"two", b"tri"]), ("T002", [b"elsewhere"])]


@pytest.mark.rule("IC-RETRIEVE-OWN")
def test_a_task_without_a_terminal_retrieves_its_own_data_only(region: Region) -> None:
    seen: list[list[bytes]] = []
    region.register("LATE", lambda task: seen.append(everything(task, "IC-RETRIEVE-OWN")))
    for data in (b"one", b"two"):
        region.execute("START TRANSID('LATE') FROM(D) AFTER SECONDS(1)", {"D": data})
    later(region, 5)
    assert seen == [[b"one"], [b"two"]]


def test_data_that_the_started_task_does_not_retrieve_goes_with_it(region: Region) -> None:
    seen: list[int] = []
    region.register("LATE", lambda task: seen.append(task.number))
    for data in (b"1", b"2"):
        region.execute("START TRANSID('LATE') FROM(D) TERMID('T001')", {"D": data})
    region.run()
    assert len(seen) == 2  # one for each, and neither is started again
    later(region, 60)
    assert len(seen) == 2


def test_starts_without_data_at_a_terminal_have_a_task_each(region: Region) -> None:
    seen: list[str] = []
    region.register("LATE", lambda task: seen.append(task._startcode))
    for _ in range(3):
        region.execute("START TRANSID('LATE') TERMID('T001')", {})
    region.run()
    assert seen == ["S", "S", "S"]


def test_a_start_that_expires_while_the_task_runs_is_retrieved_by_it(region: Region) -> None:
    seen: list[list[bytes]] = []

    @region.transaction("LATE")
    def late(task: Task) -> None:
        found = [task.retrieve()]
        task.delay(seconds=10)
        seen.append(found + everything(task))

    for data, seconds in ((b"at once", 0), (b"meanwhile", 5), (b"afterwards", 30)):
        region.execute(
            f"START TRANSID('LATE') FROM(D) AFTER SECONDS({seconds}) TERMID('T001')",
            {"D": data},
        )
    for seconds in (5, 5, 20, 10):
        later(region, seconds)
    assert seen == [[b"at once", b"meanwhile"], [b"afterwards"]]


@pytest.mark.rule("IC-RETRIEVE-WAIT")
def test_retrieve_wait_waits_for_the_next_start_to_expire(region: Region) -> None:
    seen: list[bytes] = []

    @region.transaction("LATE")
    def late(task: Task) -> None:
        everything(task, "IC-RETRIEVE-WAIT", seen, wait=True)
        seen.append(b"ENDDATA")

    region.execute("START TRANSID('LATE') FROM(D) TERMID('T001')", {"D": b"1"})
    region.run()
    (waiting,) = [each.task for each in region.inquire_task_list() if each.transid == "LATE"]
    info = region.inquire_task(waiting, "SUSPENDTYPE", "SUSPENDVALUE")
    assert (info.suspendtype.rstrip(), info.suspendvalue.rstrip()) == ("ICGTWAIT", "T001")
    region.execute("START TRANSID('OTHR') FROM(D) TERMID('T001')", {"D": b"of another transaction"})
    for number, after in ((b"2", ""), (b"3", "INTERVAL(5)"), (b"4", "INTERVAL(5)")):
        region.execute(f"START TRANSID('LATE') {after} FROM(D) TERMID('T001')", {"D": number})
        region.run()  # everybody waits, and the clock goes to the moment when the request expires
        assert seen[-1] == number
    region.shutdown()
    assert seen == [b"1", b"2", b"3", b"4", b"ENDDATA"]


@pytest.mark.rule("IC-RETRIEVE-WAIT")
def test_each_of_two_tasks_in_retrieve_wait_gets_what_expires_at_its_own_terminal(region: Region) -> None:
    seen: dict[str, list[bytes]] = {"T001": [], "T002": []}

    @region.transaction("LATE")
    def late(task: Task) -> None:
        found = seen[task.eib.eibtrmid]
        everything(task, "IC-RETRIEVE-WAIT", found, wait=True)
        found.append(b"ENDDATA")

    for termid, data in (("T001", b"1"), ("T002", b"2"), ("T002", b"3"), ("T001", b"4"), ("T002", b"5")):
        region.execute("START TRANSID('LATE') FROM(D) TERMID(T)", {"D": data, "T": termid})
        run_what_is_due(region)
        assert seen[termid][-1] == data
    region.shutdown()
    assert seen == {"T001": [b"1", b"4", b"ENDDATA"], "T002": [b"2", b"3", b"5", b"ENDDATA"]}


def test_retrieve_wait_without_a_terminal_does_not_wait(region: Region) -> None:
    seen: list[list[bytes]] = []
    region.register("LATE", lambda task: seen.append(everything(task, wait=True)))
    region.execute("START TRANSID('LATE') FROM(D)", {"D": b"1"})
    region.run()
    assert seen == [[b"1"]]


# -- when ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "time", "waits"),
    [
        (2, "230000", 0),  # three hours past
        (2, "195900", 17 * 3600 + 59 * 60),  # more than six hours past: today's
        (2, f"{(2 - 6) % 24:02}0000", 0),
        (12, "060000", 0),
        (12, "055900", 17 * 3600 + 59 * 60),
        (12, "130000", 3600),
        (23, "250000", 2 * 3600),  # one o'clock of the following day
    ],
)
@pytest.mark.rule("IC-TIME-PAST")
def test_a_time_of_day_has_expired_when_it_is_past_by_up_to_six_hours(now: int, time: str, waits: int) -> None:
    with Region(DEFINITIONS, clock=StillClock(MIDNIGHT + now * HOUR)) as region:
        seen: list[int] = []
        region.register("LATE", lambda _task: seen.append(region.clock.time_ns()))
        region.execute(f"START TRANSID('LATE') TIME({time})", {})
        later(region, max(waits - 1, 0))
        assert bool(seen) is not bool(waits)
        later(region, 1)
        assert len(seen) == 1


def test_nothing_of_a_closed_region_runs_in_the_others_of_its_sysplex() -> None:
    seen: list[str] = []
    sysplex = Sysplex(clock=StillClock(MIDNIGHT))
    first = sysplex.region(
        DEFINITIONS, applid="FIRST", sysid="ONE", handlers={"LATE": lambda _task: seen.append("first")}
    )
    other = sysplex.region(
        DEFINITIONS, applid="OTHER", sysid="TWO", handlers={"LATE": lambda _task: seen.append("other")}
    )
    for region in (first, other):
        region.execute("START TRANSID('LATE') AFTER SECONDS(30)", {})
    first.close()
    later(other, 60)
    assert seen == ["other"]
    other.close()


# -- POST -----------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("IC-POST-SUPERSEDED", "IC-CANCEL-POST", "IC-CANCEL-NONE")
def test_a_second_post_takes_the_first_back_and_is_the_tasks_own_after_it_has_expired(region: Region) -> None:
    ended: list[tuple[str, bool]] = []

    def post(name: str, **time: int) -> None:
        TaskInternals(task).post(lambda posted: ended.append((name, posted)), reqid=name, **time)

    with region.task() as task:
        post("FIRST", seconds=10)
        post("SECOND", seconds=20)
        assert ended == [("FIRST", False)]
        later(region, 15)
        assert ended == [("FIRST", False)]
        later(region, 5)
        assert ended[1:] == [("SECOND", True)]
        expect_rule("IC-CANCEL-NONE", task.cancel, "SECOND")
        task.cancel()
        assert ended[2:] == [("SECOND", False)]
        expect_rule("IC-CANCEL-NONE", task.cancel)
        post("THIRD", seconds=30)
        expect_rule("IC-POST-INVREQ", post, "REFUSED", hours=100)
        task.cancel("THIRD")
        later(region, 60)
        assert ended[3:] == [("THIRD", True)]


# -- over a restart -------------------------------------------------------------------------------------------------------


class Runs:
    """The runs of one region, and what its tasks have seen: run, data, terminal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = StillClock(MIDNIGHT)
        self.seen: list[tuple[str, list[bytes], str]] = []

    def begin(self, **options: Any) -> Region:
        region = Region(DEFINITIONS, store=self.path, clock=self.clock, **options)
        region.register(
            "LATE", lambda task: self.seen.append((region.recovery.start_type, everything(task), task.eib.eibtrmid))
        )
        return region


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path / "store")


def ask(region: Region, text: str, data: bytes = b"") -> None:
    region.execute(f"START TRANSID('LATE') {text}", {"D": data})


@pytest.mark.rule("IC-RESTART-WARM")
def test_all_requests_are_there_after_a_warm_start_and_run_when_their_time_has_come(runs: Runs) -> None:
    region = runs.begin()
    ask(region, "AFTER MINUTES(1)")
    ask(region, "AFTER MINUTES(2) FROM(D) REQID('NAMED')", b"with data")
    ask(region, "AFTER MINUTES(3) FROM(D) TERMID('T001')", b"at a terminal")
    ask(region, "AFTER HOURS(2) FROM(D) REQID('RECLATER')", b"later")
    ask(region, "AFTER MINUTES(1) REQID('GONE')")
    region.execute("CANCEL REQID('GONE')", {})
    region.close()
    runs.clock.advance(3600)
    region = runs.begin()
    assert region.recovery.start_type == "WARM"
    run_what_is_due(region)
    assert runs.seen == [("WARM", [], ""), ("WARM", [b"with data"], ""), ("WARM", [b"at a terminal"], "T001")]
    region.close()
    runs.clock.advance(3600)
    region = runs.begin()
    run_what_is_due(region)
    assert runs.seen[3:] == [("WARM", [b"later"], "")]
    region.close()
    region = runs.begin()
    later(region, 10 * 3600)
    assert len(runs.seen) == 4  # each once
    region.close()


def test_recoverable_data_that_were_backed_out_are_gone_after_a_warm_start_too(runs: Runs) -> None:
    region = runs.begin()
    with region.task() as task:
        task.start("LATE", b"backed out", reqid="RECGONE", minutes=1)
        task.syncpoint_rollback()
    region.close()
    runs.clock.advance(3600)
    region, seen = runs.begin(), []
    region.register("LATE", lambda task: seen.append((task.retrieve(nohandle=True), task.eib.eibresp.name)))
    run_what_is_due(region)
    assert seen == [(b"", "NOTFND")]
    region.close()


@pytest.mark.parametrize(("text", "data"), [("", []), ("FROM(D)", [b"data"])])
def test_what_waits_for_its_terminal_is_there_after_a_warm_start(runs: Runs, text: str, data: list[bytes]) -> None:
    region = runs.begin()
    region.set_terminal("T001", servstatus="OUTSERVICE")
    ask(region, f"TERMID('T001') {text}", b"data")
    run_what_is_due(region)
    region.close()
    assert runs.seen == []
    region = runs.begin()
    run_what_is_due(region)
    assert runs.seen == [("WARM", data, "T001")]
    region.close()


def test_many_protected_requests_of_one_unit_of_work_are_done_once_each(runs: Runs) -> None:
    region = runs.begin()
    with region.task() as task:
        for number in range(20_000):
            task.start("LATE", b"%d" % number, hours=1, termid="T001", protect=True, reqid=f"REC{number:05}")
    region.close(clean=False)
    runs.clock.advance(3600)
    region = runs.begin()
    run_what_is_due(region)
    assert sorted(int(each) for _, data, _ in runs.seen for each in data) == list(range(20_000))
    region.close()


def test_a_request_that_waits_still_expires_in_the_run_after(runs: Runs) -> None:
    region = runs.begin()
    ask(region, "AFTER HOURS(1) FROM(D)", b"x")
    region.close()
    region = runs.begin()
    later(region, 3599)
    assert runs.seen == []
    later(region, 1)
    assert runs.seen == [("WARM", [b"x"], "")]
    region.close()


def test_the_names_given_to_retrieve_and_the_channel_are_there_after_a_warm_start(runs: Runs) -> None:
    region = runs.begin()
    with region.task() as task:
        task.put_container("PART", b"inside", channel="CHAN")
        task.start("LATE", channel="CHAN", hours=1)
        task.put_container("PART", b"changed afterwards", channel="CHAN")
        task.start("LATE", b"d", hours=1, rtransid="BACK", rtermid="T002", queue="PAYMENTS", userid="CICSUSER")
    region.close()
    found: list[Any] = []

    def late(task: Task) -> None:
        if task.assign("CHANNEL").rstrip():
            found.append(task.get_container("PART"))
        else:
            found.append(task.retrieve("RTRANSID", "RTERMID", "QUEUE"))

    runs.clock.advance(3600)
    with Region(DEFINITIONS, store=runs.path, clock=runs.clock, handlers={"LATE": late}) as region:
        run_what_is_due(region)
    (names,) = [each for each in found if isinstance(each, dict)]
    (contents,) = [each for each in found if not isinstance(each, dict)]
    assert contents.data == b"inside"
    assert (names["INTO"], names["RTRANSID"], names["RTERMID"], names["QUEUE"].rstrip()) == (
        b"d", "BACK", "T002", "PAYMENTS",
    )  # fmt: skip


@pytest.mark.rule("IC-RESTART-EMERGENCY")
def test_after_a_failure_only_requests_with_recoverable_data_are_there(runs: Runs) -> None:
    region = runs.begin()
    ask(region, "AFTER MINUTES(1)")
    ask(region, "AFTER MINUTES(1) FROM(D) REQID('PLAIN')", b"lost")
    ask(region, "AFTER MINUTES(1) FROM(D) REQID('RECOVER')", b"kept")
    ask(region, "AFTER HOURS(5) FROM(D) REQID('RECAGAIN')", b"kept too")
    with region.task() as task:
        task.start("LATE", b"committed", minutes=1, reqid="RECPROT", protect=True)
    task = region.task().__enter__()
    task.start("LATE", b"in flight", minutes=1, reqid="RECFLY", protect=True)
    region.close(clean=False)
    runs.clock.advance(3600)
    region = runs.begin()
    assert region.recovery.start_type == "EMERGENCY"
    run_what_is_due(region)
    assert sorted(data for _, data, _ in runs.seen) == [[b"committed"], [b"kept"]]
    later(region, 5 * 3600)
    assert runs.seen[2:] == [("EMERGENCY", [b"kept too"], "")]
    region.close()


def test_requests_that_expired_between_two_runs_are_done_in_the_order_of_expiry(runs: Runs) -> None:
    region = runs.begin()
    ask(region, "AFTER MINUTES(2) FROM(D) REQID('RECA')", b"second")
    ask(region, "AFTER MINUTES(1) FROM(D) REQID('RECB')", b"first")
    region.close(clean=False)
    runs.clock.advance(3600)
    region = runs.begin()
    run_what_is_due(region)
    assert [data for _, data, _ in runs.seen] == [[b"first"], [b"second"]]
    region.close()


@pytest.mark.rule("IC-RESTART-EMERGENCY")
def test_recoverable_requests_of_the_run_after_a_restart_do_not_replace_those_of_before(runs: Runs) -> None:
    for reqid in ("RECA", "RECB", "RECC"):
        region = runs.begin()
        ask(region, f"AFTER MINUTES(1) FROM(D) REQID('{reqid}')", reqid.encode())
        region.close(clean=False)
    region = runs.begin()
    later(region, 60)
    assert sorted(data for _, data, _ in runs.seen) == [[b"RECA"], [b"RECB"], [b"RECC"]]
    region.close()


@pytest.mark.rule("IC-START-BACKED-OUT", "IC-START-IN-FLIGHT")
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("termid", ["", "T001"])
def test_recoverable_data_of_a_start_without_protect_belong_to_its_unit_of_work(
    region: Region, commit: bool, termid: str
) -> None:
    seen: list[str] = []

    @region.transaction("LATE")
    def late(task: Task) -> None:
        seen.append("begun")
        expect_rule("IC-START-IN-FLIGHT" if commit else "IC-START-BACKED-OUT", task.retrieve)
        seen.append("retrieved")
        assert task.retrieve(nohandle=True) == b""
        assert task.eib.eibresp is Resp.ENDDATA

    first = region.task().__enter__()
    first.start("LATE", b"data", reqid="RECFIRST", termid="T002")  # its task waits before the other, until the end
    first.asktime()
    with region.task() as task:
        task.start("LATE", b"data", reqid="RECOVER", termid=termid)
        task.start("LATE", reqid="RECNAMES", termid=termid, minutes=1, queue="NEXTQ")
        task.asktime()
        assert seen == ["begun"] * 2
        if not commit:
            task.syncpoint_rollback()
    run_what_is_due(region)
    assert seen[2:] == ["retrieved"]
    later(region, 60)
    assert seen[3:] == ["begun", "retrieved"]
    if commit:
        first.syncpoint()
    else:
        first.syncpoint_rollback()
    run_what_is_due(region)
    assert seen[5:] == ["retrieved"]


@pytest.mark.rule("IC-START-BACKED-OUT")
def test_data_that_are_not_recoverable_stay_when_their_issuer_is_backed_out(region: Region) -> None:
    found: list[bytes] = []
    region.register("LATE", lambda task: found.append(task.retrieve()))
    with region.task() as task:
        task.start("LATE", b"data", reqid="PLAIN", minutes=1)
        task.syncpoint_rollback()
    later(region, 60)
    assert found == [b"data"]


@pytest.mark.parametrize(
    ("does", "issuer_does"),
    [
        ("waits", ""), ("ends", "commits"), ("goes on", "commits"),
        *product(["ends", "is in doubt", "is cancelled", "cannot begin"], ["is in doubt before", "is in doubt after"]),
    ],
)  # fmt: skip
def test_a_recoverable_request_that_is_done_does_not_come_back_with_its_issuer(
    runs: Runs, does: str, issuer_does: str
) -> None:
    """``does``: the started task, or what becomes of the request before it begins."""
    region = Region(DEFINITIONS, store=runs.path, clock=runs.clock)

    @region.transaction("LATE")
    def late(task: Task) -> None:
        if does == "goes on":
            task.syncpoint()
            task.delay(hours=1)
        elif does == "is in doubt":
            assert region.recovery.branch("TX2", task).prepare()

    issuer = region.task().__enter__()
    issuer.start("LATE", b"x", reqid="RECOVER", minutes=1)
    branch = region.recovery.branch("TX1", issuer) if "in doubt" in issuer_does else None
    if issuer_does == "is in doubt before":
        assert branch.prepare()
    if does == "is cancelled":
        region.execute("CANCEL REQID('RECOVER')", {})
    elif does == "cannot begin":
        region.execute("SET TRANSACTION('LATE') DISABLED", {})
    if does != "waits":
        later(region, 60)
    if issuer_does == "commits":  # its task has committed without RETRIEVE: this must not bring the request back
        issuer.syncpoint()
    elif issuer_does == "is in doubt after":
        assert branch.prepare()
    region.writeq_td("LOGQ", b"the next commit")
    for _ in range(2):
        region.close(clean=False)
        runs.clock.advance(3600)
        region = runs.begin()
        if "in doubt" in issuer_does and region.recovery.branch("TX1") is not None:
            region.recovery.branch("TX1").commit()
        run_what_is_due(region)
        assert runs.seen == []
    region.close()


def test_a_recoverable_request_does_not_come_back_when_its_task_and_its_issuer_share_a_commit(runs: Runs) -> None:
    region = Region(DEFINITIONS, store=runs.path, clock=runs.clock, durability="power")
    began: list[str] = []

    @region.transaction("LATE")
    def late(task: Task) -> None:
        began.append(task.transid)
        task.delay(seconds=1)

    @region.transaction("OTHR")
    def issuer(task: Task) -> None:
        task.start("LATE", b"x", reqid="RECOVER")
        task.delay(seconds=2)

    region.execute("START TRANSID('OTHR')", {})
    later(region, 10)
    later(region, 10)
    assert began == ["LATE"]
    region.close(clean=False)
    region = runs.begin()
    run_what_is_due(region)
    assert runs.seen == []
    region.close()


@pytest.mark.parametrize("commit_after_it", [False, True])
def test_a_cancelled_recoverable_request_does_not_come_back(runs: Runs, commit_after_it: bool) -> None:
    region = runs.begin()
    ask(region, "AFTER MINUTES(1) FROM(D) REQID('RECGONE')", b"x")
    region.execute("CANCEL REQID('RECGONE')", {})
    if commit_after_it:
        region.writeq_td("LOGQ", b"x")
    region.close(clean=False)
    runs.clock.advance(3600)
    region = runs.begin()
    run_what_is_due(region)
    assert runs.seen == []
    region.close()


@pytest.mark.parametrize("clean", [False, True])
def test_a_recoverable_request_whose_task_could_not_be_attached_does_not_come_back(runs: Runs, clean: bool) -> None:
    region = runs.begin()
    region.execute("START TRANSID('OTHR') AFTER MINUTES(1) FROM(D) REQID('RECGONE')", {"D": b"x"})
    region.execute("SET TRANSACTION('OTHR') DISABLED", {})
    later(region, 60)
    assert [each.resource for each in region.notices] == ["TRANSACTION(OTHR)"]
    region.writeq_td("LOGQ", b"the next commit")
    region.close(clean=clean)
    region = runs.begin()
    region.register("OTHR", lambda task: runs.seen.append(("", everything(task), "")))
    run_what_is_due(region)
    assert (runs.seen, list(region.notices)) == ([], [])
    region.close()


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("syncpoint", [False, True])
@pytest.mark.rule("IC-RESTART-TAKEN")
def test_a_recoverable_request_is_done_when_its_task_has_committed(runs: Runs, syncpoint: bool, clean: bool) -> None:
    region = Region(DEFINITIONS, store=runs.path, clock=runs.clock)
    got: list[bytes] = []

    @region.transaction("LATE")
    def late(task: Task) -> None:
        got.append(task.retrieve())
        if syncpoint:
            task.syncpoint()
        task.delay(hours=1)

    ask(region, "FROM(D) REQID('RECOVER')", b"x")
    run_what_is_due(region)
    assert got == [b"x"]
    region.close(clean=clean)
    region = runs.begin()
    run_what_is_due(region)
    assert runs.seen == ([] if syncpoint else [("WARM" if clean else "EMERGENCY", [b"x"], "")])
    region.close()


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.rule("IC-RESTART-EMERGENCY")
def test_a_protected_start_of_a_unit_of_work_in_doubt_waits_for_its_decision(
    runs: Runs, commit: bool, clean: bool
) -> None:
    region = runs.begin()
    with region.task() as task:
        task.writeq_td("LOGQ", b"record")
        task.start("LATE", b"protected", protect=True)
        branch = region.recovery.branch("XA1", task)
        assert branch.prepare()
    region.close(clean=clean)
    region = runs.begin()
    run_what_is_due(region)
    assert runs.seen == []
    branch = region.recovery.branch("XA1")
    (branch.commit if commit else branch.back_out)()
    run_what_is_due(region)
    assert runs.seen == ([("WARM" if clean else "EMERGENCY", [b"protected"], "")] if commit else [])
    region.close()


def test_a_recoverable_request_that_comes_during_a_doubt_does_not_replace_the_one_in_doubt(runs: Runs) -> None:
    region = runs.begin()
    with region.task() as task:
        task.start("LATE", b"in doubt", reqid="RECA", minutes=1, protect=True)
        assert region.recovery.branch("XA1", task).prepare()
    region.close(clean=False)
    region = runs.begin()
    ask(region, "AFTER MINUTES(1) FROM(D) REQID('RECB')", b"meanwhile")
    region.recovery.branch("XA1").commit()
    region.close(clean=False)
    region = runs.begin()
    later(region, 60)
    assert sorted(data for _, data, _ in runs.seen) == [[b"in doubt"], [b"meanwhile"]]
    region.close()


def test_data_that_a_task_in_doubt_has_retrieved_are_not_retrieved_again(runs: Runs) -> None:
    region = Region(DEFINITIONS, store=runs.path, clock=runs.clock)

    @region.transaction("LATE")
    def late(task: Task) -> None:
        assert everything(task) == [b"once"]
        branches.append(region.recovery.branch("TX1", task))

    branches: list[Any] = []
    ask(region, "FROM(D) REQID('RECONCE') TERMID('T001')", b"once")
    run_what_is_due(region)
    assert branches[0].prepare()
    region.close(clean=False)
    region = runs.begin()
    ask(region, "FROM(D) TERMID('T001')", b"other")
    run_what_is_due(region)
    region.recovery.branch("TX1").commit()
    run_what_is_due(region)
    assert runs.seen == [("EMERGENCY", [b"other"], "T001")]
    region.close()


def test_a_start_whose_data_its_own_unit_of_work_has_retrieved_does_not_come_back(runs: Runs) -> None:
    region = runs.begin()
    got: list[bytes] = []

    @region.transaction("OTHR")
    def other(task: Task) -> None:
        task.start("OTHR", b"mine", reqid="RECMINE", termid="T001")
        got.append(task.retrieve())

    region.execute("START TRANSID('OTHR') TERMID('T001')", {})
    run_what_is_due(region)
    region.close(clean=False)
    region = runs.begin()
    region.register("OTHR", lambda task: got.append(task.retrieve(nohandle=True)))
    run_what_is_due(region)
    assert got == [b"mine"]
    region.close()


def test_the_task_of_a_start_at_a_terminal_where_nobody_has_signed_on_is_of_the_default_user(region: Region) -> None:
    users: list[str] = []
    region.register("LATE", lambda task: users.append(task.userid))
    with region.task(userid="ANNA") as task:
        task.start("LATE", termid="T001")
        task.start("LATE")
    run_what_is_due(region)
    assert sorted(users) == ["ANNA", "CICSUSER"]


@pytest.mark.parametrize("restarts", [0, 1, 2])
def test_a_request_that_is_due_waits_for_the_handler_of_its_transaction(runs: Runs, restarts: int) -> None:
    region = runs.begin()
    ask(region, "AFTER MINUTES(1) FROM(D)", b"x")
    region.close()
    runs.clock.advance(3600)
    seen: list[bytes] = []
    for _ in range(restarts):
        with Region(DEFINITIONS, store=runs.path, clock=runs.clock) as region:
            run_what_is_due(region)
    with Region(DEFINITIONS, store=runs.path, clock=runs.clock) as region:
        run_what_is_due(region)
        region.register("LATE", lambda task: seen.append(task.retrieve()))
        run_what_is_due(region)
    assert seen == [b"x"]


def test_ten_thousand_requests_survive_and_none_is_lost_or_doubled(runs: Runs) -> None:
    region = runs.begin()
    with region.task() as task:
        for number in range(10_000):
            task.start("LATE", b"%d" % number, hours=1, termid="T001" if number % 2 else "")
    region.close()
    runs.clock.advance(3600)
    region = runs.begin()
    run_what_is_due(region)
    found = [int(each) for _, data, _ in runs.seen for each in data]
    assert sorted(found) == list(range(10_000))
    assert sum(1 for _, _, terminal in runs.seen if terminal) == 1
    region.close()


@pytest.mark.parametrize("into", ["INTO", "SET"])
def test_the_receivers_of_retrieve_as_text(region: Region, into: str) -> None:
    got: dict[str, Any] = {}
    words = "RTRANSID(TRAN) RTERMID(TERM) QUEUE(NAME)"
    region.register("LATE", lambda task: task.execute(f"RETRIEVE {into}(REC) LENGTH(LEN) {words}", got))
    with region.task() as task:
        task.start("LATE", b"abcdef", length=4, rtransid="BACK", rtermid="T002", queue="WORK")
    run_what_is_due(region)
    assert (bytes(got["REC"]), got["LEN"]) == (b"abcd", 4)
    assert [got[name].rstrip() for name in ("TRAN", "TERM", "NAME")] == ["BACK", "T002", "WORK"]


def test_names_may_have_their_padding(region):
    ran: list[str] = []
    region.register("AB", lambda task: ran.append(task.eib.eibtrmid))
    with region.task() as task:
        task.start("AB  ", interval=10, reqid="ONE     ", sysid=f"{region.options.sysid:4}")
        task.start("AB  ", interval=10, reqid="TWO", termid="T001", userid="CICSUSER")
        assert task.inquire_reqid("ONE").transid == "AB  "
        task.cancel("ONE     ", transid="AB  ")
        assert task.inquire_reqid("ONE", nohandle=True).as_dict() == {}
    region.clock.advance(10)
    region.run()
    assert ran == ["T001"]


@pytest.mark.parametrize(
    "option", [{"reqid": "R" * 9}, {"rtransid": "R" * 5}, {"rtermid": "R" * 5}, {"queue": "R" * 9}]
)
def test_a_name_that_is_too_long_is_refused(region, option):
    word = next(iter(option)).upper()
    with region.task() as task:
        with pytest.raises(
            TdqError, match=rf"START: {word} has at most {len(option[word.lower()]) - 1} characters: 'R"
        ):
            task.start("LATE", b"data", interval=1, **option)
        with pytest.raises(TdqError, match="DELAY: REQID has at most 8 characters"):
            task.delay(1, reqid="R" * 9)
