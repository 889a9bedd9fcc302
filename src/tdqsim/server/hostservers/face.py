"""The host servers on ports of an asyncio loop, beside an engine that owns the system.

A connection has one step under way at a time. What its conversation wants done is submitted to the engine and parks
there when it waits; nothing blocks the loop. A client that goes away ends what it waits for, and what was received for
it in that moment is put back.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from tdqsim.core.engine import Engine
from tdqsim.ibmi import System
from tdqsim.server.hostservers.accounts import BOUNDS, Accounts
from tdqsim.server.hostservers.command import CommandServer
from tdqsim.server.hostservers.conversation import Conversation, End, HostSystem, Reply, Step, SystemWork
from tdqsim.server.hostservers.dataqueue import DataQueueServer
from tdqsim.server.hostservers.signon import SignOn

__all__ = ["HostServers"]

SERVICES: Mapping[str, type[Conversation]] = {
    "as-signon": SignOn, "as-dtaq": DataQueueServer, "as-rmtcmd": CommandServer,
}  # fmt: skip
_LOG = logging.getLogger(__name__)
_LONGEST_NAME = 32
NOT_AT_ONCE = object()
"""What a work comes to that would have waited."""


class HostServers:
    """The servers of one system.

    Args:
        engine: who owns the system.
        system: the system.
        accounts: who may sign on.
        address: where to listen.
        ports: port by service (``as-signon``, ``as-dtaq``, ``as-rmtcmd``); a service without one gets a free one.
        mapper: port of the port mapper, None for none (449 is the one that clients look for).
        level: QPWDLVL.
        tls: certificate and key for the same services over TLS (``as-dtaq-s`` and so on), None for none.

    Attributes:
        ports: the ports in use, by service, once started.
    """

    def __init__(
        self,
        engine: Engine,
        system: System,
        accounts: Accounts,
        *,
        address: str = "127.0.0.1",
        ports: Mapping[str, int] | None = None,
        mapper: int | None = None,
        level: int = 3,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._engine = engine
        self._host = HostSystem(system, accounts, level)
        self._address = address
        self._wanted = dict(ports or {})
        self._mapper = mapper
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self.connections: set[_Connection] = set()
        self.ports: dict[str, int] = {}

    async def start(self) -> None:
        """Listen on all ports.

        Raises:
            OSError: a port cannot be had; none is listened on then.
        """
        try:
            for service, kind in SERVICES.items():
                await self._listen(service, kind, None)
                if self._tls is not None:
                    await self._listen(f"{service}-s", kind, self._tls)
            if self._mapper is not None:
                await self._bind("mapper", self._mapper, lambda: _Mapper(self.ports), None)
        except OSError:
            await self.stop()
            raise

    async def _listen(self, service: str, kind: type[Conversation], tls: ssl.SSLContext | None) -> None:
        await self._bind(service, self._wanted.get(service, 0), lambda: _Connection(self, kind(self._host)), tls)

    async def _bind(
        self, service: str, port: int, make: Callable[[], asyncio.BaseProtocol], tls: ssl.SSLContext | None
    ) -> None:
        server = await asyncio.get_running_loop().create_server(make, self._address, port, ssl=tls)
        self._servers.append(server)
        self.ports[service] = server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listen no more and end all connections."""
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.drop()
        self._servers.clear()
        self.ports.clear()

    def carry_out(self, work: SystemWork, name: str, gone: Callable[[], bool]) -> Future[Any]:
        """Have a work done where the system lives: at once where it cannot wait, else as a strand.

        Args:
            work: the work.
            name: for people and traces.
            gone: whether nobody reads the reply any more; what was taken is put back then.
        """

        def done() -> bytes:
            answer = work.call()
            if work.undo is not None and gone():
                work.undo()
            return answer

        at_once = work.at_once
        if at_once is None:
            return self.submit(done, name)
        return self._engine.outside(lambda: done() if at_once() else NOT_AT_ONCE)

    def submit(self, call: Callable[[], Any], name: str) -> Future[Any]:
        """Have something done where the system lives."""
        return self._engine.submit(call, name=name)


class _Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, servers: HostServers, conversation: Conversation) -> None:
        self._servers = servers
        self._conversation = conversation
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._work: SystemWork | None = None
        self._future: Future[Any] | None = None
        self._gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._servers.connections.add(self)
        self._conversation.origin = str((transport.get_extra_info("peername") or ("",))[0])
        self._loop.call_later(BOUNDS["sign_on_seconds"], self._too_late)

    def _too_late(self) -> None:
        """Nobody has signed on: a connection that says nothing is not kept."""
        if not self._conversation.user and not self._gone:
            self.drop()

    def data_received(self, data: bytes) -> None:
        self._conversation.feed(data)
        self._go_on()
        if self._conversation.waiting > BOUNDS["waiting_bytes"] and self._transport is not None:
            self._transport.abort()  # it sends on and on while a request of it waits

    def _go_on(self) -> None:
        while self._work is None and not self._gone:
            step = self._conversation.next()
            if step is None:
                return
            self._take(step)

    def _take(self, step: Step) -> None:
        assert self._transport is not None
        if isinstance(step, Reply):
            self._transport.write(step.data)
        elif isinstance(step, End):
            if step.reason:
                _LOG.warning("%s: connection ended: %s", self._conversation.job_name, step.reason)
            self._transport.close()
            self._gone = True
        else:
            self._work = step
            self._future = self._servers.carry_out(step, self._conversation.job_name, lambda: self._gone)
            self._future.add_done_callback(self._done_there)

    def _done_there(self, future: Future[Any]) -> None:
        self._loop.call_soon_threadsafe(self._done, future)

    def _done(self, future: Future[Any]) -> None:
        work, self._work, self._future = self._work, None, None
        assert work is not None
        failed = future.cancelled() or future.exception() is not None
        if self._gone:
            if work.undo is not None:  # there is nothing to put back unless it was done just before
                self._servers.submit(work.undo, "putting back what nobody read")
            self._end_job()
        elif failed:
            error = None if future.cancelled() else future.exception()
            _LOG.error("%s: a request failed", self._conversation.job_name, exc_info=error)
            self.drop()
        elif future.result() is NOT_AT_ONCE:
            self._take(work._replace(at_once=None))
        else:
            assert self._transport is not None
            self._transport.write(future.result())
            self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  (asyncio's)
        self._gone = True
        self._servers.connections.discard(self)
        if self._future is not None:
            self._future.cancel()
        else:
            self._end_job()

    def _end_job(self) -> None:
        conversation = self._conversation
        if conversation.job is not None:
            self._servers.submit(conversation.close, "the end of a server job")

    def drop(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()


class _Mapper(asyncio.Protocol):
    """The port mapper: a service's name in, ``+`` and its port out."""

    def __init__(self, ports: Mapping[str, int]) -> None:
        self._ports = ports
        self._held = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._held += data
        name = self._held.decode("ascii", "replace")
        port = self._ports.get(name)
        if port is not None:
            self._transport.write(b"+" + port.to_bytes(4, "big"))
            self._transport.close()
        elif len(self._held) > _LONGEST_NAME or not any(known.startswith(name) for known in self._ports):
            self._transport.write(b"-\0\0\0\0")
            self._transport.close()
