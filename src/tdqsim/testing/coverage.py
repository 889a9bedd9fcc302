"""The chapter *coverage*: which commands, options, attributes and messages are simulated.

It is made from the declarations and the tables of facts. *done* is simulated. *without effect* is accepted and checked,
and changes nothing. *absent* is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tdqsim import definitions
from tdqsim.cics import Region  # noqa: F401  (declares every command)
from tdqsim.cics.kernel.command import COMMANDS, Command
from tdqsim.facts import rules, table
from tdqsim.ibmi import DECLARATIONS

_NOT_CHECKED: Final = ("NOHANDLE",)
_DONE: Final = "done"
_IDLE: Final = "without effect"
_RESOURCES: Final = (
    definitions.Transaction, definitions.File, definitions.ProgramDefinition, definitions.Connection,
    definitions.Tsmodel, definitions.Terminal, definitions.Tranclass,
)  # fmt: skip
_DECLARED: Final = (
    "This page is made from the declarations of the commands and the tables of facts. *done*: tdqsim simulates it. "
    "*without effect*: accepted and checked, and nothing changes. *absent*: refused. *raised*: a command can raise the "
    "condition. *known by number*: you can use the name, and no command raises the condition."
)


def declared_page() -> str:
    """The page, as Markdown: commands, attributes, options, conditions, and APIs with their messages."""
    parts = (_commands, _attributes, _inquire, _cvdas, _ibmi)
    return "\n\n".join(["# Coverage", _DECLARED, *(text for part in parts for text in part())]) + "\n"


def _grid(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(heads)
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    lines += [f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _commands() -> Iterator[str]:
    names = [*COMMANDS, *(row["command"] for row in table("eibfn") if row["command"] not in COMMANDS)]
    idle: dict[str, list[str]] = {}
    for row in table("options_without_effect"):
        idle.setdefault(row["command"], []).append(row["option"])
    rows: list[tuple[object, ...]] = []
    for name in names:
        command = COMMANDS.get(name)
        if command is None:
            rows.append((name, "absent", *([""] * 4)))
            continue
        options = dict.fromkeys(option.word for option in command.options if option.word)
        conditions = sorted(resp.name for resp in command.conditions)
        none = idle.get(name, [])
        without = " ".join(_idle_options(command, none))
        count = sum(rule.command == name for rule in rules().values()) or ""
        state = _IDLE if "-" in none else _DONE
        rows.append((name, state, " ".join(options), " ".join(conditions), without, count))
    yield "## EXEC CICS commands"
    yield _grid(("command", "state", "options", "conditions", _IDLE, "rules"), rows)


def _idle_options(command: Command, idle: Iterable[str]) -> Iterator[str]:
    """The options of a command that have no effect; ``-`` among those listed stands for all."""
    words = [(option.word, option.receiver) for option in command.options if option.word not in ("", *_NOT_CHECKED)]
    for word, receiver in dict.fromkeys(words):
        if not receiver and (word in idle or "-" in idle):
            yield word


def _attributes() -> Iterator[str]:
    without = (*table("attributes_without_effect"), *table("attributes_kept"))
    idle = {(row["resource"], row["name"]) for row in without}
    named = [("TDQUEUE", row["name"], row["types"]) for row in table("tdqueue_attributes")]
    known = {(resource, name) for resource, name, _ in named}
    common = definitions.Resource.model_fields
    own = {(each.kind, name.upper()): None for each in _RESOURCES for name in each.model_fields if name not in common}
    named += [(resource, name, "") for resource, name in (*own, *sorted(idle - known - own.keys()))]
    yield "## Attributes of definitions"
    yield "Other resources than TDQUEUE keep GROUP, DESCRIPTION and the definition signature; they have no effect."
    rows = [(*each, _IDLE if each[:2] in idle else _DONE) for each in named]
    yield _grid(("resource", "attribute", "types", "state"), rows)


def _inquire() -> Iterator[str]:
    settable = {row["name"] for row in table("set_tdqueue")}
    options = (row for row in table("inquire") if row["resource"] == "TDQUEUE")
    rows = [(row["option"], _DONE, _DONE if row["option"] in settable else "-", row["values"]) for row in options]
    yield "## INQUIRE and SET TDQUEUE"
    yield _grid(("option", "INQUIRE", "SET", "values"), rows)


def _cvdas() -> Iterator[str]:
    yield "## CVDAs and conditions"
    yield "CVDAs: " + ", ".join(f"{row['name']} {row['value']}" for row in table("cvda")) + "."
    raised = {resp.name for command in COMMANDS.values() for resp in command.conditions}
    states = {True: "raised", False: "known by number"}
    rows = [(row["name"], row["value"], states[row["name"] in raised]) for row in table("resp")]
    yield _grid(("condition", "RESP", "state"), rows)


def _ibmi() -> Iterator[str]:
    yield "## IBM i APIs and commands"
    messages = {name: dict.fromkeys(use.message_id for use in each.messages) for name, each in DECLARATIONS.items()}
    rows = [(name, len(each.parameters) or "", " ".join(messages[name])) for name, each in DECLARATIONS.items()]
    yield _grid(("name", "parameters", "messages"), rows)
    formats = dict.fromkeys(row["format"].partition(".")[0] for row in table("ibmi_formats"))
    yield _grid(("format",), ([name] for name in formats))
