"""Authorities by name, user profiles with their groups, and authorization lists.

An authority is stored in the words of the command: one system-defined name such as ``*CHANGE`` if there is one for the
set, otherwise single authorities such as ``*OBJOPR *ADD``. Granting adds authorities, revoking removes them. *EXCLUDE
means no authority, and a later grant replaces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import AUTHORITIES

NONE: Final = "*NONE"
SAME: Final = "*SAME"
DEFAULT_LIBRARY: Final = "*CRTDFT"
SYSTEM_VALUE: Final = "*SYSVAL"
ALL: Final = AUTHORITIES["*ALL"]
_BUNDLES = ("*ALL", "*CHANGE", "*USE")
_SINGLE = {next(iter(grants)): word for word, grants in AUTHORITIES.items() if len(grants) == 1}


class PasswordKeeper(Protocol):
    """An object that keeps the passwords for sign-on: a server does this, not the system itself."""

    def keep(self, user: str, password: str | None) -> None:
        """Keep a user's password; None removes it.

        Raises:
            ParameterError: the password is not valid, or commands may not change this user's password.
        """


@cache
def granted_names(words: str) -> frozenset[str]:
    """The single authorities that one or several names such as ``*USE`` or ``*OBJOPR *ADD`` stand for.

    Raises:
        ParameterError: a name is not a system-defined authority, or no authority is given.
    """
    split = words.split() if isinstance(words, str) else []
    if not split or any(word not in AUTHORITIES for word in split):
        raise ParameterError(f"authority {words!r}: allowed are {', '.join(AUTHORITIES)}, one or several")
    return frozenset[str]().union(*(AUTHORITIES[word] for word in split))


def _words(grants: frozenset[str]) -> str:
    """The shortest text for a set of single authorities."""
    for bundle in _BUNDLES:
        if AUTHORITIES[bundle] == grants:
            return bundle
    return " ".join(_SINGLE[one] for one in ALL_IN_ORDER if one in grants) or "*EXCLUDE"


ALL_IN_ORDER: Final = tuple(next(iter(grants)) for grants in AUTHORITIES.values() if len(grants) == 1)


def added(before: str, words: str) -> str:
    """The authorities after ``words`` are granted in addition to ``before`` (empty for none); *EXCLUDE removes all."""
    grants = granted_names(words)
    return _words(grants | granted_names(before) if before and grants else grants)


def revoked(before: str, words: str) -> str:
    """The authorities of ``before`` that remain after ``words`` are revoked; empty when nothing remains.

    ``before`` may be *EXCLUDE, which only revoking *EXCLUDE removes.
    """
    left = granted_names(before) - granted_names(words)
    if not left and not granted_names(before) and "*EXCLUDE" not in words.split():
        return "*EXCLUDE"  # revoking authorities from an excluded user changes nothing
    return _words(left) if left else ""


@dataclass(slots=True)
class Profile:
    """A user profile.

    Attributes:
        name: its name.
        allobj: whether it has the special authority *ALLOBJ.
        groups: the group profiles whose authorities it also has, GRPPRF first, then SUPGRPPRF.
        disabled: whether sign-on is refused (STATUS(*DISABLED)).
        expired: whether its password must be changed before a sign-on (PWDEXP(*YES)).
        current_library: the current library of its jobs of host servers (CURLIB); empty for none.
        ccsid: the CCSID of its jobs of host servers (CCSID); 0 for that of the system.
    """

    name: str
    allobj: bool = False
    groups: tuple[str, ...] = ()
    disabled: bool = False
    expired: bool = False
    current_library: str = ""
    ccsid: int = 0

    def save(self) -> dict[str, Any]:
        """Its fields for the catalogue."""
        return {
            "allobj": self.allobj, "groups": self.groups, "disabled": self.disabled, "expired": self.expired,
            "current_library": self.current_library, "ccsid": self.ccsid,
        }  # fmt: skip


@dataclass(slots=True)
class AuthorizationList:
    """An authorization list: authorities by user, including *PUBLIC."""

    name: str
    entries: dict[str, str]

    def save(self) -> dict[str, Any]:
        """Its fields for the catalogue."""
        return {"entries": self.entries}
