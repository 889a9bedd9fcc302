"""The core of a region: its state and its parts, which are attributes, and how it starts and ends.

Each part is a small class in the folder of its subject: the directory of queues, facilities, the task manager, starts,
recovery (units of work), the intrapartition space, ATI, messages, statistics, data sets, committer and the catalogue.
A part knows the core as :class:`~tdqsim.cics.model.region.RegionData` and never imports this class. Programs use a
:class:`~tdqsim.cics.region.Region`, which holds the core privately.

A start is INITIAL or COLD when nothing is to be taken over, or there is no last run; WARM after a normal end;
EMERGENCY after any other end. A read-only region takes over what it reads in the store, and changes nothing.

An end closes the links first, then ends the tasks in order, then releases the store and the data sets. A normal end
backs out the units of work of the tasks. A region that fails backs out nothing, since its next start does that. A start
that fails before it has changed the store leaves the store as it was.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.commands import Task
from tdqsim.cics.files import Files
from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.kernel.channels import Channel
from tdqsim.cics.kernel.handlers import program_of_transaction, startable
from tdqsim.cics.kernel.limits import Limits
from tdqsim.cics.kernel.region_log import RegionLog
from tdqsim.cics.kernel.security import SecurityPolicy
from tdqsim.cics.kernel.starts import Starts
from tdqsim.cics.kernel.tasks import Tasks
from tdqsim.cics.model.entries import same_definition
from tdqsim.cics.model.handle import TaskHandle
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.model.lock import Enqueue
from tdqsim.cics.model.region import Hook, MachinePart, Recorder, RegionData, RegionLink
from tdqsim.cics.model.space import IntraSpace
from tdqsim.cics.model.transaction import TransactionEntry
from tdqsim.cics.programs import Diagnostics, Programs
from tdqsim.cics.queues.ati import Ati
from tdqsim.cics.queues.awaiting import AwaitingHandlers, PendingStart
from tdqsim.cics.queues.directory import Directory
from tdqsim.cics.queues.exits import Exits
from tdqsim.cics.queues.facilities import Facilities
from tdqsim.cics.queues.messages import Messages
from tdqsim.cics.region_arguments import RegionOptions, StartOptions, as_definitions
from tdqsim.cics.region_arguments import dfhintra as dfhintra_sizes
from tdqsim.cics.region_arguments import supplied as supplied_definitions
from tdqsim.cics.spi.install import install
from tdqsim.cics.spi.statistics import Statistics
from tdqsim.cics.terminal import Screens
from tdqsim.cics.terminal.routing import Routing
from tdqsim.cics.ts import TemporaryStorage
from tdqsim.cics.uow import indoubt, restart
from tdqsim.cics.uow.committer import Committer
from tdqsim.cics.uow.restart import ResourceCatalogue
from tdqsim.cics.uow.units_of_work import UnitsOfWork
from tdqsim.core.collection import nothing_collected
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import Fiber
from tdqsim.core.notices import Notices
from tdqsim.core.store import Durability, Store
from tdqsim.core.store.keeper import KEPT_BY, claim
from tdqsim.errors import RegionClosed, StoreMissing
from tdqsim.facts import SUPPLIED_QUEUES, Cvda, notice_words

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.model.queue import Latch
    from tdqsim.cics.queues.datasets import DataSets
    from tdqsim.cics.region import Region
    from tdqsim.datasets import DataSetDirectory
    from tdqsim.errors import StoreError

KEEPER: Final = "a CICS region"
IDENTITY: Final = b"region/cold_start"
"""The meta datum with the time of the last cold start; a store in which no region was started has none."""


class RegionCore(RegionData):
    """See the module's text.

    Attributes:
        store, committer, data_sets, catalogue: the parts that exist once the store is open.
        browses: the browses that commands outside a task have started and not ended, by resource type.
        survivors: the tasks that had not ended by themselves when the region was closed.
        cold_start_abstime: when it was last started without what was there before, as an ABSTIME.
        link_watch: called with the connection, the kind and the network-wide unit of work of each message that is sent
            over a link and answered; its context lasts until the answer. None for no such function.
        aside: a temporary store for queues that a store opened read-only does not have, or None.
    """

    facade: Region
    store: Store
    committer: Committer
    data_sets: DataSets
    catalogue: ResourceCatalogue
    task_manager: Tasks[Task]
    directory: Directory
    terminal_control: Facilities
    recovery: UnitsOfWork
    ati: Ati
    messages: Messages
    exits: Exits
    starts: Starts
    statistics: Statistics
    programs: Programs
    diagnostics: Diagnostics
    ts: TemporaryStorage
    files: Files
    screens: Screens
    routing: Routing

    def __init__(
        self,
        facade: Region,
        applid: str,
        options: RegionOptions,
        *,
        dispatcher: Dispatcher,
        security: SecurityPolicy | None,
        dfhintra: Mapping[str, int],
        machine: MachinePart | None,
    ) -> None:
        self.facade, self.options = facade, options
        self.applid, self.sysid = applid, options.sysid
        self.cmdsec, self.ressec = options.cmdsec, options.ressec
        self.zone, self.codepage = options.zone, options.code_page
        self.readonly = options.readonly
        self.dispatcher = dispatcher
        self.clock = self.dispatcher.clock
        self.log = RegionLog(applid)
        self.notices = Notices(f"region {applid}", notice_words, self.clock.time_ns, self.log)
        self.clock.on_set_back.append(self.notices.clock_set_back)
        self.closed = self.failed = self.started = False
        self.why_closed = "is closed"
        self.start_type = ""
        self._take_policy(security)
        self.is_watched = False
        self._hook: Hook | None = None
        self._recorder: Recorder | None = None
        self.link_watch: Callable[[str, str, str], AbstractContextManager[object]] | None = None
        self.aside: Store | None = None
        self.machine = machine
        self._make_parts(dfhintra)
        self.limits: Limits | None = None if options.mxt is None else Limits(self, options.mxt)

    def __repr__(self) -> str:
        return f"<Region {self.applid} {self.start_type}{' closed' if self.closed else ''}>"

    def _make_parts(self, intrapartition: Mapping[str, int]) -> None:
        self.transactions: dict[str, TransactionEntry] = {}
        self.discarded: dict[str, TransactionEntry] = {}  # for their tasks, their handlers, and LINK to these
        self.terminals: dict[str, defs.Terminal] = {}
        self.connections: dict[str, defs.Connection] = {}
        self.links: dict[str, RegionLink] = {}
        self.enqueues: dict[bytes, Enqueue] = {}
        self.enqueued: dict[object, dict[bytes, Enqueue]] = {}  # what a task or unit of work holds
        self.browses: dict[str, Any] = {}
        self.survivors: tuple[Fiber, ...] = ()
        self.exits = Exits(self)
        self.directory = Directory(self)
        self.tdqueues = self.directory.installed
        self.terminal_control = Facilities(self)
        self.facilities = self.terminal_control.known
        self.task_manager = Tasks(self, Task)
        self.tasks = self.task_manager.known
        self.starts = Starts(self)
        self.recovery = UnitsOfWork(self, self.clock.time_ns())
        self.units, self.shunted, self.damage = self.recovery.inflight, self.recovery.shunted, self.recovery.damage
        self.intra = IntraSpace(*dfhintra_sizes(intrapartition))
        self.ati = Ati(self)
        self.awaiting_handlers = AwaitingHandlers(self)
        self.messages = Messages(self)
        self.statistics = Statistics(self)
        self.abends = self.statistics.abends
        self.image_of = restart.image_of
        all_transactions = ChainMap(self.transactions, self.discarded)
        self.programs = Programs(
            self.exits, [partial(program_of_transaction, all_transactions)], self.awaiting_handlers.look_again
        )
        self.diagnostics = Diagnostics()
        self.ts = TemporaryStorage(self)
        self.files = Files(self)
        self.screens = Screens(self.codepage, self._begin_at_terminal, self.terminal_control.check_input)
        self.routing = Routing(self)

    def open(
        self,
        store: Path | str | Store | None,
        *,
        durability: Durability,
        limit_bytes: int | None,
        dd: Mapping[str, Any],
        datasets: Path | str | DataSetDirectory | None,
    ) -> None:
        """Open the store, or make a temporary one, and make the parts that need it; an open store is used as it is."""
        kept = isinstance(store, Path | str)
        if isinstance(store, Store):
            self.store = store
        else:  # it is the region's from the line that opens it, so that an interrupted start closes it
            readonly = self.readonly and store is not None
            self.store = Store(store, durability=durability, limit_bytes=limit_bytes, readonly=readonly)
        claim(self.store, KEEPER, readonly=self.readonly)
        self.committer = Committer(self.dispatcher, self.store.durable, shared=durability == "power")
        self.committer.store_failed = partial(store_failed, self)
        self.dispatcher.on_idle.append(self.task_manager.finish_ends)
        from tdqsim.cics.queues.datasets import DataSets  # noqa: PLC0415  (QSAM is imported with the first region)

        self.data_sets = DataSets(self, dd, datasets)
        self.catalogue = ResourceCatalogue(self, kept=kept)

    def _begin_at_terminal(self, transid: str, terminal: str, commarea: bytes, channel: Channel | None) -> TaskHandle:
        """Start the transaction for a terminal's input, with the COMMAREA or channel that the previous one passed."""
        self.facade._check("start")
        entry = startable(self.transactions, transid, "", self.sysid)
        facility, level = self.terminal_control.defined(terminal), None
        user = facility.userid or self.options.dfltuser
        if self.security is not None:
            self.task_manager.admit(entry.name, user, facility)
        if commarea or channel is not None:
            area = memoryview(bytearray(commarea)) if commarea else None
            level = ProgramLevel(entry.program_name or entry.name, area, None, channel)
        return self.task_manager.attach(entry, startcode="TD", userid=user, facility=facility, level=level)


@contextmanager
def unstarted_store(path: Path) -> Iterator[Store | None]:
    """A store in which no region was ever started, new if there is none; None if one was.

    Such a store holds at most a CSD, and the first start of a region in it is an initial one.

    Raises:
        StoreError: the store is not of a region, or cannot be opened.
    """
    try:
        with Store(path, readonly=True) as store:  # opened to write it, a store of a killed region would look clean
            claim(store, KEEPER, readonly=True)
            started = store.durable.get_meta(IDENTITY) is not None or store.salvaged or any(store.durable.queues())
    except StoreMissing:
        started = False
    if started:
        yield None
        return
    with Store(path) as store:
        claim(store, KEEPER)
        yield store


# -- the start ---------------------------------------------------------------------------------------------------------


def begin(
    region: RegionCore,
    definitions: defs.Definitions | Iterable[defs.Resource],
    start: StartOptions,
    *,
    supplied: bool,
) -> None:
    """Start a region: read its store only, start with nothing, or continue where the last run ended."""
    with nothing_collected():
        _begin(region, definitions, start, supplied=supplied)


def _begin(
    region: RegionCore,
    definitions: defs.Definitions | Iterable[defs.Resource],
    start: StartOptions,
    *,
    supplied: bool,
) -> None:
    store = region.store
    if region.looks_at_store:
        region.start_type = "WARM" if store.closed_clean else "EMERGENCY"  # what the next start would be
        _load(region, definitions)
        restart.show_latches(region)
        return
    identity = None if store.created else store.durable.get_meta(IDENTITY)
    # A salvaged store may hold queues without the region's own record (its identity); such a store is not emptied.
    lost = identity is None and store.salvaged
    # In any other store, a missing identity means that a cold or initial start was interrupted: it is made again.
    if start.type != "AUTO" or (identity is None and not lost):
        if start.type == "AUTO" and region.catalogue.kept:
            restart.check_nothing_kept(region)
        initial = start.type == "INITIAL" or (identity is None and not restart.cold_start_unfinished(region))
        region.start_type = "INITIAL" if initial else "COLD"
        kept = restart.kept_over_initial_start if initial else restart.kept_over_cold_start
        store.clear({**kept(region), KEPT_BY: KEEPER.encode()})
        _cold(region, definitions, supplied=supplied, grplist=start.grplist or ())
        return
    region.start_type = "WARM" if store.closed_clean else "EMERGENCY"
    if not store.closed_clean:
        store.discard_volatile()
    if start.tdintra == "EMPTY":
        restart.empty_intrapartition(region)
    if identity is None:
        region.cold_start_abstime = abstime(region.clock.time_ns(), region.zone)
        region.committer.note(IDENTITY, region.cold_start_abstime.to_bytes(8, "big"))
    else:
        region.cold_start_abstime = int.from_bytes(identity, "big")
    if lost:
        definitions = as_definitions(definitions)  # an iterator gives them once
    _load(region, definitions, lost=lost)
    if lost:
        _install_lost(region, definitions, supplied=supplied)
    if not store.closed_clean:
        restart.give_back_reads(region)
    region.ts.resume(clean=store.closed_clean)
    restart.load_units_of_work(region)
    indoubt.resume(region)
    restart.begin_numbering(region)
    _resume_starts(region)
    region.committer.commit(party=_Started(region))  # one commit holds all changes that a warm start makes to the store
    region.log.info("region_started", start=region.start_type, tdqueues=len(region.tdqueues))


def _load(region: RegionCore, definitions: defs.Definitions | Iterable[defs.Resource], *, lost: bool = False) -> None:
    """Install the definitions of the catalogue; a notice names those given that are ignored.

    Args:
        region: the region.
        definitions: those given.
        lost: those that the catalogue does not have are not ignored, since :func:`_install_lost` installs them.
    """
    ignored = region.catalogue.load(as_definitions(definitions).resources if definitions else ())
    if lost:
        ignored = [each for each in ignored if (each.kind, each.resource_name) in region.catalogue]
    if ignored:
        names = ", ".join(f"{resource.kind}({resource.resource_name})" for resource in ignored)
        region.notices.say("definitions_not_installed", start=region.start_type, resources=names)


def _install_lost(
    region: RegionCore, definitions: defs.Definitions | Iterable[defs.Resource], *, supplied: bool
) -> None:
    """Install given definitions that a salvaged store's catalogue has lost, so that their records can be read again."""
    given = as_definitions(definitions)
    every = [*supplied_definitions().tdqueues, *given.resources] if supplied else list(given.resources)
    found = {(resource.kind, resource.resource_name): resource for resource in every}
    missing = [resource for name, resource in found.items() if name not in region.catalogue]
    if missing:
        install(region, as_definitions(missing), agent="GRPLIST", user=region.options.regionuserid)
        region.notices.say("lost_definitions_installed", resources=[resource.resource_name for resource in missing])


def _cold(
    region: RegionCore,
    definitions: defs.Definitions | Iterable[defs.Resource],
    *,
    supplied: bool,
    grplist: Iterable[str],
) -> None:
    given = as_definitions(definitions)
    if grplist:
        given += _of_lists(region, grplist)
    region.cold_start_abstime = abstime(region.clock.time_ns(), region.zone)
    indoubt.resume(region)
    restart.begin_numbering(region)
    if region.start_type == "INITIAL":
        restart.begin_log(region)
    if supplied:
        rest, own = supplied_definitions(), {queue.name for queue in given.tdqueues}
        if not own.isdisjoint(SUPPLIED_QUEUES):
            rest = as_definitions([queue for queue in rest.tdqueues if queue.name not in own])
        install(region, rest, agent="GRPLIST", user=region.options.regionuserid)
    install(region, given, agent="GRPLIST", user=region.options.regionuserid)
    _say_not_used(region, given)
    region.committer.note(IDENTITY, region.cold_start_abstime.to_bytes(8, "big"))
    restart.cold_start_finished(region)
    region.committer.commit(party=_Started(region))
    region.log.info("region_started", start=region.start_type, tdqueues=len(region.tdqueues))


def _say_not_used(region: RegionCore, given: defs.Definitions) -> None:
    """A notice for each definition that differs from that of an earlier group, which is used."""
    for entry, earlier in given.overridden:
        resource, used = entry.resource, earlier.resource
        if not same_definition(resource.model_copy(update={"group": used.group}), used):
            place = f"group {resource.group}" + (f" ({entry.file}:{entry.line})" if entry.line else "")
            region.notices.say(
                "definition_not_used", resource=resource.title, place=place, earlier=f"group {used.group}"
            )


def _of_lists(region: RegionCore, grplist: Iterable[str]) -> defs.Definitions:
    """The definitions in lists of the CSD; a notice says which lists are not there."""
    from tdqsim.cics.spi.csd import csd_of  # noqa: PLC0415  (few regions have a group list)

    csd = csd_of(region, lambda _what: None)
    for name in grplist:
        if name not in csd.lists():
            region.notices.say("grplist_unknown", list=name)
    return as_definitions(csd.of_lists(grplist))


class _Started:
    """The party of the commit that completes a start: from then on the region can end normally."""

    __slots__ = ("_region",)

    def __init__(self, region: RegionCore) -> None:
        self._region = region

    def committed(self) -> None:
        self._region.started = True


def _resume_starts(region: RegionCore) -> None:
    """Continue trigger cycles and STARTs of the last run as soon as a command or ``run()`` dispatches tasks."""
    due = [
        PendingStart(latch, latch.queue.name, partial(_schedule, region, latch))
        for latch in restart.pending_triggers(region)
        if region.ati.resume(latch)
    ]
    due += [
        PendingStart(each, each.reqid, partial(region.starts.process, each))
        for each in region.starts.resume(clean=region.store.closed_clean)
    ]
    if due:
        region.dispatcher.spawn(partial(region.awaiting_handlers.begin, due), name="restart of starts", owner=region)


def _schedule(region: RegionCore, latch: Latch) -> None:
    if region.tdqueues.get(latch.queue.name) is latch.queue and latch.queue.latched is latch:
        region.ati.schedule(latch)


# -- the end -----------------------------------------------------------------------------------------------------------


def end(region: RegionCore, *, clean: bool) -> tuple[Fiber, ...]:
    """Close a region; see :meth:`tdqsim.cics.region.Region.close`."""
    if region.closed and not (region.failed and region.store.is_open):
        return ()
    try:
        # A region that is closed already had its end interrupted: finish it, without writing anything more.
        with nothing_collected():
            _end(region, clean=clean and not region.closed)
    except BaseException:  # close the store nevertheless; the next start backs out what is left
        region.failed = True
        let_go(region, clean=False)
        raise
    return region.survivors


def store_failed(region: RegionCore, error: StoreError) -> None:
    """End a region because writing or syncing its store failed: later commits could not be made durable.

    The next start is an emergency restart. The command that met the error raises it; later calls raise RegionClosed.
    """
    if region.closed:  # the error may also come up while the region is being closed
        return
    region.notices.say("store_failed", error=str(error))
    region.why_closed = f"has failed: {error}"
    end(region, clean=False)


def give_up_start(region: RegionCore) -> None:
    """End a region whose start has failed.

    If the start was complete, the region ends normally. If a warm start had committed nothing, the store remains marked
    as closed cleanly, so that the next start is warm again.
    """
    if hasattr(region, "committer"):
        region.committer.settle()
    if region.started:
        end(region, clean=True)
    elif hasattr(region, "store"):
        store = region.store
        untouched = region.start_type in ("", "WARM") and store.closed_clean and not store.durable.commits
        let_go(region, clean=untouched and not region.readonly)


def _end(region: RegionCore, *, clean: bool) -> None:
    if clean:  # a normal end notifies the partners; after a failure they only notice that the region is gone
        _leave_links(region)
    region.closed = True
    _leave_links(region)
    region.directory.refresh_all()
    if clean:
        _end_tasks(region)
    else:
        region.failed = True
    let_go(region, clean=clean)


def _end_tasks(region: RegionCore) -> None:
    region.survivors = region.dispatcher.end_fibers(region, f"the region {region.applid} is closed", RegionClosed)
    for task in tuple(region.tasks.values()):
        task.end(normal=False)
    region.task_manager.finish_ends()
    for uow in tuple(region.units.values()):
        if uow.state is Cvda.INFLIGHT:  # a coordinator outside CICS has it, and has not had it prepared
            indoubt.back_out_together(uow)
    for fiber in region.survivors:
        region.notices.say("task_ended_by_close", task=fiber.name, exception=repr(fiber.exception))
    if not region.readonly:
        region.statistics.end()
        restart.save_latches(region)
        region.ts.save()
        region.starts.save()
        region.committer.force()


def _leave_links(region: RegionCore) -> None:
    for link in region.links.values():
        link.leave()


def let_go(region: RegionCore, *, clean: bool) -> None:
    """Release the store, the data sets and the threads, however far the region's start or end has come."""
    region.closed = True
    region.starts.stop_timers()
    region.statistics.stop()
    region.clock.on_set_back[:] = [hear for hear in region.clock.on_set_back if hear != region.notices.clock_set_back]
    mine = [region.task_manager.finish_ends, region.committer.serve] if hasattr(region, "committer") else []
    region.dispatcher.on_idle[:] = [hook for hook in region.dispatcher.on_idle if hook not in mine]
    try:
        if hasattr(region, "data_sets"):
            region.data_sets.close(clean=clean)
    finally:
        try:
            region.store.close(clean=clean)
        except BaseException:  # no room for the records in memory: they are lost, as when a region fails
            region.failed = True
            raise
        finally:
            _let_fibers_go(region, clean=clean)


def _let_fibers_go(region: RegionCore, *, clean: bool) -> None:
    if region.aside is not None:
        region.aside.close()
    if not clean:
        text = f"the region {region.applid} has failed"
        region.survivors = region.dispatcher.end_fibers(region, text, RegionClosed)
    if not region.dispatcher.fibers:
        region.dispatcher.release_workers()
