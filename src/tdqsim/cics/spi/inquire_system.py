"""INQUIRE SYSTEM and SET SYSTEM, as far as MAXTASKS. Source: INQUIRE SYSTEM, SET SYSTEM, MXT (IBM Docs).

A region without MXT admits any number of tasks; MAXTASKS is 0 then, a value that CICS does not have.
"""

from __future__ import annotations

from typing import Final

from tdqsim.cics.kernel.authority import check_command
from tdqsim.cics.kernel.command import Flag, Fullword, command
from tdqsim.cics.kernel.limits import check_maxtasks, limits_of
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.spi.inquiry import ResourceType, inquire_one, receivers
from tdqsim.cics.spi.requests import refusal
from tdqsim.errors import UsageError
from tdqsim.facts.inquiries import SystemInfo, SystemOption

_NOTHING: Final = SystemInfo()

SYSTEM: Final = ResourceType[str, RegionData, SystemInfo](
    "SYSTEM",
    SystemInfo,
    {"MAXTASKS": lambda region, _region: 0 if region.limits is None else region.limits.maxtasks},
    keys=lambda region: (region.applid,),
    find=lambda region, _name: region,
)


@command("INQUIRE SYSTEM", "NOTAUTH", receivers("SYSTEM"), otherwise=_NOTHING)
def inquire_system(task: TaskBase, *options: SystemOption, nohandle: bool = False) -> SystemInfo:
    """Retrieve information about the region.

    Args:
        options: the options to return; all when none is named. MAXTASKS is 0 in a region without MXT.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: NOTAUTH 100.
    """
    return inquire_one(task, SYSTEM, "", options)


@command("SET SYSTEM", "INVREQ NOTAUTH")
def set_system(task: TaskBase, *, maxtasks: Fullword, nohandle: Flag = False) -> None:
    """Change the maximum number of tasks of the region.

    A higher maximum admits queued tasks at once. A lower one ends no task: new tasks wait until fewer are active.

    Args:
        maxtasks: the maximum, 10 to 2000.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: INVREQ: MAXTASKS is not in the range; NOTAUTH 100.
    """
    check_command(task, "SYSTEM", Access.UPDATE)
    try:
        check_maxtasks(maxtasks)
    except UsageError as error:
        raise refusal("SET SYSTEM", "bad number", str(error)) from None
    limits_of(task._region).set_maxtasks(maxtasks)
