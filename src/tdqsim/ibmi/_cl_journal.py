"""CL commands for journals: CRTJRN, STRJRNOBJ, ENDJRNOBJ, DSPJRN."""

from __future__ import annotations

from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._job_core import JobCore, object_values
from tdqsim.ibmi._journal import Journal, JournalEntry
from tdqsim.ibmi._objects import new_name
from tdqsim.ibmi._queue import DataQueue

__all__ = ["JournalCommands"]


class JournalCommands(JobCore):
    """The commands that journal data queues and read journals."""

    @declare("CRTJRN")
    def crtjrn(self, jrn: str) -> None:
        """Create a journal (its receivers are not modelled).

        Args:
            jrn: ``LIB/NAME``, or a name that is created in the current library.

        Raises:
            EscapeMessage: CPF9870 it exists, CPF9810 no library.
        """
        library, name = self.qualified(jrn, self.current())
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

    def _journal(self, jrn: str) -> Journal:
        library, name = self.qualified(jrn, self.current())
        holder = self.library(library)
        if holder is None:
            self.fail("CPF9810", library)
        found = holder.objects.get(("*JRN", name))
        if not isinstance(found, Journal):
            self.fail("CPF9801", *object_values("CPF9801", name, library, "*JRN"))
        return found

    def _journaled(self, dtaq: str) -> DataQueue:
        library, name = self.qualified(dtaq, "*LIBL")
        found = self.open_alone("STRJRNOBJ", name, library)[1]
        if found.ddm:
            self.fail("CPF9511", found.name)
        return found

    @declare("STRJRNOBJ")
    def strjrnobj(self, dtaq: str, jrn: str) -> None:
        """Start journaling a standard data queue.

        Args:
            dtaq: ``LIB/NAME``, or a name that is searched in the library list.
            jrn: the journal, ``LIB/NAME`` or a name in the current library.

        Raises:
            EscapeMessage: CPF7030 it is journaled already, CPF9511 DDM queue, CPF9801 and CPF9810 not found, CPF2114 in
                use, CPF2189 not authorized.
        """
        self.begin("STRJRNOBJ")
        journal, queue = self._journal(jrn), self._journaled(dtaq)
        if queue.journal:
            self.fail("CPF7030", queue.name, "DTAQ", queue.library)
        queue.journal = journal.number
        queue.settle()
        self.system.save_object(queue)
        self.system.journals.write(self, queue, "QB")
        self.note("STRJRNOBJ", queue, jrn=journal.qualified)

    @declare("ENDJRNOBJ")
    def endjrnobj(self, dtaq: str) -> None:
        """End journaling a data queue.

        Args:
            dtaq: ``LIB/NAME``, or a name that is searched in the library list.

        Raises:
            EscapeMessage: CPF7031 it is not journaled, and those of finding it.
        """
        self.begin("ENDJRNOBJ")
        queue = self._journaled(dtaq)
        if not queue.journal:
            self.fail("CPF7031", queue.name, "DTAQ", queue.library)
        self.system.journals.write(self, queue, "QE")
        queue.journal = 0
        queue.settle()
        self.system.save_object(queue)
        self.note("ENDJRNOBJ", queue)

    @declare("DSPJRN")
    def dspjrn(self, jrn: str) -> tuple[JournalEntry, ...]:
        """The entries of a journal, oldest first.

        Args:
            jrn: ``LIB/NAME``, or a name in the current library.

        Raises:
            EscapeMessage: CPF9801 and CPF9810 not found.
        """
        self.begin("DSPJRN")
        return tuple(self._journal(jrn).read())
