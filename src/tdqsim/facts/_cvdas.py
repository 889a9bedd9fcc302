"""The numbers of the vendor's whole table of CICS-value data areas, which only text of commands and COBOL needs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tdqsim.facts._codes import Cvda
from tdqsim.facts._tables import table

CVDAS: Final[Mapping[str, int]] = MappingProxyType(
    {
        **{row["name"]: int(row["value"]) for row in table("cobol_cvda")},
        **{name: int(each) for name, each in Cvda.__members__.items()},
    }
)
"""The numbers that DFHVALUE gives: those of the vendor's whole table, of which ``Cvda`` has the ones used here."""
