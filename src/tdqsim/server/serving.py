"""The process: uvicorn on loopback beside the engine, a ready file, and an orderly end.

SIGTERM and SIGINT end it in order: no new requests, open units of work are backed out, tasks end or are reported,
stores are closed clean. Without configured users it listens on loopback alone, with a token made for this run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import h11
import structlog
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tdqsim.errors import TdqError
from tdqsim.facts import table
from tdqsim.server.console import mount as mount_console
from tdqsim.server.host import Host
from tdqsim.server.http.access import Gate
from tdqsim.server.http.api import application

__all__ = ["Served", "serve"]

_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("server")}
_log = structlog.get_logger("tdqsim.server")


@dataclass(frozen=True, slots=True)
class Served:
    """Where a server listens.

    Attributes:
        url: such as ``http://127.0.0.1:8470``.
        token: the bearer token of this run.
        pid: its process.
        regions: the APPLIDs that it serves.
    """

    url: str
    token: str
    pid: int
    regions: tuple[str, ...]


def serve(
    directories: Sequence[Path],
    *,
    address: str = "127.0.0.1",
    port: int = 0,
    ready_file: Path | None = None,
    frozen: bool = False,
    store: Path | None = None,
    timeout: float = 10.0,
    request_seconds: float = _BOUNDS["request_seconds"],
    told: Callable[[Served], Any] | None = None,
) -> int:
    """Serve regions until the process is told to end.

    Args:
        directories: each with a ``region.yaml``.
        address: a loopback address.
        port: 0 for any that is free.
        ready_file: written, as JSON, when everything listens; only this user can read it.
        frozen: stand still from the start.
        store: the directory of the store, where there is one region.
        timeout: seconds in which tasks may end.
        request_seconds: in which the head of a request, and its body, must arrive.
        told: called when everything listens.

    Returns:
        0; 1 when tasks had to be ended.

    Raises:
        TdqError: the address is none of loopback, a region cannot be made, or the port is taken.
    """
    if not ip_address(address).is_loopback:
        raise TdqError(f"address {address}: without users and TLS only loopback is served, such as 127.0.0.1")
    listener = _listen(address, port)
    host = Host(frozen=frozen)
    try:
        for directory in directories:
            host.add_directory(directory, **({"store": store} if store is not None else {}))
        token = secrets.token_urlsafe(24)
        served = Served(f"http://{address}:{listener.getsockname()[1]}", token, os.getpid(), tuple(host.regions))
        access = Gate(token=token)
        asyncio.run(_run(host, access, listener, lambda: _ready(served, ready_file, told), request_seconds))
    finally:
        listener.close()
        ended = host.stop(timeout)
        if ready_file is not None:
            ready_file.unlink(missing_ok=True)
    _log.info("server_stopped", in_time=ended.in_time, unfinished=ended.unfinished)
    return 0 if ended.in_time and not ended.errors else 1


def _listen(address: str, port: int) -> socket.socket:
    try:
        return socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    except OSError as error:
        raise TdqError(f"{address} port {port} cannot be listened to: {error.strerror}") from error


def _ready(served: Served, ready_file: Path | None, told: Callable[[Served], Any] | None) -> None:
    _log.info("server_ready", url=served.url, regions=served.regions)
    if ready_file is not None:
        part = ready_file.with_name(f"{ready_file.name}.part")
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump({"url": served.url, "token": served.token, "pid": served.pid, "regions": served.regions}, file)
        part.replace(ready_file)
    if told is not None:
        told(served)


class _Punctual(H11Protocol):
    """Closes a connection on which no whole head of a request arrives in time."""

    seconds = float(_BOUNDS["request_seconds"])
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self._arm()

    def data_received(self, data: bytes) -> None:
        """Something has come: the end of a head, or a part of one."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._disarm()
        elif self._late is None:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._disarm()
        super().connection_lost(exc)

    def _arm(self) -> None:
        self._late = self.loop.call_later(self.seconds, self.transport.close)

    def _disarm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Server(uvicorn.Server):
    """Says when it listens, and leaves signals alone: uvicorn would raise them again when it has ended in order."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing: see :func:`_run`."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self._ready()


async def _run(
    host: Host, access: Gate, listener: socket.socket, ready: Callable[[], None], request_seconds: float
) -> None:
    app = application(host, access, request_seconds=request_seconds)
    mount_console(app, host, access)
    protocol = type("_PunctualWithin", (_Punctual,), {"seconds": request_seconds})
    config = uvicorn.Config(
        app, http=protocol, log_config=None, access_log=False, timeout_keep_alive=30, timeout_graceful_shutdown=5
    )
    server = _Server(config, ready)

    def end() -> None:
        server.should_exit = True
        app.state.streams.end()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    await server.serve(sockets=[listener])
