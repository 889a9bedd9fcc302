"""The last operator messages of the regions, which CICS writes to CSMT, CSSL and other queues.

They are recorded when they are issued, because the queue may be closed, full, or read by a program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tdqsim.cics import Region
from tdqsim.facts import table
from tdqsim.hosting import RegionInternals

_DESTINATIONS: Final = {row["id"]: row["destination"] for row in table("kernel_messages")}
_KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class OperatorMessage:
    """An operator message.

    Attributes:
        time_ns: its time on the region's clock.
        id: the message id, such as DFHAC2236.
        destination: the queue to which it is written.
        text: the text.
    """

    time_ns: int
    id: str
    destination: str
    text: str


class MessageLog:
    """The last messages of each region."""

    def __init__(self) -> None:
        self._of: dict[str, deque[OperatorMessage]] = {}

    def listen(self, region: Region) -> None:
        """Record the messages of a region from now on; call in the engine's thread."""
        kept = self._of.setdefault(region.applid, deque(maxlen=_KEPT))

        messages = RegionInternals(region).messages

        def record(message: str, inserts: Mapping[str, object]) -> None:
            destination, text = _DESTINATIONS[message], messages.shown(message, inserts)
            kept.append(OperatorMessage(region.clock.time_ns(), message, destination, text))

        messages.listeners.append(record)

    def of(self, applid: str) -> tuple[OperatorMessage, ...]:
        """The last messages of a region, oldest first; call in the engine's thread."""
        return tuple(self._of.get(applid, ()))
