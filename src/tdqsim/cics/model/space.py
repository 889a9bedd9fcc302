"""The intrapartition data set DFHINTRA: control intervals as the measure of room, and what a queue takes of them.

All intrapartition queues of a region share one data set of ``control_intervals`` control intervals, of which the first
is CICS's own. A control interval belongs to one queue, is taken when a write needs one and freed when its last record
has been read; a record never spans two of them. A queue without records has none.

The records themselves say nothing of control intervals, so this is an account beside them. It is looked at once a
control interval, not once a record: a queue knows how many bytes its last one still takes (``ci_left``) and with which
record each of them begins (``bounds``; records are numbered in the order in which they came). What a unit of work has
taken and not committed is in its own list, so that backout forgets it. An exception may leave the account a little off;
it is made exact, from the records, before a write is refused with NOSPACE and whenever it is shown. Where each control
interval of a queue begins does not survive a restart; then it is worked out from the records' lengths.
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

__all__ = ["NEVER", "NO_BOUNDS", "IntervalAccount", "IntraSpace", "check_size"]

NEVER: Final = 2**62
"""A count that no queue reaches."""
NO_BOUNDS: Final[deque[int]] = deque(maxlen=0)
"""Those of a queue that has never had a record: an empty list of its own is dear where there are 100,000 queues."""
_LOOKED_AT: Final = 1000
"""Of a queue of so many records each length is looked at after a restart; of a longer one the mean must do."""
_LONGEST: Final = LIMITS["length_option_maximum"]


class IntervalAccount(Protocol):
    """What the account knows of a queue, and keeps there.

    Attributes:
        ci_left: bytes that its last control interval still takes; -1 when it has none.
        bounds: the number of the first record of each control interval with committed records.
        free_at: when so many records have gone, a control interval is free.
        peak: most records since the last reset.
        peak_cis: most control intervals in use since the last reset.
        gone: how many records have left it for good: the head has the number after that.
        uncommitted: what the unit of work that has the write end has done to it; None if no unit of work has it.
        stored: the committed records.
    """

    ci_left: int
    bounds: deque[int]
    free_at: int
    peak: int
    peak_cis: int

    @property
    def gone(self) -> int: ...  # noqa: D102
    @property
    def uncommitted(self) -> LogicalWork | None: ...  # noqa: D102
    @property
    def stored(self) -> VolatileQueue | DurableQueue: ...  # noqa: D102


def check_size(longest: int, size: int, length: int | None = None) -> None:
    """Whether a record of ``size`` bytes is one for an intrapartition queue, and so is the LENGTH given for it.

    Raises:
        Condition: LENGERR.
    """
    if length is not None and not 0 < length <= _LONGEST:
        raise Condition(Resp.LENGERR, detail=f"LENGTH is {length}; allowed are 1 to {longest}")
    if not 0 < size <= longest:
        raise Condition(Resp.LENGERR, detail=f"the record has {size} bytes; allowed are 1 to {longest}")


class IntraSpace:
    """The room of one region's intrapartition data set.

    Args:
        ci_size: bytes of a control interval.
        control_intervals: how many there are, the first included.

    Attributes:
        longest: the longest record.
        capacity: control intervals that queues can have.
        in_use: how many they have, at most; :meth:`count` is exact.
        peak: the most they had since the last reset of statistics.
        nospace: writes refused with NOSPACE since the last reset (TQGANOSP).
        formatted: control intervals used for the first time ever since the last reset (TQGACTFT).
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
        self._high = 0  # where the data set ends that has ever been used
        self._users: dict[IntervalAccount, None] = {}

    # -- queues come and go ---------------------------------------------------------------------------------------

    def open_queue(self, queue: IntervalAccount) -> None:
        """Count what a queue that was there before holds."""
        queue.ci_left, queue.free_at, queue.bounds = -1, NEVER, NO_BOUNDS
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
        if stored.count <= _LOOKED_AT:
            with suppress(StoreDamaged):  # the command that reads the record reports it
                return [len(entry.data) for entry in stored.entries()]
        return repeat(-(-stored.data_bytes // stored.count), stored.count)

    def close_queue(self, queue: IntervalAccount) -> None:
        """A queue goes away with its records."""
        self.in_use -= len(queue.bounds)
        self._users.pop(queue, None)
        queue.bounds.clear()
        queue.ci_left, queue.free_at = -1, NEVER

    def _used(self, queue: IntervalAccount, more: int, cis: int) -> None:
        """A queue has taken so many control intervals, and has ``cis`` then."""
        self._users[queue] = None
        in_use = self.in_use = self.in_use + more
        if in_use > self.peak:  # noqa: PLR1730  (max() costs a call; a large record has a control interval of its own)
            self.peak = in_use
        if in_use > self._high:
            self.formatted += in_use - self._high
            self._high = in_use
        if cis > queue.peak_cis:  # noqa: PLR1730
            queue.peak_cis = cis

    @staticmethod
    def cis(queue: IntervalAccount) -> int:
        """Control intervals of a queue: an empty one has none."""
        work = queue.uncommitted
        if work is None:
            return len(queue.bounds) if queue.stored.count else 0
        return len(queue.bounds) + len(work.starts)

    # -- a record comes -------------------------------------------------------------------------------------------

    def extend(self, queue: IntervalAccount, size: int, length: int | None, work: LogicalWork | None = None) -> None:
        """Take another control interval for a record; all that can be wrong with its length is found here too.

        Args:
            queue: where it goes.
            size: its length.
            length: LENGTH as the program gave it.
            work: what the unit of work has done that writes it; None when it is committed at once.

        Raises:
            Condition: LENGERR, NOSPACE; nothing was changed.
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
        """Whether a record fits; nothing is changed but that the account may be made exact."""
        if size <= queue.ci_left:
            return True
        if not queue.stored.count:
            self.settle(queue)  # an empty queue gives its control intervals up first
        return self.in_use < self.capacity or self.count() < self.capacity

    def check(self, queue: IntervalAccount, sizes: Iterable[int]) -> None:
        """Whether records of these lengths fit behind those of a queue whose write end is free.

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
        """The store had no room for a record: a control interval taken for it alone is free again."""
        self.nospace += 1
        if queue.ci_left != self.longest:
            return
        taken = queue.bounds if work is None else work.starts
        if taken:
            taken.pop()
            self.in_use -= 1
        queue.ci_left = -1

    # -- records go -----------------------------------------------------------------------------------------------

    def freed(self, queue: IntervalAccount) -> None:
        """Records have left for good: free the control intervals that have become empty, but the last."""
        bounds, head = queue.bounds, queue.gone + 1
        while len(bounds) > 1 and bounds[1] <= head:
            bounds.popleft()
            self.in_use -= 1
        self._next_to_free(queue)

    @staticmethod
    def _next_to_free(queue: IntervalAccount) -> None:
        queue.free_at = queue.bounds[1] - 1 if len(queue.bounds) > 1 else NEVER

    def settle(self, queue: IntervalAccount) -> None:
        """Make the account of a queue exact."""
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
        """What it wrote is committed: its control intervals are the queue's, without the records it has read back."""
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
            if bounds and bounds[-1] == number:  # all of the one before was read back
                bounds.pop()
                self.in_use -= 1
            bounds.append(number)
        self._next_to_free(queue)

    def forget(self, queue: IntervalAccount, work: LogicalWork) -> None:
        """A unit of work has deleted the queue, and what it had written itself."""
        self.in_use -= len(work.starts)
        work.starts = []
        queue.ci_left = -1

    def backed_out(self, queue: IntervalAccount, work: LogicalWork) -> None:
        """What it wrote is forgotten, and so are its control intervals."""
        starts, work.starts = work.starts, []
        self.in_use -= len(starts)
        if work.left_before is not None:
            queue.ci_left, work.left_before = work.left_before, None
        if not queue.stored.count:
            self.settle(queue)

    # -- all of them ----------------------------------------------------------------------------------------------

    def count(self) -> int:
        """The control intervals in use, exactly."""
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
        """Counts go to 0 and peaks to the current value, as at a reset of statistics."""
        self.nospace = self.formatted = 0
        self.peak = self.count()
