"""The uncommitted changes that one unit of work has made to one logically recoverable queue.

It extends the store's :class:`~tdqsim.core.store.Work`: reads advance a position in the committed records, writes are
collected in memory, and DELETEQ sets a mark. The commit applies all of it to the store in one transaction. Backout
discards it, so the records that were read are at the head again because they never left it. In addition it holds what
the account of control intervals needs. Source: Recovery and Restart Guide (the log holds cursors, no images).
"""

from __future__ import annotations

from typing import cast

from tdqsim.core.store import DurableQueue, Work
from tdqsim.errors import StoreDamaged, StoreFull


class LogicalWork(Work):
    """The uncommitted changes of a queue.

    Attributes:
        starts: for each control interval taken, the number of records written before it.
        left_before: the free bytes of the queue's last control interval before the first write; None before that.
    """

    __slots__ = ("left_before", "starts")

    def __init__(self, stored: DurableQueue) -> None:
        Work.__init__(self, stored)
        self.starts: list[int] = []
        self.left_before: int | None = None

    @property
    def puts(self) -> int:
        """The number of records written so far, including those read back."""
        return len(self.items)

    @property
    def written(self) -> list[bytes]:
        """The records written and not read back."""
        return cast("list[bytes]", self.items[self.own :])  # entries with keys are for IBM i

    @property
    def deleted(self) -> bool:
        """Whether the queue was deleted, so that the commit removes every committed record."""
        return self.cleared

    @property
    def count_after(self) -> int:
        """The number of committed records that the queue would have after a commit now."""
        left = 0 if self.cleared else self.queue.now.count - self.reads
        return left + len(self.items) - self.own

    def twin(self) -> LogicalWork:
        """A copy, in which the outcome of a request can be tried; it is never committed."""
        copy = LogicalWork(self.queue)
        if self.cleared:
            copy.clear()
        for _ in range(self.reads):
            copy.take()
        copy.items.extend(self.written)  # without reserving space for them
        return copy

    def restore(self, reads: int, *, deleted: bool) -> None:
        """Restore the reads and the deletion that a prepared unit of work had made before a restart."""
        try:
            for _ in range(reads):
                self.take()
        except StoreDamaged:  # only the number of records is needed here, not their contents
            self.taken = (reads, self.taken[1])
        if deleted:
            self.clear()

    def adopt(self, data: bytes) -> None:
        """Write a record again for a prepared unit of work; if there is no space, the commit fails."""
        try:
            self.put(data)
        except StoreFull:
            self.items.append(data)
