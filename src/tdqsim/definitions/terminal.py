"""TERMINAL definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar

from tdqsim.definitions._fields import Name
from tdqsim.definitions._resource import Resource, YesNo

__all__ = ["Terminal"]


class Terminal(Resource):
    """A terminal, which can be the principal facility of triggered tasks.

    Attributes:
        netname: its network name; by default the terminal's name.
        inservice: with NO, a task for the terminal waits until it is in service.
        userid: the user who is signed on by the definition itself (preset security); empty for the default user.
    """

    kind: ClassVar[str] = "TERMINAL"

    name: Annotated[str, Name(4, "terminal")]
    netname: Annotated[str, Name(8, blank=True)] = ""
    inservice: YesNo = "YES"
    userid: Annotated[str, Name(8, "userid", blank=True)] = ""
