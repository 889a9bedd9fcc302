"""Starting a region: the type of start, what it restores of the last run, and what it does with it.

===========  ==========================  =====================================================================
Start        When                        Definitions; records
===========  ==========================  =====================================================================
INITIAL      START=INITIAL, a new store  those given; none
COLD         START=COLD                  those given; none
WARM         AUTO after a normal end     the catalogue's (a notice names others that are given); all
EMERGENCY    AUTO after any other end    the catalogue's; PHYSICAL as it was, LOGICAL as committed, NO empty
===========  ==========================  =====================================================================

If a cold or initial start is killed, the next start repeats it. TDINTRA=EMPTY empties the intrapartition queues at
every type of start. Every queue is ENABLED again. An emergency restart puts back the last record that an unfinished
unit of work had read from a PHYSICAL queue, restores indoubt units of work with their locks, and backs out all others.
Then triggers of TERMINAL and SYSTEM queues whose ATI cycle was on continue; those of FILE queues wait for the next
write. Sources: Recovery and Restart Guide; TDINTRA.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.limits import define_class
from tdqsim.cics.kernel.signature import Signature
from tdqsim.cics.model.entries import CSD, as_json, damaged, fields_of, read_entry, resource_of, same_definition
from tdqsim.cics.model.lock import READ_END
from tdqsim.cics.model.queue import TRIGGER, ExtraTdQueue, IntraTdQueue, Latch, TdQueue, intra_queues
from tdqsim.cics.model.transaction import TransactionEntry
from tdqsim.cics.model.unit import READS, Facts, Meta, Record, UnitOfWork
from tdqsim.cics.model.work import LogicalWork
from tdqsim.cics.queues.creation import Moves, make_queue, open_initially
from tdqsim.cics.uow.indoubt import LOG_BEGAN
from tdqsim.errors import StoreDamaged
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.model.region import RegionData as Region

_PREFIX: Final = b"cat/"
_QUEUES: Final = b"cat/TDQUEUE/"
_LATCHES: Final = b"ati/"
_UNITS: Final = b"uow/"
_NUMBERING: Final = b"region/uow"
_FILES: Final = b"file/"
"""Records of files. A file is a data set that exists independently of the region, so every start keeps it."""
_APART: Final = (_FILES, CSD)
"""Data sets, which exist independently of the region: every start keeps them."""
_KEPT: Final = (b"decided/", b"heur/", _NUMBERING, LOG_BEGAN, *_APART)
_COLD: Final = b"region/cold_start_under_way"
_IDS_OF_A_RUN: Final = 2**32
_SIGNATURES_KEPT: Final = 1024


def _entry_key(kind: str, name: str) -> bytes:
    """The key of a resource's entry in the catalogue."""
    return f"cat/{kind}/{name}".encode()


class ResourceCatalogue:
    """The installed definitions on the store; a warm or emergency start installs them from here.

    A temporary store is never restarted, so it has no catalogue.

    Attributes:
        kept: whether the store has a catalogue.
    """

    def __init__(self, region: Region, *, kept: bool) -> None:
        self._region = region
        self.kept = kept
        self._order = 0
        self._orders: dict[bytes, int] = {}
        self._moves = Moves(region)

    def __contains__(self, resource: object) -> bool:
        """Whether there is an entry for a resource, given by kind and name."""
        return isinstance(resource, tuple) and _entry_key(*resource) in self._orders

    def entry(self, resource: defs.Resource, *, replaces: bool) -> Meta:
        """The meta data that record a transaction, terminal, connection, file, program or TSMODEL.

        Args:
            resource: its definition.
            replaces: whether it replaces an installed resource of the same name, and so keeps its place in the order.
        """
        if not self.kept:
            return {}
        key = _entry_key(resource.kind, resource.resource_name)
        record = {"kind": resource.kind, "order": self._place(key, replaces=replaces), "fields": fields_of(resource)}
        return {key: as_json(record)}

    def queue_entry(self, queue: TdQueue, changed: Mapping[str, object] | None = None) -> Meta:
        """The meta data that record a queue's definition, signature, and attributes changed by SET.

        Args:
            queue: the queue.
            changed: the attributes that SET is about to change; None if the queue is about to be installed.
        """
        if not self.kept:
            return {}
        key = _QUEUES + queue.name.encode()
        place, fields = self._place(key, replaces=queue.name in self._region.tdqueues), fields_of(queue.definition)
        record: Record = {
            "kind": queue.definition.type,
            "order": place,
            "fields": fields,
            "signature": queue.signature,  # as JSON a list, in which a CVDA is its number
        }
        if changed is not None:
            record["set"] = {name: changed.get(name, getattr(queue, name)) for name in TRIGGER}
        return {key: as_json(record)}

    def _place(self, key: bytes, *, replaces: bool) -> int:
        """The number in the order of installation; SET and a replacement keep a resource's number."""
        if not replaces or key not in self._orders:
            self._order += 1
            self._orders[key] = self._order
        return self._orders[key]

    def no_entry(self, kind: str, name: str) -> Meta:
        """The meta data that delete the entry of a discarded resource."""
        return {_entry_key(kind, name): None} if self.kept else {}

    def load(self, given: Iterable[defs.Resource] = ()) -> list[defs.Resource]:
        """Install everything in the catalogue, in the order of the first installation.

        Returns:
            those of the given definitions that are not in the catalogue, or are different there.
        """
        region, path = self._region, self._region.store.path
        asked = {_entry_key(resource.kind, resource.resource_name): resource for resource in given}
        for half in (region.store.durable, region.store.volatile):
            half.know_queues()
        entries = []
        for key, value in region.store.durable.metas(_PREFIX):
            record = read_entry(path, key, value)
            self._orders[key] = order = record["order"]
            resource = resource_of(path, key, record)
            entries.append((order, record, resource))
            if key in asked and same_definition(asked[key], resource):
                del asked[key]
        entries.sort(key=itemgetter(0))
        if entries:
            self._order = entries[-1][0]
        for _, record, resource in entries:
            self._load(record, resource)
        if self._moves.works:
            region.committer.commit(self._moves.works)
        self._moves.made()
        region.directory.refresh_all()
        region.terminal_control.refresh()
        return list(asked.values())

    def _load(self, record: Record, resource: defs.Resource) -> None:
        if "signature" in record:
            self._load_queue(resource, _signature(tuple(record["signature"])), record.get("set"))
            return
        region, kind, name = self._region, record["kind"], resource.resource_name
        if kind == "TRANSACTION":
            region.transactions[name] = TransactionEntry(cast("defs.Transaction", resource), region.programs)
        elif kind == "TERMINAL":
            region.terminals[name] = cast("defs.Terminal", resource)
        elif kind == "CONNECTION":
            region.connections[name] = cast("defs.Connection", resource)
        elif kind == "TSMODEL":
            region.ts.install(resource)
        elif kind == "TRANCLASS":
            define_class(region, cast("defs.Tranclass", resource))
        elif kind == "PROGRAM":
            region.programs.install(resource)
        elif kind == "FILE":
            region.files.install(resource)

    def _load_queue(self, definition: Any, signature: Signature, changed: Record | None) -> None:
        region = self._region
        queue = make_queue(region, definition, definition.type_in(region.sysid), signature, self._moves)
        region.tdqueues[queue.name] = queue
        if isinstance(queue, IntraTdQueue):
            region.intra.open_queue(queue)
            if changed:
                for name, value in changed.items():
                    setattr(queue, name, value)
            region.ati.arm(queue)
        elif isinstance(queue, ExtraTdQueue):
            open_initially(region, queue)


@lru_cache(_SIGNATURES_KEPT)
def _signature(values: tuple[object, ...]) -> Signature:
    """A signature from its stored values. Cached, because queues that were installed together mostly share one."""
    plain = Signature._make(values)
    return plain._replace(changeagent=Cvda(plain.changeagent), installagent=Cvda(plain.installagent))


# -- records for other regions ----------------------------------------------------------------------------------------


def kept_over_cold_start(region: Region) -> dict[bytes, bytes]:
    """The meta data that a cold start keeps.

    They are files, the CSD, and for resynchronization with other regions decisions and the ids used. They
    include a mark that the cold start is in progress. If it is killed, the next start, of whatever type, repeats it and
    keeps the same data.
    """
    kept = {key: value for prefix in _KEPT for key, value in region.store.durable.metas(prefix)}
    return {**kept, _COLD: b""}


def kept_over_initial_start(region: Region) -> dict[bytes, bytes]:
    """The meta data that an initial start keeps: files, the CSD, and the ids used, so that no id is used twice."""
    before = region.store.durable.get_meta(_NUMBERING)
    kept = {key: value for prefix in _APART for key, value in region.store.durable.metas(prefix)}
    return kept if before is None else {**kept, _NUMBERING: before}


def check_nothing_kept(region: Region) -> None:
    """Check that a region without a record of its starts has no data: otherwise that record was lost, as by a salvage.

    Raises:
        StoreDamaged: there are records, which a start with empty queues would throw away.
    """
    store = region.store
    for half in (store.durable, store.volatile):
        for queue in half.queues():
            if queue.count:
                raise StoreDamaged(
                    f"{store.path}: the region's own record is missing, but queue {queue.name.decode()} has "
                    f"{queue.count} records; `tdq store check` lists what is there, START=COLD begins with empty queues"
                )


def cold_start_unfinished(region: Region) -> bool:
    """Whether the last cold start was killed before it was complete."""
    return region.store.durable.get_meta(_COLD) is not None


def cold_start_finished(region: Region) -> None:
    """Remove the mark of a cold start in progress: after the next commit the region can be started warm."""
    region.committer.note(_COLD, None)


def begin_numbering(region: Region) -> None:
    """Ensure that no unit of work gets an id of an earlier run, even if the clock was set back."""
    before = region.store.durable.get_meta(_NUMBERING)
    if before is not None:
        region.recovery.reserve_id((int.from_bytes(before, "big") + _IDS_OF_A_RUN).to_bytes(len(before), "big"))
    refused = region.store.durable.room_for(len(_NUMBERING) + len(region.recovery.last_id))
    if refused:  # a region with a full store must start too; the clock still makes the ids unique
        region.notices.say("numbering_not_recorded", reason=refused)
    else:
        region.committer.note(_NUMBERING, region.recovery.last_id)


def begin_log(region: Region) -> None:
    """At an initial start: record that nothing is known of units of work with ids up to the present one."""
    region.committer.note(LOG_BEGAN, region.recovery.last_id)


# -- units of work and cycles of the last run -------------------------------------------------------------------------


def give_back_reads(region: Region) -> None:
    """Put back the last record that each unfinished unit of work had read from a PHYSICAL queue, the newest first."""
    gone: dict[bytes, bytes | None] = {}
    reads: dict[str, list[tuple[int, bytes]]] = {}
    for key, value in region.store.durable.metas(READS):
        gone[key] = None
        name = key[len(READS) :].partition(b"/")[0].decode()  # a name has no slash; the id behind it may have one
        reads.setdefault(name, []).append((int.from_bytes(value[:8], "big"), value[8:]))
    works = []
    for name, records in reads.items():
        queue = region.tdqueues.get(name)
        if isinstance(queue, IntraTdQueue) and queue.recovstatus == "PHYSICAL":
            work = queue.durable.work()
            for _, data in sorted(records, reverse=True):
                work.give_back(data)
            works.append((queue, work))
    if not gone:
        return
    region.committer.commit([work for _, work in works], gone)
    for queue, _ in works:
        region.intra.close_queue(queue)
        region.intra.open_queue(queue)


def image_of(uow: UnitOfWork) -> bytes:
    """A prepared unit of work as bytes for the store: its changes of each queue, its locks, and its task."""
    blobs: list[bytes] = []
    queues = []
    for queue, work in uow.works.items():
        if not work.changed and not any(lock.owner is uow for lock in queue.locks):
            continue
        written = work.written
        blobs += written
        queues.append({
            "name": queue.name, "through": queue.gone + work.reads, "reads": work.reads, "deleted": work.deleted,
            "writes": [len(data) for data in written],
        })  # fmt: skip
    head = {
        "queues": queues,
        "locks": [[lock.queue.name, lock.end] for lock in uow.locks],
        "transid": uow.transid, "userid": uow.userid, "termid": uow.termid, "taskid": uow.taskid,
        "link": uow.link, "coordinator": uow.coordinator, "decision": uow.decision,
        "wait": uow.wait, "waittime": uow.waittime, "action": uow.action, "since": uow.since_ns,
        "cycle": uow._region.ati.cycle_of(uow),
        "kept": [[whose, kept] for whose, image in uow.kept if (kept := image()) is not None],
    }  # fmt: skip
    text = as_json(head)
    return len(text).to_bytes(4, "big") + text + b"".join(blobs)


def load_units_of_work(region: Region) -> None:
    """Restore the indoubt units of work: shunted, with their locks."""
    for key, value in list(region.store.durable.metas(_UNITS)):
        uow_id = key[len(_UNITS) :]
        try:
            size = int.from_bytes(value[:4], "big")
            head = json.loads(value[4 : 4 + size])
            _load_one(region, uow_id, head, value[4 + size :])
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(region.store.path, key, error) from error


def _load_one(region: Region, uow_id: bytes, head: Record, blobs: bytes) -> None:
    uow = UnitOfWork(region, uow_id)
    uow.facts = Facts(**{name: head[name] for name in Facts._fields})
    uow.link, uow.coordinator, uow.decision = head["link"], head["coordinator"], tuple(head["decision"])
    uow.since_ns = head["since"]
    uow.state, uow.waitstate, uow.waitcause = Cvda.INDOUBT, Cvda.SHUNTED, Cvda.CONNECTION
    offset = 0
    for part in head["queues"]:
        queue = region.tdqueues.get(part["name"])
        written = []
        for length in part["writes"]:
            written.append(blobs[offset : offset + length])
            offset += length
        if isinstance(queue, IntraTdQueue) and queue.logical:
            _restore(region, queue, uow.on(queue), part, written)
        else:  # the definition was lost to damage, so the decision cannot be carried out on this queue
            region.notices.say(
                "work_in_doubt_lost",
                uow=uow_id.hex().upper(),
                queue=part["name"],
                reads=part["reads"],
                writes=len(written),
                deleted=part["deleted"],
            )
    for name, end in head["locks"]:
        queue = region.tdqueues.get(name)
        if isinstance(queue, IntraTdQueue) and queue.logical:
            uow.on(queue)
            lock = queue.read_end if end == READ_END else queue.write_end
            assert lock is not None, queue
            lock.take(uow, uow.since_ns)
    uow.retain_locks()
    parts = {"ts": region.ts, "file": region.files, "starts": region.starts, "queued": region.starts.local}
    for whose, image in head["kept"]:
        parts[whose].restore(uow, image)
    cycle = region.tdqueues.get(head["cycle"])
    if isinstance(cycle, IntraTdQueue):
        region.ati.hold_again(uow, cycle)
    region.shunted[uow_id] = uow
    region.recovery.reserve_id(uow_id)


def _restore(region: Region, queue: IntraTdQueue, work: LogicalWork, part: Record, written: list[bytes]) -> None:
    """Restore a prepared unit of work's changes of a queue; a salvage may have lost records that it read."""
    reads = min(part["reads"], max(0, part["through"] - queue.gone), queue.stored.count)
    if written or part["deleted"]:
        work.left_before = queue.ci_left
    work.restore(reads, deleted=part["deleted"])
    for data in written:
        if not 0 < len(data) <= queue.ci_left:
            with suppress(Condition):  # it had this room before the restart
                region.intra.extend(queue, len(data), None, work)
        work.adopt(data)
        queue.ci_left -= len(data)


def save_latches(region: Region) -> None:
    """At a normal end: store the ATI cycles of non-recoverable queues (those of others are stored as they begin)."""
    for queue in intra_queues(region.tdqueues):
        if queue.latched is not None and queue.recovstatus == "NO":
            region.committer.note(_LATCHES + queue.name.encode(), queue.latched.stored())


def show_latches(region: Region) -> None:
    """For a read-only region: show the ATI cycles that the store records as on."""
    for key, kept in region.store.durable.metas(_LATCHES):
        queue = region.tdqueues.get(key[len(_LATCHES) :].decode())
        if isinstance(queue, IntraTdQueue) and (queue.recovstatus != "NO" or region.store.closed_clean):
            queue.latched = Latch.read(queue, kept)
            region.ati.arm(queue)


def pending_triggers(region: Region) -> list[Latch]:
    """The ATI cycles that were on when the last run ended. A recoverable queue keeps the record of it.

    A non-recoverable queue has one only after a normal end; after any other end the queue is empty.
    """
    pending = []
    for key, kept in list(region.store.durable.metas(_LATCHES)):
        queue = region.tdqueues.get(key[len(_LATCHES) :].decode())
        if not isinstance(queue, IntraTdQueue) or queue.recovstatus == "NO":
            region.committer.note(key, None)
        if isinstance(queue, IntraTdQueue) and (queue.recovstatus != "NO" or region.store.closed_clean):
            queue.latched = Latch.read(queue, kept)
            pending.append(queue.latched)
    return pending


def empty_intrapartition(region: Region) -> None:
    """TDINTRA=EMPTY: delete all intrapartition records, ATI cycles and indoubt units of work."""
    store = region.store
    for volatile in store.volatile.queues():
        volatile.clear()
    works = []
    for durable in store.durable.queues():
        work = durable.work()
        work.clear()
        works.append(work)
    gone: Meta = {key: None for prefix in (_LATCHES, READS, _UNITS) for key, _ in store.durable.metas(prefix)}
    region.committer.commit(works, gone)
