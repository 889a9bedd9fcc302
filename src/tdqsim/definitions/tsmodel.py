"""TSMODEL definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tdqsim.definitions._fields import Keyword, Name, Text
from tdqsim.definitions._resource import Conflict, Resource, YesNo


class Tsmodel(Resource):
    """The attributes of temporary storage queues whose names have a prefix; the longest matching prefix counts.

    Attributes:
        prefix: the beginning of the names, 1 to 16 characters.
        location: AUXILIARY, or MAIN, which does not survive a restart.
        recovery: whether the queues are recoverable; not allowed in main storage.
        security: whether the queues are protected by resource security, for transactions with RESSEC(YES).
        remotesystem: the SYSID of the region that owns the queues; empty for this region. The models of the owning
            region then define the other attributes.
        remoteprefix: the beginning of the names in the owning region, no longer than the prefix; by default the same.
    """

    kind: ClassVar[str] = "TSMODEL"

    name: Annotated[str, Name(8)]
    prefix: Annotated[str, Text(16)]
    location: Annotated[Literal["AUXILIARY", "MAIN"], Keyword()] = "AUXILIARY"
    recovery: YesNo = "NO"
    security: YesNo = "NO"
    remotesystem: Annotated[str, Name(4, blank=True)] = ""
    remoteprefix: Annotated[str, Text(16)] = ""

    def conflicts(self) -> list[Conflict]:
        """The prefix is required, RECOVERY(YES) requires auxiliary storage, and REMOTEPREFIX requires REMOTESYSTEM."""
        conflicts = []
        if not self.prefix.strip():
            conflicts.append(("prefix", "must be 1 to 16 characters"))
        if self.recovery == "YES" and self.location == "MAIN":
            conflicts.append(("recovery", "is allowed with location AUXILIARY only"))
        if self.remoteprefix and not self.remotesystem:
            conflicts.append(("remoteprefix", "needs remotesystem"))
        if len(self.remoteprefix) > len(self.prefix):
            conflicts.append(("remoteprefix", "must be no longer than prefix"))
        return conflicts
