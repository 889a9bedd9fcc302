"""CL commands for objects: ALCOBJ, DLCOBJ, WRKOBJLCK, CHKOBJ, MOVOBJ and RNMOBJ."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tdqsim.ibmi.authority import granted_names
from tdqsim.ibmi.declare import declare
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS, LOCK_STATES, OPERATIONS, Operation
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.lock_manager import LockEntry, Request
from tdqsim.ibmi.locks import HeldLock
from tdqsim.ibmi.messages import DTAQ, EscapeMessage
from tdqsim.ibmi.names import object_name, object_values, place, wait_seconds
from tdqsim.ibmi.objects import Library, SystemObject, new_name
from tdqsim.ibmi.queue import DataQueue

_SCOPES = ("*JOB", "*THREAD")
_CHECKED = ("*DTAQ", "*LIB", "*JRN", "*JRNRCV", "*PGM", "*USRPRF")
_NOT_ALLOCATED = {"ALCOBJ": "CPF1085", "DLCOBJ": "CPF1005"}
_Place = Callable[[DataQueue], tuple[str, str]]


@declare("ALCOBJ")
def alcobj(job: JobCore, objects: Sequence[tuple[str, str]], wait: float | None = None, scope: str = "*JOB") -> None:
    """Allocate objects: take a lock on each, all of them or none.

    Args:
        objects: up to 50 pairs of ``LIB/NAME`` and state: ``*SHRRD``, ``*SHRNUP``, ``*SHRUPD``, ``*EXCLRD`` or
            ``*EXCL``.
        wait: seconds, 0 to 32767; None (``*CLS``) for the job's default wait.
        scope: ``*JOB`` or ``*THREAD``.

    Raises:
        EscapeMessage: CPF1002 not allocated in time; CPF1085 an object was not found, or the user is not authorized to
            it; see ``diagnostics``.
        ParameterError: there is no such state or scope, there are too many objects, or the wait time is invalid.
    """
    job.begin("ALCOBJ")
    wait_ns = job.default_wait_ns() if wait is None else wait_seconds(wait, "wait", LIMITS["alcobj_wait_maximum"])
    requests = _requests(job, "ALCOBJ", objects, scope)
    if not job.system.locks.acquire(job, requests, wait_ns, scope):
        blocked = next((one for one in requests if job.system.locks.blocked(job, one)), requests[0])
        job.fail_for("CPF1002", _target(blocked), rule="DTAQ-LOCK-ALCOBJ")
    deleted = next((_target(one) for one in requests if one.target.deleted), None)
    if deleted is not None:
        for request in requests:
            job.system.locks.release(job, request, scope)
        job.fail_for("CPF1002", deleted, rule="DTAQ-LOCK-ALCOBJ-DELETED")
    for request in requests:
        job.note("ALCOBJ", _target(request), lock=request.state)
    job.give_turn()


@declare("DLCOBJ")
def dlcobj(job: JobCore, objects: Sequence[tuple[str, str]], scope: str = "*JOB") -> None:
    """Deallocate objects: release one lock on each; a lock that the job does not hold is no error.

    Args:
        objects: pairs of ``LIB/NAME`` and state, as for ALCOBJ.
        scope: ``*JOB`` or ``*THREAD``.

    Raises:
        EscapeMessage: CPF1005 an object was not found, or the user is not authorized to it, see ``diagnostics``;
            nothing is released.
    """
    job.begin("DLCOBJ")
    for request in _requests(job, "DLCOBJ", objects, scope):
        if HeldLock(job, request.state, scope) not in request.target.locks:
            continue
        job.system.locks.release(job, request, scope)
        job.note("DLCOBJ", _target(request), lock=request.state)
    job.give_turn()


def _target(request: Request) -> DataQueue:
    assert isinstance(request.target, DataQueue)
    return request.target


def _requests(job: JobCore, command: str, objects: Sequence[tuple[str, str]], scope: str) -> list[Request]:
    if not 0 < len(objects) <= LIMITS["alcobj_maximum"] or scope not in _SCOPES:
        raise ParameterError(
            f"1 to {LIMITS['alcobj_maximum']} objects are needed, and scope *JOB or *THREAD; "
            f"got {len(objects)}, {scope}"
        )
    for _, state in objects:
        if state not in LOCK_STATES:
            raise ParameterError(f"lock state {state!r}: allowed are {', '.join(LOCK_STATES)}")
    try:
        return [Request(_queue(job, command, name)[1], state) for name, state in objects]
    except EscapeMessage as error:
        job.fail_after(error, _NOT_ALLOCATED[command], "DTAQ-LOCK-NO-OBJECT")


def _queue(job: JobCore, operation: str, name: str, library: str = "") -> tuple[Library, DataQueue]:
    holder, queue = job.locate(OPERATIONS[operation], *place(name, library))
    assert isinstance(queue, DataQueue)
    job.authorize(OPERATIONS[operation], queue)
    return holder, queue


@declare("WRKOBJLCK")
def wrkobjlck(job: JobCore, obj: str, library: str = "") -> tuple[LockEntry, ...]:
    """The jobs that hold locks on a data queue, and those that wait for one.

    Args:
        obj: ``LIB/NAME``, or a name.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
    """
    job.begin("WRKOBJLCK")
    return job.system.locks.entries(_queue(job, "WRKOBJLCK", obj, library)[1])


@declare("CHKOBJ")
def chkobj(job: JobCore, obj: str, objtype: str, aut: str = "*NONE", *, library: str = "") -> None:
    """Check that an object exists, and that the job's user has authority to it.

    Args:
        obj: ``LIB/NAME``, or a name; for a library its name.
        objtype: ``*DTAQ``, ``*LIB``, ``*JRN``, ``*JRNRCV``, ``*PGM`` or ``*USRPRF``.
        aut: ``*NONE``, or the authorities to check, as for GRTOBJAUT. Those to programs and user profiles are not
            simulated.
        library: the object's library, ``*LIBL`` (the default) or ``*CURLIB``.

    Raises:
        EscapeMessage: CPF9801 and CPF9810 not found, CPF9802 and CPF9820 not authorized.
        ParameterError: there is no such authority, or objects of the type are not simulated.
    """
    operation = OPERATIONS["CHKOBJ"]
    name, library = place(obj, library)
    job.begin("CHKOBJ", name, library)
    wanted = frozenset[str]() if aut == "*NONE" else granted_names(aut)
    if objtype not in _CHECKED:
        raise ParameterError(f"objtype {objtype}: objects of this type are not simulated; {', '.join(_CHECKED)} are")
    if objtype in ("*LIB", "*USRPRF"):
        found: object = job.library(name) if objtype == "*LIB" else job.system.profiles.by_name.get(name)
        if library not in ("*LIBL", "QSYS") or found is None:
            job.fail("CPF9801", *object_values("CPF9801", name, "QSYS" if library == "*LIBL" else library, objtype))
    else:
        found = _found(job, operation, name, library, objtype)
    if aut == "*NONE":
        return
    if not isinstance(found, SystemObject):
        raise ParameterError(f"aut {aut}: authorities to objects of type {objtype} are not simulated")
    if not wanted <= job.granted(found):
        job.fail_for("CPF9802", found)


def _found(job: JobCore, operation: Operation, name: str, library: str, objtype: str) -> object:
    """An object in a library, or in the first library of the list that has it."""
    listed = library == "*LIBL"
    for one in job.library_list() if listed else (job.current() if library == "*CURLIB" else library,):
        holder = job.library(one)
        if holder is None:
            job.fail("CPF9810", one)
        if not listed:
            job.check_library(operation, holder)
        found = (
            job.system.objects.programs.get((one, name)) if objtype == "*PGM" else holder.objects.get((objtype, name))
        )
        if found is not None:
            job.check_library(operation, holder)
            return found
    return job.fail("CPF9801", *object_values("CPF9801", name, library, objtype))


@declare("MOVOBJ")
def movobj(job: JobCore, obj: str, tolib: str, *, library: str = "") -> None:
    """Move a data queue to another library, also out of QTEMP; jobs that remember its address keep reaching it.

    Args:
        obj: ``LIB/NAME``, or a name.
        tolib: the library to move it to, or ``*CURLIB``; it cannot be QTEMP.
        library: its library now, ``*LIBL`` (the default) or ``*CURLIB``.

    Raises:
        EscapeMessage: CPF2105 and CPF2110 not found, CPF2112 the name exists there, CPF2114 in use, CPF2189 and
            CPF2182 not authorized.
        ParameterError: ``tolib`` is QTEMP.
    """
    target = object_name(tolib, "tolib")
    if target == "QTEMP":
        raise ParameterError("tolib QTEMP: no object can be moved into QTEMP")
    if target == "*CURLIB":
        target = job.current()
    name, before = _change_place(job, "MOVOBJ", (obj, library), lambda queue: (target, queue.name), "QM")
    job.log(job.message("CPC2193", name, before, DTAQ, target))
    job.give_turn()


@declare("RNMOBJ")
def rnmobj(job: JobCore, obj: str, newobj: str, *, library: str = "") -> None:
    """Rename a data queue; jobs that remember its address keep reaching it.

    Args:
        obj: ``LIB/NAME``, or a name.
        newobj: its new name.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.

    Raises:
        EscapeMessage: as for MOVOBJ.
    """
    target = new_name(newobj, "newobj")
    before, library = _change_place(job, "RNMOBJ", (obj, library), lambda queue: (queue.library, target), "QN")
    job.log(job.message("CPC2192", before, library, DTAQ, target))
    job.give_turn()


def _change_place(
    job: JobCore, operation: str, asked: tuple[str, str], where: _Place, journal_type: str
) -> tuple[str, str]:
    """Move or rename a queue; returns its old name and library."""
    job.begin(operation)
    places = _places(job, operation, asked, where)
    while job.await_lock(operation, places[1]):  # after a wait look again: other jobs may have moved objects
        places = _places(job, operation, asked, where)
    holder, queue, target, name = places
    before = queue.name, queue.library
    job.note(operation, queue, to=f"{target.name}/{name}")
    journals = job.system.journals
    job.system.objects.move(queue, holder, target, name, lambda after: journals.entry(job, after, journal_type))
    return before


def _places(
    job: JobCore, operation: str, asked: tuple[str, str], where: _Place
) -> tuple[Library, DataQueue, Library, str]:
    """The queue with its library, and its new library and name, which must be free."""
    holder, queue = _queue(job, operation, *asked)
    library, name = where(queue)
    target = job.library(library)
    if target is None:
        job.fail("CPF2110", library)
    if target is not holder and not {"ADD", "READ"} <= job.granted(target):
        job.fail("CPF2182", library)
    if ("*DTAQ", name) in target.objects:
        job.fail("CPF2112", *object_values("CPF2112", name, library, "*DTAQ"))
    return holder, queue, target, name
