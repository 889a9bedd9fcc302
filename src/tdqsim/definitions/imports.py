"""What every import gives back, and the way from an operand list to a resource.

Imports read text that was made for another program, often for another machine. What they cannot use is reported with
its line and skipped, and the rest is kept: an import is the one place where half is better than nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from tdqsim.definitions._build import RESOURCE_CLASSES, build, known_attributes, resource_types
from tdqsim.definitions._fields import Name, spoken
from tdqsim.definitions._resource import Resource
from tdqsim.definitions.group import Definitions, GroupEntry
from tdqsim.definitions.tdqueue import TDQUEUE_CLASSES
from tdqsim.facts import LIMITS

__all__ = ["ImportReport", "Imported", "Importer", "Operand", "expand", "is_attribute", "unexpanded"]

_PLACEHOLDER = re.compile(r"&\w+\.?|@\w+@|<[^<>\n]{1,80}>|\{\{[^{}\n]{1,80}\}\}|%\w+%", re.ASCII)
_ATTRIBUTE_NAME = re.compile(r"[A-Z][A-Z0-9]{0,31}", re.ASCII)


class ImportReport(NamedTuple):
    """Something in the text that the reader of the result should know.

    Attributes:
        line: from 1.
        subject: what it is about, such as ``TDQUEUE(PAYQ) FOO``.
        action: ``skipped``: it is not in the result; ``kept``: it is, as described; ``changed``: it is, altered.
        message: why.
    """

    line: int
    subject: str
    action: Literal["skipped", "kept", "changed"]
    message: str

    def __str__(self) -> str:
        """The report on one line."""
        return f"line {self.line}: {self.subject}: {self.action}: {self.message}"


class Imported(NamedTuple):
    """What an import found, and what it could not use."""

    definitions: Definitions
    reports: tuple[ImportReport, ...]


class Operand(NamedTuple):
    """``NAME(value)`` with its line; ``value`` is None for a word alone; ``leads``: nothing stands before it there."""

    name: str
    value: str | None
    line: int
    leads: bool = False


def expand(word: str, names: Collection[str]) -> str | None:
    """The name that the word is, or is a unique abbreviation of; None when there is no such name, or several."""
    if word in names:
        return word
    found = [name for name in names if name.startswith(word)] if word else []
    return found[0] if len(found) == 1 else None


def unexpanded(word: str, names: Collection[str], what: str) -> str:
    """Why :func:`expand` found nothing: ``is not ...``, or which names the word may be."""
    found = sorted(name for name in names if name.startswith(word)) if word else []
    return f"may be {spoken([name.upper() for name in found])}; write more of it" if found else f"is not {what}"


@cache
def _keyword_values(kind: str) -> dict[str, tuple[str, ...]]:
    """The words that each keyword attribute of a kind may be, by lower-case attribute."""
    classes = list(TDQUEUE_CLASSES.values()) if kind == "TDQUEUE" else [RESOURCE_CLASSES[kind]]
    found = {}
    for resource_class in classes:
        for name, info in resource_class.model_fields.items():
            words = get_args(info.annotation)
            if words and all(isinstance(word, str) for word in words):
                found[name] = tuple(word for word in words if word)
    if kind == "TDQUEUE":
        found["type"] = tuple(queue_type for queue_type in TDQUEUE_CLASSES if queue_type)
    return found


def _printable(text: str) -> str:
    """Text of a stranger's file as a terminal may be given it."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)


@cache
def _upper_case_names(kind: str) -> Mapping[str, Name]:
    """The attributes of a kind that are names in which lower case means nothing."""
    classes = TDQUEUE_CLASSES.values() if kind == "TDQUEUE" else [RESOURCE_CLASSES.get(kind, Resource)]
    found = {}
    for resource_class in classes:
        for attribute, info in resource_class.model_fields.items():
            name = next((item for item in info.metadata if isinstance(item, Name)), None)
            if name is not None:
                found[attribute] = name
    return found


def _folded(kind: str, attribute: str, value: str) -> str:
    """The value in upper case where lower case would be no name, as DFHCSDUP folds what is not mixed-case."""
    name = _upper_case_names(kind).get(attribute)
    if name is None or value.isupper() or not value.isascii() or name.accepts(value):
        return value
    return value.upper() if name.accepts(value.upper()) else value


@cache
def _all_attributes(kind: str) -> frozenset[str]:
    if kind != "TDQUEUE":
        return known_attributes(kind)
    return frozenset().union(*(known_attributes(kind, queue_type) for queue_type in TDQUEUE_CLASSES))


def is_attribute(kind: str, word: str) -> bool:
    """Whether the word is an attribute of a resource type that has classes of its own, or begins one."""
    known = kind in RESOURCE_CLASSES or kind == "TDQUEUE"
    return known and any(name.startswith(word.lower()) for name in _all_attributes(kind))


def _is_default(kind: str, attribute: str, value: str | None) -> bool:
    """Whether the value is the attribute's default: listings show it even where it does not apply."""
    if value is None:
        return False
    number = (value.lstrip("0") or "0") if value.isascii() and value.isdigit() else None
    if number == "0":
        return True  # a listing's way to say that there is none
    classes = TDQUEUE_CLASSES.values() if kind == "TDQUEUE" else filter(None, [RESOURCE_CLASSES.get(kind)])
    fields = (resource_class.model_fields.get(attribute) for resource_class in classes)
    return any(info is not None and str(info.default) in {value, number} for info in fields)


@dataclass(slots=True)
class Importer:
    """Collects resources and reports of one text.

    Attributes:
        file: the name that entries give as their place.
    """

    file: str
    entries: list[GroupEntry] = field(default_factory=list)
    reports: list[ImportReport] = field(default_factory=list)
    seen: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def result(self) -> Imported:
        """What was collected; reports in line order."""
        reports = sorted(self.reports, key=lambda report: report.line)
        return Imported(Definitions(tuple(self.entries)), tuple(reports))

    def skipped(self, line: int, subject: str, message: str) -> None:
        """Report something that is not in the result."""
        self._report(line, subject, "skipped", message)

    def kept(self, line: int, subject: str, message: str) -> None:
        """Report something that is in the result and needs a look."""
        self._report(line, subject, "kept", message)

    def changed(self, line: int, subject: str, message: str) -> None:
        """Report something that is in the result in another form."""
        self._report(line, subject, "changed", message)

    def _report(self, line: int, subject: str, action: Literal["skipped", "kept", "changed"], message: str) -> None:
        if len(self.reports) < LIMITS["import_reports"]:
            self.reports.append(ImportReport(line, _printable(subject[:80]), action, _printable(message)))

    def define(self, kind: str, name: str, group: str, operands: Iterable[Operand], line: int) -> Resource | None:
        """Make a resource of the operands, leaving out with a report what cannot be used.

        Args:
            kind: the resource type, in full.
            name: the resource's name as written.
            group: the group's name as written.
            operands: its attributes as written, full names or abbreviations, any case.
            line: where the definition begins.
        """
        title = f"{kind}({name})"
        operands = list(operands)
        if not group:
            self.skipped(line, title, "has no group")
            return None
        lines: dict[str, int] = {}
        values: dict[str, Any] = {"name": name}
        for operand in operands:
            self._take(kind, title, operand, values, lines)
        for attribute in values.keys() - {"description"}:
            value = self._national(title, lines.get(attribute, line), values[attribute])
            values[attribute] = _folded(kind, attribute, value)
        group = _folded(kind, "group", self._national(title, line, group))
        resource = self._built(kind, title, group, values, {"": line, **lines})
        if resource is not None:
            self._note_placeholders(title, {"group": group, **values}, lines, line)
            self._keep(kind, resource, line)
        return resource

    def _take(self, kind: str, title: str, operand: Operand, values: dict[str, Any], lines: dict[str, int]) -> None:
        subject = f"{title} {operand.name}"
        if operand.value is None:
            self.skipped(operand.line, subject, "is a word without a value")
            return
        attribute: str | None = operand.name.lower()
        if kind in RESOURCE_CLASSES or kind == "TDQUEUE":
            attribute = expand(operand.name.lower(), _all_attributes(kind))
        elif not _ATTRIBUTE_NAME.fullmatch(operand.name.upper()):
            attribute = None
        if attribute is None or attribute == "name":
            known = _all_attributes(kind) - {"name"} if kind in RESOURCE_CLASSES or kind == "TDQUEUE" else ()
            self.skipped(operand.line, subject, unexpanded(operand.name.lower(), known, f"an attribute of {kind}"))
        elif attribute in lines:
            self.skipped(operand.line, subject, f"is given twice, first in line {lines[attribute]}")
        else:
            lines[attribute] = operand.line
            values[attribute] = self._full_value(kind, attribute, operand.value)

    @staticmethod
    def _full_value(kind: str, attribute: str, value: str) -> str:
        """The value with a keyword written out in full."""
        if kind not in RESOURCE_CLASSES and kind != "TDQUEUE":
            return value
        return expand(value.upper(), _keyword_values(kind).get(attribute, ())) or value

    def _national(self, title: str, line: int, value: str) -> str:
        """X'5B' is $ in one code page and the pound sign in another: the same character to CICS."""
        if "£" not in value:
            return value
        self.changed(line, title, "the pound sign is taken for $, the same character X'5B'")
        return value.replace("£", "$")

    def _built(
        self, kind: str, title: str, group: str, values: dict[str, Any], lines: dict[str, int]
    ) -> Resource | None:
        """Try, leave out what is wrong, try again: at most once for each attribute."""
        line = lines[""]
        for _ in range(len(values) + 1):
            resource, faults = build(kind, values, group)
            if resource is not None:
                return resource
            for fault in faults:
                if not _is_default(kind, fault.attribute, values.get(fault.attribute)):
                    shown = f" = {fault.value!r}" if fault.value else ""
                    site = _PLACEHOLDER.search(fault.value)
                    hint = f"; {site[0]} looks like a placeholder" if site else ""
                    where = lines.get(fault.attribute, line)
                    self.skipped(where, f"{title} {fault.attribute}".strip(), f"{fault.message}{shown}{hint}")
            wrong = {fault.attribute for fault in faults}
            if "name" in wrong or not wrong <= values.keys():
                break
            for attribute in wrong:
                del values[attribute]
        self.skipped(line, title, "cannot be defined without what is wrong or missing")
        return None

    def _note_placeholders(self, title: str, values: dict[str, Any], lines: dict[str, int], line: int) -> None:
        for attribute, value in values.items():
            found = _PLACEHOLDER.search(value) if attribute != "description" else None
            if found:
                where = lines.get(attribute, line)
                self.kept(where, f"{title} {attribute}", f"{found[0]} looks like a placeholder; it is kept as text")

    def _keep(self, kind: str, resource: Resource, line: int) -> None:
        key = (resource.group, kind, resource.resource_name)
        first = self.seen.get(key)
        if first is not None:
            self.skipped(line, resource.title, f"is defined twice in group {resource.group}, first in line {first}")
            return
        self.seen[key] = line
        self.entries.append(GroupEntry(resource, self.file, line))

    def unknown_type(self, operand: Operand) -> None:
        """Report an unknown resource type."""
        why = unexpanded(operand.name.upper(), resource_types().keys(), "a resource type that is known")
        self.skipped(operand.line, f"{operand.name.upper()}({operand.value})", why)

    @staticmethod
    def resource_type(word: str) -> str | None:
        """The resource type that a word is or begins."""
        return expand(word.upper(), resource_types().keys())
