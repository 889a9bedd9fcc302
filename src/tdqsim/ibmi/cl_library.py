"""CL commands for libraries and the library list: CRTLIB, DLTLIB, ADDLIBLE, CLRLIB, RMVLIBLE, CHGLIBL and CHGCURLIB."""

from __future__ import annotations

from collections.abc import Sequence

from tdqsim.ibmi.declare import declare
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import AUTHORITIES, LIMITS, OPERATIONS
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.messages import Message
from tdqsim.ibmi.names import object_name, object_values, several_names
from tdqsim.ibmi.objects import SHIPPED_LIBRARIES, Library, SystemObject, described, new_name

BESIDE = ("*AFTER", "*BEFORE", "*REPLACE")
"""The positions of ADDLIBLE beside, or of, a library in the list."""
_SHIPPED = "*CHANGE"
"""The shipped value of the system value QCRTAUT."""


@declare("CRTLIB")
def crtlib(job: JobCore, lib: str, *, aut: str = "*CHANGE", crtaut: str = "*CHANGE", text: str = "") -> Library:
    """Create a library, owned by the job's user.

    Args:
        lib: 1 to 10 characters.
        aut: public authority to it; ``*LIBCRTAUT`` is the system's default, ``*CHANGE``.
        crtaut: public authority of objects created in it with AUT(*LIBCRTAUT); ``*SYSVAL`` is ``*CHANGE`` too.
        text: its description; ``*BLANK`` for none.

    Raises:
        EscapeMessage: CPF2111 it exists.
    """
    job.begin("CRTLIB", "", lib)
    name = new_name(lib, "lib")
    if name == "QTEMP" or name in job.system.objects.libraries:
        job.fail("CPF2111", name)
    aut, crtaut = (_SHIPPED if one in ("*LIBCRTAUT", "*SYSVAL") else one for one in (aut, crtaut))
    made = job.system.objects.crtlib(name, owner=job.current_user, aut=aut, crtaut=crtaut, text=described(text))
    job.log(job.message("CPC2102", name))
    job.give_turn()
    return made


@declare("DLTLIB")
def dltlib(job: JobCore, lib: str) -> None:
    """Delete a library and everything in it; a receive that waits at a queue in it ends with CPF9805.

    Objects that another job locks, and objects for which the user lacks ``*OBJEXIST``, are not deleted, and the library
    then stays too; the other objects are deleted, in one commit.

    Args:
        lib: the library.

    Raises:
        EscapeMessage: CPF2161 some objects and the library stay, and ``diagnostics`` name each object, with CPF2189 or
            CPF9503. In all other cases nothing is deleted: CPF2110 the library does not exist, CPF2129 it belongs to
            the system, CPF2167 it is in the job's library list, CPF2182 not authorized to it, CPF210D it is in the
            library list of another active job, and the system value QLIBLCKLVL is 1.
    """
    job.begin("DLTLIB", "", lib)
    name = new_name(lib, "lib")
    library = job.library(name)
    if library is None:
        job.fail("CPF2110", name)
    if name in (*SHIPPED_LIBRARIES, "QTEMP"):
        job.fail("CPF2129", name)
    if name in job.library_list():
        job.fail("CPF2167", name)
    if not {"OBJEXIST", *AUTHORITIES["*USE"]} <= job.granted(library):
        job.fail("CPF2182", name)
    if _locked_by_list(job, name):
        job.fail("CPF210D", name, rule="DTAQ-LIB-DELETE-LOCKED")
    obstacles = {one: _obstacle(job, one) for one in library.objects.values()}
    kept = tuple(each for each in obstacles.values() if each is not None)
    if kept:
        job.system.objects.remove_several([one for one, each in obstacles.items() if each is None], library, job)
        job.log(*kept)
        job.give_turn()
        job.fail("CPF2161", name, rule="DTAQ-LIB-DELETE-SOME-ID", diagnostics=kept)
    job.system.objects.dltlib(name, job=job)
    job.log(job.message("CPC2194", name))
    job.give_turn()


def _locked_by_list(job: JobCore, name: str) -> bool:
    """Whether QLIBLCKLVL has active jobs lock the libraries in their lists, and another job's list has this one."""
    jobs = job.system.jobs.values() if job.system.values["QLIBLCKLVL"] else ()
    return any(name in each._core.library_list() for each in jobs)


def _obstacle(job: JobCore, one: SystemObject) -> Message | None:
    """The diagnostic message about an object that the job cannot delete, or None."""
    if "OBJEXIST" not in job.granted(one):
        message_id = OPERATIONS["DLTDTAQ"].object_message
    elif any(lock.job is not job for lock in one.locks):
        message_id = OPERATIONS["DLTDTAQ"].lock_message
    else:
        return None
    sent = job.message(message_id, *object_values(message_id, one.name, one.library, one.type))
    return sent._replace(kind="diagnostic")


@declare("CLRLIB")
def clrlib(job: JobCore, lib: str) -> None:
    """Delete the objects in a library, but not the library.

    Objects that another job locks, and objects for which the user lacks ``*OBJEXIST``, stay.

    Args:
        lib: the library, or ``*CURLIB``.

    Raises:
        EscapeMessage: CPF2161 some objects stay, and ``diagnostics`` name each one. In all other cases nothing is
            deleted: CPF2110 the library does not exist, CPF2129 it belongs to the system, CPF2182 not authorized to it.
        ParameterError: the library is QGPL, for which a real system asks the operator (CPA2129).
    """
    job.begin("CLRLIB", "", lib)
    name = job.current() if lib == "*CURLIB" else object_name(lib, "lib")
    library = job.library(name)
    if library is None:
        job.fail("CPF2110", name)
    if name == "QGPL":
        raise ParameterError("lib QGPL: the inquiry message CPA2129, which asks whether to clear it, is not simulated")
    if name in SHIPPED_LIBRARIES:
        job.fail("CPF2129", name)
    if not AUTHORITIES["*USE"] <= job.granted(library):
        job.fail("CPF2182", name)
    kept = _remove_all(job, library)
    job.give_turn()
    if kept:
        job.fail("CPF2161", name, diagnostics=kept)


def _remove_all(job: JobCore, library: Library) -> tuple[Message, ...]:
    """Delete the objects of a library; if some must stay, returns the messages about them, which are in the job log."""
    obstacles = {one: _obstacle(job, one) for one in library.objects.values()}
    kept = tuple(each for each in obstacles.values() if each is not None)
    job.system.objects.remove_several([one for one, each in obstacles.items() if each is None], library, job)
    job.log(*kept)
    return kept


@declare("CHGCURLIB")
def chgcurlib(job: JobCore, curlib: str) -> None:
    """Change the job's current library; ``*CRTDFT`` sets none, so that QGPL is used.

    Raises:
        EscapeMessage: CPF2110 there is no such library, CPF2182 not authorized to it.
    """
    job.begin("CHGCURLIB")
    _set_current(job, curlib)
    job.log(job.message("CPC2198", job.current_library or "*CRTDFT"))


def _set_current(job: JobCore, curlib: str) -> None:
    job.set_current_library("" if curlib == "*CRTDFT" else _usable(job, curlib))


def _usable(job: JobCore, library: str) -> str:
    """The name of a library for the library list: it must exist, and the user needs ``*USE`` to it."""
    wanted = object_name(library, "library")
    found = job.library(wanted)
    if found is None:
        job.fail("CPF2110", wanted)
    if not AUTHORITIES["*USE"] <= job.granted(found):
        job.fail("CPF2182", wanted, rule="DTAQ-LIBL-AUTHORITY")
    return wanted


@declare("ADDLIBLE")
def addlible(job: JobCore, lib: str, position: str | tuple[str, str] = "*FIRST") -> None:
    """Add a library to the user part of the job's library list.

    Args:
        lib: the library.
        position: ``*FIRST``, ``*LAST``, or a pair: ``("*AFTER", "LIB")``, ``("*BEFORE", "LIB")``; with ``("*REPLACE",
            "LIB")`` it takes the place of a library.

    Raises:
        EscapeMessage: CPF2110 there is no such library, CPF2182 not authorized to it, CPF2103 it is in the list
            already, CPF2149 the library that the position names is not in the list, CPF2118 the list has 250 libraries.
        ParameterError: a position that does not exist.
    """
    job.begin("ADDLIBLE")
    wanted = _usable(job, lib)
    if wanted in job.user_libraries:
        job.fail("CPF2103", wanted)
    libraries, at, replaced = list(job.user_libraries), _place_in_list(job, position), position[0] == "*REPLACE"
    libraries[at : at + replaced] = [wanted]
    if len(libraries) > LIMITS["library_list_maximum"]:
        job.fail("CPF2118", wanted, rule="DTAQ-LIBL-FULL")
    job.set_user_libraries(libraries)
    job.log(job.message("CPC2196", wanted))


def _place_in_list(job: JobCore, position: str | tuple[str, str]) -> int:
    if position in ("*FIRST", "*LAST"):
        return 0 if position == "*FIRST" else len(job.user_libraries)
    if isinstance(position, str) or len(position) != 2 or position[0] not in BESIDE:
        raise ParameterError(f"position {position!r}: *FIRST, *LAST, or *AFTER, *BEFORE or *REPLACE and a library")
    beside = object_name(position[1], "position")
    if beside not in job.user_libraries:
        job.fail("CPF2149", beside)
    return job.user_libraries.index(beside) + (position[0] == "*AFTER")


@declare("RMVLIBLE")
def rmvlible(job: JobCore, lib: str) -> None:
    """Remove a library from the user part of the job's library list.

    Raises:
        EscapeMessage: CPF2104 it is not in the list.
    """
    job.begin("RMVLIBLE")
    wanted = object_name(lib, "library")
    if wanted not in job.user_libraries:
        job.fail("CPF2104", wanted)
    job.set_user_libraries([one for one in job.user_libraries if one != wanted])
    job.log(job.message("CPC2197", wanted))


@declare("CHGLIBL")
def chglibl(job: JobCore, libl: str | Sequence[str] = "*SAME", curlib: str = "*SAME") -> None:
    """Change the user part of the job's library list and its current library.

    Args:
        libl: up to 250 libraries in search order, ``*NONE`` or ``*SAME``.
        curlib: the current library, ``*CRTDFT`` for none, or ``*SAME``.

    Raises:
        EscapeMessage: CPF2110 a library does not exist, CPF2182 not authorized to one, CPF2184 one is named twice;
            nothing has changed.
        ParameterError: more than 250 libraries.
    """
    job.begin("CHGLIBL")
    wanted = job.user_libraries if libl == "*SAME" else _list(job, libl)
    if curlib not in ("*SAME", "*CRTDFT"):
        _usable(job, curlib)
    job.set_user_libraries(wanted)
    if curlib != "*SAME":
        _set_current(job, curlib)
    job.log(job.message("CPC2101"))


def _list(job: JobCore, libl: str | Sequence[str]) -> list[str]:
    names = [] if libl == "*NONE" else several_names(libl)
    if len(names) > LIMITS["library_list_maximum"]:
        raise ParameterError(f"libl: at most {LIMITS['library_list_maximum']} libraries, got {len(names)}")
    libraries = [_usable(job, name) for name in names]
    if len(set(libraries)) < len(libraries):
        job.fail("CPF2184")
    return libraries
