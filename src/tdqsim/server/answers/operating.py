"""Answers about definitions, faults, statistics, jobs and SYSOUT data sets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from tdqsim.server.answers.tables import DefinitionChange, PlannedFault


class InstallResult(TypedDict):
    """Definitions that were read, and installed unless the request only checks them."""

    installed: bool
    names: list[str]
    yaml: Annotated[str, Field(description="the definitions as a definition file")]
    reports: Annotated[list[str], Field(description="the reports of the import of CSD or DCT text")]
    changes: Annotated[list[DefinitionChange], Field(description="what the installation changes, or would change")]


class DfhcsdupResult(TypedDict):
    """A run of DFHCSDUP."""

    lines: Annotated[list[str], Field(description="the listing")]
    return_code: Annotated[int, Field(description="0, 4 (warning), 8 (refused) or 12 (not understood)")]


class InstalledDefinitions(TypedDict):
    """The installed definitions."""

    yaml: Annotated[str, Field(description="the text of a definition file")]
    data_sets: Annotated[dict[str, str], Field(description="the file of each DD name")]


class FaultState(TypedDict):
    """The active faults, and those that have occurred."""

    faults: list[PlannedFault]
    happened: list[str]


SysoutDatasetInfo = TypedDict("SysoutDatasetInfo", {"number": int, "class": str, "ddname": str, "control": str})
"""A SYSOUT data set."""
