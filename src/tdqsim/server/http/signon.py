"""Sign-on and sign-off: a page for browsers, ``/api/v1/session`` for programs.

The page is plain HTML without a script, so it needs no other part of the console. Its answer is a page that refreshes
to the target, not a redirect, because a browser does not send a strict cookie if another site has started a redirect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from html import escape
from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import parse_qsl

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field

from tdqsim.server.answers.process import SessionState, SessionToken
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.http.access import Caller, Gate, has_signed_on, session_of, signed_on
from tdqsim.server.http.guard import same_site
from tdqsim.server.http.values import RequestBody
from tdqsim.server.users import Role, SignOnRefused, TooManySignOns, User

_AT_ONCE: Final = 2  # the maximum of simultaneous checks: each takes 64 MB and a processor for a moment
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser would send the form with Origin: null
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
}
_STYLE: Final = """:root{color-scheme:light dark;font-family:system-ui,sans-serif}body{max-width:22rem;margin:10vh auto;
padding:0 1rem}label{display:block;margin-top:1rem}input{width:100%;box-sizing:border-box;font-size:1rem;padding:.5rem}
button{margin-top:1.5rem;font-size:1rem;padding:.5rem 1.5rem}p[role=alert]{font-weight:bold}"""


_LOST: Final = "The server no longer knows this session: it was started again, or the session has ended."

Authenticate = Callable[[Request, str, str], Awaitable[str]]
"""Returns the user id after checking the user and the password of a request; empty for the owner of the process."""


class SignOnRequest(RequestBody):
    """User and password."""

    user: Annotated[str, Field(min_length=1, max_length=20)]
    password: Annotated[str, Field(min_length=1, max_length=BOUNDS["password_length"])]


def add_sign_on(app: FastAPI, access: Gate) -> Authenticate:
    """Add the page and the routes; return what checks a user and a password."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def sign_on(request: Request, user: str, password: str) -> str:
        """The id of the user who signs on; empty for the owner, whose password is the token of the run."""
        origin = request.client.host if request.client else "local"
        if not user and access.is_token(password.strip().removeprefix("Bearer ").strip()):
            has_signed_on(request, None)
            return ""
        if access.users is None:
            raise SignOnRefused("the token is wrong; it is in the terminal where tdq serve runs")
        if not user:
            raise SignOnRefused("the user or the password is wrong")
        async with turns:
            signed = await asyncio.to_thread(access.users.authenticate, user, password, origin)
        has_signed_on(request, signed)
        return signed.id

    _add_page(app, access, sign_on)
    _add_session(app, access, sign_on)
    return sign_on


def _add_page(app: FastAPI, access: Gate, sign_on: Authenticate) -> None:
    @app.get("/sign-on", include_in_schema=False)
    async def page(
        request: Request,
        link: Annotated[str, Query(max_length=100)] = "",
        to: Annotated[str, Query(alias="next", max_length=200)] = "/",
        lost: Annotated[str, Query(max_length=1)] = "",
    ) -> Response:
        if link and access.use_link(link):
            return _welcome(request, access, "", to)
        remark = (
            "This link is invalid or has been used. You can also sign on with the token that the server printed."
            if link
            else _LOST * bool(lost)
        )
        return _form(access, to, remark, HTTPStatus.FORBIDDEN if link else HTTPStatus.OK)

    @app.post("/sign-on", include_in_schema=False)
    async def submitted(request: Request) -> Response:
        if not same_site(request.headers):
            raise HTTPException(HTTPStatus.FORBIDDEN, "the sign-on must come from the page of this site")
        try:
            form = dict(parse_qsl((await request.body()).decode(), max_num_fields=5))
        except ValueError:
            raise HTTPException(HTTPStatus.BAD_REQUEST, "the form cannot be read") from None
        to = form.get("next", "/")
        try:
            user_id = await sign_on(request, form.get("user", "").strip(), form.get("password", ""))
        except SignOnRefused as error:
            return _form(access, to, f"Not signed on: {error}.", _status(error))
        return _welcome(request, access, user_id, to)

    @app.post("/sign-off", include_in_schema=False)
    async def sign_off(request: Request) -> Response:
        session = session_of(request)
        if session is not None:
            access.sessions.end(session)
        answer = _form(access, "/", "Signed off.", HTTPStatus.OK)
        answer.delete_cookie(access.cookie, secure=access.secure, httponly=True, samesite="strict")
        return answer


def _add_session(app: FastAPI, access: Gate, sign_on: Authenticate) -> None:
    @app.post("/api/v1/session", tags=["session"], status_code=201, operation_id="signOn")
    async def begin(request: Request, credentials: SignOnRequest) -> SessionToken:
        """Sign on and get a bearer token, which expires after a time, or after a time without use."""
        try:
            user_id = await sign_on(request, credentials.user, credentials.password)
        except SignOnRefused as error:
            waits = {"Retry-After": str(round(error.seconds))} if isinstance(error, TooManySignOns) else None
            raise HTTPException(_status(error), str(error), waits) from None
        token, session = access.sessions.begin(user_id, cookie=False)
        user = access.user_of(session)
        return {"token": token, "user": user_id, "roles": _roles(user), "seconds": BOUNDS["session_seconds"]}

    @app.get("/api/v1/session", tags=["session"], operation_id="getSession")
    async def about(request: Request) -> SessionState:
        """The signed-on user with the roles, and the X-CSRF-Token for changing requests of a browser."""
        user = signed_on(request)
        session = session_of(request)
        csrf = session.csrf if session is not None and session.cookie else None
        return {"user": user.id, "roles": _roles(user), "groups": list(user.groups), "csrf": csrf}

    @app.delete("/api/v1/session", tags=["session"], status_code=204, operation_id="signOff")
    async def end(request: Request, _user: Caller) -> None:
        """Sign off; the token of the run remains valid."""
        session = session_of(request)
        if session is not None:
            access.sessions.end(session)


def _roles(user: User | None) -> list[str]:
    return [role.value for role in Role if user is not None and user.may(role)]


def _status(error: SignOnRefused) -> HTTPStatus:
    return HTTPStatus.TOO_MANY_REQUESTS if isinstance(error, TooManySignOns) else HTTPStatus.UNAUTHORIZED


def _here(to: str) -> str:
    """The target as a path of this site; other sites are not allowed."""
    safe = to.startswith("/") and not to.startswith(("//", "/\\")) and to.isascii() and to.isprintable()
    return to if safe else "/"


def _welcome(request: Request, access: Gate, user_id: str, to: str) -> Response:
    before = session_of(request)
    if before is not None and before.cookie:
        access.sessions.end(before)  # the browser forgets its cookie, so it could not be ended
    secret, _session = access.sessions.begin(user_id, cookie=True)
    target = escape(_here(to), quote=True)
    answer = HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Signed on</title>'
        f'<meta http-equiv="refresh" content="0;url={target}"><p><a href="{target}">Go on</a></p></html>',
        headers=_HEADERS,
    )
    answer.set_cookie(
        access.cookie, secret, secure=access.secure, httponly=True, samesite="strict",
        max_age=BOUNDS["session_seconds"],
    )  # fmt: skip
    return answer


def _form(access: Gate, to: str, remark: str, status: HTTPStatus) -> Response:
    alert = f'<p role="alert">{escape(remark)}</p>' if remark else ""
    target = escape(_here(to), quote=True)
    user = '<label>User <input name="user" autocomplete="username" autofocus></label>' if access.users else ""
    word = "Password" if access.users else "Token"
    where = "" if access.users else "<p>The token is in the terminal where <code>tdq serve</code> runs.</p>"
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Sign on</title><style>{_STYLE}</style><main><h1>tdqsim</h1>{alert}"
        f'<form method="post" action="/sign-on">{user}<label>{word} <input name="password" type="password" '
        f'autocomplete="current-password"></label><input type="hidden" name="next" value="{target}">'
        f"{where}<button>Sign on</button></form></main></html>",
        status_code=status,
        headers=_HEADERS,
    )
