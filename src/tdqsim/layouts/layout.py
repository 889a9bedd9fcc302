"""A record layout: its fields, and records decoded and encoded by it.

Values come as a ``dict`` in field order: text as ``str``, numbers without decimals as ``int``, others as ``Decimal``,
floating point as ``float``, pointers and DBCS as ``bytes``, groups as ``dict``, tables as ``list``. A field that the
record is too short for is None, and so is one whose bytes say null (see :mod:`tdqsim.layouts.codecs`). Redefinitions
are all decoded, side by side.

Encoding writes a field only where the bytes do not already say its value. So ``layout.encode(layout.decode(record),
base=record)`` is ``record``, whatever it holds; and fields that share bytes do not destroy each other's spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from tdqsim.core.codepage import codepage
from tdqsim.errors import ConversionError, LayoutError
from tdqsim.layouts._items import Occurs
from tdqsim.layouts._record import Contradiction, Decoder, Encoder, absent_fields, one_value
from tdqsim.layouts.codecs import Rules
from tdqsim.layouts.fields import CorruptField, Field, FieldType

__all__ = ["FieldFound", "Layout", "LayoutRow", "Segments"]

VariableOccurs = Literal["shift_record", "max_size"]


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """One line of the table of offsets: positions count from 1 as in listings, offsets from 0."""

    level: int
    name: str
    picture: str
    usage: str
    offset: int
    length: int
    position: int
    end: int
    occurs: str
    redefines: str
    remarks: str


@dataclass(frozen=True, slots=True)
class FieldFound:
    """An elementary field in a record.

    Attributes:
        field: its path with dots, occurrences in parentheses from 1.
        offset: bytes from the start of the record.
        hex: the bytes that the record has of it.
        value: its value, None for null and for bytes that are no value.
        remark: why they are none, or the condition names (level 88) that hold.
    """

    field: str
    offset: int
    hex: str
    value: Any
    remark: str


@dataclass(frozen=True, slots=True)
class Segments:
    """How a record of several kinds shows which redefinitions it has.

    Attributes:
        field: path of the field with the segment id.
        ids: path of each redefinition, and the values of the field with which a record has it, without blanks.
    """

    field: tuple[str, ...]
    ids: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


@dataclass(frozen=True)
class Layout:
    """The layout of one record.

    Attributes:
        name: the record's name (of level 01), or what the caller chose.
        fields: top-level fields: the contents of the level 01 group.
        length: bytes of the longest record.
        rules: code page and number formats.
        renames: level 66 names; they are decoded only by :meth:`value`.
        root: name of the level 01 group that the fields were in; empty when there was none.
        segments: which redefinitions a record has, by one of its fields; None: all of them. See :meth:`with_segments`.
        variable_size_occurs: ``shift_record`` (COBOL's own: a table of variable length takes only the room of its
            occurrences) or ``max_size`` (it always takes that of its maximum).
    """

    name: str
    fields: tuple[Field, ...]
    rules: Rules = field(default_factory=Rules)
    renames: tuple[Field, ...] = ()
    variable_size_occurs: VariableOccurs = "shift_record"
    root: str = ""
    segments: Segments | None = None

    def __post_init__(self) -> None:
        if self.variable_size_occurs not in ("shift_record", "max_size"):
            raise LayoutError(f"variable_size_occurs {self.variable_size_occurs!r}: must be shift_record or max_size")
        try:
            for page in {self.rules.code_page, *(item.code_page for item in self.walk() if item.code_page)}:
                codepage(page)
        except ConversionError as error:
            raise LayoutError(f"layout {self.name}: {error}") from None

    @property
    def length(self) -> int:
        """Bytes of the longest record."""
        return max((item.offset + item.size for item in self.fields), default=0)

    @cached_property
    def counters(self) -> frozenset[tuple[str, ...]]:
        """Paths of the fields that hold the number of occurrences of a table."""
        return frozenset(item.depending_on for item in self.walk() if item.depending_on)

    @cached_property
    def groups(self) -> dict[tuple[str, ...], tuple[tuple[Field, ...], ...]]:
        """For each group (by path; the record is the empty path), its fields, those that share bytes together."""
        found = {item.path: _sharing(item.children) for item in self.walk() if item.is_group}
        return found | {(): _sharing(self.fields)}

    @cached_property
    def _names(self) -> dict[str, list[Field]]:
        """The fields that a name may mean, ``_`` taken for ``-``."""
        found: dict[str, list[Field]] = {}
        for item in (*self.walk(), *self.renames):
            for name in {_loosely(item.name), _loosely(item.key)}:
                found.setdefault(name, []).append(item)
        return found

    @property
    def minimum_length(self) -> int:
        """Bytes of the shortest record: every table of variable length at its minimum."""
        return self.length if self.variable_size_occurs == "max_size" else self.length - _variable_part(self.fields)

    def walk(self) -> Iterator[Field]:
        """All fields, groups before their contents."""
        for item in self.fields:
            yield from item.walk()

    def field(self, name: str) -> Field:
        """The field of that name in any case; qualified with dots where it is not unique (``ORDER.PRICE``).

        ``_`` stands for ``-`` too, and the other way round, where no field has the name as it is written.

        Raises:
            LookupError: no field has that name, or several have it.
        """
        parts = [part.upper() for part in name.split(".")]
        same = self._names.get(_loosely(parts[-1]), ())
        found = [item for item in same if _matches(item, parts, str.upper)]
        if not found:
            parts = [_loosely(part) for part in parts]
            found = [item for item in same if _matches(item, parts, _loosely)]
        if len(found) != 1:
            exact = [item for item in found if len(item.path) == len(parts)]
            if len(exact) == 1:
                return exact[0]
            raise LookupError(f"layout {self.name} has {'no' if not found else 'more than one'} field {name!r}")
        return found[0]

    def with_rules(self, *, variable_size_occurs: VariableOccurs | None = None, **changes: Any) -> Layout:
        """The same fields with other :class:`~tdqsim.layouts.Rules`, such as ``code_page="1047"``."""
        return replace(
            self,
            rules=replace(self.rules, **changes),
            variable_size_occurs=variable_size_occurs or self.variable_size_occurs,
        )

    def with_code_pages(self, pages: Mapping[str, str]) -> Layout:
        """The same layout with code pages for some fields, by field name; a group's holds for all in it.

        Raises:
            LookupError: no such field.
            LayoutError: no such code page.
        """
        chosen: dict[tuple[str, ...], str] = {}
        for name, page in pages.items():
            chosen.update({item.path: page for item in self.field(name).walk()})
        return replace(self, fields=tuple(_with_pages(item, chosen) for item in self.fields))

    def with_occurs_counts(self, counts: Mapping[str, Mapping[str, int]]) -> Layout:
        """The same layout where fields that tables depend on say by a code of theirs how many occurrences there are.

        Args:
            counts: table name to text of its DEPENDING ON field to number; a text that is not there means the maximum.

        Raises:
            LookupError: no such table of variable length.
        """
        chosen: dict[tuple[str, ...], Occurs] = {}
        for name, mapping in counts.items():
            item = self.field(name)
            if item.occurs is None or item.depending_on is None:
                raise LookupError(f"{name} is no table with DEPENDING ON")
            chosen[item.path] = replace(item.occurs, counts=tuple(mapping.items()))
        return replace(self, fields=tuple(_with_occurs(item, chosen) for item in self.fields))

    def with_groups_as_text(self, names: Iterable[str]) -> Layout:
        """The same layout with a text field behind each of these groups that redefines it, called ``name-NT``.

        Raises:
            LookupError: no such group, or it is a table or varies in length.
        """
        chosen = set()
        for name in names:
            item = self.field(name)
            moving = self.variable_size_occurs == "shift_record" and any(part.depending_on for part in item.walk())
            if not item.is_group or item.occurs or moving:
                raise LookupError(f"{name} is no group of one length outside OCCURS")
            chosen.add(item.path)
        return replace(self, fields=_with_texts(self.fields, chosen))

    def with_segments(self, field: str, ids: Mapping[str, Iterable[str]]) -> Layout:
        """The same layout for records of several kinds: a redefinition that a record does not have is None.

        Args:
            field: the field that tells the kind, outside tables.
            ids: each redefinition to the values of the field with which a record has it.

        Raises:
            LookupError: no such field or redefinition, or the field is a group or in a table.
        """
        selector = self.field(field)
        if selector.is_group or any(item.occurs and selector in item.walk() for item in self.walk()):
            raise LookupError(f"{field} is no single elementary field")
        named = tuple((self.field(name).path, tuple(str(value).strip() for value in ids[name])) for name in ids)
        return replace(self, segments=Segments(selector.path, named))

    def decode(
        self,
        record: bytes,
        *,
        corrupt: Literal["raise", "null"] = "raise",
        fillers: bool = False,
        segment: str | None = None,
    ) -> dict[str, Any]:
        """The values of a record.

        Args:
            record: its bytes, without descriptor word. It may be shorter or longer than the layout.
            corrupt: ``raise`` refuses bytes that are no value of their field's type; ``null`` gives None for them.
            fillers: give FILLERs too.
            segment: the redefinition that the record has: those that share its bytes are None and not looked at. Not
                given, :meth:`with_segments` tells; without that, all are decoded.

        Raises:
            ConversionError: a field is corrupt and ``corrupt`` is ``raise``; it names field, offset and bytes.
            LookupError: there is no such redefinition.
        """
        values, bad = self.decode_with_corrupt(record, fillers=fillers, segment=segment)
        if bad and corrupt == "raise":
            first = bad[0]
            raise ConversionError(f"field {first.field} X'{first.hex}': {first.reason}", offset=first.offset)
        return values

    def decode_with_corrupt(
        self, record: bytes, *, fillers: bool = False, segment: str | None = None
    ) -> tuple[dict[str, Any], tuple[CorruptField, ...]]:
        """The values of a record, None for corrupt fields, and the corrupt fields; arguments as :meth:`decode`."""
        record = bytes(record)
        decoder = Decoder(self, record, fillers=fillers, absent=absent_fields(self, record, segment))
        return decoder.run(), tuple(decoder.corrupt)

    def found_in(self, record: bytes, *, segment: str | None = None) -> list[FieldFound]:
        """Every elementary field of a record, FILLERs too, and redefinitions as :meth:`decode` chooses them."""
        record = bytes(record)
        decoder = Decoder(self, record, fillers=True, absent=absent_fields(self, record, segment))
        decoder.met = []
        decoder.run()
        wrong = {(bad.field, bad.offset): bad.reason for bad in decoder.corrupt}
        return [_found(record, *met, wrong) for met in decoder.met]

    def value(self, record: bytes, name: str) -> Any:
        """The value of one elementary field outside tables, or of a RENAMES name; None when null or past the end.

        Raises:
            LookupError: no such field.
            ConversionError: its bytes are no value.
        """
        return one_value(self, bytes(record), self.field(name))

    def encode(self, values: Mapping[str, Any], *, base: bytes | None = None, trimmed: str = "") -> bytes:
        """The record of these values.

        Args:
            values: as :meth:`decode` gives them. Every named field needs one, unless there is a ``base``; of
                fields that share bytes, one is enough. A FILLER without a value takes its VALUE, or blanks.
            base: a record to start from; what ``values`` does not change stays as it is, its length included.
            trimmed: where blanks and control characters were cut off texts after decoding: ``left``, ``right`` or
                ``both``. A text then agrees with fields that share its bytes if it differs from them in these alone.

        Raises:
            ConversionError: a value is missing, of the wrong type or too large, an unknown name, a table with the
                wrong number of elements, or fields that share bytes contradict each other. Nothing is cut silently.
        """
        try:
            return Encoder(self, base, trimmed).run(values)
        except Contradiction:
            # A text trimmed at its left was written too far to the left. Its other fields may say all that it says.
            if base is not None or trimmed not in ("left", "both"):
                raise
            try:
                return Encoder(self, None, trimmed, texts_agree_only=True).run(values)
            except ConversionError:
                pass
            raise

    def length_of(self, record: bytes) -> int:
        """Bytes of a record, by its tables of variable length; ``record`` are those that it begins with.

        A table has as many occurrences as :meth:`decode` finds; what else may follow the record makes no difference.
        """
        return self.length - Decoder(self, bytes(record), fillers=True, absent=self._lasting).shift()

    @cached_property
    def _lasting(self) -> frozenset[tuple[str, ...]]:
        """Paths of fields that say nothing about where others are."""
        return frozenset(
            item.path
            for item in self.walk()
            if not any(inner.depending_on or inner.path in self.counters for inner in item.walk())
        )

    def table(self) -> list[LayoutRow]:
        """The rows of the table of offsets, as ``tdq layout`` prints it."""
        return [_row(item) for item in (*self.walk(), *self.renames)]


def _variable_part(fields: tuple[Field, ...]) -> int:
    """Bytes that can be missing because tables have fewer occurrences than their maximum."""
    total = 0
    for item in fields:
        if item.redefines is not None:
            continue
        inner = _variable_part(item.children)
        least = item.occurs.minimum if item.occurs else 1
        total += (item.count - least) * item.length + least * inner
    return total


def _sharing(fields: tuple[Field, ...]) -> tuple[tuple[Field, ...], ...]:
    """Fields with what redefines them."""
    groups: dict[tuple[str, ...], list[Field]] = {}
    owner: dict[tuple[str, ...], tuple[str, ...]] = {}
    for item in fields:
        first = owner.get(item.redefines, item.redefines) if item.redefines else item.path
        owner[item.path] = first
        groups.setdefault(first, []).append(item)
    return tuple(tuple(group) for group in groups.values())


def _loosely(name: str) -> str:
    return name.upper().replace("_", "-")


def _matches(item: Field, parts: list[str], known_as: Callable[[str], str]) -> bool:
    if parts[-1] not in (known_as(item.name), known_as(item.key)):
        return False
    names = iter(known_as(part) for part in item.path)
    return all(part in names for part in parts)


def _with_pages(item: Field, chosen: dict[tuple[str, ...], str]) -> Field:
    children = tuple(_with_pages(child, chosen) for child in item.children)
    return replace(item, children=children, code_page=chosen.get(item.path, item.code_page))


def _with_occurs(item: Field, chosen: dict[tuple[str, ...], Occurs]) -> Field:
    children = tuple(_with_occurs(child, chosen) for child in item.children)
    return replace(item, children=children, occurs=chosen.get(item.path, item.occurs))


def _with_texts(fields: tuple[Field, ...], chosen: set[tuple[str, ...]]) -> tuple[Field, ...]:
    out: list[Field] = []
    taken = {item.key.upper() for item in fields}
    for item in fields:
        out.append(replace(item, children=_with_texts(item.children, chosen)))
        if item.path in chosen:
            key = next(name for n in range(len(taken) + 1) if (name := f"{item.key}-NT{n or ''}").upper() not in taken)
            text = Field(key, key, (*item.path[:-1], key), item.level, FieldType.TEXT, item.offset, item.length)
            out.append(replace(text, redefines=item.path, code_page=item.code_page, place=item.place))
    return tuple(out)


def _found(
    record: bytes, item: Field, name: str, start: int, value: Any, wrong: Mapping[tuple[str, int], str]
) -> FieldFound:
    data = record[start : start + item.length]
    holding = (known.name for known in item.conditions if item.holds(known.name, value))
    return FieldFound(name, start, data.hex().upper(), value, wrong.get((name, start)) or ", ".join(holding))


def _row(item: Field) -> LayoutRow:
    occurs = ""
    if item.occurs:
        occurs = str(item.occurs.maximum)
        if item.depending_on:
            occurs = f"{item.occurs.minimum} TO {occurs} DEPENDING ON {item.depending_on[-1]}"
    remarks = [f"{item.slack} slack bytes before"] if item.slack else []
    remarks += [f"code page {item.code_page}"] if item.code_page else []
    usage = "" if item.is_group else str(item.usage)
    return LayoutRow(
        item.level, item.name, item.picture.text if item.picture else "", usage, item.offset, item.length, item.offset
        + 1, item.offset + item.size, occurs, item.redefines[-1] if item.redefines else "", "; ".join(remarks),
    )  # fmt: skip
