"""The message ids of a real machine, by rule, as a machine.yaml gives them.

A message that belongs to a rule is created with the rule's id (``job.fail``, ``job.ruled``), and there the id is
replaced. The variables are those of the simulator's message if the two messages have the same variables; otherwise the
new ones are empty, and a message that is not in the message file has no text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tdqsim.core.codepage import CodePage
from tdqsim.errors import DefinitionError, Problem
from tdqsim.ibmi.messages import MESSAGES, Message, message

if TYPE_CHECKING:
    from tdqsim.definitions.machine import Machine

NO_MACHINE: Mapping[str, str] = MappingProxyType({})
"""The message ids of a system without a machine.yaml."""

RULES_WITH_MESSAGE = frozenset(
    {
        "CL-AFTER-KEYWORD", "CL-APOSTROPHE", "CL-EXPRESSION", "CL-GENERIC", "CL-OPERAND", "CL-PARENTHESIS",
        "CL-PARENTHESIS-RIGHT", "CL-POSITIONAL", "CL-REQUIRED", "CL-SEVERAL", "CL-TOO-MANY", "CL-TWICE",
        "DTAQ-CHANGE-LENGTH", "DTAQ-CLEAR-ORDER", "DTAQ-CRT-CHECKS", "DTAQ-CRT-TOO-LARGE", "DTAQ-DDM-REPLAY",
        "DTAQ-DESCRIBE-COUNT", "DTAQ-FIND-FIRST-MATCH", "DTAQ-GRANT-NO-PROFILE", "DTAQ-KEY-LENGTH-NEGATIVE",
        "DTAQ-LOCK-ALCOBJ", "DTAQ-LOCK-ALCOBJ-DELETED", "DTAQ-LOCK-ENFORCED", "DTAQ-QSYS2-KEYED",
        "DTAQ-RECEIVE-DELETED", "DTAQ-RECEIVE-ORDER", "DTAQ-RECEIVE-SENDER-LENGTH", "DTAQ-RECEIVE-SIZE-NEGATIVE",
        "DTAQ-RETRIEVE-ADDRESSING", "DTAQ-RETRIEVE-COUNT", "DTAQ-RETRIEVE-KEY-LENGTH", "DTAQ-SEND-ASYNC-LOCAL",
        "DTAQ-SEND-EMPTY", "DTAQ-SEND-FULL", "DTAQ-SEND-NO-ROOM-ON-DISK", "DTAQ-SEND-NOT-PACKED",
        "DTAQ-SEND-PARAMETER-COUNT", "DTAQ-SERVER-DDM", "DTAQ-SERVER-EMPTY-KEY", "DTAQ-SERVER-NAMES",
        "DTAQ-TIME-CENTURY", "DTAQ-TIME-DATE", "DTAQ-TIME-PRECISION", "DTAQ-TIME-RANGE", "DTAQ-TIME-TIME",
        "DTAQ-XCL-KNOWN", "DTAQ-XCL-LOCK", "DTAQ-XCL-REST", "DTAQ-XCL-USER", "JOBLOG-OTHER", "PGM-DECIMAL", "PGM-NULL",
        "RTV-VALUE",
    }
)  # fmt: skip
"""The rules whose message can be replaced."""


def machine_messages(given: Path | str | Machine | None) -> Mapping[str, str]:
    """The message ids of a machine.yaml, or of its contents, by rule.

    Raises:
        DefinitionError: the file has errors, or an answer is not possible for its rule; all are listed.
    """
    if given is None:
        return NO_MACHINE
    from tdqsim.definitions.machine import machine_of  # noqa: PLC0415  (needed only with a machine.yaml)

    machine = machine_of(given)
    problems = [
        Problem(machine.file, 0, rule, "", "", reason)
        for rule, answer in machine.answers.items()
        if (reason := _why_not(rule, machine.product, only_message=answer == type(answer)(message=answer.message)))
    ]
    if problems:
        raise DefinitionError(problems)
    return MappingProxyType({rule: answer.message for rule, answer in machine.answers.items() if answer.message})


def _why_not(rule: str, product: str, *, only_message: bool) -> str:
    if product != "IBMI":
        return f"is an answer of {product}; allowed in a system are those of IBMI"
    if not only_message:
        return "has more than a message; on IBM i a rule has no RESP, RESP2 or abend code"
    if rule not in RULES_WITH_MESSAGE:
        return "is a rule whose message the simulator cannot replace"
    return ""


def machine_message(other: str, own: str, values: Sequence[str | int], page: CodePage) -> Message:
    """The message of a machine instead of the simulator's own.

    Args:
        other: the id of the machine's message.
        own: the id of the simulator's message.
        values: the values of its variables.
        page: the code page of the data.
    """
    usual, described = MESSAGES[own], MESSAGES.get(other)
    if described is None:
        return Message(other, usual.kind, usual.severity, "", b"")
    if described.data != usual.data:
        values = [0 if kind == "B" else "" for kind, length in described.data if length]
    return message(other, *values, page=page, kind=usual.kind)
