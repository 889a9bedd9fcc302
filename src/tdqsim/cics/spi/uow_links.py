"""The links of units of work, as INQUIRE UOWLINK shows them: which connection leads to whom, and in which role.

A unit of work has a link to its coordinator (ROLE COORDINATOR) when another region or a program outside CICS decides
about it, and one to each region that must hear its own decision (ROLE SUBORDINATE): those that take part in it, and
after its commit those that have not heard of it yet. The token that names a link is made from the unit of work, the
connection and the role, so it is the same after a restart.

RESYNCSTATUS is OK while the connection is there, UNAVAILABLE while it is down, COLD when the coordinator can decide no
more because it was started INITIAL, and UNCONNECTED where there is no connection: the coordinator is no CICS region, or
the connection is no longer defined. Sources: INQUIRE UOWLINK (IBM Docs), CEMT INQUIRE
UOWLINK (SC33-1686); what is shown of a coordinator outside CICS is a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

from tdqsim.cics.spi.unit_inquiries import net_name
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.region import Region
    from tdqsim.cics.uow.unit import UnitOfWork

__all__ = ["LINK_READERS", "UowLink", "links_of", "netname", "token"]

_XID_LENGTH: Final = 64
_NETNAME_LENGTH: Final = 8


class UowLink(NamedTuple):
    """One link of one unit of work.

    Attributes:
        uow: the unit of work here.
        name: the connection; empty when there is none.
        role: what the other end is to the unit of work: COORDINATOR or SUBORDINATE.
    """

    uow: UnitOfWork
    name: str
    role: Cvda


def links_of(units: Iterable[UnitOfWork]) -> Iterator[UowLink]:
    """The links of units of work: to the coordinator first, then to those that hear the decision."""
    for uow in units:
        if uow.coordinator:
            yield UowLink(uow, uow.link, Cvda.COORDINATOR)
        names = (*uow.decision, *(participant.name for participant in uow.participants))
        for name in dict.fromkeys(names):
            yield UowLink(uow, name, Cvda.SUBORDINATE)


def token(link: UowLink) -> bytes:
    """The four bytes by which INQUIRE UOWLINK names a link."""
    return crc32(link.uow.id + link.role.name.encode() + link.name.encode()).to_bytes(4, "big")


def netname(region: Region, name: str) -> str:
    """The network name (APPLID) of the system that a connection leads to; its own name when that is not known."""
    connection = region.connections.get(name)
    if connection is not None:
        return connection.applid
    system = region.links.get(name)
    return name if system is None else system.netname


def _link(link: UowLink, region: Region) -> str:
    return netname(region, link.name) if link.name else link.uow.coordinator[:_NETNAME_LENGTH]


def _resyncstatus(link: UowLink, region: Region) -> Cvda:
    system = region.links.get(link.name)
    if system is not None:
        return system.resyncstatus(link.uow)
    return Cvda.UNAVAILABLE if link.name in region.connections else Cvda.UNCONNECTED


def _sysid(link: UowLink, region: Region) -> str:
    return link.name if link.name in region.connections or link.name in region.links else ""


def _xid(link: UowLink, _region: Region) -> bytes:
    """A coordinator outside CICS is known by its own name for the unit of work."""
    name = "" if link.name else link.uow.coordinator
    return name.encode()[:_XID_LENGTH].ljust(_XID_LENGTH, b"\0")


LINK_READERS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
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
    "URID": lambda _link, _region: "",
    "XID": _xid,
}
"""Where the value of each option comes from, but for UOW."""
