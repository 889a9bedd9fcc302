"""Statistics of transient data: collecting, writing and resetting them.

The commands count in plain attributes of the queues; this module reads them. At the end of an interval and at RESETNOW
every count becomes 0 and every peak the current value; current values and definitions do not change. For a queue that
is discarded, its counts are written as unsolicited statistics. Source: Transient data: resource statistics, global
statistics (IBM Docs); the general reset rule.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.kernel.authority import check_command, check_resource
from tdqsim.cics.kernel.command import Flag, Name4OrNone, Opt, command
from tdqsim.cics.kernel.security import XDCT, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.queue import ExtraTdQueue, IndirectTdQueue, IntraTdQueue, RemoteTdQueue, TdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.spi.requests import queue_name, refusal
from tdqsim.cics.spi.tdqueue_options import split_dsname
from tdqsim.core.dispatch import Timer
from tdqsim.errors import UsageError
from tdqsim.facts import REGION_DEFAULTS, Cvda

if TYPE_CHECKING:
    from tdqsim.cics.spi.statistics_records import StatisticsRecord

__all__ = ["Collection", "Statistics", "extract_statistics", "global_record", "perform_statistics", "queue_record"]

_COLLECTIONS_KEPT: Final = 256
_NS: Final = 1_000_000_000

_NOTHING: Final[dict[str, Any]] = {
    "triggerlevel": 0, "recovery": "", "facility_type": "", "facility": "", "wait": "", "waitaction": "", "transid": "",
    "triggers": 0, "cis_in_use": 0, "peak_cis": 0, "items": 0, "peak_items": 0, "remotesystem": "", "remotename": "",
    "indirectname": "", "iotype": "", "ddname": "", "dsname": "", "member": "",
}  # fmt: skip


def _intra_values(queue: IntraTdQueue) -> dict[str, Any]:
    return {
        "triggerlevel": queue.triggerlevel,
        "recovery": queue.recovstatus,
        "facility_type": queue.atifacility,
        "facility": "" if queue.atifacility == "FILE" else queue.facilityid,
        "wait": queue.wait,
        "waitaction": queue.waitaction if queue.wait == "YES" else "",
        "transid": queue.transid,
        "triggers": queue.triggers,
        "cis_in_use": queue.cis,
        "peak_cis": max(queue.peak_cis, queue.cis),
        "items": queue.numitems,
        "peak_items": queue.peak_items,
    }


def _extra_values(queue: ExtraTdQueue) -> dict[str, Any]:
    definition = queue.definition
    dsname, member = split_dsname(definition.dsname)
    return {"iotype": definition.typefile, "ddname": definition.dd, "dsname": dsname, "member": member}


def _type_values(queue: TdQueue) -> dict[str, Any]:
    if isinstance(queue, IntraTdQueue):
        return _intra_values(queue)
    if isinstance(queue, ExtraTdQueue):
        return _extra_values(queue)
    if isinstance(queue, IndirectTdQueue):
        return {"indirectname": queue.indirectname}
    assert isinstance(queue, RemoteTdQueue)
    return {"remotesystem": queue.remotesystem, "remotename": queue.remotename}


def _record(record: str, values: dict[str, Any]) -> StatisticsRecord:
    from tdqsim.cics.spi.statistics_records import StatisticsRecord  # noqa: PLC0415  (rarely needed)

    return StatisticsRecord(record, values)


def queue_record(queue: TdQueue) -> StatisticsRecord:
    """The statistics of one queue (DFHTQRDS)."""
    values: dict[str, Any] = {
        "name": queue.name, "type": queue.type, "writes": queue.writes, "reads": queue.reads, "deletes": queue.deletes,
    }  # fmt: skip
    return _record("TQR", values | _NOTHING | _type_values(queue) | queue.signature._asdict())


def global_record(region: RegionData) -> StatisticsRecord:
    """The statistics of all queues (DFHTQGDS).

    The simulator has no buffered data set, so the reads and writes of control intervals are always 0.
    """
    space = region.intra
    values = {
        "ci_reads": 0,
        "ci_writes": 0,
        "formatting_writes": space.formatted,
        "ci_size": space.ci_size,
        "control_intervals": space.control_intervals,
        "cis_in_use": space.count(),
        "peak_cis": space.peak,
        "nospace": space.nospace,
        "buffers": int(REGION_DEFAULTS["td_buffers"]),
        "strings": int(REGION_DEFAULTS["td_strings"]),
        "io_errors": 0,
    }
    return _record("TQG", values)


def _reset(queue: TdQueue) -> None:
    queue.writes = queue.reads = queue.deletes = 0
    if isinstance(queue, IntraTdQueue):
        queue.triggers = 0
        queue.peak = queue.numitems
        queue.peak_cis = queue.cis


class Collection(NamedTuple):
    """The statistics written at one time, which CICS writes to SMF.

    Attributes:
        reason: INTERVAL, REQUEST (PERFORM STATISTICS RECORD) or UNSOLICITED (a queue was discarded).
        abstime: the time, as an ABSTIME.
        queues: one record for each queue concerned.
        total: the global record; None for UNSOLICITED.
    """

    reason: Literal["INTERVAL", "REQUEST", "UNSOLICITED"]
    abstime: int
    queues: tuple[StatisticsRecord, ...]
    total: StatisticsRecord | None

    def as_dict(self) -> dict[str, Any]:
        """The statistics as values for JSON, with CVDAs by name."""
        return {
            "reason": self.reason,
            "abstime": self.abstime,
            "queues": [_plain(record) for record in self.queues],
            "total": None if self.total is None else _plain(self.total),
        }


def _plain(record: StatisticsRecord) -> dict[str, Any]:
    return {name: value.name if isinstance(value, Cvda) else value for name, value in record.values.items()}


class Statistics:
    """The statistics of one region.

    Attributes:
        collections: the statistics written, oldest first; the last 256 are kept.
        abends: how many tasks abended, by code.
    """

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self.collections: deque[Collection] = deque(maxlen=_COLLECTIONS_KEPT)
        self.abends: dict[str, int] = {}
        self._interval_ns = 0
        self._timer: Timer | None = None

    def now(self) -> Collection:
        """The present statistics; nothing is written or reset."""
        return self._collect("REQUEST")

    def _collect(self, reason: Literal["INTERVAL", "REQUEST"]) -> Collection:
        region = self._region
        records = tuple(queue_record(queue) for queue in region.tdqueues.values())
        return Collection(reason, abstime(region.clock.time_ns(), region.zone), records, global_record(region))

    def record(self, reason: Literal["INTERVAL", "REQUEST"] = "REQUEST") -> Collection:
        """Write the statistics of all queues."""
        collection = self._collect(reason)
        self.collections.append(collection)
        return collection

    def reset(self) -> None:
        """Set counts to 0 and peaks to the current value (RESETNOW)."""
        for queue in self._region.tdqueues.values():
            _reset(queue)
        self._region.intra.reset()

    def of_discarded(self, queue: TdQueue) -> Collection:
        """The unsolicited statistics of a queue that is about to be discarded; they are not written yet."""
        region = self._region
        return Collection("UNSOLICITED", abstime(region.clock.time_ns(), region.zone), (queue_record(queue),), None)

    def written(self, collection: Collection) -> None:
        """Write statistics, unless they were the last ones written."""
        if not self.collections or self.collections[-1] is not collection:
            self.collections.append(collection)

    def every(self, seconds: float) -> None:
        """From now on write and reset statistics at intervals of the region's clock (STATRCD=ON, STATINT); 0 stops it.

        The intervals pass with the clock: no task waits for them, and the simulated clock does not jump to their ends.

        Raises:
            UsageError: the number is negative.
        """
        if seconds < 0:
            raise UsageError(f"a statistics interval of {seconds} seconds: allowed is 0 (none) or more")
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._interval_ns = round(seconds * _NS)
        if self._interval_ns:
            self._set_timer(self._region.clock.time_ns() + self._interval_ns)

    def _set_timer(self, moment_ns: int) -> None:
        self._timer = self._region.dispatcher.call_at(moment_ns, lambda: self._end_interval(moment_ns), passive=True)

    def _end_interval(self, moment_ns: int) -> None:
        self.record("INTERVAL")
        self.reset()
        behind = self._region.clock.time_ns() - moment_ns
        passed = max(behind // self._interval_ns, 0) + 1  # a long jump of the clock ends one interval, not many
        self._set_timer(moment_ns + passed * self._interval_ns)


@command("EXTRACT STATISTICS", "NOTAUTH NOTFND", {"SET": Opt("pointer", 0)}, resource="resid")
def extract_statistics(
    task: TaskBase,
    resid: Name4OrNone = None,
    *,
    tdqueue: Flag = True,
    nohandle: bool = False,
) -> StatisticsRecord | None:
    """Return the statistics of one queue, or the global statistics of transient data.

    Args:
        resid: the queue; None for the global record.
        tdqueue: the resource type; TDQUEUE is the only one.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        The record; its ``image`` returns the bytes that SET points to. None after a condition that was not raised.

    Raises:
        Condition: NOTFND 1: there is no such queue; NOTAUTH 100, 101.
    """
    if not tdqueue:
        raise UsageError("EXTRACT STATISTICS: TDQUEUE is the only resource type that is simulated")
    name = "" if resid is None else queue_name(resid)
    check_command(task, "STATISTICS", Access.READ)
    if not name:
        return global_record(task._region)
    queue = task._region.tdqueues.get(name)
    if queue is None:
        raise refusal("EXTRACT STATISTICS", "not found", f"there is no queue {name}")
    check_resource(task, XDCT, name, Access.READ)
    return queue_record(queue)


@command("PERFORM STATISTICS", "NOTAUTH")
def perform_statistics(
    task: TaskBase, *, record: Flag = True, tdqueue: Flag = True, resetnow: Flag = False, nohandle: bool = False
) -> None:
    """Write the statistics of all queues now (PERFORM STATISTICS RECORD TDQUEUE).

    Args:
        record: the RECORD keyword.
        tdqueue: the resource type; TDQUEUE is the only one.
        resetnow: reset counts and peaks as well.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: NOTAUTH 100.
    """
    if not (record and tdqueue):
        raise UsageError("PERFORM STATISTICS: only RECORD and TDQUEUE are simulated, and both are required")
    check_command(task, "STATISTICS", Access.UPDATE)
    task._region.statistics.record()
    if resetnow:
        task._region.statistics.reset()
