"""The intrapartition data set DFHINTRA: its space in control intervals, and the share of each queue.

All intrapartition queues of a region share one data set of ``control_intervals`` control intervals, of which the first
is reserved for CICS. A control interval belongs to one queue. It is taken when a write needs one and freed when its
last record has been read; a record never spans two of them. An empty queue has none.

The store knows no control intervals, so this module keeps an account of them. The account changes once per control
interval, not once per record: a queue knows how many bytes its last one still has free (``ci_left``) and the number of
the first record in each (``bounds``; records are numbered in the order of their arrival). The control intervals that a
unit of work has taken and not committed are in its own list, so that backout discards them. An exception may leave the
account slightly wrong; it is recomputed from the records before a write is refused with NOSPACE and whenever it is
shown. The positions of the control intervals do not survive a restart; they are then recomputed from the lengths of the
records.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from itertools import repeat
from typing import TYPE_CHECKING, Final, Protocol

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.core.store import DurableQueue, VolatileQueue
from tdqsim.errors import StoreDamaged
from tdqsim.facts import LIMITS, Resp

if TYPE_CHECKING:
    from tdqsim.cics.model.work import LogicalWork

NEVER: Final = 2**62
"""A count that no queue reaches."""
NO_BOUNDS: Final[deque[int]] = deque(maxlen=0)
"""The bounds of a queue that never had a record; shared, because there may be 100,000 queues."""
_LENGTHS_READ: Final = 1000
"""After a restart each record's length is read up to this many records; above it the mean length is used."""
_LONGEST: Final = LIMITS["length_option_maximum"]


class IntervalAccount(Protocol):
    """The attributes of a queue that the account uses and maintains.

    Attributes:
        ci_left: the free bytes of its last control interval; -1 if it has none.
        bounds: the number of the first record of each control interval with committed records.
        free_at: the value of ``gone`` at which the next control interval becomes free.
        peak: the most records since the last reset.
        peak_cis: the most control intervals in use since the last reset.
    """

    ci_left: int
    bounds: deque[int]
    free_at: int
    peak: int
    peak_cis: int

    @property
    def gone(self) -> int:
        """The number of records that have left it permanently; the record at the head has the next number."""

    @property
    def uncommitted(self) -> LogicalWork | None:
        """The changes of the unit of work that holds the write end, or None."""

    @property
    def stored(self) -> VolatileQueue | DurableQueue:
        """The committed records."""


def check_size(longest: int, size: int, length: int | None = None) -> None:
    """Check the size of a record for an intrapartition queue, and the LENGTH given for it.

    Raises:
        Condition: LENGERR.
    """
    if length is not None and not 0 < length <= _LONGEST:
        detail = f"LENGTH is {length}; allowed are 1 to {longest}"
        raise Condition(Resp.LENGERR, detail=detail, rule="TD-WRITEQ-LENGERR")
    if not 0 < size <= longest:
        rule = "TD-WRITEQ-LENGERR" if size <= 0 else "TD-INTRA-LONGEST-RECORD"
        raise Condition(Resp.LENGERR, detail=f"the record has {size} bytes; allowed are 1 to {longest}", rule=rule)


class IntraSpace:
    """The space of one region's intrapartition data set.

    Args:
        ci_size: bytes of a control interval.
        control_intervals: their number, including the first.

    Attributes:
        longest: the length of the longest possible record.
        capacity: the number of control intervals available to queues.
        in_use: an upper bound of the number in use; :meth:`count` is exact.
        peak: the highest number in use since the last reset of statistics.
        nospace: the writes refused with NOSPACE since the last reset (TQGANOSP).
        formatted: the control intervals that were used for the very first time since the last reset (TQGACTFT).
    """

    __slots__ = (
        "_high", "_users", "capacity", "ci_size", "control_intervals", "formatted", "in_use", "longest", "nospace",
        "peak",
    )  # fmt: skip

    def __init__(self, ci_size: int, control_intervals: int) -> None:
        self.ci_size = ci_size
        self.control_intervals = control_intervals
        self.longest = ci_size - LIMITS["ci_overhead"]
        self.capacity = control_intervals - 1
        self.in_use = self.peak = self.formatted = 0
        self.nospace = 0
        self._high = 0  # the highest number ever in use: up to here the data set is formatted
        self._users: dict[IntervalAccount, None] = {}

    # -- install and discard --------------------------------------------------------------------------------------

    def open_queue(self, queue: IntervalAccount) -> None:
        """Count the control intervals of a queue that already holds records, and that is new or was closed."""
        if not queue.stored.count:
            return
        sizes = self._sizes(queue)
        bounds: deque[int] = deque()
        queue.bounds = bounds
        number, left = queue.gone, 0
        for size in sizes:
            number += 1
            if size > left:
                bounds.append(number)
                left = self.longest
            left -= size
        queue.ci_left = left
        self._used(queue, len(bounds), len(bounds))
        self._next_to_free(queue)

    def _sizes(self, queue: IntervalAccount) -> Iterable[int]:
        stored = queue.stored
        if stored.count <= _LENGTHS_READ:
            with suppress(StoreDamaged):  # the command that reads the record reports it
                return [len(entry.data) for entry in stored.entries()]
        return repeat(-(-stored.data_bytes // stored.count), stored.count)

    def close_queue(self, queue: IntervalAccount) -> None:
        """Free the control intervals of a queue that is removed with its records."""
        self.in_use -= len(queue.bounds)
        self._users.pop(queue, None)
        queue.bounds.clear()
        queue.ci_left, queue.free_at = -1, NEVER

    def _used(self, queue: IntervalAccount, more: int, cis: int) -> None:
        """Account for ``more`` control intervals taken by a queue, which then has ``cis``."""
        self._users[queue] = None
        in_use = self.in_use = self.in_use + more
        if in_use > self.peak:  # max() costs a call; a large record fills a control interval
            self.peak = in_use
        if in_use > self._high:
            self.formatted += in_use - self._high
            self._high = in_use
        if cis > queue.peak_cis:
            queue.peak_cis = cis

    @staticmethod
    def cis(queue: IntervalAccount) -> int:
        """The number of control intervals of a queue; 0 for an empty one."""
        work = queue.uncommitted
        if work is None:
            return len(queue.bounds) if queue.stored.count else 0
        return len(queue.bounds) + len(work.starts)

    # -- write ----------------------------------------------------------------------------------------------------

    def extend(self, queue: IntervalAccount, size: int, length: int | None, work: LogicalWork | None = None) -> None:
        """Take another control interval for a record, after checking the record's length.

        Args:
            queue: the queue to extend.
            size: the length of the record.
            length: LENGTH as the program gave it.
            work: the uncommitted changes of the unit of work that writes it; None if it is committed at once.

        Raises:
            Condition: LENGERR or NOSPACE; nothing was changed.
        """
        check_size(self.longest, size, length)
        if not self.has_room(queue, size):
            self.nospace += 1
            raise self.full()
        if work is not None:
            work.starts.append(work.puts)
            self._used(queue, 1, len(queue.bounds) + len(work.starts))
        else:
            if queue.bounds is NO_BOUNDS:
                queue.bounds = deque()
            queue.bounds.append(queue.gone + queue.stored.count + 1)
            self._used(queue, 1, len(queue.bounds))
        queue.ci_left = self.longest
        self._next_to_free(queue)

    def full(self) -> Condition:
        """NOSPACE: all control intervals are in use."""
        return Condition(Resp.NOSPACE, detail=f"all {self.capacity} control intervals of DFHINTRA are in use")

    def has_room(self, queue: IntervalAccount, size: int) -> bool:
        """Whether a record fits. May make the account exact, and changes nothing else."""
        if size <= queue.ci_left:
            return True
        if not queue.stored.count:
            self.settle(queue)  # an empty queue frees its control intervals first
        return self.in_use < self.capacity or self.count() < self.capacity

    def check(self, queue: IntervalAccount, sizes: Iterable[int]) -> None:
        """Check that records of these lengths fit on a queue whose write end is free.

        Raises:
            Condition: NOSPACE.
        """
        self.settle(queue)
        left, more = queue.ci_left, 0
        for size in sizes:
            if size > left:
                left, more = self.longest, more + 1
            left -= size
        if self.in_use + more > self.capacity and self.count() + more > self.capacity:
            self.nospace += 1
            raise self.full()

    def refused(self, queue: IntervalAccount, work: LogicalWork | None = None) -> None:
        """After the store had no room for a record, free a control interval that was taken for it alone."""
        self.nospace += 1
        if queue.ci_left != self.longest:
            return
        taken = queue.bounds if work is None else work.starts
        if taken:
            taken.pop()
            self.in_use -= 1
        queue.ci_left = -1

    # -- read -----------------------------------------------------------------------------------------------------

    def freed(self, queue: IntervalAccount) -> None:
        """After records have left permanently, free the control intervals that have become empty, except the last."""
        bounds, head = queue.bounds, queue.gone + 1
        while len(bounds) > 1 and bounds[1] <= head:
            bounds.popleft()
            self.in_use -= 1
        self._next_to_free(queue)

    @staticmethod
    def _next_to_free(queue: IntervalAccount) -> None:
        queue.free_at = queue.bounds[1] - 1 if len(queue.bounds) > 1 else NEVER

    def settle(self, queue: IntervalAccount) -> None:
        """Recompute the account of a queue."""
        work = queue.uncommitted
        if queue.stored.count or (work is not None and work.puts and work.left_before != -1):
            self.freed(queue)
            return
        self.in_use -= len(queue.bounds)
        queue.bounds.clear()
        queue.free_at = NEVER
        if work is None or not work.starts:
            queue.ci_left = -1

    # -- a unit of work ends --------------------------------------------------------------------------------------

    def committed(self, queue: IntervalAccount, work: LogicalWork) -> None:
        """At a commit, give the queue the control intervals of what was written and not read back."""
        if work.cleared:
            self.in_use -= len(queue.bounds)
            queue.bounds.clear()
        if work.starts:
            self._take_over(queue, work)
        count = queue.stored.count
        if queue.gone >= queue.free_at:
            self.freed(queue)
        if count > queue.peak:
            queue.peak = count
        elif not count:
            self.settle(queue)

    def _take_over(self, queue: IntervalAccount, work: LogicalWork) -> None:
        if queue.bounds is NO_BOUNDS:
            queue.bounds = deque()
        bounds = queue.bounds
        starts, work.starts = work.starts, []
        first = queue.gone + queue.stored.count - (work.puts - work.own) + 1
        for start in starts:
            number = first + max(0, start - work.own)
            if bounds and bounds[-1] == number:  # all records of the previous one were read back
                bounds.pop()
                self.in_use -= 1
            bounds.append(number)
        self._next_to_free(queue)

    def forget(self, queue: IntervalAccount, work: LogicalWork) -> None:
        """At DELETEQ, free the control intervals of the unit of work's own uncommitted records."""
        self.in_use -= len(work.starts)
        work.starts = []
        queue.ci_left = -1

    def backed_out(self, queue: IntervalAccount, work: LogicalWork) -> None:
        """At a backout, free the control intervals of what was written."""
        starts, work.starts = work.starts, []
        self.in_use -= len(starts)
        if work.left_before is not None:
            queue.ci_left, work.left_before = work.left_before, None
        if not queue.stored.count:
            self.settle(queue)

    # -- all of them ----------------------------------------------------------------------------------------------

    def count(self) -> int:
        """The exact number of control intervals in use."""
        total = 0
        for queue in tuple(self._users):
            self.settle(queue)
            own = self.cis(queue)
            if not own:
                del self._users[queue]
            total += own
        self.in_use = total
        return total

    def reset(self) -> None:
        """Set counts to 0 and peaks to the current value, as at a reset of statistics."""
        self.nospace = self.formatted = 0
        self.peak = self.count()
