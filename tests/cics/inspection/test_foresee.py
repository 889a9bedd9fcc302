"""What explain predicts for every command is what the command then does: in every state, here and in other regions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim import Abend, Condition, Region, Resp, define_tdqueue, define_terminal, define_transaction
from tdqsim.cics import Access, AccessList, Sysplex, Task
from tdqsim.core.store import Store
from tdqsim.faults import CrashPoint, DiskFull, Fault, FaultPlan, add_hook
from tdqsim.testing import RecycledStores

HERE = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="LOGW", type="INTRA", recovstatus="LOGICAL", waitaction="QUEUE"),
    define_tdqueue(name="CNOD", type="INTRA"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="LOGQ"),
    define_tdqueue(name="ALIR", type="INDIRECT", indirectname="REML"),
    define_tdqueue(name="RING", type="INDIRECT", indirectname="RNG2"),
    define_tdqueue(name="RNG2", type="INDIRECT", indirectname="RING"),
    define_tdqueue(name="OUTQ", type="EXTRA", typefile="OUTPUT", ddname="OUTDD"),
    define_tdqueue(name="INPQ", type="EXTRA", typefile="INPUT", ddname="INPDD"),
    define_tdqueue(name="CLOS", type="EXTRA", typefile="INPUT", ddname="INPDD", opentime="DEFERRED"),
    define_tdqueue(name="REMN", remotesystem="CICB", remotename="FARN"),
    define_tdqueue(name="REML", remotesystem="CICB", remotename="FARL"),
    define_tdqueue(name="REMU", remotesystem="CICB", remotename="GONE"),
    define_tdqueue(name="REMB", remotesystem="CICB", remotename="BACK"),
    define_tdqueue(name="REMX", remotesystem="NONE", remotename="FARQ"),
    define_tdqueue(
        name="TRGQ", type="INTRA", transid="PAYP", triggerlevel=2, atifacility="TERMINAL", facilityid="T001"
    ),
    define_transaction(name="PAYP"),
    define_terminal(name="T001"),
]
THERE = [
    define_tdqueue(name="FARN", type="INTRA"),
    define_tdqueue(name="FARL", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="BACK", remotesystem="CICA", remotename="LOGQ"),
]
QUEUES = ["NONE", *(each.name for each in HERE if each.name not in ("PAYP", "T001"))]
FAR = ["FARN", "FARL"]
TD = ["READQ TD", "WRITEQ TD", "DELETEQ TD"]
SETS = {
    "SET TDQUEUE ENABLED": {"enablestatus": "ENABLED"},
    "SET TDQUEUE DISABLED": {"enablestatus": "DISABLED"},
    "SET TDQUEUE OPEN": {"openstatus": "OPEN"},
    "SET TDQUEUE CLOSED": {"openstatus": "CLOSED"},
}
LRECL = 100


@pytest.fixture(scope="module")
def stores() -> Iterator[RecycledStores]:
    with RecycledStores() as found:
        yield found


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    (path / "input").write_bytes(b"".join(b"%0100d" % number for number in range(3)))
    return path


def request(task: Task, command: str, queue: str, size: int, *, nosuspend: bool = False) -> str:
    """Issue a command; the outcome as explain writes it."""
    if command == "READQ TD":
        task.readq_td(queue, nosuspend=nosuspend, nohandle=True)
    elif command == "WRITEQ TD":
        task.writeq_td(queue, b"x" * size, nohandle=True)
    elif command == "DELETEQ TD":
        task.deleteq_td(queue, nohandle=True)
    elif command == "INQUIRE TDQUEUE":
        task.inquire_tdqueue(queue, "TYPE", nohandle=True)
    elif command == "DISCARD TDQUEUE":
        task.discard_tdqueue(queue, nohandle=True)
    else:
        task.set_tdqueue(queue, **SETS[command], nohandle=True)
    return f"{Resp(task.eib.eibresp).name} {task.eib.eibresp2}"


def outcome(region: Region, command: str, queue: str, size: int, *, nosuspend: bool = False) -> str:
    """What a new task meets; one that waits is purged."""
    handle = region.start(lambda task: request(task, command, queue, size, nosuspend=nosuspend))
    region.dispatcher.run_ready()
    if handle.done:
        return str(handle.result())
    region.purge(handle)
    region.dispatcher.run_ready()
    return "WAIT 0"


class World:
    """Two connected regions that random steps lead into every state."""

    def __init__(self, stores: RecycledStores, disk: Path, options: dict[str, Any]) -> None:
        self.sysplex = Sysplex()
        space = {"ci_size": 512, "control_intervals": 4}
        cards = {
            "INPDD": {"path": str(disk / "input"), "recfm": "FB", "lrecl": LRECL},
            "OUTDD": {"path": str(disk / "output"), "recfm": "FB", "lrecl": LRECL, "space": "4"},
        }
        self.region, self.far = (
            self.sysplex.region(
                definitions, applid=name, sysid=name, supplied_queues=False, store=stores.take(), dfhintra=space, **more
            )
            for name, definitions, more in (("CICA", HERE, {"dd": cards, **options}), ("CICB", THERE, {}))
        )
        self.link = self.sysplex.connect(self.region, self.far)
        self.held: list[Task] = []
        self.shunted = 0

    def step(self, what: str, queue: str, number: int) -> None:
        region = self.far if queue in FAR else self.region
        if what == "hold":
            if len(self.held) < 3:
                self.held.append(self.region.task().__enter__())
        elif what in SETS:
            region.set_tdqueue(queue, **SETS[what], nohandle=True)
        elif what == "fill":
            for _ in range(number):
                outcome(region, "WRITEQ TD", queue, LRECL)
        elif what == "link":
            (self.link.cut if number % 2 else self.link.restore)()
        elif self.held:
            self.by_task(what, queue, self.held[number % len(self.held)])

    def by_task(self, what: str, queue: str, task: Task) -> None:
        if what in TD:
            predicted = self.region.explain(queue, task=task, size=LRECL).commands[what]
            if predicted.outcome == "WAIT":
                return  # it would wait for ever: the task is the program outside
            assert request(task, what, queue, LRECL) == f"{predicted.outcome} {predicted.resp2}", predicted
            return
        self.held.remove(task)
        if what == "shunt":
            self.shunted += 1
            part = self.region.recovery.branch(f"coordinator {self.shunted}", task)
            if part.prepare():
                part.lose_coordinator()
        elif what == "rollback":
            task.syncpoint_rollback()
        self.leave(task)

    def leave(self, task: Task) -> None:
        try:
            task.__exit__(None, None, None)
        except Condition as condition:
            assert condition.resp is Resp.ROLLEDBACK  # noqa: PT017  (its link was cut, and nothing else)
        except Abend as abend:
            assert abend.code == "ASPN"  # noqa: PT017  (the same, before its end)

    def close(self) -> None:
        for task in self.held:
            task.syncpoint_rollback()
            self.leave(task)
        self.sysplex.close()


STEPS = ["hold", "fill", "commit", "rollback", "shunt", "link", *SETS, *TD, *TD, *TD, *TD]
OFTEN = ["LOGQ", "LOGW", "TRGQ", "NOQ", "INPQ", "OUTQ", "REML", "REML", "FARL", "FARN", *QUEUES[1:]]
ASKED = [(command, queue) for command in (*TD, "INQUIRE TDQUEUE", *list(SETS)[:2]) for queue in QUEUES]
ASKED += [(command, queue) for command in list(SETS)[2:] for queue in ("INPQ", "OUTQ", "CLOS")]
ASKED += [("DISCARD TDQUEUE", queue) for queue in QUEUES]
SECURE = AccessList({"CICSUSER": {"L*": Access.READ, "I*": Access.UPDATE, "*": Access.ALTER}})


@settings(max_examples=60)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.sampled_from(OFTEN), st.integers(0, 5)), min_size=8, max_size=30
    ),
    order=st.lists(st.sampled_from(ASKED), min_size=10, max_size=60),
    size=st.sampled_from([LRECL, LRECL, 1, 480, 481]),
    nosuspend=st.booleans(),
    secure=st.sampled_from([False, False, True]),
)
def test_what_is_predicted_is_what_happens(stores, disk, steps, order, size, nosuspend, secure) -> None:
    world = World(stores, disk, {"security": SECURE} if secure else {})
    try:
        for step in [("hold", "", 0), *steps]:
            world.step(*step)
        for command, queue in order:
            compare(world.region, command, queue, size, nosuspend=nosuspend)
    finally:
        world.close()


def compare(region: Region, command: str, queue: str, size: int, *, nosuspend: bool = False) -> None:
    told = region.explain(queue, size=size)
    predicted = told.commands[command]
    expected = predicted.nosuspend if nosuspend and command == "READQ TD" else predicted.outcome
    if expected == "UNKNOWN":
        return
    target = region.tdqueues.get(told.target)
    cycle = getattr(target, "cycle", None)
    assert outcome(region, command, queue, size, nosuspend=nosuspend) == f"{expected} {predicted.resp2}", str(told)
    if command == "WRITEQ TD" and expected == "NORMAL" and cycle is not None:
        assert told.starts == (target.cycle != cycle), str(told)


@pytest.mark.parametrize("queue", ["NOQ", "PHYQ", "LOGQ"])
def test_a_disk_that_fills_up_is_foreseen_to_the_record(tmp_path: Path, queue: str) -> None:
    definitions = [each for each in HERE if each.name == queue]
    space = {"ci_size": 8192, "control_intervals": 10_000}
    with (
        Store(tmp_path / "store", limit_bytes=2**22, memory_bytes=2**18) as store,
        Region(definitions, supplied_queues=False, store=store, dfhintra=space) as region,
    ):
        for _ in range(1000):
            predicted = region.explain(queue, size=8000).commands["WRITEQ TD"]
            met = outcome(region, "WRITEQ TD", queue, 8000)
            assert met == f"{predicted.outcome} 0", predicted
            if met == "NOSPACE 0":
                break
        assert "there is no room: it may have 4194304 bytes" in predicted.reason
        for command in ("READQ TD", "DELETEQ TD", "WRITEQ TD"):
            compare(region, command, queue, 8000)


@pytest.mark.parametrize(("queue", "half"), [("NOQ", "volatile"), ("LOGQ", "durable")])
def test_a_planned_full_disk_is_foreseen(queue: str, half: Any) -> None:
    space = {"ci_size": 8192, "control_intervals": 10_000}
    definitions = [each for each in HERE if each.name == queue]
    with Region(definitions, supplied_queues=False, dfhintra=space) as region, FaultPlan(DiskFull(half)).on(region):
        met = ""
        while met != "NOSPACE 0":
            predicted = region.explain(queue, size=8000).commands["WRITEQ TD"]
            met = outcome(region, "WRITEQ TD", queue, 8000)
            assert met == f"{predicted.outcome} 0", predicted


@pytest.mark.parametrize("queue", ["NOQ", "PHYQ", "LOGQ"])
def test_damaged_records_are_foreseen(tmp_path: Path, queue: str) -> None:
    definitions = [each for each in HERE if each.name == queue]
    record = b"unmistakable record"
    with Region(definitions, supplied_queues=False, store=tmp_path / "store") as region:
        region.writeq_td(queue, b"sound")
        region.writeq_td(queue, record)
    for file in tmp_path.rglob("data.mdb"):
        file.write_bytes(file.read_bytes().replace(record, b"unmistakeable recor"))
    with Region(store=tmp_path / "store", supplied_queues=False) as region:
        compare(region, "READQ TD", queue, 1)
        told = region.explain(queue)
        assert told.commands["READQ TD"].outcome == "IOERR"
        assert "damaged" in told.commands["READQ TD"].reason
        compare(region, "READQ TD", queue, 1)
        compare(region, "WRITEQ TD", queue, 1)
        compare(region, "DELETEQ TD", queue, 1)


def test_a_damaged_block_of_a_data_set_is_foreseen_once(tmp_path: Path) -> None:
    whole = b"\0\x0c\0\0\0\x08\0\0ABCD"
    (tmp_path / "input").write_bytes(whole + b"\0\x0c\0\0\0\x99\0\0ABCD" + whole)
    for option in ("SKIP", "IGNORE"):
        queue = define_tdqueue(name="INPQ", type="EXTRA", typefile="INPUT", ddname="INP", erroroption=option)
        cards = {"INP": {"path": str(tmp_path / "input"), "recfm": "VB", "lrecl": 80, "blksize": 84}}
        with Region([queue], supplied_queues=False, dd=cards) as region:
            seen = []
            for _ in range(5):
                predicted = region.explain("INPQ").commands["READQ TD"]
                seen.append(predicted.outcome)
                assert outcome(region, "READQ TD", "INPQ", 1) == f"{predicted.outcome} 0"
            assert seen.count("IOERR") == 1
            assert seen[-1] == "QZERO"


def test_a_planned_fault_is_foreseen_at_its_turn() -> None:
    plan = FaultPlan(Fault("IOERR", resp2=3, command="READQ TD", queue="NOQ", nth=2), Fault(delay=5, nth=9))
    with Region(HERE[:1], supplied_queues=False) as region, plan.on(region):
        region.seed("NOQ", [b"1", b"2", b"3"])
        for expected in ("NORMAL", "IOERR", "NORMAL"):
            told = region.explain("NOQ").commands["READQ TD"]
            assert told.outcome == expected
            compare(region, "READQ TD", "NOQ", 1)
        assert region.explain("NOQ").commands["WRITEQ TD"].outcome == "NORMAL"


def test_a_hook_that_cannot_say_is_named() -> None:
    class Hook:
        def before(self, *_: object) -> None: ...

        def after(self, *_: object) -> None: ...

    with Region(HERE[:1], supplied_queues=False) as region:
        add_hook(region, Hook())
        assert "A hook looks at every command of the region; what it does is not foreseen." in str(
            region.explain("NOQ")
        )


def test_asking_changes_nothing() -> None:
    plan = FaultPlan(DiskFull("durable", nth=1000), CrashPoint(1000))
    with Region(HERE[:4], supplied_queues=False) as region, plan.on(region) as active:
        with region.task() as task:
            for queue in ("NOQ", "PHYQ", "LOGQ", "LOGW"):
                task.writeq_td(queue, b"x")
            before = region.snapshot()
            room = region._core.intra.in_use
            for queue in ("NOQ", "PHYQ", "LOGQ", "LOGW"):
                assert region.explain(queue, task=task) == region.explain(queue, task=task)
            assert (region.snapshot(), region._core.intra.in_use) == (before, room)
            assert task.readq_td("LOGQ") == b"x"
        assert not active.happened
