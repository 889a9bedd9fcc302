"""The links of one process, to which it connects or which it accepts, and their connections."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from tdqsim.cics import Region
from tdqsim.errors import TdqError, UsageError
from tdqsim.hosting import Engine, FarLink, FrameDecoder, MessageFrame, Transport
from tdqsim.ibmi import DdmLink, DdmServer, System
from tdqsim.server.errors import LinkRefused
from tdqsim.server.links.opening import (
    DDM,
    ISC,
    Identity,
    acceptance,
    common_name,
    decoder,
    opening,
    refusal,
)
from tdqsim.server.links.wire import BOUNDS, LinkConnection, Watch

_LOG: Final = logging.getLogger(__name__)
_Attach = Callable[[Transport], object]


@dataclass(slots=True, eq=False)
class _Wanted:
    """A link to which this side connects."""

    kind: str
    here: str
    there: str
    address: tuple[str, int]
    attach: _Attach
    up: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    connection: LinkConnection | None = None


class Links:
    """The links of the regions and systems of one engine to those of other processes.

    One end of a link connects (``to``), the other waits for the connection. A lost link is connected again.

    Args:
        engine: the engine that owns the regions and systems.
        identity: the identity of this process: one region or system, because a certificate has one name.
        address: the address to listen on.
        port: the port; 0 for any free port, None not to listen.
        watch: called with each message that goes over the links; see :data:`~tdqsim.server.links.wire.Watch`.

    Attributes:
        port: the port in use, after the start.
    """

    def __init__(
        self, engine: Engine, identity: Identity, *, address: str = "127.0.0.1", port: int | None = None,
        watch: Watch | None = None,
    ) -> None:  # fmt: skip
        self.port = port
        self._engine = engine
        self._address = address
        self._watch = watch
        self._client, self._server = identity.context(server=False), identity.context(server=True)
        self._awaited: dict[tuple[str, str, str], _Attach] = {}
        self._wanted: list[_Wanted] = []
        self._dialling: set[asyncio.Task[None]] = set()
        self.connections: set[LinkConnection] = set()
        self._listener: asyncio.Server | None = None

    # -- defining links -------------------------------------------------------------------------------------------

    def join(self, region: Region, name: str, applid: str, to: tuple[str, int] | None = None) -> FarLink:
        """Link a region to one in another process, for function shipping.

        Args:
            region: the region here.
            name: the SYSID of the other region in this region: 1 to 4 characters, as in SYSID and REMOTESYSTEM.
            applid: the APPLID of the other region, the common name of its certificate.
            to: address and port on which it waits; None to wait for it here.

        Raises:
            TdqError: the region already has a link to that region.
        """
        link = self._engine.outside(lambda: FarLink(region, name, applid.upper())).result()
        self._add(ISC, region.applid.upper(), applid.upper(), to, link.attach)
        return link

    def reach(self, system: System, location: str, name: str, to: tuple[str, int]) -> None:
        """Link a system to another system, for the DDM queues of the former.

        Args:
            system: the system here.
            location: RMTLOCNAME or RDB name of its DDM queues.
            name: the name of the other system, the common name of its certificate.
            to: address and port on which that one waits.
        """

        def attach(transport: Transport) -> None:
            system.connect(location, DdmLink(system.dispatcher, transport))

        self._add(DDM, system.name.upper(), name.upper(), to, attach)

    def admit(self, system: System, name: str) -> None:
        """Accept connections for DDM queues of another system. Its user ids are trusted.

        Args:
            system: the system here.
            name: the other system's name, the common name of its certificate.
        """

        def attach(transport: Transport) -> None:
            DdmServer(system, transport, at_once=False)

        self._add(DDM, system.name.upper(), name.upper(), None, attach)

    def _add(self, kind: str, here: str, there: str, to: tuple[str, int] | None, attach: _Attach) -> None:
        if to is not None:
            self._wanted.append(_Wanted(kind, here, there, to, attach))
            return
        if (kind, there, here) in self._awaited:
            raise UsageError(f"{here} already waits for {there}")
        self._awaited[kind, there, here] = attach

    # -- start and stop -------------------------------------------------------------------------------------------

    def watch(self, watch: Watch | None) -> None:
        """Call ``watch`` with each message that goes over the links from now on; None to stop."""
        self._watch = watch

    def cut(self) -> None:
        """Close all connections; this side reconnects those that it opened. Call this in the engine's thread."""
        for connection in tuple(self.connections):
            connection.close()

    async def start(self) -> None:
        """Listen and connect.

        Raises:
            OSError: the port cannot be used.
        """
        loop = asyncio.get_running_loop()
        if self.port is not None:
            self._listener = await loop.create_server(self._caller, self._address, self.port, ssl=self._server)
            self.port = self._listener.sockets[0].getsockname()[1]
        for one in self._wanted:
            self._dialling.add(asyncio.create_task(self._keep_dialled(one)))

    async def stop(self) -> None:
        """Close all links and stop listening."""
        if self._listener is not None:
            self._listener.close()
        for task in self._dialling:
            task.cancel()
        await asyncio.gather(*self._dialling, return_exceptions=True)
        self._dialling.clear()
        for connection in tuple(self.connections):
            connection.drop()

    async def up(self) -> None:
        """Wait until all links to which this side connects are open."""
        for one in self._wanted:
            await one.up.wait()

    # -- this side connects ------------------------------------------------------------------------------------------

    async def _keep_dialled(self, wanted: _Wanted) -> None:
        pause = BOUNDS["redial_first_ms"]
        while True:
            if await self._dial(wanted):
                pause = BOUNDS["redial_first_ms"]
                await wanted.gone.wait()
            await asyncio.sleep(pause / 1000)
            pause = min(2 * pause, BOUNDS["redial_most_ms"])

    async def _dial(self, wanted: _Wanted) -> bool:
        """Try to connect once; return whether the link is open."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Future[object]] = loop.create_future()
        wanted.gone.clear()
        answers = decoder("OPENED", "REFUSED")

        def on_data(connection: LinkConnection, data: bytes) -> None:
            if answered.done():
                return
            try:
                opened = answers.first(data)
            except TdqError as error:
                answered.set_exception(error)
                return
            if opened is not None and opened[0].kind == "REFUSED":
                answered.set_exception(LinkRefused(f"it refuses: {opened[0].fields['reason']}"))
            elif opened is not None:
                answered.set_result(connection.begin(lambda: wanted.attach(connection), opened[1]))

        def ended(connection: LinkConnection) -> None:
            self.connections.discard(connection)
            wanted.gone.set()
            wanted.up.clear()
            if not answered.done():
                answered.set_exception(ConnectionError("closed"))

        connection: LinkConnection | None = None
        try:
            async with asyncio.timeout(BOUNDS["opening_seconds"]):
                _, connection = await loop.create_connection(
                    lambda: LinkConnection(self._engine, on_data, ended, self._watch),
                    *wanted.address,
                    ssl=self._client,
                )
                self.connections.add(connection)
                self._check_name(connection, wanted.there)
                connection.write(opening(wanted.kind, wanted.here, wanted.there))
                await asyncio.wrap_future(await answered)
        except (OSError, TdqError, TimeoutError) as error:
            _LOG.info("%s: %s cannot be reached at %s: %s", wanted.here, wanted.there, wanted.address, error)
            if connection is not None:
                connection.drop()
            if answered.done() and not answered.cancelled():
                answered.exception()
            return False
        wanted.up.set()
        return True

    @staticmethod
    def _check_name(connection: LinkConnection, expected: str) -> None:
        name = common_name(connection.peer)
        if name != expected:
            raise LinkRefused(f"the certificate there is of {name or 'an unknown name'}, not of {expected}")

    # -- the other side connects -------------------------------------------------------------------------------------

    def _caller(self) -> LinkConnection:
        messages = decoder("OPEN")
        connection = LinkConnection(
            self._engine, lambda one, data: self._opened(one, messages, data), self._gone, self._watch
        )
        self.connections.add(connection)
        asyncio.get_running_loop().call_later(BOUNDS["opening_seconds"], self._too_late, connection)
        return connection

    def _gone(self, connection: LinkConnection) -> None:
        self.connections.discard(connection)

    @staticmethod
    def _too_late(connection: LinkConnection) -> None:
        """Close a connection whose opening message has not arrived in time."""
        if connection.unopened:
            connection.drop()

    def _opened(self, connection: LinkConnection, messages: FrameDecoder, data: bytes) -> None:
        try:
            opened = messages.first(data)
            if opened is None:
                return
            attach = self._attach_for(connection, opened[0])
        except TdqError as error:
            _LOG.warning("a link was refused: %r", str(error))  # repr, because the other side chose the names in it
            connection.write(refusal(str(error)))
            connection.hang_up()
            return
        connection.write(acceptance())
        attached = connection.begin(lambda: attach(connection), opened[1])
        attached.add_done_callback(lambda done: connection.fail() if done.exception() is not None else None)

    def _attach_for(self, connection: LinkConnection, frame: MessageFrame) -> _Attach:
        """The callable that accepts a connection with these fields in its opening message."""
        kind, caller, called = (frame.fields[name] for name in ("kind", "from", "to"))
        self._check_name(connection, caller)
        attach = self._awaited.get((kind, caller, called))
        if attach is None:
            raise LinkRefused(f"no {kind} link of {caller} to {called} is known here")
        return attach
