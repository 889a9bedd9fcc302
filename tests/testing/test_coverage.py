"""The coverage page says what the declarations say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim import EscapeMessage, System
from tdqsim.cics.kernel.command import COMMANDS
from tdqsim.cli import main
from tdqsim.definitions import parse_definitions
from tdqsim.facts import rules, table
from tdqsim.ibmi import DECLARATIONS
from tdqsim.testing import FaultPlan, MessageFault, coverage_page
from tdqsim.testing.coverage import marked_tests

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def whole() -> str:
    return coverage_page(TESTS)


def row(page: str, name: str) -> list[str]:
    line = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_command_api_attribute_and_rule_is_on_the_page() -> None:
    page = coverage_page()
    for name in (*COMMANDS, *DECLARATIONS, *rules()):
        assert row(page, name)
    assert row(page, "READQ TD")[1] == "done"
    assert "NOSUSPEND" in row(page, "READQ TD")[2].split()
    assert "QZERO" in row(page, "READQ TD")[3].split()
    absent = next(each["command"] for each in table("eibfn") if each["command"] not in COMMANDS)
    assert row(page, absent)[1] == "absent"
    assert row(page, "TDQUEUE")[0] == "TDQUEUE"
    assert "| TDQUEUE | TRIGGERLEVEL | INTRA | done | ATI-LEVEL, " in page
    assert "| TRANSACTION | ALIAS |  | unproven |  |" in page  # without the tests only rules count


def test_rules_are_shown_with_the_tests_that_carry_them(whole: str) -> None:
    known = marked_tests(TESTS)
    assert any(test.startswith("tests/cics/kernel/test_commands.py::") for test in known["TD-DISABLED"])
    assert known["TD-DISABLED"][0] in row(whole, "TD-DISABLED")[-1]


def test_a_state_is_taken_from_what_holds_it(whole: str) -> None:
    assert "| TRANSACTION | ALIAS |  | without effect | tests/" in whole
    assert row(whole, "QSNDDTAQ")[1] == "done"
    assert row(whole, "CPF9872")[2] == "done"


def test_what_nothing_holds_is_unproven(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "def test_one():\n    define(jobuserid='X')\n\ndef test_all():\n    for row in table('ibmi_formats'):\n        pass\n"
    )
    page = coverage_page(tmp_path)
    place = f"{tmp_path.name}/test_one.py"
    assert f"| TDQUEUE | JOBUSERID | EXTRA | done | {place}::test_one |" in page
    assert row(page, "JOENT")[1:] == ["done", f"{place}::test_all"]
    assert "| TRANSACTION | ALIAS |  | unproven |  |" in page


@pytest.mark.parametrize("resource", ["TRANSACTION", "TERMINAL", "CONNECTION"])
def test_attributes_without_effect_are_accepted_and_noted(resource: str) -> None:
    names = [each["name"] for each in table("attributes_without_effect") if each["resource"] == resource]
    lines = "".join(f"  {name.lower()}: X\n" for name in names)
    found = parse_definitions(f"group: G\n{resource.lower()}:\n- name: ABCD\n{lines}", file="one.yaml")
    noted = " ".join(f"{note.attribute} {note.message}" for note in found.notes)
    assert [name for name in names if name.lower() not in noted.lower()] == []


@pytest.mark.parametrize("message", [each["id"] for each in table("cpf_messages") if each["kind"] == "escape"])
def test_every_escape_message_can_be_planned(message: str) -> None:
    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        with FaultPlan(MessageFault(message)).on(system), pytest.raises(EscapeMessage) as caught:
            job.qsnddtaq("ORDERS", "QGPL", b"x")
        assert caught.value.message_id == message
        assert caught.value.text


def test_the_command_line_writes_and_checks_the_page(tmp_path: Path) -> None:
    page = tmp_path / "coverage.md"
    assert main(["coverage", "--write", str(page)]) == 0
    assert main(["coverage", "--check", str(page)]) == 0
    page.write_text(page.read_text("utf-8") + "x", "utf-8")
    assert main(["coverage", "--check", str(page)]) != 0
