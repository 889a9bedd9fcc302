"""A region: queues, transactions and tasks around one store, one dispatcher and one clock.

It is composed of parts, held in attributes, each a small class in the folder of what it is about: the directory of
queues, facilities, the task manager, starts, recovery (units of work), the intrapartition space, ATI, messages,
statistics, data sets, hardening and the catalogue. A part is given the region as a protocol of what it needs (the
``parts`` module of its folder), and never knows this class. What is here is the public face, and the order in which a
region starts and ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar

from tdqsim.cics.commands import SteppedTask, Task, outside
from tdqsim.cics.files import Files
from tdqsim.cics.kernel.abstime import abstime, time_zone
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.encoding import encode
from tdqsim.cics.kernel.enqueue import Enqueue, release_all
from tdqsim.cics.kernel.handlers import Handler, TransactionEntry, load_handlers, own_name, register, startable
from tdqsim.cics.kernel.interval import Starts
from tdqsim.cics.kernel.issue import Hook, Recorder
from tdqsim.cics.kernel.region_log import RegionLog
from tdqsim.cics.kernel.security import SecurityPolicy
from tdqsim.cics.kernel.signature import Way
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.kernel.tasks import PURGED, Tasks
from tdqsim.cics.look.peek import QueueSnapshot, peek, snapshot
from tdqsim.cics.look.seed import seed
from tdqsim.cics.programs import Level, Programs
from tdqsim.cics.queues.ati import Ati, Facility, Request
from tdqsim.cics.queues.awaiting import AwaitingHandlers
from tdqsim.cics.queues.directory import Directory
from tdqsim.cics.queues.facilities import Facilities
from tdqsim.cics.queues.intra import IntraSpace
from tdqsim.cics.queues.kinds import ExtraFile, ExtraQueue, IntraQueue, RemoteLink, TdQueue
from tdqsim.cics.queues.messages import Messages
from tdqsim.cics.region_arguments import (
    as_definitions,
    check_arguments,
    from_region_file,
)
from tdqsim.cics.region_arguments import (
    dfhintra as dfhintra_sizes,
)
from tdqsim.cics.region_arguments import (
    supplied as supplied_definitions,
)
from tdqsim.cics.spi.install import install
from tdqsim.cics.spi.statistics import Statistics
from tdqsim.cics.spi.tdqueue_options import TdqueueInfo
from tdqsim.cics.terminal import Screens
from tdqsim.cics.ts import TemporaryStorage
from tdqsim.cics.uow import indoubt, restart
from tdqsim.cics.uow.hardening import Hardening
from tdqsim.cics.uow.restart import Catalogue
from tdqsim.cics.uow.unit import UnitOfWork
from tdqsim.cics.uow.units import UnitsOfWork
from tdqsim.core.clock import Clock
from tdqsim.core.codepage import codepage as find_codepage
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.core.stepping import Stepped
from tdqsim.core.store import Durability, Store
from tdqsim.core.store.keeper import claim
from tdqsim.errors import RegionClosed, TdqError
from tdqsim.facts import REGION_DEFAULTS, Cvda, Resp

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.look.explain import Explanation
    from tdqsim.datasets import DataSetDirectory, JobLog

__all__ = ["Region", "StartType"]

_F = TypeVar("_F", bound=Callable[..., Any])

StartType = Literal["AUTO", "COLD", "INITIAL"]
_IDENTITY: Final = b"region/cold_start"
_KEEPER: Final = "a CICS region"


class Region:
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
        region_user: the user of the region's own job: it installs the group list (INSTALLUSRID).
        codepage: the code page of text: messages, the EIB's image.
        release: the release that the region says it is, four digits.
        start: AUTO (warm or emergency, as the last run ended), COLD or INITIAL.
        tdintra: EMPTY begins with empty intrapartition queues.
        supplied_queues: install the supplied queues (group DFHDCTG).
        security: who may do what; None checks nothing.
        cmdsec: ASIS checks the commands of transactions with CMDSEC(YES), ALWAYS those of all.
        ressec: ASIS checks the queues of transactions with RESSEC(YES), ALWAYS those of all.
        dfhintra: the intrapartition data set: ``ci_size``, bytes of a control interval (the longest record has 32
            less), and ``control_intervals``, how many there are.
        durability: what a commit survives: ``process`` or ``power``.
        limit_bytes: a ceiling for the store's files.
        datasets: the directory of data sets by DSNAME; a DataSetDirectory says limits of generation groups too.
        dd: DD cards by name: a path, a DDCard, or a mapping as in region.yaml.
        settings: what other languages' programs need to be found: such as ``cobol``, with its sources.
        handlers: callables by transaction id; or modules to import: a function ``register(region)`` in one is called,
            and ``handler:`` paths of transactions are imported too. A start that was pending when the last run ended
            waits for its handler.
        open_data_sets: open the data sets of queues with OPENTIME(INITIAL), as a start does. False leaves them closed
            and as they are.
        readonly: only look: at a store that another process may be writing, or at what a new region would be. No data
            set is opened, and commands that change something are not for such a region.

    Attributes:
        tdqueues: the installed queues by name, in the order of installation.
        transactions, terminals, connections: the other installed resources by name.
        programs: the program table, see :class:`~tdqsim.cics.programs.Programs`.
        ts: temporary storage. files: the files of file control. screens: terminals and maps.
        tasks: the tasks that have begun and not ended, by number.
        browses: the browses that commands outside a task have started and not ended, by resource type.
        units: units of work that tasks have begun and that have not ended, by id.
        shunted: units of work that wait for their coordinator without a task, by id.
        damage: units of work that were decided without their coordinator, and otherwise than that.
        links: the ways to other regions by connection name.
        start_type: INITIAL, COLD, WARM or EMERGENCY.
        tdintra: as it was started: NOEMPTY or EMPTY.
        statistics: see :class:`~tdqsim.cics.spi.statistics.Statistics`.
        abends: how many tasks abended, by code.
        closed: whether it has been closed.
        failed: whether it was closed as if it had failed: nothing is undone any more, the next start does that.
    """

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
        region_user: str = REGION_DEFAULTS["region_user"],
        codepage: str | int = REGION_DEFAULTS["code_page"],
        release: str = REGION_DEFAULTS["release"],
        start: StartType = "AUTO",
        tdintra: Literal["NOEMPTY", "EMPTY"] = "NOEMPTY",
        supplied_queues: bool = True,
        security: SecurityPolicy | None = None,
        cmdsec: Literal["ASIS", "ALWAYS"] = "ASIS",
        ressec: Literal["ASIS", "ALWAYS"] = "ASIS",
        dfhintra: Mapping[str, int] | None = None,
        durability: Durability = "process",
        limit_bytes: int | None = None,
        datasets: Path | str | DataSetDirectory | None = None,
        dd: Mapping[str, Any] | None = None,
        handlers: Sequence[str] | Mapping[str, Handler] = (),
        settings: Mapping[str, Any] | None = None,
        open_data_sets: bool = True,
        readonly: bool = False,
    ) -> None:
        check_arguments(start=start, tdintra=tdintra, cmdsec=cmdsec, ressec=ressec)
        self.applid, self.sysid = applid, sysid
        self.default_user, self.region_user, self.release = default_user, region_user, release
        self.cmdsec: str = cmdsec
        self.ressec: str = ressec
        self.zone = time_zone(timezone)
        self.codepage = find_codepage(codepage)
        self.dispatcher = dispatcher if dispatcher is not None else Dispatcher(clock, seed)
        self.clock = self.dispatcher.clock
        self.log = RegionLog(applid)
        self.settings: Mapping[str, Any] = dict(settings or {})
        self.closed = self.failed = False
        self.start_type = ""
        self.tdintra = tdintra
        self.readonly = readonly
        self.open_data_sets = open_data_sets and not readonly
        self._security = security
        self.is_watched = False
        self._hook: Hook | None = None
        self._recorder: Recorder | None = None
        self._aside: Store | None = None
        self._make_parts(dfhintra or {})
        self.store = _opened(store, durability, limit_bytes, readonly=readonly)
        try:
            claim(self.store, _KEEPER, readonly=readonly)
            self.hardening = Hardening(self.dispatcher, self.store.durable, shared=durability == "power")
            self.dispatcher.on_idle.append(self.hardening.serve)
            from tdqsim.cics.queues.datasets import DataSets  # noqa: PLC0415  (QSAM is imported with the first region)

            self.data_sets = DataSets(self, dd or {}, datasets)
            self.catalogue = Catalogue(self, kept=isinstance(store, Path | str))
            if isinstance(handlers, Mapping):
                for transid, handler in handlers.items():
                    self.register(transid, handler)
            self._start(definitions, start, empty=tdintra == "EMPTY", supplied=supplied_queues)
            if (handlers and not isinstance(handlers, Mapping)) or self.settings:
                self.load_handlers(*(() if isinstance(handlers, Mapping) else handlers))
        except BaseException:
            self._let_go(clean=False)
            raise

    def _make_parts(self, intrapartition: Mapping[str, int]) -> None:
        self.transactions: dict[str, TransactionEntry] = {}
        self.terminals: dict[str, defs.Terminal] = {}
        self.connections: dict[str, defs.Connection] = {}
        self.links: dict[str, RemoteLink] = {}
        self.enqueues: dict[bytes, Enqueue] = {}
        self.browses: dict[str, Any] = {}
        self.abends: dict[str, int] = {}
        self.survivors: tuple[Strand, ...] = ()
        self.directory = Directory(self)
        self.tdqueues = self.directory.installed
        self.terminal_control = Facilities(self)
        self.facilities = self.terminal_control.known
        self.task_manager = Tasks(self, Task)
        self.task_manager.on_end.append(self._task_ended)
        self.tasks = self.task_manager.known
        self.starts = Starts(self)
        self.recovery = UnitsOfWork(self, self.clock.time_ns())
        self.units, self.shunted, self.damage = self.recovery.inflight, self.recovery.shunted, self.recovery.damage
        self.intra = IntraSpace(*dfhintra_sizes(intrapartition))
        self.ati = Ati(self)
        self.awaiting_handlers = AwaitingHandlers(self)
        self.messages = Messages(self)
        self.statistics = Statistics(self)
        # What other parts ask of these, bound once.
        self.run_alone = self.task_manager.run_alone
        self.task_ended = self.task_manager.ended
        self.system_task = self.task_manager.system
        self.next_task_number = self.task_manager.next_number
        self.facility = self.terminal_control.get
        self.when_free = self.terminal_control.when_free
        self.refresh_facilities = self.terminal_control.refresh
        self.refresh, self.refresh_all = self.directory.refresh, self.directory.refresh_all
        self.new_uow, self.uow_seen = self.recovery.new, self.recovery.seen
        self.commit, self.back_out = self.recovery.commit, self.recovery.back_out
        self.unit_of_work_ended = self.recovery.ended
        self.image_of = restart.image_of
        self.programs = Programs()
        self.ts = TemporaryStorage()
        self.files = Files()
        self.screens = Screens(self.codepage, self._begin_at_terminal)

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

        return cls(**from_region_file(load_region_file(path), overrides))

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
            restart.show_latches(self)
            return
        identity = None if store.created else store.durable.get_meta(_IDENTITY)
        if identity is None or start != "AUTO":  # without it, a start with empty queues was never finished
            if start == "AUTO" and self.catalogue.kept:
                restart.check_nothing_kept(self)
            initial = start == "INITIAL" or (identity is None and not restart.cold_start_unfinished(self))
            self.start_type = "INITIAL" if initial else "COLD"
            kept = restart.kept_over_initial_start if initial else restart.kept_over_cold_start
            store.clear(kept(self))
            claim(store, _KEEPER)
            self._cold(definitions, supplied=supplied)
            return
        self.start_type = "WARM" if store.closed_clean else "EMERGENCY"
        if not store.closed_clean:
            store.discard_volatile()
        if empty:
            restart.empty_intrapartition(self)
        self.cold_start_abstime = int.from_bytes(identity, "big")
        self.catalogue.load()
        if not store.closed_clean:
            restart.give_back_reads(self)
        restart.load_units_of_work(self)
        indoubt.resume(self)
        restart.begin_numbering(self)
        self.force()
        self._resume_triggers()
        self.log.info("region_started", start=self.start_type, tdqueues=len(self.tdqueues))

    @property
    def looks_at_store(self) -> bool:
        """Whether it only looks at a store that is there."""
        return self.readonly and not self.store.created

    def nothing_stored(self, name: bytes, *, durable: bool) -> Any:
        """An empty queue, in place of one that the store looked at does not show yet."""
        if self._aside is None:
            self._aside = Store()
        half: Any = self._aside.durable if durable else self._aside.volatile
        return half.create_queue(name)

    def _cold(self, definitions: defs.Definitions | Iterable[defs.Resource], *, supplied: bool) -> None:
        given = as_definitions(definitions)
        self.cold_start_abstime = abstime(self.clock.time_ns(), self.zone)
        indoubt.resume(self)
        restart.begin_numbering(self)
        if self.start_type == "INITIAL":
            restart.begin_log(self)
        if supplied:
            own = {queue.name for queue in given.tdqueues}
            rest = [queue for queue in supplied_definitions().tdqueues if queue.name not in own]
            install(self, as_definitions(rest), way="grplist", user=self.region_user)
        install(self, given, way="grplist", user=self.region_user)
        self.hardening.note(_IDENTITY, self.cold_start_abstime.to_bytes(8, "big"))
        restart.cold_start_finished(self)
        self.force()
        self.log.info("region_started", start=self.start_type, tdqueues=len(self.tdqueues))

    def _resume_triggers(self) -> None:
        """Go on with the cycles of the last run, once the first command or ``run()`` lets tasks run."""
        due = [queue for queue in restart.pending_triggers(self) if self.ati.resume(queue)]
        if due:
            self.dispatcher.spawn(partial(self.awaiting_handlers.begin, due), name="restart of triggers", owner=self)

    # -- what looks on --------------------------------------------------------------------------------------------

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
        self.refresh_all()

    def record(self, task: TaskBase, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """Tell the recorder of a command that is a whole function of its own."""
        if self._recorder is not None:
            self._recorder.command(task, command, arguments, outcome)

    def _check(self, what: str) -> None:
        """Refuse a call from another thread, and one to a closed region."""
        self.dispatcher.check_thread()
        if self.closed:
            raise RegionClosed(f"{what}: the region {self.applid} is closed")

    # -- resources ------------------------------------------------------------------------------------------------

    def load_handlers(self, *modules: str) -> None:
        """Import modules and the handlers that transactions name by import path.

        Args:
            modules: module names; a function ``register(region)`` in one is called.

        Raises:
            DefinitionError: a module or handler cannot be imported.
        """
        self.dispatcher.check_thread()
        load_handlers(self, modules)
        self.awaiting_handlers.look_again()

    def install(
        self, definitions: defs.Definitions | Iterable[defs.Resource], *, way: Way = "csd", user: str = ""
    ) -> None:
        """Install definitions into the running region, all of them or none.

        Args:
            definitions: what to install.
            way: how it comes in, for the signature.
            user: who installs it, and must be a surrogate of the user ids that it names; the default user when not
                given.

        Raises:
            InstallRefused: a queue is there already and cannot be replaced, or its user id is not valid.
        """
        self._check("install")
        install(self, as_definitions(definitions), way=way, user=user or self.default_user)

    def transaction(self, transid: str) -> Callable[[_F], _F]:
        """Decorator: the function is the program of a transaction."""

        def take(handler: _F) -> _F:
            self.register(transid, handler)
            return handler

        return take

    def register(self, transid: str, handler: Handler) -> None:
        """Make a callable the program of a transaction; without a definition the transaction gets defaults.

        Raises:
            DefinitionError: the name is no transaction id.
            TdqError: the handler cannot be called.
        """
        self.dispatcher.check_thread()
        register(self.transactions, transid, handler)
        self.awaiting_handlers.look_again()

    def set_terminal(self, name: str, *, inservice: bool) -> None:
        """Put a terminal in or out of service; tasks that wait for it then start.

        Raises:
            TdqError: there is no such terminal.
        """
        self._check("set_terminal")
        self.terminal_control.set_terminal(name, inservice=inservice)

    def intra_queues(self) -> Iterator[IntraQueue]:
        """The intrapartition queues in the order of installation."""
        return (queue for queue in tuple(self.tdqueues.values()) if isinstance(queue, IntraQueue))

    def data_set(self, queue: ExtraQueue) -> ExtraFile:
        """The data set for an extrapartition queue that is being installed."""
        return self.data_sets.make(queue)

    @property
    def jobs(self) -> JobLog:
        """The jobs given to the internal reader, in order; ``region.jobs.on_submit = handler`` is told of each one."""
        return self.data_sets.jobs

    def link(self, sysid: str) -> RemoteLink:
        """The way to another system.

        Raises:
            Condition: SYSIDERR: it is not defined or not connected.
        """
        link = self.links.get(sysid)
        if link is None:
            raise Condition(Resp.SYSIDERR, detail=f"there is no connection to system {sysid}")
        return link

    def force(self) -> None:
        """Make all durable changes permanent now."""
        self.hardening.force()

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

    # -- tasks ----------------------------------------------------------------------------------------------------

    def task(self, *, transid: str = "", userid: str = "") -> Task:
        """A task for the program outside: ``with region.task() as t:``.

        The block is one task: syncpoint at its normal end, backout on an exception, which goes on.

        Args:
            transid: its transaction id; TEST when not given.
            userid: its user; the default user when not given.
        """
        self._check("task")
        return self.task_manager.outside(transid, userid)

    def start(
        self,
        program: str | Handler,
        *args: Any,
        transid: str = "",
        userid: str = "",
        terminal: str = "",
        data: bytes | None = None,
    ) -> Strand:
        """Start a task that runs beside the program outside.

        Args:
            program: a transaction id, or a function that is called with its task and ``args``.
            args: further arguments of the function.
            transid: the transaction id under which a function runs; made of its Python name when not given.
            userid: its user; the default user when not given.
            terminal: its principal facility; the terminal must be defined.
            data: what its RETRIEVE gives.

        Returns:
            The handle: ``region.run()`` lets it run, ``handle.result()`` is what it returns or raises.

        Raises:
            TdqError: the transaction is not defined, disabled, or has no program; or it was given twice.
        """
        self._check("start")
        entry = startable(self.transactions, program, transid)
        if terminal and terminal not in self.terminals:
            raise TdqError(f"terminal {terminal} is not defined")
        facility = self.facility("TERMINAL", terminal) if terminal else None
        startcode = "TD" if facility is not None else "S" if data is None else "SD"
        return self.attach(
            entry, startcode=startcode, userid=userid or self.default_user, facility=facility, data=data, args=args
        )

    def stepped(self, program: Handler, *args: Any, transid: str = "", userid: str = "") -> Stepped:
        """Start a task that is held before each of its commands, to be let go by hand: ``first.step()``.

        Args:
            program: a function that is called with its task and ``args``.
            args: further arguments of the function.
            transid: its transaction id; made of its Python name when not given.
            userid: its user; the default user when not given.

        Returns:
            Its handle; the task stands before its first command.
        """
        self._check("stepped")
        stepped = Stepped(self.dispatcher)

        def held(task: SteppedTask) -> Any:
            task.stepped = stepped
            return program(task, *args)

        entry = startable(self.transactions, held, transid or own_name(program))
        stepped.strand = self.task_manager.attach(
            entry, startcode="S", userid=userid or self.default_user, make=SteppedTask
        )
        self.dispatcher.run_ready()
        return stepped

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
        return self.task_manager.attach(
            entry, startcode=startcode, userid=userid, facility=facility, request=request, data=data, args=args
        )

    def _task_ended(self, task: Task, *, normal: bool) -> None:
        """What follows the end of a task: its QZEROs, its ENQs, its queue's cycle, its facility."""
        for queue, cycle in task.qzero.items():
            self.ati.emptied(queue, cycle)
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
        self._check("run")
        self.dispatcher.run()

    def purge(self, handle: Strand | TaskBase, code: str = PURGED) -> bool:
        """End a task that waits, as an operator's purge does; False when it does not wait."""
        self.dispatcher.check_thread()
        return self.task_manager.purge(handle, code)

    # -- units of work --------------------------------------------------------------------------------------------

    @property
    def last_uow_id(self) -> bytes:
        """The highest id given to a unit of work, or known of an earlier run."""
        return self.recovery.last_id

    def units_of_work(self) -> tuple[UnitOfWork, ...]:
        """Those that tasks have begun, then the shunted ones, each in order of age."""
        return self.recovery.all()

    def branch(self, name: str, task: TaskBase | None = None) -> indoubt.Subordinate | None:
        """The unit of work that a coordinator outside CICS drives under a name of its own.

        Args:
            name: the coordinator's name for it, by which it is found again, after a restart too.
            task: hand this task's unit of work over under the name; the task begins another.

        Returns:
            The unit of work with ``prepare()``, ``commit()``, ``back_out()``, ``forget()`` and ``lose_coordinator()``.
            Without a task: the one that waits, shunted, for the coordinator, or was decided without it; None when there
            is none.

        Raises:
            TdqError: the task has ended, the name is empty, or another unit of work that is unfinished has it.
        """
        self._check("branch")
        return self.recovery.branch(name) if task is None else self.recovery.coordinate(task, name)

    # -- see and seed ---------------------------------------------------------------------------------------------

    def encode(self, text: str) -> bytes:
        """Text in the region's code page; characters it does not have become substitutes."""
        return encode(self.codepage, text)

    def text(self, record: bytes) -> str:
        """A record as text, by the region's code page.

        Raises:
            ConversionError: a byte of it is no character there.
        """
        return self.codepage.decode(record)

    def peek(self, name: str, *, limit: int | None = None, uncommitted: bool = False) -> list[bytes]:
        """The records of a queue in order, without consuming them.

        Args:
            name: the queue; an alias stands for its target.
            limit: at most so many.
            uncommitted: of a LOGICAL queue also what units of work have written, and not what they have read.

        Raises:
            Condition: QIDERR. TdqError: the queue is remote.
        """
        self._check("peek")
        return peek(self, name, limit, with_uncommitted=uncommitted)

    def seed(self, name: str, records: Iterable[bytes | str]) -> int:
        """Add records to a queue as they are, outside any task: no trigger, no statistics.

        An input data set is replaced.

        Args:
            name: the queue; an alias stands for its target.
            records: bytes, or text in the region's code page.

        Returns:
            How many were added.

        Raises:
            Condition: QIDERR, LENGERR, NOSPACE; nothing was added.
        """
        self._check("seed")
        found = list(records)
        count = seed(self, name, found)
        if self._recorder is not None:
            self._recorder.seeded(name, found)
        return count

    def snapshot(self, *, records: bool = True) -> dict[str, QueueSnapshot]:
        """Every queue as it is now, by name."""
        self._check("snapshot")
        return {name: snapshot(queue, with_records=records) for name, queue in self.tdqueues.items()}

    def explain(
        self, name: str, *, task: Task | None = None, size: int = 1, record: bytes | None = None
    ) -> Explanation:
        """Say why a queue is as it is, and what each request would meet now: ``print(region.explain("PAYQ"))``.

        Args:
            name: the queue, or an alias.
            task: whose requests to foresee; a new task of the default user when not given.
            size: bytes of the record of the WRITEQ that is foreseen.
            record: tell what happened to records that hold these bytes; a history must be attached.
        """
        from tdqsim.cics.look.explain import explain  # noqa: PLC0415  (only who asks needs it)

        self._check("explain")
        return explain(self, name, task=task, size=size, record=record)

    # -- the commands, each a task of its own ----------------------------------------------------------------------

    writeq_td = outside(Task.writeq_td)
    readq_td = outside(Task.readq_td)
    deleteq_td = outside(Task.deleteq_td)
    syncpoint = outside(Task.syncpoint)
    syncpoint_rollback = outside(Task.syncpoint_rollback)
    enq = outside(Task.enq)
    deq = outside(Task.deq)
    assign = outside(Task.assign)
    suspend = outside(Task.suspend)
    asktime = outside(Task.asktime)
    asktime_eib = outside(Task.asktime_eib)
    formattime = outside(Task.formattime)
    cancel = outside(Task.cancel)
    delay = outside(Task.delay)
    inquire_tdqueue = outside(Task.inquire_tdqueue)
    inquire_tdqueue_start = outside(Task.inquire_tdqueue_start)
    inquire_tdqueue_next = outside(Task.inquire_tdqueue_next)
    inquire_tdqueue_end = outside(Task.inquire_tdqueue_end)
    set_tdqueue = outside(Task.set_tdqueue)
    create_tdqueue = outside(Task.create_tdqueue)
    discard_tdqueue = outside(Task.discard_tdqueue)
    extract_statistics = outside(Task.extract_statistics)
    perform_statistics = outside(Task.perform_statistics)
    inquire_task = outside(Task.inquire_task)
    inquire_task_list = outside(Task.inquire_task_list)
    set_task = outside(Task.set_task)
    inquire_transaction = outside(Task.inquire_transaction)
    inquire_transaction_start = outside(Task.inquire_transaction_start)
    inquire_transaction_next = outside(Task.inquire_transaction_next)
    inquire_transaction_end = outside(Task.inquire_transaction_end)
    set_transaction = outside(Task.set_transaction)
    inquire_connection = outside(Task.inquire_connection)
    inquire_connection_start = outside(Task.inquire_connection_start)
    inquire_connection_next = outside(Task.inquire_connection_next)
    inquire_connection_end = outside(Task.inquire_connection_end)
    inquire_uow = outside(Task.inquire_uow)
    inquire_uow_start = outside(Task.inquire_uow_start)
    inquire_uow_next = outside(Task.inquire_uow_next)
    inquire_uow_end = outside(Task.inquire_uow_end)
    set_uow = outside(Task.set_uow)
    inquire_uowlink = outside(Task.inquire_uowlink)
    inquire_uowlink_start = outside(Task.inquire_uowlink_start)
    inquire_uowlink_next = outside(Task.inquire_uowlink_next)
    inquire_uowlink_end = outside(Task.inquire_uowlink_end)
    set_uowlink = outside(Task.set_uowlink)
    inquire_uowenq_start = outside(Task.inquire_uowenq_start)
    inquire_uowenq_next = outside(Task.inquire_uowenq_next)
    inquire_uowenq_end = outside(Task.inquire_uowenq_end)
    inquire_enq_start = outside(Task.inquire_enq_start)
    inquire_enq_next = outside(Task.inquire_enq_next)
    inquire_enq_end = outside(Task.inquire_enq_end)
    execute = outside(Task.execute)
    writeq_ts = outside(Task.writeq_ts)
    readq_ts = outside(Task.readq_ts)
    deleteq_ts = outside(Task.deleteq_ts)

    def readq_td_all(self, queue: str) -> Iterator[bytes]:
        """READQ TD until QZERO, in one task; see the task's method."""
        with self.task() as task:
            yield from task.readq_td_all(queue)

    def writeq_td_all(self, queue: str, records: Iterable[bytes]) -> int:
        """WRITEQ TD of each record, in one task; see the task's method."""
        written = 0
        with self.task() as task:
            written += task.writeq_td_all(queue, records)
        return written

    def browse_tdqueue(self, *options: str) -> Iterator[TdqueueInfo]:
        """Iterate over INQUIRE TDQUEUE of all queues; see the task's method."""
        with self.task() as task:
            yield from task.browse_tdqueue(*options)

    # -- the end --------------------------------------------------------------------------------------------------

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

        Raises:
            StoreError: the store did not take what the end of the tasks changes, or has no room for the records of
                non-recoverable queues, which are in memory (StoreFull, which says how many they are): the region is
                closed as one that failed, and its next start is an EMERGENCY one.
        """
        self.dispatcher.check_thread()
        if self.closed:
            return ()
        if clean:  # a region that ends says so; one that fails is only missed
            self._leave_links()
        self.closed = True
        self._leave_links()
        self.refresh_all()
        if not clean:
            self.failed = True
            self._let_go(clean=False)
            return self.survivors
        try:
            self._end_tasks()
        except BaseException:  # the store is let go all the same; what was not undone is undone by the next start
            self.failed = True
            self._let_go(clean=False)
            raise
        self._let_go(clean=True)
        return self.survivors

    def _begin_at_terminal(self, transid: str, terminal: str, commarea: bytes) -> Strand:
        """Start the transaction of a terminal's input, with the COMMAREA that the one before has left for it."""
        handle = self.start(transid, terminal=terminal)
        task = handle.local
        if commarea and isinstance(task, Task):
            task.level = Level(task.program, memoryview(bytearray(commarea)), None)
            task.eib.eibcalen = len(commarea)
        return handle

    def _end_tasks(self) -> None:
        self.survivors = self.dispatcher.end_strands(self, f"the region {self.applid} is closed")
        for task in tuple(self.tasks.values()):
            task.end(normal=False)
        for uow in tuple(self.units.values()):
            if uow.state is Cvda.INFLIGHT:  # a coordinator outside CICS has it, and has not had it prepared
                indoubt.back_out_together(uow)
        for strand in self.survivors:
            self.log.warning("task_ended_by_close", task=strand.name, exception=repr(strand.exception))
        if not self.readonly:
            restart.save_latches(self)
            self.force()

    def _leave_links(self) -> None:
        for link in self.links.values():
            link.leave()

    def _let_go(self, *, clean: bool) -> None:
        self.closed = True
        hardening = getattr(self, "hardening", None)
        if hardening is not None and hardening.serve in self.dispatcher.on_idle:
            self.dispatcher.on_idle.remove(hardening.serve)
        try:
            if hasattr(self, "data_sets"):
                self.data_sets.close(clean=clean)
        finally:
            try:
                self.store.close(clean=clean)
            except BaseException:  # there was no room for records in memory: they are lost, as by a failure
                self.failed = True
                raise
            finally:
                self._let_strands_go(clean=clean)

    def _let_strands_go(self, *, clean: bool) -> None:
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


def _opened(
    store: Path | str | Store | None, durability: Durability, limit_bytes: int | None, *, readonly: bool
) -> Store:
    """The store in a directory, a temporary one, or the one that was handed in."""
    if isinstance(store, Store):
        return store
    path = None if store is None else Path(store)
    return Store(path, durability=durability, limit_bytes=limit_bytes, readonly=readonly and path is not None)
