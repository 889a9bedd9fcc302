"""Check and salvage a store that may be damaged; compact and back up a sound one.

All of it runs in a separate process. So whatever effect the damage has, the caller gets a report or a clear error,
within a limited time. Check and salvage read the files without LMDB.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import lmdb
import sortedcontainers

from tdqsim import errors
from tdqsim.core.process import run_program
from tdqsim.core.store._layout import HEAD_KEY, read_head
from tdqsim.core.store._meta import read_metas
from tdqsim.core.store._pages import PageFile
from tdqsim.errors import StoreDamaged, StoreInUse

TIMEOUT: Final = 600.0
_START: Final = """
import sys
at = sys.argv.index("--")
sys.path += sys.argv[1:at]
from tdqsim.core.store._working import main
sys.exit(main(sys.argv[at + 1 :]))
"""
"""The process imports modules only from where this process has them: not from the working directory or PYTHONPATH, and
no other version of them that is installed."""


@dataclass(frozen=True, slots=True)
class QueueReport:
    """The findings about one queue.

    Attributes:
        environment: ``volatile`` or ``durable``.
        name: the queue's name; for a queue whose record is lost, ``LOST-`` and a number.
        order: ``FIFO``, ``LIFO`` or ``KEYED``.
        count: the number of entries that it should have; -1 when its record is lost.
        whole: the number of undamaged entries.
        damaged: the sequence numbers of the damaged entries.
        saved: the number of entries written to the new store; 0 for a check.
    """

    environment: str
    name: bytes
    order: str
    count: int
    whole: int
    damaged: tuple[int, ...]
    saved: int


@dataclass(frozen=True, slots=True)
class StoreReport:
    """The findings about a store.

    Attributes:
        path: the store's directory.
        problems: problems other than damaged entries; each begins with the name of the environment.
        format: the store's format; 0 when it is not known.
        queues: the findings about each queue.
    """

    path: Path
    problems: tuple[str, ...]
    format: int
    queues: tuple[QueueReport, ...]

    @property
    def sound(self) -> bool:
        """Whether there are no problems and no damaged entries."""
        return not self.problems and not self.damaged

    @property
    def entries(self) -> int:
        """The number of undamaged entries."""
        return sum(queue.whole for queue in self.queues)

    @property
    def saved(self) -> int:
        """The number of entries written to the new store."""
        return sum(queue.saved for queue in self.queues)

    @property
    def damaged(self) -> tuple[tuple[bytes, int], ...]:
        """The queue and sequence number of each damaged entry."""
        return tuple((queue.name, seq) for queue in self.queues for seq in queue.damaged)


def check(path: Path, *, timeout: float = TIMEOUT) -> StoreReport:
    """Check every page and entry of a store that is not open.

    Raises:
        StoreMissing: there is no store.
        StoreInUse: a process has it open.
        StoreDamaged: it could not be read within ``timeout`` seconds.
    """
    return _run(path, ["check", str(path)], timeout)


def look_through(path: Path) -> StoreReport:
    """Check a store whose lock the caller has."""
    return _run(path, ["look", str(path)], TIMEOUT)


def salvage(path: Path, target: Path, *, timeout: float = TIMEOUT) -> StoreReport:
    """Write all undamaged entries, queues and meta data to a new store at ``target``.

    The damaged store is not changed. The number of entries that a queue lost is its ``count`` minus its ``saved``.

    Raises:
        StoreMissing: there is no store.
        StoreInUse: a process has it open.
        StoreError: there is a store at ``target`` already, or it cannot be written.
        StoreDamaged: it could not be read within ``timeout`` seconds.
    """
    return _run(path, ["salvage", str(path), str(target)], timeout)


def compact(path: Path, *, timeout: float = TIMEOUT) -> StoreReport:
    """Shrink the files of a store to the pages in use.

    Raises:
        StoreMissing: there is no store.
        StoreInUse: a process has it open.
        StoreDamaged: it is damaged, and was not changed.
        StoreFull: there is no room for the new copy of a file.
    """
    return _run(path, ["compact", str(path)], timeout)


def backup(path: Path, target: Path, *, timeout: float = TIMEOUT) -> StoreReport:
    """Copy a store to a new directory and check the copy; returns the report about the copy.

    The store may be open. Then the copy contains its last commit without volatile records, and starting a region on the
    copy is an emergency restart.

    Raises:
        StoreMissing: there is no store.
        StoreError: there is a store at ``target`` already, or it cannot be written.
        StoreDamaged: the store is damaged, and so was the copy, which was removed.
        StoreFull: there is no room for the copy.
    """
    return _run(path, ["backup", str(path), str(target)], timeout)


def _run(path: Path, arguments: list[str], timeout: float) -> StoreReport:
    homes = dict.fromkeys(str(Path(str(module.__file__)).parents[1]) for module in (errors, lmdb, sortedcontainers))
    command = [sys.executable, "-I", "-S", "-c", _START, *homes, "--", *arguments]
    try:
        done = run_program(command, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise StoreDamaged(f"{path}: it could not be read within {timeout:g} seconds") from None
    if done.returncode:
        last = done.stderr.strip().rsplit("\n", 1)[-1]
        raise StoreDamaged(f"{path}: reading it ended with code {done.returncode} {last}".rstrip())
    return _read(path, json.loads(done.stdout))


def _read(path: Path, answer: dict[str, Any]) -> StoreReport:
    if "in use" in answer:
        place, pid = answer["in use"]
        raise StoreInUse(Path(place), pid)
    if "error" in answer:
        name, text = answer["error"]
        raise getattr(errors, name)(text)
    queues = tuple(
        QueueReport(kind, bytes.fromhex(name), order, count, whole, tuple(damaged), saved)
        for kind, name, order, count, whole, damaged, saved in answer["queues"]
    )
    return StoreReport(path, tuple(answer["problems"]), answer.get("format", 0), queues)


def as_if_machine_stopped(path: Path) -> None:
    """Change a store as if the machine had been rebooted while it was in use, for tests of the next start."""
    place = path / "durable"
    data = (place / "data.mdb").read_bytes()
    for meta in read_metas(place):
        file = PageFile(place, meta)
        record = file.get(HEAD_KEY)
        file.close()
        if record is None:  # the commit was written only partly
            continue
        head = read_head(record)
        data = data.replace(head.pack(), head._replace(clean=False, boot=b"\xff" * 16).pack())
    with (place / "data.mdb").open("r+b") as opened:  # in place: the file may still be mapped
        opened.write(data)
