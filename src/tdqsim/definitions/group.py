"""Definition files: groups of resources in YAML, loaded completely or not at all.

A file contains one group ::

    group: PAYMENTS
    tdqueue:
      - name: PAYQ
        type: INTRA
        transid: PAYP
        triggerlevel: 5
    transaction:
      - name: PAYP
        program: PAYPROG
        handler: payments:post

or several, as a list under ``groups:``. The sections are resource types in lower case. The attributes are the RDO names
in lower case, with ``name`` for the resource's name. Every value is text: ``NO``, ``0010`` and ``1E05`` are never
booleans or numbers. A section ``dtaq`` contains IBM i data queues, with the keywords of CRTDTAQ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from errno import ENOENT
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.core.named import NamedTuple
from tdqsim.core.spelling import did_you_mean
from tdqsim.definitions._build import build, resource_types, without_type_remote
from tdqsim.definitions._fields import Name
from tdqsim.definitions._resource import Resource
from tdqsim.definitions.yamltext import NOT_YAML, ListNode, MapNode, Node, ScalarNode, kind_of, read_plain, read_yaml
from tdqsim.errors import DefinitionError, Problem, WrongType
from tdqsim.facts import LIMITS

if TYPE_CHECKING:  # at run time the class of a kind is imported when the first resource of this kind is made
    from tdqsim.definitions.connection import Connection
    from tdqsim.definitions.dtaq import Dtaq
    from tdqsim.definitions.file import File
    from tdqsim.definitions.program import ProgramDefinition
    from tdqsim.definitions.tdqueue import Tdqueue
    from tdqsim.definitions.terminal import Terminal
    from tdqsim.definitions.transaction import Transaction
    from tdqsim.definitions.tsmodel import Tsmodel

_YAML_SUFFIXES = (".yaml", ".yml")
_TOP = "group, groups, description and resource types in lower case such as tdqueue and transaction"


class GroupEntry(NamedTuple):
    """One resource and the place of its definition; ``line`` is 0 when there is none.

    ``empty`` contains the attributes that are written without a value.
    """

    resource: Resource
    file: str
    line: int
    empty: tuple[str, ...] = ()


NO_EFFECT: Final = "is accepted and has no effect"
"""The message of a note about an attribute, or a kind of resource, that is not simulated."""


class Note(NamedTuple):
    """A note to the user about input that was accepted but has no effect.

    Attributes:
        file: the file.
        line: the line, from 1; 0 for none.
        resource: the resource, such as ``TRANSACTION(PAYP)``.
        attribute: the attribute without effect; empty when the whole resource has none.
        message: the reason, in words.
    """

    file: str
    line: int
    resource: str
    attribute: str
    message: str

    def __str__(self) -> str:
        """The note on one line, place first."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.resource}{' ' if self.attribute else ''}{self.attribute}: {self.message}"


@dataclass(frozen=True)
class Definitions:
    """Checked definitions, ready to be installed into any number of regions or systems. Immutable.

    Attributes:
        entries: every definition in the order written, with its place.
    """

    entries: tuple[GroupEntry, ...] = ()

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """The resources to install, in order. If two groups define the same name the first wins, as in a group list."""
        first: dict[tuple[str, str], Resource] = {}
        for entry in self.entries:
            first.setdefault((entry.resource.kind, entry.resource.resource_name), entry.resource)
        return tuple(resource for resource in first.values() if resource.kind)

    @property
    def overridden(self) -> Iterator[tuple[GroupEntry, GroupEntry]]:
        """The definitions that are not installed, each with that of an earlier group, which is."""
        if len(self.resources) < len(self.entries):  # seldom: most definitions have names of their own
            pairs = _with_first(self.entries)
            yield from ((entry, used) for entry, used in pairs if used is not entry and entry.resource.kind)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """Notes about input that was accepted but has no effect, in the order written."""
        return tuple(_notes(self.entries))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The groups in the order in which they first appear."""
        return tuple(dict.fromkeys(entry.resource.group for entry in self.entries if entry.resource.group))

    @property
    def tdqueues(self) -> tuple[Tdqueue, ...]:
        """The TDQUEUE definitions of :attr:`resources`."""
        return cast("tuple[Tdqueue, ...]", self._of("TDQUEUE"))

    @property
    def transactions(self) -> tuple[Transaction, ...]:
        """The TRANSACTION definitions of :attr:`resources`."""
        return cast("tuple[Transaction, ...]", self._of("TRANSACTION"))

    @property
    def terminals(self) -> tuple[Terminal, ...]:
        """The TERMINAL definitions of :attr:`resources`."""
        return cast("tuple[Terminal, ...]", self._of("TERMINAL"))

    @property
    def programs(self) -> tuple[ProgramDefinition, ...]:
        """The PROGRAM definitions of :attr:`resources`."""
        return cast("tuple[ProgramDefinition, ...]", self._of("PROGRAM"))

    @property
    def tsmodels(self) -> tuple[Tsmodel, ...]:
        """The TSMODEL definitions of :attr:`resources`."""
        return cast("tuple[Tsmodel, ...]", self._of("TSMODEL"))

    @property
    def files(self) -> tuple[File, ...]:
        """The FILE definitions of :attr:`resources`."""
        return cast("tuple[File, ...]", self._of("FILE"))

    @property
    def connections(self) -> tuple[Connection, ...]:
        """The CONNECTION definitions of :attr:`resources`."""
        return cast("tuple[Connection, ...]", self._of("CONNECTION"))

    @property
    def dtaqs(self) -> tuple[Dtaq, ...]:
        """The data queues of :attr:`resources`."""
        return cast("tuple[Dtaq, ...]", self._of("DTAQ"))

    def _of(self, kind: str) -> tuple[Resource, ...]:
        return tuple(resource for resource in self.resources if resource.kind == kind)

    def __add__(self, other: Definitions) -> Definitions:
        """These definitions followed by the others."""
        return Definitions(self.entries + other.entries)

    @classmethod
    def of(cls, resources: Definitions | Iterable[Resource]) -> Definitions:
        """Combine definitions made in Python, in this order; Definitions are returned unchanged.

        Raises:
            TypeError: an item is not a definition, but for instance the name of a file.
            DefinitionError: two definitions of one group have the same kind and name.
        """
        if isinstance(resources, Definitions):
            return resources
        if isinstance(resources, str | bytes | Path | Resource | Mapping) or not isinstance(resources, Iterable):
            raise WrongType(_not_definitions(resources))
        entries, seen = [], set()
        for number, each in enumerate(resources, 1):
            if not isinstance(each, Resource):
                raise WrongType(_not_definitions(each))
            entries.append(GroupEntry(each, "<python>", 0))
            if each.kind and (key := (each.kind, each.resource_name, each.group)) in seen:
                what = f"is defined twice, the second time as definition {number} of the list"
                raise DefinitionError([Problem("<python>", 0, each.title, "", "", what)])
            if each.kind:
                seen.add(key)
        return cls(tuple(entries))

    def place_of(self, title: str) -> tuple[str, int]:
        """File and line of the first definition with a title such as ``TDQUEUE(PAYQ)``; ``("", 0)`` for none."""
        entries = (entry for entry in self.entries if entry.resource.title == title)
        return next(((entry.file, entry.line) for entry in entries), ("", 0))


def _not_definitions(value: object) -> str:
    allowed = "a list of results of define_tdqueue() and similar functions, or the result of load_definitions(FILE)"
    if isinstance(value, str | Path):
        return f"definitions {str(value)!r}: this is a name; allowed are {allowed}: load_definitions({str(value)!r})"
    return f"definitions: got {type(value).__name__}; allowed are {allowed}"


def _with_first(entries: Iterable[GroupEntry]) -> Iterator[tuple[GroupEntry, GroupEntry]]:
    """Each definition with the first of its kind and name."""
    first: dict[tuple[str, str], GroupEntry] = {}
    for entry in entries:
        yield entry, first.setdefault((entry.resource.kind, entry.resource.resource_name), entry)


def _notes(entries: Iterable[GroupEntry]) -> Iterator[Note]:
    for entry, earlier in _with_first(entries):
        resource = entry.resource
        if not resource.kind:
            yield Note(entry.file, entry.line, resource.title, "", NO_EFFECT)
            continue
        for attribute in resource.without_effect:
            yield Note(entry.file, entry.line, resource.title, attribute, NO_EFFECT)
        for attribute in entry.empty:
            yield Note(entry.file, entry.line, resource.title, attribute, "has no value, as if it were not given")
        if earlier is not entry:
            place = f"{earlier.file}:{earlier.line}" if earlier.line else earlier.file
            yield Note(
                entry.file,
                entry.line,
                resource.title,
                "",
                f"is not used: group {earlier.resource.group} has it ({place})",
            )


@explains_wrong_types
def parse_definitions(text: str, *, file: str = "<text>") -> Definitions:
    """Parse definitions in YAML text.

    Args:
        text: the YAML; ``help('tdqsim.definitions.group')`` describes its form.
        file: the file name for messages.

    Raises:
        DefinitionError: there are errors in the text; all are listed, and nothing is defined.
    """
    reader = _FileReader(file)
    root = read_yaml(text, file)
    if root is not None:
        reader.read_file(root)
    if reader.problems:
        raise DefinitionError(sorted(reader.problems, key=lambda problem: problem.line))
    return Definitions(tuple(reader.entries))


_REGION_DIRECTORY: Final = (
    "is a region directory, not definitions; it is given alone: Region.from_directory, tdq --region, or as the only "
    "argument of all markers tdq_definitions of a test, its module's too; or give its definition files"
)


def load_definitions(*paths: Path | str) -> Definitions:
    """Load definitions from files, in this order; for a folder, from its ``*.yaml`` and ``*.yml`` files, sorted.

    Raises:
        DefinitionError: there are errors in a file; all errors of all files are listed.
    """
    entries: list[GroupEntry] = []
    problems: list[Problem] = []
    for path in map(Path, paths):
        try:
            for file in _files(path):
                known = len(problems)
                entries += _load_one(file, problems)
                if file != path and file.name == "region.yaml" and len(problems) > known:
                    problems[known:] = [Problem(str(path), 0, "", "", "", _REGION_DIRECTORY)]
        except OSError as error:
            problems.append(Problem(str(path), 0, "", "", "", f"cannot be read: {error.strerror}"))
    if problems:
        raise DefinitionError(problems)
    return Definitions(tuple(entries))


def defines_nothing(path: Path) -> Problem:
    """The problem of a file or directory without definitions."""
    return Problem(str(path), 0, "", "", "", "defines nothing; it needs a section such as tdqueue")


def _load_one(file: Path, problems: list[Problem]) -> tuple[GroupEntry, ...]:
    try:
        text = read_text(file)
        if not any(line.strip() and not line.lstrip().startswith(("#", "---")) for line in text.splitlines()):
            problems.append(defines_nothing(file))
        return parse_definitions(text, file=str(file)).entries
    except DefinitionError as error:
        problems += error.problems
        return ()


def _files(path: Path) -> list[Path]:
    """The file itself, or the YAML files in a folder, which must contain at least one."""
    if not path.is_dir():
        return [path]
    files = sorted(child for child in path.iterdir() if child.suffix in _YAML_SUFFIXES and child.is_file())
    if not files:
        raise FileNotFoundError(ENOENT, f"it holds no {' or '.join(_YAML_SUFFIXES)} file", str(path))
    return files


def read_text(path: Path) -> str:
    """Read a user's file: UTF-8 text, with or without a byte order mark.

    Raises:
        DefinitionError: it cannot be read, is too long, or is not UTF-8.
    """
    return read_plain(path, LIMITS["definition_file_bytes"])


class _FileReader:
    """Walks the nodes of one file, collecting resources and problems."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.entries: list[GroupEntry] = []
        self.problems: list[Problem] = []
        self.defined_at: dict[tuple[str, str, str], int] = {}

    def problem(self, line: int, message: str, *, resource: str = "", attribute: str = "", value: str = "") -> None:
        if len(self.problems) < LIMITS["definition_problems"]:
            self.problems.append(Problem(self.file, line, resource, attribute, value, message))

    def read_file(self, root: Node) -> None:
        if not isinstance(root, MapNode):
            cure = NOT_YAML if isinstance(root, ScalarNode) else ""
            self.problem(root.line, f"must be a mapping with {_TOP}, not {kind_of(root)}{cure}")
            return
        groups = root.items.get("groups")
        if groups is None:
            self.read_group(root)
            return
        for key in root.items.keys() - {"groups"}:
            self.problem(root.lines[key], "is not allowed beside groups", attribute=key)
        for group in self.list_of(groups, "groups"):
            if isinstance(group, MapNode):
                self.read_group(group)
            else:
                self.problem(group.line, f"a group must be a mapping, not {kind_of(group)}")

    def list_of(self, node: Node, what: str) -> list[Node]:
        if isinstance(node, ListNode):
            return node.items
        if not isinstance(node, ScalarNode) or node.value:
            self.problem(node.line, f"must be a list (each item begins with -), not {kind_of(node)}", attribute=what)
        return []

    def read_group(self, node: MapNode) -> None:
        group = self.group_name(node)
        for key, section in node.items.items():
            kind = key.upper()
            if key in ("group", "description"):
                continue
            if key != key.lower() or (kind not in resource_types() and kind != "DTAQ"):
                known = ("group", "dtaq", *map(str.lower, resource_types()))
                hint = did_you_mean(key, known) or f"; allowed are {_TOP}"
                self.problem(node.lines[key], f"is not known here{hint}", attribute=key)
                continue
            if kind != "DTAQ" and "group" not in node.items:
                self.problem(node.lines[key], "needs a group: line beside it", attribute=key)
            for item in self.list_of(section, key):
                self.read_resource(kind, item, group)

    def group_name(self, node: MapNode) -> str:
        written = node.items.get("group")
        if written is None:
            return ""
        try:
            return Name(LIMITS["group_name_length"]).check(written.value if isinstance(written, ScalarNode) else None)
        except ValueError as error:
            shown = written.value if isinstance(written, ScalarNode) else ""
            self.problem(written.line, str(error), attribute="group", value=shown)
            return ""

    def read_resource(self, kind: str, node: Node, group: str) -> None:
        if not isinstance(node, MapNode):
            self.problem(node.line, f"must be a mapping of attributes, not {kind_of(node)}", resource=kind)
            return
        attributes, no_text = self.plain(kind, node)
        resource, faults = build(kind, without_type_remote(kind, attributes), group)
        title = self.title(kind, attributes)
        for fault in faults:
            if fault.attribute not in no_text:  # otherwise the message would be about it, and not that it is missing
                line = node.lines.get(fault.attribute, node.line)
                self.problem(line, fault.message, resource=title, attribute=fault.attribute, value=fault.value)
        if resource is None or no_text:
            return
        key = (group, resource.kind or kind, resource.resource_name)
        earlier = self.defined_at.setdefault(key, node.line)
        if earlier != node.line:
            self.problem(node.line, f"is defined twice in the group, first in line {earlier}", resource=title)
            return
        empty = tuple(name for name, value in attributes.items() if value == "" and name != "description")
        self.entries.append(GroupEntry(resource, self.file, node.line, empty))

    def plain(self, kind: str, node: MapNode) -> tuple[dict[str, Any], set[str]]:
        """The attributes as text or lists of text, and the names of those that have another form."""
        no_text: set[str] = set()
        values: dict[str, Any] = {}
        for name, value in node.items.items():
            if isinstance(value, ScalarNode):
                values[name] = value.value
            elif (
                kind == "DTAQ"
                and isinstance(value, ListNode)
                and all(isinstance(item, ScalarNode) for item in value.items)
            ):
                values[name] = [item.value for item in value.items if isinstance(item, ScalarNode)]
            else:
                no_text.add(name)
                title = self.title(
                    kind, {key: item.value for key, item in node.items.items() if isinstance(item, ScalarNode)}
                )
                self.problem(value.line, f"must be text, not {kind_of(value)}", resource=title, attribute=name)
        return values, no_text

    @staticmethod
    def title(kind: str, attributes: Mapping[str, object]) -> str:
        name = attributes.get("dtaq" if kind == "DTAQ" else "name", "")
        return f"{kind}({str(name)[:40]})" if name else kind
