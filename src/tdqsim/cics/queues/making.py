"""Making the state of a queue from its definition, with the records that are there for it.

What a queue that is replaced holds stays, also when its recovery changes: its records then move between memory and the
durable store, all or none, and room for them is looked for before anything changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.queues.kinds import ExtraTdQueue, IndirectTdQueue, IntraTdQueue, RemoteTdQueue, TdQueue
from tdqsim.cics.queues.parts import QueueRegion
from tdqsim.cics.uow.unit import READS
from tdqsim.errors import StoreError, TdqError

if TYPE_CHECKING:
    from tdqsim import definitions as defs

__all__ = ["InstallRefused", "check_room", "drop_records", "make_queue", "open_initially"]


class InstallRefused(TdqError):
    """A queue, file, terminal or connection cannot be installed; nothing has changed.

    Attributes:
        queue: its name.
        message: the id of CICS's message about it; empty when none is known.
    """

    def __init__(self, queue: str, reason: str, message: str = "", kind: str = "TDQUEUE") -> None:
        self.queue = queue
        self.message = message
        super().__init__(f"{kind}({queue}): {f'{message} ' if message else ''}{reason}")


def check_room(region: QueueRegion, definition: defs.Tdqueue, held: int = 0) -> int:
    """Whether there is room for the records that move because RECOVSTATUS changes.

    Args:
        region: where.
        definition: what is to be installed.
        held: bytes that others need which are installed with it.

    Returns:
        How many bytes they need in the durable store.

    Raises:
        InstallRefused: there is no room, or they cannot be read.
    """
    present = region.tdqueues.get(definition.name)
    if not isinstance(present, IntraTdQueue) or definition.type_in(region.sysid) != "INTRA":
        return 0
    recovstatus: str = getattr(definition, "recovstatus", "NO")
    if (present.recovstatus == "NO") is (recovstatus == "NO"):
        return 0
    try:
        size = sum(len(entry.data) for entry in present.stored.entries())
        if present.recovstatus != "NO":
            return 0
        refused = region.store.durable.room_for(held + size) if size else ""
    except StoreError as error:
        refused = str(error)
    if refused:
        raise _not_moved(definition, refused)
    return size


def _not_moved(definition: defs.Tdqueue, why: object) -> InstallRefused:
    return InstallRefused(definition.name, f"its records cannot be kept when its recovery changes: {why}")


def make_queue(region: QueueRegion, definition: Any, signature: Any, present: TdQueue | None = None) -> TdQueue:
    """The state of a queue, with the records that are there for it; it is not put in yet."""
    kind = definition.type_in(region.sysid)
    if kind == "REMOTE":
        return RemoteTdQueue(definition.name, definition, signature)
    if kind == "INDIRECT":
        return IndirectTdQueue(definition.name, definition, signature)
    if kind == "EXTRA":
        queue = ExtraTdQueue(definition.name, definition, signature)
        queue.file = region.data_set(queue)
        return queue
    assert kind == "INTRA", definition
    return _make_intra(region, definition, signature, present)


def _make_intra(region: QueueRegion, definition: Any, signature: Any, present: TdQueue | None) -> IntraTdQueue:
    stored = _stored(region, definition)
    if isinstance(present, IntraTdQueue):
        region.intra.close_queue(present)
    queue = IntraTdQueue(definition.name, definition, signature, stored)
    region.intra.open_queue(queue)
    region.ati.arm(queue)
    return queue


def _stored(region: QueueRegion, definition: Any) -> Any:
    """Where its records are: those of a queue that is replaced stay, also when its recovery changes."""
    store, name = region.store, definition.name.encode()
    durable, volatile = store.durable.queue(name), store.volatile.queue(name)
    found: Any
    other: Any
    found, other = (volatile, durable) if definition.recovstatus == "NO" else (durable, volatile)
    if region.looks_at_store:
        return found if found is not None else region.nothing_stored(name, durable=definition.recovstatus != "NO")
    if other is not None and other.count:
        try:
            return _to_memory(region, durable) if definition.recovstatus == "NO" else _to_store(region, volatile)
        except StoreError as error:
            raise _not_moved(definition, error) from error
    if other is not None:
        wrong: Any = store.durable if definition.recovstatus == "NO" else store.volatile
        wrong.drop(other)
    if found is not None:
        return found
    half: Any = store.volatile if definition.recovstatus == "NO" else store.durable
    return half.create_queue(name)


def _to_memory(region: QueueRegion, durable: Any) -> Any:
    """The records of a recoverable queue go into memory."""
    volatile = region.store.volatile
    found = volatile.queue(durable.name) or volatile.create_queue(durable.name)
    try:
        for entry in durable.entries():
            found.put(entry.data)
        work = durable.work()
        work.drop()
        region.hardening.commit((work,))
    except BaseException:
        volatile.drop(found)
        raise
    return found


def _to_store(region: QueueRegion, volatile: Any) -> Any:
    """The records of a non-recoverable queue go to the durable store."""
    durable = region.store.durable
    found = durable.queue(volatile.name) or durable.create_queue(volatile.name)
    work = found.work()
    for entry in volatile.entries():
        work.put(entry.data)
    region.hardening.commit((work,))
    region.store.volatile.drop(volatile)
    return found


def open_initially(region: QueueRegion, queue: ExtraTdQueue) -> None:
    """Open the data set of OPENTIME(INITIAL) at install; a failure leaves the queue installed and closed."""
    if not region.open_data_sets or queue.definition.opentime != "INITIAL":
        return
    assert queue.file is not None
    try:
        queue.file.open()
    except Condition as condition:
        region.log.warning("open_failed", queue=queue.name, reason=condition.detail)


def drop_records(region: QueueRegion, queue: IntraTdQueue) -> None:
    """A queue goes away: so do its records, and what the store knows of it, with what was noted of that."""
    region.ati.gone(queue)
    region.intra.close_queue(queue)
    if queue.recovstatus == "NO":
        region.store.volatile.drop(queue.stored)
        return
    work = queue.stored.work()
    work.drop()
    reads = region.hardening.metas(READS + queue.name.encode() + b"/")
    region.hardening.commit((work,), {key: None for key, _ in reads})
