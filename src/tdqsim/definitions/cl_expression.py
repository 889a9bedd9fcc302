"""Character expressions in the parameters of CL commands: ``'It''s ' *CAT Q``, joined from left to right.

``*CAT`` (``||``) joins two strings as they are, ``*TCAT`` (``|<``) without the blanks at the end of the first,
``*BCAT`` (``|>``) with one blank in their place. Operands are strings in apostrophes or not, or an expression in
parentheses; numbers are none. In a list of values an expression stands in parentheses of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import AnyStr, NamedTuple, Self

from typing_extensions import TypeIs

from tdqsim.core.codepage import codepage

__all__ = ["ClWord", "Diagnostic", "evaluated", "shown"]

_SHOWN = codepage(37)
_NUMBER = re.compile(r"[+-]?(?=[.,]?[0-9])[0-9]*(?:[.,][0-9]*)?", re.ASCII)


class ClWord(str):
    """A value as it was written; ``quoted`` when it stood in apostrophes; ``raw`` the bytes of ``X'...'``."""

    __slots__ = ("quoted", "raw")
    quoted: bool
    raw: bytes | None

    def __new__(cls, text: str, *, quoted: bool, raw: bytes | None = None) -> Self:
        """A word."""
        made = super().__new__(cls, text)
        made.quoted, made.raw = quoted, raw
        return made


class Diagnostic(NamedTuple):
    """One thing wrong with a command: a message id, its values, and the keyword that it is about."""

    message_id: str
    values: tuple[str | int, ...]
    keyword: str = ""


_AS_THEY_ARE, _ONE_BLANK = ("*CAT", "||"), ("*BCAT", "|>")
_OPERATORS = frozenset((*_AS_THEY_ARE, *_ONE_BLANK, "*TCAT", "|<"))


def _is_operator(value: object) -> bool:
    return isinstance(value, ClWord) and not value.quoted and value in _OPERATORS


def evaluated(values: Sequence[object]) -> tuple[list[object], list[Diagnostic]]:
    """The values of a parameter with what their expressions give in place of them, and what is wrong with these."""
    faults: list[Diagnostic] = []
    found = _evaluated(values, faults)
    return ([found] if isinstance(found, ClWord) else found), faults


def _evaluated(values: Sequence[object], faults: list[Diagnostic]) -> ClWord | list[object]:
    found = [_evaluated(value, faults) if isinstance(value, list) else value for value in values]
    if not any(map(_is_operator, found)):
        return found
    result, wrong = _joined(found)
    faults += wrong
    return result


def _joined(values: Sequence[object]) -> tuple[ClWord, list[Diagnostic]]:
    nothing = ClWord("", quoted=True)
    operands, operators = values[::2], values[1::2]
    complete = len(operands) > len(operators) and all(map(_is_operator, operators))
    if not complete or any(map(_is_operator, operands)):
        return nothing, [Diagnostic("CPD0127", (shown(values),))]
    words = [value for value in operands if _is_string(value)]
    raw = any(word.raw is not None for word in words)
    if len(words) < len(operands):
        wrong = [value for value in operands if not _is_string(value)]
        return nothing, [Diagnostic("CPD0128", (shown([value]),)) for value in wrong]
    signs = list(map(str, operators))
    if not raw:
        return ClWord(_put_together(list(map(str, words)), signs, " "), quoted=True), []
    data = _put_together([_bytes(word) for word in words], signs, _SHOWN.encode(" "))
    return ClWord(_SHOWN.printable(data), quoted=True, raw=data), []


def _is_string(value: object) -> TypeIs[ClWord]:
    return isinstance(value, ClWord) and (value.quoted or not _NUMBER.fullmatch(value))


def _bytes(word: ClWord) -> bytes:
    """Beside ``X'...'`` characters are those of CCSID 37."""
    return _SHOWN.encode(word) if word.raw is None else word.raw


def _put_together(operands: Sequence[AnyStr], operators: Sequence[str], blank: AnyStr) -> AnyStr:
    """Each operator trims all that stands before it; in parts, so that it is not copied for each."""
    parts: list[AnyStr] = []
    for operand, operator in zip(operands, operators, strict=False):
        parts.append(operand)
        if operator in _AS_THEY_ARE:
            continue
        while parts and not (kept := parts.pop().rstrip(blank)):  # blanks of what was joined before are at its end too
            pass
        parts.append(kept)
        if operator in _ONE_BLANK:
            parts.append(blank)
    parts.append(operands[-1])
    return blank[:0].join(parts)


def shown(values: Sequence[object]) -> str:
    """Values as messages have them."""
    return " ".join(f"({shown(value)})" if isinstance(value, list) else str(value) for value in values)
