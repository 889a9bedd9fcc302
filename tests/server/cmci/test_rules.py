"""The rules of the management interface: names of resources that no page shows, and which code answers what."""

from __future__ import annotations

import pytest

from tdqsim import define_connection
from tdqsim.server.servefile import Cmci as Settings
from tdqsim.server.users import Role, User
from tests.rules import rule
from tests.server.cmci.conftest import ROOT, Cmci, served

INTRA = "CICSIntrapartitionTDQueue/SIMREG1"
CREATE = '<request><create><parameter name="CSD"/><attributes {}/></create></request>'


@pytest.mark.rule("CMCI-NAME-INDTDQ", "CMCI-NAME-TDQDEF", "CMCI-NAME-CONNDEF", "CMCI-NAME-CONNECT", "CMCI-NAME-UOW")
def test_names_of_resources(cmci, host, region):
    def held(task):
        task.writeq_td("ORDQ", region.encode("held"))
        task.delay(interval=100)

    host.engine.outside(lambda: region.start(held)).result()
    host.engine.submit(lambda: region.install([define_connection(name="BNK1", netname="BANKREGN")])).result()

    def first(rule_id):
        return cmci.ask(f"{rule(rule_id).message}/SIMREG1").records[0]

    def made(rule_id, attributes):
        return cmci.ask(f"{rule(rule_id).message}/SIMREG1", "POST", CREATE.format(attributes)).records[0]

    assert first("CMCI-NAME-INDTDQ")["indirectname"] == "PAYQ"
    assert first("CMCI-NAME-CONNECT")["netname"] == "BANKREGN"
    assert first("CMCI-NAME-UOW")["uowstate"] == "INFLIGHT"
    assert made("CMCI-NAME-TDQDEF", 'name="NEWQ" csdgroup="G" tdqtype="INTRA"')["tdqtype"] == "INTRA"
    assert made("CMCI-NAME-CONNDEF", 'name="FAR1" csdgroup="G" netname="FARREGN"')["netname"] == "FARREGN"


ACTION = '<request><action name="{}"/></request>'
OUTCOMES = [
    ("CMCI-CONTEXT", "CICSTask/NOWHERE", "GET", None),
    ("CMCI-SCOPE", "CICSTask/TDQPLEX/NOWHERE", "GET", None),
    ("CMCI-CRITERIA", f"{INTRA}?CRITERIA=(NOPE=1)", "GET", None),
    ("CMCI-ORDERBY", f"{INTRA}?ORDERBY=NOPE", "GET", None),
    ("CMCI-PARAMETER", f"{INTRA}?PARAMETER=(", "GET", None),
    ("CMCI-PARAMETER", "CICSDefinitionTDQueue/SIMREG1", "DELETE", None),
    ("CMCI-ACTION", INTRA, "PUT", ACTION.format("OPEN")),
    ("CMCI-ACTION-PARAMETER", "CICSDefinitionTDQueue/SIMREG1?PARAMETER=CSDGROUP(G)", "PUT", ACTION.format("CSDCOPY")),
    ("CMCI-ATTRIBUTE", INTRA, "PUT", '<request><update><attributes NUMITEMS="1"/></update></request>'),
    ("CMCI-NODATA", f"{INTRA}?CRITERIA=(TDQUEUE=NONE)", "GET", None),
    ("CMCI-REFUSED", INTRA, "DELETE", None),
]


@pytest.mark.rule(
    "CMCI-CONTEXT", "CMCI-SCOPE", "CMCI-CRITERIA", "CMCI-ORDERBY", "CMCI-PARAMETER", "CMCI-ACTION", "CMCI-ACTION-PARAMETER",
    "CMCI-ATTRIBUTE", "CMCI-NODATA", "CMCI-REFUSED",
)  # fmt: skip
@pytest.mark.parametrize(("rule_id", "path", "method", "body"), OUTCOMES)
def test_response_and_reason(cmci, rule_id, path, method, body):
    assert " ".join(cmci.ask(path, method, body).codes).strip() == rule(rule_id).message


@pytest.mark.rule("CMCI-UNKNOWN-RESOURCE", "CMCI-UNKNOWN-TOKEN")
def test_messages(cmci):
    assert cmci.ask("CICSNope/SIMREG1").message == rule("CMCI-UNKNOWN-RESOURCE").message
    assert cmci.ask("CICSResultCache/0123").message == rule("CMCI-UNKNOWN-TOKEN").message


@pytest.mark.rule("CMCI-NOT-PERMITTED", "CMCI-WARNING-COUNT", "CMCI-REGION-ENDED")
def test_what_depends_on_the_server(host, region):
    with served(host, cmci=Settings(warning_count=1)) as client:
        cmci = Cmci(client)
        warned = cmci.ask(INTRA)
        assert (warned.status, warned.message) == (403, "DFHWU4033")
        assert f'<errorInfo name="{rule("CMCI-WARNING-COUNT").message}">yes</errorInfo>' in warned.text
        gate = client.app.state.access
        token, _session = gate.sessions.begin("EYES", cookie=False)
        gate.users = {"EYES": User("EYES", frozenset({Role.look}))}
        answer = client.delete(f"{ROOT}/{INTRA}", headers={"Authorization": f"Bearer {token}"})
        assert "NOTPERMIT" in answer.text
        response, reason = rule("CMCI-NOT-PERMITTED").message.split()
        assert f'api_response1_alt="{response}" api_response2_alt="{reason}"' in answer.text
        gate.users = None
        host.engine.outside(region.close).result()
        assert " ".join(cmci.ask(INTRA).codes) == rule("CMCI-REGION-ENDED").message
