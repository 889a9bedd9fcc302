"""A job with all its APIs and commands, and a job that was started."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self

from typing_extensions import TypeVar

from tdqsim.core.capitals import capitals
from tdqsim.core.dispatch import Strand
from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._errors import JobEnded
from tdqsim.ibmi._programs import ProgramCalls
from tdqsim.ibmi._qsys2 import Services
from tdqsim.ibmi.messages import Message

if TYPE_CHECKING:
    from tdqsim.ibmi.system import System

T_co = TypeVar("T_co", covariant=True, default=Any)

__all__ = ["Job", "StartedJob"]


class Job(ProgramCalls):
    """A job: every API in Python form as a method, in byte form through :meth:`call`, and the CL commands.

    Made by :meth:`System.job` and :meth:`System.start`; ended by :meth:`end`, or by the end of a ``with`` block.

    Args:
        system: where it runs.
        name: job name.
        user: its user profile.
        number: six digits, by which it differs from active jobs of the same name and user.
        current_library: name, or empty for none.
        library_list: the user part of its library list.
        ccsid: the CCSID of its characters; 65535 says that none are converted.
        run_priority: 1 to 99, the lowest number is served first.
        default_wait: seconds that it waits for a lock.

    Attributes:
        qualified_name: ``number/user/name``.
        joblog: messages that were sent to it, oldest first; the last few thousand of them.
        ended: it can do no more.
        started: its handle when it was started by :meth:`System.start`, else None.
    """

    system: System
    started: StartedJob | None = None

    @property
    def qsys2(self) -> Services:
        """The SQL services for data queues, as Python calls."""
        return Services(self)

    @declare("DSPJOBLOG")
    def dspjoblog(self, job: str = "*") -> tuple[Message, ...]:
        """The messages of a job's log, oldest first; the escape messages of commands are among them.

        Args:
            job: ``*`` for its own, or ``number/user/name``, ``user/name`` or ``name`` of an active one, of several the
                one that began last.

        Raises:
            EscapeMessage: CPF1070 there is no such active job, CPF1071 another user's, which needs *ALLOBJ.
        """
        self.begin("DSPJOBLOG")
        return tuple(self.job_of_log(job).joblog)

    def job_of_log(self, job: str) -> Job:
        """The job whose log is meant; for arguments and what is raised see :meth:`dspjoblog`."""
        self._dispatcher.check_thread()
        if job == "*":
            return self
        words = capitals(job).split("/")
        found = [one for one in self.system.jobs.values() if one.qualified_name.split("/")[-len(words) :] == words]
        if not found:
            self.fail("CPF1070", capitals(job))
        mine = found[-1] is self or found[-1].user == self.current_user
        if not mine and not self.system.profile(self.current_user).allobj:
            self.fail("CPF1071", found[-1].qualified_name)
        return found[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def forget(self) -> None:
        """Forget addresses and authorities, as its end does."""
        self._dispatcher.check_thread()
        self._addresses.clear()
        self._authorized.clear()
        self.forget_places()

    def end(self) -> None:
        """End the job: a wait of it is over, its locks are released, its QTEMP is gone."""
        self._dispatcher.check_thread()
        if self.ended:
            return
        self.ended = True
        self.forget()
        strand = self.strand
        if strand is not None and strand is not self._dispatcher.current:
            strand.cancel(JobEnded(f"job {self.qualified_name} has ended"))
        self.system.locks.release_all(self)
        for one in list(self.qtemp.objects.values()) if not self.system.failed else ():
            self.system.remove_object(one, self.qtemp, job=self)
        self.system.jobs.pop(self.qualified_name, None)
        self.note("ENDJOB")


class StartedJob(Generic[T_co]):
    """The handle of a job that ``system.start`` has started.

    Attributes:
        job: the job.
    """

    def __init__(self, job: Job, call: Callable[..., T_co], args: tuple[Any, ...]) -> None:
        self.job = job
        job.started = self
        self._call = call
        self._args = args
        system = job.system
        self._strand = system.dispatcher.spawn(self._run, name=job.qualified_name, owner=system)
        job.strand = self._strand

    def __repr__(self) -> str:
        return f"<StartedJob {self.job.qualified_name}{' done' if self.done else ''}>"

    def _run(self) -> T_co:
        try:
            self.job.check_usable()
            return self._call(self.job, *self._args)
        finally:
            self.job.end()

    @property
    def strand(self) -> Strand[T_co]:
        """Its strand on the dispatcher."""
        return self._strand

    @property
    def done(self) -> bool:
        """Whether it has come to its end."""
        return self._strand.done

    @property
    def exception(self) -> BaseException | None:
        """What left its program, or None."""
        return self._strand.exception

    def result(self) -> T_co:
        """Run what is needed for it to end, then give what its program returned, or raise what left it."""
        value: T_co = self._strand.result()
        return value
