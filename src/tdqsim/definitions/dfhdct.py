"""Import of DFHDCT macro source: the destination control table of older releases, and the similar KIKDCT of KICKS.

Assembler rules apply: a ``*`` in column 1 begins a comment; the operand field ends at the first blank outside quotes;
any character in column 72 continues the statement at column 16 of the next line. A trailing comma also counts as a
continuation, because some files have lost column 72. An SDSCI entry and the EXTRA entry that names it become one
definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tdqsim.definitions.dct_operands import FORMATS, READ, RECOVERY
from tdqsim.definitions.imports import Imported, Importer, Operand

_MACROS = ("DFHDCT", "KIKDCT")
_TEXT = 71  # the last column of a statement; the next one marks a continuation
_CONTINUE_AT = 15
_STATEMENT = re.compile(r"(?P<label>\S*)\s+(?P<operation>\S+)(\s+(?P<rest>.*))?", re.ASCII)
_MACRO_LINE = re.compile(r"\S*\s+(DFHDCT|KIKDCT|END)\b", re.ASCII | re.IGNORECASE)
_NAME_LENGTH = 4
_RECFORM = re.compile(r"(FIX|VAR)(BLK|UNB)([AM]?)", re.ASCII)
_RECOVERY = {word: status for status, word in RECOVERY.items()}
_FORMATS = {word: name for name, word in FORMATS.items()}
_TYPE_NAMES = {"INDIR": "INDIRECT"}


class _Statement(NamedTuple):
    operation: str
    operands: tuple[Operand, ...]
    line: int

    def value(self, name: str) -> str:
        return next((operand.value or "" for operand in self.operands if operand.name == name), "")


def parse_dct(text: str, *, group: str = "", file: str = "<dct>") -> Imported:
    """Import the queues in DFHDCT or KIKDCT macro source; everything that is not used is reported.

    Args:
        text: the source.
        group: the group for the queues; by default that of a TYPE=GROUP entry, or else ``DCT`` and the SUFFIX.
        file: the file name for the place of entries.
    """
    importer = Importer(file)
    table = _Table(importer, group)
    statements = [statement for statement in _statements(text, importer) if table.takes(statement)]
    table.collect(statements)
    for statement in statements:
        table.define(statement)
    for name, statement in table.unused.items():
        importer.skipped(statement.line, f"SDSCI {name}", "no EXTRA entry names it")
    return importer.result()


def _statements(text: str, importer: Importer) -> Iterator[_Statement]:
    for line, parts in _logical_lines(text, importer):
        match = _STATEMENT.match(parts)
        if match is None or line == 0:
            continue
        operation = match["operation"].upper()
        operands = tuple(_operands(match["rest"] or "", line))
        if operation in ("END", "PRINT", "TITLE", "EJECT", "SPACE", "COPY"):
            if operation == "COPY":
                importer.skipped(line, "COPY", "the copied source is not there")
            continue
        yield _Statement(operation, operands, line)


def _logical_lines(text: str, importer: Importer) -> Iterator[tuple[int, str]]:
    """Statements joined to one line each, without remarks, with the number of their first line."""
    collected: list[str] = []
    first_line = 0
    open_quote = False
    more = was_marked = False
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.rstrip("\r\f\x1a").expandtabs()
        if more and _MACRO_LINE.match(line):
            if was_marked:
                why = "stands in columns 1 to 15 of a continuation; taken as a separate statement"
                importer.changed(number, line[:_CONTINUE_AT].strip() or line.split()[0], why)
            yield first_line, "".join(collected)
            more = False
        if not more and (line.startswith(("*", ".*", "/")) or not line.strip()):
            continue
        body = line[:_TEXT]
        marked = len(line) > _TEXT and line[_TEXT] != " "
        if not more:
            collected, first_line, open_quote = [], number, False
        field, open_quote = _operand_field(body, is_first=not more, open_quote=open_quote, marked=marked)
        collected.append(field)
        was_marked = marked
        more = marked or field.endswith(",")
        if not more:
            yield first_line, "".join(collected)
    if more and collected:
        yield first_line, "".join(collected)


def _operand_field(body: str, *, is_first: bool, open_quote: bool, marked: bool) -> tuple[str, bool]:
    """The part of a line up to the end of the operand field, and whether a quote is still open."""
    start = 0
    if is_first:
        match = re.match(r"\S*\s+\S+\s*", body, re.ASCII)
        start = match.end() if match else len(body)
        head, rest = body[:start], body[start:]
    else:
        head, rest = "", body[_CONTINUE_AT:] if marked or body[:_CONTINUE_AT].isspace() else body.lstrip()
    for index, character in enumerate(rest):
        if character == "'":
            open_quote = not open_quote
        elif character == " " and not open_quote:
            return head + rest[:index], False
    return head + rest, open_quote


def _operands(field: str, line: int) -> Iterator[Operand]:
    """The operands ``NAME=VALUE``, separated by commas outside parentheses and quotes."""
    depth = 0
    quoted = False
    start = 0
    for index, character in enumerate(f"{field},"):
        if character == "'":
            quoted = not quoted
        elif not quoted:
            depth += (character == "(") - (character == ")")
        if character == "," and (index == len(field) or (not quoted and depth <= 0)):
            name, equals, value = field[start:index].partition("=")
            if name:
                yield Operand(name.strip().upper(), value.strip() if equals else None, line)
            start = index + 1


class _Table:
    """Converts the entries of one table to definitions."""

    def __init__(self, importer: Importer, group: str) -> None:
        self.importer = importer
        self.fixed_group = group
        self.group = group or "DCT"
        self.sdsci: dict[str, _Statement] = {}
        self.unused: dict[str, _Statement] = {}

    def takes(self, statement: _Statement) -> bool:
        """Whether the statement is a macro of the table; other statements are reported."""
        if statement.operation in _MACROS:
            return True
        self.importer.skipped(statement.line, statement.operation, f"is none of {' and '.join(_MACROS)}", fault=False)
        return False

    def collect(self, statements: list[_Statement]) -> None:
        """Collect the SDSCI entries first, because EXTRA entries before or after them may name them."""
        for statement in statements:
            if _type(statement) == "SDSCI":
                name = statement.value("DSCNAME")
                self.sdsci[name] = statement
                self.unused[name] = statement

    def define(self, statement: _Statement) -> None:
        """Convert one entry to a definition."""
        kind = _type(statement)
        if kind in {"SDSCI", "FINAL"}:
            return
        if kind in ("INITIAL", "GROUP"):
            self.frame(statement)
        elif kind in READ:
            self.queue(kind, statement)
        else:
            self.importer.skipped(statement.line, f"TYPE={kind}", "is not an entry of a destination control table")

    def frame(self, statement: _Statement) -> None:
        if not self.fixed_group:
            suffix = statement.value("SUFFIX")
            self.group = statement.value("GROUP") or (f"DCT{suffix}" if suffix else self.group)

    def queue(self, kind: str, statement: _Statement) -> None:
        name = statement.value("DESTID")
        title = f"TDQUEUE({name})"
        if len(name) > _NAME_LENGTH:
            self.importer.changed(statement.line, title, f"is cut to {name[:_NAME_LENGTH]}, as the macro does")
            name = name[:_NAME_LENGTH]
        operands = [] if kind == "REMOTE" else [Operand("TYPE", kind, statement.line)]
        operands += self.mapped(kind, title, statement)
        self.importer.define("TDQUEUE", name, self.group, operands, statement.line)

    def mapped(self, kind: str, title: str, statement: _Statement) -> Iterator[Operand]:
        names = READ[kind]
        remote = any(operand.name in ("SYSIDNT", "SYSIDENT") for operand in statement.operands)
        for operand in statement.operands:
            if operand.name in ("TYPE", "DESTID"):
                continue
            if operand.name not in names:
                self.importer.skipped(
                    operand.line, f"{title} {operand.name}", f"has no counterpart in a queue of type {kind}"
                )
            elif operand.name in ("LENGTH", "RMTNAME") and not remote:
                self.importer.skipped(operand.line, f"{title} {operand.name}", "means nothing without SYSIDNT")
            else:
                yield from self.translated(title, names[operand.name], operand)
            if operand.name == "DSCNAME" and kind == "EXTRA":
                yield from self.described(title, operand)

    def described(self, title: str, operand: Operand) -> Iterator[Operand]:
        """The attributes from the SDSCI entry that the operand names."""
        name = operand.value or ""
        self.unused.pop(name, None)
        entry = self.sdsci.get(name)
        if entry is None:
            self.importer.kept(operand.line, f"{title} DSCNAME", f"there is no SDSCI entry {name}")
            return
        for item in entry.operands:
            if item.name in READ["SDSCI"]:
                yield from self.translated(title, READ["SDSCI"][item.name], item)
            elif item.name not in ("TYPE", "DSCNAME"):
                reason = "has no counterpart in a TDQUEUE"
                self.importer.skipped(item.line, f"SDSCI {name} {item.name}", reason, fault=False)

    def translated(self, title: str, attribute: str, operand: Operand) -> Iterator[Operand]:
        """Convert one operand to operands of a TDQUEUE definition."""
        value = operand.value or ""
        if attribute == "recordformat":
            yield from self.record_format(title, operand)
        elif attribute == "atifacility":
            parts = value.strip("()").split(",")
            yield Operand("ATIFACILITY", parts[0], operand.line)
            if len(parts) > 1:
                yield Operand("FACILITYID", parts[1], operand.line)
        elif attribute == "recovstatus":
            yield Operand("RECOVSTATUS", _RECOVERY.get(value.upper(), value), operand.line)
        else:
            text = _unquoted(value) if attribute == "transid" else value.strip("()")
            yield Operand(attribute.upper(), text, operand.line)

    def record_format(self, title: str, operand: Operand) -> Iterator[Operand]:
        match = _RECFORM.fullmatch((operand.value or "").upper())
        if match is None:
            message = "must be FIXUNB, FIXBLK, VARUNB or VARBLK, with A or M behind it for print control"
            self.importer.skipped(operand.line, f"{title} RECFORM", message)
            return
        yield Operand("RECORDFORMAT", _FORMATS[match[1]], operand.line)
        yield Operand("BLOCKFORMAT", _FORMATS[match[2]], operand.line)
        if match[3]:
            yield Operand("PRINTCONTROL", match[3], operand.line)


def _unquoted(value: str) -> str:
    return value[1:-1].replace("''", "'") if len(value) > 1 and value[0] == value[-1] == "'" else value


def _type(statement: _Statement) -> str:
    first = statement.value("TYPE").strip("()").split(",")[0].upper()
    return _TYPE_NAMES.get(first, first)
