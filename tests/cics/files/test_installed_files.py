"""FILE definitions make files: from CSD text and YAML, what is shown of them, which data set they find, what is refused."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Cvda, DefinitionError, Region
from tdqsim.cics import InstallRefused
from tdqsim.cics.files import DataFile
from tdqsim.definitions import define_file, dump_definitions, export_csd, parse_csd, parse_definitions
from tests.rules import expect_rule

CSD = """\
DEFINE FILE(ACCT) GROUP(BANK) DSNAME(PROD.ACCT) ADD(YES) BROWSE(YES) UPDATE(YES) DELETE(YES)
       KEYLENGTH(2) RECORDSIZE(20) RECORDFORMAT(V) RECOVERY(BACKOUTONLY) LSRPOOLID(1) STRINGS(5)
DEFINE FILE(LOOK) GROUP(BANK) DSNAME(PROD.ACCT)
DEFINE FILE(BARE) GROUP(BANK) DSNAME(PROD.BARE) BROWSE(YES)
DEFINE FILE(SHUT) GROUP(BANK) DSNAME(PROD.ACCT) STATUS(UNENABLED)
DEFINE FILE(GONE) GROUP(BANK) DSNAME(PROD.ACCT) STATUS(DISABLED)
"""
YAML = """\
group: BANK
file:
  - {name: ACCT, dsname: PROD.ACCT, add: yes, update: yes, keylength: 2, recordsize: 20}
  - {name: CITY, dsname: PROD.CITY, relate: PROD.ACCT, browse: yes, keylength: 4, keyposition: 2}
  - {name: LOG, organisation: ESDS, add: yes, recordformat: F, recordsize: 5, opentime: STARTUP}
"""


@pytest.fixture
def region():
    with Region(parse_csd(CSD).definitions) as region:
        yield region


def call(region: Region, command: str, *arguments, **options):
    """A command in a task of its own."""
    with region.task() as task:
        return getattr(task, command)(*arguments, **options)


def inquire(region: Region, file: str, *options: str) -> list:
    found = call(region, "inquire_file", file, *options)
    values = found.as_dict()
    return [value.rstrip() if isinstance(value, str) else value for value in map(values.get, options)]


def test_a_definition_makes_a_file_that_programs_use(region):
    call(region, "write_file", "ACCT", b"A1 first", b"A1")
    assert call(region, "read_file", "ACCT", b"A1").data == b"A1 first"
    assert call(region, "read_file", "LOOK", b"A1").data == b"A1 first"  # the same data set
    with region.task() as task:
        task.write_file("ACCT", b"B1 other", b"B1")
        task.syncpoint_rollback()
    with pytest.raises(Condition) as met:
        call(region, "read_file", "ACCT", b"B1")
    assert (met.value.name, met.value.resp2) == ("NOTFND", 80)


@pytest.mark.parametrize(
    ("file", "operation", "name", "resp2"),
    [
        ("LOOK", "write", "INVREQ", 20),
        ("SHUT", "read", "NOTOPEN", 60),
        ("GONE", "read", "DISABLED", 50),
    ],
)
def test_what_a_definition_does_not_allow(region, file, operation, name, resp2):
    with pytest.raises(Condition) as met:
        call(region, "write_file", file, b"A1 first", b"A1") if operation == "write" else call(
            region, "read_file", file, b"A1"
        )
    assert (met.value.name, met.value.resp2) == (name, resp2)


@pytest.mark.rule("FILE-NOTOPEN-DATASET")
def test_a_file_whose_data_set_is_not_known_cannot_be_opened(region):
    met = expect_rule("FILE-NOTOPEN-DATASET", call, region, "read_file", "BARE", b"A1")
    assert "PROD.BARE is not known" in str(met)
    data = DataFile(keylength=3)
    data.put(b"ABC", b"ABC here")
    region.files.define_data_set("prod.bare", data)
    assert call(region, "read_file", "BARE", b"ABC").data == b"ABC here"


@pytest.mark.rule("FILE-SET-OPEN")
def test_set_open_of_a_file_whose_data_set_is_not_known(region):
    expect_rule("FILE-SET-OPEN", call, region, "set_file", "BARE", openstatus=Cvda.OPEN)
    assert inquire(region, "BARE", "OPENSTATUS") == [Cvda.CLOSED]


@pytest.mark.rule("FILE-INQUIRE-CLOSED")
def test_inquire_shows_the_definition_until_the_first_request_opens_the_file(region):
    shown = ("DSNAME", "OPENSTATUS", "ENABLESTATUS", "KEYLENGTH", "RECORDSIZE", "TYPE", "ADD", "RECOVSTATUS")
    closed = ["PROD.ACCT", Cvda.CLOSED, Cvda.ENABLED, 2, 20, Cvda.NOTAPPLIC, 41, 29]
    assert inquire(region, "ACCT", *shown) == closed
    call(region, "write_file", "ACCT", b"A1", b"A1")
    assert inquire(region, "ACCT", *shown) == ["PROD.ACCT", Cvda.OPEN, Cvda.ENABLED, 2, 20, 6, 41, 29]
    assert inquire(region, "SHUT", "ENABLESTATUS") == [33]


def test_yaml_makes_paths_and_other_organisations():
    with Region(parse_definitions(YAML)) as region:
        assert inquire(region, "LOG", "OPENSTATUS", "RECORDFORMAT") == [Cvda.OPEN, Cvda.FIXED]
        with region.task() as task:
            with pytest.raises(Condition, match="NOTFND"):  # the path opens its data set
                task.startbr("CITY", bytes(4))
            for key in (b"A1", b"B1"):
                task.write_file("ACCT", key + b"ROMA", key)
            task.startbr("CITY", b"ROMA")
            with pytest.raises(Condition) as met:
                task.readnext("CITY")
            assert (met.value.name, met.value.data) == ("DUPKEY", b"A1ROMA")
        region.install(
            [define_file(name=f"RING{at}", dsname=f"R{at}", relate=f"R{1 - at}", keylength=1) for at in (0, 1)]
        )
        with pytest.raises(Condition, match="data set R0 is not known"):
            call(region, "read_file", "RING0", b"A")
        assert call(region, "write_file", "LOG", b"12345")["RIDFLD"] == bytes(4)
        assert call(region, "write_file", "LOG", b"67890")["RIDFLD"] == b"\0\0\0\5"


def test_records_and_definitions_are_there_after_a_restart(tmp_path):
    region = Region(parse_csd(CSD).definitions, store=tmp_path / "store")
    call(region, "write_file", "ACCT", b"A1 first", b"A1")
    region.close(clean=False)
    with Region([], store=tmp_path / "store") as region:
        assert (
            call(region, "read_file", "LOOK", b"A1").data == b"A1 first"
            if call(region, "read_file", "ACCT", b"A1")
            else None
        )
        assert inquire(region, "ACCT", "KEYLENGTH", "RECOVSTATUS") == [2, 29]


@pytest.mark.rule("FILE-INSTALL")
def test_a_file_is_replaced_only_when_it_is_closed(region):
    again = [define_file(name="ACCT", group="BANK", dsname="PROD.NEW", keylength=4)]
    with pytest.raises(InstallRefused, match=r"FILE\(ACCT\): a file of that name is installed and ENABLED"):
        region.install(again)
    call(region, "set_file", "ACCT", openstatus=Cvda.CLOSED)
    region.install(again)
    assert inquire(region, "ACCT", "DSNAME", "KEYLENGTH") == ["PROD.NEW", 4]


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ("DSNAME(9X)", "dsname"),
        ("KEYLENGTH(256)", "KEYLENGTH"),
        ("RECORDSIZE(40000)", "RECORDSIZE"),
        ("RECOVERY(YES)", "RECOVERY"),
        ("STATUS(OPEN)", "STATUS"),
        ("KEYLENGTH(9) RECORDSIZE(8)", "KEYPOSITION"),
        ("ORGANISATION(KSDS)", "KEYLENGTH"),
        ("RELATE(A.B) KEYLENGTH(2) ORGANISATION(ESDS)", "RELATE"),
        ("UNIQUEKEY(YES)", "UNIQUEKEY"),
        ("KEYLENGHT(2)", "KEYLENGHT"),
    ],
)
def test_what_is_wrong_with_a_definition_is_told_by_its_name(attributes, told):
    found = parse_csd(f"DEFINE FILE(BAD) GROUP(G) {attributes}\n")
    assert any("FILE(BAD)" in str(each) and told.lower() in str(each).lower() for each in found.reports), found.reports


def test_a_definition_is_written_out_again():
    found = parse_csd(CSD).definitions
    assert parse_csd(export_csd(found)).definitions.files == found.files
    assert parse_definitions(dump_definitions(found)).files == found.files
    with pytest.raises(DefinitionError, match="keylength"):
        define_file(name="BAD", keylength=300)


def test_set_file_takes_names_and_null_values(region):
    call(region, "set_file", "ACCT", openstatus="CLOSED", enablestatus="DISABLED")
    call(region, "set_file", "ACCT", openstatus=Cvda.IGNORE, enablestatus=" ")
    assert inquire(region, "ACCT", "OPENSTATUS", "ENABLESTATUS") == [Cvda.CLOSED, Cvda.DISABLED]
    with pytest.raises(Condition, match="ENABLESTATUS must be ENABLED or DISABLED, not 'OPEN'"):
        call(region, "set_file", "ACCT", openstatus="OPEN", enablestatus="OPEN")
    assert inquire(region, "ACCT", "OPENSTATUS") == [Cvda.CLOSED]
