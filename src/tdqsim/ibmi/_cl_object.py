"""CL commands for objects: ALCOBJ, DLCOBJ, WRKOBJLCK, MOVOBJ and RNMOBJ."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact import LIMITS, LOCK_STATES, OPERATIONS
from tdqsim.ibmi._job_core import JobCore, object_values, wait_seconds
from tdqsim.ibmi._locks import HeldLock, LockEntry, Request
from tdqsim.ibmi._objects import Library, new_name
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi.messages import DTAQ

__all__ = ["ObjectCommands"]

_SCOPES = ("*JOB", "*THREAD")
_Place = Callable[[DataQueue], tuple[str, str]]


class ObjectCommands(JobCore):
    """The commands that lock, move and rename data queues."""

    @declare("ALCOBJ")
    def alcobj(self, objects: Sequence[tuple[str, str]], wait: float | None = None, scope: str = "*JOB") -> None:
        """Allocate objects: take a lock on each, all of them or none.

        Args:
            objects: up to 50 pairs of ``LIB/NAME`` and state: ``*SHRRD``, ``*SHRNUP``, ``*SHRUPD``, ``*EXCLRD`` or
                ``*EXCL``.
            wait: seconds, 0 to 32767; None (``*CLS``) for the job's default wait.
            scope: ``*JOB`` or ``*THREAD``.

        Raises:
            EscapeMessage: CPF1002 not allocated in time, and those of finding them.
            ParameterError: a state or scope that does not exist, too many objects, or a wait that is none.
        """
        self.begin("ALCOBJ")
        wait_ns = self._default_wait_ns() if wait is None else wait_seconds(wait, "wait", LIMITS["alcobj_wait_maximum"])
        requests = self._requests(objects, scope)
        if not self.system.locks.acquire(self, requests, wait_ns, scope):
            blocked = next((one for one in requests if self.system.locks.blocked(self, one)), requests[0])
            self._fail_for("CPF1002", self._target(blocked))
        deleted = next((self._target(one) for one in requests if one.target.gone), None)
        if deleted is not None:
            for request in requests:
                self.system.locks.release(self, request, scope)
            self._fail_for("CPF1002", deleted)
        for request in requests:
            self.note("ALCOBJ", self._target(request), lock=request.state)
        self.give_turn()

    @declare("DLCOBJ")
    def dlcobj(self, objects: Sequence[tuple[str, str]], scope: str = "*JOB") -> None:
        """Deallocate objects: give back one lock on each.

        Args:
            objects: pairs of ``LIB/NAME`` and state, as for ALCOBJ.
            scope: ``*JOB`` or ``*THREAD``.

        Raises:
            EscapeMessage: CPF1005 the job does not hold one of them; nothing is released.
        """
        self.begin("DLCOBJ")
        requests = self._requests(objects, scope)
        for request in requests:
            held = HeldLock(self, request.state, scope)
            if request.target.locks.count(held) < requests.count(request):
                self.fail("CPF1005")
        for request in requests:
            self.system.locks.release(self, request, scope)
            self.note("DLCOBJ", self._target(request), lock=request.state)
        self.give_turn()

    @staticmethod
    def _target(request: Request) -> DataQueue:
        assert isinstance(request.target, DataQueue)
        return request.target

    def _requests(self, objects: Sequence[tuple[str, str]], scope: str) -> list[Request]:
        if not 0 < len(objects) <= LIMITS["alcobj_maximum"] or scope not in _SCOPES:
            raise ParameterError(
                f"1 to {LIMITS['alcobj_maximum']} objects are needed, and scope *JOB or *THREAD; "
                f"got {len(objects)}, {scope}"
            )
        for _, state in objects:
            if state not in LOCK_STATES:
                raise ParameterError(f"lock state {state!r}: allowed are {', '.join(LOCK_STATES)}")
        return [Request(self._queue("ALCOBJ", name)[1], state) for name, state in objects]

    def _queue(self, operation: str, name: str, library: str = "") -> tuple[Library, DataQueue]:
        holder, found = self._locate(OPERATIONS[operation], *self.place(name, library))
        assert isinstance(found, DataQueue)
        self._authorize(OPERATIONS[operation], found)
        return holder, found

    @declare("WRKOBJLCK")
    def wrkobjlck(self, dtaq: str, library: str = "") -> tuple[LockEntry, ...]:
        """Who holds locks on a data queue, and who waits for one.

        Args:
            dtaq: ``LIB/NAME``, or a name.
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``.
        """
        self.begin("WRKOBJLCK")
        return self.system.locks.entries(self._queue("ALCOBJ", dtaq, library)[1])

    @declare("MOVOBJ")
    def movobj(self, dtaq: str, tolib: str, *, library: str = "") -> None:
        """Move a data queue to another library; jobs that remember its address keep reaching it.

        Args:
            dtaq: ``LIB/NAME``, or a name.
            tolib: the library to move it to.
            library: its library now, ``*LIBL`` (when neither says one) or ``*CURLIB``.

        Raises:
            EscapeMessage: CPF2105 and CPF2110 not found, CPF2112 the name is taken there, CPF2114 in use, CPF2189 and
                CPF2182 not authorized.
        """
        target = self.object_name(tolib, "tolib")
        name, before = self._change_place("MOVOBJ", (dtaq, library), lambda queue: (target, queue.name), "QM")
        self.log(self.message("CPC2193", name, before, DTAQ, target))
        self.give_turn()

    @declare("RNMOBJ")
    def rnmobj(self, dtaq: str, newobj: str, *, library: str = "") -> None:
        """Rename a data queue; jobs that remember its address keep reaching it.

        Args:
            dtaq: ``LIB/NAME``, or a name.
            newobj: its new name.
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``.

        Raises:
            EscapeMessage: as for MOVOBJ.
        """
        target = new_name(newobj, "newobj")
        before, library = self._change_place("RNMOBJ", (dtaq, library), lambda queue: (queue.library, target), "QN")
        self.log(self.message("CPC2192", before, library, DTAQ, target))
        self.give_turn()

    def _change_place(
        self, operation: str, asked: tuple[str, str], place: _Place, journal_type: str
    ) -> tuple[str, str]:
        """Move or rename; gives the name and the library that it had."""
        self.begin(operation)
        places = self._places(operation, asked, place)
        while self.await_lock(operation, places[1]):  # others may have moved things meanwhile
            places = self._places(operation, asked, place)
        holder, queue, target, name = places
        before = queue.name, queue.library
        self.note(operation, queue, to=f"{target.name}/{name}")
        journals = self.system.journals
        self.system.move_object(queue, holder, target, name, lambda after: journals.entry(self, after, journal_type))
        return before

    def _places(self, operation: str, asked: tuple[str, str], place: _Place) -> tuple[Library, DataQueue, Library, str]:
        """Where the queue is, and the free place where it is to go."""
        holder, queue = self._queue(operation, *asked)
        library, name = place(queue)
        target = self.library(library)
        if target is None:
            self.fail("CPF2110", library)
        if not target.number or not holder.number:
            raise ParameterError("a data queue of QTEMP stays there: MOVOBJ and RNMOBJ take queues of other libraries")
        if target is not holder and "ADD" not in self.granted(target):
            self.fail("CPF2182", library)
        if ("*DTAQ", name) in target.objects:
            self.fail("CPF2112", *object_values("CPF2112", name, library, "*DTAQ"))
        return holder, queue, target, name
