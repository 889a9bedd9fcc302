"""The cases for a CICS region: a small language with one line for each step, and its reader.

::

    rule TD-DISABLED
    do SET TDQUEUE('&N1') DISABLED
    let L1=5 T1='HELLO'
    ask WRITEQ TD QUEUE('&N1') FROM(T1) LENGTH(L1) > L1 T1:5

``rule`` begins a case. Before each case the variables and queues are reset (the steps of the case ``*RESET``). The
steps of a case are numbered from 1:

========= ==============================================================================================================
let       assigns values to variables
do        issues a command and ignores its condition
ask       issues a command and observes RESP, RESP2 and the fields after ``>``
abend     issues a command without RESP in a program at a lower level, and observes ABCODE: the code of the abend, or
          blank
link      as ask, in a program at a lower level, which cannot change the variables of the main program
other     as ask, in another task; the task is started at the first ``other`` of a group of such lines, and gets its
          turn when the main task waits
begun     as ask, in the next task of transaction &TF, which a trigger or START begins; a group of such lines must stand
          before the command that begins the task
see       observes the fields after ``>`` without a command
========= ==============================================================================================================

``other let`` and ``begun let`` assign values to the variables of the other task. ``&`` stands for the prefix of the
names of resources. The first letter of a variable determines its type, see :data:`VARIABLES`. A field ``T1:5`` is the
first five bytes; ``~`` before a field marks a value that depends on the environment, or a CVDA whose number is not
known, which is recorded but not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, NoReturn, cast

from tdqsim.errors import DefinitionError, Problem
from tdqsim.facts import rules

Kind = Literal["let", "do", "ask", "abend", "link", "other", "begun", "see"]

RESET: Final = "*RESET"
"""The name of the case whose steps are run before every other case."""
VARIABLES: Final = {
    **{f"L{n}": ("halfword", 2) for n in range(1, 4)},
    **{f"N{n}": ("fullword", 4) for n in range(1, 5)},
    **{f"C{n}": ("fullword", 4) for n in range(1, 7)},
    **{f"P{n}": ("abstime", 8) for n in range(1, 3)},
    "K1": ("task number", 4),
    **{f"S{n}": ("text", 8) for n in range(1, 5)},
    **{f"Q{n}": ("text", 4) for n in range(1, 4)},
    **{f"T{n}": ("text", 100) for n in range(1, 4)},
    **{f"X{n}": ("bytes", 16) for n in range(1, 3)},
    "A1": ("pointer", 8),
}
"""The host variables of the cases: type and size in bytes.

C is for CVDA values, P and K for packed decimal numbers, S and Q for names, X for bytes, and A for an address, which
is not observed.
"""
GROUPS: Final = ("other", "begun")
"""The kinds of steps that another task runs, in groups."""
_EIB: Final = {"EIBFN": 2, "EIBRCODE": 6, "EIBRSRCE": 8}
_WORDS: Final = ("let", "do", "ask", "abend", "link", "other", "begun", "see")
_ASSIGNMENT: Final = re.compile(r"([A-Z][0-9])=('[^']*'|-?[0-9]+|X'[0-9A-F]*'|DFHVALUE\([A-Z0-9]+\))(?:\s+|$)")
_FIELD: Final = re.compile(r"(~?)([A-Z]+[0-9]?)(?::([0-9]{1,3}))?")
_FOLDER: Final = Path(__file__).parent


class ObservedField(NamedTuple):
    """A field that a step observes.

    Attributes:
        name: the name of a variable or of a field of the EIB.
        size: the number of bytes that are observed; 0 for a number.
        compared: False if the value depends on the environment.
    """

    name: str
    size: int
    compared: bool

    @property
    def is_hex(self) -> bool:
        """Whether the value is written in hexadecimal."""
        return self.name in ("EIBFN", "EIBRCODE") or self.name.startswith("X")


class ProbeStep(NamedTuple):
    """A step of a case.

    Attributes:
        kind: the word that begins its line.
        number: its number in the case, from 1.
        command: the command; empty for a step that assigns values.
        values: for a step that assigns values: variables and their values as written.
        fields: the observed fields beside RESP and RESP2.
    """

    kind: Kind
    number: int
    command: str = ""
    values: tuple[tuple[str, str], ...] = ()
    fields: tuple[ObservedField, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeCase:
    """The steps about one rule.

    Attributes:
        rule: the id of the rule.
        steps: in order.
    """

    rule: str
    steps: tuple[ProbeStep, ...]

    def ignored(self) -> Iterator[tuple[str, str, str]]:
        """Rule, step and field of each observation that depends on the environment."""
        for step in self.steps:
            yield from ((self.rule, str(step.number), each.name) for each in step.fields if not each.compared)


@cache
def cics_cases() -> dict[str, ProbeCase]:
    """All cases for CICS, by rule id, in the order in which they run; the first is ``*RESET``."""
    path = _FOLDER / "cics_cases.txt"
    return parse_cases(path.read_text("utf-8"), path.name)


def parse_cases(text: str, file: str) -> dict[str, ProbeCase]:
    """Read cases.

    Raises:
        DefinitionError: a line is wrong; the message names it and what is allowed.
    """
    found: dict[str, list[ProbeStep]] = {}
    steps: list[ProbeStep] | None = None
    for line, written in enumerate(text.split("\n"), 1):
        word, _, rest = written.strip().partition(" ")
        if not word or word.startswith("#"):
            continue
        if word == "rule":
            if rest != RESET and rest not in rules():
                _refuse(file, line, rest, "there is no rule with this id")
            if rest in found:
                _refuse(file, line, rest, "the rule has a case already")
            steps = found[rest] = []
        elif word not in _WORDS:
            _refuse(file, line, word, f"is not the beginning of a line; allowed are rule, {', '.join(_WORDS)}")
        elif steps is None:
            _refuse(file, line, word, "stands before the first rule")
        else:
            steps.append(_step(word, len(steps) + 1, rest.strip(), file, line))
    return {rule: ProbeCase(rule, tuple(each)) for rule, each in found.items()}


def _refuse(file: str, line: int, value: str, message: str) -> NoReturn:
    raise DefinitionError([Problem(file, line, "", "", value[:80], message)])


def _step(word: str, number: int, rest: str, file: str, line: int) -> ProbeStep:
    kind = cast("Kind", word)
    if word in GROUPS and rest.startswith("let "):
        return ProbeStep(kind, number, values=_values(rest.removeprefix("let ").strip(), file, line))
    if word == "let":
        return ProbeStep(kind, number, values=_values(rest, file, line))
    command, arrow, listed = rest.partition("> ") if rest.startswith("> ") else rest.partition(" > ")
    if (word == "see") == bool(command) or (word in ("do", "abend") and arrow):
        _refuse(file, line, rest, f"is not possible after {word}")
    fields = tuple(_field(each, file, line) for each in listed.split())
    return ProbeStep(kind, number, command.strip(), (), fields)


def _values(text: str, file: str, line: int) -> tuple[tuple[str, str], ...]:
    matches = list(_ASSIGNMENT.finditer(text))
    if "".join(match[0] for match in matches) != text or any(match[1] not in VARIABLES for match in matches):
        _refuse(file, line, text, f"is not VARIABLE=VALUE ...; allowed are {', '.join(VARIABLES)}")
    return tuple((match[1], match[2]) for match in matches)


def _field(text: str, file: str, line: int) -> ObservedField:
    match = _FIELD.fullmatch(text)
    name = match[2] if match else ""
    if match is None or (name not in VARIABLES and name not in _EIB) or name == "A1":
        _refuse(file, line, text, f"is not a field; allowed are {', '.join((*VARIABLES, *_EIB))}")
    kind, size = VARIABLES.get(name, ("text", _EIB.get(name, 0)))
    cut = int(match[3] or size)
    if not 1 <= cut <= size:
        _refuse(file, line, text, f"has {size} bytes")
    return ObservedField(name, cut if kind in ("text", "bytes") else 0, not match[1])
