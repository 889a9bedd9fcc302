"""Alter each rule's outcome and see its tests fail; a test that still passes does not look at the row.

A rule in words has an example (tests/facts/examples): each value that it expects is altered, and its ``when`` is left out.

Slow: one pytest run for each altered cell. Run with ``pytest -m slow tests/facts/test_rule_alterations.py``; the variable
``TDQ_RULES_ONLY`` picks the rules whose id begins so.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tdqsim.facts import Resp, Rule, rules
from tests.facts._examples import Example, ExampleFailed, examples, needs, run_example
from tests.facts._markers import TESTS, marked_tests
from tests.facts._steps import altered

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


def altered_examples(example: Example) -> list[Example]:
    """The example with each expected value of its ``when`` and ``then`` altered, one at a time."""
    found = []
    for part in ("when", "then"):
        steps = getattr(example, part)
        for number, step in enumerate(steps):
            if step.compared:
                other_step = step._replace(expected=altered(step.expected))
                found.append(example._replace(**{part: (*steps[:number], other_step, *steps[number + 1 :])}))
    return found


NOTHING_CHANGES = {
    "ATI-ROLLBACK-NEVER", "BROWSE-TASK-END", "SET-ATI-SESSION", "SET-NULL-VALUES", "SET-ENABLE-OPEN-INDEPENDENT",
    "SET-ALL-OR-NOTHING", "CREATE-BACKS-OUT", "DISCARD-NO-SYNCPOINT", "FORMATTIME-DEFAULT-SEPARATORS",
    "STATS-FAILED-REQUESTS", "UOW-LOGICAL-BACKOUT-HEAD", "TASK-HANDLE-ORDER", "IC-RESTART-COLD", "IC-SHUTDOWN",
    "DS-DUMMY", "EXIT-XTDREQ-OK", "STATS-OFF", "DTAQ-RETRIEVE-REMOVES-NOTHING", "DTAQ-RECLAIM-LAST-ENTRY", "DTAQ-ALLOCATION-STAYS",
}  # fmt: skip
"""Rules by which what was done has no effect, or is undone: their examples hold without it too."""

chosen_examples = [each for each in examples().values() if each.id.startswith(os.environ.get("TDQ_RULES_ONLY", ""))]


@pytest.mark.slow
@pytest.mark.parametrize("example", [pytest.param(each, marks=needs(each), id=each.id) for each in chosen_examples])
def test_an_altered_example_fails(example):
    for each in altered_examples(example):
        with pytest.raises(ExampleFailed):
            run_example(each)
    if example.when and example.id not in NOTHING_CHANGES:
        with pytest.raises(ExampleFailed):
            run_example(example._replace(when=()))


def test_alterations_change_the_value():
    assert other("resp", "QZERO") in Resp.__members__
    assert other("resp", "ERROR") != "ERROR"
    assert other("resp2", "1") == "2"
