"""INQUIRE UOW and SET UOW.

A unit of work is shown from its first recoverable request to its end. After its task has ended it is still shown while
it waits for another system: it is shunted, or it was decided here without its coordinator (HEURCOMMIT, HEURBACKOUT), or
it was committed here and another region has not yet been informed (COMMIT, WAITING). As long as it is INFLIGHT its
WAITSTATE is ACTIVE, whatever its task waits for: WAITSTATE is about syncpoints. WAITCAUSE, LINK, NETNAME and SYSID say
what a shunted or WAITING unit of work waits for; for others they are empty. Sources: INQUIRE UOW, SET UOW, UOW views
(IBM Docs), CEMT INQUIRE UOW (SC33-1686).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from tdqsim.cics.kernel.authority import check_command
from tdqsim.cics.kernel.command import Flag, Opt, command, to_cvda
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.unit import UnitOfWork
from tdqsim.cics.spi.inquire_uowlink import netname
from tdqsim.cics.spi.inquiry import BrowseCommands, ResourceType, browse_command, inquire_one, receivers
from tdqsim.cics.spi.requests import refusal
from tdqsim.cics.spi.uow_ids import UOW_LENGTH, RequiredUowId, age, find_uow, long_id, net_name, uow_with_id
from tdqsim.cics.uow import indoubt
from tdqsim.errors import StoreError
from tdqsim.facts import Cvda
from tdqsim.facts.inquiries import UowInfo, UowOption

Uowstate = Annotated[Literal["COMMIT", "commit", "BACKOUT", "backout", "FORCE", "force"] | Cvda | int, Opt("cvda", 4)]
_SYSID_LENGTH: Final = 4
_NOTHING: Final = UowInfo()


# -- readers of the options -------------------------------------------------------------------------------------------


def _waitstate(uow: UnitOfWork, _region: RegionData) -> Cvda:
    return Cvda.ACTIVE if uow.state is Cvda.INFLIGHT else uow.waitstate


def _age(uow: UnitOfWork, region: RegionData) -> int:
    """Seconds since it entered its WAITSTATE; for one that is ACTIVE, since it acquired its oldest enqueue."""
    if _waitstate(uow, region) is not Cvda.ACTIVE:
        return age(region, uow.since_ns)
    held = [lock.since_ns for lock in uow.locks]
    held += [enqueue.since_ns for enqueue in region.enqueued.get(uow, {}).values() if uow in enqueue.holds]
    return age(region, min(held, default=0))


def _cause(uow: UnitOfWork) -> str:
    """The connection that a unit of work waits for; empty when it waits for none."""
    return "" if uow.waitcause is Cvda.NOTAPPLIC else uow.link


def _netname(uow: UnitOfWork, region: RegionData) -> str:
    """The network name of the system that a unit of work waits for; blank when it waits for none."""
    link = _cause(uow)
    return netname(region, link) if link else ""


UOW: Final = ResourceType[bytes, UnitOfWork, UowInfo](
    "UOW",
    UowInfo,
    {
        "AGE": _age,
        "LINK": _netname,
        "NETNAME": _netname,
        "NETUOWID": lambda uow, region: net_name(region, uow),
        "OTSTID": lambda _uow, _region: "",
        "SYSID": lambda uow, _region: _cause(uow)[:_SYSID_LENGTH],
        "TASKID": lambda uow, _region: uow.taskid,
        "TERMID": lambda uow, _region: uow.termid,
        "TRANSID": lambda uow, _region: uow.transid,
        "UOWSTATE": lambda uow, _region: uow.state,
        "USERID": lambda uow, _region: uow.userid,
        "WAITCAUSE": lambda uow, _region: uow.waitcause,
        "WAITSTATE": _waitstate,
    },
    keys=lambda region: [uow.id for uow in indoubt.units_of_work(region)],
    find=uow_with_id,
    identity=lambda uow: long_id(uow.id),
)


# -- the commands -----------------------------------------------------------------------------------------------------


@command("INQUIRE UOW", "NOTAUTH UOWNOTFOUND", receivers("UOW"), otherwise=_NOTHING)
def inquire_uow(task: TaskBase, uow: RequiredUowId, *options: UowOption, nohandle: bool = False) -> UowInfo:
    """Retrieve information about a unit of work.

    Args:
        uow: its identifier, as a browse or INQUIRE UOWENQ returned it: 16 bytes, the last eight zero; the first 8 are
            enough.
        options: the options to return; all when none is named.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: UOWNOTFOUND 1; NOTAUTH 100.
    """
    check_command(task, "UOW", Access.READ)
    return inquire_one(task, UOW, find_uow(task._region, "INQUIRE UOW", uow).id, options)


_BROWSE: Final = BrowseCommands[UowOption, UowInfo](UOW, "units of work", __name__, receives=Opt("data", UOW_LENGTH))
inquire_uow_start = browse_command(_BROWSE.start)
inquire_uow_next = browse_command(_BROWSE.next)
inquire_uow_end = browse_command(_BROWSE.end)


@command("SET UOW", "INVREQ NOTAUTH UOWNOTFOUND")
def set_uow(task: TaskBase, uow: RequiredUowId, *, uowstate: Uowstate, nohandle: Flag = False) -> None:
    """Commit, back out or force a unit of work that is shunted because its coordinator was lost.

    Args:
        uow: its identifier.
        uowstate: COMMIT, BACKOUT, or FORCE, which takes ACTION of its transaction.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: UOWNOTFOUND 1; INVREQ 3: the CVDA is not allowed; INVREQ 4: the unit of work is not shunted indoubt;
            NOTAUTH 100.
    """
    check_command(task, "UOW", Access.UPDATE)
    unit = find_uow(task._region, "SET UOW", uow)
    wanted = to_cvda(uowstate)
    if wanted not in (Cvda.COMMIT, Cvda.BACKOUT, Cvda.FORCE):
        raise refusal("SET UOW", "bad cvda", f"UOWSTATE must be COMMIT, BACKOUT or FORCE, not {uowstate!r}")
    if unit.state is not Cvda.INDOUBT or unit.waitstate is not Cvda.SHUNTED:
        raise refusal("SET UOW", "wrong state", f"{unit.title} is not shunted indoubt")
    try:
        indoubt.force(unit, wanted.name)
    except StoreError as error:  # the unit of work is unchanged, so the command can be issued again
        raise refusal("SET UOW", "wrong state", f"{unit.title} could not be decided: {error}") from error
