"""The answers of a real machine, by command and condition, as a machine.yaml gives them.

A condition has no rule id. Its rule is the row of ``facts/rules.tsv`` with its command, RESP and RESP2; a row without
RESP2 means every RESP2 that no other row of the command and condition has. A rule that shares all three with another
row cannot be told apart from it, and machine.yaml must not name it. :func:`~tdqsim.cics.kernel.task.respond`, through
which every condition passes on its way to the program, replaces the answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.errors import DefinitionError, Problem
from tdqsim.facts import Rule, rules

if TYPE_CHECKING:
    from tdqsim.definitions.machine import Machine, MachineAnswer

__all__ = ["MachineAnswers", "why_not_told_apart"]

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

    __slots__ = ("_any", "_exact", "messages")

    def __init__(self, machine: Machine) -> None:
        self._exact: dict[tuple[str, str, int], MachineAnswer] = {}
        self._any: dict[tuple[str, str], tuple[MachineAnswer, frozenset[int]]] = {}
        self.messages: dict[str, str] = {}
        problems = [
            Problem(machine.file, 0, rule, "", "", why)
            for rule, answer in machine.answers.items()
            if (why := _why_not(rules()[rule], answer, machine.product))
        ]
        if problems:
            raise DefinitionError(problems)
        for rule, answer in machine.answers.items():
            self._add(rules()[rule], answer)

    def _add(self, row: Rule, answer: MachineAnswer) -> None:
        if answer.message:
            self.messages[row.message] = answer.message
        if row.resp2:
            self._exact[row.command, row.resp, int(row.resp2)] = answer
        elif row.resp:
            others = (each.resp2 for each in rules().values() if (each.command, each.resp) == (row.command, row.resp))
            self._any[row.command, row.resp] = answer, frozenset(int(each) for each in others if each)

    def apply(self, condition: Condition) -> None:
        """Give a condition the RESP, RESP2 and abend code of the machine, if its rule has an answer."""
        name = condition.resp.name
        for command in (condition.command, " ".join(condition.command.split()[:2])):
            answer = self._exact.get((command, name, condition.resp2))
            if answer is None:
                answer, others = self._any.get((command, name), (None, frozenset()))
                if condition.resp2 in others:
                    answer = None
            if answer is not None:
                _replace(condition, answer)
                return


def _replace(condition: Condition, answer: MachineAnswer) -> None:
    if answer.resp is not None:
        condition.resp = answer.resp
    if answer.resp2 is not None:
        condition.resp2 = answer.resp2
    if answer.abend:
        condition.abend = answer.abend


def why_not_told_apart(row: Rule) -> str:
    """Why the simulator cannot recognize the condition of a rule, as text; empty if it can."""
    if not row.resp or row.resp == "NORMAL":
        return "the rule has no condition, so that its RESP, RESP2 and abend code cannot be replaced"
    same = [
        each.id
        for each in rules().values()
        if (each.command, each.resp, each.resp2) == (row.command, row.resp, row.resp2) and each.id != row.id
    ]
    what = f"{row.command} {row.resp}{f' RESP2 {row.resp2}' if row.resp2 else ''}"
    return f"the rule is {what}, as {', '.join(same)}: the simulator cannot tell them apart" if same else ""


def _why_not(row: Rule, answer: MachineAnswer, product: str) -> str:
    if product != "CICS":
        return f"is an answer of {product}; allowed in a region are those of CICS"
    if answer.message and not _MESSAGE.fullmatch(row.message):
        return "has message, and the rule has no message of CICS"
    if answer.resp is None and answer.resp2 is None and not answer.abend:
        return ""
    return why_not_told_apart(row)
