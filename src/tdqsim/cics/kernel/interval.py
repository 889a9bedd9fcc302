"""Interval control: START, RETRIEVE, CANCEL and DELAY, on the simulated clock.

Only what transient data programs need beside ATI: a START makes one task, now or later, with its own data. Source:
START, RETRIEVE, CANCEL, DELAY (IBM Docs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from tdqsim.cics.kernel.command import Flag, Opt, command
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import UNKNOWN_USER, why_not_for
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.core.dispatch import WAIT, TimedOut, WaitQueue
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics.kernel.parts import TaskRegion
    from tdqsim.core.dispatch import Timer

__all__ = ["StartRequest", "Starts", "cancel", "delay", "interval_ns", "retrieve", "start"]

_NS = 10**9
_UNKNOWN = 8
_NO_SURROGATE = 9


class StartRequest:
    """One START that has not begun its task.

    Attributes:
        transid: the transaction.
        data: what RETRIEVE gives; None for none.
        userid: the user of the task.
        termid: its terminal; empty for none.
        reqid: its name, for CANCEL.
        timer: the clock's alarm; None when it is due.
        committed: whether it counts; a START PROTECT does once its unit of work has committed.
    """

    __slots__ = ("committed", "data", "region", "reqid", "termid", "timer", "transid", "userid")

    def __init__(
        self, region: TaskRegion, transid: str, *, data: bytes | None, userid: str, termid: str, reqid: str
    ) -> None:
        self.region = region
        self.transid = transid
        self.data = data
        self.userid = userid
        self.termid = termid
        self.reqid = reqid
        self.timer: Timer | None = None
        self.committed = True

    def settle(self, deadline_ns: int, *, committed: bool) -> None:
        """The unit of work that issued a START PROTECT has ended: do it, or drop it."""
        self.committed = committed
        if committed:
            self.region.starts.start_at(self, deadline_ns)
        else:
            self.region.starts.requests.pop(self.reqid, None)

    def due(self) -> None:
        """The interval is over: attach, or wait for the terminal."""
        self.region.starts.requests.pop(self.reqid, None)
        if not self.termid:
            self.attach(None)
            return
        self.region.when_free(self.termid, self.attach)

    def attach(self, facility: Any) -> None:
        """Make the task."""
        entry = self.region.transactions.get(self.transid)
        if entry is None or (why := entry.why_not()):
            message = "DFHAC2001" if entry is None else str(why)
            program = entry.definition.program if entry is not None else ""
            self.region.messages.write(message, transid=self.transid, program=program)
            return
        startcode = "S" if self.data is None else "SD"
        self.region.attach(entry, startcode=startcode, userid=self.userid, facility=facility, data=self.data)


class Starts:
    """The STARTs of one region that have not begun their tasks.

    Attributes:
        requests: by name (REQID).
    """

    def __init__(self, region: TaskRegion) -> None:
        self._region = region
        self.requests: dict[str, StartRequest] = {}
        self._names = 0

    def next_reqid(self) -> str:
        """A name for a START that was given none."""
        self._names += 1
        return f"DF{self._names:06d}"

    def start_at(self, request: StartRequest, deadline_ns: int) -> None:
        """Have a START done when its time comes."""
        if deadline_ns <= self._region.clock.time_ns():
            request.due()
        else:
            request.timer = self._region.dispatcher.call_at(deadline_ns, request.due)


def interval_ns(interval: int, hours: int, minutes: int, seconds: int) -> int:
    """Nanoseconds of INTERVAL(hhmmss), or of HOURS, MINUTES and SECONDS.

    Raises:
        Condition: INVREQ: a part is negative, or minutes or seconds of INTERVAL are over 59.
    """
    if interval:
        hours, rest = divmod(interval, 10_000)
        minutes, seconds = divmod(rest, 100)
        if interval < 0 or minutes > 59 or seconds > 59:
            raise Condition(Resp.INVREQ, 4, f"INTERVAL({interval}) is not hhmmss")
    if min(hours, minutes, seconds) < 0:
        raise Condition(Resp.INVREQ, 4, "HOURS, MINUTES and SECONDS cannot be negative")
    return (hours * 3600 + minutes * 60 + seconds) * _NS


@command("START", "INVREQ LENGERR NOTAUTH TERMIDERR TRANSIDERR USERIDERR", resource="transid", otherwise="")
def start(
    task: TaskBase,
    transid: Annotated[str, Opt("name", 4)],
    from_: Annotated[bytes | None, Opt("data", word="FROM")] = None,
    *,
    interval: Annotated[int, Opt("fullword", 4)] = 0,
    hours: Annotated[int, Opt("fullword", 4)] = 0,
    minutes: Annotated[int, Opt("fullword", 4)] = 0,
    seconds: Annotated[int, Opt("fullword", 4)] = 0,
    reqid: Annotated[str, Opt("name", 8)] = "",
    termid: Annotated[str, Opt("name", 4)] = "",
    userid: Annotated[str, Opt("name", 8)] = "",
    protect: Flag = False,
    nohandle: Flag = False,
) -> str:
    """Have a transaction started, now or after an interval.

    Args:
        transid: the transaction.
        from_: data for the task's RETRIEVE.
        interval: how long to wait, as hhmmss; 130 is a minute and a half.
        hours: the same in parts (AFTER).
        minutes: with ``hours``.
        seconds: with ``hours``.
        reqid: a name for CANCEL; one is made up when not given.
        termid: the terminal of the task; it waits until that is free.
        userid: the user of a task without terminal; the issuer's when not given.
        protect: only once this unit of work has committed; nothing is started when it is backed out.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        The request's name.

    Raises:
        Condition: TRANSIDERR, TERMIDERR, INVREQ (the interval, or the name is in use), USERIDERR 8 (the user id is not
            known), NOTAUTH 9 (the issuer is no surrogate of the user).
    """
    region = task.region
    _check_start(region, transid, termid, reqid)
    if userid:
        _check_user(task, userid)
    delay = interval_ns(interval, hours, minutes, seconds)
    name = reqid or region.starts.next_reqid()
    task.eib.eibreqid = name
    request = StartRequest(region, transid, data=from_, userid=userid or task.userid, termid=termid, reqid=name)
    region.starts.requests[name] = request
    deadline = region.clock.time_ns() + delay
    if protect:
        request.committed = False
        uow = task.uow
        uow.at_end = (*uow.at_end, lambda committed: request.settle(deadline, committed=committed))
    else:
        region.starts.start_at(request, deadline)
    return name


@command("RETRIEVE", "ENDDATA", receives={"INTO": Opt("data"), "LENGTH": Opt("halfword", 2)}, otherwise=b"")
def retrieve(task: TaskBase, *, nohandle: Flag = False) -> bytes:
    """The data that START gave this task; each is given once.

    Raises:
        Condition: ENDDATA: there is none, or no more. So it is for a task that a queue has triggered.
    """
    if not task.start_data:
        raise Condition(Resp.ENDDATA, detail="no START has left data for this task, or it is used up")
    data, *rest = task.start_data
    task.start_data = tuple(rest)
    return data


@command("CANCEL", "NOTFND")
def cancel(task: TaskBase, reqid: Annotated[str, Opt("name", 8)], *, nohandle: Flag = False) -> None:
    """Take back a START whose interval is not over.

    Raises:
        Condition: NOTFND: there is no such request any more, or it is a START PROTECT that is not committed yet.
    """
    requests = task.region.starts.requests
    request = requests.get(reqid)
    if request is None:
        raise Condition(Resp.NOTFND, detail=f"no START request {reqid} is waiting")
    if not request.committed:
        raise Condition(Resp.NOTFND, detail=f"START request {reqid} (PROTECT) is not committed yet")
    del requests[reqid]
    if request.timer is not None:
        request.timer.cancel()


@command("DELAY", "INVREQ")
def delay(
    task: TaskBase,
    interval: Annotated[int, Opt("fullword", 4)] = 0,
    *,
    hours: Annotated[int, Opt("fullword", 4)] = 0,
    minutes: Annotated[int, Opt("fullword", 4)] = 0,
    seconds: Annotated[int, Opt("fullword", 4)] = 0,
    nohandle: Flag = False,
) -> None:
    """Wait for a time on the region's clock; other tasks run meanwhile.

    Args:
        interval: how long, as hhmmss.
        hours: the same in parts (FOR).
        minutes: with ``hours``.
        seconds: with ``hours``.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: INVREQ: the interval is not valid.
    """
    pause = interval_ns(interval, hours, minutes, seconds)
    try:
        task.region.dispatcher.wait(lambda: WAIT, WaitQueue("DELAY"), pause)
    except TimedOut:
        return


def _check_start(region: TaskRegion, transid: str, termid: str, reqid: str) -> None:
    entry: Any = region.transactions.get(transid)
    if entry is None:
        raise Condition(Resp.TRANSIDERR, detail=f"transaction {transid} is not defined")
    if termid and termid not in region.terminals:
        raise Condition(Resp.TERMIDERR, detail=f"terminal {termid} is not defined")
    if reqid and reqid in region.starts.requests:
        raise Condition(Resp.INVREQ, detail=f"request {reqid} is waiting already")


def _check_user(task: TaskBase, user: str) -> None:
    reason = why_not_for(task, user)
    if reason == UNKNOWN_USER:
        raise Condition(Resp.USERIDERR, _UNKNOWN, f"user {user} is not known")
    if reason:
        raise Condition(Resp.NOTAUTH, _NO_SURROGATE, f"user {task.userid} may not act for {user}")
