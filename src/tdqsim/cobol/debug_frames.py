"""Where the programs of a task are: the call stack across LINK, XCTL and CALL, and how deep a statement is in it.

LINK begins a level of the task, CALL adds a program to a level, PERFORM adds an entry to a stack of the program. The
:data:`Depth` of a statement counts all three: a statement with a smaller depth runs after the end of the PERFORM, CALL
or LINK. XCTL changes the program of a level; the program that issued it stays in the stack as a note of where control
came from, and never continues.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tdqsim.cobol.compiler import Module, entry_symbol
from tdqsim.cobol.level import Level
from tdqsim.cobol.program_storage import ProgramStorage
from tdqsim.cobol.storage import storage_of

if TYPE_CHECKING:
    from tdqsim.cics import Task

_MOST: Final = 1000
"""The maximum depth of a call stack that is followed."""

Depth = tuple[int, int, int]
"""The number of levels, of programs in the level, and of active PERFORMs in the program."""


@dataclass(frozen=True, slots=True)
class ProgramFrame:
    """One program of the call stack.

    Attributes:
        program: its PROGRAM-ID.
        module: its module.
        level: the level it runs on.
        place: the user's file and line of its current statement.
        paragraph: the paragraph of that statement; empty if unknown.
        entered: (LINK), (XCTL) or (CALL); empty for the first program.
    """

    program: str
    module: Module
    level: Level
    place: str
    paragraph: str
    entered: str

    @property
    def storage(self) -> ProgramStorage:
        """Its items."""
        return storage_at(self.level, self.module)

    @property
    def title(self) -> str:
        """Program, paragraph and how it got control."""
        return " ".join(part for part in (self.program, self.paragraph, self.entered) if part)


def levels_of(task: Task) -> list[Level]:
    """The levels of COBOL programs of a task, the lowest last."""
    return [level for level in storage_of(task).levels if isinstance(level, Level)]


def depth_of(level: Level) -> Depth:
    """The depth of the current statement of the running level of a task."""
    programs = list(_programs(level))
    return level.number, len(programs), _performs(level, programs[0]) if programs else 0


def _programs(level: Level) -> Iterator[int]:
    """The addresses of libcob's records of the active programs: the running one, the one that CALLed it, ..."""
    program, number = level.running, 0
    while program and number < _MOST:
        yield program
        program, number = level.libcob.caller(program), number + 1


def storage_at(level: Level, module: Module) -> ProgramStorage:
    """The items of a program of a level."""
    return ProgramStorage(module.program, module.symbols, _base_of(level, module))


def _base_of(level: Level, module: Module) -> int:
    """The address at which a module of a level is loaded."""
    entry = level.entry if module is level.module else level.called[module.program][1]
    return entry - module.symbols.entry


def _performs(level: Level, program: int) -> int:
    """The number of active PERFORMs in a program."""
    module = level.module_of(program)
    name = entry_symbol(level.libcob.module_name(program))
    performs = next((each for each in module.symbols.performs if each.program == name), None)
    if performs is None:
        return 0
    base = _base_of(level, module)
    last = ctypes.c_size_t.from_address(base + performs.last).value
    return max(last - base - performs.stack, 0) // performs.entry


def frames_of(task: Task, place: str = "") -> list[ProgramFrame]:
    """The call stack of a task, the running program first.

    Args:
        task: the task, which runs or waits.
        place: the file and line of the running statement, where the caller knows it.
    """
    frames: list[ProgramFrame] = []
    for level in reversed(levels_of(task)):
        programs = list(_programs(level))
        for number, program in enumerate(programs):
            module = level.module_of(program)
            where = place if place and not frames else level.libcob.place(program)
            frames.append(
                ProgramFrame(
                    level.libcob.module_name(program),
                    module,
                    level,
                    where,
                    paragraph_at(module, where),
                    "(CALL)" if number < len(programs) - 1 else _entered(level, task),
                )
            )
    return frames[:_MOST]


def _entered(level: Level, task: Task) -> str:
    levels = levels_of(task)
    at = levels.index(level)
    if not at:
        return ""
    return "(XCTL)" if levels[at - 1].number == level.number else "(LINK)"


def paragraph_at(module: Module, place: str) -> str:
    """The name of the last paragraph or section that begins before a statement in its file."""
    file, line = split_place(place)
    name = ""
    for paragraph in module.symbols.paragraphs:
        source, header = module.symbols.place(paragraph.header)
        if header <= line and source == file:
            name = paragraph.name
    return name


def split_place(place: str) -> tuple[str, int]:
    """File and line of a place."""
    file, _, line = place.rpartition(":")
    return (file, int(line)) if line.isdecimal() else (place, 0)


def absolute(file: str) -> str:
    """The path of a file as a client compares it: absolute, without symbolic links."""
    return str(Path(file).resolve())
