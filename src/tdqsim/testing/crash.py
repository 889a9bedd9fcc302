"""Crash enumeration: run a scenario once, then again for every point at which its process could end.

A point is the moment before a command, before a commit of the store, after it, or when a file has to grow. At the point
everything ends: nothing more reaches the store. The region is then started again from its store (an emergency restart),
and the test's own check says whether what it finds is right, given what the scenario had been told before the crash.

With ``torn=True`` each commit is a point more: half of its pages are on the disk and half are not, as after a power cut
without sync. That is more than durability ``process`` promises, so a store may then refuse to open (StoreDamaged); what
it must never do is to open with something wrong.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tdqsim.cics import Region, Task
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.store import Store
from tdqsim.errors import StoreDamaged, TdqError
from tdqsim.testing.clock import StillClock
from tdqsim.testing.faults import Crashed
from tdqsim.testing.hooks import add_hook

__all__ = ["CrashFailure", "CrashReport", "Crashed", "enumerate_crashes"]

Scenario = Callable[[Region, list[Any]], object]
Check = Callable[[Region, list[Any]], object]
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  (memory where there is some; else the directory for temporary files)
_ROOM: Final = 2**28
_HALVES: Final = ("durable", "volatile")
_TORN: Final = "torn"


class CrashFailure(AssertionError):
    """After a crash at some point the check did not hold.

    Attributes:
        point: number of the point, for ``points=[...]``.
        where: the point in words.
    """

    def __init__(self, text: str, point: int, where: str) -> None:
        super().__init__(text)
        self.point = point
        self.where = where


@dataclass(frozen=True, slots=True)
class CrashReport:
    """What was tried.

    Attributes:
        points: every point in words; the last is the normal end.
        tried: how many of them were crashed at.
        refused: torn commits after which the store refused to open.
    """

    points: tuple[str, ...]
    tried: int
    refused: int


class _Points:
    """Counts the points of one run, and ends it at one of them."""

    def __init__(self, end_at: int, *, torn: bool) -> None:
        self.names: list[str] = []
        self.crashed = False
        self.image: bytes | None = None
        self._end_at = end_at
        self._torn = torn
        self._tearing = False

    def watch(self, region: Region) -> None:
        """Be asked at each command and commit of a region."""
        add_hook(region, self)
        store = region.store
        store.durable.fault = lambda step: self._at_store(store, "durable", step)
        store.volatile.fault = lambda step: self._at_store(store, "volatile", step)

    def before(self, task: Task, command: str, arguments: Mapping[str, Any]) -> None:
        """See :class:`tdqsim.cics.Hook`."""
        self._point(f"before {command} {arguments.get('queue') or ''} of task {task.number}".replace("  ", " "))

    def after(self, task: Task, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """Nothing: what follows is a point of its own."""

    def _at_store(self, store: Store, half: str, step: str) -> None:
        if self._tearing and step == "after_commit":
            self._crash("in the middle of a commit")
        self._point(f"{half}: {step.replace('_', ' ')}")
        if self._torn and half == "durable" and step == "before_commit" and self._point(f"{half}: {_TORN} commit"):
            self.image = (store.durable.path / "data.mdb").read_bytes()
            self._tearing = True

    def _point(self, name: str) -> bool:
        """Count it; True when a torn commit is to begin here."""
        if self.crashed:
            raise Crashed("the process has ended already")
        number = len(self.names)
        self.names.append(name)
        if number != self._end_at:
            return False
        if _TORN in name:
            return True
        self._crash(name)
        return False

    def _crash(self, name: str) -> None:
        self.crashed = True
        raise Crashed(name)


def enumerate_crashes(
    scenario: Scenario,
    check: Check,
    definitions: Any = (),
    *,
    prepare: Callable[[Region], object] | None = None,
    points: Iterable[int] | None = None,
    torn: bool = False,
    **options: Any,
) -> CrashReport:
    """Crash a scenario at every point, restart, and check.

    Args:
        scenario: called with a new region and an empty list; it appends to the list what it has been told is done.
        check: called with the region after its restart, and the list; it asserts what must hold.
        definitions: what to install at the first start; a restart finds it in the store.
        prepare: called with each region before anything runs: registers programs.
        points: numbers of points, from 0, instead of all.
        torn: try torn commits too.
        options: further arguments of :class:`~tdqsim.cics.Region`. Supplied queues only when asked for.

    Returns:
        What was tried.

    Raises:
        CrashFailure: the check did not hold; its own exception is the cause.
        TdqError: the scenario fails without any crash, which is the cause.
    """
    options.setdefault("supplied_queues", False)
    run = _Run(scenario, check, definitions, prepare, options, torn=torn)
    names = run.without_crash()
    wanted = list(range(len(names))) if points is None else list(points)
    refused = sum(run.at(point) for point in wanted)
    return CrashReport((*names, "the normal end"), len(wanted), refused)


class _Run:
    """One scenario, run again and again."""

    def __init__(
        self,
        scenario: Scenario,
        check: Check,
        definitions: Any,
        prepare: Callable[[Region], object] | None,
        options: dict[str, Any],
        *,
        torn: bool,
    ) -> None:
        self._scenario, self._check = scenario, check
        self._definitions, self._prepare, self._options = definitions, prepare, options
        self._torn = torn

    def _region(self, store: Path, clock: StillClock, definitions: Any) -> Region:
        region = Region(definitions, store=store, dispatcher=Dispatcher(clock), **self._options)
        if self._prepare is not None:
            self._prepare(region)
        return region

    def without_crash(self) -> list[str]:
        """The points of a run that ends normally; the check must hold after a warm start too."""
        with _directory() as store:
            clock, told, points = StillClock(), list[Any](), _Points(-1, torn=self._torn)
            region = self._region(store, clock, self._definitions)
            try:
                points.watch(region)
                self._scenario(region, told)
            except Exception as error:
                region.close(clean=False)
                raise TdqError(f"the scenario fails without any crash: {error}") from error
            names = list(points.names)
            region.store.durable.fault = region.store.volatile.fault = None
            region.close()
            self._restarted(store, clock, told, len(names), "the normal end")
        return names

    def at(self, point: int) -> bool:
        """Crash at one point and check; True when the store of a torn commit refused to open."""
        with _directory() as store:
            clock, told, points = StillClock(), list[Any](), _Points(point, torn=self._torn)
            region = self._region(store, clock, self._definitions)
            points.watch(region)
            try:
                self._scenario(region, told)
            except Crashed:
                pass
            finally:
                points.crashed = True
                region.close(clean=False)
            where = points.names[point] if point < len(points.names) else "no such point"
            if points.image is not None:
                _tear(store / "durable" / "data.mdb", points.image)
            try:
                self._restarted(store, clock, told, point, where)
            except StoreDamaged:
                if points.image is None:
                    raise
                return True
        return False

    def _restarted(self, store: Path, clock: StillClock, told: list[Any], point: int, where: str) -> None:
        clock.advance(1)
        region = self._region(store, clock, ())
        try:
            self._check(region, told)
        except StoreDamaged:
            raise
        except Exception as error:
            text = f"point {point} ({where}): after the restart: {type(error).__name__}: {error}\ntold before: {told!r}"
            raise CrashFailure(text, point, where) from error
        finally:
            region.close()


def _tear(file: Path, before: bytes) -> None:
    """Leave a commit half done: of the pages that it changed every other one is as before."""
    page = 4096
    after = bytearray(file.read_bytes())
    changed = [at for at in range(0, len(after), page) if after[at : at + page] != before[at : at + page]]
    for at in changed[1::2]:
        old = before[at : at + page]
        after[at : at + len(old)] = old
    if changed:
        half = changed[-1] + page // 2
        old = before[half : changed[-1] + page]
        after[half : half + len(old)] = old
    file.write_bytes(after)


@contextmanager
def _directory() -> Iterator[Path]:
    """A directory for a store, in memory when there is room."""
    place = _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM else None
    directory = Path(tempfile.mkdtemp(prefix="tdqsim-crash-", dir=place))
    try:
        yield directory / "store"
    finally:
        shutil.rmtree(directory, ignore_errors=True)
