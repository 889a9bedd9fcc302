"""Import of DFHCSDUP listings: the output of LIST with OBJECTS, including each resource's definition signature.

A listing is a stream of ``NAME(value)`` pairs under headings. A resource begins on a new line with its type and name,
followed by its GROUP. Headings and page headers have no parentheses and are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tdqsim.definitions.csdup import parse_csd
from tdqsim.definitions.imports import Imported, Importer, Operand

_DEFINE = re.compile(
    r"^[ \d+-]*+(?:USERDEFINE|DEFINE|DEFIN|DEFI|DEF)\s++[A-Za-z_]\w*+\s*+\(", re.ASCII | re.IGNORECASE | re.MULTILINE
)
_IGNORED = re.compile(r"^(?:\*|.*\bPAGE +\d+\s*$|[ 01+-]*DFH\d{4} ).*", re.MULTILINE)
"""Comments, page headers, and messages of DFHCSDUP."""
_PAIR = re.compile(r"(?<![\w-])(?P<name>[A-Za-z][\w-]*+)[ \t]*+\(|(?P<close>\))|(?P<open>\()", re.ASCII)
_CARRIAGE = " \t\r\f01+-"


def parse_csd_listing(text: str, *, file: str = "<listing>") -> Imported:
    """Import the definitions in the output of DFHCSDUP LIST or EXTRACT; everything that is not used is reported.

    Text in which no line begins a resource in the form of a listing is parsed as commands.
    """
    listing = _IGNORED.sub("", text)
    if _DEFINE.search(listing):
        return parse_csd(text, file=file)
    importer = Importer(file)
    pairs = list(_pairs(listing))
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
    """Whether a resource begins here: a name at the beginning of a line, followed by GROUP."""
    name, group = pairs[index], pairs[index + 1]
    return bool(name.value) and name.leads and name.name.upper() != "GROUP" and group.name.upper() == "GROUP"


def _pairs(text: str) -> Iterator[Operand]:
    """Every ``NAME(value)`` outside other parentheses; a value includes its inner parentheses."""
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
