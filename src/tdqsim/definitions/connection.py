"""CONNECTION definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tdqsim.definitions._fields import Keyword, Name
from tdqsim.definitions._resource import Resource, YesNo

__all__ = ["Connection"]


class Connection(Resource):
    """A remote system, under the SYSID by which this region knows it.

    Attributes:
        netname: the APPLID of the other region; the connection's name when not given.
        inservice: requests over a connection that is not in service get SYSIDERR.
        securityname: the user id of requests that arrive over it; the default user when it is empty or not known.
        attachsec: LOCAL takes ``securityname``, the others the user id that the other region sends.
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
