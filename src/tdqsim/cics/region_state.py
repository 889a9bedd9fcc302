"""What the parts of a region share: its attributes, what looks at its commands, and the state that commands keep."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from tdqsim.cics.kernel.issue import Hook, Recorder
from tdqsim.cics.kernel.security import SecurityPolicy
from tdqsim.cics.queues.kinds import ExtraQueue, IntraQueue, TdQueue
from tdqsim.errors import RegionClosed
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.commands import Task
    from tdqsim.cics.kernel.enqueue import Enqueue
    from tdqsim.cics.kernel.handlers import TransactionEntry
    from tdqsim.cics.kernel.interval import StartRequest
    from tdqsim.cics.kernel.messages import Messages
    from tdqsim.cics.queues.ati import Ati, Facility
    from tdqsim.cics.queues.datasets import DataSets
    from tdqsim.cics.queues.kinds import RemoteLink
    from tdqsim.cics.region import Region
    from tdqsim.cics.uow.hardening import Hardening
    from tdqsim.cics.uow.restart import Catalogue
    from tdqsim.cics.uow.unit import UnitOfWork
    from tdqsim.core.clock import Clock
    from tdqsim.core.codepage import CodePage
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.core.store import Store

__all__ = ["RegionState"]


class RegionState:
    """What the parts of a region share; :class:`~tdqsim.cics.region.Region` makes and documents it."""

    if TYPE_CHECKING:
        applid: str
        sysid: str
        default_user: str
        release: str
        zone: tzinfo
        codepage: CodePage
        dispatcher: Dispatcher
        clock: Clock
        log: Any
        closed: bool
        failed: bool
        unguarded: bool
        tdqueues: dict[str, TdQueue]
        transactions: dict[str, TransactionEntry]
        terminals: dict[str, defs.Terminal]
        connections: dict[str, defs.Connection]
        facilities: dict[tuple[str, str], Facility]
        tasks: dict[int, Task]
        units: dict[bytes, UnitOfWork]
        shunted: dict[bytes, UnitOfWork]
        links: dict[str, RemoteLink]
        enqueues: dict[bytes, Enqueue]
        start_requests: dict[str, StartRequest]
        ati: Ati
        messages: Messages
        store: Store
        hardening: Hardening
        data_sets: DataSets
        catalogue: Catalogue
        _security: SecurityPolicy | None
        _hook: Hook | None
        _spare: Task | None
        _numbers: int
        _reqids: int
        _last_uow: int

    _recorder: Recorder | None = None

    @property
    def whole(self) -> Region:
        """The region itself: its parts are never made alone."""
        return self  # type: ignore[return-value]

    def _check_open(self, what: str) -> None:
        if self.closed:
            raise RegionClosed(f"{what}: the region {self.applid} is closed")

    def force(self) -> None:
        """Make all durable changes permanent now."""
        if self.store.durable.dirty:
            self.hardening.force()

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

    def record(self, task: Task, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """Tell the recorder of a command that did not go through :meth:`~tdqsim.cics.kernel.task.Task.issue`."""
        if self._recorder is not None:
            self._recorder.command(task, command, arguments, outcome)

    def refresh_all(self) -> None:
        """Work out anew which queues may take the short way."""
        self.unguarded = self._security is None and self._hook is None and not self.closed
        for queue in self.tdqueues.values():
            self.refresh(queue)

    def refresh(self, queue: TdQueue) -> None:
        """Work out whether requests to a queue may take the short way."""
        enabled = self.unguarded and queue.enablestatus is Cvda.ENABLED
        ready = enabled and isinstance(queue, IntraQueue)
        queue.plain = ready and queue.recovstatus == "NO"  # type: ignore[attr-defined]
        queue.trace = self._recorder.trace if self._recorder is not None else None
        queue.swift = ready and queue.recovstatus == "LOGICAL"  # type: ignore[attr-defined]
        queue.quick = enabled and isinstance(queue, ExtraQueue) and queue.trace is None

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
