"""Read and add records of a queue from outside any task."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.queue import ExtraTdQueue, IntraTdQueue, TdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.errors import StoreFull, UsageError
from tdqsim.facts import Resp


def records(
    queue: TdQueue, skip: int = 0, pause: Callable[[], object] | None = None, *, with_uncommitted: bool = False
) -> Iterable[bytes]:
    """The records in order: for a LOGICAL queue the committed ones, for an open data set those not yet read.

    With ``with_uncommitted`` the records of a LOGICAL queue include those written by unfinished units of work, and
    exclude those that they have read.

    Skipping records costs no time, except for a data set with records of varying length: it is read from its position,
    and ``pause`` is called between two buffers.
    """
    if isinstance(queue, ExtraTdQueue):
        return queue.file.records(skip, pause) if queue.file is not None else []
    if not isinstance(queue, IntraTdQueue):
        raise UsageError(f"queue {queue.name} is in region {queue.definition.remotesystem}; look at it there")
    if with_uncommitted:
        return _uncommitted(queue, skip)
    return (entry.data for entry in queue.stored.entries(skip=skip))


def _uncommitted(queue: IntraTdQueue, skip: int = 0) -> Iterable[bytes]:
    """The records, with those written and without those read by unfinished units of work."""
    reads, deleted = 0, False
    written: list[bytes] = []
    for lock in queue.locks:
        work = lock.owner.works.get(queue) if lock.owner is not None else None
        if work is not None:
            reads, deleted = max(reads, work.reads), deleted or work.deleted
            written = work.written or written
    there = 0 if deleted else max(0, queue.stored.count - reads)
    if skip < there:
        yield from (entry.data for entry in queue.stored.entries(skip=reads + skip))
    yield from islice(written, max(0, skip - there), None)


def add(region: RegionData, queue: IntraTdQueue, data: list[bytes]) -> None:
    """Add all records to the end, or none.

    Raises:
        Condition: NOSPACE. UsageError: a unit of work is writing the queue.
    """
    if queue.uncommitted is not None:
        raise UsageError(f"queue {queue.name} is being written: {queue.write_end}")
    space, stored = region.intra, queue.stored
    space.check(queue, [len(record) for record in data])
    try:
        if queue.recovstatus == "NO":
            _put_all(queue, data)
        else:
            work = queue.durable.work()
            for record in data:
                work.put(record)
            region.committer.commit((work,))
    except StoreFull as error:
        raise Condition(Resp.NOSPACE, detail=str(error)) from error
    finally:
        space.close_queue(queue)
        space.open_queue(queue)
    queue.peak = max(queue.peak, stored.count)


def _put_all(queue: IntraTdQueue, data: list[bytes]) -> None:
    """Add all records, or none: if a queue overflows to a full disk, its previous records are restored."""
    stored, before = queue.volatile, queue.volatile.count
    try:
        for record in data:
            stored.put(record)
    except StoreFull:
        kept = [entry.data for entry in islice(stored.entries(), before)]
        queue.taken += stored.clear()
        for record in kept:
            stored.put(record)
        raise
