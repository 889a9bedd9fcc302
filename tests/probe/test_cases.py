"""The cases for a CICS region: complete, well-formed, and the same in COBOL and on the simulator."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tdqsim.errors import DefinitionError
from tdqsim.facts import rules, table
from tdqsim.probe.cases import RESET, cics_cases, parse_cases
from tdqsim.probe.cics_cobol import cobol_sources
from tdqsim.probe.cics_run import observe_cics
from tdqsim.probe.ibmi_cases import cases as ibmi_cases
from tdqsim.probe.ibmi_cases import not_tried

UNOBSERVABLE = {row["rule"] for row in table("probe_unobservable")}
OPEN = {"vendor silent", "unconfirmed", "second-hand"}


def test_every_rule_that_is_not_confirmed_has_a_case_or_a_reason() -> None:
    wanted = {each.id for each in rules().values() if each.confidence in OPEN}
    tried = (cics_cases().keys() - {RESET}) | {each.rule for each in ibmi_cases()}
    reasons = UNOBSERVABLE | not_tried().keys()
    assert wanted - tried - reasons == set()
    assert tried & reasons == set()


def test_lengths_and_other_options_have_items_of_the_right_size() -> None:
    """LENGTH of the commands is a halfword, FLENGTH a fullword, and a CVDA a fullword."""
    halfwords = r"(?<![A-Z])(?:LENGTH|KEYLENGTH|DATALENGTH|RESLEN|ATTRLEN|ITEM|SCRNHT)\((?!L[1-3]\)|[0-9]+\))"
    fullwords = (
        r"(?<![A-Z])(?:FLENGTH|NUMITEMS|TRIGGERLEVEL|DAYCOUNT|TOKEN|RECORDLENGTH|BLOCKSIZE)\((?!N[1-4]\)|[0-9]+\))"
    )
    cvda = r"(?<![A-Z])(?:TYPE|ENABLESTATUS|OPENSTATUS|ATIFACILITY|INDOUBT|RELATION|ACTION)\((?!C[1-6]\))"
    for case in cics_cases().values():
        for step in case.steps:
            assert not re.search(f"{halfwords}|{fullwords}|{cvda}", step.command), step.command


def test_no_case_names_a_task_or_a_queue_that_a_real_region_may_have() -> None:
    """SET TASK names task 0, which no program has; queues of CICS begin with C."""
    for case in cics_cases().values():
        for step in case.steps:
            assert "TASK(" not in step.command or ("K1", "0") in case.steps[step.number - 2].values, step.command
            assert "UEUE('C" not in step.command, step.command


def test_the_main_task_observes_something_in_every_case() -> None:
    """Else a file would have no observation of a rule whose other task was never started."""
    for case in cics_cases().values():
        if case.rule != RESET:
            assert any(step.kind in {"ask", "abend", "see", "link"} for step in case.steps), case.rule


def test_reasons_are_given_for_rules_that_exist() -> None:
    assert rules().keys() >= UNOBSERVABLE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ask ASKTIME", "stands before the first rule"),
        ("rule NO-RULE", "there is no rule with this id"),
        ("rule TD-DISABLED\nrule TD-DISABLED", "has a case already"),
        ("rule TD-DISABLED\ntry ASKTIME", "allowed are rule, let"),
        ("rule TD-DISABLED\nlet Z9=1", "allowed are L1"),
        ("rule TD-DISABLED\nask ASKTIME > Z9", "is not a field"),
        ("rule TD-DISABLED\nask ASKTIME > T1:101", "has 100 bytes"),
        ("rule TD-DISABLED\nask ASKTIME > T1:0", "has 100 bytes"),
        ("rule TD-DISABLED\nlet L1=5 L2", "is not VARIABLE=VALUE"),
        ("rule TD-DISABLED\nsee ASKTIME", "is not possible after see"),
    ],
)
def test_a_line_that_is_wrong_is_refused(text: str, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        parse_cases(text, "cases")


def test_the_text_of_the_programs_is_one_that_the_compiler_of_a_mainframe_takes() -> None:
    for source in cobol_sources("ZP", "5.6"):
        assert len(source.name) <= 8
        for line in source.text.split("\n"):
            assert len(line) <= 72, line
            assert line[:6].strip() == "", line
            assert line.isascii()


def test_a_literal_that_no_line_has_room_for_is_moved_in_pieces() -> None:
    (source,) = cobol_sources("ZP", "5.6", wanted=["SET-ATI"])
    moved = "MOVE 'TYPE(INTRA) TRIGGERLEVEL(3) TRANSID(' TO T1(1:36) MOVE 'ZPTF)' TO T1(37:5) MOVE 60 TO L1"
    assert moved in " ".join(source.text.split())


def test_a_command_takes_its_data_from_items_and_not_from_literals() -> None:
    """A translator takes a literal for a value, and an item for an area."""
    areas = re.compile(r"\b(FROM|INTO|RESOURCE|RESID|RIDFLD|COMMAREA|ATTRIBUTES|QNAME|SET)\((?!'|[0-9])")
    literal = re.compile(areas.pattern.replace("(?!'|[0-9])", "['0-9]"))
    steps = [step for case in cics_cases().values() for step in case.steps]
    assert any(areas.search(step.command) for step in steps)
    assert [step.command for step in steps if literal.search(step.command)] == []


def test_the_simulator_gives_the_conditions_that_its_rules_describe() -> None:
    wanted = ["TASK-ASSIGN-QNAME", "TD-EXTRA-NOTOPEN", "ATI-QD", "ATI-QZERO-WHILE-TASK-RUNS", "LOCK-FIFO"]
    wanted.append("TASK-ASSIGN-TERMINAL")  # two commands of one other task
    observed = observe_cics(wanted=wanted)
    found = observed.values()
    assert len(found) == len(observed.observations)  # each step is run by one task
    assert found["TASK-ASSIGN-QNAME", "1", "RESP"] == "16"
    assert found["TD-EXTRA-NOTOPEN", "4", "RESP"] == "19"
    assert found["TD-EXTRA-NOTOPEN", "7", "ABCODE"] == "AEIS"
    assert found["ATI-QD", "1", "Q1"] == "QD"
    assert found["ATI-QZERO-WHILE-TASK-RUNS", "7", "T2"] == "HELLO"  # in the second task of the trigger
    assert [found["LOCK-FIFO", step, "L1"] for step in ("10", "12", "14")] == ["1", "1", "2"]


def test_a_machine_file_changes_what_the_simulator_observes(tmp_path: Path) -> None:
    file = tmp_path / "machine.yaml"
    file.write_text("rules: {TASK-ASSIGN-QNAME: {resp2: 44}}", "utf-8")
    found = observe_cics(file, wanted=["TASK-ASSIGN-QNAME"]).values()
    assert found["TASK-ASSIGN-QNAME", "1", "RESP2"] == "44"
