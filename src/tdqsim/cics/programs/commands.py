"""LINK and XCTL.

LINK passes the address of its COMMAREA: the program linked to sees and changes the caller's bytes, also when it abends
later. XCTL passes a copy, and the program that issues it never goes on. Source: LINK, XCTL (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final, NoReturn

from tdqsim.cics.kernel.channels import Channel
from tdqsim.cics.kernel.command import Flag, HalfwordOrNone, Opt, command
from tdqsim.cics.kernel.conditions import Abend, Condition, TaskReturn
from tdqsim.cics.kernel.handling import NO_HANDLES, AbendExit
from tdqsim.cics.kernel.levels import level_of, note_failure, passed, program_of
from tdqsim.cics.kernel.task import TaskBase, to_abend
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.programs.table import Program, Programs
from tdqsim.errors import UsageError
from tdqsim.facts import Resp, table

__all__ = ["abend_program", "link", "xctl"]

_LONGEST: Final = next(int(row["value"]) for row in table("programs") if row["name"] == "longest_commarea")
ProgramName = Annotated[str, Opt("name", 8, "PROGRAM")]
Synconreturn = Annotated[bool, Opt("flag", word="SYNCONRETURN")]
Commarea = Annotated[bytearray | memoryview | bytes | None, Opt("data", word="COMMAREA")]
SharedCommarea = Annotated[bytearray | memoryview | bytes | None, Opt("storage", word="COMMAREA")]


ChannelName = Annotated[str | None, Opt("name", 16, "CHANNEL")]


def _area(commarea: bytearray | memoryview | bytes | None, length: int | None) -> memoryview | None:
    """The COMMAREA as storage of the length asked for; what lies behind a short area is binary zeros."""
    size = (0 if commarea is None else len(commarea)) if length is None else length
    if not 0 <= size <= _LONGEST:
        raise Condition(Resp.LENGERR, 11, f"LENGTH is {size}; allowed are 0 to {_LONGEST}")
    if commarea is None or size == 0:
        return None
    view = memoryview(bytearray(commarea) if isinstance(commarea, bytes) else commarea).cast("B")
    return view[:size] if size <= len(view) else memoryview(bytearray(view.tobytes().ljust(size, b"\0")))


def _given_channel(task: TaskBase, channel: str | None, commarea: object) -> Channel | None:
    if channel is not None and commarea is not None:
        raise UsageError("CHANNEL and COMMAREA exclude each other")
    return passed(task, channel)


def abend_program(task: TaskBase, name: str) -> AbendExit:
    """What HANDLE ABEND PROGRAM names: the program takes the level over when the task abends.

    Raises:
        Condition: PGMIDERR 1: there is no such program.
    """
    found = _find(task, name)

    def run(_abend: Abend) -> object:
        level = level_of(task)
        with _on(task, ProgramLevel(name, level.commarea, level.up, level.channel, level.invoker)):
            return _run(task, found)

    return run


def _find(task: TaskBase, name: str) -> Program:
    programs: Programs = task._region.programs
    found = programs.find(name)
    if found is None:
        raise Condition(Resp.PGMIDERR, 1, f"program {name} is not defined")
    return found


@contextmanager
def _on(task: TaskBase, level: ProgramLevel) -> Iterator[None]:
    """Run inside on a level of its own; whatever ends it, the caller's handles are active again."""
    before = task.level, task.handles, task.eib.eibcalen
    task.level, task.handles = level, NO_HANDLES
    task.eib.eibcalen = 0 if level.commarea is None else len(level.commarea)
    try:
        yield
    except Exception as error:
        note_failure(task, error)
        raise
    finally:
        task.level, task.handles, task.eib.eibcalen = before


def _run(task: TaskBase, program: Program) -> object:
    """Run a program to its RETURN; its own abend exit ends it normally."""
    try:
        return program(task)
    except TaskReturn as leave:
        return leave.value
    except Exception as error:
        leave_by = task.handles.abend
        if leave_by is None:
            raise
        task.handles = task.handles._replace(abend=None, cancelled=leave_by)
        return leave_by(to_abend(task, error))


@command("LINK", "INVREQ LENGERR NOTAUTH PGMIDERR ROLLEDBACK SYSIDERR TERMERR", resource="program")
def link(
    task: TaskBase,
    program: ProgramName,
    commarea: SharedCommarea = None,
    length: HalfwordOrNone = None,
    *,
    channel: ChannelName = None,
    datalength: HalfwordOrNone = None,  # remote programs
    syncpointonreturn: Synconreturn = False,  # remote programs
    nohandle: Flag = False,
) -> Any:
    """Run another program on a level below; then go on.

    Args:
        program: its name, 1 to 8 characters.
        commarea: what it gets; a bytearray or memoryview is the very storage it sees and may change.
        length: how much of it, 0 to 32763; all when not given.
        channel: the channel that it gets and shares, instead of a COMMAREA.
        datalength: accepted; it concerns programs of other systems.
        syncpointonreturn: accepted; it concerns programs of other systems.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        What a Python program returned; None of others.

    Raises:
        Condition: LENGERR 11: LENGTH is out of range. PGMIDERR 1: there is no such program. CHANNELERR 1: no name.
    """
    area, given = _area(commarea, length), _given_channel(task, channel, commarea)
    found = _find(task, program)
    with _on(task, ProgramLevel(program, area, level_of(task), given, program_of(task))):
        return _run(task, found)


@command("XCTL", "INVREQ LENGERR NOTAUTH PGMIDERR", resource="program")
def xctl(
    task: TaskBase,
    program: ProgramName,
    commarea: Commarea = None,
    length: HalfwordOrNone = None,
    *,
    channel: ChannelName = None,
    nohandle: Flag = False,
) -> NoReturn:
    """Give the level to another program; this one does not go on.

    Args:
        program: its name, 1 to 8 characters.
        commarea: what it gets: a copy.
        length: how much of it, 0 to 32763; all when not given.
        channel: the channel that it gets, instead of a COMMAREA.
        nohandle: raise nothing; the response is in the EIB, and the program goes on.

    Raises:
        Condition: LENGERR 11: LENGTH is out of range. PGMIDERR 1: there is no such program. CHANNELERR 1: no name.
    """
    area, given = _area(commarea, length), _given_channel(task, channel, commarea)
    found = _find(task, program)
    copy = None if area is None else memoryview(bytearray(area))
    up = task.level.up if task.level is not None else None
    with _on(task, ProgramLevel(program, copy, up, given, program_of(task))):
        value = _run(task, found)
    raise TaskReturn(value)
