"""INQUIRE UOWENQ and its synonym INQUIRE ENQ: the owners of enqueues and their waiters.

========  ========================================  ==============================================================
TYPE      What                                      RESOURCE, QUALIFIER
========  ========================================  ==============================================================
TDQ       an end of a logically recoverable queue   the queue; FROMQ (READQ has it) or TOQ (WRITEQ; DELETEQ both)
EXECENQ   a name that EXEC CICS ENQ got             the name; none
========  ========================================  ==============================================================

A browse goes through the units of work one by one. For each it returns the enqueues that the unit of work owns
(RELATION OWNER), each followed by its waiters (RELATION WAITER). Enqueues of both lifetimes are shown (MAXLIFETIME(UOW)
and MAXLIFETIME(TASK)); for a name that a task holds for its lifetime, UOW is the task's current unit of work, or zeros
between two units of work. STATE is RETAINED for the ends that a shunted unit of work owns of queues with
WAITACTION(REJECT); ENQFAILS counts the requests that such an end has refused with LOCKED since it was acquired. All
enqueues are local: ENQSCOPE is blank. A READQ that waits for records (TD_READ) does not wait for an enqueue. Sources:
INQUIRE UOWENQ, INQUIRE ENQ, CEMT INQUIRE UOWENQ (IBM Docs), CEMT INQUIRE ENQ (SC33-1686), UOWENQ resource table; that
waiters follow their owner: choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final

from tdqsim.cics.kernel.authority import check_command
from tdqsim.cics.kernel.command import Flag, HalfwordOrNone, Opt
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.lock import Enqueue, Lock
from tdqsim.cics.model.queue import intra_queues
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.unit import UnitOfWork
from tdqsim.cics.spi.inquiry import BrowseCommands, ResourceType, browse_command, browse_start
from tdqsim.cics.spi.uow_ids import UOW_LENGTH, UowId, age, find_uow, long_id, net_name
from tdqsim.cics.uow.indoubt import units_of_work
from tdqsim.core.fiber import Fiber
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Cvda
from tdqsim.facts.inquiries import UowenqInfo, UowenqOption

_NAME_LENGTH: Final = 4
ResourceName = Annotated[str | None, Opt("name", 255)]
Enqscope = Annotated[str | None, Opt("name", 4)]


class HeldOrAwaited(NamedTuple):
    """One enqueue, and one unit of work or task that holds it or waits for it.

    Attributes:
        what: the end of a queue, or the name that was enqueued.
        uow: the unit of work; None for a task between two units of work.
        task: the task; None when the task of a shunted unit of work has ended.
        fiber: the fiber that waits; None for an owner.
    """

    what: Lock | Enqueue
    uow: UnitOfWork | None
    task: TaskData | None
    fiber: Fiber | None = None

    @property
    def is_there(self) -> bool:
        """Whether the owner still holds it, or the waiter still waits for it."""
        if self.fiber is not None:
            return self.fiber in self.what.waiting.waiters
        if isinstance(self.what, Lock):
            return self.what.owner is self.uow
        return any(holder in self.what.holds for holder in (self.uow, self.task) if holder is not None)


def enqueues(region: RegionData, units: Iterable[UnitOfWork]) -> Iterator[HeldOrAwaited]:
    """All enqueues that are held or waited for, grouped by unit of work."""
    held = _held(region)
    for uow in units:
        for what in (*uow.locks, *held.pop(uow, ())):
            yield HeldOrAwaited(what, uow, uow.task)
            yield from _waiters(what)
    for holder, left in held.items():  # tasks between two units of work
        for enqueue in left:
            yield HeldOrAwaited(enqueue, None, holder)
            yield from _waiters(enqueue)
    for queue in intra_queues(region.tdqueues):
        for lock in queue.locks:
            if lock.owner is None:  # released since the table was read
                yield from _waiters(lock)


def _held(region: RegionData) -> dict[Any, list[Enqueue]]:
    """The names that are held, by unit of work, or by task when it has no unit of work."""
    held: dict[Any, list[Enqueue]] = {}
    for enqueue in region.enqueues.values():
        holders = [holder for holder in enqueue.holds if isinstance(holder, UnitOfWork)]
        owner = enqueue.owner
        holder = holders[0] if holders else owner._uow if owner is not None and owner._has_uow else owner
        if holder is not None:
            held.setdefault(holder, []).append(enqueue)
    return held


def _waiters(what: Lock | Enqueue) -> Iterator[HeldOrAwaited]:
    for fiber in what.waiting.waiters:
        task: TaskBase = fiber.local
        yield HeldOrAwaited(what, task._uow if task._has_uow else None, task, fiber)


# -- readers of the options -------------------------------------------------------------------------------------------


def _resource(enq: HeldOrAwaited, region: RegionData) -> str:
    what = enq.what
    if isinstance(what, Lock):
        return str(what.queue.name.ljust(_NAME_LENGTH))
    return region.codepage.decode(what.resource)


def _reslen(enq: HeldOrAwaited, _region: RegionData) -> int:
    what = enq.what
    return len(what.queue.name) if isinstance(what, Lock) else len(what.resource)


def _qualifier(enq: HeldOrAwaited, _region: RegionData) -> str:
    return enq.what.end if isinstance(enq.what, Lock) else ""


def _retained(enq: HeldOrAwaited) -> bool:
    return isinstance(enq.what, Lock) and enq.what.retained


def _enqfails(enq: HeldOrAwaited, _region: RegionData) -> int:
    return enq.what.fails if isinstance(enq.what, Lock) and enq.what.retained else 0


def _duration(enq: HeldOrAwaited, region: RegionData) -> int:
    """How long it has been held or retained, or its waiter has waited."""
    return age(region, enq.what.since_ns if enq.fiber is None else enq.fiber.since_ns)


def _taskid(enq: HeldOrAwaited, _region: RegionData) -> int:
    return enq.uow.taskid if enq.uow is not None else enq.task.number if enq.task is not None else 0


def _transid(enq: HeldOrAwaited, _region: RegionData) -> str:
    return enq.uow.transid if enq.uow is not None else enq.task.transid if enq.task is not None else ""


UOWENQ: Final = ResourceType[HeldOrAwaited, HeldOrAwaited, UowenqInfo](
    "UOWENQ",
    UowenqInfo,
    {
        "DURATION": _duration,
        "ENQFAILS": _enqfails,
        "ENQSCOPE": lambda _enq, _region: "",
        "NETUOWID": lambda enq, region: net_name(region, enq.uow) if enq.uow is not None else "",
        "QUALIFIER": _qualifier,
        "QUALLEN": lambda enq, region: len(_qualifier(enq, region)),
        "RELATION": lambda enq, _region: Cvda.OWNER if enq.fiber is None else Cvda.WAITER,
        "RESLEN": _reslen,
        "RESOURCE": _resource,
        "STATE": lambda enq, _region: Cvda.RETAINED if _retained(enq) else Cvda.ACTIVE,
        "TASKID": _taskid,
        "TRANSID": _transid,
        "TYPE": lambda enq, _region: Cvda.TDQ if isinstance(enq.what, Lock) else Cvda.EXECENQ,
        "UOW": lambda enq, _region: long_id(enq.uow.id) if enq.uow is not None else bytes(UOW_LENGTH),
    },
    keys=lambda region: enqueues(region, units_of_work(region)),
    find=lambda _region, enq: enq if enq.is_there else None,
)


def _is_named(enq: HeldOrAwaited, region: RegionData, resource: str, reslen: int | None) -> bool:
    """Whether the enqueue has this name; with RESLEN that many characters are compared, including trailing blanks."""
    name = _resource(enq, region)
    if reslen is None:
        return name.rstrip() == resource.rstrip()
    wanted = resource[: max(reslen, 0)].ljust(reslen)
    return name.rstrip() == wanted.rstrip() if isinstance(enq.what, Lock) else name == wanted


# -- the commands -----------------------------------------------------------------------------------------------------


class _Browse(BrowseCommands[UowenqOption, UowenqInfo]):
    def start(
        self,
        task: TaskBase,
        uow: UowId = None,
        resource: ResourceName = None,
        reslen: HalfwordOrNone = None,
        enqscope: Enqscope = None,
        *,
        nohandle: Flag = False,
    ) -> None:
        """Start a browse of the ends of logically recoverable queues and of names of ENQ, held or waited for.

        Args:
            uow: show only enqueues that this unit of work owns or waits for.
            resource: show only enqueues on this queue or name.
            reslen: how many characters of ``resource`` are compared; all but trailing blanks when not given.
            enqscope: show only enqueues of this scope; all enqueues are local, so that their scope is blank.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: ILLOGIC 1; UOWNOTFOUND 1; NOTAUTH 100.
        """
        region = task._region
        check_command(task, "UOWENQ", Access.READ)
        wanted = None if uow is None else find_uow(region, "INQUIRE UOWENQ", uow)
        there = () if enqscope is not None and enqscope.strip() else enqueues(region, units_of_work(region))
        chosen = [
            enq
            for enq in there
            if (wanted is None or enq.uow is wanted) and (resource is None or _is_named(enq, region, resource, reslen))
        ]
        browse_start(task, UOWENQ, chosen)


_RAISES: Final = "ILLOGIC NOTAUTH UOWNOTFOUND"
_UOWENQ: Final = _Browse(UOWENQ, "enqueues", __name__, start_raises=_RAISES)
inquire_uowenq_start = browse_command(_UOWENQ.start)
inquire_uowenq_next = browse_command(_UOWENQ.next)
inquire_uowenq_end = browse_command(_UOWENQ.end)
_ENQ: Final = _Browse(UOWENQ, "enqueues", __name__, name="ENQ", start_raises=_RAISES)
inquire_enq_start = browse_command(_ENQ.start)
inquire_enq_next = browse_command(_ENQ.next)
inquire_enq_end = browse_command(_ENQ.end)
