"""Sessions of signed-on users: limited in number and duration, identified by a secret of which only a hash is kept."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from tdqsim.server.bounds import BOUNDS


@dataclass(slots=True)
class Session:
    """The session of a signed-on user.

    Attributes:
        user_id: the user; empty for the owner of the process.
        csrf: the token that changing requests of a browser must have; pages of other sites do not know it.
        cookie: whether its secret is in a cookie of a browser; otherwise it is a bearer token.
        began, used: the times of its beginning and last use, in seconds on the clock of the sessions.
    """

    user_id: str
    csrf: str
    cookie: bool
    began: float
    used: float


class Sessions:
    """The open sessions.

    Args:
        now: a monotonic clock in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open: OrderedDict[bytes, Session] = OrderedDict()  # oldest first

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, user_id: str, *, cookie: bool) -> tuple[str, Session]:
        """Begin a session; return its secret. If there are too many, the oldest one (of the user, or of all) ends."""
        now = self._now()
        own = [key for key, each in self._open.items() if each.user_id == user_id]
        for key in own[: max(len(own) - BOUNDS["sessions_user"] + 1, 0)]:
            del self._open[key]
        while len(self._open) >= BOUNDS["sessions"]:
            self._open.popitem(last=False)
        secret = secrets.token_urlsafe(32)
        session = Session(user_id, secrets.token_urlsafe(32), cookie, now, now)
        self._open[_key(secret)] = session
        return secret, session

    def find(self, secret: str, *, cookie: bool) -> Session | None:
        """The session of a secret, unless it has ended; a secret of a cookie is not valid as a bearer token."""
        key = _key(secret)
        session = self._open.get(key)
        if session is None or session.cookie is not cookie:
            return None
        now = self._now()
        if now - session.began > BOUNDS["session_seconds"] or now - session.used > BOUNDS["session_idle_seconds"]:
            del self._open[key]
            return None
        session.used = now
        return session

    def is_open(self, session: Session) -> bool:
        """Whether a session has not ended."""
        return any(each is session for each in self._open.values())

    def end(self, session: Session) -> None:
        """End a session."""
        for key, each in self._open.items():
            if each is session:
                del self._open[key]
                return

    def end_all(self, user_id: str) -> None:
        """End all sessions of a user."""
        for key in [key for key, each in self._open.items() if each.user_id == user_id]:
            del self._open[key]


def _key(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
