"""DFHCSDUP command text in: DEFINE statements, as they stand in files, jobs and the output of EXTRACT.

Only columns 1 to 72 of card images (lines of at most 80) are read; longer lines come from elsewhere and are read whole.
A ``*`` in column 1 makes a comment, also within a command. When the text is a job (there is a line beginning with
``//``) only its in-stream data is read. A command ends where the next command's verb begins, that is a word of
``facts/csd_commands.tsv`` without a parenthesis behind it; any other such word at the beginning of a line that the
command has no use for is taken for a verb that is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from tdqsim.definitions.imports import Imported, Importer, Operand, is_attribute
from tdqsim.facts import table

__all__ = ["parse_csd"]

_CARD = 80
_TEXT = 72
_SEQUENCE = re.compile(r"[A-Z0-9 ]*[0-9][A-Z0-9 ]*", re.ASCII)
_INSTREAM = re.compile(r"//\S{0,17}\s+DD\s+(\*|DATA)([,\s].*)?", re.ASCII | re.IGNORECASE)
_DELIMITER = re.compile(r"DLM='?([^',\s]{2})", re.ASCII | re.IGNORECASE)
_STEP = re.compile(r"//\S{0,17}\s+EXEC\s+(PGM=(?P<program>\w+))?", re.ASCII | re.IGNORECASE)
_SYSIN = re.compile(r"//(\S{0,8}\.)?SYSIN\s+DD\s", re.ASCII | re.IGNORECASE)
_DEFINE_LINE = re.compile(r"\s*(?:USERDEFINE|DEFINE|DEF|DEFI|DEFIN)\s+[A-Za-z]\w*\s*\(", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_STRANGE = re.compile(r"[^A-Za-z_]++")
_QUOTED = re.compile(r"\s*'((?:[^']|'')*+)'\s*\)", re.ASCII)
_SPACES = re.compile(r"\s*+")


class _Line(NamedTuple):
    text: str
    number: int
    full: bool  # the text reaches the last column that is read, so a value goes on without a blank


def parse_csd(text: str, *, file: str = "<csd>") -> Imported:
    """The definitions in DFHCSDUP command text, and reports about everything that is not used."""
    importer = Importer(file)
    lines = list(_command_lines(text, importer))
    for segment in _segments(lines):
        _Segment(segment, importer).read()
    return importer.result()


def _command_lines(text: str, importer: Importer) -> Iterator[_Line]:
    """The lines that hold commands: no comments, no job control, no sequence numbers."""
    raw = text.removeprefix("\ufeff").split("\n")
    is_job = any(line.startswith("//") for line in raw)
    stream = _instream(raw, importer) if is_job else enumerate(raw, 1)
    for number, written in stream:
        line = written.rstrip("\r\f \x1a").expandtabs()
        if line and not line.startswith("*") and not line.startswith("/*"):
            yield _cut(line, number, importer)


def _cut(line: str, number: int, importer: Importer) -> _Line:
    if len(line) <= _TEXT or len(line) > _CARD:
        return _Line(line, number, len(line) == _TEXT)
    rest = line[_TEXT:]
    if not _SEQUENCE.fullmatch(rest):
        importer.skipped(number, rest.strip(), "stands beyond column 72, which is not read")
    return _Line(line[:_TEXT].rstrip(), number, line[_TEXT - 1] != " ")


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
                importer.skipped(number, line.split()[0], "is data of another program than DFHCSDUP")
            elif not ends and wanted and _SYSIN.match(line):
                importer.skipped(number, line.split()[0], "names a data set, whose commands are not in this text")


def _data_ends(line: str) -> tuple[str, ...]:
    """What ends the in-stream data that this statement begins; empty when it begins none."""
    match = _INSTREAM.match(line.rstrip())
    if match is None:
        return ()
    delimiter = _DELIMITER.search(match[2] or "")
    if delimiter:
        return (delimiter[1],)
    return ("/*",) if match[1] == "DATA" else ("/*", "//")


def _segments(lines: list[_Line]) -> Iterator[list[_Line]]:
    """Lines up to the next one that surely begins a definition: an open parenthesis then spoils one definition only."""
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
    """The words without a value that a command may have."""
    return {row["name"]: frozenset(row["words"].split()) for row in table("csd_commands")}


def _verb(word: str) -> str | None:
    """The command that a word is; DEF and longer beginnings are DEFINE, and so is USERDEFINE."""
    upper = word.upper()
    if (len(upper) >= 3 and "DEFINE".startswith(upper)) or upper == "USERDEFINE":
        return "DEFINE"
    return upper if upper in _verbs() else None


class _Segment:
    """One or more commands as one text, with the way back to line numbers."""

    def __init__(self, lines: list[_Line], importer: Importer) -> None:
        self.importer = importer
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
        """The line number of a position; positions only ever grow."""
        while self.at_line + 1 < len(self.starts) and self.starts[self.at_line + 1] <= position:
            self.at_line += 1
        return self.lines[self.at_line].number

    def read(self) -> None:
        """Split the text into commands and hand each one over."""
        verb = ""
        begun = self.lines[0].number
        operands: list[Operand] = []
        for operand in self.operands():
            found = _verb(operand.name) if operand.value is None else None
            if found:
                self.command(verb, operands, begun)
                verb, operands, begun = found, [], operand.line
            elif operand.value is None and operand.leads and not self.belongs(verb, operands, operand):
                self.command(verb, operands, begun)
                verb, operands, begun = "", [operand], operand.line
            else:
                operands.append(operand)
        self.command(verb, operands, begun)

    def belongs(self, verb: str, operands: list[Operand], word: Operand) -> bool:
        """Whether a word that begins a line can be part of the command; if not it is meant as a verb."""
        if verb == "DEFINE":
            kind = self.importer.resource_type(operands[0].name) if operands else None
            return kind is not None and is_attribute(kind, word.name)
        return word.name.upper() in _words_of().get(verb, ())

    def operands(self) -> Iterator[Operand]:
        """The words of the text, each with the value behind it."""
        position = behind = 0  # behind the last thing that is not blank
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
        """Pass over what is no word; report it unless it is blank, a comma, a period or a semicolon."""
        match = _STRANGE.match(self.text, position)
        end = match.end() if match else position + 1
        found = self.text[position:end].strip(" \n,.;)-+")
        if found:
            self.importer.skipped(self.line_at(position), found[:40], "is not understood")
        return end

    def value(self, opening: int) -> tuple[str, int]:
        """The value in the parentheses that open here, and the position behind it."""
        quoted = _QUOTED.match(self.text, opening + 1)
        if quoted:
            return self.joined(quoted[1], quoted.start(1)).replace("''", "'"), quoted.end()  # its blanks are meant
        closing = self.closing.get(opening)
        if closing is None:
            end = self.text.find("\n", opening)
            closing = len(self.text) if end < 0 else end
            self.importer.kept(
                self.line_at(opening), self.text[opening : opening + 20], "is not closed; it ends with its line"
            )
        return self.joined(self.text[opening + 1 : closing], opening + 1).strip(), closing + 1

    def joined(self, value: str, start: int) -> str:
        """A value without its line breaks: one blank for each, or none where the line was full."""
        if "\n" not in value:
            return value
        parts = value.split("\n")
        self.line_at(start)
        index = self.at_line
        result = parts[0]
        for offset, part in enumerate(parts[1:]):
            result += part if self.lines[index + offset].full else f" {part.strip()}"
        return result

    def command(self, verb: str, operands: list[Operand], line: int) -> None:
        """Use one command, or report that it is not used."""
        if not verb:
            if operands:
                self.importer.skipped(line, operands[0].name, "is not a command of DFHCSDUP")
            return
        if verb != "DEFINE":
            self.importer.skipped(line, verb, "only DEFINE commands are imported")
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
        """TYPE(INTRDR) of rehosting products: an extrapartition queue for output on an internal reader."""
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
    """Where each parenthesis that opens is closed; one that is never closed is missing."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for match in re.finditer(r"[()]", text):
        if match[0] == "(":
            opened.append(match.start())
        elif opened:
            found[opened.pop()] = match.start()
    return found
