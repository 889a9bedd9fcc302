"""Mutants of handlers in Python, found by their syntax tree.

A command is a call of a method with the name of a CICS command or an IBM i API. A method name that other objects have
too, such as ``start``, is a command if it is called on a variable ``task``, ``job`` or ``region``, or on the first
parameter of an enclosing function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from tdqsim.cics import COMMANDS
from tdqsim.facts import Resp
from tdqsim.testing._mutants import Edit, Mutant, wrong_queue

_QUEUES: Final = ("readq_td", "writeq_td", "deleteq_td", "readq_td_all", "writeq_td_all")
_OTHER_QUEUES: Final = ("readq_ts", "writeq_ts", "deleteq_ts", "qsnddtaq", "qrcvdtaq", "qclrdtaq")
_OWN: Final = {name: name.upper() for name in ("qsnddtaq", "qrcvdtaq", "qclrdtaq", "qmhrdqm")} | {
    "readq_td_all": "READQ TD",
    "writeq_td_all": "WRITEQ TD",
}
_READS: Final = frozenset({"readq_td", "readq_td_all", "qrcvdtaq"})
_WRITES: Final = frozenset({"writeq_td", "writeq_ts", "qsnddtaq"})
_WITHOUT_EFFECT: Final = ("INQUIRE", "ASSIGN", "ASKTIME", "FORMATTIME", "HANDLE", "IGNORE", "PUSH", "POP", "ENTER")
_OBJECTS: Final = frozenset({"task", "job", "region"})
_POSITION_OF_DATA: Final = {"writeq_td": 1, "writeq_ts": 1, "qsnddtaq": 2}


class _Call(NamedTuple):
    """A command in the text: its call, its name in Python, and the vendor's name."""

    node: ast.Call
    method: str
    command: str


def python_mutants(path: Path, source: str) -> Iterator[Mutant]:
    """Every mutant of a source file, in the order of its lines.

    Raises:
        SyntaxError: the file is not valid Python.
    """
    file = _File(path, source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            file.add_function(node)
    yield from sorted(file.mutants(), key=lambda mutant: (mutant.line, mutant.kind))


class _File:
    """The functions of a file and the commands in them."""

    def __init__(self, path: Path, source: str) -> None:
        self._path, self._source = path, source
        self._lines = [line.encode() for line in source.split("\n")]
        self._starts = [0]
        for line in source.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._calls: dict[ast.Call, _Call] = {}
        self._nodes: dict[ast.AST, None] = {}

    def add_function(self, function: ast.FunctionDef) -> None:
        parameters = [*function.args.posonlyargs, *function.args.args]
        objects = _OBJECTS | {each.arg for each in parameters[:1]}
        for node in ast.walk(function):
            self._nodes.setdefault(node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = _vendor_name(node.func.attr)
                owner = node.func.value
                known = "_" in node.func.attr or node.func.attr in _OWN or node.func.attr == "syncpoint"
                if name and (known or (isinstance(owner, ast.Name) and owner.id in objects)):
                    self._calls[node] = _Call(node, node.func.attr, name)

    def mutants(self) -> Iterator[Mutant]:
        for call in self._calls.values():
            yield from self._wrong_queue(call)
            yield from self._unhandled(call)
            yield from self._wrong_length(call)
        excepts = [node for node in self._nodes if isinstance(node, ast.ExceptHandler)]
        inside = {inner for node in excepts for inner in ast.walk(node)}
        for node in self._nodes:
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list):
                    yield from self._statements(block)
            if isinstance(node, ast.If):
                yield from self._branch(node, inside_except=node in inside)
            elif isinstance(node, ast.ExceptHandler):
                yield from self._handler(node)
            elif isinstance(node, ast.While | ast.For):
                yield from self._loop(node)

    # -- kinds ----------------------------------------------------------------------------------------------------

    def _statements(self, block: list[ast.stmt]) -> Iterator[Mutant]:
        commands = [self._command_of(statement) for statement in block]
        for statement, call in zip(block, commands, strict=True):
            if call is not None and call.method == "syncpoint":
                yield self._mutant(call.node, "drop syncpoint", call.command, "left out", (statement, "pass"))
        for (first, one), (second, other) in pairwise(zip(block, commands, strict=True)):
            if one is not None and other is not None and _may_swap(first, second, one, other):
                change = f"{one.command} and {other.command} change places"
                edits = ((first, self._text(second)), (second, self._text(first)))
                yield self._mutant(one.node, "swap commands", one.command, change, *edits)

    def _wrong_queue(self, call: _Call) -> Iterator[Mutant]:
        queue = _queue_of(call)
        if queue is not None:
            named = [(each.method in _READS, name.value) for each in self._calls.values() if (name := _queue_of(each))]
            reads = call.method in _READS
            other = wrong_queue(queue.value, {name for _, name in named}, {name for way, name in named if way != reads})
            change = f"{queue.value!r} becomes {other!r}"
            yield self._mutant(queue.node, "wrong queue", call.command, change, (queue.node, repr(other)))

    def _unhandled(self, call: _Call) -> Iterator[Mutant]:
        for keyword in call.node.keywords:
            if keyword.arg == "nohandle" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True:
                change = "nohandle=True becomes nohandle=False"
                yield self._mutant(keyword.value, "RESP check", call.command, change, (keyword.value, "False"))

    def _branch(self, node: ast.If, *, inside_except: bool) -> Iterator[Mutant]:
        """A test of a response has the result for NORMAL; in ``except`` the result for the expected condition."""
        test = node.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return
        name, equal = _response(test), isinstance(test.ops[0], ast.Eq | ast.Is)
        if not name or not (equal or isinstance(test.ops[0], ast.NotEq | ast.IsNot)):
            return
        if name == "QZERO" and equal and not inside_except:
            return  # without this test a reader would never end
        outcome = equal and (inside_except or name == "NORMAL")
        change = f"{self._text(test)} becomes {outcome}"
        yield self._mutant(test, "RESP check", f"RESP {name}", change, (test, str(outcome)))

    def _handler(self, node: ast.ExceptHandler) -> Iterator[Mutant]:
        caught = ast.unparse(node.type) if node.type is not None else ""
        if caught.endswith(("Condition", "EscapeMessage")) and not isinstance(node.body[0], ast.Raise):
            whole = Edit(self._span(node.body[0]).start, self._span(node.body[-1]).end, "raise")
            change = f"except {caught}: the condition is raised again"
            yield Mutant(self._path, node.lineno, "RESP check", caught, change, (whole,))

    def _wrong_length(self, call: _Call) -> Iterator[Mutant]:
        length = next((each.value for each in call.node.keywords if each.arg in ("length", "flength")), None)
        if length is not None:
            edit, change = f"({self._text(length)}) - 1", f"length {self._text(length)} becomes one less"
        elif call.method in _WRITES:
            position = _POSITION_OF_DATA[call.method]
            length = next((each.value for each in call.node.keywords if each.arg in ("from_", "data")), None)
            if length is None and len(call.node.args) > position:
                length = call.node.args[position]
            if length is None or isinstance(length, ast.Starred):
                return
            edit, change = f"({self._text(length)})[:-1]", f"{self._text(length)} loses its last byte"
        else:
            return
        yield self._mutant(length, "wrong length", call.command, change, (length, edit))

    def _loop(self, node: ast.While | ast.For) -> Iterator[Mutant]:
        """The loop that reads ends after one record."""
        calls = (self._calls.get(each) for each in ast.walk(node) if isinstance(each, ast.Call))
        read = next((call for call in calls if call is not None and call.method in _READS), None)
        if read is None or isinstance(node.body[-1], ast.Break | ast.Return | ast.Raise | ast.Continue):
            return
        last = self._span(node.body[-1])
        if "\n" not in self._source[self._span(node).start : self._span(node.body[0]).start]:
            return  # all on one line
        indent = " " * node.body[0].col_offset
        edit = Edit(last.end, last.end, f"\n{indent}break")
        yield Mutant(self._path, node.lineno, "lost trigger", read.command, "the loop ends after one record", (edit,))

    # -- helpers --------------------------------------------------------------------------------------------------

    def _command_of(self, statement: ast.stmt) -> _Call | None:
        """The command that a statement is, or whose result it assigns."""
        value = getattr(statement, "value", None) if isinstance(statement, ast.Expr | ast.Assign) else None
        return self._calls.get(value) if isinstance(value, ast.Call) else None

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> Edit:
        assert node.end_lineno is not None and node.end_col_offset is not None, node  # noqa: PT018  (for type checkers)
        return Edit(self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset), "")

    def _text(self, node: ast.expr | ast.stmt) -> str:
        span = self._span(node)
        return self._source[span.start : span.end]

    def _mutant(
        self, where: ast.expr, kind: str, command: str, change: str, *edits: tuple[ast.expr | ast.stmt, str]
    ) -> Mutant:
        replaced = tuple(self._span(node)._replace(text=text) for node, text in edits)
        return Mutant(self._path, where.lineno, kind, command, " ".join(change.split()), replaced)


class _Queue(NamedTuple):
    node: ast.Constant
    value: str


def _vendor_name(method: str) -> str:
    if method in _OWN:
        return _OWN[method]
    return _BY_METHOD.get(method, "")


_BY_METHOD: Final = {command.function.__name__: name for name, command in COMMANDS.items()}


def _queue_of(call: _Call) -> _Queue | None:
    """The constant that names the queue of a command."""
    if call.method not in (*_QUEUES, *_OTHER_QUEUES):
        return None
    given = next((each.value for each in call.node.keywords if each.arg in ("queue", "dtaq")), None)
    if given is None and call.node.args:
        given = call.node.args[0]
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return _Queue(given, given.value)
    return None


def _may_swap(first: ast.stmt, second: ast.stmt, one: _Call, other: _Call) -> bool:
    """Whether a swap can make a difference, and does not use a name before it has a value."""
    if any(call.command.startswith(_WITHOUT_EFFECT) for call in (one, other)):
        return False
    queue, other_queue = _queue_of(one), _queue_of(other)
    writes = one.method in _WRITES and other.method in _WRITES
    if writes and queue is not None and other_queue is not None and queue.value != other_queue.value:
        return False  # the order does not matter within one unit of work
    return ast.dump(first) != ast.dump(second) and not (_set(first) & _used(second) or _set(second) & _used(first))


def _set(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns."""
    named = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in named if isinstance(node.ctx, ast.Store)}


def _used(statement: ast.stmt) -> set[str]:
    """The names in a statement."""
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _response(test: ast.Compare) -> str:
    """The name of the response in a comparison; empty if the comparison is not about a response."""
    text = ast.unparse(test).lower()
    if "resp" not in text and ".name" not in text:
        return ""
    for side in (test.comparators[0], test.left):
        name = ""
        if isinstance(side, ast.Attribute):
            name = side.attr
        elif isinstance(side, ast.Constant):
            name = "NORMAL" if side.value == 0 else str(side.value)
        if name in Resp.__members__:
            return name
    return ""
