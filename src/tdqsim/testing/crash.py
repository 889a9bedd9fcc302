"""Crash enumeration: run a scenario once, then again for every point at which a process could end.

Points are before each command or API, and before and after each commit of the store. In connected regions they are also
at the arrival of each message and before the sending of its answer, the steps of two-phase commit included. At the
point, one process ends: the region's, or the system's. Nothing more is written to its store. Then it is started again
from its store (an emergency restart); connected regions have continued meanwhile, and resynchronise with it. Then the
test's own check decides whether the state is right, given the results that the scenario had before the crash.

With ``orders=N`` a region's scenario runs in CICS order and in N - 1 random orders of its tasks, and is crashed at
every point of each order that differs from those before. This finds bugs that need two tasks as well as a crash.

With ``torn=True`` each commit is one more point: the machine stops, and half of what the commit has written is on the
disk. Durability ``process`` gives no promise for this case, so a store may then refuse to open (StoreDamaged), but it
must never open with wrong contents. With durability ``power`` it must open.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

from tdqsim.cics import Region
from tdqsim.cics.ship.sysplex import Sysplex
from tdqsim.core.dispatch import Dispatcher
from tdqsim.definitions import Definitions, Resource
from tdqsim.errors import StoreDamaged, UsageError
from tdqsim.ibmi import System
from tdqsim.testing._crash_points import Points, tear
from tdqsim.testing._orders import Controller, Schedule, policy_of
from tdqsim.testing._stage import StagedDispatcher, StagedRegion
from tdqsim.testing.clock import StillClock
from tdqsim.testing.deadlock import Deadlock, find_deadlock
from tdqsim.testing.faults import Crashed

__all__ = [
    "CrashFailure",
    "CrashReport",
    "Crashed",
    "Crashes",
    "enumerate_crashes",
    "enumerate_sysplex_crashes",
    "enumerate_system_crashes",
]

Subject = TypeVar("Subject")
Told = list[Any]
"""The results that a scenario has seen to be complete, in the order in which it appends them."""
Installed = Definitions | Iterable[Resource]
Options = Mapping[str, Any]

_MEMORY: Final = Path("/dev/shm")  # noqa: S108  (memory where there is some; else the directory for temporary files)
_ROOM: Final = 2**28
_DEPTH: Final = 3
"""How many orderings between tasks a bug may need to be likely to be found (see :mod:`tdqsim.testing.schedules`)."""
_LONGEST_RUN: Final = 100_000
"""Dispatches after which a scenario is taken for one that never ends."""


class CrashFailure(AssertionError):
    """The check failed after a crash at some point.

    Attributes:
        point: number of the point, for ``points=[...]``.
        where: the point in words.
        order: the order of the tasks, for ``order=...``; None if no orders were asked for.
    """

    def __init__(self, text: str, point: int, where: str, order: str | None = None) -> None:
        super().__init__(text)
        self.point = point
        self.where = where
        self.order = order


@dataclass(frozen=True, slots=True)
class CrashReport:
    """The extent of an enumeration of crashes.

    Attributes:
        points: every point of the first order in words; the last is the normal end.
        tried: how many crashes were tried, in all orders.
        refused: torn commits after which the store refused to open.
        orders: how many different orders of the tasks were crashed.
    """

    points: tuple[str, ...]
    tried: int
    refused: int
    orders: int = 1


def enumerate_crashes(
    scenario: Callable[[Region, Told], object],
    check: Callable[[Region, Told], object],
    definitions: Installed = (),
    *,
    prepare: Callable[[Region], object] | None = None,
    points: Iterable[int] | None = None,
    torn: bool = False,
    orders: int = 1,
    order: str | None = None,
    **options: Any,
) -> CrashReport:
    """Crash a scenario of one region at every point, restart, and check.

    Args:
        scenario: called with a new region and an empty list; it appends each result to the list as soon as a command
            has returned it. It must do the same each time.
        check: called with the region after its restart, and the list; it asserts what must hold.
        definitions: installed at the first start; a restart has them from the store.
        prepare: called with each region before anything runs: registers programs.
        points: numbers of points, from 0, instead of all.
        torn: try torn commits too.
        orders: in how many orders of the tasks, 1 or more; the first is CICS order. With more than one, another task
            may run before each command and each syncpoint. Orders that come out alike are crashed once.
        order: the ``order`` of a :class:`CrashFailure`: only that order.
        options: further arguments of :class:`~tdqsim.cics.Region`. Supplied queues only when asked for.

    Returns:
        What was tried.

    Raises:
        CrashFailure: the check did not hold, or the restart failed (that exception is the cause), or tasks wait for
            each other at the end of the scenario.
        UsageError: the scenario fails without any crash, which is the cause, or does not do the same each time.
        ValueError: there is no point with a number that was given, or ``orders`` or ``order`` is not allowed.
    """
    if orders < 1:
        raise ValueError(f"orders {orders!r}: allowed are 1 or more")
    if order is not None:
        wanted: Iterator[Schedule | None] = iter((Schedule.parse(order),))
    elif orders == 1:
        wanted = iter((None,))
    else:
        wanted = iter((Schedule(), *(Schedule((), seed, _DEPTH, 1) for seed in range(1, orders))))
    return _enumerate(
        lambda order: _RegionWorld(definitions, prepare, options, order),
        scenario,
        check,
        points,
        torn=torn,
        orders=wanted,
    )


def enumerate_sysplex_crashes(
    scenario: Callable[[Sysplex, Told], object],
    check: Callable[[Sysplex, Told], object],
    regions: Mapping[str, Installed],
    *,
    links: Iterable[tuple[str, str]] | None = None,
    prepare: Callable[[Region], object] | None = None,
    points: Iterable[int] | None = None,
    torn: bool = False,
    **options: Any,
) -> CrashReport:
    """Crash each of several connected regions at every point of its own, restart it, resynchronise, and check.

    The other regions continue: their tasks run until none can, before the region is restarted. A condition or abend
    that the scenario itself gets because of a crash, such as SYSIDERR, ends the scenario and is no failure.

    Args:
        scenario: called with a new :class:`~tdqsim.cics.ship.sysplex.Sysplex` and an empty list, as for
            :func:`enumerate_crashes`.
        check: called with the sysplex, in which all regions are active and linked again, and the list.
        regions: definitions by APPLID; the SYSID is the APPLID, so it has at most 4 characters.
        links: the pairs of regions that are linked; every pair by default.
        prepare: called with each region before anything runs: registers programs.
        points: numbers of points, from 0, instead of all.
        torn: try torn commits too.
        options: further arguments of each :class:`~tdqsim.cics.Region`. Supplied queues only when asked for.

    Raises:
        CrashFailure, UsageError, ValueError: as :func:`enumerate_crashes`.
    """
    pairs = list(combinations(regions, 2)) if links is None else list(links)
    return _enumerate(lambda _: _SysplexWorld(regions, pairs, prepare, options), scenario, check, points, torn=torn)


def enumerate_system_crashes(
    scenario: Callable[[System, Told], object],
    check: Callable[[System, Told], object],
    definitions: Definitions | None = None,
    *,
    prepare: Callable[[System], object] | None = None,
    points: Iterable[int] | None = None,
    torn: bool = False,
    **options: Any,
) -> CrashReport:
    """Crash a scenario of an IBM i system at every point, start the system again, and check.

    An entry that was sent to a FORCE(*YES) queue must be there once QSNDDTAQ has returned; in a FORCE(*NO) queue it may
    be lost.

    Args:
        scenario: called with a new :class:`~tdqsim.ibmi.System` and an empty list, as for :func:`enumerate_crashes`.
        check: called with the system after its restart, and the list.
        definitions: :class:`~tdqsim.definitions.Definitions` with data queues to create at the first start, and their
            libraries.
        prepare: called with each system before anything runs.
        points: numbers of points, from 0, instead of all.
        torn: try torn commits too; the entries of FORCE(*NO) queues are then lost.
        options: further arguments of :class:`~tdqsim.ibmi.System`.

    Raises:
        CrashFailure, UsageError, ValueError: as :func:`enumerate_crashes`.
    """
    return _enumerate(lambda _: _SystemWorld(definitions, prepare, options), scenario, check, points, torn=torn)


class Crashes:
    """All three enumerations in one object: the fixture ``tdq_crashes``. Calling it crashes a region.

    Args:
        definitions: those of the test's marker, for calls without definitions.
        handlers: whether the handlers that transactions name are imported at each start.
    """

    sysplex = staticmethod(enumerate_sysplex_crashes)

    def __init__(self, definitions: Definitions | None = None, *, handlers: bool = False) -> None:
        self._definitions = definitions if definitions is not None else Definitions()
        self._handlers = handlers

    def __call__(
        self,
        scenario: Callable[..., object],
        check: Callable[..., object],
        definitions: Installed | None = None,
        **options: Any,
    ) -> CrashReport:
        """See :func:`enumerate_crashes`."""
        if definitions is None:
            definitions = self._definitions
            if self._handlers:
                options["prepare"] = partial(_load_handlers, options.get("prepare"))
        return enumerate_crashes(scenario, check, definitions, **options)

    def system(
        self,
        scenario: Callable[..., object],
        check: Callable[..., object],
        definitions: Definitions | None = None,
        **options: Any,
    ) -> CrashReport:
        """See :func:`enumerate_system_crashes`."""
        if definitions is None and self._definitions.dtaqs:
            definitions = self._definitions
        return enumerate_system_crashes(scenario, check, definitions, **options)


def _load_handlers(prepare: Callable[[Region], object] | None, region: Region) -> None:
    if prepare is not None:
        prepare(region)
    region.load_handlers()


# -- what crashes -----------------------------------------------------------------------------------------------------


class _World(Protocol[Subject]):
    """The regions or the system of a scenario, with their stores in a directory."""

    subject: Subject
    synced: bool
    controller: Controller | None
    """Chooses between tasks, and has the choices of the first start; None if tasks run in CICS order."""

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


class _RegionWorld:
    def __init__(
        self,
        definitions: Installed,
        prepare: Callable[[Region], object] | None,
        options: Options,
        order: Schedule | None,
    ) -> None:
        self._definitions, self._prepare = definitions, prepare
        self._options = {"supplied_queues": False, **options}
        self.controller = None if order is None else Controller(policy_of(order), _LONGEST_RUN)
        self.synced = self._options.get("durability") == "power"
        self.subject: Region

    def open(self, place: Path, clock: StillClock, *, first: bool) -> None:
        definitions = self._definitions if first else ()
        self._place = place
        if first and self.controller is not None:
            dispatcher: Dispatcher = StagedDispatcher(self.controller, clock=clock)
            self.subject = StagedRegion(definitions, store=place, dispatcher=dispatcher, **self._options)
        else:
            self.subject = Region(definitions, store=place, dispatcher=Dispatcher(clock), **self._options)
        if self._prepare is not None:
            self._prepare(self.subject)

    def watch(self, points: Points) -> None:
        points.watch_region(self.subject)

    def fail(self, victim: Region | System) -> Path:
        victim.close(clean=False)
        return self._place

    def deadlock(self) -> Deadlock | None:
        return find_deadlock([self.subject])

    def close(self, *, clean: bool) -> None:
        self.subject.close(clean=clean)


class _SysplexWorld:
    controller: Controller | None = None

    def __init__(
        self,
        regions: Mapping[str, Installed],
        links: list[tuple[str, str]],
        prepare: Callable[[Region], object] | None,
        options: Options,
    ) -> None:
        self._definitions, self._links, self._prepare = regions, links, prepare
        self._options = {"supplied_queues": False, **options}
        self.synced = self._options.get("durability") == "power"
        self.subject: Sysplex

    def open(self, place: Path, clock: StillClock, *, first: bool) -> None:
        self._place = place
        if first:
            self.subject = Sysplex(dispatcher=Dispatcher(clock))
        present = self.subject.regions
        for applid in self._definitions:
            if applid not in present:
                self._start(applid, first=first)
        for one, other in self._links if first else ():
            self.subject.connect(self.subject.regions[one], self.subject.regions[other])
        if not first:
            self.subject.run()

    def _start(self, applid: str, *, first: bool) -> None:
        definitions = self._definitions[applid] if first else ()
        region = Region(
            definitions, applid=applid, sysid=applid, store=self._place / applid, dispatcher=self.subject.dispatcher,
            **self._options,
        )  # fmt: skip
        if self._prepare is not None:
            self._prepare(region)
        self.subject.add(region)

    def watch(self, points: Points) -> None:
        for region in self.subject.regions.values():
            points.watch_region(region, f"{region.applid}: ")
        for one, other in self._links:
            points.watch_link(self.subject.link(one, other))

    def fail(self, victim: Region | System) -> Path:
        assert isinstance(victim, Region)
        victim.close(clean=False)
        self.subject.run()
        return self._place / victim.applid

    def deadlock(self) -> Deadlock | None:
        return find_deadlock(self.subject.regions.values())

    def close(self, *, clean: bool) -> None:
        for region in tuple(self.subject.regions.values()):
            region.close(clean=clean)


class _SystemWorld:
    controller: Controller | None = None

    def __init__(
        self, definitions: Definitions | None, prepare: Callable[[System], object] | None, options: Options
    ) -> None:
        self._definitions, self._prepare, self._options = definitions, prepare, options
        self.synced = options.get("durability") == "power"
        self.subject: System

    def open(self, place: Path, clock: StillClock, *, first: bool) -> None:
        self._place = place
        self.subject = System(path=place, dispatcher=Dispatcher(clock), **self._options)
        if first and self._definitions is not None:
            self.subject.install(self._definitions, create_libraries=True)
        if self._prepare is not None:
            self._prepare(self.subject)

    def watch(self, points: Points) -> None:
        points.watch_system(self.subject)

    def fail(self, victim: Region | System) -> Path:
        victim.close(clean=False)
        return self._place

    def deadlock(self) -> Deadlock | None:
        return find_deadlock((), [self.subject])

    def close(self, *, clean: bool) -> None:
        self.subject.close(clean=clean)


# -- runs -------------------------------------------------------------------------------------------------------------


def _enumerate(
    make: Callable[[Schedule | None], _World[Subject]],
    scenario: Callable[[Subject, Told], object],
    check: Callable[[Subject, Told], object],
    points: Iterable[int] | None,
    *,
    torn: bool,
    orders: Iterable[Schedule | None] = (None,),
) -> CrashReport:
    wanted = None if points is None else list(points)
    first: tuple[str, ...] = ()
    tried = refused = 0
    seen: set[str | None] = set()
    steps = 1
    for order in orders:
        placed = order if order is None or order.seed is None else replace(order, steps=steps)
        run = _Run(partial(make, placed), scenario, check, torn=torn)
        names = run.without_crash()
        first = first or (*names, "the normal end")
        steps = max(steps, run.steps)
        if run.order in seen:
            continue
        seen.add(run.order)
        here = list(range(len(names))) if wanted is None else wanted
        stray = [point for point in here if point not in range(len(names))]
        if stray:
            raise ValueError(f"points: there is no point {stray[0]}; allowed are 0 to {len(names) - 1}")
        refused += sum(run.at(point) for point in here)
        tried += len(here)
    return CrashReport(first, tried, refused, len(seen))


class _Run(Generic[Subject]):
    """Runs one scenario in one order of its tasks, once for each point.

    Attributes:
        order: the order that came out, as a token of a schedule; None if no orders were asked for.
        steps: how many choices between tasks the order took.
    """

    def __init__(
        self,
        make: Callable[[], _World[Subject]],
        scenario: Callable[[Subject, Told], object],
        check: Callable[[Subject, Told], object],
        *,
        torn: bool,
    ) -> None:
        self._make, self._scenario, self._check = make, scenario, check
        self._torn = torn
        self.order: str | None = None
        self.steps = 0

    def without_crash(self) -> list[str]:
        """Run to the normal end, check after a warm start, and return the points."""
        with _directory() as place:
            clock, told, points, world = StillClock(), Told(), Points(-1, tears=self._torn), self._make()
            world.open(place, clock, first=True)
            try:
                world.watch(points)
                self._scenario(world.subject, told)
                points.take_turns()
            except Exception as error:
                points.forget()
                world.close(clean=False)
                raise UsageError(f"the scenario fails without any crash: {error}") from error
            points.forget()
            names = list(points.names)
            if world.controller is not None:
                self.order, self.steps = Schedule(world.controller.deviations).token, len(world.controller.steps)
            ring = world.deadlock()
            world.close(clean=True)
            if ring is not None:
                raise self._failure(len(names), "the normal end", f"deadlock: {ring.text}", told)
            self._restarted(world, place, clock, told, len(names), "the normal end")
        return names

    def at(self, point: int) -> bool:
        """Crash at one point, restart and check; True if the store of a torn commit refused to open."""
        with _directory() as place:
            clock, told, points, world = StillClock(), Told(), Points(point, tears=self._torn), self._make()
            world.open(place, clock, first=True)
            world.watch(points)
            try:
                self._scenario(world.subject, told)
                points.take_turns()
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
            points.forget()
            if points.image is not None:
                tear(store, points.image, synced=world.synced)
            try:
                self._restarted(world, place, clock, told, point, points.names[point])
            except StoreDamaged:
                if points.image is None or world.synced:
                    raise
                return True
        return False

    def _restarted(
        self, world: _World[Subject], place: Path, clock: StillClock, told: Told, point: int, where: str
    ) -> None:
        clock.advance(1)
        what = "the restart"
        try:
            world.open(place, clock, first=False)
            what = "after the restart"
            self._check(world.subject, told)
        except StoreDamaged:
            raise
        except Exception as error:
            raise self._failure(point, where, f"{what}: {type(error).__name__}: {error}", told) from error
        finally:
            world.close(clean=True)

    def _failure(self, point: int, where: str, text: str, told: Told) -> CrashFailure:
        order = "" if self.order is None else f"\norder of the tasks: order={self.order!r}"
        return CrashFailure(f"point {point} ({where}): {text}\ntold before: {told!r}{order}", point, where, self.order)


@contextmanager
def _directory() -> Iterator[Path]:
    """A directory for a store, in memory when there is room."""
    place = _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM else None
    directory = Path(tempfile.mkdtemp(prefix="tdqsim-crash-", dir=place))
    try:
        yield directory / "store"
    finally:
        shutil.rmtree(directory, ignore_errors=True)
