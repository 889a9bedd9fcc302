"""INQUIRE TASK and SET TASK: what tasks wait for and for how long, and how an operator ends them."""

from __future__ import annotations

import pytest

from tdqsim.definitions import define_transaction
from tdqsim.facts import Cvda, Resp
from tests.cics.spi.helpers import condition
from tests.recovery.helpers import make, outcome, queue
from tests.rules import expect_rule, rule


@pytest.fixture
def reg():
    with make(
        queue("LOGQ"),
        define_transaction(name="PAYP", wait="NO", action="COMMIT", dtimout="130"),
        define_transaction(name="PAY2", waittime="01,02,03"),
    ) as made:
        yield made


def number_of(reg, transid):
    return next(number for number, task in reg.tasks.items() if task.transid == transid)


@pytest.mark.rule("TASK-INDOUBT")
def test_the_indoubt_attributes_of_its_transaction(reg):
    for transid, expected in [("PAYP", ("COMMIT", "NOWAIT", 0, 90)), ("PAY2", ("BACKOUT", "WAIT", 1563, 0))]:
        with reg.task(transid=transid) as task:
            shown = task.inquire_task(task.number).as_dict(plain=True)
            assert (shown["INDOUBT"], shown["INDOUBTWAIT"], shown["INDOUBTMINS"]) == expected[:3]
    reg.register("PAYP", lambda task: shown.update(task.inquire_task(task.number, "DTIMEOUT").as_dict()))
    reg.start("PAYP").result()
    assert shown["DTIMEOUT"] == 90
    with reg.task(transid="NONE") as task:
        shown = task.inquire_task(task.number).as_dict(plain=True)
        assert (shown["INDOUBT"], shown["INDOUBTWAIT"], shown["INDOUBTMINS"]) == ("BACKOUT", "WAIT", 0)


@pytest.mark.rule("TASK-SUSPENDTIME", "TASK-ICWAIT")
def test_how_long_a_task_has_been_suspended(reg):
    seen = []
    reg.register("PAYP", lambda task: task.delay(seconds=30))

    def look(task):
        task.delay(seconds=10)
        waiting = number_of(reg, "PAYP")
        seen.append(task.inquire_task(waiting, "RUNSTATUS", "SUSPENDTIME", "SUSPENDTYPE").as_dict(plain=True))
        seen.append(task.inquire_task(task.number, "RUNSTATUS", "SUSPENDTIME", "SUSPENDTYPE").as_dict(plain=True))

    reg.start("PAYP")
    reg.start(look)
    reg.run()
    assert seen == [
        {"RUNSTATUS": "SUSPENDED", "SUSPENDTIME": 10, "SUSPENDTYPE": rule("TASK-ICWAIT").message},
        {"RUNSTATUS": "RUNNING", "SUSPENDTIME": 0, "SUSPENDTYPE": ""},
    ]


@pytest.mark.rule("TASK-LIST")
def test_the_list_of_tasks_and_its_kinds(reg):
    def look(task):
        for kinds in ({}, {"suspended": True}, {"running": True, "dispatchable": True}, {"dispatchable": True}):
            found = task.inquire_task_list(**kinds)
            assert found.listsize == len(found.set) == len(found.settransid) == len(found)
            assert [tuple(each) for each in found] == list(zip(found.set, found.settransid, strict=True))
            assert [task.inquire_task(each.task).transaction for each in found] == [each.transid for each in found]
            seen.append(found.settransid)

    seen = []
    reg.register("PAYP", lambda task: task.delay(seconds=30))
    reg.register("PAY2", look)
    reg.start("PAYP")
    reg.dispatcher.run_ready()
    reg.start("PAY2")
    last = reg.start(lambda task: task.suspend())
    reg.run()
    last.result()
    assert seen == [("PAYP", "PAY2", "PROG"), ("PAYP",), ("PAY2", "PROG"), ("PROG",)]


def test_the_list_of_tasks_as_text(reg):
    with reg.task(transid="ONE") as one, reg.task() as other:
        host = {}
        other.execute("INQUIRE TASK LIST LISTSIZE(N) SET(P) SETTRANSID(T)", host)
        assert host == {"N": 2, "P": (one.number, other.number), "T": ("ONE ", "TEST")}
        other.execute("INQUIRE TASK LIST SUSPENDED LISTSIZE(N)", host)
        assert host["N"] == 0


@pytest.mark.rule("SET-TASK-PURGE")
@pytest.mark.parametrize("how", ["PURGE", Cvda.FORCEPURGE, "KILL"])
def test_a_waiting_task_is_ended_and_backed_out(reg, how):
    def work(task):
        task.writeq_td("LOGQ", b"mine")
        task.enq("NAME")

    with reg.task() as owner:
        owner.enq("NAME", task=True)
        reg.register("PAY2", work)
        handle = reg.start("PAY2")
        reg.run()
        owner.set_task(number_of(reg, "PAY2"), purgetype=how)
        assert (owner.eib.eibresp, owner.eib.eibresp2) == (Resp.NORMAL, 0)
        assert outcome(handle.result) == rule("SET-TASK-PURGE").message
    assert reg.peek("LOGQ") == []
    assert reg.recovery.shunted == {}
    reg.writeq_td("LOGQ", b"free again")


@pytest.mark.rule("SET-TASK-DEFERRED")
def test_a_task_that_does_not_wait_is_ended_when_it_does(reg):
    def work(task):
        for _ in range(3):  # the operator has a turn meanwhile
            task.suspend()
        reached.append("went on")
        task.delay(seconds=1)
        reached.append("never")

    def operate(task):
        expect_rule("SET-TASK-DEFERRED", task.set_task, number_of(reg, "PAY2"), purgetype="PURGE")
        purged.append((task.eib.eibresp, task.eib.eibresp2))

    purged, reached = [], []
    reg.register("PAY2", work)
    handle = reg.start("PAY2")
    reg.start(operate)
    reg.run()
    assert purged == [(Resp.NORMAL, int(rule("SET-TASK-DEFERRED").resp2))]
    assert reached == ["went on"]
    assert outcome(handle.result) == "AEXY"


def test_a_deferred_purge_of_a_task_that_never_waits_again_changes_nothing(reg):
    reg.register("PAY2", lambda _task: "whole")
    handle = reg.start("PAY2")
    with reg.task() as task:
        task.set_task(number_of(reg, "PAY2"), purgetype="PURGE")
    reg.run()
    assert handle.result() == "whole"


@pytest.mark.rule("SET-TASK-BAD-CVDA", "SET-TASK-NOT-FOUND", "SET-TASK-OUTSIDE")
def test_what_set_task_refuses(reg):
    with reg.task() as task:
        expect_rule("SET-TASK-NOT-FOUND", reg.set_task, 99_998, purgetype="PURGE")
        expect_rule("SET-TASK-BAD-CVDA", reg.set_task, task.number, purgetype="COMMIT")
        expect_rule("SET-TASK-BAD-CVDA", reg.set_task, task.number, purgetype="NONSENSE")
        expect_rule("SET-TASK-OUTSIDE", task.set_task, task.number, purgetype="FORCEPURGE")


def test_set_task_as_text(reg):
    with reg.task() as owner:
        owner.enq("NAME")
        reg.register("PAY2", lambda task: task.enq("NAME"))
        handle = reg.start("PAY2")
        reg.run()
        owner.execute("SET TASK(T) FORCEPURGE", {"T": number_of(reg, "PAY2")})
        assert outcome(handle.result) == "AEXY"
        refused = f"SET TASK({owner.number}) PURGETYPE(DFHVALUE(OPEN))"
        assert condition(owner.execute, refused) == (Resp.INVREQ, 3)
        assert condition(owner.execute, "SET TASK(99998) PURGE") == (Resp.TASKIDERR, 1)


def work(first, second):
    def program(task):
        task.enq(first)
        task.suspend()
        task.enq(second)
        return "got both"

    return program


def test_a_deadlock_of_two_ends_with_a_purge(reg):
    """Both own what the other waits for: INQUIRE UOWENQ shows it, and SET TASK resolves it."""

    reg.register("PAYP", work("A", "B"))
    reg.register("PAY2", work("B", "A"))
    handles = {transid: reg.start(transid) for transid in ("PAYP", "PAY2")}
    reg.dispatcher.run_ready()
    with reg.task() as operator:
        operator.inquire_enq_start()
        shown = []
        while info := operator.inquire_enq_next("RELATION", "RESOURCE", "TRANSID", nohandle=True):
            shown.append(tuple(info.as_dict(plain=True).values()))
        operator.inquire_enq_end()
        assert shown == [
            ("OWNER", "A", "PAYP"), ("WAITER", "A", "PAY2"), ("OWNER", "B", "PAY2"), ("WAITER", "B", "PAYP"),
        ]  # fmt: skip
        operator.set_task(number_of(reg, "PAY2"), purgetype="PURGE")
    assert outcome(handles["PAY2"].result) == "AEXY"
    assert handles["PAYP"].result() == "got both"


def test_a_deadlock_of_two_ends_by_itself_with_dtimout(reg):
    reg.register("PAYP", work("A", "B"))  # DTIMOUT(0130)
    reg.register("PAY2", work("B", "A"))
    handles = {transid: reg.start(transid) for transid in ("PAYP", "PAY2")}
    reg.run()
    assert outcome(handles["PAYP"].result) == "AKCS"
    assert handles["PAY2"].result() == "got both"
