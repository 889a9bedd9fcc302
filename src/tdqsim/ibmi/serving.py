"""Functions of a job that servers need in addition to its commands."""

from __future__ import annotations

from tdqsim.ibmi.data import job_page as job_page  # noqa: PLC0414  (a public name of this module)
from tdqsim.ibmi.describe import describe
from tdqsim.ibmi.job import Job
from tdqsim.ibmi.layouts import layout
from tdqsim.ibmi.records import RDQD0100


def check_names(job: Job, name: str, library: str) -> None:
    """Refuse names that no object can have, for an API that does not convert the names in a program's bytes.

    Raises:
        EscapeMessage: CPF9810 the library's name is not valid, or blank; CPF9801 the queue's name is not valid.
    """
    job._core.check_names(name, library)


def describe_afresh(job: Job, name: str, library: str) -> RDQD0100:
    """The description of a data queue as QMHQRDQD returns it, but the job remembers neither address nor authority.

    Args:
        job: the job that asks.
        name: the queue's name.
        library: its library, ``*LIBL`` or ``*CURLIB``.

    Raises:
        EscapeMessage: as for QMHQRDQD.
    """
    core = job._core
    core.check_usable()
    form = layout("RDQD0100")
    data = describe(core, name, library, form.name, form.length, remember=False)
    core.give_turn()
    return RDQD0100(**form.parse(data, core.page))


def is_immediate(job: Job, name: str, library: str) -> bool:
    """Whether a send, or a receive without a wait time, never waits, so that a server needs no fiber for it.

    Args:
        job: the job that sends or receives.
        name: the queue's name in upper case, as the job has used it before.
        library: its library, likewise.
    """
    return (name, library) in job._core.sending or (name, library) in job._core.receiving
