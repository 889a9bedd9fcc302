"""How something changes that the next start must find again: first in the store, then in memory, which follows.

Code that installs, changes or removes an entry of a catalogue passes one :class:`KeptChange`. What the next start must
know of it (records of the catalogue, and the entries that come, move or go) is one commit of the store. When that is
made, assignments alone bring it about here (:meth:`KeptChange.committed`), and then comes what follows from it
(:meth:`KeptChange.finish`); both may be done again. So whatever is raised, at whatever line, the change was made, here
and for the next start, or it was not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tdqsim.core.store import Work

__all__ = ["KeptChange", "carry_out"]


class KeptChange:
    """A change of what is installed.

    Attributes:
        made: whether it is made for good.
    """

    made = False

    def committed(self) -> None:
        """It is made: assignments only. May be said more than once."""
        self.made = True

    def finish(self) -> None:
        """Do what follows from it. May be done again."""

    def forget(self) -> None:
        """It was not made: let go of what was got ready."""


def carry_out(
    commits: Any, change: KeptChange, meta: Mapping[bytes, bytes | None], works: Collection[Work] = ()
) -> None:
    """Make a change, or nothing of it.

    Args:
        commits: what commits it: the durable half of a store, or a region's commits.
        change: the change.
        meta: what of the store's meta data changes with it.
        works: what is done to durable queues with it.

    Raises:
        StoreError: the store did not take it; nothing has changed.
    """
    try:
        if meta or works:
            commits.commit(works, meta, change)
        else:  # there is nothing to keep
            change.committed()
        change.finish()
    except BaseException:
        commits.settle()
        if change.made:
            change.committed()
            change.finish()
        else:
            change.forget()
        raise
