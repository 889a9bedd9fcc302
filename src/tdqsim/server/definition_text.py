"""Definitions as text (definition file, DFHCSDUP commands or DFHDCT macros): read, and compared with a region."""

from __future__ import annotations

from typing import Literal

from tdqsim.cics import Region
from tdqsim.cics.internals import core_of
from tdqsim.cics.look.install_preview import PlannedInstall, planned_installs
from tdqsim.definitions import Definitions, parse_csd, parse_dct, parse_definitions

Form = Literal["yaml", "csd", "dct"]
"""A definition file, DFHCSDUP commands, or DFHDCT macros."""


def read_definitions(text: str, form: Form) -> tuple[Definitions, list[str]]:
    """The definitions in a text, and the reports of their import from a CSD or DCT.

    Raises:
        DefinitionError: the text has errors.
    """
    if form == "yaml":
        return parse_definitions(text, file="text"), []
    deck = parse_csd(text, file="text") if form == "csd" else parse_dct(text, file="text")
    return deck.definitions, [str(each) for each in deck.reports]


def preview(region: Region, definitions: Definitions, userid: str) -> list[PlannedInstall]:
    """What an installation by a user (empty: the default user) would change; call in the engine's thread."""
    return planned_installs(core_of(region), definitions.resources, userid or region.options.default_user)
