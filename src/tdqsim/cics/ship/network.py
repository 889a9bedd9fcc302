"""One region's end of a link to a region in another process.

It is the counterpart of :class:`~tdqsim.cics.ship.link.Link`, which joins two regions of one process. The link is
acquired while there is a transport to the other region, and released while there is none. Each new transport starts
resynchronisation of the units of work in doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NoReturn

from tdqsim.cics.ship.remote import LinkEnd
from tdqsim.core.transport import Transport
from tdqsim.errors import UsageError

if TYPE_CHECKING:
    from tdqsim.cics.region import Region


class FarLink:
    """A link to a region in another process; create it and call its methods only in the thread of the local region.

    Args:
        region: the region here.
        name: its connection to the other one, 1 to 4 characters.
        applid: the other one's APPLID.

    Attributes:
        applid: the other region's APPLID.
        end: the region's view of the other one.
        acquired: whether messages get through.
    """

    is_near: ClassVar[bool] = False

    def __init__(self, region: Region, name: str, applid: str) -> None:
        self.applid = applid
        self.acquired = False
        self.end = LinkEnd(self, region._core, name, at_once=False)
        self.end.netname = applid  # released is also the state before the first transport
        self._transport: Transport | None = None
        self.end.region.links[name] = self.end

    def __repr__(self) -> str:
        here = self.end.region.applid
        return f"<FarLink {here} {self.applid} {'acquired' if self.acquired else 'released'}>"

    def attach(self, transport: Transport) -> None:
        """Use a new transport to the other region, which has identified itself; an earlier transport is dropped.

        Raises:
            UsageError: the region is closed.
        """
        if self.end.region.closed:
            raise UsageError(f"region {self.end.region.applid} is closed")
        self.cut()
        self._transport, self.acquired = transport, True
        self.end.acquire([(self.end, transport)])

    def cut(self) -> None:
        """Drop the transport to the other region; does nothing if there is none."""
        transport, self._transport = self._transport, None
        self.acquired = False
        if transport is not None:
            transport.close()

    def other(self, _end: LinkEnd) -> NoReturn:
        """The other end is in another process.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"region {self.applid} is in another process and cannot be inspected from here")

    def foreseen(self, _end: LinkEnd, _key: str, _userid: str, _hops: int) -> NoReturn:
        """Not available: a mirror in another process cannot be examined from here.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"the answer of region {self.applid} cannot be predicted: it is in another process")
