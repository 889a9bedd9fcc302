"""Running COBOL programs as a task's programs: link levels, commands, labels, and what ends them.

A *level* is one run of one program. It has fresh WORKING-STORAGE: libcob refuses to enter an active program again and
keeps one storage a module, so each level runs a copy of the module under a name of its own. Finished copies are used
again, as the programs are compiled IS INITIAL.

A command's CALL ends up in :meth:`Level.command`. What it may come to:

================================  =====================================================================
the command ends, or a condition  DFHEIGDI is 0 and the program goes on
has a label                       DFHEIGDI is the label's number
RETURN, ABEND, a condition  the level is left by longjmp; what was raised is kept, and raised again
that nobody handles               when the level is over (no exception may pass COBOL's frames)
================================  =====================================================================

A HANDLE ABEND label is searched from the level of the abend upwards. Sources: LINK, XCTL, RETURN, HANDLE ABEND (IBM
Docs).
"""

from __future__ import annotations

import ctypes
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

from tdqsim.cics import Abend, Condition, Task
from tdqsim.cobol._libcob import DONE, LEFT, Libcob, libcob
from tdqsim.cobol.calls import Plan
from tdqsim.cobol.compiler import Module
from tdqsim.cobol.fields import Area, Storage
from tdqsim.errors import TdqError

__all__ = ["CobolFailure", "Level", "Runner", "copies_of"]

_EIB_SIZE: Final = 120
_RESULT_AT: Final = 88
_ENTRY_AT: Final = 96
_TEXT_PAGE: Final = "latin-1"


class CobolFailure(TdqError):
    """libcob found an error in a program, such as bad packed digits or a program that is not there.

    Attributes:
        message: in libcob's words.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class _Copies:
    """The loaded copies of one module; those that no level runs are used again."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._numbers = count(1)
        self._free: list[int] = []
        self._loaded: list[Any] = []
        self._folder = Path(tempfile.mkdtemp(prefix="tdqsim-copies-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def take(self) -> int:
        """The address of a program that nobody runs."""
        if self._free:
            return self._free.pop()
        copy = self._folder / f"{self._module.program}-{next(self._numbers)}.so"
        shutil.copyfile(self._module.path, copy)
        library = ctypes.PyDLL(str(copy), mode=ctypes.RTLD_LOCAL)
        self._loaded.append(library)
        entry = getattr(library, _symbol(self._module.program))
        return int(ctypes.cast(entry, ctypes.c_void_p).value or 0)

    def give_back(self, address: int) -> None:
        """Nobody runs it any more."""
        self._free.append(address)


def _symbol(program: str) -> str:
    """The name of a program's entry in its module: what C cannot have is written as hexadecimal by the compiler."""
    name = "".join(c if c.isalnum() or c == "_" else "__" if c == "-" else f"_{ord(c):02X}" for c in program)
    return f"_{name}" if name[:1].isdigit() else name


@cache
def copies_of(module: Module) -> _Copies:
    """The copies of a module in this process."""
    return _Copies(module)


Verb = Callable[[Mapping[str, Area | None], "Level"], Condition | None]
"""A user's function for a verb: gets the options with their areas, and the level; a Condition that it gives is
raised."""


class Runner:
    """What runs the COBOL programs of one region.

    Args:
        modules: the module of a program by name; None when there is none.

    Attributes:
        verbs: functions for verbs that the simulator does not have.
    """

    def __init__(self, modules: Callable[[str], Module | None]) -> None:
        self._modules = modules
        self.verbs: dict[str, Verb] = {}

    def find(self, name: str) -> Callable[[Task], None] | None:
        """The program of this name as a program of the region; None when there is none."""
        module = self._modules(name)
        if module is None:
            return None

        def run(task: Task) -> None:
            Level(task, module, self.verbs).run()

        return run


class Level:
    """One run of one program.

    Attributes:
        task: for which.
        module: the program.
        verbs: functions for verbs that the simulator does not have.
        place: the user's file and line of the command at hand, or of the last one.
        statement: the EXEC SQL or EXEC DLI at hand, its host variables called A1, A2, ...
        storage: what the task's programs have got from CICS.
        abend_label, cancelled_label: the label of the active HANDLE ABEND, and of one out of action; 0 for none.
    """

    current: Level | None = None

    def __init__(self, task: Task, module: Module, verbs: Mapping[str, Verb]) -> None:
        self.task = task
        self.module = module
        self.verbs = verbs
        self.place = self.statement = ""
        self.branch = 0
        self.abend_label = self.cancelled_label = 0
        self.error: BaseException | None = None
        up: Level | None = Level.current
        self.storage: Storage = up.storage if up is not None and up.task is task else Storage()
        self._libcob: Libcob = libcob()
        self._commarea = task.level.commarea if task.level is not None else None
        self._eib = ctypes.create_string_buffer(_EIB_SIZE)
        self._state = (ctypes.c_void_p * 2)()
        self._fill_eib()
        ctypes.memmove(ctypes.addressof(self._eib) + _ENTRY_AT, self._libcob.entry.to_bytes(8, "little"), 8)

    def run(self) -> None:
        """Run it to its end.

        Raises:
            TaskReturn: RETURN, XCTL. Abend, Condition: it ended so. CobolFailure comes as the cause of ASRA.
        """
        copies = copies_of(self.module)
        entry = copies.take()
        library, before = self._libcob, Level.current
        library.on_command = _answer
        Level.current = self
        try:
            why = library.run(entry, ctypes.addressof(self._eib), self._commarea_address())
        finally:
            Level.current = before
            copies.give_back(entry)
        if self.error is not None:
            raise self.error
        if why not in (DONE, LEFT):
            raise Abend("ASRA", CobolFailure(f"{self.place or self.module.source}: {library.message}"))

    def _commarea_address(self) -> int | None:
        if self._commarea is None:
            return None
        return ctypes.addressof((ctypes.c_char * len(self._commarea)).from_buffer(self._commarea))

    # -- the EIB ------------------------------------------------------------------------------------------------------

    def _fill_eib(self) -> None:
        image = self.task.eib.image(_TEXT_PAGE)
        ctypes.memmove(self._eib, image, len(image))

    def _answer_with(self, branch: int) -> None:
        ctypes.memmove(ctypes.addressof(self._eib) + _RESULT_AT, branch.to_bytes(4, "little"), 4)

    # -- commands -----------------------------------------------------------------------------------------------------

    def command(self, number: int, fields: Any, arguments: int) -> int:
        """Do one command; LEFT when the level is over."""
        declared = self.module.commands[number - 1]
        self.place = str(declared.place)
        areas = [Area(self._libcob, fields[i + 1], declared.written[i]) for i in range(arguments - 1)]
        self.branch = 0
        try:
            Plan.of(declared).issue(self, areas)
        except (Abend, Condition) as error:
            if not self._handles(error):
                raise
        self._fill_eib()
        self._answer_with(self.branch)
        return DONE

    def _handles(self, error: Abend | Condition) -> bool:
        """Whether a HANDLE ABEND label of this level takes it."""
        if not self.abend_label or (isinstance(error, Condition) and not error.name):
            return False
        self.branch, self.cancelled_label, self.abend_label = self.abend_label, self.abend_label, 0
        self.task.abcode = self.task.to_abend(error).code
        return True

    def take_branch(self, label: int) -> Callable[[Condition], None]:
        """What HANDLE CONDITION calls: the program goes on at a label."""

        def branch(_condition: Condition) -> None:
            self.branch = label

        return branch


def _answer(arguments: int, fields: Any) -> int:
    """The CALL of a command, from the shim."""
    level = Level.current
    assert level is not None
    library = level._libcob  # noqa: SLF001  (the module's own class)
    state = level._state  # noqa: SLF001
    library.take(state)
    try:
        return level.command(int(library.number(fields[0])), fields, arguments)
    except BaseException as error:  # noqa: BLE001  (kept, and raised when COBOL's frames are gone)
        level.error = error
        return LEFT
    finally:
        Level.current = level
        library.give(state)
