"""The answers of a real machine, by command and condition, as a machine.yaml gives them.

The rule of a condition is the only one of :attr:`~tdqsim.cics.kernel.conditions.Condition.rules`. A rule that shares
command, RESP and RESP2 with another row cannot be told apart from it, unless conditions name it (:data:`NAMED`), and
machine.yaml must not name it.
:func:`~tdqsim.cics.kernel.task.respond`, through which every condition passes on its way to the program, replaces the
answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.errors import DefinitionError, Problem
from tdqsim.facts import EIBFN, Rule, rules, rules_of

if TYPE_CHECKING:
    from tdqsim.definitions.machine import Machine, MachineAnswer

NAMED: Final = frozenset(
    """
    DISABLE-PENDING-NEWCOMER EX-END EX-FIXED-LENGTH EX-FREE-CLOSE EX-IOERR-IGNORE EX-IOERR-SKIP EX-SYSOUT-LENGTH
    EX-VARIABLE-LENGTH EX-WRITE-ZERO EXIT-XTDREQ-NOTAUTH IC-CANCEL-PROTECT LOCK-QBUSY-NOSUSPEND REC-CHAIN-TOO-LONG
    REC-DAMAGED-RECORD REC-SYSIDERR-CLOSED REC-SYSIDERR-LINK REC-SYSIDERR-OUT-OF-SERVICE REC-SYSIDERR-UNKNOWN
    SEC-XTRAN-MIRROR
    TD-DISABLED TD-INDIRECT-MISSING TD-INDIRECT-RING TD-INTRA-LONGEST-RECORD TD-QIDERR TD-REMOTE-DISABLED
    TD-WRITEQ-LENGERR
    """.split()  # noqa: SIM905  (a list of words to be read as one)
)
"""The rules that conditions name where they are raised, so that others with the same RESP2 do not matter."""
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


def why_not_told_apart(row: Rule) -> str:
    """Why the simulator cannot recognize the condition of a rule, as text; empty if it can."""
    if not row.resp or row.resp == "NORMAL":
        return "the rule has no condition, so that its RESP, RESP2 and abend code cannot be replaced"
    if row.id in NAMED:
        return ""
    if row.resp == "SYSIDERR" and not int(row.resp2 or 0):
        causes = ", ".join(sorted(rule for rule in NAMED if rule.startswith("REC-SYSIDERR-")))
        return f"SYSIDERR without RESP2 is the same for each command that goes to another system; name {causes}"
    what = f"{row.command} {row.resp}{f' RESP2 {row.resp2}' if row.resp2 else ''}"
    if not any(name == row.command for name in EIBFN):
        return f"the rule is {what}: conditions have the full names of commands, and {row.command} is not one"
    same = [each.id for each in rules_of(row.resp, int(row.resp2 or 0), row.command) if each.id != row.id]
    return f"the rule is {what}, as {', '.join(same)}: the simulator cannot tell them apart" if same else ""


def _why_not(row: Rule, answer: MachineAnswer, product: str) -> str:
    if product != "CICS":
        return f"is an answer of {product}; allowed in a region are those of CICS"
    if answer.message and not _MESSAGE.fullmatch(row.message):
        return "has message, and the rule has no message of CICS"
    if answer.resp is None and answer.resp2 is None and not answer.abend:
        return ""
    return why_not_told_apart(row)
