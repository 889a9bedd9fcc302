"""FORMATTIME: an ABSTIME as dates and times for people."""

from __future__ import annotations

from typing import Annotated, Final

from tdqsim.cics.kernel.abstime import FormattedTime, format_abstime
from tdqsim.cics.kernel.command import Name1OrNone, Opt, command
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.facts import Resp

__all__ = ["formattime"]

Abstime = Annotated[int, Opt("abstime", 8)]

_NUMBERS: Final = ("daycount", "dayofweek", "dayofmonth", "monthofyear", "year")
_RECEIVERS: Final = {
    name.upper(): Opt("fullword", 4) if name in _NUMBERS else Opt("name", 0)
    for name in FormattedTime._fields
    if name != "date"
}
_INVALID_ABSTIME: Final = 1


@command("FORMATTIME", "INVREQ", _RECEIVERS)
def formattime(
    task: TaskBase,  # noqa: ARG001  (every command has it first)
    abstime: Abstime,
    *,
    datesep: Name1OrNone = None,
    timesep: Name1OrNone = None,
    nohandle: bool = False,
) -> FormattedTime | None:
    """Turn an ABSTIME into dates and times, rounded to the second.

    Args:
        abstime: as ASKTIME or INQUIRE returned it.
        datesep: put between the parts of dates; nothing when not given.
        timesep: put between hours, minutes and seconds; nothing when not given.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        All the forms; None after a condition that was not raised.

    Raises:
        Condition: INVREQ 1: it is no ABSTIME.
    """
    try:
        return format_abstime(abstime, datesep=datesep or "", timesep=timesep or "")
    except ValueError as error:
        raise Condition(Resp.INVREQ, _INVALID_ABSTIME, str(error)) from error
