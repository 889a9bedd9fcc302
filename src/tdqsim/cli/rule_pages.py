"""Writes the chapters *choices* and *differences* from the tables of facts: ``python -m tdqsim.cli.rule_pages``.

A rule whose confidence is ``choice`` is ours because the manuals are silent; one that is ``second-hand`` or
``unconfirmed`` is what others tell, or general knowledge. Both are where a real system may do otherwise, so each stands
in a chapter with its source. A test sees that the chapters are what the tables say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Final

from tdqsim.facts import Rule, rules, table

__all__ = ["PAGES", "choices_page", "differences_page"]

_GUIDE: Final = Path(__file__).resolve().parents[1] / "guide"
_CHOICES: Final = """\
# What is a choice

Where the manuals are silent the simulator has to do something all the same. These are the {count} rules that are such
choices of ours, with the reason; whoever knows what a real system does is welcome to say so. The last column is the
row's name in the table of rules (`tdqsim/facts/rules.tsv`), by which the tests name it too.
"""
_DIFFERENCES: Final = """\
# Differences from CICS and IBM i

What is simulated is how programs, operators and scripts see queues. This page says what is not there, and which rules
no manual confirms: those are taken from public programs and decks, from other descriptions, or from general
knowledge. What is a choice of ours is in the chapter [choices](choices.md), what is done and what is not in
[coverage](coverage.md).

## What is not there

| in CICS | here |
| --- | --- |
{absent}

## What no manual confirms

Of {all} rules {confirmed} are confirmed by a manual and {choices} are choices; these are the other {count}.
"""


def choices_page() -> str:
    """The chapter of choices."""
    chosen = [rule for rule in rules().values() if rule.confidence == "choice"]
    return _CHOICES.format(count=len(chosen)) + _sections(chosen, "why", _why)


def differences_page() -> str:
    """The chapter of what is absent and what no manual confirms."""
    known = list(rules().values())
    others = [rule for rule in known if rule.confidence not in ("choice", "confirmed")]
    confirmed = sum(rule.confidence == "confirmed" for rule in known)
    absent = "\n".join(f"| {_cell(row['in_cics'])} | {_cell(row['here'])} |" for row in table("absent"))
    head = _DIFFERENCES.format(
        absent=absent,
        all=len(known),
        confirmed=confirmed,
        choices=len(known) - confirmed - len(others),
        count=len(others),
    )
    return head + _sections(others, "from", lambda rule: rule.source)


def _sections(found: Iterable[Rule], heading: str, reason: Callable[[Rule], str]) -> str:
    """A table for each command, in the order of the commands' names; below it a line for each rule."""
    by_command = groupby(sorted(found, key=lambda rule: rule.command), key=lambda rule: rule.command)
    parts = []
    for command, members in by_command:
        rows = [
            f"| {_cell(rule.circumstances)} | {_cell(_outcome(rule))} | {_cell(reason(rule))} | `{rule.id}` |"
            for rule in members
        ]
        head = [f"\n### {command}\n", f"| when | then | {heading} | rule |", "| --- | --- | --- | --- |"]
        parts.append("\n".join([*head, *rows]))
    return "\n".join(parts) + "\n"


def _outcome(rule: Rule) -> str:
    """The condition with its RESP2, a message id, words of the message or the value; blank where all is said."""
    condition = f"{rule.resp} {rule.resp2}".strip()
    message = f'"{rule.message}"' if any(each.islower() for each in rule.message) else rule.message
    return ", ".join(part for part in (condition, message) if part)


def _why(rule: Rule) -> str:
    """The reason: what stands behind ``choice:``, or the whole where the choice is a part of the source."""
    head, found, rest = rule.source.partition("choice: ")
    return rest if found and not head else rule.source


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


PAGES: Final = {"choices": choices_page, "differences": differences_page}
"""The chapters that are made here, by name."""

if __name__ == "__main__":
    for name, page in PAGES.items():
        (_GUIDE / f"{name}.md").write_text(page(), "utf-8")
