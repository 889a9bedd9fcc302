"""When a breakpoint stops: its condition and its hit count.

A condition compares items, as a program writes them, with each other and with literals: ``WS-COUNT > 10 AND NAME (1:3)
= 'MIL'``. AND binds more closely than OR; there are no parentheses around comparisons. Two numbers are compared as
numbers, anything else as text, where the shorter side is padded with blanks.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from tdqsim.cobol.debug_variables import literal_text, named
from tdqsim.cobol.program_storage import ProgramStorage, decoded
from tdqsim.errors import TdqError, UsageError

_TOKEN: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|<>|>=|<=|[=<>]|[^\s'"=<>]+|['"]""")
"""A literal, an operator, a word, or a quote that nothing closes; between them are blanks."""
_HOW: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq, "<>": operator.ne, "NOT=": operator.ne, ">": operator.gt, "NOT<": operator.ge,
    ">=": operator.ge, "<": operator.lt, "NOT>": operator.le, "<=": operator.le,
}  # fmt: skip
_FIGURATIVE: Final[Mapping[str, tuple[Any, str]]] = {
    **dict.fromkeys(("ZERO", "ZEROS", "ZEROES"), (Decimal(0), "0")),
    **dict.fromkeys(("SPACE", "SPACES"), ("", " ")),
    **dict.fromkeys(("LOW-VALUE", "LOW-VALUES"), ("", "\0")),
    **dict.fromkeys(("HIGH-VALUE", "HIGH-VALUES"), ("", "\xff")),
}
"""The value of a figurative constant, and the character that makes it as long as the other side."""
_NUMBER: Final = re.compile(r"[+-]?\d{1,31}(?:\.\d{1,31})?", re.ASCII)
_HITS: Final = re.compile(r"(?:(?P<how>>=|%|==?)\s*)?(?P<number>[1-9]\d{0,8})")

_Comparison = tuple[str, Callable[[Any, Any], bool], str]


class StopCondition:
    """The condition and the hit count of one breakpoint.

    Args:
        condition: the condition; empty for none.
        hits: which of the hits for which the condition is true stop: ``5`` the fifth, ``>= 5`` from the fifth on,
            ``% 5`` each fifth; empty for all.

    Raises:
        UsageError: one of them has another form.
    """

    def __init__(self, condition: str = "", hits: str = "") -> None:
        self._condition = condition.strip()
        self._any_of = _parsed(condition) if self._condition else [[]]
        found = _HITS.fullmatch(hits.strip()) if hits.strip() else None
        if hits.strip() and found is None:
            raise UsageError(f"the hit count {hits[:40]!r} is not a number N from 1 on, >= N or % N")
        self._how, self._number = (found["how"] or "=", int(found["number"])) if found else ("%", 1)
        self._met = 0

    def stops(self, storage: ProgramStorage) -> tuple[bool, str]:
        """Whether an arrival of a program stops, and why if its condition has no value: it stops then too."""
        try:
            met = any(all(_holds(storage, each) for each in all_of) for all_of in self._any_of)
        except TdqError as error:
            return True, f"the condition {self._condition} has no value: {error}"
        self._met += met
        if self._how == "%":
            return met and self._met % self._number == 0, ""
        return met and (self._met >= self._number if self._how == ">=" else self._met == self._number), ""


def _parsed(text: str) -> list[list[_Comparison]]:
    """The comparisons of a condition: lists that are joined by OR, of which each is joined by AND."""
    any_of: list[list[_Comparison]] = [[]]
    side: list[str] = []  # the words of the present side, or its literal
    begun: tuple[str, str] | None = None  # the left side and the operator, once they were read
    for token in (*_TOKEN.findall(text), ""):  # the end ends a comparison as AND does
        word = token.upper()
        if word in _HOW:
            negated = len(side) > 1 and side[-1].upper() == "NOT" and f"NOT{word}" in _HOW
            left = side[:-1] if negated else side
            if begun is not None or not _is_side(left):
                break
            begun, side = (" ".join(left), f"NOT{word}" if negated else word), []
        elif begun is None or word not in ("AND", "OR", ""):
            side.append(token)
        elif not _is_side(side):
            break
        else:
            any_of[-1].append((begun[0], _HOW[begun[1]], " ".join(side)))
            if not word:
                return any_of
            if word == "OR":
                any_of.append([])
            begun, side = None, []
    raise UsageError(
        f"{text[:80]!r} is not a condition; valid are, for example, WS-COUNT > 10 and NAME (1:3) = 'MIL' OR WS-CODE "
        "NOT = SPACES"
    )


def _is_side(tokens: list[str]) -> bool:
    """Whether tokens are a literal, or words."""
    quoted = [each for each in tokens if each[:1] in ("'", '"')]
    return len(tokens) == 1 and len(tokens[0]) > 1 if quoted else bool(tokens)


def _holds(storage: ProgramStorage, comparison: _Comparison) -> bool:
    (left, fill), (right, fill_right) = (_value(storage, side) for side in (comparison[0], comparison[2]))
    if isinstance(left, str) or isinstance(right, str):
        left, right = str(left), str(right)
        left, right = left.ljust(len(right), fill), right.ljust(len(left), fill_right)
    return comparison[1](left, right)


def _value(storage: ProgramStorage, side: str) -> tuple[Any, str]:
    """The value of one side, a number or a text, and the character that pads it."""
    text = literal_text(side)
    if text is not None:
        return text, " "
    if side.upper() in _FIGURATIVE:
        return _FIGURATIVE[side.upper()]
    if _NUMBER.fullmatch(side):
        return Decimal(side), " "
    node = named(storage, side)
    data = node.data()
    if data is None:
        raise UsageError(f"{side} has no storage now")
    value = data if node.is_table else decoded(node.item, data)
    return value.decode("latin-1") if isinstance(value, bytes) else value, " "
