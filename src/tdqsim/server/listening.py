"""Connections of HTTP: bounded in number, cut off when they are too slow in asking or in taking the answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from socket import AF_INET, AF_INET6, IPPROTO_TCP, TCP_NODELAY, socket
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tdqsim.facts import table
from tdqsim.server.connections import Connections

__all__ = ["HttpServer", "http_config"]

_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("server")}


class _Punctual(H11Protocol):
    """Closes a connection on which no whole head of a request arrives in time, or whose client does not read."""

    seconds = float(_BOUNDS["request_seconds"])
    answer_seconds = float(_BOUNDS["answer_seconds"])
    open_connections = Connections()
    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        _at_once(transport)
        self.open_connections.register(self.connections)
        if self.open_connections.exceeded:
            transport.abort()
            return
        self._arm()

    def data_received(self, data: bytes) -> None:
        """Something has come: the end of a head, or a part of one."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._disarm()
        elif self._late is None:
            self._arm()

    def pause_writing(self) -> None:
        """The client has not taken what was sent to it."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """It has."""
        super().resume_writing()
        self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
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
    """Let an answer go out in its parts.

    Head and body are two writes, and the second would wait for the client's
    acknowledgement of the first, 40 ms. asyncio sees to it only where a socket says that it is TCP, which those that
    a listener accepts do not.
    """
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.family in (AF_INET, AF_INET6):
        sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)


class HttpServer(uvicorn.Server):
    """Says when it listens, and leaves signals alone: uvicorn would raise them again when it has ended in order."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing: the process has its own way to end."""
        yield

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self._ready()


def http_config(
    app: Any,
    *,
    request_seconds: float = _BOUNDS["request_seconds"],
    answer_seconds: float = _BOUNDS["answer_seconds"],
    connections: Connections | None = None,
    **options: Any,
) -> uvicorn.Config:
    """How an application is served.

    Args:
        app: the application.
        request_seconds: in which the head of a request must arrive.
        answer_seconds: in which a client must take what was sent to it.
        connections: those of all faces; None where there is no other face.
        options: further ones of uvicorn.
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
        h11_max_incomplete_event_size=_BOUNDS["head_bytes"],
        ws_max_size=_BOUNDS["message_bytes"],
        **options,
    )
