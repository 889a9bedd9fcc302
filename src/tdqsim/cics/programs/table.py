"""The programs of a region, and the levels on which they run.

A program is a callable that gets its task, whatever it was written in. A *level* is what LINK begins and RETURN ends:
it has its program's name, COMMAREA and channel. XCTL puts another program on the same level. HANDLE, IGNORE and their
stack belong to a level: a linked program starts with none and its caller's are active again when it is over. An abend
exit is searched from the level of the abend upwards. Source: LINK, XCTL, RETURN, Abnormal termination recovery (IBM
Docs).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdqsim.cics.programs.channels import Channel
from tdqsim.errors import TdqError

__all__ = ["Program", "ProgramLevel", "Programs"]

Program = Callable[[Any], Any]
"""A program: called with its task. Its COMMAREA is ``task.commarea``."""


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


class Programs:
    """The program table of a region.

    Attributes:
        finders: asked in turn for a program that was not registered; each gives the program or None.
    """

    def __init__(self) -> None:
        self._table: dict[str, Program] = {}
        self.finders: list[Callable[[str], Program | None]] = []

    def register(self, name: str, program: Program) -> None:
        """Have a Python function for a program.

        Args:
            name: 1 to 8 characters.
            program: called with its task.

        Raises:
            TdqError: the name is no program's, or the program cannot be called.
        """
        if not 0 < len(name) <= 8 or not name.isascii():
            raise TdqError(f"program {name!r}: the name of a program is 1 to 8 characters")
        if not callable(program):
            raise TdqError(f"program {name}: {program!r} cannot be called; allowed are functions of a task")
        self._table[name.upper()] = program

    def find(self, name: str) -> Program | None:
        """The program of this name, or None."""
        name = name.rstrip(" \0").upper()
        found = self._table.get(name)
        if found is not None:
            return found
        return next((program for finder in self.finders if (program := finder(name)) is not None), None)
