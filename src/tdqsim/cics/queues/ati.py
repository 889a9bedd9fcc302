"""Automatic transaction initiation (ATI): the trigger cycle of a queue, as a table.

A queue with TRANSID and TRIGGERLEVEL > 0 starts a task when it holds that many records *or more* while no *cycle* is
on. The start begins a cycle (the latch). Until the cycle is over no other task is started, however many records are
written.

The count is checked, on a NO or PHYSICAL queue, at every successful WRITEQ, without delaying the writer; on a LOGICAL
queue, at the commit of a unit of work that wrote to it, with the committed count. It is not checked at READQ, DELETEQ
or backout.

The events that end or continue a cycle::

    event                          NO, PHYSICAL      LOGICAL
    READQ of any task gets QZERO   over, at once     over, when the task ends that saw it and committed
    DELETEQ of any task            over, at once     the same
    SET of its trigger, no task    over              over              (its task could not be attached)
    task ends, FILE                over              over
    task ends normally, TERMINAL   started again     started again        (SYSTEM likewise)
    task abends, TERMINAL          stays on          stays on             (nothing starts until QZERO, whatever is SET)
    task cannot be attached        stays on          stays on

A SET of a trigger attribute frees a queue whose cycle is stuck because its task could not be attached; after an abend
only QZERO does. While the task is due or runs, a SET does not affect the cycle, since no other task is started while
the latch is set; when the task ends, the TRIGGERLEVEL and ATIFACILITY of that time decide. A cycle that is over takes
back the start that still waits for its terminal (APAR PM54835).

Sources differ on whether the next cycle may begin while the task runs, so it is an option of the region. With
``trigger_next`` QZERO (the default, as in IBM's page of CICS TS 5.3) a NO or PHYSICAL queue starts another task at
once; a record of a LOGICAL queue that is committed after the QZERO of a task that still runs starts nothing, and a
notice says so. With TASKEND (as a reader tells of newer pages) the tasks of a queue run one after the other: when the
task has ended, the count is checked, for all queues.

The end of a FILE task starts no other task: the *next* write at or over the level does. An initiation that fails before
a task exists (transaction unknown or remote) begins no cycle, so that every later write tries again; the message is
written once. Sources: Automatic transaction initiation; DFHTD0183, DFHTD0340 (IBM Docs).

While the unit of work of a triggered task is shunted, its queue's cycle is *held*: the events of the table take effect
when the unit of work is decided, and no second task is started before. (The manuals only hint at this: unconfirmed.)

A task for a terminal waits until the terminal is in service and has no other task, and one for a connection until that
is in service and acquired. If another region owns the terminal, the request goes there
(:mod:`~tdqsim.cics.terminal.routing`) while its connection is acquired. A program that never removes a record from its
queue, because it does not read it or always backs out, would be restarted for ever. A test has no operator who stops
it, so after ``ati_starts_without_read`` starts the cycle stays on and no more tasks are started.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.starts import may_start, report_not_attachable, start_inserts, why_not_attachable
from tdqsim.cics.model.queue import IntraTdQueue, Latch, latch_key
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.space import NEVER
from tdqsim.cics.model.task import Facility, FacilityRequest
from tdqsim.cics.model.unit import UnitOfWork
from tdqsim.facts import TDQUEUE_ATTRIBUTES, notice_words, table

if TYPE_CHECKING:
    from tdqsim.cics.model.transaction import TransactionEntry
    from tdqsim.core.notices import Notice

OVER: Final = "over"
AGAIN: Final = "started again"
STAYS: Final = "stays on"
_DEFAULT_LEVEL: Final = int(TDQUEUE_ATTRIBUTES["TRIGGERLEVEL"].default or 0)
"""Listings of a CSD have it for queues without a trigger too, so it asks for nothing."""

AFTER_TASK: Final[dict[tuple[str, bool], str]] = {
    # (ATIFACILITY, whether the task ended normally): the effect on its cycle, if that is still on
    ("FILE", True): OVER,
    ("FILE", False): OVER,
    ("TERMINAL", True): AGAIN,
    ("TERMINAL", False): STAYS,
    ("SYSTEM", True): AGAIN,
    ("SYSTEM", False): STAYS,
}

_LIMIT: Final = int(next(row["value"] for row in table("kernel") if row["name"] == "ati_starts_without_read"))


class _HeldCycle:
    """A cycle that a shunted unit of work holds.

    Attributes:
        queue: the queue.
        outcome: the deferred effect of the end of the cycle's task, or of a QZERO; empty if neither has occurred.
        restarted: whether the cycle began in an earlier run, so that its task no longer exists.
    """

    __slots__ = ("outcome", "queue", "restarted")

    def __init__(self, queue: IntraTdQueue, *, restarted: bool) -> None:
        self.queue = queue
        self.restarted = restarted
        self.outcome = ""


class Ati:
    """The trigger cycles of one region."""

    __slots__ = ("_held", "_region", "_resumed")

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self._held: dict[bytes, _HeldCycle] = {}
        self._resumed: set[IntraTdQueue] = set()  # their cycles continue after a restart; no task is scheduled yet

    def arm(self, queue: IntraTdQueue) -> None:
        """Compute the count at which a write starts a task, after the trigger or the cycle has changed."""
        queue.armed_at = queue.triggerlevel if queue.transid and queue.triggerlevel > 0 else NEVER
        queue.fire_at = queue.armed_at if queue.latched is None else NEVER
        if queue.triggerlevel > _DEFAULT_LEVEL and not queue.transid:
            self._region.notices.say("trigger_without_transid", queue=queue.name, level=queue.triggerlevel)

    # -- reached --------------------------------------------------------------------------------------------------

    def due(self, queue: IntraTdQueue, items: int, task: int, transid: str, termid: str, uow: str = "") -> Latch | None:
        """Prepare the cycle to begin when the level is reached; None if no task can be started.

        Args:
            queue: the queue.
            items: the number of records on the queue after the write or commit.
            task, transid, termid: the task that issued the WRITEQ or commit.
            uow: the committed unit of work, in hexadecimal; empty for a WRITEQ.
        """
        why_not = self.why_no_cycle(queue)
        if why_not is None:
            return Latch(queue, (task, transid, termid, uow, self._region.clock.time_ns(), items))
        if not queue.failed_start:
            queue.failed_start = True
            message, reason, event = why_not
            self._region.messages.write(message, queue=queue.name, transid=queue.transid, reason=reason)
            self._region.notices.say(event, queue=queue.name, transid=queue.transid)
        return None

    def begin(self, latch: Latch) -> None:
        """Begin a cycle and schedule its task, which runs later, never inside the writer.

        If an exception interrupts this, the next write that reaches the level completes it: the queue continues to
        check the count until the task is scheduled.
        """
        queue = latch.queue
        if queue.latched is None:
            queue.cycle += 1
            queue.starts, queue.failed_start = 0, False
            queue.latched = latch
        elif self._has_task(queue):
            queue.fire_at = NEVER
            if queue.latched.facility != "FILE":  # the request exists, but may not have been served
                self.serve(self._region.terminal_control.get(queue.latched.facility, queue.facilityid))
            return
        else:
            latch = queue.latched
        self.schedule(latch)
        queue.fire_at = NEVER

    def would_start(self, queue: IntraTdQueue, items: int) -> bool:
        """Whether a task is started when the queue has this many records."""
        return items >= queue.fire_at and self.why_no_cycle(queue) is None

    def why_no_cycle(self, queue: IntraTdQueue) -> tuple[str, str, str] | None:
        """The message ID, the reason and the notice for a cycle that cannot begin; None if it can."""
        entry: TransactionEntry | None = self._region.transactions.get(queue.transid)
        if entry is None:
            return "DFHTD0183", "it is not defined", "trigger_no_transaction"
        if entry.remotesystem and entry.is_remote(self._region.sysid):
            return "DFHTD0340", "it is remote", "trigger_remote"
        return None

    def obstacle(self, queue: IntraTdQueue) -> Notice | None:
        """What prevents that a task of this trigger runs, in the words of its notice; None for nothing known.

        Whether the level is reached, and whether the user may attach the transaction, is not looked at.
        """
        region, why_not = self._region, self.why_no_cycle(queue)
        if why_not is not None:
            return notice_words(why_not[2], {"queue": queue.name, "transid": queue.transid})
        if queue.atifacility != "FILE":
            facility = region.terminal_control.get(queue.atifacility, queue.facilityid)
            if (event := self.why_it_waits(facility)) is not None:
                return notice_words(event, _waiting(queue, facility))
        event = why_not_attachable(region, queue.transid)
        inserts = start_inserts(region, queue.transid, queue.name)
        return notice_words(event, inserts) if event else None

    def why_it_waits(self, facility: Facility) -> str | None:
        """The event of the notice for a facility that starts nothing; None if it can, or it is requested."""
        region, name = self._region, facility.owner or facility.name
        if facility.kind == "TERMINAL" and not facility.owner:
            if facility.inservice:
                return None
            return "trigger_terminal_away" if name in region.terminals else "trigger_no_terminal"
        connection, link = region.connections.get(name), region.links.get(name)
        acquired = (link is not None and link.acquired) or region.looks_from_outside  # from where no link is seen
        if acquired and (connection is None or connection.inservice == "YES"):
            return None
        if facility.owner:
            return "trigger_owner_away"
        if connection is None and link is None:
            return "trigger_no_connection"
        is_away = connection is not None and connection.inservice != "YES"
        return "trigger_connection_away" if is_away else "trigger_connection_released"

    def schedule(self, latch: Latch) -> None:
        """Schedule the task of a cycle."""
        queue = latch.queue
        if self._resumed:
            self._resumed.discard(queue)
        latch.facility = queue.atifacility
        if latch.facility == "FILE":
            self._attach(latch, None)
        else:
            self._wait_for_facility(latch)

    def _wait_for_facility(self, latch: Latch) -> None:
        queue = latch.queue
        facility = self._region.terminal_control.get(latch.facility, queue.facilityid)
        facility.requests.append(latch)
        if (event := self.why_it_waits(facility)) is not None:
            self._region.notices.say(event, **_waiting(queue, facility))
        self.serve(facility)

    def serve(self, facility: Facility) -> None:
        """Start the next task of a facility, if it is free and in service; one of another region is requested."""
        if facility.owner:
            self._region.routing.ship_requests(facility)
            return
        request = None
        try:
            while facility.requests and facility.task is None and self.why_it_waits(facility) is None:
                request = facility.requests.popleft()
                self.begin_request(request, facility)
                request = None
        except BaseException:
            if request is not None and facility.task is None:  # an interrupt came before it got the facility
                facility.requests.appendleft(request)
            raise

    def begin_request(self, request: Latch | FacilityRequest, facility: Facility) -> None:
        """Start the task that a request for a facility asks for, if it can be attached."""
        if isinstance(request, Latch):
            self._attach(request, facility)
        else:
            if self._region.notices.counts:
                self._region.notices.over(f"TERMINAL({facility.name})")
            request.attach(facility)

    def _attach(self, latch: Latch, facility: Facility | None) -> None:
        queue = latch.queue
        region = self._region
        entry = region.transactions.get(queue.transid)
        if entry is None or entry.why_not():
            report_not_attachable(region, queue.transid, queue.name)
            return
        if facility is not None and self._gives_up(queue):
            return
        userid = region.options.dfltuser
        if region.security is not None:
            userid = (queue.userid if facility is None else facility.userid) or userid
            if not region.security.knows_user(userid):  # a security policy of an earlier run may have known this user
                region.notices.say("ati_user_not_known", queue=queue.name, transid=queue.transid, userid=userid)
                return
            if not may_start(region, queue.transid, userid, facility, queue.name):
                return
        queue.triggers += 1
        if region.notices.counts:
            region.notices.over(_title(queue))
        region.task_manager.attach(entry, startcode="QD", userid=userid, facility=facility, request=latch)

    def _gives_up(self, queue: IntraTdQueue) -> bool:
        """Whether the limit of starts without a record leaving the queue is reached."""
        gone = queue.gone  # increases with every record that leaves the queue
        if gone != queue.starts_gone:
            queue.starts, queue.starts_gone = 0, gone
        if queue.starts >= _LIMIT:
            self._region.notices.say("ati_gives_up", queue=queue.name, transid=queue.transid, starts=queue.starts)
            return True
        queue.starts += 1
        return False

    # -- over -----------------------------------------------------------------------------------------------------

    def emptied(self, queue: IntraTdQueue, cycle: int | None = None) -> None:
        """End a cycle after a QZERO or DELETEQ: at once, or for a logical queue at the end of the task that did it.

        Args:
            queue: the queue.
            cycle: the number of the current or last cycle at the time of the QZERO; any other cycle is not affected.
        """
        if queue.latched is None or (cycle is not None and cycle != queue.cycle):
            return
        held = self._holder(queue)
        if held is not None:
            held.outcome = OVER
        elif self._one_by_one and self._runs(queue):
            queue.latched.outcome = OVER
        else:
            self._over(queue.latched)
            self._check_left(queue)

    def trigger_changed(self, queue: IntraTdQueue) -> None:
        """After SET TDQUEUE has changed a trigger attribute, end a cycle that has no task any more."""
        queue.failed_start = False
        if queue.latched is None or queue.latched.outcome is STAYS or self._has_task(queue):
            return
        held = self._holder(queue)
        if held is None:
            self._over(queue.latched)
        elif held.outcome is STAYS:
            held.outcome = OVER

    def _has_task(self, queue: IntraTdQueue) -> bool:
        """Whether the task of the queue's cycle is due or runs."""
        if queue in self._resumed:
            return True
        region = self._region
        waiting = (request for facility in region.facilities.values() for request in facility.requests)
        requests = chain((task._request for task in region.tasks.values()), waiting)
        return queue.latched is not None and any(request is queue.latched for request in requests)

    def gone(self, queue: IntraTdQueue) -> None:
        """End the cycle of a queue that is discarded or replaced, even if it is held."""
        self._region.notices.over(_title(queue))
        if queue.latched is not None:
            self._over(queue.latched)

    def _over(self, latch: Latch) -> None:
        queue = latch.queue
        if queue.recovstatus != "NO":
            self._region.committer.note(latch_key(queue), None)
        queue.latched = None
        queue.fire_at = queue.armed_at
        if latch.facility != "FILE":
            self._take_back(latch)

    def _take_back(self, latch: Latch) -> None:
        """Remove the request of a cycle that still waits for its terminal or connection."""
        for facility in self._region.facilities.values():
            if latch in facility.requests:
                facility.requests.remove(latch)
                values = {"queue": latch.queue.name, "facility": facility.name}
                self._region.log.info("ati_start_cancelled", transid=latch.queue.transid, **values)

    def _check_left(self, queue: IntraTdQueue) -> None:
        """After the end of a cycle, check the records that were written after the QZERO that has ended it."""
        count = queue.stored.count
        if count < queue.fire_at:
            return
        if not self._one_by_one:
            self._region.notices.say("trigger_missed", queue=queue.name, transid=queue.transid, count=count)
            return
        latch = self.due(queue, count, 0, "", "")
        if latch is not None:
            latch.began = None
            self.begin(latch)
            if queue.recovstatus != "NO":
                self._region.committer.note(latch_key(queue), latch.stored())

    @property
    def _one_by_one(self) -> bool:
        return self._region.options.trigger_next == "TASKEND"

    def _runs(self, queue: IntraTdQueue) -> bool:
        """Whether the task of the queue's cycle has begun and not ended."""
        return any(task._request is queue.latched for task in self._region.tasks.values())

    def task_ended(self, latch: Latch, normal: bool) -> None:
        """After the end of a triggered task, when its unit of work has ended and its QZEROs have taken effect."""
        queue = latch.queue
        if queue.latched is not latch:
            return
        outcome = latch.outcome or AFTER_TASK[queue.atifacility, normal]
        if outcome is STAYS:
            latch.outcome = STAYS
        if self._held and (held := self._holder(queue)) is not None:
            held.outcome = held.outcome or outcome
        else:
            self._go_on(latch, outcome)
            if latch.outcome is OVER:
                self._check_left(queue)

    def _go_on(self, latch: Latch, outcome: str) -> None:
        if outcome is OVER or (outcome is AGAIN and not (latch.transid and latch.queue.triggerlevel)):
            self._over(latch)
        elif outcome is AGAIN and not self._has_task(latch.queue):  # an interrupted call may have scheduled it already
            self.schedule(latch)

    # -- held -----------------------------------------------------------------------------------------------------

    def cycle_of(self, uow: UnitOfWork) -> str:
        """The queue whose cycle a unit of work holds, or would hold if it were shunted now; empty for none."""
        if uow.id in self._held:
            return self._held[uow.id].queue.name
        latch: Latch | None = uow.task._request if uow.task is not None else None
        return latch.queue.name if latch is not None and latch.queue.latched is latch else ""

    def hold(self, uow: UnitOfWork) -> None:
        """Hold the cycle that triggered the task of a unit of work, which is about to be shunted."""
        if self.cycle_of(uow) and uow.task is not None and uow.task._request is not None:
            self._hold(uow, _HeldCycle(uow.task._request.queue, restarted=False))

    def hold_again(self, uow: UnitOfWork, queue: IntraTdQueue) -> None:
        """After a restart, hold a queue's cycle for a unit of work that is still shunted."""
        queue.latched = queue.latched or Latch(queue)
        queue.fire_at = NEVER
        self._hold(uow, _HeldCycle(queue, restarted=True))

    def _hold(self, uow: UnitOfWork, held: _HeldCycle) -> None:
        self._held[uow.id] = held
        uow.call_at_end(lambda _committed: self._resolved(uow.id))

    def _holder(self, queue: IntraTdQueue) -> _HeldCycle | None:
        return next((held for held in self._held.values() if held.queue is queue), None)

    def _resolved(self, uow_id: bytes) -> None:
        """Apply the deferred outcome of a held cycle, after its unit of work was decided."""
        held = self._held.pop(uow_id, None)
        if held is None:
            return
        queue = held.queue
        other = self._holder(queue)
        if other is not None:  # another unit of work of the same task: the outcome waits for that one too
            other.outcome = other.outcome or held.outcome
        if queue.latched is None or other is not None:
            return
        if held.restarted and not held.outcome:
            if self.resume(queue.latched):
                self.schedule(queue.latched)
        else:
            self._go_on(queue.latched, held.outcome)

    def resume(self, latch: Latch) -> bool:
        """At a restart, continue the cycle of a TERMINAL or SYSTEM queue, and end that of a FILE queue.

        Returns:
            Whether it continues; then the caller must schedule a task for it.
        """
        queue = latch.queue
        if self._holder(queue) is not None:
            queue.fire_at = NEVER
            return False
        if queue.atifacility == "FILE" or not queue.transid or not 0 < queue.triggerlevel <= queue.stored.count:
            self._over(latch)
            return False
        queue.cycle += 1
        queue.fire_at = NEVER
        self._resumed.add(queue)
        return True


def _title(queue: IntraTdQueue) -> str:
    return f"TDQUEUE({queue.name})"


def _waiting(queue: IntraTdQueue, facility: Facility) -> dict[str, Any]:
    """The inserts of the notices about a task that waits for its facility."""
    values = {"queue": queue.name, "transid": queue.transid, "facility": facility.name}
    return values | {"system": facility.owner} if facility.owner else values
