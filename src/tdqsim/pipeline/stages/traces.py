"""Traces as text: read the records of CSV files and JSON lines, and check that their values form an event.

A bad record does not affect the records after it. A record ends with its line, or where its quotes are closed. If the
result is not a valid record, only its first line is bad, and the next line begins the next record.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from tdqsim.errors import DatasetError, WrongValue
from tdqsim.pipeline.stages.events import COLUMNS

Row = tuple[int, int | None, Mapping[str, object] | Exception]
"""The number of the record from 1, its offset if known, and its values or the description of its error."""

BYTES: Final = ("key", "data")
NUMBERS: Final = {"seq": 64, "time_us": 64, "task": 64, "resp2": 32}
"""Columns that hold whole numbers, and their size in bits."""
_TEXTS: Final = tuple(name for name in COLUMNS if name not in (*BYTES, *NUMBERS))
_LONGEST: Final = 1 << 20
"""The maximum length of a record in bytes; a data queue entry of 64,512 bytes has 129,024 digits."""
_QUOTE: Final = b'"'
_OPEN: Final = "a quote is not closed; double a quote that belongs to the text"


class BadEvent(WrongValue):
    """A value that is not allowed in an event; the text names its column."""


# lines ----------------------------------------------------------------------------------------------------------------


class _Lines:
    """The lines of a file; ``offset`` is that of the next one, ``longest`` the maximum length of a record in bytes."""

    def __init__(self, path: str, first: int = 0, last: int = 0, longest: int = _LONGEST) -> None:
        self.longest = longest
        self._file = Path(path).open("rb")  # noqa: SIM115  (closed by the with statement that this is for)
        self._last = last
        self.back_to(first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def next(self) -> bytes:
        """The next line, or its first bytes up to the limit of a record; empty at the end."""
        line = b"" if self._last and self.offset >= self._last else self._file.readline(self.longest)
        self.offset += len(line)
        return line

    def back_to(self, offset: int) -> None:
        """Continue with the line at an offset."""
        self.offset = self._file.seek(offset)

    def skip_rest(self, line: bytes) -> bool:
        """Whether a line is only the beginning of one; the rest of it is then skipped."""
        if len(line) < self.longest or line.endswith(b"\n"):
            return False
        while (more := self.next()) and not more.endswith(b"\n"):
            pass
        return True

    def too_long(self) -> WrongValue:
        """The error of a record that is longer than the limit."""
        return WrongValue(f"it is longer than {self.longest:,} bytes")


# CSV ------------------------------------------------------------------------------------------------------------------


def csv_header(path: str) -> list[str]:
    """The names in the first line of a CSV file; none when it is empty.

    Raises:
        DatasetError: the first line cannot be read, or has a name twice.
    """
    with _Lines(path) as lines:
        return _header(lines, path)


def _header(lines: _Lines, path: str) -> list[str]:
    while line := lines.next():
        fields = lines.too_long() if lines.skip_rest(line) else _fields(line.removeprefix(b"\xef\xbb\xbf"))
        if isinstance(fields, ValueError):
            raise DatasetError(f"{path}: the first line, which names the columns, is not CSV in UTF-8: {fields}")
        names = [name.strip() for name in fields]
        if not any(names):
            continue
        name, count = Counter(names).most_common(1)[0]
        if count > 1:
            raise DatasetError(f"{path}: the first line has the column {name!r:.80} twice; rename or remove one")
        return names
    return []


def _fields(record: bytes) -> list[str] | ValueError:
    """The fields of one record, or the reason why it is bad."""
    try:
        text = record.decode("utf-8")
    except UnicodeDecodeError as error:
        return WrongValue(f"it is not UTF-8: {error.reason} at byte {error.start}")
    if _QUOTE not in record:
        return text.rstrip("\r\n").split(",")
    try:
        rows = list(csv.reader([text], strict=True))
    except csv.Error as error:
        return WrongValue(str(error))
    return rows[0] if len(rows) == 1 else ValueError("it is not one record")


def csv_rows(path: str) -> Iterator[Row]:
    """The records of a CSV file in UTF-8, whose first line names the columns.

    Raises:
        DatasetError: the first line cannot be used.
    """
    with _Lines(path) as lines:
        names = _header(lines, path)
        number = 0
        while True:
            offset = lines.offset
            fields = _record(lines, names)
            if fields is None:
                return
            if fields:
                number += 1
                values = fields if isinstance(fields, Exception) else dict(zip(names, fields, strict=False))
                yield number, offset, values


def _record(lines: _Lines, names: Sequence[str]) -> list[str] | ValueError | None:
    """The fields of the next record, or its error; empty for an empty line, None at the end."""
    first = lines.next()
    if not first:
        return None
    if not first.strip():
        return []
    if lines.skip_rest(first):
        return lines.too_long()
    second, fields = lines.offset, _fields(first)
    if isinstance(fields, ValueError) and first.count(_QUOTE) % 2:
        record = _to_closing_quote(lines, first)
        fields = _fields(record) if record else ValueError(_OPEN)
    if not isinstance(fields, ValueError) and len(fields) > len(names):
        fields = ValueError(f"more fields than the first line has names: {fields[len(names) :]!r:.80}")
    if isinstance(fields, ValueError):
        lines.back_to(second)
    return fields


def _to_closing_quote(lines: _Lines, first: bytes) -> bytes:
    """A record with an open quote, with the lines that complete it; empty if none within the limit does."""
    record = [first]
    size = len(first)
    while size < lines.longest and (line := lines.next()):
        record.append(line)
        size += len(line)
        if line.count(_QUOTE) % 2:
            return b"".join(record)
    return b""


# JSON lines -----------------------------------------------------------------------------------------------------------


def json_lines(
    path: str, part: tuple[int, int] | None, kind: type, what: str, longest: int = _LONGEST
) -> Iterator[tuple[int, int, Any]]:
    """The values of a file of JSON lines; blank lines are skipped.

    Args:
        path: the file.
        part: the range of bytes to read, from the beginning of a line to that of another; None for all. In a part,
            records are identified by their offset instead of their number; it has the same order.
        kind: the type of the values.
        what: the type in words.
        longest: the maximum length of a line in bytes.
    """
    first, last = part or (0, 0)
    number = 0
    with _Lines(path, first, last, longest) as lines:
        while True:
            offset = lines.offset
            line = lines.next()
            if not line:
                return
            if not line.strip():
                continue
            number = offset + 1 if part else number + 1
            yield number, offset, lines.too_long() if lines.skip_rest(line) else _value(line, kind, what)


def _value(line: bytes, kind: type, what: str) -> Any:
    try:
        decoded = json.loads(line)
    except UnicodeDecodeError as error:
        return WrongValue(f"it is not UTF-8: {error.reason} at byte {error.start}")
    except json.JSONDecodeError as error:
        return WrongValue(f"it is not JSON: {error.msg} at character {error.pos + 1}; each line must be {what}")
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond the limits of Python
        return WrongValue(f"it cannot be read as JSON: {error}")
    return decoded if isinstance(decoded, kind) else ValueError(f"a line must be {what}")


# values ---------------------------------------------------------------------------------------------------------------


def values_of(given: Mapping[str, object]) -> dict[str, object]:
    """The columns of an event, converted to the types of the event table; other columns are left out.

    Raises:
        BadEvent: a value does not have the type of its column; the message names both.
    """
    columns: dict[str, object] = {}
    for name in _TEXTS:
        columns[name] = _text(name, given.get(name))
    for name, bits in NUMBERS.items():
        columns[name] = _number(name, given.get(name), bits)
    for name in BYTES:
        value = given.get(name)
        columns[name] = _digits(name, given.get(f"{name}_hex")) if value is None else _bytes(name, value)
    return columns


def _text(name: str, value: object) -> str | None:
    if value is None:
        return None
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise BadEvent(f"{name} is {_shown(value)}; it must be text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadEvent(f"{name} is {_shown(value)}; it has half a surrogate pair, which is not text") from None
    return text


def _number(name: str, value: object, bits: int) -> int | None:
    if value is None:
        return None
    number = _whole(value)
    if number is None:
        raise BadEvent(f"{name} is {_shown(value)}; it must be a whole number")
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise BadEvent(f"{name} is {_shown(value)}; it must be a whole number of {bits} bits")
    return number


def _whole(value: Any) -> int | None:
    if isinstance(value, (bool, bytes)):
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if isinstance(value, float) and number != value else number


def _bytes(name: str, value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise BadEvent(f"{name} is {_shown(value)}; it must be text, or hexadecimal digits as {name}_hex")
    try:
        return value.encode("cp037")
    except UnicodeEncodeError as error:
        character = value[error.start]
        raise BadEvent(
            f"{name} has {character!r} at character {error.start + 1}, which is not in code page 037; "
            f"give its bytes as hexadecimal digits, in {name}_hex"
        ) from None


def _digits(name: str, value: object) -> bytes | None:
    if value is None:
        return None
    try:
        return bytes.fromhex(value if isinstance(value, str) else "?")
    except ValueError:
        raise BadEvent(f"{name}_hex is {_shown(value)}; it must be pairs of hexadecimal digits") from None


def _shown(value: object) -> str:
    return f"{value!r:.60}"
