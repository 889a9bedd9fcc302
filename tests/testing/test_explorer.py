"""One order of each class is run, none twice, and no outcome is missed; faults are placed inside the orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tdqsim import Condition, Region, Task, define_tdqueue, define_transaction
from tdqsim.cics.files.datafile import DataFile
from tdqsim.definitions import define_tsmodel
from tdqsim.faults import CrashPoint, Fault, MessageFault
from tdqsim.testing import Exploration, ScheduleFailure, Stage, explore, replay

QUEUES = [
    *(define_tdqueue(name=name, type="INTRA", recovstatus="LOGICAL") for name in ("LOGA", "LOGB")),
    *(define_tdqueue(name=name, type="INTRA") for name in ("NOA", "NOB")),
    define_tdqueue(name="PHY", type="INTRA", recovstatus="PHYSICAL"),
    define_tdqueue(
        name="TRIG", type="INTRA", recovstatus="LOGICAL", transid="MOVE", triggerlevel=1, atifacility="FILE"
    ),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="NOA"),
    *(define_transaction(name=name) for name in ("MOVE", "NEXT")),
    define_tsmodel(name="REC", prefix="R", recovery="YES"),
]
EVERY = 10**9


def tasks(*programs: Callable[[Task], object]) -> Callable[[Stage], Region]:
    """A scenario that runs each program as a task."""

    def scenario(stage: Stage) -> Region:
        region = stage.region(QUEUES)
        for name in ("ONE", "TWO"):
            region.files.define(name, DataFile("KSDS", keylength=1, keyposition=0))
        for program in programs:
            region.start(program)
        region.run()
        return region

    return scenario


def explored(*programs: Callable[[Task], object], **options: Any) -> Exploration:
    options.setdefault("method", "exhaustive")
    return explore(tasks(*programs), 5000, allow_abends="*", may_wait=True, minimise=False, **options)


# -- how many orders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["pct", "exhaustive"])
@pytest.mark.parametrize(("one", "other"), [("LOGA", "LOGB"), ("NOA", "NOB"), ("PHY", "NOA")])
def test_two_tasks_on_separate_queues_need_one_order(one: str, other: str, method: str) -> None:
    def write(task: Task, name: str) -> None:
        for _ in range(6):
            task.writeq_td(name, b"x")
        task.readq_td(name)

    found = explored(lambda task: write(task, one), lambda task: write(task, other), method=method)
    assert (found.schedules, found.repeated, found.remaining, found.complete) == (1, 0, 0, True)


def test_three_tasks_on_two_queues_end_and_no_order_is_run_twice() -> None:
    """What is on both queues at the end is the order of the requests on each: it is the class of a run."""
    ends: Counter[tuple[bytes, bytes]] = Counter()
    programs = (("NOA", "NOB", "NOA"), ("NOB", "NOB", "NOA"), ("NOA", "NOA", "NOB"))

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)
        for number, names in enumerate(programs):
            region.start(lambda task, n=number, names=names: [task.writeq_td(name, b"%d" % n) for name in names])
        region.run()
        ends[b"".join(region.peek("NOA")), b"".join(region.peek("NOB"))] += 1

    found = explore(scenario, 5000, method="exhaustive")
    assert found.complete
    assert found.schedules == len(ends) == ends.total() == len(classes(programs))


@pytest.mark.parametrize("method", ["pct", "exhaustive"])
def test_a_branch_that_is_not_finished_is_continued_after_a_later_one(method: str) -> None:
    """Between the first choice and the next one there are turns of a single task, which begins another branch too."""
    ends: Counter[tuple[bytes, bytes]] = Counter()

    def starts(task: Task) -> None:
        task.writeq_td("PHY", b"0")
        task.writeq_td("NOA", b"2")
        for name in (b"a", b"b"):
            task.start("NEXT", name)

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)
        region.register("NEXT", lambda task: task.writeq_td("NOB", task.retrieve()))
        region.start(lambda task: task.writeq_td("NOA", b"1"))
        region.start(starts)
        region.run()
        ends[b"".join(region.peek("NOA")), b"".join(region.peek("NOB"))] += 1

    found = explore(scenario, 500, method=method)
    assert found.complete
    assert set(ends) == {(b"12", b"ab"), (b"12", b"ba"), (b"21", b"ab"), (b"21", b"ba")}
    assert found.schedules == found.distinct == ends.total()


def classes(programs: tuple[tuple[str, ...], ...]) -> set[tuple[bytes, bytes]]:
    """The slow model: all orders of the writes, by merging the programs in every way."""
    writes = [number for number, names in enumerate(programs) for _ in names]
    found = set()
    for order in set(permutations(writes)):
        left = [list(names) for names in programs]
        queues: dict[str, bytes] = {"NOA": b"", "NOB": b""}
        for number in order:
            queues[left[number].pop(0)] += b"%d" % number
        found.add((queues["NOA"], queues["NOB"]))
    return found


def test_random_schedules_are_different_ones() -> None:
    orders: list[bytes] = []

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)
        for name in (b"a", b"b", b"c"):
            region.start(lambda task, name=name: [task.writeq_td("NOA", name) for _ in range(4)])
        region.run()
        orders.append(b"".join(region.peek("NOA")))

    found = explore(scenario, 100)
    assert (found.schedules, found.distinct, found.complete) == (100, 100, False)
    assert len(set(orders)) == 100
    assert found.remaining > 0
    assert str(found) == f"schedules: 100 run, 100 different, at least {found.remaining} left"


COMMUTE: list[tuple[str, Callable[[Task], object], Callable[[Task], object], int]] = [
    ("one queue", lambda task: task.writeq_td("NOA", b"x"), lambda task: task.readq_td("NOA", nohandle=True), 2),
    ("an alias", lambda task: task.writeq_td("NOA", b"x"), lambda task: task.writeq_td("ALIA", b"y"), 2),
    ("two look", lambda task: task.inquire_tdqueue("NOA"), lambda task: task.inquire_tdqueue("NOA"), 1),
    ("one looks", lambda task: task.inquire_tdqueue("NOA"), lambda task: task.writeq_td("NOA", b"x"), 2),
    ("peek", lambda task: (task.assign(), task.region.peek("NOA")), lambda task: task.writeq_td("NOA", b"x"), 3),
    ("TS", lambda task: task.writeq_ts("A", b"x"), lambda task: task.readq_ts("B", item=1, nohandle=True), 1),
    ("one TS", lambda task: task.writeq_ts("A", b"x"), lambda task: task.readq_ts("A", item=1, nohandle=True), 2),
    ("names", lambda task: task.enq("A"), lambda task: task.enq("B"), 1),
    ("one name", lambda task: task.enq("A"), lambda task: task.enq("AX", length=1), 4),
    ("files", lambda task: task.write_file("ONE", b"1", b"1"), lambda task: task.write_file("TWO", b"1", b"1"), 1),
    (
        "a file",
        lambda task: task.write_file("ONE", b"1", b"1"),
        lambda task: task.read_file("ONE", b"1", nohandle=True),
        2,
    ),
    ("START", lambda task: task.start("NEXT"), lambda task: task.start("NEXT"), 2),
    ("its own", lambda task: (task.asktime(), task.delay(seconds=0)), lambda task: task.writeq_td("NOA", b"x"), 1),
]


@pytest.mark.parametrize(("one", "other", "count"), [each[1:] for each in COMMUTE], ids=[each[0] for each in COMMUTE])
def test_requests_commute_when_they_use_different_resources(one, other, count) -> None:
    found = explored(one, other)
    assert (found.schedules, found.complete) == (count, True)
    assert found.schedules <= explored(one, other, preemptions=EVERY).schedules


def test_tasks_that_share_python_objects_are_run_in_every_order_when_that_is_said() -> None:
    def run(**options: bool) -> set[str]:
        seen = set()

        def scenario(stage: Stage) -> None:
            calls: list[str] = []
            region = stage.region(QUEUES)
            for name in ("NOA", "NOB"):
                region.start(lambda task, name=name: (task.writeq_td(name, b"x"), calls.append(name)))
            region.run()
            seen.add(" ".join(calls))

        assert explore(scenario, 100, **options).complete
        return seen

    assert run() == {"NOA NOB"}
    assert run(shared=True) == {"NOA NOB", "NOB NOA"}


def test_a_timer_that_a_task_may_cancel_comes_in_both_orders() -> None:
    seen = set()

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)
        region.register("NEXT", lambda task: task.writeq_td("NOA", b"started"))

        def program(task: Task) -> None:
            task.start("NEXT", interval=1, reqid="REQ")
            task.delay(seconds=1)
            task.cancel(reqid="REQ", nohandle=True)

        region.start(program)
        region.run()
        seen.add(tuple(region.peek("NOA")))

    assert explore(scenario, 100, method="exhaustive").complete
    assert seen == {(), (b"started",)}


# -- no outcome is missed -----------------------------------------------------------------------------------------

OPERATIONS: dict[str, Callable[[Task, str, bytes], object]] = {
    "write": lambda task, name, data: task.writeq_td(name, data),
    "read": lambda task, name, _: task.readq_td(name, nohandle=True),
    "busy": lambda task, name, _: task.readq_td(name, nosuspend=True, nohandle=True),
    "delete": lambda task, name, _: task.deleteq_td(name, nohandle=True),
    "count": lambda task, name, _: task.inquire_tdqueue(name, "NUMITEMS").numitems,
    "peek": lambda task, name, _: task.region.peek(name),
    "commit": lambda task, _name, _data: task.syncpoint(),
    "back out": lambda task, _name, _data: task.syncpoint_rollback(),
    "enq": lambda task, name, _: task.enq(name),
    "deq": lambda task, name, _: task.deq(name),
    "ts": lambda task, name, data: task.writeq_ts(f"R{name}", data),
    "start": lambda task, _name, data: task.start("NEXT", data),
    "wait": lambda task, _name, _data: task.delay(seconds=1),
}
NAMES = ("LOGA", "TRIG", "NOA", "PHY")
REQUESTS = st.tuples(st.sampled_from(list(OPERATIONS)), st.sampled_from(NAMES))
Program = list[tuple[str, str]]


def outcomes(programs: list[Program], limit: int, **options: Any) -> tuple[set[str], Exploration]:
    """How the programs can end: what each request returned, what is on the queues, who waits, what abended."""
    seen = set()

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)
        logs: dict[object, list[object]] = {}

        def run(task: Task, number: int, program: Program) -> None:
            for operation, name in program:
                logs[number].append((OPERATIONS[operation](task, name, b"%d" % number), task.eib.eibresp))

        def move(task: Task) -> None:
            log = logs.setdefault(f"MOVE {len(logs)}", [])
            while data := task.readq_td("TRIG", nohandle=True):
                log.append(data)
                task.writeq_td("NOA", b"moved " + data)

        region.register("MOVE", move)
        region.register("NEXT", lambda task: task.writeq_td("LOGA", b"next " + task.retrieve()))
        for number, program in enumerate(programs):
            logs[number] = []
            region.start(run, number, program)
        try:
            region.run()
        finally:
            waits = sorted(fiber.name for fiber in stage.dispatcher.fibers if fiber.waiting_for is not None)
            ends = [region.peek(name) for name in NAMES]
            seen.add(repr((sorted(logs.items(), key=repr), ends, waits, sorted(region.statistics.abends))))
            stage.deadlock = ""
            stage.regions.clear()  # nothing is judged here: each end is an outcome
            stage.close = region.close

    found = explore(scenario, limit, method="exhaustive", may_wait=True, minimise=False, **options)
    assert found.failure is None
    return seen, found


def programs_of(tasks: int, requests: int) -> st.SearchStrategy[list[Program]]:
    return st.lists(st.lists(REQUESTS, min_size=1, max_size=requests), min_size=2, max_size=tasks)


def misses_nothing(programs: list[Program], limit: int) -> bool:
    """One order of each class of the slow model is run, and they have all its outcomes.

    False if there are more classes than the limit: three STARTs beside each other have thousands.
    """
    seen, reduced = outcomes(programs, limit)
    if not reduced.complete:
        return False
    wanted, every = outcomes(programs, limit, preemptions=EVERY)
    assert wanted <= seen
    if every.complete:
        assert seen == wanted
        assert reduced.schedules == every.distinct
    return True


@settings(max_examples=4, deadline=None)
@given(programs_of(2, 2))
def test_reduction_misses_no_outcome_of_a_small_program(programs: list[Program]) -> None:
    assume(misses_nothing(programs, 100))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(programs_of(3, 3))
def test_reduction_misses_no_outcome_of_many_programs(programs: list[Program]) -> None:
    assume(misses_nothing(programs, 3000))


@pytest.mark.parametrize("first", OPERATIONS)
def test_reduction_misses_no_outcome_of_two_requests(first: str) -> None:
    """Every operation beside a task that writes and commits: pairs that the property test may not draw."""
    assert misses_nothing([[(first, "LOGA")], [("write", "LOGA"), ("commit", "LOGA")]], 200)


# -- scenarios that are not repeatable ----------------------------------------------------------------------------


def test_a_scenario_that_changes_is_a_failure_or_never_complete() -> None:
    runs: list[int] = []

    def scenario(stage: Stage) -> None:
        runs.append(1)
        region = stage.region(QUEUES)
        for _ in range(2 + len(runs) % 2):
            region.start(lambda task: task.writeq_td("NOA", b"x"))
        region.run()

    failure = explore(scenario, 100, method="exhaustive", minimise=False).failure
    assert failure is not None
    assert failure.kind == "changing run"
    assert "pass shared=True" in failure.message
    found = explore(scenario, 20)
    assert (found.schedules, found.complete, found.failure) == (20, False, None)


# -- faults -------------------------------------------------------------------------------------------------------


def careless(stage: Stage) -> None:
    """A handler that takes any condition for QZERO: after an IOERR it leaves records behind."""
    region = stage.region(QUEUES)

    def move(task: Task) -> None:
        while record := task.readq_td("TRIG", nohandle=True):
            task.writeq_td("LOGA", record)

    region.register("MOVE", move)
    region.start(lambda task: [task.writeq_td("TRIG", b"%d" % number) for number in range(3)])
    region.run()
    assert len(region.peek("LOGA")) == 3, "a record was left behind"


READS = Fault("IOERR", command="READQ TD", queue="TRIG")


def test_a_fault_is_placed_at_each_command_and_the_finding_can_be_pasted() -> None:
    assert explore(careless, 100).failure is None
    faults = [Fault("IOERR", command="WRITEQ TD", queue="NOA"), READS]
    failure = explore(careless, 100, faults=faults, max_faults=2).failure
    assert failure is not None
    assert failure.kind == "assertion"
    assert failure.faults.faults == (READS,)
    assert failure.schedule.deviations == ()
    assert "faults=[Fault(condition='IOERR', command='READQ TD', queue='TRIG')]" in str(failure)
    with pytest.raises(ScheduleFailure, match="a record was left behind"):
        replay(careless, failure.schedule.token, faults=failure.faults)
    with pytest.raises(ScheduleFailure, match="a record was left behind"):
        run_pasted(failure.test)


def run_pasted(text: str) -> None:
    """Run the one test of a text."""
    names: dict[str, Any] = {}
    exec(text, names)
    (test,) = [each for name, each in names.items() if name.startswith("test_")]
    test()


def test_faults_are_tried_at_every_command_and_each_run_is_a_new_one() -> None:
    seen = []

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)
        region.start(lambda task: [task.readq_td("NOA", nohandle=True) for _ in range(3)])
        region.run()
        assert stage.faults is not None
        seen.append(len(stage.faults.happened))

    fault = Fault("IOERR", command="READQ TD")
    assert explore(scenario, 100, faults=[fault]).complete
    assert seen == [0, 1, 1, 1]
    seen.clear()
    found = explore(scenario, 100, faults=[fault], max_faults=2)
    assert (found.schedules, found.complete, found.repeated) == (7, True, 0)
    assert Counter(seen) == {0: 1, 1: 3, 2: 3}


def test_messages_are_placed_in_jobs_too() -> None:
    ended = set()

    def scenario(stage: Stage) -> None:
        system = stage.system()
        with system.job() as job:
            job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=1)
            for _ in range(2):
                system.start(lambda one: one.qsnddtaq("ORDERS", "QGPL", b"x"))
            system.run()
            ended.add(tuple(str(getattr(each.exception, "message_id", "")) for each in system.started))

    fault = MessageFault("CPF9872", operation="QSNDDTAQ")
    assert explore(scenario, 100, faults=[fault], allow_abends="*").complete
    assert ended == {("", ""), ("CPF9872", ""), ("", "CPF9872")}


def test_what_an_exploration_cannot_place_is_refused() -> None:
    with pytest.raises(ValueError, match="of the kinds Fault and MessageFault"):
        explore(careless, faults=[CrashPoint()])
    with pytest.raises(ValueError, match="max_faults -1: allowed are 0 or more"):
        explore(careless, faults=[READS], max_faults=-1)


def test_a_fault_in_one_order_only_is_found() -> None:
    """The second task looks whether the first one was refused; only then, and only if it comes later, it is lost."""

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)

        def put(task: Task) -> None:
            try:
                task.writeq_td("NOA", b"x")
            except Condition:
                task.writeq_td("NOB", b"refused")

        def take(task: Task) -> None:
            if not task.inquire_tdqueue("NOB", "NUMITEMS").numitems:
                task.writeq_td("NOB", b"fine")

        region.start(take)
        region.start(put)
        region.run()
        assert region.peek("NOB") != [b"refused"]

    fault = Fault("NOSPACE", command="WRITEQ TD", queue="NOA")
    assert explore(scenario, 100).failure is None
    failure = explore(scenario, 100, faults=[fault]).failure
    assert failure is not None
    assert failure.faults.faults == (fault,)
    assert len(failure.schedule.deviations) == 1


def test_a_failure_that_is_made_small_stays_the_same_failure() -> None:
    """An earlier switch gives another failure."""

    def scenario(stage: Stage) -> None:
        region = stage.region(QUEUES)
        for letter in (b"A", b"B", b"C"):
            region.start(lambda task, letter=letter: task.writeq_td("NOA", letter))
        region.run()
        there = b"".join(region.peek("NOA"))
        assert there != b"CBA", "C and B came first"
        if there in (b"CAB", b"BAC"):
            raise KeyError(there)

    failure = explore(scenario, 20, seed=1).failure
    assert failure is not None
    assert (failure.kind, failure.schedule.token) == ("assertion", "at:1=3")


def test_every_region_of_an_order_is_closed_at_its_end() -> None:
    made: list[Region] = []

    def scenario(stage: Stage) -> None:
        made.extend(stage.region(QUEUES, applid=applid) for applid in ("ONE", "TWO"))

    explore(scenario, 1)
    assert len(made) >= 2
    assert all(region.closed for region in made)
