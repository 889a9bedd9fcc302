"""Creating a queue from its definition, with the records that the store holds for it.

A queue that replaces another keeps its records, even if RECOVSTATUS changes: the records then move between memory and
the durable store, all or none, after a check that there is space for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.queue import ExtraTdQueue, IndirectTdQueue, IntraTdQueue, RemoteTdQueue, TdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.queues.binding import bind
from tdqsim.core.store import DurableQueue, VolatileQueue
from tdqsim.errors import StoreError, TdqError

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.kernel.signature import Signature
    from tdqsim.core.store import Work


class InstallRefused(TdqError):
    """A queue, file, terminal or connection cannot be installed; nothing has changed.

    Attributes:
        queue: its name.
        message: the ID of CICS's message about it; empty if unknown.
        reason: the reason, without the name of the resource.
    """

    def __init__(self, queue: str, reason: str, message: str = "", kind: str = "TDQUEUE") -> None:
        self.queue = queue
        self.message = message
        self.reason = reason
        super().__init__(f"{kind}({queue}): {f'{message} ' if message else ''}{reason}")


def check_room(region: RegionData, definition: defs.IntraQueue, present: IntraTdQueue, held: int) -> int:
    """Check that there is space for the records that move because RECOVSTATUS changes.

    Args:
        region: the region.
        definition: the definition to be installed.
        present: the queue that it replaces.
        held: the bytes needed by records of other queues of the same installation.

    Returns:
        The bytes that the records need in the durable store.

    Raises:
        InstallRefused: there is no space, or the records cannot be read.
    """
    if (present.recovstatus == "NO") is (definition.recovstatus == "NO"):
        return 0
    try:
        # all records are read, also if they move to memory: damage is then reported before anything has changed
        size = sum(len(entry.data) for entry in present.stored.entries())
        if present.recovstatus != "NO":  # in memory there is always space: it overflows to a file
            return 0
        refused = region.store.durable.room_for(held + size) if size else ""
    except StoreError as error:
        refused = str(error)
    if refused:
        raise _not_moved(definition, refused)
    return size


def _not_moved(definition: defs.Tdqueue, why: object) -> InstallRefused:
    return InstallRefused(definition.name, f"its records cannot be kept when its recovery changes: {why}")


class Moves:
    """The records that move or are deleted when queues are created: RECOVSTATUS changes, or a queue is replaced.

    Attributes:
        region: the region.
        works: the works to commit together with the entries of the catalogue.
        come: the queues in memory to which records were moved.
        left: the queues in memory whose records are removed after the commit.
    """

    __slots__ = ("come", "left", "region", "works")

    def __init__(self, region: RegionData) -> None:
        self.region = region
        self.works: list[Work] = []
        self.come: list[VolatileQueue] = []
        self.left: list[VolatileQueue] = []

    def to_memory(self, durable: DurableQueue) -> VolatileQueue:
        """Move the records of a recoverable queue to memory."""
        volatile = self.region.store.volatile
        target = volatile.have_queue(durable.name)
        self.come.append(target)
        for entry in durable.entries():
            target.put(entry.data)  # not part of the commit; forget() undoes it
        self.drop(durable)
        return target

    def to_store(self, volatile: VolatileQueue) -> DurableQueue:
        """Move the records of a non-recoverable queue to the durable store."""
        durable = self.region.store.durable
        target = durable.have_queue(volatile.name)
        work = target.work()
        for entry in volatile.entries():
            work.put(entry.data)
        self.works.append(work)
        self.leave(volatile)
        return target

    def drop(self, durable: DurableQueue) -> None:
        """Delete a recoverable queue with its records."""
        work = durable.work()
        work.drop()
        self.works.append(work)

    def leave(self, volatile: VolatileQueue) -> None:
        """Delete a queue in memory with its records, after the commit."""
        self.left.append(volatile)

    def made(self) -> None:
        """After the commit, remove from memory the records that were moved or deleted. May be called again."""
        for volatile in self.left:
            self.region.store.volatile.drop(volatile)

    def forget(self) -> None:
        """Undo the moves to memory, if the commit was not made."""
        for volatile in self.come:
            self.region.store.volatile.drop(volatile)


def make_queue(
    region: RegionData, definition: defs.Tdqueue, queue_type: str, signature: Signature, moves: Moves
) -> TdQueue:
    """Create a queue with its stored records; it is not installed in the directory yet.

    Args:
        region: the region.
        definition: its definition.
        queue_type: its type in this region: INTRA, EXTRA, INDIRECT or REMOTE.
        signature: its resource signature.
        moves: collects the records that must move.
    """
    name = definition.name
    queue: TdQueue
    if queue_type == "INTRA":
        intra: Any = definition
        try:
            queue = IntraTdQueue(name, intra, signature, _stored(region, intra, moves))
        except StoreError as error:
            raise _not_moved(definition, error) from error
        if region.readonly:
            queue.is_known = intra.recovstatus != "NO" or not region.looks_from_outside
    elif queue_type == "EXTRA":
        queue = data_set = ExtraTdQueue(name, cast("defs.ExtraQueue", definition), signature)
        data_set.file = region.data_sets.make(data_set)
    elif queue_type == "INDIRECT":
        queue = IndirectTdQueue(name, cast("defs.IndirectQueue", definition), signature)
    else:
        assert queue_type == "REMOTE", definition
        queue = RemoteTdQueue(name, definition, signature)
    bind(queue)
    return queue


def _stored(region: RegionData, definition: defs.IntraQueue, moves: Moves) -> VolatileQueue | DurableQueue:
    """The records of the queue, taken over from the queue that it replaces, even if RECOVSTATUS changes."""
    store, name = region.store, definition.name.encode()
    if region.looks_at_store:  # it creates and moves nothing
        seen = store.volatile.queue(name) if definition.recovstatus == "NO" else store.durable.queue(name)
        return seen or region.nothing_stored(name, durable=definition.recovstatus != "NO")
    durable = store.durable.queue(name)
    if definition.recovstatus == "NO":
        if durable is not None and durable.count:
            return moves.to_memory(durable)
        if durable is not None:  # it is empty: there is nothing to move
            moves.drop(durable)
        return store.volatile.have_queue(name)
    volatile = store.volatile.queue(name)
    if volatile is not None and volatile.count:
        return moves.to_store(volatile)
    if volatile is not None:
        moves.leave(volatile)
    return durable or store.durable.create_queue(name)


def open_initially(region: RegionData, queue: ExtraTdQueue) -> None:
    """Open the data set of OPENTIME(INITIAL) at install; a failure leaves the queue installed and closed."""
    if not region.options.open_data_sets or queue.definition.opentime != "INITIAL":
        return
    assert queue.file is not None
    try:
        queue.file.open()
    except Condition as condition:
        region.notices.say("open_failed", queue=queue.name, reason=condition.detail)
