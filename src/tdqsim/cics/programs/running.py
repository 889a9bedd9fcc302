"""Look up a program and run it on its own level: shared by LINK, XCTL and HANDLE ABEND PROGRAM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tdqsim.cics.kernel.authority import check_resource
from tdqsim.cics.kernel.conditions import Condition, TaskReturn
from tdqsim.cics.kernel.levels import note_failure
from tdqsim.cics.kernel.security import XPPT, Access
from tdqsim.cics.kernel.task import TaskBase, to_abend
from tdqsim.cics.model.level import NO_HANDLES, Handles, ProgramLevel
from tdqsim.cics.programs.table import Program, Programs
from tdqsim.core.callables import refuse_coroutine
from tdqsim.facts import Resp

_NOT_DEFINED: Final = 1
_DISABLED: Final = 2
_REMOTE: Final = 9


def check_local(task: TaskBase, name: str) -> None:
    """Refuse a program whose definition does not let this region use it.

    Raises:
        Condition: PGMIDERR 2: it is disabled. PGMIDERR 9: it belongs to another region.
    """
    definition = task._region.programs.definition(name)
    if definition is not None and definition.remotesystem not in ("", task._region.sysid):
        raise Condition(Resp.PGMIDERR, _REMOTE, f"program {name} is defined in system {definition.remotesystem}")
    if definition is not None and definition.status == "DISABLED":
        raise Condition(Resp.PGMIDERR, _DISABLED, f"program {name} is disabled")


def find_program(task: TaskBase, name: str) -> Program:
    """The program of this region with a name.

    Raises:
        Condition: PGMIDERR 1: there is none. PGMIDERR 2: it is disabled. PGMIDERR 9: it belongs to another region.
            NOTAUTH 101: the user may not use it.
    """
    check_local(task, name)
    programs: Programs = task._region.programs
    program = programs.find(name)
    if program is None:
        raise Condition(Resp.PGMIDERR, _NOT_DEFINED, f"program {name} is not defined")
    check_resource(task, XPPT, name, Access.READ)
    known = name.rstrip(" \0").upper()
    programs.uses[known] = programs.uses.get(known, 0) + 1
    return program


@contextmanager
def on_level(task: TaskBase, level: ProgramLevel, handles: Handles = NO_HANDLES) -> Iterator[None]:
    """Run the block on a new program level; afterwards the caller's level and handles are active again."""
    before = task._level, task._handles, task.eib.eibcalen
    task._level, task._handles = level, handles
    task.eib.eibcalen = 0 if level.commarea is None else len(level.commarea)
    try:
        yield
    except Exception as error:
        note_failure(task, error)
        raise
    finally:
        task._level, task._handles, task.eib.eibcalen = before


def run_program(task: TaskBase, program: Program) -> object:
    """Run a program to its end; if an abend exit of its own handles an abend, it ends normally."""
    try:
        value = program(task)
        refuse_coroutine(value)
        return value  # noqa: TRY300  (a coroutine is an abend of the program)
    except TaskReturn as leave:
        return leave.value
    except Exception as error:  # noqa: BLE001  (whatever leaves a program is its abend)
        try:
            return task._call_exit(error)
        except Condition as met:  # it is no response to the caller's LINK: neither RESP nor a HANDLE there takes it
            raise to_abend(task, met) from met
