"""Breakpoints of a debugger: by line, by paragraph or program, by command, and by abend.

A breakpoint on a line without a statement moves to the next statement of the file. Which lines have statements is known
when a program is loaded; until then a breakpoint waits, unverified. A *function* breakpoint is a text:

=============================  ==================================================================
``PAY-CUSTOMER``               each entry of a paragraph or section of that name
``PAYPROG``                    each start of a program of that name
``PAYPROG.PAY-CUSTOMER``       a paragraph or section of one program
``EXEC CICS WRITEQ TD``        each command with this verb and, in any order, these options
``EXEC CICS LINK PROGRAM('B')``  the same, where the option has this argument
=============================  ==================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from tdqsim.cobol.compiler import Module
from tdqsim.cobol.debug_conditions import StopCondition
from tdqsim.cobol.debug_frames import absolute

_OPTION: Final = re.compile(r"[^\s()]+(?:\s*\((?:[^()]|\([^()]*\))*\))?")
_COMMAND: Final = ("EXEC ", "EXECUTE ")


@dataclass(slots=True, eq=False)
class Breakpoint:
    """A breakpoint of a client.

    Attributes:
        number: its number, for the client.
        condition: which arrivals stop.
        problem: why it cannot stop; empty if it can.
    """

    number: int
    condition: StopCondition
    problem: str


@dataclass(slots=True, eq=False)
class LineBreakpoint(Breakpoint):
    """A breakpoint on a line.

    Attributes:
        file: the absolute path.
        wanted: the line that the client asked for.
        lines: the lines with statements at which programs stop.
    """

    reason = "breakpoint"
    file: str
    wanted: int
    lines: set[int] = field(default_factory=set)

    @property
    def verified(self) -> bool:
        """Whether a loaded program has such a statement."""
        return bool(self.lines)


@dataclass(slots=True, eq=False)
class FunctionBreakpoint(Breakpoint):
    """A breakpoint on a paragraph, a section, a program or a command.

    Attributes:
        text: the text of the client, in upper case.
        verified: whether a loaded program has such a paragraph or name; a command always counts.
    """

    reason = "function breakpoint"
    text: str
    verified: bool = False

    @property
    def options(self) -> list[str]:
        """The verb and the options of a command; empty for a paragraph or program."""
        return _options(self.text) if self.text.startswith(_COMMAND) else []


AnyBreakpoint = LineBreakpoint | FunctionBreakpoint
"""A breakpoint with a statement or a command at which it stops."""


def _options(command: str) -> list[str]:
    """The verb and the options of ``EXEC CICS ...``, each without blanks outside its argument's quotes."""
    found = _OPTION.findall(command.upper())
    words = [" ".join(each.replace("(", " ( ").split()).replace(" ( ", "(") for each in found]
    return [word for word in words[1:] if word not in ("CICS", "END-EXEC")]


class Breakpoints:
    """All breakpoints of a client.

    Attributes:
        abends: patterns of codes of abends that no HANDLE ABEND of the program handles.
        handled: patterns of codes of abends that a HANDLE ABEND handles.
    """

    def __init__(self) -> None:
        self.abends: tuple[str, ...] = ()
        self.handled: tuple[str, ...] = ()
        self._lines: dict[str, list[LineBreakpoint]] = {}
        self._functions: list[FunctionBreakpoint] = []
        self._commands: list[FunctionBreakpoint] = []
        self._places: Mapping[str, list[AnyBreakpoint]] = {}
        self._modules: dict[Module, None] = {}
        self._repeated: dict[str, tuple[str, ...]] = {}

    def set_lines(self, file: str, lines: Iterable[LineBreakpoint]) -> None:
        """Replace the breakpoints of a file."""
        self._lines[absolute(file)] = list(lines)
        self._resolve()

    def set_functions(self, functions: Iterable[FunctionBreakpoint]) -> None:
        """Replace the breakpoints on paragraphs, programs and commands."""
        self._functions = list(functions)
        self._commands = [each for each in self._functions if each.options and not each.problem]
        self._resolve()

    def set_abends(self, abends: Sequence[str], handled: Sequence[str]) -> None:
        """Replace the patterns of abend codes."""
        self.abends, self.handled = tuple(abends), tuple(handled)

    def meet(self, module: Module) -> list[AnyBreakpoint] | None:
        """Take in a program that runs; returns the breakpoints that it verifies, None if it was known."""
        if module in self._modules:
            return None
        before = self._verified()
        self._modules[module] = None
        self._repeated.update((_place(module, mark), verbs) for mark, verbs in module.symbols.repeated)
        self._resolve()
        return [each for each in self._verified() if each not in before]

    def place_on_line(self, place: str, what: str, before: int) -> int:
        """The place of a statement among those of its line, from 1; 0 on a line where no verb occurs twice.

        Args:
            place: the file and line.
            what: the verb.
            before: the place of the statement that ran before it on the line; 0 if there is none. The statement is the
                next one with its verb, or the first one where the line has been entered again.
        """
        verbs = self._repeated.get(place, ())
        if what not in verbs:
            return 0
        return verbs.index(what, before if what in verbs[before:] else 0) + 1

    def _verified(self) -> list[AnyBreakpoint]:
        every: list[AnyBreakpoint] = [*self._functions]
        for lines in self._lines.values():
            every += lines
        return [each for each in every if each.verified and not each.problem]

    def _resolve(self) -> None:
        places: dict[str, list[AnyBreakpoint]] = {}
        for module in list(self._modules):
            for source in filter(None, module.symbols.sources):
                for each in self._lines.get(absolute(source), ()):
                    line = 0 if each.problem else _statement_line(module, source, each.wanted)
                    if line:
                        each.lines.add(line)
                        places.setdefault(f"{source}:{line}", []).append(each)
        for function in self._functions:
            found = {place for module in self._modules for place in _entries(module, function.text)}
            function.verified = bool(found or function.options)
            for place in () if function.problem else found:
                places.setdefault(place, []).append(function)
        self._places = places

    def at_place(self, place: str) -> list[AnyBreakpoint]:
        """The breakpoints on a statement."""
        return self._places.get(place, [])

    def at_command(self, command: str) -> list[FunctionBreakpoint]:
        """The breakpoints on a command, as the program has it."""
        if not self._commands:
            return []
        given = _options(command)
        names = {each.partition("(")[0] for each in given}
        return [
            each
            for each in self._commands
            if given[:1] == each.options[:1]
            and all(option in (given if "(" in option else names) for option in each.options[1:])
        ]

    def at_abend(self, code: str, *, handled: bool) -> bool:
        """Whether to stop at an abend."""
        return any(fnmatchcase(code, pattern) for pattern in (self.handled if handled else self.abends))


def _place(module: Module, mark: int) -> str:
    """The user's file and line of a mark."""
    file, line = module.symbols.place(mark)
    return f"{file}:{line}"


def _statement_line(module: Module, source: str, wanted: int) -> int:
    """The first line from a wanted one on that has a statement in a file; 0 if there is none."""
    places = map(module.symbols.place, module.symbols.statements)
    return min((line for file, line in places if file == source and line >= wanted), default=0)


def _entries(module: Module, text: str) -> list[str]:
    """The places of the first statements of paragraphs with a name, or of a program's first statement."""
    program, _, name = text.rpartition(".")
    if program and program != module.program:
        return []
    marks = [each.first for each in module.symbols.paragraphs if each.name == name and each.first]
    if not program and name == module.program and module.symbols.statements:
        first = next((each.first for each in module.symbols.paragraphs if each.first), min(module.symbols.statements))
        marks.append(min(first, _first_in_main_file(module)))
    return [_place(module, mark) for mark in marks]


def _first_in_main_file(module: Module) -> int:
    own = [mark for mark in module.symbols.statements if module.symbols.place(mark)[0] == str(module.source)]
    return min(own or module.symbols.statements)
