"""The last messages of the regions to their operators: those that go to CSMT, CSSL and the like.

They are kept as they are made, since a queue that they are written to may be closed, full, or read by somebody else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tdqsim.cics import Region
from tdqsim.facts import table

__all__ = ["MessageLog", "OperatorMessage"]

_ROWS: Final = {row["id"]: row for row in table("kernel_messages")}
_KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class OperatorMessage:
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
        self._of: dict[str, deque[OperatorMessage]] = {}

    def listen(self, region: Region) -> None:
        """Keep the messages of a region from now on; to be called in the engine's thread."""
        kept = self._of.setdefault(region.applid, deque(maxlen=_KEPT))

        def told(message: str, inserts: Mapping[str, object]) -> None:
            row = _ROWS[message]
            shown = _Inserts({name: value if value != "" else "????" for name, value in inserts.items()})
            text = row["text"].format_map(shown)
            kept.append(OperatorMessage(region.clock.time_ns(), message, row["destination"], text))

        region.messages.listeners.append(told)

    def of(self, applid: str) -> tuple[OperatorMessage, ...]:
        """The last messages of a region, oldest first; to be called in the engine's thread."""
        return tuple(self._of.get(applid, ()))
