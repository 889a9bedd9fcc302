"""TERMINAL definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar

from tdqsim.definitions._fields import Name, Number
from tdqsim.definitions._resource import Conflict, Resource, YesNo


class Terminal(Resource):
    """A terminal of this region, or of the region that REMOTESYSTEM names; tasks can have it as principal facility.

    Attributes:
        netname: its network name; by default the terminal's name.
        inservice: with NO, a task for the terminal waits until it is in service.
        userid: the user who is signed on by the definition itself (preset security); empty for the default user.
        remotesystem: the connection to the region that owns the terminal; empty for this region.
        remotename: its name in that region; by default its own name.
        termpriority: added to the priority of the transaction for tasks at this terminal, 0 to 255.
    """

    kind: ClassVar[str] = "TERMINAL"

    name: Annotated[str, Name(4, "terminal")]
    netname: Annotated[str, Name(8, blank=True)] = ""
    inservice: YesNo = "YES"
    userid: Annotated[str, Name(8, "userid", blank=True)] = ""
    remotesystem: Annotated[str, Name(4, blank=True)] = ""
    remotename: Annotated[str, Name(4, "terminal", blank=True)] = ""
    termpriority: Annotated[int, Number(0, 255)] = 0

    def conflicts(self) -> list[Conflict]:
        """REMOTENAME requires REMOTESYSTEM."""
        return [("remotename", "needs remotesystem")] if self.remotename and not self.remotesystem else []
