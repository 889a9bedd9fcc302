"""CL commands for journals: CRTJRNRCV, CRTJRN, STRJRNOBJ, ENDJRNOBJ, DSPJRN."""

from __future__ import annotations

from collections.abc import Sequence

from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._job_core import JobCore, object_values
from tdqsim.ibmi._objects import Library, described, new_name
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi.journals import Journal, JournalEntry

__all__ = ["JournalCommands"]


class JournalCommands(JobCore):
    """The commands that journal data queues and read journals."""

    @declare("CRTJRNRCV")
    def crtjrnrcv(self, jrnrcv: str, library: str = "") -> None:
        """Create a journal receiver: the library and the name are checked, nothing is made.

        A journal has all its entries itself, so that scripts which make receivers run as they are.

        Args:
            jrnrcv: ``LIB/NAME``, or a name.
            library: its library; the current one when neither says one.

        Raises:
            EscapeMessage: CPF9810 no library.
            ParameterError: no name for a receiver, or QTEMP, which can have none.
        """
        self.begin("CRTJRNRCV")
        self._new_in("jrnrcv", jrnrcv, library)

    @declare("CRTJRN")
    def crtjrn(self, jrn: str, library: str = "", *, jrnrcv: Sequence[str] = (), text: str = "") -> None:
        """Create a journal, which needs no receivers here.

        Args:
            jrn: ``LIB/NAME``, or a name.
            library: its library; the current one when neither says one.
            jrnrcv: one or two receivers: their libraries and names are checked.
            text: its description, at most 50 characters; ``*BLANK`` for none.

        Raises:
            EscapeMessage: CPF9870 it exists, CPF9810 no library.
            ParameterError: no name for a journal or a receiver, or QTEMP, which can have none.
        """
        name, library = self.place(jrn, library, default=self.current())
        self.begin("CRTJRN", name, library)
        holder, name = self._new_in("jrn", name, library)
        for receiver in jrnrcv:
            self._new_in("jrnrcv", receiver.removeprefix("*LIBL/"))
        if ("*JRN", name) in holder.objects:
            self.fail("CPF9870", *object_values("CPF9870", name, holder.name, "*JRN"))
        owner = self.current_user
        self.system.add_object(
            holder, lambda number: Journal(number, name, holder.name, owner, public="*USE", text=described(text))
        )

    def _new_in(self, keyword: str, name: str, library: str = "") -> tuple[Library, str]:
        """The library that something of journaling is to be in, and its name."""
        name, library = self.place(name, library, default=self.current())
        wanted = self.current() if library == "*CURLIB" else library
        holder = self.library(wanted)
        if holder is None:
            self.fail("CPF9810", wanted)
        new_name(name, keyword)
        if not holder.number:
            raise ParameterError(f"{keyword}: journals and receivers cannot be in QTEMP")
        return holder, name

    def _journal(self, jrn: str, library: str = "") -> Journal:
        name, library = self.place(jrn, library)
        named = self.current() if library == "*CURLIB" else library
        for one in self.library_list() if library == "*LIBL" else (named,):
            holder = self.library(one)
            if holder is None:
                self.fail("CPF9810", one)
            found = holder.objects.get(("*JRN", name))
            if isinstance(found, Journal):
                return found
        return self.fail("CPF9801", *object_values("CPF9801", name, library, "*JRN"))

    def _journaled(self, dtaq: str, library: str = "") -> DataQueue:
        name, library = self.place(dtaq, library)
        found = self._open_alone("STRJRNOBJ", name, library)[1]
        if found.ddm:
            self.fail("CPF9511", found.name)
        return found

    @declare("STRJRNOBJ")
    def strjrnobj(self, dtaq: str, jrn: str, *, library: str = "") -> None:
        """Start journaling a standard data queue.

        Args:
            dtaq: ``LIB/NAME``, or a name.
            library: the queue's library, ``*LIBL`` (when neither says one) or ``*CURLIB``.
            jrn: the journal, ``LIB/NAME``, or a name in the library list.

        Raises:
            EscapeMessage: CPF7030 it is journaled already, CPF9511 DDM queue, CPF9801 and CPF9810 not found, CPF2114 in
                use, CPF2189 not authorized.
        """
        self.begin("STRJRNOBJ")
        journal, queue = self._journal(jrn), self._journaled(dtaq, library)
        if queue.journal:
            self.fail("CPF7030", queue.name, "DTAQ", queue.library)
        journals = self.system.journals
        self.system.change_object(queue, {"journal": journal.number}, lambda after: journals.entry(self, after, "QB"))
        self.note("STRJRNOBJ", queue, jrn=journal.qualified)

    @declare("ENDJRNOBJ")
    def endjrnobj(self, dtaq: str, library: str = "", *, jrn: str = "*OBJ") -> None:
        """End journaling a data queue.

        Args:
            dtaq: ``LIB/NAME``, or a name.
            library: the queue's library, ``*LIBL`` (when neither says one) or ``*CURLIB``.
            jrn: the journal that it must be journaled to, ``LIB/NAME`` or a name in the library list; ``*OBJ`` for any.

        Raises:
            EscapeMessage: CPF7031 it is not journaled, or to another journal, and those of finding them.
        """
        self.begin("ENDJRNOBJ")
        journal = None if jrn == "*OBJ" else self._journal(jrn)
        queue = self._journaled(dtaq, library)
        if not queue.journal or (journal is not None and journal.number != queue.journal):
            self.fail("CPF7031", queue.name, "DTAQ", queue.library)
        works = self.system.journals.entry(self, queue, "QE")
        self.system.change_object(queue, {"journal": 0}, lambda _after: works)
        self.note("ENDJRNOBJ", queue)

    @declare("DSPJRN")
    def dspjrn(self, jrn: str, library: str = "") -> tuple[JournalEntry, ...]:
        """The entries of a journal, oldest first.

        Args:
            jrn: ``LIB/NAME``, or a name.
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``.

        Raises:
            EscapeMessage: CPF9801 and CPF9810 not found.
        """
        self.begin("DSPJRN")
        return tuple(self._journal(jrn, library).read())
