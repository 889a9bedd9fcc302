"""Channels and their containers.

A channel is a set of named containers, of unlimited size, that programs pass to each other. LINK shares the channel
itself: the caller sees the containers that the linked program has added, changed and deleted. XCTL passes it on; START
gives the new task a copy, RETURN at a terminal gives the next task the channel. A channel that a program has created
and not passed is deleted with its level. Source: Channels and containers (IBM Docs).
"""

from __future__ import annotations

import re
from typing import Final, Literal

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.facts import Resp

_NAME: Final = r"[A-Za-z0-9$@#/%&?!:|\"=,;<>.\-_\u00ac]{1,16}"


class Container:
    """One container.

    Attributes:
        data: its contents.
        kind: BIT for binary data; CHAR for text, which may be converted between code pages.
    """

    __slots__ = ("data", "kind")

    def __init__(self, data: bytes, kind: Literal["BIT", "CHAR"] = "BIT") -> None:
        self.data = data
        self.kind = kind


class Channel:
    """One channel.

    Attributes:
        name: 1 to 16 characters.
        containers: the containers by name, in the order in which they were made.
    """

    __slots__ = ("containers", "name")

    def __init__(self, name: str, containers: dict[str, Container] | None = None) -> None:
        self.name = name
        self.containers = {} if containers is None else containers

    def copy(self) -> Channel:
        """Return a channel with copies of the containers."""
        made = {name: Container(each.data, each.kind) for name, each in self.containers.items()}
        return Channel(self.name, made)


def checked_name(name: str, resp: Resp, resp2: int) -> str:
    """The name of a channel or container without its padding.

    Raises:
        Condition: it has characters that are not allowed.
    """
    name = name.rstrip(" ")
    if not re.fullmatch(_NAME, name):
        raise Condition(
            resp, resp2, f"{name!r} is not a valid name: 1 to 16 letters, digits and some signs, without blanks"
        )
    return name
