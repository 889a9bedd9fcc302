"""Volatile queues: in memory, until together they take more than their budget.

Records that an emergency restart discards need no database. Each put record is charged to one budget of all queues.
When the budget is spent, the records in memory are counted again, and if they take too much, the largest queues
overflow to a separate file (a :class:`~tdqsim.core.store._durable.Durable` that is synced only at a clean close). So an
interrupt can make the account wrong by one record, and the next count corrects it. Writing out moves all records to the
disk; it happens at a clean close and whenever the user asks. Only records on the disk outlive the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tdqsim.core.store._durable import Durable
from tdqsim.core.store._keyed import KeyedQueue
from tdqsim.core.store._layout import Order, check_queue
from tdqsim.core.store._memory import PER_RECORD, LifoQueue, VolatileQueue
from tdqsim.core.store._opening import remove
from tdqsim.errors import StoreFull, WrongValue

_KINDS: Final = {Order.FIFO: VolatileQueue, Order.LIFO: LifoQueue, Order.KEYED: KeyedQueue}


class Volatile:
    """The volatile queues of a store.

    Attributes:
        left: the bytes that may be put before the records in memory are counted again.
        budget: the memory in bytes that records may take, counting some 64 bytes for each in addition to its data.
        path: the directory of the file to which queues overflow; it does not exist before the first overflow.
    """

    __slots__ = ("_disk", "_open", "_queues", "budget", "left", "path")

    def __init__(self, path: Path, budget: int, open_disk: Callable[[], Durable], *, there: bool) -> None:
        self.path, self.budget, self.left = path, budget, budget
        self._open = open_disk
        self._queues: dict[bytes, VolatileQueue] = {}
        self._disk = open_disk() if there else None

    # -- queues -------------------------------------------------------------------------------------------------------

    def create_queue(self, name: bytes, order: Order = Order.FIFO, key_length: int = 0) -> VolatileQueue:
        """Make an empty queue.

        Args:
            name: 1 to 480 bytes, not yet the name of a volatile queue.
            order: the order in which entries are taken.
            key_length: 1 to 256 for a KEYED queue, 0 for the others.

        Raises:
            ValueError: an argument is out of range.
        """
        check_queue(name, order, key_length)
        if self.queue(name) is not None:
            raise WrongValue(f"queue {name!r} exists already")
        return self._made(bytes(name), order, key_length)

    def _made(self, name: bytes, order: Order, key_length: int) -> VolatileQueue:
        queue = _KINDS[order](self, name, order, key_length)
        self._queues[name] = queue
        return queue

    def queue(self, name: bytes) -> VolatileQueue | None:
        """The queue with this name, or None. Unless the store is read-only, it is the same object each time."""
        queue = self._queues.get(name)
        if queue is None and self._disk is not None:
            stored = self._disk.queue(name)
            if stored is not None:
                queue = _KINDS[stored.order](self, stored.name, stored.order, stored.key_length)
                queue.on_disk(stored)
                if not self._disk.readonly:
                    self._queues[stored.name] = queue
        return queue

    def have_queue(self, name: bytes, order: Order = Order.FIFO, key_length: int = 0) -> VolatileQueue:
        """The queue with this name; if there is none, it is made as by :meth:`create_queue`."""
        return self.queue(name) or self._made(name, order, key_length)

    def know_queues(self) -> None:
        """See :meth:`~tdqsim.core.store._durable.Durable.know_queues`."""
        if self._disk is not None:
            self._disk.know_queues()

    def queues(self) -> Iterator[VolatileQueue]:
        """All queues, sorted by name; queues may be created and dropped during the iteration."""
        names = set(self._queues)
        if self._disk is not None:
            names |= {stored.name for stored in self._disk.queues()}
        for name in sorted(names):
            queue = self.queue(name)
            if queue is not None:
                yield queue

    def drop(self, queue: VolatileQueue) -> None:
        """Remove a queue with its records."""
        queue.clear()
        if self._disk is not None and (stored := self._disk.queue(queue.name)) is not None:
            self._disk.drop(stored)
        self._queues.pop(queue.name, None)

    # -- memory -------------------------------------------------------------------------------------------------------

    @property
    def disk(self) -> Durable:
        """The file to which queues overflow; it is made on first use."""
        if self._disk is None:
            self._disk = self._open()
        return self._disk

    @property
    def overflowed(self) -> bool:
        """Whether the file for overflow exists."""
        return self._disk is not None

    @property
    def failed(self) -> str:
        """The system's answer when it could not write that file, which accepts no more records; empty for none."""
        return self._disk.failed if self._disk is not None else ""

    def make_room(self) -> None:
        """Count the records in memory; if they take too much, overflow the largest queues down to half of the budget.

        Raises:
            StoreFull: there is no room on the disk, and the records in memory exceed the budget.
        """
        sizes = {queue: queue.memory_bytes() for queue in self._queues.values()}
        total = sum(sizes.values())
        self.left = self.budget - total
        if total <= self.budget * 3 // 4:
            return
        for queue in sorted(sizes, key=lambda queue: -sizes[queue]):
            if total <= self.budget // 2:
                break
            try:
                queue.overflow()
            except StoreFull:
                if total > self.budget:
                    raise
                return
            total += queue.memory_bytes() - sizes[queue]
            self.left = self.budget - total

    def room_for(self, nbytes: int) -> str:
        """The reason why a plain record of this size would be refused; empty if it would fit. Queues may overflow."""
        if self.left < nbytes + PER_RECORD:
            try:
                self.make_room()
            except StoreFull as error:
                return str(error)
        return ""

    def write_out(self) -> None:
        """Move all records to the disk; they are read back when they are taken.

        Raises:
            StoreFull: there is no room; queues that are not written out are unchanged.
        """
        for queue in self._queues.values():
            queue.write_out()

    # -- for the store ------------------------------------------------------------------------------------------------

    def discard(self) -> None:
        """Discard everything. Queue objects become empty queues that do not belong to the store."""
        queues, self._queues = self._queues, {}
        for queue in queues.values():
            queue.forget()
        (self.path / "made").unlink(missing_ok=True)  # first, so that after an interrupt the file counts as incomplete
        if self._disk is not None:
            self._disk.close()
        self._disk = None
        remove(self.path)

    def sync(self) -> None:
        """Have the system write the file to the disk."""
        if self._disk is not None:
            self._disk.sync()

    def close(self) -> None:
        """Close the file and drop the records in memory."""
        queues, self._queues = self._queues, {}
        for queue in queues.values():
            queue.forget()
        if self._disk is not None:
            self._disk.close()

    def disown(self) -> None:
        """Called in a forked child: refuse every use of the file."""
        if self._disk is not None:
            self._disk.disown()
