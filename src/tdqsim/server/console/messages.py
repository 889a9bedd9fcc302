"""What the regions have told their operators: the messages that go to CSMT, CSSL and the like, the last ones.

They are kept as they are made, since a queue that they are written to may be closed, full, or read by somebody else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tdqsim.cics import Region
from tdqsim.facts import table

__all__ = ["Message", "MessageLog"]

_ROWS: Final = {row["id"]: row for row in table("kernel_messages")}
_KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        time_ns: when, on the region's clock.
        id: such as DFHAC2236.
        destination: the queue that it goes to.
        text: the message.
    """

    time_ns: int
    id: str
    destination: str
    text: str


class _Inserts(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "????"


class MessageLog:
    """The last messages of each region."""

    def __init__(self) -> None:
        self._of: dict[str, deque[Message]] = {}

    def listen(self, region: Region) -> None:
        """Keep what a region tells from now on; to be called in the engine's thread."""
        kept = self._of.setdefault(region.applid, deque(maxlen=_KEPT))

        def told(message: str, inserts: Mapping[str, object]) -> None:
            row = _ROWS[message]
            shown = _Inserts({name: value if value != "" else "????" for name, value in inserts.items()})
            kept.append(Message(region.clock.time_ns(), message, row["destination"], row["text"].format_map(shown)))

        region.messages.listeners.append(told)

    def of(self, applid: str) -> tuple[Message, ...]:
        """The last messages of a region, oldest first."""
        return tuple(self._of.get(applid, ()))
