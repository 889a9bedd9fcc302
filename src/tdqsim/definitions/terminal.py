"""TERMINAL definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar

from tdqsim.definitions._fields import Name
from tdqsim.definitions._resource import Resource, YesNo

__all__ = ["Terminal"]


class Terminal(Resource):
    """A terminal that triggered tasks can have as principal facility.

    Attributes:
        netname: its network name; the terminal's name when not given.
        inservice: a task for a terminal that is not in service waits until it is.
        userid: the user signed on by the definition itself; empty for the default user.
    """

    kind: ClassVar[str] = "TERMINAL"

    name: Annotated[str, Name(4, "terminal")]
    netname: Annotated[str, Name(8, blank=True)] = ""
    inservice: YesNo = "YES"
    userid: Annotated[str, Name(8, "userid", blank=True)] = ""
