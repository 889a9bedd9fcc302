"""Sends alerts to a webhook: an HTTP POST of the alert as JSON for each, in order.

The body is signed if there is a secret: ``X-Tdqsim-Signature: sha256=`` and the HMAC-SHA256 of the body in hexadecimal.
Any status from 200 to 299 is success. After any other answer, or none, the alert is sent again a few times, with
pauses that double; then it is dropped, with a warning in the log, and a notice of each region and system lasts until an
alert is taken again. ``X-Tdqsim-Delivery`` is the same in each try, so
that the receiver can recognise an alert that it has got already. The requests are made in threads, so neither the
engine nor the event loop waits for the receiver.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import secrets
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import structlog

from tdqsim import __version__
from tdqsim.server.alerts import Alert, Alerts
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.errors import ServeError

_SHORTEST_SECRET: Final = 16
_log = structlog.get_logger("tdqsim.server")


def read_secret(path: Path) -> bytes:
    """The secret in a file, without a final line end.

    Raises:
        ServeError: the file cannot be read, is open to other users, or its secret is shorter than 16 bytes.
    """
    try:
        if path.stat().st_mode & 0o077:
            raise ServeError(f"{path}: other users may read or write it; chmod 600 it")
        secret = path.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise ServeError(f"{path}: cannot be read: {error.strerror}") from error
    if len(secret) < _SHORTEST_SECRET:
        raise ServeError(f"{path}: the secret of a webhook has at least {_SHORTEST_SECRET} bytes")
    return secret


def post(url: str, body: bytes, headers: Mapping[str, str], seconds: float = BOUNDS["webhook_seconds"]) -> int:
    """Send a POST and return the status; redirections are not followed.

    The time limit of a socket is for each part of an answer; a receiver that sends one byte a second would hold this
    call, and with it the end of the server. So the connection is shut down at the time limit.

    Raises:
        OSError, HTTPException: no answer came in time.
    """
    parts = urlsplit(url)
    assert parts.hostname is not None, "the serve file has checked the URL"
    connection = (
        HTTPSConnection(parts.hostname, parts.port, timeout=seconds, context=ssl.create_default_context())
        if parts.scheme == "https"
        else HTTPConnection(parts.hostname, parts.port, timeout=seconds)
    )
    late = threading.Event()

    def cut(sock: socket.socket) -> None:
        late.set()
        with contextlib.suppress(OSError):  # it is closed
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # that of TLS would wait for the receiver

    try:
        target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        connection.connect()
        limit = threading.Timer(seconds, cut, (connection.sock,))  # the connection may forget its socket meanwhile
        limit.start()
        try:
            connection.request("POST", target, body, dict(headers))
            status = connection.getresponse().status
        finally:
            limit.cancel()
    except (OSError, HTTPException):
        if not late.is_set():
            raise
    finally:
        connection.close()
    if late.is_set():  # what was read until then may look like an answer
        raise TimeoutError(f"the answer was not complete within {seconds:g} seconds")
    return status


class Webhook:
    """Sends the alerts of a server to one URL.

    Args:
        url: the URL.
        secret: the key of the signatures; empty for none.
        send: sends a POST and returns the status, as :func:`post` does.
        pause: waits some seconds, as :func:`asyncio.sleep` does.

    Attributes:
        sent: the number of alerts that were sent.
        dropped: the number of alerts that were dropped after the last try.
    """

    def __init__(
        self,
        url: str,
        secret: bytes = b"",
        *,
        send: Callable[[str, bytes, Mapping[str, str]], int] = post,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.sent = self.dropped = 0
        self._reason = ""
        self._url, self._secret = url, secret
        self._send, self._pause = send, pause

    async def run(self, alerts: Alerts) -> None:
        """Send alerts until this is cancelled."""
        woken = asyncio.Event()
        listener = alerts.listen(woken.set)
        lost, unreached = 0, False
        try:
            while True:
                await woken.wait()
                woken.clear()
                for alert in listener.take():
                    reason = "" if await self.deliver(alert) else self._reason
                    if bool(reason) is not unreached:
                        unreached = not unreached
                        alerts.webhook_reached(self._url.partition("?")[0], reason)
                if listener.lost > lost:
                    _log.warning("alerts_lost", url=self._url, alerts=listener.lost - lost)
                    lost = listener.lost
        finally:
            alerts.leave(listener)

    async def deliver(self, alert: Alert) -> bool:
        """Send one alert; return whether it was delivered."""
        body = json.dumps(alert).encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"tdqsim/{__version__}",
            "X-Tdqsim-Delivery": secrets.token_hex(16),
        }
        if self._secret:
            signature = hmac.new(self._secret, body, hashlib.sha256).hexdigest()
            headers["X-Tdqsim-Signature"] = f"sha256={signature}"
        for number in range(BOUNDS["webhook_tries"]):
            if number:
                await self._pause(BOUNDS["webhook_pause_seconds"] * 2 ** (number - 1))
            self._reason = await self._try(body, headers)
            if not self._reason:
                self.sent += 1
                return True
        self.dropped += 1
        _log.warning("alert_not_sent", url=self._url, region=alert["region"], kind=alert["kind"], reason=self._reason)
        return False

    async def _try(self, body: bytes, headers: Mapping[str, str]) -> str:
        """Send it once; return why it was not delivered, or an empty text."""
        try:
            status = await asyncio.to_thread(self._send, self._url, body, headers)
        except (OSError, HTTPException) as error:
            return f"{type(error).__name__}: {error}"
        return "" if 200 <= status < 300 else f"status {status}"
