"""A system: libraries, objects, profiles, jobs, on one store, dispatcher and clock."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self
from zoneinfo import ZoneInfo

from tdqsim.core.clock import Clock
from tdqsim.core.codepage import codepage
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.store import Durability, Store
from tdqsim.definitions import Definitions
from tdqsim.errors import DefinitionError, Problem, TdqError
from tdqsim.ibmi._catalogue import Catalogue
from tdqsim.ibmi._create import create_queue
from tdqsim.ibmi._ddm import InProcessLink, RemoteLink, RemoteQueues
from tdqsim.ibmi._dts import offset_seconds
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._faults import FaultHook
from tdqsim.ibmi._job import Job, StartedJob
from tdqsim.ibmi._job_core import JobCore
from tdqsim.ibmi._journal import Journal, JournalWriter
from tdqsim.ibmi._layout import layout
from tdqsim.ibmi._locks import LockManager
from tdqsim.ibmi._objects import AuthorizationList, Library, Profile, SystemObject, granted_names, new_name
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi._recorder import Recorder

__all__ = ["System"]

_JOB_NUMBER = re.compile(r"[0-9]{6}")
_SECURITY_OFFICER = "QSECOFR"


class System:
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
        create: make the store when there is none.
        readonly: look at a store that another process may be writing, as of its last commit; nothing can be changed.

    Attributes:
        libraries: by name.
        profiles: user profiles by name.
        authorization_lists: by name.
        jobs: active jobs by qualified name.
        faults: a hook for planned faults, None for none (:class:`FaultPlan`).
        recorder: takes what happens, None for nobody (:class:`~tdqsim.testing.History`).
        date_format: QDATFMT.
        closed: it can do no more.
        failed: it was closed as if its process had ended: nothing more reaches the store.

    Raises:
        StoreError: the store cannot be used.
    """

    system_libraries = ("QSYS",)

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
        create: bool = True,
        readonly: bool = False,
    ) -> None:
        if dispatcher is not None and clock not in (None, dispatcher.clock):
            raise ValueError("clock: a dispatcher that is given has its clock; give one of the two")
        self.name = name
        self.timezone = ZoneInfo(timezone)
        self.ccsid = codepage(ccsid).ccsid
        self.date_format = "*YMD"
        self.closed = self.failed = False
        self.faults: FaultHook | None = None
        self._recorder: Recorder | None = None
        self._own_dispatcher = dispatcher is None
        self.dispatcher = dispatcher if dispatcher is not None else Dispatcher(clock, seed)
        self.clock = self.dispatcher.clock
        self.locks = LockManager(self.dispatcher)
        self.journals = JournalWriter(self)
        self.remote = RemoteQueues()
        self.jobs: dict[str, Job] = {}
        self._utc = timezone == "UTC"
        self.store = (
            path
            if isinstance(path, Store)
            else Store(
                Path(path) if path is not None else None,
                durability=durability, limit_bytes=limit_bytes, create=create, readonly=readonly,
            )
        )  # fmt: skip
        self.readonly = readonly
        self._catalogue = Catalogue(self.store, readonly=readonly)
        try:
            self._catalogue.check_ours()
            self._load()
        except BaseException:
            self.store.close(clean=False)
            raise
        if not readonly:
            self.dispatcher.on_idle.append(self._commit_idle)

    def __repr__(self) -> str:
        return f"<System {self.name}: {len(self.libraries)} libraries, {len(self.jobs)} jobs>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _load(self) -> None:
        self._counters = self._catalogue.counters()
        self.profiles = {profile.name: profile for profile in self._catalogue.profiles()}
        self.profile_authorities = dict(self._catalogue.profile_authorities())
        self.authorization_lists = {one.name: one for one in self._catalogue.authorization_lists()}
        self._objects = {one.number: one for one in self._catalogue.objects()}
        self._libraries = {one.name: one for one in self._objects.values() if isinstance(one, Library)}
        for one in self._objects.values():
            if not isinstance(one, Library):
                self._libraries[one.library].objects[(one.type, one.name)] = one
        self._catalogue.drop_strays(set(self._objects))
        if not self.profiles and not self.readonly:
            self._ship()

    def _ship(self) -> None:
        self.crtusrprf(_SECURITY_OFFICER, allobj=True)
        self.crtusrprf("QPGMR")
        self.crtlib("QSYS", aut="*USE")
        self.crtlib("QGPL")

    # -- jobs -----------------------------------------------------------------------------------------------------

    def job(self, name: str = "QPADEV0001", user: str = "QPGMR", number: str | None = None, **options: Any) -> Job:
        """A job; use it in a ``with`` statement, or end it with ``job.end()``.

        Args:
            name: job name.
            user: its user profile; one that is not there is made, without special authorities.
            number: six digits; the next free ones unless given.
            options: current_library, library_list, ccsid, run_priority, default_wait (see :class:`Job`).

        Raises:
            ParameterError: a name or number is not one, or the same job is active.
        """
        self._check_open()
        if number is not None and not _JOB_NUMBER.fullmatch(number):
            raise ParameterError(f"number {number!r}: a job number has six digits")
        digits = number if number is not None else f"{self._next('job') % 10**6:06d}"
        job = Job(self, name, user, digits, **{"ccsid": self.ccsid, **options})
        if job.qualified_name in self.jobs:
            raise ParameterError(f"job {job.qualified_name} is active; another needs another number")
        self.profile(job.user)
        self.jobs[job.qualified_name] = job
        job.note("JOB")
        return job

    def start(
        self, call: Callable[..., Any], *args: Any, name: str = "QDFTJOBD", user: str = "QPGMR", **options: Any
    ) -> StartedJob:
        """Start a job that runs ``call(job, *args)`` and then ends; it runs when it is dispatched.

        Args:
            call: its program.
            args: passed on.
            name: job name.
            user: its user profile.
            options: as for :meth:`job`.
        """
        return StartedJob(self.job(name, user, **options), call, args)

    def run(self) -> None:
        """Run started jobs until none can go on, the clock jumping to their deadlines."""
        self._check_open()
        self.dispatcher.run()

    # -- libraries, profiles, lists -------------------------------------------------------------------------------

    @property
    def libraries(self) -> MappingProxyType[str, Library]:
        """The libraries by name; a job's QTEMP is not among them."""
        return MappingProxyType(self._libraries)

    def crtlib(
        self, name: str, *, owner: str = _SECURITY_OFFICER, aut: str = "*CHANGE", crtaut: str = "*CHANGE"
    ) -> Library:
        """Create a library.

        Args:
            name: 1 to 10 characters.
            owner: the profile that owns it.
            aut: public authority to it.
            crtaut: public authority of what is created in it with AUT(*LIBCRTAUT).

        Raises:
            TdqError: there is one of that name.
        """
        self._check_open()
        name = new_name(name, "library")
        if name in self._libraries or name == "QTEMP":
            raise TdqError(f"library {name} already exists")
        granted_names(aut), granted_names(crtaut)
        library = Library(self._next("object"), name, "QSYS", owner, public=aut, crtaut=crtaut)
        self._libraries[name] = library
        self._objects[library.number] = library
        self.save_object(library)
        return library

    def dltlib(self, name: str) -> None:
        """Delete a library and everything in it; library lists that name it then fail with CPF9807."""
        self._check_open()
        library = self._libraries.pop(name, None)
        if library is None:
            raise TdqError(f"library {name} is not there")
        for one in list(library.objects.values()):
            self.remove_object(one)
        library.gone = True
        self._forget(library)

    def crtusrprf(self, name: str, *, allobj: bool = False) -> Profile:
        """Create a user profile, or change its special authority."""
        name = new_name(name, "user profile")
        profile = self.profiles[name] = Profile(name, allobj)
        self._catalogue.save("profile", name, profile.save())
        return profile

    def profile(self, name: str) -> Profile:
        """The profile of that name; one that is not there is made, without special authorities."""
        return self.profiles.get(name) or self.crtusrprf(name)

    def grant_profile(self, profile: str, user: str, authority: str = "*USE") -> None:
        """Give a user authority to another profile."""
        granted_names(authority)
        self.profile_authorities[(profile, user)] = authority
        self._catalogue.save("profileaut", f"{profile}/{user}", {"authority": authority})

    def crtautl(self, name: str, entries: dict[str, str]) -> AuthorizationList:
        """Create or replace an authorization list: authorities by user, ``*PUBLIC`` among them."""
        for authority in entries.values():
            granted_names(authority)
        listed = self.authorization_lists[name] = AuthorizationList(name, dict(entries))
        self._catalogue.save("autl", name, listed.save())
        return listed

    def install(self, definitions: Definitions, *, create_libraries: bool = False) -> tuple[DataQueue, ...]:
        """Create the data queues of definitions, all of them or none.

        Args:
            definitions: what ``load_definitions`` and its like give; other kinds of resources are left alone.
            create_libraries: create the libraries that are not there.

        Raises:
            DefinitionError: a library is not there, or a queue is; nothing was created.
        """
        self._check_open()
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
        if problems:
            raise DefinitionError(problems)
        for library in {library for library, _ in wanted} - set(self._libraries):
            self.crtlib(library)
        return tuple(create_queue(self, self._libraries[library], one, _SECURITY_OFFICER) for library, one in wanted)

    def connect(self, location: str, target: System | RemoteLink) -> None:
        """Make another system reachable for DDM queues with this RMTLOCNAME or RDB name.

        Raises:
            ValueError: a system in this process must share the dispatcher.
        """
        if isinstance(target, System):
            if target.dispatcher is not self.dispatcher:
                raise ValueError(f"{target.name}: systems that are connected share one dispatcher; pass dispatcher=")
            target = InProcessLink(target)
        self.remote.links[location.upper()] = target

    # -- what happens ---------------------------------------------------------------------------------------------

    @property
    def recorder(self) -> Recorder | None:
        """Takes what happens; None for nobody."""
        return self._recorder

    @recorder.setter
    def recorder(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        trace = recorder.trace if recorder is not None else None
        for queue in (
            *self._objects.values(),
            *(one for job in self.jobs.values() for one in job.qtemp.objects.values()),
        ):
            if isinstance(queue, DataQueue):
                queue.trace = trace

    def note(
        self, operation: str, job: JobCore | None, queue: SystemObject | None = None, data: bytes = b"",
        key: bytes = b"", /, **info: Any,
    ) -> None:  # fmt: skip
        """Tell the recorder, if there is one, what a job (None: nobody in particular) has done."""
        if self._recorder is not None:
            who = job.qualified_name if job is not None else ""
            place = queue.qualified if queue is not None else ""
            self._recorder.trace((operation, who, place, data, self.clock.time_ns(), key, "", info))

    # -- for the rooms of jobs ------------------------------------------------------------------------------------

    def queues(self) -> Iterator[DataQueue]:
        """Every data queue, by library and name; those of a QTEMP are not among them."""
        for library in sorted(self._libraries):
            for _, one in sorted(self._libraries[library].objects.items()):
                if isinstance(one, DataQueue):
                    yield one

    def journal_of(self, queue: DataQueue) -> Journal | None:
        """The journal a queue is journaled to."""
        found = self._objects.get(queue.journal)
        return found if isinstance(found, Journal) else None

    def sender_id(self, job: JobCore, current_user: str) -> bytes:
        """The 36 bytes that a SENDERID(*YES) queue keeps of a sender."""
        values = {"job_name": job.name, "user": job.user, "number": job.number, "current_user": current_user}
        return layout("SENDERID").build(values, job.page)

    def offset_at(self, moment_ns: int) -> int:
        """Seconds that local time is ahead of UTC at a moment."""
        return 0 if self._utc else offset_seconds(moment_ns, self.timezone)

    def add_object(self, holder: Library, make: Callable[[int], SystemObject]) -> SystemObject:
        """Put a new object, made with its number, into a library, and keep it unless it is in a QTEMP."""
        one = make(self._next("object"))
        holder.objects[(one.type, one.name)] = one
        if holder.number:
            self._objects[one.number] = one
        if isinstance(one, Journal):
            one.attach(self.store.durable)
        if isinstance(one, DataQueue):
            one.temporary = not holder.number
            one.trace = self._recorder.trace if self._recorder is not None else None
            if not one.ddm:
                one.attach(self.store.volatile if one.temporary else self._catalogue.environment_for(one))
        self.save_object(one)
        return one

    def save_object(self, one: SystemObject) -> None:
        """Keep what the catalogue keeps of an object."""
        if one.number in self._objects:
            self._catalogue.save("object", str(one.number), one.save())

    def remove_object(self, one: SystemObject, holder: Library | None = None, job: JobCore | None = None) -> None:
        """Delete an object: whoever waits for it is woken."""
        holder = holder or self._libraries[one.library]
        del holder.objects[(one.type, one.name)]
        one.gone = True
        if isinstance(one, DataQueue):
            one.settle()
            one.detach()
            self.note("DLTDTAQ", job, one)
            for waiter in tuple(one.waiters):
                waiter.parked.wake_one()
        self.locks.wake()
        self._forget(one)

    def _forget(self, one: SystemObject) -> None:
        if self._objects.pop(one.number, None) is not None:
            self._catalogue.delete("object", str(one.number))

    def all_objects(self) -> tuple[SystemObject, ...]:
        """Every object, for the end of a job."""
        return tuple(self._objects.values())

    def _next(self, counter: str) -> int:
        number = self._counters[counter]
        self._counters[counter] = number + 1
        self._catalogue.save("system", "counters", self._counters)
        return number

    def _check_open(self) -> None:
        if self.closed:
            raise TdqError(f"system {self.name} is closed")

    def _commit_idle(self) -> None:
        self.store.volatile.commit()

    # -- the end --------------------------------------------------------------------------------------------------

    def close(self, *, clean: bool = True) -> tuple[StartedJob, ...]:
        """End its jobs and close its store.

        Args:
            clean: False leaves the store as the end of the process would.

        Returns:
            The started jobs that had not come to their end.
        """
        if self.closed:
            return ()
        self.closed, self.failed = True, not clean
        for job in self.jobs.values():
            job.forget()
        unfinished = tuple(
            job.started for job in self.jobs.values() if job.started is not None and not job.started.done
        )
        self.dispatcher.end_strands(self, f"system {self.name} is closed")
        for job in list(self.jobs.values()):
            job.end()
        if not self.readonly:
            self.dispatcher.on_idle.remove(self._commit_idle)
        if self._own_dispatcher:
            self.dispatcher.release_workers()
        self._catalogue.close()
        self.store.close(clean=clean)
        return unfinished
