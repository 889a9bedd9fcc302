"""The two meta pages of an LMDB file, read and checked before LMDB trusts them.

LMDB writes them alternately, and opens the file with the newer one. A file that is too short would kill the process
with SIGBUS, and a wrong root page may have any effect. So both pages are read and compared first. Each of them is
sufficient: when one was written only partly, or is damaged, the other belongs to the commit before, all of whose pages
still exist.

LMDB's meta pages have no checksum. A clean close adds one, the seal, in a part of the page that LMDB never writes
again: the number of the commit and the checksum of the page's head. A seal that is missing, or belongs to another
commit, proves nothing. One that belongs to this commit and does not match proves that the page is damaged.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Final
from zlib import crc32

from tdqsim.core.named import NamedTuple
from tdqsim.core.portable import OWN_FILE, read_at, write_at
from tdqsim.errors import STORE_HELP, StoreDamaged, StoreError

_MAGIC: Final = 0xBEEFC0DE
_PAGE_HEAD: Final = Struct("=QHHHH")
_META: Final = Struct("=IIQQ" + "IHHQQQQQ" * 2 + "QQ")
_SIZE: Final = _PAGE_HEAD.size + _META.size
_META_FLAG: Final = 0x08
_INTEGER_KEY: Final = 0x08
_NO_PAGE: Final = 2**64 - 1
_SEAL: Final = Struct("=QII")
_SEAL_AT: Final = 32
"""The offset of the seal from the end of its page, so that it is in another sector than the part that LMDB writes."""


class Meta(NamedTuple):
    """The contents of a meta page, as LMDB defines them.

    ``crc`` is the checksum of the page's head; ``sealed``: whether a seal confirms it.
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
        StoreDamaged: the file is missing, or neither page is valid.
        StoreError: it cannot be read.
    """
    file = path / "data.mdb"
    if file.exists() and not file.is_file():  # opening a named pipe would wait for a writer
        raise StoreError(f"{file}: it is not a regular file")
    try:
        with file.open("rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            pages = [_read(handle, 0, 0, size)]
            # Without the first page the page size is unknown, so the second one is tried at each possible place.
            for at in [pages[0].page_size] if pages[0] is not None else [1 << bits for bits in range(9, 17)]:
                second = _read(handle, 1, at, size)
                pages.append(second if second is not None and second.page_size == at else None)
    except FileNotFoundError:
        raise StoreDamaged(f"{path}: the file data.mdb is missing; {STORE_HELP}") from None
    except OSError as error:
        raise StoreError(f"{file}: it cannot be read: {error.strerror}") from error
    metas = sorted((meta for meta in pages if meta is not None), key=lambda meta: -meta.txnid)
    if not metas:
        raise StoreDamaged(
            f"{path}: data.mdb has {size} bytes, and neither of its meta pages can be used; {STORE_HELP}"
        )
    return metas


def usable(path: Path, without: Meta | None = None) -> tuple[Meta, str]:
    """The meta page to use, and the problem with the other one, or an empty string.

    Args:
        path: the directory of the file.
        without: a page that is known to be damaged although it looks valid.
    """
    metas = [meta for meta in read_metas(path) if meta != without]
    if not metas:
        raise StoreDamaged(f"{path}: neither of the meta pages of data.mdb can be used; {STORE_HELP}")
    best = min(metas, key=_displaced)  # the newer one, unless only it is displaced
    for sealed, other in ((metas[0], metas[-1]), (metas[-1], metas[0])):
        if sealed.sealed and not _goes_before(sealed, other):
            best = sealed
    if any(_goes_before(other, best) for other in metas if other is not best):
        return best, ""
    return best, (
        f"{path}: meta page {1 - best.index} of data.mdb was damaged or only partly written; the store goes on by the "
        f"other one, so its last commit may be missing"
    )


def _goes_before(other: Meta, best: Meta) -> bool:
    """Whether a page is of the commit before, or of the same commit, as in a new or repaired file."""
    if other.index == best.index:
        return False
    if other.txnid == best.txnid:
        return other[2:9] == best[2:9]
    return other.txnid == best.txnid - 1 and not _displaced(other) and not _displaced(best)


def _displaced(meta: Meta) -> bool:
    """Whether a page is not at the place where LMDB writes it for its commit number."""
    return meta.txnid % 2 != meta.index and meta.txnid > 0


def repair(path: Path, meta: Meta) -> None:
    """Overwrite the other, invalid meta page with this one, so that LMDB uses it."""
    fd = os.open(path / "data.mdb", os.O_RDWR | OWN_FILE)
    try:
        raw = bytearray(read_at(fd, _SIZE, meta.index * meta.page_size))
        raw[:8] = (1 - meta.index).to_bytes(8, sys.byteorder)
        write_at(fd, bytes(raw), (1 - meta.index) * meta.page_size)
    finally:
        os.close(fd)


def renumber(path: Path, number: int) -> None:
    """Change the number of the last commit in a file that LMDB has just copied and compacted.

    Such a file has no list of free pages, whose keys would be older commit numbers.
    """
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
    """Seal the newer meta page of a file and return it; no process may change the file meanwhile.

    If the seal does not reach the disk, nothing is lost, except that damage to that page may stay unnoticed.
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
    """Read the meta page at an offset; None when LMDB does not write such a page, or when its seal does not match."""
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
    """Decode a meta page; None when LMDB does not write such a page in a file of this size."""
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
