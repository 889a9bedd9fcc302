"""The fields of a record layout: their offsets, lengths and types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import partial

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.errors import ConversionError, UnknownName
from tdqsim.layouts._items import ConditionName, Literal, Occurs, Sign, Usage
from tdqsim.layouts._source import SourcePlace
from tdqsim.layouts.picture import Picture

_NOWHERE = SourcePlace("", 0, 0)


class FieldType(StrEnum):
    """The type of a field, which determines how its bytes are decoded."""

    GROUP = "group"
    TEXT = "text"  #: PIC X and A, alphanumeric-edited: characters of the code page
    EDITED = "edited"  #: numeric-edited: characters, not converted to a number
    NATIONAL = "national"  #: PIC N: UTF-16, big-endian
    DBCS = "dbcs"  #: PIC G: pairs of bytes, not converted
    ZONED = "zoned"  #: numeric DISPLAY, one digit a byte
    NATIONAL_DIGITS = "national digits"  #: numeric USAGE NATIONAL, one digit in two bytes
    BINARY = "binary"  #: COMP, COMP-4, BINARY, COMP-5, INDEX: two's complement
    PACKED = "packed"  #: COMP-3 and COMP-6
    FLOAT = "float"  #: COMP-1 and COMP-2
    BYTES = "bytes"  #: pointers, PIC X COMP: not converted


@dataclass(frozen=True, slots=True)
class CorruptField:
    """A field whose bytes are not a value of its type.

    Attributes:
        field: the path with dots; occurrence numbers, from 1, in parentheses.
        offset: bytes from the start of the record.
        hex: the field's bytes.
        reason: why they are not a value.
    """

    field: str
    offset: int
    hex: str
    reason: str


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a layout.

    Attributes:
        name: the name as written; FILLER if there is none.
        key: the key of the value in the decoded record: the name, or FILLER-1 (a group) and FILLER-P1 (elementary),
            numbered through the layout.
        path: the keys from the record down to this field.
        level: level number.
        type: how the bytes are decoded.
        offset: bytes from the start of the record to the first occurrence, with variable tables at their maximum.
        length: bytes of one occurrence.
        picture: the PICTURE, or None.
        usage: USAGE, inherited from the group if the item has none.
        digits: decimal digits of the PICTURE (0 for text).
        scale: digits after the decimal point; negative for trailing P.
        signed: whether the value can be negative.
        sign: the SIGN clause of a DISPLAY number; None for the usual overpunch on the last digit.
        occurs: OCCURS, or None.
        depending_on: path of the field that holds the number of occurrences, or None.
        redefines: path of the redefined field, or None.
        justified: JUSTIFIED.
        blank_when_zero: BLANK WHEN ZERO.
        children: fields of a group, in order.
        conditions: the level 88 names.
        values: literals of the VALUE clause.
        code_page: the field's code page, or None for that of the layout.
        slack: slack bytes inserted before the field by SYNCHRONIZED.
        place: the place of the definition.
    """

    name: str
    key: str
    path: tuple[str, ...]
    level: int
    type: FieldType
    offset: int
    length: int
    picture: Picture | None = None
    usage: Usage = Usage.DISPLAY
    digits: int = 0
    scale: int = 0
    signed: bool = False
    sign: Sign | None = None
    occurs: Occurs | None = None
    depending_on: tuple[str, ...] | None = None
    redefines: tuple[str, ...] | None = None
    justified: bool = False
    blank_when_zero: bool = False
    children: tuple[Field, ...] = ()
    conditions: tuple[ConditionName, ...] = ()
    values: tuple[tuple[str, str | None], ...] = ()
    code_page: str | None = None
    slack: int = 0
    place: SourcePlace = _NOWHERE

    @property
    def is_group(self) -> bool:
        """Whether the field is a group."""
        return self.type is FieldType.GROUP

    @property
    def is_filler(self) -> bool:
        """Whether the field is a FILLER."""
        return self.name == "FILLER"

    @property
    def is_numeric(self) -> bool:
        """Whether the value is an int or a Decimal."""
        return self.type in (FieldType.ZONED, FieldType.NATIONAL_DIGITS, FieldType.BINARY, FieldType.PACKED)

    @property
    def count(self) -> int:
        """The maximum number of occurrences; 1 without OCCURS."""
        return self.occurs.maximum if self.occurs else 1

    @property
    def size(self) -> int:
        """Bytes of all occurrences."""
        return self.length * self.count

    @property
    def value_count(self) -> int:
        """The maximum number of values that a record has in this field and the fields below it."""
        return self.count * max(sum([child.value_count for child in self.children]), 1)

    def walk(self) -> Iterator[Field]:
        """Yield this field and all fields below it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def holds(self, condition: str, value: object, *, code_page: str = "037") -> bool:
        """Return whether the condition name (level 88) is true for a value of this field.

        Args:
            condition: the condition name.
            value: the value, as decoded.
            code_page: the code page of the layout, for a field without its own. Text is compared in its order.

        Raises:
            LookupError: the field has no such condition name.
            ConversionError: the value is that of a group or table as decoded; the condition names of a group are about
                its text, see :meth:`Layout.with_groups_as_text`.
        """
        if isinstance(value, dict | list):
            raise ConversionError(f"{'.'.join(self.path)}.{condition}: give the text of the group, not its fields")
        for known in self.conditions:
            if known.name.upper() == condition.upper():
                return meets(self, known, value, codepage(self.code_page or code_page))
        raise UnknownName(f"{'.'.join(self.path)} has no condition name {condition!r}")


def meets(field: Field, known: ConditionName, value: object, page: CodePage) -> bool:
    """Return whether one of a field's condition names is true for a value in this code page."""
    return any(_between(field, value, low, high, page) for low, high in known.values)


def _between(field: Field, value: object, low: str, high: str | None, page: CodePage) -> bool:
    if field.is_numeric or field.type is FieldType.FLOAT:
        try:
            return Decimal(low) <= Decimal(str(value)) <= Decimal(high if high is not None else low)
        except InvalidOperation:
            return False  # no value; or SPACES or LOW-VALUES, which no number equals
    national = field.type is FieldType.NATIONAL
    encode = partial(str.encode, encoding="utf-16-be") if national else page.encode
    try:
        first = Literal.of(low).contents(field.length, encode)
        last = first if high is None else Literal.of(high).contents(field.length, encode)
        # a text of X'00' decodes to None
        data = bytes(field.length) if value is None else Literal(str(value)).contents(field.length, encode)
    except ConversionError:
        return False
    return first <= data <= last
