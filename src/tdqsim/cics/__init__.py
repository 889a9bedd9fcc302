"""CICS transient data: regions, tasks, queues and commands. The catalogue of this room's public names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.cics.commands import Task
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.issue import Hook, Recorder
from tdqsim.cics.kernel.security import Access, AccessList, SecurityPolicy
from tdqsim.cics.look.peek import QueueSnapshot
from tdqsim.cics.queues.making import InstallRefused
from tdqsim.cics.region import Region
from tdqsim.cics.spi.inquire_task import TaskListInfo
from tdqsim.cics.spi.rows import (
    ConnectionInfo,
    TaskInfo,
    TdqueueInfo,
    TdqueueOption,
    TransactionInfo,
    UowenqInfo,
    UowInfo,
    UowlinkInfo,
)
from tdqsim.cics.uow.unit import UnitOfWork
from tdqsim.late import load_late

if TYPE_CHECKING:
    from tdqsim.cics.ship.sysplex import Sysplex
    from tdqsim.cics.text.exec_text import TranslationError

__all__ = [
    "Abend",
    "Access",
    "AccessList",
    "Condition",
    "ConnectionInfo",
    "Hook",
    "InstallRefused",
    "QueueSnapshot",
    "Recorder",
    "Region",
    "SecurityPolicy",
    "Sysplex",
    "Task",
    "TaskInfo",
    "TaskListInfo",
    "TdqueueInfo",
    "TdqueueOption",
    "TransactionInfo",
    "TranslationError",
    "UnitOfWork",
    "UowInfo",
    "UowenqInfo",
    "UowlinkInfo",
]

# What one region needs nothing of.
__getattr__, __dir__ = load_late(
    __name__,
    {
        "tdqsim.cics.ship.sysplex": ("Sysplex",),
        "tdqsim.cics.text.exec_text": ("TranslationError",),
    },
)
