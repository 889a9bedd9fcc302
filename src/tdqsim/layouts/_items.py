"""Parse the data description entries of a copybook into items with their clauses; offsets are computed later."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar, Self

from tdqsim.errors import LayoutError
from tdqsim.layouts._source import SourcePlace, bad
from tdqsim.layouts._tokens import Token
from tdqsim.layouts.picture import Picture, parse_picture

MAX_OCCURS = 1 << 24
MOST_DIGITS = 9


class Literal(str):
    """A literal of a VALUE clause, as text.

    Attributes:
        data: the bytes of a hexadecimal literal, LOW-VALUES and HIGH-VALUES, whatever the code page; otherwise None.
        repeats: whether it fills the item, as figurative constants and ALL literals do.
    """

    __slots__ = ("data", "repeats")

    data: bytes | None
    repeats: bool

    def __new__(cls, text: str, data: bytes | None = None, *, repeats: bool = False) -> Self:
        """Create the literal."""
        made = super().__new__(cls, text)
        made.data = data
        made.repeats = repeats
        return made

    @classmethod
    def of(cls, text: str) -> Literal:
        """Return the text as a literal, which it may be already."""
        return text if isinstance(text, Literal) else cls(text)

    def contents(self, length: int, encode: Callable[[str], bytes]) -> bytes:
        """Return the bytes of an item of this length, padded with blanks; longer if the literal is too long."""
        data = encode(self) if self.data is None else self.data
        if self.repeats and data:
            return (data * (length // len(data) + 1))[:length]
        blank = encode(" ")
        return data + blank * ((length - len(data)) // len(blank))


_LOW, _HIGH = (Literal(chr(code), bytes((code,)), repeats=True) for code in (0x00, 0xFF))
FIGURATIVE = {
    **dict.fromkeys(("ZERO", "ZEROS", "ZEROES"), Literal("0", repeats=True)),
    **dict.fromkeys(("SPACE", "SPACES"), Literal(" ", repeats=True)),
    **dict.fromkeys(("QUOTE", "QUOTES"), Literal('"', repeats=True)),
    **dict.fromkeys(("LOW-VALUE", "LOW-VALUES", "NULL", "NULLS"), _LOW),
    **dict.fromkeys(("HIGH-VALUE", "HIGH-VALUES"), _HIGH),
}


class Usage(StrEnum):
    """The USAGE clause, synonyms resolved (COMP, COMP-4 and BINARY are one usage, as are COMP-3 and PACKED-DECIMAL)."""

    DISPLAY = "DISPLAY"
    NATIONAL = "NATIONAL"
    DISPLAY_1 = "DISPLAY-1"
    BINARY = "BINARY"
    COMP_1 = "COMP-1"
    COMP_2 = "COMP-2"
    PACKED_DECIMAL = "PACKED-DECIMAL"
    COMP_5 = "COMP-5"
    COMP_6 = "COMP-6"
    COMP_9 = "COMP-9"
    INDEX = "INDEX"
    POINTER = "POINTER"
    POINTER_32 = "POINTER-32"
    FUNCTION_POINTER = "FUNCTION-POINTER"
    PROCEDURE_POINTER = "PROCEDURE-POINTER"


USAGES = {usage.value: usage for usage in Usage} | {
    "COMP": Usage.BINARY, "COMP-0": Usage.BINARY, "COMP-4": Usage.BINARY, "COMP-3": Usage.PACKED_DECIMAL,
    "COMPUTATIONAL": Usage.BINARY, "COMPUTATIONAL-4": Usage.BINARY, "COMPUTATIONAL-3": Usage.PACKED_DECIMAL,
    "COMPUTATIONAL-1": Usage.COMP_1, "COMPUTATIONAL-2": Usage.COMP_2, "COMPUTATIONAL-5": Usage.COMP_5,
    "COMPUTATIONAL-6": Usage.COMP_6, "COMP-3U": Usage.COMP_6, "COMPUTATIONAL-3U": Usage.COMP_6,
    "COMPUTATIONAL-0": Usage.BINARY, "FLOAT-SHORT": Usage.COMP_1, "FLOAT-LONG": Usage.COMP_2,
    "COMPUTATIONAL-9": Usage.COMP_9, "POINTER-31": Usage.POINTER,
}  # fmt: skip
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:E[+-]?\d+)?", re.IGNORECASE | re.ASCII)
PICTURE_AND_CLAUSE = re.compile(r"(.*\))([A-Z][A-Z0-9-]{2,})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sign:
    """The SIGN clause: whether the sign is leading, and whether it is separate."""

    leading: bool
    separate: bool


@dataclass(frozen=True, slots=True)
class Occurs:
    """The OCCURS clause: ``minimum`` equals ``maximum`` unless it depends on a field, named as written.

    ``counts`` are pairs of a text and a number of occurrences, for a DEPENDING ON field whose value is not the number
    itself but a code for it.
    """

    minimum: int
    maximum: int
    depending_on: str | None = None
    counts: tuple[tuple[str, int], ...] = ()

    def count(self, value: object) -> int:
        """Return the number of occurrences for this value of the DEPENDING ON field.

        If the value is less than the minimum, more than the maximum, or not a number, the result is the maximum.
        """
        number = self._number(value)
        return number if number is not None and self.minimum <= number <= self.maximum else self.maximum

    def is_outside(self, value: object) -> bool:
        """Return whether a value of the DEPENDING ON field is a number that the table does not allow."""
        number = self._number(value)
        return number is not None and not self.minimum <= number <= self.maximum

    def _number(self, value: object) -> int | None:
        text = str(value).strip() if value is not None else ""
        if self.counts:
            return dict(self.counts).get(text)
        if isinstance(value, str):
            return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None
        return int(value) if isinstance(value, int | Decimal) else None


def occurs_problem(occurs: Occurs) -> str | None:
    """The problem with the numbers of an OCCURS clause; None if there is none."""
    low, high = occurs.minimum, occurs.maximum
    if 1 <= high <= MAX_OCCURS and (low < high or (low == high and occurs.depending_on is None)):
        return None
    return f"{low} TO {high}: 1 to {MAX_OCCURS} occurrences are allowed, the minimum below the maximum"


@dataclass(frozen=True, slots=True)
class ConditionName:
    """A condition name (level 88): each value is one literal or a (from, through) pair, as text without quotes."""

    name: str
    values: tuple[tuple[str, str | None], ...]


@dataclass(slots=True)
class DataItem:
    """One data description entry as written; the parser adds one clause after another."""

    level: int
    name: str
    place: SourcePlace
    redefines: str | None = None
    renames: tuple[str, str | None] | None = None
    occurs: Occurs | None = None
    picture: Picture | None = None
    usage: Usage | None = None
    sign: Sign | None = None
    sync: bool = False
    justified: bool = False
    blank_when_zero: bool = False
    values: tuple[tuple[str, str | None], ...] = ()
    code_page: str | None = None
    conditions: list[ConditionName] = field(default_factory=list)
    children: list[DataItem] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    @property
    def is_filler(self) -> bool:
        """Whether the entry is FILLER or has no name."""
        return self.name == "FILLER"

    @property
    def label(self) -> str:
        """Level and name, for messages."""
        return f"{self.level:02d} {self.name}"


def read_items(tokens: list[Token]) -> list[DataItem]:
    """Read the entries, nest them by level number, and return the top-level ones.

    Raises:
        LayoutError: the text is not a data description entry; the message names line, column and clause.
    """
    roots: list[DataItem] = []
    stack: list[DataItem] = []
    position = 0
    while position < len(tokens):
        if (after := _header(tokens, position)) is not None:
            position = after
            continue
        item, position = _Entry(tokens, position).read()
        _nest(item, roots, stack)
    return roots


def _header(tokens: list[Token], position: int) -> int | None:
    """Return the position after a stray period or a header such as ``WORKING-STORAGE SECTION.``; None if neither."""
    if tokens[position].kind == "period":
        return position + 1
    if (
        len(tokens) - position > 2
        and tokens[position + 1].upper in ("SECTION", "DIVISION")
        and tokens[position + 2].kind == "period"
    ):
        return position + 3
    return None


def _nest(item: DataItem, roots: list[DataItem], stack: list[DataItem]) -> None:
    if item.level == 88:
        if not stack:
            raise bad(item.place, item.label, "a condition name needs an item before it")
        stack[-1].conditions.append(ConditionName(item.name, item.values))
        return
    if item.level in (66, 77):
        if item.level == 66 and not roots:
            raise bad(item.place, item.label, "RENAMES needs a record before it")
        (stack[0].children if item.level == 66 and stack else roots).append(item)
        if item.level == 77:
            stack[:] = [item]
        return
    while stack and (stack[-1].level >= item.level or stack[-1].level == 77):
        stack.pop()
    if stack and stack[-1].picture is not None:
        raise bad(item.place, item.label, f"{stack[-1].label} has a PICTURE, so it cannot be a group")
    (stack[-1].children if stack else roots).append(item)
    stack.append(item)


class _Entry:
    """The parser of one entry: a cursor over its words."""

    def __init__(self, tokens: list[Token], position: int) -> None:
        self.tokens = tokens
        self.position = position
        self.item = DataItem(0, "FILLER", tokens[position].place)

    def read(self) -> tuple[DataItem, int]:
        first = self._next()
        if not (first.kind == "word" and first.text.isascii() and first.text.isdigit() and len(first.text) <= 2):
            raise bad(first.place, first.text[:40], "expected a level number: 01 to 49, 66, 77 or 88")
        item = self.item
        item.level = int(first.text)
        if not (1 <= item.level <= 49 or item.level in (66, 77, 88)):
            raise bad(first.place, first.text, "a level number is 01 to 49, 66, 77 or 88")
        self._name()
        while (token := self._peek()) is not None and token.kind != "period":
            self._clause(self._next())
        if token is None:
            raise bad(item.place, item.label, "the entry has no closing period")
        self.position += 1
        self._check()
        return item, self.position

    def _name(self) -> None:
        token = self._peek()
        if token is None or token.kind != "word" or token.upper in CLAUSES:
            return
        self.position += 1
        if token.upper == "FILLER":
            return
        if not is_name(token.text):
            raise bad(token.place, token.text[:40], NAME_RULE)
        self.item.name = token.text

    def _check(self) -> None:
        item = self.item
        if item.level == 88 and not item.values:
            raise bad(item.place, item.label, "a condition name needs a VALUE clause")
        if (item.level == 66) != (item.renames is not None):
            raise bad(item.place, item.label, "RENAMES and level 66 belong together")
        if item.level in (66, 88) and item.name == "FILLER":
            raise bad(item.place, item.label, "level 66 and 88 need a name")
        if item.occurs and item.level in (66, 77, 88):
            raise bad(item.place, item.label, f"OCCURS is not allowed at level {item.level}")

    # cursor -----------------------------------------------------------------------------------------------------------

    def _peek(self) -> Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _next(self) -> Token:
        token = self._peek()
        if token is None:
            raise bad(self.item.place, self.item.label, "the entry ends too early")
        self.position += 1
        return token

    def _accept(self, *words: str) -> bool:
        token = self._peek()
        if token is not None and token.kind == "word" and token.upper in words:
            self.position += 1
            return True
        return False

    def _operand(self, clause: str, what: str) -> Token:
        token = self._next()
        if token.kind != "word" or token.upper in CLAUSES:
            raise bad(token.place, clause, f"expected {what}, found {token.text[:40]!r}")
        return token

    def _number(self, clause: str) -> int:
        token = self._operand(clause, "a whole number")
        if not (token.text.isascii() and token.text.isdigit()) or len(token.text) > 9:
            raise bad(token.place, clause, f"expected a whole number, found {token.text[:40]!r}")
        return int(token.text)

    # clauses ----------------------------------------------------------------------------------------------------------

    def _clause(self, token: Token) -> None:
        handler = CLAUSES.get(token.upper) if token.kind == "word" else None
        if handler is None:
            hint = f"; {PERIOD}" if token.text.isdigit() else ""
            raise bad(token.place, self.item.label, f"{token.text[:40]!r} is not a clause of a data description{hint}")
        handler(self, token)

    def _once(self, token: Token, clause: str) -> None:
        if clause in self.item.seen:
            raise bad(token.place, clause, f"{self.item.label} has this clause twice")
        self.item.seen.add(clause)

    def _redefines(self, token: Token) -> None:
        self._once(token, "REDEFINES")
        self.item.redefines = self._operand("REDEFINES", "a data name").text

    def _renames(self, token: Token) -> None:
        self._once(token, "RENAMES")
        first = self._qualified("RENAMES")
        through = self._qualified("RENAMES") if self._accept("THRU", "THROUGH") else None
        self.item.renames = (first, through)

    def _picture(self, token: Token) -> None:
        self._once(token, "PICTURE")
        self._accept("IS")
        text = self._next()
        if text.kind != "word":
            raise bad(text.place, "PICTURE", f"expected a PICTURE string, found {text.text[:40]!r}")
        joined = PICTURE_AND_CLAUSE.fullmatch(text.text)
        if joined is not None and joined[2].upper() in CLAUSES:  # ``9(6)USAGE COMP``: the blank between is missing
            text = replace(text, text=joined[1])
            clause_place = replace(text.place, column=text.place.column + len(joined[1]))
            self.position -= 1
            self.tokens[self.position] = replace(text, text=joined[2], place=clause_place)
        try:
            self.item.picture = parse_picture(text.text)
        except LayoutError as error:
            raise bad(text.place, self.item.label, str(error)) from None

    def _after(self, token: Token, clause: str) -> Token:
        """The word of a clause that may be introduced by its name, and IS."""
        if token.upper == clause:
            self._accept("IS")
            token = self._next()
        self._once(token, clause)
        return token

    def _usage(self, token: Token) -> None:
        token = self._after(token, "USAGE")
        usage = USAGES.get(token.upper)
        if usage is None:
            raise bad(token.place, "USAGE", f"{token.text[:40]!r} is not known; allowed: {', '.join(sorted(USAGES))}")
        self.item.usage = usage

    def _sign(self, token: Token) -> None:
        token = self._after(token, "SIGN")
        if token.upper not in ("LEADING", "TRAILING"):
            raise bad(token.place, "SIGN", f"expected LEADING or TRAILING, found {token.text[:40]!r}")
        separate = self._accept("SEPARATE")
        if separate:
            self._accept("CHARACTER")
        self.item.sign = Sign(token.upper == "LEADING", separate)

    def _occurs(self, token: Token) -> None:
        self._once(token, "OCCURS")
        low = high = self._number("OCCURS")
        if ranged := self._accept("TO"):
            high = self._number("OCCURS")
        self._accept("TIMES")
        depending = None
        while (word := self._peek()) is not None and word.upper in ("DEPENDING", "ASCENDING", "DESCENDING", "INDEXED"):
            self.position += 1
            if word.upper == "DEPENDING":
                self._accept("ON")
                depending = self._qualified("OCCURS DEPENDING ON")
                low = low if ranged else 1
            else:
                self._names()
        self.item.occurs = self._checked_occurs(token, low, high, depending)

    def _checked_occurs(self, token: Token, low: int, high: int, depending: str | None) -> Occurs:
        occurs = Occurs(low, high, depending)
        if problem := occurs_problem(occurs):
            raise bad(token.place, "OCCURS", problem)
        # 2 TO 5 without DEPENDING ON: no compiler accepts it; take the maximum
        return occurs if depending is not None else Occurs(high, high)

    def _qualified(self, clause: str) -> str:
        """Read a data name and its OF qualifiers; return them as a dotted path, outermost group first."""
        names = [self._operand(clause, "a data name").text]
        while self._accept("OF", "IN"):
            names.append(self._operand(clause, "a data name").text)
        return ".".join(reversed(names))

    def _names(self) -> None:
        """Skip the names after KEY IS and INDEXED BY, which take no space in the record."""
        self._accept("KEY")
        self._accept("IS", "BY")
        while (
            (token := self._peek()) is not None and token.kind == "word" and token.upper not in CLAUSES | OCCURS_WORDS
        ):
            self.position += 1

    def _sync(self, token: Token) -> None:
        self._once(token, "SYNCHRONIZED")
        self._accept("LEFT", "RIGHT")
        self.item.sync = True

    def _justified(self, token: Token) -> None:
        self._once(token, "JUSTIFIED")
        self._accept("RIGHT")
        self.item.justified = True

    def _blank(self, token: Token) -> None:
        self._once(token, "BLANK WHEN ZERO")
        self._accept("WHEN")
        if not self._accept("ZERO", "ZEROS", "ZEROES"):
            raise bad(token.place, "BLANK WHEN ZERO", "expected ZERO")
        self.item.blank_when_zero = True

    def _value(self, token: Token) -> None:
        self._once(token, "VALUE")
        self._accept("IS", "ARE")
        values: list[tuple[str, str | None]] = []
        while (word := self._peek()) is not None and self._is_value(word):
            low = self._literal()
            high = self._literal() if self._accept("THRU", "THROUGH") else None
            values.append((low, high))
        if not values:
            raise bad(token.place, "VALUE", "expected a literal")
        self.item.values = tuple(values)
        self._false()

    def _false(self) -> None:
        """Skip ``WHEN SET TO FALSE IS literal`` of a condition name: the literal is not a value of the condition."""
        start = self._peek()
        if self.item.level != 88 or start is None or not self._accept("WHEN", "FALSE"):
            return
        if start.upper == "WHEN":
            for word in ("SET", "TO"):
                self._accept(word)
            if not self._accept("FALSE"):
                raise bad(start.place, "VALUE", "after WHEN SET TO, FALSE is allowed")
        self._accept("IS")
        self._literal()

    def _is_value(self, token: Token) -> bool:
        if self.item.level == 88 and token.kind == "word" and token.upper in ("WHEN", "FALSE"):
            return False
        return token.kind == "literal" or (token.kind == "word" and token.upper not in CLAUSES)

    def _literal(self) -> Literal:
        repeats = self._accept("ALL")
        token = self._next()
        if token.kind == "word":
            if token.upper in FIGURATIVE:
                return FIGURATIVE[token.upper]
            if _NUMBER.fullmatch(token.text):
                return Literal(token.text.replace(",", "."))  # DECIMAL-POINT IS COMMA
            raise bad(
                token.place, "VALUE", f"{token.text[:40]!r} is neither a number, a literal nor a figurative constant"
            )
        if token.kind != "literal":
            raise bad(token.place, "VALUE", "expected a literal")
        text, data = _unquote(token)
        return Literal(text, data, repeats=repeats)

    def _attribute(self, token: Token) -> None:
        """Accept EXTERNAL, GLOBAL and VOLATILE, which do not affect the layout."""
        self._once(token, token.upper)

    def _is(self, _: Token) -> None:
        if not self._accept("EXTERNAL", "GLOBAL"):
            token = self._next()
            raise bad(token.place, self.item.label, "after IS, EXTERNAL or GLOBAL is allowed")

    def _group_usage(self, token: Token) -> None:
        self._once(token, "USAGE")
        self._accept("IS")
        if not self._accept("NATIONAL"):
            raise bad(token.place, "GROUP-USAGE", "only NATIONAL is allowed")
        self.item.usage = Usage.NATIONAL  # implied for every item of the group

    OWN_CLAUSES: ClassVar[Mapping[str, Callable[[_Entry, Token], None]]] = {
        "REDEFINES": _redefines,
        "RENAMES": _renames,
        "PIC": _picture,
        "PICTURE": _picture,
        "USAGE": _usage,
        "SIGN": _sign,
        "LEADING": _sign,
        "TRAILING": _sign,
        "OCCURS": _occurs,
        "SYNC": _sync,
        "SYNCHRONIZED": _sync,
        "JUST": _justified,
        "JUSTIFIED": _justified,
        "BLANK": _blank,
        "VALUE": _value,
        "VALUES": _value,
        "EXTERNAL": _attribute,
        "GLOBAL": _attribute,
        "VOLATILE": _attribute,
        "IS": _is,
        "GROUP-USAGE": _group_usage,
    }


CLAUSES = {**_Entry.OWN_CLAUSES, **dict.fromkeys(USAGES, _Entry.OWN_CLAUSES["USAGE"])}
OCCURS_WORDS = dict.fromkeys(("DEPENDING", "ASCENDING", "DESCENDING", "INDEXED"))


PERIOD = "is the period before it missing?"
NAME_RULE = "a name has letters, digits, - and _, and a letter or an @ # $ sign somewhere; 64 characters at most"


def is_name(text: str) -> bool:
    """Return whether the text may be the name of a field; ``:`` marks text that REPLACING is to replace."""
    body = text.replace("-", "").replace("_", "").replace(":", "")
    plain = body.replace("@", "A").replace("#", "A").replace("$", "A")
    return 0 < len(text) <= 64 and plain.isalnum() and not plain.isdigit()


def _unquote(token: Token) -> tuple[str, bytes | None]:
    """Return the text of a literal; for a hexadecimal one the characters with those codes, and its bytes."""
    quote = token.text[-1]
    prefix, _, body = token.text[:-1].partition(quote)
    if prefix.upper() in ("X", "NX", "UX"):
        try:
            data = bytes.fromhex(body)
        except ValueError:
            raise bad(token.place, "VALUE", f"{token.text[:40]} is not a hexadecimal literal") from None
        return data.decode("latin-1"), data
    return body.replace(quote * 2, quote), None
