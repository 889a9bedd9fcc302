"""What servers ask of a job beside its commands."""

from __future__ import annotations

from tdqsim.ibmi.job import Job

__all__ = ["check_names", "is_immediate"]


def check_names(job: Job, name: str, library: str) -> None:
    """Refuse names that no object can have, as an API that takes a program's bytes unchanged.

    Raises:
        EscapeMessage: CPF9810 such a library, a blank one too; CPF9801 such a name.
    """
    job._core.check_names(name, library)


def is_immediate(job: Job, name: str, library: str) -> bool:
    """Whether a send, or a receive without a wait time, cannot wait, so that a server needs no strand for it.

    Args:
        job: who sends or receives.
        name: a name in upper case, as the job has sent to it or received from it before.
        library: likewise.
    """
    return (name, library) in job._core.sending or (name, library) in job._core.receiving
