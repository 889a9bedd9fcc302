"""HANDLE CONDITION, IGNORE CONDITION, HANDLE AID, HANDLE ABEND, PUSH HANDLE and POP HANDLE.

On an exceptional condition CICS decides in this order: NOHANDLE or RESP on the command; an active HANDLE for the
condition; IGNORE; where the default action is an abend, HANDLE or IGNORE for ERROR; else the default action, which is
an abend, or to continue for the few conditions that have no abend code. A HANDLE without a label requests the default
action, and therefore takes precedence over a HANDLE for ERROR. A label is a callable here: it is called with the
condition, and the command returns what it returns. Source: HANDLE CONDITION, IGNORE CONDITION (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

from tdqsim.cics.kernel.command import Flag, Opt, command
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.level import NO_HANDLES, AbendExit, AidLabel, Label
from tdqsim.core.callables import why_unusable
from tdqsim.core.spelling import did_you_mean
from tdqsim.errors import UsageError
from tdqsim.facts import ABEND_CODES, Resp, table

if TYPE_CHECKING:
    from tdqsim.cics.kernel.task import TaskBase

AbendLabel = Annotated[AbendExit | None, Opt("label")]

AID_NAMES: Final = ("ANYKEY", *(row["name"] for row in table("aids") if row["name"] != "NULL"))
"""The keys that HANDLE AID may name."""
_MOST: Final = int(next(row["value"] for row in table("kernel") if row["name"] == "conditions_per_handle"))


def condition_named(name: object) -> Resp:
    """The condition of that name, or the condition itself.

    Raises:
        UsageError: there is none of that name.
    """
    if isinstance(name, Resp):
        return name
    if not isinstance(name, str) or name.upper() not in Resp.__members__:
        raise UsageError(
            f"{name!r} is not a condition{did_you_mean(str(name), Resp.__members__)}; allowed are the names of RESP, "
            "such as QZERO, and ERROR for all others"
        )
    return Resp[name.upper()]


def _take_default(condition: Condition) -> NoReturn:
    """The label for HANDLE CONDITION without a label: take the default action, which here is an abend."""
    raise condition


def _at_most(names: Sized, what: str) -> None:
    if len(names) > _MOST:
        raise UsageError(f"{what} names {len(names)} conditions; allowed are {_MOST} in one command")


@command("HANDLE CONDITION")
def handle_condition(task: TaskBase, /, **labels: Label | None) -> None:
    """Set the functions called for conditions: ``handle_condition(QZERO=at_end, ERROR=failed)``.

    Args:
        labels: for each condition a callable, or None for the default action, whatever ERROR says. At most 16.

    Raises:
        UsageError: an unknown condition, more than 16, or something that cannot be called.
    """
    _at_most(labels, "HANDLE CONDITION")
    active = dict(task._handles.labels)
    ignored = set(task._handles.ignored)
    for name, label in labels.items():
        resp = condition_named(name)
        ignored.discard(resp)
        active.pop(resp, None)
        if label is None and resp is not Resp.ERROR and resp in ABEND_CODES:
            active[resp] = _take_default  # an entry, because without one the label of ERROR would be called
        elif label is not None:
            if reason := why_unusable(label, "condition"):
                raise UsageError(f"HANDLE CONDITION {name}: {reason}; allowed are functions of a condition and None")
            active[resp] = label
    task._handles = task._handles._replace(labels=active, ignored=frozenset(ignored))


@command("IGNORE CONDITION")
def ignore_condition(task: TaskBase, *conditions: str) -> None:
    """Ignore these conditions: the program continues after the command.

    Raises:
        UsageError: an unknown condition, or more than 16.
    """
    _at_most(conditions, "IGNORE CONDITION")
    ignored = {condition_named(name) for name in conditions}
    labels = {resp: label for resp, label in task._handles.labels.items() if resp not in ignored}
    task._handles = task._handles._replace(labels=labels, ignored=task._handles.ignored | ignored)


@command("HANDLE AID", "INVREQ")
def handle_aid(task: TaskBase, /, **labels: AidLabel | None) -> None:
    """Set the functions called when an input command receives a key: ``handle_aid(PF3=leave, ANYKEY=other)``.

    The label is called with the data that the command has received; its return value is that of the command. It has
    precedence over a HANDLE CONDITION of the same command. It is not called for a command with NOHANDLE or RESP.

    Args:
        labels: for each key a callable, or None to remove it. At most 16. ANYKEY means the CLEAR, PA and PF keys.

    Raises:
        UsageError: an unknown key, more than 16, or something that cannot be called.
    """
    _at_most(labels, "HANDLE AID")
    active = dict(task._handles.aids)
    for name, label in labels.items():
        if name.upper() not in AID_NAMES:
            raise UsageError(f"{name!r} is not a key; allowed are {', '.join(AID_NAMES)}")
        if label is not None and (reason := why_unusable(label, "data")):
            raise UsageError(f"HANDLE AID {name}: {reason}; allowed are functions of the received data and None")
        active.pop(name.upper(), None)
        if label is not None:
            active[name.upper()] = label
    task._handles = task._handles._replace(aids=active)


@command("HANDLE ABEND")
def handle_abend(
    task: TaskBase,
    program: AbendLabel = None,
    *,
    cancel: Flag = False,
    reset: Flag = False,
) -> None:
    """Set the function or program that is called when the task abends.

    The exit is called with the abend after the program has ended; it is inactive while it runs. Its return value
    becomes the task's result, and the task then ends normally: its unit of work is committed unless the exit itself
    abends or issues SYNCPOINT ROLLBACK. If the exit abends too, the exit that it has activated by then (another one, or
    itself by RESET) is called.

    Args:
        program: the exit.
        cancel: deactivate the exit, as a HANDLE ABEND without options does.
        reset: activate the exit again that was cancelled or has run.

    Raises:
        UsageError: more than one of the three is given, or an exit that cannot be called.
    """
    if (program is not None) + cancel + reset > 1:
        raise UsageError("HANDLE ABEND takes one of program, cancel and reset")
    if program is not None and (reason := why_unusable(program, "abend")):
        raise UsageError(f"HANDLE ABEND: {reason}; allowed are functions of the abend")
    handles = task._handles
    if program is not None:
        task._handles = handles._replace(abend=program, cancelled=None)
    elif reset:
        task._handles = handles._replace(abend=handles.abend or handles.cancelled, cancelled=None)
    else:
        task._handles = handles._replace(abend=None, cancelled=handles.abend or handles.cancelled)


@command("PUSH HANDLE")
def push_handle(task: TaskBase) -> None:
    """Suspend all HANDLE and IGNORE commands until POP HANDLE."""
    task._handles = NO_HANDLES._replace(below=task._handles)


@command("POP HANDLE", "INVREQ")
def pop_handle(task: TaskBase, *, nohandle: Flag = False) -> None:
    """Restore the HANDLE and IGNORE commands that the last PUSH HANDLE suspended.

    Raises:
        Condition: INVREQ: there was no PUSH HANDLE.
    """
    if task._handles.below is None:
        raise Condition(Resp.INVREQ, detail="POP HANDLE without a PUSH HANDLE before it")
    task._handles = task._handles.below
