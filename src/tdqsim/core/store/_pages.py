"""Reading an LMDB file without LMDB.

LMDB trusts every pointer it finds, so on a damaged file it may hand out other data, loop, or kill the process. This
reader trusts none: each page must say its own number, each node must lie inside its page, keys must rise and stay
between the keys of the branch above, and no page may be met twice. What fails is reported and left out.

A file is pages of one size. Pages 0 and 1 are the meta pages. A branch page holds (key, page number) nodes, a leaf
page (key, value) nodes; a value too long for a page lies in overflow pages of its own. Beside the main tree there is
the tree of free pages: under a commit's number the pages that it freed.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from struct import Struct, iter_unpack, unpack_from
from typing import Final, NamedTuple

__all__ = ["NO_PAGE", "Meta", "PageError", "PageFile"]

NO_PAGE: Final = 2**64 - 1
_HEAD: Final = Struct("<QHHHH")
_OVERFLOW_HEAD: Final = Struct("<QHHI")
_NODE: Final = Struct("<HHHH")
_BRANCH, _LEAF, _OVERFLOW = 0x01, 0x02, 0x04
_KIND: Final = 0x4F
"""The flags that say what a page is; the others are LMDB's own marks in memory, and never in a file."""
_BIG_DATA: Final = 0x01
_MAX_DEPTH: Final = 32


class Meta(NamedTuple):
    """What the newer of the two meta pages says."""

    page_size: int
    last_page: int
    txnid: int
    free_root: int
    root: int
    free_pages: int
    pages: int
    entries: int
    depth: int
    free_depth: int


class PageError(Exception):
    """A page is not what its place says it must be."""


class PageFile:
    """The pages of one environment's file, as of the last commit.

    Attributes:
        problems: what was found to be wrong, in the order of finding.
        reached: the pages that were met.
        entries: how many records the walk gave.
    """

    __slots__ = ("_data", "_file", "_levels", "_limit", "_meta", "_numeric", "_size", "entries", "problems", "reached")

    def __init__(self, path: Path, meta: Meta) -> None:
        self._file = (path / "data.mdb").open("rb")
        self._data = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._meta = meta
        self._size = meta.page_size
        self._limit = meta.last_page
        self._numeric = False
        self._levels: set[int] = set()
        self.problems: list[str] = []
        self.reached: set[int] = set()
        self.entries = 0

    def close(self) -> None:
        """Let the file go."""
        self._data.close()
        self._file.close()

    # -- pages ----------------------------------------------------------------------------------------------------

    def _nodes(self, page: int, wanted: int) -> list[tuple[int, int]]:
        """Where the nodes of a page begin and end, in key order."""
        if not 1 < page <= self._limit:
            raise PageError(f"page {page} does not exist")
        if page in self.reached:
            raise PageError(f"page {page} is used twice")
        base = page * self._size
        number, _, flags, lower, upper = _HEAD.unpack_from(self._data, base)
        if number != page:
            raise PageError(f"page {page} says that it is page {number}")
        if flags & _KIND != wanted:
            raise PageError(f"page {page} has the flags {flags:#x}")
        if flags != wanted:  # LMDB would leave such a page out of its next commit; what it holds can still be salvaged
            self.problems.append(f"page {page} has the flags {flags:#x}, {wanted:#x} are right")
        if not _HEAD.size <= lower <= upper <= self._size or lower % 2:
            raise PageError(f"page {page} has impossible bounds")
        self.reached.add(page)
        count = (lower - _HEAD.size) // 2
        offsets = unpack_from(f"<{count}H", self._data, base + _HEAD.size)
        nodes = [self._node(page, base, offset, upper) for offset in offsets]
        if not self._tiled(base, offsets, upper, leaf=wanted == _LEAF):
            self.problems.append(f"page {page} has nodes of the wrong length")
        return nodes

    def _tiled(self, base: int, offsets: tuple[int, ...], upper: int, *, leaf: bool) -> bool:
        """Whether the nodes of a page lie one behind the other up to its end: LMDB moves them by their lengths."""
        data, unpack = self._data, _NODE.unpack_from
        at = upper
        for offset in sorted(offsets):
            if offset != at:
                return False
            low, high, flags, length = unpack(data, base + offset)
            size = _NODE.size + length
            if leaf:
                size += 8 if flags & _BIG_DATA else low | high << 16
            at = offset + size + size % 2
        return at == self._size

    def _node(self, page: int, base: int, offset: int, upper: int) -> tuple[int, int]:
        if not upper <= offset <= self._size - _NODE.size:
            raise PageError(f"page {page} has a node outside of it")
        return base + offset, base + self._size

    def _key(self, page: int, node: tuple[int, int]) -> bytes:
        size = _NODE.unpack_from(self._data, node[0])[3]
        start = node[0] + _NODE.size
        if start + size > node[1]:
            raise PageError(f"page {page} has a key that runs out of it")
        key = self._data[start : start + size]
        return key[::-1] if self._numeric else key

    def kind(self, page: int) -> int:
        """The flags of a page that says its own number; 0 for anything else."""
        number, _, flags, _, _ = _HEAD.unpack_from(self._data, page * self._size)
        return flags if number == page else 0

    # -- trees ----------------------------------------------------------------------------------------------------

    def walk(self, root: int) -> Iterator[tuple[bytes, bytes | None]]:
        """The records of a tree in key order; the value is None where it could not be read."""
        self._levels.clear()
        if root != NO_PAGE:
            yield from self._subtree(root, b"", None, _MAX_DEPTH)
        self._compare_depth(root)

    def _compare_depth(self, root: int) -> None:
        """See that a tree which was walked through is as deep as the meta page says, since LMDB goes by that."""
        depth = self._meta.free_depth if root == self._meta.free_root else self._meta.depth
        levels = self._levels if root != NO_PAGE else {0}
        if levels != {depth} and not self.problems:
            self.problems.append(f"a tree is {max(levels)} pages deep, {depth} should be")

    def check_depth(self) -> None:
        """Go down the first branch of each tree: the least that must be right before LMDB takes a record away."""
        for root, depth in ((self._meta.root, self._meta.depth), (self._meta.free_root, self._meta.free_depth)):
            self._numeric = root == self._meta.free_root
            page, level = root, 0
            try:
                while page != NO_PAGE and level < _MAX_DEPTH:
                    level += 1
                    if not (1 < page <= self._limit and self.kind(page) & _BRANCH):
                        break
                    page = self._children(page, b"", None)[0][0]
            except PageError as error:
                self.problems.append(str(error))
            else:
                if level != depth:
                    self.problems.append(f"a tree is {level} pages deep, {depth} should be")
        self._numeric = False

    def _subtree(self, page: int, low: bytes, high: bytes | None, depth: int) -> Iterator[tuple[bytes, bytes | None]]:
        try:
            if depth <= 0:
                raise PageError(f"page {page} lies too deep")  # noqa: TRY301 - one place says what is wrong
            if 1 < page <= self._limit and self.kind(page) & _BRANCH:
                children = self._children(page, low, high)
            else:
                self._levels.add(_MAX_DEPTH - depth + 1)
                yield from self._leaf(page, low, high)
                return
        except PageError as error:
            self.problems.append(str(error))
            return
        for child, first, last in children:
            yield from self._subtree(child, first, last, depth - 1)

    def _children(self, page: int, low: bytes, high: bytes | None) -> list[tuple[int, bytes, bytes | None]]:
        nodes = self._nodes(page, _BRANCH)
        keys = [low, *(self._key(page, node) for node in nodes[1:])]
        if not nodes or not _rising(keys, low, high):
            raise PageError(f"page {page} has its keys out of order")
        found = []
        for at, node in enumerate(nodes):
            low_half, high_half, top, _ = _NODE.unpack_from(self._data, node[0])
            found.append(
                (low_half | high_half << 16 | top << 32, keys[at], keys[at + 1] if at + 1 < len(keys) else high)
            )
        return found

    def _leaf(self, page: int, low: bytes, high: bytes | None) -> Iterator[tuple[bytes, bytes | None]]:
        nodes = self._nodes(page, _LEAF)
        keys = [self._key(page, node) for node in nodes]
        if not _rising(keys, low, high):
            raise PageError(f"page {page} has its keys out of order")
        for key, node in zip(keys, nodes, strict=True):
            self.entries += 1
            yield key, self._value(page, key, node)

    def _value(self, page: int, key: bytes, node: tuple[int, int]) -> bytes | None:
        low, high, flags, _ = _NODE.unpack_from(self._data, node[0])
        size = low | high << 16
        start = node[0] + _NODE.size + len(key)
        try:
            if flags & _BIG_DATA:
                return self._overflow(unpack_from("<Q", self._data, start)[0], size)
            if flags or start + size > node[1]:
                raise PageError(f"page {page} has a value that runs out of it")  # noqa: TRY301 - as above
        except PageError as error:
            self.problems.append(str(error))
            return None
        return self._data[start : start + size]

    def _overflow(self, page: int, size: int) -> bytes:
        start = self._overflow_at(page, size)
        return self._data[start : start + size]

    def _overflow_at(self, page: int, size: int) -> int:
        """Where the data in overflow pages begins; they are met here, and may not be met again."""
        count = -(-(size + _HEAD.size) // self._size)
        if not page > 1 or page + count - 1 > self._limit:
            raise PageError(f"overflow page {page} does not exist")
        number, _, flags, pages = _OVERFLOW_HEAD.unpack_from(self._data, page * self._size)
        if number != page or flags != _OVERFLOW or pages < count or page + pages - 1 > self._limit:
            raise PageError(f"overflow page {page} is not one")
        mine = set(range(page, page + pages))
        if mine & self.reached:
            raise PageError(f"overflow page {page} is used twice")
        self.reached |= mine
        return page * self._size + _HEAD.size

    def check_shape(self) -> None:
        """Look at the pages of the main tree, not at what the records hold: enough that LMDB loses its way nowhere.

        What is wrong is a problem, as for :meth:`walk`; an eighth of its time.
        """
        meta = self._meta
        self._levels.clear()
        for page, low, high in self._leaves(meta.root, b"", None, _MAX_DEPTH):
            try:
                keys = self._keys(page, _LEAF)
                if not _rising(keys, low, high):
                    raise PageError(f"page {page} has its keys out of order")  # noqa: TRY301 - one place says it
                self.entries += len(keys)
            except PageError as error:
                self.problems.append(str(error))
        self._compare_depth(meta.root)
        if not self.problems and self.entries != meta.entries:
            self.problems.append(f"{self.entries} records were found, {meta.entries} should be there")
        self.check_free()

    def _leaves(
        self, page: int, low: bytes, high: bytes | None, depth: int
    ) -> Iterator[tuple[int, bytes, bytes | None]]:
        if page == NO_PAGE:
            return
        if not (depth > 0 and 1 < page <= self._limit and self.kind(page) & _BRANCH):
            self._levels.add(_MAX_DEPTH - depth + 1)
            yield page, low, high
            return
        try:
            children = self._children(page, low, high)
        except PageError as error:
            self.problems.append(str(error))
            return
        for child, first, last in children:
            yield from self._leaves(child, first, last, depth - 1)

    def _keys(self, page: int, kind: int) -> list[bytes]:
        """The keys of a page, in the order of its nodes; values must lie in it, or in overflow pages."""
        nodes = self._nodes(page, kind)
        data, head, size = self._data, _NODE.size, _NODE.unpack_from
        keys = []
        for start, end in nodes:
            low, high, flags, length = size(data, start)
            begin = start + head
            stop = begin + length
            if stop + (8 if flags else low | high << 16) > end or flags & ~_BIG_DATA:
                raise PageError(f"page {page} has a node that runs out of it")
            if flags:
                self._overflow_at(unpack_from("<Q", data, stop)[0], low | high << 16)
            keys.append(data[begin:stop])
        return keys

    # -- what no tree leads to ------------------------------------------------------------------------------------

    def free(self) -> set[int] | None:
        """The pages in the tree of free pages; None when that tree is damaged."""
        self._numeric = True  # keys of this tree are numbers in the machine's byte order
        try:
            return self._free()
        finally:
            self._numeric = False

    def _free(self) -> set[int] | None:
        before = len(self.problems)
        listed: set[int] = set()
        for _, value in self.walk(self._meta.free_root):
            if value is None or len(value) < 8 or len(value) % 8:
                self.problems.append("the list of free pages is damaged")
                return None
            count, *pages = [number for (number,) in iter_unpack("<Q", value)]
            if (
                count > len(pages)
                or any(not 1 < page <= self._limit for page in pages[:count])
                or listed.intersection(pages[:count])
            ):
                self.problems.append("the list of free pages is damaged")
                return None
            listed.update(pages[:count])
        return listed if len(self.problems) == before else None

    def check_free(self) -> set[int] | None:
        """The free pages, when none of them is in use; None, and a problem, otherwise."""
        free = self.free()
        if free is not None and free & self.reached:
            self.problems.append(f"{len(free & self.reached)} pages are in use and listed as free")
            return None
        return free

    def orphans(self, free: set[int]) -> Iterator[tuple[bytes, bytes | None]]:
        """The records of leaf pages that are in use, but that no whole branch leads to any more."""
        for page in range(2, self._limit + 1):
            if page not in self.reached and page not in free and self.kind(page) & _KIND == _LEAF:
                try:
                    yield from list(self._leaf(page, b"", None))
                except (PageError, struct.error):
                    continue


def _rising(keys: list[bytes], low: bytes, high: bytes | None) -> bool:
    if not keys:
        return True
    inside = keys[0] >= low and (high is None or keys[-1] < high)
    return inside and all(a < b for a, b in pairwise(keys))
