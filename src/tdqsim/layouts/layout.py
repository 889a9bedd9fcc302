"""A record layout: its fields, and the decoding and encoding of records.

A decoded record is a ``dict`` in field order: text is ``str``, numbers without decimals are ``int``, others are
``Decimal``, floating point is ``float``, pointers and DBCS are ``bytes``, groups are ``dict``, tables are ``list``. A
field beyond the end of the record is None, and so is one whose bytes are null (see :mod:`tdqsim.layouts.codecs`). All
redefinitions are decoded.

Encoding writes a field only if the bytes do not already decode to its value. Therefore
``layout.encode(layout.decode(record), base=record)`` is always ``record``, and fields that share bytes do not change
each other's representation of the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from tdqsim.core.codepage import codepage
from tdqsim.errors import ConversionError, LayoutError, UnknownName
from tdqsim.layouts._items import Occurs
from tdqsim.layouts._record import Contradiction, Decoder, Encoder, absent_fields, one_value
from tdqsim.layouts.codecs import Rules
from tdqsim.layouts.fields import CorruptField, Field, FieldType, meets

VariableOccurs = Literal["shift_record", "max_size"]


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """One row of the table of offsets: positions count from 1, as in compiler listings, offsets from 0."""

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
        field: the path with dots; occurrence numbers, from 1, in parentheses.
        offset: bytes from the start of the record.
        hex: the field's bytes, as far as the record has them.
        value: the value; None for null, and for bytes that are not a value of the field's type.
        remark: why the bytes are not a value, or the condition names (level 88) that are true.
    """

    field: str
    offset: int
    hex: str
    value: Any
    remark: str


@dataclass(frozen=True, slots=True)
class Segments:
    """A field that determines which redefinitions a record has, for data sets with several kinds of records.

    Attributes:
        field: path of the field with the segment id.
        ids: path of each redefinition, and the values of the field, without blanks, for which a record has it.
    """

    field: tuple[str, ...]
    ids: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


@dataclass(frozen=True)
class Layout:
    """The layout of one record.

    Attributes:
        name: the record's name (of level 01), or a name chosen by the caller.
        fields: top-level fields: the contents of the level 01 group.
        length: bytes of the longest record.
        rules: code page and number formats.
        renames: level 66 names; they are decoded only by :meth:`value`.
        root: name of the level 01 group that contained the fields; empty if there was none.
        segments: the field that determines which redefinitions a record has; None: all. See :meth:`with_segments`.
        variable_size_occurs: ``shift_record`` (as in COBOL, a table of variable length takes only the space of its
            occurrences) or ``max_size`` (it always takes the space of its maximum).
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

    @cached_property
    def length(self) -> int:
        """Bytes of the longest record."""
        return max((item.offset + item.size for item in self.fields), default=0)

    @cached_property
    def counters(self) -> frozenset[tuple[str, ...]]:
        """Paths of the fields that hold the number of occurrences of a table."""
        return frozenset(item.depending_on for item in self.walk() if item.depending_on)

    @cached_property
    def groups(self) -> dict[tuple[str, ...], tuple[tuple[Field, ...], ...]]:
        """For each group (by path; the record has the empty path), its fields; those that share bytes are one tuple."""
        groups = {item.path: _sharing(item.children) for item in self.walk() if item.is_group}
        return groups | {(): _sharing(self.fields)}

    @cached_property
    def _names(self) -> dict[str, list[Field]]:
        """The fields by name and key, in upper case and with ``-`` for ``_``."""
        fields: dict[str, list[Field]] = {}
        for item in (*self.walk(), *self.renames):
            for name in {_loosely(item.name), _loosely(item.key)}:
                fields.setdefault(name, []).append(item)
        return fields

    @property
    def minimum_length(self) -> int:
        """Bytes of the shortest record: every table of variable length at its minimum."""
        return self.length if self.variable_size_occurs == "max_size" else self.length - _variable_part(self.fields)

    def walk(self) -> Iterator[Field]:
        """Yield all fields, groups before their contents."""
        return iter(self._every)

    @cached_property
    def _every(self) -> tuple[Field, ...]:
        every, left = list[Field](), list(reversed(self.fields))
        while left:
            every.append(item := left.pop())
            left += reversed(item.children)
        return tuple(every)

    def field(self, name: str) -> Field:
        """Return the field of that name; a name that is not unique is qualified with dots (``ORDER.PRICE``).

        Names are not case-sensitive. If no field has the name as written, ``_`` and ``-`` are treated as equal.

        Raises:
            LookupError: no field has that name, or several have it.
        """
        parts = [part.upper() for part in name.split(".")]
        same = self._names.get(_loosely(parts[-1]), ())
        matching = [item for item in same if _matches(item, parts, str.upper)]
        if not matching:
            parts = [_loosely(part) for part in parts]
            matching = [item for item in same if _matches(item, parts, _loosely)]
        if len(matching) != 1:
            exact = [item for item in matching if len(item.path) == len(parts)]
            if len(exact) == 1:
                return exact[0]
            raise UnknownName(f"layout {self.name} has {'no' if not matching else 'more than one'} field {name!r}")
        return matching[0]

    def with_rules(self, *, variable_size_occurs: VariableOccurs | None = None, **changes: Any) -> Layout:
        """Return the same fields with other :class:`~tdqsim.layouts.Rules`, such as ``code_page="1047"``."""
        return replace(
            self,
            rules=replace(self.rules, **changes) if changes else self.rules,
            variable_size_occurs=variable_size_occurs or self.variable_size_occurs,
        )

    def with_code_pages(self, pages: Mapping[str, str]) -> Layout:
        """Return the same layout with code pages for some fields, by name; that of a group applies to all its fields.

        Raises:
            LookupError: no such field.
            LayoutError: no such code page.
        """
        chosen: dict[tuple[str, ...], str] = {}
        for name, page in pages.items():
            chosen.update({item.path: page for item in self.field(name).walk()})
        return replace(self, fields=tuple(_with_pages(item, chosen) for item in self.fields))

    def with_occurs_counts(self, counts: Mapping[str, Mapping[str, int]]) -> Layout:
        """Return the same layout with DEPENDING ON fields whose values are codes for the number of occurrences.

        Args:
            counts: for each table name, a mapping from the text of its DEPENDING ON field to the number of occurrences;
                any other text means the maximum.

        Raises:
            LookupError: no such table of variable length.
        """
        chosen: dict[tuple[str, ...], Occurs] = {}
        for name, mapping in counts.items():
            item = self.field(name)
            if item.occurs is None or item.depending_on is None:
                raise UnknownName(f"{name} is not a table with DEPENDING ON")
            chosen[item.path] = replace(item.occurs, counts=tuple(mapping.items()))
        return replace(self, fields=tuple(_with_occurs(item, chosen) for item in self.fields))

    def with_groups_as_text(self, names: Iterable[str]) -> Layout:
        """Return the same layout with a text field ``name-NT`` after each of these groups that redefines the group.

        Raises:
            LookupError: no such group, or it is a table or of variable length.
        """
        chosen = set()
        for name in names:
            item = self.field(name)
            moving = self.variable_size_occurs == "shift_record" and any(part.depending_on for part in item.walk())
            if not item.is_group or item.occurs or moving:
                raise UnknownName(f"{name} is not a group of fixed length outside OCCURS")
            chosen.add(item.path)
        return replace(self, fields=_with_texts(self.fields, chosen))

    def with_segments(self, field: str, ids: Mapping[str, Iterable[str]]) -> Layout:
        """Return the same layout for records of several kinds: a redefinition that a record does not have is None.

        Args:
            field: the field that determines the kind of a record; it must be outside tables.
            ids: for each redefinition, the values of the field for which a record has it.

        Raises:
            LookupError: no such field or redefinition, or the field is a group or in a table.
        """
        selector = self.field(field)
        if selector.is_group or any(item.occurs and selector in item.walk() for item in self.walk()):
            raise UnknownName(f"{field} is not a single elementary field")
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
        """Return the values of a record.

        Args:
            record: the bytes, without descriptor word. The record may be shorter or longer than the layout.
            corrupt: the action for bytes that are not a value of their field's type: ``raise`` an error, or ``null``,
                which gives None. A DEPENDING ON number that its table does not allow is an error too, because the
                fields after the table may be at other places; with ``null``, the table has its maximum.
            fillers: include FILLERs.
            segment: the redefinition that the record has: others that share its bytes are None and are not decoded. By
                default, it is determined as specified by :meth:`with_segments`; without that, all are decoded.

        Raises:
            ConversionError: a field is corrupt and ``corrupt`` is ``raise``; the message names field, offset and bytes.
            LookupError: there is no such redefinition.
        """
        decoder = self._decoder(record, fillers=fillers, segment=segment)
        values = decoder.run()
        if corrupt == "raise" and (bad := [*decoder.corrupt, *decoder.outside]):
            first = min(bad, key=lambda each: each.offset)
            raise ConversionError(f"field {first.field} X'{first.hex}': {first.reason}", offset=first.offset)
        return values

    def decode_with_corrupt(
        self, record: bytes, *, fillers: bool = False, segment: str | None = None
    ) -> tuple[dict[str, Any], tuple[CorruptField, ...]]:
        """Return the values of a record, with None for corrupt fields, and the corrupt fields; see :meth:`decode`."""
        decoder = self._decoder(record, fillers=fillers, segment=segment)
        return decoder.run(), tuple(decoder.corrupt)

    def _decoder(self, record: bytes, *, fillers: bool, segment: str | None) -> Decoder:
        record = bytes(record)
        return Decoder(self, record, fillers=fillers, absent=absent_fields(self, record, segment))

    def found_in(self, record: bytes, *, segment: str | None = None) -> list[FieldFound]:
        """Return all elementary fields of a record, including FILLERs, with the redefinitions that decode() decodes."""
        record = bytes(record)
        decoder = self._decoder(record, fillers=True, segment=segment)
        decoder.met = []
        decoder.run()
        wrong = {(bad.field, bad.offset): bad.reason for bad in decoder.corrupt}
        return [_found(self.rules, record, *met, wrong) for met in decoder.met]

    def value(self, record: bytes, name: str) -> Any:
        """Return the value of one elementary field outside tables, or of a RENAMES name; None if null or past the end.

        Raises:
            LookupError: no such field.
            ConversionError: the bytes are not a value of the field's type.
        """
        return one_value(self, bytes(record), self.field(name))

    def encode(self, values: Mapping[str, Any], *, base: bytes | None = None, trimmed: str = "") -> bytes:
        """Encode values into a record.

        Args:
            values: the values, as returned by :meth:`decode`. Without a ``base``, every named field needs one; of
                fields that share bytes, one is enough. A FILLER without a value gets its VALUE, or blanks.
            base: a record to start from; bytes that ``values`` does not change are kept, and so is the length.
            trimmed: the side on which texts were trimmed of blanks and control characters after decoding: ``left``,
                ``right`` or ``both``. A text then agrees with fields that share its bytes if it differs from them only
                in these characters.

        Raises:
            ConversionError: a value is missing, of the wrong type or too large, a name is unknown, a table has the
                wrong number of elements, or fields that share bytes contradict each other. Nothing is truncated
                silently.
        """
        try:
            return Encoder(self, base, trimmed).run(values)
        except Contradiction:
            # A text trimmed on the left was written too far to the left. If the fields that share its bytes have
            # values, try again with the text only as a check.
            if base is not None or trimmed not in ("left", "both"):
                raise
            try:
                return Encoder(self, None, trimmed, texts_agree_only=True).run(values)
            except ConversionError:
                pass
            raise

    def length_of(self, record: bytes, absent: Collection[tuple[str, ...]] = ()) -> int:
        """Return the length of the record at the beginning of ``record``, from its tables of variable length.

        A table has as many occurrences as :meth:`decode` finds; bytes after the record are ignored.

        Args:
            record: the record, and perhaps more.
            absent: paths of redefinitions that this record does not have: it ends with the last field that it has.
        """
        if not absent:
            return self.length - Decoder(self, bytes(record), fillers=True, absent=self._lasting).shift()
        decoder = Decoder(self, bytes(record), fillers=True, absent=frozenset(absent))
        decoder.met = []
        decoder.run()
        return max((start + item.length for item, _, start, _ in decoder.met), default=0)

    @cached_property
    def _lasting(self) -> frozenset[tuple[str, ...]]:
        """Paths of fields that do not affect the offsets of others."""
        return frozenset(
            item.path
            for item in self.walk()
            if not any(inner.depending_on or inner.path in self.counters for inner in item.walk())
        )

    def table(self) -> list[LayoutRow]:
        """Return the rows of the table of offsets that ``tdq dataset layout`` prints."""
        return [_row(item) for item in (*self.walk(), *self.renames)]


def _variable_part(fields: tuple[Field, ...]) -> int:
    """Return the most bytes by which a record can be shorter because tables have fewer occurrences than the maximum."""
    total = 0
    for item in fields:
        if item.redefines is not None:
            continue
        inner = _variable_part(item.children)
        least = item.occurs.minimum if item.occurs else 1
        total += (item.count - least) * item.length + least * inner
    return total


def _sharing(fields: tuple[Field, ...]) -> tuple[tuple[Field, ...], ...]:
    """Group fields with their redefinitions."""
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
    rules: Rules, record: bytes, item: Field, name: str, start: int, value: Any, wrong: Mapping[tuple[str, int], str]
) -> FieldFound:
    data = record[start : start + item.length]
    # None may also be a field that the record does not have, for which no condition name is true
    asked = item.conditions if value is not None or (data and not any(data)) else ()
    holding = (known.name for known in asked if meets(item, known, value, rules.page(item)))
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
