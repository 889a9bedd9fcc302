"""The CL programs of the probe for IBM i, generated from the cases that one job can run.

The main program, ``ibmi_main.txt``, is straight-line code: a block for each case, and subroutines that run a command,
collect messages and write a record. Its answers are the records of a physical file. It uses ILE CL of release 7.1 and
nothing else, except RUNSQL, with which a CL program can write to a file.

Hexadecimal text and decimal numbers without leading zeros are made in CL, because CL has no function for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tdqsim.probe.ibmi_arguments import argument
from tdqsim.probe.ibmi_cases import FIELDS, IbmiCase, IbmiStep, cases, filled, probe_text

_WIDTH = 71
_STATEMENT, _KEYWORDS = 13, 24
_MOST_PARAMETERS = 14
_STORAGE = 256


def cl_cases() -> Iterator[IbmiCase]:
    """The cases that the CL program can run: one job, and no SQL services."""
    for case in cases():
        if not case.alone and not any(step.kind in ("journal", "entries") for step in case.steps):
            yield case


def cl_program(values: Mapping[str, str]) -> str:
    """The source of the main program, for parameters of the cases."""
    blocks = [_Block(number, case, values) for number, case in enumerate(cl_cases(), 1)]
    kept = max(len(block.variables) for block in blocks)
    variables = [f"DCL VAR(&P{number}) TYPE(*CHAR) LEN({_STORAGE})" for number in range(1, _MOST_PARAMETERS + 1)]
    variables += [f"DCL VAR(&R{number}) TYPE(*CHAR) LEN(80)" for number in range(1, kept + 1)]
    made = {"*VARIABLES": variables, "*CASES": [line for block in blocks for line in block.lines()]}
    frame = filled(probe_text("main"), values).splitlines()
    return source([statement for line in frame for statement in made.get(line, [line])])


def source(lines: Sequence[str]) -> str:
    """CL source: statements in the columns of a source member, continued with + where they are too long."""
    return "\n".join(written for line in lines for written in _written(line)) + "\n"


def _written(line: str) -> Iterator[str]:
    if line.startswith("/*"):
        yield line[:_WIDTH]
        return
    label, text = "", line
    if ": " in line[:12]:
        label, _, text = line.partition(": ")
        label += ":"
    margin = label.ljust(_STATEMENT)
    while len(margin) + len(text) > _WIDTH:
        at = _break(text, _WIDTH - len(margin) - 1)
        yield f"{margin}{text[:at]}+"
        margin, text = " " * _KEYWORDS, text[at:]
    yield margin + text


def _break(text: str, most: int) -> int:
    """Where to break a statement: after a blank, if possible, and never before one, because + skips blanks."""
    for at in range(most, most // 2, -1):
        if text[at - 1] == " " and text[at] != " ":
            return at
    return next(at for at in range(most, 0, -1) if text[at] != " ")


class _Block:
    """The statements of one case."""

    def __init__(self, number: int, case: IbmiCase, values: Mapping[str, str]) -> None:
        self.case, self.values, self.end = case, values, f"E{number:03d}"
        hidden = {step.label for step in case.steps if step.label.startswith(".")}
        self.variables = {label: f"&R{at}" for at, label in enumerate(sorted(hidden), 1)}

    def lines(self) -> Iterator[str]:
        """The statements."""
        yield f"/* {self.case.rule} */"
        yield f"CHGVAR VAR(&RULE) VALUE('{self.case.rule}')"
        missing = next((step for step in self.case.steps if step.kind == "given" and not self._given(step)), None)
        if missing is not None:
            yield from self._left(" ".join(missing.words[2:]))
            return
        for step in self.case.steps:
            yield from self._step(step)
        yield f"{self.end}: CALLSUBR SUBR(MESSAGES)"
        for step in self.case.last:
            yield from self._command(step)

    def _given(self, step: IbmiStep) -> bool:
        return bool(self.values.get(step.words[1]))

    def _left(self, reason: str) -> Iterator[str]:
        yield f"CHGVAR VAR(&VALUE) VALUE('{reason}')"
        yield "CALLSUBR SUBR(LEFTOUT)"

    def _step(self, step: IbmiStep) -> Iterator[str]:
        kind = step.kind
        if kind == "given":
            return
        if kind == "need":
            label, value, *reason = step.words[1:]
            yield f"IF COND({self.variables[label]} *NE '{value}') THEN(DO)"
            yield from self._left(" ".join(reason))
            yield f"GOTO CMDLBL({self.end})"
            yield "ENDDO"
            return
        if kind == "cmd":
            yield from self._command(step)
        elif kind in ("call", "fill"):
            yield from self._call(step)
        else:
            yield from self._look(step)
        yield from self._observed(step)

    def _observed(self, step: IbmiStep) -> Iterator[str]:
        """Keep, write or check the result of a step."""
        if step.label.startswith("."):
            result = "&VALUE" if step.kind in FIELDS else "&RESULT"
            yield f"CHGVAR VAR({self.variables[step.label]}) VALUE({result})"
        elif step.label:
            yield f"CHGVAR VAR(&STEP) VALUE('{step.label.upper()}')"
            if step.kind in FIELDS:
                yield f"CHGVAR VAR(&FIELD) VALUE('{FIELDS[step.kind]}')"
                yield "CALLSUBR SUBR(RECORD)"
            if step.kind not in FIELDS or step.kind == "code":
                yield "CALLSUBR SUBR(IDS)"
        elif step.kind in ("cmd", "call"):
            yield "IF COND(&RESULT *NE 'ok') THEN(DO)"
            yield f"CHGVAR VAR(&VALUE) VALUE('{step.words[1]} ended with ' *CAT &RESULT)"
            yield "CALLSUBR SUBR(LEFTOUT)"
            yield f"GOTO CMDLBL({self.end})"
            yield "ENDDO"

    def _command(self, step: IbmiStep) -> Iterator[str]:
        text = filled(step.text, self.values).replace("'", "''")
        yield f"CHGVAR VAR(&CMD) VALUE('{text}')"
        yield "CALLSUBR SUBR(COMMAND)"

    def _call(self, step: IbmiStep) -> Iterator[str]:
        words = [filled(word, self.values) for word in step.words]
        times = 0
        if step.kind == "fill":
            times, words = int(words[1]), words[2:]
        passed = []
        for number, word in enumerate(words[2:], 1):
            one = argument(word)
            if one.output:
                yield from _stored(number, one.data or b"")
            passed.append(f"&P{number}" if one.output else _literal(word, one.data or b""))
        program = words[1] if "/" in words[1] else f"QSYS/{words[1]}"
        yield "CHGVAR VAR(&FAILED) VALUE('0')"
        if times:
            yield "CHGVAR VAR(&COUNT) VALUE(1)"
            yield f"DOWHILE COND((&COUNT *LE {times}) *AND (*NOT &FAILED))"
        yield f"CALL PGM({program}) PARM({' '.join(passed)})"
        yield "MONMSG MSGID(CPF0000 MCH0000) EXEC(CHGVAR VAR(&FAILED) VALUE('1'))"
        if times:
            yield "CHGVAR VAR(&COUNT) VALUE(&COUNT + 1)"
            yield "ENDDO"
        yield "CALLSUBR SUBR(MESSAGES)"
        yield "CHGVAR VAR(&LAST) VALUE(&RESULT)"

    def _look(self, step: IbmiStep) -> Iterator[str]:
        words = step.words
        if words[0] == "same":
            yield "CHGVAR VAR(&VALUE) VALUE('no')"
            one, other = (self.variables[label] for label in words[1:])
            yield f"IF COND({one} *EQ {other}) THEN(CHGVAR VAR(&VALUE) VALUE('yes'))"
            return
        storage = f"&P{words[1]}"
        if words[0] == "code":
            yield from _code(storage)
            return
        at = int(words[2]) + 1
        if words[0] == "number":
            yield f"CHGVAR VAR(&NUMBER) VALUE(%BIN({storage} {at} 4))"
            yield "CALLSUBR SUBR(DECIMAL)"
        elif words[0] == "text":
            yield f"CHGVAR VAR(&RESULT) VALUE(%SST({storage} {at} {words[3]}))"
        else:
            yield f"CHGVAR VAR(&DATA) VALUE(%SST({storage} {at} {words[3]}))"
            yield f"CHGVAR VAR(&LENGTH) VALUE({words[3]})"
            yield "CALLSUBR SUBR(HEX)"


def _code(storage: str) -> Iterator[str]:
    yield "CHGVAR VAR(&RESULT) VALUE(&LAST)"
    yield "CHGVAR VAR(&VALUE) VALUE('escape')"
    yield "IF COND(&LAST *EQ 'ok') THEN(DO)"
    yield f"CHGVAR VAR(&NUMBER) VALUE(%BIN({storage} 5 4))"
    yield "CHGVAR VAR(&VALUE) VALUE('none')"
    yield "CHGVAR VAR(&RESULT) VALUE(' ')"
    yield "IF COND(&NUMBER *NE 0) THEN(DO)"
    yield "CHGVAR VAR(&VALUE) VALUE('code')"
    yield f"CHGVAR VAR(&RESULT) VALUE(%SST({storage} 9 7))"
    yield "ENDDO"
    yield "ENDDO"


def _stored(number: int, data: bytes) -> Iterator[str]:
    """Set the storage of a parameter: its bytes, then zeros."""
    yield f"CHGVAR VAR(&P{number}) VALUE(&ZEROS)"
    if any(data):
        yield f"CHGVAR VAR(%SST(&P{number} 1 {len(data)})) VALUE(X'{data.hex().upper()}')"


def _literal(word: str, data: bytes) -> str:
    kind, _, value = word.partition(":")
    if kind[0] in "ct":
        return f"'{value}'"  # CL pads it with blanks to 32 characters
    if kind == "q":
        name, _, library = value.partition("/")
        return f"'{name:<10}{library:<10}'"
    return f"X'{data.hex().upper()}'"
