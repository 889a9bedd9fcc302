"""One connection to a server: requests, streamed answers, and the handling of lost connections.

A server closes idle connections, and may be restarted between two requests. Before a request is sent, a connection that
has ended meanwhile is opened again, which is safe because nothing was sent yet. If a connection is lost *after* that, a
request that only reads is repeated. A request that changes something is never repeated: the server may have executed
it, and only the caller can find out (:class:`LostConnection`).
"""

from __future__ import annotations

import json
import select
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from tdqsim.errors import TdqError, UsageError

T = TypeVar("T")

TIMEOUT: Final = 60.0
"""The default time limit of a request, in seconds."""
_SAFE: Final = frozenset({"GET", "HEAD"})
_AT_ONCE: Final = 65536
_NONE: Final[Mapping[str, object]] = {}


class RemoteError(TdqError):
    """The server refused, or ended a command with a condition or a message.

    Attributes:
        status: the HTTP status.
        condition: the name of the condition, such as ``QZERO``; empty for none.
        resp, resp2: its numbers; 0 for none.
        abcode: the abend code; empty for none.
        message_id: the id of an IBM i message, such as ``CPF9801``; empty for none.
        run: the present run of the server, if the request had a position of another run; otherwise empty.
        unconfirmed_rules: the confidence of the rules that the condition or message rests on, by id; empty if a page
            or program of the vendor shows one of them.
    """

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(str(body.get("detail") or body.get("title") or status))
        self.status = status
        self.condition = str(body.get("condition", ""))
        self.resp, self.resp2 = (value if isinstance(value := body.get(each), int) else 0 for each in ("resp", "resp2"))
        self.abcode = str(body.get("abcode", ""))
        self.message_id = str(body.get("message_id", ""))
        self.run = str(body.get("run", ""))
        rules = body.get("unconfirmed_rules")
        self.unconfirmed_rules: dict[str, str] = rules if isinstance(rules, dict) else {}


class LostConnection(TdqError):
    """The server cannot be reached, or the connection ended before the answer was complete.

    Attributes:
        sent: whether the request had been sent, so that the server may have executed it.
    """

    def __init__(self, text: str, *, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


class _UnixConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the server."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connection(url: str, timeout: float, certificate: Path | str | None) -> HTTPConnection:
    if url.startswith("unix:"):
        if not hasattr(socket, "AF_UNIX"):
            raise UsageError(f"url {url!r}: this system has no Unix sockets")
        return _UnixConnection(url.removeprefix("unix:"), timeout)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"url {url!r}: {error}") from error
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise UsageError(f"url {url!r}: it must be http://HOST:PORT, https://HOST:PORT or unix:PATH")
    if "@" in parts.netloc:  # without the text, which has a password
        raise UsageError(f"url of {parts.hostname}: a user in it would have no effect; sign on by Client.sign_on")
    if parts.path.rstrip("/") not in ("", "/api/v1") or parts.query:
        raise UsageError(f"url {url!r}: what follows the port would have no effect")
    if parts.scheme == "http":
        return HTTPConnection(parts.hostname, port or 80, timeout=timeout)
    try:
        context = ssl.create_default_context(cafile=None if certificate is None else str(certificate))
    except OSError as error:
        raise UsageError(f"certificate {certificate}: {error.strerror or error}") from error
    return HTTPSConnection(parts.hostname, port or 443, timeout=timeout, context=context)


class ServerConnection:
    """One connection to a server.

    Args:
        url: such as ``http://127.0.0.1:8470``, ``https://HOST:PORT`` or ``unix:PATH``.
        token: the bearer token.
        timeout: the time limit of a request, in seconds.
        certificate: a certificate file to trust, for ``https``; default: the certificates of the machine.

    Raises:
        UsageError: the address, the token or the time limit is invalid, or the certificate cannot be read.
    """

    __slots__ = ("_connection", "_headers", "_made")

    def __init__(
        self, url: str, token: str, *, timeout: float = TIMEOUT, certificate: Path | str | None = None
    ) -> None:
        if not timeout > 0:
            raise UsageError(f"timeout {timeout}: it must be more than 0 seconds")
        if not (token.isascii() and token.isprintable()):
            raise UsageError("token: it has a line end, or another character that no token has")
        self._made = (url, timeout, certificate)
        self._connection = _connection(*self._made)
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self._connection.close()

    def request(
        self, method: str, path: str, body: object = None, *, query: Mapping[str, object] = _NONE, patience: float = 0
    ) -> Any:
        """Send a request and return its answer.

        Args:
            method: the HTTP method, such as ``GET``.
            path: the path after ``/api/v1``.
            body: the body, which is sent as JSON; None for none.
            query: the query parameters; those with the value None are left out.
            patience: additional seconds for the answer of a request that waits.

        Raises:
            RemoteError: the server refused. LostConnection: it cannot be reached, or the connection was lost.
        """
        data = None if body is None else json.dumps(body).encode()
        try:
            answer, text = self._ask(method, _target(path, query), data, patience)
        except LostConnection as lost:
            if method not in _SAFE or not lost.sent or isinstance(lost.__cause__, TimeoutError):
                raise
            answer, text = self._ask(method, _target(path, query), data, patience)
        return _decoded(answer, text)

    def _ask(self, method: str, target: str, data: bytes | None, patience: float) -> tuple[HTTPResponse, bytes]:
        with _losing(self._connection, self._made[0]) as sent:
            self._open(self._made[1] + patience)
            sent.append(True)
            self._connection.request(method, target, data, self._headers)
            answer = self._connection.getresponse()
            return answer, answer.read()

    def _open(self, timeout: float) -> None:
        """Open the connection if necessary. If it is readable before a request is sent, the server has closed it."""
        sock = self._connection.sock
        if sock is not None and _readable(sock):
            self._connection.close()
        if self._connection.sock is None:
            self._connection.connect()
        self._connection.sock.settimeout(timeout)

    @contextmanager
    def stream(self, path: str, *, query: Mapping[str, object] = _NONE) -> Iterator[Iterator[str]]:
        """The answer of a request, events or text, line by line as it arrives, on a separate connection.

        Raises:
            RemoteError: the server refused. LostConnection: it cannot be reached; in the iteration: it was lost.
        """
        connection = _connection(*self._made)
        try:
            with _losing(connection, self._made[0]) as sent:
                connection.connect()
                sent.append(True)
                connection.request("GET", _target(path, query), headers=self._headers)
                answer = connection.getresponse()
                right = answer.status == 200 and _is(answer, "text/event-stream", "text/plain")
                refused = b"" if right else answer.read()
            if not right:
                raise _refused(answer, refused)
            yield _lines(connection, answer, self._made[0])
        finally:
            connection.close()


def ask(
    connection: ServerConnection,
    method: str,
    path: str,
    body: object = None,
    *,
    query: Mapping[str, object] = _NONE,
    patience: float = 0,
) -> T:  # type: ignore[type-var]  # the type of the answer is the caller's: that of the operation
    """The same as :meth:`ServerConnection.request`, with the answer typed as the caller expects it."""
    answer: T = connection.request(method, path, body, query=query, patience=patience)
    return answer


def _lines(connection: HTTPConnection, answer: HTTPResponse, url: str) -> Iterator[str]:
    """The lines of an answer as they arrive; ``read1`` returns available data and tells an end from a loss."""
    rest = b""
    while True:
        with _losing(connection, url) as sent:
            sent.append(True)
            part = answer.read1(_AT_ONCE)
            if not part and answer.length:
                raise ConnectionResetError("the answer is incomplete")
        if not part:
            break
        *lines, rest = (rest + part).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)
    if rest:
        yield rest.decode("utf-8", "replace")


@contextmanager
def _losing(connection: HTTPConnection, url: str) -> Iterator[list[bool]]:
    """Convert the loss of the connection to :class:`LostConnection`; the list shows whether the request was sent."""
    sent: list[bool] = []
    try:
        yield sent
    except (OSError, HTTPException) as error:
        connection.close()
        what = "the connection ended before the answer was complete" if sent else "the server cannot be reached"
        if isinstance(error, ssl.SSLCertVerificationError):
            what = f"{what}; name the certificate to trust (certificate=, TDQ_CERTIFICATE)"
        elif isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
            what = f"{what}; it seems to listen without TLS, at http://"
        raise LostConnection(f"{url}: {what}: {error}", sent=bool(sent)) from error


def _readable(sock: socket.socket) -> bool:
    try:
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(sock, select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([sock], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def part(name: object) -> str:
    """A name as a part of a path; an empty name has a representation too."""
    return quote(str(name) or " ", safe="")


def _target(path: str, query: Mapping[str, object]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"/api/v1{path}" + (f"?{urlencode(given)}" if given else "")


def _decoded(answer: HTTPResponse, text: bytes) -> Any:
    """The value of an answer.

    Raises:
        RemoteError: the server refused, or what answers is not a server of tdqsim.
    """
    if answer.status == 204:
        return None
    if answer.status not in (200, 201) or not _is(answer, "application/json"):
        raise _refused(answer, text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _refused(answer, text) from None


def _is(answer: HTTPResponse, *kinds: str) -> bool:
    return answer.getheader("Content-Type", "").startswith(kinds)


def _refused(answer: HTTPResponse, text: bytes) -> RemoteError:
    """The error of an answer that is not what was asked for: a problem, or what another server says."""
    if _is(answer, "application/problem+json"):
        with suppress(ValueError, RecursionError):
            if isinstance(body := json.loads(text), dict):
                return RemoteError(answer.status, body)
    to = answer.getheader("Location")
    said = f"it leads to {to}" if to else text[:80].decode("utf-8", "replace")
    return RemoteError(answer.status, {"detail": f"unexpected answer: {answer.status} {answer.reason[:40]}: {said}"})
