"""The host servers on ports of an asyncio loop, for a system that is owned by an engine.

Each connection executes one step at a time, apart from the receives that are put aside because they wait for an entry.
The work of a step is submitted to the engine, where it is suspended while it waits; nothing blocks the loop. If a
client disconnects, its waits are cancelled, and an entry that was just received for it is put back on the queue.
"""

from __future__ import annotations

import asyncio
import logging
import select
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TypeVar, TypeVarTuple

from tdqsim.errors import TdqError
from tdqsim.hosting import Engine
from tdqsim.ibmi import System
from tdqsim.server.audit import one_line
from tdqsim.server.connections import Connections
from tdqsim.server.hostservers.accounts import BOUNDS, Accounts, CommandPasswords
from tdqsim.server.hostservers.command import CommandServer
from tdqsim.server.hostservers.conversation import Conversation, End, HostSystem, Reply, Step, SystemWork
from tdqsim.server.hostservers.database import DatabaseServer
from tdqsim.server.hostservers.dataqueue import DataQueueServer
from tdqsim.server.hostservers.log_limit import LogLimit
from tdqsim.server.hostservers.signon import SignOn

T = TypeVar("T")
Values = TypeVarTuple("Values")

SERVICES: Mapping[str, type[Conversation]] = {
    "as-signon": SignOn, "as-dtaq": DataQueueServer, "as-rmtcmd": CommandServer, "as-database": DatabaseServer,
}  # fmt: skip
_KNOWN = {*SERVICES, *(f"{service}-s" for service in SERVICES)}
"""The names that the port mapper knows, also of services without a port."""
_LOG = logging.getLogger(__name__)
_LONGEST_NAME = 32
_MOST_ASIDE = BOUNDS["waiting_receives"]
_MOST_IN_A_ROW = 64
"""The steps of one connection that are taken before those of others; a client may send thousands in one piece."""
_HANGUP: int | None = getattr(select, "POLLRDHUP", None)
"""The poll event of a closed peer; on systems without it (all but Linux) the loop reports the close."""


class HostServers:
    """The servers of one system; its system values (QPWDLVL and so on) set the rules for passwords.

    Args:
        engine: the engine that owns the system.
        system: the system.
        accounts: the accounts of users.
        address: the address to listen on.
        ports: the port of each service (``as-signon``, ``as-dtaq``, ``as-rmtcmd``, ``as-database``, and
            ``as-signon-s`` and so on over TLS); the default is any free port. With ``tls``, a service without TLS gets
            a port only if it is named here.
        mapper: the port of the port mapper, None for none (clients use 449).
        tls: certificate and key for the same services over TLS (``as-dtaq-s`` and so on), None for none.
        connections: the connections of all listeners, which share a limit; None if there is no other one.

    Attributes:
        ports: the ports in use, by service, after the start.
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
        tls: ssl.SSLContext | None = None,
        connections: Connections | None = None,
    ) -> None:
        self._engine = engine
        self._host = HostSystem(system, accounts)
        if system.passwords is None:
            system.passwords = CommandPasswords(system, accounts)
        self._address = address
        self._wanted = dict(ports or {})
        self._mapper = mapper
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self.connections: set[_Connection | _Mapper] = set()
        self._all = connections or Connections()
        self._all.register(self.connections)
        self._refusals = LogLimit(_LOG)
        self.ports: dict[str, int] = {}

    async def start(self) -> None:
        """Listen on all ports.

        Raises:
            OSError: a port cannot be used; then no port is open.
        """
        try:
            for service, kind in SERVICES.items():
                if self._tls is None or service in self._wanted:
                    await self._listen(service, kind, None)
                if self._tls is not None:
                    await self._listen(f"{service}-s", kind, self._tls)
            if self._mapper is not None:
                await self._bind("mapper", self._mapper, lambda: _Mapper(self), None)
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
        """Stop listening and end all connections."""
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.drop()
        await asyncio.sleep(
            0
        )  # while the loop still runs, so that connections get the exception and cancel their waits
        self._servers.clear()
        self.ports.clear()

    def admit(self, connection: _Connection | _Mapper) -> bool:
        """Count a connection; return whether it may stay open."""
        self.connections.add(connection)
        if self._all.exceeded:
            connection.drop()
            return False
        return True

    def refused(self, client: str, why: str) -> None:
        """Log why a connection was ended; only the first of many are logged."""
        self._refusals.warning("%s: connection ended: %s", client, why)

    def submit(self, call: Callable[[], T], name: str) -> Future[T]:
        """Run a call in the engine's thread as a task; it may wait."""
        return self._engine.submit(call, name=name)

    def while_resting(self, act: Callable[[], T | None]) -> T | None:
        """Make a call that does not wait here, if the engine rests; None if it is at work."""
        return self._engine.while_resting(act)


class _Connection(asyncio.Protocol):
    """The connection of a client.

    The loop's thread reads and writes, and the engine's thread does the work. Work that does not wait is done in the
    loop's thread if the engine rests, because waking the other thread and this one again would cost more than the work.
    """

    def __init__(self, servers: HostServers, conversation: Conversation) -> None:
        self._servers = servers
        self._conversation = conversation
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._choked = False
        self._work: SystemWork | None = None
        self._future: Future[bytes] | None = None
        self._aside: dict[Future[bytes], SystemWork] = {}
        self._gone = False
        self._late: asyncio.TimerHandle | None = None

    # -- in the loop's thread -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._servers.admit(self):
            return
        self._conversation.origin = str((transport.get_extra_info("peername") or ("",))[0])
        self._late = self._loop.call_later(BOUNDS["sign_on_seconds"], self._too_late)

    def _too_late(self) -> None:
        """Close a connection on which no user has signed on in time."""
        if not self._conversation.user and not self._gone:
            self.drop()

    def data_received(self, data: bytes) -> None:
        self._conversation.feed(data)
        self._go_on()
        if self._conversation.waiting > BOUNDS["waiting_bytes"] and self._transport is not None:
            self._transport.abort()  # the client keeps sending while one of its requests waits

    def _go_on(self) -> None:
        assert self._transport is not None
        for _ in range(_MOST_IN_A_ROW):
            if self._work is not None or self._gone or self._choked or len(self._aside) >= _MOST_ASIDE:
                return
            step = self._conversation.next()
            if step is None:
                return
            self._take(step)
        self._transport.pause_reading()  # the others have their turn before the rest
        self._loop.call_soon(self._take_more)

    def _take(self, step: Step) -> None:
        assert self._transport is not None
        if isinstance(step, Reply):
            self._transport.write(step.data)
        elif isinstance(step, End):
            if step.reason:
                self._servers.refused(self._conversation.job_name, step.reason)
            self._transport.close()
            self._gone = True
        elif step.aside:
            self._put_aside(step)
        else:
            self._work = step
            answer = self._at_once(step)
            if answer is None:
                self._begin(step)
            else:
                self._work = None
                hung_up = step.undo is not None and self._hung_up()
                if not hung_up:
                    self._transport.write(answer)
                if hung_up or self._transport.is_closing():  # the client has disconnected, or the work has failed
                    self._gone = True
                    if step.undo is not None:
                        self._put_back(step.undo)

    def pause_writing(self) -> None:
        """Stop writing answers and reading requests, because the client does not read its answers."""
        self._choked = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Continue, because the client reads again. May be called during a write, so the next step is scheduled."""
        self._choked = False
        self._loop.call_soon(self._take_more)

    def _take_more(self) -> None:
        if self._transport is not None and not self._transport.is_closing() and not self._choked:
            self._transport.resume_reading()
            self._go_on()

    def _at_once(self, work: SystemWork) -> bytes | None:
        """The answer of work that can be done here and now; None if it needs a task."""
        if work.at_once is None:
            return None
        try:
            return self._servers.while_resting(work.at_once)
        except Exception as error:  # noqa: BLE001  (the client must get an answer for any exception)
            self._failed(error)
            return b""

    def _begin(self, work: SystemWork) -> None:
        """Run work as a task, which may wait."""
        call = partial(self._carry_out, work)
        self._future = self._servers.submit(call, self._conversation.job_name)
        self._future.add_done_callback(lambda done: self._in_loop(self._done, done))

    def _put_aside(self, work: SystemWork) -> None:
        """Run work as a task beside the next steps."""
        future = self._servers.submit(partial(self._carry_out, work), self._conversation.job_name)
        self._aside[future] = work
        future.add_done_callback(lambda done: self._in_loop(self._done_aside, done))

    def _done_aside(self, future: Future[bytes]) -> None:
        work = self._aside.pop(future)
        error = None if future.cancelled() else future.exception()
        if not self._gone and (future.cancelled() or error is not None):
            self._failed(error)
        else:
            self._deliver(work, b"" if future.cancelled() or error is not None else future.result())

    def _done(self, future: Future[bytes]) -> None:
        work, self._future = self._work, None
        assert work is not None
        if not self._gone and (future.cancelled() or future.exception() is not None):
            self._work = None
            self._failed(None if future.cancelled() else future.exception())
        else:
            self._work = None
            self._deliver(work, b"" if self._gone else future.result())

    def _deliver(self, work: SystemWork, data: bytes) -> None:
        """Write a result and continue; put received entries back if the client has disconnected."""
        if work.undo is not None and self._hung_up():
            self._gone = True
        if not self._gone:
            assert self._transport is not None
            self._transport.write(data)
            self._go_on()
            return
        if work.undo is not None:  # nothing to put back, unless the work had just completed
            self._put_back(work.undo)
        self._over()

    def _put_back(self, undo: Callable[[], object]) -> None:
        self._servers.submit(undo, "putting back unread entries")

    def _hung_up(self) -> bool:
        """Whether the client has closed the connection; the loop may not have reported it yet."""
        assert self._transport is not None
        if self._transport.is_closing():
            return True
        if _HANGUP is None:
            return False
        look = select.poll()
        look.register(self._transport.get_extra_info("socket").fileno(), _HANGUP)
        return bool(look.poll(0))

    def _failed(self, error: BaseException | None) -> None:
        why, unexpected = one_line(repr(error)), None if isinstance(error, TdqError) else error
        _LOG.error("%s: a request failed: %s", self._conversation.job_name, why, exc_info=unexpected)
        self.drop()

    def connection_lost(self, _exc: Exception | None) -> None:
        self._gone = True
        self._servers.connections.discard(self)
        if self._late is not None:  # the timer would keep the connection and what it has received in memory
            self._late.cancel()
            self._late = None
        for future in (self._future, *self._aside):
            if future is not None:
                future.cancel()
        self._over()

    def _over(self) -> None:
        """End the server job when the last of its work is done."""
        conversation = self._conversation
        if self._work is None and not self._aside and conversation.job is not None:
            self._servers.submit(conversation.close, "the end of a server job")

    def drop(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    # -- in the engine's thread -----------------------------------------------------------------------------------

    def _carry_out(self, work: SystemWork) -> bytes:
        answer = work.call()
        if work.undo is not None and self._gone:
            work.undo()
        return answer

    def _in_loop(self, call: Callable[[*Values], None], *values: *Values) -> None:
        with suppress(RuntimeError):  # the loop is closed, and so is the connection
            self._loop.call_soon_threadsafe(call, *values)


class _Mapper(asyncio.Protocol):
    """The port mapper: a service's name in, ``+`` and its port out."""

    def __init__(self, servers: HostServers) -> None:
        self._servers = servers
        self._ports = servers.ports
        self._held = b""
        self._transport: asyncio.Transport | None = None
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._servers.admit(self):
            self._late = asyncio.get_running_loop().call_later(BOUNDS["mapper_seconds"], self.drop)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._servers.connections.discard(self)
        if self._late is not None:
            self._late.cancel()

    def drop(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._held += data
        name = self._held.decode("ascii", "replace")
        port = self._ports.get(name)
        if port is not None:
            self._transport.write(b"+" + port.to_bytes(4, "big"))
            self._transport.close()
        elif (
            name in _KNOWN
            or len(self._held) > _LONGEST_NAME
            or not any(known.startswith(name) for known in self._ports)
        ):
            self._transport.write(b"-\0\0\0\0")
            self._transport.close()
