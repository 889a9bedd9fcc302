"""The machine below the jobs: its libraries and objects, above its store and catalogue and its users' profiles.

It knows jobs only as :class:`~tdqsim.ibmi._who.Who`; :class:`~tdqsim.ibmi.system.System` is a machine with jobs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from tdqsim.core.argument_types import types_told
from tdqsim.core.capitals import capitals
from tdqsim.core.changes import carry_out
from tdqsim.core.codepage import codepage
from tdqsim.core.store import Entry, Work
from tdqsim.errors import TdqError
from tdqsim.ibmi._authority import granted_names
from tdqsim.ibmi._dts import offset_seconds
from tdqsim.ibmi._ground import ObjectChange, job_page
from tdqsim.ibmi._locks import LockManager
from tdqsim.ibmi._objects import SHIPPED_LIBRARIES, SYSTEM_LIBRARIES, Library, Program, SystemObject, new_name
from tdqsim.ibmi._profiles import Profiles
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi._recorder import SystemRecorder
from tdqsim.ibmi._system_values import SystemValues
from tdqsim.ibmi._who import Who
from tdqsim.ibmi.faults import FaultHook
from tdqsim.ibmi.journals import Journal, JournalWriter
from tdqsim.ibmi.layouts import layout
from tdqsim.ibmi.parms import Parm, check_parms

__all__ = ["SECURITY_OFFICER", "Machine", "Remote"]

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


class Machine(Profiles):
    """See the module's text; arguments and attributes are those of :class:`~tdqsim.ibmi.System`."""

    remote: Remote
    _faults: FaultHook | None = None
    _recorder: SystemRecorder | None = None

    def _load(self) -> None:
        super()._load()
        self.values = SystemValues()
        self.locks = LockManager(self.dispatcher)
        self.journals = JournalWriter(self)
        self.programs: dict[tuple[str, str], Program] = {}
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
        for library in SHIPPED_LIBRARIES:
            self.crtlib(library, aut="*USE" if library in SYSTEM_LIBRARIES else "*CHANGE")

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
        if name in SHIPPED_LIBRARIES:
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
        library, _, pgm = capitals(name).rpartition("/")
        new_name(pgm, "program")
        if library not in self._libraries:
            raise TdqError(f"library {library} is not there")
        self.programs[library, pgm] = Program(program, None if parms is None else check_parms(parms))

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

        carry_out(self.store.durable, ObjectChange(make, self.forget_places), meta)

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

        carry_out(self.store.durable, ObjectChange(make, self.forget_places), meta, also(after))

    def change_authorities(self, one: SystemObject, given: Mapping[str, str]) -> None:
        """Change what users, and ``*PUBLIC``, have to an object; empty words take a user's name away."""
        self.dispatcher.check_thread()
        private = {user: words for user, words in given.items() if user != "*PUBLIC"}
        public = given.get("*PUBLIC", one.public)
        meta: dict[bytes, bytes | None] = {}
        if one.number in self._objects:
            meta = self._catalogue.private(one.number, private)
            if public != one.public:
                meta |= self._catalogue.record("object", str(one.number), {**one.save(), "public": public})

        def make() -> None:
            one.public = public
            for user, words in private.items():
                if words:
                    one.private[user] = words
                else:
                    one.private.pop(user, None)

        carry_out(self.store.durable, ObjectChange(make, self.forget_places), meta)

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
        journals = {one.number for one in gone if isinstance(one, Journal)}
        ended = [queue for queue in self._all_queues() if queue.journal in journals] if journals else []
        numbers = {one.number for one in gone}
        meta, works = self._gone(gone, [queue for queue in ended if queue.number not in numbers])
        volatile = [one for one in objects if isinstance(one, DataQueue) and not (one.ddm or one.forced)]

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
        carry_out(self.store.durable, ObjectChange(make, finish), meta, [*also, *works])
        for one in objects:
            if isinstance(one, DataQueue):
                self.note("DLTDTAQ", job, one)

    def _gone(
        self, gone: Sequence[SystemObject], ended: Sequence[DataQueue]
    ) -> tuple[dict[bytes, bytes | None], list[Work]]:
        """What goes from the store with objects, and of queues that are journaled no more."""
        meta: dict[bytes, bytes | None] = {}
        works: list[Work] = []
        for one in gone:
            meta[b"object/%d" % one.number] = None
            meta |= self._catalogue.private(one.number, dict.fromkeys(one.private, ""))
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
        self.locks.wake(objects)
        self.forget_places()

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
        """Keep how much each queue has allocated, and of keyed ones when their last entry came."""
        changed = [queue for queue in self._all_queues() if queue.unwritten and queue.number in self._objects]
        if changed:
            self.store.durable.commit(meta={key: value for one in changed for key, value in one.state().items()})
            for queue in changed:
                queue.unsaved, queue.kept_stamp = False, queue.stamp
