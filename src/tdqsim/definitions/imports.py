"""The result of an import, and the conversion of a list of operands to a resource.

Imports read text that was written for another program, often on another machine. Anything that they cannot use is
reported with its line and skipped, and the rest is kept: unlike elsewhere, a partial result is better than none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from tdqsim.core.spelling import did_you_mean
from tdqsim.definitions._build import RESOURCE_CLASSES, build, known_attributes, resource_types
from tdqsim.definitions._fields import Name, spoken
from tdqsim.definitions._resource import Resource
from tdqsim.definitions.group import Definitions, GroupEntry
from tdqsim.definitions.tdqueue import TDQUEUE_CLASSES
from tdqsim.facts import LIMITS

_PLACEHOLDER = re.compile(r"&\w+\.?|@\w+@|<[^<>\n]{1,80}>|\{\{[^{}\n]{1,80}\}\}|%\w+%", re.ASCII)
_ATTRIBUTE_NAME = re.compile(r"[A-Z][A-Z0-9]{0,31}", re.ASCII)


class ImportReport(NamedTuple):
    """A report about a part of the text.

    Attributes:
        line: the line, from 1.
        subject: the part concerned, such as ``TDQUEUE(PAYQ) FOO``.
        action: ``skipped``: it is not in the result; ``kept``: it is in the result, but needs a check; ``changed``: it
            is in the result in another form.
        message: the reason.
        fault: whether text that belongs to the import is dropped or cut; it is not for commands of other kinds.
    """

    line: int
    subject: str
    action: Literal["skipped", "kept", "changed"]
    message: str
    fault: bool = False

    def __str__(self) -> str:
        """The report on one line."""
        return f"line {self.line}: {self.subject}: {self.action}: {self.message}"


class Imported(NamedTuple):
    """The result of an import: the definitions, and reports about everything else."""

    definitions: Definitions
    reports: tuple[ImportReport, ...]


class Operand(NamedTuple):
    """``NAME(value)`` with its line; ``value`` is None for a single word; ``leads``: it is the first on its line."""

    name: str
    value: str | None
    line: int
    leads: bool = False


def expand(word: str, names: Collection[str]) -> str | None:
    """The name that a word equals or uniquely abbreviates; None when there is no such name, or more than one."""
    if word in names:
        return word
    matching = [name for name in names if name.startswith(word)] if word else []
    return matching[0] if len(matching) == 1 else None


def unexpanded(word: str, names: Collection[str], what: str) -> str:
    """The reason why :func:`expand` returned None: ``is not ...``, or the names that the word may abbreviate."""
    matching = sorted(name for name in names if name.startswith(word)) if word else []
    if matching:
        return f"may be {spoken([name.upper() for name in matching])}; write more of it"
    return f"is not {what}"


@cache
def _keyword_values(kind: str) -> dict[str, tuple[str, ...]]:
    """The allowed words of each keyword attribute of a kind, by lower-case attribute name."""
    classes = list(TDQUEUE_CLASSES.values()) if kind == "TDQUEUE" else [RESOURCE_CLASSES[kind]]
    values = {}
    for resource_class in classes:
        for name, info in resource_class.model_fields.items():
            words = get_args(info.annotation)
            if words and all(isinstance(word, str) for word in words):
                values[name] = tuple(word for word in words if word)
    if kind == "TDQUEUE":
        values["type"] = tuple(queue_type for queue_type in TDQUEUE_CLASSES if queue_type)
    return values


def _printable(text: str) -> str:
    """Text from an untrusted file, made safe for a terminal."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)


@cache
def _upper_case_names(kind: str) -> Mapping[str, Name]:
    """The attributes of a kind that are names."""
    classes = TDQUEUE_CLASSES.values() if kind == "TDQUEUE" else [RESOURCE_CLASSES.get(kind, Resource)]
    names = {}
    for resource_class in classes:
        for attribute, info in resource_class.model_fields.items():
            name = next((item for item in info.metadata if isinstance(item, Name)), None)
            if name is not None:
                names[attribute] = name
    return names


def _folded(kind: str, attribute: str, value: str) -> str:
    """Convert a name to upper case if lower case is not allowed in it, as DFHCSDUP does."""
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
    """Whether the word is an attribute, or the beginning of one, of a resource type that has its own class."""
    known = kind in RESOURCE_CLASSES or kind == "TDQUEUE"
    return known and any(name.startswith(word.lower()) for name in _all_attributes(kind))


def _is_default(kind: str, attribute: str, value: str | None) -> bool:
    """Whether the value is the attribute's default, which listings contain even if the attribute does not apply."""
    if value is None:
        return False
    number = (value.lstrip("0") or "0") if value.isascii() and value.isdigit() else None
    if number == "0":
        return True  # a listing has 0 for an omitted number
    classes = TDQUEUE_CLASSES.values() if kind == "TDQUEUE" else filter(None, [RESOURCE_CLASSES.get(kind)])
    fields = (resource_class.model_fields.get(attribute) for resource_class in classes)
    return any(info is not None and str(info.default) in {value, number} for info in fields)


@dataclass(slots=True)
class Importer:
    """Collects the resources and reports of one text.

    Attributes:
        file: the file name for the place of entries.
    """

    file: str
    entries: list[GroupEntry] = field(default_factory=list)
    reports: list[ImportReport] = field(default_factory=list)
    defined_at: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def result(self) -> Imported:
        """The collected definitions, and the reports sorted by line."""
        reports = sorted(self.reports, key=lambda report: report.line)
        return Imported(Definitions(tuple(self.entries)), tuple(reports))

    def skipped(self, line: int, subject: str, message: str, *, fault: bool = True) -> None:
        """Report a part of the text that is not in the result; it is no fault if it does not belong to the import."""
        self._report(line, subject, "skipped", message, fault=fault)

    def hint(self, word: str, names: Collection[str]) -> str:
        """The most similar name, for the end of a report; none for reports beyond the limit."""
        if len(self.reports) >= LIMITS["import_reports"] or any(name.startswith(word.upper()) for name in names):
            return ""
        return did_you_mean(word, names)

    def kept(self, line: int, subject: str, message: str, *, fault: bool = False) -> None:
        """Report a part of the text that is in the result but needs a check; a fault if it was cut."""
        self._report(line, subject, "kept", message, fault=fault)

    def changed(self, line: int, subject: str, message: str) -> None:
        """Report a part of the text that is in the result in another form."""
        self._report(line, subject, "changed", message)

    def _report(
        self,
        line: int,
        subject: str,
        action: Literal["skipped", "kept", "changed"],
        message: str,
        *,
        fault: bool = False,
    ) -> None:
        if len(self.reports) < LIMITS["import_reports"]:
            self.reports.append(ImportReport(line, _printable(subject[:80]), action, _printable(message), fault))

    def define(self, kind: str, name: str, group: str, operands: Iterable[Operand], line: int) -> Resource | None:
        """Make a resource from operands; those that cannot be used are reported and left out.

        Args:
            kind: the resource type, not abbreviated.
            name: the resource's name as written.
            group: the group's name as written.
            operands: its attributes as written: full names or abbreviations, in any case.
            line: the line where the definition begins.
        """
        title = f"{kind}({name})"
        operands = list(operands)
        if not group:
            self.skipped(line, title, "has no group")
            return None
        values, lines = self.attributes(kind, title, operands)
        values = {"name": _folded(kind, "name", self._national(title, line, name)), **values}
        group = _folded(kind, "group", self._national(title, line, group))
        resource = self._built(kind, title, group, values, {"": line, **lines})
        if resource is not None:
            self._note_placeholders(title, {"group": group, **values}, lines, line)
            self._keep(kind, resource, line)
        return resource

    def attributes(self, kind: str, title: str, operands: Iterable[Operand]) -> tuple[dict[str, Any], dict[str, int]]:
        """The attributes of a resource among operands: full names in lower case with their values, and their lines.

        Args:
            kind: the resource type, not abbreviated.
            title: the resource, for reports about operands that cannot be used.
            operands: full names or abbreviations, in any case.
        """
        lines: dict[str, int] = {}
        values: dict[str, Any] = {}
        for operand in operands:
            self._take(kind, title, operand, values, lines)
        for attribute in values.keys() - {"description"}:
            value = self._national(title, lines[attribute], values[attribute])
            values[attribute] = _folded(kind, attribute, value)
        return values, lines

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
            why = unexpanded(operand.name.lower(), known, f"an attribute of {kind}")
            self.skipped(operand.line, subject, why + self.hint(operand.name, [name.upper() for name in known]))
        elif attribute in lines:
            self.skipped(operand.line, subject, f"is given twice, first in line {lines[attribute]}")
        else:
            lines[attribute] = operand.line
            values[attribute] = self._full_value(kind, attribute, operand.value)

    @staticmethod
    def _full_value(kind: str, attribute: str, value: str) -> str:
        """The value, with an abbreviated keyword completed."""
        if kind not in RESOURCE_CLASSES and kind != "TDQUEUE":
            return value
        return expand(value.upper(), _keyword_values(kind).get(attribute, ())) or value

    def _national(self, title: str, line: int, value: str) -> str:
        """Replace the pound sign by $: both are X'5B', in different code pages, and so the same character to CICS."""
        if "£" not in value:
            return value
        self.changed(line, title, "the pound sign is taken for $, the same character X'5B'")
        return value.replace("£", "$")

    def _built(
        self, kind: str, title: str, group: str, values: dict[str, Any], lines: dict[str, int]
    ) -> Resource | None:
        """Build the resource; as long as there are errors, remove the wrong attributes and try again."""
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
            match = _PLACEHOLDER.search(value) if attribute != "description" else None
            if match:
                where = lines.get(attribute, line)
                self.kept(where, f"{title} {attribute}", f"{match[0]} looks like a placeholder; it is kept as text")

    def _keep(self, kind: str, resource: Resource, line: int) -> None:
        key = (resource.group, kind, resource.resource_name)
        first = self.defined_at.get(key)
        if first is not None:
            self.skipped(line, resource.title, f"is defined twice in group {resource.group}, first in line {first}")
            return
        self.defined_at[key] = line
        self.entries.append(GroupEntry(resource, self.file, line))

    def unknown_type(self, operand: Operand) -> None:
        """Report an unknown resource type."""
        why = unexpanded(operand.name.upper(), resource_types().keys(), "a resource type that is known")
        why += self.hint(operand.name, resource_types())
        self.skipped(operand.line, f"{operand.name.upper()}({operand.value})", why)

    @staticmethod
    def resource_type(word: str) -> str | None:
        """The resource type that a word equals or abbreviates, or None."""
        return expand(word.upper(), resource_types().keys())
