"""Several regions in one process, on one dispatcher and one clock, and the links between them.

Regions find each other through CONNECTION definitions: a connection whose NETNAME (or name) is the APPLID of another
region of the sysplex is linked to it as soon as both regions are there, whichever comes first. :meth:`Sysplex.connect`
links regions without definitions, under their SYSIDs. A region that has failed or was shut down may be started again
from its store and added again: its links are restored and units of work in doubt are resynchronised.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, Self

from tdqsim.cics.region import Region
from tdqsim.cics.ship.link import Link
from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.core.clock import Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.definitions import Connection
from tdqsim.errors import UsageError


class Sysplex:
    """Regions that communicate over links.

    Args:
        dispatcher: the dispatcher that the regions share; a new one by default.
        clock: the clock of a new dispatcher.
        seed: the seed of a new dispatcher.
        at_once: whether a message is carried out inside the ``send`` of its sender; see
            :class:`~tdqsim.cics.ship.link.Link`. False simulates a network: the requester waits, and other tasks run
            meanwhile.
    """

    __slots__ = ("_links", "_regions", "at_once", "dispatcher")

    @explains_wrong_types
    def __init__(
        self,
        *,
        dispatcher: Dispatcher | None = None,
        clock: Clock | None = None,
        seed: int = 0,
        at_once: bool = True,
    ) -> None:
        self.at_once = at_once
        self.dispatcher = dispatcher if dispatcher is not None else Dispatcher(clock, seed)
        self._regions: dict[str, Region] = {}
        self._links: dict[frozenset[str], Link] = {}

    @property
    def clock(self) -> Clock:
        """The clock of all regions."""
        return self.dispatcher.clock

    @property
    def regions(self) -> dict[str, Region]:
        """The open regions by APPLID."""
        return {applid: region for applid, region in self._regions.items() if not region.closed}

    def region(self, *args: Any, **options: Any) -> Region:
        """Start a region in the sysplex; arguments as :class:`~tdqsim.cics.region.Region`'s, without dispatcher."""
        return self.add(Region(*args, dispatcher=self.dispatcher, **options))

    def add(self, region: Region) -> Region:
        """Add a region and link it by its connections.

        Raises:
            UsageError: it has its own dispatcher, or an open region has its APPLID or SYSID.
        """
        if region.dispatcher is not self.dispatcher:
            raise UsageError(
                f"region {region.applid} has its own dispatcher; make it with dispatcher=sysplex.dispatcher"
            )
        for other in self.regions.values():
            if other.applid == region.applid or other.options.sysid == region.options.sysid:
                raise UsageError(
                    f"region {other.applid} with SYSID {other.options.sysid} is in the sysplex already; "
                    f"{region.applid} with SYSID {region.options.sysid} needs other names"
                )
        self._regions[region.applid] = region
        for other in tuple(self.regions.values()):
            if other is not region:
                self._find(region, other)
        core = region._core
        core.connections = _Connections(core.connections, partial(self._installed, region))
        return region

    def _installed(self, region: Region) -> None:
        """A connection was installed in a region of the sysplex: it may lead to one that is not linked yet."""
        for other in tuple(self.regions.values()):
            if other is not region and frozenset((region.applid, other.applid)) not in self._links:
                self._find(region, other)

    def _find(self, one: Region, other: Region) -> None:
        """Link two regions when one of them has a connection to the other, or when they were linked before."""
        here, there = _connection(one, other), _connection(other, one)
        before = self._links.get(frozenset((one.applid, other.applid)))
        if here or there:
            self.connect(one, other, name=here, name_there=there)
        elif before is not None:
            names = {end.region.applid: end.name for end in before.ends}
            self.connect(one, other, name=names[one.applid], name_there=names[other.applid])

    def connect(self, one: Region, other: Region, *, name: str = "", name_there: str = "") -> Link:
        """Link two regions and resynchronise their units of work in doubt. An earlier link between them is dropped.

        Args:
            one: a region of the sysplex.
            other: another one.
            name: the name of the connection in ``one``: 1 to 4 characters; the SYSID of ``other`` when not given.
            name_there: the name of the connection in ``other``.

        Raises:
            UsageError: one of them is not in the sysplex, or both are the same.
        """
        for region in (one, other):
            if self._regions.get(region.applid) is not region or region.closed:
                raise UsageError(f"region {region.applid} is not in this sysplex, or is closed")
        if one is other:
            raise UsageError(f"region {one.applid} cannot be linked to itself")
        before = self._links.get(frozenset((one.applid, other.applid)))
        if before is not None:
            before.cut()
        link = Link(one, name or other.options.sysid, other, name_there or one.options.sysid, at_once=self.at_once)
        for end in link.ends:
            for old in () if before is None else before.ends:
                if old.region is end.region:
                    end.succeed(old)
            end.region.links[end.name] = end
        self._links[frozenset((one.applid, other.applid))] = link
        link.restore()
        return link

    def link(self, one: Region | str, other: Region | str) -> Link:
        """The link between two regions, given as regions or by APPLID.

        Raises:
            UsageError: there is none.
        """
        applids = [region if isinstance(region, str) else region.applid for region in (one, other)]
        link = self._links.get(frozenset(applids))
        if link is None:
            raise UsageError(f"there is no link between {applids[0]} and {applids[1]}")
        return link

    def run(self) -> None:
        """Let the tasks of all regions run until none can continue."""
        self.dispatcher.run()

    def close(self) -> None:
        """Close all regions, also when the close of one fails."""
        with ExitStack() as closing:
            for region in reversed(tuple(self.regions.values())):
                closing.callback(region.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Connections(dict[str, Connection]):
    """The connections of a region of a sysplex; reports each one that is installed."""

    def __init__(self, given: dict[str, Connection], installed: Callable[[], None]) -> None:
        super().__init__(given)
        self._installed = installed

    def __setitem__(self, name: str, connection: Connection) -> None:
        super().__setitem__(name, connection)
        self._installed()


def _connection(one: Region, other: Region) -> str:
    """The name of the connection that ``one`` has to ``other``; empty for none."""
    for connection in one.resources.connections.values():
        if connection.applid == other.applid or (not connection.netname and connection.name == other.options.sysid):
            return connection.name
    return ""
