"""What one unit of work has done to one logically recoverable queue and not yet committed.

It is the store's own work: reads move over the committed records, writes gather in memory, DELETEQ is a mark. The
commit carries all of it into the store in one transaction; backout throws it away, so that records read come back at
the head by never having left it. Beside it stands what the account of control intervals must know. Source: Recovery
and Restart Guide (the log holds cursors, no images).
"""

from __future__ import annotations

from typing import cast

from tdqsim.core.store import DurableQueue, Work
from tdqsim.errors import StoreDamaged, StoreFull

__all__ = ["LogicalWork"]


class LogicalWork(Work):
    """The uncommitted part of a queue.

    Attributes:
        starts: for each control interval that it took, how many records it had put before.
        left_before: what the queue's last control interval took before it wrote; None as long as it has not written.
    """

    __slots__ = ("left_before", "starts")

    def __init__(self, stored: DurableQueue) -> None:
        Work.__init__(self, stored)
        self.starts: list[int] = []
        self.left_before: int | None = None

    @property
    def puts(self) -> int:
        """Records written so far, those read back included."""
        return len(self.items)

    @property
    def written(self) -> list[bytes]:
        """The records written and not read back."""
        return cast("list[bytes]", self.items[self.own :])  # entries with keys are for IBM i

    @property
    def deleted(self) -> bool:
        """Whether the queue was deleted: every committed record goes."""
        return self.cleared

    @property
    def count_after(self) -> int:
        """How many committed records the queue has when this is committed now."""
        left = 0 if self.cleared else self.queue.now.count - self.reads
        return left + len(self.items) - self.own

    def twin(self) -> LogicalWork:
        """Another that stands where this one does, to try what a request would find; it is thrown away."""
        found = LogicalWork(self.queue)
        if self.cleared:
            found.clear()
        for _ in range(self.reads):
            found.take()
        found.items.extend(self.written)  # without holding room for them
        return found

    def restore(self, reads: int, *, deleted: bool) -> None:
        """Have read so many records, and deleted the queue, as a prepared unit of work had before a restart."""
        try:
            for _ in range(reads):
                self.take()
        except StoreDamaged:  # the record's contents are not needed: the number of records gives its place
            self.taken = (reads, self.taken[1])
        if deleted:
            self.clear()

    def adopt(self, data: bytes) -> None:
        """Write a record again for a prepared unit of work; if there is no room, the commit fails."""
        try:
            self.put(data)
        except StoreFull:
            self.items.append(data)
