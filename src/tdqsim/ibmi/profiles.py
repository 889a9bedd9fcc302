"""User profiles, the authority of users to other profiles, and authorization lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from tdqsim.ibmi.authority import (
    ALL,
    DEFAULT_LIBRARY,
    NONE,
    SAME,
    SYSTEM_VALUE,
    AuthorizationList,
    PasswordKeeper,
    Profile,
    granted_names,
)
from tdqsim.ibmi.catalogue import Catalogue
from tdqsim.ibmi.data import SystemData, job_page
from tdqsim.ibmi.errors import ParameterError, check_flags
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.names import several_names
from tdqsim.ibmi.objects import SystemObject, new_name

SECURITY_OFFICER: Final = "QSECOFR"


def _disabled(status: str) -> bool:
    if status not in ("*ENABLED", "*DISABLED"):
        raise ParameterError(f"status {status!r}: allowed are *ENABLED and *DISABLED")
    return status == "*DISABLED"


def _library(curlib: str) -> str:
    return "" if curlib == DEFAULT_LIBRARY else new_name(curlib, "curlib")


def _ccsid(ccsid: int | str) -> int:
    if ccsid == SYSTEM_VALUE:
        return 0
    if not isinstance(ccsid, int) or isinstance(ccsid, bool):
        raise ParameterError(f"ccsid {ccsid!r}: a number or *SYSVAL is needed")
    job_page(ccsid)
    return ccsid


class Profiles:
    """The user profiles of one system, their authorities, and its authorization lists.

    Args:
        system: the system.
        catalogue: stores them.

    Attributes:
        by_name: the profiles by name.
        authorities: the authorities of users to other profiles, by (profile, user).
        authorization_lists: the authorization lists by name.
        passwords: the server's object that keeps the passwords of CRTUSRPRF and CHGUSRPRF; None without a server.
    """

    __slots__ = ("_catalogue", "_system", "authorities", "authorization_lists", "by_name", "passwords")

    def __init__(self, system: SystemData, catalogue: Catalogue) -> None:
        self._system, self._catalogue = system, catalogue
        self.passwords: PasswordKeeper | None = None
        self.by_name = {profile.name: profile for profile in catalogue.profiles()}
        self.authorities = dict(catalogue.profile_authorities())
        self.authorization_lists = {one.name: one for one in catalogue.authorization_lists()}

    def crtusrprf(
        self, usrprf: str, *, allobj: bool = False, grpprf: str = "*NONE", supgrpprf: str | Sequence[str] = (),
        status: str = "*ENABLED", pwdexp: bool = False, password: str = NONE, curlib: str = DEFAULT_LIBRARY,
        ccsid: int | str = SYSTEM_VALUE,
    ) -> Profile:  # fmt: skip
        """Create or replace a user profile.

        Args:
            usrprf: its name, 1 to 10 characters.
            allobj: whether it has the special authority *ALLOBJ.
            grpprf: the group profile whose authorities its user also has, or ``*NONE``.
            supgrpprf: further group profiles, at most 15, as a list or as text with blanks between them.
            status: ``*ENABLED``, or ``*DISABLED`` to refuse sign-on.
            pwdexp: whether its password must be changed before a sign-on.
            password: the password for sign-on to a server of the system; ``*USRPRF`` is the profile's name, ``*NONE``
                means no password.
            curlib: the current library of the user's jobs of host servers, ``*CRTDFT`` for none.
            ccsid: the CCSID of these jobs, ``*SYSVAL`` for that of the system.

        Raises:
            ConversionError: there is no such CCSID.
            ParameterError: a name, status or password is not valid, a group does not exist, there are too many groups,
                or there is no server that keeps the password.
        """
        check_flags(allobj=allobj, pwdexp=pwdexp)
        name = new_name(usrprf, "user profile")
        disabled = _disabled(status)
        further = several_names(supgrpprf)
        wanted = [*(() if grpprf == "*NONE" else (grpprf,)), *further]
        if len(further) > LIMITS["supplemental_groups_maximum"] or (further and grpprf == "*NONE"):
            most = LIMITS["supplemental_groups_maximum"]
            raise ParameterError(f"supgrpprf {supgrpprf!r}: at most {most} profiles, beside one in grpprf")
        groups = tuple(self.find(group).name for group in wanted)
        if name in groups:
            raise ParameterError(f"grpprf {name}: a profile cannot be its own group")
        library, of_jobs = _library(curlib), _ccsid(ccsid)
        if password != NONE:
            self._keep_password(name, password)
        profile = Profile(name, allobj, groups, disabled, pwdexp, library, of_jobs)
        self._system.carry_out(
            partial(self.by_name.__setitem__, name, profile), self._catalogue.record("profile", name, profile.save())
        )
        return profile

    def _keep_password(self, name: str, password: str) -> None:
        if self.passwords is None:
            raise ParameterError("password: a server that clients sign on to keeps passwords, and there is none here")
        self.passwords.keep(name, {"*NONE": None, "*USRPRF": name}.get(password, password))

    def chgusrprf(
        self, usrprf: str, *, status: str = "*SAME", pwdexp: bool | None = None, password: str = SAME,
        curlib: str = SAME, ccsid: int | str = SAME,
    ) -> Profile:  # fmt: skip
        """Change the sign-on attributes of a user profile.

        Args:
            usrprf: the profile.
            status: ``*ENABLED``, ``*DISABLED`` or ``*SAME``.
            pwdexp: whether the password must be changed before a sign-on; None leaves it unchanged.
            password: the new password, ``*USRPRF``, ``*NONE`` or ``*SAME``.
            curlib: the current library of the user's jobs of host servers, ``*CRTDFT`` for none, or ``*SAME``.
            ccsid: the CCSID of these jobs, ``*SYSVAL`` for that of the system, or ``*SAME``.

        Raises:
            ConversionError: there is no such CCSID.
            ParameterError: there is no such profile or status, or the password cannot be kept.
        """
        check_flags(pwdexp=pwdexp or False)
        profile = self.find(usrprf)
        library = profile.current_library if curlib == SAME else _library(curlib)
        of_jobs = profile.ccsid if ccsid == SAME else _ccsid(ccsid)
        if password != SAME:
            self._keep_password(profile.name, password)
        disabled = profile.disabled if status == "*SAME" else _disabled(status)
        expired = profile.expired if pwdexp is None else pwdexp
        after = replace(profile, disabled=disabled, expired=expired, current_library=library, ccsid=of_jobs)

        def make() -> None:
            profile.disabled, profile.expired = disabled, expired
            profile.current_library, profile.ccsid = library, of_jobs

        meta = self._catalogue.record("profile", profile.name, after.save())
        self._system.carry_out(make, meta)
        return profile

    def find(self, name: str) -> Profile:
        """The profile with this name.

        Raises:
            ParameterError: there is no such profile (CPF2204).
        """
        wanted = new_name(name, "user profile")
        profile = self.by_name.get(wanted)
        if profile is None:
            raise ParameterError(f"user profile {wanted} not found (CPF2204); create it with crtusrprf")
        return profile

    def grant_profile(self, usrprf: str, user: str, aut: str = "*USE") -> None:
        """Grant a user authority to another user profile, as GRTOBJAUT does for objects.

        Raises:
            ParameterError: there is no such profile or authority.
        """
        granted_names(aut)
        usrprf, user = self.find(usrprf).name, self.find(user).name
        meta = self._catalogue.record("profileaut", f"{usrprf}/{user}", {"authority": aut})
        self._system.carry_out(partial(self.authorities.__setitem__, (usrprf, user), aut), meta)

    def crtautl(self, autl: str, entries: dict[str, str]) -> AuthorizationList:
        """Create or replace an authorization list: authorities by user, including ``*PUBLIC``.

        Raises:
            ParameterError: there is no such profile or authority.
        """
        name = new_name(autl, "authorization list")
        checked = {}
        for user, authority in entries.items():
            granted_names(authority)
            checked[user if user == "*PUBLIC" else self.find(user).name] = authority
        listed = AuthorizationList(name, checked)
        meta = self._catalogue.record("autl", name, listed.save())
        self._system.carry_out(partial(self.authorization_lists.__setitem__, name, listed), meta)
        return listed

    def granted(self, user: str, target: SystemObject) -> frozenset[str]:
        """The single authorities that a user has to an object.

        They come from the first of these sources that specifies any: *ALLOBJ, the user's own (as owner, private, or in
        the authorization list), those of all groups of the user together, the public authority.
        """
        profile = self.by_name.get(user) or self.find(user)
        if profile.allobj:
            return ALL
        own = target.privately(profile.name, self.authorization_lists)
        if own is not None:
            return own
        grouped = [self._group_granted(group, target) for group in profile.groups]
        specified = [one for one in grouped if one is not None]
        return frozenset[str]().union(*specified) if specified else target.publicly(self.authorization_lists)

    def _group_granted(self, group: str, target: SystemObject) -> frozenset[str] | None:
        profile = self.by_name.get(group)
        if profile is None:
            return None
        return ALL if profile.allobj else target.privately(group, self.authorization_lists)
