"""Which request meets which condition in which state: the state table, with its theory.

The order of decision for READQ, WRITEQ and DELETEQ TD is a choice (the manuals give none) and is the same everywhere:

1. the name is known, after aliases are followed to their end (QIDERR: unknown name, missing target, ring);
2. a remote queue is shipped (DISABLED when the local entry is disabled: that only governs shipping);
3. security, on the final target's name (NOTAUTH);
4. ENABLESTATUS: ENABLED goes on; DISABLED is refused; DISABLING goes on only for a unit of work that already owns an
   end of the queue, since a disable waits for its users and lets nobody new in;
5. type and direction (INVREQ), then open (NOTOPEN): the table below;
6. length (LENGERR), 7. locks (LOCKED, waiting, QBUSY), 8. space or emptiness (NOSPACE, QZERO): in the commands.

Step 5 depends on type and, for a data set, on what it was defined for and whether it is open::

    type    direction  open    READQ    WRITEQ   DELETEQ
    INTRA   -          -       goes on  goes on  goes on
    EXTRA   input      yes     goes on  INVREQ   INVREQ
    EXTRA   input      no      NOTOPEN  INVREQ   INVREQ
    EXTRA   output     yes     INVREQ   goes on  INVREQ
    EXTRA   output     no      INVREQ   NOTOPEN  INVREQ

Sources: READQ TD, WRITEQ TD, DELETEQ TD, Disabling transient data queues (IBM Docs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import Access, may_access
from tdqsim.cics.queues.kinds import ExtraQueue, IndirectQueue, IntraQueue, TdQueue
from tdqsim.facts import Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.kernel.task import TaskBase
    from tdqsim.cics.uow.parts import UowRegion as Region

__all__ = ["REQUESTS", "check_state", "final_target"]

READQ, WRITEQ, DELETEQ = "READQ TD", "WRITEQ TD", "DELETEQ TD"

REQUESTS: Final[dict[tuple[str, bool, bool], dict[str, Resp]]] = {
    # (type, output, open): what each request meets; NORMAL goes on
    ("INTRA", False, False): {READQ: Resp.NORMAL, WRITEQ: Resp.NORMAL, DELETEQ: Resp.NORMAL},
    ("EXTRA", False, True): {READQ: Resp.NORMAL, WRITEQ: Resp.INVREQ, DELETEQ: Resp.INVREQ},
    ("EXTRA", False, False): {READQ: Resp.NOTOPEN, WRITEQ: Resp.INVREQ, DELETEQ: Resp.INVREQ},
    ("EXTRA", True, True): {READQ: Resp.INVREQ, WRITEQ: Resp.NORMAL, DELETEQ: Resp.INVREQ},
    ("EXTRA", True, False): {READQ: Resp.INVREQ, WRITEQ: Resp.NOTOPEN, DELETEQ: Resp.INVREQ},
}
_WORDS: Final = {
    Resp.INVREQ: "an extrapartition queue for {direction} takes no {command}",
    Resp.NOTOPEN: "the data set is not open",
}


def final_target(region: Region, name: str) -> TdQueue:
    """The queue that a name stands for, aliases followed.

    Raises:
        Condition: QIDERR: the name or a target is not installed, or the aliases go round in a ring.
    """
    queue = region.tdqueues.get(name)
    if queue is None:
        raise Condition(Resp.QIDERR, detail=f"queue {name} is not installed")
    if not isinstance(queue, IndirectQueue):
        return queue
    seen = {name}
    while isinstance(queue, IndirectQueue):
        target = queue.indirectname
        if target in seen:
            raise Condition(Resp.QIDERR, detail=f"the aliases of {name} go round in a ring at {target}")
        seen.add(target)
        queue = region.tdqueues.get(target)
        if queue is None:
            raise Condition(Resp.QIDERR, detail=f"queue {target}, which {name} stands for, is not installed")
    return queue


def check_state(task: TaskBase, command: str, queue: TdQueue) -> None:
    """Steps 3 to 5 for a local queue.

    Raises:
        Condition: NOTAUTH, DISABLED, INVREQ or NOTOPEN.
    """
    if not may_access(task, queue.name, Access.UPDATE):
        raise Condition(Resp.NOTAUTH, 101, f"user {task.userid} may not access queue {queue.name}")
    if queue.enablestatus is not Cvda.ENABLED and not _may_go_on(task, queue):
        raise Condition(Resp.DISABLED, detail=f"queue {queue.name} is {queue.enablestatus.name}")
    if isinstance(queue, ExtraQueue):
        met = REQUESTS["EXTRA", queue.output, queue.openstatus is Cvda.OPEN][command]
        if met is not Resp.NORMAL:
            direction = "output" if queue.output else "input"
            raise Condition(met, detail=_WORDS[met].format(direction=direction, command=command))


def _may_go_on(task: TaskBase, queue: TdQueue) -> bool:
    if queue.enablestatus is not Cvda.DISABLING or not isinstance(queue, IntraQueue) or not task.has_uow:
        return False
    return any(lock.owner is task.uow for lock in queue.locks)
