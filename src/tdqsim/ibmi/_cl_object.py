"""CL commands for objects: ALCOBJ, DLCOBJ, WRKOBJLCK, MOVOBJ, RNMOBJ, GRTOBJAUT, RVKOBJAUT, and the library list."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact import LIMITS, LOCK_STATES, OPERATIONS
from tdqsim.ibmi._job_core import JobCore, object_values
from tdqsim.ibmi._locks import LockEntry, Request
from tdqsim.ibmi._objects import Library, granted_names, new_name
from tdqsim.ibmi._queue import DataQueue

__all__ = ["ObjectCommands"]

_NS = 1_000_000_000
_SCOPES = ("*JOB", "*THREAD")
_Place = Callable[[DataQueue], tuple[str, str]]


class ObjectCommands(JobCore):
    """The commands that lock, move, rename and secure data queues."""

    @declare("ALCOBJ")
    def alcobj(self, objects: Sequence[tuple[str, str]], wait: float | None = None, scope: str = "*JOB") -> None:
        """Allocate objects: take a lock on each, all of them or none.

        Args:
            objects: up to 50 pairs of ``LIB/NAME`` and state: ``*SHRRD``, ``*SHRNUP``, ``*SHRUPD``, ``*EXCLRD`` or
                ``*EXCL``.
            wait: seconds; None (``*CLS``) for the job's default wait.
            scope: ``*JOB`` or ``*THREAD``.

        Raises:
            EscapeMessage: CPF1002 not allocated in time, and those of finding them.
            ParameterError: a state or scope that does not exist, or too many objects.
        """
        self.begin("ALCOBJ")
        requests = self._requests(objects, scope)
        wait_ns = self.default_wait_ns() if wait is None else round(wait * _NS)
        if not self.system.locks.acquire(self, requests, wait_ns, scope):
            blocked = next((one for one in requests if self.system.locks.blockers(self, one)), requests[0])
            self.fail_for("CPF1002", blocked.target)
        deleted = next((one.target for one in requests if one.target.gone), None)
        if deleted is not None:
            for request in requests:
                self.system.locks.release(self, request, scope)
            self.fail_for("CPF1002", deleted)
        for request in requests:
            self.note("ALCOBJ", request.target, lock=request.state)
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
            held = [(lock.state, lock.scope) for lock in request.target.locks if lock.job is self]
            if held.count((request.state, scope)) < requests.count(request):
                self.fail("CPF1005")
        for request in requests:
            self.system.locks.release(self, request, scope)
            self.note("DLCOBJ", request.target, lock=request.state)
        self.give_turn()

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

    def _queue(self, operation: str, qualified: str) -> tuple[Library, DataQueue]:
        library, name = self.qualified(qualified, "*LIBL")
        holder, found = self.locate(OPERATIONS[operation], name, library)
        assert isinstance(found, DataQueue)
        self.authorize(OPERATIONS[operation], found)
        return holder, found

    @declare("WRKOBJLCK")
    def wrkobjlck(self, dtaq: str) -> tuple[LockEntry, ...]:
        """Who holds locks on a data queue, and who waits for one.

        Args:
            dtaq: ``LIB/NAME``, or a name that is searched in the library list.
        """
        self.begin("WRKOBJLCK")
        return self.system.locks.entries(self._queue("ALCOBJ", dtaq)[1])

    @declare("MOVOBJ")
    def movobj(self, dtaq: str, tolib: str) -> None:
        """Move a data queue to another library; jobs that remember its address keep reaching it.

        Args:
            dtaq: ``LIB/NAME``, or a name that is searched in the library list.
            tolib: the library to move it to.

        Raises:
            EscapeMessage: CPF2105 and CPF2110 not found, CPF2112 the name is taken there, CPF2114 in use, CPF2189 and
                CPF2182 not authorized.
        """
        target = self.object_name(tolib, "tolib")
        self._change_place("MOVOBJ", dtaq, lambda queue: (target, queue.name), "QM")

    @declare("RNMOBJ")
    def rnmobj(self, dtaq: str, newobj: str) -> None:
        """Rename a data queue; jobs that remember its address keep reaching it.

        Args:
            dtaq: ``LIB/NAME``, or a name that is searched in the library list.
            newobj: its new name.

        Raises:
            EscapeMessage: as for MOVOBJ.
        """
        target = new_name(newobj, "newobj")
        self._change_place("RNMOBJ", dtaq, lambda queue: (queue.library, target), "QN")

    def _change_place(self, operation: str, dtaq: str, place: _Place, journal_type: str) -> None:
        self.begin(operation)
        places = self._places(operation, dtaq, place)
        while self.await_lock(operation, places[1]):  # others may have moved things meanwhile
            places = self._places(operation, dtaq, place)
        holder, queue, target, name = places
        self.note(operation, queue, to=f"{target.name}/{name}")
        del holder.objects[("*DTAQ", queue.name)]
        queue.name, queue.library = name, target.name
        target.objects[("*DTAQ", name)] = queue
        self.system.save_object(queue)
        if queue.journal:
            self.system.journals.write(self, queue, journal_type)
        self.give_turn()

    def _places(self, operation: str, dtaq: str, place: _Place) -> tuple[Library, DataQueue, Library, str]:
        """Where the queue is, and the free place where it is to go."""
        holder, queue = self._queue(operation, dtaq)
        library, name = place(queue)
        target = self.library(library)
        if target is None:
            self.fail("CPF2110", library)
        if not target.number or not holder.number:
            raise ParameterError("a data queue of QTEMP stays there: MOVOBJ and RNMOBJ take queues of other libraries")
        profile = self.system.profile(self.current_user)
        if target is not holder and "ADD" not in target.granted(profile, self.system.authorization_lists):
            self.fail("CPF2182", library)
        if ("*DTAQ", name) in target.objects:
            self.fail("CPF2112", *object_values("CPF2112", name, library, "*DTAQ"))
        return holder, queue, target, name

    @declare("GRTOBJAUT")
    def grtobjaut(self, dtaq: str, user: str, aut: str) -> None:
        """Grant a user, or ``*PUBLIC``, authority to a data queue; what was granted before is replaced.

        Args:
            dtaq: ``LIB/NAME``, or a name that is searched in the library list.
            user: a user profile, or ``*PUBLIC``.
            aut: ``*USE``, ``*CHANGE``, ``*ALL``, ``*EXCLUDE``, or single ones such as ``"*OBJOPR *ADD"``.

        Raises:
            EscapeMessage: CPF2189 not authorized to grant, and those of finding it.
            ParameterError: an authority that does not exist.
        """
        self.begin("GRTOBJAUT")
        granted_names(aut)
        queue = self._queue("GRTOBJAUT", dtaq)[1]
        if user == "*PUBLIC":
            queue.public = aut
        else:
            queue.private[user.upper()] = aut
        self.system.save_object(queue)
        self.note("GRTOBJAUT", queue, user=user, aut=aut)

    @declare("RVKOBJAUT")
    def rvkobjaut(self, dtaq: str, user: str) -> None:
        """Revoke a user's private authority; for ``*PUBLIC``, all authority. Jobs that have used the queue go on.

        Args:
            dtaq: ``LIB/NAME``, or a name that is searched in the library list.
            user: a user profile, or ``*PUBLIC``.

        Raises:
            EscapeMessage: CPF2189 not authorized to revoke, and those of finding it.
        """
        self.begin("RVKOBJAUT")
        queue = self._queue("GRTOBJAUT", dtaq)[1]
        if user == "*PUBLIC":
            queue.public = "*EXCLUDE"
        else:
            queue.private.pop(user.upper(), None)
        self.system.save_object(queue)
        self.note("RVKOBJAUT", queue, user=user)

    @declare("CHGCURLIB")
    def chgcurlib(self, library: str) -> None:
        """Change the job's current library; ``*CRTDFT`` is none, so that QGPL is used.

        Raises:
            EscapeMessage: CPF2110 there is no such library.
        """
        self.begin("CHGCURLIB")
        wanted = "" if library == "*CRTDFT" else self.object_name(library, "library")
        if wanted and self.library(wanted) is None:
            self.fail("CPF2110", wanted)
        self.current_library = wanted

    @declare("ADDLIBLE")
    def addlible(self, library: str, position: str = "*FIRST") -> None:
        """Add a library to the user part of the job's library list, ``*FIRST`` or ``*LAST``.

        Raises:
            EscapeMessage: CPF2110 there is no such library.
        """
        self.begin("ADDLIBLE")
        wanted = self.object_name(library, "library")
        if self.library(wanted) is None:
            self.fail("CPF2110", wanted)
        if wanted not in self.user_libraries:
            self.user_libraries.insert(0 if position == "*FIRST" else len(self.user_libraries), wanted)

    @declare("RMVLIBLE")
    def rmvlible(self, library: str) -> None:
        """Remove a library from the user part of the job's library list; one that is not in it is no error."""
        self.begin("RMVLIBLE")
        wanted = self.object_name(library, "library")
        self.user_libraries = [name for name in self.user_libraries if name != wanted]
