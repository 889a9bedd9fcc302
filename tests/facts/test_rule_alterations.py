"""Alter each rule's outcome and see its tests fail; a test that still passes does not look at the row.

Slow: one pytest run for each altered cell. Run with ``pytest -m slow tests/facts/test_rule_alterations.py``; the variable
``TDQ_RULES_ONLY`` picks the rules whose id begins so.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tdqsim.facts import Resp, Rule, rules
from tests.facts._markers import TESTS, marked_tests

COLUMNS = ("resp", "resp2", "message")


def alterations() -> list[tuple[Rule, str, str]]:
    chosen = [row for row in rules().values() if row.id.startswith(os.environ.get("TDQ_RULES_ONLY", ""))]
    return [
        (row, column, other(column, getattr(row, column)))
        for row in chosen
        for column in COLUMNS
        if compared(row, column)
    ]


def compared(row: Rule, column: str) -> bool:
    """Whether tests can see the cell: NORMAL has no RESP2, and a message beside a RESP is logged by CICS."""
    if column == "resp2" and row.resp == "NORMAL":
        return False
    return bool(getattr(row, column)) and not (column == "message" and row.resp)


def other(column: str, value: str) -> str:
    if column == "resp":
        return "ERROR" if value != "ERROR" else "QZERO"
    return str(int(value) + 1) if value.isdigit() else f"{value}-ALTERED"


@pytest.mark.slow
@pytest.mark.parametrize(("row", "column", "value"), [pytest.param(*a, id=f"{a[0].id}-{a[1]}") for a in alterations()])
def test_an_altered_row_fails_its_tests(row, column, value):
    tests = marked_tests().get(row.id, [])
    assert tests, "no test carries the rule"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "", *tests]
    environment = os.environ | {"TDQ_RULES_ALTER": f"{row.id}:{column}={value}"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    result = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == pytest.ExitCode.TESTS_FAILED, f"altered {column} to {value}: {result.stdout[-2000:]}"


def test_alterations_change_the_value():
    assert other("resp", "QZERO") in Resp.__members__
    assert other("resp", "ERROR") != "ERROR"
    assert other("resp2", "1") == "2"
