"""START requests: from the command to the task, over restarts.

A request waits for its time and then, if it names a terminal, for the terminal. After that a task takes it:

* without a terminal, a separate task, whose RETRIEVE returns the data of this request only;
* at a terminal, the next task of its transaction there, for the user who is signed on there. All expired requests with
  data for one transaction and one terminal form one queue, called a *line* here. The task that the first of them starts
  can retrieve the others too, including those that expire while it runs. A request that it leaves in the line starts
  the next task.

Which requests survive the end of the region (Recovery and Restart Guide, "Start requests"; START, RETRIEVE):

=====================================  ==================  =====================  ============
request                                warm start          emergency restart      cold start
=====================================  ==================  =====================  ============
its data is recoverable                kept                kept                   lost
any other                              kept                lost                   lost
PROTECT, in a unit of work in doubt    kept, when that unit of work is committed  lost
=====================================  ==================  =====================  ============

The data of a request is a temporary storage queue named by its REQID, so a TSMODEL decides whether it is recoverable.
Recoverable data belong to the unit of work that issues START. Without PROTECT the request does not: its task begins at
its time. RETRIEVE waits for the end of that unit of work; if it is backed out, the data are gone, and RETRIEVE ends
with NOTFND.
After a restart, requests whose time has come are processed at once. A recoverable request is removed from the store by
the prepare or commit of the first unit of work of the task that takes it; if the region fails before that, its next
start starts the task again. While the unit of work that issued a recoverable request is in doubt, its record on the
store names that unit of work. The next start drops the request if that unit of work is in doubt no longer; otherwise
its task begins when the unit of work is committed, also without PROTECT.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.authority import is_attachable_by
from tdqsim.cics.kernel.local_queue import LocalQueue
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.model.start import StartRequest, TimedWait
from tdqsim.cics.model.task import FacilityRequest
from tdqsim.core.fiber import WaitQueue
from tdqsim.core.named import NamedTuple
from tdqsim.errors import StoreDamaged

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.task import Facility, TaskData
    from tdqsim.cics.model.unit import Meta, UnitOfWork

_RECOVERABLE: Final = b"ic/r/"
_WRITTEN_OUT: Final = b"ic/w/"
_REQIDS: Final = 16**6


_EVENTS: Final = {"DFHAC2001": "start_no_transaction", "DFHAC2008": "start_disabled"}
"""The notice for the message with the reason why a transaction cannot be attached."""


def why_not_attachable(region: RegionData, transid: str) -> str:
    """The event of the notice with the reason why no task of a transaction can be attached; empty if one can.

    Whether a user may attach it is another question: see :func:`~tdqsim.cics.kernel.authority.is_attachable_by`.
    """
    entry = region.transactions.get(transid)
    failure = "DFHAC2001" if entry is None else entry.why_not()
    if failure is None:
        return ""
    if entry is not None and failure == "DFHAC2016":
        if entry.is_remote(region.sysid):
            return "start_remote"
        if entry.definition.handler:
            return "start_not_imported"
        return "start_program_unknown" if entry.program_name else "start_no_program"
    return _EVENTS[failure]


def start_inserts(region: RegionData, transid: str, queue: str = "") -> dict[str, Any]:
    """The inserts of a notice about a start that fails: by the trigger of a queue, or for the transaction itself."""
    entry = region.transactions.get(transid)
    handler, program, system = (
        ("", "", "") if entry is None else (entry.definition.handler, entry.program_name, entry.remotesystem)
    )
    resource = f"TDQUEUE({queue})" if queue else f"TRANSACTION({transid})"
    return {"resource": resource, "transid": transid, "handler": handler, "program": program, "system": system}


def report_not_attachable(region: RegionData, transid: str, queue: str = "") -> None:
    """Write the message and the notice with the reason why no task of a transaction can be attached.

    Args:
        region: the region.
        transid: the transaction.
        queue: the queue whose trigger starts it, for the notice; empty for another start.
    """
    entry = region.transactions.get(transid)
    message, program = ("DFHAC2001", "") if entry is None else (entry.why_not(), entry.program_name)
    assert message is not None, entry
    region.messages.write(message, transid=transid, program=program)
    region.notices.say(why_not_attachable(region, transid), **start_inserts(region, transid, queue))


def may_start(region: RegionData, transid: str, user: str, facility: Facility | None, queue: str = "") -> bool:
    """Whether a user may attach a transaction that a trigger or START starts; a refusal is reported."""
    if is_attachable_by(region, transid, user, facility):
        return True
    region.notices.say("start_not_authorized", userid=user, **start_inserts(region, transid, queue))
    return False


class _UnitStarts(NamedTuple):
    """The START requests that one unit of work has issued or taken.

    Attributes:
        issued: its STARTs PROTECT.
        written: its other STARTs with recoverable data.
        consumed: the recoverable requests that it has taken.
    """

    issued: list[StartRequest]
    written: list[StartRequest]
    consumed: list[StartRequest]

    def changes(self, in_doubt: bytes = b"") -> Meta:
        """The changes to the store that its commit must include, or its prepare, given the unit of work's id."""
        issued = (*self.issued, *self.written)
        kept: Meta = {request.key: request.image(in_doubt) for request in issued if request.key and not request.gone}
        return kept | {request.key: None for request in self.consumed if request.key}

    def image(self) -> list[str]:
        """What the unit of work's record keeps while it is in doubt: the requests that have no record of their own."""
        return [str(request.image(), "utf-8") for request in self.issued if not request.key]


class Starts:
    """The START requests of one region that have not started their tasks.

    Attributes:
        requests: the requests that have not expired, by name (REQID).
        lines: expired requests with data for a terminal, by transaction and terminal, in the order of expiry.
        waiting: the tasks that wait in RETRIEVE, with WAIT or for the end of the unit of work that has issued START.
        posts: the functions by which CANCEL takes back the POST of a task, by task. Each returns whether there was
            something to end, and removes itself.
        timed: the DELAYs and POSTs with a REQID that wait, by REQID and by the function with which CANCEL ends each, as
            above. Several may have the same REQID.
        local: the requests for other regions that wait for their links.
        quiesced: whether the region is ending: no further request expires, and no task waits for one.
    """

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self.requests: dict[str, StartRequest] = {}
        self.lines: dict[tuple[str, str], OrderedDict[StartRequest, None]] = {}
        self.waiting = WaitQueue("data of a further START")
        self.posts: dict[TaskData, Callable[[], bool]] = {}
        self.timed: dict[str, dict[Callable[[], bool], TimedWait]] = {}
        self.quiesced = False
        self._names = 0
        self._keys = 0
        self._expired: OrderedDict[StartRequest, None] = OrderedDict()  # that wait for their terminal or handler
        self._units: dict[UnitOfWork, _UnitStarts] = {}
        self.local = LocalQueue(region)

    def next_reqid(self) -> str:
        """Make a unique name for a START without REQID: DF and six hexadecimal digits."""
        while True:
            self._names = (self._names + 1) % _REQIDS
            name = f"DF{self._names:06X}"
            if name not in self.requests and name not in self.timed:
                return name

    def add_timed(self, wait: TimedWait, end: Callable[[], bool]) -> None:
        """Add a DELAY or POST that CANCEL can end."""
        self.timed.setdefault(wait.reqid, {})[end] = wait

    def drop_timed(self, reqid: str, end: Callable[[], bool]) -> None:
        """Remove a DELAY or POST; without effect if it is not there."""
        same = self.timed.get(reqid, {})
        same.pop(end, None)
        if not same:
            self.timed.pop(reqid, None)

    def end_timed(self, reqid: str) -> bool:
        """End the DELAY or POST of this REQID that expires first; returns whether there was one."""
        same = self.timed.get(reqid, {})
        return any(end() for end in sorted(same, key=lambda end: same[end].deadline_ns))

    # -- from the command to the deadline -----------------------------------------------------------------------------

    def take(self, request: StartRequest, task: TaskData, *, protect: bool) -> None:
        """Schedule a START of a task for its time; with PROTECT not before the unit of work has committed."""
        if request.has_data and self._region.ts.recoverable(request.reqid):
            self._keys += 1
            request.key = _RECOVERABLE + self._keys.to_bytes(8, "big")
        if protect:
            self._protect(request, task._uow)
            return
        if request.key:
            request.unit = task._uow
            self._unit(request.unit).written.append(request)
        self._wait(request)

    def _protect(self, request: StartRequest, uow: UnitOfWork) -> None:
        request.committed = False  # listed already, so that its name is in use; but it has no timer yet
        self._unit(uow).issued.append(request)
        self.requests[request.reqid] = request

    def _unit(self, uow: UnitOfWork) -> _UnitStarts:
        """The recoverable or protected requests of a unit of work; the first call makes them part of its end."""
        starts = self._units.get(uow)
        if starts is None:
            starts = self._units[uow] = _UnitStarts([], [], [])
            uow.at_commit = (*uow.at_commit, starts.changes)
            uow.at_prepare = (*uow.at_prepare, partial(starts.changes, uow.id))
            uow.kept = (*uow.kept, ("starts", starts.image))
            uow.call_at_end(lambda committed: self._unit_ended(uow, committed=committed))
        return starts

    def _unit_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """Called at the end of a unit of work: schedule its requests, or drop them. May be called again."""
        starts = self._units.get(uow)
        if starts is None:
            return
        for request in starts.issued:
            self._settle(request, committed=committed)
        for request in starts.written:
            request.unit, request.backed_out = None, not committed
        if starts.written:
            self.waiting.wake_all()
        if not committed:
            for request in (*starts.issued, *starts.written, *starts.consumed):
                self._forget(request)
        self._units.pop(uow, None)

    def _settle(self, request: StartRequest, *, committed: bool) -> None:
        """Called when the unit of work that issued a START PROTECT has ended. May be called again."""
        request.committed = committed
        if committed:
            self._wait(request)
        else:
            self._unlist(request)

    def _unlist(self, request: StartRequest) -> None:
        if self.requests.get(request.reqid) is request:
            del self.requests[request.reqid]

    def _wait(self, request: StartRequest) -> None:
        """Set the timer of a request. May be called again."""
        if request.taken:  # an exception interrupted its removal from the list
            self._unlist(request)
            return
        if request.timer is not None:
            return
        if request.deadline_ns <= self._region.clock.time_ns() and not self.quiesced:
            self._expire(request)
        else:
            if not self.quiesced:
                request.timer = self._region.dispatcher.call_at(request.deadline_ns, partial(self._expire, request))
            self.requests[request.reqid] = request  # last: an interrupted timer alone has no effect

    def cancel(self, request: StartRequest) -> None:
        """Cancel a request; it does not come back, whatever happens next.

        Raises:
            StoreError: it could not be removed from the store; it is not cancelled.
        """
        if request.key:
            self._region.committer.commit(meta={request.key: None})
            request.key = b""
        del self.requests[request.reqid]
        if request.timer is not None:
            request.timer.cancel()

    def _expire(self, request: StartRequest) -> None:
        """Called when the interval has passed; may be called again. Ignores cancelled and completed requests."""
        listed = self.requests.get(request.reqid) is request
        if listed or request.timer is None:
            self._begin(request)
            if listed:  # removed last: if an interrupt comes before, the request is not lost
                self.requests.pop(request.reqid, None)

    # -- from the deadline to the task --------------------------------------------------------------------------------

    def _begin(self, request: StartRequest) -> None:
        """Attach the task, or wait for the terminal."""
        if not request.termid:
            self._attach(request, None)
            return
        self._expired[request] = None
        if request.has_data:
            self.lines.setdefault((request.transid, request.termid), OrderedDict())[request] = None
            self.waiting.wake_all()
        asked = FacilityRequest(request.transid, partial(self._attach, request), partial(self._drop, request))
        self._region.terminal_control.when_free(request.termid, asked)

    def _attach(self, request: StartRequest, facility: Facility | None) -> None:
        """Attach the task of a request, once only. If an interrupt stops this, the next call completes it."""
        if request.taken or self._region.closed:
            return
        region = self._region
        self._leave_line(request)
        if request.handle is None:
            entry = region.transactions.get(request.transid)
            if entry is None or entry.why_not():
                report_not_attachable(region, request.transid)
                self._drop(request)
                return
            user = request.userid if facility is None else facility.userid or region.options.dfltuser
            if not may_start(region, request.transid, user, facility):
                self._drop(request)
                return
            level = None
            if request.channel is not None:
                level = ProgramLevel(entry.program_name or entry.name, None, None, request.channel)
            request.handle = region.task_manager.attach(
                entry,
                startcode="SD" if request.has_data else "S",
                userid=user,
                facility=facility,
                start=request,
                level=level,
            )
        if request.handle.done:
            self._forget(request)
        elif request.key:
            self.consumed(request, request.handle.local._uow)
        request.taken = True

    def _drop(self, request: StartRequest) -> None:
        """Remove a request whose task cannot be attached."""
        self._leave_line(request)
        request.taken = True
        self._forget(request)

    def _leave_line(self, request: StartRequest) -> None:
        key = request.transid, request.termid
        line = self.lines.get(key)
        if line is not None:
            line.pop(request, None)
            if not line:
                del self.lines[key]
        self._expired.pop(request, None)

    def next_in_line(self, task: TaskData) -> StartRequest | None:
        """The first request in the line of a task at a terminal; None when there is none."""
        facility = task._facility
        line = None if facility is None else self.lines.get((task.transid, facility.name))
        return next(iter(line), None) if line else None

    def retrieved(self, request: StartRequest, task: TaskData) -> None:
        """Remove a request from its line, because RETRIEVE has returned its data: it will start no task."""
        if not request.taken:
            self._leave_line(request)
            request.taken = True
            if request.key:
                self.consumed(request, task._uow)

    def consumed(self, request: StartRequest, uow: UnitOfWork) -> None:
        """Remove a recoverable request from the store when the unit of work that took it ends, however it ends."""
        request.taker = uow
        self._unit(uow).consumed.append(request)

    def _forget(self, request: StartRequest) -> None:
        """Remove a request from the store, if it is there, by the next commit."""
        if request.key and not (self._region.closed or self._region.failed):  # then the next start processes it again
            self._region.committer.note(request.key, None)
        request.key = b""

    # -- the end of a region and the next start -----------------------------------------------------------------------

    def quiesce(self) -> None:
        """Prepare for a normal end of the region: nothing expires any more, and RETRIEVE WAIT ends with ENDDATA."""
        self.quiesced = True
        self.stop_timers()
        self.waiting.wake_all()

    def stop_timers(self) -> None:
        """Stop the timers of all requests; needed because the clock may continue for other regions."""
        for request in self.requests.values():
            if request.timer is not None:
                request.timer.cancel()
                request.timer = None

    def _left(self) -> Iterator[StartRequest]:
        yield from (request for request in self.requests.values() if request.committed)
        yield from self._expired

    def save(self) -> None:
        """At a normal end of the region, write the requests that are not in the store to it."""
        gone: Meta = dict.fromkeys((key for key, _ in self._region.committer.metas(_WRITTEN_OUT)), None)
        left = [request.image() for request in self._left() if not request.key and not request.taken]
        now = {_WRITTEN_OUT + number.to_bytes(8, "big"): image for number, image in enumerate(left)}
        if gone or now:
            self._region.committer.commit(meta={**gone, **now})

    def restore(self, uow: UnitOfWork, image: list[str]) -> None:
        """Restore those STARTs PROTECT of a unit of work in doubt from an earlier run that its record keeps."""
        for request in image:
            self._protect(StartRequest.from_image(request.encode()), uow)

    def resume(self, *, clean: bool) -> list[StartRequest]:
        """Read the requests of an earlier run, after its units of work have been restored, and set their timers.

        Args:
            clean: whether that run ended normally.

        Returns:
            The requests whose time has come, in the order of expiry; pass them to :meth:`process`.
        """
        committer = self._region.committer
        self.local.resume()
        resumed = []
        for key, image in committer.metas(_RECOVERABLE):
            self._keys = max(self._keys, int.from_bytes(key[len(_RECOVERABLE) :], "big"))
            request = self._read(key, image)
            request.key = key
            if not request.in_doubt:
                resumed.append(request)
            elif request.in_doubt in self._region.shunted:
                self._protect(request, self._region.shunted[request.in_doubt])
            else:
                committer.note(key, None)
        for key, image in committer.metas(_WRITTEN_OUT):
            committer.note(key, None)
            if clean:
                resumed.append(self._read(key, image))
        now, due = self._region.clock.time_ns(), []
        for request in sorted(resumed, key=attrgetter("deadline_ns")):
            if request.deadline_ns <= now:
                due.append(request)
            else:
                self._wait(request)
        self._expired.update(dict.fromkeys(due))
        return due

    def _read(self, key: bytes, image: bytes) -> StartRequest:
        try:
            return StartRequest.from_image(image)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreDamaged(f"{self._region.store.path}: START request {key!r} cannot be read: {error}") from error

    def process(self, request: StartRequest) -> None:
        """Process a request of an earlier run whose time has come."""
        self._begin(request)
