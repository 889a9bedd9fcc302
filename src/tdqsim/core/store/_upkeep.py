"""Compact and backup, which run in the same separate process as check and salvage.

Each reads everything first and refuses a damaged store, because it then uses LMDB, which trusts its pages. A file is
replaced by a complete and synced one, or changed by one commit. So whenever the process is killed, the store is in its
old or in its new state.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import lmdb

from tdqsim.core.store._examine import StoreFindings, examine
from tdqsim.core.store._meta import renumber, seal
from tdqsim.core.store._opening import KINDS, environment, last_commit
from tdqsim.errors import STORE_HELP, StoreDamaged, StoreError, StoreFull

_NEW: Final = "new"


def compact(path: Path) -> StoreFindings:
    """Replace each file by a copy with only the pages in use; returns the findings about the store before."""
    findings = _sound(path)
    for half in findings.halves:
        place = path / half.name
        new = place / _NEW
        shutil.rmtree(new, ignore_errors=True)
        try:
            number = last_commit(place).meta.txnid
            _copy(place, new, compacted=True)
            renumber(new, number)
            if findings.clean:
                seal(new)
            _sync(new / "data.mdb")
            (new / "data.mdb").replace(place / "data.mdb")
            (place / "lock.mdb").unlink(missing_ok=True)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return findings


def backup(path: Path, target: Path, *, held: bool) -> StoreFindings:
    """Copy a store to a new directory and check the copy; returns the findings about it.

    If a process has the store open (``held``), the copy contains its last commit without volatile records, as if that
    process had been killed.
    """
    if any((target / name).exists() for name in KINDS):
        raise StoreError(f"{target}: there is a store already; a backup is a new one")
    there = target.exists()
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        for kind in ("durable",) if held else KINDS:
            if kind == "durable" or (path / kind / "made").exists():
                _copy(path / kind, target / kind, compacted=False)
                _sync(target / kind / "data.mdb")
                if kind == "volatile":
                    (target / kind / "made").touch(mode=0o600)
        return _sound(target)
    except BaseException:
        shutil.rmtree(target if not there else target / "durable", ignore_errors=True)
        shutil.rmtree(target / "volatile", ignore_errors=True)
        raise


def _sound(path: Path) -> StoreFindings:
    """Check all of a store; StoreDamaged when anything is wrong."""
    findings = examine(path)
    wrong = findings.wrong()
    if wrong:
        raise StoreDamaged(f"{path}: {wrong[0]}; {STORE_HELP}")
    return findings


def _copy(place: Path, target: Path, *, compacted: bool) -> None:
    """Copy the last commit of a file with LMDB; another process may be writing the file."""
    target.mkdir(mode=0o700)
    env = environment(place, sync=False, readonly=True, locked=True)
    try:
        env.copy(str(target), compact=compacted)
        (target / "data.mdb").chmod(0o600)
    except lmdb.Error as error:
        if "No space left" in str(error):
            raise StoreFull(f"{target}: the disk is full") from error
        raise StoreError(f"{target}: {place} cannot be copied: {error}") from error
    finally:
        env.close()


def _sync(file: Path) -> None:
    fd = os.open(file, os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
