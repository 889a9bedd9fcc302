"""The connection of a client: HTTP over TCP, TLS or a Unix socket, by the standard library."""

from __future__ import annotations

import socket
import ssl
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from tdqsim.errors import TdqError

__all__ = ["connection"]


class _UnixConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Reach the server."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def connection(url: str, timeout: float, certificate: Path | str | None) -> HTTPConnection:
    """A connection to an address; it is made with the first request.

    Raises:
        TdqError: it is no address, or the certificate cannot be read.
    """
    if url.startswith("unix:"):
        return _UnixConnection(url.removeprefix("unix:"), timeout)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TdqError(f"url {url!r}: {error}") from error
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise TdqError(f"url {url!r}: it must be http://HOST:PORT, https://HOST:PORT or unix:PATH")
    if parts.scheme == "http":
        return HTTPConnection(parts.hostname, port or 80, timeout=timeout)
    try:
        context = ssl.create_default_context(cafile=None if certificate is None else str(certificate))
    except OSError as error:
        raise TdqError(f"certificate {certificate}: {error.strerror or error}") from error
    return HTTPSConnection(parts.hostname, port or 443, timeout=timeout, context=context)
