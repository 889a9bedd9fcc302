"""What of the vendors' surface is there: a page made of the declarations, the tables of facts, and what holds them.

*done* means that it has its effect here and something holds it: a rule with its tests, or a test that names it (see
:mod:`~tdqsim.testing.evidence`). *without effect* means that it is accepted and checked and changes nothing; that too
is held by something. *unproven* is declared, and nothing holds it. *absent* is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tdqsim.cics import Region  # noqa: F401  (declares every command)
from tdqsim.cics.kernel.command import COMMANDS, Command
from tdqsim.facts import Rule, rules, table
from tdqsim.ibmi import DECLARATIONS
from tdqsim.testing.evidence import Evidence, marked_tests

__all__ = ["coverage_page", "marked_tests"]

_NOT_CHECKED: Final = ("NOHANDLE",)
_INTRODUCTION: Final = (
    "This page is made by `tdq coverage` from the declarations of the commands, the tables of facts, the rules and the "
    "tests that carry them. *done*: it has its effect here, and the rules or tests under *held by* hold it. *without "
    "effect*: accepted and checked, and nothing changes. *unproven*: declared, and nothing holds it. *absent*: refused."
)


def coverage_page(tests: Path | None = None) -> str:
    """The page, as Markdown.

    Args:
        tests: the directory of the tests, to name those of each rule and to find what holds each row; without it only
            rules count.
    """
    evidence = Evidence(tests)
    parts = [
        "# What is covered",
        _INTRODUCTION,
        *_commands(evidence),
        *_attributes(evidence),
        *_inquire(evidence),
        *_cvdas(evidence),
        *_ibmi(evidence),
        *_messages(evidence),
        *_rules(evidence),
    ]
    return "\n\n".join(parts) + "\n"


def _grid(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(heads)
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    lines += [f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _of_command(name: str) -> list[Rule]:
    return [rule for rule in rules().values() if rule.command == name]


def _state(held: str, *, idle: bool = False) -> str:
    return ("without effect" if idle else "done") if held else "unproven"


def _commands(evidence: Evidence) -> Iterator[str]:
    names = [*COMMANDS, *(row["command"] for row in table("eibfn") if row["command"] not in COMMANDS)]
    rows: list[tuple[object, ...]] = []
    for name in names:
        command = COMMANDS.get(name)
        if command is None:
            rows.append((name, "absent", "", "", "", ""))
            continue
        options = dict.fromkeys(option.word for option in command.options if option.word)
        conditions = sorted(resp.name for resp in command.conditions)
        count = len(_of_command(name))
        held = str(count) if count else evidence.of(name.split(" ", maxsplit=1)[0])
        unproven = " ".join(_unproven(command, evidence))
        rows.append((name, _state(held), " ".join(options), " ".join(conditions), unproven, count or ""))
    yield "## EXEC CICS commands"
    yield "Under *unproven* are the options and conditions that neither a rule nor a test names."
    yield _grid(("command", "state", "options", "conditions", "unproven", "rules"), rows)


def _unproven(command: Command, evidence: Evidence) -> Iterator[str]:
    words = [option.word for option in command.options] + sorted(resp.name for resp in command.conditions)
    for word in dict.fromkeys(words):
        if word and word not in _NOT_CHECKED and not evidence.holds(word, table="inquire"):
            yield word


def _attributes(evidence: Evidence) -> Iterator[str]:
    idle = {(row["resource"], row["name"]) for row in table("attributes_without_effect")}
    named = [("TDQUEUE", row["name"], row["types"]) for row in table("tdqueue_attributes")]
    known = {(resource, name) for resource, name, _ in named}
    named += [(resource, name, "") for resource, name in sorted(idle - known)]
    rows = []
    for resource, name, types in named:
        without = (resource, name) in idle
        held = evidence.of(name, table="attributes_without_effect" if without else "tdqueue_attributes")
        rows.append((resource, name, types, _state(held, idle=without), held))
    yield "## Attributes of definitions"
    yield _grid(("resource", "attribute", "types", "state", "held by"), rows)


def _inquire(evidence: Evidence) -> Iterator[str]:
    settable = {row["name"] for row in table("set_tdqueue")}
    rows = []
    for row in (each for each in table("inquire") if each["resource"] == "TDQUEUE"):
        name = row["option"]
        held = evidence.of(name, "INQUIRE TDQUEUE", "CREATE TDQUEUE", "SET TDQUEUE", table="inquire")
        changed = evidence.of(name, "SET TDQUEUE", table="set_tdqueue") if name in settable else ""
        rows.append((name, _state(held), _state(changed) if name in settable else "-", row["values"], held))
    yield "## INQUIRE and SET TDQUEUE"
    yield _grid(("option", "INQUIRE", "SET", "values", "held by"), rows)


def _cvdas(evidence: Evidence) -> Iterator[str]:
    yield "## CVDAs and conditions"
    yield "CVDAs: " + ", ".join(f"{row['name']} {row['value']}" for row in table("cvda")) + "."
    raised = {resp.name for command in COMMANDS.values() for resp in command.conditions}
    rows = []
    for row in table("resp"):
        held = evidence.of(row["name"], table="resp") if row["name"] in raised else ""
        state = ("raised" if held else "unproven") if row["name"] in raised else "known by number"
        rows.append((row["name"], row["value"], state, held))
    yield _grid(("condition", "RESP", "state", "held by"), rows)


def _ibmi(evidence: Evidence) -> Iterator[str]:
    rows = []
    for name, each in DECLARATIONS.items():
        ids = [rule.id for rule in _of_command(name)]
        held = evidence.of(name) if not ids else f"{len(ids)} rules"
        messages = [use.message_id for use in each.messages]
        unproven = [one for one in dict.fromkeys(messages) if not evidence.holds(one, table="ibmi_api_messages")]
        rows.append((name, _state(held), len(each.parameters) or "", " ".join(messages), " ".join(unproven), held))
    yield "## IBM i APIs and commands"
    yield _grid(("name", "state", "parameters", "messages", "unproven", "held by"), rows)
    formats = dict.fromkeys(row["format"] for row in table("ibmi_formats"))
    yield _grid(
        ("format", "state", "held by"),
        [(name, _state(held := evidence.of(name.partition(".")[0], table="ibmi_formats")), held) for name in formats],
    )


def _messages(evidence: Evidence) -> Iterator[str]:
    rows = []
    for kind, name in (("cpf_messages", "kind"), ("kernel_messages", "destination")):
        for row in table(kind):
            held = evidence.of(row["id"], table=kind)
            rows.append((row["id"], row[name], _state(held), row["text"], held))
    yield "## Messages"
    yield _grid(("message", "kind or destination", "state", "text", "held by"), rows)


def _rules(evidence: Evidence) -> Iterator[str]:
    yield "## Rules"
    heads = ["rule", "command", "outcome", "confidence"] + (["tests"] if evidence.has_tests else [])
    rows = []
    for rule in sorted(rules().values()):
        outcome = " ".join(word for word in (rule.resp, rule.resp2, rule.message) if word)
        row: list[object] = [rule.id, rule.command, outcome, rule.confidence]
        if evidence.has_tests:
            row.append(", ".join(dict.fromkeys(evidence.marked.get(rule.id, ["-"]))))
        rows.append(row)
    yield _grid(heads, rows)
