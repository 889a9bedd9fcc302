"""The tables are whole: every row has a source and a confidence, and tables that refer to each other agree."""

from __future__ import annotations

import re
import subprocess
import sys
import typing

import pytest

from tdqsim.cics import Region
from tdqsim.definitions.tdqueue import TDQUEUE_CLASSES
from tdqsim.facts import (
    ABEND_CODES,
    ATTRIBUTE_CVDA,
    CONFIDENCE,
    EIBFN,
    INQUIRE_OPTIONS,
    SET_TDQUEUE_OPTIONS,
    SUPPLIED_QUEUES,
    TDQUEUE_ATTRIBUTES,
    Cvda,
    Resp,
    Rule,
    rules,
    table,
)
from tdqsim.facts._tables import read_rows, table_names
from tdqsim.ibmi.layouts import formats


def test_every_row_has_a_source():
    for name in table_names():
        assert table(name), name
        for row in table(name):
            assert row.get("source", "none is asked for").strip(), (name, row)
            assert row.get("confidence", "ours") in CONFIDENCE, (name, row)


LACKING = re.compile(
    r"\b(not|nothing|nobody|ours|recalled|remembered|follows|second-hand|general|likely|silent|contradict)\b"
    r"|our (choice|reading)|ends before|another (implementation|product|reader)|a tutorial"
)
"""What a point says of a rule that its source does not state whole."""


def test_a_page_gives_two_degrees_only_where_the_weaker_rule_says_what_the_page_lacks():
    degrees = list(CONFIDENCE)
    pages: dict[tuple[str, str], list[Rule]] = {}
    for rule in rules().values():
        if rule.address:
            pages.setdefault((rule.address, rule.source), []).append(rule)
    found = []
    for page in pages.values():
        best = min(degrees.index(rule.confidence) for rule in page)
        said: dict[str, str] = {}
        for rule in page:
            twice = said.setdefault(rule.point, rule.confidence) != rule.confidence
            weaker = degrees.index(rule.confidence) > best and rule.confidence != "ours"
            if twice or (weaker and not LACKING.search(rule.point)):
                found.append((rule.id, rule.point))
    assert found == []


@pytest.mark.parametrize("confidence", ["confirmed", "vendor source"])
def test_what_the_vendor_shows_has_an_address_and_a_point(confidence):
    shown = [rule for rule in rules().values() if rule.confidence == confidence]
    assert shown
    assert [rule.id for rule in shown if not (rule.address.startswith("https://") and rule.point)] == []


def test_what_we_have_chosen_has_a_reason():
    assert [
        rule.id for rule in rules().values() if rule.confidence in ("vendor silent", "ours") and not rule.point
    ] == []


def test_an_address_is_one():
    for rule in rules().values():
        assert rule.address.startswith(("https://", "http://")) or not rule.address, rule
        assert " " not in rule.address, rule
        assert not rule.address or rule.source != "our choice", rule


def test_an_attribute_of_a_queue_names_the_types_that_have_it():
    types = {attribute.name: attribute.types for attribute in TDQUEUE_ATTRIBUTES.values()}
    assert set(types) == set(TDQUEUE_ATTRIBUTES)
    assert set(types["TYPE"]) == {"EXTRA", "INTRA", "INDIRECT", "REMOTE"}
    assert types["TRIGGERLEVEL"] == ("INTRA",)
    assert types["DDNAME"] == ("EXTRA",)
    assert types["REMOTESYSTEM"] == ("REMOTE",)


def test_an_option_of_set_tdqueue_has_its_name_kind_and_range():
    assert all(option.name == name for name, option in SET_TDQUEUE_OPTIONS.items())
    assert SET_TDQUEUE_OPTIONS["TRIGGERLEVEL"] == ("TRIGGERLEVEL", "BINARY", ("INTRA",), (), 0, 32767)
    assert SET_TDQUEUE_OPTIONS["OPENSTATUS"] == ("OPENSTATUS", "CVDA", ("EXTRA",), ("CLOSED", "OPEN"), 0, 0)


def test_a_row_of_another_length_is_refused(tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text("a\tb\n1\t2\n3\n")
    with pytest.raises(ValueError, match=r"bad\.tsv:3: 1 cells, the header has 2"):
        read_rows(path)


def test_comments_and_empty_lines_are_no_rows(tmp_path):
    path = tmp_path / "good.tsv"
    path.write_text("# why\n\na\tb\n1\t\n")
    assert read_rows(path) == [{"a": "1", "b": ""}]


def test_attribute_mapping_covers_the_keyword_attributes():
    mapped = {attribute for attribute, _ in ATTRIBUTE_CVDA}
    keywords = {row.name for row in TDQUEUE_ATTRIBUTES.values() if row.kind == "keyword"}
    assert mapped == keywords - {"SYSOUTCLASS", "OPENTIME"}
    for attribute in mapped:
        values = {value for name, value in ATTRIBUTE_CVDA if name == attribute} - {""}
        assert values == set(TDQUEUE_ATTRIBUTES[attribute].values)


def test_mapped_cvdas_are_ones_the_option_returns():
    for option, cvda in ATTRIBUTE_CVDA.values():
        assert cvda in INQUIRE_OPTIONS["TDQUEUE"][option].values


def test_supplied_queues_end_somewhere():
    for start in SUPPLIED_QUEUES.values():
        queue = start
        seen = set()
        while queue.type == "INDIRECT":
            assert queue.name not in seen
            seen.add(queue.name)
            queue = SUPPLIED_QUEUES[queue.indirectname]


def test_models_have_the_attributes_of_the_table():
    for queue_type, model in TDQUEUE_CLASSES.items():
        own = {"TYPE": queue_type or "REMOTE"}["TYPE"]
        common = {"name", "group", "description"}
        signature = {"definetime", "changetime", "changeusrid", "changeagent", "changeagrel", "without_effect"}
        remote = {"remotesystem", "remotename", "remotelength"}
        expected = {row.name.lower() for row in TDQUEUE_ATTRIBUTES.values() if row.types == (own,) and own != "REMOTE"}
        assert set(model.model_fields) == expected | common | signature | remote


def test_models_have_the_keywords_and_defaults_of_the_table():
    for model in TDQUEUE_CLASSES.values():
        for name, info in model.model_fields.items():
            row = TDQUEUE_ATTRIBUTES.get(name.upper())
            if row is None:
                continue
            words = typing.get_args(info.annotation)
            if row.kind == "keyword":
                assert set(words) - {""} == set(row.values), name
                assert info.default == row.default, name
            if row.kind == "integer":
                assert str(info.default) == row.default, name


def test_facts_stand_alone():
    code = (
        "import sys, tdqsim.facts; print(sorted(m for m in sys.modules if m.startswith(('pydantic', 'yaml', 'lmdb'))))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_rules_are_records():
    for rule_id, row in rules().items():
        assert rule_id == row.id == rule_id.upper()
        assert row.confidence in CONFIDENCE
        assert row.source, rule_id
        assert row.circumstances, rule_id


def test_no_command_has_two_function_codes() -> None:
    commands = [row["command"] for row in table("eibfn")]
    assert sorted(set(commands)) == sorted(commands)


def test_every_abend_code_is_of_one_condition_that_is_not_ignored():
    assert len(set(ABEND_CODES.values())) == len(ABEND_CODES)
    assert not {Resp.NORMAL, Resp.QBUSY, Resp.SIGNAL, Resp.ENQBUSY} & ABEND_CODES.keys()


def test_cvdas_of_one_number_are_names_of_one_thing():
    """IGNORE is what SET leaves alone, READBACK what IBM's table calls RDBACK, TDQUEUE a second spelling of TDQ."""
    found: dict[str, list[str]] = {}
    for row in table("cvda"):
        found.setdefault(row["value"], []).append(row["name"])
    twice = sorted(names for names in found.values() if len(names) > 1)
    assert twice == [["NOTAPPLIC", "IGNORE"], ["RDBACK", "READBACK"], ["TDQ", "TDQUEUE"]]
    assert not {row["name"] for row in table("cobol_cvda")} & Cvda.__members__.keys()


def test_the_forms_of_an_inquiry_and_its_set_share_a_group_of_eibfn():
    """Single, START, NEXT and END are options of one command; ENQ is another name of UOWENQ; SET is the second function of the group."""
    second = {"TRANCLASS": (b"\x1a", b"\x1c"), "TRANDUMPCODE": (b"\x12", b"\x14")}
    for command, code in EIBFN.items():
        verb, _, rest = command.partition(" ")
        resource = rest.split(" ")[0].replace("ENQ", "UOWENQ").replace("UOWUOW", "UOW")
        inquire, change = second.get(resource, (b"\x02", b"\x04"))
        if verb == "INQUIRE":
            assert code == EIBFN.get(f"INQUIRE {resource}", EIBFN.get(f"INQUIRE {resource} START")), command
            assert code[1:] == inquire, command
        if verb == "SET":
            assert code == EIBFN[f"INQUIRE {resource}"][:1] + change, command
    assert {row["group"] for row in table("eibrcode")} == {EIBFN["READQ TD"][:1].hex()}


@pytest.mark.parametrize("name", formats())
def test_a_format_is_described_by_the_names_of_the_manual(name):
    lines = formats()[name].describe().splitlines()[1:]
    for line, each in zip(lines, formats()[name].fields, strict=True):
        offset, kind, rest = line.split(maxsplit=2)
        assert (offset, kind) == (str(each.offset), f"{each.kind}{'*' if each.length is None else each.length}")
        assert rest.startswith(f"{each.field}: ")


def test_kinds_and_severities_of_messages():
    """Escapes have 40, apart from those of commands; a completion 0; the letters of an id tell what it is."""
    escapes_of_30 = {"CPF0001", "CPF0006", "CPF2112"}
    for row in table("cpf_messages"):
        kind = {"CPC": "completion", "CPD": "diagnostic", "TDQ": "diagnostic"}.get(row["id"][:3], "escape")
        of_diagnostic, of_escape = 40 if row["id"] == "CPD0727" else 30, 30 if row["id"] in escapes_of_30 else 40
        severity = {"completion": 0, "diagnostic": of_diagnostic, "escape": of_escape}[kind]
        assert (row["kind"], row["severity"]) == (kind, str(severity)), row["id"]


def test_variables_of_a_message_are_in_its_data_and_its_help_tells_cause_and_recovery():
    helps = {row["id"]: row["help"] for row in table("cpf_help")}
    assert helps.keys() == {row["id"] for row in table("cpf_messages")}
    for row in table("cpf_messages"):
        many = 0 if row["data"] == "-" else len(row["data"].split())
        assert max((int(part[0]) for part in row["text"].split("&")[1:]), default=0) <= many, row["id"]
        text = helps[row["id"]]
        assert text.startswith("Cause . . . . . :   "), row["id"]
        assert "Recovery  . . . :   " in text or row["kind"] == "completion", row["id"]
        assert max((int(part[0]) for part in text.split("&")[1:] if part[0].isdigit()), default=0) <= many, row["id"]


def test_every_count_of_a_report_has_a_title():
    titled = {row["field"] for row in table("statistics") if row["title"]}
    counted = {row["field"] for row in table("statistics") if row["reset"] in ("zero", "current", "day")}
    assert counted <= titled


def test_what_a_region_has_when_nobody_says_otherwise():
    with Region([], supplied_queues=False) as region:
        assert (region.applid, region.options.sysid, region.options.dfltuser) == ("TDQREGN", "TDQ1", "CICSUSER")
        assert region.encode("A1") == b"\xc1\xf1"
        assert region.start(lambda task: task.number, transid="ONE").result() == 1
