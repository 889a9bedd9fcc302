"""The options that the vendor's commands have, served here or not: another word is misspelt."""

from __future__ import annotations

from functools import cache
from typing import Final

from tdqsim.cics import COMMANDS
from tdqsim.facts import table
from tdqsim.languages import COMMON_OPTIONS

_EVERYWHERE: Final = frozenset((*COMMON_OPTIONS, "NOHANDLE"))


def vendor_options(command: str) -> frozenset[str]:
    """The options of all forms of a command's verb; empty if they are not known.

    Args:
        command: its words, such as ``READQ TD``.
    """
    words = command.upper().split()
    return _by_verb().get(words[0], frozenset()) if words else frozenset()


@cache
def _by_verb() -> dict[str, frozenset[str]]:
    found = {row["verb"]: _EVERYWHERE.union(row["options"].split()) for row in table("vendor_options")}
    for row in table("cobol_options"):
        verb = row["command"].split()[0]
        if verb in found:
            found[verb] |= {row["option"], *row["command"].split()}
    for name, command in COMMANDS.items():
        verb = name.split()[0]
        if verb in found:
            found[verb] |= {*name.split(), *(each.word for each in command.options)}
    return found
