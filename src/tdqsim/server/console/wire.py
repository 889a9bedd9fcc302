"""Checks of the messages that a browser sends to the console: their form, their size and their number.

A page sends few and small messages: that it is there, what was clicked or typed, that it has received something. The
packages behind the console take far more, and answer what they cannot read with a traceback in the log. So each message
is looked at before them. Whoever sends something else, or far more than a person can click, is told of in one line of
the log and cut off; a browser that was cut off by mistake connects anew.
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

from tdqsim.facts import table
from tdqsim.server.http.access import one_line
from tdqsim.server.http.problems import problem

__all__ = ["MESSAGE_BYTES", "Pace", "guarded", "only_in_order", "wrong_with"]

_log = structlog.get_logger("tdqsim.server")
_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("server")}
MESSAGE_BYTES: Final = _BOUNDS["message_bytes"]
_SIGNALS: Final = ("1", "3", "40", "41")
"""Engine.IO's close and pong; Socket.IO's connect and disconnect."""
_EVENT: Final = re.compile(r"42[0-9]{0,9}(?=\[)", re.ASCII)
_EVENTS: Final = ("ack", "event", "handshake", "javascript_response", "log")
_PARTS: Final = 2
_POLICY_VIOLATION: Final = 1008


def wrong_with(text: str | None) -> str:
    """The reason why no page of the console could have sent a message; empty where one could.

    Args:
        text: its text; None for one of bytes, which no page sends.
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
        return "no JSON"
    if len(parts) != _PARTS or parts[0] not in _EVENTS:
        return "no event of a page"
    if not isinstance(parts[1], dict) or not isinstance(parts[1].get("client_id"), str):
        return "an event of no page"
    return ""


class Pace:
    """How many messages come over one connection.

    Args:
        most: in so many seconds.
        seconds: those.
    """

    def __init__(self, most: int = _BOUNDS["messages"], seconds: int = _BOUNDS["message_seconds"]) -> None:
        self._most, self._seconds = most, seconds
        self._began = monotonic()
        self._count = 0

    def wrong(self) -> str:
        """Count one; what is wrong when it is one too many."""
        now = monotonic()
        if now - self._began > self._seconds:
            self._began, self._count = now, 0
        self._count += 1
        return f"more than {self._most} messages in {self._seconds} seconds" if self._count > self._most else ""


def guarded(pages: ASGIApp, user_of: Callable[[Scope], str]) -> ASGIApp:
    """The console's pages, with what comes over their websockets looked at.

    Args:
        pages: the pages.
        user_of: who has signed on, for the log.
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
    """One websocket, cut off with the first message that is none of a page."""

    def __init__(self, receive: Receive, send: Send, tell: Callable[[str], None]) -> None:
        self._receive, self._send, self._tell = receive, send, tell
        self._pace = Pace()
        self._over = False

    async def receive(self) -> Message:
        """The next message, or that the client has gone."""
        if self._over:
            return {"type": "websocket.disconnect", "code": _POLICY_VIOLATION}
        message = await self._receive()
        if message["type"] == "websocket.receive" and (why := self._pace.wrong() or wrong_with(message.get("text"))):
            self._tell(why)
            await self._send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": why})
            self._over = True
            return {"type": "websocket.disconnect", "code": _POLICY_VIOLATION}
        return message

    async def send(self, message: Message) -> None:
        """Something for the client, which may have been cut off."""
        if not self._over:
            await self._send(message)


def only_in_order(sio: Any, user_of: Callable[[Scope], str]) -> None:
    """Have what is odd inside a message end its connection with a line of the log, instead of a traceback.

    The names are right by then; what they name may be missing, or of another type.

    Args:
        sio: the Socket.IO server of the pages.
        user_of: who has signed on, for the log.
    """
    handlers = sio.handlers["/"]
    for event in (*_EVENTS, "connect"):
        handlers[event] = _in_order(sio, event, handlers[event], user_of)


def _in_order(
    sio: Any, event: str, handler: Callable[..., Any], user_of: Callable[[Scope], str]
) -> Callable[..., Awaitable[Any]]:
    @wraps(handler)
    async def handle(sid: str, *given: Any) -> Any:
        scope = sio.get_environ(sid)["asgi.scope"]
        try:
            found = handler(sid, *given)
            return await found if isawaitable(found) else found
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            _tell(scope, user_of, one_line(f"{event}: {type(error).__name__}: {error}"))
            if event == "connect":
                return False
            await sio.disconnect(sid)

    return handle
