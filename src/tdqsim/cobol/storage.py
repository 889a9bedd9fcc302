"""The storage of one task's COBOL programs: areas from GETMAIN and the like, and the programs' items by name.

``storage_of(task)["WS-COUNT"]`` is an item of a program of the task that runs or waits; programs of the lowest link
level are searched first. See :mod:`~tdqsim.cobol.program_storage` for the names.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from tdqsim.cobol.guarded_areas import GuardedArea
from tdqsim.cobol.program_storage import ProgramStorage
from tdqsim.errors import UsageError
from tdqsim.languages import TaskInternals

if TYPE_CHECKING:
    from tdqsim.cics import Task
    from tdqsim.cobol._libcob import Libcob
    from tdqsim.cobol.display import DisplayLines


_FREED_KEPT: Final = 16
"""How many freed areas of a task are not used again yet."""


class RunningLevel(Protocol):
    """A level of a task, for the task's storage."""

    def programs(self) -> Iterable[ProgramStorage]:
        """The items of the programs of the level; the running program first."""


class Cursor:
    """An open SQL cursor.

    Attributes:
        rows: its rows.
        at: the position: the number of a row from 0, -1 before the first row.
        holds: whether it stays open after a syncpoint.
    """

    __slots__ = ("at", "holds", "rows")

    def __init__(self, rows: Sequence[object], holds: bool) -> None:
        self.rows = rows
        self.at = -1
        self.holds = holds


class TaskStorage:
    """The storage of one task; it is freed with the task.

    Attributes:
        levels: the levels of COBOL programs, the lowest last.
        page: its DISPLAY output; None before the first line.
        cursors: its open SQL cursors, by program and name.
        yields: how many of its commands have given up control, see ``facts/suspends.tsv``.
        yields_known: how often it had given up control or waited when its processor time was last looked at;
            -1 before the first check.
    """

    __slots__ = ("_freed", "_got", "_held", "_twa", "cursors", "levels", "page", "yields", "yields_known")

    def __init__(self) -> None:
        self.levels: list[RunningLevel] = []
        self._got: dict[int, GuardedArea] | None = None
        self._freed: deque[GuardedArea] | None = None
        self._held: dict[object, GuardedArea] | None = None
        self._twa: GuardedArea | None = None
        self.page: DisplayLines | None = None
        self.cursors: dict[tuple[str, str], Cursor] = {}
        self.yields, self.yields_known = 0, -1

    def __getitem__(self, name: str) -> Any:
        """The value of an item, such as ``WS-COUNT``, ``NAME OF CUSTOMER`` or ``LINE-TEXT (2)``.

        Raises:
            TdqError: no program of the task has it, or :class:`~tdqsim.cobol.program_storage.ProgramStorage` refuses.
        """
        return self._with(name)[name]

    # The first program that has the item decides; the others are not changed.
    def __setitem__(self, name: str, value: Any) -> None:
        self._with(name)[name] = value

    def __contains__(self, name: str) -> bool:
        return any(name in program for program in self._programs())

    def program(self, name: str) -> ProgramStorage:
        """The items of one program of the task.

        Raises:
            TdqError: the task does not run it.
        """
        programs = {program.program: program for program in reversed([*self._programs()])}
        if name.upper() not in programs:
            raise UsageError(f"program {name} does not run here; there are {', '.join(programs) or 'none'}")
        return programs[name.upper()]

    def _programs(self) -> Iterator[ProgramStorage]:
        for level in reversed(self.levels):
            yield from level.programs()

    def _with(self, name: str) -> ProgramStorage:
        first = None
        for program in self._programs():
            first = first or program
            if name in program:
                return program
        if first is None:
            raise UsageError(f"{name}: no COBOL program of the task runs now")
        return first  # reading the item there reports the reason

    def room_from(self, address: int) -> int:
        """Bytes from an address to the end of the GETMAIN area that contains it; 0 when no area does."""
        for start, area in (self._got or {}).items():
            if start <= address < start + area.size:
                return start + area.size - address
        return 0

    def has_freed(self, address: int) -> bool:
        """Whether an address is in one of the areas that were freed last."""
        return any(area.address <= address < area.address + area.size for area in self._freed or ())

    def get(self, libcob: Libcob, size: int, fill: bytes) -> int:
        """Allocate ``size`` bytes of storage, a multiple of 16, on a 16-byte boundary."""
        area = GuardedArea(libcob, "storage of GETMAIN", fill * size)
        if self._got is None:
            self._got = {}
        self._got[area.address] = area
        return area.address

    def twa(self, libcob: Libcob, size: int) -> int | None:
        """The task's work area, initially binary zeros; None when its size is 0."""
        if not size:
            return None
        if self._twa is None:
            self._twa = GuardedArea(libcob, "TWA", bytes(size))
        return self._twa.address

    def put(self, address: int, data: bytes) -> None:
        """Write to storage that :meth:`get` has allocated; without effect once it is free."""
        area = (self._got or {}).get(address)
        if area is not None:
            ctypes.memmove(address, data, len(data))

    def free(self, address: int, place: object) -> bool:
        """Free storage; False when it was not allocated here.

        The areas that were freed last are kept for a while, so that a program that uses one is told.

        Args:
            address: where it begins.
            place: of the command that frees it.
        """
        area = (self._got or {}).pop(address, None)
        if area is None:
            return False
        area.free(f"storage of GETMAIN that FREEMAIN at {place} has freed")
        if self._freed is None:
            self._freed = deque(maxlen=_FREED_KEPT)
        self._freed.append(area)
        return True

    def hold(self, libcob: Libcob, key: object, data: bytes) -> int:
        """Keep a record so that the program can access it, until the next one with this key."""
        if self._held is None:
            self._held = {}
        area = self._held[key] = GuardedArea(libcob, "area of SET", data)
        return area.address


def storage_of(task: Task) -> TaskStorage:
    """The storage of a task's COBOL programs, as ``storage_of(task)["WS-COUNT"]``.

    Args:
        task: a task that runs COBOL programs, or waits in one.
    """
    storage = TaskInternals(task).storage
    if not isinstance(storage, TaskStorage):
        storage = TaskStorage()
        TaskInternals(task).storage = storage
    return storage
