"""The policy file of a region: users, groups, and resource profiles as RACF has them.

::

    users:
      CICSUSER:
      CICSRGN:
      ALICE: {password: pw4alice, changed: 2026-01-31}
      BOB: {revoked: YES}
    groups:
      PAYTEAM: [ALICE]
    passwords: {revoke: 5, interval: 90}
    classes:
      TCICSTRN:                                 # XTRAN: who may attach which transactions
        PAY1: {uacc: NONE, access: {PAYTEAM: READ}}
        "**": {uacc: READ}
      FCICSFCT:                                 # XFCT: files
        "PAY*": {access: {PAYTEAM: UPDATE, BOB: READ}}
      SURROGAT:
        BOB.DFHSTART: {access: {ALICE: READ}}

A class without profiles is not checked. In ``region.yaml`` the key ``policy`` names the file; in Python,
``Region(security="policy.yaml")``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from tdqsim.core.spelling import did_you_mean
from tdqsim.definitions._fields import FileFormat, Number, Text, refuse
from tdqsim.definitions._resource import YesNo
from tdqsim.definitions.group import read_text
from tdqsim.definitions.regionfile import Level, Strict, Who, located
from tdqsim.definitions.yamltext import MapNode, kind_of, read_yaml
from tdqsim.errors import DefinitionError, Problem
from tdqsim.facts import table

_CLASSES = tuple(row["class"] for row in table("security_classes"))


def _check_class(value: str) -> str:
    own = re.fullmatch(r"[A-Z0-9@#$]{1,8}", value, re.ASCII) and re.search(r"[0-9@#$]", value)
    if value not in _CLASSES and not own:
        raise refuse(
            f"is not a resource class; allowed are {', '.join(_CLASSES)}, and classes of your own with a digit or one "
            "of @ # $ in the name"
        )
    return value


def _check_profile(value: str) -> str:
    if not re.fullmatch(r"[!-~]{1,246}", value, re.ASCII) or set(value) & set(",;()&"):
        raise refuse("must be 1 to 246 printable characters without blanks , ; ( ) &")
    qualifiers = value.split(".")
    for at, qualifier in enumerate(qualifiers):
        stars = qualifier.count("*")
        ends = at == len(qualifiers) - 1 and qualifier.endswith("*") and stars == 1
        if stars and qualifier not in ("*", "**") and not ends:
            raise refuse("may have * only as a whole qualifier or at the end, and ** only as a whole qualifier")
    if qualifiers.count("**") > 1:
        raise refuse("may have ** only once")
    return value


def _check_date(value: object) -> object:
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise refuse("must be a date such as 2026-01-31") from None


def _or_empty(value: object) -> object:
    return {} if value == "" else value


class UserProfile(Strict):
    """A user.

    Attributes:
        password: up to 8 characters; without one, every password is wrong.
        phrase: a password phrase, 9 to 100 characters.
        changed: the date of the last change of the password; without one it does not expire.
        revoked: whether the user is revoked, and cannot sign on.
    """

    password: Annotated[str, Text(8)] = ""
    phrase: Annotated[str, Text(100, minimum=9)] = ""
    changed: Annotated[date | None, BeforeValidator(_check_date)] = None
    revoked: YesNo = "NO"


class Passwords(Strict):
    """The rules for passwords.

    Attributes:
        revoke: the number of wrong passwords in a row after which a user is revoked; 0 for no limit.
        interval: days after which a password expires; 0 for never.
    """

    revoke: Annotated[int, Number(0, 254)] = 0
    interval: Annotated[int, Number(0, 254)] = 0


class ResourceProfile(Strict):
    """A profile.

    Attributes:
        uacc: the universal access, for users without an entry.
        access: the access list: the level by user or group.
    """

    uacc: Level = "NONE"
    access: Mapping[Who, Level] = Field(default_factory=dict)


_Profiles = Mapping[
    Annotated[str, AfterValidator(_check_profile)], Annotated[ResourceProfile, BeforeValidator(_or_empty)]
]


class PolicyFile(Strict):
    """The contents of a policy file; ``help('tdqsim.definitions.policyfile')`` shows an example.

    Attributes:
        format: the version of the format of the file, 1.
        users: the users that exist.
        groups: the members of each group.
        passwords: the rules for passwords.
        classes: the profiles by class and name.
    """

    format: Annotated[int, FileFormat("policy file")] = 1
    users: Mapping[Who, Annotated[UserProfile, BeforeValidator(_or_empty)]] = Field(default_factory=dict)
    groups: Mapping[Who, tuple[Who, ...]] = Field(default_factory=dict)
    passwords: Passwords = Field(default_factory=Passwords)
    classes: Mapping[Annotated[str, AfterValidator(_check_class)], Annotated[_Profiles, BeforeValidator(_or_empty)]] = (
        Field(default_factory=dict)
    )


def load_policy_file(path: Path | str) -> PolicyFile:
    """Load a policy file.

    Raises:
        DefinitionError: it is missing or has errors; all are listed, with lines.
    """
    file = str(path)
    root = read_yaml(read_text(Path(path)), file)
    if root is None:
        message = "is empty, so that nothing would be checked; write classes: {} for a policy without profiles"
        raise DefinitionError([Problem(file, 0, "", "", "", message)])
    if not isinstance(root, MapNode):
        raise DefinitionError([Problem(file, root.line, "", "", "", f"must be a mapping, not {kind_of(root)}")])
    problems: list[Problem] = []
    try:
        policy = PolicyFile.model_validate(root.plain())
    except ValidationError as error:
        problems = [_problem(file, root, item["loc"], item["type"], item["msg"]) for item in error.errors()]
    else:
        problems = list(_unknown(file, root, policy))
    if problems:
        raise DefinitionError(sorted(problems, key=lambda problem: problem.line))
    return policy


_MODELS: Mapping[str, type[Strict]] = {"users": UserProfile, "passwords": Passwords, "classes": ResourceProfile}


def _problem(file: str, root: MapNode, loc: tuple[int | str, ...], kind: str, text: str) -> Problem:
    place = tuple(step for step in loc if step != "[key]")
    line, shown = located(root, place)
    model: type[Strict] = _MODELS.get(str(place[0]), PolicyFile) if len(place) > 1 else PolicyFile
    known = sorted(model.model_fields)
    message = {
        "extra_forbidden": "is not known in a policy file"
        + (did_you_mean(str(place[-1]), known) or f"; allowed are {', '.join(known)}"),
        "tuple_type": "must be a list",
        "dict_type": "must be a mapping",
        "model_type": "must be a mapping",
    }.get(kind, text)
    return Problem(file, line, "", ".".join(str(step) for step in place), shown, message)


def _unknown(file: str, root: MapNode, policy: PolicyFile) -> Iterator[Problem]:
    """Names in groups and access lists that are neither a user nor a group, and groups with the name of a user."""
    users, groups = policy.users.keys(), policy.groups.keys()
    for group, members in policy.groups.items():
        line, _ = located(root, ("groups", group))
        if group in users:
            yield Problem(file, line, "", f"groups.{group}", "", "is the name of a user")
        for user in members:
            if user not in users:
                words = did_you_mean(user, sorted(users)) or f"; users are {', '.join(sorted(users)) or 'none'}"
                yield Problem(file, line, "", f"groups.{group}", user, f"is not a user{words}")
    for resource_class, profiles in policy.classes.items():
        for name, profile in profiles.items():
            for who in profile.access:
                if who not in users and who not in groups:
                    line, _ = located(root, ("classes", resource_class, name, "access", who))
                    known = sorted({*users, *groups})
                    words = did_you_mean(who, known) or f"; allowed are {', '.join(known) or 'none'}"
                    field = f"classes.{resource_class}.{name}.access"
                    yield Problem(file, line, "", field, who, f"is neither a user nor a group{words}")
