"""The priority of a task, which decides which of several ready tasks runs first.

It is the sum of PRIORITY of its transaction and TERMPRIORITY of its terminal, at most 255; the priority of the
operator, which CICS adds, is 0 here. A task of priority n + 1 that becomes ready runs before one of priority n, unless
that has been ready for PRTYAGE milliseconds longer. Source: Prioritizing tasks; PRTYAGE (IBM Docs).
"""

from __future__ import annotations

from typing import Final

from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.transaction import DEFAULT_PRIORITY
from tdqsim.cics.model.unit import transaction_of

_HIGHEST: Final = 255


def with_terminal(region: RegionData, priority: int, terminal: str) -> int:
    """The priority of a task at a terminal, from that of its transaction."""
    known = region.terminals.get(terminal)
    return priority if known is None else min(priority + known.termpriority, _HIGHEST)


def transaction_priority(task: TaskData) -> int:
    """PRIORITY of the transaction of a task."""
    entry = transaction_of(task)
    return DEFAULT_PRIORITY if entry is None else entry.priority


def task_priority(task: TaskData) -> int:
    """The priority of a task."""
    priority, facility = transaction_priority(task), task._facility
    return priority if facility is None else with_terminal(task._region, priority, facility.name)
