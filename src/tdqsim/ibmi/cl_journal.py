"""CL commands for journals: CRTJRNRCV, CRTJRN, STRJRNOBJ, ENDJRNOBJ, DSPJRN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tdqsim.ibmi.declare import declare
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.journals import Journal, JournalEntry, JournalReceiver
from tdqsim.ibmi.names import object_values, place, several_names
from tdqsim.ibmi.objects import Library, described, new_name
from tdqsim.ibmi.queue import DataQueue

Found = TypeVar("Found", Journal, JournalReceiver)


@declare("CRTJRNRCV")
def crtjrnrcv(job: JobCore, jrnrcv: str, library: str = "") -> None:
    """Create a journal receiver, which CRTJRN names; a simulated journal has its entries itself.

    Args:
        jrnrcv: ``LIB/NAME``, or a name.
        library: its library; by default the current one.

    Raises:
        EscapeMessage: CPF7010 it exists, CPF9810 no such library, CPF9820 not authorized to it.
        ParameterError: the name is not valid, or the library is QTEMP, which cannot contain a receiver.
    """
    job.begin("CRTJRNRCV")
    holder, name = _new_in(job, "jrnrcv", jrnrcv, library, "*JRNRCV")
    receiver = JournalReceiver(0, name, holder.name, job.current_user, public="*USE")
    job.system.objects.add([(holder, receiver)])


@declare("CRTJRN")
def crtjrn(job: JobCore, jrn: str, library: str = "", *, jrnrcv: str | Sequence[str] = (), text: str = "") -> None:
    """Create a journal. It may be created without receivers here, because it has its entries itself.

    Args:
        jrn: ``LIB/NAME``, or a name.
        library: its library; by default the current one.
        jrnrcv: one or two receivers that no other journal was created with, as a list or as text with a blank between.
        text: its description, at most 50 characters; ``*BLANK`` for none.

    Raises:
        EscapeMessage: CPF7010 it exists, CPF7015 a receiver is attached to a journal, CPF9801 a receiver does not
            exist, CPF9810 no such library, CPF9820 not authorized to it.
        ParameterError: the name is not valid, or the library is QTEMP, which cannot contain a journal.
    """
    name, library = place(jrn, library, default=job.current())
    job.begin("CRTJRN", name, library)
    holder, name = _new_in(job, "jrn", name, library, "*JRN")
    receivers = [_found(job, each, "", JournalReceiver, "*JRNRCV").number for each in several_names(jrnrcv)]
    attached = {each for journal in job.system.objects.journals() for each in journal.receivers}
    if attached.intersection(receivers) or len(set(receivers)) < len(receivers):
        job.fail("CPF7015")
    journal = Journal(
        0, name, holder.name, job.current_user, public="*USE", text=described(text), receivers=receivers
    )  # fmt: skip
    job.system.objects.add([(holder, journal)])


def _new_in(job: JobCore, keyword: str, name: str, library: str, kind: str) -> tuple[Library, str]:
    """The library and the name of a new journal or receiver, which must not exist."""
    name, library = place(name, library, default=job.current())
    wanted = job.current() if library == "*CURLIB" else library
    holder = job.library(wanted)
    if holder is None:
        job.fail("CPF9810", wanted)
    new_name(name, keyword)
    if not holder.number:
        raise ParameterError(f"{keyword}: journals and receivers cannot be in QTEMP")
    if not {"READ", "ADD"} <= job.granted(holder):
        job.fail("CPF9820", wanted)
    if (kind, name) in holder.objects:
        job.fail("CPF7010", *object_values("CPF7010", name, holder.name, kind))
    return holder, name


def _journal(job: JobCore, jrn: str, library: str = "") -> Journal:
    return _found(job, jrn, library, Journal, "*JRN")


def _found(job: JobCore, name: str, library: str, wanted: type[Found], kind: str) -> Found:
    """A journal or receiver, in a library or in the first one of the library list that has it."""
    name, library = place(name, library)
    named = job.current() if library == "*CURLIB" else library
    for one in job.library_list() if library == "*LIBL" else (named,):
        holder = job.library(one)
        if holder is None:
            job.fail("CPF9810", one)
        found = holder.objects.get((kind, name))
        if "EXECUTE" not in job.granted(holder) and (library != "*LIBL" or found is not None):
            job.fail("CPF9820", one, rule="DTAQ-JOURNAL-LIBRARY")
        if isinstance(found, wanted):
            return found
    return job.fail("CPF9801", *object_values("CPF9801", name, library, kind))


def _journaled(job: JobCore, operation: str, dtaq: str, library: str) -> DataQueue:
    name, library = place(dtaq, library)
    queue = job.open_alone(operation, name, library)[1]
    if queue.ddm:
        job.fail("CPF9511", queue.name)
    return queue


@declare("STRJRNOBJ")
def strjrnobj(job: JobCore, obj: str, jrn: str, *, library: str = "") -> None:
    """Start journaling a standard data queue; from then on its entries are durable, as with FORCE(*YES).

    Args:
        obj: ``LIB/NAME``, or a name.
        library: the queue's library, ``*LIBL`` (the default) or ``*CURLIB``.
        jrn: the journal, ``LIB/NAME``, or a name in the library list.

    Raises:
        EscapeMessage: CPF7030 it is journaled already, CPF9511 DDM queue, CPF9801 and CPF9810 not found, CPF2114 in
            use, CPF2189 and CPF2182 not authorized, CPF9820 not authorized to the journal's library.
    """
    job.begin("STRJRNOBJ")
    journal, queue = _journal(job, jrn), _journaled(job, "STRJRNOBJ", obj, library)
    if queue.journal:
        job.fail("CPF7030", queue.name, "DTAQ", queue.library)
    journals = job.system.journals
    values = {"journal": journal.number, "once_journaled": True}
    job.system.objects.change(queue, values, lambda after: journals.entry(job, after, "QB"))
    job.note("STRJRNOBJ", queue, jrn=journal.qualified)


@declare("ENDJRNOBJ")
def endjrnobj(job: JobCore, obj: str, jrn: str = "*OBJ", *, library: str = "") -> None:
    """End journaling a data queue.

    Args:
        obj: ``LIB/NAME``, or a name.
        jrn: the journal that it must be journaled to, ``LIB/NAME`` or a name in the library list; ``*OBJ`` for any.
        library: the queue's library, ``*LIBL`` (the default) or ``*CURLIB``.

    Raises:
        EscapeMessage: CPF7031 it is not journaled, or to another journal, and those for finding queue and journal.
    """
    job.begin("ENDJRNOBJ")
    journal = None if jrn == "*OBJ" else _journal(job, jrn)
    queue = _journaled(job, "ENDJRNOBJ", obj, library)
    if not queue.journal or (journal is not None and journal.number != queue.journal):
        job.fail("CPF7031", queue.name, "DTAQ", queue.library)
    works = job.system.journals.entry(job, queue, "QE")
    job.system.objects.change(queue, {"journal": 0}, lambda _after: works)
    job.note("ENDJRNOBJ", queue)


@declare("DSPJRN")
def dspjrn(job: JobCore, jrn: str, library: str = "") -> tuple[JournalEntry, ...]:
    """The entries of a journal, oldest first.

    Args:
        jrn: ``LIB/NAME``, or a name.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.

    Raises:
        EscapeMessage: CPF9801 and CPF9810 not found, CPF9820 not authorized to its library.
    """
    job.begin("DSPJRN")
    return tuple(_journal(job, jrn, library).read())
