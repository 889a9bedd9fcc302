"""The state of a remote queue, followed over links to the region of this process that has the queue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.look.records import records as records_of
from tdqsim.cics.look.state import QueueState, queue_state
from tdqsim.cics.model.queue import RemoteTdQueue, TdQueue
from tdqsim.cics.model.region import NearLink
from tdqsim.cics.queues.checks import final_target
from tdqsim.errors import RegionClosed

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData

__all__ = ["followed_records", "followed_states"]


def followed_states(region: RegionData, *, records: bool = True) -> dict[str, QueueState]:
    """Every queue of a region, by name; a remote one has the records, uncommitted work and cycle of its target.

    A remote queue whose link is down, or whose target is not installed, is as its own region knows it.
    """
    return {name: _state(region, queue, records=records) for name, queue in region.tdqueues.items()}


def followed_records(region: RegionData, name: str) -> list[bytes] | None:
    """The records of the queue that a name stands for, in whichever region it is; None where it cannot be reached.

    Raises:
        Condition: QIDERR.
        RegionClosed: the region that has the queue is closed.
    """
    found = _followed(region, final_target(region, name.rstrip(" ")))
    if found is None:
        return None
    there, queue = found
    there.dispatcher.check_thread()
    if there.closed:
        raise RegionClosed(f"peek: the region {there.applid} {there.why_closed}")
    return list(records_of(queue))


def _state(region: RegionData, queue: TdQueue, *, records: bool) -> QueueState:
    state = queue_state(queue, records=records)
    found = _followed(region, queue) if isinstance(queue, RemoteTdQueue) else None
    if found is None:
        return state
    there, target = found
    far = queue_state(target, records=records)
    return replace(
        state, openstatus=far.openstatus, records=far.records, uncommitted=far.uncommitted, cycle=far.cycle,
        region=there.applid,
    )  # fmt: skip


def _followed(region: RegionData, queue: TdQueue) -> tuple[RegionData, TdQueue] | None:
    """The region and the queue that a remote queue is in the end; None where a link is down or a queue missing."""
    seen = set()
    while isinstance(queue, RemoteTdQueue) and (region.applid, queue.name) not in seen:
        seen.add((region.applid, queue.name))
        link = region.links.get(queue.remotesystem)
        if not isinstance(link, NearLink) or not link.acquired or link.far.region.closed:
            return None
        region = link.far.region
        try:
            queue = final_target(region, queue.remotename)
        except Condition:
            return None
    return None if isinstance(queue, RemoteTdQueue) else (region, queue)
