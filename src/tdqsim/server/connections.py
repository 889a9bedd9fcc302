"""How many network connections a server has at once, over all its faces.

Each face keeps the set of its own open connections and registers it here. A connection that comes when there are too
many is closed at once, whichever face it is for: all share the descriptors of the process.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from tdqsim.facts import table

__all__ = ["Connections"]

_MOST: Final = next(int(row["value"]) for row in table("server") if row["name"] == "connections")


class Connections:
    """The connections of all faces; used in the thread of the event loop alone.

    Attributes:
        most: as many may be open.
    """

    most = _MOST

    def __init__(self) -> None:
        self._faces: list[Collection[Any]] = []

    def register(self, face: Collection[Any]) -> None:
        """Count the connections that a face keeps in this set, too."""
        if not any(face is each for each in self._faces):
            self._faces.append(face)

    @property
    def exceeded(self) -> bool:
        """Whether more are open than may be."""
        return sum(map(len, self._faces)) > self.most
