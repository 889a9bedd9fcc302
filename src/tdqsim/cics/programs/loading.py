"""LOAD and RELEASE of tables: bytes that ``region.programs.define_table`` has defined.

All tasks share one copy. A program in a language with addresses gets the address of that copy, and a change by it is a
change for all; a Python program gets the bytes as they are then. A table stays loaded until each LOAD has had its
RELEASE, or the end of the task; with HOLD until RELEASE by any task. There are no images of programs to load. Sources:
LOAD, RELEASE (IBM Docs), from memory; Summary of RELEASE (IBM Docs).
"""

from __future__ import annotations

from typing import Annotated, Final

from tdqsim.cics.kernel.authority import check_resource
from tdqsim.cics.kernel.command import Flag, Opt, command
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.levels import program_of
from tdqsim.cics.kernel.security import XPPT, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.programs.running import check_local
from tdqsim.cics.programs.table import Programs
from tdqsim.facts import Resp

ProgramName = Annotated[str, Opt("name", 8, "PROGRAM")]
_RECEIVED: Final = {
    "SET": Opt("pointer", 4), "ENTRY": Opt("pointer", 4), "LENGTH": Opt("halfword", 2), "FLENGTH": Opt("fullword", 4),
}  # fmt: skip
_NOT_DEFINED: Final = 1
_NO_IMAGE: Final = 3
_ITSELF: Final = 5
_NOT_LOADED: Final = 6
_BY_ANOTHER: Final = 7


@command("LOAD", "NOTAUTH PGMIDERR", _RECEIVED, resource="program")
def load(task: TaskBase, program: ProgramName, *, hold: Flag = False, nohandle: Flag = False) -> bytes:
    """Load a table that ``region.programs.define_table`` has defined.

    Args:
        program: its name, 1 to 8 characters.
        hold: the table stays loaded after the end of the task, until a RELEASE by any task.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        The bytes of the table, as they are now; None after a condition that is not raised.

    Raises:
        Condition: PGMIDERR 1: there is no such table. PGMIDERR 2: its definition is disabled. PGMIDERR 3: the name is a
            program's, of which there is no image. PGMIDERR 9: it belongs to another region. NOTAUTH 101: the user may
            not use it.
    """
    name = program.rstrip(" \0").upper()
    check_resource(task, XPPT, name, Access.READ)
    check_local(task, name)
    programs: Programs = task._region.programs
    table = programs.loadable(name)
    if table is None:
        known = programs.find(name) is not None
        why = "is a program, of which there is no image" if known else "is not defined"
        raise Condition(Resp.PGMIDERR, _NO_IMAGE if known else _NOT_DEFINED, f"{name} {why}")
    if hold:
        table.held += 1
    else:
        table.users = {each: count for each, count in table.users.items() if not each._ended}
        table.users[task] = table.users.get(task, 0) + 1
    return table.read()


@command("RELEASE", "INVREQ PGMIDERR", resource="program")
def release(task: TaskBase, program: ProgramName, *, nohandle: Flag = False) -> None:
    """Take back one LOAD of a table by this task, or one with HOLD by any task; the last one ends its use.

    Args:
        program: its name, 1 to 8 characters.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: INVREQ 5: a program names itself, and has not loaded itself. INVREQ 6: the table is not loaded.
            INVREQ 7: another task has loaded it, without HOLD. PGMIDERR 9: it belongs to another region.
    """
    name = program.rstrip(" \0").upper()
    check_local(task, name)
    table = task._region.programs.loadable(name)
    if table is not None and task in table.users:
        table.users[task] -= 1
        if not table.users[task]:
            del table.users[task]
    elif table is not None and table.held:
        table.held -= 1
    elif name == program_of(task):
        why = f"{name} is the program that issues the command, and has not loaded itself"
        raise Condition(Resp.INVREQ, _ITSELF, why)
    elif table is not None and table.in_use:
        raise Condition(Resp.INVREQ, _BY_ANOTHER, f"{name} was loaded by another task, without HOLD")
    else:
        raise Condition(Resp.INVREQ, _NOT_LOADED, f"{name} is not loaded")
