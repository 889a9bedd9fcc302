"""Security checks: attributes of the task's transaction decide whether to check, the region's policy decides access."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tdqsim.facts import REGION_DEFAULTS

if TYPE_CHECKING:
    from tdqsim.cics.kernel.security import Access
    from tdqsim.cics.model.task import TaskData

__all__ = ["NO_SURROGATE", "UNKNOWN_USER", "may_access", "may_issue", "why_not_for"]

UNKNOWN_USER: Final = "unknown user"
NO_SURROGATE: Final = "surrogate"
_SUPPLIED: Final = frozenset(REGION_DEFAULTS["checked_transactions"].split())
"""Transactions of CICS itself, which have no definition in a region; CICS defines them with CMDSEC(YES) RESSEC(YES)."""


def _is_checked(task: TaskData, attribute: str) -> bool:
    """Whether checks are on: by an attribute of the task's transaction, or for all transactions of the region."""
    region = task._region
    if getattr(region, attribute) == "ALWAYS":
        return True
    entry = region.transactions.get(task.transid)
    return task.transid in _SUPPLIED if entry is None else getattr(entry.definition, attribute) == "YES"


def may_issue(task: TaskData, resource_type: str, level: Access) -> bool:
    """Whether a task may issue SPI commands of a level on a type of resource: CMDSEC, then the policy."""
    policy = task._region.security
    return policy is None or not _is_checked(task, "cmdsec") or policy.may_issue(task.userid, resource_type, level)


def may_access(task: TaskData, queue: str, level: Access) -> bool:
    """Whether a task may access a queue at a level: RESSEC, then the policy."""
    policy = task._region.security
    return policy is None or not _is_checked(task, "ressec") or policy.may_access(task.userid, queue, level)


def why_not_for(task: TaskData, user: str) -> str:
    """Why a task may not start other tasks under a user id; empty if it may. RESSEC and CMDSEC do not affect this."""
    policy = task._region.security
    if policy is None:
        return ""
    if not policy.knows_user(user):
        return UNKNOWN_USER
    return "" if policy.may_act_for(task.userid, user) else NO_SURROGATE
