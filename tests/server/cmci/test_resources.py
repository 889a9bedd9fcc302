"""The resources of the management interface: requests as real clients send them, and the whole of an answer."""

from __future__ import annotations

import pytest

from tdqsim import Region, define_tdqueue
from tests.server.cmci.conftest import DEFINITIONS, Cmci, served

INTRA = "CICSIntrapartitionTDQueue"
ORDQ = """<?xml version="1.0" encoding="UTF-8"?>
<response xmlns="http://www.ibm.com/xmlns/prod/CICS/smw2int" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.ibm.com/xmlns/prod/CICS/smw2int http://127.0.0.1:80/CICSSystemManagement/schema/CICSSystemManagement.xsd" version="3.0" connect_version="0620">
<resultsummary api_response1="1024" api_response2="0" api_response1_alt="OK" api_response2_alt="" recordcount="1" displayed_recordcount="1"/>
<records>
<cicsintrapartitiontdqueue _keydata="D6D9C4D8" atifacility="TERMINAL" atitermid="ORDQ" atitranid="" atiuserid="" basdefinever="0" changeagent="CSDBATCH" changeagrel="0750" changetime="2027-06-01T12:00:00.000000+00:00" changeusrid="CICSRGN" definesource="GRP1" definetime="2027-06-01T12:00:00.000000+00:00" enablestatus="ENABLED" eyu_cicsname="SIMREG1" eyu_cicsrel="E750" eyu_reserved="" indoubt="REJECT" indoubtwait="WAIT" installagent="GRPLIST" installtime="2027-06-01T12:00:00.000000+00:00" installusrid="CICSRGN" numitems="2" outcnt="2" recovstatus="LOGICAL" tdqueue="ORDQ" triggerlevel="0"/>
</records>
</response>
"""


@pytest.fixture
def plex(host):
    """Two regions in a plex, the second with another queue."""
    host.add(Region, [define_tdqueue(name="BNKQ", type="INTRA")], applid="SIMREG2", sysid="BNK1", supplied_queues=False)
    with served(host) as client:
        yield Cmci(client)


def test_the_whole_answer_for_a_queue(cmci, host, region):
    def write():
        for text in ("one", "two"):
            region.writeq_td("ORDQ", region.encode(text))

    host.engine.submit(write).result()
    assert cmci.ask(f"{INTRA}/SIMREG1?CRITERIA=(TDQUEUE%3DORDQ)").text == ORDQ


@pytest.mark.parametrize(
    ("request_line", "names"),
    [
        (f"{INTRA}/SIMREG1", ["ORDQ", "PAYQ"]),
        (f"{INTRA}/SIMREG1?CRITERIA=(TDQUEUE%3DORDQ)", ["ORDQ"]),
        (f"{INTRA}/TDQPLEX/SIMREG1?CRITERIA=(TDQUEUE%3DORDQ)&PARAMETER=CSDGROUP(GRP1)", ["ORDQ"]),
        (f"{INTRA.lower()}/SIMREG1/?CRITERIA=%28tdqueue%3D%27ORDQ%27%29", ["ORDQ"]),
        (f"{INTRA}/simreg1///1", ["ORDQ"]),
        (f"{INTRA}/TDQPLEX/SIMREG1//-1", ["PAYQ"]),
        ("CICSExtrapartitionTDQueue/SIMREG1/", ["PAYL"]),
        ("CICSIndirectTDQueue/SIMREG1/", ["PAYX"]),
        ("CICSRemoteTDQueue/SIMREG1/", ["BANK"]),
    ],
)
def test_requests_as_zowe_and_ansible_send_them(cmci, request_line, names):
    answer = cmci.ask(request_line)
    assert (answer.status, answer.codes, answer.names) == (200, ("OK", ""), names)


def test_what_each_kind_of_queue_has(cmci):
    (extra,) = cmci.ask("CICSExtrapartitionTDQueue/SIMREG1").records
    assert (extra["openstatus"], extra["iotype"], extra["recordlength"], extra["ddname"]) == (
        "CLOSED", "NOTAPPLIC", "84", "PAYL"
    )  # fmt: skip
    (alias,) = cmci.ask("CICSIndirectTDQueue/SIMREG1").records
    assert (alias["indirectname"], alias["indirecttype"]) == ("PAYQ", "INTRA")
    (remote,) = cmci.ask("CICSRemoteTDQueue/SIMREG1").records
    assert (remote["remotename"], remote["remotesystem"]) == ("PAYQ", "BNK1")
    (total,) = cmci.ask("CICSGlobalTDQueueStatistics/SIMREG1").records
    assert (total["cisize"], total["eyu_cicsname"], total["_keydata"]) == ("4096", "SIMREG1", "")


def test_what_scripts_look_at_beside_queues(cmci, host, region):
    (local,) = cmci.ask("CICSLocalTransaction/SIMREG1").records
    assert (local["tranid"], local["program"], local["status"], local["_keydata"]) == (
        "PAYT", "PAYP", "ENABLED", "D7C1E8E3"
    )  # fmt: skip
    (remote,) = cmci.ask("CICSRemoteTransaction/SIMREG1").records
    assert (remote["tranid"], remote["remotesystem"]) == ("FARQ", "BNK1")
    (about,) = cmci.ask("CICSRegion/SIMREG1").records
    assert (about["applid"], about["cicsstatus"], about["startup"]) == ("SIMREG1", "ACTIVE", "COLDSTART")

    def waits(task):
        task.writeq_td("ORDQ", region.encode("held"))
        task.delay(interval=100)

    assert cmci.ask("CICSTask/SIMREG1").codes == ("NODATA", "")
    host.engine.outside(lambda: region.start(waits)).result()
    (task,) = cmci.ask("CICSTask/SIMREG1").records
    assert (task["runstatus"], task["suspendtype"], task["suspendtime"]) == ("SUSPENDED", "ICWAIT", "000:00:00.000000")
    assert cmci.ask(f"CICSTask/SIMREG1?CRITERIA=(TASK={task['task']})").records == [task]
    (unit,) = cmci.ask("CICSUOW/SIMREG1").records
    assert (unit["uowstate"], unit["taskid"], len(unit["uowid"])) == ("INFLIGHT", task["task"], 32)
    assert cmci.ask("CICSUnitOfWork/SIMREG1").records == [unit]
    (held,) = cmci.ask("CICSUOWEnqueue/SIMREG1").records
    assert (held["resource"], held["qualifier"], held["relation"]) == ("ORDQ", "TOQ", "OWNER")


def test_a_look_starts_no_task(cmci, host, region):
    def number():
        with region.task() as task:
            return task.eib.eibtaskn

    before = host.engine.submit(number).result()
    for name in (INTRA, "CICSTask", "CICSLocalTransaction", "CICSGlobalTDQueueStatistics"):
        assert cmci.ask(f"{name}/SIMREG1").status == 200
    assert host.engine.submit(number).result() == before + 1


def test_a_plex_is_all_regions(plex):
    queues = plex.ask(f"{INTRA}/TDQPLEX").records
    assert [(each["eyu_cicsname"], each["tdqueue"]) for each in queues] == [
        ("SIMREG2", "BNKQ"), ("SIMREG1", "ORDQ"), ("SIMREG1", "PAYQ")
    ]  # fmt: skip
    assert plex.ask(f"{INTRA}/TDQPLEX/TDQPLEX").names == plex.ask(f"{INTRA}/TDQPLEX/").names
    assert plex.ask(f"{INTRA}/TDQPLEX/SIMREG2").names == plex.ask(f"{INTRA}/SIMREG2/SIMREG2").names == ["BNKQ"]
    regions = plex.ask("CICSManagedRegion/TDQPLEX").records
    assert [(each["cicsname"], each["cicsstate"]) for each in regions] == [("SIMREG1", "ACTIVE"), ("SIMREG2", "ACTIVE")]
    assert plex.ask("CICSCICSPlex/?SUMMONLY&NODISCARD").summary["recordcount"] == "1"


def test_a_region_that_has_ended_is_not_available(plex, host, region):
    host.engine.outside(region.close).result()
    assert plex.ask(f"{INTRA}/SIMREG1").codes == ("NOTAVAILABLE", "SCOPE")
    assert plex.ask(f"{INTRA}/TDQPLEX").names == ["BNKQ"]


def test_the_definitions_of_the_tests_have_each_kind():
    assert {each.type for each in DEFINITIONS if each.kind == "TDQUEUE" and each.type} == {"INTRA", "EXTRA", "INDIRECT"}
