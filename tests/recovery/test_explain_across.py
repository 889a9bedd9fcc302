"""Explain follows a task to the region that serves it, and a remote resource to the region that owns it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tdqsim.cics import Region, Task
from tdqsim.definitions import (
    define_connection,
    define_program,
    define_terminal,
    define_transaction,
    define_tsmodel,
)
from tests.recovery.complexes import Complex
from tests.recovery.helpers import queue

NEAR = (
    queue("LOCL"),
    define_connection(name="FAR"),
    define_terminal(name="T001"),
    define_program(name="RPGM", remotesystem="FAR", remotename="SERVER"),
    define_program(name="LOST", remotesystem="GONE"),
    define_transaction(name="PAYM", remotesystem="FAR", remotename="PAYX"),
    define_transaction(name="OFFM", remotesystem="FAR", remotename="OFFT"),
    define_transaction(name="NOTD", remotesystem="FAR", remotename="NONE"),
    define_tsmodel(name="KEPT", prefix="AAA", remotesystem="FAR", remoteprefix="REC"),
)
FAR = (
    queue("FARQ"),
    define_connection(name="NEAR"),
    define_transaction(name="PAYX"),
    define_transaction(name="OFFT", status="DISABLED"),
    define_transaction(name="NOPG", program="NOWHERE"),
    define_tsmodel(name="KEPT", prefix="REC", recovery="YES"),
)


@pytest.fixture(params=[True, False], ids=["at once", "network"])
def two(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Complex]:
    made = Complex(tmp_path, ("NEAR", "NEAR", NEAR), ("FAR", "FAR", FAR), at_once=request.param, handlers=())
    yield made
    made.sysplex.close()


def ready(two: Complex) -> None:
    two["NEAR"].dispatcher.run_ready()


def held(two: Complex) -> None:
    """A task of FAR holds the write end of FARQ."""
    two["FAR"].start(lambda task: (task.writeq_td("FARQ", b"x"), task.delay(hours=1)))
    ready(two)


def writes(task: Task) -> None:
    task.writeq_td("FARQ", b"y")


def explained(region: Region, name: str, kind: str = "TASK") -> list[str]:
    """The statements, without the names of units of work."""
    shown = region.explain(name, kind=kind)
    assert str(shown).splitlines() == list(shown.statements)
    assert shown.commands == {}
    return [each for each in shown.statements if "Its unit of work" not in each]


def test_a_task_whose_link_waits_is_followed_to_the_mirror(two: Complex) -> None:
    near, far = two["NEAR"], two["FAR"]
    held(two)
    far.programs.register("SERVER", writes)
    handle = near.start(lambda task: task.link("RPGM"), transid="PAYP")
    ready(two)
    (number,) = near.tasks
    assert explained(near, str(number)) == [
        f"Task {number} PAYP of user CICSUSER waits for region FAR over connection FAR: LINK SERVER.",
        "In region FAR: Task 2 CSMI of user CICSUSER waits for TOQ of FARQ, held by task 1 PROG.",
    ]
    assert explained(far, "2") == ["Task 2 CSMI of user CICSUSER waits for TOQ of FARQ, held by task 1 PROG."]
    assert [*far.tasks] == [1, 2]
    two.run()
    assert handle.done
    assert explained(near, str(number)) == [f"There is no task {number}."]


def test_a_mirror_that_waits_for_its_requester_names_the_unit_of_work_there(two: Complex) -> None:
    near, far = two["NEAR"], two["FAR"]
    near.start(lambda task: (task.writeq_ts("AAAX", b"x"), task.delay(hours=1)))
    ready(two)
    (number,) = far.tasks
    (unit,) = near.recovery.units_of_work()
    text = str(far.explain(str(number), kind="TASK"))
    assert f"Task {number} CSMI of user CICSUSER waits for the next request, or the syncpoint, of the" in text
    assert f"part of unit of work {unit.id.hex().upper()} of region NEAR, is INFLIGHT." in text


def test_a_routed_task_is_followed_by_its_relay(two: Complex) -> None:
    near, far = two["NEAR"], two["FAR"]
    held(two)
    far.register("PAYX", writes)
    near.screens.type("T001", "PAYM")
    ready(two)
    (number,) = near.tasks
    assert explained(near, str(number)) == [
        f"Task {number} PAYM of user CICSUSER waits for region FAR over connection FAR: ROUTE PAYX.",
        "In region FAR: Task 2 PAYX of user CICSUSER waits for TOQ of FARQ, held by task 1 PROG.",
    ]


def test_a_ts_command_is_followed_to_the_unit_of_work_that_has_changed_the_queue(two: Complex) -> None:
    near, far = two["NEAR"], two["FAR"]
    near.start(lambda task: (task.writeq_ts("AAAX", b"x"), task.delay(hours=1)))
    ready(two)
    near.start(lambda task: task.writeq_ts("AAAX", b"y"))
    ready(two)
    first, second = near.tasks
    assert explained(near, str(second))[0].endswith("waits for region FAR over connection FAR: WRITEQ TS RECX.")
    assert explained(near, str(second))[1].startswith("In region FAR: Task 2 CSMI of user CICSUSER waits for ")
    owned, holder = explained(near, "AAAX", "TSQUEUE")[1:]
    assert explained(near, "AAAX", "TSQUEUE")[0] == "TS queue AAAX is RECX of system FAR."
    assert owned == "In region FAR: TS queue RECX is recoverable and has 1 item."
    assert holder.startswith("In region FAR: The unit of work ")
    assert holder.endswith(" of task 1 CSMI has changed it and has not committed: other tasks wait.")
    assert f"Task {first} PROG of user CICSUSER waits for DELAY, until " in explained(near, str(first))[0]
    assert explained(far, "RECZ", "TSQUEUE") == ["TS queue RECZ does not exist."]


def test_a_start_that_has_not_arrived_is_served_by_no_task(two: Complex) -> None:
    near = two["NEAR"]
    two.link("NEAR", "FAR").delay_at("REQUEST")
    near.start(lambda task: task.start("PAYM"))
    ready(two)
    assert explained(near, "1") == [
        "Task 1 PROG of user CICSUSER waits for region FAR over connection FAR: START PAYX.",
        "In region FAR: No task serves the request: it has not arrived yet, or its task has ended.",
    ]
    two.link("NEAR", "FAR").release()
    two.run()


def test_a_task_is_followed_through_two_regions(tmp_path: Path) -> None:
    middle = (
        define_connection(name="ONE"),
        define_connection(name="THRE"),
        define_program(name="PASS", remotesystem="THRE", remotename="LAST"),
    )
    three = Complex(
        tmp_path,
        ("ONE", "ONE", (define_connection(name="TWO"), define_program(name="PASS", remotesystem="TWO"))),
        ("TWO", "TWO", middle),
        ("THRE", "THRE", (define_connection(name="TWO"),)),
        at_once=False,
        handlers=(),
    )
    three["THRE"].programs.register("LAST", lambda task: task.delay(hours=1))
    three["ONE"].start(lambda task: task.link("PASS"))
    three["ONE"].dispatcher.run_ready()
    first, second, last = explained(three["ONE"], "1")
    assert first == "Task 1 PROG of user CICSUSER waits for region TWO over connection TWO: LINK PASS."
    assert (
        second == "In region TWO: Task 1 CSMI of user CICSUSER waits for region THRE over connection THRE: LINK LAST."
    )
    assert last.startswith("In region THRE: Task 1 CSMI of user CICSUSER waits for DELAY, until ")
    assert explained(three["ONE"], "PASS", "PROGRAM") == [
        "Program PASS is PASS of system TWO.",
        "In region TWO: Program PASS is LAST of system THRE.",
        "In region THRE: Program LAST can run.",
    ]
    three.sysplex.close()


def test_a_remote_program_is_explained_by_its_region(two: Complex) -> None:
    near, far = two["NEAR"], two["FAR"]
    remote = "Program RPGM is SERVER of system FAR."
    assert explained(near, "RPGM", "PROGRAM") == [remote, "In region FAR: Program SERVER is not defined."]
    far.programs.register("SERVER", writes)
    assert explained(near, "RPGM", "PROGRAM") == [remote, "In region FAR: Program SERVER can run."]
    far.install([define_program(name="SERVER", status="DISABLED")])
    assert explained(near, "RPGM", "PROGRAM") == [remote, "In region FAR: Program SERVER is disabled."]
    assert explained(near, "LOST", "PROGRAM")[1:] == ["There is no connection to system GONE."]
    far.install([define_connection(name="NEAR", inservice="NO")])
    assert (
        "cannot be asked there: connection NEAR of region FAR is not in service"
        in explained(near, "RPGM", "PROGRAM")[1]
    )
    near.install([define_connection(name="FAR", inservice="NO")])
    (_, refused) = explained(near, "RPGM", "PROGRAM")
    assert refused.startswith("It cannot be asked there: connection FAR is not in service (rule REC-SYSIDERR")


def test_a_remote_transaction_is_explained_by_its_region(two: Complex) -> None:
    near, far = two["NEAR"], two["FAR"]
    off = "In region FAR: Transaction OFFT cannot be attached: it is disabled (DFHAC2008)."
    assert explained(near, "OFFM", "TRANSACTION") == ["Transaction OFFM is OFFT of system FAR.", off]
    none = "Transaction NOPG cannot be attached: its program NOWHERE is not available (DFHAC2016)."
    assert explained(far, "NOPG", "TRANSACTION") == [none]
    assert explained(near, "GONE", "TRANSACTION") == ["Transaction GONE is not defined."]
    far.register("PAYX", writes)
    assert explained(near, "PAYM", "TRANSACTION")[1:] == ["In region FAR: Transaction PAYX can be attached."]
    with pytest.raises(ValueError, match="kind 'FILE': allowed are TDQUEUE, TASK, TRANSACTION, PROGRAM, TSQUEUE"):
        near.explain("PAYM", kind="FILE")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "last", "there"),
    [
        (lambda task: task.link("RPGM"), "LINK RPGM: PGMIDERR 1", "Program SERVER is not defined."),
        (lambda task: task.start("NOTD"), "START NOTD: TRANSIDERR 0", "Transaction NONE is not defined."),
        (lambda task: task.readq_ts("AAAX", item=1), "READQ TS AAAX: QIDERR 0", "TS queue RECX does not exist."),
    ],
    ids=["LINK", "START", "TS"],
)
def test_a_task_that_another_region_has_refused_names_what_that_region_says(
    two: Complex, command: Callable[[Task], object], last: str, there: str
) -> None:
    near = two["NEAR"]
    near.start(command)
    two.run()
    abended, said, _, followed = explained(near, "1")
    assert abended.startswith("Task 1 PROG of user CICSUSER has abended: ")
    assert said == f"Its last command: {last}."
    assert followed == f"In region FAR: {there}"
