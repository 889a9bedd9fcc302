"""The two meta pages of an LMDB file, read and checked before LMDB trusts them.

LMDB writes them in turn, and opens the file by the newer. A file that is too short kills the process with SIGBUS, a
wrong root page may do anything: so both are read and compared first. Either one may serve: when one was written by
halves, or is damaged, the other is the last commit before, all of whose pages are still there.

LMDB gives its meta pages no checksum. A clean close adds one, the seal, in a part of the page that LMDB never writes
again: the number of the commit and the checksum of the page's head. A seal that is missing, or that belongs to another
commit, says nothing; one that belongs to this commit and does not match shows that the page is damaged.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Final, NamedTuple
from zlib import crc32

from tdqsim.core.portable import OWN_FILE, read_at, write_at
from tdqsim.errors import STORE_HELP, StoreDamaged, StoreError

__all__ = ["Meta", "read_metas", "renumber", "repair", "seal", "usable"]

_MAGIC: Final = 0xBEEFC0DE
_PAGE_HEAD: Final = Struct("=QHHHH")
_META: Final = Struct("=IIQQ" + "IHHQQQQQ" * 2 + "QQ")
_SIZE: Final = _PAGE_HEAD.size + _META.size
_META_FLAG: Final = 0x08
_INTEGER_KEY: Final = 0x08
_NO_PAGE: Final = 2**64 - 1
_SEAL: Final = Struct("=QII")
_SEAL_AT: Final = 32
"""Where a page's seal begins, counted from the end of the page: in another sector than the part that LMDB writes."""


class Meta(NamedTuple):
    """The contents of a meta page: see LMDB.

    ``crc`` is the checksum of all of it; ``sealed`` tells whether the page's seal vouches for it.
    """

    index: int  # type: ignore[assignment]
    page_size: int
    last_page: int
    txnid: int
    free_root: int
    root: int
    entries: int
    depth: int
    free_depth: int
    crc: int
    sealed: bool = False


def read_metas(path: Path) -> list[Meta]:
    """The valid meta pages of the file in a directory, the newer first.

    Raises:
        StoreDamaged: the file is missing, or neither page is.
        StoreError: it cannot be read.
    """
    file = path / "data.mdb"
    try:
        with file.open("rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            found = [_read(handle, 0, 0, size)]
            for at in [found[0].page_size] if found[0] is not None else [1 << bits for bits in range(9, 17)]:
                second = _read(handle, 1, at, size)
                found.append(second if second is not None and second.page_size == at else None)
    except FileNotFoundError:
        raise StoreDamaged(f"{path}: the file data.mdb is missing; {STORE_HELP}") from None
    except OSError as error:
        raise StoreError(f"{file}: it cannot be read: {error.strerror}") from error
    metas = sorted((meta for meta in found if meta is not None), key=lambda meta: -meta.txnid)
    if not metas:
        raise StoreDamaged(
            f"{path}: data.mdb has {size} bytes, and neither of its meta pages can be used; {STORE_HELP}"
        )
    return metas


def usable(path: Path, without: Meta | None = None) -> tuple[Meta, str]:
    """The meta page to use, and the problem with the other one; empty when there is none.

    Args:
        path: the directory of the file.
        without: a page that is known to be damaged, though it looks right.
    """
    metas = [meta for meta in read_metas(path) if meta != without]
    if not metas:
        raise StoreDamaged(f"{path}: neither of the meta pages of data.mdb can be used; {STORE_HELP}")
    best = min(metas, key=_displaced)  # of two that are in their places the newer
    for sealed, other in ((metas[0], metas[-1]), (metas[-1], metas[0])):
        if sealed.sealed and not _goes_before(sealed, other):
            best = sealed
    if any(_goes_before(other, best) for other in metas if other is not best):
        return best, ""
    return best, (
        f"{path}: meta page {1 - best.index} of data.mdb was damaged, or written by halves; the store goes on by the "
        f"other one, so its last commit may be missing"
    )


def _goes_before(other: Meta, best: Meta) -> bool:
    """Whether a page is of the commit before, or of the same one: of a new file, or one that was repaired."""
    if other.index == best.index:
        return False
    if other.txnid == best.txnid:
        return other[2:9] == best[2:9]
    return other.txnid == best.txnid - 1 and not _displaced(other) and not _displaced(best)


def _displaced(meta: Meta) -> bool:
    """Whether a page is not where a commit of its number writes it."""
    return meta.txnid % 2 != meta.index and meta.txnid > 0


def repair(path: Path, meta: Meta) -> None:
    """Write a meta page over the other, invalid one, so that LMDB uses it."""
    fd = os.open(path / "data.mdb", os.O_RDWR | OWN_FILE)
    try:
        raw = bytearray(read_at(fd, _SIZE, meta.index * meta.page_size))
        raw[:8] = (1 - meta.index).to_bytes(8, sys.byteorder)
        write_at(fd, bytes(raw), (1 - meta.index) * meta.page_size)
    finally:
        os.close(fd)


def renumber(path: Path, number: int) -> None:
    """Give the last commit of a file that LMDB has copied and compacted, so that nothing is free, another number."""
    meta, _ = usable(path)
    fd = os.open(path / "data.mdb", os.O_RDWR | OWN_FILE)
    try:
        raw = bytearray(read_at(fd, _SIZE, meta.index * meta.page_size))
        for each in (number - 1, number):
            raw[:8] = (each % 2).to_bytes(8, sys.byteorder)
            raw[-8:] = each.to_bytes(8, sys.byteorder)
            write_at(fd, bytes(raw), each % 2 * meta.page_size)
    finally:
        os.close(fd)


def seal(path: Path) -> Meta:
    """Seal the newer meta page of a file, which no process may change meanwhile, and return it.

    Nothing depends on the seal being written: without it, damage of that page may stay unnoticed.
    """
    meta, _ = usable(path)
    check = crc32(_SEAL.pack(meta.txnid, meta.crc, 0))
    fd = os.open(path / "data.mdb", os.O_RDWR | OWN_FILE)
    try:
        place = (meta.index + 1) * meta.page_size - _SEAL_AT
        write_at(fd, _SEAL.pack(meta.txnid, meta.crc, check), place)
    finally:
        os.close(fd)
    return meta


def _read(handle: BinaryIO, index: int, at: int, size: int) -> Meta | None:
    """The meta page at a place; None when LMDB does not write such a page, or its seal shows that it is damaged."""
    handle.seek(at)
    meta = _meta(handle.read(_SIZE), index, size)
    if meta is None:
        return None
    handle.seek(at + meta.page_size - _SEAL_AT)
    raw = handle.read(_SEAL.size)
    if len(raw) < _SEAL.size:
        return meta
    txnid, crc, check = _SEAL.unpack(raw)
    if txnid != meta.txnid or check != crc32(_SEAL.pack(txnid, crc, 0)):
        return meta
    return meta._replace(sealed=True) if crc == meta.crc else None


def _meta(raw: bytes, index: int, size: int) -> Meta | None:
    """The contents of a meta page; None when LMDB does not write such a page for a file of so many bytes."""
    if len(raw) < _SIZE:
        return None
    number, _, flags, _, _ = _PAGE_HEAD.unpack_from(raw)
    magic, version, _, _, *rest = _META.unpack_from(raw, _PAGE_HEAD.size)
    page_size, free_flags, free_depth, free_branch, free_leaf, free_overflow, _, free_root = rest[:8]
    _, flags_main, depth, branch, leaf, overflow, entries, root = rest[8:16]
    last_page, txnid = rest[16:18]
    sane = (
        number == index
        and flags == _META_FLAG
        and (magic, version) == (_MAGIC, 1)
        and page_size in {1 << bits for bits in range(9, 17)}
        and free_flags & 0xFF == _INTEGER_KEY
        and flags_main == 0
        and max(depth, free_depth) < 32
        and branch + leaf + overflow + free_branch + free_leaf + free_overflow <= last_page
        and all(page == _NO_PAGE or 1 < page <= last_page for page in (free_root, root))
        and (last_page + 1) * page_size <= size
    )
    return (
        Meta(index, page_size, last_page, txnid, free_root, root, entries, depth, free_depth, crc32(raw))
        if sane
        else None
    )
