"""The four kinds of transient data queue as data, and the trigger cycle that may be on.

What a queue does to a request is bound to it: ``read``, ``write`` and ``delete`` are functions of the task, chosen by
:func:`tdqsim.cics.queues.kinds.bind` whenever something changes that matters. The attributes that SET TDQUEUE can
change are copied from the definition at install; the rest is read from the definition.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, Self

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.eib import Completion, completion
from tdqsim.cics.model.lock import READ_END, WRITE_END, Lock
from tdqsim.cics.model.space import NEVER, NO_BOUNDS, IntraSpace
from tdqsim.core.dispatch import WaitQueue
from tdqsim.core.store import DurableQueue, VolatileQueue
from tdqsim.errors import DatasetError
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim import definitions
    from tdqsim.cics.kernel.signature import Signature
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.model.work import LogicalWork

__all__ = [
    "DELETEQ",
    "READQ",
    "TRIGGER",
    "WRITEQ",
    "Began",
    "ExtraFile",
    "ExtraTdQueue",
    "IndirectTdQueue",
    "IntraTdQueue",
    "Latch",
    "RemoteTdQueue",
    "RequestTarget",
    "TdQueue",
    "TriggerState",
    "intra_queues",
    "latch_key",
]

READQ, WRITEQ, DELETEQ = "READQ TD", "WRITEQ TD", "DELETEQ TD"
_DISABLING: Final = Cvda.DISABLING  # a member costs more when it is looked up in its class
Began = tuple[int, str, str, str, int, int]


class RequestTarget(Protocol):
    """What a request finds under a name: a queue, a queue of another system, or what looks on at the requests to one.

    ``read(task, busy, length)`` gives a record, or None for the QZERO of an empty queue, which is no exception until a
    program gets the condition; ``busy`` means that it must not wait. ``write(task, data, length)`` takes a record, with
    LENGTH as it was given; then ``delete(task)``. Each raises Condition and counts the request.

    Attributes:
        name: of the queue.
        read_ok, write_ok, delete_ok: what the EIB shows after a request that went well.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def read_ok(self) -> Completion: ...  # noqa: D102
    @property
    def write_ok(self) -> Completion: ...  # noqa: D102
    @property
    def delete_ok(self) -> Completion: ...  # noqa: D102
    @property
    def read(self) -> Callable[[TaskData, bool, int | None], bytes | None]: ...  # noqa: D102
    @property
    def write(self) -> Callable[[TaskData, bytes, int | None], None]: ...  # noqa: D102
    @property
    def delete(self) -> Callable[[TaskData], None]: ...  # noqa: D102


class ExtraFile(Protocol):
    """The data set behind an extrapartition queue. Failures are raised as conditions."""

    def open(self) -> None:
        """Open it; sets the queue's ``openstatus`` and ``emptystatus``. IOERR when it cannot be opened."""

    def close(self) -> None:
        """Close it, writing what is buffered; sets ``openstatus`` and ``emptystatus``. IOERR when that fails."""

    def read(self, _task: TaskData | None) -> bytes:
        """The next record. QZERO at the end (``emptystatus`` EMPTY), IOERR for a block in error."""

    def write(self, task: TaskData | None, data: bytes) -> None:
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


class TdQueue:
    """What all kinds have.

    Attributes:
        name: 1 to 4 characters, no trailing blanks.
        definition: what was installed.
        signature: who defined and installed it, and when.
        enablestatus: ENABLED, DISABLING or DISABLED; of an indirect queue always ENABLED, shown as NOTAPPLIC.
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
        """What the EIB shows after DELETEQ TD."""
        return completion(DELETEQ, self.name)

    @property
    def output(self) -> bool:
        """Whether it is a data set that is written rather than read."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether it is a data set that is open."""
        return False

    @property
    def locks(self) -> tuple[Lock, ...]:
        """Its read end and its write end; nothing when it is not logically recoverable."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerState:
    """The trigger of an intrapartition queue as it stands; of other queues empty and 0.

    Attributes:
        atifacility: what a triggered task has as principal facility: TERMINAL, FILE (none) or SYSTEM.
        facilityid: the terminal or connection in effect.
        transid: the transaction that is started; empty for none.
        triggerlevel: how many records start it; 0 for never.
        userid: the user of tasks without a facility.
    """

    atifacility: str = ""
    facilityid: str = ""
    transid: str = ""
    triggerlevel: int = 0
    userid: str = ""


TRIGGER: Final = tuple(field.name for field in fields(TriggerState))
"""The attributes of an intrapartition queue that SET TDQUEUE can change, and that are kept with its definition."""


class IntraTdQueue(TdQueue):
    """An intrapartition queue.

    Attributes:
        recovstatus, wait, waitaction: as defined.
        atifacility, facilityid, transid, triggerlevel, userid: as defined, or as SET since. ``facilityid`` is the
            terminal or connection in effect; ``triggerlevel`` is 0 when neither it nor TRANSID was defined.
        stored: the records; of a recoverable queue the committed ones.
        volatile, durable: the same by its type: only a queue that is not recoverable has the first, others the second.
        ci_left, bounds, free_at, peak_cis: its account of control intervals, see
            :class:`~tdqsim.cics.model.space.IntervalAccount`.
        fire_at: the item count at which a write starts a task; NEVER while none can be started.
        latched: the ATI cycle that is on: a task was scheduled and the queue has not been read to QZERO since; or None.
        cycle: number of the current or last cycle.
        starts: tasks started in this cycle while no more than ``starts_gone`` records had left the queue for good.
        triggers: trigger tasks started since the last reset of statistics.
        failed_start: whether the failure to start a task has been reported.
        taken: of a non-recoverable queue: how many records have left it since it was installed.
        peak: highest item count seen so far; see :attr:`peak_items`.
        read_end, write_end: the locks of a logically recoverable queue; no other queue has them.
        readers: the tasks that wait for another's commit; None while none has ever waited, see :attr:`td_read`.
    """

    type = "INTRA"
    __slots__ = (
        "atifacility", "bounds", "ci_left", "cycle", "durable", "facilityid", "failed_start", "fire_at",
        "free_at", "latched", "peak", "peak_cis", "read_end", "readers", "recovstatus", "starts", "starts_gone",
        "stored", "taken", "transid", "triggerlevel", "triggers", "userid", "volatile", "wait", "waitaction",
        "write_end",
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
        if isinstance(stored, DurableQueue):
            self.durable = stored
        else:
            self.volatile = stored
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
        if definition.recovstatus == "LOGICAL":
            self.read_end = Lock(self, READ_END)
            self.write_end = Lock(self, WRITE_END)
        self.readers: WaitQueue | None = None

    @property
    def latch(self) -> bool:
        """Whether an ATI cycle is on."""
        return self.latched is not None

    @property
    def gone(self) -> int:
        """How many records have left it for good."""
        return self.taken if self.recovstatus == "NO" else self.durable.now.first - 1

    @property
    def logical(self) -> bool:
        """Whether it is logically recoverable."""
        return self.recovstatus == "LOGICAL"

    @property
    def td_read(self) -> WaitQueue | None:
        """Where a reader waits for another's commit; None for queues that are not logically recoverable."""
        if self.readers is None and self.logical:
            self.readers = WaitQueue(f"TD_READ {self.name}", self.write_end.holder)
        return self.readers

    def released(self) -> bool:
        """An end changed hands: readers that wait for a commit look again. Whether a disable waits for users to end."""
        if self.readers:
            self.readers.wake_all()
        return self.enablestatus is _DISABLING

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
    def uncommitted(self) -> LogicalWork | None:
        """What a unit of work that has not ended has done to it and holds its write end for; None for none."""
        owner = self.write_end.owner if self.logical else None
        return None if owner is None else owner.works.get(self)

    @property
    def locks(self) -> tuple[Lock, ...]:
        """Its read end and its write end; nothing when it is not logically recoverable."""
        return (self.read_end, self.write_end) if self.logical else ()


class ExtraTdQueue(TdQueue):
    """An extrapartition queue: a data set, open or not.

    Attributes:
        openstatus: OPEN, CLOSED, OPENING or CLOSING.
        emptystatus: NOTEMPTY until a request meets the end (EMPTY) or no room (FULL); NOTAPPLIC when closed.
        file: the data set; set as soon as the queue is made.
        get, put: methods of its open reader or writer; None where the data set's own ``read`` or ``write`` must do.
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
        """Whether it is written rather than read."""
        return self._output

    @property
    def is_open(self) -> bool:
        """Whether its data set is open."""
        return self.openstatus is Cvda.OPEN


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
    """A cycle of a queue that is on: what began it, and the request that its tasks are started by.

    Attributes:
        queue: the queue.
        cycle: its number; 0 as long as it has not begun.
        facility: ATIFACILITY when its task was asked for.
        began: number, transaction and terminal of the task whose WRITEQ, or for a LOGICAL queue whose commit, reached
            the trigger level; the unit of work whose commit it was, in hexadecimal, empty for a WRITEQ; when,
            nanoseconds since 1970 UTC; and how many records the queue then held. Nothing when it was in an earlier run
            that does not say.
    """

    __slots__ = ("began", "cycle", "facility", "queue")

    def __init__(self, queue: IntraTdQueue, began: Began | None = None) -> None:
        self.queue = queue
        self.cycle = 0
        self.facility = ""
        self.began = began

    def stored(self) -> bytes:
        """As the store keeps it."""
        return json.dumps(self.began).encode()

    def meta(self) -> dict[bytes, bytes | None]:
        """What a commit must bring with the cycle that begins with it."""
        return {latch_key(self.queue): self.stored()}

    @classmethod
    def read(cls, queue: IntraTdQueue, stored: bytes) -> Self:
        """What the store has kept; of a store that does not say, that the cycle is on and no more."""
        try:
            task, transid, termid, uow, time_ns, items = json.loads(stored)
        except (ValueError, TypeError):
            return cls(queue)
        return cls(queue, (task, transid, termid, uow, time_ns, items))


def latch_key(queue: IntraTdQueue) -> bytes:
    """Where the store says that a queue's cycle is on."""
    return b"ati/" + queue.name.encode()


def intra_queues(queues: Mapping[str, TdQueue]) -> Iterator[IntraTdQueue]:
    """The intrapartition queues among queues by name, in their order; queues may come and go meanwhile."""
    return (queue for queue in tuple(queues.values()) if isinstance(queue, IntraTdQueue))
