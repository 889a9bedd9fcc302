"""Character expressions in the parameters of CL commands, such as ``'It''s ' *CAT Q``, evaluated from left to right.

``*CAT`` (``||``) concatenates two strings. ``*TCAT`` (``|<``) first removes the blanks at the end of the first string,
``*BCAT`` (``|>``) replaces them by one blank. Operands are strings, with or without apostrophes, or expressions in
parentheses, but not numbers. In a list of values an expression must be in parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import AnyStr, NamedTuple, Self

from typing_extensions import TypeIs

from tdqsim.core.codepage import codepage

_SHOWN = codepage(37)
_NUMBER = re.compile(r"[+-]?(?=[.,]?[0-9])[0-9]*(?:[.,][0-9]*)?", re.ASCII)

_BARE = re.compile(r"[*A-Z@#$][A-Z0-9@#$_./*]*", re.ASCII)


class ClWord(str):
    """A value as written; ``quoted``: whether it was in apostrophes, ``raw`` are the bytes of ``X'...'``."""

    __slots__ = ("quoted", "raw")
    quoted: bool
    raw: bytes | None

    def __new__(cls, text: str, *, quoted: bool, raw: bytes | None = None) -> Self:
        """Create a word."""
        made = super().__new__(cls, text)
        made.quoted, made.raw = quoted, raw
        return made

    @classmethod
    def of_text(cls, text: str) -> Self:
        """A word for a value without a written form, such as that of a variable; names and special values are bare."""
        bare = text.rstrip(" ")
        return cls(text, quoted=not _BARE.fullmatch(bare) or bare in _OPERATORS)

    def without_blanks(self) -> ClWord:
        """The word without the blanks at its end."""
        return ClWord(self.rstrip(" "), quoted=self.quoted, raw=self.raw)


class Diagnostic(NamedTuple):
    """One error in a command: a message id, the message's values, the keyword concerned, and the rule's id."""

    message_id: str
    values: tuple[str | int, ...]
    keyword: str = ""
    rule: str = ""


_CAT, _BCAT = ("*CAT", "||"), ("*BCAT", "|>")
_OPERATORS = frozenset((*_CAT, *_BCAT, "*TCAT", "|<"))


def _is_operator(value: object) -> bool:
    return isinstance(value, ClWord) and not value.quoted and value in _OPERATORS


def has_operator(values: Sequence[object]) -> bool:
    """Whether the values are an expression."""
    return any(map(_is_operator, values))


def evaluated(values: Sequence[object]) -> tuple[list[object], list[Diagnostic]]:
    """Replace the expressions in the values of a parameter by their results; returns the values and the errors."""
    faults: list[Diagnostic] = []
    result = _evaluated(values, faults)
    return ([result] if isinstance(result, ClWord) else result), faults


def _evaluated(values: Sequence[object], faults: list[Diagnostic]) -> ClWord | list[object]:
    evaluated = [_evaluated(value, faults) if isinstance(value, list) else value for value in values]
    if not has_operator(evaluated):
        return evaluated
    result, wrong = _joined(evaluated)
    faults += wrong
    return result


def _joined(values: Sequence[object]) -> tuple[ClWord, list[Diagnostic]]:
    nothing = ClWord("", quoted=True)
    operands, operators = values[::2], values[1::2]
    complete = len(operands) > len(operators) and all(map(_is_operator, operators))
    if not complete or any(map(_is_operator, operands)):
        return nothing, [Diagnostic("CPD0127", (shown(values),), rule="CL-EXPRESSION")]
    words = [value for value in operands if _is_string(value)]
    raw = any(word.raw is not None for word in words)
    if len(words) < len(operands):
        wrong = [value for value in operands if not _is_string(value)]
        return nothing, [Diagnostic("CPD0128", (shown([value]),), rule="CL-OPERAND") for value in wrong]
    signs = list(map(str, operators))
    if not raw:
        return ClWord(_concatenated(list(map(str, words)), signs, " "), quoted=True), []
    data = _concatenated([_bytes(word) for word in words], signs, _SHOWN.encode(" "))
    return ClWord(_SHOWN.printable(data), quoted=True, raw=data), []


def _is_string(value: object) -> TypeIs[ClWord]:
    return isinstance(value, ClWord) and (value.quoted or not _NUMBER.fullmatch(value))


def _bytes(word: ClWord) -> bytes:
    """The bytes of an operand in an expression with ``X'...'``, where characters are encoded in CCSID 37."""
    return _SHOWN.encode(word) if word.raw is None else word.raw


def _concatenated(operands: Sequence[AnyStr], operators: Sequence[str], blank: AnyStr) -> AnyStr:
    """Apply the operators to a list of parts, so that the result so far is not copied for each operator."""
    parts: list[AnyStr] = []
    for operand, operator in zip(operands, operators, strict=False):
        parts.append(operand)
        if operator in _CAT:
            continue
        while parts and not (kept := parts.pop().rstrip(blank)):  # the blanks may extend over several parts
            pass
        parts.append(kept)
        if operator in _BCAT:
            parts.append(blank)
    parts.append(operands[-1])
    return blank[:0].join(parts)


def shown(values: Sequence[object]) -> str:
    """The text of values for a message."""
    return " ".join(f"({shown(value)})" if isinstance(value, list) else str(value) for value in values)
