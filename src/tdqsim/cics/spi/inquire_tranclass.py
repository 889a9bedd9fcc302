"""INQUIRE TRANCLASS with its browse, and SET TRANCLASS. Source: INQUIRE TRANCLASS, SET TRANCLASS (IBM Docs).

SET changes the class until the region ends; the next start has the limits of the definition.
"""

from __future__ import annotations

from typing import Final

from tdqsim.cics.kernel.authority import check_command
from tdqsim.cics.kernel.command import Flag, FullwordOrNone, Name8, Opt, command
from tdqsim.cics.kernel.limits import TransactionClass, limits_of
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.spi.inquiry import BrowseCommands, ResourceType, browse_command, inquire_one, receivers
from tdqsim.cics.spi.requests import refusal
from tdqsim.facts import LIMITS
from tdqsim.facts.inquiries import TranclassInfo, TranclassOption

_SET: Final = "SET TRANCLASS"
_NAME_LENGTH: Final = 8
_NOTHING: Final = TranclassInfo()
_MOST_ACTIVE: Final = LIMITS["tranclass_maxactive_maximum"]
_HIGHEST_THRESHOLD: Final = LIMITS["tranclass_purgethresh_maximum"]


def _classes(region: RegionData) -> dict[str, TransactionClass]:
    classes: dict[str, TransactionClass] = {} if region.limits is None else region.limits.classes
    return classes


TRANCLASS: Final = ResourceType[str, TransactionClass, TranclassInfo](
    "TRANCLASS",
    TranclassInfo,
    {
        "ACTIVE": lambda known, _region: len(known.active),
        "MAXACTIVE": lambda known, _region: known.maxactive or 0,
        "PURGETHRESH": lambda known, _region: known.purgethresh,
        "QUEUED": lambda known, _region: len(known.queued),
    },
    keys=lambda region: sorted(_classes(region)),
    find=lambda region, name: _classes(region).get(name),
    identity=lambda known: known.name.ljust(_NAME_LENGTH),
)


@command("INQUIRE TRANCLASS", "NOTAUTH TCIDERR", receivers("TRANCLASS"), otherwise=_NOTHING)
def inquire_tranclass(
    task: TaskBase, tranclass: Name8, *options: TranclassOption, nohandle: bool = False
) -> TranclassInfo:
    """Retrieve information about a transaction class.

    Args:
        tranclass: its name.
        options: the options to return; all when none is named. PURGETHRESH is 0 for PURGETHRESH(NO).
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: TCIDERR 1; NOTAUTH 100.
    """
    return inquire_one(task, TRANCLASS, tranclass.rstrip(" "), options)


_BROWSE: Final = BrowseCommands[TranclassOption, TranclassInfo](
    TRANCLASS, "transaction classes", __name__, receives=Opt("name", _NAME_LENGTH, required=True)
)
inquire_tranclass_start = browse_command(_BROWSE.start)
inquire_tranclass_next = browse_command(_BROWSE.next)
inquire_tranclass_end = browse_command(_BROWSE.end)


@command(_SET, "INVREQ NOTAUTH TCIDERR", resource="tranclass")
def set_tranclass(
    task: TaskBase,
    tranclass: Name8,
    *,
    maxactive: FullwordOrNone = None,
    purgethresh: FullwordOrNone = None,
    nohandle: Flag = False,
) -> None:
    """Change the limits of a transaction class.

    A higher MAXACTIVE admits queued tasks at once; a lower one ends no task. A lower PURGETHRESH ends queued tasks with
    AKCC, the lowest priority first, after those that MAXACTIVE of the same command admits have left the queue.

    Args:
        tranclass: its name.
        maxactive: the maximum number of active tasks, 0 to 999.
        purgethresh: one more than the maximum number of queued tasks, 1 to 1000000; 0 for no limit.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: TCIDERR 1; INVREQ: a number is not in its range; NOTAUTH 100.
    """
    region = task._region
    check_command(task, "TRANCLASS", Access.UPDATE)
    name = tranclass.rstrip(" ")
    known = _classes(region).get(name)
    if known is None:
        raise refusal(_SET, "not found", f"there is no transaction class {name}")
    if maxactive is not None and not 0 <= maxactive <= _MOST_ACTIVE:
        raise refusal(_SET, "bad maxactive", f"MAXACTIVE must be from 0 to {_MOST_ACTIVE}, not {maxactive}")
    if purgethresh is not None and not 0 <= purgethresh <= _HIGHEST_THRESHOLD:
        raise refusal(_SET, "bad purgethresh", f"PURGETHRESH must be from 0 to {_HIGHEST_THRESHOLD}, not {purgethresh}")
    limits_of(region).define(
        name,
        (known.maxactive or 0) if maxactive is None else maxactive,
        known.purgethresh if purgethresh is None else purgethresh,
    )
