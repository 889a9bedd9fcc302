"""What the parts of a region share: its data, and for each part a protocol with what the others use of it.

The parts are made and put together by :class:`~tdqsim.cics.region_core.RegionCore`. Programs use a
:class:`~tdqsim.cics.region.Region`, which holds the core privately.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, TypeVar

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.region_log import RegionLog
from tdqsim.cics.kernel.security import SecurityPolicy, check_user
from tdqsim.cics.model.queue import IntraTdQueue
from tdqsim.cics.model.space import IntraSpace
from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.core.callables import why_no_hook
from tdqsim.core.clock import Clock
from tdqsim.core.codepage import CodePage, shown_bytes
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import Fiber
from tdqsim.core.notices import Notice, Notices
from tdqsim.core.store import CommitOwner, DurableQueue, Store, VolatileQueue, Work
from tdqsim.errors import UsageError
from tdqsim.facts import Cvda, Resp

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    from tdqsim import definitions as defs
    from tdqsim.cics.model.handle import TaskHandle
    from tdqsim.cics.model.level import ProgramLevel
    from tdqsim.cics.model.lock import Enqueue
    from tdqsim.cics.model.queue import Latch, RequestTarget, TdQueue
    from tdqsim.cics.model.start import StartRequest
    from tdqsim.cics.model.task import Facility, FacilityRequest, TaskData
    from tdqsim.cics.model.transaction import TransactionEntry
    from tdqsim.cics.model.unit import Meta, UnitOfWork
    from tdqsim.cics.region_arguments import RegionOptions
    from tdqsim.errors import StoreError

    Task_contra = TypeVarWithDefault("Task_contra", contravariant=True, default=Any)
else:
    Task_contra = TypeVar("Task_contra", contravariant=True)  # as in tdqsim.core.fiber
"""The task as hooks and recorders see it, with all its commands."""


class Hook(Protocol[Task_contra]):
    """Called for every command, and may make it fail: history, fault plans, schedule exploration."""

    def before(self, task: Task_contra, command: str, arguments: Mapping[str, object]) -> None:
        """Called before the work; a Condition or Abend raised here is the command's outcome."""

    def after(self, task: Task_contra, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """Called after it, with what it returned or the Condition it ended with."""


class Recorder(Protocol[Task_contra]):
    """What writes down what happens. Unlike a hook it changes nothing.

    Transient data requests and SYNCPOINT that succeed may call :attr:`trace` only; for whatever else ends,
    with a result or a condition, :meth:`command` is called.
    """

    @property
    def trace(self) -> Callable[[tuple[Any, ...]], object] | None:
        """Called for each successful request of those; None if they are to call :meth:`command` too.

        As (command, task number, queue, record, nanoseconds), on a logically recoverable queue with transid and the
        unit of work's id behind these; and of SYNCPOINT, without a queue.
        """

    def command(self, task: Task_contra, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """A command has ended: what it returned, or its Condition."""

    def task_waits(self, task: Task_contra, what: str, holder: str) -> None:
        """A task begins to wait inside a command: what for, as its ``suspended``, and the holder, for people."""

    def task_goes_on(self, task: Task_contra) -> None:
        """A task waits no longer, however its wait has ended."""

    def unit_of_work_ends(self, uow: UnitOfWork) -> None:
        """A unit of work is about to be committed; others may be committed before it, or with it."""

    def unit_of_work_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """A unit of work was committed or backed out; its locks are still held."""

    def task_started(self, task: Task_contra) -> None:
        """A task was attached; its EIB and ASSIGN STARTCODE show how."""

    def task_ended(self, task: Task_contra, *, normal: bool) -> None:
        """A task has ended; its unit of work is settled."""

    def seeded(self, queue: str, records: Sequence[bytes | str]) -> None:
        """Records were put on a queue outside any task."""


class RegionLink(Protocol):
    """A link to another region: what remote queues and SYSID need of it."""

    @property
    def netname(self) -> str:
        """The APPLID of the other region."""

    @property
    def acquired(self) -> bool:
        """Whether the other region is active and the link is open."""

    def resyncstatus(self, uow: UnitOfWork) -> Cvda:
        """RESYNCSTATUS of a unit of work over it: OK, UNAVAILABLE, or COLD if its coordinator has forgotten it."""

    def ship(
        self,
        task: TaskData,
        command: str,
        queue: str,
        *,
        data: bytes = b"",
        length: int | None = None,
        nosuspend: bool = False,
    ) -> bytes:
        """Do READQ TD, WRITEQ TD or DELETEQ TD in the other region.

        Args:
            task: the requester; its unit of work becomes distributed when the queue is recoverable.
            command: the command's name.
            queue: the queue's name in the other region.
            data: the record of WRITEQ.
            length: LENGTH of READQ; None for the whole record. The other region refuses a negative one.
            nosuspend: NOSUSPEND of READQ.

        Returns:
            The record of READQ, else nothing.

        Raises:
            Condition: as the other region answered, or SYSIDERR when it cannot be reached.
        """

    def ship_link(
        self, task: TaskData, program: str, order: bytes, *, apart: bool, command: Literal["LINK", "ROUTE"] = "LINK"
    ) -> bytes:
        """Run a program in the other region, or route a transaction to it.

        Args:
            task: the requester; its unit of work becomes distributed, unless ``apart``.
            program: the name of the program or transaction in the other region.
            order: the request in the byte form of :class:`~tdqsim.cics.programs.remote.LinkOrder` or
                :class:`~tdqsim.cics.terminal.routing.RouteOrder`.
            apart: whether the program or transaction has a unit of work of its own.
            command: what to do.

        Returns:
            What it has left in its COMMAREA or channel; for a transaction also how its conversation continues.

        Raises:
            Condition: as the other region answered, or SYSIDERR, TERMERR, INVREQ 14.
            Abend: the program has ended with it.
        """

    @property
    def is_near(self) -> bool:
        """Whether the other region is in this process."""

    def hello(self) -> None:
        """Send the identity of this region again: it takes requests again, after its connection was out of service."""

    def awaited_by(self, task: TaskData) -> str:
        """The request of a task whose answer from the other region it waits for; empty if it waits for none."""

    def explain(self, task: TaskData, name: str, size: int, *, kind: str = "TDQUEUE") -> bytes:
        """The explanation of a resource, or of the task that serves a task of this region, by the other region.

        Args:
            task: who asks; the other region takes into account what its unit of work has done there.
            name: the resource's name in the other region; for TASK the number of ``task``.
            size: the length, in bytes, of the record of the predicted WRITEQ.
            kind: TDQUEUE, TSQUEUE, PROGRAM, TRANSACTION or TASK.

        Returns:
            A :class:`~tdqsim.cics.inspection.explain_requests.FarExplanation` as bytes.

        Raises:
            Condition: SYSIDERR, ISCINVREQ: the other region cannot be asked.
        """

    def leave(self) -> None:
        """This region ends, or has failed: the link is gone."""


class MachinePart(Protocol):
    """The answers of a real machine, from machine.yaml."""

    @property
    def messages(self) -> Mapping[str, str]:
        """For the id of a message of the simulator, the one of the machine."""

    def apply(self, condition: Condition) -> None:
        """Give a condition the RESP, RESP2 and abend code of the machine, if its rule has an answer."""


class NearLink(RegionLink, Protocol):
    """A way to a region of this process, which can be asked what a request would meet there."""

    far: Any

    def foresee(self, task: TaskData) -> Any:
        """The task of the other region that would run the next request."""


def is_near(link: RegionLink) -> TypeGuard[NearLink]:
    """Whether a link leads to a region of this process."""
    return link.is_near


class Party(Protocol):
    """Whom a commit is made for."""

    def committed(self) -> None:
        """The commit is made. Assignments only, since it may be called more than once."""

    def finish(self) -> None:
        """Do what follows from it."""


class CommitterPart(Protocol):
    """The commits of a region; see :class:`~tdqsim.cics.uow.committer.Committer`."""

    urgent: bool

    @property
    def share(self) -> Callable[[Collection[Work], Meta, Party], BaseException | None]: ...
    def settle(self) -> None: ...
    def commit(self, works: Collection[Work] = ..., meta: Meta = ..., party: CommitOwner | None = ...) -> None: ...
    def refused(self, failed: str, error: StoreError) -> None: ...
    def note(self, key: bytes, value: bytes | None) -> None: ...
    def get_meta(self, key: bytes) -> bytes | None: ...
    def metas(self, prefix: bytes) -> list[tuple[bytes, bytes]]: ...
    def force(self) -> None: ...
    def at_once(self) -> AbstractContextManager[None]: ...


class AtiPart(Protocol):
    """The trigger cycles; see :class:`~tdqsim.cics.queues.ati.Ati`."""

    def arm(self, queue: IntraTdQueue) -> None: ...
    def due(
        self, queue: IntraTdQueue, items: int, task: int, transid: str, termid: str, uow: str = ""
    ) -> Latch | None: ...
    def begin(self, latch: Latch) -> None: ...
    def would_start(self, queue: IntraTdQueue, items: int) -> bool: ...
    def why_no_cycle(self, queue: IntraTdQueue) -> tuple[str, str, str] | None: ...
    def obstacle(self, queue: IntraTdQueue) -> Notice | None: ...
    def why_it_waits(self, facility: Facility) -> str | None: ...
    def schedule(self, latch: Latch) -> None: ...
    def serve(self, facility: Facility) -> None: ...
    def begin_request(self, request: Latch | FacilityRequest, facility: Facility) -> None: ...
    def emptied(self, queue: IntraTdQueue, cycle: int | None = None) -> None: ...
    def trigger_changed(self, queue: IntraTdQueue) -> None: ...
    def gone(self, queue: IntraTdQueue) -> None: ...
    def task_ended(self, latch: Latch, normal: bool) -> None: ...
    def cycle_of(self, uow: UnitOfWork) -> str: ...
    def hold(self, uow: UnitOfWork) -> None: ...
    def hold_again(self, uow: UnitOfWork, queue: IntraTdQueue) -> None: ...
    def resume(self, latch: Latch) -> bool: ...


class DirectoryPart(Protocol):
    """How requests find queues; see :class:`~tdqsim.cics.queues.directory.Directory`."""

    queues: dict[str, RequestTarget]

    def put_in(self, queue: TdQueue) -> None: ...
    def take_out(self, queue: TdQueue) -> None: ...
    def refresh(self, queue: TdQueue) -> None: ...
    def refresh_all(self) -> None: ...
    def show(self, queue: TdQueue) -> None: ...
    def settle_disable(self, queue: TdQueue) -> None: ...
    def find(self, name: object, sysid: str | None) -> RequestTarget: ...


class RecoveryPart(Protocol):
    """The units of work; see :class:`~tdqsim.cics.uow.units_of_work.UnitsOfWork`."""

    @property
    def last_id(self) -> bytes: ...
    def all(self) -> tuple[UnitOfWork, ...]: ...
    def reserve_id(self, uow_id: bytes) -> None: ...
    def settled(self, task: TaskData) -> UnitOfWork | None: ...
    def back_out(self, uow: UnitOfWork) -> None: ...
    def commit(self, uow: UnitOfWork) -> bool: ...
    def new(self, task: TaskData) -> UnitOfWork: ...
    @property
    def before_commit(self) -> Callable[[UnitOfWork], object] | None: ...
    def release(self, uow: UnitOfWork) -> None: ...
    def shunt(self, uow: UnitOfWork) -> None: ...


class TerminalsPart(Protocol):
    """Terminals and connections; see :class:`~tdqsim.cics.queues.facilities.Facilities`."""

    def get(self, kind: str, name: str) -> Facility: ...
    def defined(self, terminal: str) -> Facility: ...
    def refresh(self, installed: Collection[tuple[str, str]] | None = None) -> None: ...
    def set_terminal(self, name: str, *, inservice: bool) -> None: ...
    def when_free(self, terminal: str, request: FacilityRequest) -> None: ...


class MessagesPart(Protocol):
    """What CICS writes to its own queues; see :class:`~tdqsim.cics.queues.messages.Messages`."""

    def write(self, message: str, **inserts: object) -> None: ...
    def show(self, terminal: str, message: str, **inserts: object) -> None: ...
    def compose(self, message: str, **inserts: object) -> str: ...
    def text(self, destination: str, text: str, prefix: str = ...) -> bool: ...


class TasksPart(Protocol):
    """The tasks; see :class:`~tdqsim.cics.kernel.tasks.Tasks`."""

    unfinished: dict[TaskData, object]
    peak: int
    prtyaging: int

    def next_number(self) -> int: ...
    def outside(self, transid: str, userid: str) -> TaskData: ...
    def system(self) -> TaskData: ...
    def user_for(self, userid: str) -> str: ...
    def purge(self, handle: Fiber | TaskData, code: str = ...) -> bool: ...
    def set_prtyaging(self, milliseconds: int) -> None: ...
    def attach(
        self,
        entry: TransactionEntry,
        *,
        startcode: str,
        userid: str,
        facility: Facility | None = None,
        request: Latch | None = None,
        start: StartRequest | None = None,
        args: tuple[object, ...] = (),
        level: ProgramLevel | None = None,
    ) -> TaskHandle: ...


class RegionData:
    """What the core of a region holds.

    Attributes:
        facade: the region as programs know it.
        options: its arguments that do not change.
        started: whether its start is over.
        machine: the answers of a real machine that replace the simulator's, or None.
        limits: the limits on the number of tasks (:class:`~tdqsim.cics.kernel.limits.Limits`), or None.
        is_watched: whether there is a hook or a recorder.
        enqueues: the names of ENQ that are held or waited for.
        enqueued: what each task or unit of work holds of them.
        aside: a temporary store for queues that a store opened read-only does not have, or None.
        cold_start_abstime: when it was last started without what was there before, as an ABSTIME.
    """

    facade: RegionBase
    options: RegionOptions
    applid: str
    sysid: str
    cmdsec: str
    ressec: str
    start_type: str
    zone: tzinfo
    codepage: CodePage
    clock: Clock
    dispatcher: Dispatcher
    log: RegionLog
    notices: Notices
    closed: bool
    failed: bool
    why_closed: str
    started: bool
    readonly: bool
    is_watched: bool
    _hook: Hook | None
    _recorder: Recorder | None
    security: SecurityPolicy | None
    cold_start_abstime: int
    aside: Store | None
    machine: MachinePart | None
    limits: Any

    transactions: dict[str, TransactionEntry]
    discarded: dict[str, TransactionEntry]
    terminals: dict[str, defs.Terminal]
    connections: dict[str, defs.Connection]
    links: Mapping[str, RegionLink]
    tdqueues: dict[str, TdQueue]
    tasks: dict[int, TaskData]
    facilities: dict[tuple[str, str], Facility]
    units: dict[bytes, UnitOfWork]
    shunted: dict[bytes, UnitOfWork]
    image_of: Callable[[UnitOfWork], bytes]
    enqueues: dict[bytes, Enqueue]
    enqueued: dict[object, dict[bytes, Enqueue]]
    abends: dict[str, int]
    browses: dict[str, Any]
    damage: list[Any]

    store: Store
    committer: CommitterPart
    directory: DirectoryPart
    intra: IntraSpace
    ati: AtiPart
    recovery: RecoveryPart
    task_manager: TasksPart
    terminal_control: TerminalsPart
    messages: MessagesPart
    # The parts of rooms further up, which alone know their types.
    exits: Any
    starts: Any
    statistics: Any
    programs: Any
    diagnostics: Any
    ts: Any
    files: Any
    screens: Any
    routing: Any
    data_sets: Any
    catalogue: Any

    # -- recorders and hooks ------------------------------------------------------------------------------------------

    def set_security(self, policy: SecurityPolicy | None) -> None:
        """Replace the security policy."""
        self._take_policy(policy)
        self.directory.refresh_all()

    def _take_policy(self, policy: SecurityPolicy | None) -> None:
        check_user(policy, self.options.dfltuser, "dfltuser")
        check_user(policy, self.options.regionuserid, "regionuserid")
        self.security = policy

    @property
    def hook(self) -> Hook | None:
        """The hook that is called for every command; None costs nothing."""
        return self._hook

    @hook.setter
    def hook(self, hook: Hook | None) -> None:
        if hook is not None and (reason := why_no_hook(hook, "before", "after")):
            raise UsageError(f"hook {type(hook).__qualname__}: {reason}")
        self._hook = hook
        self._watch()

    @property
    def recorder(self) -> Recorder | None:
        """What writes down what happens; None costs nothing."""
        return self._recorder

    @recorder.setter
    def recorder(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._watch()

    def _watch(self) -> None:
        self.is_watched = self._hook is not None or self._recorder is not None
        self.directory.refresh_all()

    # -- what it holds --------------------------------------------------------------------------------------------

    @property
    def looks_at_store(self) -> bool:
        """Whether it only reads an existing store."""
        return self.readonly and not self.store.created

    @property
    def looks_from_outside(self) -> bool:
        """Whether the store that it only reads belongs to a region that runs, or was not closed."""
        return self.looks_at_store and not self.store.closed_clean

    def nothing_stored(self, name: bytes, *, durable: bool) -> VolatileQueue | DurableQueue:
        """An empty queue, in place of one that the store looked at does not show yet."""
        self.dispatcher.check_thread()
        if self.aside is None:
            self.aside = Store()
        return self.aside.durable.create_queue(name) if durable else self.aside.volatile.create_queue(name)

    @explains_wrong_types
    def link(self, sysid: str) -> RegionLink:
        """The way to another system.

        Raises:
            Condition: SYSIDERR: it is not defined or not connected.
        """
        self.dispatcher.check_thread()
        link = self.links.get(sysid)
        if link is None:
            detail = f"there is no connection to system {sysid}"
            raise Condition(Resp.SYSIDERR, detail=detail, rule="REC-SYSIDERR-UNKNOWN")
        return link

    @explains_wrong_types
    def encode(self, text: str) -> bytes:
        """Text in the region's code page; characters it does not have become substitutes."""
        return shown_bytes(text, self.codepage)

    @explains_wrong_types
    def text(self, record: bytes) -> str:
        """A record as text, by the region's code page.

        Raises:
            ConversionError: a byte of it is no character there.
        """
        return self.codepage.decode(bytes(record))

    def units_of_work(self) -> tuple[UnitOfWork, ...]:
        """Those that tasks have begun, then the shunted ones, each in order of age."""
        self.dispatcher.check_thread()
        return self.recovery.all()


class RegionBase:
    """The base of :class:`~tdqsim.cics.region.Region`, for modules below it."""

    __slots__ = ("__weakref__", "_core", "applid")

    _core: RegionData
    applid: str
