"""The meta pages of an LMDB file, read and doubted before LMDB trusts them."""

from __future__ import annotations

import os
from pathlib import Path
from struct import Struct
from typing import Final

from tdqsim.core.store._pages import Meta
from tdqsim.errors import StoreDamaged, StoreError

__all__ = ["HELP", "KINDS", "any_meta", "damaged", "read_meta", "swapped"]

KINDS: Final = ("volatile", "durable")
HELP: Final = "`tdq store check` lists the damage, `tdq store salvage` saves what is whole to a new store"
_MAGIC: Final = 0xBEEFC0DE
_PAGE_HEAD: Final = Struct("=QHHHH")
_META: Final = Struct("=IIQQ" + "IHHQQQQQ" * 2 + "QQ")
_META_FLAG: Final = 0x08
_INTEGER_KEY: Final = 0x08
_NO_PAGE: Final = 2**64 - 1


def damaged(path: Path, what: str) -> StoreDamaged:
    return StoreDamaged(f"{path}: {what}; {HELP}")


def swapped(kind: int) -> str:
    """What is wrong with an environment that is in the other one's place."""
    return f"it holds the {KINDS[kind & 1]} data: files were swapped"


def read_meta(path: Path, *, busy: bool = False) -> Meta:
    """The newer meta page of an environment's file; StoreDamaged when either is not what LMDB writes.

    ``busy`` says that another process may be writing: pages read while it commits are read again.
    """
    for _ in range(20 if busy else 0):
        try:
            return _read_meta(path)
        except StoreDamaged:
            continue
    return _read_meta(path)


def _read_meta(path: Path) -> Meta:
    file = path / "data.mdb"
    try:
        with file.open("rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            first = _meta_at(path, handle.read(_PAGE_HEAD.size + _META.size), 0)
            handle.seek(first.page_size)
            second = _meta_at(path, handle.read(_PAGE_HEAD.size + _META.size), 1)
    except FileNotFoundError:
        raise damaged(path, "the file data.mdb is missing") from None
    except OSError as error:
        raise StoreError(f"{file}: it cannot be read: {error.strerror}") from error
    newer, older = (first, second) if first.txnid > second.txnid else (second, first)
    if (
        newer.txnid - older.txnid > 1
        or newer.page_size != older.page_size
        or (newer.txnid and newer.txnid % 2 != (newer is second))
    ):
        raise damaged(path, "the two meta pages do not belong together")
    if (newer.last_page + 1) * newer.page_size > size:
        raise damaged(
            path, f"data.mdb has {size} bytes, but {(newer.last_page + 1) * newer.page_size} are in use: it was cut off"
        )
    return newer


def any_meta(path: Path) -> Meta | None:
    """The newest meta page that can be used at all, for salvage; None when there is none."""
    found: list[Meta] = []
    with (path / "data.mdb").open("rb") as handle:
        size = os.fstat(handle.fileno()).st_size
        for index, at in ((0, 0), *((1, 1 << bits) for bits in range(9, 17))):
            handle.seek(at)
            try:
                meta = _meta_at(path, handle.read(_PAGE_HEAD.size + _META.size), index)
            except StoreDamaged:
                continue
            if index == 0 or meta.page_size == at:
                found.append(meta._replace(last_page=min(meta.last_page, size // meta.page_size - 1)))
    return max(found, key=lambda meta: meta.txnid, default=None)


def _meta_at(path: Path, raw: bytes, index: int) -> Meta:
    what = f"meta page {index} of data.mdb is damaged"
    if len(raw) < _PAGE_HEAD.size + _META.size:
        raise damaged(path, f"data.mdb is cut off: {what}")
    number, _, flags, _, _ = _PAGE_HEAD.unpack_from(raw)
    magic, version, _, _, *rest = _META.unpack_from(raw, _PAGE_HEAD.size)
    page_size, free_flags, free_depth, free_branch, free_leaf, free_overflow, _, free_root = rest[:8]
    _, flags_main, depth, branch, leaf, overflow, entries, root = rest[8:16]
    last_page, txnid = rest[16:18]
    sane = (
        number == index
        and flags == _META_FLAG
        and magic == _MAGIC
        and version == 1
        and page_size in {1 << bits for bits in range(9, 17)}
        and free_flags & 0xFF == _INTEGER_KEY
        and flags_main == 0
        and max(depth, free_depth) < 32
        and branch + leaf + overflow <= last_page
        and all(page == _NO_PAGE or 1 < page <= last_page for page in (free_root, root))
    )
    if not sane:
        raise damaged(path, what)
    free_pages = free_branch + free_leaf + free_overflow
    pages = branch + leaf + overflow
    return Meta(page_size, last_page, txnid, free_root, root, free_pages, pages, entries, depth, free_depth)
