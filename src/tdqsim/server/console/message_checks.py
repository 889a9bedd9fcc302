"""Checks of the messages that a browser sends to the console: their form, their size and their number.

A page sends few and small messages: handshakes, clicks and input, acknowledgements. NiceGUI and Socket.IO accept far
more, and log a traceback for messages that they cannot read. So each message is checked before they get it. If a client
sends something else, or far more than a person can click, its connection is closed with one line in the log. A browser
whose connection was closed by mistake connects again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from functools import wraps
from http import HTTPStatus
from inspect import isawaitable
from time import monotonic
from typing import Any, Final

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tdqsim.server.audit import one_line
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.http.problems import problem

_log = structlog.get_logger("tdqsim.server")
MESSAGE_BYTES: Final = BOUNDS["message_bytes"]
_SIGNALS: Final = ("1", "3", "40", "41")
"""Engine.IO's close and pong; Socket.IO's connect and disconnect."""
_EVENT: Final = re.compile(r"42[0-9]{0,9}(?=\[)", re.ASCII)
_EVENTS: Final = ("ack", "event", "handshake", "javascript_response", "log")
_PARTS: Final = 2
_POLICY_VIOLATION: Final = 1008


def problem_with(text: str | None) -> str:
    """The reason why a message is not one of the console's pages; empty if it is.

    Args:
        text: its text; None for a binary message, which pages never send.
    """
    if text is None:
        return "bytes"
    if len(text) > MESSAGE_BYTES:
        return f"more than {MESSAGE_BYTES} characters"
    if text in _SIGNALS:
        return ""
    head = _EVENT.match(text)
    if head is None:
        return "not a message of a page"
    try:
        parts = json.loads(text[head.end() :])
    except (ValueError, RecursionError):
        return "not JSON"
    if len(parts) != _PARTS or parts[0] not in _EVENTS:
        return "not an event of a page"
    if not isinstance(parts[1], dict) or not isinstance(parts[1].get("client_id"), str):
        return "an event without a page"
    return ""


class Pace:
    """The rate limit of one connection.

    Args:
        most: the maximum number of messages in a period.
        seconds: the length of the period.
    """

    def __init__(self, most: int = BOUNDS["messages"], seconds: int = BOUNDS["message_seconds"]) -> None:
        self._most, self._seconds = most, seconds
        self._began = monotonic()
        self._count = 0

    def wrong(self) -> str:
        """Count a message; return an error text if there are too many, otherwise an empty text."""
        now = monotonic()
        if now - self._began > self._seconds:
            self._began, self._count = now, 0
        self._count += 1
        return f"more than {self._most} messages in {self._seconds} seconds" if self._count > self._most else ""


def guarded(pages: ASGIApp, user_of: Callable[[Scope], str]) -> ASGIApp:
    """The application of the console's pages, with checks of their websocket messages.

    Args:
        pages: the pages.
        user_of: returns the user of a connection, for the log.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            connection = _Connection(receive, send, lambda why: _tell(scope, user_of, why))
            await pages(scope, connection.receive, connection.send)
        elif scope["type"] == "http" and scope["path"].rstrip("/").endswith("/socket.io"):
            status = HTTPStatus.BAD_REQUEST
            await problem(status, status.phrase, "the pages speak by websocket only")(scope, receive, send)
        else:
            await pages(scope, receive, send)

    return answer


def _tell(scope: Scope, user_of: Callable[[Scope], str], why: str) -> None:
    client = scope.get("client")
    _log.warning("odd_message", user=user_of(scope), origin=client[0] if client else "local", why=why)


class _Connection:
    """A websocket, which is closed at the first message that is not one of a page."""

    def __init__(self, receive: Receive, send: Send, tell: Callable[[str], None]) -> None:
        self._receive, self._send, self._tell = receive, send, tell
        self._pace = Pace()
        self._over = False

    async def receive(self) -> Message:
        """The next message, or the end of the connection."""
        if self._over:
            return {"type": "websocket.disconnect", "code": _POLICY_VIOLATION}
        message = await self._receive()
        if message["type"] == "websocket.receive" and (why := self._pace.wrong() or problem_with(message.get("text"))):
            self._tell(why)
            await self._send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": why})
            self._over = True
            return {"type": "websocket.disconnect", "code": _POLICY_VIOLATION}
        return message

    async def send(self, message: Message) -> None:
        """Send a message, unless the connection was closed."""
        if not self._over:
            await self._send(message)


def end_on_errors(sio: Any, user_of: Callable[[Scope], str]) -> None:
    """Close a connection whose message causes an error, with a line in the log instead of a traceback.

    The form of the message has been checked before, but its fields may be missing or have wrong types.

    Args:
        sio: the Socket.IO server of the pages.
        user_of: returns the user of a connection, for the log.
    """
    handlers = sio.handlers["/"]
    for event in (*_EVENTS, "connect"):
        handlers[event] = _ending(sio, event, handlers[event], user_of)


def _ending(
    sio: Any, event: str, handler: Callable[..., Any], user_of: Callable[[Scope], str]
) -> Callable[..., Awaitable[Any]]:
    @wraps(handler)
    async def handle(sid: str, *given: Any) -> Any:
        scope = sio.get_environ(sid)["asgi.scope"]
        try:
            result = handler(sid, *given)
            return await result if isawaitable(result) else result
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            _tell(scope, user_of, one_line(f"{event}: {type(error).__name__}: {error}"))
            if event == "connect":
                return False
            await sio.disconnect(sid)

    return handle
