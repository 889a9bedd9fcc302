"""A job with all its APIs and commands, and the handle of a started job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Self

from typing_extensions import TypeVar

from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.core.callables import refuse_coroutine
from tdqsim.core.fiber import Fiber
from tdqsim.errors import SystemClosed
from tdqsim.ibmi import (
    byte_call,
    change,
    cl_authority,
    cl_journal,
    cl_library,
    cl_object,
    cl_processor,
    cl_queue,
    describe,
    joblog,
    programs,
    retrieve,
    send,
    time_api,
)
from tdqsim.ibmi import (
    receive as receiving,
)
from tdqsim.ibmi.commands import job_command
from tdqsim.ibmi.job_core import JobBase, JobCore
from tdqsim.ibmi.qsys2 import Services
from tdqsim.ibmi.sql import SqlResult, SqlSession
from tdqsim.ibmi.sql_values import SqlValue

if TYPE_CHECKING:
    from tdqsim.ibmi.system import System

T_co = TypeVar("T_co", covariant=True, default=Any)


class Job(JobBase):
    """A job: every API in Python form as a method, in byte form through :meth:`call`, and the CL commands.

    Made by :meth:`System.job` and :meth:`System.start`; ended by :meth:`end`, or by the end of a ``with`` block.

    Args:
        system: the system that it runs on.
        name: job name.
        user: its user profile.
        number: six digits that distinguish it from active jobs with the same name and user.
        current_library: the name of its current library; empty for none.
        library_list: the user part of its library list, as a list or as text with blanks between the names.
        ccsid: the CCSID of its characters; 65535 means no conversion.
        run_priority: 1 to 99; the lowest number is served first.
        default_wait: seconds that it waits for a lock.

    Attributes:
        system: the system that it runs on.
        name, user, number: job name, user profile, six digits.
        qualified_name: ``number/user/name``.
        joblog: messages that were sent to it, oldest first; only the last few thousand.
        started: its handle if it was started by :meth:`System.start`, otherwise None.
    """

    __slots__ = ()
    system: System
    started: StartedJob | None

    qsnddtaq = send.qsnddtaq
    qrcvdtaq = receiving.qrcvdtaq
    qclrdtaq = receiving.qclrdtaq
    qmhrdqm = retrieve.qmhrdqm
    qmhqrdqd = describe.qmhqrdqd
    qmhqcdq = change.qmhqcdq
    qwccvtdt = time_api.qwccvtdt
    receive = receiving.receive
    return_entry = receiving.return_entry

    call = byte_call.call
    call_program = programs.call_program
    command = cl_processor.command

    crtdtaq = cl_queue.crtdtaq
    dltdtaq = cl_queue.dltdtaq
    rtvdtaqxcl = cl_queue.rtvdtaqxcl
    rtvdtaqinf = cl_queue.rtvdtaqinf
    alcobj = cl_object.alcobj
    dlcobj = cl_object.dlcobj
    wrkobjlck = cl_object.wrkobjlck
    chkobj = cl_object.chkobj
    movobj = cl_object.movobj
    rnmobj = cl_object.rnmobj
    crtlib = cl_library.crtlib
    clrlib = cl_library.clrlib
    dltlib = cl_library.dltlib
    addlible = cl_library.addlible
    rmvlible = cl_library.rmvlible
    chglibl = cl_library.chglibl
    chgcurlib = cl_library.chgcurlib
    grtobjaut = cl_authority.grtobjaut
    rvkobjaut = cl_authority.rvkobjaut
    crtusrprf = cl_authority.crtusrprf
    chgusrprf = cl_authority.chgusrprf
    crtjrnrcv = cl_journal.crtjrnrcv
    crtjrn = cl_journal.crtjrn
    strjrnobj = cl_journal.strjrnobj
    endjrnobj = cl_journal.endjrnobj
    dspjrn = cl_journal.dspjrn
    dspjoblog = joblog.dspjoblog

    log = job_command(JobCore.log)
    fail = job_command(JobCore.fail)
    message = job_command(JobCore.message)

    def end(self) -> None:
        """End the job: end its wait, release its locks, and delete its QTEMP."""
        self._changing().end()

    @property
    def qsys2(self) -> Services:
        """The SQL services for data queues, as Python calls."""
        return Services(self._core)

    @explains_wrong_types
    def sql(self, statement: str, *parameters: SqlValue) -> SqlResult:
        """Execute an SQL statement around these services; see :mod:`tdqsim.ibmi.sql`.

        Args:
            statement: the statement, such as ``CALL QSYS2.SEND_DATA_QUEUE(?, 'Q', 'QGPL')``.
            parameters: the values of its parameter markers.

        Raises:
            SqlError: it is not valid or not served (nothing was executed), or it has failed.
        """
        self._core.system.dispatcher.check_thread()
        return SqlSession(self).execute(statement, parameters)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class StartedJob(Generic[T_co]):
    """The handle of a job that ``system.start`` has started, or SBMJOB.

    An exception that ends its program is raised by :meth:`result`; if no caller waits for that, a notice is given.

    Attributes:
        job: the job.
    """

    __slots__ = ("_args", "_call", "_fiber", "job")

    def __init__(self, job: Job, call: Callable[..., T_co], args: tuple[object, ...]) -> None:
        self.job = job
        job.started = self
        self._call = call
        self._args = args
        system = job.system
        self._fiber = system.dispatcher.spawn(self._run, name=job.qualified_name, owner=system)
        job._core.fiber = self._fiber

    def __repr__(self) -> str:
        return f"<StartedJob {self.job.qualified_name}{' done' if self.done else ''}>"

    def _run(self) -> T_co:
        try:
            self.job._core.check_usable()
            value = self._call(self.job, *self._args)
            refuse_coroutine(value)
        except Exception as error:
            told = self._fiber.end_queue or self._fiber.reported  # somebody waits for it, or has ended it
            if not told and not isinstance(error, SystemClosed):
                name, what = self.job.qualified_name, f"{type(error).__name__}: {error}"
                self.job.system.notices.say("job_failed", task=name, what=what, traceback=error)
            raise
        else:
            return value
        finally:
            self.job.end()

    @property
    def fiber(self) -> Fiber[T_co]:
        """Its fiber on the dispatcher."""
        return self._fiber

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._fiber.done

    @property
    def exception(self) -> BaseException | None:
        """The exception that ended its program, or None."""
        return self._fiber.exception

    def result(self) -> T_co:
        """Run jobs until this one has ended; returns its program's result, or raises its exception."""
        value: T_co = self._fiber.result()
        return value
