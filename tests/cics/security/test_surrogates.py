"""Who may have work done for other users."""

from __future__ import annotations

import pytest

from tdqsim.cics import Region
from tdqsim.definitions import define_tdqueue, define_terminal, define_transaction
from tests.cics.security.helpers import messages, policy_file, region
from tests.rules import expect_rule


@pytest.mark.rule("SEC-XUSER-DFHSTART", "SEC-XUSER-OWN", "IC-START-SURROGATE")
def test_start_for_another_user_needs_the_profile_for_starts(tmp_path):
    classes = """\
    SURROGAT:
      CLERK.DFHSTART: {access: {ANN: READ, BOB: NONE}}
      CLERK.DFHINSTL: {access: {BOB: READ}}
    """
    ran = []
    with region(tmp_path, classes, define_transaction(name="PAY1", ressec="NO")) as reg:
        reg.register("PAY1", lambda task: ran.append(task.userid))
        with reg.task(userid="BOB") as task:
            expect_rule("SEC-XUSER-DFHSTART", task.start, "PAY1", userid="CLERK")
            assert messages(reg, "CSCS").count("resource CLERK.DFHSTART in class SURROGAT") == 1
            expect_rule("SEC-XUSER-OWN", task.start, "PAY1", userid="BOB")
        with reg.task(userid="ANN") as task:
            task.start("PAY1", userid="CLERK")
        reg.run()
    assert ran == ["BOB", "CLERK"]


@pytest.mark.rule("SEC-XUSER-DFHINSTL", "SET-SURROGATE", "CREATE-SURROGATE")
def test_trigger_users_need_the_profile_for_installs(tmp_path):
    classes = """\
    SURROGAT:
      CLERK.DFHINSTL: {access: {ANN: READ, CICSRGN: READ}}
      CLERK.DFHSTART: {access: {BOB: READ}}
    """
    queue = define_tdqueue(name="PAYQ", type="INTRA", atifacility="FILE", userid="CLERK")
    with region(tmp_path, classes, queue, define_terminal(name="T001", userid="CLERK")) as reg:
        assert list(reg.resources.terminals) == ["T001"]
        reg.set_tdqueue("PAYQ", enablestatus="DISABLED")
        attributes = "TYPE(INTRA) ATIFACILITY(FILE) USERID(CLERK)"
        with reg.task(userid="BOB") as task:
            expect_rule("SEC-XUSER-DFHINSTL", task.set_tdqueue, "PAYQ", atiuserid="CLERK")
            expect_rule("SET-SURROGATE", task.set_tdqueue, "PAYQ", atiuserid="CLERK")
            expect_rule("CREATE-SURROGATE", task.create_tdqueue, "NEWQ", attributes)
        with reg.task(userid="ANN") as task:
            task.set_tdqueue("PAYQ", atiuserid="CLERK")
            task.create_tdqueue("NEWQ", attributes)
        assert "NEWQ" in reg.tdqueues


@pytest.mark.rule("SEC-XUSER-SUBMIT")
def test_jobs_for_another_user_need_the_profile_for_jobs(tmp_path):
    classes = """\
    SURROGAT:
      CLERK.SUBMIT: {access: {ANN: READ}}
      CLERK.DFHSTART: {access: {BOB: READ}}
      CLERK.DFHINSTL: {access: {BOB: READ}}
    """
    reader = define_tdqueue(name="RDRQ", type="EXTRA", typefile="OUTPUT", ddname="READER", opentime="INITIAL")
    dd = {"READER": {"sysout": "A", "writer": "INTRDR"}}
    with region(tmp_path, classes, reader, dd=dd) as reg:
        card = reg.encode("//MYJOB JOB (1),USER=CLERK".ljust(80))
        with reg.task(userid="BOB") as task:
            expect_rule("SEC-XUSER-SUBMIT", task.writeq_td, "RDRQ", card)
            task.writeq_td("RDRQ", reg.encode("//OWNJOB JOB (1),USER=BOB".ljust(80)))
        with reg.task(userid="ANN") as task:
            task.writeq_td("RDRQ", card)


def test_surrogates_are_not_checked_without_profiles_of_the_class(tmp_path):
    path = policy_file(tmp_path, "FCICSFCT:\n  PAYF:\n")
    with Region([define_transaction(name="PAY1")], security=path, supplied_queues=False) as reg:
        reg.register("PAY1", lambda _task: None)
        with reg.task(userid="BOB") as task:
            task.start("PAY1", userid="CLERK")
