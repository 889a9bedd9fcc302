"""The part of the kit that belongs to one test: its regions and systems, and the report on them if it fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from tdqsim.cics import Region, StartOptions
from tdqsim.cics.inspection.state import queue_states
from tdqsim.cics.internals import core_of
from tdqsim.core.clock import Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import Fiber
from tdqsim.definitions import Definitions, Resource, load_definitions, load_region_file, supplied_definitions
from tdqsim.errors import TdqError, UsageError
from tdqsim.facts import SUPPLIED_QUEUES, table
from tdqsim.job import importable
from tdqsim.testing import _lazy_modules
from tdqsim.testing.clock import waiting
from tdqsim.testing.history import History
from tdqsim.testing.outcome import Outcome, Outcomes
from tdqsim.testing.text import show_record

if TYPE_CHECKING:  # most tests use one region and no system, so nothing else is imported at run time
    from tdqsim.cics.ship.sysplex import Sysplex
    from tdqsim.core.notices import Notice, Notices
    from tdqsim.ibmi import Job, System
    from tdqsim.testing.crash import Crashes
    from tdqsim.testing.stores import RecycledStores

_REGION_FILE: Final = "region.yaml"
_EVENTS_KEPT: Final = 5_000
_DISPATCHES_KEPT: Final = 200
_SHOWN_DISPATCHES: Final = 20
_SHOWN_EVENTS: Final = 8
_SHOWN_RECORDS: Final = 3

Given = Definitions | Resource | Path | str

_loaded: dict[tuple[Path, int, int], Definitions] = {}


def definitions_of(given: Iterable[Given | Iterable[Resource]], base: Path) -> Definitions:
    """Definitions from files, resources and other definitions; relative paths start at ``base``.

    Raises:
        DefinitionError: a file is wrong, or two definitions conflict.
    """
    total = Definitions.of(())
    for each in given:
        if isinstance(each, Path | str):
            total = total + _load(base / each)
        elif isinstance(each, Definitions):
            total = total + each
        elif isinstance(each, Resource):
            total = total + Definitions.of((each,))
        else:
            total = total + Definitions.of(each)
    return total


def folders_of(given: Iterable[object], base: Path) -> list[Path]:
    """The folders from which handlers are imported: those of the files, and the region directories."""
    paths = [base / each for each in given if isinstance(each, Path | str)]
    return [path if path.is_dir() else path.parent for path in paths if path.exists()]


def _load(path: Path) -> Definitions:
    """The definitions of a file, loaded again only if it has changed: they are values, and can be installed often."""
    if not path.is_file():
        return load_definitions(path)
    stat = path.stat()
    key = (path.resolve(), stat.st_mtime_ns, stat.st_size)
    known = _loaded.get(key)
    if known is None:
        known = _loaded[key] = load_definitions(path)
    return known


@cache
def _message_queues() -> Definitions:
    """The supplied queues to which CICS writes its messages, and the targets of those that are aliases."""
    wanted = {row["destination"] for row in table("kernel_messages")} & SUPPLIED_QUEUES.keys()  # without the console
    wanted |= {SUPPLIED_QUEUES[name].indirectname for name in wanted}
    return Definitions.of(queue for queue in supplied_definitions().tdqueues if queue.name in wanted)


class Kit:
    """The regions and systems of one test, on one dispatcher.

    Args:
        seed: the seed of the dispatcher.
        definitions: the definitions for ``region()`` without arguments.
        start: the start type of regions with a given store.
        stores: the supply of temporary stores.
        directory: a region directory for ``region()``, instead of definitions.
        clock: the clock of the dispatcher; by default a new one.
        expected: abend codes and message ids that do not fail the test.
        modules: the directories in which modules with handlers are searched for.
        handlers: whether regions load the handlers that transactions name.

    Attributes:
        dispatcher: the dispatcher of all regions and systems of the test.
        regions, systems: the regions and systems made so far, in order.
        directories: the region directory of each region that was made from one.
        on_made: functions that are called with each new region or system, and its history.
    """

    def __init__(
        self,
        *,
        seed: int,
        definitions: Definitions,
        start: Literal["AUTO", "COLD", "INITIAL"],
        stores: RecycledStores,
        directory: Path | None = None,
        clock: Clock | None = None,
        expected: Iterable[str] = (),
        modules: Iterable[Path] = (),
        handlers: bool = True,
    ) -> None:
        self.seed = seed
        self.dispatcher = Dispatcher(clock, seed)
        self.dispatcher.on_dispatch = self._dispatched
        self.regions: list[Region] = []
        self.systems: list[System] = []
        self.histories: dict[Region | System, History] = {}
        self.directories: dict[Region | System, Path] = {}
        self.on_made: list[Callable[[Region | System, History], object]] = []
        self._definitions, self._start, self._stores, self._directory = definitions, start, stores, directory
        self._given = bool(definitions.entries) or directory is not None
        self._dispatches: deque[str] = deque(maxlen=_DISPATCHES_KEPT)
        self._count = 0
        self._outcomes = Outcomes()
        self._expected = frozenset(expected)
        self._handlers = handlers
        self._importable = ExitStack()
        for folder in dict.fromkeys(modules):
            self._importable.enter_context(importable(folder))

    def turn(self) -> tuple[int, bool]:
        """The number of the dispatcher's turn, and whether a task has it."""
        return self._count, self.dispatcher.current is not self.dispatcher.outside

    def _dispatched(self, fiber: Fiber) -> None:
        self._count += 1
        self._dispatches.append(fiber.name)
        self._outcomes.dispatched(fiber)

    # -- making ---------------------------------------------------------------------------------------------------

    def region(self, *definitions: Any, **options: Any) -> Region:
        """A region with the definitions of the test's marker, or those given; arguments as for ``Region``.

        By default only those supplied queues are installed to which CICS writes its messages; ``supplied_queues``
        installs all or none. The handlers that transactions name are imported. A history is attached.

        Raises:
            DefinitionError: a handler cannot be imported; with ``handlers=False`` in the marker none is.
        """
        options = self._options(options)
        if self._directory is not None and not definitions:
            return self._in(self._directory, options, load="handlers" not in options)
        given = definitions_of(definitions, Path()) if definitions else self._definitions
        self._given |= bool(definitions)
        if "supplied_queues" not in options:
            options["supplied_queues"] = False
            own = {queue.name for queue in given.tdqueues}
            given = Definitions.of(each for each in _message_queues().tdqueues if each.name not in own) + given
        return self._kept(Region(given, **options), load="handlers" not in options)

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        """The given options; by default the test's dispatcher, start type and a temporary store."""
        options = {"dispatcher": self.dispatcher, **given}
        if "store" in options:
            start = options.get("start", StartOptions())
            if isinstance(start, StartOptions) and start.type is None:
                options["start"] = start._replace(type=self._start)
        elif options.get("durability", "process") == "process" and "limit_bytes" not in options:
            options["store"] = self._stores.take()
        return options

    def _in(self, directory: Path, options: dict[str, Any], *, load: bool = True) -> Region:
        region = Region.from_directory(directory, **options)
        self.directories[region] = directory
        return self._kept(region, load=load)

    def _kept(self, region: Region, *, load: bool = True) -> Region:
        self.regions.append(region)
        self._outcomes.watch(region, earlier=True)
        if load and self._handlers:
            region.load_handlers()
        self._record(region)
        return region

    def _record(self, target: Region | System) -> None:
        history = self.histories[target] = History(_EVENTS_KEPT).attach(target)
        for follow in self.on_made:
            follow(target, history)

    def connected(self, given: Iterable[Any], base: Path, common: Iterable[str] = ()) -> dict[str, Region]:
        """Regions that are all linked with each other, by APPLID.

        Args:
            given: definition files, in which each group is a region with the group's name as APPLID and its first four
                characters as SYSID; resources with such groups; and region directories. Relative paths start at
                ``base``.
            base: the folder at which relative paths start.
            common: groups that are installed in every region, and are not regions themselves.

        Raises:
            DefinitionError: a file is wrong. UsageError: a resource has no group. TdqError: two regions have one SYSID.
        """
        paths = [base / each for each in given if isinstance(each, Path | str)]
        directories = [path for path in paths if (path / _REGION_FILE).is_file()]
        rest = [each for each in given if not isinstance(each, Path | str) or base / each not in directories]
        sysplex = self.sysplex()
        for directory in directories:
            sysplex.add(self._in(directory, self._options({})))
        shared = tuple(common)
        for applid, definitions in _by_group(definitions_of(rest, base), shared).items():
            sysplex.add(self.region(definitions, applid=applid, sysid=applid[:4]))
        for one, other in combinations(sysplex.regions.values(), 2):
            try:
                sysplex.link(one, other)
            except TdqError:
                sysplex.connect(one, other)
        return sysplex.regions

    def sysplex(self) -> Sysplex:
        """A sysplex on the test's dispatcher; ``add`` adds regions to it."""
        return _lazy_modules.sysplex.Sysplex(dispatcher=self.dispatcher)

    def system(self, **options: Any) -> System:
        """An IBM i system with the data queues of the test's definitions; arguments as ``System``'s."""
        options.setdefault("dispatcher", self.dispatcher)
        if "store" not in options and not options.keys() & {"durability", "limit_bytes"}:
            options["store"] = self._stores.take()
        system = _lazy_modules.ibmi.System(**options)
        self.systems.append(system)
        self._outcomes.watch(system, earlier=True)
        self._record(system)
        if self._definitions.dtaqs:
            system.install(self._definitions, create_libraries=True)
        return system

    def crashes(self) -> Crashes:
        """Crash enumeration with the test's definitions, or those of its region directory."""
        definitions = self._definitions
        if self._directory is not None:
            definitions = load_region_file(self._directory).load_definitions()
        return _lazy_modules.crash.Crashes(definitions, handlers=self._handlers)

    def job(self, **options: Any) -> Job:
        """A job on the test's first system, which is made if there is none."""
        system = self.systems[0] if self.systems else self.system()
        return system.job(**options)

    def close(self) -> None:
        """Close all systems and regions, the newest first."""
        for system in reversed(self.systems):
            system.close()
        for region in reversed(self.regions):
            region.close()
        self.dispatcher.release_workers()
        self._importable.close()

    def unexpected(self) -> list[Outcome]:
        """The unexpected failures of tasks whose ``result()`` the test has not requested."""
        return self._outcomes.unexpected(self._expected)

    def expect(self, *codes: str) -> None:
        """Abend codes and message ids that do not fail the test."""
        self._expected |= frozenset(codes)

    # -- showing --------------------------------------------------------------------------------------------------

    @property
    def used(self) -> bool:
        """Whether the test has made a region or system."""
        return bool(self.regions or self.systems)

    def report(self) -> str:
        """The seed, the schedule so far, the tasks that wait, and the last events of each queue, as text."""
        lines = [f"seed {self.seed} (--tdq-seed {self.seed})"]
        if self._dispatches:
            last = list(self._dispatches)[-_SHOWN_DISPATCHES:]
            lines.append(f"schedule, the last {len(last)} of {self._count} dispatches: {' > '.join(last)}")
        lines += [f"waiting: {each}" for each in waiting(self.dispatcher)]
        for notices in [*(each.notices for each in self.regions), *(each.notices for each in self.systems)]:
            lines += [f"notice of {notices.source}: {_counted(notices, each)}" for each in notices]
        if self.regions and not self._given:
            lines.append("the test has no marker tdq_definitions: its region has only queues of CICS")
        for region in self.regions:
            lines += self._of_region(region)
        for system in self.systems:
            lines += [] if system.closed else _of_system(system, self.histories[system])
        return "\n".join(lines)

    def _of_region(self, region: Region) -> list[str]:
        lines = [f"region {region.applid} ({region.recovery.start_type}{', closed' if region.closed else ''})"]
        history = self.histories[region]
        for now in queue_states(core_of(region)):
            events = history.of(now.name, _SHOWN_EVENTS)
            count = 0 if region.closed else now.numitems
            if not events and count <= 0:
                continue
            state = f"{now.type} {now.enablestatus}"
            if now.holds_records and not region.closed and count >= 0:
                trigger = f", starts {now.transid} at {now.level}" if now.level else ""
                cycle = ", cycle on" if now.cycle else ""
                state += f", {count} records, RECOVSTATUS {now.recovstatus}{trigger}{cycle}"
                first = [
                    show_record(record, region.options.code_page)
                    for record in region.peek(now.name, limit=_SHOWN_RECORDS)
                ]
                state += f": {', '.join(first)}{' ...' if count > len(first) else ''}" if first else ""
            lines.append(f"  {now.name}: {state}")
            if not region.closed and (now.cycle or 0 < now.level <= count):  # why the records are still there
                lines += [f"    {sentence}" for sentence in region.explain(now.name).statements[1:]]
            lines += [f"    {event.line(lambda data: show_record(data, region.options.code_page))}" for event in events]
        return lines


def _counted(notices: Notices, notice: Notice) -> str:
    """A notice as text, with how often it was given."""
    times = notices.times(notice)
    return f"{notice}{f' ({times} times)' if times > 1 else ''}"


def _of_system(system: System, history: History) -> list[str]:
    """The entries and the last events of each data queue, as text."""
    lines = [f"system {system.name}"]
    for queue in system.queues():
        events = history.of(queue.qualified, _SHOWN_EVENTS)
        count = system.state_of(queue).entries
        if queue.ddm or (not events and not count):
            continue
        first = [history.show(entry.data) for entry in queue.stored.entries(limit=_SHOWN_RECORDS)]
        more = " ..." if count > len(first) else ""
        shown = f": {', '.join(first)}{more}" if first else ""
        lines.append(f"  {queue.qualified}: {count} entries{shown}")
        lines += [f"    {event.line(history.show)}" for event in events]
    return lines


def _by_group(definitions: Definitions, common: tuple[str, ...]) -> dict[str, Definitions]:
    """The definitions of each group, after those of the common groups."""
    for entry in definitions.entries:
        if not entry.resource.group:
            raise UsageError(
                f"{entry.file}:{entry.line}: {entry.resource.title}: it has no group; here the group is the APPLID of "
                "its region"
            )
    return {
        group: Definitions(tuple(entry for entry in definitions.entries if entry.resource.group in (*common, group)))
        for group in definitions.groups
        if group not in common
    }
