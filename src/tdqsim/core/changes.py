"""Changes that survive a restart: made first in the store, then in memory.

Code that installs, changes or removes an entry of a catalogue describes the change as a :class:`KeptChange`. Everything
that the next start needs (records of the catalogue, and the queue entries that are added, moved or removed) goes into
one commit of the store. After the commit, :meth:`KeptChange.committed` changes the memory by assignments only, and then
:meth:`KeptChange.finish` does everything that depends on the change; both may be repeated. So an exception at any line
leaves the change made, in memory and in the store, or not made in either.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tdqsim.core.store import Work


class KeptChange:
    """A change of the installed resources.

    Attributes:
        made: whether the change is final.
    """

    made = False

    def committed(self) -> None:
        """Make the change in memory, by assignments only; called after the commit, maybe more than once."""
        self.made = True

    def finish(self) -> None:
        """Do everything that depends on the change; maybe called more than once."""

    def forget(self) -> None:
        """Release everything prepared for the change, which was not made."""


def carry_out(
    commits: Any, change: KeptChange, meta: Mapping[bytes, bytes | None], works: Collection[Work] = ()
) -> None:
    """Make a change completely, or not at all.

    Args:
        commits: the object that commits it: the durable half of a store, or a region's commits.
        change: the change.
        meta: the changes to the store's meta data.
        works: the changes to durable queues.

    Raises:
        StoreError: the store refused the commit; nothing has changed.
    """
    try:
        if meta or works:
            commits.commit(works, meta, change)
        else:  # the next start does not need to know of this change
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
