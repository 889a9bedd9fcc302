"""The queues of a region by name, and which way requests to each of them go."""

from __future__ import annotations

from tdqsim.cics.kernel.issue import Recorder
from tdqsim.cics.queues.kinds import ExtraQueue, IntraQueue, TdQueue
from tdqsim.cics.queues.parts import QueueRegion
from tdqsim.facts import Cvda

__all__ = ["Directory"]


class Directory:
    """The queues of one region.

    Attributes:
        queues: the installed queues by name, in the order of installation.
        unguarded: whether nothing looks at each request: no security, no hook, and the region is open.
    """

    def __init__(self, region: QueueRegion) -> None:
        self._region = region
        self.queues: dict[str, TdQueue] = {}
        self.unguarded = False

    def refresh_all(self) -> None:
        """Work out anew which queues may take the short way."""
        region = self._region
        self.unguarded = region.security is None and region.hook is None and not region.closed
        for queue in self.queues.values():
            self.refresh(queue)

    def refresh(self, queue: TdQueue) -> None:
        """Work out whether requests to a queue may take the short way."""
        recorder: Recorder | None = self._region.recorder
        enabled = self.unguarded and queue.enablestatus is Cvda.ENABLED
        ready = enabled and isinstance(queue, IntraQueue)
        queue.plain = ready and queue.recovstatus == "NO"  # type: ignore[attr-defined]
        queue.trace = recorder.trace if recorder is not None else None
        queue.swift = ready and queue.recovstatus == "LOGICAL"  # type: ignore[attr-defined]
        queue.quick = enabled and isinstance(queue, ExtraQueue) and queue.trace is None
