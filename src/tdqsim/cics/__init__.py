"""CICS transient data: regions, tasks, queues and commands. The catalogue of this room's public names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdqsim.cics.commands import Task
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.issue import Hook, Recorder
from tdqsim.cics.kernel.security import Access, AccessList, SecurityPolicy
from tdqsim.cics.look.peek import QueueSnapshot
from tdqsim.cics.queues.making import InstallRefused
from tdqsim.cics.region import Region
from tdqsim.cics.spi.tdqueue_options import TdqueueInfo
from tdqsim.cics.text.exec_text import TranslationError
from tdqsim.cics.uow.unit import UnitOfWork

if TYPE_CHECKING:
    from tdqsim.cics.ship.sysplex import Sysplex

__all__ = [
    "Abend",
    "Access",
    "AccessList",
    "Condition",
    "Hook",
    "InstallRefused",
    "QueueSnapshot",
    "Recorder",
    "Region",
    "SecurityPolicy",
    "Sysplex",
    "Task",
    "TdqueueInfo",
    "TranslationError",
    "UnitOfWork",
]


def __getattr__(name: str) -> Any:
    if name == "Sysplex":  # one region needs nothing of it
        from tdqsim.cics.ship.sysplex import Sysplex  # noqa: PLC0415

        return Sysplex
    raise AttributeError(f"module {__name__} has no attribute {name}")
