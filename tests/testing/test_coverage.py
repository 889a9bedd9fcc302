"""The coverage page says what the declarations say."""

from __future__ import annotations

from pathlib import Path

from tdqsim.cics.command import COMMANDS
from tdqsim.cli import main
from tdqsim.facts import rules, table
from tdqsim.ibmi import DECLARATIONS
from tdqsim.testing import coverage_page
from tdqsim.testing.coverage import marked_tests

TESTS = Path(__file__).resolve().parents[1]


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
    assert "| TDQUEUE | TRIGGERLEVEL | INTRA | done |" in page
    assert "| TRANSACTION | ALIAS |  | without effect |" in page


def test_rules_are_shown_with_the_tests_that_carry_them() -> None:
    known = marked_tests(TESTS)
    assert any(test.startswith("tests/cics/kernel/test_commands.py::") for test in known["TD-DISABLED"])
    assert known["TD-DISABLED"][0] in row(coverage_page(TESTS), "TD-DISABLED")[-1]


def test_the_command_line_writes_and_checks_the_page(tmp_path: Path) -> None:
    page = tmp_path / "coverage.md"
    assert main(["coverage", "--write", str(page)]) == 0
    assert main(["coverage", "--check", str(page)]) == 0
    page.write_text(page.read_text("utf-8") + "x", "utf-8")
    assert main(["coverage", "--check", str(page)]) != 0
