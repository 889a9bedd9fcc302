"""INQUIRE UOWLINK and SET UOWLINK: the connections that units of work use, and the role of the system at the other end.

A unit of work has a link to its coordinator (ROLE COORDINATOR) when another region or a program outside CICS decides
its outcome, and a link to each region that must be informed of the decision made here (ROLE SUBORDINATE): the regions
that take part in it and, after its commit, those that have not acknowledged the commit yet. The token of a link is
computed from the unit of work, the connection and the role, so it is the same after a restart.

RESYNCSTATUS is OK while the connection is acquired, UNAVAILABLE while it is down, COLD when the coordinator has lost
its log (it was started INITIAL) and so can no longer decide, and UNCONNECTED when there is no connection: the
coordinator is not a CICS region, or the connection is no longer defined. Sources: INQUIRE UOWLINK (IBM Docs), CEMT
INQUIRE UOWLINK (SC33-1686); what is shown for a coordinator outside CICS is a choice of this simulator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal
from zlib import crc32

from tdqsim.cics.kernel.authority import check_command
from tdqsim.cics.kernel.command import Flag, Opt, command, to_cvda
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.unit import UnitOfWork
from tdqsim.cics.spi.inquiry import BrowseCommands, ResourceType, browse_command, browse_start, inquire_one, receivers
from tdqsim.cics.spi.requests import refusal
from tdqsim.cics.spi.uow_ids import UowId, find_uow, long_id, net_name, uow_with_id
from tdqsim.cics.uow import indoubt
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Cvda
from tdqsim.facts.inquiries import UowlinkInfo, UowlinkOption

_TOKEN_LENGTH: Final = 4
Action = Annotated[Literal["DELETE", "delete"] | Cvda | int, Opt("cvda", 4)]
LinkToken = Annotated[bytes, Opt("data", _TOKEN_LENGTH)]
_NOTHING: Final = UowlinkInfo()
_XID_LENGTH: Final = 64
_NETNAME_LENGTH: Final = 8


class UowLink(NamedTuple):
    """One link of one unit of work.

    Attributes:
        uow: the unit of work in this region.
        name: the connection; empty when there is none.
        role: what the other end is to the unit of work: COORDINATOR or SUBORDINATE.
    """

    uow: UnitOfWork
    name: str
    role: Cvda


def links_of(units: Iterable[UnitOfWork]) -> Iterator[UowLink]:
    """The links of units of work: for each, first the link to its coordinator, then those to its subordinates."""
    for uow in units:
        if uow.coordinator:
            yield UowLink(uow, uow.link, Cvda.COORDINATOR)
        names = (*uow.decision, *(participant.name for participant in uow.participants))
        for name in dict.fromkeys(names):
            yield UowLink(uow, name, Cvda.SUBORDINATE)


def token(link: UowLink) -> bytes:
    """The four bytes by which INQUIRE UOWLINK names a link."""
    return crc32(link.uow.id + link.role.name.encode() + link.name.encode()).to_bytes(4, "big")


def netname(region: RegionData, name: str) -> str:
    """The network name (APPLID) of the system at the other end; the connection's name when it is not known."""
    connection = region.connections.get(name)
    if connection is not None:
        return str(connection.applid)
    system = region.links.get(name)
    return name if system is None else system.netname


def _link(link: UowLink, region: RegionData) -> str:
    return netname(region, link.name) if link.name else link.uow.coordinator[:_NETNAME_LENGTH]


def _resyncstatus(link: UowLink, region: RegionData) -> Cvda:
    system = region.links.get(link.name)
    if system is not None:
        return system.resyncstatus(link.uow)
    return Cvda.UNAVAILABLE if link.name in region.connections else Cvda.UNCONNECTED


def _sysid(link: UowLink, region: RegionData) -> str:
    return link.name if link.name in region.connections or link.name in region.links else ""


def _xid(link: UowLink, _region: RegionData) -> bytes:
    """The name of the unit of work that its coordinator outside CICS uses; zeros when the link leads to a region."""
    name = "" if link.name else link.uow.coordinator
    return name.encode()[:_XID_LENGTH].ljust(_XID_LENGTH, b"\0")


def _with_token(region: RegionData, key: bytes | UowLink) -> UowLink | None:
    """The link with a token, or a link of a browse when its unit of work still exists."""
    if isinstance(key, UowLink):
        return key if uow_with_id(region, key.uow.id) is not None else None
    return next((link for link in links_of(indoubt.units_of_work(region)) if token(link) == key), None)


UOWLINK: Final = ResourceType[bytes | UowLink, UowLink, UowlinkInfo](
    "UOWLINK",
    UowlinkInfo,
    {
        "BRANCHQUAL": lambda _link, _region: bytes(_XID_LENGTH),
        "HOST": lambda _link, _region: "",
        "LINK": _link,
        "NETUOWID": lambda link, region: net_name(region, link.uow),
        "PORT": lambda _link, _region: 0,
        "PROTOCOL": lambda link, _region: Cvda.IRC if link.name else Cvda.NOTAPPLIC,
        "RESYNCSTATUS": _resyncstatus,
        "RMIQFY": lambda _link, _region: "",
        "ROLE": lambda link, _region: link.role,
        "SYSID": _sysid,
        "TYPE": lambda link, _region: Cvda.CONNECTION if link.name else Cvda.NOTAPPLIC,
        "UOW": lambda link, _region: long_id(link.uow.id),
        "URID": lambda _link, _region: "",
        "XID": _xid,
    },
    keys=lambda region: links_of(indoubt.units_of_work(region)),
    find=_with_token,
    identity=token,
)


# -- the commands -----------------------------------------------------------------------------------------------------


@command("INQUIRE UOWLINK", "NOTAUTH UOWLNOTFOUND", receivers("UOWLINK"), otherwise=_NOTHING)
def inquire_uowlink(task: TaskBase, uowlink: LinkToken, *options: UowlinkOption, nohandle: bool = False) -> UowlinkInfo:
    """Retrieve information about a connection that a unit of work uses.

    Args:
        uowlink: its token, as a browse gave it: 4 bytes.
        options: the options to return; all when none is named.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: UOWLNOTFOUND 1; NOTAUTH 100.
    """
    return inquire_one(task, UOWLINK, bytes(uowlink), options)


@command("INQUIRE UOWLINK START", "ILLOGIC NOTAUTH UOWNOTFOUND")
def inquire_uowlink_start(task: TaskBase, uow: UowId = None, *, nohandle: Flag = False) -> None:
    """Start a browse of the connections that units of work use.

    Args:
        uow: show only the links of this unit of work.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: ILLOGIC 1; UOWNOTFOUND 1; NOTAUTH 100.
    """
    chosen = None
    if uow is not None:
        check_command(task, "UOWLINK", Access.READ)
        chosen = links_of([find_uow(task._region, "INQUIRE UOWLINK", uow, "uow not found")])
    browse_start(task, UOWLINK, chosen)


_BROWSE: Final = BrowseCommands[UowlinkOption, UowlinkInfo](
    UOWLINK, "links of units of work", __name__, receives=Opt("data", _TOKEN_LENGTH)
)
inquire_uowlink_next = browse_command(_BROWSE.next)
inquire_uowlink_end = browse_command(_BROWSE.end)


@command("SET UOWLINK", "INVREQ NOTAUTH UOWLNOTFOUND")
def set_uowlink(task: TaskBase, uowlink: LinkToken, *, action: Action = Cvda.DELETE, nohandle: Flag = False) -> None:
    """Delete a link whose connection is no longer defined, so that no outcome can be sent or received over it.

    This also deletes the record that this region has decided without its coordinator, or that a region has not
    acknowledged a decision.

    Args:
        uowlink: its token, as a browse gave it: 4 bytes.
        action: DELETE.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: UOWLNOTFOUND 1; NOTAUTH 100; INVREQ 3: the link leads to the coordinator of a unit of work that is
            indoubt; INVREQ 5: the unit of work is active; INVREQ 6: the CVDA is not allowed; INVREQ 7: the connection
            is defined.
    """
    region = task._region
    check_command(task, "UOWLINK", Access.UPDATE)
    link = _with_token(region, bytes(uowlink))
    if link is None:
        raise refusal("SET UOWLINK", "not found", f"no unit of work has a link X'{bytes(uowlink).hex().upper()}'")
    if to_cvda(action) is not Cvda.DELETE:
        raise refusal("SET UOWLINK", "bad cvda", f"ACTION must be DELETE, not {action!r}")
    _check_deletable(region, link)
    if link.role is Cvda.COORDINATOR:
        indoubt.Subordinate(link.uow, link.uow.coordinator, link.uow.link).forget()
    else:
        indoubt.acknowledged(region, link.uow.id, link.name)


def _check_deletable(region: RegionData, link: UowLink) -> None:
    """Check that a link can be deleted.

    Raises:
        Condition: INVREQ: the link cannot be deleted.
    """
    uow = link.uow
    if uow.state is Cvda.INDOUBT and link.role is Cvda.COORDINATOR:
        raise refusal("SET UOWLINK", "indoubt", f"{uow.title} is indoubt, and this is its coordinator: SET UOW first")
    if not uow.ended:
        raise refusal("SET UOWLINK", "active", f"{uow.title} is {uow.state.name}")
    if link.name in region.connections or link.name in region.links:
        raise refusal("SET UOWLINK", "connected", f"the connection {link.name} is there")
