"""A security policy of profiles, as RACF has them: users, groups, and resource profiles with access lists.

The profile that protects a resource is the discrete one of its name, otherwise the most specific generic one that
matches the name. ``%`` matches one character. At the end of a profile's name ``*`` matches all remaining characters;
as a whole qualifier it matches one qualifier, and at the end one or more; ``**`` matches any number of qualifiers.
Profiles are compared from the left, character by character: a character is more specific than ``%``, this than ``*``,
and this than ``**``.

In the profile the user's own entry in the access list decides; without one, the highest of those of the user's groups;
without one, UACC. A resource without a profile cannot be used. A class without any profile is not active, and not
checked, as with Xname=NO of CICS. Sources: Profile names for general resources, RACF Security Administrator's Guide
(IBM Docs).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.security import Access, PasswordCheck, SecurityPolicy

if TYPE_CHECKING:
    from tdqsim.definitions.policyfile import PolicyFile, ResourceProfile, UserProfile

_DAY_NS: Final = 24 * 3600 * 10**9
_PASSWORD_LENGTH: Final = 8
_RANKS: Final = {"%": 1, "*": 2, "**": 3}
_PARTS: Final = re.compile(r"\*\*|.")


def _specificity(profile: str) -> tuple[int, ...]:
    """The rank of each character of a profile's name; the lowest tuple is the most specific profile."""
    return tuple(_RANKS.get(part, 0) for part in _PARTS.findall(profile))


def _pattern(profile: str) -> re.Pattern[str]:
    """The regular expression of a generic profile."""
    if profile in ("*", "**"):
        return re.compile(".*")
    qualifiers = profile.split(".")
    last = len(qualifiers) - 1
    text = ""
    for at, qualifier in enumerate(qualifiers):
        dot = r"\." if at else ""
        if qualifier == "**":
            text += rf"({dot}[^.]+)*" if at else r"([^.]+\.)*"
        elif qualifier == "*":
            text += rf"{dot}.+" if at == last else rf"{dot}[^.]+"
        else:
            stem = qualifier.removesuffix("*")
            text += ("" if at == 1 and qualifiers[0] == "**" else dot) + re.escape(stem).replace("%", ".")
            text += ".*" if stem != qualifier else ""
    return re.compile(text)


class _Class:
    """The profiles of one resource class."""

    def __init__(self, profiles: Mapping[str, ResourceProfile]) -> None:
        generic = sorted((name for name in profiles if set(name) & set("%*")), key=_specificity)
        self._profiles = profiles
        self._patterns = [(_pattern(name), profiles[name]) for name in generic]

    def find(self, name: str) -> ResourceProfile | None:
        """The profile that protects a resource; None if there is none."""
        discrete = None if set(name) & set("%*") else self._profiles.get(name)
        if discrete is not None:
            return discrete
        return next((profile for pattern, profile in self._patterns if pattern.fullmatch(name)), None)


class RacfPolicy(SecurityPolicy):
    """A policy of profiles, from a policy file: ``Region(security="policy.yaml")``.

    Args:
        file: the contents of the policy file, from :func:`tdqsim.definitions.load_policy_file`.
        groups: user -> more groups of which it is a member, such as those of a server's users; looked up at every
            check.
    """

    def __init__(self, file: PolicyFile, groups: Mapping[str, Collection[str]] | None = None) -> None:
        self._file = file
        self._more_groups = {} if groups is None else groups
        self._groups: dict[str, list[str]] = {}
        for group, members in file.groups.items():
            for user in members:
                self._groups.setdefault(user, []).append(group)
        self._classes = {name: _Class(profiles) for name, profiles in file.classes.items() if profiles}
        self._wrong: dict[str, int] = {}
        self._last_used: dict[str, int] = {}

    def access(self, user: str, resource_class: str, name: str) -> Access | None:
        """The access of a user to a resource; None if no profile protects it."""
        found = self._classes[resource_class].find(name) if resource_class in self._classes else None
        if found is None:
            return None
        if user in found.access:
            return Access[found.access[user]]
        groups = (*self._groups.get(user, ()), *self._more_groups.get(user, ()))
        levels = [Access[found.access[group]] for group in groups if group in found.access]
        return max(levels) if levels else Access[found.uacc]

    def permits(self, user: str, resource_class: str, name: str, level: Access) -> bool:
        """See :meth:`SecurityPolicy.permits`."""
        if resource_class not in self._classes:
            return True
        return (self.access(user, resource_class, name) or Access.NONE) >= level

    def knows_user(self, user: str) -> bool:
        """See :meth:`SecurityPolicy.knows_user`."""
        return user in self._file.users

    def has_class(self, resource_class: str) -> bool:
        """See :meth:`SecurityPolicy.has_class`."""
        return super().has_class(resource_class) or resource_class in self._file.classes

    def has_profile(self, resource_class: str, name: str) -> bool:
        """See :meth:`SecurityPolicy.has_profile`."""
        return resource_class in self._classes and self._classes[resource_class].find(name) is not None

    def check_password(self, user: str, password: str, now_ns: int) -> PasswordCheck:
        """See :meth:`SecurityPolicy.check_password`."""
        profile = self._file.users.get(user)
        if profile is None:
            return PasswordCheck("unknown")
        changed_ns, expires_ns = self._times(profile)
        reason = self._reason(user, profile, password)
        if not reason and expires_ns is not None and now_ns >= expires_ns:
            reason = "expired"
        if reason == "wrong":
            self._wrong[user] = self._wrong.get(user, 0) + 1
        answer = PasswordCheck(reason, self._wrong.get(user, 0), changed_ns, expires_ns, self._last_used.get(user))
        if not reason:
            self._wrong.pop(user, None)
            self._last_used[user] = now_ns
        return answer

    def _reason(self, user: str, profile: UserProfile, password: str) -> str:
        limit = self._file.passwords.revoke
        if profile.revoked == "YES" or (limit and self._wrong.get(user, 0) >= limit):
            return "revoked"
        recorded = profile.password if len(password) <= _PASSWORD_LENGTH else profile.phrase
        return "" if recorded and password == recorded else "wrong"

    def _times(self, profile: UserProfile) -> tuple[int | None, int | None]:
        """When the password was changed and when it expires, at midnight UTC."""
        if profile.changed is None:
            return None, None
        moment = datetime.combine(profile.changed, datetime.min.time(), UTC)
        changed_ns = int(moment.timestamp()) * 10**9
        interval = self._file.passwords.interval
        return changed_ns, changed_ns + interval * _DAY_NS if interval else None
