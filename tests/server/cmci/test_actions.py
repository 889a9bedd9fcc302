"""Actions, updates and discards of installed resources by the management interface."""

from __future__ import annotations

import pytest

from tdqsim import Region, SecurityOptions
from tdqsim.cics import Access, AccessList
from tdqsim.server.host import Host
from tdqsim.server.users import Role, User, Users
from tests.server.cmci.conftest import DEFINITIONS, Cmci, secret, served

INTRA = "CICSIntrapartitionTDQueue/SIMREG1"
PAYQ = f"{INTRA}?CRITERIA=(TDQUEUE=PAYQ)"


def action(name, more=""):
    return f'<request><action name="{name}">{more}</action></request>'


def update(attributes):
    return f"<request><update><attributes {attributes}/></update></request>"


def test_an_action_answers_with_the_record_as_it_is_afterwards(cmci):
    for name, status in (("DISABLE", "DISABLED"), ("ENABLE", "ENABLED"), ("DISABLE", "DISABLED")):
        done = cmci.ask(PAYQ, "PUT", action(name))
        assert (done.codes, done.summary["successcount"]) == (("OK", ""), "1")
        assert [each["enablestatus"] for each in done.records] == [status]
    discarded = cmci.ask(PAYQ, "DELETE")
    assert (discarded.codes, discarded.names) == (("OK", ""), ["PAYQ"])
    assert cmci.queues() == ["ORDQ"]


def test_attributes_are_updated(cmci):
    assert cmci.ask(PAYQ, "PUT", update('TRIGGERLEVEL="9"')).records[0]["triggerlevel"] == "9"
    cmci.ask(PAYQ, "PUT", action("DISABLE"))
    (changed,) = cmci.ask(PAYQ, "PUT", update('atiuserid="ANNA" triggerlevel="3"')).records
    assert (changed["atiuserid"], changed["triggerlevel"]) == ("CICSUSER", "3")


def test_a_refused_action_has_feedback_and_others_are_done(cmci):
    refused = cmci.ask(f"{INTRA}?CRITERIA=(TDQUEUE=*)", "PUT", update('ATITRANID="NEWT"'))
    assert (refused.codes, refused.summary["api_function"]) == (("TABLEERROR", "DATAERROR"), "SET")
    assert (refused.summary["recordcount"], refused.summary["successcount"]) == ("2", "0")
    assert [each["resp_alt"] for each in refused.feedback] == ["INVREQ", "INVREQ"]  # they are not disabled
    cmci.ask(PAYQ, "PUT", action("DISABLE"))
    partly = cmci.ask(INTRA, "DELETE")
    assert (partly.summary["recordcount"], partly.summary["successcount"], partly.records) == ("2", "1", [])
    assert partly.feedback == [
        {"keydata": "D6D9C4D8", "eyu_cicsname": "SIMREG1", "action": "DISCARD", "eibfn": "5C10",
         "eibfn_alt": "DISCARD TDQUEUE", "resp": "16", "resp_alt": "INVREQ", "resp2": "31", "errorcode": "0"}
    ]  # fmt: skip
    assert cmci.queues() == ["ORDQ"]


def test_a_data_set_is_opened_and_closed(cmci, tmp_path, region, host):
    place = "CICSExtrapartitionTDQueue/SIMREG1?CRITERIA=(TDQUEUE=PAYL)"
    assert cmci.ask(place, "PUT", action("CLOSE")).records[0]["openstatus"] == "CLOSED"
    assert cmci.ask(place, "PUT", action("OPEN")).codes == ("OK", "")
    assert cmci.ask(place).records[0]["openstatus"] == "OPEN"


def test_a_file_is_closed_and_opened_as_zowe_does_it(cmci):
    place = "CICSLocalFile/SIMREG1?CRITERIA=(file%3D'ACCT')"
    busy = '<parameter name="BUSY" value="WAIT"/>'
    (closed,) = cmci.ask(place, "PUT", action("CLOSE", busy)).records
    assert (closed["openstatus"], closed["keylength"]) == ("CLOSED", "4")
    assert cmci.ask(place, "PUT", action("OPEN")).records[0]["openstatus"] == "OPEN"
    assert cmci.ask(place, "PUT", action("DISABLE", busy)).records[0]["enablestatus"] == "DISABLED"
    assert cmci.ask(place, "PUT", action("ENABLE")).records[0]["enablestatus"] == "ENABLED"


def test_aliases_and_remote_queues_are_discarded_without_being_disabled(cmci):
    assert cmci.ask("CICSIndirectTDQueue/SIMREG1", "DELETE").codes == ("OK", "")
    assert cmci.ask("CICSRemoteTDQueue/SIMREG1", "PUT", action("DISCARD")).codes == ("OK", "")
    assert cmci.ask("CICSRemoteTDQueue/SIMREG1").codes == ("NODATA", "")


def test_a_transaction_is_disabled_and_a_task_is_purged(cmci, host, region):
    place = "CICSLocalTransaction/SIMREG1?CRITERIA=(TRANID=PAYT)"
    assert cmci.ask(place, "PUT", action("DISABLE")).records[0]["status"] == "DISABLED"
    assert cmci.ask(place, "PUT", update('STATUS="ENABLED"')).records[0]["status"] == "ENABLED"
    host.engine.outside(lambda: region.start(lambda task: task.delay(interval=100))).result()
    (task,) = cmci.ask("CICSTask/SIMREG1").records
    done = cmci.ask(f"CICSTask/SIMREG1?CRITERIA=(TASK='{task['task']}')", "PUT", action("PURGE"))
    assert (done.codes, done.records[0]["task"]) == (("OK", ""), task["task"])
    assert cmci.ask("CICSTask/SIMREG1").codes == ("NODATA", "")


def test_a_transaction_is_discarded(cmci, host, region):
    place = "CICSLocalTransaction/SIMREG1?CRITERIA=(TRANID=PAYT)"
    host.engine.outside(lambda: region.execute("START TRANSID('PAYT') INTERVAL(1000) REQID('LATER')")).result()
    refused = cmci.ask(place, "DELETE")
    assert (refused.codes, refused.feedback[0]["resp2"]) == (("TABLEERROR", "DATAERROR"), "14")
    host.engine.outside(lambda: region.execute("CANCEL REQID('LATER')")).result()
    assert cmci.ask(place, "PUT", action("DISCARD")).codes == ("OK", "")
    assert cmci.ask(place).codes == ("NODATA", "")


@pytest.mark.parametrize(
    ("path", "method", "body", "codes"),
    [
        (PAYQ, "PUT", action("OPEN"), ("INVALIDPARM", "ACTION")),
        (PAYQ, "PUT", action("disable"), ("INVALIDPARM", "ACTION")),
        (PAYQ, "PUT", action("UPDATE"), ("INVALIDPARM", "ACTION")),
        (PAYQ, "PUT", action("DISABLE", '<parameter name="X"/>'), ("INVALIDPARM", "ACTIONPARM")),
        (PAYQ, "PUT", update('NUMITEMS="3"'), ("TABLEERROR", "INVALIDATTR")),
        (PAYQ, "PUT", update('NOPE="3"'), ("TABLEERROR", "INVALIDATTR")),
        (PAYQ, "PUT", update('TRIGGERLEVEL="many"'), ("TABLEERROR", "DATAERROR")),
        (PAYQ, "PUT", update('TRIGGERLEVEL="99999"'), ("TABLEERROR", "DATAERROR")),
        (PAYQ, "PUT", update('ATIFACILITY="BAD"'), ("TABLEERROR", "DATAERROR")),
        ("CICSGlobalTDQueueStatistics/SIMREG1", "DELETE", None, ("INVALIDPARM", "ACTION")),
        ("CICSTask/SIMREG1", "POST", "<request><create><attributes A='1'/></create></request>", ("INVALIDPARM", "ACTION")),
        (f"{INTRA}?CRITERIA=(TDQUEUE=NONE)", "PUT", action("DISABLE"), ("NODATA", "")),
        (f"{INTRA}?CRITERIA=(TDQUEUE=)", "DELETE", None, ("INVALIDPARM", "CRITERIA")),
        ("CICSIntrapartitionTDQueue/NOREGION", "DELETE", None, ("INVALIDPARM", "CONTEXT")),
        ("CICSIntrapartitionTDQueue/TDQPLEX/NOREGION", "DELETE", None, ("INVALIDPARM", "SCOPE")),
    ],
)  # fmt: skip
def test_what_cannot_be_done_changes_nothing(cmci, path, method, body, codes):
    before = cmci.ask(INTRA).records
    assert cmci.ask(path, method, body).codes == codes
    assert cmci.ask(INTRA).records == before


@pytest.fixture
def people():
    """EYES may look, HANDS may operate; the policy of the region gives both READ to ORDQ alone."""
    policy = AccessList({"EYES": {"ORDQ": Access.READ}, "HANDS": {"ORDQ": Access.READ}})
    host = Host(frozen=True)
    host.add(
        Region,
        DEFINITIONS,
        applid="SIMREG1",
        security=SecurityOptions(policy=policy, ressec="ALWAYS"),
        supplied_queues=False,
    )
    users = Users(
        User(name, frozenset({role}), password=secret())
        for name, role in (("EYES", Role.look), ("HANDS", Role.operate))
    )
    with served(host, users) as client:
        yield Cmci(client)
    host.stop()


def test_roles_and_the_policy_of_the_region_decide(people):
    assert people.ask(INTRA, auth=("EYES", "Secret1pw")).names == ["ORDQ"]  # from now on by the cookie
    assert people.ask(INTRA, "PUT", action("DISABLE"), auth=None).codes == ("NOTPERMIT", "USRID")
    assert people.ask(f"{INTRA}?CRITERIA=(TDQUEUE=PAYQ)", auth=None).codes == ("NODATA", "")
    people.client.cookies.clear()
    refused = people.ask(INTRA, "PUT", action("DISABLE"), auth=("HANDS", "Secret1pw"))
    assert (refused.codes, refused.feedback[0]["resp_alt"]) == (("NOTPERMIT", "USRID"), "NOTAUTH")
