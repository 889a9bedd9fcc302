"""Nodes from YAML, read event by event.

A file is refused at the first construct that definition files do not use (tags, aliases, a second document, deep
nesting), so that hostile input costs little.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import NoReturn

import yaml

from tdqsim.definitions.yamltext import NOT_YAML, ListNode, MapNode, Node, ScalarNode
from tdqsim.errors import DefinitionError, Problem
from tdqsim.facts import LIMITS

_LOADER: type[yaml.CSafeLoader | yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_QUOTE_HINT = "a value that begins with * must be put in quotes"


def _text_of_line(text: str, number: int) -> str:
    """The line with a number, from 0; empty when there is none."""
    return next(islice(text.splitlines(), number, None), "")


def read(text: str, file: str, longest: int) -> Node | None:
    """See :func:`~tdqsim.definitions.read_yaml`, which has checked the length of the text."""
    reader = _Reader(file, longest)
    try:
        loader = _LOADER(text)
        try:
            return reader.read(loader)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        reason = error.problem or error.context or "it cannot be read"
        if mark is not None and _text_of_line(text, mark.line)[: mark.column + 1].endswith("\t"):
            reason = "a tab stands where YAML wants blanks; indent with blanks"
        elif mark is not None:
            began = error.context_mark
            since = f"; it began in line {began.line + 1}" if began is not None and began.line != mark.line else ""
            reason = f"{reason} at column {mark.column + 1}{since}"
        if "nesting depth" in reason:  # libyaml has its own limit, which it may reach first because it reads ahead
            message = f"is nested more than {LIMITS['definition_nesting']} levels deep"
            raise DefinitionError([Problem(file, line, "", "", "", message)]) from None
        other = Path(file).suffix not in {"", ".yaml", ".yml"}
        cure = NOT_YAML if other else ""
        raise DefinitionError([Problem(file, line, "", "", "", f"is not valid YAML: {reason}{cure}")]) from None
    except yaml.reader.ReaderError as error:
        strange = yaml.reader.Reader.NON_PRINTABLE.search(text)
        at = strange.start() if strange else max(error.position, 0)
        which = f": X'{ord(strange[0]):02X}' at column {at - text.rfind(chr(10), 0, at)}" if strange else ""
        reason = f"is not valid YAML: {error.reason}{which}"
        raise DefinitionError([Problem(file, text.count("\n", 0, at) + 1, "", "", "", reason)]) from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise DefinitionError([Problem(file, line, "", "", "", "holds a character that is not text")]) from None


def _line(event: yaml.Event) -> int:
    assert event.start_mark is not None
    line: int = event.start_mark.line
    return line + 1


class _Reader:
    """Builds nodes from events, with an explicit stack, so that nesting cannot reach Python's recursion limit."""

    def __init__(self, file: str, longest: int) -> None:
        self.file = file
        self.longest = longest
        self.stack: list[ListNode | MapNode] = []
        self.keys: list[tuple[str, int] | None] = []
        self.root: Node | None = None
        self.documents = 0
        self.twice: list[Problem] = []

    def refuse(self, line: int, message: str, value: str = "") -> NoReturn:
        raise DefinitionError([Problem(self.file, line, "", "", value[:100], message)])

    def read(self, loader: yaml.CSafeLoader | yaml.SafeLoader) -> Node | None:
        while True:
            event = loader.get_event()
            if isinstance(event, yaml.ScalarEvent):
                self.scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self.open(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self.close()
            elif isinstance(event, yaml.AliasEvent):
                hint = f"aliases (*{event.anchor}) are not used in definition files; {_QUOTE_HINT}"
                self.refuse(_line(event), hint)
            elif isinstance(event, yaml.DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    hint = "a definition file holds one document; several groups go under groups:"
                    self.refuse(_line(event), hint)
            elif event is None or isinstance(event, yaml.StreamEndEvent):
                if self.twice:
                    raise DefinitionError(self.twice)
                return self.root
            else:
                assert isinstance(event, yaml.StreamStartEvent | yaml.DocumentEndEvent), "PyYAML was imported twice"

    def scalar(self, event: yaml.ScalarEvent) -> None:
        line = _line(event)
        if event.tag is not None and event.tag != "!":
            self.refuse(line, f"tags ({event.tag}) are not used in definition files", event.value)
        if len(event.value) > self.longest:
            self.refuse(line, f"a value may have {self.longest} characters", event.value)
        if self.stack and isinstance(self.stack[-1], MapNode) and self.keys[-1] is None:
            self.key(event.value, line, self.stack[-1])
        else:
            self.add(ScalarNode(event.value, line))

    def key(self, name: str, line: int, mapping: MapNode) -> None:
        if name in mapping.items:
            message = f"is given twice, first in line {mapping.lines[name]}"
            self.twice.append(Problem(self.file, line, self.resource(mapping), name[:100], "", message))
        self.keys[-1] = (name, line)

    def resource(self, mapping: MapNode) -> str:
        """The resource that a mapping defines, such as ``TDQUEUE(PAYQ)``; empty if its name has not been read yet."""
        name = mapping.items.get("name")
        above = [node for node in self.stack[:-1] if isinstance(node, MapNode) and node.items]
        kind = next(reversed(above[-1].items)) if above else ""
        return f"{kind.upper()[:20]}({name.value[:20]})" if isinstance(name, ScalarNode) else ""

    def open(self, event: yaml.CollectionStartEvent) -> None:
        line = _line(event)
        if event.tag is not None and event.tag != "!":
            self.refuse(line, f"tags ({event.tag}) are not used in definition files")
        if len(self.stack) >= LIMITS["definition_nesting"]:
            self.refuse(line, f"is nested more than {LIMITS['definition_nesting']} levels deep")
        if self.stack and isinstance(self.stack[-1], MapNode) and self.keys[-1] is None:
            self.refuse(line, "a name before a colon must be text")
        node = MapNode({}, {}, line) if isinstance(event, yaml.MappingStartEvent) else ListNode([], line)
        self.add(node)
        self.stack.append(node)
        self.keys.append(None)

    def close(self) -> None:
        self.stack.pop()
        self.keys.pop()

    def add(self, node: Node) -> None:
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        if isinstance(parent, ListNode):
            parent.items.append(node)
            return
        pending = self.keys[-1]
        assert pending is not None
        parent.items[pending[0]] = node
        parent.lines[pending[0]] = pending[1]
        self.keys[-1] = None
