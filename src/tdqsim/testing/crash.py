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

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final, TypeVar

from tdqsim.cics import Region
from tdqsim.cics.ship.sysplex import Sysplex
from tdqsim.core.callables import why_unusable
from tdqsim.core.dispatch import Dispatcher
from tdqsim.definitions import Definitions, Resource
from tdqsim.errors import UsageError, WrongValue
from tdqsim.faults.active import ActivePlan
from tdqsim.faults.plan import AnyFault, FaultPlan
from tdqsim.ibmi import System
from tdqsim.state.deadlock import Deadlock, find_deadlock
from tdqsim.testing._crash_points import Points
from tdqsim.testing._crash_runs import Course, CrashReport, Enumeration, Told
from tdqsim.testing._explorer import Explorer
from tdqsim.testing._orders import Controller, Schedule, policy_of
from tdqsim.testing._placements import FaultSearch, Placed, candidates_of
from tdqsim.testing._stage import StagedDispatcher, StagedRegion
from tdqsim.testing.clock import StillClock

Installed = Definitions | Iterable[Resource]
Options = Mapping[str, Any]

_LONGEST_RUN: Final = 100_000
"""Dispatches after which a scenario is taken for one that never ends."""


def enumerate_crashes(
    scenario: Callable[[Region, Told], object],
    check: Callable[[Region, Told], object],
    definitions: Installed = (),
    *,
    prepare: Callable[[Region], object] | None = None,
    points: Iterable[int] | None = None,
    torn: bool = False,
    orders: int | None = 1,
    order: str | None = None,
    faults: Iterable[AnyFault] = (),
    max_faults: int = 1,
    shared: bool = False,
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
        orders: in how many orders of the tasks, 1 or more; None for all. The first is CICS order. With more than one,
            another task may run before each command and each syncpoint. No two orders are equivalent (see
            :mod:`tdqsim.testing.schedules`), and a crash that leaves what an earlier one has left is not run again.
        order: the ``order`` of a :class:`CrashFailure`: only that order, with ``faults`` as they are given.
        faults: each :class:`~tdqsim.faults.Fault` happens at each command that it matches, whatever its ``nth``, in
            as many orders as ``orders``, and each such run is crashed at every point. A condition or abend that the
            scenario itself gets then ends the scenario and is no failure.
        max_faults: the largest number of faults in one run.
        shared: the tasks share Python objects whose order matters, other than the scenario's list.
        options: further arguments of :class:`~tdqsim.cics.Region`. Supplied queues only when asked for.

    Returns:
        What was tried.

    Raises:
        CrashFailure: the check did not hold, or the restart failed (that exception is the cause), or tasks wait for
            each other at the end of the scenario.
        UsageError: the scenario fails without any crash, which is the cause, or does not do the same each time.
        ValueError: there is no point with a number that was given, or ``orders`` or ``order`` is not allowed.
    """
    if orders is not None and orders < 1:
        raise WrongValue(f"orders {orders!r}: allowed are 1 or more")
    candidates = candidates_of(faults, max_faults)
    pasted = {"prepare": prepare} if prepare is not None else {}
    enumeration = Enumeration(
        lambda course: _RegionWorld(definitions, prepare, options, course),
        scenario,
        check,
        None if points is None else tuple(points),
        torn,
        ((scenario, check, definitions), {**pasted, **({"torn": True} if torn else {}), **options}),
    )
    if order is not None:
        return enumeration.once(Course(policy_of(Schedule.parse(order)), Placed(FaultPlan(*candidates)), shared))
    if orders == 1 and not candidates:
        return enumeration.once(None)
    return enumeration.search(FaultSearch(candidates, max_faults, Explorer, orders), shared=shared)


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
    return Enumeration(
        lambda _: _SysplexWorld(regions, pairs, prepare, options),
        scenario,
        check,
        None if points is None else tuple(points),
        torn,
    ).once(None)


def enumerate_system_crashes(
    scenario: Callable[[System, Told], object],
    check: Callable[[System, Told], object],
    definitions: Installed = (),
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
        definitions: those of the data queues to create at the first start, with their libraries.
        prepare: called with each system before anything runs.
        points: numbers of points, from 0, instead of all.
        torn: try torn commits too; the entries of FORCE(*NO) queues are then lost.
        options: further arguments of :class:`~tdqsim.ibmi.System`.

    Raises:
        CrashFailure, UsageError, ValueError: as :func:`enumerate_crashes`.
    """
    return Enumeration(
        lambda _: _SystemWorld(definitions, prepare, options),
        scenario,
        check,
        None if points is None else tuple(points),
        torn,
    ).once(None)


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
        definitions: Installed | None = None,
        **options: Any,
    ) -> CrashReport:
        """See :func:`enumerate_system_crashes`."""
        if definitions is None:
            definitions = self._definitions
        return enumerate_system_crashes(scenario, check, definitions, **options)


def _load_handlers(prepare: Callable[[Region], object] | None, region: Region) -> None:
    if prepare is not None:
        prepare(region)
    region.load_handlers()


_Prepare = TypeVar("_Prepare", bound="Callable[[Any], object] | None")


def _checked(prepare: _Prepare, subject: str) -> _Prepare:
    """The function that prepares each region or system.

    Raises:
        UsageError: it cannot be called with one.
    """
    if prepare is not None and (reason := why_unusable(prepare, subject)):
        raise UsageError(f"prepare: {reason}")
    return prepare


# -- what crashes -----------------------------------------------------------------------------------------------------


class _RegionWorld:
    def __init__(
        self,
        definitions: Installed,
        prepare: Callable[[Region], object] | None,
        options: Options,
        course: Course | None,
    ) -> None:
        self._definitions, self._prepare = definitions, _checked(prepare, "region")
        self._options = {"supplied_queues": False, **options}
        self._course = course
        self.controller = None if course is None else Controller(course.policy, _LONGEST_RUN, shared=course.shared)
        self.active = course.faults.active() if course is not None and course.faults else None
        self.synced = self._options.get("durability") == "power"
        self.subject: Region

    def open(self, place: Path, clock: StillClock, *, first: bool) -> None:
        definitions = self._definitions if first else ()
        self._place = place
        if first and self.controller is not None and self._course is not None:
            dispatcher: Dispatcher = StagedDispatcher(self.controller, clock=clock, faults=self._course.faults.plan)
            self.subject = StagedRegion(definitions, store=place, dispatcher=dispatcher, **self._options)
        else:
            self.subject = Region(definitions, store=place, dispatcher=Dispatcher(clock), **self._options)
        if self._prepare is not None:
            self._prepare(self.subject)
        if first and self.active is not None:
            self.active.attach(self.subject)

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
    active: ActivePlan | None = None

    def __init__(
        self,
        regions: Mapping[str, Installed],
        links: list[tuple[str, str]],
        prepare: Callable[[Region], object] | None,
        options: Options,
    ) -> None:
        self._definitions, self._links, self._prepare = regions, links, _checked(prepare, "region")
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
    active: ActivePlan | None = None

    def __init__(self, definitions: Installed, prepare: Callable[[System], object] | None, options: Options) -> None:
        self._definitions = Definitions.of(definitions)
        self._prepare, self._options = _checked(prepare, "system"), options
        self.synced = options.get("durability") == "power"
        self.subject: System

    def open(self, place: Path, clock: StillClock, *, first: bool) -> None:
        self._place = place
        self.subject = System(store=place, dispatcher=Dispatcher(clock), **self._options)
        if first:
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
