"""TSMODEL definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tdqsim.definitions._fields import Keyword, Name, Text
from tdqsim.definitions._resource import Conflict, Resource, YesNo

__all__ = ["Tsmodel"]


class Tsmodel(Resource):
    """What the temporary storage queues are whose names begin alike; of several models the longest prefix counts.

    Attributes:
        prefix: what the names begin with, 1 to 16 characters.
        location: AUXILIARY, or MAIN, where no restart finds them.
        recovery: whether they are recoverable; not in main storage.
        remotesystem: the SYSID of the region that owns them; empty for this one. The models of that region then say
            what they are.
        remoteprefix: what their names begin with there, no longer than the prefix; the same prefix when not given.
    """

    kind: ClassVar[str] = "TSMODEL"

    name: Annotated[str, Name(8)]
    prefix: Annotated[str, Text(16)]
    location: Annotated[Literal["AUXILIARY", "MAIN"], Keyword()] = "AUXILIARY"
    recovery: YesNo = "NO"
    remotesystem: Annotated[str, Name(4, blank=True)] = ""
    remoteprefix: Annotated[str, Text(16)] = ""

    def conflicts(self) -> list[Conflict]:
        """There is a prefix; RECOVERY(YES) is for auxiliary storage; REMOTEPREFIX goes with REMOTESYSTEM."""
        found = []
        if not self.prefix.strip():
            found.append(("prefix", "must be 1 to 16 characters"))
        if self.recovery == "YES" and self.location == "MAIN":
            found.append(("recovery", "is allowed with location AUXILIARY only"))
        if self.remoteprefix and not self.remotesystem:
            found.append(("remoteprefix", "needs remotesystem"))
        if len(self.remoteprefix) > len(self.prefix):
            found.append(("remoteprefix", "must be no longer than prefix"))
        return found
