"""What a region is made of: its parts, each a small class in the folder of what it is about, and what they ask of it.

A part is given the region as a protocol of what it needs (the ``parts`` module of its folder). This class is all of
those protocols together; what programs call is in :class:`~tdqsim.cics.region.Region`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from tdqsim.cics.commands import Task
from tdqsim.cics.files import Files
from tdqsim.cics.kernel.handlers import program_of_transaction
from tdqsim.cics.kernel.region_log import RegionLog
from tdqsim.cics.kernel.security import SecurityPolicy
from tdqsim.cics.kernel.starts import Starts
from tdqsim.cics.kernel.tasks import PURGED, Tasks
from tdqsim.cics.model.lock import Enqueue
from tdqsim.cics.model.region import Hook, Recorder, RegionData, RegionLink
from tdqsim.cics.model.space import IntraSpace
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.transaction import TransactionEntry
from tdqsim.cics.programs import Diagnostics, Programs
from tdqsim.cics.queues.ati import Ati
from tdqsim.cics.queues.awaiting import AwaitingHandlers
from tdqsim.cics.queues.directory import Directory
from tdqsim.cics.queues.facilities import Facilities
from tdqsim.cics.queues.messages import Messages
from tdqsim.cics.region_arguments import (
    dfhintra as dfhintra_sizes,
)
from tdqsim.cics.spi.statistics import Statistics
from tdqsim.cics.ts import TemporaryStorage
from tdqsim.cics.uow import restart
from tdqsim.cics.uow.hardening import Hardening
from tdqsim.cics.uow.restart import ResourceCatalogue
from tdqsim.cics.uow.units_of_work import UnitsOfWork
from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.core.clock import time_zone
from tdqsim.core.codepage import codepage as find_codepage
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.core.store import Store

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.queues.datasets import DataSets

__all__ = ["RegionParts"]


class RegionParts(RegionData):
    """The parts of a region, and what they ask of it; :class:`~tdqsim.cics.region.Region` documents all of it.

    Attributes:
        store, hardening, data_sets, catalogue: what a region has once its store is open.
        cold_start_abstime: when it was last started without what was there before, as an ABSTIME.
        aside: a temporary store for queues that the store looked at does not show yet, or None.
    """

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
    starts: Starts
    statistics: Statistics
    programs: Programs
    diagnostics: Diagnostics
    ts: TemporaryStorage
    files: Files

    def __init__(
        self,
        *,
        applid: str,
        sysid: str,
        dispatcher: Dispatcher,
        timezone: str,
        default_user: str,
        region_user: str,
        codepage: str | int,
        release: str,
        tdintra: Literal["NOEMPTY", "EMPTY"],
        security: SecurityPolicy | None,
        groups: Mapping[str, Collection[str]],
        cmdsec: str,
        ressec: str,
        dfhintra: Mapping[str, int],
        settings: Mapping[str, Any],
        open_data_sets: bool,
        readonly: bool,
    ) -> None:
        self.applid, self.sysid = applid, sysid
        self.default_user, self.region_user, self.release = default_user, region_user, release
        self.cmdsec: str = cmdsec
        self.ressec: str = ressec
        self.zone = time_zone(timezone)
        self.codepage = find_codepage(codepage)
        self.dispatcher = dispatcher
        self.clock = self.dispatcher.clock
        self.log = RegionLog(applid)
        self.settings: Mapping[str, Any] = dict(settings)
        self.closed = self.failed = self.started = False
        self.why_closed = "is closed"
        self.start_type = ""
        self.tdintra = tdintra
        self.readonly = readonly
        self.open_data_sets = open_data_sets and not readonly
        self._security: SecurityPolicy | None = None
        self._take_policy(security)
        self.groups = groups
        self.is_watched = False
        self._hook: Hook | None = None
        self._recorder: Recorder | None = None
        self.aside: Store | None = None
        self._make_parts(dfhintra)

    def _make_parts(self, intrapartition: Mapping[str, int]) -> None:
        self.transactions: dict[str, TransactionEntry] = {}
        self.terminals: dict[str, defs.Terminal] = {}
        self.connections: dict[str, defs.Connection] = {}
        self.links: dict[str, RegionLink] = {}
        self.enqueues: dict[bytes, Enqueue] = {}
        self.enqueued: dict[object, dict[bytes, Enqueue]] = {}  # what a task or unit of work holds
        self.browses: dict[str, Any] = {}
        self.abends: dict[str, int] = {}
        self.survivors: tuple[Strand, ...] = ()
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
        self.image_of = restart.image_of
        self.programs = Programs(
            [partial(program_of_transaction, self.transactions)], on_register=self.awaiting_handlers.look_again
        )
        self.diagnostics = Diagnostics()
        self.ts = TemporaryStorage(self)
        self.files = Files(self)

    @explains_wrong_types
    def purge(self, handle: Strand | TaskData, code: str = PURGED) -> bool:
        """End a task that waits, as an operator's purge does; False when it does not wait."""
        self.dispatcher.check_thread()
        return self.task_manager.purge(handle, code)
