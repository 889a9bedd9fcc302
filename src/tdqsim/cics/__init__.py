"""CICS transient data: regions, tasks, queues and commands. The catalogue of this room's public names."""

from __future__ import annotations

from tdqsim.cics.conditions import Abend, Condition
from tdqsim.cics.inquire import TdqueueInfo
from tdqsim.cics.inspecting import QueueSnapshot
from tdqsim.cics.install import InstallRefused
from tdqsim.cics.region import Hook, Recorder, Region
from tdqsim.cics.security import Access, AccessList, SecurityPolicy
from tdqsim.cics.task import Task
from tdqsim.cics.uow import UnitOfWork

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
    "Task",
    "TdqueueInfo",
    "UnitOfWork",
]
