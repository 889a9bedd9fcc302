"""The notices of regions and systems in a server: those that last are incidents, those of systems go to the log.

The notices of a region are in the log already, as events of the region.
"""

from __future__ import annotations

from collections.abc import Iterator

import structlog

from tdqsim.cics import Region
from tdqsim.hosting import IntraTdQueue, core_of
from tdqsim.ibmi import System
from tdqsim.state import Notice

_log = structlog.get_logger("tdqsim.server")
_QUEUE = "TDQUEUE("


def lasting(region: Region) -> Iterator[Notice]:
    """What a region has said and is still so, without abends, and triggers whose level is no longer reached."""
    for notice in region.notices.lasting:
        queue = core_of(region).tdqueues.get(queue_of(notice))
        reached = not isinstance(queue, IntraTdQueue) or queue.stored.count >= queue.triggerlevel
        if notice.severity == "error" and notice.event != "abend" and reached:
            yield notice


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
