"""READQ TD, WRITEQ TD and DELETEQ TD: one way each.

A request looks its queue up, has it do what it does as it stands (see :mod:`~tdqsim.cics.queues.kinds`), and notes the
end in the EIB. Options change the arguments, not the way. What a program may not do, who looks on and names that are
not just those of a queue are found by :meth:`~tdqsim.cics.queues.directory.Directory.find`; a condition is handled by
:meth:`~tdqsim.cics.kernel.task.TaskBase.respond`.
"""

from __future__ import annotations

from _thread import get_ident
from typing import Annotated, Final

from tdqsim.cics.kernel.command import Flag, From, HalfwordOrNone, Opt, declared
from tdqsim.cics.kernel.conditions import AREAS, Condition, check_sent
from tdqsim.cics.kernel.handling import NO_HANDLES
from tdqsim.cics.kernel.issue import check_flag
from tdqsim.cics.kernel.task import TaskBase, let_others_run, refuse, respond
from tdqsim.cics.model.queue import RequestTarget
from tdqsim.cics.queues.directory import empty, fit
from tdqsim.cics.queues.kinds import read_negative
from tdqsim.core.argument_types import BARE, raise_wrong_type
from tdqsim.facts import LIMITS, Resp

__all__ = ["deleteq_td", "readq_td", "writeq_td"]

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
        task: who issues it.
        queue: the queue's name, 1 to 4 characters.
        from_: the record; 1 byte to the longest the queue takes.
        length: how many bytes of ``from_`` are the record; all of them when not given.
        sysid: the system that has the queue; local definitions are then not looked at.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: DISABLED, INVREQ, IOERR, ISCINVREQ, LENGERR, LOCKED, NOSPACE, NOTAUTH, NOTOPEN, QIDERR, SYSIDERR.
        UsageError: ``length`` is more than ``from_`` has: CICS would read beyond it.
    """
    if get_ident() != task._region.dispatcher.thread:
        refuse(task, _WRITEQ)
    if nohandle is not False and nohandle is not True:
        check_flag(_WRITEQ, "nohandle", nohandle)  # type: ignore[unreachable]  # programs may have no types
    try:
        if length is not None or from_.__class__ is not bytes:
            from_ = _record(from_, length)
        found = task._queues.get(queue) if sysid is None else None
        if found is None:
            found = _find(task, _WRITEQ, queue, sysid)
        write = found.write  # what an attribute holds costs more when it is called by the attribute's name
        write(task, from_, length)
    except Condition as condition:
        respond(task, condition, _WRITEQ, _shown(queue), nohandle=nohandle, otherwise=None)
        return
    except BARE as error:
        raise_wrong_type(error, _WRITEQ, writeq_td, (task, queue, from_, length), {"sysid": sysid})
        raise
    task.eib.last = found.write_ok
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
        task: who issues it.
        queue: the queue's name, 1 to 4 characters.
        length: bytes of the area (INTO); the whole record is returned when not given, as with SET.
        sysid: the system that has the queue; local definitions are then not looked at.
        nosuspend: QBUSY instead of waiting for another task's unit of work.
        nohandle: raise nothing; the response is in the EIB, and with LENGERR the truncated record is returned.

    Returns:
        The record; nothing when there was an exception, as the EIB says. Only a data set can hold an empty record.

    Raises:
        Condition: DISABLED, INVREQ, IOERR, ISCINVREQ, LENGERR (with ``data`` and ``length``), LOCKED, NOTAUTH,
            NOTOPEN, QBUSY, QIDERR, QZERO, SYSIDERR.
    """
    if get_ident() != task._region.dispatcher.thread:
        refuse(task, _READQ)
    if nohandle is not False and nohandle is not True:
        check_flag(_READQ, "nohandle", nohandle)  # type: ignore[unreachable]  # programs may have no types
    try:
        found = task._queues.get(queue) if sysid is None else None
        if found is None:
            found = _find(task, _READQ, queue, sysid)
        if length is not None and length < 0:
            return read_negative(found, task, length) or b""
        # HANDLE CONDITION QBUSY is as good as NOSUSPEND
        if nosuspend is False:
            busy = task._handles is not NO_HANDLES and not nohandle and Resp.QBUSY in task._handles.labels
        else:
            check_flag(_READQ, "nosuspend", nosuspend)
            busy = True
        read = found.read
        record = read(task, busy, length)
        if length is not None and record is not None:
            record = fit(record, length)
    except Condition as condition:
        return respond(task, condition, _READQ, _shown(queue), nohandle=nohandle, otherwise=b"")
    except BARE as error:
        raise_wrong_type(error, _READQ, readq_td, (task, queue, length), {"sysid": sysid})
        raise
    if record is None:
        return respond(task, empty(found.name), _READQ, found.name, nohandle=nohandle, otherwise=b"")
    task.eib.last = found.read_ok
    if task._outside:
        let_others_run(task)
    return record


@declared(_DELETEQ, "DISABLED INVREQ ISCINVREQ LOCKED NOTAUTH QIDERR SYSIDERR")
def deleteq_td(task: TaskBase, queue: QueueName, *, sysid: Sysid = None, nohandle: Flag = False) -> None:
    """Remove every record of an intrapartition queue; the queue itself stays.

    Args:
        task: who issues it.
        queue: the queue's name, 1 to 4 characters.
        sysid: the system that has the queue; local definitions are then not looked at.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: DISABLED, INVREQ (an extrapartition queue), ISCINVREQ, LOCKED, NOTAUTH, QIDERR, SYSIDERR.
    """
    if get_ident() != task._region.dispatcher.thread:
        refuse(task, _DELETEQ)
    if nohandle is not False and nohandle is not True:
        check_flag(_DELETEQ, "nohandle", nohandle)  # type: ignore[unreachable]  # programs may have no types
    try:
        found = task._queues.get(queue) if sysid is None else None
        if found is None:
            found = _find(task, _DELETEQ, queue, sysid)
        found.delete(task)
    except Condition as condition:
        respond(task, condition, _DELETEQ, _shown(queue), nohandle=nohandle, otherwise=None)
        return
    except BARE as error:
        raise_wrong_type(error, _DELETEQ, deleteq_td, (task, queue), {"sysid": sysid})
        raise
    task.eib.last = found.delete_ok
    if task._outside:
        let_others_run(task)


def _find(task: TaskBase, command: str, queue: object, sysid: str | None) -> RequestTarget:
    if task._ended or task._region.closed:
        refuse(task, command)
    return task._region.directory.find(queue, sysid)


def _shown(queue: object) -> str:
    return queue.rstrip(" ") if isinstance(queue, str) else ""


def _record(from_: object, length: int | None) -> bytes:
    """The record that FROM and LENGTH are; nothing for a LENGTH that no record can have, which the queue refuses."""
    if not isinstance(from_, AREAS):
        raise TypeError(
            f"from_ is {type(from_).__name__}; a record is bytes (text is encoded at the edge, by a code page)"
        )
    data = bytes(from_)
    if length is None:
        return data
    if not 0 < length <= _LONGEST:
        return b""
    check_sent(data, length)
    return data[:length]
