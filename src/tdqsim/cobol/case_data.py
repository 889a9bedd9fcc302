"""Records of case files: encode them, and compare them with the bytes of records.

A text is encoded in the code page of its queue or file; elsewhere in the code page of programs. Texts are
compared without trailing blanks. A record with a layout is compared field by field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from fnmatch import translate
from pathlib import Path
from typing import Any, Final, NamedTuple

from tdqsim.cobol.case_file import CaseData, CaseRecord
from tdqsim.errors import TdqError, UsageError
from tdqsim.facts import CVDAS
from tdqsim.hosting import CodePage, codepage, did_you_mean
from tdqsim.layouts import Field, FieldType, Layout, encode_value, load_layout

LATIN: Final = codepage(819)
"""The code page of programs."""
_NUMBERS: Final = (int, float, Decimal)
_TEXTS: Final = (FieldType.TEXT, FieldType.EDITED)


class NumberBytes(bytes):
    """The bytes of an option of a command that a program declares as a binary or packed number.

    Attributes:
        number: its value.
    """

    number: int

    @classmethod
    def of(cls, data: bytes, number: int) -> NumberBytes:
        """The bytes of a number."""
        made = cls(data)
        made.number = number
        return made


class CaseDifference(NamedTuple):
    """A difference between an expected and an actual value.

    Attributes:
        place: the value compared, such as ``queues.OUTQ[1].PAY-AMOUNT``.
        expected: the expected value.
        found: the actual value.
    """

    place: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.place}: expected {self.expected}, found {self.found}"


class CaseRecords:
    """The records of one case file.

    Args:
        folder: the directory of the file, to which the paths of layouts are relative.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._layouts: dict[tuple[str, str, str], Layout] = {}

    def encode(self, data: CaseData, page: CodePage) -> bytes:
        """Give the bytes of an input record.

        Raises:
            UsageError: the record is a pattern. TdqError: a layout cannot be read, or a value does not fit its field.
        """
        if isinstance(data, str):
            return page.encode(data)
        if data.hex:
            return bytes.fromhex(data.hex)
        if not data.layout:
            what = (
                "null is for SQL"
                if data.null
                else f"like and pattern are for what is expected: {data.like or data.pattern}"
            )
            raise UsageError(what)
        layout = self._layout(data, page)
        values = {name: _value(layout.field(name), value) for name, value in data.fields.items()}
        return layout.encode(values, base=_initial(layout, page))

    def mistakes(self, data: CaseData, page: CodePage, *, expected: bool) -> Iterator[tuple[tuple[str, ...], str, str]]:
        """Give the mistakes in a record of a case: where in the record, the value, and what is wrong."""
        if isinstance(data, CaseRecord) and data.layout:
            yield from self._mistakes_in_fields(data, page, expected=expected)
        elif isinstance(data, CaseRecord) and data.pattern is not None and expected:
            yield from _pattern_mistake(data.pattern)
        elif not expected and not (isinstance(data, CaseRecord) and data.null):
            try:
                self.encode(data, page)
            except (TdqError, ValueError) as error:
                yield (), data if isinstance(data, str) else "", str(error)

    def _mistakes_in_fields(
        self, data: CaseRecord, page: CodePage, *, expected: bool
    ) -> Iterator[tuple[tuple[str, ...], str, str]]:
        try:
            layout = self._layout(data, page)
        except (TdqError, OSError, LookupError) as error:
            yield ("layout",), data.layout, str(error)
            return
        for name, value in data.fields.items():
            try:
                item = layout.field(name)
                if not expected:
                    layout.encode({name: _value(item, value)}, base=_initial(layout, page))
            except LookupError as error:
                hint = did_you_mean(name, _names(layout.fields))
                yield ("fields", name), "", f"{error.args[0] if error.args else error}{hint}"
            except (TdqError, ValueError) as error:
                yield ("fields", name), value if isinstance(value, str) else "", str(error)

    def compare(self, place: str, expected: CaseData, actual: bytes, page: CodePage) -> list[CaseDifference]:
        """Give the differences between an expected record and its bytes."""
        if isinstance(expected, CaseRecord) and expected.layout:
            layout = self._layout(expected, page)
            differences = []
            for name, value in expected.fields.items():
                held = layout.value(actual, name) if len(actual) >= layout.minimum_length else None
                if not _agrees(value, held):
                    differences.append(CaseDifference(f"{place}.{name}", _shown(value), repr(_text(held))))
            return differences
        if isinstance(expected, CaseRecord) and expected.hex:
            same = bytes.fromhex(expected.hex) == actual
            return [] if same else [CaseDifference(place, f"X'{expected.hex.upper()}'", f"X'{actual.hex().upper()}'")]
        text = page.decode(actual)
        return [] if _agrees(expected, text) else [CaseDifference(place, _shown(expected), _readable(text, actual))]

    def compare_value(self, place: str, expected: CaseData, actual: object) -> list[CaseDifference]:
        """Give the difference between an expected value and a value of a host variable or parameter."""
        if isinstance(expected, CaseRecord) and (expected.hex or expected.layout):
            return self.compare(place, expected, _bytes(actual), LATIN)
        if isinstance(expected, CaseRecord) and expected.null:
            same = actual is None
        else:
            same = actual is not None and _agrees(expected, _plain(actual))
        return [] if same else [CaseDifference(place, _shown(expected), _value_shown(actual))]

    def written_value(self, expected: CaseData | None, actual: object) -> Any:
        """Give a value of a host variable or parameter as a case file writes it; for updates."""
        if actual is None:
            return {"null": "yes"}
        if expected is not None and not self.compare_value("", expected, actual):
            return expected if isinstance(expected, str) else expected.model_dump(exclude_defaults=True)
        if isinstance(actual, bytes) and not (isinstance(actual, NumberBytes) and isinstance(expected, str | None)):
            return self.written(expected, actual, LATIN)
        return str(_plain(actual))

    def written(self, expected: CaseData | None, actual: bytes, page: CodePage) -> Any:
        """Give a record as a case file writes it, in the form of the expected record; for updates."""
        if expected is not None and not self.compare("", expected, actual, page):
            return expected if isinstance(expected, str) else expected.model_dump(exclude_defaults=True)
        if isinstance(expected, CaseRecord) and expected.layout:
            layout = self._layout(expected, page)
            if len(actual) >= layout.minimum_length:
                fields = {name: _text(layout.value(actual, name)) for name in expected.fields}
                return {**expected.model_dump(exclude_defaults=True, include={"layout", "record"}), "fields": fields}
        text = page.decode(actual).rstrip(" ")
        return text if text.isprintable() and not isinstance(expected, CaseRecord) else {"hex": actual.hex().upper()}

    def _layout(self, data: CaseRecord, page: CodePage) -> Layout:
        key = (data.layout, data.record, page.name)
        if key not in self._layouts:
            self._layouts[key] = load_layout(self._folder / data.layout, data.record, code_page=page.name)
        return self._layouts[key]


def _names(fields: Iterable[Field]) -> Iterator[str]:
    """The names of fields and of those in them."""
    for item in fields:
        yield item.name
        yield from _names(item.children)


def _pattern_mistake(pattern: str) -> Iterator[tuple[tuple[str, ...], str, str]]:
    try:
        re.compile(pattern)
    except re.error as error:
        yield ("pattern",), pattern, f"is no regular expression: {error}"


def _value(item: Field, value: str | CaseRecord) -> str | int | Decimal:
    if isinstance(value, CaseRecord):
        raise UsageError("like and pattern are for what is expected")
    if item.type in _TEXTS:
        return value
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise UsageError(f"{item.name}: {value!r} is no number") from None
    return int(number) if number == number.to_integral_value() else number


def _initial(layout: Layout, page: CodePage) -> bytes:
    """A record of blanks and zeros, as INITIALIZE makes it."""
    record = bytearray(page.encode(" ") * layout.length)
    _initialize(layout, layout.fields, 0, record)
    return bytes(record)


def _initialize(layout: Layout, fields: Iterable[Field], shift: int, record: bytearray) -> None:
    for item in fields:
        if item.redefines is not None:
            continue
        for at in range(item.occurs.maximum if item.occurs is not None else 1):
            start = shift + at * item.length
            if item.type is FieldType.GROUP:
                _initialize(layout, item.children, start, record)
            elif item.type not in _TEXTS:
                start += item.offset
                record[start : start + item.length] = encode_value(item, 0, layout.rules)


def _agrees(expected: str | CaseRecord, actual: object) -> bool:
    if isinstance(expected, CaseRecord):
        pattern = translate(expected.like) if expected.like is not None else expected.pattern or ""
        return re.fullmatch(pattern, _text(actual).rstrip(" "), re.DOTALL) is not None
    if isinstance(actual, _NUMBERS):
        try:
            return Decimal(CVDAS.get(expected, expected)) == Decimal(str(actual))
        except InvalidOperation:
            return False
    return _text(actual).rstrip(" ") == expected.rstrip(" ")


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex().upper()
    return "" if value is None else str(value)


def _shown(expected: str | CaseRecord) -> str:
    if isinstance(expected, str):
        return repr(expected)
    if expected.null or expected.hex:
        return "null" if expected.null else f"X'{expected.hex.upper()}'"
    return f"like {expected.like!r}" if expected.like is not None else f"pattern {expected.pattern!r}"


def _plain(value: object) -> object:
    """A value of a program as text or number: a group is its characters."""
    if isinstance(value, NumberBytes):
        return value.number
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else _text(value).encode("latin-1", "replace")


def _value_shown(value: object) -> str:
    if isinstance(value, bytes) and not isinstance(value, NumberBytes):
        return _readable(value.decode("latin-1"), value)
    return "null" if value is None else repr(str(_plain(value)))


def _readable(text: str, data: bytes) -> str:
    shown = text.rstrip(" ")
    return repr(shown) if shown.isprintable() else f"X'{data.hex().upper()}'"
