"""What queues and transient data requests ask of their region."""

from __future__ import annotations

from collections.abc import Container, Iterator, MutableMapping
from typing import Any, Protocol

from tdqsim.cics.kernel.parts import TaskRegion
from tdqsim.cics.queues.kinds import ExtraFile, ExtraTdQueue, IntraTdQueue, RegionLink, TdQueue
from tdqsim.core.store import Store

__all__ = ["QueueRegion"]


class QueueRegion(TaskRegion, Protocol):
    """What the four kinds of queues and the requests to them need of a region."""

    tdqueues: dict[str, TdQueue]
    links: dict[str, RegionLink]
    store: Store
    intra: Any
    ati: Any
    facilities: dict[tuple[str, str], Any]
    open_data_sets: bool
    readonly: bool
    data_sets: Any
    catalogue: Any

    @property
    def connections(self) -> MutableMapping[str, Any]: ...  # noqa: D102

    def intra_queues(self) -> Iterator[IntraTdQueue]:
        """The intrapartition queues in the order of installation."""

    @property
    def looks_at_store(self) -> bool: ...  # noqa: D102

    @property
    def looks_from_outside(self) -> bool: ...  # noqa: D102

    def nothing_stored(self, name: bytes, *, durable: bool) -> Any:
        """An empty queue, in place of one that the store looked at does not show yet."""

    def data_set(self, queue: ExtraTdQueue) -> ExtraFile:
        """The data set for an extrapartition queue that is being installed."""

    def facility(self, kind: str, name: str, /) -> Any:
        """A terminal (``TERMINAL``) or connection (``SYSTEM``), whether it is defined or not."""

    def refresh_facilities(self, installed: Container[tuple[str, str]] | None = None, /) -> None:
        """Definitions of terminals and connections have changed."""

    def link(self, sysid: str) -> RegionLink:
        """The way to another system; SYSIDERR when there is none."""

    def force(self) -> None:
        """Make all durable changes permanent now."""

    def refresh(self, queue: TdQueue) -> None:
        """A queue's state has changed: work out anew what requests to it do."""

    def settle_disable(self, queue: TdQueue) -> None:
        """DISABLING becomes DISABLED when nobody holds or waits for the queue any more."""
