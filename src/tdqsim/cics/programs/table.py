"""The programs of a region: each is a callable with the task as its argument, whatever its language."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tdqsim.cics.queues.exits import Exits
from tdqsim.core.callables import why_unusable
from tdqsim.errors import UsageError

if TYPE_CHECKING:
    from tdqsim.definitions import ProgramDefinition

Program = Callable[[Any], object]
"""A program: called with its task. Its COMMAREA is ``task.commarea``."""


class Programs:
    """The program table of a region.

    Attributes:
        finders: functions called in turn for a program that is not registered; each returns the program or None.
        definitions: the installed PROGRAM definitions by name; a program need not have one.
        exits: the programs at the exits of transient data, see :class:`~tdqsim.cics.queues.exits.Exits`.
        uses: how often LINK, XCTL and HANDLE ABEND found each program since statistics were reset, by name.
    """

    def __init__(
        self,
        exits: Exits,
        finders: Iterable[Callable[[str], Program | None]] = (),
        on_register: Callable[[], None] = lambda: None,
    ) -> None:
        self._table: dict[str, Program] = {}
        self._tables: dict[str, bytes] = {}
        self.finders = list(finders)
        self.definitions: dict[str, ProgramDefinition] = {}
        self._on_register = on_register
        self.exits = exits
        self.uses: dict[str, int] = {}

    def register(self, name: str, program: Program) -> None:
        """Register a Python function as a program, for LINK, XCTL and transactions whose PROGRAM has this name.

        Args:
            name: 1 to 8 characters.
            program: called with its task.

        Raises:
            UsageError: the name is not a valid program name, or the program cannot be called.
        """
        if not 0 < len(name) <= 8 or not name.isascii():
            raise UsageError(f"program {name!r}: the name of a program is 1 to 8 characters")
        if reason := why_unusable(program, "task"):
            raise UsageError(f"program {name}: {reason}; a program is a function of its task, def program(task)")
        self._table[name.upper()] = program
        self._on_register()

    def install(self, definition: ProgramDefinition) -> None:
        """Install a PROGRAM definition, replacing one of that name."""
        self.definitions[definition.name] = definition

    def definition(self, name: str) -> ProgramDefinition | None:
        """The definition of a program, or None."""
        return self.definitions.get(name.rstrip(" \0").upper()) if self.definitions else None

    def define_table(self, name: str, data: bytes) -> None:
        """Define the bytes that LOAD of this name returns, for example a table that is not a COBOL program.

        Raises:
            UsageError: the name is not a valid program name, or there are no bytes.
        """
        if not 0 < len(name) <= 8 or not name.isascii():
            raise UsageError(f"table {name!r}: the name of a program is 1 to 8 characters")
        if not data:
            raise UsageError(f"table {name}: it has no bytes")
        self._tables[name.upper()] = bytes(data)

    def table(self, name: str) -> bytes | None:
        """The bytes of a table, or None."""
        return self._tables.get(name)

    def names(self) -> list[str]:
        """The registered names; the finders may find other programs."""
        return list(self._table)

    def find(self, name: str) -> Program | None:
        """The program of this name, or None."""
        name = name.rstrip(" \0").upper()
        entry = self._table.get(name)
        if entry is not None:
            return entry
        return next((program for finder in self.finders if (program := finder(name)) is not None), None)
