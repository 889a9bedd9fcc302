"""The dump of a task that has abended: frozen values, which the region keeps; see :mod:`tdqsim.cics.kernel.dumps`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

_COMMANDS_SHOWN: Final = 5
_ITEMS_SHOWN: Final = 20
_WORD: Final = re.compile(r"[A-Z0-9](?:[A-Z0-9_-]*[A-Z0-9])?")
_END: Final = re.compile(r"\bEND-EXEC\b")
_KINDS: Final = {"LINK": "PROGRAM", "START": "TRANSACTION"}
_TEXTS: Final = ("code", "program", "transid", "userid", "reason", "file")
_NUMBERS: Final = ("task", "time_ns", "line")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source.

    Attributes:
        number: its number, from 1.
        text: its text without the end of the line.
    """

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class DumpedWork:
    """The uncommitted changes of the task to a logically recoverable queue.

    Attributes:
        queue: the queue.
        reads: the number of records read.
        writes: the number of records written.
        records: the first of the records written, at most 20.
        deleted: whether DELETEQ was issued.
    """

    queue: str
    reads: int
    writes: int
    records: tuple[bytes, ...]
    deleted: bool


@dataclass(frozen=True, slots=True)
class DumpedItem:
    """An item in the storage of a program.

    Attributes:
        program: the program.
        level: its level number.
        name: its name, with subscripts.
        picture: level, picture and usage as declared.
        value: its value as a literal; ``no storage`` if it has none.
        hex: its first bytes in hexadecimal.
    """

    program: str
    level: int
    name: str
    picture: str
    value: str
    hex: str

    def __str__(self) -> str:
        return f"{'  ' * (self.level > 1)}{self.level:02d} {self.name} = {self.value}"


@dataclass(frozen=True, slots=True)
class ProgramState:
    """What the language of a program knows about its failure.

    Attributes:
        file: the source of the failing statement.
        line: its line.
        calls: the active programs with their places, the failing one first.
        commands: the last commands, if a trace has them.
        storage: the items of the active programs.
    """

    file: str
    line: int
    calls: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    storage: tuple[DumpedItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Dump:
    """A task at its abend.

    Attributes:
        code: the abend code.
        program: the program that failed, as ASSIGN ABPROGRAM returns it.
        transid: the transaction.
        task: the number of the task.
        userid: its user.
        time_ns: the time on the region's clock, in nanoseconds since 1970.
        reason: the abend and the exception behind it, as text.
        file: the source file of the failing statement; empty if unknown.
        line: its line; 0 if unknown.
        source: the failing line with those around it.
        calls: the active COBOL programs with their places, the failing one first.
        commands: the last commands of the task with their answers, at most 20, the newest last.
        last: the last command and the resource that it names; empty texts if unknown.
        locks: (queue, end) of each end of a queue that the task holds.
        works: its uncommitted changes.
        storage: the items of its COBOL programs.
    """

    code: str
    program: str
    transid: str
    task: int
    userid: str
    time_ns: int
    reason: str
    file: str = ""
    line: int = 0
    source: tuple[SourceLine, ...] = ()
    calls: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    last: tuple[str, str] = ("", "")
    locks: tuple[tuple[str, str], ...] = ()
    works: tuple[DumpedWork, ...] = ()
    storage: tuple[DumpedItem, ...] = field(default=(), repr=False)

    @property
    def statement(self) -> str:
        """The text of the failing line; empty if unknown."""
        return next((each.text.strip() for each in self.source if each.number == self.line), "")

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues to report: that of the last command, then those that the task held or had changed."""
        command, name = self.last
        named = [name] if name and command.endswith(" TD") else []
        held = [queue for queue, _end in self.locks] + [work.queue for work in self.works]
        return tuple(dict.fromkeys(name.rstrip(" ") for name in named + held))

    @property
    def resource(self) -> tuple[str, str] | None:
        """PROGRAM, TRANSACTION or TSQUEUE, and its name, of a last command LINK, START or TS; else None."""
        command, name = self.last
        kind = "TSQUEUE" if command.endswith(" TS") else _KINDS.get(command)
        return (kind, name) if kind and name else None

    def as_dict(self) -> dict[str, Any]:
        """The dump as values that JSON can represent, with ``statement``; records are hexadecimal."""
        values = asdict(self)
        for work in values["works"]:
            work["records"] = [record.hex().upper() for record in work["records"]]
        return {**values, "statement": self.statement}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Dump:
        """The dump of :meth:`as_dict`."""
        return cls(
            **{name: values[name] for name in (*_TEXTS, *_NUMBERS)},
            source=tuple(SourceLine(**each) for each in values["source"]),
            calls=tuple(values["calls"]),
            commands=tuple(values["commands"]),
            last=(values["last"][0], values["last"][1]),
            locks=tuple((queue, end) for queue, end in values["locks"]),
            works=tuple(
                DumpedWork(**{**each, "records": tuple(map(bytes.fromhex, each["records"]))})
                for each in values["works"]
            ),
            storage=tuple(DumpedItem(**each) for each in values["storage"]),
        )

    def __str__(self) -> str:
        lines = [*self._head(), *_titled("Programs", self.calls), *_titled("Last commands", self.commands)]
        lines += _titled("Holds", [f"{end} of {queue}" for queue, end in self.locks])
        works = [
            f"{each.queue}: {each.reads} read, {each.writes} written{', deleted' if each.deleted else ''}"
            for each in self.works
        ]
        lines += _titled("Uncommitted", works) + _titled("Storage", [str(each) for each in self.storage])
        return "\n".join(line for line in lines if line)

    def brief(self) -> str:
        """Code, statement with its source lines, the last five commands, and the items that the statement names."""
        lines = [*self._head(), *_titled("Last commands", self.commands[-_COMMANDS_SHOWN:])]
        named = _words_of(self.source, self.line)
        items = [each for each in self.storage if each.name.partition(" ")[0] in named]
        return "\n".join(lines + _titled("Storage", [str(each) for each in items[:_ITEMS_SHOWN]]))

    def _head(self) -> list[str]:
        lines = [f"task {self.task} {self.transid}, program {self.program}, user {self.userid}: {self.reason}"]
        lines += [f"{self.file}:{self.line}"] if self.file else []
        return lines + [
            f"{each.number:7} {'>' if each.number == self.line else ' '} {each.text}" for each in self.source
        ]


def _words_of(source: Sequence[SourceLine], line: int) -> frozenset[str]:
    """The words, in upper case, of the statement that begins at a line: EXEC to END-EXEC, else those of the line."""
    text = " ".join(each.text for each in source if each.number >= line).upper()
    first = next((each.text for each in source if each.number == line), "").upper()
    end = _END.search(text) if "EXEC " in first else None
    return frozenset(_WORD.findall(text[: end.start()] if end is not None else first))


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []
