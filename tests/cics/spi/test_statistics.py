from __future__ import annotations

import json

import pytest

from tdqsim import SecurityOptions
from tdqsim.cics import Access, AccessList, Sysplex
from tdqsim.definitions import define_connection, define_tdqueue
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda, Resp
from tests.cics.spi.helpers import condition, region
from tests.rules import expect_rule


@pytest.fixture
def reg(tmp_path):
    with region(tmp_path, dfhintra={"ci_size": 512, "control_intervals": 4}) as made:
        yield made


def counts(reg, name):
    record = reg.extract_statistics(name)
    return tuple(record[field] for field in ("writes", "reads", "deletes", "items", "peak_items", "triggers"))


@pytest.mark.rule("STATS-COUNTS", "STATS-PEAKS", "STATS-RESET")
def test_counts_and_peaks_and_their_reset(reg):
    for _ in range(5):
        reg.writeq_td("PAYQ", b"x" * 200)
    for _ in range(3):
        reg.readq_td("PAYQ")
    assert counts(reg, "PAYQ") == (5, 3, 0, 2, 5, 0)
    record = reg.extract_statistics("PAYQ")
    assert (record["cis_in_use"], record["peak_cis"]) == (2, 3)
    assert reg.extract_statistics()["formatting_writes"] == 3
    reg.perform_statistics(resetnow=True)
    assert counts(reg, "PAYQ") == (0, 0, 0, 2, 2, 0)
    assert reg.extract_statistics()["formatting_writes"] == 0
    reg.deleteq_td("PAYQ")
    record = reg.extract_statistics("PAYQ")
    assert (record["cis_in_use"], record["peak_cis"]) == (0, 2)
    assert counts(reg, "PAYQ") == (0, 0, 1, 0, 2, 0)


def test_a_queue_that_is_discarded_gives_its_control_intervals_back(reg):
    for _ in range(2):
        reg.writeq_td("PAYQ", b"x" * 400)
    reg.set_tdqueue("PAYQ", enablestatus="DISABLED")
    reg.discard_tdqueue("PAYQ")
    reg.writeq_td("TERQ", b"x")
    total = reg.extract_statistics()
    assert (total["cis_in_use"], total["peak_cis"], total["formatting_writes"]) == (1, 2, 2)


@pytest.mark.parametrize("recovstatus", ["NO", "PHYSICAL"])  # its records stay where they are, or move
def test_a_queue_that_is_replaced_has_its_control_intervals_once(reg, recovstatus):
    for _ in range(2):
        reg.writeq_td("PAYQ", b"x" * 400)
    reg.set_tdqueue("PAYQ", enablestatus="DISABLED")
    reg.install([define_tdqueue(name="PAYQ", type="INTRA", recovstatus=recovstatus)])
    reg.writeq_td("TERQ", b"x" * 400)
    total = reg.extract_statistics()
    assert (total["cis_in_use"], total["peak_cis"]) == (3, 3)
    reg.deleteq_td("PAYQ")
    assert reg.extract_statistics()["cis_in_use"] == 1


@pytest.mark.rule("STATS-PEAKS")
@pytest.mark.parametrize("name", ["PAYQ", "PHYQ", "LOGQ"])
def test_the_peak_of_a_queue_that_was_emptied_is_kept_whatever_its_recovstatus(reg, name):
    reg.install([define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")])
    for written in ([b"one", b"two", b"three"], [b"one"]):
        for record in written:
            reg.writeq_td(name, record)
        for _ in written:
            reg.readq_td(name)
        assert reg.extract_statistics(name)["peak_items"] == 3


@pytest.mark.rule("STATS-PEAKS")
@pytest.mark.parametrize("name", ["PAYQ", "PHYQ", "LOGQ"])
@pytest.mark.parametrize("reads", [2, 3])
def test_control_intervals_are_free_when_their_last_record_is_read_and_the_queue_at_qzero(reg, name, reads):
    """Two records fill one of 512 bytes: of three records two fill the first, and the third is alone."""
    reg.install([define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")])
    for _ in range(3):
        reg.writeq_td(name, b"x" * 200)
    assert reg.extract_statistics()["peak_cis"] == 2
    for _ in range(reads):
        reg.readq_td(name)
    if reads == 3:
        assert condition(reg.readq_td, name)[0] is Resp.QZERO
    for _ in range(5 - reads):
        reg.writeq_td("TERQ", b"x" * 400)
        if reads == 2:
            break
    assert reg.extract_statistics()["peak_cis"] == 2


@pytest.mark.rule("STATS-FAILED-REQUESTS")
def test_requests_that_failed_in_another_region_are_not_counted_here():
    there = [define_connection(name="HERE"), define_tdqueue(name="FARQ", type="INTRA")]
    with Sysplex() as sysplex:
        remote = define_tdqueue(name="REMQ", remotesystem="FAR", remotename="FARQ")
        reg = sysplex.region([define_connection(name="FAR"), remote], applid="HERE", sysid="HERE")
        sysplex.region(there, applid="FAR", sysid="FAR")
        assert condition(reg.readq_td, "REMQ")[0] is Resp.QZERO
        assert condition(reg.writeq_td, "REMQ", b"")[0] is Resp.LENGERR
        assert counts(reg, "REMQ")[:3] == (0, 0, 0)
        reg.writeq_td("REMQ", b"x")
        assert reg.readq_td("REMQ") == b"x"
        assert counts(reg, "REMQ")[:3] == (1, 1, 0)


@pytest.mark.rule("STATS-TRIGGERS")
def test_trigger_tasks_are_counted(reg):
    reg.register("PAYP", lambda task: [task.readq_td("PAYQ", nohandle=True) for _ in range(3)])
    reg.set_tdqueue("PAYQ", triggerlevel=2)
    for _ in range(4):
        reg.writeq_td("PAYQ", b"x")
        reg.run()
    reg.deleteq_td("PAYQ")
    assert counts(reg, "PAYQ") == (4, 4, 1, 0, 2, 2)
    reg.perform_statistics(resetnow=True)
    assert counts(reg, "PAYQ") == (0, 0, 0, 0, 0, 0)


@pytest.mark.rule("STATS-QUEUE-IMAGE")
def test_the_bytes_of_a_queue_s_record(reg):
    for _ in range(2):
        reg.writeq_td("TERQ", b"x")
    reg.readq_td("TERQ")
    image = reg.extract_statistics("TERQ").image(reg.options.code_page)
    assert int.from_bytes(image[0:2], "big") == len(image)
    assert int.from_bytes(image[2:4], "big") == 42
    assert image[8:12] == "TERQ".encode("cp037")
    assert image[0x0C] == 2
    assert [int.from_bytes(image[at : at + 4], "big") for at in (0x10, 0x14, 0x18)] == [2, 1, 0]
    assert int.from_bytes(image[0x1C:0x1E], "big") == 20
    assert image[0x20:0x24] == "T001".encode("cp037")
    assert image[0x28:0x2C] == "PAYP".encode("cp037")
    assert int.from_bytes(image[0x38:0x3C], "big") == 1
    assert int.from_bytes(image[-4:], "big") == 2  # TQRPNITM, the last field


@pytest.mark.parametrize("name", ["PAYQ", "TERQ", "PHYQ", "EXTO", "SYSO", "ALIA", "REMQ"])
def test_every_type_has_a_record_with_its_definition(reg, name):
    record = reg.extract_statistics(name)
    types = {"PAYQ": "INTRA", "EXTO": "EXTRA", "SYSO": "EXTRA", "ALIA": "INDIRECT", "REMQ": "REMOTE"}
    assert record["type"] == types.get(name, "INTRA")
    assert record["installagent"] is Cvda.GRPLIST
    fields = dict(record.fields())
    assert fields["TQRQID"] == name
    assert len(record.image(reg.options.code_page)) == fields["TQRLEN"]
    assert (record["indirectname"], record["remotename"], record["dsname"], record["member"]) == (
        "PAYQ" if name == "ALIA" else "",
        "FARQ" if name == "REMQ" else "",
        "PAY.OUT" if name == "EXTO" else "",
        "MEMB" if name == "EXTO" else "",
    )
    with pytest.raises(KeyError):
        _ = record["nothing"]


def test_waitaction_is_of_a_queue_that_waits(reg):
    reg.install([define_tdqueue(name="NOWT", type="INTRA", wait="NO"), define_tdqueue(name="WAIT", type="INTRA")])
    shown = [(record["wait"], record["waitaction"]) for record in map(reg.extract_statistics, ("NOWT", "WAIT"))]
    assert shown == [("NO", ""), ("YES", "REJECT")]


def test_the_bytes_of_the_global_record(reg):
    image = reg.extract_statistics().image(reg.options.code_page)
    assert int.from_bytes(image[0:2], "big") == len(image)


@pytest.mark.rule("STATS-NOTFND")
def test_an_unknown_queue(reg):
    expect_rule("STATS-NOTFND", reg.extract_statistics, "NOQ")
    with pytest.raises(TdqError):
        reg.extract_statistics("PAYQ", tdqueue=False)
    with pytest.raises(TdqError):
        reg.perform_statistics(record=False)


def test_security():
    policy = AccessList(
        queues={"CICSUSER": {"PAYQ": Access.READ}},
        commands={"CICSUSER": {"STATISTICS": Access.READ, "*": Access.ALTER}},
    )
    with region(security=SecurityOptions(policy=policy, cmdsec="ALWAYS", ressec="ALWAYS")) as reg:
        assert reg.extract_statistics("PAYQ")["writes"] == 0
        assert condition(reg.extract_statistics, "PHYQ") == (Resp.NOTAUTH, 101)
        assert condition(reg.perform_statistics) == (Resp.NOTAUTH, 100)


@pytest.mark.rule("STATS-AS-TEXT")
def test_extract_statistics_as_text(reg):
    host = {}
    reg.execute("EXTRACT STATISTICS TDQUEUE RESID('PAYQ') SET(P)", host)
    assert host["P"] == reg.extract_statistics("PAYQ").image(reg.options.code_page)
    reg.execute("EXTRACT STATISTICS TDQUEUE SET(P)", host)
    assert host["P"] == reg.extract_statistics().image(reg.options.code_page)
    reg.execute("PERFORM STATISTICS RECORD TDQUEUE RESETNOW")
    assert len(reg.statistics.collections) == 1


@pytest.mark.rule("STATS-INTERVAL")
def test_an_interval_writes_and_resets(reg):
    reg.statistics.every(3600)
    reg.writeq_td("PAYQ", b"x")
    reg.clock.advance(3599)
    reg.run()
    assert not reg.statistics.collections
    reg.clock.advance(2)
    reg.run()
    (collection,) = reg.statistics.collections
    assert collection.reason == "INTERVAL"
    assert {record["name"]: record["writes"] for record in collection.queues}["PAYQ"] == 1
    assert counts(reg, "PAYQ") == (0, 0, 0, 1, 1, 0)
    reg.clock.advance(100 * 3600)
    reg.run()
    assert len(reg.statistics.collections) == 2  # a jump over many intervals ends one
    reg.statistics.every(0)
    with reg.task() as task:
        assert task.inquire_statistics("RECORDING").recording is Cvda.OFF
    reg.clock.advance(100 * 3600)
    reg.run()
    assert len(reg.statistics.collections) == 2
    with pytest.raises(TdqError):
        reg.statistics.every(-1)


def test_collections_are_json(reg):
    plain = reg.statistics.now().as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert len(plain["queues"]) == len(reg.tdqueues)
    assert not reg.statistics.collections
