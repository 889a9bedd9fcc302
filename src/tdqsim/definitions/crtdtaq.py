"""Export as CL source: a CRTDTAQ command for each IBM i data queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tdqsim.definitions.dtaq import Dtaq
from tdqsim.definitions.group import Definitions

_WIDTH: Final = 76
_SPECIAL: Final = {-1: "*MAX16MB", -2: "*MAX2GB"}
_OURS: Final = frozenset({
    "group", "description", "definetime", "changetime", "changeusrid", "changeagent", "changeagrel",
})  # fmt: skip


def export_cl(definitions: Definitions) -> tuple[str, list[str]]:
    """Write CRTDTAQ commands in order; returns them, and a remark for each resource that is not a data queue.

    Args:
        definitions: the definitions to write.
    """
    lines: list[str] = []
    remarks: list[str] = []
    for entry in definitions.entries:
        if isinstance(entry.resource, Dtaq):
            lines += _command(entry.resource)
        else:
            remarks.append(f"{entry.resource.title}: is not a data queue; left out")
    return "".join(f"{line}\n" for line in lines), remarks


def _command(queue: Dtaq) -> Iterator[str]:
    line = "CRTDTAQ"
    for name, value in queue.attributes().items():
        if name in _OURS:
            continue
        word = f"{name.upper()}({_text(name, value)})"
        if len(line) + len(word) + 1 > _WIDTH:
            yield f"{line} +"
            line = "         "
        line += f" {word}"
    yield line


def _text(name: str, value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(_SPECIAL.get(each, str(each)) for each in value)
    if name == "text":
        return f"""'{str(value).replace("'", "''")}'"""
    return str(value)
