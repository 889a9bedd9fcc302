"""The queues that a command works on: names, generic names, and those that a list leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cli.served import ServedRegion


def is_generic(name: str) -> bool:
    """Whether a name has * (any characters) or + (one character) in it."""
    return "*" in name or "+" in name


def matching(region: Region | ServedRegion, names: Iterable[str]) -> Iterator[str]:
    """The installed queues that match the names, in browse order; a plain name is returned without a check."""
    wanted = [name.upper() for name in names]
    if not wanted:
        wanted = ["*"]
    installed = [info.tdqueue.rstrip() for info in region.browse_tdqueue("TYPE")]
    yielded: set[str] = set()
    for name in wanted:
        pattern = re.compile("".join({"*": ".*", "+": "."}.get(letter) or re.escape(letter) for letter in name))
        matches = [each for each in installed if pattern.fullmatch(each)] if is_generic(name) else [name]
        for each in matches:
            if each not in yielded:
                yielded.add(each)
                yield each


def supplied(region: Region | ServedRegion) -> frozenset[str]:
    """The queues of the supplied group that were never used; a list of queues leaves them out."""
    infos = region.browse_tdqueue("INSTALLAGENT", "DEFINESOURCE", "NUMITEMS")
    return frozenset(
        info.tdqueue.rstrip()
        for info in infos
        if info.numitems <= 0 and (info.installagent.name == "SYSTEM" or info.definesource.startswith("DFH"))
    )
