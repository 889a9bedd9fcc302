"""The programs of a region: each is a callable with the task as its argument, whatever its language."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from tdqsim.cics.queues.exits import Exits
from tdqsim.core.callables import why_unusable
from tdqsim.errors import UsageError

if TYPE_CHECKING:
    from tdqsim.cics.model.task import TaskData
    from tdqsim.definitions import ProgramDefinition

Program = Callable[[Any], object]
"""A program: called with its task. Its COMMAREA is ``task.commarea``."""


class TableStorage(Protocol):
    """The storage of a table in a language whose programs get its address."""

    def view(self) -> memoryview:
        """The storage, which is readable as long as this object exists."""


class LoadableTable:
    """A table that LOAD gives to programs; all tasks share its one copy.

    Attributes:
        data: its bytes as defined.
        storage: the copy that programs with addresses use, when one of them has loaded it.
        users: how often each task has loaded it without HOLD; ended ones no longer count.
        held: how often it is loaded with HOLD.
    """

    __slots__ = ("data", "held", "storage", "users")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.storage: TableStorage | None = None
        self.users: dict[TaskData, int] = {}
        self.held = 0

    def read(self) -> bytes:
        """Its bytes as they are now."""
        return self.data if self.storage is None else bytes(self.storage.view())

    @property
    def in_use(self) -> bool:
        """Whether it is loaded."""
        return bool(self.held) or any(not each._ended for each in self.users)


class Programs:
    """The program table of a region.

    Attributes:
        finders: functions called in turn for a program that is not registered; each returns the program or None.
        definitions: the installed PROGRAM definitions by name; a program need not have one.
        exits: the programs at the exits of transient data, see :class:`~tdqsim.cics.queues.exits.Exits`.
        uses: how often LINK, XCTL and HANDLE ABEND found each program since statistics were reset, by name.
    """

    __slots__ = ("_on_register", "_table", "_tables", "definitions", "exits", "finders", "uses")

    def __init__(
        self,
        exits: Exits,
        finders: Iterable[Callable[[str], Program | None]] = (),
        on_register: Callable[[], None] = lambda: None,
    ) -> None:
        self._table: dict[str, Program] = {}
        self._tables: dict[str, LoadableTable] = {}
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
            UsageError: the name is not a valid program name, there are no bytes, or a table of this name is loaded now
                that has other bytes.
        """
        if not 0 < len(name) <= 8 or not name.isascii():
            raise UsageError(f"table {name!r}: the name of a program is 1 to 8 characters")
        if not data:
            raise UsageError(f"table {name}: it has no bytes")
        known = self._tables.get(name.upper())
        if known is not None and known.in_use:
            if known.read() == data:
                return
            raise UsageError(f"table {name} is loaded; it is defined anew when every task has released it")
        self._tables[name.upper()] = LoadableTable(bytes(data))

    def table(self, name: str) -> bytes | None:
        """The bytes of a table as they are now, or None."""
        table = self._tables.get(name)
        return None if table is None else table.read()

    def loadable(self, name: str) -> LoadableTable | None:
        """The table of this name, for LOAD and RELEASE; None if there is none."""
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
