from __future__ import annotations

from datetime import datetime

import pytest

from tdqsim.cics import Region
from tdqsim.definitions import define_tdqueue, define_transaction, parse_csd, parse_definitions
from tdqsim.errors import DefinitionError
from tdqsim.facts import TDQUEUE_ATTRIBUTES
from tests.rules import expect_rule, rule


def intra(**attributes):
    return define_tdqueue(**{"name": "PAYQ", "type": "INTRA"} | attributes)


def extra(**attributes):
    return define_tdqueue(**{"name": "OUTQ", "type": "EXTRA"} | attributes)


@pytest.mark.rule("DEF-TDQ-NAME")
@pytest.mark.parametrize("name", ["PAYQ1", "payq", "PA-Q", "PA Q", "PÄQ", "P.Q", 1234])
def test_bad_names(name):
    expect_rule("DEF-TDQ-NAME", intra, name=name)


@pytest.mark.parametrize("wrong", ["recordsize", "name"])
def test_a_clash_is_told_beside_what_is_wrong_by_itself(wrong):
    with pytest.raises(DefinitionError) as caught:
        extra(**{"sysoutclass": "A", "dsname": "A.B", wrong: -1 if wrong == "recordsize" else "TOOLONG"})
    assert {problem.attribute for problem in caught.value.problems} == {wrong, "sysoutclass"}


@pytest.mark.rule("DEF-TDQ-NAME-REQUIRED")
def test_no_name():
    expect_rule("DEF-TDQ-NAME-REQUIRED", define_tdqueue, type="INTRA")


@pytest.mark.parametrize("name", ["A", "0010", "1E05", "NO", "ON", "NULL", "@#$9", "YES"])
def test_good_names(name):
    assert intra(name=name).name == name


@pytest.mark.rule("DEF-TDQ-TYPE")
@pytest.mark.parametrize("queue_type", ["REMOTE", "INTRDR", "X", 5])
def test_bad_type(queue_type):
    expect_rule("DEF-TDQ-TYPE", define_tdqueue, name="PAYQ", type=queue_type)


@pytest.mark.parametrize("word", ["REMOTE", "remote"])
def test_type_remote_says_what_remotesystem_says(word):
    queue = define_tdqueue(name="PAYR", type=word, remotesystem="SYSB", remotename="PAYQ")
    assert queue == define_tdqueue(name="PAYR", remotesystem="SYSB", remotename="PAYQ")
    text = f"group: G\ntdqueue:\n- {{name: PAYR, type: {word}, remotesystem: SYSB, remotename: PAYQ}}\n"
    (read,) = parse_definitions(text).tdqueues
    assert (read.name, read.type, read.remotesystem, read.remotename) == ("PAYR", "", "SYSB", "PAYQ")


def test_type_remote_without_remotesystem_says_what_is_needed():
    with pytest.raises(
        DefinitionError, match="must be EXTRA, INTRA or INDIRECT; a queue of another region has remotesys"
    ):
        define_tdqueue(name="PAYR", type="REMOTE")


def test_dfhcsdup_has_no_type_remote():
    found = parse_csd("DEFINE TDQUEUE(PAYR) GROUP(G) TYPE(REMOTE) REMOTESYSTEM(SYSB)\n")
    assert any("must be EXTRA, INTRA or INDIRECT" in str(each) for each in found.reports)


@pytest.mark.rule("DEF-TDQ-TYPE-REQUIRED")
def test_neither_type_nor_remote_system():
    expect_rule("DEF-TDQ-TYPE-REQUIRED", define_tdqueue, name="PAYQ")


@pytest.mark.rule("DEF-TDQ-OTHER-TYPE")
@pytest.mark.parametrize(
    ("queue_type", "attribute", "value"),
    [
        ("INTRA", "ddname", "X"),
        ("EXTRA", "transid", "PAYP"),
        ("INDIRECT", "wait", "YES"),
        ("INTRA", "indirectname", "CSSL"),
    ],
)
def test_attribute_of_another_type(queue_type, attribute, value):
    needed = {"indirectname": "CSSL"} if queue_type == "INDIRECT" else {}
    expect_rule("DEF-TDQ-OTHER-TYPE", define_tdqueue, name="PAYQ", type=queue_type, **needed, **{attribute: value})


@pytest.mark.rule("DEF-TDQ-DUAL")
@pytest.mark.parametrize(
    ("queue_type", "needed"), [("INTRA", {}), ("EXTRA", {}), ("INDIRECT", {"indirectname": "CSSL"})]
)
def test_dual_purpose(queue_type, needed):
    queue = define_tdqueue(name="PAYQ", type=queue_type, remotesystem="CIC2", **needed)
    assert queue.type_in("CIC2") == queue_type
    assert queue.type_in("CIC1") == "REMOTE"
    assert define_tdqueue(name="PAYQ", type=queue_type, **needed).type_in("CIC1") == queue_type


@pytest.mark.rule("DEF-TDQ-REMOTE-ONLY")
def test_remote_only():
    queue = define_tdqueue(name="PAYQ", remotesystem="CIC2")
    assert queue.type == ""
    assert queue.type_in("CIC2") == queue.type_in("CIC1") == "REMOTE"


@pytest.mark.rule("DEF-TDQ-REMOTE-NEEDS")
@pytest.mark.parametrize("attributes", [{"remotename": "ABCD"}, {"remotelength": 80}])
def test_remote_attributes_need_a_system(attributes):
    expect_rule("DEF-TDQ-REMOTE-NEEDS", intra, **attributes)


@pytest.mark.rule("DEF-TDQ-DEFAULTS")
@pytest.mark.parametrize("queue", [intra(), extra()], ids=["INTRA", "EXTRA"])
def test_defaults(queue):
    for row in TDQUEUE_ATTRIBUTES.values():
        if queue.type in row.types and row.kind in ("integer", "keyword") and row.name != "TYPE":
            assert str(getattr(queue, row.name.lower())) == row.default, row.name


def test_a_name_that_may_be_omitted_may_be_empty():
    queue = define_tdqueue(name="PAYQ", type="INTRA", remotesystem="", facilityid="", transid="", userid="")
    assert (queue.remotesystem, queue.facilityid, queue.transid, queue.userid) == ("", "", "", "")
    with pytest.raises(DefinitionError, match="TDQUEUE name: is required"):
        define_tdqueue(name="", type="INTRA")


def test_defaults_written_out():
    queue = intra()
    assert (queue.triggerlevel, queue.wait, queue.waitaction, queue.recovstatus) == (1, "YES", "REJECT", "NO")
    assert not queue.given("triggerlevel")
    assert intra(triggerlevel=1).given("triggerlevel")
    queue = extra()
    assert (queue.databuffers, queue.recordsize, queue.blocksize, queue.disposition) == (1, 1, 0, "SHR")
    assert (queue.erroroption, queue.opentime, queue.rewind, queue.typefile) == ("IGNORE", "INITIAL", "LEAVE", "INPUT")


NUMBERS = [(row.name.lower(), row) for row in TDQUEUE_ATTRIBUTES.values() if row.kind == "integer"]


@pytest.mark.rule("DEF-TDQ-RANGE")
@pytest.mark.parametrize(("attribute", "row"), NUMBERS)
def test_ranges(attribute, row):
    base = {"name": "PAYQ", "remotesystem": "CIC2"} | ({"type": row.types[0]} if row.types[0] != "REMOTE" else {})
    for good in (row.minimum, row.maximum, str(row.maximum), f"0{row.minimum}"):
        assert getattr(define_tdqueue(**base, **{attribute: good}), attribute) == int(good)
    for bad in (
        row.minimum - 1,
        row.maximum + 1,
        "x",
        "1.0",
        "1_0",
        "+1",
        " 1",
        "0x1",
        1.0,
        True,
        "9" * 5000,
        "\u0661",
    ):
        expect_rule("DEF-TDQ-RANGE", define_tdqueue, **base, **{attribute: bad})


@pytest.mark.rule("DEF-TDQ-KEYWORD")
@pytest.mark.parametrize(
    ("attribute", "row"),
    [(r.name.lower(), r) for r in TDQUEUE_ATTRIBUTES.values() if r.kind == "keyword" and r.name != "TYPE"],
)
def test_keywords(attribute, row):
    base = {"recordformat": "VARIABLE"} if attribute in ("blockformat", "printcontrol") else {}
    for word in row.values:
        queue = define_tdqueue(name="PAYQ", type=row.types[0], **base, **{attribute: word.lower()})
        assert getattr(queue, attribute) == word
    for bad in ("MAYBE", 1, True):
        expect_rule("DEF-TDQ-KEYWORD", define_tdqueue, name="PAYQ", type=row.types[0], **{attribute: bad})


@pytest.mark.rule("DEF-TDQ-UNKNOWN")
def test_unknown_attribute_gets_a_hint():
    error = expect_rule("DEF-TDQ-UNKNOWN", intra, trigerlevel=5)
    assert "did you mean triggerlevel?" in str(error)


def test_facility_given():
    assert intra(facilityid="T001").facility == "T001"


@pytest.mark.rule("DEF-TDQ-FACILITYID-FILE")
def test_facility_with_file():
    expect_rule("DEF-TDQ-FACILITYID-FILE", intra, atifacility="FILE", facilityid="T001")


@pytest.mark.rule("DEF-TDQ-USERID")
@pytest.mark.parametrize("facility", ["TERMINAL", "SYSTEM"])
def test_user_needs_file(facility):
    expect_rule("DEF-TDQ-USERID", intra, atifacility=facility, userid="BOB")
    assert intra(atifacility="FILE", userid="BOB").userid == "BOB"


@pytest.mark.rule("DEF-TDQ-WAITACTION")
def test_waitaction_needs_wait():
    expect_rule("DEF-TDQ-WAITACTION", intra, wait="NO", waitaction="QUEUE")
    assert intra(wait="YES", waitaction="QUEUE").waitaction == "QUEUE"


@pytest.mark.rule("DEF-TDQ-RECORDFORMAT-BLANK")
@pytest.mark.parametrize("attributes", [{"blockformat": "BLOCKED"}, {"printcontrol": "A"}])
def test_formats_need_a_record_format(attributes):
    expect_rule("DEF-TDQ-RECORDFORMAT-BLANK", extra, **attributes)
    assert extra(recordformat="FIXED", **attributes).given(next(iter(attributes)))


@pytest.mark.rule("DEF-TDQ-SYSOUT-DSNAME")
def test_spool_and_data_set():
    expect_rule("DEF-TDQ-SYSOUT-DSNAME", extra, sysoutclass="A", dsname="A.B")


@pytest.mark.rule("DEF-TDQ-SYSOUT-OUTPUT")
@pytest.mark.parametrize("typefile", ["INPUT", "RDBACK"])
def test_spool_is_output(typefile):
    expect_rule("DEF-TDQ-SYSOUT-OUTPUT", extra, sysoutclass="A", typefile=typefile)


@pytest.mark.rule("DEF-TDQ-SYSOUT-IMPLIES")
@pytest.mark.parametrize("letter", ["A", "9", "*"])
def test_spool_implies_output(letter):
    assert extra(sysoutclass=letter).typefile == "OUTPUT"


@pytest.mark.rule("DEF-TDQ-BLOCKSIZE-FIXED")
def test_fixed_block():
    expect_rule("DEF-TDQ-BLOCKSIZE-FIXED", extra, recordformat="FIXED", recordsize=80, blocksize=100)
    assert extra(recordformat="FIXED", recordsize=80, blocksize=800).blocksize == 800


@pytest.mark.rule("DEF-TDQ-BLOCKSIZE-VARIABLE")
def test_variable_block():
    expect_rule("DEF-TDQ-BLOCKSIZE-VARIABLE", extra, recordformat="VARIABLE", recordsize=132, blocksize=135)
    assert extra(recordformat="VARIABLE", recordsize=132, blocksize=136).blocksize == 136
    assert extra(recordformat="VARIABLE", recordsize=132).blocksize == 0


@pytest.mark.rule("DEF-TDQ-DSNAME")
@pytest.mark.parametrize("dsname", ["a.b", "A..B", ".A", "A.", "TOOLONGQUAL.B", "A.B(MEMBERTOOLONG)", "A.B(", "1A.B"])
def test_bad_data_set_names(dsname):
    expect_rule("DEF-TDQ-DSNAME", extra, dsname=dsname)


@pytest.mark.parametrize(
    "dsname", ["DUMMY", "A", "PROD.PAY.OUT", "A.B(MEMB)", "A.B(+1)", "A.B(0)", "A.B(-12)", "A.B-C.#1"]
)
def test_good_data_set_names(dsname):
    assert extra(dsname=dsname).dsname == dsname


def test_data_set_name_of_44_and_more():
    longest = ".".join(["ABCDEFGH"] * 4 + ["ABCDEFGH"])
    assert len(longest) == 44
    assert extra(dsname=f"{longest}(MEMBER12)").dsname.startswith(longest)
    with pytest.raises(DefinitionError, match="together at most 44"):
        extra(dsname=f"{longest}.A")


@pytest.mark.rule("DEF-TDQ-INDIRECT-REQUIRED")
def test_indirect_needs_a_target():
    expect_rule("DEF-TDQ-INDIRECT-REQUIRED", define_tdqueue, name="PAYQ", type="INDIRECT")


@pytest.mark.parametrize("given", ["TOOLONG", "B", "A B", None])
def test_an_alias_of_any_name_whose_target_is_wrong_is_refused(given):
    with pytest.raises(DefinitionError, match="indirectname"):
        define_tdqueue(name="B", type="INDIRECT", indirectname=given)


@pytest.mark.rule("DEF-TDQ-INDIRECT-SELF")
def test_indirect_to_itself():
    expect_rule("DEF-TDQ-INDIRECT-SELF", define_tdqueue, name="PAYQ", type="INDIRECT", indirectname="PAYQ")


@pytest.mark.rule("DEF-TDQ-SIGNATURE")
@pytest.mark.parametrize("stamp", ["2012-03-20 15:39:56", "12/03/20 15:39:56", "2012-03-20T15:39:56"])
def test_marks_of_definition(stamp):
    queue = intra(
        definetime=stamp,
        changetime=stamp.replace("56", "57"),
        changeusrid="BOB",
        changeagent="CSDAPI",
        changeagrel="0750",
    )
    assert queue.definetime == datetime(2012, 3, 20, 15, 39, 56)
    assert queue.changetime == datetime(2012, 3, 20, 15, 39, 57)
    assert (queue.changeusrid, queue.changeagent, queue.changeagrel) == ("BOB", "CSDAPI", "0750")


@pytest.mark.rule("DEF-TDQ-CHANGEAGENT")
@pytest.mark.parametrize("agent", ["DREPBATCH", "AUTOINSTALL", "TABLE", "DYNAMIC"])
def test_agents_that_change_no_queue(agent):
    expect_rule("DEF-TDQ-CHANGEAGENT", intra, changeagent=agent)
    with pytest.raises(DefinitionError, match="CSDAPI"):
        define_tdqueue(name="PAYX", type="INDIRECT", indirectname="PAYQ", changeagent=agent)
    assert define_transaction(name="PAYP", changeagent=agent).changeagent == agent


@pytest.mark.rule("DEF-TDQ-CHANGEAGENT-OVERRIDE")
def test_an_overridden_definition_is_installed_as_one_of_a_file():
    queue = intra(changeagent="OVERRIDE")
    assert queue.changeagent == "OVERRIDE"
    with Region([queue]) as region:
        shown = region.inquire_tdqueue(queue.name, "CHANGEAGENT").changeagent
    assert shown.name == rule("DEF-TDQ-CHANGEAGENT-OVERRIDE").message


@pytest.mark.parametrize("agent", ["CREATESPI", "CSDAPI", "CSDBATCH", "DREPAPI", "SYSTEM"])
def test_agents_that_change_queues(agent):
    assert intra(changeagent=agent.lower()).changeagent == agent


@pytest.mark.parametrize("stamp", ["2012-02-30 00:00:00", "yesterday", "2012-03-20", "2012-03-20 15:39:56Z", 5])
def test_bad_times(stamp):
    with pytest.raises(DefinitionError, match="must be a date and time"):
        intra(changetime=stamp)


def test_all_problems_come_at_once():
    with pytest.raises(DefinitionError) as caught:
        define_tdqueue(name="payq", type="EXTRA", blocksize="x", blockformat="BLOCKED", transid="ABCD", foo=1)
    assert {problem.attribute for problem in caught.value.problems} == {
        "name",
        "blocksize",
        "blockformat",
        "transid",
        "foo",
    }


def test_definitions_cannot_be_changed():
    queue = intra()
    with pytest.raises(ValueError, match="frozen"):
        queue.triggerlevel = 5


def test_blank_is_not_given():
    queue = intra(transid="", facilityid=None)
    assert queue == intra()
    assert not queue.given("transid")


def test_attributes_are_those_given_in_order():
    queue = intra(triggerlevel="000000005", description="Pay", group="G", transid="PAYP")
    assert list(queue.attributes().items()) == [
        ("name", "PAYQ"), ("type", "INTRA"), ("description", "Pay"), ("transid", "PAYP"), ("triggerlevel", 5),
    ]  # fmt: skip
