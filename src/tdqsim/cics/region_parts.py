"""What a region is made of: its parts, each a small class in the folder of what it is about, and what they ask of it.

A part is given the region as a protocol of what it needs (the ``parts`` module of its folder). This class is all of
those protocols together; what programs call is in :class:`~tdqsim.cics.region.Region`.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from tdqsim.cics.commands import Task
from tdqsim.cics.files import Files
from tdqsim.cics.kernel.enqueue import release_all
from tdqsim.cics.kernel.handlers import TransactionEntry, program_of_transaction
from tdqsim.cics.kernel.region_log import RegionLog
from tdqsim.cics.kernel.security import SecurityPolicy, check_user
from tdqsim.cics.kernel.starts import Starts
from tdqsim.cics.kernel.tasks import PURGED, Tasks
from tdqsim.cics.model.lock import Enqueue
from tdqsim.cics.model.region import Hook, Recorder, RegionData, RegionLink
from tdqsim.cics.model.space import IntraSpace
from tdqsim.cics.model.task import TaskData
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
        self._hook: Hook[Any] | None = None
        self._recorder: Recorder[Any] | None = None
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

    # -- what looks on --------------------------------------------------------------------------------------------

    @property
    def security(self) -> SecurityPolicy | None:
        """The security policy; None checks nothing."""
        return self._security

    @security.setter
    def security(self, policy: SecurityPolicy | None) -> None:
        self._take_policy(policy)
        self.directory.refresh_all()

    def _take_policy(self, policy: SecurityPolicy | None) -> None:
        check_user(policy, self.default_user, "default_user")
        check_user(policy, self.region_user, "region_user")
        self._security = policy

    @property
    def hook(self) -> Hook[Any] | None:
        """What looks at every command; None costs nothing."""
        return self._hook

    @hook.setter
    def hook(self, hook: Hook[Any] | None) -> None:
        self._hook = hook
        self._watch()

    @property
    def recorder(self) -> Recorder[Any] | None:
        """What writes down what happens; None costs nothing."""
        return self._recorder

    @recorder.setter
    def recorder(self, recorder: Recorder[Any] | None) -> None:
        self._recorder = recorder
        self._watch()

    def _watch(self) -> None:
        self.is_watched = self._hook is not None or self._recorder is not None
        self.directory.refresh_all()

    def record(self, task: TaskData, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """Tell the recorder of a command that is a whole function of its own."""
        self.dispatcher.check_thread()
        if self._recorder is not None:
            self._recorder.command(task, command, arguments, outcome)

    # -- tasks ----------------------------------------------------------------------------------------------------

    def task_ended(self, task: TaskData, *, normal: bool) -> None:
        """A task has ended and its unit of work is settled: its QZEROs, its ENQs, its queue's cycle, its facility."""
        if self.dispatcher.thread != get_ident():
            self.dispatcher.check_thread()
        self.tasks.pop(task.number, None)
        if self.failed:
            return
        if self._recorder is not None and not task.recorded:
            task.recorded = True
            self._recorder.task_ended(task, normal=normal)
        if task.qzero:
            for queue, cycle in task.qzero.items():
                self.ati.emptied(queue, cycle)
        if self.enqueued:
            release_all(self, task)
        facility = task.facility
        if facility is not None and facility.task is task:
            facility.task = None
        if self.closed:
            return
        if task.request is not None:
            self.ati.task_ended(task.request, normal=normal)
        if facility is not None:
            self.ati.serve(facility)

    @explains_wrong_types
    def purge(self, handle: Strand | TaskData, code: str = PURGED) -> bool:
        """End a task that waits, as an operator's purge does; False when it does not wait."""
        self.dispatcher.check_thread()
        return self.task_manager.purge(handle, code)
