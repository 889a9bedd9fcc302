"""Who asks: basic authentication, and the LtpaToken2 cookie that spares the check of the password for later requests.

A client without credentials gets 401 with a challenge, and repeats its request with them. The answer to a request with
basic authentication sets the cookie, as the CMCI JVM server does; a client that keeps it sends it in place of the
password. Its sessions are separate from those of the console. Without a users file the password is the token of the
run, with any user id. A bearer token of the API is accepted too.
"""

from __future__ import annotations

import base64
import binascii
from http.cookies import CookieError, SimpleCookie
from typing import Final

from fastapi import Request, Response
from starlette.datastructures import Headers

from tdqsim.server.bounds import BOUNDS
from tdqsim.server.cmci.requests import ROOT
from tdqsim.server.http.access import Gate, has_signed_on, signed_on
from tdqsim.server.http.sessions import Sessions
from tdqsim.server.http.signon import Authenticate
from tdqsim.server.users import SignOnRefused, User

COOKIE: Final = "LtpaToken2"
CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="CICS"'}
_LIFE: Final = BOUNDS["session_seconds"]
_LONGEST: Final = 1000
"""The longest Authorization header in characters."""


class Signing:
    """Signs on the users of requests.

    Args:
        gate: identifies the users of the server.
        authenticate: checks a user and a password.
    """

    def __init__(self, gate: Gate, authenticate: Authenticate) -> None:
        self._gate = gate
        self._authenticate = authenticate
        self._sessions = Sessions()

    async def user_of(self, request: Request, known: User | None) -> tuple[User, str]:
        """The user of a request, and the secret of a new session; empty if there is none.

        Args:
            request: the request.
            known: the user whom the gate has identified.

        Raises:
            SignOnRefused: there are no credentials, or they are wrong.
        """
        if known is not None:
            return known, ""
        given = request.headers.get("authorization", "")
        if not given:
            session = self._sessions.find(_cookie(request.headers), cookie=True)
            user = None if session is None else self._gate.user_of(session)
            if user is None:
                raise SignOnRefused("sign on first")
            has_signed_on(request, user if user.id else None)
            return signed_on(request), ""
        user_id, password = _basic(given)
        signed = await self._authenticate(request, user_id if self._gate.users is not None else "", password)
        return signed_on(request), self._sessions.begin(signed, cookie=True)[0]

    def set_cookie(self, answer: Response, secret: str) -> None:
        """Give a new session to the client."""
        if secret:
            answer.set_cookie(
                COOKIE, secret, path=ROOT, secure=self._gate.secure, httponly=True, samesite="strict", max_age=_LIFE
            )


def _cookie(headers: Headers) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value


def _basic(given: str) -> tuple[str, str]:
    """The user id and the password of an Authorization header.

    Raises:
        SignOnRefused: it is not basic authentication.
    """
    kind, _, encoded = given.partition(" ")
    try:
        if kind.lower() != "basic" or len(given) > _LONGEST:
            raise SignOnRefused("basic authentication is needed")
        raw = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise SignOnRefused("the credentials cannot be read") from None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    user_id, colon, password = text.partition(":")
    if not colon or not user_id:
        raise SignOnRefused("the user or the password is missing")
    return user_id, password
