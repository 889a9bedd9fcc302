"""Functions shared by the system programming commands: names, null values, CVDAs, security, conditions by cause.

The table ``facts/spi_resp2.tsv`` has the RESP2 values: a command and a cause, in words, select the condition.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tdqsim.cics.kernel.authority import check_command, check_resource, check_surrogate
from tdqsim.cics.kernel.command import to_cvda
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import XDCT, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.queue import TdQueue
from tdqsim.cics.queues.state_table import hint_of
from tdqsim.errors import WrongType
from tdqsim.facts import Cvda, Resp, table

RESERVED: Final = "C"
"""Queues whose names begin with this letter belong to CICS: they can be neither disabled nor discarded."""


@cache
def _resp2() -> dict[tuple[str, str], tuple[Resp, int]]:
    return {(row["command"], row["cause"]): (Resp[row["resp"]], int(row["resp2"])) for row in table("spi_resp2")}


def refusal(command: str, cause: str, detail: str) -> Condition:
    """The condition of a command for a cause, from the table ``spi_resp2``."""
    known = _resp2()
    resp, resp2 = known.get((command, cause)) or known["ANY", cause]
    return Condition(resp, resp2, detail)


def is_null(value: object) -> bool:
    """Whether the value of a CVDA changes nothing: not given, IGNORE, or a blank name."""
    return value is None or to_cvda(value) is Cvda.IGNORE or (isinstance(value, str) and not value.strip())


def queue_name(value: object) -> str:
    """The name of a queue without its padding.

    Raises:
        TypeError: the value is not a str.
    """
    if not isinstance(value, str):
        raise WrongType(f"tdqueue {value!r}: the name of a queue is a str of 1 to 4 characters")
    return value.rstrip(" ")


def find_queue(task: TaskBase, command: str, name: str, level: Access) -> TdQueue:
    """The queue that a system programming command names, after the security checks.

    Raises:
        Condition: in this order: NOTAUTH 100; QIDERR; NOTAUTH 101.
    """
    check_command(task, "TDQUEUE", level)
    queue = task._region.tdqueues.get(name)
    if queue is None:
        raise refusal(command, "not found", f"there is no queue {name:.40}{hint_of(task._region.tdqueues, name)}")
    check_resource(task, XDCT, name, level)
    return queue


def check_userid(task: TaskBase, user: str, command_name: str) -> None:
    """Check that the issuer may start tasks for a user, whatever RESSEC and CMDSEC are.

    Raises:
        Condition: USERIDERR: the security manager does not know the user. NOTAUTH: the issuer is not a surrogate of the
            user.
    """
    check_surrogate(
        task, user, "DFHINSTL",
        unknown=refusal("SET TDQUEUE", "unknown user", f"user {user} is not known"),
        refused=refusal(command_name, "surrogate", f"user {task.userid} may not act for {user}"),
    )  # fmt: skip
