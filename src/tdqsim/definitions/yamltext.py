"""The subset of YAML for definition files: mappings, lists and text, with line numbers.

Every plain value is the text as written, so that ``NO``, ``0010``, ``1E05`` and ``NULL`` can be names. Nodes contain
their line numbers for later messages. :mod:`tdqsim.definitions.yaml_reader` makes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tdqsim.core.named import NamedTuple
from tdqsim.errors import DefinitionError, Problem
from tdqsim.facts import LIMITS

NOT_YAML: Final = "; tdq import converts CSD, DCT and CL text to YAML"
"""What a message adds about a file that seems to be one of these."""


class ScalarNode(NamedTuple):
    """A text, and the line where it begins."""

    value: str
    line: int

    def plain(self) -> str:
        """The text."""
        return self.value


class ListNode(NamedTuple):
    """A list and its line."""

    items: list[Node]
    line: int

    def plain(self) -> list[Any]:
        """The list as texts, lists and dictionaries, without line numbers."""
        return [item.plain() for item in self.items]


class MapNode(NamedTuple):
    """A mapping, its line, and the line of each key."""

    items: dict[str, Node]
    lines: dict[str, int]
    line: int

    def plain(self) -> dict[str, Any]:
        """The mapping as texts, lists and dictionaries, without line numbers."""
        return {key: item.plain() for key, item in self.items.items()}


Node = ScalarNode | ListNode | MapNode


def kind_of(node: Node) -> str:
    """The kind of node, in words for messages."""
    return {ScalarNode: "text", ListNode: "a list", MapNode: "a mapping"}[type(node)]


def node_at(root: Node, steps: Iterable[str | int]) -> tuple[Node, int]:
    """The node at a place, or the last one on the way to it, and its line (that of its key in a mapping)."""
    node, line = root, root.line
    for step in steps:
        if isinstance(node, MapNode) and step in node.items:
            line, node = node.lines[str(step)], node.items[str(step)]
        elif isinstance(node, ListNode) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            line = node.line
    return node, line


def read_yaml(text: str, file: str, *, longest: int = 0) -> Node | None:
    """Parse the only document in the text; None when it is empty.

    Args:
        text: the text.
        file: its name, for messages.
        longest: the maximum number of characters in a value; 0 means the limit for attributes of definitions.

    Raises:
        DefinitionError: the text is not valid YAML, or uses a construct that is not allowed in definition files.
    """
    if len(text) > LIMITS["definition_file_bytes"]:
        raise DefinitionError([Problem(file, 0, "", "", "", f"is longer than {LIMITS['definition_file_bytes']} bytes")])
    from tdqsim.definitions.yaml_reader import read  # noqa: PLC0415  (PyYAML is slow to import)

    return read(text, file, longest or LIMITS["definition_value_length"])


def refuse_file(path: Path, message: str) -> DefinitionError:
    """The error of a file as a whole."""
    return DefinitionError([Problem(str(path), 0, "", "", "", message)])


def read_plain(path: Path, limit: int = 1_048_576) -> str:
    """The text of a file without secrets.

    Raises:
        DefinitionError: it cannot be read, is too long, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            return decoded(path, file.read(limit + 1), limit)
    except OSError as error:
        raise refuse_file(path, f"cannot be read: {error.strerror}") from error


def decoded(path: Path, data: bytes, limit: int) -> str:
    """The text of a file's data; see :func:`read_plain`."""
    if len(data) > limit:
        raise refuse_file(path, f"is longer than {limit} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8 text (byte X'{data[error.start]:02X}')"
        raise DefinitionError([Problem(str(path), line, "", "", "", message)]) from None
