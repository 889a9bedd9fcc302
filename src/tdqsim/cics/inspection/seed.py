"""Seed: put records on a queue from outside any task, without triggers and statistics."""

from __future__ import annotations

from collections.abc import Iterable

from tdqsim.cics.inspection.records import add
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.queue import ExtraTdQueue, IntraTdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.queues.state_table import final_target
from tdqsim.errors import UsageError
from tdqsim.facts import Resp


def seed(region: RegionData, name: str, records: Iterable[bytes | str]) -> int:
    """See :meth:`tdqsim.cics.region.Region.seed`."""
    queue = final_target(region, name.rstrip(" "))
    data = [region.encode(record) if isinstance(record, str) else bytes(record) for record in records]
    if isinstance(queue, ExtraTdQueue):
        assert queue.file is not None, queue
        queue.file.seed(data)
        return len(data)
    if not isinstance(queue, IntraTdQueue):
        raise UsageError(f"queue {queue.name} is in region {queue.definition.remotesystem}; seed it there")
    longest = region.intra.longest
    for number, record in enumerate(data, 1):
        if not 0 < len(record) <= longest:
            raise Condition(Resp.LENGERR, detail=f"record {number} has {len(record)} bytes; allowed are 1 to {longest}")
    add(region, queue, data)
    return len(data)
