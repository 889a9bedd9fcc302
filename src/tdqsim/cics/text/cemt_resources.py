"""PROGRAM, TERMINAL and TSQUEUE in CEMT, as far as they are simulated; there are no INQUIRE commands for them.

Source: CEMT INQUIRE PROGRAM, TERMINAL, TSQUEUE (IBM Docs), as remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.authority import check_command
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import XPPT, XTST, Access
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import Facility
from tdqsim.cics.spi.inquiry import Constant, ResourceType
from tdqsim.cics.spi.requests import refusal
from tdqsim.cics.ts.storage import TsQueue
from tdqsim.facts import Cvda, Resp
from tdqsim.facts.inquiries import ProgramInfo, TerminalInfo, TsqueueInfo

if TYPE_CHECKING:
    from tdqsim.cics.commands import Task


def _programs(region: RegionData) -> list[str]:
    """The names of all programs, in alphabetic order."""
    named = {entry.program_name for entry in region.transactions.values() if entry.program_name}
    return sorted(name for name in {*region.programs.names(), *named} if region.programs.find(name) is not None)


def _terminal(region: RegionData, name: str) -> Facility | None:
    return region.terminal_control.get("TERMINAL", name) if name in region.terminals else None


def _lengths(queue: TsQueue) -> list[int]:
    return [len(item) for item in queue.items] or [0]


PROGRAM: Final = ResourceType[str, str, ProgramInfo](
    "PROGRAM",
    ProgramInfo,
    {"STATUS": Constant(Cvda.ENABLED)},
    keys=_programs,
    find=lambda region, name: name if region.programs.find(name) is not None else None,
    identity=str,
    protection=lambda name, _region: (XPPT, name),
)
TERMINAL: Final = ResourceType[str, Facility, TerminalInfo](
    "TERMINAL",
    TerminalInfo,
    {
        "SERVSTATUS": lambda terminal, _region: Cvda.INSERVICE if terminal.inservice else Cvda.OUTSERVICE,
        "TRANSACTION": lambda terminal, _region: "" if terminal.task is None else terminal.task.transid,
        "USERID": lambda terminal, region: terminal.userid or region.options.dfltuser,
    },
    keys=lambda region: region.terminals,
    find=_terminal,
    identity=lambda terminal: terminal.name,
)
TSQUEUE: Final = ResourceType[str, TsQueue, TsqueueInfo](
    "TSQUEUE",
    TsqueueInfo,
    {
        "FLENGTH": lambda queue, _region: sum(_lengths(queue)),
        "MAXITEMLEN": lambda queue, _region: max(_lengths(queue)),
        "MINITEMLEN": lambda queue, _region: min(_lengths(queue)),
        "NUMITEMS": lambda queue, _region: len(queue.items),
        "RECOVSTATUS": lambda queue, _region: Cvda.RECOVERABLE if queue.recoverable else Cvda.NOTRECOVABLE,
    },
    keys=lambda region: sorted(region.ts.queues),
    find=lambda region, name: region.ts.queues.get(name),
    identity=lambda queue: queue.name,
    protection=lambda queue, region: (XTST if region.ts.is_secured(queue.name) else "", queue.name),
)


def set_terminal(task: Task, name: str, settings: dict[str, Any]) -> None:
    """Put a terminal in or out of service.

    Raises:
        Condition: NOTAUTH 100. TERMIDERR 23: there is no such terminal. INVREQ: another region owns it.
    """
    check_command(task, "TERMINAL", Access.UPDATE)
    if name not in task._region.terminals:
        raise refusal("INQUIRE TERMINAL", "not found", f"there is no terminal {name}")
    owner = task._region.terminal_control.get("TERMINAL", name).owner
    if owner:
        raise Condition(Resp.INVREQ, detail=f"terminal {name} belongs to system {owner}")
    task._region.terminal_control.set_terminal(name, inservice=settings["servstatus"] is Cvda.INSERVICE)
