"""What the system programming commands share: names, null values, CVDAs, security, and conditions by cause.

The numbers of RESP2 are the table ``facts/spi_resp2.tsv``: a command and a cause in words give the condition.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import Access
from tdqsim.facts import Cvda, Resp, table

if TYPE_CHECKING:
    from tdqsim.cics.queues.kinds import TdQueue
    from tdqsim.cics.region import Region

__all__ = ["RESERVED", "find_queue", "is_null", "may_issue", "may_see", "queue_name", "refusal", "to_cvda"]

RESERVED: Final = "C"
"""Queues whose names begin with it are CICS's own: they can be neither disabled nor discarded."""


@cache
def _resp2() -> dict[tuple[str, str], tuple[Resp, int]]:
    return {(row["command"], row["cause"]): (Resp[row["resp"]], int(row["resp2"])) for row in table("spi_resp2")}


def refusal(command: str, cause: str, detail: str) -> Condition:
    """The condition of a command for a cause, as the table ``spi_resp2`` has it."""
    known = _resp2()
    resp, resp2 = known.get((command, cause)) or known["ANY", cause]
    return Condition(resp, resp2, detail)


def is_null(value: Any) -> bool:
    """Whether a value leaves things as they are: not given, IGNORE, -1 or blanks."""
    if isinstance(value, str):
        return not value.strip() or value.strip().upper() == "IGNORE"
    return value is None or value in (-1, Cvda.IGNORE)


def to_cvda(value: Any) -> Cvda | None:
    """The CVDA that a name or number means; None when there is none."""
    if isinstance(value, str):
        return Cvda.__members__.get(value.strip().upper())
    try:
        return Cvda(value)
    except ValueError:
        return None


def may_issue(region: Region, user: str, resource_type: str, level: Access) -> None:
    """Command security.

    Raises:
        Condition: NOTAUTH 100.
    """
    security = region.security
    if security is not None and not security.may_issue(user, resource_type, level):
        raise refusal(
            "ANY", "command not allowed", f"user {user} may not use this command on {resource_type} resources"
        )


def may_see(region: Region, user: str, queue: str, level: Access) -> None:
    """Resource security.

    Raises:
        Condition: NOTAUTH 101.
    """
    security = region.security
    if security is not None and not security.may_access(user, queue, level):
        raise refusal("ANY", "resource not allowed", f"user {user} has no {level.name} access to queue {queue}")


def queue_name(value: object) -> str:
    """The name of a queue without its padding.

    Raises:
        TypeError: it is no str.
    """
    if not isinstance(value, str):
        raise TypeError(f"tdqueue {value!r}: the name of a queue is a str of 1 to 4 characters")
    return value.rstrip(" ")


def find_queue(region: Region, user: str, command: str, name: str, level: Access) -> TdQueue:
    """The queue that a system programming command names, after the security checks.

    Raises:
        Condition: NOTAUTH 100; QIDERR; NOTAUTH 101; in this order.
    """
    may_issue(region, user, "TDQUEUE", level)
    queue = region.tdqueues.get(name)
    if queue is None:
        raise refusal(command, "not found", f"there is no queue {name}")
    may_see(region, user, name, level)
    return queue
