"""The COBOL programs of the probe: the cases as EXEC CICS commands, in Enterprise COBOL.

There is one program for every :data:`STEPS_IN_PROGRAM` steps; each continues with the next one by XCTL. A program has
three entries. The main task runs through all its cases. With a COMMAREA the program is at the lower level of an
``abend`` or ``link`` step, whose number is in the COMMAREA. In the transaction for other tasks it retrieves the number
of a group of ``other`` steps. The text uses columns 8 to 72, and the options of the translator are in its CBL
statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tdqsim.errors import WrongValue
from tdqsim.probe.answers import FORMAT, MAGIC, MARKER
from tdqsim.probe.cases import GROUPS, RESET, VARIABLES, ObservedField, ProbeCase, ProbeStep, cics_cases

STEPS_IN_PROGRAM: Final = 500
"""A program is full when it has so many steps; no case is divided."""
_LAST_COLUMN: Final = 72
_LONGEST_LITERAL: Final = 36
_MARGIN: Final = " " * 11
_FRAME: Final = Path(__file__).parent / "cics_program.txt"
_GUARD: Final = """\
      * At a lower level without a COMMAREA there is nothing to do.
           EXEC CICS ASSIGN INVOKINGPROG(S1) RESP(R1) END-EXEC
           IF S1 NOT = SPACES
              GO TO GO-BACK
           END-IF"""
"""The first program is the main program only at the highest level; a case must not begin all cases again."""
_PICTURES: Final = {
    "halfword": "PIC S9(4) COMP",
    "fullword": "PIC S9(9) COMP",
    "abstime": "PIC S9(15) COMP-3",
    "task number": "PIC S9(7) COMP-3",
    "pointer": "USAGE POINTER",
}


@dataclass(frozen=True, slots=True)
class CobolSource:
    """One program.

    Attributes:
        name: its name, such as ZPPROB1.
        text: its source.
    """

    name: str
    text: str


def cobol_sources(
    prefix: str, release: str, *, wanted: Iterable[str] | None = None, transfer: bool = True
) -> list[CobolSource]:
    """The programs of the probe.

    Args:
        prefix: two characters with which all names begin.
        release: the release of CICS for the header of the answers file.
        wanted: the rules; None for all that have a case.
        transfer: whether a program continues with the next one.
    """
    cases = cics_cases()
    chosen = cases.keys() if wanted is None else set(wanted)
    parts = list(_parts([case for rule, case in cases.items() if rule in chosen and rule != RESET]))
    return [
        _program(prefix, release, number, part, last=number == len(parts) or not transfer)
        for number, part in enumerate(parts, 1)
    ]


def _parts(cases: list[ProbeCase]) -> Iterator[list[ProbeCase]]:
    """The cases of each program."""
    part: list[ProbeCase] = []
    for case in cases:
        if part and sum(len(each.steps) for each in (*part, case)) > STEPS_IN_PROGRAM:
            yield part
            part = []
        part.append(case)
    if part:
        yield part


def _program(prefix: str, release: str, number: int, cases: list[ProbeCase], *, last: bool) -> CobolSource:
    writer = _Writer(prefix, number)
    writer.begin_reset()
    reset = writer.taken()
    for case in cases:
        writer.case(case)
    name = f"{prefix}PROB{number}"
    values = {
        "NAME": name,
        "HEADER": f"{MAGIC} {FORMAT} CICS {release} {MARKER}" if number == 1 else "",
        "VARIABLES": _variables(),
        "CLEAR": _cleared(),
        "RESET": reset,
        "CASES": "\n".join(writer.lines),
        "LOWER": writer.dispatch("W-CALL", "L", writer.lower_count),
        "OTHER": writer.dispatch("W-CALL", "G", writer.group_count),
        "BELOW": "\n".join(writer.below),
        "NEXT": ""
        if last
        else f"           EXEC CICS XCTL PROGRAM('{prefix}PROB{number + 1}')\n                END-EXEC",
        "TRAILER": "           PERFORM TRAILER" if last else "",
        "FIRST": "           PERFORM HEADER" if number == 1 else "",
        "GUARD": _GUARD if number == 1 else "",
        "QUEUE": f"{prefix}OU",
        "NOTES": f"{prefix}TRIG",
        "BEGUNTRAN": f"{prefix}TF",
        "MAINTRAN": f"{prefix}RB",
        "OTHERTRAN": f"{prefix}H{number}",
    }
    text = _FRAME.read_text("utf-8")
    text = re.sub(r"^ *\{(\w+)\}$", lambda match: values[match[1]], text, flags=re.MULTILINE)
    text = re.sub(r"\{(\w+)\}", lambda match: values[match[1]], text)
    return CobolSource(name, "".join(f"{line}\n" for line in text.split("\n") if line.strip()))


def _variables() -> str:
    lines = []
    for name, (kind, size) in VARIABLES.items():
        lines.append(f"       77  {name:<20}{_PICTURES.get(kind, f'PIC X({size})')}.")
    return "\n".join(lines)


def _cleared() -> str:
    """Statements that give the variables the values that they have at the beginning of a case."""
    values = {"text": "SPACES", "bytes": "LOW-VALUES"}
    numbered = {name: kind for name, (kind, _) in VARIABLES.items() if kind != "pointer"}
    return "\n".join(f"{_MARGIN}MOVE {values.get(kind, 'ZERO')} TO {name}" for name, kind in numbered.items())


@dataclass
class _Writer:
    """Writes the statements of the cases of one program."""

    prefix: str
    number: int
    lines: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    lower_count: int = 0
    group_count: int = 0

    def begin_reset(self) -> None:
        for step in cics_cases()[RESET].steps:
            self.step(RESET, step)

    def taken(self) -> str:
        text, self.lines = "\n".join(self.lines), []
        return text

    def case(self, case: ProbeCase) -> None:
        self.lines += [f"      * {case.rule}", f"{_MARGIN}PERFORM RESET-ALL"]
        before = ""
        for step in case.steps:
            if step.kind not in GROUPS:
                self.step(case.rule, step)
            elif before != step.kind:
                self.group(case, step)
            before = step.kind

    def step(self, rule: str, step: ProbeStep) -> None:
        getattr(self, f"_{step.kind}")(rule, step)

    def _let(self, _rule: str, step: ProbeStep) -> None:
        self.lines += self.assigned(step)

    def assigned(self, step: ProbeStep) -> list[str]:
        lines: list[str] = []
        for name, written in step.values:
            value, (kind, size) = written.replace("&", self.prefix), VARIABLES[name]
            if len(value) > _LONGEST_LITERAL:
                lines += _wrapped(f"MOVE SPACES TO {name}")
                for start in range(0, len(value) - 2, _LONGEST_LITERAL):
                    piece = value[1:-1][start : start + _LONGEST_LITERAL]
                    lines += _wrapped(f"MOVE '{piece}' TO {name}({start + 1}:{len(piece)})")
                continue
            lines += _wrapped(f"MOVE {value} TO {name}")
            given = len(value[2:-1]) // 2
            if kind == "bytes" and given < size:  # MOVE pads with blanks
                lines += _wrapped(f"MOVE LOW-VALUES TO {name}({given + 1}:)")
        return lines

    def _do(self, _rule: str, step: ProbeStep) -> None:
        self.lines += self.command(step)

    def _ask(self, rule: str, step: ProbeStep) -> None:
        self.lines += [*self.head(rule, step), *self.command(step), f"{_MARGIN}PERFORM ASKED", *self.fields(step)]

    def _see(self, rule: str, step: ProbeStep) -> None:
        self.lines += [*self.head(rule, step), *self.fields(step)]

    def _link(self, rule: str, step: ProbeStep) -> None:
        self.lower_count += 1
        self.lines += self.call()
        self.below += [f"       L-{self.lower_count}.", f"{_MARGIN}PERFORM CLEAR-ALL"]
        self.below += [*self.head(rule, step), *self.command(step), f"{_MARGIN}PERFORM ASKED", *self.fields(step)]
        self.below += [f"{_MARGIN}GO TO GO-BACK."]

    def _abend(self, rule: str, step: ProbeStep) -> None:
        self.lower_count += 1
        number = self.lower_count
        self.lines += [f"{_MARGIN}MOVE SPACES TO W-ABCODE"]
        self.lines += _wrapped(f"EXEC CICS HANDLE ABEND LABEL(B-{number}) END-EXEC")
        self.lines += [*self.call(), f"{_MARGIN}GO TO C-{number}.", f"       B-{number}."]
        self.lines += _wrapped("EXEC CICS ASSIGN ABCODE(W-ABCODE) END-EXEC")
        self.lines += [f"{_MARGIN}CONTINUE.", f"       C-{number}."]
        self.lines += _wrapped("EXEC CICS HANDLE ABEND CANCEL END-EXEC")
        self.lines += [*self.head(rule, step), f"{_MARGIN}PERFORM TELL-ABCODE"]
        command = _wrapped(f"EXEC CICS {step.command.replace('&', self.prefix)} END-EXEC")
        self.below += [f"       L-{number}.", f"{_MARGIN}PERFORM CLEAR-ALL", *command, f"{_MARGIN}GO TO GO-BACK."]

    def group(self, case: ProbeCase, first: ProbeStep) -> None:
        """Start another task, and write what it does."""
        if first.kind == "begun" and self.number > 1:
            raise WrongValue(
                f"{case.rule}: cases with begun must stand in the first program, which transaction &TF runs"
            )
        self.group_count += 1
        self.lines += [f"{_MARGIN}MOVE {self.group_count} TO W-CALL"]
        start = f"START TRANSID('{self.prefix}H{self.number}') FROM(W-CALL) LENGTH(4)"
        if first.kind == "begun":
            start = f"WRITEQ TS QUEUE('{self.prefix}TRIG') FROM(W-CALL) LENGTH(W-CALL-LENGTH) RESP(R1)"
        self.lines += _wrapped(f"EXEC CICS {start} END-EXEC")
        self.below += [f"       G-{self.group_count}.", f"{_MARGIN}PERFORM CLEAR-ALL"]
        for step in case.steps[first.number - 1 :]:
            if step.kind != first.kind:
                break
            if step.values:
                self.below += self.assigned(step)
                continue
            self.below += [*self.head(case.rule, step), *self.command(step)]
            self.below += [f"{_MARGIN}PERFORM ASKED", *self.fields(step)]
        self.below += [f"{_MARGIN}GO TO GO-BACK."]

    def call(self) -> list[str]:
        """LINK to the program itself with the number of a step."""
        link = f"EXEC CICS LINK PROGRAM('{self.prefix}PROB{self.number}') COMMAREA(W-CALL) LENGTH(4) END-EXEC"
        return [f"{_MARGIN}MOVE {self.lower_count} TO W-CALL", *_wrapped(link)]

    def head(self, rule: str, step: ProbeStep) -> list[str]:
        return [*_wrapped(f"MOVE '{rule}' TO W-RULE"), *_wrapped(f"MOVE '{step.number}' TO W-STEP")]

    def command(self, step: ProbeStep) -> list[str]:
        return _wrapped(f"EXEC CICS {step.command.replace('&', self.prefix)} RESP(R1) RESP2(R2) END-EXEC")

    def fields(self, step: ProbeStep) -> list[str]:
        return [line for each in step.fields for line in _told(each)]

    def dispatch(self, item: str, letter: str, count: int) -> str:
        if not count:
            return ""
        lines = [f"{_MARGIN}EVALUATE {item}"]
        for number in range(1, count + 1):
            lines += [f"{_MARGIN}   WHEN {number} GO TO {letter}-{number}"]
        return "\n".join([*lines, f"{_MARGIN}   WHEN OTHER CONTINUE", f"{_MARGIN}END-EVALUATE"])


def _told(each: ObservedField) -> list[str]:
    """Statements that write the value of a field."""
    name = f"W-{each.name}" if each.name.startswith("EIB") else each.name
    lines = _wrapped(f"MOVE '{each.name}' TO W-FIELD")
    if not each.size:
        return [*lines, f"{_MARGIN}MOVE {name} TO W-NUMBER", f"{_MARGIN}PERFORM TELL-NUMBER"]
    if each.is_hex:
        lines += [f"{_MARGIN}MOVE {name}(1:{each.size}) TO W-BYTES", f"{_MARGIN}MOVE {each.size} TO W-SIZE"]
        return [*lines, f"{_MARGIN}PERFORM TELL-HEX"]
    return [*lines, f"{_MARGIN}MOVE {name}(1:{each.size}) TO W-VALUE", f"{_MARGIN}PERFORM TELL-TEXT"]


def _wrapped(text: str) -> list[str]:
    """A statement in lines that end before column 73, broken at blanks outside quotes."""
    words = re.findall(r"(?:'[^']*'|[^\s'])+", text)
    lines, line = [], _MARGIN + words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) > _LAST_COLUMN:
            lines.append(line)
            line = f"{_MARGIN}     {word}"
        else:
            line += f" {word}"
    return [*lines, line]
