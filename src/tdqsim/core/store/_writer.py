"""The one open transaction of an environment: its commit, its undoing, its journal.

LMDB's commit makes everything permanent. Where there is a journal (see :mod:`~tdqsim.core.store._journal`), most
commits are
one frame of it instead, and LMDB's transaction stays open: its next commit writes the records of all queues that the
frames have changed, and the journal begins anew. To undo what came since the last commit, LMDB's transaction is dropped
and the frames are carried into a new one.
"""

from __future__ import annotations

from _thread import get_ident
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

import lmdb

from tdqsim.core.store._entry import ENTRIES, NUMBER, PIECES, RECLAIM, STATE_KEY
from tdqsim.core.store._journal import Frame, Journal, JournalView, read_journal
from tdqsim.core.store._room import COMMIT_PAGES, OPERATION, PAGES_TOUCHED, REMOVAL, SPREAD, Room, pages_of
from tdqsim.core.store._space import Space
from tdqsim.core.store._state import State
from tdqsim.errors import StoreDamaged, StoreError, StoreFull, WrongThread

__all__ = ["Touched", "Writer"]

_RECLAIM_AT_LEAST: Final = 512
"""Entries of cleared queues that a commit removes; it adds twice its own operations, so that it always catches up."""
_JOURNALED: Final = 5000
"""Keys and values that are remembered for the journal; a longer commit is LMDB's."""
_AT_ONCE: Final = 1 << 20
"""Bytes of values that one look at the tree brings."""


class Touched(Protocol):
    """What the writer must know of a queue that the open transaction has touched."""

    def record(self) -> tuple[bytes, bytes] | None:
        """Key and value of the queue's record; None when it was dropped."""

    def settle(self) -> None:
        """There was a commit: the next change is the first one again."""

    def flush(self) -> None:
        """Bring the tree up to what only the journal has."""

    def forget_moves(self) -> None:
        """The tree has it."""

    def roll_back(self, saved: Any) -> None:
        """Become what ``saved`` says the queue was when it was first touched after the last commit."""


class Writer(Room):
    """The open transaction of one environment and everything that must be undone with it.

    Attributes used on the hot path by :class:`~tdqsim.core.store._queue.StoredQueue`:
        names: the queues that are in memory, by name; ``undo`` has what was there before the last commit.
        put, pop: the transaction's own methods, or what notes the change for the journal too; before the first change
            they are starters that open a transaction. ``raw_put`` and ``raw_pop`` never note anything.
        unsettled: the queues whose records in the tree are older than the journal.
        thread: the thread that may use the environment; 0 in a forked child and after close.
        journal: where commits go that LMDB need not make; None for none.
        view: what a reader sees of the journal; None for none.
    """

    __slots__ = (
        "_logging", "_number_before", "_ops", "automatic", "dirty", "journal", "names", "pending", "pop", "put",
        "raw_pop", "raw_put", "readonly", "state", "thread", "touched", "undo", "unsettled", "view",
    )  # fmt: skip

    def __init__(self, env: Any, space: Space, state: State, place: Path, *, automatic: bool, readonly: bool) -> None:
        super().__init__(env, space, place)
        self.state = state
        self.automatic = automatic
        self.readonly = readonly
        self.thread = get_ident()
        self.touched: dict[Touched, Any] = {}
        self.pending: list[int] = []
        self.names: dict[bytes, Any] = {}
        self.undo: dict[bytes, Any] = {}
        self.dirty = False
        self.journal: Journal | None = None
        self.view: JournalView | None = None
        self._ops: list[bytes] = []
        self.unsettled: dict[Touched, Any] = {}
        self._rest()

    # -- life of a transaction ------------------------------------------------------------------------------------

    def _rest(self) -> None:
        """No transaction is open: the next change or read opens one."""
        self.txn = None
        self.put: Callable[[bytes, bytes], bool] = self._first_put
        self.pop: Callable[[bytes], bytes | None] = self._first_pop
        self._logging = False
        self._ops.clear()
        self.left = -1
        self._interval = 0
        self._spent = 0
        self._carried = False
        self._calls_ahead = 0
        self.large_pages = 0

    def _first_put(self, key: bytes, value: bytes) -> bool:
        self.begin()
        return self.put(key, value)

    def _first_pop(self, key: bytes) -> bytes | None:
        self.begin()
        return self.pop(key)

    def begin(self) -> Any:
        """The open transaction, opened if there is none."""
        if self.thread != get_ident():
            self.refuse()
        if self.txn is not None:
            return self.txn
        if self.readonly:
            raise StoreError(f"{self.place}: the store is open for reading only")
        try:
            self.txn = self._env.begin(write=True)
        except lmdb.Error as error:
            raise self.broken(error) from error
        self.put = self.raw_put = self.txn.put
        self.pop = self.raw_pop = self.txn.pop
        self._number_before = self.state.next_number
        if self.journal is not None:
            self._log()
        if not self._carried:
            self._measure()
        return self.txn

    def _measure(self) -> None:
        """Read from LMDB how large file and tree were when the open transaction began, and how large the tree is."""
        self._carried = False
        self._used = int(self._env.info()["last_pgno"]) + 1
        self._before = pages_of(self._env.stat())
        self._high = max(self._before, pages_of(self.txn.stat()))

    def _log(self) -> None:
        """From now on note each change for the journal."""
        put, pop, note = self.raw_put, self.raw_pop, self._ops.append

        def noted_put(key: bytes, value: bytes) -> bool:
            note(key)
            note(value)
            return put(key, value)  # type: ignore[no-any-return]

        def noted_pop(key: bytes) -> bytes | None:
            note(key)
            note(b"")
            return pop(key)  # type: ignore[no-any-return]

        self.put, self.pop = noted_put, noted_pop
        self._logging = True

    def _stop_logging(self) -> None:
        """What has happened since the last commit is not for the journal: LMDB will commit it."""
        self._logging = False
        self._ops.clear()
        self.put, self.pop = self.raw_put, self.raw_pop

    def note(self, key: bytes, value: bytes) -> None:
        """Note a record that was put with the transaction's own method."""
        if self._logging:
            self._ops += key, value

    def touch(self, queue: Touched, saved: Any) -> None:
        """Remember what a queue was before its first change since the last commit."""
        if self.readonly:
            raise StoreError(f"{self.place}: the store is open for reading only")
        self.begin()
        self.touched.setdefault(queue, saved)
        self.dirty = True

    def room_for(self, cost: int = 0, margin: int = 0) -> Any:
        """The transaction for a change off the hot path, with room for it; ``margin`` as for :meth:`refill`."""
        if self.readonly:
            raise StoreError(f"{self.place}: the store is open for reading only")
        if self.thread != get_ident():
            self.refuse()
        left = self.left - OPERATION - cost
        self.left = left if left >= 0 else self.refill(OPERATION + cost, margin)
        self.dirty = True
        return self.begin()

    def change(self, cost: int = 0, margin: int = 0) -> Any:
        """The transaction for a change that is not for the journal, with room for it."""
        txn = self.room_for(cost, margin)
        if self._logging:
            self._stop_logging()
        return txn

    def refill(self, cost: int, margin: int = 0) -> int:
        """A new interval: see :class:`Room`. Much has happened since the last: too much for the journal, perhaps."""
        if len(self._ops) > _JOURNALED:
            self._stop_logging()
        for queue in self.unsettled:  # the tree is going to be measured
            queue.flush()
        return super().refill(cost, margin)

    def commit(self) -> None:
        """Make everything since the last commit permanent; nothing is done when nothing has changed."""
        if self.thread != get_ident():
            self.refuse()
        if not self.dirty:
            return
        if self.fault is not None:
            self.fault("before_commit")
        short = self._logging and self._ops and not self.tight and not self.pending
        if not (short and self._append()):
            self._commit_tree()
        if self.fault is not None:
            self.fault("after_commit")

    def _append(self) -> bool:
        """Commit by a frame of the journal; False when there is no room in it."""
        changes = self._ops
        for queue in self.touched:
            record = queue.record()
            if record is not None:
                changes += record
        if self.fault is not None:
            self.fault("before_log")
        if not self.journal.append(changes):  # type: ignore[union-attr]
            return False
        if self.fault is not None:
            self.fault("after_log")
        self.unsettled.update(self.touched)
        changes.clear()
        self._begin_anew()
        return True

    def _begin_anew(self) -> None:
        """Everything is committed, or undone: the next change is the first one again."""
        for queue in self.touched:
            queue.settle()
        self.touched.clear()
        self.undo.clear()
        self.dirty = False
        self._released = self._released_calls = 0

    def _commit_tree(self) -> None:
        """Commit by LMDB."""
        txn = self.begin()
        ops = self._spent_now() // OPERATION
        try:
            if self.pending:
                self._reclaim(_RECLAIM_AT_LEAST + 2 * ops)
            self._write_records(txn)
            carry = self._left_to_carry(ops)
            after = 0 if carry else pages_of(txn.stat())
            txn.commit()
        except lmdb.Error as error:
            self._undo()
            raise self.broken(error) from error
        taken = min(self._before, ops * PAGES_TOUCHED) + max(0, self._before - after) + self.large_pages
        older = self._recent[1] if self._recent else self._used
        self._recent = None if carry else (older, taken + COMMIT_PAGES)
        self._end()
        if carry:
            self.left = self._interval = carry
            self._carried = True

    def _write_records(self, txn: Any) -> None:
        """Put what a commit needs beside the changes: the records of queues, and the state record."""
        for queue in {**self.unsettled, **self.touched}:
            queue.flush()
            record = queue.record()
            if record is not None:
                txn.put(*record)
        self.state.txnid = txn.id()
        txn.put(STATE_KEY, self.state.pack())

    def _left_to_carry(self, ops: int) -> int:
        """What is left of the interval for the next transaction, so that small ones need no measuring; 0 for none.

        The commit is charged with the pages it copies and writes: the next transaction copies them again.
        """
        if self.automatic or self.inline < 0:
            return 0
        pages = COMMIT_PAGES + min(self._before + COMMIT_PAGES, ops * PAGES_TOUCHED)
        return max(0, self.left - int(pages * self.space.page_size / SPREAD))

    def _end(self) -> None:
        """LMDB has committed."""
        self._begin_anew()
        self.unsettled.clear()
        if self.journal is not None:
            self.journal.begin(self.state.txnid)
        self._rest()

    @property
    def _behind(self) -> bool:
        """Whether the journal has commits that LMDB has not made."""
        return self.journal is not None and self.journal.used

    def settle(self) -> bool:
        """Let LMDB commit what the journal has, so that pages it has freed may be used again.

        Nothing is done, and False returned, when there is nothing, or in the midst of changes.
        """
        if self.dirty or not self._behind:
            return False
        self._commit_tree()
        self.begin()
        if self._carried:
            self._measure()
        return True

    def renew(self) -> None:
        """Two small commits, so that what was freed before them may be used again; nothing is changed just now."""
        for _ in range(2):
            self._write_records(self.txn)
            self.txn.commit()
            self._end()
            self.begin()

    def _restore_names(self) -> None:
        for name, queue in self.undo.items():
            if queue is None:
                self.names.pop(name, None)
            else:
                self.names[name] = queue

    def abort(self) -> None:
        """Undo everything since the last commit, in memory too."""
        if self.thread != get_ident():
            self.refuse()
        if self.dirty or not self._behind:
            self._undo()

    def _undo(self) -> None:
        if self.txn is not None:
            self.txn.abort()
        dirty = self.dirty
        self._rest()
        if dirty:
            self.state.next_number = self._number_before
        if self._behind:
            self._replay()
        for queue in self.unsettled:
            queue.forget_moves()
        if dirty:
            self.pending = self.reclaimable()
            self._restore_names()
            for queue, saved in self.touched.items():
                queue.roll_back(saved)
        self._begin_anew()

    def _replay(self) -> None:
        """Carry what the journal has into a new transaction; where that fails, only opening the store anew helps."""
        assert self.journal is not None, self.place
        try:
            txn = self.begin()
            for frame in self.journal.frames(self.place, self.state.store_id):
                self._carry_in(txn, frame)
        except (lmdb.Error, StoreError) as error:
            self.close()
            raise StoreError(f"{self.place}: what was committed cannot be read back; open the store anew") from error

    def _carry_in(self, txn: Any, frame: Frame) -> None:
        for key, value in frame:
            if value is None:
                txn.delete(key)
            else:
                txn.put(key, value)
        self._spent += OPERATION * len(frame)

    def recover(self) -> None:
        """Carry what the last process left in the journal into the tree.

        Raises:
            StoreDamaged: the journal is not what was written.
            StoreFull: there is no room.
        """
        if self.state.clean:
            return
        frames = read_journal(self.place, self.state.store_id, self.state.txnid)
        for frame in frames:
            for _, value in frame:
                self.change(len(value or b""), REMOVAL)
            self._carry_in(self.txn, frame)
        if frames:
            self._commit_tree()

    def close(self) -> None:
        """Drop the open transaction and let nobody in any more."""
        if self.txn is not None:
            self.txn.abort()
        self.touched.clear()
        self.unsettled.clear()
        self._rest()
        if self.journal is not None:
            self.journal.close()
        self.thread = 0

    # -- internal numbers -----------------------------------------------------------------------------------------

    def next_number(self) -> int:
        """A number that no queue of this environment ever had."""
        number = self.state.next_number
        self.state.next_number = number + 1
        return number

    def reclaim_later(self, number: int) -> None:
        """What lies under a number is no longer anybody's: later commits remove it, some at a time."""
        self.put(RECLAIM + NUMBER.pack(number), b"")
        self.pending.append(number)

    def reclaimable(self) -> list[int]:
        """The numbers whose entries are still to be removed."""
        found: list[int] = []
        while True:
            start = RECLAIM + NUMBER.pack(found[-1] + 1) if found else RECLAIM
            batch = self.scan(start, ENTRIES, 1000)
            if not batch:
                return found
            found += [NUMBER.unpack(key[1:])[0] for key, _ in batch]

    def _reclaim(self, limit: int) -> None:
        while self.pending and limit > 0:
            number = self.pending[0]
            for base in (number, number | PIECES):
                limit -= self.remove(NUMBER.pack(base), NUMBER.pack(base + 1), limit)
            if limit > 0:
                self.txn.delete(RECLAIM + NUMBER.pack(number))
                del self.pending[0]

    def remove(self, start: bytes, stop: bytes, limit: int) -> int:
        """Remove records with ``start`` <= key < ``stop`` from the tree, so many at most; how many there were."""
        removed = 0
        with self.begin().cursor() as cursor:
            here = limit > 0 and cursor.set_range(start)
            while here and removed < limit and cursor.key() < stop:
                try:
                    here = cursor.delete()
                except SystemError as error:  # how the binding says that LMDB has found damage behind what it deleted
                    raise lmdb.CorruptedError(str(error.__cause__ or error)) from error
                removed += 1
        return removed

    # -- errors ---------------------------------------------------------------------------------------------------

    def refuse(self) -> NoReturn:
        """Say why this caller may not use the environment."""
        if self.thread == 0:
            raise StoreError(f"{self.place}: the store is closed")
        if self.thread < 0:
            raise WrongThread(f"{self.place}: the store was opened before this process was forked; open it anew")
        raise WrongThread(f"{self.place}: the store is used from another thread than the one that opened it")

    def broken(self, error: Exception) -> StoreError:
        """LMDB's error as one of ours."""
        if isinstance(error, lmdb.MapFullError | lmdb.DiskError) or "No space left" in str(error):
            return StoreFull(f"{self.place}: {error}; the changes since the last commit were undone")
        return StoreDamaged(f"{self.place}: LMDB says {error}; see `tdq store check` and `tdq store salvage`")

    # -- reading --------------------------------------------------------------------------------------------------

    def get(self, key: bytes) -> bytes | None:
        """The value under a key."""
        try:
            if not self.readonly:
                return self.begin().get(key)  # type: ignore[no-any-return]
            with self._look() as txn:
                if self.view is not None and key in self.view.changes:
                    return self.view.changes[key]
                return txn.get(key)  # type: ignore[no-any-return]
        except lmdb.Error as error:
            raise self.broken(error) from error

    def scan(self, start: bytes, stop: bytes, limit: int, *, reverse: bool = False) -> list[tuple[bytes, bytes]]:
        """Records with ``start`` <= key < ``stop`` in key order or its reverse, ``limit`` or a megabyte of them."""
        try:
            if not self.readonly:
                return _scan(self.begin(), start, stop, limit, reverse)
            with self._look() as txn:
                if self.view is None or not self.view.changes:
                    return _scan(txn, start, stop, limit, reverse)
                return _scan_both(txn, self.view, start, stop, limit, reverse)
        except lmdb.Error as error:
            raise self.broken(error) from error

    def _look(self) -> Any:
        """A short transaction of a reader: it sees the last commit, and pins no pages once it is over.

        The journal is read after the transaction has begun; if LMDB has committed meanwhile, it may be of another base.
        """
        if self.thread != get_ident():
            self.refuse()
        while True:
            txn = self._env.begin()
            if self.view is None:
                return txn
            self.view.refresh(txn.id())
            if self._env.info()["last_txnid"] == txn.id():
                return txn
            txn.abort()


def _scan(txn: Any, start: bytes, stop: bytes, limit: int, reverse: bool) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    room = _AT_ONCE
    with txn.cursor() as cursor:
        here = _last_below(cursor, stop) if reverse else cursor.set_range(start)
        while here and len(found) < limit and room > 0:
            key, value = cursor.item()
            if key < start or key >= stop:
                break
            found.append((key, value))
            room -= len(value)
            here = cursor.prev() if reverse else cursor.next()
    return found


def _scan_both(
    txn: Any, view: JournalView, start: bytes, stop: bytes, limit: int, reverse: bool
) -> list[tuple[bytes, bytes]]:
    """What :func:`_scan` would find if the journal were in the tree."""
    while True:
        found = _scan(txn, start, stop, limit, reverse)
        last = (
            found[-1][0] if found and (len(found) == limit or sum(len(item[1]) for item in found) >= _AT_ONCE) else None
        )
        low, high = (start, stop) if last is None else (last, stop) if reverse else (start, last + b"\0")
        keys = view.keys
        there = dict(found)
        for key in keys[bisect_left(keys, low) : bisect_left(keys, high)]:
            value = view.changes[key]
            if value is None:
                there.pop(key, None)
            else:
                there[key] = value
        if there or last is None:
            return sorted(there.items(), reverse=reverse)[:limit]
        start, stop = (start, last) if reverse else (last + b"\0", stop)


def _last_below(cursor: Any, stop: bytes) -> bool:
    return bool(cursor.prev() if cursor.set_range(stop) else cursor.last())
