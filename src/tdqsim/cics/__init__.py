"""CICS transient data: regions, tasks, queues and commands. The catalogue of this room's public names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    TransactionInfo,
    UowenqInfo,
    UowInfo,
    UowlinkInfo,
)
from tdqsim.cics.uow.unit import UnitOfWork

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
    "TransactionInfo",
    "TranslationError",
    "UnitOfWork",
    "UowInfo",
    "UowenqInfo",
    "UowlinkInfo",
]


_LATE = {"Sysplex": "tdqsim.cics.ship.sysplex", "TranslationError": "tdqsim.cics.text.exec_text"}
"""What one region needs nothing of is imported when it is first used."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)
