"""Faults on purpose: plans of faults, the plan in use, hooks of commands, and writes that are torn.

A :class:`FaultPlan` is a value that describes which commands fail, where a process crashes, which link is cut and when
a disk is full. In use (:meth:`FaultPlan.on`) it acts through a hook of the region or system, which costs nothing where
no plan is in use. Tests, the served process and the search for schedules use the same plans.
"""

from __future__ import annotations

from tdqsim.faults.active import ActivePlan
from tdqsim.faults.hooks import HookChain, add_hook, remove_hook
from tdqsim.faults.plan import (
    AnyFault,
    Crashed,
    CrashPoint,
    DiskFull,
    Fault,
    FaultPlan,
    LinkCut,
    MessageFault,
    TornWrite,
)

__all__ = [
    "ActivePlan",
    "AnyFault",
    "CrashPoint",
    "Crashed",
    "DiskFull",
    "Fault",
    "FaultPlan",
    "HookChain",
    "LinkCut",
    "MessageFault",
    "TornWrite",
    "add_hook",
    "remove_hook",
]
