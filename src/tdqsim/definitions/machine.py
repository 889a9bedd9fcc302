"""``machine.yaml``: the answers that one real machine gives for rules that the vendor's pages do not settle.

::

    format: 1
    product: CICS
    release: "5.6"
    rules:
      TD-DISABLED: {resp: DISABLED, resp2: 3}
      IC-START-TRANSIDERR: {abend: AEIZ}
      ATI-UNKNOWN-TRANSACTION: {message: DFHTD0184}

A region or system that is given this file answers as the machine does. ``resp`` is the name or number of a condition,
``resp2`` a number, ``abend`` the code of the abend if the condition is not handled, ``message`` the id of the message
instead of the one that the rule's row names. Keys that are missing leave the simulator's value. ``tdq probe compare``
writes the file with ``--adopt``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tdqsim.core.spelling import did_you_mean
from tdqsim.definitions._fields import FileFormat
from tdqsim.definitions.group import read_text
from tdqsim.definitions.yamltext import MapNode, Node, ScalarNode, kind_of, read_yaml
from tdqsim.errors import DefinitionError, Problem, UsageError
from tdqsim.facts import EIBFN, Resp, Rule, rules, rules_of

MACHINE_PRODUCTS: Final = ("CICS", "IBMI")
FILE_KEYS: Final = ("format", "product", "release", "rules")
ANSWER_KEYS: Final[tuple[str, ...]] = ("resp", "resp2", "message", "abend")
"""The keys of the file, and of the answer for a rule."""
_LARGEST: Final = 2**31 - 1
_FORMS: Final = {
    "abend": (re.compile(r"[A-Z0-9$@#]{4}"), "four characters A-Z 0-9 $ @ #"),
    "message": (re.compile(r"[A-Z]{3}[A-Z0-9]{4,6}"), "a message id such as CPF9801 or DFHTD0183"),
}


NAMED: Final = frozenset(
    """
    DISABLE-PENDING-NEWCOMER EX-END EX-FIXED-LENGTH EX-FREE-CLOSE EX-IOERR-IGNORE EX-IOERR-SKIP EX-SYSOUT-LENGTH
    EX-VARIABLE-LENGTH EX-WRITE-ZERO EXIT-XTDREQ-NOTAUTH IC-CANCEL-PROTECT LOCK-QBUSY-NOSUSPEND REC-CHAIN-TOO-LONG
    REC-DAMAGED-RECORD REC-SYSIDERR-CLOSED REC-SYSIDERR-LINK REC-SYSIDERR-OUT-OF-SERVICE REC-SYSIDERR-UNKNOWN
    SEC-XTRAN-MIRROR
    TD-DISABLED TD-INDIRECT-MISSING TD-INDIRECT-RING TD-INTRA-LONGEST-RECORD TD-QIDERR TD-REMOTE-DISABLED
    TD-WRITEQ-LENGERR
    """.split()  # a list of words to be read as one
)
"""The rules that conditions name where they are raised, so that others with the same RESP2 do not matter."""


@dataclass(frozen=True, slots=True)
class MachineAnswer:
    """The answer of a machine where a rule applies; None and empty texts keep the answer of the simulator.

    Attributes:
        resp: the condition.
        resp2: the RESP2 number.
        message: the id of the message.
        abend: the code of the abend when the condition is not handled.
    """

    resp: Resp | None = None
    resp2: int | None = None
    message: str = ""
    abend: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The contents of machine.yaml.

    Attributes:
        file: the name of the file, for messages.
        product: CICS or IBMI.
        release: the release of the machine, as text; may be empty.
        answers: by rule id.
    """

    file: str
    product: str
    release: str
    answers: Mapping[str, MachineAnswer]

    @staticmethod
    def why_not_told_apart(row: Rule) -> str:
        """Why a region cannot recognize the condition of a rule, as text; empty if it can."""
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


def machine_of(given: Path | str | Machine) -> Machine:
    """The contents of a machine.yaml, from its path or as they are.

    Raises:
        DefinitionError: as for :func:`load_machine`.
        UsageError: it is something else.
    """
    if isinstance(given, Machine):
        return given
    if not isinstance(given, Path | str):
        raise UsageError(f"machine {given!r}: allowed are the path of a machine.yaml, and its contents as a Machine")
    return load_machine(given)


def load_machine(path: Path | str) -> Machine:
    """Read machine.yaml.

    Raises:
        DefinitionError: the file has errors; all are listed, with lines and what is allowed.
    """
    file = str(path)
    root = read_yaml(read_text(Path(path)), file)
    if not isinstance(root, MapNode):
        line, what = (root.line, kind_of(root)) if root is not None else (0, "empty")
        raise DefinitionError([Problem(file, line, "", "", "", f"must be a mapping with the key rules, not {what}")])
    reader = _Reader(file)
    machine = reader.machine(root)
    if reader.problems:
        raise DefinitionError(sorted(reader.problems, key=lambda problem: problem.line))
    return machine


class _Reader:
    """Reads one file and collects its problems."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def refuse(self, line: int, resource: str, attribute: str, value: str, message: str) -> None:
        self.problems.append(Problem(self.file, line, resource, attribute, value, message))

    def machine(self, root: MapNode) -> Machine:
        words = f"is not a key of machine.yaml; allowed are {', '.join(FILE_KEYS)}"
        for key in root.items.keys() - set(FILE_KEYS):
            self.refuse(root.lines[key], "", key, "", words)
        if given := self.text(root, "", "format"):
            try:
                FileFormat("machine file").check(given)
            except ValueError as error:
                self.refuse(root.lines["format"], "", "format", given, str(error))
        product = self.text(root, "", "product") or "CICS"
        if product not in MACHINE_PRODUCTS:
            self.refuse(root.lines["product"], "", "product", product, f"must be {' or '.join(MACHINE_PRODUCTS)}")
        answers: dict[str, MachineAnswer] = {}
        listed = root.items.get("rules")
        if not isinstance(listed, MapNode):
            line = root.lines.get("rules", root.line)
            self.refuse(line, "", "rules", "", "must be a mapping from rule ids to answers")
            return Machine(self.file, product, "", answers)
        for rule, node in listed.items.items():
            self.answer(rule, node, listed.lines[rule], answers)
        return Machine(self.file, product, self.text(root, "", "release"), answers)

    def text(self, node: MapNode, resource: str, key: str) -> str:
        given = node.items.get(key)
        if given is None or isinstance(given, ScalarNode):
            return "" if given is None else given.value
        self.refuse(node.lines[key], resource, key, "", f"must be text, not {kind_of(given)}")
        return ""

    def answer(self, rule: str, node: Node, line: int, answers: dict[str, MachineAnswer]) -> None:
        if rule not in rules():
            self.refuse(line, rule, "", "", f"there is no rule with this id{did_you_mean(rule, rules())}")
            return
        if not isinstance(node, MapNode) or not node.items:
            self.refuse(line, rule, "", "", f"must be a mapping with one or more of {', '.join(ANSWER_KEYS)}")
            return
        for key in node.items.keys() - set(ANSWER_KEYS):
            self.refuse(
                node.lines[key], rule, key, "", f"is not a key of an answer; allowed are {', '.join(ANSWER_KEYS)}"
            )
        given = {key: self.text(node, rule, key) for key in ANSWER_KEYS if key in node.items}
        answers[rule] = MachineAnswer(
            self.resp(rule, node, given.get("resp", "")), self.resp2(rule, node, given.get("resp2", "")),
            self.form(rule, node, "message", given), self.form(rule, node, "abend", given),
        )  # fmt: skip

    def resp(self, rule: str, node: MapNode, value: str) -> Resp | None:
        if not value:
            return None
        if value in Resp.__members__:
            return Resp[value]
        if value.isdecimal() and int(value) in set(Resp):
            return Resp(int(value))
        hint = did_you_mean(value, Resp.__members__)
        self.refuse(node.lines["resp"], rule, "resp", value, f"must be the name or number of a condition{hint}")
        return None

    def resp2(self, rule: str, node: MapNode, value: str) -> int | None:
        if not value:
            return None
        if re.fullmatch(r"-?[0-9]{1,10}", value) and abs(int(value)) <= _LARGEST:
            return int(value)
        self.refuse(node.lines["resp2"], rule, "resp2", value, f"must be a whole number of at most {_LARGEST}")
        return None

    def form(self, rule: str, node: MapNode, key: str, given: Mapping[str, str]) -> str:
        value = given.get(key, "")
        pattern, allowed = _FORMS[key]
        if value and not pattern.fullmatch(value):
            self.refuse(node.lines[key], rule, key, value, f"must be {allowed}")
        return value
