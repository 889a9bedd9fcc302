"""The limit of simultaneous network connections over all listeners of a server.

Each listener registers the set of its open connections here. If there are too many, a new connection is closed at once,
whichever listener it is for, because all listeners share the file descriptors of the process.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from tdqsim.server.bounds import BOUNDS

_MOST: Final = BOUNDS["connections"]


class Connections:
    """The connections of all listeners; used only in the thread of the event loop.

    Attributes:
        most: the maximum number of open connections.
    """

    most = _MOST

    def __init__(self) -> None:
        self._sets: list[Collection[Any]] = []

    def register(self, connections: Collection[Any]) -> None:
        """Include the connections in this set of a listener."""
        if not any(connections is each for each in self._sets):
            self._sets.append(connections)

    @property
    def full(self) -> bool:
        """Whether as many connections are open as allowed."""
        return sum(map(len, self._sets)) >= self.most

    @property
    def exceeded(self) -> bool:
        """Whether more connections are open than allowed."""
        return sum(map(len, self._sets)) > self.most
