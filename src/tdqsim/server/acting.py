"""The tasks and jobs in which requests of users are carried out; all is called in the engine's thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from tdqsim.cics import Condition, Region, Task
from tdqsim.errors import UsageError
from tdqsim.ibmi import Job, ParameterError, System

T = TypeVar("T")
API_TRANSID: Final = "TAPI"
"""The transaction id of tasks that carry out requests of the API."""
CONSOLE_TRANSID: Final = "TCON"
"""The same of the console."""
OWNER_PROFILE: Final = "QSECOFR"
"""The profile of jobs for the owner of the process."""


def in_a_task(region: Region, userid: str, action: Callable[[Task], T], transid: str = API_TRANSID) -> T:
    """Run an action in a separate task with the authority of a user; empty for the default user of the region.

    Raises:
        Condition: that of a command of the action, backed out. It is the answer to the user, and not an abend with a
            dump: a client that polls an empty queue would drive out the dumps of programs.
    """
    with region.task(transid=transid, userid=userid or region.options.dfltuser) as task:
        try:
            return action(task)
        except Condition:
            task.end(normal=True)
            raise
    raise AssertionError("a task without an abend exit passes exceptions on")


def in_a_job(system: System, userid: str, action: Callable[[Job], T], name: str) -> T:
    """Run an action in a separate job with the profile of a user; empty for the owner.

    Raises:
        EscapeMessage: the message of an API or command. TdqError: the user has no profile.
    """
    try:
        with system.job(name, user=userid or OWNER_PROFILE) as job:
            return action(job)
    except ParameterError as error:
        raise UsageError(str(error)) from error
