"""PROGRAM definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tdqsim.definitions._fields import Keyword, Name
from tdqsim.definitions._resource import Conflict, Resource

__all__ = ["ProgramDefinition"]


class ProgramDefinition(Resource):
    """A program that LINK runs here, or in the region that REMOTESYSTEM names.

    A program needs no definition: one that has none is found by its name, as with autoinstall.

    Attributes:
        status: a DISABLED program cannot be run.
        executionset: DPLSUBSET: LINK runs it here with the commands only that it could issue in another region.
        remotesystem: the SYSID of the region that runs it; empty for this one.
        remotename: its name there; its own name when not given.
        transid: the transaction under which it runs there; CSMI when not given.
    """

    kind: ClassVar[str] = "PROGRAM"

    name: Annotated[str, Name(8)]
    status: Annotated[Literal["ENABLED", "DISABLED"], Keyword()] = "ENABLED"
    executionset: Annotated[Literal["FULLAPI", "DPLSUBSET"], Keyword()] = "FULLAPI"
    remotesystem: Annotated[str, Name(4, blank=True)] = ""
    remotename: Annotated[str, Name(8, blank=True)] = ""
    transid: Annotated[str, Name(4, "transaction", blank=True)] = ""

    def conflicts(self) -> list[Conflict]:
        """REMOTENAME goes with REMOTESYSTEM."""
        return [("remotename", "needs remotesystem")] if self.remotename and not self.remotesystem else []
