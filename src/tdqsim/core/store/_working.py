"""The separate process that does the work of :mod:`tdqsim.core.store.check`.

Its arguments are the name of the operation and the directories; it prints the report as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tdqsim.core.store._examine import StoreFindings, examine, report, rescue
from tdqsim.core.store._lockfile import LockFile, is_held
from tdqsim.core.store._opening import KINDS
from tdqsim.core.store._upkeep import backup, compact
from tdqsim.errors import StoreInUse, StoreMissing, TdqError


def work(arguments: list[str]) -> dict[str, Any]:
    """Carry out the operation that the arguments name; returns the report."""
    what, source, *rest = arguments
    path = Path(source)
    if not any((path / kind / "data.mdb").exists() for kind in KINDS):
        raise StoreMissing(f"{path}: there is no store here")
    if what == "look":  # called while opening a store: the caller has the lock, and accepts a damaged meta page
        findings = examine(path)
        return report(findings.halves, findings.problems)
    if what == "backup" and is_held(path):
        return _whole(backup(path, Path(rest[0]), held=True))
    lock = LockFile(path / "lock", mine=False)
    try:
        if what == "salvage":
            return rescue(path, Path(rest[0]))
        if what == "backup":
            return _whole(backup(path, Path(rest[0]), held=False))
        return _whole({"check": examine, "compact": compact}[what](path))
    finally:
        lock.release()


def _whole(findings: StoreFindings) -> dict[str, Any]:
    return {**report(findings.halves, findings.problems + findings.notes), "format": findings.format}


def main(arguments: list[str]) -> int:
    """Carry out the operation that the arguments name and print the report."""
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
