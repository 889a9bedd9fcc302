"""The chapters *choices* and *differences* are what the tables of facts say."""

from __future__ import annotations

from pathlib import Path

import pytest

import tdqsim
from tdqsim.cli.rule_pages import PAGES
from tdqsim.facts import rules, table

GUIDE = Path(tdqsim.__file__).parent / "guide"


@pytest.mark.parametrize("name", PAGES)
def test_a_chapter_is_as_it_is_made(name: str) -> None:
    made = PAGES[name]()
    assert (GUIDE / f"{name}.md").read_text("utf-8") == made, "python -m tdqsim.cli.rule_pages writes it anew"


def test_every_rule_that_no_manual_confirms_stands_in_one_of_them() -> None:
    choices, differences = ((GUIDE / f"{name}.md").read_text("utf-8") for name in ("choices", "differences"))
    for rule in rules().values():
        row = f"| `{rule.id}` |"
        where = (row in choices, row in differences)
        assert where == (rule.confidence == "choice", rule.confidence in ("second-hand", "unconfirmed")), rule.id
    for row in table("absent"):
        assert row["here"] in differences
