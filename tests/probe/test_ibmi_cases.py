"""The cases of the probe for IBM i: which rules they try, and that each finds an alteration of its rule, and no other."""

from __future__ import annotations

import os
import random
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from tdqsim.definitions.machine import Machine, MachineAnswer, load_machine
from tdqsim.errors import DefinitionError, ExtraMissing
from tdqsim.facts import rules
from tdqsim.ibmi import EscapeMessage, MessagePlan, System, system_from_directory
from tdqsim.ibmi.machine import RULES_WITH_MESSAGE
from tdqsim.probe import compare_with_simulator
from tdqsim.probe.answers import Answers, Observation, read_answers, write_answers
from tdqsim.probe.comparing import compare
from tdqsim.probe.ibmi_cases import cases, not_tried
from tdqsim.probe.ibmi_run import example_system, ibmi_answers, observe
from tests.probe.ibmi_alterations import ALTERED, DEPENDENT, PLANTED, altered_machine, plant

OTHER_PRODUCT = ("REC-", "UOW")
"""Rules of CICS in the section of the rules table."""
OPEN = ("vendor silent", "unconfirmed", "second-hand")
DRAWN = random.Random(os.environ.get("TDQ_DRAW", "0"))
PAIRS = [tuple(sorted(DRAWN.sample(ALTERED, 2))) for _ in range(50)]


@pytest.fixture(scope="module")
def own() -> Answers:
    return ibmi_answers()


def open_rules() -> set[str]:
    text = (files("tdqsim.facts") / "rules.tsv").read_text("utf-8")
    section = text.partition("# Rules of the IBM i data queue interfaces.\n")[2].partition("\n#\n")[0]
    ids = {line.partition("\t")[0] for line in section.splitlines()}
    return {each for each in ids if rules()[each].confidence in OPEN and not each.startswith(OTHER_PRODUCT)}


def test_every_open_rule_is_tried_or_has_a_reason() -> None:
    tried = {case.rule for case in cases()}
    assert tried | not_tried().keys() == open_rules()
    assert not tried & not_tried().keys()
    assert all(reason.endswith(".") for reason in not_tried().values())


def test_every_case_is_observed_here_and_the_answers_can_be_written(own: Answers) -> None:
    assert {each.rule for each in own.observations} == {case.rule for case in cases()}
    assert "LEFT-OUT" not in {each.step for each in own.observations}
    assert read_answers(write_answers(own)) == own
    ebcdic = read_answers(write_answers(own, code_page="273", lines=False))
    assert ebcdic.observations == own.observations


def test_the_observed_message_is_that_of_the_rule(own: Answers) -> None:
    found = {(each.rule, each.value) for each in own.observations if each.field.startswith("MESSAGE")}
    assert RULES_WITH_MESSAGE - not_tried().keys() <= {rule for rule, value in found if value == rules()[rule].message}


def test_a_case_ends_its_other_jobs_and_those_that_it_started() -> None:
    with example_system() as system:
        before = set(system.jobs)
        found = {
            (each.step, each.value) for each in observe(system, rules=["DTAQ-RECEIVE-ONE-GETS-IT", "DTAQ-LOCK-ALCOBJ"])
        }
        assert {("FIRST", "F1"), ("SECOND", "F2")} <= found
        assert set(system.jobs) == before


def test_a_call_that_fails_ends_the_calls_that_fill_a_queue() -> None:
    with example_system() as system:
        system.faults = faults = MessagePlan()
        faults.add("CPF9872", operation="QSNDDTAQ")  # once
        (found,) = observe(system, rules=["DTAQ-SEND-FULL"])
    assert found.value == "CPF9872"


def compared(own: Answers, altered: tuple[str, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, altered)
        found = compare(ibmi_answers(machine=altered_machine(altered)), own)
    allowed = set(altered).union(*(DEPENDENT.get(rule, ()) for rule in altered))
    assert set(altered) <= set(found.rules) <= allowed
    for rule in set(altered) - PLANTED.keys():
        assert found.adoptable[rule]["message"] in ("CPF9999", "CPD9999")


def test_every_tried_rule_can_be_altered() -> None:
    assert set(ALTERED) == PLANTED.keys() | (RULES_WITH_MESSAGE - not_tried().keys())
    assert not PLANTED.keys() & RULES_WITH_MESSAGE


@pytest.mark.parametrize("altered", [*((rule,) for rule in DRAWN.sample(ALTERED, 6)), *PAIRS[:4]], ids="+".join)
def test_altered_rules_are_named_and_no_others(own: Answers, altered: tuple[str, ...]) -> None:
    compared(own, altered)


@pytest.mark.slow
@pytest.mark.parametrize("altered", [*((rule,) for rule in ALTERED), *PAIRS], ids="+".join)
def test_each_altered_rule_and_fifty_pairs(own: Answers, altered: tuple[str, ...]) -> None:
    compared(own, altered)


def test_what_is_adopted_makes_the_simulator_answer_as_the_machine(own: Answers, tmp_path: Path) -> None:
    altered = ("DTAQ-SEND-EMPTY", "CL-TWICE", "DTAQ-XCL-USER", "DTAQ-TIME-DATE", "DTAQ-SERVER-NAMES")
    machine = ibmi_answers(machine=altered_machine(altered))
    found = compare(machine, own)
    path = tmp_path / "machine.yaml"
    path.write_text(found.machine_yaml(), "utf-8")
    assert load_machine(path).answers.keys() == set(altered)
    assert compare(machine, ibmi_answers(machine=path)).rules == ()


def test_a_case_that_was_left_out_is_no_difference(own: Answers) -> None:
    kept = [each for each in own.observations if each.rule != "DTAQ-JOURNAL" and each[:2] != ("CL-SEVERAL", "NONE")]
    left = Observation("DTAQ-JOURNAL", "LEFT-OUT", "REASON", "There is no database server.")
    more = Observation("CL-SEVERAL", "LEFT-OUT", "REASON", "It took too long.")
    found = compare(Answers("IBMI", "7.4", (*kept, left, more)), own)
    assert found.rules == ()
    assert found.untried == ("DTAQ-JOURNAL",)


def test_a_value_that_is_no_message_id_is_not_adopted(own: Answers) -> None:
    changed = [each._replace(value="ok") if each.rule == "DTAQ-SEND-FULL" else each for each in own.observations]
    found = compare(Answers("IBMI", "7.4", tuple(changed)), own)
    assert found.rules == ("DTAQ-SEND-FULL",)
    assert not found.adoptable
    assert found.reasons.keys() == {"DTAQ-SEND-FULL"}


@pytest.mark.parametrize(
    ("product", "rule", "answer", "reason"),
    [
        ("CICS", "DTAQ-SEND-EMPTY", MachineAnswer(message="CPF9999"), "is an answer of CICS"),
        ("IBMI", "DTAQ-SEND-EMPTY", MachineAnswer(resp2=3), "has more than a message"),
        *(
            ("IBMI", each, MachineAnswer(message="CPF9999"), f"{each}.* whose message the simulator cannot replace")
            for each in (
                *("DTAQ-SIZE-MODEL", "DTAQ-LIB-DELETE", "DTAQ-REVOKE-SOME", "DTAQ-AUTHORITY-CACHE-EACH"),
                "DTAQ-LOCK-WAIT-OVER",
            )
        ),
    ],
)
def test_answers_that_a_system_cannot_give(product: str, rule: str, answer: MachineAnswer, reason: str) -> None:
    with pytest.raises(DefinitionError, match=reason):
        System(machine=Machine("machine.yaml", product, "7.5", {rule: answer}))


def test_a_system_file_names_the_machine(tmp_path: Path) -> None:
    text = "product: IBMI\nrules:\n  CL-TWICE: {message: CPD0999}\n"
    (tmp_path / "ours.yaml").write_text(text, "utf-8")
    (tmp_path / "system.yaml").write_text("machine: ours.yaml\n", "utf-8")
    with system_from_directory(tmp_path) as system, system.job() as job:
        with pytest.raises(EscapeMessage) as caught:
            job.command("CRTDTAQ QGPL/Q MAXLEN(5) MAXLEN(6)")
        with pytest.raises(EscapeMessage, match="CPD0071"):
            job.command("CRTDTAQ MAXLEN(5)")
    assert [one.message_id for one in caught.value.diagnostics] == ["CPD0999"]


def test_the_variables_of_a_message_of_a_machine() -> None:
    answers = {
        "DTAQ-SEND-EMPTY": MachineAnswer(message="CPF950A"),  # known, with other variables
        "DTAQ-SEND-FULL": MachineAnswer(message="CPF9501"),  # known, with the same variables
        "DTAQ-RECEIVE-ORDER": MachineAnswer(message="CPX0001"),  # in no message file
    }
    with System(machine=Machine("machine.yaml", "IBMI", "7.5", answers)) as system, system.job() as job:
        job.crtdtaq("QGPL/Q", maxlen=5, size=(1, 1))
        job.crtdtaq("QGPL/K", maxlen=5, seq="*KEYED", keylen=1)
        with pytest.raises(EscapeMessage) as empty:
            job.qsnddtaq("QGPL/Q", data=b"")
        job.qsnddtaq("QGPL/Q", data=b"x")
        with pytest.raises(EscapeMessage) as full:
            job.qsnddtaq("QGPL/Q", data=b"x")
        with pytest.raises(EscapeMessage) as order:
            job.qrcvdtaq("QGPL/K", key_order="XX", key=b"a")
        with pytest.raises(EscapeMessage, match="CPF2498"):
            job.qsnddtaq("QGPL/Q", data=b"longer")  # another rule
        ids = [each.value.message_id for each in (empty, full, order)]
    assert ids == ["CPF950A", "CPF9501", "CPX0001"]
    assert (full.value.message_data[:10], order.value.text) == ("Q         ".encode("cp037"), "")


def test_a_comparison_without_the_extra_says_which_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tdqsim.probe.ibmi_run", None)  # as where a package that it imports is missing
    with pytest.raises(ExtraMissing, match=r"\[serve\]'? .*brings it"):
        compare_with_simulator(Answers("IBMI", "7.5", ()))
