"""DFHCSDUP commands in files, jobs and the output of EXTRACT: read, and their DEFINE statements imported.

Only columns 1 to 71 of card images (lines of at most 80 characters) are read; longer lines are not card images and are
read completely. A ``*`` in column 72 continues a value in column 1 of the next line; anything else there, and beyond it
what is no sequence number, is reported. A ``*`` in column 1 begins a comment, also within a command. If the text is a
job (a line begins with ``//``), only its in-stream data is read. A command ends at the verb of the next command: a word
of ``facts/csd_commands.tsv`` that is not followed by a parenthesis. Any other such word at the beginning of a line, if
it cannot belong to the command, is a verb: one that it abbreviates, or an unknown one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from tdqsim.definitions.imports import Imported, Importer, ImportReport, Operand, expand, is_attribute
from tdqsim.facts import table

_CARD = 80
_TEXT = 71
_SEQUENCE = re.compile(r"(?:[A-Z0-9 ]*[0-9][A-Z0-9 ]*)?", re.ASCII)
_INSTREAM = re.compile(r"//\S{0,17}\s+DD\s+(\*|DATA)([,\s].*)?", re.ASCII | re.IGNORECASE)
_DELIMITER = re.compile(r"DLM='?([^',\s]{2})", re.ASCII | re.IGNORECASE)
_STEP = re.compile(r"//\S{0,17}\s+EXEC\s+(PGM=(?P<program>\w+))?", re.ASCII | re.IGNORECASE)
_SYSIN = re.compile(r"//(\S{0,8}\.)?SYSIN\s+DD\s", re.ASCII | re.IGNORECASE)
_DEFINE_LINE = re.compile(r"\s*(?:USERDEFINE|DEFINE|DEF|DEFI|DEFIN)\s+[A-Za-z]\w*\s*\(", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_STRANGE = re.compile(r"[^A-Za-z_]++")
_QUOTED = re.compile(r"\s*'((?:[^']|'')*+)'\s*\)", re.ASCII)
_SPACES = re.compile(r"\s*+")
_DEFINING = ("DEFINE", "USERDEFINE", "ALTER")
"""The commands whose operands are attributes of a resource."""


class _Line(NamedTuple):
    text: str
    number: int
    continued: bool  # a value continues in column 1 of the next line, without a blank


class CsdCommand(NamedTuple):
    """One command of DFHCSDUP.

    Attributes:
        verb: the command, such as ``DEFINE``; empty if it begins with a word that is no command.
        operands: its operands in order, as written; if there is no verb, the first is that word.
        line: the line where it begins.
        reports: what of it is not understood.
    """

    verb: str
    operands: tuple[Operand, ...]
    line: int
    reports: tuple[ImportReport, ...] = ()

    @property
    def words(self) -> frozenset[str]:
        """Its keywords without a value, in upper case."""
        return frozenset(operand.name.upper() for operand in self.operands if operand.value is None)

    def attributes(self, kind: str, others: frozenset[str]) -> tuple[dict[str, str], dict[str, int], Importer]:
        """The attributes of a resource among the operands: full names in lower case with their values, and their lines.

        Args:
            kind: the resource type.
            others: the operands, in upper case, that are not attributes.
        """
        importer = Importer("<csd>")
        given = [operand for operand in self.operands[1:] if operand.name.upper() not in others]
        values, lines = importer.attributes(kind, f"{kind}({self.operands[0].value})", given)
        return values, lines, importer


def parse_csd(text: str, *, file: str = "<csd>") -> Imported:
    """Import the definitions in DFHCSDUP commands; everything that is not used is reported."""
    importer = Importer(file)
    importing = _Importing(importer)
    for segment in _segments(list(_command_lines(text, importer))):
        _Segment(segment, importer, importing.command).read()
    return importer.result()


def read_csd_commands(text: str, *, file: str = "<csd>") -> Iterator[CsdCommand]:
    """The commands in a text, one after another, as DFHCSDUP reads them."""
    importer = Importer(file)
    found: list[CsdCommand] = []

    def keep(verb: str, operands: list[Operand], line: int) -> None:
        if verb or operands or importer.reports:
            found.append(CsdCommand(verb, tuple(operands), line, tuple(importer.reports)))
            importer.reports.clear()

    for segment in _segments(list(_command_lines(text, importer))):
        _Segment(segment, importer, keep).read()
        yield from found
        found.clear()
    if importer.reports:
        yield CsdCommand("", (), importer.reports[0].line, tuple(importer.reports))


_Act = Callable[[str, list[Operand], int], None]
"""Called with each command: its verb or an empty text, its operands, and its line."""


def _command_lines(text: str, importer: Importer) -> Iterator[_Line]:
    """The lines with commands, without comments, job control and sequence numbers."""
    raw = text.removeprefix("\ufeff").split("\n")
    is_job = any(line.startswith("//") for line in raw)
    stream = _instream(raw, importer) if is_job else enumerate(raw, 1)
    lines = [(number, written.rstrip("\r\f \x1a").expandtabs()) for number, written in stream]
    printed = _is_printed([line for _, line in lines])
    for number, line in lines:
        if line and not line.startswith("*") and not line.startswith("/*"):
            yield _cut(line[1:] if printed else line, number, importer)


def _is_printed(lines: list[str]) -> bool:
    """Whether each line begins with a column for the printer, as the sample program of EXTRACT writes them.

    Then none has anything in column 1, and a full one ends in column 72, not with a mark of continuation.
    """
    full = [line for line in lines if len(line) > _TEXT]
    return (
        bool(full)
        and all(len(line) == _TEXT + 1 and not line.endswith("*") for line in full)
        and not any(line[:1].strip() for line in lines)
    )


def _cut(line: str, number: int, importer: Importer) -> _Line:
    if len(line) <= _TEXT or len(line) > _CARD:
        return _Line(line, number, continued=False)
    mark, rest = line[_TEXT], line[_TEXT + 1 :]
    strange = "" if _SEQUENCE.fullmatch(rest) else rest
    if mark not in " *":
        strange = mark + strange
    if strange:
        message = "stands beyond column 71, which is not read; only an asterisk in column 72 continues a line"
        importer.skipped(number, strange.strip(), message)
    text = line[:_TEXT]
    return _Line(text if mark == "*" else text.rstrip(), number, continued=mark == "*")


def _instream(raw: list[str], importer: Importer) -> Iterator[tuple[int, str]]:
    """The in-stream data of a job, unless its step runs a program that is not DFHCSDUP."""
    ends: tuple[str, ...] = ()
    wanted = True
    for number, line in enumerate(raw, 1):
        if ends:
            if line.startswith(ends):
                ends = ()
            else:
                if wanted:
                    yield number, line
                continue
        if line.startswith("//") and not line.startswith("//*"):
            step = _STEP.match(line)
            if step:
                wanted = (step["program"] or "DFHCSDUP").upper() == "DFHCSDUP"
            ends = _data_ends(line)
            if ends and not wanted:
                importer.skipped(number, line.split()[0], "is data of another program than DFHCSDUP", fault=False)
            elif not ends and wanted and _SYSIN.match(line):
                importer.skipped(number, line.split()[0], "names a data set, whose commands are not in this text")


def _data_ends(line: str) -> tuple[str, ...]:
    """The delimiters that end the in-stream data beginning with this statement; empty when it begins none."""
    match = _INSTREAM.match(line.rstrip())
    if match is None:
        return ()
    delimiter = _DELIMITER.search(match[2] or "")
    if delimiter:
        return (delimiter[1],)
    return ("/*",) if match[1] == "DATA" else ("/*", "//")


def _segments(lines: list[_Line]) -> Iterator[list[_Line]]:
    """Split the lines before each certain beginning of a definition, so that an open parenthesis spoils only one."""
    segment: list[_Line] = []
    for line in lines:
        if segment and _DEFINE_LINE.match(line.text):
            yield segment
            segment = []
        segment.append(line)
    if segment:
        yield segment


@cache
def _verbs() -> frozenset[str]:
    return frozenset(row["name"] for row in table("csd_commands"))


@cache
def _words_of() -> Mapping[str, frozenset[str]]:
    """The words without a value that each command may have."""
    return {row["name"]: frozenset(row["words"].split()) for row in table("csd_commands")}


def _verb(word: str) -> str | None:
    """The command for a verb, or None; DEF and longer abbreviations are DEFINE."""
    upper = word.upper()
    if len(upper) >= 3 and "DEFINE".startswith(upper):
        return "DEFINE"
    return upper if upper in _verbs() else None


class _Segment:
    """One or more commands as one text, with the line numbers."""

    def __init__(self, lines: list[_Line], importer: Importer, act: _Act) -> None:
        self.importer, self.command = importer, act
        self.text = "\n".join(line.text for line in lines)
        self.lines = lines
        self.starts = []
        position = 0
        for line in lines:
            self.starts.append(position)
            position += len(line.text) + 1
        self.closing = _closing_parentheses(self.text)
        self.at_line = 0

    def line_at(self, position: int) -> int:
        """The line number of a position; positions must be passed in ascending order."""
        while self.at_line + 1 < len(self.starts) and self.starts[self.at_line + 1] <= position:
            self.at_line += 1
        return self.lines[self.at_line].number

    def read(self) -> None:
        """Split the text into commands and process each."""
        verb = ""
        first_line = self.lines[0].number
        operands: list[Operand] = []
        for operand in self.operands():
            next_verb = _verb(operand.name) if operand.value is None else None
            is_keyword = not operand.leads and next_verb in _words_of().get(verb, ())  # DELETE ... REMOVE
            if next_verb and not is_keyword:
                self.command(verb, operands, first_line)
                verb, operands, first_line = next_verb, [], operand.line
            elif operand.value is None and operand.leads and not self.belongs(verb, operands, operand):
                self.command(verb, operands, first_line)
                abbreviated = expand(operand.name.upper(), _verbs()) if len(operand.name) > 1 else None
                verb, operands, first_line = abbreviated or "", [] if abbreviated else [operand], operand.line
            else:
                operands.append(operand)
        self.command(verb, operands, first_line)

    def belongs(self, verb: str, operands: list[Operand], word: Operand) -> bool:
        """Whether a word that begins a line can be part of the command; otherwise it must be a verb."""
        if verb in _DEFINING:
            kind = self.importer.resource_type(operands[0].name) if operands else None
            return kind is not None and is_attribute(kind, word.name)
        return word.name.upper() in _words_of().get(verb, ())

    def operands(self) -> Iterator[Operand]:
        """The words of the text, each with the value in the parentheses after it."""
        position = behind = 0  # behind: the end of the last text that is not blank
        text = self.text
        while position < len(text):
            word = _WORD.match(text, position)
            if word is None:
                end = self.strange(position)
                passed = text[position:end].rstrip()
                behind = position + len(passed) if passed else behind
                position = end
                continue
            line = self.line_at(word.start())
            leads = behind <= self.starts[self.at_line]
            opening = self.skip_spaces(word.end())
            if opening < len(text) and text[opening] == "(":
                value, position = self.value(opening)
                behind = position
                yield Operand(word[0], value, line, leads)
            else:
                position, behind = opening, word.end()
                yield Operand(word[0], None, line, leads)

    def skip_spaces(self, position: int) -> int:
        match = _SPACES.match(self.text, position)
        return match.end() if match else position

    def strange(self, position: int) -> int:
        """Skip text that is not a word; report it unless it is blank or punctuation. Returns the position after it."""
        match = _STRANGE.match(self.text, position)
        end = match.end() if match else position + 1
        skipped = self.text[position:end].strip(" \n,.;)-+")
        if skipped:
            self.importer.skipped(self.line_at(position), skipped[:40], "is not understood")
        return end

    def value(self, opening: int) -> tuple[str, int]:
        """The value in the parentheses that open here, and the position after it."""
        quoted = _QUOTED.match(self.text, opening + 1)
        if quoted:  # blanks in a quoted value are significant
            return self.joined(quoted[1], quoted.start(1)).replace("''", "'"), quoted.end()
        closing = self.closing.get(opening)
        if closing is None:
            end = self.text.find("\n", opening)
            closing = len(self.text) if end < 0 else end
            self.importer.kept(
                self.line_at(opening),
                self.text[opening : opening + 20],
                "is not closed; it ends with its line",
                fault=True,
            )
        return self.joined(self.text[opening + 1 : closing], opening + 1).strip(), closing + 1

    def joined(self, value: str, start: int) -> str:
        """A value with its line breaks replaced by a blank, or by nothing if the line is continued."""
        if "\n" not in value:
            return value
        parts = value.split("\n")
        self.line_at(start)
        index = self.at_line
        result = parts[0]
        for offset, part in enumerate(parts[1:]):
            result += part if self.lines[index + offset].continued else f" {part.strip()}"
        return result


class _Importing:
    """The import of commands, one after another."""

    def __init__(self, importer: Importer) -> None:
        self.importer = importer

    def command(self, verb: str, operands: list[Operand], line: int) -> None:
        """Process one command, or report that it is not used."""
        if not verb:
            if operands:
                hint = self.importer.hint(operands[0].name, _verbs())
                self.importer.skipped(line, operands[0].name, f"is not a command of DFHCSDUP{hint}")
            return
        if verb not in ("DEFINE", "USERDEFINE"):
            self.importer.skipped(line, verb, "only DEFINE commands are imported", fault=False)
            return
        if not operands or operands[0].value is None:
            self.importer.skipped(line, "DEFINE", "names no resource")
            return
        self.define(operands[0], operands[1:], line)

    def define(self, first: Operand, rest: list[Operand], line: int) -> None:
        kind = self.importer.resource_type(first.name)
        if kind is None:
            self.importer.unknown_type(first)
            return
        groups = [operand for operand in rest if _is_group(operand)]
        group = (groups[0].value or "") if groups else ""
        for again in groups[1:]:
            self.importer.skipped(
                again.line, f"{kind}({first.value}) GROUP({again.value})", f"is given twice; {group} is taken"
            )
        attributes = [operand for operand in rest if not _is_group(operand)]
        if kind == "TDQUEUE":
            attributes = self.rehosted(f"{kind}({first.value})", attributes)
        self.importer.define(kind, first.value or "", group, attributes, line)

    def rehosted(self, title: str, attributes: list[Operand]) -> list[Operand]:
        """Replace TYPE(INTRDR), which rehosting products use for an output queue on an internal reader."""
        written = next(
            (item for item in attributes if item.name.upper() == "TYPE" and (item.value or "").upper() == "INTRDR"),
            None,
        )
        if written is None:
            return attributes
        message = "INTRDR becomes EXTRA, TYPEFILE(OUTPUT); give its DD name a card with sysout: A,INTRDR"
        self.importer.changed(written.line, f"{title} TYPE", message)
        others = [item for item in attributes if item is not written and item.name.upper() != "TYPEFILE"]
        return [written._replace(value="EXTRA"), Operand("TYPEFILE", "OUTPUT", written.line), *others]


def _is_group(operand: Operand) -> bool:
    name = operand.name.upper()
    return operand.value is not None and bool(name) and "GROUP".startswith(name)


def _closing_parentheses(text: str) -> dict[int, int]:
    """The position of the closing parenthesis for each opening one that is closed."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for match in re.finditer(r"[()]", text):
        if match[0] == "(":
            opened.append(match.start())
        elif opened:
            closing[opened.pop()] = match.start()
    return closing
