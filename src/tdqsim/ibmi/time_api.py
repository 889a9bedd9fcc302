"""QWCCVTDT: convert date and time format."""

from __future__ import annotations

from datetime import datetime, timedelta

from tdqsim.ibmi.convert_time import TIME_FORMATS, format_time, parse_time, shift_zone
from tdqsim.ibmi.declare import declare
from tdqsim.ibmi.job_core import JobCore

_UNIX = datetime(1970, 1, 1)  # local time of the system, its offset already added
_PRECISIONS = ("0", "1")


@declare("QWCCVTDT")
def qwccvtdt(
    job: JobCore,
    input_format: str,
    value: bytes | str = b"",
    output_format: str = "*YYMD",
    *,
    input_time_zone: str = "*SYS",
    output_time_zone: str = "*SYS",
    precision: str = "0",
    input_time_indicator: str = "0",  # noqa: ARG001  (accepted, without effect)
) -> bytes | str:
    """Convert a date and time from one format to another.

    Args:
        input_format: ``*CURRENT`` for the current time, ``*DTS``, ``*JOB``, ``*SYSVAL``, ``*YMD``, ``*YYMD``, ``*MDY``,
            ``*MDYY``, ``*DMY``, ``*DMYY``, ``*JUL`` or ``*LONGJUL``.
        value: eight bytes for ``*DTS``, characters for the others, nothing for ``*CURRENT``.
        output_format: one of the same formats except ``*CURRENT``.
        input_time_zone: ``*SYS``, ``*UTC`` or a name such as ``Europe/Berlin``.
        output_time_zone: likewise.
        precision: ``0`` for milliseconds, ``1`` for microseconds.
        input_time_indicator: accepted without effect; it selects one of two equal local times.

    Returns:
        Eight bytes for ``*DTS``, otherwise characters: century digit and date, time, fraction.

    Raises:
        EscapeMessage: CPF24B4 precision, CPF1850 format or zone, CPF1060 date, CPF1061 time, CPF1848 century digit,
            CPF1849 a moment that a *DTS cannot hold.
    """
    job.begin("QWCCVTDT")
    if precision not in _PRECISIONS:
        job.fail("CPF24B4", rule="DTAQ-TIME-PRECISION")
    microseconds = precision == "1"
    moment = _input(job, input_format, value, microseconds=microseconds)
    target = _format(job, output_format, "in")
    source_zone = "*SYS" if input_format == "*CURRENT" else input_time_zone
    moment = shift_zone(moment, source_zone, output_time_zone, job.system.timezone, job.fail)
    return format_time(moment, target, microseconds=microseconds, fail=job.fail)


def _input(job: JobCore, name: str, value: bytes | str, *, microseconds: bool) -> datetime:
    if name == "*CURRENT":
        now = job.system.clock.time_ns()
        return _UNIX + timedelta(seconds=job.system.offset_at(now), microseconds=now // 1000)
    form = _format(job, name, "out")
    if isinstance(value, bytes) and form != "*DTS":
        value = job.page.printable(value)
    return parse_time(value, form, microseconds=microseconds, fail=job.fail)


def _format(job: JobCore, name: str, other_use: str) -> str:
    replaced = {"*JOB": job.date_format, "*SYSVAL": job.system.date_format}.get(name, name)
    form = TIME_FORMATS.get(replaced)
    if form is None or form.use == other_use:
        job.fail("CPF1850", name[:10])
    return replaced
