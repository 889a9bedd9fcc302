"""The one open transaction of an environment: its budget, its commit, its undoing.

LMDB loses a whole transaction when its map or the disk is full, so room is accounted here and refused before a
change. Three things make that exact enough:

* The map is only address space and always far larger than the file; what can run out is the file. It is reserved
  ahead with ``posix_fallocate``, which may happen in the middle of a transaction, unlike a change of the map.
* Every change is charged to an interval (:data:`OPERATION` bytes and its data). When the interval is used up, what
  the transaction has really taken is read from LMDB's page counts, and the next interval must fit, assuming the worst
  for it: every page it can touch copied, every leaf split, and nothing taken from LMDB's list of free pages.
* When the file cannot grow, the list of free pages is counted in. It can be relied on for single pages only, so
  from then on large entries are split into pieces that lie in tree pages.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

import lmdb

from tdqsim.core._entry import ENTRIES, INLINE, NUMBER, PIECES, RECLAIM, STATE_KEY
from tdqsim.core._space import Space
from tdqsim.core._state import State
from tdqsim.errors import StoreDamaged, StoreError, StoreFull, WrongThread

__all__ = ["OPERATION", "REMOVAL", "Touched", "Writer"]

OPERATION: Final = 2048
"""What one change is charged, beside the bytes of its data: a thousand small ones fill an interval of 2 MB."""

_FIRST_INTERVAL: Final = 128 * 1024
_LAST_INTERVAL: Final = 2 * 1024 * 1024
_PAGES_TOUCHED: Final = 10
"""The pages one change can touch at most: twice the depth of a tree that holds a hundred million entries."""
_SPREAD: Final = 3.2
"""Bytes of pages for one byte of entries: a node just over a third of a page, alone after a split, and branches."""
_COMMIT_PAGES: Final = 24
"""For the records written at commit and the list of freed pages."""
_ALL_RECENT: Final = 2**63
_NEVER: Final = 2**63
_LARGEST: Final = 80
"""Pages that the largest entry needs."""
_KEPT_BACK: Final = 8
"""Puts leave an eighth of the file to removals: a full store can always be emptied, as removing copies pages too."""
REMOVAL: Final = 90
"""The least that puts leave to removals, in pages."""
_RECLAIM_AT_LEAST: Final = 512
"""Entries of cleared queues that a commit removes; it adds twice its own operations, so that it always catches up."""


class Touched(Protocol):
    """What the writer must know of a queue that the open transaction has touched."""

    def write_record(self) -> None:
        """Put the queue's record into the transaction."""

    def settle(self) -> None:
        """The transaction is over: the next change is the first one again."""

    def roll_back(self, saved: Any) -> None:
        """Become what ``saved`` says the queue was when the transaction first touched it."""


class Writer:
    """The open transaction of one environment and everything that must be undone with it.

    Attributes used on the hot path by :class:`~tdqsim.core._queue.StoredQueue`:
        names: the queues that are in memory, by name; ``undo`` has what was there before the open transaction.
        put, pop: the transaction's own methods; before the first change they are starters that open one.
        left: what remains of the interval.
        thread: the thread that may use the environment; 0 in a forked child and after close.
        inline: data up to this length takes the short way.
    """

    __slots__ = (
        "_before",
        "_began",
        "_calls",
        "_carried",
        "_env",
        "_escalation",
        "_high",
        "_interval",
        "_number_before",
        "_outstanding",
        "_recent",
        "_refused",
        "_released",
        "_released_calls",
        "_spent",
        "_used",
        "automatic",
        "dirty",
        "fault",
        "inline",
        "large_pages",
        "left",
        "names",
        "pending",
        "place",
        "pop",
        "put",
        "readonly",
        "space",
        "state",
        "thread",
        "touched",
        "txn",
        "undo",
    )

    def __init__(self, env: Any, space: Space, state: State, place: Path, *, automatic: bool, readonly: bool) -> None:
        self._env = env
        self.space = space
        self.state = state
        self.place = place
        self.automatic = automatic
        self.readonly = readonly
        self.thread = get_ident()
        self.fault: Callable[[str], None] | None = None
        self.touched: dict[Touched, Any] = {}
        self.pending: list[int] = []
        self.names: dict[bytes, Any] = {}
        self.undo: dict[bytes, Any] = {}
        self.inline = INLINE
        self.large_pages = 0
        self.dirty = False
        self._outstanding = 0
        self._calls = 0
        self._escalation = _FIRST_INTERVAL
        self._recent: tuple[int, int] | None = None
        self._refused = _NEVER
        self._used = self._before = self._high = 0
        self._released = self._released_calls = 0
        self._rest()

    # -- life of a transaction ------------------------------------------------------------------------------------

    def _rest(self) -> None:
        """No transaction is open: the next change or read opens one."""
        self.txn: Any = None
        self.put: Callable[[bytes, bytes], bool] = self._first_put
        self.pop: Callable[[bytes], bytes | None] = self._first_pop
        self.left = -1
        self._interval = 0
        self._spent = 0
        self._carried = False
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
        self.put = self.txn.put
        self.pop = self.txn.pop
        self._number_before = self.state.next_number
        if not self._carried:
            self._measure()
        return self.txn

    def _measure(self) -> None:
        """Read from LMDB how large file and tree were when the open transaction began, and how large the tree is."""
        self._carried = False
        self._used = int(self._env.info()["last_pgno"]) + 1
        self._before = _pages(self._env.stat())
        self._high = max(self._before, _pages(self.txn.stat()))

    def touch(self, queue: Touched, saved: Any) -> None:
        """Remember what a queue was before the transaction's first change to it."""
        if self.readonly:
            raise StoreError(f"{self.place}: the store is open for reading only")
        self.begin()
        self.touched.setdefault(queue, saved)
        self.dirty = True

    def change(self, cost: int = 0, margin: int = 0) -> Any:
        """The transaction for a change off the hot path, with room for it; ``margin`` as for :meth:`refill`."""
        if self.readonly:
            raise StoreError(f"{self.place}: the store is open for reading only")
        if self.thread != get_ident():
            self.refuse()
        left = self.left - OPERATION - cost
        self.left = left if left >= 0 else self.refill(OPERATION + cost, margin)
        self.dirty = True
        return self.begin()

    def commit(self) -> None:
        """Make everything since the last commit permanent; nothing is done when nothing has changed."""
        if self.thread != get_ident():
            self.refuse()
        if not self.dirty:
            return
        if self.fault is not None:
            self.fault("before_commit")
        txn = self.begin()
        ops = self._spent_now() // OPERATION
        try:
            if self.pending:
                self._reclaim(_RECLAIM_AT_LEAST + 2 * ops)
            for queue in self.touched:
                queue.write_record()
            self.state.txnid = txn.id()
            self.put(STATE_KEY, self.state.pack())
            carry = self._left_to_carry(ops)
            after = 0 if carry else _pages(txn.stat())
            txn.commit()
        except lmdb.Error as error:
            self._undo()
            raise self.broken(error) from error
        taken = min(self._before, ops * _PAGES_TOUCHED) + max(0, self._before - after) + self.large_pages
        older = self._recent[1] if self._recent else self._used
        self._recent = None if carry else (older, taken + _COMMIT_PAGES)
        self._end()
        if carry:
            self.left = self._interval = carry
            self._carried = True
        if self.fault is not None:
            self.fault("after_commit")

    def _left_to_carry(self, ops: int) -> int:
        """What is left of the interval for the next transaction, so that small ones need no measuring; 0 for none.

        The commit is charged with the pages it copies and writes: the next transaction copies them again.
        """
        if self.automatic or self.inline < 0:
            return 0
        pages = _COMMIT_PAGES + min(self._before + _COMMIT_PAGES, ops * _PAGES_TOUCHED)
        return max(0, self.left - int(pages * self.space.page_size / _SPREAD))

    def _end(self) -> None:
        for queue in self.touched:
            queue.settle()
        self.touched.clear()
        self.undo.clear()
        self.dirty = False
        self._released = self._released_calls = 0
        self._rest()

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
        self._undo()

    def _undo(self) -> None:
        if self.txn is not None:
            self.txn.abort()
        dirty = self.dirty
        self._rest()
        if dirty:
            self.state.next_number = self._number_before
            self.pending = self.reclaimable()
            self._restore_names()
            for queue, saved in self.touched.items():
                queue.roll_back(saved)
        self._end()

    def close(self) -> None:
        """Drop the open transaction and let nobody in any more."""
        if self.txn is not None:
            self.txn.abort()
        self.touched.clear()
        self._rest()
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
                limit -= self._remove(NUMBER.pack(base), NUMBER.pack(base + 1), limit)
            if limit > 0:
                self.txn.delete(RECLAIM + NUMBER.pack(number))
                del self.pending[0]

    def _remove(self, start: bytes, stop: bytes, limit: int) -> int:
        removed = 0
        with self.txn.cursor() as cursor:
            here = limit > 0 and cursor.set_range(start)
            while here and removed < limit and cursor.key() < stop:
                here = cursor.delete()
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

    # -- room -----------------------------------------------------------------------------------------------------

    def refill(self, cost: int, margin: int = 0) -> int:
        """A new interval that has room for a change of ``cost``; what is left of it after the change.

        The volatile environment commits first. A change that only removes gives a ``margin`` of pages that are kept
        for it. StoreFull, and nothing changed, when there is no room.
        """
        if self.automatic and self.dirty:
            self.commit()
        self.begin()
        self._spent = self._spent_now()
        if self._carried:
            self._measure()
        self._high = max(self._high, _pages(self.txn.stat()))
        wanted = max(cost, self._escalation)
        self._escalation = min(_LAST_INTERVAL, 2 * self._escalation)
        if not (self._fits(wanted, cost) or self._fits_tightly(wanted, cost, margin) or self._fits_now(cost)):
            self.left = -1
            self._interval = 0
            raise self._full(cost)
        self.left = self._interval - cost
        return self.left

    def _spent_now(self) -> int:
        return self._spent + self._interval - max(self.left, 0) if self._interval else self._spent

    def _full(self, cost: int) -> StoreFull:
        limit = self.space.limit_bytes
        why = "the disk is full" if limit is None else f"it may have {limit} bytes"
        return StoreFull(f"{self.place}: no room for {max(0, cost - OPERATION)} bytes more: {why}; nothing was changed")

    def _need(self, interval: int, operations: int | None = None) -> int:
        """Pages of the file that the transaction may reach at the end of a coming interval, free pages not counted."""
        size = self.space.page_size
        before = self._before
        done = self._spent // OPERATION
        coming = interval // OPERATION if operations is None else operations
        grown = max(0, self._high - before) + self.large_pages
        coming = 2 * min(self._high, coming * _PAGES_TOUCHED) + int(_SPREAD * interval / size)
        fixed = _COMMIT_PAGES + _LARGEST + self._used // 256 + self.space.pages // _KEPT_BACK
        return self._used + grown + coming + fixed + self._copied(min(before, done * _PAGES_TOUCHED))

    def _copied(self, copied: int) -> int:
        """Pages for copies: those the transaction has made, and those of the changes that room is reserved for.

        A reserved change may come in a commit of its own, and what two commits free is not at once free for use: so
        three times what it touches, but never more than three times the tree.
        """
        if not self._calls:
            return copied
        data = int(_SPREAD * (self._outstanding + 512 * self._calls) / self.space.page_size)
        if self._outstanding > INLINE // 2 * self._calls:  # pages of their own count twice: in the tree, and when freed
            data += self._outstanding // self.space.page_size + 4 * self._calls
        whole = 3 * (self._high + 8)
        return data + min(copied + 3 * self._calls * (_PAGES_TOUCHED + 6), max(copied, whole))

    def _fits(self, wanted: int, cost: int) -> bool:
        """Whether the file has room, or can be made to have it, for an interval or at least for one change."""
        while True:
            need = self._need(wanted, None if wanted > cost else 1)
            if need <= self.space.pages or self._grow(need):
                self.inline = INLINE
                self._interval = wanted
                return True
            if wanted <= cost:
                return False
            wanted = max(wanted // 4, cost)

    def _grow(self, pages: int) -> bool:
        """Make the file larger. What was refused is asked for again only when there is no other way."""
        if pages >= self._refused:
            return False
        if self.fault is not None:
            self.fault("grow")
        grown = self.space.grow(pages)
        self._refused = _NEVER if grown else pages
        return grown

    def _fits_tightly(self, wanted: int, cost: int, margin: int) -> bool:
        """Whether a change of ``cost`` has room when the file cannot grow: then free pages count too."""
        self.inline = -1
        if not self.dirty and self._age_gains():
            self._age()
        return self._grant(wanted, cost, margin)

    def _fits_now(self, cost: int) -> bool:
        """The last ways to find room: the disk may have some again, or it was held for this change."""
        self._refused = _NEVER
        return self._fits(cost, cost) or self._was_reserved(cost)

    def _was_reserved(self, cost: int) -> bool:
        """Whether room for the change was held and has just been released for it: then it is there."""
        if self._released_calls < 1 or self._released < cost - OPERATION:
            return False
        self._released -= cost - OPERATION
        self._released_calls -= 1
        self._interval = cost
        return True

    def _grant(self, wanted: int, cost: int, margin: int) -> bool:
        """The largest interval there is room for."""
        room = self.space.pages + self._free_pages()
        while wanted > cost:
            if self._need(wanted) <= room:
                self._interval = wanted
                return True
            wanted = max(wanted // 4, cost)
        self._interval = cost
        kept_back = self.space.pages // _KEPT_BACK if margin else 0
        return self._need(cost, operations=1) <= room + margin + kept_back

    def _free_pages(self) -> int:
        """Pages in LMDB's list that the open transaction may use again: not those the last two commits freed."""
        recent = _ALL_RECENT if self._recent is None else sum(self._recent)
        return max(0, self._listed() - recent)

    def _listed(self) -> int:
        """About how many pages were in LMDB's list when the open transaction began, never more than there were."""
        return self._used - self._before - 6 - self._used // 256

    def _age_gains(self) -> bool:
        """Whether a good part of the free pages is only too young to be used."""
        recent = _ALL_RECENT if self._recent is None else sum(self._recent)
        return min(self._listed(), recent) > max(3 * _COMMIT_PAGES, self.space.pages // 16)

    def _age(self) -> None:
        """Two small commits, so that what was freed before them may be used again."""
        for _ in range(2):
            self.txn.put(STATE_KEY, self._aged_state())
            self.txn.commit()
            self._rest()
            self.begin()
        self._recent = (_COMMIT_PAGES, _COMMIT_PAGES)

    def _aged_state(self) -> bytes:
        self.state.txnid = self.txn.id()
        return self.state.pack()

    def reserve(self, nbytes: int) -> None:
        """Hold room for a later change of ``nbytes``; StoreFull, and nothing held, when there is none."""
        self.begin()
        if self._carried:
            self._measure()
        self._outstanding += nbytes
        self._calls += 1
        self._refused = _NEVER
        if self._has_room(max(self.left, 0) + OPERATION):
            return
        self._end_interval()  # its rest was room that had been found, not room that is needed
        if not self._has_room(OPERATION):
            self._give_back(nbytes)
            raise self._full(OPERATION + nbytes)

    def _has_room(self, interval: int) -> bool:
        """Whether an interval has room beside what is reserved, free pages counted in when the file cannot grow."""
        need = self._need(interval)
        return need <= self.space.pages or self._grow(need) or need <= self.space.pages + self._free_pages()

    def _end_interval(self) -> None:
        """Give up what is left of the interval: the next change looks for room anew."""
        self._spent = self._spent_now()
        self.left = -1
        self._interval = 0

    def release(self, nbytes: int) -> None:
        """Give back room that :meth:`reserve` holds."""
        if nbytes > self._outstanding:
            raise ValueError(f"{nbytes} bytes released, but only {self._outstanding} are reserved")
        self._released_calls += max(1, self._give_back(nbytes))
        self._released += nbytes

    def _give_back(self, nbytes: int) -> int:
        """Take bytes out of the account, and as many changes as they may have been for; return how many."""
        calls, whole = self._calls, self._outstanding
        self._outstanding -= nbytes
        self._calls = -(-calls * self._outstanding // whole) if self._outstanding else 0
        return calls - self._calls

    # -- reading --------------------------------------------------------------------------------------------------

    def get(self, key: bytes) -> bytes | None:
        """The value under a key."""
        try:
            if not self.readonly:
                return self.begin().get(key)  # type: ignore[no-any-return]
            with self._look() as txn:
                return txn.get(key)  # type: ignore[no-any-return]
        except lmdb.Error as error:
            raise self.broken(error) from error

    def scan(self, start: bytes, stop: bytes, limit: int, *, reverse: bool = False) -> list[tuple[bytes, bytes]]:
        """Records with ``start`` <= key < ``stop`` in key order or its reverse, ``limit`` or a megabyte of them."""
        try:
            if not self.readonly:
                return _scan(self.begin(), start, stop, limit, reverse)
            with self._look() as txn:
                return _scan(txn, start, stop, limit, reverse)
        except lmdb.Error as error:
            raise self.broken(error) from error

    def _look(self) -> Any:
        """A short transaction of a reader: it sees the last commit, and pins no pages once it is over."""
        if self.thread != get_ident():
            self.refuse()
        return self._env.begin()


def _pages(stat: dict[str, int]) -> int:
    return stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]


def _scan(txn: Any, start: bytes, stop: bytes, limit: int, reverse: bool) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    room = 1 << 20
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


def _last_below(cursor: Any, stop: bytes) -> bool:
    return bool(cursor.prev() if cursor.set_range(stop) else cursor.last())
