"""What the text forms ask of the region: a task to issue commands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tdqsim.cics.spi.parts import SpiRegion

if TYPE_CHECKING:
    from tdqsim.cics.commands import Task

__all__ = ["TextRegion"]


class TextRegion(SpiRegion, Protocol):
    """What CECI and CEMT need of a region."""

    def task(self, *, transid: str = "", userid: str = "") -> Task:
        """A task for the program outside."""
