"""The room of one environment: found before a change, so that LMDB never meets a full file.

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

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tdqsim.core.store._entry import INLINE
from tdqsim.core.store._space import Space
from tdqsim.errors import StoreFull

__all__ = ["COMMIT_PAGES", "OPERATION", "PAGES_TOUCHED", "REMOVAL", "SPREAD", "Room", "pages_of"]

OPERATION: Final = 2048
"""What one change is charged, beside the bytes of its data: a thousand small ones fill an interval of 2 MB."""

_FIRST_INTERVAL: Final = 128 * 1024
_LAST_INTERVAL: Final = 2 * 1024 * 1024
PAGES_TOUCHED: Final = 10
"""The pages one change can touch at most: twice the depth of a tree that holds a hundred million entries."""
SPREAD: Final = 3.2
"""Bytes of pages for one byte of entries: a node just over a third of a page, alone after a split, and branches."""
COMMIT_PAGES: Final = 24
"""For the records written at commit and the list of freed pages."""
_ALL_RECENT: Final = 2**63
_NEVER: Final = 2**63
_LARGEST: Final = 80
"""Pages that the largest entry needs."""
_KEPT_BACK: Final = 8
"""Puts leave an eighth of the file to removals: a full store can always be emptied, as removing copies pages too."""
REMOVAL: Final = 90
"""The least that puts leave to removals, in pages."""
_AHEAD_CALLS: Final = 64
_AHEAD_BYTES: Final = 64 * 1024
"""Room is looked for this much ahead of what is reserved, so that not every reservation must look."""


class Room:
    """What an environment's open transaction has taken, may take, and must be kept for others.

    Attributes:
        space: the file.
        left: what remains of the interval.
        tight: the file could not be made as large as was wished: pages that are free again matter.
        inline: data up to this length takes the short way; -1 when the file cannot grow.
        large_pages: pages of their own that the open transaction has given to large data.
    """

    __slots__ = (
        "_before", "_bytes_ahead", "_calls", "_calls_ahead", "_carried", "_env", "_escalation", "_high", "_interval",
        "_outstanding", "_recent", "_refused", "_released", "_released_calls", "_spent", "_used", "fault", "inline",
        "large_pages", "left", "place", "space", "tight", "txn",
    )  # fmt: skip

    if TYPE_CHECKING:
        automatic: bool
        dirty: bool

        def begin(self) -> Any:
            """The open transaction: see the writer."""

        def commit(self) -> None:
            """Make everything permanent: see the writer."""

        def renew(self) -> None:
            """Two small commits: see the writer."""

        def settle(self) -> bool:
            """Carry the journal into the tree: see the writer."""

        def _measure(self) -> None:
            """Read from LMDB how large everything is: see the writer."""

    def __init__(self, env: Any, space: Space, place: Path) -> None:
        self._env = env
        self.space = space
        self.place = place
        self.fault: Callable[[str], None] | None = None
        self.txn: Any = None
        self.inline = INLINE
        self.tight = False
        self.large_pages = 0
        self.left = -1
        self._interval = self._spent = 0
        self._carried = False
        self._outstanding = self._calls = 0
        self._bytes_ahead = self._calls_ahead = 0
        self._escalation = _FIRST_INTERVAL
        self._recent: tuple[int, int] | None = None
        self._refused = _NEVER
        self._used = self._before = self._high = 0
        self._released = self._released_calls = 0

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
        self._high = max(self._high, pages_of(self.txn.stat()))
        self._calls_ahead = 0
        wanted = max(cost, self._escalation)
        self._escalation = min(_LAST_INTERVAL, 2 * self._escalation)
        fits = self._fits(wanted, cost) or (self.settle() and self._fits(wanted, cost))
        if not (fits or self._fits_tightly(wanted, cost, margin) or self._fits_now(cost)):
            self.left = -1
            self._interval = 0
            raise self._full(cost)
        self.left = self._interval - cost
        return self.left

    def look_for(self, nbytes: int, *, later: bool) -> None:
        """Find the room that a change of so many bytes, or a reservation, needs, and leave it; StoreFull for none."""
        if later:
            held = self._outstanding, self._calls
            self.reserve(nbytes)
            self._outstanding, self._calls = held
        elif self.left < (cost := OPERATION + nbytes):
            self.left = self.refill(cost) + cost

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
        coming = 2 * min(self._high, coming * PAGES_TOUCHED) + int(SPREAD * interval / size)
        fixed = COMMIT_PAGES + _LARGEST + self._used // 256 + self.space.pages // _KEPT_BACK
        return self._used + grown + coming + fixed + self._copied(min(before, done * PAGES_TOUCHED))

    def _copied(self, copied: int) -> int:
        """Pages for copies: those the transaction has made, and those of the changes that room is reserved for.

        A reserved change may come in a commit of its own, and what two commits free is not at once free for use: so
        three times what it touches, but never more than three times the tree.
        """
        if not self._calls:
            return copied
        data = int(SPREAD * (self._outstanding + 512 * self._calls) / self.space.page_size)
        if self._outstanding > INLINE // 2 * self._calls:  # pages of their own count twice: in the tree, and when freed
            data += self._outstanding // self.space.page_size + 4 * self._calls
        whole = 3 * (self._high + 8)
        return data + min(copied + 3 * self._calls * (PAGES_TOUCHED + 6), max(copied, whole))

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
        self.tight = not grown
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
        return min(self._listed(), recent) > max(3 * COMMIT_PAGES, self.space.pages // 16)

    def _age(self) -> None:
        self.renew()
        self._recent = (COMMIT_PAGES, COMMIT_PAGES)

    def reserve(self, nbytes: int) -> None:
        """Hold room for a later change of ``nbytes``; StoreFull, and nothing held, when there is none."""
        if self._calls < self._calls_ahead and self._outstanding + nbytes <= self._bytes_ahead:
            self._outstanding += nbytes
            self._calls += 1
            return
        self.begin()
        if self._carried:
            self._measure()
        self._outstanding += nbytes
        self._calls += 1
        self._refused = _NEVER
        if self._has_room(max(self.left, 0) + OPERATION):
            self._look_ahead()
            return
        self.settle()
        self._end_interval()  # its rest was room that had been found, not room that is needed
        if not self._has_room(OPERATION):
            self._outstanding -= nbytes
            self._calls -= 1
            raise self._full(OPERATION + nbytes)

    def _look_ahead(self) -> None:
        """See whether there is room for many reservations more, so that they need not look; large data must."""
        calls, whole = self._calls, self._outstanding
        if whole > INLINE * calls:
            return
        self._calls += _AHEAD_CALLS
        self._outstanding += _AHEAD_BYTES
        need = self._need(max(self.left, 0) + OPERATION)
        if need <= self.space.pages or (not self.tight and self.space.grow(need)):
            self._calls_ahead, self._bytes_ahead = self._calls, self._outstanding
        self._calls, self._outstanding = calls, whole

    def _has_room(self, interval: int) -> bool:
        """Whether an interval has room beside what is reserved, free pages counted in when the file cannot grow."""
        need = self._need(interval)
        return need <= self.space.pages or self._grow(need) or need <= self.space.pages + self._free_pages()

    def _end_interval(self) -> None:
        """Give up what is left of the interval: the next change looks for room anew."""
        self._spent = self._spent_now()
        self.left = -1
        self._interval = 0
        self._calls_ahead = 0

    def release(self, nbytes: int, puts: int = 1) -> None:
        """Give back room that :meth:`reserve` holds, of so many puts."""
        if nbytes > self._outstanding or puts > self._calls:
            held = f"{self._outstanding} for {self._calls} puts"
            raise ValueError(f"{nbytes} bytes for {puts} puts released, but only {held} are reserved")
        self._outstanding -= nbytes
        self._calls -= puts
        self._released += nbytes
        self._released_calls += puts


def pages_of(stat: dict[str, int]) -> int:
    """The pages of a tree."""
    return stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
