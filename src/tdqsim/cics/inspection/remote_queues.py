"""The state of a remote queue, read in the region of this process that owns the queue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tdqsim.cics.inspection.records import records as records_of
from tdqsim.cics.inspection.state import QueueState, queue_state
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.queue import RemoteTdQueue, TdQueue
from tdqsim.cics.model.region import is_near
from tdqsim.cics.queues.state_table import final_target
from tdqsim.errors import RegionClosed

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData


def followed_states(region: RegionData, *, records: bool = True) -> dict[str, QueueState]:
    """All queues of a region by name; a remote queue has the records, uncommitted work and cycle of its target.

    A remote queue whose link is down, or whose target is not installed, has only the state in its own region.
    """
    return {name: _state(region, queue, records=records) for name, queue in region.tdqueues.items()}


def followed_records(region: RegionData, name: str) -> list[bytes] | None:
    """The records of the queue of a name, after aliases and in the region that owns it; None if it cannot be reached.

    Raises:
        Condition: QIDERR.
        RegionClosed: the region that has the queue is closed.
    """
    target = _followed(region, final_target(region, name.rstrip(" ")))
    if target is None:
        return None
    there, queue = target
    there.dispatcher.check_thread()
    if there.closed:
        raise RegionClosed(f"peek: the region {there.applid} {there.why_closed}")
    return list(records_of(queue))


def _state(region: RegionData, queue: TdQueue, *, records: bool) -> QueueState:
    state = queue_state(queue, records=records)
    owned = _followed(region, queue) if isinstance(queue, RemoteTdQueue) else None
    if owned is None:
        return state
    there, target = owned
    far = queue_state(target, records=records)
    return replace(
        state, openstatus=far.openstatus, records=far.records, uncommitted=far.uncommitted, cycle=far.cycle,
        region=there.applid,
    )  # fmt: skip


def _followed(region: RegionData, queue: TdQueue) -> tuple[RegionData, TdQueue] | None:
    """The final region and queue of a chain of remote queues; None if a link is down or a queue is missing."""
    visited = set()
    while isinstance(queue, RemoteTdQueue) and (region.applid, queue.name) not in visited:
        visited.add((region.applid, queue.name))
        link = region.links.get(queue.remotesystem)
        if link is None or not is_near(link) or not link.acquired or link.far.region.closed:
            return None
        region = link.far.region
        try:
            queue = final_target(region, queue.remotename)
        except Condition:
            return None
    return None if isinstance(queue, RemoteTdQueue) else (region, queue)
