"""The state of COBOL programs at an abend, for the dump: the statement, the call stack, and storage by name.

It is taken where the abend leaves the first program, because the run-time frees the storage of a level at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tdqsim.cobol.abends import CobolFailure
from tdqsim.cobol.debug_frames import ProgramFrame, absolute, frames_of, split_place
from tdqsim.cobol.debug_variables import EIB, flattened, roots
from tdqsim.cobol.level import Level
from tdqsim.cobol.trace import Trace
from tdqsim.cobol.watching import own_watcher
from tdqsim.errors import RegionClosed
from tdqsim.languages import ProgramState, note_program
from tdqsim.state import DumpedItem

_ITEMS: Final = 500
"""The number of items in a dump."""


def note_state(level: Level, error: BaseException) -> None:
    """Add the state of the programs of a task to the exception that ends one of them."""
    if not isinstance(error, Exception) or isinstance(error, RegionClosed):
        return

    def describe() -> ProgramState:
        frames = frames_of(level.task)
        file, line = split_place(_place(level, error, frames))
        return ProgramState(
            absolute(file) if line else "",
            line,
            tuple(f"{frame.place} {frame.title}" for frame in frames),
            _commands(level),
            tuple(_items(frames)),
        )

    note_program(error, describe)


def _place(level: Level, error: BaseException, frames: list[ProgramFrame]) -> str:
    """The place that the run-time gives a failure; else that of the current statement."""
    failed = isinstance(getattr(error, "cause", None), CobolFailure)
    return (level.libcob.failed_at if failed else "") or (frames[0].place if frames else level.place)


def _commands(level: Level) -> tuple[str, ...]:
    """The commands of the task in the trace of the programs, if they have one."""
    trace = own_watcher(level.settings.on_statement)
    if not isinstance(trace, Trace):
        return ()
    steps = (step for step in trace.steps if step.task == level.task.number and step.what.startswith("EXEC "))
    return tuple(f"{step.place} {step.what}" for step in steps)


def _items(frames: list[ProgramFrame]) -> Iterator[DumpedItem]:
    """The items of the programs of a call stack, each program once, the failing one first."""
    left = _ITEMS
    programs = {frame.module: frame for frame in reversed(frames)}
    for frame in reversed(programs.values()):
        storage = frame.storage
        nodes = [node for node in roots(storage) if node.item.name != EIB]
        for node in flattened(nodes, left):
            left -= 1
            name = node.reference or node.label.partition(" ")[2]
            yield DumpedItem(storage.program, node.item.level, name, node.picture, node.value, node.hex)
