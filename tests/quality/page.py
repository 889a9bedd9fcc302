"""The coverage page of the project: what tests hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tdqsim.testing.coverage import Tested, sections
from tests.quality.evidence import Evidence

_INTRODUCTION: Final = (
    "This page is made by `python -m tests.quality` from the declarations of the commands, the tables of facts, what was recorded "
    "while the tests ran (`pytest --tdq-evidence FILE`), and what tests notice when it is taken away (`python -m tests.quality "
    "--ablate`). *done*: it has its effect here: a test fails when the command does nothing, the option is dropped, "
    "the attribute has its default, the condition or message is another one, or the receiver gets nothing; *seen in* "
    "names the test. *seen only*: a test exercises it, and none that was tried fails without it. *without effect*: "
    "accepted and checked, and nothing changes. *untouched*: declared, and no test has exercised it. *absent*: "
    "refused."
)


def coverage_page(evidence: Evidence | None = None, verdicts: Mapping[str, str] | None = None) -> str:
    """The page, as Markdown.

    Args:
        evidence: what tests have exercised; without it, everything that is declared is untouched.
        verdicts: the tests that fail without a claim; without them, what tests have exercised is seen only.
    """
    held = Tested(Evidence() if evidence is None else evidence, verdicts or {})
    parts = [
        "# What is covered",
        _INTRODUCTION,
        *sections(held, every=True),
    ]
    return "\n\n".join(parts) + "\n"


def differences(page: str, other: str) -> list[str]:
    """The lines that differ between two pages.

    Names of tests are ignored: which of several tests is named may differ from run to run.
    """
    ours, theirs = (dict.fromkeys(map(_without_tests, each.splitlines())) for each in (page, other))
    return [f"- {line}" for line in ours if line not in theirs] + [f"+ {line}" for line in theirs if line not in ours]


def _without_tests(line: str) -> str:
    return line.rpartition("|")[0].rpartition("|")[0] if line.startswith("| ") and line.endswith("|") else line
