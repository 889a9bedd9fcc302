"""Mapepire on a port of an asyncio loop, for a system that is owned by an engine.

A connection is a secure websocket at ``/db/`` with HTTP Basic authentication; ``GET /version`` is answered too. Each
request is a task of the loop, whose work is submitted to the engine. If a client disconnects, the waits of its requests
are cancelled, and an entry that was just received for it is put back on the queue.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import select
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from tdqsim.hosting import Engine, EngineStopped, capitals
from tdqsim.ibmi import System
from tdqsim.server.audit import one_line
from tdqsim.server.connections import Connections
from tdqsim.server.engine_bridge import EngineBridge
from tdqsim.server.hostservers.accounts import BOUNDS, Accounts, CommandPasswords
from tdqsim.server.hostservers.conversation import HostSystem
from tdqsim.server.mapepire.requests import IN_ORDER, Requests, read_request

_LOG: Final = logging.getLogger(__name__)
_WEBSOCKETS: Final = logging.getLogger(f"{__name__}.websockets")
_WEBSOCKETS.setLevel(logging.WARNING)  # it logs the begin and the end of each connection


def _without_traces(record: logging.LogRecord) -> bool:
    """Name the cause where the package websockets asserts that frames or an upgrade are not damaged."""
    if record.exc_info and record.exc_info[0] is AssertionError:
        record.msg, record.args, record.exc_info = "a client broke the protocol of websockets", (), None
    return True


_WEBSOCKETS.addFilter(_without_traces)
_HANGUP: Final[int | None] = getattr(select, "POLLRDHUP", None)


class Mapepire:
    """The Mapepire server of one system.

    Args:
        engine: the engine that owns the system.
        system: the system.
        accounts: the accounts of users.
        address: the address to listen on.
        port: the port; 0 for any free one.
        tls: certificate and key; None for no TLS, which clients do not use.
        connections: the connections of all listeners, which share a limit; None if there is no other one.

    Attributes:
        port: the port in use, after the start.
        connections: the open connections.
    """

    def __init__(
        self, engine: Engine, system: System, accounts: Accounts, *, address: str = "127.0.0.1", port: int = 0,
        tls: ssl.SSLContext | None = None, connections: Connections | None = None,
    ) -> None:  # fmt: skip
        self.port = port
        self._engine = engine
        self._host = HostSystem(system, accounts)
        if system.passwords is None:
            system.passwords = CommandPasswords(system, accounts)
        self._address = address
        self._tls = tls
        self.connections: set[ServerConnection] = set()
        self._all = connections or Connections()
        self._all.register(self.connections)
        self._server: Server | None = None
        self._bridge: EngineBridge | None = None

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the port cannot be used.
        """
        self._bridge = EngineBridge(self._engine, asyncio.get_running_loop())
        self._server = await serve(
            self._connected, self._address, self.port, ssl=self._tls, process_request=self._admit,
            max_size=BOUNDS["frame"], open_timeout=BOUNDS["mapper_seconds"], compression=None, server_header=None,
            logger=_WEBSOCKETS, ping_interval=None,
        )  # fmt: skip
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and end all connections."""
        if self._server is not None:
            for connection in list(self.connections):
                connection.transport.abort()
            self._server.close(close_connections=False)
            await self._server.wait_closed()
            self._server = None

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse the upgrade of a request without a user and a password, or answer a question for the version."""
        path = request.path.partition("?")[0]
        if path == "/version":
            response = connection.respond(HTTPStatus.OK, json.dumps({"version": "2.3.3"}) + "\n")
            del response.headers["Content-Type"]
            response.headers["Content-Type"] = "application/json"
            return response
        if not path.startswith("/db"):
            return connection.respond(HTTPStatus.NOT_FOUND, "not found\n")
        if self._all.full:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, f"{self._all.most} connections are open\n")
        given = _credentials(request.headers.get("Authorization", ""))
        if given is None:
            return connection.respond(HTTPStatus.FORBIDDEN, "a user and a password without a colon are needed\n")
        connection.username = given[0]
        connection.credentials = given  # type: ignore[attr-defined]
        return None

    async def _connected(self, connection: ServerConnection) -> None:
        self.connections.add(connection)
        try:
            if not self._all.exceeded:  # others may have come since it was admitted
                await _Conversation(self, self._host, connection).run()
        finally:
            self.connections.discard(connection)

    def submit(self, call: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run a call in the engine's thread as a task; it may wait."""
        assert self._bridge is not None
        return self._bridge.submit(call, "a request of Mapepire")


class _Conversation:
    """One connection."""

    def __init__(self, server: Mapepire, host: HostSystem, connection: ServerConnection) -> None:
        user, password = connection.credentials  # type: ignore[attr-defined]
        self._server, self._connection = server, connection
        self._requests = Requests(host, capitals(user), password, str(connection.remote_address[0]))
        self._order = asyncio.Lock()
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Read requests until the client disconnects; then cancel those that wait, and end the server job."""
        late = asyncio.get_running_loop().call_later(BOUNDS["sign_on_seconds"], self._too_late)
        number = 0
        try:
            async for text in self._connection:
                number += 1
                request, valid = read_request(text, number)
                if not valid:
                    await self._connection.send(json.dumps(request) + "\n")
                    continue
                if len(self._running) >= BOUNDS["waiting_receives"]:
                    await self._room_for_one()
                task = asyncio.create_task(self._answer(request))
                self._running.add(task)
                task.add_done_callback(self._ended)
        except ConnectionClosed:
            pass
        finally:
            late.cancel()
            for task in tuple(self._running):
                task.cancel()
            if self._running:
                await asyncio.gather(*self._running, return_exceptions=True)
            with suppress(EngineStopped):
                await self._server.submit(self._requests.close)

    async def _room_for_one(self) -> None:
        """Wait until one of the requests has ended, or the client has disconnected."""
        gone = asyncio.create_task(self._connection.wait_closed())
        await asyncio.wait({gone, *self._running}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()

    def _too_late(self) -> None:
        if not self._requests.connected:
            self._connection.transport.abort()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ConnectionClosed | EngineStopped):
            _LOG.error("a request failed: %s", one_line(repr(error)), exc_info=error)
            self._connection.transport.abort()

    async def _answer(self, request: dict[str, Any]) -> None:
        if request["type"] in IN_ORDER:
            async with self._order:
                await self._carry_out(request)
        else:
            await self._carry_out(request)

    async def _carry_out(self, request: dict[str, Any]) -> None:
        began = time.perf_counter()
        taken: list[Callable[[], None]] = []
        gone = False

        def work() -> dict[str, Any]:
            answer = self._requests.carry_out(request, taken)
            if gone:
                _put_back(taken)
            return answer

        try:
            answer = await self._server.submit(work)
            answer["execution_time"] = round((time.perf_counter() - began) * 1000)
            self._check_open(taken)
            await self._connection.send(json.dumps(answer) + "\n")
        except (ConnectionClosed, asyncio.CancelledError):
            gone = True
            if taken:
                with suppress(EngineStopped):
                    await asyncio.shield(self._server.submit(lambda: _put_back(taken)))
            raise
        if request["type"] == "exit":
            with suppress(AssertionError):  # websockets raises it if damaged frames have ended the connection
                await self._connection.close()

    def _check_open(self, taken: list[Callable[[], None]]) -> None:
        """Before the answer of a receive, see whether somebody is there to read it."""
        if taken and self._hung_up():
            raise ConnectionClosed(None, None)

    def _hung_up(self) -> bool:
        """Whether the client has closed the connection; the loop may not have reported it yet."""
        transport = self._connection.transport
        if transport.is_closing():
            return True
        if _HANGUP is None:
            return False
        look = select.poll()
        look.register(transport.get_extra_info("socket").fileno(), _HANGUP)
        return bool(look.poll(0))


def _put_back(taken: list[Callable[[], None]]) -> None:
    while taken:
        taken.pop()()


def _credentials(header: str) -> tuple[str, str] | None:
    """User and password of HTTP Basic authentication; None if there are none that can be used."""
    kind, _, encoded = header.partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        parts = base64.b64decode(encoded, validate=True).decode().split(":")
    except ValueError:
        return None
    if len(parts) != 2 or not parts[0] or "*" in parts[0] or not parts[1] or len(parts[0]) > 10:
        return None
    return parts[0], parts[1]
