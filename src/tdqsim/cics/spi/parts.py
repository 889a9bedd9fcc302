"""What system programming commands ask of the task that issues them, and of its region.

A region is composed of parts, and nothing below it knows the class: each folder says, as a protocol, what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tdqsim.cics.kernel.eib import Eib
from tdqsim.cics.kernel.issue import Issuer
from tdqsim.cics.queues.kinds import TdQueue
from tdqsim.cics.uow.parts import UowRegion
from tdqsim.core.dispatch import Strand

__all__ = ["SpiRegion", "SpiTask"]


class SpiRegion(UowRegion, Protocol):
    """What INQUIRE, SET, CREATE, DISCARD and installs need of a region."""

    browses: dict[str, Any]
    statistics: Any
    release: str
    region_user: str
    cold_start_abstime: int

    def purge(self, handle: Strand, /) -> bool:
        """End a task that waits; False when it does not wait."""

    def put_in(self, queue: TdQueue, /) -> None:
        """A queue is installed, in the place of one of its name."""

    def take_out(self, queue: TdQueue, /) -> None:
        """A queue is not installed any more."""


class SpiTask(Issuer, Protocol):
    """What these commands need of the task that issues them."""

    eib: Eib
    transid: str
    userid: str
    program: str
    implicit: bool
    browses: Mapping[str, Any]

    @property
    def region(self) -> SpiRegion: ...  # noqa: D102

    def take_syncpoint(self) -> None:
        """Commit: see the task."""

    def take_rollback(self) -> None:
        """Back out: see the task."""
