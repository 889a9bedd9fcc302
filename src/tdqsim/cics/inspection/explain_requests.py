"""Predict the outcome of each request, with the rules of the commands themselves and without side effects.

This module contains no rules. Each answer comes from the code that the command uses, in the order of
:mod:`~tdqsim.cics.queues.state_table`:

====================================  ====================================================================
step                                  asked of
====================================  ====================================================================
name, aliases                         :func:`~tdqsim.cics.queues.state_table.final_target`
a planned fault                       the region's hook, when it can say (``foresee``)
security, ENABLESTATUS, type, open    :func:`~tdqsim.cics.queues.state_table.check_state` and its table
shipping                              :meth:`~tdqsim.cics.ship.remote.LinkEnd.foresee`, then the same in that
                                      region; a region of another process is queried over the link
length                                :func:`~tdqsim.cics.model.space.check_size`; the data set's DCB
locks                                 the tables of :mod:`~tdqsim.cics.model.lock`
the next record                       the store; of a LOGICAL queue :func:`~tdqsim.cics.queues.logical.attempt`, on a
                                      twin of what the unit of work has done
room                                  :class:`~tdqsim.cics.model.space.IntraSpace`, the store's file; the data set's
SPACE
INQUIRE, SET, DISCARD                 the checks that the commands make before they change anything
====================================  ====================================================================

An outcome that only the request itself can show is UNKNOWN, such as whether a data set can be opened. A full disk under
a data set is not predicted: it shows only when a block is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.model.lock import ASKED
from tdqsim.cics.model.queue import DELETEQ, READQ, WRITEQ, ExtraTdQueue, IntraTdQueue, RemoteTdQueue, TdQueue
from tdqsim.cics.model.region import is_near
from tdqsim.cics.model.space import check_size
from tdqsim.cics.model.work import LogicalWork
from tdqsim.cics.queues.directory import empty
from tdqsim.cics.queues.extra import DataSet
from tdqsim.cics.queues.logical import attempt
from tdqsim.cics.queues.state_table import check_state, final_target
from tdqsim.cics.spi.create import check_discard
from tdqsim.cics.spi.requests import find_queue
from tdqsim.cics.spi.set import check_set
from tdqsim.core.fiber import WAIT as _WAITS
from tdqsim.errors import StoreDamaged
from tdqsim.facts import Cvda, Resp, doubt, unconfirmed

if TYPE_CHECKING:
    from tdqsim.cics.kernel.task import TaskBase
    from tdqsim.cics.model.lock import Lock
    from tdqsim.cics.model.region import RegionData as Region

WAIT: Final = "WAIT"
UNKNOWN: Final = "UNKNOWN"
_NORMAL: Final = Resp.NORMAL.name

TD: Final = (READQ, WRITEQ, DELETEQ)
OPERATOR: Final = (
    "INQUIRE TDQUEUE", "SET TDQUEUE ENABLED", "SET TDQUEUE DISABLED", "SET TDQUEUE OPEN", "SET TDQUEUE CLOSED",
    "DISCARD TDQUEUE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted outcome of one request.

    Attributes:
        command: such as READQ TD, or SET TDQUEUE DISABLED.
        outcome: NORMAL, the name of a condition, WAIT or UNKNOWN.
        nosuspend: for READQ TD the outcome with NOSUSPEND; for other commands the same as ``outcome``.
        reason: the reason as a sentence; for NORMAL the side effect, if any.
        resp2: RESP2 of the condition.
        unconfirmed_rules: the confidence of the rules that a condition rests on by id, if no page or program of the
            vendor shows them; several if the condition does not determine which of them it is.
    """

    command: str
    outcome: str
    nosuspend: str
    reason: str = ""
    resp2: int = 0
    unconfirmed_rules: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """The prediction as a sentence."""
        if self.outcome == _NORMAL:
            return f"{self.command} would succeed{f': {self.reason}' if self.reason else ''}."
        what = {WAIT: "would wait", UNKNOWN: "cannot be foreseen"}
        outcome = what.get(self.outcome, f"would get {self.outcome}{f' RESP2 {self.resp2}' if self.resp2 else ''}")
        busy = f" ({self.nosuspend} with NOSUSPEND)" if self.nosuspend != self.outcome else ""
        return f"{self.command} {outcome}{busy}: {self.reason}{doubt(self.unconfirmed_rules)}."


class _Wait(Exception):
    """The request would wait."""


class _Predicted(Exception):
    """A region of another process has predicted the outcome."""

    def __init__(self, prediction: Prediction) -> None:
        self.prediction = prediction


class FarExplanation(NamedTuple):
    """The explanation of a queue, another resource, or a task that serves this region, from another region.

    Attributes:
        applid: the region.
        statements: sentences about its state.
        commands: the prediction for each command; empty if it is not a TD queue.
    """

    applid: str
    statements: Sequence[str]
    commands: Mapping[str, Prediction]

    def to_bytes(self) -> bytes:
        """Its form in a message."""
        commands = {name: list(astuple(self.commands[name])) for name in TD if name in self.commands}
        return json.dumps([self.applid, list(self.statements), commands]).encode()

    @classmethod
    def from_bytes(cls, form: bytes, kind: str = "TDQUEUE") -> FarExplanation:
        """The explanation in a message.

        Raises:
            Condition: ISCINVREQ: it cannot be read.
        """
        try:
            applid, statements, commands = json.loads(form)
            predictions = {name: Prediction(*commands[name]) for name in (TD if kind == "TDQUEUE" else ())}
            return cls(str(applid), [str(each) for each in statements], predictions)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise Condition(Resp.ISCINVREQ, detail=f"an explanation that cannot be read: {error}") from error

    def prediction(self, command: str, queue: str) -> Prediction:
        """The prediction for a command, in the words of the region that ships it."""
        there = self.commands[command]
        where = f"queue {queue} of region {self.applid}"
        if there.outcome == _NORMAL:
            return replace(there, reason=f"{where}: {there.reason}" if there.reason else f"{where} takes it")
        return replace(there, reason=f"{where}: {there.reason}")


class _NotKnown(Exception):
    """The outcome cannot be predicted: UNKNOWN, with the reason."""


def foresee(
    region: Region, name: str, task: TaskBase, size: int, pause: Callable[[], object] | None = None
) -> dict[str, Prediction]:
    """Predict the outcome of each command.

    Args:
        region: the region of the task.
        name: the queue, or an alias, as the program names it.
        task: the task that would issue the commands; its uncommitted changes are taken into account.
        size: the length, in bytes, of the record of WRITEQ TD.
        pause: called while the next record of a data set is searched for, so that other tasks can run.
    """
    predictions = {}
    for command in TD:
        predictions[command] = _predicted(command, partial(_request, region, command, name, task, size, pause))
    return predictions | {command: _predicted(command, ask) for command, ask in _operator(task, name)}


def _predicted(command: str, ask: Callable[[], str | None]) -> Prediction:
    """Call the check of a command and turn its outcome into a prediction."""
    try:
        reason = ask()
    except Condition as condition:
        resp = condition.resp.name
        condition.command = condition.command or " ".join(command.split(" ")[:2])
        return Prediction(command, resp, resp, condition.detail, condition.resp2, unconfirmed(condition.rules))
    except _Wait as wait:
        busy = Resp.QBUSY.name if command == READQ else WAIT
        return Prediction(command, WAIT, busy, str(wait))
    except _Predicted as there:
        return there.prediction
    except _NotKnown as not_known:
        outcome, why = not_known.args
        return Prediction(command, outcome, outcome, why)
    return Prediction(command, _NORMAL, _NORMAL, reason or "")


# -- READQ, WRITEQ, DELETEQ -------------------------------------------------------------------------------------------


def _request(
    region: Region, command: str, name: str, task: TaskBase, size: int, pause: Callable[[], object] | None = None
) -> str | None:
    planned = getattr(region.hook, "foresee", None)
    if planned is not None and (fault := planned(task, command, {"queue": name})) is not None:
        raise fault
    queue = final_target(region, name)
    if isinstance(queue, RemoteTdQueue):
        return _shipped(region, command, queue, task, size)
    try:
        check_state(task, command, queue)
    except Condition as condition:
        if condition.resp is Resp.NOTOPEN and would_be_open(region, queue):
            raise _NotKnown(UNKNOWN, "the data set is opened when the region starts, not to be looked at") from None
        raise
    if isinstance(queue, ExtraTdQueue):
        _data_set(command, queue, size, pause)
        return None
    assert isinstance(queue, IntraTdQueue), queue
    _OF[command](task, queue, size)
    return None


def would_be_open(region: Region, queue: TdQueue) -> bool:
    """Whether a data set is closed only because the region is read-only."""
    return (
        not region.options.open_data_sets and isinstance(queue, ExtraTdQueue) and queue.definition.opentime == "INITIAL"
    )


def _shipped(region: Region, command: str, queue: RemoteTdQueue, task: TaskBase, size: int) -> str:
    check_state(task, READQ, queue)
    link = region.link(queue.remotesystem)
    if command == WRITEQ and queue.remotelength > 1:
        size = min(size, queue.remotelength)
    if not is_near(link):
        far = FarExplanation.from_bytes(link.explain(task, queue.remotename, size))
        raise _Predicted(far.prediction(command, queue.remotename))
    mirror = link.foresee(task)
    there = mirror._region
    where = f"queue {queue.remotename} of region {there.applid}"
    try:
        reason = _request(there, command, queue.remotename, mirror, size)
    except Condition as condition:
        answer = link.far.served.answer(condition)
        raise Condition(answer.resp, answer.resp2, f"{where}: {answer.detail}", rule=condition.rule) from condition
    except _Wait as wait:
        raise _Wait(f"{where}: {wait}") from wait
    return f"{where}{f': {reason}' if reason else ' takes it'}"


def _data_set(command: str, queue: ExtraTdQueue, size: int, pause: Callable[[], object] | None) -> None:
    file: Any = queue.file
    if not isinstance(file, DataSet):
        raise _NotKnown(UNKNOWN, f"what is behind {queue.name} is not a data set")
    if command == READQ:
        file.foresee_read(pause)
        return
    if size <= 0:
        raise Condition(Resp.LENGERR, detail=f"LENGTH is {size}; it is 1 or more", rule="EX-WRITE-ZERO")
    file.foresee_write(size)


def _readq(task: TaskBase, queue: IntraTdQueue, _size: int) -> None:
    if not queue.is_known:
        raise _NotKnown(UNKNOWN, "how many records it holds is not known from outside the region")
    try:
        record = _next_record(task, queue)
    except StoreDamaged as error:
        raise Condition(Resp.IOERR, detail=str(error), rule="REC-DAMAGED-RECORD") from error
    if record is None:
        raise empty(queue.name)


def _next_record(task: TaskBase, queue: IntraTdQueue) -> Any:
    if not queue.logical:
        return queue.stored.peek()
    write_end = queue.write_end
    _ask_for(queue.read_end, task)
    uow, work = _work(task, queue)
    twin = work.twin() if work is not None else LogicalWork(queue.durable)
    record = attempt(twin, write_end, uow)
    if record is _WAITS:
        raise _Wait(f"no committed record is left, and the {write_end.end} end is {write_end.holder()}{_limit(task)}")
    return record


def _work(task: TaskBase, queue: IntraTdQueue) -> tuple[Any, LogicalWork | None]:
    """The task's unit of work and its uncommitted changes of the queue, each None if there is none."""
    uow = task._uow if task._has_uow else None
    return uow, None if uow is None else uow.works.get(queue)


def _writeq(task: TaskBase, queue: IntraTdQueue, size: int) -> None:
    region = task._region
    check_size(region.intra.longest, size)
    if queue.logical:
        _ask_for(queue.write_end, task)
    if not region.intra.has_room(queue, size):
        raise region.intra.full()
    if region.readonly:
        return
    store = region.store
    refused = store.volatile.room_for(size) if queue.recovstatus == "NO" else store.durable.room_for(size)
    if refused:
        raise Condition(Resp.NOSPACE, detail=refused)


def _deleteq(task: TaskBase, queue: IntraTdQueue, _size: int) -> None:
    for lock in queue.locks:
        _ask_for(lock, task)


_OF: Final[dict[str, Callable[[Any, IntraTdQueue, int], None]]] = {READQ: _readq, WRITEQ: _writeq, DELETEQ: _deleteq}


def _ask_for(lock: Lock, task: TaskBase) -> None:
    """The outcome of acquiring one end."""
    resp = ASKED[lock.standing(task._uow if task._has_uow else None)]
    if resp is None:
        ahead = f"{len(lock.waiting)} wait for it already" if lock.waiting else ""
        held = lock.holder() if lock.owner is not None else "about to be given to the next task"
        raise _Wait(f"the {lock.end} end is {held}{f', and {ahead}' if ahead else ''}{_limit(task)}")
    if resp is not Resp.NORMAL:
        raise Condition(resp, detail=f"the {lock.end} end is {lock.holder()}")


def _limit(task: TaskBase) -> str:
    """A phrase about DTIMOUT, if the task has one."""
    return "" if task._dtimout_ns is None else f"; DTIMOUT ends the wait after {task._dtimout_ns / 10**9:g} s"


# -- INQUIRE, SET, DISCARD --------------------------------------------------------------------------------------------


def _operator(task: TaskBase, name: str) -> Iterator[tuple[str, Callable[[], str | None]]]:
    """The operator commands for the type of the queue, each with the check that predicts it."""
    yield OPERATOR[0], lambda: _inquire(task, name)
    queue = task._region.tdqueues.get(name)
    yield OPERATOR[1], lambda: _set(task, name, "ENABLESTATUS", Cvda.ENABLED)
    yield OPERATOR[2], lambda: _set(task, name, "ENABLESTATUS", Cvda.DISABLED)
    if isinstance(queue, ExtraTdQueue):
        yield OPERATOR[3], lambda: _set(task, name, "OPENSTATUS", Cvda.OPEN)
        yield OPERATOR[4], lambda: _set(task, name, "OPENSTATUS", Cvda.CLOSED)
    yield OPERATOR[5], lambda: _discard(task, name)


def _inquire(task: TaskBase, name: str) -> None:
    find_queue(task, "INQUIRE TDQUEUE", name, Access.READ)


def _set(task: TaskBase, name: str, option: str, value: Cvda) -> str:
    queue = check_set(task, name, {option: value}).queue
    if isinstance(queue, ExtraTdQueue) and option == "OPENSTATUS" and queue.openstatus is not value:
        verb = "opened" if value is Cvda.OPEN else "closed"
        raise _NotKnown(UNKNOWN, f"the data set is only then {verb}")
    return _effect_of_disable(queue) if value is Cvda.DISABLED else ""


def _effect_of_disable(queue: TdQueue) -> str:
    if (
        isinstance(queue, IntraTdQueue)
        and queue.enablestatus is Cvda.ENABLED
        and any(lock.in_use for lock in queue.locks)
    ):
        return "the queue would be DISABLING until its users have ended"
    return ""


def _discard(task: TaskBase, name: str) -> str:
    queue: TdQueue = check_discard(task, name)
    if isinstance(queue, IntraTdQueue) and not queue.is_known:
        return "its records are lost"
    lost = queue.stored.count if isinstance(queue, IntraTdQueue) else 0
    return f"its records are lost ({lost})" if lost else ""
