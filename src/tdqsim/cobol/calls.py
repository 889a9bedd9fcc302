"""Turn a command of a program into a command of the task, and its results into values of the program's items.

The words of a command are resolved once by :mod:`tdqsim.cics.text`, which gives for each argument the kind of its
option and the direction; a :class:`Plan` keeps that and makes a call of the task's method from it. Some commands need
the program itself and are in :mod:`~tdqsim.cobol.program_commands`. The stubs of a test and its functions for verbs
come first; a verb that neither they nor the simulator answer stops the task with an error that names verb, program and
line.

CICS reads and writes as many bytes as LENGTH gives, whatever the size of the area. The same holds here up to the end of
the 01 that contains the area. The storage behind it cannot be the same as on the mainframe: it is read as binary zeros
and not written, and a warning is issued.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ctypes import memmove, string_at
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics import Abend, Condition, TranslationError
from tdqsim.cobol._paragraph_entries import PARAGRAPH
from tdqsim.cobol.area_warnings import over, unconverted, unfit, warn_of
from tdqsim.cobol.code_pages import Conversion
from tdqsim.cobol.event_commands import quiet
from tdqsim.cobol.fields import FLOOR, NO_VALUE, Area, Areas
from tdqsim.cobol.paragraphs import keep_storage_at_end, paragraph_step
from tdqsim.cobol.program_commands import (
    PROGRAM_COMMANDS,
    Refusal,
    options_of,
    program_command,
    program_command_name,
    refusal_of,
    refused,
)
from tdqsim.cobol.sql_answers import answer_sql, end_cursors, unanswered
from tdqsim.cobol.stubs import Stub, StubAnswer, Unserved, first_answer, give
from tdqsim.cobol.translate import ExecCommand
from tdqsim.cobol.vendor_options import vendor_options
from tdqsim.facts import EIBFN, table
from tdqsim.hosting import RegionInternals, did_you_mean
from tdqsim.languages import COMMON_OPTIONS, Option, Resolved, TaskInternals, resolve

if TYPE_CHECKING:
    from tdqsim.cobol.level import Level

_SIZES: Final = {"halfword": 2, "fullword": 4, "cvda": 4}
_LENGTHS: Final = ("length", "fromlength", "short")
_RECORDS: Final = ("FROM", "INTO", "SET", "RIDFLD")
_VALUE: Final = re.compile(r"[-+]?[0-9]|['\"]|LENGTH\s+OF\s", re.IGNORECASE)
_LANGUAGES: Final = ("SQL", "DLI")
_WORDS_KEPT: Final = 4096
_TRANSID: Final = 4
_HALF: Final = 0x8000
_HALFWORD: Final = 2
_FULLWORD: Final = 4
_LONGEST: Final = 200
"""The greatest length of a reason in a message, in characters; a longer one is cut."""
_ENDS: Final = ("RETURN", "XCTL", "ABEND")
_PLAIN: Final = ("READQ", "WRITEQ", "DELETEQ", "SYNCPOINT", "ENQ", "DEQ", "FORMATTIME", "ASSIGN")

_SUSPENDS: Final = frozenset(row["command"] for row in table("suspends"))

Issue = Callable[["Level", Sequence[int]], None]
"""A function that does a command for a level; it takes five numbers for each argument of the command."""


class Plan:
    """How to do one command of a program; made once for each command.

    Attributes:
        declared: the command.
        issue: does the command, for a level and the numbers of its arguments.
        names: its first two words, and its first word.
        plain: whether it changes only those fields of the EIB that describe the last command.
        yields: whether the task gives up control with it, see ``facts/suspends.tsv``.
        rows: takes the numbers of its arguments from the run-time's table.
        call: the command that the task answers; None for others.
    """

    __slots__ = ("call", "declared", "issue", "names", "plain", "rows", "yields")

    def __init__(self, declared: ExecCommand) -> None:
        self.declared = declared
        self.names = _words(declared)
        self.plain = False
        self.call: _Call | None = None
        self.yields = not _SUSPENDS.isdisjoint(_names_of(declared))
        self.rows: Callable[[memoryview, int], tuple[int, ...]] = Struct(f"{5 * declared.passed}q").unpack_from
        own = program_command_name(declared)
        refusal = refused(own, declared) if own else None
        self.issue: Issue
        if declared.sql:
            self.issue = lambda level, rows: answer_sql(level, declared, Areas(level.libcob, rows, declared.written))
        elif declared.verb == PARAGRAPH:
            self.issue = _paragraph(declared)
        elif declared.verb in _LANGUAGES:
            self.issue = lambda level, rows: _statement(level, declared, Areas(level.libcob, rows, declared.written))
        elif declared.text == "RETURN":
            self.issue = _return
        elif refusal is not None:
            self.issue = _of_the_user(declared, refusal)
        elif own:
            self.issue = program_command(PROGRAM_COMMANDS[own], declared)
        else:
            served = _served(declared)
            self.call = served if isinstance(served, _Call) else None
            self.issue = served.issue if isinstance(served, _Call) else served
            self.plain = self.names[1] in _PLAIN
            if self.names[1] == "SYNCPOINT":
                self.issue = _syncpoint(self.issue, backout="ROLLBACK" in declared.text)
        if cut := too_long(declared):
            self.issue = _warning_of(self.issue, declared, cut)


def _names_of(declared: ExecCommand) -> tuple[str, str]:
    """A command as the table of those that suspend names it; READQ, WRITEQ and DELETEQ without TD are those of TS."""
    two, one = _words(declared)
    options = {part.partition("(")[0] for part in declared.text.split()}
    if one in ("READQ", "WRITEQ", "DELETEQ"):
        return (f"{one} TD" if "TD" in options else f"{one} TS"), ""
    if one in ("READ", "WRITE", "REWRITE", "DELETE") and options.isdisjoint(("FILE", "DATASET")):
        return "", two
    return one, two


def _paragraph(declared: ExecCommand) -> Issue:
    """Let the paragraph that a test runs decide where the program continues."""

    def ask(level: Level, rows: Sequence[int]) -> None:
        del rows
        level.branch = paragraph_step(level, declared.text)

    return ask


def _keeping(issue: Issue) -> Issue:
    """Do a command that may end the program; before it, keep its items for the test of a paragraph."""

    def keep(level: Level, rows: Sequence[int]) -> None:
        keep_storage_at_end(level)
        issue(level, rows)

    return keep


def _syncpoint(issue: Issue, *, backout: bool) -> Issue:
    """Do SYNCPOINT, which also closes SQL cursors."""

    def syncpoint(level: Level, rows: Sequence[int]) -> None:
        issue(level, rows)
        if level.storage.cursors:
            end_cursors(level, backout=backout)

    return syncpoint


def _return(level: Level, rows: Sequence[int]) -> None:
    """Do RETURN without options: no exception is needed to end the level, unless the region is watched."""
    del rows
    task = level.task
    region = task.region
    if TaskInternals(task).ended or region.closed or RegionInternals(region).watched:
        task.return_()
    level.ended = True


def plans_of(commands: Sequence[ExecCommand]) -> list[Plan]:
    """The plans of a program's commands."""
    plans = [Plan(declared) for declared in commands]
    if any(plan.names[1] == PARAGRAPH for plan in plans):
        for plan in plans:
            if plan.names[1] in _ENDS:
                plan.issue = _keeping(plan.issue)
    return plans


# -- a command that the task answers ---------------------------------------------------------------------------------


class _Call:
    """A resolved command: the arguments that its values come from and go to."""

    def __init__(self, declared: ExecCommand, resolved: Resolved) -> None:
        command = resolved.command
        self.declared = declared
        self.method = command.method
        self.constants: dict[str, Any] = {each.parameter: cvda for each, cvda in resolved.keywords}
        self.values: list[tuple[str, int, Callable[[Area], str | int]]] = []
        self.numbers: list[tuple[str, int]] = []
        self.lengths: list[tuple[str, int]] = []  # halfwords that the command reads first and writes afterwards
        self.data: list[tuple[str, int, str, str]] = []
        self.sent: list[tuple[int, str, int]] = []  # those that are no data, with the most bytes that CICS takes
        parameters = {option.parameter for option in command.options}
        if resolved.common and "nohandle" in parameters:
            self.constants["nohandle"] = True
        given = {each.parameter for each, _option in resolved.sends}
        receives = [(each, option) for each, option in resolved.receives if not _fixed(declared, _at(option))]
        written = {_at(option) for _each, option in receives}
        for each, option in resolved.sends:
            if each.kind not in ("flag", "data") and option.is_area:
                most = each.length if each.kind == "name" else _SIZES.get(each.kind, 0)
                self.sent.append((_at(option), each.word, most))
            if each.kind == "flag":
                self.constants[each.parameter] = True
            elif option.text is not None:  # the value of an option without argument
                self.constants[each.parameter] = _constant(option.text, each.kind, each.length)
            elif each.kind == "data":
                self.data.append((each.parameter, _at(option), each.word, _companion(each.word, given)))
            elif (constant := _literal(declared.written[_at(option)], each.kind, each.length)) is not None:
                self.constants[each.parameter] = constant
            elif each.kind == "halfword":
                numbers = self.lengths if _at(option) in written else self.numbers
                numbers.append((each.parameter, _at(option)))
            elif each.kind == "fullword" and _at(option) in written:
                self.values.append((each.parameter, _at(option), lambda area: area.taken(_FULLWORD)))
            else:
                self.values.append((each.parameter, _at(option), _reader(each.kind, each.length)))
        self.receivers = [(_at(option), each.word, _writer(each.kind, each.length)) for each, option in receives]
        self.pointers = frozenset(_at(option) for each, option in receives if each.kind == "pointer")
        words = [word for _a, word, _w in self.receivers]
        self.into = next((at for at, word, _w in self.receivers if word == "INTO"), -1)
        self.sets = "SET" in words
        self.measured = self.into >= 0 and "length" in parameters and "length" not in given
        self.measured = self.measured and "maxlength" not in given
        self.before, self.wanted = _positional(resolved)
        self.record = _record(self.receivers, plain=self.before is None and not self.sets)
        areas = [*resolved.sends, *receives]
        self.checks = [(each, _at(option)) for each, option in areas if option.is_area]
        self.resource = next((name for name in ("queue", "file") if name in given), "")

    def issue(self, level: Level, rows: Sequence[int]) -> None:
        task = level.task
        if self not in level.checked:
            level.checked.add(self)
            unfit(level, self.declared, self.checks, self._areas(level, rows))
        keywords = self._values(level, rows)
        pages = None
        if self.resource and level.settings.converts:
            pages = level.settings.pages.of(keywords[self.resource])
            if pages is None and level.settings.pages.expected:
                unconverted(level, self.declared, keywords[self.resource])
        for parameter, at, word, companion in self.data:
            length, address = keywords.get(companion), rows[at * 5]
            if (length is None or length <= rows[at * 5 + 1]) and address >= FLOOR:
                data = string_at(address, rows[at * 5 + 1])
            else:
                data = self._beyond(level, self._areas(level, rows)[at], word, length)
            keywords[parameter] = data if pages is None or word not in _RECORDS else pages.to_region(data, word)
        if self.sets and not self.measured:
            keywords.pop("length", None)
        positional: list[Any] = []
        if self.before is not None:
            positional = [*(keywords.pop(name) for name in self.before if name in keywords), *self.wanted]
        task.condition = None
        try:
            result = getattr(task, self.method)(*positional, **keywords)
        except Condition as condition:
            self._deliver(level, self._areas(level, rows), condition.received, pages)
            if condition.abend_code:  # CICS ignores the other conditions; the program looks at its EIB
                raise
            return
        if self.record is not None and result.__class__ is bytes and pages is None and task.condition is None:
            self._deliver_record(level, rows, result)
        elif self.receivers:
            met: Condition | None = task.condition
            self._deliver(level, self._areas(level, rows), result if met is None else met.received, pages)

    def tell_of_reads(self, level: Level, rows: Sequence[int]) -> None:
        """Warn of each argument of which the command reads bytes behind an area with guard pages."""
        library = level.libcob
        with suppress(Abend):  # of an address that is no storage; the command ends with it
            keywords = self._values(level, rows)
            lengths = [(at, word, keywords.get(companion)) for _name, at, word, companion in self.data]
            for at, word, most in [*self.sent, *lengths]:
                address, size = rows[at * 5 : at * 5 + 2]
                taken, valid = min(most or size, size), library.valid(address)
                if 0 <= valid < taken:
                    name, written = library.area_of(address).decode("latin-1"), self.declared.written[at]
                    where = "in" if library.freed(address) else "behind"
                    text = f"{word}({written}): {taken - valid} of {taken} bytes that were read are {where} the {name}"
                    warn_of(level, self.declared, word, f"{text}: on the mainframe they are other storage")

    def _values(self, level: Level, rows: Sequence[int]) -> dict[str, Any]:
        """The keyword arguments that are not data areas."""
        keywords = self.constants.copy()
        for parameter, at in self.numbers:
            number = rows[at * 5 + 4]
            if number == NO_VALUE:
                number = self._areas(level, rows)[at].number
            keywords[parameter] = number if -_HALF <= number < _HALF else (number + _HALF) % (2 * _HALF) - _HALF
        for parameter, at in self.lengths:
            number = rows[at * 5 + 4]
            if rows[at * 5 + 1] != _HALFWORD or not -_HALF <= number < _HALF:  # NO_VALUE is no halfword either
                number = self._areas(level, rows)[at].taken(_HALFWORD)
            keywords[parameter] = number
        for parameter, at, read in self.values:
            keywords[parameter] = read(self._areas(level, rows)[at])
        if self.measured:
            keywords["length"] = rows[self.into * 5 + 1]
        return keywords

    def _areas(self, level: Level, rows: Sequence[int]) -> Areas:
        return Areas(level.libcob, rows, self.declared.written)

    def _deliver_record(self, level: Level, rows: Sequence[int], data: bytes) -> None:
        """Deliver a record to INTO and its length to LENGTH, which most commands that read have."""
        at, length_at = self.record or (0, -1)
        size = len(data)
        if size <= rows[at * 5 + 1] and rows[at * 5] >= FLOOR:
            memmove(rows[at * 5], data, size)
        else:
            self._fill(level, self._areas(level, rows)[at], "INTO", data)
        if length_at >= 0 and not (rows[length_at * 5 + 4] == size and rows[length_at * 5 + 1] == _HALFWORD):
            self._areas(level, rows)[length_at].store(size, _HALFWORD)

    def _beyond(self, level: Level, area: Area, word: str, length: int | None) -> bytes:
        if length is None or length <= area.size:
            return area.read()
        over(level, self.declared, word, area, length)
        room = max(level.room_from(area.address), area.size)
        return area.read(min(length, room)).ljust(length, b"\0")

    def _deliver(self, level: Level, areas: Areas, result: object, pages: Conversion | None) -> None:
        if result is None:
            return
        values = self._received(result)
        # a control block, such as that of EXTRACT STATISTICS
        image = getattr(result, "image", None) if self.sets else None
        if image is not None:
            values = {**values, "SET": image(level.task.region.screens.codepage)}  # that of programs
        for at, word, store in self.receivers:
            value = values.get(word)
            if value is None:
                continue
            if pages is not None and word in _RECORDS:
                value = pages.to_program(bytes(value), word)
            area = areas[at]
            if at in self.pointers:
                area.point(level.storage.hold(level.libcob, (level.task.eib.last[:2], at), _addressed(value)))
            elif store is not None:
                store(area, value)
            else:
                self._fill(level, area, word, bytes(memoryview(value)))

    def _fill(self, level: Level, area: Area, word: str, data: bytes) -> None:
        if len(data) > area.size:
            over(level, self.declared, word, area, len(data))
            data = data[: max(level.room_from(area.address), area.size)]
        area.fill(data)

    def _received(self, result: object) -> Mapping[str, Any]:
        """The results of a command, by option."""
        if isinstance(result, bytes | bytearray):
            size = len(result)
            return {word: size if word in ("LENGTH", "FLENGTH") else result for _at, word, _w in self.receivers}
        if hasattr(result, "as_dict"):
            return result.as_dict()  # type: ignore[no-any-return]
        if isinstance(result, Mapping):
            return result
        if hasattr(result, "_asdict"):
            return {name.upper(): value for name, value in result._asdict().items()}
        if isinstance(result, tuple):
            return dict(zip(self.wanted, result, strict=False))
        return {word: result for _at, word, _w in self.receivers[:1]}


def _record(receivers: Sequence[tuple[int, str, object]], *, plain: bool) -> tuple[int, int] | None:
    """The positions of INTO and LENGTH (-1 for none) of a command that returns only a record; None for others."""
    words = {word: at for at, word, _store in receivers}
    if not plain or "INTO" not in words or words.keys() - {"INTO", "LENGTH"}:
        return None
    return words["INTO"], words.get("LENGTH", -1)


def _words(declared: ExecCommand) -> tuple[str, str]:
    """The first two words of a command, and the first one alone."""
    words = declared.text.replace("(", " (").split()
    return " ".join(words[:2]), words[0]


@lru_cache(_WORDS_KEPT)
def _all_words(declared: ExecCommand) -> frozenset[str]:
    """The words of a command's name and options; READQ without TD is READQ TS."""
    words = {part.partition("(")[0] for part in declared.text.split()}
    with suppress(TranslationError):  # the simulator does not have the command
        words.update(resolve(declared.text).command.name.split())
    return frozenset(words)


def unserved(declared: ExecCommand) -> str:
    """The reason why only the test can answer a command, and how; else empty."""
    if declared.sql:
        return f'{declared.shown}: {unanswered(declared)}, or a function: programs.verbs["SQL"]'
    if declared.verb in _LANGUAGES:
        return f'{declared.shown}: only a function answers it: programs.verbs["{declared.verb}"]'
    refusal = _refusal(declared)
    return "" if refusal is None else f"{declared.shown}: {_needed(declared, refusal)}"


def _refusal(declared: ExecCommand) -> Refusal | None:
    """Why the simulator does not execute a CICS command; None if it does."""
    if own := program_command_name(declared):
        return refused(own, declared)
    try:
        resolve(declared.text)
    except TranslationError as error:
        return refusal_of(error)
    return None


def misspelt(declared: ExecCommand) -> str:
    """The mistake in a command with an option that the vendor's command does not have either; else empty."""
    if declared.sql or declared.verb in _LANGUAGES or (refusal := _refusal(declared)) is None or not refusal.option:
        return ""
    known = vendor_options(declared.verb)
    if not known or refusal.option in known:
        return ""
    return (
        f"{declared.shown}: {refusal.option} is not an option of {declared.verb}{did_you_mean(refusal.option, known)}"
    )


def too_long(declared: ExecCommand) -> list[tuple[str, str]]:
    """The literals of a command that are longer than the names for which they stand, each as option and text.

    An item may be longer, because it may end in blanks; a literal that is too long is always a mistake.
    """
    labels = "".join(f" {word}(A1)" if number else f" {word}" for word, number in declared.labels)
    try:
        sends = resolve(declared.text + labels).sends
    except TranslationError:
        return []
    found = []
    for each, option in sends:
        if each.kind != "name" or not each.length or not option.is_area:
            continue
        at = _at(option)
        name = _literal(declared.written[at], "name", 0) if at < len(declared.written) else None
        name = name.rstrip(" ") if isinstance(name, str) else ""
        if len(name) > each.length:
            text = f"{each.word}({declared.written[at]}) has {len(name)} characters; a name here has at most "
            found.append((each.word, f"{text}{each.length}, so {name[: each.length]!r} is taken"))
    return found


def _warning_of(issue: Issue, declared: ExecCommand, cut: list[tuple[str, str]]) -> Issue:
    """Do a command with names that are too long; a warning is given once."""

    def warn_and_issue(level: Level, rows: Sequence[int]) -> None:
        for word, text in cut:
            warn_of(level, declared, word, text)
        issue(level, rows)

    return warn_and_issue


def _needed(declared: ExecCommand, refusal: Refusal) -> str:
    """The problem with a command, and the function that could answer it."""
    two, one = _words(declared)
    what, option = refusal
    common = two.split()[-1] in COMMON_OPTIONS
    name = one if "(" in two or common or (option and two != f"{one} {option}") else two
    if len(what) > _LONGEST:  # a list of all possible verbs would follow
        what = what.partition(";")[0]
    return f'{what} (a function may answer it: programs.verbs["{name}"])'


def _served(declared: ExecCommand) -> _Call | Issue:
    try:
        resolved = resolve(declared.text)
    except TranslationError as error:
        return _of_the_user(declared, refusal_of(error))
    if resolved.names:
        names = [option.word for option in resolved.names]
        return lambda level, _rows: level.task.ignore_condition(*names)
    return _Call(declared, resolved)


def _of_the_user(declared: ExecCommand, refusal: Refusal) -> Issue:
    """A command that the simulator does not have, or not with these options; only :func:`answers` can do it."""
    needed = _needed(declared, refusal)

    def issue(level: Level, rows: Sequence[int]) -> None:
        del rows
        raise Unserved(f"{declared.place}: {declared.shown} (program {level.module.program}): {needed}")

    return issue


def _positional(resolved: Resolved) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """The parameters before ``*options`` and the words that they take; None for a command without ``*options``."""
    parameters = resolved.command.parameters
    own = resolved.command.name.split()
    wanted = tuple(each.word for each, _option in resolved.receives if each.word not in own)
    if not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return None, wanted
    return tuple(each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD), wanted


def _companion(word: str, given: set[str]) -> str:
    """The parameter for the length of an area."""
    if word == "RIDFLD":
        return "keylength" if "keylength" in given else ""
    if word == "ROUTECODES":
        return "numroutes" if "numroutes" in given else ""
    return next((name for name in _LENGTHS if name in given), "")


def _fixed(declared: ExecCommand, at: int) -> bool:
    """Whether an argument is a value and not an area, such as ``LENGTH(80)`` or ``LENGTH(LENGTH OF REC)``."""
    return _VALUE.match(declared.written[at]) is not None


def _at(option: Option) -> int:
    """The number of the argument that an option of the resolved text names: A3 is the third."""
    assert option.variable is not None, option
    return int(option.variable.name[1:]) - 1


# -- by kind ---------------------------------------------------------------------------------------------------------


def _literal(written: str, kind: str, length: int) -> str | int | None:
    """The value of an argument that is a plain literal; None for other arguments."""
    if kind == "name" and len(written) > 1 and written[0] in "'\"" and written[-1] == written[0]:
        text = written[1:-1].replace(written[0] * 2, written[0])
        return text[:length].rstrip(" ") if length else text
    if kind in ("halfword", "fullword") and written.isdigit() and int(written) < _HALF:
        return int(written)
    return None


def _constant(text: str, kind: str, length: int) -> str | int:
    return int(text) if kind in ("halfword", "fullword") else text[:length] if length else text


def _reader(kind: str, length: int) -> Callable[[Area], str | int]:
    if kind == "name" and length:
        return lambda area: area.read(min(area.size, length)).decode("latin-1").rstrip(" ")
    if kind == "name":  # a text whose length is given by another option
        return lambda area: area.read().decode("latin-1")
    if kind == "abstime":
        return _abstime
    if kind == "value":
        return lambda area: area.number if area.numeric else area.read().decode("latin-1")
    if kind == "label":
        return lambda area: area.read().decode("latin-1")
    return lambda area: area.number


def _abstime(area: Area) -> int:
    """Read an ABSTIME: eight bytes of packed digits, whatever the program declares; -1 for other bytes."""
    text = area.read(8).hex()
    return int(text[:-1]) if text[:-1].isdigit() and text[-1] in "cfae" else -1


def _writer(kind: str, length: int) -> Callable[[Area, Any], None] | None:
    """The function that puts a value of a kind into an area; None for bytes."""
    if kind == "abstime":
        return lambda area, value: area.fill(bytes.fromhex(f"{int(value):015d}C"))
    if kind in _SIZES:
        size = _SIZES[kind]
        return lambda area, value: area.store(int(value), size)
    if kind == "name":
        return lambda area, value: area.fill(_name(value, length or area.size))
    return None


def _name(value: str | bytes, length: int) -> bytes:
    data = value.encode("latin-1", "replace") if isinstance(value, str) else bytes(value)
    return data[:length].ljust(length)


def _addressed(value: Any) -> bytes:
    """The bytes to which a pointer leads: a record, or task numbers (packed, four bytes each) or transaction ids."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return b"".join(bytes.fromhex(f"{each:07d}C") if isinstance(each, int) else _name(each, _TRANSID) for each in value)


# -- commands that the user's functions answer -----------------------------------------------------------------------


def _statement(level: Level, declared: ExecCommand, areas: Areas) -> None:
    """Do EXEC DLI: call the user's function with the host variables A1, A2, ... of the statement."""
    language, _, text = declared.text.partition(" ")
    function = level.verbs.get(language)
    if function is None:
        raise Unserved(f"{declared.place}: EXEC {language} {text}: there is no function for {language}")
    variables: dict[str, Area | None] = {f"A{at + 1}": areas[at] for at in range(declared.passed)}
    level.statement = text
    function(variables, level)


def answers(level: Level, plan: Plan, rows: Sequence[int]) -> bool:
    """Let a stub or a function of ``verbs`` answer a command.

    Returns:
        False when the region has to do the command.
    """
    declared = plan.declared
    if declared.verb in _LANGUAGES or declared.verb == PARAGRAPH:
        return False
    settings = level.settings
    options = options_of(declared, Areas(level.libcob, rows, declared.written))
    words = _all_words(declared) if settings.stubs else frozenset()
    taking = [each for each in settings.stubs if isinstance(each, Stub) and each.takes(level, words, options)]
    answer = first_answer(
        taking,
        StubAnswer,
        lambda: {word: None if area is None else area.read() for word, area in options.items()},
        options,
        level,
    )
    name = next((name for name in plan.names if name in settings.verbs), "")
    if answer is NotImplemented and name:
        answer = settings.verbs[name](options, level)
    if answer is NotImplemented:
        return False
    name = plan.names[0] if plan.names[0] in EIBFN else plan.names[1]
    give(level, name, options, answer, nohandle=quiet(options))
    return True
