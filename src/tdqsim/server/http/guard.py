"""Checks of every request before its user is known: Host, Origin, and limits of size and time.

On loopback a request must name this machine in Host, which protects against DNS rebinding: a page of another site whose
name resolves to this machine. An Origin header must be this site. The body has a size limit and a time limit.
"""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from fastapi import FastAPI, HTTPException, Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tdqsim.server.bounds import BOUNDS
from tdqsim.server.http.problems import drop_frames, problem

_HEAD_BYTES: Final = BOUNDS["head_bytes"]
_LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")


def same_site(headers: Headers) -> bool:
    """Whether a request comes from a page of this site, according to the headers of the browser."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return _is_here(origin, headers)


def _is_here(origin: str, headers: Headers) -> bool:
    try:
        return urlsplit(origin).netloc == headers.get("host", "")
    except ValueError:
        return False


def install_guard(app: FastAPI, body_bytes: int, request_seconds: float, *, any_host: bool = False) -> None:
    """Check every request of an application.

    Args:
        app: the application.
        body_bytes: the size limit of a body.
        request_seconds: the time limit for a body.
        any_host: whether to accept any Host header, for a server beyond loopback, which does not know its names.
    """
    app.add_middleware(_Checked, body_bytes=body_bytes, request_seconds=request_seconds, any_host=any_host)

    @app.exception_handler(AnyHTTPException)
    async def refused(request: Request, error: AnyHTTPException) -> Any:
        reason = f": {error.__cause__}" if error.__cause__ is not None else ""  # what the parser of the body says
        answer = problem(error.status_code, HTTPStatus(error.status_code).phrase, f"{error.detail}{reason}")
        answer.headers.update(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            answer.headers["Allow"] = ", ".join(sorted(_methods(app, request.url.path)))
        drop_frames(error)
        return answer


def _methods(app: FastAPI, path: str) -> set[str]:
    """The methods of a path over all of its routes, each of which knows only its own."""
    routes = (route for route in app.routes if isinstance(route, Route))
    return {method for route in routes if route.path_regex.match(path) for method in route.methods or ()}


def _too_long(scope: Scope) -> tuple[int, str] | None:
    """The refusal of a head that is too long, which the parser accepts if it arrives in one piece; None for others."""
    size = sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope.get("raw_path", b""))
    if size + len(scope.get("query_string", b"")) <= _HEAD_BYTES:
        return None
    return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head of a request has at most {_HEAD_BYTES} bytes"


def _path_of(scope: Scope) -> str:
    """The path without escapes except those of slashes, because a name that contains a slash is one part."""
    return unquote(re.sub("%2f", "%252F", scope["raw_path"].decode("latin-1"), flags=re.IGNORECASE))


class _Checked:
    """Refuses requests for another host, from another site, or with a body that is too large or too late."""

    def __init__(self, app: ASGIApp, body_bytes: int, request_seconds: float, *, any_host: bool) -> None:
        self._app = app
        self._body_bytes = body_bytes
        self._seconds = request_seconds
        self._any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if b"%2f" in scope.get("raw_path", b"").lower():
            scope = {**scope, "path": _path_of(scope)}
        wrong = _too_long(scope) or self._wrong(Headers(scope=scope))
        if wrong is None:
            await self._app(scope, self._bounded(scope, receive) if scope["type"] == "http" else receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": wrong[1]})
        else:
            status, detail = wrong
            await problem(status, HTTPStatus(status).phrase, detail)(scope, receive, send)

    def _wrong(self, headers: Headers) -> tuple[int, str] | None:
        named = headers.get("host", "")
        host = named if named.endswith("]") else named.rsplit(":", 1)[0]
        if host.lower() not in _LOCAL and not self._any_host:
            return HTTPStatus.MISDIRECTED_REQUEST, f"host {host[:80]!r} is not served; allowed are {', '.join(_LOCAL)}"
        origin = headers.get("origin")
        if origin is not None and not _is_here(origin, headers):
            return HTTPStatus.FORBIDDEN, f"origin {origin[:80]!r} is another site"
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 20) or int(length) > self._body_bytes:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {self._body_bytes} bytes"
        return None

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        headers = Headers(scope=scope)
        received = 0
        whole = "transfer-encoding" not in headers and headers.get("content-length", "0") == "0"  # there is no body
        until = asyncio.get_running_loop().time() + self._seconds

        async def bounded() -> Message:
            nonlocal received, whole
            if whole:
                return await receive()  # the empty body, and that the client disconnects
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                detail = f"the body did not arrive within {self._seconds:g} seconds"
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail, {"Connection": "close"}) from None
            except asyncio.CancelledError:  # the server no longer waits for the body; a traceback would not show that
                detail = "the server is being stopped, and the body had not arrived"
                raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, detail, {"Connection": "close"}) from None
            whole = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > self._body_bytes:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {self._body_bytes} bytes")
            return message

        return bounded
