"""The four kinds of transient data queue as a region holds them, and how each finds what it does to a request.

A request does not ask its queue what it is and how it stands: the queue has bound what it does. :meth:`TdQueue.choose`
binds ``read``, ``write`` and ``delete`` anew whenever something changes that matters, by two tables: what the state
means (:func:`~tdqsim.cics.queues.checks.decide`) and, where that lets a request go on, what the kind and its recovery
do::

    kind               READQ                  WRITEQ                  DELETEQ
    INTRA NO           volatile.read          volatile.write          volatile.clear
    INTRA PHYSICAL     physical.read          physical.write          physical.clear
    INTRA LOGICAL      logical.read           logical.write           logical.clear
    EXTRA              ExtraTdQueue.get_record  ExtraTdQueue.put_record (INVREQ)
    INDIRECT           its target's, found anew by each request; both are counted
    REMOTE             shipped; both ends count

    state              what is bound
    goes on            the above
    DISABLING, INTRA   the above for a unit of work that owns an end, else DISABLED
    else               the condition

The attributes that SET TDQUEUE can change are copied from the definition at install; the rest is read from the
definition.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.eib import Completion, completion
from tdqsim.cics.queues import logical, physical, volatile
from tdqsim.cics.queues.checks import DELETEQ, READQ, WRITEQ, check_state, decide, owns_an_end, refusal, target_of
from tdqsim.cics.queues.intra import NEVER, NO_BOUNDS, IntraSpace
from tdqsim.cics.uow.locks import READ_END, WRITE_END, Lock
from tdqsim.core.dispatch import WaitQueue
from tdqsim.errors import DatasetError
from tdqsim.facts import LIMITS, Cvda, Resp

if TYPE_CHECKING:
    from tdqsim import definitions
    from tdqsim.cics.kernel.signature import Signature
    from tdqsim.cics.queues.ati import Latch

__all__ = [
    "NEVER",
    "ExtraFile",
    "ExtraTdQueue",
    "IndirectTdQueue",
    "IntraTdQueue",
    "RegionLink",
    "RemoteTdQueue",
    "TdQueue",
]

_LONGEST: Final = LIMITS["length_option_maximum"]
_DISABLING: Final = Cvda.DISABLING  # a member costs more when it is looked up in its class


class ExtraFile(Protocol):
    """The data set behind an extrapartition queue. Failures are raised as conditions."""

    def open(self) -> None:
        """Open it; sets the queue's ``openstatus`` and ``emptystatus``. IOERR when it cannot be opened."""

    def close(self) -> None:
        """Close it, writing what is buffered; sets ``openstatus`` and ``emptystatus``. IOERR when that fails."""

    def read(self, task: Any) -> bytes:
        """The next record. QZERO at the end (``emptystatus`` EMPTY), IOERR for a block in error."""

    def write(self, task: Any, data: bytes) -> None:
        """Add a record. LENGERR for a length that does not fit, NOSPACE (``emptystatus`` FULL), IOERR."""

    def drain(self) -> Iterator[bytes]:
        """The records behind the position of an open input data set; each moves it. Failures are the data set's own."""

    def write_all(self, records: Sequence[bytes]) -> None:
        """Add records and count them as the queue's writes, also those before one that fails; failures likewise."""

    def refused(self, error: DatasetError) -> Condition:
        """The condition that a failure of the queue's ``get`` or ``put`` is to a program."""

    def peek(self) -> list[bytes]:
        """All records that can be seen without moving the position of an open input data set."""

    def records(self, skip: int = 0, pause: Callable[[], object] | None = None) -> Iterator[bytes]:
        """Those of :meth:`peek` one by one, behind the first ``skip``; ``pause`` is called while that takes time."""

    def seed(self, records: list[bytes]) -> None:
        """Make the data set hold these records; for a queue that is closed or has not been read."""


class RegionLink(Protocol):
    """A way to another region: what remote queues and SYSID need of it."""

    @property
    def netname(self) -> str:
        """The APPLID of the other region."""

    @property
    def acquired(self) -> bool:
        """Whether the other region is there and the way is open."""

    def resyncstatus(self, uow: Any) -> Cvda:
        """What can be said of a unit of work over it: OK, UNAVAILABLE, or COLD: its coordinator has forgotten it."""

    def ship(
        self,
        task: Any,
        command: str,
        queue: str,
        *,
        data: bytes = b"",
        length: int | None = None,
        nosuspend: bool = False,
    ) -> bytes:
        """Do READQ TD, WRITEQ TD or DELETEQ TD over there.

        Args:
            task: who asks; its unit of work becomes distributed when the queue is recoverable.
            command: the command's name.
            queue: the queue's name in the other region.
            data: the record of WRITEQ.
            length: LENGTH of READQ; None for the whole record. With a negative one nothing is sent.
            nosuspend: NOSUSPEND of READQ.

        Returns:
            The record of READQ, else nothing.

        Raises:
            Condition: as the other region answered, or SYSIDERR when it cannot be reached; else LENGERR for a
                negative length.
        """

    def leave(self) -> None:
        """This region ends, or has failed: the link is gone."""


class TdQueue:
    """What all kinds have.

    Attributes:
        name: 1 to 4 characters, no trailing blanks.
        definition: what was installed.
        signature: who defined and installed it, and when.
        writes, reads, deletes: requests since the last reset of statistics.
        read, write, delete: what it does to a request: ``read(task, busy, length)`` gives a record, or None for the
            QZERO of an empty queue, which is no exception until a program is told; ``busy`` says that it must not wait;
            ``write(task, data, length)`` takes one, with LENGTH as it was given; then ``delete(task)``. Each raises
            Condition and counts the request.
        read_ok, write_ok: what the EIB shows after a request that went well.
    """

    type: ClassVar[str] = ""
    output: Any = False
    is_open: Any = False
    locks: Any = ()
    __slots__ = (
        "_enablestatus",
        "definition",
        "delete",
        "deletes",
        "name",
        "read",
        "read_ok",
        "reads",
        "signature",
        "write",
        "write_ok",
        "writes",
    )

    def __init__(self, name: str, definition: definitions.Tdqueue, signature: Signature) -> None:
        self.name = name
        self.definition: Any = definition
        self.signature = signature
        self._enablestatus = Cvda.ENABLED
        self.writes = self.reads = self.deletes = 0
        self.read: Callable[[Any, bool, int | None], bytes | None]
        self.write: Callable[[Any, bytes, int | None], None]
        self.delete: Callable[[Any], None]
        self.read_ok: Completion = completion(READQ, name)
        self.write_ok: Completion = completion(WRITEQ, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {self.enablestatus.name}>"

    @property
    def enablestatus(self) -> Cvda:
        """ENABLED, DISABLING or DISABLED; of an indirect queue always ENABLED, shown as NOTAPPLIC."""
        return self._enablestatus

    @enablestatus.setter
    def enablestatus(self, status: Cvda) -> None:
        self._enablestatus = status
        self.choose()

    @property
    def delete_ok(self) -> Completion:
        """What the EIB shows after DELETEQ TD."""
        return completion(DELETEQ, self.name)

    def works(self) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        """What it does to READQ, WRITEQ and DELETEQ when they may go on: functions of queue and task."""
        raise NotImplementedError

    def choose(self) -> None:
        """Bind what it does to requests as it stands now."""
        read, write, delete = self.works()
        self.read = self._bound(READQ, read)
        self.write = self._bound(WRITEQ, write)
        self.delete = self._bound(DELETEQ, delete)

    def _bound(self, command: str, does: Callable[..., Any]) -> Any:
        met = decide(self, command)
        if met is Resp.NORMAL:
            return does.__get__(self)
        return partial(_refuse if met is not None else _only_for_users, self, command, does)

    def read_negative(self, task: Any, length: int) -> bytes:
        """READQ TD with a negative LENGTH: nothing is read, whatever there is."""
        check_state(task, READQ, self)
        raise Condition(Resp.LENGERR, detail=f"LENGTH is {length}; the queue was not read")


def _refuse(queue: TdQueue, command: str, _does: Callable[..., Any], *_request: Any) -> Any:
    """A request that the state of the queue does not let go on."""
    raise refusal(queue, command)


def _only_for_users(queue: TdQueue, command: str, does: Callable[..., Any], task: Any, *request: Any) -> Any:
    """A request while the queue waits for its users to end: nobody new is let in."""
    if not owns_an_end(task, queue):
        raise refusal(queue, command)
    return does(queue, task, *request)


_INTRA: Final[dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]]] = {
    "NO": (volatile.read, volatile.write, volatile.clear),
    "PHYSICAL": (physical.read, physical.write, physical.clear),
    "LOGICAL": (logical.read, logical.write, logical.clear),
}


class IntraTdQueue(TdQueue):
    """An intrapartition queue.

    Attributes:
        recovstatus, wait, waitaction: as defined.
        atifacility, facilityid, transid, triggerlevel, userid: as defined, or as SET since. ``facilityid`` is the
            terminal or connection in effect; ``triggerlevel`` is 0 when neither it nor TRANSID was defined.
        stored: the records; of a recoverable queue the committed ones.
        ci_left, bounds, free_at, peak_cis: its account of control intervals, see
            :class:`~tdqsim.cics.queues.intra.IntervalAccount`.
        fire_at: the item count at which a write starts a task; NEVER while none can be started.
        latched: the ATI cycle that is on: a task was scheduled and the queue has not been read to QZERO since; or None.
        cycle: number of the current or last cycle.
        starts: tasks started in this cycle while no more than ``starts_gone`` records had left the queue for good.
        triggers: trigger tasks started since the last reset of statistics.
        failed_start: whether the failure to start a task has been reported.
        taken: of a non-recoverable queue: how many records have left it since it was installed.
        peak: highest item count seen so far; see :attr:`peak_items`.
        read_end, write_end: the locks of a logically recoverable queue; None for others.
    """

    type = "INTRA"
    __slots__ = (
        "_td_read", "atifacility", "bounds", "ci_left", "cycle", "facilityid", "failed_start", "fire_at",
        "free_at", "latched", "peak", "peak_cis", "read_end", "recovstatus", "starts", "starts_gone", "stored",
        "taken", "transid", "triggerlevel", "triggers", "userid", "wait", "waitaction", "write_end",
    )  # fmt: skip

    def __init__(self, name: str, definition: definitions.IntraQueue, signature: Signature, stored: Any) -> None:
        super().__init__(name, definition, signature)
        self.recovstatus: str = definition.recovstatus
        self.atifacility: str = definition.atifacility
        self.facilityid = definition.facility
        self.transid = definition.transid
        self.triggerlevel = definition.level
        self.userid = definition.userid
        self.wait: str = definition.wait
        self.waitaction: str = definition.waitaction
        self.stored = stored
        self.ci_left = -1
        self.bounds: deque[int] = NO_BOUNDS
        self.free_at = NEVER
        self.taken = 0
        self.fire_at = NEVER
        self.latched: Latch | None = None
        self.cycle = 0
        self.starts = self.starts_gone = 0
        self.triggers = 0
        self.failed_start = False
        self.peak = stored.count
        self.peak_cis = 0
        logical = self.recovstatus == "LOGICAL"
        self.read_end: Lock | None = Lock(self, READ_END) if logical else None
        self.write_end: Lock | None = Lock(self, WRITE_END) if logical else None
        self._td_read: WaitQueue | None = None
        self.choose()

    def works(self) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        """See the table of the module."""
        return _INTRA[self.recovstatus]

    @property
    def latch(self) -> bool:
        """Whether an ATI cycle is on."""
        return self.latched is not None

    @property
    def gone(self) -> int:
        """How many records have left it for good."""
        return self.taken if self.recovstatus == "NO" else int(self.stored.now.first) - 1

    @property
    def logical(self) -> bool:
        """Whether it is logically recoverable."""
        return self.read_end is not None

    @property
    def td_read(self) -> WaitQueue | None:
        """Where a reader waits for another's commit; None for queues that are not logically recoverable."""
        if self._td_read is None and self.write_end is not None:
            self._td_read = WaitQueue(f"TD_READ {self.name}", self.write_end.holder)
        return self._td_read

    def released(self) -> bool:
        """An end changed hands: readers that wait for a commit look again. Whether a disable waits for users to end."""
        if self._td_read:
            self._td_read.wake_all()
        return self._enablestatus is _DISABLING

    @property
    def numitems(self) -> int:
        """How many records it holds; of a logically recoverable queue the committed ones."""
        return int(self.stored.count)

    @property
    def peak_items(self) -> int:
        """The highest item count since the last reset of statistics."""
        return max(int(self.peak), self.numitems)

    @property
    def cis(self) -> int:
        """Control intervals in use: an empty queue has none."""
        return IntraSpace.cis(self)

    @property
    def uncommitted(self) -> Any:
        """What a unit of work that has not ended has done to it and holds its write end for; None for none."""
        owner = None if self.write_end is None else self.write_end.owner
        return None if owner is None else owner.works.get(self)

    @property
    def locks(self) -> tuple[Lock, ...]:
        """Its read end and its write end; nothing when it is not logically recoverable."""
        if self.read_end is None or self.write_end is None:
            return ()
        return (self.read_end, self.write_end)


class ExtraTdQueue(TdQueue):
    """An extrapartition queue: a data set, open or not.

    Attributes:
        emptystatus: NOTEMPTY until a request meets the end (EMPTY) or no room (FULL); NOTAPPLIC when closed.
        file: the data set.
        get, put: methods of its open reader or writer; None where the data set's own ``read`` or ``write`` must do.
        output: whether it is written rather than read.
    """

    type = "EXTRA"
    __slots__ = ("_openstatus", "emptystatus", "file", "get", "output", "put")

    def __init__(self, name: str, definition: definitions.ExtraQueue, signature: Signature) -> None:
        super().__init__(name, definition, signature)
        self._openstatus = Cvda.CLOSED
        self.emptystatus = Cvda.NOTAPPLIC
        self.output = self.definition.typefile == "OUTPUT"
        self.file: Any = None
        self.get: Callable[[], bytes | None] | None = None
        self.put: Callable[[bytes], None] | None = None
        self.choose()

    @property
    def openstatus(self) -> Cvda:
        """OPEN, CLOSED, OPENING or CLOSING."""
        return self._openstatus

    @openstatus.setter
    def openstatus(self, status: Cvda) -> None:
        self._openstatus = status
        self.choose()

    @property
    def is_open(self) -> bool:
        """Whether its data set is open."""
        return self._openstatus is Cvda.OPEN

    def works(self) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        """See the table of the module."""
        return (ExtraTdQueue.get_record, ExtraTdQueue.put_record, _never)

    def get_record(self, task: Any, _busy: bool, _length: int | None) -> bytes:
        """READQ TD."""
        get = self.get
        try:
            record = None if get is None else get()
        except DatasetError as error:
            raise self.file.refused(error) from error
        if record is None:  # the data set itself says what that means
            record = self.file.read(task)
        self.reads += 1
        return record

    def put_record(self, task: Any, data: bytes, length: int | None) -> None:
        """WRITEQ TD."""
        if not data:
            shown = 0 if length is None else length
            raise Condition(Resp.LENGERR, detail=f"LENGTH is {shown}; allowed are 1 to {_LONGEST}")
        put = self.put
        if put is None:
            self.file.write(task, data)
        else:
            try:
                put(data)
            except DatasetError as error:
                raise self.file.refused(error) from error
        self.writes += 1


def _never(_queue: TdQueue, _task: Any) -> None:
    """DELETEQ TD of a data set: the state table lets no such request go on."""


class IndirectTdQueue(TdQueue):
    """Another name for a queue. Its requests are those of its target, and are counted for both.

    Attributes:
        indirectname: the queue it stands for.
    """

    type = "INDIRECT"
    __slots__ = ("indirectname",)

    def __init__(self, name: str, definition: definitions.IndirectQueue, signature: Signature) -> None:
        super().__init__(name, definition, signature)
        self.indirectname = definition.indirectname
        self.choose()

    def choose(self) -> None:
        """Bind what it does: it has no state of its own."""
        self.read, self.write, self.delete = self.read_target, self.write_target, self.delete_target

    def target(self, task: Any) -> TdQueue:
        """The queue it stands for in the end.

        Raises:
            Condition: QIDERR.
        """
        queues = task.region.tdqueues
        queue = queues.get(self.indirectname)
        return target_of(queues, self) if queue is None or queue.type == "INDIRECT" else queue  # type: ignore[no-any-return]

    def read_target(self, task: Any, busy: bool, length: int | None) -> bytes | None:
        """READQ TD."""
        data = self.target(task).read(task, busy, length)
        if data is not None:
            self.reads += 1
        return data

    def write_target(self, task: Any, data: bytes, length: int | None) -> None:
        """WRITEQ TD."""
        self.target(task).write(task, data, length)
        self.writes += 1

    def delete_target(self, task: Any) -> None:
        """DELETEQ TD."""
        self.target(task).delete(task)
        self.deletes += 1

    def read_negative(self, task: Any, length: int) -> bytes:
        """READQ TD with a negative LENGTH."""
        return self.target(task).read_negative(task, length)


class RemoteTdQueue(TdQueue):
    """A queue of another region.

    Attributes:
        remotesystem: the connection to that region.
        remotename: the queue's name there.
        remotelength: the longest record for function shipping.
    """

    type = "REMOTE"
    __slots__ = ("remotelength", "remotename", "remotesystem")

    def __init__(self, name: str, definition: definitions.Tdqueue, signature: Signature) -> None:
        super().__init__(name, definition, signature)
        self.remotesystem = definition.remotesystem
        self.remotename = definition.remote_queue
        self.remotelength = definition.remotelength
        self.choose()

    def works(self) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        """See the table of the module."""
        return (RemoteTdQueue.read_there, RemoteTdQueue.write_there, RemoteTdQueue.delete_there)

    def _link(self, task: Any) -> RegionLink:
        return task.region.link(self.remotesystem)  # type: ignore[no-any-return]

    def read_there(self, task: Any, busy: bool, length: int | None) -> bytes:
        """READQ TD."""
        record = self._link(task).ship(task, READQ, self.remotename, length=length, nosuspend=busy)
        self.reads += 1
        return record

    def write_there(self, task: Any, data: bytes, length: int | None) -> None:
        """WRITEQ TD: without LENGTH no more than REMOTELENGTH is sent, when that says more than 1."""
        if length is None and self.remotelength > 1:
            data = data[: self.remotelength]
        self._link(task).ship(task, WRITEQ, self.remotename, data=data)
        self.writes += 1

    def delete_there(self, task: Any) -> None:
        """DELETEQ TD."""
        self._link(task).ship(task, DELETEQ, self.remotename)
        self.deletes += 1

    def read_negative(self, task: Any, length: int) -> bytes:
        """READQ TD with a negative LENGTH."""
        check_state(task, READQ, self)
        return self._link(task).ship(task, READQ, self.remotename, length=length)
