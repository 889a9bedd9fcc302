"""CICS transient data: regions, tasks, queues and commands. The catalogue of this room's public names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.cics.commands import Task
from tdqsim.cics.inspection.peek import QueueSnapshot
from tdqsim.cics.kernel.command import COMMANDS as COMMANDS
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.security import Access, AccessList, PasswordCheck, SecurityPolicy
from tdqsim.cics.model.region import Hook
from tdqsim.cics.model.region import Recorder as Recorder
from tdqsim.cics.model.unit import UnitOfWork as UnitOfWork
from tdqsim.cics.queues.creation import InstallRefused
from tdqsim.cics.queues.exits import ExitPoint, ExitProgram
from tdqsim.cics.region import Region
from tdqsim.cics.region_arguments import SecurityOptions, StartOptions, SystemOptions
from tdqsim.cics.spi.inquire_task import TaskListInfo
from tdqsim.facts.inquiries import (
    ConnectionInfo,
    TaskInfo,
    TdqueueInfo,
    TdqueueOption,
    TransactionInfo,
    UowenqInfo,
    UowInfo,
    UowlinkInfo,
)
from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.cics.files.datafile import DataFile
    from tdqsim.cics.kernel.racf import RacfPolicy
    from tdqsim.cics.queues.exited import CommandExit, DataExit, RequestExit
    from tdqsim.cics.ship.sysplex import Sysplex
    from tdqsim.cics.spi.csd import Csd, InstallIncomplete
    from tdqsim.cics.text.ceci import ceci
    from tdqsim.cics.text.cemt import cemt
    from tdqsim.cics.text.cemt_request import CemtError
    from tdqsim.cics.text.cemt_request import parse_cemt as parse_cemt
    from tdqsim.cics.text.csdup import Dfhcsdup
    from tdqsim.cics.text.exec_text import TranslationError

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "Abend",
    "Access",
    "AccessList",
    "CemtError",
    "CommandExit",
    "Condition",
    "ConnectionInfo",
    "Csd",
    "DataExit",
    "DataFile",
    "Dfhcsdup",
    "ExitPoint",
    "ExitProgram",
    "Hook",
    "InstallIncomplete",
    "InstallRefused",
    "PasswordCheck",
    "QueueSnapshot",
    "RacfPolicy",
    "Region",
    "RequestExit",
    "SecurityOptions",
    "SecurityPolicy",
    "StartOptions",
    "Sysplex",
    "SystemOptions",
    "Task",
    "TaskInfo",
    "TaskListInfo",
    "TdqueueInfo",
    "TdqueueOption",
    "TransactionInfo",
    "TranslationError",
    "UowInfo",
    "UowenqInfo",
    "UowlinkInfo",
    "ceci",
    "cemt",
]

# What one region needs nothing of.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.cics.files.datafile": ("DataFile",),
        "tdqsim.cics.kernel.racf": ("RacfPolicy",),
        "tdqsim.cics.queues.exited": ("CommandExit", "DataExit", "RequestExit"),
        "tdqsim.cics.ship.sysplex": ("Sysplex",),
        "tdqsim.cics.spi.csd": ("Csd", "InstallIncomplete"),
        "tdqsim.cics.text.ceci": ("ceci",),
        "tdqsim.cics.text.cemt": ("cemt",),
        "tdqsim.cics.text.cemt_request": ("CemtError", "parse_cemt"),
        "tdqsim.cics.text.csdup": ("Dfhcsdup",),
        "tdqsim.cics.text.exec_text": ("TranslationError",),
    },
)
