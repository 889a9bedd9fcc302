"""Authentication and authorisation: every request for a route, a page or a web socket passes this module.

=====================  ===========================================================================================
a request with         belongs to
=====================  ===========================================================================================
``Authorization``      the owner of the token: the token of the run (the owner of the process), or one that
                       ``POST /api/v1/session`` gave to a user
the session's cookie   the user who has signed on in the browser, at ``/sign-on``
neither                no user: 401, or a redirect to ``/sign-on`` for a page; only the paths in ``OPEN`` answer,
                       and those under a prefix that has its own sign-on (:mod:`tdqsim.server.cmci`)
=====================  ===========================================================================================

A browser sends its cookie even if the page comes from another site. So a changing request with a cookie must name this
site in Origin, and under ``/api`` have the session's token in ``X-CSRF-Token``; a web socket must name this site in
Origin too. The user id of a request is that of its task, so the security policy of the region applies to the command.
"""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import Depends, FastAPI, HTTPException
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tdqsim.server.audit import audit
from tdqsim.server.http.guard import same_site
from tdqsim.server.http.problems import problem
from tdqsim.server.http.sessions import Session, Sessions
from tdqsim.server.operations import ServerOperation, listed, operation_of_id
from tdqsim.server.users import Role, User, Users

PREFIX: Final = "/api/v1"
OPEN: Final = frozenset({"/health", "/ready", "/sign-on", "/api/v1/session"})
"""The paths that need no sign-on."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_USER: Final = "tdqsim.user"
_SESSION: Final = "tdqsim.session"
_DONE: Final = "tdqsim.done"
_AUDIT_KEYS: Final = {"name": "applid", "queue": "queue", "uow": "uow", "number": "task", "unit": "unit"}
_SYSTEM_KEYS: Final = {"name": "system", "library": "library", "queue": "dtaq"}
"""The keys of path parameters in the audit line; those of requests to an IBM i system."""
_OWNER: Final = User("", frozenset({Role.break_}))


class Gate:
    """Identifies the users of requests.

    Args:
        users: the users of ``users.yaml``; None without users, when only the owner of the process may use the server.
        token: the token of the run, which belongs to the owner; empty for none.
        secure: whether the server uses TLS, so that browsers send the cookie only over TLS.
        open_metrics: whether ``/metrics`` needs no sign-on.

    Attributes:
        sessions: the open sessions.
        own_sign_on: the beginnings of paths whose routes sign the user on themselves.
        cookie: the name of the session cookie, which differs in each run because browsers send cookies to every port of
            a host.
    """

    def __init__(
        self, users: Users | None = None, *, token: str = "", secure: bool = False, open_metrics: bool = True
    ) -> None:
        self.users = users
        self.sessions = Sessions()
        self.secure = secure
        self.open = OPEN | {"/metrics"} if open_metrics else OPEN
        self.own_sign_on: tuple[str, ...] = ()
        self.cookie = f"{'__Host-' if secure else ''}tdq-{secrets.token_hex(4)}"
        self._token = token.encode()
        self._link = b""

    def new_link(self) -> str:
        """Create a path that signs on once, as the owner; it replaces the previous one."""
        link = secrets.token_urlsafe(32)
        self._link = link.encode()
        return f"/sign-on?link={link}"

    def use_link(self, link: str) -> bool:
        """Use a link: return whether it is valid, and make it invalid."""
        right = bool(self._link) and hmac.compare_digest(self._link, link.encode())
        if right:
            self._link = b""
        return right

    def is_token(self, token: str) -> bool:
        """Whether a text is the token of the run."""
        return bool(self._token) and hmac.compare_digest(self._token, token.encode())

    def user_of(self, session: Session) -> User | None:
        """The user of a session with the current roles; None if the user may no longer sign on."""
        if not session.user_id:
            return _OWNER
        user = None if self.users is None else self.users.get(session.user_id)
        return None if user is None or user.disabled else user

    def identify(self, headers: Headers) -> tuple[User | None, Session | None]:
        """The user and the session of a request, by its headers."""
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
        """Check every request and web socket of an application."""
        app.state.access = self
        app.add_middleware(_Signed, access=self)


def signed_on(request: HTTPConnection) -> User:
    """The user of a request or web socket.

    Raises:
        HTTPException: 401: no user has signed on.
    """
    user: User | None = request.scope.get(_USER)
    if user is None:
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "sign on first", {"WWW-Authenticate": "Bearer"})
    return user


def session_of(request: HTTPConnection) -> Session | None:
    """The session of a request; None with the token of the run."""
    session: Session | None = request.scope.get(_SESSION)
    return session


def may_still(request: HTTPConnection) -> bool:
    """Whether a request that lasts could be made again: its session is open, and its user has the role of its route."""
    access: Gate = request.app.state.access
    session = session_of(request)
    user = signed_on(request)
    if session is not None:
        current = access.user_of(session) if access.sessions.is_open(session) else None
        if current is None:
            return False
        user = current
    return user.may(operation_of_id(request.scope["route"].operation_id).role)


def check_may(user: User, operation: ServerOperation) -> None:
    """Check that a user may request an operation.

    Raises:
        HTTPException: 403: the user does not have the role.
    """
    if not user.may(operation.role):
        raise HTTPException(HTTPStatus.FORBIDDEN, f"{operation.name}: the role {operation.role} is needed")


def caller_of(request: HTTPConnection) -> User:
    """The user of the request, after checking the role of the route's operation (``facts/operations.tsv``).

    Raises:
        HTTPException: 401: no user has signed on. 403: the user does not have the role.
    """
    user = signed_on(request)
    check_may(user, operation_of_id(request.scope["route"].operation_id))
    return user


async def _caller(request: HTTPConnection) -> User:
    return caller_of(request)


Caller = Annotated[User, Depends(_caller)]
"""The user of a request, who has the role that its route requires."""


def has_signed_on(request: HTTPConnection, user: User | None) -> None:
    """Record the user who has signed on by this request, for its audit line; None for the owner."""
    request.scope[_USER] = user or _OWNER


class _Signed:
    """Identifies the user, refuses requests without a user, and writes the audit line of changing requests."""

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
        if scope[_USER] is None and path not in self._access.open and not path.startswith(self._access.own_sign_on):
            cause = "Authorization has no valid token; " if headers.get("authorization") else ""
            return HTTPStatus.UNAUTHORIZED, f"{cause}sign on first"
        if session is None or not session.cookie or not changes:
            return None
        if not same_site(headers):
            return HTTPStatus.FORBIDDEN, "a changing request of a browser must come from a page of this site"
        given = headers.get("x-csrf-token", "").encode()
        if path.startswith("/api/") and not hmac.compare_digest(session.csrf.encode(), given):
            return HTTPStatus.FORBIDDEN, "X-CSRF-Token is needed, with the value csrf of GET /api/v1/session"
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
            _write_audit(scope, status)


def _write_audit(scope: Scope, status: int) -> None:
    """Write the audit line of a request that has ended; the user may have signed on by it."""
    client, user = scope.get("client"), scope[_USER]
    found = listed(getattr(scope.get("route"), "operation_id", None))
    keys = _SYSTEM_KEYS if found is not None and found[0].tag == "systems" else _AUDIT_KEYS
    facts = {keys[name]: value for name, value in scope.get("path_params", {}).items() if name in keys}
    facts |= scope.get(_DONE, {})
    operation = facts.pop("operation", f"{scope['method']} {scope['path']}" if found is None else found[1].name)
    facts |= {"origin": client[0] if client else "local", "method": scope["method"], "path": scope["path"]}
    audit("http" if client else "command line", user.id if user else None, operation, **facts, status=status)


def note_for_audit(request: HTTPConnection, **facts: str | int | None) -> None:
    """Add values to the audit line of a request, such as ``operation``, ``command`` or ``resp``."""
    request.scope.setdefault(_DONE, {}).update(facts)


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
