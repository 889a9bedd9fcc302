"""Values of SQL: their types, casts, arithmetic and scalar functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import ROUND_DOWN, Decimal, InvalidOperation, localcontext
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, Self

from tdqsim.core.clock import NS_PER_SECOND
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.layouts import shown_bytes
from tdqsim.ibmi.parms import Parm
from tdqsim.ibmi.sql_text import SqlError, SqlExpression, SqlLiteral, SqlTypeName, not_served

SqlValue = str | int | Decimal | bytes | datetime | date | None
_DIGITS: Final = 31
"""The most digits of a decimal number."""


def fail(code: int, state: str, number: str, text: str) -> NoReturn:
    """End a statement with an error."""
    raise SqlError(code, state, f"[{number}] {text}")


class SqlText(str):
    """Characters with the bytes that they stand for."""

    __slots__ = ("raw",)
    raw: bytes

    def __new__(cls, text: str, raw: bytes) -> Self:
        """Make a text."""
        made = str.__new__(cls, text)
        made.raw = raw
        return made


class SqlColumn(NamedTuple):
    """A column of a result, or a parameter of a statement.

    Attributes:
        name: its name.
        type: its SQL type, such as VARCHAR.
        precision: the length of characters and bytes, the digits of a number.
        scale: the digits after the decimal point.
        nullable: whether it may be null.
    """

    name: str
    type: str
    precision: int
    scale: int = 0
    nullable: bool = True


def from_hex(text: str) -> bytes:
    """The bytes of hexadecimal text."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        text = "Conversion error on input host variable: binary data is sent as hexadecimal text."
        fail(-302, "22023", "SQL0302", text)


# -- values -----------------------------------------------------------------------------------------------------------

BINARY: Final = ("BINARY", "VARBINARY", "BLOB")
INTEGERS: Final = {"SMALLINT": 2, "INTEGER": 4, "BIGINT": 8}


def shown(value: Any) -> str:
    """A value as text: bytes as hexadecimal digits, a time stamp as ``2026-01-31 12:00:00.123456``."""
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"
    return str(value)


def bytes_of(core: JobCore, value: Any) -> bytes:
    """The bytes of a value: those of a text, or its characters in the CCSID of the job."""
    if isinstance(value, SqlText):
        return value.raw
    return value if isinstance(value, bytes) else shown_bytes(shown(value), core.page)


def number_of(value: Any) -> int | Decimal:
    """A value as a number."""
    if isinstance(value, int | Decimal):
        return value
    try:
        number = Decimal(shown(value).strip())
        if number.is_finite() and number.adjusted() < _DIGITS:
            return number
    except InvalidOperation:
        pass
    fail(-420, "22018", "SQL0420", "Character in CAST argument not valid: a number is needed.")


def or_null(change: Callable[[Any], Any], value: Any) -> Any:
    """A changed value; null stays null."""
    return None if value is None else change(value)


def now(core: JobCore) -> datetime:
    """The local time of the system."""
    at = datetime.fromtimestamp(core.system.clock.time_ns() / NS_PER_SECOND, core.system.timezone)
    return at.replace(tzinfo=None)


def joined(core: JobCore, left: Any, right: Any) -> Any:
    """Two values one after the other; null if one is null."""
    if left is None or right is None:
        return None
    if isinstance(left, bytes) and isinstance(right, bytes):
        return left + right
    return SqlText(shown(left) + shown(right), bytes_of(core, left) + bytes_of(core, right))


def part(value: Any, start: int, end: int | None = None) -> Any:
    """Characters of a text, or bytes, with the bytes that they stand for if each has one."""
    if isinstance(value, SqlText) and len(value.raw) == len(value):
        return SqlText(str(value)[start:end], value.raw[start:end])
    return value[start:end] if isinstance(value, bytes) else str(shown(value))[start:end]


def column_of(kind: SqlTypeName, operand: SqlColumn) -> SqlColumn:
    """The column of a CAST."""
    name = {"CHAR": "BINARY", "VARCHAR": "VARBINARY"}.get(kind.name, kind.name) if kind.binary else kind.name
    digits = {"SMALLINT": 5, "INTEGER": 10, "BIGINT": 19, "DATE": 10, "TIMESTAMP": 26}.get(name)
    return SqlColumn("", name, digits or kind.length or operand.precision, kind.scale)


def cast(core: JobCore, kind: SqlTypeName, value: Any) -> Any:
    """A value converted to a type."""
    name, length = kind.name, kind.length
    if name in ("DATE", "TIMESTAMP"):
        return _moment(name, value)
    if name in INTEGERS:
        return int(number_of(value))
    if name in ("DECIMAL", "NUMERIC"):
        number = Decimal(number_of(value)).quantize(Decimal(1).scaleb(-kind.scale), ROUND_DOWN)
        if len(number.as_tuple().digits) > length:
            fail(-406, "22003", "SQL0406", f"Conversion error: {number} has more than {length} digits.")
        return number
    if name in BINARY or kind.binary:
        data = bytes_of(core, value)[: length or None]
        return data.ljust(length, b"\0" if name in BINARY else b"\x40") if name in ("BINARY", "CHAR") else data
    if isinstance(value, bytes):
        value = SqlText(core.page.printable(value), value)
    cut = part(value if isinstance(value, SqlText) else shown(value), 0, length or None)
    missing = length - len(cut) if name == "CHAR" else 0
    return joined(core, cut, " " * missing) if missing > 0 else cut


def _moment(name: str, value: Any) -> date:
    try:
        at = value if isinstance(value, date) else datetime.fromisoformat(shown(value).strip())
    except ValueError:
        fail(-180, "22007", "SQL0180", "Syntax of date, time, or timestamp value not valid.")
    if name == "DATE":
        return at.date() if isinstance(at, datetime) else at
    return at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)  # local time


def interpret(core: JobCore, kind: SqlTypeName, value: Any) -> Any:
    """The bytes of a value as those of another type."""
    data, length = bytes_of(core, value), kind.length
    if kind.name in ("CHAR", "VARCHAR", "BINARY", "VARBINARY"):
        return cast(core, kind, data)
    form = {"DECIMAL": f"PACKED({length}:{kind.scale})", "NUMERIC": f"ZONED({length}:{kind.scale})"}.get(kind.name)
    if kind.name in INTEGERS:
        form = f"INT({ {2: 5, 4: 10, 8: 20}[INTEGERS[kind.name]] })"
    if form is None:
        not_served(f"INTERPRET AS {kind.name}")
    try:
        parm = Parm("INTERPRET", form)
        if len(data) < parm.length:
            raise ValueError(f"{len(data)} bytes")
        return parm.decode(data, core.page)
    except ValueError as error:
        fail(-802, "22023", "SQL0802", f"Data conversion or data mapping error: {error}")


def number_column(operator: str, left: SqlColumn, right: SqlColumn) -> SqlColumn:
    """The type of an arithmetic result: an integer, or a decimal with at most 31 digits."""
    if left.type in INTEGERS and right.type in INTEGERS:
        return SqlColumn("", "INTEGER", 10)
    (p, s), (q, t) = (
        (one.precision if one.scale or one.type in ("DECIMAL", "NUMERIC") else 10, one.scale) for one in (left, right)
    )
    scale = {"*": min(_DIGITS, s + t), "/": max(0, _DIGITS - p + s - t)}.get(operator, max(s, t))
    return SqlColumn("", "DECIMAL", _DIGITS if operator == "/" else min(_DIGITS, p + q), min(_DIGITS, scale))


def calculated(operator: str, a: int | Decimal, b: int | Decimal, scale: int) -> int | Decimal:
    """The result of an arithmetic operator."""
    if operator == "/" and not b:
        fail(-802, "22012", "SQL0802", "Data conversion or data mapping error: division by zero.")
    if isinstance(a, int) and isinstance(b, int):
        if operator == "/":
            return int(Decimal(a) / Decimal(b))
        return {"+": a + b, "-": a - b, "*": a * b}[operator]
    x, y = Decimal(a), Decimal(b)
    try:
        with localcontext(prec=2 * _DIGITS):
            result = x / y if operator == "/" else {"+": x + y, "-": x - y, "*": x * y}[operator]
            rounded = result.quantize(Decimal(1).scaleb(-scale), ROUND_DOWN)
        if len(rounded.as_tuple().digits) <= _DIGITS or not rounded:
            return rounded
    except InvalidOperation:
        pass
    fail(-802, "22003", "SQL0802", "Data conversion or data mapping error: the result has too many digits.")


# -- functions --------------------------------------------------------------------------------------------------------


class _Known(NamedTuple):
    least: int
    most: int
    column: Callable[[SqlColumn, Sequence[SqlExpression]], SqlColumn]
    value: Callable[..., Any]


_LONGEST_PAD: Final = 64512


def _as_text(length: int = 0) -> Callable[[SqlColumn, Sequence[SqlExpression]], SqlColumn]:
    return lambda first, _given: SqlColumn("", "VARCHAR", length or max(first.precision, 1))


def _as_first(first: SqlColumn, _given: Sequence[SqlExpression]) -> SqlColumn:
    return first


def _as_part(first: SqlColumn, _given: Sequence[SqlExpression]) -> SqlColumn:
    return SqlColumn("", "VARBINARY" if first.type in BINARY else "VARCHAR", max(first.precision, 1))


def _as_digits(first: SqlColumn, _given: Sequence[SqlExpression]) -> SqlColumn:
    return SqlColumn("", "VARCHAR", 2 * first.precision)


def _coalesced(_core: JobCore, *values: Any) -> Any:
    return next((one for one in values if one is not None), None)


def _as_integer(_first: SqlColumn, _given: Sequence[SqlExpression]) -> SqlColumn:
    return SqlColumn("", "INTEGER", 10)


def _pad(core: JobCore, value: Any, length: Any, fill: Any = " ", *, left: bool) -> Any:
    wanted, text = int(number_of(length)), value if isinstance(value, SqlText) else shown(value)
    if not 0 <= wanted <= _LONGEST_PAD:
        fail(-171, "42815", "SQL0171", f"Argument 2 of function {'LPAD' if left else 'RPAD'} not valid.")
    filled = (shown(fill) or " ") * max(0, wanted - len(text))
    filled = filled[: max(0, wanted - len(text))]
    cut = part(text, 0, wanted)
    return joined(core, filled, cut) if left else joined(core, cut, filled)


def _substr(_core: JobCore, value: Any, start: Any, length: Any = None) -> Any:
    first = int(number_of(start)) - 1
    count = None if length is None else int(number_of(length))
    if first < 0 or (count is not None and count < 0):
        fail(-138, "22011", "SQL0138", "Argument of substringing function not valid.")
    return part(value, first, None if count is None else first + count)


def _stripped(_core: JobCore, value: Any, *, left: bool) -> Any:
    text = shown(value)
    start = len(text) - len(text.lstrip(" ")) if left else 0
    return part(value, start, max(start, len(text.rstrip(" "))))


def _decimal_column(_first: SqlColumn, given: Sequence[SqlExpression]) -> SqlColumn:
    precision, scale = (
        one.value if isinstance(one, SqlLiteral) and isinstance(one.value, int) else default
        for one, default in zip((*given[1:], *[None] * 2), (15, 0), strict=False)
    )
    return SqlColumn("", "DECIMAL", precision, scale)


def _decimal(core: JobCore, value: Any, precision: Any = 15, scale: Any = 0) -> Decimal:
    made: Decimal = cast(core, SqlTypeName("DECIMAL", int(number_of(precision)), int(number_of(scale)), False), value)
    return made


_FORMAT: Final = re.compile(
    r"YYYY|RRRR|MM|DD|HH24|HH12|HH|MI|SS|FF\d?|NNNNNN|AM|PM|[-:./, ]|T|\"[^\"]*\"", re.IGNORECASE
)
_CODES: Final = {
    "YYYY": "%Y", "RRRR": "%Y", "MM": "%m", "DD": "%d", "HH24": "%H", "HH12": "%I", "HH": "%I", "MI": "%M", "SS": "%S",
    "NNNNNN": "%f", "FF": "%f", "AM": "%p", "PM": "%p",
}  # fmt: skip


def _to_char(_core: JobCore, value: Any, form: Any = "YYYY-MM-DD HH24:MI:SS") -> str:
    if not isinstance(value, date):
        return shown(value)
    text, at, made = shown(form), 0, ""
    while at < len(text):
        found = _FORMAT.match(text, at)
        if found is None:
            not_served(f"the format {text[:40]} of TO_CHAR")
        word, at = found[0].upper(), found.end()
        digits = word[2:] if word.startswith("FF") else ""
        piece = format(value, _CODES.get(word[:2] if word.startswith("FF") else word, found[0].strip('"')))
        made += piece[: int(digits)] if digits else piece
    return made


def _digits(_core: JobCore, value: Any) -> str:
    number = number_of(value)
    scaled = Decimal(number).as_tuple()
    width = 10 if isinstance(number, int) else len(scaled.digits)
    return "".join(map(str, scaled.digits)).rjust(width, "0")


def _as_type(name: str) -> Callable[..., Any]:
    return lambda core, value, length=0: cast(core, SqlTypeName(name, int(number_of(length)), 0, False), value)


def _length(core: JobCore, value: Any) -> int:
    return len(value) if isinstance(value, str | bytes) else len(bytes_of(core, value))


FUNCTIONS: Final[dict[str, _Known]] = {
    "LPAD": _Known(2, 3, _as_text(), partial(_pad, left=True)),
    "RPAD": _Known(2, 3, _as_text(), partial(_pad, left=False)),
    "SUBSTR": _Known(2, 3, _as_part, _substr),
    "LENGTH": _Known(1, 1, _as_integer, _length),
    "HEX": _Known(1, 1, _as_digits, lambda core, value: bytes_of(core, value).hex().upper()),
    "TRIM": _Known(1, 1, _as_text(), partial(_stripped, left=True)),
    "RTRIM": _Known(1, 1, _as_text(), partial(_stripped, left=False)),
    "UPPER": _Known(1, 1, _as_text(), lambda _core, value: shown(value).upper()),
    "UCASE": _Known(1, 1, _as_text(), lambda _core, value: shown(value).upper()),
    "LOWER": _Known(1, 1, _as_text(), lambda _core, value: shown(value).lower()),
    "CHAR": _Known(1, 2, lambda first, _given: SqlColumn("", "CHAR", max(first.precision, 1)), _as_type("CHAR")),
    "VARCHAR": _Known(1, 2, _as_text(), _as_type("VARCHAR")),
    "INT": _Known(1, 1, _as_integer, _as_type("INTEGER")),
    "INTEGER": _Known(1, 1, _as_integer, _as_type("INTEGER")),
    "DEC": _Known(1, 3, _decimal_column, _decimal),
    "DECIMAL": _Known(1, 3, _decimal_column, _decimal),
    "DIGITS": _Known(1, 1, _as_text(_DIGITS), _digits),
    "TO_CHAR": _Known(1, 2, _as_text(100), _to_char),
    "VARCHAR_FORMAT": _Known(1, 2, _as_text(100), _to_char),
    "COALESCE": _Known(2, 20, _as_first, _coalesced),
    "IFNULL": _Known(2, 2, _as_first, _coalesced),
    "NOW": _Known(0, 0, lambda _first, _given: SqlColumn("", "TIMESTAMP", 26), now),
}
