"""Queues and meta data in one LMDB file, and the one place where anything in it changes: :meth:`Durable.commit`.

The file changes first, then memory. Changes to a queue are collected in a :class:`~tdqsim.core.store._work.Work`, which
itself changes nothing. A commit opens a transaction, lets each work apply itself to it and compute its queue's new
standing, notes the transaction's number, and commits. Then it *settles*: if it is not certain whether the transaction
was committed, it ends the transaction and asks LMDB for the number of the last one. If that shows the commit, every
queue gets its new standing and the owner is notified; otherwise nothing has changed. Settling may be repeated. After an
exception at any line (an interrupt, no memory, no stack) ``in_doubt`` stays set until the commit is settled, and every
operation settles first.

Owners that share a commit append a :class:`CommitRequest` to ``waiting``; the next commit of any owner includes all of
them. Settling also ends the requests: all were made, or all were refused with the same error. After an exception that
is not an error of the store, they stay pending and are included in the next commit.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar

import lmdb

from tdqsim.core.store import _layout as layout
from tdqsim.core.store._layout import Head, Item, Long, Order, Standing
from tdqsim.core.store._lmdb import StoreTransaction
from tdqsim.core.store._queue import DurableQueue
from tdqsim.core.store._room import Room
from tdqsim.core.store._work import NOT_AHEAD, Work
from tdqsim.errors import STORE_HELP, StoreDamaged, StoreError, StoreFull, WrongValue

NOTHING: Final[Mapping[bytes, bytes | None]] = MappingProxyType({})
DAMAGE: Final = (lmdb.CorruptedError, lmdb.InvalidError, lmdb.PageNotFoundError, lmdb.VersionMismatchError)
"""LMDB's errors about a damaged file; all its other errors come from the operating system."""
NONE: Final = Standing()
_EIO: Final = os.strerror(errno.EIO)
T = TypeVar("T")
_LOOKS: Final = 100
_BATCH: Final = 256
_RECLAIMED: Final = 16
"""Entries of cleared queues that each commit removes."""
_SCAVENGED: Final = 4096
"""Entries of cleared queues that a commit removes when it is made only to free room."""


class CommitOwner(Protocol):
    """The owner of a commit, which is notified when the commit is settled."""

    def committed(self) -> None:
        """Called after the commit, maybe more than once; must consist of assignments only."""


class CommitRequest:
    """Changes that the next commit of any owner includes.

    Attributes:
        works, meta, owner: see :meth:`Durable.commit`.
        pending: whether no commit has made or refused it yet. Its owner withdraws the request by setting this to False.
        error: why the commit that included it was refused; None if none was.
    """

    __slots__ = ("error", "meta", "owner", "pending", "works")

    def __init__(self, works: Collection[Work], meta: Mapping[bytes, bytes | None], owner: CommitOwner) -> None:
        self.works = works
        self.meta = meta
        self.owner = owner
        self.pending = True
        self.error: StoreError | None = None


class Durable:
    """The queues and the meta data of one file.

    Attributes:
        path: the directory of the file.
        in_doubt: the works and the owner of a commit that is not settled; None for none. After an exception in a
            commit it is not yet known whether it was made.
        fault: called with ``before_commit``, ``after_commit`` and ``grow`` at these moments, for tests with failures.
        readonly: the file is only read; another process may be writing it, and every call sees its last commit.
        room: the room of the file.
        commits: how many were made, for statistics and benchmarks.
        waiting: the requests that the next commit includes.
        notes: meta data that the next commit writes, unless it has a newer value; a refused commit drops them.
            Call :meth:`settle` before you change them.
        failed: the system's answer when it could not write the file, which accepts no more changes; empty for none.
        unlocked: the file is read without LMDB's lock file, see :meth:`look`.
    """

    __slots__ = (
        "_all_known", "_env", "_error", "_fault", "_queues", "_reclaiming", "_requests", "_txn", "_txnid", "commits",
        "failed", "in_doubt", "notes", "path", "readonly", "room", "unlocked", "waiting",
    )  # fmt: skip

    def __init__(self, env: Any, path: Path, limit: int | None, *, readonly: bool, unlocked: bool) -> None:
        self.path, self.readonly, self.unlocked = path, readonly, unlocked
        self._env = env
        self.failed = ""
        nothing: Any = Gone(f"{path}: the store is open for reading only")
        self.room: Room = nothing if readonly else Room(env, path / "data.mdb", limit)
        self._queues: dict[bytes, DurableQueue] = {}
        self.waiting: list[CommitRequest] = []
        self.notes: dict[bytes, bytes | None] = {}
        self._requests: Sequence[CommitRequest] = ()
        self._error: StoreError | None = None
        self._txn: StoreTransaction | None = None
        self._txnid: int | None = None  # of the commit: 0 before its transaction has one, None when it was made
        self.in_doubt: tuple[Collection[Work], CommitOwner | None] | None = None
        self.commits = 0
        self._reclaiming, self._all_known = True, False
        self._fault: Callable[[str], None] | None = None

    # -- the one place where anything changes -------------------------------------------------------------------------

    def commit(
        self,
        works: Collection[Work] = (),
        meta: Mapping[bytes, bytes | None] = NOTHING,
        owner: CommitOwner | None = None,
    ) -> None:
        """Make the changes of works, and meta data, permanent together, with the waiting requests and the notes.

        Args:
            works: changes to queues; several may be of one queue, and are applied in order.
            meta: keys of up to 480 bytes and their new values; None deletes. A commit that removes records may write
                meta data in a store that is full.
            owner: notified at the moment when the queues take their new standing.

        Raises:
            StoreFull: there is no room for the meta data; nothing was changed.
            StoreError: LMDB or the system refused; nothing was changed.
            ValueError: a meta data key is too long.
        """
        if self.in_doubt:
            self.settle()
        if self.waiting or self.notes:
            works, meta = self._include_waiting(works, meta)
        try:
            self._txnid = 0
            if meta:
                self._charge(works, meta)
            self.in_doubt = works, owner
            txn = self._txn = self._env.begin(None, None, True)
            for work in works:  # several may be of one queue
                work.apply(txn)
            if meta:
                for key, value in meta.items():
                    self._put_meta(txn, layout.META + key, value)
            if self._reclaiming:
                self._reclaim(txn, _RECLAIMED)
            if self._fault is not None:
                self._fault("before_commit")
            self._txnid = txn.id()
            txn.commit()
            self._txnid = None
            if self._fault is not None:
                self._fault("after_commit")
        except (lmdb.Error, OSError) as error:
            self._error = self.broken(error, "the commit was not made")
            raise self._error from error
        except StoreError as error:
            self.in_doubt = works, owner  # also when there was no room: an interrupted settling is repeated
            self._error = error
            raise
        finally:
            self.settle()

    def _include_waiting(
        self, works: Collection[Work], meta: Mapping[bytes, bytes | None]
    ) -> tuple[Collection[Work], Mapping[bytes, bytes | None]]:
        """Add the waiting requests and the notes to works and meta data; for a key the newest value wins."""
        self._requests = requests = [request for request in self.waiting if request.pending]
        metas = dict(self.notes)
        for request in requests:
            metas |= request.meta
        return [*(work for request in requests for work in request.works), *works], {**metas, **meta}

    def settle(self) -> None:
        """If a commit ended by an exception, find out whether it was made, and if so update memory."""
        made, doubt = False, self.in_doubt
        if doubt is not None:
            works, owner = doubt
            made = self._txnid is None or self._was_made(self._txnid)
            if made:
                for work in works:
                    work.settled()
                if owner is not None:
                    owner.committed()
                self.commits += 1
            else:
                for work in works:
                    work.queue.after = work.queue.now
        if (self.notes or self.waiting) and (made or self._error is not None):
            self._answer(None if made else self._error)
        self._error = self.in_doubt = None

    def _was_made(self, number: int) -> bool:
        """Whether the transaction with a number was committed; it is aborted if not. Number 0: it never began."""
        self._end_transaction()
        return number > 0 and self._env.info()["last_txnid"] >= number

    def _answer(self, error: StoreError | None) -> None:
        """End the requests of a commit, and drop the notes: all were written, or the commit was refused."""
        self.notes = {}
        for request in self._requests:
            if error is None:
                request.owner.committed()
            request.error, request.pending = error, False
        self.waiting = [request for request in self.waiting if request.pending]
        self._requests = ()

    def _end_transaction(self) -> None:
        """Abort the transaction, which may have ended already."""
        if self._txn is not None:
            with suppress(lmdb.Error):  # LMDB's answer when it was committed, or has failed to commit
                self._txn.abort()

    # -- room ---------------------------------------------------------------------------------------------------------

    def find_room(self, cost: int) -> None:
        """Make room for a charge, if needed by removing cleared entries; StoreFull when that is not enough."""
        refusal = self._refusal(cost)
        if refusal:
            raise StoreFull(refusal)

    def room_for(self, nbytes: int) -> str:
        """The reason why a record with this many bytes of data and sender would be refused; empty if it would not be.

        The file may grow; nothing else changes.
        """
        return self._refusal(self.room.cost(nbytes))

    def _refusal(self, cost: int) -> str:
        """Try to free room for a charge; returns the reason why there is none, or an empty string."""
        if not self.room.refusal(cost):
            return ""
        while self._reclaiming and self.room.refusal(cost):
            self._small_commit()
        self._small_commit()  # twice, since LMDB reuses the pages that a commit frees from the second one after it
        self._small_commit()
        return self.room.refusal(cost)

    def _small_commit(self) -> None:
        with self._writing() as txn:
            txn.put(layout.HEAD_KEY, self._head(txn).pack())
            self._reclaim(txn, _SCAVENGED)

    @contextmanager
    def _writing(self) -> Iterator[StoreTransaction]:
        if self.in_doubt:
            self.settle()
        try:
            with self._env.begin(write=True) as txn:
                self._txn = txn
                yield txn
        except lmdb.Error as error:
            raise self.broken(error, "the commit was not made") from error
        finally:
            self._end_transaction()  # an interrupt may come just before its end, and the traceback would keep it open

    def _charge(self, works: Collection[Work], meta: Mapping[bytes, bytes | None]) -> None:
        longest = max(map(len, meta))
        if longest > layout.MAX_NAME:
            raise WrongValue(f"meta data key of {longest} bytes: at most {layout.MAX_NAME}")
        for work in works:
            if work.reads:
                return
        kept = [len(key) + len(value) for key, value in meta.items() if value is not None]
        cost = self.room.cost(sum(kept), len(kept))
        if self.room.left < cost:
            self.find_room(cost)
        self.room.left -= cost

    # -- queues -------------------------------------------------------------------------------------------------------

    def create_queue(self, name: bytes, order: Order = Order.FIFO, key_length: int = 0) -> DurableQueue:
        """Make an empty queue. It is on the disk after the first commit of an entry.

        Args:
            name: 1 to 480 bytes, not yet the name of a durable queue.
            order: the order in which entries are taken.
            key_length: 1 to 256 for a KEYED queue, 0 for the others.

        Raises:
            ValueError: an argument is out of range.
            StoreError: the store is open for reading only.
        """
        if self.queue(name) is not None:
            raise WrongValue(f"queue {name!r} exists already")
        layout.check_queue(name, order, key_length)
        if self.readonly:
            raise self.only_read()
        queue = self._queues[bytes(name)] = DurableQueue(self, bytes(name), order, key_length)
        return queue

    def queue(self, name: bytes) -> DurableQueue | None:
        """The queue with this name, or None. Unless the file is read-only, it is the same object each time."""
        queue = self._queues.get(name)
        if queue is not None or self._all_known or not 0 < len(name) <= layout.MAX_NAME:
            return queue
        record = self.look(lambda txn: txn.get(layout.QUEUE + name))
        if record is None:
            return None
        queue = self._load(bytes(name), record)
        if not self.readonly:
            self._queues[queue.name] = queue
        return queue

    def have_queue(self, name: bytes, order: Order = Order.FIFO, key_length: int = 0) -> DurableQueue:
        """The queue with this name; if there is none, it is made as by :meth:`create_queue`."""
        return self.queue(name) or self.create_queue(name, order, key_length)

    def _load(self, name: bytes, record: bytes) -> DurableQueue:
        try:
            order, key_length, now = layout.read_queue_record(name, record)
        except StoreDamaged as error:
            raise self.damaged(str(error)) from None
        return DurableQueue(self, name, order, key_length, now)

    def queues(self) -> Iterator[DurableQueue]:
        """All queues, sorted by name; queues may be created and dropped during the iteration."""
        if not self.readonly:
            self.know_queues()
            names = set(self._queues)
        else:
            names = {name for name, _ in self._walk(layout.QUEUE, b"", _unchanged)}
        for name in sorted(names):
            queue = self.queue(name)
            if queue is not None:
                yield queue

    def know_queues(self) -> None:
        """Load all queues at once, which is faster than loading many one by one."""
        if self._all_known or self.readonly:
            return
        for name, record in self._walk(layout.QUEUE, b"", _unchanged):
            if name not in self._queues:
                self._queues[name] = self._load(name, record)
        self._all_known = True

    def drop(self, queue: DurableQueue) -> None:
        """Remove a queue with its entries, in a separate commit; later commits reclaim the room bit by bit."""
        work = queue.work()
        work.drop()
        self.commit((work,))

    def forget(self, queue: DurableQueue) -> None:
        """Remove a dropped queue from the table, so that its name can be used again."""
        self._queues.pop(queue.name, None)

    # -- meta data ----------------------------------------------------------------------------------------------------

    def get_meta(self, key: bytes) -> bytes | None:
        """The committed value under a key, or None; StoreDamaged when it is not what was written."""
        place = layout.META + key
        return self.look(lambda txn: None if (value := txn.get(place)) is None else self._read_meta(txn, place, value))

    def metas(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """The committed keys that begin with ``prefix``, sorted, and their values; they may change meanwhile."""
        return self._walk(layout.META, prefix, self._read_meta)

    def _walk(
        self, kind: bytes, prefix: bytes, read: Callable[[StoreTransaction, bytes, bytes], T]
    ) -> Iterator[tuple[bytes, T]]:
        """Keys of a kind with a prefix, without the kind, and their values as returned by ``read``.

        Each transaction reads a batch of them.
        """
        start = kind + prefix
        beyond = (int.from_bytes(start, "big") + 1).to_bytes(len(start), "big")
        while batch := self.look(
            lambda txn, start=start: [(key[1:], read(txn, key, value)) for key, value in _some(txn, start, beyond)]  # type: ignore[misc]
        ):
            yield from batch
            start = kind + batch[-1][0] + b"\0"

    def _read_meta(self, txn: StoreTransaction, key: bytes, value: bytes) -> bytes:
        try:
            decoded = layout.decode(key, value, "")
            return decoded.data(txn.get, "") if isinstance(decoded, Long) else decoded[0]  # type: ignore[return-value]
        except StoreDamaged as error:
            raise self.damaged(f"the meta data {key[1:]!r}{error}") from None

    def _put_meta(self, txn: StoreTransaction, key: bytes, value: bytes | None) -> None:
        if value is None:
            old = txn.pop(key)
        else:
            short = len(value) <= layout.INLINE
            old = txn.replace(key, layout.encode(key, (value,)) if short else self.put_long(txn, key, value))
        if old is not None:
            self._delete_pieces_of(txn, key, old)

    # -- long records and cleared entries, for works ------------------------------------------------------------------

    def new_number(self, txn: StoreTransaction) -> int:
        """An internal number that was never used before."""
        head = self._head(txn)
        txn.put(layout.HEAD_KEY, head._replace(next_number=head.next_number + 1).pack())
        return head.next_number

    def _head(self, txn: StoreTransaction) -> Head:
        try:
            return layout.read_head(txn.get(layout.HEAD_KEY))
        except StoreDamaged as error:
            raise self.damaged(str(error)) from None

    def put_long(self, txn: StoreTransaction, key: bytes, item: Item) -> bytes:
        """Write the pieces of long data; returns the value for ``key``, which refers to them."""
        value, pieces = layout.encode_long(key, item, self.new_number(txn))
        for place, piece in pieces:
            txn.put(place, piece)
        return value

    def delete_long(self, txn: StoreTransaction, long: Long) -> None:
        """Remove long data."""
        for place in long.pieces():
            txn.delete(place)

    def _delete_pieces_of(self, txn: StoreTransaction, key: bytes, value: bytes) -> None:
        """Remove the pieces of a removed value, if the value can still be decoded."""
        if value[4:5] != layout.LONG:
            return
        try:
            decoded = layout.decode(key, value, "")
        except StoreDamaged:
            return  # its pieces stay in the file; salvage leaves them out
        if isinstance(decoded, Long):
            self.delete_long(txn, decoded)

    def reclaim_later(self, txn: StoreTransaction, number: int) -> None:
        """Have later commits remove the entries under an internal number bit by bit."""
        txn.put(layout.RECLAIM + number.to_bytes(8, "big"), b"")
        self._reclaiming = True

    def _reclaim(self, txn: StoreTransaction, most: int) -> None:
        """Remove at most ``most`` of the cleared entries."""
        cursor = txn.cursor()
        if not cursor.set_range(layout.RECLAIM) or not cursor.key().startswith(layout.RECLAIM):
            self._reclaiming = False
            return
        record = cursor.key()
        prefix = layout.entry_prefix(int.from_bytes(record[1:], "big"))
        cursor.set_range(prefix)
        for _ in range(most):
            key = cursor.key()
            if not key.startswith(prefix):
                txn.delete(record)
                return
            value = cursor.value()
            cursor.delete()
            self._delete_pieces_of(txn, key, value)
            if value[4:5] == layout.LONG:
                cursor.set_range(prefix)

    # -- reading ------------------------------------------------------------------------------------------------------

    def look(self, read: Callable[[StoreTransaction], T]) -> T:
        """Call ``read`` with a read transaction on the last commit, and return its result.

        LMDB's lock file protects the pages that a transaction reads, but using it requires write permission. Without
        it, the read is repeated if another process has made a commit meanwhile.
        """
        if self.in_doubt:
            self.settle()
        try:
            for _ in range(_LOOKS):
                with self._env.begin() as txn:
                    result = read(txn)
                    if not self.unlocked or txn.id() == self._env.info()["last_txnid"]:
                        return result
        except lmdb.Error as error:
            raise self.broken(error, "it cannot be read") from error
        raise StoreError(f"{self.path}: another process commits too often for a look without permission to write")

    def broken(self, error: lmdb.Error | OSError, what: str) -> StoreError:
        """The package's exception for an error of LMDB or of the system; it names the file."""
        if isinstance(error, lmdb.ReadonlyError):
            return self.only_read()
        place = f"{self.path / 'data.mdb'}: {what}: {error}"
        if isinstance(error, lmdb.PanicError) or _EIO in str(error):
            self.failed = place
        if isinstance(error, lmdb.MapFullError) or "No space left" in str(error):
            return StoreFull(place)
        return StoreDamaged(f"{place}; {STORE_HELP}") if isinstance(error, DAMAGE) else StoreError(place)

    def only_read(self) -> StoreError:
        """The exception for a change to a store that is open for reading only."""
        return StoreError(f"{self.path}: the store is open for reading only")

    def damaged(self, what: str) -> StoreDamaged:
        """The exception for data that is not what was written."""
        return StoreDamaged(f"{self.path}: {what}; {STORE_HELP}")

    @property
    def fault(self) -> Callable[[str], None] | None:
        """See the class."""
        return self._fault

    @fault.setter
    def fault(self, value: Callable[[str], None] | None) -> None:
        self._fault = self.room.fault = value

    @property
    def limit_bytes(self) -> int | None:
        """The maximum size of the file, or None. Room that is reserved already can still be used."""
        return self.room.limit

    @limit_bytes.setter
    def limit_bytes(self, value: int | None) -> None:
        self.room.limit = value

    def age(self, now_ns: int) -> float:
        """Seconds from the last commit, by the system's clock, to ``now_ns``; never negative."""
        return max(0, now_ns - (self.path / "data.mdb").stat().st_mtime_ns) / 1e9

    def statistics(self) -> dict[str, int]:
        """Figures about the file, as of the last commit.

        ``records``: its LMDB entries, cleared ones included; ``used_bytes``: the part of the file that was ever used;
        ``reserved_bytes``: its size on the disk; ``page_size``.
        """
        stat, info = self._env.stat(), self._env.info()
        size = stat["psize"]
        have = (self.path / "data.mdb").stat().st_size if self.readonly else self.room.have
        return {
            "records": stat["entries"],
            "used_bytes": (info["last_pgno"] + 1) * size,
            "reserved_bytes": have,
            "page_size": size,
        }

    # -- for the store ------------------------------------------------------------------------------------------------

    def check_head(self, kind: int, store_id: bytes) -> None:
        """StoreDamaged unless this file has the given kind and belongs to the given store."""
        head = self.look(self._head)
        if head.store_id != store_id:
            raise self.damaged("the file belongs to another store")
        if head.kind != kind:
            raise self.damaged("it holds the other kind of data: files were swapped")

    def mark(self, change: Callable[[Head, int], Head]) -> None:
        """Change the head record in a separate commit; ``change`` is called with the record and the commit's number."""
        with self._writing() as txn:
            txn.put(layout.HEAD_KEY, change(self._head(txn), txn.id()).pack())

    def empty(self, keep: Mapping[bytes, bytes] | None = None) -> None:
        """Replace the contents by the meta data in ``keep``, in one commit. Queue objects become empty queues."""
        self.disown_queues()
        with self._writing() as txn:
            head = self._head(txn).pack()
            txn.drop(self._env.open_db(None, txn), delete=False)
            txn.put(layout.HEAD_KEY, head)
            for key, value in (keep or {}).items():
                self._put_meta(txn, layout.META + key, value)

    def disown_queues(self) -> None:
        """Detach all queue objects from this file, and drop everything that waits for a commit."""
        queues, self._queues, self.waiting, self.notes = self._queues, {}, [], {}
        for queue in queues.values():
            queue.ahead = NOT_AHEAD
            queue.stand(NONE)

    def sync(self) -> None:
        """Have the system write everything to the disk."""
        try:
            self._env.sync(True)
        except lmdb.Error as error:
            raise self.broken(error, "it cannot be synced") from error

    def close(self) -> None:
        """Close the file; every later call raises StoreError."""
        if not isinstance(self._env, Gone):
            self.settle()
            self.disown_queues()
            self._env.close()
            self._env = Gone(f"{self.path}: the store is closed")
        if not self.readonly:
            self.room.close()

    def disown(self) -> None:
        """Called in a forked child: refuse every use, without touching the file."""
        self._env = Gone(f"{self.path}: the store belongs to the process that opened it, not to its child")


class Gone:
    """Replaces a file that may not be used any more: every access raises StoreError."""

    __slots__ = ("_why",)

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> Any:
        raise StoreError(self._why)


def _some(txn: StoreTransaction, start: bytes, beyond: bytes) -> Iterator[tuple[bytes, bytes]]:
    cursor = txn.cursor()
    batch = islice(cursor, _BATCH) if cursor.set_range(start) else ()
    return takewhile((beyond,).__gt__, batch)  # the comparison of tuples begins with the keys


def _unchanged(_txn: StoreTransaction, _key: bytes, value: bytes) -> bytes:
    return value
