"""The user profiles of a machine, who has authority to which, and its authorization lists."""

from __future__ import annotations

from dataclasses import replace

from tdqsim.core.argument_types import types_told
from tdqsim.core.changes import carry_out
from tdqsim.ibmi._authority import ALL, NONE, SAME, AuthorizationList, PasswordKeeper, Profile, granted_names
from tdqsim.ibmi._errors import ParameterError, check_flags
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._ground import Ground, ObjectChange
from tdqsim.ibmi._objects import SystemObject, new_name

__all__ = ["Profiles"]


def _disabled(status: str) -> bool:
    if status not in ("*ENABLED", "*DISABLED"):
        raise ParameterError(f"status {status!r}: allowed are *ENABLED and *DISABLED")
    return status == "*DISABLED"


class Profiles(Ground):
    """See the module's text."""

    def _load(self) -> None:
        super()._load()
        self.passwords: PasswordKeeper | None = None
        self.profiles = {profile.name: profile for profile in self._catalogue.profiles()}
        self.profile_authorities = dict(self._catalogue.profile_authorities())
        self.authorization_lists = {one.name: one for one in self._catalogue.authorization_lists()}

    @types_told
    def crtusrprf(
        self, name: str, *, allobj: bool = False, grpprf: str = "*NONE", supgrpprf: tuple[str, ...] = (),
        status: str = "*ENABLED", pwdexp: bool = False, password: str = NONE,
    ) -> Profile:  # fmt: skip
        """Create a user profile, or make it anew.

        Args:
            name: 1 to 10 characters.
            allobj: it has the special authority *ALLOBJ.
            grpprf: the group profile whose authorities its user has too, or ``*NONE``.
            supgrpprf: more of them, at most 15.
            status: ``*ENABLED``, or ``*DISABLED``: nobody can sign on with it.
            pwdexp: its password has to be changed before somebody can.
            password: for sign-ons to a server of the system; ``*USRPRF`` is the name. ``*NONE`` gives none.

        Raises:
            ParameterError: a name is not one, a group is not there, there are too many, or a status is none; a
                password cannot be one, or there is no server that keeps it.
        """
        self.check_open()
        check_flags(allobj=allobj, pwdexp=pwdexp)
        name = new_name(name, "user profile")
        disabled = _disabled(status)
        wanted = (() if grpprf == "*NONE" else (grpprf,)) + tuple(supgrpprf)
        if len(supgrpprf) > LIMITS["supplemental_groups_maximum"] or (supgrpprf and grpprf == "*NONE"):
            most = LIMITS["supplemental_groups_maximum"]
            raise ParameterError(f"supgrpprf {supgrpprf!r}: at most {most} profiles, beside one in grpprf")
        groups = tuple(self.profile(group).name for group in wanted)
        if name in groups:
            raise ParameterError(f"grpprf {name}: a profile is no group of its own")
        if password != NONE:
            self._keep_password(name, password)
        profile = Profile(name, allobj, groups, disabled, pwdexp)
        self._carry_out(self._catalogue.record("profile", name, profile.save()), (self.profiles, name, profile))
        return profile

    def _keep_password(self, name: str, password: str) -> None:
        if self.passwords is None:
            raise ParameterError("password: a server that clients sign on to keeps passwords, and there is none here")
        self.passwords.keep(name, {"*NONE": None, "*USRPRF": name}.get(password, password))

    def chgusrprf(
        self, name: str, *, status: str = "*SAME", pwdexp: bool | None = None, password: str = SAME
    ) -> Profile:
        """Change who can sign on with a user profile.

        Args:
            name: the profile.
            status: ``*ENABLED``, ``*DISABLED`` or ``*SAME``.
            pwdexp: whether its password has to be changed first; None leaves it.
            password: another one, ``*USRPRF``, ``*NONE`` or ``*SAME``.

        Raises:
            ParameterError: there is no such profile or status, or the password cannot be kept.
        """
        self.check_open()
        check_flags(pwdexp=pwdexp or False)
        profile = self.profile(name)
        if password != SAME:
            self._keep_password(profile.name, password)
        disabled = profile.disabled if status == "*SAME" else _disabled(status)
        expired = profile.expired if pwdexp is None else pwdexp
        after = replace(profile, disabled=disabled, expired=expired)

        def make() -> None:
            profile.disabled, profile.expired = disabled, expired

        meta = self._catalogue.record("profile", profile.name, after.save())
        carry_out(self.store.durable, ObjectChange(make, self.forget_places), meta)
        return profile

    def profile(self, name: str) -> Profile:
        """The profile of that name.

        Raises:
            ParameterError: there is none (CPF2204).
        """
        self.dispatcher.check_thread()
        wanted = new_name(name, "user profile")
        found = self.profiles.get(wanted)
        if found is None:
            raise ParameterError(f"user profile {wanted} not found (CPF2204); create it with crtusrprf")
        return found

    def grant_profile(self, profile: str, user: str, authority: str = "*USE") -> None:
        """Give a user authority to another profile.

        Raises:
            ParameterError: a profile is not there, or the authority is none.
        """
        self.check_open()
        granted_names(authority)
        profile, user = self.profile(profile).name, self.profile(user).name
        meta = self._catalogue.record("profileaut", f"{profile}/{user}", {"authority": authority})
        self._carry_out(meta, (self.profile_authorities, (profile, user), authority))

    @types_told
    def crtautl(self, name: str, entries: dict[str, str]) -> AuthorizationList:
        """Create or replace an authorization list: authorities by user, ``*PUBLIC`` among them.

        Raises:
            ParameterError: a profile is not there, or an authority is none.
        """
        self.check_open()
        name = new_name(name, "authorization list")
        checked = {}
        for user, authority in entries.items():
            granted_names(authority)
            checked[user if user == "*PUBLIC" else self.profile(user).name] = authority
        listed = AuthorizationList(name, checked)
        self._carry_out(self._catalogue.record("autl", name, listed.save()), (self.authorization_lists, name, listed))
        return listed

    def granted(self, user: str, target: SystemObject) -> frozenset[str]:
        """The single authorities that a user has to an object.

        In this order, the first that says anything: *ALLOBJ, the user's own (as owner, privately, on the list), those
        of his groups together, the public one.
        """
        self.dispatcher.check_thread()
        profile = self.profile(user)
        if profile.allobj:
            return ALL
        own = target.privately(profile.name, self.authorization_lists)
        if own is not None:
            return own
        grouped = [self._group_granted(group, target) for group in profile.groups]
        found = [one for one in grouped if one is not None]
        return frozenset[str]().union(*found) if found else target.publicly(self.authorization_lists)

    def _group_granted(self, group: str, target: SystemObject) -> frozenset[str] | None:
        profile = self.profiles.get(group)
        if profile is None:
            return None
        return ALL if profile.allobj else target.privately(group, self.authorization_lists)
