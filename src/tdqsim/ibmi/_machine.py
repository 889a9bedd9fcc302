"""The machine below the jobs: its store and catalogue, libraries and objects, profiles and authorities.

It knows jobs only as :class:`~tdqsim.ibmi._who.Who`; :class:`~tdqsim.ibmi.system.System` is a machine with jobs.

What a job keeps in front of a look-up (which queue a name means) is a dictionary that the machine knows too, and
empties whenever an object comes, goes or moves, or an authority to a library changes: nobody has to ask whether it
still holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from tdqsim.core.argument_types import types_told
from tdqsim.core.changes import KeptChange, carry_out
from tdqsim.core.clock import Clock, time_zone
from tdqsim.core.codepage import codepage
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.store import Durability, Entry, Store, Work
from tdqsim.errors import SystemClosed, TdqError
from tdqsim.ibmi._authority import ALL, NONE, SAME, AuthorizationList, PasswordKeeper, Profile, granted_names
from tdqsim.ibmi._catalogue import Catalogue
from tdqsim.ibmi._dts import offset_seconds
from tdqsim.ibmi._errors import ParameterError, check_flags
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._locks import LockManager
from tdqsim.ibmi._objects import Library, Program, SystemObject, new_name
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi._recorder import SystemRecorder
from tdqsim.ibmi._system_values import SystemValues
from tdqsim.ibmi._who import Who
from tdqsim.ibmi.faults import FaultHook
from tdqsim.ibmi.journals import Journal, JournalWriter
from tdqsim.ibmi.layouts import layout
from tdqsim.ibmi.parms import Parm, check_parms

__all__ = ["SECURITY_OFFICER", "Machine", "Remote", "job_page"]

SECURITY_OFFICER = "QSECOFR"


class Remote(Protocol):
    """What DDM queues do: send, receive and clear elsewhere."""

    def send(self, job: Any, queue: DataQueue, data: bytes, key: bytes | None, *, asynchronous: bool) -> None:
        """Send to the queue that this one stands for."""

    def receive(
        self, job: Any, queue: DataQueue, wait_ns: int | None, key_order: str, key: bytes | None,
        room: int | None = None,
    ) -> Entry | None:  # fmt: skip
        """Receive from it."""

    def clear(self, job: Any, queue: DataQueue) -> None:
        """Clear it."""


def job_page(ccsid: int) -> int:
    """The CCSID whose code page a job works with: 65535 says that nothing is converted, and stands for the default."""
    return LIMITS["default_ccsid"] if ccsid == LIMITS["no_conversion_ccsid"] else ccsid


def _disabled(status: str) -> bool:
    if status not in ("*ENABLED", "*DISABLED"):
        raise ParameterError(f"status {status!r}: allowed are *ENABLED and *DISABLED")
    return status == "*DISABLED"


class _Change(KeptChange):
    """A change of objects: what brings it about in memory, and what follows; both may be done again."""

    def __init__(self, make: Callable[[], object], then: Callable[[], object]) -> None:
        self._make, self._then = make, then

    def committed(self) -> None:
        """See the base."""
        self.made = True
        self._make()

    def finish(self) -> None:
        """See the base."""
        self._then()


class Machine:
    """See the module's text; arguments and attributes are those of :class:`~tdqsim.ibmi.System`."""

    system_libraries = ("QSYS",)
    shipped = ("QSYS", "QGPL")
    remote: Remote

    def __init__(
        self,
        name: str,
        path: Path | str | Store | None,
        *,
        dispatcher: Dispatcher | None,
        clock: Clock | None,
        seed: int,
        durability: Durability,
        timezone: str,
        ccsid: int,
        limit_bytes: int | None,
        memory_bytes: int,
        create: bool,
        readonly: bool,
    ) -> None:
        if dispatcher is not None and clock not in (None, dispatcher.clock):
            raise ValueError("clock: a dispatcher that is given has its clock; give one of the two")
        self.name = name
        self.timezone = time_zone(timezone)
        codepage(job_page(ccsid))
        self.ccsid = ccsid
        self.date_format = "*YMD"
        self.values = SystemValues()
        self.passwords: PasswordKeeper | None = None
        self.closed = self.failed = False
        self._faults: FaultHook | None = None
        self._recorder: SystemRecorder | None = None
        self._own_dispatcher = dispatcher is None
        self.dispatcher = dispatcher if dispatcher is not None else Dispatcher(clock, seed)
        self.clock = self.dispatcher.clock
        self.locks = LockManager(self.dispatcher)
        self.journals = JournalWriter(self)
        self.programs: dict[tuple[str, str], Program] = {}
        self.directories: dict[int, dict[tuple[str, str], DataQueue]] = {}
        self._utc = timezone == "UTC"
        self.store = (
            path
            if isinstance(path, Store)
            else Store(
                path,
                durability=durability, limit_bytes=limit_bytes,
                memory_bytes=memory_bytes, create=create, readonly=readonly,
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
        self.crtusrprf(SECURITY_OFFICER, allobj=True)
        self.crtusrprf("QPGMR")
        self.crtusrprf("QUSER")
        self.crtlib("QSYS", aut="*USE")
        self.crtlib("QGPL")

    # -- libraries ------------------------------------------------------------------------------------------------

    @property
    def libraries(self) -> MappingProxyType[str, Library]:
        """The libraries by name; a job's QTEMP is not among them."""
        return MappingProxyType(self._libraries)

    def crtlib(
        self, name: str, *, owner: str = SECURITY_OFFICER, aut: str = "*CHANGE", crtaut: str = "*CHANGE",
        text: str = "",
    ) -> Library:  # fmt: skip
        """Create a library.

        Args:
            name: 1 to 10 characters.
            owner: the profile that owns it.
            aut: public authority to it.
            crtaut: public authority of what is created in it with AUT(*LIBCRTAUT).
            text: its description, at most 50 characters.

        Raises:
            TdqError: there is one of that name.
        """
        self.check_open()
        name = new_name(name, "library")
        if name in self._libraries or name == "QTEMP":
            raise TdqError(f"library {name} already exists")
        granted_names(aut), granted_names(crtaut)
        library = Library(self._counters["object"], name, "QSYS", owner, public=aut, crtaut=crtaut, text=text)
        self._add(library, partial(self._libraries.__setitem__, name, library), kept=True)
        return library

    def dltlib(self, name: str, *, job: Who | None = None) -> None:
        """Delete a library and everything in it; library lists that name it then fail with CPF9807.

        Jobs that wait for an entry of a queue in it are told (CPF9805), jobs that wait for a lock look again, and
        journaling to a journal in it ends.

        Args:
            name: the library.
            job: in whose name, for a history.

        Raises:
            TdqError: it is not there, or belongs to the system.
        """
        self.check_open()
        name = new_name(name, "library")
        library = self._libraries.get(name)
        if library is None:
            raise TdqError(f"library {name} is not there")
        if name in self.shipped:
            raise TdqError(f"library {name} belongs to the system and stays")
        self._remove(list(library.objects.values()), library, job, and_library=True)

    @types_told
    def register_program(self, name: str, program: Callable[..., object], parms: Sequence[Parm] | None = None) -> None:
        """Register a Python function as a program that jobs call by CALL, SBMJOB and the program call server.

        Args:
            name: ``"LIB/PGM"``; the library must be there.
            program: called as ``program(job, *parameters)``.
            parms: its parameters: it is called with the values of those that come in, and returns those that go out
                (one, or a tuple; None leaves one as it is). Without them each parameter is a ``bytearray`` (or None, a
                null one) that it may change in place.

        Raises:
            TdqError: the library is not there.
            ParameterError: the name is not one, or a parameter that must be passed follows one that need not be.
        """
        self.check_open()
        library, _, pgm = name.upper().rpartition("/")
        new_name(pgm, "program")
        if library not in self._libraries:
            raise TdqError(f"library {library} is not there")
        self.programs[library, pgm] = Program(program, None if parms is None else check_parms(parms))

    # -- profiles and authorities ---------------------------------------------------------------------------------

    @types_told
    def crtusrprf(
        self, name: str, *, allobj: bool = False, grpprf: str = "*NONE", supgrpprf: tuple[str, ...] = (),
        status: str = "*ENABLED", pwdexp: bool = False, password: str = NONE,
    ) -> Profile:  # fmt: skip
        """Create a user profile, or make it anew.

        Args:
            name: 1 to 10 characters.
            allobj: it has the special authority *ALLOBJ.
            grpprf: the group profile whose authorities its user has too, or ``*NONE``.
            supgrpprf: more of them, at most 15.
            status: ``*ENABLED``, or ``*DISABLED``: nobody can sign on with it.
            pwdexp: its password has to be changed before somebody can.
            password: for sign-ons to a server of the system; ``*USRPRF`` is the name. ``*NONE`` gives none.

        Raises:
            ParameterError: a name is not one, a group is not there, there are too many, or a status is none; a
                password cannot be one, or there is no server that keeps it.
        """
        self.check_open()
        check_flags(allobj=allobj, pwdexp=pwdexp)
        name = new_name(name, "user profile")
        disabled = _disabled(status)
        wanted = (() if grpprf == "*NONE" else (grpprf,)) + tuple(supgrpprf)
        if len(supgrpprf) > LIMITS["supplemental_groups_maximum"] or (supgrpprf and grpprf == "*NONE"):
            most = LIMITS["supplemental_groups_maximum"]
            raise ParameterError(f"supgrpprf {supgrpprf!r}: at most {most} profiles, beside one in grpprf")
        groups = tuple(self.profile(group).name for group in wanted)
        if name in groups:
            raise ParameterError(f"grpprf {name}: a profile is no group of its own")
        if password != NONE:
            self._keep_password(name, password)
        profile = Profile(name, allobj, groups, disabled, pwdexp)
        self._carry_out(self._catalogue.record("profile", name, profile.save()), (self.profiles, name, profile))
        return profile

    def _keep_password(self, name: str, password: str) -> None:
        if self.passwords is None:
            raise ParameterError("password: a server that clients sign on to keeps passwords, and there is none here")
        self.passwords.keep(name, {"*NONE": None, "*USRPRF": name}.get(password, password))

    def chgusrprf(
        self, name: str, *, status: str = "*SAME", pwdexp: bool | None = None, password: str = SAME
    ) -> Profile:
        """Change who can sign on with a user profile.

        Args:
            name: the profile.
            status: ``*ENABLED``, ``*DISABLED`` or ``*SAME``.
            pwdexp: whether its password has to be changed first; None leaves it.
            password: another one, ``*USRPRF``, ``*NONE`` or ``*SAME``.

        Raises:
            ParameterError: there is no such profile or status, or the password cannot be kept.
        """
        self.check_open()
        check_flags(pwdexp=pwdexp or False)
        profile = self.profile(name)
        if password != SAME:
            self._keep_password(profile.name, password)
        disabled = profile.disabled if status == "*SAME" else _disabled(status)
        expired = profile.expired if pwdexp is None else pwdexp
        after = replace(profile, disabled=disabled, expired=expired)

        def make() -> None:
            profile.disabled, profile.expired = disabled, expired

        meta = self._catalogue.record("profile", profile.name, after.save())
        carry_out(self.store.durable, _Change(make, self.forget_places), meta)
        return profile

    def profile(self, name: str) -> Profile:
        """The profile of that name.

        Raises:
            ParameterError: there is none (CPF2204).
        """
        self.dispatcher.check_thread()
        found = self.profiles.get(new_name(name, "user profile"))
        if found is None:
            raise ParameterError(f"user profile {name.upper()} not found (CPF2204); create it with crtusrprf")
        return found

    def grant_profile(self, profile: str, user: str, authority: str = "*USE") -> None:
        """Give a user authority to another profile.

        Raises:
            ParameterError: a profile is not there, or the authority is none.
        """
        self.check_open()
        granted_names(authority)
        profile, user = self.profile(profile).name, self.profile(user).name
        meta = self._catalogue.record("profileaut", f"{profile}/{user}", {"authority": authority})
        self._carry_out(meta, (self.profile_authorities, (profile, user), authority))

    @types_told
    def crtautl(self, name: str, entries: dict[str, str]) -> AuthorizationList:
        """Create or replace an authorization list: authorities by user, ``*PUBLIC`` among them.

        Raises:
            ParameterError: a profile is not there, or an authority is none.
        """
        self.check_open()
        name = new_name(name, "authorization list")
        checked = {}
        for user, authority in entries.items():
            granted_names(authority)
            checked[user if user == "*PUBLIC" else self.profile(user).name] = authority
        listed = AuthorizationList(name, checked)
        self._carry_out(self._catalogue.record("autl", name, listed.save()), (self.authorization_lists, name, listed))
        return listed

    def granted(self, user: str, target: SystemObject) -> frozenset[str]:
        """The single authorities that a user has to an object.

        In this order, the first that says anything: *ALLOBJ, the user's own (as owner, privately, on the list), those
        of his groups together, the public one.
        """
        self.dispatcher.check_thread()
        profile = self.profile(user)
        if profile.allobj:
            return ALL
        own = target.privately(profile.name, self.authorization_lists)
        if own is not None:
            return own
        grouped = [self._group_granted(group, target) for group in profile.groups]
        found = [one for one in grouped if one is not None]
        return frozenset[str]().union(*found) if found else target.publicly(self.authorization_lists)

    def _group_granted(self, group: str, target: SystemObject) -> frozenset[str] | None:
        profile = self.profiles.get(group)
        if profile is None:
            return None
        return ALL if profile.allobj else target.privately(group, self.authorization_lists)

    # -- what happens ---------------------------------------------------------------------------------------------

    @property
    def recorder(self) -> SystemRecorder | None:
        """Takes what happens; None for nobody."""
        return self._recorder

    @recorder.setter
    def recorder(self, recorder: SystemRecorder | None) -> None:
        self.dispatcher.check_thread()
        self._recorder = recorder
        trace = recorder.trace if recorder is not None else None
        for queue in self._all_queues():
            queue.trace = trace

    @property
    def faults(self) -> FaultHook | None:
        """A hook for planned faults, asked at each API and command; None for none."""
        return self._faults

    @faults.setter
    def faults(self, faults: FaultHook | None) -> None:
        self.dispatcher.check_thread()
        self._faults = faults
        self.forget_places()  # while there are faults no job keeps anything in front of its look-ups

    def _all_queues(self) -> Iterator[DataQueue]:
        """Every data queue of its libraries."""
        return (one for one in self._objects.values() if isinstance(one, DataQueue))

    def note(
        self, operation: str, job: Who | None, queue: SystemObject | None = None, data: bytes = b"", key: bytes = b"",
        /, **info: Any,
    ) -> None:  # fmt: skip
        """Tell the recorder, if there is one, what a job (None: nobody in particular) has done."""
        self.dispatcher.check_thread()
        if self._recorder is not None:
            who = job.qualified_name if job is not None else ""
            place = queue.qualified if queue is not None else ""
            self._recorder.trace((operation, who, place, data, self.clock.time_ns(), key, "", info))

    # -- objects --------------------------------------------------------------------------------------------------

    def queues(self) -> Iterator[DataQueue]:
        """Every data queue, by library and name; those of a QTEMP are not among them."""
        self.dispatcher.check_thread()
        for library in sorted(self._libraries):
            for _, one in sorted(self._libraries[library].objects.items()):
                if isinstance(one, DataQueue):
                    yield one

    def journal_of(self, queue: DataQueue) -> Journal | None:
        """The journal a queue is journaled to."""
        self.dispatcher.check_thread()
        found = self._objects.get(queue.journal)
        return found if isinstance(found, Journal) else None

    def sender_id(self, job: Who, current_user: str, ccsid: int) -> bytes:
        """The 36 bytes that a SENDERID(*YES) queue keeps of a sender."""
        self.dispatcher.check_thread()
        values = {"job_name": job.name, "user": job.user, "number": job.number, "current_user": current_user}
        return layout("SENDERID").build(values, codepage(job_page(ccsid)))

    def offset_at(self, moment_ns: int) -> int:
        """Seconds that local time is ahead of UTC at a moment."""
        self.dispatcher.check_thread()
        return 0 if self._utc else offset_seconds(moment_ns, self.timezone)

    def add_object(self, holder: Library, make: Callable[[int], SystemObject]) -> SystemObject:
        """Put a new object, made with its number, into a library, and keep it unless it is in a QTEMP."""
        self.dispatcher.check_thread()
        one = make(self._counters["object"])
        if isinstance(one, Journal):
            one.attach(self.store.durable)
        if isinstance(one, DataQueue):
            one.temporary = not holder.number
            one.trace = self._recorder.trace if self._recorder is not None else None
            if not one.ddm and one.temporary:
                one.attributes = one.attributes._replace(force=False)  # nothing of a QTEMP outlives its job
            if not one.ddm:
                self._catalogue.attach(one)
        self._add(one, partial(holder.objects.__setitem__, (one.type, one.name), one), kept=bool(holder.number))
        return one

    def _add(self, one: SystemObject, put_in: Callable[[], object], *, kept: bool) -> None:
        """A new object is there: its number is given, and what has it does."""
        meta = {
            **self._catalogue.record("system", "counters", {**self._counters, "object": one.number + 1}),
            **(self._catalogue.record("object", str(one.number), one.save()) if kept else {}),
        }

        def make() -> None:
            self._counters["object"] = one.number + 1
            if kept:
                self._objects[one.number] = one
            put_in()

        carry_out(self.store.durable, _Change(make, self.forget_places), meta)

    def change_object(
        self, one: SystemObject, values: Mapping[str, Any],
        also: Callable[[Any], Sequence[Work]] = lambda _after: (), put: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        """Change attributes of an object, which the catalogue keeps.

        Args:
            one: the object.
            values: the attributes by name.
            also: gives what is to be committed with it, of the object as it is then.
            put: puts it elsewhere; may be called again.
        """
        self.dispatcher.check_thread()
        after = copy(one)
        for name, value in values.items():
            setattr(after, name, value)
        meta = self._catalogue.record("object", str(one.number), after.save()) if one.number in self._objects else {}

        def make() -> None:
            for name, value in values.items():
                setattr(one, name, value)
            put()
            if isinstance(one, DataQueue):
                one.settle()

        carry_out(self.store.durable, _Change(make, self.forget_places), meta, also(after))

    def move_object(
        self, one: DataQueue, holder: Library, target: Library, name: str, also: Callable[[Any], Sequence[Work]]
    ) -> None:
        """Put a queue under another name, into another library, or both; ``also`` as in :meth:`change_object`."""
        self.dispatcher.check_thread()
        before = one.type, one.name

        def put() -> None:
            if holder.objects.get(before) is one:
                del holder.objects[before]
            target.objects[one.type, name] = one

        self.change_object(one, {"name": name, "library": target.name}, also, put)

    def remove_object(
        self, one: SystemObject, holder: Library | None = None, job: Who | None = None, also: Sequence[Work] = ()
    ) -> None:
        """Delete an object, and commit what belongs to that: whoever waits for it is woken."""
        self.dispatcher.check_thread()
        self._remove([one], holder or self._libraries[one.library], job, also)

    def _remove(
        self, objects: Sequence[SystemObject], holder: Library, job: Who | None, also: Sequence[Work] = (), *,
        and_library: bool = False,
    ) -> None:  # fmt: skip
        """Delete objects of one library, and the library itself, in one commit."""
        gone = [*objects, *((holder,) if and_library else ())]
        ended = [queue for queue in self._all_queues() if queue.journal in {one.number for one in gone}]
        meta, works = self._gone(gone, [queue for queue in ended if queue not in objects])
        volatile = [one for one in objects if isinstance(one, DataQueue) and not (one.ddm or one.attributes.force)]

        def make() -> None:
            for queue in ended:
                queue.journal = 0
                queue.settle()
            for one in gone:
                self._objects.pop(one.number, None)
                one.gone = True
                if isinstance(one, DataQueue) and one.held is not None:
                    one.held.promised.clear()
            for one in objects:
                holder.objects.pop((one.type, one.name), None)
            if and_library:
                self._libraries.pop(holder.name, None)

        def finish() -> None:
            for queue in volatile:
                queue.stored.discard()
            self._removed(objects)

        if not holder.number:  # nothing of a QTEMP is kept
            meta, works = {}, []
        carry_out(self.store.durable, _Change(make, finish), meta, [*also, *works])
        for one in objects:
            if isinstance(one, DataQueue):
                self.note("DLTDTAQ", job, one)

    @staticmethod
    def _gone(gone: Sequence[SystemObject], ended: Sequence[DataQueue]) -> tuple[dict[bytes, bytes | None], list[Work]]:
        """What goes from the store with objects, and of queues that are journaled no more."""
        meta: dict[bytes, bytes | None] = {}
        works: list[Work] = []
        for one in gone:
            meta[b"object/%d" % one.number] = None
            if isinstance(one, DataQueue) and not one.ddm:
                meta[one.allocation_key] = None
            work = one.drop() if isinstance(one, Journal) else None
            if isinstance(one, DataQueue) and not one.ddm:
                work = one.stored.drop()
            if work is not None:
                works.append(work)
        for queue in ended:
            meta[b"object/%d" % queue.number] = json.dumps({**queue.save(), "journal": 0}).encode()
        return meta, works

    def _removed(self, objects: Sequence[SystemObject]) -> None:
        """Whoever has to do with objects that are gone looks again."""
        for one in objects:
            if isinstance(one, DataQueue):
                one.settle()
                for waiter in tuple(one.waiters):
                    waiter.parked.wake_one()
        self.locks.wake()
        self.forget_places()

    def _carry_out(self, meta: Mapping[bytes, bytes | None], put: tuple[dict[Any, Any], Any, Any]) -> None:
        """Put something under its name, and keep it."""
        place, name, value = put
        change = _Change(partial(place.__setitem__, name, value), self.forget_places)
        carry_out(self.store.durable, change, meta)

    def forget_places(self) -> None:
        """Empty what jobs keep in front of their look-ups."""
        self.dispatcher.check_thread()
        for directory in self.directories.values():
            directory.clear()

    def _next(self, counter: str) -> int:
        number = self._counters[counter]
        after = {**self._counters, counter: number + 1}
        self._carry_out(self._catalogue.record("system", "counters", after), (self._counters, counter, number + 1))
        return number

    def check_open(self) -> None:
        """Refuse another thread, and when it is closed."""
        self.dispatcher.check_thread()
        if self.closed:
            raise SystemClosed(f"system {self.name} is closed")

    def write_out(self) -> None:
        """Write the entries of FORCE(*NO) queues to the store's files, as a clean close does.

        After a kill a queue that was written out, and from which nothing was received since, has all that it had then.
        Receives read entries back into memory, many at a time; those are lost by a kill, as are later sends. No entry
        is given twice.

        Raises:
            StoreFull: there is no room.
        """
        self.check_open()
        self._save_allocations()
        self.store.volatile.write_out()

    def _save_allocations(self) -> None:
        """Keep how much each queue has allocated."""
        changed = [queue for queue in self._all_queues() if queue.unsaved and queue.number in self._objects]
        if changed:
            self.store.durable.commit(meta={key: value for one in changed for key, value in one.allocation().items()})
            for queue in changed:
                queue.unsaved = False
