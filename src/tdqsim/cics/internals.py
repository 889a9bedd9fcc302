"""Access to the private parts of a region and of a task, for the other rooms of the package.

A :class:`~tdqsim.cics.Region` and a :class:`~tdqsim.cics.Task` show their commands and the parts that programs use.
What the language of a program, a recorder, the test kit or the server needs beside these is reached through this
module, and nowhere else.
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


def clock_of(uow: UnitOfWork) -> Clock:
    """The clock of the region in which a unit of work runs."""
    return uow._region.clock


class TaskInternals:
    """What a task keeps private, for the language of its program, a recorder, the test kit and the server.

    Args:
        task: the task.
    """

    __slots__ = ("_task",)

    def __init__(self, task: TaskData) -> None:
        self._task = task

    @property
    def level(self) -> ProgramLevel | None:
        """The level of the program that runs; None at the top."""
        return self._task._level

    @property
    def handles(self) -> Handles:
        """The active HANDLE and IGNORE commands, and those that PUSH HANDLE has suspended; a CALL may replace them."""
        return self._task._handles

    @handles.setter
    def handles(self, handles: Handles) -> None:
        self._task._handles = handles

    @property
    def storage(self) -> object:
        """An object of its programs in another language, None if there is none; it is dropped when the task ends."""
        return self._task._storage

    @storage.setter
    def storage(self, storage: object) -> None:
        self._task._storage = storage

    @property
    def ended(self) -> bool:
        """Whether the task is over."""
        return self._task._ended

    @property
    def implicit(self) -> bool:
        """Whether the task is for one command outside any task, or writes a message of the region."""
        return self._task._implicit

    @property
    def mirror(self) -> bool:
        """Whether the task carries out the requests of another region."""
        return self._task._is_mirror

    @property
    def requester(self) -> str:
        """What has called the task from another region.

        For a mirror the name of the unit of work there, ``APPLID.ID``; for a routed transaction its relay task,
        ``APPLID NUMBER``; empty for other tasks.
        """
        task = self._task
        if task._is_mirror:
            return str(getattr(task, "requester", ""))
        surrogate = task._facility.surrogate if task._facility is not None else None
        return "" if surrogate is None else f"{surrogate.path[-1]} {surrogate.session}"

    @property
    def request(self) -> Latch | None:
        """The request of a queue that started the task, or None."""
        return self._task._request

    @property
    def startcode(self) -> str:
        """Its STARTCODE, such as ``QD``; ``U`` for a task of the calling Python program."""
        return self._task._startcode

    @property
    def strand(self) -> Strand | None:
        """Its strand; None for the program outside, and when a task that a queue has started is over."""
        return self._task._strand

    @property
    def suspended(self) -> tuple[str, str] | None:
        """(kind, name) of what the task waits for, such as ("TD_READ", "PAYQ"); None while it waits for nothing."""
        return self._task._suspended

    @property
    def suspensions(self) -> int:
        """How often the task has waited so far."""
        return self._task._suspensions

    @property
    def unit(self) -> UnitOfWork | None:
        """Its unit of work; None when it has made no recoverable request since the last syncpoint."""
        return self._task._uow if self._task._has_uow else None
