"""DFHCSDUP listings in: what LIST ... OBJECTS prints, with the definition signature of each resource.

A listing is a stream of ``NAME(value)`` pairs under headings. A resource begins on a new line with its type and name,
followed by its GROUP; headings and page heads have no parentheses and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tdqsim.definitions.csdup import parse_csd
from tdqsim.definitions.imports import Imported, Importer, Operand

__all__ = ["parse_csd_listing"]

_DEFINE = re.compile(
    r"^[ \d+-]*+(?:USERDEFINE|DEFINE|DEFIN|DEFI|DEF)\s++[A-Za-z_]\w*+\s*+\(", re.ASCII | re.IGNORECASE | re.MULTILINE
)
_PASSED_OVER = re.compile(r"^(?:\*|.*\bPAGE +\d+\s*$).*", re.MULTILINE)  # comments and page heads
_PAIR = re.compile(r"(?<![\w-])(?P<name>[A-Za-z][\w-]*+)[ \t]*+\(|(?P<close>\))|(?P<open>\()", re.ASCII)
_CARRIAGE = " \t\r\f01+-"


def parse_csd_listing(text: str, *, file: str = "<listing>") -> Imported:
    """The definitions in the output of DFHCSDUP LIST or EXTRACT, and reports about everything that is not used.

    Text in which no line begins a resource as a listing does is taken for commands.
    """
    seen = _PASSED_OVER.sub("", text)
    if _DEFINE.search(seen):
        return parse_csd(text, file=file)
    importer = Importer(file)
    pairs = list(_pairs(seen))
    starts = [index for index in range(len(pairs) - 1) if _begins(pairs, index)]
    if not starts:
        return parse_csd(text, file=file)
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else len(pairs)
        first, group, *rest = pairs[start:end]
        kind = importer.resource_type(first.name)
        if kind is None:
            importer.unknown_type(first)
        else:
            importer.define(kind, first.value or "", group.value or "", rest, first.line)
    return importer.result()


def _begins(pairs: list[Operand], index: int) -> bool:
    """A resource begins where a name at the beginning of a line is followed by the group."""
    name, group = pairs[index], pairs[index + 1]
    return bool(name.value) and name.leads and name.name.upper() != "GROUP" and group.name.upper() == "GROUP"


def _pairs(text: str) -> Iterator[Operand]:
    """Every ``NAME(value)`` with nothing open around it; a value keeps the parentheses inside it."""
    depth = 0
    name = ""
    start = 0
    line = 1
    counted = ended = 0
    leads = False
    for match in _PAIR.finditer(text):
        if match["close"]:
            depth = max(depth - 1, 0)
            if depth == 0 and name:
                value = " ".join(text[start : match.start()].split())
                yield Operand(name, value, line, leads)
                name, ended = "", match.end()
            continue
        depth += 1
        if depth == 1 and match["name"]:
            line += text.count("\n", counted, match.start())
            counted = match.start()
            _, newline, before = text[ended : match.start()].rpartition("\n")
            leads = bool(newline or not ended) and not before.strip(_CARRIAGE)
            name, start = match["name"], match.end()
