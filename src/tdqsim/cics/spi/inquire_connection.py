"""INQUIRE CONNECTION: the connections to other systems, and whether they can be used now.

A connection is ACQUIRED while its link is up and it is in service, and RELEASED otherwise. All connections are shown as
multiregion operation (IRC). Source: INQUIRE CONNECTION, from memory.
"""

from __future__ import annotations

from typing import Final

from tdqsim.cics.kernel.command import Name4, Opt, command
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.spi.inquire_uowlink import netname
from tdqsim.cics.spi.inquiry import BrowseCommands, ResourceType, browse_command, inquire_one, receivers
from tdqsim.facts import Cvda
from tdqsim.facts.inquiries import ConnectionInfo, ConnectionOption

_NAME_LENGTH: Final = 4
_NOTHING: Final = ConnectionInfo()


def _names(region: RegionData) -> list[str]:
    """The names of the defined connections, then of links that were made without a definition."""
    return list(dict.fromkeys((*region.connections, *region.links)))


def _find(region: RegionData, name: str) -> str | None:
    return name if name in region.connections or name in region.links else None


def _is_in_service(name: str, region: RegionData) -> bool:
    definition = region.connections.get(name)
    return definition is None or definition.inservice == "YES"


def _connstatus(name: str, region: RegionData) -> Cvda:
    link = region.links.get(name)
    there = link is not None and _is_in_service(name, region) and link.acquired
    return Cvda.ACQUIRED if there else Cvda.RELEASED


CONNECTION: Final = ResourceType[str, str, ConnectionInfo](
    "CONNECTION",
    ConnectionInfo,
    {
        "ACCESSMETHOD": lambda _name, _region: Cvda.IRC,
        "CONNSTATUS": _connstatus,
        "NETNAME": lambda name, region: netname(region, name),
        "SERVSTATUS": lambda name, region: Cvda.INSERVICE if _is_in_service(name, region) else Cvda.OUTSERVICE,
    },
    keys=_names,
    find=_find,
    identity=lambda name: name.ljust(_NAME_LENGTH),
)


@command("INQUIRE CONNECTION", "NOTAUTH SYSIDERR", receivers("CONNECTION"), otherwise=_NOTHING)
def inquire_connection(
    task: TaskBase, connection: Name4, *options: ConnectionOption, nohandle: bool = False
) -> ConnectionInfo:
    """Retrieve information about a connection.

    Args:
        connection: its name.
        options: the options to return; all when none is named.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: SYSIDERR 9; NOTAUTH 100.
    """
    return inquire_one(task, CONNECTION, connection.rstrip(" "), options)


_BROWSE: Final = BrowseCommands[ConnectionOption, ConnectionInfo](
    CONNECTION, "connections", __name__, receives=Opt("name", _NAME_LENGTH, required=True)
)
inquire_connection_start = browse_command(_BROWSE.start)
inquire_connection_next = browse_command(_BROWSE.next)
inquire_connection_end = browse_command(_BROWSE.end)
