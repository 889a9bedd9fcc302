"""CL commands for journals: CRTJRN, STRJRNOBJ, ENDJRNOBJ, DSPJRN."""

from __future__ import annotations

from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._job_core import JobCore, object_values
from tdqsim.ibmi._objects import new_name
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi.journals import Journal, JournalEntry

__all__ = ["JournalCommands"]


class JournalCommands(JobCore):
    """The commands that journal data queues and read journals."""

    @declare("CRTJRN")
    def crtjrn(self, jrn: str, library: str = "") -> None:
        """Create a journal (its receivers are not modelled).

        Args:
            jrn: ``LIB/NAME``, or a name.
            library: its library; the current one when neither says one.

        Raises:
            EscapeMessage: CPF9870 it exists, CPF9810 no library.
        """
        name, library = self.place(jrn, library, default=self.current())
        self.begin("CRTJRN", name, library)
        holder = self.library(library)
        if holder is None:
            self.fail("CPF9810", library)
        new_name(name, "jrn")
        if not holder.number:
            raise ParameterError("jrn: a journal cannot be in QTEMP")
        if ("*JRN", name) in holder.objects:
            self.fail("CPF9870", *object_values("CPF9870", name, library, "*JRN"))
        owner = self.current_user
        self.system.add_object(holder, lambda number: Journal(number, name, library, owner, public="*USE"))

    def _journal(self, jrn: str, library: str = "") -> Journal:
        name, library = self.place(jrn, library, default=self.current())
        holder = self.library(library)
        if holder is None:
            self.fail("CPF9810", library)
        found = holder.objects.get(("*JRN", name))
        if not isinstance(found, Journal):
            self.fail("CPF9801", *object_values("CPF9801", name, library, "*JRN"))
        return found

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
            jrn: the journal, ``LIB/NAME`` or a name in the current library.

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
    def endjrnobj(self, dtaq: str, library: str = "") -> None:
        """End journaling a data queue.

        Args:
            dtaq: ``LIB/NAME``, or a name.
            library: the queue's library, ``*LIBL`` (when neither says one) or ``*CURLIB``.

        Raises:
            EscapeMessage: CPF7031 it is not journaled, and those of finding it.
        """
        self.begin("ENDJRNOBJ")
        queue = self._journaled(dtaq, library)
        if not queue.journal:
            self.fail("CPF7031", queue.name, "DTAQ", queue.library)
        works = self.system.journals.entry(self, queue, "QE")
        self.system.change_object(queue, {"journal": 0}, lambda _after: works)
        self.note("ENDJRNOBJ", queue)

    @declare("DSPJRN")
    def dspjrn(self, jrn: str, library: str = "") -> tuple[JournalEntry, ...]:
        """The entries of a journal, oldest first.

        Args:
            jrn: ``LIB/NAME``, or a name.
            library: its library; the current one when neither says one.

        Raises:
            EscapeMessage: CPF9801 and CPF9810 not found.
        """
        self.begin("DSPJRN")
        return tuple(self._journal(jrn, library).read())
