"""Every way to say where a fault happens, against a plain count; plans printed, pasted and run again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim import (
    Condition,
    EscapeMessage,
    Region,
    Resp,
    StoreDamaged,
    System,
    define_tdqueue,
    define_terminal,
    define_transaction,
)
from tdqsim.cics import Sysplex
from tdqsim.cics.ship.messages import STEPS
from tdqsim.facts import table
from tdqsim.faults import Crashed, CrashPoint, DiskFull, Fault, FaultPlan, LinkCut, MessageFault, TornWrite
from tdqsim.testing import RecycledStores, StillClock, snapshot

QUEUES = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="LOGQ"),
    define_transaction(name="PAYA"),
    define_transaction(name="PAYB"),
    define_terminal(name="T001"),
]
CLASSES = {each.__name__: each for each in (FaultPlan, Fault, MessageFault, LinkCut, DiskFull, CrashPoint, TornWrite)}


@pytest.fixture(scope="module")
def stores() -> Iterator[RecycledStores]:
    with RecycledStores() as found:
        yield found


class Issued(NamedTuple):
    """One command of the scenario, and what it met."""

    region: str
    transid: str
    task: int
    command: str
    queue: str
    outcome: str


def scenario(plan: FaultPlan, stores: RecycledStores) -> list[Issued]:
    """Four tasks in two regions, each with the same commands, one after the other."""
    issued: list[Issued] = []

    def program(task) -> None:
        for command, queue in (
            ("WRITEQ TD", "NOQ"), ("WRITEQ TD", "ALIA"), ("READQ TD", "NOQ"), ("READQ TD", "LOGQ"),
            ("INQUIRE TDQUEUE", "NOQ"), ("DELETEQ TD", "ALIA"), ("SYNCPOINT", ""),
        ):  # fmt: skip
            method = getattr(task, command.replace(" ", "_").lower())
            arguments = {"WRITEQ TD": (queue, b"x"), "SYNCPOINT": ()}.get(command, (queue,))
            method(*arguments, nohandle=True)
            outcome = f"{Resp(task.eib.eibresp).name} {task.eib.eibresp2}"
            issued.append(Issued(task.region.applid, task.transid, task.number, command, queue, outcome))

    with Sysplex(clock=StillClock()) as sysplex:
        for name in ("CICA", "CICB"):
            region = sysplex.region(QUEUES, applid=name, sysid=name, supplied_queues=False, store=stores.take())
            region.register("PAYA", program)
            region.register("PAYB", program)
        with plan.on(sysplex):
            for region in sysplex.regions.values():
                for transid in ("PAYA", "PAYB"):
                    region.start(transid)
                    sysplex.run()
    return issued


FAULTS = st.builds(
    Fault,
    condition=st.sampled_from(["IOERR", "NOTAUTH", "DISABLED", "QBUSY", "SYSIDERR"]),
    resp2=st.sampled_from([0, 1, 101]),
    command=st.sampled_from(["", "", "READQ TD", "WRITEQ TD", "DELETEQ TD", "INQUIRE TDQUEUE", "SYNCPOINT"]),
    queue=st.sampled_from(["", "", "NOQ", "LOGQ", "ALIA"]),
    transid=st.sampled_from(["", "", "PAYA", "PAYB"]),
    task=st.sampled_from([0, 0, 1, 2]),
    region=st.sampled_from(["", "", "CICA", "CICB"]),
    nth=st.integers(1, 4),
    times=st.integers(0, 3),
)


def expected(plan: FaultPlan, issued: list[Issued]) -> list[str | None]:
    """What the plan makes of each command, by a count of what fits; None for nothing."""
    met = [0] * len(plan.faults)
    outcomes: list[str | None] = []
    for one in issued:
        outcome = None
        for number, fault in enumerate(plan.faults):
            assert isinstance(fault, Fault)
            names = {one.queue, "LOGQ"} if one.queue == "ALIA" else {one.queue}
            wanted = (fault.command, fault.transid, fault.region, fault.task)
            has = (one.command, one.transid, one.region, one.task)
            fits = all(not want or want == got for want, got in zip(wanted, has, strict=True))
            if fits and (not fault.queue or fault.queue in names):
                met[number] += 1
                if met[number] >= fault.nth and (not fault.times or met[number] < fault.nth + fault.times):
                    outcome = f"{fault.condition} {fault.resp2}"
                    break
        outcomes.append(outcome)
    return outcomes


@settings(max_examples=60)
@given(faults=st.lists(FAULTS, min_size=1, max_size=3))
def test_faults_happen_where_a_plain_count_says(stores, faults) -> None:
    plan = FaultPlan(*faults)
    issued = scenario(plan, stores)
    for one, planned in zip(issued, expected(plan, issued), strict=True):
        assert one.outcome == planned if planned else one.outcome in ("NORMAL 0", "QZERO 0"), one
    again = eval(str(plan), CLASSES)
    assert again == plan
    assert scenario(again, stores) == issued


ANY = st.one_of(
    FAULTS,
    st.builds(Fault, delay=st.floats(0.1, 9)),
    st.builds(
        MessageFault,
        message=st.sampled_from(["CPF9872", "CPF9503", "CPF9801"]),
        operation=st.sampled_from(["", "QSNDDTAQ", "QRCVDTAQ", "DATA_QUEUE_INFO"]),
        name=st.sampled_from(["", "ORDERS"]),
        library=st.sampled_from(["", "QGPL"]),
        job=st.sampled_from(["", "JOB1", "000001/USER/JOB1"]),
        times=st.integers(0, 3),
        delay=st.sampled_from([0.0, 2.5]),
        values=st.sampled_from([(), ("A", 1)]),
    ),
    st.builds(LinkCut, st.sampled_from(STEPS), st.integers(1, 9), st.sampled_from([(), ("CICA", "CICB")])),
    st.builds(DiskFull, st.sampled_from(["durable", "volatile"]), st.integers(1, 9), st.sampled_from(["", "CICA"])),
    st.builds(
        CrashPoint,
        st.integers(1, 9),
        st.sampled_from(["durable", "volatile"]),
        st.sampled_from(["before_commit", "after_commit"]),
    ),
    st.builds(TornWrite, st.integers(1, 9), st.sampled_from(["durable", "volatile"])),
)


@given(st.lists(ANY, max_size=6))
def test_a_plan_can_be_pasted_and_kept(faults) -> None:
    plan = FaultPlan(*faults)
    assert eval(str(plan), CLASSES) == eval(repr(plan), CLASSES) == FaultPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    "make",
    [
        lambda: Fault("IOERR", nth="2"),
        lambda: Fault("IOERR", queue=7),
        lambda: Fault("IOERR", delay=-1.0),
        lambda: MessageFault("CPF9872", operation="QSNDATAQ"),
        MessageFault,
        lambda: LinkCut("PREPARE", regions=("CICA",)),
        lambda: TornWrite(half="both"),
        lambda: DiskFull(nth=True),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(make) -> None:
    with pytest.raises(ValueError, match=r"allowed|needed|message"):
        make()


def test_what_is_no_fault_is_no_part_of_a_plan() -> None:
    with pytest.raises(TypeError, match="is not a fault"):
        FaultPlan("IOERR")


def test_a_planned_rolledback_backs_out() -> None:
    with Region(QUEUES, supplied_queues=False) as region, region.task() as task:
        with FaultPlan(Fault("ROLLEDBACK", command="SYNCPOINT")).on(region):
            task.writeq_td("LOGQ", b"x")
            task.syncpoint(nohandle=True)
        assert task.eib.eibresp is Resp.ROLLEDBACK
        assert region.snapshot()["LOGQ"].numitems == 0
        assert not region.tdqueues["LOGQ"].uncommitted


def test_a_fault_that_has_not_happened_when_the_block_ends_is_told() -> None:
    """Not those that have, and not behind an error, which is what the test is about."""
    plan = FaultPlan(*(Fault("IOERR", command="READQ TD", queue=queue, nth=2) for queue in ("NOQ", "LOGQ")))
    with Region(QUEUES, supplied_queues=False) as region, Region(applid="OTHER", sysid="OTHR") as other:
        with pytest.raises(KeyError), plan.on(region):
            raise KeyError
        assert not region.notices
        with plan.on(region, other):
            for queue in ("NOQ", "NOQ", "LOGQ"):
                region.readq_td(queue, nohandle=True)
        (told,) = region.notices
        assert (told.id, told.severity, told.resource) == ("TDQ0068", "error", "FAULT")
        fault = "Fault(condition='IOERR', command='READQ TD', queue='LOGQ', nth=2)"
        assert told.reason == f"{fault} has not happened; so many have matched: 1."
        cure = "Correct what it names or its nth, or mark a test that expects this with tdq_expect('TDQ0068')."
        assert told.cure == cure
        assert not other.notices


def test_an_error_under_a_plan_says_what_had_happened() -> None:
    plan = FaultPlan(Fault("IOERR", command="READQ TD"))
    with Region(QUEUES, supplied_queues=False) as region:
        with pytest.raises(Condition) as caught, plan.on(region):
            region.readq_td("NOQ")
        assert repr(plan) in caught.value.__notes__[0]
        assert "at READQ TD of task 1 TEST" in caught.value.__notes__[0]


# -- links ----------------------------------------------------------------------------------------------------------


def two_phases(plan: FaultPlan) -> tuple[str, list[bytes], int, list[str]]:
    """A unit of work over two regions under a plan: its outcome, what the other region has, what is in doubt there."""
    with Sysplex(clock=StillClock()) as sysplex:
        one, two = (sysplex.region(QUEUES, applid=name, sysid=name, supplied_queues=False) for name in ("CICA", "CICB"))
        sysplex.connect(one, two)
        outcome = "NORMAL"
        with plan.on(sysplex) as active:
            try:
                with one.task() as task:
                    task.writeq_td("LOGQ", b"here")
                    task.writeq_td("LOGQ", b"there", sysid="CICB")
                    if any(isinstance(each, LinkCut) and "BACK" in each.step for each in plan.faults):
                        task.syncpoint_rollback()
            except Condition as condition:
                outcome = condition.resp.name
        assert sysplex.link(one, two).acquired == (not active.happened)
        return outcome, two.peek("LOGQ"), len(two.recovery.shunted), active.happened


@pytest.mark.parametrize(
    ("step", "outcome", "there", "in_doubt"),
    [
        ("REQUEST", "SYSIDERR", [], 0),
        ("REPLY", "SYSIDERR", [], 0),
        ("PREPARE", "ROLLEDBACK", [], 0),
        ("VOTE", "ROLLEDBACK", [], 1),
        ("COMMIT", "NORMAL", [], 1),
        ("COMMITTED", "NORMAL", [b"there"], 0),
        ("BACKOUT", "NORMAL", [], 0),
        ("BACKED_OUT", "NORMAL", [], 0),
    ],
)
def test_a_link_can_be_cut_at_each_step(step: str, outcome: str, there: list[bytes], in_doubt: int) -> None:
    assert two_phases(FaultPlan(LinkCut(step)))[:3] == (outcome, there, in_doubt)
    assert two_phases(FaultPlan(LinkCut(step, regions=("CICA", "CICB"))))[:3] == (outcome, there, in_doubt)
    assert two_phases(FaultPlan(LinkCut(step, regions=("CICA", "CICX"))))[3] == []
    assert two_phases(FaultPlan(LinkCut(step, nth=2)))[3] == []


def test_several_cuts_of_one_link_and_its_return() -> None:
    plan = FaultPlan(LinkCut("PREPARE", restore=30), LinkCut("COMMIT", restore=30))
    with Sysplex(clock=StillClock()) as sysplex:
        one, two = (sysplex.region(QUEUES, applid=name, sysid=name, supplied_queues=False) for name in ("CICA", "CICB"))
        link = sysplex.connect(one, two)
        with plan.on(sysplex) as active:
            before = sysplex.clock.time_ns()
            with pytest.raises(Condition, match="ROLLEDBACK"):
                one.writeq_td("LOGQ", b"1", sysid="CICB")
            sysplex.run()
            assert sysplex.clock.time_ns() - before == 30 * 10**9
            assert link.acquired
            one.writeq_td("LOGQ", b"2", sysid="CICB")
            assert not link.acquired
            sysplex.run()
        assert [each.split("(")[1].split(",")[0] for each in active.happened] == ["step='PREPARE'", "step='COMMIT'"]
        assert two.peek("LOGQ") == [b"2"]
        assert link.fault is None


# -- stores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_torn_write_loses_its_commit_or_the_store_is_refused(tmp_path, nth: int) -> None:
    with FaultPlan(TornWrite(nth)).on(region := Region(QUEUES, store=tmp_path / "store", supplied_queues=False)):
        with pytest.raises(Crashed):
            write(region, 3)
        region.close(clean=False)
    try:
        with Region(store=tmp_path / "store", supplied_queues=False) as again:
            assert again.peek("LOGQ") == [b"%d" % number for number in range(nth - 1)]
    except StoreDamaged:
        pass


def write(region: Region, count: int) -> None:
    for number in range(count):
        region.writeq_td("LOGQ", b"%d" % number)


@pytest.mark.parametrize(("when", "left"), [("before_commit", 1), ("after_commit", 2)])
def test_a_crash_at_the_nth_commit_of_a_unit_of_work(tmp_path, when: Any, left: int) -> None:
    with FaultPlan(CrashPoint(2, when=when)).on(region := Region(QUEUES, store=tmp_path / "s", supplied_queues=False)):
        with pytest.raises(Crashed):
            write(region, 3)
        region.close(clean=False)
    with Region(store=tmp_path / "s", supplied_queues=False) as again:
        assert len(again.peek("LOGQ")) == left


def test_faults_of_a_store_are_its_owners() -> None:
    with Sysplex() as sysplex:
        one, two = (sysplex.region(QUEUES, applid=name, sysid=name, supplied_queues=False) for name in ("CICA", "CICB"))
        with FaultPlan(CrashPoint(owner="CICB")).on(sysplex):
            one.writeq_td("LOGQ", b"x")
            with pytest.raises(Crashed):
                two.writeq_td("LOGQ", b"x")
            two.close(clean=False)


# -- jobs -------------------------------------------------------------------------------------------------------------


def test_a_message_fault_knows_job_queue_library_and_turn() -> None:
    plan = FaultPlan(MessageFault("CPF9503", operation="QSNDDTAQ", name="ONE", library="QGPL", job="BATCH", nth=2))
    with System() as system, system.job(name="BATCH") as batch, system.job(name="OTHER") as other:
        for name in ("ONE", "TWO"):
            batch.crtdtaq(dtaq=f"QGPL/{name}", maxlen=9)
        with plan.on(system) as active:
            batch.qsnddtaq("ONE", "QGPL", b"1")
            other.qsnddtaq("ONE", "QGPL", b"2")
            batch.qsnddtaq("TWO", "QGPL", b"3")
            with pytest.raises(EscapeMessage) as caught:
                batch.qsnddtaq("ONE", "QGPL", b"4")
            assert caught.value.message_id == "CPF9503"
            batch.qsnddtaq("ONE", "QGPL", b"5")
        assert len(active.happened) == 1
        assert system.faults is None


def test_a_slow_call_lets_other_jobs_run() -> None:
    order: list[str] = []
    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ONE", maxlen=9)

        def slow(mine) -> None:
            mine.qsnddtaq("ONE", "QGPL", b"slow")
            order.append("slow")

        def quick(mine) -> None:
            mine.qsnddtaq("ONE", "QGPL", b"quick")
            order.append("quick")

        before = system.clock.time_ns()
        with FaultPlan(MessageFault(operation="QSNDDTAQ", delay=60)).on(system):
            system.start(slow)
            system.start(quick)
            system.run()
        assert order == ["quick", "slow"]
        assert system.clock.time_ns() - before >= 60 * 10**9
        assert [job.qrcvdtaq("ONE", "QGPL").data for _ in range(2)] == [b"quick", b"slow"]


def send(job: Any, count: int, size: int = 1) -> None:
    for number in range(count):
        job.qsnddtaq("ONE", "QGPL", b"%d" % number * size)


@pytest.mark.parametrize("fault", [CrashPoint(2), TornWrite(2)])
def test_a_system_ends_at_a_commit_and_comes_back_without_it(tmp_path, fault) -> None:
    system = System(store=tmp_path / "store")
    job = system.job()
    job.crtdtaq(dtaq="QGPL/ONE", maxlen=9, force="*YES")
    with FaultPlan(fault).on(system) as active:
        with pytest.raises(Crashed):
            send(job, 3)
        system.close(clean=False)
    assert len(active.happened) == 1
    try:
        with System(store=tmp_path / "store") as again:
            assert snapshot(again).queues["QGPL/ONE"] == ((b"", b"0", b""),)
    except StoreDamaged:
        assert isinstance(fault, TornWrite)


def test_a_full_disk_is_the_machines_own_message() -> None:
    with System(memory_bytes=100_000) as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ONE", maxlen=64_000)
        with FaultPlan(DiskFull("volatile")).on(system), pytest.raises(EscapeMessage) as caught:
            send(job, 1000, 10_000)
        assert caught.value.message_id == "CPF6565"
        send(job, 1)


def test_every_escape_message_can_be_planned() -> None:
    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        for message in (each["id"] for each in table("cpf_messages") if each["kind"] == "escape"):
            with FaultPlan(MessageFault(message)).on(system), pytest.raises(EscapeMessage) as caught:
                job.qsnddtaq("ORDERS", "QGPL", b"x")
            assert caught.value.message_id == message
            assert caught.value.text
