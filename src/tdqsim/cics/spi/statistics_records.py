"""The records of statistics: named fields, and the bytes that a program maps.

The fields are in the table ``facts/statistics.tsv``. Those of one queue (DFHTQRDS) and of all queues (DFHTQGDS) have
offsets, so these records have bytes; the layouts of the other records are not known. Values are plain Python; text is
turned into bytes by the region's code page only when they are read as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tdqsim.cics.kernel.abstime import pack_abstime
from tdqsim.core.codepage import CodePage
from tdqsim.core.named import NamedTuple
from tdqsim.errors import UnknownName, UsageError
from tdqsim.facts import Cvda, table

_FULLWORD_MAXIMUM: Final = 2**31 - 1
_BINARY_LENGTHS: Final = {"F": 4, "H": 2, "X": 1}


class _RecordField(NamedTuple):
    name: str
    offset: int | None
    kind: str
    origin: str
    title: str

    @property
    def length(self) -> int:
        return _BINARY_LENGTHS.get(self.kind) or int(self.kind[1:])


@cache
def _layout(record: str) -> tuple[_RecordField, ...]:
    return tuple(
        _RecordField(
            row["field"], int(row["offset"], 16) if row["offset"] else None, row["kind"], row["origin"], row["title"]
        )
        for row in table("statistics")
        if row["record"] == record
    )


@cache
def _codes() -> Mapping[tuple[str, str], int]:
    return {(row["field"], row["value"].replace("(none)", "")): int(row["code"]) for row in table("statistics_codes")}


def statistics_code(field: str, value: str) -> int:
    """The code of a value, such as ``("recovery", "LOGICAL")``; ``""`` is a queue without the attribute."""
    return _codes()[field, value]


@cache
def report_columns(record: str) -> Mapping[str, str]:
    """The titles of the fields of a record in reports, by the plain name of the value."""
    return {field.origin: field.title for field in _layout(record) if field.title and not field.origin.isdigit()}


@cache
def _record_length(record: str) -> int:
    ends = [field.offset + field.length for field in _layout(record) if field.offset is not None]
    if not ends:
        name = _layout(record)[0].name[:3]
        raise UsageError(f"the layout of the statistics record {name} is not known: it has no bytes, only values")
    return max(ends)


@dataclass(frozen=True, slots=True)
class StatisticsRecord:
    """One statistics record.

    Attributes:
        record: the first letters of its fields: ``TQR`` for one queue, ``TQG`` for all, and those of the table.
        values: the value of each field by its plain name: in TQR writes, reads, deletes, triggers, items, peak_items,
            cis_in_use, peak_cis and the queue's attributes; in TQG ci_size, nospace and others.
    """

    record: str
    values: Mapping[str, object]

    def __getitem__(self, name: str) -> Any:
        """A value by its plain name, or by the field's name such as ``TQRWRITE``."""
        if name in self.values:
            return self.values[name]
        for field in _layout(self.record):
            if field.name == name:
                return self._value(field)
        raise UnknownName(name)

    def _value(self, field: _RecordField) -> Any:
        if field.origin.isdigit():
            return int(field.origin)
        if field.origin == "length":
            return _record_length(self.record)
        return self.values[field.origin]

    def fields(self) -> Iterator[tuple[str, Any]]:
        """The fields by IBM's names, in the record's order."""
        for field in _layout(self.record):
            yield field.name, self._value(field)

    def as_dict(self) -> dict[str, Any]:
        """The values by plain name, and what a command has added to them."""
        return dict(self.values)

    def added(self, values: Mapping[str, object]) -> StatisticsRecord:
        """The record with more values, by plain name."""
        return StatisticsRecord(self.record, {**self.values, **values})

    def plain(self) -> dict[str, Any]:
        """The values by plain name for JSON, with CVDAs by name."""
        return {name: value.name if isinstance(value, Cvda) else value for name, value in self.values.items()}

    def image(self, page: CodePage) -> bytes:
        """The record as bytes: numbers in big-endian binary, text in the code page, padded with blanks.

        A count that exceeds a fullword is stored as the highest fullword.

        Raises:
            UsageError: the layout of this record is not known.
        """
        data = bytearray(_record_length(self.record))
        for field in _layout(self.record):
            assert field.offset is not None, field
            data[field.offset : field.offset + field.length] = _bytes(field, self._value(field), page)
        return bytes(data)


def _bytes(field: _RecordField, value: object, page: CodePage) -> bytes:
    if field.kind[0] == "C":
        return page.encode(str(value)[: field.length].ljust(field.length))
    number = statistics_code(field.origin, value) if isinstance(value, str) else value
    assert isinstance(number, int), value
    if field.kind[0] == "P":
        return pack_abstime(number)
    return min(int(number), _FULLWORD_MAXIMUM).to_bytes(field.length, "big", signed=field.length > 1)
