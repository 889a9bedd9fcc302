"""The four kinds of transient data queue as a region holds them: plain state, no behaviour.

What may be done to a queue in which state is decided in :mod:`~tdqsim.cics.queues.checks`; what the commands do with
it is in
:mod:`~tdqsim.cics.queues.td`. The attributes that SET TDQUEUE can change are copied from the definition at install;
the rest
is read from the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from tdqsim.cics.kernel.eib import Completion, completion
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim import definitions
    from tdqsim.cics.kernel.conditions import Condition
    from tdqsim.cics.kernel.task import TaskBase
    from tdqsim.cics.queues.ati import Latch
    from tdqsim.cics.spi.signature import Signature
    from tdqsim.cics.uow.locks import Lock
    from tdqsim.cics.uow.unit import UnitOfWork
    from tdqsim.core.dispatch import WaitQueue
    from tdqsim.core.store import StoredQueue
    from tdqsim.errors import DatasetError

__all__ = [
    "NEVER",
    "ExtraFile",
    "ExtraQueue",
    "IndirectQueue",
    "IntraQueue",
    "RemoteLink",
    "RemoteQueue",
    "TdQueue",
]

NEVER: Final = 2**62
"""An item count that no queue reaches: the threshold of a queue that starts nothing."""


class ExtraFile(Protocol):
    """The data set behind an extrapartition queue. Failures are raised as conditions."""

    def open(self) -> None:
        """Open it; sets the queue's ``openstatus`` and ``emptystatus``. IOERR when it cannot be opened."""

    def close(self) -> None:
        """Close it, writing what is buffered; sets ``openstatus`` and ``emptystatus``. IOERR when that fails."""

    def read(self, task: TaskBase | None) -> bytes:
        """The next record. QZERO at the end (``emptystatus`` EMPTY), IOERR for a block in error."""

    def write(self, task: TaskBase | None, data: bytes) -> None:
        """Add a record. LENGERR for a length that does not fit, NOSPACE (``emptystatus`` FULL), IOERR."""

    def drain(self) -> Iterator[bytes]:
        """The records behind the position of an open input data set; each moves it. Failures are the data set's own."""

    def write_all(self, records: Sequence[bytes]) -> None:
        """Add records and count them as the queue's writes, also those before one that fails; failures likewise."""

    def refused(self, error: DatasetError) -> Condition:
        """The condition that a failure of the queue's ``get`` or ``put`` is to a program."""

    def peek(self) -> list[bytes]:
        """All records that can be seen without moving the position of an open input data set."""

    def seed(self, records: list[bytes]) -> None:
        """Make the data set hold these records; for a queue that is closed or has not been read."""


class RemoteLink(Protocol):
    """A way to another region: what remote queues and SYSID need of it."""

    @property
    def netname(self) -> str:
        """The APPLID of the other region."""

    @property
    def acquired(self) -> bool:
        """Whether the other region is there and the way is open."""

    def resyncstatus(self, uow: UnitOfWork) -> Cvda:
        """What can be said of a unit of work over it: OK, UNAVAILABLE, or COLD: its coordinator has forgotten it."""

    def ship(
        self,
        task: TaskBase,
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
            length: LENGTH of READQ; None for the whole record.
            nosuspend: NOSUSPEND of READQ.

        Returns:
            The record of READQ, else nothing.

        Raises:
            Condition: as the other region answered, or SYSIDERR when it cannot be reached.
        """

    def leave(self) -> None:
        """This region ends, or has failed: the link is gone."""


class TdQueue:
    """What all kinds have.

    Attributes:
        name: 1 to 4 characters, no trailing blanks.
        definition: what was installed.
        signature: who defined and installed it, and when.
        enablestatus: ENABLED, DISABLING or DISABLED; of an indirect queue always ENABLED, shown as NOTAPPLIC.
        plain: whether the short way of READQ and WRITEQ may be taken: an enabled non-recoverable intrapartition queue
            in a region without security and without a hook. Kept by :meth:`tdqsim.cics.region.Region.refresh`.
        trace: told of each request that took the short way, as (command, task number, queue, record, nanoseconds); None
            costs one test. Kept with ``plain``; requests on the long way are recorded there.
        swift: the same for a logically recoverable queue.
        quick: the same for an extrapartition queue, when no recorder wants every request.
        writes, reads, deletes: requests since the last reset of statistics.
        read_ok, write_ok, delete_ok: what the EIB shows after a request that went well.
    """

    type: ClassVar[str] = ""
    __slots__ = (
        "definition",
        "deletes",
        "enablestatus",
        "name",
        "plain",
        "quick",
        "read_ok",
        "reads",
        "signature",
        "swift",
        "trace",
        "write_ok",
        "writes",
    )

    def __init__(self, name: str, definition: definitions.Tdqueue, signature: Signature) -> None:
        self.name = name
        self.definition: Any = definition
        self.signature = signature
        self.enablestatus = Cvda.ENABLED
        self.plain = self.swift = self.quick = False
        self.trace: Callable[[tuple[Any, ...]], object] | None = None
        self.writes = self.reads = self.deletes = 0
        self.read_ok: Completion = completion("READQ TD", name)
        self.write_ok: Completion = completion("WRITEQ TD", name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {self.enablestatus.name}>"

    @property
    def delete_ok(self) -> Completion:
        """What the EIB shows after DELETEQ TD."""
        return completion("DELETEQ TD", self.name)


class IntraQueue(TdQueue):
    """An intrapartition queue.

    Attributes:
        recovstatus, wait, waitaction: as defined.
        atifacility, facilityid, transid, triggerlevel, userid: as defined, or as SET since. ``facilityid`` is the
            terminal or connection in effect; ``triggerlevel`` is 0 when neither it nor TRANSID was defined.
        stored: the committed records.
        put, take: its methods, kept for the short way.
        ci_left: bytes that the last control interval still takes; -1 when there is none.
        head_ci, tail_ci: ordinals of the first and last control interval; ``cis`` says how many are in use.
        fire_at: the item count at which a write starts a task; NEVER while none can be started.
        latch: whether an ATI cycle is on: a task was scheduled and the queue has not been read to QZERO since.
        latched: what set the latch; None when it is not on, or was set in an earlier run that does not say.
        cycle: number of the current or last cycle.
        starts: tasks started in this cycle while no more than ``starts_gone`` records had left the queue for good.
        triggers: trigger tasks started since the last reset of statistics.
        failed_start: whether the failure to start a task has been reported.
        peak: highest item count seen so far; see :attr:`peak_items`.
        peak_cis: most control intervals in use since the last reset.
        read_end, write_end: the locks of a logically recoverable queue; None for others.
        td_read: where a reader waits for another's commit; None for queues that are not logically recoverable.
    """

    type = "INTRA"
    __slots__ = (
        "atifacility",
        "ci_left",
        "cycle",
        "facilityid",
        "failed_start",
        "fire_at",
        "head_ci",
        "latch",
        "latched",
        "peak",
        "peak_cis",
        "put",
        "read_end",
        "recovstatus",
        "starts",
        "starts_gone",
        "stored",
        "tail_ci",
        "take",
        "td_read",
        "transid",
        "triggerlevel",
        "triggers",
        "userid",
        "wait",
        "waitaction",
        "write_end",
    )

    def __init__(
        self, name: str, definition: definitions.IntraQueue, signature: Signature, stored: StoredQueue
    ) -> None:
        super().__init__(name, definition, signature)
        self.recovstatus: str = definition.recovstatus
        self.atifacility: str = definition.atifacility
        self.facilityid = definition.facility
        self.transid = definition.transid
        level_given = definition.transid or definition.given("triggerlevel")
        self.triggerlevel = definition.triggerlevel if level_given else 0
        self.userid = definition.userid
        self.wait: str = definition.wait
        self.waitaction: str = definition.waitaction
        self.attach(stored)
        self.ci_left = -1
        self.head_ci = self.tail_ci = 0
        self.fire_at = NEVER
        self.latch = False
        self.latched: Latch | None = None
        self.cycle = 0
        self.starts = self.starts_gone = 0
        self.triggers = 0
        self.failed_start = False
        self.peak = stored.count
        self.peak_cis = 0
        self.read_end: Lock | None = None
        self.write_end: Lock | None = None
        self.td_read: WaitQueue | None = None

    def attach(self, stored: StoredQueue) -> None:
        """Take a stored queue as the place of the records."""
        self.stored = stored
        self.put: Callable[..., int] = stored.put
        self.take: Callable[[], bytes | None] = stored.take

    @property
    def logical(self) -> bool:
        """Whether it is logically recoverable."""
        return self.read_end is not None

    @property
    def numitems(self) -> int:
        """How many records it holds; of a logically recoverable queue the committed ones."""
        return self.stored.count

    @property
    def peak_items(self) -> int:
        """The highest item count since the last reset of statistics."""
        return max(self.peak, self.stored.count)

    @property
    def cis(self) -> int:
        """Control intervals in use: an empty queue has none."""
        return self.tail_ci - self.head_ci + 1 if self.tail_ci and (self.stored.count or self.uncommitted) else 0

    @property
    def uncommitted(self) -> bool:
        """Whether a unit of work has written to it and not ended."""
        return self.write_end is not None and self.write_end.owner is not None

    @property
    def locks(self) -> tuple[Lock, ...]:
        """Its read end and its write end; nothing when it is not logically recoverable."""
        if self.read_end is None or self.write_end is None:
            return ()
        return (self.read_end, self.write_end)


class ExtraQueue(TdQueue):
    """An extrapartition queue: a data set, open or not.

    Attributes:
        openstatus: OPEN, CLOSED, OPENING or CLOSING.
        emptystatus: NOTEMPTY until a request meets the end (EMPTY) or no room (FULL); NOTAPPLIC when closed.
        file: the data set.
        get, put: methods of its open reader or writer, kept for the short way; None where there is no such way.
    """

    type = "EXTRA"
    __slots__ = ("emptystatus", "file", "get", "openstatus", "put")

    def __init__(self, name: str, definition: definitions.ExtraQueue, signature: Signature) -> None:
        super().__init__(name, definition, signature)
        self.openstatus = Cvda.CLOSED
        self.emptystatus = Cvda.NOTAPPLIC
        self.file: ExtraFile | None = None
        self.get: Callable[[], bytes | None] | None = None
        self.put: Callable[[bytes], None] | None = None

    @property
    def output(self) -> bool:
        """Whether it is written rather than read."""
        return bool(self.definition.typefile == "OUTPUT")


class IndirectQueue(TdQueue):
    """Another name for a queue.

    Attributes:
        indirectname: the queue it stands for.
    """

    type = "INDIRECT"
    __slots__ = ("indirectname",)

    def __init__(self, name: str, definition: definitions.IndirectQueue, signature: Signature) -> None:
        super().__init__(name, definition, signature)
        self.indirectname = definition.indirectname


class RemoteQueue(TdQueue):
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
