"""Interval control: START, RETRIEVE, CANCEL and DELAY, on the region's clock.

The processing of a START request is in :mod:`tdqsim.cics.kernel.starts`. Source: START, RETRIEVE, CANCEL, DELAY (IBM
Docs).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from tdqsim.cics.kernel.abstime import abstime, local_time
from tdqsim.cics.kernel.authority import check_resource, check_surrogate
from tdqsim.cics.kernel.command import (
    Flag,
    Fullword,
    FullwordOrNone,
    HalfwordOrNone,
    Name4,
    Name4OrNone,
    Name8,
    Name8OrNone,
    Name16OrNone,
    Opt,
    command,
)
from tdqsim.cics.kernel.conditions import Condition, check_sent
from tdqsim.cics.kernel.issue import check_options, new_name
from tdqsim.cics.kernel.levels import passed
from tdqsim.cics.kernel.local_queue import QueuedStart
from tdqsim.cics.kernel.security import XPCT, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.kernel.waiting import park, wait
from tdqsim.cics.model.start import StartRequest, TimedWait
from tdqsim.core.fiber import WAIT, TimedOut, WaitQueue
from tdqsim.core.named import NamedTuple
from tdqsim.errors import WrongValue
from tdqsim.facts import Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData

FromOrNone = Annotated[bytes | None, Opt("data", word="FROM")]

_NS = 10**9
_UNKNOWN = 8
_NO_SURROGATE = 9
_NOT_AUTHORIZED = 7
_DAY_NS = 24 * 3600 * _NS
_PAST_NS = 6 * 3600 * _NS
_LONGEST_NAME = 8
_ICWAIT = "ICWAIT"
_ICGTWAIT = "ICGTWAIT"
_NAMES = {"RTRANSID": Opt("name", 4), "RTERMID": Opt("name", 4), "QUEUE": Opt("name", 8)}
_RECEIVED = {"INTO": Opt("data"), "SET": Opt("pointer", 4), "LENGTH": Opt("halfword", 2), **_NAMES}
RetrieveOption = Literal["INTO", "SET", "LENGTH", "RTRANSID", "RTERMID", "QUEUE"]


def _interval_ns(
    interval: int, hours: int | None = None, minutes: int | None = None, seconds: int | None = None
) -> int:
    """Nanoseconds of INTERVAL(hhmmss), or of HOURS, MINUTES and SECONDS; None for a part that is not given.

    A part alone may be more than its place in a time: MINUTES to 5999, SECONDS to 359999.

    Raises:
        Condition: INVREQ 4, 5, 6: the hours, the minutes, the seconds are out of range.
    """
    if interval:
        hours, rest = divmod(abs(interval), 10_000)
        hours = hours if interval > 0 else -1
        minutes, seconds = divmod(rest, 100)
    given = (hours, minutes, seconds)
    alone = given.count(None) == len(given) - 1
    for value, (resp2, word, longest, most) in zip(given, _PARTS, strict=True):
        if value is not None and not 0 <= value <= (most if alone else longest):
            allowed = most if alone else longest
            raise Condition(Resp.INVREQ, resp2, f"{word} is {value}; allowed are 0 to {allowed}")
    return ((hours or 0) * 3600 + (minutes or 0) * 60 + (seconds or 0)) * _NS


_PARTS: Final = ((4, "HOURS", 99, 99), (5, "MINUTES", 59, 5999), (6, "SECONDS", 59, 359_999))
"""RESP2 of each part of an interval, its name, its maximum with other parts, and its maximum alone."""
_MOST_MILLISECS: Final = 2**31 - 1
"""The highest value of a fullword."""


@command(
    "START",
    "CHANNELERR INVREQ IOERR ISCINVREQ LENGERR NOTAUTH SYSIDERR TERMIDERR TRANSIDERR USERIDERR",
    resource="transid",
    otherwise="",
)
def start(
    task: TaskBase,
    transid: Name4,
    from_: FromOrNone = None,
    *,
    interval: Fullword = 0,
    hours: FullwordOrNone = None,
    minutes: FullwordOrNone = None,
    seconds: FullwordOrNone = None,
    reqid: Name8 = "",
    termid: Name4 = "",
    userid: Name8 = "",
    protect: Flag = False,
    time: FullwordOrNone = None,
    at: Flag = False,
    length: HalfwordOrNone = None,
    channel: Name16OrNone = None,
    rtransid: Name4OrNone = None,
    rtermid: Name4OrNone = None,
    queue: Name8OrNone = None,
    sysid: Name4OrNone = None,
    nocheck: Flag = False,
    nohandle: Flag = False,
) -> str:
    """Start a transaction, now or after an interval, in this region or in another one.

    A transaction whose definition names another REMOTESYSTEM, or any with SYSID, is started there: the request is
    function-shipped. Then the other region's definitions, clock and security decide; with PROTECT the request is part
    of this unit of work in both regions.

    Args:
        transid: the transaction.
        from_: data for the task's RETRIEVE.
        interval: the time to wait, as hhmmss; 130 is a minute and a half.
        hours, minutes, seconds: the same in parts (AFTER).
        reqid: a name for CANCEL; generated when not given.
        termid: the terminal of the task; the task is not attached before the terminal is free.
        userid: the user of a task without terminal; the issuer's when not given.
        protect: start it when this unit of work has committed, and not at all if it is backed out.
        time: the time of the day, as hhmmss; a time up to six hours ago means now.
        at: ``hours``, ``minutes`` and ``seconds`` are a time of the day (AT) rather than an interval.
        length: the number of bytes of ``from_`` to send.
        channel: the channel of which the task gets a copy.
        rtransid, rtermid, queue: names for the task's RETRIEVE.
        sysid: the system in which to start it; the local definition of the transaction is then not used.
        nocheck: ignore the answer of the other region, if the request is shipped. With LOCALQ(YES) of the transaction
            the request is queued here while the link is away, and sent when it is back.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        The request's name.

    Raises:
        Condition: TRANSIDERR, TERMIDERR, INVREQ (4, 5, 6: hours, minutes, seconds; else: the name is in use), IOERR (it
            is in use, and there is data), LENGERR, CHANNELERR 1, USERIDERR 8 (the user id is not known), NOTAUTH 7 (the
            issuer may not start the transaction), 9 (it is not a surrogate of the user). Of a request that is shipped
            also SYSIDERR, ISCINVREQ.
        UsageError: REQID, RTRANSID, RTERMID or QUEUE is too long.
    """
    data = from_ if length is None else _first(from_ or b"", length)
    given = passed(task, channel)
    reqid = new_name("START", "REQID", reqid, _LONGEST_NAME)
    more = _names_for_retrieve(RTRANSID=rtransid, RTERMID=rtermid, QUEUE=queue)
    localq = sysid is None and _has_localq(task._region, transid.rstrip(" "))
    system, transid = _where(task._region, transid.rstrip(" "), sysid)
    request = StartRequest(transid, data=data, userid=userid.rstrip(" "), termid=termid.rstrip(" "), reqid=reqid)
    request.channel, request.more = None if given is None else given.copy(), more
    of_day = time is not None or at
    when = StartTime(time or 0 if of_day else interval, hours, minutes, seconds, of_day=of_day)
    order = StartOrder(request, when, protect=protect)
    shipped = partial(_ship_start, task, system, order, nocheck=nocheck, localq=localq)
    task.eib.eibreqid = name = shipped() if system else take_start(task, order)
    return name


def _names_for_retrieve(**names: str | None) -> dict[str, str]:
    """The names that START passes to RETRIEVE, by option, without padding; those not given are left out."""
    given = {word: value for word, value in names.items() if value is not None}
    return {word: new_name("START", word, value, _NAMES[word].length) for word, value in given.items()}


def post(task: TaskBase, when: StartTime, reqid: str, ended: Callable[[bool], object]) -> None:
    """Begin the POST of a task.

    Args:
        task: the task; its POST before this one is taken back.
        when: when it expires.
        reqid: its REQID, empty for none.
        ended: called at its end with True when it expires or CANCEL names its REQID, with False when it is taken back;
            it may be called again if it was interrupted.

    Raises:
        Condition: INVREQ 4, 5, 6: hours, minutes, seconds are out of range. EXPIRED: the time of the day is past.
    """
    region = task._region
    now, moment = region.clock.time_ns(), _deadline(task, when)
    if when.of_day and moment == now:
        raise Condition(Resp.EXPIRED, detail="the time of the day is past")
    _supersede_post(task)
    starts = region.starts

    def end(*, posted: bool) -> bool:
        starts.drop_timed(reqid, expire)
        if not posted and starts.posts.get(task) is take_back:  # the task may cancel it after it has expired, too
            del starts.posts[task]
        ended(posted)
        timer.cancel()
        return True

    def over() -> None:
        end(posted=True)

    expire, take_back = partial(end, posted=True), partial(end, posted=False)
    timer = region.dispatcher.call_at(moment, over)
    starts.posts[task] = take_back
    if reqid:
        starts.add_timed(TimedWait(Cvda.POST, reqid, moment, task.userid), expire)
        task.eib.eibreqid = reqid


def _deadline(task: TaskBase, when: StartTime) -> int:
    """The moment at which a START or POST expires.

    Raises:
        Condition: INVREQ 4, 5, 6: hours, minutes, seconds are out of range.
    """
    span = _interval_ns(when.hhmmss, when.hours, when.minutes, when.seconds)
    now = task._region.clock.time_ns()
    return _moment_of_day(task, now, span) if when.of_day else now + span


def _supersede_post(task: TaskBase) -> None:
    """Take back the POST of a task, as its next POST, DELAY or START in this region does."""
    posts = task._region.starts.posts
    take_back = posts.pop(task, None) if posts else None
    if take_back is not None:
        take_back()


class StartTime(NamedTuple):
    """The time at which a START expires, as the command gives it.

    Attributes:
        hhmmss: INTERVAL or TIME.
        hours, minutes, seconds: of AFTER or AT; None for those that were not given.
        of_day: whether they are a time of the day (TIME, AT) rather than an interval.
    """

    hhmmss: int
    hours: int | None
    minutes: int | None
    seconds: int | None
    of_day: bool


class StartOrder(NamedTuple):
    """A START as the issuing task passes it to the region that has the transaction.

    Attributes:
        request: the request; its name is empty if none was given, its user is empty if it is the task's user.
        when: when it expires.
        protect: PROTECT.
    """

    request: StartRequest
    when: StartTime
    protect: bool

    def to_bytes(self) -> bytes:
        """Encode it for a message to another region."""
        order = {"when": self.when, "protect": self.protect, "request": str(self.request.image(), "utf-8")}
        return json.dumps(order).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> StartOrder:
        """Decode a START from a message.

        Raises:
            Condition: ISCINVREQ: the message holds no valid START.
        """
        try:
            order = json.loads(data)
            request, protect = StartRequest.from_image(order["request"].encode()), order["protect"]
            hhmmss, hours, minutes, seconds, of_day = order["when"]
            numbers = [hhmmss, *(part or 0 for part in (hours, minutes, seconds))]
            types = {type(each) for each in numbers}, {type(of_day), type(protect)}
            if types != ({int}, {bool}) or len(request.reqid) > _LONGEST_NAME:
                raise WrongValue(str(order)[:200])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Condition(Resp.ISCINVREQ, detail=f"a START that cannot be read: {error}") from error
        return cls(request, StartTime(hhmmss, hours, minutes, seconds, of_day), protect)


def _where(region: RegionData, transid: str, sysid: str | None) -> tuple[str, str]:
    """The system that processes a START (empty for this one), and the transaction's name there."""
    if sysid is not None:
        system = sysid.rstrip(" ")
        return ("" if system == region.sysid else system), transid
    entry = region.transactions.get(transid)
    if entry is None or entry.remotesystem in ("", region.sysid):
        return "", transid
    return entry.remotesystem, entry.definition.remotename or transid


def _has_localq(region: RegionData, transid: str) -> bool:
    entry = region.transactions.get(transid)
    return entry is not None and entry.definition.localq == "YES"


def _ship_start(task: TaskBase, system: str, order: StartOrder, *, nocheck: bool, localq: bool) -> str:
    region, data = task._region, order.to_bytes()
    try:
        name = region.link(system).ship(task, "START", order.request.transid, data=data)
    except Condition as condition:
        if not nocheck:
            raise
        if condition.resp is Resp.SYSIDERR:  # without a link nothing was sent
            if not localq or system not in region.connections:
                raise
            queued = QueuedStart(system, order.request.transid, task.userid, data.decode("latin-1"))
            region.starts.local.put(task, queued, protect=order.protect)
        return order.request.reqid
    return name.decode("latin-1")


def take_start(task: TaskBase, order: StartOrder) -> str:
    """Process a START in the region of a task.

    Returns:
        The request's name.

    Raises:
        Condition: the conditions of START, except SYSIDERR.
    """
    region, request, when = task._region, order.request, order.when
    _check_start(region, request)
    check_resource(task, XPCT, request.transid, Access.READ, _NOT_AUTHORIZED)
    if request.userid:
        _check_user(task, request.userid)
    request.deadline_ns = _deadline(task, when)
    request.userid = request.userid or task.userid
    request.reqid = request.reqid or region.starts.next_reqid()
    region.starts.take(request, task, protect=order.protect)
    _supersede_post(task)
    return request.reqid


@command(
    "RETRIEVE",
    "ENDDATA ENVDEFERR INVREQ INVTSREQ IOERR LENGERR NOTFND",
    receives=_RECEIVED,
    otherwise=b"",
)
def retrieve(
    task: TaskBase,
    *options: RetrieveOption,
    length: HalfwordOrNone = None,
    wait: Flag = False,
    nohandle: Flag = False,
) -> Any:
    """Get the data of a START; each record is returned once.

    A task without a terminal gets the data of the START that has started it. A task at a terminal gets, one after the
    other, the data of all STARTs of its transaction and terminal that have expired, in the order of expiry.

    Args:
        options: those of RTRANSID, RTERMID and QUEUE whose values to return too.
        length: the length of the area (INTO) in bytes; without it, all of the data is returned.
        wait: wait for the next START of this transaction and terminal to expire instead of ENDDATA; until the region
            ends. Without effect in a task that has no terminal.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        The data; with options a mapping of them, and of INTO, SET and LENGTH.

    Raises:
        Condition: ENDDATA: there is none, or no more, or no START has started the task. ENVDEFERR: START did not give a
            requested value. LENGERR, with the data cut: it is longer than LENGTH. NOTFND: the data are recoverable and
            were backed out with the unit of work that issued START.
        UsageError: an option that is not known.
    """
    check_options("RETRIEVE", options, _RECEIVED)
    request = _next_data(task, waits=wait)
    wanted = [word for word in options if word in _NAMES]
    missing = [word for word in wanted if word not in request.more]
    if missing:
        raise Condition(Resp.ENVDEFERR, detail=f"START has not given {', '.join(missing)}")
    _take_data(task, request)
    more, data = request.more, request.data or b""
    if length is not None and len(data) > max(length, 0):
        cut = data[: max(length, 0)]
        raise Condition(
            Resp.LENGERR, detail=f"LENGTH is {length}, the data has {len(data)} bytes", data=cut, length=len(data)
        )
    if not options:
        return data
    return {"INTO": data, "SET": data, "LENGTH": len(data), **{word: more[word] for word in wanted}}


def _next_data(task: TaskBase, *, waits: bool) -> StartRequest:
    """The START whose data RETRIEVE returns next: first the task's own, then those that expired for its terminal."""
    starts = task._region.starts
    if not task._startcode.startswith("S"):
        raise Condition(Resp.ENDDATA, detail="the task was not started by START")
    request = task._start_data or starts.next_in_line(task)
    if request is None and waits and task._facility is not None:
        request = wait(
            task,
            lambda: starts.next_in_line(task) or (None if starts.quiesced else WAIT),
            starts.waiting,
            _ICGTWAIT,
            task._facility.name,
        )
    if request is None:
        raise Condition(Resp.ENDDATA, detail="no START has left data for this task, or it is used up")
    return request


def _take_data(task: TaskBase, request: StartRequest) -> None:
    """Take the data; recoverable data of another unit of work only once that has ended.

    Raises:
        Condition: NOTFND: it was backed out.
    """
    starts = task._region.starts
    if request.unit is not None and request.unit is not task._unit:
        wait(task, lambda: WAIT if request.unit is not None else None, starts.waiting, "TSQUEUE", request.reqid)
    if request is task._start_data:
        task._start_data = None
    else:
        starts.retrieved(request, task)
    if request.backed_out:
        detail = f"the data of START request {request.reqid} were backed out with the unit of work that issued it"
        raise Condition(Resp.NOTFND, detail=detail)


@command("CANCEL", "INVREQ ISCINVREQ NOTAUTH NOTFND SYSIDERR")
def cancel(
    task: TaskBase, reqid: Name8 = "", *, transid: Name4OrNone = None, sysid: Name4OrNone = None, nohandle: Flag = False
) -> None:
    """Cancel a START that has not expired, or make a DELAY or POST expire.

    Args:
        reqid: its name; without one the POST of the task is cancelled. Of several DELAYs and POSTs with this name, the
            one that expires first is ended.
        transid: the transaction of the START; the request is cancelled in the system that its definition names.
        sysid: the system in which the START is.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: NOTFND: there is no such request any more, or it is a START PROTECT that is not committed yet. Of a
            START in another system also SYSIDERR. NOTAUTH 101: the user may not use the transaction of the START, or
            TRANSID, which is checked before the request is looked for.
    """
    reqid = reqid.rstrip(" ")
    if transid is not None or sysid is not None:
        system, _ = _where(task._region, (transid or "").rstrip(" "), sysid)
        if system:
            task._region.link(system).ship(task, "CANCEL", reqid)
            return
    if transid is not None:
        check_resource(task, XPCT, transid.rstrip(" "), Access.READ)
    starts = task._region.starts
    take_back = None if reqid else starts.posts.get(task)
    if starts.end_timed(reqid) if reqid else take_back is not None and take_back():
        return
    requests = starts.requests
    request = requests.get(reqid)
    if request is None:
        raise Condition(Resp.NOTFND, detail=f"no request {reqid} is waiting" if reqid else "the task has no POST")
    if not request.committed:
        detail = f"START request {reqid} (PROTECT) is not committed yet"
        raise Condition(Resp.NOTFND, detail=detail, rule="IC-CANCEL-PROTECT")
    check_resource(task, XPCT, request.transid, Access.READ)
    starts.cancel(request)


@command("DELAY", "EXPIRED INVREQ")
def delay(
    task: TaskBase,
    interval: Fullword = 0,
    *,
    hours: FullwordOrNone = None,
    minutes: FullwordOrNone = None,
    seconds: FullwordOrNone = None,
    millisecs: Fullword = 0,
    time: FullwordOrNone = None,
    until: Flag = False,
    reqid: Name8 = "",
    nohandle: Flag = False,
) -> None:
    """Wait for a time on the region's clock; other tasks run meanwhile. A POST of the task is taken back.

    Args:
        interval: the time to wait, as hhmmss.
        hours: the same in parts (FOR).
        minutes: with ``hours``.
        seconds: with ``hours``.
        millisecs: with ``hours``.
        time: the time of the day at which the wait ends, as hhmmss.
        until: the parts are a time of the day (UNTIL) rather than an interval.
        reqid: a name, by which another task's CANCEL ends the wait.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: INVREQ 4, 5, 6, 22: hours, minutes, seconds, milliseconds are out of range. EXPIRED: the time of
            the day is past.
        UsageError: REQID is too long.
    """
    reqid = new_name("DELAY", "REQID", reqid, _LONGEST_NAME)
    if reqid:
        task.eib.eibreqid = reqid
    if not 0 <= millisecs <= _MOST_MILLISECS:
        raise Condition(Resp.INVREQ, 22, f"MILLISECS is {millisecs}; allowed are 0 to {_MOST_MILLISECS}")
    pause = _interval_ns(interval if time is None else time, hours, minutes, seconds) + millisecs * 10**6
    if time is not None or until:
        now = task._region.clock.time_ns()
        pause = _moment_of_day(task, now, pause) - now
        if not pause:
            raise Condition(Resp.EXPIRED, detail="the time of the day is past")
    _supersede_post(task)
    _wait(task, pause, reqid)


def _wait(task: TaskBase, pause: int, reqid: str) -> None:
    """Wait until the time has passed or a CANCEL names this request id."""
    region = task._region
    queue, over = WaitQueue("DELAY"), False

    def end() -> bool:
        nonlocal over
        waited = len(queue) > 0
        over = True
        queue.wake_all()
        region.starts.drop_timed(reqid, end)
        return waited

    try:
        if reqid:
            deadline = region.clock.time_ns() + pause
            region.starts.add_timed(TimedWait(Cvda.DELAY, reqid, deadline, task.userid), end)
        park(task, lambda: None if over else WAIT, queue, _ICWAIT, "", pause)
    except TimedOut:
        return
    finally:
        end()


def _moment_of_day(task: TaskBase, now_ns: int, of_day_ns: int) -> int:
    """The moment that a time of the day means.

    A time that passed up to six hours ago, today or yesterday, means now; one that passed earlier means tomorrow. Hours
    beyond 23 belong to a following day.
    """
    moment = local_time(abstime(now_ns, task._region.zone))
    since_midnight = ((moment.hour * 60 + moment.minute) * 60 + moment.second) * _NS
    ahead = of_day_ns - since_midnight
    if ahead < -_PAST_NS:  # passed too long ago: tomorrow
        ahead += _DAY_NS
    elif of_day_ns < _DAY_NS and ahead >= _DAY_NS - _PAST_NS:
        ahead = 0  # it passed shortly before the last midnight
    return now_ns + max(ahead, 0)


def _first(data: bytes, length: int) -> bytes:
    check_sent(data, length)
    if length <= 0:
        raise Condition(Resp.LENGERR, detail=f"LENGTH is {length}; allowed are 1 and more")
    return data[:length]


def _check_start(region: RegionData, request: StartRequest) -> None:
    if request.transid not in region.transactions:
        raise Condition(Resp.TRANSIDERR, detail=f"transaction {request.transid} is not defined")
    if request.termid and request.termid not in region.terminals:
        raise Condition(Resp.TERMIDERR, detail=f"terminal {request.termid} is not defined")
    if request.reqid and request.reqid in region.starts.requests:
        resp = Resp.INVREQ if request.data is None else Resp.IOERR
        raise Condition(resp, detail=f"request {request.reqid} is waiting already")


def _check_user(task: TaskBase, user: str) -> None:
    check_surrogate(
        task, user, "DFHSTART",
        unknown=Condition(Resp.USERIDERR, _UNKNOWN, f"user {user} is not known"),
        refused=Condition(Resp.NOTAUTH, _NO_SURROGATE, f"user {task.userid} may not act for {user}"),
    )  # fmt: skip
