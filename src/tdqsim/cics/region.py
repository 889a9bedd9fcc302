"""A region: queues, transactions and tasks around one store, one dispatcher and one clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Protocol, Self, TypeVar

from tdqsim import definitions as defs
from tdqsim.cics import indoubt, inspecting, restart
from tdqsim.cics.abstime import abstime, time_zone
from tdqsim.cics.ati import Ati, Facility, Request
from tdqsim.cics.command import COMMANDS
from tdqsim.cics.commands import Commands
from tdqsim.cics.conditions import Abend, Condition
from tdqsim.cics.datasets_of import DataSets
from tdqsim.cics.enqueue import Enqueue, release_all
from tdqsim.cics.handlers import Handler, TransactionEntry, import_handler, undefined
from tdqsim.cics.hardening import Hardening
from tdqsim.cics.inspecting import QueueSnapshot
from tdqsim.cics.install import install, install_tdqueue, remove_tdqueue
from tdqsim.cics.interval import StartRequest
from tdqsim.cics.intra import IntraSpace
from tdqsim.cics.messages import Messages
from tdqsim.cics.queues import ExtraFile, ExtraQueue, IntraQueue, RemoteLink, TdQueue
from tdqsim.cics.restart import Catalogue
from tdqsim.cics.security import SecurityPolicy
from tdqsim.cics.signature import Way
from tdqsim.cics.statistics import Statistics
from tdqsim.cics.task import Task
from tdqsim.cics.uow import UOW_ID_LENGTH, UnitOfWork
from tdqsim.core.clock import Clock
from tdqsim.core.codepage import codepage as find_codepage
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.core.store import Durability, Store, StoredQueue
from tdqsim.datasets import JobLog
from tdqsim.errors import DefinitionError, Problem, RegionClosed, TdqError
from tdqsim.facts import REGION_DEFAULTS, Cvda, Resp, table

__all__ = ["Hook", "Recorder", "Region", "StartType"]

StartType = Literal["AUTO", "COLD", "INITIAL"]
_F = TypeVar("_F", bound=Callable[..., Any])
_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("kernel")}
_IDENTITY: Final = b"region/cold_start"
_PURGED: Final = "AEXY"
_OUTSIDE_TRANSID: Final = "TEST"


class Hook(Protocol):
    """What may look at every command, and break it: history, fault plans, schedule exploration."""

    def before(self, task: Task, command: str, arguments: Mapping[str, Any]) -> None:
        """Called before the work; a Condition or Abend raised here is the command's outcome."""

    def after(self, task: Task, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """Called after it, with what it returned or the Condition it ended with."""


class Recorder(Protocol):
    """What writes down what happens. Unlike a hook it changes nothing, and queues go on taking the short way.

    Attributes:
        trace: told of each request that took the short way, as (command, task number, queue, record, nanoseconds).
    """

    trace: Callable[[tuple[Any, ...]], object]

    def command(self, task: Task, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """A command on the long way has ended: what it returned, or its Condition."""

    def unit_of_work_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """A unit of work was committed or backed out; its locks are still held."""

    def task_started(self, task: Task) -> None:
        """A task was attached; ``task.request`` says for which queue's cycle, if for any."""

    def task_ended(self, task: Task, *, normal: bool) -> None:
        """A task has ended; its unit of work is settled."""

    def seeded(self, queue: str, records: Sequence[bytes | str]) -> None:
        """Records were put on a queue outside any task."""


class Region(Commands):
    """A CICS region.

    Commands issued on the region itself (``region.writeq_td("PAYQ", b"...")``) are a task each, with its syncpoint.

    Args:
        definitions: what to install, as the group list of a cold start; files' definitions may be added with ``+``.
        applid: APPLID.
        sysid: SYSIDNT.
        store: the directory of the store; None for a temporary one; or a Store that is open, which a cold start
            empties.
        dispatcher: to be shared with other regions and systems; one of its own by default.
        clock: the clock of the dispatcher that is made when none is given.
        seed: the order of ready tasks; 0 is CICS order.
        timezone: IANA name of the region's time zone.
        default_user: the user of tasks that have none (DFLTUSER).
        codepage: the code page of text: messages, the EIB's image.
        release: the release that the region says it is, four digits.
        start: AUTO (warm or emergency, as the last run ended), COLD or INITIAL.
        tdintra: EMPTY begins with empty intrapartition queues.
        supplied_queues: install the supplied queues (group DFHDCTG).
        security: who may do what; None checks nothing.
        dfhintra: the intrapartition data set: ``ci_size``, bytes of a control interval (the longest record has 32
            less), and ``control_intervals``, how many there are.
        durability: what a commit survives: ``process`` or ``power``.
        limit_bytes: a ceiling for the store's files.
        datasets: the directory of data sets by DSNAME.
        dd: DD cards by name: a path, a DDCard, or a mapping as in region.yaml.
        handlers: modules to import; a function ``register(region)`` in one is called. With it, ``handler:`` paths of
            transactions are imported too.
        open_data_sets: open the data sets of queues with OPENTIME(INITIAL), as a start does. False leaves them closed
            and as they are.
        readonly: only look: at a store that another process may be writing, or at what a new region would be. No data
            set is opened, and commands that change something are not for such a region.

    Attributes:
        tdqueues: the installed queues by name, in the order of installation.
        transactions, terminals, connections: the other installed resources by name.
        tasks: the tasks that have begun and not ended, by number.
        browses: the browses that commands outside a task have started and not ended, by resource type.
        units: units of work that tasks have begun and that have not ended, by id.
        shunted: units of work that wait for their coordinator without a task, by id.
        damage: units of work that were decided without their coordinator, and otherwise than that.
        links: the ways to other regions by connection name.
        start_type: INITIAL, COLD, WARM or EMERGENCY.
        statistics: see :class:`~tdqsim.cics.statistics.Statistics`.
        abends: how many tasks abended, by code.
        closed: whether it has been closed.
    """

    _recorder: Recorder | None = None

    def __init__(
        self,
        definitions: defs.Definitions | Iterable[defs.Resource] = (),
        *,
        applid: str = REGION_DEFAULTS["applid"],
        sysid: str = REGION_DEFAULTS["sysid"],
        store: Path | str | Store | None = None,
        dispatcher: Dispatcher | None = None,
        clock: Clock | None = None,
        seed: int = 0,
        timezone: str = REGION_DEFAULTS["time_zone"],
        default_user: str = REGION_DEFAULTS["default_user"],
        codepage: str | int = REGION_DEFAULTS["code_page"],
        release: str = REGION_DEFAULTS["release"],
        start: StartType = "AUTO",
        tdintra: Literal["NOEMPTY", "EMPTY"] = "NOEMPTY",
        supplied_queues: bool = True,
        security: SecurityPolicy | None = None,
        dfhintra: Mapping[str, int] | None = None,
        durability: Durability = "process",
        limit_bytes: int | None = None,
        datasets: Path | str | None = None,
        dd: Mapping[str, Any] | None = None,
        handlers: Sequence[str] = (),
        open_data_sets: bool = True,
        readonly: bool = False,
    ) -> None:
        inspecting.check_arguments(start=start, tdintra=tdintra)
        self.applid, self.sysid = applid, sysid
        self.default_user, self.release = default_user, release
        self.zone = time_zone(timezone)
        self.codepage = find_codepage(codepage)
        self.dispatcher = dispatcher if dispatcher is not None else Dispatcher(clock, seed)
        self.clock = self.dispatcher.clock
        self.log = inspecting.RegionLog(applid)
        self.closed = False
        self.readonly = readonly
        self.open_data_sets = open_data_sets and not readonly
        self.unguarded = security is None
        self._security = security
        self._hook: Hook | None = None
        self._spare: Task | None = None
        self._aside: Store | None = None
        self._numbers = 0
        self._reqids = 0
        self._last_uow = self.clock.time_ns()
        self.tdqueues: dict[str, TdQueue] = {}
        self.transactions: dict[str, TransactionEntry] = {}
        self.terminals: dict[str, defs.Terminal] = {}
        self.connections: dict[str, defs.Connection] = {}
        self.facilities: dict[tuple[str, str], Facility] = {}
        self.tasks: dict[int, Task] = {}
        self.browses: dict[str, Any] = {}
        self.units: dict[bytes, UnitOfWork] = {}
        self.shunted: dict[bytes, UnitOfWork] = {}
        self.damage: list[indoubt.Damage] = []
        self.links: dict[str, RemoteLink] = {}
        self.enqueues: dict[bytes, Enqueue] = {}
        self.start_requests: dict[str, StartRequest] = {}
        self.abends: dict[str, int] = {}
        self.survivors: tuple[Strand, ...] = ()
        self.intra = IntraSpace(*inspecting.dfhintra(dfhintra or {}), self.intra_queues)
        self.ati = Ati(self)
        self.messages = Messages(self)
        self.statistics = Statistics(self)
        self.store = (
            store
            if isinstance(store, Store)
            else Store(
                Path(store) if store is not None else None,
                durability=durability,
                limit_bytes=limit_bytes,
                readonly=readonly and store is not None,
            )
        )
        try:
            self.hardening = Hardening(self.dispatcher, self.store.durable)
            self.dispatcher.on_idle.append(self.hardening.idle)
            self.data_sets = DataSets(self, dd or {}, datasets)
            self.catalogue = Catalogue(self, kept=isinstance(store, Path | str))
            self._start(definitions, start, empty=tdintra == "EMPTY", supplied=supplied_queues)
            if handlers:
                self.load_handlers(*handlers)
        except BaseException:
            self._let_go(clean=False)
            raise

    @classmethod
    def from_directory(cls, path: Path | str, **overrides: Any) -> Region:
        """The region that ``region.yaml`` in a directory describes.

        Args:
            path: the directory.
            overrides: arguments that win over the file's; ``dd`` is added to the file's.

        Raises:
            DefinitionError: anything in the file or the definitions it names is wrong.
        """
        from tdqsim.definitions.regionfile import load_region_file  # noqa: PLC0415  (only directories need it)

        return inspecting.from_region_file(cls, load_region_file(path), overrides)

    def __repr__(self) -> str:
        return f"<Region {self.applid} {self.start_type}{' closed' if self.closed else ''}>"

    # -- starting -------------------------------------------------------------------------------------------------

    def _start(
        self, definitions: defs.Definitions | Iterable[defs.Resource], start: StartType, *, empty: bool, supplied: bool
    ) -> None:
        store = self.store
        if self.looks_at_store:
            self.start_type = "WARM" if store.closed_clean else "EMERGENCY"  # what the next start would be
            self.catalogue.load()
            return
        if store.created or start != "AUTO":
            self.start_type = "INITIAL" if store.created or start == "INITIAL" else "COLD"
            store.clear()
            self._cold(definitions, supplied=supplied)
            return
        self.start_type = "WARM" if store.closed_clean else "EMERGENCY"
        if not store.closed_clean:
            store.discard_volatile()
        if empty:
            inspecting.empty_intrapartition(store)
        self.cold_start_abstime = int.from_bytes(store.durable.get_meta(_IDENTITY) or b"", "big")
        self.catalogue.load()
        if not store.closed_clean:
            restart.give_back_reads(self)
        restart.load_units_of_work(self)
        indoubt.resume(self)
        self.force()
        self._resume_triggers()
        self.log.info("region_started", start=self.start_type, tdqueues=len(self.tdqueues))

    @property
    def looks_at_store(self) -> bool:
        """Whether it only looks at a store that is there."""
        return self.readonly and not self.store.created

    def nothing_stored(self, name: bytes) -> StoredQueue:
        """An empty queue, in place of one that the store looked at does not show yet."""
        if self._aside is None:
            self._aside = Store()
        return self._aside.volatile.create_queue(name)

    def _cold(self, definitions: defs.Definitions | Iterable[defs.Resource], *, supplied: bool) -> None:
        given = inspecting.as_definitions(definitions)
        self.cold_start_abstime = abstime(self.clock.time_ns(), self.zone)
        self.store.durable.put_meta(_IDENTITY, self.cold_start_abstime.to_bytes(8, "big"))
        if supplied:
            own = {queue.name for queue in given.tdqueues}
            rest = [queue for queue in inspecting.supplied().tdqueues if queue.name not in own]
            install(self, defs.Definitions.of(rest), way="grplist", user=self.default_user)
        install(self, given, way="grplist", user=self.default_user)
        self.log.info("region_started", start=self.start_type, tdqueues=len(self.tdqueues))

    def _resume_triggers(self) -> None:
        """Go on with the cycles of the last run, once the first command or ``run()`` lets tasks run."""
        due = restart.pending_triggers(self)
        if due:
            self.dispatcher.spawn(partial(self._reschedule, due), name="restart of triggers", owner=self)

    def _reschedule(self, due: list[IntraQueue]) -> None:
        for queue in due:
            if self.tdqueues.get(queue.name) is queue:
                queue.latch = True
                self.ati.reschedule(queue)

    def load_handlers(self, *modules: str) -> None:
        """Import modules and the handlers that transactions name by import path.

        Args:
            modules: module names; a function ``register(region)`` in one is called.

        Raises:
            DefinitionError: a module or handler cannot be imported.
        """
        for name in modules:
            try:
                register = getattr(import_module(name), "register", None)
            except Exception as error:
                message = f"module {name} cannot be imported: {type(error).__name__}: {error}"
                raise DefinitionError([Problem("<handlers>", 0, "", "handlers", name, message)]) from error
            if register is not None:
                register(self)
        for entry in self.transactions.values():
            if entry.program is None and entry.definition.handler:
                entry.program = import_handler(entry.definition.handler, entry.definition.name)

    # -- resources ------------------------------------------------------------------------------------------------

    def install(
        self, definitions: defs.Definitions | Iterable[defs.Resource], *, way: Way = "csd", user: str = ""
    ) -> None:
        """Install definitions into the running region, all of them or none.

        Raises:
            InstallRefused: a queue is there already and cannot be replaced, or its user id is not valid.
        """
        self._check_open("install")
        install(self, inspecting.as_definitions(definitions), way=way, user=user or self.default_user)

    def install_tdqueue(self, definition: defs.Tdqueue, *, way: Way, user: str, program: str = "") -> bool:
        """Install or replace one queue, as CREATE does; see :func:`tdqsim.cics.install.install_tdqueue`."""
        return install_tdqueue(self, definition, way=way, user=user, program=program)

    def remove_tdqueue(self, queue: TdQueue) -> None:
        """Take a queue out with its records, as DISCARD does once it is allowed."""
        remove_tdqueue(self, queue)

    def transaction(self, transid: str) -> Callable[[_F], _F]:
        """Decorator: the function is the program of a transaction."""

        def register(handler: _F) -> _F:
            self.register(transid, handler)
            return handler

        return register

    def register(self, transid: str, handler: Handler) -> None:
        """Make a callable the program of a transaction; without a definition the transaction gets defaults.

        Raises:
            DefinitionError: the name is no transaction id.
            TdqError: the handler cannot be called.
        """
        if not callable(handler):
            raise TdqError(f"TRANSACTION({transid}): {handler!r} cannot be called; a handler is a callable")
        entry = self.transactions.get(transid)
        if entry is None:
            self.transactions[transid] = TransactionEntry(undefined(transid), handler, defined=False)
        else:
            entry.program = handler

    def intra_queues(self) -> Iterator[IntraQueue]:
        """The intrapartition queues in the order of installation."""
        return (queue for queue in tuple(self.tdqueues.values()) if isinstance(queue, IntraQueue))

    def data_set(self, queue: ExtraQueue) -> ExtraFile:
        """The data set for an extrapartition queue that is being installed."""
        return self.data_sets.make(queue)

    def facility(self, kind: str, name: str) -> Facility:
        """A terminal (``TERMINAL``) or connection (``SYSTEM``), whether it is defined or not."""
        facility = self.facilities.get((kind, name))
        if facility is None:
            facility = self.facilities[kind, name] = Facility(name, kind)
            self._update_facility(facility)
        return facility

    def _update_facility(self, facility: Facility) -> None:
        definition: Any = (self.terminals if facility.kind == "TERMINAL" else self.connections).get(facility.name)
        facility.inservice = definition is not None and definition.inservice == "YES"
        if definition is not None:
            facility.userid = definition.userid if facility.kind == "TERMINAL" else definition.securityname

    def refresh_facilities(self) -> None:
        """Definitions of terminals and connections have changed: serve those that are in service now."""
        for facility in tuple(self.facilities.values()):
            self._update_facility(facility)
            self.ati.serve(facility)

    def set_terminal(self, name: str, *, inservice: bool) -> None:
        """Put a terminal in or out of service; tasks that wait for it then start.

        Raises:
            TdqError: there is no such terminal.
        """
        if name not in self.terminals:
            raise TdqError(f"terminal {name} is not defined; defined are {', '.join(self.terminals) or 'none'}")
        facility = self.facility("TERMINAL", name)
        facility.inservice = inservice
        self.ati.serve(facility)

    def link(self, sysid: str) -> RemoteLink:
        """The way to another system.

        Raises:
            Condition: SYSIDERR: it is not defined or not connected.
        """
        link = self.links.get(sysid)
        if link is None:
            raise Condition(Resp.SYSIDERR, detail=f"there is no connection to system {sysid}")
        return link

    @property
    def jobs(self) -> JobLog:
        """The jobs given to the internal reader, in order; ``region.jobs.on_submit = handler`` is told of each one."""
        return self.data_sets.jobs

    # -- state that commands keep ---------------------------------------------------------------------------------

    @property
    def security(self) -> SecurityPolicy | None:
        """The security policy; None checks nothing."""
        return self._security

    @security.setter
    def security(self, policy: SecurityPolicy | None) -> None:
        self._security = policy
        self.refresh_all()

    @property
    def hook(self) -> Hook | None:
        """What looks at every command; None costs nothing."""
        return self._hook

    @hook.setter
    def hook(self, hook: Hook | None) -> None:
        self._hook = hook
        self.refresh_all()

    @property
    def recorder(self) -> Recorder | None:
        """What writes down what happens; None costs nothing."""
        return self._recorder

    @recorder.setter
    def recorder(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self.refresh_all()

    def refresh_all(self) -> None:
        """Work out anew which queues may take the short way."""
        self.unguarded = self._security is None and self._hook is None and not self.closed
        for queue in self.tdqueues.values():
            self.refresh(queue)

    def refresh(self, queue: TdQueue) -> None:
        """Work out whether requests to a queue may take the short way."""
        queue.plain = (
            self.unguarded
            and isinstance(queue, IntraQueue)
            and queue.recovstatus == "NO"
            and queue.enablestatus is Cvda.ENABLED
        )
        queue.trace = self._recorder.trace if self._recorder is not None else None

    def changed(self, queue: TdQueue) -> None:
        """SET TDQUEUE has changed a queue: keep it in the catalogue, arm its trigger."""
        if isinstance(queue, IntraQueue):
            self.ati.arm(queue)
        self.refresh(queue)
        self.catalogue.save_queue(queue)
        self.force()

    def settle_disable(self, queue: TdQueue) -> None:
        """DISABLING becomes DISABLED when nobody holds or waits for the queue any more."""
        if queue.enablestatus is not Cvda.DISABLING:
            return
        if isinstance(queue, IntraQueue) and any(lock.in_use for lock in queue.locks):
            return
        queue.enablestatus = Cvda.DISABLED
        self.refresh(queue)

    # -- units of work --------------------------------------------------------------------------------------------

    def new_uow(self, task: Task) -> UnitOfWork:
        """A unit of work for a task."""
        self._last_uow += 1
        uow = UnitOfWork(self, self._last_uow.to_bytes(UOW_ID_LENGTH, "big"), task)
        self.units[uow.id] = uow
        return uow

    def uow_seen(self, uow_id: bytes) -> None:
        """An id of an earlier run: later ones are higher."""
        self._last_uow = max(self._last_uow, int.from_bytes(uow_id, "big"))

    def units_of_work(self) -> tuple[UnitOfWork, ...]:
        """Those that tasks have begun, then the shunted ones, each in order of age."""
        return (*self.units.values(), *self.shunted.values())

    def commit(self, uow: UnitOfWork) -> bool:
        """End a unit of work, with those who take part in it; False when one of them refused and it was backed out."""
        if not uow.participants:
            uow.commit()
            return True
        return indoubt.commit_together(uow)

    def back_out(self, uow: UnitOfWork) -> None:
        """Undo a unit of work, with those who take part in it."""
        uow.back_out()
        indoubt.tell_participants(uow, commit=False)

    def coordinate(self, task: Task, name: str) -> indoubt.Subordinate:
        """Hand a task's unit of work to a coordinator outside CICS, which then drives it; the task begins another.

        Args:
            task: whose unit of work it is.
            name: the coordinator's own name for it, by which :meth:`branch` finds it again, after a restart too.

        Returns:
            The unit of work with ``prepare()``, ``commit()``, ``back_out()``, ``forget()`` and ``lose_coordinator()``.
        """
        uow = task.uow
        task.detach_uow()
        return indoubt.Subordinate(uow, name)

    def branch(self, name: str) -> indoubt.Subordinate | None:
        """The unit of work that waits, shunted, for the coordinator that calls it so; None when there is none."""
        found = next((uow for uow in self.shunted.values() if uow.coordinator == name), None)
        return None if found is None else indoubt.Subordinate(found, name, found.link)

    def unit_of_work_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """Count its QZEROs, start what waited for its commit, free its ENQs."""
        self.units.pop(uow.id, None)
        if self._recorder is not None:
            self._recorder.unit_of_work_ended(uow, committed=committed)
        if committed and uow.qzero:
            if uow.task is not None and not uow.task.ended:
                uow.task.qzero.update(uow.qzero)
            else:
                for queue in uow.qzero:
                    self.ati.emptied(queue)
        for action in uow.at_end:
            action(committed)
        if self.enqueues:
            release_all(self, uow)

    def harden(self, _uow: UnitOfWork) -> None:
        """Make the unit of work's changes permanent, together with others'."""
        self.hardening.wait()

    def force(self) -> None:
        """Make all durable changes permanent now."""
        if self.store.durable.dirty:
            self.hardening.force()

    def image_of(self, uow: UnitOfWork) -> bytes:
        """A prepared unit of work as it is kept on the store."""
        return restart.image_of(uow)

    def forget_last_reads(self, queue: IntraQueue) -> None:
        """A PHYSICAL queue was deleted: nothing is given back to it."""
        if queue.recovstatus == "PHYSICAL":
            restart.forget_reads(self, queue)

    # -- tasks ----------------------------------------------------------------------------------------------------

    def next_task_number(self) -> int:
        """The number of the next task."""
        self._numbers = self._numbers % _BOUNDS["last_task_number"] + 1
        return self._numbers

    def task(self, *, transid: str = _OUTSIDE_TRANSID, userid: str = "") -> Task:
        """A task for the program outside: ``with region.task() as t:``.

        The block is one task: syncpoint at its normal end, backout on an exception, which goes on.

        Args:
            transid: its transaction id.
            userid: its user; the default user when not given.
        """
        self._check_open("task")
        task = Task(self, self.next_task_number(), transid, userid or self.default_user)
        task.outside = self.dispatcher.current is self.dispatcher.outside
        self.tasks[task.number] = task
        return task

    def system_task(self) -> Task:
        """A task of the region's own, for its messages; it is not listed."""
        task = Task(self, self.next_task_number(), "CSSY", self.default_user)
        task.outside = False
        task.implicit = True
        return task

    def start(  # type: ignore[override]  # the command START is the task's
        self, program: str | Handler, *args: Any, userid: str = "", terminal: str = "", data: bytes | None = None
    ) -> Strand:
        """Start a task that runs beside the program outside.

        Args:
            program: a transaction id, or a function that is called with its task and ``args``.
            args: further arguments of the function.
            userid: its user; the default user when not given.
            terminal: its principal facility; the terminal must be defined.
            data: what its RETRIEVE gives.

        Returns:
            The handle: ``region.run()`` lets it run, ``handle.result()`` is what it returns or raises.

        Raises:
            TdqError: the transaction is not defined, disabled, or has no program.
        """
        self._check_open("start")
        entry = inspecting.startable(self, program)
        facility = self.facility("TERMINAL", terminal) if terminal else None
        if facility is not None and terminal not in self.terminals:
            raise TdqError(f"terminal {terminal} is not defined")
        startcode = "TD" if facility is not None else "S" if data is None else "SD"
        return self.attach(
            entry, startcode=startcode, userid=userid or self.default_user, facility=facility, data=data, args=args
        )

    def attach(
        self,
        entry: TransactionEntry,
        *,
        startcode: str,
        userid: str,
        facility: Facility | None = None,
        request: Request | None = None,
        data: bytes | None = None,
        args: tuple[Any, ...] = (),
    ) -> Strand:
        """Make a task for a transaction that can be attached; it runs when it is dispatched."""
        definition = entry.definition
        task = Task(self, self.next_task_number(), definition.name, userid, startcode=startcode)
        task.outside = False
        task.program = definition.program or definition.name
        task.dtimout_ns = entry.dtimout_ns
        task.request = request
        if data is not None:
            task.start_data.append(data)
        if facility is not None:
            task.facility = facility
            task.eib.eibtrmid = facility.name
            facility.task = task
        self.tasks[task.number] = task
        assert entry.program is not None, entry
        strand = self.dispatcher.spawn(
            partial(task.run, entry.program, args), name=f"task {task.number} {definition.name}", owner=self
        )
        strand.local = task
        task.strand = strand
        if self._recorder is not None:
            self._recorder.task_started(task)
        return strand

    def task_ended(self, task: Task, *, normal: bool) -> None:
        """Settle what a task leaves: QZEROs, its queue's cycle, its facility, its ENQs."""
        self.tasks.pop(task.number, None)
        if self._recorder is not None:
            self._recorder.task_ended(task, normal=normal)
        for queue in task.qzero:
            self.ati.emptied(queue)
        if self.enqueues:
            release_all(self, task)
        facility = task.facility
        if facility is not None and facility.task is task:
            facility.task = None
        if task.request is not None and not self.closed:
            self.ati.task_ended(task.request, normal=normal)
        if facility is not None and not self.closed:
            self.ati.serve(facility)

    def run(self) -> None:
        """Let tasks run until none can go on; the simulated clock jumps to what they wait for."""
        self._check_open("run")
        self.dispatcher.run()

    def purge(self, handle: Strand | Task, code: str = _PURGED) -> bool:
        """End a task that waits, as an operator's purge does; False when it does not wait."""
        strand = handle if isinstance(handle, Strand) else handle.strand
        return strand is not None and strand.cancel(Abend(code, detail="the task was purged"))

    def start_at(self, request: StartRequest, deadline_ns: int) -> None:
        """Have a START done when its time comes."""
        if deadline_ns <= self.clock.time_ns():
            request.due()
        else:
            request.timer = self.dispatcher.call_at(deadline_ns, request.due)

    def next_reqid(self) -> str:
        """A name for a START that was given none."""
        self._reqids += 1
        return f"DF{self._reqids:06d}"

    def run_alone(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do one command as a task of its own."""
        task, self._spare = self._spare, None
        if task is None:
            if self.closed:
                raise RegionClosed(f"the region {self.applid} is closed")
            task = Task(self, 0, _OUTSIDE_TRANSID, self.default_user)
            task.outside = False
            task.implicit = True
        self._numbers = number = self._numbers % 99_999 + 1
        task.number = task.eib.eibtaskn = number
        try:
            value = function(task, *args, **kwargs)
            if task._uow is not None:  # noqa: SLF001  (the region makes and ends its own task)
                task.take_syncpoint()
        except BaseException:
            task.end(normal=False)
            raise
        if task.qzero or task.browses or self.enqueues:
            task.end(normal=True)
        else:
            self._spare = task
        if self.dispatcher.pending:
            self.dispatcher.run_ready()
        return value

    def execute(self, text: str, variables: MutableMapping[str, Any] | None = None) -> dict[str, Any]:
        """Issue a command written as EXEC CICS text, as a task of its own; see the task's method."""
        return self.run_alone(Commands.execute, (text, variables), {})  # type: ignore[no-any-return]

    def browse_tdqueue(self, *options: str) -> Iterator[Any]:
        """Iterate over INQUIRE TDQUEUE of all queues; see the task's method."""
        with self.task() as task:
            yield from task.browse_tdqueue(*options)

    # -- see and seed ---------------------------------------------------------------------------------------------

    def encode(self, text: str) -> bytes:
        """Text in the region's code page; characters it does not have become substitutes."""
        return inspecting.encode(self.codepage, text)

    def peek(self, name: str, *, limit: int | None = None, uncommitted: bool = False) -> list[bytes]:
        """The records of a queue in order, without consuming them.

        Args:
            name: the queue; an alias stands for its target.
            limit: at most so many.
            uncommitted: of a LOGICAL queue also what units of work have written, and not what they have read.

        Raises:
            Condition: QIDERR. TdqError: the queue is remote.
        """
        self._check_open("peek")
        return inspecting.peek(self, name, limit, uncommitted=uncommitted)

    def seed(self, name: str, records: Iterable[bytes | str]) -> int:
        """Add records to a queue as they are, outside any task: no trigger, no statistics; an input data set is replaced.

        Args:
            name: the queue; an alias stands for its target.
            records: bytes, or text in the region's code page.

        Returns:
            How many were added.

        Raises:
            Condition: QIDERR, LENGERR, NOSPACE; nothing was added.
        """
        self._check_open("seed")
        found = list(records)
        count = inspecting.seed(self, name, found)
        if self._recorder is not None:
            self._recorder.seeded(name, found)
        return count

    def snapshot(self, *, records: bool = True) -> dict[str, QueueSnapshot]:
        """Every queue as it is now, by name."""
        self._check_open("snapshot")
        return {name: inspecting.snapshot(queue, records=records) for name, queue in self.tdqueues.items()}

    # -- the end --------------------------------------------------------------------------------------------------

    def _check_open(self, what: str) -> None:
        if self.closed:
            raise RegionClosed(f"{what}: the region {self.applid} is closed")

    def shutdown(self, *, immediate: bool = False) -> tuple[Strand, ...]:
        """End the region. Normally tasks are let run first; the next AUTO start is warm.

        Args:
            immediate: tasks are ended where they are and nothing is kept beyond commits; the next AUTO start is an
                emergency restart.

        Returns:
            The tasks that had not ended by themselves.
        """
        if not immediate and not self.closed:
            self.dispatcher.run()
        return self.close(clean=not immediate)

    def close(self, *, clean: bool = True) -> tuple[Strand, ...]:
        """Close the region: suspended tasks end in order, their commands raise RegionClosed, and are backed out.

        Args:
            clean: False leaves the store as a killed process would.

        Returns:
            The tasks that had not ended by themselves.
        """
        if self.closed:
            return ()
        if clean:  # a region that ends says so; one that fails is only missed
            self._leave_links()
        self.closed = True
        self._leave_links()
        self.refresh_all()
        if not clean:
            self._let_go(clean=False)
            return self.survivors
        self.survivors = self.dispatcher.end_strands(self, f"the region {self.applid} is closed")
        for task in tuple(self.tasks.values()):
            task.end(normal=False)
        for strand in self.survivors:
            self.log.warning("task_ended_by_close", task=strand.name, exception=repr(strand.exception))
        restart.save_latches(self)
        self._let_go(clean=True)
        return self.survivors

    def _leave_links(self) -> None:
        for link in self.links.values():
            link.leave()

    def _let_go(self, *, clean: bool) -> None:
        self.closed = True
        hardening = getattr(self, "hardening", None)
        if hardening is not None and hardening.idle in self.dispatcher.on_idle:
            self.dispatcher.on_idle.remove(hardening.idle)
        try:
            if hasattr(self, "data_sets"):
                self.data_sets.close()
        finally:
            self.store.close(clean=clean)
            if self._aside is not None:
                self._aside.close()
            if not clean:
                self.survivors = self.dispatcher.end_strands(self, f"the region {self.applid} has failed")
            if not self.dispatcher.strands:
                self.dispatcher.release_workers()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command as a method of the region: a task of its own."""

    @wraps(function)
    def issue(self: Region, *args: Any, **kwargs: Any) -> Any:
        return self.run_alone(function, args, kwargs)

    return issue


_OWN: Final = frozenset({"start", "abend", "return_", "handle_condition", "ignore_condition", "handle_abend"})
"""Commands that mean nothing, or something else, outside a task."""

for _command in COMMANDS.values():
    if _command.method not in _OWN and getattr(Commands, _command.method, None) is _command.function:
        setattr(Region, _command.method, _alone(_command.function))
