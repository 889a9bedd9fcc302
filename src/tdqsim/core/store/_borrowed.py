"""A temporary store that several users have, one after another."""

from __future__ import annotations

import shutil

from tdqsim.core.store._layout import Durability
from tdqsim.core.store._store import Store

__all__ = ["BorrowedStore"]


class BorrowedStore(Store):
    """A temporary store that its owner lends again when a user is done with it.

    To make a store's files costs more than most users do with it.
    """

    def __init__(self, durability: Durability = "process") -> None:
        super().__init__(durability=durability)
        self._own = frozenset(path.name for path in self.path.iterdir())

    def end(self) -> None:
        """Close it, whatever ``close()`` does for a user."""
        super().close(clean=False)

    def tidy(self) -> None:
        """Remove files beside the store's own, such as a region's spool and jobs."""
        for path in self.path.iterdir():
            if path.name not in self._own:
                shutil.rmtree(path)
