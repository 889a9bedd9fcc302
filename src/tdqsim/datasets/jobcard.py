"""The JOB statement: its operands, also on continuation cards, and the USER parameter.

A statement continues on the next card when its operands end with a comma. The operands end at the first blank outside
apostrophes; the rest, to column 71, is a comment. Columns 73 to 80 are not part of the statement. Source: MVS JCL
Reference, JCL statement fields.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tdqsim.errors import WrongValue

_LAST_COLUMN: Final = 71
_FIRST: Final = re.compile(r"//[A-Z@#$][A-Z0-9@#$]{0,7} +JOB(?: +|$)", re.ASCII)
_CONTINUED: Final = re.compile(r"// +", re.ASCII)
_USER: Final = re.compile(r"USER=('?)([^',]+)\1", re.ASCII)


class JobCard(NamedTuple):
    """The operands on one card of a JOB statement.

    Attributes:
        start, end: the columns of the operands, counted from 0; equal when there are none.
        user: the value of USER=; empty when the card has none.
        continued: whether the statement continues on the next card.
    """

    start: int
    end: int
    user: str
    continued: bool


def read_card(text: str, *, first: bool) -> JobCard | None:
    """Return the operands of a card.

    Args:
        text: the card.
        first: whether it is the statement's first card; a continuation card begins with // and a blank.

    Returns:
        The operands, or None if the text is no such card.
    """
    field = text[:_LAST_COLUMN]
    begins = (_FIRST if first else _CONTINUED).match(field)
    if begins is None:
        return None
    start = begins.end()
    operands = _operands(field[start:])
    end = start + sum(map(len, operands)) + max(len(operands) - 1, 0)
    matches = (_USER.fullmatch(operand) for operand in operands)
    user = next((match[2].strip() for match in matches if match is not None), "")
    return JobCard(start, end, user, len(operands) > 1 and not operands[-1])


def _operands(field: str) -> list[str]:
    """Split a field at the commas outside parentheses and apostrophes; after a final comma, the last part is empty."""
    operands, operand, depth, quoted = [], "", 0, False
    for letter in field:
        if letter == " " and not quoted:
            break
        quoted ^= letter == "'"
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if letter == "," and not quoted and depth <= 0:
            operands.append(operand)
            operand = ""
        else:
            operand += letter
    return [*operands, operand] if operands or operand else []


def user_of(cards: list[str]) -> str:
    """Return the USER of the JOB statement at the beginning of the cards; empty when it has none."""
    for number, text in enumerate(cards):
        card = read_card(text, first=number == 0)
        if card is None or card.user or not card.continued:
            return "" if card is None else card.user
    return ""


def with_user(text: str, card: JobCard, user: str) -> tuple[str, ...]:
    """Add USER= to the last card of a JOB statement; return one card, or two if there is no room on the first.

    A comment is cut if the operand needs its columns.

    Raises:
        ValueError: the operands fill the card to its last column, so that there is not even room for a comma.
    """
    head, tail, rest = text[: card.end], text[card.end : _LAST_COLUMN], text[_LAST_COLUMN:]
    statement = f"{head.rstrip()} USER={user}" if card.start == card.end else f"{head},USER={user}"
    if len(statement) <= _LAST_COLUMN:
        return ((statement + tail)[:_LAST_COLUMN].ljust(min(len(text), _LAST_COLUMN)) + rest,)
    if len(head) == _LAST_COLUMN:
        raise WrongValue(f"USER={user} has no room behind operands that end in column {_LAST_COLUMN}")
    return f"{head},{tail}"[:_LAST_COLUMN] + rest, f"// USER={user}".ljust(len(text))
