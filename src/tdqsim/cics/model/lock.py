"""The two locks of a logically recoverable queue: its read end and its write end (enqueue pool TDNQ).

READQ takes the read end, WRITEQ the write end, DELETEQ both. The owner is the unit of work, which keeps them until it
ends. A unit of work that is shunted while indoubt keeps its locks without a task: *retained* on a queue with
WAITACTION(REJECT), so that other requests get LOCKED; *active* with WAITACTION(QUEUE), so that they wait. Sources:
Logical recovery; DELETEQ TD (LOCKED), IBM Docs.

Waiters are served in order of arrival. A lock is held only while its unit of work has not ended. So one assignment
(``ended``) frees all its locks at once, even if an exception follows; a waiting task is woken or tries again.

The state of an end as seen from a unit of work (:class:`LockStanding`) decides the outcome of a request: :data:`ASKED`
for a request that needs the end, :data:`READ_OUT` for a READQ that has the read end, finds no committed record, and so
depends on the write end. The commands use these tables, and so does the code that predicts their outcome.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from tdqsim.core.clock import Clock
from tdqsim.core.fiber import WaitQueue
from tdqsim.facts import Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.model.queue import IntraTdQueue
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.model.unit import UnitOfWork

READ_END: Final = "FROMQ"
WRITE_END: Final = "TOQ"


class LockStanding(Enum):
    """The state of an end of a queue as seen from a unit of work."""

    FREE = "nobody has it or waits for it"
    OWN = "it has it itself"
    CLAIMED = "nobody has it, but others wait for it"
    HELD = "another has it"
    RETAINED = "one that is shunted has it, and others are refused"


ASKED: Final[dict[LockStanding, Resp | None]] = {
    # the outcome of a request that needs the end: None waits (QBUSY with NOSUSPEND), NORMAL proceeds
    LockStanding.FREE: Resp.NORMAL,
    LockStanding.OWN: Resp.NORMAL,
    LockStanding.CLAIMED: None,
    LockStanding.HELD: None,
    LockStanding.RETAINED: Resp.LOCKED,
}

READ_OUT: Final[dict[LockStanding, Resp | None]] = {
    # the outcome of a READQ without a committed record, by the write end: NORMAL reads its own record, or gets QZERO
    LockStanding.FREE: Resp.NORMAL,
    LockStanding.OWN: Resp.NORMAL,
    LockStanding.CLAIMED: Resp.NORMAL,
    LockStanding.HELD: None,
    LockStanding.RETAINED: Resp.LOCKED,
}


class Lock:
    """One end of one queue.

    Attributes:
        queue: the queue.
        end: :data:`READ_END` or :data:`WRITE_END`, as INQUIRE UOWENQ shows it as QUALIFIER.
        taken_by: the unit of work that took it last, and holds it until that unit of work ends; or None.
        since_ns: when it was acquired, or became retained, in nanoseconds.
        fails: the number of requests refused with LOCKED since it was last acquired (ENQFAILS).
        waiters: the tasks that wait for it, in order; None until a task first waits, see :attr:`waiting`.
    """

    __slots__ = ("end", "fails", "queue", "since_ns", "taken_by", "waiters")

    def __init__(self, queue: IntraTdQueue, end: str) -> None:
        self.queue = queue
        self.end = end
        self.taken_by: UnitOfWork | None = None
        self.since_ns = 0
        self.fails = 0
        self.waiters: WaitQueue | None = None

    def __repr__(self) -> str:
        return f"<Lock {self.queue.name} {self.end}: {self.holder()}>"

    @property
    def owner(self) -> UnitOfWork | None:
        """The unit of work that holds it, or None."""
        owner = self.taken_by
        return None if owner is None or owner.ended else owner

    @property
    def retained(self) -> bool:
        """Whether the owner was shunted and others are refused rather than made to wait."""
        owner = self.owner
        return owner is not None and owner.waitstate is Cvda.SHUNTED and self.queue.waitaction == "REJECT"

    @property
    def waiting(self) -> WaitQueue:
        """The tasks that wait for it, in order."""
        if self.waiters is None:
            self.waiters = WaitQueue(f"{self.queue.name} {self.end} (ENQUEUE in pool TDNQ)", self.holder)
        return self.waiters

    def holder(self) -> str:
        """A phrase for messages that names the holder."""
        owner = self.owner
        if owner is None:
            return "nobody holds it"
        return f"held by {owner.title}{', retained' if self.retained else ''}"

    def standing(self, uow: UnitOfWork | None) -> LockStanding:
        """Its state as seen from a unit of work; None means a unit of work that has not started."""
        owner = self.owner
        if owner is None:
            return LockStanding.CLAIMED if self.waiters else LockStanding.FREE
        if owner is uow:
            return LockStanding.OWN
        return LockStanding.RETAINED if self.retained else LockStanding.HELD

    @property
    def in_use(self) -> bool:
        """Whether it is held or waited for."""
        return self.owner is not None or bool(self.waiters)

    def take_free(self, uow: UnitOfWork, clock: Clock) -> bool:
        """Give it to a unit of work if it is FREE: no unit of work holds it and no task waits for it."""
        owner = self.taken_by
        if (owner is not None and not owner.ended) or self.waiters:
            return False
        uow.ends.append(self)
        self.since_ns, self.fails, self.taken_by = clock.time_ns(), 0, uow
        return True

    def take(self, uow: UnitOfWork, now_ns: int) -> None:
        """Give it to a unit of work; it must not be held."""
        assert self.taken_by is None or self.taken_by.ended, self
        uow.ends.append(self)
        self.since_ns, self.fails, self.taken_by = now_ns, 0, uow

    def refused(self) -> None:
        """Count a request that got LOCKED because of it."""
        self.fails += 1

    def give_back(self) -> None:
        """Release it before its owner ends, and wake the next waiter."""
        self.taken_by = None
        if self.waiters:
            self.waiters.wake_one()

    def wake_all(self) -> None:
        """Wake all waiters; each tries again."""
        if self.waiters:
            self.waiters.wake_all()


class Enqueue:
    """A resource name of ENQ that is held or waited for; see :mod:`~tdqsim.cics.kernel.enqueue`.

    Attributes:
        resource: the name.
        owner: the task that holds it, or None.
        holds: the number of ENQs for each unit of work, and for the task itself (MAXLIFETIME).
        since_ns: when the owner acquired it, in nanoseconds.
        waiting: the tasks that wait for it.
    """

    __slots__ = ("holds", "owner", "resource", "since_ns", "waiting")

    def __init__(self, resource: bytes) -> None:
        self.resource = resource
        self.owner: TaskData | None = None
        self.holds: dict[object, int] = {}
        self.since_ns = 0
        self.waiting = WaitQueue(f"ENQ {resource!r}", lambda: f"held by {self.owner}")
