"""DISCARD TRANSACTION: what it refuses, and what is left."""

from __future__ import annotations

import pytest

from tdqsim import Region, SecurityOptions, define_tdqueue, define_terminal, define_transaction
from tdqsim.cics import Access, AccessList
from tdqsim.facts import Resp
from tests.cics.spi.helpers import condition
from tests.rules import expect_rule


@pytest.fixture
def region():
    definitions = [
        define_transaction(name="PAYP", program="PAYPROG", priority=7),
        define_transaction(name="CICP", program="CJJPROG"),
        define_transaction(name="CUSP", program="CJKPROG"),
        define_tdqueue(type="INTRA", name="PAYQ", transid="PAYP", triggerlevel=1),
        define_tdqueue(
            type="INTRA", name="TERQ", transid="PAYP", triggerlevel=1, atifacility="TERMINAL", facilityid="T001"
        ),
        define_terminal(name="T001"),
    ]
    with Region(definitions, supplied_queues=False) as made:
        made.notices.silence()
        yield made


def test_a_discarded_transaction_is_found_by_no_command(region):
    region.register("PAYP", lambda _task: None)
    region.execute("DISCARD TRANSACTION('PAYP')")
    assert condition(region.inquire_transaction, "PAYP") == (Resp.TRANSIDERR, 1)
    assert condition(region.discard_transaction, "PAYP") == (Resp.TRANSIDERR, 1)
    with region.task() as task:
        assert condition(task.start, "PAYP")[0] is Resp.TRANSIDERR


def test_a_notice_about_a_transaction_ends_when_it_is_discarded(region):
    region.set_transaction("PAYP", status="DISABLED")
    with region.task() as task:
        task.start("PAYP")
    region.run()
    assert "TRANSACTION(PAYP)" in {each.resource for each in region.notices.lasting}
    region.discard_transaction("PAYP")
    assert "TRANSACTION(PAYP)" not in {each.resource for each in region.notices.lasting}


def test_a_trigger_of_a_discarded_transaction_says_that_there_is_none(region):
    region.discard_transaction("PAYP")
    region.writeq_td("PAYQ", b"1")
    region.run()
    assert [(each.id, each.resource) for each in region.notices] == [("DFHTD0183", "TDQUEUE(PAYQ)")]


@pytest.mark.rule("TRANSACTION-DISCARD-NOT-FOUND", "TRANSACTION-DISCARD-SUPPLIED")
def test_what_is_not_there_or_belongs_to_cics(region):
    expect_rule("TRANSACTION-DISCARD-NOT-FOUND", region.discard_transaction, "NONE")
    expect_rule("TRANSACTION-DISCARD-SUPPLIED", region.discard_transaction, "CICP")
    region.discard_transaction("CUSP")
    assert sorted(region.resources.transactions) == ["CICP", "PAYP"]


@pytest.mark.rule("TRANSACTION-DISCARD-SCHEDULED", "TRANSACTION-DISCARD-WAITING")
def test_a_start_that_waits_for_its_time_or_terminal_keeps_the_transaction(region):
    region.register("PAYP", lambda _task: None)
    with region.task() as task:
        task.start("PAYP", interval=100, reqid="LATER")
    expect_rule("TRANSACTION-DISCARD-SCHEDULED", region.discard_transaction, "PAYP")
    region.cancel("LATER")
    region.set_terminal("T001", servstatus="OUTSERVICE")
    region.writeq_td("TERQ", b"1")
    expect_rule("TRANSACTION-DISCARD-WAITING", region.discard_transaction, "PAYP")
    region.set_terminal("T001", servstatus="INSERVICE")
    region.run()
    region.discard_transaction("PAYP")
    assert sorted(region.resources.transactions) == ["CICP", "CUSP"]


@pytest.mark.rule("TRANSACTION-DISCARD-HANDLER")
def test_the_function_is_linked_to_and_found_again_by_the_next_definition(region):
    runs = []
    region.register("PAYP", lambda task: runs.append(task.transid))
    region.discard_transaction("PAYP")
    with region.task() as task:
        task.link("PAYPROG")
    region.install([define_transaction(name="PAYP")])
    region.start("PAYP").result()
    assert runs == ["TEST", "PAYP"]


@pytest.mark.rule("TRANSACTION-DISCARD-IN-FLIGHT")
def test_a_task_keeps_the_checks_and_the_priority_of_its_definition():
    policy = AccessList(commands={"ANN": {"TRANSACTION": Access.ALTER}})
    definitions = [define_transaction(name="PAYP", cmdsec="YES", priority=7)]
    with Region(definitions, security=SecurityOptions(policy=policy), supplied_queues=False) as region:
        with region.task(transid="PAYP", userid="ANN") as task:
            task.discard_transaction("PAYP")
            assert condition(task.inquire_tdqueue, "NONE") == (Resp.NOTAUTH, 100)
        assert condition(region.discard_transaction, "PAYP") == (Resp.TRANSIDERR, 1)


def test_alter_access_is_needed():
    policy = AccessList(commands={"ANN": {"TRANSACTION": Access.UPDATE}})
    security = SecurityOptions(policy=policy, cmdsec="ALWAYS")
    with (
        Region([define_transaction(name="PAYP")], security=security, supplied_queues=False) as region,
        region.task(transid="PAYP", userid="ANN") as task,
    ):
        assert condition(task.discard_transaction, "PAYP") == (Resp.NOTAUTH, 100)


@pytest.mark.rule("TRANSACTION-DISCARD-KEPT")
def test_a_discarded_definition_does_not_come_back(tmp_path):
    both = [define_transaction(name="PAYP"), define_transaction(name="PAY2")]
    with Region(both, supplied_queues=False, store=tmp_path / "st") as region:
        region.discard_transaction("PAYP")
        region.install([define_transaction(name="PAY3")])
    for _ in range(2):
        with Region(supplied_queues=False, store=tmp_path / "st") as region:
            assert sorted(region.resources.transactions) == ["PAY2", "PAY3"]
