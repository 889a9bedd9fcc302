"""Making the state of a queue from its definition, with the records that are there for it.

What a queue that is replaced holds stays, also when its recovery changes: its records then move between memory and the
durable store, all or none, and room for them is looked for before anything changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.queues.kinds import ExtraTdQueue, IndirectTdQueue, IntraTdQueue, RemoteTdQueue, TdQueue
from tdqsim.cics.queues.parts import QueueRegion
from tdqsim.errors import StoreError, TdqError

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.core.store import Work

__all__ = ["InstallRefused", "Moves", "check_room", "make_queue", "open_initially"]


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


class Moves:
    """What becomes of records beside the making of queues, all or none: they move when RECOVSTATUS changes, or go.

    Attributes:
        works: what is to be committed, with the catalogue's entries.
    """

    __slots__ = ("_come", "_left", "_region", "works")

    def __init__(self, region: QueueRegion) -> None:
        self._region = region
        self.works: list[Work] = []
        self._come: list[Any] = []  # queues in memory that records have come to
        self._left: list[Any] = []  # and those that they leave

    def to_memory(self, durable: Any) -> Any:
        """The records of a recoverable queue go into memory."""
        volatile = self._region.store.volatile
        found = volatile.queue(durable.name) or volatile.create_queue(durable.name)
        self._come.append(found)
        for entry in durable.entries():
            found.put(entry.data)
        self.drop(durable)
        return found

    def to_store(self, volatile: Any) -> Any:
        """The records of a non-recoverable queue go to the durable store."""
        durable = self._region.store.durable
        found = durable.queue(volatile.name) or durable.create_queue(volatile.name)
        work = found.work()
        for entry in volatile.entries():
            work.put(entry.data)
        self.works.append(work)
        self.leave(volatile)
        return found

    def drop(self, durable: Any) -> None:
        """A recoverable queue goes with its records."""
        work = durable.work()
        work.drop()
        self.works.append(work)

    def leave(self, volatile: Any) -> None:
        """A queue in memory goes with its records, once all is committed."""
        self._left.append(volatile)

    def made(self) -> None:
        """All is committed. May be said again."""
        for volatile in self._left:
            self._region.store.volatile.drop(volatile)

    def forget(self) -> None:
        """It is not, and will not be."""
        for volatile in self._come:
            self._region.store.volatile.drop(volatile)


def make_queue(region: QueueRegion, definition: Any, signature: Any, moves: Moves) -> TdQueue:
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
    try:
        return IntraTdQueue(definition.name, definition, signature, _stored(region, definition, moves))
    except StoreError as error:
        raise _not_moved(definition, error) from error


def _stored(region: QueueRegion, definition: Any, moves: Moves) -> Any:
    """Where its records are: those of a queue that is replaced stay, also when its recovery changes."""
    store, name = region.store, definition.name.encode()
    durable, volatile = store.durable.queue(name), store.volatile.queue(name)
    in_memory = definition.recovstatus == "NO"
    found: Any = volatile if in_memory else durable
    other: Any = durable if in_memory else volatile
    if region.looks_at_store:
        return found if found is not None else region.nothing_stored(name, durable=not in_memory)
    if other is not None and other.count:
        return moves.to_memory(other) if in_memory else moves.to_store(other)
    if other is not None:
        (moves.drop if in_memory else moves.leave)(other)
    if found is not None:
        return found
    half: Any = store.volatile if in_memory else store.durable
    return half.create_queue(name)


def open_initially(region: QueueRegion, queue: ExtraTdQueue) -> None:
    """Open the data set of OPENTIME(INITIAL) at install; a failure leaves the queue installed and closed."""
    if not region.open_data_sets or queue.definition.opentime != "INITIAL":
        return
    assert queue.file is not None
    try:
        queue.file.open()
    except Condition as condition:
        region.log.warning("open_failed", queue=queue.name, reason=condition.detail)
