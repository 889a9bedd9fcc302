"""The chapters of the guide that are made from tables of facts and docstrings: :data:`PAGES`.

A rule whose confidence is ``choice`` is ours because the manuals are silent; one that is ``second-hand`` or
``unconfirmed`` comes from other descriptions or from general knowledge. A real system may differ from both kinds, so
each is listed in a chapter with its source. The chapters are rendered when they are read; they are not files of the
package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Final

from tdqsim.facts import Rule, rules, table

__all__ = ["PAGES", "choices", "coverage", "differences", "reference"]

_CHOICES: Final = """\
# Design choices

Where the manuals are silent, tdqsim has to choose a behaviour. This chapter lists these {count} choices with their
reasons. If you know that a real system behaves differently, please open an issue. The last column is the name of the
rule in the table of rules (`tdqsim/facts/rules.tsv`).
"""
_DIFFERENCES: Final = """\
# Differences from CICS and IBM i

tdqsim simulates queues as programs, operators and scripts see them. This chapter lists what is not simulated, and
the rules that no manual confirms: they come from public programs and decks, from other descriptions, or from general
knowledge. The chapter [Design choices](choices.md) lists the rules that we chose ourselves, and
[Coverage](coverage.md) lists everything that is simulated.

## Not simulated

| in CICS | here |
| --- | --- |
{absent}

## Rules that no manual confirms

Of {all} rules, manuals confirm {confirmed}, and {choices} are design choices. These are the other {count}.
"""
_RULES: Final = """
## Rules

All {count} rules of behaviour, by command, with their confidence: *confirmed* by a manual, *second-hand*,
*unconfirmed*, or a design *choice*. The last column is the name of the rule in `tdqsim/facts/rules.tsv`.
"""


def choices() -> str:
    """The chapter of choices."""
    chosen = [rule for rule in rules().values() if rule.confidence == "choice"]
    return _CHOICES.format(count=len(chosen)) + _sections(chosen, "why", _why)


def differences() -> str:
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
    return head + _sections(others, "source", lambda rule: rule.source)


def coverage() -> str:
    """The chapter of what is simulated: commands, options, conditions, attributes, APIs and rules."""
    from tdqsim.testing.coverage import declared_page  # noqa: PLC0415  (imports every room)

    known = list(rules().values())
    return (
        declared_page() + _RULES.format(count=len(known)) + _sections(known, "confidence", lambda rule: rule.confidence)
    )


def reference() -> str:
    """The chapter of the Python API."""
    from tdqsim.cli.reference import overview  # noqa: PLC0415  (imports every room)

    return overview()


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
    """The condition with its RESP2, a message id, words of the message or the value; or nothing."""
    condition = f"{rule.resp} {rule.resp2}".strip()
    message = f'"{rule.message}"' if any(each.islower() for each in rule.message) else rule.message
    return ", ".join(part for part in (condition, message) if part)


def _why(rule: Rule) -> str:
    """The reason: what stands behind ``choice:``, or the whole where the choice is a part of the source."""
    head, found, rest = rule.source.partition("choice: ")
    return rest if found and not head else rule.source


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


PAGES: Final = {"choices": choices, "differences": differences, "coverage": coverage, "reference": reference}
"""The chapters that are made here, by name."""
