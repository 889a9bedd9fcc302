"""Security checks: attributes of the task's transaction decide whether to check, the region's policy decides access."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import XCMD, XTRAN, XUSER, Access
from tdqsim.cics.model.unit import transaction_of
from tdqsim.facts import REGION_DEFAULTS, Resp, table

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.task import Facility, TaskData

NOT_AUTHORIZED: Final = "DFHAC2033"
"""The message to the user of a terminal who may not attach a transaction."""
SYSTEM_TRANSID: Final = "CSSY"
"""The transaction of the tasks that write messages of CICS."""
_SUPPLIED: Final = frozenset(REGION_DEFAULTS["checked_transactions"].split())
"""Transactions of CICS itself, which have no definition in a region; CICS defines them with CMDSEC(YES) RESSEC(YES)."""
_COMMAND_NAMES: Final = {row["type"]: row["name"] for row in table("security_commands") if row["type"]}
"""The names of resource types in the class of commands, where they differ from those of the commands."""
_RESP2: Final = {row["cause"]: int(row["resp2"]) for row in table("spi_resp2") if row["command"] == "ANY"}
_COMMAND: Final = _RESP2["command not allowed"]
_RESOURCE: Final = _RESP2["resource not allowed"]


def is_supplied(transid: str) -> bool:
    """Whether it is a transaction of CICS itself that terminal users and other regions attach."""
    return transid in _SUPPLIED


def _is_checked(task: TaskData, attribute: str) -> bool:
    """Whether checks are on: by an attribute of the task's transaction, or for all transactions of the region.

    The messages of CICS itself are never checked.
    """
    region = task._region
    if task._implicit and task.transid == SYSTEM_TRANSID:
        return False
    if getattr(region, attribute) == "ALWAYS":
        return True
    entry = transaction_of(task)
    return task.transid in _SUPPLIED if entry is None else getattr(entry.definition, attribute) == "YES"


def may_use(task: TaskData, resource_class: str, name: str, level: Access, attribute: str = "ressec") -> bool:
    """Whether a task has this access to a resource: RESSEC (or CMDSEC) of its transaction, then the policy."""
    policy = task._region.security
    if policy is None or not _is_checked(task, attribute):
        return True
    return policy.permits(task.userid, resource_class, name, level)


def check_resource(task: TaskData, resource_class: str, name: str, level: Access, resp2: int = _RESOURCE) -> None:
    """Check the access of a task to a resource, if its transaction has RESSEC(YES).

    Raises:
        Condition: NOTAUTH, 101 or the given RESP2.
    """
    if task._region.security is not None and not may_use(task, resource_class, name, level):
        words = f"user {task.userid} has no {level.name} access to {name} in class {resource_class}"
        condition = Condition(Resp.NOTAUTH, resp2, words)
        condition.violation = resource_class, name
        raise condition


def check_command(task: TaskData, resource_type: str, level: Access) -> None:
    """Check that a task may issue a system programming command on a type of resource, if CMDSEC(YES).

    Raises:
        Condition: NOTAUTH 100.
    """
    name = _COMMAND_NAMES.get(resource_type, resource_type)
    if task._region.security is not None and not may_use(task, XCMD, name, level, "cmdsec"):
        words = f"user {task.userid} may not use this command on {resource_type} resources"
        condition = Condition(Resp.NOTAUTH, _COMMAND, words)
        condition.violation = XCMD, name
        raise condition


def check_surrogate(task: TaskData, user: str, purpose: str, *, unknown: Condition, refused: Condition) -> None:
    """Check that a task may act for a user id. RESSEC and CMDSEC do not affect this.

    Args:
        task: the task.
        user: the other user; a task may always act for its own.
        purpose: the last part of the name of the SURROGAT profile, such as ``DFHSTART``.
        unknown: the condition for a user that the security manager does not know.
        refused: the condition for a task whose user is not a surrogate of the other one.

    Raises:
        Condition: one of the two.
    """
    policy = task._region.security
    if policy is None:
        return
    if not policy.knows_user(user):
        raise unknown
    resource = f"{user}.{purpose}"
    if user != task.userid and not policy.permits(task.userid, XUSER, resource, Access.READ):
        refused.violation = XUSER, resource
        raise refused


def report_refusal(task: TaskData, condition: Condition) -> None:
    """Report the check that refused a command, once only."""
    if condition.violation is not None:
        violation, condition.violation = condition.violation, None
        facility = task._facility
        signed_on = facility is not None and facility.userid == task.userid
        terminal = facility.name if facility is not None and signed_on else ""
        report_violation(task._region, task.userid, task.transid, *violation, terminal)


def report_violation(
    region: RegionData, user: str, transid: str, resource_class: str, name: str, terminal: str = ""
) -> None:
    """Write DFHXS1111, the message about a security violation."""
    definition = region.terminals.get(terminal)
    netname = terminal if definition is None else definition.netname or terminal
    who = f"{user} at netname {netname}" if terminal else user
    region.messages.write("DFHXS1111", transid=transid, who=who, resource=name, classname=resource_class)


def is_attachable_by(
    region: RegionData, transid: str, user: str, facility: Facility | None = None, message: str = NOT_AUTHORIZED
) -> bool:
    """Whether a user may attach a transaction; RESSEC does not matter. A refusal is reported, also at the terminal.

    Args:
        region: the region.
        transid: the transaction.
        user: the user.
        facility: the terminal or connection of the task, if it is to have one.
        message: the ID of the message for the user of the terminal.
    """
    policy = region.security
    if policy is None or policy.permits(user, XTRAN, transid, Access.READ):
        return True
    terminal = "" if facility is None else facility.name
    report_violation(region, user, transid, XTRAN, transid, terminal)
    region.messages.write("DFHAC2003", termid=terminal, transid=transid, userid=user)
    if facility is not None and facility.kind == "TERMINAL" and facility.surrogate is None:
        region.messages.show(facility.name, message, transid=transid)
    return False


def unauthorized(facility: Facility) -> str:
    """The ID of the message for the user of a terminal who has entered a transaction that he may not attach."""
    return NOT_AUTHORIZED if facility.userid else "DFHAC2002"
