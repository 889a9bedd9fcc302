"""Faults happen where they are planned, a plan is a value, and every crash point is tried."""

from __future__ import annotations

from typing import Any

import pytest

from tdqsim import Condition, EscapeMessage, Region, Resp, System, TdqError, define_tdqueue
from tdqsim.cics import Sysplex
from tdqsim.errors import StoreDamaged
from tdqsim.faults import Crashed, CrashPoint, DiskFull, Fault, FaultPlan, LinkCut, MessageFault
from tdqsim.testing import CrashFailure, CrashReport, History, enumerate_crashes

DEFINITIONS = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
]
EVERYTHING = FaultPlan(
    Fault("IOERR", resp2=3, command="READQ TD", queue="NOQ", nth=2, times=2),
    Fault(delay=1.5, transid="PAYP"),
    MessageFault("CPF9872", operation="QSNDDTAQ"),
    LinkCut("PREPARE", nth=2, regions=("CICA", "CICB")),
    DiskFull("volatile"),
    CrashPoint(3, when="after_commit"),
)


@pytest.fixture
def region():
    with Region(DEFINITIONS, supplied_queues=False) as made:
        yield made


def test_a_condition_happens_at_the_nth_command_that_fits(region: Region) -> None:
    plan = FaultPlan(Fault("IOERR", resp2=3, command="READQ TD", queue="NOQ", nth=2, times=2))
    region.seed("NOQ", [b"1", b"2", b"3"])
    region.seed("PHYQ", [b"p"])
    with plan.on(region) as active:
        assert region.readq_td("NOQ") == b"1"
        assert region.readq_td("PHYQ") == b"p"
        for _ in range(2):
            with pytest.raises(Condition) as caught:
                region.readq_td("NOQ")
            assert (caught.value.resp, caught.value.resp2) == (Resp.IOERR, 3)
        assert region.readq_td("NOQ") == b"2"
    assert len(active.happened) == 2
    assert region._core.hook is None
    assert region.readq_td("NOQ") == b"3"


def test_a_slow_command_takes_simulated_time(region: Region) -> None:
    before = region.clock.time_ns()
    with FaultPlan(Fault(delay=30, command="WRITEQ TD")).on(region):
        region.writeq_td("NOQ", b"x")
    assert region.clock.time_ns() - before >= 30 * 10**9
    assert region.peek("NOQ") == [b"x"]


def test_a_plan_is_a_value(region: Region) -> None:
    again = FaultPlan.from_json(EVERYTHING.to_json())
    assert again == EVERYTHING
    assert hash(again) == hash(EVERYTHING)
    names = {each.__name__: each for each in (FaultPlan, *(type(fault) for fault in EVERYTHING.faults))}
    assert eval(str(EVERYTHING), names) == eval(repr(EVERYTHING), names) == EVERYTHING


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        pytest.param("[" * 100_000, id="deep"),
        "7",
        "[7]",
        '[{"kind": []}]',
        '[{"kind": "no"}]',
        '[{"kind": "condition", "condition": "NO"}]',
        '[{"kind": "disk", "nth": 0}]',
    ],
)
def test_a_text_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"a list of faults|fault 1:|written as JSON"):
        FaultPlan.from_json(text)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Fault("NOSUCH"),
        Fault,
        lambda: Fault("IOERR", command="READQ"),
        lambda: Fault("IOERR", nth=0),
        lambda: MessageFault("XYZ0001"),
        lambda: LinkCut("NO"),
        lambda: DiskFull("both"),
        lambda: CrashPoint(when="later"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(make) -> None:
    with pytest.raises(ValueError):
        make()


def test_a_link_is_cut_at_a_step_of_two_phases() -> None:
    with Sysplex() as sysplex:
        one, two = (
            sysplex.region(DEFINITIONS, applid=name, sysid=name, supplied_queues=False) for name in ("CICA", "CICB")
        )
        sysplex.connect(one, two)
        with FaultPlan(LinkCut("COMMIT")).on(sysplex):
            one.writeq_td("LOGQ", b"x", sysid="CICB")
        assert not sysplex.link(one, two).acquired
        assert len(two.recovery.shunted) == 1
        sysplex.link(one, two).restore()
        assert two.peek("LOGQ") == [b"x"]


def test_a_message_in_place_of_an_api() -> None:
    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        with FaultPlan(MessageFault("CPF9872", operation="QSNDDTAQ", nth=2)).on(system):
            job.qsnddtaq("ORDERS", "QGPL", b"1")
            with pytest.raises(EscapeMessage) as caught:
                job.qsnddtaq("ORDERS", "QGPL", b"2")
            assert caught.value.message_id == "CPF9872"
            job.qsnddtaq("ORDERS", "QGPL", b"3")
        assert job.qrcvdtaq("ORDERS", "QGPL").data == b"1"


def fill(region: Region, record: bytes) -> None:
    while True:
        region.writeq_td("NOQ", record)


def test_a_full_disk_is_nospace_and_passes(region: Region) -> None:
    with FaultPlan(DiskFull("volatile")).on(region) as active:
        with pytest.raises(Condition) as caught:
            fill(region, b"x" * 4000)
        assert caught.value.resp is Resp.NOSPACE
        assert active.happened
    kept = len(region.peek("NOQ"))
    region.writeq_td("NOQ", b"x" * 4000)
    assert len(region.peek("NOQ")) == kept + 1


@pytest.mark.parametrize(("when", "left"), [("before_commit", [b"1"]), ("after_commit", [b"1", b"2"])])
def test_a_crash_at_the_nth_commit(tmp_path, when: Any, left: list[bytes]) -> None:
    region = Region(DEFINITIONS, store=tmp_path / "store", supplied_queues=False)

    def write() -> None:
        for record in (b"1", b"2", b"3"):
            region.writeq_td("LOGQ", record)

    with FaultPlan(CrashPoint(2, when=when)).on(region):
        with pytest.raises(Crashed):
            write()
        region.close(clean=False)
    with Region(store=tmp_path / "store", supplied_queues=False) as again:
        assert again.recovery.start_type == "EMERGENCY"
        assert again.peek("LOGQ") == left


# -- crash enumeration --------------------------------------------------------------------------------------------


def payments(region: Region, told: list[Any]) -> None:
    """Moves records from one queue to another, a unit of work each."""
    for number in range(2):
        region.writeq_td("LOGQ", b"%d" % number)
        told.append(("written", b"%d" % number))

    def move(task) -> None:
        for _ in range(2):
            record = task.readq_td("LOGQ")
            task.writeq_td("PHYQ", record)
            task.syncpoint()
            told.append(("moved", record))

    region.start(move)
    region.run()


def nothing_is_lost(region: Region, told: list[Any]) -> None:
    left, moved = region.peek("LOGQ"), region.peek("PHYQ")
    for what, record in told:
        assert record in (moved if what == "moved" else left + moved)


def test_every_point_is_tried_and_holds() -> None:
    report = enumerate_crashes(payments, nothing_is_lost, DEFINITIONS)
    assert report.tried == len(report.points) - 1 > 15
    assert {"durable: before commit", "durable: after commit"} <= set(report.points)
    assert any(point.startswith("before READQ TD LOGQ of task") for point in report.points)


def test_torn_commits_are_noticed_or_harmless() -> None:
    every = enumerate_crashes(payments, nothing_is_lost, DEFINITIONS, torn=True, points=[]).points
    torn = [number for number, point in enumerate(every) if "torn" in point]
    report = enumerate_crashes(payments, nothing_is_lost, DEFINITIONS, torn=True, points=torn)
    assert report.refused <= report.tried == len(torn) > 0


def test_a_process_that_has_ended_does_nothing_more() -> None:
    """Nobody sees its tasks end, nor its units of work."""
    seen: list[list[str]] = []

    def write_two(region: Region, told: list[Any]) -> None:
        told.append(History())
        told[0].attach(region)
        region.start(lambda task: [task.writeq_td("LOGQ", record) for record in (b"1", b"2")])
        region.run()

    def check(_region: Region, told: list[Any]) -> None:
        seen.append([event.kind for event in told[0].events if event.kind not in ("QUEUE", "START")])

    enumerate_crashes(write_two, check, DEFINITIONS)
    write = "WRITEQ TD"
    assert seen[0] == [write, write, "COMMITTING", "COMMIT", "END"]  # without a crash
    assert seen[1:] == [[], [write], [write, write, "COMMITTING"], [write, write, "COMMITTING"]]


@pytest.mark.parametrize("durability", ["process", "power"])
def test_a_damaged_store_is_a_failure_unless_a_commit_without_sync_was_torn(durability: Any) -> None:
    def damaged(region: Region, _told: list[Any]) -> None:
        if region.recovery.start_type == "EMERGENCY":
            raise StoreDamaged("for the test")

    def crash(*points: int, **options: Any) -> CrashReport:
        options |= {"torn": True, "points": points, "durability": durability}
        return enumerate_crashes(payments, damaged, DEFINITIONS, **options)

    names = crash().points
    torn = names.index("durable: torn commit")
    with pytest.raises(CrashFailure, match=r"point 0 .*: StoreDamaged: for the test"):
        crash(0)
    if durability == "process":
        assert (crash(torn).tried, crash(torn).refused) == (1, 1)
        more = names.index("durable: torn commit", torn + 1)
        assert crash(torn, more, orders=2).refused == 2
    else:
        with pytest.raises(CrashFailure, match=rf"point {torn} .*: StoreDamaged: for the test"):
            crash(torn)


def test_an_invariant_that_a_crash_breaks_is_found_with_its_point() -> None:
    """A PHYSICAL write is not undone with its unit of work: a record may be on both queues."""

    def exactly_once(region: Region, told: list[Any]) -> None:
        both = region.peek("LOGQ") + region.peek("PHYQ")
        assert len(both) == len(set(both)), both

    with pytest.raises(CrashFailure) as failed:
        enumerate_crashes(payments, exactly_once, DEFINITIONS)
    assert "after the restart: AssertionError" in str(failed.value)
    with pytest.raises(CrashFailure, match=f"point {failed.value.point} "):
        enumerate_crashes(payments, exactly_once, DEFINITIONS, points=[failed.value.point])


def test_a_scenario_that_fails_by_itself_says_so() -> None:
    with pytest.raises(TdqError, match="the scenario fails without any crash"):
        enumerate_crashes(lambda region, _told: region.readq_td("NOQ"), nothing_is_lost, DEFINITIONS)
