"""Export as YAML, which loads again as the same definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import count

from tdqsim.definitions._resource import Resource
from tdqsim.definitions.group import Definitions
from tdqsim.definitions.other import OtherResource

_PLAIN = re.compile(r"[A-Za-z$][A-Za-z0-9 _./$@()%+-]*(?<! )|[0-9]{1,9}", re.ASCII)
# Text that other YAML parsers, or people, would read as a number, a boolean or null.
_LOOKS_OTHERWISE = re.compile(r"y|n|yes|no|on|off|true|false|null|[0-9].*", re.IGNORECASE)


def dump_definitions(definitions: Definitions) -> str:
    """Write definitions as YAML text: one mapping for one group, a list under ``groups:`` for several.

    Only attributes that were specified are written, so that defaults remain defaults. Definitions of CICS resources
    without a group are written in the group NOGROUP (NOGROUP1, ... if that name is taken), because a definition file
    must name one; data queues need none.
    """
    names = {entry.resource.group for entry in definitions.entries}
    unused = next(name for name in (f"NOGROUP{number or ''}" for number in count()) if name not in names)
    groups: dict[str, list[Resource]] = {}
    for entry in definitions.entries:
        resource = entry.resource
        group = resource.group or ("" if resource.kind == "DTAQ" else unused)
        groups.setdefault(group, []).append(resource)
    if len(groups) <= 1:
        lines = [line for group, resources in groups.items() for line in _group(group, resources)]
        return "".join(f"{line}\n" for line in lines)
    lines = ["groups:"]
    for group, resources in groups.items():
        first, *rest = _group(group, resources)
        lines += [f"  - {first}", *(f"    {line}" for line in rest)]
    return "".join(f"{line}\n" for line in lines)


def _group(group: str, resources: Iterable[Resource]) -> Iterator[str]:
    if group:
        yield f"group: {_text(group)}"
    sections: dict[str, list[Resource]] = {}
    for resource in resources:
        kind = resource.resource_type if isinstance(resource, OtherResource) else resource.kind
        sections.setdefault(kind.lower(), []).append(resource)
    for kind, members in sections.items():
        yield f"{kind}:"
        for resource in members:
            yield from _resource(resource)


def _resource(resource: Resource) -> Iterator[str]:
    attributes = resource.attributes()
    attributes.pop("resource_type", None)
    attributes |= resource.without_effect
    lead = "  - "
    for name, value in attributes.items():
        yield f"{lead}{name}: {_value(name, value)}"
        lead = "    "


def _value(name: str, value: object) -> str:
    if isinstance(value, datetime):
        return f"'{value.isoformat(' ')}'"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        special = {-1: "'*MAX16MB'", -2: "'*MAX2GB'"}
        return f"[{', '.join(special.get(item, str(item)) for item in value)}]"
    text = str(value)
    if text in ("YES", "NO") and "name" not in name:
        return text  # not quoted, because these vendor keywords are very frequent
    return _text(text)


def _text(text: str) -> str:
    """A YAML value that is read as exactly this text."""
    if _PLAIN.fullmatch(text) and not _LOOKS_OTHERWISE.fullmatch(text):
        return text
    if text.isprintable():
        return f"""'{text.replace("'", "''")}'"""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"
