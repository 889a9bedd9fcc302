"""Values of SQL: their types, casts, arithmetic and scalar functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import ROUND_DOWN, Decimal, InvalidOperation, localcontext
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, Self

from tdqsim.core.clock import NS_PER_SECOND
from tdqsim.core.codepage import shown_bytes
from tdqsim.errors import WrongValue
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.parms import Parm
from tdqsim.ibmi.sql_text import DIGITS, SqlError, SqlTypeName, not_served

SqlValue = str | int | Decimal | bytes | datetime | date | None


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


# -- values -----------------------------------------------------------------------------------------------------------

BINARY: Final = ("BINARY", "VARBINARY", "BLOB")
_INTEGERS: Final = {"SMALLINT": (2, 5), "INTEGER": (4, 10), "BIGINT": (8, 19)}
"""Integers: their bytes and digits."""
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:[- ](\d\d)[.:](\d\d)[.:](\d\d)(\.\d{1,6})?)?")


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
    try:
        number = Decimal(value if isinstance(value, int | Decimal) else shown(value).strip())
        if number.is_finite() and number.adjusted() < DIGITS:
            return value if isinstance(value, int) else number
    except InvalidOperation:
        pass
    fail(-420, "22018", "SQL0420", "Character in CAST argument not valid: a number is needed.")


def now(core: JobCore) -> datetime:
    """The local time of the system."""
    at = datetime.fromtimestamp(core.system.clock.time_ns() / NS_PER_SECOND, core.system.timezone)
    return at.replace(tzinfo=None)


def joined(core: JobCore, left: Any, right: Any) -> Any:
    """Two values one after the other."""
    if isinstance(left, bytes) and isinstance(right, bytes):
        return left + right
    return SqlText(shown(left) + shown(right), bytes_of(core, left) + bytes_of(core, right))


def _part(value: Any, start: int, end: int | None = None) -> Any:
    """Characters of a text, or bytes, with the bytes that they stand for if each has one."""
    if isinstance(value, SqlText) and len(value.raw) == len(value):
        return SqlText(str(value)[start:end], value.raw[start:end])
    return value[start:end] if isinstance(value, bytes) else str(shown(value))[start:end]


def column_of(kind: SqlTypeName, operand: SqlColumn) -> SqlColumn:
    """The column of a CAST."""
    name = {"CHAR": "BINARY", "VARCHAR": "VARBINARY"}.get(kind.name, kind.name) if kind.binary else kind.name
    digits = {"DATE": 10, "TIMESTAMP": 26}.get(name) or _INTEGERS.get(name, (0, 0))[1]
    return SqlColumn("", name, digits or kind.length or operand.precision, kind.scale)


def cast(core: JobCore, kind: SqlTypeName, value: Any) -> Any:
    """A value converted to a type."""
    name, length = kind.name, kind.length
    if name in ("DATE", "TIMESTAMP"):
        return moment(name, value)
    if name in _INTEGERS:
        whole, bound = int(number_of(value)), 1 << 8 * _INTEGERS[name][0] - 1
        return whole if -bound <= whole < bound else _too_large(-406, "Conversion error", whole)
    if name in ("DECIMAL", "NUMERIC"):
        with localcontext(prec=3 * DIGITS):
            number = Decimal(number_of(value)).quantize(Decimal(1).scaleb(-kind.scale), ROUND_DOWN)
        return number if abs(number) < 10 ** (length - kind.scale) else _too_large(-406, "Conversion error", number)
    if name in BINARY or kind.binary:
        data = bytes_of(core, value)[: length or None]
        return data.ljust(length, b"\0" if name in BINARY else b"\x40") if name in ("BINARY", "CHAR") else data
    if isinstance(value, bytes):
        value = SqlText(core.page.printable(value), value)
    cut = _part(value, 0, length or None)
    missing = length - len(cut) if name == "CHAR" else 0
    return joined(core, cut, " " * missing) if missing > 0 else cut


def _too_large(code: int, what: str, number: int | Decimal) -> NoReturn:
    fail(code, "22003", f"SQL0{-code}", f"{what}: {number} has too many digits.")


def moment(name: str, value: Any) -> date:
    """A date or a time stamp: local time, without its zone."""
    if not isinstance(value, date):
        found = _MOMENT.fullmatch(shown(value).strip())
        day, hour, minute, second, rest = found.groups("00") if found else [""] * 5
        try:
            value = datetime.fromisoformat(f"{day} {hour}:{minute}:{second}.{rest.strip('.'):0<6}")
        except ValueError:
            fail(-180, "22007", "SQL0180", "Syntax of date, time, or timestamp value not valid.")
    if name == "DATE":
        return value.date() if isinstance(value, datetime) else value
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def interpret(core: JobCore, kind: SqlTypeName, value: Any) -> Any:
    """The bytes of a value as those of another type."""
    data, length = bytes_of(core, value), kind.length
    if kind.name in ("CHAR", "VARCHAR", "BINARY", "VARBINARY"):
        return cast(core, kind, data)
    form = {
        "DECIMAL": f"PACKED({length}:{kind.scale})", "NUMERIC": f"ZONED({length}:{kind.scale})",
        "SMALLINT": "INT(5)", "INTEGER": "INT(10)", "BIGINT": "INT(20)",
    }.get(kind.name)  # fmt: skip
    if form is None:
        not_served(f"INTERPRET AS {kind.name}")
    try:
        parm = Parm("INTERPRET", form)
        if len(data) < parm.length:
            raise WrongValue(f"{len(data)} bytes")
        return parm.decode(data, core.page)
    except ValueError as error:
        fail(-802, "22023", "SQL0802", f"Data conversion or data mapping error: {error}")


def number_column(operator: str, left: SqlColumn, right: SqlColumn) -> SqlColumn:
    """The type of an arithmetic result: an integer, or a decimal with at most 31 digits."""
    if left.type in _INTEGERS and right.type in _INTEGERS:
        return SqlColumn("", "BIGINT", 19) if "BIGINT" in (left.type, right.type) else SqlColumn("", "INTEGER", 10)
    (p, s), (q, t) = ((one.precision if one.type in ("DECIMAL", "NUMERIC") else 10, one.scale) for one in (left, right))
    scale = {"*": min(DIGITS, s + t), "/": max(0, DIGITS - p + s - t)}.get(operator, max(s, t))
    return SqlColumn("", "DECIMAL", DIGITS if operator == "/" else min(DIGITS, p + q), scale)


def calculated(operator: str, column: SqlColumn, a: int | Decimal, b: int | Decimal) -> int | Decimal:
    """The result of an arithmetic operator, of the type of a column."""
    if operator == "/" and not b:
        fail(-802, "22012", "SQL0802", "Data conversion or data mapping error: division by zero.")
    x, y = Decimal(a), Decimal(b)
    with localcontext(prec=3 * DIGITS):
        result = x / y if operator == "/" else {"+": x + y, "-": x - y, "*": x * y}[operator]
        made = result.quantize(Decimal(1).scaleb(-column.scale), ROUND_DOWN)
    bound = 1 << 8 * _INTEGERS[column.type][0] - 1 if column.type in _INTEGERS else 10 ** (DIGITS - column.scale)
    if not -bound <= made < bound:
        _too_large(-802, "Data conversion or data mapping error", made)
    return int(made) if column.type in _INTEGERS else made


# -- functions --------------------------------------------------------------------------------------------------------


class _Known(NamedTuple):
    """A function: the numbers of its arguments, the column of its result by that of the first one, its value."""

    least: int
    most: int
    column: Callable[[SqlColumn], SqlColumn]
    value: Callable[..., Any]


_LONGEST_PAD: Final = 64512


def _text(length: int = 0) -> Callable[[SqlColumn], SqlColumn]:
    return lambda first: SqlColumn("", "VARCHAR", length or max(first.precision, 1))


def _same(first: SqlColumn) -> SqlColumn:
    return first._replace(name="")


def _raw(name: str, result: Callable[[SqlColumn], SqlColumn]) -> Callable[[SqlColumn], SqlColumn]:
    """The column of a function of characters or bytes; the form of other values in storage is not simulated."""

    def column(first: SqlColumn) -> SqlColumn:
        if first.type not in ("CHAR", "VARCHAR", "CLOB", *BINARY):
            not_served(f"{name} of a value of type {first.type}")
        return result(first)

    return column


def _digit_text(first: SqlColumn) -> SqlColumn:
    if first.type not in _INTEGERS and first.type not in ("DECIMAL", "NUMERIC"):
        not_served(f"DIGITS of a value of type {first.type}")
    return SqlColumn("", "CHAR", first.precision)


def _cut(first: SqlColumn) -> SqlColumn:
    return SqlColumn("", "VARBINARY" if first.type in BINARY else "VARCHAR", first.precision)


def _length(_core: JobCore, value: Any) -> int:
    return len(value if isinstance(value, bytes) else shown(value))


def _hex(core: JobCore, value: Any) -> str:
    return bytes_of(core, value).hex().upper()


def _digits(_core: JobCore, value: Any, *, width: int) -> str:
    return "".join(map(str, Decimal(value).as_tuple().digits)).rjust(width, "0")


def _coalesced(_core: JobCore, *values: Any) -> Any:
    return next((one for one in values if one is not None), None)


def _pad(core: JobCore, value: Any, length: Any, fill: Any = " ", *, left: bool) -> Any:
    wanted, text = int(number_of(length)), value if isinstance(value, SqlText) else shown(value)
    if not 0 <= wanted <= _LONGEST_PAD:
        fail(-171, "42815", "SQL0171", f"Argument 2 of function {'LPAD' if left else 'RPAD'} not valid.")
    missing = max(0, wanted - len(text))
    filled, cut = ((shown(fill) or " ") * missing)[:missing], _part(text, 0, wanted)
    return joined(core, filled, cut) if left else joined(core, cut, filled)


def _substr(_core: JobCore, value: Any, start: Any, length: Any = None) -> Any:
    first = int(number_of(start)) - 1
    count = None if length is None else int(number_of(length))
    if first < 0 or (count is not None and count < 0):
        fail(-138, "22011", "SQL0138", "Argument of substringing function not valid.")
    return _part(value, first, None if count is None else first + count)


def _stripped(_core: JobCore, value: Any, *, left: bool) -> Any:
    text = shown(value)
    start = len(text) - len(text.lstrip(" ")) if left else 0
    return _part(value, start, max(start, len(text.rstrip(" "))))


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
        code = _CODES.get(word.rstrip("0123456789") if digits else word)
        piece = found[0].strip('"') if code is None else format(value, code)
        made += piece[: int(digits)] if digits else piece
    return made


_TO_CHAR: Final = _Known(1, 2, _text(100), _to_char)
_COALESCE: Final = _Known(2, 20, _same, _coalesced)
_UPPER: Final = _Known(1, 1, _text(), lambda _core, value: shown(value).upper())
FUNCTIONS: Final[dict[str, _Known]] = {
    "LPAD": _Known(2, 3, _text(_LONGEST_PAD), partial(_pad, left=True)),
    "RPAD": _Known(2, 3, _text(_LONGEST_PAD), partial(_pad, left=False)),
    "SUBSTR": _Known(2, 3, _cut, _substr),
    "LENGTH": _Known(1, 1, _raw("LENGTH", lambda _one: SqlColumn("", "INTEGER", 10)), _length),
    "HEX": _Known(1, 1, _raw("HEX", lambda one: SqlColumn("", "VARCHAR", 2 * one.precision)), _hex),
    "TRIM": _Known(1, 1, _text(), partial(_stripped, left=True)),
    "RTRIM": _Known(1, 1, _text(), partial(_stripped, left=False)),
    "UPPER": _UPPER, "UCASE": _UPPER,
    "LOWER": _Known(1, 1, _text(), lambda _core, value: shown(value).lower()),
    "DIGITS": _Known(1, 1, _digit_text, _digits),
    "TO_CHAR": _TO_CHAR, "VARCHAR_FORMAT": _TO_CHAR,
    "COALESCE": _COALESCE, "IFNULL": _COALESCE,
    "NOW": _Known(0, 0, lambda _one: SqlColumn("", "TIMESTAMP", 26), now),
}  # fmt: skip
