"""PROGRAM definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tdqsim.definitions._fields import Keyword, Name
from tdqsim.definitions._resource import Conflict, Resource


class ProgramDefinition(Resource):
    """A program that LINK runs in this region, or in the region that REMOTESYSTEM names.

    A definition is optional: without one a program is found by its name, as with autoinstall.

    Attributes:
        status: ENABLED, or DISABLED for a program that cannot be run.
        executionset: FULLAPI, or DPLSUBSET to restrict it in this region to the commands allowed in a remote region.
        remotesystem: the SYSID of the region that runs it; empty for this region.
        remotename: its name in that region; by default its own name.
        transid: the transaction under which it runs in that region; by default CSMI.
    """

    kind: ClassVar[str] = "PROGRAM"

    name: Annotated[str, Name(8)]
    status: Annotated[Literal["ENABLED", "DISABLED"], Keyword()] = "ENABLED"
    executionset: Annotated[Literal["FULLAPI", "DPLSUBSET"], Keyword()] = "FULLAPI"
    remotesystem: Annotated[str, Name(4, blank=True)] = ""
    remotename: Annotated[str, Name(8, blank=True)] = ""
    transid: Annotated[str, Name(4, "transaction", blank=True)] = ""

    def conflicts(self) -> list[Conflict]:
        """REMOTENAME requires REMOTESYSTEM."""
        return [("remotename", "needs remotesystem")] if self.remotename and not self.remotesystem else []
