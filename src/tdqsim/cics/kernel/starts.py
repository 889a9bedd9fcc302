"""START requests: from the command to the task, over restarts.

A request waits for its time, and at a terminal then for the terminal. After that it is given to a task:

* without a terminal, to a task of its own, whose RETRIEVE gives its data only;
* at a terminal, to the next task of its transaction there. All requests with data that have expired for one transaction
  and one terminal stand in one line. The task that the first of them starts can retrieve the others too, also those
  that expire while it runs. What it leaves in the line starts the next task.

What survives the region's end (Recovery and Restart Guide, "Start requests"; START, RETRIEVE):

=====================================  ==================  =====================  ============
request                                warm start          emergency restart      cold start
=====================================  ==================  =====================  ============
its data is recoverable                there               there                  gone
any other                              there               gone                   gone
PROTECT, in a unit of work in doubt    there, when that unit of work is committed gone
=====================================  ==================  =====================  ============

The data of a request is a temporary storage queue named by its REQID, so a TSMODEL says whether it is recoverable. Of a
request that is there again, one whose time has come is processed at once. A recoverable request leaves the store in the
commit of the first unit of work of the task that takes it: a region that fails before starts that task again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.model.start import StartRequest
from tdqsim.core.dispatch import WaitQueue
from tdqsim.errors import StoreDamaged

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.task import Facility, TaskData
    from tdqsim.cics.model.transaction import TransactionEntry
    from tdqsim.cics.model.unit import Meta, UnitOfWork

__all__ = ["Starts", "attachable"]

_RECOVERABLE: Final = b"ic/r/"
_WRITTEN_OUT: Final = b"ic/w/"
_REQIDS: Final = 16**6


def attachable(region: RegionData, transid: str) -> TransactionEntry | None:
    """The transaction, if a task of it can be attached; else None, after the message that says why not."""
    entry = region.transactions.get(transid)
    why = "DFHAC2001" if entry is None else entry.why_not()
    if why is None:
        return entry
    region.messages.write(why, transid=transid, program="" if entry is None else entry.program_name)
    return None


class _UnitStarts(NamedTuple):
    """What one unit of work has done with requests.

    Attributes:
        issued: its STARTs PROTECT.
        consumed: the recoverable requests that it has taken.
    """

    issued: list[StartRequest]
    consumed: list[StartRequest]

    def changes(self) -> Meta:
        """What its commit changes on the store."""
        kept: Meta = {request.key: request.image() for request in self.issued if request.key}
        return kept | dict.fromkeys((request.key for request in self.consumed), None)

    def image(self) -> dict[str, Any]:
        """What is kept of it while it is in doubt."""
        issued = [(request.key.hex(), str(request.image(), "utf-8")) for request in self.issued]
        return {"issued": issued, "consumed": [request.key.hex() for request in self.consumed]}


class Starts:
    """The STARTs of one region that have not begun their tasks.

    Attributes:
        requests: those that have not expired, by name (REQID).
        lines: those with data that have expired at a terminal, by transaction and terminal, in the order of expiry.
        waiting: where tasks wait in RETRIEVE WAIT.
        waits: what CANCEL ends otherwise: a DELAY or POST by its name, and the POST of a task by the task. Each says
            whether anybody was waiting still, and takes itself out.
        quiesced: whether the region is ending: no further request expires, and nobody waits for one.
    """

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self.requests: dict[str, StartRequest] = {}
        self.lines: dict[tuple[str, str], OrderedDict[StartRequest, None]] = {}
        self.waiting = WaitQueue("data of a further START")
        self.waits: dict[str | TaskData, Callable[[], bool]] = {}
        self.quiesced = False
        self._names = 0
        self._keys = 0
        self._resumed: list[StartRequest] = []
        self._expired: OrderedDict[StartRequest, None] = OrderedDict()  # that wait for their terminal or handler
        self._units: dict[UnitOfWork, _UnitStarts] = {}

    def next_reqid(self) -> str:
        """A name for a START that was given none: DF and six digits to the base 16, which no request has."""
        while True:
            self._names = (self._names + 1) % _REQIDS
            name = f"DF{self._names:06X}"
            if name not in self.requests and name not in self.waits:
                return name

    # -- from the command to the deadline -----------------------------------------------------------------------------

    def take(self, request: StartRequest, uow: UnitOfWork | None) -> None:
        """Have a START done when its time comes; with PROTECT (``uow``), once that unit of work has committed."""
        if request.data is not None and self._region.ts.recoverable(request.reqid):
            self._keys += 1
            request.key = _RECOVERABLE + self._keys.to_bytes(8, "big")
        if uow is not None:
            self._protect(request, uow)
            return
        if request.key:
            self._region.hardening.commit(meta={request.key: request.image()})
        self._wait(request)

    def _protect(self, request: StartRequest, uow: UnitOfWork) -> None:
        request.committed = False
        self._unit(uow).issued.append(request)
        self.requests[request.reqid] = request

    def _unit(self, uow: UnitOfWork) -> _UnitStarts:
        """What a unit of work has done with recoverable or protected requests; its end includes it."""
        found = self._units.get(uow)
        if found is None:
            found = self._units[uow] = _UnitStarts([], [])
            uow.at_commit = (*uow.at_commit, found.changes)
            uow.kept = (*uow.kept, ("starts", found.image))
            uow.call_at_end(lambda committed: self._unit_ended(uow, committed=committed))
        return found

    def _unit_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """A unit of work has ended: its requests count, or are dropped. May be called again."""
        found = self._units.get(uow)
        if found is None:
            return
        for request in found.issued:
            self._settle(request, committed=committed)
        if not committed:
            for request in found.consumed:
                self._forget(request)
        self._units.pop(uow, None)

    def _settle(self, request: StartRequest, *, committed: bool) -> None:
        """The unit of work that issued a START PROTECT has ended. May be called again."""
        request.committed = committed
        if committed:
            self._wait(request)
        else:
            self._unlist(request)

    def _unlist(self, request: StartRequest) -> None:
        if self.requests.get(request.reqid) is request:
            del self.requests[request.reqid]

    def _wait(self, request: StartRequest) -> None:
        """Have a request expire at its time. May be called again."""
        if request.taken:  # and an exception came before it left the list
            self._unlist(request)
            return
        if request.timer is not None:
            return
        if request.deadline_ns <= self._region.clock.time_ns() and not self.quiesced:
            self._expire(request)
        else:
            if not self.quiesced:
                request.timer = self._region.dispatcher.call_at(request.deadline_ns, partial(self._expire, request))
            self.requests[request.reqid] = request  # what comes before this has no effect by itself

    def cancel(self, request: StartRequest) -> None:
        """Take a request back."""
        if request.key:
            self._region.hardening.note(request.key, None)
        del self.requests[request.reqid]
        if request.timer is not None:
            request.timer.cancel()

    def _expire(self, request: StartRequest) -> None:
        """The interval is over. May be called again; a request that was taken back, or is done, is left alone."""
        listed = self.requests.get(request.reqid) is request
        if listed or request.timer is None:
            self._begin(request)
            if listed:
                self.requests.pop(request.reqid, None)

    # -- from the deadline to the task --------------------------------------------------------------------------------

    def _begin(self, request: StartRequest) -> None:
        """Make the task, or wait for the terminal."""
        if not request.termid:
            self._attach(request, None)
            return
        self._expired[request] = None
        if request.has_data:
            self.lines.setdefault((request.transid, request.termid), OrderedDict())[request] = None
            self.waiting.wake_all()
        self._region.terminal_control.when_free(request.termid, partial(self._attach, request))

    def _attach(self, request: StartRequest, facility: Facility | None) -> None:
        """Make the task of a request, which is made once. What an interrupt cuts short is done by the next call."""
        if request.taken or self._region.closed:
            return
        region = self._region
        self._leave_line(request)
        if request.handle is None:
            entry = attachable(region, request.transid)
            if entry is None:
                request.taken = True
                if request.key:
                    region.hardening.note(request.key, None)
                return
            level = None
            if request.channel is not None:
                level = ProgramLevel(entry.program_name or entry.name, None, None, request.channel)
            request.handle = region.task_manager.attach(
                entry,
                startcode="SD" if request.has_data else "S",
                userid=request.userid,
                facility=facility,
                start=request,
                level=level,
                reqid=request.reqid,
            )
        if request.key and request.handle.done:
            self._forget(request)
        elif request.key:
            self.consumed(request, request.handle.local._uow)
        request.taken = True

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
        """A RETRIEVE has the data of a request of the line, so that it starts no task."""
        if not request.taken:
            self._leave_line(request)
            request.taken = True
            if request.key:
                self.consumed(request, task._uow)

    def consumed(self, request: StartRequest, uow: UnitOfWork) -> None:
        """A recoverable request leaves the store with the unit of work that has taken it, however that ends."""
        self._unit(uow).consumed.append(request)

    def _forget(self, request: StartRequest) -> None:
        if not self._region.failed:
            self._region.hardening.note(request.key, None)

    # -- the end of a region and the next start -----------------------------------------------------------------------

    def quiesce(self) -> None:
        """The region ends in order: nothing expires any more, and RETRIEVE WAIT gives ENDDATA."""
        self.quiesced = True
        self.stop_timers()
        self.waiting.wake_all()

    def stop_timers(self) -> None:
        """No request expires any more: other regions of the same clock go on."""
        for request in self.requests.values():
            if request.timer is not None:
                request.timer.cancel()
                request.timer = None

    def _left(self) -> Iterator[StartRequest]:
        yield from (request for request in self.requests.values() if request.committed)
        yield from self._expired

    def save(self) -> None:
        """The region ends in order: write out the requests that are not on the store."""
        gone: Meta = dict.fromkeys((key for key, _ in self._region.hardening.metas(_WRITTEN_OUT)), None)
        left = [request.image() for request in self._left() if not request.key and not request.taken]
        now = {_WRITTEN_OUT + number.to_bytes(8, "big"): image for number, image in enumerate(left)}
        if gone or now:
            self._region.hardening.commit(meta={**gone, **now})

    def resume(self, *, clean: bool) -> None:
        """Read the requests of an earlier run; ``clean`` says whether that ended in order."""
        hardening = self._region.hardening
        for key, image in hardening.metas(_RECOVERABLE):
            self._keys = max(self._keys, int.from_bytes(key[len(_RECOVERABLE) :], "big"))
            self._resumed.append(self._read(key, image, key))
        for key, image in hardening.metas(_WRITTEN_OUT):
            hardening.note(key, None)
            if clean:
                self._resumed.append(self._read(key, image, b""))

    def _read(self, key: bytes, image: bytes, place: bytes) -> StartRequest:
        try:
            request = StartRequest.from_image(image)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreDamaged(f"{self._region.store.path}: START request {key!r} cannot be read: {error}") from error
        request.key = place
        return request

    def restore(self, uow: UnitOfWork, image: Mapping[str, Any]) -> None:
        """A unit of work in doubt of an earlier run has issued STARTs PROTECT, or taken requests: it has so again."""
        for key, request in image["issued"]:
            place = bytes.fromhex(key)
            self._keys = max(self._keys, int.from_bytes(place[len(_RECOVERABLE) :], "big"))
            self._protect(self._read(place, request.encode(), place), uow)
        taken = {bytes.fromhex(key) for key in image["consumed"]}
        for each in self._resumed:
            if each.key and each.key in taken:
                each.taken = True
                self.consumed(each, uow)

    def go_on(self) -> list[StartRequest]:
        """Have the requests of an earlier run wait for their time, once its units of work are there again.

        Returns:
            Those whose time has come, in the order of expiry: :meth:`process` begins them.
        """
        resumed, self._resumed = sorted(self._resumed, key=attrgetter("deadline_ns")), []
        now, due = self._region.clock.time_ns(), []
        for request in resumed:
            if request.taken:
                continue
            if request.deadline_ns <= now:
                due.append(request)
            else:
                self._wait(request)
        self._expired.update(dict.fromkeys(due))
        return due

    def process(self, request: StartRequest) -> None:
        """Begin a request of an earlier run whose time has come."""
        self._begin(request)
