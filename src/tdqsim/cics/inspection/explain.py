"""Explain the state of a queue in sentences: its locks and waiters, its trigger, and the outcome of each request.

Tasks, transactions, programs and temporary storage queues are explained by
:mod:`~tdqsim.cics.inspection.explain_others`.

The outcomes come from the rules of the commands themselves, through :mod:`~tdqsim.cics.inspection.explain_requests`.
The sentences about the trigger come from the table of the ATI cycle in :mod:`~tdqsim.cics.queues.ati` and from the data
of the latch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.inspection.explain_others import RESOURCES, asked_there, moment, of_task, of_task_number
from tdqsim.cics.inspection.explain_requests import (
    OPERATOR,
    TD,
    FarExplanation,
    Prediction,
    foresee,
    would_be_open,
)
from tdqsim.cics.inspection.state import QueueState, queue_state
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.queue import Began, ExtraTdQueue, IndirectTdQueue, IntraTdQueue, RemoteTdQueue, TdQueue
from tdqsim.cics.model.region import is_near
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.queues.ati import AFTER_TASK, AGAIN, OVER
from tdqsim.cics.queues.state_table import final_target
from tdqsim.errors import UsageError, WrongType, WrongValue
from tdqsim.facts import Cvda, Resp, notice_words

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.core.notices import Notice

_NORMAL: Final = Resp.NORMAL.name
_REFUSED_THERE: Final = ("routed_no_transaction", "routed_no_terminal")
_SHOWN_EVENTS: Final = 5
_ENDS: Final = {OVER: "its end ends the cycle", AGAIN: "it is started again until somebody reads the queue to QZERO"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of the state of a queue, or of a task, transaction, program or temporary storage queue.

    Attributes:
        queue: the given name.
        target: the final target of the name after aliases; empty if there is none.
        statements: sentences about its state and its trigger.
        commands: the prediction for each command, by its name: READQ TD, WRITEQ TD, DELETEQ TD, then the commands of an
            operator (INQUIRE TDQUEUE, SET TDQUEUE ENABLED ..., DISCARD TDQUEUE). Empty if it is not a TD queue.
        starts: whether the next WRITEQ of one record, if it succeeds and is committed, begins an ATI cycle.
        history: its last operations as recorded by a history, oldest first; empty if none is attached.
    """

    queue: str
    target: str
    statements: tuple[str, ...]
    commands: dict[str, Prediction]
    starts: bool
    history: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        """The explanation as text."""
        lines = [*self.statements, *(str(self.commands[name]) for name in TD if name in self.commands)]
        operator = [each for name, each in self.commands.items() if name in OPERATOR]
        well = [each.command for each in operator if each.outcome == _NORMAL and not each.reason]
        lines += [f"{', '.join(well)} would succeed."] if well else []
        lines += [str(each) for each in operator if each.command not in well]
        if self.history:
            lines += ["What happened last:", *(f"  {line}" for line in self.history)]
        return "\n".join(lines)


def explain(
    region: RegionData,
    name: str,
    *,
    task: TaskBase | None = None,
    size: int,
    record: bytes | None = None,
    pause: Callable[[], object] | None = None,
    kind: str = "TDQUEUE",
) -> Explanation:
    """Explain the state of a queue, or of a task, transaction, program or temporary storage queue.

    Args:
        region: the region of the queue.
        name: the queue's name, or an alias; the name of another resource, or the number of a task.
        task: the task whose requests to predict; a new task of the default user if not given.
        size: the length, in bytes, of the record of the predicted WRITEQ.
        record: show the history of the records that contain these bytes, instead of the last operations.
        pause: called while the next record of a data set is searched for, so that other tasks can run.
        kind: TDQUEUE, TASK, TRANSACTION, PROGRAM or TSQUEUE.

    Raises:
        ValueError: there is no such kind.
        UsageError: ``record`` is given, but no history is attached.
    """
    if not isinstance(name, str):
        raise WrongType(f"queue {name!r}: the name of a queue is a str of 1 to 4 characters")
    if record is not None and not hasattr(region.recorder, "story"):
        raise UsageError(f"region {region.applid}: nothing records what happens to records; attach a History first")
    name = name.rstrip(" ")
    probe = task if task is not None else TaskBase(region, 0, "TEST", region.options.dfltuser)
    if kind != "TDQUEUE":
        told = _other(region, kind, name, probe)
        return Explanation(name, "", told + _said(region, f"{kind}({name})", told), {}, starts=False)
    commands = foresee(region, name, probe, size, pause)
    try:
        target = final_target(region, name)
    except Condition as condition:
        detail = condition.detail
        return Explanation(name, "", (f"{detail[:1].upper()}{detail[1:]}.",), commands, starts=False)
    statements = tuple(_statements(region, name, target, probe))
    statements += _said(region, f"TDQUEUE({target.name})", statements)
    starts = isinstance(target, IntraTdQueue) and region.ati.would_start(target, target.stored.count + 1)
    return Explanation(name, target.name, statements, commands, starts, _history(region, target.name, record))


def _other(region: RegionData, kind: str, name: str, probe: TaskBase) -> tuple[str, ...]:
    if kind == "TASK":
        return tuple(of_task_number(region, name))
    if kind not in tuple(RESOURCES):  # whatever its type, also one that has no hash
        raise WrongValue(f"kind {kind!r:.40}: allowed are TDQUEUE, TASK, {', '.join(RESOURCES)}")
    return tuple(RESOURCES[kind](probe, name))


def _said(region: RegionData, resource: str, statements: tuple[str, ...]) -> tuple[str, ...]:
    """The notices of a resource that still hold, without those whose reason is among the statements."""
    told = "\n".join(statements)
    lasting = [each for each in region.notices.lasting if each.resource == resource and each.reason not in told]
    return tuple(f"{each.reason} {each.cure}".rstrip() + f" ({each.id})" for each in lasting)


def explain_for_another(task: TaskBase, name: str, size: int, kind: str) -> bytes:
    """Explain a resource for another region, or the task that serves that region, as a message.

    Args:
        task: the mirror task that would carry out the requests of that region; for TASK the one that serves it.
        name: the resource.
        size: the length, in bytes, of the record of the predicted WRITEQ.
        kind: as for :func:`explain`.

    Raises:
        Condition: ISCINVREQ: there is no such kind.
    """
    region = task._region
    if kind == "TASK":
        return FarExplanation(region.applid, tuple(of_task(region, task)), {}).to_bytes()
    try:
        found = explain(region, name, task=task, size=size, kind=kind)
    except ValueError as error:
        raise Condition(Resp.ISCINVREQ, detail=str(error)) from error
    return FarExplanation(region.applid, found.statements, found.commands).to_bytes()


def _history(region: RegionData, queue: str, record: bytes | None) -> tuple[str, ...]:
    recorder: Any = region.recorder
    if not hasattr(recorder, "story"):
        return ()
    events = recorder.of(queue, _SHOWN_EVENTS) if record is None else recorder.story(queue, record)
    return tuple(event.line(recorder.show) for event in events)


# -- the sentences ----------------------------------------------------------------------------------------------------


def _statements(region: RegionData, name: str, queue: TdQueue, probe: TaskBase) -> Iterator[str]:
    if name != queue.name:
        yield f"{name} stands for queue {queue.name}{_through(region, name)}."
    if isinstance(queue, RemoteTdQueue):
        yield from _remote(region, queue, probe)
    elif isinstance(queue, ExtraTdQueue):
        yield _data_set(queue_state(queue))
        if would_be_open(region, queue):
            yield "It is opened when the region starts; here the region is only looked at."
    else:
        assert isinstance(queue, IntraTdQueue), queue
        yield from _intra(region, queue, queue_state(queue))
    if any(not hasattr(hook, "foresee") for hook in _hooks(region)):
        yield "A hook looks at every command of the region; what it does is not foreseen."


def _hooks(region: RegionData) -> tuple[object, ...]:
    """The hooks that are called for every command; a chain of hooks counts as several."""
    hook: Any = region.hook
    return () if hook is None else tuple(getattr(hook, "hooks", (hook,)))


def _remote(region: RegionData, queue: RemoteTdQueue, probe: TaskBase) -> Iterator[str]:
    state = "" if queue.enablestatus is Cvda.ENABLED else f", and is {queue.enablestatus.name}: nothing is shipped"
    yield f"Queue {queue.name} is {queue.remotename} of system {queue.remotesystem}{state}."
    link = region.links.get(queue.remotesystem)
    if link is None:
        yield f"There is no connection to system {queue.remotesystem}."
        return
    if not is_near(link):
        yield from asked_there(link, probe, queue.remotename, "TDQUEUE")
        return
    try:
        mirror = link.foresee(probe)
        there = mirror._region
        target = final_target(there, queue.remotename)
    except Condition as condition:
        yield f"It cannot be asked there: {condition.detail}."
        return
    for each in _statements(there, queue.remotename, target, mirror):
        yield f"In region {there.applid}: {each}"


def _data_set(now: QueueState) -> str:
    kind = "output" if now.output else "input"
    words = [now.enablestatus, now.openstatus]
    words += [now.emptystatus] if now.emptystatus != Cvda.NOTAPPLIC.name else []
    return f"Queue {now.name} is a data set for {kind}, {', '.join(words)}."


def _intra(region: RegionData, queue: IntraTdQueue, now: QueueState) -> Iterator[str]:
    kinds = {"NO": "not recoverable", "PHYSICAL": "physically recoverable", "LOGICAL": "logically recoverable"}
    committed = " committed" if now.recovstatus == "LOGICAL" else ""
    holds = f"it holds {_records(now.numitems)}{committed}"
    if not queue.is_known:
        holds = "how many records it holds is not known from outside the region"
    yield f"Queue {now.name} is {kinds[now.recovstatus]} and {now.enablestatus}; {holds}."
    yield from _units_of_work(now)
    yield from _waiters(now)
    if now.enablestatus == Cvda.DISABLING.name:
        yield "It is DISABLED when nobody holds or waits for its ends any more; nobody new is let in."
    space = region.intra
    if space.count() >= space.capacity:
        yield f"All {space.capacity} control intervals of DFHINTRA are in use, {queue.cis} of them by this queue."
    yield from _trigger(region, queue, now)


def _through(region: RegionData, name: str) -> str:
    alias = region.tdqueues[name]
    assert isinstance(alias, IndirectTdQueue), alias
    return (
        f" (through {alias.indirectname})"
        if isinstance(region.tdqueues.get(alias.indirectname), IndirectTdQueue)
        else ""
    )


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"


def _units_of_work(now: QueueState) -> Iterator[str]:
    for unit in now.uncommitted:
        ends = " and ".join(lock.end for lock in now.locks if lock.uow == unit.uow.upper())
        done = [f"read {_records(unit.reads)}"] if unit.reads else []
        done += ["deleted the queue"] if unit.deleted else []
        done += [f"written {_records(len(unit.written))}"] if unit.written else []
        waits = f" is {unit.uowstate}, SHUNTED: it waits for its coordinator. It" if unit.state == "SHUNTED" else ""
        what = f"has {', '.join(done)}, uncommitted" if done else "has changed nothing yet"
        applid, _, uow = unit.coordinator.rpartition(".")
        whose = f", part of unit of work {uow} of region {applid}," if applid else ""
        yield f"The {unit.title}{whose}{waits} holds {ends} and {what}."


def _waiters(now: QueueState) -> Iterator[str]:
    for lock in now.locks:
        for waiter in lock.waiting:
            yield f"{waiter.name} waits for the {lock.end} end{_until(waiter.until_ns)}."
    for waiter in now.awaiting:
        yield f"{waiter.name} waits in TD_READ, for what is written and not committed{_until(waiter.until_ns)}."


def _until(deadline_ns: int | None) -> str:
    return "" if deadline_ns is None else f", until {moment(deadline_ns)}"


# -- triggers ---------------------------------------------------------------------------------------------------------


def _trigger(region: RegionData, queue: IntraTdQueue, now: QueueState) -> Iterator[str]:
    if not now.level:
        yield "It starts nothing: " + ("TRIGGERLEVEL is 0." if now.transid else "it has no TRANSID.")
        return
    if now.cycle:
        yield from _cycle(region, queue)
    elif not queue.is_known:
        yield f"It starts {now.transid} at {_records(now.level)}; whether a cycle is on is not known either."
    else:
        yield from _no_cycle(region, queue, now)


def _no_cycle(region: RegionData, queue: IntraTdQueue, now: QueueState) -> Iterator[str]:
    looked = "at a commit of what was written" if now.recovstatus == "LOGICAL" else "at a WRITEQ"
    missing = now.level - now.numitems
    if missing > 0:
        more = "1 more is" if missing == 1 else f"{missing} more are"
        yield f"It starts {now.transid} at {_records(now.level)}; {more} needed."
    else:
        yield (
            f"It starts {now.transid} at {_records(now.level)}. The level is reached, but the count is looked at only "
            f"{looked}, and no cycle has begun since the last one was over."
        )
    yield from _uncommitted_writes(now)
    obstacle = _obstacle(region, queue)
    if obstacle is not None:
        yield f"{obstacle.reason} {obstacle.cure} ({obstacle.id})"
    elif (entry := region.transactions.get(queue.transid)) is not None and not entry.defined:
        yield notice_words("transaction_not_installed", {"transid": queue.transid}).reason


def _obstacle(region: RegionData, queue: IntraTdQueue) -> Notice | None:
    """What prevents the task of the trigger; a program that is missing here may be there in the running region."""
    obstacle = region.ati.obstacle(queue)
    return None if obstacle is not None and region.looks_from_outside and obstacle.id == "DFHAC2016" else obstacle


def _is_dropped(notice: Notice, queue: IntraTdQueue) -> bool:
    """Whether a notice says that another region has refused the task of the queue's cycle."""
    return notice.resource == f"TDQUEUE({queue.name})" and notice.event in _REFUSED_THERE


def _uncommitted_writes(now: QueueState) -> Iterator[str]:
    for unit in now.uncommitted:
        if unit.written:
            verb = "does" if len(unit.written) == 1 else "do"
            whose = f"by task {unit.task} {unit.transid}" if unit.task else f"by {unit.title}"
            yield f"{_records(len(unit.written))} written {whose} and not committed {verb} not count yet."


def _cycle(region: RegionData, queue: IntraTdQueue) -> Iterator[str]:
    """Sentences about an ATI cycle in progress: what began it, and the state of its task."""
    number = f"number {queue.cycle}, " if queue.cycle else ""  # it is not kept over restarts
    yield f"A cycle is on ({number}of {queue.transid}): nothing else is started until it is over."
    if queue.latched is not None and queue.latched.began is not None:
        yield _set_by(queue.latched.began)
    task = next((task for task in region.tasks.values() if _serves(task, queue)), None)
    if task is not None:
        parked = task._fiber.waiting_for if task._fiber is not None else None
        until = _until(task._fiber.deadline_ns) if task._fiber is not None else ""
        state = f", which waits for {parked.name}{until}" if parked is not None else ", which is ready to run"
        after = AFTER_TASK[queue.atifacility, True]
        yield f"Its task is {task.number}{state}; when that ends normally without QZERO, {_ENDS[after]}."
        return
    facility = None
    if queue.atifacility != "FILE":
        facility = region.terminal_control.get(queue.atifacility, queue.facilityid)
    obstacle = _obstacle(region, queue)
    if facility is not None and obstacle is not None and region.ati.why_it_waits(facility) is not None:
        yield f"{obstacle.reason} {obstacle.cure} ({obstacle.id})"
        return
    if facility is not None and any(getattr(request, "queue", None) is queue for request in facility.requests):
        kind = "terminal" if facility.kind == "TERMINAL" else "connection"
        why = (
            f"belongs to system {facility.owner}" if facility.owner
            else f"has task {facility.task.number} {facility.task.transid}" if facility.task is not None
            else "has other requests first"
        )  # fmt: skip
        yield f"Its task waits for {kind} {facility.name}, which {why}."
        return
    if obstacle is not None:
        yield f"{obstacle.reason} {obstacle.cure} ({obstacle.id})"
    elif region.looks_from_outside:
        yield f"Whether {queue.transid} has a program, and its task waits, runs or has ended, only the region knows."
        return
    elif dropped := next((each for each in region.notices.lasting if _is_dropped(each, queue)), None):
        yield f"{dropped.reason} {dropped.cure} ({dropped.id})"
    else:
        yield "Its task has ended without reading the queue to QZERO."
    yield "The cycle is over when somebody reads the queue to QZERO, deletes it, or SETs its trigger."


def _set_by(began: Began) -> str:
    """A sentence about the task that set the latch."""
    number, transid, termid, uow, time_ns, items = began
    task = f"task {number} {transid}{f' at terminal {termid}' if termid else ''}"
    what = f"the commit of unit of work {uow} of {task}" if uow else f"a WRITEQ TD of {task}"
    return f"The latch was set at {moment(time_ns)} by {what}, when the queue held {_records(items)}."


def _serves(task: TaskData, queue: IntraTdQueue) -> bool:
    return task._request is not None and task._request is queue.latched
