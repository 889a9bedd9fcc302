"""A simulated IBM i system: objects and jobs, with a store, a dispatcher and a clock."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Self, TypedDict, TypeVar, TypeVarTuple, Unpack, cast

from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.core.callables import why_unusable
from tdqsim.core.capitals import capitals
from tdqsim.core.clock import Clock
from tdqsim.core.clock import time_zone as zone_of
from tdqsim.core.collection import nothing_collected
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.stepping import Stepped
from tdqsim.core.store import Durability, Store
from tdqsim.definitions import Definitions, Resource
from tdqsim.errors import DefinitionError, Problem, SystemClosed, UsageError, WrongValue
from tdqsim.ibmi.authority import AuthorizationList, PasswordKeeper, Profile
from tdqsim.ibmi.commands import system_command
from tdqsim.ibmi.create import create, new_queue, obstacle_to
from tdqsim.ibmi.data import check_system_name, job_page
from tdqsim.ibmi.ddm import InProcessLink
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.faults import FaultHook
from tdqsim.ibmi.job import Job, StartedJob
from tdqsim.ibmi.machine import machine_messages
from tdqsim.ibmi.messages import message
from tdqsim.ibmi.object_table import ObjectTable
from tdqsim.ibmi.objects import Library, new_name
from tdqsim.ibmi.profiles import SECURITY_OFFICER, Profiles
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.recorder import OnFailure, SystemRecorder
from tdqsim.ibmi.remote_link import RemoteLink
from tdqsim.ibmi.system_core import SystemBase, SystemCore

if TYPE_CHECKING:
    from tdqsim.definitions.machine import Machine

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")
_JOB_NUMBER = re.compile(r"[0-9]{6}")


class JobOptions(TypedDict, total=False):
    """The options of a job other than its name and user; see :class:`Job`."""

    current_library: str
    library_list: str | Sequence[str]
    ccsid: int
    run_priority: int
    default_wait: float


def _objects(core: SystemCore) -> ObjectTable:
    return core.objects


def _profiles(core: SystemCore) -> Profiles:
    return core.profiles


def _check_program(call: Callable[..., object], args: tuple[object, ...]) -> None:
    if reason := why_unusable(call, "job", *("argument" for _ in args)):
        raise ParameterError(f"start: {reason}")


class System(SystemBase):
    """A simulated IBM i system with data queues.

    Args:
        name: its name, for messages.
        store: the directory of its store; None for a temporary store that is removed at close; or an open, empty Store.
        dispatcher: a dispatcher shared with other systems and regions; by default a new one.
        clock: the clock of a new dispatcher.
        seed: the seed of a new dispatcher, for the order in which jobs run; 0 is first ready, first run.
        durability: the failures that a FORCE(*YES) send survives: ``process`` (the end of the process) or ``power`` (a
            loss of power; each commit is synced).
        time_zone: its time zone; *DTS and QWCCVTDT use local time.
        ccsid: the default CCSID of its jobs.
        limit_bytes: the maximum size of each of the store's files.
        memory_bytes: the memory for entries of FORCE(*NO) queues, beyond which the largest queue overflows to the
            store's files. A keyed queue overflows as a whole, and is then some seven times as slow. The default, 384
            MB, is enough for a million keyed entries of 100 bytes.
        create: create the store if it does not exist.
        readonly: only read a store that another process may be writing, as of its last commit.
        machine: a machine.yaml, or its contents: the message ids that a real machine gives for rules.

    Attributes:
        store, dispatcher, clock: those passed as arguments, or new ones.
        jobs: active jobs by qualified name.
        libraries: libraries by name, without the jobs' QTEMP libraries.
        profiles: user profiles by name.
        authorization_lists: authorization lists by name.
        locks: the object locks: which jobs hold them and which wait for them.
        values: the system values that can be set, by name (QPWDLVL, QMAXSIGN).
        notices: what was asked for and will not happen, with the reason; see :class:`~tdqsim.core.notices.Notices`.

    Raises:
        StoreError: the store cannot be used.
        DefinitionError: the machine.yaml has errors.
        ParameterError: the name is not one of a system.
    """

    __slots__ = (
        "_core",
        "_own_dispatcher",
        "authorization_lists",
        "ccsid",
        "clock",
        "dispatcher",
        "jobs",
        "libraries",
        "locks",
        "name",
        "notices",
        "profiles",
        "store",
        "timezone",
        "values",
    )

    @explains_wrong_types
    def __init__(
        self,
        name: str = "TDQSYS",
        *,
        store: Path | str | Store | None = None,
        dispatcher: Dispatcher | None = None,
        clock: Clock | None = None,
        seed: int = 0,
        durability: Durability = "process",
        time_zone: str = "UTC",
        ccsid: int = 37,
        limit_bytes: int | None = None,
        memory_bytes: int = 384 * 1024 * 1024,
        create: bool = True,
        readonly: bool = False,
        machine: Path | str | Machine | None = None,
    ) -> None:
        messages = machine_messages(machine)
        if dispatcher is not None and clock not in (None, dispatcher.clock):
            raise WrongValue("clock: a dispatcher already has a clock; pass only one of the two")
        check_system_name(name)
        zone_of(time_zone)
        job_page(ccsid)
        self._own_dispatcher = dispatcher is None
        dispatcher = dispatcher if dispatcher is not None else Dispatcher(clock, seed)
        opened = None
        try:
            if isinstance(store, Store):
                opened = store
            else:
                opened = Store(
                    store, durability=durability, limit_bytes=limit_bytes, memory_bytes=memory_bytes, create=create,
                    readonly=readonly,
                )  # fmt: skip
            self.store, self.dispatcher, self.clock = opened, dispatcher, dispatcher.clock
            core = self._core = SystemCore(
                name, opened, dispatcher, timezone=time_zone, ccsid=ccsid, readonly=readonly, machine=messages
            )
            self.name, self.ccsid, self.timezone = name, ccsid, core.timezone
            self.jobs = cast("dict[str, Job]", core.jobs)
            self.libraries: Mapping[str, Library] = MappingProxyType(core.objects.libraries)
            self.profiles: Mapping[str, Profile] = MappingProxyType(core.profiles.by_name)
            self.authorization_lists: Mapping[str, AuthorizationList] = MappingProxyType(
                core.profiles.authorization_lists
            )
            self.locks, self.values, self.notices = core.locks, core.values, core.notices
        except BaseException:
            if opened is not None:
                opened.close(clean=False)
            raise

    def __repr__(self) -> str:
        return f"<System {self.name}: {len(self.libraries)} libraries, {len(self.jobs)} jobs>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- attributes that change ---------------------------------------------------------------------------------------

    @property
    def date_format(self) -> str:
        """The system value QDATFMT."""
        return self._core.date_format

    @date_format.setter
    def date_format(self, date_format: str) -> None:
        self._changing().date_format = date_format

    @property
    def closed(self) -> bool:
        """Whether it is closed and accepts no further commands."""
        return self._core.closed

    @property
    def failed(self) -> bool:
        """Whether it was closed as if its process had ended: nothing more is written to the store."""
        return self._core.failed

    @failed.setter
    def failed(self, failed: bool) -> None:
        self._core.failed = failed

    @property
    def passwords(self) -> PasswordKeeper | None:
        """The object that keeps the passwords of CRTUSRPRF and CHGUSRPRF; None without a server."""
        return self._core.profiles.passwords

    @passwords.setter
    def passwords(self, passwords: PasswordKeeper | None) -> None:
        self._core.profiles.passwords = passwords

    @property
    def recorder(self) -> SystemRecorder | None:
        """Records the events of the system; or None."""
        return self._core.recorder

    @recorder.setter
    def recorder(self, recorder: SystemRecorder | None) -> None:
        self._changing().set_recorder(recorder)

    @property
    def on_failure(self) -> OnFailure | None:
        """Called with the event of each operation that ends with an escape message, as for the recorder; or None."""
        return self._core.on_failure

    @on_failure.setter
    def on_failure(self, on_failure: OnFailure | None) -> None:
        if on_failure is not None and (reason := why_unusable(on_failure, "event")):
            raise UsageError(f"on_failure: {reason}")
        self._changing().on_failure = on_failure

    @property
    def faults(self) -> FaultHook | None:
        """A hook for planned faults, called before each API and command; or None."""
        return self._core.faults

    @faults.setter
    def faults(self, faults: FaultHook | None) -> None:
        if faults is not None and (reason := why_unusable(faults, "job", "operation", "name", "library")):
            raise UsageError(f"faults: {reason}")
        core = self._changing()
        core.faults = faults
        core.forget_places()  # a command on a cached queue would not call the hook

    def _changing(self) -> SystemCore:
        """Its core, for a change; only its own thread may do that."""
        self._core.dispatcher.check_thread()
        return self._core

    # -- objects and profiles -----------------------------------------------------------------------------------------

    crtlib = system_command(_objects, ObjectTable.crtlib)
    dltlib = system_command(_objects, ObjectTable.dltlib)
    register_program = system_command(_objects, ObjectTable.register_program)
    queues = system_command(_objects, ObjectTable.queues)
    state_of = system_command(_objects, ObjectTable.state_of)
    write_out = system_command(_objects, ObjectTable.write_out)
    crtusrprf = system_command(_profiles, Profiles.crtusrprf)
    chgusrprf = system_command(_profiles, Profiles.chgusrprf)
    grant_profile = system_command(_profiles, Profiles.grant_profile)
    crtautl = system_command(_profiles, Profiles.crtautl)

    # -- jobs -----------------------------------------------------------------------------------------------------

    @explains_wrong_types
    def job(
        self, name: str = "QPADEV0001", user: str = "QPGMR", number: str | None = None, **options: Unpack[JobOptions]
    ) -> Job:
        """Create a job; use it in a ``with`` statement, or end it with ``job.end()``.

        Args:
            name: job name.
            user: its user profile.
            number: six digits; by default the next free number.
            options: current_library, library_list, ccsid, run_priority, default_wait (see :class:`Job`).

        Raises:
            ParameterError: a name or number is not valid, the profile does not exist, or the same job is active.
        """
        core = self._core
        core.check_open()
        if number is not None and not _JOB_NUMBER.fullmatch(number):
            raise ParameterError(f"number {number!r}: a job number has six digits")
        name, user = new_name(name, "name"), core.profiles.find(user).name
        if f"{number}/{user}/{name}" in core.jobs:
            raise ParameterError(f"job {number}/{user}/{name} is active; another needs another number")
        digits = number if number is not None else core.next_job_number(name, user)
        defaults = JobOptions(ccsid=core.ccsid, library_list=core.values.user_libraries)
        job = Job(self, name, user, digits, **defaults | options)
        core.jobs[job.qualified_name] = job
        core.objects.temporary[job.qualified_name] = job._core.qtemp
        job._core.note("JOB")
        return job

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
            args: further arguments for the program.
            name: job name.
            user: its user profile.
            options: as for :meth:`job`.

        Raises:
            ParameterError: the program cannot be called with a job and ``args``, or as for :meth:`job`.
        """
        self.dispatcher.check_thread()
        _check_program(call, args)
        return StartedJob(self.job(name, user, **options), call, args)

    def stepped(
        self,
        call: Callable[[Job, Unpack[Arguments]], T],
        *args: *Arguments,
        name: str = "QDFTJOBD",
        user: str = "QPGMR",
        **options: Unpack[JobOptions],
    ) -> Stepped[T]:
        """Start a job that stops before each of its APIs and commands; ``step()`` lets it execute the next one.

        Use it for tests of locks, waits and deadlocks, which depend on the order of the commands of two jobs.

        Args:
            call: its program, as for :meth:`start`.
            args: further arguments for the program.
            name: job name.
            user: its user profile.
            options: as for :meth:`job`.

        Returns:
            The object that steps the job, which has stopped before its first command.
        """
        self.dispatcher.check_thread()
        _check_program(call, args)
        job = self.job(name, user, **options)
        stepped = Stepped[T](self.dispatcher)
        job._core.stepped = stepped
        stepped.fiber = StartedJob(job, call, args).fiber
        self.dispatcher.run_ready()
        return stepped

    def run(self) -> None:
        """Run started jobs until none can continue; the clock jumps to their deadlines."""
        self._core.check_open()
        self.dispatcher.run()

    @explains_wrong_types
    def install(
        self, definitions: Definitions | Iterable[Resource], *, create_libraries: bool = False
    ) -> tuple[DataQueue, ...]:
        """Create the data queues of definitions, all of them or none.

        Args:
            definitions: what to create, such as the result of ``load_definitions``; all but data queues is ignored.
            create_libraries: create the libraries that do not exist.

        Raises:
            DefinitionError: a library does not exist, or a queue already exists or cannot be created; nothing was
                created.
        """
        core = self._core
        core.check_open()
        new: list[DataQueue] = []
        problems: list[Problem] = []
        new_queues: set[tuple[str, str]] = set()
        for one in Definitions.of(definitions).dtaqs:
            library = "QGPL" if one.library == "*CURLIB" else one.library
            holder = core.objects.libraries.get(library)
            queue = new_queue(one, holder or Library(0, library, "QSYS", SECURITY_OFFICER), SECURITY_OFFICER)
            new.append(queue)
            refusals = []
            if holder is None and not create_libraries:
                refusals.append((library, "there is no such library; create it with crtlib"))
            if (holder is not None and ("*DTAQ", one.name) in holder.objects) or (library, one.name) in new_queues:
                refusals.append((one.dtaq, "the data queue already exists"))
            new_queues.add((library, one.name))
            obstacle = obstacle_to(core, queue)
            if obstacle is not None:
                refusals.append((one.dtaq, str(message(*obstacle))))
            problems += (Problem("<install>", 0, f"DTAQ({one.dtaq})", "dtaq", value, text) for value, text in refusals)
        if problems:
            raise DefinitionError(problems)
        libraries = core.objects.libraries
        for library in dict.fromkeys(queue.library for queue in new if queue.library not in libraries):
            core.objects.crtlib(library)
        with nothing_collected():
            create(core, [(libraries[queue.library], queue) for queue in new])
        return tuple(new)

    def connect(self, location: str, target: System | RemoteLink) -> None:
        """Connect another system under the RMTLOCNAME or RDB name that DDM queues use for it.

        Raises:
            ValueError: the other system is in this process and has another dispatcher.
        """
        self._core.check_open()
        if isinstance(target, System):
            if target.dispatcher is not self.dispatcher:
                raise WrongValue(f"{target.name}: systems that are connected share one dispatcher; pass dispatcher=")
            target = InProcessLink(target)
        self._core.links[capitals(location)] = target

    # -- the end --------------------------------------------------------------------------------------------------

    def close(self, *, clean: bool = True) -> tuple[StartedJob, ...]:
        """End its jobs and close its store.

        Args:
            clean: False leaves the store as if the process had been killed.

        Returns:
            The started jobs that had not ended by themselves.
        """
        core = self._changing()
        if core.closed and not core.store.is_open:
            return ()
        clean = clean and not core.closed  # after an interrupted close, only close the files
        core.closed, core.failed = True, not clean
        core.clock.on_set_back[:] = [hear for hear in core.clock.on_set_back if hear != core.notices.clock_set_back]
        try:
            return self._end(clean=clean)
        except BaseException:
            core.failed = True
            raise
        finally:
            core.catalogue.close()
            core.store.close(clean=clean and not core.failed)

    def _end(self, *, clean: bool) -> tuple[StartedJob, ...]:
        core, jobs = self._core, list(self.jobs.values())
        for job in jobs:
            job._core.forget()
        unfinished = tuple(job.started for job in jobs if job.started is not None and not job.started.done)
        core.dispatcher.end_fibers(self, f"system {core.name} is closed", SystemClosed)
        for job in list(self.jobs.values()):
            job.end()
        if clean and not core.readonly:
            core.objects.save_allocations()
        if self._own_dispatcher:
            core.dispatcher.release_workers()
        return unfinished
