"""What queues and transient data requests ask of their region."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, Protocol

from tdqsim.cics.kernel.parts import TaskRegion
from tdqsim.cics.queues.kinds import IntraQueue, RemoteLink, TdQueue
from tdqsim.core.store import Store

__all__ = ["QueueRegion"]


class QueueRegion(TaskRegion, Protocol):
    """What the four kinds of queues and the requests to them need of a region."""

    tdqueues: dict[str, TdQueue]
    links: dict[str, RemoteLink]
    store: Store
    intra: Any
    ati: Any
    data_sets: Any
    catalogue: Any

    @property
    def connections(self) -> MutableMapping[str, Any]: ...  # noqa: D102

    def intra_queues(self) -> Iterator[IntraQueue]:
        """The intrapartition queues in the order of installation."""

    def link(self, sysid: str) -> RemoteLink:
        """The way to another system; SYSIDERR when there is none."""

    def force(self) -> None:
        """Make all durable changes permanent now."""

    def refresh(self, queue: TdQueue) -> None:
        """A queue's state has changed: work out anew what requests to it do."""

    def settle_disable(self, queue: TdQueue) -> None:
        """DISABLING becomes DISABLED when nobody holds or waits for the queue any more."""

    def forget_last_reads(self, queue: IntraQueue) -> None:
        """A PHYSICAL queue was deleted: nothing is given back to it."""
