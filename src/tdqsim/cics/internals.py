"""Access to the private parts of a region and of a task, for the other rooms of the package.

A :class:`~tdqsim.cics.Region` and a :class:`~tdqsim.cics.Task` show their commands and the parts that programs use.
What the language of a program, a recorder, the test kit or the server needs beside these is reached through the
functions of this module, and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdqsim.cics.model.level import Handles, ProgramLevel
    from tdqsim.cics.model.queue import Latch
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.model.unit import UnitOfWork
    from tdqsim.cics.region import Region
    from tdqsim.cics.region_core import RegionCore
    from tdqsim.core.clock import Clock
    from tdqsim.core.strand import Strand


def check_usable(region: Region, what: str) -> None:
    """Refuse a call from another thread, and one to a closed region; ``what`` names the call.

    Raises:
        RegionClosed: the region is closed.
    """
    region._check(what)


def core_of(region: Region) -> RegionCore:
    """The core of a region: its state and all its parts."""
    return region._core


def handles_of(task: TaskData) -> Handles:
    """The active HANDLE and IGNORE commands, and those that PUSH HANDLE has suspended."""
    return task._handles


def requester_of(task: TaskData) -> str:
    """What has called a task from another region.

    Returns:
        For a mirror the name of the unit of work there, ``APPLID.ID``; for a routed transaction its relay task,
        ``APPLID NUMBER``; empty for other tasks.
    """
    if task._is_mirror:
        return str(getattr(task, "requester", ""))
    surrogate = task._facility.surrogate if task._facility is not None else None
    return "" if surrogate is None else f"{surrogate.path[-1]} {surrogate.session}"


def set_handles(task: TaskData, handles: Handles) -> None:
    """Replace HANDLE and IGNORE, as at the start and the end of a CALL."""
    task._handles = handles


def keep_storage(task: TaskData, storage: object) -> None:
    """Attach an object to the task for its programs in another language; it is dropped when the task ends."""
    task._storage = storage


def kept_storage(task: TaskData) -> object:
    """The object that :func:`keep_storage` attached; None before that."""
    return task._storage


def level_of(task: TaskData) -> ProgramLevel | None:
    """The level of the program that runs; None at the top."""
    return task._level


def has_ended(task: TaskData) -> bool:
    """Whether the task is over."""
    return task._ended


def is_implicit(task: TaskData) -> bool:
    """Whether a task is for one command outside any task, or writes a message of the region."""
    return task._implicit


def is_mirror(task: TaskData) -> bool:
    """Whether a task carries out the requests of another region."""
    return task._is_mirror


def request_of(task: TaskData) -> Latch | None:
    """The request of a queue that started the task, or None."""
    return task._request


def startcode_of(task: TaskData) -> str:
    """Its STARTCODE, such as ``QD``; ``U`` for a task of the calling Python program."""
    return task._startcode


def strand_of(task: TaskData) -> Strand | None:
    """Its strand; None for the program outside, and when a task that a queue has started is over."""
    return task._strand


def suspended_of(task: TaskData) -> tuple[str, str] | None:
    """(kind, name) of what the task waits for, such as ("TD_READ", "PAYQ"); None while it waits for nothing."""
    return task._suspended


def unit_of(task: TaskData) -> UnitOfWork | None:
    """Its unit of work; None when it has made no recoverable request since the last syncpoint."""
    return task._uow if task._has_uow else None


def clock_of(uow: UnitOfWork) -> Clock:
    """The clock of the region in which a unit of work runs."""
    return uow._region.clock


def suspensions_of(task: TaskData) -> int:
    """How often a task has waited so far."""
    return task._suspensions
