"""What is written out reads back as the same: YAML, DEFINE statements, and one through the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.definitions import (
    Definitions,
    define_connection,
    define_dtaq,
    define_program,
    define_tdqueue,
    define_terminal,
    define_transaction,
    dump_definitions,
    export_csd,
    parse_csd,
    parse_csd_listing,
    parse_definitions,
)
from tests.definitions.strategies import all_definitions, csd_definitions


def contents(definitions):
    """Every definition by group and title, with what was given."""
    return {
        (entry.resource.group, entry.resource.title): (entry.resource.attributes(), dict(entry.resource.without_effect))
        for entry in definitions.entries
    }


@given(all_definitions)
def test_yaml(definitions):
    again = parse_definitions(dump_definitions(definitions))
    assert contents(again) == contents(definitions)
    assert sorted(resource.title for resource in again.resources) == sorted(
        resource.title for resource in definitions.resources
    )


def test_yaml_of_definitions_without_a_group():
    """As CREATE and the define functions make them: the text names a group, one that no other definition has."""
    queue, again = define_tdqueue(name="PAYQ", type="INTRA"), define_tdqueue(name="PAYQ", type="INTRA", group="NOGROUP")
    transaction, dtaq = define_transaction(name="PAY1", program="PAYPROG"), define_dtaq(dtaq="PAYLIB/PAYDQ", maxlen=10)
    alone = parse_definitions(dump_definitions(Definitions.of([queue, transaction])))
    assert [(each.group, each.title) for each in alone.resources] == [
        ("NOGROUP", queue.title),
        ("NOGROUP", transaction.title),
    ]
    mixed = parse_definitions(dump_definitions(Definitions.of([queue, again, dtaq, transaction])))
    assert {(entry.resource.group, entry.resource.title) for entry in mixed.entries} == {
        ("NOGROUP1", queue.title),
        ("NOGROUP", queue.title),
        ("", dtaq.title),
        ("NOGROUP1", transaction.title),
    }


@given(csd_definitions)
def test_define_statements(definitions):
    found = parse_csd(export_csd(definitions))
    assert contents(found.definitions) == contents(definitions)
    assert [entry.resource for entry in found.definitions.entries] == [entry.resource for entry in definitions.entries]
    assert not [report for report in found.reports if report.action != "kept"]


@given(csd_definitions)
def test_extract_output(definitions):
    assert contents(parse_csd_listing(export_csd(definitions)).definitions) == contents(definitions)


@given(csd_definitions)
def test_define_statements_fit_their_cards(definitions):
    for line in export_csd(definitions).splitlines():
        assert len(line) <= 72 or len(line) > 80
        assert not line.startswith("*")


@given(csd_definitions)
def test_from_statements_to_yaml_and_back(definitions):
    imported = parse_csd(export_csd(definitions)).definitions
    assert contents(parse_definitions(dump_definitions(imported))) == contents(definitions)


@given(csd_definitions, st.data())
def test_a_deck_that_has_been_through_many_hands(definitions, data):
    """Comments, blank lines, sequence numbers, CR LF and a job around it change nothing."""
    lines = []
    for number, line in enumerate(export_csd(definitions).splitlines(), 1):
        way = data.draw(st.sampled_from(["as it is", "comment", "sequence", "trailing", "blank"]))
        if way == "comment":
            lines.append("* DEFINE TDQUEUE(NO) GROUP(NO) TYPE(INTRA)")
        if way == "sequence" and len(line) <= 72:
            lines.append(f"{line:<72}{number:08}")
        else:
            lines.append(line + "  " * (way == "trailing" and len(line) <= 72))
        if way == "blank" and len(line) < 72:
            lines.append("")
    if data.draw(st.booleans()) and not any(line.startswith("/") for line in lines):
        lines = ["//CSD JOB (1),'A'", "//S EXEC PGM=DFHCSDUP", "//SYSIN DD *", *lines, "/*", "//"]
    text = data.draw(st.sampled_from(["\n", "\r\n"])).join(lines)
    found = parse_csd(text)
    assert contents(found.definitions) == contents(definitions)
    assert not [report for report in found.reports if report.action == "skipped"]


STAMPS = {
    "definetime": "2012-03-20 15:39:56", "changetime": "2099-12-31 23:59:59.000001", "changeusrid": "BOB",
    "changeagent": "DREPAPI", "changeagrel": "0670", "description": "It's all (here), 100% & more; x = 'y'",
}  # fmt: skip
REMOTE = {"remotesystem": "CICB", "remotename": "FAR1", "remotelength": 80}
INTRA = {"type": "INTRA", "name": "PAYQ", "recovstatus": "LOGICAL", "transid": "pa.Y", "triggerlevel": 0, "wait": "YES"}
EXTRA = {
    "type": "EXTRA", "name": "$@#1", "databuffers": 255, "ddname": "PAYIN", "erroroption": "SKIP", "opentime": "DEFERRED",
    "rewind": "REREAD", "recordsize": 80, "blocksize": 800, "recordformat": "FIXED", "blockformat": "BLOCKED",
    "printcontrol": "A", "disposition": "MOD", "jobuserid": "ROBERT",
}  # fmt: skip
FULL = [
    define_tdqueue(group="G", **INTRA, atifacility="TERMINAL", facilityid="L86A", waitaction="QUEUE", **REMOTE, **STAMPS),
    define_tdqueue(group="H", **INTRA, atifacility="FILE", userid="ALICE"),
    define_tdqueue(group="G", **EXTRA, dsname="PAY.LIB(MEMBER)", typefile="RDBACK", **REMOTE, **STAMPS),
    define_tdqueue(group="H", **EXTRA, sysoutclass="*", typefile="OUTPUT"),
    define_tdqueue(group="G", type="INDIRECT", name="CSMT", indirectname="CSSL", **REMOTE, **STAMPS),
    define_tdqueue(group="G", name="FARQ", **REMOTE, **STAMPS),
    define_transaction(
        group="G", name="pAY.", program="PAYPROG", handler="payments:post", status="DISABLED", wait="YES", waittime="93,23,59",
        action="COMMIT", dtimout="6800", spurge="NO", restart="YES", ressec="YES", cmdsec="YES", priority=255, runaway="2700000", tranclass="DFHTCL01",
        remotesystem="CICB", remotename="FARTRAN", localq="YES", twasize=32767, taskdataloc="ANY", **STAMPS,
    ),
    define_terminal(
        group="G", name="L86A", netname="NETL86A", inservice="NO", userid="ALICE", termpriority=7, typeterm="DFHLU2",
        **STAMPS,
    ),
    define_terminal(group="G", name="L86B", remotesystem="TOR1", remotename="L86A"),
    define_connection(
        group="G", name="CICB", netname="APPLIDB", inservice="NO", securityname="LINKUSER", attachsec="IDENTIFY",
        accessmethod="VTAM", **STAMPS,
    ),
    define_program(
        group="G", name="PAYPROG", status="DISABLED", executionset="DPLSUBSET", remotesystem="CICB", remotename="FARPROG",
        transid="PAYM", language="COBOL", **STAMPS,
    ),
]  # fmt: skip


@pytest.mark.rule("CSD-EXPORT")
def test_every_attribute_of_every_type_comes_back():
    given_attributes: dict[type, set[str]] = {}
    for resource in FULL:
        given_attributes.setdefault(type(resource), set()).update(resource.model_fields_set)
    for resource_class, names in given_attributes.items():
        assert names - {"without_effect"} == set(resource_class.model_fields) - {"without_effect"}, resource_class
    assert {resource_class.__name__ for resource_class in given_attributes} == {
        "IntraQueue", "ExtraQueue", "IndirectQueue", "RemoteQueue", "Transaction", "Terminal", "Connection",
        "ProgramDefinition",
    }  # fmt: skip
    definitions = Definitions.of(FULL)
    found = parse_csd(export_csd(definitions))
    assert found.reports == ()
    without_handler = {
        key: ({name: value for name, value in own.items() if name != "handler"}, idle)
        for key, (own, idle) in contents(definitions).items()
    }
    assert contents(found.definitions) == without_handler
    assert contents(parse_definitions(dump_definitions(definitions))) == contents(definitions)
