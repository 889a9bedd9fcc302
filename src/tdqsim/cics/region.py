"""A region: queues, transactions and tasks around one store, one dispatcher and one clock.

:class:`Region` is what programs use: commands, and the parts of a region that programs need. It holds the core of the
region privately (:class:`~tdqsim.cics.region_core.RegionCore`); other rooms of the package reach the core by
:func:`tdqsim.cics.internals.core_of`. :func:`outside` makes the commands that can be issued on the region itself;
:class:`Resources` and :class:`Recovery` show its resources and its recovery.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    TypeVarTuple,
    Unpack,
    cast,
    get_args,
    overload,
)

from tdqsim.cics.commands import Task
from tdqsim.cics.inspection.peek import QueueSnapshot, peek, snapshot
from tdqsim.cics.inspection.seed import seed
from tdqsim.cics.kernel.command import to_cvda
from tdqsim.cics.kernel.conditions import Condition, TaskReturn
from tdqsim.cics.kernel.handlers import check_handlers, load_handlers, register, say_misspelt, startable
from tdqsim.cics.kernel.limits import check_maxtasks
from tdqsim.cics.kernel.security import SecurityPolicy
from tdqsim.cics.kernel.signature import InstallAgent
from tdqsim.cics.kernel.task import give_up, take_syncpoint
from tdqsim.cics.kernel.tasks import PURGED
from tdqsim.cics.model.handle import TaskHandle
from tdqsim.cics.model.queue import TdQueue
from tdqsim.cics.model.region import RegionBase, RegionData
from tdqsim.cics.model.start import StartRequest
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.transaction import Handler
from tdqsim.cics.region_arguments import (
    SECURITY,
    START,
    SYSTEM,
    SecurityOptions,
    StartOptions,
    StartType,
    SystemOptions,
    as_definitions,
    from_region_file,
    given_over,
    machine_answers,
    region_options,
    security_policy,
)
from tdqsim.cics.region_core import RegionCore, begin, end, give_up_start
from tdqsim.cics.spi.install import install
from tdqsim.cics.uow.indoubt import HeuristicDamage, Subordinate
from tdqsim.cics.uow.units_of_work import UnitsOfWork
from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.core.clock import Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import Fiber
from tdqsim.core.record_list import checked_records
from tdqsim.core.store import Durability, Store
from tdqsim.errors import RegionClosed, UsageError, WrongType, WrongValue
from tdqsim.facts import REGION_DEFAULTS, Cvda
from tdqsim.facts.inquiries import TdqueueInfo, TdqueueOption

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.inspection.explain import Explanation
    from tdqsim.cics.kernel.task import TaskBase
    from tdqsim.cics.model.transaction import TransactionEntry
    from tdqsim.cics.model.unit import UnitOfWork
    from tdqsim.cics.spi.csd import Csd
    from tdqsim.cics.text.host_variables import Labels, Received, Variables
    from tdqsim.datasets import DataSetDirectory, JobLog
    from tdqsim.definitions.regionfile import RegionFile

F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


def outside(command: Callable[Concatenate[K, P], T]) -> Callable[Concatenate[Region, P], T]:
    """Make a method of the region from a command: it runs in a task of its own, which ends with a syncpoint."""

    @wraps(command)
    def alone(region: Region, /, *args: P.args, **kwargs: P.kwargs) -> T:
        core = region._core
        tasks, dispatcher = core.task_manager, core.dispatcher
        if get_ident() != dispatcher.thread:
            dispatcher.check_thread()
        if tasks.unfinished:
            tasks.finish_ends()
        if core.closed:
            raise RegionClosed(f"the region {core.applid} {core.why_closed}")
        task = tasks.spare or tasks.alone()
        tasks.spare = None
        task.number = task.eib.eibtaskn = tasks.next_number()
        try:
            value = command(task, *args, **kwargs) if kwargs else command(task, *args)  # type: ignore[arg-type, call-arg]
            if task._unit is not None:
                take_syncpoint(task)
        except Condition:
            _end_command(task)
            raise
        except BaseException:
            tasks.unfinished[task] = None  # if an interrupt stops us here, the next command ends the task
            give_up(task)  # frees the locks by assignments alone, which an interrupt cannot stop half-way
            tasks.finish_ends()
            raise
        if task._qzero or core.enqueues:
            task.end(normal=True)
        else:
            tasks.spare = task
        if dispatcher.ready or dispatcher.deadlines:
            dispatcher.run_ready()
        return value

    return alone


def _end_command(task: Task) -> None:
    """End a command's own task after a condition. The caller handles the condition, so the work is not backed out."""
    try:
        take_syncpoint(task)
    except BaseException:
        task.end(normal=False)
        raise
    task.end(normal=True)


@wraps(Task.execute)
def _execute(task: Task, text: str, variables: Variables | None = None, *, labels: Labels | None = None) -> Received:
    try:
        return task.execute(text, variables, labels=labels)
    except TaskReturn:  # RETURN, and XCTL after its program: the task ends normally
        return {}


class Resources:
    """The installed resources of a region other than its queues, by name: ``region.resources``."""

    __slots__ = ("_core",)

    def __init__(self, core: RegionData) -> None:
        self._core = core

    @property
    def transactions(self) -> Mapping[str, TransactionEntry]:
        """The transactions: each definition with its handler and its state."""
        return MappingProxyType(self._core.transactions)

    @property
    def terminals(self) -> Mapping[str, defs.Terminal]:
        """The definitions of terminals."""
        return MappingProxyType(self._core.terminals)

    @property
    def connections(self) -> Mapping[str, defs.Connection]:
        """The definitions of connections."""
        return MappingProxyType(self._core.connections)


class Recovery:
    """How a region started and ended, and its units of work: ``region.recovery``."""

    __slots__ = ("_check", "_core", "_work")

    def __init__(self, core: RegionData, work: UnitsOfWork, check: Callable[[str], None]) -> None:
        self._core, self._work, self._check = core, work, check

    @property
    def start_type(self) -> str:
        """INITIAL, COLD, WARM or EMERGENCY. In a read-only region: the type of the store's next start with AUTO."""
        return self._core.start_type

    @property
    def cold_start_abstime(self) -> int:
        """When the region was last started without what was there before, as an ABSTIME."""
        return self._core.cold_start_abstime

    @property
    def failed(self) -> bool:
        """Whether it ended as a failed region does: unfinished work was not backed out; the next start does that."""
        return self._core.failed

    @property
    def units(self) -> Mapping[bytes, UnitOfWork]:
        """Units of work that tasks have begun and that have not ended, by id."""
        return MappingProxyType(self._core.units)

    @property
    def shunted(self) -> Mapping[bytes, UnitOfWork]:
        """Units of work that wait for their coordinator without a task, by id."""
        return MappingProxyType(self._core.shunted)

    @property
    def damage(self) -> Sequence[HeuristicDamage]:
        """Units of work whose heuristic decision differs from the decision of their coordinator."""
        return self._core.damage

    def units_of_work(self) -> tuple[UnitOfWork, ...]:
        """Those of ``units``, then those of ``shunted``, each in order of age."""
        return self._core.units_of_work()

    @explains_wrong_types
    def branch(self, name: str, task: TaskBase | None = None) -> Subordinate | None:
        """The unit of work that a coordinator outside CICS drives under a name of its own.

        Args:
            name: the coordinator's name for it. The same name finds it again later, also after a restart.
            task: transfer this task's unit of work under the name; the task begins another one.

        Returns:
            The unit of work with ``prepare()``, ``commit()``, ``back_out()``, ``forget()`` and ``lose_coordinator()``.
            Without ``task``: the unit of work of that name which is shunted and waits for the coordinator, or was
            decided without it; None when there is none.

        Raises:
            UsageError: the task has ended, the name is empty, or another unit of work that is unfinished has it.
        """
        self._check("branch")
        return self._work.branch(name) if task is None else self._work.coordinate(task, name)


class Region(RegionBase):
    """A CICS region.

    Each command issued on the region itself (``region.writeq_td("PAYQ", b"...")``) runs in a task of its own, which
    ends with a syncpoint.

    Args:
        definitions: what to install, as the group list of a cold start; files' definitions may be added with ``+``.
        applid: APPLID.
        sysid: SYSIDNT.
        store: the directory of the store; None for a temporary one; or an open Store, which a cold start empties.
        dispatcher: a dispatcher to share with other regions and systems; by default the region makes its own.
        clock: the clock of the dispatcher that the region makes; not used when ``dispatcher`` is given.
        seed: determines the order in which ready tasks run; 0 is the order of CICS.
        time_zone: IANA name of the region's time zone.
        code_page: the code page of text, such as messages and the image of the EIB.
        start: AUTO (warm or emergency, as the last run ended), COLD or INITIAL; or :class:`StartOptions`.
        supplied_queues: install the supplied queues (group DFHDCTG).
        security: the security policy, or the path of a policy file; None checks nothing. Or :class:`SecurityOptions`.
        system: the CICS system that it simulates: its release, MXT and answers; see :class:`SystemOptions`.
        dfhintra: the intrapartition data set: ``ci_size``, bytes of a control interval (the longest record has 32
            less), and ``control_intervals``, how many there are.
        durability: what a commit survives: ``process``, the end of the process; ``power``, a loss of power as well.
        limit_bytes: the largest total size of the store's files, in bytes.
        datasets: the directory of data sets by DSNAME; a DataSetDirectory also holds limits of generation groups.
        dd: DD cards by name: a path, a DDCard, or a mapping as in region.yaml.
        settings: settings for programs in other languages, by the prefix of their handler paths: ``cobol``, for
            example, names the directories of COBOL sources.
        handlers: callables by transaction id; or names of modules to import. The function ``register(region)`` of such
            a module is called, and the ``handler:`` paths of transactions are imported as well; None imports only
            these. A start that was pending when the last run ended waits until its transaction has a handler. After
            a warm or emergency start a transaction whose path cannot be imported has no program, and a notice says why.
        readonly: whether the region only reads: a store that another process may be writing, or the state that a new
            region would have. No data set is opened. Do not issue commands that change something in such a region.

    Attributes:
        applid: APPLID.
        options: what it was given as sysid, dfltuser, regionuserid, release, code_page, zone (of ``time_zone``),
            cmdsec, ressec, tdintra, groups, settings, open_data_sets, readonly and trigger_next.
        store, dispatcher, clock: those passed as arguments, or new ones.
        tdqueues: the installed queues by name, in the order of installation.
        resources: the other installed resources: ``transactions``, ``terminals`` and ``connections``, each by name.
        programs: the program table, see :class:`~tdqsim.cics.programs.Programs`.
        diagnostics: messages to the operator with their replies, traces, dumps and journal records of programs.
        notices: what was asked for and will not happen, with the reason; see :class:`~tdqsim.core.notices.Notices`.
        ts: temporary storage.
        files: the files of file control.
        screens: terminals and maps.
        tasks: the tasks that have begun and not ended, by number.
        statistics: see :class:`~tdqsim.cics.spi.statistics.Statistics`; ``abends`` counts the tasks that abended.
        recovery: how it started, and its units of work; see :class:`~tdqsim.cics.region.Recovery`.
    """

    __slots__ = (
        "_csd", "clock", "diagnostics", "dispatcher", "files", "notices", "options", "programs", "recovery",
        "resources", "screens", "statistics", "store", "tasks", "tdqueues", "ts",
    )  # fmt: skip

    _core: RegionCore

    @explains_wrong_types
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
        time_zone: str = REGION_DEFAULTS["time_zone"],
        code_page: str | int = REGION_DEFAULTS["code_page"],
        start: StartType | StartOptions = "AUTO",
        supplied_queues: bool = True,
        security: SecurityPolicy | SecurityOptions | Path | str | None = None,
        system: SystemOptions = SYSTEM,
        dfhintra: Mapping[str, int] | None = None,
        durability: Durability = "process",
        limit_bytes: int | None = None,
        datasets: Path | str | DataSetDirectory | None = None,
        dd: Mapping[str, Any] | None = None,
        handlers: Sequence[str] | Mapping[str, Handler] | None = (),
        settings: Mapping[str, Any] | None = None,
        readonly: bool = False,
    ) -> None:
        who, begins = given_over(security, SECURITY, "policy"), given_over(start, START, "type")
        system = given_over(system, SYSTEM)
        options = region_options(
            applid, sysid, who, begins, system, code_page=code_page, timezone=time_zone, settings=settings,
            readonly=readonly,
        )  # fmt: skip
        check_handlers(handlers)
        if options.mxt is not None:
            check_maxtasks(options.mxt)
        core = self._core = RegionCore(
            self, applid, options, security=security_policy(who.policy, who.groups), dfhintra=dfhintra or {},
            machine=machine_answers(system.machine),
            dispatcher=dispatcher if dispatcher is not None else Dispatcher(clock, seed),
        )  # fmt: skip
        try:
            core.open(store, durability=durability, limit_bytes=limit_bytes, dd=dd or {}, datasets=datasets)
            begin(core, definitions, begins, supplied=supplied_queues)
            self._show(core)
            self._take_handlers(handlers)
        except BaseException:
            give_up_start(core)
            raise

    def _show(self, core: RegionCore) -> None:
        """Set the attributes that programs use."""
        self.applid, self.options = core.applid, core.options
        self.store, self.dispatcher, self.clock = core.store, core.dispatcher, core.clock
        self.tdqueues: Mapping[str, TdQueue] = MappingProxyType(core.tdqueues)
        self.tasks = cast("Mapping[int, Task]", MappingProxyType(core.tasks))
        self.resources, self.recovery = Resources(core), Recovery(core, core.recovery, self._check)
        self.programs, self.diagnostics, self.statistics = core.programs, core.diagnostics, core.statistics
        self.ts, self.files, self.screens = core.ts, core.files, core.screens
        self.notices = core.notices
        self._csd: Csd | None = None

    @classmethod
    @explains_wrong_types
    def from_directory(cls, path: Path | str | RegionFile, **overrides: Any) -> Region:
        """The region that ``region.yaml`` in a directory describes.

        The modules that ``handlers:`` names are imported from where Python looks; ``tdqsim.job.importable(path)``
        around all of the region's use adds the directory.

        Args:
            path: the directory, or the contents of the file, see :func:`tdqsim.definitions.load_region_file`.
            overrides: arguments that win over the file's; ``dd`` is added to the file's.

        Raises:
            DefinitionError: anything in the file or the definitions it names is wrong.
        """
        from tdqsim.definitions import RegionFile, load_region_file  # noqa: PLC0415  (only directories need it)

        if not isinstance(path, Path | str | RegionFile):
            raise WrongType(f"from_directory: path is {path!r:.40}; allowed is str, Path or RegionFile")
        file = path if isinstance(path, RegionFile) else load_region_file(path)
        return cls(**from_region_file(file, overrides))

    def __repr__(self) -> str:
        return repr(self._core)

    def _take_handlers(self, handlers: Sequence[str] | Mapping[str, Handler] | None) -> None:
        """Register callables, or import modules; None imports what transactions name, an empty sequence nothing."""
        modules = () if isinstance(handlers, Mapping) else handlers
        if isinstance(handlers, Mapping):
            for transid, handler in handlers.items():
                self.register(transid, handler)
            say_misspelt(self._core, handlers)
        if modules or modules is None or self.options.settings:
            kept = self._core.start_type in ("WARM", "EMERGENCY")
            load_handlers(self._core, modules or (), kept=kept)
            self._core.awaiting_handlers.look_again()

    def _check(self, what: str) -> None:
        """Refuse a call from another thread, and one to a closed region."""
        core = self._core
        if core.dispatcher.thread != get_ident():
            core.dispatcher.check_thread()
        if core.closed:
            raise RegionClosed(f"{what}: the region {core.applid} {core.why_closed}")

    # -- attributes that change ---------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether it has been closed, or has failed."""
        return self._core.closed

    @property
    def security(self) -> SecurityPolicy | None:
        """The security policy; None checks nothing."""
        return self._core.security

    @security.setter
    def security(self, policy: SecurityPolicy | None) -> None:
        self._core.set_security(policy)

    # -- resources ------------------------------------------------------------------------------------------------

    @property
    def csd(self) -> Csd:
        """The definitions that its store keeps in groups and lists; see :class:`~tdqsim.cics.spi.csd.Csd`."""
        if self._csd is None:
            from tdqsim.cics.spi.csd import csd_of  # noqa: PLC0415  (few regions use it)

            self._csd = csd_of(self._core, self._check)
        return self._csd

    def load_handlers(self, *modules: str) -> None:
        """Import modules and the handlers that transactions name by import path.

        Args:
            modules: module names; a function ``register(region)`` in one is called.

        Raises:
            DefinitionError: a module or handler cannot be imported.
        """
        self.dispatcher.check_thread()
        load_handlers(self._core, modules)
        self._core.awaiting_handlers.look_again()

    def install(
        self,
        definitions: defs.Definitions | Iterable[defs.Resource],
        *,
        installagent: InstallAgent = "CSDAPI",
        userid: str = "",
    ) -> None:
        """Install definitions into the running region, all of them or none.

        Args:
            definitions: what to install.
            installagent: how it comes in, for the signature: CSDAPI, GRPLIST, CREATESPI or SYSTEM.
            userid: who installs it, and must be a surrogate of the user ids that it names; the default user when not
                given.

        Raises:
            InstallRefused: a resource cannot be installed: a queue is there already and cannot be replaced, or a user
                id is not valid.
            UsageError: the security policy does not know the user, or there is no such agent.
        """
        core = self._core
        self._check("install")
        if installagent not in get_args(InstallAgent):
            allowed = ", ".join(get_args(InstallAgent))
            raise WrongValue(f"install: installagent is {installagent!r:.80}; allowed are {allowed}")
        install(core, as_definitions(definitions), agent=installagent, user=core.task_manager.user_for(userid))

    def transaction(self, transid: str) -> Callable[[F], F]:
        """Decorator: the function is the program of a transaction, ``@region.transaction("PAYP")``.

        Raises:
            UsageError: the transaction id is missing, or the function cannot be called with a task.
        """
        given: object = transid  # without parentheses, the function itself
        if not isinstance(given, str):
            needed = "@region.transaction needs the transaction id, as in @region.transaction('PAYP')"
            raise UsageError(f"{needed}, not {given!r:.80}")

        def take(handler: F) -> F:
            self.register(transid, handler)
            return handler

        return take

    @explains_wrong_types
    def register(self, transid: str, handler: Callable[[Task], object]) -> None:
        """Make a callable the program of a transaction; without a definition the transaction gets defaults.

        Without such a handler a transaction runs the program that its PROGRAM names, see ``region.programs``.

        Raises:
            DefinitionError: the name is no transaction id.
            UsageError: the handler cannot be called.
        """
        self.dispatcher.check_thread()
        register(self._core.transactions, transid, handler, self.programs)
        self._core.awaiting_handlers.look_again()

    def set_terminal(self, terminal: str, *, servstatus: Literal["INSERVICE", "OUTSERVICE"] | Cvda | int) -> None:
        """SET TERMINAL SERVSTATUS: put a terminal in or out of service; tasks that wait for it then start.

        Raises:
            UsageError: there is no such terminal, or it is another CVDA.
        """
        self._check("set_terminal")
        wanted = to_cvda(servstatus)
        if wanted not in (Cvda.INSERVICE, Cvda.OUTSERVICE):
            raise WrongValue(f"set_terminal: servstatus is {servstatus!r:.80}; allowed are INSERVICE and OUTSERVICE")
        self._core.terminal_control.set_terminal(terminal, inservice=wanted is Cvda.INSERVICE)

    @property
    def jobs(self) -> JobLog:
        """The jobs given to the internal reader, in order; ``region.jobs.on_submit = handler`` is called with each."""
        return self._core.data_sets.jobs

    # -- tasks ----------------------------------------------------------------------------------------------------

    def task(self, *, transid: str = "", userid: str = "") -> Task:
        """A task for the program outside: ``with region.task() as t:``.

        The block is one task: syncpoint at its normal end, backout on an exception, which goes on.

        Args:
            transid: its transaction id; TEST when not given.
            userid: its user; the default user when not given.

        Raises:
            UsageError: the security policy does not know the user, or does not allow the user to attach the
                transaction.
        """
        self._check("task")
        return self._core.task_manager.outside(transid, userid)

    @overload
    def start(
        self,
        program: Callable[[Task, Unpack[Arguments]], T],
        *args: *Arguments,
        transid: str = "",
        userid: str = "",
        terminal: str = "",
        data: bytes | None = None,
    ) -> TaskHandle[T]: ...
    @overload
    def start(
        self,
        program: str,
        *args: Any,
        transid: str = "",
        userid: str = "",
        terminal: str = "",
        data: bytes | None = None,
    ) -> TaskHandle: ...
    def start(
        self,
        program: str | Callable[[Task, Unpack[Arguments]], T],
        *args: *Arguments,
        transid: str = "",
        userid: str = "",
        terminal: str = "",
        data: bytes | None = None,
    ) -> TaskHandle[T]:
        """Start a task that runs beside the program outside.

        Args:
            program: a transaction id, or a function that is called with its task and ``args``.
            args: further arguments of the function.
            transid: the transaction id under which a function runs; made of its Python name when not given.
            userid: its user; the default user when not given.
            terminal: its principal facility; the terminal must be defined.
            data: what its RETRIEVE gives.

        Returns:
            The handle: ``region.run()`` lets it run, ``handle.result()`` is what it returns or raises, ``handle.abend``
            the abend that has ended it.

        Raises:
            UsageError: the transaction is not defined, disabled, or has no program; or it was given twice; the security
                policy does not know the user, or does not allow the user to attach the transaction; the terminal is not
                defined, belongs to another region, or has a task.
        """
        core = self._core
        self._check("start")
        user = core.task_manager.user_for(userid)
        entry = startable(core.transactions, program, transid, core.sysid if terminal else "", args)
        facility = core.terminal_control.defined(terminal) if terminal else None
        if facility is not None and facility.task is not None:
            raise UsageError(f"terminal {terminal} is in use by {facility.task}")
        if core.security is not None:
            core.task_manager.admit(entry.name, user, facility)
        startcode = "TD" if facility is not None else "S" if data is None else "SD"
        request = None if data is None else StartRequest(entry.name, data=data, userid=user, termid=terminal)
        return core.task_manager.attach(
            entry, startcode=startcode, userid=user, facility=facility, start=request, args=args
        )

    @explains_wrong_types
    def purge(self, handle: Fiber | TaskData, code: str = PURGED) -> bool:
        """End a task that waits, as an operator's purge does; False when it does not wait."""
        self.dispatcher.check_thread()
        return self._core.task_manager.purge(handle, code)

    def run(self) -> None:
        """Let tasks run until none can go on; the simulated clock jumps to what they wait for."""
        self._check("run")
        if self._core.task_manager.unfinished:
            self._core.task_manager.finish_ends()
        self.dispatcher.run()

    # -- text -------------------------------------------------------------------------------------------------------

    def encode(self, text: str) -> bytes:
        """Text in the region's code page; characters it does not have become substitutes."""
        return self._core.encode(text)

    def text(self, record: bytes) -> str:
        """A record as text, by the region's code page.

        Raises:
            ConversionError: a byte of it is no character there.
        """
        return self._core.text(record)

    # -- see and seed ---------------------------------------------------------------------------------------------

    @explains_wrong_types
    def peek(self, queue: str, *, limit: int | None = None, skip: int = 0, uncommitted: bool = False) -> list[bytes]:
        """The records of a queue in order, without consuming them.

        Args:
            queue: the queue; an alias stands for its target.
            limit: return at most this many records.
            skip: pass over this many records first.
            uncommitted: for a LOGICAL queue, include records that units of work have written and not yet committed,
                and leave out records that they have read.

        Raises:
            Condition: QIDERR. UsageError: the queue is remote, a number is below 0, or the region is read-only and
                only the running region knows the records.
        """
        self._check("peek")
        return peek(self._core, queue, limit, skip=skip, with_uncommitted=uncommitted)

    @explains_wrong_types
    def seed(self, queue: str, records: Iterable[bytes | str]) -> int:
        """Add records to a queue outside any task: nothing is triggered and no statistics are counted.

        The contents of an input data set are replaced.

        Args:
            queue: the queue; an alias stands for its target.
            records: bytes, or text in the region's code page.

        Returns:
            How many were added.

        Raises:
            Condition: QIDERR, LENGERR, NOSPACE; nothing was added.
            TypeError: ``records`` is one record, or one of them is neither bytes nor text.
        """
        self._check("seed")
        found = checked_records(records)
        count = seed(self._core, queue, found)
        if self._core.recorder is not None:
            self._core.recorder.seeded(queue, found)
        return count

    def snapshot(self, *, records: bool = True) -> dict[str, QueueSnapshot]:
        """Every queue as it is now, by name."""
        self._check("snapshot")
        return {name: snapshot(queue, with_records=records) for name, queue in self.tdqueues.items()}

    @explains_wrong_types
    def explain(
        self,
        name: str,
        *,
        task: Task | None = None,
        size: int = 1,
        record: bytes | None = None,
        kind: Literal["TDQUEUE", "TASK", "TRANSACTION", "PROGRAM", "TSQUEUE"] = "TDQUEUE",
    ) -> Explanation:
        """Explain a queue's state and how each request would end now: ``print(region.explain("PAYQ"))``.

        A task that waits for another region is followed there, and a remote resource is explained by its owner:
        ``print(region.explain("12", kind="TASK"))``.

        Args:
            name: the queue, or an alias; the name of another resource, or the number of a task.
            task: the task whose requests to predict; a new task of the default user when not given.
            size: the length in bytes of the record of the predicted WRITEQ.
            record: also report what happened to records that contain these bytes; a history must be attached.
            kind: what ``name`` is the name of.
        """
        from tdqsim.cics.inspection.explain import explain  # noqa: PLC0415  (only who asks needs it)

        self._check("explain")
        return explain(self._core, name, task=task, size=size, record=record, kind=kind)

    # -- the commands, each a task of its own ----------------------------------------------------------------------

    # Commands that do nothing for such a task are not here: SYNCPOINT, its ROLLBACK, DEQ, and ASKTIME without ABSTIME.
    # The string below each repeats the first line of the command's docstring, for editors that do not run the code.

    writeq_td = outside(Task.writeq_td)
    """Write a record to the end of a queue."""
    readq_td = outside(Task.readq_td)
    """Read the next record of a queue and remove it."""
    deleteq_td = outside(Task.deleteq_td)
    """Remove every record of an intrapartition queue; the queue itself stays."""
    enq = outside(Task.enq)
    """Lock a resource name exclusively; wait while another task holds it."""
    assign = outside(Task.assign)
    """Get values about the task and its region."""
    suspend = outside(Task.suspend)
    """Let other ready tasks run first."""
    asktime = outside(Task.asktime)
    """Update EIBDATE and EIBTIME."""
    formattime = outside(Task.formattime)
    """Convert an ABSTIME to dates and times, rounded to the second."""
    cancel = outside(Task.cancel)
    """Cancel a START that has not expired, or make a DELAY or POST expire."""
    delay = outside(Task.delay)
    """Wait for a time on the region's clock; other tasks run meanwhile."""
    inquire_tdqueue = outside(Task.inquire_tdqueue)
    """Retrieve information about a queue."""
    inquire_tdqueue_start = outside(Task.inquire_tdqueue_start)
    """Start a browse of all present queues."""
    inquire_tdqueue_next = outside(Task.inquire_tdqueue_next)
    """Retrieve information about the next resource in a browse of queues."""
    inquire_tdqueue_end = outside(Task.inquire_tdqueue_end)
    """End the browse of queues."""
    set_tdqueue = outside(Task.set_tdqueue)
    """Change attributes and states of a queue."""
    create_tdqueue = outside(Task.create_tdqueue)
    """Define and install a queue in this region; the CSD is neither read nor changed."""
    discard_tdqueue = outside(Task.discard_tdqueue)
    """Remove an installed queue and its records; a logically recoverable one with a syncpoint."""
    extract_statistics = outside(Task.extract_statistics)
    """Return the statistics of one resource, or the global statistics of a type."""
    perform_statistics = outside(Task.perform_statistics)
    """Write the statistics of some types now (PERFORM STATISTICS RECORD)."""
    inquire_task = outside(Task.inquire_task)
    """Retrieve information about a task."""
    inquire_task_list = outside(Task.inquire_task_list)
    """List the running, suspended and dispatchable tasks, in order of their start."""
    set_task = outside(Task.set_task)
    """End a task with the abend AEXY: at once when it waits, otherwise at its next wait; RESP2 shows which."""
    inquire_transaction = outside(Task.inquire_transaction)
    """Retrieve information about a transaction."""
    inquire_transaction_start = outside(Task.inquire_transaction_start)
    """Start a browse of transactions, which is in alphabetic order."""
    inquire_transaction_next = outside(Task.inquire_transaction_next)
    """Retrieve information about the next resource in a browse of transactions."""
    inquire_transaction_end = outside(Task.inquire_transaction_end)
    """End the browse of transactions."""
    set_transaction = outside(Task.set_transaction)
    """Enable or disable a transaction; a disabled one is not attached."""
    discard_transaction = outside(Task.discard_transaction)
    """Remove the definition of a transaction; its tasks go on."""
    inquire_connection = outside(Task.inquire_connection)
    """Retrieve information about a connection."""
    inquire_connection_start = outside(Task.inquire_connection_start)
    """Start a browse of all present connections."""
    inquire_connection_next = outside(Task.inquire_connection_next)
    """Retrieve information about the next resource in a browse of connections."""
    inquire_connection_end = outside(Task.inquire_connection_end)
    """End the browse of connections."""
    inquire_uow = outside(Task.inquire_uow)
    """Retrieve information about a unit of work."""
    inquire_uow_start = outside(Task.inquire_uow_start)
    """Start a browse of all present units of work."""
    inquire_uow_next = outside(Task.inquire_uow_next)
    """Retrieve information about the next resource in a browse of units of work."""
    inquire_uow_end = outside(Task.inquire_uow_end)
    """End the browse of units of work."""
    set_uow = outside(Task.set_uow)
    """Commit, back out or force a unit of work that is shunted because its coordinator was lost."""
    inquire_uowlink = outside(Task.inquire_uowlink)
    """Retrieve information about a connection that a unit of work uses."""
    inquire_uowlink_start = outside(Task.inquire_uowlink_start)
    """Start a browse of the connections that units of work use."""
    inquire_uowlink_next = outside(Task.inquire_uowlink_next)
    """Retrieve information about the next resource in a browse of links of units of work."""
    inquire_uowlink_end = outside(Task.inquire_uowlink_end)
    """End the browse of links of units of work."""
    set_uowlink = outside(Task.set_uowlink)
    """Delete a link whose connection is no longer defined, so that no outcome can be sent or received over it."""
    inquire_uowenq_start = outside(Task.inquire_uowenq_start)
    """Start a browse of the ends of logically recoverable queues and of names of ENQ, held or waited for."""
    inquire_uowenq_next = outside(Task.inquire_uowenq_next)
    """Retrieve information about the next resource in a browse of enqueues."""
    inquire_uowenq_end = outside(Task.inquire_uowenq_end)
    """End the browse of enqueues."""
    inquire_enq_start = outside(Task.inquire_enq_start)
    """Start a browse of the ends of logically recoverable queues and of names of ENQ, held or waited for."""
    inquire_enq_next = outside(Task.inquire_enq_next)
    """Retrieve information about the next resource in a browse of enqueues."""
    inquire_enq_end = outside(Task.inquire_enq_end)
    """End the browse of enqueues."""
    execute = outside(_execute)
    """Issue a command written as EXEC CICS text."""
    writeq_ts = outside(Task.writeq_ts)
    """Write an item to a queue; the first item creates the queue."""
    readq_ts = outside(Task.readq_ts)
    """Read an item of a queue; the item stays in the queue."""
    deleteq_ts = outside(Task.deleteq_ts)
    """Remove a queue with all its items."""

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

    def browse_tdqueue(self, *options: TdqueueOption) -> Iterator[TdqueueInfo]:
        """Iterate over INQUIRE TDQUEUE of all queues; see the task's method."""
        with self.task() as task:
            yield from task.browse_tdqueue(*options)

    # -- the end --------------------------------------------------------------------------------------------------

    def shutdown(self, *, immediate: bool = False) -> tuple[Fiber, ...]:
        """End the region. Normally tasks run to their end first and no START expires; the next AUTO start is warm.

        Args:
            immediate: end tasks where they are, and keep only what was committed; the next AUTO start is an emergency
                restart.

        Returns:
            The tasks that had not ended by themselves.
        """
        if not immediate and not self.closed:
            self._core.starts.quiesce()
            self.dispatcher.run()
        return self.close(clean=not immediate)

    def close(self, *, clean: bool = True) -> tuple[Fiber, ...]:
        """Close the region: the commands of suspended tasks raise RegionClosed, and the tasks end and are backed out.

        Args:
            clean: False leaves the store in the state in which a killed process would leave it.

        Returns:
            The tasks that had not ended by themselves.

        Raises:
            StoreError: the store could not record the end of the tasks, or has no room for the records of
                non-recoverable queues, which are in memory until then (StoreFull, whose text says how many they are).
                The region is then closed as failed, and its next start is an EMERGENCY start.
        """
        self.dispatcher.check_thread()
        return end(self._core, clean=clean)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
