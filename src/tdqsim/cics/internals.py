"""Access to the private parts of a region and of a task, for the other rooms of the package.

A :class:`~tdqsim.cics.Region` and a :class:`~tdqsim.cics.Task` show their commands and the parts that programs use.
What the language of a program, a recorder, the test kit or the server needs beside these is reached through this
module, and nowhere else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from inspect import currentframe
from types import FrameType
from typing import TYPE_CHECKING

from tdqsim.cics.kernel.eib import NO_COMMAND, completion
from tdqsim.cics.kernel.interval import StartTime, post
from tdqsim.cics.kernel.task import respond, to_abend
from tdqsim.cics.kernel.waiting import wait
from tdqsim.cics.programs.commands import abend_program
from tdqsim.core.fiber import WAIT, WaitQueue
from tdqsim.core.own_frames import is_own_frame
from tdqsim.errors import StoreError
from tdqsim.facts import EIBFN

if TYPE_CHECKING:
    from tdqsim.cics.kernel.conditions import Condition
    from tdqsim.cics.kernel.task import TaskBase
    from tdqsim.cics.model.level import AbendExit, Handles, ProgramLevel
    from tdqsim.cics.model.queue import Latch
    from tdqsim.cics.model.region import Recorder
    from tdqsim.cics.model.unit import UnitOfWork
    from tdqsim.cics.queues.messages import Messages
    from tdqsim.cics.region import Region
    from tdqsim.cics.region_core import RegionCore
    from tdqsim.core.clock import Clock
    from tdqsim.core.fiber import Fiber
    from tdqsim.datasets import DDCard, SysoutSpool


def check_usable(region: Region, what: str) -> None:
    """Refuse a call from another thread, and one to a closed region; ``what`` names the call.

    Raises:
        RegionClosed: the region is closed.
    """
    region._check(what)


def core_of(region: Region) -> RegionCore:
    """The core of a region: its state and all its parts."""
    return region._core


class RegionInternals:
    """What a region keeps private, for a recorder, the language of programs, and the process that hosts the region.

    Args:
        region: the region. Use it in the thread of the region.
    """

    __slots__ = ("_core",)

    def __init__(self, region: Region) -> None:
        self._core = region._core

    @property
    def recorder(self) -> Recorder | None:
        """What writes down what happens in the region, or None."""
        return self._core.recorder

    @recorder.setter
    def recorder(self, recorder: Recorder | None) -> None:
        self._core.recorder = recorder

    @property
    def watched(self) -> bool:
        """Whether a recorder or a hook is called for every command."""
        return self._core.is_watched

    @property
    def link_watch(self) -> Callable[[str, str, str], AbstractContextManager[object]] | None:
        """Called with the connection, the kind and the network-wide unit of work of each message over a link.

        The context that it returns lasts until the answer.
        """
        return self._core.link_watch

    @link_watch.setter
    def link_watch(self, watch: Callable[[str, str, str], AbstractContextManager[object]] | None) -> None:
        self._core.link_watch = watch

    @property
    def maxtasks(self) -> int:
        """The maximum number of tasks (MXT); 0 for no limit."""
        limits = self._core.limits
        return 0 if limits is None else limits.maxtasks

    @property
    def messages(self) -> Messages:
        """The messages of the region; ``messages.listeners`` are called with each."""
        return self._core.messages

    @property
    def spool(self) -> SysoutSpool:
        """The SYSOUT data sets."""
        return self._core.data_sets.spool

    @property
    def dd_cards(self) -> tuple[DDCard, ...]:
        """The DD cards."""
        return tuple(each.card for each in self._core.data_sets.dds)

    def time_commits(self, add: Callable[[float], object]) -> None:
        """Call a function with the seconds that each commit of the store took."""
        self._core.committer.time_commits(add)

    def store_failed(self, error: str) -> None:
        """End the region as after a failure of its store."""
        self._core.committer.refused(error, StoreError(error))


def clock_of(uow: UnitOfWork) -> Clock:
    """The clock of the region in which a unit of work runs."""
    return uow._region.clock


class TaskInternals:
    """What a task keeps private, for the language of its program, a recorder, the test kit and the server.

    Args:
        task: the task.
    """

    __slots__ = ("_task",)

    def __init__(self, task: TaskBase) -> None:
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
    def place(self) -> str:
        """The line of the user's Python code that issues the present command, as FILE:LINE; empty for none."""
        frame: FrameType | None = currentframe()
        while frame is not None and frame.f_code.co_filename != threading.__file__:
            if is_own_frame(frame):
                return f"{frame.f_code.co_filename}:{frame.f_lineno}"
            frame = frame.f_back
        return ""

    def completed(self, command: str) -> None:
        """Set the EIB to the normal end of a command; to no command at all for one without a function code."""
        self._task.eib.last = completion(command) if command in EIBFN else NO_COMMAND

    def respond(self, condition: Condition, command: str, resource: str = "", *, nohandle: bool = False) -> None:
        """End a command with a condition: set the EIB, and let what the program has declared for the condition act.

        Args:
            condition: the condition.
            command: the name of the command.
            resource: the resource for which it was issued.
            nohandle: whether the command has NOHANDLE, RESP or RESP2.

        Raises:
            Condition: the program does not handle it, and CICS does not ignore it by default.
        """
        respond(self._task, condition, command, resource, nohandle=nohandle, otherwise=None)

    def note_abend(self, error: BaseException) -> None:
        """Set ABCODE and ABPROGRAM from an exception that enters the abend exit of a program."""
        to_abend(self._task, error)

    def abend_exit(self, program: str) -> AbendExit:
        """The exit of HANDLE ABEND PROGRAM: the program takes over the level when the task abends.

        Raises:
            Condition: PGMIDERR 1: there is no such program. PGMIDERR 9: another region has it. NOTAUTH 101: the user
                may not use it.
        """
        return abend_program(self._task, program)

    def wait_until(self, is_over: Callable[[], bool], queue: WaitQueue, kind: str, name: str) -> None:
        """Wait inside a command, at most for DTIMOUT of the transaction; INQUIRE TASK shows the wait meanwhile.

        Args:
            is_over: whether there is nothing to wait for; asked first, and whenever the queue is woken.
            queue: where the task waits.
            kind: the type of what it waits for, such as ``EKCWAIT``.
            name: its name.

        Raises:
            Abend: AKCS: DTIMOUT is over; AEXY or the code of another purge: the task was purged.
        """
        if not is_over():
            wait(self._task, lambda: None if is_over() else WAIT, queue, kind, name)

    def post(
        self,
        ended: Callable[[bool], object],
        interval: int = 0,
        hours: int | None = None,
        minutes: int | None = None,
        seconds: int | None = None,
        *,
        of_day: bool = False,
        reqid: str = "",
    ) -> None:
        """POST: call a function when a time has come. A task has one POST; another one, DELAY or START takes it back.

        Args:
            ended: called at its end with True when it expires or CANCEL names its REQID, with False when it is taken
                back; it may be called again if it was interrupted.
            interval: INTERVAL or TIME, as hhmmss.
            hours: the same in parts (AFTER or AT).
            minutes: with ``hours``.
            seconds: with ``hours``.
            of_day: whether it is a time of the day (TIME, AT) rather than an interval.
            reqid: a name, by which another task's CANCEL ends it.

        Raises:
            Condition: INVREQ 4, 5, 6: hours, minutes, seconds are out of range. EXPIRED: the time of the day is past.
        """
        post(self._task, StartTime(interval, hours, minutes, seconds, of_day), reqid, ended)
        self.completed("POST")

    @property
    def fiber(self) -> Fiber | None:
        """Its fiber; None for the program outside, and when a task that a queue has started is over."""
        return self._task._fiber

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
