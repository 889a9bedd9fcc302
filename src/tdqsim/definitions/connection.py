"""CONNECTION definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tdqsim.definitions._fields import Keyword, Name
from tdqsim.definitions._resource import Resource, YesNo


class Connection(Resource):
    """A connection to another region; its name is the SYSID that this region uses for the other one.

    Attributes:
        netname: the APPLID of the other region; by default the connection's name.
        inservice: with NO, requests over the connection raise SYSIDERR.
        securityname: the user id for requests that arrive over it; the default user when it is empty or not known.
        attachsec: LOCAL uses ``securityname``, the others use the user id that the other region sends.
    """

    kind: ClassVar[str] = "CONNECTION"

    name: Annotated[str, Name(4, "terminal")]
    netname: Annotated[str, Name(8, blank=True)] = ""
    inservice: YesNo = "YES"
    securityname: Annotated[str, Name(8, "userid", blank=True)] = ""
    attachsec: Annotated[Literal["LOCAL", "IDENTIFY", "VERIFY", "PERSISTENT", "MIXIDPE"], Keyword()] = "LOCAL"

    @property
    def applid(self) -> str:
        """The APPLID of the other region."""
        return self.netname or self.name
