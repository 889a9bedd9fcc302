"""What a region is made of: its parts, each a small class in the folder of what it is about, and what they ask of it.

A part is given the region as a protocol of what it needs (the ``parts`` module of its folder). This class is all of
those protocols together; what programs call is in :class:`~tdqsim.cics.region.Region`.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from tdqsim.cics.commands import Task
from tdqsim.cics.files import Files
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.encoding import encode
from tdqsim.cics.kernel.enqueue import Enqueue, release_all
from tdqsim.cics.kernel.handlers import TransactionEntry
from tdqsim.cics.kernel.interval import Starts
from tdqsim.cics.kernel.issue import Hook, Recorder
from tdqsim.cics.kernel.region_log import RegionLog
from tdqsim.cics.kernel.security import SecurityPolicy, check_user
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.kernel.tasks import PURGED, Tasks
from tdqsim.cics.programs import Diagnostics, Programs
from tdqsim.cics.queues.ati import Ati
from tdqsim.cics.queues.awaiting import AwaitingHandlers
from tdqsim.cics.queues.directory import Directory
from tdqsim.cics.queues.facilities import Facilities
from tdqsim.cics.queues.intra import IntraSpace
from tdqsim.cics.queues.kinds import ExtraFile, ExtraTdQueue, IntraTdQueue, RegionLink
from tdqsim.cics.queues.messages import Messages
from tdqsim.cics.region_arguments import (
    dfhintra as dfhintra_sizes,
)
from tdqsim.cics.spi.statistics import Statistics
from tdqsim.cics.ts import TemporaryStorage
from tdqsim.cics.uow import restart
from tdqsim.cics.uow.hardening import Hardening
from tdqsim.cics.uow.restart import ResourceCatalogue
from tdqsim.cics.uow.unit import UnitOfWork
from tdqsim.cics.uow.units_of_work import UnitsOfWork
from tdqsim.core.argument_types import types_told
from tdqsim.core.clock import time_zone
from tdqsim.core.codepage import codepage as find_codepage
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.core.store import Store
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.queues.datasets import DataSets

__all__ = ["RegionParts"]


class RegionParts:
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
    cold_start_abstime: int
    task_manager: Tasks[Task]

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
        # What other parts ask of these, bound once.
        self.attach = self.task_manager.attach
        self.system_task = self.task_manager.system
        self.next_task_number = self.task_manager.next_number
        self.facility = self.terminal_control.get
        self.when_free = self.terminal_control.when_free
        self.refresh_facilities = self.terminal_control.refresh
        self.put_in, self.take_out = self.directory.put_in, self.directory.take_out
        self.refresh, self.refresh_all = self.directory.refresh, self.directory.refresh_all
        self.settle_disable = self.directory.settle_disable
        self.new_uow, self.uow_seen = self.recovery.new, self.recovery.seen
        self.commit, self.back_out = self.recovery.commit, self.recovery.back_out
        self.unit_of_work_ended = self.recovery.ended
        self.image_of = restart.image_of
        self.programs = Programs()
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
        self.refresh_all()

    def _take_policy(self, policy: SecurityPolicy | None) -> None:
        check_user(policy, self.default_user, "default_user")
        check_user(policy, self.region_user, "region_user")
        self._security = policy

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
        self.dispatcher.check_thread()
        if self._recorder is not None:
            self._recorder.command(task, command, arguments, outcome)

    def intra_queues(self) -> Iterator[IntraTdQueue]:
        """The intrapartition queues in the order of installation."""
        self.dispatcher.check_thread()
        return (queue for queue in tuple(self.tdqueues.values()) if isinstance(queue, IntraTdQueue))

    def data_set(self, queue: ExtraTdQueue) -> ExtraFile:
        """The data set for an extrapartition queue that is being installed."""
        self.dispatcher.check_thread()
        return self.data_sets.make(queue)

    @property
    def looks_at_store(self) -> bool:
        """Whether it only looks at a store that is there."""
        return self.readonly and not self.store.created

    @property
    def looks_from_outside(self) -> bool:
        """Whether the store that it only looks at belongs to a region that runs, or was not closed."""
        return self.looks_at_store and not self.store.closed_clean

    def nothing_stored(self, name: bytes, *, durable: bool) -> Any:
        """An empty queue, in place of one that the store looked at does not show yet."""
        self.dispatcher.check_thread()
        if self.aside is None:
            self.aside = Store()
        half: Any = self.aside.durable if durable else self.aside.volatile
        return half.create_queue(name)

    @types_told
    def link(self, sysid: str) -> RegionLink:
        """The way to another system.

        Raises:
            Condition: SYSIDERR: it is not defined or not connected.
        """
        self.dispatcher.check_thread()
        link = self.links.get(sysid)
        if link is None:
            raise Condition(Resp.SYSIDERR, detail=f"there is no connection to system {sysid}")
        return link

    def force(self) -> None:
        """Make all durable changes permanent now."""
        self.dispatcher.check_thread()
        self.hardening.force()

    @property
    def last_uow_id(self) -> bytes:
        """The highest id given to a unit of work, or known of an earlier run."""
        return self.recovery.last_id

    @types_told
    def encode(self, text: str) -> bytes:
        """Text in the region's code page; characters it does not have become substitutes."""
        return encode(self.codepage, text)

    @types_told
    def text(self, record: bytes) -> str:
        """A record as text, by the region's code page.

        Raises:
            ConversionError: a byte of it is no character there.
        """
        return self.codepage.decode(bytes(record))

    # -- tasks ----------------------------------------------------------------------------------------------------

    def task_ended(self, task: TaskBase, *, normal: bool) -> None:
        """A task has ended and its unit of work is settled: its QZEROs, its ENQs, its queue's cycle, its facility."""
        if self.dispatcher.thread != get_ident():
            self.dispatcher.check_thread()
        self.tasks.pop(task.number, None)
        if self.failed:
            return
        if self._recorder is not None:
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

    @types_told
    def purge(self, handle: Strand | TaskBase, code: str = PURGED) -> bool:
        """End a task that waits, as an operator's purge does; False when it does not wait."""
        self.dispatcher.check_thread()
        return self.task_manager.purge(handle, code)

    def units_of_work(self) -> tuple[UnitOfWork, ...]:
        """Those that tasks have begun, then the shunted ones, each in order of age."""
        self.dispatcher.check_thread()
        return self.recovery.all()
