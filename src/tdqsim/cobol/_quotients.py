"""Find the literals that follow a quotient in an expression.

The mainframe's compiler keeps a quotient within an expression with few decimals. GnuCOBOL follows the same rule only
if the operand after the quotient is an item; a literal there must become one. Statements with a function, or with an
exponent that is not a whole literal, are left alone: the mainframe computes many of them in floating point, which keeps
all decimals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from tdqsim.cobol._tokens import Word

_LITERAL: Final = re.compile(r"(?>[+-]?(\d*)(?:[.,](\d+))?)(?![\w@#$-])")
_EXPRESSIONS: Final = ("COMPUTE", "IF", "EVALUATE", "WHEN", "UNTIL")
"""The words that an expression follows."""
_OTHERS: Final = ("ELSE", "THEN", "MOVE", "SET", "ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "PERFORM", "DISPLAY", "CALL")
"""Words after which there is none."""


class FoundLiteral(NamedTuple):
    """A literal after a quotient.

    Attributes:
        start: where it stands in the text.
        text: as written.
        picture: the PICTURE of an item for it.
    """

    start: int
    text: str
    picture: str


def literals_after_quotients(words: list[Word], text: str) -> Iterator[FoundLiteral]:
    """The literals of a program's statements that follow a quotient."""
    found: list[FoundLiteral] = []
    expression = divided = fixed = False
    before = ""
    for word, after in pairwise(words):
        if word.kind == "stop" or word.is_word(*_EXPRESSIONS, *_OTHERS, "EXEC", "EXECUTE"):
            yield from found if fixed else ()
            found, divided, fixed = [], False, True
            expression = word.is_word(*_EXPRESSIONS)
        elif word.is_word("FUNCTION") or (word.text == before == "*" and not after.text.isdigit()):
            fixed = False
        operator = word.text if word.text in ("+", "-", "*", "/") else before if word.text == "(" else ""
        if operator and divided and (literal := _literal(text, after.start)) is not None:
            found.append(literal)
        divided = divided or (expression and word.text == "/")
        before = operator
    yield from found if fixed else ()


def _literal(text: str, start: int) -> FoundLiteral | None:
    match = _LITERAL.match(text, start)
    if match is None or not match[0].strip("+-"):
        return None
    whole, decimals = len(match[1]), len(match[2] or "")
    picture = "S" + f"9({whole})" * bool(whole) + f"V9({decimals})" * bool(decimals)
    return FoundLiteral(start, match[0], picture)
