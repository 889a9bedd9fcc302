"""The levels on which the programs of a task run.

LINK begins a *level* and RETURN ends it. A level has a program name, a COMMAREA and a channel. XCTL puts another
program on the same level. HANDLE, IGNORE and their stack belong to a level: a linked program starts without any, and
its caller's are active again when it ends. The search for an abend exit goes from the level of the abend upwards.
Source: LINK, XCTL, RETURN, Abnormal termination recovery (IBM Docs).
"""

from __future__ import annotations

from typing import Final

from tdqsim.cics.kernel.channels import Channel, checked_name
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.model.task import TaskData
from tdqsim.facts import Resp

_OUTSIDE_SUBSET: Final = 200


def level_of(task: TaskData) -> ProgramLevel:
    """The level of the running program; the top level is made at the first call."""
    if task._level is None:
        task._level = ProgramLevel(task._program, None, None)
    return task._level


def program_of(task: TaskData) -> str:
    """The name of the running program."""
    return task._program if task._level is None else task._level.program


def check_subset(task: TaskData, *, syncpoint: bool = False) -> None:
    """Refuse a command that is not allowed in a program which a distributed program link runs.

    Args:
        task: the task that issues the command.
        syncpoint: whether the command takes a syncpoint, which SYNCONRETURN allows; otherwise it needs a terminal.

    Raises:
        Condition: INVREQ 200.
    """
    level = task._level
    if level is not None and level.subset and (level.subset == "D" or not syncpoint):
        why = f"program {level.program} runs by a distributed program link, which does not allow the command"
        raise Condition(Resp.INVREQ, _OUTSIDE_SUBSET, why)


def is_outside_subset(error: BaseException) -> bool:
    """Whether an exception is the condition that :func:`check_subset` raises."""
    return isinstance(error, Condition) and error.resp is Resp.INVREQ and error.resp2 == _OUTSIDE_SUBSET


def note_failure(task: TaskData, error: BaseException, program: str = "") -> str:
    """Record in an exception the first program that it left, and return that program; outer levels do not change it.

    Args:
        task: the task.
        error: the exception.
        program: a program of another region that the exception has left; the running program when not given.
    """
    first: str = vars(error).setdefault("cics_program", program or program_of(task))
    return first


def passed(task: TaskData, channel: str | None) -> Channel | None:
    """The channel that LINK, XCTL, START or RETURN names; if it does not exist, the program creates an empty one.

    Raises:
        Condition: CHANNELERR 1: the name is not valid.
    """
    if channel is None:
        return None
    name = checked_name(channel, Resp.CHANNELERR, 1)
    return level_of(task).channels.setdefault(name, Channel(name))
