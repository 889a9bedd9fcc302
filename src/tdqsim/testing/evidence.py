"""What holds a row of the coverage page: the rules that name it, and the tests that carry those rules or name it.

Nothing is taken on trust from a table: an attribute, option, condition or message counts as done when a rule of
``facts/rules.tsv`` names it (each rule has a test that carries its id), or when a test does: by a keyword argument, in
a text, by calling the method of an API, or by going over the very table that the row is in. Tests are read, not run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Final

from tdqsim.facts import Rule, rules
from tdqsim.ibmi import DECLARATIONS

__all__ = ["Evidence", "marked_tests"]

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]+")
_SHOWN: Final = 3
_METHODS: Final = {each.method: name for name, each in DECLARATIONS.items()}


class Evidence:
    """The rules, and the tests of a directory.

    Args:
        tests: the directory; None knows of no tests.
    """

    def __init__(self, tests: Path | None) -> None:
        self.has_tests = tests is not None
        self.marked: dict[str, list[str]] = {}
        self._words: dict[str, dict[str, None]] = {}
        self._tables: dict[str, dict[str, None]] = {}
        for module, tree in _modules(tests) if tests is not None else ():
            _mark(self.marked, module, tree)
            self._read(module, tree)

    def _read(self, module: str, tree: ast.Module) -> None:
        for node in tree.body:
            tests = [each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef) and _is_test(each)]
            place = f"{module}::{tests[0]}" if len(tests) == 1 else module
            for each in ast.walk(node):
                self._note(place, each)

    def _note(self, place: str, node: ast.AST) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "table":
            for name in node.args:
                if isinstance(name, ast.Constant):
                    self._tables.setdefault(str(name.value), {})[place] = None
        words: Iterable[str] = ()
        if isinstance(node, ast.keyword) and node.arg:
            words = (node.arg,)
        elif isinstance(node, ast.Attribute) and node.attr in _METHODS:
            words = (_METHODS[node.attr],)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = _WORD.findall(node.value)
        for word in words:
            self._words.setdefault(word.upper(), {})[place] = None

    @cached_property
    def _named(self) -> dict[str, list[Rule]]:
        """The rules that name each word in capitals."""
        found: dict[str, list[Rule]] = {}
        for rule in rules().values():
            said = f"{rule.command} {rule.circumstances} {rule.resp} {rule.message}"
            for word in dict.fromkeys(_WORD.findall(said)):
                if word.isupper():
                    found.setdefault(word, []).append(rule)
        return found

    def rules_of(self, word: str, *commands: str) -> list[Rule]:
        """The rules that name a word; with ``commands`` only theirs, and those of any command."""
        named = self._named.get(word, [])
        return [rule for rule in named if not commands or rule.command in commands or rule.command == "any"]

    def of(self, word: str, *commands: str, table: str = "") -> str:
        """What holds a row, for its cell: ids of rules, else tests; empty for nothing.

        Args:
            word: the attribute, option, condition or message.
            commands: the commands whose rules count; any when there are none.
            table: the table that the row is in: a test that goes over it holds all its rows.
        """
        ids = [rule.id for rule in self.rules_of(word, *commands)]
        return _shown(ids or list(self._words.get(word, ())) or list(self._tables.get(table, ())))

    def holds(self, word: str, *commands: str, table: str = "") -> bool:
        """Whether anything holds a row."""
        return bool(self.of(word, *commands, table=table))


def _shown(found: list[str]) -> str:
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{', '.join(found[:_SHOWN])}{more}"


def _is_test(node: ast.FunctionDef) -> bool:
    return node.name.startswith("test_")


def marked_tests(tests: Path) -> dict[str, list[str]]:
    """The tests that carry each rule's id in a marker, by reading their sources: ``tests/cics/test_x.py::test_y``."""
    found: dict[str, list[str]] = {}
    for module, tree in _modules(tests):
        _mark(found, module, tree)
    return found


def _modules(tests: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(tests.rglob("*.py")):
        yield path.relative_to(tests.parent).as_posix(), ast.parse(path.read_text("utf-8"), str(path))


def _mark(found: dict[str, list[str]], module: str, tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for rule in _marked(node.decorator_list):
                found.setdefault(rule, []).append(f"{module}::{node.name}")


def _marked(decorators: Iterable[ast.expr]) -> Iterator[str]:
    for decorator in decorators:
        for call in ast.walk(decorator):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "rule":
                yield from (
                    each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )
