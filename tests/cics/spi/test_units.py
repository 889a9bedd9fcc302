from __future__ import annotations

import pytest

from tdqsim import SecurityOptions
from tdqsim.cics import Access, AccessList
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda, Resp
from tests.cics.spi.helpers import condition, region
from tests.recovery.helpers import full_from
from tests.rules import expect_rule, rule

UNKNOWN = b"\xff" * 16


@pytest.fixture
def reg(tmp_path):
    with region(tmp_path) as made:
        yield made


def uows(issuer, *options):
    issuer.inquire_uow_start()
    found = []
    while info := issuer.inquire_uow_next(*options, nohandle=True):
        found.append(info)
    issuer.inquire_uow_end()
    return found


def enqueues(issuer, *options, **chosen):
    issuer.inquire_uowenq_start(**chosen)
    found = []
    while info := issuer.inquire_uowenq_next(*options, nohandle=True):
        found.append(info)
    issuer.inquire_uowenq_end()
    return found


def shunt(reg, name="TERQ"):
    """A unit of work that wrote a record and lost its coordinator."""
    task = reg.task(transid="PAYP")
    task.__enter__()
    task.writeq_td(name, b"indoubt")
    uow = task._uow
    uow.prepare()
    uow.shunt(link="CICB")
    task._unit = None
    task.end(normal=False)
    return uow.id


@pytest.mark.rule("UOW-INFLIGHT", "UOWENQ-OWNER")
def test_a_unit_of_work_and_its_locks(reg):
    with reg.task(transid="PAYP") as task:
        assert uows(reg) == []
        task.writeq_td("TERQ", b"one")
        (unit,) = uows(reg)
        assert (unit.transid, unit.userid, unit.taskid) == ("PAYP", "CICSUSER", task.number)
        assert (unit.uowstate, unit.waitstate, unit.waitcause) == (Cvda.INFLIGHT, Cvda.ACTIVE, Cvda.NOTAPPLIC)
        assert len(unit.uow) == 16
        assert unit.uow[8:] == bytes(8)
        (enq,) = enqueues(reg)
        assert (enq.resource, enq.qualifier.rstrip(), enq.type) == ("TERQ", "TOQ", Cvda.TDQ)
        assert (enq.reslen, enq.quallen) == (4, 3)
        assert (enq.relation, enq.state, enq.uow, enq.transid) == (Cvda.OWNER, Cvda.ACTIVE, unit.uow, "PAYP")
        task.deleteq_td("TERQ")
        assert sorted(enq.qualifier.rstrip() for enq in enqueues(reg)) == ["FROMQ", "TOQ"]
        named = reg.inquire_uow(unit.uow, "UOWSTATE")
        assert named.uowstate is Cvda.INFLIGHT
        task.syncpoint()
        assert uows(reg) == enqueues(reg) == []


@pytest.mark.rule("UOWENQ-WAITER", "TASK-SUSPENDED", "UOW-INFLIGHT-ACTIVE")
def test_a_waiting_task_is_seen(reg):
    with reg.task(transid="OWNR") as owner:
        owner.writeq_td("TERQ", b"one")
        handle = reg.start(lambda task: task.writeq_td("TERQ", b"two"))
        owner.writeq_td("PAYQ", b"let it run")
        waiter = next(enq for enq in enqueues(reg) if enq.relation is Cvda.WAITER)
        assert (waiter.resource, waiter.qualifier.rstrip(), waiter.state) == ("TERQ", "TOQ", Cvda.ACTIVE)
        task = reg.inquire_task(waiter.taskid)
        assert (task.runstatus, task.suspendtype.rstrip()) == (Cvda.SUSPENDED, "ENQUEUE")
        assert reg.inquire_uow(waiter.uow).waitstate.name == rule("UOW-INFLIGHT-ACTIVE").message
        assert [enq.relation for enq in enqueues(reg, resource="TERQ")] == [Cvda.OWNER, Cvda.WAITER]
        assert enqueues(reg, resource="TERQQUEUE", reslen=4) == enqueues(reg, resource="TERQ", enqscope="    ")
        assert enqueues(reg, enqscope="PLEX") == []  # there are no enqueues of a sysplex
        assert enqueues(reg, resource="PAYQ") == []
        assert [enq.relation for enq in enqueues(reg, uow=waiter.uow)] == [Cvda.WAITER]
        assert reg.inquire_task(owner.number, "RUNSTATUS", "TRANSACTION").as_dict() == {
            "RUNSTATUS": Cvda.RUNNING, "TRANSACTION": "OWNR",
        }  # fmt: skip
    reg.run()
    handle.result()
    assert len(reg.peek("TERQ")) == 2


@pytest.mark.rule("TASK-TRIGGERED")
def test_a_triggered_task(reg):
    seen = []
    reg.register("PAYP", lambda task: seen.append(task.inquire_task(task.number).as_dict(plain=True)))
    reg.set_tdqueue("PAYQ", triggerlevel=1)
    reg.writeq_td("PAYQ", b"x")
    reg.run()
    assert (seen[0]["STARTCODE"], seen[0]["FACILITYTYPE"], seen[0]["FACILITY"]) == ("QD", "DEST", "PAYQ")
    assert (seen[0]["TRANSACTION"], seen[0]["PROGRAM"], seen[0]["RUNSTATUS"]) == ("PAYP", "PAYPROG", "RUNNING")


@pytest.mark.rule("UOW-SHUNTED", "SET-UOW-COMMIT", "UOWENQ-ACTIVE-RETAINED")
def test_a_shunted_unit_of_work_is_committed_by_set(reg):
    uow = shunt(reg)
    info = reg.inquire_uow(uow)
    assert (info.uowstate, info.waitstate, info.waitcause) == (Cvda.INDOUBT, Cvda.SHUNTED, Cvda.CONNECTION)
    assert (info.link.rstrip(), info.sysid, info.transid) == ("CICB", "CICB", "PAYP")
    (enq,) = enqueues(reg)
    assert enq.state is Cvda.RETAINED
    assert condition(reg.writeq_td, "TERQ", b"x")[0] is Resp.LOCKED
    reg.set_uow(uow, uowstate="COMMIT")
    assert reg.peek("TERQ") == [b"indoubt"]
    assert uows(reg) == enqueues(reg) == []


@pytest.mark.rule("SET-UOW-FORCE")
def test_a_transaction_without_action_is_backed_out_by_force(reg):
    uow = shunt(reg)
    reg.set_uow(uow, uowstate="FORCE")
    assert reg.peek("TERQ") == []
    reg.writeq_td("TERQ", b"free again")


@pytest.mark.rule("SET-UOW-BAD-CVDA", "SET-UOW-WRONG-STATE", "SET-UOW-NOT-FOUND", "UOW-NOT-FOUND")
def test_what_set_uow_refuses(reg):
    expect_rule("UOW-NOT-FOUND", reg.inquire_uow, UNKNOWN)
    expect_rule("SET-UOW-NOT-FOUND", reg.set_uow, UNKNOWN, uowstate="COMMIT")
    assert condition(reg.inquire_uowenq_start, uow=UNKNOWN) == (Resp.UOWNOTFOUND, 1)
    expect_rule("SET-UOW-BAD-CVDA", reg.set_uow, shunt(reg), uowstate="INDOUBT")
    with reg.task() as task:
        task.writeq_td("DUAL", b"x")
        task.readq_td("DUAL")
        task.writeq_td("PHYQ", b"x")
        task.readq_td("PHYQ")
        (unit,) = [unit for unit in uows(reg) if unit.uowstate is Cvda.INFLIGHT]
        expect_rule("SET-UOW-WRONG-STATE", reg.set_uow, unit.uow, uowstate="COMMIT")


@pytest.mark.rule("UOW-BROWSE-END", "UOW-BROWSE-ILLOGIC")
def test_browses_of_units_and_enqueues_have_the_usual_sequence(reg):
    for start, following, end in [
        (reg.inquire_uow_start, reg.inquire_uow_next, reg.inquire_uow_end),
        (reg.inquire_uowenq_start, reg.inquire_uowenq_next, reg.inquire_uowenq_end),
        (reg.inquire_uowlink_start, reg.inquire_uowlink_next, reg.inquire_uowlink_end),
    ]:
        expect_rule("UOW-BROWSE-ILLOGIC", following)
        expect_rule("UOW-BROWSE-ILLOGIC", end)
        start()
        expect_rule("UOW-BROWSE-ILLOGIC", start)
        expect_rule("UOW-BROWSE-END", following)
        end()


def test_as_text(reg):
    with reg.task() as task:
        task.writeq_td("TERQ", b"x")
        host = {}
        task.execute("INQUIRE UOW START")
        task.execute("INQUIRE UOW(ID) NEXT UOWSTATE(S) TASKID(T)", host)
        task.execute("INQUIRE UOW END")
        assert (host["S"], host["T"], len(host["ID"])) == (Cvda.INFLIGHT, task.number, 16)
        task.execute("INQUIRE UOWENQ START RESOURCE('TERQ') UOW(ID)", host)
        task.execute("INQUIRE UOWENQ NEXT RELATION(S) QUALIFIER(Q)", host)
        assert (host["S"], host["Q"].rstrip()) == (Cvda.OWNER, "TOQ")
        task.execute("INQUIRE TASK(T) RUNSTATUS(S)", host)
        assert host["S"] is Cvda.RUNNING


@pytest.mark.rule("TASK-NOT-FOUND")
def test_an_unknown_task(reg):
    expect_rule("TASK-NOT-FOUND", reg.inquire_task, 99998)
    with pytest.raises(TdqError, match="is not an option of INQUIRE TASK"), reg.task() as task:
        task.inquire_task(task.number, "COLOUR")


@pytest.mark.rule("TRANSACTION-DISABLED", "TRANSACTION-NOT-FOUND")
def test_a_disabled_transaction_is_not_started(reg):
    started = []
    reg.register("PAYP", lambda task: started.append(task.number))
    assert reg.inquire_transaction("PAYP").as_dict(plain=True)["STATUS"] == "ENABLED"
    reg.set_transaction("PAYP", status="DISABLED")
    assert reg.inquire_transaction("PAYP", "STATUS").status is Cvda.DISABLED
    reg.set_tdqueue("PAYQ", triggerlevel=1)
    reg.writeq_td("PAYQ", b"x")
    reg.run()
    assert started == []
    expect_rule("TRANSACTION-NOT-FOUND", reg.inquire_transaction, "NONE")
    expect_rule("TRANSACTION-NOT-FOUND", reg.set_transaction, "NONE", status="ENABLED")
    assert condition(reg.set_transaction, "PAYP", status="OPEN")[0] is Resp.INVREQ
    reg.execute("SET TRANSACTION('PAYP') ENABLED")
    assert reg.inquire_transaction("PAYP", "STATUS").status is Cvda.ENABLED


def test_command_security():
    policy = AccessList(commands={"CICSUSER": {"UOW": Access.READ}})
    with region(security=SecurityOptions(policy=policy, cmdsec="ALWAYS", ressec="ALWAYS")) as reg:
        assert uows(reg) == []
        assert condition(reg.set_uow, UNKNOWN, uowstate="COMMIT") == (Resp.NOTAUTH, 100)
        assert condition(reg.inquire_task, 1) == (Resp.NOTAUTH, 100)
        assert condition(reg.inquire_uowenq_start) == (Resp.NOTAUTH, 100)
        assert condition(reg.inquire_uowlink_start) == (Resp.NOTAUTH, 100)
        assert condition(reg.inquire_uowlink, UNKNOWN[:4]) == (Resp.NOTAUTH, 100)
        assert condition(reg.set_transaction, "PAYP", status="ENABLED") == (Resp.NOTAUTH, 100)


@pytest.mark.rule("SET-UOW-STORE")
@pytest.mark.parametrize("uowstate", ["COMMIT", "BACKOUT", "FORCE"])
def test_a_decision_that_the_store_does_not_take_leaves_it_in_doubt(reg, uowstate):
    uow = shunt(reg)
    reg.store.durable.fault = full_from()
    expect_rule("SET-UOW-STORE", reg.set_uow, uow, uowstate=uowstate)
    info = reg.inquire_uow(uow)
    assert (info.uowstate, info.waitstate) == (Cvda.INDOUBT, Cvda.SHUNTED)
    assert condition(reg.writeq_td, "TERQ", b"x")[0] is Resp.LOCKED
    reg.store.durable.fault = None
    reg.set_uow(uow, uowstate=uowstate)
    assert reg.peek("TERQ") == ([b"indoubt"] if uowstate == "COMMIT" else [])


def test_a_unit_of_work_that_has_ended_since_start_is_passed_over(reg):
    with reg.task() as browser, reg.task(transid="ONE") as one, reg.task(transid="TWO") as two:
        one.writeq_td("TERQ", b"x")
        two.writeq_td("DUAL", b"x")
        two.enq("NAME")
        browser.inquire_uow_start()
        one.syncpoint()
        assert browser.inquire_uow_next("TRANSID").transid == "TWO "
        two.syncpoint()
        expect_rule("UOW-BROWSE-END", browser.inquire_uow_next)
        browser.inquire_uow_end()


def test_the_age_of_a_unit_of_work_that_has_only_a_name(reg):
    with reg.task() as task:
        task.enq("NAME")
        reg.clock.advance(50)
        (unit,) = uows(reg, "AGE", "UOWSTATE")
        assert unit.age >= 50
        assert unit.uowstate is Cvda.INFLIGHT
