"""The notices of regions and systems in a server: those that last are incidents, those of systems go to the log.

The notices of a region are in the log already, as events of the region.
"""

from __future__ import annotations

from collections.abc import Iterator

import structlog

from tdqsim import state
from tdqsim.cics import Region
from tdqsim.ibmi import System
from tdqsim.state import Notice

_log = structlog.get_logger("tdqsim.server")
_QUEUE = "TDQUEUE("


def lasting(region: Region) -> Iterator[Notice]:
    """The notices of a region that still hold, without abends.

    What it has said of an intrapartition queue is about its trigger: it is so, warnings too, while the trigger level is
    reached. Of other resources only errors count.
    """
    for notice in region.notices.lasting:
        name = queue_of(notice)
        queue = state.queue(region, name) if name else None
        if queue is not None and queue.type == "INTRA":
            is_so = queue.numitems >= queue.level
        else:
            is_so = notice.severity == "error"
        if is_so and notice.event != "abend":
            yield notice


def why_ended(owner: Region | System) -> str:
    """Why a region or system has ended while it is served, in a sentence; empty while it is active."""
    if not owner.closed:
        return ""
    said = [notice.reason for notice in owner.notices if notice.event == "store_failed"]
    return said[-1] if said else "It is closed."


def queue_of(notice: Notice) -> str:
    """The transient data queue that a notice is about; empty for none."""
    return notice.resource.removeprefix(_QUEUE).removesuffix(")") if notice.resource.startswith(_QUEUE) else ""


def log_notices(system: System) -> None:
    """Write the notices of a system to the log."""

    def write(notice: Notice) -> None:
        log = _log.error if notice.severity == "error" else _log.warning
        values = {"resource": notice.resource, "reason": notice.reason, "cure": notice.cure, "job": notice.task}
        log(notice.event or "notice", id=notice.id, system=system.name, **values)

    system.notices.subscribe(write)
