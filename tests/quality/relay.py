"""A relay in front of a server that cuts connections at a chosen place of a request.

A client that connects to the relay uses the server behind it. :meth:`Relay.cut` arranges what happens to the next
request. The relay understands requests and answers of HTTP with a length, not streams, and no TLS.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from threading import Thread
from types import TracebackType
from typing import Final, Literal, Self
from urllib.parse import urlsplit

_AT_ONCE: Final = 65536
_NO_BODY: Final = (204, 304)


class Relay:
    """Listens on a free port of the loopback address, and forwards to a server.

    Args:
        url: the address of the server, such as ``http://127.0.0.1:8470``.

    Attributes:
        url: the address of the relay.
        server: host and port of the server; new connections use a new value.
    """

    def __init__(self, url: str) -> None:
        self.server: tuple[str, int] = ("", 0)
        self.behind(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._cut: tuple[str, Callable[[], object] | None] | None = None
        self._open: set[socket.socket] = set()
        self._thread = Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def behind(self, url: str) -> None:
        """Forward to another server from now on."""
        parts = urlsplit(url)
        self.server = parts.hostname or "127.0.0.1", parts.port or 80

    def cut(self, where: Literal["request", "execution", "answer"], then: Callable[[], object] | None = None) -> None:
        """Cut the connection of the next request.

        Args:
            where: ``request``: the server gets half of the request. ``execution``: it gets the request, and the
                connections end at once, so that the server may execute it before or after, or not. ``answer``: the
                answer does not reach the client.
            then: called before the client notices, in the thread of the relay, such as to restart the server.
        """
        self._cut = where, then

    def close(self) -> None:
        """Stop, and close all connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in tuple(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _accept(self) -> None:
        threads = []
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                break
            self._open.add(client)
            threads.append(Thread(target=self._serve, args=[client], daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join()

    def _serve(self, client: socket.socket) -> None:
        with ExitStack() as cleanup, suppress(OSError, EOFError):
            cleanup.callback(self._open.discard, client)
            cleanup.enter_context(client)
            server = cleanup.enter_context(socket.create_connection(self.server))
            self._open.add(server)
            cleanup.callback(self._open.discard, server)
            while True:
                request = _message(client)
                (where, then), self._cut = self._cut or ("", None), None
                server.sendall(request[: len(request) // 2] if where == "request" else request)
                if where == "execution":
                    server.close()
                elif where != "request":
                    answer = _message(server, answers=True)
                if then is not None:
                    then()
                if where:
                    break
                client.sendall(answer)


def _message(connection: socket.socket, *, answers: bool = False) -> bytes:
    """A whole request or answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, rest = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    if answers and int(lines[0].split()[1]) in _NO_BODY:
        return data
    lengths = [int(line.partition(b":")[2]) for line in lines[1:] if line.lower().startswith(b"content-length:")]
    missing = sum(lengths) - len(rest)
    while missing > 0:
        part = _some(connection)
        data += part
        missing -= len(part)
    return data


def _some(connection: socket.socket) -> bytes:
    part = connection.recv(_AT_ONCE)
    if not part:
        raise EOFError
    return part
