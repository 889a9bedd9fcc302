"""The kinds of change that .ci/mutants.py makes to a source file, and where each can be made.

Some are slips of one expression. The others are the mistakes of a state that is right the first time only: what was
held is not released, a value stays as it was, two steps are in the wrong order, ``max`` is forgotten, a loop ends after
one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

COMPARED = {ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Is: "is not",
            ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}  # fmt: skip
COUNTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*"}
KINDS = (
    "comparison", "boolean", "arithmetic", "constant", "swapped arguments", "removed statement", "changed exception",
    "default", "negated condition", "dropped release", "stale value", "swapped statements", "lost max", "first only",
)  # fmt: skip
RELEASES = frozenset((
    "cancel", "clear", "close", "commit", "discard", "drop", "end", "forget", "leave", "notify", "notify_all", "over",
    "pop", "popleft", "release", "remove", "reset", "set", "stop", "unlink", "unsubscribe", "wake", "wake_all",
))  # fmt: skip
"""Methods by which something is given back, ended or passed on."""
OTHER_EXCEPTION = "ZeroDivisionError"
"""An exception that nothing raises on purpose, in place of the one that is raised or caught."""
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


class Mutant(NamedTuple):
    """One change.

    Attributes:
        path, line: where.
        kind: one of KINDS.
        start, end, new: the text that is replaced, as offsets in characters, and the new text.
        mark: what says in the marked copy that a test has come there: an expression (its start and end), or a statement
            (its start, and -1).
        text: what becomes what.
    """

    path: Path
    line: int
    kind: str
    start: int
    end: int
    new: str
    mark: tuple[int, int]
    text: str


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every change of a file that leaves it a program."""
    source = Source(path)
    tree = ast.parse(source.text)
    for node in ast.walk(tree):
        if isinstance(node, FUNCTION):
            yield from source.defaults(node)
            for inner in code_of(node):
                yield from source.changes(inner)


def code_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """What runs when a function is called: no function inside, which is taken by itself, no annotation, no pattern.

    Nor an f-string: before Python 3.12 its parts have no positions.
    """
    left: list[ast.AST] = [*function.body]
    while left:
        node = left.pop()
        yield node
        left += [
            each
            for name, value in ast.iter_fields(node)
            if name not in ("annotation", "returns")
            for each in (value if isinstance(value, list) else [value])
            if isinstance(each, ast.AST) and not isinstance(each, FUNCTION | ast.JoinedStr | ast.pattern)
        ]


class Source:
    """A file with its text and the offsets of its lines."""

    def __init__(self, path: Path) -> None:
        self.path, self.text = path, path.read_text("utf-8")
        self.lines = [row.encode() for row in self.text.splitlines(keepends=True)]
        self.offsets = [0]
        for row in self.text.splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(row))

    def at(self, line: int, column: int) -> int:
        return self.offsets[line - 1] + len(self.lines[line - 1][:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno or 0, node.end_col_offset or 0)

    def of(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def replace(self, kind: str, node: ast.expr | ast.stmt, new: str, mark: tuple[int, int] | None = None) -> Mutant:
        old = " ".join(self.of(node).split())
        text = f"{old[:80]} becomes {' '.join(new.split())[:80]}"
        return Mutant(self.path, node.lineno, kind, *self.span(node), new, mark or self.span(node), text)

    def changes(self, node: ast.AST) -> Iterator[Mutant]:
        yield from self.operators(node)
        if isinstance(node, ast.Constant):
            yield from self.constant(node)
        elif isinstance(node, ast.Call):
            yield from self.arguments(node)
            yield from self.lost_max(node)
        elif isinstance(node, ast.For):
            yield self.first_only(node.iter)
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield self.replace("negated condition", node.test, f"(not ({self.of(node.test)}))")
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield self.replace("changed exception", node.exc.func, OTHER_EXCEPTION, self.statement(node))
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            yield self.replace("changed exception", node.type, OTHER_EXCEPTION, self.statement(node.body[0]))
        yield from self.statements(node)

    def operators(self, node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
            kind, left, right, new = "comparison", node.left, node.comparators[0], COMPARED[type(node.ops[0])]
        elif isinstance(node, ast.BoolOp):
            kind, left, right, new = "boolean", *node.values[:2], "or" if isinstance(node.op, ast.And) else "and"
        elif isinstance(node, ast.BinOp) and type(node.op) in COUNTED and not isinstance(node.left, ast.Constant):
            kind, left, right, new = "arithmetic", node.left, node.right, COUNTED[type(node.op)]
        else:
            return
        start, end = self.span(left)[1], self.span(right)[0]
        between = self.text[start:end]
        old = between.strip("() \\\n")
        if old and "#" not in between:
            changed = between.replace(old, new, 1)
            line = left.end_lineno or 0
            yield Mutant(self.path, line, kind, start, end, changed, self.span(left), f"{old} becomes {new}")

    def constant(self, node: ast.Constant) -> Iterator[Mutant]:
        """Numbers, truth values, and words: texts for people are not looked at."""
        new = other_value(node.value)
        if new:
            yield self.replace("constant", node, new)

    def arguments(self, node: ast.Call) -> Iterator[Mutant]:
        if len(node.args) < 2 or any(isinstance(each, ast.Starred) for each in node.args[:2]):
            return
        first, second = node.args[:2]
        if self.of(first) != self.of(second):
            between = self.text[self.span(first)[1] : self.span(second)[0]]
            new = f"{self.of(second)}{between}{self.of(first)}"
            start, end = self.span(first)[0], self.span(second)[1]
            text = f"({' '.join(self.text[start:end].split())[:80]}) is swapped"
            yield Mutant(self.path, first.lineno, "swapped arguments", start, end, new, self.span(node.func), text)

    def lost_max(self, node: ast.Call) -> Iterator[Mutant]:
        """``max(kept, new)`` becomes ``new``."""
        named = isinstance(node.func, ast.Name) and node.func.id in ("max", "min")
        if named and len(node.args) == 2 and not node.keywords and not isinstance(node.args[1], ast.Starred):
            yield self.replace("lost max", node, f"({self.of(node.args[1])})")

    def first_only(self, iterated: ast.expr) -> Mutant:
        """A loop ends after the first; also one over an iterator that has no end."""
        return self.replace("first only", iterated, f'__import__("itertools").islice({self.of(iterated)}, 1)')

    def statements(self, node: ast.AST) -> Iterator[Mutant]:
        """Statements that have an effect of their own: calls, and changes of something that has a name already."""
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            before: ast.stmt | None = None
            for each in block if isinstance(block, list) else ():
                kind = kind_of(each)
                if kind:
                    yield self.replace(kind, each, "pass", self.statement(each))
                    if before is not None:
                        yield from self.swapped(before, each)
                before = each if kind else None

    def swapped(self, first: ast.stmt, second: ast.stmt) -> Iterator[Mutant]:
        """Two statements that follow each other, in the other order."""
        start, end = self.span(first)[0], self.span(second)[1]
        between = self.text[self.span(first)[1] : self.span(second)[0]]
        if self.of(first) != self.of(second) and not between.strip():
            new = f"{self.of(second)}{between}{self.of(first)}"
            text = f"{' '.join(self.of(first).split())[:60]} comes after {' '.join(self.of(second).split())[:60]}"
            yield Mutant(self.path, first.lineno, "swapped statements", start, end, new, self.statement(first), text)

    def defaults(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Mutant]:
        given = [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        for each in given:
            new = other_value(each.value) if isinstance(each, ast.Constant) else ""
            if new and body:
                yield self.replace("default", each, new, self.statement(body[0]))
        if isinstance(body, list):
            yield from self.statements(ast.Module(body=body, type_ignores=[]))

    def statement(self, node: ast.stmt) -> tuple[int, int]:
        """The mark before a statement."""
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        column = (
            node.col_offset
            if first == node.lineno
            else len(self.lines[first - 1]) - len(self.lines[first - 1].lstrip())
        )
        return self.at(first, column), -1


def kind_of(statement: ast.stmt) -> str:
    """The kind of change that the loss of a statement is; empty for one that has no effect of its own."""
    if isinstance(statement, ast.Delete):
        return "dropped release"
    if isinstance(statement, ast.AugAssign):
        return "stale value"
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute | ast.Subscript):
        return "stale value"
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value.func
        released = isinstance(called, ast.Attribute) and called.attr in RELEASES
        return "dropped release" if released else "removed statement"
    return ""


def other_value(value: object) -> str:
    """Another value of a constant, as source; nothing where no other is worth a try."""
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    if isinstance(value, str | bytes) and value and not value.strip().isspace() and len(value.split()) == 1:
        return repr(value + (b"X" if isinstance(value, bytes) else "X"))  # type: ignore[operator]
    return ""


def marked(source: str, marks: dict[int, tuple[int, int]]) -> str:
    """The source in which each place calls ``come_to`` with its number, before it is evaluated or executed."""
    inserted: list[
        tuple[int, tuple[int, int], str]
    ] = []  # where; at one place ends first, then statements, then starts
    for number, (start, end) in marks.items():
        if end < 0:
            before = source[:start].rpartition("\n")[2]
            call = f"come_to({number})"
            inserted.append((start, (1, number), f"{call}; " if before.strip() else f"{call}\n{before}"))
        else:
            inserted += [(start, (2, -end), f"(come_to({number}) or ("), (end, (0, -start), "))")]
    for where, _, text in sorted(inserted, key=lambda each: each[:2], reverse=True):
        source = source[:where] + text + source[where:]
    return source
