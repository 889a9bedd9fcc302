"""The work of check and salvage: read every page and record of a store without LMDB.

Run as a module in a process of its own by :mod:`tdqsim.core.storecheck`, with the names of the work and of the
directories as arguments; the report goes to standard output as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from tdqsim.core._half import Found, Half
from tdqsim.core._lockfile import LockFile
from tdqsim.core._meta import KINDS
from tdqsim.core.store import Environment, Store, StoredQueue
from tdqsim.errors import StoreError, StoreInUse, StoreMissing, TdqError

__all__ = ["examine", "main", "rescue"]

_AT_ONCE: Final = 1000


def _report(halves: list[Half]) -> dict[str, Any]:
    return {
        "problems": [f"{half.path.name}: {problem}" for half in halves for problem in half.problems],
        "queues": [
            [half.path.name, queue.name.hex(), queue.order.name, queue.count, queue.sound, queue.damaged, queue.saved]
            for half in halves
            for queue in half.queues.values()
        ],
    }


def examine(path: Path) -> dict[str, Any]:
    """Look at everything in a store and report what is wrong."""
    halves = [Half(path / kind) for kind in KINDS]
    for half in halves:
        for _ in half.entries():
            pass
    return _report(halves)


def rescue(path: Path, target: Path) -> dict[str, Any]:
    """Put everything that is whole into a new store, as :func:`examine` would count it."""
    halves = [Half(path / kind) for kind in KINDS]
    with Store(target) as store:
        if not store.created:
            raise StoreError(f"{target}: there is a store already; salvage writes to a new one")
        for half, environment in zip(halves, (store.volatile, store.durable), strict=True):
            _save(half, environment)
    return _report(halves)


def _save(half: Half, environment: Environment) -> None:
    queues: dict[int, StoredQueue] = {}
    pending = 0
    for found, entry in half.entries():
        queue = queues.get(found.number)
        if queue is None:
            queue = queues[found.number] = _make(environment, found)
        if queue.get(entry.seq, entry.key) is not None:
            continue  # met again in a page that damage made a copy of
        queue.restore(entry)
        found.saved += 1
        pending += 1
        if pending % _AT_ONCE == 0:
            environment.commit()
    for found in half.queues.values():
        queue = queues.get(found.number) or _make(environment, found)
        if found.count >= 0:
            queue.number_after(found.last)
    for key, value in half.meta.items():
        environment.put_meta(key, value)
    environment.commit()


def _make(environment: Environment, found: Found) -> StoredQueue:
    return environment.create_queue(found.name, order=found.order, key_length=found.key_length)


def _work(arguments: list[str]) -> dict[str, Any]:
    work, source, *rest = arguments
    path = Path(source)
    if not any((path / kind / "data.mdb").exists() for kind in KINDS):
        raise StoreMissing(f"{path}: there is no store here")
    if work == "look":
        return examine(path)
    lock = LockFile(path / "lock", mine=False)
    try:
        return examine(path) if work == "check" else rescue(path, Path(rest[0]))
    finally:
        lock.release()


def main(arguments: list[str]) -> int:
    """Do the work that the arguments name and print the report."""
    try:
        answer = _work(arguments)
    except StoreInUse as error:
        answer = {"in use": error.pid}
    except TdqError as error:
        answer = {"error": [type(error).__name__, str(error)]}
    except OSError as error:
        answer = {"error": ["StoreError", f"{error.filename or arguments[1]}: {error.strerror}"]}
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
