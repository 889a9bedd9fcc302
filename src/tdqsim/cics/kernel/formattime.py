"""FORMATTIME: an ABSTIME as dates and times for people."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from tdqsim.cics.kernel.abstime import FormattedTime, format_abstime
from tdqsim.cics.kernel.command import Name1OrNone, Opt, command, to_cvda
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.facts import Cvda, Resp

Abstime = Annotated[int, Opt("abstime", 8)]
StringFormat = Annotated[
    Literal["RFC1123", "rfc1123", "RFC3339", "rfc3339"] | Cvda | int | None, Opt("cvda", 4, "STRINGFORMAT")
]

_NUMBERS: Final = ("daycount", "dayofweek", "dayofmonth", "monthofyear", "year", "milliseconds")
_LENGTHS: Final = {"date": 8, "fulldate": 10, "dateform": 6, "datestring": 64}
_RECEIVERS: Final = {
    name.upper(): Opt("fullword", 4) if name in _NUMBERS else Opt("name", _LENGTHS.get(name, 0))
    for name in FormattedTime._fields
}
_INVALID_FORMAT: Final = 2
_INVALID_ABSTIME: Final = 1


@command("FORMATTIME", "INVREQ", _RECEIVERS)
def formattime(
    task: TaskBase,
    abstime: Abstime,
    *,
    datesep: Name1OrNone = None,
    timesep: Name1OrNone = None,
    stringformat: StringFormat = None,
    nohandle: bool = False,
) -> FormattedTime | None:
    """Convert an ABSTIME to dates and times, rounded to the second.

    Args:
        abstime: as ASKTIME or INQUIRE returned it.
        datesep: put between the parts of dates; nothing when not given.
        timesep: put between hours, minutes and seconds; nothing when not given.
        stringformat: the form of DATESTRING: RFC1123, as when it is not given, or RFC3339.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        All the forms; None after a condition that was not raised.

    Raises:
        Condition: INVREQ 1: it is not an ABSTIME. INVREQ 2: STRINGFORMAT is another CVDA.
    """
    form = Cvda.RFC1123 if stringformat is None else to_cvda(stringformat)
    if form not in (Cvda.RFC1123, Cvda.RFC3339):
        raise Condition(Resp.INVREQ, _INVALID_FORMAT, f"STRINGFORMAT must be RFC1123 or RFC3339, not {stringformat!r}")
    try:
        return format_abstime(
            abstime,
            datesep=datesep or "",
            timesep=timesep or "",
            zone=task._region.zone,
            rfc3339=form is Cvda.RFC3339,
        )
    except ValueError as error:
        raise Condition(Resp.INVREQ, _INVALID_ABSTIME, str(error)) from error
