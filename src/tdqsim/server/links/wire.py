"""A transport over one TCP connection, between an asyncio loop and an engine's thread.

The loop reads and writes; the channel processes received data in the engine's thread, in order. If this side cannot
keep up, reading is paused. If the other side does not read, or no longer responds to the probes of the operating
system, the connection is closed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Final

from tdqsim.facts import table
from tdqsim.hosting import Engine, EngineStopped, LinkDown

BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("links")}
_PROBES: Final = (("TCP_KEEPIDLE", "probe_after"), ("TCP_KEEPINTVL", "probe_every"), ("TCP_KEEPCNT", "probes"))
Watch = Callable[[str, bytes], None]
"""Called in the engine's thread with each message that is about to be sent (``out``) or was received (``in``)."""


class LinkConnection(asyncio.Protocol):
    """One connection: used in the loop while it is opened, then a transport in the engine's thread.

    Args:
        engine: the engine in whose thread received data is processed.
        on_data: called in the loop with data that arrives before :meth:`begin`.
        ended: called in the loop when the connection has ended.
        watch: called with each message that goes over it; None for no call.
    """

    def __init__(
        self, engine: Engine, on_data: Callable[[LinkConnection, bytes], None], ended: Callable[[LinkConnection], None],
        watch: Watch | None = None,
    ) -> None:  # fmt: skip
        self._engine = engine
        self._on_data: Callable[[LinkConnection, bytes], None] | None = on_data
        self._ended = ended
        self._watch = watch
        self._loop = asyncio.get_running_loop()
        self._socket: asyncio.Transport | None = None
        self._receive: Callable[[bytes], None] | None = None
        self._lost: Callable[[str], None] | None = None
        self._waiting = 0
        self._closed = False

    # -- in the loop ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        assert isinstance(transport, asyncio.Transport)
        self._socket = transport
        transport.set_write_buffer_limits(high=BOUNDS["unsent_bytes"])
        raw: socket.socket | None = transport.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, bound in _PROBES:
                if hasattr(socket, option):
                    raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), BOUNDS[bound])

    @property
    def peer(self) -> dict[str, object]:
        """The certificate of the other side, in the form of :meth:`ssl.SSLSocket.getpeercert`."""
        assert self._socket is not None
        return self._socket.get_extra_info("peercert") or {}

    def write(self, data: bytes) -> None:
        """Send data; call in the loop."""
        if self._socket is not None:
            self._socket.write(data)

    @property
    def unopened(self) -> bool:
        """Whether the connection is not yet passed to its link."""
        return self._on_data is not None

    def fail(self) -> None:
        """Close the connection, from any thread."""
        self._in_loop(self.drop)

    def begin(self, attach: Callable[[], object], rest: bytes) -> Future[object]:
        """Pass the connection to its link: call ``attach``, then process ``rest``, which has already arrived."""
        self._on_data = None
        attached = self._engine.outside(attach)
        if rest:
            self.data_received(rest)
        return attached

    def drop(self) -> None:
        """Close the connection at once."""
        if self._socket is not None:
            self._socket.abort()

    def hang_up(self) -> None:
        """Close the connection when everything is sent."""
        if self._socket is not None:
            self._socket.close()

    def data_received(self, data: bytes) -> None:
        """Data has arrived."""
        if self._on_data is not None:
            self._on_data(self, data)
            return
        self._waiting += len(data)
        if self._waiting > BOUNDS["untaken_bytes"] and self._socket is not None:
            self._socket.pause_reading()
        try:
            self._engine.outside(partial(self._take, data))
        except EngineStopped:
            self.drop()

    def pause_writing(self) -> None:
        """The other side does not read: close the connection instead of buffering more."""
        self.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._ended(self)
        why = f"the connection was lost: {exc}" if exc is not None else "the other side closed the connection"
        with suppress(EngineStopped):
            self._engine.outside(partial(self._tell, why))

    def _taken(self, length: int) -> None:
        self._waiting -= length
        if self._waiting <= BOUNDS["untaken_bytes"] and self._socket is not None and not self._socket.is_closing():
            self._socket.resume_reading()

    # -- in the engine's thread -----------------------------------------------------------------------------------

    def open(self, receive: Callable[[bytes], None], lost: Callable[[str], None]) -> None:
        """See :class:`~tdqsim.core.transport.Transport`."""
        self._receive, self._lost = receive, lost

    def send(self, data: bytes) -> None:
        """See :class:`~tdqsim.core.transport.Transport`."""
        if self._watch is not None and not self._closed:
            self._watch("out", data)
        if self._closed:
            raise LinkDown("the link is closed")
        self._in_loop(self.write, data)

    def close(self) -> None:
        """See :class:`~tdqsim.core.transport.Transport`."""
        self._in_loop(self.drop)
        self._tell("the link was closed by this side")

    def _take(self, data: bytes) -> None:
        if self._watch is not None and not self._closed:
            self._watch("in", data)
        try:
            if self._receive is not None and not self._closed:
                self._receive(data)
        finally:
            self._in_loop(self._taken, len(data))

    def _tell(self, why: str) -> None:
        if not self._closed:
            self._closed = True
            if self._lost is not None:
                self._lost(why)

    def _in_loop(self, call: Callable[..., None], *args: object) -> None:
        with suppress(RuntimeError):  # the loop is closed, and so is the connection
            self._loop.call_soon_threadsafe(call, *args)
