"""The core of a region: its state and its parts, which are attributes.

Each part is a small class in the folder of its subject: the directory of queues, facilities, the task manager, starts,
recovery (units of work), the intrapartition space, ATI, messages, statistics, data sets, hardening and the catalogue.
A part knows the core as :class:`~tdqsim.cics.model.region.RegionData` and never imports this class. ``region_start``
and ``region_end`` hold the order of the steps of a start and an end. Programs use a
:class:`~tdqsim.cics.region.Region`, which holds the core privately.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdqsim.cics.commands import Task
from tdqsim.cics.files import Files
from tdqsim.cics.kernel.channels import Channel
from tdqsim.cics.kernel.handlers import program_of_transaction, startable
from tdqsim.cics.kernel.limits import Limits
from tdqsim.cics.kernel.region_log import RegionLog
from tdqsim.cics.kernel.security import SecurityPolicy
from tdqsim.cics.kernel.starts import Starts
from tdqsim.cics.kernel.tasks import Tasks
from tdqsim.cics.model.handle import TaskHandle
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.model.lock import Enqueue
from tdqsim.cics.model.region import Hook, MachinePart, Recorder, RegionData, RegionLink
from tdqsim.cics.model.space import IntraSpace
from tdqsim.cics.model.transaction import TransactionEntry
from tdqsim.cics.programs import Diagnostics, Programs
from tdqsim.cics.queues.ati import Ati
from tdqsim.cics.queues.awaiting import AwaitingHandlers
from tdqsim.cics.queues.directory import Directory
from tdqsim.cics.queues.exits import Exits
from tdqsim.cics.queues.facilities import Facilities
from tdqsim.cics.queues.messages import Messages
from tdqsim.cics.region_arguments import RegionOptions
from tdqsim.cics.region_arguments import dfhintra as dfhintra_sizes
from tdqsim.cics.region_end import store_failed
from tdqsim.cics.region_start import KEEPER
from tdqsim.cics.spi.statistics import Statistics
from tdqsim.cics.terminal import Screens
from tdqsim.cics.terminal.routing import Routing
from tdqsim.cics.ts import TemporaryStorage
from tdqsim.cics.uow import restart
from tdqsim.cics.uow.hardening import Hardening
from tdqsim.cics.uow.restart import ResourceCatalogue
from tdqsim.cics.uow.units_of_work import UnitsOfWork
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.notices import Notices
from tdqsim.core.store import Durability, Store
from tdqsim.core.store.keeper import claim
from tdqsim.core.strand import Strand
from tdqsim.facts import notice_words

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.queues.datasets import DataSets
    from tdqsim.cics.region import Region
    from tdqsim.datasets import DataSetDirectory


class RegionCore(RegionData):
    """See the module's text.

    Attributes:
        options: the arguments of the region that a program may read back.
        store, hardening, data_sets, catalogue: the parts that exist once the store is open.
        browses: the browses that commands outside a task have started and not ended, by resource type.
        survivors: the tasks that had not ended by themselves when the region was closed.
        cold_start_abstime: when it was last started without what was there before, as an ABSTIME.
        link_watch: called with the connection, the kind and the network-wide unit of work of each message that is sent
            over a link and answered; its context lasts until the answer. None for no such function.
        aside: a temporary store for queues that the store looked at does not show yet, or None.
    """

    facade: Region
    store: Store
    hardening: Hardening
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
        self.default_user, self.region_user, self.release = options.default_user, options.region_user, options.release
        self.cmdsec, self.ressec = options.cmdsec, options.ressec
        self.zone, self.codepage = options.zone, options.codepage
        self.settings, self.groups = options.settings, options.groups
        self.readonly, self.open_data_sets = options.readonly, options.open_data_sets
        self.dispatcher = dispatcher
        self.clock = self.dispatcher.clock
        self.log = RegionLog(applid)
        self.notices = Notices(f"region {applid}", notice_words, self.clock.time_ns, self.log)
        self.closed = self.failed = self.started = False
        self.why_closed = "is closed"
        self.start_type = ""
        self._security: SecurityPolicy | None = None
        self._take_policy(security)
        self.is_watched = False
        self._hook: Hook | None = None
        self._recorder: Recorder | None = None
        self.link_watch: Callable[[str, str, str], AbstractContextManager[object]] | None = None
        self.aside: Store | None = None
        self.machine = machine
        self._make_parts(dfhintra)
        self.trigger_next = options.trigger_next
        self.limits: Limits | None = None if options.mxt is None else Limits(self, options.mxt)

    def __repr__(self) -> str:
        return f"<Region {self.applid} {self.start_type}{' closed' if self.closed else ''}>"

    def _make_parts(self, intrapartition: Mapping[str, int]) -> None:
        self.transactions: dict[str, TransactionEntry] = {}
        self.terminals: dict[str, defs.Terminal] = {}
        self.connections: dict[str, defs.Connection] = {}
        self.links: dict[str, RegionLink] = {}
        self.enqueues: dict[bytes, Enqueue] = {}
        self.enqueued: dict[object, dict[bytes, Enqueue]] = {}  # what a task or unit of work holds
        self.browses: dict[str, Any] = {}
        self.survivors: tuple[Strand, ...] = ()
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
        self.programs = Programs(
            self.exits, [partial(program_of_transaction, self.transactions)], self.awaiting_handlers.look_again
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
        self.hardening = Hardening(self.dispatcher, self.store.durable, shared=durability == "power")
        self.hardening.store_failed = partial(store_failed, self)
        self.dispatcher.on_idle.append(self.task_manager.finish_ends)
        from tdqsim.cics.queues.datasets import DataSets  # noqa: PLC0415  (QSAM is imported with the first region)

        self.data_sets = DataSets(self, dd, datasets)
        self.catalogue = ResourceCatalogue(self, kept=kept)

    def _begin_at_terminal(self, transid: str, terminal: str, commarea: bytes, channel: Channel | None) -> TaskHandle:
        """Start the transaction for a terminal's input, with the COMMAREA or channel that the previous one passed."""
        self.facade._check("start")
        entry = startable(self.transactions, transid, "", self.sysid)
        facility, level = self.terminal_control.defined(terminal), None
        user = facility.userid or self.default_user
        if self.security is not None:
            self.task_manager.admit(entry.name, user, facility)
        if commarea or channel is not None:
            area = memoryview(bytearray(commarea)) if commarea else None
            level = ProgramLevel(entry.program_name or entry.name, area, None, channel)
        return self.task_manager.attach(entry, startcode="TD", userid=user, facility=facility, level=level)
