"""A task as data, and the facility that it may run at."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.eib import Eib
from tdqsim.cics.model.level import NO_HANDLES, ProgramLevel
from tdqsim.core.dispatch import Strand, WaitMark, WaitQueue

if TYPE_CHECKING:
    from tdqsim.cics.model.queue import IntraTdQueue, Latch, RequestTarget
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.start import StartRequest
    from tdqsim.cics.model.transaction import Handler
    from tdqsim.cics.model.unit import UnitOfWork

__all__ = ["Facility", "TaskData"]

T = TypeVar("T")

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})
_NO_QZERO: Final[dict[IntraTdQueue, int]] = {}
"""What most tasks have; it is replaced where there is a first."""


class TaskData:
    """One task as data; :class:`~tdqsim.cics.commands.Task` has the commands.

    Attributes:
        region: where it runs.
        number: EIBTASKN.
        transid: its transaction.
        program: the program's name.
        userid: whose authority it has.
        eib: the EXEC interface block.
        startcode: ``TD`` terminal input, ``S`` START, ``SD`` START with data, ``QD`` transient data, ``U`` the program
            outside.
        facility: its terminal or session, or None.
        request: the queue's request that started it, or None.
        condition: the last condition of a command that was not raised; LENGERR's true length is found there.
        abcode: the code of its abend; empty while it has none.
        abprogram: the program that has abended last; empty while none has.
        outside: whether its commands are issued by the program outside the strands.
        implicit: whether it is one command with a syncpoint of its own.
        is_mirror: whether it carries out the requests of another region.
        handles: HANDLE and IGNORE, and what PUSH HANDLE has suspended of them.
        browses: the browses that are open, by resource type; they end with the task.
        start_data: the START whose data RETRIEVE gives first; None when there is none, or it has been given.
        level: the level of the program that runs; None at the top.
        storage: what programs in another language have there, such as the items of a COBOL program by name; None
            before the first.
        qzero: logically recoverable queues read to QZERO in units of work that have committed, and the cycle that was
            on, or had been the last, when each was.
        queues: what it looks queues up in; empty when it has ended.
        unit: its unit of work; None before the first recoverable request. One that has ended counts for none.
        suspended: (kind, name) of what it waits for, such as ("TD_READ", "PAYQ"), or None.
        strand: its strand; None for the program outside, and when a task that a queue has started is over.
        ended: whether it is over.
        recorded: whether the region's recorder has been notified of its end.
    """

    __slots__ = (
        "_entered", "_settled", "_work", "abcode", "abprogram", "browses", "condition", "dtimout_ns", "eib", "ended",
        "facility", "handles", "implicit", "level", "number", "outside", "program", "queues", "qzero",
        "recorded", "region", "request", "start_data", "startcode", "storage", "strand", "suspended", "transid", "unit",
        "userid",
    )  # fmt: skip

    is_mirror: ClassVar[bool] = False
    region: RegionData

    def __init__(
        self,
        region: RegionData,
        number: int,
        transid: str,
        userid: str,
        startcode: str = "U",
        program: str = "",
        work: tuple[Handler, tuple[object, ...]] | None = None,
        dtimout_ns: int | None = None,
        request: Latch | None = None,
    ) -> None:
        self.region = region
        self.number = number
        self.transid = transid
        self.program = program or transid
        self._work = work  # of a task that is a strand: its program, and the arguments beside the task
        self.userid = userid
        self.eib = Eib(transid, number, region.clock.time_ns(), region.zone)
        self.startcode = startcode
        self.facility: Facility | None = None
        self.request = request
        self.condition: Condition | None = None
        self.abcode = self.abprogram = ""
        self.outside = False
        self.implicit = False
        self.handles = NO_HANDLES
        self.browses: Mapping[str, Any] = _NONE
        self.start_data: StartRequest | None = None
        self.qzero: dict[IntraTdQueue, int] = _NO_QZERO
        self.level: ProgramLevel | None = None
        self.storage: Any = None
        self.suspended: tuple[str, str] | None = None
        self.strand: Strand | None = None
        self.dtimout_ns = dtimout_ns
        self.ended = False
        self.unit: UnitOfWork | None = None
        self.queues: Mapping[str, RequestTarget] = region.directory.queues
        self._entered = self._settled = self.recorded = False

    def __str__(self) -> str:
        return f"task {self.number} {self.transid}"

    def __repr__(self) -> str:
        return f"<Task {self.number} {self.transid}{' ended' if self.ended else ''}>"

    @property
    def has_uow(self) -> bool:
        """Whether a unit of work has begun: a recoverable request was made since the last syncpoint."""
        return self.unit is not None and not self.unit.ended

    @property
    def uow(self) -> UnitOfWork:
        """The unit of work; it begins when it is first asked for."""
        raise NotImplementedError

    def end(self, *, normal: bool = False) -> None:
        """See :meth:`tdqsim.cics.kernel.task.TaskBase.end`."""
        raise NotImplementedError

    def wait(self, attempt: Callable[[], T | WaitMark], queue: WaitQueue, kind: str, name: str) -> T:
        """Wait inside a command; see :meth:`tdqsim.cics.kernel.task.TaskBase.wait`."""
        raise NotImplementedError


class Facility:
    """A terminal or a connection's session: one task at a time, requests in order.

    Attributes:
        name: the terminal's or connection's name.
        kind: ``TERMINAL`` or ``SYSTEM``.
        inservice: whether tasks can be attached to it; False while it is not defined.
        userid: the user signed on; empty for none.
        task: the task it has.
        requests: what waits for it: queues' requests, and starts with data.
    """

    __slots__ = ("inservice", "kind", "name", "requests", "task", "userid")

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.inservice = False
        self.userid = ""
        self.task: TaskData | None = None
        self.requests: deque[Latch | Callable[[Facility], object]] = deque()

    def __repr__(self) -> str:
        state = "in service" if self.inservice else "out of service or not defined"
        return f"<Facility {self.kind} {self.name} {state}, {len(self.requests)} waiting>"
