"""CL commands for libraries and the library list: CRTLIB, DLTLIB, ADDLIBLE, RMVLIBLE, CHGLIBL and CHGCURLIB."""

from __future__ import annotations

from collections.abc import Sequence

from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._job_core import JobCore
from tdqsim.ibmi._objects import SHIPPED_LIBRARIES, Library, described, new_name

__all__ = ["LibraryCommands"]

_BESIDE = ("*AFTER", "*BEFORE")
_SHIPPED = "*CHANGE"
"""QCRTAUT."""


class LibraryCommands(JobCore):
    """The commands that make and delete libraries and change the job's library list."""

    @declare("CRTLIB")
    def crtlib(self, lib: str, *, aut: str = "*CHANGE", crtaut: str = "*CHANGE", text: str = "") -> Library:
        """Create a library, owned by the job's user.

        Args:
            lib: 1 to 10 characters.
            aut: public authority to it; ``*LIBCRTAUT`` is what the system is shipped with, ``*CHANGE``.
            crtaut: public authority of what is created in it with AUT(*LIBCRTAUT); ``*SYSVAL`` likewise.
            text: its description; ``*BLANK`` for none.

        Raises:
            EscapeMessage: CPF2111 it exists.
        """
        self.begin("CRTLIB", "", lib)
        name = new_name(lib, "lib")
        if name == "QTEMP" or name in self.system.libraries:
            self.fail("CPF2111", name)
        aut, crtaut = (_SHIPPED if one in ("*LIBCRTAUT", "*SYSVAL") else one for one in (aut, crtaut))
        made = self.system.crtlib(name, owner=self.current_user, aut=aut, crtaut=crtaut, text=described(text))
        self.log(self.message("CPC2102", name))
        self.give_turn()
        return made

    @declare("DLTLIB")
    def dltlib(self, lib: str) -> None:
        """Delete a library and everything in it; what waits for an entry there ends with CPF9805.

        Args:
            lib: the library.

        Raises:
            EscapeMessage: CPF2110 it is not there, CPF2182 not authorized to it, CPF2189 to something in it, CPF2114
                another job holds a lock on something in it. Nothing is deleted then.
        """
        self.begin("DLTLIB", "", lib)
        name = new_name(lib, "lib")
        found = self.system.libraries.get(name)
        if found is None:
            self.fail("CPF2110", name)
        if name in SHIPPED_LIBRARIES or "OBJEXIST" not in self.granted(found):
            self.fail("CPF2182", name)
        for one in found.objects.values():
            if "OBJEXIST" not in self.granted(one):
                self._fail_for("CPF2189", one)
            if any(lock.job is not self for lock in one.locks):
                self._fail_for("CPF2114", one)
        self.system.dltlib(name, job=self)
        self.log(self.message("CPC2194", name))
        self.give_turn()

    @declare("CHGCURLIB")
    def chgcurlib(self, curlib: str) -> None:
        """Change the job's current library; ``*CRTDFT`` is none, so that QGPL is used.

        Raises:
            EscapeMessage: CPF2110 there is no such library.
        """
        self.begin("CHGCURLIB")
        self._set_current(curlib)
        self.log(self.message("CPC2198", self.current_library or "*CRTDFT"))

    def _set_current(self, curlib: str) -> None:
        self.current_library = "" if curlib == "*CRTDFT" else self._existing(curlib)

    def _existing(self, library: str) -> str:
        wanted = self.object_name(library, "library")
        if self.library(wanted) is None:
            self.fail("CPF2110", wanted)
        return wanted

    @declare("ADDLIBLE")
    def addlible(self, lib: str, position: str | tuple[str, str] = "*FIRST") -> None:
        """Add a library to the user part of the job's library list.

        Args:
            lib: the library.
            position: ``*FIRST``, ``*LAST``, or a pair: ``("*AFTER", "LIB")``, ``("*BEFORE", "LIB")``.

        Raises:
            EscapeMessage: CPF2110 there is no such library, CPF2103 it is in the list already, CPF2149 the library that
                the position names is not in the list.
            ParameterError: a position that does not exist.
        """
        self.begin("ADDLIBLE")
        wanted = self._existing(lib)
        if wanted in self.user_libraries:
            self.fail("CPF2103", wanted)
        at = self._place_in_list(position)
        self.user_libraries = (*self.user_libraries[:at], wanted, *self.user_libraries[at:])
        self.log(self.message("CPC2196", wanted))

    def _place_in_list(self, position: str | tuple[str, str]) -> int:
        if position in ("*FIRST", "*LAST"):
            return 0 if position == "*FIRST" else len(self.user_libraries)
        if isinstance(position, str) or len(position) != 2 or position[0] not in _BESIDE:
            raise ParameterError(f"position {position!r}: *FIRST, *LAST, or *AFTER or *BEFORE and a library")
        beside = self.object_name(position[1], "position")
        if beside not in self.user_libraries:
            self.fail("CPF2149", beside)
        return self.user_libraries.index(beside) + (position[0] == "*AFTER")

    @declare("RMVLIBLE")
    def rmvlible(self, lib: str) -> None:
        """Remove a library from the user part of the job's library list.

        Raises:
            EscapeMessage: CPF2104 it is not in the list.
        """
        self.begin("RMVLIBLE")
        wanted = self.object_name(lib, "library")
        if wanted not in self.user_libraries:
            self.fail("CPF2104", wanted)
        self.user_libraries = [one for one in self.user_libraries if one != wanted]
        self.log(self.message("CPC2197", wanted))

    @declare("CHGLIBL")
    def chglibl(self, libl: str | Sequence[str] = "*SAME", curlib: str = "*SAME") -> None:
        """Change the user part of the job's library list and its current library.

        Args:
            libl: up to 250 libraries in the order of the search, ``*NONE`` or ``*SAME``.
            curlib: the current library, ``*CRTDFT`` for none, or ``*SAME``.

        Raises:
            EscapeMessage: CPF2110 a library is not there, CPF2184 one is named twice; nothing has changed then.
            ParameterError: more than 250 libraries.
        """
        self.begin("CHGLIBL")
        wanted = self.user_libraries if libl == "*SAME" else self._list(libl)
        if curlib not in ("*SAME", "*CRTDFT"):
            self._existing(curlib)
        self.user_libraries = wanted
        if curlib != "*SAME":
            self._set_current(curlib)
        self.log(self.message("CPC2101"))

    def _list(self, libl: str | Sequence[str]) -> list[str]:
        names = [] if libl == "*NONE" else libl.split() if isinstance(libl, str) else list(libl)
        if len(names) > LIMITS["library_list_maximum"]:
            raise ParameterError(f"libl: at most {LIMITS['library_list_maximum']} libraries, got {len(names)}")
        found = [self._existing(name) for name in names]
        if len(set(found)) < len(found):
            self.fail("CPF2184")
        return found
