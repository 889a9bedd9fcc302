"""Who may attach which transactions, and which user a task has."""

from __future__ import annotations

import pytest

from tdqsim.cics import Sysplex, cemt
from tdqsim.definitions import define_connection, define_tdqueue, define_terminal, define_transaction
from tdqsim.errors import UsageError
from tdqsim.testing import stepped
from tests.cics.security.helpers import LOGS, messages, policy_file, region
from tests.rules import expect_rule, rule

CLASSES = """\
TCICSTRN:
  PAY1: {access: {ANN: READ}}
  NOSC: {access: {ANN: READ}}
"""


def made(tmp_path, *definitions, classes=CLASSES, **options):
    ran = []
    transactions = [define_transaction(name="PAY1"), define_transaction(name="NOSC", ressec="NO", cmdsec="NO")]
    reg = region(tmp_path, classes, *transactions, *definitions, **options)
    reg.register("PAY1", lambda task: ran.append(task.userid))
    reg.register("NOSC", lambda task: ran.append(task.userid))
    return reg, ran


@pytest.mark.rule("SEC-XTRAN", "SEC-XTRAN-CSMT", "TERM-PRESET-USER")
def test_a_terminal_user_is_refused_a_transaction(tmp_path):
    terminals = [
        define_terminal(name="T001", netname="LU001", userid="CLERK"),
        define_terminal(name="T002", userid="ANN"),
    ]
    classes = CLASSES + "  OWN1: {uacc: READ}\n"
    reg, ran = made(tmp_path, *terminals, define_transaction(name="OWN1"), classes=classes)
    with reg:
        reg.register("OWN1", lambda task: ran.append(task.userid))
        expect_rule("SEC-XTRAN", reg.screens.type, "T001", "PAY1")
        shown = reg.screens.screen("T001").last.text
        assert shown.startswith(rule("SEC-XTRAN").message)
        assert "not authorized to use transaction PAY1" in shown
        assert rule("SEC-XTRAN-CSMT").message in messages(reg, "CSMT")
        assert "term id = T001, trans id = PAY1, userid = CLERK." in messages(reg, "CSMT")
        text = "Security violation by user CLERK at netname LU001 for resource PAY1 in class TCICSTRN."
        assert text in messages(reg, "CSCS")
        reg.screens.type("T002", "PAY1")
        reg.screens.type("T001", "OWN1")
        reg.run()
        assert ran == ["ANN", rule("TERM-PRESET-USER").message]


@pytest.mark.rule("SEC-XTRAN-DEFAULT-USER")
def test_a_terminal_user_who_is_not_signed_on_is_told_so(tmp_path):
    reg, ran = made(tmp_path, define_terminal(name="T001"))
    with reg:
        expect_rule("SEC-XTRAN-DEFAULT-USER", reg.screens.type, "T001", "PAY1")
        shown = reg.screens.screen("T001").last.text
        assert shown.startswith(rule("SEC-XTRAN-DEFAULT-USER").message)
        assert "To use this transaction PAY1 you must sign on or have the right security level." in shown
        assert len(reg.screens.screen("T001").sent) == 1
        assert "term id = T001, trans id = PAY1, userid = CICSUSER." in messages(reg, "CSMT")
        reg.run()
    assert ran == []


@pytest.mark.rule("SEC-XTRAN-TERMINAL")
@pytest.mark.parametrize("way", ["START", "trigger"])
@pytest.mark.parametrize("user", ["CLERK", ""])
def test_the_user_of_the_terminal_of_a_started_or_triggered_task_is_told(tmp_path, way, user):
    queue = define_tdqueue(name="PAYQ", type="INTRA", transid="PAY1", triggerlevel=1, facilityid="T001")
    reg, ran = made(tmp_path, define_terminal(name="T001", userid=user), queue)
    with reg:
        with reg.task(userid="ANN") as task:
            if way == "START":
                task.start("PAY1", termid="T001")
            else:
                task.writeq_td("PAYQ", b"x")
        reg.run()
        (shown,) = reg.screens.screen("T001").sent
        assert shown.text.startswith(rule("SEC-XTRAN-TERMINAL").message)
    assert ran == []


@pytest.mark.rule("SEC-XTRAN-RESSEC", "SEC-XTRAN-UNKNOWN")
def test_tasks_of_the_calling_program_are_attached_too(tmp_path):
    reg, ran = made(tmp_path)
    with reg:
        ways = [
            lambda user: reg.start("PAY1", userid=user),
            lambda user: reg.task(transid="PAY1", userid=user),
            lambda user: stepped(reg, lambda _task: None, transid="PAY1", userid=user),
        ]
        for way in ways:
            with pytest.raises(UsageError, match="DFHAC2033"):
                way("BOB")
        expect_rule("SEC-XTRAN-RESSEC", reg.start, "NOSC", userid="BOB")
        assert dict(reg.tasks) == {}
        with expect_rule("SEC-XTRAN-UNKNOWN", reg.task, transid="NODF", userid="BOB") as task:
            task.asktime()
        reg.start("PAY1", userid="ANN")
        reg.run()
    assert ran == ["ANN"]


def test_without_profiles_of_the_class_everybody_attaches(tmp_path):
    reg, ran = made(tmp_path, classes="FCICSFCT:\n  PAYF:\n")
    with reg:
        reg.start("PAY1", userid="BOB")
        reg.run()
    assert ran == ["BOB"]


def test_transactions_of_cics_are_attached_as_well(tmp_path):
    reg, _ran = made(tmp_path, classes="TCICSTRN:\n  CEMT: {access: {ANN: READ}}\n")
    with reg:
        assert cemt(reg, "I TDQ", userid="ANN")
        with pytest.raises(UsageError, match="DFHAC2033 BOB is not authorized to use transaction CEMT"):
            cemt(reg, "I TDQ", userid="BOB")


@pytest.mark.rule("SEC-XTRAN-STARTED", "IC-START-TERMINAL-USER")
def test_a_started_task_is_not_attached_for_a_user_who_may_not(tmp_path):
    reg, ran = made(tmp_path, define_terminal(name="T001", userid="CLERK"), define_terminal(name="T002"))
    with reg:
        with reg.task(userid="BOB") as task:
            expect_rule("SEC-XTRAN-STARTED", task.start, "PAY1")
        reg.run()
        assert ran == []
        assert "in class TCICSTRN" in messages(reg, "CSCS")
        with reg.task(userid="ANN") as task:
            task.start("PAY1")
            task.start("PAY1", termid="T001")
        reg.run()
        assert ran == ["ANN"]  # at the terminal the user would be CLERK
        reg.security = None
        with reg.task(userid="ANN") as task:
            task.start("PAY1", termid="T001")
            task.start("PAY1", termid="T002")
        reg.run()
        assert ran == ["ANN", rule("IC-START-TERMINAL-USER").message, "CICSUSER"]


@pytest.mark.rule("SEC-XTRAN-TRIGGERED")
@pytest.mark.parametrize("facility", ["FILE", "TERMINAL"])
@pytest.mark.parametrize("user", ["BOB", "ANN"])
def test_a_triggered_task_is_not_attached_for_a_user_who_may_not(tmp_path, facility, user):
    queue = {"atifacility": "FILE", "userid": user} if facility == "FILE" else {"facilityid": "T001"}
    reg, ran = made(
        tmp_path,
        define_terminal(name="T001", userid=user),
        define_tdqueue(name="PAYQ", type="INTRA", transid="PAY1", triggerlevel=1, **queue),
    )
    with reg:
        reg.register("PAY1", lambda task: ran.append((task.userid, task.readq_td("PAYQ"))))
        expect_rule("SEC-XTRAN-TRIGGERED", reg.writeq_td, "PAYQ", b"x")
        reg.run()
        assert ran == ([("ANN", b"x")] if user == "ANN" else [])
        assert reg.peek("PAYQ") == ([] if user == "ANN" else [b"x"])
        assert ("DFHAC2003" in messages(reg, "CSMT")) is (user == "BOB")


@pytest.mark.rule("SEC-XTRAN-MIRROR")
def test_a_mirror_is_not_attached_for_a_user_who_may_not(tmp_path):
    near = [
        define_tdqueue(name="FARQ", remotesystem="CICB", remotename="Q"),
        define_connection(name="CICB", netname="B"),
    ]
    far = [
        *LOGS,
        define_tdqueue(name="Q", type="INTRA"),
        define_connection(name="CICA", netname="A", attachsec="IDENTIFY"),
    ]
    there = policy_file(tmp_path, "TCICSTRN:\n  CSMI: {access: {ANN: READ}}\n")
    with Sysplex() as plex:
        here = plex.region(near, applid="A", sysid="CICA", supplied_queues=False)
        other = plex.region(far, applid="B", sysid="CICB", supplied_queues=False, security=there)
        with here.task(userid="BOB") as task:
            error = expect_rule("SEC-XTRAN-MIRROR", task.writeq_td, "FARQ", b"x")
            assert "user BOB may not attach mirror transaction CSMI" in error.detail
        with here.task(userid="ANN") as task:
            task.writeq_td("FARQ", b"for ANN")
        assert other.peek("Q") == [b"for ANN"]


def test_a_routed_transaction_is_checked_in_the_region_that_runs_it(tmp_path):
    near = [
        define_terminal(name="T001", userid="BOB"),
        define_terminal(name="T002", userid="ANN"),
        define_transaction(name="PAY1", remotesystem="CICB"),
        define_connection(name="CICB", netname="B"),
    ]
    far = [*LOGS, define_transaction(name="PAY1"), define_connection(name="CICA", netname="A", attachsec="IDENTIFY")]
    there = policy_file(tmp_path, CLASSES)
    ran = []
    with Sysplex() as plex:
        here = plex.region(near, applid="A", sysid="CICA", supplied_queues=False)
        other = plex.region(far, applid="B", sysid="CICB", supplied_queues=False, security=there)
        other.register("PAY1", lambda task: ran.append(task.userid))
        here.screens.type("T001", "PAY1")
        here.run()
        assert here.screens.screen("T001").last.text.startswith(rule("SEC-XTRAN").message)
        assert "userid = BOB." in messages(other, "CSMT")
        here.screens.type("T002", "PAY1")
        here.run()
    assert ran == ["ANN"]


@pytest.mark.rule("SIGNOFF-ROUTED")
def test_a_routed_task_cannot_change_the_user_of_its_terminal(tmp_path):
    near = [
        define_terminal(name="T001"),
        define_transaction(name="PAY1", remotesystem="CICB"),
        define_connection(name="CICB", netname="B"),
    ]
    far = [*LOGS, define_transaction(name="PAY1"), define_connection(name="CICA", netname="A", attachsec="IDENTIFY")]
    with Sysplex() as plex:
        here = plex.region(near, applid="A", sysid="CICA", supplied_queues=False)
        other = plex.region(far, applid="B", sysid="CICB", supplied_queues=False)
        other.register("PAY1", lambda task: expect_rule("SIGNOFF-ROUTED", task.signoff))
        handle = here.screens.type("T001", "PAY1")
        here.run()
        handle.result()
