"""Shared by all routes of IBM i systems: a request as a separate job."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Annotated, TypeVar

from fastapi import Depends, HTTPException, Path, Query
from pydantic import AfterValidator

from tdqsim.ibmi import Job, System
from tdqsim.server.acting import in_a_job
from tdqsim.server.host import Host
from tdqsim.server.http.access import Caller
from tdqsim.server.http.common import PathSystem, Served

T = TypeVar("T")
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
    AfterValidator(str.upper),
]


class RequestJobs:
    """Runs actions in separate jobs of a system, with a profile.

    Args:
        host: the host of the application.
        system: the system.
        profile: the profile of the jobs.
    """

    def __init__(self, host: Host, system: System, profile: str) -> None:
        self._host, self._system, self._profile = host, system, profile

    async def run(self, action: Callable[[Job], T]) -> T:
        """Run an action that does not wait.

        Raises:
            EscapeMessage: the escape message of the API or command. TdqError: the profile does not exist.
        """
        return await self._host.ask(partial(in_a_job, self._system, self._profile, action, "TDQHTTP"))

    def submit(self, action: Callable[[Job], T], *, name: str) -> Future[T]:
        """Run an action that may wait, until the future is cancelled."""
        return self._host.submit(partial(in_a_job, self._system, self._profile, action, "TDQHTTP"), name=name)


async def _jobs_of_path(host: Served, system: PathSystem, user: Caller, profile: _Profile = "") -> RequestJobs:
    if user.id and profile.upper() not in ("", user.id):
        raise HTTPException(
            HTTPStatus.FORBIDDEN, "a job has the profile of its user; only the owner may choose another"
        )
    return RequestJobs(host, system, user.id or profile.upper())


Jobs = Annotated[RequestJobs, Depends(_jobs_of_path)]
"""The jobs of the system that the path names, with the profile of the user."""
