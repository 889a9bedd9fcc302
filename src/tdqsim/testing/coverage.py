"""What of the vendors' surface is there: a page made of the declarations and the tables of facts.

*done* means that it has its effect here, *without effect* that it is accepted and checked and changes nothing,
*absent* that it is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tdqsim.cics import Region  # noqa: F401  (declares every command)
from tdqsim.cics.command import COMMANDS
from tdqsim.facts import Rule, rules, table
from tdqsim.ibmi import DECLARATIONS

__all__ = ["coverage_page", "marked_tests"]


def marked_tests(tests: Path) -> dict[str, list[str]]:
    """The tests that carry each rule's id in a marker, by reading their sources: ``tests/cics/test_x.py::test_y``."""
    found: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("*.py")):
        module = path.relative_to(tests.parent).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for rule in _marked(node.decorator_list):
                    found.setdefault(rule, []).append(f"{module}::{node.name}")
    return found


def _marked(decorators: Iterable[ast.expr]) -> Iterator[str]:
    for decorator in decorators:
        for call in ast.walk(decorator):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "rule":
                yield from (
                    each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )


def coverage_page(tests: Path | None = None) -> str:
    """The page, as Markdown.

    Args:
        tests: the directory of the tests, to name those of each rule; None leaves them out.
    """
    known = marked_tests(tests) if tests is not None else None
    parts = [
        "# What is covered",
        "This page is made by `tdq coverage` from the declarations of the commands and the tables of facts.",
        *_commands(),
        *_attributes(),
        *_inquire(),
        *_cvdas(),
        *_ibmi(),
        *_messages(),
        *_rules(known),
    ]
    return "\n\n".join(parts) + "\n"


def _grid(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(heads)
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    lines += [f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _of_command(name: str) -> list[Rule]:
    return [rule for rule in rules().values() if rule.command == name]


def _commands() -> Iterator[str]:
    names = [*COMMANDS, *(row["command"] for row in table("eibfn") if row["command"] not in COMMANDS)]
    rows: list[tuple[object, ...]] = []
    for name in names:
        command = COMMANDS.get(name)
        if command is None:
            rows.append((name, "absent", "", "", ""))
            continue
        options = dict.fromkeys(option.word for option in command.options if option.word)
        conditions = sorted(resp.name for resp in command.conditions)
        rows.append((name, "done", " ".join(options), " ".join(conditions), len(_of_command(name)) or ""))
    yield "## EXEC CICS commands"
    yield _grid(("command", "state", "options", "conditions", "rules"), rows)


def _attributes() -> Iterator[str]:
    idle = {(row["resource"], row["name"]) for row in table("attributes_without_effect")}
    rows = [
        ("TDQUEUE", row["name"], row["types"], _effect(("TDQUEUE", row["name"]), idle))
        for row in table("tdqueue_attributes")
    ]
    named = {("TDQUEUE", row[1]) for row in rows}
    rows += [(resource, name, "", "without effect") for resource, name in sorted(idle - named)]
    yield "## Attributes of definitions"
    yield _grid(("resource", "attribute", "types", "state"), rows)


def _effect(what: tuple[str, str], idle: set[tuple[str, str]]) -> str:
    return "without effect" if what in idle else "done"


def _inquire() -> Iterator[str]:
    settable = {row["name"] for row in table("set_tdqueue")}
    rows = [
        (row["option"], "done", "done" if row["option"] in settable else "-", row["values"])
        for row in table("inquire_tdqueue")
    ]
    yield "## INQUIRE and SET TDQUEUE"
    yield _grid(("option", "INQUIRE", "SET", "values"), rows)


def _cvdas() -> Iterator[str]:
    yield "## CVDAs and conditions"
    yield "CVDAs: " + ", ".join(f"{row['name']} {row['value']}" for row in table("cvda")) + "."
    raised = {resp.name for command in COMMANDS.values() for resp in command.conditions}
    rows = [
        (row["name"], row["value"], "raised" if row["name"] in raised else "known by number") for row in table("resp")
    ]
    yield _grid(("condition", "RESP", "state"), rows)


def _ibmi() -> Iterator[str]:
    rows = [
        (name, "done", len(each.parameters) or "", " ".join(use.message_id for use in each.messages))
        for name, each in DECLARATIONS.items()
    ]
    yield "## IBM i APIs and commands"
    yield _grid(("name", "state", "parameters", "messages"), rows)
    formats = dict.fromkeys(row["format"] for row in table("ibmi_formats"))
    yield f"Formats: {', '.join(formats)}."


def _messages() -> Iterator[str]:
    rows = [(row["id"], row["kind"], row["text"]) for row in table("cpf_messages")]
    rows += [(row["id"], row["destination"], row["text"]) for row in table("kernel_messages")]
    yield "## Messages"
    yield _grid(("message", "kind or destination", "text"), rows)


def _rules(tests: Mapping[str, list[str]] | None) -> Iterator[str]:
    yield "## Rules"
    heads = ["rule", "command", "outcome", "confidence"] + (["tests"] if tests is not None else [])
    rows = []
    for rule in sorted(rules().values()):
        outcome = " ".join(word for word in (rule.resp, rule.resp2, rule.message) if word)
        row: list[object] = [rule.id, rule.command, outcome, rule.confidence]
        if tests is not None:
            row.append(", ".join(dict.fromkeys(tests.get(rule.id, ["-"]))))
        rows.append(row)
    yield _grid(heads, rows)
