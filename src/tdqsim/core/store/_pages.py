"""Reading an LMDB file without LMDB: for check and salvage, and for a store that was not closed cleanly.

LMDB trusts every pointer that it reads, so on a damaged file it may return wrong data, loop, or kill the process. This
reader trusts none: each page must contain its own number, each node must lie inside its page, keys must ascend and stay
between the keys of the branch above, and no page may occur twice. Pages that fail are reported and left out. The reader
reads page by page instead of mapping the file, since a bad sector under a mapping would kill the process.

A file consists of pages of one size. Pages 0 and 1 are the meta pages. A branch page contains (key, page number) nodes,
a leaf page (key, value) nodes. A value too long for a page is in overflow pages; only the list of free pages has such
values. That list is a separate tree: its key is a commit's number, its value the pages that this commit freed.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter, lt
from pathlib import Path
from struct import Struct, iter_unpack, unpack_from
from typing import Final

from tdqsim.core.portable import OWN_FILE, read_at
from tdqsim.core.store._meta import Meta

_NO_PAGE: Final = 2**64 - 1
_HEAD: Final = Struct("=QHHHH")
_OVERFLOW_HEAD: Final = Struct("=QHHI")
_NODE: Final = Struct("=IHH")
_BRANCH, _LEAF, _OVERFLOW = 0x01, 0x02, 0x04
_KIND: Final = 0x4F
"""The flags for the kind of a page; LMDB uses the others only in memory, never in a file."""
_BIG_DATA: Final = 0x01
_MAX_DEPTH: Final = 32


class PageError(Exception):
    """A page is invalid, or not of the kind that its place in the tree requires."""


class PageFile:
    """The pages of one file, as of the commit of a meta page.

    Attributes:
        problems: the problems, in order of discovery.
        reached: the pages that the walk has visited.
        entries: how many records the walk has returned.
    """

    __slots__ = ("_fd", "_levels", "_meta", "_numeric", "_size", "entries", "problems", "reached")

    def __init__(self, path: Path, meta: Meta) -> None:
        self._fd = -1
        self._fd = os.open(path / "data.mdb", os.O_RDONLY | OWN_FILE)
        self._meta, self._size = meta, meta.page_size
        self._numeric = False
        self._levels: set[int] = set()
        self.problems: list[str] = []
        self.reached: set[int] = set()
        self.entries = 0

    def close(self) -> None:
        """Close the file; may be called again."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()

    # -- pages --------------------------------------------------------------------------------------------------------

    def _page(self, page: int) -> bytes:
        """Read a page; PageError unless it contains its own number."""
        if not 1 < page <= self._meta.last_page:
            raise PageError(f"there is no page {page}")
        data = self._read(page, 0, self._size)
        if len(data) < self._size or int.from_bytes(data[:8], sys.byteorder) != page:
            raise PageError(f"page {page} does not match the pages above it")
        return data

    def _read(self, page: int, offset: int, size: int) -> bytes:
        try:
            return read_at(self._fd, size, page * self._size + offset)
        except OSError as error:
            raise PageError(f"page {page} cannot be read: {error.strerror}") from None

    def _nodes(self, page: int, data: bytes, wanted: int) -> list[tuple[bytes, int, int, int]]:
        """Key, flags, size and offset of the value of each node of a page, in key order."""
        _, _, flags, lower, upper = _HEAD.unpack_from(data)
        if flags & _KIND != wanted:
            raise PageError(f"page {page} does not match the pages above it")
        if flags != wanted:  # LMDB would not write such a page with its next commit; its contents can be salvaged
            self.problems.append(f"page {page} has the flags {flags:#x}, {wanted:#x} are right")
        if not _HEAD.size <= lower <= upper <= self._size or lower % 2:
            raise PageError(f"page {page} has impossible bounds")
        nodes, ends = [], []
        whole, head, unpack, branch = self._size, _NODE.size, _NODE.unpack_from, wanted == _BRANCH
        offsets = unpack_from(f"={(lower - _HEAD.size) // 2}H", data, _HEAD.size)
        if offsets and not upper <= min(offsets) <= max(offsets) <= whole - head:
            raise PageError(f"page {page} has a node outside of it")
        for offset in offsets:
            size, flags, length = unpack(data, offset)
            start = offset + head
            value = start + length
            end = value if branch else value + (8 if flags & _BIG_DATA else size)
            if end > whole:
                raise PageError(f"page {page} has a node that extends beyond it")
            nodes.append((data[start:value], flags, size, value))
            ends.append(end + (end & 1))
        if self._numeric:
            nodes = [(key[::-1], *rest) for key, *rest in nodes]
        # Each ends where the next one begins, without gaps up to the end: LMDB relies on it when it moves nodes.
        if [*sorted(offsets), whole] != [upper, *sorted(ends)]:
            self.problems.append(f"page {page} has nodes of the wrong length")
        return nodes

    def _meet(self, page: int) -> None:
        if page in self.reached:
            raise PageError(f"page {page} is used twice")
        self.reached.add(page)

    # -- trees --------------------------------------------------------------------------------------------------------

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """The records in key order."""
        self.entries = 0
        self.reached.clear()
        yield from self._walk(self._meta.root, self._meta.depth)
        if not self.problems and self.entries != self._meta.entries:
            self.problems.append(f"{self.entries} records were found, {self._meta.entries} should be there")

    def _walk(self, root: int, depth: int) -> Iterator[tuple[bytes, bytes]]:
        self._levels = set() if root != _NO_PAGE else {0}
        if root != _NO_PAGE:
            for leaf in self._leaves(root, b"", None, 1):
                try:
                    yield from leaf
                except PageError as error:
                    self.problems.append(str(error))
        if self._levels != {depth} and not self.problems:
            self.problems.append(f"a tree is {max(self._levels)} pages deep, {depth} should be")

    def _leaves(self, page: int, low: bytes, high: bytes | None, level: int) -> Iterator[Iterator[tuple[bytes, bytes]]]:
        """The records of each leaf page below a page."""
        try:
            self._meet(page)
            data = self._page(page)
            if level <= _MAX_DEPTH and _flags(data) & _BRANCH:
                children = self._children(page, data, low, high)
            else:
                self._levels.add(level)
                yield self._leaf(page, data, low, high)
                return
        except PageError as error:
            self.problems.append(str(error))
            return
        for child, first, last in children:
            yield from self._leaves(child, first, last, level + 1)

    def _children(
        self, page: int, data: bytes, low: bytes, high: bytes | None
    ) -> list[tuple[int, bytes, bytes | None]]:
        nodes = self._nodes(page, data, _BRANCH)
        keys = [low, *(node[0] for node in nodes[1:])]
        if not nodes or not _rising(keys, low, high):
            raise PageError(f"page {page} has its keys out of order")
        return [
            (size | flags << 32, keys[at], keys[at + 1] if at + 1 < len(keys) else high)
            for at, (_, flags, size, _) in enumerate(nodes)
        ]

    def _leaf(self, page: int, data: bytes, low: bytes, high: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        nodes = self._nodes(page, data, _LEAF)
        if not _rising(list(map(itemgetter(0), nodes)), low, high):
            raise PageError(f"page {page} has its keys out of order")
        self.entries += len(nodes)
        for key, flags, size, start in nodes:
            yield key, self._overflow(data, start, size) if flags & _BIG_DATA else data[start : start + size]

    def _overflow(self, data: bytes, start: int, size: int) -> bytes:
        """A value in overflow pages."""
        page = unpack_from("=Q", data, start)[0]
        first = self._page(page)
        count = -(-(size + _HEAD.size) // self._size)
        pages = _OVERFLOW_HEAD.unpack_from(first)[3]
        if _flags(first) & _KIND != _OVERFLOW or not count <= pages <= self._meta.last_page - page + 1:
            raise PageError(f"overflow page {page} is not one")
        for each in range(page, page + pages):
            self._meet(each)
        return self._read(page, _HEAD.size, size)

    def get(self, wanted: bytes) -> bytes | None:
        """The value under a key, or None."""
        page, low, high = self._meta.root, b"", None
        try:
            for _ in range(_MAX_DEPTH):
                data = self._page(page)
                if not _flags(data) & _BRANCH:
                    break
                page, low, high = next(
                    child
                    for child in reversed(self._children(page, data, low, high))
                    if child[1] <= wanted or not child[1]
                )
            for key, flags, size, start in self._nodes(page, data, _LEAF):
                if key == wanted and not flags:
                    return data[start : start + size]
        except (PageError, StopIteration):
            return None
        return None

    # -- pages outside all trees --------------------------------------------------------------------------------------

    def free(self) -> set[int] | None:
        """The free pages; None, and a problem, when their tree is damaged or one of them is in use."""
        before = len(self.problems)
        self._numeric = True  # the keys of this tree are numbers in the machine's byte order
        listed: set[int] = set()
        try:
            for _, value in self._walk(self._meta.free_root, self._meta.free_depth):
                if len(value) < 8 or len(value) % 8:
                    raise PageError("the list of free pages is damaged")  # one place records problems
                count, *pages = [number for (number,) in iter_unpack("=Q", value)]
                pages = pages[:count]
                if (
                    count > len(pages)
                    or listed.intersection(pages)
                    or any(not 1 < page <= self._meta.last_page for page in pages)
                ):
                    raise PageError("the list of free pages is damaged")
                listed.update(pages)
            if twice := listed & self.reached:
                raise PageError(f"{len(twice)} pages are in use and listed as free")
        except PageError as error:
            self.problems.append(str(error))
        finally:
            self._numeric = False
        return listed if len(self.problems) == before else None

    def orphans(self, free: set[int]) -> list[tuple[bytes, bytes]]:
        """The records, in key order, of leaf pages in use that cannot be reached because a branch is damaged."""
        records: list[tuple[bytes, bytes]] = []
        for page in range(2, self._meta.last_page + 1):
            if page not in self.reached and page not in free:
                try:
                    records += self._leaf(page, self._page(page), b"", None)
                except (PageError, struct.error):
                    continue
        return sorted(records)


def _flags(data: bytes) -> int:
    """The flags of a page, which determine its kind."""
    return int.from_bytes(data[10:12], sys.byteorder)


def _rising(keys: list[bytes], low: bytes, high: bytes | None) -> bool:
    if not keys:
        return True
    inside = keys[0] >= low and (high is None or keys[-1] < high)
    return inside and all(map(lt, keys, islice(keys, 1, None)))
