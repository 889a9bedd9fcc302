"""READQ TD, WRITEQ TD and DELETEQ TD.

A request looks up its queue, calls the function bound to it (see :mod:`~tdqsim.cics.queues.binding`), and sets the EIB.
Options change only the arguments of that function. Security, hooks, recorders and names that are not simply names of
installed queues are handled by :meth:`~tdqsim.cics.queues.directory.Directory.find`; a condition is handled by
:func:`~tdqsim.cics.kernel.task.respond`.
"""

from __future__ import annotations

from _thread import get_ident
from operator import index
from typing import Annotated, Final

from tdqsim.cics.kernel.command import Flag, From, HalfwordOrNone, Opt, declared
from tdqsim.cics.kernel.conditions import AREAS, Condition, check_sent
from tdqsim.cics.kernel.issue import check_flag
from tdqsim.cics.kernel.task import TaskBase, let_others_run, refuse, respond
from tdqsim.cics.model.level import NO_HANDLES
from tdqsim.cics.model.queue import RequestTarget
from tdqsim.cics.queues.binding import read_negative
from tdqsim.cics.queues.directory import empty, fit
from tdqsim.core.argument_types import BARE, raise_wrong_type
from tdqsim.errors import WrongType
from tdqsim.facts import LIMITS, Resp

QueueName = Annotated[str, Opt("name", 4, "QUEUE")]
Sysid = Annotated[str | None, Opt("name", 4, "SYSID")]
_LONGEST: Final = LIMITS["length_option_maximum"]
_WRITEQ, _READQ, _DELETEQ = "WRITEQ TD", "READQ TD", "DELETEQ TD"


@declared(
    _WRITEQ,
    "DISABLED ERROR INVREQ IOERR ISCINVREQ LENGERR LOCKED NOSPACE NOTAUTH NOTOPEN QIDERR SYSIDERR",
)
def writeq_td(
    task: TaskBase,
    queue: QueueName,
    from_: From,
    length: HalfwordOrNone = None,
    *,
    sysid: Sysid = None,
    nohandle: Flag = False,
) -> None:
    """Write a record to the end of a queue.

    Args:
        task: the task that issues it.
        queue: the queue's name, 1 to 4 characters.
        from_: the record: at least 1 byte, at most the longest record of the queue.
        length: the number of bytes of ``from_`` to write; all if not given.
        sysid: the system that owns the queue; local definitions are then ignored.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: DISABLED, INVREQ, IOERR, ISCINVREQ, LENGERR, LOCKED, NOSPACE, NOTAUTH, NOTOPEN, QIDERR, SYSIDERR.
        UsageError: ``length`` is more than the length of ``from_``: CICS would read beyond it.
    """
    if get_ident() != task._region.dispatcher.thread:
        refuse(task, _WRITEQ)
    if nohandle is not False and nohandle is not True:
        check_flag(_WRITEQ, "nohandle", nohandle)  # type: ignore[unreachable]  # programs may have no types
    try:
        if length is not None or from_.__class__ is not bytes:
            from_ = _record(queue, from_, length)
        target = task._queues.get(queue) if sysid is None else None
        if target is None:
            target = _find(task, _WRITEQ, queue, sysid)
        write = target.write  # calling a local is faster than calling an attribute
        write(task, from_, length)
    except Condition as condition:
        respond(task, condition, _WRITEQ, _shown(queue), nohandle=nohandle, otherwise=None)
        return
    except BARE as error:
        raise_wrong_type(error, _WRITEQ, writeq_td, (task, queue, from_, length), {"sysid": sysid})
        raise
    task.eib.last = target.write_ok
    if task._outside:
        let_others_run(task)


@declared(
    _READQ,
    "DISABLED INVREQ IOERR ISCINVREQ LENGERR LOCKED NOTAUTH NOTOPEN QBUSY QIDERR QZERO SYSIDERR",
    receives={"INTO": Opt("data"), "SET": Opt("pointer", 4), "LENGTH": Opt("halfword", 2)},
)
def readq_td(
    task: TaskBase,
    queue: QueueName,
    length: HalfwordOrNone = None,
    *,
    sysid: Sysid = None,
    nosuspend: Flag = False,
    nohandle: Flag = False,
) -> bytes:
    """Read the next record of a queue and remove it.

    Args:
        task: the task that issues it.
        queue: the queue's name, 1 to 4 characters.
        length: the length of the area (INTO) in bytes; if not given, the whole record is returned, as with SET.
        sysid: the system that owns the queue; local definitions are then ignored.
        nosuspend: raise QBUSY instead of waiting for another task's unit of work.
        nohandle: return with the response in the EIB instead of raising; after LENGERR the truncated record is
            returned.

    Returns:
        The record; ``b""`` after a condition that was not raised. A record can be empty only in a data set.

    Raises:
        Condition: DISABLED, INVREQ, IOERR, ISCINVREQ, LENGERR (with ``data`` and ``length``), LOCKED, NOTAUTH,
            NOTOPEN, QBUSY, QIDERR, QZERO, SYSIDERR.
    """
    if get_ident() != task._region.dispatcher.thread:
        refuse(task, _READQ)
    if nohandle is not False and nohandle is not True:
        check_flag(_READQ, "nohandle", nohandle)  # type: ignore[unreachable]  # programs may have no types
    try:
        target = task._queues.get(queue) if sysid is None else None
        if target is None:
            target = _find(task, _READQ, queue, sysid)
        if length is not None and (length.__class__ is not int or length < 0) and _whole(_READQ, length) < 0:
            return read_negative(target, task, length) or b""
        # HANDLE CONDITION QBUSY has the same effect as NOSUSPEND
        if nosuspend is False:
            busy = task._handles is not NO_HANDLES and not nohandle and Resp.QBUSY in task._handles.labels
        else:
            check_flag(_READQ, "nosuspend", nosuspend)
            busy = True
        read = target.read
        record = read(task, busy, length)
        if length is not None and record is not None:
            record = fit(record, length)
    except Condition as condition:
        return respond(task, condition, _READQ, _shown(queue), nohandle=nohandle, otherwise=b"")
    except BARE as error:
        raise_wrong_type(error, _READQ, readq_td, (task, queue, length), {"sysid": sysid})
        raise
    if record is None:
        return respond(task, empty(target.name), _READQ, target.name, nohandle=nohandle, otherwise=b"")
    task.eib.last = target.read_ok
    if task._outside:
        let_others_run(task)
    return record


@declared(_DELETEQ, "DISABLED INVREQ ISCINVREQ LOCKED NOTAUTH QIDERR SYSIDERR")
def deleteq_td(task: TaskBase, queue: QueueName, *, sysid: Sysid = None, nohandle: Flag = False) -> None:
    """Remove every record of an intrapartition queue; the queue itself stays.

    Args:
        task: the task that issues it.
        queue: the queue's name, 1 to 4 characters.
        sysid: the system that owns the queue; local definitions are then ignored.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: DISABLED, INVREQ (an extrapartition queue), ISCINVREQ, LOCKED, NOTAUTH, QIDERR, SYSIDERR.
    """
    if get_ident() != task._region.dispatcher.thread:
        refuse(task, _DELETEQ)
    if nohandle is not False and nohandle is not True:
        check_flag(_DELETEQ, "nohandle", nohandle)  # type: ignore[unreachable]  # programs may have no types
    try:
        target = task._queues.get(queue) if sysid is None else None
        if target is None:
            target = _find(task, _DELETEQ, queue, sysid)
        target.delete(task)
    except Condition as condition:
        respond(task, condition, _DELETEQ, _shown(queue), nohandle=nohandle, otherwise=None)
        return
    except BARE as error:
        raise_wrong_type(error, _DELETEQ, deleteq_td, (task, queue), {"sysid": sysid})
        raise
    task.eib.last = target.delete_ok
    if task._outside:
        let_others_run(task)


def _find(task: TaskBase, command: str, queue: object, sysid: str | None) -> RequestTarget:
    if task._ended or task._region.closed:
        refuse(task, command)
    return task._region.directory.find(queue, sysid)


def _shown(queue: object) -> str:
    return queue.rstrip(" ") if isinstance(queue, str) else ""


def _whole(command: str, length: int) -> int:
    """LENGTH, which is refused before a record leaves the queue if it is no whole number; True would be one byte."""
    if length.__class__ is bool:
        raise WrongType(f"{command}: length is {length}; allowed is int or None")
    return index(length)


def _record(queue: str, from_: object, length: int | None) -> bytes:
    """The record given by FROM and LENGTH; empty for a LENGTH below 1, which the queue then refuses."""
    if not isinstance(from_, AREAS):
        cure = f"; region.encode({from_!r:.40}) is text in the region's code page" if isinstance(from_, str) else ""
        raise WrongType(f"WRITEQ TD {queue!r:.40}: from_ is {from_!r:.40}; a record is bytes{cure}")
    data = bytes(from_)
    if length is None:
        return data
    if length.__class__ is not int:
        length = _whole(_WRITEQ, length)
    if not 0 < length <= _LONGEST:
        return b""
    check_sent(data, length)
    return data[:length]
