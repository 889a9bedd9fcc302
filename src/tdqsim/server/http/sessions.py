"""Sessions of those who have signed on: bounded in number and life, known by a secret whose hash alone is kept."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tdqsim.facts import table

__all__ = ["Session", "Sessions"]

_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("server")}


@dataclass(slots=True)
class Session:
    """Somebody who has signed on.

    Attributes:
        user_id: who; empty for the owner of the process.
        csrf: what changing requests of a browser must carry, as pages of other sites cannot.
        cookie: its secret is in a browser's cookie; else it is a bearer token.
        began, used: on the clock of the sessions, in seconds.
    """

    user_id: str
    csrf: str
    cookie: bool
    began: float
    used: float


class Sessions:
    """All that are open.

    Args:
        now: seconds that only grow.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open: OrderedDict[bytes, Session] = OrderedDict()  # oldest first

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, user_id: str, *, cookie: bool) -> tuple[str, Session]:
        """Begin one; gives its secret. The oldest of the user, or of all, ends where there are too many."""
        now = self._now()
        own = [key for key, each in self._open.items() if each.user_id == user_id]
        for key in own[: max(len(own) - _BOUNDS["sessions_user"] + 1, 0)]:
            del self._open[key]
        while len(self._open) >= _BOUNDS["sessions"]:
            self._open.popitem(last=False)
        secret = secrets.token_urlsafe(32)
        session = Session(user_id, secrets.token_urlsafe(32), cookie, now, now)
        self._open[_key(secret)] = session
        return secret, session

    def find(self, secret: str, *, cookie: bool) -> Session | None:
        """The session of a secret, unless it has ended; a cookie is no bearer token and the other way round."""
        key = _key(secret)
        found = self._open.get(key)
        if found is None or found.cookie is not cookie:
            return None
        now = self._now()
        if now - found.began > _BOUNDS["session_seconds"] or now - found.used > _BOUNDS["session_idle_seconds"]:
            del self._open[key]
            return None
        found.used = now
        return found

    def end(self, session: Session) -> None:
        """End one."""
        for key, each in self._open.items():
            if each is session:
                del self._open[key]
                return

    def end_all(self, user_id: str) -> None:
        """End all of a user."""
        for key in [key for key, each in self._open.items() if each.user_id == user_id]:
            del self._open[key]


def _key(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
