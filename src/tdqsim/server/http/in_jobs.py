"""Shared by all routes of IBM i systems: a request as a separate job, and its result as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Final, TypeVar

from fastapi import Depends, HTTPException, Path, Query

from tdqsim.errors import UsageError
from tdqsim.ibmi import Job, ParameterError, System
from tdqsim.server.http.access import Caller
from tdqsim.server.users import User

T = TypeVar("T")
_OWNER: Final = "QSECOFR"
_Profile = Annotated[
    str,
    Query(
        pattern=r"^([A-Za-z@#$][A-Za-z0-9@#$_.]{0,9})?$",
        description="the profile of the job, only for the owner of the server; default: QSECOFR",
    ),
]
ObjectName = Annotated[
    str,
    Path(
        pattern=r"^[*]?[A-Za-z0-9@#$_.]{1,10}[*]?$",
        max_length=10,
        description="a name, *LIBL and the like, or a generic name",
    ),
]


async def _with_profile(user: Caller, profile: _Profile = "") -> User:
    """The user of the request, with the profile of its job."""
    if user.id and profile.upper() not in ("", user.id):
        raise HTTPException(
            HTTPStatus.FORBIDDEN, "a job has the profile of its user; only the owner may choose another"
        )
    return user if user.id else replace(user, id=profile.upper() or _OWNER)


JobUser = Annotated[User, Depends(_with_profile)]


def in_a_job(system: System, user: User, action: Callable[[Job], T]) -> T:
    """Run an action in a separate job; call in the engine's thread.

    Raises:
        EscapeMessage: the escape message of the API or command. TdqError: the profile does not exist.
    """
    try:
        with system.job("TDQHTTP", user=user.id) as job:
            return action(job)
    except ParameterError as error:
        raise UsageError(str(error)) from error
