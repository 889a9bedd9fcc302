"""Functions of a job that servers need in addition to its commands."""

from __future__ import annotations

from tdqsim.ibmi._data import job_page as job_page  # noqa: PLC0414  (a public name of this module)
from tdqsim.ibmi.job import Job


def check_names(job: Job, name: str, library: str) -> None:
    """Refuse names that no object can have, for an API that does not convert the names in a program's bytes.

    Raises:
        EscapeMessage: CPF9810 the library's name is not valid, or blank; CPF9801 the queue's name is not valid.
    """
    job._core.check_names(name, library)


def is_immediate(job: Job, name: str, library: str) -> bool:
    """Whether a send, or a receive without a wait time, never waits, so that a server needs no strand for it.

    Args:
        job: the job that sends or receives.
        name: the queue's name in upper case, as the job has used it before.
        library: its library, likewise.
    """
    return (name, library) in job._core.sending or (name, library) in job._core.receiving
