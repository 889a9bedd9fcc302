"""*DTS, the system time stamp: eight bytes, microseconds in the high 52 bits, uniqueness bits in the low 12.

The simulation counts nanoseconds since 1970 UTC; on each queue these moments are unique and ascending. The part below a
microsecond fills the uniqueness bits, so that stamps are unique and ascending too. *DTS is local time of the system.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache

from tdqsim.errors import WrongValue
from tdqsim.ibmi.fact_tables import LIMITS

DTS_LENGTH = 8
NO_DTS = bytes(DTS_LENGTH)
"""The *DTS in a description when there was no such moment."""

_BITS = LIMITS["dts_bits"]
_OF_2000 = LIMITS["dts_of_2000"]
_EPOCH = datetime(2000, 1, 1)  # a *DTS has no zone: it is local time of its system
_UNIX = datetime(1970, 1, 1, tzinfo=UTC)
_US_1970_TO_2000 = 946_684_800_000_000
_QUARTER_NS = 900_000_000_000
_MASK = 2**64 - 1
_PER_NS = (1 << _BITS) // 1000
"""Uniqueness steps for each nanosecond below the microsecond."""


def ns_to_dts(moment_ns: int, offset: int = 0) -> bytes:
    """The *DTS of a moment.

    Args:
        moment_ns: nanoseconds since 1970 UTC.
        offset: seconds by which local time is ahead of UTC at that moment.
    """
    microseconds, below = divmod(moment_ns, 1000)
    return ((dts_base(offset) + (microseconds << _BITS) + below * _PER_NS) & _MASK).to_bytes(DTS_LENGTH, "big")


@cache
def dts_base(offset: int) -> int:
    """The number to add to shifted microseconds since 1970 UTC, for local time with that offset."""
    return _OF_2000 + ((offset * 1_000_000 - _US_1970_TO_2000) << _BITS)


def stamper(offset_at: Callable[[int], int]) -> Callable[[int], bytes]:
    """Make a function that converts many moments to *DTS; it looks up the UTC offset once per quarter of an hour.

    Args:
        offset_at: returns the seconds by which local time is ahead of UTC at a moment.
    """
    start = end = base = 0

    def stamp(moment_ns: int) -> bytes:
        nonlocal start, end, base
        if not start <= moment_ns < end:
            start = moment_ns - moment_ns % _QUARTER_NS
            end = start + _QUARTER_NS
            base = dts_base(offset_at(moment_ns))
        return (base + ((moment_ns // 1000) << _BITS) + (moment_ns % 1000) * _PER_NS & _MASK).to_bytes(
            DTS_LENGTH, "big"
        )

    return stamp


def datetime_to_dts(moment: datetime) -> bytes:
    """The *DTS of a local time (without a zone); the uniqueness bits are zero."""
    since = (moment - _EPOCH) // timedelta(microseconds=1)
    return ((_OF_2000 + (since << _BITS)) & _MASK).to_bytes(DTS_LENGTH, "big")


def dts_to_datetime(stamp: bytes) -> datetime:
    """Convert a *DTS to local time, without a zone; the uniqueness bits are ignored.

    Raises:
        ValueError: it is not eight bytes.
    """
    if len(stamp) != DTS_LENGTH:
        raise WrongValue(f"a *DTS has {DTS_LENGTH} bytes, not {len(stamp)}")
    since = (int.from_bytes(stamp, "big") >> _BITS) - (_OF_2000 >> _BITS)
    return _EPOCH + timedelta(microseconds=since)


def offset_seconds(moment_ns: int, zone: tzinfo | None) -> int:
    """The seconds by which local time in ``zone`` is ahead of UTC at a moment; None is UTC."""
    if zone is None:
        return 0
    local = (_UNIX + timedelta(microseconds=moment_ns // 1000)).astimezone(zone)
    ahead = local.utcoffset()
    return int(ahead.total_seconds()) if ahead is not None else 0
