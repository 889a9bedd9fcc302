"""Who may ask: bearer tokens, roles, and what every request is checked for.

A server without configured users listens on loopback alone and has one token, made at its start. A token stands for a
user with roles: ``look``, ``operate`` (commands, SET, purge) and ``break`` (seed, clock). The user id is that of the
task, so the region's own security policy decides the rest. A request must name this host in Host, and in Origin if it
has one (a page of another site in the user's browser must not reach it), and its body is bounded.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from fastapi import FastAPI, HTTPException, Request
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tdqsim.server.http.problems import problem

__all__ = ["ROLES", "Guard", "User"]

ROLES: Final = ("look", "operate", "break")
_LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class User:
    """Who asks.

    Attributes:
        userid: the user id of its tasks; empty for the region's default user.
        roles: what it may do.
    """

    userid: str
    roles: frozenset[str]


class Guard:
    """Answers who a request is from.

    Args:
        tokens: each with its user.
    """

    def __init__(self, tokens: Iterable[tuple[str, User]]) -> None:
        self._tokens = [(token.encode(), user) for token, user in tokens]
        self.look: Callable[[Request], User] = self._role("look")
        self.operate: Callable[[Request], User] = self._role("operate")
        self.break_: Callable[[Request], User] = self._role("break")

    def user_of(self, request: Request) -> User:
        """The user whose token a request has.

        Raises:
            HTTPException: 401: it has none, or one that is not known.
        """
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        found = None
        for known, user in self._tokens:  # all are compared, so that the time says nothing
            if hmac.compare_digest(known, token.encode()):
                found = user
        if kind.lower() != "bearer" or found is None:
            raise HTTPException(HTTPStatus.UNAUTHORIZED, "a bearer token is needed", {"WWW-Authenticate": "Bearer"})
        return found

    def _role(self, role: str) -> Callable[[Request], User]:
        def check(request: Request) -> User:
            user = self.user_of(request)
            if role not in user.roles:
                raise HTTPException(HTTPStatus.FORBIDDEN, f"the role {role} is needed")
            return user

        return check

    def install(self, app: FastAPI, body_bytes: int, request_seconds: float) -> None:
        """Have every request of an application checked."""
        app.add_middleware(_Checked, body_bytes=body_bytes, request_seconds=request_seconds)

        @app.exception_handler(AnyHTTPException)
        async def refused(_request: Request, error: AnyHTTPException) -> Any:
            answer = problem(error.status_code, HTTPStatus(error.status_code).phrase, str(error.detail))
            answer.headers.update(error.headers or {})
            return answer


class _Checked:
    """Refuses requests for another host, from another site, or with a body that is too large or too late."""

    def __init__(self, app: ASGIApp, body_bytes: int, request_seconds: float) -> None:
        self._app = app
        self._body_bytes = body_bytes
        self._seconds = request_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        wrong = _wrong(headers, self._body_bytes)
        if wrong is not None:
            status, detail = wrong
            await problem(status, HTTPStatus(status).phrase, detail)(scope, receive, send)
            return
        await self._app(scope, self._bounded(receive), send)

    def _bounded(self, receive: Receive) -> Receive:
        seen, whole = 0, False
        until = asyncio.get_running_loop().time() + self._seconds

        async def bounded() -> Message:
            nonlocal seen, whole
            if whole:
                return await receive()  # the client goes away
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                detail = f"the body did not arrive within {self._seconds:g} seconds"
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail, {"Connection": "close"}) from None
            whole = not message.get("more_body", False)
            seen += len(message.get("body", b""))
            if seen > self._body_bytes:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {self._body_bytes} bytes")
            return message

        return bounded


def _wrong(headers: dict[bytes, str], body_bytes: int) -> tuple[int, str] | None:
    host = (
        headers.get(b"host", "").rsplit(":", 1)[0] if not headers.get(b"host", "").endswith("]") else headers[b"host"]
    )
    if host not in _LOCAL:
        return HTTPStatus.MISDIRECTED_REQUEST, f"host {host!r} is not served; allowed are {', '.join(_LOCAL)}"
    origin = headers.get(b"origin")
    if origin is not None and urlsplit(origin).netloc != headers.get(b"host", ""):
        return HTTPStatus.FORBIDDEN, f"origin {origin!r} is another site"
    length = headers.get(b"content-length", "0")
    if not length.isdigit() or int(length) > body_bytes:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {body_bytes} bytes"
    return None
