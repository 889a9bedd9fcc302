"""EXTRACT, COLLECT, PERFORM, INQUIRE and SET STATISTICS.

EXTRACT STATISTICS and COLLECT STATISTICS return the record of one resource, or the global record of a type. They differ
in the words: EXTRACT has the name in RESID and the type as a keyword, COLLECT has the name as the argument of the type.
A program that asks for SET gets the bytes of the record; only the layouts of TDQUEUE are known. Python gets the values
of every type. Source: EXTRACT STATISTICS, COLLECT STATISTICS, PERFORM STATISTICS RECORD, INQUIRE STATISTICS, SET
STATISTICS (IBM Docs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.kernel.authority import check_command, check_resource
from tdqsim.cics.kernel.command import (
    Flag,
    FullwordOrNone,
    Name4OrNone,
    Name8OrNone,
    Opt,
    command,
    to_cvda,
)
from tdqsim.cics.kernel.security import XDCT, XFCT, XPCT, XPPT, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.spi.inquiry import Reader, ResourceType, inquire_one, receivers
from tdqsim.cics.spi.requests import refusal
from tdqsim.cics.spi.statistics import Statistics
from tdqsim.cics.spi.statistics_types import TYPES, record_of, total_of
from tdqsim.errors import UsageError, WrongType
from tdqsim.facts import LIMITS, Cvda
from tdqsim.facts.inquiries import StatisticsInfo, StatisticsOption

if TYPE_CHECKING:
    from tdqsim.cics.spi.statistics_records import StatisticsRecord

_SET: Final = "SET STATISTICS"
_LAST: Final = {
    "SET": Opt("pointer", 0), "LASTRESET": Opt("fullword", 4), "LASTRESETABS": Opt("abstime", 8),
    "LASTRESETHRS": Opt("fullword", 4), "LASTRESETMIN": Opt("fullword", 4), "LASTRESETSEC": Opt("fullword", 4),
}  # fmt: skip
_CLASSES: Final = {"TDQUEUE": XDCT, "FILE": XFCT, "PROGRAM": XPPT, "TRANSACTION": XPCT}
"""The class that protects the statistics of a resource."""
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_DAY_MS: Final = 86_400_000
_CvdaOrNone = Annotated[int | str | None, Opt("cvda", 4)]


# -- reading ----------------------------------------------------------------------------------------------------------


def _parts(seconds: int) -> tuple[int, int, int, int]:
    """A time as hhmmss, and its hours, minutes and seconds."""
    minutes, second = divmod(seconds, _MINUTE)
    hour, minute = divmod(minutes, _MINUTE)
    return hour * 10_000 + minute * 100 + second, hour, minute, second


def _record(task: TaskBase, verb: str, kind: str, name: str) -> StatisticsRecord:
    """The record that a command returns, with the time of the last reset.

    Raises:
        Condition: NOTFND: there is no such resource, or no such record. NOTAUTH 100, 101.
    """
    region = task._region
    check_command(task, "STATISTICS", Access.READ)
    record = record_of(region, kind, name) if name else total_of(region, kind)
    if record is None:
        raise refusal(verb, "not found", f"there are no statistics of {kind} {name}".rstrip())
    if name and kind in _CLASSES:
        check_resource(task, _CLASSES[kind], name, Access.READ)
    last = region.statistics.reset_abstime
    words = ("LASTRESET", "LASTRESETHRS", "LASTRESETMIN", "LASTRESETSEC")
    times = dict(zip(words, _parts(last % _DAY_MS // 1000), strict=True))
    return record.added({"LASTRESETABS": last, **times})


@command("EXTRACT STATISTICS", "NOTAUTH NOTFND", _LAST, resource="resid")
def extract_statistics(
    task: TaskBase,
    resid: Name8OrNone = None,
    *,
    tdqueue: Flag = True,
    dispatcher: Flag = False,
    file: Flag = False,
    program: Flag = False,
    stats: Flag = False,
    tranclass: Flag = False,
    transaction: Flag = False,
    tsqueue: Flag = False,
    nohandle: bool = False,
) -> StatisticsRecord | None:
    """Return the statistics of one resource, or the global statistics of a type.

    Args:
        resid: the resource; None for the global record.
        tdqueue, dispatcher, file, program, stats, tranclass, transaction, tsqueue: the type; TDQUEUE unless another one
            is named.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        The record; its ``image`` returns the bytes that SET points to. None after a condition that was not raised.

    Raises:
        Condition: NOTFND 1: there is no such resource, or the type has no such record; NOTAUTH 100, 101.
        UsageError: no type is named, or more than one.
    """
    named = {"DISPATCHER": dispatcher, "FILE": file, "PROGRAM": program, "STATS": stats, "TRANCLASS": tranclass,
             "TRANSACTION": transaction, "TSQUEUE": tsqueue}  # fmt: skip
    kinds = [kind for kind, is_named in named.items() if is_named] or ["TDQUEUE"] * tdqueue
    if len(kinds) != 1:
        raise UsageError(f"EXTRACT STATISTICS: name one type of {', '.join(sorted(TYPES))}")
    return _record(task, "EXTRACT STATISTICS", kinds[0], "" if resid is None else _name(resid))


def _name(value: object) -> str:
    """The name of a resource without its padding.

    Raises:
        TypeError: the value is not a str.
    """
    if not isinstance(value, str):
        raise WrongType(f"resid {value!r}: the name of a resource is a str of 1 to 8 characters")
    return value.rstrip(" ")


@command("COLLECT STATISTICS", "NOTAUTH NOTFND", _LAST)
def collect_statistics(
    task: TaskBase,
    *,
    tdqueue: Name4OrNone = None,
    dispatcher: Flag = False,
    file: Name8OrNone = None,
    program: Name8OrNone = None,
    stats: Flag = False,
    tranclass: Name8OrNone = None,
    transaction: Name4OrNone = None,
    tsqueue: Flag = False,
    nohandle: bool = False,
) -> StatisticsRecord | None:
    """Return the statistics of one resource, or the global statistics of a type: EXTRACT STATISTICS in older words.

    Args:
        tdqueue, file, program, tranclass, transaction: the resource of this type; blanks for the global record.
        dispatcher, stats, tsqueue: the global record of this type.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        The record, as EXTRACT STATISTICS returns it. None after a condition that was not raised.

    Raises:
        Condition: NOTFND 1: there is no such resource, or the type has no such record; NOTAUTH 100, 101.
        UsageError: no type is named, or more than one.
    """
    names = {"TDQUEUE": tdqueue, "FILE": file, "PROGRAM": program, "TRANCLASS": tranclass, "TRANSACTION": transaction}
    named = {kind: _name(value) for kind, value in names.items() if value is not None}
    flags = {"DISPATCHER": dispatcher, "STATS": stats, "TSQUEUE": tsqueue}
    named |= {kind: "" for kind, is_named in flags.items() if is_named}
    if len(named) != 1:
        raise UsageError(f"COLLECT STATISTICS: name one type of {', '.join(sorted(TYPES))}")
    ((kind, name),) = named.items()
    return _record(task, "COLLECT STATISTICS", kind, name)


@command("PERFORM STATISTICS", "NOTAUTH")
def perform_statistics(
    task: TaskBase,
    *,
    record: Flag = True,
    all_: Flag = False,
    tdqueue: Flag = False,
    dispatcher: Flag = False,
    file: Flag = False,
    program: Flag = False,
    stats: Flag = False,
    tranclass: Flag = False,
    transaction: Flag = False,
    tsqueue: Flag = False,
    resetnow: Flag = False,
    nohandle: bool = False,
) -> None:
    """Write the statistics of some types now (PERFORM STATISTICS RECORD).

    Args:
        record: the RECORD keyword.
        all_: all types.
        tdqueue, dispatcher, file, program, stats, tranclass, transaction, tsqueue: these types; TDQUEUE if none is
            named.
        resetnow: reset the counts and peaks of these types as well.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: NOTAUTH 100.
    """
    if not record:
        raise UsageError("PERFORM STATISTICS: RECORD is required")
    check_command(task, "STATISTICS", Access.UPDATE)
    named = {"TDQUEUE": tdqueue, "DISPATCHER": dispatcher, "FILE": file, "PROGRAM": program, "STATS": stats,
             "TRANCLASS": tranclass, "TRANSACTION": transaction, "TSQUEUE": tsqueue}  # fmt: skip
    kinds = [kind for kind, is_named in named.items() if is_named or all_] or ["TDQUEUE"]
    task._region.statistics.record("REQUESTRESET" if resetnow else "REQUEST", kinds)


# -- the settings -----------------------------------------------------------------------------------------------------


def _reader(what: str, part: int) -> Reader[RegionData]:
    """Reads one part of a time, see :func:`_parts`."""

    def read(region: RegionData, _region: RegionData) -> int:
        statistics: Statistics = region.statistics
        if what == "NEXTTIME":
            seconds = abstime(statistics.next_ns(), region.zone) % _DAY_MS // 1000
        else:
            seconds = int(statistics.interval if what == "INTERVAL" else statistics.endofday)
        return _parts(seconds)[part]

    return read


STATISTICS: Final = ResourceType[str, RegionData, StatisticsInfo](
    "STATISTICS",
    StatisticsInfo,
    {
        **{
            f"{what}{unit}": _reader(what, part)
            for what in ("ENDOFDAY", "INTERVAL", "NEXTTIME")
            for part, unit in enumerate(("", "HRS", "MINS", "SECS"))
        },
        "RECORDING": lambda region, _region: Cvda.ON if region.statistics.recording else Cvda.OFF,
    },
    keys=lambda region: (region.applid,),
    find=lambda region, _name: region,
)


@command("INQUIRE STATISTICS", "NOTAUTH", receivers("STATISTICS"), otherwise=StatisticsInfo())
def inquire_statistics(task: TaskBase, *options: StatisticsOption, nohandle: bool = False) -> StatisticsInfo:
    """Retrieve when statistics are written.

    Args:
        options: the options to return; default: all. Times are numbers of the form hhmmss, or have three parts.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: NOTAUTH 100.
    """
    return inquire_one(task, STATISTICS, "", options)


def _seconds(word: str, now: int, whole: int | None, parts: tuple[int | None, int | None, int | None]) -> int:
    """A time in seconds; the present one if the command does not name it.

    Raises:
        Condition: INVREQ: minutes or seconds are not 0 to 59, unless they are the only part.
    """
    given = [part for part in parts if part is not None]
    if whole is None and not given:
        return now
    hours, minutes, seconds = (part or 0 for part in parts)
    if whole is not None:
        hours, minutes, seconds = whole // 10_000, whole // 100 % 100, whole % 100
    alone = len(given) == 1
    if min(hours, minutes, seconds) < 0 or not (alone or max(minutes, seconds) < _MINUTE):
        raise refusal(_SET, f"bad {word}", f"{word.upper()}: minutes and seconds must be 0 to 59")
    return hours * _HOUR + minutes * _MINUTE + seconds


@command(_SET, "INVREQ NOTAUTH")
def set_statistics(
    task: TaskBase,
    *,
    endofday: FullwordOrNone = None,
    endofdayhrs: FullwordOrNone = None,
    endofdaymins: FullwordOrNone = None,
    endofdaysecs: FullwordOrNone = None,
    interval: FullwordOrNone = None,
    intervalhrs: FullwordOrNone = None,
    intervalmins: FullwordOrNone = None,
    intervalsecs: FullwordOrNone = None,
    recording: _CvdaOrNone = None,
    recordnow: Flag = False,
    resetnow: Flag = False,
    nohandle: Flag = False,
) -> None:
    """Change when statistics are written.

    Args:
        endofday: the end-of-day time, hhmmss, 000000 to 235959.
        endofdayhrs, endofdaymins, endofdaysecs: the same in parts; one part alone may have the whole time.
        interval: the length of an interval, hhmmss, 000100 to 240000.
        intervalhrs, intervalmins, intervalsecs: the same in parts; one part alone may have the whole time.
        recording: ON or OFF, as a CVDA.
        recordnow: write the statistics of all types now; allowed only if RECORDING changes.
        resetnow: reset all counts and peaks now; allowed only if RECORDING changes.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: INVREQ: a time is not in its range, RECORDING is neither ON nor OFF, or RECORDNOW or RESETNOW is
            given and RECORDING does not change; nothing was changed. NOTAUTH 100.
    """
    statistics: Statistics = task._region.statistics
    check_command(task, "STATISTICS", Access.UPDATE)
    length = _seconds("interval", int(statistics.interval), interval, (intervalhrs, intervalmins, intervalsecs))
    if not LIMITS["statint_minimum"] <= length <= _DAY:
        raise refusal(_SET, "bad interval", "INTERVAL must be 000100 to 240000")
    day = _seconds("endofday", statistics.endofday, endofday, (endofdayhrs, endofdaymins, endofdaysecs))
    if day >= _DAY:
        raise refusal(_SET, "bad endofday", "ENDOFDAY must be 000000 to 235959")
    wanted = None if recording is None else to_cvda(recording)
    if recording is not None and wanted not in (Cvda.ON, Cvda.OFF):
        raise refusal(_SET, "bad cvda", f"RECORDING must be ON or OFF, not {recording!r}")
    is_on = statistics.recording if wanted is None else wanted is Cvda.ON
    if (recordnow or resetnow) and is_on is statistics.recording:
        raise refusal(_SET, "no change", "RECORDNOW and RESETNOW need a change of RECORDING")
    if recordnow:
        statistics.record("REQUESTRESET" if resetnow else "REQUEST")
    elif resetnow:
        statistics.reset()
    statistics.keep(recording=is_on, interval=length, endofday=day)
