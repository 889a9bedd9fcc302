"""What one unit of work has done to one logically recoverable queue and not yet committed.

The store's own work object has the records: reads move over the committed ones, writes gather in memory, DELETEQ is a
mark. The commit carries all of it into the store in one transaction; backout throws it away, so that records read come
back at the head by never having left it. Beside it stands what the account of control intervals must know. Source:
Recovery and Restart Guide (the log holds cursors, no images).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tdqsim.errors import StoreDamaged, StoreFull

if TYPE_CHECKING:
    from tdqsim.core.store import Work

__all__ = ["LogicalWork"]


class LogicalWork:
    """The uncommitted part of a queue.

    Attributes:
        queue: the queue; ``stored`` is where its committed records are.
        changes: the store's work.
        take, put: its methods.
        deleted: whether the queue was deleted: every committed record goes.
        starts: for each control interval that it took, how many records it had put before.
        left_before: what the queue's last control interval took before it wrote; None as long as it has not written.
    """

    __slots__ = ("changes", "deleted", "left_before", "put", "queue", "starts", "take")

    def __init__(self, queue: Any) -> None:
        self.queue = queue
        self.changes: Work = queue.stored.work()
        self.take: Callable[[], bytes | None] = self.changes.take
        self.put: Callable[[bytes], None] = self.changes.put
        self.deleted = False
        self.starts: list[int] = []
        self.left_before: int | None = None

    @property
    def reads(self) -> int:
        """Committed records read so far, from the head."""
        return self.changes.reads

    @property
    def puts(self) -> int:
        """Records written so far, those read back included."""
        return len(self.changes.written)

    @property
    def own(self) -> int:
        """How many of them it has read back."""
        return self.changes.own

    @property
    def written(self) -> list[Any]:
        """The records written and not read back."""
        return self.changes.written[self.changes.own :]

    @property
    def changed(self) -> bool:
        """Whether committing it changes the queue."""
        return self.changes.changed

    @property
    def items(self) -> int:
        """How many committed records the queue has when this is committed now."""
        changes = self.changes
        left = 0 if self.deleted else changes.queue.now.count - changes.reads
        return left + len(changes.written) - changes.own

    def delete(self) -> None:
        """Delete every record, one's own included."""
        self.changes.clear()
        self.deleted = True

    def twin(self) -> LogicalWork:
        """Another that stands where this one does, to try what a request would find; it is thrown away."""
        found = LogicalWork(self.queue)
        if self.deleted:
            found.delete()
        for _ in range(self.reads):
            found.take()
        found.changes.written.extend(self.written)  # without holding room for them
        return found

    def restore(self, reads: int, *, deleted: bool) -> None:
        """Have read so many records, and deleted the queue, as a prepared unit of work had before a restart."""
        try:
            for _ in range(reads):
                self.take()
        except StoreDamaged:  # of what it read it needs nothing: its place is told by how many there were
            changes: Any = self.changes
            changes.taken = (reads, changes.taken[1])
        if deleted:
            self.delete()

    def adopt(self, data: bytes) -> None:
        """Have written a record, as a prepared unit of work had; where there is no room the commit says so."""
        try:
            self.put(data)
        except StoreFull:
            self.changes.written.append(data)
