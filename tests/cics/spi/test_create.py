from __future__ import annotations

import pytest

from tdqsim import SecurityOptions
from tdqsim.cics import Access, AccessList, InstallRefused, Region
from tdqsim.definitions import define_tdqueue, define_terminal
from tdqsim.facts import TDQUEUE_ATTRIBUTES, Cvda, Resp
from tests.cics.spi.helpers import condition, region
from tests.cics.spi.test_attribute_text import FAULTS
from tests.rules import expect_rule, rule

NUMBER = {name: number for number, name in enumerate(TDQUEUE_ATTRIBUTES, 1)}


@pytest.fixture
def reg(tmp_path):
    with region(tmp_path, supplied_queues=True) as made:
        yield made


def log(reg, queue):
    """The lines CICS has written to one of its queues."""
    return [record.decode("cp037").rstrip() for record in reg.peek(queue)]


@pytest.mark.rule("CREATE-INSTALLS", "SIGNATURE-CREATE")
def test_a_created_queue_is_enabled_and_signed(reg):
    with reg.task(transid="MAKE") as task:
        task.create_tdqueue("NEWQ", "type(intra) trans(payp) trig(3) recov(log) atif(file)")
    info = reg.inquire_tdqueue("NEWQ")
    assert (info.type, info.enablestatus, info.recovstatus) == (Cvda.INTRA, Cvda.ENABLED, Cvda.LOGICAL)
    assert (info.atitranid, info.triggerlevel, info.atifacility) == ("PAYP", 3, Cvda.NOTERMINAL)
    assert (info.changeagent, info.installagent) == (Cvda.CREATESPI, Cvda.CREATESPI)
    assert (info.definesource, info.changeusrid, info.installusrid) == ("MAKE    ", "CICSUSER", "CICSUSER")


@pytest.mark.rule("CREATE-INSTALL-FAILED", "CREATE-BACKS-OUT")
def test_a_create_whose_install_fails_backs_out(reg):
    with reg.task() as task:
        task.writeq_td("TERQ", b"one")
        expect_rule("CREATE-INSTALL-FAILED", task.create_tdqueue, "PAYQ", "TYPE(INTRA)")
        task.syncpoint()
    assert reg.inquire_tdqueue("TERQ", "NUMITEMS").numitems == 0
    assert reg.inquire_tdqueue("PAYQ", "ATITRANID").atitranid == "PAYP"


@pytest.mark.rule(
    "CREATE-400", "CREATE-401", "CREATE-402", "CREATE-403", "CREATE-404", "CREATE-405",
    "CREATE-406", "CREATE-407", "CREATE-410", "CREATE-412", "CREATE-413", "CREATE-MESSAGE",
)  # fmt: skip
def test_every_fault_is_an_invreq_and_installs_nothing(reg):
    for rule_id, text, high in FAULTS:
        row, before = rule(rule_id), len(log(reg, "CSSL"))
        assert condition(reg.create_tdqueue, "NEWQ", text) == (Resp[row.resp], high * 65536 + int(row.resp2)), text
        assert condition(reg.inquire_tdqueue, "NEWQ") == (Resp.QIDERR, 1)
        assert row.message in log(reg, "CSSL")[before]


@pytest.mark.rule("CREATE-LENGERR", "CREATE-LOGMESSAGE")
def test_the_other_arguments(reg):
    expect_rule("CREATE-LENGERR", reg.create_tdqueue, "NEWQ", "TYPE(INTRA)", -1)
    expect_rule("CREATE-LOGMESSAGE", reg.create_tdqueue, "NEWQ", "TYPE(INTRA)", logmessage="OPEN")
    reg.create_tdqueue("NEWQ", "TYPE(INTRA) and more", 11, logmessage="NOLOG")
    assert reg.inquire_tdqueue("NEWQ", "TYPE").type is Cvda.INTRA


@pytest.mark.rule("CREATE-DDNAME", "CREATE-RECORDSIZE")
def test_create_has_no_default_for_ddname_and_another_for_recordsize(reg):
    """Its syntax diagram differs from what CEDA and DFHCSDUP fill in."""
    row = rule("CREATE-DDNAME")
    resp2 = NUMBER["DDNAME"] * 65536 + int(row.resp2)
    assert condition(reg.create_tdqueue, "NEWQ", "TYPE(EXTRA) DSNAME(DUMMY)") == (Resp[row.resp], resp2)
    reg.create_tdqueue("NEWQ", "TYPE(EXTRA) DDNAME(NEWDD) DSNAME(DUMMY) RECORDFORMAT(FIXED) TYPEFILE(OUTPUT)")
    assert reg.inquire_tdqueue("NEWQ", "RECORDLENGTH").recordlength == int(rule("CREATE-RECORDSIZE").message)
    reg.writeq_td("NEWQ", b"of any length, as nothing says which")
    reg.install([define_tdqueue(name="CEDA", type="EXTRA", dsname="DUMMY", opentime="DEFERRED")])
    info = reg.inquire_tdqueue("CEDA", "DDNAME", "RECORDLENGTH")
    assert (info.ddname, info.recordlength) == ("CEDA    ", 1)
    reg.create_tdqueue("MOST", "TYPE(EXTRA) DDNAME(X) DSNAME(DUMMY) RECORDSIZE(80)")
    assert reg.inquire_tdqueue("MOST", "RECORDLENGTH").recordlength == 80


@pytest.mark.rule("CREATE-REPLACE-TYPE", "CREATE-REPLACE-EXTRA")
def test_when_a_queue_is_not_replaced(reg):
    reg.set_tdqueue("PAYQ", enablestatus="DISABLED")
    expect_rule("CREATE-REPLACE-TYPE", reg.create_tdqueue, "PAYQ", "TYPE(EXTRA) DDNAME(X)")
    reg.set_tdqueue("EXTO", openstatus="OPEN", enablestatus="DISABLED")
    expect_rule("CREATE-REPLACE-EXTRA", reg.create_tdqueue, "EXTO", "TYPE(EXTRA) DDNAME(X) OPENTIME(DEFERRED)")
    reg.set_tdqueue("EXTO", openstatus="CLOSED")
    reg.create_tdqueue("EXTO", "TYPE(EXTRA) DDNAME(X) OPENTIME(DEFERRED)")
    assert reg.inquire_tdqueue("EXTO", "DDNAME").ddname == "X       "


@pytest.mark.rule("CREATE-SURROGATE", "CREATE-BAD-USERID", "INSTALL-USERID-MESSAGE")
def test_the_userid_of_a_created_queue():
    policy = AccessList(
        users=["CICSUSER", "CICSRGN", "PAYUSER", "BOB", "ALICE"],
        surrogates={"CICSUSER": ["BOB", "PAYUSER"], "CICSRGN": ["PAYUSER"]},
    )
    text = "TYPE(INTRA) ATIFACILITY(FILE) USERID({})"
    with region(security=SecurityOptions(policy=policy, cmdsec="ALWAYS", ressec="ALWAYS"), supplied_queues=True) as reg:
        expect_rule("CREATE-SURROGATE", reg.create_tdqueue, "NEWQ", text.format("ALICE"))
        expect_rule("CREATE-BAD-USERID", reg.create_tdqueue, "NEWQ", text.format("NOBODY"))
        reg.create_tdqueue("NEWQ", text.format("BOB"))
        [refused] = [
            line for line in reg.diagnostics.operator if line.startswith(rule("INSTALL-USERID-MESSAGE").message)
        ]
        assert "NEWQ" in refused
        assert "NOBODY" in refused
        assert not any("DFHTD1278" in line for line in log(reg, "CSSL"))


@pytest.mark.rule("DISCARD-MESSAGE", "INSTALL-REPLACED-MESSAGE")
def test_the_audit_log_tells_terminal_user_and_transaction():
    definitions = [
        define_tdqueue(name="CSQL", type="INTRA"),
        define_tdqueue(name="PAYQ", type="INTRA"),
        define_terminal(name="T001"),
    ]
    with Region(definitions, supplied_queues=False) as reg:

        def changes(task):
            task.set_tdqueue("PAYQ", enablestatus="DISABLED")
            task.create_tdqueue("PAYQ", "TYPE(INTRA)")
            task.set_tdqueue("PAYQ", enablestatus="DISABLED")
            task.discard_tdqueue("PAYQ")

        reg.register("ADMN", changes)
        reg.execute("START TRANSID('ADMN') TERMID('T001')")
        reg.run()
        said = "".join(map(reg.text, reg.peek("CSQL")))
        replaced, deleted = rule("INSTALL-REPLACED-MESSAGE").message, rule("DISCARD-MESSAGE").message
        assert said.index(replaced) < said.index(deleted)
        assert said.count("T001 CICSUSER ADMN TDQUEUE entry for PAYQ has been") == 2


@pytest.mark.rule("CREATE-JOBUSERID")
def test_the_jobuserid_of_a_created_queue():
    policy = AccessList(users=["CICSUSER", "CICSRGN", "PAYJOB", "OTHER"], surrogates={"CICSUSER": ["PAYJOB"]})
    text = "TYPE(EXTRA) TYPEFILE(OUTPUT) DDNAME(RDR) JOBUSERID({})"
    with region(security=policy) as reg:
        expect_rule("CREATE-JOBUSERID", reg.create_tdqueue, "JOBQ", text.format("OTHER"))
        reg.create_tdqueue("JOBQ", text.format("PAYJOB"))
        with pytest.raises(InstallRefused, match=r"^TDQUEUE\(JOB2\): JOBUSERID OTHER"):
            reg.install([define_tdqueue(name="JOB2", type="EXTRA", typefile="OUTPUT", ddname="RDR", jobuserid="OTHER")])


@pytest.mark.rule("DISCARD-C-NAME", "DISCARD-NOT-DISABLED", "DISCARD-NOT-CLOSED", "DISCARD-PENDING", "DISCARD-QIDERR")
def test_when_a_queue_cannot_be_discarded(reg):
    expect_rule("DISCARD-QIDERR", reg.discard_tdqueue, "NOQ")
    expect_rule("DISCARD-C-NAME", reg.discard_tdqueue, "CQUE")
    expect_rule("DISCARD-C-NAME", reg.discard_tdqueue, "CSMT")
    expect_rule("DISCARD-NOT-DISABLED", reg.discard_tdqueue, "PAYQ")
    reg.set_tdqueue("EXTO", openstatus="OPEN", enablestatus="DISABLED")
    expect_rule("DISCARD-NOT-CLOSED", reg.discard_tdqueue, "EXTO")
    with reg.task() as owner:
        owner.writeq_td("TERQ", b"one")
        reg.set_tdqueue("TERQ", enablestatus="DISABLED")
        expect_rule("DISCARD-PENDING", reg.discard_tdqueue, "TERQ")
    reg.discard_tdqueue("TERQ")


def test_resource_security_needs_alter():
    policy = AccessList(queues={"CICSUSER": {"NEWQ": Access.ALTER, "*": Access.UPDATE}})
    with region(security=SecurityOptions(policy=policy, cmdsec="ALWAYS", ressec="ALWAYS")) as reg:
        reg.create_tdqueue("NEWQ", "TYPE(INTRA)")
        reg.set_tdqueue("NEWQ", enablestatus="DISABLED")
        reg.discard_tdqueue("NEWQ")
        assert condition(reg.create_tdqueue, "NEW2", "TYPE(INTRA)") == (Resp.NOTAUTH, 101)


@pytest.mark.parametrize(("attributes", "attrlen"), [("TYPE(INTRA)", 0), ("TYPE(INTRA) TRIGGERLEVEL(99999)", 11)])
def test_attrlen_says_how_much_of_the_attributes_counts(reg, attributes, attrlen):
    reg.create_tdqueue("NEWQ", attributes, attrlen, nohandle=True)
    assert ("NEWQ" in reg.tdqueues) is bool(attrlen)
