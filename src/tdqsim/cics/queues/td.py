"""READQ TD, WRITEQ TD and DELETEQ TD.

Three short ways are written flat in the methods: for an enabled non-recoverable queue (``plain``), for an enabled
logically recoverable one (``swift``) and for the open data set of an enabled extrapartition one (``quick``), all in a
region without security and hook and without options. All else goes through the functions below them, in the order of
decision of :mod:`~tdqsim.cics.queues.checks`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from tdqsim.cics.kernel.command import Flag, Opt, command, declared
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.issue import issued
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.queues.checks import check_state, final_target
from tdqsim.cics.queues.intra import SLOT_BITS
from tdqsim.cics.queues.kinds import ExtraQueue, IntraQueue, RemoteQueue, TdQueue
from tdqsim.cics.uow.locks import ASKED, READ_OUT, Lock, Standing
from tdqsim.core.dispatch import WAIT
from tdqsim.errors import DatasetError, StoreDamaged, StoreFull
from tdqsim.facts import LIMITS, Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.queues.kinds import RemoteLink
    from tdqsim.cics.uow.logical import LogicalWork
    from tdqsim.cics.uow.unit import UnitOfWork

__all__ = [
    "check_size",
    "delete_local",
    "deleteq_td",
    "logical_attempt",
    "read_local",
    "readq_td",
    "write_local",
    "writeq_td",
]

_QueueName = Annotated[str, Opt("name", 4, "QUEUE")]
_Sysid = Annotated[str | None, Opt("name", 4, "SYSID")]
_LONGEST = LIMITS["length_option_maximum"]


@declared(
    "WRITEQ TD",
    "DISABLED ERROR INVREQ IOERR ISCINVREQ LENGERR LOCKED NOSPACE NOTAUTH NOTOPEN QIDERR SYSIDERR",
)
def writeq_td(  # noqa: C901, PLR0912  (three short ways written flat: a call would cost what they save)
    task: TaskBase,
    queue: _QueueName,
    from_: Annotated[bytes, Opt("data", word="FROM")],
    length: Annotated[int | None, Opt("halfword", 2)] = None,
    *,
    sysid: _Sysid = None,
    nohandle: Flag = False,
) -> None:
    """Write a record to the end of a queue.

    Args:
        queue: the queue's name, 1 to 4 characters.
        from_: the record; 1 byte to the longest the queue takes.
        length: how many bytes of ``from_`` are the record; all of them when not given.
        sysid: the system that has the queue; local definitions are then not looked at.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: DISABLED, INVREQ, IOERR, ISCINVREQ, LENGERR, LOCKED, NOSPACE, NOTAUTH, NOTOPEN, QIDERR, SYSIDERR.
    """
    q = task._queues.get(queue)
    if q is not None and q.plain and length is None and sysid is None and from_.__class__ is bytes:
        size = len(from_)
        if 0 < size <= q.ci_left:
            try:
                q.put(from_)
            except StoreFull:
                pass  # the long way says NOSPACE
            else:
                q.ci_left -= size
                q.writes += 1
                task.eib.last = q.write_ok
                if q.trace is not None:
                    q.trace(("WRITEQ TD", task.number, q.name, from_, task.region.clock.time_ns()))
                if q.stored.count >= q.fire_at:
                    task.region.ati.written(q, task)
                if task.outside:
                    task.let_others_run()
                return
    elif q is not None and q.swift and length is None and sysid is None and from_.__class__ is bytes:
        try:
            if not _write_shortly(task, q, from_):
                _check_length(task, from_, None)
                _write_logical(task, q, from_)
        except Condition as condition:
            if q.trace is not None:
                task.region.record(task, "WRITEQ TD", {"queue": queue, "from_": from_}, condition)
            task.respond(condition, "WRITEQ TD", queue, nohandle=nohandle, otherwise=None)
            return
        q.writes += 1
        task.eib.last = q.write_ok
        if q.trace is not None:
            now = task.region.clock.time_ns()
            q.trace(("WRITEQ TD", task.number, q.name, from_, now, task.transid, task._uow.id))
        if task.outside and ((others := task.region.dispatcher)._ready or others._deadlines):  # noqa: SLF001
            task.let_others_run()
        return
    elif q is not None and q.quick and length is None and sysid is None and from_.__class__ is bytes:
        put = q.put
        if put is not None and from_:
            try:
                put(from_)
            except DatasetError as error:
                task.respond(q.file.refused(error), "WRITEQ TD", queue, nohandle=nohandle, otherwise=None)
                return
            q.writes += 1
            task.eib.last = q.write_ok
            if task.outside:
                task.let_others_run()
            return
    _write_long(task, queue, from_, length, sysid, nohandle=nohandle)


@declared(
    "READQ TD",
    "DISABLED INVREQ IOERR ISCINVREQ LENGERR LOCKED NOTAUTH NOTOPEN QBUSY QIDERR QZERO SYSIDERR",
    receives={"INTO": Opt("data"), "SET": Opt("pointer", 4), "LENGTH": Opt("halfword", 2)},
)
def readq_td(  # noqa: C901, PLR0912  (three short ways written flat: a call would cost what they save)
    task: TaskBase,
    queue: _QueueName,
    length: Annotated[int | None, Opt("halfword", 2)] = None,
    *,
    sysid: _Sysid = None,
    nosuspend: Flag = False,
    nohandle: Flag = False,
) -> bytes:
    """Read the next record of a queue, which is then gone.

    Args:
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
    q = task._queues.get(queue)
    if q is not None and q.plain and length is None and sysid is None:
        stored = q.stored
        count = stored.count
        if count:
            try:
                data: bytes = q.take()
            except StoreDamaged:
                pass  # the long way says IOERR
            else:
                q.reads += 1
                q.peak = max(q.peak, count)
                if count == 1 or stored._head >> SLOT_BITS != q.head_ci:  # noqa: SLF001  (first_seq costs a search)
                    task.region.intra.taken(q)
                task.eib.last = q.read_ok
                if q.trace is not None:
                    q.trace(("READQ TD", task.number, q.name, data, task.region.clock.time_ns()))
                if task.outside:
                    task.let_others_run()
                return data
    elif q is not None and q.swift and length is None and sysid is None:
        try:
            record = _read_shortly(task, q)
            if record is None:
                busy = nosuspend or (not nohandle and task.handles_condition(Resp.QBUSY))
                record = _read_logical(task, q, busy)
        except Condition as condition:
            if q.trace is not None:
                task.region.record(task, "READQ TD", {"queue": queue}, condition)
            return task.respond(condition, "READQ TD", queue, nohandle=nohandle, otherwise=b"")
        q.reads += 1
        task.eib.last = q.read_ok
        if q.trace is not None:
            now = task.region.clock.time_ns()
            q.trace(("READQ TD", task.number, q.name, record, now, task.transid, task._uow.id))
        if task.outside and ((others := task.region.dispatcher)._ready or others._deadlines):  # noqa: SLF001
            task.let_others_run()
        return record
    elif q is not None and q.quick and length is None and sysid is None:
        get = q.get
        if get is not None:
            try:
                data = get()
            except DatasetError as error:
                return task.respond(q.file.refused(error), "READQ TD", queue, nohandle=nohandle, otherwise=b"")
            if data is not None:  # at the end the long way says QZERO
                q.reads += 1
                task.eib.last = q.read_ok
                if task.outside:
                    task.let_others_run()
                return data
    return _read_long(task, queue, length, sysid, nosuspend=nosuspend, nohandle=nohandle)


@command("DELETEQ TD", "DISABLED INVREQ ISCINVREQ LOCKED NOTAUTH QIDERR SYSIDERR", resource="queue")
def deleteq_td(task: TaskBase, queue: _QueueName, *, sysid: _Sysid = None, nohandle: Flag = False) -> None:
    """Remove every record of an intrapartition queue; the queue itself stays.

    Args:
        queue: the queue's name, 1 to 4 characters.
        sysid: the system that has the queue; local definitions are then not looked at.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: DISABLED, INVREQ (an extrapartition queue), ISCINVREQ, LOCKED, NOTAUTH, QIDERR, SYSIDERR.
    """
    _deleteq(task, queue, sysid)


# -- names ----------------------------------------------------------------------------------------------------------


def _name(queue: object) -> str:
    """The queue's name without trailing blanks; QIDERR for one that no queue can have."""
    if not isinstance(queue, str):
        raise TypeError(f"queue {queue!r}: the name of a queue is a str of 1 to 4 characters")
    return queue.rstrip(" ")


def _link(task: TaskBase, queue: object, sysid: str | None) -> tuple[RemoteLink, str, int] | TdQueue:
    """The local queue, or the link, the name over there, and REMOTELENGTH (0 when the definition does not matter)."""
    region = task.region
    name = _name(queue)
    if sysid is not None and sysid.rstrip(" ") != region.sysid:
        return region.link(sysid.rstrip(" ")), name, 0
    target = final_target(region, name)
    if name != target.name:
        _count_alias(task, name)
    if not isinstance(target, RemoteQueue):
        return target
    check_state(task, "READQ TD", target)
    return region.link(target.remotesystem), target.remotename, target.remotelength


def _count_alias(task: TaskBase, name: str) -> None:
    """Remember the alias that was used, so that its own counts go up when the request has gone well."""
    task.alias = task.region.tdqueues[name]


# -- WRITEQ ---------------------------------------------------------------------------------------------------------


def _writeq(
    task: TaskBase, queue: object, from_: object, length: int | None, sysid: str | None, *, nohandle: bool = False
) -> None:
    data = _record(from_, length)
    where = _link(task, queue, sysid)
    if isinstance(where, tuple):
        if length is not None and not 0 < length <= _LONGEST:
            raise Condition(Resp.LENGERR, detail=f"LENGTH is {length}; allowed are 1 to {_LONGEST}")
        link, name, remotelength = where
        size = length if length is not None else min(len(data), remotelength) if remotelength > 1 else len(data)
        link.ship(task, "WRITEQ TD", name, data=data[:size])
        _count(task, _local(task, queue), "writes")
        return
    write_local(task, where, data, length)


_write_long = issued("WRITEQ TD", _writeq, resource="queue", otherwise=None)


def _record(from_: object, length: int | None) -> bytes:
    if not isinstance(from_, bytes | bytearray | memoryview):
        raise TypeError(
            f"from_ is {type(from_).__name__}; a record is bytes (text is encoded at the edge, by a code page)"
        )
    data = bytes(from_)
    if length is None or length < 0:
        return data
    return data[:length]


def _local(task: TaskBase, queue: object) -> TdQueue | None:
    """The local entry of a shipped request, for its counts."""
    return task.region.tdqueues.get(_name(queue))


def _count(task: TaskBase, queue: TdQueue | None, what: str) -> None:
    if queue is not None:
        setattr(queue, what, getattr(queue, what) + 1)
    alias, task.alias = task.alias, None
    if alias is not None and alias is not queue:
        setattr(alias, what, getattr(alias, what) + 1)


def write_local(task: TaskBase, queue: TdQueue, data: bytes, length: int | None = None) -> None:
    """WRITEQ to a queue of this region, from the security check on; a mirror task calls it too."""
    check_state(task, "WRITEQ TD", queue)
    if isinstance(queue, ExtraQueue):
        if not data or (length is not None and length <= 0):
            raise Condition(
                Resp.LENGERR, detail=f"LENGTH is {len(data) if length is None else length}; it is 1 or more"
            )
        assert queue.file is not None, queue
        queue.file.write(task, data)
    else:
        assert isinstance(queue, IntraQueue), queue
        _check_length(task, data, length)
        _WRITERS[queue.recovstatus](task, queue, data)
    _count(task, queue, "writes")


def _check_length(task: TaskBase, data: bytes, length: int | None) -> None:
    longest = task.region.intra.longest
    if length is not None and not 0 < length <= _LONGEST:
        raise Condition(Resp.LENGERR, detail=f"LENGTH is {length}; allowed are 1 to {longest}")
    check_size(longest, len(data))


def check_size(longest: int, size: int) -> None:
    """Whether a record of ``size`` bytes is one for an intrapartition queue; LENGERR otherwise."""
    if not 0 < size <= longest:
        raise Condition(Resp.LENGERR, detail=f"the record has {size} bytes; allowed are 1 to {longest}")


def _write_no(task: TaskBase, queue: IntraQueue, data: bytes) -> None:
    _put(task, queue, data)
    if queue.stored.count >= queue.fire_at:
        task.region.ati.written(queue, task)


def _write_physical(task: TaskBase, queue: IntraQueue, data: bytes) -> None:
    region = task.region
    _put(task, queue, data)
    due = queue.stored.count >= queue.fire_at and region.ati.due(queue, task)
    try:
        region.force()
    except StoreFull as error:  # the store has undone the write; so must the account of room and the cycle be
        region.intra.close_queue(queue)
        region.intra.open_queue(queue)
        if due:
            region.ati.emptied(queue)
        raise Condition(Resp.NOSPACE, detail=str(error)) from error
    if due:
        region.ati.schedule(queue)


def _put(task: TaskBase, queue: IntraQueue, data: bytes) -> None:
    space = task.region.intra
    before = space.mark(queue)
    stored = queue.stored
    seq = space.place(queue, len(data), stored.last_seq, empty=not stored.count)
    try:
        stored.put(data, seq=seq)
    except StoreFull as error:
        space.restore(queue, before)
        space.nospace += 1
        raise Condition(Resp.NOSPACE, detail=str(error)) from error


def _write_shortly(task: TaskBase, queue: IntraQueue, data: bytes) -> bool:
    """WRITEQ when the write end is free or one's own and the control interval at hand has room; else False."""
    uow = task._uow  # noqa: SLF001  (the property costs a call)
    if uow is None:
        uow = task._uow = task.region.new_uow(task)  # noqa: SLF001
    lock: Any = queue.write_end
    owner = lock.owner
    if owner is not uow and (owner is not None or lock.waiting._waiters):  # noqa: SLF001  (its truth costs a call)
        return False
    if not (uow.work.get(queue) or uow.on(queue)).write_in_place(data):
        return False
    if owner is None:  # as lock.take() does
        lock.owner, lock.since_ns = uow, task.region.clock.time_ns()
        uow.locks.append(lock)
    return True


def _write_logical(task: TaskBase, queue: IntraQueue, data: bytes) -> None:
    assert queue.write_end is not None, queue
    _lock(task, queue.write_end)
    task.uow.on(queue).write(data)


_WRITERS: dict[str, Callable[[TaskBase, IntraQueue, bytes], None]] = {
    "NO": _write_no,
    "PHYSICAL": _write_physical,
    "LOGICAL": _write_logical,
}


# -- READQ ----------------------------------------------------------------------------------------------------------


def _readq(
    task: TaskBase,
    queue: object,
    length: int | None,
    sysid: str | None,
    *,
    nosuspend: bool = False,
    nohandle: bool = False,
) -> bytes:
    where = _link(task, queue, sysid)
    busy = nosuspend or (not nohandle and task.handles_condition(Resp.QBUSY))
    if isinstance(where, tuple):
        link, name, _ = where
        if length is not None and length < 0:
            raise _negative(length)
        record = link.ship(task, "READQ TD", name, length=length, nosuspend=busy)
        _count(task, _local(task, queue), "reads")
        return _fit(record, length)
    return read_local(task, where, length, nosuspend=busy)


_read_long = issued("READQ TD", _readq, resource="queue", otherwise=b"")


def read_local(task: TaskBase, queue: TdQueue, length: int | None, *, nosuspend: bool) -> bytes:
    """READQ from a queue of this region, from the security check on; a mirror task calls it too."""
    check_state(task, "READQ TD", queue)
    if length is not None and length < 0:
        raise _negative(length)
    if isinstance(queue, ExtraQueue):
        assert queue.file is not None, queue
        record = queue.file.read(task)
    else:
        assert isinstance(queue, IntraQueue), queue
        record = _READERS[queue.recovstatus](task, queue, nosuspend)
    _count(task, queue, "reads")
    return _fit(record, length)


def _negative(length: int) -> Condition:
    return Condition(Resp.LENGERR, detail=f"LENGTH is {length}; the queue was not read")


def _fit(record: bytes, length: int | None) -> bytes:
    """The record, when the program's area holds it; LENGERR otherwise, the record being gone all the same."""
    if length is None or length >= len(record):
        return record
    raise Condition(
        Resp.LENGERR,
        detail=f"LENGTH is {length}, the record has {len(record)} bytes",
        data=record[:length],
        length=len(record),
    )


def _take(queue: IntraQueue) -> bytes | None:
    try:
        return queue.stored.take()
    except StoreDamaged as error:
        raise Condition(Resp.IOERR, detail=str(error)) from error


def _read_no(task: TaskBase, queue: IntraQueue, nosuspend: bool) -> bytes:  # noqa: ARG001  (one shape for three kinds)
    count = queue.stored.count
    record = _take(queue)
    if record is None:
        raise _qzero(task, queue)
    queue.peak = max(queue.peak, count)
    task.region.intra.taken(queue)
    return record


def _read_physical(task: TaskBase, queue: IntraQueue, nosuspend: bool) -> bytes:  # noqa: ARG001
    region = task.region
    count = queue.stored.count
    try:
        entry = queue.stored.take_entry()
    except StoreDamaged as error:
        raise Condition(Resp.IOERR, detail=str(error)) from error
    if entry is None:
        raise _qzero(task, queue)
    if not task.implicit:  # a command that is a task of its own has no unit of work left to fail
        task.uow.remember_read(queue, entry.seq, entry.data)
    queue.peak = max(queue.peak, count)
    region.force()
    region.intra.taken(queue)
    return entry.data


def _read_shortly(task: TaskBase, queue: IntraQueue) -> bytes | None:
    """READQ of a committed record when the read end is free or one's own; None when the long way must be gone."""
    uow = task._uow  # noqa: SLF001
    if uow is None:
        uow = task._uow = task.region.new_uow(task)  # noqa: SLF001
    lock: Any = queue.read_end
    owner = lock.owner
    if owner is not uow and (owner is not None or lock.waiting._waiters):  # noqa: SLF001  (its truth costs a call)
        return None
    work = uow.work.get(queue) or uow.on(queue)
    try:
        record = work.next_committed()
    except StoreDamaged:  # the long way meets it again, and says IOERR
        return None
    if record is not None and owner is None:  # as lock.take() does
        lock.owner, lock.since_ns = uow, task.region.clock.time_ns()
        uow.locks.append(lock)
    return record


def _read_logical(task: TaskBase, queue: IntraQueue, nosuspend: bool) -> bytes:
    read_end = queue.read_end
    assert read_end is not None, queue
    uow = task.uow
    taken = read_end.owner is not uow
    _lock(task, read_end, nosuspend=nosuspend)
    try:
        record = _next_logical(task, uow.on(queue), nosuspend=nosuspend)
    except (StoreDamaged, Condition) as error:
        if taken:
            _unlock(task, read_end)  # a request that ends with a condition keeps nothing
        if isinstance(error, StoreDamaged):
            raise Condition(Resp.IOERR, detail=str(error)) from error
        if error.resp is Resp.LOCKED:
            queue.write_end.refused()  # type: ignore[union-attr]
        raise
    if record is None:
        uow.qzero[queue] = None
        raise Condition(Resp.QZERO, detail=f"queue {queue.name} is empty")
    return record


def _next_logical(task: TaskBase, work: LogicalWork, *, nosuspend: bool) -> bytes | None:
    """The next record, waited for if need be; None at QZERO."""
    queue = work.queue
    write_end, td_read = queue.write_end, queue.td_read
    assert write_end is not None, queue
    assert td_read is not None, queue
    end, uow = write_end, task.uow
    record = logical_attempt(work, end, uow)
    if record is not WAIT:
        return record  # type: ignore[no-any-return]
    if nosuspend:
        raise Condition(Resp.QBUSY, detail=f"no committed record is left, and {end.holder()}")
    return task.wait(lambda: logical_attempt(work, end, uow), td_read, "TD_READ", queue.name)  # type: ignore[no-any-return]


def logical_attempt(work: LogicalWork, write_end: Lock, uow: UnitOfWork | None) -> Any:
    """The next record; None when there is none and nobody else may yet commit one; WAIT when somebody may."""
    record = work.next_committed()
    if record is not None:
        return record
    owner = write_end.owner
    if owner is None or owner is uow:
        return work.next_own()
    if READ_OUT[write_end.standing(uow)] is Resp.LOCKED:
        raise Condition(Resp.LOCKED, detail=f"no committed record is left, and {write_end.holder()}")
    return WAIT


_READERS: dict[str, Callable[[TaskBase, IntraQueue, bool], bytes]] = {
    "NO": _read_no,
    "PHYSICAL": _read_physical,
    "LOGICAL": _read_logical,
}


def _qzero(task: TaskBase, queue: IntraQueue) -> Condition:
    task.region.ati.emptied(queue)
    return Condition(Resp.QZERO, detail=f"queue {queue.name} is empty")


# -- DELETEQ --------------------------------------------------------------------------------------------------------


def _deleteq(task: TaskBase, queue: object, sysid: str | None) -> None:
    where = _link(task, queue, sysid)
    if isinstance(where, tuple):
        link, name, _ = where
        link.ship(task, "DELETEQ TD", name)
        _count(task, _local(task, queue), "deletes")
        return
    delete_local(task, where)


def delete_local(task: TaskBase, queue: TdQueue) -> None:
    """DELETEQ of a queue of this region, from the security check on; a mirror task calls it too."""
    check_state(task, "DELETEQ TD", queue)
    assert isinstance(queue, IntraQueue), queue
    if queue.read_end is not None and queue.write_end is not None:
        taken = queue.read_end.owner is not task.uow
        _lock(task, queue.read_end)
        try:
            _lock(task, queue.write_end)
        except Condition:
            if taken:
                _unlock(task, queue.read_end)  # a request that was refused keeps nothing
            raise
        task.uow.on(queue).delete()
        task.uow.qzero[queue] = None
    else:
        _clear(task, queue)
    _count(task, queue, "deletes")


def _clear(task: TaskBase, queue: IntraQueue) -> None:
    region = task.region
    queue.peak = queue.peak_items
    queue.stored.clear()
    if queue.recovstatus == "PHYSICAL":
        region.forget_last_reads(queue)
        region.force()
    region.intra.taken(queue)
    region.ati.emptied(queue)


# -- locks ----------------------------------------------------------------------------------------------------------


def _lock(task: TaskBase, lock: Lock, *, nosuspend: bool = False) -> None:
    """Get one end of a queue for the task's unit of work, waiting for it if need be.

    Raises:
        Condition: LOCKED when a shunted unit of work retains it; QBUSY when it would have to wait and must not.
    """
    uow = task.uow
    if lock.owner is uow:
        return
    if lock.owner is None and not lock.waiting:
        lock.take(uow, task.region.clock.time_ns())
        return
    if nosuspend and ASKED[lock.standing(uow)] is None:
        raise Condition(Resp.QBUSY, detail=f"the {lock.end} end of queue {lock.queue.name} is {lock.holder()}")
    try:
        task.wait(lambda: _try_lock(task, lock), lock.waiting, "ENQUEUE", "TDNQ")
    finally:  # one that gives up may have been the last user of a queue that is being disabled
        if lock.queue.enablestatus is Cvda.DISABLING:
            task.region.settle_disable(lock.queue)


def _try_lock(task: TaskBase, lock: Lock) -> Any:
    standing = lock.standing(task.uow)
    if ASKED[standing] is Resp.LOCKED:
        lock.refused()
        raise Condition(Resp.LOCKED, detail=f"the {lock.end} end of queue {lock.queue.name} is {lock.holder()}")
    if standing is not Standing.HELD and lock.waiting.is_first(task.region.dispatcher.current):
        lock.take(task.uow, task.region.clock.time_ns())
        return None
    return WAIT


def _unlock(task: TaskBase, lock: Lock) -> None:
    """Give back an end that a refused request had just taken."""
    uow = task.uow
    if lock.owner is uow and not uow.on(lock.queue).changed:
        uow.locks.remove(lock)
        lock.release()
        if lock.queue.enablestatus is Cvda.DISABLING:
            task.region.settle_disable(lock.queue)
