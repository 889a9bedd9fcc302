"""The limit of simultaneous network connections over all faces of a server.

Each face registers the set of its open connections here. If there are too many, a new connection is closed at once,
whichever face it is for, because all faces share the file descriptors of the process.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from tdqsim.facts import table

_MOST: Final = next(int(row["value"]) for row in table("server") if row["name"] == "connections")


class Connections:
    """The connections of all faces; used only in the thread of the event loop.

    Attributes:
        most: the maximum number of open connections.
    """

    most = _MOST

    def __init__(self) -> None:
        self._faces: list[Collection[Any]] = []

    def register(self, face: Collection[Any]) -> None:
        """Include the connections in this set of a face."""
        if not any(face is each for each in self._faces):
            self._faces.append(face)

    @property
    def exceeded(self) -> bool:
        """Whether more connections are open than allowed."""
        return sum(map(len, self._faces)) > self.most
