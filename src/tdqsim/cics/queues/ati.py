"""Automatic transaction initiation: the trigger cycle of a queue, as a table.

A queue with TRANSID and TRIGGERLEVEL > 0 starts a task when it holds that many records *or more* while no *cycle* is
on. The start begins a cycle (the latch); until the cycle is over nothing else is started, however many records come.

When the count is looked at: on a NO or PHYSICAL queue at every WRITEQ that went well, while the writer goes on; on a
LOGICAL queue at the commit of a unit of work that wrote, on the committed count. Nothing is looked at on READQ,
DELETEQ or backout.

What ends a cycle or goes on with it::

    event                          NO, PHYSICAL      LOGICAL
    READQ by anybody gets QZERO    over, at once     over, when the task ends that saw it and committed
    DELETEQ by anybody             over, at once     the same
    SET of its trigger, task gone  over              over
    task ends, FILE                over              over
    task ends normally, TERMINAL   started again     started again        (SYSTEM likewise)
    task abends, TERMINAL          stays on          stays on             (nothing starts until QZERO)
    task cannot be attached        stays on          stays on

A SET of the trigger frees a queue that is stuck: its cycle's task has abended, or could not be attached. While that
task is due or runs, a SET changes nothing of the cycle, since nothing more is started while the latch is set; a task
that ends when TRIGGERLEVEL is 0 or ATIFACILITY another by then is treated as these say.

The end of a FILE task only opens the way: the *next* write at or over the level starts a task, not the end itself. An
initiation that fails before there is a task (transaction unknown or remote) begins no cycle, so that every later write
tries again; the message is written once. Sources: Automatic transaction initiation; DFHTD0183, DFHTD0340 (IBM Docs).

While the unit of work of a triggered task is shunted, its queue's cycle is *held*: whatever of the table happens then
counts when the doubt is over, and no second task is started before. (The manuals only hint at it: unconfirmed.)

A task for a terminal waits until the terminal is in service and has no other task. To restart for ever a program that
takes no record off its queue, because it never reads it or always backs out, would be endless here, where no operator
looks on: after ``ati_starts_without_read`` starts the cycle stays on and nothing more is started.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.starts import attachable
from tdqsim.cics.model.queue import IntraTdQueue, Latch, latch_key
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.space import NEVER
from tdqsim.cics.model.task import Facility
from tdqsim.cics.model.unit import UnitOfWork
from tdqsim.facts import table

if TYPE_CHECKING:
    from tdqsim.cics.model.transaction import TransactionEntry

__all__ = ["AFTER_TASK", "Ati"]

OVER: Final = "over"
AGAIN: Final = "started again"
STAYS: Final = "stays on"

AFTER_TASK: Final[dict[tuple[str, bool], str]] = {
    # (ATIFACILITY, whether the task ended normally): what happens to its cycle, when that is still on
    ("FILE", True): OVER,
    ("FILE", False): OVER,
    ("TERMINAL", True): AGAIN,
    ("TERMINAL", False): STAYS,
    ("SYSTEM", True): AGAIN,
    ("SYSTEM", False): STAYS,
}

_LIMIT: Final = int(next(row["value"] for row in table("kernel") if row["name"] == "ati_starts_without_read"))


class _HeldCycle:
    """A cycle that a shunted unit of work keeps on.

    Attributes:
        queue: the queue.
        outcome: what the end of the cycle's task, or a QZERO, would have done meanwhile; empty while nothing has.
        restarted: whether it was on in an earlier run, of whose task nothing is left.
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
        self._resumed: set[IntraTdQueue] = set()  # their cycles go on after a restart, and nothing is scheduled yet

    def arm(self, queue: IntraTdQueue) -> None:
        """Work out at which count the next write starts a task."""
        queue.fire_at = _level(queue) if queue.latched is None else NEVER

    # -- reached --------------------------------------------------------------------------------------------------

    def due(self, queue: IntraTdQueue, items: int, task: int, transid: str, termid: str, uow: str = "") -> Latch | None:
        """What begins a cycle now that the level is reached; None when no task can be started. Nothing begins yet.

        Args:
            queue: the queue.
            items: how many records the queue then has.
            task, transid, termid: of the task whose WRITEQ or commit is looked at.
            uow: the unit of work whose commit it is, in hexadecimal; empty for a WRITEQ.
        """
        why_not = self.why_no_cycle(queue)
        if why_not is None:
            return Latch(queue, (task, transid, termid, uow, self._region.clock.time_ns(), items))
        if not queue.failed_start:
            queue.failed_start = True
            message, reason = why_not
            self._region.messages.write(message, queue=queue.name, transid=queue.transid, reason=reason)
        return None

    def begin(self, latch: Latch) -> None:
        """Begin a cycle and have its task started. It runs later, never inside the writer.

        What an exception cuts short is done by the next write that finds the level reached: until its task is on the
        way the queue goes on looking at the count.
        """
        queue = latch.queue
        if queue.latched is None:
            latch.cycle = queue.cycle + 1
            queue.latched, queue.cycle, queue.starts, queue.failed_start = latch, latch.cycle, 0, False
        elif self._has_task(queue):
            queue.fire_at = NEVER
            if queue.latched.facility != "FILE":  # the request is there, and may not have been served
                self.serve(self._region.terminal_control.get(queue.latched.facility, queue.facilityid))
            return
        self.schedule(queue)
        queue.fire_at = NEVER

    def would_start(self, queue: IntraTdQueue, items: int) -> bool:
        """Whether a task is started once the queue has so many records."""
        return items >= queue.fire_at and self.why_no_cycle(queue) is None

    def why_no_cycle(self, queue: IntraTdQueue) -> tuple[str, str] | None:
        """The message and reason that keep the start from being made; None when nothing does."""
        entry: TransactionEntry | None = self._region.transactions.get(queue.transid)
        if entry is None:
            return "DFHTD0183", "it is not defined"
        if entry.remotesystem and entry.remotesystem != self._region.sysid:
            return "DFHTD0340", "it is remote"
        return None

    def schedule(self, queue: IntraTdQueue) -> None:
        """Have a task started for the queue's cycle."""
        if self._resumed:
            self._resumed.discard(queue)
        latch = queue.latched
        assert latch is not None, queue
        latch.facility = queue.atifacility
        if latch.facility == "FILE":
            self._attach(latch, None)
        else:
            self._wait_for_facility(queue, latch)

    def _wait_for_facility(self, queue: IntraTdQueue, latch: Latch) -> None:
        facility = self._region.terminal_control.get(latch.facility, queue.facilityid)
        facility.requests.append(latch)
        if not facility.inservice:
            self._region.log.info(
                "ati_waits_for_facility", queue=queue.name, transid=queue.transid, facility=facility.name
            )
        self.serve(facility)

    def serve(self, facility: Facility) -> None:
        """Give a facility that is free and in service its next task."""
        request = None
        try:
            while facility.inservice and facility.task is None and facility.requests:
                request = facility.requests.popleft()
                if isinstance(request, Latch):
                    self._attach(request, facility)
                else:
                    request(facility)
                request = None
        except BaseException:
            if request is not None and facility.task is None:  # an interrupt came before it had the facility
                facility.requests.appendleft(request)
            raise

    def _attach(self, latch: Latch, facility: Facility | None) -> None:
        queue, region = latch.queue, self._region
        entry = attachable(region, queue.transid)
        if entry is None:
            return
        userid = queue.userid
        if facility is not None:
            userid = facility.userid
            if self._gives_up(queue):
                return
        if not userid or (security := region.security) is None:
            userid = region.default_user
        elif not security.knows_user(userid):  # the policy of an earlier run may have known a user who is unknown now
            region.log.warning("ati_user_not_known", queue=queue.name, transid=queue.transid, userid=userid)
            return
        queue.triggers += 1
        region.task_manager.attach(entry, startcode="QD", userid=userid, facility=facility, request=latch)

    def _gives_up(self, queue: IntraTdQueue) -> bool:
        """Whether the queue's task was started so often already while no record has left the queue for good."""
        gone = queue.gone  # goes up with every record that does
        if gone != queue.starts_gone:
            queue.starts, queue.starts_gone = 0, gone
        if queue.starts >= _LIMIT:
            self._region.log.warning("ati_gives_up", queue=queue.name, transid=queue.transid, starts=queue.starts)
            return True
        queue.starts += 1
        return False

    # -- over -----------------------------------------------------------------------------------------------------

    def emptied(self, queue: IntraTdQueue, cycle: int | None = None) -> None:
        """A non-logical queue was read to QZERO or deleted; a logical one was, by a task that has now ended.

        Args:
            queue: the queue.
            cycle: which cycle was on, or had been the last, when it was; another is not concerned.
        """
        if queue.latched is None or (cycle is not None and cycle != queue.cycle):
            return
        held = self._holder(queue)
        if held is None:
            self._over(queue)
        else:
            held.outcome = OVER

    def trigger_changed(self, queue: IntraTdQueue) -> None:
        """SET TDQUEUE has changed a trigger attribute: a cycle whose task is gone for good is given up."""
        queue.failed_start = False
        held = self._holder(queue)
        if not self._has_task(queue) and (held is None or held.outcome is STAYS):
            self.emptied(queue)

    def _has_task(self, queue: IntraTdQueue) -> bool:
        """Whether the task of the queue's cycle is due or runs."""
        if queue in self._resumed:
            return True
        region = self._region
        waiting = (request for facility in region.facilities.values() for request in facility.requests)
        requests = chain((task._request for task in region.tasks.values()), waiting)
        return queue.latched is not None and any(request is queue.latched for request in requests)

    def gone(self, queue: IntraTdQueue) -> None:
        """The queue is discarded or replaced: its cycle is over, also one that is held."""
        self._over(queue)

    def _over(self, queue: IntraTdQueue) -> None:
        if queue.latched is not None and queue.recovstatus != "NO":
            self._region.hardening.note(latch_key(queue), None)
        queue.latched, queue.fire_at = None, _level(queue)

    def task_ended(self, latch: Latch, *, normal: bool) -> None:
        """A triggered task has ended; its unit of work is settled and its QZEROs are counted."""
        queue = latch.queue
        if queue.latched is not latch:
            return
        outcome = AFTER_TASK[queue.atifacility, normal]
        held = self._holder(queue) if self._held else None
        if held is not None:
            held.outcome = held.outcome or outcome
        else:
            self._go_on(queue, outcome)

    def _go_on(self, queue: IntraTdQueue, outcome: str) -> None:
        if outcome is OVER or (outcome is AGAIN and not (queue.transid and queue.triggerlevel)):
            self._over(queue)
        elif outcome is AGAIN and not self._has_task(queue):  # an end that was cut short may have scheduled it
            self.schedule(queue)

    # -- held -----------------------------------------------------------------------------------------------------

    def cycle_of(self, uow: UnitOfWork) -> str:
        """The queue whose cycle a unit of work holds, or would hold if it were shunted now; empty for none."""
        if uow.id in self._held:
            return self._held[uow.id].queue.name
        latch: Latch | None = uow.task._request if uow.task is not None else None
        return latch.queue.name if latch is not None and latch.queue.latched is latch else ""

    def hold(self, uow: UnitOfWork) -> None:
        """A unit of work is about to be shunted: if its task was triggered, its queue's cycle is held."""
        if self.cycle_of(uow) and uow.task is not None and uow.task._request is not None:
            self._hold(uow, _HeldCycle(uow.task._request.queue, restarted=False))

    def hold_again(self, uow: UnitOfWork, queue: IntraTdQueue) -> None:
        """After a restart: a unit of work is shunted still that holds a queue's cycle."""
        queue.latched = queue.latched or Latch(queue)
        queue.fire_at = NEVER
        self._hold(uow, _HeldCycle(queue, restarted=True))

    def _hold(self, uow: UnitOfWork, held: _HeldCycle) -> None:
        self._held[uow.id] = held
        uow.call_at_end(lambda _committed: self._resolved(uow.id))

    def _holder(self, queue: IntraTdQueue) -> _HeldCycle | None:
        return next((held for held in self._held.values() if held.queue is queue), None)

    def _resolved(self, uow_id: bytes) -> None:
        """The doubt is over: what the end of the task would have done is done now."""
        held = self._held.pop(uow_id, None)
        if held is None:
            return
        queue = held.queue
        if queue.latched is None or self._holder(queue) is not None:
            return
        if held.restarted and not held.outcome:
            if self.resume(queue):
                self.schedule(queue)
        else:
            self._go_on(queue, held.outcome)

    def resume(self, queue: IntraTdQueue) -> bool:
        """At a restart: a cycle of a TERMINAL or SYSTEM queue goes on, one of a FILE queue is over.

        Returns:
            Whether it goes on: then a task is to be scheduled for it.
        """
        if self._holder(queue) is not None:
            queue.fire_at = NEVER
            return False
        if queue.atifacility == "FILE" or not queue.transid or not 0 < queue.triggerlevel <= queue.stored.count:
            self._over(queue)
            return False
        latch = queue.latched
        assert latch is not None, queue
        latch.cycle = queue.cycle = queue.cycle + 1
        queue.fire_at = NEVER
        self._resumed.add(queue)
        return True


def _level(queue: IntraTdQueue) -> int:
    """The count at which a queue starts a task when no cycle is on."""
    return queue.triggerlevel if queue.transid and queue.triggerlevel > 0 else NEVER
