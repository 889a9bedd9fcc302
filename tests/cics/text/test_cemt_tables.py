"""CEMT for tasks, transactions, units of work, enqueues, links, connections and more: from the tables of INQUIRE."""

from __future__ import annotations

import re

import pytest

from tdqsim import Sysplex
from tdqsim.cics import CemtError, Condition, Region, cemt
from tdqsim.cics.files import DataFile
from tdqsim.definitions import define_connection, define_tdqueue, define_terminal, define_transaction
from tdqsim.facts import INQUIRE_OPTIONS, Cvda
from tdqsim.testing import stepped
from tests.rules import rule

LOGQ = define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")


def made(*more):
    return Region([LOGQ, define_transaction(name="PAYP", program="PAYPROG"), *more], supplied_queues=False)


def holder(task):
    task.writeq_td("LOGQ", b"x")
    task.delay(hours=1)


def waiter(task):
    task.readq_td("LOGQ")


def two_tasks(reg):
    first = stepped(reg, holder, transid="HOLD")
    first.step()
    second = reg.start(waiter, transid="WAIT")
    reg.dispatcher.run_ready()
    return first.fiber.local, second.local


@pytest.mark.rule("CEMT-TABLES")
def test_tasks():
    with made() as reg:
        first, second = two_tasks(reg)
        screen = cemt(reg, "I TASK")
        names = [row.name for row in screen.rows]
        assert f"{second.number:07d}" in names
        assert f"Tas({second.number:07d}) Tra(WAIT)" in screen.text
        assert "Hty(TD_READ ) Hva(LOGQ    )" in screen.text
        shown = cemt(reg, f"I TA({second.number})")
        assert shown.rows[0].values.as_dict() == reg.inquire_task(second.number).as_dict()
        assert "  Suspendtype(TD_READ )" in shown.panel(shown.rows[0])
        by_filter = cemt(reg, "I TASK TR(WAIT) SUS")
        assert [row.name for row in by_filter.rows] == [f"{second.number:07d}"]
        assert cemt(reg, "I TASK(0099999)").rows[0].outcome == "NOT FOUND"
        assert all(len(line) <= 80 for line in screen.text.splitlines())
        assert screen.as_dict()["tasks"][0]["TASK"] == f"{first.number:07d}"


@pytest.mark.rule("CEMT-TASK")
@pytest.mark.parametrize("word", ["PU", "PURGE", "FORCEPURGE", "KILL"])
def test_a_task_is_purged(word):
    with made() as reg:
        _first, second = two_tasks(reg)
        result = cemt(reg, f"S TASK({second.number}) {word}")
        assert result.rows[0].outcome == rule("CEMT-TASK").message
        with pytest.raises(Exception, match="AEXY"):
            second._fiber.result()
        assert second.number not in reg.tasks
        again = cemt(reg, f"S TASK({second.number}) {word}")
        assert (again.errors, again.rows[0].outcome) == (1, "NOT FOUND")


@pytest.mark.rule("CEMT-TABLES", "TRAN-SECURITY", "TRAN-BROWSE")
def test_transactions():
    with made(define_transaction(name="SECR", ressec="NO")) as reg:
        screen = cemt(reg, "CEMT INQUIRE TRANSACTION")
        assert [row.name for row in screen.rows] == ["PAYP", "SECR"]
        assert "Tra(PAYP) Pro(PAYPROG ) " in screen.text
        assert cemt(reg, "S TRA(PAYP) DI").rows[0].values.status is Cvda.DISABLED
        assert reg.inquire_transaction("PAYP", "STATUS").status is Cvda.DISABLED
        assert [row.name for row in cemt(reg, "I TRAN EN").rows] == ["SECR"]
        info = reg.inquire_transaction("SECR", "CMDSEC", "RESSEC")
        assert f"{info.cmdsec.name} {info.ressec.name}" == rule("TRAN-SECURITY").message
        with reg.task() as task:
            task.inquire_transaction_start()
            names = [task.inquire_transaction_next("STATUS").transaction for _ in range(2)]
            assert names == ["PAYP", "SECR"]
            assert task.inquire_transaction_next(nohandle=True).as_dict() == {}
            assert (task.eib.eibresp.name, task.eib.eibresp2) == (
                rule("TRAN-BROWSE").resp,
                int(rule("TRAN-BROWSE").resp2),
            )
            task.inquire_transaction_end()


@pytest.mark.rule("SEC-DEFAULT")
def test_security_is_checked_if_the_definition_does_not_say():
    with made() as reg:
        info = reg.inquire_transaction("PAYP", "CMDSEC", "RESSEC")
        assert f"{info.cmdsec.name} {info.ressec.name}" == rule("SEC-DEFAULT").message


@pytest.mark.rule("TRAN-BROWSE")
def test_transactions_are_browsed_in_alphabetic_order_from_at():
    names = ["ZZZ1", "A001", "AAA1", "$AB", "MMM1", "AA"]
    with Region([define_transaction(name=name) for name in names], supplied_queues=False) as reg:
        assert [row.name for row in cemt(reg, "I TRAN").rows] == ["$AB", "AA", "AAA1", "A001", "MMM1", "ZZZ1"]
        for at, first in (("AAA1", "AAA1"), ("B", "MMM1"), ("AA", "AA"), ("ZZZZ", "ZZZ1"), ("9", None)):
            with reg.task() as task:
                task.inquire_transaction_start(at=at)
                found = task.inquire_transaction_next(nohandle=True)
                assert (found.transaction.rstrip() if found else None) == first
                task.inquire_transaction_end()
                task.execute(f"INQUIRE TRANSACTION START AT('{at}') RESP(R)", host := {})
                task.execute("INQUIRE NEXT TRANSACTION(T) RESP(R)", host)
                assert host.get("T", "").rstrip() == (first or "")


@pytest.mark.parametrize("no", ["cmdsec", "ressec"])
def test_what_is_checked_for_a_transaction(no):
    """The CVDA tables have CMDSECYES 207 and RESSECYES 204; 208 is COMMIT."""
    numbers = {"cmdsec": (205, 207), "ressec": (202, 204)}
    with made(define_transaction(name="SECR", **{no: "NO"})) as reg:
        info = reg.inquire_transaction("SECR", "CMDSEC", "RESSEC")
        for name, (unchecked, checked) in numbers.items():
            cvda = getattr(info, name)
            wanted = "NO" if name == no else "YES"  # YES is the default
            assert (cvda.name, cvda.value) == (f"{name.upper()}{wanted}", unchecked if name == no else checked)
        shown = cemt(reg, "I TRA(SECR)")
        assert f"{no.capitalize()}({no.capitalize()}no)" in shown.panel(shown.rows[0])


@pytest.mark.rule("CEMT-TABLES", "CEMT-UOW")
@pytest.mark.parametrize(("word", "kept"), [("COMMIT", [b"x"]), ("BACKOUT", []), ("FORCE", [])])
def test_units_of_work(word, kept):
    with made() as reg:
        with reg.task(transid="PAYP") as task:
            task.writeq_td("LOGQ", b"x")
            branch = reg.recovery.branch("XA1", task)
        branch.prepare()
        branch.lose_coordinator()
        screen = cemt(reg, "I UOW")
        name = screen.rows[0].name
        assert f"Uow({name}) Ind Shu Tra(PAYP)" in cemt(reg, "CEMT- I UOW").text
        assert cemt(reg, f"I UOW({name[:6]}*) SHUNTED").rows[0].name == name
        assert cemt(reg, "I UOW ACTIVE").rows == ()
        locks = cemt(reg, "I UOWENQ OWNER")
        assert [row.values.resource for row in locks.rows] == ["LOGQ"]
        assert "Res(LOGQ    ) Qua(TOQ     )" in cemt(reg, "CEMT- I UOWENQ").text
        link = cemt(reg, "I UOWLINK")
        assert (link.rows[0].values.role, link.errors) == (Cvda.COORDINATOR, 0)
        assert cemt(reg, f"I UOWL({link.rows[0].name})").rows[0].values.as_dict() == link.rows[0].values.as_dict()
        result = cemt(reg, f"S UOW({name}) {word}")
        assert (result.errors, result.rows[0].outcome) == (0, rule("CEMT-UOW").message)
        assert reg.peek("LOGQ") == kept


@pytest.mark.parametrize(
    "resource", ["UOW", "UOWENQ", "UOWLINK", "UOW(ABC)", "UOWLINK(A)", "CONNECTION", "TDQUEUE(Z*)", "TASK(9999999)"]
)
def test_nothing_there_is_one_error(resource):
    """What the screen says, who asks for the number is told, and so is who runs the command."""
    with made() as reg:
        result = cemt(reg, f"I {resource}")
        assert re.search(r"RESPONSE: 1 ERROR\b", result.text)
        assert "NOT FOUND" in result.text
        assert (result.errors, result.as_dict()["errors"]) == (1, 1)
        assert cemt(reg, f"I {resource.partition('(')[0]} ?").errors == 0


@pytest.mark.parametrize("word", ["COMMIT", "BACKOUT", "FORCE"])
def test_a_unit_of_work_of_a_running_task_is_not_decided_from_the_screen(word):
    with made() as reg, reg.task(transid="HOLD") as task:
        task.writeq_td("LOGQ", b"kept")
        (found,) = cemt(reg, "I UOW").rows
        result = cemt(reg, f"S UOW({found.name}) {word}")
        assert (result.errors, result.rows[0].condition.name) == (1, "INVREQ")
        assert result.rows[0].values.uowstate is Cvda.INFLIGHT
        task.syncpoint()
        assert reg.peek("LOGQ") == [b"kept"]


@pytest.mark.rule("CONN-STATUS", "CONN-NOT-FOUND", "CEMT-TABLES")
def test_connections():
    acquired, released = rule("CONN-STATUS").message.split()
    with Sysplex() as plex:
        near = plex.region([define_connection(name="CICB", netname="CICSB")], applid="CICSA", sysid="CICA")
        assert near.inquire_connection("CICB", "CONNSTATUS").connstatus.name == released
        far = plex.region([define_connection(name="CICA", netname="CICSA")], applid="CICSB", sysid="CICB")
        info = near.inquire_connection("CICB")
        assert info.connstatus.name == acquired
        assert (info.netname, info.servstatus) == ("CICSB   ", Cvda.INSERVICE)
        assert "Con(CICB) Net(CICSB   ) Ins Acq" in cemt(near, "CEMT- I CONN").text
        far.close()
        assert near.inquire_connection("CICB", "CONNSTATUS").connstatus.name == released
        assert [row.name for row in cemt(near, "I CONN RELEASED").rows] == ["CICB"]
        row = rule("CONN-NOT-FOUND")
        with near.task() as task:
            task.inquire_connection("NONE", nohandle=True)
            assert (task.eib.eibresp.name, str(task.eib.eibresp2)) == (row.resp, row.resp2)
            task.inquire_connection_start()
            assert task.inquire_connection_next("NETNAME").connection == "CICB"
            task.inquire_connection_end()


def test_what_is_refused():
    with made() as reg:
        for text, words in (
            ("I TASK(ABC)", "allowed are up to 7 of the digits 0123456789"),
            ("I UOWENQ(LOGQ)", "takes no name"),
            ("S UOWENQ(LOGQ) OWNER", "is not simulated"),
            ("S CONN(CICB) REL", "is not simulated"),
            ("DI TASK(1)", "is not simulated"),
            ("S TASK(1) ENABLED", "is not an option of CEMT SET TASK"),
            ("S TASK PURGE", "needs a name"),
            ("I UOW(12345678901234567890123456789012345)", "longer than the 32"),
        ):
            with pytest.raises(CemtError, match=words):
                cemt(reg, text)


def test_the_syntax_of_every_resource_type_can_be_asked_for():
    with made() as reg:
        # CEMT has no REQID; these others of CEMT are not simulated
        without = {"REQID", "SYSTEM", "TRANCLASS", "TRANDUMPCODE", "DISPATCHER", "STATISTICS"}
        for resource in INQUIRE_OPTIONS.keys() - without:
            text = cemt(reg, f"I {resource} ?").text
            assert "COMMAND SYNTAX CHECK" in text
            assert f"CEMT INQUIRE {resource}" in text.upper()
        assert "TAsk" in cemt(reg, "S ?").text
        assert "TRDumpcode" not in cemt(reg, "S ?").text


@pytest.fixture
def others():
    definitions = [define_transaction(name="PAYP", program="PAYPROG"), define_terminal(name="T001")]
    with Region(definitions, supplied_queues=False) as reg:
        reg.files.define("ACCT", DataFile(keylength=2, recordsize=20))
        reg.programs.register("SUBP", lambda _task: None)
        reg.register("PAYP", lambda task: task.delay(hours=1))
        reg.writeq_ts("BASKET", b"one")
        reg.writeq_ts("BASKET", b"three")
        yield reg


@pytest.mark.rule("CEMT-TABLES")
def test_files_programs_terminals_and_ts_queues(others):
    reg = others
    assert [row.name for row in cemt(reg, "I FILE").rows] == ["ACCT"]
    shown = cemt(reg, "I FILE(ACCT)").rows[0].values.as_dict(plain=True)
    assert (shown["DSNAME"], shown["ENABLESTATUS"]) == ("ACCT", "ENABLED")
    assert (shown["OPENSTATUS"], shown["RECOVSTATUS"]) == ("OPEN", "NOTRECOVABLE")
    assert [row.name for row in cemt(reg, "I PROG").rows] == ["PAYPROG", "SUBP"]
    assert "Prog(SUBP    )  Ena" in cemt(reg, "CEMT- I PROG(SUBP)").text
    reg.writeq_ts("APPLES", b"one")
    assert [row.name for row in cemt(reg, "I TSQ").rows] == ["APPLES", "BASKET"]
    queue = cemt(reg, "I TSQ(BASK*)").rows[0]
    assert (queue.name, queue.values.numitems, queue.values.flength) == ("BASKET", 2, 8)
    assert (queue.values.maxitemlen, queue.values.minitemlen) == (5, 3)
    reg.execute("START TRANSID('PAYP') TERMID('T001')")
    reg.dispatcher.run_ready()
    assert "Ter(T001) Tra(PAYP) Ins Use(CICSUSER)" in cemt(reg, "CEMT- I TE").text
    for resource in ("FILE", "PROGRAM", "TERMINAL", "TSQUEUE"):
        missing = cemt(reg, f"I {resource}(NONE)")
        assert (missing.errors, missing.rows[0].outcome) == (1, "NOT FOUND")


@pytest.mark.rule("CEMT-TABLES")
def test_files_terminals_and_ts_queues_are_set(others):
    reg = others
    closed = cemt(reg, "S FI(ACCT) CL DI").rows[0]
    assert (closed.values.openstatus, closed.values.enablestatus) == (Cvda.CLOSED, Cvda.DISABLED)
    with reg.task() as task:
        assert refused(task.read_file, "ACCT", b"A1") == "DISABLED"
    assert cemt(reg, "S TERM(T001) OUT").rows[0].values.servstatus is Cvda.OUTSERVICE
    assert not reg._core.facilities["TERMINAL", "T001"].inservice
    assert cemt(reg, "S TERM(T001) INS").rows[0].values.servstatus is Cvda.INSERVICE
    assert cemt(reg, "S TERM(NONE) INS").rows[0].outcome == "NOT FOUND"
    gone = cemt(reg, "S TSQ(BASKET) DELETE")
    assert (gone.errors, gone.rows[0].outcome) == (0, "NORMAL")
    assert refused(reg.readq_ts, "BASKET") == "QIDERR"


def refused(command, *arguments):
    with pytest.raises(Condition) as caught:
        command(*arguments)
    return caught.value.name
