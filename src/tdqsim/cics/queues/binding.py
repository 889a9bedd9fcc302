"""The functions that carry out requests for the four kinds of transient data queue, and their binding to a queue.

A request does not check the kind and state of its queue; it calls the function that is bound to the queue. :func:`bind`
binds ``read``, ``write`` and ``delete`` again after each change that affects them, by two tables: the outcome of the
state (:func:`~tdqsim.cics.queues.state_table.decide`) and, if that lets the request proceed, the function for the
queue's kind and recovery::

    kind               READQ                  WRITEQ                  DELETEQ
    INTRA NO           volatile.read          volatile.write          volatile.clear
    INTRA PHYSICAL     physical.read          physical.write          physical.clear
    INTRA LOGICAL      logical.read           logical.write           logical.clear
    EXTRA              get_record             put_record              (INVREQ)
    INDIRECT           its target's, looked up by each request; both are counted
    REMOTE             shipped; both ends count

    outcome            bound functions
    NORMAL             the above
    DISABLING, INTRA   the above for a unit of work that owns an end, else DISABLED
    else               the condition
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import repeat
from types import MethodType
from typing import Any, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.queue import (
    DELETEQ,
    READQ,
    WRITEQ,
    ExtraTdQueue,
    IndirectTdQueue,
    IntraTdQueue,
    RemoteTdQueue,
    RequestTarget,
    TdQueue,
)
from tdqsim.cics.model.region import RegionLink
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.queues import logical, physical, volatile
from tdqsim.cics.queues.state_table import PROCEEDS, check_state, outcomes, owns_an_end, refusal, target_of
from tdqsim.core.named import NamedTuple
from tdqsim.errors import DatasetError
from tdqsim.facts import LIMITS, Cvda, Resp

_LONGEST: Final = LIMITS["length_option_maximum"]


class _Works(NamedTuple):
    """The functions of queue and task for READQ, WRITEQ and DELETEQ, if the state allows the request."""

    read: Callable[..., bytes | None]
    write: Callable[..., None]
    delete: Callable[..., None]


def bind(queue: TdQueue) -> None:
    """Bind the request functions of a queue for its present state."""
    works = _works(queue)
    responses = outcomes(queue)
    if responses is PROCEEDS:
        queue.read, queue.write, queue.delete = map(MethodType, works, repeat(queue))
        return
    queue.read, queue.write, queue.delete = [
        MethodType(does, queue)
        if responses[command] is Resp.NORMAL
        else partial(_only_for_users if responses[command] is None else _refuse, queue, command, does)
        for command, does in zip((READQ, WRITEQ, DELETEQ), works, strict=True)
    ]


def set_enablestatus(queue: TdQueue, status: Cvda) -> None:
    """Set ENABLESTATUS to ENABLED, DISABLING or DISABLED."""
    queue.enablestatus = status
    bind(queue)


def set_openstatus(queue: ExtraTdQueue, status: Cvda) -> None:
    """Set OPENSTATUS to OPEN or CLOSED."""
    queue.openstatus = status
    bind(queue)


def _refuse(queue: TdQueue, command: str, _does: Callable[..., object], *_request: object) -> None:
    """Refuse a request because of the state of the queue."""
    raise refusal(queue, command)


def _only_for_users(queue: TdQueue, command: str, does: Callable[..., Any], task: TaskData, *request: object) -> Any:
    """A request to a DISABLING queue: allowed only for a unit of work that owns an end."""
    if not owns_an_end(task, queue):
        raise refusal(queue, command)
    return does(queue, task, *request)


def read_negative(target: RequestTarget, task: TaskData, length: int) -> bytes | None:
    """READQ TD with a negative LENGTH: refused without a read; a link or a wrapper handles the request itself."""
    if isinstance(target, IndirectTdQueue):
        target = _target(target, task)
    if not isinstance(target, TdQueue):
        return target.read(task, False, length)  # a wrapper or a link handles a negative length itself
    check_state(task, READQ, target)
    if isinstance(target, RemoteTdQueue):
        return _link(target, task).ship(task, READQ, target.remotename, length=length)
    raise Condition(Resp.LENGERR, detail=f"LENGTH is {length}; the queue was not read")


# -- extrapartition -------------------------------------------------------------------------------------------------


def _get_record(queue: ExtraTdQueue, task: TaskData, _busy: bool, _length: int | None) -> bytes:
    """READQ TD."""
    get = queue.get
    try:
        record = None if get is None else get()
    except DatasetError as error:
        raise queue.file.refused(error) from error
    if record is None:  # the end or an error: the data set raises the condition
        record = queue.file.read(task)
    queue.reads += 1
    return record


def _put_record(queue: ExtraTdQueue, task: TaskData, data: bytes, length: int | None) -> None:
    """WRITEQ TD."""
    if not data:
        shown = 0 if length is None else length
        raise Condition(Resp.LENGERR, detail=f"LENGTH is {shown}; allowed are 1 to {_LONGEST}", rule="EX-WRITE-ZERO")
    put = queue.put
    if put is None:
        queue.file.write(task, data)
    else:
        try:
            put(data)
        except DatasetError as error:
            raise queue.file.refused(error) from error
    queue.writes += 1


def _never(_queue: TdQueue, _task: TaskData) -> None:
    """DELETEQ TD of a data set; never called, because the state table refuses it."""


# -- indirect -------------------------------------------------------------------------------------------------------


def _target(alias: IndirectTdQueue, task: TaskData) -> TdQueue:
    """The final target of an alias.

    Raises:
        Condition: QIDERR.
    """
    queues = task._region.tdqueues
    queue = queues.get(alias.indirectname)
    return target_of(queues, alias) if queue is None or queue.type == "INDIRECT" else queue


def _read_target(alias: IndirectTdQueue, task: TaskData, busy: bool, length: int | None) -> bytes | None:
    """READQ TD."""
    data = _target(alias, task).read(task, busy, length)
    if data is not None:
        alias.reads += 1
    return data


def _write_target(alias: IndirectTdQueue, task: TaskData, data: bytes, length: int | None) -> None:
    """WRITEQ TD."""
    _target(alias, task).write(task, data, length)
    alias.writes += 1


def _delete_target(alias: IndirectTdQueue, task: TaskData) -> None:
    """DELETEQ TD."""
    _target(alias, task).delete(task)
    alias.deletes += 1


# -- remote ---------------------------------------------------------------------------------------------------------


def _link(queue: RemoteTdQueue, task: TaskData) -> RegionLink:
    return task._region.link(queue.remotesystem)


def _read_there(queue: RemoteTdQueue, task: TaskData, busy: bool, length: int | None) -> bytes:
    """READQ TD."""
    record = _link(queue, task).ship(task, READQ, queue.remotename, length=length, nosuspend=busy)
    queue.reads += 1
    return record


def _write_there(queue: RemoteTdQueue, task: TaskData, data: bytes, length: int | None) -> None:
    """WRITEQ TD: without LENGTH at most REMOTELENGTH bytes are sent, if REMOTELENGTH is more than 1."""
    if length is None and queue.remotelength > 1:
        data = data[: queue.remotelength]
    _link(queue, task).ship(task, WRITEQ, queue.remotename, data=data)
    queue.writes += 1


def _delete_there(queue: RemoteTdQueue, task: TaskData) -> None:
    """DELETEQ TD."""
    _link(queue, task).ship(task, DELETEQ, queue.remotename)
    queue.deletes += 1


_INTRA: Final = {
    "NO": _Works(volatile.read, volatile.write, volatile.clear),
    "PHYSICAL": _Works(physical.read, physical.write, physical.clear),
    "LOGICAL": _Works(logical.read, logical.write, logical.clear),
}
_OTHERS: Final = {
    "EXTRA": _Works(_get_record, _put_record, _never),
    "INDIRECT": _Works(_read_target, _write_target, _delete_target),
    "REMOTE": _Works(_read_there, _write_there, _delete_there),
}


def _works(queue: TdQueue) -> _Works:
    """See the table of the module."""
    return _INTRA[queue.recovstatus] if isinstance(queue, IntraTdQueue) else _OTHERS[queue.type]
