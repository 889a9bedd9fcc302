"""The state that belongs to the running program: its level, and its HANDLE and IGNORE settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from tdqsim.cics.kernel.channels import Channel
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Resp

Label = Callable[[Condition], object]
AbendExit = Callable[[Abend], object]
AidLabel = Callable[[Any], object]
"""The function called for a condition, an abend or a key; its result becomes the result of the command."""


class Handles(NamedTuple):
    """The HANDLE and IGNORE settings of a program. Immutable, so that PUSH HANDLE can save them by reference.

    Attributes:
        labels: the active HANDLE of each condition; ERROR is the catch-all.
        ignored: the conditions of IGNORE CONDITION.
        abend: the active exit of HANDLE ABEND, or None.
        cancelled: the abend exit that was deactivated by HANDLE ABEND CANCEL, or because it was entered; or None.
        aids: the label of HANDLE AID for each key; ANYKEY is the catch-all for all other keys except ENTER.
        below: the settings that the last PUSH HANDLE has suspended, or None.
    """

    labels: Mapping[Resp, Label] = MappingProxyType({})
    ignored: frozenset[Resp] = frozenset()
    abend: AbendExit | None = None
    cancelled: AbendExit | None = None
    aids: Mapping[str, AidLabel] = MappingProxyType({})
    below: Handles | None = None


NO_HANDLES: Final = Handles()


class ProgramLevel:
    """One program level of a task: the first program, or one that was entered by LINK.

    Attributes:
        program: the name of the program.
        commarea: the COMMAREA, as storage shared by caller and program; None for none.
        up: the level that linked to it; None at the top.
        invoker: the program whose LINK or XCTL runs this one; empty for the first program of the task.
        channel: the channel passed to the program, or None.
        channels: the channels that the program can name: the one passed to it and those that it has created.
        subset: D or DS for a program run by a distributed program link, and for those that it links to: such a program
            has no terminal, and with D may not take a syncpoint. Empty for all others.
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
        """The number of the level: 1 for the first program, and one more for each LINK."""
        return 1 if self.up is None else self.up.number + 1
