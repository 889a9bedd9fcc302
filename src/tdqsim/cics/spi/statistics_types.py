"""The types of statistics: for each the records of its resources, the global record, and the reset.

The counts are plain attributes of the parts that do the work; this module reads and resets them. A reset sets counts to
0 and peaks to the current value; current values and definitions stay.

============  ======================  ==================  =============================================
type          record of a resource    global record       counted
============  ======================  ==================  =============================================
TDQUEUE       TQR                     TQG                 requests of queues; control intervals
TRANSACTION   XMR                     XMG                 attached tasks; tasks that waited for MXT
TRANCLASS     XMC                                         attached, queued and purged tasks
TSQUEUE                               TSG                 items written and read
PROGRAM       LDR                                         uses of programs
FILE          A17                                         requests of files
DISPATCHER                            DSG                 tasks
STATS                                 STG                 the statistics that were written
============  ======================  ==================  =============================================

Source: CICS statistics in DSECTs and DFHSTUP report (IBM Docs), a page for each type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.files.table import FileEntry
from tdqsim.cics.kernel.limits import ClassCounts, Limits, TransactionClass
from tdqsim.cics.model.queue import ExtraTdQueue, IndirectTdQueue, IntraTdQueue, RemoteTdQueue, TdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.transaction import TransactionEntry
from tdqsim.cics.spi.tdqueue_options import split_dsname
from tdqsim.core.named import NamedTuple
from tdqsim.facts import REGION_DEFAULTS

if TYPE_CHECKING:
    from tdqsim.cics.spi.statistics_records import StatisticsRecord

_NOTHING: Final[dict[str, Any]] = {
    "triggerlevel": 0, "recovery": "", "facility_type": "", "facility": "", "wait": "", "waitaction": "", "transid": "",
    "triggers": 0, "cis_in_use": 0, "peak_cis": 0, "items": 0, "peak_items": 0, "remotesystem": "", "remotename": "",
    "indirectname": "", "iotype": "", "ddname": "", "dsname": "", "member": "",
}  # fmt: skip


@cache
def _record_class() -> type[StatisticsRecord]:
    from tdqsim.cics.spi.statistics_records import StatisticsRecord  # noqa: PLC0415  (a region needs it at its end)

    return StatisticsRecord


def _record(record: str, values: dict[str, Any]) -> StatisticsRecord:
    return _record_class()(record, values)


# -- transient data ---------------------------------------------------------------------------------------------------


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


def queue_record(queue: TdQueue) -> StatisticsRecord:
    """The statistics of one queue (DFHTQRDS)."""
    values: dict[str, Any] = {
        "name": queue.name, "type": queue.type, "writes": queue.writes, "reads": queue.reads, "deletes": queue.deletes,
        **_NOTHING, **_type_values(queue), **queue.signature._asdict(),
    }  # fmt: skip
    return _record("TQR", values)


def _queues(region: RegionData) -> dict[str, Any]:
    """All queues (DFHTQGDS). There is no buffered data set, so control intervals are neither read nor written."""
    space = region.intra
    return {
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


def _reset_queues(region: RegionData) -> None:
    for queue in region.tdqueues.values():
        queue.writes = queue.reads = queue.deletes = 0
        if isinstance(queue, IntraTdQueue):
            queue.triggers = 0
            queue.peak = queue.numitems
            queue.peak_cis = queue.cis
    region.intra.reset()


# -- tasks ------------------------------------------------------------------------------------------------------------


def _tasks(region: RegionData) -> dict[str, Any]:
    """All transactions. With limits, those tasks are active that they count; else those that INQUIRE TASK lists."""
    limits: Limits | None = region.limits
    counts = ClassCounts() if limits is None else limits.counts
    active = len(region.tasks) if limits is None else len(limits.active)
    peak = region.task_manager.peak if limits is None else counts.peak_active
    return {
        "transactions": sum(entry.attaches for entry in _entries(region)),
        "maxtasks": 0 if limits is None else limits.maxtasks,
        "times_at_maxtasks": counts.times_full,
        "active": active,
        "queued": 0 if limits is None else len(limits.held),
        "peak_active": max(peak, active),
        "peak_queued": counts.peak_queued,
        "delayed": counts.delayed,
    }


def _entries(region: RegionData) -> Iterator[TransactionEntry]:
    """The transactions, and those that were discarded: what has run is counted until the next reset."""
    return chain(region.transactions.values(), region.discarded.values())


def _transaction(entry: TransactionEntry, _region: RegionData) -> dict[str, Any]:
    definition = entry.definition
    return {
        "name": entry.name,
        "program": entry.program_name,
        "tranclass": definition.tranclass,
        "priority": definition.priority,
        "remotename": definition.remotename,
        "remotesystem": definition.remotesystem,
        "attaches": entry.attaches,
    }


def _reset_tasks(region: RegionData) -> None:
    for entry in _entries(region):
        entry.attaches_counted -= entry.attaches
        entry.attaches = 0
    limits: Limits | None = region.limits
    if limits is not None:
        limits.reset()
    region.task_manager.peak = len(region.tasks)


def _classes(region: RegionData) -> dict[str, TransactionClass]:
    limits: Limits | None = region.limits
    return {} if limits is None else limits.classes


def _tranclass(known: TransactionClass, region: RegionData) -> dict[str, Any]:
    counts = known.counts
    return {
        "name": known.name,
        "transactions": sum(entry.definition.tranclass == known.name for entry in region.transactions.values()),
        "maxactive": known.maxactive or 0,
        "purgethresh": known.purgethresh,
        "attaches": counts.attaches,
        "accepted": counts.attaches - counts.delayed - counts.purged,
        "purged": counts.purged,
        "delayed": counts.delayed,
        "purged_waiting": counts.purged_waiting,
        "active": len(known.active),
        "peak_active": max(counts.peak_active, len(known.active)),
        "queued": len(known.queued),
        "peak_queued": max(counts.peak_queued, len(known.queued)),
        "times_at_maxactive": counts.times_full,
        "times_at_purgethresh": counts.purged,
    }


def _reset_classes(region: RegionData) -> None:
    for known in _classes(region).values():
        known.reset()


# -- temporary storage, programs, files -------------------------------------------------------------------------------


def _storage(region: RegionData) -> dict[str, Any]:
    counts: dict[str, Any] = region.ts.counts()
    return counts


def _programs(region: RegionData) -> dict[str, int]:
    """The uses of each program: those by LINK, XCTL and LOAD, and one for each task of a transaction with it."""
    uses: dict[str, int] = dict.fromkeys((*region.programs.names(), *region.programs.definitions), 0)
    uses |= region.programs.uses
    for entry in _entries(region):
        if entry.program_name:
            uses[entry.program_name] = uses.get(entry.program_name, 0) + entry.attaches - entry.attaches_counted
    return uses


def _program(name: str, region: RegionData) -> dict[str, Any]:
    return {"name": name, "uses": _programs(region)[name]}


def _reset_programs(region: RegionData) -> None:
    region.programs.uses.clear()
    for entry in _entries(region):
        entry.attaches_counted = entry.attaches


def _file(entry: FileEntry, _region: RegionData) -> dict[str, Any]:
    return {"name": entry.name, "dsname": entry.dsname or entry.name, **entry.requests}


def reset_file(entry: FileEntry) -> None:
    """Set the counts of a file to 0."""
    entry.requests = dict.fromkeys(entry.requests, 0)


def _reset_files(region: RegionData) -> None:
    for entry in region.files.known.values():
        reset_file(entry)


# -- dispatcher and statistics ----------------------------------------------------------------------------------------


def _dispatcher(region: RegionData) -> dict[str, Any]:
    tasks = len(region.tasks)
    return {
        "tasks": tasks,
        "peak_tasks": max(region.task_manager.peak, tasks),
        "priority_aging": region.task_manager.prtyaging,
    }


def _statistics(region: RegionData) -> dict[str, Any]:
    counts: dict[str, Any] = region.statistics.counts()
    return counts


def _nothing(_region: RegionData) -> None:
    """There is nothing to reset: the counts are those of another type, or follow other rules."""


# -- the table --------------------------------------------------------------------------------------------------------


class StatisticsType(NamedTuple):
    """One type of statistics.

    Attributes:
        record: the record of one resource; empty if resources have none.
        resources: the resources by name.
        values: the values of the record of a resource.
        total: the global record; empty if there is none.
        totals: the values of the global record.
        reset: the reset of its counts.
    """

    record: str
    resources: Callable[[RegionData], dict[str, Any]]
    values: Callable[[Any, RegionData], dict[str, Any]]
    total: str
    totals: Callable[[RegionData], dict[str, Any]]
    reset: Callable[[RegionData], None]


def _empty(_region: RegionData) -> dict[str, Any]:
    return {}


def _no_values(_resource: object, _region: RegionData) -> dict[str, Any]:
    return {}


TYPES: Final[dict[str, StatisticsType]] = {
    "STATS": StatisticsType("", _empty, _no_values, "STG", _statistics, lambda region: region.statistics.uncount()),
    "TRANSACTION": StatisticsType("XMR", lambda region: region.transactions, _transaction, "XMG", _tasks, _reset_tasks),
    "TRANCLASS": StatisticsType("XMC", _classes, _tranclass, "", _empty, _reset_classes),
    "DISPATCHER": StatisticsType("", _empty, _no_values, "DSG", _dispatcher, _nothing),
    "TSQUEUE": StatisticsType("", _empty, _no_values, "TSG", _storage, lambda region: region.ts.uncount()),
    "TDQUEUE": StatisticsType(
        "TQR",
        lambda region: region.tdqueues,
        lambda queue, _region: queue_record(queue).as_dict(),
        "TQG",
        _queues,
        _reset_queues,
    ),
    "PROGRAM": StatisticsType(
        "LDR", lambda region: {name: name for name in _programs(region)}, _program, "", _empty, _reset_programs
    ),
    "FILE": StatisticsType("A17", lambda region: region.files.known, _file, "", _empty, _reset_files),
}
"""The types in the order of DFHSTUP's reports. Source: Control parameters of the DFHSTUP program (IBM Docs)."""


def record_of(region: RegionData, kind: str, name: str) -> StatisticsRecord | None:
    """The record of one resource of a type, or None."""
    known = TYPES[kind]
    resource = known.resources(region).get(name)
    return None if resource is None else _record(known.record, known.values(resource, region))


def total_of(region: RegionData, kind: str) -> StatisticsRecord | None:
    """The global record of a type, or None."""
    known = TYPES[kind]
    return _record(known.total, known.totals(region)) if known.total else None


def records_of(region: RegionData, kinds: Iterable[str]) -> Iterable[StatisticsRecord]:
    """The global record and the records of all resources of some types."""
    for kind in kinds:
        total = total_of(region, kind)
        if total is not None:
            yield total
        known = TYPES[kind]
        for resource in known.resources(region).values():
            yield _record(known.record, known.values(resource, region))
