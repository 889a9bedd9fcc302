"""INQUIRE REQID and its browse: the requests of interval control that wait for their time.

A START is listed until it expires, a START PROTECT from the commit on. A DELAY or POST is listed if it has a REQID;
here none is generated for one without it. A request whose time has come is not listed, even if its task still waits for
a terminal. Of two requests with one name the command finds the one that expires first. SET, and the expiry time in
parts (AFTER, AT), are not simulated. Source: INQUIRE REQID (IBM Docs).
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from tdqsim.cics.kernel.abstime import abstime, local_time
from tdqsim.cics.kernel.command import Name8, Opt, command
from tdqsim.cics.kernel.security import XPCT
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.start import StartRequest, TimedWait
from tdqsim.cics.spi.inquiry import BrowseCommands, ResourceType, browse_command, inquire_one, receivers
from tdqsim.facts import Cvda
from tdqsim.facts.inquiries import ReqidInfo, ReqidOption

Request = StartRequest | TimedWait

_NS: Final = 10**9
_NAME_LENGTH: Final = 8
_NOTHING: Final = ReqidInfo()


def _waiting(region: RegionData) -> list[Request]:
    """The requests whose time has not come, in the order of expiry."""
    now, starts = region.clock.time_ns(), region.starts
    listed: list[Request] = [each for each in starts.requests.values() if each.committed]
    listed += (each for same in starts.timed.values() for each in same.values())
    return sorted((each for each in listed if each.deadline_ns > now), key=attrgetter("deadline_ns"))


def _find(region: RegionData, name: str) -> Request | None:
    return next((each for each in _waiting(region) if each.reqid == name), None)


def _hhmmss(seconds: int) -> int:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return (hours * 100 + minutes) * 100 + seconds


def _left(request: Request, region: RegionData) -> int:
    """The seconds until it expires; a part of a second counts as one."""
    return int(-((region.clock.time_ns() - request.deadline_ns) // _NS))


def _time(request: Request, region: RegionData) -> int:
    """The expiry time from the last midnight on; the hours may exceed 23."""
    moment = local_time(abstime(region.clock.time_ns(), region.zone))
    return _hhmmss((moment.hour * 60 + moment.minute) * 60 + moment.second + _left(request, region))


def _data(request: Request) -> bytes | None:
    return request.data if isinstance(request, StartRequest) else None


def _more(word: str, request: Request) -> str:
    return request.more.get(word, "") if isinstance(request, StartRequest) else ""


REQID: Final = ResourceType[str, Request, ReqidInfo](
    "REQID",
    ReqidInfo,
    {
        "FMHSTATUS": lambda request, _region: Cvda.NOTAPPLIC if _data(request) is None else Cvda.NOFMH,
        "INTERVAL": lambda request, region: _hhmmss(_left(request, region)),
        "LENGTH": lambda request, _region: len(_data(request) or b""),
        "QUEUE": lambda request, _region: _more("QUEUE", request),
        "REQTYPE": lambda request, _region: request.kind if isinstance(request, TimedWait) else Cvda.START,
        "RTERMID": lambda request, _region: _more("RTERMID", request),
        "RTRANSID": lambda request, _region: _more("RTRANSID", request),
        "TERMID": lambda request, _region: request.termid if isinstance(request, StartRequest) else "",
        "TIME": _time,
        "TRANSID": lambda request, _region: request.transid if isinstance(request, StartRequest) else "",
        "USERID": lambda request, _region: request.userid,
    },
    keys=lambda region: dict.fromkeys(each.reqid for each in _waiting(region)),
    find=_find,
    identity=lambda request: request.reqid.ljust(_NAME_LENGTH),
    protection=lambda request, _region: (XPCT, request.transid) if isinstance(request, StartRequest) else ("", ""),
)


@command("INQUIRE REQID", "NOTAUTH NOTFND", receivers("REQID"), otherwise=_NOTHING)
def inquire_reqid(task: TaskBase, reqid: Name8, *options: ReqidOption, nohandle: bool = False) -> ReqidInfo:
    """Retrieve information about a START, DELAY or POST that waits for its time.

    Args:
        reqid: its name.
        options: the options to return; all when none is named. INTERVAL and TIME are hhmmss.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: NOTFND 1; NOTAUTH 100, 101.
    """
    return inquire_one(task, REQID, reqid.rstrip(" "), options)


_BROWSE: Final = BrowseCommands[ReqidOption, ReqidInfo](
    REQID, "requests", __name__, receives=Opt("name", _NAME_LENGTH, required=True)
)
inquire_reqid_start = browse_command(_BROWSE.start)
inquire_reqid_next = browse_command(_BROWSE.next)
inquire_reqid_end = browse_command(_BROWSE.end)
