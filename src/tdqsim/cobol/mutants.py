"""Mutants of COBOL programs: small alterations, each like a mistake that programmers make.

They are found by the EXEC CICS commands in the source. Comments and literals are replaced by blanks before the search
for commands, so that offsets are those of the file. Inserted text is on separate lines in area B, so that no text of a
program in fixed format moves beyond column 72.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

KINDS: Final = {
    "drop syncpoint": "a SYNCPOINT is left out",
    "swap commands": "two commands change places",
    "wrong queue": "a command names another queue",
    "RESP check": "a response or condition is not checked",
    "wrong length": "a record is one byte short",
    "lost trigger": "a program stops before QZERO",
}
"""Each kind of mutant with a description."""
_NOWHERE: Final = "NOQ"
"""The replacement for a queue's name if the file names no other suitable queue."""
_COMMAND: Final = re.compile(r"\bEXEC\s+CICS\s+(.*?)\s*\bEND-EXEC\b", re.IGNORECASE | re.DOTALL)
_OPTION: Final = r"\b{0}\s*\(\s*([^()]*?)\s*\)"
_LITERAL: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_COMMENT: Final = re.compile(r"^.{6}[*/].*$|\*>.*$", re.MULTILINE)
_PARAGRAPH: Final = re.compile(r"^(?:.{6} | {0,3})([A-Z0-9][A-Z0-9-]*)\s*\.", re.MULTILINE | re.IGNORECASE)
_GO_TO: Final = re.compile(r"\bGO\s+(?:TO\s+)?([A-Z0-9-]+)", re.IGNORECASE)
_INLINE: Final = re.compile(
    r"\bPERFORM\s+(?:UNTIL|VARYING|WITH|TEST|FOREVER|[\w-]+\s+TIMES)\b|\bEND-PERFORM\b", re.IGNORECASE
)
_AREA_B: Final = " " * 11
_RIGHT: Final = 72


class Edit(NamedTuple):
    """A replacement of a part of the text.

    Attributes:
        start, end: the old text, as offsets in characters.
        text: the new text.
    """

    start: int
    end: int
    text: str


class Mutant(NamedTuple):
    """One alteration of a source file.

    Attributes:
        path: the file.
        line: the number of the line, from 1.
        kind: one of :data:`KINDS`.
        command: the altered command, such as ``WRITEQ TD``.
        change: a description of the alteration.
        edits: the alterations of the text; they do not overlap.
    """

    path: Path
    line: int
    kind: str
    command: str
    change: str
    edits: tuple[Edit, ...]


def altered(source: str, edits: Iterable[Edit]) -> str:
    """The text of a file after the edits."""
    for edit in sorted(edits, reverse=True):
        source = source[: edit.start] + edit.text + source[edit.end :]
    return source


def _other_queue(queue: str, queues: Iterable[str], opposite: Iterable[str]) -> str:
    """Another queue for a command.

    Args:
        queue: the queue that it names.
        queues: all queues that the file names.
        opposite: the queues that the file reads, for a command that writes, and vice versa. These are avoided, because
            a program that reads what it writes may never end.
    """
    others = sorted({*queues} - {queue, *opposite})
    return next((name for name in others if name > queue), (others or [_NOWHERE])[0])


class _Command(NamedTuple):
    """One EXEC CICS command: its position, its words, and its name."""

    start: int
    end: int
    text: str
    name: str


def cobol_mutants(path: Path, source: str) -> Iterator[Mutant]:
    """Every mutant of a program or copybook, in the order of its lines."""
    yield from sorted(_Program(path, source).mutants(), key=lambda mutant: (mutant.line, mutant.kind))


class _Program:
    """The source of a program and the commands in it."""

    def __init__(self, path: Path, source: str) -> None:
        self._path, self._source = path, source
        self._code = _blanked(_COMMENT, source)
        self._words = _blanked(_LITERAL, self._code)  # words inside literals are not words of the language
        matches = _COMMAND.finditer(self._words)
        self._commands = [
            _Command(each.start(), each.end(), self._code[each.start() : each.end()], _name(each[1]))
            for each in matches
        ]

    def mutants(self) -> Iterator[Mutant]:
        for each in self._commands:
            yield from self._drop_syncpoint(each)
            yield from self.__other_queue(each)
            yield from self._unchecked(each)
            yield from self._wrong_length(each)
            yield from self._lost_trigger(each)
        for one, other in pairwise(self._commands):
            yield from self._swap(one, other)

    def _drop_syncpoint(self, command: _Command) -> Iterator[Mutant]:
        if command.name == "SYNCPOINT":
            text = "CONTINUE" + "\n" * command.text.count("\n")
            yield self._mutant(command, "drop syncpoint", "left out", Edit(command.start, command.end, text))

    def _swap(self, one: _Command, other: _Command) -> Iterator[Mutant]:
        """Commands with nothing between them, not even a check of the first one's response."""
        if self._words[one.end : other.start].strip(" \r\n.") or one.text.split() == other.text.split():
            return
        if {one.name, other.name} & {"RETURN", "XCTL", "ABEND"}:
            return
        if one.name == other.name == "WRITEQ TD" and self._queue(one) != self._queue(other):
            return  # the order does not matter within one unit of work
        change = f"{one.name} and {other.name} change places"
        edits = (Edit(one.start, one.end, other.text), Edit(other.start, other.end, one.text))
        yield self._mutant(one, "swap commands", change, *edits)

    def __other_queue(self, command: _Command) -> Iterator[Mutant]:
        queue = self._queue(command)
        place = self._option(command, "(?:QUEUE|QNAME)")
        if not queue or place is None:
            return
        named = [(each.name.startswith("READQ"), name) for each in self._commands if (name := self._queue(each))]
        reads = command.name.startswith("READQ")
        other = _other_queue(queue, {name for _, name in named}, {name for way, name in named if way != reads})
        edit = Edit(*place, f"'{other}'")
        line = self._source.rfind("\n", 0, edit.start) + 1
        if edit.end - line + len(edit.text) - (edit.end - edit.start) <= _RIGHT:
            yield self._mutant(command, "wrong queue", f"{queue!r} becomes {other!r}", edit)

    def _unchecked(self, command: _Command) -> Iterator[Mutant]:
        """The response is treated as NORMAL, except QZERO for a reader, which would never end without it."""
        place = self._option(command, "RESP")
        if place is None:
            return
        field = self._code[slice(*place)]
        reset = [f"MOVE 0 TO {field}"]
        if command.name.startswith("READQ"):
            reset = [f"IF {field} NOT = DFHRESP(QZERO)", f"   {reset[0]}", "END-IF"]
        text = "".join(f"\n{_AREA_B}{line}" for line in reset)
        yield self._mutant(command, "RESP check", f"{field} counts as NORMAL", Edit(command.end, command.end, text))

    def _wrong_length(self, command: _Command) -> Iterator[Mutant]:
        place = self._option(command, "LENGTH") or self._option(command, "FLENGTH")
        if place is None:
            return
        length = self._code[slice(*place)]
        if length.isdigit() and int(length) > 1:
            yield self._mutant(
                command, "wrong length", f"LENGTH({length}) is one less", Edit(*place, str(int(length) - 1))
            )
        elif re.fullmatch(r"[A-Z0-9-]*[A-Z][A-Z0-9-]*", length, re.IGNORECASE):
            text = f"SUBTRACT 1 FROM {length}\n{_AREA_B}"
            change = f"LENGTH({length}) is one less"
            yield self._mutant(command, "wrong length", change, Edit(command.start, command.start, text))

    def _lost_trigger(self, command: _Command) -> Iterator[Mutant]:
        """The loop around a READQ TD ends after one record: an inline PERFORM, or a GO TO back to its paragraph."""
        if command.name != "READQ TD":
            return
        change = "the loop ends after one record"
        opened: list[int] = []
        for each in _INLINE.finditer(self._words):
            if not each[0].upper().startswith("END"):
                opened.append(each.start())
            elif opened and opened.pop() < command.start < each.start():
                text = f"EXIT PERFORM\n{_AREA_B}"
                yield self._mutant(command, "lost trigger", change, Edit(each.start(), each.start(), text))
                return
        labels = [each[1].upper() for each in _PARAGRAPH.finditer(self._words, 0, command.start)]
        for jump in _GO_TO.finditer(self._words, command.end):
            if labels and jump[1].upper() == labels[-1]:
                edit = Edit(jump.start(), jump.end(), "EXEC CICS RETURN END-EXEC")
                yield self._mutant(command, "lost trigger", change, edit)
                return

    # -- helpers --------------------------------------------------------------------------------------------------

    def _option(self, command: _Command, word: str) -> tuple[int, int] | None:
        """The position of the argument of an option."""
        match = re.compile(_OPTION.format(word), re.IGNORECASE).search(self._code, command.start, command.end)
        return match.span(1) if match is not None else None

    def _queue(self, command: _Command) -> str:
        """The queue that a literal names."""
        place = self._option(command, "(?:QUEUE|QNAME)")
        text = self._code[slice(*place)] if place is not None else ""
        return text[1:-1].strip() if _LITERAL.fullmatch(text) else ""

    def _mutant(self, command: _Command, kind: str, change: str, *edits: Edit) -> Mutant:
        line = self._source.count("\n", 0, command.start) + 1
        return Mutant(self._path, line, kind, command.name, change, edits)


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """The text with all matches of a pattern replaced by blanks."""
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _name(words: str) -> str:
    """The name of a command: its verb, and the second word of those that have one."""
    verb, *rest = re.sub(r"\(.*?\)", " ", words.upper()).split() or [""]
    if verb in ("READQ", "WRITEQ", "DELETEQ"):
        return f"{verb} {'TD' if 'TD' in rest else 'TS'}"
    return f"{verb} ROLLBACK" if verb == "SYNCPOINT" and "ROLLBACK" in rest else verb
