"""A temporary store that several users share, one after another."""

from __future__ import annotations

from tdqsim.core.store._layout import Durability
from tdqsim.core.store._store import Store


class BorrowedStore(Store):
    """A temporary store that its owner lends to one user after another.

    Making the files of a store takes longer than most of its users run.
    """

    def __init__(self, durability: Durability = "process") -> None:
        super().__init__(durability=durability)
        self._own = frozenset(path.name for path in self.path.iterdir())

    def end(self) -> None:
        """Close the store; a subclass may redefine ``close()`` to return it to the owner instead."""
        super().close(clean=False)

    def tidy(self) -> None:
        """Remove files that are not the store's, such as a region's spool and jobs."""
        from shutil import rmtree  # noqa: PLC0415  (it imports all that reads archives)

        for path in self.path.iterdir():
            if path.name not in self._own:
                rmtree(path)
