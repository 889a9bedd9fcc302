"""DSPJOBLOG: the job log of a job."""

from __future__ import annotations

from tdqsim.core.capitals import capitals
from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._job_core import JobCore
from tdqsim.ibmi.messages import Message

__all__ = ["dspjoblog", "job_of_log"]


@declare("DSPJOBLOG")
def dspjoblog(core: JobCore, job: str = "*") -> tuple[Message, ...]:
    """The messages of a job's log, oldest first; the escape messages of commands are among them.

    Args:
        job: ``*`` for its own, or ``number/user/name``, ``user/name`` or ``name`` of an active one; of several the
            one that began last.

    Raises:
        EscapeMessage: CPF1070 there is no such active job, CPF2441 another user's, which needs *ALLOBJ.
    """
    core.begin("DSPJOBLOG")
    return tuple(job_of_log(core, job).joblog)


def job_of_log(core: JobCore, job: str) -> JobCore:
    """The job that a name stands for; for arguments and exceptions see :func:`dspjoblog`."""
    if job == "*":
        return core
    words = capitals(job).split("/")
    found = [one for one in core.system.jobs.values() if one.qualified_name.split("/")[-len(words) :] == words]
    if not found:
        core.fail("CPF1070", capitals(job))
    mine = found[-1]._core is core or found[-1].user == core.current_user
    if not mine and not core.system.profiles.find(core.current_user).allobj:
        core.fail("CPF2441", found[-1].qualified_name)
    return found[-1]._core
