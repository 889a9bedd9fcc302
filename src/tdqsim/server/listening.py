"""HTTP connections: limited in number, and closed if a client sends its request or reads the answer too slowly."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from socket import AF_INET, AF_INET6, IPPROTO_TCP, TCP_NODELAY, socket
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tdqsim.server.bounds import BOUNDS
from tdqsim.server.connections import Connections


class _Punctual(H11Protocol):
    """Closes a connection if no complete request head arrives in time, or if the client does not read."""

    seconds = float(BOUNDS["request_seconds"])
    answer_seconds = float(BOUNDS["answer_seconds"])
    open_connections = Connections()
    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        _at_once(transport)
        self.open_connections.register(self.connections)
        if self.open_connections.exceeded:
            transport.abort()
            return
        self._arm()

    def data_received(self, data: bytes) -> None:
        """Data has arrived: all or a part of a request head."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._disarm()
        elif self._late is None:
            self._arm()

    def pause_writing(self) -> None:
        """The client does not read the data that was sent to it."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read the data."""
        super().resume_writing()
        self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._disarm()
        self._forget()
        super().connection_lost(exc)

    def _arm(self) -> None:
        self._late = self.loop.call_later(self.seconds, self.transport.close)

    def _disarm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _forget(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def _at_once(transport: asyncio.Transport) -> None:
    """Set TCP_NODELAY.

    The head and the body of an answer are two writes, and the second would wait 40 ms for the client's acknowledgement
    of the first. asyncio sets the option only for sockets that are marked as TCP, which accepted sockets are not.
    """
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.family in (AF_INET, AF_INET6):
        sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)


class HttpServer(uvicorn.Server):
    """Reports when it listens, and does not handle signals: uvicorn would raise them again after its orderly end."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: the process handles signals itself."""
        yield

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to listen, and report it."""
        await super().startup(sockets)
        self._ready()


def http_config(
    app: Any,
    *,
    request_seconds: float = BOUNDS["request_seconds"],
    answer_seconds: float = BOUNDS["answer_seconds"],
    connections: Connections | None = None,
    **options: Any,
) -> uvicorn.Config:
    """The uvicorn configuration of an application.

    Args:
        app: the application.
        request_seconds: the time limit for the head of a request.
        answer_seconds: the time limit for a client to read the data sent to it.
        connections: the connections of all listeners; None if there is no other listener.
        options: further options of uvicorn.
    """
    bounds = {
        "seconds": request_seconds,
        "answer_seconds": answer_seconds,
        "open_connections": connections or Connections(),
    }
    return uvicorn.Config(
        app,
        http=type("_PunctualWithin", (_Punctual,), bounds),
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=BOUNDS["head_bytes"],
        ws_max_size=BOUNDS["message_bytes"],
        **options,
    )
