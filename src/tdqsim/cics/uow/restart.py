"""Starting a region: which start it is, what of the last run is there again, and what is done about it.

===========  ==========================  =====================================================================
Start        When                        Definitions; records
===========  ==========================  =====================================================================
INITIAL      START=INITIAL, a new store  those given; none
COLD         START=COLD                  those given; none
WARM         AUTO after a normal end     the catalogue's (those given are not looked at); all
EMERGENCY    AUTO after any other end    the catalogue's; PHYSICAL as it was, LOGICAL as committed, NO empty
===========  ==========================  =====================================================================

A cold or initial start that is killed is made again by the next start. TDINTRA=EMPTY begins with empty intrapartition
queues whatever the start. Every queue is ENABLED again. At an emergency restart the last record that an unfinished
unit of work had read of a PHYSICAL queue is given back, units of work that were indoubt are there with their locks,
and all others have never happened. Then triggers of TERMINAL and SYSTEM queues whose cycle was on go on; those of FILE
queues wait for the next write. Sources: Recovery and Restart Guide; TDINTRA.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache, lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Final, cast

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.signature import Signature
from tdqsim.cics.model.lock import READ_END
from tdqsim.cics.model.queue import TRIGGER, ExtraTdQueue, IntraTdQueue, Latch, TdQueue, intra_queues
from tdqsim.cics.model.transaction import TransactionEntry
from tdqsim.cics.model.unit import READS, Facts, Meta, Record, UnitOfWork
from tdqsim.cics.model.work import LogicalWork
from tdqsim.cics.queues.making import Moves, make_queue, open_initially
from tdqsim.cics.uow.indoubt import LOG_BEGAN
from tdqsim.errors import StoreDamaged
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.model.region import RegionData as Region

__all__ = [
    "ResourceCatalogue",
    "begin_log",
    "begin_numbering",
    "check_nothing_kept",
    "cold_start_finished",
    "cold_start_unfinished",
    "empty_intrapartition",
    "give_back_reads",
    "image_of",
    "kept_over_cold_start",
    "kept_over_initial_start",
    "load_units_of_work",
    "pending_triggers",
    "save_latches",
    "show_latches",
]

_PREFIX: Final = b"cat/"
_QUEUES: Final = b"cat/TDQUEUE/"
_LATCHES: Final = b"ati/"
_UNITS: Final = b"uow/"
_NUMBERING: Final = b"region/uow"
_FILES: Final = b"file/"
"""Records of files, which are data sets of their own: no start of a region concerns them."""
_KEPT: Final = (b"decided/", b"heur/", _NUMBERING, LOG_BEGAN, _FILES)
_COLD: Final = b"region/cold_start_under_way"
_MOMENTS: Final = ("definetime", "changetime")
_IDS_OF_A_RUN: Final = 2**32
_SEPARATORS: Final = (",", ":")
_SIGNATURES_KEPT: Final = 1024


class ResourceCatalogue:
    """The installed definitions on the store, from which a warm or emergency start takes them.

    A temporary store is never started again, so nothing is kept there.

    Attributes:
        kept: whether anything is.
    """

    def __init__(self, region: Region, *, kept: bool) -> None:
        self._region = region
        self.kept = kept
        self._order = 0
        self._orders: dict[bytes, int] = {}
        self._moves = Moves(region)

    def __contains__(self, resource: object) -> bool:
        """Whether there is an entry for a resource, given by kind and name."""
        return isinstance(resource, tuple) and "cat/{}/{}".format(*resource).encode() in self._orders

    def entry(self, resource: defs.Resource, *, there: bool) -> Meta:
        """What keeps a transaction, terminal, connection, file or model of temporary storage.

        Args:
            resource: its definition.
            there: whether one of that name is installed, whose place in the order it takes.
        """
        if not self.kept:
            return {}
        key = f"cat/{resource.kind}/{resource.resource_name}".encode()
        record = {"kind": resource.kind, "order": self._place(key, there=there), "fields": _fields(resource)}
        return {key: _json(record)}

    def queue_entry(self, queue: TdQueue, changed: Mapping[str, object] | None = None) -> Meta:
        """What keeps a queue's definition and signature, and what SET makes of it.

        Args:
            queue: the queue.
            changed: what SET is about to change; None when the queue is about to be installed.
        """
        if not self.kept:
            return {}
        key = _QUEUES + queue.name.encode()
        place, fields = self._place(key, there=queue.name in self._region.tdqueues), _fields(queue.definition)
        record: Record = {
            "kind": queue.definition.type,
            "order": place,
            "fields": fields,
            "signature": [int(value) if isinstance(value, Cvda) else value for value in queue.signature],
        }
        if changed is not None:
            record["set"] = {name: changed.get(name, getattr(queue, name)) for name in TRIGGER}
        return {key: json.dumps(record, separators=_SEPARATORS).encode()}

    def _place(self, key: bytes, *, there: bool) -> int:
        """The number in the order of installation: SET and a replacement leave a resource where it is."""
        if not there or key not in self._orders:
            self._order += 1
            self._orders[key] = self._order
        return self._orders[key]

    def no_queue(self, queue: TdQueue) -> Meta:
        """What forgets a queue that is discarded."""
        return {_QUEUES + queue.name.encode(): None} if self.kept else {}

    def load(self) -> None:
        """Install everything that the catalogue holds, in the order in which it was installed."""
        region = self._region
        for half in (region.store.durable, region.store.volatile):
            half.know_queues()
        found = []
        for key, value in region.store.durable.metas(_PREFIX):
            record = _record(region, key, value)
            self._orders[key] = order = record.get("order", 0)
            found.append((order, record, _resource(region, key, record)))
        found.sort(key=itemgetter(0))
        if found:
            self._order = found[-1][0]
        for _, record, resource in found:
            self._load(record, resource)
        if self._moves.works:
            region.hardening.commit(self._moves.works)
        self._moves.made()
        region.directory.refresh_all()
        region.terminal_control.refresh()

    def _load(self, record: Record, resource: defs.Resource) -> None:
        region, kind, name = self._region, record["kind"], resource.resource_name
        if kind == "TRANSACTION":
            region.transactions[name] = TransactionEntry(cast("defs.Transaction", resource), region.programs)
        elif kind == "TERMINAL":
            region.terminals[name] = cast("defs.Terminal", resource)
        elif kind == "CONNECTION":
            region.connections[name] = cast("defs.Connection", resource)
        elif kind == "TSMODEL":
            region.ts.install(resource)
        elif kind == "PROGRAM":
            region.programs.install(resource)
        elif kind == "FILE":
            region.files.install(resource)
        else:
            self._load_queue(cast("defs.Tdqueue", resource), _signature(tuple(record["signature"])), record.get("set"))

    def _load_queue(self, definition: defs.Tdqueue, signature: Signature, changed: Record | None) -> None:
        region = self._region
        queue = make_queue(region, definition, definition.type_in(region.sysid), signature, self._moves)
        region.tdqueues[queue.name] = queue
        if isinstance(queue, IntraTdQueue):
            region.intra.open_queue(queue)
            for name, value in (changed or {}).items():
                setattr(queue, name, value)
            region.ati.arm(queue)
        if isinstance(queue, ExtraTdQueue):
            open_initially(region, queue)


def _fields(resource: defs.Resource) -> Record:
    """What was given of a definition; texts, numbers and moments, so that no serializer is needed."""
    values = resource.__dict__
    return {
        name: str(values[name]) if isinstance(values[name], datetime) else values[name]
        for name in resource.model_fields_set
        if name != "without_effect"
    }


def _json(record: object) -> bytes:
    return json.dumps(record, separators=_SEPARATORS).encode()


def _damaged(region: Region, key: bytes, error: Exception) -> StoreDamaged:
    return StoreDamaged(f"{region.store.path}: the catalogue's entry {key!r} cannot be read: {error}")


def _record(region: Region, key: bytes, value: bytes) -> Record:
    try:
        record = json.loads(str(value, "utf-8"))
        if not isinstance(record, dict):
            raise TypeError(f"it is {record!r}")  # noqa: TRY301 - one place says what is wrong
    except (TypeError, ValueError) as error:
        raise _damaged(region, key, error) from error
    return record


@cache
def _kinds() -> Mapping[str, type[defs.Resource]]:
    """The classes of definitions by TYPE of a queue, or by kind of resource."""
    from tdqsim import definitions as found  # noqa: PLC0415  (pydantic is imported with the first definition)

    return {
        "INTRA": found.IntraQueue,
        "EXTRA": found.ExtraQueue,
        "INDIRECT": found.IndirectQueue,
        "": found.RemoteQueue,
        "TRANSACTION": found.Transaction,
        "TERMINAL": found.Terminal,
        "CONNECTION": found.Connection,
        "TSMODEL": found.Tsmodel,
        "FILE": found.File,
        "PROGRAM": found.ProgramDefinition,
    }


@cache
def _plain_queue() -> tuple[defs.Resource, frozenset[str]]:
    """An intrapartition queue with nothing but defaults, and its attributes."""
    made = _kinds()["INTRA"]
    return made.model_construct(set()), frozenset(made.model_fields)


def _resource(region: Region, key: bytes, record: Record) -> defs.Resource:
    """The definition in an entry.

    An intrapartition queue's, of which there may be a hundred thousand, is not validated again: it was valid when it
    was kept, the checksum says that it is what was kept, and what was not given has its default.
    """
    try:
        kind, given = record["kind"], record["fields"]
        if kind != "INTRA":
            return _kinds()[kind].model_validate(given)
        plain, known = _plain_queue()
        if "name" not in given or not given.keys() <= known:
            raise ValueError(f"it has the attributes {', '.join(given)}")  # noqa: TRY301 - one place says what is wrong
        for moment in _MOMENTS:
            if given.get(moment) is not None:
                given[moment] = datetime.fromisoformat(given[moment])
        return plain.model_copy(update=given)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(region, key, error) from error


@lru_cache(_SIGNATURES_KEPT)
def _signature(values: tuple[object, ...]) -> Signature:
    """A signature as it was kept; queues that were installed together mostly share one."""
    plain = Signature._make(values)
    return plain._replace(changeagent=Cvda(plain.changeagent), installagent=Cvda(plain.installagent))


# -- what others know of this region ----------------------------------------------------------------------------------


def kept_over_cold_start(region: Region) -> dict[bytes, bytes]:
    """What a cold start keeps for resynchronisation with others: decisions, and which ids were given.

    With it goes a mark that the start is under way: one that is killed is made again by the next start, whatever that
    would have been, and what is kept stays kept.
    """
    found = {key: value for prefix in _KEPT for key, value in region.store.durable.metas(prefix)}
    return {**found, _COLD: b""}


def kept_over_initial_start(region: Region) -> dict[bytes, bytes]:
    """What an initial start keeps: which ids were given, so that nobody who asks later is told of another's."""
    before = region.store.durable.get_meta(_NUMBERING)
    files = dict(region.store.durable.metas(_FILES))
    return files if before is None else {**files, _NUMBERING: before}


def check_nothing_kept(region: Region) -> None:
    """A region that was never started has no records: with some, its own record is missing, as after a salvage.

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
    """Whether the last cold start was killed before it was done."""
    return region.store.durable.get_meta(_COLD) is not None


def cold_start_finished(region: Region) -> None:
    """Everything is installed: from the next commit on the region can be started warm."""
    region.hardening.note(_COLD, None)


def begin_numbering(region: Region) -> None:
    """Make sure that no unit of work gets an id of an earlier run, whatever the clock says: others may ask about it."""
    before = region.store.durable.get_meta(_NUMBERING)
    if before is not None:
        region.recovery.seen((int.from_bytes(before, "big") + _IDS_OF_A_RUN).to_bytes(len(before), "big"))
    refused = region.store.durable.room_for(len(_NUMBERING) + len(region.recovery.last_id))
    if refused:  # a full store must start too; the clock still tells the runs apart
        region.log.warning("numbering_not_recorded", reason=refused)
    else:
        region.hardening.note(_NUMBERING, region.recovery.last_id)


def begin_log(region: Region) -> None:
    """At an initial start: of units of work with ids up to now nothing is known, nor ever will be."""
    region.hardening.note(LOG_BEGAN, region.recovery.last_id)


# -- what was going on ------------------------------------------------------------------------------------------------


def give_back_reads(region: Region) -> None:
    """Put back the last record that each unfinished unit of work had read of a PHYSICAL queue, the newest first."""
    gone: dict[bytes, bytes | None] = {}
    found: dict[str, list[tuple[int, bytes]]] = {}
    for key, value in region.store.durable.metas(READS):
        gone[key] = None
        name = key[len(READS) :].partition(b"/")[0].decode()  # a name has no slash; the id behind it may have one
        found.setdefault(name, []).append((int.from_bytes(value[:8], "big"), value[8:]))
    works = []
    for name, records in found.items():
        queue = region.tdqueues.get(name)
        if isinstance(queue, IntraTdQueue) and queue.recovstatus == "PHYSICAL":
            work = queue.durable.work()
            for _, data in sorted(records, reverse=True):
                work.give_back(data)
            works.append((queue, work))
    if not gone:
        return
    region.hardening.commit([work for _, work in works], gone)
    for queue, _ in works:
        region.intra.close_queue(queue)
        region.intra.open_queue(queue)


def image_of(uow: UnitOfWork) -> bytes:
    """A prepared unit of work as it is kept: what it did to which queue, and whose it is."""
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
    text = _json(head)
    return len(text).to_bytes(4, "big") + text + b"".join(blobs)


def load_units_of_work(region: Region) -> None:
    """Indoubt units of work are there again, shunted, with their locks."""
    for key, value in list(region.store.durable.metas(_UNITS)):
        uow_id = key[len(_UNITS) :]
        try:
            size = int.from_bytes(value[:4], "big")
            head = json.loads(value[4 : 4 + size])
            _load_one(region, uow_id, head, value[4 + size :])
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(region, key, error) from error


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
        else:  # the definition was lost to damage: what others have decided, or will, cannot be done to it
            region.log.warning(
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
    for whose, image in head.get("kept", ()):
        {"ts": region.ts, "file": region.files, "starts": region.starts}[whose].restore(uow, image)
    cycle = region.tdqueues.get(head["cycle"])
    if isinstance(cycle, IntraTdQueue):
        region.ati.hold_again(uow, cycle)
    region.shunted[uow_id] = uow
    region.recovery.seen(uow_id)


def _restore(region: Region, queue: IntraTdQueue, work: LogicalWork, part: Record, written: list[bytes]) -> None:
    """Become what a prepared unit of work had done to a queue; of what it read some may be gone after a salvage."""
    reads = min(part["reads"], max(0, part["through"] - queue.gone), queue.stored.count)
    if written or part["deleted"]:
        work.left_before = queue.ci_left
    work.restore(reads, deleted=part["deleted"])
    for data in written:
        if not 0 < len(data) <= queue.ci_left:
            with suppress(Condition):  # it had its room before
                region.intra.extend(queue, len(data), None, work)
        work.adopt(data)
        queue.ci_left -= len(data)


def save_latches(region: Region) -> None:
    """At a normal end: which non-recoverable queues have a cycle on (the others' are on the store already)."""
    for queue in intra_queues(region.tdqueues):
        if queue.latched is not None and queue.recovstatus == "NO":
            region.hardening.note(_LATCHES + queue.name.encode(), queue.latched.stored())


def show_latches(region: Region) -> None:
    """For a region that only looks: the cycles that the store says are on."""
    for key, kept in region.store.durable.metas(_LATCHES):
        queue = region.tdqueues.get(key[len(_LATCHES) :].decode())
        if isinstance(queue, IntraTdQueue) and (queue.recovstatus != "NO" or region.store.closed_clean):
            queue.latched = Latch.read(queue, kept)
            region.ati.arm(queue)


def pending_triggers(region: Region) -> list[IntraTdQueue]:
    """The queues whose cycle was on when the last run ended. Recoverable queues' stay on record until it is over.

    A non-recoverable queue's are those of a normal end: after any other it is empty.
    """
    found = []
    for key, kept in list(region.store.durable.metas(_LATCHES)):
        queue = region.tdqueues.get(key[len(_LATCHES) :].decode())
        if not isinstance(queue, IntraTdQueue) or queue.recovstatus == "NO":
            region.hardening.note(key, None)
        if isinstance(queue, IntraTdQueue) and (queue.recovstatus != "NO" or region.store.closed_clean):
            queue.latched = Latch.read(queue, kept)
            found.append(queue)
    return found


def empty_intrapartition(region: Region) -> None:
    """TDINTRA=EMPTY: no records, no cycles, nothing indoubt."""
    store = region.store
    for volatile in store.volatile.queues():
        volatile.clear()
    works = []
    for durable in store.durable.queues():
        work = durable.work()
        work.clear()
        works.append(work)
    gone: Meta = {key: None for prefix in (_LATCHES, READS, _UNITS) for key, _ in store.durable.metas(prefix)}
    region.hardening.commit(works, gone)
