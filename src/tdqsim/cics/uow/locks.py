"""The two locks of a logically recoverable queue: its read end and its write end (enqueue pool TDNQ).

READQ takes the read end, WRITEQ the write end, DELETEQ both; the owner is the unit of work, which keeps them until it
ends. A unit of work that is shunted while indoubt goes on owning its locks without a task: *retained* on a queue with
WAITACTION(REJECT), so that others are refused with LOCKED, *active* with WAITACTION(QUEUE), so that they wait. Sources:
Logical recovery; DELETEQ TD (LOCKED), IBM Docs.

Waiters are served in order of arrival. A lock is only ever released as a whole, when its owner ends.

How an end stands to a unit of work (:class:`Standing`) decides what a request meets: :data:`ASKED` for one that needs
the end, :data:`READ_OUT` for a READQ that has the read end, has found no committed record left, and so looks at the
write end. The commands go by these tables wherever an end is not simply free or their own.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from tdqsim.core.dispatch import WaitQueue
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics.queues.kinds import IntraQueue
    from tdqsim.cics.uow.unit import UnitOfWork

__all__ = ["ASKED", "READ_END", "READ_OUT", "WRITE_END", "Lock", "Standing"]

READ_END: Final = "FROMQ"
WRITE_END: Final = "TOQ"


class Standing(Enum):
    """How an end stands to a unit of work."""

    FREE = "nobody has it or waits for it"
    OWN = "it has it itself"
    CLAIMED = "nobody has it, but others wait for it"
    HELD = "another has it"
    RETAINED = "one that is shunted has it, and others are refused"


ASKED: Final[dict[Standing, Resp | None]] = {
    # what a request that needs the end meets: None waits (QBUSY with NOSUSPEND), NORMAL goes on
    Standing.FREE: Resp.NORMAL,
    Standing.OWN: Resp.NORMAL,
    Standing.CLAIMED: None,
    Standing.HELD: None,
    Standing.RETAINED: Resp.LOCKED,
}

READ_OUT: Final[dict[Standing, Resp | None]] = {
    # what a READQ without a committed record meets, by the write end: NORMAL reads what it wrote itself, or QZERO
    Standing.FREE: Resp.NORMAL,
    Standing.OWN: Resp.NORMAL,
    Standing.CLAIMED: Resp.NORMAL,
    Standing.HELD: None,
    Standing.RETAINED: Resp.LOCKED,
}


class Lock:
    """One end of one queue.

    Attributes:
        queue: whose end it is.
        end: :data:`READ_END` or :data:`WRITE_END`, as INQUIRE UOWENQ shows it as QUALIFIER.
        owner: the unit of work that holds it, or None.
        retained: whether the owner was shunted and others are refused rather than made to wait.
        since_ns: since when it is held, or retained.
        fails: how many requests it has refused with LOCKED since it was last acquired (ENQFAILS).
        waiting: the tasks that wait for it, in order.
    """

    __slots__ = ("end", "fails", "owner", "queue", "retained", "since_ns", "waiting")

    def __init__(self, queue: IntraQueue, end: str) -> None:
        self.queue = queue
        self.end = end
        self.owner: UnitOfWork | None = None
        self.retained = False
        self.since_ns = 0
        self.fails = 0
        self.waiting = WaitQueue(f"{queue.name} {end} (ENQUEUE in pool TDNQ)", self.holder)

    def __repr__(self) -> str:
        return f"<Lock {self.queue.name} {self.end}: {self.holder()}>"

    def holder(self) -> str:
        """Who holds it, in words."""
        if self.owner is None:
            return "nobody holds it"
        return f"held by {self.owner.title}{', retained' if self.retained else ''}"

    def standing(self, uow: UnitOfWork | None) -> Standing:
        """How it stands to a unit of work; None for one that has not begun."""
        if self.owner is None:
            return Standing.CLAIMED if self.waiting else Standing.FREE
        if self.owner is uow:
            return Standing.OWN
        return Standing.RETAINED if self.retained else Standing.HELD

    @property
    def in_use(self) -> bool:
        """Whether anybody holds it or waits for it."""
        return self.owner is not None or bool(self.waiting)

    def take(self, uow: UnitOfWork, now_ns: int) -> None:
        """Give it to a unit of work; it is free."""
        assert self.owner is None, self
        self.owner = uow
        self.since_ns = now_ns
        uow.locks.append(self)

    def refused(self) -> None:
        """Count a request that met LOCKED because of it."""
        self.fails += 1

    def release(self) -> None:
        """Its owner ends: the next waiter tries again."""
        self.owner = None
        self.retained = False
        self.fails = 0
        if self.waiting:
            self.waiting.wake_one()
