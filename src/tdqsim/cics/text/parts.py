"""The task in which CECI or CEMT issues its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tdqsim.cics.model.region import RegionBase, RegionData
from tdqsim.errors import RegionClosed

if TYPE_CHECKING:
    from tdqsim.cics.commands import Task


def check_region(region: object, name: str) -> None:
    """Refuse what is not a region, such as a task, before anything uses its parts.

    Raises:
        TypeError: it is not a region.
    """
    if not isinstance(region, RegionBase):
        raise TypeError(f"{name}: region is {region!r:.60}; allowed is Region")


def task_of(region: RegionData, transid: str, userid: str = "") -> Task:
    """A task for commands of CECI or CEMT.

    Raises:
        RegionClosed: the region is closed.
    """
    region.dispatcher.check_thread()
    if region.closed:
        raise RegionClosed(f"{transid}: the region {region.applid} is closed")
    return cast("Task", region.task_manager.outside(transid, userid))
