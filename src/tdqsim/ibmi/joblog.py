"""DSPJOBLOG: the job log of a job."""

from __future__ import annotations

from tdqsim.core.capitals import capitals
from tdqsim.ibmi.declare import declare
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.messages import Message


@declare("DSPJOBLOG")
def dspjoblog(core: JobCore, job: str = "*") -> tuple[Message, ...]:
    """The messages of a job's log, oldest first, including the escape messages of commands.

    Args:
        job: ``*`` for the job's own log, or ``number/user/name``, ``user/name`` or ``name`` of an active job; if
            several match, the one that was started last.

    Raises:
        EscapeMessage: CPF1070 there is no such active job, CPF2441 it is another user's job, which requires *ALLOBJ.
    """
    core.begin("DSPJOBLOG")
    return tuple(job_of_log(core, job).joblog)


def job_of_log(core: JobCore, job: str) -> JobCore:
    """Find a job by its name; for arguments and exceptions see :func:`dspjoblog`."""
    if job == "*":
        return core
    words = capitals(job).split("/")
    matching = [one for one in core.system.jobs.values() if one.qualified_name.split("/")[-len(words) :] == words]
    if not matching:
        name, user, number = [*reversed(words), "", ""][:3]
        core.fail("CPF1070", name, user, number)
    last = matching[-1]
    mine = last._core is core or last.user == core.current_user
    if not mine and not core.system.profiles.find(core.current_user).allobj:
        core.fail("CPF2441", last.qualified_name, rule="JOBLOG-OTHER")
    return last._core
