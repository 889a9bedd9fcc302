"""The answers of a real machine, by command and condition, as a machine.yaml gives them.

The rule of a condition is the only one of :attr:`~tdqsim.cics.kernel.conditions.Condition.rules`. A rule that shares
command, RESP and RESP2 with another row cannot be distinguished from it, unless conditions name it
(:data:`~tdqsim.definitions.machine.NAMED`), and machine.yaml must not name it.
:func:`~tdqsim.cics.kernel.task.respond`, through which every condition passes on its way to the program, replaces the
answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.definitions.machine import Machine, MachineAnswer
from tdqsim.errors import DefinitionError, Problem
from tdqsim.facts import Rule, rules

_MESSAGE: Final = re.compile(r"DFH[A-Z]{2}[0-9]{4}")


class MachineAnswers:
    """The answers that replace those of the simulator in one region.

    Args:
        machine: the contents of machine.yaml.

    Raises:
        DefinitionError: an answer is not possible for its rule; all are listed.

    Attributes:
        messages: for the id of a message of the simulator, the one of the machine.
    """

    __slots__ = ("_answers", "messages")

    def __init__(self, machine: Machine) -> None:
        problems = [
            Problem(machine.file, 0, rule, "", "", why)
            for rule, answer in machine.answers.items()
            if (why := _why_not(rules()[rule], answer, machine.product))
        ]
        if problems:
            raise DefinitionError(problems)
        self._answers: Mapping[str, MachineAnswer] = machine.answers
        self.messages = {
            rules()[rule].message: answer.message for rule, answer in machine.answers.items() if answer.message
        }

    def apply(self, condition: Condition) -> None:
        """Give a condition the RESP, RESP2 and abend code of the machine, if its rule has an answer."""
        found = condition.rules
        answer = self._answers.get(found[0].id) if len(found) == 1 else None
        if answer is not None:
            condition.rule = found[0].id
            _replace(condition, answer)


def _replace(condition: Condition, answer: MachineAnswer) -> None:
    if answer.resp is not None:
        condition.resp = answer.resp
    if answer.resp2 is not None:
        condition.resp2 = answer.resp2
    if answer.abend:
        condition.abend = answer.abend


def _why_not(row: Rule, answer: MachineAnswer, product: str) -> str:
    if product != "CICS":
        return f"is an answer of {product}; allowed in a region are those of CICS"
    if answer.message and not _MESSAGE.fullmatch(row.message):
        return "has message, and the rule has no message of CICS"
    if answer.resp is None and answer.resp2 is None and not answer.abend:
        return ""
    return Machine.why_not_told_apart(row)
