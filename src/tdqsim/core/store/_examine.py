"""The work of check and salvage: read every page and record of a store without LMDB.

Run as a module in a process of its own by :mod:`tdqsim.core.store.check`, with the names of the work and of the
directories as arguments; the report goes to standard output as JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from tdqsim.core.store import Environment, Store, StoredQueue
from tdqsim.core.store._entry import FORMAT
from tdqsim.core.store._half import Found, Half
from tdqsim.core.store._lockfile import LockFile
from tdqsim.core.store._meta import KINDS, swapped
from tdqsim.core.store._state import State, pair_problem
from tdqsim.errors import StoreError, StoreInUse, StoreMissing, StoreVersionError, TdqError

__all__ = ["examine", "main", "rescue"]

_AT_ONCE: Final = 1000
_UNFINISHED: Final = "unfinished"
"""Where in its directory a new store is made."""


def _halves(path: Path) -> tuple[list[Half], list[State | None]]:
    """The halves of a store in their places, of which nothing is read yet, and their state records.

    Raises:
        StoreVersionError: a newer version wrote it.
    """
    halves = [Half(path / kind) for kind in KINDS]
    states = [_state_at(half.path) for half in halves]
    for half, state in zip(halves, states, strict=True):
        if state is not None and state.format > FORMAT:
            raise StoreVersionError(
                f"{half.path}: the store has format {state.format}; this tdqsim reads up to {FORMAT}"
            )
    return halves, states


def _state_at(path: Path) -> State | None:
    """The state record, which comes before all entries; None when it is damaged."""
    probe = Half(path)
    for _ in probe.entries():
        break
    return probe.state


def _report(path: Path, halves: list[Half]) -> dict[str, Any]:
    problems = [f"{half.path.name}: {problem}" for half in halves for problem in half.problems]
    states = [half.state for half in halves if half.state is not None]
    problems += [
        f"{half.path.name}: {swapped(half.state.kind)}"
        for place, half in enumerate(halves)
        if half.state is not None and half.state.kind != place
    ]
    if [state.kind for state in states] == [0, 1] and (problem := pair_problem(*states)):
        problems.append(f"{path}: {problem}")
    return {
        "problems": problems,
        "queues": [
            [half.path.name, queue.name.hex(), queue.order.name, queue.count, queue.sound, queue.damaged, queue.saved]
            for half in halves
            for queue in half.queues.values()
        ],
    }


def examine(path: Path) -> dict[str, Any]:
    """Look at everything in a store and report what is wrong."""
    halves, _ = _halves(path)
    for half in halves:
        for _ in half.entries():
            pass
    return _report(path, halves)


def rescue(path: Path, target: Path) -> dict[str, Any]:
    """Put everything that is whole into a new store, as :func:`examine` would count it.

    How the new store was closed is what is known of the old one: what is to be done after a failure, the next who opens
    it must do. It is in its place only when it is finished.
    """
    if any((target / kind).exists() for kind in KINDS):
        raise StoreError(f"{target}: there is a store already; salvage writes to a new one")
    there = target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        lock = LockFile(target / "lock")
        try:
            return _rescue(path, target)
        finally:
            shutil.rmtree(target / _UNFINISHED, ignore_errors=True)
            lock.release()
    except BaseException as error:
        if not there:
            shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError) and error.filename is None:
            raise StoreError(f"{target}: the new store cannot be written: {error.strerror}") from error
        raise


def _rescue(path: Path, target: Path) -> dict[str, Any]:
    halves, states = _halves(path)
    failed = any(state is not None and state.kind == 1 and not state.clean for state in states)
    place = target / _UNFINISHED
    shutil.rmtree(place, ignore_errors=True)
    with Store(place) as store:
        for half, environment in _places(halves, states, store):
            _save(half, environment)
            environment.sync()
        store.close(clean=not failed)
    for kind in KINDS:
        (place / kind).rename(target / kind)
    return _report(path, halves)


def _places(halves: list[Half], states: list[State | None], store: Store) -> list[tuple[Half, Environment]]:
    """Where each half goes: by what it says it is, else to where it lies, or where room is left.

    When both say the same, the one in its own place is the one that is meant; the other is only reported.
    """
    environments = [store.volatile, store.durable]
    kinds = [None if state is None else state.kind & 1 for state in states]
    first, second = kinds
    if first is not None and first == second:
        for _ in halves[1 - first].entries():
            pass  # its problems are told all the same
        return [(halves[first], environments[first])]
    turned = first == 1 or second == 0
    return list(zip(halves, reversed(environments) if turned else environments, strict=True))


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
        answer = {"in use": [str(error.path), error.pid]}
    except TdqError as error:
        answer = {"error": [type(error).__name__, str(error)]}
    except OSError as error:
        answer = {"error": ["StoreError", f"{error.filename or arguments[1]}: {error.strerror}"]}
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
