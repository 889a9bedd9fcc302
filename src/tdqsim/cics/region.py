"""A region: queues, transactions and tasks around one store, one dispatcher and one clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from tdqsim import definitions as defs
from tdqsim.cics.commands import Task, outside
from tdqsim.cics.files import Files
from tdqsim.cics.kernel.abstime import abstime, time_zone
from tdqsim.cics.kernel.enqueue import Enqueue
from tdqsim.cics.kernel.handlers import TransactionEntry
from tdqsim.cics.kernel.interval import StartRequest
from tdqsim.cics.kernel.issue import Hook, Recorder
from tdqsim.cics.kernel.messages import Messages
from tdqsim.cics.kernel.security import SecurityPolicy
from tdqsim.cics.look import inspecting
from tdqsim.cics.look.inspecting import QueueSnapshot
from tdqsim.cics.programs import Programs
from tdqsim.cics.queues.ati import Ati, Facility
from tdqsim.cics.queues.datasets import DataSets
from tdqsim.cics.queues.intra import IntraSpace
from tdqsim.cics.queues.kinds import IntraQueue, RemoteLink, TdQueue
from tdqsim.cics.region_tasks import RegionTasks
from tdqsim.cics.spi.install import install
from tdqsim.cics.spi.statistics import Statistics
from tdqsim.cics.ts import TemporaryStorage
from tdqsim.cics.uow import indoubt, restart
from tdqsim.cics.uow.hardening import Hardening
from tdqsim.cics.uow.restart import Catalogue
from tdqsim.cics.uow.unit import UnitOfWork
from tdqsim.core.clock import Clock
from tdqsim.core.codepage import codepage as find_codepage
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.core.store import Durability, Store, StoredQueue
from tdqsim.core.store.keeper import claim
from tdqsim.facts import REGION_DEFAULTS, Cvda, table

if TYPE_CHECKING:
    from tdqsim.cics.look.explain import Explanation
    from tdqsim.datasets import DataSetDirectory

__all__ = ["Hook", "Recorder", "Region", "StartType"]

StartType = Literal["AUTO", "COLD", "INITIAL"]
_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("kernel")}
_IDENTITY: Final = b"region/cold_start"
_KEEPER: Final = "a CICS region"
_PURGED: Final = "AEXY"
_OUTSIDE_TRANSID: Final = "TEST"


class Region(RegionTasks):
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
        handlers: modules to import; a function ``register(region)`` in one is called. With it, ``handler:`` paths of
            transactions are imported too.
        open_data_sets: open the data sets of queues with OPENTIME(INITIAL), as a start does. False leaves them closed
            and as they are.
        readonly: only look: at a store that another process may be writing, or at what a new region would be. No data
            set is opened, and commands that change something are not for such a region.

    Attributes:
        tdqueues: the installed queues by name, in the order of installation.
        transactions, terminals, connections: the other installed resources by name.
        programs: the program table, see :class:`~tdqsim.cics.programs.Programs`.
        ts: temporary storage. files: the files of file control.
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
        handlers: Sequence[str] = (),
        open_data_sets: bool = True,
        readonly: bool = False,
    ) -> None:
        inspecting.check_arguments(start=start, tdintra=tdintra)
        self.applid, self.sysid = applid, sysid
        self.default_user, self.region_user, self.release = default_user, region_user, release
        self.cmdsec: str = cmdsec
        self.ressec: str = ressec
        self.zone = time_zone(timezone)
        self.codepage = find_codepage(codepage)
        self.dispatcher = dispatcher if dispatcher is not None else Dispatcher(clock, seed)
        self.clock = self.dispatcher.clock
        self.log = inspecting.RegionLog(applid)
        self.closed = self.failed = False
        self.start_type = ""
        self.tdintra = tdintra
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
        self._make_tables()
        self.intra = IntraSpace(*inspecting.dfhintra(dfhintra or {}), self.intra_queues)
        self.ati = Ati(self)
        self.messages = Messages(self)
        self.statistics = Statistics(self)
        self.store = _opened(store, durability, limit_bytes, readonly=readonly)
        try:
            claim(self.store, _KEEPER, readonly=readonly)
            self.hardening = Hardening(self.dispatcher, self.store.durable)
            self.dispatcher.on_idle.append(self.hardening.serve)
            self.data_sets = DataSets(self, dd or {}, datasets)
            self.catalogue = Catalogue(self, kept=isinstance(store, Path | str))
            self._start(definitions, start, empty=tdintra == "EMPTY", supplied=supplied_queues)
            if handlers:
                self.load_handlers(*handlers)
        except BaseException:
            self._let_go(clean=False)
            raise

    def _make_tables(self) -> None:
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
        self.programs = Programs()
        self.ts = TemporaryStorage()
        self.files = Files()

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
            inspecting.empty_intrapartition(store)
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

    def nothing_stored(self, name: bytes) -> StoredQueue:
        """An empty queue, in place of one that the store looked at does not show yet."""
        if self._aside is None:
            self._aside = Store()
        return self._aside.volatile.create_queue(name)

    def _cold(self, definitions: defs.Definitions | Iterable[defs.Resource], *, supplied: bool) -> None:
        given = inspecting.as_definitions(definitions)
        self.cold_start_abstime = abstime(self.clock.time_ns(), self.zone)
        indoubt.resume(self)
        restart.begin_numbering(self)
        if self.start_type == "INITIAL":
            restart.begin_log(self)
        if supplied:
            own = {queue.name for queue in given.tdqueues}
            rest = [queue for queue in inspecting.supplied().tdqueues if queue.name not in own]
            install(self, defs.Definitions.of(rest), way="grplist", user=self.region_user)
        install(self, given, way="grplist", user=self.region_user)
        self.store.durable.put_meta(_IDENTITY, self.cold_start_abstime.to_bytes(8, "big"))
        restart.cold_start_finished(self)
        self.force()
        self.log.info("region_started", start=self.start_type, tdqueues=len(self.tdqueues))

    def _resume_triggers(self) -> None:
        """Go on with the cycles of the last run, once the first command or ``run()`` lets tasks run."""
        due = [queue for queue in restart.pending_triggers(self) if self.ati.resume(queue)]
        if due:
            self.dispatcher.spawn(partial(self._reschedule, due), name="restart of triggers", owner=self)

    def _reschedule(self, due: list[IntraQueue]) -> None:
        for queue in due:
            if self.tdqueues.get(queue.name) is queue and queue.latch:
                self.ati.schedule(queue)

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

        self._check_open("explain")
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
            StoreError: the store did not take what the end of the tasks changes: the region is closed as one that
                failed.
        """
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

    def _end_tasks(self) -> None:
        self.survivors = self.dispatcher.end_strands(self, f"the region {self.applid} is closed")
        for task in tuple(self.tasks.values()):
            task.end(normal=False)
        for uow in tuple(self.units.values()):
            if uow.state is Cvda.INFLIGHT:  # a coordinator outside CICS has it, and has not had it prepared
                indoubt.back_out_together(uow)
        for strand in self.survivors:
            self.log.warning("task_ended_by_close", task=strand.name, exception=repr(strand.exception))
        restart.save_latches(self)

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


def _opened(
    store: Path | str | Store | None, durability: Durability, limit_bytes: int | None, *, readonly: bool
) -> Store:
    """The store in a directory, a temporary one, or the one that was handed in."""
    if isinstance(store, Store):
        return store
    path = None if store is None else Path(store)
    return Store(path, durability=durability, limit_bytes=limit_bytes, readonly=readonly and path is not None)
