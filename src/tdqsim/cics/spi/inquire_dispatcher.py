"""INQUIRE DISPATCHER and SET DISPATCHER, as far as PRTYAGING. Source: INQUIRE DISPATCHER, SET DISPATCHER (IBM Docs)."""

from __future__ import annotations

from typing import Final

from tdqsim.cics.kernel.authority import check_command
from tdqsim.cics.kernel.command import Flag, Fullword, command
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.spi.inquiry import ResourceType, inquire_one, receivers
from tdqsim.cics.spi.requests import refusal
from tdqsim.facts import LIMITS
from tdqsim.facts.inquiries import DispatcherInfo, DispatcherOption

_SET: Final = "SET DISPATCHER"
_MOST: Final = LIMITS["prtyage_maximum"]

DISPATCHER: Final = ResourceType[str, RegionData, DispatcherInfo](
    "DISPATCHER",
    DispatcherInfo,
    {"PRTYAGING": lambda region, _region: region.task_manager.prtyaging},
    keys=lambda region: (region.applid,),
    find=lambda region, _name: region,
)


@command("INQUIRE DISPATCHER", "NOTAUTH", receivers("DISPATCHER"), otherwise=DispatcherInfo())
def inquire_dispatcher(task: TaskBase, *options: DispatcherOption, nohandle: bool = False) -> DispatcherInfo:
    """Retrieve information about the dispatcher.

    Args:
        options: the options to return; all when none is named.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: NOTAUTH 100.
    """
    return inquire_one(task, DISPATCHER, "", options)


@command(_SET, "INVREQ NOTAUTH")
def set_dispatcher(task: TaskBase, *, prtyaging: Fullword, nohandle: Flag = False) -> None:
    """Change how fast the priority of a ready task rises.

    The new value applies to tasks from the next time that they become ready.

    Args:
        prtyaging: the milliseconds after which the priority of a ready task is one higher, 0 to 65535; 0 for never.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: INVREQ: PRTYAGING is not in the range; NOTAUTH 100.
    """
    check_command(task, "DISPATCHER", Access.UPDATE)
    if not 0 <= prtyaging <= _MOST:
        raise refusal(_SET, "bad number", f"PRTYAGING must be 0 to {_MOST}, not {prtyaging}")
    task._region.task_manager.set_prtyaging(prtyaging)
