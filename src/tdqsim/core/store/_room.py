"""Room for writes, reserved before anything is changed.

A put is charged :data:`FACTOR` times its size plus an amount for each entry. A removal is credited later: when nothing
is left, the pages in use are counted again, and the room held by all live units of work is added up (no running total
is kept). The file is grown by a system call between transactions, so that no commit meets a full disk. In addition to
the room in use, a reserve is kept for the copies that a commit makes of the pages it changes, and for LMDB's list of
free pages: an eighth of the room in use plus two megabytes. A small store cannot change more pages than it has, so its
reserve is smaller; each commit copies pages while those that the commit before it has replaced are still kept.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol
from weakref import ref

from tdqsim.core.portable import OWN_FILE
from tdqsim.errors import StoreError

FACTOR: Final = 3
PER_ENTRY: Final = 64
KEYED: Final = 8192
"""The charge for a keyed record, which may change and split a page that no other record of its commit changes."""
_AHEAD: Final = 2 << 20
_FIRST: Final = 128 << 10
"""The smallest reserve, and the least by which the file grows."""
_STEP: Final = 64 << 20
_MOST: Final = 8 << 20
"""The most bytes that are charged before the pages, and the list of holders, are counted again."""
_BEHIND: Final = 1000
"""The number of commits that a reader may lag behind before it is reported."""
_GROWN: Final = 64 << 20
"""The bytes by which a file may exceed twice the bytes in use before a reader is reported."""
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Holder(Protocol):
    """An object with changes to be written, and the room that is held for them."""

    held: int


class Room:
    """The room of one LMDB file.

    Attributes:
        have: the bytes of the file that are allocated on the disk.
        limit: the maximum size of the file; None for no limit but the disk's.
        holders: the works that hold room while they exist; their room is added up when the pages are counted.
        left: the bytes that may be charged before the pages are counted again.
        counts: how often the pages were counted, for benchmarks.
        fault: called with ``grow`` before the file grows, for tests with failures.
    """

    __slots__ = ("_env", "_fd", "_file", "_map", "_reported", "counts", "fault", "have", "holders", "left", "limit")

    def __init__(self, env: Any, file: Path, limit: int | None) -> None:
        self._fd = -1
        self._env, self._file, self.limit = env, file, limit
        self._fd = os.open(file, os.O_RDWR | OWN_FILE)
        self._map = env.info()["map_size"]
        self.holders: list[ref[Holder]] = []
        self.left = self.counts = self._reported = 0
        self.fault: Callable[[str], None] | None = None
        size = os.fstat(self._fd).st_size
        self.have = size if self._allocate(size) else 0  # fills holes that a copying tool may have left in the file

    def close(self) -> None:
        """Close the file."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()

    def cost(self, nbytes: int, many: int = 1, *, keyed: bool = False) -> int:
        """The charge for ``many`` records of ``nbytes`` bytes in total."""
        return FACTOR * nbytes + many * (KEYED if keyed else FACTOR * PER_ENTRY)

    def refusal(self, cost: int) -> str:
        """The reason why an amount cannot be charged; empty when it can."""
        return "" if self.left >= cost else self._count_anew(cost)

    def in_use(self) -> int:
        """The bytes of the pages in the tree, plus the reserve that a commit needs."""
        stat = self._env.stat()
        pages = int((stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]) * stat["psize"])
        return pages + min(pages // 8 + _AHEAD, 4 * pages + _FIRST)

    def _count_anew(self, cost: int) -> str:
        """Count the pages in use and the room held, and set ``left``; grow the file when ``cost`` does not fit."""
        self.counts += 1
        alive = [(each, holder.held) for each in self.holders if (holder := each()) is not None and holder.held]
        self.holders = [each for each, _ in alive]
        in_use = self.in_use()
        self._report_reader(in_use)
        needed = in_use + cost + sum(held for _, held in alive)
        refusal = self._grow(needed) if needed > self.have else ""
        if not refusal:
            self.left = cost + min(self.have - needed, _MOST)
        return refusal

    def _report_reader(self, in_use: int) -> None:
        """Log a warning about a reader that keeps pages of old commits in use, each time the file has doubled."""
        info = self._env.info()
        size = (info["last_pgno"] + 1) * self._env.stat()["psize"]
        if size < max(2 * in_use + _GROWN, 2 * self._reported):
            return
        readers = [line.split() for line in self._env.readers().splitlines()[1:]]  # process, thread, commit
        lagging = [(int(each[2]), int(each[0])) for each in readers if len(each) == 3 and each[2] != "-"]
        oldest, pid = min(lagging, default=(info["last_txnid"], 0))
        behind = info["last_txnid"] - oldest
        if behind < _BEHIND:
            return
        self._reported = size
        import structlog  # noqa: PLC0415  (few stores have such a reader)

        structlog.get_logger("tdqsim.store").warning(
            "reader_keeps_pages", path=str(self._file), pid=pid, commits_behind=behind, file_bytes=size,
            in_use_bytes=in_use,
        )  # fmt: skip

    def _grow(self, needed: int) -> str:
        """Allocate at least ``needed`` bytes; returns the reason why that is not possible, or an empty string."""
        if self.fault is not None:
            self.fault("grow")
        most = self._map if self.limit is None else min(self.limit, self._map)
        for size in (needed + max(min(needed, _AHEAD), min(self.have // 4, _STEP)), needed):
            if size <= most and self._allocate(size):
                self.have = size
                return ""
        what = (
            f"it may have {self.limit} bytes" if self.limit is not None and needed > self.limit else "the disk is full"
        )
        return f"{self._file}: there is no room: {what}"

    def _allocate(self, size: int) -> bool:
        """Allocate disk space with posix_fallocate, or, where that is missing, by writing beyond the end."""
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._fd, 0, size)
            else:
                _write_zeros(self._file, size)
        except OSError as error:
            if error.errno in _NO_ROOM:
                return False
            raise StoreError(f"{self._file}: it cannot grow: {error.strerror}") from error
        return True


def _write_zeros(file: Path, size: int) -> None:
    with file.open("r+b") as handle:
        end = handle.seek(0, os.SEEK_END)
        while end < size:
            end += handle.write(bytes(min(1 << 20, size - end)))
