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
    """

    kind: ClassVar[str] = "TSMODEL"

    name: Annotated[str, Name(8)]
    prefix: Annotated[str, Text(16)]
    location: Annotated[Literal["AUXILIARY", "MAIN"], Keyword()] = "AUXILIARY"
    recovery: YesNo = "NO"

    def conflicts(self) -> list[Conflict]:
        """There is a prefix; RECOVERY(YES) is for auxiliary storage."""
        found = []
        if not self.prefix.strip():
            found.append(("prefix", "must be 1 to 16 characters"))
        if self.recovery == "YES" and self.location == "MAIN":
            found.append(("recovery", "is allowed with location AUXILIARY only"))
        return found
