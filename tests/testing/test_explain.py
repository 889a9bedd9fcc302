"""What explain predicts is what the command then does; and its sentences name the cause."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim import Region, Resp, define_tdqueue, define_terminal, define_transaction
from tdqsim.cics import Task
from tdqsim.testing import History, RecycledStores

QUEUES = ["NOQ", "PHYQ", "LOGQ", "LOGW", "ALIA", "RING", "OUTQ", "REMQ", "NONE", "TRGQ"]
DEFINITIONS = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="LOGW", type="INTRA", recovstatus="LOGICAL", waitaction="QUEUE"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="LOGQ"),
    define_tdqueue(name="RING", type="INDIRECT", indirectname="RNG2"),
    define_tdqueue(name="RNG2", type="INDIRECT", indirectname="RING"),
    define_tdqueue(name="OUTQ", type="EXTRA", typefile="OUTPUT"),
    define_tdqueue(name="REMQ", remotesystem="CICB", remotename="FARQ"),
    define_tdqueue(
        name="TRGQ", type="INTRA", transid="PAYP", triggerlevel=2, atifacility="TERMINAL", facilityid="T001"
    ),
    define_transaction(name="PAYP"),
    define_terminal(name="T001"),
]
COMMANDS = ["READQ TD", "WRITEQ TD", "DELETEQ TD"]
RECORD = b"x" * 100


@pytest.fixture(scope="module")
def stores() -> Iterator[RecycledStores]:
    with RecycledStores() as found:
        yield found


def make(stores: RecycledStores, **options) -> Region:
    space = {"ci_size": 512, "control_intervals": 4}
    return Region(DEFINITIONS, supplied_queues=False, store=stores.take(), dfhintra=space, **options)


def request(task: Task, command: str, queue: str, *, nosuspend: bool = False) -> str:
    if command == "READQ TD":
        task.readq_td(queue, nosuspend=nosuspend, nohandle=True)
    elif command == "WRITEQ TD":
        task.writeq_td(queue, RECORD, nohandle=True)
    else:
        task.deleteq_td(queue, nohandle=True)
    return Resp(task.eib.eibresp).name


def outcome(region: Region, command: str, queue: str, *, nosuspend: bool = False) -> str:
    """What a new task meets; one that waits is purged."""
    handle = region.start(lambda task: request(task, command, queue, nosuspend=nosuspend))
    region.dispatcher.run_ready()
    if handle.done:
        return str(handle.result())
    region.purge(handle)
    region.dispatcher.run_ready()
    return "WAIT"


class World:
    """A region that random steps lead into every state."""

    def __init__(self, stores: RecycledStores) -> None:
        self.region = make(stores)
        self.held: list[Task] = []
        self.shunted = 0

    def step(self, what: str, queue: str, number: int) -> None:
        region = self.region
        if what == "hold":
            if len(self.held) < 3:
                self.held.append(region.task().__enter__())
        elif what == "enable":
            region.set_tdqueue(queue, enablestatus="ENABLED", nohandle=True)
        elif what == "disable":
            region.set_tdqueue(queue, enablestatus="DISABLED", nohandle=True)
        elif what == "fill":
            for _ in range(number):
                outcome(region, "WRITEQ TD", queue)
        elif self.held:
            self.by_task(what, queue, self.held[number % len(self.held)])

    def by_task(self, what: str, queue: str, task: Task) -> None:
        if what in COMMANDS:
            predicted = self.region.explain(queue, task=task, size=len(RECORD)).commands[what]
            if predicted.outcome in ("WAIT", "SHIPPED", "UNKNOWN"):
                return
            assert request(task, what, queue) == predicted.outcome, predicted
            return
        self.held.remove(task)
        if what == "shunt":
            self.shunted += 1
            part = self.region.coordinate(task, f"coordinator {self.shunted}")
            if part.prepare():
                part.lose_coordinator()
        elif what == "rollback":
            task.syncpoint_rollback()
        task.__exit__(None, None, None)

    def close(self) -> None:
        for task in self.held:
            task.syncpoint_rollback()
            task.__exit__(None, None, None)
        self.region.close()


STEPS = ["hold", "enable", "disable", "fill", "commit", "rollback", "shunt", *COMMANDS, *COMMANDS, *COMMANDS]
OFTEN = ["LOGQ", "LOGQ", "LOGW", "LOGW", "TRGQ", "NOQ", *QUEUES]


@settings(max_examples=100)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.sampled_from(OFTEN), st.integers(0, 5)), min_size=8, max_size=25
    ),
    order=st.permutations([(command, queue) for command in COMMANDS for queue in QUEUES]),
    nosuspend=st.booleans(),
)
def test_what_is_predicted_is_what_happens(stores, steps, order, nosuspend) -> None:
    world = World(stores)
    try:
        for step in [("hold", "", 0), *steps]:
            world.step(*step)
        for command, queue in order:
            compare(world.region, command, queue, nosuspend=nosuspend)
    finally:
        world.close()


def compare(region: Region, command: str, queue: str, *, nosuspend: bool) -> None:
    told = region.explain(queue, size=len(RECORD))
    predicted = told.commands[command]
    expected = predicted.nosuspend if nosuspend and command == "READQ TD" else predicted.outcome
    if expected in ("SHIPPED", "UNKNOWN"):
        return
    target = region.tdqueues.get(told.target)
    cycle = getattr(target, "cycle", 0)
    assert outcome(region, command, queue, nosuspend=nosuspend) == expected, str(told)
    if command == "WRITEQ TD" and expected == "NORMAL":
        assert told.starts == (target.cycle != cycle), str(told)


# -- sentences ----------------------------------------------------------------------------------------------------


@pytest.fixture
def region(stores) -> Iterator[Region]:
    with make(stores) as made:
        yield made


def test_uncommitted_records_are_laid_to_their_task(region: Region) -> None:
    with region.task() as task:
        task.writeq_td("LOGQ", b"x")
        text = str(region.explain("ALIA"))
    assert "ALIA stands for queue LOGQ." in text
    assert f"of task {task.number} TEST holds TOQ and has written 1 record, uncommitted." in text
    assert "READQ TD would wait (QBUSY with NOSUSPEND): no committed record is left" in text


def test_why_a_trigger_has_not_fired(region: Region) -> None:
    def told() -> str:
        return str(region.explain("TRGQ"))

    assert "It starts PAYP at 2 records; 2 more are needed." in told()
    assert "(DFHAC2016)" in told()  # it has no program
    region.register("PAYP", lambda task: task.delay(seconds=10))
    region.set_terminal("T001", inservice=False)
    region.writeq_td("TRGQ", b"1")
    assert "1 more are needed" in told()
    assert region.explain("TRGQ").starts
    region.writeq_td("TRGQ", b"2")
    assert "A cycle is on (number 1, of PAYP)" in told()
    assert "Its task waits for terminal T001, which is out of service or not defined." in told()
    region.set_terminal("T001", inservice=True)
    region.dispatcher.run_ready()
    assert "it is started again until somebody reads the queue to QZERO" in told()
    handle = next(task for task in region.tasks.values() if task.transid == "PAYP")
    region.purge(handle)
    region.dispatcher.run_ready()
    assert "Its task has ended without reading the queue to QZERO." in told()
    assert not region.explain("TRGQ").starts


def test_a_level_that_is_reached_without_a_cycle(region: Region) -> None:
    region.seed("TRGQ", [b"1", b"2", b"3"])
    assert "The level is reached, but the count is looked at only at a WRITEQ" in str(region.explain("TRGQ"))


def test_a_transaction_that_is_not_there(stores) -> None:
    queue = define_tdqueue(name="TRGQ", type="INTRA", transid="GONE", atifacility="FILE")
    with Region([queue], supplied_queues=False, store=stores.take()) as region:
        told = region.explain("TRGQ")
        assert "No cycle can begin: transaction GONE: it is not defined (DFHTD0183)." in str(told)
        assert not told.starts


def test_shunted_units_of_work_are_named(region: Region) -> None:
    task = region.task().__enter__()
    task.writeq_td("LOGQ", b"x")
    part = region.coordinate(task, "elsewhere")
    assert part.prepare()
    part.lose_coordinator()
    told = region.explain("LOGQ")
    assert "INDOUBT, SHUNTED: it waits for its coordinator" in str(told)
    for command in ("WRITEQ TD", "READQ TD"):  # no committed record is left
        assert told.commands[command].outcome == outcome(region, command, "LOGQ") == "LOCKED"
    task.__exit__(None, None, None)


def test_unknown_names_and_rings(region: Region) -> None:
    assert {each.outcome for each in region.explain("NONE").commands.values()} == {"QIDERR"}
    assert "go round in a ring" in str(region.explain("RING"))


def test_the_history_of_a_record(region: Region) -> None:
    history = History().attach(region)
    with region.task() as task:
        task.writeq_td("LOGQ", b"payment")
    region.readq_td("LOGQ")
    lines = region.explain("LOGQ", record=b"payment").history
    assert [line.split()[3] for line in lines] == ["TEST", "TEST", "TEST", "TEST"]
    assert ["WRITEQ" in lines[0], "COMMIT" in lines[1], "READQ" in lines[2], "COMMIT" in lines[3]] == [True] * 4
    assert "What happened last:" in str(region.explain("LOGQ"))
    history.detach()
    assert region.explain("LOGQ").history == ()
