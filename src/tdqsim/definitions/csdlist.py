"""DFHCSDUP listings in: what LIST ... OBJECTS prints, with the definition signature of each resource.

A listing is a stream of ``NAME(value)`` pairs under headings. A resource begins with its type and name, followed by its
GROUP; headings and page heads have no parentheses and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tdqsim.definitions.csdup import parse_csd
from tdqsim.definitions.imports import Imported, Importer, Operand

__all__ = ["parse_csd_listing"]

_DEFINE = re.compile(r"^[ \d+-]*+DEFINE[ ]++[A-Za-z]\w*+[ ]*+\(", re.ASCII | re.IGNORECASE | re.MULTILINE)
_PAIR = re.compile(r"(?<![\w-])(?P<name>[A-Za-z][\w-]*+)[ \t]*+\(|(?P<close>\))|(?P<open>\()", re.ASCII)


def parse_csd_listing(text: str, *, file: str = "<listing>") -> Imported:
    """The definitions in the output of DFHCSDUP LIST or EXTRACT, and reports about everything that is not used."""
    if _DEFINE.search(text):
        return parse_csd(text, file=file)
    importer = Importer(file)
    pairs = list(_pairs(text))
    starts = [index for index in range(len(pairs) - 1) if _begins(importer, pairs, index)]
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else len(pairs)
        first, group, *rest = pairs[start:end]
        kind = importer.resource_type(first.name)
        if kind is None:
            importer.skipped(first.line, f"{first.name}({first.value})", "is a resource type that is not known")
        else:
            importer.define(kind, first.value or "", group.value or "", rest, first.line)
    return importer.result()


def _begins(importer: Importer, pairs: list[Operand], index: int) -> bool:
    """A resource begins where a type with a name is followed by the group."""
    named = bool(pairs[index].value) and pairs[index + 1].name.upper() == "GROUP"
    return named and (index == 0 or importer.resource_type(pairs[index].name) is not None)


def _pairs(text: str) -> Iterator[Operand]:
    """Every ``NAME(value)`` with nothing open around it; a value keeps the parentheses inside it."""
    depth = 0
    name = ""
    start = 0
    line = 1
    counted = 0
    for match in _PAIR.finditer(text):
        if match["close"]:
            depth = max(depth - 1, 0)
            if depth == 0 and name:
                value = " ".join(text[start : match.start()].split())
                yield Operand(name, value, line)
                name = ""
            continue
        depth += 1
        if depth == 1 and match["name"]:
            line += text.count("\n", counted, match.start())
            counted = match.start()
            name, start = match["name"], match.end()
