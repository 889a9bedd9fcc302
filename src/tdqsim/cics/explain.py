"""Why a queue is as it is, and what each request would meet now: the commands' rules, asked without doing anything.

A prediction goes through the same steps as the command (:mod:`~tdqsim.cics.checks`, steps 1 to 8): names, state and
direction by the very functions and tables that the command uses; locks, room and emptiness by looking at what it would
look at. It is made for a task that has done nothing yet, or for a given one. ``WAIT`` says that the request would wait;
``SHIPPED`` that another region would answer; ``UNKNOWN`` that only a data set knows.

What it says of triggers comes from the cycle's table in :mod:`~tdqsim.cics.ati`. Not foreseen are a full disk and
damaged records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.ati import AFTER_TASK, AGAIN, OVER
from tdqsim.cics.checks import DELETEQ, READQ, WRITEQ, check_state, final_target
from tdqsim.cics.conditions import Condition
from tdqsim.cics.queues import ExtraQueue, IndirectQueue, IntraQueue, RemoteQueue, TdQueue
from tdqsim.cics.task import Task
from tdqsim.facts import Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.locks import Lock
    from tdqsim.cics.region import Region

__all__ = ["SHIPPED", "UNKNOWN", "WAIT", "Explanation", "Prediction", "explain"]

WAIT: Final = "WAIT"
SHIPPED: Final = "SHIPPED"
UNKNOWN: Final = "UNKNOWN"
_NORMAL: Final = Resp.NORMAL.name
_ENDS: Final = {OVER: "its end ends the cycle", AGAIN: "it is started again until somebody reads the queue to QZERO"}


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one request would meet.

    Attributes:
        command: READQ TD, WRITEQ TD or DELETEQ TD.
        outcome: NORMAL, the name of a condition, WAIT, SHIPPED or UNKNOWN.
        nosuspend: for READQ TD: the outcome with NOSUSPEND; the same for others.
        reason: why, as a sentence; empty for NORMAL.
    """

    command: str
    outcome: str
    nosuspend: str
    reason: str

    def __str__(self) -> str:
        """A sentence."""
        if self.outcome == _NORMAL:
            return f"{self.command} would go well."
        what = {WAIT: "would wait", SHIPPED: "would be shipped", UNKNOWN: "depends on its data set"}
        said = what.get(self.outcome, f"would get {self.outcome}")
        busy = f" ({self.nosuspend} with NOSUSPEND)" if self.nosuspend != self.outcome else ""
        return f"{self.command} {said}{busy}: {self.reason}."


@dataclass(frozen=True, slots=True)
class Explanation:
    """What there is to say of a queue.

    Attributes:
        queue: the name that was asked about.
        target: the queue that it stands for; empty when there is none.
        statements: sentences on its state and its trigger.
        commands: the prediction for each command, by its name.
        starts: whether the next WRITEQ of one record, when it goes well and is committed, begins a cycle.
        history: what is on record of its last operations, oldest first; empty when nothing records them.
    """

    queue: str
    target: str
    statements: tuple[str, ...]
    commands: dict[str, Prediction]
    starts: bool
    history: tuple[str, ...] = ()

    def __str__(self) -> str:
        """All of it, for people."""
        lines = [*self.statements, *(str(each) for each in self.commands.values())]
        if self.history:
            lines += ["What happened last:", *(f"  {line}" for line in self.history)]
        return "\n".join(lines)


def explain(
    region: Region, name: str, *, task: Task | None = None, size: int = 1, record: bytes | None = None
) -> Explanation:
    """Say why a queue is as it is.

    Args:
        region: where it is.
        name: the queue's name, or an alias.
        task: whose requests to foresee; a new task of the default user when not given.
        size: bytes of the record of the WRITEQ that is foreseen.
        record: tell what happened to records that hold these bytes, instead of the last operations; needs a history.
    """
    name = name.rstrip(" ")
    probe = task if task is not None else Task(region, 0, "TEST", region.default_user)
    try:
        target: TdQueue | None = final_target(region, name)
    except Condition as condition:
        return _unknown(name, condition.resp.name, condition.detail)
    assert target is not None, name
    commands = _all(lambda command: _predict(probe, command, target, size))
    statements = tuple(_statements(region, name, target))
    starts = isinstance(target, IntraQueue) and _would_start(region, target)
    return Explanation(name, target.name, statements, commands, starts, _history(region, target.name, record))


def _unknown(name: str, resp: str, detail: str) -> Explanation:
    commands = _all(lambda command: Prediction(command, resp, resp, detail))
    return Explanation(name, "", (f"{detail[:1].upper()}{detail[1:]}.",), commands, starts=False)


def _all(predict: Callable[[str], Prediction]) -> dict[str, Prediction]:
    return {command: predict(command) for command in (READQ, WRITEQ, DELETEQ)}


def _history(region: Region, queue: str, record: bytes | None) -> tuple[str, ...]:
    recorder: Any = region.recorder
    if not hasattr(recorder, "story"):
        return ()
    events = recorder.of(queue, 5) if record is None else recorder.story(queue, record)
    return tuple(event.line() for event in events)


# -- what a request would meet ----------------------------------------------------------------------------------------


def _predict(task: Task, command: str, queue: TdQueue, size: int) -> Prediction:
    try:
        check_state(task, READQ if isinstance(queue, RemoteQueue) else command, queue)
        if isinstance(queue, RemoteQueue):
            return _shipped(task.region, command, queue)
    except Condition as condition:
        return Prediction(command, condition.resp.name, condition.resp.name, condition.detail)
    if isinstance(queue, ExtraQueue):
        return _data_set(command, queue)
    assert isinstance(queue, IntraQueue), queue
    outcome, reason = _OF[command](task, queue, size)
    nosuspend = Resp.QBUSY.name if command == READQ and outcome == WAIT else outcome
    return Prediction(command, outcome, nosuspend, reason)


def _shipped(region: Region, command: str, queue: RemoteQueue) -> Prediction:
    link: Any = region.link(queue.remotesystem)
    joined = getattr(link, "link", None)
    if joined is not None and not joined.acquired:
        sysiderr = Resp.SYSIDERR.name
        return Prediction(command, sysiderr, sysiderr, f"the link to system {queue.remotesystem} is down")
    where = f"queue {queue.remotename} of system {queue.remotesystem} decides"
    return Prediction(command, SHIPPED, SHIPPED, where)


def _data_set(command: str, queue: ExtraQueue) -> Prediction:
    if queue.emptystatus is Cvda.EMPTY and command == READQ:
        return Prediction(command, Resp.QZERO.name, Resp.QZERO.name, "the data set was read to its end")
    return Prediction(command, UNKNOWN, UNKNOWN, f"the data set of {queue.name} is open")


def _readq(task: Task, queue: IntraQueue, _size: int) -> tuple[str, str]:
    if queue.read_end is None or queue.write_end is None:
        return (_NORMAL, "") if queue.stored.count else _qzero(queue)
    met = _lock(task, queue.read_end)
    if met is not None:
        return met
    work = task.uow.work.get(queue) if task.has_uow else None
    gone = queue.stored.count if work is not None and work.deleted else work.reads if work is not None else 0
    if queue.stored.count > gone:
        return _NORMAL, ""
    owner = queue.write_end.owner
    if owner is None or (task.has_uow and owner is task.uow):
        return (_NORMAL, "") if work is not None and work.written else _qzero(queue)
    left = f"no committed record is left, and the {queue.write_end.end} end is {queue.write_end.holder()}"
    return (Resp.LOCKED.name if queue.write_end.retained else WAIT), left


def _qzero(queue: IntraQueue) -> tuple[str, str]:
    return Resp.QZERO.name, f"queue {queue.name} is empty"


def _writeq(task: Task, queue: IntraQueue, size: int) -> tuple[str, str]:
    space = task.region.intra
    if not 0 < size <= space.longest:
        return Resp.LENGERR.name, f"the record has {size} bytes; allowed are 1 to {space.longest}"
    if queue.write_end is not None and (met := _lock(task, queue.write_end)) is not None:
        return met
    if size <= queue.ci_left:
        return _NORMAL, ""
    wrote = task.has_uow and (work := task.uow.work.get(queue)) is not None and work.wrote
    in_use = space.count()
    if not queue.stored.count and not wrote:
        in_use -= queue.tail_ci - queue.head_ci + 1  # an empty queue gives its control intervals up first
    if in_use >= space.capacity:
        return Resp.NOSPACE.name, f"all {space.capacity} control intervals of DFHINTRA are in use"
    return _NORMAL, ""


def _deleteq(task: Task, queue: IntraQueue, _size: int) -> tuple[str, str]:
    for lock in queue.locks:
        if (met := _lock(task, lock)) is not None:
            return met
    return _NORMAL, ""


_OF: Final[dict[str, Callable[[Task, IntraQueue, int], tuple[str, str]]]] = {
    READQ: _readq,
    WRITEQ: _writeq,
    DELETEQ: _deleteq,
}


def _lock(task: Task, lock: Lock) -> tuple[str, str] | None:
    """What getting one end would meet; None when it can be had."""
    if (task.has_uow and lock.owner is task.uow) or (lock.owner is None and not lock.waiting):
        return None
    if lock.retained:
        return Resp.LOCKED.name, f"the {lock.end} end is {lock.holder()}"
    if lock.owner is None:
        return WAIT, f"{len(lock.waiting)} others wait for the {lock.end} end"
    return WAIT, f"the {lock.end} end is {lock.holder()}"


# -- what there is to say ---------------------------------------------------------------------------------------------


def _statements(region: Region, name: str, queue: TdQueue) -> Iterator[str]:
    if name != queue.name:
        yield f"{name} stands for queue {queue.name}{_through(region, name)}."
    if isinstance(queue, RemoteQueue):
        yield f"Queue {queue.name} is {queue.remotename} of system {queue.remotesystem}; ask there."
        return
    if isinstance(queue, ExtraQueue):
        kind = "output" if queue.output else "input"
        yield (
            f"Queue {queue.name} is a data set for {kind}, {queue.enablestatus.name}, {queue.openstatus.name}, "
            f"{queue.emptystatus.name}."
        )
        return
    assert isinstance(queue, IntraQueue), queue
    kinds = {"NO": "not recoverable", "PHYSICAL": "physically recoverable", "LOGICAL": "logically recoverable"}
    committed = " committed" if queue.logical else ""
    yield (
        f"Queue {queue.name} is {kinds[queue.recovstatus]} and {queue.enablestatus.name}; "
        f"it holds {_records(queue.stored.count)}{committed}."
    )
    yield from _units_of_work(queue)
    yield from _waiters(queue)
    if queue.enablestatus is Cvda.DISABLING:
        yield "It is DISABLED when nobody holds or waits for its ends any more; nobody new is let in."
    yield from _trigger(region, queue)


def _through(region: Region, name: str) -> str:
    alias = region.tdqueues[name]
    assert isinstance(alias, IndirectQueue), alias
    return (
        f" (through {alias.indirectname})" if isinstance(region.tdqueues.get(alias.indirectname), IndirectQueue) else ""
    )


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"


def _units_of_work(queue: IntraQueue) -> Iterator[str]:
    owners = dict.fromkeys(lock.owner for lock in queue.locks if lock.owner is not None)
    for uow in owners:
        ends = " and ".join(lock.end for lock in queue.locks if lock.owner is uow)
        work = uow.work.get(queue)
        done = []
        if work is not None:
            done = [f"read {_records(work.reads)}"] if work.reads else []
            done += ["deleted the queue"] if work.deleted else []
            done += [f"written {_records(len(work.written))}"] if work.written else []
        state = "" if uow.waitstate is not Cvda.SHUNTED else f" {uow.state.name}, SHUNTED: it waits for its coordinator"
        what = ", ".join(done) or "changed nothing yet"
        yield f"The {uow.title}{state} holds {ends} and has {what}, uncommitted."


def _waiters(queue: IntraQueue) -> Iterator[str]:
    for lock in queue.locks:
        for strand in lock.waiting.waiters:
            yield f"{strand.name} waits for the {lock.end} end."
    for strand in queue.td_read.waiters if queue.td_read is not None else ():
        yield f"{strand.name} waits in TD_READ: for what is written and not committed."


def _would_start(region: Region, queue: IntraQueue) -> bool:
    if queue.stored.count + 1 < queue.fire_at:
        return False
    return region.ati.why_no_cycle(queue) is None


def _trigger(region: Region, queue: IntraQueue) -> Iterator[str]:
    if not queue.transid or not queue.triggerlevel:
        yield "It starts nothing: " + ("TRIGGERLEVEL is 0." if queue.transid else "it has no TRANSID.")
        return
    count, level = queue.stored.count, queue.triggerlevel
    if queue.latch:
        yield from _cycle(region, queue)
        return
    looked = "at a commit of what was written" if queue.logical else "at a WRITEQ"
    if count < level:
        yield f"It starts {queue.transid} at {level} records; {level - count} more are needed."
    else:
        yield (
            f"It starts {queue.transid} at {level} records. The level is reached, but the count is looked at only "
            f"{looked}, and no cycle has begun since the last one was over."
        )
    uncommitted = _uncommitted_writes(queue)
    if uncommitted:
        yield f"{_records(uncommitted)} written and not committed do not count yet."
    why = region.ati.why_no_cycle(queue)
    if why is not None:
        yield f"No cycle can begin: transaction {queue.transid}: {why[1]} ({why[0]})."
    elif failure := region.transactions[queue.transid].why_not():
        yield f"Its task could not be attached: transaction {queue.transid} is disabled or has no program ({failure})."


def _uncommitted_writes(queue: IntraQueue) -> int:
    owner = queue.write_end.owner if queue.write_end is not None else None
    work = owner.work.get(queue) if owner is not None else None
    return len(work.written) if work is not None else 0


def _cycle(region: Region, queue: IntraQueue) -> Iterator[str]:
    """A cycle is on: where is its task?"""
    yield f"A cycle is on (number {queue.cycle}, of {queue.transid}): nothing else is started until it is over."
    task = next((task for task in region.tasks.values() if _serves(task, queue)), None)
    if task is not None:
        state = f", which waits for {task.suspended[0]} {task.suspended[1]}" if task.suspended is not None else ""
        after = AFTER_TASK[queue.atifacility, True]
        yield f"Its task is {task.number}{state}; when that ends normally without QZERO, {_ENDS[after]}."
        return
    facility = region.facilities.get((queue.atifacility, queue.facilityid))
    if facility is not None and any(getattr(request, "queue", None) is queue for request in facility.requests):
        kind = "terminal" if facility.kind == "TERMINAL" else "connection"
        why = (
            "is out of service or not defined" if not facility.inservice
            else f"has task {facility.task.number}" if facility.task is not None else "has other requests first"
        )  # fmt: skip
        yield f"Its task waits for {kind} {facility.name}, which {why}."
        return
    entry = region.transactions.get(queue.transid)
    failure = "DFHAC2001" if entry is None else entry.why_not()
    gone = f"could not be attached ({failure})" if failure else "has ended without reading the queue to QZERO"
    yield f"Its task {gone}. The cycle is over when somebody reads the queue to QZERO, deletes it, or SETs its trigger."


def _serves(task: Task, queue: IntraQueue) -> bool:
    return task.request is not None and task.request.queue is queue and task.request.cycle == queue.cycle
