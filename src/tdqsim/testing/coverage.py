"""The coverage page: which commands, options, attributes and messages are simulated, and which of them tests use.

It is made from the declarations, the tables of facts, and the evidence of tests. *done* means that it has its effect
here, and a test that passed has exercised it (see :mod:`~tdqsim.testing.evidence`). *without effect* means that it is
accepted and checked and changes nothing; a test has used it. *untouched* is declared, but no test has exercised it.
*absent* is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tdqsim.cics import Region  # noqa: F401  (declares every command)
from tdqsim.cics.kernel.command import COMMANDS, Command
from tdqsim.facts import Rule, rules, table
from tdqsim.ibmi import DECLARATIONS
from tdqsim.testing.evidence import Evidence

__all__ = ["coverage_page", "declared_page", "differences"]

_NOT_CHECKED: Final = ("NOHANDLE",)
_UNTOUCHED: Final = "untouched"
_OF_TESTS: Final = frozenset({"untouched", "seen in"})
"""The columns that need evidence of tests."""
_DECLARED: Final = (
    "This page is made from the declarations of the commands and the tables of facts. *done*: tdqsim simulates it. "
    "*without effect*: accepted and checked, and nothing changes. *absent*: refused. *raised*: a command can raise the "
    "condition. *known by number*: you can use the name, and no command raises the condition."
)
_INTRODUCTION: Final = (
    "This page is made by `tdq coverage` from the declarations of the commands, the tables of facts, and what was "
    "recorded while the tests ran (`pytest --tdq-evidence FILE`). *done*: it has its effect here, and a test that "
    "passed has exercised it; *seen in* names one. *without effect*: accepted and checked, and nothing changes. "
    "*untouched*: declared, and no test has exercised it. *absent*: refused."
)


def coverage_page(evidence: Evidence | None = None) -> str:
    """The page, as Markdown.

    Args:
        evidence: what tests have exercised; without it, everything that is declared is untouched.
    """
    evidence = Evidence() if evidence is None else evidence
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


class _Everything(Evidence):
    """Evidence that claims that everything was exercised: a page made with it shows declarations only."""

    def of(self, *names: str) -> str:
        """Never: everything counts as exercised."""
        return " ".join(names)


def declared_page() -> str:
    """The page for readers, as Markdown: commands, attributes, options, conditions, APIs and messages without tests."""
    evidence = _Everything()
    parts = [*_commands(evidence), *_attributes(evidence), *_inquire(evidence), *_cvdas(evidence), *_ibmi(evidence)]
    kept = [part for part in parts if not part.startswith("Under *untouched*")]
    return "\n\n".join(["# Coverage", _DECLARED, *map(_without_test_columns, kept)]) + "\n"


def _without_test_columns(part: str) -> str:
    rows = [line.strip("|").split("|") for line in part.splitlines()]
    if not part.startswith("|"):
        return part
    all_done = {row[at] for row in rows[2:] for at, name in enumerate(rows[0]) if name == " state "} == {" done "}
    hidden = _OF_TESTS | {"state"} if all_done else _OF_TESTS
    kept = [at for at, name in enumerate(rows[0]) if name.strip() not in hidden]
    return "\n".join(f"|{'|'.join(row[at] for at in kept)}|" for row in rows)


def differences(page: str, other: str) -> list[str]:
    """The lines that differ between two pages.

    Names of tests are ignored: which of several tests is named may differ from run to run.
    """
    ours, theirs = (dict.fromkeys(map(_without_tests, each.splitlines())) for each in (page, other))
    return [f"- {line}" for line in ours if line not in theirs] + [f"+ {line}" for line in theirs if line not in ours]


def _without_tests(line: str) -> str:
    return line.rpartition("|")[0].rpartition("|")[0] if line.startswith("| ") and line.endswith("|") else line


def _grid(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(heads)
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    lines += [f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _of_command(name: str) -> list[Rule]:
    return [rule for rule in rules().values() if rule.command == name]


def _state(held: str, *, idle: bool = False) -> str:
    return ("without effect" if idle else "done") if held else _UNTOUCHED


def _commands(evidence: Evidence) -> Iterator[str]:
    names = [*COMMANDS, *(row["command"] for row in table("eibfn") if row["command"] not in COMMANDS)]
    rows: list[tuple[object, ...]] = []
    for name in names:
        command = COMMANDS.get(name)
        if command is None:
            rows.append((name, "absent", "", "", "", "", ""))
            continue
        options = dict.fromkeys(option.word for option in command.options if option.word)
        conditions = sorted(resp.name for resp in command.conditions)
        held = evidence.of(f"command {name}")
        untouched = " ".join(_untouched(command, evidence))
        count = len(_of_command(name)) or ""
        rows.append((name, _state(held), " ".join(options), " ".join(conditions), untouched, count, held))
    yield "## EXEC CICS commands"
    yield "Under *untouched* are the options that no test has given, and the conditions that no test has met."
    yield _grid(("command", "state", "options", "conditions", "untouched", "rules", "seen in"), rows)


def _untouched(command: Command, evidence: Evidence) -> Iterator[str]:
    given = [option.word for option in command.options if not option.receiver]
    for word in dict.fromkeys(given):
        things = (f"option {command.name} {word}", f"asked {word}")
        if word and word not in _NOT_CHECKED and not evidence.of(*things):
            yield word
    for name in sorted(resp.name for resp in command.conditions):
        if not evidence.of(f"condition {command.name} {name}"):
            yield name


def _attributes(evidence: Evidence) -> Iterator[str]:
    idle = {(row["resource"], row["name"]) for row in table("attributes_without_effect")}
    idle |= {("TDQUEUE", row["name"]) for row in table("tdqueue_without_effect")}
    named = [("TDQUEUE", row["name"], row["types"]) for row in table("tdqueue_attributes")]
    known = {(resource, name) for resource, name, _ in named}
    named += [(resource, name, "") for resource, name in sorted(idle - known)]
    rows = []
    for resource, name, types in named:
        held = evidence.of(f"attribute {resource} {'NAME' if name == 'TDQUEUE' else name}")
        rows.append((resource, name, types, _state(held, idle=(resource, name) in idle), held))
    yield "## Attributes of definitions"
    yield _grid(("resource", "attribute", "types", "state", "seen in"), rows)


def _inquire(evidence: Evidence) -> Iterator[str]:
    settable = {row["name"] for row in table("set_tdqueue")}
    rows = []
    for row in (each for each in table("inquire") if each["resource"] == "TDQUEUE"):
        name = row["option"]
        held = evidence.of(f"asked {name}")
        changed = evidence.of(f"option SET TDQUEUE {name}") if name in settable else ""
        rows.append((name, _state(held), _state(changed) if name in settable else "-", row["values"], held))
    yield "## INQUIRE and SET TDQUEUE"
    yield _grid(("option", "INQUIRE", "SET", "values", "seen in"), rows)


def _cvdas(evidence: Evidence) -> Iterator[str]:
    yield "## CVDAs and conditions"
    yield "CVDAs: " + ", ".join(f"{row['name']} {row['value']}" for row in table("cvda")) + "."
    raised = {resp.name for command in COMMANDS.values() for resp in command.conditions}
    rows = []
    for row in table("resp"):
        name = row["name"]
        held = evidence.of(*(f"condition {command} {name}" for command in COMMANDS)) if name in raised else ""
        state = ("raised" if held else _UNTOUCHED) if name in raised else "known by number"
        rows.append((name, row["value"], state, held))
    yield _grid(("condition", "RESP", "state", "seen in"), rows)


def _ibmi(evidence: Evidence) -> Iterator[str]:
    rows = []
    for name, each in DECLARATIONS.items():
        held = evidence.of(f"api {name}")
        messages = list(dict.fromkeys(use.message_id for use in each.messages))
        untouched = [one for one in messages if not evidence.of(f"api-message {name} {one}")]
        rows.append((name, _state(held), len(each.parameters) or "", " ".join(messages), " ".join(untouched), held))
    yield "## IBM i APIs and commands"
    yield _grid(("name", "state", "parameters", "messages", "untouched", "seen in"), rows)
    formats = dict.fromkeys(row["format"].partition(".")[0] for row in table("ibmi_formats"))
    held_by = {name: evidence.of(f"format {name}") for name in formats}
    yield _grid(("format", "state", "seen in"), [(name, _state(held), held) for name, held in held_by.items()])


def _messages(evidence: Evidence) -> Iterator[str]:
    rows = []
    for kind, name in (("cpf_messages", "kind"), ("kernel_messages", "destination")):
        for row in table(kind):
            held = evidence.of(f"message {row['id']}")
            rows.append((row["id"], row[name], _state(held), row["text"], held))
    yield "## Messages"
    yield _grid(("message", "kind or destination", "state", "text", "seen in"), rows)


def _rules(evidence: Evidence) -> Iterator[str]:
    rows = []
    for rule in sorted(rules().values()):
        outcome = " ".join(word for word in (rule.resp, rule.resp2, rule.message) if word)
        held = evidence.of(f"rule {rule.id}")
        rows.append((rule.id, rule.command, outcome, rule.confidence, "held" if held else _UNTOUCHED, held))
    yield "## Rules"
    yield _grid(("rule", "command", "outcome", "confidence", "state", "seen in"), rows)
