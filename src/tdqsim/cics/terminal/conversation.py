"""RETURN at a terminal: the next transaction of a pseudo-conversation.

At the highest level RETURN TRANSID names the transaction that the next input from the terminal starts, and its
COMMAREA. Source: RETURN (IBM Docs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, NoReturn

from tdqsim.cics.kernel.command import (
    NOT_AN_OPTION,
    Flag,
    HalfwordOrNone,
    Name4OrNone,
    Name16OrNone,
    Opt,
    command,
)
from tdqsim.cics.kernel.conditions import Condition, TaskReturn
from tdqsim.cics.kernel.levels import passed
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.facts import Resp, table

if TYPE_CHECKING:
    from tdqsim.cics.terminal.screen import Screen

Commarea = Annotated[bytes | bytearray | memoryview | None, Opt("data")]

_LONGEST: Final = next(int(row["value"]) for row in table("programs") if row["name"] == "longest_commarea")


@command("RETURN", "CHANNELERR INVREQ LENGERR")
def return_(
    task: TaskBase,
    value: Annotated[object, NOT_AN_OPTION] = None,
    *,
    transid: Name4OrNone = None,
    commarea: Commarea = None,
    length: HalfwordOrNone = None,
    channel: Name16OrNone = None,
    immediate: Flag = False,
    nohandle: Flag = False,
) -> NoReturn:
    """Leave the program: its level ends; at the highest level the task ends normally, with an implicit syncpoint.

    Args:
        value: the task's result, returned to the Python code that started it.
        transid: the transaction that the terminal's next input starts.
        commarea: the COMMAREA for that transaction.
        length: the length of the COMMAREA, 0 to 32763.
        channel: the channel for that transaction, instead of a COMMAREA.
        immediate: start the next transaction at once, without input.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: INVREQ 1: TRANSID without a terminal. INVREQ 2: COMMAREA, CHANNEL or IMMEDIATE below the top level.
            LENGERR 11: LENGTH is out of range. CHANNELERR 1: that is not a valid name.
    """
    below = task._level is not None and task._level.up is not None
    if below and (commarea is not None or channel is not None or immediate):
        raise Condition(Resp.INVREQ, 2, "COMMAREA, CHANNEL and IMMEDIATE are for the program at the highest level")
    given = passed(task, channel)
    size = len(commarea or b"") if length is None else length
    if not 0 <= size <= _LONGEST:
        raise Condition(Resp.LENGERR, 11, f"LENGTH is {size}; allowed are 0 to {_LONGEST}")
    if transid is not None:
        if task._facility is None:
            raise Condition(Resp.INVREQ, 1, "TRANSID in a task without terminal")
        screen: Screen = task._region.screens.of(task)
        screen.name_next(task, transid.rstrip(" "), bytes(commarea or b"")[:size].ljust(size, b"\0"), given)
        if immediate:
            screen.begin_at_once(task)
    raise TaskReturn(value)
