"""The chapter *coverage* of the guide says what the declarations and the tables say."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable

import pytest

from tdqsim.cics import COMMANDS
from tdqsim.facts import table
from tdqsim.ibmi import DECLARATIONS
from tdqsim.testing.coverage import declared_page

pytestmark = pytest.mark.house


def test_every_command_api_and_attribute_is_on_the_page() -> None:
    page = declared_page()
    rows = {line.strip("| ").split(" | ")[0]: line for line in page.splitlines() if line.startswith("| ")}
    assert rows.keys() >= {*COMMANDS, *DECLARATIONS, "RDQD0100", "QZERO"}
    state, options, conditions, *_ = rows["READQ TD"].split(" | ")[1:]
    assert (state, "NOSUSPEND" in options.split(), "QZERO" in conditions.split()) == ("done", True, True)
    absent = next(each["command"] for each in table("eibfn") if each["command"] not in COMMANDS)
    assert rows[absent].startswith(f"| {absent} | absent |")
    assert "| TDQUEUE | TRIGGERLEVEL | INTRA | done |" in page
    assert "| TDQUEUE | REWIND | EXTRA | without effect |" in page
    assert rows["ATITRANID"].startswith("| ATITRANID | done | done |")
    assert rows["NUMITEMS"].startswith("| NUMITEMS | done | - |")


def unread_parameters(function: Callable[..., object]) -> set[str]:
    """The parameters whose names do not occur in the body of a function."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    assert isinstance(definition, ast.FunctionDef)
    used = {node.id for line in definition.body for node in ast.walk(line) if isinstance(node, ast.Name)}
    return {each.arg for each in (*definition.args.args, *definition.args.kwonlyargs)} - used


def test_a_parameter_that_a_command_does_not_read_is_listed_as_without_effect() -> None:
    listed = {(row["command"], row["option"]) for row in table("options_without_effect")}
    for name, command in COMMANDS.items():
        unread = unread_parameters(command.function) - {"task", "nohandle"}
        words = {option.word for option in command.options if option.parameter in unread}
        assert (name, "-") in listed or {(name, word) for word in words} <= listed, name
    assert {each["kind"] for each in table("options_without_effect")} == {"holds", "idle"}
