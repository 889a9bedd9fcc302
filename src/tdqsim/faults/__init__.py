"""Faults on purpose: plans of faults, the plan in use, hooks of commands, and writes that are torn.

A :class:`FaultPlan` is a value that describes which commands fail, where a process crashes, which link is cut and when
a disk is full. In use (:meth:`FaultPlan.on`) it acts through a hook of the region or system, which costs nothing where
no plan is in use. Tests, the served process and the search for schedules use the same plans.
"""

from __future__ import annotations

from tdqsim.faults.active import ActivePlan as ActivePlan
from tdqsim.faults.hooks import add_hook, remove_hook
from tdqsim.faults.plan import AnyFault as AnyFault
from tdqsim.faults.plan import (
    Crashed,
    CrashPoint,
    DiskFull,
    Fault,
    FaultPlan,
    LinkCut,
    MessageFault,
    TornWrite,
)

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "CrashPoint",
    "Crashed",
    "DiskFull",
    "Fault",
    "FaultPlan",
    "LinkCut",
    "MessageFault",
    "TornWrite",
    "add_hook",
    "remove_hook",
]
