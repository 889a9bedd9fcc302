"""Check and salvage a store that may be damaged; upgrade, compact and back up a sound one.

All of it is done in a process of its own: whatever damage does, the caller gets a report or a clear error, after a
bounded time. Check and salvage read the files without LMDB.
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

__all__ = [
    "QueueReport",
    "StoreReport",
    "as_if_machine_stopped",
    "backup",
    "check",
    "compact",
    "look_through",
    "salvage",
    "upgrade",
]

TIMEOUT: Final = 600.0
_START: Final = """
import sys
at = sys.argv.index("--")
sys.path += sys.argv[1:at]
from tdqsim.core.store._working import main
sys.exit(main(sys.argv[at + 1 :]))
"""
"""Nothing from the working directory or the environment can be imported: only modules of this process."""


@dataclass(frozen=True, slots=True)
class QueueReport:
    """The findings about one queue.

    Attributes:
        environment: ``volatile`` or ``durable``.
        name: the queue's name; a queue whose record is lost is called ``LOST-`` and a number.
        order: ``FIFO``, ``LIFO`` or ``KEYED``.
        count: how many entries it should hold; -1 when its record is lost.
        whole: how many entries are undamaged.
        damaged: the sequence numbers of those that are not.
        saved: how many were put into the new store; 0 for a check.
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
        problems: problems other than damaged entries, each with the environment in front.
        format: the store's format; 0 when it is not known.
        queues: the findings about each queue.
    """

    path: Path
    problems: tuple[str, ...]
    format: int
    queues: tuple[QueueReport, ...]

    @property
    def sound(self) -> bool:
        """Nothing at all is wrong."""
        return not self.problems and not self.damaged

    @property
    def entries(self) -> int:
        """How many entries are undamaged."""
        return sum(queue.whole for queue in self.queues)

    @property
    def saved(self) -> int:
        """How many entries were put into the new store."""
        return sum(queue.saved for queue in self.queues)

    @property
    def damaged(self) -> tuple[tuple[bytes, int], ...]:
        """Queue and sequence number of each damaged entry."""
        return tuple((queue.name, seq) for queue in self.queues for seq in queue.damaged)


def check(path: Path, *, timeout: float = TIMEOUT) -> StoreReport:
    """Check every page and entry of a store that is not open.

    Raises:
        StoreMissing: there is no store.
        StoreInUse: a process has it open.
        StoreDamaged: it cannot even be looked at within ``timeout`` seconds.
    """
    return _run(path, ["check", str(path)], timeout)


def look_through(path: Path) -> StoreReport:
    """Check a store whose lock the caller holds."""
    return _run(path, ["look", str(path)], TIMEOUT)


def salvage(path: Path, target: Path, *, timeout: float = TIMEOUT) -> StoreReport:
    """Put every entry, queue and meta data that is whole into a new store at ``target``.

    The damaged store is not changed. What each queue lost is its ``count`` less its ``saved``.

    Raises:
        StoreMissing: there is no store.
        StoreInUse: a process has it open.
        StoreError: there is a store at ``target`` already, or it cannot be written.
        StoreDamaged: it cannot even be looked at within ``timeout`` seconds.
    """
    return _run(path, ["salvage", str(path), str(target)], timeout)


def upgrade(path: Path, *, timeout: float = TIMEOUT) -> StoreReport:
    """Bring a store of format 4 or 5 to the format of this version, in one commit; the report has the format it had.

    Nothing is done to a store that has this format.

    Raises:
        StoreMissing: there is no store.
        StoreInUse: a process has it open.
        StoreDamaged: it is damaged, and was left as it was; salvage reads it too.
        StoreVersionError: this version does not read its format.
    """
    return _run(path, ["upgrade", str(path)], timeout)


def compact(path: Path, *, timeout: float = TIMEOUT) -> StoreReport:
    """Give the room of a store's files that is not in use back to the disk.

    Raises:
        StoreMissing: there is no store.
        StoreInUse: a process has it open.
        StoreDamaged: it is damaged, and was left as it was.
        StoreFull: there is no room for the copy of a file that takes its place.
    """
    return _run(path, ["compact", str(path)], timeout)


def backup(path: Path, target: Path, *, timeout: float = TIMEOUT) -> StoreReport:
    """Copy a store to a new directory, and look through the copy; the report is that of the copy.

    The store may be open: then the copy is its last commit, without volatile records, and a region's start on it is an
    emergency restart.

    Raises:
        StoreMissing: there is no store.
        StoreError: there is a store at ``target`` already, or it cannot be written.
        StoreDamaged: the copy is damaged, as the store is; it was removed.
        StoreFull: there is no room for the copy.
    """
    return _run(path, ["backup", str(path), str(target)], timeout)


def _run(path: Path, arguments: list[str], timeout: float) -> StoreReport:
    homes = dict.fromkeys(str(Path(str(module.__file__)).parents[1]) for module in (errors, lmdb, sortedcontainers))
    command = [sys.executable, "-I", "-c", _START, *homes, "--", *arguments]
    try:
        done = run_program(command, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise StoreDamaged(f"{path}: it could not be read through within {timeout:g} seconds") from None
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
    """Have the next start find that the machine was started anew while the store was in use, for tests of that."""
    place = path / "durable"
    data = (place / "data.mdb").read_bytes()
    for meta in read_metas(place):
        file = PageFile(place, meta)
        found = file.get(HEAD_KEY)
        file.close()
        if found is None:  # a torn commit
            continue
        head = read_head(found)
        data = data.replace(head.pack(), head._replace(clean=False, boot=b"\xff" * 16).pack())
    with (place / "data.mdb").open("r+b") as opened:  # in place: the file may still be mapped
        opened.write(data)
