"""How a request finds its queue.

Tasks look a name up in one dictionary, :attr:`Directory.queues`. Its values have ``read``, ``write`` and ``delete``
bound for their current state. :meth:`Directory.find` resolves everything else: names with blanks, SYSID, queues that
are not installed. While the region has a hook, a recorder, a security policy or exit programs, the dictionary is empty,
and ``find`` returns an object that calls these for each request. So a request in a region without them never checks for
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeGuard

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.eib import Completion, completion
from tdqsim.cics.model.queue import DELETEQ, READQ, WRITEQ, IntraTdQueue, RequestTarget, TdQueue
from tdqsim.cics.model.region import Recorder, RegionData, RegionLink
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.queues.binding import bind, read_negative, set_enablestatus
from tdqsim.cics.queues.state_table import check_access, not_installed, target_of
from tdqsim.errors import WrongType
from tdqsim.facts import Cvda, Resp

_QZERO: Final = Resp.QZERO  # a global is faster than the attribute of the enum class


def fit(record: bytes, length: int | None) -> bytes:
    """Return the record if it fits the program's area; else raise LENGERR. The record has left the queue anyway."""
    if length is None or length >= len(record):
        return record
    raise Condition(
        Resp.LENGERR,
        detail=f"LENGTH is {length}, the record has {len(record)} bytes",
        data=record[:length],
        length=len(record),
    )


def _is_negative(length: int | None) -> TypeGuard[int]:
    return length is not None and length < 0


def empty(name: str) -> Condition:
    """The condition QZERO for a queue."""
    return Condition(_QZERO, 0, f"queue {name} is empty")


class Directory:
    """The queues of a region as requests find them.

    Attributes:
        installed: the installed queues by name, in the order of installation.
        queues: the dictionary in which tasks look names up; empty while ``watched`` is true.
        watched: whether there is a hook, a recorder, a security policy or an exit program.
    """

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self.installed: dict[str, TdQueue] = {}
        self.queues: dict[str, RequestTarget] = {}
        self._update_watched()

    @property
    def sysid(self) -> str:
        """The SYSID of the region."""
        return self._region.sysid

    def put_in(self, queue: TdQueue) -> None:
        """Add an installed queue, replacing one of the same name. May be called again."""
        self.queues.pop(queue.name, None)  # the next request calls find()
        self.installed[queue.name] = queue

    def take_out(self, queue: TdQueue) -> None:
        """Remove a queue that is no longer installed. May be called again."""
        self.queues.pop(queue.name, None)
        self.installed.pop(queue.name, None)

    def refresh(self, queue: TdQueue) -> None:
        """Bind the requests of a queue again after it was changed or removed."""
        bind(queue)
        self.show(queue)

    def show(self, queue: TdQueue) -> None:
        """Update :attr:`queues` for a queue that was installed, replaced, changed or removed."""
        self.queues.pop(queue.name, None)
        if not self.watched and not self._region.closed and self.installed.get(queue.name) is queue:
            self.queues[queue.name] = queue

    def refresh_all(self) -> None:
        """Rebuild :attr:`queues` after a change of what makes it watched, or the close of the region."""
        self._update_watched()
        self.queues.clear()
        if not self.watched and not self._region.closed:
            self.queues.update(self.installed)

    def settle_disable(self, queue: TdQueue) -> None:
        """Change DISABLING to DISABLED when no task or unit of work holds the queue or waits for it any more."""
        if queue.enablestatus is not Cvda.DISABLING:
            return
        if isinstance(queue, IntraTdQueue) and any(lock.in_use for lock in queue.locks):
            return
        set_enablestatus(queue, Cvda.DISABLED)
        self.refresh(queue)

    def _update_watched(self) -> None:
        region = self._region
        looked_at = region.hook is not None or region.security is not None or region.recorder is not None
        self.watched = looked_at or region.exits.enabled

    def find(self, name: object, sysid: str | None) -> RequestTarget:
        """Return the target of a request whose name is not in the dictionary.

        Raises:
            Condition: QIDERR, SYSIDERR.
        """
        if not isinstance(name, str):
            raise WrongType(f"queue {name!r}: the name of a queue is a str of 1 to 4 characters")
        if self.watched:
            wrapper = self._watched_target(name, sysid)
            if sysid is None and name in self.installed:
                self.queues[name] = wrapper
            return wrapper
        return self.resolve(name, sysid)

    def _watched_target(self, name: str, sysid: str | None) -> RequestTarget:
        region = self._region
        if region.exits.enabled:
            exited: RequestTarget = region.exits.target(self, name, sysid)
            return exited
        queue = self.installed.get(name) if sysid is None else None
        alone = region.hook is None and region.security is None
        if alone and region.recorder is not None and region.recorder.trace is not None and _is_traced(queue):
            return Recorded(region, queue, region.recorder)
        return Watched(self, name, sysid)

    def resolve(self, name: str, sysid: str | None) -> RequestTarget:
        """Return the queue of a name, or the link to a queue of another system.

        Raises:
            Condition: QIDERR, SYSIDERR.
        """
        region, name = self._region, name.rstrip(" ")
        if sysid is not None and sysid.rstrip(" ") != region.sysid:
            return _RemoteQueue(region.link(sysid.rstrip(" ")), name)
        queue = self.installed.get(name)
        if queue is None:
            raise not_installed(self.installed, name)
        return queue

    def final(self, task: TaskData, name: str, sysid: str | None) -> tuple[RequestTarget, RequestTarget]:
        """Return the named target of a request and its final target after aliases, if the task may access the latter.

        Raises:
            Condition: QIDERR, SYSIDERR, NOTAUTH.
        """
        named = self.resolve(name, sysid)
        if not isinstance(named, TdQueue):
            return named, named
        target = target_of(self.installed, named) if named.type == "INDIRECT" else named
        check_access(task, target)
        return named, target


class _RemoteQueue:
    """A queue of another system that was named with SYSID; local definitions are ignored."""

    __slots__ = ("_link", "name", "read_ok", "write_ok")

    def __init__(self, link: RegionLink, name: str) -> None:
        self._link = link
        self.name = name
        self.read_ok = completion(READQ, name)
        self.write_ok = completion(WRITEQ, name)

    @property
    def delete_ok(self) -> Completion:
        return completion(DELETEQ, self.name)

    def read(self, task: TaskData, busy: bool, length: int | None) -> bytes:
        return self._link.ship(task, READQ, self.name, length=length, nosuspend=busy)

    def write(self, task: TaskData, data: bytes, _length: int | None) -> None:
        self._link.ship(task, WRITEQ, self.name, data=data)

    def delete(self, task: TaskData) -> None:
        self._link.ship(task, DELETEQ, self.name)


def _is_traced(queue: RequestTarget | None) -> TypeGuard[IntraTdQueue]:
    """Whether the recorder gets the queue's requests as tuples, as it has requested."""
    return isinstance(queue, IntraTdQueue) and queue.recovstatus != "PHYSICAL"


class Recorded:
    """A queue that is recorded and not otherwise watched: one tuple for each successful request.

    :class:`~tdqsim.cics.model.region.Recorder` describes the tuple.

    Attributes:
        name: the queue's.
    """

    __slots__ = ("_logical", "_now", "_queue", "_recorder", "_trace", "name", "read_ok", "write_ok")

    def __init__(self, region: RegionData, queue: IntraTdQueue, recorder: Recorder[TaskData]) -> None:
        self._queue = queue
        self._recorder = recorder
        self._trace = recorder.trace
        self._now = region.clock.time_ns
        self._logical = queue.recovstatus == "LOGICAL"
        self.name = queue.name
        self.read_ok = queue.read_ok
        self.write_ok = queue.write_ok

    @property
    def delete_ok(self) -> Completion:
        """The EIB fields after DELETEQ TD."""
        return self._queue.delete_ok

    def note(self, task: TaskData, command: str, data: bytes) -> None:
        """Record a successful request."""
        trace, now = self._trace, self._now  # calling a local is faster than calling an attribute
        assert trace is not None  # a queue is recorded only for a recorder with this option
        if self._logical:
            assert task._unit is not None
            trace((command, task.number, self.name, data, now(), task.transid, task._unit.id))
        else:
            trace((command, task.number, self.name, data, now()))

    def _record(self, task: TaskData, command: str, outcome: object, **options: object) -> None:
        self._recorder.command(task, command, {"queue": self.name, **options, "sysid": None}, outcome)

    def read(self, task: TaskData, busy: bool, length: int | None) -> bytes | None:
        """READQ TD."""
        read = self._queue.read
        try:
            data = read_negative(self._queue, task, length) if _is_negative(length) else read(task, busy, length)
            if length is not None and data is not None:
                data = fit(data, length)
        except Condition as condition:
            self._record(task, READQ, condition, length=length, nosuspend=busy)
            raise
        if data is None:
            self._record(task, READQ, empty(self.name), length=length, nosuspend=busy)
        else:
            self.note(task, READQ, data)
        return data

    def write(self, task: TaskData, data: bytes, length: int | None) -> None:
        """WRITEQ TD."""
        write = self._queue.write
        try:
            write(task, data, length)
        except Condition as condition:
            self._record(task, WRITEQ, condition, from_=data, length=length)
            raise
        self.note(task, WRITEQ, data)

    def delete(self, task: TaskData) -> None:
        """DELETEQ TD."""
        try:
            self._queue.delete(task)
        except Condition as condition:
            self._record(task, DELETEQ, condition)
            raise
        self._record(task, DELETEQ, None)


class Watched:
    """A name whose requests are watched: hook and recorder are called before and after each, whatever its outcome."""

    __slots__ = ("_directory", "_name", "_sysid", "read_ok", "write_ok")

    def __init__(self, directory: Directory, name: str, sysid: str | None) -> None:
        self._directory = directory
        self._name = name
        self._sysid = sysid
        self.read_ok = completion(READQ, name.rstrip(" "))
        self.write_ok = completion(WRITEQ, name.rstrip(" "))

    @property
    def name(self) -> str:
        """The queue's name, as the program gave it."""
        return self._name.rstrip(" ")

    @property
    def delete_ok(self) -> Completion:
        """The EIB fields after DELETEQ TD."""
        return completion(DELETEQ, self.name)

    def _before(self, task: TaskData, command: str, arguments: Mapping[str, object]) -> None:
        hook = task._region.hook
        if hook is not None:
            hook.before(task, command, arguments)

    def _after(self, task: TaskData, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        region = task._region
        if region.hook is not None:
            region.hook.after(task, command, arguments, outcome)
        if region.recorder is not None:
            region.recorder.command(task, command, arguments, outcome)

    def _trace(self, task: TaskData, command: str, target: RequestTarget, data: bytes) -> bool:
        """Record a successful request as a tuple, if that is all that the recorder needs."""
        region = task._region
        if region.hook is not None or region.recorder is None or region.recorder.trace is None:
            return region.hook is None and region.recorder is None
        if not _is_traced(target):
            return False
        Recorded(region, target, region.recorder).note(task, command, data)
        return True

    def read(self, task: TaskData, busy: bool, length: int | None) -> bytes:
        """READQ TD."""
        arguments = {"queue": self._name, "length": length, "sysid": self._sysid, "nosuspend": busy}
        try:
            self._before(task, READQ, arguments)
            target, data = self._read(task, busy, length)
        except Condition as condition:
            self._after(task, READQ, arguments, condition)
            raise
        if not self._trace(task, READQ, target, data):
            self._after(task, READQ, arguments, data)
        return data

    def write(self, task: TaskData, data: bytes, length: int | None) -> None:
        """WRITEQ TD."""
        arguments = {"queue": self._name, "from_": data, "length": length, "sysid": self._sysid}
        try:
            self._before(task, WRITEQ, arguments)
            target = self._write(task, data, length)
        except Condition as condition:
            self._after(task, WRITEQ, arguments, condition)
            raise
        if not self._trace(task, WRITEQ, target, data):
            self._after(task, WRITEQ, arguments, None)

    def delete(self, task: TaskData) -> None:
        """DELETEQ TD."""
        arguments = {"queue": self._name, "sysid": self._sysid}
        try:
            self._before(task, DELETEQ, arguments)
            self._delete(task)
        except Condition as condition:
            self._after(task, DELETEQ, arguments, condition)
            raise
        self._after(task, DELETEQ, arguments, None)

    def _read(self, task: TaskData, busy: bool, length: int | None) -> tuple[RequestTarget, bytes]:
        """Read a record; the queue that it came from, and the record."""
        named, target = self._directory.final(task, self._name, self._sysid)
        record = read_negative(named, task, length) if _is_negative(length) else named.read(task, busy, length)
        if record is None:
            raise empty(target.name)
        return target, fit(record, length)

    def _write(self, task: TaskData, data: bytes, length: int | None) -> RequestTarget:
        """Write a record; the queue that it went to."""
        named, target = self._directory.final(task, self._name, self._sysid)
        named.write(task, data, length)
        return target

    def _delete(self, task: TaskData) -> None:
        named, _ = self._directory.final(task, self._name, self._sysid)
        named.delete(task)
