"""An environment: named queues and meta data that are committed together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import MethodType
from typing import Any, Final

import lmdb

from tdqsim.core.store._entry import MAX_KEY, MAX_NAME, META, QUEUE, RECLAIM, Order, queue_facts, seal, unseal
from tdqsim.core.store._meta import damaged
from tdqsim.core.store._moves import Moves, commit_moves
from tdqsim.core.store._queue import StoredQueue
from tdqsim.core.store._room import REMOVAL
from tdqsim.core.store._state import State
from tdqsim.core.store._writer import Writer
from tdqsim.errors import StoreDamaged, StoreError, StoreFull

__all__ = ["Environment"]

_BATCH: Final = 256
_WRITTEN: Final = ("data.mdb", "journal")


class Environment:
    """The queues of one half of a store.

    The durable half is committed when :meth:`commit` is called; the volatile one also commits itself about every
    thousand operations. In a store that is open for reading only, every call sees the last commit there is.

    Some methods are the writer's own, since they are called for each recoverable request:

    ``commit()``
        Make all changes since the last commit permanent, together; nothing is done when there are none. The durable
        environment's commit survives SIGKILL, and with durability ``power`` it is synced.
    ``commit_moves(moves)``
        Take from some queues, put on others and commit in one: see :func:`~tdqsim.core.store._moves.commit_moves`.
    ``reserve(nbytes)``
        Hold room for one later put of up to ``nbytes`` of data, key and sender. Until it is released, nobody else's
        changes can take that room. Release it just before the put, then neither the put nor the commit can meet
        StoreFull: what is released is kept for puts until the next commit or abort. StoreFull, and nothing is changed,
        when there is no room.
    ``release(nbytes, puts=1)``
        Give back the room that ``reserve`` holds for so many puts; ValueError when so much is not reserved.
    """

    __slots__ = ("_env", "_pen", "_queues", "commit", "commit_moves", "release", "reserve")

    def __init__(self, env: Any, pen: Writer) -> None:
        self._env = env
        self._pen = pen
        self._queues: dict[bytes, StoredQueue] = pen.names
        self.commit: Callable[[], None] = pen.commit
        self.commit_moves: Callable[[Collection[Moves]], bool] = MethodType(commit_moves, pen)
        self.reserve: Callable[[int], None] = pen.reserve
        self.release: Callable[..., None] = pen.release

    @property
    def fault(self) -> Callable[[str], None] | None:
        """Called with ``before_commit``, ``after_commit`` and ``grow`` at these points, for tests that break things."""
        return self._pen.fault

    @fault.setter
    def fault(self, value: Callable[[str], None] | None) -> None:
        self._pen.fault = value

    @property
    def limit_bytes(self) -> int | None:
        """A ceiling for the file; None for none. What is reserved already can be written all the same."""
        return self._pen.space.limit_bytes

    @limit_bytes.setter
    def limit_bytes(self, value: int | None) -> None:
        self._pen.space.limit_bytes = value

    @property
    def dirty(self) -> bool:
        """Whether anything has changed since the last commit."""
        return self._pen.dirty

    @property
    def path(self) -> Path:
        """The directory of the environment."""
        return self._pen.place

    @property
    def last_commit_ns(self) -> int:
        """When the environment's file was last written, in nanoseconds since 1970 UTC by the system's clock."""
        return max(file.stat().st_mtime_ns for file in self._pen.place.iterdir() if file.name in _WRITTEN)

    def age(self, now_ns: int) -> float:
        """Seconds from the last commit that a reader sees to ``now_ns``, never negative."""
        return max(0, now_ns - self.last_commit_ns) / 1e9

    def statistics(self) -> dict[str, int]:
        """Figures about the file, as of the last commit.

        ``records`` in the tree (entries, queues, meta data, what is still to be reclaimed), ``used_bytes`` of the file
        that were ever used, ``reserved_bytes`` that it has on the disk, ``page_size``.
        """
        stat, info = self._env.stat(), self._env.info()
        size = stat["psize"]
        return {
            "records": stat["entries"],
            "used_bytes": (info["last_pgno"] + 1) * size,
            "reserved_bytes": self._pen.space.pages * size,
            "page_size": size,
        }

    # -- queues ---------------------------------------------------------------------------------------------------

    def create_queue(self, name: bytes, *, order: Order = Order.FIFO, key_length: int = 0) -> StoredQueue:
        """Make an empty queue.

        Args:
            name: 1 to 480 bytes, not yet the name of a queue of this environment.
            order: in which order it hands out its entries.
            key_length: 1 to 256 for a KEYED queue, 0 for the others.

        Raises:
            ValueError: an argument is outside of what is allowed.
            StoreFull: there is no room; nothing was changed.
        """
        if not 0 < len(name) <= MAX_NAME:
            raise ValueError(f"queue name of {len(name)} bytes: it must have 1 to {MAX_NAME}")
        if (key_length not in range(1, MAX_KEY + 1)) if order is Order.KEYED else key_length:
            raise ValueError(f"queue {name!r}: key length {key_length}: 1 to {MAX_KEY} when KEYED, else 0")
        if self.queue(name) is not None:
            raise ValueError(f"queue {name!r} exists already")
        pen = self._pen
        pen.change(len(name))
        self._remember(name)
        queue = StoredQueue(pen, bytes(name), order, key_length, pen.next_number())
        queue.announce()
        self._queues[queue.name] = queue
        return queue

    def queue(self, name: bytes) -> StoredQueue | None:
        """The queue of that name; None when there is none. A writer always gets the same object."""
        queue = self._queues.get(name)
        if queue is not None:
            return queue
        if not 0 < len(name) <= MAX_NAME:
            return None
        record = self._pen.get(QUEUE + name)
        return None if record is None else self._load(bytes(name), record)

    def _load(self, name: bytes, record: bytes) -> StoredQueue:
        try:
            facts = queue_facts(name, record)
        except StoreDamaged as error:
            raise damaged(self._pen.place, str(error)) from None
        queue = StoredQueue(self._pen, name, *facts)
        if not self._pen.readonly:
            self._queues[name] = queue
        return queue

    def queues(self) -> Iterator[StoredQueue]:
        """All queues in the order of their names; queues may be created and dropped meanwhile."""
        start = QUEUE
        while batch := self._pen.scan(start, RECLAIM, _BATCH):
            for key, _ in batch:
                queue = self.queue(key[1:])
                if queue is not None:
                    yield queue
            start = batch[-1][0] + b"\0"

    def drop_queue(self, name: bytes) -> None:
        """Remove a queue and what it holds; the room is reclaimed bit by bit.

        Raises:
            StoreError: there is no such queue.
        """
        queue = self.queue(name)
        if queue is None:
            raise StoreError(f"{self._pen.place}: there is no queue {name!r}")
        txn = self._pen.change(margin=REMOVAL)
        self._remember(queue.name)
        queue.drop()
        txn.delete(QUEUE + queue.name)
        del self._queues[queue.name]

    def _remember(self, name: bytes) -> None:
        self._pen.undo.setdefault(name, self._queues.get(name))

    # -- meta data ------------------------------------------------------------------------------------------------

    def get_meta(self, key: bytes) -> bytes | None:
        """The value under a key; None when there is none; StoreDamaged when it is not what was put."""
        value = self._pen.get(META + key)
        return None if value is None else self._unsealed(META + key, value)

    def _unsealed(self, key: bytes, value: bytes) -> bytes:
        try:
            return unseal(key, value, f"the meta data {key[1:]!r}")
        except StoreDamaged as error:
            raise damaged(self._pen.place, str(error)) from None

    def put_meta(self, key: bytes, value: bytes, *, instead: bool = False) -> None:
        """Keep a value under a key of up to 480 bytes.

        Args:
            key: the key.
            value: the value.
            instead: it takes the place of an entry that was just removed, or a full store could not be opened or
                closed without it: it may have the room kept for removals, so that a full store can be emptied.

        Raises:
            ValueError: the key is too long.
            StoreFull: there is no room; nothing was changed.
        """
        if len(key) > MAX_NAME:
            raise ValueError(f"meta data key of {len(key)} bytes: at most {MAX_NAME}")
        pen = self._pen
        pen.room_for(len(key) + len(value), REMOVAL if instead else 0)
        pen.large_pages += len(value) // pen.space.page_size + 2
        try:
            pen.put(META + key, seal(META + key, value))
        except lmdb.Error as error:
            raise pen.broken(error) from error

    def delete_meta(self, key: bytes) -> None:
        """Forget a key; nothing happens when there is none."""
        self._pen.room_for(margin=REMOVAL)
        try:
            self._pen.pop(META + key)
        except lmdb.Error as error:
            raise self._pen.broken(error) from error

    def meta_items(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys that begin with ``prefix`` and their values, by key; they may change meanwhile."""
        start = META + prefix
        while batch := self._pen.scan(start, QUEUE, _BATCH):
            for key, value in batch:
                if not key.startswith(prefix, 1):
                    return
                yield key[1:], self._unsealed(key, value)
            start = batch[-1][0] + b"\0"

    # -- transactions ---------------------------------------------------------------------------------------------

    def abort(self) -> None:
        """Undo all changes since the last commit, in the queues' counts too.

        Raises:
            StoreError: the environment is the volatile one, which commits itself.
        """
        if self._pen.automatic:
            raise StoreError(f"{self._pen.place}: the volatile environment commits itself; nothing can be undone")
        self._pen.abort()

    def refusal(self, nbytes: int, *, later: bool = False) -> str:
        """Why a put of so many bytes would be refused now; empty when it would not.

        Room is looked for as the put, or with ``later`` as :meth:`reserve` would look for it, and left for others.
        """
        try:
            self._pen.look_for(nbytes, later=later)
        except StoreFull as error:
            return str(error)
        return ""

    # -- for the store --------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The state record of the last commit, and of the next."""
        return self._pen.state

    def mark(self, *, clean: bool, partner: int = 0) -> None:
        """Commit whether the environment is closed cleanly, and the other one's last commit if it is."""
        self._pen.change(margin=REMOVAL)
        self.state.clean = clean
        journal = None if clean else self._pen.journal
        self.state.journal = journal is not None
        self.state.synced = journal is not None and journal.synced
        self.state.partner = partner
        self._pen.commit()

    def empty(self, keep: Mapping[bytes, bytes] | None = None) -> None:
        """Remove everything but the meta data in ``keep``, in one commit. Queue objects become unusable."""
        pen = self._pen
        pen.abort()
        self._forget()
        txn = pen.change(margin=REMOVAL)
        txn.drop(self._env.open_db(None, txn), delete=False)
        pen.pending.clear()
        for key, value in (keep or {}).items():
            self.put_meta(key, value, instead=True)
        pen.commit()

    def _forget(self) -> None:
        for queue in self._queues.values():
            queue.disown()
        self._queues.clear()

    def disown(self) -> None:
        """In a forked child: refuse every use."""
        self._pen.thread = -1

    def sync(self) -> None:
        """Have the system write everything to the disk."""
        self._env.sync(True)

    def close(self) -> None:
        """Close the files; no call of the environment or its queues is possible afterwards."""
        self._pen.close()
        self._forget()
        self._env.close()
        self._pen.space.close()
