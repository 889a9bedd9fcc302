"""The two meta pages of an LMDB file, read and doubted before LMDB trusts them.

LMDB writes them in turn, and opens the file by the newer. A file that is too short kills the process with SIGBUS, a
wrong root page may do anything: so both are read and compared first. Either one may serve: when one was written by
halves, or is damaged, the other is the last commit before, all of whose pages are still there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from tdqsim.errors import STORE_HELP, StoreDamaged, StoreError

__all__ = ["Meta", "read_metas", "repair", "usable"]

_MAGIC: Final = 0xBEEFC0DE
_PAGE_HEAD: Final = Struct("=QHHHH")
_META: Final = Struct("=IIQQ" + "IHHQQQQQ" * 2 + "QQ")
_SIZE: Final = _PAGE_HEAD.size + _META.size
_META_FLAG: Final = 0x08
_INTEGER_KEY: Final = 0x08
_NO_PAGE: Final = 2**64 - 1


class Meta(NamedTuple):
    """What a meta page says: see LMDB; ``crc`` is the checksum of all of it."""

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


def read_metas(path: Path) -> list[Meta]:
    """The meta pages of the file in a directory that are what LMDB writes, the newer first.

    Raises:
        StoreDamaged: the file is missing, or neither page is.
        StoreError: it cannot be read.
    """
    file = path / "data.mdb"
    try:
        with file.open("rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            found = [_meta(handle.read(_SIZE), 0, size)]
            for at in [found[0].page_size] if found[0] is not None else [1 << bits for bits in range(9, 17)]:
                handle.seek(at)
                second = _meta(handle.read(_SIZE), 1, size)
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


def usable(path: Path, closed: Sequence[int] = ()) -> tuple[Meta, str]:
    """The meta page to go by, and what is wrong with the other one; empty when nothing is.

    Args:
        path: the directory of the file.
        closed: number and checksum of the page by which the file was closed; that is the right one, whatever number
            damage has given to the other. Nothing when it was not closed, or nobody knows.
    """
    metas = read_metas(path)
    known = [meta for meta in metas if (meta.txnid, meta.crc) == tuple(closed)]
    best = known[0] if known else min(metas, key=_displaced)  # of two that are in their places the newer
    if any(_goes_before(other, best) for other in metas if other is not best):
        return best, ""
    note = (
        f"{path}: meta page {1 - best.index} of data.mdb was damaged, or written by halves; the store goes on by the "
    )
    return best, note + ("other one" if known else "other one, so its last commit may be missing")


def _goes_before(other: Meta, best: Meta) -> bool:
    """Whether a page is of the commit before, or of the same one: of a new file, or one that was repaired."""
    if other.txnid == best.txnid:
        return other[2:-1] == best[2:-1]
    return other.txnid == best.txnid - 1 and not _displaced(other) and not _displaced(best)


def _displaced(meta: Meta) -> bool:
    """Whether a page is not where a commit of its number writes it."""
    return meta.txnid % 2 != meta.index and meta.txnid > 0


def repair(path: Path, meta: Meta) -> None:
    """Write a meta page over the other one, which is not what LMDB writes, so that LMDB goes by it."""
    with (path / "data.mdb").open("r+b") as handle:
        handle.seek(meta.index * meta.page_size)
        raw = bytearray(handle.read(_SIZE))
        raw[:8] = (1 - meta.index).to_bytes(8, "little" if _PAGE_HEAD.pack(1, 0, 0, 0, 0)[0] else "big")
        handle.seek((1 - meta.index) * meta.page_size)
        handle.write(raw)


def _meta(raw: bytes, index: int, size: int) -> Meta | None:
    """What a meta page says; None when LMDB does not write such a page for a file of so many bytes."""
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
