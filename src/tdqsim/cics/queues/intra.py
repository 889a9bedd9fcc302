"""The intrapartition data set DFHINTRA: control intervals as the measure of room, and what a queue takes of them.

All intrapartition queues of a region share one data set of ``control_intervals`` control intervals, of which the first
is CICS's own. A control interval belongs to one queue, is taken when a write needs one and freed when its last record
has been read; a record never spans two of them. A queue without records has none.

The sequence number of a record is the ordinal of its control interval within the queue, shifted left by 16, plus its
slot there. So the control intervals a queue has in use are counted by two ordinals, head and tail, without a list. The
count of the whole region is kept lazily: it may count control intervals that have been emptied since, and is made exact
before a write is refused with NOSPACE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.errors import StoreDamaged
from tdqsim.facts import LIMITS, Resp

if TYPE_CHECKING:
    from tdqsim.cics.queues.kinds import IntraQueue

__all__ = ["SLOT_BITS", "IntraSpace", "Mark", "first_slot"]

SLOT_BITS: Final = 16
_SLOT_MASK: Final = (1 << SLOT_BITS) - 1
_SLOTS_KEPT: Final = _SLOT_MASK // 2
"""An emptied control interval is written again from its start as long as its slots go on below this."""

Mark = tuple[int, int, int]
"""Where a queue's output stood: head and tail ordinal, and bytes left in the tail."""


def first_slot(ordinal: int) -> int:
    """The sequence number of the first record of a control interval."""
    return (ordinal << SLOT_BITS) | 1


class IntraSpace:
    """The room of one region's intrapartition data set.

    Args:
        ci_size: bytes of a control interval.
        control_intervals: how many there are, the first included.
        queues: gives the region's intrapartition queues, for counting exactly.

    Attributes:
        longest: the longest record.
        capacity: control intervals that queues can have.
        in_use: how many they have, at most; :meth:`count` is exact.
        peak: the most they had since the last reset of statistics.
        nospace: writes refused with NOSPACE since the last reset (TQGANOSP).
        formatted: control intervals used for the first time ever since the last reset (TQGACTFT).
    """

    __slots__ = (
        "_high", "_idle", "_queues", "capacity", "ci_size", "control_intervals", "formatted", "in_use", "longest",
        "nospace", "peak",
    )  # fmt: skip

    def __init__(self, ci_size: int, control_intervals: int, queues: Callable[[], Iterable[IntraQueue]]) -> None:
        self.ci_size = ci_size
        self.control_intervals = control_intervals
        self.longest = ci_size - LIMITS["ci_overhead"]
        self.capacity = control_intervals - 1
        self.in_use = self.peak = self.formatted = 0
        self.nospace = 0
        self._high = 0  # where the data set ends that has ever been used
        self._queues = queues
        self._idle: dict[IntraQueue, None] = {}

    def open_queue(self, queue: IntraQueue) -> None:
        """Count what a queue that was there before holds."""
        stored = queue.stored
        queue.tail_ci = stored.last_seq >> SLOT_BITS
        queue.head_ci = queue.tail_ci + 1
        queue.ci_left = -1
        if not stored.count:
            return
        queue.head_ci = _head_ordinal(queue)
        with suppress(StoreDamaged):  # then nothing more goes into it; whoever reads the record is told
            queue.ci_left = self.longest - _bytes_in_tail(queue)
        self._used(queue.tail_ci - queue.head_ci + 1, queue)

    def close_queue(self, queue: IntraQueue) -> None:
        """A queue goes away with its records."""
        self._idle.pop(queue, None)
        self.in_use -= queue.tail_ci - queue.head_ci + 1
        queue.head_ci = queue.tail_ci + 1
        queue.ci_left = -1

    def _used(self, more: int, queue: IntraQueue) -> None:
        self.in_use += more
        self.peak = max(self.peak, self.in_use)
        if self.in_use > self._high:
            self.formatted += self.in_use - self._high
            self._high = self.in_use
        queue.peak_cis = max(queue.peak_cis, queue.tail_ci - queue.head_ci + 1)

    def place(self, queue: IntraQueue, size: int, last: int, *, empty: bool) -> int:
        """The sequence number for a record of ``size`` bytes; takes a control interval when the last one is full.

        Args:
            queue: where it goes.
            size: 1 to ``longest``.
            last: the last sequence number given out, to committed and uncommitted records.
            empty: whether there is no record, so that the control interval at hand is free.

        Raises:
            Condition: NOSPACE; nothing was changed.
        """
        if size <= queue.ci_left:
            queue.ci_left -= size
            return max(last + 1, first_slot(queue.tail_ci))
        if not self.has_room(queue, size, empty=empty):
            self.nospace += 1
            raise Condition(Resp.NOSPACE, detail=f"all {self.capacity} control intervals of DFHINTRA are in use")
        if empty:
            self._give_up(queue)
        ordinal = max(queue.tail_ci, last >> SLOT_BITS) + 1
        more = ordinal - queue.tail_ci
        if queue.head_ci > queue.tail_ci:
            queue.head_ci, more = ordinal, 1
        queue.tail_ci = ordinal
        queue.ci_left = self.longest - size
        self._used(more, queue)
        return first_slot(ordinal)

    def has_room(self, queue: IntraQueue, size: int, *, empty: bool) -> bool:
        """Whether :meth:`place` has room for a record; nothing is changed but that the count may be made exact."""
        if size <= queue.ci_left or self.in_use < self.capacity or self.count() < self.capacity:
            return True
        own = queue.tail_ci - queue.head_ci + 1 if empty else 0  # an empty queue gives its control intervals up first
        return self.in_use - own < self.capacity

    def _give_up(self, queue: IntraQueue) -> None:
        """An empty queue lets go of the control intervals it still counts."""
        self.in_use -= queue.tail_ci - queue.head_ci + 1
        queue.head_ci = queue.tail_ci + 1
        queue.ci_left = -1
        self._idle.pop(queue, None)

    def mark(self, queue: IntraQueue) -> Mark:
        """Where the queue's output stands, for :meth:`restore`."""
        return queue.head_ci, queue.tail_ci, queue.ci_left

    def restore(self, queue: IntraQueue, mark: Mark) -> None:
        """Writes are backed out: the control intervals they took are free again."""
        _, tail, left = mark
        self.in_use -= queue.tail_ci - max(tail, queue.head_ci - 1)
        queue.tail_ci = tail
        queue.head_ci = min(queue.head_ci, tail + 1)
        queue.ci_left = left if queue.head_ci <= tail else -1
        self.taken(queue, settled=True)

    def adopt(self, queue: IntraQueue, last: int) -> None:
        """Uncommitted records up to this sequence number are there again after a restart."""
        tail = last >> SLOT_BITS
        if queue.head_ci > queue.tail_ci:
            queue.head_ci = queue.tail_ci + 1
        if tail > queue.tail_ci:
            more, queue.tail_ci = tail - queue.tail_ci, tail
            self._used(more, queue)
        queue.ci_left = -1

    def adopt_from(self, queue: IntraQueue, first: int) -> None:
        """The first of the records that were adopted has this number; the queue may have had no other before it."""
        ordinal = first >> SLOT_BITS
        if ordinal < queue.head_ci:
            more, queue.head_ci = queue.head_ci - ordinal, ordinal
            self._used(more, queue)

    def taken(self, queue: IntraQueue, *, settled: bool = False) -> None:
        """Records were removed: free the control intervals behind them.

        To be called when the queue has become empty or the head may have passed into another control interval.
        ``settled`` says that the unit of work that wrote to the queue has just ended.
        """
        stored = queue.stored
        if stored.count:
            head = min(_head_ordinal(queue), queue.tail_ci)
        elif queue.uncommitted and not settled:
            return  # a unit of work still fills it; its end settles the account
        elif queue.head_ci > queue.tail_ci:
            return
        else:
            head = queue.tail_ci
            queue.ci_left = self.longest if (stored.last_seq & _SLOT_MASK) < _SLOTS_KEPT else -1
            self._idle[queue] = None
        if head > queue.head_ci:
            self.in_use -= head - queue.head_ci
            queue.head_ci = head

    def count(self) -> int:
        """The control intervals in use, exactly."""
        for queue in tuple(self._idle):
            if queue.stored.count:
                del self._idle[queue]
            elif not queue.uncommitted:  # else it stays noted: whoever holds the write end may write, or may not
                self._give_up(queue)
        if self.in_use >= self.capacity:
            for queue in self._queues():
                if queue.head_ci < queue.tail_ci and queue.stored.count:
                    self.taken(queue)
        return self.in_use

    def reset(self) -> None:
        """Counts go to 0 and peaks to the current value, as at a reset of statistics."""
        self.nospace = self.formatted = 0
        self.peak = self.count()


def _head_ordinal(queue: IntraQueue) -> int:
    """The control interval of the first record. Where that is damaged it is the one in which the last read left off.

    That may be one too low: the account of room then counts a control interval too many, and whoever reads the record
    is told of the damage. To raise it here would take a record from whoever read the one before.
    """
    try:
        return queue.stored.first_seq >> SLOT_BITS
    except StoreDamaged:
        return queue.stored._head >> SLOT_BITS  # noqa: SLF001  (where the search for the first record begins)


def _bytes_in_tail(queue: IntraQueue) -> int:
    used = 0
    for entry in queue.stored.entries(reverse=True):
        if entry.seq >> SLOT_BITS != queue.tail_ci:
            break
        used += len(entry.data)
    return used
