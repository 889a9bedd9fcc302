"""Definitions as text (definition file, DFHCSDUP commands or DFHDCT macros): read, and compared with a region."""

from __future__ import annotations

from typing import Final, Literal

from tdqsim import state
from tdqsim.cics import Region
from tdqsim.definitions import Definitions, parse_csd, parse_dct, parse_definitions
from tdqsim.errors import DefinitionError, Problem
from tdqsim.state import PlannedInstall

Form = Literal["yaml", "csd", "dct"]
"""A definition file, DFHCSDUP commands, or DFHDCT macros."""
_NO_CODE: Final = (
    "names Python code, which a client may not do: leave it out, and name it in a definition file of the served "
    "directory; or the owner of the server allows it by network_handlers: yes in serve.yaml"
)


def read_definitions(text: str, form: Form) -> tuple[Definitions, list[str]]:
    """The definitions in a text, and the reports of their import from a CSD or DCT.

    Raises:
        DefinitionError: the text has errors.
    """
    if form == "yaml":
        return parse_definitions(text, file="text"), []
    deck = parse_csd(text, file="text") if form == "csd" else parse_dct(text, file="text")
    return deck.definitions, [str(each) for each in deck.reports]


def check_no_code(region: Region, definitions: Definitions, *, allowed: bool) -> None:
    """Refuse definitions from a client that name Python code; call in the engine's thread.

    The server imports and runs what ``handler:`` of a TRANSACTION names, so the owner decides: the files of a served
    directory may name code, and clients only if ``serve.yaml`` allows it. The path that the installed transaction
    already has is no new code, so that installed definitions can be changed and given back.

    Args:
        region: the region in which they are to be installed.
        definitions: the definitions.
        allowed: ``network_handlers`` of ``serve.yaml``.

    Raises:
        DefinitionError: a TRANSACTION names another handler than the installed one.
    """
    if allowed:
        return
    handlers = {name: each.definition.handler for name, each in region.resources.transactions.items()}
    problems = []
    for entry in definitions.entries:
        handler = getattr(entry.resource, "handler", "")
        if handler and handlers.get(entry.resource.resource_name) != handler:
            title = entry.resource.title
            problems.append(Problem(entry.file, entry.line, title, "handler", handler, _NO_CODE))
    if problems:
        raise DefinitionError(problems)


def preview(region: Region, definitions: Definitions, userid: str) -> list[PlannedInstall]:
    """What an installation by a user (empty: the default user) would change; call in the engine's thread."""
    return state.planned_installs(region, definitions, userid=userid)
