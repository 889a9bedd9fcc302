"""The objects of a system: libraries with data queues and journals, and registered programs.

Every change is one commit of the catalogue and the entries concerned; then it is made in memory, and the jobs' caches
of data queues are cleared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import chain
from typing import Final

from tdqsim.core.callables import why_unusable
from tdqsim.core.capitals import capitals
from tdqsim.core.collection import nothing_collected
from tdqsim.core.store import Work
from tdqsim.errors import StoreDamaged
from tdqsim.ibmi.authority import granted_names
from tdqsim.ibmi.catalogue import Catalogue
from tdqsim.ibmi.data import JobData, SystemData
from tdqsim.ibmi.dts import NO_DTS, ns_to_dts
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.journals import Journal
from tdqsim.ibmi.lock_manager import LockManager
from tdqsim.ibmi.objects import SHIPPED_LIBRARIES, Library, Program, SystemObject, new_name
from tdqsim.ibmi.parms import Parm, check_parms
from tdqsim.ibmi.profiles import SECURITY_OFFICER
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.queue_state import DataQueueState

_RESERVED: Final = 100
"""The numbers of objects that one record reserves; those not used before the system is closed are never used."""


class ObjectTable:
    """See the module's text.

    Args:
        system: the system.
        catalogue: stores the objects.
        locks: wakes the jobs that wait for a deleted object.

    Attributes:
        libraries: the libraries by name, without the jobs' QTEMP libraries.
        temporary: the QTEMP of each active job, by the job's qualified name.
        programs: registered programs by library and name.
    """

    __slots__ = (
        "_catalogue", "_counters", "_locks", "_next", "_objects", "_system", "libraries", "programs", "temporary",
    )  # fmt: skip

    def __init__(self, system: SystemData, catalogue: Catalogue, locks: LockManager) -> None:
        self._system, self._catalogue, self._locks = system, catalogue, locks
        self._counters = catalogue.counters()
        with nothing_collected():
            self._objects = {one.number: one for one in catalogue.objects()}
        # no less than the number in use, if damage has lost the counters
        self._next = max(self._counters["object"], 1 + max(self._objects, default=0))
        self.libraries = {one.name: one for one in self._objects.values() if isinstance(one, Library)}
        self.temporary: dict[str, Library] = {}
        self.programs: dict[tuple[str, str], Program] = {}
        for one in self._objects.values():
            if not isinstance(one, Library):
                try:
                    self.libraries[one.library].objects[(one.type, one.name)] = one
                except KeyError as error:
                    of = f"library {one.library} of {one.type} {one.name}"
                    raise StoreDamaged(f"{system.store.path}: {of} is missing") from error
        catalogue.drop_strays(set(self._objects))

    def next_job(self) -> int:
        """The number of the next job, counted over all runs of the system."""
        number = self._counters["job"]
        meta = self._catalogue.record("system", "counters", {**self._counters, "job": number + 1})
        self._system.carry_out(partial(self._counters.__setitem__, "job", number + 1), meta)
        return number

    # -- queues -------------------------------------------------------------------------------------------------------

    def every_queue(self) -> Iterator[DataQueue]:
        """All data queues, including those in the jobs' QTEMP libraries."""
        temporary = chain.from_iterable(library.objects.values() for library in self.temporary.values())
        return (one for one in chain(self._objects.values(), temporary) if isinstance(one, DataQueue))

    def queues(self) -> Iterator[DataQueue]:
        """All data queues, sorted by library and name, without those in a QTEMP."""
        for library in sorted(self.libraries):
            for _, one in sorted(self.libraries[library].objects.items()):
                if isinstance(one, DataQueue):
                    yield one

    def journals(self) -> Iterator[Journal]:
        """All journals."""
        return (one for one in self._objects.values() if isinstance(one, Journal))

    def journal_of(self, queue: DataQueue) -> Journal | None:
        """The journal that a queue is journaled to, or None."""
        journal = self._objects.get(queue.journal)
        return journal if isinstance(journal, Journal) else None

    def state_of(self, queue: DataQueue) -> DataQueueState:
        """The visible state of a data queue now."""
        if queue.ddm:
            return DataQueueState(queue.library, queue.name, queue.text, queue.attributes, ddm=True)
        reclaimed, journal = queue.last_reclaim_ns, self.journal_of(queue)
        return DataQueueState(
            queue.library, queue.name, queue.text, queue.attributes, False, queue.count, queue.allocated, queue.maximum,
            queue.autorcl, queue.enforce,
            last_reclaim=ns_to_dts(reclaimed, self._system.offset_at(reclaimed)) if reclaimed else NO_DTS,
            journal=journal.qualified if journal is not None else "",
        )  # fmt: skip

    # -- libraries ------------------------------------------------------------------------------------------------

    def crtlib(
        self, lib: str, *, owner: str = SECURITY_OFFICER, aut: str = "*CHANGE", crtaut: str = "*CHANGE",
        text: str = "",
    ) -> Library:  # fmt: skip
        """Create a library.

        Args:
            lib: its name, 1 to 10 characters.
            owner: the profile that owns it.
            aut: public authority to it.
            crtaut: public authority of objects created in it with AUT(*LIBCRTAUT).
            text: its description, at most 50 characters.

        Raises:
            ParameterError: a library with this name exists.
        """
        name = new_name(lib, "library")
        if name in self.libraries or name == "QTEMP":
            raise ParameterError(f"library {name} already exists")
        granted_names(aut), granted_names(crtaut)
        library = Library(self._new_number(), name, "QSYS", owner, public=aut, crtaut=crtaut, text=text)
        meta = self._catalogue.record("object", str(library.number), library.save())

        def put_in() -> None:
            self.libraries[name] = self._objects[library.number] = library

        self._commit(meta, put_in)
        return library

    def dltlib(self, lib: str, *, job: JobData | None = None) -> None:
        """Delete a library and everything in it; searching a library list that names it then fails with CPF9807.

        Receives that wait at a queue in it end with CPF9805, jobs that wait for a lock try again, and journaling to a
        journal in it ends.

        Args:
            lib: the library.
            job: the job that deletes it, for a history.

        Raises:
            ParameterError: it does not exist, or belongs to the system.
        """
        name = new_name(lib, "library")
        library = self.libraries.get(name)
        if library is None:
            raise ParameterError(f"library {name} does not exist")
        if name in SHIPPED_LIBRARIES:
            raise ParameterError(f"library {name} belongs to the system and cannot be deleted")
        self._remove(list(library.objects.values()), library, job, and_library=True)

    def register_program(self, name: str, program: Callable[..., object], parms: Sequence[Parm] | None = None) -> None:
        """Register a Python function as a program: jobs call it by CALL, SBMJOB and the program call server.

        Args:
            name: ``"LIB/PGM"``; the library must exist.
            program: called as ``program(job, *parameters)``.
            parms: its parameters. The function is called with the values of the input parameters and returns the values
                of the output parameters (one value or a tuple; None leaves a parameter unchanged). Without ``parms``
                each parameter is a ``bytearray``, or None for a null pointer, which the function may change in place.

        Raises:
            ParameterError: the library does not exist, the name is not valid, the program cannot be called with a job,
                or a required parameter follows an optional one.
        """
        if reason := why_unusable(program, "job", more=True):
            raise ParameterError(f"program {name}: {reason}")
        library, _, pgm = capitals(name).rpartition("/")
        new_name(pgm, "program")
        if library not in self.libraries:
            raise ParameterError(f"library {library} does not exist")
        self.programs[library, pgm] = Program(program, None if parms is None else check_parms(parms))

    # -- objects ------------------------------------------------------------------------------------------------------

    def add(self, new: Sequence[tuple[Library, SystemObject]]) -> None:
        """Number new objects, and add them to libraries in one commit; those in a QTEMP are not stored."""
        meta: dict[bytes, bytes | None] = {}
        for holder, one in new:
            one.number = self._new_number()
            if isinstance(one, Journal):
                one.attach(self._system.store.durable)
            if isinstance(one, DataQueue):
                one.temporary = not holder.number
                one.trace = self._system.recorder.trace if self._system.recorder is not None else None
                if not one.ddm:
                    self._catalogue.attach(one)
            if holder.number:
                meta |= self._catalogue.record("object", str(one.number), one.save())

        def put_in() -> None:
            for holder, one in new:
                holder.objects[one.type, one.name] = one
                if holder.number:
                    self._objects[one.number] = one

        self._commit(meta, put_in)

    def _new_number(self) -> int:
        """A number for an object; if its creation fails, no other gets it, since its stored queue may be there."""
        self._next += 1
        return self._next - 1

    def _commit(self, meta: dict[bytes, bytes | None], put_in: Callable[[], object]) -> None:
        """Commit new objects, and more reserved numbers if needed; then put them in."""
        counters = self._counters
        if self._next > counters["object"]:
            counters = {**counters, "object": self._next + _RESERVED}
            meta |= self._catalogue.record("system", "counters", counters)

        def make() -> None:
            self._counters = counters
            put_in()

        self._system.carry_out(make, meta)

    def change(
        self, one: DataQueue, values: Mapping[str, object],
        also: Callable[[DataQueue], Sequence[Work]] = lambda _after: (), put: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        """Change attributes of a data queue, and store them in the catalogue.

        Args:
            one: the data queue.
            values: the new attributes by name.
            also: called with a changed copy of the queue; returns further changes to commit.
            put: moves the queue in memory; may be repeated.
        """
        after, held = copy(one), one.held
        for name, value in values.items():
            setattr(after, name, value)
        works = also(after)
        if held is not None and after.forced and not one.forced:
            works = (*after.made_durable(self._system.store), *works)
        meta: dict[bytes, bytes | None] = {}
        if not after.temporary:
            meta = self._catalogue.record("object", str(one.number), after.save())
            if one.temporary:
                meta |= self._catalogue.private(one.number, one.private) | ({} if one.ddm else after.state())

        def make() -> None:
            for name, value in values.items():
                setattr(one, name, value)
            if held is not None and after.held is not held:
                one.held, one._in_memory = after.held, None
                held.discard()
            put()
            one.bind()

        self._system.carry_out(make, meta, works)

    def change_authorities(self, one: SystemObject, authorities: Mapping[str, str]) -> None:
        """Change the authorities of users, and of ``*PUBLIC``, to an object; an empty one removes the user."""
        private = {user: words for user, words in authorities.items() if user != "*PUBLIC"}
        public = authorities.get("*PUBLIC", one.public)
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

        self._system.carry_out(make, meta)

    def move(
        self, one: DataQueue, holder: Library, target: Library, name: str, also: Callable[[DataQueue], Sequence[Work]]
    ) -> None:
        """Rename a queue, move it to another library, or both; ``also`` as in :meth:`change`."""
        before = one.type, one.name

        def put() -> None:
            if holder.objects.get(before) is one:
                del holder.objects[before]
            target.objects[one.type, name] = one
            if not one.temporary:
                self._objects[one.number] = one

        values = {"name": name, "library": target.name, "temporary": one.temporary and target is holder}
        self.change(one, values, also, put)

    def remove(
        self, one: SystemObject, holder: Library | None = None, job: JobData | None = None, also: Sequence[Work] = ()
    ) -> None:
        """Delete an object in one commit, and wake the jobs that wait for it."""
        self._remove([one], holder or self.libraries[one.library], job, also)

    def remove_several(self, objects: Sequence[SystemObject], holder: Library, job: JobData | None = None) -> None:
        """Delete objects of one library in one commit, and wake the jobs that wait for them."""
        if objects:
            self._remove(objects, holder, job)

    def _remove(
        self, objects: Sequence[SystemObject], holder: Library, job: JobData | None, also: Sequence[Work] = (), *,
        and_library: bool = False,
    ) -> None:  # fmt: skip
        """Delete objects of one library, and the library itself, in one commit."""
        deleted = [*objects, *((holder,) if and_library else ())]
        journals = {one.number for one in deleted if isinstance(one, Journal)}
        ended = [queue for queue in self.every_queue() if queue.journal in journals] if journals else []
        numbers = {one.number for one in deleted}
        meta, works = self._deletion(deleted, [queue for queue in ended if queue.number not in numbers])
        volatile = [one for one in objects if isinstance(one, DataQueue) and not (one.ddm or one.forced)]

        def make() -> None:
            for queue in ended:
                queue.journal = 0
                queue.bind()
            for one in deleted:
                self._objects.pop(one.number, None)
                one.deleted = True
                if isinstance(one, DataQueue) and one.held is not None:
                    one.held.promised.clear()
                elif isinstance(one, Journal):
                    one.entries = None
            for one in objects:
                holder.objects.pop((one.type, one.name), None)
            if and_library:
                self.libraries.pop(holder.name, None)

        def finish() -> None:
            for queue in volatile:
                queue.stored.discard()
            self._removed(objects)

        if not holder.number:  # objects in a QTEMP are not stored
            meta, works = {}, []
        self._system.carry_out(make, meta, [*also, *works], finish)
        for one in objects:
            if isinstance(one, DataQueue):
                self._system.note("DLTDTAQ", job, one)

    def _deletion(
        self, deleted: Sequence[SystemObject], ended: Sequence[DataQueue]
    ) -> tuple[dict[bytes, bytes | None], list[Work]]:
        """The changes to the store for deleted objects, and for queues whose journaling ends."""
        meta: dict[bytes, bytes | None] = {}
        works: list[Work] = []
        for one in deleted:
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
            if queue.number in self._objects:  # one in a QTEMP is not stored
                meta[b"object/%d" % queue.number] = json.dumps({**queue.save(), "journal": 0}).encode()
        return meta, works

    def _removed(self, objects: Sequence[SystemObject]) -> None:
        """Wake the jobs that wait for deleted objects."""
        for one in objects:
            if isinstance(one, DataQueue):
                one.bind()
                for waiter in tuple(one.waiters):
                    waiter.parked.wake_one()
        self._locks.wake(objects)
        self._system.forget_places()

    def write_out(self) -> None:
        """Write the entries of FORCE(*NO) queues to the store's files, as a clean close does.

        If the process is killed later, a queue from which nothing was received since has all entries that were written
        out. Receives read entries back into memory, many at a time; a kill loses those, and all later sends. No entry
        is received twice.

        Raises:
            StoreFull: there is no room.
        """
        self.save_allocations()
        self._system.store.volatile.write_out()

    def save_allocations(self) -> None:
        """Store each queue's allocation, and for keyed queues the moment of the last entry."""
        changed = [queue for queue in self.every_queue() if queue.unwritten and queue.number in self._objects]
        if changed:
            self._system.store.durable.commit(
                meta={key: value for one in changed for key, value in one.state().items()}
            )
            for queue in changed:
                queue.unsaved, queue.kept_stamp = False, queue.stamp
