"""A task as data, and the terminal or session that it may have."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.eib import Eib
from tdqsim.cics.model.level import NO_HANDLES, ProgramLevel
from tdqsim.core.fiber import Fiber
from tdqsim.core.named import NamedTuple

if TYPE_CHECKING:
    from tdqsim.cics.model.queue import IntraTdQueue, Latch, RequestTarget
    from tdqsim.cics.model.region import RegionBase, RegionData
    from tdqsim.cics.model.start import StartRequest
    from tdqsim.cics.model.transaction import Handler
    from tdqsim.cics.model.unit import UnitOfWork


class TaskData:
    """One task as data; :class:`~tdqsim.cics.commands.Task` has the commands.

    Attributes with an underscore are for the package :mod:`tdqsim.cics` only.

    Attributes:
        number: EIBTASKN.
        transid: its transaction.
        userid: the user ID whose authority it has.
        eib: the EXEC interface block.
        condition: the last condition that was not raised; it has the true length of a LENGERR.
        abcode: the code of its last abend; empty if it has not abended.
        _orgabcode: the code of its first abend.
        _abprogram: the program that abended last; empty if none has.
        _block: refers to the call that ends it at the end of its ``with`` block; None outside one.
        _browses: the open browses by resource type; they end with the task.
        _dtimout_ns: the longest wait inside a command (DTIMOUT) in nanoseconds; None for no limit.
        _ended: whether it has ended.
        _exit_token: the task's number and what exit programs have stored for it (UEPTSTOK); not set before that.
        _facility: its terminal or session, or None.
        _handles: the HANDLE and IGNORE settings, with those that PUSH HANDLE has suspended.
        _implicit: whether it consists of one command outside any task, which is its own unit of work.
        _is_mirror: whether it is a mirror task, which carries out the requests of another region.
        _level: the level of the running program; None for the first program.
        _outside: whether its commands are issued by the calling Python program rather than on a fiber.
        _program: the name of its first program.
        _queues: the table in which it looks queues up; empty when it has ended.
        _qzero: the logically recoverable queues that its committed units of work have read to QZERO, each with the
            number of the current or last ATI cycle at that time.
        _recorded: whether the region's recorder has been notified of its end.
        _region: the region in which it runs.
        _request: the trigger request of the queue that started it, or None.
        _start_data: the START whose data RETRIEVE returns first; None if there is none, or it was returned.
        _startcode: ``TD`` terminal input, ``S`` START, ``SD`` START with data, ``QD`` transient data, ``U`` the calling
            Python program.
        _storage: the storage of the task's programs in other languages; None before the first such program.
        _fiber: its fiber; None for the calling Python program, and after the end of a triggered task.
        _suspended: the kind and name of what it waits for, such as ("TD_READ", "PAYQ"), or None.
        _suspensions: how often it has waited.
        _unit: its unit of work; None before the first recoverable request. An ended one is treated as None.
        _work: the function that it runs, and its arguments after the task; not set for the calling Python program.
    """

    __slots__ = (
        "__dict__", "_dtimout_ns", "_ended", "_outside", "_program", "_queues", "_region", "_request",
        "_startcode", "_unit", "_work", "eib", "number", "transid", "userid",
    )  # fmt: skip

    _is_mirror: ClassVar[bool] = False
    _region: RegionData
    _exit_token: tuple[int, object]
    _work: tuple[Handler, tuple[object, ...]]

    # What most tasks never change: a new one does not set it.
    abcode = _abprogram = _orgabcode = ""
    condition: Condition | None = None
    _block: object = None
    _browses: Mapping[str, Any] = MappingProxyType({})
    _entered = _implicit = _recorded = _settled = False
    _facility: Facility | None = None
    _fiber: Fiber | None = None
    _handles = NO_HANDLES
    _level: ProgramLevel | None = None
    _qzero: Mapping[IntraTdQueue, int] = MappingProxyType({})
    _start_data: StartRequest | None = None
    _storage: Any = None
    _suspended: tuple[str, str] | None = None
    _suspensions = 0

    def __init__(
        self,
        region: RegionData,
        number: int,
        transid: str,
        userid: str,
        startcode: str = "U",
        program: str = "",
        dtimout_ns: int | None = None,
        request: Latch | None = None,
    ) -> None:
        self._region = region
        self.number = number
        self.transid = transid
        self._program = program or transid
        self.userid = userid
        self.eib = Eib(transid, number, region.clock.time_ns(), region.zone)
        self._startcode = startcode
        self._request = request
        self._outside = self._ended = False
        self._dtimout_ns = dtimout_ns
        self._unit: UnitOfWork | None = None
        self._queues: Mapping[str, RequestTarget] = region.directory.queues

    def __str__(self) -> str:
        return f"task {self.number} {self.transid}"

    def __repr__(self) -> str:
        return f"<Task {self.number} {self.transid}{' ended' if self._ended else ''}>"

    @property
    def region(self) -> RegionBase:
        """The region in which it runs."""
        return self._region.facade

    @property
    def _has_uow(self) -> bool:
        """Whether a unit of work has started, that is, a recoverable request was made since the last syncpoint."""
        return self._unit is not None and not self._unit.ended

    @property
    def _uow(self) -> UnitOfWork:
        """The unit of work; begins one if there is none."""
        uow = self._unit
        if uow is not None and uow.ended:
            uow = self._region.recovery.settled(self)
        return self._region.recovery.new(self) if uow is None else uow

    def end(self, *, normal: bool = False) -> None:
        """See :meth:`tdqsim.cics.kernel.task.TaskBase.end`."""
        raise NotImplementedError


class FacilityRequest(NamedTuple):
    """A request for a task at a facility, other than that of a transient data queue.

    Attributes:
        transid: the transaction.
        attach: called with the facility when it is free.
        drop: called instead if the region that owns the terminal refuses the request.
    """

    transid: str
    attach: Callable[[Facility], object]
    drop: Callable[[], object] = lambda: None


class Facility:
    """A terminal or a connection's session: it has one task at a time and serves requests in order.

    Attributes:
        name: the terminal's or connection's name.
        kind: ``TERMINAL`` or ``SYSTEM``.
        inservice: whether tasks can be attached to it; False while it is not defined.
        userid: the signed-on user; empty for none.
        owner: the connection to the region that owns the terminal; empty for a facility of this region.
        surrogate: how a routed task reaches its terminal (:class:`~tdqsim.cics.terminal.surrogate.Surrogate`), or None.
        task: its present task, or None.
        requests: the trigger requests and STARTs that wait for it.
    """

    __slots__ = ("inservice", "kind", "name", "owner", "requests", "surrogate", "task", "userid")

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.inservice = False
        self.userid = self.owner = ""
        self.surrogate: Any = None
        self.task: TaskData | None = None
        self.requests: deque[Latch | FacilityRequest] = deque()

    def __repr__(self) -> str:
        state = "in service" if self.inservice else "out of service or not defined"
        return f"<Facility {self.kind} {self.name} {state}, {len(self.requests)} waiting>"
