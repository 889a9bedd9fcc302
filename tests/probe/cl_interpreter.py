"""An interpreter for the CL that the probe's main program consists of; it runs on a simulated job.

The simulator runs CL commands, not CL programs. This interpreter knows the statements of a generated program only, and
refuses all others. Strings are text here, and bytes where a program is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tdqsim.ibmi import EscapeMessage, Job
from tdqsim.ibmi.layouts import pack_decimal

LATIN = "cp037"
TOKEN = re.compile(r"X'[0-9A-F]*'|'(?:[^']|'')*'|%[A-Z]+|&[A-Z0-9]+|\*[A-Z]+|[0-9]+|[-+*/()]|[A-Z0-9$/#@.]+")
STATEMENT = re.compile(r"(?:(?P<label>[A-Z0-9]+): +)?(?P<name>[A-Z]+) *(?P<rest>.*)")


def statements(source: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Label, name and keywords of each statement."""
    lines = [line for line in source.splitlines() if not line.startswith("/*")]
    assert all(len(line) <= 80 for line in lines)
    text = re.sub(r"\+\n *", "", "\n".join(lines))
    for line in text.splitlines():
        found = STATEMENT.fullmatch(line.strip())
        assert found, line
        yield found["label"] or "", found["name"], dict(keywords(found["rest"]))


def keywords(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        name = re.compile(r" *([A-Z]+)\(").match(text, at)
        assert name, text[at:]
        start, depth, quoted = name.end(), 1, False
        at = start
        while depth:
            quoted ^= text[at] == "'"
            depth += 0 if quoted else {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield name[1], text[start : at - 1]


class Variable:
    """A variable: text of a fixed length, or a number."""

    def __init__(self, kind: str, length: str, value: str) -> None:
        self.kind, self.sizes = kind, [int(each) for each in length.split()] or [1]
        self.value: Any = 0 if kind == "*DEC" else " " * self.sizes[0]
        if value:
            self.set(Expression(value, {}).result())

    def set(self, value: Any) -> None:
        if self.kind == "*DEC":
            self.value = int(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            self.value = str(value).rjust(self.sizes[0], "0")
        else:
            self.value = value[: self.sizes[0]].ljust(self.sizes[0])

    def storage(self) -> bytearray:
        if self.kind == "*DEC":
            return bytearray(pack_decimal(self.value * 10 ** self.sizes[1], self.sizes[0]))
        return bytearray(self.value.encode(LATIN))


class Expression:
    """Evaluation of one expression, from left to right; * and / before + and -."""

    def __init__(self, text: str, variables: dict[str, Variable]) -> None:
        self.tokens, self.variables = TOKEN.findall(text), variables

    def result(self) -> Any:
        value = self.logical()
        assert not self.tokens, self.tokens
        return value

    def taken(self, *allowed: str) -> str:
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in allowed else ""

    def logical(self) -> Any:
        value = self.compared()
        while self.taken("*AND"):
            other = self.compared()
            value = bool(value) and bool(other)
        return value

    def compared(self) -> Any:
        if self.taken("*NOT"):
            return self.joined() == "0"
        value = self.joined()
        if operator := self.taken("*EQ", "*NE", "*GT", "*LE"):
            other = self.joined()
            if isinstance(value, str):
                value, other = value.rstrip(), other.rstrip()
            value = {"*EQ": value == other, "*NE": value != other, "*GT": value > other, "*LE": value <= other}[
                operator
            ]
        return value

    def joined(self) -> Any:
        value = self.sum()
        while operator := self.taken("*CAT", "*TCAT", "*BCAT"):
            left = value if operator == "*CAT" else value.rstrip()
            value = left + (" " if operator == "*BCAT" else "") + self.sum()
        return value

    def sum(self) -> Any:
        value = self.product()
        while operator := self.taken("+", "-"):
            other = self.product()
            value = value + other if operator == "+" else value - other
        return value

    def product(self) -> Any:
        value = self.one()
        while operator := self.taken("*", "/"):
            other = self.one()
            value = value * other if operator == "*" else value // other
        return value

    def one(self) -> Any:
        token = self.tokens.pop(0)
        if token == "(":
            value = self.logical()
            assert self.taken(")")
            return value
        if token.startswith("%"):
            assert self.taken("(")
            text, at, length = self.variables[self.tokens.pop(0)].value, self.argument(), self.argument()
            assert self.taken(")")
            assert 1 <= at <= at + length - 1 <= len(text)
            part = text[at - 1 : at - 1 + length]
            return part if token == "%SST" else int.from_bytes(part.encode(LATIN), "big", signed=True)
        return constant(token) if not token.startswith("&") else self.variables[token].value

    def argument(self) -> int:
        """A position or a length: CL allows a number or a variable, no expression."""
        token = self.tokens.pop(0)
        return int(token) if token.isdecimal() else self.variables[token].value


def constant(token: str) -> Any:
    if token.startswith("X'"):
        return bytes.fromhex(token[2:-1]).decode(LATIN)
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    assert token.isdecimal(), token
    return int(token)


class Program:
    """One run of a program."""

    def __init__(self, source: str, job: Job, sql: Callable[[str], None]) -> None:
        self.lines, self.job, self.sql = list(statements(source)), job, sql
        self.labels = {label: at for at, (label, _, _) in enumerate(self.lines) if label}
        self.routines = {words["SUBR"]: at for at, (_, name, words) in enumerate(self.lines) if name == "SUBR"}
        self.variables: dict[str, Variable] = {}
        self.diagnostics: list[str] = []
        self.exceptions: list[str] = []

    def run(self, at: int = 0) -> None:
        """Run from a statement to the end of the program or subroutine."""
        while True:
            _, name, words = self.lines[at]
            if name in ("RETURN", "ENDSUBR", "ENDPGM"):
                return
            if name == "GOTO":
                at = self.labels[words["CMDLBL"]]
                continue
            if name in ("IF", "DOWHILE"):
                at = self.branch(at, name, words)
                continue
            if name == "ENDDO":
                begin = self.begin(at)
                at = begin if self.lines[begin][1] == "DOWHILE" else at + 1
                continue
            self.execute(name, words, self.lines[at + 1])
            at += 1

    def branch(self, at: int, name: str, words: dict[str, str]) -> int:
        holds = Expression(words["COND"], self.variables).result() in (True, "1")
        if name == "IF" and words["THEN"] != "DO":
            if holds:
                ((_, then, more),) = statements(words["THEN"])
                self.execute(then, more, self.lines[at + 1])
            return at + 1
        return at + 1 if holds else self.matching(at) + 1

    def opens(self, at: int) -> bool:
        _, name, words = self.lines[at]
        return name == "DOWHILE" or (name == "IF" and words["THEN"] == "DO")

    def matching(self, at: int) -> int:
        depth = 0
        while True:
            depth += self.opens(at) - (self.lines[at][1] == "ENDDO")
            if not depth:
                return at
            at += 1

    def begin(self, at: int) -> int:
        return next(one for one in range(at, -1, -1) if self.opens(one) and self.matching(one) == at)

    def execute(self, name: str, words: dict[str, str], after: tuple[str, str, dict[str, str]]) -> None:
        act = getattr(self, f"do_{name.lower()}", None)
        if act is None:
            text = " ".join(f"{key}({value})" for key, value in words.items())
            self.guarded(lambda: self.job.command(f"{name} {text}"), after)
        elif name == "CALL":
            self.guarded(lambda: self.do_call(words), after)
        else:
            act(words)

    def guarded(self, call: Callable[[], object], after: tuple[str, str, dict[str, str]]) -> None:
        """Run something that may end with an escape message, which the next statement must monitor."""
        try:
            call()
        except EscapeMessage as error:
            if after[1] != "MONMSG":
                raise
            self.diagnostics += [one.message_id for one in error.diagnostics if one.message_id]
            self.exceptions.append(error.message_id)
            if "EXEC" in after[2]:
                ((_, name, words),) = statements(after[2]["EXEC"])
                self.execute(name, words, after)

    def do_pgm(self, words: dict[str, str]) -> None: ...

    def do_monmsg(self, words: dict[str, str]) -> None: ...

    def do_dltf(self, words: dict[str, str]) -> None: ...

    def do_crtpf(self, words: dict[str, str]) -> None:
        assert words["RCDLEN"] == "255"

    def do_dcl(self, words: dict[str, str]) -> None:
        self.variables[words["VAR"]] = Variable(words["TYPE"], words.get("LEN", ""), words.get("VALUE", ""))

    def do_chgvar(self, words: dict[str, str]) -> None:
        value = Expression(words["VALUE"], self.variables).result()
        part = re.fullmatch(r"%SST\((&\w+) (\S+) (\d+)\)", words["VAR"])
        if part is None:
            self.variables[words["VAR"]].set(value)
            return
        target, length = self.variables[part[1]], int(part[3])
        at = int(part[2]) if part[2].isdecimal() else self.variables[part[2]].value
        target.set(target.value[: at - 1] + value[:length].ljust(length) + target.value[at - 1 + length :])

    def do_callsubr(self, words: dict[str, str]) -> None:
        self.run(self.routines[words["SUBR"]] + 1)

    def do_call(self, words: dict[str, str]) -> None:
        library, _, name = words["PGM"].rpartition("/")
        passed: list[tuple[str, bytearray]] = []
        for token in re.findall(r"X'[0-9A-F]*'|'(?:[^']|'')*'|&[A-Z0-9]+", words["PARM"]):
            if token.startswith("&"):
                passed.append((token, self.variables[token].storage()))
            else:
                passed.append(("", bytearray(constant(token).encode(LATIN).ljust(32, b"\x40"))))
        try:
            self.job.call_program(name, library, [storage for _, storage in passed])
        finally:
            for token, storage in passed:
                if token and self.variables[token].kind == "*CHAR":
                    self.variables[token].value = storage.decode(LATIN)

    def do_rcvmsg(self, words: dict[str, str]) -> None:
        kept = self.diagnostics if words["MSGTYPE"] == "*DIAG" else self.exceptions
        self.variables[words["MSGID"]].set(kept.pop(0) if kept else "")

    def do_rmvmsg(self, _words: dict[str, str]) -> None:
        self.diagnostics.clear()
        self.exceptions.clear()

    def do_runsql(self, words: dict[str, str]) -> None:
        self.sql(Expression(words["SQL"], self.variables).result().rstrip())


def run_cl(source: str, job: Job, sql: Callable[[str], None]) -> None:
    """Run a program; ``sql`` gets the statements of RUNSQL."""
    Program(source, job, sql).run()
