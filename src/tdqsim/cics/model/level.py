"""What belongs to the program that runs: its level, and what it has asked for when a condition or an abend comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tdqsim.cics.kernel.channels import Channel
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.facts import Resp

__all__ = ["NO_HANDLES", "AbendExit", "AidLabel", "Handles", "Label", "ProgramLevel"]

Label = Callable[[Condition], object]
AbendExit = Callable[[Abend], object]
AidLabel = Callable[[Any], object]
"""What is called for a condition, an abend, a key; it gives what the command returns."""


class Handles(NamedTuple):
    """What a program has asked for. A tuple, so that PUSH HANDLE keeps it as it is.

    Attributes:
        labels: the active HANDLE of each condition; ERROR is the catch-all.
        ignored: the conditions of IGNORE.
        abend: the active abend exit, or None.
        cancelled: the abend exit that HANDLE ABEND CANCEL or its own running has put out of action, or None.
        aids: the label of HANDLE AID for each key; ANYKEY is the catch-all for the others, but for ENTER.
        below: what the last PUSH HANDLE has suspended; None for nothing.
    """

    labels: dict[Resp, Label]
    ignored: frozenset[Resp]
    abend: AbendExit | None
    cancelled: AbendExit | None
    aids: Mapping[str, AidLabel] = MappingProxyType({})
    below: Handles | None = None


NO_HANDLES: Final = Handles({}, frozenset(), None, None)


class ProgramLevel:
    """One level of a task.

    Attributes:
        program: the name of the program.
        commarea: the COMMAREA as storage that both sides see; None for none.
        up: the level that linked to it; None at the top.
        invoker: the program whose LINK or XCTL runs this one; empty for the first program of the task.
        channel: the channel that the program was given, or None.
        channels: the channels that the program can name: that one, and those that it has made.
        subset: D or DS for a program that a distributed program link runs, and for those that it links to: it has no
            terminal, and with D takes no syncpoint. Empty for all others.
    """

    __slots__ = ("channel", "channels", "commarea", "invoker", "program", "subset", "up")

    def __init__(
        self,
        program: str,
        commarea: memoryview | None,
        up: ProgramLevel | None,
        channel: Channel | None = None,
        invoker: str = "",
    ) -> None:
        self.program = program
        self.commarea = commarea
        self.up = up
        self.invoker = invoker
        self.subset: str = "" if up is None else up.subset
        self.channel = channel
        self.channels: dict[str, Channel] = {}
        if channel is not None:
            self.channels[channel.name] = channel

    @property
    def channel_name(self) -> str:
        """The name of the current channel; empty for none."""
        return "" if self.channel is None else self.channel.name

    @property
    def return_program(self) -> str:
        """The program that gets control at the end of this level; empty at the top."""
        return "" if self.up is None else self.up.program

    @property
    def number(self) -> int:
        """1 at the top, and one more with each LINK."""
        return 1 if self.up is None else self.up.number + 1
