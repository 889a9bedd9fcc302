"""Decode and encode a record by walking through its layout.

The offsets in a layout assume that all tables have their maximum size. During the walk, ``shift`` is the number of
bytes by which a field's real offset is smaller because tables before it have fewer occurrences (only with
``variable_size_occurs="shift_record"``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tdqsim.errors import ConversionError, UnknownName
from tdqsim.layouts.codecs import BadValue, decode_value, encode_value, fill
from tdqsim.layouts.fields import CorruptField, Field, FieldType

if TYPE_CHECKING:
    from tdqsim.layouts.layout import Layout

_TRIMMED: Final = "".join(map(chr, range(0x21)))
"""Blanks and control characters."""

_TRIMS: Final[Mapping[str, Callable[[str, str], str]]] = {"both": str.strip, "left": str.lstrip, "right": str.rstrip}

CUTTABLE = (FieldType.TEXT, FieldType.EDITED, FieldType.NATIONAL)


class Contradiction(ConversionError):
    """The values of fields that share bytes do not agree."""


def shown(path: tuple[str, ...], indexes: tuple[int, ...]) -> str:
    """Return a path for display, with the occurrence numbers of the tables in it."""
    return ".".join(path) + (f"({','.join(str(index + 1) for index in indexes)})" if indexes else "")


def decode_at(layout: Layout, item: Field, record: bytes, start: int) -> Any:
    """Return the value at an offset of the record; None past its end.

    If the record ends within the field, text is shortened, and any other value is None.

    Raises:
        BadValue: the bytes are not a value of the field's type.
    """
    data = record[start : start + item.length]
    if len(data) < item.length:
        if not data or item.type not in CUTTABLE:
            return None
        if item.type is FieldType.NATIONAL:
            data = data[: len(data) & ~1]
            if not data:
                return None
    return decode_value(item, data, layout.rules)


class Decoder:
    """Decodes one record.

    Attributes:
        absent: paths of fields that the record does not have; their value is None.
        fillers: include FILLERs.
        corrupt: the fields whose bytes are not a value of their type.
        outside: the fields that hold a number of occurrences which their table does not allow.
        counts: the values of the DEPENDING ON fields so far.
        starts: where these fields begin in the record.
        moving: tables of variable length take only the space of their occurrences.
        met: if set to a list, receives each elementary field with its name, offset and value.
    """

    def __init__(
        self, layout: Layout, record: bytes, *, fillers: bool, absent: frozenset[tuple[str, ...]] = frozenset()
    ) -> None:
        self.layout = layout
        self.absent = absent
        self.record = record
        self.fillers = fillers
        self.corrupt: list[CorruptField] = []
        self.outside: list[CorruptField] = []
        self.counters = layout.counters
        self.counts: dict[tuple[str, ...], Any] = {}
        self.starts: dict[tuple[str, ...], int] = {}
        self.moving = layout.variable_size_occurs == "shift_record"
        self.met: list[tuple[Field, str, int, Any]] | None = None

    def run(self) -> dict[str, Any]:
        """Return the values of all fields."""
        values, _ = self._fields(self.layout.fields, 0, ())
        return values

    def shift(self) -> int:
        """Return the number of bytes by which the record is shorter than with every table at its maximum."""
        return self._fields(self.layout.fields, 0, ())[1]

    def _fields(self, fields: tuple[Field, ...], shift: int, indexes: tuple[int, ...]) -> tuple[dict[str, Any], int]:
        """Return the values of consecutive fields, and the shift after them."""
        values: dict[str, Any] = {}
        before: dict[tuple[str, ...], int] = {}
        for item in fields:
            at = before.get(item.redefines, shift) if item.redefines else shift
            before[item.path] = at
            value, after = (None, at) if item.path in self.absent else self._item(item, at, indexes)
            if item.redefines is None:
                shift = after
            if self._wanted(item):
                values[item.key] = value
        return values, shift

    def _wanted(self, item: Field) -> bool:
        """Return whether to include a field: not an elementary FILLER, and not a FILLER group that has only FILLERs."""
        if self.fillers or not item.is_filler:
            return True
        return item.is_group and any(not inner.is_filler for inner in item.walk() if inner is not item)

    def _item(self, item: Field, shift: int, indexes: tuple[int, ...]) -> tuple[Any, int]:
        if item.occurs is None:
            return self._once(item, shift, 0, indexes)
        count = self._count(item)
        elements = []
        for index in range(count):
            value, shift = self._once(item, shift, index, (*indexes, index))
            elements.append(value)
        if self.moving:
            shift += (item.count - count) * item.length
        return elements, shift

    def _once(self, item: Field, shift: int, index: int, indexes: tuple[int, ...]) -> tuple[Any, int]:
        """Decode one occurrence. ``shift`` includes the bytes that earlier occurrences and tables lack."""
        moved = shift - index * item.length
        if item.is_group:
            value, after = self._fields(item.children, moved, indexes)
            return value, after + index * item.length
        start = item.offset - moved
        leaf: Any = None
        try:
            leaf = decode_at(self.layout, item, self.record, start)
        except BadValue as error:
            data = self.record[start : start + item.length]
            self.corrupt.append(CorruptField(shown(item.path, indexes), start, data.hex().upper(), str(error)))
        if item.path in self.counters:
            self.counts[item.path], self.starts[item.path] = leaf, start
        if self.met is not None:
            self.met.append((item, shown(item.path, indexes), start, leaf))
        return leaf, shift

    def _count(self, item: Field) -> int:
        """Return the number of occurrences; never more than the maximum, regardless of the record's contents."""
        assert item.occurs is not None
        if item.depending_on is None:
            return item.occurs.maximum
        value = self.counts.get(item.depending_on)
        if item.occurs.is_outside(value):
            counter, start = self.layout.field(".".join(item.depending_on)), self.starts[item.depending_on]
            data = self.record[start : start + counter.length].hex().upper()
            said, occurs = str(value).strip(), item.occurs
            allowed = f"{item.name} has {occurs.minimum} to {occurs.maximum} occurrences, not {said}"
            self.outside.append(CorruptField(shown(counter.path, ()), start, data, allowed))
        return item.occurs.count(value)


def one_value(layout: Layout, record: bytes, item: Field) -> Any:
    """Return the value of one elementary field or RENAMES name.

    Raises:
        LookupError: the field is in a table.
        ConversionError: the bytes are not a value of the field's type.
    """
    decoder = Decoder(layout, record, fillers=True)
    if item.level == 66:
        decoder.met = []
        decoder.run()
        start = next(start for met, _, start, _ in decoder.met if met.offset == item.offset)
        try:
            return decode_at(layout, item, record, start)
        except BadValue as error:
            raise ConversionError(f"field {item.name}: {error}", offset=start) from None
    value: Any = decoder.run()
    for key in item.path:
        if not isinstance(value, dict):
            raise UnknownName(f"{'.'.join(item.path)} is in a table; decode the record")  # a wrong name
        value = value[key]
    return value


def absent_fields(layout: Layout, record: bytes, segment: str | None) -> frozenset[tuple[str, ...]]:
    """Return the paths of the redefinitions that a record does not have.

    They are determined by the redefinition that it has (``segment``), otherwise by the record's segment field.

    Raises:
        LookupError: there is no such redefinition.
    """
    if segment is not None:
        return _rivals(layout, layout.field(segment))
    if layout.segments is None:
        return frozenset()
    item = layout.field(".".join(layout.segments.field))
    try:
        moved = layout.variable_size_occurs == "shift_record" and layout.counters
        value = one_value(layout, record, item) if moved else decode_at(layout, item, record, item.offset)
    except BadValue:
        value = None
    segment_id = "" if value is None else str(value).strip()
    return frozenset(path for path, ids in layout.segments.ids if segment_id not in ids)


def _rivals(layout: Layout, chosen: Field) -> frozenset[tuple[str, ...]]:
    """Return the paths of the fields that share bytes with a field, or with a group that it is in."""
    own_paths = {chosen.path[:end] for end in range(1, len(chosen.path) + 1)}
    groups = [group for path in ((), *own_paths) for group in layout.groups.get(path, ())]
    own_groups = [group for group in groups if any(item.path in own_paths for item in group)]
    if not any(len(group) > 1 for group in own_groups):
        raise UnknownName(f"{chosen.name} shares its bytes with no other field, so it is not a segment")
    return frozenset(item.path for group in own_groups for item in group if item.path not in own_paths)


class Encoder:
    """Encodes one record. ``record`` starts as the base, if there is one, and grows as fields are written."""

    def __init__(
        self, layout: Layout, base: bytes | None, trimmed: str = "", *, texts_agree_only: bool = False
    ) -> None:
        self.layout = layout
        self.trim = _TRIMS.get(trimmed)
        self.texts_agree_only = texts_agree_only
        self.base = None if base is None else bytes(base)
        self.record = bytearray(base or b"")
        self.counters = layout.counters
        self.counts: dict[tuple[str, ...], Any] = {}
        self.shared: list[tuple[Field, int, Any, tuple[int, ...]]] = []
        self.moving = layout.variable_size_occurs == "shift_record"

    def run(self, values: Mapping[str, Any]) -> bytes:
        """Return the encoded record."""
        self._fields(self.layout.fields, values, 0, (), shared=False)
        for item, start, value, indexes in self.shared:
            self._agree(item, start, value, indexes)
        self._keep_counts()
        return bytes(self.record)

    def _keep_counts(self) -> None:
        """Refuse to change a table's size in a base record, because the fields after the table would have to move."""
        if self.base is None or not self.moving:
            return
        before = Decoder(self.layout, self.base, fillers=True)
        before.run()
        for item in self.layout.walk():
            path = item.depending_on
            if path is None or item.occurs is None or path not in self.counts:
                continue
            if item.occurs.count(before.counts.get(path)) != item.occurs.count(self.counts[path]):
                raise ConversionError(
                    f"{shown(path, ())}: a table's size cannot be changed in a base record; encode without one"
                )

    def _agree(self, item: Field, start: int, value: Any, indexes: tuple[int, ...]) -> None:
        """Check that a field does not contradict another one that shares its bytes.

        A text that was trimmed of blanks and control characters agrees if trimming the current bytes gives the same
        text: the trimmed characters may be the other field's value (a small binary number is X'0001').
        """
        if self._has_value(item, value, start):
            return
        rules = self.layout.rules
        try:
            written = decode_value(item, encode_value(item, value, rules), rules)
            current = decode_at(self.layout, item, bytes(self.record), start)
        except BadValue:
            written, current = value, None
        if current == written:
            return
        advice = ""
        if self.trim is not None and isinstance(current, str):
            if self.trim(current, _TRIMMED) == self.trim(str(value), _TRIMMED):
                return
            advice = "; it may have been trimmed: read the record with its bytes and write onto these, or do not trim"
        raise Contradiction(
            f"{shown(item.path, indexes)}: {str(value)[:60]!r} contradicts another field that shares its bytes{advice}",
            offset=start,
        )

    def _fields(
        self,
        fields: tuple[Field, ...],
        values: Any,
        shift: int,
        indexes: tuple[int, ...],
        *,
        shared: bool,
    ) -> int:
        if not isinstance(values, Mapping):
            where = shown(fields[0].path[:-1], indexes)
            raise ConversionError(f"{where}: expected a mapping of field names to values")
        _refuse_unknown(fields, values, indexes)
        for group in self.layout.groups[fields[0].path[:-1] if fields else ()]:
            with_value = [
                item for item in group if values.get(item.key) is not None or (len(group) == 1 and item.key in values)
            ]
            if not with_value and self.base is None:
                _refuse_missing(group, shift, indexes)
                with_value = [group[0]]
            after = shift
            for item in group if self.base is not None else with_value:
                value = values.get(item.key, _ABSENT)
                if value is None and len(group) > 1:
                    value = _ABSENT  # the bytes come from another field that shares them, if any has a value
                if self.texts_agree_only and len(with_value) > 1 and _is_text(item, value):
                    self.shared.append((item, item.offset - shift, value, indexes))
                    continue
                end = self._item(item, value, shift, indexes, shared=shared or len(group) > 1)
                after = end if item.redefines is None else after
            if len(group) > 1:
                self._reach(max(item.offset - shift + item.size for item in group))
            shift = after
        return shift

    def _item(self, item: Field, value: Any, shift: int, indexes: tuple[int, ...], *, shared: bool) -> int:
        if item.occurs is None:
            return self._once(item, value, shift, 0, indexes, shared=shared)
        elements = self._elements(item, value, indexes)
        self._reach(item.offset - shift)
        for index, element in enumerate(elements):
            shift = self._once(item, element, shift, index, (*indexes, index), shared=shared)
        if self.moving:
            shift += (item.count - len(elements)) * item.length
        else:
            self._reach(item.offset - shift + item.size)
        return shift

    def _elements(self, item: Field, value: Any, indexes: tuple[int, ...]) -> Sequence[Any]:
        """Return the elements of a table after checking their number against its size and DEPENDING ON field."""
        assert item.occurs is not None
        counter = self.counts.get(item.depending_on) if item.depending_on else None
        limit = item.occurs.count(counter) if item.depending_on else item.occurs.maximum
        if value is _ABSENT:
            return [_ABSENT] * limit
        if not isinstance(value, list | tuple):
            raise ConversionError(f"{shown(item.path, indexes)}: expected a list of {item.occurs.maximum} elements")
        if len(value) != limit:
            allowed = (
                f"{item.depending_on[-1]} says {counter}, at most {item.occurs.maximum}"
                if item.depending_on
                else str(item.occurs.maximum)
            )
            raise ConversionError(f"{shown(item.path, indexes)}: {len(value)} elements were given; {allowed}")
        return value

    def _once(self, item: Field, value: Any, shift: int, index: int, indexes: tuple[int, ...], *, shared: bool) -> int:
        moved = shift - index * item.length
        if not item.is_group:
            self._leaf(item, value, item.offset - moved, indexes, shared=shared)
            return shift
        after = (
            self._fields(item.children, {} if value is _ABSENT else value, moved, indexes, shared=shared)
            + index * item.length
        )
        self._reach(item.offset - after + (index + 1) * item.length)
        return after

    def _leaf(self, item: Field, value: Any, start: int, indexes: tuple[int, ...], *, shared: bool) -> None:
        fresh = len(self.record) < start + item.length
        if value is None and shared:
            self._reach(start + item.length)  # the bytes come from another field that shares them, if any has a value
        elif value is not _ABSENT:
            self._write(item, value, start, indexes, fresh=fresh)
            if shared:
                self.shared.append((item, start, value, indexes))
        elif fresh and self.base is None:
            self._reach(start)
            self.record += fill(item, self.layout.rules)[len(self.record) - start :]
        if item.path in self.counters:
            try:
                self.counts[item.path] = decode_at(self.layout, item, bytes(self.record[: start + item.length]), start)
            except BadValue:
                self.counts[item.path] = None

    def _write(self, item: Field, value: Any, start: int, indexes: tuple[int, ...], *, fresh: bool) -> None:
        """Write a value unless the bytes already decode to it; so None keeps bytes of a base that decode to None."""
        if (self.base is not None or not fresh) and self._has_value(item, value, start):
            return
        try:
            data = encode_value(item, value, self.layout.rules)
        except ConversionError as error:
            raise ConversionError(
                str(error) if not indexes else f"{shown(item.path, indexes)}: {error}", offset=start
            ) from None
        self.record += bytes(max(start - len(self.record), 0))
        self.record[start : start + item.length] = data

    def _has_value(self, item: Field, value: Any, start: int) -> bool:
        """Return whether the bytes at ``start`` decode to this value (corrupt bytes decode to None)."""
        try:
            current = decode_at(self.layout, item, bytes(self.record[: start + item.length]), start)
        except BadValue:
            current = None
        return type(current) is type(value) and str(current) == str(value)

    def _reach(self, size: int) -> None:
        """Extend the record to ``size`` bytes: slack and unused bytes are X'00'. A base keeps its length."""
        if self.base is None:
            self.record += bytes(max(size - len(self.record), 0))


def _is_text(item: Field, value: Any) -> bool:
    """Return whether the field is an elementary text whose value does not fill it."""
    return item.type is FieldType.TEXT and item.occurs is None and isinstance(value, str) and len(value) < item.length


class _Absent:
    """Stands for a missing value (None is a value: null)."""

    def __repr__(self) -> str:
        return "absent"


_ABSENT = _Absent()


def _refuse_missing(group: tuple[Field, ...], shift: int, indexes: tuple[int, ...]) -> None:
    """Refuse fields without a value unless they are FILLERs; None is a value if no other field shares the bytes."""
    if any(not inner.is_filler for item in group for inner in item.walk()):
        names = " or ".join(item.name for item in group)
        where = shown(group[0].path[:-1], indexes)
        raise ConversionError(
            f"{where + '.' if where else ''}{names}: no value was given", offset=group[0].offset - shift
        )


def _refuse_unknown(fields: tuple[Field, ...], values: Mapping[str, Any], indexes: tuple[int, ...]) -> None:
    known = {item.key for item in fields}
    for name in values:
        if name not in known:
            where = shown(fields[0].path[:-1], indexes) or "the record"
            raise ConversionError(f"{where} has no field {str(name)[:60]!r}; it has {', '.join(sorted(known))}"[:500])
