"""The process in which :mod:`tdqsim.core.store.check` has its work done.

Its arguments are the name of the work and the directories; the report goes to standard output as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tdqsim.core.store._examine import Looked, look, report, rescue
from tdqsim.core.store._lockfile import LockFile, is_held
from tdqsim.core.store._opening import KINDS
from tdqsim.core.store._upkeep import backup, compact, upgrade
from tdqsim.errors import StoreInUse, StoreMissing, TdqError

__all__ = ["main", "work"]


def work(arguments: list[str]) -> dict[str, Any]:
    """Do the work that the arguments name; the report."""
    what, source, *rest = arguments
    path = Path(source)
    if not any((path / kind / "data.mdb").exists() for kind in KINDS):
        raise StoreMissing(f"{path}: there is no store here")
    if what == "look":  # for a start, which has the lock, and goes on by the other meta page
        looked = look(path)
        return report(looked.halves, looked.problems)
    if what == "backup" and is_held(path):
        return _whole(backup(path, Path(rest[0]), held=True))
    lock = LockFile(path / "lock", mine=False)
    try:
        if what == "salvage":
            return rescue(path, Path(rest[0]))
        if what == "backup":
            return _whole(backup(path, Path(rest[0]), held=False))
        return _whole({"check": look, "upgrade": upgrade, "compact": compact}[what](path))
    finally:
        lock.release()


def _whole(looked: Looked) -> dict[str, Any]:
    return {**report(looked.halves, looked.problems + looked.notes), "format": looked.format}


def main(arguments: list[str]) -> int:
    """Do the work that the arguments name and print the report."""
    try:
        answer = work(arguments)
    except StoreInUse as error:
        answer = {"in use": [str(error.path), error.pid]}
    except TdqError as error:
        answer = {"error": [type(error).__name__, str(error)]}
    except OSError as error:
        answer = {"error": ["StoreError", f"{error.filename or arguments[1]}: {error.strerror}"]}
    json.dump(answer, sys.stdout)
    return 0
