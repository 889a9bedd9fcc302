"""The levels on which the programs of a task run.

A *level* is what LINK begins and RETURN ends: it has its program's name, COMMAREA and channel. XCTL puts another
program on the same level. HANDLE, IGNORE and their stack belong to a level: a linked program starts with none and its
caller's are active again when it is over. An abend exit is searched from the level of the abend upwards. Source: LINK,
XCTL, RETURN, Abnormal termination recovery (IBM Docs).
"""

from __future__ import annotations

from typing import Protocol

from tdqsim.cics.kernel.channels import Channel, checked_name
from tdqsim.cics.kernel.issue import Issuer, WatchedRegion
from tdqsim.facts import Resp

__all__ = ["LevelTask", "ProgramLevel", "level_of", "passed"]


class ProgramLevel:
    """One level of a task.

    Attributes:
        program: the name of the program.
        commarea: the COMMAREA as storage that both sides see; None for none.
        up: the level that linked to it; None at the top.
        channel: the channel that the program was given, or None.
        channels: the channels that the program can name: that one, and those that it has made.
    """

    __slots__ = ("channel", "channels", "commarea", "program", "up")

    def __init__(
        self, program: str, commarea: memoryview | None, up: ProgramLevel | None, channel: Channel | None = None
    ) -> None:
        self.program = program
        self.commarea = commarea
        self.up = up
        self.channel = channel
        self.channels: dict[str, Channel] = {}
        if channel is not None:
            self.channels[channel.name] = channel

    @property
    def channel_name(self) -> str:
        """The name of the current channel; empty for none."""
        return "" if self.channel is None else self.channel.name

    @property
    def invoker(self) -> str:
        """The program that linked to this one; empty at the top."""
        return "" if self.up is None else self.up.program

    @property
    def number(self) -> int:
        """1 at the top, and one more with each LINK."""
        return 1 if self.up is None else self.up.number + 1


class LevelTask(Issuer, Protocol):
    """A task whose programs have levels.

    Attributes:
        level: where its program runs; None when nothing was linked to.
        program: the name of its first program.
    """

    level: ProgramLevel | None
    program: str

    @property
    def region(self) -> WatchedRegion:
        """Its region."""


def level_of(task: LevelTask) -> ProgramLevel:
    """The level of the program that runs; at the top it is made when it is first asked for."""
    if task.level is None:
        task.level = ProgramLevel(task.program, None, None)
    return task.level


def passed(task: LevelTask, channel: str | None) -> Channel | None:
    """The channel that LINK, XCTL, START or RETURN names; one that is not there is made, without containers.

    Raises:
        Condition: CHANNELERR 1: that is no name.
    """
    if channel is None:
        return None
    name = checked_name(channel, Resp.CHANNELERR, 1)
    return level_of(task).channels.get(name) or Channel(name)
