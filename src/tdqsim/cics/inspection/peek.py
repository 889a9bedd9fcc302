"""Peek and snapshot: read queues from outside any task. Nothing is consumed, counted or triggered."""

from __future__ import annotations

from itertools import islice
from sys import maxsize

from tdqsim.cics.inspection.records import records
from tdqsim.cics.model.queue import IntraTdQueue, TdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.queues.state_table import final_target
from tdqsim.core.named import NamedTuple
from tdqsim.errors import UsageError
from tdqsim.facts import Cvda


class QueueSnapshot(NamedTuple):
    """The state of one queue.

    Attributes:
        name: the name of the queue.
        type: INTRA, EXTRA, INDIRECT or REMOTE.
        enablestatus: as shown by INQUIRE; an alias is ENABLED.
        numitems: the number of committed records of an intrapartition queue; 0 for others; -1 if only the running
            region knows it, whose store this region reads.
        target: INDIRECTNAME, or REMOTENAME; empty for others.
        records: the records in order; empty if not requested, and for aliases and remote queues.
    """

    name: str
    type: str
    enablestatus: Cvda
    numitems: int
    target: str
    records: tuple[bytes, ...]


def peek(region: RegionData, name: str, limit: int | None, *, skip: int = 0, with_uncommitted: bool) -> list[bytes]:
    """See :meth:`tdqsim.cics.region.Region.peek`."""
    for word, number in (("limit", limit), ("skip", skip)):
        if number is not None and not 0 <= number <= maxsize:
            raise UsageError(f"peek: {word} is {number!r}; allowed are 0 and more")
    queue = final_target(region, name.rstrip(" "))
    if isinstance(queue, IntraTdQueue) and not queue.is_known:
        raise UsageError(
            f"peek: the records of queue {queue.name} are not known from outside: those of a queue that is not "
            "recoverable are in the memory of the running region, and gone when it was killed"
        )
    return list(islice(records(queue, skip, with_uncommitted=with_uncommitted), limit))


def snapshot(queue: TdQueue, *, with_records: bool) -> QueueSnapshot:
    """The present state of one queue."""
    from tdqsim.cics.inspection.state import queue_state  # noqa: PLC0415  (with it a region is imported later)

    state = queue_state(queue, records=with_records)
    return QueueSnapshot(state.name, state.type, Cvda[state.enablestatus], state.numitems, state.target, state.records)
