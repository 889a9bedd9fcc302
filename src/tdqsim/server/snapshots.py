"""Snapshots of the records of a region's intrapartition queues, and their restoration.

All functions are called in the engine's thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from tdqsim import state
from tdqsim.cics import Region
from tdqsim.errors import TdqError, UsageError
from tdqsim.facts import FORMATS
from tdqsim.server.acting import in_a_task
from tdqsim.server.answers.regions import Snapshot, SnapshotQueue
from tdqsim.server.bounds import BOUNDS
from tdqsim.state import QueueState

EnableStatus = Literal["ENABLED", "DISABLED"]

FORMAT: Final = FORMATS["snapshot"]
"""The format of the snapshots that this version writes and reads."""


class KeptQueue(NamedTuple):
    """A queue of a snapshot.

    Attributes:
        enablestatus: its ENABLESTATUS.
        records: its records, the first one first.
    """

    enablestatus: EnableStatus
    records: tuple[bytes, ...]


def take_snapshot(region: Region, userid: str) -> dict[str, KeptQueue]:
    """The intrapartition queues of a region with their records, by name.

    Args:
        region: the region.
        userid: the user, who must be allowed to read each queue; empty for the owner of the process.

    Raises:
        Condition: NOTAUTH 101. UsageError: there are too many records for one answer.
    """
    queues = list(state.queues(region, type="INTRA"))
    count = sum(queue.numitems for queue in queues)
    if count > BOUNDS["snapshot_records"]:
        raise UsageError(f"{count} records are too many for one answer; read {BOUNDS['page_records']} at a time")
    return {
        queue.name: KeptQueue(_enablestatus(queue), tuple(state.records(region, queue.name, userid=userid)))
        for queue in queues
    }


def check_format(given: object) -> None:
    """Refuse a snapshot of another version of tdqsim.

    Raises:
        UsageError: its format is not the one that this version reads.
    """
    if isinstance(given, bool) or given != FORMAT:
        raise UsageError(f"the snapshot has format {given!r:.20}; this tdqsim reads format {FORMAT}")


def snapshot_answer(applid: str, queues: Mapping[str, KeptQueue]) -> Snapshot:
    """A snapshot as an answer of the API."""
    held: dict[str, SnapshotQueue] = {
        name: {
            "enablestatus": queue.enablestatus,
            "records": [{"hex": record.hex().upper()} for record in queue.records],
        }
        for name, queue in queues.items()
    }
    return {"format": FORMAT, "applid": applid, "queues": held}


def restore_snapshot(region: Region, queues: Mapping[str, KeptQueue], userid: str) -> None:
    """Give queues the records and ENABLESTATUS of a snapshot, all of them or none; others are not changed.

    Args:
        region: the region.
        queues: the queues of the snapshot by name.
        userid: the user of the tasks that do it; empty for the default user of the region.

    Raises:
        Condition: a command is refused. UsageError: a queue does not exist, or a unit of work uses it.
    """
    intra = {queue.name: queue for queue in state.queues(region, type="INTRA")}
    for name in queues:
        if name not in intra:
            raise UsageError(f"queue {name[:20]!r}: the region has no intrapartition queue of that name")
        if any(lock.uow for lock in intra[name].locks):
            raise UsageError(f"queue {name}: a unit of work uses it; end the unit of work first")
    before: dict[str, KeptQueue] = {}
    try:
        for name, queue in queues.items():
            before[name] = KeptQueue(_enablestatus(intra[name]), tuple(region.peek(name)))
            _give(region, name, queue, userid)
    except TdqError:
        for name, old in before.items():
            if tuple(region.peek(name)) == old.records:
                _enable(region, name, old.enablestatus, userid)
            else:
                _give(region, name, old, userid)
        raise


def _enablestatus(queue: QueueState) -> EnableStatus:
    return "ENABLED" if queue.enablestatus == "ENABLED" else "DISABLED"


def _give(region: Region, name: str, queue: KeptQueue, userid: str) -> None:
    _enable(region, name, "ENABLED", userid)
    in_a_task(region, userid, lambda task: task.deleteq_td(name))
    region.seed(name, queue.records)
    _enable(region, name, queue.enablestatus, userid)


def _enable(region: Region, name: str, status: EnableStatus, userid: str) -> None:
    now = state.queue(region, name)
    if now is not None and now.enablestatus != status:
        in_a_task(region, userid, lambda task: task.set_tdqueue(name, enablestatus=status))
