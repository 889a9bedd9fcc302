"""ABSTIME, and its conversion by FORMATTIME.

ABSTIME is the number of milliseconds since 00:00 on 1 January 1900 in *local* time, truncated to the millisecond; a
program receives it as 8 bytes packed decimal (PIC S9(15) COMP-3). So a region needs a time zone, and the same moment
has different ABSTIMEs in different regions. Source: ASKTIME and FORMATTIME (IBM Docs).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from tdqsim.core.named import NamedTuple
from tdqsim.errors import WrongValue

ABSTIME_LENGTH: Final = 8
"""Bytes of an ABSTIME: 15 digits and a sign, packed."""

_ORIGIN: Final = datetime(1900, 1, 1)  # ABSTIME counts local time, which has no offset
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_HIGHEST: Final = 10**15 - 1
_LAST: Final = (datetime(9999, 12, 31) - _ORIGIN) // _MILLISECOND
_HALF_SECOND: Final = timedelta(milliseconds=500)
_POSITIVE: Final = "C"
_DATFORM: Final = "MMDDYY"
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")  # RFC 1123 writes them in English
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def abstime(moment_ns: int, zone: tzinfo = UTC) -> int:
    """ABSTIME of a moment on the clock.

    Args:
        moment_ns: nanoseconds since 1970-01-01 00:00 UTC.
        zone: the region's time zone.

    Returns:
        Milliseconds since 1900-01-01 00:00 local time, truncated.
    """
    local = (_EPOCH + timedelta(microseconds=moment_ns // 1000)).astimezone(zone)
    return abstime_of(local.replace(tzinfo=None))


def abstime_of(local: datetime) -> int:
    """ABSTIME of a local date and time without a time zone, as a CSD or YAML holds it.

    Raises:
        ValueError: the datetime has a time zone.
    """
    if local.tzinfo is not None:
        raise WrongValue(f"{local!r} has a time zone; ABSTIME is computed from local time without one")
    return (local - _ORIGIN) // _MILLISECOND


def local_time(value: int) -> datetime:
    """The local date and time (without a zone) of an ABSTIME.

    Raises:
        ValueError: the number is negative or past the year 9999.
    """
    if not 0 <= value <= _LAST:
        raise WrongValue(f"{value!r} is not the ABSTIME of a date; allowed are 0 to {_LAST}, 31 December 9999")
    return _ORIGIN + value * _MILLISECOND


def pack_abstime(value: int) -> bytes:
    """The 8 bytes packed decimal that a program receives.

    Raises:
        ValueError: the number is negative or has more than 15 digits.
    """
    if not 0 <= value <= _HIGHEST:
        raise WrongValue(f"{value!r} is not an ABSTIME; allowed are 0 to {_HIGHEST}")
    return bytes.fromhex(f"{value:015d}{_POSITIVE}")


def unpack_abstime(data: bytes) -> int:
    """The number in 8 bytes packed decimal.

    Raises:
        ValueError: the length is not 8 bytes, a nibble is not a digit, or the sign is not plus (C, F, A or E).
    """
    text = bytes(data).hex().upper()
    if len(data) != ABSTIME_LENGTH or not text[:-1].isdigit() or text[-1] not in "CFAE":
        raise WrongValue(f"X'{text}' is not an ABSTIME: 8 bytes packed decimal with a plus sign")
    return int(text[:-1])


class FormattedTime(NamedTuple):
    """An ABSTIME as FORMATTIME returns it.

    Attributes:
        date: the day and time as a datetime rounded to the second, for Python; the option DATE is the text ``mmddyy``,
            as the system initialisation parameter DATFORM has it by default.
        yyddd: year and day of the year; ``yyyyddd`` with four digits of year.
        yymmdd: and its permutations, each with two digits of year; ``yyyymmdd`` and its permutations with four.
        time: hhmmss.
        dayofweek: 0 Sunday to 6 Saturday. ``daycount``: days since 1 January 1900, which is day 1.
        dayofmonth: 1 to 31. ``monthofyear``: 1 to 12. ``year``: four digits.
        fulldate: the date of DATE with four digits of year. ``dateform``: the form of both, ``MMDDYY``.
        milliseconds: those of the second in the ABSTIME, 0 to 999.
        datestring: date and time in UTC, in the form of STRINGFORMAT.
    """

    date: datetime
    yyddd: str
    yyyyddd: str
    yymmdd: str
    yyyymmdd: str
    ddmmyy: str
    ddmmyyyy: str
    mmddyy: str
    mmddyyyy: str
    yyddmm: str
    yyyyddmm: str
    time: str
    daycount: int
    dayofweek: int
    dayofmonth: int
    monthofyear: int
    year: int
    fulldate: str = ""
    dateform: str = _DATFORM
    milliseconds: int = 0
    datestring: str = ""

    def as_dict(self) -> dict[str, object]:
        """The receivers of FORMATTIME by option."""
        return {name.upper(): value for name, value in self._asdict().items()} | {"DATE": self.mmddyy}


def format_abstime(
    value: int, *, datesep: str = "", timesep: str = "", zone: tzinfo = UTC, rfc3339: bool = False
) -> FormattedTime:
    """Convert an ABSTIME as FORMATTIME does.

    The time is rounded to the nearest second: IBM's own example formats 002837962864820 (19:01:04.820) as 19:01:05. The
    day is never rounded up, so that the last half second before midnight is 23:59:59. Source: FORMATTIME (IBM Docs).

    Args:
        value: the ABSTIME.
        datesep: put between the parts of each date (``/`` in CICS when DATESEP names none).
        timesep: put between hours, minutes and seconds (``:`` in CICS when TIMESEP names none).
        zone: the time zone of the ABSTIME, from which DATESTRING is computed.
        rfc3339: whether DATESTRING has the form of RFC 3339, else of RFC 1123.

    Raises:
        ValueError: the value is not an ABSTIME.
    """
    exact = local_time(value)
    moment = (exact + _HALF_SECOND).replace(microsecond=0)
    if moment.date() != exact.date():
        moment = exact.replace(microsecond=0)
    parts = {
        "yy": f"{moment.year % 100:02d}", "yyyy": f"{moment.year:04d}", "mm": f"{moment.month:02d}",
        "dd": f"{moment.day:02d}", "ddd": f"{moment.timetuple().tm_yday:03d}",
    }  # fmt: skip

    def joined(*names: str) -> str:
        return datesep.join(parts[name] for name in names)

    return FormattedTime(
        moment,
        joined("yy", "ddd"), joined("yyyy", "ddd"),
        joined("yy", "mm", "dd"), joined("yyyy", "mm", "dd"),
        joined("dd", "mm", "yy"), joined("dd", "mm", "yyyy"),
        joined("mm", "dd", "yy"), joined("mm", "dd", "yyyy"),
        joined("yy", "dd", "mm"), joined("yyyy", "dd", "mm"),
        timesep.join((f"{moment.hour:02d}", f"{moment.minute:02d}", f"{moment.second:02d}")),
        (moment - _ORIGIN).days + 1, (moment.weekday() + 1) % 7, moment.day, moment.month, moment.year,
        joined("mm", "dd", "yyyy"), _DATFORM, exact.microsecond // 1000, _date_string(exact, zone, rfc3339=rfc3339),
    )  # fmt: skip


def _date_string(local: datetime, zone: tzinfo, *, rfc3339: bool) -> str:
    """The architected date and time string of a local time, in UTC; empty where UTC would be before the year 1."""
    try:
        utc = local.replace(tzinfo=zone).astimezone(UTC)
    except OverflowError:  # past the year 9999
        return ""
    if rfc3339:
        return f"{utc.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
    day, month = _DAYS[utc.weekday()], _MONTHS[utc.month - 1]
    return f"{day}, {utc.day:02d} {month} {utc.year:04d} {utc:%H:%M:%S} GMT"
