"""Making the state of a queue from its definition, with the records that are there for it.

What a queue that is replaced holds stays, also when its recovery changes: its records then move from one half of the
store to the other, for which the room is looked for before anything changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.queues.kinds import ExtraQueue, IndirectQueue, IntraQueue, RemoteQueue, TdQueue
from tdqsim.cics.queues.parts import QueueRegion
from tdqsim.cics.uow.locks import READ_END, WRITE_END, Lock
from tdqsim.core.dispatch import WaitQueue
from tdqsim.core.store import StoredQueue
from tdqsim.errors import StoreError, TdqError

if TYPE_CHECKING:
    from tdqsim import definitions as defs

__all__ = ["InstallRefused", "drop_records", "hold_room", "make_queue", "open_initially"]


class InstallRefused(TdqError):
    """A queue cannot be installed; nothing has changed.

    Attributes:
        queue: its name.
        message: the id of CICS's message about it; empty when none is known.
    """

    def __init__(self, queue: str, reason: str, message: str = "") -> None:
        self.queue = queue
        self.message = message
        super().__init__(f"TDQUEUE({queue}): {f'{message} ' if message else ''}{reason}")


def _moves(region: QueueRegion, definition: defs.Tdqueue) -> IntraQueue | None:
    """The queue whose records go to the other half of the store when it is replaced; None when none do."""
    present = region.tdqueues.get(definition.name)
    if not isinstance(present, IntraQueue) or definition.type_in(region.sysid) != "INTRA":
        return None
    recovstatus = getattr(definition, "recovstatus", "NO")
    return present if (present.recovstatus == "NO") is not (recovstatus == "NO") else None


def hold_room(region: QueueRegion, definition: defs.Tdqueue) -> Callable[[], None]:
    """Hold the room that records need which move because RECOVSTATUS changes.

    Returns:
        What gives it back, before they move or when they do not.

    Raises:
        InstallRefused: there is no room, or they cannot be read.
    """
    moving = _moves(region, definition)
    if moving is None:
        return _nothing_held
    half = region.store.durable if moving.recovstatus == "NO" else region.store.volatile
    sizes: list[int] = []

    def give_back() -> None:
        half.release(sum(sizes), len(sizes))

    try:
        for entry in moving.stored.entries():
            half.reserve(len(entry.data))
            sizes.append(len(entry.data))
    except StoreError as error:
        give_back()
        raise _not_moved(definition, error) from error
    return give_back


def _nothing_held() -> None:
    """No room was needed: there is nothing to give back."""


def _not_moved(definition: defs.Tdqueue, error: StoreError) -> InstallRefused:
    return InstallRefused(definition.name, f"its records cannot be kept when its recovery changes: {error}")


def make_queue(
    region: QueueRegion, definition: defs.Tdqueue, signature: Any, present: TdQueue | None = None
) -> TdQueue:
    """The state of a queue, with the records that are there for it; it is not put in yet."""
    kind = definition.type_in(region.sysid)
    if kind == "REMOTE":
        return RemoteQueue(definition.name, definition, signature)
    if kind == "INDIRECT":
        return IndirectQueue(definition.name, definition, signature)
    if kind == "EXTRA":
        queue = ExtraQueue(definition.name, definition, signature)
        queue.file = region.data_set(queue)
        return queue
    assert kind == "INTRA", definition
    return _make_intra(region, definition, signature, present)


def _make_intra(region: QueueRegion, definition: Any, signature: Any, present: TdQueue | None) -> IntraQueue:
    stored = _stored(region, definition)
    if isinstance(present, IntraQueue):
        region.intra.close_queue(present)
    queue = IntraQueue(definition.name, definition, signature, stored)
    region.intra.open_queue(queue)
    if definition.recovstatus == "LOGICAL":
        queue.read_end, queue.write_end = Lock(queue, READ_END), Lock(queue, WRITE_END)
        queue.td_read = WaitQueue(f"TD_READ {queue.name}", queue.write_end.holder)
    region.ati.arm(queue)
    return queue


def _stored(region: QueueRegion, definition: Any) -> StoredQueue:
    """Where its records are: those of a queue that is replaced stay, also when its recovery changes."""
    store, name = region.store, definition.name.encode()
    recoverable = definition.recovstatus != "NO"
    right, wrong = (store.durable, store.volatile) if recoverable else (store.volatile, store.durable)
    found = right.queue(name)
    if region.looks_at_store:
        return found if found is not None else region.nothing_stored(name)
    stored = found if found is not None else right.create_queue(name)
    other = wrong.queue(name)
    if other is not None:
        try:
            _move(other.entries(), stored)
        except StoreError as error:  # the room was looked for, but what is held for it may be less than it takes
            if found is None:
                right.drop_queue(name)
            raise _not_moved(definition, error) from error
        wrong.drop_queue(name)
    return stored


def _move(entries: Iterable[object], stored: StoredQueue) -> None:
    for entry in entries:
        stored.put(entry.data, seq=max(entry.seq, stored.last_seq + 1))  # type: ignore[attr-defined]


def open_initially(region: QueueRegion, queue: ExtraQueue) -> None:
    """Open the data set of OPENTIME(INITIAL) at install; a failure leaves the queue installed and closed."""
    if not region.open_data_sets or queue.definition.opentime != "INITIAL":
        return
    assert queue.file is not None
    try:
        queue.file.open()
    except Condition as condition:
        region.log.warning("open_failed", queue=queue.name, reason=condition.detail)


def drop_records(region: QueueRegion, queue: IntraQueue) -> None:
    """A queue goes away: so do its records, and what the store knows of it."""
    region.ati.gone(queue)
    region.intra.close_queue(queue)
    region.forget_last_reads(queue)
    half = region.store.volatile if queue.recovstatus == "NO" else region.store.durable
    half.drop_queue(queue.name.encode())
