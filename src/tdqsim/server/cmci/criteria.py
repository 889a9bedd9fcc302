"""CRITERIA and ORDERBY: which records a request is for, and in which order.

A criteria string is a logical expression over attributes::

    expression := term {(AND | OR) term} ["."]
    term       := [NOT] (comparison | "(" expression ")")
    comparison := attribute ("<" | "<=" | "=" | "==" | ">=" | ">" | "¬=") value

AND binds tighter than OR. A value is bare or in quotes; a quote in a quoted value is doubled or follows a backslash. In
``=`` and ``¬=`` with text, ``+`` stands for one character and ``*``, at the end only, for any rest; ``==`` compares as
it stands. Numbers compare as numbers, text by its place in EBCDIC. Sources: How to build a filter expression (IBM
Docs), the documentation of ibm.ibm_zos_cics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tdqsim.server.bounds import BOUNDS
from tdqsim.server.cmci.tables import CmciAttribute

Record = Mapping[str, str]
"""The values of a record as text, by the names of the attributes."""
Predicate = Callable[[Record], bool]

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<quoted>'(?:\\.|''|[^'\\])*')|(?P<sign><=|>=|==|\xac=|[<>=()])|(?P<bare>[^\s()<>=\xac']+)|(?P<wrong>\S))"
)
_NOT_FILTERED: Final = frozenset({"EYU_CICSREL"})
_LONGEST: Final = 256
"""Attributes that are longer cannot be filtered."""
_COLLATING: Final = "cp037"


class CriteriaError(Exception):
    """A criteria string, or ORDERBY, is not valid.

    Attributes:
        attribute: the name of the attribute that is wrong; empty if it is something else.
    """

    def __init__(self, detail: str, attribute: str = "") -> None:
        super().__init__(detail)
        self.attribute = attribute


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    stripped = text.rstrip().removesuffix(".")
    for match in _TOKEN.finditer(stripped):
        kind = str(match.lastgroup)
        if kind == "wrong":
            raise CriteriaError(f"column {match.start(kind) + 1}: {match[kind]!r} was not expected")
        found.append(_Token(kind, match[kind], match.start(kind)))
    return found


class Criteria(NamedTuple):
    """A criteria string.

    Attributes:
        fits: whether a record fits.
        names: the names of the attributes that it compares.
    """

    fits: Predicate
    names: frozenset[str]


def criteria_of(text: str, attributes: Mapping[str, CmciAttribute]) -> Criteria:
    """The criteria of a string.

    Raises:
        CriteriaError: the string is not valid, or it has too many parts.
    """
    tokens = _tokens(text)
    if not tokens:
        raise CriteriaError("the criteria are empty")
    parser = _Parser(tokens, attributes)
    made = parser.expression(0)
    parser.end()
    return Criteria(made, frozenset(parser.names))


class _Parser:
    """A parser by recursive descent; the depth and the number of comparisons are bounded."""

    def __init__(self, tokens: Sequence[_Token], attributes: Mapping[str, CmciAttribute]) -> None:
        self._tokens = tokens
        self._at = 0
        self._attributes = attributes
        self._terms = 0
        self.names: set[str] = set()

    def expression(self, depth: int) -> Predicate:
        """Terms joined by AND and OR."""
        either = [self._all(depth)]
        while self._is_word("OR"):
            self._at += 1
            either.append(self._all(depth))
        return either[0] if len(either) == 1 else lambda record: any(each(record) for each in either)

    def _all(self, depth: int) -> Predicate:
        every = [self._term(depth)]
        while self._is_word("AND"):
            self._at += 1
            every.append(self._term(depth))
        return every[0] if len(every) == 1 else lambda record: all(each(record) for each in every)

    def _term(self, depth: int) -> Predicate:
        if depth > BOUNDS["cmci_depth"]:
            raise CriteriaError(f"more than {BOUNDS['cmci_depth']} parentheses and NOT are inside each other")
        if self._is_word("NOT") and not self._is_sign_next():
            self._at += 1
            inner = self._term(depth + 1)
            return lambda record: not inner(record)
        token = self._next("an attribute or a parenthesis")
        if token.text == "(" and token.kind == "sign":
            inside = self.expression(depth + 1)
            closing = self._next("a closing parenthesis")
            if closing.text != ")" or closing.kind != "sign":
                raise self._unexpected(closing)
            return inside
        if token.kind != "bare":
            raise self._unexpected(token)
        return self._comparison(token)

    def _comparison(self, token: _Token) -> Predicate:
        self._terms += 1
        if self._terms > BOUNDS["cmci_terms"]:
            raise CriteriaError(f"there are more than {BOUNDS['cmci_terms']} comparisons")
        name = token.text.upper()
        attribute = self._attributes.get(name)
        if attribute is None or name in _NOT_FILTERED or attribute.length > _LONGEST:
            raise CriteriaError(f"column {token.at + 1}: {token.text[:20]} cannot be filtered", name[:20])
        self.names.add(name)
        sign = self._next("an operator")
        if sign.kind != "sign" or sign.text in "()":
            raise self._unexpected(sign)
        value = self._next("a value")
        if value.kind == "sign":
            raise self._unexpected(value)
        text = value.text
        if value.kind == "quoted":
            text = re.sub(r"\\(.)|''", lambda match: match[1] or "'", text[1:-1], flags=re.DOTALL)
        return comparison(attribute, sign.text, text)

    def end(self) -> None:
        """Check that nothing follows."""
        if self._at < len(self._tokens):
            raise self._unexpected(self._tokens[self._at])

    def _next(self, wanted: str) -> _Token:
        if self._at == len(self._tokens):
            raise CriteriaError(f"the criteria end where {wanted} was expected")
        self._at += 1
        return self._tokens[self._at - 1]

    def _is_word(self, word: str) -> bool:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        return token is not None and token.kind == "bare" and token.text.upper() == word

    def _is_sign_next(self) -> bool:
        """Whether an operator follows, so that the word is the name of an attribute."""
        after = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else None
        return after is not None and after.kind == "sign" and after.text not in "()"

    @staticmethod
    def _unexpected(token: _Token) -> CriteriaError:
        return CriteriaError(f"column {token.at + 1}: {token.text[:20]!r} was not expected")


def comparison(attribute: CmciAttribute, sign: str, text: str) -> Predicate:
    """The predicate of one comparison.

    Raises:
        CriteriaError: the value does not suit the attribute.
    """
    name = attribute.name
    if attribute.is_number:
        try:
            number = int(text) if len(text) <= 20 else None
        except ValueError:
            number = None
        if number is None:
            raise CriteriaError(f"{name} is a number, and {text[:20]!r} is not", name)
        compared = _ORDER[sign]
        return lambda record: record[name] != NOT_A_NUMBER and compared(int(record[name]), number)
    if attribute.kind == "TASKNO" and text.isascii() and text.isdigit():
        text = text.zfill(TASK_DIGITS)
    if sign in ("=", "\xac="):
        fits = _generic(name, text)
        return fits if sign == "=" else lambda record: not fits(record)
    compared, value = _ORDER[sign], collated(text)
    return lambda record: compared(collated(record[name]), value)


def _generic(name: str, text: str) -> Predicate:
    """Whether a value is a text, in which + is one character and a final * any rest."""
    plain = text.rstrip(" ")
    if "*" in plain[:-1]:
        raise CriteriaError(f"{name}: * is allowed at the end of a value only", name)
    if "*" not in plain and "+" not in plain:
        return lambda record: record[name] == plain
    fits = generic(plain)
    return lambda record: fits(record[name])


def generic(name: str) -> Callable[[str], bool]:
    """Whether a text fits a generic name: ``+`` stands for one character, a final ``*`` for any rest."""
    pattern = "".join("." if each == "+" else re.escape(each) for each in name.removesuffix("*"))
    fits = re.compile(pattern + (".*" if name.endswith("*") else ""), re.DOTALL).fullmatch
    return lambda text: fits(text) is not None


NOT_A_NUMBER: Final = "N/A"
"""The value of a number that does not apply; it fits no comparison."""
TASK_DIGITS: Final = 7
"""The digits of a task number."""
_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    "=": lambda left, right: left == right,
    "==": lambda left, right: left == right,
    ">=": lambda left, right: left >= right,
    ">": lambda left, right: left > right,
    "\xac=": lambda left, right: left != right,
}


def collated(text: str) -> bytes:
    """The bytes by which text is ordered: in EBCDIC letters come before digits."""
    return text.rstrip(" ").encode(_COLLATING, "replace")


def sort_key(attribute: CmciAttribute, record: Record) -> tuple[int, bytes]:
    """The place of a record in the order of one attribute; a number that does not apply comes first."""
    value = record[attribute.name]
    if attribute.is_number:
        return (-1 if value == NOT_A_NUMBER else int(value), b"")
    return (0, collated(value))


def ordered(text: str, attributes: Mapping[str, CmciAttribute]) -> list[tuple[CmciAttribute, bool]]:
    """The attributes of ORDERBY, each with whether its order is descending (``/D``).

    Raises:
        CriteriaError: an attribute is not known, or there is none.
    """
    parts = [each for each in re.split(r"[,\s]+", text.strip().removesuffix(".")) if each]
    found = []
    for part in parts:
        name, _, way = part.upper().partition("/")
        if name not in attributes or way not in ("", "A", "D"):
            raise CriteriaError(f"ORDERBY: {part[:20]} is not an attribute, with /A or /D", name[:20])
        found.append((attributes[name], way == "D"))
    if not found:
        raise CriteriaError("ORDERBY names no attribute")
    return found
