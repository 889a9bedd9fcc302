"""Export as DFHCSDUP DEFINE statements, for a real CSD or for :func:`~tdqsim.definitions.parse_csd`.

Only attributes that exist in a CSD are written: not a transaction's ``handler``, and no IBM i data queues.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tdqsim.definitions._resource import Resource
from tdqsim.definitions.dtaq import Dtaq
from tdqsim.definitions.group import Definitions
from tdqsim.definitions.other import OtherResource

_WIDTH = 71
_INDENTS = (7, *range(7), *range(8, 40))
_NEEDS_QUOTES = re.compile(r"'|\s|.*\s$")
_CANNOT_BEGIN_LINE = re.compile(r"[*/ ]|DEF", re.IGNORECASE)
_OURS = frozenset({"name", "handler", "resource_type"})


def export_csd(definitions: Definitions, *, group: str = "TDQSIM") -> str:
    """Write DEFINE statements for all definitions, in order.

    Args:
        definitions: the definitions to write.
        group: the group for resources that have none.
    """
    lines: list[str] = []
    for entry in definitions.entries:
        if not isinstance(entry.resource, Dtaq):
            lines += _define(entry.resource, group)
    return "".join(f"{line}\n" for line in lines)


def _define(resource: Resource, group: str) -> Iterator[str]:
    kind = resource.resource_type if isinstance(resource, OtherResource) else resource.kind
    yield f"DEFINE {kind}({resource.resource_name}) GROUP({resource.group or group})"
    values: dict[str, Any] = {**resource.attributes(), **resource.without_effect}
    for name, value in values.items():
        if name not in _OURS and value != "":
            yield from _operand(name.upper(), _text(value))


def _text(value: object) -> str:
    if isinstance(value, datetime):
        form = "%y/%m/%d %H:%M:%S" if value.year // 100 == 20 and not value.microsecond else "%Y/%m/%d %H:%M:%S"
        fraction = f".{value.microsecond:06}" if value.microsecond else ""
        return f"{value.strftime(form)}{fraction}"
    return str(value)


def _operand(name: str, value: str) -> list[str]:
    """``NAME(value)`` on as few lines as possible, each within columns 1 to 72."""
    if _NEEDS_QUOTES.match(value) or not _balanced(value):
        value = f"""'{value.replace("'", "''")}'"""
    operand = f"{name}({value})"
    for indent in _INDENTS:
        lines = _broken(f"{'':{indent}}{operand}")
        if lines:
            return lines
    return [operand.rjust(_WIDTH + 10)]  # longer than a card image, so that the import reads the whole line


def _broken(line: str) -> list[str]:
    """The line split after each column 71, with an asterisk in column 72; an empty list if a part would be no text."""
    parts = [line[start : start + _WIDTH] for start in range(0, len(line), _WIDTH)]
    return (
        []
        if any(_CANNOT_BEGIN_LINE.match(part) for part in parts[1:])
        else [*(f"{each}*" for each in parts[:-1]), parts[-1]]
    )


def _balanced(value: str) -> bool:
    depth = 0
    for character in value:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0
