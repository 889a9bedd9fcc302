"""A system: a machine with jobs, on one store, dispatcher and clock."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, TypeVar, TypeVarTuple, Unpack

from tdqsim.core.argument_types import types_told
from tdqsim.core.capitals import capitals
from tdqsim.core.clock import Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.stepping import Stepped
from tdqsim.core.store import Durability, Store
from tdqsim.definitions import Definitions
from tdqsim.errors import DefinitionError, Problem, SystemClosed
from tdqsim.ibmi._create import create_queue, obstacle_to
from tdqsim.ibmi._ddm import InProcessLink, RemoteLink, RemoteQueues
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._machine import SECURITY_OFFICER, Machine
from tdqsim.ibmi._objects import Library, new_name
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi._stepping import SteppedJob
from tdqsim.ibmi.job import Job, StartedJob
from tdqsim.ibmi.messages import message

__all__ = ["System"]

J = TypeVar("J", bound=Job)
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")
_PLAIN_LIBRARY = Library(0, "", "QSYS", SECURITY_OFFICER)  # one that is to be made
_JOB_NUMBER = re.compile(r"[0-9]{6}")


class JobOptions(TypedDict, total=False):
    """What may be said of a job beside its name and user; see :class:`Job`."""

    current_library: str
    library_list: tuple[str, ...]
    ccsid: int
    run_priority: int
    default_wait: float


class System(Machine):
    """An IBM i with data queues.

    Args:
        name: its name, for messages.
        path: directory of its store; None for a temporary one that is gone at close; or a Store that is open and empty.
        dispatcher: shared with other systems and regions; one of its own unless given.
        clock: the clock of its own dispatcher.
        seed: order in which its jobs run, of its own dispatcher; 0 is first ready, first run.
        durability: what a FORCE(*YES) send survives: ``process`` (the end of the process) or ``power`` (it is synced).
        timezone: its time zone; *DTS and QWCCVTDT show local time.
        ccsid: CCSID of its jobs, unless they have another.
        limit_bytes: ceiling of the store's files.
        memory_bytes: what the entries of FORCE(*NO) queues may take in memory, before the largest queue overflows to
            the store's files; a keyed one goes there as a whole, where each of its operations is a commit.
        create: make the store when there is none.
        readonly: look at a store that another process may be writing, as of its last commit; nothing can be changed.

    Attributes:
        libraries: by name.
        profiles: user profiles by name.
        authorization_lists: by name.
        jobs: active jobs by qualified name.
        faults: a hook for planned faults, None for none (:class:`MessagePlan`).
        recorder: takes what happens, None for nobody (:class:`~tdqsim.testing.History`).
        date_format: QDATFMT.
        values: the system values that can be set, by name (QPWDLVL, QMAXSIGN).
        passwords: who keeps the passwords that CRTUSRPRF and CHGUSRPRF are given, None for nobody: a server sets it.
        closed: it can do no more.
        failed: it was closed as if its process had ended: nothing more reaches the store.

    Raises:
        StoreError: the store cannot be used.
    """

    @types_told
    def __init__(
        self,
        name: str = "TDQSYS",
        path: Path | str | Store | None = None,
        *,
        dispatcher: Dispatcher | None = None,
        clock: Clock | None = None,
        seed: int = 0,
        durability: Durability = "process",
        timezone: str = "UTC",
        ccsid: int = 37,
        limit_bytes: int | None = None,
        memory_bytes: int = 32 * 1024 * 1024,
        create: bool = True,
        readonly: bool = False,
    ) -> None:
        self.jobs: dict[str, Job] = {}
        self.remote: RemoteQueues = RemoteQueues()
        super().__init__(
            name, path, dispatcher=dispatcher, clock=clock, seed=seed, durability=durability, timezone=timezone,
            ccsid=ccsid, limit_bytes=limit_bytes, memory_bytes=memory_bytes, create=create, readonly=readonly,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<System {self.name}: {len(self.libraries)} libraries, {len(self.jobs)} jobs>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- jobs -----------------------------------------------------------------------------------------------------

    @types_told
    def job(
        self, name: str = "QPADEV0001", user: str = "QPGMR", number: str | None = None, **options: Unpack[JobOptions]
    ) -> Job:
        """A job; use it in a ``with`` statement, or end it with ``job.end()``.

        Args:
            name: job name.
            user: its user profile.
            number: six digits; the next free ones unless given.
            options: current_library, library_list, ccsid, run_priority, default_wait (see :class:`Job`).

        Raises:
            ParameterError: a name or number is not one, the profile is not there, or the same job is active.
        """
        return self._begin(Job, name, user, number, options)

    def _begin(self, kind: type[J], name: str, user: str, number: str | None, options: JobOptions) -> J:
        self.check_open()
        if number is not None and not _JOB_NUMBER.fullmatch(number):
            raise ParameterError(f"number {number!r}: a job number has six digits")
        name, user = new_name(name, "name"), self.profile(user).name
        if f"{number}/{user}/{name}" in self.jobs:
            raise ParameterError(f"job {number}/{user}/{name} is active; another needs another number")
        digits = number if number is not None else self._job_number(name, user)
        job = kind(self, name, user, digits, **JobOptions(ccsid=self.ccsid) | options)
        self.jobs[job.qualified_name] = job
        job.note("JOB")
        return job

    def _job_number(self, name: str, user: str) -> str:
        """The next number under which no such job is active: 000001 to 999999, then 000001 again."""
        most = LIMITS["job_number_maximum"]
        if len(self.jobs) >= most:
            raise ParameterError(f"{most} jobs are active, and no number is left for another one")
        while True:
            digits = f"{(self._next('job') - 1) % most + 1:06d}"
            if f"{digits}/{user}/{name}" not in self.jobs:
                return digits

    def start(
        self,
        call: Callable[[Job, Unpack[Arguments]], T],
        *args: *Arguments,
        name: str = "QDFTJOBD",
        user: str = "QPGMR",
        **options: Unpack[JobOptions],
    ) -> StartedJob[T]:
        """Start a job that runs ``call(job, *args)`` and then ends; it runs when it is dispatched.

        Args:
            call: its program.
            args: passed on.
            name: job name.
            user: its user profile.
            options: as for :meth:`job`.
        """
        return StartedJob(self.job(name, user, **options), call, args)

    def stepped(
        self,
        call: Callable[[Job, Unpack[Arguments]], T],
        *args: *Arguments,
        name: str = "QDFTJOBD",
        user: str = "QPGMR",
        **options: Unpack[JobOptions],
    ) -> Stepped[T]:
        """Start a job that is held before each of its APIs and commands: ``step()`` lets it do the next one.

        For tests of locks, waits and deadlocks, where the order in which two jobs do their commands is the point.

        Args:
            call: its program, as for :meth:`start`.
            args: passed on.
            name: job name.
            user: its user profile.
            options: as for :meth:`job`.

        Returns:
            Who holds it; it stands before its first command.
        """
        job = self._begin(SteppedJob, name, user, None, options)
        job.stepped = Stepped(self.dispatcher)
        job.stepped.strand = StartedJob(job, call, args).strand
        self.dispatcher.run_ready()
        return job.stepped

    def run(self) -> None:
        """Run started jobs until none can go on, the clock jumping to their deadlines."""
        self.check_open()
        self.dispatcher.run()

    def _all_queues(self) -> Iterator[DataQueue]:
        """Every data queue, those of the jobs' QTEMP among them."""
        yield from super()._all_queues()
        for job in self.jobs.values():
            yield from (one for one in job.qtemp.objects.values() if isinstance(one, DataQueue))

    @types_told
    def install(self, definitions: Definitions, *, create_libraries: bool = False) -> tuple[DataQueue, ...]:
        """Create the data queues of definitions, all of them or none.

        Args:
            definitions: what ``load_definitions`` and its like give; other kinds of resources are left alone.
            create_libraries: create the libraries that are not there.

        Raises:
            DefinitionError: a library is not there, or a queue is, or one cannot be made; nothing was created.
        """
        self.check_open()
        wanted = [("QGPL" if one.library == "*CURLIB" else one.library, one) for one in definitions.dtaqs]
        problems = []
        seen: set[tuple[str, str]] = set()
        for library, one in wanted:
            holder = self._libraries.get(library)
            if holder is None and not create_libraries:
                problems.append(
                    Problem(
                        "<install>",
                        0,
                        f"DTAQ({one.dtaq})",
                        "dtaq",
                        library,
                        "there is no such library; create it with crtlib",
                    )
                )
            if (holder is not None and ("*DTAQ", one.name) in holder.objects) or (library, one.name) in seen:
                problems.append(
                    Problem("<install>", 0, f"DTAQ({one.dtaq})", "dtaq", one.dtaq, "the data queue already exists")
                )
            seen.add((library, one.name))
            obstacle = obstacle_to(self, holder or _PLAIN_LIBRARY, one)
            if obstacle is not None:
                shown = str(message(*obstacle))
                problems.append(Problem("<install>", 0, f"DTAQ({one.dtaq})", "dtaq", one.dtaq, shown))
        if problems:
            raise DefinitionError(problems)
        for library in {library for library, _ in wanted} - set(self._libraries):
            self.crtlib(library)
        return tuple(create_queue(self, self._libraries[library], one, SECURITY_OFFICER) for library, one in wanted)

    def connect(self, location: str, target: System | RemoteLink) -> None:
        """Make another system reachable for DDM queues with this RMTLOCNAME or RDB name.

        Raises:
            ValueError: a system in this process must share the dispatcher.
        """
        self.check_open()
        if isinstance(target, System):
            if target.dispatcher is not self.dispatcher:
                raise ValueError(f"{target.name}: systems that are connected share one dispatcher; pass dispatcher=")
            target = InProcessLink(target)
        self.remote.links[capitals(location)] = target

    # -- the end --------------------------------------------------------------------------------------------------

    def close(self, *, clean: bool = True) -> tuple[StartedJob, ...]:
        """End its jobs and close its store.

        Args:
            clean: False leaves the store as the end of the process would.

        Returns:
            The started jobs that had not come to their end.
        """
        self.dispatcher.check_thread()
        if self.closed and not self.store.is_open:
            return ()
        clean = clean and not self.closed  # what an exception cut short is only finished
        self.closed, self.failed = True, not clean
        try:
            return self._end(clean=clean)
        except BaseException:
            self.failed = True
            raise
        finally:
            self._catalogue.close()
            self.store.close(clean=clean and not self.failed)

    def _end(self, *, clean: bool) -> tuple[StartedJob, ...]:
        for job in self.jobs.values():
            job.forget()
        unfinished = tuple(
            job.started for job in self.jobs.values() if job.started is not None and not job.started.done
        )
        self.dispatcher.end_strands(self, f"system {self.name} is closed", SystemClosed)
        for job in list(self.jobs.values()):
            job.end()
        if clean and not self.readonly:
            self._save_allocations()
        if self._own_dispatcher:
            self.dispatcher.release_workers()
        return unfinished
