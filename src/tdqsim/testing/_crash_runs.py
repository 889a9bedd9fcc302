"""The runs of crash enumeration: a scenario in one order of its tasks, to its end and to each point of a crash.

Orders are those of :mod:`._explorer`, faults are placed as in :mod:`._placements`. In these runs all commits, all
writes to data sets and all that the scenario notes as complete conflict with each other, because a crash between two
of them leaves one and not the other. So each state that a crash can leave comes up in some order. The same state comes
up in many orders; a point is *repeated* if a crash there leaves what an earlier one has left: the turns that are
complete are equivalent, and the crash is at the same place in the turn that is not.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from tdqsim.cics import Abend, Condition, Region
from tdqsim.core.callables import why_unusable
from tdqsim.errors import StoreDamaged, UsageError, WrongValue
from tdqsim.faults.active import ActivePlan
from tdqsim.faults.plan import Crashed, FaultPlan
from tdqsim.ibmi import System
from tdqsim.state.deadlock import Deadlock
from tdqsim.testing._crash_points import Points, tear
from tdqsim.testing._explorer import Draw, identities
from tdqsim.testing._footprints import DURABLE
from tdqsim.testing._orders import Controller, Deviations, Policy, Redundant, Schedule, Step, Written
from tdqsim.testing._pasted import test_of
from tdqsim.testing._placements import FaultSearch, Placed, Placement
from tdqsim.testing._shrinker import Tried, shrink
from tdqsim.testing.clock import StillClock

Subject = TypeVar("Subject")
Told = list[Any]
"""The results that a scenario has seen to be complete, in the order in which it appends them."""

_MEMORY: Final = Path("/dev/shm")  # noqa: S108  (memory where there is some; else the directory for temporary files)
_ROOM: Final = 2**28
_DEPTH: Final = 3
"""How many orderings between tasks a bug may need to be likely to be found (see :mod:`tdqsim.testing.schedules`)."""
_LONGEST_SEARCH: Final = 50
"""How many orders are tried to find a smaller one that fails."""
_END: Final = "the normal end"
_CHANGES: Final = "the scenario does not do the same each time"


class CrashFailure(AssertionError):
    """The check failed after a crash at some point.

    Attributes:
        point: number of the point, for ``points=[...]``.
        where: the point in words.
        order: the order of the tasks, for ``order=...``; None if no orders were asked for.
        faults: the faults that happened, as few as fail in the same way.
        test: Python source of a test that fails in the same way; empty if neither orders nor faults were asked for.
        kind: what failed, without the details.
    """

    def __init__(
        self, text: str, point: int, where: str, order: str | None = None, faults: FaultPlan | None = None,
        test: str = "", kind: str = "",
    ) -> None:  # fmt: skip
        super().__init__(text)
        self.point = point
        self.where = where
        self.order = order
        self.faults = FaultPlan() if faults is None else faults
        self.test = test
        self.kind = kind


@dataclass(frozen=True, slots=True)
class CrashReport:
    """The extent of an enumeration of crashes.

    Attributes:
        points: every point of the first order in words; the last is the normal end.
        tried: how many crashes were tried, in all orders, ``repeated`` ones included.
        refused: torn commits after which the store refused to open.
        orders: how many different orders of the tasks, and placements of faults, were crashed.
        repeated: how many crashes were not run again, because an equivalent one had been.
        complete: whether every order and every placement was tried.
    """

    points: tuple[str, ...]
    tried: int
    refused: int
    orders: int = 1
    repeated: int = 0
    complete: bool = False


class Course(NamedTuple):
    """What is decided about one run before it begins.

    Attributes:
        policy: the order of the tasks.
        faults: the faults.
        shared: see :func:`~tdqsim.testing.schedules.explore`.
    """

    policy: Policy
    faults: Placed
    shared: bool = False


class World(Protocol[Subject]):
    """The regions or the system of a scenario, with their stores in a directory."""

    subject: Subject
    synced: bool
    controller: Controller | None
    """Chooses between tasks, and has the choices of the first start; None if tasks run in CICS order."""

    active: ActivePlan | None
    """The faults of the first start, in use."""

    def open(self, place: Path, clock: StillClock, *, first: bool) -> None:
        """Start each region, or the system, that is not running."""

    def watch(self, points: Points) -> None:
        """Count the points of all of them."""

    def fail(self, victim: Region | System) -> Path:
        """End the victim, let the others run as far as they can, and return the directory of the victim's store."""

    def deadlock(self) -> Deadlock | None:
        """The ring of tasks that wait for each other now, if there is one."""

    def close(self, *, clean: bool) -> None:
        """Close everything."""


class _Told(Told):
    """The results of a scenario. What is noted is a use of what a crash leaves."""

    def __init__(self, controller: Controller | None) -> None:
        super().__init__()
        self._controller = controller

    def append(self, result: Any) -> None:
        """See :class:`list`."""
        self._note()
        super().append(result)

    def extend(self, results: Iterable[Any]) -> None:
        """See :class:`list`."""
        self._note()
        super().extend(results)

    def _note(self) -> None:
        footprint = None if self._controller is None else self._controller.footprint
        if footprint is not None:
            footprint.add(DURABLE)


@dataclass(frozen=True, slots=True)
class Enumeration(Generic[Subject]):
    """What is crashed and how.

    Attributes:
        make: makes the regions or the system of a run, not yet started; None for CICS order without faults.
        scenario, check: the caller's.
        points: the numbers of the points to try; None for all.
        torn: whether torn commits are points too.
        pasted: the arguments of a test that repeats a failure.
    """

    make: Callable[[Course | None], World[Subject]]
    scenario: Callable[[Subject, Told], object]
    check: Callable[[Subject, Told], object]
    points: tuple[int, ...] | None
    torn: bool
    pasted: tuple[tuple[object, ...], dict[str, object]] = ((), {})

    def __post_init__(self) -> None:
        for what, call, subject in (("scenario", self.scenario, "subject"), ("check", self.check, "subject")):
            if reason := why_unusable(call, subject, "told"):
                raise UsageError(f"{what}: {reason}")

    def once(self, course: Course | None) -> CrashReport:
        """Crash one order at every point."""
        run = _Run(self, course)
        names = run.without_crash()
        here = self._here(names)
        return CrashReport((*names, _END), len(here), sum(run.at(point) for point in here))

    def _here(self, names: list[str]) -> list[int]:
        here = list(range(len(names)) if self.points is None else self.points)
        stray = [point for point in here if point not in range(len(names))]
        if stray:
            raise WrongValue(f"points: there is no point {stray[0]}; allowed are 0 to {len(names) - 1}")
        return here

    def search(self, search: FaultSearch, *, shared: bool) -> CrashReport:
        """Crash every order that a search gives, at every point."""
        draw = Draw(1, _DEPTH)
        first: tuple[str, ...] = ()
        tried = refused = orders = repeated = 0
        seen: set[object] = set()
        while (trial := search.next()) is not None:
            walk = trial.explorer.walk(draw.policy(trial.explorer))
            run = _Run(self, Course(walk, trial.placed, shared))
            try:
                names = run.without_crash()
                new = search.ended(walk, run.active)
                if not trial.explorer.steady:
                    raise UsageError(_CHANGES)
                if not new:
                    continue
                first = first or (*names, _END)
                draw.steps = max(draw.steps, len(run.steps))
                orders += 1
                marks = run.marks(trial.placement)
                again = run.repeating(shared=shared)
                for point in self._here(names):
                    tried += 1
                    if marks[point] in seen:
                        repeated += 1
                        continue
                    seen.add(marks[point])
                    refused += again.at(point)
            except CrashFailure as failure:
                raise self._smallest(failure, run.deviations, trial.placed.plan, shared=shared) from failure.__cause__
        return CrashReport(first, tried, refused, orders, repeated, search.complete)

    def _smallest(
        self, failure: CrashFailure, deviations: Deviations, faults: FaultPlan, *, shared: bool
    ) -> CrashFailure:
        """The failure in the smallest order, with the fewest faults, that fails in the same way."""
        found = failure

        def attempt(order: Deviations, plan: FaultPlan) -> Tried:
            nonlocal found
            run = _Run(self, Course(Written(order), Placed(plan), shared))
            try:
                names = run.without_crash()
                for point, name in enumerate(names):
                    if name == failure.where:
                        run.at(point)
            except CrashFailure as again:
                if again.kind == failure.kind:
                    found = again
                    return Tried(True, run.deviations, run.steps)
            except UsageError:
                pass
            return Tried(False, run.deviations, run.steps)

        smallest = shrink(attempt, deviations, faults, longest=_LONGEST_SEARCH)
        attempt(*smallest)
        return found


class _Run(Generic[Subject]):
    """Runs one scenario in one order of its tasks, once for each point.

    Attributes:
        order: the order that came out, as a token of a schedule; None if no orders were asked for.
        deviations, steps: of that order.
        active: its faults, in use; None if there are none.
    """

    def __init__(self, enumeration: Enumeration[Subject], course: Course | None) -> None:
        self._enumeration, self._course = enumeration, course
        self._places: list[tuple[int, bool]] = []
        self._controller: Controller | None = None
        self.active: ActivePlan | None = None
        self.deviations: Deviations = ()
        self.steps: list[Step] = []
        self.order: str | None = None

    @property
    def _plan(self) -> FaultPlan:
        return FaultPlan() if self._course is None else self._course.faults.plan

    def repeating(self, *, shared: bool) -> _Run[Subject]:
        """The run that does again what this one has done."""
        run = _Run(self._enumeration, Course(Written(self.deviations), Placed(self._plan), shared))
        run.order = self.order
        return run

    def _begin(self, end_at: int) -> tuple[World[Subject], Points, Told]:
        world = self._enumeration.make(self._course)
        points = Points(end_at, tears=self._enumeration.torn, controller=world.controller)
        return world, points, _Told(world.controller)

    def without_crash(self) -> list[str]:
        """Run to the normal end, check after a warm start, and return the points; none if the run repeats another."""
        with _directory() as place:
            clock = StillClock()
            world, points, told = self._begin(-1)
            world.open(place, clock, first=True)
            self.active = world.active
            whole = False
            try:
                world.watch(points)
                self._act(world, points, told)
                ring = world.deadlock()
                whole = True
            except Redundant:
                return []
            except Exception as error:
                raise UsageError(f"the scenario fails without any crash: {error}") from error
            finally:
                points.forget()
                self._note(world.controller, points)
                world.close(clean=whole)
            names = list(points.names)
            if ring is not None:
                raise self._failure(len(names), _END, "deadlock", ring.text, told)
            self._restarted(world, place, clock, told, len(names), _END)
        return names

    def _act(self, world: World[Subject], points: Points, told: Told) -> None:
        try:
            self._enumeration.scenario(world.subject, told)
        except (Condition, Abend):
            if not self._plan.faults:
                raise
        points.take_turns()

    def _note(self, controller: Controller | None, points: Points) -> None:
        if controller is not None:
            controller.end()
            self._controller, self._places = controller, points.places
            self.deviations, self.steps = controller.deviations, controller.steps
            self.order = Schedule(self.deviations).token

    def marks(self, placement: Placement) -> list[object]:
        """For each point of the run, a value that is the same for points at which a crash leaves the same."""
        assert self._controller is not None
        turns = self._controller.turns
        complete = identities(turns)
        found: list[object] = []
        count, before = 0, (-1, False)
        for place in self._places:
            count, before = (count + 1 if place == before else 0), place
            number, inside = place
            who = turns[number - 1].name if inside else "outside"
            found.append((placement, complete[number - inside], who, count))
        return found

    def at(self, point: int) -> bool:
        """Crash at one point, restart and check; True if the store of a torn commit refused to open."""
        with _directory() as place:
            clock = StillClock()
            world, points, told = self._begin(point)
            world.open(place, clock, first=True)
            world.watch(points)
            try:
                self._act(world, points, told)
            except Crashed:
                pass
            except Exception as error:
                if points.victim is None:
                    world.close(clean=False)
                    raise UsageError(f"the scenario fails without any crash: {error}") from error
            if points.victim is None:
                world.close(clean=False)
                raise UsageError(f"point {point} is not reached: the scenario does not do the same each time")
            store = world.fail(points.victim)
            if points.image is not None:
                tear(store, points.image, synced=world.synced)
            try:
                self._restarted(world, place, clock, told, point, points.names[point])
            except CrashFailure as failure:
                if points.image is None or world.synced or not isinstance(failure.__cause__, StoreDamaged):
                    raise
                return True
        return False

    def _restarted(
        self, world: World[Subject], place: Path, clock: StillClock, told: Told, point: int, where: str
    ) -> None:
        clock.advance(1)
        what = "the restart"
        try:
            world.open(place, clock, first=False)
            what = "after the restart"
            self._enumeration.check(world.subject, told)
        except Exception as error:
            raise self._failure(point, where, f"{what}: {type(error).__name__}", str(error), told) from error
        finally:
            world.close(clean=True)

    def _failure(self, point: int, where: str, kind: str, text: str, told: Told) -> CrashFailure:
        lines = [f"point {point} ({where}): {kind}: {text}", f"told before: {told!r}"]
        test = ""
        if self.order is not None:
            lines.append(f"order of the tasks: order={self.order!r}")
            arguments, options = self._enumeration.pasted
            if where != _END:
                options = {**options, "points": [point]}
            test = test_of("enumerate_crashes", arguments, faults=self._plan, order=self.order, **options)
        if self._plan.faults:
            lines.append(f"with {self._plan!r}")
        return CrashFailure("\n".join(lines), point, where, self.order, self._plan, test, kind)


@contextmanager
def _directory() -> Iterator[Path]:
    """A directory for a store, in memory when there is room."""
    place = _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM else None
    directory = Path(tempfile.mkdtemp(prefix="tdqsim-crash-", dir=place))
    try:
        yield directory / "store"
    finally:
        shutil.rmtree(directory, ignore_errors=True)
