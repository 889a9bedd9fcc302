"""The four kinds of transient data queue as data, and the ATI cycle of an intrapartition queue.

A queue's ``read``, ``write`` and ``delete`` are functions of the task. :func:`tdqsim.cics.queues.binding.bind` chooses
them again whenever a state changes that they depend on, so that a request need not test the state. The attributes that
SET TDQUEUE can change are copied from the definition at install; the others are read from the definition.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, Self

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.eib import Completion, completion
from tdqsim.cics.model.lock import READ_END, WRITE_END, Lock
from tdqsim.cics.model.space import NEVER, NO_BOUNDS, IntraSpace
from tdqsim.core.fiber import WaitQueue
from tdqsim.core.store import DurableQueue, VolatileQueue
from tdqsim.errors import DatasetError
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim import definitions
    from tdqsim.cics.kernel.signature import Signature
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.model.work import LogicalWork

READQ, WRITEQ, DELETEQ = "READQ TD", "WRITEQ TD", "DELETEQ TD"
_DISABLING: Final = Cvda.DISABLING  # a global is faster than the attribute of the enum class
Began = tuple[int, str, str, str, int, int]


class RequestTarget(Protocol):
    """The object that serves requests to a name: a local or remote queue, or a wrapper that watches one.

    Each request raises Condition, and counts itself.
    """

    @property
    def name(self) -> str:
        """The name of the queue."""

    @property
    def read_ok(self) -> Completion:
        """The EIB fields after a successful READQ TD."""

    @property
    def write_ok(self) -> Completion:
        """The EIB fields after a successful WRITEQ TD."""

    @property
    def delete_ok(self) -> Completion:
        """The EIB fields after a successful DELETEQ TD."""

    @property
    def read(self) -> Callable[[TaskData, bool, int | None], bytes | None]:
        """``read(task, busy, length)`` returns a record; with ``busy`` it does not wait.

        It returns None for QZERO: an empty queue is too frequent to be an exception here.
        """

    @property
    def write(self) -> Callable[[TaskData, bytes, int | None], None]:
        """``write(task, data, length)`` adds a record; LENGTH is passed as the program gave it."""

    @property
    def delete(self) -> Callable[[TaskData], None]:
        """``delete(task)`` deletes all records."""


class ExtraFile(Protocol):
    """The data set of an extrapartition queue. Failures are raised as conditions."""

    def open(self) -> None:
        """Open it and set the queue's ``openstatus`` and ``emptystatus``. IOERR if it cannot be opened."""

    def close(self) -> None:
        """Write what is buffered, close it, and set ``openstatus`` and ``emptystatus``. IOERR if that fails."""

    def read(self, _task: TaskData | None) -> bytes:
        """The next record. QZERO at the end (``emptystatus`` EMPTY), IOERR for a block in error."""

    def write(self, task: TaskData | None, data: bytes) -> None:
        """Add a record. LENGERR for a length that does not fit, NOSPACE (``emptystatus`` FULL), IOERR."""

    def drain(self) -> Iterator[bytes]:
        """Read the remaining records of an open input data set, moving its position. Raises the data set's errors."""

    def write_all(self, records: Sequence[bytes]) -> None:
        """Add records, counting each as a write, up to the first that fails. Raises the data set's errors."""

    def refused(self, error: DatasetError) -> Condition:
        """The condition that a program gets for an error of the queue's ``get`` or ``put``."""

    def peek(self) -> list[bytes]:
        """All records, or those that remain of an open input data set, without moving its position."""

    def records(self, skip: int = 0, pause: Callable[[], object] | None = None) -> Iterator[bytes]:
        """The records of :meth:`peek` one by one, after the first ``skip``; ``pause`` is called from time to time."""

    def seed(self, records: list[bytes]) -> None:
        """Replace the records of the data set; only for a queue that is closed or has not been read."""


class TdQueue:
    """The attributes common to all kinds of queue.

    Attributes:
        name: 1 to 4 characters, no trailing blanks.
        definition: the installed definition.
        signature: the resource signature: who defined and installed it, and when.
        enablestatus: ENABLED, DISABLING or DISABLED; an indirect queue is always ENABLED, shown as NOTAPPLIC.
        writes, reads, deletes: requests since the last reset of statistics.
        read, write, delete, read_ok, write_ok: see :class:`RequestTarget`.
    """

    type: ClassVar[str] = ""
    __slots__ = (
        "definition",
        "delete",
        "deletes",
        "enablestatus",
        "name",
        "read",
        "read_ok",
        "reads",
        "signature",
        "write",
        "write_ok",
        "writes",
    )
    read: Callable[[TaskData, bool, int | None], bytes | None]
    write: Callable[[TaskData, bytes, int | None], None]
    delete: Callable[[TaskData], None]

    def __init__(self, name: str, definition: definitions.Tdqueue, signature: Signature) -> None:
        self.name = name
        self.definition = definition
        self.signature = signature
        self.enablestatus: Cvda = Cvda.ENABLED
        self.writes = self.reads = self.deletes = 0
        self.read_ok: Completion = completion(READQ, name)
        self.write_ok: Completion = completion(WRITEQ, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {self.enablestatus.name}>"

    @property
    def delete_ok(self) -> Completion:
        """The EIB fields after DELETEQ TD."""
        return completion(DELETEQ, self.name)

    @property
    def output(self) -> bool:
        """Whether it is an output data set."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether it is an open data set."""
        return False

    @property
    def locks(self) -> tuple[Lock, ...]:
        """Its read end and its write end; empty if it is not logically recoverable."""
        return ()


TRIGGER: Final = ("atifacility", "facilityid", "transid", "triggerlevel", "userid")
"""The attributes of an intrapartition queue that SET TDQUEUE can change and the catalogue keeps."""


class IntraTdQueue(TdQueue):
    """An intrapartition queue.

    Attributes:
        recovstatus, wait, waitaction: as defined.
        atifacility, facilityid, transid, triggerlevel, userid: as defined, or as changed by SET. ``facilityid`` is the
            terminal or connection in effect; ``triggerlevel`` is 0 if neither it nor TRANSID was defined.
        stored: the records; for a recoverable queue the committed ones.
        volatile, durable: ``stored`` with its exact type: a non-recoverable queue has ``volatile``, others ``durable``.
        ci_left, bounds, free_at, peak_cis: its use of control intervals, see
            :class:`~tdqsim.cics.model.space.IntervalAccount`.
        armed_at: the item count at which a write starts a task while no cycle is on; NEVER without a trigger.
        fire_at: the item count at which the next write starts a task; NEVER while no task can be started.
        latched: the ATI cycle in progress (a task was scheduled and the queue has not been read to QZERO since), or
            None.
        cycle: the number of the current or last cycle.
        starts: the tasks started in this cycle while no more than ``starts_gone`` records had left the queue.
        triggers: the trigger tasks started since the last reset of statistics.
        failed_start: whether a failure to start the task has been reported, so that it is reported once.
        is_known: whether its records are known: a region that reads the store of a running one does not know those of a
            non-recoverable queue, which are in the memory of that one.
        taken: for a non-recoverable queue: the number of records that have left it since it was installed.
        peak: the highest item count recorded so far; see :attr:`peak_items`.
        read_end, write_end: the locks of a logically recoverable queue; no other queue has them.
        readers: the readers that wait for another task's commit; None until one first waits, see :attr:`td_read`.
    """

    type = "INTRA"
    __slots__ = (
        "armed_at", "atifacility", "bounds", "ci_left", "cycle", "durable", "facilityid", "failed_start", "fire_at",
        "free_at", "is_known", "latched", "peak", "peak_cis", "read_end", "readers", "recovstatus", "starts",
        "starts_gone", "stored", "taken", "transid", "triggerlevel", "triggers", "userid", "volatile", "wait",
        "waitaction", "write_end",
    )  # fmt: skip

    definition: definitions.IntraQueue
    durable: DurableQueue
    volatile: VolatileQueue
    read_end: Lock
    write_end: Lock

    def __init__(
        self,
        name: str,
        definition: definitions.IntraQueue,
        signature: Signature,
        stored: VolatileQueue | DurableQueue,
    ) -> None:
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
        self.is_known = True
        if isinstance(stored, DurableQueue):
            self.durable = stored
        else:
            self.volatile = stored
        self.ci_left = -1
        self.bounds: deque[int] = NO_BOUNDS
        self.free_at = NEVER
        self.taken = 0
        self.armed_at = self.fire_at = NEVER
        self.latched: Latch | None = None
        self.cycle = 0
        self.starts = self.starts_gone = 0
        self.triggers = 0
        self.failed_start = False
        self.peak = stored.count
        self.peak_cis = 0
        if definition.recovstatus == "LOGICAL":
            self.read_end = Lock(self, READ_END)
            self.write_end = Lock(self, WRITE_END)
        self.readers: WaitQueue | None = None

    @property
    def latch(self) -> bool:
        """Whether an ATI cycle is in progress."""
        return self.latched is not None

    @property
    def gone(self) -> int:
        """The number of records that have left the queue permanently."""
        return self.taken if self.recovstatus == "NO" else self.durable.now.first - 1

    @property
    def logical(self) -> bool:
        """Whether it is logically recoverable."""
        return self.recovstatus == "LOGICAL"

    @property
    def td_read(self) -> WaitQueue | None:
        """The readers that wait for another task's commit (TD_READ); None if it is not logically recoverable."""
        if self.readers is None and self.logical:
            self.readers = WaitQueue(f"TD_READ {self.name}", self.write_end.holder)
        return self.readers

    def released(self) -> bool:
        """Wake the readers that wait for a commit, after an end was released. Returns whether it is DISABLING."""
        if self.readers:
            self.readers.wake_all()
        return self.enablestatus is _DISABLING

    @property
    def numitems(self) -> int:
        """The number of records; for a logically recoverable queue the committed ones; -1 if it is not known."""
        return self.stored.count if self.is_known else -1

    @property
    def peak_items(self) -> int:
        """The highest item count since the last reset of statistics."""
        return max(int(self.peak), self.numitems)

    @property
    def cis(self) -> int:
        """The number of control intervals in use; 0 for an empty queue."""
        return IntraSpace.cis(self)

    @property
    def uncommitted(self) -> LogicalWork | None:
        """The uncommitted changes of the unit of work that holds its write end, or None."""
        owner = self.write_end.owner if self.logical else None
        return None if owner is None else owner.works.get(self)

    @property
    def locks(self) -> tuple[Lock, ...]:
        """Its read end and its write end; empty if it is not logically recoverable."""
        return (self.read_end, self.write_end) if self.logical else ()


class ExtraTdQueue(TdQueue):
    """An extrapartition queue: a data set, open or not.

    Attributes:
        openstatus: OPEN, CLOSED, OPENING or CLOSING.
        emptystatus: NOTEMPTY until a request reaches the end (EMPTY) or gets no room (FULL); NOTAPPLIC when closed.
        file: the data set; set as soon as the queue is created.
        get, put: the methods of its open reader or writer; None if ``file.read`` or ``file.write`` must be used.
    """

    type = "EXTRA"
    __slots__ = ("_output", "emptystatus", "file", "get", "openstatus", "put")
    file: ExtraFile
    definition: definitions.ExtraQueue

    def __init__(self, name: str, definition: definitions.ExtraQueue, signature: Signature) -> None:
        super().__init__(name, definition, signature)
        self.openstatus: Cvda = Cvda.CLOSED
        self.emptystatus: Cvda = Cvda.NOTAPPLIC
        self._output = definition.typefile == "OUTPUT"
        self.get: Callable[[], bytes | None] | None = None
        self.put: Callable[[bytes], None] | None = None

    @property
    def output(self) -> bool:
        """Whether it is an output data set."""
        return self._output

    @property
    def is_open(self) -> bool:
        """Whether its data set is open."""
        return self.openstatus is Cvda.OPEN


class IndirectTdQueue(TdQueue):
    """An alias of another queue. Requests go to its target and are counted for both.

    Attributes:
        indirectname: the name of its target.
    """

    type = "INDIRECT"
    __slots__ = ("indirectname",)

    def __init__(self, name: str, definition: definitions.IndirectQueue, signature: Signature) -> None:
        super().__init__(name, definition, signature)
        self.indirectname = definition.indirectname


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


class Latch:
    """An ATI cycle in progress: what began it, and the request that starts its tasks.

    Attributes:
        queue: the queue.
        facility: ATIFACILITY at the time when its task was requested.
        began: the number, transaction and terminal of the task whose WRITEQ (for a LOGICAL queue, whose commit) reached
            the trigger level; the unit of work that was committed, in hexadecimal, empty for a WRITEQ; the time in
            nanoseconds since 1970 UTC; and the number of records that the queue then held. None for a cycle that began
            at the end of another one, with records that were left.
        outcome: STAYS if its task has abended, so that only QZERO ends it; OVER if it ends with its task, because the
            queue was read to QZERO, with ``trigger_next`` TASKEND; else empty.
    """

    __slots__ = ("began", "facility", "outcome", "queue")

    def __init__(self, queue: IntraTdQueue, began: Began | None = None) -> None:
        self.queue = queue
        self.facility = self.outcome = ""
        self.began = began

    @property
    def transid(self) -> str:
        """The transaction that its tasks run."""
        return self.queue.transid

    def stored(self) -> bytes:
        """Its form on the store."""
        return json.dumps(self.began).encode()

    def meta(self) -> dict[bytes, bytes | None]:
        """The meta data to commit together with the change that begins the cycle."""
        return {latch_key(self.queue): self.stored()}

    @classmethod
    def read(cls, queue: IntraTdQueue, stored: bytes) -> Self:
        """The cycle from its form on the store."""
        began = json.loads(stored)
        return cls(queue, None if began is None else tuple(began))


def latch_key(queue: IntraTdQueue) -> bytes:
    """The key of the meta datum that records a queue's cycle in progress."""
    return b"ati/" + queue.name.encode()


def intra_queues(queues: Mapping[str, TdQueue]) -> Iterator[IntraTdQueue]:
    """The intrapartition queues among queues by name, in order; the mapping may change during the iteration."""
    return (queue for queue in tuple(queues.values()) if isinstance(queue, IntraTdQueue))
