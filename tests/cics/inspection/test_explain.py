"""Explain's sentences name the cause."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tdqsim import Condition, Region, TdqError, define_tdqueue, define_terminal, define_transaction
from tdqsim.cics import Sysplex, Task
from tdqsim.facts import rules_of, unconfirmed
from tdqsim.faults import Fault, FaultPlan
from tdqsim.testing import History, RecycledStores
from tests.rules import rule

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


@pytest.fixture(scope="module")
def stores() -> Iterator[RecycledStores]:
    with RecycledStores() as found:
        yield found


def make(stores: RecycledStores, **options) -> Region:
    space = {"ci_size": 512, "control_intervals": 4}
    return Region(DEFINITIONS, supplied_queues=False, store=stores.take(), dfhintra=space, **options)


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
    moment = region.clock.now().strftime("%Y-%m-%d %H:%M")
    assert "No task of PAYP is attached: it has no program. Register a handler for PAYP" in told()
    region.register("PAYP", lambda task: task.delay(seconds=10))
    region.set_terminal("T001", servstatus="OUTSERVICE")
    region.writeq_td("TRGQ", b"1")
    assert "1 more is needed" in told()
    assert region.explain("TRGQ").starts
    with region.task(transid="FILL") as writer:
        writer.writeq_td("TRGQ", b"2")
    assert "A cycle is on (number 1, of PAYP)" in told()
    assert f"The latch was set at {moment}" in told()
    assert f"by a WRITEQ TD of task {writer.number} FILL, when the queue held 2 records." in told()
    assert "The task of its trigger (PAYP) waits for terminal T001, which is out of service." in told()
    (waits,) = region.notices
    assert waits.reason in told()
    region.set_terminal("T001", servstatus="INSERVICE")
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
        assert "Its trigger starts no task: TRANSACTION GONE is not defined." in str(told)
        assert "(DFHTD0183)" in str(told)
        assert not told.starts


def test_shunted_units_of_work_are_named(region: Region) -> None:
    task = region.task().__enter__()
    task.writeq_td("LOGQ", b"x")
    part = region.recovery.branch("elsewhere", task)
    assert part.prepare()
    part.lose_coordinator()
    told = region.explain("LOGQ")
    assert "INDOUBT, SHUNTED: it waits for its coordinator" in str(told)
    for command in ("WRITEQ TD", "READQ TD"):  # no committed record is left
        assert told.commands[command].outcome == "LOCKED"
    task.__exit__(None, None, None)


def test_unknown_names_and_rings(region: Region) -> None:
    assert {each.outcome for each in region.explain("NONE").commands.values()} == {"QIDERR"}
    assert "form a ring" in str(region.explain("RING"))


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
    with pytest.raises(TdqError, match="attach a History first"):
        region.explain("LOGQ", record=b"payment")
    with pytest.raises(TypeError, match="queue 7"):
        region.explain(7)


def test_the_latch_of_a_logical_queue_was_set_by_a_commit_and_is_known_after_a_restart(tmp_path: Path) -> None:
    queue = define_tdqueue(
        name="TRGQ", type="INTRA", recovstatus="LOGICAL", transid="PAYP", atifacility="TERMINAL", facilityid="T001",
        triggerlevel=2,
    )  # fmt: skip
    definitions = [queue, define_transaction(name="PAYP"), define_terminal(name="T001")]
    with Region(definitions, supplied_queues=False, store=tmp_path / "store") as region:
        region.set_terminal("T001", servstatus="OUTSERVICE")
        with region.task(transid="FILL") as task:
            task.writeq_td("TRGQ", b"1")
            task.writeq_td("TRGQ", b"2")
            uow = task._uow.id.hex().upper()
        said = f"by the commit of unit of work {uow} of task {task.number} FILL, when the queue held 2 records."
        assert said in str(region.explain("TRGQ"))
        region.close(clean=False)
    with Region(store=tmp_path / "store", supplied_queues=False) as again:
        assert said in str(again.explain("TRGQ"))


def test_the_terminal_that_set_a_latch_is_named(stores) -> None:
    with make(stores) as region:
        region.register("FILL", lambda task: [task.writeq_td("TRGQ", b"x") for _ in range(2)])
        region.set_terminal("T001", servstatus="INSERVICE")
        region.start("FILL", terminal="T001")
        region.dispatcher.run_ready()
        assert "FILL at terminal T001, when the queue held 2 records." in str(region.explain("TRGQ"))


def test_what_an_operator_may_do_is_foreseen(region: Region) -> None:
    told = region.explain("NOQ")
    assert "INQUIRE TDQUEUE, SET TDQUEUE ENABLED, SET TDQUEUE DISABLED would succeed." in str(told)
    assert told.commands["DISCARD TDQUEUE"].resp2 == 31
    assert "DISCARD TDQUEUE would get INVREQ RESP2 31: queue NOQ must be DISABLED." in str(told)
    region.install([define_tdqueue(name="CQUE", type="INTRA")])
    said = str(region.explain("CQUE").commands["SET TDQUEUE DISABLED"])
    assert said.startswith("SET TDQUEUE DISABLED would get INVREQ RESP2 11: ")
    assert said.endswith(f" (rule SET-C-NAME, {rule('SET-C-NAME').confidence}).")
    with region.task() as task:
        task.writeq_td("LOGQ", b"x")
        assert "SET TDQUEUE DISABLED would succeed: the queue would be DISABLING" in str(region.explain("LOGQ"))


def test_readq_is_foreseen_behind_what_the_task_itself_has_read_and_written(region: Region) -> None:
    region.seed("LOGQ", [b"one"])

    def outcome(asked: Task | None = None) -> str:
        return region.explain("LOGQ", task=asked).commands["READQ TD"].outcome

    with region.task() as task:
        assert [outcome(task), task.readq_td("LOGQ"), outcome(task), outcome()] == ["NORMAL", b"one", "QZERO", "WAIT"]
        task.writeq_td("LOGQ", b"two")
        assert [outcome(task), task.readq_td("LOGQ"), outcome(task)] == ["NORMAL", b"two", "QZERO"]


def test_a_full_data_set_is_named_with_its_share(region: Region) -> None:
    for name in ("NOQ", "PHYQ", "TRGQ"):
        region.seed(name, [b"x" * 400])
    told = region.explain("NOQ", size=400)
    assert "All 3 control intervals of DFHINTRA are in use, 1 of them by this queue." in told.statements
    assert "WRITEQ TD would get NOSPACE: all 3 control intervals of DFHINTRA are in use." in str(told)


def test_the_emptystatus_of_a_data_set_is_told_while_it_is_open(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"one")
    queue = define_tdqueue(name="INQ", type="EXTRA", typefile="INPUT", recordformat="FIXED", recordsize=3, ddname="IN")
    with Region([queue], dd={"IN": tmp_path / "in"}, supplied_queues=False) as region:
        for _ in range(2):
            region.set_tdqueue("INQ", openstatus="OPEN")
            told = [region.explain("INQ").statements[0]]
            assert region.readq_td("INQ") == b"one"
            region.readq_td("INQ", nohandle=True)
            told.append(region.explain("INQ").statements[0])
            region.set_tdqueue("INQ", openstatus="CLOSED")
            told.append(region.explain("INQ").statements[0])
            assert [line.partition("input, ")[2] for line in told] == [
                "ENABLED, OPEN, NOTEMPTY.", "ENABLED, OPEN, EMPTY.", "ENABLED, CLOSED.",
            ]  # fmt: skip


def test_a_remote_queue_is_asked_about_where_it_is() -> None:
    far = [define_tdqueue(name="FARQ", type="INTRA", recovstatus="LOGICAL")]
    with Sysplex() as sysplex:
        here = sysplex.region(DEFINITIONS, applid="CICA", sysid="CICA", supplied_queues=False)
        assert "There is no connection to system CICB." in str(here.explain("REMQ"))
        there = sysplex.region(far, applid="CICB", sysid="CICB", supplied_queues=False)
        link = sysplex.connect(here, there)
        here.install([define_tdqueue(name="CUTQ", remotesystem="CICB", remotename="FARQ", remotelength=4)])
        writes = {name: here.explain(name, size=5000).commands["WRITEQ TD"].outcome for name in ("REMQ", "CUTQ")}
        assert writes == {"REMQ": "LENGERR", "CUTQ": "NORMAL"}  # what is longer than REMOTELENGTH is cut
        with there.task() as task:
            task.writeq_td("FARQ", b"x")
            told = here.explain("REMQ")
            assert "In region CICB: Queue FARQ is logically recoverable and ENABLED" in str(told)
            assert told.commands["WRITEQ TD"].outcome == "WAIT"
            assert f"queue FARQ of region CICB: the TOQ end is held by {task._uow.title}" in str(told)
        link.cut()
        assert "READQ TD would get SYSIDERR: connection CICB is released: the link is down." in str(
            here.explain("REMQ")
        )


def test_a_wait_is_told_with_its_limit(region: Region) -> None:
    with region.task() as task:
        task.writeq_td("LOGQ", b"x")
        region.start(lambda other: other.readq_td("LOGQ", nohandle=True))
        region.dispatcher.run_ready()
        assert "waits in TD_READ, for what is written and not committed." in str(region.explain("LOGQ"))


# -- the rules behind an answer ---------------------------------------------------------------------------------------


@pytest.fixture
def doubtful(stores) -> Iterator[Region]:
    queues = [
        define_tdqueue(name="PAYQ", type="INTRA"),
        define_tdqueue(name="ALIA", type="INDIRECT", indirectname="GONE"),
        define_tdqueue(name="FARQ", remotesystem="FAR", remotename="FARQ"),
    ]
    with Region(queues, supplied_queues=False, store=stores.take()) as region:
        yield region


@pytest.mark.parametrize(
    ("queue", "record", "rules"),
    [
        ("ALIA", b"x", {"TD-INDIRECT-MISSING": "vendor silent"}),
        ("FARQ", b"x", {}),
        ("PAYQ", b"", {"TD-WRITEQ-LENGERR": "vendor silent"}),
        ("PAYQ", b"x" * 32765, {"TD-INTRA-LONGEST-RECORD": "second-hand"}),
        ("NONE", b"x", {}),  # a page says that a queue that is not defined gives QIDERR
    ],
)
def test_a_condition_names_its_rule(doubtful: Region, queue: str, record: bytes, rules: dict[str, str]) -> None:
    with pytest.raises(Condition) as caught:
        doubtful.writeq_td(queue, record)
    assert unconfirmed(caught.value.rules) == rules
    if record:
        prediction = doubtful.explain(queue, size=len(record)).commands["WRITEQ TD"]
        assert prediction.unconfirmed_rules == rules
        assert all(f"(rule {rule}, {confidence})" in str(prediction) for rule, confidence in rules.items())


def test_a_rule_of_one_request_is_that_of_the_others(doubtful: Region) -> None:
    doubtful.set_tdqueue("PAYQ", enablestatus="DISABLED")
    for request in (lambda: doubtful.readq_td("PAYQ"), lambda: doubtful.deleteq_td("PAYQ")):
        with pytest.raises(Condition) as caught:
            request()
        assert [rule.id for rule in caught.value.rules] == ["TD-DISABLED"]


def test_a_planned_fault_rests_on_no_rule(doubtful: Region) -> None:
    plan = FaultPlan(Fault("IOERR", command="READQ TD"))
    with plan.on(doubtful), pytest.raises(Condition) as caught:
        doubtful.readq_td("PAYQ")
    assert caught.value.rules == ()


def test_rules_of_an_answer() -> None:
    assert [rule.id for rule in rules_of("INVREQ", 11, "SET TDQUEUE")] == ["SET-C-NAME"]
    assert rules_of("INVREQ", 9999, "SET TDQUEUE") == ()
    assert [rule.id for rule in rules_of("INVREQ", 11, "SET TDQUEUE DISABLED")] == ["SET-C-NAME"]
    assert {rule.id for rule in rules_of("CPF9501")} == {"DTAQ-SEND-KEY-MISSING", "DTAQ-RECEIVE-KEY-MISSING"}
    assert [rule.id for rule in rules_of("CPF9501", command="QRCVDTAQ")] == ["DTAQ-RECEIVE-KEY-MISSING"]
    assert unconfirmed(rules_of("CPF9502")) == {}  # the vendor's programs show it


@pytest.mark.parametrize(
    ("condition", "command", "expected"),
    [
        ("QIDERR", "WRITEQ TD", {"TD-INDIRECT-RING"}),  # it has a rule of its own
        ("INVREQ", "WRITEQ TD", {"TD-EXTRA-DELETEQ-INVREQ", "TD-EXTRA-DIRECTION-INVREQ"}),  # others of TD have
        ("ITEMERR", "WRITEQ TS", {"TS-ITEMERR", "TS-ITEMERR-NEXT"}),
        ("QZERO", "READQ TS", set()),  # only requests for TD have
        ("QZERO", "SET TDQUEUE", set()),
    ],
)
def test_a_request_for_a_queue_has_the_rules_of_the_other_requests(
    condition: str, command: str, expected: set[str]
) -> None:
    assert {rule.id for rule in rules_of(condition, 0, command)} == expected
