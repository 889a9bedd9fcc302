"""Definitions in the CSD by the management interface: create, update, remove, CSDINSTALL, CSDCOPY, lists of groups."""

from __future__ import annotations

import pytest

from tests.bench._instructions import Counting

TDQ = "CICSDefinitionTDQueue/SIMREG1"
NEWQ = '<request><create><parameter name="CSD"/><attributes {}/></create></request>'
INSTALL = '<request><action name="CSDINSTALL"/></request>'


def created(cmci, attributes, kind="CICSDefinitionTDQueue"):
    return cmci.ask(f"{kind}/SIMREG1", "POST", NEWQ.format(attributes))


@pytest.fixture
def newq(cmci):
    """A definition NEWQ in group G."""
    answer = created(
        cmci, 'name="NEWQ" csdgroup="G" tdqtype="INTRA" transid="PAYT" atifacility="FILE" triggerlevel="7"'
    )
    assert answer.codes == ("OK", "")
    return answer.records[0]


def test_a_definition_has_its_signature(newq):
    shown = ("name", "csdgroup", "tdqtype", "triggerlevel", "atifacility", "changeagent", "changeusrid", "changetime")
    assert [newq[each] for each in shown] == [
        "NEWQ", "G", "INTRA", "7", "FILE", "CSDAPI", "CICSUSER", "2027-06-01T12:00:00.000000+00:00"
    ]  # fmt: skip
    assert newq["_keydata"] == "D5C5E6D840404040" + "F0" + "C740404040404040"


def test_an_installed_definition_is_a_queue(cmci, newq):
    done = cmci.ask(f"{TDQ}?CRITERIA=(NAME%3DNEWQ)&PARAMETER=CSDGROUP(G)", "PUT", INSTALL)
    assert (done.codes, done.summary["successcount"]) == (("OK", ""), "1")
    (queue,) = cmci.ask("CICSIntrapartitionTDQueue/SIMREG1?CRITERIA=(TDQUEUE=NEWQ)").records
    assert [queue[each] for each in ("triggerlevel", "definesource", "changeagent", "installagent")] == [
        "7", "G", "CSDAPI", "CSDAPI"
    ]  # fmt: skip


def test_an_installation_that_is_refused_has_install_errors(cmci, newq):
    created(cmci, 'name="ORDQ" csdgroup="G" tdqtype="EXTRA"')
    refused = cmci.ask(f"{TDQ}?PARAMETER=CSDGROUP(G)", "PUT", INSTALL)
    assert (refused.codes, refused.summary["successcount"]) == (("TABLEERROR", "DATAERROR"), "1")
    (feedback,) = refused.feedback
    assert [feedback[each] for each in ("action", "eibfn_alt", "resp_alt", "resp2")] == [
        "CSDINSTALL", "CSD INSTALL", "INVREQ", "500"
    ]  # fmt: skip
    assert '<installerror eyu_cicsname="SIMREG1" resourcename="ORDQ" resourceversion="0"' in refused.text
    assert cmci.queues("TDQUEUE=NEWQ") == ["NEWQ"]


def test_a_definition_is_updated_and_removed(cmci, newq):
    place = f"{TDQ}?CRITERIA=(NAME=NEWQ)&PARAMETER=CSDGROUP(G)"
    body = '<request><update><parameter name="CSD"/><attributes TRIGGERLEVEL="9" description="new"/></update></request>'
    (changed,) = cmci.ask(place, "PUT", body).records
    assert (changed["triggerlevel"], changed["description"]) == ("9", "new")
    assert cmci.ask(place, "DELETE").records == [changed]
    assert cmci.ask(place).codes == ("NODATA", "")


@pytest.mark.parametrize(
    ("attributes", "codes", "feedback"),
    [
        ('name="NEWQ" csdgroup="G" tdqtype="INTRA"', ("TABLEERROR", "DATAERROR"), ("resp_alt", "DUPRES")),
        ('name="TOOLONG" csdgroup="G" tdqtype="INTRA"', ("TABLEERROR", "DATAERROR"), ("attribute1", "NAME")),
        ('name="X" csdgroup="G" tdqtype="INTRA" triggerlevel="-1"', ("TABLEERROR", "DATAERROR"), ("attribute1", "TRIGGERLEVEL")),
        ('name="X" csdgroup="G" tdqtype="INTRA" nope="1"', ("TABLEERROR", "DATAERROR"), ("attribute1", "NOPE")),
        ('name="X" csdgroup="DFHX" tdqtype="INTRA"', ("TABLEERROR", "DATAERROR"), ("resp_alt", "LOCKED")),
        ('name="X" csdgroup="" tdqtype="INTRA"', ("TABLEERROR", "DATAERROR"), ("resp_alt", "INVREQ")),
        ('name="X" csdgroup="G" handler="os:system"', ("TABLEERROR", "INVALIDATTR"), ("attribute1", "HANDLER")),
        ('name="X" csdgroup="G" kind="1"', ("TABLEERROR", "INVALIDATTR"), ("attribute1", "KIND")),
    ],
)  # fmt: skip
def test_a_definition_that_is_refused_says_why(cmci, newq, attributes, codes, feedback):
    answer = created(cmci, attributes)
    assert answer.codes == codes
    name, value = feedback
    assert answer.feedback[0][name] == value
    assert answer.feedback[0]["errorcode"] == {"resp_alt": "0", "attribute1": "1"}[name]
    assert cmci.ask(f"{TDQ}?PARAMETER=CSDGROUP(G)").summary["recordcount"] == "1"


def test_a_remote_queue_has_no_type(cmci):
    (made,) = created(cmci, 'name="FAR1" csdgroup="G" tdqtype="REMOTE" remotesystem="BNK1"').records
    assert (made["tdqtype"], made["remotesystem"], made["triggerlevel"]) == ("REMOTE", "BNK1", "N/A")


def test_definitions_beside_queues(cmci):
    created(cmci, 'name="NEWT" program="NEWP" csdgroup="G"', "CICSDefinitionTransaction")
    created(cmci, 'name="NEWP" csdgroup="G"', "CICSDefinitionProgram")
    created(cmci, 'name="BNK1" csdgroup="G" netname="BANKREGN"', "CICSDefinitionISCMROConnection")
    (found,) = cmci.ask("CICSDefinitionTransaction/SIMREG1?PARAMETER=CSDGROUP(G*)").records
    assert (found["name"], found["program"]) == ("NEWT", "NEWP")
    assert cmci.ask("CICSDefinitionProgram/SIMREG1?CRITERIA=(NAME=NEWP)").summary["recordcount"] == "1"
    assert cmci.ask("CICSDefinitionISCMROConnection/SIMREG1").records[0]["netname"] == "BANKREGN"


def test_csdcopy(cmci, newq):
    body = '<request><action name="CSDCOPY"><parameter name="TO_CSDGROUP" value="H"/>{}</action></request>'
    place = f"{TDQ}?CRITERIA=(NAME=NEWQ)&PARAMETER=CSDGROUP(G)"
    assert cmci.ask(place, "PUT", body.format('<parameter name="AS_RESOURCE" value="COPY"/>')).codes == ("OK", "")
    assert [each["name"] for each in cmci.ask(f"{TDQ}?PARAMETER=CSDGROUP(H)").records] == ["COPY"]
    assert cmci.ask(place, "PUT", body.format("")).codes == ("OK", "")
    again = cmci.ask(place, "PUT", body.format('<parameter name="DUPACTION" value="DUPERROR"/>'))
    assert (again.codes, again.feedback[0]["resp_alt"]) == (("TABLEERROR", "DATAERROR"), "DUPRES")


def test_groups_in_lists_as_zowe_changes_them(cmci, newq):
    add = '<request><action name="CSDADD"><parameter name="TO_CSDLIST" value="LIST1"/></action></request>'
    assert cmci.ask("CICSCSDGroup/SIMREG1?CRITERIA=(NAME%3D%3D'G')", "PUT", add).codes == ("OK", "")
    place = "CICSCSDGroupInList/SIMREG1?CRITERIA=(CSDLIST%3D%3D'LIST1')%20AND%20(CSDGROUP%3D%3D'G')"
    assert cmci.ask(place).records == [
        {"_keydata": "D3C9E2E3F1404040C740404040404040", "csdlist": "LIST1", "csdgroup": "G"}
    ]
    assert cmci.ask(place, "DELETE").codes == ("OK", "")
    assert cmci.ask(place).codes == ("NODATA", "")


@pytest.mark.parametrize(
    ("path", "method", "body", "codes"),
    [
        (TDQ, "PUT", INSTALL, ("INVALIDPARM", "PARM")),
        (TDQ, "DELETE", None, ("INVALIDPARM", "PARM")),
        (TDQ, "POST", '<request><create><attributes name="X" csdgroup="G"/></create></request>', ("INVALIDPARM", "PARM")),
        (f"{TDQ}?PARAMETER=CSDGROUP(G)", "PUT", '<request><action name="ADDTOGRP"/></request>', ("INVALIDPARM", "ACTION")),
        (f"{TDQ}?PARAMETER=CSDGROUP(G)", "PUT", '<request><action name="CSDCOPY"/></request>', ("INVALIDPARM", "ACTIONPARM")),
    ],
)  # fmt: skip
def test_requests_for_definitions_that_are_not_valid(cmci, newq, path, method, body, codes):
    assert cmci.ask(path, method, body).codes == codes


def instructions_for_each_of(cmci, host, first, last):
    """Instructions of the engine for one of so many more groups, each added to a list and removed from it."""
    csd = host.regions["SIMREG1"].csd
    for number in range(first, last):
        host.engine.outside(
            lambda number=number: csd.define("TDQUEUE", "HQ", group=f"H{number}", type="INTRA")
        ).result()
    counting = Counting()
    host.engine.outside(counting.__enter__).result()
    add = '<request><action name="CSDADD"><parameter name="TO_CSDLIST" value="LIST1"/></action></request>'
    added = cmci.ask("CICSCSDGroup/SIMREG1?CRITERIA=(NAME%3DH*)", "PUT", add)
    removed = cmci.ask("CICSCSDGroupInList/SIMREG1?CRITERIA=(CSDLIST%3DLIST1)", "DELETE")
    host.engine.outside(counting.__exit__).result()
    assert (added.summary["recordcount"], removed.summary["successcount"]) == (str(last), str(last))
    return counting.of_one(last)


def test_each_of_many_groups_costs_as_much_as_each_of_a_few(cmci, host):
    few = instructions_for_each_of(cmci, host, 0, 10)
    assert instructions_for_each_of(cmci, host, 10, 60) < 1.3 * few
