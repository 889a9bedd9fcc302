"""Expressions over the fields of a record, in options that give a record's length and its redefinitions.

    RECORD_TYPE = 'C' || in(RECORD_TYPE, 'P', 'E')
    LENGTH_1 * 10 + 4
    if(KIND = 'A', 100, SIZE - 4)

Operators, from the lowest precedence to the highest: ``||``; ``&&``; ``= != < <= > >=``; ``+ -``; ``* /``; ``!`` and a
minus before a value. Values are whole numbers (the digits after a decimal point are dropped), text in quotes, ``true``,
``false`` and ``null``, the value of a field without a value. A text field that contains a whole number can be compared
with numbers. A minus after a name needs a blank between them, because ``A-1`` is a name.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from tdqsim.errors import DatasetError, WrongValue

Value = int | str | bool | None
Values = Mapping[str, Any]
Node = Callable[[Values], Value]

TOKEN = re.compile(
    r"""\s*(?:(?P<number>[0-9]{1,18})(?![\w@#$])
      | '(?P<text>(?:[^']|'')*)'
      | (?P<name>[\w@#$][\w@#$.]*(?:-[\w@#$.]+)*)
      | (?P<mark>>=|<=|!=|&&|\|\||[-+*/=<>!(),]))""",
    re.VERBOSE,
)
WORDS: dict[str, Value] = {"null": None, "true": True, "false": False}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip
MAX_LENGTH, MAX_DEPTH = 2000, 50


class ExpressionError(WrongValue):
    """An expression has no value for a record; the message gives the reason."""


class Expression:
    """A parsed expression.

    Attributes:
        names: the names of the fields in it, as written.

    Raises:
        DatasetError: the text is not an expression; the message names the option and the problem.
    """

    def __init__(self, text: str, option: str) -> None:
        self.text, self._option = text, option
        self.names: dict[str, None] = {}
        self._tokens = self._split()
        self._position = self._depth = 0
        self._root = self._either()
        if self._position < len(self._tokens):
            raise self._bad(f"{self._tokens[self._position][1]!r} stands where the expression should end")

    @property
    def is_name(self) -> bool:
        """Whether the expression is the name of a field and nothing else."""
        return len(self._tokens) == 1 and bool(self.names)

    def value(self, values: Values) -> Value:
        """Evaluate the expression.

        Args:
            values: the values of its fields, by name.

        Raises:
            ExpressionError: a value is of the wrong type.
        """
        return self._root(values)

    # reading ----------------------------------------------------------------------------------------------------------

    def _bad(self, problem: str) -> DatasetError:
        return DatasetError(f"{self._option} is {self.text[:60]!r}: {problem}")

    def _split(self) -> list[tuple[str, str]]:
        tokens, position, text = [], 0, self.text.rstrip()
        if not text or len(text) > MAX_LENGTH:
            raise self._bad(f"an expression has 1 to {MAX_LENGTH} characters")
        while position < len(text):
            match = TOKEN.match(text, position)
            if match is None:
                raise self._bad(f"{text[position:].lstrip()[:1]!r} is no part of an expression")
            tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()
        return tokens

    def _accept(self, *marks: str) -> str:
        if self._position < len(self._tokens):
            kind, text = self._tokens[self._position]
            if kind == "mark" and text in marks:
                self._position += 1
                return text
        return ""

    def _either(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._bad(f"parentheses are nested more than {MAX_DEPTH} deep")
        node = self._level(0)
        self._depth -= 1
        return node

    def _level(self, level: int) -> Node:
        """Parse operands and the operators of one precedence level between them."""
        if level == len(LEVELS):
            return self._single()
        marks, work = LEVELS[level]
        node = self._level(level + 1)
        while mark := self._accept(*marks):
            node = _joined(work, mark, node, self._level(level + 1))
        return node

    def _single(self) -> Node:
        negated = 0
        while self._accept("!"):
            negated += 1
        if negated:
            node = self._single()
            return lambda v: _truth(node(v)) != bool(negated % 2)
        if self._accept("-"):
            below = self._single()
            return lambda v: -_whole(below(v))
        if self._accept("("):
            node = self._either()
            self._close()
            return node
        if self._position >= len(self._tokens):
            raise self._bad("it ends too early")
        kind, text = self._tokens[self._position]
        self._position += 1
        return self._word(kind, text)

    def _word(self, kind: str, text: str) -> Node:
        if kind == "number":
            number = int(text)
            return lambda _: number
        if kind == "text":
            quoted = text.replace("''", "'")
            return lambda _: quoted
        if kind == "mark":
            raise self._bad(f"{text!r} stands where a value should")
        if text.lower() in ("in", "if") and self._accept("("):
            return self._function(text.lower())
        if text.lower() in WORDS:
            word = WORDS[text.lower()]
            return lambda _: word
        self.names[text] = None
        return lambda v: _plain(v[text])

    def _function(self, name: str) -> Node:
        parts = [self._either()]
        while self._accept(","):
            parts.append(self._either())
        self._close()
        first, rest = parts[0], parts[1:]
        if name == "in" and rest:
            return lambda v: any(_compare("=", first(v), part(v)) for part in rest)
        if name == "if" and len(rest) == 2:
            return lambda v: rest[0](v) if _truth(first(v)) else rest[1](v)
        raise self._bad("in needs a value and what it may be; if needs a condition and two values")

    def _close(self) -> None:
        if not self._accept(")"):
            raise self._bad("a parenthesis is not closed")


def _plain(value: Any) -> Value:
    if isinstance(value, Decimal | float):
        return int(value)
    return value.strip() if isinstance(value, str) else value


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(f"{value!r} is neither true nor false")
    return value


def _whole(value: Value) -> int:
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value, re.ASCII):
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ExpressionError(f"{'null' if value is None else repr(value)} is no integer")
    return value


def _compare(mark: str, first: Value, second: Value) -> bool:
    if first is None or second is None:
        if mark in ("=", "!="):
            return (first is second) == (mark == "=")
        return False
    if type(first) is not type(second):
        first, second = _whole(first), _whole(second)
    return COMPARISONS[mark](first, second)


def _calculate(mark: str, first: Value, second: Value) -> int:
    one, other = _whole(first), _whole(second)
    if mark == "/" and not other:
        raise ExpressionError("a number is divided by zero")
    if mark == "/":
        quotient = abs(one) // abs(other)
        return quotient if (one < 0) == (other < 0) else -quotient
    return one + other if mark == "+" else one - other if mark == "-" else one * other


def _joined(work: Callable[[str, Value, Value], Value], mark: str, first: Node, second: Node) -> Node:
    return lambda values: work(mark, first(values), second(values))


def _both(mark: str, first: Value, second: Value) -> bool:
    one, other = _truth(first), _truth(second)
    return one | other if mark == "||" else one & other


LEVELS: tuple[tuple[tuple[str, ...], Callable[[str, Value, Value], Value]], ...] = (
    (("||",), _both), (("&&",), _both), (tuple(COMPARISONS), _compare), (("+", "-"), _calculate),
    (("*", "/"), _calculate),
)  # fmt: skip
"""Operators from the lowest precedence to the highest."""
