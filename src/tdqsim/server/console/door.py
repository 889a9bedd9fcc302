"""Who may come in: a session that a sign-on began, and nothing without one.

Every request below the console's path, and the socket of every page, must carry a session's cookie and come from the
console's own pages. Only the sign-on itself and what it looks like are for everybody.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import Request
from starlette.requests import HTTPConnection
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tdqsim.server.console.sign_on import sign_on_page
from tdqsim.server.http.guard import Guard

__all__ = ["Caller", "Door", "Gate", "Role"]

_COOKIE: Final = "tdq_session"
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self'"
    " 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
"""Nothing is fetched from elsewhere; Vue makes functions of the console's own templates in the browser (unsafe-eval)."""
_RAW_HEADERS: Final = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
_STATIC: Final = Path(__file__).parent / "static"


class Role(StrEnum):
    """What a user may do."""

    look = "look"
    operate = "operate"
    break_ = "break"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who looks.

    Attributes:
        name: for people.
        userid: the user id of his tasks; empty for the region's default user.
        held: the roles that he has.
    """

    name: str
    userid: str
    held: frozenset[str]

    def may(self, role: Role) -> bool:
        """Whether he has a role."""
        return role.value in self.held

    @property
    def roles(self) -> str:
        """His roles, for people."""
        return ", ".join(role.value for role in Role if role.value in self.held)


class Door:
    """The sessions."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._open: dict[str, Caller] = {}

    def who(self, connection: HTTPConnection) -> Caller | None:
        """Whose session a request belongs to; None for nobody's."""
        return self._open.get(connection.cookies.get(_COOKIE, ""))

    def sign_on(self, form: Mapping[str, str]) -> str | None:
        """Begin a session for who says the right things; its key, or None."""
        scope = {"type": "http", "headers": [(b"authorization", f"Bearer {form.get('token', '')}".encode())]}
        try:
            user = self._guard.user_of(Request(scope))
        except Exception:
            return None
        key = secrets.token_urlsafe(24)
        self._open[key] = Caller(user.userid or "operator", user.userid, frozenset(user.roles))
        return key

    def sign_off(self, connection: HTTPConnection) -> None:
        self._open.pop(connection.cookies.get(_COOKIE, ""), None)


class Gate:
    """Stands before the pages: lets through who has signed on, and sends the others to the sign-on.

    Args:
        app: the pages.
        door: who may come in.
        prefix: the path below which they are.
    """

    def __init__(self, app: ASGIApp, door: Door, prefix: str) -> None:
        self._app = app
        self._door = door
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one socket."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        allowed = self._door.who(connection) is not None
        if scope["type"] == "websocket":
            if not allowed or not _same_site(connection):
                await receive()
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        answer = await self._answer(Request(scope, receive), path, allowed=allowed)
        await (answer if answer is not None else _with_headers(self._app))(scope, receive, send)

    async def _answer(self, request: Request, path: str, *, allowed: bool) -> Response | None:
        """What the gate itself answers; None for what is behind it."""
        if path == "/console.css":
            return FileResponse(_STATIC / "console.css", media_type="text/css")
        if path == "/sign-on":
            return await self._sign_on(request)
        if path == "/sign-off":
            return self._sign_off(request)
        if allowed:
            return None
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            return RedirectResponse(f"{self._prefix}/sign-on?to={quote(path)}", HTTPStatus.SEE_OTHER)
        return PlainTextResponse("sign on first", HTTPStatus.UNAUTHORIZED)

    async def _sign_on(self, request: Request) -> Response:
        if request.method == "GET":
            return self._page(_place(request.query_params.get("to", "")))
        if request.method != "POST" or not _same_site(request):
            return PlainTextResponse("a sign-on is a POST from its own page", HTTPStatus.FORBIDDEN)
        form = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=10)
        to = _place(form.get("to", [""])[0])
        key = self._door.sign_on({name: values[0] for name, values in form.items()})
        if key is None:
            return self._page(to, "That is not right.")
        answer = RedirectResponse(f"{self._prefix}{to}", HTTPStatus.SEE_OTHER)
        answer.set_cookie(_COOKIE, key, httponly=True, samesite="strict", path="/", secure=request.url.scheme == "https")
        return answer

    def _page(self, to: str, refused: str = "") -> Response:
        status = HTTPStatus.FORBIDDEN if refused else HTTPStatus.OK
        return HTMLResponse(sign_on_page(self._prefix, to, users=False, refused=refused), status, _HEADERS)

    def _sign_off(self, request: Request) -> Response:
        if request.method != "POST" or not _same_site(request):
            return PlainTextResponse("a sign-off is a POST from a page of the console", HTTPStatus.FORBIDDEN)
        self._door.sign_off(request)
        answer = RedirectResponse(f"{self._prefix}/sign-on", HTTPStatus.SEE_OTHER)
        answer.delete_cookie(_COOKIE, path="/")
        return answer


def _place(to: str) -> str:
    """A path below the console's; anything else is its beginning."""
    return to if to.startswith("/") and not to.startswith("//") and "\\" not in to and to.isprintable() else "/"


def _same_site(connection: HTTPConnection) -> bool:
    """Whether a request comes from a page of this server; a browser says so."""
    origin = connection.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc == connection.headers.get("host", "")


def _with_headers(app: ASGIApp) -> ASGIApp:
    """The pages, with what browsers are to hold them to."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_RAW_HEADERS]
            await send(message)

        await app(scope, receive, sending)

    return answer
