"""Authorities by name, user profiles with their groups, and authorization lists.

An authority is kept as the words that a command takes: one system-defined name such as ``*CHANGE`` where that says it
all, else single ones such as ``*OBJOPR *ADD``. Granting adds authorities, revoking removes them, and *EXCLUDE, which
is no authority at all, is replaced by a later grant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact_tables import AUTHORITIES

__all__ = [
    "ALL",
    "NONE",
    "SAME",
    "AuthorizationList",
    "PasswordKeeper",
    "Profile",
    "added",
    "granted_names",
    "revoked",
]

NONE: Final = "*NONE"
SAME: Final = "*SAME"
ALL: Final = AUTHORITIES["*ALL"]
_BUNDLES = ("*ALL", "*CHANGE", "*USE")
_SINGLE = {next(iter(grants)): word for word, grants in AUTHORITIES.items() if len(grants) == 1}


class PasswordKeeper(Protocol):
    """What keeps the passwords for sign-on: a server, not the system itself."""

    def keep(self, user: str, password: str | None) -> None:
        """Keep a user's password; None for none.

        Raises:
            ParameterError: it cannot be one, or the user's password is not for a command to change.
        """


@cache
def granted_names(words: str) -> frozenset[str]:
    """The single authorities behind one or several names such as ``*USE`` or ``*OBJOPR *ADD``.

    Raises:
        ParameterError: a name is not a system-defined authority, or no authority is given.
    """
    split = words.split() if isinstance(words, str) else []
    if not split or any(word not in AUTHORITIES for word in split):
        raise ParameterError(f"authority {words!r}: allowed are {', '.join(AUTHORITIES)}, one or several")
    return frozenset[str]().union(*(AUTHORITIES[word] for word in split))


def _words(grants: frozenset[str]) -> str:
    """The shortest words for a set of single authorities."""
    for bundle in _BUNDLES:
        if AUTHORITIES[bundle] == grants:
            return bundle
    return " ".join(_SINGLE[one] for one in ALL_IN_ORDER if one in grants) or "*EXCLUDE"


ALL_IN_ORDER: Final = tuple(next(iter(grants)) for grants in AUTHORITIES.values() if len(grants) == 1)


def added(before: str, words: str) -> str:
    """What a user has after ``words`` are granted in addition to ``before`` (empty for none); *EXCLUDE removes all."""
    grants = granted_names(words)
    return _words(grants | granted_names(before) if before and grants else grants)


def revoked(before: str, words: str) -> str:
    """The rest of ``before`` when ``words`` are revoked; empty for no rest, *EXCLUDE included."""
    left = granted_names(before) - granted_names(words)
    if not left and not granted_names(before) and "*EXCLUDE" not in words.split():
        return "*EXCLUDE"  # revoking authorities from an excluded user changes nothing
    return _words(left) if left else ""


@dataclass(slots=True)
class Profile:
    """A user profile.

    Attributes:
        name: its name.
        allobj: it has the special authority *ALLOBJ.
        groups: names of the group profiles whose authorities it has too, GRPPRF first, then SUPGRPPRF.
        disabled: STATUS(*DISABLED): sign-on is refused.
        expired: PWDEXP(*YES): its password has to be changed before a sign-on.
    """

    name: str
    allobj: bool = False
    groups: tuple[str, ...] = ()
    disabled: bool = False
    expired: bool = False

    def save(self) -> dict[str, Any]:
        """What the catalogue keeps."""
        return {"allobj": self.allobj, "groups": self.groups, "disabled": self.disabled, "expired": self.expired}


@dataclass(slots=True)
class AuthorizationList:
    """An authorization list: authorities by user, *PUBLIC among them."""

    name: str
    entries: dict[str, str]

    def save(self) -> dict[str, Any]:
        """What the catalogue keeps."""
        return {"entries": self.entries}
