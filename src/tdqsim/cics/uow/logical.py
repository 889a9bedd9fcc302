"""What one unit of work has done to one logically recoverable queue and not yet committed.

The queue's stored records are the committed ones. Reads move a cursor over them, writes gather in memory in the order
of their sequence numbers, DELETEQ is a mark. Commit carries all of it into the store in one transaction; backout
forgets it, so that records read come back at the head by never having left it. Source: Recovery and Restart Guide (the
log holds cursors, no images).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.queues.intra import SLOT_BITS
from tdqsim.core.store import Moves
from tdqsim.errors import StoreFull
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics.queues.intra import IntraSpace, Mark
    from tdqsim.cics.queues.kinds import IntraQueue
    from tdqsim.core.store import Environment

__all__ = ["LogicalWork"]


class LogicalWork(Moves):
    """The uncommitted part of a queue.

    Attributes:
        queue: the queue; ``stored`` is where its committed records are.
        reads: committed records read so far, from the head; ``first_read``, ``last_read``, ``runs`` and ``read_bytes``
            say which. Of what was read before a restart only ``last_read`` is known.
        deleted: whether the queue was deleted: every committed record goes.
        written: records written and not read back, with their sequence numbers; ``puts`` and ``reserved`` say for how
            many records, and bytes of data, room is held.
        last_seq: the last sequence number given to a record written here, even if it was read back or deleted since;
            0 when nothing was ever written.
        mark: where the queue's output stood before it wrote; None when it has not written.
        plain: whether all that it has read was plain, and nothing was deleted.
    """

    __slots__ = ("_durable", "_space", "deleted", "last_seq", "mark", "plain", "queue")

    def __init__(self, queue: IntraQueue, space: IntraSpace, durable: Environment) -> None:
        super().__init__(queue.stored)
        self.queue = queue
        self.deleted = False
        self.plain = True
        self.last_seq = 0
        self._space = space
        self._durable = durable
        self.mark: Mark | None = None

    def twin(self) -> LogicalWork:
        """Another that stands where this one does, to try what a request would find; it is never committed."""
        found = LogicalWork(self.queue, self._space, self._durable)
        found.reads, found.deleted, found.last_seq = self.reads, self.deleted, self.last_seq
        found.written, found.first_read, found.last_read = self.written.copy(), self.first_read, self.last_read
        return found

    # -- requests -------------------------------------------------------------------------------------------------

    def next_committed(self) -> bytes | None:
        """Read the next committed record; None when there is none left for this unit of work."""
        stored, reads = self.stored, self.reads
        if self.deleted or reads >= stored.count:
            return None
        if reads:
            seq = self.last_read + 1
        else:
            self.first_read = seq = stored._head  # noqa: SLF001  (a property costs a call)
        data = stored.plain(seq)
        if data is None:
            found = stored.plain_behind(seq - 1) or self._look_behind(seq - 1)
            if found is None:
                return None
            seq, data = self._over_the_gap(seq, *found)
        self.last_read = seq
        self.reads = reads + 1
        self.read_bytes += len(data)
        return data

    def _look_behind(self, seq: int) -> tuple[int, bytes] | None:
        """The next record that is not a plain one; whoever reads a damaged one is told."""
        entry = next(self.stored.entries(after=seq, limit=1), None) if self.reads else self.stored.peek()
        if entry is None:
            return None
        self.plain = self.plain and self.stored.plain(entry.seq) is not None
        return entry.seq, entry.data

    def _over_the_gap(self, wanted: int, seq: int, data: bytes) -> tuple[int, bytes]:
        """The record found where another number was wanted: another run begins, as behind a control interval."""
        if seq != wanted:
            if self.reads:
                self.runs.append((self.first_read, wanted - self.first_read))
            self.first_read = seq
        return seq, data

    def next_own(self) -> bytes | None:
        """Read back the oldest record that this unit of work wrote; None when there is none."""
        return self.written.popleft()[1] if self.written else None

    def write_in_place(self, data: bytes) -> bool:
        """Write a record into the control interval at hand, the short way; False when the long way must be gone."""
        queue, size = self.queue, len(data)
        if not 0 < size <= queue.ci_left:
            return False
        try:
            self._durable.reserve(size)
        except StoreFull:
            return False
        if self.last_seq:
            seq = self.last_seq + 1  # which this unit of work has given in the control interval at hand
        else:
            self.mark = queue.head_ci, queue.tail_ci, queue.ci_left
            seq = self.stored.last_seq + 1
            first = (queue.tail_ci << SLOT_BITS) | 1
            if seq < first:  # noqa: PLR1730  (max() costs a call)
                seq = first
        self.last_seq = seq
        queue.ci_left -= size
        self.reserved += size
        self.puts += 1
        self.written.append((seq, data))
        return True

    def write(self, data: bytes) -> None:
        """Write a record; the room it will need is held from now on.

        Raises:
            Condition: NOSPACE; nothing was changed.
        """
        queue, space = self.queue, self._space
        if self.mark is None:
            self.mark = space.mark(queue)
        before = space.mark(queue)
        last = self.last_seq or queue.stored.last_seq
        seq = space.place(queue, len(data), last, empty=not queue.stored.count and not self.last_seq)
        try:
            self._durable.reserve(len(data))
        except StoreFull as error:
            space.restore(queue, before)
            space.nospace += 1
            raise Condition(Resp.NOSPACE, detail=str(error)) from error
        self.reserved += len(data)
        self.puts += 1
        self.last_seq = seq
        self.written.append((seq, data))

    def delete(self) -> None:
        """Delete every record, one's own included."""
        self.deleted = True
        self.plain = False
        self.written.clear()

    # -- the end --------------------------------------------------------------------------------------------------

    @property
    def changed(self) -> bool:
        """Whether committing it changes the queue."""
        return bool(self.reads or self.deleted or self.written)

    def apply(self) -> None:
        """Carry everything into the store's open transaction."""
        self.release_room()
        queue, stored = self.queue, self.stored
        queue.peak = max(queue.peak, stored.count)
        if self.deleted:
            stored.clear()
        else:
            for _ in range(self.reads):
                stored.discard()
        for seq, data in self.written:
            stored.put(data, seq=seq)

    def committed(self, *, alone: bool) -> None:
        """The store's transaction is committed: free the control intervals that have become empty.

        Args:
            alone: whether no other unit of work is writing to the queue.
        """
        queue, stored = self.queue, self.stored
        if stored.count and stored._head >> SLOT_BITS == queue.head_ci:  # noqa: SLF001  (first_seq may cost a search)
            return  # the head is still in the same control interval
        if self.reads or self.deleted or not self.written:
            self._space.taken(queue, settled=alone)

    def back_out(self) -> None:
        """Forget everything: cursors go back to where they stood."""
        self.release_room()
        if self.mark is not None:
            self._space.restore(self.queue, self.mark)

    def release_room(self) -> None:
        """Give back the room held in the store."""
        if self.puts:
            self._durable.release(self.reserved, self.puts)
            self.reserved = self.puts = 0

    # -- survival of a prepared unit of work ----------------------------------------------------------------------

    def restore(self, last_read: int, *, deleted: bool, written: list[tuple[int, bytes]]) -> None:
        """Become what a prepared unit of work had done, after a restart.

        What it read is told by the last record's number, not by a count: in a store that was salvaged some may be gone.
        Nor by what the records hold: a damaged one is for whoever reads it.
        """
        self.deleted = deleted
        self.plain = False
        for seq in self.stored.numbers(through=last_read) if last_read else ():
            self.last_read = seq
            self.reads += 1
        if written:
            self.mark = self._space.mark(self.queue)
            self.written.extend(written)
            self.last_seq = written[-1][0]
            self._space.adopt(self.queue, self.last_seq)
            self.hold_room()

    def hold_room(self) -> None:
        """Hold the room that the written records will need, as far as there is any; without it the commit says so."""
        for _, data in self.written:
            try:
                self._durable.reserve(len(data))
            except StoreFull:
                return
            self.reserved += len(data)
            self.puts += 1
