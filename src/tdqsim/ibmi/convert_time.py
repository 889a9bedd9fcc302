"""QWCCVTDT: convert a date and time between the formats of ``facts/ibmi_time_formats.tsv``.

Values are characters. Formats with a two-digit year begin with a century digit (0 for 19xx, 1 for 20xx) and have 16
characters, the others 17; with microseconds there are three more. A Julian date is one character shorter than its field
and followed by a blank.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from types import MappingProxyType
from typing import NamedTuple, NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tdqsim.facts import table
from tdqsim.ibmi.dts import DTS_LENGTH, datetime_to_dts, dts_to_datetime
from tdqsim.ibmi.fact_tables import LIMITS

Fail = Callable[..., NoReturn]
_TIME_DIGITS = 6
_EARLIEST = datetime.fromisoformat(str(LIMITS["dts_earliest"]))
_LATEST = datetime.fromisoformat(str(LIMITS["dts_latest"]))


class TimeFormat(NamedTuple):
    """One format of QWCCVTDT."""

    name: str
    use: str
    pattern: str
    century: bool
    date_length: int


TIME_FORMATS = MappingProxyType(
    {
        row["format"]: TimeFormat(
            row["format"], row["use"], row["pattern"], row["century"] == "yes",
            int(row["bytes"]) - (row["century"] == "yes") - _TIME_DIGITS - 3,
        )
        for row in table("ibmi_time_formats")
    }
)  # fmt: skip
"""The formats by name."""


def format_time(moment: datetime, name: str, *, microseconds: bool, fail: Fail) -> bytes | str:
    """Format a local time: bytes for *DTS, otherwise text.

    Args:
        moment: local time without a zone.
        name: the output format; *JOB and *SYSVAL must be replaced already.
        microseconds: whether the fraction has six digits instead of three.
        fail: called with a message id and its values, and with the id of the rule.
    """
    if not _EARLIEST <= moment <= _LATEST:
        fail("CPF1849", str(moment.year), rule="DTAQ-TIME-RANGE")
    if name == "*DTS":
        return datetime_to_dts(moment)
    form = TIME_FORMATS[name]
    century = str((moment.year - 1900) // 100) if form.century else ""
    fraction = f"{moment.microsecond:06d}"[: 6 if microseconds else 3]
    return century + moment.strftime(form.pattern).ljust(form.date_length) + moment.strftime("%H%M%S") + fraction


def parse_time(value: bytes | str, name: str, *, microseconds: bool, fail: Fail) -> datetime:
    """Parse a value in a format to a local time; see :func:`format_time`."""
    if name == "*DTS":
        if not isinstance(value, bytes) or len(value) < DTS_LENGTH:
            fail("CPF24B4")
        return dts_to_datetime(value[:DTS_LENGTH])
    form = TIME_FORMATS[name]
    assert isinstance(value, str)
    if form.century and value[:1] not in ("0", "1"):
        fail("CPF1848", value[:1], rule="DTAQ-TIME-CENTURY")
    date, rest = _split(value, form, fail)
    day = _date(value[:1], date, form, fail)
    return day + _time(rest, 6 if microseconds else 3, fail)


def _split(value: str, form: TimeFormat, fail: Fail) -> tuple[str, str]:
    start = 1 if form.century else 0
    end = start + form.date_length
    date, rest = value[start:end].rstrip(" "), value[end:]
    length = len(_EARLIEST.strftime(form.pattern))
    if len(date) != length or not (date.isascii() and date.isdigit()):
        fail("CPF1060", rule="DTAQ-TIME-DATE")
    return date, rest


def _date(century: str, date: str, form: TimeFormat, fail: Fail) -> datetime:
    pattern = form.pattern
    if form.century:  # strptime would choose the century of a two-digit year itself; here the century digit decides
        pattern = pattern.replace("%y", "%Y")
        at = form.pattern.replace("%y", "YY").replace("%m", "MM").replace("%d", "DD").replace("%j", "JJJ").index("YY")
        date = date[:at] + str(19 + int(century)) + date[at:]
    try:
        day = datetime.strptime(date, pattern)  # noqa: DTZ007  (local time of the system)
    except ValueError:
        fail("CPF1060", rule="DTAQ-TIME-DATE")
    if pattern.endswith("%j") and f"{day:%j}" != date[-3:]:  # strptime makes day 366 of 2023 the first of 2024
        fail("CPF1060", rule="DTAQ-TIME-DATE")
    return day


def _time(rest: str, digits: int, fail: Fail) -> timedelta:
    clock, fraction = rest[:_TIME_DIGITS], rest[_TIME_DIGITS : _TIME_DIGITS + digits].ljust(digits, "0")
    if not re.fullmatch(r"(?:[01]\d|2[0-3])[0-5]\d[0-5]\d", clock, re.ASCII) or not re.fullmatch(
        r"\d+", fraction, re.ASCII
    ):
        fail("CPF1061", rule="DTAQ-TIME-TIME")
    hours, minutes, seconds = (int(clock[at : at + 2]) for at in (0, 2, 4))
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=int(fraction.ljust(6, "0")))


def shift_zone(moment: datetime, source: str, target: str, system: tzinfo, fail: Fail) -> datetime:
    """Convert a local time from one zone to another; a zone is *SYS, *UTC or a name of the time zone database."""
    if source == target:
        return moment
    old, new = _zone(source, system, fail), _zone(target, system, fail)
    try:
        return moment.replace(tzinfo=old).astimezone(new).replace(tzinfo=None)
    except OverflowError:  # before the year 1 or after 9999
        fail("CPF1849", str(moment.year), rule="DTAQ-TIME-RANGE")


def _zone(name: str, system: tzinfo, fail: Fail) -> tzinfo:
    if name in ("*SYS", "*JOB", ""):
        return system
    try:
        return ZoneInfo("UTC" if name == "*UTC" else name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        fail("CPF1850", name[:10])
