"""Who a request is from, and whether it may: the one place that every route, page and web socket goes through.

=====================  ===========================================================================================
a request with         is from
=====================  ===========================================================================================
``Authorization``      the owner of the token: the token of the run (the owner of the process), or one that
                       ``POST /api/v1/session`` gave to a user
the session's cookie   the user who has signed on in the browser, at ``/sign-on``
neither                nobody: 401, or the way to ``/sign-on`` for a page; only what is in ``OPEN`` answers
=====================  ===========================================================================================

A browser sends its cookie whoever has written the page that asks. So a changing request with a cookie must name this
site in Origin, and under ``/api`` carry the session's token in ``X-CSRF-Token``; a web socket must name this site in
Origin too. The user id of a request is that of its task, so that the region's own security policy decides the rest.
"""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Annotated, Final
from urllib.parse import quote

import structlog
from fastapi import Depends, FastAPI, HTTPException
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tdqsim.server.http.guard import same_site
from tdqsim.server.http.problems import problem
from tdqsim.server.http.sessions import Session, Sessions
from tdqsim.server.operations import ServerOperation, operation_of_id
from tdqsim.server.users import Role, User, Users

__all__ = ["OPEN", "PREFIX", "Caller", "Gate", "check_may", "has_signed_on", "one_line", "signed_on"]

PREFIX: Final = "/api/v1"
OPEN: Final = frozenset({"/health", "/ready", "/sign-on", "/api/v1/session"})
"""What answers to nobody in particular."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_USER: Final = "tdqsim.user"
_SESSION: Final = "tdqsim.session"
_OWNER: Final = User("", frozenset({Role.break_}))
_audit = structlog.get_logger("tdqsim.audit")


def one_line(text: str) -> str:
    """What a client sent, for a line of the log: nothing in it begins another line or reaches a terminal."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text[:200])


class Gate:
    """Who may use a server.

    Args:
        users: those of ``users.yaml``; None where none are configured, so that there is the process's owner alone.
        token: of the run, the owner's; empty for none.
        secure: the server speaks TLS, so that the cookie is sent over it alone.
        open_metrics: ``/metrics`` answers to anybody.

    Attributes:
        sessions: those that are open.
        cookie: the name of the session's cookie. Browsers send cookies to every port of a host: each run has its own.
    """

    def __init__(
        self, users: Users | None = None, *, token: str = "", secure: bool = False, open_metrics: bool = True
    ) -> None:
        self.users = users
        self.sessions = Sessions()
        self.secure = secure
        self.open = OPEN | {"/metrics"} if open_metrics else OPEN
        self.cookie = f"{'__Host-' if secure else ''}tdq-{secrets.token_hex(4)}"
        self._token = token.encode()
        self._link = b""

    def new_link(self) -> str:
        """A path that signs on once, as the owner; the one before it is of no use any more."""
        link = secrets.token_urlsafe(32)
        self._link = link.encode()
        return f"/sign-on?link={link}"

    def use_link(self, link: str) -> bool:
        """Whether it is the link; it is not a second time."""
        right = bool(self._link) and hmac.compare_digest(self._link, link.encode())
        if right:
            self._link = b""
        return right

    def is_token(self, token: str) -> bool:
        """Whether it is the token of the run."""
        return bool(self._token) and hmac.compare_digest(self._token, token.encode())

    def user_of(self, session: Session) -> User | None:
        """The user of a session as it is now; None when it may no more."""
        if not session.user_id:
            return _OWNER
        user = None if self.users is None else self.users.get(session.user_id)
        return None if user is None or user.disabled else user

    def identify(self, headers: Headers) -> tuple[User | None, Session | None]:
        """Who the headers of a request are from."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind:
            if kind.lower() != "bearer":
                return None, None
            if self.is_token(token.strip()):
                return _OWNER, None
            session = self.sessions.find(token.strip(), cookie=False)
        else:
            session = self.sessions.find(self._cookie_of(headers), cookie=True)
        return (None, None) if session is None else (self.user_of(session), session)

    def _cookie_of(self, headers: Headers) -> str:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return ""
        return "" if morsel is None else morsel.value

    def install(self, app: FastAPI) -> None:
        """Have every request and web socket of an application looked at."""
        app.state.access = self
        app.add_middleware(_Signed, access=self)


def signed_on(request: HTTPConnection) -> User:
    """Who a request or web socket is from.

    Raises:
        HTTPException: 401: nobody.
    """
    user: User | None = request.scope.get(_USER)
    if user is None:
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "sign on first", {"WWW-Authenticate": "Bearer"})
    return user


def session_of(request: HTTPConnection) -> Session | None:
    """The session that a request is part of; None with the token of the run."""
    found: Session | None = request.scope.get(_SESSION)
    return found


def check_may(user: User, operation: ServerOperation) -> None:
    """See that a user may do something.

    Raises:
        HTTPException: 403: the user has not the role.
    """
    if not user.may(operation.role):
        raise HTTPException(HTTPStatus.FORBIDDEN, f"{operation.name}: the role {operation.role} is needed")


async def _caller(request: HTTPConnection) -> User:
    """Who the request is from, who must have the role of the route's operation (``facts/operations.tsv``).

    Raises:
        HTTPException: 401: nobody has signed on. 403: the user has not the role.
    """
    user = signed_on(request)
    check_may(user, operation_of_id(request.scope["route"].operation_id))
    return user


Caller = Annotated[User, Depends(_caller)]
"""Who a request is from, and may have what its route does."""


def has_signed_on(request: HTTPConnection, user: User | None) -> None:
    """With this request somebody has signed on, whom its audit line names; None for the owner."""
    request.scope[_USER] = user or _OWNER


class _Signed:
    """Finds out who asks, turns away who may not, and writes the audit line of what changes something."""

    def __init__(self, app: ASGIApp, access: Gate) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        user, session = self._access.identify(headers)
        scope[_USER], scope[_SESSION] = user, session
        changes = scope["type"] == "websocket" or scope["method"] not in _SAFE
        refusal = self._refused(scope, headers, changes)
        if refusal is not None:
            status, detail = refusal
            await _refuse(status, detail, headers, scope, receive, send)
        elif changes and scope["type"] == "http":
            await self._audited(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refused(self, scope: Scope, headers: Headers, changes: bool) -> tuple[int, str] | None:
        session: Session | None = scope[_SESSION]
        path: str = scope["path"]
        if scope[_USER] is None and path not in self._access.open:
            return HTTPStatus.UNAUTHORIZED, "sign on first"
        if session is None or not session.cookie or not changes:
            return None
        if not same_site(headers):
            return HTTPStatus.FORBIDDEN, "a changing request of a browser must come from a page of this site"
        given = headers.get("x-csrf-token", "").encode()
        if path.startswith("/api/") and not hmac.compare_digest(session.csrf.encode(), given):
            return HTTPStatus.FORBIDDEN, "X-CSRF-Token is needed, as GET /api/v1/session tells it"
        return None

    async def _audited(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            client, user = scope.get("client"), scope[_USER]  # with this very request he may have signed on
            _audit.info(
                "change", user=None if user is None else user.id or "(owner)", origin=client[0] if client else "local",
                method=scope["method"], path=one_line(scope["path"]), status=status,
            )  # fmt: skip


async def _refuse(status: int, detail: str, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": detail})
        return
    wants_page = scope["method"] == "GET" and "text/html" in headers.get("accept", "")
    if status == HTTPStatus.UNAUTHORIZED and wants_page and not scope["path"].startswith("/api/"):
        await RedirectResponse(f"/sign-on?next={quote(scope['path'], safe='/')}", 303)(scope, receive, send)
        return
    answer = problem(status, HTTPStatus(status).phrase, detail)
    if status == HTTPStatus.UNAUTHORIZED:
        answer.headers["WWW-Authenticate"] = "Bearer"
    await answer(scope, receive, send)
