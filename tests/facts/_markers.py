"""Which tests hold which rules: those with a marker, found by reading the source, and the examples of rules in words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.facts._examples import examples

TESTS = Path(__file__).resolve().parents[1]
EXAMPLE = "tests/facts/test_rule_examples.py::test_the_example_of_a_rule[{}]"
_RULE_ID = re.compile(r"[A-Z0-9]+(-[A-Z0-9]+)+")
_SPREADS = re.compile(r"\.rule\([^)]*\*")


@cache
def marked_tests() -> dict[str, list[str]]:
    """Rule ids to the pytest ids of the tests that hold them."""
    found = {rule_id: [EXAMPLE.format(rule_id)] for rule_id in examples()}
    for path in sorted(TESTS.rglob("*.py")):
        module = path.relative_to(TESTS.parent).as_posix()
        text = path.read_text("utf-8")
        if ".rule(" not in text:
            continue
        tree = ast.parse(text, str(path))
        for rule_id, test in _markers((_spread(tree) if _SPREADS.search(text) else tree).body, module):
            found.setdefault(rule_id, []).append(test)
    return found


class _Spread(ast.NodeTransformer):
    """``rule(*EXPRESSION)`` becomes ``rule("ID", ...)``: every id in the module-level tables that the expression names."""

    def __init__(self, tables: dict[str, list[ast.expr]]) -> None:
        self.tables = tables

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        arguments: list[ast.expr] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred) and isinstance(node.func, ast.Attribute) and node.func.attr == "rule":
                names = [inner.id for inner in ast.walk(argument) if isinstance(inner, ast.Name)]
                arguments += dict.fromkeys(constant for name in names for constant in self.tables.get(name, ()))
            else:
                arguments.append(argument)
        node.args = arguments
        return node


def _spread(tree: ast.Module) -> ast.Module:
    tables: dict[str, list[ast.expr]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            strings = [
                inner
                for inner in ast.walk(node.value)
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
            ]
            tables[node.targets[0].id] = [inner for inner in strings if _RULE_ID.fullmatch(inner.value)]
    _Spread(tables).visit(tree)
    return tree


def _markers(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}::{node.name}"
            for decorator in node.decorator_list:
                yield from ((rule_id, name) for rule_id in _ids(decorator))
            if isinstance(node, ast.ClassDef):
                yield from _markers(node.body, name)
                yield from ((rule_id, name) for rule_id in _ids_of_pytestmark(node.body))
        elif isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets
        ):
            for call in ast.walk(node.value):
                yield from ((rule_id, prefix) for rule_id in _ids(call))
        # A marker of one case: pytest.param(..., marks=pytest.mark.rule("ID")), in a decorator or a table beside it.
        yield from (
            (rule_id, prefix if not hasattr(node, "name") else f"{prefix}::{node.name}") for rule_id in _param_ids(node)
        )


def _ids_of_pytestmark(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            for call in ast.walk(node.value):
                yield from _ids(call)


def _param_ids(node: ast.stmt) -> Iterator[str]:
    places: list[ast.AST] = list(getattr(node, "decorator_list", [])) if hasattr(node, "decorator_list") else [node]
    for place in places:
        for call in ast.walk(place):
            for keyword in call.keywords if isinstance(call, ast.Call) else ():
                if keyword.arg == "marks":
                    for inner in ast.walk(keyword.value):
                        yield from _ids(inner)


def _ids(node: ast.AST) -> Iterator[str]:
    """The ids in ``pytest.mark.rule("ID", ...)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "rule":
        return
    owner = node.func.value
    if isinstance(owner, ast.Attribute) and owner.attr == "mark":
        for argument in node.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value
